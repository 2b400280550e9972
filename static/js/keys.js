// Keyboard shortcuts declared in markup, so that what is printed and what works cannot drift apart:
//   <button data-key="g" data-key-label="Guidelines">   several keys: data-key="a 1"; with Shift: data-key="shift+a"
// "?" lists every key of the page. Single keys can be turned off there (WCAG 2.1.4).
"use strict";
(() => {
  const OFF = "touchstone:keys-off";
  const isOff = () => {
    try {
      return localStorage.getItem(OFF) === "1";
    } catch {
      return false;
    }
  };
  const typing = (element) =>
    element instanceof HTMLElement &&
    (element.isContentEditable ||
      element.matches("textarea, select") ||
      (element.matches("input") && !["radio", "checkbox", "button", "submit", "range"].includes(element.type)));
  window.touchstoneKeys = { isOff, typing };
  const visible = (element) => element.checkVisibility?.({ visibilityProperty: true }) ?? element.offsetParent !== null;
  // Not what has just been closed: it keeps the focus until the next frame, and would swallow the key.
  const pressesItself = (element, key) =>
    (key === "enter" || key === " ") && element instanceof HTMLElement && element.matches("a[href], button, summary") && visible(element);
  const usable = (element) =>
    !element.disabled && element.getAttribute("aria-disabled") !== "true" && !element.querySelector("input:disabled");
  const all = () => [...(document.querySelector("dialog[open]") ?? document).querySelectorAll("[data-key]")];
  const keysOf = (element) => element.dataset.key.toLowerCase().split(/\s+/);
  // What stands in a menu has its key while the menu is closed.
  const isBound = (element) => visible(element) || element.closest("[popover]");

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.repeat || event.isComposing) return;
    if (event.ctrlKey || event.altKey || event.metaKey || typing(event.target)) return;
    // On a Cyrillic or Greek keyboard the key in the place of A is A.
    const latin = /^[\x20-\x7e]+$/.test(event.key);
    const isSign = latin && !(event.shiftKey && /^(Digit|Minus)/.test(event.code));
    const plain = (isSign ? event.key : event.code.replace(/^(Key|Digit)/, "").replace("Minus", "-")).toLowerCase();
    const key = event.shiftKey ? `shift+${plain}` : plain;
    if (event.key === "?" && !document.querySelector("dialog[open]")) {
      event.preventDefault();
      openHelp();
      return;
    }
    if (isOff() || pressesItself(event.target, plain)) return;
    // A sign has Shift, or not, as the keyboard's layout will have it.
    const sign = latin && !/[a-z0-9 ]/i.test(event.key) ? event.key : key;
    // By its key first: whether something is visible costs a look at the layout.
    const bound = (name) => all().find((element) => keysOf(element).includes(name) && isBound(element));
    const target = bound(key) ?? (sign === key ? null : bound(sign));
    if (!target || !usable(target)) return;
    event.preventDefault();
    const input = target.matches("label") ? target.control : null;
    (input ?? target).click();
    // The focus follows to an input only. On a button it would take the next Enter, or Space, for itself; and where the
    // click was refused, the browser has put it on what is missing.
    input?.focus({ preventScroll: true, focusVisible: true });
  });

  const NAMES = { enter: "Enter", escape: "Esc", tab: "Tab", space: "Space", arrowleft: "←", arrowright: "→", arrowup: "↑", arrowdown: "↓" };
  const name = (key) =>
    key.startsWith("shift+") ? `Shift ${name(key.slice(6))}` : (NAMES[key] ?? (key.length === 1 ? key.toUpperCase() : key));
  const label = (element) => {
    if (element.dataset.keyLabel) return element.dataset.keyLabel;
    const copy = element.cloneNode(true);
    copy.querySelectorAll("kbd, .visually-hidden, svg").forEach((part) => part.remove());
    return copy.textContent.trim().replace(/\s+/g, " ");
  };
  const row = (keys, text) => {
    const term = document.createElement("dt");
    keys.forEach((key) => {
      const kbd = document.createElement("kbd");
      kbd.textContent = name(key);
      term.append(kbd, " ");
    });
    const detail = document.createElement("dd");
    detail.textContent = text;
    return [term, detail];
  };
  // What scroll-keys.js lets them do in a group of options.
  const choosing = () =>
    document.querySelector("form[data-annotate] input[type=radio]") ? row(["tab", "←", "→", "space"], gettext("Go to an option and choose it")) : [];
  // What rubric-number.js does with digits.
  const numbering = () =>
    document.querySelector("[data-part][aria-current] [data-rating-number]") ? row(["0–9"], gettext("Type the rating; arrows change it")) : [];
  const openHelp = () => {
    const dialog = document.getElementById("keys-dialog");
    if (!dialog) return;
    const list = dialog.querySelector("[data-keys-list]");
    list.replaceChildren(...all().filter(isBound).flatMap((element) => row(keysOf(element), label(element))), ...numbering(), ...choosing(), ...row(["?"], gettext("This list")));
    dialog.querySelector("[data-keys-switch]").checked = !isOff();
    dialog.showModal();
  };
  document.addEventListener("click", (event) => {
    if (event.target.closest?.("[data-open-keys]")) openHelp();
  });
  document.addEventListener("change", (event) => {
    if (!event.target.matches?.("[data-keys-switch]")) return;
    try {
      localStorage.setItem(OFF, event.target.checked ? "0" : "1");
    } catch {
      // cannot be kept: the switch then has no lasting effect
    }
  });
})();

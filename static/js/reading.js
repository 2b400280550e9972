// How the person reads: the choices of form[data-reading], and switches [data-reading-switch="NAME"] of two of them.
// They are kept in a cookie, which the server writes into the root of the next page (annotation/domain/reading.py); here they
// are at once. The instruction is shown whole, or in two lines, by [data-instruction-fold].
"use strict";
(() => {
  const IS_SECURE = location.protocol === "https:";
  const COOKIE = `${IS_SECURE ? "__Host-" : ""}touchstone_reading`; // web/cookies.py
  const YEAR = 31_536_000;
  const root = document.documentElement;
  const form = () => document.querySelector("form[data-reading]");
  const inputs = (name) => [...(form()?.elements ?? [])].filter((input) => input.type === "radio" && (!name || input.name === name));
  const defaults = () => new Map(inputs().reverse().map((input) => [input.name, input.value])); // the first of each
  const attribute = (name) => `data-reading-${name}`;
  const value = (name) => root.getAttribute(attribute(name)) ?? defaults().get(name);
  const all = () => Object.fromEntries([...root.attributes].filter(({ name }) => name.startsWith("data-reading-")).map((one) => [one.name.slice(13), one.value]));

  const apply = (name, chosen) => {
    if (chosen === defaults().get(name)) root.removeAttribute(attribute(name));
    else root.setAttribute(attribute(name), chosen);
    const words = Object.entries(all()).map(([one, given]) => `${one}.${given}`);
    const secure = IS_SECURE ? "; Secure" : "";
    document.cookie = `${COOKIE}=${words.join("-")}; Max-Age=${YEAR}; Path=/; SameSite=Lax${secure}`;
    inputs(name).forEach((input) => (input.checked = input.value === chosen));
    label();
  };
  const set = async (name, chosen) => {
    if (!form() || value(name) === chosen) return;
    (window.touchstonePanes?.steady ?? ((act) => act()))(() => apply(name, chosen));
    if (name === "text") await written();
    document.dispatchEvent(new CustomEvent("touchstone:reading", { detail: { name, value: chosen } }));
  };

  // Answers as they are written, or formatted: the server has both, and the form on the page stays as it is.
  let turn = 0;
  const written = async () => {
    const mine = ++turn;
    const bodies = [...document.querySelectorAll(".response-body")];
    if (!bodies.length) return;
    try {
      const response = await fetch(location.href, { credentials: "same-origin" });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const others = [...page.querySelectorAll(".response-body")];
      if (mine !== turn || !response.ok || others.length !== bodies.length) return;
      window.touchstonePanes?.steady(() => bodies.forEach((body, place) => body.isConnected && body.replaceWith(others[place])));
      document.dispatchEvent(new CustomEvent("touchstone:texts"));
    } catch {
      // offline: the next item comes as chosen
    }
  };

  // What a switch or a fold does next is its name.
  const label = () => {
    const fold = document.querySelector("[data-instruction-fold]");
    if (fold) {
      const isPinned = root.getAttribute(attribute("prompt")) === "pinned";
      fold.textContent = isPinned ? gettext("Back to the answer") : gettext("Show all");
    }
    document.querySelectorAll("[data-reading-switch]").forEach((button) => {
      button.setAttribute("aria-pressed", String(root.hasAttribute(attribute(button.dataset.readingSwitch))));
    });
  };

  document.addEventListener("change", (event) => {
    if (event.target.form?.matches("[data-reading]")) set(event.target.name, event.target.value);
  });
  document.addEventListener("submit", (event) => event.target.matches("[data-reading]") && event.preventDefault());
  document.addEventListener("click", (event) => {
    const target = event.target instanceof Element ? event.target : null;
    const button = target?.closest("[data-reading-switch]");
    if (button) {
      const { readingSwitch: name } = button.dataset;
      const menu = button.closest("[popover]");
      if (menu?.matches(":popover-open")) menu.hidePopover();
      const other = inputs(name).find((input) => input.value !== value(name));
      if (other) set(name, other.value);
    }
    if (target?.closest("[data-instruction-fold]")) {
      const inTabs = window.touchstonePanes?.scroller()?.matches("[role=tabpanel]");
      set("prompt", inTabs ? (value("prompt") === "pinned" ? "scrolls" : "pinned") : "scrolls");
    }
  });
  document.addEventListener("touchstone:work", label);
})();

// An answer in parts (a rubric's criteria, a checklist's questions): one part is current, keys answer it and lead to the
// next one without an answer. The parts are plain fieldsets of radios, or of a number, which do without this script.
// With [data-one-at-a-time] (the dimensions of a pair) style sheets show the current part alone, so that a tap leads on as
// a key does; [data-part-to="id"] goes to a part, and its [data-part-said] says what was answered there.
"use strict";
(() => {
  const root = () => document.querySelector("[data-parts]");
  const parts = () => [...document.querySelectorAll("[data-parts] [data-part]")];
  const given = (part) => {
    const number = part.querySelector("[data-rating-number]");
    return part.querySelector("input:checked:not([data-also])") ?? (number && number.value !== "" && number.validity.valid ? number : null);
  };
  const current = () => parts().find((part) => part.hasAttribute("aria-current"));
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const edge = (selector, side, otherwise) => document.querySelector(selector)?.getBoundingClientRect()[side] ?? otherwise;
  // Whether somebody has been at the current part. Until then it is the next one: nobody is led past the first.
  let isAt = false;

  const isAlone = () => root()?.hasAttribute("data-one-at-a-time");
  const stepsSync = () => {
    for (const step of document.querySelectorAll("[data-part-to]")) {
      const part = document.getElementById(step.dataset.partTo);
      const said = part.querySelector("input:checked")?.dataset.said ?? "";
      step.querySelector("[data-part-said]").textContent = said;
      step.toggleAttribute("data-answered", said !== "");
      const isOn = part === current();
      if (isOn && !step.hasAttribute("aria-current")) step.scrollIntoView({ block: "nearest", inline: "center", behavior: "instant" });
      if (isOn) step.setAttribute("aria-current", "step");
      else step.removeAttribute("aria-current");
    }
  };

  const mark = (part) => {
    for (const other of parts()) {
      if (other === part) other.setAttribute("aria-current", "true");
      else other.removeAttribute("aria-current");
      // Only the current part has keys, so that the list of keys is short and true.
      for (const label of other.querySelectorAll("[data-part-key]")) {
        if (other === part) label.dataset.key = label.dataset.partKey;
        else delete label.dataset.key;
      }
    }
    stepsSync();
  };
  const go = (part) => {
    if (!part) return;
    mark(part);
    // On the part and on none of its options: the one in the light would be favoured, and take keys that scroll.
    part.focus({ preventScroll: true, focusVisible: true });
    if (isAlone()) return; // in the bar, which is in view
    // A part that is higher than what is free between the bars shows its heading, not its middle.
    const free = edge(".answer-bar", "top", innerHeight) - Math.max(0, edge(".topbar", "bottom", 0));
    const block = part.offsetHeight < free ? "center" : "start";
    part.scrollIntoView({ block, behavior: calm.matches ? "auto" : "smooth" });
  };
  const countWords = (done, total) =>
    root().dataset.parts === "rated" ? gettext("{done} of {total} rated", { done, total }) : gettext("{done} of {total} answered", { done, total });
  const count = () => {
    const all = parts();
    const done = all.filter(given).length;
    const words = document.querySelector("[data-parts-count]");
    const bar = document.querySelector("[data-parts-progress]");
    if (words) words.textContent = countWords(done, all.length);
    if (bar) bar.value = done;
    stepsSync();
  };
  const nextOpen = (part) => {
    const all = parts();
    const place = all.indexOf(part);
    return [...all.slice(place + 1), ...all.slice(0, place)].find((other) => !given(other));
  };

  const answered = (event) => {
    const part = event.target.closest?.("[data-parts] [data-part]");
    if (!part) return;
    part.removeAttribute("data-missing");
    isAt = true; // not every browser puts the focus on what is tapped
    mark(part);
    count();
  };
  document.addEventListener("change", answered);
  document.addEventListener("input", answered); // a number is one before its field is left
  document.addEventListener("click", (event) => {
    const move = event.target.closest?.("[data-part-move]");
    if (move) {
      const all = parts();
      const place = all.indexOf(current()) + (isAt ? Number(move.dataset.partMove) : 0);
      queueMicrotask(() => go(all[Math.max(0, Math.min(all.length - 1, place))]));
      return;
    }
    const step = event.target.closest?.("[data-part-to]");
    if (step) {
      go(document.getElementById(step.dataset.partTo));
      return;
    }
    // A click that a script made is a key's (see keys.js), and the key leads on; who points at a part stays there, unless
    // it is the only one to be seen.
    if ((event.isTrusted && !isAlone()) || !event.target.matches?.("[data-part] input")) return;
    const part = event.target.closest("[data-part]");
    // What else is reasonable is asked here, too: Enter and J lead on.
    if (part.querySelector("[data-also]")) return;
    const next = nextOpen(part);
    const lead = () => (next ? go(next) : announceDone());
    // After the key has put the focus on what it pressed; of a tap after the browser has said that there is a choice.
    if (event.isTrusted) setTimeout(lead);
    else queueMicrotask(lead);
  });
  const announceDone = () => {
    const announcer = document.querySelector("[data-announcer]");
    if (announcer) announcer.textContent = `${countWords(parts().length, parts().length)}. ${gettext("Ready to submit.")}`;
  };
  document.addEventListener("focusin", (event) => {
    const part = event.target.closest?.("[data-parts] [data-part]");
    if (!part) return;
    isAt = true;
    if (part !== current()) mark(part);
  });
  document.addEventListener(
    "keydown",
    (event) => {
      if (!root() || document.querySelector("dialog[open]")) return;
      // Enter submits what is complete, and goes to what is missing otherwise.
      const inPart = event.target.matches?.("[data-part], [data-part] input, body");
      const open = event.key === "Enter" && inPart && parts().find((part) => !given(part));
      if (!open) return;
      event.preventDefault();
      go(open);
    },
    { capture: true },
  );

  const start = () => {
    const all = parts();
    if (!all.length) return;
    count();
    if (current()) return;
    isAt = false;
    const missing = all.find((part) => part.hasAttribute("data-missing"));
    mark(missing ?? all.find((part) => !given(part)) ?? all[0]);
    if (missing) go(missing);
    reach();
  };
  // What scrolls by itself has to be within reach of the keyboard.
  const reach = () => {
    const text = document.querySelector("[data-judge-text]");
    if (!text || text.scrollHeight <= text.clientHeight + 1) return;
    text.tabIndex = 0;
    text.setAttribute("role", "region");
    text.setAttribute("aria-label", gettext("What is judged"));
  };
  addEventListener("resize", reach);
  addEventListener("pageshow", () => root() && count()); // the browser may restore inputs after this script ran
  document.addEventListener("touchstone:work", start); // another item, or a draft put back
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();

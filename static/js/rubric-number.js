// A rating with many points (0 to 100): a number that is typed, a slider that follows it and leads it, and "not applicable",
// which takes its place. The number alone is sent; without this script it is a plain field, and there is no slider.
// Loaded before rubric.js, which leads from one criterion to the next.
"use strict";
(() => {
  const NUMBER = "[data-rating-number]";
  const partOf = (element) => element.closest?.("[data-part]");
  const current = () => document.querySelector("[data-part][aria-current]");

  const settle = (part) => {
    const number = part.querySelector(NUMBER);
    if (!number) return;
    const none = part.querySelector("[data-rating-none]");
    const slider = part.querySelector("[data-rating-slider]");
    const isTyped = number.value !== "";
    if (isTyped && number.validity.valid) slider.value = number.value;
    // Where nothing is said the slider has no thumb: it would stand in the middle and suggest that.
    part.querySelector("[data-rating]").toggleAttribute("data-unset", !isTyped);
    const isLacking = none && !none.checked && !isTyped;
    number.setCustomValidity(isLacking ? gettext("Enter a rating, or choose “Not applicable”.") : "");
  };

  // In the capture phase: before the form asks what is complete, and keeps a draft of it.
  document.addEventListener(
    "input",
    (event) => {
      const part = partOf(event.target);
      const number = part?.querySelector(NUMBER);
      if (!number) return;
      const none = part.querySelector("[data-rating-none]");
      if (event.target.matches("[data-rating-slider]")) number.value = event.target.value;
      if (event.target === none) {
        if (none.checked) number.value = "";
      } else if (none && number.value !== "") none.checked = false;
      number.setCustomValidity("");
      settle(part);
    },
    { capture: true },
  );

  // A digit begins the number of the current criterion, wherever the focus is.
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    const number = current()?.querySelector(NUMBER);
    if (!number || document.querySelector("dialog[open]") || window.touchstoneKeys?.isOff()) return;
    if (window.touchstoneKeys?.typing(event.target) || !(/^[0-9]$/.test(event.key) || (event.key === "-" && number.min < 0))) return;
    number.focus({ preventScroll: true });
    number.select(); // the key then writes over what stands there
  });
  // Enter says what is wrong with a number that is off the scale, in place of leading on.
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.key !== "Enter" || !event.target.matches?.(NUMBER)) return;
      if (event.target.validity.valid || (event.target.value === "" && !event.target.validity.badInput)) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      event.target.reportValidity();
    },
    { capture: true },
  );
  // Scrolling with the pointer over a number never changes it.
  document.addEventListener("wheel", (event) => {
    if (event.target.matches?.(NUMBER) && event.target === document.activeElement) event.target.blur();
  }, { passive: true });

  const start = () => document.querySelectorAll("[data-part]").forEach(settle);
  document.addEventListener("touchstone:work", start);
  addEventListener("pageshow", start);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();

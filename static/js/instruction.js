// The instruction while its answers are read: the button [data-instruction-toggle] in the bar holds it under the bar, and
// gives it back. The page does not move, and the answers can be read and chosen meanwhile.
"use strict";
(() => {
  const toggle = () => document.querySelector("[data-instruction-toggle]");
  const section = () => document.querySelector("[data-instruction]");
  const isShown = () => section()?.hasAttribute("data-held") ?? false;

  const show = (on) => {
    const [place, button] = [section(), toggle()];
    if (!place || !button) return;
    const body = place.firstElementChild;
    button.setAttribute("aria-expanded", String(on));
    if (on) place.style.minHeight = `${place.offsetHeight}px`; // its place stays, so that nothing moves
    place.toggleAttribute("data-held", on);
    if (on) {
      place.style.setProperty("--held-top", `${Math.max(0, document.querySelector(".topbar").getBoundingClientRect().bottom)}px`);
      body.tabIndex = -1;
      body.focus({ preventScroll: true }); // so that the keys that scroll, scroll it
    } else {
      place.removeAttribute("style");
      body.removeAttribute("tabindex");
    }
  };
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("[data-instruction-toggle], [data-instruction-back]")) return;
    const wasIn = section()?.contains(document.activeElement);
    show(!isShown());
    if (wasIn) toggle().focus({ preventScroll: true });
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || !isShown() || document.querySelector("dialog[open], :popover-open")) return;
    event.preventDefault();
    show(false);
    toggle().focus({ preventScroll: true });
  });
  addEventListener("resize", () => isShown() && show(false)); // another layout, another place
})();

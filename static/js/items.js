// A list of items by keyboard: buttons with `data-item-move` and `data-item-toggle` say which keys there are (keys.js).
"use strict";
(() => {
  const rows = () => [...document.querySelectorAll("[data-item-rows] [data-item-row]")];
  const here = () => document.activeElement?.closest?.("[data-item-row]");
  let last = null;
  document.addEventListener("focusin", () => (last = here() ?? last));
  const move = (by) => {
    const all = rows();
    const at = all.indexOf(here() ?? last);
    const row = all[at < 0 ? 0 : Math.max(0, Math.min(all.length - 1, at + by))];
    row?.querySelector("a.item-name")?.focus({ focusVisible: true });
    row?.scrollIntoView({ block: "nearest" });
  };
  // Arrows scroll, unless an item has the focus.
  document.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey || !event.target.matches?.("a.item-name")) return;
    event.preventDefault();
    move(by);
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-item-move]");
    if (button) move(Number(button.dataset.itemMove));
    if (event.target.closest?.("[data-item-toggle]")) (here() ?? last)?.querySelector("input[name=item]")?.click();
  });
})();

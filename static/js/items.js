// A list of items by keyboard: buttons with `data-item-move` and `data-item-toggle` say which keys there are (keys.js).
"use strict";
(() => {
  const rows = () => [...document.querySelectorAll("[data-item-rows] [data-item-row]")];
  const here = () => document.activeElement?.closest?.("[data-item-row]");
  let last = null;
  document.addEventListener("focusin", () => (last = here() ?? last));
  document.addEventListener("click", (event) => {
    const move = event.target.closest?.("[data-item-move]");
    if (move) {
      const all = rows();
      const at = all.indexOf(here() ?? last);
      const next = at < 0 ? 0 : at + Number(move.dataset.itemMove);
      const row = all[Math.max(0, Math.min(all.length - 1, next))];
      row?.querySelector("a.item-name")?.focus({ focusVisible: true });
      row?.scrollIntoView({ block: "nearest" });
      return;
    }
    if (event.target.closest?.("[data-item-toggle]")) (here() ?? last)?.querySelector("input[name=item]")?.click();
  });
})();

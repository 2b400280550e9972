// Response sets: what was chosen is reasonable anyway, so that its checkbox beside the others is hidden. Without this
// script it stands there, and ticking it changes nothing. Style sheets show the set once there is a choice.
"use strict";
(() => {
  const sync = (set) => {
    const inputs = set.closest("form")?.querySelectorAll(`[name="${CSS.escape(set.dataset.responseSet)}"]`) ?? [];
    const chosen = [...inputs].find((input) => input.checked)?.value;
    for (const label of set.querySelectorAll("[data-answer]")) label.hidden = label.dataset.answer === chosen;
  };
  const syncAll = () => document.querySelectorAll("[data-response-set]").forEach(sync);
  document.addEventListener("input", (event) => {
    if (event.target.matches?.("[type=radio]")) syncAll();
  });
  // Drafts are put back by another script, and the browser restores inputs late: look again.
  addEventListener("DOMContentLoaded", syncAll);
  addEventListener("pageshow", syncAll);
  document.addEventListener("touchstone:work", syncAll);
  if (document.readyState !== "loading") syncAll();
})();

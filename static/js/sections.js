// [data-section="1"] and "-1" (J and K, with Shift where J and K lead from question to question) go to the next and to the previous
// section of the answer that is read: to its headings, or where there are none to its paragraphs; in a conversation also to each
// message, in a trace to each step. Without any of these they scroll by most of what is seen.
"use strict";
(() => {
  const HEADING = ":is(h1, h2, h3, h4, h5, h6)";
  const body = () => {
    const pane = document.querySelector(`[data-pane="${window.touchstonePanes?.current()}"]`) ?? document.querySelector("[data-judge-text], .response");
    return pane?.querySelector(".response-body") ?? pane?.querySelector(".instruction-body .prose");
  };
  const stops = (text) => {
    const turns = [...text.querySelectorAll(":scope > .thread > .turn, :scope > .trace > .timeline > li")];
    // A heading at the beginning of a turn is where the turn is.
    if (turns.length) return turns.flatMap((turn) => [turn, ...turn.querySelectorAll(`.prose > ${HEADING}:not(:first-child)`)]);
    const all = [...text.children];
    const parts = all.length === 1 && all[0].matches(".plain") ? [...all[0].children] : [];
    const blocks = parts.length ? parts : all;
    const heads = blocks.filter((block) => block.matches(HEADING));
    return heads.length > 1 ? heads : blocks.length > 1 ? blocks : [];
  };
  /** What scrolls the text, null for the page. */
  const scrollerOf = (text) => {
    const box = text.closest("[data-pane]") ? window.touchstonePanes.scroller() : text.closest("[data-judge-text]");
    return box && box.scrollHeight > box.clientHeight + 1 && getComputedStyle(box).overflowY !== "visible" ? box : null;
  };
  /** What stays above the text while it scrolls: the instruction that is held in view, the head of the answer, a trace's bar. */
  const covered = (text, box) =>
    [document.querySelector("[data-instruction]"), text.closest(".response")?.querySelector(".response-head"), text.querySelector(".trace-bar")]
      .filter((part) => part && (box ?? document).contains(part) && getComputedStyle(part).position === "sticky")
      .reduce((sum, part) => sum + part.offsetHeight, 0);
  const go = (step) => {
    const text = body();
    if (!text) return;
    const box = scrollerOf(text);
    const edge = box ? box.getBoundingClientRect().top : Math.max(0, document.querySelector(".topbar")?.getBoundingClientRect().bottom ?? 0);
    const top = edge + covered(text, box) + 8;
    const tops = stops(text).map((stop) => stop.getBoundingClientRect().top - top);
    const next = step > 0 ? tops.find((one) => one > 4) : tops.findLast((one) => one < -4);
    const page = 0.8 * (box ? box.clientHeight : innerHeight - top);
    (box ?? document.scrollingElement).scrollBy({ top: next ?? step * page, behavior: "instant" });
  };

  document.addEventListener("click", (event) => {
    const move = event.target instanceof Element ? event.target.closest("[data-section]") : null;
    if (!move) return;
    const menu = move.closest("[popover]");
    if (menu?.matches(":popover-open")) menu.hidePopover();
    go(Number(move.dataset.section));
  });
})();

// Find in the answers: [data-find] with its field. Matches are highlights (CSS Custom Highlight API) and change nothing in the
// text; where a browser has none, the browser's own search is what there is. Enter and Shift+Enter go on and back, Escape closes.
"use strict";
(() => {
  const MOST = 2_000; // matches that are counted
  const WAIT = 120;
  const box = () => document.querySelector("[data-find]");
  const field = () => box()?.querySelector("input");
  const able = "highlights" in CSS;
  let matches = [];
  let here = -1;
  let timer = 0;
  let opener = null;

  /** The text of an element, and where each of its text nodes begins in it. */
  const textOf = (body) => {
    const nodes = [];
    const starts = [];
    let text = "";
    const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      nodes.push(node);
      starts.push(text.length);
      text += node.data;
    }
    return { nodes, starts, text };
  };
  const rangeOf = ({ nodes, starts }, from, to) => {
    const at = (offset, isEnd) => {
      let low = 0;
      let high = starts.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (isEnd ? starts[middle] < offset : starts[middle] <= offset) low = middle;
        else high = middle - 1;
      }
      return [nodes[low], offset - starts[low]];
    };
    const range = new StaticRange({ startContainer: at(from)[0], startOffset: at(from)[1], endContainer: at(to, true)[0], endOffset: at(to, true)[1] });
    return range;
  };
  window.touchstoneText = { textOf, rangeOf };

  const paint = () => {
    const ranges = matches.map((match) => match.range);
    CSS.highlights.set("found", new Highlight(...ranges));
    if (matches[here]) CSS.highlights.set("found-here", Object.assign(new Highlight(matches[here].range), { priority: 1 }));
    else CSS.highlights.delete("found-here");
    const words = field().value;
    const names = new Map();
    matches.forEach(({ name }) => name && names.set(name, (names.get(name) ?? 0) + 1));
    const each = [...names].map(([name, count]) => `${name.toUpperCase()} ${count}`).join(", ");
    const total = matches.length < MOST ? matches.length : `${MOST}+`;
    box().querySelector("[data-find-found]").textContent = !words ? "" : matches.length ? gettext("{here} of {total}", { here: here + 1, total }) + (each ? ` (${each})` : "") : gettext("No match");
  };
  const look = () => {
    const words = field().value.trim();
    matches = [];
    here = -1;
    if (words) {
      const pattern = new RegExp(words.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&").replace(/\s+/g, "\\s+"), "giu");
      for (const body of document.querySelectorAll(".response-body")) {
        const known = textOf(body);
        for (const match of known.text.matchAll(pattern)) {
          if (matches.length >= MOST) break;
          const pane = body.closest("[data-pane]");
          matches.push({ range: rangeOf(known, match.index, match.index + match[0].length), name: pane?.dataset.pane ?? "" });
        }
      }
    }
    go(1);
  };
  const go = (step) => {
    if (matches.length) {
      here = (here + step + matches.length) % matches.length;
      const { range, name } = matches[here];
      if (name && name !== window.touchstonePanes?.current()) window.touchstonePanes?.show(name, false);
      const at = document.createRange();
      at.setStart(range.startContainer, range.startOffset);
      at.setEnd(range.endContainer, range.endOffset);
      const seen = at.getBoundingClientRect();
      const pane = window.touchstonePanes?.scroller();
      const [top, height] = pane ? [pane.getBoundingClientRect().top, pane.clientHeight] : [0, innerHeight];
      if (seen.top < top + 64 || seen.bottom > top + 0.6 * height)
        (pane ?? document.scrollingElement).scrollBy({ top: seen.top - top - height / 3, behavior: "instant" });
    }
    paint();
  };
  const open = () => {
    if (!able || !box()) return;
    opener = document.activeElement;
    box().hidden = false;
    field().focus();
    field().select();
    if (field().value) look();
  };
  const close = () => {
    box().hidden = true;
    matches = [];
    CSS.highlights.delete("found");
    CSS.highlights.delete("found-here");
    if (opener?.isConnected) opener.focus({ preventScroll: true });
  };
  const again = () => box() && !box().hidden && look();

  document.addEventListener("click", (event) => {
    const target = event.target instanceof Element ? event.target : null;
    const opens = target?.closest("[data-find-open]");
    if (opens) {
      const menu = opens.closest("[popover]");
      if (menu?.matches(":popover-open")) menu.hidePopover();
      // After the key has done what it does.
      queueMicrotask(open);
    }
    const move = target?.closest("[data-find-move]");
    if (move) go(Number(move.dataset.findMove));
    if (target?.closest("[data-find-close]")) close();
  });
  document.addEventListener("input", (event) => {
    if (event.target !== field()) return;
    clearTimeout(timer);
    timer = setTimeout(look, WAIT);
  });
  document.addEventListener("keydown", (event) => {
    if (!event.target.closest?.("[data-find]") || event.isComposing) return;
    if (event.key === "Escape") {
      event.preventDefault();
      close();
    } else if (event.key === "Enter" && event.target === field()) {
      event.preventDefault();
      go(event.shiftKey ? -1 : 1);
    }
  });
  document.addEventListener("touchstone:work", again);
  document.addEventListener("touchstone:texts", again);
  document.addEventListener("DOMContentLoaded", () => able || document.querySelectorAll("[data-find-open]").forEach((one) => one.remove()));
})();

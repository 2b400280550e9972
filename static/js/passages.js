// Passages of a response: from what is seen to the text as it is stored, and back. [data-source] is the body of a response with
// the runs of web/source_map.py, or that of one message of a conversation, [data-message] its number; [data-response] is the
// place of the response on the page. window.touchstonePassages:
//   source(body, from, to)     offsets of what is seen (UTF-16) to {start, end} of the text (code points), outwards where
//                              one character seen isn't one of the text; null where nothing of the text is seen there
//   shown(body, start, end)    the way back: [from, to]
//   offsets(body, range)       where a range of the document begins and ends in a body
//   range(body, from, to), text(body)
//   bodyOf(response, message)  where a response is shown, or a message of it
//   paint(name, ranges)        a highlight (CSS Custom Highlight API), where the browser has them
//   go(body, from, to)         scrolls a passage into view
//   frame(body)                what scrolls it, and between which edges it is seen
// It also shows the marks of others: [data-marks] is [[response, start, end, reason], ...] with the message as a fifth, and [data-mark-go="N"] goes to one.
"use strict";
(() => {
  const known = new WeakMap(); // body to its text, nodes and runs
  const read = (body) => {
    const found = known.get(body);
    if (found?.source === body.dataset.source) return found;
    const { nodes, starts, text } = window.touchstoneText.textOf(body);
    const numbers = (body.dataset.source ?? "").split(",").map(Number);
    const runs = [];
    let at = 0;
    let start = 0;
    for (let place = 0; place + 3 < numbers.length; place += 4) {
      const [gap, size, skipped, kind] = numbers.slice(place, place + 4);
      at += gap;
      start += skipped;
      const length = kind === 0 ? size : Math.abs(kind);
      runs.push({ at, size, start, length, isExact: kind <= 0 });
      at += size;
      start += length;
    }
    // Another text than the server mapped: nothing is guessed.
    const fresh = { source: body.dataset.source, nodes, starts, text, runs: at <= text.length ? runs : [] };
    known.set(body, fresh);
    return fresh;
  };

  const isLow = (text, at) => at > 0 && (text.charCodeAt(at) & 0xfc00) === 0xdc00;
  const points = (text, from, to) => {
    let count = 0;
    for (let at = from; at < to; at += 1) if (!isLow(text, at)) count += 1;
    return count;
  };
  const units = (text, from, count) => {
    let at = from;
    for (let left = count; left > 0; left -= 1) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
    return at;
  };
  /** The first run for which `passes` holds; it holds for all after it. */
  const first = (runs, passes) => {
    let low = 0;
    let high = runs.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (passes(runs[middle])) high = middle;
      else low = middle + 1;
    }
    return low;
  };

  const source = (body, from, to) => {
    const { text, runs } = read(body);
    let [begin, end] = [from, to];
    while (begin < end && /\s/.test(text[begin])) begin += 1;
    while (begin < end && /\s/.test(text[end - 1])) end -= 1;
    if (begin >= end) return null;
    if (isLow(text, begin)) begin -= 1;
    if (isLow(text, end)) end += 1;
    const one = runs[first(runs, (run) => run.at + run.size > begin)];
    const other = runs[first(runs, (run) => run.at >= end) - 1];
    if (!one || !other || one.at > other.at) return null;
    return {
      start: one.start + (one.isExact ? points(text, one.at, Math.max(one.at, begin)) : 0),
      end: other.start + (other.isExact ? points(text, other.at, Math.min(other.at + other.size, end)) : other.length),
    };
  };
  const shown = (body, start, end) => {
    const { text, runs } = read(body);
    const one = runs[first(runs, (run) => run.start + run.length > start)];
    const other = runs[first(runs, (run) => run.start >= end) - 1];
    if (!one || !other || one.at > other.at) return null;
    return [
      one.isExact ? units(text, one.at, Math.max(0, start - one.start)) : one.at,
      other.isExact ? units(text, other.at, Math.min(other.length, end - other.start)) : other.at + other.size,
    ];
  };
  const range = (body, from, to) => {
    const { startContainer, startOffset, endContainer, endOffset } = window.touchstoneText.rangeOf(read(body), from, to);
    const made = document.createRange();
    made.setStart(startContainer, startOffset);
    made.setEnd(endContainer, endOffset);
    return made;
  };
  const offsets = (body, given) => {
    const at = (node, offset) => {
      const before = document.createRange();
      before.selectNodeContents(body);
      if (before.comparePoint(node, offset) < 0) return 0;
      if (before.comparePoint(node, offset) > 0) return read(body).text.length;
      before.setEnd(node, offset);
      return before.toString().length;
    };
    return [at(given.startContainer, given.startOffset), at(given.endContainer, given.endOffset)];
  };
  const text = (body) => read(body).text;
  const bodyOf = (response, message) =>
    document.querySelector(`[data-source][data-response="${response}"]${message ? `[data-message="${message}"]` : ":not([data-message])"}`);

  const able = "highlights" in CSS;
  const paint = (name, ranges) => {
    if (!able) return;
    if (ranges.length) CSS.highlights.set(name, Object.assign(new Highlight(...ranges), { priority: name === "mark-now" ? 3 : 2 }));
    else CSS.highlights.delete(name);
  };
  const REASONS = ["good", "bad", "part", "choice"];
  /** Marks {body, from, to, reason} as highlights, one for each reason. */
  const paintMarks = (marks) => {
    for (const reason of REASONS)
      paint(`mark-${reason}`, marks.filter((mark) => mark.reason === reason).map(({ body, from, to }) => range(body, from, to)));
  };
  /** What scrolls a body, null for the page, and the edges between which it is seen. */
  const frame = (body) => {
    let box = window.touchstonePanes?.scroller() ?? body.closest("[data-judge-text]");
    if (box && box.scrollHeight <= box.clientHeight + 1) box = null;
    const top = box ? box.getBoundingClientRect().top : (document.querySelector(".topbar")?.getBoundingClientRect().bottom ?? 0);
    const bottom = Math.min(box ? box.getBoundingClientRect().bottom : innerHeight, document.querySelector(".answer-bar")?.getBoundingClientRect().top ?? innerHeight);
    return { box, top, bottom };
  };
  const FADING = 48; // the end of what is shown of a long answer
  /** A passage in the part of a ranked answer that is not shown opens it. */
  const uncover = (body, passage) => {
    const cut = body.closest("[data-rank-body]:not([data-whole])");
    if (!cut) return;
    cut.scrollTop = 0; // a selection may have moved what is no scroll box
    if (passage.getBoundingClientRect().bottom <= cut.getBoundingClientRect().bottom - FADING) return;
    cut.closest("[data-rank-card]").querySelector("[data-expand]").click();
  };
  const go = (body, from, to) => {
    const pane = body.closest("[data-pane]");
    if (pane && pane.dataset.pane !== window.touchstonePanes?.current()) window.touchstonePanes?.show(pane.dataset.pane, false);
    uncover(body, range(body, from, to));
    const { box, top, bottom } = frame(body);
    const seen = range(body, from, to).getBoundingClientRect();
    if (seen.top >= top + 8 && seen.bottom <= bottom - 8) return;
    (box ?? document.scrollingElement).scrollBy({ top: seen.top - top - (bottom - top) / 3, behavior: "instant" });
  };
  window.touchstonePassages = { source, shown, range, offsets, text, bodyOf, paint, paintMarks, frame, go };

  // --- the marks of others ---------------------------------------------------------------------------------------------
  let others = [];
  const showOthers = () => {
    const box = document.querySelector("[data-marks]");
    if (!box) return;
    others = JSON.parse(box.dataset.marks).map(([response, start, end, reason, message]) => {
      const body = bodyOf(response, message);
      const place = body && shown(body, start, end);
      return place ? { body, from: place[0], to: place[1], reason } : null;
    });
    paintMarks(others.filter(Boolean));
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-mark-go]");
    const mark = button && others[Number(button.dataset.markGo)];
    if (!mark) return;
    event.preventDefault();
    go(mark.body, mark.from, mark.to);
    paint("mark-now", [range(mark.body, mark.from, mark.to)]);
  });
  addEventListener("DOMContentLoaded", showOthers);
  document.addEventListener("htmx:load", showOthers);
  document.addEventListener("touchstone:texts", showOthers);
  document.addEventListener("touchstone:moved", showOthers);
})();

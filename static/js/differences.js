// The words in which the two answers differ, marked where the person wants it (data-reading-differences). A worker finds them
// (differences-worker.js), and they are highlights: the page stays as it is, and never waits. [data-differences] has its address.
"use strict";
(() => {
  const { textOf, rangeOf } = window.touchstoneText;
  const CHUNK = 400; // ranges made at a time
  const LONG = 20_000; // characters of both answers, from which on only what is in sight is highlighted
  // Of a block's area. Fine, so that one that is swiped in is seen to be, though little of its height is in sight.
  const THRESHOLDS = Array.from({ length: 26 }, (_, at) => (at / 25) ** 2);
  const isOn = () => document.documentElement.dataset.readingDifferences === "marked";
  let worker = null;
  let turn = 0;
  let inSight = null;

  /** The part of an answer that is painted by itself: a paragraph, a list, a block of a long plain text. */
  const blockOf = (node, body) => {
    let block = node.parentElement;
    while (block !== body && block.parentElement !== body && !block.parentElement.matches(".plain")) block = block.parentElement;
    return block;
  };

  /** Ranges [from, to] of a text in parts that lie in one block each: [block, from, to]. Both are in the order of the text. */
  const partsOf = (body, { nodes, starts, text }, ranges) => {
    const parts = [];
    let at = 0;
    nodes.forEach((node, place) => {
      const end = starts[place + 1] ?? text.length;
      const block = blockOf(node, body);
      while (at < ranges.length && ranges[at][1] <= starts[place]) at += 1;
      for (let one = at; one < ranges.length && ranges[one][0] < end; one += 1) {
        const [from, to] = [Math.max(ranges[one][0], starts[place]), Math.min(ranges[one][1], end)];
        if (from < to) parts.push([block, from, to]);
      }
    });
    return parts;
  };

  /** Keep the highlight to ranges in sight. With any change of the page, a browser paints the text of all ranges anew, which
   *  in an answer of ten thousand words took longer than all else that a key does. */
  const watch = (highlight, blocks) => {
    inSight = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting, intersectionRect, boundingClientRect } of entries) {
        const isRead = isIntersecting && 2 * intersectionRect.width > boundingClientRect.width; // of the other, an edge shows
        for (const range of blocks.get(target)) highlight[isRead ? "add" : "delete"](range);
      }
    }, { threshold: THRESHOLDS });
    blocks.forEach((_, block) => inSight.observe(block));
  };

  const mark = () => {
    turn += 1;
    inSight?.disconnect();
    if (!("highlights" in CSS)) return;
    CSS.highlights.delete("differs");
    const bodies = [...document.querySelectorAll("[data-pane] .response-body")];
    const address = document.querySelector("[data-differences]")?.dataset.differences;
    if (!isOn() || bodies.length !== 2 || !address) return;
    worker ??= new Worker(address);
    const known = bodies.map(textOf);
    worker.onmessage = async ({ data }) => {
      const highlight = new Highlight();
      const blocks = new Map();
      const isLong = known.reduce((sum, one) => sum + one.text.length, 0) > LONG;
      const parts = known.flatMap((one, place) => {
        const flat = data.ranges[place];
        const ranges = Array.from({ length: flat.length / 2 }, (_, at) => [flat[2 * at], flat[2 * at + 1]]);
        return (isLong ? partsOf(bodies[place], one, ranges) : ranges.map((range) => [null, ...range])).map((part) => [one, ...part]);
      });
      for (let at = 0; at < parts.length; at += CHUNK) {
        if (data.turn !== turn) return;
        for (const [one, block, from, to] of parts.slice(at, at + CHUNK)) {
          const range = rangeOf(one, from, to);
          if (!block) highlight.add(range);
          else if (blocks.has(block)) blocks.get(block).push(range);
          else blocks.set(block, [range]);
        }
        await new Promise((next) => setTimeout(next)); // keys first
      }
      if (data.turn !== turn) return;
      CSS.highlights.set("differs", highlight);
      watch(highlight, blocks);
    };
    worker.postMessage({ turn, texts: known.map((one) => one.text) });
  };
  document.addEventListener("touchstone:work", mark);
  document.addEventListener("touchstone:texts", mark);
  document.addEventListener("touchstone:reading", (event) => event.detail.name === "differences" && mark());
})();

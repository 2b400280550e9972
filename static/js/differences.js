// The words in which the two answers differ, marked where the person wants it (data-reading-differences). A worker finds them
// (differences-worker.js), and they are highlights: the page stays as it is, and never waits. [data-differences] has its address.
"use strict";
(() => {
  const { textOf, rangeOf } = window.touchstoneText;
  const CHUNK = 400; // ranges made at a time
  const isOn = () => document.documentElement.dataset.readingDifferences === "marked";
  let worker = null;
  let turn = 0;

  const mark = () => {
    turn += 1;
    if (!("highlights" in CSS)) return;
    CSS.highlights.delete("differs");
    const bodies = [...document.querySelectorAll("[data-pane] .response-body")];
    const address = document.querySelector("[data-differences]")?.dataset.differences;
    if (!isOn() || bodies.length !== 2 || !address) return;
    worker ??= new Worker(address);
    const known = bodies.map(textOf);
    worker.onmessage = async ({ data }) => {
      const highlight = new Highlight();
      const pairs = known.flatMap((one, place) => {
        const ranges = data.ranges[place];
        return Array.from({ length: ranges.length / 2 }, (_, at) => [one, ranges[2 * at], ranges[2 * at + 1]]);
      });
      for (let at = 0; at < pairs.length; at += CHUNK) {
        if (data.turn !== turn) return;
        pairs.slice(at, at + CHUNK).forEach(([one, from, to]) => highlight.add(rangeOf(one, from, to)));
        await new Promise((next) => setTimeout(next)); // keys first
      }
      if (data.turn === turn) CSS.highlights.set("differs", highlight);
    };
    worker.postMessage({ turn, texts: known.map((one) => one.text) });
  };
  document.addEventListener("touchstone:work", mark);
  document.addEventListener("touchstone:texts", mark);
  document.addEventListener("touchstone:reading", (event) => event.detail.name === "differences" && mark());
})();

// Links in a drawing are one stop of the Tab key: arrow keys go to the nearest mark in their direction, Home and End to
// the first and the last one. Without a script the first is a stop, and the table behind the drawing has all of them.
"use strict";
(() => {
  const AWAY = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
  // What lies straight ahead comes before what is nearer but beside it.
  const BESIDE = 3;
  const middle = (link) => {
    const box = link.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  };
  const nearest = (links, from, [right, down]) => {
    const [x, y] = middle(from);
    let best = null;
    let least = Infinity;
    for (const link of links) {
      const [toX, toY] = middle(link);
      const ahead = (toX - x) * right + (toY - y) * down;
      const beside = Math.abs((toX - x) * down) + Math.abs((toY - y) * right);
      if (link === from || ahead < 1 || ahead + BESIDE * beside >= least) continue;
      best = link;
      least = ahead + BESIDE * beside;
    }
    return best;
  };
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const from = event.target.closest?.(".picture-drawing a[href]");
    if (!from || !(event.key in AWAY || event.key === "Home" || event.key === "End")) return;
    const links = [...from.closest("svg").querySelectorAll("a[href]")];
    const to = event.key === "Home" ? links[0] : event.key === "End" ? links.at(-1) : nearest(links, from, AWAY[event.key]);
    event.preventDefault();
    if (!to) return;
    from.setAttribute("tabindex", "-1");
    to.setAttribute("tabindex", "0");
    to.focus();
  });
})();

// Two answers, however they are laid out: which one is read, where each is scrolled to, how to get to the other one.
//   .pair [data-pair] of two [data-pane]; CSS says in `--layout` what they are: "page" (both scroll with the page), "columns"
//   (each scrolls by itself), "tabs" (one at a time; [data-answer-tabs] of two [data-tab] links, a swipe is the browser's own).
// Without a script the links of the tabs go to the answers, and everything scrolls. window.touchstonePanes:
//   scroller()   what the keys that scroll have to scroll, or null for the page
//   show(pane)   brings an answer into view
//   steady(act)  does what changes the layout, and leaves each answer where it was
"use strict";
(() => {
  const KEPT = "touchstone:place";
  const RESTED = 250; // ms after which a scroll has come to rest
  const SOON = 100; // ms after which the share that is read is said
  const pair = () => document.querySelector("[data-pair]");
  const panes = () => [...document.querySelectorAll("[data-pane]")];
  const tabs = () => [...document.querySelectorAll("[data-tab]")];
  const layout = () => (pair() ? getComputedStyle(pair()).getPropertyValue("--layout").trim() : "");
  const form = () => pair()?.closest("form[data-annotate]");

  let laidOut = "";
  let reading = "a"; // the answer that is read: in tabs the one in view, else the one that was gone to last
  let left = {}; // stacked: where each was left
  const current = () => panes().find((pane) => pane.dataset.pane === reading) ?? null;
  const scroller = () => (["tabs", "columns"].includes(laidOut) ? current() : null);
  const scrolls = (pane) => (laidOut === "page" ? document.scrollingElement : pane);

  // --- tabs: which one is in view, how much of each was read -----------------------------------------------------
  /** In tabs, the answer that is out of view can't be reached by Tab or by a screen reader. */
  const syncInert = () => panes().forEach((pane) => pane.toggleAttribute("inert", laidOut === "tabs" && pane.dataset.pane !== reading));
  const sync = () => {
    const inTabs = laidOut === "tabs";
    document.querySelector("[data-answer-tabs]")?.setAttribute("role", inTabs ? "tablist" : "presentation");
    for (const pane of panes()) {
      const isOn = pane.dataset.pane === reading;
      if (inTabs) pane.setAttribute("role", "tabpanel");
      else pane.removeAttribute("role");
      if (laidOut === "page") pane.removeAttribute("tabindex");
      else pane.tabIndex = 0;
    }
    for (const tab of tabs()) {
      const isOn = tab.dataset.tab === reading;
      if (inTabs) tab.setAttribute("role", "tab");
      else tab.removeAttribute("role");
      tab.setAttribute("aria-selected", String(isOn));
      tab.setAttribute("aria-controls", `pane-${tab.dataset.tab}`);
      tab.tabIndex = isOn ? 0 : -1;
    }
  };
  const choose = (name) => {
    if (name === reading) return;
    reading = name;
    measure(current()); // before what is changed has to be laid out again
    sync();
    // The answer that is left becomes inert once the scroll rests: a browser computes the styles of all of it again.
    current().inert = false;
    rest();
  };
  const nearest = () => {
    const box = pair().getBoundingClientRect();
    const middle = box.left + box.width / 2;
    return panes().find((pane) => {
      const { left: from, right: to } = pane.getBoundingClientRect();
      return from <= middle && middle < to;
    });
  };
  const read = new WeakMap(); // the largest share of each that was in view
  // After the frame that scrolls: that one is the answer to the key.
  let measuring = 0;
  const measureSoon = (pane) => {
    measuring ||= setTimeout(() => {
      measuring = 0;
      measure(pane);
    }, SOON);
  };
  const measure = (pane) => {
    if (laidOut !== "tabs" || !pane.isConnected) return;
    const share = Math.min(1, (pane.scrollTop + pane.clientHeight) / Math.max(pane.scrollHeight, 1));
    const most = Math.max(share, read.get(pane) ?? 0);
    read.set(pane, most);
    const said = document.querySelector(`[data-tab="${pane.dataset.pane}"] [data-read]`);
    const words = most > 0.985 ? gettext("read") : gettext("{share}% read", { share: Math.floor(100 * most) });
    if (said) window.touchstoneSay(said, words);
  };

  // --- places ------------------------------------------------------------------------------------------------------
  // A place is a block of an answer and how far into it: it survives another width, another size, another layout.
  const blocks = (pane) => {
    const all = pane.querySelector(".response-body")?.children ?? [];
    const parts = all.length === 1 && all[0].matches(".plain") ? all[0].children : [];
    return [...(parts.length ? parts : all)];
  };
  const edge = (pane) =>
    laidOut === "page"
      ? Math.max(0, document.querySelector(".topbar").getBoundingClientRect().bottom)
      : pane.getBoundingClientRect().top;
  const place = (pane) => {
    const top = edge(pane);
    const all = blocks(pane);
    const at = all.findIndex((block) => block.getBoundingClientRect().bottom > top + 1);
    if (at < 0) return null;
    const box = all[at].getBoundingClientRect();
    return { at, share: (top - box.top) / Math.max(box.height, 1) };
  };
  const goTo = (pane, where) => {
    const block = where && blocks(pane)[where.at];
    if (!block) return;
    const box = block.getBoundingClientRect();
    scrolls(pane).scrollBy({ top: box.top + where.share * box.height - edge(pane), behavior: "instant" });
  };
  const places = () => Object.fromEntries(panes().map((pane) => [pane.dataset.pane, place(pane)]));
  const restore = (found, name) => {
    // One page holds one place: that of the answer that is read.
    for (const pane of panes()) if (laidOut !== "page" || pane.dataset.pane === name) goTo(pane, found[pane.dataset.pane]);
  };
  const steady = (act) => {
    if (!pair()) return act();
    const isScrolled = laidOut !== "page" || scrollY > 0;
    const found = places();
    act();
    relay();
    if (isScrolled) restore(found, reading);
  };
  let latest = {};
  const note = () => (latest = { key: form()?.dataset.assignment, isScrolled: laidOut !== "page" || scrollY > 0, places: places() });
  // A reload, or the way back from another page, comes to where one was.
  const keep = () => {
    if (!note().key) return;
    try {
      sessionStorage.setItem(KEPT, JSON.stringify({ ...latest, reading }));
    } catch {
      // no storage: the browser's own memory of the page's position remains
    }
  };
  const recall = () => {
    try {
      const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
      if (!kept || kept.key !== form()?.dataset.assignment || !kept.isScrolled) return;
      if (laidOut === "tabs" && kept.reading !== reading) show(kept.reading, false);
      restore(kept.places, kept.reading);
    } catch {
      // what is kept there is no place of ours
    }
  };

  // --- going about -------------------------------------------------------------------------------------------------
  const show = (name, moves = true) => {
    const pane = panes().find((one) => one.dataset.pane === name);
    if (!pane) return;
    if (laidOut === "tabs") {
      const behavior = moves && !matchMedia("(prefers-reduced-motion: reduce)").matches ? "smooth" : "instant";
      const box = pair().getBoundingClientRect();
      const from = pane.getBoundingClientRect();
      const isLast = pane === panes().at(-1);
      const isRight = getComputedStyle(pair()).direction === "rtl" ? !isLast : isLast;
      heading = name;
      pair().scrollBy({ left: isRight ? from.right - box.right : from.left - box.left, behavior });
      choose(name);
    } else {
      left[reading] = scrollY;
      choose(name);
    }
  };
  let heading = ""; // where a scroll of ours goes to; what it passes is not read
  const other = () => {
    const next = panes().find((pane) => pane.dataset.pane !== reading);
    if (!next) return;
    show(next.dataset.pane);
    if (laidOut === "page") {
      const [one, two] = panes().map((pane) => pane.getBoundingClientRect());
      const isStacked = two.top >= one.bottom;
      next.tabIndex = -1;
      if (isStacked) scrollTo({ top: left[reading] ?? scrollY + next.getBoundingClientRect().top - edge(next) - 8, behavior: "instant" });
    }
    next.focus({ preventScroll: true, focusVisible: true });
  };
  document.addEventListener("click", (event) => {
    const target = event.target instanceof Element ? event.target : null;
    const tab = target?.closest("[data-tab]");
    if (tab && laidOut === "tabs") {
      event.preventDefault();
      show(tab.dataset.tab);
    }
    const menu = target?.closest("[data-answer-other]")?.closest("[popover]");
    if (menu?.matches(":popover-open")) menu.hidePopover();
    if (target?.closest("[data-answer-other]")) other();
    // The edge of the other answer is a way to it.
    if (laidOut === "tabs" && target?.matches("[data-pair]")) other();
  });
  // Tabs: arrows go to the other one, and choose it (ARIA practices, "Tabs"), in the direction of the page.
  document.addEventListener("keydown", (event) => {
    const tab = laidOut === "tabs" && event.target.closest?.("[data-tab]");
    if (!tab || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    const all = tabs();
    const isRight = getComputedStyle(tab).direction !== "rtl";
    const to = { ArrowRight: isRight ? 1 : 0, ArrowLeft: isRight ? 0 : 1, Home: 0, End: 1 }[event.key];
    if (to === undefined && event.key !== " ") return;
    event.preventDefault();
    if (to === undefined) return show(tab.dataset.tab);
    show(all[to].dataset.tab);
    all[to].focus({ preventScroll: true });
  });
  for (const kind of ["pointerdown", "focusin"])
    document.addEventListener(kind, (event) => {
      const pane = laidOut !== "tabs" && event.target.closest?.("[data-pane]");
      if (pane) choose(pane.dataset.pane);
    });
  let resting = 0;
  const rest = () => {
    clearTimeout(resting);
    resting = setTimeout(rested, RESTED);
  };
  const rested = () => {
    if (!pair()) return;
    heading = "";
    // What was interrupted on its way ends at another answer: that is the one in view.
    const name = laidOut === "tabs" && nearest()?.dataset.pane;
    if (name) choose(name);
    measure(current());
    syncInert();
    keep();
  };
  document.addEventListener(
    "scroll",
    (event) => {
      if (!pair()) return;
      if (event.target === pair()) {
        const name = nearest()?.dataset.pane;
        if (heading && name === heading) heading = "";
        else if (!heading && name) choose(name);
      } else if (event.target === current()) measureSoon(event.target);
      rest();
    },
    { capture: true, passive: true },
  );

  // --- layouts -----------------------------------------------------------------------------------------------------
  const relay = () => {
    laidOut = layout();
    if (!laidOut) return;
    sync();
    syncInert();
    measure(current());
    if (laidOut === "tabs" && nearest()?.dataset.pane !== reading) show(reading, false);
  };
  let width = innerWidth;
  addEventListener("resize", () => {
    if (!pair()) return;
    const [before, laidOutBefore, widthBefore] = [latest, laidOut, width]; // the layout has changed by now: what was noted is what held
    width = innerWidth;
    relay();
    // A phone's bar of addresses, which comes and goes while one scrolls, changes the height alone: nothing has moved.
    if (laidOut === laidOutBefore && width === widthBefore) return;
    if (before.key === form()?.dataset.assignment && before.isScrolled) restore(before.places, reading);
  });
  addEventListener("pagehide", keep);

  window.touchstonePanes = { scroller, steady, show, current: () => reading };
  const begin = (root) => {
    reading = "a";
    left = {};
    latest = {};
    relay();
    if (root === document) recall();
  };
  document.addEventListener("touchstone:work", (event) => begin(event.detail.root));
  // Tests and training have no part that changes: their page alone begins.
  if (document.readyState !== "loading") relay();
})();

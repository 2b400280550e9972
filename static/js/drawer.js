// Items behind a cell, opened beside the table. Any link to a page of items opens there; without a script, or in a new
// tab, it is that page.
"use strict";
(() => {
  const ITEMS = /^\/datasets\/[^/]+\/items\/$/;
  let drawer = null;
  let opener = null;
  const urlOf = (link) => new URL(link.href?.baseVal ?? link.href, location.href);
  const make = () => {
    drawer = document.createElement("section");
    drawer.className = "drawer";
    drawer.id = "drawer";
    drawer.setAttribute("role", "dialog");
    drawer.setAttribute("aria-labelledby", "drawer-title");
    const shut = document.createElement("button");
    shut.type = "button";
    shut.className = "btn btn-ghost drawer-close";
    shut.dataset.key = "escape";
    shut.dataset.keyLabel = "Close the items";
    const key = document.createElement("kbd");
    key.textContent = "Esc";
    shut.append("Close ", key);
    shut.addEventListener("click", close);
    const body = document.createElement("div");
    body.className = "drawer-body";
    body.id = "drawer-body";
    body.addEventListener("htmx:afterSettle", arrived);
    for (const problem of ["responseError", "sendError", "swapError"]) body.addEventListener(`htmx:${problem}`, failed);
    drawer.append(body, shut);
    document.body.append(drawer);
  };
  const wait = (body) => {
    const head = document.createElement("h2");
    head.id = "drawer-title";
    head.tabIndex = -1;
    head.className = "drawer-wait";
    head.textContent = "Loading items…";
    body.replaceChildren(head);
  };
  const mark = (link) => {
    opener?.classList.remove("is-opened");
    opener?.removeAttribute("aria-expanded");
    opener = link;
    opener?.classList.add("is-opened");
    opener?.setAttribute("aria-expanded", "true");
  };
  const title = () => document.getElementById("drawer-title")?.focus({ preventScroll: true });
  let asked = null;
  const load = (url) => {
    const body = document.getElementById("drawer-body");
    asked = url;
    wait(body);
    title();
    // The part's own events say whether it came: the promise is kept before it stands in the page.
    window.htmx.ajax("GET", url.pathname + url.search, { source: body, target: body, swap: "innerHTML" }).catch(() => {});
  };
  // Counts of the tabs come after the items, and change nothing else.
  const ofCounts = (event) => event.target.closest?.("[data-case-counts]") !== null;
  const arrived = (event) => {
    if (ofCounts(event)) return;
    // Where the focus has gone elsewhere meanwhile, it stays there.
    if (document.activeElement === document.body || drawer?.contains(document.activeElement)) title();
  };
  const failed = (event) => ofCounts(event) || location.assign(asked);  // the page says why
  const open = (link) => {
    if (!drawer) make();
    mark(link);
    document.body.classList.add("has-drawer");
    link.scrollIntoView({ block: "nearest", inline: "nearest" });
    load(urlOf(link));
  };
  const close = () => {
    if (!drawer) return;
    const back = opener;
    mark(null);
    drawer.remove();
    drawer = null;
    document.body.classList.remove("has-drawer");
    back?.focus({ preventScroll: true, focusVisible: true });
  };
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const link = event.target.closest?.("a");
    if (!link || !window.htmx || link.hasAttribute("data-drawer-leave")) return;
    const url = urlOf(link);
    if (url.origin !== location.origin || !ITEMS.test(url.pathname) || !(link.href?.baseVal ?? link.getAttribute("href"))) return;
    if (drawer?.contains(link)) {
      if (!link.hasAttribute("data-drawer-case")) return;
      event.preventDefault();
      load(url);
      return;
    }
    if (!link.closest("table, figure, svg, [data-opens-items]")) return;  // a button that leads to the page
    event.preventDefault();
    open(link);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !drawer || event.defaultPrevented || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    event.stopPropagation();
    close();
  }, true);
  // What replaces the table takes the cell with it.
  document.addEventListener("htmx:afterSwap", () => {
    if (opener && !opener.isConnected) close();
  });
})();

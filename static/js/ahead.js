// Items fetched ahead: where a study allows it, the next few are leased to this person and are here, so that the next one is
// shown at once, with or without a connection. Answers wait and are sent as work.js does it.
//   <div id="work" data-ahead="/…/work/ahead/" data-offline="/…/work/offline/" data-worker="/s/worker.js" data-person="7">
//   [data-ahead-state] says how many are ready or wait, [data-ahead-said] is a live region, [data-live] are the elements that
//   the server's answer replaces around whichever item is shown.
// They are in memory, and in this browser's cache with the page itself, from which the service worker (offline-worker.js)
// opens it. The cache is cleared on every page but this one, and when another person is here (annotate.js).
"use strict";
(() => {
  const root = () => document.querySelector("#work[data-ahead]");
  if (!root()) return;
  const { ahead: askAt, offline: shellAt, worker: workerAt, person } = root().dataset;
  const canChange = root().hasAttribute("data-changes");
  const { store, ahead: CACHE } = window.touchstoneAnswers;
  const FILES = "touchstone-files-1";
  const QUIET = 800;
  const KEEP_FOR = 24 * 3_600_000;
  const MOST_FILES = 150;
  const folder = new URL("./", new URL(askAt.replace(/ahead\/$/, ""), location.href)).pathname;
  const statics = new URL("../", document.currentScript?.src ?? document.querySelector("script[src*='/ahead']").src).href;
  const address = (id) => `${folder}${id}/`;

  let order = []; // ids of what is leased, the item in hand first
  let remembered = []; // the same as this browser has kept it, until the server has said what it is now
  const parts = new Map(); // id to HTML
  let live = "";
  let isOffline = !navigator.onLine;
  let isDown = false; // the site answers, and can't take it

  const form = () => document.querySelector("#work form[data-annotate]");
  const idOf = (one) => one?.dataset.assignment.split("-").slice(1).join("-") ?? "";
  const waits = (id) => Boolean(store.read(`${person}-${id}`)?.waiting);
  const ready = () => order.filter((id) => parts.has(id) && id !== idOf(form()) && !waits(id));

  // --- showing ---------------------------------------------------------------------------------------------------------
  const token = () => document.querySelector("[name=csrfmiddlewaretoken]")?.value;
  let isOurs = false; // this file is swapping an item in
  const show = (id) => {
    const current = token();
    isOurs = true;
    if (root().contains(document.activeElement)) document.activeElement.blur();
    window.htmx.swap(root(), parts.get(id), { swapStyle: "outerHTML", swapDelay: 0, settleDelay: 0 });
    if (current) root().querySelectorAll("[name=csrfmiddlewaretoken]").forEach((input) => (input.value = current));
    isOurs = false;
    history.replaceState(history.state, "", address(id));
    say();
  };
  // Before others read the part that came.
  document.addEventListener("htmx:load", (event) => isOurs && event.target.id === "work" && enliven(), { capture: true });
  // What the server said last stands around the item, not what it said when the item was fetched.
  const enliven = () => {
    const said = new DOMParser().parseFromString(live, "text/html");
    said.querySelectorAll("[data-live]").forEach((one) => {
      document.querySelector(`#work [data-live="${one.dataset.live}"]`)?.replaceChildren(...one.childNodes);
    });
  };
  // What is said once isn't said again around the next item.
  const lasting = (text) => {
    const said = new DOMParser().parseFromString(text, "text/html");
    said.querySelectorAll("[data-toast], #messages").forEach((one) => one.remove());
    return said.body.innerHTML;
  };
  const follow = (answered) => {
    if (answered.elements.namedItem("change")) return false;
    const [next] = ready();
    if (!next) return false;
    show(next);
    // The server's link leads to the answer before this one. It says the new link once it has this one.
    document.querySelector('#work [data-live="undo"] a')?.remove();
    return true;
  };

  // While it waits, the answer before is changed here: it hasn't been sent. Once it has, the link of the page does it.
  const undoable = () => {
    const [key, kept] = window.touchstoneWork.others().at(-1) ?? [];
    const id = key?.split("-")[1];
    return canChange && (isOffline || isDown) && parts.has(id) ? { key, kept, id } : null;
  };
  const undo = () => {
    const { key, kept, id } = undoable() ?? {};
    if (!id) return;
    store.write(key, { ...kept, waiting: null, saved: false });
    show(id);
  };
  const offerUndo = () => {
    const place = document.querySelector('#work [data-live="undo"]');
    const offered = place?.querySelector("[data-ahead-undo]");
    if (!place || Boolean(offered) === Boolean(undoable())) return;
    if (offered) return enliven();
    const button = document.createElement("button");
    button.type = "button";
    Object.assign(button.dataset, { aheadUndo: "", key: "u" });
    const key = document.createElement("kbd");
    key.textContent = "U";
    button.append(`${gettext("Change previous answer")} `, key);
    place.replaceChildren(button);
  };
  document.addEventListener("click", (event) => event.target.closest?.("[data-ahead-undo]") && undo());

  // --- fetching --------------------------------------------------------------------------------------------------------
  const ask = (body) => {
    if (!form()) return false;
    body.set("ahead", "1");
    body.set("known", [...parts.keys()].join(","));
    return true;
  };
  // What has arrived doesn't come again, though the server's last order had it still.
  const answered = new Set();
  const sent = (key) => {
    const id = key.split("-")[1];
    answered.add(id);
    order = order.filter((one) => one !== id);
    parts.delete(id);
    keep();
  };
  const received = async (found) => {
    if (found.go) {
      location.assign(found.go);
      return;
    }
    order = found.order.map(String).filter((id) => !answered.has(id));
    Object.entries(found.parts).forEach(([id, html]) => parts.set(id, html));
    [...parts.keys()].forEach((id) => order.includes(id) || parts.delete(id));
    ({ live } = found);
    enliven();
    document.dispatchEvent(new Event("touchstone:live"));
    const told = [...document.querySelectorAll("#messages li, .notice-text")].map((one) => one.textContent.trim()).join(" ");
    if (told) announce(told);
    live = lasting(live);
    say();
    keep();
  };
  // Without an answer from the server, what it said last: from the item that is shown.
  const fallBack = () => {
    const at = remembered.indexOf(idOf(form()));
    order = form() ? (at < 0 ? [] : remembered.slice(at)) : remembered;
    say();
  };
  let fetching = false;
  const refill = async () => {
    // On a page of an earlier answer nothing is next, and what waits asks when it is sent.
    if (fetching || isOffline || !form() || form().elements.namedItem("change") || window.touchstoneWork.others().length) return;
    fetching = true;
    try {
      const body = new URLSearchParams({ csrfmiddlewaretoken: token() });
      ask(body);
      const response = await fetch(askAt, { method: "POST", body, credentials: "same-origin" });
      if (response.ok && response.headers.get("Content-Type")?.startsWith("application/json")) await received(await response.json());
    } catch {
      if (!order.length) fallBack();
    } finally {
      fetching = false;
    }
  };

  // --- what is kept in this browser ------------------------------------------------------------------------------------
  const partAt = (id) => `${address(id)}?part`;
  const html = (text) => new Response(text, { headers: { "Content-Type": "text/html; charset=utf-8" } });
  const imagesOf = (text) => {
    const page = new DOMParser().parseFromString(text, "text/html");
    const sources = [...page.querySelectorAll("img[src]")].map((image) => new URL(image.getAttribute("src"), location.href));
    return sources.filter(({ origin }) => origin === location.origin).map(({ href }) => href);
  };
  let keeping = Promise.resolve();
  let hasShell = false;
  const keep = () => {
    if (window.caches) keeping = keeping.then(keepAll).catch(() => {}); // no room: memory has it
  };
  const keepAll = async () => {
    const cache = await caches.open(CACHE);
    const wanted = new Set();
    const put = async (url, make) => {
      const { href } = new URL(url, location.href);
      wanted.add(href);
      if (!(await cache.match(href))) await cache.put(href, await make());
    };
    if (!hasShell) await cache.delete(shellAt);
    await put(shellAt, () => fetch(shellAt, { credentials: "same-origin" }));
    hasShell = true;
    for (const [id, text] of [...parts]) {
      await put(partAt(id), () => html(text));
      for (const image of imagesOf(text)) await put(image, () => fetch(image, { credentials: "same-origin" }));
    }
    wanted.add(new URL(askAt, location.href).href);
    await cache.put(askAt, new Response(JSON.stringify({ person, language: document.documentElement.lang, order, live, at: Date.now() })));
    const old = (await cache.keys()).filter(({ url }) => !wanted.has(url) && (url.startsWith(new URL(folder, location.href).href) || url.includes("/images/")));
    await Promise.all(old.map((request) => cache.delete(request)));
    await keepFiles();
  };
  // The page's own scripts and styles. With a hash in its name, a file never changes.
  const refreshed = new Set();
  const keepFiles = async () => {
    const cache = await caches.open(FILES);
    const loaded = performance.getEntriesByType("resource").map(({ name }) => name);
    const files = [...new Set(loaded)].filter((name) => name.startsWith(statics));
    if ((await cache.keys()).length > MOST_FILES) await Promise.all((await cache.keys()).map((request) => cache.delete(request)));
    for (const file of files) {
      const isFixed = /\.[0-9a-f]{12}\./.test(file);
      if (refreshed.has(file) || (isFixed && (await cache.match(file)))) continue;
      refreshed.add(file);
      await cache.put(file, await fetch(file));
    }
  };
  const recall = async () => {
    const cache = await caches.open(CACHE);
    const kept = await (await cache.match(askAt))?.json();
    if (!kept) return;
    // What was fetched in another language is fetched again.
    if (kept.person !== person || kept.language !== document.documentElement.lang || Date.now() - kept.at > KEEP_FOR) {
      await caches.delete(CACHE);
      return;
    }
    ({ order: remembered, live } = kept);
    for (const id of remembered) {
      const text = await (await cache.match(partAt(id)))?.text();
      if (text) parts.set(id, text);
    }
  };
  const forget = () => {
    parts.clear();
    if (window.caches) keeping = keeping.then(() => caches.delete(CACHE)).catch(() => {});
    hasShell = false;
  };

  // --- what the page says ----------------------------------------------------------------------------------------------
  const waiting = () => window.touchstoneWork.others().length + (window.touchstoneAnswers.of(form())?.waiting ? 1 : 0);
  const words = () => {
    const n = ready().length;
    const left = waiting();
    if (isOffline && left) return ngettext("Offline: {n} answer waiting", "Offline: {n} answers waiting", left);
    if (isOffline) return ngettext("Offline: {n} item ready", "Offline: {n} items ready", n);
    if (isDown && left) return ngettext("The site isn’t responding: {n} answer waiting", "The site isn’t responding: {n} answers waiting", left);
    return n ? ngettext("{n} item ready offline", "{n} items ready offline", n) : "";
  };
  const say = () => {
    const state = document.querySelector("[data-ahead-state]");
    if (!state) return;
    state.toggleAttribute("data-offline-now", isOffline || (isDown && waiting() > 0));
    if (state.textContent !== words()) state.textContent = words();
    offerUndo();
  };
  const announce = (text) => {
    const said = document.querySelector("[data-ahead-said]");
    if (said) said.textContent = text;
  };
  const connected = (is, n = 0) => {
    if (isOffline === !is) return;
    isOffline = !is;
    announce(
      isOffline
        ? gettext("You’re offline. Your answers are saved here and will be sent when you reconnect.")
        : n
          ? ngettext("You’re online again. {n} answer was sent.", "You’re online again. {n} answers were sent.", n)
          : gettext("You’re online again."),
    );
  };
  document.addEventListener("touchstone:sent", ({ detail }) => {
    isDown = detail.status !== 0 && detail.status !== 200;
    connected(detail.status !== 0, detail.n);
    say();
    if (detail.status === 200) goOn();
  });
  // Nothing was saved here to show: the site has something.
  const goOn = () => root()?.dataset.state === "offline" && location.reload();
  addEventListener("offline", () => {
    connected(false);
    say();
  });
  addEventListener("online", () => {
    if (window.touchstoneWork.others().length) return; // what is sent says it
    connected(true);
    say();
    refill();
    goOn();
  });
  for (const kind of ["htmx:sendError", "htmx:afterRequest"])
    document.addEventListener(kind, (event) => {
      if (!(event.detail.elt instanceof HTMLFormElement)) return;
      connected(kind !== "htmx:sendError" && event.detail.xhr?.status !== 0);
      say();
    });

  // --- beginning -------------------------------------------------------------------------------------------------------
  const open = () => {
    const wanted = location.pathname.startsWith(folder) ? location.pathname.slice(folder.length).replace(/\/$/, "") : "";
    const [first] = ready();
    const id = ready().includes(wanted) ? wanted : first;
    isOffline = true;
    if (id) return show(id);
    const left = waiting();
    const more = left ? [ngettext("{n} answer is saved here and will be sent when you reconnect.", "{n} answers are saved here and will be sent when you reconnect.", left)] : [];
    document.querySelector("[data-offline-words]").textContent = [gettext("No more items are saved in this browser. Connect, then try again."), ...more].join(" ");
  };
  let timer = 0;
  const begin = async () => {
    if (window.caches) await recall().catch(() => {});
    if (isOffline || root().dataset.state === "offline") fallBack();
    if (root().dataset.state === "offline") open();
    say();
    later();
    if (navigator.serviceWorker && workerAt) navigator.serviceWorker.register(workerAt).catch(() => {});
  };
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(refill, QUIET);
  };
  document.addEventListener("touchstone:work", (event) => {
    if (!root()) return;
    if (!isOurs && event.detail.root !== document) {
      // The server has chosen: what was to come before this was skipped or given back.
      const at = order.indexOf(idOf(form()));
      order = at < 0 ? [] : order.slice(at);
      later();
    }
    say();
  });
  document.addEventListener("touchstone:reading", (event) => {
    if (event.detail.name !== "text") return;
    forget();
    later();
  });
  window.touchstoneAhead = { follow, ask, received, sent };
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", begin);
  else begin();
})();

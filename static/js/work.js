// The work page beyond its form: an answer is sent by htmx and the next item comes back in its place.
// An answer that cannot reach the server is kept in this browser and sent again until the server has it, with what was
// submitted the first time. The server takes an answer twice as once, so sending again is always safe.
// Where the next item is here already (ahead.js), it is shown at once and the answer is sent behind it. "touchstone:sent" on
// the document says what became of answers that waited: detail.n that were sent, and detail.status of a failure.
"use strict";
(() => {
  const { store, of } = window.touchstoneAnswers;
  const FIRST_RETRY = 1_000;
  const LAST_RETRY = 30_000;
  const SLOW = 1_500;
  // The server, or something before it, could not take it now. Anything else is an answer.
  const isPassing = (status) => status === 0 || status === 408 || status === 425 || status === 429 || status >= 500;

  const work = () => document.getElementById("work");
  const field = (form) => form.matches("form[data-annotate]");
  let retry = 0;
  let failures = 0;
  let slow = 0;

  const wait = (seconds) => {
    failures += 1;
    const delay = Math.min(LAST_RETRY, FIRST_RETRY * 2 ** (failures - 1));
    return Math.max(seconds * 1000 || 0, delay * (0.75 + Math.random() / 2));
  };
  const again = (form, delay) => {
    clearTimeout(retry);
    retry = setTimeout(() => {
      if (form.isConnected && !form.hasAttribute("data-sent")) form.requestSubmit();
    }, delay);
  };

  const bodyOf = (form) => {
    const body = new URLSearchParams(new FormData(form));
    body.delete("csrfmiddlewaretoken");
    return body.toString();
  };
  const wordsFor = (status, here) => {
    if (here) {
      if (status === 429) return gettext("Too many requests. Your answer is saved here and will be sent in a moment.");
      if (status === 0) return gettext("You’re offline. Your answer is saved here and will be sent when you reconnect.");
      return gettext("The site isn’t responding. Your answer is saved here and will be sent when it does.");
    }
    if (status === 429) return gettext("Too many requests. Keep this page open: your answer will be sent in a moment.");
    if (status === 0) return gettext("You’re offline. Keep this page open: your answer will be sent when you reconnect.");
    return gettext("The site isn’t responding. Keep this page open: your answer will be sent when it does.");
  };

  // Before it leaves: if this page dies on the way, the next one sends it.
  document.addEventListener("htmx:beforeRequest", (event) => {
    const form = event.detail.elt;
    if (!field(form)) return;
    const answer = of(form);
    answer.waiting ??= { url: form.action, body: bodyOf(form), since: Date.now() };
    const isKept = answer.keep(false);
    if (isKept && window.touchstoneAhead?.follow(form)) return event.preventDefault();
    // What was answered before arrives before.
    if (isKept && others().length) {
      event.preventDefault();
      document.dispatchEvent(new Event("touchstone:held"));
      sendOthers().then((isSent) => (isSent ? again(form, 0) : failed(form, answer, { status: 0 })));
      return;
    }
    clearTimeout(slow);
    slow = setTimeout(() => form.isConnected && answer.tell("pending", gettext("Sending…")), SLOW);
  });

  // Before htmx swaps anything: what was acknowledged must not be sent again by the part that comes.
  document.addEventListener("htmx:beforeOnLoad", (event) => {
    const { elt: form, xhr } = event.detail;
    if (!(form instanceof HTMLFormElement)) return;
    clearTimeout(slow);
    const answer = field(form) ? of(form) : null;
    if (xhr.status >= 200 && xhr.status < 300) {
      failures = 0;
      answer?.stop();
      if (answer) store.remove(answer.key);
    } else if (isPassing(xhr.status)) {
      failed(form, answer, xhr);
    } else {
      if (answer) {
        answer.waiting = null;
        answer.keep(false);
      }
      // Nothing that the part could show (422 is swapped in): the page itself says what is the matter.
      if (xhr.status !== 422) location.reload();
    }
  });
  for (const kind of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(kind, (event) => {
      const form = event.detail.requestConfig?.elt ?? event.detail.elt;
      if (!(form instanceof HTMLFormElement)) return;
      clearTimeout(slow);
      failed(form, field(form) ? of(form) : null, event.detail.xhr);
    });
  }

  document.addEventListener("htmx:sendError", (event) => {
    if (event.detail.elt.matches?.("[data-own-work]")) event.detail.elt.textContent = gettext("You’re offline. Your figures are shown when you reconnect.");
  });

  const failed = (form, answer, xhr) => {
    const delay = wait(Number(xhr.status && xhr.getResponseHeader("Retry-After")));
    if (answer) {
      answer.tell("local", wordsFor(xhr.status, answer.keep(false)));
      again(form, delay);
    } else if (form.matches("[hx-trigger^=load]")) again(form, delay);
    else complain(form);
  };
  const complain = (form) => {
    const words = form.querySelector("[data-not-sent]") ?? form.appendChild(document.createElement("p"));
    words.dataset.notSent = "";
    words.className = "field-error";
    words.setAttribute("role", "alert");
    words.textContent = gettext("We couldn’t send that. Try again in a moment.");
  };

  addEventListener("online", () => {
    failures = 0;
    const form = document.querySelector("#work form[data-annotate]");
    if (form && of(form)?.waiting) again(form, 0);
    sendOthers();
  });
  document.addEventListener("touchstone:recalled", () => clearTimeout(retry), true);

  // Answers to other items that this person submitted here and that never arrived, in the order in which they were given.
  const REFUSED = new Set(); // what the server doesn't know, for as long as this page lasts
  const others = () => {
    const person = work()?.dataset.person;
    const open = document.querySelector("#work form[data-annotate]")?.dataset.assignment;
    const mine = store.keys().filter((key) => key !== open && key.split("-")[0] === person && !REFUSED.has(key));
    const kept = mine.map((key) => [key, store.read(key)]).filter(([, one]) => one?.waiting);
    return kept.sort(([, a], [, b]) => (a.waiting.since ?? a.at) - (b.waiting.since ?? b.at));
  };
  const tokens = () => [...document.querySelectorAll("[name=csrfmiddlewaretoken]")];
  // A page from this browser's own store may be older than the cookie that its token belongs to.
  const renewToken = async () => {
    const page = await (await fetch(work().dataset.offline ?? location.href, { credentials: "same-origin" })).text();
    const found = new DOMParser().parseFromString(page, "text/html").querySelector("[name=csrfmiddlewaretoken]")?.value;
    if (!found) return;
    tokens().forEach((input) => (input.value = found));
    document.body.setAttribute("hx-headers", JSON.stringify({ "X-CSRFToken": found }));
  };
  // A network that wants a person to sign in first answers for the server.
  const isOurs = (response) => response.status === 204 || response.headers.get("Content-Type")?.startsWith("application/json");
  const send = async (key, kept, asks) => {
    const body = new URLSearchParams(kept.waiting.body);
    body.set("csrfmiddlewaretoken", tokens()[0].value);
    if (!(asks && window.touchstoneAhead?.ask(body))) body.set("alone", "1");
    const signal = AbortSignal.timeout?.(20_000);
    const response = await fetch(kept.waiting.url, { method: "POST", body, credentials: "same-origin", signal });
    if (!response.ok || !isOurs(response)) return response.ok ? 0 : response.status;
    const found = response.status === 200 ? await response.json() : null;
    store.remove(key);
    window.touchstoneAhead?.sent(key);
    if (found) await window.touchstoneAhead?.received(found);
    return 200;
  };
  const sendAll = async () => {
    let n = 0;
    let isRenewed = false;
    for (let left = others(); left.length && tokens().length; left = others()) {
      const [key, kept] = left[0];
      let status = 0;
      try {
        status = await send(key, kept, left.length === 1);
        if (status === 403 && !isRenewed) {
          isRenewed = true;
          await renewToken();
          continue;
        }
      } catch {
        // offline still
      }
      if (status === 200) {
        n += 1;
        failures = 0;
      } else if (status === 403 || status === 404) REFUSED.add(key); // kept for a page that is known there
      else if (isPassing(status)) {
        clearTimeout(later);
        later = setTimeout(sendOthers, wait(0));
        told({ n, status });
        return false;
      } else store.write(key, { ...kept, waiting: null, saved: false });
    }
    if (n) told({ n, status: 200 });
    return true;
  };
  const told = (detail) => document.dispatchEvent(new CustomEvent("touchstone:sent", { detail }));
  let later = 0;
  let sending = null;
  // From one tab at a time: from two they would arrive in no order.
  const alone = (act) => (navigator.locks ? navigator.locks.request("touchstone:answers", act) : act());
  const sendOthers = () => {
    clearTimeout(later);
    sending ??= alone(sendAll).finally(() => (sending = null));
    return sending;
  };
  window.touchstoneWork = { others, send: sendOthers };

  // htmx gives the focus to what has the same id in the part that comes: an option of the next item, for a key to choose.
  document.addEventListener("htmx:beforeSwap", () => work()?.contains(document.activeElement) && document.activeElement.blur());

  // A new part: to its top, its name and what changed said aloud, no old timers. An answer that was refused comes back with
  // its own item, and one that is changed with an earlier one.
  let shown = "";
  const nameOf = (form, isSame) => (!form || form.elements.namedItem("change") ? document.title : isSame ? "" : gettext("Next item"));
  const arrive = (root, form, isSame) => {
    const main = root.querySelector("main");
    const missing = root.querySelector("[autofocus]");
    if (!missing) {
      main?.focus({ preventScroll: true });
      scrollTo({ top: 0, behavior: "instant" });
    }
    const said = document.querySelector("[data-work-said]");
    const told = [...root.querySelectorAll("#messages li, .flash-error, .notice-text, .toast-words")].map((one) => one.textContent.trim().replace(/\.$/, ""));
    // What waits isn't counted yet.
    const label = isSame || others().length ? "" : (root.querySelector(".progress-label")?.textContent ?? "");
    if (said) said.textContent = [...told, root.dataset.state === "item" ? nameOf(form, isSame) : document.title, label].filter(Boolean).join(". ");
  };
  // What was saved stays for five seconds, and for as long as it is pointed at or has the focus. The bar has the same link.
  const TOAST = 5_000;
  const fade = (toast) => {
    if (!toast) return;
    const over = () => (toast.matches(":hover, :focus-within") ? setTimeout(over, 1_000) : toast.remove());
    setTimeout(over, TOAST);
  };
  document.addEventListener("touchstone:live", () => fade(document.querySelector("[data-toast]")));
  document.addEventListener("touchstone:work", (event) => {
    const { root } = event.detail;
    fade(root.querySelector("[data-toast]"));
    clearTimeout(retry);
    const form = document.querySelector("#work form[data-annotate]");
    if (root !== document) arrive(root, form, Boolean(form) && form.dataset.assignment === shown);
    shown = form?.dataset.assignment ?? "";
    const answer = form && of(form);
    if (answer?.waiting) {
      answer.tell("local", gettext("Sending the answer saved in this browser…"));
      again(form, 50); // once htmx listens
    }
    sendOthers();
  });
})();

// The work page beyond its form: an answer is sent by htmx and the next item comes back in its place.
// An answer that cannot reach the server is kept in this browser and sent again until the server has it, with what was
// submitted the first time. The server takes an answer twice as once, so sending again is always safe.
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
    answer.waiting ??= { url: form.action, body: bodyOf(form) };
    answer.keep(false);
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

  // Answers to other items that this person submitted here and that never arrived.
  const sendOthers = async () => {
    const token = work()?.querySelector("[name=csrfmiddlewaretoken]")?.value;
    const person = work()?.dataset.person;
    const open = document.querySelector("#work form[data-annotate]")?.dataset.assignment;
    for (const key of store.keys()) {
      const kept = store.read(key);
      if (!kept?.waiting || key === open || !token || key.split("-")[0] !== person) continue;
      const body = new URLSearchParams(kept.waiting.body);
      body.set("csrfmiddlewaretoken", token);
      body.set("alone", "1");
      try {
        const response = await fetch(kept.waiting.url, { method: "POST", body, credentials: "same-origin" });
        if (response.ok) store.remove(key);
        else if (!isPassing(response.status)) store.write(key, { ...kept, waiting: null, saved: false });
      } catch {
        return; // still offline: the next page, or the connection, tries again
      }
    }
  };

  // htmx gives the focus to what has the same id in the part that comes: an option of the next item, for a key to choose.
  document.addEventListener("htmx:beforeSwap", () => work()?.contains(document.activeElement) && document.activeElement.blur());

  // A new part: to its top, its name and what changed said aloud, no old timers.
  const arrive = (root) => {
    const main = root.querySelector("main");
    const missing = root.querySelector("[autofocus]");
    if (!missing) {
      main?.focus({ preventScroll: true });
      scrollTo({ top: 0, behavior: "instant" });
    }
    const said = document.querySelector("[data-work-said]");
    const told = [...root.querySelectorAll("#messages li, .flash-error, .notice-text, .toast-words")].map((one) => one.textContent.trim().replace(/\.$/, ""));
    const label = root.querySelector(".progress-label")?.textContent ?? "";
    if (said) said.textContent = [...told, root.dataset.state === "item" ? gettext("Next item") : document.title, label].join(". ");
  };
  // What was saved stays for five seconds, and for as long as it is pointed at or has the focus. The bar has the same link.
  const TOAST = 5_000;
  const fade = (toast) => {
    if (!toast) return;
    const over = () => (toast.matches(":hover, :focus-within") ? setTimeout(over, 1_000) : toast.remove());
    setTimeout(over, TOAST);
  };
  document.addEventListener("touchstone:work", (event) => {
    const { root } = event.detail;
    fade(root.querySelector("[data-toast]"));
    clearTimeout(retry);
    if (root !== document) arrive(root);
    const form = document.querySelector("#work form[data-annotate]");
    const answer = form && of(form);
    if (answer?.waiting) {
      answer.tell("local", gettext("Sending the answer saved in this browser…"));
      again(form, 50); // once htmx listens
    }
    sendOthers();
  });
})();

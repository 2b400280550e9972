// How an answer is given, as counts and medians in the hidden input `signals` of the form: what annotation/domain/signals.py
// describes. The study's pages tell people about it (_signals.html). Which keys are pressed isn't looked at, and no sequence of
// times leaves the page. A page without scripts sends nothing, which means nothing.
"use strict";
(() => {
  const PREFIX = "touchstone:signals:";
  const MOST = 100_000;
  const MOST_GAPS = 600;
  const PAUSE = 5_000;
  const BY_A_PERSON = 1_000; // what our own scripts do follows an action of the person within this time
  const COUNTS = ["hidden", "hidden_ms", "pointer", "touch", "keys", "pastes", "pasted", "untrusted", "keyed"];

  let form = null;
  let state = null;
  const fresh = () => ({ ...Object.fromEntries(COUNTS.map((name) => [name, 0])), first_ms: null, gaps: [], shown: 0, base: null, depth: [] });
  const key = () => `${PREFIX}${form.dataset.assignment}`;
  const isText = (element) => element?.form === form && !element.closest("[data-machine-text]") && element.matches("textarea, input[type=text]");
  const lengthNow = () => [...form.elements].filter(isText).reduce((sum, { value }) => sum + value.length, 0);
  const count = (name, n = 1) => (state[name] = Math.min(MOST, state[name] + n));

  // --- one item ----------------------------------------------------------------------------------------------------------
  let shownAt = 0;
  let hiddenAt = null;
  let lastKey = 0;
  let keysSince = 0;
  let length = 0;
  let acted = 0; // when the person last did something
  const elapsed = () => state.shown + performance.now() - shownAt;
  const begin = () => {
    const found = document.querySelector("#work form[data-annotate]");
    if (found === form) return;
    form = found?.elements.namedItem("signals") ? found : null;
    if (!form) return;
    state = fresh();
    try {
      state = { ...state, ...JSON.parse(sessionStorage.getItem(key()) ?? "{}") };
    } catch {
      // nothing kept that can be read
    }
    shownAt = performance.now();
    hiddenAt = document.visibilityState === "hidden" ? shownAt : null;
    lastKey = keysSince = 0;
    length = lengthNow();
    state.base ??= length; // what was typed elsewhere, or before this was counted
    look();
  };
  // What was counted survives a reload in the same tab.
  const keep = () => {
    if (!form) return;
    try {
      sessionStorage.setItem(key(), JSON.stringify({ ...state, shown: elapsed() }));
    } catch {
      // no storage
    }
  };

  // --- how much of the texts came into view ----------------------------------------------------------------------------
  const look = () => {
    document.querySelectorAll("#work .response-body").forEach((body, place) => {
      const { top, bottom, height } = body.getBoundingClientRect();
      const seen = height ? Math.max(0, Math.min(1, (Math.min(bottom, innerHeight) - top) / height)) : 0;
      state.depth[place] = Math.max(state.depth[place] ?? 0, seen);
    });
  };
  let looking = 0;
  const scrolled = () => {
    if (!form || looking) return;
    looking = requestAnimationFrame(() => {
      looking = 0;
      if (form) look();
    });
  };
  const share = ({ depth }) => (depth.length ? Math.round((100 * depth.reduce((sum, one) => sum + one, 0)) / depth.length) : null);

  // --- what is counted --------------------------------------------------------------------------------------------------
  const listenAlways = (kind, act) => addEventListener(kind, act, { capture: true, passive: true });
  const listen = (kinds, act) => kinds.forEach((kind) => addEventListener(kind, (event) => form && act(event), { capture: true, passive: true }));
  const interacted = () => {
    acted = performance.now();
    state.first_ms ??= Math.round(elapsed());
  };
  listen(["pointerdown", "pointermove"], (event) => {
    if (!event.isTrusted) return event.type === "pointerdown" && untrusted();
    count(event.pointerType === "touch" ? "touch" : "pointer");
    if (event.type === "pointerdown") interacted();
  });
  listen(["wheel", "touchmove"], (event) => event.isTrusted && interacted());
  listen(["keydown"], (event) => {
    if (!event.isTrusted) return untrusted();
    if (event.repeat) return;
    count("keys");
    interacted();
    if (!isText(event.target)) return;
    keysSince += 1;
    const gap = event.timeStamp - lastKey;
    if (lastKey && gap < PAUSE && state.gaps.length < MOST_GAPS) state.gaps.push(Math.round(gap));
    lastKey = event.timeStamp;
  });
  const untrusted = () => performance.now() - acted > BY_A_PERSON && count("untrusted");
  listen(["click", "input", "mousedown", "paste"], (event) => !event.isTrusted && untrusted());
  listen(["input"], (event) => {
    if (!isText(event.target)) return;
    const now = lengthNow();
    const isPasted = ["insertFromPaste", "insertFromDrop"].includes(event.inputType);
    if (!isPasted && now > length) count("keyed", Math.min(now - length, keysSince));
    if (event.inputType === "insertFromDrop") {
      count("pastes");
      count("pasted", Math.max(0, now - length));
    }
    keysSince = 0;
    length = now;
  });
  listen(["paste"], (event) => {
    if (!isText(event.target)) return;
    count("pastes");
    count("pasted", event.clipboardData?.getData("text").length ?? 0);
  });
  listen(["scroll", "resize"], scrolled);
  document.addEventListener("visibilitychange", () => {
    if (!form) return;
    if (document.visibilityState === "hidden") {
      count("hidden");
      hiddenAt = performance.now();
      keep();
    } else if (hiddenAt !== null) {
      state.hidden_ms += performance.now() - hiddenAt;
      hiddenAt = null;
    }
  });
  addEventListener("pagehide", keep);

  // --- the summary --------------------------------------------------------------------------------------------------------
  const quantile = (sorted, p) => {
    const at = p * (sorted.length - 1);
    const low = Math.floor(at);
    return sorted[low] + (at - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
  };
  const summary = () => {
    look();
    const sorted = [...state.gaps].sort((a, b) => a - b);
    const typed = Math.max(0, lengthNow() - state.base);
    const { first_ms, hidden, hidden_ms, pointer, touch, keys, pastes, pasted, untrusted } = state;
    return {
      ...{ first_ms, hidden, hidden_ms: Math.round(hidden_ms), pointer, touch, keys, scrolled: share(state), pastes, pasted },
      gaps: sorted.length,
      gap_ms: sorted.length ? Math.round(quantile(sorted, 0.5)) : null,
      gap_spread_ms: sorted.length ? Math.round(quantile(sorted, 0.75) - quantile(sorted, 0.25)) : null,
      ...{ typed, keyless: Math.max(0, typed - state.keyed - pasted), untrusted, automated: navigator.webdriver === true },
    };
  };
  // Before any other listener reads the form. An answer that waits to be sent again keeps what it was first sent with.
  document.addEventListener(
    "submit",
    ({ target }) => {
      if (target !== form || window.touchstoneAnswers.of(form)?.waiting) return;
      form.elements.namedItem("signals").value = JSON.stringify(summary());
      try {
        sessionStorage.removeItem(key());
      } catch {
        // no storage
      }
    },
    { capture: true },
  );
  document.addEventListener("touchstone:work", begin);

  // The text for automated readers is inert, so that the browser's search doesn't find it. A copy of the whole page has it:
  // it's selectable from the key that selects all until the selection is gone.
  const inert = (is) => document.querySelectorAll("[data-machine-text]").forEach((text) => (text.inert = is));
  listenAlways("keydown", (event) => (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "a" && inert(false));
  document.addEventListener("selectionchange", () => getSelection().isCollapsed && inert(true));
})();

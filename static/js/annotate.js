// The annotation form. Everything here is a help: without it the radio inputs and the button do the work.
//   <form data-annotate data-assignment="12" data-draft-url="/…/draft/" data-once> with hidden inputs
//   active_ms and wall_ms; [data-draft-state] says what became of the draft; [data-announcer] is a live region.
// A draft is POSTed form-encoded (the form's own fields, csrf token included) and kept in this browser as well,
// so that what was typed survives a reload even when the server could not be reached.
"use strict";
(() => {
  const IDLE_AFTER = 30_000;
  const TICK = 1_000;
  const SAVE_AFTER = 600;
  const KEEP_FOR = 14 * 24 * 3_600_000;
  const PREFIX = "touchstone:draft:";
  const NOT_DRAFT = new Set(["csrfmiddlewaretoken", "active_ms", "wall_ms"]);

  const store = {
    read(key) {
      try {
        return JSON.parse(localStorage.getItem(key) ?? "null");
      } catch {
        return null;
      }
    },
    write(key, value) {
      try {
        localStorage.setItem(key, JSON.stringify(value));
        return true;
      } catch {
        return false;
      }
    },
    purge() {
      try {
        Object.keys(localStorage)
          .filter((key) => key.startsWith(PREFIX) && Date.now() - (this.read(key)?.at ?? 0) > KEEP_FOR)
          .forEach((key) => localStorage.removeItem(key));
      } catch {
        // no storage, nothing to purge
      }
    },
  };

  const fieldsOf = (form) => {
    const hidden = new Set([...form.querySelectorAll("input[type=hidden], [data-no-draft]")].map((input) => input.name));
    return [...new FormData(form)].filter(([name, value]) => typeof value === "string" && !NOT_DRAFT.has(name) && !hidden.has(name));
  };
  const putBack = (form, fields) => {
    const values = new Map();
    fields.forEach(([name, value]) => values.set(name, [...(values.get(name) ?? []), value]));
    [...form.elements].forEach((input) => {
      if (!values.has(input.name) || input.type === "hidden" || input.type === "file") return;
      if (input.type === "radio" || input.type === "checkbox") input.checked = values.get(input.name).includes(input.value);
      else input.value = values.get(input.name).shift() ?? input.value;
    });
  };

  // Active time: the tab is visible and something was done within the last half minute.
  const stopwatch = (already) => {
    let active = already;
    let touched = performance.now();
    let marked = touched;
    const mark = () => {
      const now = performance.now();
      const until = Math.min(now, touched + IDLE_AFTER);
      if (document.visibilityState === "visible" && until > marked) active += until - marked;
      marked = now;
    };
    const touch = () => {
      mark();
      touched = performance.now();
    };
    ["pointerdown", "pointermove", "keydown", "scroll", "wheel", "touchstart"].forEach((kind) =>
      addEventListener(kind, touch, { passive: true, capture: true }),
    );
    document.addEventListener("visibilitychange", () => {
      // What passed until now counts if the tab was visible until now; coming back starts anew.
      if (document.visibilityState === "hidden") {
        const until = Math.min(performance.now(), touched + IDLE_AFTER);
        if (until > marked) active += until - marked;
      } else touched = performance.now();
      marked = performance.now();
    });
    setInterval(mark, TICK);
    return () => {
      mark();
      return Math.round(active);
    };
  };

  const start = (form) => {
    const key = PREFIX + (form.dataset.assignment ?? location.pathname);
    const url = form.dataset.draftUrl;
    const submit = form.querySelector("button[type=submit]:not([formaction]), button:not([type])");
    const state = document.querySelector("[data-draft-state]");
    const announce = document.querySelector("[data-announcer]");
    const timeField = (name) => form.elements.namedItem(name);
    const kept = store.read(key);
    const opened = Math.min(kept?.opened ?? Date.now(), Date.now());
    const activeMs = stopwatch(Math.max(Number(timeField("active_ms")?.value) || 0, kept?.active ?? 0));
    let unsent = false;
    let sending = false;
    let timer = 0;
    let turn = 0;

    const tell = (name, words) => {
      if (!state) return;
      state.dataset.state = name;
      state.textContent = words;
    };
    const keep = (saved) => store.write(key, { fields: fieldsOf(form), saved, opened, active: activeMs(), at: Date.now() });
    const fillTimes = () => {
      if (timeField("active_ms")) timeField("active_ms").value = String(activeMs());
      if (timeField("wall_ms")) timeField("wall_ms").value = String(Math.max(0, Date.now() - opened));
    };
    const ready = () => {
      if (submit) submit.disabled = !form.checkValidity();
    };

    const send = async (options = {}) => {
      clearTimeout(timer);
      if (!unsent || form.hasAttribute("data-sent")) return;
      // One at a time, lest an earlier one arrive last; a page that goes away cannot wait.
      if (sending && !options.keepalive) return;
      unsent = false;
      const mine = ++turn;
      const here = keep(!url);
      if (!url) return tell(here ? "local" : "", here ? "Draft kept in this browser" : "");
      fillTimes();
      sending = true;
      try {
        const response = await fetch(url, { method: "POST", body: new URLSearchParams(new FormData(form)), credentials: "same-origin", ...options });
        if (!response.ok || response.redirected) throw new Error(String(response.status));
        if (mine !== turn) return;
        keep(!unsent);
        if (!unsent) tell("saved", "Draft saved");
        else timer = setTimeout(send, 0); // what was changed meanwhile
      } catch {
        if (mine !== turn) return;
        unsent = true; // tried again with the next change, and when the connection is back
        tell("local", here ? "Draft kept in this browser" : "Draft not saved");
      } finally {
        if (mine === turn) sending = false;
      }
    };
    const changed = () => {
      ready();
      unsent = true;
      keep(false);
      tell("pending", "Saving…");
      clearTimeout(timer);
      timer = setTimeout(send, SAVE_AFTER);
    };

    form.addEventListener("input", changed);
    form.addEventListener("change", (event) => {
      const words = event.target.dataset?.announce;
      if (announce && words) announce.textContent = words;
    });
    form.addEventListener("submit", (event) => {
      clearTimeout(timer);
      turn += 1;
      fillTimes();
      if (!event.defaultPrevented) keep(!unsent);
    });
    addEventListener("online", () => send());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") send({ keepalive: true });
      else keep(!unsent);
    });
    addEventListener("pagehide", () => send({ keepalive: true }));

    // What the server rendered is the truth, unless this browser holds something that never reached it.
    if (kept && kept.saved === false && kept.fields?.length) {
      putBack(form, kept.fields);
      changed();
      tell("local", "Draft restored");
    } else if (kept && !url && kept.fields?.length) {
      putBack(form, kept.fields);
      tell("local", "Draft restored");
    }
    ready();
    addEventListener("pageshow", ready); // the browser may restore inputs after this script ran
  };

  // A page that the browser kept alive may be answered by now: ask again. (`no-store` alone does not forbid it.)
  addEventListener("pageshow", (event) => {
    if (event.persisted && document.querySelector("form[data-annotate]")) location.reload();
  });

  const init = () => {
    store.purge();
    document.querySelectorAll("form[data-annotate]").forEach(start);
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", init);
  else init();
})();

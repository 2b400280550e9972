// The form of an answer: drafts, active time, a lease kept alive. Everything here is a help: without it the inputs and
// the button do the work.
//   <form data-annotate data-assignment="7-12" data-draft-url="/…/draft/" data-idle-seconds="30" data-lease-seconds="1800"
//         data-once> with the hidden input active_ms; [data-draft-state] says what became of the draft;
//   [data-announcer] is a live region. [data-no-draft] on an input keeps it out of drafts.
// A draft is POSTed form-encoded (the form's own fields, csrf token included) and kept in this browser as well,
// so that what was typed survives a reload even when the server could not be reached.
// When a page is ready, and after htmx has swapped a part in, "touchstone:work" is dispatched on the document with
// detail.root; drafts are in their inputs by then.
"use strict";
(() => {
  const TICK = 1_000;
  const SAVE_AFTER = 600;
  const KEEP_FOR = 14 * 24 * 3_600_000;
  const PREFIX = "touchstone:draft:";
  const NOT_DRAFT = new Set(["csrfmiddlewaretoken", "active_ms"]);
  const ACTIVITY = ["pointerdown", "pointermove", "keydown", "scroll", "wheel", "touchstart"];

  // What this browser keeps, by assignment: {fields, saved, opened, active, at} and, of an answer that was submitted
  // and not acknowledged yet, `waiting` {url, body}. work.js sends those.
  const store = {
    read(key) {
      try {
        return JSON.parse(localStorage.getItem(PREFIX + key) ?? "null");
      } catch {
        return null;
      }
    },
    write(key, value) {
      try {
        localStorage.setItem(PREFIX + key, JSON.stringify(value));
        return true;
      } catch {
        return false;
      }
    },
    remove(key) {
      try {
        localStorage.removeItem(PREFIX + key);
      } catch {
        // no storage, nothing to remove
      }
    },
    keys() {
      try {
        return Object.keys(localStorage)
          .filter((key) => key.startsWith(PREFIX))
          .map((key) => key.slice(PREFIX.length));
      } catch {
        return [];
      }
    },
    // An answer that still waits to be sent is never thrown away.
    purge() {
      for (const key of this.keys()) {
        const kept = this.read(key);
        if (!kept?.waiting && Date.now() - (kept?.at ?? 0) > KEEP_FOR) this.remove(key);
      }
    },
  };

  const isDraft = (form) => {
    const hidden = [...form.querySelectorAll("input[type=hidden]:not([data-pasted], [data-evidence-field]), [data-no-draft]")];
    const names = new Set(hidden.map((input) => input.name));
    return (name) => !NOT_DRAFT.has(name) && !names.has(name);
  };
  const fieldsOf = (form) => {
    const wanted = isDraft(form);
    return [...new FormData(form)].filter(([name, value]) => typeof value === "string" && wanted(name));
  };
  const putBack = (form, fields) => {
    const wanted = isDraft(form);
    const values = new Map();
    fields.forEach(([name, value]) => values.set(name, [...(values.get(name) ?? []), value]));
    [...form.elements].forEach((input) => {
      if (!wanted(input.name) || input.type === "file") return;
      // A form has every checkbox that is ticked: what the draft does not name was unticked.
      if (!values.has(input.name) && input.type === "checkbox") input.checked = false;
      if (!values.has(input.name)) return;
      // What was disabled may have been asked when it was typed; whoever disabled it looks again.
      if (input.type === "radio" || input.type === "checkbox") input.checked = values.get(input.name).includes(input.value);
      else input.value = values.get(input.name).shift() ?? input.value;
    });
  };

  // Active time: the tab is visible and something was done within the idle limit of the study.
  const stopwatch = (already, idleAfter, signal) => {
    let active = already;
    let touched = performance.now();
    let marked = touched;
    const until = () => Math.min(performance.now(), touched + idleAfter);
    const mark = () => {
      if (document.visibilityState === "visible" && until() > marked) active += until() - marked;
      marked = performance.now();
    };
    const touch = () => {
      mark();
      touched = performance.now();
    };
    ACTIVITY.forEach((kind) => addEventListener(kind, touch, { passive: true, capture: true, signal }));
    document.addEventListener(
      "visibilitychange",
      () => {
        // What passed until now counts if the tab was visible until now; coming back starts anew.
        if (document.visibilityState === "visible") touched = performance.now();
        else if (until() > marked) active += until() - marked;
        marked = performance.now();
      },
      { signal },
    );
    const ticking = setInterval(mark, TICK);
    signal.addEventListener("abort", () => clearInterval(ticking));
    return {
      read() {
        mark();
        return Math.round(active);
      },
      isActive: () => document.visibilityState === "visible" && performance.now() - touched < idleAfter,
    };
  };

  class Answer {
    constructor(form) {
      this.form = form;
      this.key = form.dataset.assignment ?? location.pathname;
      this.url = form.dataset.draftUrl;
      this.kept = store.read(this.key);
      this.opened = Math.min(this.kept?.opened ?? Date.now(), Date.now());
      this.waiting = this.kept?.waiting ?? null;
      this.unsent = false;
      this.sending = false;
      this.timer = 0;
      this.keeping = 0;
      this.turn = 0;
      this.heard = performance.now();
      this.ending = new AbortController();
      const already = Math.max(Number(this.time("active_ms")?.value) || 0, this.kept?.active ?? 0);
      this.watch = stopwatch(already, 1000 * (Number(form.dataset.idleSeconds) || 30), this.ending.signal);
      this.listen();
      this.restore();
    }

    time(name) {
      return this.form.elements.namedItem(name);
    }

    tell(name, words) {
      const state = this.form.querySelector("[data-draft-state]");
      if (!state) return;
      state.dataset.state = name;
      window.touchstoneSay(state, words);
      // That a draft is saved is not said aloud: a choice is one announcement. That it is not, is.
      const announcer = this.form.querySelector("[data-announcer]");
      if (announcer && name === "local") window.touchstoneSay(announcer, words);
    }

    // Returns whether this browser keeps it.
    keep(saved) {
      clearTimeout(this.keeping);
      this.keeping = 0;
      const { key, opened, waiting } = this;
      const active = this.watch.read();
      return store.write(key, { fields: fieldsOf(this.form), saved, opened, active, waiting, at: Date.now() });
    }

    fillTimes() {
      if (this.waiting) return; // the time until it was submitted first
      const active = this.time("active_ms");
      if (active) active.value = String(this.watch.read());
      // Of what was fetched ahead only this browser knows when it was shown.
      const wall = this.time("wall_ms");
      if (wall) wall.value = String(Math.max(0, Date.now() - this.opened));
    }

    ready() {
      const submit = this.form.querySelector("button[type=submit]:not([formaction], [form]), button:not([type], [form])");
      if (submit) submit.disabled = !this.form.checkValidity();
    }

    changed() {
      this.ready();
      if (this.waiting) {
        // Another answer than the one that waits: it is theirs to submit.
        this.waiting = null;
        this.form.dispatchEvent(new CustomEvent("touchstone:recalled"));
      }
      this.unsent = true;
      // After the key has put the focus where it belongs: to read a form with a text area, a browser lays out the page.
      this.keeping ||= setTimeout(() => this.keep(false));
      this.tell("pending", gettext("Saving…"));
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.send(), SAVE_AFTER);
    }

    async send(options = {}) {
      clearTimeout(this.timer);
      if (!this.unsent || this.waiting || this.form.hasAttribute("data-sent")) return;
      // One at a time, lest an earlier one arrive last; a page that goes away cannot wait.
      if (this.sending && !options.keepalive) return;
      this.unsent = false;
      const mine = ++this.turn;
      const here = this.keep(!this.url);
      if (!this.url) {
        this.tell(here ? "local" : "", here ? gettext("Draft kept in this browser") : "");
        return;
      }
      this.fillTimes();
      this.sending = true;
      try {
        const body = new URLSearchParams(new FormData(this.form));
        const response = await fetch(this.url, { method: "POST", body, credentials: "same-origin", ...options });
        if (!response.ok || response.redirected) throw new Error(String(response.status));
        if (mine !== this.turn || this.waiting) return;
        this.heard = performance.now();
        this.keep(!this.unsent);
        if (!this.unsent) this.tell("saved", gettext("Draft saved"));
        else this.timer = setTimeout(() => this.send(), 0); // what was changed meanwhile
      } catch {
        if (mine !== this.turn || this.waiting) return;
        this.unsent = true; // tried again with the next change, and when the connection is back
        this.tell("local", here ? gettext("Draft kept in this browser") : gettext("Draft not saved"));
      } finally {
        if (mine === this.turn) this.sending = false;
      }
    }

    listen() {
      const { signal } = this.ending;
      const { form } = this;
      form.addEventListener("input", () => this.changed(), { signal });
      form.addEventListener(
        "change",
        (event) => {
          const announce = form.querySelector("[data-announcer]");
          const words = event.target.dataset?.announce;
          if (announce && words) window.touchstoneSay(announce, words);
        },
        { signal },
      );
      // First of all listeners, so that the times are in the form before anybody reads it.
      form.addEventListener(
        "submit",
        () => {
          clearTimeout(this.timer);
          this.turn += 1;
          this.fillTimes();
          this.keep(!this.unsent);
        },
        { signal, capture: true },
      );
      addEventListener("online", () => this.send(), { signal });
      document.addEventListener(
        "visibilitychange",
        () => {
          if (document.visibilityState === "hidden") this.send({ keepalive: true });
          else this.keep(!this.unsent);
        },
        { signal },
      );
      addEventListener("pagehide", () => this.send({ keepalive: true }), { signal });
      addEventListener("pageshow", () => this.ready(), { signal }); // the browser may restore inputs later
      this.beat(Number(form.dataset.leaseSeconds), signal);
    }

    // While somebody works, the item stays theirs, however long they read without typing.
    beat(leaseSeconds, signal) {
      if (!this.url || !leaseSeconds) return;
      const every = (1000 * leaseSeconds) / 3;
      const beating = setInterval(() => {
        if (!this.watch.isActive() || performance.now() - this.heard < every) return;
        this.unsent = true;
        this.send();
      }, Math.min(every, 15_000));
      signal.addEventListener("abort", () => clearInterval(beating));
    }

    // What the server rendered is the truth, unless this browser holds something that never reached it.
    restore() {
      const { kept } = this;
      if (kept?.fields?.length && (kept.saved === false || kept.waiting || !this.url)) {
        putBack(this.form, kept.fields);
        if (kept.saved === false && !kept.waiting && this.url) {
          this.unsent = true;
          this.timer = setTimeout(() => this.send(), SAVE_AFTER);
        }
        this.tell("local", gettext("Draft restored"));
      }
      this.ready();
    }

    stop() {
      this.ending.abort();
      clearTimeout(this.timer);
      clearTimeout(this.keeping);
      this.turn += 1;
    }
  }

  const answers = new Map(); // form to Answer
  const begin = (root) => {
    for (const [form, answer] of answers) {
      if (form.isConnected) continue;
      answer.stop();
      answers.delete(form);
    }
    root.querySelectorAll("form[data-annotate]").forEach((form) => {
      if (!answers.has(form)) answers.set(form, new Answer(form));
    });
  };
  window.touchstoneAnswers = { store, of: (form) => answers.get(form), ahead: "touchstone-work-1" };

  // A page that the browser kept alive may be answered by now: ask again. (`no-store` alone does not forbid it.)
  addEventListener("pageshow", (event) => {
    if (event.persisted && document.querySelector("form[data-annotate]")) location.reload();
  });

  const say = (root) => {
    document.dispatchEvent(new CustomEvent("touchstone:work", { detail: { root } }));
    // Whoever listens may have changed what is required.
    answers.forEach((answer) => answer.ready());
  };
  document.addEventListener("htmx:load", (event) => {
    if (event.target.id !== "work") return;
    begin(event.target);
    say(event.target);
  });
  // What was fetched ahead is kept for the work page alone: on any other, of who has stopped or signed out, it goes.
  const init = () => {
    store.purge();
    if (window.caches && !document.querySelector("#work[data-ahead]")) caches.delete(window.touchstoneAnswers.ahead).catch(() => {});
    begin(document);
  };
  // Deferred scripts run before DOMContentLoaded: all of them listen when it comes.
  if (document.readyState === "complete") {
    init();
    say(document);
  } else {
    if (document.readyState === "interactive") init();
    document.addEventListener("DOMContentLoaded", () => {
      init();
      say(document);
    });
  }
})();

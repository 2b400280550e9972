// Marks passages of a response as reasons. The marks are in [data-evidence-field] as JSON, [[response, start, end, reason], ...],
// with the number of the message as a fifth in a conversation, each of whose answers is a text of its own;
// passages.js knows which characters of the text they are.
//   by mouse and touch   selected text shows [data-mark-bar], whose [data-mark] buttons mark it
//   by keyboard          [data-mark-start] (Shift E) puts a cursor into the answer that is read: arrows move it by word and by
//                        sentence, Shift extends it, digits mark, Enter goes to the buttons, Escape ends
// What is marked is in [data-marked] lists, with buttons that take it back.
"use strict";
(() => {
  const AFTER = 180; // a selection is looked at once it rests
  const NEAR = 2_000; // characters in which the next word or sentence is looked for
  const SPOKEN = 160;
  const passages = () => window.touchstonePassages;
  const field = () => document.querySelector("[data-evidence-field]");
  const bar = () => document.querySelector("[data-mark-bar]");
  const bodies = () => [...document.querySelectorAll("[data-source]")];
  const isOpen = () => Boolean(field()) && !field().hasAttribute("data-read-only");
  const reasons = () => JSON.parse(field().dataset.reasons);
  const labelOf = (name) => reasons().find(([one]) => one === name)?.[1] ?? name;
  const say = (words) => {
    const live = document.querySelector("[data-mark-said]");
    if (live) window.touchstoneSay(live, words);
  };
  const cut = (words) => {
    const line = words.replace(/\s+/g, " ").trim();
    return line.length > SPOKEN ? `${line.slice(0, SPOKEN - 1)}…` : line;
  };

  // --- the marks -------------------------------------------------------------------------------------------------------
  let marks = []; // {response, start, end, reason, message}
  const isIn = (one, other) => one.response === other.response && one.message === other.message;
  const inOrder = (one, other) =>
    one.response - other.response || (one.message ?? 0) - (other.message ?? 0) || one.start - other.start || one.end - other.end;
  const load = () => {
    marks = [];
    if (!field()) return;
    try {
      marks = JSON.parse(field().value || "[]").map(([response, start, end, reason, message]) => ({ response, start, end, reason, message }));
    } catch {
      // what stands there is no list of ours
    }
    draw();
  };
  const save = () => {
    const rows = marks.map(({ response, start, end, reason, message }) => [response, start, end, reason, ...(message ? [message] : [])]);
    field().value = rows.length ? JSON.stringify(rows) : "";
    field().dispatchEvent(new Event("input", { bubbles: true }));
    draw();
  };
  const placed = () =>
    marks.flatMap((mark) => {
      const body = passages().bodyOf(mark.response, mark.message);
      const place = body && passages().shown(body, mark.start, mark.end);
      return place ? [{ ...mark, body, from: place[0], to: place[1] }] : [];
    });

  const element = (tag, classes, words = "") => Object.assign(document.createElement(tag), { className: classes, textContent: words });
  const row = (mark) => {
    const kind = mark.reason.split(":", 1)[0];
    const words = cut(passages().text(mark.body).slice(mark.from, mark.to));
    const item = element("li", `is-${kind}`);
    const label = element("span", `marked-reason mark-${kind}`);
    const sign = element("span", "mark-sign");
    sign.setAttribute("aria-hidden", "true");
    const name = element("bdi", "", labelOf(mark.reason));
    label.append(sign, name);
    const quote = element("button", "marked-quote", words);
    quote.type = "button";
    quote.dir = "auto";
    quote.lang = "";
    quote.addEventListener("click", () => {
      passages().go(mark.body, mark.from, mark.to);
      passages().paint("mark-now", [passages().range(mark.body, mark.from, mark.to)]);
    });
    item.append(label, quote);
    if (isOpen()) {
      const remove = element("button", "btn btn-small btn-ghost marked-remove", gettext("Remove"));
      remove.type = "button";
      remove.setAttribute("aria-label", gettext("Remove: {reason}, “{words}”", { reason: labelOf(mark.reason), words }));
      remove.addEventListener("click", () => take(mark));
      item.append(remove);
    }
    return item;
  };
  const draw = () => {
    if (!field()) return;
    const all = placed();
    if (marks.length) document.querySelector("[data-mark-missing]")?.remove();
    passages().paintMarks(all.map((mark) => ({ ...mark, reason: mark.reason.split(":", 1)[0] })));
    for (const section of document.querySelectorAll("[data-marked]")) {
      const own = all.filter((mark) => String(mark.response) === section.dataset.marked);
      section.querySelector("[data-marked-list]").replaceChildren(...own.map(row));
      if (marks.length) section.removeAttribute("data-missing");
      const none = section.querySelector("[data-marked-none]");
      if (none) none.hidden = own.length > 0;
    }
  };
  const take = (mark) => {
    const list = document.querySelector(`[data-marked="${mark.response}"] [data-marked-list]`);
    const at = [...list.querySelectorAll(".marked-remove")].indexOf(document.activeElement);
    marks = marks.filter((one) => !(isIn(one, mark) && one.start === mark.start && one.end === mark.end && one.reason === mark.reason));
    save();
    say(gettext("Removed: {reason}", { reason: labelOf(mark.reason) }));
    // The focus goes to the next one that can be removed, and is never lost.
    const left = [...list.querySelectorAll(".marked-remove")];
    const heading = list.closest("[data-marked]");
    heading.tabIndex = -1;
    // Of a ranked answer without a mark no list is shown: its card is.
    const rest = heading.checkVisibility() ? heading : heading.parentElement.closest("[tabindex]");
    (left[Math.min(at, left.length - 1)] ?? rest).focus({ preventScroll: true });
  };

  // --- the bar at what is selected -------------------------------------------------------------------------------------
  let pending = null; // {body, from, to}: what would be marked, as it is seen
  const isDocked = () => matchMedia("(pointer: coarse), (max-width: 46rem)").matches;
  const place = () => {
    const box = bar();
    if (!pending || !box || box.hidden) return;
    if (isDocked()) {
      box.style.removeProperty("left");
      box.style.removeProperty("top");
      return;
    }
    const seen = passages().range(pending.body, pending.from, pending.to).getBoundingClientRect();
    const own = box.getBoundingClientRect();
    const above = document.querySelector(".topbar")?.getBoundingClientRect().bottom ?? 0;
    const below = document.querySelector(".answer-bar")?.getBoundingClientRect().top ?? innerHeight;
    const top = seen.top - own.height - 8 >= above + 4 ? seen.top - own.height - 8 : Math.min(seen.bottom + 8, below - own.height - 8);
    const left = Math.min(Math.max(8, seen.left + seen.width / 2 - own.width / 2), document.documentElement.clientWidth - own.width - 8);
    box.style.left = `${Math.round(left)}px`;
    box.style.top = `${Math.round(Math.max(top, above + 4))}px`;
  };
  const offer = (body, from, to) => {
    const found = passages().source(body, from, to);
    const seen = found && passages().shown(body, found.start, found.end);
    if (!seen) return close();
    pending = { body, from: seen[0], to: seen[1] };
    passages().paint("mark-now", [passages().range(body, seen[0], seen[1])]);
    bar().hidden = false;
    bar().toggleAttribute("data-keys", Boolean(cursor)); // otherwise digits are those of the answer
    const head = bar().querySelector("[data-mark-bar-head]");
    window.touchstoneSay(head, head.dataset.markBarHead);
    const part = bar().querySelector("[data-mark-part]");
    const current = [...document.querySelectorAll("[data-part]")].findIndex((one) => one.hasAttribute("aria-current"));
    if (part && current >= 0 && current < part.options.length) part.selectedIndex = current;
    place();
  };
  const close = () => {
    pending = null;
    passages().paint("mark-now", []);
    if (bar()) bar().hidden = true;
  };
  const refuse = (words) => {
    bar().querySelector("[data-mark-bar-head]").textContent = words;
    say(words);
    place();
  };
  const mark = (name) => {
    if (!pending) return;
    const reason = name || bar().querySelector("[data-mark-part]")?.value;
    const { body, from, to } = pending;
    const found = passages().source(body, from, to);
    if (!found || !reason) return;
    const { most, longest } = field().dataset;
    const where = { response: Number(body.dataset.response), message: Number(body.dataset.message) || undefined };
    const overlaps = (one) => isIn(one, where) && one.reason === reason && one.start < found.end && found.start < one.end;
    const joined = marks.filter(overlaps);
    const start = Math.min(found.start, ...joined.map((one) => one.start));
    const end = Math.max(found.end, ...joined.map((one) => one.end));
    if (end - start > Number(longest)) return refuse(gettext("Select at most {most} characters", { most: longest }));
    if (marks.length - joined.length >= Number(most)) return refuse(gettext("You have {most} marks. Remove one first", { most }));
    marks = [...marks.filter((one) => !overlaps(one)), { ...where, start, end, reason }].sort(inOrder);
    const words = cut(passages().text(body).slice(from, to));
    const wasInBar = bar().contains(document.activeElement);
    close();
    getSelection().removeAllRanges();
    save();
    say(gettext("Marked, {reason}: {words}", { reason: labelOf(reason), words }));
    if (cursor) {
      cursor.body.focus({ preventScroll: true });
      cursor.anchor = cursor.head;
    } else if (wasInBar) document.querySelector("#main")?.focus({ preventScroll: true });
  };

  let resting = 0;
  let isDown = false;
  const look = () => {
    if (!isOpen() || isDown || bar()?.contains(document.activeElement)) return;
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed) {
      if (pending && !cursor) close(); // what the list has led to stays painted
      return;
    }
    const range = selection.getRangeAt(0);
    const within = (node) => (node instanceof Element ? node : node?.parentElement)?.closest("[data-source]");
    // What reaches beyond an answer ends with it.
    const body = within(selection.anchorNode) ?? within(selection.focusNode) ?? bodies().find((one) => range.intersectsNode(one));
    if (!body) return close();
    const [from, to] = passages().offsets(body, range);
    offer(body, from, to);
  };
  document.addEventListener("selectionchange", () => {
    clearTimeout(resting);
    resting = setTimeout(look, AFTER);
  });
  addEventListener("pointerdown", (event) => (isDown = event.pointerType === "mouse" && !event.target.closest?.("[data-mark-bar]")), { capture: true });
  for (const kind of ["pointerup", "pointercancel", "blur"])
    addEventListener(kind, () => {
      if (!isDown) return;
      isDown = false;
      clearTimeout(resting);
      resting = setTimeout(look, 0);
    });
  let frame = 0;
  const replace = () => {
    if (!pending) return;
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(place);
  };
  document.addEventListener("scroll", replace, { capture: true, passive: true });
  addEventListener("resize", replace);
  // A press on the bar leaves the selection as it is.
  document.addEventListener("mousedown", (event) => {
    if (event.target.closest?.("[data-mark-bar]") && !event.target.closest("select")) event.preventDefault();
  });
  document.addEventListener("click", (event) => {
    const target = event.target instanceof Element ? event.target : null;
    const button = target?.closest("[data-mark]");
    if (button) mark(button.dataset.mark);
    if (target?.closest("[data-mark-close]")) {
      close();
      getSelection().removeAllRanges();
      cursor?.body.focus({ preventScroll: true });
    }
    if (target?.closest("[data-mark-start]")) {
      const menu = target.closest("[popover]");
      if (menu?.matches(":popover-open")) menu.hidePopover();
      queueMicrotask(begin); // after the key has done what it does
    }
  });

  // --- by keyboard -----------------------------------------------------------------------------------------------------
  let cursor = null; // {body, anchor, head, opener}: two stretches [from, to] of what is seen
  const segmenters = {};
  /** The words or sentences about a stretch, as stretches. What is punctuation alone is no word. */
  const about = (body, [from, to], granularity) => {
    const text = passages().text(body);
    const start = Math.max(0, from - NEAR);
    segmenters[granularity] ??= new Intl.Segmenter(undefined, { granularity });
    return [...segmenters[granularity].segment(text.slice(start, to + NEAR))]
      .filter(({ segment }) => !/^[\s\p{P}]*$/u.test(segment))
      .map(({ index, segment }) => [start + index + segment.length - segment.trimStart().length, start + index + segment.trimEnd().length]);
  };
  /** The word or sentence after (step 1) or before (step -1) a stretch; undefined at the end. */
  const next = (body, [from, to], granularity, step) => {
    const all = about(body, [from, to], granularity);
    if (step > 0) return all.find(([start]) => start >= to);
    // From within a sentence to its beginning.
    return all.findLast(([start, end]) => (granularity === "word" ? end <= from : start < from));
  };
  const select = (isExtended) => {
    const { body, anchor, head } = cursor;
    const [from, to] = [Math.min(anchor[0], head[0]), Math.max(anchor[1], head[1])];
    const range = passages().range(body, from, to);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    passages().go(body, head[0], head[1]);
    offer(body, from, to);
    const text = passages().text(body);
    const words = cut(text.slice(head[0], head[1]));
    const n = text.slice(from, to).split(/\s+/).filter(Boolean).length;
    say(isExtended ? gettext("{words}. Words selected: {n}", { words, n }) : words);
  };
  /** Where marking begins: the answer that is read, of a conversation its first message that is in view. */
  const first = () => {
    const answer = document.querySelector(`[data-pane="${window.touchstonePanes?.current()}"], [data-rank-card][data-current]`);
    const all = [...(answer?.querySelectorAll("[data-source]") ?? [])];
    const among = all.length ? all : bodies();
    return among.find((body) => body.getBoundingClientRect().bottom > passages().frame(body).top + 8) ?? among[0];
  };
  /** Make a text the one that the keys are for. */
  const enter = (body) => {
    body.tabIndex = -1;
    body.setAttribute("role", "application");
    body.setAttribute("aria-label", gettext("Arrow keys move by word and by sentence, Shift extends, Enter or a digit marks, Escape ends"));
    body.toggleAttribute("data-marking", true);
    body.focus({ preventScroll: true });
  };
  const leave = (body) => {
    for (const name of ["role", "aria-label", "tabindex", "data-marking"]) body.removeAttribute(name);
  };
  const begin = () => {
    if (!isOpen()) return;
    if (pending && !cursor) return toBar();
    const body = first();
    const start = body && next(body, [0, 0], "word", 1);
    if (!start) return;
    if (cursor) end();
    cursor = { body, anchor: start, head: start, opener: document.activeElement };
    enter(body);
    select(false);
  };
  const end = () => {
    if (!cursor) return;
    const { body, opener } = cursor;
    cursor = null;
    leave(body);
    getSelection().removeAllRanges();
    close();
    (opener?.isConnected && opener !== document.body ? opener : document.querySelector("#main"))?.focus({ preventScroll: true });
    say(gettext("Marking ended"));
  };
  const toBar = () => {
    bar().toggleAttribute("data-keys", true);
    const part = bar().querySelector("[data-mark-part]");
    (part ?? bar().querySelector("[data-mark]")).focus();
  };
  const MOVES = { ArrowRight: ["word", 1], ArrowLeft: ["word", -1], ArrowDown: ["sentence", 1], ArrowUp: ["sentence", -1] };
  const isRightToLeft = () => {
    const at = passages().range(cursor.body, ...cursor.head).startContainer.parentElement;
    return getComputedStyle(at).direction === "rtl";
  };
  const move = (event) => {
    let [granularity, step] = MOVES[event.key];
    if (granularity === "word" && isRightToLeft()) step = -step;
    const to = next(cursor.body, cursor.head, granularity, step);
    if (to) {
      cursor.head = to;
      if (!event.shiftKey) cursor.anchor = to;
      select(event.shiftKey);
    } else if (!event.shiftKey) cross(granularity, step); // a passage ends with its message
  };
  /** From the end of one message of a conversation to the next one that can be marked. */
  const cross = (granularity, step) => {
    const all = bodies().filter((body) => body.dataset.response === cursor.body.dataset.response);
    for (let at = all.indexOf(cursor.body) + step; all[at]; at += step) {
      const edge = step > 0 ? 0 : passages().text(all[at]).length;
      const to = next(all[at], [edge, edge], granularity, step);
      if (!to) continue;
      const before = cursor.body;
      Object.assign(cursor, { body: all[at], anchor: to, head: to });
      enter(all[at]);
      leave(before);
      return select(false);
    }
  };
  const digit = (event) => {
    const one = reasons()[Number(event.code.replace(/^(Digit|Numpad)/, "")) - 1];
    if (one) mark(one[0]);
  };
  // Before all others: while a passage is marked, keys mean nothing else.
  addEventListener(
    "keydown",
    (event) => {
      const inBar = bar()?.contains(event.target);
      if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
      const stop = () => {
        event.preventDefault();
        event.stopImmediatePropagation();
      };
      if (event.key === "Escape" && (inBar || (pending && !cursor))) {
        stop();
        if (inBar && cursor) return cursor.body.focus({ preventScroll: true });
        close();
        getSelection().removeAllRanges();
        if (inBar) document.querySelector("#main")?.focus({ preventScroll: true });
        return;
      }
      if (inBar) {
        const all = [...bar().querySelectorAll("button, select")];
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (step && !event.target.matches("select")) {
          stop();
          all.at((all.indexOf(event.target) + step) % all.length).focus();
        } else if (event.key === "Enter" && event.target.matches("select")) {
          stop();
          mark("");
        } else if (/^(Digit|Numpad)[1-9]$/.test(event.code) && !event.target.matches("select")) {
          stop();
          digit(event);
        } else if (event.key.length === 1 && event.key !== " " && !event.target.matches("select")) stop();
        return;
      }
      if (!cursor || event.target !== cursor.body) return;
      if (MOVES[event.key]) {
        stop();
        move(event);
      } else if (event.key === "Enter") {
        stop();
        if (reasons().length === 1) mark(reasons()[0][0]);
        else toBar();
      } else if (event.key === "Escape") {
        stop();
        end();
      } else if (/^(Digit|Numpad)[1-9]$/.test(event.code) && !event.shiftKey) {
        stop();
        digit(event);
      } else if (event.key.length === 1 || event.key === "Home" || event.key === "End") stop();
    },
    { capture: true },
  );
  // Gone elsewhere by Tab or a click: that ends it, and leaves the focus where it went.
  document.addEventListener("focusin", (event) => {
    if (!cursor || cursor.body.contains(event.target) || bar()?.contains(event.target)) return;
    cursor.opener = event.target;
    end();
  });

  // --- a required mark: before all others, so that a refused submit reaches none of them -------------------------------------------------------------------------------------------------
  addEventListener(
    "submit",
    (event) => {
      const form = event.target.closest?.("form[data-annotate]");
      if (!form || !field()?.hasAttribute("data-required") || marks.length || !form.contains(field())) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      // In a line of its own: that of the draft is soon another.
      document.querySelector("[data-mark-missing]")?.remove();
      const missing = element("p", "field-error", gettext("Mark at least one passage first: select text, or press Shift E"));
      missing.dataset.markMissing = "";
      missing.setAttribute("role", "alert");
      document.querySelector(".answer-bar-notes")?.prepend(missing);
      document.querySelectorAll("[data-marked]").forEach((section) => section.toggleAttribute("data-missing", true));
    },
    { capture: true },
  );

  document.addEventListener("touchstone:work", () => {
    cursor = null;
    pending = null;
    passages().paint("mark-now", []);
    load();
  });
  // Ranked answers that were moved: what is painted is gone, what is marked is not.
  document.addEventListener("touchstone:moved", () => {
    if (!cursor) close();
    draw();
  });
  document.addEventListener("touchstone:texts", () => {
    cursor = null;
    close();
    draw();
  });
})();

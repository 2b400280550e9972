// Putting cards in order: by digit and letter keys, by buttons, by dragging. The truth stands in the selects of
// the cards (`rank-…`), which also work without this script; here is what moves cards when a rank changes.
// No key that scrolls ranks or moves a card, with or without Alt (Alt and an arrow scroll on a Mac): J and K lead from
// card to card, Shift with them moves one, N gives the next rank.
//   <section data-ranking data-ties> with <ol data-ranked>, <ol data-unranked> and [data-rank-card] in their items.
// "touchstone:moved" says that cards may stand elsewhere: ranges of their text are void.
// A part that came by htmx is started by the event "touchstone:work" (detail.root) or "htmx:load".
// ranking-order.js has the arithmetic of ranks, ranking-drag.js the dragging.
"use strict";
(() => {
  const { rankGive, rankMove, rankRest } = window.touchstoneOrder;
  const STILL = matchMedia("(prefers-reduced-motion: reduce)");
  const SECOND_DIGIT = 700;
  const QUOTED = 60;
  const KEYS_OFF = "touchstone:keys-off";

  const short = (text) => (text.length > QUOTED ? `${text.slice(0, QUOTED).trimEnd()}…` : text);
  const keysOff = () => {
    try {
      return localStorage.getItem(KEYS_OFF) === "1";
    } catch {
      return false;
    }
  };

  class Ranking {
    constructor(section) {
      const find = (selector) => section.querySelector(selector);
      this.section = section;
      this.form = section.closest("form");
      this.ties = section.hasAttribute("data-ties");
      this.ranked = find("[data-ranked]");
      this.unranked = find("[data-unranked]");
      this.rest = find("[data-rest]");
      this.empty = find("[data-rank-empty]");
      // By field name, so that the order shown is the same wherever the server put the cards.
      this.cards = [...section.querySelectorAll("[data-rank-card]")].sort((a, b) => a.dataset.shown - b.dataset.shown);
      this.selects = this.cards.map((card) => card.querySelector("select"));
      this.names = this.cards.map((card) => card.dataset.label);
      this.history = [];
      this.current = 0;
      this.digits = "";
      section.addEventListener("change", (event) => this.chosen(event));
      section.addEventListener("click", (event) => this.clicked(event));
      section.addEventListener("focusin", (event) => this.focused(event));
      window.touchstoneDrag(this);
      this.clamp();
      this.read();
    }

    get size() {
      return this.cards.length;
    }
    indexOf(element) {
      return this.cards.indexOf(element?.closest?.("[data-rank-card]"));
    }
    inOrder() {
      return [...this.section.querySelectorAll("[data-rank-card]")].map((card) => this.cards.indexOf(card));
    }
    isRanked(index) {
      return this.ranks[index] > 0;
    }

    /** Take the ranks from the selects: at the start, and after somebody else has filled the form in. */
    read() {
      const found = this.selects.map((select) => Number(select.value) || 0);
      if (String(found) === String(this.ranks)) return;
      this.ranks = found;
      this.history = [];
      const first = this.inOrder().find((index) => !this.isRanked(index));
      this.current = first ?? this.inOrder()[0] ?? 0;
      this.render({ animate: false });
    }

    /** Change the ranks, remember what was, show and say it. */
    apply(ranks, words) {
      if (String(ranks) === String(this.ranks)) return false;
      this.history.push(this.ranks);
      this.change(ranks, words);
      return true;
    }
    change(ranks, words) {
      this.ranks = ranks;
      this.section.querySelectorAll("[data-clash]").forEach((words) => words.remove());
      this.render({ animate: true });
      this.selects[0].dispatchEvent(new Event("input", { bubbles: true })); // for the draft and the submit
      this.say(words);
    }
    say(words) {
      this.section.querySelector("[data-rank-say]").textContent = words;
    }
    undo() {
      const before = this.history.pop();
      if (!before) return;
      const moved = before.findIndex((rank, index) => rank !== this.ranks[index]);
      this.change(before, `${gettext("Undone.")} ${this.state(moved, before)}`);
      this.focus(moved);
    }

    give(index, rank) {
      const ranks = rank ? rankGive(this.ranks, index, rank, this.ties) : this.ranks.with(index, 0);
      return this.apply(ranks, this.state(index, ranks));
    }
    move(index, step) {
      const ranks = rankMove(this.ranks, index, step);
      const moved = this.apply(ranks, this.state(index, ranks));
      const name = short(this.names[index]);
      if (!moved) this.say(step < 0 ? gettext("{name} cannot go up.", { name }) : gettext("{name} cannot go down.", { name }));
      return moved;
    }
    placeRest() {
      const left = this.inOrder().filter((index) => !this.isRanked(index));
      this.apply(rankRest(this.ranks, left), ngettext("All {n} are ranked.", "All {n} are ranked.", this.size));
      this.focus(this.current); // the button is gone
    }

    /** "Correct format: rank 2 of 6, tied with One memory. 3 not ranked yet." */
    state(index, ranks = this.ranks) {
      const left = ranks.filter((rank) => !rank).length;
      const end = left ? ngettext("{n} not ranked yet.", "{n} not ranked yet.", left) : gettext("All are ranked.");
      return `${short(this.names[index])}: ${this.place(index, ranks)}. ${end}`;
    }
    place(index, ranks = this.ranks) {
      if (!ranks[index]) return gettext("not ranked yet");
      const tied = this.names.filter((_, other) => other !== index && ranks[other] === ranks[index]);
      const names = new Intl.ListFormat(document.documentElement.lang).format(tied.map(short));
      const values = { rank: ranks[index], total: this.size, names };
      return tied.length ? gettext("rank {rank} of {total}, tied with {names}", values) : gettext("rank {rank} of {total}", values);
    }

    render({ animate }) {
      const focused = this.section.contains(document.activeElement) ? document.activeElement : null;
      const before = animate && !STILL.matches ? this.cards.map((card) => card.getBoundingClientRect()) : null;
      const byRank = this.cards.map((_, index) => index).sort((a, b) => this.ranks[a] - this.ranks[b] || a - b);
      const above = byRank.filter((index) => this.isRanked(index));
      const below = byRank.filter((index) => !this.isRanked(index));
      this.fill(this.ranked, this.withGaps(above, below.length > 0));
      this.fill(this.unranked, below.map((index) => this.itemOf(index)));
      this.cards.forEach((_, index) => this.dress(index));
      above.forEach((index, place) => {
        const tied = (other) => other !== undefined && this.ranks[other] === this.ranks[index];
        this.itemOf(index).classList.toggle("rank-tied-above", tied(above[place - 1]));
        this.itemOf(index).classList.toggle("rank-tied-below", tied(above[place + 1]));
      });
      this.count(above.length);
      this.mark();
      if (focused && document.activeElement !== focused) {
        (focused.disabled ? this.cards[this.indexOf(focused)] : focused)?.focus({ preventScroll: true });
      }
      if (before) this.animate(before);
      this.section.dispatchEvent(new CustomEvent("touchstone:moved", { bubbles: true }));
    }
    itemOf(index) {
      return this.cards[index].parentElement;
    }
    /** While cards are missing, a rank that nobody has yet shows its place. */
    withGaps(above, incomplete) {
      const rows = [];
      let last = 0;
      above.forEach((index) => {
        for (let rank = last + 1; incomplete && rank < this.ranks[index]; rank += 1) rows.push(this.gap(rank));
        rows.push(this.itemOf(index));
        last = this.ranks[index];
      });
      return rows.length ? rows : [this.empty];
    }
    gap(rank) {
      const row = document.createElement("li");
      row.className = "rank-gap num";
      row.dataset.gap = rank;
      row.textContent = gettext("{rank}: free", { rank });
      return row;
    }
    fill(list, rows) {
      list.querySelectorAll("[data-gap]").forEach((row) => row.remove());
      rows.forEach((row, place) => {
        if (list.children[place] !== row) list.insertBefore(row, list.children[place] ?? null);
      });
    }
    dress(index) {
      const [card, select, rank] = [this.cards[index], this.selects[index], this.ranks[index]];
      const tied = rank && this.ranks.some((other, place) => place !== index && other === rank);
      if (select.value !== String(rank || "")) select.value = String(rank || "");
      select.removeAttribute("aria-invalid");
      card.toggleAttribute("data-set", rank > 0);
      card.setAttribute("aria-label", `${this.names[index]}: ${this.place(index)}`);
      card.querySelector("[data-tied]").hidden = !tied;
      card.querySelector("[data-move=up]").disabled = rankMove(this.ranks, index, -1) === this.ranks;
      card.querySelector("[data-move=down]").disabled = rankMove(this.ranks, index, 1) === this.ranks;
    }
    count(done) {
      const within = (selector) => (this.form ?? document).querySelector(selector);
      const words = within("[data-rank-count]");
      const left = this.size - done;
      if (words) words.textContent = left ? gettext("{done} of {total} ranked", { done, total: this.size }) : ngettext("All {n} ranked", "All {n} ranked", this.size);
      const bar = within("[data-rank-progress]");
      if (bar) bar.value = done;
      this.empty.hidden = done > 0;
      this.rest.hidden = !left;
      this.section.querySelector("[data-n-rest]").textContent = `(${left})`;
      this.section.querySelector("[data-place-rest]").disabled = !done;
      this.section.querySelector("[data-rank-undo]").disabled = !this.history.length;
    }
    /** One card is the current one: it takes the digits, and Tab leads to it. */
    mark() {
      this.cards.forEach((card, index) => {
        card.toggleAttribute("data-current", index === this.current);
        card.tabIndex = index === this.current ? 0 : -1;
      });
    }
    animate(before) {
      this.cards.forEach((card, index) => {
        const now = card.getBoundingClientRect();
        const [x, y] = [before[index].left - now.left, before[index].top - now.top];
        if (!x && !y) return;
        card.animate([{ transform: `translate(${x}px, ${y}px)` }, { transform: "none" }], { duration: 180, easing: "cubic-bezier(.2, 0, 0, 1)" });
      });
    }

    focus(index) {
      this.current = index;
      this.mark();
      this.cards[index].focus({ preventScroll: true, focusVisible: true });
      this.cards[index].scrollIntoView({ block: "nearest" });
    }
    focused(event) {
      const index = this.indexOf(event.target);
      if (index < 0 || index === this.current) return;
      this.current = index;
      this.mark();
    }
    /** The card that a key speaks of: the one with the focus, or else the current one. */
    step(by) {
      const order = this.inOrder();
      const here = order.indexOf(this.current);
      const inside = this.indexOf(document.activeElement) >= 0;
      this.focus(order[Math.min(Math.max(here + (inside ? by : 0), 0), order.length - 1)]);
    }

    chosen(event) {
      const index = this.selects.indexOf(event.target);
      if (index >= 0) this.give(index, Number(event.target.value));
    }
    clicked(event) {
      const button = event.target.closest("button");
      if (!button) return;
      const index = this.indexOf(button);
      if (button.dataset.move) this.move(index, button.dataset.move === "up" ? -1 : 1);
      else if (button.hasAttribute("data-place-rest")) this.placeRest();
      else if (button.hasAttribute("data-rank-undo")) this.undo();
      else if (button.hasAttribute("data-expand")) this.expand(index);
      else return; // of what is marked (evidence.js)
      // Who pointed at a button scrolls with Space next, which would press the button once more.
      if (event.detail > 0) this.cards[this.current].focus({ preventScroll: true });
    }

    /** A digit ranks the current card; from a card without a rank it goes on to the next without one. */
    digit(digit) {
      clearTimeout(this.waiting);
      this.digits += digit;
      const rank = Number(this.digits);
      if (this.digits.length < 2 && rank && rank * 10 <= this.size) {
        this.waiting = setTimeout(() => this.rankCurrent(rank), SECOND_DIGIT);
        return;
      }
      this.rankCurrent(rank);
    }
    rankCurrent(rank) {
      this.digits = "";
      if (rank >= 1 && rank <= this.size) this.advance((index) => this.give(index, rank));
      else this.say(gettext("There are ranks from 1 to {last}.", { last: this.size }));
    }
    advance(change) {
      const index = this.current;
      const next = this.isRanked(index) ? undefined : this.nextUnranked(index);
      if (change(index) || !this.isRanked(index)) this.focus(next ?? index);
    }
    /** The current card takes the next rank, or has none any more. */
    rankNext() {
      if (!this.isRanked(this.current)) return this.advance((index) => this.move(index, -1));
      this.say(this.state(this.current));
      this.focus(this.current);
    }
    takeBack() {
      if (!this.give(this.current, 0)) this.say(this.state(this.current));
      this.focus(this.current);
    }
    nextUnranked(index) {
      const left = this.inOrder().filter((other) => !this.isRanked(other));
      return left.find((_, place) => left[place - 1] === index) ?? left.find((other) => other !== index);
    }

    /** What is longer than its box: an answer gets a button, the instruction beside the list can be reached by Tab. */
    clamp() {
      this.reach();
      this.cards.forEach((card) => {
        const [body, button] = [card.querySelector("[data-rank-body]"), card.querySelector("[data-expand]")];
        if (!body) return;
        const long = body.scrollHeight > body.clientHeight + 24;
        body.toggleAttribute("data-whole", !long);
        button.hidden = !long;
      });
    }
    reach() {
      const source = this.section.parentElement?.querySelector("[data-rank-source]");
      if (!source || source.scrollHeight <= source.clientHeight + 1) return;
      source.tabIndex = 0;
      source.setAttribute("role", "region");
      source.setAttribute("aria-label", gettext("Instruction text"));
    }
    expand(index) {
      const [body, button] = [this.cards[index].querySelector("[data-rank-body]"), this.cards[index].querySelector("[data-expand]")];
      if (!button || button.hidden) return;
      const whole = body.toggleAttribute("data-whole");
      button.setAttribute("aria-expanded", String(whole));
      button.setAttribute("aria-label", whole ? gettext("Show less of {name}", { name: this.names[index] }) : gettext("Show all of {name}", { name: this.names[index] }));
      button.querySelector("[data-words]").textContent = whole ? gettext("Show less") : gettext("Show all");
      if (!whole) this.cards[index].scrollIntoView({ block: "nearest" });
    }
  }

  const known = new WeakMap();
  const start = (root) => {
    root.querySelectorAll("[data-ranking]").forEach((section) => {
      if (known.has(section)) known.get(section).read();
      else known.set(section, new Ranking(section));
    });
  };
  // Wherever the focus is; on a card also where single keys are switched off.
  const digitOf = (event) => {
    if (/^[0-9]$/.test(event.key)) return event.key;
    // On a French keyboard digits want Shift; their keys are meant all the same.
    return event.shiftKey ? undefined : /^(?:Digit|Numpad)([0-9])$/.exec(event.code)?.[1];
  };
  // A letter is the one printed on the key; on a Cyrillic or Greek keyboard the one in its place.
  const nameOf = ({ key, code }) => (/^[a-z]$/i.test(key) ? `Key${key.toUpperCase()}` : key.length === 1 ? code : key);
  const typing = (target) =>
    target.isContentEditable || target.matches("textarea, select") || (target.matches("input") && !/^(radio|checkbox|button|submit)$/.test(target.type));

  document.addEventListener("keydown", (event) => {
    const target = event.target;
    if (event.defaultPrevented || event.isComposing || !(target instanceof HTMLElement)) return;
    const ranking = known.get(target.closest("[data-ranking]") ?? document.querySelector("[data-ranking]"));
    if (!ranking) return;
    if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]") || typing(target)) return;
    const inside = ranking.indexOf(target) >= 0;
    if (!inside && keysOff()) return;
    const { current } = ranking;
    const moved = (step) => {
      ranking.move(current, step);
      ranking.focus(current);
    };
    const actions = event.shiftKey
      ? { KeyK: () => moved(-1), KeyJ: () => moved(1) }
      : {
          ...{ KeyK: () => ranking.step(-1), KeyJ: () => ranking.step(1), KeyE: () => ranking.expand(current) },
          ...{ KeyN: () => ranking.rankNext(), Delete: () => ranking.takeBack(), Backspace: () => ranking.takeBack() },
        };
    const digit = digitOf(event);
    const action = digit === undefined ? actions[nameOf(event)] : () => event.repeat || ranking.digit(digit);
    if (!action) return;
    event.preventDefault();
    action();
  });

  addEventListener("resize", () => document.querySelectorAll("[data-ranking]").forEach((section) => known.get(section)?.reach()));
  document.addEventListener("touchstone:work", (event) => start(event.detail?.root ?? document));
  document.addEventListener("htmx:load", () => start(document));
  addEventListener("pageshow", () => start(document)); // the browser may have put fields back by now
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => start(document));
  else start(document);
})();

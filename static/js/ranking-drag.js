// Dragging of ranking.js's cards by mouse, pen or finger. A finger drags by the dots, so that the page still scrolls;
// a mouse by the whole head of a card. Near an edge of the window the page scrolls along. Escape leaves all as it was.
"use strict";
(() => {
  const SLACK = 6;
  const EDGE = 72;
  const SPEED = 0.9; // pixels a millisecond at the very edge, whatever the screen's rate
  const MAX_FRAME = 50;
  const ASIDE = 0.12; // of its width, so that the rank of what is under it shows
  const HALF_BAND = 0.3; // of a card's height, above and below: beside it. Between: onto it, where ties are allowed.
  const MAX_BAND = 36;
  const { levelsOf, rankGive, rankInsert } = window.touchstoneOrder;

  window.touchstoneDrag = (ranking) => {
    const { section } = ranking;
    let drag = null;

    const allowed = (event) => {
      if (event.button !== 0 || event.target.closest("button, select, a, summary")) return false;
      return Boolean(event.target.closest(event.pointerType === "mouse" ? "[data-drag]" : "[data-grip]"));
    };
    const ghostOf = (card) => {
      const ghost = card.cloneNode(true);
      ghost.querySelectorAll("[data-rank-body], [data-expand], button").forEach((part) => part.remove());
      const rank = document.createElement("span");
      rank.className = "rank-select num";
      rank.dataset.would = "";
      ghost.querySelector("select").replaceWith(rank); // a copy must not answer for the form
      ["data-rank-card", "tabindex", "role", "aria-label"].forEach((name) => ghost.removeAttribute(name));
      ghost.classList.add("rank-ghost");
      ghost.setAttribute("aria-hidden", "true");
      ghost.inert = true;
      ghost.style.width = `${card.offsetWidth * (1 - ASIDE)}px`;
      return ghost;
    };
    const begin = () => {
      drag.moving = true;
      const card = ranking.cards[drag.index];
      drag.ghost = ghostOf(card);
      document.body.append(drag.ghost);
      card.toggleAttribute("data-lifted", true);
      section.toggleAttribute("data-dragging", true);
      try {
        section.setPointerCapture(drag.pointer);
      } catch {
        // the pointer is gone already; its end comes as an event all the same
      }
      ranking.focus(drag.index);
      drag.frame = requestAnimationFrame(scroll);
    };

    // Where it would land: {row, how}, how being before, after, onto (a tie), gap, out (not ranked) or first.
    const landing = () => {
      const { y, index } = drag;
      if (!ranking.rest.hidden && y > ranking.rest.getBoundingClientRect().top) {
        return ranking.isRanked(index) ? { row: ranking.rest, how: "out" } : null;
      }
      const rows = [...ranking.ranked.children].filter((row) => !row.hidden);
      if (rows.includes(ranking.empty)) return { row: ranking.empty, how: "first" };
      const row = rows.find((other) => y <= other.getBoundingClientRect().bottom) ?? rows.at(-1);
      if (row === ranking.itemOf(index)) return null;
      if (row.dataset.gap) return { row, how: "gap" };
      const { top, bottom, height } = row.getBoundingClientRect();
      const band = ranking.ties ? Math.min(height * HALF_BAND, MAX_BAND) : height / 2;
      if (y < top + band) return { row, how: "before" };
      return y > bottom - band ? { row, how: "after" } : { row, how: "onto" };
    };
    /** The ranks as they would be after landing there. */
    const outcome = ({ row, how }) => {
      const { ranks, ties } = ranking;
      const [index, end] = [drag.index, ranking.size + 1];
      if (how === "out") return ranks.with(index, 0);
      if (how === "first") return ranks.with(index, 1);
      if (how === "gap") return rankGive(ranks, index, Number(row.dataset.gap), ties);
      const rank = ranks[ranking.indexOf(row.firstElementChild)];
      if (how === "onto") return rankGive(ranks, index, rank, ties);
      const levels = levelsOf(ranks.with(index, 0));
      const at = levels.indexOf(rank);
      return how === "before" ? rankInsert(ranks, index, levels[at - 1] ?? 0, rank) : rankInsert(ranks, index, rank, levels[at + 1] ?? end);
    };

    const show = () => {
      // Along the list, as that is where a card can go; its rank is the one that it would have.
      drag.ghost.style.transform = `translate(${drag.left}px, ${drag.y - drag.dy}px)`;
      const target = landing();
      drag.ghost.querySelector("[data-tied]").hidden = target?.how !== "onto";
      drag.ghost.querySelector("[data-would]").textContent = (target ? outcome(target) : ranking.ranks)[drag.index] || "–";
      if (drag.target?.row !== target?.row) drag.target?.row.removeAttribute("data-drop");
      target?.row.setAttribute("data-drop", target.how);
      drag.target = target;
    };
    const scroll = (now) => {
      if (!drag?.moving) return;
      const passed = Math.min(now - (drag.frameAt ?? now), MAX_FRAME);
      drag.frameAt = now;
      const top = document.querySelector(".topbar")?.getBoundingClientRect().bottom ?? 0;
      const bottom = document.querySelector(".answer-bar")?.getBoundingClientRect().top ?? innerHeight;
      const over = Math.min(0, drag.y - Math.max(top, 0) - EDGE) + Math.max(0, drag.y - bottom + EDGE);
      if (over) {
        scrollBy({ top: Math.max(-1, Math.min(1, over / EDGE)) * SPEED * passed, behavior: "instant" });
        show();
      }
      drag.frame = requestAnimationFrame(scroll);
    };
    const end = (dropped) => {
      if (!drag) return;
      const { index, moving, target, ghost, frame } = drag;
      if (moving) {
        cancelAnimationFrame(frame);
        ghost.remove();
        target?.row.removeAttribute("data-drop");
        ranking.cards[index].removeAttribute("data-lifted");
        section.removeAttribute("data-dragging");
        if (dropped && target) {
          const ranks = outcome(target);
          ranking.apply(ranks, ranking.state(index, ranks));
          ranking.focus(index);
        }
      }
      drag = null;
    };

    section.addEventListener("pointerdown", (event) => {
      const card = event.target.closest("[data-rank-card]");
      if (drag || !card || !allowed(event)) return;
      const box = card.getBoundingClientRect();
      drag = {
        index: ranking.indexOf(card),
        pointer: event.pointerId,
        x: event.clientX,
        y: event.clientY,
        startX: event.clientX,
        startY: event.clientY,
        left: box.left + box.width * ASIDE,
        dy: event.clientY - box.top,
      };
    });
    // On the document: until the pointer is captured it may leave the section.
    const mine = (event) => drag && event.pointerId === drag.pointer && section.isConnected;
    const moved = (event) => {
      if (!mine(event)) return;
      drag.x = event.clientX;
      drag.y = event.clientY;
      if (!drag.moving && Math.hypot(drag.x - drag.startX, drag.y - drag.startY) > SLACK) begin();
      if (drag.moving) show();
    };
    const keyed = (event) => {
      if (event.key !== "Escape" || !drag?.moving) return;
      event.preventDefault();
      event.stopPropagation();
      end(false);
    };
    const listeners = new AbortController();
    const on = (kind, listener, options) => document.addEventListener(kind, listener, { signal: listeners.signal, ...options });
    on("pointermove", moved);
    on("pointerup", (event) => mine(event) && end(true));
    on("pointercancel", (event) => mine(event) && end(false));
    on("keydown", keyed, { capture: true });
    section.addEventListener("dragstart", (event) => event.preventDefault()); // links and pictures have a drag of their own
    // A part that htmx has replaced listens no more.
    on("htmx:afterSwap", () => {
      if (section.isConnected) return;
      end(false);
      listeners.abort();
    });
  };
})();

// What every answer may have beside its choice: how strong a preference is, reasons, and a comment. Of a pair it also marks the
// answer that is chosen.
"use strict";
(() => {
  // On a scale of preference the keys A and B choose a side where it is weakest; pressed again they go a step further.
  const letterMove = (form, letter) => {
    const inputs = [...form.querySelectorAll(`[data-points] [data-choice="${letter}"]`)];
    if (letter === "a") inputs.reverse(); // the weakest first
    const next = Math.min(inputs.findIndex((input) => input.checked) + 1, inputs.length - 1);
    inputs.forEach((input, place) => {
      const label = input.closest("label");
      const keys = label.dataset.key.split(" ").filter((key) => key !== letter);
      label.dataset.key = (place === next ? [...keys, letter] : keys).join(" ");
    });
  };
  // For the cards and the tabs of the answers, which stand before the choice (annotate.css).
  const show = (form) => {
    const chosen = form.querySelector("[data-choice]:checked");
    if (chosen) form.dataset.chosen = chosen.dataset.choice;
    else delete form.dataset.chosen;
  };
  const sync = (form) => {
    show(form);
    ["a", "b"].forEach((letter) => letterMove(form, letter));
  };
  const syncAll = () => document.querySelectorAll("form").forEach(sync);

  document.addEventListener("input", (event) => {
    if (event.target.matches?.("[data-choice]")) sync(event.target.form);
  });

  // Where a study has it, a choice submits: by its key, a tap or a click. Not in the first moment of an item, when a key
  // pressed twice would answer what nobody has seen.
  const FIRST_MOMENT = 400;
  let arrived = 0;
  document.addEventListener("touchstone:work", () => (arrived = performance.now()));
  document.addEventListener("change", (event) => {
    const form = event.target.matches?.("[data-choice]") && event.target.closest("form[data-submit-on-choice]");
    if (!form || performance.now() - arrived < FIRST_MOMENT || !form.checkValidity()) return;
    queueMicrotask(() => form.isConnected && form.requestSubmit());
  });

  // Where a reason has to be picked, the first one is required as long as none is. Before annotate.js looks whether the
  // answer is complete.
  const reasonsSync = (box) => {
    const inputs = [...box.querySelectorAll("[data-reason]")];
    const isPicked = inputs.some((input) => input.checked);
    inputs.forEach((input, place) => (input.required = !isPicked && place === 0));
  };
  const reasonsSyncAll = () => document.querySelectorAll("[data-reasons-required]").forEach(reasonsSync);
  document.addEventListener("input", (event) => event.target.matches?.("[data-reason]") && reasonsSyncAll(), { capture: true });
  // Enter goes there once the reasons are all that is missing.
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.key !== "Enter" || event.target.matches?.("textarea, summary, button, a") || document.querySelector("dialog[open]")) return;
      const first = document.querySelector("form[data-annotate] [data-reason]:invalid");
      const others = [...(first?.form.elements ?? [])].some((input) => input !== first && input.matches(":is(input, select, textarea):invalid"));
      if (!first || others) return;
      event.preventDefault();
      first.focus({ focusVisible: true });
      window.touchstoneAnswers.of(first.form)?.tell("local", gettext("Pick at least one reason."));
    },
    { capture: true },
  );

  // The comment: its field is ready to be typed into when it opens, and Escape goes back to the keys.
  const box = (element) => element.closest?.("[data-comment]");
  document.addEventListener("click", (event) => {
    const details = event.target.closest?.("[data-comment] > summary")?.parentElement;
    if (!details || details.open) return;
    event.preventDefault();
    details.open = true;
    // After the key has put the focus on what it pressed, and before the next key arrives.
    queueMicrotask(() => details.querySelector("textarea").focus());
  });
  document.addEventListener("keydown", (event) => {
    const details = event.key === "Escape" && !event.isComposing && event.target.matches?.("textarea") && box(event.target);
    if (!details) return;
    event.preventDefault();
    details.open = false;
    details.querySelector("summary").focus();
  });
  // While typing, Enter is a new line: with Ctrl, or Command on a Mac, it submits.
  document.addEventListener("keydown", (event) => {
    const form = event.target.closest?.("form[data-annotate]");
    if (!form || event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing || event.repeat) return;
    event.preventDefault();
    const submit = form.querySelector(".answer-bar button[type=submit]");
    if (submit.disabled) window.touchstoneAnswers.of(form)?.tell("local", gettext("Your answer isn’t complete yet"));
    else submit.click();
  });
  document.addEventListener("paste", (event) => {
    const counter = box(event.target)?.querySelector("[data-pasted]");
    const pasted = event.clipboardData?.getData("text").length ?? 0;
    if (counter) counter.value = String((Number(counter.value) || 0) + pasted);
  });

  // Drafts are put back by another script, and the browser restores inputs late: look again.
  const lookAgain = () => {
    syncAll();
    reasonsSyncAll();
  };
  addEventListener("DOMContentLoaded", lookAgain);
  addEventListener("pageshow", lookAgain);
  document.addEventListener("touchstone:work", lookAgain);
  if (document.readyState !== "loading") lookAgain();
})();

// What every answer may have beside its choice: a strength, which belongs to a preference only, and a comment.
"use strict";
(() => {
  const strengths = (form) => [...form.querySelectorAll("[data-strength] input")];
  const isPreference = (form) => form.querySelector('[data-choice="a"]:checked, [data-choice="b"]:checked') !== null;

  // A tie has no strength: what is not asked is neither required nor sent.
  const sync = (form) => {
    const asked = isPreference(form);
    strengths(form).forEach((input) => {
      input.required = asked;
      input.disabled = !asked;
    });
  };
  const syncAll = () => document.querySelectorAll("form").forEach(sync);

  // In the capture phase, so that whoever asks the form whether it is complete hears of it.
  document.addEventListener(
    "input",
    (event) => {
      if (!event.target.matches?.("[data-choice]")) return;
      const form = event.target.form;
      // Another choice is another question: how much better was said of the first.
      if (form) strengths(form).forEach((input) => (input.checked = false));
      if (form) sync(form);
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
    if (submit.disabled) window.touchstoneAnswers.of(form)?.tell("local", "Your answer isn’t complete yet");
    else submit.click();
  });
  document.addEventListener("paste", (event) => {
    const counter = box(event.target)?.querySelector("[data-pasted]");
    const pasted = event.clipboardData?.getData("text").length ?? 0;
    if (counter) counter.value = String((Number(counter.value) || 0) + pasted);
  });

  // Drafts are put back by another script, and the browser restores inputs late: look again.
  addEventListener("DOMContentLoaded", syncAll);
  addEventListener("pageshow", syncAll);
  document.addEventListener("touchstone:work", syncAll);
  if (document.readyState !== "loading") syncAll();
})();

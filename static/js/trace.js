// A trace as a timeline: one step is current, keys move between steps, open what is folded in it, and, where the first
// wrong step is chosen, choose it. Without this script the steps are a list with links, radios and details.
"use strict";
(() => {
  const traces = () => [...document.querySelectorAll("[data-trace]")];
  const stepsOf = (trace) => [...trace.querySelectorAll("[data-step]")];
  const currentOf = (trace) => trace.querySelector("[data-step][aria-current]");
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let active = null; // the trace that the keys are for: the first, or the one that somebody was at last

  const key = (element, name, label) => {
    if (!element) return;
    element.dataset.key = name;
    element.dataset.keyLabel = label;
  };
  const keyless = (root) => root.querySelectorAll(":scope [data-key]").forEach((one) => delete one.dataset.key);

  // Only the active trace has keys, and of its steps only the current one.
  const give = () => {
    for (const trace of traces()) {
      keyless(trace);
      if (trace !== active) continue;
      const step = currentOf(trace);
      const [back, on] = trace.querySelectorAll("[data-trace-move]");
      const alone = !document.querySelector("[data-part-move]");
      key(back, alone ? ", k" : ",", gettext("Previous step"));
      key(on, alone ? ". j" : ".", gettext("Next step"));
      key(trace.querySelector("[data-trace-go]"), "l", gettext("Go to step"));
      if (!step) continue;
      key(step.querySelector(".step-all, summary"), "v", gettext("Show what is folded in this step"));
      key(step.querySelector(".step-pick"), "x", gettext("This step is the first wrong one"));
    }
  };
  const mark = (step) => {
    const trace = step.closest("[data-trace]");
    active = trace;
    for (const other of stepsOf(trace)) other.removeAttribute("aria-current");
    step.setAttribute("aria-current", "step");
    const steps = stepsOf(trace);
    trace.querySelector("[data-trace-at]").textContent = gettext("Step {number} of {total}", { number: step.dataset.step, total: steps.length });
    give();
  };
  const go = (step) => {
    if (!step) return;
    mark(step);
    step.tabIndex = -1;
    step.focus({ preventScroll: true, focusVisible: true });
    step.scrollIntoView({ block: "start", behavior: calm.matches ? "auto" : "smooth" });
  };
  const move = (trace, by) => {
    const steps = stepsOf(trace);
    const at = currentOf(trace);
    if (!at) return go(steps[by > 0 ? 0 : steps.length - 1]);
    go(steps[Math.max(0, Math.min(steps.length - 1, steps.indexOf(at) + by))]);
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-trace-move]");
    if (button) {
      const trace = button.closest("[data-trace]");
      queueMicrotask(() => move(trace, Number(button.dataset.traceMove)));
      return;
    }
    if (event.target.matches?.("[data-trace-go]")) queueMicrotask(() => event.target.focus());
    // A pointer that clicks a step is on it; a click that a key made comes from the current one anyway.
    const step = event.target.closest?.("[data-trace] [data-step]");
    if (step && !step.hasAttribute("aria-current")) mark(step);
  });
  // A question about a step brings it into view, and leaves the focus where it is.
  const showStepOf = (part) => {
    const step = document.querySelector(`[data-trace] [data-step="${CSS.escape(part.dataset.partStep)}"]`);
    if (!step || step.hasAttribute("aria-current")) return;
    mark(step);
    const box = step.closest("[data-judge-text]");
    if (!box || box.scrollHeight <= box.clientHeight + 1) return;
    box.scrollTo({ top: box.scrollTop + step.getBoundingClientRect().top - box.getBoundingClientRect().top - 64, behavior: calm.matches ? "auto" : "smooth" });
  };
  document.addEventListener("focusin", (event) => {
    const part = event.target.closest?.("[data-part-step]");
    if (part) showStepOf(part);
    const step = event.target.closest?.("[data-trace] [data-step]");
    if (step && !step.hasAttribute("aria-current")) mark(step);
  });
  const typed = (input) => {
    const number = Number.parseInt(input.value, 10);
    const trace = input.closest("[data-trace]");
    input.value = "";
    const step = stepsOf(trace).find((one) => Number(one.dataset.step) === number);
    if (step) go(step);
  };
  // Before others: Enter would submit the answer.
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.key !== "Enter" || !event.target.matches?.("[data-trace-go]")) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      typed(event.target);
    },
    { capture: true },
  );
  document.addEventListener("change", (event) => event.target.matches?.("[data-trace-go]") && event.target.value && typed(event.target));

  // A step that was fetched takes the place of its beginning: what was chosen stays chosen, and the focus stays there.
  let chosen = "";
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (!event.target.matches?.("[data-step]")) return;
    chosen = event.target.querySelector("input:checked")?.value ?? "";
  });
  document.addEventListener("htmx:load", (event) => {
    const step = event.target;
    if (!step.matches?.("[data-trace] [data-step]")) return;
    const pick = step.querySelector(".step-pick input");
    if (pick && pick.value === chosen) pick.checked = true;
    chosen = "";
    mark(step);
    step.tabIndex = -1;
    step.focus({ preventScroll: true, focusVisible: true });
    step.querySelector("details")?.setAttribute("open", "");
  });

  const start = () => {
    active = traces()[0] ?? null;
    give();
  };
  document.addEventListener("touchstone:work", start);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();

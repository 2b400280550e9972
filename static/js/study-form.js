// The form of a study. Everything here is a help: without it all fields are there, and empty rows to fill in.
//   data-when="kind:pairwise|rubric overlap:+"   shown while all of it holds (+ filled and not 0, - empty or 0)
//   data-unless="…"                              hidden while all of it holds
// and the rows of the eligibility questions, which are added and removed.
"use strict";
(() => {
  const form = document.getElementById("study-form");
  if (!form) return;

  const valueOf = (name) => {
    const control = form.elements[name];
    return control ? String(control.value ?? "").trim() : "";
  };
  const filled = (value) => value !== "" && Number(value) !== 0;
  const holds = (rule) =>
    rule.split(" ").every((part) => {
      const [name, wanted] = part.split(":");
      const value = valueOf(name);
      if (wanted === "+") return filled(value);
      if (wanted === "-") return !filled(value);
      return wanted.split("|").includes(value);
    });
  const show = () => {
    form.querySelectorAll("[data-when]").forEach((part) => (part.hidden = !holds(part.dataset.when)));
    form.querySelectorAll("[data-unless]").forEach((part) => (part.hidden = holds(part.dataset.unless)));
  };
  form.addEventListener("input", show);
  form.addEventListener("change", show);
  document.addEventListener("htmx:afterSettle", show);
  addEventListener("pageshow", show);
  show();
  document.getElementById("problems")?.focus();

  // Eligibility questions
  const questions = form.querySelector("[data-questions]");
  const said = form.querySelector("[data-eligibility-said]");
  const fresh = (selector, marks) => {
    const holder = document.createElement("template");
    holder.innerHTML = Object.entries(marks).reduce(
      (html, [mark, number]) => html.replaceAll(mark, number),
      form.querySelector(selector).innerHTML,
    );
    return holder.content.firstElementChild;
  };
  const next = (rows, key) => Math.max(-1, ...[...rows].map((row) => Number(row.dataset[key]))) + 1;
  const room = (box, rows) => rows.length < Number(box.dataset.most);
  const optionAdd = (question) => {
    const box = question.querySelector("[data-options]");
    const rows = box.querySelectorAll("[data-option]");
    const number = next(rows, "option");
    if (!room(box, rows) || number > 11) return null;
    const row = fresh("[data-option-row]", { __Q__: question.dataset.question, __O__: number });
    box.append(row);
    return row;
  };
  const removed = (row, after, words) => {
    row.remove();
    said.textContent = words;
    after?.focus();
    form.dispatchEvent(new Event("change", { bubbles: true }));
  };
  form.addEventListener("click", (event) => {
    const button = event.target.closest?.("button");
    if (!button) return;
    const question = button.closest("[data-question]");
    if (button.hasAttribute("data-add-question")) {
      const rows = questions.querySelectorAll("[data-question]");
      if (!room(questions, rows)) return;
      const row = fresh("[data-question-row]", { __Q__: next(rows, "question") });
      questions.append(row);
      optionAdd(row);
      optionAdd(row);
      row.querySelector("input[type=text]").focus();
    } else if (button.hasAttribute("data-add-option")) {
      optionAdd(question)?.querySelector("input").focus();
    } else if (button.hasAttribute("data-remove-question")) {
      removed(question, form.querySelector("[data-add-question]"), "Question removed");
    } else if (button.hasAttribute("data-remove-option")) {
      removed(button.closest("[data-option]"), question.querySelector("[data-add-option]"), "Option removed");
    }
  });
})();

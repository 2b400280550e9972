// Small behaviours declared in markup:
//   <form data-once>                 a second submit is ignored; the button shows that it is busy
//   <form data-confirm="Really?" data-confirm-verb="Delete it">    asks first (also on a submit button)
//   <button data-copy="#code">       copies the text of an element
// and: what scrolls sideways can be reached by the keyboard.
"use strict";
(() => {
  const busy = (form, on) => {
    form.toggleAttribute("data-sent", on);
    form.querySelectorAll("button:not([type=button]), input[type=submit]").forEach((button) => {
      button.toggleAttribute("aria-busy", on);
      if (on) button.setAttribute("aria-busy", "true");
    });
  };
  const ask = (text, verb, agreed) => {
    const dialog = document.createElement("dialog");
    dialog.className = "dialog dialog-small";
    dialog.setAttribute("aria-label", text);
    const body = document.createElement("p");
    body.className = "dialog-body";
    body.textContent = text;
    const foot = document.createElement("div");
    foot.className = "dialog-foot";
    const button = (words, classes, action) => {
      const element = document.createElement("button");
      element.type = "button";
      element.className = `btn ${classes}`;
      element.textContent = words;
      element.addEventListener("click", () => {
        dialog.close();
        action?.();
      });
      return element;
    };
    foot.append(button(gettext("Cancel"), ""), button(verb, "btn-primary", agreed));
    dialog.append(body, foot);
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  };

  // In the capture phase, so that a refused submit reaches nobody else (htmx, annotate.js).
  document.addEventListener(
    "submit",
    (event) => {
      const form = event.target;
      const question = event.submitter?.dataset.confirm ?? form.dataset.confirm;
      if (question && !form.hasAttribute("data-confirmed")) {
        event.preventDefault();
        event.stopPropagation();
        const submitter = event.submitter;
        const verb = submitter?.dataset.confirmVerb ?? form.dataset.confirmVerb;
        // The first text of the button: what follows in it names the row, for those who do not see where it stands.
        ask(question, verb ?? (submitter?.firstChild?.textContent.trim() || gettext("Continue")), () => {
          form.setAttribute("data-confirmed", "");
          form.requestSubmit(submitter);
          form.removeAttribute("data-confirmed");
        });
        return;
      }
      // A file leaves the page as it is.
      if (!form.hasAttribute("data-once") || event.submitter?.hasAttribute("data-download")) return;
      if (form.hasAttribute("data-sent")) {
        event.preventDefault();
        event.stopPropagation();
        return;
      }
      busy(form, true);
    },
    true,
  );
  // The back button may bring the page back as it was left; a failed htmx request leaves it standing.
  const release = (scope) => scope.querySelectorAll("form[data-sent]").forEach((form) => busy(form, false));
  window.addEventListener("pageshow", (event) => event.persisted && release(document));
  document.addEventListener("htmx:afterRequest", () => release(document));
  document.addEventListener("touchstone:held", () => release(document)); // nothing was sent yet

  // While a page asks something it isn't redrawn: the form that the answer sends would be gone.
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.detail.elt.getAttribute("hx-trigger")?.startsWith("every") && document.querySelector("dialog[open]")) event.preventDefault();
  });

  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-copy]");
    if (!button) return;
    const source = document.querySelector(button.dataset.copy);
    const before = button.textContent;
    try {
      await navigator.clipboard.writeText(source.textContent.trim());
      button.textContent = gettext("Copied");
    } catch {
      getSelection().selectAllChildren(source);
      button.textContent = gettext("Selected: copy it now");
    }
    setTimeout(() => (button.textContent = before), 2500);
  });

  const reachable = () =>
    document.querySelectorAll(".table-wrap, .prose-scroll, .prose pre, .code").forEach((box) => {
      if (box.scrollWidth > box.clientWidth) {
        box.tabIndex = 0;
        if (!box.hasAttribute("role")) box.setAttribute("role", "region");
        if (!box.hasAttribute("aria-label")) box.setAttribute("aria-label", gettext("Scrolls sideways"));
      } else if (box.tabIndex === 0) box.removeAttribute("tabindex");
    });
  // Widths change without the window's: when a font arrives, when a disclosure opens.
  const watched = new ResizeObserver(reachable);
  const watch = () => {
    document.querySelectorAll(".table-wrap, .table-wrap > table").forEach((box) => watched.observe(box));
    reachable();
  };
  addEventListener("DOMContentLoaded", watch);
  addEventListener("resize", reachable);
  document.addEventListener("htmx:afterSettle", watch);
})();

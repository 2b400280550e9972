// Runs before the first paint, so that a stored theme never flashes. Same key and attribute as Django's admin.
"use strict";
(() => {
  const root = document.documentElement;
  // The words of all scripts, in the language of the page, by their English; ngettext's depend on a number, {n} in them.
  // Other languages stand in the page (script#words); forms of plurals are in CLDR's order, "zero" to "other".
  let catalog;
  const known = (text) => (catalog ??= JSON.parse(document.getElementById("words")?.textContent ?? "{}"))[text];
  const filled = (text, values) => text.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
  window.gettext = (text, values = {}) => filled(known(text) ?? text, values);
  window.ngettext = (one, many, n, values = {}) => {
    const forms = known(one) ?? [one, many];
    const names = forms.length === 6 ? ["zero", "one", "two", "few", "many", "other"] : ["one"];
    const place = names.indexOf(new Intl.PluralRules(root.lang).select(n));
    return filled(forms[place] ?? forms.at(-1), { n, ...values });
  };

  const words = { auto: () => gettext("Color theme: as the system"), light: () => gettext("Color theme: light"), dark: () => gettext("Color theme: dark") };
  const stored = () => {
    try {
      const theme = localStorage.getItem("theme");
      return theme in words ? theme : "auto";
    } catch {
      return "auto"; // storage may be forbidden: the system's theme is then the theme
    }
  };
  const show = (theme) => {
    root.dataset.theme = theme;
    document.querySelectorAll("[data-theme-toggle]").forEach((button) => {
      button.title = words[theme]();
      button.setAttribute("aria-label", button.title);
    });
  };
  root.classList.add("js");
  root.dataset.theme = stored();
  document.addEventListener("DOMContentLoaded", () => show(stored()));
  document.addEventListener("touchstone:work", () => show(stored())); // a new part brings its own button
  window.addEventListener("storage", (event) => event.key === "theme" && show(stored()));
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("[data-theme-toggle]")) return;
    const themes = Object.keys(words);
    const next = themes[(themes.indexOf(root.dataset.theme) + 1) % themes.length];
    try {
      localStorage.setItem("theme", next);
    } catch {
      // the choice then lasts for this page only
    }
    show(next);
  });
})();

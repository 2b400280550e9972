// Runs before the first paint, so that a stored theme never flashes. Same key and attribute as Django's admin.
"use strict";
(() => {
  const root = document.documentElement;
  const words = { auto: "as the system", light: "light", dark: "dark" };
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
      button.setAttribute("aria-label", `Color theme: ${words[theme]}`);
      button.title = `Color theme: ${words[theme]}`;
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

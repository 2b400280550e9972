// <input type="search" data-filter="#list">: shows, of the elements with data-search in that list, those whose words hold
// everything that was typed. A [data-filter-group] without any left is hidden; a <details> with some is opened.
// [data-filter-said="#list"] says how many there are. What is chosen stays in sight.
// <div data-scroll-to-checked>: a list that scrolls by itself is scrolled to what is chosen in it.
"use strict";
(() => {
  const said = (input, n, typed) => {
    const place = document.querySelector(`[data-filter-said="${input.dataset.filter}"]`);
    if (place) place.textContent = typed ? (n === 1 ? "1 found" : `${n || "None"} found`) : "";
  };
  const filter = (input) => {
    const list = document.querySelector(input.dataset.filter);
    if (!list) return;
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    list.querySelectorAll("[data-search]").forEach((row) => {
      const fits = words.every((word) => row.dataset.search.includes(word));
      n += fits;
      row.hidden = !fits && !row.querySelector(":checked");
    });
    list.querySelectorAll("[data-filter-group]").forEach((group) => {
      const some = group.querySelector("[data-search]:not([hidden])");
      group.hidden = !some;
      if (some && words.length && group.tagName === "DETAILS") group.open = true;
    });
    said(input, n, words.length);
  };
  document.addEventListener("input", (event) => {
    if (event.target.matches?.("input[data-filter]")) filter(event.target);
  });
  // Enter would send the form around the list.
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches?.("input[data-filter]")) event.preventDefault();
  });
  // A list that scrolls by itself begins with what is chosen in sight.
  addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("[data-scroll-to-checked]").forEach((list) => {
      const row = list.querySelector("[data-search]:has(:checked)");
      if (row && row.offsetTop + row.offsetHeight > list.clientHeight) list.scrollTop = row.offsetTop - list.clientHeight / 3;
    });
  });
  const all = () => document.querySelectorAll("input[data-filter]").forEach((input) => input.value && filter(input));
  addEventListener("pageshow", all);
  document.addEventListener("htmx:afterSettle", all);
})();

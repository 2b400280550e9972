// <table data-sortable>: headers with data-sort ("text" or "number") become buttons that sort the first body.
// A cell sorts by data-sort-value, else by its text; cells without a value stay last in both directions;
// rows with data-sort-fixed keep their place at the end. A table with an id that htmx swaps in anew stays sorted.
"use strict";
(() => {
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const valueOf = (row, column, kind) => {
    const cell = row.cells[column];
    const text = (cell?.dataset.sortValue ?? cell?.textContent ?? "").trim();
    if (kind !== "number") return text || null;
    const number = Number.parseFloat(text.replaceAll(",", ""));
    return Number.isFinite(number) ? number : null;
  };
  const chosen = new Map();
  const sort = (table, header, direction) => {
    const column = header.cellIndex;
    const kind = header.dataset.sort;
    const sign = direction === "ascending" ? 1 : -1;
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const fixed = rows.filter((row) => "sortFixed" in row.dataset);
    const keyed = rows
      .filter((row) => !("sortFixed" in row.dataset))
      .map((row) => ({ row, value: valueOf(row, column, kind) }));
    keyed.sort((a, b) => {
      if (a.value === null || b.value === null) return (a.value === null) - (b.value === null);
      return sign * (kind === "number" ? a.value - b.value : collator.compare(a.value, b.value));
    });
    body.append(...keyed.map((entry) => entry.row), ...fixed);
    table.querySelectorAll("thead th[aria-sort]").forEach((other) => other.setAttribute("aria-sort", "none"));
    header.setAttribute("aria-sort", direction);
    if (table.id) chosen.set(table.id, { column, direction });
  };
  const prepare = (table) => {
    if (table.dataset.sortable === "ready") return;
    table.dataset.sortable = "ready";
    table.querySelectorAll("thead th[data-sort]").forEach((header) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...header.childNodes);
      header.append(button);
      if (!header.hasAttribute("aria-sort")) header.setAttribute("aria-sort", "none");
      // Figures are most often wanted largest first, names from A.
      const first = header.dataset.sort === "number" ? "descending" : "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      button.addEventListener("click", () => sort(table, header, header.getAttribute("aria-sort") === first ? other : first));
    });
    const before = chosen.get(table.id);
    const header = before && table.tHead.rows[0].cells[before.column];
    if (header?.dataset.sort) sort(table, header, before.direction);
  };
  const prepareAll = () => document.querySelectorAll("table[data-sortable]").forEach(prepare);
  addEventListener("DOMContentLoaded", prepareAll);
  document.addEventListener("htmx:afterSettle", prepareAll);
})();

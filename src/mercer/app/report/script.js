"use strict";
(() => {
  const root = document.documentElement;
  const toggle = document.getElementById("colours");
  const dark = () => root.dataset.colours === "dark" ||
    (root.dataset.colours !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  const tell = () => { toggle.textContent = dark() ? "Light" : "Dark"; };
  toggle.hidden = false;
  toggle.addEventListener("click", () => { root.dataset.colours = dark() ? "light" : "dark"; tell(); });
  tell();

  // "−1 234.5" is written for people: a true minus and thin spaces; cells without a number go last.
  const value = (cell) => {
    const found = cell.textContent.replace(/\u2212/g, "-").replace(/[\u2009,]/g, "").match(/-?\d+(\.\d+)?(e-?\d+)?/i);
    return found ? Number(found[0]) : null;
  };
  const compare = (column, numeric, sign) => (one, other) => {
    const a = one.cells[column], b = other.cells[column];
    if (!numeric) return sign * a.textContent.localeCompare(b.textContent, undefined, { numeric: true });
    const x = value(a), y = value(b);
    if (x === null || y === null) return (x === null) - (y === null);
    return sign * (x - y);
  };
  for (const table of document.querySelectorAll("table")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if (!head.textContent.trim()) return;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        heads.forEach((one) => one.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
        const rows = [...table.tBodies[0].rows];
        rows.sort(compare(column, head.classList.contains("number"), sign));
        table.tBodies[0].append(...rows);
      });
    });
  }
})();

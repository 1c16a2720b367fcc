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
  // What if: each column has a slider or a list; the effects of the chosen values are added to the mean prediction.
  const show = (x) => Number(x.toPrecision(3)).toString().replace("-", "\u2212");
  // Of 100 rows: tenths of a row are enough.
  const count = (x) => Number(x.toFixed(1)).toString();
  const label = (text, input) => {
    const line = document.createElement("label");
    const name = document.createElement("span");
    const chosen = document.createElement("output");
    name.textContent = text;
    line.append(name, input, chosen);
    return [line, chosen];
  };
  const whatIf = document.getElementById("what-if");
  if (whatIf) {
    const data = JSON.parse(whatIf.dataset.effects);
    const controls = data.columns.map((column) => {
      const input = document.createElement("input");
      Object.assign(input, { type: "range", min: 0, max: column.values.length - 1, step: 1 });
      input.value = Math.floor((column.values.length - 1) / 2);
      const [line, chosen] = label(column.name, input);
      whatIf.querySelector(".controls").append(line);
      return { column, input, chosen };
    });
    const update = () => {
      let sum = data.middle;
      for (const { column, input, chosen } of controls) {
        const value = column.values[input.value];
        chosen.textContent = typeof value === "number" ? show(value) : value;
        input.setAttribute("aria-valuetext", chosen.textContent);
        sum += column.effect[input.value];
      }
      if (data.probability) sum = Math.min(1, Math.max(0, sum));
      const ends = data.half === null ? "" : ` (nine in ten rows lie between ${show(Math.max(sum - data.half, data.least ?? -Infinity))} and ${show(sum + data.half)})`;
      const text = data.probability ? `${(100 * sum).toFixed(0)}\u00a0%` : show(sum);
      whatIf.querySelector(".result").textContent = `${data.label}: ${text}${ends}`;
    };
    whatIf.addEventListener("input", update);
    update();
  }

  // Threshold: shares of unseen rows of both classes with a probability of at least the threshold, and what errors cost.
  const threshold = document.getElementById("threshold");
  if (threshold) {
    const data = JSON.parse(threshold.dataset.rows);
    const make = (text, type, value, limits) => {
      const input = document.createElement("input");
      Object.assign(input, { type, ...limits });
      input.value = value;
      const [line, chosen] = label(text, input);
      threshold.querySelector(".controls").append(line);
      return { input, chosen };
    };
    const at = make("threshold", "range", data.threshold, { min: 0.01, max: 0.99, step: 0.01 });
    const odds = (1 - data.threshold) / data.threshold;
    const alarm = make("cost of a false alarm", "number", 1, { min: 0, step: "any" });
    const miss = make("cost of a miss", "number", Number(odds.toPrecision(2)), { min: 0, step: "any" });
    const above = (values, t) => values.filter((value) => value >= t - 1e-9).length / Math.max(1, values.length);
    const judge = (t) => {
      const hits = 100 * data.share * above(data.here, t), alarms = 100 * (1 - data.share) * above(data.other, t);
      const misses = 100 * data.share - hits;
      return { hits, alarms, misses, cost: (alarms * alarm.input.value + misses * miss.input.value) / 100 };
    };
    const update = () => {
      const t = Number(at.input.value), here = judge(t);
      let best = { t, cost: here.cost };
      for (let k = 1; k < 100; k += 1) {
        const cost = judge(k / 100).cost;
        if (cost < best.cost - 1e-12) best = { t: k / 100, cost };
      }
      at.chosen.textContent = t.toFixed(2);
      threshold.querySelector(".result").textContent =
        `Of 100 rows, ${count(here.hits)} are rightly called ${data.positive}, ${count(here.alarms)} are false alarms and ` +
        `${count(here.misses)} are missed. Cost per row: ${show(here.cost)}` +
        (best.t === t ? ", the least of all thresholds." : `. It would be least, ${show(best.cost)}, with a threshold of ${best.t.toFixed(2)}.`);
    };
    threshold.addEventListener("input", update);
    threshold.addEventListener("submit", (event) => event.preventDefault());
    update();
  }
  const tools = document.getElementById("try");
  if (tools) tools.hidden = false;

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

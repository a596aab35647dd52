"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const main = byId("main");
  const tip = byId("tip");
  const live = byId("live");
  const charts = JSON.parse(byId("data").textContent);
  const SVG = "http://www.w3.org/2000/svg";

  /* Theme: automatic, light, dark. */
  const themes = ["automatic", "light", "dark"];
  const root = document.documentElement;
  const themeButton = byId("theme");
  const stored = () => { try { return localStorage.getItem("goodqueue-theme"); } catch { return null; } };
  let theme = themes.includes(stored()) ? stored() : "automatic";
  const showTheme = () => {
    if (theme === "automatic") root.removeAttribute("data-theme");
    else root.dataset.theme = theme;
    themeButton.querySelector("span").textContent = theme;
  };
  themeButton.hidden = false;
  themeButton.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try { localStorage.setItem("goodqueue-theme", theme); } catch { /* a page from a file may not store */ }
    showTheme();
  });
  showTheme();

  /* Queues shown or hidden, on every chart at once. */
  const hidden = new Set();
  for (const button of document.querySelectorAll("[data-key]")) {
    button.addEventListener("click", () => {
      const queue = button.dataset.key;
      if (!hidden.delete(queue)) hidden.add(queue);
      button.setAttribute("aria-pressed", String(!hidden.has(queue)));
      main.dataset.hide = [...hidden].join(" ");
      leave();
    });
  }

  /* A word is explained beside itself: by pointing at it, by a press, by the keyboard. Without this program it
     leads to its place in the list at the end. */
  const note = byId("note");
  let held = null;
  let wait = 0;
  const explain = (word) => {
    const term = byId(word.hash.slice(1));
    if (!term) return false;
    note.replaceChildren();
    note.appendChild(document.createElement("b")).textContent = term.textContent;
    note.appendChild(document.createElement("span")).textContent = term.nextElementSibling.textContent;
    note.hidden = false;
    const box = word.getBoundingClientRect();
    const room = document.documentElement.clientWidth - note.offsetWidth - 12;
    const below = box.bottom + 8 + note.offsetHeight <= innerHeight || box.top < note.offsetHeight + 16;
    note.style.left = `${Math.max(12, Math.min(box.left, room)) + scrollX}px`;
    note.style.top = `${(below ? box.bottom + 8 : box.top - note.offsetHeight - 8) + scrollY}px`;
    word.setAttribute("aria-describedby", "note");
    return true;
  };
  const unexplain = () => {
    clearTimeout(wait);
    held?.removeAttribute("aria-describedby");
    held = null;
    note.hidden = true;
  };
  for (const word of document.querySelectorAll("a.word")) {
    word.addEventListener("click", (event) => {
      const again = held === word;
      unexplain();
      if (again) { event.preventDefault(); return; }
      if (explain(word)) { event.preventDefault(); held = word; live.textContent = note.textContent; }
    });
    word.addEventListener("pointerenter", (event) => {
      if (event.pointerType !== "mouse" || held) return;
      clearTimeout(wait);
      wait = setTimeout(() => explain(word), 250);
    });
    word.addEventListener("pointerleave", () => { if (!held) { unexplain(); } });
    word.addEventListener("blur", unexplain);
  }
  document.addEventListener("pointerdown", (event) => {
    if (held && !note.contains(event.target) && !event.target.closest?.("a.word")) unexplain();
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") unexplain(); });

  /* One of several choices: which delay, which scale. */
  for (const button of document.querySelectorAll("[data-set]")) {
    button.addEventListener("click", () => {
      main.dataset[button.dataset.set] = button.dataset.to;
      for (const other of document.querySelectorAll(`[data-set="${button.dataset.set}"]`)) {
        other.setAttribute("aria-pressed", String(other.dataset.to === button.dataset.to));
      }
      leave();
    });
  }

  /* Tables sorted by a column; the second press turns the order round. */
  const value = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.v === undefined ? cell.textContent.trim() : Number(cell.dataset.v);
  };
  const missing = (v) => v === "" || v === "–" || Number.isNaN(v);
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  for (const button of document.querySelectorAll("th button")) {
    const head = button.closest("th");
    button.addEventListener("click", () => {
      const table = head.closest("table");
      const column = Number(head.dataset.column);
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.querySelectorAll("th[aria-sort]")) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...table.tBodies[0].rows];
      rows.sort((r, s) => {
        const [a, b] = [value(r, column), value(s, column)];
        if (missing(a) || missing(b)) return missing(a) - missing(b);
        return down ? compare(b, a) : compare(a, b);
      });
      table.tBodies[0].append(...rows);
      live.textContent = `Sorted by ${head.dataset.name}, ${down ? "descending" : "ascending"}.`;
    });
  }

  /* Crosshair. A chart has values at n places, evenly spaced along its axis. */
  const plots = new Map();
  const along = (chart, v) => (chart.log ? Math.log(v) : v);
  const number = (v) => {
    if (v === 0) return "0";
    const size = Math.abs(v);
    const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
    return v.toFixed(digits).replace("-", "−");
  };
  const placeValue = (chart, i) => {
    if (chart.n < 2) return chart.places[0];
    const [a, b] = chart.places.map((p) => along(chart, p));
    const v = a + ((b - a) * i) / (chart.n - 1);
    return chart.log ? Math.exp(v) : v;
  };
  const nearest = (chart, v) => {
    if (chart.n < 2) return 0;
    const [a, b] = chart.places.map((p) => along(chart, p));
    const share = (along(chart, v) - a) / (b - a);
    return Math.max(0, Math.min(chart.n - 1, Math.round(share * (chart.n - 1))));
  };
  const pixel = (chart, v) => {
    const [a, b] = chart.domain.map((p) => along(chart, p));
    return chart.area[0] + ((along(chart, v) - a) / (b - a)) * chart.area[2];
  };
  const atPixel = (chart, x) => {
    const [a, b] = chart.domain.map((p) => along(chart, p));
    const share = Math.max(0, Math.min(1, (x - chart.area[0]) / chart.area[2]));
    const v = a + (b - a) * share;
    return chart.log ? Math.exp(v) : v;
  };

  const cross = (plot, v) => {
    const { chart, svg } = plot;
    plot.line ??= svg.appendChild(document.createElementNS(SVG, "line"));
    const x = pixel(chart, v);
    plot.line.setAttribute("class", "cross");
    plot.line.setAttribute("x1", x);
    plot.line.setAttribute("x2", x);
    plot.line.setAttribute("y1", chart.area[1]);
    plot.line.setAttribute("y2", chart.area[1] + chart.area[3]);
  };
  const leave = () => {
    for (const plot of plots.values()) { plot.line?.remove(); plot.line = null; }
    tip.hidden = true;
  };
  const rows = (chart, i) =>
    chart.series
      .filter((s) => !hidden.has(String(s.q)))
      .map((s) => {
        const v = s.v[i];
        const upper = s.u?.[i];
        const words = v === null || v === undefined ? "no value" : `${number(v)} ${s.unit}`;
        return { s, words, extra: upper === null || upper === undefined ? "" : `p95 ${number(upper)}` };
      });
  const headOf = (chart, v) => `${number(v)} ${chart.unit}`;

  const show = (plot, i, at, announce) => {
    const { chart } = plot;
    plot.index = i;
    const v = placeValue(chart, i);
    for (const other of plots.values()) {
      if (other === plot || (chart.unit === "s" && other.chart.unit === "s")) cross(other, v);
      else { other.line?.remove(); other.line = null; }
    }
    const list = rows(chart, i);
    tip.replaceChildren();
    tip.appendChild(document.createElement("b")).textContent = headOf(chart, v);
    const table = tip.appendChild(document.createElement("table"));
    for (const { s, words, extra } of list) {
      const row = table.insertRow();
      const name = row.insertCell();
      name.textContent = s.name;
      name.style.setProperty("--q", `var(--q${(s.c ?? s.q) % 8})`);
      row.insertCell().textContent = words;
      row.insertCell().textContent = extra;
    }
    tip.hidden = false;
    const box = plot.svg.getBoundingClientRect();
    const x = at ? at.x : box.left + (pixel(chart, v) / plot.width) * box.width;
    const y = at ? at.y : box.top + 30;
    const wide = tip.offsetWidth;
    const high = tip.offsetHeight;
    tip.style.left = `${Math.max(6, x + 16 + wide > innerWidth ? x - wide - 16 : x + 16)}px`;
    tip.style.top = `${Math.max(6, Math.min(y + 14, innerHeight - high - 6))}px`;
    if (announce) {
      live.textContent = `${headOf(chart, v)}: ${list.map((r) => `${r.s.name} ${r.words} ${r.extra}`.trim()).join("; ")}`;
    }
  };

  const keys = { ArrowRight: 1, ArrowLeft: -1, PageUp: 10, PageDown: -10 };
  for (const element of document.querySelectorAll("[data-chart]")) {
    const chart = charts[element.dataset.chart];
    const svg = element.querySelector("svg");
    if (!chart || !svg) continue;
    chart.n = Math.max(0, ...chart.series.map((s) => s.v.length));
    if (chart.n === 0) continue;
    const plot = { chart, svg, width: svg.viewBox.baseVal.width, index: null, line: null };
    plots.set(element, plot);
    const point = (event) => {
      const box = svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * plot.width;
      const [left, , width] = chart.area;
      if (x < left - 4 || x > left + width + 4) { leave(); return; }
      show(plot, nearest(chart, atPixel(chart, x)), { x: event.clientX, y: event.clientY }, false);
    };
    element.addEventListener("pointermove", point);
    element.addEventListener("pointerdown", point);
    element.addEventListener("pointerleave", leave);
    element.addEventListener("blur", leave);
    element.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { leave(); return; }
      const last = chart.n - 1;
      const from = plot.index ?? Math.floor(last / 2);
      let to = null;
      if (event.key in keys) to = plot.index === null ? from : from + keys[event.key] * (event.shiftKey ? 10 : 1);
      if (event.key === "Home") to = 0;
      if (event.key === "End") to = last;
      if (to === null) return;
      event.preventDefault();
      show(plot, Math.max(0, Math.min(last, to)), null, true);
    });
  }

  /* On paper everything is open. */
  addEventListener("beforeprint", () => {
    leave();
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
  addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
})();

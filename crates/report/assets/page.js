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

  /* Shows or hides queues in every chart at once. */
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

  /* A term shows its explanation beside itself on hover, on a press, or by keyboard. Without this script it
     links to its entry in the list at the end. */
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

  /* Tables sorted by a column; a second press reverses the order. */
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
    const [a, b] = (chart.view ?? chart.domain).map((p) => along(chart, p));
    return chart.area[0] + ((along(chart, v) - a) / (b - a)) * chart.area[2];
  };
  const atPixel = (chart, x) => {
    const [a, b] = (chart.view ?? chart.domain).map((p) => along(chart, p));
    const share = Math.max(0, Math.min(1, (x - chart.area[0]) / chart.area[2]));
    const v = a + (b - a) * share;
    return chart.log ? Math.exp(v) : v;
  };

  const cross = (plot, v) => {
    const { chart, svg } = plot;
    const x = pixel(chart, v);
    if (x < chart.area[0] - 1 || x > chart.area[0] + chart.area[2] + 1) { plot.line?.remove(); plot.line = null; return; }
    plot.line ??= svg.appendChild(document.createElementNS(SVG, "line"));
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
    [...chart.series, ...(chart.pick ?? [])]
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

  /* Zoom in time, of all charts with a time axis at once. The drawing is stretched and clipped at the frame; ticks are
     redrawn. */
  const timed = () => [...plots.values()].filter((p) => p.chart.unit === "s" && !p.chart.log);
  let view = null;
  let clips = 0;
  const element = (name, attributes, parent) => {
    const e = parent.appendChild(document.createElementNS(SVG, name));
    for (const [key, v] of Object.entries(attributes)) e.setAttribute(key, v);
    return e;
  };
  const steps = (from, to, most) => {
    const raw = (to - from) / most;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
    const out = [];
    for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i += 1) out.push(i * step);
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    return out.map((v) => [v, v.toFixed(digits).replace("-", "−")]);
  };
  const isUpright = (path) => /^M\S+ ?\S+l0 /.test(path.getAttribute("d"));
  const stretch = (plot) => {
    const { chart, svg } = plot;
    const [left, top, width, height] = chart.area;
    plot.still ??= [
      ...svg.querySelectorAll("text.tick[text-anchor=middle], text.onarea, text.label[text-anchor=middle]"),
      ...[...svg.querySelectorAll("path.grid, path.axis")].filter(isUpright),
    ];
    plot.ticks?.remove();
    plot.ticks = null;
    const shapes = svg.querySelectorAll("path.line, path.band, path.area, path.sliver, path.block, path.faint, path.clash");
    for (const e of plot.still) e.toggleAttribute("hidden", view !== null);
    chart.view = view === null ? null : view;
    if (view === null) {
      for (const e of shapes) {
        e.removeAttribute("transform");
        if (e.parentNode.dataset.clip !== undefined) e.parentNode.removeAttribute("clip-path");
      }
      return;
    }
    if (!plot.clip) {
      plot.clip = `clip${clips++}`;
      element("rect", { x: left, y: top - 3, width, height: height + 6 }, element("clipPath", { id: plot.clip }, svg));
    }
    const [a, b] = chart.domain;
    const k = (b - a) / (view[1] - view[0]);
    const shift = left - k * (left + ((view[0] - a) / (b - a)) * width);
    for (const e of shapes) {
      e.setAttribute("transform", `translate(${shift} 0) scale(${k} 1)`);
      let g = e.parentNode;
      if (g.dataset.clip === undefined) {
        g = document.createElementNS(SVG, "g");
        g.dataset.clip = "";
        e.replaceWith(g);
        g.append(e);
      }
      g.setAttribute("clip-path", `url(#${plot.clip})`);
    }
    plot.ticks = element("g", { class: "ticks" }, svg);
    const low = top + height;
    for (const [v, words] of steps(view[0], view[1], Math.max(2, Math.min(12, Math.floor(width / 62))))) {
      const x = pixel(chart, v);
      element("path", { class: "axis", d: `M${x} ${low}v4` }, plot.ticks);
      element("text", { class: "tick", x, y: low + 17, "text-anchor": "middle" }, plot.ticks).textContent = words;
    }
  };
  const zoomTo = (from, to) => {
    const all = timed();
    if (all.length === 0) return;
    const [first, last] = all[0].chart.domain;
    const length = Math.max(to - from, (last - first) / 500);
    const middle = (from + to) / 2;
    const start = Math.max(first, Math.min(middle - length / 2, last - length));
    view = length >= (last - first) * 0.999 ? null : [start, start + length];
    leave();
    for (const plot of all) stretch(plot);
    for (const button of document.querySelectorAll("[data-time=out], [data-time=all]")) button.disabled = view === null;
    live.textContent = view === null ? "The whole time is shown." : `${number(view[0])} to ${number(view[1])} s are shown.`;
  };
  const zoomBy = (factor, around) => {
    const plot = timed()[0];
    if (!plot) return;
    const [from, to] = view ?? plot.chart.domain;
    const at = around ?? (from + to) / 2;
    zoomTo(at - (at - from) * factor, at + (to - at) * factor);
  };
  for (const button of document.querySelectorAll("[data-time]")) {
    button.addEventListener("click", () => {
      if (button.dataset.time === "all") zoomTo(-Infinity, Infinity);
      else if (button.dataset.time === "in") zoomBy(0.5);
      else zoomBy(2);
    });
  }
  /* A drag with the mouse selects the range to show; two fingers stretch it. */
  const zoomable = (plot, place) => {
    const fingers = new Map();
    let drag = null;
    let grip = null;
    const timeAt = (x) => {
      const box = plot.svg.getBoundingClientRect();
      return atPixel(plot.chart, ((x - box.left) / box.width) * plot.width);
    };
    const drop = () => { drag?.box?.remove(); drag = null; };
    place.addEventListener("pointerdown", (event) => {
      fingers.set(event.pointerId, event.clientX);
      if (event.pointerType === "mouse" && event.button === 0) drag = { x: event.clientX, from: timeAt(event.clientX), box: null };
      if (fingers.size === 2) grip = [...fingers.values()].map(timeAt);
    });
    place.addEventListener("pointermove", (event) => {
      if (fingers.has(event.pointerId)) fingers.set(event.pointerId, event.clientX);
      if (fingers.size === 2 && grip) {
        const box = plot.svg.getBoundingClientRect();
        const [l, , w] = plot.chart.area;
        const shares = [...fingers.values()].map((x) => (((x - box.left) / box.width) * plot.width - l) / w);
        if (Math.abs(shares[1] - shares[0]) > 0.02) {
          const length = (grip[1] - grip[0]) / (shares[1] - shares[0]);
          if (length > 0) zoomTo(grip[0] - shares[0] * length, grip[0] + (1 - shares[0]) * length);
        }
        return;
      }
      if (!drag || Math.abs(event.clientX - drag.x) < 6) return;
      if (!drag.box) {
        drag.box = element("rect", { class: "drag", y: plot.chart.area[1], height: plot.chart.area[3] }, plot.svg);
        place.setPointerCapture(event.pointerId);
      }
      const [a, b] = [drag.from, timeAt(event.clientX)].map((v) => pixel(plot.chart, v));
      drag.box.setAttribute("x", Math.min(a, b));
      drag.box.setAttribute("width", Math.abs(b - a));
    });
    const end = (event) => {
      fingers.delete(event.pointerId);
      if (fingers.size < 2) grip = null;
      if (drag?.box && event.type === "pointerup") {
        const [a, b] = [drag.from, timeAt(event.clientX)].sort((x, y) => x - y);
        drop();
        if (b > a) zoomTo(a, b);
      }
      drop();
    };
    for (const type of ["pointerup", "pointercancel"]) place.addEventListener(type, end);
    place.addEventListener("dblclick", () => zoomTo(-Infinity, Infinity));
  };

  const keys = { ArrowRight: 1, ArrowLeft: -1, PageUp: 10, PageDown: -10 };
  for (const place of document.querySelectorAll("[data-chart]")) {
    const chart = charts[place.dataset.chart];
    const svg = place.querySelector("svg");
    if (!chart || !svg) continue;
    chart.n = Math.max(0, ...chart.series.map((s) => s.v.length));
    if (chart.n === 0) continue;
    const plot = { chart, svg, width: svg.viewBox.baseVal.width, index: null, line: null };
    plots.set(place, plot);
    if (chart.unit === "s" && !chart.log) zoomable(plot, place);
    const point = (event) => {
      const box = svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * plot.width;
      const [left, , width] = chart.area;
      if (x < left - 4 || x > left + width + 4) { leave(); return; }
      show(plot, nearest(chart, atPixel(chart, x)), { x: event.clientX, y: event.clientY }, false);
    };
    place.addEventListener("pointermove", point);
    place.addEventListener("pointerdown", point);
    place.addEventListener("pointerleave", leave);
    place.addEventListener("blur", leave);
    place.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { leave(); return; }
      if (chart.unit === "s" && "+=-0".includes(event.key)) {
        const at = plot.index === null ? undefined : placeValue(chart, plot.index);
        if (event.key === "0") zoomTo(-Infinity, Infinity);
        else zoomBy(event.key === "-" ? 2 : 0.5, at);
        return;
      }
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

  /* One of many flows, drawn into the chart of every queue. */
  for (const control of document.querySelectorAll("[data-picks]")) {
    const picks = charts[control.dataset.picks];
    control.hidden = false;
    control.querySelector("select").addEventListener("change", (event) => {
      const flow = event.target.value;
      picks.charts.forEach((id, q) => {
        const plot = [...plots.values()].find((p) => p.chart === charts[id]);
        if (!plot) return;
        plot.pick?.remove();
        plot.pick = null;
        plot.chart.pick = [];
        const values = flow === "" ? null : picks.lines[q][flow];
        if (!values) return;
        const { chart } = plot;
        const [a, b] = chart.domain;
        let open = false;
        const d = values.map((v, i) => {
          if (v === null) { open = false; return ""; }
          const x = chart.area[0] + ((placeValue(chart, i) - a) / (b - a)) * chart.area[2];
          const y = chart.area[1] + chart.area[3] * (1 - v / picks.top);
          const step = `${open ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
          open = true;
          return step;
        });
        plot.pick = element("path", { class: "line picked", d: d.join("") }, plot.svg);
        chart.pick = [{ q, c: q, name: picks.names[flow], unit: "Mbit/s", v: values }];
        if (view !== null) stretch(plot);
      });
      live.textContent = flow === "" ? "No single flow is shown." : `${picks.names[flow]} is shown.`;
    });
  }

  /* A press copies the command; if the browser refuses, the text is at least selected. */
  for (const button of document.querySelectorAll(".copy button")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const text = button.parentNode.querySelector("pre");
      getSelection().selectAllChildren(text);
      try {
        await navigator.clipboard.writeText(text.textContent);
        live.textContent = button.textContent = "Copied";
      } catch {
        live.textContent = button.textContent = "Marked";
      }
    });
  }

  /* Printing opens all sections. */
  addEventListener("beforeprint", () => {
    leave();
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
  addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
})();

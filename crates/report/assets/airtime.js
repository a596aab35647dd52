"use strict";
(() => {
  const holder = document.getElementById("air-data");
  const box = document.querySelector(".airview");
  if (!holder || !box) return;
  const SVG = "http://www.w3.org/2000/svg";
  const TENTHS = 10000; // tenths of a microsecond in a millisecond
  const NAME = 17, CLASH = 14, AXIS = 20, MANY = 8;
  const live = document.getElementById("live");
  const slow = matchMedia("(prefers-reduced-motion: reduce)");
  const play = box.querySelector(".play");
  const range = box.querySelector("input");
  const clock = box.querySelector(".clock");

  const radios = JSON.parse(holder.textContent).map((radio) => {
    const e = radio.events;
    let at = 0;
    radio.list = e.start.map((gap, i) => ({
      from: (at += gap), to: at + e.length[i], station: e.station[i], kind: e.kind[i], up: e.up[i] === 1,
      mpdus: e.mpdus[i], retried: e.retried[i], bytes: e.bytes[i],
    }));
    radio.longest = radio.list.reduce((most, event) => Math.max(most, event.to - event.from), 0);
    return radio;
  });
  const end = Math.max(1, ...radios.map((r) => r.length));
  let moment = 0, zoom = 60 * TENTHS, frame = null, last = null;

  const ms = (t, digits) => (t / TENTHS).toFixed(digits);
  const span = () => (zoom === 0 ? end : Math.min(zoom, end));
  const left = () => Math.max(0, Math.min(moment - span() / 2, end - span()));
  const holds = (event) => ["data", "retry", "ack", "rts"].includes(event.kind);
  /* The number of events that begin at or before a moment; the list is ordered by start. */
  const upTo = (list, t) => {
    let [low, high] = [0, list.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle].from <= t) low = middle + 1; else high = middle;
    }
    return low;
  };

  const node = (name, attributes, words) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, v] of Object.entries(attributes)) made.setAttribute(key, v);
    if (words !== undefined) made.textContent = words;
    return made;
  };
  const path = (at, boxes, name, colour) => {
    if (boxes.length === 0) return;
    const d = boxes.map(([x, y, w, h]) => `M${x.toFixed(1)} ${y}h${w.toFixed(1)}v${h}h${(-w).toFixed(1)}z`).join("");
    at.append(node("path", { class: name, d, style: colour === undefined ? "" : `--q:var(--q${colour})` }));
  };
  const step = (raw) => {
    const power = 10 ** Math.floor(Math.log10(raw));
    return [1, 2, 5, 10].find((n) => raw <= n * power + 1e-9) * power;
  };

  /* Share of the stations' airtime since the window began. */
  const parts = (radio) => {
    const held = radio.stations.map(() => 0);
    for (const event of radio.list.slice(0, upTo(radio.list, moment))) {
      if (holds(event) && event.station < held.length) held[event.station] += Math.min(event.to, moment) - event.from;
    }
    const all = held.reduce((sum, v) => sum + v, 0);
    return held.map((v) => (all > 0 ? v / all : 0));
  };

  const draw = (view) => {
    const { radio, element } = view;
    const wide = element.clientWidth;
    if (wide === 0) return;
    const lanes = radio.stations.length;
    const [LANE, BAR, GAP] = lanes > MANY ? [12, 3, 2] : [26, 4, 9];
    const pitch = NAME + LANE + BAR + GAP;
    const clashes = lanes * pitch + NAME;
    const bottom = clashes + CLASH + 4;
    const high = bottom + AXIS;
    const from = left(), to = from + span();
    const x = (t) => ((t - from) / (to - from)) * wide;
    const svg = node("svg", { viewBox: `0 0 ${wide} ${high}`, height: high, "aria-hidden": "true" });
    const gap = step((span() / TENTHS) / Math.max(2, Math.floor(wide / 80))) * TENTHS;
    const digits = gap < TENTHS ? 1 : 0;
    for (let t = Math.ceil(from / gap) * gap; t <= to + 1; t += gap) {
      svg.append(node("line", { class: "tick", x1: x(t), x2: x(t), y1: 0, y2: bottom }));
      if (x(t) > 10 && x(t) < wide - 34) svg.append(node("text", { class: "middle", x: x(t), y: bottom + 14 }, ms(t, digits)));
    }
    svg.append(node("text", { class: "far", x: wide, y: bottom + 14 }, "ms"));
    const shares = parts(radio);
    const shown = radio.list.slice(upTo(radio.list, from - radio.longest), upTo(radio.list, to));
    const cell = (event, y, h) => {
      const [a, b] = [Math.max(0, x(event.from)), Math.min(wide, x(event.to))];
      return [a, y, Math.max(0.7, b - a), h];
    };
    radio.stations.forEach((station, i) => {
      const top = i * pitch + NAME;
      const own = shown.filter((event) => event.station === i && event.to >= from);
      const pick = (kinds, y, h, way) => own
        .filter((event) => kinds.includes(event.kind) && (way === undefined || event.up === way))
        .map((event) => cell(event, y, h));
      const label = node("text", { class: "name", x: 0, y: top - 5, style: `--q:var(--q${station.colour})` }, station.name);
      svg.append(label);
      const tail = node("tspan", { dx: 8, style: "font-weight:400;fill:var(--muted)" }, station.rate);
      label.append(tail);
      svg.append(node("text", { class: "far part", x: wide, y: top - 5 }, `${(shares[i] * 100).toFixed(0)} % so far`));
      svg.append(node("rect", { class: "bed", x: 0, y: top, width: wide, height: LANE }));
      path(svg, pick(["backoff"], top + LANE - 3, 3), "wait");
      path(svg, pick(["data", "retry"], top, LANE, false), "sent", station.colour);
      path(svg, pick(["data", "retry"], top + LANE / 2, LANE / 2, true), "sent", station.colour);
      path(svg, pick(["ack", "rts"], top + LANE / 2, LANE / 2), "ack", station.colour);
      path(svg, pick(["retry"], top - 3, 4), "clash");
      path(svg, [[0, top + LANE + 2, shares[i] * wide, BAR]], "bar", station.colour);
    });
    svg.append(node("text", { x: 0, y: clashes - 5 }, "collisions"));
    svg.append(node("rect", { class: "bed", x: 0, y: clashes, width: wide, height: CLASH }));
    const clash = shown.filter((event) => event.kind === "collision" && event.to >= from);
    path(svg, clash.map((event) => cell(event, clashes, CLASH)), "clash");
    svg.append(node("line", { class: "head", x1: x(moment), x2: x(moment), y1: 0, y2: bottom }));
    element.replaceChildren(svg);
    view.now.textContent = sentence(radio);
  };

  const named = (radio, event) => radio.stations[event.station]?.name ?? "no station's";
  const words = (radio, event) => {
    const name = named(radio, event);
    const took = `${ms(event.to - event.from, 2)} ms`;
    if (event.kind === "backoff") return `contention before ${name}, ${took}`;
    if (event.kind === "ack") return `acknowledgement, ${name}, ${took}`;
    if (event.kind === "rts") return `RTS and CTS, ${name}, ${took}`;
    const way = event.up ? `from ${name}` : `to ${name}`;
    const what = event.kind === "collision" ? `collision: ${way}` : event.kind === "retry" ? `sent again ${way}` : way;
    const again = event.retried > 0 && event.kind === "data" ? `, ${event.retried} of them again` : "";
    const plural = event.mpdus === 1 ? "MPDU" : "MPDUs";
    return `${what}: ${event.mpdus} ${plural}${again}, ${event.bytes} bytes, ${took}`;
  };
  const current = (radio) => {
    const before = radio.list.slice(0, upTo(radio.list, moment));
    return before.filter((event) => event.from > moment - radio.longest - 1 && event.to > moment);
  };
  const sentence = (radio) => {
    const list = current(radio).map((event) => words(radio, event));
    return `${ms(moment, 2)} ms: ${list.length > 0 ? list.join("; ") : "nobody sends"}`;
  };

  const views = [...box.querySelectorAll("[data-air]")].map((element) => ({
    element, radio: radios[Number(element.dataset.air)], now: element.parentElement.querySelector(".now"),
  }));
  const render = () => {
    range.value = moment;
    range.setAttribute("aria-valuetext", `${ms(moment, 1)} milliseconds`);
    clock.textContent = `${ms(moment, 1)} of ${ms(end, 0)} ms`;
    views.forEach(draw);
  };
  const go = (t) => { moment = Math.max(0, Math.min(end, t)); render(); };

  /* A quarter of the view passes each second; with reduced motion, half of it every 1.5 s. */
  const stop = () => {
    cancelAnimationFrame(frame);
    clearTimeout(frame);
    [frame, last] = [null, null];
    play.textContent = "Play";
  };
  const tick = (now) => {
    go(moment + (last === null ? 0 : ((now - last) / 1000) * (span() / 4)));
    last = now;
    if (moment >= end) stop(); else frame = requestAnimationFrame(tick);
  };
  const leap = () => {
    go(moment + span() / 2);
    if (moment >= end) stop(); else frame = setTimeout(leap, 1500);
  };
  play.addEventListener("click", () => {
    if (frame !== null) { stop(); return; }
    if (moment >= end) moment = 0;
    play.textContent = "Pause";
    frame = slow.matches ? setTimeout(leap, 500) : requestAnimationFrame(tick);
  });
  range.max = end;
  range.addEventListener("input", () => { stop(); go(Number(range.value)); });
  range.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 20, PageDown: -20 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    stop();
    go(moment + (by * span()) / 40);
  });
  for (const button of box.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => {
      zoom = Number(button.dataset.zoom) * TENTHS;
      for (const other of box.querySelectorAll("[data-zoom]")) other.setAttribute("aria-pressed", String(other === button));
      render();
    });
  }

  for (const { element, radio } of views) {
    const scrub = (event) => {
      const edge = element.getBoundingClientRect();
      stop();
      go(left() + ((event.clientX - edge.left) / edge.width) * span());
    };
    let held = null;
    element.addEventListener("pointerdown", (event) => {
      held = { x: event.clientX, from: moment };
      element.setPointerCapture(event.pointerId);
      scrub(event);
      held.from = moment;
    });
    element.addEventListener("pointermove", (event) => {
      if (held !== null) go(held.from + ((event.clientX - held.x) / element.clientWidth) * span());
    });
    for (const over of ["pointerup", "pointercancel"]) element.addEventListener(over, () => { held = null; });
    element.addEventListener("keydown", (event) => {
      const sends = radio.list.filter((e) => e.kind !== "backoff" && e.kind !== "ack");
      const target = {
        ArrowRight: sends[upTo(sends, moment)], ArrowLeft: sends.findLast((e) => e.from < moment),
        Home: sends[0], End: sends.at(-1),
      };
      if (!(event.key in target)) return;
      event.preventDefault();
      stop();
      const to = target[event.key];
      if (to === undefined) return;
      go(to.from);
      const together = sends.filter((e) => e.from === to.from).map((e) => words(radio, e));
      live.textContent = `${ms(moment, 2)} ms: ${together.join("; ")}`;
    });
  }

  box.hidden = false;
  for (const still of document.querySelectorAll(".still")) still.hidden = true;
  moment = span() / 2;
  render();
  new ResizeObserver(render).observe(box);
  addEventListener("beforeprint", stop);
})();

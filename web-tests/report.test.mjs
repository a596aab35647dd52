// Opens report pages from disk and uses them as a reader would: mouse, keyboard, themes, paper.
//
//   node report.test.mjs PAGE.html [PAGE.html ...]      or  GOODQUEUE_PAGES="a.html b.html"
//
// The browser is $CHROMIUM or /usr/bin/chromium. With GOODQUEUE_SHOTS=FOLDER it leaves pictures there.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { readFile, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const pages = process.argv.length > 2 ? process.argv.slice(2) : (process.env.GOODQUEUE_PAGES ?? "").split(/\s+/).filter(Boolean);
if (pages.length === 0) {
  console.error("usage: node report.test.mjs PAGE.html ...");
  process.exit(2);
}
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const shots = process.env.GOODQUEUE_SHOTS;
if (shots) mkdirSync(shots, { recursive: true });

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"],
});

/** Opens a page; whatever it complains about or asks the network for ends up in `trouble`. */
async function open(file, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const trouble = [];
  page.on("console", (m) => { if (["error", "warning"].includes(m.type())) trouble.push(`console: ${m.text()}`); });
  page.on("pageerror", (e) => trouble.push(`error: ${e.message}`));
  page.on("request", (r) => { if (!/^(file|data):/.test(r.url())) trouble.push(`request: ${r.url()}`); });
  await page.goto(pathToFileURL(resolve(file)).href);
  return { page, trouble, close: () => context.close() };
}

async function shot(page, file, name) {
  if (shots) await page.screenshot({ path: join(shots, `${basename(dirname(resolve(file)))}-${name}.png`), fullPage: true });
}

const live = (page) => page.locator("#live").textContent();
const column = (page, n) =>
  page.$$eval(".summary tbody tr", (rows, n) => rows.map((r) => r.cells[n].dataset.v ?? r.cells[n].textContent), n);

/** The chart with the most series among those shown. */
async function richest(page) {
  const id = await page.evaluate(() => {
    const data = JSON.parse(document.getElementById("data").textContent);
    const shown = [...document.querySelectorAll("[data-chart]")].filter((e) => e.getClientRects().length > 0);
    const size = (e) => data[e.dataset.chart].series.filter((s) => s.v.some((v) => v !== null)).length;
    shown.sort((a, b) => size(b) - size(a));
    return shown[0]?.dataset.chart;
  });
  return page.locator(`[data-chart="${id}"]`);
}

const tests = {
  async "opens without a complaint and without a network"(file) {
    const { page, trouble, close } = await open(file);
    assert.match(await page.title(), / – Goodqueue$/);
    assert.ok((await page.locator("h1").textContent()).length > 10);
    assert.ok((await page.locator("svg.chart").count()) > 0);
    assert.deepEqual(trouble, []);
    await shot(page, file, "light");
    await close();
  },

  async "the mouse shows the values of all series"(file) {
    const { page, trouble, close } = await open(file);
    const chart = await richest(page);
    await chart.scrollIntoViewIfNeeded();
    const box = await chart.boundingBox();
    await page.mouse.move(box.x + box.width * 0.5, box.y + box.height * 0.5);
    await page.mouse.move(box.x + box.width * 0.55, box.y + box.height * 0.4);
    assert.ok(await page.locator("#tip").isVisible());
    const id = await chart.getAttribute("data-chart");
    const names = await page.evaluate((id) => JSON.parse(document.getElementById("data").textContent)[id].series.map((s) => s.name), id);
    const text = await page.locator("#tip").textContent();
    for (const name of names) assert.ok(text.includes(name), `${name} is not in: ${text}`);
    assert.match(text, /\d/);
    assert.ok((await page.locator("line.cross").count()) > 0);
    if (shots) await page.screenshot({ path: join(shots, `${basename(dirname(resolve(file)))}-hover.png`) });
    await page.mouse.move(2, 2);
    assert.ok(await page.locator("#tip").isHidden());
    assert.equal(await page.locator("line.cross").count(), 0);
    assert.deepEqual(trouble, []);
    await close();
  },

  async "arrow keys move the crosshair and say the values"(file) {
    const { page, close } = await open(file);
    const chart = await richest(page);
    await chart.focus();
    await page.keyboard.press("Home");
    const first = await live(page);
    await page.keyboard.press("End");
    const last = await live(page);
    assert.notEqual(first, last);
    await page.keyboard.press("ArrowLeft");
    const before = await live(page);
    assert.notEqual(before, last);
    await page.keyboard.press("ArrowRight");
    assert.equal(await live(page), last);
    assert.match(last, /^−?[\d.]+ (s|ms): .+/);
    await page.keyboard.press("Escape");
    assert.ok(await page.locator("#tip").isHidden());
    await close();
  },

  async "a table is sorted by keyboard"(file) {
    const { page, close } = await open(file);
    const heads = page.locator(".summary th[data-column]");
    const count = await heads.count();
    for (const n of [0, 1, count - 1]) {
      const head = heads.nth(n);
      await head.locator("button").focus();
      await page.keyboard.press("Enter");
      assert.equal(await head.getAttribute("aria-sort"), "ascending");
      const up = await column(page, n);
      await page.keyboard.press("Space");
      assert.equal(await head.getAttribute("aria-sort"), "descending");
      const down = await column(page, n);
      const known = (list) => list.filter((v) => v !== "–" && v !== "");
      const numbers = known(up).map(Number);
      if (numbers.every((v) => !Number.isNaN(v))) {
        assert.deepEqual(numbers, [...numbers].sort((a, b) => a - b));
        assert.deepEqual(known(down).map(Number), [...numbers].sort((a, b) => b - a));
      }
      assert.deepEqual([...up].sort(), [...down].sort());
      assert.equal(await page.locator(".summary th[aria-sort=ascending],.summary th[aria-sort=descending]").count(), 1);
    }
    assert.match(await live(page), /^Sorted by .+, descending\.$/);
    await close();
  },

  async "a queue is hidden and shown by keyboard"(file) {
    const { page, close } = await open(file);
    const button = page.locator("[data-key='0']");
    const shown = () => page.locator("svg [data-q='0']").evaluateAll((l) => l.filter((e) => getComputedStyle(e).display !== "none").length);
    const before = await shown();
    await button.focus();
    await page.keyboard.press("Space");
    assert.equal(await button.getAttribute("aria-pressed"), "false");
    assert.equal(await shown(), 0);
    await page.keyboard.press("Enter");
    assert.equal(await button.getAttribute("aria-pressed"), "true");
    assert.equal(await shown(), before);
    await close();
  },

  async "one-way delays and the axis can be chosen"(file) {
    const { page, close } = await open(file);
    for (const set of ["delay", "axis", "scale"]) {
      const buttons = page.locator(`[data-set="${set}"]`);
      for (let i = 0; i < (await buttons.count()); i++) {
        await buttons.nth(i).focus();
        await page.keyboard.press("Enter");
        const to = await buttons.nth(i).getAttribute("data-to");
        assert.equal(await page.locator(`[data-set="${set}"][aria-pressed=true]`).count(), 1);
        const figures = page.locator(`figure.${set === "axis" ? "axis-" : ""}${to}`);
        const visible = await figures.evaluateAll((l) => l.filter((e) => e.getClientRects().length > 0).length);
        assert.ok(visible > 0, `no figure for ${to}`);
      }
    }
    await close();
  },

  async "is accessible and legible, light and dark"(file) {
    for (const colorScheme of ["light", "dark"]) {
      const { page, close } = await open(file, { colorScheme });
      await page.evaluate(() => { for (const d of document.querySelectorAll("details")) d.open = true; });
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"] }));
      const bad = violations.filter((v) => ["serious", "critical"].includes(v.impact));
      for (const v of violations) console.log(`    ${colorScheme}: axe ${v.impact} ${v.id}: ${v.nodes.length} × ${v.nodes[0].html.slice(0, 110)}`);
      assert.deepEqual(bad.map((v) => v.id), []);
      const weak = await page.evaluate(contrasts);
      assert.deepEqual(weak, [], `${colorScheme}: text in charts below 4.5:1`);
      if (colorScheme === "dark") await shot(page, file, "dark");
      await close();
    }
  },

  async "the theme can be chosen"(file) {
    const { page, close } = await open(file, { colorScheme: "light" });
    const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await back();
    await page.locator("#theme").focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("#theme span").textContent(), "dark");
    assert.notEqual(await back(), light);
    await close();
  },

  async "paper is white and has no controls"(file) {
    const { page, close } = await open(file, { colorScheme: "dark" });
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
    assert.equal(await page.locator(".control:visible, .bar:visible, .controls:visible").count(), 0);
    await page.setViewportSize({ width: 740, height: 1040 });
    await shot(page, file, "print");
    await close();
  },

  async "the same moment is marked in all charts with a time axis"(file) {
    const { page, close } = await open(file);
    const chart = page.locator("[data-chart^='side-']").first();
    if ((await chart.count()) > 0) {
      await chart.scrollIntoViewIfNeeded();
      const box = await chart.boundingBox();
      await page.mouse.move(box.x + box.width * 0.6, box.y + box.height * 0.5);
      const marks = await page.evaluate(() => {
        const data = JSON.parse(document.getElementById("data").textContent);
        // A chart in which nothing was measured has no moments to mark.
        const has = (chart) => chart?.unit === "s" && chart.series.some((series) => series.v.length > 0);
        const timed = [...document.querySelectorAll("[data-chart]")].filter((e) => has(data[e.dataset.chart]));
        return timed.map((e) => {
          const { area, domain } = data[e.dataset.chart];
          const x = Number(e.querySelector("line.cross")?.getAttribute("x1"));
          return domain[0] + ((x - area[0]) / area[2]) * (domain[1] - domain[0]);
        });
      });
      assert.ok(marks.length > 1);
      for (const moment of marks) assert.ok(Math.abs(moment - marks[0]) < 0.01, `${marks}`);
    }
    await close();
  },

  async "time is zoomed by a drag, by keys and by buttons, and shown whole again"(file) {
    const { page, trouble, close } = await open(file);
    const chart = page.locator("[data-chart^='side-']").first();
    if ((await chart.count()) > 0) {
      const ticks = () =>
        chart.locator("text.tick[text-anchor=middle]").evaluateAll((l) => l.filter((e) => getComputedStyle(e).display !== "none").map((e) => e.textContent));
      const everywhere = () => page.locator("[data-chart] g.ticks").count();
      const whole = await ticks();
      await chart.scrollIntoViewIfNeeded();
      const box = await chart.boundingBox();
      await page.mouse.move(box.x + box.width * 0.5, box.y + box.height * 0.5);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.6, box.y + box.height * 0.5);
      await page.mouse.move(box.x + box.width * 0.7, box.y + box.height * 0.5);
      assert.equal(await chart.locator("rect.drag").count(), 1);
      await page.mouse.up();
      assert.equal(await chart.locator("rect.drag").count(), 0);
      assert.match(await live(page), /^−?[\d.]+ to [\d.]+ s are shown\.$/);
      assert.notDeepEqual(await ticks(), whole);
      assert.ok((await everywhere()) > 1);
      const width = async () => {
        const [from, to] = (await live(page)).replaceAll("−", "-").match(/-?[\d.]+/g).map(Number);
        return to - from;
      };
      const dragged = await width();
      await chart.focus();
      await page.keyboard.press("+");
      assert.ok((await width()) < dragged * 0.6);
      await page.keyboard.press("0");
      assert.deepEqual(await ticks(), whole);
      assert.equal(await everywhere(), 0);
      await page.locator("[data-time=in]").click();
      assert.ok((await everywhere()) > 1);
      assert.notDeepEqual(await ticks(), whole);
      await page.locator("[data-time=all]").click();
      assert.deepEqual(await ticks(), whole);
      assert.ok(await page.locator("[data-time=all]").isDisabled());
    }
    assert.deepEqual(trouble, []);
    await close();
  },

  async "two fingers zoom"(file) {
    const { page, close } = await open(file, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
    const chart = page.locator("[data-chart^='side-']").first();
    if ((await chart.count()) > 0) {
      await chart.scrollIntoViewIfNeeded();
      const { x, y, width } = await chart.boundingBox();
      const client = await page.context().newCDPSession(page);
      const touch = (type, ...at) =>
        client.send("Input.dispatchTouchEvent", { type, touchPoints: at.map((share, id) => ({ x: x + width * share, y: y + 60, id })) });
      await touch("touchStart", 0.45, 0.65);
      await touch("touchMove", 0.3, 0.8);
      await touch("touchMove", 0.25, 0.9);
      // Fingers that leave at speed start a fling, and the browser takes the next tap as the end of it: no click.
      await page.waitForTimeout(300);
      await touch("touchMove", 0.25, 0.9);
      await touch("touchEnd");
      assert.ok((await page.locator("[data-chart] g.ticks").count()) > 1);
      await page.locator("[data-time=all]").tap();
      await page.waitForFunction(() => document.querySelectorAll("[data-chart] g.ticks").length === 0, null, { timeout: 5000 });
    }
    await close();
  },

  async "words are explained by mouse, by keyboard and by touch"(file) {
    const { page, trouble, close } = await open(file);
    const word = page.locator(".summary a.word").first();
    const note = page.locator("#note");
    await word.hover();
    await note.waitFor({ state: "visible" });
    assert.ok((await note.textContent()).length > 40);
    await page.mouse.move(2, 2);
    await note.waitFor({ state: "hidden" });
    await word.focus();
    await page.keyboard.press("Enter");
    assert.ok(await note.isVisible());
    await page.keyboard.press("Escape");
    assert.ok(await note.isHidden());
    assert.deepEqual(trouble, []);
    await close();
    const phone = await open(file, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
    for (const word of await phone.page.locator(".summary thead a.word, h1 a.word").all()) {
      if (!(await word.evaluate((e) => e.getBoundingClientRect().right <= 390))) continue;
      await word.tap();
      const box = await phone.page.locator("#note").boundingBox();
      assert.ok(box && box.x >= 0 && box.x + box.width <= 390, "the note leaves the screen");
      await phone.page.keyboard.press("Escape");
    }
    await phone.close();
  },

  async "words lead to the list without JavaScript"(file) {
    const { page, close } = await open(file, { javaScriptEnabled: false });
    const word = page.locator(".summary a.word").first();
    const target = await word.getAttribute("href");
    await word.click();
    assert.ok(page.url().endsWith(target));
    assert.equal(await page.locator(target).count(), 1);
    await close();
  },

  async "on a phone the page does not scroll sideways, and what matters is in view"(file) {
    for (const width of [360, 390]) {
      const { page, close } = await open(file, { viewport: { width, height: 844 }, hasTouch: true, isMobile: true });
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
      await page.evaluate(() => { for (const d of document.querySelectorAll("details")) d.open = true; });
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
      const heads = await page.$$eval(".summary thead th[data-column]", (l) =>
        l.filter((e) => e.getBoundingClientRect().right <= innerWidth + 1).map((e) => e.dataset.name));
      const loaded = (await page.locator(".summary .chip, .summary .none").count()) > 0;
      const wanted = loaded ? [/^grade/, /rise.*median/, /rise.*95th/, /^goodput/] : [/median/, /95th/];
      if (width === 390) {
        for (const want of wanted) assert.ok(heads.some((name) => want.test(name)), `${want} is not among ${heads}`);
        await shot(page, file, "phone");
      }
      await close();
    }
  },

  async "the summary fits 1300 pixels in any font"(file) {
    for (const font of ["DejaVu Sans", "serif", "monospace"]) {
      const { page, close } = await open(file, { viewport: { width: 1300, height: 900 } });
      await page.addStyleTag({ content: `body{font-family:"${font}",${font}!important}` });
      const over = await page.$eval(".summary", (e) => e.scrollWidth - e.clientWidth);
      assert.ok(over <= 0, `${font}: ${over} pixels too wide`);
      await close();
    }
  },

  async "no text leaves its chart, none covers another's name"(file) {
    const { page, close } = await open(file);
    const out = await page.evaluate(() => {
      const found = [];
      for (const svg of document.querySelectorAll("svg.chart")) {
        if (svg.getClientRects().length === 0) continue;
        const box = svg.getBoundingClientRect();
        const labels = [];
        for (const text of svg.querySelectorAll("text")) {
          const t = text.getBoundingClientRect();
          if (t.width === 0) continue;
          if (t.top < box.top - 2 || t.bottom > box.bottom + 2 || t.left < box.left - 2 || t.right > box.right + 6) found.push(`outside: ${text.textContent}`);
          // Boxes of text are higher than its letters.
          if (text.matches(".label")) labels.push({ top: t.top + 3, bottom: t.bottom - 3, left: t.left, right: t.right, words: text.textContent });
        }
        for (const [i, a] of labels.entries()) {
          for (const b of labels.slice(i + 1)) {
            if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom) found.push(`${a.words} over ${b.words}`);
          }
        }
      }
      return found;
    });
    assert.deepEqual(out, []);
    await close();
  },

  async "one of many flows can be picked"(file) {
    const { page, trouble, close } = await open(file);
    const list = page.locator("[data-picks] select");
    if ((await list.count()) > 0) {
      await list.first().focus();
      await page.keyboard.type("flow 17");
      await page.keyboard.press("Enter");
      assert.equal(await list.first().evaluate((e) => e.selectedOptions[0].textContent), "flow 17");
      const panels = await page.locator("[data-chart^='goodput-up-']").count();
      assert.equal(await page.locator("path.picked").count(), panels);
      await list.first().selectOption("");
      assert.equal(await page.locator("path.picked").count(), 0);
    }
    assert.deepEqual(trouble, []);
    await close();
  },

  async "a page of many variants is small"(file) {
    const { page, close } = await open(file);
    const rows = await page.locator(".summary tbody tr").count();
    if (rows > 12) {
      assert.ok((await stat(file)).size < 3e6, "3 MB or more");
      assert.ok((await page.locator("[data-chart^='side-']").count()) < 8);
      assert.ok((await page.locator("h1").textContent()).length < 250);
    }
    await close();
  },

  async "nothing sticks out at 800 pixels"(file) {
    const { page, close } = await open(file, { viewport: { width: 800, height: 900 } });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 800, `${wide} pixels wide`);
    await shot(page, file, "narrow");
    await close();
  },

  async "the air is played, scrubbed and stepped through"(file) {
    const { page, trouble, close } = await open(file);
    const view = page.locator(".airview");
    const lanes = page.locator("[data-air]");
    assert.equal(await view.count(), (await page.locator("#air-data").count()));
    if ((await view.count()) > 0) {
      assert.ok(await page.locator(".still").isHidden());
      const moment = () => view.locator("input").evaluate((e) => Number(e.value));
      await view.locator(".play").focus();
      const before = await moment();
      await page.keyboard.press("Enter");
      assert.equal(await view.locator(".play").textContent(), "Pause");
      await page.waitForFunction((v) => Number(document.querySelector(".airview input").value) > v, before);
      await page.keyboard.press("Enter");
      const stopped = await moment();
      await page.waitForTimeout(150);
      assert.equal(await moment(), stopped);
      await view.locator("input").focus();
      await page.keyboard.press("Home");
      assert.equal(await moment(), 0);
      await page.keyboard.press("ArrowRight");
      assert.ok((await moment()) > 0);
      assert.match(await view.locator("input").getAttribute("aria-valuetext"), /^[\d.]+ milliseconds$/);
      await lanes.last().focus();
      await page.keyboard.press("Home");
      const first = await live(page);
      await page.keyboard.press("ArrowRight");
      assert.notEqual(await live(page), first);
      assert.match(await live(page), /^[\d.]+ ms: .*\d bytes, [\d.]+ ms$/);
      await page.keyboard.press("ArrowLeft");
      assert.equal(await live(page), first);
      await page.keyboard.press("End");
      await page.keyboard.press("ArrowRight");
      // Two that collide begin at once: one step, not a place to stay.
      for (let i = 0, after = await moment(); i < 60; i++) {
        await page.keyboard.press("ArrowLeft");
        const now = await moment();
        assert.ok(now < after, `step ${i}: ${now} after ${after}`);
        after = now;
      }
      for (const zoom of await view.locator("[data-zoom]").all()) {
        await zoom.click();
        assert.equal(await view.locator("[data-zoom][aria-pressed=true]").count(), 1);
        assert.ok((await lanes.first().locator("path.sent").count()) > 0);
      }
      const box = await lanes.first().boundingBox();
      await page.mouse.click(box.x + box.width * 0.25, box.y + 30);
      const quarter = await moment();
      await page.mouse.click(box.x + box.width * 0.75, box.y + 30);
      assert.ok((await moment()) > quarter);
    }
    assert.deepEqual(trouble, []);
    await close();
  },

  async "without motion the air goes on in leaps"(file) {
    const { page, close } = await open(file, { reducedMotion: "reduce" });
    const view = page.locator(".airview");
    if ((await view.count()) > 0) {
      const moment = () => view.locator("input").evaluate((e) => Number(e.value));
      // The page's timers run on a clock of ours, so that a busy machine makes no difference.
      await page.clock.install();
      await page.clock.pauseAt(Date.now() + 60_000);
      const start = await moment();
      await view.locator(".play").click();
      const after = async (ms) => { await page.clock.runFor(ms); return moment(); };
      assert.equal(await after(490), start);
      const next = await after(20);
      assert.ok(next > start);
      assert.equal(await after(1480), next);
      assert.ok((await after(20)) > next);
    }
    await close();
  },

  async "nothing sticks out at 400 pixels where the air is shown"(file) {
    const { page, close } = await open(file, { viewport: { width: 400, height: 900 } });
    if ((await page.locator(".airview").count()) > 0) {
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= 400, `${wide} pixels wide`);
      await shot(page, file, "phone");
    }
    await close();
  },

  async "reads without a program"(file) {
    const { page, trouble, close } = await open(file, { javaScriptEnabled: false });
    assert.ok(await page.locator(".summary table").isVisible());
    assert.ok(await page.locator("svg.chart").first().isVisible());
    for (const still of await page.locator(".still").all()) assert.ok(await still.isVisible());
    assert.ok(!(await page.locator(".airview").first().isVisible()));
    assert.deepEqual(trouble, []);
    await close();
  },
};

/** Runs in the page: texts of charts whose colour is too close to the page's. */
function contrasts() {
  const parse = (c) => c.match(/[\d.]+/g).slice(0, 3).map(Number);
  const light = (c) => {
    const [r, g, b] = parse(c).map((v) => { const s = v / 255; return s <= 0.03928 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const back = light(getComputedStyle(document.body).backgroundColor);
  const weak = new Set();
  for (const text of document.querySelectorAll("svg.chart text, .air text")) {
    const fore = light(getComputedStyle(text).fill);
    const ratio = (Math.max(fore, back) + 0.05) / (Math.min(fore, back) + 0.05);
    if (ratio < 4.5) weak.add(`${text.getAttribute("class")} ${ratio.toFixed(2)}`);
  }
  return [...weak];
}

let failed = 0;
/** All tests of one page; its lines are printed together. */
async function check(file) {
  const lines = [file];
  for (const [name, test] of Object.entries(tests)) {
    try {
      await test(file);
      lines.push(`  ok    ${name}`);
    } catch (error) {
      failed += 1;
      lines.push(`  FAIL  ${name}\n${String(error.stack ?? error).replace(/^/gm, "        ")}`);
    }
  }
  console.log(lines.join("\n"));
}
for (const file of pages) await check(file);
await browser.close();
console.log(failed === 0 ? "all passed" : `${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

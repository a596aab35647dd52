//! The comparison at a glance: per queue goodput above, round-trip time below, common axes.

use super::arms;
use super::band::{Edges, place};
use super::data::{Delay, Spread, delays_over_time, unbroken};
use super::flows::{BANDS, quantile_series, quantiles};
use super::frame::{Frame, Sides};
use super::scale::{Scale, nice_top};
use super::scene::{Anchor, Scene, fit_text, text_width, wrap};
use super::style::{Ink, Type};
use super::time::{
    Tails, delay_scale, draw_rate, draw_spread, extent, flow_lines, largest_goodput, own_rate_mbit,
    rate_mbit, time_title,
};
use super::{Chart, Context, Hover, HoverSeries, slug};
use crate::marks::Mark;
use crate::record::{Direction, Run};
use crate::summary::{Summary, direction_name, loaded_directions};
use crate::words;

/// Height of a goodput panel and of the latency panel.
const GOODPUT: f64 = 132.0;
const LATENCY: f64 = 190.0;
/// The axis ends at this multiple of the link's rate, so that one step of the goodput does not flatten the
/// others.
const SPIKE: f64 = 1.5;
/// Goodput below this share of the link's rate has an axis of its own, which does not reach to that rate: a
/// slower queue is behind the link.
const LEAST: f64 = 0.25;
/// Parts of a stack with a mean height below this have no outline: 0.8 pixels of white would cover them.
const OUTLINED: f64 = 6.0;
/// Room between panels.
const BETWEEN: f64 = 22.0;
/// Room above the panels for the queue's name and result, and for the words of each mark below them.
const NAME: f64 = 46.0;
const WORDS: f64 = 15.0;
/// Room for the vertical axes.
const AXES: f64 = 66.0;

/// What all columns have in common.
struct Shared {
    directions: Vec<Direction>,
    /// Top of the goodput axes, by direction.
    tops: Vec<f64>,
    delays: Vec<Vec<Option<Spread>>>,
    extent: Option<(f64, f64)>,
    /// Lines across the delays of each run: the round trip before the load, then the marks.
    lines: Vec<Vec<Across>>,
    /// Whether each column has the words "before the load".
    named: Vec<bool>,
}

/// A line across the delays of a run.
struct Across {
    /// Where on the axis, ms.
    at: f64,
    words: String,
    /// Whether its words are above the panels, where they cover no data.
    is_mark: bool,
}

impl Shared {
    fn of(ctx: &Context<'_>, marks: &[Mark]) -> Self {
        let directions = loaded_directions(ctx.record);
        let top = |&d: &Direction| {
            let together = largest_goodput(ctx, d).1;
            let rate = rate_mbit(ctx, d).filter(|rate| together > rate * LEAST);
            nice_top(rate.map_or(together, |r| together.clamp(r * 1.1, r * SPIKE)))
        };
        let delays: Vec<_> = ctx
            .record
            .runs
            .iter()
            .map(|r| delays_over_time(r, Delay::RoundTrip, ctx.rise, &ctx.fine))
            .collect();
        let runs = ctx.record.runs.iter().enumerate();
        let lines: Vec<_> = runs.map(|(queue, run)| across(ctx, queue, run, marks)).collect();
        let most = lines.iter().flatten().map(|line| line.at).fold(0.0, f64::max);
        Self {
            tops: directions.iter().map(top).collect(),
            extent: extent(delays.iter().flatten()).map(|(low, high)| (low, high.max(most))),
            directions,
            named: vec![true; lines.len()],
            delays,
            lines,
        }
    }

    /// The panel of the delays, and the axis of time.
    fn latency(&self, ctx: &Context<'_>, (left, top): (f64, f64), width: f64) -> Frame {
        let (from, to) = ctx.fine.domain_s();
        let x = Scale::linear(from, to, left, left + width);
        Frame { left, top, width, height: LATENCY, x, y: delay_scale(self.extent, top + LATENCY, top) }
    }

    /// Names the line before the load only in columns where the words cover no data; if there are none, in
    /// the first column.
    fn name_where_free(&mut self, ctx: &Context<'_>, width: f64) {
        let frame = self.latency(ctx, (0.0, 0.0), width);
        let is_free = |(lines, delays): (&Vec<Across>, &Vec<Option<Spread>>)| {
            lines.iter().filter(|line| !line.is_mark).all(|line| is_free(&frame, line, ctx, delays))
        };
        self.named = self.lines.iter().zip(&self.delays).map(is_free).collect();
        if !self.named.contains(&true)
            && let Some(first) = self.named.first_mut()
        {
            *first = true;
        }
    }

    /// Room above the panels.
    fn above(&self) -> f64 {
        let marks = |lines: &Vec<Across>| lines.iter().filter(|line| line.is_mark).count();
        NAME + WORDS * self.lines.iter().map(marks).max().unwrap_or(0) as f64
    }

    /// Height of a column: name, panels, time axis. A program's record has no probes, and no panel for them.
    fn height(&self) -> f64 {
        let latency = if self.extent.is_some() { LATENCY } else { -BETWEEN };
        self.above() + self.directions.len() as f64 * (GOODPUT + BETWEEN) + latency + 46.0
    }
}

/// The lines across the delays of a run.
fn across(ctx: &Context<'_>, queue: usize, run: &Run, marks: &[Mark]) -> Vec<Across> {
    let idle = Summary::of(ctx.record, run).rtt.idle_ns;
    let ms = |ns: i64| ns as f64 / 1e6;
    let base = idle.filter(|_| !ctx.rise).map(|ns| Across {
        at: ms(ns),
        words: "before the load".into(),
        is_mark: false,
    });
    let mark = |mark: &Mark| {
        let at = match (mark.is_rise, ctx.rise) {
            (true, false) => mark.ns.checked_add(idle?)?,
            (false, true) => mark.ns.checked_sub(idle?)?,
            _ => mark.ns,
        };
        (at > 0).then(|| Across { at: ms(at), words: mark.words.clone(), is_mark: true })
    };
    base.into_iter().chain(marks.iter().filter(|of| of.run == queue).filter_map(mark)).collect()
}

/// Draws one queue's panels with their left edge at `left`; returns the values for the pointer.
fn column(
    ctx: &Context<'_>,
    shared: &Shared,
    scene: &mut Scene,
    queue: usize,
    run: &Run,
    place: (f64, f64, f64),
    axes: bool,
) -> Hover {
    let (left, top, width) = place;
    let (from, to) = ctx.fine.domain_s();
    let x = Scale::linear(from, to, left, left + width);
    let summary = Summary::of(ctx.record, run);
    scene.open(queue);
    scene.text(
        Type::Panel(queue),
        (left, top + 15.0),
        Anchor::Start,
        fit_text(Type::Panel(queue), &run.queue, width),
    );
    let result = fit_text(Type::Result, &words::result(run, &summary), width);
    scene.text(Type::Result, (left, top + 33.0), Anchor::Start, result);
    scene.close();
    for (number, mark) in shared.lines[queue].iter().filter(|line| line.is_mark).enumerate() {
        let y = top + NAME - 2.0 + WORDS * number as f64;
        scene.line(Ink::Limit, (left, y), (left + 22.0, y));
        let words = fit_text(Type::Note, &mark.words, width - 28.0);
        scene.text(Type::Note, (left + 28.0, y + 4.0), Anchor::Start, words);
    }
    let mut y_top = top + shared.above();
    let mut series = Vec::new();
    let last = shared.directions.last().filter(|_| shared.extent.is_none());
    for (&direction, &most) in shared.directions.iter().zip(&shared.tops) {
        let y = Scale::linear(0.0, most, y_top + GOODPUT, y_top);
        let frame = Frame { left, top: y_top, width, height: GOODPUT, x, y };
        let title = format!("goodput {} (Mbit/s)", direction_name(direction));
        let time = (last == Some(&direction)).then(|| time_title(ctx));
        frame.draw(scene, Sides { x: time, y: axes.then_some(title.as_str()) });
        stack(ctx, scene, &frame, queue, run, direction, &mut series);
        let own = own_rate_mbit(ctx, run, direction);
        if let Some(rate) = own.filter(|&rate| rate <= most) {
            // The first panel names the rate of all of them. If rates differ, each names its own.
            let differs = |other: &Run| own_rate_mbit(ctx, other, direction) != own;
            draw_rate(scene, &frame, rate, axes || ctx.record.runs.iter().any(differs));
        }
        y_top += GOODPUT + BETWEEN;
    }
    if shared.extent.is_some() {
        let frame = shared.latency(ctx, (left, y_top), width);
        let scale = if frame.y.is_log() { ", log" } else { "" };
        let what = if ctx.rise { "round-trip rise over idle" } else { "round-trip time" };
        let title = format!("{what} (ms{scale})");
        frame.draw(scene, Sides { x: Some(time_title(ctx)), y: axes.then_some(title.as_str()) });
        draw_across(scene, &frame, &shared.lines[queue], shared.named[queue]);
        let delays = &shared.delays[queue];
        draw_spread(scene, &frame, &ctx.fine, queue, delays);
        series.push(HoverSeries {
            queue,
            name: if ctx.rise { "round-trip rise" } else { "round trip" }.into(),
            unit: "ms",
            values: coarse(ctx, |i| delays.get(i).copied().flatten().map(|s| s.p50)),
            upper: Some(coarse(ctx, |i| delays.get(i).copied().flatten().map(|s| s.p95))),
            colour: None,
        });
        y_top += LATENCY;
    } else {
        y_top -= BETWEEN;
    }
    let area = [left, top + shared.above(), width, y_top - top - shared.above()];
    let bins = &ctx.coarse;
    let places = (bins.middle_s(0), bins.middle_s(bins.count.saturating_sub(1)));
    Hover { area, domain: (from, to), log: false, places, unit: "s", series }
}

/// Lines across the delays. `named`: whether a line without a mark has its words.
fn draw_across(scene: &mut Scene, frame: &Frame, lines: &[Across], named: bool) {
    for line in lines {
        let y = frame.y.at(line.at).clamp(frame.top, frame.bottom());
        scene.line(Ink::Limit, (frame.left, y), (frame.right(), y));
        if !line.is_mark && named {
            let words = fit_text(Type::Note, &line.words, frame.width);
            scene.text(Type::Note, (frame.right(), base_of_words(frame, line)), Anchor::End, words);
        }
    }
}

/// Where the words of a line are: below it, where no round trip is, or above it if it is close to the axis.
fn base_of_words(frame: &Frame, line: &Across) -> f64 {
    let y = frame.y.at(line.at).clamp(frame.top, frame.bottom());
    let below = y + f64::from(Type::Note.size()) + 3.0;
    if below + 3.0 < frame.bottom() { below } else { y - 5.0 }
}

/// Whether the words of a line, at its right end, cover no delay.
fn is_free(frame: &Frame, line: &Across, ctx: &Context<'_>, delays: &[Option<Spread>]) -> bool {
    let left = frame.right() - text_width(Type::Note, &line.words);
    let bottom = base_of_words(frame, line) + 2.0;
    let top = bottom - f64::from(Type::Note.size()) - 2.0;
    delays
        .iter()
        .enumerate()
        .filter(|(index, _)| frame.x.at(ctx.fine.middle_s(*index)) >= left)
        .all(|(_, spread)| spread.is_none_or(|of| frame.y.at(of.p5) < top || frame.y.at(of.p95) > bottom))
}

/// Values of the fine bins at the middles of the coarse ones.
fn coarse(ctx: &Context<'_>, value: impl Fn(usize) -> Option<f64>) -> Vec<Option<f64>> {
    (0..ctx.coarse.count)
        .map(|i| {
            let middle = ctx.coarse.from + i as i64 * ctx.coarse.width + ctx.coarse.width / 2;
            ctx.fine.index(middle).and_then(&value)
        })
        .collect()
}

/// The flows of a direction on top of one another.
fn stack(
    ctx: &Context<'_>,
    scene: &mut Scene,
    frame: &Frame,
    queue: usize,
    run: &Run,
    direction: Direction,
    series: &mut Vec<HoverSeries>,
) {
    let lines = flow_lines(ctx, run, direction, Tails::Kept);
    let mut base = vec![0.0; ctx.coarse.count];
    let named = lines.len() <= 4;
    let many = lines.len() >= BANDS;
    if many {
        let more = format!(" {}", direction_name(direction));
        series.extend(quantile_series(queue, &quantiles(&lines, ctx.coarse.count), &more));
    }
    let is_thin = GOODPUT / (lines.len().max(1) as f64) < OUTLINED;
    for (shade, (name, values)) in lines.into_iter().enumerate() {
        let x = |i: usize| ctx.coarse.middle_s(i);
        let parts = unbroken(&values)
            .iter()
            .map(|part| {
                let mut points: Vec<_> = part.iter().map(|(i, v)| frame.at(x(*i), base[*i] + v)).collect();
                points.extend(part.iter().rev().map(|(i, _)| frame.at(x(*i), base[*i])));
                points
            })
            .collect();
        scene.open(queue);
        let ink = if is_thin { Ink::Sliver { queue, shade } } else { Ink::Area { queue, shade } };
        scene.shape(ink, true, parts);
        if named {
            let ceiling = own_rate_mbit(ctx, run, direction).map_or(frame.top, |r| frame.at(0.0, r).1);
            name_area(scene, frame, &name, (&values, &base), ceiling, x);
        }
        scene.close();
        for (b, v) in base.iter_mut().zip(&values) {
            *b += v.unwrap_or(0.0);
        }
        if many {
            continue;
        }
        series.push(HoverSeries {
            queue,
            name: format!("{name} {}", direction_name(direction)),
            unit: "Mbit/s",
            values,
            upper: None,
            colour: None,
        });
    }
}

/// Writes a flow's name into its area at a place where the whole name fits below the line of the link's rate;
/// writes nothing if the area is too thin everywhere.
fn name_area(
    scene: &mut Scene,
    frame: &Frame,
    name: &str,
    (values, base): (&[Option<f64>], &[f64]),
    ceiling: f64,
    x: impl Fn(usize) -> f64,
) {
    let at = |v: f64| frame.at(0.0, v).1;
    let edges: Vec<Edges> =
        values.iter().zip(base).map(|(v, b)| v.map(|v| (at(b + v).max(ceiling), at(*b)))).collect();
    let size = f64::from(Type::OnArea.size());
    let needed = (text_width(Type::OnArea, name) + 4.0, size + 2.5);
    if let Some((middle, y)) = place(&edges, |i| frame.x.at(x(i)), needed) {
        scene.text(Type::OnArea, (middle, y + size * 0.3), Anchor::Middle, name);
    }
}

/// A drawing per queue.
pub(crate) fn side_by_side(ctx: &Context<'_>) -> Vec<Chart> {
    let shared = Shared::of(ctx, &[]);
    ctx.record
        .runs
        .iter()
        .enumerate()
        .map(|(queue, run)| {
            let (width, right) = (356.0, 10.0);
            let description = format!("{}: goodput per flow above round-trip time, over time", run.queue);
            let mut scene = Scene::new(width, shared.height(), description);
            let place = (AXES, 0.0, width - AXES - right);
            let hover = column(ctx, &shared, &mut scene, queue, run, place, true);
            Chart {
                id: format!("side-{queue}-{}", slug(&run.queue)),
                title: run.queue.clone(),
                scene,
                hover: Some(hover),
            }
        })
        .collect()
}

/// All queues in one drawing under the headline; without one, that of the record.
pub(crate) fn draw(ctx: &Context<'_>, headline: Option<&str>, marks: &[Mark]) -> Scene {
    let mut shared = Shared::of(ctx, marks);
    let n = ctx.record.runs.len().max(1) as f64;
    let (margin, gap) = (20.0, 20.0);
    let panel = if n > 3.0 { 320.0 } else { 360.0 };
    shared.name_where_free(ctx, panel);
    let width = (margin * 2.0 + AXES + n * panel + (n - 1.0) * gap).max(700.0);
    let headline = headline.map_or_else(|| words::headline(ctx.record), str::to_owned);
    let lines = wrap(Type::Title, &headline, width - margin * 2.0);
    let head = 24.0 + 27.0 * lines.len() as f64 + 48.0;
    let notes = notes(ctx);
    let mut scene = Scene::new(width, head + shared.height(), headline);
    for (i, line) in lines.iter().enumerate() {
        scene.text(Type::Title, (margin, 38.0 + 27.0 * i as f64), Anchor::Start, line.clone());
    }
    let about = fit_text(Type::Subtitle, &words::experiment(ctx.record), width - margin * 2.0);
    scene.text(Type::Subtitle, (margin, head - 40.0), Anchor::Start, about);
    for (queue, run) in ctx.record.runs.iter().enumerate() {
        let left = margin + AXES + queue as f64 * (panel + gap);
        column(ctx, &shared, &mut scene, queue, run, (left, head, panel), queue == 0);
    }
    arms::foot(&mut scene, &ctx.record.all_arms(), (margin, width - margin));
    for note in notes.iter().flat_map(|note| wrap(Type::Note, note, width - margin * 2.0)) {
        scene.height += 17.0;
        scene.text(Type::Note, (margin, scene.height - 3.0), Anchor::Start, note);
    }
    scene.height += 13.0;
    scene
}

/// If goodput exceeds the link's rate at some moment, the explanation.
pub(crate) fn above_rate(ctx: &Context<'_>) -> Option<String> {
    let over = |bound: fn(f64) -> f64| {
        let most = |d| Some((largest_goodput(ctx, d).1, rate_mbit(ctx, d)?));
        let mut all = loaded_directions(ctx.record).into_iter().filter_map(most);
        all.any(|(most, rate)| most > bound(rate))
    };
    let cut = if over(|rate| nice_top(rate * SPIKE)) { "; cut at the axis" } else { "" };
    over(|rate| rate).then(|| format!("Goodput above the link's rate: {}{cut}.", words::RELEASED))
}

/// The lines below the overview.
fn notes(ctx: &Context<'_>) -> Vec<String> {
    let mut out = Vec::new();
    out.extend(above_rate(ctx));
    if ctx.rise {
        out.push("Hosts at different distances: each probe's own idle median is subtracted.".into());
    }
    let width = ctx.fine.width / 1_000_000;
    let version = &ctx.record.version;
    let better = "Goodput: higher is better; round trip: lower is better.";
    out.push(format!(
        "{better} Line: median of {width} ms; band: 5th to 95th percentile. goodqueue {version}"
    ));
    out
}

#[cfg(test)]
mod tests {
    use super::super::scene::Item;
    use super::*;
    use crate::record::{FlowPlan, ProbePlan, ProbeSeries, Record, Validity};

    const MS: i64 = 1_000_000;

    /// A second of probes of 20 ms, then ten of 60 ms under load.
    fn record() -> Record {
        let mut record = Record::default();
        record.test.idle_ns = 1_000_000_000;
        record.test.load_ns = 10_000_000_000;
        record.test.step_ns = 200_000_000;
        record.test.flows = vec![FlowPlan { stop_ns: 10_000 * MS, ..FlowPlan::default() }];
        record.test.probes = vec![ProbePlan { interval_ns: 20_000_000, ..ProbePlan::default() }];
        let sent_ns: Vec<i64> = (-50..500).map(|i| i * 20 * MS).collect();
        let rtt_ns: Vec<i64> = sent_ns.iter().map(|&t| if t < 0 { 20 * MS } else { 60 * MS }).collect();
        let probes = vec![ProbeSeries { sent_ns, rtt_ns, ..ProbeSeries::default() }];
        let validity = Validity { valid: true, ..Validity::default() };
        record.runs = vec![Run { queue: "a".into(), complete: true, validity, probes, ..Run::default() }];
        record
    }

    #[test]
    fn published_round_trips_are_lines_beside_ours() {
        let record = record();
        let ctx = Context::new(&record);
        let mark = |run, ns, is_rise, words: &str| Mark { run, ns: ns * MS, is_rise, words: words.into() };
        let marks =
            [mark(0, 121, true, "added"), mark(0, 99, false, "whole"), mark(1, 5, true, "of another run")];
        let lines = across(&ctx, 0, &record.runs[0], &marks);
        let places: Vec<(f64, &str)> = lines.iter().map(|line| (line.at, line.words.as_str())).collect();
        assert_eq!(places, [(20.0, "before the load"), (141.0, "added"), (99.0, "whole")]);
        // The words of marks are above the panels: none of them covers a line of the data.
        let shared = Shared::of(&ctx, &marks);
        assert_eq!(shared.above() - Shared::of(&ctx, &[]).above(), 2.0 * WORDS);
        let panels = 24.0 + 27.0 + 48.0 + shared.above();
        let of_marks = draw(&ctx, Some("headline"), &marks).items.into_iter().filter_map(|item| match item {
            Item::Text { words, at, .. } if words == "added" || words == "whole" => Some(at.1),
            _ => None,
        });
        assert!(of_marks.clone().all(|y| y < panels) && of_marks.count() == 2);
        // The axis reaches to the highest, and every line has its words.
        let said = |marks: &[Mark]| -> Vec<String> {
            let items = draw(&ctx, Some("headline"), marks).items;
            let words = items.into_iter().filter_map(|item| match item {
                Item::Text { words, .. } => Some(words),
                _ => None,
            });
            words.collect()
        };
        assert!(said(&marks).iter().any(|words| words == "150"), "{:?}", said(&marks));
        assert!(!said(&[]).iter().any(|words| words == "150" || words == "added"));
        assert!(
            ["before the load", "added", "whole"].iter().all(|one| said(&marks).iter().any(|w| w == one))
        );
    }
}

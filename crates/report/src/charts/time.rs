//! Charts with time along the horizontal axis.

use super::data::{Bins, Delay, Spread, backlog_over_time, delays_over_time, goodput_over_time, unbroken};
use super::frame::{EndLabel, Frame, Sides, end_labels};
use super::scale::{Scale, nice_top, plain};
use super::scene::{Anchor, Scene, fit_text, text_width};
use super::style::{Ink, Type};
use super::{Chart, Context, Hover, HoverSeries};
use crate::record::{Direction, Run};
use crate::summary::{active_span, direction_name, load_span};
use crate::words;

/// Title of every time axis.
pub(crate) fn time_title(ctx: &Context<'_>) -> &'static str {
    if ctx.loaded() { "time from the start of the load (s)" } else { "time (s)" }
}

/// Where a logarithmic axis of rises begins, ms; smaller ones are drawn at its edge.
pub(crate) const RISE_FLOOR: f64 = 0.1;

/// Room for names beside lines, at most.
const NAMES: f64 = 150.0;

/// Room that the longest of the names needs.
pub(crate) fn room_for<'a>(names: impl Iterator<Item = &'a str>) -> f64 {
    names.map(|n| text_width(Type::Label(0), n)).fold(30.0, f64::max).min(NAMES) + 14.0
}

/// The area, the places and the unit of a time chart.
pub(crate) fn hover(frame: &Frame, bins: &Bins, series: Vec<HoverSeries>) -> Hover {
    Hover {
        area: [frame.left, frame.top, frame.width, frame.height],
        domain: frame.x.domain(),
        log: false,
        places: (bins.middle_s(0), bins.middle_s(bins.count.saturating_sub(1))),
        unit: "s",
        series,
    }
}

/// Draws band and line of one queue.
pub(crate) fn draw_spread(
    scene: &mut Scene,
    frame: &Frame,
    bins: &Bins,
    queue: usize,
    data: &[Option<Spread>],
) {
    let parts = unbroken(data);
    let half = bins.width as f64 / 2e9;
    let band = parts
        .iter()
        .map(|part| {
            let xs = |i: usize| bins.middle_s(i);
            let mut points: Vec<_> = part.iter().map(|(i, s)| frame.at(xs(*i), s.p95)).collect();
            points.extend(part.iter().rev().map(|(i, s)| frame.at(xs(*i), s.p5)));
            points
        })
        .collect();
    let lines = parts
        .iter()
        .map(|part| match part.as_slice() {
            [(i, s)] => {
                let x = bins.middle_s(*i);
                vec![frame.at(x - half, s.p50), frame.at(x + half, s.p50)]
            }
            many => many.iter().map(|(i, s)| frame.at(bins.middle_s(*i), s.p50)).collect(),
        })
        .collect();
    scene.open(queue);
    scene.shape(Ink::Band { queue }, true, band);
    scene.shape(Ink::Line { queue, shade: 0 }, false, lines);
    scene.close();
}

/// Smallest and largest value of bands.
pub(crate) fn extent<'a>(all: impl Iterator<Item = &'a Option<Spread>>) -> Option<(f64, f64)> {
    all.flatten().fold(None, |e, s| {
        let (low, high) = e.unwrap_or((f64::INFINITY, f64::NEG_INFINITY));
        Some((low.min(s.p5), high.max(s.p95)))
    })
}

/// Whether delays span more than two decades.
fn decades(extent: Option<(f64, f64)>) -> bool {
    extent.is_some_and(|(low, high)| low > 0.0 && high / low > 100.0)
}

pub(crate) fn spans_decades(ctx: &Context<'_>, delay: Delay) -> bool {
    let data: Vec<_> =
        ctx.record.runs.iter().map(|r| delays_over_time(r, delay, ctx.rise, &ctx.fine)).collect();
    decades(extent(data.iter().flatten()))
}

/// A vertical scale for delays: from zero, or logarithmic if the range spans more than two decades.
pub(crate) fn delay_scale(extent: Option<(f64, f64)>, bottom: f64, top: f64) -> Scale {
    value_scale(extent, decades(extent), bottom, top)
}

fn value_scale(extent: Option<(f64, f64)>, log: bool, bottom: f64, top: f64) -> Scale {
    match extent {
        Some((low, high)) if log && low > 0.0 => Scale::log(low * 0.9, high * 1.1, bottom, top),
        Some((low, high)) => {
            // A rise slightly below zero is noise of the idle median. The axis need not extend to it.
            let from = if low < -high / 50.0 { -nice_top(-low) } else { 0.0 };
            Scale::linear(from, nice_top(high * 1.04), bottom, top)
        }
        None => Scale::linear(0.0, 1.0, bottom, top),
    }
}

fn spread_series(name: &str, queue: usize, unit: &'static str, data: &[Option<Spread>]) -> HoverSeries {
    HoverSeries {
        queue,
        name: name.into(),
        unit,
        values: data.iter().map(|s| s.map(|s| s.p50)).collect(),
        upper: Some(data.iter().map(|s| s.map(|s| s.p95)).collect()),
        colour: None,
    }
}

/// What differs between overlays of queues.
pub(super) struct Style {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) unit: &'static str,
    pub(super) height: f64,
    pub(super) log: bool,
    /// Where a logarithmic axis begins if values go down to zero.
    pub(super) floor: Option<f64>,
}

/// One line and band per queue on common axes.
pub(super) fn overlay(ctx: &Context<'_>, look: Style, bins: &Bins, data: &[Vec<Option<Spread>>]) -> Chart {
    let (width, height) = (960.0, look.height);
    let Style { id, title, unit, .. } = look;
    let room = room_for(ctx.record.runs.iter().map(|r| r.queue.as_str()));
    let (left, top, low) = (72.0, 14.0, height - 46.0);
    let (from, to) = bins.domain_s();
    let extent = extent(data.iter().flatten()).map(|(low, high)| match look.floor.filter(|_| look.log) {
        Some(floor) => (low.max(floor), high.max(floor * 10.0)),
        None => (low, high),
    });
    let y = value_scale(extent, look.log, low, top);
    let frame = Frame {
        left,
        top,
        width: width - left - room,
        height: low - top,
        x: Scale::linear(from, to, left, width - room),
        y,
    };
    let scale = if y.is_log() { ", logarithmic" } else { "" };
    let mut scene = Scene::new(width, height, format!("{title} over time, one line per queue"));
    frame.draw(&mut scene, Sides { x: Some(time_title(ctx)), y: Some(&format!("{title} ({unit}{scale})")) });
    let mut labels = Vec::new();
    let mut series = Vec::new();
    for (queue, values) in data.iter().enumerate() {
        draw_spread(&mut scene, &frame, bins, queue, values);
        series.push(spread_series(ctx.name(queue), queue, unit, values));
        if let Some(last) = values.iter().rev().flatten().next() {
            let words = fit_text(Type::Label(queue), ctx.name(queue), room - 12.0);
            labels.push(EndLabel { queue, x: frame.right() + 8.0, y: frame.at(0.0, last.p50).1, words });
        }
    }
    if labels.is_empty() {
        scene.text(
            Type::Note,
            (left + frame.width / 2.0, top + frame.height / 2.0),
            Anchor::Middle,
            "nothing was measured",
        );
    }
    end_labels(&mut scene, &frame, labels);
    Chart { id, title, scene, hover: Some(hover(&frame, bins, series)) }
}

/// Delay over time, for all queues.
pub(crate) fn delays(ctx: &Context<'_>, delay: Delay, log: bool) -> Chart {
    let data: Vec<_> =
        ctx.record.runs.iter().map(|r| delays_over_time(r, delay, ctx.rise, &ctx.fine)).collect();
    let id = format!("latency-{}-{}", delay.key(), if log { "log" } else { "linear" });
    let title = words::capital(&ctx.delay_words(delay));
    let look = Style { id, title, unit: "ms", height: 340.0, log, floor: ctx.rise.then_some(RISE_FLOOR) };
    overlay(ctx, look, &ctx.fine, &data)
}

/// Backlog over time, for all queues.
pub(crate) fn backlog(ctx: &Context<'_>, direction: Direction) -> Chart {
    let of = |r: &Run| backlog_over_time(r.shown(direction), &ctx.queue);
    let data: Vec<_> = ctx.record.runs.iter().map(of).collect();
    let name = direction_name(direction);
    let (id, title) = (format!("backlog-{name}"), format!("Backlog {name}"));
    overlay(ctx, Style { id, title, unit: "kB", height: 300.0, log: false, floor: None }, &ctx.queue, &data)
}

/// What to do with data that the queue releases after a flow's stop.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tails {
    Cut,
    Kept,
}

/// A flow's short name and its goodput in every bin.
pub(crate) type FlowLine = (String, Vec<Option<f64>>);

/// Goodput of the flows of one direction, with their short names. With [`Tails::Cut`] each ends at its
/// planned stop, because its line would drop steeply. With [`Tails::Kept`] all end with the load, because a
/// stack would show a gap that the line did not have.
pub(crate) fn flow_lines(ctx: &Context<'_>, run: &Run, direction: Direction, tails: Tails) -> Vec<FlowLine> {
    let end = load_span(ctx.record, run).to;
    ctx.record
        .test
        .flows
        .iter()
        .zip(&run.flows)
        .filter(|(plan, _)| plan.direction == direction)
        .map(|(plan, flow)| {
            let stop = match tails {
                Tails::Cut => active_span(ctx.record, plan).to.min(end),
                Tails::Kept => end,
            };
            (words::short_flow(&plan.name), goodput_over_time(ctx.record, flow, stop, &ctx.coarse))
        })
        .collect()
}

/// Largest goodput of a single flow, and of all flows together, over all runs of a direction.
pub(crate) fn largest_goodput(ctx: &Context<'_>, direction: Direction) -> (f64, f64) {
    let (mut single, mut together) = (0.0_f64, 0.0_f64);
    for run in &ctx.record.runs {
        let lines = flow_lines(ctx, run, direction, Tails::Kept);
        for i in 0..ctx.coarse.count {
            let at = || lines.iter().filter_map(|(_, l)| l.get(i).copied().flatten());
            single = at().fold(single, f64::max);
            together = together.max(at().sum());
        }
    }
    (single, together)
}

/// The rate of the link in Mbit/s, an upper bound for all flows together; if the links of the runs differ,
/// that of the fastest.
pub(crate) fn rate_mbit(ctx: &Context<'_>, direction: Direction) -> Option<f64> {
    ctx.record.runs.iter().filter_map(|run| own_rate_mbit(ctx, run, direction)).reduce(f64::max)
}

/// The rate of a run's link in Mbit/s.
pub(crate) fn own_rate_mbit(ctx: &Context<'_>, run: &Run, direction: Direction) -> Option<f64> {
    let link = run.link_in(ctx.record);
    let path = match direction {
        Direction::Up => &link.up,
        Direction::Down => &link.down,
    };
    path.rate_bps.filter(|_| !path.bypassed).map(|bps| bps as f64 / 1e6)
}

/// Draws the dashed line of the link's rate with its label.
pub(crate) fn draw_rate(scene: &mut Scene, frame: &Frame, rate: f64, named: bool) {
    let y = frame.y.at(rate);
    scene.line(Ink::Limit, (frame.left, y), (frame.right(), y));
    if named {
        scene.text(Type::Note, (frame.right(), y - 5.0), Anchor::End, format!("link {} Mbit/s", plain(rate)));
    }
}

//! Distributions of delays under load.

use super::data::{Delay, distribution, loaded_delays, share_below};
use super::frame::{Frame, Sides};
use super::scale::{Scale, nice_step, nice_top};
use super::scene::{Anchor, Scene, fit_text, text_width};
use super::style::{Ink, Type};
use super::time::RISE_FLOOR;
use super::{Chart, Context, Hover, HoverSeries, slug};
use crate::record::{Record, Run};
use crate::stats::percentile;
use crate::summary::loaded_span;
use crate::table;
use crate::transfers::{Transfer, each, traffic_name};
use crate::words;

/// Places along the axis for the pointer.
const PLACES: usize = 160;
/// Room for a name beside its line.
const NAME_MAX: f64 = 150.0;
/// Bars of a histogram.
const BARS: usize = 48;

fn all_delays(ctx: &Context<'_>, delay: Delay) -> Vec<Vec<i64>> {
    ctx.record.runs.iter().map(|r| loaded_delays(ctx.record, r, delay, ctx.rise)).collect()
}

/// Smallest and largest delay of all queues in ms.
fn range(all: &[Vec<i64>]) -> Option<(f64, f64)> {
    let low = all.iter().filter_map(|v| v.first()).min()?;
    let high = all.iter().filter_map(|v| v.last()).max()?;
    Some((*low as f64 / 1e6, *high as f64 / 1e6))
}

/// The range of a logarithmic axis, if one is possible; for rises it begins at 0.1 ms.
fn log_range(ctx: &Context<'_>, range: Option<(f64, f64)>) -> Option<(f64, f64)> {
    let (low, high) = range?;
    let low = if ctx.rise { low.max(RISE_FLOOR) } else { low };
    (low > 0.0).then_some((low, high.max(low)))
}

pub(crate) fn wide_range(ctx: &Context<'_>, delay: Delay) -> bool {
    let range = range(&all_delays(ctx, delay));
    log_range(ctx, range).is_some_and(|(low, high)| high / low > 10.0)
}

fn delay_axis(ctx: &Context<'_>, all: &[Vec<i64>], log: bool, start: f64, end: f64) -> Scale {
    let range = range(all);
    if let Some((low, high)) = log_range(ctx, range).filter(|_| log) {
        return Scale::log(low * 0.9, high * 1.08, start, end);
    }
    match range {
        Some((low, high)) => {
            let step = nice_step((high - low.min(0.0)) / 8.0);
            // A rise slightly below zero is noise of the idle median. The axis need not extend to it.
            let from = if low < -high / 50.0 { (low / step).floor() * step } else { 0.0 };
            Scale::linear(from, nice_top(high), start, end)
        }
        None => Scale::linear(0.0, 1.0, start, end),
    }
}

fn suffix(log: bool) -> &'static str {
    if log { "log" } else { "linear" }
}

fn axis_title(ctx: &Context<'_>, delay: Delay, x: &Scale) -> String {
    let scale = if x.is_log() { ", logarithmic" } else { "" };
    // The words for a rise are long enough already; the title has these.
    let when = if ctx.rise { "" } else { ctx.under_load() };
    format!("{}{when} (ms{scale})", ctx.delay_words(delay))
}

/// For several records shown together: the name of each record, and the record of each run; `None` for a
/// single record.
pub(crate) fn sources(record: &Record) -> Option<(Vec<&str>, Vec<usize>)> {
    let mut names: Vec<&str> = Vec::new();
    let mut of = Vec::new();
    for run in &record.runs {
        let (name, _) = run.queue.split_once(": ")?;
        of.push(names.iter().position(|&known| known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        }));
    }
    // The title of a merged record has the names of all of them.
    (names.len() > 1 && record.title == names.join(", ")).then_some((names, of))
}

/// The share of samples at or below a delay.
pub(crate) fn cumulative(ctx: &Context<'_>, delay: Delay, log: bool) -> Chart {
    let all = all_delays(ctx, delay);
    let x = delay_axis(ctx, &all, log, LEFT, RIGHT);
    let words_of = words::capital(&ctx.delay_words(delay));
    let title = format!("{words_of}: cumulative distribution{}", ctx.under_load());
    let curves = Curves {
        id: format!("cdf-{}-{}", delay.key(), suffix(log)),
        title,
        x_title: axis_title(ctx, delay, &x),
        y_title: "samples at or below (%)",
        unit: "ms",
    };
    draw_curves(ctx, &all, x, curves)
}

/// The completion times of a group of flows, and their slowdowns: shares of all flows that began in the
/// loaded interval, so that a curve ends below 100 % if some had not ended.
pub(crate) fn transfers(ctx: &Context<'_>, group: usize) -> [Chart; 2] {
    let of = |value: &dyn Fn(&Transfer) -> Option<i64>| -> Vec<Vec<i64>> {
        let of_run = |run: &Run| {
            let loaded = loaded_span(ctx.record, run);
            let flows = run.traffic.get(group).into_iter().flat_map(each);
            let inside = flows.filter(|flow| loaded.contains(flow.start_ns));
            let mut values: Vec<i64> = inside.map(|flow| value(&flow).unwrap_or(i64::MAX)).collect();
            values.sort_unstable();
            values
        };
        ctx.record.runs.iter().map(of_run).collect()
    };
    let name = traffic_name(ctx.record, group);
    let chart = |key: &str, words: &str, unit: &'static str, all: Vec<Vec<i64>>| {
        let known = all.iter().flatten().filter(|&&value| value < i64::MAX);
        let range = known.fold(None, |range: Option<(i64, i64)>, &value| {
            Some(range.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
        });
        let (low, high) = range.filter(|&(low, _)| low > 0).unwrap_or((1_000_000, 10_000_000));
        let x = Scale::log(low as f64 / 1e6 * 0.9, high as f64 / 1e6 * 1.08, LEFT, RIGHT);
        let curves = Curves {
            id: format!("{key}-{}", slug(&name)),
            title: format!("{name}: {words}, cumulative distribution"),
            x_title: format!("{words} ({}logarithmic)", if unit.is_empty() { "" } else { "ms, " }),
            y_title: "flows at or below (%)",
            unit,
        };
        draw_curves(ctx, &all, x, curves)
    };
    [
        chart("fct", "flow completion time", "ms", of(&|flow| flow.took_ns)),
        // A millionth of a slowdown takes the place of a nanosecond.
        chart("slowdown", "slowdown", "", of(&Transfer::slowdown)),
    ]
}

/// Left and right edge of a cumulative distribution, and its size.
const LEFT: f64 = 62.0;
const RIGHT: f64 = WIDTH - 16.0;
const WIDTH: f64 = 470.0;
const HEIGHT: f64 = 340.0;

/// The words of a cumulative distribution.
struct Curves {
    id: String,
    title: String,
    x_title: String,
    y_title: &'static str,
    /// Of the values, for the pointer.
    unit: &'static str,
}

/// The share of values, each in millionths of the axis' unit, at or below each place of the axis.
fn draw_curves(ctx: &Context<'_>, all: &[Vec<i64>], x: Scale, curves: Curves) -> Chart {
    let dashes = sources(ctx.record).map(|(_, of)| of).unwrap_or_default();
    let (top, low) = (30.0, HEIGHT - 46.0);
    let y = Scale::linear(0.0, 100.0, low, top);
    let frame = Frame { left: LEFT, top, width: RIGHT - LEFT, height: low - top, x, y };
    let mut scene = Scene::new(WIDTH, HEIGHT, format!("{}, a line per queue", curves.title));
    frame.draw(&mut scene, Sides { x: Some(&curves.x_title), y: Some(curves.y_title) });
    let mut series = Vec::new();
    for (queue, sorted) in all.iter().enumerate() {
        let mut points = Vec::new();
        let mut share = 0.0;
        for (value, percent) in distribution(sorted) {
            if value > NO_END {
                break;
            }
            let value = value.max(x.domain().0);
            points.push(frame.at(value, share));
            points.push(frame.at(value, percent));
            share = percent;
        }
        scene.open(queue);
        scene.shape(Ink::Line { queue, shade: dashes.get(queue).copied().unwrap_or(0) }, false, vec![points]);
        scene.close();
        let at = |i: usize| x.value_at(i as f64 / (PLACES - 1) as f64);
        let values = (0..PLACES).map(|i| share_below(sorted, at(i))).collect();
        series.push(HoverSeries {
            queue,
            name: ctx.name(queue).into(),
            unit: "%",
            values,
            upper: None,
            colour: None,
        });
    }
    line_labels(ctx, &mut scene, &frame, all);
    let hover = Hover {
        area: [frame.left, frame.top, frame.width, frame.height],
        domain: x.domain(),
        log: x.is_log(),
        places: x.domain(),
        unit: curves.unit,
        series,
    };
    Chart { id: curves.id, title: curves.title, scene, hover: Some(hover) }
}

/// Above all values that were measured: of what had not ended.
const NO_END: f64 = 9e12;

/// The names, each beside its line: on the left for lines at the far right, otherwise on the right at a
/// height with room before the next line.
fn line_labels(ctx: &Context<'_>, scene: &mut Scene, frame: &Frame, all: &[Vec<i64>]) {
    let x_at = |q: usize, p: u32| {
        percentile(&all[q], p.clamp(1, 100)).map(|v| frame.x.at(v as f64 / 1e6).max(frame.left))
    };
    let mut order: Vec<usize> = (0..all.len()).filter(|&q| !all[q].is_empty()).collect();
    order.sort_by_key(|&q| percentile(&all[q], 50));
    let mut taken: Vec<u32> = Vec::new();
    for (i, &queue) in order.iter().enumerate() {
        let wide = text_width(Type::Label(queue), ctx.name(queue)).min(NAME_MAX) + 16.0;
        let middle = x_at(queue, 50).unwrap_or(frame.left);
        let to_right = middle < frame.left + frame.width * 0.62;
        // Room at a height: from this line to its neighbour, also slightly above and below.
        let room = |p: u32| {
            let around = [p.saturating_sub(6), p, p + 6];
            let edge = if to_right { order.get(i + 1) } else { i.checked_sub(1).and_then(|i| order.get(i)) };
            let gaps = around.map(|p| {
                let own = x_at(queue, p).unwrap_or(middle);
                match edge.and_then(|&q| x_at(q, p)) {
                    Some(next) => (next - own).abs(),
                    None if to_right => frame.right() - own,
                    None => own - frame.left,
                }
            });
            gaps.into_iter().fold(f64::INFINITY, f64::min)
        };
        let free = |p: &u32| taken.iter().all(|t| t.abs_diff(*p) >= 9);
        let places = [62, 50, 38, 74, 26, 14, 86, 95, 5];
        let best = places.into_iter().filter(free).find(|&p| room(p) >= wide);
        // If there is no room, the colour alone identifies the line; the names are above the charts.
        let Some(share) = best.or_else(|| places.into_iter().find(free)) else { continue };
        taken.push(share);
        let x = x_at(queue, share).unwrap_or(middle);
        let (at, anchor) = if to_right { (x + 9.0, Anchor::Start) } else { (x - 9.0, Anchor::End) };
        let limit = if to_right { frame.right() - at } else { at - frame.left };
        let words = fit_text(Type::Label(queue), ctx.name(queue), limit.clamp(30.0, NAME_MAX));
        scene.open(queue);
        scene.text(Type::Label(queue), (at, frame.y.at(f64::from(share)) + 4.0), anchor, words);
        scene.close();
    }
}

/// Shares of samples per class of delay, a row per queue on a common axis.
pub(crate) fn histogram(ctx: &Context<'_>, delay: Delay, log: bool) -> Chart {
    let all = all_delays(ctx, delay);
    let rows = all.len().max(1) as f64;
    let (width, top) = (470.0, 6.0);
    let height = (340.0_f64).max(top + rows * 84.0 + 46.0);
    let (left, right, low) = (62.0, width - 16.0, height - 46.0);
    let x = delay_axis(ctx, &all, log, left, right);
    let words_of = words::capital(&ctx.delay_words(delay));
    let mut scene =
        Scene::new(width, height, format!("{words_of}: histogram{}, a row per queue", ctx.under_load()));
    let counts: Vec<Vec<f64>> = all.iter().map(|v| bars(v, &x)).collect();
    let tallest = nice_top(counts.iter().flatten().copied().fold(1.0, f64::max));
    let pitch = (low - top) / rows;
    let mut series = Vec::new();
    for (queue, shares) in counts.iter().enumerate() {
        let row_top = top + pitch * queue as f64 + 30.0;
        let row_low = top + pitch * (queue + 1) as f64;
        let y = Scale::linear(0.0, tallest, row_low, row_top);
        let frame = Frame { left, top: row_top, width: right - left, height: row_low - row_top, x, y };
        let last = queue + 1 == counts.len();
        let title = axis_title(ctx, delay, &x);
        frame.draw(&mut scene, Sides { x: last.then_some(title.as_str()), y: Some("%") });
        draw_row(ctx, &mut scene, &frame, queue, &all[queue], shares);
        let values = shares.iter().map(|s| Some(*s)).collect();
        series.push(HoverSeries {
            queue,
            name: ctx.name(queue).into(),
            unit: "%",
            values,
            upper: None,
            colour: None,
        });
    }
    let half = 0.5 / BARS as f64;
    let hover = Hover {
        area: [left, top, right - left, low - top],
        domain: x.domain(),
        log: x.is_log(),
        places: (x.value_at(half), x.value_at(1.0 - half)),
        unit: "ms",
        series,
    };
    Chart {
        id: format!("histogram-{}-{}", delay.key(), suffix(log)),
        title: format!("{words_of}: histogram{}", ctx.under_load()),
        scene,
        hover: Some(hover),
    }
}

/// Percentage of the samples in each of [`BARS`] equal parts of the axis.
fn bars(sorted: &[i64], x: &Scale) -> Vec<f64> {
    let edge = |i: usize| x.value_at(i as f64 / BARS as f64);
    (0..BARS)
        .map(|i| {
            let upper = if i + 1 == BARS { Some(100.0) } else { share_below(sorted, edge(i + 1)) };
            let lower = if i == 0 { Some(0.0) } else { share_below(sorted, edge(i)) };
            if sorted.is_empty() { 0.0 } else { (upper.unwrap_or(0.0) - lower.unwrap_or(0.0)).max(0.0) }
        })
        .collect()
}

fn draw_row(
    ctx: &Context<'_>,
    scene: &mut Scene,
    frame: &Frame,
    queue: usize,
    sorted: &[i64],
    shares: &[f64],
) {
    let bar = frame.width / BARS as f64;
    let parts = shares
        .iter()
        .enumerate()
        .filter(|(_, s)| **s > 0.0)
        .map(|(i, s)| {
            let x = frame.left + bar * i as f64;
            let (y, low) = (frame.y.at(*s).min(frame.bottom() - 1.0), frame.bottom());
            vec![(x, low), (x, y), (x + bar, y), (x + bar, low)]
        })
        .collect();
    scene.open(queue);
    scene.shape(Ink::Area { queue, shade: 0 }, true, parts);
    let middle = percentile(sorted, 50);
    let text = match middle {
        Some(m) => format!("{}, median {} ms", ctx.name(queue), table::ms(Some(m))),
        None => format!("{}: nothing was measured", ctx.name(queue)),
    };
    let text = fit_text(Type::Label(queue), &text, frame.width);
    let x = middle.map_or(frame.left, |m| frame.x.at(m as f64 / 1e6));
    let (at, anchor) = if x > frame.left + frame.width / 2.0 {
        (frame.right(), Anchor::End)
    } else {
        (frame.left + 4.0, Anchor::Start)
    };
    scene.text(Type::Label(queue), (at, frame.top - 6.0), anchor, text);
    scene.close();
}

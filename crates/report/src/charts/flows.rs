//! The goodput of every flow: one line each, or quantiles for many flows.

use super::data::unbroken;
use super::frame::{EndLabel, Frame, Sides, end_labels};
use super::scale::{Scale, nice_top};
use super::scene::{Anchor, Point, Scene, fit_text, text_width};
use super::style::{Ink, Type};
use super::time::{FlowLine, Tails, flow_lines, hover, largest_goodput, room_for, time_title};
use super::{Chart, Context, HoverSeries, slug};
use crate::record::Direction;
use crate::summary::direction_name;

/// Number of flows from which quantiles are drawn instead of lines.
pub(crate) const BANDS: usize = 8;

/// Goodput of the flows of one direction at one time: minimum, 25 %, median, 75 %, maximum; and their sum.
#[derive(Clone, Copy)]
pub(crate) struct Quantiles {
    pub(crate) five: [f64; 5],
    pub(crate) sum: f64,
}

/// [`Quantiles`] of every bin, by nearest rank; gaps where no flow ran.
pub(crate) fn quantiles(lines: &[FlowLine], bins: usize) -> Vec<Option<Quantiles>> {
    let at = |i: usize| {
        let mut all: Vec<f64> = lines.iter().filter_map(|(_, l)| l.get(i).copied().flatten()).collect();
        all.sort_by(f64::total_cmp);
        let rank = |percent: usize| all.get((percent * all.len()).div_ceil(100).max(1) - 1).copied();
        let five = [rank(0)?, rank(25)?, rank(50)?, rank(75)?, rank(100)?];
        Some(Quantiles { five, sum: all.iter().sum() })
    };
    (0..bins).map(at).collect()
}

/// Values for the pointer in a chart of many flows: the sum, the highest, the median and the lowest flow.
pub(crate) fn quantile_series(queue: usize, data: &[Option<Quantiles>], more: &str) -> Vec<HoverSeries> {
    let of = |name: &str, value: fn(&Quantiles) -> f64| HoverSeries {
        queue,
        name: format!("{name}{more}"),
        unit: "Mbit/s",
        values: data.iter().map(|q| q.as_ref().map(value)).collect(),
        upper: None,
        colour: None,
    };
    vec![
        of("all flows", |q| q.sum),
        of("highest flow", |q| q.five[4]),
        of("median flow", |q| q.five[2]),
        of("lowest flow", |q| q.five[0]),
    ]
}

/// The bands, the median, and the two flows with the highest and the lowest mean.
fn draw_bands(
    ctx: &Context<'_>,
    scene: &mut Scene,
    frame: &Frame,
    (queue, lines): (usize, &[FlowLine]),
    room: f64,
) -> Vec<HoverSeries> {
    let data = quantiles(lines, ctx.coarse.count);
    let parts = unbroken(&data);
    let x = |i: usize| ctx.coarse.middle_s(i);
    let band = |low: usize, high: usize| -> Vec<Vec<Point>> {
        let area = |part: &Vec<(usize, Quantiles)>| {
            let upper = part.iter().map(|(i, q)| frame.at(x(*i), q.five[high]));
            let lower = part.iter().rev().map(|(i, q)| frame.at(x(*i), q.five[low]));
            upper.chain(lower).collect()
        };
        parts.iter().map(area).collect()
    };
    let line = |values: &[Option<f64>]| -> Vec<Vec<Point>> {
        unbroken(values).iter().map(|p| p.iter().map(|(i, v)| frame.at(x(*i), *v)).collect()).collect()
    };
    scene.open(queue);
    scene.shape(Ink::Band { queue }, true, band(0, 4));
    scene.shape(Ink::Band { queue }, true, band(1, 3));
    let median: Vec<Option<f64>> = data.iter().map(|q| q.as_ref().map(|q| q.five[2])).collect();
    scene.shape(Ink::Line { queue, shade: 0 }, false, line(&median));
    let mean = |values: &[Option<f64>]| {
        let known: Vec<f64> = values.iter().flatten().copied().collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    let means = lines.iter().enumerate().filter_map(|(i, (_, values))| Some((i, mean(values)?)));
    let highest = means.clone().max_by(|a, b| a.1.total_cmp(&b.1));
    let lowest = means.min_by(|a, b| a.1.total_cmp(&b.1));
    let mut labels = Vec::new();
    let mut label = |words: &str, at: Option<f64>| {
        if let Some(v) = at {
            let words = fit_text(Type::Label(queue), words, room - 12.0);
            labels.push(EndLabel { queue, x: frame.right() + 8.0, y: frame.at(0.0, v).1, words });
        }
    };
    let last = |values: &[Option<f64>]| values.iter().rev().flatten().next().copied();
    label("median", last(&median));
    for (words, shade, flow) in [("highest", 2, highest), ("lowest", 1, lowest)] {
        if let Some((name, values)) = flow.and_then(|(i, _)| lines.get(i)) {
            scene.shape(Ink::Line { queue, shade }, false, line(values));
            label(&format!("{words}: {}", name.trim_start_matches("flow ")), last(values));
        }
    }
    scene.close();
    end_labels(scene, frame, labels);
    quantile_series(queue, &data, "")
}

/// Every flow of a direction, so that the reader can pick one: names, and for each queue the chart and its
/// lines.
pub(crate) struct Picks {
    /// Top of the vertical axes, which begin at zero.
    pub(crate) top: f64,
    pub(crate) names: Vec<String>,
    pub(crate) lines: Vec<Vec<Vec<Option<f64>>>>,
}

/// [`Picks`], if there are so many flows that bands are drawn.
pub(crate) fn picks(ctx: &Context<'_>, direction: Direction) -> Option<Picks> {
    let all: Vec<Vec<FlowLine>> =
        ctx.record.runs.iter().map(|run| flow_lines(ctx, run, direction, Tails::Cut)).collect();
    let names: Vec<String> = all.first()?.iter().map(|(name, _)| name.clone()).collect();
    let lines = all.into_iter().map(|run| run.into_iter().map(|(_, values)| values).collect()).collect();
    let top = nice_top(largest_goodput(ctx, direction).0);
    (names.len() >= BANDS).then_some(Picks { top, names, lines })
}

/// The goodput of every flow over time, one drawing per queue with common axes.
pub(crate) fn goodput(ctx: &Context<'_>, direction: Direction) -> Vec<Chart> {
    let (single, _) = largest_goodput(ctx, direction);
    let top = nice_top(single);
    let name = direction_name(direction);
    ctx.record
        .runs
        .iter()
        .enumerate()
        .map(|(queue, run)| {
            let mut chart = flows_of(ctx, queue, &flow_lines(ctx, run, direction, Tails::Cut), top);
            chart.id = format!("goodput-{name}-{queue}-{}", slug(&run.queue));
            chart.title = format!("{}: goodput per flow, {name}", run.queue);
            chart.scene.description = format!("Goodput of each flow {name} over time, {}", run.queue);
            chart
        })
        .collect()
}

fn flows_of(ctx: &Context<'_>, queue: usize, lines: &[FlowLine], top_value: f64) -> Chart {
    let (width, height) = (470.0, 250.0);
    let room =
        if lines.len() >= BANDS { 110.0 } else { room_for(lines.iter().map(|(n, _)| n.as_str())).min(110.0) };
    let (left, top, low) = (62.0, 12.0, height - 46.0);
    let (from, to) = ctx.coarse.domain_s();
    let frame = Frame {
        left,
        top,
        width: width - left - room,
        height: low - top,
        x: Scale::linear(from, to, left, width - room),
        y: Scale::linear(0.0, top_value, low, top),
    };
    let mut scene = Scene::new(width, height, String::new());
    frame.draw(&mut scene, Sides { x: Some(time_title(ctx)), y: Some("goodput (Mbit/s)") });
    let (mut labels, mut early) = (Vec::new(), Vec::new());
    let mut series = Vec::new();
    if lines.len() >= BANDS {
        let series = draw_bands(ctx, &mut scene, &frame, (queue, lines), room);
        let hover = hover(&frame, &ctx.coarse, series);
        return Chart { id: String::new(), title: String::new(), scene, hover: Some(hover) };
    }
    for (shade, (name, values)) in lines.iter().enumerate() {
        let parts = unbroken(values)
            .iter()
            .map(|p| p.iter().map(|(i, v)| frame.at(ctx.coarse.middle_s(*i), *v)).collect())
            .collect();
        scene.open(queue);
        scene.shape(Ink::Line { queue, shade }, false, parts);
        scene.close();
        let last = values.iter().enumerate().rev().find_map(|(i, v)| v.map(|v| (i, v)));
        if let Some((i, v)) = last {
            let (x, y) = frame.at(ctx.coarse.middle_s(i), v);
            if x < frame.right() - 60.0 {
                early.push(shade);
            } else {
                let words = fit_text(Type::Label(queue), name, room - 12.0);
                labels.push(EndLabel { queue, x: frame.right() + 8.0, y, words });
            }
        }
        series.push(HoverSeries {
            queue,
            name: name.clone(),
            unit: "Mbit/s",
            values: values.clone(),
            upper: None,
            colour: None,
        });
    }
    end_labels(&mut scene, &frame, labels);
    name_at_peaks(ctx, &mut scene, &frame, (queue, lines), &early);
    Chart { id: String::new(), title: String::new(), scene, hover: Some(hover(&frame, &ctx.coarse, series)) }
}

/// Labels lines that end within the plot. Each name is above the place where its line is furthest from the
/// others; no name covers another.
fn name_at_peaks(
    ctx: &Context<'_>,
    scene: &mut Scene,
    frame: &Frame,
    (queue, lines): (usize, &[FlowLine]),
    early: &[usize],
) {
    const HIGH: f64 = 15.0;
    let mut taken: Vec<(f64, f64, f64)> = Vec::new();
    for &own in early {
        let (name, values) = &lines[own];
        let half = text_width(Type::Label(queue), name) / 2.0;
        let others = |i: usize| {
            let rest = lines.iter().enumerate().filter(|(other, _)| *other != own);
            rest.filter_map(|(_, (_, l))| l.get(i).copied().flatten()).fold(0.0, f64::max)
        };
        let mut places: Vec<(f64, usize)> =
            values.iter().enumerate().filter_map(|(i, v)| v.map(|v| (v - others(i), i))).collect();
        places.sort_by(|a, b| b.0.total_cmp(&a.0));
        let at = |i: usize| {
            let (low, high) = (frame.left + half + 2.0, frame.right() - half);
            let x = frame.at(ctx.coarse.middle_s(i), 0.0).0.clamp(low, high.max(low));
            let near = |j: usize| (frame.at(ctx.coarse.middle_s(j), 0.0).0 - x).abs() <= half;
            let peak = (0..values.len()).filter(|&j| near(j)).filter_map(|j| values[j]).fold(0.0, f64::max);
            (x, (frame.at(0.0, peak).1 - 7.0).max(frame.top + 10.0))
        };
        let free = |(x, y): &Point| {
            taken.iter().all(|(tx, ty, th)| (tx - x).abs() > th + half + 4.0 || (ty - y).abs() > HIGH)
        };
        let candidates = || places.iter().map(|&(_, i)| at(i));
        let Some(place) = candidates().find(free).or_else(|| candidates().next()) else { continue };
        taken.push((place.0, place.1, half));
        scene.open(queue);
        scene.text(Type::Label(queue), place, Anchor::Middle, name.clone());
        scene.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_a_moment_by_hand() {
        let flow = |v: Option<f64>| (String::new(), vec![v, None]);
        let mut lines: Vec<FlowLine> = (1..=8).map(|v| flow(Some(f64::from(v)))).collect();
        lines.push(flow(None));
        let data = quantiles(&lines, 2);
        let first = data[0].as_ref().map(|q| (q.five, q.sum));
        assert_eq!(first, Some(([1.0, 2.0, 4.0, 6.0, 8.0], 36.0)));
        assert!(data[1].is_none());
    }
}

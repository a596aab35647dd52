//! Airtime over time and the round trips of each station: a drawing per radio, common axes.

use super::airtime::{colour, name_of, prominent, spoken};
use super::data::{distribution, share_below};
use super::frame::{Frame, Sides};
use super::scale::Scale;
use super::scene::{Anchor, Point, Scene, fit_text, text_width};
use super::style::{Ink, Type};
use super::time::time_title;
use super::{Chart, Context, Hover, HoverSeries, slug};
use crate::record::Run;
use crate::summary::{Summary, round_trips};
use crate::wifi::{Radio, Shares, Station};

const WIDTH: f64 = 470.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = WIDTH - 16.0;
/// Most places along the time axis of a drawing; shorter steps are merged.
const PLACES: usize = 320;
/// Places along the axis of round trips that can be pointed at.
const DELAYS: usize = 160;
/// Stations with their own colour and name; the others are drawn together.
const NAMED: usize = 8;
/// Colour of time that belongs to no station.
const NOBODY: usize = 5;

/// Every radio of the record with the index of its run.
fn radios<'a>(ctx: &Context<'a>) -> impl Iterator<Item = (usize, &'a Run, usize, &'a Radio)> + use<'a> {
    let runs = ctx.record.runs.iter().enumerate();
    runs.flat_map(|(q, run)| run.radios.iter().enumerate().map(move |(i, radio)| (q, run, i, radio)))
}

fn id(kind: &str, queue: usize, run: &Run, radio: usize) -> String {
    let radio = if run.radios.len() > 1 { format!("-{radio}") } else { String::new() };
    format!("{kind}-{queue}{radio}-{}", slug(&run.queue))
}

/// The names, in their colours, in rows above a drawing; returns where the drawing may begin.
fn legend(scene: &mut Scene, names: &[(Ink, usize, String)]) -> f64 {
    const SWATCH: f64 = 11.0;
    let (mut x, mut y) = (LEFT, 14.0);
    for (ink, colour, name) in names {
        let style = Type::Label(*colour);
        let name = fit_text(style, name, 160.0);
        let wide = SWATCH + 5.0 + text_width(style, &name) + 14.0;
        if x + wide > RIGHT + 14.0 && x > LEFT {
            (x, y) = (LEFT, y + 18.0);
        }
        let (top, bottom) = (y - 10.0, y);
        let swatch = vec![(x, top), (x + SWATCH, top), (x + SWATCH, bottom), (x, bottom)];
        scene.shape(*ink, true, vec![swatch]);
        scene.text(style, (x + SWATCH + 5.0, y), Anchor::Start, name);
        x += wide;
    }
    y + 12.0
}

/// One layer of the stack: share of each place in percent.
struct Layer {
    name: String,
    ink: Ink,
    colour: usize,
    values: Vec<Option<f64>>,
}

/// Steps merged into at most [`PLACES`] places.
struct Places {
    /// Steps in each place.
    group: usize,
    count: usize,
    from_s: f64,
    width_ns: f64,
}

impl Places {
    fn of(shares: &Shares) -> Self {
        let steps = shares.t_ns.len();
        let group = steps.div_ceil(PLACES).max(1);
        let step_ns = shares.step_ns.min(1 << 50) as f64;
        let from_s = shares.t_ns.first().map_or(0.0, |&t| (t as f64 - step_ns) / 1e9);
        Self { group, count: steps / group, from_s, width_ns: step_ns * group as f64 }
    }

    /// Where a place begins, s.
    fn edge(&self, i: usize) -> f64 {
        self.from_s + i as f64 * self.width_ns / 1e9
    }

    /// A column as percent of the time of each place.
    fn percent(&self, column: &[u64]) -> Vec<Option<f64>> {
        let whole = self.width_ns;
        (0..self.count)
            .map(|i| {
                let part = column.get(i * self.group..(i + 1) * self.group)?;
                let held: f64 = part.iter().map(|&ns| ns as f64).sum();
                (whole > 0.0).then(|| (held * 100.0 / whole).min(100.0))
            })
            .collect()
    }
}

fn layers(runs: &[Run], radio: &Radio, places: &Places) -> Vec<Layer> {
    let shares = &radio.shares;
    let chosen = prominent(runs, NAMED);
    let every = || radio.stations.iter().zip(&shares.stations).enumerate();
    let stations = every().filter(|(i, _)| chosen.contains(i)).map(|(i, (station, column))| {
        let colour = colour(runs.len(), i);
        let ink = Ink::Block { queue: colour };
        Layer { name: station.name.clone(), ink, colour, values: places.percent(column) }
    });
    let others: Vec<&Vec<u64>> =
        every().filter(|(i, _)| !chosen.contains(i)).map(|(_, (_, column))| column).collect();
    let together = (!others.is_empty()).then(|| Layer {
        name: format!("{} others", others.len()),
        ink: Ink::Block { queue: NOBODY },
        colour: NOBODY,
        values: places.percent(&together(&others, shares.t_ns.len())),
    });
    let rest = [
        ("collisions", Ink::Clash, &shares.collision_ns),
        ("contention", Ink::Faint { queue: NOBODY }, &shares.overhead_ns),
        ("beacons, multicast", Ink::Block { queue: NOBODY }, &shares.other_ns),
        ("idle", Ink::Paper, &shares.idle_ns),
    ];
    let rest = rest.into_iter().filter(|(_, _, column)| column.iter().any(|&ns| ns > 0)).map(
        |(name, ink, column)| Layer {
            name: name.into(),
            ink,
            colour: NOBODY,
            values: places.percent(column),
        },
    );
    stations.chain(together).chain(rest).collect()
}

/// The sum of columns, up to the end of the shortest.
fn together(columns: &[&Vec<u64>], steps: usize) -> Vec<u64> {
    let at =
        |i: usize| columns.iter().try_fold(0_u64, |sum, column| Some(sum.saturating_add(*column.get(i)?)));
    (0..steps).map_while(at).collect()
}

/// The use of the medium over time.
pub(crate) fn shares(ctx: &Context<'_>) -> Vec<(usize, Chart)> {
    let ends = radios(ctx).map(|(_, _, _, radio)| {
        let places = Places::of(&radio.shares);
        (places.edge(0), places.edge(places.count))
    });
    let (from, to) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), (c, d)| (a.min(c), b.max(d)));
    let all = Summary::all(ctx.record);
    radios(ctx)
        .filter(|(_, _, _, radio)| !radio.shares.t_ns.is_empty())
        .map(|(queue, run, i, radio)| {
            let name = name_of(run, radio);
            let mut chart = stack(ctx, queue, radio, (from, to));
            chart.id = id("airtime-shares", queue, run, i);
            chart.title = format!("{name}: airtime over time");
            let said = all.get(queue).and_then(|s| s.radios.get(i)).map(spoken).unwrap_or_default();
            chart.scene.description = format!("Airtime over time, {name}. Over the whole time: {said}");
            (queue, chart)
        })
        .collect()
}

fn stack(ctx: &Context<'_>, queue: usize, radio: &Radio, (from, to): (f64, f64)) -> Chart {
    let places = Places::of(&radio.shares);
    let layers = layers(&ctx.record.runs, radio, &places);
    let mut scene = Scene::new(WIDTH, 0.0, String::new());
    let drawn = layers.iter().filter(|l| l.ink != Ink::Paper);
    let names: Vec<_> = drawn.map(|l| (l.ink, l.colour, l.name.clone())).collect();
    let top = legend(&mut scene, &names);
    let (height, width) = (190.0, RIGHT - LEFT);
    scene.height = top + height + 46.0;
    let x = Scale::linear(from, to, LEFT, RIGHT);
    let y = Scale::linear(0.0, 100.0, top + height, top);
    let frame = Frame { left: LEFT, top, width, height, x, y };
    frame.draw(&mut scene, Sides { x: Some(time_title(ctx)), y: Some("share of the time (%)") });
    let mut base = vec![0.0; places.count];
    let mut series = Vec::new();
    for layer in layers {
        let mut parts = Vec::new();
        for (i, value) in layer.values.iter().enumerate() {
            let (low, high) = (base[i], base[i] + value.unwrap_or(0.0));
            let corners = [(i, low), (i, high), (i + 1, high), (i + 1, low)];
            if high > low {
                parts.push(corners.map(|(i, v)| frame.at(places.edge(i), v)).to_vec());
            }
            base[i] = high;
        }
        if layer.ink != Ink::Paper {
            scene.shape(layer.ink, true, joined(parts));
        }
        let Layer { name, colour, values, .. } = layer;
        series.push(HoverSeries { queue, name, unit: "%", values, upper: None, colour: Some(colour) });
    }
    let half = places.width_ns / 2e9;
    let hover = Hover {
        area: [LEFT, top, width, height],
        domain: frame.x.domain(),
        log: false,
        places: (places.edge(0) + half, places.edge(places.count.max(1)) - half),
        unit: "s",
        series,
    };
    Chart { id: String::new(), title: String::new(), scene, hover: Some(hover) }
}

/// Merges adjacent boxes, from left to right, into one outline, without seams.
fn joined(boxes: Vec<Vec<Point>>) -> Vec<Vec<Point>> {
    let mut out: Vec<[Vec<Point>; 2]> = Vec::new();
    for corners in boxes {
        let [a, b, c, d] = corners[..] else { continue };
        match out.last_mut() {
            Some([upper, lower]) if lower.last().is_some_and(|p| (p.0 - a.0).abs() < 1e-6) => {
                upper.extend([b, c]);
                lower.extend([a, d]);
            }
            _ => out.push([vec![b, c], vec![a, d]]),
        }
    }
    let close = |[mut upper, lower]: [Vec<Point>; 2]| {
        upper.extend(lower.into_iter().rev());
        upper
    };
    out.into_iter().map(close).collect()
}

/// The cumulative distribution of the round trips under load, a line for each station.
pub(crate) fn trips(ctx: &Context<'_>) -> Vec<(usize, Chart)> {
    let of = |run: &Run, radio: &Radio| -> Vec<Vec<i64>> {
        radio.stations.iter().map(|s| round_trips(ctx.record, run, s)).collect()
    };
    let all: Vec<_> =
        radios(ctx).map(|(queue, run, i, radio)| (queue, run, i, radio, of(run, radio))).collect();
    let every = || all.iter().flat_map(|(.., trips)| trips);
    let low = every().filter_map(|t| t.first()).min();
    let high = every().filter_map(|t| t.last()).max();
    let (Some(&low), Some(&high)) = (low, high) else { return Vec::new() };
    let x = if low > 0 && high / low >= 10 {
        Scale::log(low as f64 / 1e6 * 0.9, high as f64 / 1e6 * 1.08, LEFT, RIGHT)
    } else {
        Scale::linear(0.0, high as f64 / 1e6 * 1.04, LEFT, RIGHT)
    };
    all.iter()
        .map(|(queue, run, i, radio, trips)| {
            let name = name_of(run, radio);
            let mut chart = lines(ctx, *queue, radio, trips, x);
            chart.id = id("airtime-rtt", *queue, run, *i);
            chart.title = format!("{name}: round trips of each station");
            chart.scene.description = format!(
                "Cumulative distribution of the round-trip time{}, a line per station, {name}",
                ctx.under_load(),
            );
            (*queue, chart)
        })
        .collect()
}

fn lines(ctx: &Context<'_>, queue: usize, radio: &Radio, trips: &[Vec<i64>], x: Scale) -> Chart {
    let runs = ctx.record.runs.len();
    let mut scene = Scene::new(WIDTH, 0.0, String::new());
    let named = |(i, s): (usize, &Station)| {
        let queue = colour(runs, i);
        (Ink::Block { queue }, queue, s.name.clone())
    };
    let chosen = prominent(&ctx.record.runs, NAMED);
    let mine = |i: &usize| radio.stations.get(*i).map(|s| (*i, s));
    let drawn: Vec<(usize, &Station)> = chosen.iter().filter_map(mine).collect();
    let names: Vec<_> = drawn.iter().copied().map(named).collect();
    let top = legend(&mut scene, &names);
    let (height, width) = (190.0, RIGHT - LEFT);
    scene.height = top + height + 46.0;
    let y = Scale::linear(0.0, 100.0, top + height, top);
    let frame = Frame { left: LEFT, top, width, height, x, y };
    let scale = if x.is_log() { ", logarithmic" } else { "" };
    let title = format!("round-trip time{} (ms{scale})", ctx.under_load());
    frame.draw(&mut scene, Sides { x: Some(&title), y: Some("samples at or below (%)") });
    let mut series = Vec::new();
    for ((i, _), (_, colour, name)) in drawn.into_iter().zip(names) {
        let sorted = trips.get(i).map(Vec::as_slice).unwrap_or_default();
        let (mut points, mut share) = (Vec::new(), 0.0);
        for (ms, percent) in distribution(sorted) {
            points.extend([frame.at(ms, share), frame.at(ms, percent)]);
            share = percent;
        }
        scene.shape(Ink::Line { queue: colour, shade: 0 }, false, vec![points]);
        let at = |i: usize| x.value_at(i as f64 / (DELAYS - 1) as f64);
        let values = (0..DELAYS).map(|i| share_below(sorted, at(i))).collect();
        series.push(HoverSeries { queue, name, unit: "%", values, upper: None, colour: Some(colour) });
    }
    let hover = Hover {
        area: [LEFT, top, width, height],
        domain: x.domain(),
        log: x.is_log(),
        places: x.domain(),
        unit: "ms",
        series,
    };
    Chart { id: String::new(), title: String::new(), scene, hover: Some(hover) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_hold_whole_steps_in_percent() {
        let shares = Shares {
            t_ns: (1..=700).map(|i| i * 100_000_000).collect(),
            step_ns: 100_000_000,
            ..Shares::default()
        };
        let places = Places::of(&shares);
        assert_eq!((places.group, places.count, places.width_ns), (3, 233, 3e8));
        let column = vec![50_000_000; 699];
        let percent = places.percent(&column);
        assert_eq!((percent.len(), percent[232]), (233, Some(50.0)));
        assert_eq!(places.percent(&column[..5])[1], None);
    }

    #[test]
    fn boxes_that_touch_become_one() {
        let square = |x: f64, h: f64| vec![(x, 0.0), (x, h), (x + 1.0, h), (x + 1.0, 0.0)];
        let outline = joined(vec![square(0.0, 2.0), square(1.0, 3.0), square(5.0, 1.0)]);
        assert_eq!(outline.len(), 2);
        assert_eq!(outline[0].len(), 8);
        assert_eq!(outline[0][..4], [(0.0, 2.0), (1.0, 2.0), (1.0, 3.0), (2.0, 3.0)]);
    }
}

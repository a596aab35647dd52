//! Who uses the medium: each run's stations in lanes on one time axis, each with its share of the airtime,
//! its goodput and its round trips.

use super::Context;
use super::scale::{Scale, nice_step};
use super::scene::{Anchor, Point, Scene, fit_text, text_width};
use super::style::{Ink, Type};
use crate::record::Run;
use crate::summary::{RadioSummary, StationSummary, Summary};
use crate::wifi::{AirEvent, AirEvents, AirKind, Radio};
use crate::words;

const WIDTH: f64 = 1060.0;
/// Left and right end of the lanes, of the bars of shares, and of the round trips, pixels.
const LANES: (f64, f64) = (168.0, 640.0);
const SHARES: (f64, f64) = (668.0, 772.0);
const GOODPUT: f64 = 872.0;
const TRIPS: (f64, f64) = (896.0, 1040.0);
const LANE: f64 = 34.0;
const GAP: f64 = 12.0;
const COLLISIONS: f64 = 16.0;
/// Lanes drawn for one radio; the rest is in the tables.
const LANES_MOST: usize = 12;
/// Part of a window that is drawn, ns: long enough for several turns of all stations, short enough to
/// distinguish single aggregates.
const SHOWN_NS: u64 = 60_000_000;

/// Colour of a station, different from those of the runs as long as there are enough colours.
pub(crate) fn colour(runs: usize, station: usize) -> usize {
    (runs + station) % super::style::QUEUES
}

/// The indices of at most `most` stations: those with the largest share of the airtime in any radio.
pub(crate) fn prominent(runs: &[Run], most: usize) -> Vec<usize> {
    let mut shares: Vec<(f64, usize)> = Vec::new();
    for radio in runs.iter().flat_map(|run| &run.radios) {
        let all: f64 = radio.stations.iter().map(|s| s.air_ns as f64).sum();
        for (i, station) in radio.stations.iter().enumerate() {
            let share = if all > 0.0 { station.air_ns as f64 / all } else { 0.0 };
            match shares.get_mut(i) {
                Some(known) => known.0 = known.0.max(share),
                None => shares.push((share, i)),
            }
        }
    }
    shares.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut chosen: Vec<usize> = shares.into_iter().take(most).map(|(_, i)| i).collect();
    chosen.sort_unstable();
    chosen
}

/// A run's radio in the picture.
struct Panel<'a> {
    queue: usize,
    name: String,
    radio: &'a Radio,
    summary: &'a RadioSummary,
}

/// The name of a radio in a figure: its run, and its own name if the run has several.
pub(crate) fn name_of(run: &Run, radio: &Radio) -> String {
    if run.radios.len() > 1 { format!("{}, {}", run.queue, radio.name) } else { run.queue.clone() }
}

fn panels<'a>(ctx: &Context<'a>, all: &'a [Summary]) -> Vec<Panel<'a>> {
    let runs = ctx.record.runs.iter().zip(all).enumerate();
    let of = |(queue, (run, summary)): (usize, (&'a Run, &'a Summary))| {
        let radios = run.radios.iter().zip(&summary.radios);
        radios.map(move |(radio, summary)| Panel { queue, name: name_of(run, radio), radio, summary })
    };
    runs.flat_map(of).collect()
}

/// What all panels of the picture have in common.
struct Common {
    runs: usize,
    /// Stations that have a lane.
    chosen: Vec<usize>,
    time: Scale,
    trips: Option<Scale>,
}

/// The complete picture, one panel below the other.
pub(crate) fn draw(ctx: &Context<'_>) -> Scene {
    let all = Summary::all(ctx.record);
    let panels = panels(ctx, &all);
    let shown = panels.iter().map(|p| p.radio.window.length_ns).max().unwrap_or(0).min(SHOWN_NS);
    let common = Common {
        runs: ctx.record.runs.len(),
        chosen: prominent(&ctx.record.runs, LANES_MOST),
        time: Scale::linear(0.0, shown as f64 / 1e6, LANES.0, LANES.1),
        trips: trip_scale(&panels),
    };
    let mut scene = Scene::new(WIDTH, 0.0, description(&panels));
    heads(&mut scene);
    let mut top = 30.0;
    for (i, panel) in panels.iter().enumerate() {
        top = draw_panel(&mut scene, panel, &common, top, i + 1 == panels.len()) + 18.0;
    }
    legend(&mut scene, top + 8.0);
    scene.height = top + 24.0;
    scene
}

fn heads(scene: &mut Scene) {
    let middle = |(a, b): (f64, f64)| (a + b) / 2.0;
    scene.text(Type::AxisTitle, (LANES.0, 14.0), Anchor::Start, "on the air");
    scene.text(Type::AxisTitle, (SHARES.0, 14.0), Anchor::Start, "share of airtime");
    scene.text(Type::AxisTitle, (GOODPUT, 14.0), Anchor::End, "goodput, Mbit/s");
    scene.text(Type::AxisTitle, (middle(TRIPS), 14.0), Anchor::Middle, "round trip under load, ms");
}

/// Draws one panel from `top`; returns where it ends.
fn draw_panel(scene: &mut Scene, panel: &Panel<'_>, common: &Common, top: f64, last: bool) -> f64 {
    let (time, trips) = (common.time, common.trips);
    let own = |&i: &usize| panel.summary.stations.get(i).map(|station| (i, station));
    let chosen: Vec<(usize, &StationSummary)> = common.chosen.iter().filter_map(own).collect();
    let more = panel.radio.stations.len() - chosen.len();
    let first = top + 26.0;
    let clashes = first + chosen.len() as f64 * (LANE + GAP);
    let bottom = clashes + COLLISIONS + 4.0;
    scene.open(panel.queue);
    scene.text(Type::Panel(panel.queue), (16.0, top + 8.0), Anchor::Start, panel.name.clone());
    let x = 16.0 + text_width(Type::Panel(panel.queue), &panel.name) + 14.0;
    scene.text(Type::Result, (x, top + 8.0), Anchor::Start, result(panel.summary, more));
    grid(scene, time, (first - 6.0, bottom), LANES.0, last.then_some("ms"));
    if let Some(trips) = trips {
        grid(scene, trips, (first - 6.0, bottom), TRIPS.0, last.then_some("ms"));
    }
    for (row, (i, station)) in chosen.into_iter().enumerate() {
        let y = first + row as f64 * (LANE + GAP);
        let queue = colour(common.runs, i);
        name_lane(scene, queue, y, station);
        lane(scene, queue, &panel.radio.window, i, (time, y));
        share(scene, queue, y, station, panel.radio.stations.len());
        trip(scene, queue, y, station, trips);
    }
    scene.text(Type::Tick, (LANES.0 - 12.0, clashes + 12.0), Anchor::End, "collisions");
    collisions(scene, &panel.radio.window, (time, clashes));
    scene.close();
    if last { bottom + 34.0 } else { bottom }
}

/// A short summary of a panel.
fn result(summary: &RadioSummary, more: usize) -> String {
    let mut parts = Vec::new();
    if let Some(bps) = summary.goodput_bps {
        parts.push(format!("{:.1} Mbit/s together", bps as f64 / 1e6));
    }
    if let Some(jain) = summary.airtime_jain {
        parts.push(format!("Jain index of airtime {jain:.2}"));
    }
    let percent = |x: f64| format!("{:.1} %", x * 100.0);
    if let Some(collisions) = summary.collisions {
        parts.push(format!("{} of the time in collisions", percent(collisions)));
    }
    if more > 0 {
        parts.push(format!("{more} stations with less airtime in the tables"));
    }
    parts.join(" · ")
}

/// Vertical lines at the ticks, with numbers below if the unit is given.
fn grid(scene: &mut Scene, scale: Scale, (top, bottom): (f64, f64), left: f64, unit: Option<&str>) {
    let log = scale.is_log();
    let mut taken = f64::NEG_INFINITY;
    for (v, words) in scale.ticks(6) {
        let x = scale.at(v);
        scene.line(Ink::Grid, (x, top), (x, bottom));
        let half = text_width(Type::Tick, &words) / 2.0;
        if unit.is_some() && x - half > taken + 6.0 {
            scene.line(Ink::Axis, (x, bottom), (x, bottom + 4.0));
            scene.text(Type::Tick, (x, bottom + 16.0), Anchor::Middle, words);
            taken = x + half;
        }
    }
    let right = scale.at(scale.domain().1);
    scene.line(Ink::Axis, (left, bottom), (right, bottom));
    if unit.is_some() {
        let words = if log { "bar: 5th to 95th percentile" } else { "time in the window (ms)" };
        scene.text(Type::AxisTitle, ((left + right) / 2.0, bottom + 32.0), Anchor::Middle, words);
    }
}

fn name_lane(scene: &mut Scene, queue: usize, y: f64, station: &StationSummary) {
    let room = LANES.0 - 28.0;
    let name = fit_text(Type::Label(queue), &station.name, room);
    scene.text(Type::Label(queue), (LANES.0 - 12.0, y + 15.0), Anchor::End, name);
    let rate = fit_text(Type::Tick, &station.rate, room);
    scene.text(Type::Tick, (LANES.0 - 12.0, y + 30.0), Anchor::End, rate);
}

/// A box of the window on the time axis, clipped at its ends and never too thin to be seen.
fn block(window: &AirEvents, event: &AirEvent, time: Scale, (top, bottom): (f64, f64)) -> Option<Vec<Point>> {
    const THINNEST: f64 = 0.6;
    let ms = |ns: i64| ns.saturating_sub(window.from_ns) as f64 / 1e6;
    let (from, to) = (ms(event.start_ns), ms(event.start_ns.saturating_add_unsigned(event.length_ns)));
    let (low, high) = time.domain();
    if to < low || from > high {
        return None;
    }
    let left = time.at(from.max(low));
    let right = time.at(to.min(high)).max(left + THINNEST);
    Some(vec![(left, top), (right, top), (right, bottom), (left, bottom)])
}

fn lane(scene: &mut Scene, queue: usize, window: &AirEvents, station: usize, (time, y): (Scale, f64)) {
    let own = || window.iter().filter(|e| e.station as usize == station);
    let boxes = |wanted: &dyn Fn(&AirEvent) -> bool, edges: (f64, f64)| -> Vec<Vec<Point>> {
        own().filter(|e| wanted(e)).filter_map(|e| block(window, &e, time, edges)).collect()
    };
    let sent = |e: &AirEvent| matches!(e.kind, AirKind::Data | AirKind::Retry);
    let (top, bottom) = (y, y + LANE);
    let low = y + LANE * 0.5;
    scene.line(Ink::Grid, (LANES.0, bottom), (LANES.1, bottom));
    scene.shape(Ink::Block { queue }, true, boxes(&|e| sent(e) && !e.uplink, (top, bottom)));
    scene.shape(Ink::Block { queue }, true, boxes(&|e| sent(e) && e.uplink, (low, bottom)));
    let beside = |e: &AirEvent| matches!(e.kind, AirKind::Ack | AirKind::Rts);
    scene.shape(Ink::Faint { queue }, true, boxes(&beside, (low, bottom)));
    scene.shape(Ink::Clash, true, boxes(&|e| e.kind == AirKind::Retry, (top - 4.0, top)));
}

fn collisions(scene: &mut Scene, window: &AirEvents, (time, y): (Scale, f64)) {
    let clash = window.iter().filter(|e| e.kind == AirKind::Collision);
    let boxes = clash.filter_map(|e| block(window, &e, time, (y, y + COLLISIONS))).collect();
    scene.shape(Ink::Clash, true, boxes);
}

/// The dashed line is an equal share.
fn share(scene: &mut Scene, queue: usize, y: f64, station: &StationSummary, stations: usize) {
    let middle = y + LANE / 2.0;
    scene.line(Ink::Axis, (SHARES.0, y - 3.0), (SHARES.0, y + LANE + 3.0));
    let equal = SHARES.0 + (SHARES.1 - SHARES.0) / stations.max(1) as f64;
    if let Some(share) = station.share {
        let right = SHARES.0 + (SHARES.1 - SHARES.0) * share.clamp(0.0, 1.0);
        let (top, bottom) = (middle - 9.0, middle + 9.0);
        let bar = vec![(SHARES.0, top), (right, top), (right, bottom), (SHARES.0, bottom)];
        scene.shape(Ink::Block { queue }, true, vec![bar]);
        let words = format!("{:.0} %", share * 100.0);
        scene.text(Type::Result, (right.max(equal) + 6.0, middle + 5.0), Anchor::Start, words);
    }
    scene.line(Ink::Limit, (equal, y - 3.0), (equal, y + LANE + 3.0));
    let goodput = station.goodput_bps.map_or_else(|| "–".into(), |bps| format!("{:.1}", bps as f64 / 1e6));
    scene.text(Type::Result, (GOODPUT, middle + 5.0), Anchor::End, goodput);
}

/// A common logarithmic axis of the round trips, to whole steps of it.
fn trip_scale(panels: &[Panel<'_>]) -> Option<Scale> {
    let all = || panels.iter().flat_map(|p| &p.summary.stations);
    let low = all().filter_map(|s| s.rtt_p5_ns).min()? as f64 / 1e6;
    let high = all().filter_map(|s| s.rtt_p95_ns).max()? as f64 / 1e6;
    (low > 0.0).then(|| Scale::log(low * 0.8, nice_step(high), TRIPS.0, TRIPS.1))
}

fn trip(scene: &mut Scene, queue: usize, y: f64, station: &StationSummary, trips: Option<Scale>) {
    let values = (station.rtt_p5_ns, station.rtt_p50_ns, station.rtt_p95_ns);
    let (Some(trips), (Some(p5), Some(p50), Some(p95))) = (trips, values) else { return };
    let at = |ns: i64| trips.at(ns as f64 / 1e6);
    let (top, bottom) = (y + LANE - 12.0, y + LANE - 2.0);
    let (left, right) = (at(p5), at(p95).max(at(p5) + 2.0));
    let bar = vec![(left, top), (right, top), (right, bottom), (left, bottom)];
    scene.shape(Ink::Faint { queue }, true, vec![bar]);
    let x = at(p50);
    let mark =
        vec![(x - 1.5, top - 3.0), (x + 1.5, top - 3.0), (x + 1.5, bottom + 3.0), (x - 1.5, bottom + 3.0)];
    scene.shape(Ink::Block { queue }, true, vec![mark]);
    let words = words::ms(p50);
    let half = text_width(Type::Tick, &words) / 2.0;
    let x = x.clamp(TRIPS.0 + half, (TRIPS.1 + 14.0 - half).max(TRIPS.0 + half));
    scene.text(Type::Note, (x, top - 7.0), Anchor::Middle, words);
}

/// A box of the legend: ink, upper and lower edge.
type Swatch = (Ink, f64, f64);

fn legend(scene: &mut Scene, y: f64) {
    let mut x = 16.0;
    let samples: [(&[Swatch], &str); 5] = [
        (&[(Ink::Block { queue: 5 }, 0.0, 14.0)], "sent to the station"),
        (&[(Ink::Block { queue: 5 }, 7.0, 14.0)], "sent by it"),
        (&[(Ink::Faint { queue: 5 }, 7.0, 14.0)], "acknowledgement"),
        (&[(Ink::Clash, 0.0, 4.0), (Ink::Block { queue: 5 }, 4.0, 14.0)], "sent again"),
        (&[(Ink::Clash, 2.0, 14.0)], "collision"),
    ];
    for (boxes, words) in samples {
        for &(ink, top, bottom) in boxes {
            let (top, bottom) = (y - 12.0 + top, y - 12.0 + bottom);
            scene.shape(ink, true, vec![vec![(x, top), (x + 14.0, top), (x + 14.0, bottom), (x, bottom)]]);
        }
        scene.text(Type::Tick, (x + 20.0, y), Anchor::Start, words);
        x += 20.0 + text_width(Type::Tick, words) + 22.0;
    }
    scene.line(Ink::Limit, (x + 7.0, y - 12.0), (x + 7.0, y + 2.0));
    scene.text(Type::Tick, (x + 20.0, y), Anchor::Start, "equal share of airtime");
}

/// The shares in a sentence, for screen readers.
pub(crate) fn spoken(summary: &RadioSummary) -> String {
    let part = |s: &StationSummary| {
        let share = s.share.map_or_else(|| "no".into(), |v| format!("{:.0} % of the", v * 100.0));
        format!("{} ({}) {share} airtime", s.name, s.rate)
    };
    summary.stations.iter().take(LANES_MOST).map(part).collect::<Vec<_>>().join(", ")
}

fn description(panels: &[Panel<'_>]) -> String {
    let parts: Vec<String> = panels.iter().map(|p| format!("{}: {}", p.name, spoken(p.summary))).collect();
    format!("Who holds the air. {}", parts.join(". "))
}

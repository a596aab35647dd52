//! The bit rate and the freezes of video calls, and the late ticks of games, over time.

use super::applications::{Lines, frame};
use super::data::{Bins, unbroken};
use super::frame::Sides;
use super::scale::{Scale, nice_top};
use super::scene::Scene;
use super::style::Ink;
use super::time::time_title;
use super::{Chart, Context, slug};
use crate::record::TalkWay;
use crate::record::{Direction, Run};
use crate::stats::Span;
use crate::summary::direction_name;
use crate::talks::{Grid, freezes, in_time, talk_name, ways};
use crate::words;

/// Time over which a bit rate or a share of ticks is computed, ns.
const PLACE: u64 = 1_000_000_000;
/// Height of the mark of a freeze, pixels.
const MARK: f64 = 10.0;
const HEIGHT: f64 = 240.0;
/// More ticks than the fastest game has in a day.
const MOST_TICKS: usize = 1 << 25;

/// A value for each bin.
type Values = Vec<Option<f64>>;
/// Start and end of each freeze, s.
type Marks = Vec<(f64, f64)>;

fn way_of<'a>(ctx: &Context<'a>, run: usize, index: usize, direction: Direction) -> Option<&'a TalkWay> {
    let talk = ctx.record.runs.get(run)?.talks.get(index)?;
    ways(talk).into_iter().find(|&(way, _)| way == direction).map(|(_, way)| way)
}

/// The chart of one direction of a call or a game.
pub(crate) fn talk(ctx: &Context<'_>, index: usize, direction: Direction) -> Option<Chart> {
    let plan = ctx.record.test.talks.get(index)?;
    let bins = Bins::of(ctx.record, PLACE);
    let ways: Vec<Option<&TalkWay>> =
        (0..ctx.record.runs.len()).map(|run| way_of(ctx, run, index, direction)).collect();
    let (values, marks, what, unit): (Vec<Values>, Vec<Marks>, _, _) = match plan.ticks {
        None => {
            let rates =
                ways.iter().map(|way| way.map_or_else(|| vec![None; bins.count], |way| rate(way, &bins)));
            let load = i64::try_from(ctx.record.test.load_ns).unwrap_or(i64::MAX);
            let whole = Span { from: bins_from(ctx), to: load };
            let frozen =
                |way: &Option<&TalkWay>| way.map_or_else(Vec::new, |way| seconds(&freezes(way, whole)));
            (rates.collect(), ways.iter().map(frozen).collect(), "bit rate", "Mbit/s")
        }
        Some(ticks) => {
            let late = |(run, way): (&Run, &Option<&TalkWay>)| {
                let talk = run.talks.get(index).zip(*way);
                let of = |(talk, way)| lateness(way, Grid::new(ticks, ctx.record, talk), &bins, ctx);
                talk.map_or_else(|| vec![None; bins.count], of)
            };
            (
                ctx.record.runs.iter().zip(&ways).map(late).collect(),
                vec![Vec::new(); ways.len()],
                "late ticks",
                "%",
            )
        }
    };
    let most = values.iter().flatten().flatten().fold(0.0_f64, |most, &value| most.max(value));
    let top = nice_top(if plan.ticks.is_some() { most.max(5.0) } else { most.max(0.5) });
    let (frame, room) = frame(ctx, &bins, HEIGHT, |low, high| Scale::linear(0.0, top, low, high));
    let (name, way) = (talk_name(ctx.record, index), direction_name(direction));
    let title = format!("{}, {way}: {what}", words::capital(&name));
    let mut scene = Scene::new(960.0, HEIGHT, format!("{title} over time, one line per queue"));
    frame.draw(&mut scene, Sides { x: Some(time_title(ctx)), y: Some(&format!("{what} ({unit})")) });
    let mut lines = Lines::new(room, unit);
    for (queue, (values, marks)) in values.into_iter().zip(marks).enumerate() {
        let point = |&(i, v): &(usize, f64)| frame.at(bins.middle_s(i), v);
        scene.open(queue);
        let shown = unbroken(&values).iter().map(|part| part.iter().map(point).collect()).collect();
        scene.shape(Ink::Line { queue, shade: 0 }, false, shown);
        let blocks = marks.iter().map(|&(from, to)| {
            let ((left, y), (right, _)) = (frame.at(from, 0.0), frame.at(to, 0.0));
            let (left, right) = (left.max(frame.left), right.min(frame.right()).max(left + 1.0));
            vec![(left, y - MARK), (right, y - MARK), (right, y), (left, y)]
        });
        scene.shape(Ink::Block { queue }, true, blocks.collect());
        scene.close();
        let last = values.iter().rev().flatten().next().copied();
        lines.add(ctx, &frame, queue, values, last);
    }
    let id = format!("talk-{index}-{}-{way}", slug(&name));
    Some(lines.chart(scene, &frame, &bins, id, title))
}

/// The beginning of the idle lead-in.
fn bins_from(ctx: &Context<'_>) -> i64 {
    -i64::try_from(ctx.record.test.idle_ns).unwrap_or(i64::MAX)
}

/// Start and end in seconds.
fn seconds(all: &[(i64, i64)]) -> Vec<(f64, f64)> {
    all.iter().map(|&(from, length)| (from as f64 / 1e9, from.saturating_add(length) as f64 / 1e9)).collect()
}

/// Mbit/s of media that arrived in each bin; zero for empty bins between others.
fn rate(way: &TalkWay, bins: &Bins) -> Vec<Option<f64>> {
    let mut bytes = vec![None; bins.count];
    for (&t, &came) in way.t_ns.iter().zip(&way.rx_bytes) {
        if let Some(i) = bins.index(t) {
            *bytes[i].get_or_insert(0_u64) += came.min(1 << 40);
        }
    }
    let width = bins.width as f64 / 1e9;
    bytes.into_iter().map(|bytes| bytes.map(|bytes| bytes as f64 * 8e-6 / width)).collect()
}

/// Percentage of the ticks due in each bin that did not arrive in time. A tick that would be late only after
/// the end of the load is not counted.
fn lateness(way: &TalkWay, grid: Grid, bins: &Bins, ctx: &Context<'_>) -> Vec<Option<f64>> {
    let Some((most, in_time)) = in_time(way, grid) else { return vec![None; bins.count] };
    let (mut good, mut due) = (vec![0_u64; bins.count], vec![0_u64; bins.count]);
    let end = i64::try_from(ctx.record.test.load_ns).unwrap_or(i64::MAX).saturating_sub(most);
    let (count, first) = grid.due(i64::MIN, end);
    let last = first + count;
    for number in (first..last).take(MOST_TICKS) {
        if let Some(bin) = bins.index(grid.at(number)) {
            due[bin] += 1;
        }
    }
    for (i, _) in in_time.filter(|&(_, good)| good) {
        let Some(&number) = way.tick.get(i) else { continue };
        if let Some(bin) = bins.index(grid.at(number.into())).filter(|_| u64::from(number) < last) {
            good[bin] += 1;
        }
    }
    let share =
        |(good, due): (u64, u64)| (due > 0).then(|| due.saturating_sub(good) as f64 * 100.0 / due as f64);
    good.into_iter().zip(due).map(share).collect()
}

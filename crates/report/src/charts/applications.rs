//! Scores of calls and page load times over time.

use super::data::{Bins, unbroken};
use super::frame::{EndLabel, Frame, Sides, end_labels};
use super::scale::Scale;
use super::scene::{Anchor, Scene, fit_text};
use super::style::{Ink, Type};
use super::time::{delay_scale, hover, room_for, time_title};
use super::{Chart, Context, HoverSeries, slug};
use crate::applications::{call_name, page_name, scores};
use crate::record::{Direction, PageSeries};
use crate::stats::known;
use crate::summary::direction_name;
use crate::words;

/// Time over which a score is computed, ns.
const SCORE: u64 = 1_000_000_000;
/// Time between two points for the pointer in charts of pages, ns.
const PAGE: u64 = 250_000_000;
/// Half the height of the mark of a page, pixels.
const MARK: f64 = 4.5;

/// A frame for one line per queue, with room for their names at its right.
pub(super) fn frame(
    ctx: &Context<'_>,
    bins: &Bins,
    height: f64,
    y: impl Fn(f64, f64) -> Scale,
) -> (Frame, f64) {
    let room = room_for(ctx.record.runs.iter().map(|r| r.queue.as_str()));
    let (width, left, top, low) = (960.0, 72.0, 14.0, height - 46.0);
    let (from, to) = bins.domain_s();
    let x = Scale::linear(from, to, left, width - room);
    (Frame { left, top, width: width - left - room, height: low - top, x, y: y(low, top) }, room)
}

/// One line per queue: the name at its end, and the values for the pointer.
pub(super) struct Lines {
    room: f64,
    unit: &'static str,
    labels: Vec<EndLabel>,
    series: Vec<HoverSeries>,
}

impl Lines {
    /// No lines yet; `room` is the width for the names, pixels.
    pub(super) fn new(room: f64, unit: &'static str) -> Lines {
        Lines { room, unit, labels: Vec::new(), series: Vec::new() }
    }

    /// Adds the line of a queue; its name is at the height of `last`.
    pub(super) fn add(
        &mut self,
        ctx: &Context<'_>,
        frame: &Frame,
        queue: usize,
        values: Vec<Option<f64>>,
        last: Option<f64>,
    ) {
        let label = |value| EndLabel {
            queue,
            x: frame.right() + 8.0,
            y: frame.at(0.0, value).1,
            words: fit_text(Type::Label(queue), ctx.name(queue), self.room - 12.0),
        };
        self.labels.extend(last.map(label));
        self.series.push(HoverSeries::new(queue, ctx.name(queue), self.unit, values));
    }

    /// The chart of these lines, which `scene` holds.
    pub(super) fn chart(
        self,
        mut scene: Scene,
        frame: &Frame,
        bins: &Bins,
        id: String,
        title: String,
    ) -> Chart {
        if self.labels.is_empty() {
            let middle = (frame.left + frame.width / 2.0, frame.top + frame.height / 2.0);
            scene.text(Type::Note, middle, Anchor::Middle, "nothing was measured");
        }
        end_labels(&mut scene, frame, self.labels);
        Chart { id, title, scene, hover: Some(hover(frame, bins, self.series)) }
    }
}

/// The score of one direction of a call over time, for all queues.
pub(crate) fn call(ctx: &Context<'_>, index: usize, direction: Direction) -> Chart {
    let (name, way) = (call_name(ctx.record, index), direction_name(direction));
    let bins = Bins::of(ctx.record, SCORE);
    let height = 220.0;
    let (frame, room) = frame(ctx, &bins, height, |low, top| Scale::linear(1.0, 4.5, low, top));
    let title = format!("{name}, {way}: mean opinion score");
    let mut scene = Scene::new(960.0, height, format!("{title} over time, one line per queue"));
    frame.draw(&mut scene, Sides { x: Some(time_title(ctx)), y: Some("MOS") });
    let mut lines = Lines::new(room, "");
    for (queue, run) in ctx.record.runs.iter().enumerate() {
        let of = |call| scores(call, direction, bins.count, |t| bins.index(t));
        let values = run.voip.get(index).map_or_else(|| vec![None; bins.count], of);
        let point = |&(i, v): &(usize, f64)| frame.at(bins.middle_s(i), v);
        let shown = unbroken(&values).iter().map(|part| part.iter().map(point).collect()).collect();
        scene.open(queue);
        scene.shape(Ink::Line { queue, shade: 0 }, false, shown);
        scene.close();
        let last = values.iter().rev().flatten().next().copied();
        lines.add(ctx, &frame, queue, values, last);
    }
    let id = format!("call-{index}-{}-{way}", slug(&name));
    lines.chart(scene, &frame, &bins, id, title)
}

/// For each load of a page: its start (ns), its load time (s), and whether it was complete.
fn loads(page: &PageSeries) -> impl Iterator<Item = (i64, f64, bool)> + '_ {
    let times = page.start_ns.iter().zip(&page.took_ns).zip(&page.complete);
    times
        .filter(|((_, took), _)| known(**took))
        .map(|((&start, &took), &complete)| (start, took.max(0) as f64 / 1e9, complete))
}

/// The load times of a page over time, for all queues.
pub(crate) fn page(ctx: &Context<'_>, index: usize) -> Chart {
    let name = page_name(ctx.record, index);
    let bins = Bins::of(ctx.record, PAGE);
    let runs = || ctx.record.runs.iter().map(|run| run.web.get(index));
    let inside = |page| loads(page).filter(|(start, ..)| bins.index(*start).is_some());
    let extent = runs().flatten().flat_map(inside).fold(None, |extent: Option<(f64, f64)>, (_, took, _)| {
        let (low, high) = extent.unwrap_or((took, took));
        Some((low.min(took), high.max(took)))
    });
    let height = 300.0;
    let (frame, room) = frame(ctx, &bins, height, |low, top| delay_scale(extent, low, top));
    let scale = if frame.y.is_log() { ", logarithmic" } else { "" };
    let title = format!("{} page: load time", words::capital(&name));
    let mut scene = Scene::new(960.0, height, format!("{title} over time, a mark per page and queue"));
    frame
        .draw(&mut scene, Sides { x: Some(time_title(ctx)), y: Some(&format!("page load time (s{scale})")) });
    let mut lines = Lines::new(room, "s");
    for (queue, page) in runs().enumerate() {
        let all: Vec<_> = page.into_iter().flat_map(inside).collect();
        draw(&mut scene, &frame, queue, &all);
        let mut values = vec![None; bins.count];
        for &(start, took, _) in &all {
            if let Some(i) = bins.index(start) {
                values[i] = Some(took);
            }
        }
        lines.add(ctx, &frame, queue, values, all.last().map(|&(_, took, _)| took));
    }
    let id = format!("page-{index}-{}", slug(&name));
    lines.chart(scene, &frame, &bins, id, title)
}

/// A horizontal line as long as the page load, at the height of the load time. It ends in a diamond if the
/// page was complete, and in an upward arrow if it would have taken longer.
fn draw(scene: &mut Scene, frame: &Frame, queue: usize, all: &[(i64, f64, bool)]) {
    let (mut lines, mut marks) = (Vec::new(), Vec::new());
    for &(start, took, complete) in all {
        let from = frame.at(start as f64 / 1e9, took);
        let end = frame.at(start as f64 / 1e9 + took, took);
        let end = (end.0.min(frame.right()), end.1);
        lines.push(vec![from, end]);
        let (x, y) = end;
        if complete {
            marks.push(vec![(x - MARK, y), (x, y - MARK), (x + MARK, y), (x, y + MARK)]);
        } else {
            lines.push(vec![(x, y), (x, y - 2.0 * MARK)]);
            lines.push(vec![(x - MARK, y - MARK), (x, y - 2.0 * MARK), (x + MARK, y - MARK)]);
        }
    }
    scene.open(queue);
    scene.shape(Ink::Line { queue, shade: 0 }, false, lines);
    scene.shape(Ink::Area { queue, shade: 0 }, true, marks);
    scene.close();
}

//! The bit rates that players selected, over time.

use super::applications::{Lines, frame};
use super::data::{Bins, unbroken};
use super::frame::Sides;
use super::scale::{Scale, nice_top};
use super::scene::Scene;
use super::style::Ink;
use super::time::time_title;
use super::{Chart, Context, slug};
use crate::record::VideoSeries;
use crate::videos::{selected, video_name};
use crate::words;

/// Time between two points for the pointer, ns.
const PLACE: u64 = 250_000_000;
/// Half the height of the mark of a stall, pixels.
const MARK: f64 = 5.0;

/// The bit rate of each segment from its request to the next, Mbit/s.
fn held(video: &VideoSeries, bins: &Bins) -> Vec<Option<f64>> {
    let all: Vec<(i64, u64)> = selected(video).collect();
    let mut values = vec![None; bins.count];
    for (i, &(asked, rate)) in all.iter().enumerate() {
        let Some(from) = bins.index(asked) else { continue };
        let next = all.get(i + 1).and_then(|&(next, _)| bins.index(next)).unwrap_or(bins.count);
        values[from..next.max(from + 1).min(bins.count)].fill(Some(rate as f64 / 1e6));
    }
    values
}

/// When playback resumed after a stall, and how long the stall was, s.
fn stalls(video: &VideoSeries) -> impl Iterator<Item = (f64, f64)> + '_ {
    let all = video.asked_ns.iter().zip(&video.took_ns).zip(&video.stalled_ns);
    all.filter(|&(_, &stalled)| stalled > 0)
        .map(|((&asked, &took), &stalled)| (asked.saturating_add(took) as f64 / 1e9, stalled as f64 / 1e9))
}

/// The selected bit rate over time, for all queues; stalls are marked below it.
pub(crate) fn video(ctx: &Context<'_>, index: usize) -> Chart {
    let name = video_name(ctx.record, index);
    let bins = Bins::of(ctx.record, PLACE);
    let runs = || ctx.record.runs.iter().map(|run| run.dash.get(index));
    let most = runs().flatten().flat_map(selected).map(|(_, rate)| rate).max().unwrap_or(1_000_000);
    let top = nice_top(most as f64 / 1e6);
    let (frame, room) = frame(ctx, &bins, 300.0, |low, high| Scale::linear(0.0, top, low, high));
    let title = format!("{}: bit rate selected", words::capital(&name));
    let mut scene = Scene::new(960.0, 300.0, format!("{title} over time, one line per queue"));
    frame.draw(&mut scene, Sides { x: Some(time_title(ctx)), y: Some("bit rate (Mbit/s)") });
    let mut lines = Lines::new(room, "Mbit/s");
    for (queue, run) in runs().enumerate() {
        let values = run.map_or_else(|| vec![None; bins.count], |video| held(video, &bins));
        let steps = |part: &Vec<(usize, f64)>| {
            let half = bins.width as f64 / 2e9;
            let ends = |&(i, v): &(usize, f64)| {
                let middle = bins.middle_s(i);
                [frame.at(middle - half, v), frame.at(middle + half, v)]
            };
            part.iter().flat_map(ends).collect()
        };
        scene.open(queue);
        scene.shape(Ink::Line { queue, shade: 0 }, false, unbroken(&values).iter().map(steps).collect());
        let stood = run.into_iter().flat_map(stalls).map(|(end, stalled)| {
            let ((left, y), (right, _)) = (frame.at(end - stalled, 0.0), frame.at(end, 0.0));
            let (left, right) = (left.max(frame.left), right.min(frame.right()).max(left + 1.0));
            vec![(left, y - 2.0 * MARK), (right, y - 2.0 * MARK), (right, y), (left, y)]
        });
        scene.shape(Ink::Block { queue }, true, stood.collect());
        scene.close();
        let last = values.iter().rev().flatten().next().copied();
        lines.add(ctx, &frame, queue, values, last);
    }
    let id = format!("video-{index}-{}", slug(&name));
    lines.chart(scene, &frame, &bins, id, title)
}

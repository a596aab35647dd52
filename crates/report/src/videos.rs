//! How videos played.

use serde::{Deserialize, Serialize};

use crate::record::{Record, Run, VideoSeries};
use crate::stats::{Span, known};

/// How one video played. Bit rates are those that the player selected for segments requested in the loaded
/// interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VideoSummary {
    /// Name, as planned.
    pub name: String,
    /// Segments, all of equal length.
    pub segments: u64,
    /// Mean bit rate.
    pub bitrate_mean_bps: Option<u64>,
    /// Lowest.
    pub bitrate_min_bps: Option<u64>,
    /// Highest.
    pub bitrate_max_bps: Option<u64>,
    /// How often a segment had a different bit rate from the one before.
    pub changes: u64,
    /// Time from the start of the load until playback; absent if it never played.
    pub startup_ns: Option<i64>,
    /// How often playback stalled in the whole load.
    pub stalls: u64,
    /// Total length of the stalls.
    pub stalled_ns: i64,
}

/// The planned name of a video, or its number.
pub(crate) fn video_name(record: &Record, index: usize) -> String {
    let name = record.test.dash.get(index).map(|video| video.name.as_str()).filter(|name| !name.is_empty());
    name.map_or_else(|| format!("video {}", index + 1), str::to_owned)
}

/// Every segment: the time of its request, and the selected bit rate.
pub(crate) fn selected(video: &VideoSeries) -> impl Iterator<Item = (i64, u64)> + '_ {
    video.asked_ns.iter().copied().zip(video.bitrate_bps.iter().copied())
}

/// One summary for each video.
pub(crate) fn videos(record: &Record, run: &Run, loaded: Span) -> Vec<VideoSummary> {
    let all = run.dash.iter().enumerate();
    all.map(|(i, video)| VideoSummary { name: video_name(record, i), ..VideoSummary::of(video, loaded) })
        .collect()
}

impl VideoSummary {
    /// The summary of segments requested from `from_ns` on and before `to_ns`, ns from the start of the load;
    /// startup and stalls are those of the whole load.
    #[must_use]
    pub fn within(video: &VideoSeries, from_ns: i64, to_ns: i64) -> VideoSummary {
        VideoSummary::of(video, Span { from: from_ns, to: to_ns })
    }

    fn of(video: &VideoSeries, loaded: Span) -> VideoSummary {
        let inside = selected(video).filter(|&(asked, _)| loaded.contains(asked));
        let rates: Vec<u64> = inside.map(|(_, rate)| rate).collect();
        let segments = rates.len() as u64;
        let mean = rates.iter().map(|&rate| u128::from(rate)).sum::<u128>().checked_div(segments.into());
        let stalls = || video.stalled_ns.iter().copied().filter(|&ns| known(ns) && ns > 0);
        let first = video.complete.iter().position(|&complete| complete);
        let ends = |i: usize| Some(video.asked_ns.get(i)?.saturating_add(*video.took_ns.get(i)?));
        VideoSummary {
            name: String::new(),
            segments,
            bitrate_mean_bps: mean.and_then(|mean| u64::try_from(mean).ok()),
            bitrate_min_bps: rates.iter().min().copied(),
            bitrate_max_bps: rates.iter().max().copied(),
            changes: rates.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64,
            startup_ns: first.and_then(ends),
            stalls: stalls().count() as u64,
            stalled_ns: stalls().fold(0, i64::saturating_add),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    #[test]
    fn a_video_is_summed_up() {
        let video = VideoSeries {
            asked_ns: vec![S, 3 * S, 5 * S, 9 * S, 20 * S],
            took_ns: vec![S / 2, S, 4 * S, S, 10 * S],
            complete: vec![true, true, true, true, false],
            bitrate_bps: vec![200, 400, 400, 300, 100],
            stalled_ns: vec![0, 0, 2 * S, 0, 5 * S],
            ..VideoSeries::default()
        };
        let all = VideoSummary::within(&video, 0, 30 * S);
        assert_eq!((all.segments, all.bitrate_mean_bps), (5, Some(280)));
        assert_eq!((all.bitrate_min_bps, all.bitrate_max_bps, all.changes), (Some(100), Some(400), 3));
        assert_eq!((all.startup_ns, all.stalls, all.stalled_ns), (Some(S + S / 2), 2, 7 * S));
        let part = VideoSummary::within(&video, 3 * S, 9 * S);
        assert_eq!((part.segments, part.bitrate_mean_bps, part.changes), (2, Some(400), 0));
        let none = VideoSummary::within(&VideoSeries::default(), 0, S);
        assert_eq!((none.bitrate_mean_bps, none.startup_ns, none.stalls), (None, None, 0));
        assert_eq!(video_name(&Record::default(), 1), "video 2");
    }
}

//! Tables of videos.

use super::applications::in_blocks;
use super::{Column, Group, ms};
use crate::videos::{VideoSummary, video_name};
use crate::{Record, Summary};

/// One table for all videos, or as many as the width requires.
pub(super) fn blocks(record: &Record, all: &[Summary], width: usize) -> Vec<Vec<Group>> {
    let groups = (0..record.test.dash.len()).map(|i| group(record, all, i)).collect();
    if all.is_empty() { Vec::new() } else { in_blocks(record.side(), groups, all, width) }
}

fn group(record: &Record, all: &[Summary], i: usize) -> Group {
    let none = VideoSummary::default();
    let column = |head, of: fn(&VideoSummary) -> String| {
        Column::new(head, all.iter().map(|s| of(s.dash.get(i).unwrap_or(&none))).collect())
    };
    let columns = vec![
        column("mean", |video| mbit(video.bitrate_mean_bps)),
        column("low", |video| mbit(video.bitrate_min_bps)),
        column("high", |video| mbit(video.bitrate_max_bps)),
        column("changes", |video| video.changes.to_string()),
        column("start ms", |video| ms(video.startup_ns)),
        column("stalls", |video| video.stalls.to_string()),
        column("stalled ms", |video| ms(Some(video.stalled_ns))),
    ];
    Group { title: format!("{}, Mbit/s selected", video_name(record, i)).into(), columns, spare: 0 }
}

/// A bit rate in Mbit/s.
pub(crate) fn mbit(bps: Option<u64>) -> String {
    bps.map_or_else(|| "–".into(), |bps| format!("{:.2}", bps as f64 / 1e6))
}

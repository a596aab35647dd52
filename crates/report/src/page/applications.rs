//! Tables of calls, pages and videos.

use super::blocks::table;
use crate::applications::{Loads, PageSummary};
use crate::charts::escape;
use crate::record::Record;
use crate::summary::Summary;
use crate::table::applications::{count, median, mos};
use crate::table::ms;
use crate::table::videos::mbit;
use crate::videos::VideoSummary;
use crate::voice::Voice;

/// A row for each queue and page.
pub(super) fn pages(record: &Record, all: &[Summary]) -> String {
    let row = |s: &Summary, page: &PageSummary| {
        let Loads { p95_ns, max_ns, first_byte_p50_ns, .. } = page.load;
        let times = [p95_ns, max_ns, page.idle.first_byte_p50_ns, first_byte_p50_ns].map(ms);
        let [p95, max, byte_idle, byte] = times;
        let (idle, p50) = (median(&page.idle), median(&page.load));
        let cells = [idle, p50, p95, max, count(&page.load), byte_idle, byte];
        [&s.queue, &page.name].map(|c| escape(c)).into_iter().chain(cells.map(|c| escape(&c))).collect()
    };
    let rows: Vec<Vec<String>> = (0..record.test.web.len())
        .flat_map(|i| all.iter().filter_map(move |s| Some((s, s.web.get(i)?))))
        .map(|(s, page)| row(s, page))
        .collect();
    let heads =
        ["queue", "page", "idle, ms", "p50", "p95", "max", "pages", "first byte idle", "first byte p50"];
    table("Page load times", &heads, 2, &rows)
}

/// A row for each queue and video.
pub(super) fn videos(record: &Record, all: &[Summary]) -> String {
    let row = |s: &Summary, video: &VideoSummary| {
        let rates = [video.bitrate_mean_bps, video.bitrate_min_bps, video.bitrate_max_bps].map(mbit);
        let rest = [
            video.changes.to_string(),
            ms(video.startup_ns),
            video.stalls.to_string(),
            ms(Some(video.stalled_ns)),
        ];
        let names = [&s.queue, &video.name].map(|c| escape(c));
        names.into_iter().chain(rates).chain(rest).collect()
    };
    let rows: Vec<Vec<String>> = (0..record.test.dash.len())
        .flat_map(|i| all.iter().filter_map(move |s| Some((s, s.dash.get(i)?))))
        .map(|(s, video)| row(s, video))
        .collect();
    let heads =
        ["queue", "video", "Mbit/s mean", "low", "high", "changes", "start, ms", "stalls", "stalled, ms"];
    table("Bit rates selected, and stalls", &heads, 2, &rows)
}

/// A row for each queue, call and direction.
pub(super) fn calls(record: &Record, all: &[Summary]) -> String {
    let ns = |ns: Option<u64>| ms(ns.and_then(|ns| i64::try_from(ns).ok()));
    let row = |s: &Summary, name: String, idle: Option<Voice>, load: Option<Voice>| {
        let lost = load.map(|v| v.lost as f64 * 100.0 / v.sent.max(1) as f64);
        vec![
            escape(&s.queue),
            name,
            mos(idle),
            mos(load),
            ns(load.map(|v| v.delay_ns)),
            ns(load.map(|v| v.jitter_ns)),
            lost.map_or_else(|| "–".into(), |lost| format!("{lost:.2}")),
        ]
    };
    let mut rows = Vec::new();
    for i in 0..record.test.voip.len() {
        for s in all {
            let Some(call) = s.voip.get(i) else { continue };
            let name = escape(&call.name);
            rows.push(row(s, format!("{name} up"), call.up_idle, call.up));
            rows.push(row(s, format!("{name} down"), call.down_idle, call.down));
        }
    }
    let heads = ["queue", "call", "MOS idle", "MOS", "delay, ms", "jitter, ms", "lost, %"];
    table("Calls", &heads, 2, &rows)
}

//! Tables of flow completion times, calls, pages and videos.

use super::blocks::table;
use crate::applications::{Loads, PageSummary};
use crate::charts::escape;
use crate::record::Record;
use crate::summary::Summary;
use crate::table::applications::{count, mos, took};
use crate::table::ms;
use crate::table::transfers::{count as count_flows, times};
use crate::table::videos::mbit;
use crate::transfers::Completion;
use crate::videos::VideoSummary;
use crate::voice::Voice;

/// A row for each queue and page.
pub(super) fn pages(record: &Record, all: &[Summary]) -> String {
    let row = |s: &Summary, page: &PageSummary| {
        let Loads { p50_ns, p95_ns, max_ns, first_byte_p50_ns, .. } = page.load;
        let [p50, p95, max] = [p50_ns, p95_ns, max_ns].map(|time| took(&page.load, time));
        let [byte_idle, byte] = [page.idle.first_byte_p50_ns, first_byte_p50_ns].map(ms);
        let idle = took(&page.idle, page.idle.p50_ns);
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

/// A row for each queue, group of flows and class of sizes.
pub(super) fn transfers(record: &Record, all: &[Summary]) -> String {
    let row = |s: &Summary, name: &str, sizes: &str, of: &Completion| {
        let took = [of.mean_ns, of.p50_ns, of.p95_ns, of.p99_ns].map(ms);
        let slowdowns = [of.slowdown_mean, of.slowdown_p50, of.slowdown_p95, of.slowdown_p99].map(times);
        let names = [&s.queue, name, sizes].map(escape);
        names.into_iter().chain([count_flows(of)]).chain(took).chain(slowdowns).collect()
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    for i in 0..record.test.traffic.len() {
        for (s, t) in all.iter().filter_map(|s| Some((s, s.traffic.get(i)?))) {
            let sizes = [("all", &t.all), ("≤100 kB", &t.small), ("≤10 MB", &t.medium), (">10 MB", &t.large)];
            let with_flows = sizes.into_iter().filter(|(_, of)| !of.is_empty());
            rows.extend(with_flows.map(|(sizes, of)| row(s, &t.name, sizes, of)));
        }
    }
    let heads = [
        "queue",
        "traffic",
        "sizes",
        "flows",
        "FCT, ms mean",
        "p50",
        "p95",
        "p99",
        "slowdown mean",
        "p50",
        "p95",
        "p99",
    ];
    table("Flow completion times and slowdowns", &heads, 3, &rows)
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

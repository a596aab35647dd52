//! CSV: one row per sample, units in the header; an empty field is a missing value. A column holds only
//! numbers or only text. Fields are quoted as in RFC 4180 where necessary; lines end in a line feed.

mod talks;
mod wifi;

use std::fmt::Write as _;

use crate::applications::{PageSummary, call_name, page_name};
use crate::record::{Direction, Fate};
use crate::run_row::RunRow;
use crate::summary::{Latency, QueueSummary, Summary, direction_name, probe_name, steps};
use crate::transfers::{self, TransferSummary, traffic_name};
use crate::videos::{VideoSummary, video_name};
use crate::voice::Voice;
use crate::{MISSING, Record, Sojourn, data};

pub use talks::{frames, games, video_calls};
pub use wifi::{airtime, stations};

fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// Nanoseconds as a decimal number of units of 10^`digits` ns, exact; empty for [`MISSING`].
fn decimal(ns: i64, digits: usize) -> String {
    if ns == MISSING {
        return String::new();
    }
    let (sign, value) = (if ns < 0 { "-" } else { "" }, ns.unsigned_abs());
    let unit = 10_u64.pow(u32::try_from(digits).unwrap_or(0));
    let text = format!("{sign}{}.{:0digits$}", value / unit, value % unit);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn seconds(ns: i64) -> String {
    decimal(ns, 9)
}

fn milliseconds(ns: i64) -> String {
    decimal(ns, 6)
}

fn maybe_ms(ns: Option<i64>) -> String {
    ns.map(milliseconds).unwrap_or_default()
}

fn cell<T: std::fmt::Display>(column: &[T], i: usize) -> String {
    column.get(i).map(ToString::to_string).unwrap_or_default()
}

/// A value of a column in which zero means unknown.
pub(crate) fn known<T: Copy + Default + PartialEq>(column: &[T], i: usize) -> Option<T> {
    column.get(i).copied().filter(|value| *value != T::default())
}

/// `goodput.csv`: a row per flow and step. `t_s` is the end of the step.
pub fn goodput(record: &Record) -> String {
    let mut out =
        String::from("queue,series,direction,t_s,goodput_bps,rx_bytes,cwnd_segments,srtt_us,retransmits,");
    out.push_str("pacing_bps,delivery_bps,app_limited\n");
    for run in &record.runs {
        for (plan, flow) in record.test.flows.iter().zip(&run.flows) {
            let head =
                format!("{},{},{}", field(&run.queue), field(&plan.name), direction_name(plan.direction));
            for (i, (step, bytes)) in steps(record, flow).enumerate() {
                let rate = match step.length() {
                    0 => String::new(),
                    ns => format!("{:.0}", bytes as f64 * 8e9 / ns as f64),
                };
                let delivery = known(&flow.delivery_bps, i);
                let app_limited = delivery.map(|_| flow.app_limited.get(i) == Some(&true));
                let _ = writeln!(
                    out,
                    "{head},{},{rate},{bytes},{},{},{},{},{},{}",
                    seconds(step.to),
                    cell(known(&flow.cwnd_segments, i).as_slice(), 0),
                    cell(known(&flow.srtt_us, i).as_slice(), 0),
                    cell(&flow.retransmits, i),
                    cell(known(&flow.pacing_bps, i).as_slice(), 0),
                    cell(delivery.as_slice(), 0),
                    cell(app_limited.as_slice(), 0),
                );
            }
        }
    }
    out
}

/// `latency.csv`: a row per probe sent. `t_s` is the time of sending.
pub fn latency(record: &Record) -> String {
    let mut out = String::from("queue,series,t_s,round_trip_ms,one_way_up_ms,one_way_down_ms\n");
    for run in &record.runs {
        for (i, probe) in run.probes.iter().enumerate() {
            let head = format!("{},{}", field(&run.queue), field(&probe_name(record, i)));
            let at = |c: &[i64], j: usize| c.get(j).copied().map(milliseconds).unwrap_or_default();
            for (j, &sent) in probe.sent_ns.iter().enumerate() {
                let (rtt, up, down) = (at(&probe.rtt_ns, j), at(&probe.up_ns, j), at(&probe.down_ns, j));
                let _ = writeln!(out, "{head},{},{rtt},{up},{down}", seconds(sent));
            }
        }
    }
    out
}

/// `calls.csv`: a row per packet that a client sent in a call. `lost` is the direction in which it or its
/// answer was lost.
pub fn calls(record: &Record) -> String {
    let mut out = String::from("queue,series,t_s,one_way_up_ms,one_way_down_ms,lost\n");
    for run in &record.runs {
        for (i, call) in run.voip.iter().enumerate() {
            let head = format!("{},{}", field(&run.queue), field(&call_name(record, i)));
            let at = |c: &[i64], j: usize| c.get(j).copied().map(milliseconds).unwrap_or_default();
            for (j, (&sent, fate)) in call.sent_ns.iter().zip(&call.fate).enumerate() {
                let lost = match fate {
                    Fate::Arrived => "",
                    Fate::Up => "up",
                    Fate::Down => "down",
                    Fate::Unknown => "unknown",
                };
                let (up, down) = (at(&call.up_ns, j), at(&call.down_ns, j));
                let _ = writeln!(out, "{head},{},{up},{down},{lost}", seconds(sent));
            }
        }
    }
    out
}

/// `pages.csv`: a row per page load begun. `took_ms` is the page load time if `complete` is 1.
pub fn pages(record: &Record) -> String {
    let mut out = String::from("queue,page,t_s,took_ms,complete,first_byte_ms,rx_bytes\n");
    for run in &record.runs {
        for (i, page) in run.web.iter().enumerate() {
            let head = format!("{},{}", field(&run.queue), field(&page_name(record, i)));
            let at = |c: &[i64], j: usize| c.get(j).copied().map(milliseconds).unwrap_or_default();
            for (j, &start) in page.start_ns.iter().enumerate() {
                let complete = page.complete.get(j).map(|&c| u8::from(c).to_string()).unwrap_or_default();
                let _ = writeln!(
                    out,
                    "{head},{},{},{complete},{},{}",
                    seconds(start),
                    at(&page.took_ns, j),
                    at(&page.first_byte_ns, j),
                    cell(&page.rx_bytes, j),
                );
            }
        }
    }
    out
}

/// `videos.csv`: a row per segment requested, all of one length. `took_ms` is the time to its last byte if
/// `complete` is 1.
pub fn videos(record: &Record) -> String {
    let mut out =
        String::from("queue,video,t_s,took_ms,complete,bitrate_bps,rx_bytes,buffer_ms,stalled_ms\n");
    for run in &record.runs {
        for (i, video) in run.dash.iter().enumerate() {
            let head = format!("{},{}", field(&run.queue), field(&video_name(record, i)));
            let at = |c: &[i64], j: usize| c.get(j).copied().map(milliseconds).unwrap_or_default();
            for (j, &asked) in video.asked_ns.iter().enumerate() {
                let complete = video.complete.get(j).map(|&c| u8::from(c).to_string()).unwrap_or_default();
                let rate = cell(&video.bitrate_bps, j);
                let _ = writeln!(
                    out,
                    "{head},{},{},{complete},{},{},{},{}",
                    seconds(asked),
                    at(&video.took_ns, j),
                    rate,
                    cell(&video.rx_bytes, j),
                    at(&video.buffer_ns, j),
                    at(&video.stalled_ns, j),
                );
            }
        }
    }
    out
}

/// `flows.csv`: a row per flow of user-defined traffic. `took_ms` is its completion time, empty if it had not
/// ended.
pub fn transfers(record: &Record) -> String {
    let mut out = String::from("queue,traffic,t_s,bytes,took_ms,ideal_ms,slowdown\n");
    for run in &record.runs {
        for (i, series) in run.traffic.iter().enumerate() {
            let head = format!("{},{}", field(&run.queue), field(&traffic_name(record, i)));
            for flow in transfers::each(series) {
                let slowdown = flow.slowdown().map(|parts| decimal(parts, 6)).unwrap_or_default();
                let _ = writeln!(
                    out,
                    "{head},{},{},{},{},{slowdown}",
                    seconds(flow.start_ns),
                    flow.bytes,
                    maybe_ms(flow.took_ns),
                    milliseconds(flow.ideal_ns),
                );
            }
        }
    }
    out
}

/// `queue.csv`: a row per direction and sample, of the queue at the bottleneck. Sent, drops, marks and the
/// line's busy time count from the start of the run.
pub fn queue(record: &Record) -> String {
    let mut out = String::from(
        "queue,direction,t_s,backlog_bytes,backlog_packets,ring_bytes,sent_bytes,sent_packets,drops,marks,busy_ms\n",
    );
    for run in &record.runs {
        for (direction, q) in [(Direction::Up, &run.up), (Direction::Down, &run.down)] {
            let head = format!("{},{}", field(&run.queue), direction_name(direction));
            for (i, &t) in q.t_ns.iter().enumerate() {
                let _ = writeln!(
                    out,
                    "{head},{},{},{},{},{},{},{},{},{}",
                    seconds(t),
                    cell(&q.backlog_bytes, i),
                    cell(&q.backlog_packets, i),
                    cell(&q.ring_bytes, i),
                    cell(&q.sent_bytes, i),
                    cell(&q.sent_packets, i),
                    cell(&q.drops, i),
                    cell(&q.marks, i),
                    maybe_ms(q.busy_ns.get(i).and_then(|&ns| i64::try_from(ns).ok())),
                );
            }
        }
    }
    out
}

/// The complete record in long form: a row per value, as in `data.parquet`. See `docs/data.md`.
pub fn data(record: &Record) -> String {
    let mut out = data::COLUMNS.join(",") + "\n";
    data::each(record, &mut |row| {
        let direction = row.direction.map(direction_name).unwrap_or_default();
        let (queue, series) = (field(row.queue), field(&row.series));
        let _ = write!(out, "{},{queue},{},{},{series},{direction},", row.run, row.seed, row.kind);
        let _ = write!(out, "{},{},", row.t_ns.map(seconds).unwrap_or_default(), row.metric);
        let _ = writeln!(out, "{},{}", row.value.map(|v| v.to_string()).unwrap_or_default(), row.unit);
    });
    out
}

/// `runs.csv`: a row per queue that was planned, with its grade. See [`RunRow`].
pub fn runs(record: &Record) -> String {
    let mut out = RunRow::COLUMNS.join(",") + "\n";
    let number = |x: Option<f64>| x.map(|v| format!("{v:.6}")).unwrap_or_default();
    let percent = |x: Option<f64>| number(x.map(|v| v * 100.0));
    let whole = |x: Option<u64>| x.map(|n| n.to_string()).unwrap_or_default();
    for row in RunRow::of_runs(record) {
        let cells = [
            row.run.map(|run| run.to_string()).unwrap_or_default(),
            field(row.queue),
            row.seed.to_string(),
            row.state.to_owned(),
            row.grade.unwrap_or_default().to_owned(),
            maybe_ms(row.rise_mean_ns),
            percent(row.probes_lost),
            row.no_grade_because.as_deref().map(field).unwrap_or_default(),
            whole(row.goodput_up_bps),
            whole(row.goodput_down_bps),
            number(row.jain_up),
            number(row.jain_down),
            number(row.jain_airtime),
            percent(row.used_up),
            percent(row.used_down),
            maybe_ms(row.idle_ns),
            maybe_ms(row.rise_p50_ns),
            maybe_ms(row.rise_p95_ns),
            maybe_ms(row.rise_p99_ns),
            maybe_ms(row.rise_max_ns),
            whole(row.drops),
            whole(row.marks),
        ];
        let _ = writeln!(out, "{}", cells.join(","));
    }
    out
}

/// `path.csv`: a row per run and queue on the path. Counts are over the whole run, sojourn times over the
/// loaded interval.
pub fn path(record: &Record) -> String {
    let mut out = String::from(
        "queue,link,direction,discipline,bottleneck,arrived_packets,sent_packets,sent_bytes,held_packets,held_bytes,\
         drops,marks,sojourn_packets,sojourn_mean_ms,sojourn_p50_ms,sojourn_p95_ms,sojourn_p99_ms,sojourn_max_ms\n",
    );
    for run in &record.runs {
        for q in &run.path {
            let wait = |of: fn(&Sojourn) -> u64| {
                maybe_ms(q.sojourn.as_ref().filter(|s| s.n > 0).and_then(|s| i64::try_from(of(s)).ok()))
            };
            let _ = writeln!(
                out,
                "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
                field(&run.queue),
                field(&q.link),
                direction_name(q.direction),
                field(&q.queue),
                u8::from(q.bottleneck),
                q.arrived_packets,
                q.sent_packets,
                q.sent_bytes,
                q.held_packets,
                q.held_bytes,
                q.drops(),
                q.marks,
                q.sojourn.map(|s| s.n.to_string()).unwrap_or_default(),
                wait(|s| s.mean_ns),
                wait(|s| s.p50_ns),
                wait(|s| s.p95_ns),
                wait(|s| s.p99_ns),
                wait(|s| s.max_ns),
            );
        }
    }
    out
}

/// `summary.csv`: a row per queue and figure; the unit of `value` is the end of the statistic's name.
pub fn summary(record: &Record) -> String {
    let mut out = String::from("queue,series,statistic,value\n");
    for s in Summary::all(record) {
        let queue = field(&s.queue);
        let mut row = |series: &str, statistic: &str, value: String| {
            let _ = writeln!(out, "{queue},{},{statistic},{value}", field(series));
        };
        let rate = |bps: Option<u64>| bps.map(|b| b.to_string()).unwrap_or_default();
        let number = |x: Option<f64>| x.map(|v| format!("{v:.6}")).unwrap_or_default();
        row("all up", "goodput_bps", rate(s.goodput_up_bps));
        row("all down", "goodput_bps", rate(s.goodput_down_bps));
        for flow in &s.flows {
            row(&flow.name, "goodput_bps", rate(flow.goodput_bps));
        }
        row("all up", "jain_index", number(s.jain_up));
        row("all down", "jain_index", number(s.jain_down));
        latency_rows(&mut row, "round trip", &s.rtt);
        latency_rows(&mut row, "one-way up", &s.up);
        latency_rows(&mut row, "one-way down", &s.down);
        if let Some(error) = s.one_way_error_ns {
            row("one-way", "error_ms", maybe_ms(Some(error)));
        }
        row("all", "tcp_rtt_p50_ms", maybe_ms(s.tcp_rtt.p50_ns));
        row("all", "tcp_rtt_p95_ms", maybe_ms(s.tcp_rtt.p95_ns));
        for flow in &s.flows {
            row(&flow.name, "tcp_rtt_p50_ms", maybe_ms(flow.tcp_rtt.p50_ns));
            row(&flow.name, "tcp_rtt_p95_ms", maybe_ms(flow.tcp_rtt.p95_ns));
            row(&flow.name, "pacing_p50_bps", rate(flow.pacing_p50_bps));
            row(&flow.name, "delivery_p50_bps", rate(flow.delivery_p50_bps));
            row(
                &flow.name,
                "ecn_negotiated",
                flow.ecn.map(|on| u8::from(on).to_string()).unwrap_or_default(),
            );
        }
        for (series, sojourn) in [("queue up", s.sojourn_up), ("queue down", s.sojourn_down)] {
            sojourn_rows(&mut row, series, sojourn);
        }
        let [drops, marks] = s.drops_and_marks();
        row("all queues", "drops_packets", drops.to_string());
        row("all queues", "marks_packets", marks.to_string());
        for call in &s.voip {
            let ways = [("up", call.up_idle, call.up), ("down", call.down_idle, call.down)];
            for (way, idle, load) in ways {
                call_rows(&mut row, &format!("{} {way}", call.name), idle, load);
            }
        }
        for page in &s.web {
            page_rows(&mut row, &format!("{} page", page.name), page);
        }
        for video in &s.dash {
            video_rows(&mut row, &video.name, video);
        }
        for traffic in &s.traffic {
            transfer_rows(&mut row, traffic);
        }
        for talk in &s.talks {
            talks::rows(&mut row, talk);
        }
        queue_rows(&mut row, "queue up", &s.queue_up);
        queue_rows(&mut row, "queue down", &s.queue_down);
    }
    out
}

fn transfer_rows(row: &mut impl FnMut(&str, &str, String), traffic: &TransferSummary) {
    let sizes = [
        ("", &traffic.all),
        (" up to 100 kB", &traffic.small),
        (" up to 10 MB", &traffic.medium),
        (" above 10 MB", &traffic.large),
    ];
    for (size, of) in sizes.into_iter().filter(|(_, of)| !of.is_empty()) {
        let series = format!("{}{size}", traffic.name);
        row(&series, "flows", of.n.to_string());
        row(&series, "flows_not_ended", of.unfinished.to_string());
        let times = [
            ("fct_mean_ms", of.mean_ns),
            ("fct_p50_ms", of.p50_ns),
            ("fct_p95_ms", of.p95_ns),
            ("fct_p99_ms", of.p99_ns),
        ];
        times.into_iter().for_each(|(name, ns)| row(&series, name, maybe_ms(ns)));
        let slowdowns = [
            ("slowdown_mean", of.slowdown_mean),
            ("slowdown_p50", of.slowdown_p50),
            ("slowdown_p95", of.slowdown_p95),
            ("slowdown_p99", of.slowdown_p99),
        ];
        for (name, slowdown) in slowdowns {
            row(&series, name, slowdown.map(|slowdown| format!("{slowdown:.6}")).unwrap_or_default());
        }
    }
}

fn latency_rows(row: &mut impl FnMut(&str, &str, String), series: &str, l: &Latency) {
    row(series, "samples", l.n.to_string());
    row(series, "lost", l.lost.to_string());
    row(series, "not_answered", l.under_way.to_string());
    let values = [
        ("not_answered_within_ms", l.cut_off_ns),
        ("idle_p50_ms", l.idle_ns),
        ("min_ms", l.min_ns),
        ("p50_ms", l.p50_ns),
        ("p95_ms", l.p95_ns),
        ("p99_ms", l.p99_ns),
        ("max_ms", l.max_ns),
        ("mean_ms", l.mean_ns),
        ("rise_p50_ms", l.added_p50_ns),
        ("rise_p95_ms", l.added_p95_ns),
        ("rise_p99_ms", l.added_p99_ns),
        ("rise_max_ms", l.added_max_ns),
        ("rise_mean_ms", l.added_mean_ns),
        ("startup_max_ms", l.startup_max_ns),
    ];
    for (name, value) in values {
        row(series, name, maybe_ms(value));
    }
}

fn call_rows(
    row: &mut impl FnMut(&str, &str, String),
    series: &str,
    idle: Option<Voice>,
    load: Option<Voice>,
) {
    let maybe = |voice: Option<Voice>, f: fn(Voice) -> String| voice.map(f).unwrap_or_default();
    row(series, "idle_mos", maybe(idle, |v| format!("{:.4}", v.mos)));
    row(series, "mos", maybe(load, |v| format!("{:.4}", v.mos)));
    row(series, "sent_packets", maybe(load, |v| v.sent.to_string()));
    row(series, "lost_packets", maybe(load, |v| v.lost.to_string()));
    let ms = |ns: u64| milliseconds(i64::try_from(ns).unwrap_or(i64::MAX));
    row(series, "delay_mean_ms", load.map(|v| ms(v.delay_ns)).unwrap_or_default());
    row(series, "jitter_ms", load.map(|v| ms(v.jitter_ns)).unwrap_or_default());
}

fn page_rows(row: &mut impl FnMut(&str, &str, String), series: &str, page: &PageSummary) {
    row(series, "pages", page.load.n.to_string());
    row(series, "incomplete_pages", page.load.incomplete.to_string());
    let values = [
        ("idle_p50_ms", page.idle.p50_ns),
        ("p50_ms", page.load.p50_ns),
        ("p95_ms", page.load.p95_ns),
        ("max_ms", page.load.max_ns),
        ("incomplete_max_ms", page.load.incomplete_max_ns),
        ("first_byte_p50_ms", page.load.first_byte_p50_ns),
    ];
    for (name, value) in values {
        row(series, name, maybe_ms(value));
    }
}

fn video_rows(row: &mut impl FnMut(&str, &str, String), series: &str, video: &VideoSummary) {
    row(series, "segments", video.segments.to_string());
    let rates = [
        ("bitrate_mean_bps", video.bitrate_mean_bps),
        ("bitrate_min_bps", video.bitrate_min_bps),
        ("bitrate_max_bps", video.bitrate_max_bps),
    ];
    for (name, rate) in rates {
        row(series, name, rate.map(|bps| bps.to_string()).unwrap_or_default());
    }
    row(series, "bitrate_changes", video.changes.to_string());
    row(series, "startup_ms", maybe_ms(video.startup_ns));
    row(series, "stalls", video.stalls.to_string());
    row(series, "stalled_ms", maybe_ms(Some(video.stalled_ns)));
}

/// The rows of the queue that is shown for a direction.
fn sojourn_rows(row: &mut impl FnMut(&str, &str, String), series: &str, sojourn: Option<Sojourn>) {
    let Some(waits) = sojourn.filter(|waits| waits.n > 0) else {
        return ["p50", "p95", "p99", "max"]
            .iter()
            .for_each(|p| row(series, &format!("sojourn_{p}_ms"), String::new()));
    };
    let values = [("p50", waits.p50_ns), ("p95", waits.p95_ns), ("p99", waits.p99_ns), ("max", waits.max_ns)];
    for (name, ns) in values {
        row(series, &format!("sojourn_{name}_ms"), maybe_ms(i64::try_from(ns).ok()));
    }
}

fn queue_rows(row: &mut impl FnMut(&str, &str, String), series: &str, q: &QueueSummary) {
    let maybe = |x: Option<u64>| x.map(|v| v.to_string()).unwrap_or_default();
    row(series, "drops_packets", q.drops.to_string());
    row(series, "marks_packets", q.marks.to_string());
    row(series, "drops_loaded_packets", q.drops_loaded.to_string());
    row(series, "marks_loaded_packets", q.marks_loaded.to_string());
    row(series, "backlog_mean_bytes", maybe(q.backlog_mean_bytes));
    row(series, "backlog_max_bytes", maybe(q.backlog_max_bytes));
    row(series, "utilisation", q.utilisation.map(|u| format!("{u:.6}")).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_and_short() {
        assert_eq!(seconds(-5_000_000_000), "-5");
        assert_eq!(seconds(-10_000_000), "-0.01");
        assert_eq!(milliseconds(1_234_567), "1.234567");
        assert_eq!(milliseconds(0), "0");
        assert_eq!(milliseconds(MISSING), "");
        assert_eq!(field("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}

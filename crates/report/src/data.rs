//! All measurements in one table in long form: a row per value. `docs/data.md` describes it.

use std::borrow::Cow;

use crate::applications::{call_name, page_name};
use crate::csv;
use crate::record::Repetition;
use crate::record::{Direction, MISSING, QueueSeries, Record, Run};
use crate::summary::{direction_name, probe_name, steps};
use crate::talks::{talk_name, ways};
use crate::transfers::{self, traffic_name};
use crate::videos::video_name;

/// Names of the columns, in order.
pub const COLUMNS: [&str; 10] =
    ["run", "queue", "seed", "kind", "series", "direction", "t_s", "metric", "value", "unit"];

/// One value.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// Number of the run in the record, from 0; queues that were planned but not measured follow.
    pub run: u32,
    /// The queue, as in the run.
    pub queue: &'a str,
    /// Root of the random streams.
    pub seed: u64,
    /// What the series is of: `run`, `flow`, `probe`, `queue`, `path`, `call`, `page`, `video`, `video_call`,
    /// `game`, `station`.
    pub kind: &'static str,
    /// Name of the flow, probe, link, call, page, video, game or station; empty if the kind has only one.
    pub series: Cow<'a, str>,
    /// Absent if the value has none.
    pub direction: Option<Direction>,
    /// Time from the start of the load; absent for a figure over the loaded interval.
    pub t_ns: Option<i64>,
    /// What was measured.
    pub metric: &'static str,
    /// The value; absent for a missing one: a lost probe, an incomplete page.
    pub value: Option<f64>,
    /// Its unit.
    pub unit: &'static str,
}

/// Hands every row of `record` to `put`, run by run, each series in the order of time.
pub fn each(record: &Record, put: &mut dyn FnMut(&Row<'_>)) {
    for (number, run) in (0_u32..).zip(&record.runs) {
        let seed = run.simulation.as_ref().map_or(record.seed, |simulation| simulation.seed);
        let of_run = Row::of_run(number, &run.queue, seed);
        value(put, &of_run, None, "complete", Some(f64::from(u8::from(run.complete))), "1");
        value(put, &of_run, None, "valid", Some(f64::from(u8::from(run.validity.valid))), "1");
        figures(record, run, &of_run, put);
        flows(record, run, &of_run, put);
        probes(record, run, &of_run, put);
        applications(record, run, &of_run, put);
        for (direction, series) in [(Direction::Up, &run.up), (Direction::Down, &run.down)] {
            queues(series, direction, &of_run, put);
        }
        path(run, &of_run, put);
        traffic(record, run, &of_run, put);
        talks(record, run, &of_run, put);
        stations(run, &of_run, put);
    }
    let measured = u32::try_from(record.runs.len()).unwrap_or(u32::MAX);
    for (number, queue) in (measured..).zip(record.missing()) {
        value(put, &Row::of_run(number, queue, record.seed), None, "complete", None, "1");
    }
}

impl<'a> Row<'a> {
    fn of_run(run: u32, queue: &'a str, seed: u64) -> Row<'a> {
        let (kind, series) = ("run", Cow::Borrowed(""));
        Row { run, queue, seed, kind, series, direction: None, t_ns: None, metric: "", value: None, unit: "" }
    }
}

/// Puts one value of the series `of`.
fn value(
    put: &mut dyn FnMut(&Row<'_>),
    of: &Row<'_>,
    direction: Option<Direction>,
    metric: &'static str,
    value: Option<f64>,
    unit: &'static str,
) {
    put(&Row { direction, metric, value, unit, series: Cow::Borrowed(&of.series), ..*of });
}

/// The figures of every repetition; of a run that was not repeated, its own.
fn figures(record: &Record, run: &Run, of_run: &Row<'_>, put: &mut dyn FnMut(&Row<'_>)) {
    let own = [Repetition::of(record, run, of_run.seed)];
    let all = if run.repetitions.is_empty() { &own[..] } else { &run.repetitions };
    for one in all {
        let of = Row { seed: one.seed, series: Cow::Borrowed(""), ..*of_run };
        let (up, down) = (Some(Direction::Up), Some(Direction::Down));
        let rate = |bps: Option<u64>| bps.map(|bps| bps as f64);
        let ms = |ns: Option<i64>| ns.map(milliseconds);
        for (direction, metric, figure, unit) in [
            (up, "goodput_mean", rate(one.goodput_up_bps), "bit/s"),
            (down, "goodput_mean", rate(one.goodput_down_bps), "bit/s"),
            (up, "jain_goodput", one.jain_up, "1"),
            (down, "jain_goodput", one.jain_down, "1"),
            (None, "jain_airtime", one.jain_airtime, "1"),
            (None, "rise_p50", ms(one.rise_p50_ns), "ms"),
            (None, "rise_p95", ms(one.rise_p95_ns), "ms"),
            (None, "rise_p99", ms(one.rise_p99_ns), "ms"),
            (None, "drops_total", Some(one.drops as f64), "packets"),
            (None, "marks_total", Some(one.marks as f64), "packets"),
        ] {
            if figure.is_some() {
                value(put, &of, direction, metric, figure, unit);
            }
        }
    }
}

fn flows(record: &Record, run: &Run, of_run: &Row<'_>, put: &mut dyn FnMut(&Row<'_>)) {
    for (plan, flow) in record.test.flows.iter().zip(&run.flows) {
        let direction = Some(plan.direction);
        for (i, (step, bytes)) in steps(record, flow).enumerate() {
            let series = Cow::Borrowed(plan.name.as_str());
            let of = Row { kind: "flow", series, t_ns: Some(step.to), ..*of_run };
            let known = |column: &[u32]| csv::known(column, i).map(f64::from);
            let goodput = (step.length() > 0).then(|| bytes as f64 * 8e9 / step.length() as f64);
            value(put, &of, direction, "goodput", goodput, "bit/s");
            value(put, &of, direction, "cwnd", known(&flow.cwnd_segments), "segments");
            value(put, &of, direction, "srtt", known(&flow.srtt_us).map(|us| us / 1e3), "ms");
            let again = flow.retransmits.get(i).map(|&n| f64::from(n));
            value(put, &of, direction, "retransmits", again, "segments");
            for (metric, rates) in [("pacing_rate", &flow.pacing_bps), ("delivery_rate", &flow.delivery_bps)]
            {
                let rate = csv::known(rates, i).map(|bps| bps as f64);
                if rate.is_some() {
                    value(put, &of, direction, metric, rate, "bit/s");
                }
            }
        }
    }
}

fn probes(record: &Record, run: &Run, of_run: &Row<'_>, put: &mut dyn FnMut(&Row<'_>)) {
    for (i, probe) in run.probes.iter().enumerate() {
        let name = probe_name(record, i);
        for (j, &sent) in probe.sent_ns.iter().enumerate() {
            let series = Cow::Borrowed(name.as_str());
            let of = Row { kind: "probe", series, t_ns: Some(sent), ..*of_run };
            value(put, &of, None, "round_trip", delay(&probe.rtt_ns, j), "ms");
            value(put, &of, Some(Direction::Up), "one_way", delay(&probe.up_ns, j), "ms");
            value(put, &of, Some(Direction::Down), "one_way", delay(&probe.down_ns, j), "ms");
        }
    }
}

fn applications(record: &Record, run: &Run, of_run: &Row<'_>, put: &mut dyn FnMut(&Row<'_>)) {
    for (i, call) in run.voip.iter().enumerate() {
        let name = call_name(record, i);
        for (j, &sent) in call.sent_ns.iter().enumerate() {
            let series = Cow::Borrowed(name.as_str());
            let of = Row { kind: "call", series, t_ns: Some(sent), ..*of_run };
            value(put, &of, Some(Direction::Up), "one_way", delay(&call.up_ns, j), "ms");
            value(put, &of, Some(Direction::Down), "one_way", delay(&call.down_ns, j), "ms");
        }
    }
    for (i, page) in run.web.iter().enumerate() {
        let name = page_name(record, i);
        for (j, &start) in page.start_ns.iter().enumerate() {
            let series = Cow::Borrowed(name.as_str());
            let of = Row { kind: "page", series, t_ns: Some(start), ..*of_run };
            let took = delay(&page.took_ns, j).filter(|_| page.complete.get(j) == Some(&true));
            value(put, &of, None, "load_time", took, "ms");
        }
    }
    for (i, video) in run.dash.iter().enumerate() {
        let name = video_name(record, i);
        for (j, &asked) in video.asked_ns.iter().enumerate() {
            let series = Cow::Borrowed(name.as_str());
            let of = Row { kind: "video", series, t_ns: Some(asked), ..*of_run };
            let rate = video.bitrate_bps.get(j).map(|&bps| bps as f64);
            value(put, &of, None, "bitrate", rate, "bit/s");
            value(put, &of, None, "buffer", delay(&video.buffer_ns, j), "ms");
        }
    }
}

fn queues(q: &QueueSeries, direction: Direction, of_run: &Row<'_>, put: &mut dyn FnMut(&Row<'_>)) {
    let at = |column: &[u64], i: usize| column.get(i).map(|&n| n as f64);
    for (i, &t) in q.t_ns.iter().enumerate() {
        let series = Cow::Borrowed(direction_name(direction));
        let of = Row { kind: "queue", series, t_ns: Some(t), ..*of_run };
        let packets = q.backlog_packets.get(i).map(|&n| f64::from(n));
        for (metric, number, unit) in [
            ("backlog", at(&q.backlog_bytes, i), "bytes"),
            ("backlog_packets", packets, "packets"),
            ("ring", at(&q.ring_bytes, i), "bytes"),
            ("sent", at(&q.sent_bytes, i), "bytes"),
            ("sent_packets", at(&q.sent_packets, i), "packets"),
            ("drops", at(&q.drops, i), "packets"),
            ("marks", at(&q.marks, i), "packets"),
        ] {
            value(put, &of, Some(direction), metric, number, unit);
        }
    }
}

/// Every queue on the path: counts over the complete run, sojourn times over the loaded interval.
fn path(run: &Run, of_run: &Row<'_>, put: &mut dyn FnMut(&Row<'_>)) {
    for queue in &run.path {
        let of = Row { kind: "path", series: Cow::Borrowed(queue.link.as_str()), ..*of_run };
        let direction = Some(queue.direction);
        value(put, &of, direction, "drops_total", Some(queue.drops() as f64), "packets");
        value(put, &of, direction, "marks_total", Some(queue.marks as f64), "packets");
        let Some(sojourn) = queue.sojourn.filter(|sojourn| sojourn.n > 0) else { continue };
        for (metric, ns) in [
            ("sojourn_mean", sojourn.mean_ns),
            ("sojourn_p50", sojourn.p50_ns),
            ("sojourn_p95", sojourn.p95_ns),
            ("sojourn_p99", sojourn.p99_ns),
            ("sojourn_max", sojourn.max_ns),
        ] {
            value(put, &of, direction, metric, Some(ns as f64 / 1e6), "ms");
        }
    }
}

/// User-defined traffic, flow by flow; the time is that of its beginning.
fn traffic(record: &Record, run: &Run, of_run: &Row<'_>, put: &mut dyn FnMut(&Row<'_>)) {
    for (i, (series, plan)) in run.traffic.iter().zip(&record.test.traffic).enumerate() {
        let (name, direction) = (traffic_name(record, i), Some(plan.direction));
        for flow in transfers::each(series) {
            let series = Cow::Borrowed(name.as_str());
            let of = Row { kind: "transfer", series, t_ns: Some(flow.start_ns), ..*of_run };
            value(put, &of, direction, "size", Some(flow.bytes as f64), "bytes");
            value(put, &of, direction, "completion_time", flow.took_ns.map(milliseconds), "ms");
            value(put, &of, direction, "ideal_time", Some(milliseconds(flow.ideal_ns)), "ms");
        }
    }
}

/// Video calls and games; each direction is what its receiver got.
fn talks(record: &Record, run: &Run, of_run: &Row<'_>, put: &mut dyn FnMut(&Row<'_>)) {
    for (i, (talk, plan)) in run.talks.iter().zip(&record.test.talks).enumerate() {
        let name = talk_name(record, i);
        let kind = if plan.ticks.is_some() { "game" } else { "video_call" };
        let at = |t: i64| Row { kind, series: Cow::Borrowed(name.as_str()), t_ns: Some(t), ..*of_run };
        for (direction, way) in ways(talk) {
            let direction = Some(direction);
            for (j, &t) in way.captured_ns.iter().enumerate() {
                value(put, &at(t), direction, "frame_delay", delay(&way.frame_took_ns, j), "ms");
                let height = way.height.get(j).map(|&lines| f64::from(lines));
                value(put, &at(t), direction, "height", height, "lines");
            }
            for (j, &t) in way.t_ns.iter().enumerate() {
                let bytes = way.rx_bytes.get(j).map(|&n| n as f64);
                value(put, &at(t), direction, "received", bytes, "bytes");
                let lost = way.lost_packets.get(j).map(|&n| f64::from(n));
                value(put, &at(t), direction, "lost", lost, "packets");
            }
            for (j, &t) in way.sent_ns.iter().enumerate() {
                value(put, &at(t), direction, "one_way", delay(&way.tick_took_ns, j), "ms");
                if let Some(rtt) = delay(&way.rtt_ns, j) {
                    value(put, &at(t), direction, "round_trip", Some(rtt), "ms");
                }
            }
        }
    }
}

fn stations(run: &Run, of_run: &Row<'_>, put: &mut dyn FnMut(&Row<'_>)) {
    for radio in &run.radios {
        for (station, held) in radio.stations.iter().zip(&radio.shares.stations) {
            for (&t, &ns) in radio.shares.t_ns.iter().zip(held) {
                let series = Cow::Borrowed(station.name.as_str());
                let of = Row { kind: "station", series, t_ns: Some(t), ..*of_run };
                value(put, &of, None, "airtime", Some(ns as f64 / 1e6), "ms");
            }
        }
    }
}

fn delay(column: &[i64], i: usize) -> Option<f64> {
    column.get(i).copied().filter(|&ns| ns != MISSING).map(milliseconds)
}

fn milliseconds(ns: i64) -> f64 {
    ns as f64 / 1e6
}

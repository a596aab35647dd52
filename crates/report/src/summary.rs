//! The summary of a run: the figures of the table, the page and the grade.
//!
//! Definitions for all of this crate:
//!
//! * **Loaded interval**: the load without a ramp of min(2 s, 20 % of the load) at its start, in which TCP
//!   leaves slow start. (The literature drops 2 s to 5 s.) `startup_max_ns` is the maximum over the whole
//!   load, ramp included. In a run that was cut short the loaded interval ends with the last step in which
//!   flows certainly ran throughout.
//! * **Goodput**: payload that the receiving application got, over the loaded interval. A step that is partly
//!   inside counts by its share of time. A flow's own goodput is over the part of the loaded interval in
//!   which it was planned to run.
//! * **Idle baseline** of a probe: the median of its answers that arrived before the load began; probes in
//!   flight while a page was loading do not count.
//! * **Calls and pages**: see [`CallSummary`] and [`PageSummary`].
//! * **Rise** (`added_*`): a sample under load minus the idle baseline of its own probe. Samples of all
//!   probes of a run are pooled.
//! * **Percentiles**: nearest rank; see the crate documentation.
//! * **Utilisation**: the share of the loaded interval in which the line was busy ([`QueueSeries::busy_ns`]),
//!   0 to 1. For Wi-Fi: the share of the time in which some device had something to send.
//! * **Drops and marks**: those of all queues on the path ([`PathQueue`](crate::PathQueue)). **Sojourn** and
//!   **TCP's round trip**: see [`Sojourn`] and [`TcpRtt`].
//! * **Grade**, **saturated**, **starved** and **loss**: see [`Grade`] and the module `verdict`.

use std::collections::HashMap;

pub(crate) mod kind;
mod path;
mod radio;
pub(crate) mod repeat;
pub(crate) mod verdict;

use serde::{Deserialize, Serialize};

use crate::applications::{self, CallSummary, PageSummary};
use crate::baseline::{baseline, idle_samples};
use crate::record::Sojourn;
use crate::record::{Direction, FlowPlan, FlowSeries, ProbePlan, ProbeSeries, QueueSeries, Record, Run};
use crate::stats::{Span, bits_per_second, jain, known, mean, percentile, share};
use crate::talks::{self, TalkSummary};
use crate::transfers::{self, Completion, TransferSummary};
use crate::videos::{self, VideoSummary};

pub use kind::queue_kind;
pub use path::TcpRtt;
pub(crate) use path::{rows, shown_words};
pub(crate) use radio::round_trips;
pub use radio::{RadioSummary, StationSummary};
pub use repeat::{Estimate, Repeated, student_975};
pub use verdict::{DirectionVerdict, Grade, Letter, SATURATED_PERCENT};

/// Longest ramp cut from the start of the load.
const RAMP_MAX_NS: u64 = 2_000_000_000;

/// Everything derived from one run. Times in ns, rates in bit/s.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// The queue, as in the run.
    pub queue: String,
    /// Start of the loaded interval (ns from the start of the load): the length of the ramp.
    pub loaded_from_ns: i64,
    /// End of the loaded interval; if the run was cut short, the end of the last step in which flows
    /// certainly ran throughout.
    pub loaded_to_ns: i64,
    /// Goodput of all flows to the server; absent without such flows.
    pub goodput_up_bps: Option<u64>,
    /// Goodput of all flows to the client; absent without such flows.
    pub goodput_down_bps: Option<u64>,
    /// Every flow, in the order of the plan.
    pub flows: Vec<FlowSummary>,
    /// Jain's index over the flows to the server, 1/n to 1; absent for fewer than two.
    pub jain_up: Option<f64>,
    /// Jain's index over the flows to the client.
    pub jain_down: Option<f64>,
    /// Round-trip time, all probes pooled.
    pub rtt: Latency,
    /// One-way delay to the server, all probes pooled.
    pub up: Latency,
    /// One-way delay to the client, all probes pooled.
    pub down: Latency,
    /// The largest error of the rises of both one-way delays, from the clocks of the hosts
    /// ([`crate::ProbeSeries::one_way_error_ns`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_way_error_ns: Option<i64>,
    /// Round-trip times of each probe separately, in the order of the plan.
    pub probes: Vec<ProbeSummary>,
    /// The queue at the bottleneck towards the server.
    pub queue_up: QueueSummary,
    /// The queue at the bottleneck towards the client.
    pub queue_down: QueueSummary,
    /// Packets dropped and packets marked by all queues of the path, in the whole run; absent if the path was
    /// not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_drops_and_marks: Option<[u64; 2]>,
    /// Sojourn times in the queue that is shown towards the server ([`Run::shown_queue`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sojourn_up: Option<Sojourn>,
    /// The same, towards the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sojourn_down: Option<Sojourn>,
    /// The round trip that TCP itself measured, all flows pooled.
    pub tcp_rtt: TcpRtt,
    /// Every call, in the order of the plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub voip: Vec<CallSummary>,
    /// Every page, in the order of the plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub web: Vec<PageSummary>,
    /// Every video, in the order of the plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dash: Vec<VideoSummary>,
    /// Every video call and game, in the order of the plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub talks: Vec<TalkSummary>,
    /// Every group of flows, in the order of the plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traffic: Vec<TransferSummary>,
    /// The flows of all these groups together.
    #[serde(skip_serializing_if = "Completion::is_empty")]
    pub transfers: Completion,
    /// Every radio, if the bottleneck is Wi-Fi.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub radios: Vec<RadioSummary>,
    /// Whether every loaded direction used at least 80 % of its line; absent if unknown.
    pub saturated: Option<bool>,
    /// The verdict on every loaded direction.
    pub directions: Vec<DirectionVerdict>,
    /// The grade, if there is one.
    pub grade: Option<Grade>,
    /// Why there is no grade.
    pub no_grade: Option<String>,
    /// Other findings, a sentence each: a starved direction, lost probes, identical repetitions.
    pub findings: Vec<String>,
    /// Statistics of its repetitions; absent without repetitions. All other fields are of the first
    /// repetition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeated: Option<Repeated>,
}

/// One flow under load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlowSummary {
    /// Name, as planned.
    pub name: String,
    /// Who sends.
    pub direction: Direction,
    /// Mean goodput while active within the loaded interval; absent if it was never active there.
    pub goodput_bps: Option<u64>,
    /// Retransmitted segments over the whole run; absent if the sender was not asked.
    pub retransmits: Option<u32>,
    /// The round trip that its sender measured.
    pub tcp_rtt: TcpRtt,
    /// Whether its connection negotiated ECN; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
    /// Median of its sender's pacing rate; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing_p50_bps: Option<u64>,
    /// Median of the rate at which the network delivered, as its sender says; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery_p50_bps: Option<u64>,
}

/// The round trips of one probe.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProbeSummary {
    /// Name, as planned.
    pub name: String,
    /// Its round trips.
    pub rtt: Latency,
}

/// A distribution of delays under load, with its idle baseline, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Latency {
    /// Samples in the loaded interval.
    pub n: u64,
    /// Probes sent in the loaded interval that were lost.
    pub lost: u64,
    /// Samples that were still unanswered when the wait ended. As round trips they count with the time
    /// waited; one-way delays leave them out.
    #[serde(skip_serializing_if = "is_zero")]
    pub under_way: u64,
    /// The shortest wait for one of them: a percentile of at least this is a lower bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_off_ns: Option<i64>,
    /// The same for rises.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added_cut_off_ns: Option<i64>,
    /// Smallest.
    pub min_ns: Option<i64>,
    /// Median.
    pub p50_ns: Option<i64>,
    /// 95th percentile.
    pub p95_ns: Option<i64>,
    /// 99th percentile.
    pub p99_ns: Option<i64>,
    /// Largest.
    pub max_ns: Option<i64>,
    /// Mean.
    pub mean_ns: Option<i64>,
    /// Median before the load.
    pub idle_ns: Option<i64>,
    /// Samples behind `idle_ns`.
    pub idle_n: u64,
    /// Median rise over the idle baseline.
    pub added_p50_ns: Option<i64>,
    /// 95th percentile of the rise.
    pub added_p95_ns: Option<i64>,
    /// 99th percentile of the rise.
    pub added_p99_ns: Option<i64>,
    /// Largest rise.
    pub added_max_ns: Option<i64>,
    /// Mean rise, which determines the grade.
    pub added_mean_ns: Option<i64>,
    /// Largest delay over the whole load, ramp included.
    pub startup_max_ns: Option<i64>,
}

/// One direction's queue under load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QueueSummary {
    /// Packets dropped in the whole run.
    pub drops: u64,
    /// Packets marked CE in the whole run.
    pub marks: u64,
    /// Packets dropped in the loaded interval.
    pub drops_loaded: u64,
    /// Packets marked CE in the loaded interval.
    pub marks_loaded: u64,
    /// Mean of the backlog samples in the loaded interval, bytes.
    pub backlog_mean_bytes: Option<u64>,
    /// Largest backlog sample in the loaded interval, bytes.
    pub backlog_max_bytes: Option<u64>,
    /// Share of the loaded interval in which the line was busy, 0 to 1; absent without a rate.
    pub utilisation: Option<f64>,
}

impl Summary {
    /// Derives the summary of `run`, one of `record`'s runs.
    pub fn of(record: &Record, run: &Run) -> Self {
        let load = load_span(record, run);
        let loaded = loaded_span(record, run);
        let flows: Vec<FlowSummary> = record
            .test
            .flows
            .iter()
            .enumerate()
            .map(|(i, plan)| flow_summary(record, plan, run.flows.get(i), loaded))
            .collect();
        let rates = |d| -> Vec<u64> {
            flows.iter().filter(|f| f.direction == d).filter_map(|f| f.goodput_bps).collect()
        };
        let mut summary = Self {
            queue: run.queue.clone(),
            loaded_from_ns: loaded.from,
            loaded_to_ns: loaded.to,
            goodput_up_bps: total_goodput(record, run, Direction::Up, loaded),
            goodput_down_bps: total_goodput(record, run, Direction::Down, loaded),
            jain_up: jain(&rates(Direction::Up)),
            jain_down: jain(&rates(Direction::Down)),
            radios: RadioSummary::all(record, run, &flows),
            flows,
            tcp_rtt: TcpRtt::of(&run.flows, loaded),
            rtt: latency(run, &run.probes, |p| &p.rtt_ns, load, loaded),
            up: latency(run, &run.probes, |p| &p.up_ns, load, loaded),
            down: latency(run, &run.probes, |p| &p.down_ns, load, loaded),
            one_way_error_ns: run.probes.iter().filter_map(|probe| probe.one_way_error_ns).max(),
            probes: probe_summaries(record, run, load, loaded),
            voip: applications::calls(record, run, loaded),
            web: applications::pages(record, run, loaded),
            dash: videos::videos(record, run, loaded),
            talks: talks::talks(record, run, loaded),
            traffic: transfers::transfers(record, run, loaded),
            transfers: TransferSummary::together(record, run).all,
            repeated: Repeated::of(&run.repetitions),
            queue_up: queue_summary(&run.up, run.link_in(record).up.rate_bps, loaded),
            queue_down: queue_summary(&run.down, run.link_in(record).down.rate_bps, loaded),
            ..Self::default()
        };
        path::summarise(run, &mut summary);
        verdict::judge(&mut summary, record, run);
        summary
    }

    /// One summary per run, in the record's order.
    pub fn all(record: &Record) -> Vec<Self> {
        record.runs.iter().map(|run| Self::of(record, run)).collect()
    }

    /// Packets dropped and packets marked by all queues of the path; if the path was not recorded, by those
    /// at the bottlenecks. For Wi-Fi without another queue, those of the stations' queues.
    pub(crate) fn drops_and_marks(&self) -> [u64; 2] {
        if let Some(all) = self.path_drops_and_marks {
            return all;
        }
        let queues = [&self.queue_up, &self.queue_down];
        let [drops, marks] = path::of_bottlenecks(self);
        let sampled = queues.iter().any(|q| q.backlog_max_bytes.is_some());
        let air = self.radios.iter().filter(|_| !sampled);
        air.fold([drops, marks], |[d, m], r| [d.saturating_add(r.drops), m.saturating_add(r.marks)])
    }

    /// What Jain's index in table and page measures: goodput, or airtime if the bottleneck is Wi-Fi.
    pub(crate) fn jain_of(all: &[Self]) -> &'static str {
        if all.iter().any(|s| s.airtime_jain().is_some()) { "airtime" } else { "goodput" }
    }

    /// Jain's index over the stations' airtime; the lowest if there are several radios.
    pub(crate) fn airtime_jain(&self) -> Option<f64> {
        self.radios.iter().filter_map(|radio| radio.airtime_jain).reduce(f64::min)
    }

    /// Utilisation of a direction; for Wi-Fi, which has no rate, the share of the time in which some device
    /// had something to send.
    pub(crate) fn utilisation(&self, direction: Direction) -> Option<f64> {
        let line = match direction {
            Direction::Up => self.queue_up.utilisation,
            Direction::Down => self.queue_down.utilisation,
        };
        line.or_else(|| self.radios.iter().filter_map(|r| r.idle).map(|idle| 1.0 - idle).reduce(f64::min))
    }
}

/// `up` or `down`.
pub(crate) fn direction_name(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "up",
        Direction::Down => "down",
    }
}

/// The directions that have flows.
pub(crate) fn loaded_directions(record: &Record) -> Vec<Direction> {
    [Direction::Up, Direction::Down]
        .into_iter()
        .filter(|d| record.test.flows.iter().any(|f| f.direction == *d))
        .collect()
}

/// The directions that a run loads.
pub(crate) fn loaded_in(record: &Record, run: &Run) -> Vec<Direction> {
    let is_loaded = |direction: &Direction| run.loads.is_empty() || run.loads.contains(direction);
    loaded_directions(record).into_iter().filter(is_loaded).collect()
}

/// The whole load, ramp included; if the run was cut short, up to the last complete step of a flow.
pub(crate) fn load_span(record: &Record, run: &Run) -> Span {
    let planned = i64::try_from(record.test.load_ns).unwrap_or(i64::MAX);
    let to = if run.complete { planned } else { planned.min(measured_to(record, run)).max(0) };
    Span { from: 0, to }
}

/// The ramp of a load of this length, ns: the time from the start of the load to the start of the loaded
/// interval.
#[must_use]
pub fn ramp_ns(load_ns: u64) -> u64 {
    RAMP_MAX_NS.min(load_ns / 5)
}

/// The loaded interval: [`load_span`] without the ramp.
pub(crate) fn loaded_span(record: &Record, run: &Run) -> Span {
    let load = load_span(record, run);
    // A program's time has no ramp.
    let ramp = record.test.program.as_ref().map_or(ramp_ns(record.test.load_ns), |_| 0);
    Span { from: i64::try_from(ramp).unwrap_or(0), to: load.to }
}

/// The end of the usable part of a run that was cut short. The queues are still sampled after the flows have
/// ended. So if there are flows, only they count, without the step in which the last of them ended.
fn measured_to(record: &Record, run: &Run) -> i64 {
    if !record.test.flows.is_empty() {
        let last = run.flows.iter().filter_map(|f| f.t_ns.last()).max();
        let step = i64::try_from(record.test.step_ns).unwrap_or(0);
        return last.map_or(0, |t| t.saturating_sub(step));
    }
    let probes = run.probes.iter().filter_map(|p| p.sent_ns.last());
    let queues = [&run.up, &run.down].into_iter().filter_map(|q| q.t_ns.last());
    probes.chain(queues).copied().max().unwrap_or(0)
}

/// The steps of a flow: interval and bytes. A step longer than 1.5 planned steps counts as one planned step
/// after a gap.
pub(crate) fn steps<'a>(record: &Record, flow: &'a FlowSeries) -> impl Iterator<Item = (Span, u64)> + 'a {
    let planned = i64::try_from(record.test.step_ns).unwrap_or(0);
    let mut before: Option<i64> = None;
    flow.t_ns.iter().zip(&flow.rx_bytes).map(move |(&t, &bytes)| {
        let usual = t.saturating_sub(planned);
        let from = match before {
            Some(b)
                if b < t && (planned == 0 || t.saturating_sub(b) <= planned.saturating_add(planned / 2)) =>
            {
                b
            }
            _ => usual,
        };
        before = Some(t);
        (Span { from, to: t }, bytes)
    })
}

fn bytes_within(record: &Record, flow: &FlowSeries, span: Span) -> u64 {
    steps(record, flow).fold(0, |sum, (step, bytes)| {
        let inside = step.overlap(span).length();
        let part = if inside > 0 { share(bytes, inside, step.length()) } else { 0 };
        sum.saturating_add(part)
    })
}

/// When a flow was planned to run; the whole load if the plan gives no interval.
pub(crate) fn active_span(record: &Record, plan: &FlowPlan) -> Span {
    if plan.stop_ns > plan.start_ns {
        Span { from: plan.start_ns, to: plan.stop_ns }
    } else {
        Span { from: 0, to: i64::try_from(record.test.load_ns).unwrap_or(i64::MAX) }
    }
}

fn flow_summary(record: &Record, plan: &FlowPlan, series: Option<&FlowSeries>, loaded: Span) -> FlowSummary {
    let active = active_span(record, plan).overlap(loaded);
    FlowSummary {
        name: plan.name.clone(),
        direction: plan.direction,
        goodput_bps: series
            .filter(|s| !s.t_ns.is_empty())
            .and_then(|s| bits_per_second(bytes_within(record, s, active), active.length())),
        retransmits: series.and_then(|s| s.retransmits.last().copied()),
        tcp_rtt: TcpRtt::of(series, active),
        ecn: series.and_then(|s| s.ecn),
        pacing_p50_bps: series.and_then(|s| path::median_rate(&s.t_ns, &s.pacing_bps, active)),
        delivery_p50_bps: series.and_then(|s| path::median_rate(&s.t_ns, &s.delivery_bps, active)),
    }
}

fn total_goodput(record: &Record, run: &Run, direction: Direction, loaded: Span) -> Option<u64> {
    let mut bytes = None;
    for (plan, series) in record.test.flows.iter().zip(&run.flows) {
        if plan.direction == direction && !series.t_ns.is_empty() {
            let within = bytes_within(record, series, loaded);
            bytes = Some(bytes.unwrap_or(0_u64).saturating_add(within));
        }
    }
    bits_per_second(bytes?, loaded.length())
}

fn probe_summaries(record: &Record, run: &Run, load: Span, loaded: Span) -> Vec<ProbeSummary> {
    run.probes
        .iter()
        .enumerate()
        .map(|(i, p)| ProbeSummary {
            name: probe_name(record, i),
            rtt: latency(run, std::slice::from_ref(p), |p| &p.rtt_ns, load, loaded),
        })
        .collect()
}

/// The planned name of a probe, or its number.
pub(crate) fn probe_name(record: &Record, index: usize) -> String {
    match record.test.probes.get(index) {
        Some(p) if !p.name.is_empty() => p.name.clone(),
        _ => format!("probe {}", index + 1),
    }
}

/// Whether the probes go to hosts at different base round-trip times. Then pooled delays are meaningless, and
/// only rises are used.
pub(crate) fn distances_differ(record: &Record) -> bool {
    let rtt_of = |p: &ProbePlan| usize::try_from(p.host).ok().and_then(|h| record.link.rtt_ns.get(h));
    let mut all = record.test.probes.iter().filter_map(rtt_of);
    let first = all.next();
    all.any(|rtt| Some(rtt) != first)
}

#[allow(clippy::trivially_copy_pass_by_ref)] // Serde passes a reference.
fn is_zero(count: &u64) -> bool {
    *count == 0
}

pub(crate) fn latency(
    run: &Run,
    probes: &[ProbeSeries],
    column: fn(&ProbeSeries) -> &Vec<i64>,
    load: Span,
    loaded: Span,
) -> Latency {
    let mut out = Latency::default();
    let (mut values, mut rises, mut idle) = (Vec::new(), Vec::new(), Vec::new());
    let is_round_trip = |probe: &ProbeSeries| std::ptr::eq(column(probe), &raw const probe.rtt_ns);
    // Ping, in a file of flent's, has round trips alone.
    let is_measured = |probe: &&ProbeSeries| {
        let has_some = |column: &[i64]| column.iter().any(|&value| known(value));
        is_round_trip(probe) || has_some(column(probe)) || !has_some(&probe.rtt_ns)
    };
    let mut complete = probes.iter().any(|probe| is_measured(&probe));
    for probe in probes {
        let open: HashMap<u64, i64> = probe.under_way.iter().map(|open| (open.at, open.waited_ns)).collect();
        let base = baseline(run, probe, column(probe));
        complete &= base.is_some() || !is_measured(&probe);
        idle.extend(idle_samples(run, probe, column(probe)));
        for (at, (&sent, &value)) in (0..).zip(probe.sent_ns.iter().zip(column(probe))) {
            if let Some(&waited) = open.get(&at) {
                if load.contains(sent) && is_round_trip(probe) {
                    out.startup_max_ns = out.startup_max_ns.max(Some(waited));
                }
                if loaded.contains(sent) {
                    out.under_way += 1;
                    if is_round_trip(probe) {
                        let least = |old: Option<i64>, new: i64| Some(old.map_or(new, |old| old.min(new)));
                        values.push(waited);
                        out.cut_off_ns = least(out.cut_off_ns, waited);
                        if let Some(rise) = base.map(|base| waited.saturating_sub(base)) {
                            rises.push(rise);
                            out.added_cut_off_ns = least(out.added_cut_off_ns, rise);
                        }
                    }
                }
                continue;
            }
            if load.contains(sent) && known(value) {
                out.startup_max_ns = out.startup_max_ns.max(Some(value));
            }
            match (loaded.contains(sent), known(value)) {
                (true, true) => {
                    values.push(value);
                    rises.extend(base.map(|b| value.saturating_sub(b)));
                }
                (true, false) => out.lost += 1,
                _ => {}
            }
        }
    }
    values.sort_unstable();
    idle.sort_unstable();
    out.n = values.len() as u64;
    out.min_ns = values.first().copied();
    out.p50_ns = percentile(&values, 50);
    out.p95_ns = percentile(&values, 95);
    out.p99_ns = percentile(&values, 99);
    out.max_ns = values.last().copied();
    out.mean_ns = mean(&values);
    out.idle_n = idle.len() as u64;
    if complete {
        rises.sort_unstable();
        out.idle_ns = percentile(&idle, 50);
        out.added_p50_ns = percentile(&rises, 50);
        out.added_p95_ns = percentile(&rises, 95);
        out.added_p99_ns = percentile(&rises, 99);
        out.added_max_ns = rises.last().copied();
        out.added_mean_ns = mean(&rises);
    }
    out
}

/// A cumulative counter at `t`, interpolated between samples, constant beyond the ends; `None` without
/// samples.
fn counter_at(times: &[i64], counts: &[u64], t: i64) -> Option<u64> {
    let n = times.len().min(counts.len());
    let after = times[..n].partition_point(|&x| x <= t);
    let next = (after < n).then(|| (times[after], counts[after]));
    let Some(i) = after.checked_sub(1) else { return next.map(|(_, c)| c) };
    let (t0, c0) = (times[i], counts[i]);
    let Some((t1, c1)) = next else { return Some(c0) };
    let part = Span { from: t0, to: t }.length();
    let whole = Span { from: t0, to: t1 }.length();
    Some(c0.saturating_add(if part == 0 { 0 } else { share(c1.saturating_sub(c0), part, whole) }))
}

fn counted_within(times: &[i64], counts: &[u64], span: Span) -> Option<u64> {
    if span.length() == 0 {
        return None;
    }
    Some(counter_at(times, counts, span.to)?.saturating_sub(counter_at(times, counts, span.from)?))
}

fn queue_summary(queue: &QueueSeries, rate_bps: Option<u64>, loaded: Span) -> QueueSummary {
    let inside: Vec<u64> = queue
        .t_ns
        .iter()
        .zip(&queue.backlog_bytes)
        .filter(|&(&t, _)| loaded.contains(t))
        .map(|(_, &b)| b)
        .collect();
    let sum: u128 = inside.iter().map(|&b| u128::from(b)).sum();
    let counted = |counts: &[u64]| counted_within(&queue.t_ns, counts, loaded);
    QueueSummary {
        drops: queue.drops.last().copied().unwrap_or(0),
        marks: queue.marks.last().copied().unwrap_or(0),
        drops_loaded: counted_within(&queue.t_ns, &queue.drops, loaded).unwrap_or(0),
        marks_loaded: counted_within(&queue.t_ns, &queue.marks, loaded).unwrap_or(0),
        backlog_mean_bytes: sum.checked_div(inside.len() as u128).and_then(|m| u64::try_from(m).ok()),
        backlog_max_bytes: inside.iter().max().copied(),
        utilisation: path::utilisation(queue, rate_bps, loaded, counted),
    }
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;

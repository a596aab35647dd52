//! Figures of flows and of the queue that they share.

use goodqueue_report::{Direction, FlowPlan, FlowSeries, QueueSeries, Record, Run, Summary};
use goodqueue_sim::tcp::cc::CcKind;

pub(super) fn ring_up(run: &Run, loaded: std::ops::Range<i64>) -> Option<f64> {
    let samples = run.up.t_ns.iter().zip(&run.up.ring_bytes);
    let inside = samples.filter(|(at, _)| loaded.contains(at)).map(|(_, &bytes)| bytes);
    inside.max().map(|bytes| bytes as f64)
}

/// Whether a flow uses DCTCP or Prague.
fn is_scalable(plan: &FlowPlan) -> bool {
    plan.cc.parse::<CcKind>().is_ok_and(CcKind::is_scalable)
}

/// The series of such flows.
pub(super) fn scalable<'a>(record: &'a Record, run: &'a Run) -> impl Iterator<Item = &'a FlowSeries> {
    let flows = record.test.flows.iter().zip(&run.flows);
    flows.filter(|(plan, _)| is_scalable(plan)).map(|(_, series)| series)
}

pub(super) fn tcp_rtt<'a>(
    flows: impl Iterator<Item = &'a FlowSeries>,
    loaded: std::ops::Range<i64>,
) -> Option<f64> {
    let samples = flows.flat_map(|flow| flow.t_ns.iter().zip(&flow.srtt_us));
    let inside = samples.filter(|&(at, &srtt)| loaded.contains(at) && srtt > 0);
    let mut srtts: Vec<u32> = inside.map(|(_, &srtt)| srtt).collect();
    srtts.sort_unstable();
    srtts.get(srtts.len() / 2).map(|&srtt| f64::from(srtt) * 1e3)
}

/// The time over which a share is averaged.
const SHARE_WINDOW_NS: i64 = 1_000_000_000;
/// The part of an equal share that a flow must reach.
const HALF: f64 = 0.5;

/// Bytes that `flow` delivered in the steps that end after `from` and up to `to`.
fn bytes_within(flow: &FlowSeries, from: i64, to: i64) -> u64 {
    let steps = flow.t_ns.iter().zip(&flow.rx_bytes);
    steps.filter(|&(&end, _)| from < end && end <= to).map(|(_, bytes)| bytes).sum()
}

pub(super) fn time_to_share(record: &Record, run: &Run) -> Option<i64> {
    let flows: Vec<(&FlowPlan, &FlowSeries)> = record.test.flows.iter().zip(&run.flows).collect();
    let is_beside = |plan: &FlowPlan, at: i64| plan.start_ns <= at && at < plan.stop_ns;
    let newcomer = |&(plan, _): &&(&FlowPlan, &FlowSeries)| {
        flows.iter().any(|(other, _)| other.start_ns < plan.start_ns && plan.start_ns < other.stop_ns)
    };
    let need = |&(plan, series): &(&FlowPlan, &FlowSeries)| {
        let has_share = |&end: &i64| {
            let beside = || flows.iter().filter(|(other, _)| is_beside(other, end));
            let all: u64 = beside().map(|(_, flow)| bytes_within(flow, end - SHARE_WINDOW_NS, end)).sum();
            let own = bytes_within(series, end - SHARE_WINDOW_NS, end);
            own as f64 >= HALF * all as f64 / beside().count().max(1) as f64
        };
        let ends =
            series.t_ns.iter().filter(|&&end| end >= plan.start_ns + SHARE_WINDOW_NS && end < plan.stop_ns);
        ends.copied().find(has_share).unwrap_or(plan.stop_ns) - plan.start_ns
    };
    flows.iter().filter(newcomer).map(need).max()
}

/// The time in which all flows run, without the first seconds.
fn together(record: &Record) -> Option<(i64, i64)> {
    const RAMP_NS: i64 = 2_000_000_000;
    let from = record.test.flows.iter().map(|flow| flow.start_ns).max()? + RAMP_NS;
    Some((from, record.test.flows.iter().map(|flow| flow.stop_ns).min()?))
}

/// Bytes of each flow in that time.
fn bytes_together(record: &Record, run: &Run) -> Option<Vec<f64>> {
    let (from, to) = together(record)?;
    Some(run.flows.iter().map(|flow| bytes_within(flow, from, to) as f64).collect())
}

pub(super) fn rate_error(record: &Record, run: &Run) -> Option<f64> {
    let (from, to) = together(record)?;
    let held = record.test.flows.iter().zip(&run.flows);
    let error = |(plan, flow): (&FlowPlan, &FlowSeries)| {
        // Use whole steps.
        let mut ends = flow.t_ns.iter().copied().filter(|end| (from..=to).contains(end));
        let (first, last) = (ends.next()?, ends.next_back()?);
        let rate = bytes_within(flow, first, last) as f64 * 8e9 / (last - first) as f64;
        Some((rate / plan.rate_bps? as f64 - 1.0).abs())
    };
    held.filter_map(error).max_by(f64::total_cmp)
}

pub(super) fn loss(queue: &QueueSeries, loaded: std::ops::Range<i64>) -> Option<f64> {
    let at = |end: i64| queue.t_ns.iter().rposition(|&at| at <= end);
    let (first, last) = (at(loaded.start)?, at(loaded.end)?);
    let during = |counter: &[u64]| Some((counter.get(last)? - counter.get(first)?) as f64);
    let (dropped, sent) = (during(&queue.drops)?, during(&queue.sent_packets)?);
    (dropped + sent > 0.0).then(|| dropped / (dropped + sent))
}

pub(super) fn l4s_share(record: &Record, run: &Run) -> Option<f64> {
    let bytes = bytes_together(record, run)?;
    let mean = |wanted: bool| {
        let flows = record.test.flows.iter().zip(&bytes).filter(|(plan, _)| is_scalable(plan) == wanted);
        let flows: Vec<f64> = flows.map(|(_, &bytes)| bytes).collect();
        (!flows.is_empty()).then(|| flows.iter().sum::<f64>() / flows.len() as f64)
    };
    let others = mean(false).filter(|&others| others > 0.0)?;
    Some(mean(true)? / others)
}

pub(super) fn jain_together(record: &Record, run: &Run) -> Option<f64> {
    let bytes = bytes_together(record, run)?;
    let (sum, squares) = (bytes.iter().sum::<f64>(), bytes.iter().map(|x| x * x).sum::<f64>());
    (bytes.len() > 1 && squares > 0.0).then(|| sum * sum / (bytes.len() as f64 * squares))
}

/// How many flows delivered anything.
pub(super) fn served(run: &Run) -> usize {
    run.flows.iter().filter(|flow| flow.rx_bytes.iter().any(|&bytes| bytes > 0)).count()
}

/// Goodput of all flows of a direction in the window; without a window, in `loaded`, the interval under load.
pub(super) fn goodput(
    record: &Record,
    run: &Run,
    direction: Direction,
    window: Option<(i64, i64)>,
    loaded: Option<u64>,
) -> Option<f64> {
    let Some((from, to)) = window else { return loaded.map(|bps| bps as f64) };
    let flows = record.test.flows.iter().zip(&run.flows).filter(|(plan, _)| plan.direction == direction);
    let bytes: Vec<u64> = flows.map(|(_, flow)| bytes_within(flow, from, to)).collect();
    (!bytes.is_empty() && from < to).then(|| bytes.iter().sum::<u64>() as f64 * 8e9 / (to - from) as f64)
}

/// The smallest goodput of a host in one direction, divided by the largest; absent if only one host has
/// flows.
pub(super) fn host_share(record: &Record, summary: &Summary, direction: Direction) -> Option<f64> {
    let mut hosts: Vec<(u32, u64)> = Vec::new();
    let flows = record.test.flows.iter().zip(&summary.flows).filter(|(plan, _)| plan.direction == direction);
    for (plan, flow) in flows {
        let goodput = flow.goodput_bps.unwrap_or(0);
        match hosts.iter_mut().find(|(host, _)| *host == plan.host) {
            Some((_, sum)) => *sum += goodput,
            None => hosts.push((plan.host, goodput)),
        }
    }
    let (least, most) = (hosts.iter().map(|host| host.1).min()?, hosts.iter().map(|host| host.1).max()?);
    (hosts.len() > 1 && most > 0).then(|| least as f64 / most as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Figure;
    use goodqueue_report::FlowSummary;

    fn figure(name: &str) -> Figure {
        name.parse().expect("a figure")
    }

    const SECOND: i64 = 1_000_000_000;

    /// Two flows in steps of a second for six seconds, the second from 2 s on.
    fn two(first: [u64; 6], second: [u64; 4]) -> (Record, Run) {
        let plan = |start_ns, stop_ns| FlowPlan { start_ns, stop_ns, ..FlowPlan::default() };
        let series = |from: i64, bytes: &[u64]| FlowSeries {
            t_ns: (1..=bytes.len() as i64).map(|step| (from + step) * SECOND).collect(),
            rx_bytes: bytes.to_vec(),
            ..FlowSeries::default()
        };
        let mut record = Record::default();
        record.test.flows = vec![plan(0, 7 * SECOND), plan(2 * SECOND, 7 * SECOND)];
        let run = Run { flows: vec![series(0, &first), series(2, &second)], ..Run::default() };
        (record, run)
    }

    #[test]
    fn a_new_flow_has_its_share_when_it_has_half_of_an_equal_share() {
        let (record, run) = two([8, 8, 7, 7, 6, 4], [1, 1, 2, 4]);
        // An equal share of 8 bytes is 4, and half of that is 2: reached in the third second.
        assert_eq!(figure("time_to_share").of(&record, &run, &[], None), Some(3e9));
        let (record, run) = two([8, 8, 7, 7, 7, 7], [1, 1, 1, 1]);
        assert_eq!(figure("time_to_share").of(&record, &run, &[], None), Some(5e9), "never: its whole life");
    }

    #[test]
    fn jains_index_counts_where_all_run() {
        // From 4 s to 6 s: 10 and 6 bytes. 16^2 / (2 (100 + 36)) = 256 / 272.
        let (record, run) = two([8, 8, 7, 7, 6, 4], [1, 1, 2, 4]);
        let jain = figure("jain_together").of(&record, &run, &[], None).expect("two flows");
        assert!((jain - 256.0 / 272.0).abs() < 1e-12, "{jain}");
    }

    #[test]
    fn goodput_in_a_window_is_that_of_the_steps_in_it() {
        let (record, run) = two([8, 8, 7, 7, 6, 4], [1, 1, 2, 4]);
        let window = Some((3 * SECOND, 6 * SECOND));
        // 7 + 6 + 4 and 1 + 2 + 4 bytes.
        assert_eq!(figure("goodput_up").of(&record, &run, &[], window), Some(24.0 * 8.0 / 3.0));
        assert_eq!(figure("goodput_down").of(&record, &run, &[], window), None);
    }

    #[test]
    fn the_rate_error_is_that_of_the_worst() {
        // From 4 s to 6 s: 10 and 6 bytes, 40 and 24 bit/s.
        let (mut record, run) = two([8, 8, 7, 7, 6, 4], [1, 1, 2, 4]);
        assert_eq!(figure("rate_error").of(&record, &run, &[], None), None, "none is held to a rate");
        record.test.flows[0].rate_bps = Some(50);
        assert_eq!(figure("rate_error").of(&record, &run, &[], None), Some(1.0 - 0.8));
        record.test.flows[1].rate_bps = Some(16);
        assert_eq!(figure("rate_error").of(&record, &run, &[], None), Some(0.5));
    }

    #[test]
    fn loss_is_relative_to_arrivals_at_the_queue() {
        let queue = QueueSeries {
            t_ns: vec![-1, 0, 5, 10, 15],
            drops: vec![7, 8, 9, 11, 20],
            sent_packets: vec![100, 100, 105, 109, 130],
            ..QueueSeries::default()
        };
        assert_eq!(loss(&queue, 0..12), Some(3.0 / 12.0));
        assert_eq!(loss(&queue, 0..4), None, "nothing came");
        assert_eq!(loss(&QueueSeries::default(), 0..12), None);
    }

    #[test]
    fn a_host_has_all_of_its_flows() {
        let flow = |host, direction| FlowPlan { host, direction, ..FlowPlan::default() };
        let mut record = Record::default();
        record.test.flows = vec![flow(0, Direction::Up), flow(1, Direction::Up), flow(1, Direction::Up)];
        let mut summary = Summary::of(&record, &Run::default());
        summary.flows =
            [40, 15, 15].map(|bps| FlowSummary { goodput_bps: Some(bps), ..Default::default() }).to_vec();
        assert_eq!(host_share(&record, &summary, Direction::Up), Some(0.75));
        assert_eq!(host_share(&record, &summary, Direction::Down), None);
        record.test.flows[0].direction = Direction::Down;
        assert_eq!(host_share(&record, &summary, Direction::Up), None, "of one host");
    }

    #[test]
    fn the_share_of_scalable_flows_is_that_of_one_of_them() {
        let (mut record, run) = two([8, 8, 7, 7, 6, 4], [1, 1, 2, 4]);
        assert_eq!(figure("l4s_share").of(&record, &run, &[], None), None);
        record.test.flows[1].cc = "prague".into();
        assert_eq!(figure("l4s_share").of(&record, &run, &[], None), Some(0.6));
    }

    /// Round trips before the load, during it, and not yet known ones.
    #[test]
    fn round_trips_of_tcp_are_those_under_load() {
        let flow =
            FlowSeries { t_ns: vec![1, 5, 6, 7], srtt_us: vec![90, 0, 40, 30], ..FlowSeries::default() };
        let run = Run { flows: vec![flow], ..Run::default() };
        assert_eq!(tcp_rtt(run.flows.iter(), 2..10), Some(40e3));
        assert_eq!(tcp_rtt(run.flows.iter(), 5..6), None);
    }
}

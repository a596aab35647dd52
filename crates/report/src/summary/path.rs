//! The queues on the path of a run's packets, their sojourn times, and the round trip that TCP measured.

use serde::{Deserialize, Serialize};

use crate::record::{Direction, FlowSeries, PathQueue, QueueSeries, Record, Run};
use crate::stats::{Span, percentile};

use super::{QueueSummary, Summary};

impl Run {
    /// The series of the queue that is shown for a direction: the queue in which packets waited longest on
    /// average. If the path was not recorded, or if nothing waited, it is the queue at the bottleneck.
    #[must_use]
    pub fn shown(&self, direction: Direction) -> &QueueSeries {
        let own = self.shown_queue(direction).and_then(|queue| queue.series.as_ref());
        own.unwrap_or(match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        })
    }

    /// The queue that [`Run::shown`] shows; `None` if the path was not recorded.
    #[must_use]
    pub fn shown_queue(&self, direction: Direction) -> Option<&PathQueue> {
        let mut all = self.path.iter().filter(|queue| queue.direction == direction);
        all.clone().find(|queue| queue.series.is_some()).or_else(|| all.find(|queue| queue.bottleneck))
    }
}

/// Packets dropped and packets marked by all queues of the path; `None` if the path was not recorded.
pub(crate) fn drops_and_marks(run: &Run) -> Option<[u64; 2]> {
    let sum = |of: fn(&PathQueue) -> u64| run.path.iter().fold(0_u64, |n, queue| n.saturating_add(of(queue)));
    (!run.path.is_empty()).then(|| [sum(PathQueue::drops), sum(|queue| queue.marks)])
}

/// A sentence that says which queue is shown for a direction, if there are other candidates.
pub(crate) fn shown_words(run: &Run, direction: Direction) -> Option<String> {
    let shown = run.shown_queue(direction).filter(|_| is_ambiguous(run, direction))?;
    let way = super::direction_name(direction);
    let longest =
        run.path.iter().filter(|queue| queue.direction == direction).map(PathQueue::mean_sojourn_ns).max();
    let why = if longest == Some(shown.mean_sojourn_ns()) { ": packets waited longest there" } else { "" };
    Some(format!("the queue shown {way} is {}{why}", shown.name()))
}

/// The round-trip time that TCP's senders measured and smoothed (srtt, RFC 6298), at the end of each step of
/// the loaded interval. Steps have equal length, so the percentiles are over time. The flows' own packets saw
/// this round trip, queue included; a probe's packets may be in another queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TcpRtt {
    /// Number of values.
    pub n: u64,
    /// Median, ns.
    pub p50_ns: Option<i64>,
    /// 95th percentile, ns.
    pub p95_ns: Option<i64>,
}

impl TcpRtt {
    /// Computes it from the series of these flows in the interval, pooled.
    pub(crate) fn of<'a>(flows: impl IntoIterator<Item = &'a FlowSeries>, loaded: Span) -> TcpRtt {
        let samples = flows.into_iter().flat_map(|flow| flow.t_ns.iter().zip(&flow.srtt_us));
        let inside = samples.filter(|&(&at, &srtt)| loaded.contains(at) && srtt > 0);
        let mut all: Vec<i64> = inside.map(|(_, &srtt)| i64::from(srtt) * 1000).collect();
        all.sort_unstable();
        TcpRtt { n: all.len() as u64, p50_ns: percentile(&all, 50), p95_ns: percentile(&all, 95) }
    }
}

/// The median of a sender's rates in the interval, those aside that it does not know.
pub(super) fn median_rate(t_ns: &[i64], bps: &[u64], active: Span) -> Option<u64> {
    let inside = t_ns.iter().zip(bps).filter(|&(&at, &bps)| active.contains(at) && bps > 0);
    let mut all: Vec<i64> = inside.map(|(_, &bps)| i64::try_from(bps).unwrap_or(i64::MAX)).collect();
    all.sort_unstable();
    percentile(&all, 50).map(i64::cast_unsigned)
}

/// Adds the path to a summary: drops and marks of all queues, and the sojourn times in those shown.
pub(crate) fn summarise(run: &Run, summary: &mut Summary) {
    let sojourn = |direction| run.shown_queue(direction).and_then(|queue| queue.sojourn);
    (summary.sojourn_up, summary.sojourn_down) = (sojourn(Direction::Up), sojourn(Direction::Down));
    summary.path_drops_and_marks = drops_and_marks(run);
}

/// Utilisation of a direction's line in the interval, 0 to 1: the share of the time in which the line was
/// busy. Older records without that give bytes over rate × time, which bursts may raise above 1.
pub(crate) fn utilisation(
    queue: &QueueSeries,
    rate_bps: Option<u64>,
    loaded: Span,
    counted: impl Fn(&[u64]) -> Option<u64>,
) -> Option<f64> {
    let rate = rate_bps.filter(|&rate| rate > 0)?;
    let length = Some(loaded.length()).filter(|&length| length > 0)?;
    if !queue.busy_ns.is_empty() {
        return counted(&queue.busy_ns).map(|busy| busy as f64 / length as f64);
    }
    let bps = crate::stats::bits_per_second(counted(&queue.sent_bytes)?, length)?;
    Some(bps as f64 / rate as f64)
}

/// Whether a direction has an active queue besides the one at its bottleneck.
fn is_ambiguous(run: &Run, direction: Direction) -> bool {
    run.path.iter().any(|queue| queue.direction == direction && !queue.bottleneck && queue.acted())
}

/// The rows of a table of queues: the active ones, run by run; empty if only those at bottlenecks were
/// active.
pub(crate) fn rows(record: &Record) -> Vec<(&Run, &PathQueue)> {
    fn acted(run: &Run) -> impl Iterator<Item = &PathQueue> {
        run.path.iter().filter(|queue| queue.acted())
    }
    let several = |run: &Run| [Direction::Up, Direction::Down].iter().any(|&way| is_ambiguous(run, way));
    if !record.runs.iter().any(several) {
        return Vec::new();
    }
    record.runs.iter().flat_map(|run| acted(run).map(move |queue| (run, queue))).collect()
}

/// Packets dropped and packets marked by the queues at the bottlenecks.
pub(crate) fn of_bottlenecks(summary: &Summary) -> [u64; 2] {
    let queues = [&summary.queue_up, &summary.queue_down];
    let sum = |of: fn(&QueueSummary) -> u64| queues.iter().fold(0_u64, |n, q| n.saturating_add(of(q)));
    [sum(|q| q.drops), sum(|q| q.marks)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Sojourn;

    fn queue(link: &str, bottleneck: bool, drops: u64, mean_ns: u64) -> PathQueue {
        PathQueue {
            link: link.into(),
            queue: "codel".into(),
            bottleneck,
            drop_reasons: [("target".to_owned(), drops)].into(),
            marks: 2,
            sojourn: Some(Sojourn { n: 1, mean_ns, max_ns: mean_ns, ..Sojourn::default() }),
            ..PathQueue::default()
        }
    }

    #[test]
    fn drops_and_marks_are_those_of_all_queues_on_the_path() {
        let mut run =
            Run { path: vec![queue("a to b", true, 3, 5), queue("b to c", false, 90, 9)], ..Run::default() };
        run.up.drops = vec![3];
        let record = Record { runs: vec![run], ..Record::default() };
        assert_eq!(Summary::of(&record, &record.runs[0]).drops_and_marks(), [93, 4]);
        let old = Run { path: Vec::new(), ..record.runs[0].clone() };
        assert_eq!(Summary::of(&record, &old).drops_and_marks(), [3, 0], "of a record without its path");
    }

    #[test]
    fn the_queue_shown_is_named_if_there_are_several() {
        let mut run = Run { path: vec![queue("a to b", true, 3, 5)], ..Run::default() };
        assert_eq!(shown_words(&run, Direction::Up), None);
        assert!(rows(&Record { runs: vec![run.clone()], ..Record::default() }).is_empty());
        let series = QueueSeries { t_ns: vec![7], ..QueueSeries::default() };
        run.path.push(PathQueue { series: Some(series), ..queue("b to c", false, 0, 9) });
        assert_eq!(run.shown(Direction::Up).t_ns, [7]);
        assert_eq!(run.shown(Direction::Down).t_ns, run.down.t_ns);
        let words = shown_words(&run, Direction::Up).expect("two queues did something");
        assert_eq!(words, "the queue shown up is codel, b to c: packets waited longest there");
        // No series was kept of this queue, so the sentence does not claim the longest wait.
        run.path.push(queue("c to d", false, 0, 10));
        assert_eq!(shown_words(&run, Direction::Up).as_deref(), Some("the queue shown up is codel, b to c"));
        run.path.pop();
        assert_eq!(rows(&Record { runs: vec![run], ..Record::default() }).len(), 2);
    }

    #[test]
    fn tcp_s_round_trip_is_that_of_the_steps_in_the_interval() {
        let flow = |srtt: [u32; 4]| FlowSeries {
            t_ns: vec![0, 10, 20, 30],
            srtt_us: srtt.to_vec(),
            ..FlowSeries::default()
        };
        let rtt = TcpRtt::of(&[flow([900, 1, 2, 900]), flow([900, 0, 4, 900])], Span { from: 10, to: 30 });
        assert_eq!(rtt, TcpRtt { n: 3, p50_ns: Some(2000), p95_ns: Some(4000) });
    }

    #[test]
    fn the_line_s_busy_time_counts_if_it_was_measured() {
        let queue = QueueSeries { busy_ns: vec![0, 1], sent_bytes: vec![0, 99], ..QueueSeries::default() };
        let loaded = Span { from: 0, to: 100 };
        let counted = |counts: &[u64]| Some(if counts == [0, 1] { 60 } else { 1_000_000 });
        assert_eq!(utilisation(&queue, Some(8), loaded, counted), Some(0.6));
        assert_eq!(utilisation(&queue, None, loaded, counted), None);
        let old = QueueSeries { busy_ns: Vec::new(), ..queue };
        assert!(utilisation(&old, Some(1_000_000_000_000_000), loaded, counted) > Some(0.07));
    }
}

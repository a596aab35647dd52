//! Measures the queues that the test's packets pass.

use goodqueue::{Backlog, Histogram, Nanos, Reason};
use goodqueue_report::{Direction, PathQueue, QueueSeries, Sojourn, ramp_ns};
use goodqueue_sim::{LinkView, Simulation};

use super::air;
use super::job::{Job, PathLink};
use crate::collect::{QueueEnd, QueueMoment, Tally, push_moment};

/// Most queues of a direction whose backlog is kept over time, in addition to the one at the bottleneck: a
/// day of virtual time has a million samples.
const MOST_SERIES: usize = 4;

/// Most queues at which sojourn times are measured: each has a histogram of about 40 kB.
const MOST_SOJOURNS: usize = 512;

/// The queues of a turn.
pub(super) struct Passed<'a> {
    job: &'a Job,
    /// In the order of the job's path; `None` if nothing is kept.
    series: Vec<Option<QueueSeries>>,
}

impl<'a> Passed<'a> {
    /// Requests that sojourn times are measured in the loaded interval.
    pub(super) fn new(job: &'a Job, simulation: &mut Simulation) -> Passed<'a> {
        let load = job.test.load.0;
        let [from, to] = [ramp_ns(load), load].map(|at| Nanos(job.scenario.origin.0.saturating_add(at)));
        for path in job.path.iter().take(MOST_SOJOURNS) {
            if has_line(job, path) || air::is_on_air(job, path.link) {
                simulation.measure_sojourn(path.link, from, to);
            }
        }
        let mut series = vec![None; job.path.len()];
        for direction in [Direction::Up, Direction::Down] {
            for index in candidates(job, direction).into_iter().take(MOST_SERIES) {
                series[index] = Some(QueueSeries::default());
            }
        }
        Passed { job, series }
    }

    /// A sample at `t`.
    pub(super) fn look(&mut self, t: i64, simulation: &Simulation) {
        for (path, series) in self.job.path.iter().zip(&mut self.series) {
            if let Some(series) = series {
                let on_air = air::queue(self.job, simulation, path.link);
                push_moment(series, t, on_air.unwrap_or_else(|| moment(&simulation.link(path.link))));
            }
        }
    }

    /// Ends the measurement: returns the queues for the record, and the faults of their counters.
    pub(super) fn end(self, simulation: &Simulation) -> (Vec<PathQueue>, Vec<String>) {
        let mut wrong = Vec::new();
        let mut queues = Vec::new();
        for path in &self.job.path {
            let view = simulation.link(path.link);
            let tally = air::tally(self.job, simulation, path.link).unwrap_or_else(|| queue_end(&view));
            wrong.extend(unbalanced(&tally).map(|why| format!("the counters of {}: {why}", path.name)));
            let last = air::queue(self.job, simulation, path.link).unwrap_or_else(|| moment(&view));
            let is_bottleneck = path.link == self.job.up || path.link == self.job.down;
            let waited = air::sojourn(self.job, simulation, path.link).or(view.sojourn());
            queues.push(path_queue(path, is_bottleneck, (tally, last), waited));
        }
        for direction in [Direction::Up, Direction::Down] {
            if let Some(shown) = shown(&queues, &self.series, direction) {
                queues[shown].series.clone_from(&self.series[shown]);
            }
        }
        (queues, wrong)
    }
}

/// Whether the number of arrived packets differs from those sent, dropped and held.
pub(crate) fn unbalanced(tally: &Tally) -> Option<String> {
    let drops = tally.drops.iter().sum::<u64>() - tally.drops[Reason::Loss as usize];
    let Tally { arrived, sent, held, .. } = tally;
    (*arrived != sent + drops + held)
        .then(|| format!("{arrived} arrived, {sent} were sent, {drops} dropped, {held} are held"))
}

fn has_line(job: &Job, path: &PathLink) -> bool {
    job.scenario.links.get(path.link).is_some_and(|link| link.port.is_some())
}

/// Queues of a direction that the reports may show: first those over the air, which have no rate; then those
/// that hold packets back, then the slowest.
fn candidates(job: &Job, direction: Direction) -> Vec<usize> {
    let ours = |path: &PathLink| {
        let has_series = has_line(job, path) || air::is_on_air(job, path.link);
        path.direction == direction && has_series && path.link != job.up && path.link != job.down
    };
    let mut all: Vec<usize> = (0..job.path.len()).filter(|&index| ours(&job.path[index])).collect();
    all.sort_by_key(|&index| {
        let port = job.scenario.links[job.path[index].link].port.as_ref();
        port.map(|port| (!(port.queue.is_shaper() || port.shaper.is_some()), port.rate))
    });
    all
}

/// The queue of a direction in which packets waited longest on average, if its series was kept. `None` if
/// that is the queue at the bottleneck.
fn shown(queues: &[PathQueue], series: &[Option<QueueSeries>], direction: Direction) -> Option<usize> {
    let ours = || queues.iter().enumerate().filter(|(_, queue)| queue.direction == direction);
    let least = match ours().find(|(_, queue)| queue.bottleneck) {
        Some((_, bottleneck)) => bottleneck.sojourn?.mean_ns,
        None => 0,
    };
    let has_series = |index: usize| series.get(index).is_some_and(Option::is_some);
    let longer = ours().filter(|&(index, queue)| queue.mean_sojourn_ns() > least && has_series(index));
    longer.max_by_key(|(_, queue)| queue.mean_sojourn_ns()).map(|(index, _)| index)
}

/// A queue on the path in the form of the record.
pub(crate) fn path_queue(
    path: &PathLink,
    is_bottleneck: bool,
    (tally, last): (Tally, QueueMoment),
    waited: Option<&Histogram>,
) -> PathQueue {
    let (arrived_packets, sent_packets, held_packets) = (tally.arrived, tally.sent, tally.held);
    PathQueue {
        link: path.name.clone(),
        direction: path.direction,
        queue: path.queue.clone(),
        shaped_bps: path.shaped.map(|rate| rate.0),
        bottleneck: is_bottleneck,
        arrived_packets,
        sent_packets,
        sent_bytes: last.sent_bytes,
        held_packets,
        held_bytes: last.backlog_bytes + last.ring_bytes,
        marks: last.marks,
        drop_reasons: QueueEnd::from(tally).drop_reasons,
        sojourn: waited.map(sojourn),
        series: None,
    }
}

/// A distribution in the form of the record.
pub(crate) fn sojourn(histogram: &Histogram) -> Sojourn {
    let at = |q| histogram.quantile(q).unwrap_or_default().0;
    Sojourn {
        n: histogram.count(),
        mean_ns: histogram.mean().unwrap_or_default().0,
        p50_ns: at(0.5),
        p95_ns: at(0.95),
        p99_ns: at(0.99),
        max_ns: histogram.max().unwrap_or_default().0,
    }
}

pub(super) fn moment(link: &LinkView) -> QueueMoment {
    let Backlog { bytes, packets } = link.backlog();
    let (line, counters) = (link.line(), link.counters());
    QueueMoment {
        backlog_bytes: bytes,
        backlog_packets: packets,
        ring_bytes: link.ring_backlog().bytes,
        sent_bytes: line.bytes,
        sent_packets: line.packets,
        drops: counters.drops.iter().sum::<u64>() - counters.drops[goodqueue::Reason::Loss as usize],
        marks: counters.marks,
        busy_ns: link.busy().0,
        busy_periods: line.busy_periods,
    }
}

pub(super) fn queue_end(link: &LinkView) -> Tally {
    let mut own = Vec::new();
    link.queue_counters(&mut |name, value| own.push((name, value)));
    let counters = link.counters();
    Tally {
        drops: counters.drops,
        arrived: counters.arrived,
        sent: link.line().packets,
        held: u64::from(link.backlog().packets) + u64::from(link.ring_backlog().packets),
        own,
    }
}

//! The figures of a run in one row: `runs.csv`, and the table `summary` of the Python package.

use crate::record::{Direction, Record, Repetition, Run};
use crate::summary::{Summary, verdict};

/// The figures of a run, or of a queue that was planned and not measured. Times in ns, rates in bit/s, shares
/// from 0 to 1. What was not measured is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunRow<'a> {
    /// Number of the run in the record, from 0; absent for a queue that was not measured.
    pub run: Option<u32>,
    /// The queue, as in the run.
    pub queue: &'a str,
    /// Root of the random streams.
    pub seed: u64,
    /// `complete`, `cut short`, `not valid` or `missing`.
    pub state: &'static str,
    /// The letter of the grade.
    pub grade: Option<&'static str>,
    /// Mean rise of the round trip over its idle baseline.
    pub rise_mean_ns: Option<i64>,
    /// Share of the probes under load that were lost.
    pub probes_lost: Option<f64>,
    /// Why there is no grade.
    pub no_grade_because: Option<String>,
    /// Goodput of all flows to the server.
    pub goodput_up_bps: Option<u64>,
    /// Goodput of all flows to the client.
    pub goodput_down_bps: Option<u64>,
    /// Jain's index over the flows to the server.
    pub jain_up: Option<f64>,
    /// Jain's index over the flows to the client.
    pub jain_down: Option<f64>,
    /// Jain's index over the stations' airtime.
    pub jain_airtime: Option<f64>,
    /// Share of the time in which the line to the server was busy.
    pub used_up: Option<f64>,
    /// The same of the line to the client.
    pub used_down: Option<f64>,
    /// Median round trip before the load.
    pub idle_ns: Option<i64>,
    /// Median rise.
    pub rise_p50_ns: Option<i64>,
    /// 95th percentile of the rise.
    pub rise_p95_ns: Option<i64>,
    /// 99th percentile of the rise.
    pub rise_p99_ns: Option<i64>,
    /// Largest rise.
    pub rise_max_ns: Option<i64>,
    /// Packets that all queues of the path dropped.
    pub drops: Option<u64>,
    /// Packets that they marked.
    pub marks: Option<u64>,
}

impl<'a> RunRow<'a> {
    /// The columns of `runs.csv`, in order.
    pub const COLUMNS: [&'static str; 22] = [
        "run",
        "queue",
        "seed",
        "state",
        "grade",
        "rise_mean_ms",
        "probes_lost_percent",
        "no_grade_because",
        "goodput_up_bps",
        "goodput_down_bps",
        "jain_goodput_up",
        "jain_goodput_down",
        "jain_airtime",
        "used_up_percent",
        "used_down_percent",
        "idle_ms",
        "rise_p50_ms",
        "rise_p95_ms",
        "rise_p99_ms",
        "rise_max_ms",
        "drops_packets",
        "marks_packets",
    ];

    /// A row for each run, and then one for each queue that was planned and not measured.
    #[must_use]
    pub fn of_runs(record: &'a Record) -> Vec<RunRow<'a>> {
        let runs = (0..).zip(&record.runs).map(|(number, run)| RunRow::of(record, number, run));
        runs.chain(missing(record)).collect()
    }

    /// The same with a row for each seed of a run. Seeds after the first keep only the figures of a
    /// [`Repetition`].
    #[must_use]
    pub fn of_seeds(record: &'a Record) -> Vec<RunRow<'a>> {
        let of_run = |(number, run): (u32, &'a Run)| {
            let first = RunRow::of(record, number, run);
            let seed = first.seed;
            let others = run.repetitions.iter().filter(move |one| one.seed != seed);
            let others = others.map(move |one| RunRow::of_repetition(number, run, one));
            std::iter::once(first).chain(others)
        };
        (0..).zip(&record.runs).flat_map(of_run).chain(missing(record)).collect()
    }

    fn of(record: &'a Record, number: u32, run: &'a Run) -> RunRow<'a> {
        let summary = Summary::of(record, run);
        let [drops, marks] = summary.drops_and_marks();
        RunRow {
            run: Some(number),
            queue: &run.queue,
            seed: run.simulation.as_ref().map_or(record.seed, |simulation| simulation.seed),
            state: match (run.validity.valid, run.complete) {
                (false, _) => "not valid",
                (true, false) => "cut short",
                (true, true) => "complete",
            },
            grade: summary.grade.map(|grade| grade.letter.as_str()),
            rise_mean_ns: summary.rtt.added_mean_ns,
            probes_lost: verdict::lost(&summary.rtt),
            goodput_up_bps: summary.goodput_up_bps,
            goodput_down_bps: summary.goodput_down_bps,
            jain_up: summary.jain_up,
            jain_down: summary.jain_down,
            jain_airtime: summary.airtime_jain(),
            used_up: summary.utilisation(Direction::Up),
            used_down: summary.utilisation(Direction::Down),
            idle_ns: summary.rtt.idle_ns,
            rise_p50_ns: summary.rtt.added_p50_ns,
            rise_p95_ns: summary.rtt.added_p95_ns,
            rise_p99_ns: summary.rtt.added_p99_ns,
            rise_max_ns: summary.rtt.added_max_ns,
            drops: Some(drops),
            marks: Some(marks),
            no_grade_because: summary.no_grade,
        }
    }

    fn of_repetition(number: u32, run: &'a Run, one: &Repetition) -> RunRow<'a> {
        RunRow {
            run: Some(number),
            queue: &run.queue,
            seed: one.seed,
            // Only complete runs are kept as repetitions.
            state: "complete",
            goodput_up_bps: one.goodput_up_bps,
            goodput_down_bps: one.goodput_down_bps,
            jain_up: one.jain_up,
            jain_down: one.jain_down,
            jain_airtime: one.jain_airtime,
            rise_p50_ns: one.rise_p50_ns,
            rise_p95_ns: one.rise_p95_ns,
            rise_p99_ns: one.rise_p99_ns,
            drops: Some(one.drops),
            marks: Some(one.marks),
            ..RunRow::default()
        }
    }
}

fn missing<'a>(record: &'a Record) -> impl Iterator<Item = RunRow<'a>> {
    let row = |queue| RunRow { queue, seed: record.seed, state: "missing", ..RunRow::default() };
    record.missing().into_iter().map(row)
}

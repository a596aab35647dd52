//! Flow completion times and slowdowns of the user's own traffic.

use serde::{Deserialize, Serialize};

use crate::record::{Record, Run, TransferSeries};
use crate::stats::{Span, known, mean, percentile};

/// Flows of up to this size are small, bytes (Alizadeh et al., "pFabric", SIGCOMM 2013, section 5.1).
const SMALL: u64 = 100_000;
/// Flows of more than this are large, bytes (ibidem).
const LARGE: u64 = 10_000_000;
/// A slowdown in the whole numbers of this crate's statistics: 1 is this many.
pub(crate) const ONE: f64 = 1e6;

/// The completion times of one group of flows: of those that began in the loaded interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TransferSummary {
    /// Name, as planned.
    pub name: String,
    /// All flows.
    pub all: Completion,
    /// Flows of at most 100 kB.
    pub small: Completion,
    /// Flows between small and large.
    pub medium: Completion,
    /// Flows of more than 10 MB.
    pub large: Completion,
}

/// Completion times of flows, and slowdowns: completion time / ideal time ([`TransferSeries::ideal_ns`]).
///
/// Flows that had not ended when the run did are in no mean. In percentiles they count as slower than all
/// others; so a percentile that falls among them is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Completion {
    /// Flows that ended.
    pub n: u64,
    /// Flows that had not ended when the run did.
    pub unfinished: u64,
    /// Mean completion time.
    pub mean_ns: Option<i64>,
    /// Median.
    pub p50_ns: Option<i64>,
    /// 95th percentile.
    pub p95_ns: Option<i64>,
    /// 99th percentile.
    pub p99_ns: Option<i64>,
    /// Mean slowdown.
    pub slowdown_mean: Option<f64>,
    /// Median.
    pub slowdown_p50: Option<f64>,
    /// 95th percentile.
    pub slowdown_p95: Option<f64>,
    /// 99th percentile.
    pub slowdown_p99: Option<f64>,
}

/// One flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub(crate) start_ns: i64,
    pub(crate) bytes: u64,
    /// `None`: it had not ended.
    pub(crate) took_ns: Option<i64>,
    pub(crate) ideal_ns: i64,
}

impl Transfer {
    /// Completion time / ideal time, in parts of [`ONE`].
    pub(crate) fn slowdown(&self) -> Option<i64> {
        let took = self.took_ns.filter(|_| self.ideal_ns > 0)?;
        Some((took as f64 / self.ideal_ns as f64 * ONE).round() as i64)
    }
}

/// The flows of a group.
pub(crate) fn each(series: &TransferSeries) -> impl Iterator<Item = Transfer> + '_ {
    let times = series.took_ns.iter().zip(&series.ideal_ns);
    series.start_ns.iter().zip(&series.bytes).zip(times).map(|((&start_ns, &bytes), (&took, &ideal_ns))| {
        Transfer { start_ns, bytes, took_ns: Some(took).filter(|&took| known(took)), ideal_ns }
    })
}

/// The planned name of a group, or its number.
pub(crate) fn traffic_name(record: &Record, index: usize) -> String {
    let name = record.test.traffic.get(index).map(|plan| plan.name.as_str()).filter(|name| !name.is_empty());
    name.map_or_else(|| format!("traffic {}", index + 1), str::to_owned)
}

/// A summary of each group.
pub(crate) fn transfers(record: &Record, run: &Run, loaded: Span) -> Vec<TransferSummary> {
    let all = run.traffic.iter().enumerate();
    all.map(|(i, series)| {
        let flows: Vec<Transfer> = each(series).filter(|flow| loaded.contains(flow.start_ns)).collect();
        TransferSummary { name: traffic_name(record, i), ..TransferSummary::of(&flows) }
    })
    .collect()
}

impl TransferSummary {
    fn of(flows: &[Transfer]) -> TransferSummary {
        let of = |is_in: &dyn Fn(u64) -> bool| {
            Completion::of(flows.iter().copied().filter(|flow| is_in(flow.bytes)))
        };
        TransferSummary {
            name: String::new(),
            all: of(&|_| true),
            small: of(&|bytes| bytes <= SMALL),
            medium: of(&|bytes| (SMALL + 1..=LARGE).contains(&bytes)),
            large: of(&|bytes| bytes > LARGE),
        }
    }

    /// The same of the flows of all groups of a run, as one.
    #[must_use]
    pub fn together(record: &Record, run: &Run) -> TransferSummary {
        let loaded = crate::summary::loaded_span(record, run);
        let all = run.traffic.iter().flat_map(each);
        let flows: Vec<Transfer> = all.filter(|flow| loaded.contains(flow.start_ns)).collect();
        TransferSummary::of(&flows)
    }
}

impl Completion {
    /// Whether there are no flows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.n + self.unfinished == 0
    }

    fn of(flows: impl Iterator<Item = Transfer>) -> Completion {
        let (mut took, mut slowdowns, mut unfinished) = (Vec::new(), Vec::new(), 0);
        for flow in flows {
            unfinished += u64::from(flow.took_ns.is_none());
            took.extend(flow.took_ns);
            slowdowns.extend(flow.slowdown());
        }
        let n = took.len() as u64;
        let mean_ns = mean(&took);
        let slowdown_mean = mean(&slowdowns);
        // Slower than all others.
        for values in [&mut took, &mut slowdowns] {
            values.sort_unstable();
            values.extend((0..unfinished).map(|_| i64::MAX));
        }
        let at = |values: &[i64], p| percentile(values, p).filter(|&value| value < i64::MAX);
        let times = |part: i64| part as f64 / ONE;
        Completion {
            n,
            unfinished,
            mean_ns,
            p50_ns: at(&took, 50),
            p95_ns: at(&took, 95),
            p99_ns: at(&took, 99),
            slowdown_mean: slowdown_mean.map(times),
            slowdown_p50: at(&slowdowns, 50).map(times),
            slowdown_p95: at(&slowdowns, 95).map(times),
            slowdown_p99: at(&slowdowns, 99).map(times),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MISSING;

    const MS: i64 = 1_000_000;

    #[test]
    fn completion_times_by_hand() {
        // Ten flows of 1 to 10 ms whose ideal time is 1 ms; one of 20 MB that had not ended.
        let mut series = TransferSeries {
            start_ns: (0..11).collect(),
            bytes: vec![1000, 100_000, 100_001, 10_000_000, 10_000_001, 5, 5, 5, 5, 5, 20_000_000],
            took_ns: (1..=10).map(|ms| ms * MS).chain([MISSING]).collect(),
            ideal_ns: vec![MS; 11],
        };
        let summary = TransferSummary::of(&each(&series).collect::<Vec<_>>());
        let Completion { n, unfinished, mean_ns, p50_ns, p95_ns, .. } = summary.all;
        // The median of eleven is the sixth; the eleventh is not known.
        assert_eq!((n, unfinished, mean_ns), (10, 1, Some(5_500_000)));
        assert_eq!((p50_ns, p95_ns, summary.all.p99_ns), (Some(6 * MS), None, None));
        assert_eq!((summary.all.slowdown_mean, summary.all.slowdown_p50), (Some(5.5), Some(6.0)));
        assert_eq!((summary.small.n, summary.medium.n, summary.large.n), (7, 2, 1));
        assert_eq!((summary.large.unfinished, summary.large.slowdown_p50), (1, Some(5.0)));
        assert_eq!(summary.small.slowdown_p99, Some(10.0));
        // Without an ideal time there is no slowdown.
        series.ideal_ns = vec![0; 11];
        let summary = TransferSummary::of(&each(&series).collect::<Vec<_>>());
        assert_eq!((summary.all.n, summary.all.slowdown_mean), (10, None));
        assert_eq!(TransferSummary::of(&[]), TransferSummary::default());
    }

    #[test]
    fn flows_count_that_begin_in_the_loaded_interval() {
        let second = 1_000_000_000;
        let series = TransferSeries {
            start_ns: vec![0, 2 * second, 9 * second],
            bytes: vec![1; 3],
            took_ns: vec![MS, 2 * MS, 3 * MS],
            ideal_ns: vec![MS; 3],
        };
        let mut record = Record::default();
        record.test.load_ns = 10 * second as u64;
        let run = Run { traffic: vec![series.clone(), series], complete: true, ..Run::default() };
        // The ramp is a fifth of the load.
        let own = transfers(&record, &run, crate::summary::loaded_span(&record, &run));
        assert_eq!((own[0].all.n, own[0].all.mean_ns), (2, Some(2_500_000)));
        assert_eq!((own[1].name.as_str(), TransferSummary::together(&record, &run).all.n), ("traffic 2", 4));
    }
}

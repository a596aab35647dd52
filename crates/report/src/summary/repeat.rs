//! Repetitions: the same run with other seeds, and the statistics of their figures.
//!
//! * **Mean**: the sum over the count.
//! * **95 % confidence interval**: mean ± `half`, where half = t(0.975, n − 1) · s / √n, s² = Σ(x − mean)² /
//!   (n − 1), and t is Student's quantile. It assumes that the figures are roughly normally distributed.

use serde::{Deserialize, Serialize};

use crate::record::{Record, Repetition, Run};

use super::Summary;

impl Repetition {
    /// The figures of `run`. It need not be one of `record`'s runs, but must be of the same test.
    #[must_use]
    pub fn of(record: &Record, run: &Run, seed: u64) -> Repetition {
        let summary = Summary::of(record, run);
        let flows = &summary.transfers;
        Repetition {
            seed,
            goodput_up_bps: summary.goodput_up_bps,
            goodput_down_bps: summary.goodput_down_bps,
            jain_up: summary.jain_up,
            jain_down: summary.jain_down,
            jain_airtime: summary.airtime_jain(),
            rise_p50_ns: summary.rtt.added_p50_ns,
            rise_p95_ns: summary.rtt.added_p95_ns,
            rise_p99_ns: summary.rtt.added_p99_ns,
            fct_mean_ns: flows.mean_ns,
            fct_p99_ns: flows.p99_ns,
            slowdown_mean: flows.slowdown_mean,
            drops: summary.drops_and_marks()[0],
            marks: summary.drops_and_marks()[1],
        }
    }
}

/// A mean and half the width of its 95 % confidence interval, both in the unit of the figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of the interval.
    pub half: f64,
}

impl Estimate {
    /// The estimate from these values; `None` for fewer than two.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Estimate> {
        let n = values.len();
        if n < 2 {
            return None;
        }
        // The mean of equal values may have a rounding error, and so may the interval.
        if values.iter().all(|value| *value == values[0]) {
            return Some(Estimate { mean: values[0], half: 0.0 });
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let deviation = (squares / (n - 1) as f64).sqrt();
        Some(Estimate { mean, half: student_975(n - 1) * deviation / (n as f64).sqrt() })
    }
}

/// The 0.975 quantile of Student's distribution by degrees of freedom from 1.
const STUDENT_975: [f64; 30] = [
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010, 2.1788, 2.1604,
    2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860, 2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555,
    2.0518, 2.0484, 2.0452, 2.0423,
];

/// The same quantile for any number of degrees of freedom from 1: beyond the table by the expansion of
/// Cornish and Fisher (Abramowitz and Stegun 26.7.5), which is correct to four digits there.
#[must_use]
pub fn student_975(freedom: usize) -> f64 {
    const Z: f64 = 1.959_964;
    if let Some(&quantile) = freedom.checked_sub(1).and_then(|index| STUDENT_975.get(index)) {
        return quantile;
    }
    let v = freedom as f64;
    let (z3, z5, z7) = (Z.powi(3), Z.powi(5), Z.powi(7));
    Z + (z3 + Z) / (4.0 * v)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * Z) / (96.0 * v * v)
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * Z) / (384.0 * v * v * v)
}

/// The statistics of a run's repetitions. A figure that one of them lacks is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Repeated {
    /// Number of repetitions.
    pub n: u64,
    /// Goodput to the server, bit/s.
    pub goodput_up_bps: Option<Estimate>,
    /// Goodput to the client, bit/s.
    pub goodput_down_bps: Option<Estimate>,
    /// Jain's index to the server.
    pub jain_up: Option<Estimate>,
    /// Jain's index to the client.
    pub jain_down: Option<Estimate>,
    /// Jain's index over the stations' airtime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jain_airtime: Option<Estimate>,
    /// Median rise of the round trip, ns.
    pub rise_p50_ns: Option<Estimate>,
    /// Its 95th percentile, ns.
    pub rise_p95_ns: Option<Estimate>,
    /// Its 99th percentile, ns.
    pub rise_p99_ns: Option<Estimate>,
    /// Mean flow completion time, ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fct_mean_ns: Option<Estimate>,
    /// Its 99th percentile, ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fct_p99_ns: Option<Estimate>,
    /// Mean slowdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowdown_mean: Option<Estimate>,
    /// Packets dropped.
    pub drops: Option<Estimate>,
}

impl Repeated {
    /// The statistics of these repetitions; `None` for fewer than two.
    #[must_use]
    pub fn of(all: &[Repetition]) -> Option<Repeated> {
        let over = |value: &dyn Fn(&Repetition) -> Option<f64>| {
            Estimate::of(&all.iter().map(value).collect::<Option<Vec<_>>>()?)
        };
        let time = |value: fn(&Repetition) -> Option<i64>| over(&|one| value(one).map(|ns| ns as f64));
        (all.len() > 1).then(|| Repeated {
            n: all.len() as u64,
            goodput_up_bps: over(&|one| one.goodput_up_bps.map(|bps| bps as f64)),
            goodput_down_bps: over(&|one| one.goodput_down_bps.map(|bps| bps as f64)),
            jain_up: over(&|one| one.jain_up),
            jain_down: over(&|one| one.jain_down),
            jain_airtime: over(&|one| one.jain_airtime),
            rise_p50_ns: time(|one| one.rise_p50_ns),
            rise_p95_ns: time(|one| one.rise_p95_ns),
            rise_p99_ns: time(|one| one.rise_p99_ns),
            fct_mean_ns: time(|one| one.fct_mean_ns),
            fct_p99_ns: time(|one| one.fct_p99_ns),
            slowdown_mean: over(&|one| one.slowdown_mean),
            drops: over(&|one| Some(one.drops as f64)),
        })
    }
}

/// A column of a table of repetitions: heading, and the text of a run's estimate.
pub(crate) type Column = (&'static str, fn(&Repeated) -> Option<String>);

/// The columns of a table of repetitions.
/// As in the first table, Jain's index is of airtime where there is Wi-Fi, and of goodput elsewhere.
pub(crate) const COLUMNS: [Column; 12] = [
    ("Mbit/s up", |r| words(r.goodput_up_bps, 1e6, 2)),
    ("Mbit/s down", |r| words(r.goodput_down_bps, 1e6, 2)),
    ("Jain goodput up", |r| words(r.jain_up.filter(|_| r.jain_airtime.is_none()), 1.0, 3)),
    ("Jain goodput down", |r| words(r.jain_down.filter(|_| r.jain_airtime.is_none()), 1.0, 3)),
    ("Jain airtime", |r| words(r.jain_airtime, 1.0, 3)),
    ("rise p50 ms", |r| words(r.rise_p50_ns, 1e6, 2)),
    ("rise p95 ms", |r| words(r.rise_p95_ns, 1e6, 2)),
    ("rise p99 ms", |r| words(r.rise_p99_ns, 1e6, 2)),
    ("FCT mean ms", |r| words(r.fct_mean_ns, 1e6, 2)),
    ("FCT p99 ms", |r| words(r.fct_p99_ns, 1e6, 2)),
    ("slowdown mean", |r| words(r.slowdown_mean, 1.0, 3)),
    ("drops", |r| words(r.drops, 1.0, 1)),
];

/// `18.91 ± 0.04`; `18.91, all equal` if every repetition gave the same.
fn words(estimate: Option<Estimate>, unit: f64, digits: usize) -> Option<String> {
    estimate.map(|e| match e.half {
        0.0 => format!("{:.digits$}, all equal", e.mean / unit),
        half => format!("{:.digits$} ± {:.digits$}", e.mean / unit, half / unit),
    })
}

/// A sentence for repetitions that are identical in every figure: there is no interval, since nothing in them
/// depends on the seed.
pub(crate) fn identical(all: &[Repetition]) -> Option<String> {
    let (first, others) = all.split_first().filter(|(_, others)| !others.is_empty())?;
    let same = |one: &Repetition| Repetition { seed: first.seed, ..one.clone() } == *first;
    others.iter().all(same).then(|| {
        format!(
            "All {} repetitions are identical: nothing in them depends on the seed, so there is no interval.",
            all.len()
        )
    })
}

/// The heading of such a table; `None` if no run was repeated.
pub(crate) fn title(all: &[Summary]) -> Option<String> {
    let n = all.iter().filter_map(|summary| summary.repeated.as_ref()).map(|repeated| repeated.n).max()?;
    Some(format!("mean of {n} repetitions ± half its 95 % confidence interval (Student's t)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_values_by_hand() {
        // Mean 4, squares 4 + 0 + 4, s = 2; half = 4.3027 * 2 / sqrt(3).
        let estimate = Estimate::of(&[2.0, 4.0, 6.0]).expect("three");
        assert_eq!(estimate.mean, 4.0);
        assert!((estimate.half - 4.968_33).abs() < 1e-4, "{}", estimate.half);
        assert_eq!(Estimate::of(&[5.0, 5.0]), Some(Estimate { mean: 5.0, half: 0.0 }));
        assert_eq!(Estimate::of(&[5.0]), None);
    }

    #[test]
    fn equal_values_have_no_interval() {
        let one = |seed, drops| Repetition { seed, drops, ..Repetition::default() };
        assert_eq!(words(Estimate::of(&[5.0, 5.0]), 1.0, 1).as_deref(), Some("5.0, all equal"));
        assert_eq!(words(Estimate::of(&[0.1; 3]), 1.0, 3).as_deref(), Some("0.100, all equal"));
        assert_eq!(words(Estimate::of(&[4.9, 5.0]), 1.0, 1).as_deref(), Some("5.0 ± 0.6"));
        let said = identical(&[one(1, 7), one(2, 7), one(3, 7)]).expect("identical");
        assert!(said.starts_with("All 3 repetitions are identical"), "{said}");
        assert_eq!(identical(&[one(1, 7), one(2, 8)]), None);
        assert_eq!(identical(&[one(1, 7)]), None);
    }

    #[test]
    fn the_expansion_goes_on_where_the_table_ends() {
        // Printed tables: 30: 2.0423, 40: 2.0211, 60: 2.0003, 120: 1.9799, infinity: 1.95996.
        let printed = [(30, 2.0423), (40, 2.0211), (60, 2.0003), (120, 1.9799), (100_000_000, 1.95996)];
        for (freedom, quantile) in printed {
            assert!((student_975(freedom) - quantile).abs() < 6e-5, "{freedom}: {}", student_975(freedom));
        }
    }

    #[test]
    fn a_figure_that_one_repetition_lacks_is_absent() {
        let one = |up, drops| Repetition { goodput_up_bps: up, drops, ..Repetition::default() };
        let repeated = Repeated::of(&[one(Some(8), 1), one(None, 3)]).expect("two");
        assert_eq!((repeated.n, repeated.goodput_up_bps), (2, None));
        assert_eq!(repeated.drops.map(|drops| drops.mean), Some(2.0));
        assert_eq!(Repeated::of(&[one(Some(8), 1)]), None);
    }
}

//! Statistics of a quantity, from all of its values or, for an endless session, from a histogram.

use hdrhistogram::Histogram;
use serde::Serialize;

/// Statistics of a quantity, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Series {
    /// Number of values.
    pub n: u64,
    /// Least.
    pub min: i64,
    /// Median; for an even number of values, between the two middle ones.
    pub median: i64,
    /// Mean.
    pub mean: f64,
    /// The smallest value that 95 % do not exceed.
    pub p95: i64,
    /// The same for 99 %.
    pub p99: i64,
    /// Greatest.
    pub max: i64,
    /// Standard deviation of the sample; 0 for one value.
    pub stddev: f64,
    /// Sum.
    pub total: i64,
}

impl Series {
    /// The statistics of some values; `None` if there are none.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn of(mut values: Vec<i64>) -> Option<Series> {
        values.sort_unstable();
        let (&min, &max) = (values.first()?, values.last()?);
        let n = values.len();
        let at_rank = |percent: usize| values[(n * percent).div_ceil(100).max(1) - 1];
        let total = values.iter().fold(0_i64, |sum, &value| sum.saturating_add(value));
        let mean = values.iter().map(|&value| value as f64).sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|&value| (value as f64 - mean).powi(2)).sum();
        let median =
            if n.is_multiple_of(2) { values[n / 2 - 1].midpoint(values[n / 2]) } else { values[n / 2] };
        let stddev = if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 };
        Some(Series {
            n: n as u64,
            min,
            median,
            mean,
            p95: at_rank(95),
            p99: at_rank(99),
            max,
            stddev,
            total,
        })
    }
}

/// Greatest value that a histogram distinguishes, nanoseconds: 73 minutes.
const GREATEST: u64 = 1 << 42;
/// Decimal digits of a value in a histogram.
const DIGITS: u8 = 3;

/// Values that are not kept individually: a histogram with three digits of each, and exact moments. Negative
/// ones count as 0.
#[derive(Clone, Debug)]
pub(crate) struct Spread {
    histogram: Histogram<u64>,
    total: i64,
    mean: f64,
    /// Sum of the squares of differences from the mean (Welford 1962).
    squares: f64,
    min: i64,
    max: i64,
}

impl Default for Spread {
    fn default() -> Spread {
        let histogram = Histogram::new_with_bounds(1, GREATEST, DIGITS).expect("constants that it takes");
        Spread { histogram, total: 0, mean: 0.0, squares: 0.0, min: i64::MAX, max: i64::MIN }
    }
}

impl Spread {
    /// Adds values.
    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn add(&mut self, values: impl IntoIterator<Item = i64>) {
        for value in values {
            self.histogram.saturating_record(value.max(0).unsigned_abs());
            let from = value as f64 - self.mean;
            self.mean += from / self.histogram.len() as f64;
            self.squares += from * (value as f64 - self.mean);
            self.total = self.total.saturating_add(value);
            (self.min, self.max) = (self.min.min(value), self.max.max(value));
        }
    }

    /// Their statistics; `None` if there are none.
    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn series(&self) -> Option<Series> {
        let n = self.histogram.len();
        let at = |quantile: f64| {
            let value = i64::try_from(self.histogram.value_at_quantile(quantile)).unwrap_or(i64::MAX);
            value.clamp(self.min, self.max)
        };
        (n > 0).then(|| Series {
            n,
            min: self.min,
            median: at(0.5),
            mean: self.mean,
            p95: at(0.95),
            p99: at(0.99),
            max: self.max,
            stddev: if n > 1 { (self.squares / (n - 1) as f64).sqrt() } else { 0.0 },
            total: self.total,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn statistics_are_the_usual_ones() {
        assert_eq!(Series::of(Vec::new()), None);
        let one = Series::of(vec![7]).unwrap();
        assert_eq!((one.min, one.median, one.p99, one.stddev), (7, 7, 7, 0.0));
        let series = Series::of((1..=100).rev().collect()).unwrap();
        assert_eq!((series.median, series.p95, series.p99, series.total), (50, 95, 99, 5050));
        assert!((series.mean - 50.5).abs() < 1e-9 && (series.stddev - 29.011_491_975_882_016).abs() < 1e-9);
        assert_eq!(Spread::default().series(), None);
    }

    proptest! {
        /// A histogram agrees with the values, within three digits.
        #[test]
        fn a_histogram_agrees_with_its_values(values in proptest::collection::vec(0_i64..20_000_000_000, 1..300)) {
            let mut spread = Spread::default();
            spread.add(values.iter().copied());
            let (exact, near) = (Series::of(values).unwrap(), spread.series().unwrap());
            prop_assert_eq!((exact.n, exact.min, exact.max, exact.total), (near.n, near.min, near.max, near.total));
            let is_near = |a: f64, b: f64| (a - b).abs() <= 1.0 + a.abs() / 1000.0;
            prop_assert!(is_near(exact.mean, near.mean) && is_near(exact.stddev, near.stddev), "{:?} {:?}", exact, near);
            // A rank between two values may be either of them, so the tail is compared only if it is a single
            // value.
            for (a, b) in [(exact.p95, near.p95), (exact.p99, near.p99)] {
                prop_assert!(is_near(a as f64, b as f64), "{:?} {:?}", exact, near);
            }
        }
    }
}

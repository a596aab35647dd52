//! A log-linear histogram of nanoseconds: fixed memory, values with an error of at most 1/128.

use alloc::vec;
use alloc::vec::Vec;

use crate::Span;

/// Linear steps within a power of two; values below this are exact.
const STEPS: u64 = 128;
const STEP_BITS: u32 = STEPS.trailing_zeros();
/// Powers of two above the exact part: up to 2^45 ns (9.7 h); greater values go into the last bucket.
const POWERS: usize = 39;
const BUCKETS: usize = (POWERS + 1) * STEPS as usize;

/// Counts of durations. A quantile is the upper edge of its bucket, so at most 1/128 (0.8 %) above the exact
/// value; minimum, maximum and mean are exact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { counts: vec![0; BUCKETS], total: 0, sum: 0, min: u64::MAX, max: 0 }
    }
}

/// The bucket of a value.
#[allow(clippy::cast_possible_truncation)]
fn bucket(value: u64) -> usize {
    if value < STEPS {
        return value as usize;
    }
    let power = value.ilog2() - STEP_BITS;
    let step = (value >> power) - STEPS;
    (((u64::from(power) + 1) * STEPS + step) as usize).min(BUCKETS - 1)
}

/// The largest value of a bucket.
fn upper(bucket: usize) -> u64 {
    let (power, step) = (bucket as u64 / STEPS, bucket as u64 % STEPS);
    match power {
        0 => step,
        _ => ((STEPS + step + 1) << (power - 1)) - 1,
    }
}

impl Histogram {
    /// Counts `value`.
    pub fn record(&mut self, value: Span) {
        self.counts[bucket(value.0)] += 1;
        self.total += 1;
        self.sum += u128::from(value.0);
        self.min = self.min.min(value.0);
        self.max = self.max.max(value.0);
    }

    /// Counts all that `other` has counted.
    pub fn merge(&mut self, other: &Histogram) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.total += other.total;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Values counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.total
    }

    /// The smallest value; `None` if nothing was counted, here and below.
    #[must_use]
    pub fn min(&self) -> Option<Span> {
        (self.total > 0).then_some(Span(self.min))
    }

    /// The largest value.
    #[must_use]
    pub fn max(&self) -> Option<Span> {
        (self.total > 0).then_some(Span(self.max))
    }

    /// The mean, rounded down.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn mean(&self) -> Option<Span> {
        (self.total > 0).then(|| Span((self.sum / u128::from(self.total)) as u64))
    }

    /// The smallest bucket edge with at least the fraction `q` (0 to 1) of all values at or below it.
    #[must_use]
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn quantile(&self, q: f64) -> Option<Span> {
        let share = q.clamp(0.0, 1.0) * self.total as f64;
        // There is no `ceil` without the standard library.
        let rank = (share as u64 + u64::from((share as u64 as f64) < share)).max(1);
        let mut seen = 0;
        for (place, &count) in self.counts.iter().enumerate() {
            seen += count;
            if count > 0 && seen >= rank {
                return Some(Span(upper(place).min(self.max)));
            }
        }
        None
    }

    /// The nonempty buckets in ascending order: largest value and count.
    pub fn buckets(&self) -> impl Iterator<Item = (Span, u64)> + '_ {
        let filled = self.counts.iter().enumerate().filter(|&(_, &count)| count > 0);
        filled.map(|(place, &count)| (Span(upper(place)), count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_join_without_gap_and_err_by_less_than_a_128th() {
        for place in 0..BUCKETS - 1 {
            assert_eq!(bucket(upper(place)), place);
            assert_eq!(bucket(upper(place) + 1), place + 1);
        }
        for value in [129_u64, 1000, 123_456, 9_999_999_999] {
            let edge = upper(bucket(value));
            assert!(edge >= value && edge - value <= value / 128, "{value} {edge}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_of_a_known_set() {
        let mut histogram = Histogram::default();
        assert_eq!((histogram.quantile(0.5), histogram.mean()), (None, None));
        for value in 1..=20 {
            histogram.record(Span(value));
        }
        assert_eq!(histogram.quantile(0.5), Some(Span(10)));
        assert_eq!(histogram.quantile(0.0), Some(Span(1)));
        assert_eq!(histogram.quantile(1.0), Some(Span(20)));
        assert_eq!((histogram.min(), histogram.max()), (Some(Span(1)), Some(Span(20))));
        assert_eq!(histogram.mean(), Some(Span(10)));
        assert_eq!(histogram.buckets().count(), 20);
    }

    #[test]
    fn two_merged_are_one_of_all_values() {
        let of = |values: &[u64]| {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&value| histogram.record(Span(value)));
            histogram
        };
        let (mut first, second) = (of(&[5, 1_000_000]), of(&[3, 5, 70_000]));
        first.merge(&second);
        assert_eq!(first, of(&[5, 1_000_000, 3, 5, 70_000]));
        first.merge(&Histogram::default());
        assert_eq!(first, of(&[3, 5, 5, 70_000, 1_000_000]));
    }
}

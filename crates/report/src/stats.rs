//! The basic statistics. Integers in, integers out.
//!
//! * **Percentile**: nearest rank. The p-th percentile of n sorted values is the value at rank
//!   ⌈p·n/100⌉, counted from 1: always a value that was measured, never one between two.
//! * **Median**: the 50th percentile by that rule (for an even count the lower of the two middle values).
//! * **Mean**: the sum over the count, rounded to the nearest integer, halves away from zero.

use crate::MISSING;

/// The `p`-th percentile (1 to 100) of ascending values by nearest rank; `None` for no values.
pub(crate) fn percentile(sorted: &[i64], p: u32) -> Option<i64> {
    permille(sorted, p * 10)
}

/// The percentile in tenths of a percent (1 to 1000) by nearest rank; `None` for no values.
pub(crate) fn permille(sorted: &[i64], p: u32) -> Option<i64> {
    let n = sorted.len() as u128;
    let rank = (u128::from(p) * n).div_ceil(1000).max(1);
    sorted.get(usize::try_from(rank - 1).ok()?).copied()
}

/// The mean, rounded to the nearest integer; `None` for no values.
pub(crate) fn mean(values: &[i64]) -> Option<i64> {
    let n = i128::try_from(values.len()).ok().filter(|&n| n > 0)?;
    let sum: i128 = values.iter().map(|&v| i128::from(v)).sum();
    let half = if sum < 0 { -n / 2 } else { n / 2 };
    i64::try_from((sum + half) / n).ok()
}

/// Jain's fairness index (Σx)² / (n·Σx²): 1 for equal shares, 1/n when one takes all.
/// `None` for fewer than two values or where all are zero.
pub(crate) fn jain(rates: &[u64]) -> Option<f64> {
    if rates.len() < 2 {
        return None;
    }
    let sum: f64 = rates.iter().map(|&x| x as f64).sum();
    let squares: f64 = rates.iter().map(|&x| (x as f64) * (x as f64)).sum();
    (squares > 0.0).then(|| (sum * sum / (rates.len() as f64 * squares)).min(1.0))
}

/// A share in whole percent, halves away from zero: the value that is shown and judged.
pub(crate) fn whole_percent(share: f64) -> f64 {
    (share * 100.0).round()
}

/// Whether a delay was measured.
pub(crate) fn known(value: i64) -> bool {
    value != MISSING
}

/// An interval of time in nanoseconds from the start of the load, the end excluded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    /// First instant in it.
    pub(crate) from: i64,
    /// First instant after it.
    pub(crate) to: i64,
}

impl Span {
    /// Length; zero for an empty or reversed interval.
    pub(crate) fn length(self) -> u64 {
        u64::try_from(i128::from(self.to) - i128::from(self.from)).unwrap_or(0)
    }

    /// Whether it contains the instant.
    pub(crate) fn contains(self, t: i64) -> bool {
        self.from <= t && t < self.to
    }

    /// The intersection.
    pub(crate) fn overlap(self, other: Self) -> Self {
        Self { from: self.from.max(other.from), to: self.to.min(other.to) }
    }
}

/// `amount` times `part` over `whole`, rounded down; `amount` if `whole` is zero.
pub(crate) fn share(amount: u64, part: u64, whole: u64) -> u64 {
    if whole == 0 || part >= whole {
        return amount;
    }
    u64::try_from(u128::from(amount) * u128::from(part) / u128::from(whole)).unwrap_or(u64::MAX)
}

/// Bytes over a time as bits per second, rounded down; `None` if the time is zero.
pub(crate) fn bits_per_second(bytes: u64, duration_ns: u64) -> Option<u64> {
    let bits = u128::from(bytes) * 8 * 1_000_000_000;
    u64::try_from(bits.checked_div(u128::from(duration_ns))?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_rank_picks_measured_values() {
        let v = [15, 20, 35, 40, 50];
        assert_eq!(percentile(&v, 5), Some(15));
        assert_eq!(percentile(&v, 30), Some(20));
        assert_eq!(percentile(&v, 40), Some(20));
        assert_eq!(percentile(&v, 50), Some(35));
        assert_eq!(percentile(&v, 100), Some(50));
        assert_eq!(percentile(&[1, 2, 3, 4], 50), Some(2));
        assert_eq!(percentile(&[], 50), None);
    }

    #[test]
    fn mean_rounds_halves_away_from_zero() {
        assert_eq!(mean(&[1, 2]), Some(2));
        assert_eq!(mean(&[-1, -2]), Some(-2));
        assert_eq!(mean(&[1, 1, 2]), Some(1));
        assert_eq!(mean(&[i64::MAX, i64::MAX]), Some(i64::MAX));
        assert_eq!(mean(&[]), None);
    }

    #[test]
    fn jain_by_hand() {
        assert_eq!(jain(&[5, 5, 5]), Some(1.0));
        // (4 + 2)² / (2 · (16 + 4)) = 36 / 40
        assert_eq!(jain(&[4, 2]), Some(0.9));
        assert_eq!(jain(&[7, 0]), Some(0.5));
        assert_eq!(jain(&[7]), None);
        assert_eq!(jain(&[0, 0]), None);
    }

    #[test]
    fn spans_and_shares() {
        let s = Span { from: 2, to: 10 };
        assert_eq!(s.overlap(Span { from: 8, to: 20 }).length(), 2);
        assert_eq!(s.overlap(Span { from: 12, to: 20 }).length(), 0);
        assert!(s.contains(2) && !s.contains(10));
        assert_eq!(share(100, 1, 3), 33);
        assert_eq!(share(100, 5, 0), 100);
        assert_eq!(bits_per_second(1_250_000, 1_000_000_000), Some(10_000_000));
        assert_eq!(bits_per_second(1, 0), None);
    }
}

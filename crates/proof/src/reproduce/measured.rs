//! A figure over all seeds: its median, and an interval for that.

use serde::Serialize;

/// A median with a confidence interval that assumes no distribution: from the k-th smallest to the k-th
/// largest value. The median is outside it with probability 2 P(B < k), where B counts heads in n tosses of a
/// coin. k is the largest number for which that probability is at most 5 %. At least six values are needed
/// (3.1 %).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// The middle value; of an even number the mean of the middle two.
    pub median: f64,
    /// The ends of the interval; absent for fewer than six values.
    pub interval: Option<(f64, f64)>,
    /// Whether the true median is above `median`: what was measured had not ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_above: bool,
    /// Whether the true upper end is above that of the interval.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_open: bool,
    /// The true upper end, where it is above that of the interval.
    #[serde(skip)]
    pub(super) upper: Option<f64>,
}

/// Largest probability that the median is outside the interval.
const ALPHA: f64 = 0.05;

impl Measured {
    /// The median and interval of these values; `None` if there are none.
    #[must_use]
    pub fn of(mut values: Vec<f64>) -> Option<Measured> {
        values.sort_by(f64::total_cmp);
        let n = values.len();
        let median = f64::midpoint(*values.get(n.checked_sub(1)? / 2)?, *values.get(n / 2)?);
        let interval = rank(n).and_then(|k| Some((*values.get(k - 1)?, *values.get(n - k)?)));
        Some(Measured { median, interval, is_above: false, is_open: false, upper: None })
    }

    /// The same of values that are known as the least and the most that each can be. The shown ones are the
    /// least; the interval reaches from the lower end of the least to the upper end of the most.
    #[must_use]
    pub fn of_bounds(bounds: &[(f64, f64)]) -> Option<Measured> {
        let least = Measured::of(bounds.iter().map(|of| of.0).collect())?;
        let most = Measured::of(bounds.iter().map(|of| of.1).collect())?;
        let upper = Some(most.ends().1).filter(|&upper| upper > least.ends().1);
        Some(Measured { is_above: most.median > least.median, is_open: upper.is_some(), upper, ..least })
    }

    /// The ends of the interval that shown values have; without one, the median twice.
    fn ends(&self) -> (f64, f64) {
        self.interval.unwrap_or((self.median, self.median))
    }

    /// The range in which the median is: an open end is infinite.
    #[must_use]
    pub fn range(&self) -> (f64, f64) {
        let (low, high) = self.ends();
        (low, self.upper.unwrap_or(high))
    }
}

/// The rank k from 1 of the ends of the interval for `n` values.
fn rank(n: usize) -> Option<usize> {
    let mut term = 0.5_f64.powi(i32::try_from(n).ok()?);
    let mut below = 0.0;
    let mut rank = None;
    for k in 1..=n / 2 {
        below += term;
        if 2.0 * below > ALPHA {
            break;
        }
        rank = Some(k);
        term *= (n - k + 1) as f64 / k as f64;
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From printed tables of the sign test: k = 1 from 6 values, 2 from 9, 3 from 12, 10 for 30.
    #[test]
    fn ranks_match_the_sign_test() {
        for (n, k) in
            [(1, None), (5, None), (6, Some(1)), (8, Some(1)), (9, Some(2)), (12, Some(3)), (30, Some(10))]
        {
            assert_eq!(rank(n), k, "{n} values");
        }
    }

    #[test]
    fn interval_of_six_values() {
        let measured = Measured::of(vec![5.0, 1.0, 9.0, 2.0, 4.0, 3.0]).expect("six");
        assert_eq!((measured.median, measured.interval), (3.5, Some((1.0, 9.0))));
        assert_eq!(Measured::of(vec![2.0]).map(|one| (one.median, one.interval)), Some((2.0, None)));
        assert_eq!(Measured::of(Vec::new()), None);
    }

    #[test]
    fn transfers_without_an_end_leave_the_upper_bound_open() {
        let mut bounds =
            vec![(1.0, 1.0), (2.0, 2.0), (3.0, 3.0), (4.0, 4.0), (5.0, 5.0), (9.0, f64::INFINITY)];
        let one = Measured::of_bounds(&bounds).expect("six");
        assert_eq!((one.median, one.is_above, one.range()), (3.5, false, (1.0, f64::INFINITY)));
        assert_eq!(one.interval, Some((1.0, 9.0)), "what is shown, with a sign");
        bounds[3].1 = f64::INFINITY;
        assert!(Measured::of_bounds(&bounds).expect("six").is_above);
        let ended: Vec<_> = bounds.iter().map(|&(least, _)| (least, least)).collect();
        assert_eq!(Measured::of_bounds(&ended), Measured::of(ended.iter().map(|of| of.0).collect()));
    }
}

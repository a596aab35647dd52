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
        Some(Measured { median, interval })
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
        assert_eq!(measured, Measured { median: 3.5, interval: Some((1.0, 9.0)) });
        assert_eq!(Measured::of(vec![2.0]), Some(Measured { median: 2.0, interval: None }));
        assert_eq!(Measured::of(Vec::new()), None);
    }
}

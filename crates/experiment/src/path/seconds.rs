//! A load second by second: which seconds count, and the range of their figures.

/// Time that TCP needs to fill the line, ns.
pub(super) const START: i64 = 2_000_000_000;

/// The second of the load that ends a step at `t` or contains it.
pub(super) fn second(t: i64) -> i64 {
    (t - 1).div_euclid(1_000_000_000)
}

/// The slow and the fast end of figures by second: the second-lowest and the second-highest, since a single
/// second may be a loss from which TCP recovers. `None` if there are fewer than four.
pub(super) fn range(mut rates: Vec<f64>) -> Option<[f64; 2]> {
    rates.sort_by(f64::total_cmp);
    (rates.len() >= 4).then(|| [rates[1], rates[rates.len() - 2]])
}

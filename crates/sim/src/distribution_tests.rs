//! Compares draws with their distribution functions.

use goodqueue::Rng;

use super::{Cdf, Distribution};
use proptest::prelude::*;

/// The share of values up to `x`, written independently of the draws.
fn share_up_to(of: &Distribution, x: f64) -> f64 {
    match of {
        Distribution::Fixed(value) => f64::from(u8::from(*value as f64 <= x)),
        Distribution::Exponential { mean } => 1.0 - (-x / mean).exp(),
        Distribution::Pareto { mean, shape } => {
            let least = mean * (shape - 1.0) / shape;
            if x < least { 0.0 } else { 1.0 - (least / x).powf(*shape) }
        }
        Distribution::Lognormal { mean, sigma } => {
            let z = ((x / mean).ln() + sigma * sigma / 2.0) / sigma;
            // Simpson's rule over the density.
            let steps = 4000;
            let (low, high) = (-9.0, z.clamp(-9.0, 9.0));
            let h = (high - low) / f64::from(steps);
            let at = |i: i32| (-(low + h * f64::from(i)).powi(2) / 2.0).exp();
            let weight = |i: i32| if i == 0 || i == steps { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
            (0..=steps).map(|i| weight(i) * at(i)).sum::<f64>() * h
                / 3.0
                / (2.0 * std::f64::consts::PI).sqrt()
        }
        Distribution::Empirical(cdf) => {
            let mut share = 0.0;
            for pair in cdf.points.windows(2) {
                let [(low, below), (high, above)] = [pair[0], pair[1]];
                share = match x {
                    x if x >= high => above,
                    x if x >= low => below + (above - below) * (x - low) / (high - low),
                    _ => share,
                };
            }
            let &(first, atom) = cdf.points.first().expect("a point");
            if x < first { 0.0 } else { share.max(atom) }
        }
    }
}

/// The largest difference between the distribution function of `n` draws and `of` (Kolmogorov). Draws are
/// rounded down: a draw is at most k where x is below k + 1.
fn distance(of: &Distribution, n: usize) -> f64 {
    let mut rng = Rng::new(11);
    let mut draws: Vec<u64> = (0..n).map(|_| of.draw(&mut rng)).collect();
    draws.sort_unstable();
    let mut largest = 0.0_f64;
    for (index, &value) in draws.iter().enumerate() {
        if draws.get(index + 1) == Some(&value) {
            continue;
        }
        let share = (index + 1) as f64 / n as f64;
        largest = largest.max((share - share_up_to(of, value as f64 + 0.999_999)).abs());
    }
    largest
}

/// P(√n D > 1.95) is 0.001 (Kolmogorov's distribution).
const BOUND: f64 = 1.95;

#[test]
fn draws_follow_their_distribution() {
    let n = 20_000;
    for text in [
        "exponential,mean=50k",
        "pareto,mean=50k,shape=1.2",
        "pareto,mean=9k,shape=3",
        "lognormal,mean=50k,sigma=2",
        "lognormal,mean=5k,sigma=0.3",
        "web-search",
        "data-mining",
    ] {
        let of = Distribution::of_sizes(text).expect(text);
        let distance = distance(&of, n) * (n as f64).sqrt();
        assert!(distance < BOUND, "{text}: {distance}");
    }
}

#[test]
fn published_distributions_have_their_means() {
    let mean = |text| Distribution::of_sizes(text).expect(text).mean();
    // 0.15 × 5 kB + 0.05 × 15 kB + 0.1 × 25 kB + 0.1 × 40 kB + 0.13 × 65 kB + 0.07 × 140 kB + 0.1 × 600 kB
    // + 0.1 × 1.5 MB + 0.1 × 3.5 MB + 0.07 × 7.5 MB + 0.03 × 20 MB.
    assert!((mean("web-search") - 1_711_250.0).abs() < 1e-3, "{}", mean("web-search"));
    // 0.1 × (90 + 198 + 388 + 730 + 1000 + 1485 + 2515 + 6580 + 205 000) + 0.05 × 1.78 MB + 0.03 × 51.58 MB
    // + 0.02 × 550 MB.
    assert!((mean("data-mining") - 12_658_198.6).abs() < 1e-3, "{}", mean("data-mining"));
}

#[test]
fn wrong_words_are_explained() {
    let sizes = |text: &str| Distribution::of_sizes(text).expect_err(text);
    for (text, part) in [
        ("", "there is no distribution ``"),
        ("zipf", "write it as in 10k, exponential,mean=50k"),
        ("10k,mean=3", "one value has no parameters"),
        ("10q", "an unknown unit"),
        ("pareto,mean=50k", "a shape above 1"),
        ("pareto,mean=50k,shape=1", "a shape above 1"),
        ("pareto,mean=50k,shape=nan", "not a number"),
        ("exponential", "needs a mean above 0"),
        ("exponential,mean=0", "needs a mean above 0"),
        ("exponential,mean=1k,shape=2", "exponential has mean, each once"),
        ("lognormal,mean=1k,mean=2k,sigma=1", "lognormal has mean and sigma, each once"),
        ("lognormal,mean=1k,sigma=11", "a sigma from 0 to 10"),
    ] {
        assert!(sizes(text).contains(part), "{text}: {}", sizes(text));
    }
    assert!(Distribution::of_times("web-search").is_err(), "sizes are no times");
    assert_eq!(Distribution::of_times("1s"), Ok(Distribution::Fixed(1_000_000_000)));
}

#[test]
fn wrong_points_are_refused_by_line() {
    let why = |text: &str| Cdf::parse(text).expect_err(text);
    for (text, part) in [
        ("", "the last share is 0"),
        ("100 0.5\n", "the last share is 0.5"),
        ("100 0.5\nx 1\n", "line 2: `x` is not a number"),
        ("100\n", "line 1: a value and a share"),
        ("100 0.5\n50 1\n", "point 2: values and shares rise"),
        ("100 0.5\n200 0.4\n", "point 2: values and shares rise"),
        ("100 -1\n200 1\n", "point 1: -1 is not a share"),
        ("1e17 1\n", "point 1: 100000000000000000 is not a value"),
        ("0 1\n", "all values are 0"),
        ("100 inf\n", "line 1: `inf` is not a number"),
    ] {
        assert!(why(text).contains(part), "{text:?}: {}", why(text));
    }
    let percent = Cdf::parse("0 0\n# a remark\n\n10,50 # half\r\n20\t100\n").expect("points");
    assert_eq!(percent, Cdf::new(vec![(0.0, 0.0), (10.0, 0.5), (20.0, 1.0)]).expect("points"));
}

proptest! {
    /// Any text is read or refused. The quantiles of a distribution that was read rise and lie between its
    /// ends, and its mean is the mean of its quantiles.
    #[test]
    fn any_points_make_a_distribution(points in prop::collection::vec((0_u32..100_000, 0_u32..=100), 1..20)) {
        let (mut values, mut shares): (Vec<u32>, Vec<u32>) = points.into_iter().unzip();
        values.sort_unstable();
        shares.sort_unstable();
        let last = shares.len() - 1;
        (values[last], shares[last]) = (values[last].max(1), 100);
        let lines: String = values.iter().zip(&shares).map(|(v, s)| format!("{v} {s}\n")).collect();
        let cdf = Cdf::parse(&lines).expect("rising points");
        let at = |step: u32| cdf.quantile((f64::from(step) + 0.5) / 10_000.0);
        let all: Vec<f64> = (0..10_000).map(at).collect();
        prop_assert!(all.windows(2).all(|pair| pair[0] <= pair[1]));
        prop_assert!(all[0] >= f64::from(values[0]) && all[9_999] <= f64::from(values[last]));
        let mean = all.iter().sum::<f64>() / 10_000.0;
        // The middle of a step is exact where the function is linear, and off by half a step at a corner.
        let tolerance = f64::from(values[last]) * shares.len() as f64 / 20_000.0;
        prop_assert!((mean - cdf.mean()).abs() <= tolerance, "{mean} {}", cdf.mean());
    }

    #[test]
    fn any_words_are_read_or_refused(text in "[a-z0-9,=. -]{0,40}") {
        if let Ok(of) = Distribution::of_sizes(&text) {
            of.draw(&mut Rng::new(1));
            prop_assert!(of.mean() >= 0.0);
        }
        let _ = Cdf::parse(&text);
    }
}

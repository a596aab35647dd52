//! The points of a design, by number.

use goodqueue::Rng;
use goodqueue_experiment::{AxisValue, Design, Sweep};

/// The points of a sweep. A point is made when it is asked for, so a million of them take no memory (those of
/// a Latin hypercube four bytes for each axis).
#[derive(Clone, Debug)]
pub(crate) struct Points {
    count: u64,
    /// Of a Latin hypercube: for each axis, the part in which each point is.
    parts: Vec<Vec<u32>>,
    /// Of points that someone else chose: where each is along each axis, from 0 to 1.
    chosen: Vec<Vec<f64>>,
}

/// A share from 0 to 1, without 1.
fn share(rng: &mut Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// The random stream of a point along an axis.
fn stream(sweep: &Sweep, point: u64, axis: usize) -> Rng {
    let mut root = Rng::stream(sweep.seed, axis as u64, "sweep axis");
    Rng::stream(root.next_u64(), point, "sweep point")
}

impl Points {
    pub(crate) fn of(sweep: &Sweep) -> Points {
        let count = match sweep.design {
            Design::Grid => {
                let lengths = sweep.axes.iter().map(|axis| axis.len().unwrap_or(1) as u64);
                lengths.fold(1, u64::saturating_mul)
            }
            Design::Bayes => 0,
            Design::Random | Design::Latin | Design::Halving => sweep.points,
        };
        let parts = match sweep.design {
            Design::Latin | Design::Halving => {
                (0..sweep.axes.len()).map(|axis| permutation(sweep, axis, count)).collect()
            }
            Design::Grid | Design::Random | Design::Bayes => Vec::new(),
        };
        Points { count, parts, chosen: Vec::new() }
    }

    /// A further point, and its number.
    pub(crate) fn choose(&mut self, shares: Vec<f64>) -> u64 {
        self.chosen.push(shares);
        self.count += 1;
        self.count - 1
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The values of point `number`, one for each axis. The last axis of a grid varies fastest.
    pub(crate) fn values(&self, sweep: &Sweep, number: u64) -> Vec<AxisValue> {
        if sweep.design == Design::Grid {
            return self
                .steps(sweep, number)
                .iter()
                .zip(&sweep.axes)
                .map(|(&step, axis)| axis.step(step))
                .collect();
        }
        let shares = self.shares(sweep, number);
        sweep.axes.iter().zip(shares).map(|(axis, share)| axis.at(share)).collect()
    }

    /// The number of the value along each axis of a grid.
    pub(crate) fn steps(&self, sweep: &Sweep, number: u64) -> Vec<usize> {
        let mut rest = number;
        let mut steps: Vec<usize> = sweep
            .axes
            .iter()
            .rev()
            .map(|axis| {
                let length = axis.len().unwrap_or(1).max(1) as u64;
                let step = rest % length;
                rest /= length;
                step as usize
            })
            .collect();
        steps.reverse();
        steps
    }

    /// Where a point of a design that is no grid is along each axis, from 0 to 1.
    pub(crate) fn shares(&self, sweep: &Sweep, number: u64) -> Vec<f64> {
        if let Some(chosen) = self.chosen.get(number as usize) {
            return chosen.clone();
        }
        let along = |axis: usize| {
            let drawn = share(&mut stream(sweep, number, axis));
            match self.parts.get(axis).and_then(|parts| parts.get(number as usize)) {
                Some(&part) => (f64::from(part) + drawn) / self.count as f64,
                None => drawn,
            }
        };
        (0..sweep.axes.len()).map(along).collect()
    }
}

/// The numbers below `count` in the random order of an axis (Fisher and Yates).
fn permutation(sweep: &Sweep, axis: usize, count: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..u32::try_from(count).unwrap_or(u32::MAX)).collect();
    let mut rng = Rng::stream(sweep.seed, axis as u64, "sweep latin");
    for last in (1..order.len()).rev() {
        order.swap(last, rng.below(last as u64 + 1) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn sweep(design: &str) -> Sweep {
        let text = format!(
            "test = 'rrul'\n[sweep]\n{design}\n[[sweep.axis]]\nkey = 'link.rate'\nfrom = '1mbit'\nto = '100mbit'\n\
             steps = 3\nscale = 'log'\n[[sweep.axis]]\nkey = 'link.rtt'\nvalues = ['10ms', '20ms']\n"
        );
        Sweep::parse(&text, "grid.toml", Path::new("")).expect("a sweep")
    }

    fn words(sweep: &Sweep, points: &Points, number: u64) -> String {
        let values = points.values(sweep, number);
        values.iter().map(|value| value.words.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_grid_has_each_value_with_each() {
        let sweep = sweep("");
        let points = Points::of(&sweep);
        let all: Vec<String> = (0..points.count()).map(|number| words(&sweep, &points, number)).collect();
        let expected =
            ["1mbit 10ms", "1mbit 20ms", "10mbit 10ms", "10mbit 20ms", "100mbit 10ms", "100mbit 20ms"];
        assert_eq!(all, expected);
    }

    #[test]
    fn a_latin_hypercube_has_one_point_in_each_part_of_each_axis() {
        let sweep = sweep("design = 'latin'\npoints = 40\nseed = 7");
        let points = Points::of(&sweep);
        for axis in 0..2 {
            let mut parts: Vec<u64> =
                (0..40).map(|number| (points.shares(&sweep, number)[axis] * 40.0) as u64).collect();
            parts.sort_unstable();
            assert_eq!(parts, (0..40).collect::<Vec<u64>>());
        }
        // The axes are not ordered alike.
        let both = |number| points.shares(&sweep, number);
        assert!((0..40).any(|number| (both(number)[0] - both(number)[1]).abs() > 0.3));
    }

    #[test]
    fn a_random_design_repeats_with_its_seed_alone() {
        let [one, same, other] = [7, 7, 8].map(|seed| {
            let sweep = sweep(&format!("design = 'random'\npoints = 30\nseed = {seed}"));
            let points = Points::of(&sweep);
            (0..30).map(|number| words(&sweep, &points, number)).collect::<Vec<_>>()
        });
        assert_eq!(one, same);
        assert_ne!(one, other);
        let halves = one.iter().filter(|words| words.ends_with("10ms")).count();
        assert!((6..=24).contains(&halves), "{halves} of 30 are in the lower half");
    }
}

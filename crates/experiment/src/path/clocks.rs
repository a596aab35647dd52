//! One-way delays between two hosts whose clocks nobody has set alike. What the clocks do is estimated from
//! the delays of both directions. The offset cannot be known: it is chosen so that the least delays up and
//! down are equal. What a load adds to a delay does not depend on that choice.

use goodqueue_path::clocks::{Clocks, Point, Step, clocks};
use goodqueue_probe::Sample;

/// The delays of a run's probes, by clocks that differ.
#[derive(Debug, Default)]
pub(super) struct Delays {
    points: Vec<Point>,
}

/// The correction of the delays of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Correction {
    /// The clocks are followed.
    Followed(Clocks),
    /// The run is too short for that: how far the server's clock is ahead, nanoseconds.
    Constant(i64),
}

impl Delays {
    /// Takes note of a probe that came back.
    pub(super) fn note(&mut self, sample: &Sample) {
        if let Sample::Echo { sent, up, down, duplicate: false, .. } = *sample {
            self.points.push(Point { t: sent, up, down });
        }
    }

    /// The correction to subtract.
    pub(super) fn correction(mut self) -> Correction {
        self.points.sort_by_key(|point| point.t);
        let least = |of: fn(&Point) -> i64| self.points.iter().map(of).min().unwrap_or(0);
        let constant = || least(|point| point.up).saturating_sub(least(|point| point.down)) / 2;
        clocks(&self.points).map_or_else(|| Correction::Constant(constant()), Correction::Followed)
    }
}

impl Correction {
    /// How far the server's clock is ahead at `t`, nanoseconds: what delays up are too long by, and delays
    /// down too short.
    pub(crate) fn ahead(&self, t: i64) -> i64 {
        match self {
            Correction::Followed(clocks) => clocks.ahead(t),
            Correction::Constant(ahead) => *ahead,
        }
    }

    /// When one of the two clocks was set.
    pub(super) fn steps(&self) -> &[Step] {
        match self {
            Correction::Followed(clocks) => &clocks.steps,
            Correction::Constant(_) => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_shows_in_the_direction_that_it_delays() {
        const MS: i64 = 1_000_000;
        // The server's clock is 3 s ahead and 50 ppm fast; both ways take 10 ms, uploads wait 40 ms longer.
        let mut delays = Delays::default();
        let samples: Vec<Sample> = (0..1500)
            .map(|seq: u32| {
                let t = i64::from(seq) * 10 * MS - 5_000 * MS;
                let ahead = 3_000 * MS + t / 20_000;
                let rise = if (1_000 * MS..9_000 * MS).contains(&t) { 40 * MS } else { 0 };
                let (up, down) = (10 * MS + rise + ahead, 10 * MS - ahead);
                let (probe, sent, reordered, duplicate) = (0, t, false, false);
                Sample::Echo { probe, seq, sent, rtt: up + down, up, down, reordered, duplicate }
            })
            .collect();
        samples.iter().for_each(|sample| delays.note(sample));
        let correction = delays.correction();
        for sample in samples {
            let Sample::Echo { sent, up, down, rtt, .. } = sample else { continue };
            let (up, down) = (up - correction.ahead(sent), down + correction.ahead(sent));
            assert!((down - 10 * MS).abs() < MS / 100, "{sent}: {down}");
            assert_eq!(up + down, rtt);
        }
    }
}

//! When probes are due.

use std::sync::Arc;

use goodqueue::{Rng, Span};

/// Most lines of a file of gaps.
const MOST_LINES: usize = 1_000_000;

/// The times between probes.
#[derive(Clone, Debug)]
pub enum Schedule {
    /// Always the interval.
    Isochronous,
    /// Times from an exponential distribution with the interval as its mean: the probes are a Poisson
    /// process, which is never in step with what it samples (RFC 2330, section 11.1). It holds the seed of
    /// the draws.
    Poisson(u64),
    /// Times from a file, repeated.
    Trace(Gaps),
}

/// Times between packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gaps(Arc<[Span]>);

/// Why a text is not a list of gaps.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GapsError {
    /// No line has a time.
    #[error("it has no times")]
    Empty,
    /// This line, from 1, is not a time.
    #[error("line {0}: not a time with a unit, such as 20ms")]
    Time(usize),
    /// This line, from 1, is not a whole number of milliseconds, although the first one is.
    #[error("line {0}: not a whole number of milliseconds; the first line is one, as in Mahimahi's traces")]
    Millis(usize),
    /// The value of this line, from 1, is below that of the previous line.
    #[error("line {0}: below the line before it")]
    Descending(usize),
    /// There are too many lines.
    #[error("more than {MOST_LINES} lines")]
    Long,
    /// All times are zero.
    #[error("it takes no time")]
    NoTime,
}

impl Gaps {
    /// Reads a file: a time with its unit on each line, or the moments of a Mahimahi trace, whole numbers of
    /// milliseconds that never descend. Empty lines and those that begin with `#` are ignored.
    ///
    /// # Errors
    /// [`GapsError`].
    pub fn parse(text: &str) -> Result<Gaps, GapsError> {
        let lines = (1..).zip(text.lines().map(str::trim));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let (mut gaps, mut before, mut is_mahimahi) = (Vec::new(), 0, None);
        for (number, line) in lines {
            if gaps.len() >= MOST_LINES {
                return Err(GapsError::Long);
            }
            let millis = line.parse::<u64>().ok();
            if *is_mahimahi.get_or_insert(millis.is_some()) {
                let at = millis.filter(|&at| at <= u64::from(u32::MAX)).ok_or(GapsError::Millis(number))?;
                gaps.push(Span::from_millis(at.checked_sub(before).ok_or(GapsError::Descending(number))?));
                before = at;
            } else {
                let gap = line.parse().ok().filter(|gap: &Span| *gap <= Span::from_secs(3600));
                gaps.push(gap.ok_or(GapsError::Time(number))?);
            }
        }
        match gaps.iter().map(|gap| gap.0).sum::<u64>() {
            _ if gaps.is_empty() => Err(GapsError::Empty),
            0 => Err(GapsError::NoTime),
            _ => Ok(Gaps(gaps.into())),
        }
    }

    /// The mean gap, at least 1 ns.
    #[must_use]
    pub fn mean(&self) -> Span {
        Span((self.0.iter().map(|gap| gap.0).sum::<u64>() / self.0.len() as u64).max(1))
    }
}

/// The moments at which probes are due.
#[derive(Clone, Debug)]
pub(super) struct Due {
    schedule: Schedule,
    draws: Rng,
    interval: u64,
    /// Number of the next probe.
    index: u64,
    /// Nanoseconds from the start until it is due.
    at: u64,
}

impl Due {
    pub(super) fn new(schedule: Schedule, interval: u64) -> Due {
        let seed = if let Schedule::Poisson(seed) = schedule { seed } else { 0 };
        Due { schedule, draws: Rng::stream(seed, 0, "schedule"), interval, index: 0, at: 0 }
    }

    /// Nanoseconds from the start until the next probe is due.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Moves on to the following probe.
    pub(super) fn advance(&mut self) {
        let gap = match &self.schedule {
            Schedule::Isochronous => self.interval,
            Schedule::Poisson(_) => exponential(&mut self.draws, self.interval),
            Schedule::Trace(Gaps(gaps)) => gaps[usize::try_from(self.index).unwrap_or(0) % gaps.len()].0,
        };
        self.index += 1;
        self.at = self.at.saturating_add(gap);
    }
}

/// A draw from the exponential distribution with this mean, by inversion.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn exponential(draws: &mut Rng, mean: u64) -> u64 {
    // From 2^-53 to 1.
    let uniform = ((draws.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    (-uniform.ln() * mean as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn moments(schedule: Schedule, count: usize) -> Vec<u64> {
        let mut due = Due::new(schedule, 1_000_000);
        let mut step = || {
            let at = due.at();
            due.advance();
            at
        };
        (0..count).map(|_| step()).collect()
    }

    #[test]
    fn both_formats_are_read() {
        let ms = |gaps: &[u64]| Gaps(gaps.iter().map(|&gap| Span::from_millis(gap)).collect());
        assert_eq!(Gaps::parse("# a call\n20ms\n\n 0ms\n40ms\n"), Ok(ms(&[20, 0, 40])));
        assert_eq!(Gaps::parse("3\n3\n10\n"), Ok(ms(&[3, 0, 7])));
        assert_eq!(ms(&[20, 0, 40]).mean(), Span::from_millis(20));
        for (text, error) in [
            ("", GapsError::Empty),
            ("#\n", GapsError::Empty),
            ("20ms\n20\n", GapsError::Time(2)),
            ("20ms\n-1ms\n", GapsError::Time(2)),
            ("\n3\nx\n", GapsError::Millis(3)),
            ("3\n2\n", GapsError::Descending(2)),
            ("0ms\n0ms\n", GapsError::NoTime),
            ("0\n0\n", GapsError::NoTime),
        ] {
            assert_eq!(Gaps::parse(text), Err(error), "{text:?}");
        }
        assert_eq!(Gaps::parse(&"1\n".repeat(MOST_LINES + 1)), Err(GapsError::Long));
    }

    #[test]
    fn probes_are_due_as_the_schedule_says() {
        const MS: u64 = 1_000_000;
        assert_eq!(moments(Schedule::Isochronous, 4), [0, MS, 2 * MS, 3 * MS]);
        let gaps = Gaps::parse("5ms\n0ms\n1ms\n").unwrap();
        let trace = moments(Schedule::Trace(gaps), 6);
        assert_eq!(trace, [0, 5 * MS, 5 * MS, 6 * MS, 11 * MS, 11 * MS]);
    }

    /// In an exponential distribution, mean and standard deviation are equal, and half of the draws are below
    /// ln 2 times the mean; the tolerance is 5 standard errors of 100 000 draws.
    #[test]
    #[allow(clippy::cast_precision_loss)]
    fn poisson_gaps_are_exponential() {
        let at = moments(Schedule::Poisson(7), 100_001);
        let gaps: Vec<f64> = at.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6).collect();
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / n).sqrt();
        let below = gaps.iter().filter(|&&gap| gap < std::f64::consts::LN_2).count() as f64 / n;
        assert!((mean - 1.0).abs() < 5.0 / n.sqrt(), "{mean}");
        // The standard error of the deviation is sqrt((9 - 1) / 4 / n).
        assert!((deviation - 1.0).abs() < 5.0 * (2.0 / n).sqrt(), "{deviation}");
        assert!((below - 0.5).abs() < 2.5 / n.sqrt(), "{below}");
        assert_eq!(at, moments(Schedule::Poisson(7), 100_001), "the seed decides");
        assert_ne!(at, moments(Schedule::Poisson(8), 100_001));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(#|[0-9a-z. -]{0,12}\n){0,8}") {
            if let Ok(gaps) = Gaps::parse(&text) {
                prop_assert!(gaps.mean() > Span(0));
            }
        }
    }
}

//! What a controller decided, and why.

use core::fmt;

use crate::{Direction, Nanos, Rate, Span};

/// What one input led to: at most one decision for each direction.
pub type Decisions = [Option<Decision>; 2];

/// A new rate of a shaper, or a reflector put out of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// When.
    pub at: Nanos,
    /// Whose shaper.
    pub direction: Direction,
    /// The rate before.
    pub from: Rate,
    /// The rate from now on. It can be the same.
    pub to: Rate,
    /// Why.
    pub cause: Cause,
}

/// Why a controller decided something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Packets wait on the link: the rate is above that of the link.
    Delay {
        /// By how much delay rose above the baseline, in the lower one of the last two samples.
        rise: Span,
        /// The rise that is still accepted.
        threshold: Span,
        /// The rate that the link has, by what passed and how the delay changed.
        link: Rate,
        /// The reflector of the last sample.
        reflector: usize,
    },
    /// The queue on the link has had time to drain: back to just below the rate of the link.
    Drained {
        /// That rate.
        link: Rate,
    },
    /// The traffic fills the rate and delay is low: perhaps the link has become faster.
    Room {
        /// What passes.
        load: Rate,
        /// By how much delay rose.
        rise: Span,
        /// The rise that is still accepted.
        threshold: Span,
    },
    /// Load is low; what was known of the link becomes old.
    Idle {
        /// What passes.
        load: Rate,
    },
    /// Nothing has come back for this time.
    Silence {
        /// The time since the last answer.
        time: Span,
    },
    /// Answers have come back after a silence.
    Back {
        /// The time without an answer.
        time: Span,
    },
    /// Lower rates did not lower the delay, so the path has become longer: a new baseline.
    LongerPath {
        /// By how much.
        rise: Span,
    },
    /// A reflector did not answer, while others did: it is out of use.
    Unanswered {
        /// The reflector.
        reflector: usize,
        /// Lost probes of the last ten.
        lost: u32,
    },
    /// The delays of a reflector were unlike those of the others: it is out of use.
    Unlike {
        /// The reflector.
        reflector: usize,
        /// How far its rise is from the median of the others, smoothed.
        by: Span,
    },
}

impl fmt::Display for Decision {
    /// One sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (way, from, to) = (self.direction.name(), Mbit(self.from), Mbit(self.to));
        if self.from != self.to {
            write!(f, "{way} {from} -> {to}: ")?;
        } else {
            write!(f, "{way} stays at {to}: ")?;
        }
        match self.cause {
            Cause::Delay { rise, threshold, link, reflector } => write!(
                f,
                "delay rose by {} (above {}, last seen by reflector {reflector}), and the link carries {}",
                Millis(rise),
                Millis(threshold),
                Mbit(link)
            ),
            Cause::Drained { link } => {
                write!(f, "the queue has drained; just below the {} of the link", Mbit(link))
            }
            Cause::Room { load, rise, threshold } => write!(
                f,
                "{} of traffic fill the rate, and delay rose by only {} (of {} accepted)",
                Mbit(load),
                Millis(rise),
                Millis(threshold)
            ),
            Cause::Idle { load } => write!(f, "only {} of traffic for a while", Mbit(load)),
            Cause::Silence { time } => write!(f, "no answer for {}", Millis(time)),
            Cause::Back { time } => write!(f, "answers again after {}", Millis(time)),
            Cause::LongerPath { rise } => {
                write!(f, "delay stays {} higher at lower rates, so the path is longer now", Millis(rise))
            }
            Cause::Unanswered { reflector, lost } => {
                write!(f, "reflector {reflector} lost {lost} of 10 probes and is out of use")
            }
            Cause::Unlike { reflector, by } => {
                write!(f, "reflector {reflector} differs by {} from the others and is out of use", Millis(by))
            }
        }
    }
}

/// A rate for people, with one decimal and without floating point.
struct Mbit(Rate);

impl fmt::Display for Mbit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = self.0.0.saturating_add(50_000) / 100_000;
        write!(f, "{}.{} Mbit/s", tenths / 10, tenths % 10)
    }
}

/// A time for people, with one decimal and without floating point.
struct Millis(Span);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = self.0.0.saturating_add(50_000) / 100_000;
        write!(f, "{}.{} ms", tenths / 10, tenths % 10)
    }
}

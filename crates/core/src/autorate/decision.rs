//! The decisions of a controller and their reasons.

use core::fmt;

use crate::{Direction, Nanos, Rate, Span};

/// The result of one input: at most one decision for each direction.
pub type Decisions = [Option<Decision>; 2];

/// A new rate of a shaper, or a reflector taken out of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// When.
    pub at: Nanos,
    /// The direction of the shaper.
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
        /// The rise of the delay above the baseline: the lower of the last two samples.
        rise: Span,
        /// The largest rise that is accepted.
        threshold: Span,
        /// The rate of the link, computed from the traffic that passed and the change in delay.
        link: Rate,
        /// The reflector of the last sample.
        reflector: usize,
    },
    /// The queue on the link has had time to drain: back to just below the rate of the link.
    Drained {
        /// That rate.
        link: Rate,
    },
    /// The traffic fills the rate, and delay is low. The link may have become faster.
    Room {
        /// The traffic that passes.
        load: Rate,
        /// The rise of the delay.
        rise: Span,
        /// The largest rise that is accepted.
        threshold: Span,
    },
    /// Load is low, so what is known about the link goes out of date.
    Idle {
        /// The traffic that passes.
        load: Rate,
    },
    /// Nothing has come back for this long.
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
        /// The rise of the delay.
        rise: Span,
    },
    /// A reflector did not answer while others did. It is taken out of use.
    Unanswered {
        /// The reflector.
        reflector: usize,
        /// How many of the last ten probes were lost.
        lost: u32,
    },
    /// The delays of a reflector were unlike those of the others. It is taken out of use.
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

/// A rate for human readers, with one decimal and without floating point.
struct Mbit(Rate);

impl fmt::Display for Mbit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = self.0.0.saturating_add(50_000) / 100_000;
        write!(f, "{}.{} Mbit/s", tenths / 10, tenths % 10)
    }
}

/// A time for human readers, with one decimal and without floating point.
struct Millis(Span);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = self.0.0.saturating_add(50_000) / 100_000;
        write!(f, "{}.{} ms", tenths / 10, tenths % 10)
    }
}

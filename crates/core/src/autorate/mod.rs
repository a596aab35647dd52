//! Follows a link whose rate varies: raises and lowers a shaper's rate by the delay to several reflectors and
//! by what the link carries.
//!
//! A [`Controller`] is a state machine without a clock or a socket. It allocates nothing, and its memory does
//! not grow. The caller sends probes, reads byte counters, and sets the shapers to [`Controller::rate`]:
//!
//! 1. [`Controller::traffic`] at equal intervals of 10 to 100 ms, and before each sample if that is cheap;
//! 2. [`Controller::sample`] for each answer to a probe, [`Controller::lost`] for each probe without one;
//! 3. after each of these calls, set the shapers to the rates of the [`Decisions`] that it returned.
//!
//! Probes go in turn to the reflectors for which [`Controller::uses`] is true, about 20 a second in all.
//!
//! [`Follow`] is ours. [`CakeAutorate`] has the published rules and defaults of cake-autorate, for
//! comparison.
//!
//! ```
//! use goodqueue::autorate::{Controller, Delays, Follow, Limits, Params, Sample, Traffic};
//! use goodqueue::{Direction, Nanos, Rate, Span};
//!
//! let limits = Limits { min: Rate(1_000_000), start: Rate(10_000_000), max: Rate(50_000_000) };
//! let mut follow = Follow::new([limits; 2], 4, Params::default());
//! let sent = Nanos::ZERO + Span::from_millis(1000);
//! let now = sent + Span::from_millis(20);
//! follow.traffic(now, Traffic { bytes: [60_000, 2_000], waits: [None; 2] });
//! let delays = Delays::OneWay { up: 8_000_000, down: 12_000_000 };
//! for decision in follow.sample(now, Sample { reflector: 0, sent, delays }).into_iter().flatten() {
//!     println!("{decision}");
//! }
//! assert_eq!(follow.rate(Direction::Up), Rate(10_000_000));
//! ```

mod cake_autorate;
mod carried;
mod decision;
mod follow;
mod reflectors;

pub use cake_autorate::CakeAutorate;
pub use decision::{Cause, Decision, Decisions};
pub use follow::{Follow, Params};
pub use reflectors::MOST_REFLECTORS;

use crate::{Direction, Nanos, Rate, Span};

/// The range of the shaper's rate in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The lowest rate, above zero. The shaper is set to it while nothing comes back.
    pub min: Rate,
    /// The rate at the beginning, and after a time without load. Choose one that the link nearly always has.
    pub start: Rate,
    /// The highest rate that the link can ever have, or that is wanted.
    pub max: Rate,
}

impl Limits {
    /// `rate`, or the limit that is nearest to it.
    fn clamp(self, rate: u64) -> u64 {
        rate.min(self.max.0).max(self.min.0).max(1)
    }
}

/// Delays of an answer, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delays {
    /// To the reflector and back, measured with two clocks whose difference is unknown and can change. Only
    /// the sum is a real time, so each of the two can be negative.
    OneWay {
        /// To the reflector.
        up: i64,
        /// From the reflector.
        down: i64,
    },
    /// There and back.
    RoundTrip(Span),
}

impl Delays {
    /// There and back, ns. Clock offsets do not affect it.
    fn round_trip(self) -> i64 {
        match self {
            Delays::OneWay { up, down } => up.saturating_add(down).max(0),
            Delays::RoundTrip(time) => i64::try_from(time.0).unwrap_or(i64::MAX),
        }
    }
}

/// The answer to a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The number of the reflector, from 0.
    pub reflector: usize,
    /// When the probe was sent, by the caller's clock.
    pub sent: Nanos,
    /// The delays that it measured.
    pub delays: Delays,
}

/// The traffic that passed the shapers since the last call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes in the order of [`Direction::BOTH`]: up, those that left the shaper; down, those that arrived
    /// from the link.
    pub bytes: [u64; 2],
    /// How long packets wait in the shaper's own queue now, if that is known. Such a queue shows that the
    /// shaper limits the traffic.
    pub waits: [Option<Span>; 2],
}

/// Sets the rates of two shapers.
pub trait Controller {
    /// An answer came at `now`.
    fn sample(&mut self, now: Nanos, sample: Sample) -> Decisions;

    /// A probe to a reflector was not answered within the time that the caller waits (about a second).
    fn lost(&mut self, now: Nanos, reflector: usize) -> Decisions;

    /// The traffic that passed the shapers since the last call.
    fn traffic(&mut self, now: Nanos, traffic: Traffic) -> Decisions;

    /// The present rate of a shaper.
    fn rate(&self, direction: Direction) -> Rate;

    /// Whether to send probes to this reflector.
    fn uses(&self, reflector: usize) -> bool;
}

/// The index of a direction in arrays.
const fn index(direction: Direction) -> usize {
    match direction {
        Direction::Up => 0,
        Direction::Down => 1,
    }
}

/// `value` times `share` thousandths.
#[allow(clippy::cast_possible_truncation)]
const fn thousandths(value: u64, share: u64) -> u64 {
    let product = value as u128 * share as u128 / 1000;
    if product > u64::MAX as u128 { u64::MAX } else { product as u64 }
}

/// The rate at which `bytes` take `time`; the largest rate if `time` is 0.
#[allow(clippy::cast_possible_truncation)]
const fn rate_of(bytes: u64, time: Span) -> u64 {
    if time.0 == 0 {
        return u64::MAX;
    }
    let rate = bytes as u128 * 8_000_000_000 / time.0 as u128;
    if rate > u64::MAX as u128 { u64::MAX } else { rate as u64 }
}

/// A span of time as a difference, ns.
fn signed(span: Span) -> i64 {
    i64::try_from(span.0).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;

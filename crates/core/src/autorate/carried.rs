//! The traffic that the shapers passed recently.

use super::rate_of;
use crate::{Direction, Nanos, Span};

/// Number of counter readings that are kept.
const KEPT: usize = 128;
/// Minimum time between two readings. So they go back 2.5 s, which is longer than a sample waits on most
/// links.
const SPACING: Span = Span::from_millis(20);

/// A reading of both byte counters.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    at: Nanos,
    total: [u64; 2],
}

/// Byte counters over time.
#[derive(Clone, Debug)]
pub(super) struct Carried {
    readings: [Reading; KEPT],
    /// Number of readings in use, at least one.
    len: usize,
    /// The index of the latest one.
    last: usize,
}

impl Carried {
    pub(super) const fn new() -> Carried {
        Carried { readings: [Reading { at: Nanos::ZERO, total: [0; 2] }; KEPT], len: 1, last: 0 }
    }

    /// Adds `bytes` at `now`. The new reading replaces the latest one if that is close to the one before it.
    pub(super) fn add(&mut self, now: Nanos, bytes: [u64; 2]) {
        let last = self.readings[self.last];
        let total = [0, 1].map(|way| last.total[way].saturating_add(bytes[way]));
        let before = self.readings[(self.last + KEPT - 1) % KEPT];
        if self.len == 1 || last.at.since(before.at) >= SPACING {
            self.last = (self.last + 1) % KEPT;
            self.len = (self.len + 1).min(KEPT);
        }
        self.readings[self.last] = Reading { at: now.max(last.at), total };
    }

    /// The counter at `time`, interpolated linearly between the readings around it.
    fn total(&self, direction: Direction, time: Nanos) -> u64 {
        let way = super::index(direction);
        let mut later = self.readings[self.last];
        for back in 0..self.len {
            let earlier = self.readings[(self.last + KEPT - back) % KEPT];
            if earlier.at <= time {
                let (passed, length) = (time.since(earlier.at).0, later.at.since(earlier.at).0);
                let bytes = later.total[way] - earlier.total[way];
                let part = u128::from(bytes) * u128::from(passed.min(length)) / u128::from(length.max(1));
                return earlier.total[way] + u64::try_from(part).unwrap_or(u64::MAX);
            }
            later = earlier;
        }
        later.total[way]
    }

    /// Bytes that passed from `from` to `to`.
    pub(super) fn between(&self, direction: Direction, from: Nanos, to: Nanos) -> u64 {
        self.total(direction, to).saturating_sub(self.total(direction, from))
    }

    /// The rate over the last `time`, bit/s.
    pub(super) fn rate(&self, direction: Direction, now: Nanos, time: Span) -> u64 {
        let from = Nanos(now.0.saturating_sub(time.0));
        rate_of(self.between(direction, from, now), now.since(from))
    }
}

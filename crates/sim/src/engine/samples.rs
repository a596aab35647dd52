//! The measurements of probes, browsers, players, tests of responsiveness, calls and games.

use goodqueue::Nanos;
use goodqueue_probe::Sample;

/// Samples since the last time that they were taken.
#[derive(Debug)]
pub(crate) struct Samples {
    list: Vec<Sample>,
    /// The zero of the times in samples.
    origin: Nanos,
}

impl Samples {
    pub(super) fn new(origin: Nanos) -> Samples {
        Samples { list: Vec::new(), origin }
    }

    pub(super) fn push(&mut self, sample: Sample) {
        self.list.push(sample);
    }

    pub(super) fn take(&mut self) -> std::vec::Drain<'_, Sample> {
        self.list.drain(..)
    }

    pub(super) fn origin(&self) -> Nanos {
        self.origin
    }

    /// A time as in samples: nanoseconds since the origin.
    pub(super) fn time(&self, at: Nanos) -> i64 {
        at.0.cast_signed().wrapping_sub(self.origin.0.cast_signed())
    }
}

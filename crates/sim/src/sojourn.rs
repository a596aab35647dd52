//! How long packets waited at a link: exact, and only where somebody asks for it.

use goodqueue::{Histogram, Nanos};

/// The sojourn times of one link's packets. A sojourn is the time from a packet's arrival at the queue until
/// the line begins it: the time in the queue, and in the device ring below it; on the air until the first
/// exchange that carries it begins. It counts where that is within the window. Packets that are dropped have
/// none.
#[derive(Clone, Debug)]
pub(crate) struct Sojourn {
    from: Nanos,
    to: Nanos,
    pub(crate) histogram: Histogram,
}

impl Sojourn {
    /// Of packets that leave from `from` on and before `to`.
    pub(crate) fn new(from: Nanos, to: Nanos) -> Sojourn {
        Sojourn { from, to, histogram: Histogram::default() }
    }

    /// The line begins a packet that arrived at `entered`.
    pub(crate) fn note(&mut self, entered: Nanos, started: Nanos) {
        if self.from <= started && started < self.to {
            self.histogram.record(started.since(entered));
        }
    }
}

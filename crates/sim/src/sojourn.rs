//! How long packets waited at a link: exact, and measured only on request.

use goodqueue::{Histogram, Nanos};

/// The sojourn times of one link's packets. A sojourn time is the time from a packet's arrival at the queue
/// until the line begins to send it: in the queue, and in the device ring below. On the air it ends when the
/// first exchange with the packet begins. It is counted if its end is within the window. Dropped packets have
/// none.
#[derive(Clone, Debug)]
pub(crate) struct Sojourn {
    from: Nanos,
    to: Nanos,
    pub(crate) histogram: Histogram,
}

impl Sojourn {
    /// Counts packets that leave at `from` or later, and before `to`.
    pub(crate) fn new(from: Nanos, to: Nanos) -> Sojourn {
        Sojourn { from, to, histogram: Histogram::default() }
    }

    /// Notes that the line begins a packet that arrived at `entered`.
    pub(crate) fn note(&mut self, entered: Nanos, started: Nanos) {
        if self.from <= started && started < self.to {
            self.histogram.record(started.since(entered));
        }
    }
}

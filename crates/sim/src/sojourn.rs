//! How long packets waited at a link: exact, and only where somebody asks for it.

use goodqueue::{Histogram, Nanos};

use crate::engine::Simulation;

/// The sojourn times of one link's packets. A sojourn is the time from a packet's arrival at the queue until the line
/// begins it: the time in the queue, and in the device ring below it. It counts where the line begins the packet within
/// the window. Packets that are dropped have none.
#[derive(Clone, Debug)]
pub(crate) struct Sojourn {
    from: Nanos,
    to: Nanos,
    pub(crate) histogram: Histogram,
}

impl Sojourn {
    /// The line begins a packet that arrived at `entered`.
    pub(crate) fn note(&mut self, entered: Nanos, started: Nanos) {
        if self.from <= started && started < self.to {
            self.histogram.record(started.since(entered));
        }
    }
}

impl Simulation {
    /// Measures from now on how long packets wait at link `index`, of those that its line begins from `from` on and
    /// before `to`. What is simulated stays the same. A link on the air has no line and measures nothing.
    pub fn measure_sojourn(&mut self, index: usize, from: Nanos, to: Nanos) {
        if let Some(link) = self.links.get_mut(index) {
            link.sojourn = Some(Box::new(Sojourn { from, to, histogram: Histogram::default() }));
        }
    }
}

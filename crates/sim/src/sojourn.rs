//! How long packets waited at a link: exact, and only where somebody asks for it.

use goodqueue::{Histogram, Nanos};

use crate::device::{AirEnds, Device};
use crate::engine::Simulation;

/// The sojourn times of one link's packets. A sojourn is the time from a packet's arrival at the queue until the line
/// begins it: the time in the queue, and in the device ring below it; on the air until the first exchange that carries it
/// begins. It counts where that is within the window. Packets that are dropped have none.
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

impl Simulation {
    /// Measures from now on how long packets wait at link `index`, of those that its line begins from `from` on and
    /// before `to`. What is simulated stays the same. Of a link on the air these are the packets of the device that it
    /// leaves from: [`crate::wifi::Radio::measure_sojourn`].
    pub fn measure_sojourn(&mut self, index: usize, from: Nanos, to: Nanos) {
        let Some(link) = self.links.get_mut(index) else { return };
        if let Some(Device::Air(ends)) = &link.device {
            let AirEnds { radio, from: device, .. } = *ends;
            return self.measure_radio_sojourn(radio, device, from, to);
        }
        link.sojourn = Some(Box::new(Sojourn::new(from, to)));
    }
}

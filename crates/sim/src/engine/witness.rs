//! What a simulation keeps of its own events, where it is asked to: marks of its hash, or the events
//! themselves.

use goodqueue::Nanos;

use super::Simulation;
use crate::agenda::Lane;
use crate::determinism::{MARK_EVERY, Trail};

/// Keeps what was asked for. Asks for nothing but one comparison for each event while it does not.
#[derive(Debug)]
pub(crate) struct Witness {
    /// Number of the next event that it wants to see.
    next: u64,
    seen: Seen,
}

#[derive(Debug)]
enum Seen {
    Nothing,
    Marks(Vec<u64>),
    Events { last: u64, events: Vec<Glimpse> },
}

/// An event as it is compared: equal ones had the same effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Glimpse {
    pub(crate) number: u64,
    pub(crate) at: Nanos,
    pub(crate) lane: Lane,
    /// Over all that happened up to its end.
    pub(crate) hash: u64,
}

impl Default for Witness {
    fn default() -> Witness {
        Witness { next: u64::MAX, seen: Seen::Nothing }
    }
}

impl Witness {
    /// Whether it wants to see event `number`.
    #[inline]
    pub(crate) fn wants(&self, number: u64) -> bool {
        number == self.next
    }

    #[cold]
    pub(crate) fn see(&mut self, glimpse: Glimpse) {
        match &mut self.seen {
            Seen::Nothing => {}
            Seen::Marks(marks) => {
                marks.push(glimpse.hash);
                self.next += MARK_EVERY;
            }
            Seen::Events { last, events } => {
                events.push(glimpse);
                self.next = if glimpse.number < *last { self.next + 1 } else { u64::MAX };
            }
        }
    }
}

impl Simulation {
    /// Keeps a mark of the hash every [`MARK_EVERY`] events, for [`Simulation::trail`]. Call it before the
    /// first step.
    pub fn keep_trail(&mut self) {
        self.witness = Witness { next: MARK_EVERY, seen: Seen::Marks(Vec::new()) };
    }

    /// What happened, in brief; the marks only where [`Simulation::keep_trail`] was called.
    #[must_use]
    pub fn trail(&self) -> Trail {
        let marks = match &self.witness.seen {
            Seen::Marks(marks) => marks.clone(),
            _ => Vec::new(),
        };
        Trail { marks, events: self.events, hash: self.trace_hash(), until: self.now }
    }

    /// Keeps the events from number `first` to number `last`.
    pub(crate) fn keep_events(&mut self, first: u64, last: u64) {
        self.witness = Witness { next: first, seen: Seen::Events { last, events: Vec::new() } };
    }

    /// The events kept.
    pub(crate) fn kept_events(&self) -> &[Glimpse] {
        match &self.witness.seen {
            Seen::Events { events, .. } => events,
            _ => &[],
        }
    }
}

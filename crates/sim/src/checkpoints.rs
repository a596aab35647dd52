//! Records of a simulation's events, for comparing two runs.

use goodqueue::Nanos;

use crate::lanes::Lane;

/// Number of events between two checkpoints.
pub const CHECKPOINT_EVERY: u64 = 1 << 16;

/// The trace hash of a run at regular intervals and at its end. Equal checkpoints mean equal events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkpoints {
    /// The hash after every [`CHECKPOINT_EVERY`] events.
    pub(crate) hashes: Vec<u64>,
    pub(crate) events: u64,
    pub(crate) hash: u64,
    pub(crate) until: Nanos,
}

impl Checkpoints {
    /// Number of events.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The range of event numbers between the last equal checkpoint and the first unequal one. The runs
    /// diverge at one of them.
    pub(crate) fn parting(&self, other: &Checkpoints) -> (u64, u64) {
        let equal = self.hashes.iter().zip(&other.hashes).take_while(|(a, b)| a == b).count() as u64;
        (equal * CHECKPOINT_EVERY + 1, (equal + 1) * CHECKPOINT_EVERY)
    }
}

/// An event, as compared between two runs. Equal events had the same effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoggedEvent {
    pub(crate) number: u64,
    pub(crate) at: Nanos,
    pub(crate) lane: Lane,
    /// The hash over all that happened up to the end of this event.
    pub(crate) hash: u64,
}

/// Records what was requested. If nothing was, it costs one comparison per event.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// Number of the next event to record.
    next: u64,
    recorded: Recorded,
}

#[derive(Debug)]
enum Recorded {
    Nothing,
    Hashes(Vec<u64>),
    Events { last: u64, events: Vec<LoggedEvent> },
}

impl Default for Recorder {
    fn default() -> Recorder {
        Recorder { next: u64::MAX, recorded: Recorded::Nothing }
    }
}

impl Recorder {
    /// Records the hash every [`CHECKPOINT_EVERY`] events.
    pub(crate) fn of_hashes() -> Recorder {
        Recorder { next: CHECKPOINT_EVERY, recorded: Recorded::Hashes(Vec::new()) }
    }

    /// Records the events from number `first` to number `last`.
    pub(crate) fn of_events(first: u64, last: u64) -> Recorder {
        Recorder { next: first, recorded: Recorded::Events { last, events: Vec::new() } }
    }

    /// Whether event `number` is to be recorded.
    pub(crate) fn wants(&self, number: u64) -> bool {
        number == self.next
    }

    #[cold]
    pub(crate) fn record(&mut self, event: LoggedEvent) {
        match &mut self.recorded {
            Recorded::Nothing => {}
            Recorded::Hashes(hashes) => {
                hashes.push(event.hash);
                self.next += CHECKPOINT_EVERY;
            }
            Recorded::Events { last, events } => {
                events.push(event);
                self.next = if event.number < *last { self.next + 1 } else { u64::MAX };
            }
        }
    }

    pub(crate) fn hashes(&self) -> &[u64] {
        match &self.recorded {
            Recorded::Hashes(hashes) => hashes,
            _ => &[],
        }
    }

    pub(crate) fn events(&self) -> &[LoggedEvent] {
        match &self.recorded {
            Recorded::Events { events, .. } => events,
            _ => &[],
        }
    }
}

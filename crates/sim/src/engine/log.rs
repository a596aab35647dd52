//! The log: the trace hash and the counts of what happened.

use goodqueue::Nanos;

use crate::checkpoints::{Checkpoints, LoggedEvent, Recorder};
use crate::frame::Frame;
use crate::lanes::Lane;
use crate::trace::TraceHash;

/// A summary of what happened so far.
#[derive(Debug, Default)]
pub(crate) struct EventLog {
    hash: TraceHash,
    events: u64,
    /// Frames that reached the end of their path.
    deliveries: u64,
    recorder: Recorder,
}

impl EventLog {
    pub(super) fn begin_event(&mut self, now: Nanos, lane: Lane) {
        self.events += 1;
        self.hash.mix(now.0 ^ u64::from(lane) << 44);
    }

    pub(super) fn end_event(&mut self, now: Nanos, lane: Lane) {
        if self.recorder.wants(self.events) {
            self.recorder.record(LoggedEvent { number: self.events, at: now, lane, hash: self.hash() });
        }
    }

    /// A frame has reached the end of its path.
    pub(super) fn deliver(&mut self, frame: &Frame) {
        self.deliveries += 1;
        self.hash.mix(frame.segment.seq ^ (u64::from(frame.owner) << 40) ^ ((frame.kind as u64) << 60));
    }

    /// Events handled so far.
    pub(super) fn events(&self) -> u64 {
        self.events
    }

    /// Events and deliveries, counted together.
    pub(super) fn length(&self) -> u64 {
        self.events + self.deliveries
    }

    /// The hash over all events and deliveries so far.
    pub(super) fn hash(&self) -> u64 {
        self.hash.value()
    }

    pub(super) fn record(&mut self, recorder: Recorder) {
        self.recorder = recorder;
    }

    pub(super) fn checkpoints(&self, until: Nanos) -> Checkpoints {
        let hashes = self.recorder.hashes().to_vec();
        Checkpoints { hashes, events: self.events, hash: self.hash(), until }
    }

    pub(super) fn recorded_events(&self) -> &[LoggedEvent] {
        self.recorder.events()
    }
}

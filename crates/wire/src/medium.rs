//! The interface to a medium that both directions share and that decides when each frame leaves.

use goodqueue::{Backlog, Direction, Nanos, Reason, Span};

use crate::flows::FlowSpec;
use crate::lab::MAX_HOSTS;
use crate::pool::{DEFAULT_FRAMES, Frame};
use crate::{Error, Result};

/// A medium that replaces the two lines: a state machine in logical time. It holds descriptors; the frames
/// stay with the engine until the medium releases them through its [`Exit`].
pub trait Medium {
    /// Handles a frame that arrives at `now`, to or from server host `host`. All events up to `now` have been
    /// handled, and no later call has an earlier time.
    fn arrive(&mut self, now: Nanos, way: Direction, host: u8, frame: Frame, exit: &mut dyn Exit);

    /// When [`Medium::advance`] must be called if nothing arrives; `None`: not before the next arrival. No
    /// frame may leave before that time.
    fn next_event(&self) -> Option<Nanos>;

    /// Handles all events up to and including `now`.
    fn advance(&mut self, now: Nanos, exit: &mut dyn Exit);

    /// The backlog of the queues, and of the devices below them.
    fn backlog(&self, way: Direction) -> [Backlog; 2];

    /// The engine's thread calls this about every 10 ms, so that the medium can pass on measurements. It must
    /// not block.
    fn look(&mut self, now: Nanos);

    /// The engine has ended; frames that the medium still holds stay undelivered.
    fn finish(self, now: Nanos)
    where
        Self: Sized;
}

/// Receives the frames that leave a medium.
pub trait Exit {
    /// A frame leaves at `now`, with this DS byte.
    fn leave(&mut self, now: Nanos, cookie: u64, dsfield: u8);
    /// A frame is lost.
    fn drop(&mut self, cookie: u64, reason: Reason);
    /// A frame was marked CE; the medium still holds it.
    fn mark(&mut self, cookie: u64);
}

/// One-way delays by server host, for one direction; see [`crate::PathSpec::delays`].
#[derive(Clone, Debug, Default)]
pub struct Delays {
    /// Delays before the medium.
    pub before: Vec<Span>,
    /// Delays after the medium.
    pub after: Vec<Span>,
}

/// The configuration of an engine with a medium.
#[derive(Debug)]
pub struct MediumSpec<M> {
    /// The medium.
    pub medium: M,
    /// Client to server.
    pub up: Delays,
    /// Server to client.
    pub down: Delays,
    /// Seed of the flow hash.
    pub seed: u64,
    /// As [`crate::EngineSpec::frames`].
    pub frames: u32,
    /// As [`crate::EngineSpec::spin`].
    pub spin: Option<Span>,
    /// As [`crate::EngineSpec::flows`]. A packet waits until it has left the medium.
    pub flows: Option<FlowSpec>,
}

impl<M> MediumSpec<M> {
    /// `medium` without delays, seed 0, [`DEFAULT_FRAMES`] and the default of `spin`.
    pub fn new(medium: M) -> MediumSpec<M> {
        let (up, down) = (Delays::default(), Delays::default());
        MediumSpec { medium, up, down, seed: 0, frames: DEFAULT_FRAMES, spin: None, flows: None }
    }

    pub(crate) fn check(&self) -> Result<()> {
        let lists = [&self.up.before, &self.up.after, &self.down.before, &self.down.after];
        match lists.into_iter().map(Vec::len).max() {
            Some(longest) if longest > usize::from(MAX_HOSTS) => {
                Err(Error::Invalid { what: "delays", wanted: "at most 8 values", got: longest.to_string() })
            }
            _ => Ok(()),
        }
    }
}

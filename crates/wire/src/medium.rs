//! The border to a medium: something that both directions share, and that decides when each frame leaves.

use goodqueue::{Backlog, Direction, Nanos, Reason, Span};

use crate::engine::{DEFAULT_FRAMES, Frame};
use crate::lab::MAX_HOSTS;
use crate::{Error, Result};

/// A medium in the place of the two lines: a state machine in logical time. It holds descriptors; the frames
/// stay with the engine until the medium lets go of them through its [`Exit`].
pub trait Medium {
    /// Takes a frame that arrives at `now`, to or from server host `host`. All events up to `now` have been
    /// handled, and no later call has an earlier time.
    fn arrive(&mut self, now: Nanos, way: Direction, host: u8, frame: Frame, exit: &mut dyn Exit);

    /// When [`Medium::advance`] must be called if nothing arrives; `None`: not before the next arrival. At no
    /// earlier time may a frame leave.
    fn next_event(&self) -> Option<Nanos>;

    /// Handles all events up to and including `now`: none of them is left.
    fn advance(&mut self, now: Nanos, exit: &mut dyn Exit);

    /// What waits in queues, and what devices hold below them.
    fn backlog(&self, way: Direction) -> [Backlog; 2];

    /// Called about every 10 ms by the engine's thread: the moment to pass on what was measured, without
    /// holding the thread up.
    fn look(&mut self, now: Nanos);

    /// The engine has ended; what the medium still holds stays undelivered.
    fn finish(self, now: Nanos)
    where
        Self: Sized;
}

/// What a medium does with frames.
pub trait Exit {
    /// A frame is through at `now`, with the DS byte that it now has.
    fn leave(&mut self, now: Nanos, cookie: u64, dsfield: u8);
    /// A frame is lost.
    fn drop(&mut self, cookie: u64, reason: Reason);
    /// A frame was marked CE; it is still there.
    fn mark(&mut self, cookie: u64);
}

/// One-way delays by server host, on one way; see [`crate::PathSpec::delays`].
#[derive(Clone, Debug, Default)]
pub struct Delays {
    /// In front of the medium.
    pub before: Vec<Span>,
    /// Behind it.
    pub after: Vec<Span>,
}

/// What an engine with a medium should do.
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
}

impl<M> MediumSpec<M> {
    /// `medium` without delays, seed 0, [`DEFAULT_FRAMES`], spinning by default.
    pub fn new(medium: M) -> MediumSpec<M> {
        let (up, down) = (Delays::default(), Delays::default());
        MediumSpec { medium, up, down, seed: 0, frames: DEFAULT_FRAMES, spin: None }
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

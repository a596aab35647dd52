//! Propagation over a link: delay, jitter and loss behind the line; and the device at the far end, if it
//! gathers packets.
//!
//! A device that gathers raises its interrupt a fixed time after the first packet arrives (`ethtool -C
//! rx-usecs`), and Linux then polls it (NAPI): all packets that have arrived by then are received at that
//! time. So a packet lands when it is polled.

use goodqueue::{Nanos, Rng, Span};

use crate::frame::{Frame, Frames, NO_FRAME};
use crate::lanes::NEVER;
use crate::loss::LossState;
use crate::scenario;
use crate::token::{FrameId, Token};

/// The frames on their way, in the order of arrival, as a linked list through the frames.
#[derive(Debug)]
pub(crate) struct Propagation {
    delay: Span,
    chance: Option<Box<Chance>>,
    first: FrameId,
    last: FrameId,
    /// When the first frame lands; [`NEVER`] if there is none.
    first_lands: Nanos,
    /// When the last frame lands, or landed.
    last_lands: Nanos,
    /// The link that fetches its frames from here.
    pub(crate) downstream: Option<u32>,
}

/// What changes the time of landing: jitter, loss, and a device that gathers.
#[derive(Debug)]
struct Chance {
    jitter: Option<(u64, Rng)>,
    loss: Option<LossState>,
    gather: Option<Gather>,
}

/// A device that gathers packets until it is polled.
#[derive(Debug)]
struct Gather {
    /// Time from the first packet to the poll (`rx-usecs`).
    rx_usecs: Span,
    /// The time of the last poll, planned or past.
    poll: Nanos,
    /// When the last packet reached the device.
    came: Nanos,
}

impl Gather {
    /// When a packet that reaches the device at `at` is received. Packets arrive in time order.
    fn received(&mut self, at: Nanos) -> Nanos {
        self.came = at;
        if at >= self.poll {
            self.poll = at + self.rx_usecs;
        }
        self.poll
    }
}

/// What happens to a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fate {
    /// It is lost.
    Lost,
    /// It is at the far end already.
    Arrived,
    /// It is on its way, and is the first to arrive.
    First(Nanos),
    /// It is on its way, behind this one.
    Behind(FrameId),
    /// The queue in front of the line was full.
    Refused,
}

impl Propagation {
    /// `rx_usecs`: how long the device at the far end gathers packets.
    pub(crate) fn new(spec: &scenario::Link, node: u64, seed: u64, rx_usecs: Option<Span>) -> Propagation {
        let jitter = (spec.jitter > Span::ZERO).then(|| (spec.jitter.0, Rng::stream(seed, node, "jitter")));
        let loss = LossState::new(&spec.loss, Rng::stream(seed, node, "loss"));
        let gather = rx_usecs.map(|rx_usecs| Gather { rx_usecs, poll: Nanos::ZERO, came: Nanos::ZERO });
        let has_chance = jitter.is_some() || loss.is_some() || gather.is_some();
        Propagation {
            delay: spec.delay,
            chance: has_chance.then(|| Box::new(Chance { jitter, loss, gather })),
            first: NO_FRAME,
            last: NO_FRAME,
            first_lands: NEVER,
            last_lands: Nanos::ZERO,
            downstream: None,
        }
    }

    pub(crate) fn delay(&self) -> Span {
        self.delay
    }

    /// Whether a frame can spend time here.
    pub(crate) fn takes_time(&self) -> bool {
        let is_later = |chance: &Chance| chance.jitter.is_some() || chance.gather.is_some();
        self.delay > Span::ZERO || self.chance.as_deref().is_some_and(is_later)
    }

    /// Whether the device at the far end gathers packets.
    pub(crate) fn gathers(&self) -> bool {
        self.chance.as_ref().is_some_and(|chance| chance.gather.is_some())
    }

    /// Whether no frame is lost here.
    pub(crate) fn is_lossless(&self) -> bool {
        self.chance.as_ref().is_none_or(|chance| chance.loss.is_none())
    }

    /// The first frame on its way, or [`NO_FRAME`].
    pub(crate) fn first(&self) -> FrameId {
        self.first
    }

    /// When the first frame on its way lands; [`NEVER`] if there is none.
    pub(crate) fn next_landing(&self) -> Nanos {
        self.first_lands
    }

    /// A frame leaves the line at `at`, which is `now` or later. If it is behind another, the caller must
    /// call [`Frames::follow`].
    // What the inline attributes of this file gain: docs/performance.md, "Inlining".
    #[inline(always)]
    pub(crate) fn begin(&mut self, now: Nanos, at: Nanos, id: FrameId, frame: &mut Frame) -> Fate {
        let mut lands = at + self.delay;
        if self.chance.is_some() {
            match self.meet_chance(lands) {
                Some(later) => lands = later,
                None => return Fate::Lost,
            }
        }
        let is_first = self.first_lands == NEVER;
        if is_first && lands == now && self.downstream.is_none() {
            return Fate::Arrived;
        }
        frame.lands = lands;
        self.last_lands = lands;
        let before = std::mem::replace(&mut self.last, id);
        if is_first {
            (self.first, self.first_lands) = (id, lands);
            return Fate::First(lands);
        }
        Fate::Behind(before)
    }

    /// When a frame that would land at `lands` does land; `None` if it is lost.
    #[inline(never)]
    fn meet_chance(&mut self, lands: Nanos) -> Option<Nanos> {
        let Chance { jitter, loss, gather } = self.chance.as_deref_mut()?;
        if loss.as_mut().is_some_and(LossState::next) {
            return None;
        }
        let lands = match jitter {
            // Jitter delays packets. They do not overtake each other.
            Some((most, rng)) => {
                let last = gather.as_ref().map_or(self.last_lands, |gather| gather.came);
                (lands + Span(rng.below(most.saturating_add(1)))).max(last)
            }
            None => lands,
        };
        Some(gather.as_mut().map_or(lands, |gather| gather.received(lands)))
    }

    /// Takes the first frame on its way, which is then `hops` places further on its path. Returns what a
    /// queue sees of it, and when it lands. There must be one.
    #[inline(always)]
    pub(crate) fn take_first(&mut self, frames: &mut Frames, hops: u32) -> (Token, Nanos) {
        let (id, at) = (self.first, self.first_lands);
        let frame = frames.get_mut(id);
        frame.place += hops;
        self.first = std::mem::replace(&mut frame.next, NO_FRAME);
        let token = frame.token(id);
        self.first_lands = if self.first == NO_FRAME { NEVER } else { frames.get(self.first).lands };
        (token, at)
    }
}

//! A link at work: queue, ring and line, then loss and propagation.

use std::collections::VecDeque;

use goodqueue::port::Watermarks;
use goodqueue::{Departure, Nanos, Observer, Reason, Rng, Span};

use crate::agenda::Lane;
use crate::agenda::NEVER;
use crate::device::Device;
use crate::error::BuildError;
use crate::frame::{FrameId, Frames, NO_FRAME, Token};
use crate::loss::LossState;
use crate::scenario;
use crate::tap::What;

/// What a link took in, lost and marked, since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Drops for each [`Reason`], in the order of [`Reason::ALL`]; loss on the way included.
    pub drops: [u64; Reason::ALL.len()],
    /// CE marks.
    pub marks: u64,
    /// Packets handed to its queues.
    pub arrived: u64,
}

/// Memory that a TCP sender gets back when its host's device has reported or dropped a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Credit {
    pub(crate) at: Nanos,
    pub(crate) flow: u32,
    pub(crate) truesize: u32,
}

/// A link at work.
#[derive(Debug)]
pub(crate) struct Link {
    /// Its place in the scenario.
    number: u32,
    pub(crate) device: Option<Device>,
    /// Hardware flow control of the links that feed this one.
    pub(crate) pause: Option<Watermarks>,
    pub(crate) feeders: Vec<u32>,
    /// When the device must be looked at next, as of the last [`Link::look_again`].
    pub(crate) wake: Nanos,
    delay: Span,
    jitter: Option<(u64, Rng)>,
    loss: Option<LossState>,
    /// What is on its way, in the order of arrival: a list through the frames.
    first: FrameId,
    last: FrameId,
    /// When the last of them, or of those before, lands.
    last_lands: Nanos,
    pub(crate) counters: LinkCounters,
    /// Lanes of its device and of its far end; without a meaning where nothing happens there.
    pub(crate) lanes: [Lane; 2],
    /// What the senders on this link's host get back, in the order of time.
    pub(crate) credits: VecDeque<Credit>,
}

/// What becomes of a frame.
pub(crate) enum Fate {
    /// It is lost.
    Lost,
    /// It is at the far end already.
    Arrived,
    /// It is on its way, and the first to arrive of all that are.
    First(Nanos),
    /// It is on its way, behind others; or waits in the queue.
    Behind,
}

impl Link {
    pub(crate) fn new(
        spec: &scenario::Link,
        index: usize,
        is_fed_back: bool,
        seed: u64,
    ) -> Result<Link, BuildError> {
        let node = index as u64;
        let port = spec.port.as_ref();
        let jitter = (spec.jitter > Span::ZERO).then(|| (spec.jitter.0, Rng::stream(seed, node, "jitter")));
        Ok(Link {
            number: u32::try_from(index).unwrap_or(u32::MAX),
            device: port.map(|port| Device::new(port, index, is_fed_back)).transpose()?,
            pause: port.and_then(|port| port.pause).and_then(|pause| Watermarks::new(pause.high, pause.low)),
            feeders: Vec::new(),
            wake: NEVER,
            delay: spec.delay,
            jitter,
            loss: LossState::new(&spec.loss, Rng::stream(seed, node, "loss")),
            first: NO_FRAME,
            last: NO_FRAME,
            last_lands: Nanos::ZERO,
            counters: LinkCounters::default(),
            lanes: [0; 2],
            credits: VecDeque::new(),
        })
    }

    /// A frame enters a link that [`Link::is_ahead`].
    #[inline(always)]
    pub(crate) fn enter(&mut self, now: Nanos, id: FrameId, frames: &mut Frames) -> Fate {
        let mut ends = now;
        if let Some(Device::Fifo(line)) = &mut self.device {
            self.counters.arrived += 1;
            match line.accept(now, frames.get(id).len) {
                Some(at) => ends = at,
                None => return self.refuse(now, id, frames),
            }
        }
        self.propagate(now, ends, ends, id, frames)
    }

    /// A FIFO is full.
    #[cold]
    fn refuse(&mut self, now: Nanos, id: FrameId, frames: &mut Frames) -> Fate {
        let token = frames.get(id).token(id);
        let mut losses =
            Losses { link: self.number, frames, credits: &mut self.credits, counters: &mut self.counters };
        losses.dropped(now, token, Reason::Limit);
        Fate::Behind
    }

    /// A frame is handed to the queue of any other link; [`Link::leave`] tells what becomes of it.
    #[inline(always)]
    pub(crate) fn queue(&mut self, now: Nanos, id: FrameId, frames: &mut Frames) {
        let Some(device) = &mut self.device else { return };
        self.counters.arrived += 1;
        let token = frames.get(id).token(id);
        let mut losses =
            Losses { link: self.number, frames, credits: &mut self.credits, counters: &mut self.counters };
        device.arrive(now, token, &mut losses);
    }

    /// The next frame whose last bit left the line by `now`, and where it is then.
    #[inline(always)]
    pub(crate) fn leave(&mut self, now: Nanos, frames: &mut Frames) -> Option<(FrameId, Fate)> {
        let device = self.device.as_mut()?;
        let mut losses =
            Losses { link: self.number, frames, credits: &mut self.credits, counters: &mut self.counters };
        let Departure { at, completed_at, packet, .. } = device.poll(now, &mut losses)?;
        let id = packet.frame;
        frames.get_mut(id).dsfield = goodqueue::Packet::dsfield(&packet);
        Some((id, self.propagate(now, at, completed_at, id, frames)))
    }

    /// A frame has left the line at `at` (or will), which the device reports at `reported`: credit for its
    /// sender where this is the sender's own device; loss; then propagation.
    #[inline(always)]
    fn propagate(
        &mut self,
        now: Nanos,
        at: Nanos,
        reported: Nanos,
        id: FrameId,
        frames: &mut Frames,
    ) -> Fate {
        let frame = frames.get_mut(id);
        if frame.owed > 0 {
            let truesize = std::mem::take(&mut frame.owed);
            self.credits.push_back(Credit { at: reported, flow: frame.owner, truesize });
        }
        if let Some(loss) = &mut self.loss
            && loss.next()
        {
            self.counters.drops[Reason::Loss as usize] += 1;
            frames.tell(at, self.number, id, What::Dropped(Reason::Loss));
            return Fate::Lost;
        }
        let mut lands = at + self.delay;
        if let Some((most, rng)) = &mut self.jitter {
            // Jitter delays; it does not let packets overtake each other.
            lands = (lands + Span(rng.below(most.saturating_add(1)))).max(self.last_lands);
        }
        if self.first == NO_FRAME {
            if lands == now {
                return Fate::Arrived;
            }
            frame.lands = lands;
            (self.first, self.last, self.last_lands) = (id, id, lands);
            return Fate::First(lands);
        }
        frame.lands = lands;
        frames.get_mut(self.last).next = id;
        (self.last, self.last_lands) = (id, lands);
        Fate::Behind
    }

    /// The next frame that is at the far end by `now`, and when the one behind it will be.
    #[inline]
    pub(crate) fn land(&mut self, now: Nanos, frames: &mut Frames) -> Option<(FrameId, Nanos)> {
        let id = self.first;
        if id == NO_FRAME {
            return None;
        }
        let frame = frames.get_mut(id);
        if frame.lands > now {
            return None;
        }
        self.first = std::mem::replace(&mut frame.next, NO_FRAME);
        let next = if self.first == NO_FRAME { NEVER } else { frames.get(self.first).lands };
        Some((id, next))
    }

    /// Whether the fate of a frame is known when it enters.
    #[inline]
    pub(crate) fn is_ahead(&self) -> bool {
        matches!(self.device, None | Some(Device::Fifo(_)))
    }

    /// Whether a frame may spend time on it: then its far end has events.
    pub(crate) fn has_landings(&self) -> bool {
        self.device.is_some() || self.delay > Span::ZERO || self.jitter.is_some()
    }

    /// Asks the device when it must be looked at next; whether that has changed.
    #[inline]
    pub(crate) fn look_again(&mut self) -> bool {
        let wake = self.device.as_ref().map_or(NEVER, Device::next_wake);
        std::mem::replace(&mut self.wake, wake) != wake
    }

    /// Whether its device has more to do at `now`.
    #[inline]
    pub(crate) fn is_due(&self, now: Nanos) -> bool {
        self.device.as_ref().is_some_and(|device| device.next_wake() <= now)
    }

    /// A pause frame has come: the line stops, or goes on.
    pub(crate) fn set_paused(&mut self, now: Nanos, is_paused: bool, frames: &mut Frames) {
        let Some(device) = &mut self.device else { return };
        let mut losses =
            Losses { link: self.number, frames, credits: &mut self.credits, counters: &mut self.counters };
        device.set_paused(now, is_paused, &mut losses);
    }
}

/// Frees what a queue drops, and counts it.
struct Losses<'a> {
    link: u32,
    frames: &'a mut Frames,
    credits: &'a mut VecDeque<Credit>,
    counters: &'a mut LinkCounters,
}

impl Observer<Token> for Losses<'_> {
    fn dropped(&mut self, now: Nanos, packet: Token, reason: Reason) {
        self.counters.drops[reason as usize] += 1;
        self.frames.tell(now, self.link, packet.frame, What::Dropped(reason));
        let frame = self.frames.get(packet.frame);
        if frame.owed > 0 {
            // Before what is completed later.
            self.credits.push_front(Credit { at: now, flow: frame.owner, truesize: frame.owed });
        }
        self.frames.lose(packet.frame);
    }

    fn marked(&mut self, now: Nanos, packet: &Token, reason: Reason) {
        self.counters.marks += 1;
        self.frames.get_mut(packet.frame).dsfield = goodqueue::Packet::dsfield(packet);
        self.frames.tell(now, self.link, packet.frame, What::Marked(reason));
    }
}

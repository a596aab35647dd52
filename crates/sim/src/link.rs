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

/// The end of a link that its queue and line are at.
pub(crate) const NEAR: usize = 0;
/// The end where its frames land.
pub(crate) const FAR: usize = 1;

/// A link at work.
#[derive(Debug)]
pub(crate) struct Link {
    /// Its place in the scenario.
    number: u32,
    pub(crate) device: Option<Device>,
    /// Hardware flow control of the links that feed this one.
    pub(crate) pause: Option<Watermarks>,
    pub(crate) feeders: Vec<u32>,
    /// The link that it fetches its frames from, and the one that fetches from it.
    pub(crate) upstream: Option<u32>,
    pub(crate) downstream: Option<u32>,
    /// When something happens next at its near end, where its port is, and at its far end.
    pub(crate) wakes: [Nanos; 2],
    delay: Span,
    jitter: Option<(u64, Rng)>,
    loss: Option<LossState>,
    /// What is on its way, in the order of arrival: a list through the frames.
    first: FrameId,
    last: FrameId,
    /// When the first of them lands; [`NEVER`] where there is none.
    first_lands: Nanos,
    /// When the last of them, or of those before, lands.
    last_lands: Nanos,
    pub(crate) counters: LinkCounters,
    /// Lanes of its near end and of its far end; without a meaning where nothing happens there.
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
            upstream: None,
            downstream: None,
            wakes: [NEVER; 2],
            delay: spec.delay,
            jitter,
            loss: LossState::new(&spec.loss, Rng::stream(seed, node, "loss")),
            first: NO_FRAME,
            last: NO_FRAME,
            first_lands: NEVER,
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
        if self.first_lands == NEVER {
            if lands == now {
                return Fate::Arrived;
            }
            frame.lands = lands;
            (self.first, self.first_lands) = (id, lands);
            (self.last, self.last_lands) = (id, lands);
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
        if self.first_lands > now || self.first_lands == NEVER {
            return None;
        }
        let (id, _) = self.take_first(frames);
        Some((id, self.first_lands))
    }

    /// Whether the fate of a frame is known when it enters.
    #[inline]
    pub(crate) fn is_ahead(&self) -> bool {
        matches!(self.device, None | Some(Device::Fifo(_)))
    }

    /// Whether its far end has events: a frame may spend time on it, and no other link fetches it.
    pub(crate) fn has_landings(&self) -> bool {
        let takes_time = self.has_port() || self.delay > Span::ZERO || self.jitter.is_some();
        takes_time && self.downstream.is_none()
    }

    /// Whether it has a queue and a line of its own.
    pub(crate) fn has_port(&self) -> bool {
        !matches!(self.device, None | Some(Device::Air(_)))
    }

    pub(crate) fn has_delay(&self) -> bool {
        self.delay > Span::ZERO
    }

    /// Whether it may fetch its frames: see `engine/chain.rs`.
    pub(crate) fn can_fetch(&self) -> bool {
        self.has_delay() && matches!(self.device, None | Some(Device::Fifo(_) | Device::Single(_)))
    }

    /// When the next frame lands at the soonest where none is on its way and one of `len` bytes enters at
    /// `at`; and the least length that it has: zero where it may be another.
    #[inline]
    pub(crate) fn soonest(&self, at: Nanos, len: u32) -> (Nanos, u32) {
        let (ends, is_taken_in) = match &self.device {
            Some(Device::Fifo(line)) => line.soonest(at, len),
            _ => (at, true),
        };
        (ends + self.delay, if is_taken_in && self.loss.is_none() { len } else { 0 })
    }

    /// The first frame on its way, or [`NO_FRAME`].
    pub(crate) fn first(&self) -> FrameId {
        self.first
    }

    /// When the first frame on its way lands; [`NEVER`] where there is none.
    #[inline]
    pub(crate) fn next_landing(&self) -> Nanos {
        self.first_lands
    }

    /// Whether a frame that comes to its near end can be the next to make it act.
    #[inline]
    pub(crate) fn awaits(&self) -> bool {
        match &self.device {
            Some(Device::Single(port)) => !port.is_busy(),
            _ => self.first_lands == NEVER,
        }
    }

    /// Takes over what has landed on `from` by `until` and before its own port is due, each frame at the
    /// time at which it landed.
    #[inline(always)]
    pub(crate) fn fetch(&mut self, from: &mut Link, until: Nanos, frames: &mut Frames) {
        if let Some(Device::Single(port)) = &mut self.device {
            let Link { number, credits, counters, .. } = self;
            let mut losses = Losses { link: *number, frames, credits, counters };
            while from.first_lands <= until && from.first_lands < port.next_wake().unwrap_or(NEVER) {
                let (id, at) = from.take_first(losses.frames);
                let frame = losses.frames.get_mut(id);
                frame.place += 1;
                let token = frame.token(id);
                losses.counters.arrived += 1;
                port.arrive(at, token, &mut losses);
            }
            return;
        }
        while from.first_lands <= until && from.first_lands != NEVER {
            let (id, at) = from.take_first(frames);
            frames.get_mut(id).place += 1;
            if let Fate::Lost = self.enter(at, id, frames) {
                frames.remove(id);
            }
        }
    }

    /// The first frame on its way, which there is, and when it lands.
    #[inline]
    fn take_first(&mut self, frames: &mut Frames) -> (FrameId, Nanos) {
        let (id, at) = (self.first, self.first_lands);
        self.first = std::mem::replace(&mut frames.get_mut(id).next, NO_FRAME);
        self.first_lands = if self.first == NO_FRAME { NEVER } else { frames.get(self.first).lands };
        (id, at)
    }

    /// What takes over what queues of this link drop.
    pub(crate) fn losses<'a>(&'a mut self, frames: &'a mut Frames) -> Losses<'a> {
        Losses { link: self.number, frames, credits: &mut self.credits, counters: &mut self.counters }
    }

    /// When its device must be looked at next if nothing arrives.
    #[inline]
    pub(crate) fn next_wake(&self) -> Nanos {
        self.device.as_ref().map_or(NEVER, Device::next_wake)
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
pub(crate) struct Losses<'a> {
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

//! A link at work: queue, ring and line, then loss and propagation.

use std::collections::VecDeque;

use goodqueue::port::Watermarks;
use goodqueue::{Departure, Nanos, Observer, Reason, Rng, Span};

use crate::device::Device;
use crate::error::BuildError;
use crate::frame::{FrameId, Frames, Kind, Token};
use crate::loss::LossState;
use crate::scenario;

/// What a link did, since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Drops for each [`Reason`], in the order of [`Reason::ALL`]; loss on the way included.
    pub drops: [u64; Reason::ALL.len()],
    /// CE marks.
    pub marks: u64,
    /// Packets handed to its queues.
    pub arrived: u64,
}

/// Bytes that a TCP sender gets back since its host's device has sent or dropped them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Credit {
    pub(crate) flow: u32,
    pub(crate) truesize: u32,
}

/// A link at work.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) device: Option<Device>,
    /// Hardware flow control of the links that feed this one.
    pub(crate) pause: Option<Watermarks>,
    pub(crate) feeders: Vec<u32>,
    delay: Span,
    jitter: Span,
    jitter_rng: Rng,
    loss: Option<LossState>,
    /// What is on its way, and when it arrives: in order.
    flying: VecDeque<(Nanos, FrameId)>,
    pub(crate) counters: LinkCounters,
}

/// What happened to a frame that came to the end of a link's line.
pub(crate) enum Fate {
    Lost,
    /// It is there already.
    Arrived,
    /// It arrives later; the first arrival on this link is at this time.
    Flying(Nanos),
}

impl Link {
    pub(crate) fn new(spec: &scenario::Link, index: usize, seed: u64) -> Result<Link, BuildError> {
        let node = index as u64;
        let port = spec.port.as_ref();
        Ok(Link {
            device: port.map(|port| Device::new(port, index)).transpose()?,
            pause: port.and_then(|port| port.pause).and_then(|pause| Watermarks::new(pause.high, pause.low)),
            feeders: Vec::new(),
            delay: spec.delay,
            jitter: spec.jitter,
            jitter_rng: Rng::stream(seed, node, "jitter"),
            loss: LossState::new(&spec.loss, Rng::stream(seed, node, "loss")),
            flying: VecDeque::new(),
            counters: LinkCounters::default(),
        })
    }

    /// A frame has left the line (or the link has none): loss, then propagation.
    #[inline]
    pub(crate) fn propagate(&mut self, now: Nanos, id: FrameId) -> Fate {
        if let Some(loss) = &mut self.loss
            && loss.next()
        {
            self.counters.drops[Reason::Loss as usize] += 1;
            return Fate::Lost;
        }
        let mut delay = self.delay;
        if self.jitter > Span::ZERO {
            delay = delay + Span(self.jitter_rng.below(self.jitter.0.saturating_add(1)));
        }
        if delay == Span::ZERO && self.flying.is_empty() {
            return Fate::Arrived;
        }
        let mut at = now + delay;
        if let Some(&(last, _)) = self.flying.back() {
            at = at.max(last);
        }
        self.flying.push_back((at, id));
        self.flying.front().map_or(Fate::Arrived, |&(first, _)| Fate::Flying(first))
    }

    /// The next frame that has arrived by `now`.
    #[inline]
    pub(crate) fn land(&mut self, now: Nanos) -> Option<FrameId> {
        let &(at, id) = self.flying.front()?;
        (at <= now).then(|| {
            self.flying.pop_front();
            id
        })
    }

    /// When the next frame arrives.
    #[inline]
    pub(crate) fn next_landing(&self) -> Option<Nanos> {
        self.flying.front().map(|&(at, _)| at)
    }

    /// The device, and what receives its losses; `None`: the link has no device.
    #[inline]
    fn device<'a>(
        &'a mut self,
        frames: &'a mut Frames,
        credits: &'a mut Vec<Credit>,
    ) -> Option<(&'a mut Device, Losses<'a>)> {
        let device = self.device.as_mut()?;
        Some((device, Losses { frames, credits, counters: &mut self.counters }))
    }

    /// Hands a frame to the queue.
    #[inline]
    pub(crate) fn enqueue(
        &mut self,
        now: Nanos,
        token: Token,
        frames: &mut Frames,
        credits: &mut Vec<Credit>,
    ) {
        self.counters.arrived += 1;
        if let Some((device, mut losses)) = self.device(frames, credits) {
            device.arrive(now, token, &mut losses);
        }
    }

    /// The next frame whose last bit left the line by `now`.
    #[inline]
    pub(crate) fn poll(
        &mut self,
        now: Nanos,
        frames: &mut Frames,
        credits: &mut Vec<Credit>,
    ) -> Option<Departure<Token>> {
        let (device, mut losses) = self.device(frames, credits)?;
        device.poll(now, &mut losses)
    }

    /// A pause frame has come: the line stops, or goes on.
    pub(crate) fn set_paused(
        &mut self,
        now: Nanos,
        is_paused: bool,
        frames: &mut Frames,
        credits: &mut Vec<Credit>,
    ) {
        match self.device(frames, credits) {
            Some((device, _)) if is_paused => device.pause(now),
            Some((device, mut losses)) => device.resume(now, &mut losses),
            None => {}
        }
    }
}

/// Frees what a queue drops, and counts it.
struct Losses<'a> {
    frames: &'a mut Frames,
    credits: &'a mut Vec<Credit>,
    counters: &'a mut LinkCounters,
}

impl Observer<Token> for Losses<'_> {
    fn dropped(&mut self, _now: Nanos, packet: Token, reason: Reason) {
        self.counters.drops[reason as usize] += 1;
        credit(self.frames, packet.frame, self.credits);
        self.frames.remove(packet.frame);
    }

    fn marked(&mut self, _now: Nanos, _packet: &Token, _reason: Reason) {
        self.counters.marks += 1;
    }
}

/// Notes that a sender's host is rid of a frame, where it is still in that host's own device.
#[inline]
pub(crate) fn credit(frames: &Frames, id: FrameId, credits: &mut Vec<Credit>) {
    let frame = frames.get(id);
    if frame.kind == Kind::Data && frame.hop == 1 {
        credits.push(Credit { flow: frame.owner, truesize: crate::tcp::truesize(frame.len) });
    }
}

//! A link at work: queue, ring and line; behind them loss and propagation.

use goodqueue::BuildError as QueueError;
use goodqueue::details::{Details, TcpHeader};
use goodqueue::port::Watermarks;
use goodqueue::{Departure, Nanos, Observer, Origin, PacketInfo, QueueSpec, Rate, Reason, Rng, Socket, Span};

use crate::credits::{Credit, Credits};
use crate::device::Device;
use crate::error::BuildError;
use crate::frame::{Frame, Frames};
use crate::implementation::Implementation;
use crate::lanes::{Lane, NEVER};
use crate::propagation::{Fate, Propagation};
use crate::scenario;
use crate::sojourn::Sojourn;
use crate::tap::What;
use crate::token::{FrameId, Token};

/// What a link received, lost and marked since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Drops for each [`Reason`], in the order of [`Reason::ALL`], loss on the way included.
    pub drops: [u64; Reason::ALL.len()],
    /// CE marks.
    pub marks: u64,
    /// Packets handed to its queues. A super-packet (TSO) counts as one; if the queue cuts it, each segment
    /// counts as one. So every packet that arrived was sent, was dropped (not counting loss on the way) or is
    /// still held.
    pub arrived: u64,
    /// Of these, the segments that its queue cut from super-packets. The first segment replaces its
    /// super-packet and is not counted here.
    pub cut: u64,
    /// Packets that the device at its far end joined to others (GRO; see
    /// [`Config::gro`](crate::tcp::Config::gro)).
    pub joined: u64,
}

/// The end of a link where its queue and line are.
pub(crate) const NEAR: usize = 0;
/// The end where its frames land.
pub(crate) const FAR: usize = 1;

/// A link at work.
#[derive(Debug)]
pub(crate) struct Link {
    /// Its place in the scenario.
    number: u32,
    pub(crate) device: Option<Device>,
    /// The rate and the longest frame from which the defaults of its queue are computed.
    nominal: goodqueue::Link,
    /// Hardware flow control of the links that feed this one.
    pub(crate) pause: Option<Watermarks>,
    pub(crate) feeders: Vec<u32>,
    /// The link that it fetches its frames from. See also [`Propagation::downstream`].
    pub(crate) upstream: Option<u32>,
    /// The number of links from the first of its chain to itself; one if it fetches from none.
    pub(crate) hops: u32,
    /// When its port acts next.
    pub(crate) wakes: Nanos,
    pub(crate) propagation: Propagation,
    pub(crate) counters: LinkCounters,
    /// See [`crate::LinkView::wake_ups`].
    pub(crate) wake_ups: u64,
    /// How long its packets waited, if requested.
    pub(crate) sojourn: Option<Box<Sojourn>>,
    /// The lanes of its near end and of its far end. A lane has no meaning if its end has no events.
    pub(crate) lanes: [Lane; 2],
    /// The memory that senders on this link's host get back, in time order.
    pub(crate) credits: Credits,
}

impl Link {
    pub(crate) fn new(
        spec: &scenario::Link,
        index: usize,
        is_fed_back: bool,
        rx_usecs: Option<Span>,
        seed: u64,
        implementation: Implementation,
    ) -> Result<Link, BuildError> {
        let node = index as u64;
        let port = spec.port.as_ref();
        Ok(Link {
            number: u32::try_from(index).unwrap_or(u32::MAX),
            device: port
                .map(|port| {
                    let draws = Rng::stream(seed, node, "queue");
                    Device::new(port, index, is_fed_back, draws, implementation)
                })
                .transpose()?,
            nominal: goodqueue::Link {
                rate: port.map_or(Rate(0), |port| port.rate),
                mtu: port.map_or(0, |port| port.frame),
            },
            pause: port.and_then(|port| port.pause).and_then(|pause| Watermarks::new(pause.high, pause.low)),
            feeders: Vec::new(),
            upstream: None,
            hops: 1,
            wakes: NEVER,
            propagation: Propagation::new(spec, node, seed, rx_usecs),
            counters: LinkCounters::default(),
            wake_ups: 0,
            sojourn: None,
            lanes: [0; 2],
            credits: Credits::default(),
        })
    }

    /// A frame enters. `None` if this link does not compute ahead ([`Link::is_ahead`]): then the frame must
    /// be queued, and its fate is known later.
    // What the inline attributes of this file gain: docs/performance.md, "Inlining".
    #[inline(always)]
    pub(crate) fn enter(&mut self, now: Nanos, id: FrameId, frames: &mut Frames) -> Option<Fate> {
        let (fate, at) = self.admit(now, id, frames.get_mut(id))?;
        self.apply(fate, at, id, frames);
        Some(fate)
    }

    /// The first half of [`Link::enter`]. The caller passes fate and time to [`Link::apply`].
    #[inline(always)]
    pub(crate) fn admit(&mut self, now: Nanos, id: FrameId, frame: &mut Frame) -> Option<(Fate, Nanos)> {
        let ends = match &mut self.device {
            Some(Device::Fifo(line)) => {
                self.counters.arrived += 1;
                match line.accept(now, frame.len) {
                    Some(at) => {
                        if let Some(sojourn) = &mut self.sojourn {
                            sojourn.note(now, line.last_start());
                        }
                        at
                    }
                    None => return Some((Fate::Refused, now)),
                }
            }
            None => now,
            Some(_) => return None,
        };
        Some((self.depart(now, (ends, ends), id, frame), ends))
    }

    /// Queues a frame on a link that does not compute ahead; [`Link::leave`] returns it when it leaves.
    #[inline(always)]
    pub(crate) fn queue(&mut self, now: Nanos, id: FrameId, frames: &mut Frames) {
        let Some(device) = &mut self.device else { return };
        self.counters.arrived += 1;
        if self.sojourn.is_some() {
            frames.note_entry(id, now);
        }
        let token = frames.get(id).token(id);
        let mut losses =
            Losses { link: self.number, frames, credits: &mut self.credits, counters: &mut self.counters };
        device.arrive(now, token, &mut losses);
    }

    /// The next frame whose last bit left the line by `now`, and its fate.
    #[inline(always)]
    pub(crate) fn leave(&mut self, now: Nanos, frames: &mut Frames) -> Option<(FrameId, Fate)> {
        let device = self.device.as_mut()?;
        let mut losses =
            Losses { link: self.number, frames, credits: &mut self.credits, counters: &mut self.counters };
        let Departure { at, started, completed_at, packet } = device.poll(now, &mut losses)?;
        let id = packet.frame;
        if let Some(sojourn) = &mut self.sojourn {
            note_sojourn(sojourn, id, started, frames);
        }
        let frame = frames.get_mut(id);
        frame.dsfield = goodqueue::Packet::dsfield(&packet);
        let fate = self.depart(now, (at, completed_at), id, frame);
        self.apply(fate, at, id, frames);
        Some((id, fate))
    }

    /// A frame leaves the line at `at`, and the device reports it at `reported`. Its sender gets credit if
    /// this is the sender's own device; then the frame propagates. [`Link::apply`] comes next.
    #[inline(always)]
    fn depart(&mut self, now: Nanos, (at, reported): (Nanos, Nanos), id: FrameId, frame: &mut Frame) -> Fate {
        if std::mem::take(&mut frame.is_owed) {
            self.credits.push(Credit { at: reported, flow: frame.owner, truesize: frame.owed() });
        }
        self.propagation.begin(now, at, id, frame)
    }

    /// Applies the fate of a frame that left the line at `at`. Links it behind its predecessor, or frees it
    /// if it is lost or refused.
    #[inline(always)]
    pub(crate) fn apply(&mut self, fate: Fate, at: Nanos, id: FrameId, frames: &mut Frames) {
        let Link { number, credits, counters, .. } = self;
        Losses { link: *number, frames, credits, counters }.apply(fate, at, id);
    }

    /// Whether the fate of a frame is known when it enters.
    pub(crate) fn is_ahead(&self) -> bool {
        matches!(self.device, None | Some(Device::Fifo(_)))
    }

    /// Whether its far end has events: a frame can spend time on the link, and no other link fetches it.
    pub(crate) fn has_landings(&self) -> bool {
        let takes_time = self.has_port() || self.propagation.takes_time();
        takes_time && self.propagation.downstream.is_none()
    }

    /// The frame of `token` has left a switch by this link, with its first and last bit at these times.
    /// [`Link::queue`] was not called for it.
    pub(crate) fn leave_switch(
        &mut self,
        (started, now): (Nanos, Nanos),
        token: Token,
        frames: &mut Frames,
    ) -> Fate {
        let id = token.frame;
        if let Some(sojourn) = &mut self.sojourn {
            note_sojourn(sojourn, id, started, frames);
        }
        let frame = frames.get_mut(id);
        frame.dsfield = goodqueue::Packet::dsfield(&token);
        let fate = self.depart(now, (now, now), id, frame);
        self.apply(fate, now, id, frames);
        fate
    }

    /// Whether it has a queue and a line of its own.
    pub(crate) fn has_port(&self) -> bool {
        self.device.is_some() && !self.is_on_air() && !matches!(self.device, Some(Device::Switch(_)))
    }

    /// Whether a radio takes its packets.
    pub(crate) fn is_on_air(&self) -> bool {
        matches!(self.device, Some(Device::Air(_)))
    }

    /// Whether it may fetch its frames: see `engine/network/chain.rs`.
    pub(crate) fn can_fetch(&self) -> bool {
        matches!(self.device, None | Some(Device::Fifo(_) | Device::Single(_)))
    }

    /// Assumes that no frame is on its way and that one of `len` bytes enters at `at`. Returns the earliest
    /// time at which the next frame can land, and its minimum length: zero if it may be another frame.
    pub(crate) fn soonest(&self, at: Nanos, len: u32) -> (Nanos, u32) {
        let (ends, is_taken_in) = match &self.device {
            Some(Device::Fifo(line)) => line.soonest(at, len),
            Some(_) => (at, false),
            None => (at, true),
        };
        let is_sure = is_taken_in && self.propagation.is_lossless();
        (ends + self.propagation.delay(), if is_sure { len } else { 0 })
    }

    /// The earliest time at which a frame in its port can land; [`NEVER`] if the port holds none.
    pub(crate) fn soonest_held(&self) -> Nanos {
        match &self.device {
            Some(Device::Single(port)) => {
                port.next_departure().map_or(NEVER, |at| at + self.propagation.delay())
            }
            _ => NEVER,
        }
    }

    /// Whether a frame that enters the near end now can be the next to reach the far end.
    pub(crate) fn awaits(&self) -> bool {
        let is_busy = matches!(&self.device, Some(Device::Single(port)) if port.is_busy());
        self.propagation.next_landing() == NEVER && !is_busy
    }

    /// Takes the frames that landed on `from` by `until`, each at its landing time, and runs its own port up
    /// to then.
    pub(crate) fn fetch(&mut self, from: &mut Link, until: Nanos, frames: &mut Frames) {
        if matches!(self.device, Some(Device::Single(_))) {
            return self.fetch_into_port(&mut from.propagation, until, frames);
        }
        while from.propagation.next_landing() <= until {
            let (token, at) = from.propagation.take_first(frames, 0);
            self.enter(at, token.frame, frames);
        }
    }

    /// No sender gets credit for these frames: they have left their hosts' devices.
    fn fetch_into_port(&mut self, from: &mut Propagation, until: Nanos, frames: &mut Frames) {
        let Link { number, device, propagation, credits, counters, wake_ups, sojourn, .. } = self;
        let Some(Device::Single(port)) = device else { return };
        let mut losses = Losses { link: *number, frames, credits, counters };
        loop {
            let due = port.next_wake().unwrap_or(NEVER);
            let arrives = from.next_landing();
            if due.min(arrives) > until {
                return;
            }
            if arrives < due {
                let (token, _) = from.take_first(losses.frames, 0);
                losses.counters.arrived += 1;
                if sojourn.is_some() {
                    losses.frames.note_entry(token.frame, arrives);
                }
                port.arrive(arrives, token, &mut losses);
                continue;
            }
            *wake_ups += 1;
            if let Some(Departure { at, started, packet, .. }) = port.poll(due, &mut losses) {
                if let Some(sojourn) = sojourn {
                    note_sojourn(sojourn, packet.frame, started, losses.frames);
                }
                let frame = losses.frames.get_mut(packet.frame);
                frame.dsfield = goodqueue::Packet::dsfield(&packet);
                let fate = propagation.begin(due, at, packet.frame, frame);
                losses.apply(fate, at, packet.frame);
            }
        }
    }

    /// The observer that frees what the queues of this link drop.
    pub(crate) fn losses<'a>(&'a mut self, frames: &'a mut Frames) -> Losses<'a> {
        Losses { link: self.number, frames, credits: &mut self.credits, counters: &mut self.counters }
    }

    /// When its device acts next if nothing arrives.
    pub(crate) fn next_wake(&self) -> Nanos {
        self.device.as_ref().map_or(NEVER, Device::next_wake)
    }

    /// See [`Device::configure`].
    pub(crate) fn configure(
        &mut self,
        now: Nanos,
        queue: &QueueSpec,
        frames: &mut Frames,
    ) -> Option<Result<(), QueueError>> {
        let mut losses =
            Losses { link: self.number, frames, credits: &mut self.credits, counters: &mut self.counters };
        self.device.as_mut()?.configure(now, queue, self.nominal, &mut losses)
    }

    /// Handles a pause frame: the line stops or continues.
    pub(crate) fn set_paused(&mut self, now: Nanos, is_paused: bool, frames: &mut Frames) {
        let Some(device) = &mut self.device else { return };
        let mut losses =
            Losses { link: self.number, frames, credits: &mut self.credits, counters: &mut self.counters };
        device.set_paused(now, is_paused, &mut losses);
    }
}

fn note_sojourn(sojourn: &mut Sojourn, id: FrameId, started: Nanos, frames: &Frames) {
    if let Some(entered) = frames.entered(id) {
        sojourn.note(entered, started);
    }
}

/// Frees and counts what a queue drops.
pub(crate) struct Losses<'a> {
    link: u32,
    frames: &'a mut Frames,
    credits: &'a mut Credits,
    counters: &'a mut LinkCounters,
}

impl Losses<'_> {
    /// See [`Link::apply`].
    #[inline(always)]
    fn apply(&mut self, fate: Fate, at: Nanos, id: FrameId) {
        match fate {
            Fate::Behind(before) => self.frames.follow(before, id),
            Fate::Lost => self.lost(at, id),
            Fate::Refused => self.refuse(at, id),
            Fate::Arrived | Fate::First(_) => {}
        }
    }

    /// A FIFO is full at `at`.
    #[cold]
    fn refuse(&mut self, at: Nanos, id: FrameId) {
        let token = self.frames.get(id).token(id);
        self.dropped(at, token, Reason::Limit);
    }

    /// A frame is lost behind the line, which it left at `at`.
    #[cold]
    fn lost(&mut self, at: Nanos, id: FrameId) {
        self.counters.drops[Reason::Loss as usize] += 1;
        self.frames.tell(at, self.link, id, What::Dropped(Reason::Loss));
        self.frames.lose(id);
    }
}

impl Observer<Token> for Losses<'_> {
    fn dropped(&mut self, now: Nanos, packet: Token, reason: Reason) {
        self.counters.drops[reason as usize] += 1;
        self.frames.tell(now, self.link, packet.frame, What::Dropped(reason));
        let frame = self.frames.get(packet.frame);
        if frame.is_owed {
            // Credits that are completed later come after it.
            self.credits.push_first(Credit { at: now, flow: frame.owner, truesize: frame.owed() });
        }
        self.frames.lose(packet.frame);
    }

    fn marked(&mut self, now: Nanos, packet: &Token, reason: Reason) {
        self.counters.marks += 1;
        self.frames.get_mut(packet.frame).dsfield = goodqueue::Packet::dsfield(packet);
        self.frames.tell(now, self.link, packet.frame, What::Marked(reason));
    }

    fn washed(&mut self, packet: &Token) {
        self.frames.get_mut(packet.frame).dsfield = goodqueue::Packet::dsfield(packet);
    }
}

impl PacketInfo<Token> for Losses<'_> {
    fn details(&self, packet: &Token) -> Details {
        self.frames.details(packet)
    }

    fn segment(&mut self, packet: &Token, index: u16) -> Option<Token> {
        let segment = self.frames.split(packet, index);
        // The super-packet was counted when it arrived, which covers the first segment.
        let is_more = u64::from(index > 0 && segment.is_some());
        self.counters.arrived += is_more;
        self.counters.cut += is_more;
        segment
    }

    /// A segment that is still in its sender's own device has a socket there, and a departure time.
    fn origin(&self, packet: &Token) -> Origin {
        let frame = self.frames.get(packet.frame);
        if !frame.is_owed {
            return Origin::default();
        }
        let (id, hash) = (u64::from(frame.owner), frame.flow_hash);
        Origin {
            socket: Some(Socket { id, hash, is_connected: true }),
            departure: Some(frame.lands).filter(|at| *at > Nanos::ZERO),
            priority: 0,
        }
    }

    fn tcp(&self, packet: &Token) -> Option<TcpHeader> {
        self.frames.tcp(packet)
    }
}

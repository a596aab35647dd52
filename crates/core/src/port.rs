//! What stands between a host and a wire: queue, device ring, serial line.
//!
//! ```text
//!  arrive ──► queue ──► device ring (optional, with or without BQL) ──► serial line ──► Departure
//! ```
//!
//! [`Port`] is a sans-IO state machine in *logical time*. A departure carries the time at which its
//! last bit leaves the line, and the next packet is taken at exactly that time, however late the
//! owner's timer woke: lateness never costs the line rate.
//!
//! # How to drive it
//!
//! 1. `poll(now)` until it returns `None`;
//! 2. `arrive(now, ..)` for what has come in;
//! 3. sleep until [`Port::next_wake`] or the next arrival.
//!
//! # Order of events
//!
//! Events are handled in the order of their time. At one and the same time:
//!
//! 1. the line ends a packet (the departure is returned to the owner before anything else happens);
//! 2. the device reports completions: ring entries become free, BQL is told;
//! 3. the queue is asked again for a packet that its shaper held back.
//!
//! After the last event of a step the ring is refilled from the queue, then the line takes the next
//! packet. An arrival is handled after all events due at its time, as the driving order above says.

use alloc::boxed::Box;
use alloc::vec;

use crate::{Backlog, Bytes, Dql, Nanos, Observer, Packet, Queue, Serializer, Span, Verdict};

/// A packet that has left the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure<P> {
    /// When its last bit left (the logical end of its serialization), never later than the `now` of
    /// the call that returned it.
    pub at: Nanos,
    /// When its first bit left. Time in queue and ring is this minus the time of arrival.
    pub started: Nanos,
    /// The packet.
    pub packet: P,
}

/// A device ring, as a driver's transmit descriptor ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingSpec {
    /// Descriptors; each holds one packet from the time the driver gets it until its completion is
    /// handled. At least 1; zero is taken as 1.
    pub entries: u32,
    /// Byte queue limits (Linux `lib/dynamic_queue_limits.c`): hold the ring just long enough.
    pub bql: bool,
    /// From the end of a serialization until the device reports it, together with all others ended
    /// by then (interrupt coalescing). Zero: each end is reported at once.
    pub coalesce: Span,
}

/// What a line has done; never reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortStats {
    /// Packets whose serialization has ended.
    pub packets: u64,
    /// Their bytes ([`Packet::len`]).
    pub bytes: u64,
    /// Time the line spent on them. `bytes * 8 / busy` is the rate of the line while it is busy.
    pub busy: Span,
    /// Time the line stood idle while queue or ring held a packet. Zero without a ring and without a
    /// shaper in the queue; otherwise time that a shaper held back or that BQL starved.
    pub idle_backlogged: Span,
    /// Packets that left queue and ring with a stand-still before them: the number of busy periods.
    pub busy_periods: u64,
    /// Calls with a `now` before that of an earlier call; they were taken as if at the later time.
    pub clock_backward: u64,
}

/// The packet on the line.
#[derive(Clone, Copy, Debug)]
struct Service<P> {
    packet: P,
    started: Nanos,
    ends: Nanos,
}

/// The state of a device ring: a circular list of packets the driver has and the line has not begun,
/// and a count of descriptors whose packets have left but are not reported yet.
#[derive(Debug)]
struct Ring<P> {
    slots: Box<[P]>,
    head: usize,
    waiting: usize,
    waiting_bytes: u64,
    /// Packets that have left the line and are not reported.
    ended: usize,
    ended_bytes: u64,
    /// When the device reports them.
    report: Option<Nanos>,
    coalesce: Span,
    /// Byte queue limits, and whether their clock has been set (at the first packet).
    dql: Option<Dql>,
    dql_started: bool,
}

/// Ticks per second of BQL's clock (Linux jiffies): its hold time is one second's worth of them.
const HZ: u32 = 1000;

impl<P: Packet> Ring<P> {
    fn new(spec: RingSpec) -> Ring<P> {
        Ring {
            slots: vec![P::default(); spec.entries.max(1) as usize].into_boxed_slice(),
            head: 0,
            waiting: 0,
            waiting_bytes: 0,
            ended: 0,
            ended_bytes: 0,
            report: None,
            coalesce: spec.coalesce,
            dql: spec.bql.then(|| Dql::new(HZ, Nanos::ZERO)),
            dql_started: false,
        }
    }

    /// Whether the driver takes another packet: a descriptor is free and BQL allows it. `on_line` is
    /// the descriptor whose packet is being sent.
    fn has_room(&self, on_line: usize) -> bool {
        let free = self.waiting + self.ended + on_line < self.slots.len();
        free && self.dql.as_ref().is_none_or(|dql| dql.avail() >= 0)
    }

    fn push(&mut self, now: Nanos, packet: P) {
        if let Some(dql) = &mut self.dql {
            if !self.dql_started {
                dql.reset(now);
                self.dql_started = true;
            }
            dql.queued(packet.len());
        }
        let tail = (self.head + self.waiting) % self.slots.len();
        self.slots[tail] = packet;
        self.waiting += 1;
        self.waiting_bytes += u64::from(packet.len());
    }

    fn pop(&mut self) -> Option<P> {
        if self.waiting == 0 {
            return None;
        }
        let packet = self.slots[self.head];
        self.head = (self.head + 1) % self.slots.len();
        self.waiting -= 1;
        self.waiting_bytes -= u64::from(packet.len());
        Some(packet)
    }

    /// The line has ended a packet: the device will report it.
    fn end(&mut self, at: Nanos, bytes: u32) {
        self.ended += 1;
        self.ended_bytes += u64::from(bytes);
        if self.report.is_none() {
            self.report = Some(at + self.coalesce);
        }
    }

    /// The device reports all that have ended: descriptors are free again, BQL is told.
    #[allow(clippy::cast_possible_truncation)]
    fn complete(&mut self, now: Nanos) {
        if let Some(dql) = &mut self.dql {
            // A ring holds far less than 4 GiB.
            dql.completed(now, self.ended_bytes as u32);
        }
        self.ended = 0;
        self.ended_bytes = 0;
        self.report = None;
    }
}

/// A queue, an optional device ring and a serial line. See the [module](self) for how to drive it.
///
/// All storage is taken when it is made; no later call allocates.
#[derive(Debug)]
pub struct Port<P, Q> {
    queue: Q,
    ring: Option<Ring<P>>,
    /// `None`: a line without a rate, on which serialization takes no time.
    line: Option<Serializer>,
    service: Option<Service<P>>,
    /// When the queue can deliver next, where it held back when last asked.
    retry: Option<Nanos>,
    /// Since when the line is idle with something waiting.
    waiting_since: Option<Nanos>,
    /// The end of the last serialization.
    last_end: Option<Nanos>,
    clock: Nanos,
    stats: PortStats,
}

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    LineEnds,
    RingReports,
    QueueRetries,
}

impl<P: Packet, Q: Queue<P>> Port<P, Q> {
    /// A port over `queue`. `line` without a value serialises in no time; `ring` without a value lets
    /// the queue feed the line directly.
    #[must_use]
    pub fn new(queue: Q, ring: Option<RingSpec>, line: Option<Serializer>) -> Port<P, Q> {
        Port {
            queue,
            ring: ring.map(Ring::new),
            line,
            service: None,
            retry: None,
            waiting_since: None,
            last_end: None,
            clock: Nanos::ZERO,
            stats: PortStats::default(),
        }
    }

    /// Hands `packet` to the queue at `now` and lets an idle line begin. The owner has polled all
    /// that is due at `now` before; where it has not, what is due is handled at `now` and not earlier.
    pub fn arrive(&mut self, now: Nanos, packet: P, observer: &mut impl Observer<P>) -> Verdict {
        let now = self.advance(now);
        let verdict = self.queue.enqueue(now, packet, observer);
        self.feed(now, observer);
        verdict
    }

    /// The next packet that has left the line at or before `now`; call until `None`.
    pub fn poll(&mut self, now: Nanos, observer: &mut impl Observer<P>) -> Option<Departure<P>> {
        while let Some((at, event)) = self.next_event() {
            if at > now {
                break;
            }
            // An arrival that was handed in before older events were polled has moved the clock on.
            let at = Nanos(at.0.max(self.clock.0));
            self.clock = at;
            match event {
                Event::LineEnds => {
                    let departure = self.end_of_line();
                    self.feed(at, observer);
                    if departure.is_some() {
                        return departure;
                    }
                }
                Event::RingReports => {
                    self.complete_ring(at);
                    self.feed(at, observer);
                }
                Event::QueueRetries => {
                    self.retry = None;
                    self.feed(at, observer);
                }
            }
        }
        self.advance(now);
        None
    }

    /// When to poll next if nothing arrives: exact. `None` where nothing is under way.
    #[must_use]
    pub fn next_wake(&self) -> Option<Nanos> {
        self.next_event().map(|(at, _)| at)
    }

    /// What the queue holds; ring and line not included.
    pub fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    /// What the device ring holds that has not left the line, the packet on the line included; without
    /// a ring, the packet on the line.
    pub fn ring_backlog(&self) -> Backlog {
        let on_line = self.service.as_ref().map_or(0, |s| u64::from(s.packet.len()));
        let (packets, bytes) = self.ring.as_ref().map_or((0, 0), |r| (r.waiting, r.waiting_bytes));
        let packets = u32::try_from(packets).unwrap_or(u32::MAX);
        Backlog { packets: packets + u32::from(self.service.is_some()), bytes: bytes + on_line }
    }

    /// Byte queue limits of the ring, where it has them.
    pub fn dql(&self) -> Option<&Dql> {
        self.ring.as_ref().and_then(|ring| ring.dql.as_ref())
    }

    /// What the line has done.
    pub fn stats(&self) -> PortStats {
        self.stats
    }

    /// The queue, to read its statistics.
    pub fn queue(&self) -> &Q {
        &self.queue
    }

    /// Moves the clock to `now`, or counts that it would have gone backward.
    fn advance(&mut self, now: Nanos) -> Nanos {
        if now < self.clock {
            self.stats.clock_backward += 1;
        } else {
            self.clock = now;
        }
        self.clock
    }

    /// The earliest event, in the documented order at equal times.
    fn next_event(&self) -> Option<(Nanos, Event)> {
        let ends = self.service.as_ref().map(|s| (s.ends, Event::LineEnds));
        let reports = self.ring.as_ref().and_then(|r| r.report).map(|at| (at, Event::RingReports));
        let retries = self.retry.map(|at| (at, Event::QueueRetries));
        // `min_by_key` returns the first of equal ones.
        [ends, reports, retries].into_iter().flatten().min_by_key(|&(at, _)| at)
    }

    /// The line has ended its packet.
    fn end_of_line(&mut self) -> Option<Departure<P>> {
        let Service { packet, started, ends } = self.service.take()?;
        self.last_end = Some(ends);
        self.stats.packets += 1;
        self.stats.bytes += u64::from(packet.len());
        self.stats.busy = self.stats.busy + ends.since(started);
        let mut at_once = false;
        if let Some(ring) = &mut self.ring {
            ring.end(ends, packet.len());
            at_once = ring.report == Some(ends);
        }
        if at_once {
            self.complete_ring(ends);
        }
        Some(Departure { at: ends, started, packet })
    }

    /// The device reports what has ended.
    fn complete_ring(&mut self, now: Nanos) {
        if let Some(ring) = &mut self.ring {
            ring.complete(now);
        }
    }

    /// Moves packets on at `now`: queue to ring as far as there is room, then one to an idle line.
    fn feed(&mut self, now: Nanos, observer: &mut impl Observer<P>) {
        self.retry = None;
        if self.ring.is_some() {
            self.fill_ring(now, observer);
        }
        if self.service.is_none() {
            let next = match &mut self.ring {
                Some(ring) => ring.pop(),
                None => self.ask_queue(now, observer),
            };
            match next {
                Some(packet) => self.begin(now, packet),
                None => self.note_waiting(now),
            }
        }
    }

    fn fill_ring(&mut self, now: Nanos, observer: &mut impl Observer<P>) {
        loop {
            let on_line = usize::from(self.service.is_some());
            if !self.ring.as_ref().is_some_and(|ring| ring.has_room(on_line)) {
                return;
            }
            let Some(packet) = self.ask_queue(now, observer) else { return };
            if let Some(ring) = &mut self.ring {
                ring.push(now, packet);
            }
        }
    }

    /// Dequeues, and remembers when to ask again where the queue holds back.
    fn ask_queue(&mut self, now: Nanos, observer: &mut impl Observer<P>) -> Option<P> {
        let packet = self.queue.dequeue(now, observer);
        self.retry = match packet {
            Some(_) => None,
            // A queue that would say `now` again here breaks its contract; do not spin on it.
            None => self.queue.next_wake(now).map(|at| Nanos(at.0.max(now.0.saturating_add(1)))),
        };
        packet
    }

    /// The line takes `packet` at `now`.
    fn begin(&mut self, now: Nanos, packet: P) {
        let time = self.line.as_mut().map_or(Span::ZERO, |l| l.tx_time(Bytes(u64::from(packet.len()))));
        if let Some(since) = self.waiting_since.take() {
            self.stats.idle_backlogged = self.stats.idle_backlogged + now.since(since);
        }
        if self.last_end != Some(now) {
            self.stats.busy_periods += 1;
        }
        self.service = Some(Service { packet, started: now, ends: now + time });
    }

    /// The line stays idle at `now`: remember it where something waits.
    fn note_waiting(&mut self, now: Nanos) {
        if self.queue.backlog().packets == 0 {
            self.waiting_since = None;
        } else if self.waiting_since.is_none() {
            self.waiting_since = Some(now);
        }
    }
}

//! What is between a host and a wire: queue, device ring, serial line.
//!
//! ```text
//!  arrive ──► queue ──► device ring (optional, with or without BQL) ──► serial line ──► Departure
//! ```
//!
//! [`Port`] has one queue, [`MultiPort`] one for each of a device's transmit rings. Both are sans-IO
//! state machines in *logical time*. A departure carries the time at which its last bit leaves the line,
//! and the next packet is taken at exactly that time, however late the owner's timer woke: lateness
//! never costs the line rate.
//!
//! # How to drive it
//!
//! 1. `poll(now)` until it returns `None`;
//! 2. `arrive(now, ..)` for what has come in, `pause(now)` and `resume(now, ..)` for what the receiver
//!    asked;
//! 3. sleep until [`Port::next_wake`] or the next arrival.
//!
//! `Nanos(u64::MAX)` stands for "never": nothing happens then.
//!
//! # Order of events
//!
//! Events are handled in the order of their time. At one and the same time:
//!
//! 1. the line ends a packet, which is the departure that `poll` returns;
//! 2. the device reports completions: ring entries become free, BQL is told (of several rings that of
//!    the lowest number first);
//! 3. the queue is asked again for a packet that its shaper held back (of several queues that of the
//!    lowest number first).
//!
//! After each event the ring is refilled from the queue, then the line takes the next packet. An arrival,
//! a pause or its end is handled after all events due at its time, as the driving order above says.
//!
//! # Completions
//!
//! [`Departure::completed_at`] says when the descriptor of a packet is reported, which is when Linux frees
//! the packet and credits its socket (TCP small queues). It is known when the packet departs, and it
//! never descends from one departure of a ring to the next. [`Port::next_wake`] is never after it.

mod flow_control;
mod line;
mod mq;
mod ring;
mod schedule;
mod trace;
mod transmitter;

pub use flow_control::{FlowControl, Watermarks};
pub use line::Line;
pub use mq::MultiPort;
pub use ring::RingSpec;
pub use schedule::{Schedule, ScheduleError};
pub use trace::{Trace, TraceError};
pub use transmitter::PortStats;

use crate::{Backlog, Dql, Nanos, Owner, Packet, Queue, Span, Verdict};
use ring::Ring;
use transmitter::Transmitter;

/// The time of what does not happen.
const NEVER: Nanos = Nanos(u64::MAX);

/// A packet that has left the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure<P> {
    /// When its last bit left (the logical end of its serialization), never later than the `now` of
    /// the call that returned it.
    pub at: Nanos,
    /// When its first bit left. Time in queue and ring is this minus the time of arrival.
    pub started: Nanos,
    /// When the device reports it: [`Departure::at`] or, with coalescing, up to [`RingSpec::coalesce`]
    /// later, and then mostly after this departure was returned. Without a ring: [`Departure::at`].
    pub completed_at: Nanos,
    /// The packet.
    pub packet: P,
}

/// A queue, an optional device ring and a serial line. See the [module](self) for how to drive it.
///
/// All storage is taken when it is made; no later call allocates.
#[derive(Debug)]
pub struct Port<P, Q> {
    queue: Q,
    /// When the queue can deliver next, where it held back when last asked; else [`NEVER`].
    retry: Nanos,
    ring: Option<Ring<P>>,
    transmitter: Transmitter<P>,
    /// The time of the earliest event; [`NEVER`] where there is none.
    next: Nanos,
}

impl<P: Packet, Q: Queue<P>> Port<P, Q> {
    /// A port over `queue`. `ring` without a value lets the queue feed the line directly.
    #[must_use]
    pub fn new(queue: Q, ring: Option<RingSpec>, line: Line) -> Port<P, Q> {
        Port {
            queue,
            retry: NEVER,
            ring: ring.map(Ring::new),
            transmitter: Transmitter::new(line),
            next: NEVER,
        }
    }

    /// Hands `packet` to the queue at `now` and lets an idle line begin. The owner has polled all
    /// that is due at `now` before; where it has not, what is due is handled at `now` and not earlier.
    // The simulator's bars need it inlined: docs/performance.md, "Inlining". The attributes of the port
    // keep it within its bar: without them it adds 240 to 373 instructions to a packet, with them 112 to
    // 178; the bar is 180.
    #[inline(always)]
    pub fn arrive(&mut self, now: Nanos, packet: P, observer: &mut impl Owner<P>) -> Verdict {
        let now = self.transmitter.advance(now);
        let verdict = self.queue.enqueue(now, packet, observer);
        if self.transmitter.is_ready() || self.ring.is_some() {
            self.feed_after_arrival(now, observer);
        }
        verdict
    }

    /// The next packet that has left the line at or before `now`; call until `None`.
    #[inline(always)]
    pub fn poll(&mut self, now: Nanos, observer: &mut impl Owner<P>) -> Option<Departure<P>> {
        while self.next <= now && self.next != NEVER {
            let due = self.next;
            let at = self.transmitter.advance_to_event(due);
            if self.transmitter.ends() == due {
                let mut departure = self.transmitter.end();
                if let Some(ring) = &mut self.ring {
                    departure.completed_at = ring.end(departure.at, departure.packet.len());
                }
                self.feed(at, observer);
                return Some(departure);
            }
            match &mut self.ring {
                Some(ring) if ring.report() == due => ring.complete(at),
                _ => self.retry = NEVER,
            }
            self.feed(at, observer);
        }
        self.transmitter.advance(now);
        None
    }

    /// When to poll next if nothing arrives: exact. `None` where nothing is under way.
    #[must_use]
    #[inline]
    pub fn next_wake(&self) -> Option<Nanos> {
        if self.next == NEVER { None } else { Some(self.next) }
    }

    /// The receiver has asked for a pause (IEEE 802.3 annex 31B): the line ends the packet it has begun
    /// and begins no other; queue and ring go on filling. Without effect during a pause.
    pub fn pause(&mut self, now: Nanos) {
        self.transmitter.pause(now);
    }

    /// Ends a pause, and lets an idle line begin. Without effect where there is none.
    pub fn resume(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
        let now = self.transmitter.advance(now);
        if self.transmitter.resume(now) {
            self.feed(now, observer);
        }
    }

    /// When the next packet leaves at the soonest if nothing arrives: exact while one is on the line. `None`
    /// where nothing is under way.
    #[must_use]
    #[inline]
    pub fn next_departure(&self) -> Option<Nanos> {
        if self.transmitter.is_busy() { Some(self.transmitter.ends()) } else { self.next_wake() }
    }

    /// Whether a packet is on the line: until it ends, no arrival brings [`Port::next_wake`] forward, unless
    /// the queue holds back.
    #[must_use]
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.transmitter.is_busy()
    }

    /// Whether the line is paused.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.transmitter.is_paused()
    }

    /// What the queue holds; ring and line not included.
    pub fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    /// What the device ring holds that has not left the line, the packet on the line included; without
    /// a ring, the packet on the line.
    pub fn ring_backlog(&self) -> Backlog {
        let (packets, bytes) = self.ring.as_ref().map_or((0, 0), Ring::waiting);
        let packets = u32::try_from(packets).unwrap_or(u32::MAX);
        Backlog {
            packets: packets.saturating_add(u32::from(self.transmitter.is_busy())),
            bytes: bytes + self.transmitter.bytes_on_line(),
        }
    }

    /// Byte queue limits of the ring, where it has them.
    pub fn dql(&self) -> Option<&Dql> {
        self.ring.as_ref().and_then(Ring::dql)
    }

    /// What the line has done.
    pub fn stats(&self) -> PortStats {
        self.transmitter.stats()
    }

    /// Time that the line spent on packets by `now`, the time of the latest call or a later one. The packet
    /// on the line counts up to then, so between two times it never grows by more than what lies between
    /// them. A line that waits for its rate to rise, or for its trace to go on, with a packet on it spends
    /// that time on the packet.
    #[must_use]
    pub fn busy_by(&self, now: Nanos) -> Span {
        self.transmitter.busy_by(now)
    }

    /// The queue, to read its statistics.
    pub fn queue(&self) -> &Q {
        &self.queue
    }

    /// [`Port::feed`], out of line: most arrivals find the line busy.
    #[inline(never)]
    fn feed_after_arrival(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
        let has_room = |ring: &Ring<P>| ring.has_room(self.transmitter.is_busy());
        if self.transmitter.is_ready() || self.ring.as_ref().is_some_and(has_room) {
            self.feed(now, observer);
        }
    }

    /// Moves packets on at `now`: queue to ring as far as there is room, then one to an idle line.
    #[inline(always)]
    fn feed(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
        if self.ring.is_some() {
            self.feed_through_ring(now, observer);
            return;
        }
        if self.transmitter.is_ready() {
            let packet = ask(&mut self.queue, &mut self.retry, now, observer);
            self.begin_or_wait(now, packet);
        }
        self.next = self.transmitter.ends().min(self.retry);
    }

    fn feed_through_ring(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
        let Some(ring) = &mut self.ring else { return };
        let is_busy = self.transmitter.is_busy();
        fill(ring, is_busy, &mut self.queue, &mut self.retry, now, observer);
        if self.transmitter.is_ready() {
            let packet = ring.pop();
            self.begin_or_wait(now, packet);
        }
        let report = self.ring.as_ref().map_or(NEVER, Ring::report);
        self.next = self.transmitter.ends().min(report).min(self.retry);
    }

    #[inline(always)]
    fn begin_or_wait(&mut self, now: Nanos, packet: Option<P>) {
        match packet {
            Some(packet) => self.transmitter.begin(now, packet),
            None => self.transmitter.stay_idle(now, self.queue.backlog().packets > 0),
        }
    }
}

/// Dequeues, and remembers when to ask again where the queue holds back.
#[inline(always)]
fn ask<P: Packet, Q: Queue<P>>(
    queue: &mut Q,
    retry: &mut Nanos,
    now: Nanos,
    observer: &mut impl Owner<P>,
) -> Option<P> {
    let packet = queue.dequeue(now, observer);
    *retry = match packet {
        Some(_) => NEVER,
        // A queue that would say `now` again here breaks its contract; do not spin on it.
        None => queue.next_wake(now).map_or(NEVER, |at| at.max(now + crate::Span(1))),
    };
    packet
}

/// Moves packets from queue to ring as far as there is room. `on_line`: a descriptor of this ring holds
/// the packet on the line.
fn fill<P: Packet, Q: Queue<P>>(
    ring: &mut Ring<P>,
    on_line: bool,
    queue: &mut Q,
    retry: &mut Nanos,
    now: Nanos,
    observer: &mut impl Owner<P>,
) {
    *retry = NEVER;
    while ring.has_room(on_line) {
        let Some(packet) = ask(queue, retry, now, observer) else { return };
        ring.push(now, packet);
    }
}

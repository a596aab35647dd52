//! The path from a host to a wire: queue, device ring, serial line.
//!
//! ```text
//!  arrive ──► queue ──► device ring (optional, with or without BQL) ──► serial line ──► Departure
//! ```
//!
//! [`Port`] has one queue, [`MultiPort`] one for each of a device's transmit rings. Both are sans-IO state
//! machines in *logical time*. A departure has the time at which its last bit leaves the line, and the next
//! packet starts at exactly that time, however late the owner's timer fires. So lateness never reduces the
//! rate of the line.
//!
//! # How to drive it
//!
//! 1. `poll(now)` until it returns `None`;
//! 2. `arrive(now, ..)` for arrivals, `pause(now)` and `resume(now, ..)` for requests of the receiver;
//! 3. sleep until [`Port::next_wake`] or the next arrival.
//!
//! `Nanos(u64::MAX)` means "never".
//!
//! # Example
//!
//! Two packets of 1250 bytes on a line of 10 Mbit/s take 1 ms each.
//!
//! ```
//! use goodqueue::{Header, Ignore, Line, Nanos, Port, QueueSpec, Rate, Serializer, Span};
//!
//! let (rate, spec) = (Rate(10_000_000), "fq_codel".parse::<QueueSpec>()?);
//! let queue = spec.build::<Header>(rate, 1514, Nanos::ZERO)?;
//! let mut port = Port::new(queue, None, Line::from(Serializer::new(rate)));
//! for cookie in 1..=2 {
//!     let packet = Header { cookie, len: 1250, truesize: 2304, ..Header::default() };
//!     port.arrive(Nanos::ZERO, packet, &mut Ignore);
//! }
//! let mut left = Vec::new();
//! while let Some(now) = port.next_wake() {
//!     while let Some(departure) = port.poll(now, &mut Ignore) {
//!         left.push((departure.packet.cookie, departure.at.since(Nanos::ZERO)));
//!     }
//! }
//! assert_eq!(left, [(1, Span::from_millis(1)), (2, Span::from_millis(2))]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Order of events
//!
//! Events are handled in order of time. At the same time:
//!
//! 1. the line ends a packet, which is the departure that `poll` returns;
//! 2. the device reports completions: ring entries become free, and BQL is updated (of several rings, the
//!    lowest number first);
//! 3. the queue is polled again for a packet that its shaper held back (of several queues, the lowest number
//!    first).
//!
//! After each event the ring is refilled from the queue, then the line takes the next packet. An arrival, a
//! pause or its end is handled after all events due at the same time, as in the driving order above.
//!
//! # Completions
//!
//! [`Departure::completed_at`] is the time when the descriptor of a packet is reported. Linux then frees the
//! packet and credits its socket (TCP small queues). The time is known when the packet departs, and it never
//! decreases from one departure of a ring to the next. [`Port::next_wake`] is never after it.

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

/// The time of an event that never happens.
const NEVER: Nanos = Nanos(u64::MAX);

/// A packet that has left the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure<P> {
    /// When its last bit left (the logical end of its serialization), never later than the `now` of
    /// the call that returned it.
    pub at: Nanos,
    /// When its first bit left. Time in queue and ring is this minus the time of arrival.
    pub started: Nanos,
    /// When the device reports it: [`Departure::at`] or, with coalescing, up to [`RingSpec::coalesce`] later,
    /// which is usually after this departure was returned. Without a ring: [`Departure::at`].
    pub completed_at: Nanos,
    /// The packet.
    pub packet: P,
}

/// A queue, an optional device ring and a serial line. See the [module](self) for how to drive it.
///
/// `new` allocates all storage; no later call allocates.
#[derive(Debug)]
pub struct Port<P, Q> {
    queue: Q,
    /// When the queue can deliver next, if it held a packet back at the last poll; otherwise [`NEVER`].
    retry: Nanos,
    ring: Option<Ring<P>>,
    transmitter: Transmitter<P>,
    /// The time of the earliest event; [`NEVER`] if there is none.
    next: Nanos,
}

impl<P: Packet, Q: Queue<P>> Port<P, Q> {
    /// A port over `queue`. If `ring` is `None`, the queue feeds the line directly.
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

    /// Enqueues `packet` at `now` and starts an idle line. The owner must have polled everything due at `now`
    /// before; otherwise what is due is handled at `now` and not earlier.
    // All attributes of `port/`: without the forced ones a packet takes 40 to 58 % longer, and without the
    // plain ones the simulator misses its bar. docs/performance.md, "What the inline attributes gain in
    // time".
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

    /// When to poll next if nothing arrives: exact. `None` if there is nothing to send.
    #[must_use]
    #[inline]
    pub fn next_wake(&self) -> Option<Nanos> {
        if self.next == NEVER { None } else { Some(self.next) }
    }

    /// The receiver requests a pause (IEEE 802.3 annex 31B): the line finishes its packet and begins no
    /// other; queue and ring continue to fill. It has no effect during a pause.
    pub fn pause(&mut self, now: Nanos) {
        self.transmitter.pause(now);
    }

    /// Ends a pause and starts an idle line. It has no effect if there is no pause.
    pub fn resume(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
        let now = self.transmitter.advance(now);
        if self.transmitter.resume(now) {
            self.feed(now, observer);
        }
    }

    /// The earliest time of the next departure if nothing arrives: exact while a packet is on the line.
    /// `None` if there is nothing to send.
    #[must_use]
    #[inline]
    pub fn next_departure(&self) -> Option<Nanos> {
        if self.transmitter.is_busy() { Some(self.transmitter.ends()) } else { self.next_wake() }
    }

    /// Whether a packet is on the line. Until it ends, no arrival makes [`Port::next_wake`] earlier, unless
    /// the queue holds packets back.
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

    /// Sets another line from the next packet on. The packet on the old line ends when it would have ended.
    pub fn set_line(&mut self, line: Line) {
        self.transmitter.set_line(line);
    }

    /// Calls `change` to give the queue other parameters at `now`. A packet that may then leave earlier does
    /// so. As with [`Port::arrive`], the owner must have polled everything due at `now` before.
    pub fn change_queue<O: Owner<P>, T>(
        &mut self,
        now: Nanos,
        observer: &mut O,
        change: impl FnOnce(&mut Q, Nanos, &mut O) -> T,
    ) -> T {
        let now = self.transmitter.advance(now);
        let result = change(&mut self.queue, now, observer);
        self.feed(now, observer);
        result
    }

    /// Backlog of the queue, without ring and line.
    pub fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    /// Packets in the device ring that have not left the line, including the packet on the line; without a
    /// ring, the packet on the line.
    pub fn ring_backlog(&self) -> Backlog {
        let (packets, bytes) = self.ring.as_ref().map_or((0, 0), Ring::waiting);
        let packets = u32::try_from(packets).unwrap_or(u32::MAX);
        Backlog {
            packets: packets.saturating_add(u32::from(self.transmitter.is_busy())),
            bytes: bytes + self.transmitter.bytes_on_line(),
        }
    }

    /// Byte queue limits of the ring, if it has them.
    pub fn dql(&self) -> Option<&Dql> {
        self.ring.as_ref().and_then(Ring::dql)
    }

    /// Statistics of the line.
    pub fn stats(&self) -> PortStats {
        self.transmitter.stats()
    }

    /// Time that the line has spent on packets by `now`, which is the time of the latest call or later. The
    /// packet on the line counts up to `now`, so the value never grows by more than the elapsed time. If a
    /// line with a packet on it waits for its rate to rise or for its trace, that time counts.
    #[must_use]
    pub fn busy_by(&self, now: Nanos) -> Span {
        self.transmitter.busy_by(now)
    }

    /// The queue, to read its statistics.
    pub fn queue(&self) -> &Q {
        &self.queue
    }

    /// [`Port::feed`], not inlined: at most arrivals the line is busy.
    #[inline(never)]
    fn feed_after_arrival(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
        let has_room = |ring: &Ring<P>| ring.has_room(self.transmitter.is_busy());
        if self.transmitter.is_ready() || self.ring.as_ref().is_some_and(has_room) {
            self.feed(now, observer);
        }
    }

    /// Moves packets at `now`: from the queue to the ring while there is room, then one to an idle line.
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

/// Dequeues, and records when to poll again if the queue holds packets back.
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
        // A queue that returned `now` again here would break its contract; do not spin on it.
        None => queue.next_wake(now).map_or(NEVER, |at| at.max(now + crate::Span(1))),
    };
    packet
}

/// Moves packets from the queue to the ring while there is room. `on_line`: the packet on the line occupies a
/// descriptor of this ring.
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

//! A device with several transmit rings, each with its own queue, on one line (Linux `mq`).

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::ring::Ring;
use super::transmitter::Transmitter;
use super::{Departure, Line, NEVER, PortStats, RingSpec, fill};
use crate::hash::{mix, reciprocal_scale};
use crate::{Backlog, Dql, Nanos, Owner, Packet, Queue, Span, Verdict};

/// One transmit ring and the queue over it.
#[derive(Debug)]
struct Lane<P, Q> {
    queue: Q,
    retry: Nanos,
    ring: Ring<P>,
}

/// Several lanes of queue and ring that share one line. Flows are distributed over them by hash, and the
/// device serves the rings in turn, one packet each. Each ring has its own byte queue limits and coalescing.
///
/// Drive it like [`super::Port`]; see the [module](super). `new` allocates all storage.
#[derive(Debug)]
pub struct MultiPort<P, Q> {
    lanes: Box<[Lane<P, Q>]>,
    /// The lane whose packet is or was last on the line.
    serving: usize,
    transmitter: Transmitter<P>,
}

impl<P: Packet, Q: Queue<P>> MultiPort<P, Q> {
    /// A lane for each queue of `queues`, each with a ring specified by `ring`. `None` without a queue.
    #[must_use]
    pub fn new(queues: Vec<Q>, ring: RingSpec, line: Line) -> Option<MultiPort<P, Q>> {
        let lane = |queue| Lane { queue, retry: NEVER, ring: Ring::new(ring) };
        let lanes: Box<[_]> = queues.into_iter().map(lane).collect();
        let serving = lanes.len().checked_sub(1)?;
        Some(MultiPort { lanes, serving, transmitter: Transmitter::new(line) })
    }

    /// The number of lanes, at least 1.
    #[must_use]
    pub fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// The lane of flows with this hash: floor(mixed hash * lanes / 2^32) (Linux `reciprocal_scale`).
    ///
    /// The hash is mixed first. `fq_codel` takes its bucket from the high bits of the same hash. If the lane
    /// came from these bits too, each lane's `fq_codel` would use only 1/`lanes` of its buckets.
    #[must_use]
    pub fn lane_of(&self, flow_hash: u32) -> usize {
        reciprocal_scale(mix(flow_hash), self.lanes.len()) as usize
    }

    /// Enqueues `packet` in the queue of its lane at `now` and starts an idle line; see
    /// [`super::Port::arrive`].
    pub fn arrive(&mut self, now: Nanos, packet: P, observer: &mut impl Owner<P>) -> Verdict {
        let now = self.transmitter.advance(now);
        let lane = self.lane_of(packet.flow_hash());
        let verdict = self.lanes[lane].queue.enqueue(now, packet, observer);
        self.fill(lane, now, observer);
        self.send(now);
        verdict
    }

    /// The next packet that has left the line at or before `now`; call until `None`.
    pub fn poll(&mut self, now: Nanos, observer: &mut impl Owner<P>) -> Option<Departure<P>> {
        loop {
            let (due, event) = self.next_event();
            if due > now || due == NEVER {
                self.transmitter.advance(now);
                return None;
            }
            let at = self.transmitter.advance_to_event(due);
            let (lane, departure) = match event {
                Event::LineEnds => {
                    let mut departure = self.transmitter.end();
                    let ring = &mut self.lanes[self.serving].ring;
                    departure.completed_at = ring.end(departure.at, departure.packet.len());
                    (self.serving, Some(departure))
                }
                Event::RingReports(lane) => {
                    self.lanes[lane].ring.complete(at);
                    (lane, None)
                }
                Event::QueueRetries(lane) => (lane, None),
            };
            self.fill(lane, at, observer);
            self.send(at);
            if departure.is_some() {
                return departure;
            }
        }
    }

    /// When to poll next if nothing arrives: exact. `None` if there is nothing to send.
    #[must_use]
    pub fn next_wake(&self) -> Option<Nanos> {
        let (next, _) = self.next_event();
        if next == NEVER { None } else { Some(next) }
    }

    /// See [`super::Port::pause`]; it applies to all lanes.
    pub fn pause(&mut self, now: Nanos) {
        self.transmitter.pause(now);
    }

    /// Ends a pause and starts an idle line. It has no effect if there is no pause.
    pub fn resume(&mut self, now: Nanos) {
        let now = self.transmitter.advance(now);
        if self.transmitter.resume(now) {
            self.send(now);
        }
    }

    /// Whether the line is paused.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.transmitter.is_paused()
    }

    /// Backlog of the queues, without rings and line.
    pub fn backlog(&self) -> Backlog {
        self.lanes.iter().fold(Backlog::default(), |sum, lane| {
            let backlog = lane.queue.backlog();
            Backlog {
                packets: sum.packets.saturating_add(backlog.packets),
                bytes: sum.bytes.saturating_add(backlog.bytes),
            }
        })
    }

    /// Packets in the rings that have not left the line, including the packet on the line.
    pub fn ring_backlog(&self) -> Backlog {
        let on_line = Backlog {
            packets: u32::from(self.transmitter.is_busy()),
            bytes: self.transmitter.bytes_on_line(),
        };
        self.lanes.iter().fold(on_line, |sum, lane| {
            let (packets, bytes) = lane.ring.waiting();
            let packets = u32::try_from(packets).unwrap_or(u32::MAX);
            Backlog { packets: sum.packets.saturating_add(packets), bytes: sum.bytes.saturating_add(bytes) }
        })
    }

    /// Byte queue limits of the ring of `lane`; `None` if there is no such lane or it has none.
    pub fn dql(&self, lane: usize) -> Option<&Dql> {
        self.lanes.get(lane).and_then(|lane| lane.ring.dql())
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

    /// The queue of `lane`, if there is such a lane.
    pub fn queue(&self, lane: usize) -> Option<&Q> {
        self.lanes.get(lane).map(|lane| &lane.queue)
    }

    /// The earliest event, in the documented order at equal times.
    fn next_event(&self) -> (Nanos, Event) {
        let mut next = (self.transmitter.ends(), Event::LineEnds);
        for (lane, Lane { ring, .. }) in self.lanes.iter().enumerate() {
            if ring.report() < next.0 {
                next = (ring.report(), Event::RingReports(lane));
            }
        }
        for (lane, &Lane { retry, .. }) in self.lanes.iter().enumerate() {
            if retry < next.0 {
                next = (retry, Event::QueueRetries(lane));
            }
        }
        next
    }

    fn fill(&mut self, number: usize, now: Nanos, observer: &mut impl Owner<P>) {
        let on_line = self.transmitter.is_busy() && self.serving == number;
        let lane = &mut self.lanes[number];
        fill(&mut lane.ring, on_line, &mut lane.queue, &mut lane.retry, now, observer);
    }

    /// Gives an idle line the next packet, from the first nonempty ring after the one that was served last.
    fn send(&mut self, now: Nanos) {
        if !self.transmitter.is_ready() {
            return;
        }
        let count = self.lanes.len();
        let after = (self.serving + 1..count).chain(0..=self.serving);
        for lane in after {
            if let Some(packet) = self.lanes[lane].ring.pop() {
                self.serving = lane;
                self.transmitter.begin(now, packet);
                return;
            }
        }
        let is_backlogged = self.lanes.iter().any(|lane| lane.queue.backlog().packets > 0);
        self.transmitter.stay_idle(now, is_backlogged);
    }
}

/// The next event, and its lane.
#[derive(Clone, Copy, Debug)]
enum Event {
    LineEnds,
    RingReports(usize),
    QueueRetries(usize),
}

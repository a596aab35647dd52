//! One direction: port (queue, ring, line), loss, delay.

use goodqueue::{
    FlowHasher, Header, Histogram, Line, Nanos, Port, Queue, Rate, Reason, RingSpec, Rng, Serializer, Span,
};

use crate::channel::{Account, FrameObserver, Ready, frame_of, is_marked};
use crate::delay::DelayLines;
use crate::lab::MAX_HOSTS;
use crate::pool::Pool;
use crate::sample::{Count, PathReport, PathSample, place};
use crate::sys::packet::Slot;
use crate::{Error, Result};

/// The configuration of one direction, in the order of a packet's path: queue, device ring, line, loss,
/// delay.
#[derive(Debug)]
pub struct PathSpec<Q> {
    /// The queue.
    pub queue: Q,
    /// The device ring between queue and line; `None`: the queue feeds the line directly.
    pub ring: Option<RingSpec>,
    /// The rate of the line, counting the Ethernet header but no FCS, preamble or gap; `None`: unlimited, so
    /// serialization takes no time.
    pub rate: Option<Rate>,
    /// The probability that a packet is lost after the line, 0 to 1.
    pub loss: f64,
    /// One-way delay by server host, at most [`MAX_HOSTS`] values. Hosts beyond the list have its last value;
    /// an empty list means no delay.
    pub delays: Vec<Span>,
}

impl<Q> PathSpec<Q> {
    /// `queue` over an unlimited line without loss and delay.
    pub fn new(queue: Q) -> PathSpec<Q> {
        PathSpec { queue, ring: None, rate: None, loss: 0.0, delays: Vec::new() }
    }

    fn check(&self) -> Result<()> {
        if !(0.0..=1.0).contains(&self.loss) {
            return Err(Error::Invalid { what: "loss", wanted: "0 to 1", got: self.loss.to_string() });
        }
        if self.rate == Some(Rate(0)) {
            return Err(Error::Invalid { what: "the rate", wanted: "above 0 bit/s", got: "0bit".to_owned() });
        }
        if self.delays.len() > usize::from(MAX_HOSTS) {
            let got = self.delays.len().to_string();
            return Err(Error::Invalid { what: "delays", wanted: "at most 8 values", got });
        }
        Ok(())
    }
}

/// The running direction.
pub(crate) struct Path<Q> {
    port: Port<Header, Q>,
    rate: Option<Rate>,
    /// A packet is lost if 53 random bits are below this.
    loss_below: u64,
    rng: Rng,
    hasher: FlowHasher,
    delayed: DelayLines<Ready>,
    /// The latest time of any call.
    clock: Nanos,
    account: Account,
    arrived: Count,
    sent: Count,
    /// Start and end of the measurement of `sojourn`.
    window: (Nanos, Nanos),
    sojourn: Histogram,
}

impl<Q: Queue<Header>> Path<Q> {
    /// Checks the specification and allocates all memory. `frames` is the size of the pool, which no delay
    /// line can exceed.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    pub(crate) fn new(spec: PathSpec<Q>, frames: u32, rng: Rng, hasher: FlowHasher) -> Result<Path<Q>> {
        spec.check()?;
        Ok(Path {
            port: Port::new(spec.queue, spec.ring, Line::from(spec.rate.and_then(Serializer::new))),
            rate: spec.rate,
            loss_below: (spec.loss * (1_u64 << 53) as f64) as u64,
            rng,
            hasher,
            delayed: DelayLines::new(spec.delays, frames),
            clock: Nanos::ZERO,
            account: Account::default(),
            arrived: Count::default(),
            sent: Count::default(),
            window: (Nanos(u64::MAX), Nanos::ZERO),
            sojourn: Histogram::default(),
        })
    }

    pub(crate) fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// The latest time of any call; no later call may have an earlier time.
    pub(crate) fn clock(&self) -> Nanos {
        self.clock
    }

    /// Enqueues a packet. [`Path::advance`] has handled everything due at `now`.
    pub(crate) fn arrive(&mut self, now: Nanos, packet: Header, pool: &mut Pool) {
        self.arrived.add(packet.len);
        pool.enter(frame_of(packet.cookie), now);
        self.port.arrive(
            now,
            packet,
            &mut FrameObserver { pool, account: &mut self.account, hasher: &self.hasher },
        );
    }

    /// Moves every packet that has left the line at or before `now` into the delay line, or loses it.
    pub(crate) fn advance(&mut self, now: Nanos, pool: &mut Pool) {
        if now < self.clock {
            return;
        }
        self.clock = now;
        loop {
            let mut observer = FrameObserver { pool, account: &mut self.account, hasher: &self.hasher };
            let Some(departure) = self.port.poll(now, &mut observer) else { return };
            let packet = departure.packet;
            let frame = frame_of(packet.cookie);
            let note = pool.note(frame);
            if self.window.0 <= departure.started && departure.started < self.window.1 {
                self.sojourn.record(departure.started.since(note.entered));
            }
            if self.loss_below > 0 && self.rng.next_u64() >> 11 < self.loss_below {
                self.account.drops[place(Reason::Loss)] += 1;
                pool.give(frame);
                continue;
            }
            let slot = Slot { frame, len: packet.len, stamp: 0 };
            let mark = is_marked(note.dsfield, packet.dsfield);
            self.delayed.push(departure.at, note.host, Ready { slot, mark });
        }
    }

    /// Removes the next frame that is due at or before `now` from the delay line; returns it with its
    /// deadline.
    pub(crate) fn take_due(&mut self, now: Nanos) -> Option<(Nanos, Ready)> {
        self.delayed.take_due(now)
    }

    pub(crate) fn measure_sojourn(&mut self, from: Nanos, to: Nanos) {
        self.window = (from, to);
    }

    /// Counts a frame as sent.
    pub(crate) fn count_sent(&mut self, len: u32) {
        self.sent.add(len);
    }

    /// When the next frame must be sent at the latest, if nothing else arrives.
    pub(crate) fn next_send(&self) -> Option<Nanos> {
        let coming = self.port.next_wake().map(|at| at + self.delayed.least());
        self.delayed.next().into_iter().chain(coming).min()
    }

    /// When the port has its next event.
    pub(crate) fn next_port_event(&self) -> Option<Nanos> {
        self.port.next_wake()
    }

    pub(crate) fn sample(&self) -> PathSample {
        PathSample {
            backlog: self.port.backlog(),
            ring: self.port.ring_backlog(),
            arrived: self.arrived,
            sent: self.sent,
            drops: self.account.drops,
            marks: self.account.marks,
            queue: self.port.queue().stats(),
            line: self.port.stats(),
            busy: self.port.busy_by(self.clock),
        }
    }

    pub(crate) fn report(self) -> PathReport {
        let mut counters = Vec::new();
        self.port.queue().counters(&mut |name, value| counters.push((name, value)));
        PathReport { last: self.sample(), counters, sojourn: Some(self.sojourn) }
    }
}

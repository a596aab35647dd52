//! One direction: port (queue, ring, line), loss, delay.

use std::collections::VecDeque;

use goodqueue::{Header, Line, Nanos, Observer, Port, Queue, Rate, Reason, RingSpec, Rng, Serializer, Span};

use crate::lab::MAX_HOSTS;
use crate::pool::Pool;
use crate::sample::{Count, PathReport, PathSample, place};
use crate::sys::packet::Slot;
use crate::{Error, Result};

/// What one direction should be like. In the order in which a packet meets them: queue, device ring,
/// line, loss, delay.
#[derive(Debug)]
pub struct PathSpec<Q> {
    /// The queue.
    pub queue: Q,
    /// The device ring between queue and line; `None`: the queue feeds the line directly.
    pub ring: Option<RingSpec>,
    /// The rate of the line, counting the Ethernet header and no FCS, preamble or gap; `None`: without
    /// limit, serialization takes no time.
    pub rate: Option<Rate>,
    /// The chance that a packet is lost after the line, 0 to 1.
    pub loss: f64,
    /// One-way delay by server host, at most [`MAX_HOSTS`] values; hosts beyond the list have its last
    /// value, an empty list is no delay.
    pub delays: Vec<Span>,
}

impl<Q> PathSpec<Q> {
    /// `queue` over a line without limit, loss and delay.
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

/// A packet on its way through the delay line.
#[derive(Clone, Copy, Debug)]
struct Delayed {
    deadline: Nanos,
    slot: Slot,
    /// CE was set by the queue and is not in the frame yet.
    mark: bool,
}

/// What the queue's observer counts.
#[derive(Debug, Default)]
struct Account {
    drops: [u64; Reason::ALL.len()],
    marks: u64,
}

/// The observer: frees the frames of dropped packets and counts.
struct Keeper<'a> {
    pool: &'a mut Pool,
    account: &'a mut Account,
}

impl Observer<Header> for Keeper<'_> {
    fn dropped(&mut self, _now: Nanos, packet: Header, reason: Reason) {
        self.account.drops[place(reason)] += 1;
        self.pool.give(frame_of(&packet));
    }

    fn marked(&mut self, _now: Nanos, _packet: &Header, _reason: Reason) {
        self.account.marks += 1;
    }
}

/// The frame behind a descriptor: the engine puts its number into the cookie.
#[allow(clippy::cast_possible_truncation)]
fn frame_of(packet: &Header) -> u32 {
    packet.cookie as u32
}

/// The running direction.
pub(crate) struct Path<Q> {
    port: Port<Header, Q>,
    rate: Option<Rate>,
    /// Lost where 53 random bits are below this.
    loss_below: u64,
    rng: Rng,
    delays: Vec<Span>,
    least_delay: Span,
    lines: Vec<VecDeque<Delayed>>,
    /// The latest time at which anything was done.
    clock: Nanos,
    account: Account,
    arrived: Count,
    sent: Count,
}

impl<Q: Queue<Header>> Path<Q> {
    /// Checks the specification and takes all memory. `frames` is the size of the pool, which no delay
    /// line can exceed.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    pub(crate) fn new(spec: PathSpec<Q>, frames: u32, rng: Rng) -> Result<Path<Q>> {
        spec.check()?;
        let delays = if spec.delays.is_empty() { vec![Span::ZERO] } else { spec.delays };
        let lines = delays.iter().map(|_| VecDeque::with_capacity(frames as usize)).collect();
        Ok(Path {
            port: Port::new(spec.queue, spec.ring, Line::from(spec.rate.and_then(Serializer::new))),
            rate: spec.rate,
            loss_below: (spec.loss * (1_u64 << 53) as f64) as u64,
            rng,
            least_delay: delays.iter().copied().min().unwrap_or_default(),
            delays,
            lines,
            clock: Nanos::ZERO,
            account: Account::default(),
            arrived: Count::default(),
            sent: Count::default(),
        })
    }

    pub(crate) fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// The latest time at which anything was done: nothing may be done before it.
    pub(crate) fn clock(&self) -> Nanos {
        self.clock
    }

    /// The delay class of server host `host`.
    pub(crate) fn class(&self, host: u8) -> u8 {
        // The list has 1 to 8 values.
        #[allow(clippy::cast_possible_truncation)]
        let last = (self.delays.len() - 1) as u8;
        host.min(last)
    }

    /// Hands a packet in. Everything due at `now` has been handled by [`Path::advance`].
    pub(crate) fn arrive(&mut self, now: Nanos, packet: Header, pool: &mut Pool) {
        self.arrived.add(packet.len);
        self.port.arrive(now, packet, &mut Keeper { pool, account: &mut self.account });
    }

    /// Moves everything that has left the line at or before `now` into the delay line, or loses it.
    pub(crate) fn advance(&mut self, now: Nanos, pool: &mut Pool) {
        if now < self.clock {
            return;
        }
        self.clock = now;
        loop {
            let mut keeper = Keeper { pool, account: &mut self.account };
            let Some(departure) = self.port.poll(now, &mut keeper) else { return };
            let packet = departure.packet;
            let frame = frame_of(&packet);
            let note = pool.note(frame);
            if self.loss_below > 0 && self.rng.next_u64() >> 11 < self.loss_below {
                self.account.drops[place(Reason::Loss)] += 1;
                pool.give(frame);
                continue;
            }
            let class = usize::from(note.class).min(self.lines.len() - 1);
            self.lines[class].push_back(Delayed {
                deadline: departure.at + self.delays[class],
                slot: Slot { frame, len: packet.len, stamp: 0 },
                mark: packet.dsfield & 3 == 3 && note.dsfield & 3 != 3,
            });
        }
    }

    /// Takes the next frame that is due at or before `now` out of the delay line: its deadline, its
    /// slot, and whether CE is still to be written. Equal deadlines leave in the order of classes.
    pub(crate) fn take_due(&mut self, now: Nanos) -> Option<(Nanos, Slot, bool)> {
        let fronts = self.lines.iter().enumerate().filter_map(|(i, l)| l.front().map(|d| (d.deadline, i)));
        let (deadline, class) = fronts.min()?;
        if deadline > now {
            return None;
        }
        let Delayed { slot, mark, .. } = self.lines[class].pop_front()?;
        Some((deadline, slot, mark))
    }

    /// Counts a frame as sent.
    pub(crate) fn count_sent(&mut self, len: u32) {
        self.sent.add(len);
    }

    /// When the next frame must be sent at the latest, if nothing else arrives.
    pub(crate) fn next_send(&self) -> Option<Nanos> {
        let queued = self.lines.iter().filter_map(|line| line.front()).map(|d| d.deadline).min();
        let coming = self.port.next_wake().map(|at| at + self.least_delay);
        queued.into_iter().chain(coming).min()
    }

    /// When the port has something to do.
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
        }
    }

    pub(crate) fn report(self) -> PathReport {
        let mut counters = Vec::new();
        self.port.queue().counters(&mut |name, value| counters.push((name, value)));
        PathReport { last: self.sample(), counters }
    }
}

//! One direction: port (queue, ring, line), loss, delay.

use std::iter;

use goodqueue::{
    FlowHasher, Header, Histogram, Line, Link, Nanos, Port, Queue, QueueSpec, Rate, Reason, Reconfigure,
    RingSpec, Rng, Span,
};

use crate::channel::{Account, FrameObserver, Ready, frame_of, is_marked};
use crate::delay::DelayLines;
use crate::flows::{self, FlowSpec, Flows, Sent};
use crate::lab::MAX_HOSTS;
use crate::pool::{Note, Pool};
use crate::sample::{Contents, Count, PathReport, PathSample, place};
use crate::{Error, Result};

/// Most queues of a direction.
pub const MOST_QUEUES: usize = 8;

/// The configuration of one direction, in the order of a packet's path: queue, device ring, line, loss,
/// delay.
#[derive(Debug)]
pub struct PathSpec<Q> {
    /// The queue.
    pub queue: Q,
    /// More queues of the same kind for this direction, at most [`MOST_QUEUES`] with the first. Each queue
    /// then has its own thread, to which the kernel assigns a part of the flows (`PACKET_FANOUT_HASH`). The
    /// queues know only what they share with each other, as [`goodqueue::cake::Member`]s do. There is then no
    /// ring, and the line must be [`Line::Unlimited`]: there is only one line, and it carries one packet at a
    /// time.
    pub others: Vec<Q>,
    /// The device ring between queue and line; `None`: the queue feeds the line directly.
    pub ring: Option<RingSpec>,
    /// The line, whose rate counts the Ethernet header but no FCS, preamble or gap. Its times are those of
    /// [`crate::now`].
    pub line: Line,
    /// The probability that a packet is lost after the line, 0 to 1.
    pub loss: f64,
    /// One-way delay by server host, at most [`MAX_HOSTS`] values. Hosts beyond the list have its last value;
    /// an empty list means no delay.
    pub delays: Vec<Span>,
}

impl<Q> PathSpec<Q> {
    /// `queue` over an unlimited line without loss or delay.
    pub fn new(queue: Q) -> PathSpec<Q> {
        PathSpec {
            queue,
            others: Vec::new(),
            ring: None,
            line: Line::Unlimited,
            loss: 0.0,
            delays: Vec::new(),
        }
    }

    /// The number of queues.
    pub(crate) fn queues(&self) -> usize {
        1 + self.others.len()
    }

    /// Splits it into directions with one queue each.
    pub(crate) fn apart(mut self) -> Vec<PathSpec<Q>> {
        let others = std::mem::take(&mut self.others);
        let alone = |queue| PathSpec { loss: self.loss, delays: self.delays.clone(), ..PathSpec::new(queue) };
        let others: Vec<_> = others.into_iter().map(alone).collect();
        iter::once(self).chain(others).collect()
    }

    pub(crate) fn check(&self) -> Result<()> {
        check_loss(self.loss)?;
        if !self.others.is_empty() {
            let invalid = |what, wanted, got| Err(Error::Invalid { what, wanted, got });
            if self.queues() > MOST_QUEUES {
                return invalid("queues", "1 to 8 in a direction", self.queues().to_string());
            }
            if !matches!(self.line, Line::Unlimited) || self.ring.is_some() {
                return invalid("line", "no rate and no ring under several queues", "one".to_owned());
            }
        }
        if self.delays.len() > usize::from(MAX_HOSTS) {
            let got = self.delays.len().to_string();
            return Err(Error::Invalid { what: "delays", wanted: "at most 8 values", got });
        }
        Ok(())
    }
}

fn check_loss(loss: f64) -> Result<()> {
    if (0.0..=1.0).contains(&loss) {
        return Ok(());
    }
    Err(Error::Invalid { what: "loss", wanted: "0 to 1", got: loss.to_string() })
}

/// A packet is lost if 53 random bits are below this.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
fn loss_below(loss: f64) -> u64 {
    (loss * (1_u64 << 53) as f64) as u64
}

/// A change to a direction of a running engine.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// A new line from the next packet on, with the times of [`crate::now`].
    pub line: Option<Line>,
    /// A new probability of loss, 0 to 1.
    pub loss: Option<f64>,
    /// A new one-way delay, to all hosts. No packet overtakes those that are under way.
    pub delay: Option<Span>,
    /// Other parameters of each queue, and the link that they are for. A queue that cannot take them
    /// ([`Reconfigure`]) stays as it is.
    pub queue: Option<(QueueSpec, Link)>,
}

impl Change {
    pub(crate) fn check(&self) -> Result<()> {
        self.loss.map_or(Ok(()), check_loss)
    }
}

/// The rate of a line, if it is constant.
fn constant(line: &Line) -> Option<Rate> {
    match line {
        Line::Rate(serializer) => Some(serializer.rate()),
        _ => None,
    }
}

/// The running direction.
pub(crate) struct Path<Q> {
    port: Port<Header, Q>,
    /// The rate of its line, if that is constant.
    rate: Option<Rate>,
    /// See [`loss_below`].
    loss_below: u64,
    rng: Rng,
    hasher: FlowHasher,
    flows: Option<Flows>,
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

impl<Q: Queue<Header> + Reconfigure<Header>> Path<Q> {
    /// Allocates all memory for a specification that has been checked, and its first queue. `frames` is the
    /// size of the pool, which no delay line can exceed.
    pub(crate) fn new(
        spec: PathSpec<Q>,
        frames: u32,
        rng: Rng,
        hasher: FlowHasher,
        flows: Option<FlowSpec>,
    ) -> Result<Path<Q>> {
        Ok(Path {
            rate: constant(&spec.line),
            port: Port::new(spec.queue, spec.ring, spec.line),
            loss_below: loss_below(spec.loss),
            rng,
            hasher,
            flows: flows.map(Flows::new),
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

    pub(crate) fn change(&mut self, Change { line, loss, delay, queue }: Change, pool: &mut Pool) {
        if let Some((spec, link)) = queue {
            let now = self.clock;
            let (port, mut observer) = self.port(pool);
            // Who asked has built a queue with the same kind of parameters.
            let _ = port.change_queue(now, &mut observer, |queue, now, observer| {
                queue.reconfigure(now, &spec, link, observer)
            });
            self.advance(now, pool);
        }
        if let Some(line) = line {
            self.rate = constant(&line);
            self.port.set_line(line);
        }
        if let Some(loss) = loss {
            self.loss_below = loss_below(loss);
        }
        if let Some(delay) = delay {
            self.delayed.set(delay);
        }
    }

    /// The latest time of any call; no later call may have an earlier time.
    pub(crate) fn clock(&self) -> Nanos {
        self.clock
    }

    /// Enqueues a packet. [`Path::advance`] has handled everything due at `now`.
    pub(crate) fn arrive(&mut self, now: Nanos, packet: Header, pool: &mut Pool) {
        self.arrived.add(packet.len);
        let frame = frame_of(packet.cookie);
        let flow = self.flows.as_mut().map_or((flows::NONE, 0), |flows| {
            let Note { way, held, gso, .. } = pool.note(frame);
            let bytes = pool.start(frame, held);
            let (flow, payload) = flows.arrived(now, way, bytes, &self.hasher);
            let Some(gso) = gso else { return (flow, payload) };
            flows.came_with(flow, packet.len - held);
            (flow, packet.len - u32::from(gso.segments) * gso.headers)
        });
        pool.enter(frame, now, flow);
        let (port, mut observer) = self.port(pool);
        port.arrive(now, packet, &mut observer);
    }

    /// The port, and the owner of its packets.
    fn port<'a>(&'a mut self, pool: &'a mut Pool) -> (&'a mut Port<Header, Q>, FrameObserver<'a>) {
        let Path { port, account, flows, hasher, .. } = self;
        (port, FrameObserver { pool, account, flows: flows.as_mut(), hasher, rest: None })
    }

    /// Moves every packet that has left the line at or before `now` into the delay line, or loses it.
    pub(crate) fn advance(&mut self, now: Nanos, pool: &mut Pool) {
        if now < self.clock {
            return;
        }
        self.clock = now;
        loop {
            let (port, mut observer) = self.port(pool);
            let Some(departure) = port.poll(now, &mut observer) else { return };
            let packet = departure.packet;
            let frame = frame_of(packet.cookie);
            let note = pool.note(frame);
            if self.window.0 <= departure.started && departure.started < self.window.1 {
                self.sojourn.record(departure.started.since(note.entered));
            }
            let is_lost = self.loss_below > 0 && self.rng.next_u64() >> 11 < self.loss_below;
            if let Some(flows) = &mut self.flows {
                let Note { payload, entered, flow, .. } = note;
                let packet = Sent { len: packet.len, payload, entered, is_lost };
                flows.sent(flow, departure.started, departure.at, packet);
            }
            if is_lost {
                self.account.drops[place(Reason::Loss)] += 1;
                pool.give(frame);
                continue;
            }
            let mark = is_marked(note.dsfield, packet.dsfield);
            self.delayed.push(departure.at, note.host, Ready { frame, mark });
        }
    }

    /// Removes the next frame that is due at or before `now` from the delay line; returns it with its
    /// deadline.
    pub(crate) fn take_due(&mut self, now: Nanos) -> Option<(Nanos, Ready)> {
        self.delayed.take_due(now)
    }

    /// What is inside.
    pub(crate) fn contents(&self) -> Contents {
        let queue = self.port.queue();
        let mut tins = Vec::new();
        queue.tins(&mut |tin| tins.push(tin));
        let connections = self.flows.as_ref().map(Flows::look).unwrap_or_default();
        Contents { connections, waiting_flows: queue.waiting_flows(), tins }
    }

    pub(crate) fn measure_sojourn(&mut self, from: Nanos, to: Nanos) {
        self.window = (from, to);
    }

    /// Counts a packet as sent.
    pub(crate) fn count_sent(&mut self, len: u32) {
        self.sent.add(len);
    }

    /// When the next frame must be sent at the latest, if nothing else arrives.
    pub(crate) fn next_send(&self) -> Option<Nanos> {
        let coming = self.port.next_wake().map(|at| at + self.delayed.least());
        self.delayed.next().into_iter().chain(coming).min()
    }

    /// Whether more than one frame waits in queue, ring, line and delay line.
    pub(crate) fn is_backlogged(&self) -> bool {
        let port = self.port.backlog().packets + self.port.ring_backlog().packets;
        port as usize + self.delayed.waiting() > 1
    }

    /// The earliest time at which a frame must be sent that arrives while the line is busy; `None` if the
    /// line is idle.
    pub(crate) fn next_send_of_an_arrival(&self) -> Option<Nanos> {
        let departure = self.port.next_departure().filter(|_| self.port.is_busy())?;
        Some(departure + self.delayed.least())
    }

    /// When the port has its next event.
    pub(crate) fn next_port_event(&self) -> Option<Nanos> {
        self.port.next_wake()
    }

    pub(crate) fn sample(&self) -> PathSample {
        PathSample {
            backlog: self.port.backlog(),
            ring: self.port.ring_backlog(),
            arrived: Count { packets: self.arrived.packets + self.account.cut, ..self.arrived },
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
        let last = self.sample();
        let (flows, others) = self.flows.map(Flows::end).unwrap_or_default();
        PathReport { last, counters, sojourn: Some(self.sojourn), flows, others }
    }
}

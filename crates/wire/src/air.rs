//! The engine's two directions over one shared medium: delay, medium, delay.

use goodqueue::{Direction, FlowHasher, Header, Nanos, PortStats, Rate, Reason};

use crate::channel::{Account, Channel, Ready, Rest, frame_of, is_marked};
use crate::delay::DelayLines;
use crate::flows::{FlowSpec, Flows, Sent};
use crate::medium::{Delays, Exit, Medium};
use crate::per_direction::BOTH;
use crate::pool::{Note, Pool};
use crate::sample::{Contents, Count, PathReport, PathSample, place};

/// One direction around the medium.
#[derive(Debug)]
struct Side {
    /// Frames on the way to the medium; their arrival time is the kernel's receive time.
    before: DelayLines<Header>,
    /// Frames on the way from the medium.
    after: DelayLines<Ready>,
    /// All frames that arrived up to this time have been handed in.
    known: Nanos,
    /// The latest arrival.
    latest: Nanos,
    account: Account,
    /// Frames handed to the medium.
    arrived: Count,
    /// Frames that left the medium.
    left: Count,
    sent: Count,
    /// Its connections, if they are counted.
    flows: Option<Flows>,
}

impl Side {
    fn new(delays: Delays, frames: u32, flows: Option<FlowSpec>) -> Side {
        Side {
            before: DelayLines::new(delays.before, frames),
            after: DelayLines::new(delays.after, frames),
            known: Nanos::ZERO,
            latest: Nanos::ZERO,
            account: Account::default(),
            arrived: Count::default(),
            left: Count::default(),
            sent: Count::default(),
            flows: flows.map(Flows::new),
        }
    }
}

/// Both directions over a medium.
#[derive(Debug)]
pub(crate) struct Air<M> {
    medium: M,
    sides: [Side; 2],
    /// The medium has all events up to this time.
    clock: Nanos,
    clock_backward: u64,
    /// Distinguishes connections.
    hasher: FlowHasher,
}

/// Moves frames from the medium to the delay lines after it.
struct Landing<'a> {
    sides: &'a mut [Side; 2],
    pool: &'a mut Pool,
}

impl Exit for Landing<'_> {
    fn leave(&mut self, now: Nanos, cookie: u64, dsfield: u8) {
        let frame = frame_of(cookie);
        let note = self.pool.note(frame);
        let side = &mut self.sides[note.way as usize];
        side.left.add(note.len);
        if let Some(flows) = &mut side.flows {
            let Note { len, payload, entered, flow, .. } = note;
            // It is not known when the last of its transmissions began.
            flows.sent(flow, now, now, Sent { len, payload, entered, is_lost: false });
        }
        side.after.push(now, note.host, Ready { frame, mark: is_marked(note.dsfield, dsfield) });
    }

    fn drop(&mut self, cookie: u64, reason: Reason) {
        let frame = frame_of(cookie);
        let note = self.pool.note(frame);
        let side = &mut self.sides[note.way as usize];
        side.account.drops[place(reason)] += 1;
        if let Some(flows) = &mut side.flows {
            flows.dropped(note.flow, note.len);
        }
        self.pool.give(frame);
    }

    fn mark(&mut self, cookie: u64) {
        let note = self.pool.note(frame_of(cookie));
        let side = &mut self.sides[note.way as usize];
        side.account.marks += 1;
        if let Some(flows) = &mut side.flows {
            flows.marked(note.flow);
        }
    }
}

impl<M: Medium> Air<M> {
    /// Allocates all memory; `frames` is the size of the pool. With `flows`, each connection is counted.
    pub(crate) fn new(
        medium: M,
        [up, down]: [Delays; 2],
        frames: u32,
        hasher: FlowHasher,
        flows: Option<FlowSpec>,
    ) -> Air<M> {
        let sides = [Side::new(up, frames, flows), Side::new(down, frames, flows)];
        Air { medium, sides, clock: Nanos::ZERO, clock_backward: 0, hasher }
    }

    /// When the next frame reaches the medium, and its direction.
    fn next_arrival(&self) -> Option<(Nanos, Direction)> {
        let arrivals = Direction::BOTH
            .into_iter()
            .filter_map(|way| Some((self.sides[way as usize].before.next()?, way)));
        arrivals.min()
    }

    /// Advances the medium to `until`. Both directions share it, so it gets all arrivals in order of time;
    /// events due at the time of an arrival come first.
    fn run(&mut self, until: Nanos, pool: &mut Pool) {
        loop {
            let event = self.medium.next_event().filter(|&at| at <= until);
            let arrival = self.next_arrival().filter(|&(at, _)| at <= until);
            let is_event = event.is_some_and(|event| arrival.is_none_or(|(at, _)| event <= at));
            let Some(at) = (if is_event { event } else { arrival.map(|(at, _)| at) }) else { break };
            self.clock_backward += u64::from(at < self.clock);
            self.clock = self.clock.max(at);
            if is_event {
                self.medium.advance(self.clock, &mut Landing { sides: &mut self.sides, pool });
                if self.medium.next_event().is_some_and(|next| next <= self.clock) {
                    // The medium violates its contract. The next turn tries again, so the engine does not
                    // hang here.
                    self.clock_backward += 1;
                    break;
                }
            } else if let Some((_, way)) = arrival {
                self.hand_in(way, pool);
            }
        }
        self.clock = self.clock.max(until);
    }

    fn hand_in(&mut self, way: Direction, pool: &mut Pool) {
        let side = &mut self.sides[way as usize];
        let Some((_, packet)) = side.before.take_due(self.clock) else { return };
        side.arrived.add(packet.len);
        let frame = frame_of(packet.cookie);
        let host = pool.note(frame).host;
        if let Some(flows) = &mut side.flows {
            let bytes = pool.start(frame, packet.len);
            let flow = flows.arrived(self.clock, way, bytes, &self.hasher);
            pool.enter(frame, self.clock, flow);
        }
        let exit = &mut Landing { sides: &mut self.sides, pool };
        self.medium.arrive(self.clock, way, host, packet, exit);
    }
}

impl<M: Medium> Channel for Air<M> {
    fn ways(&self) -> &'static [Direction] {
        BOTH
    }

    fn slowest(&self) -> Option<Rate> {
        None
    }

    fn clock(&self, way: Direction) -> Nanos {
        self.clock.max(self.sides[way as usize].latest)
    }

    fn arrive(&mut self, way: Direction, at: Nanos, packet: Header, pool: &mut Pool) {
        let side = &mut self.sides[way as usize];
        side.latest = at;
        let frame = frame_of(packet.cookie);
        let host = pool.note(frame).host;
        // A medium takes no super-packet.
        let mut rest = Rest::of(frame, pool);
        while let Some(segment) = rest.cut(&packet, pool) {
            side.before.push(at, host, segment);
        }
    }

    fn advance(&mut self, way: Direction, until: Nanos, pool: &mut Pool) {
        self.sides[way as usize].known = until;
        let [up, down] = &self.sides;
        self.run(up.known.min(down.known), pool);
    }

    fn take_due(&mut self, way: Direction, now: Nanos) -> Option<(Nanos, Ready)> {
        self.sides[way as usize].after.take_due(now)
    }

    fn count_sent(&mut self, way: Direction, len: u32) {
        self.sides[way as usize].sent.add(len);
    }

    fn next_send(&self, way: Direction) -> Option<Nanos> {
        let side = &self.sides[way as usize];
        let coming = self.next_event().map(|at| at + side.after.least());
        side.after.next().into_iter().chain(coming).min()
    }

    fn next_event(&self) -> Option<Nanos> {
        let arrival = self.next_arrival().map(|(at, _)| at);
        self.medium.next_event().into_iter().chain(arrival).min()
    }

    fn sample(&self) -> [PathSample; 2] {
        Direction::BOTH.map(|way| {
            let side = &self.sides[way as usize];
            let [backlog, ring] = self.medium.backlog(way);
            // Both directions have one clock, so its faults count once.
            let clock_backward = if way == Direction::Up { self.clock_backward } else { 0 };
            PathSample {
                backlog,
                ring,
                arrived: side.arrived,
                sent: side.sent,
                drops: side.account.drops,
                marks: side.account.marks,
                line: PortStats {
                    packets: side.left.packets,
                    bytes: side.left.bytes,
                    clock_backward,
                    ..PortStats::default()
                },
                ..PathSample::default()
            }
        })
    }

    fn look(&mut self, now: Nanos) {
        self.medium.look(now);
    }

    fn contents(&self, way: Direction) -> Contents {
        let connections = self.sides[way as usize].flows.as_ref().map(Flows::look).unwrap_or_default();
        Contents { connections, ..Contents::default() }
    }

    fn report(mut self, now: Nanos) -> Vec<PathReport> {
        let [up, down] = self.sample();
        let reports = [(Direction::Up, up), (Direction::Down, down)].map(|(way, last)| {
            let (flows, others) = self.sides[way as usize].flows.take().map(Flows::end).unwrap_or_default();
            PathReport { last, counters: Vec::new(), sojourn: None, flows, others }
        });
        self.medium.finish(self.clock.max(now));
        reports.into()
    }
}

#[cfg(test)]
#[path = "air_tests.rs"]
mod tests;

//! A path for tests: one line at a rate with a FIFO in front and a delay behind it towards the receiver, a
//! delay alone on the way back. It is deterministic, and keeps what it carried.

use crate::tcp::cc::{Cc, CcKind};
use crate::tcp::{Config, Flags, Opening, Rx, Segment, Tx, truesize};
use goodqueue::{Bytes, Nanos, Rate, Rng, Span};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What happens to a segment on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Pass,
    Drop,
    /// Congestion Experienced.
    Mark,
    /// Arrives this much later than it should.
    Delay(Span),
    Duplicate,
}

/// One segment on the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Carried {
    pub(super) at: Nanos,
    pub(super) segment: Segment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// At the receiver, with CE or not.
    Data(bool),
    Ack,
    /// The host's device has sent it.
    Sent,
}

/// When, in which order, which segment of `data` or `acks`, what.
type Event = (Nanos, u64, usize, u8);

/// Fate of the nth segment that one end has sent.
pub(super) type Rule = Box<dyn FnMut(usize, &Segment) -> Fate>;

pub(super) struct Pipe {
    pub(super) now: Nanos,
    pub(super) tx: Tx,
    pub(super) rx: Rx,
    pub(super) rate: Rate,
    pub(super) delay: Span,
    /// Towards the receiver, and on the way back.
    pub(super) forth: Rule,
    pub(super) back: Rule,
    /// Everything that was sent, in order.
    pub(super) data: Vec<Carried>,
    pub(super) acks: Vec<Carried>,
    line_free: Nanos,
    events: BinaryHeap<Reverse<Event>>,
    order: u64,
    pub(super) steps: u64,
}

pub(super) fn pass() -> Rule {
    Box::new(|_, _| Fate::Pass)
}

/// Drops the first transmission of the data that starts at these segments (the first is 0).
pub(super) fn drop_first_of(segments: &'static [u64]) -> Rule {
    let mut left: Vec<u64> = segments.iter().map(|n| 1 + n * 1448).collect();
    Box::new(move |_, segment| {
        let at = left.iter().position(|&seq| segment.len > 0 && seq == segment.seq);
        match at {
            Some(at) => {
                left.remove(at);
                Fate::Drop
            }
            None => Fate::Pass,
        }
    })
}

/// A config whose packets are of one segment.
pub(super) fn plain() -> Config {
    Config { tso: false, gso: false, ..Config::default() }
}

impl Pipe {
    /// The sender opens.
    pub(super) fn new(config: &Config, kind: CcKind, rate: Rate, rtt: Span) -> Pipe {
        Pipe::with(config, config, kind, rate, rtt, Opening::Active)
    }

    pub(super) fn with(
        tx: &Config,
        rx: &Config,
        kind: CcKind,
        rate: Rate,
        rtt: Span,
        opening: Opening,
    ) -> Pipe {
        let other = if opening == Opening::Active { Opening::Passive } else { Opening::Active };
        let cc = Cc::new(kind, Rng::stream(1, 1, "cc"));
        let mut pipe = Pipe {
            now: Nanos(1_000_000),
            tx: Tx::new(tx, cc, opening),
            rx: Rx::new(rx, other),
            rate,
            delay: Span(rtt.0 / 2),
            forth: pass(),
            back: pass(),
            data: Vec::new(),
            acks: Vec::new(),
            line_free: Nanos::ZERO,
            events: BinaryHeap::new(),
            order: 0,
            steps: 0,
        };
        pipe.tx.open(pipe.now);
        pipe.rx.open(pipe.now);
        pipe
    }

    fn push(&mut self, at: Nanos, index: usize, kind: Kind) {
        self.order += 1;
        let code = match kind {
            Kind::Data(false) => 0,
            Kind::Data(true) => 1,
            Kind::Ack => 2,
            Kind::Sent => 3,
        };
        self.events.push(Reverse((at, self.order, index, code)));
    }

    /// Takes what both ends want to send.
    pub(super) fn flush(&mut self) {
        while let Some(mut segment) = self.tx.poll_transmit(self.now) {
            let mut rest = segment.cut(self.tx.device_mss());
            self.send(segment);
            while segment.advance(&mut rest) {
                self.send(segment);
            }
        }
        while let Some(segment) = self.rx.poll_transmit(self.now) {
            let index = self.acks.len();
            let fate = (self.back)(index, &segment);
            self.acks.push(Carried { at: self.now, segment });
            let late = if let Fate::Delay(late) = fate { late } else { Span::ZERO };
            if fate != Fate::Drop {
                self.push(self.now + self.delay + late, index, Kind::Ack);
            }
            if fate == Fate::Duplicate {
                self.push(self.now + self.delay, index, Kind::Ack);
            }
        }
    }

    fn send(&mut self, segment: Segment) {
        let index = self.data.len();
        let fate = (self.forth)(index, &segment);
        self.data.push(Carried { at: self.now, segment });
        self.line_free = self.line_free.max(self.now) + self.rate.tx_time(Bytes(segment.frame_len().into()));
        // The host's own device is fast, and the bottleneck is behind it.
        self.push(self.now, index, Kind::Sent);
        let arrival = self.line_free + self.delay;
        match fate {
            Fate::Drop => {}
            Fate::Pass => self.push(arrival, index, Kind::Data(false)),
            Fate::Mark => self.push(arrival, index, Kind::Data(true)),
            Fate::Delay(late) => self.push(arrival + late, index, Kind::Data(false)),
            Fate::Duplicate => {
                self.push(arrival, index, Kind::Data(false));
                self.push(arrival, index, Kind::Data(false));
            }
        }
    }

    fn next_at(&self) -> Option<Nanos> {
        let event = self.events.peek().map(|Reverse(event)| event.0);
        [event, self.tx.next_timer(), self.rx.next_timer()].into_iter().flatten().min()
    }

    /// Handles one event; `false` if there is none until `end`.
    pub(super) fn step(&mut self, end: Nanos) -> bool {
        self.flush();
        let Some(at) = self.next_at().filter(|&at| at <= end) else {
            self.now = self.now.max(end);
            return false;
        };
        assert!(at >= self.now, "a timer in the past: {at:?} at {:?}", self.now);
        self.now = at;
        self.steps += 1;
        match self.events.peek() {
            Some(&Reverse((due, _, index, code))) if due == at => {
                self.events.pop();
                self.deliver(index, code);
            }
            _ => {
                self.tx.on_timer(at);
                self.rx.on_timer(at);
            }
        }
        self.flush();
        true
    }

    fn deliver(&mut self, index: usize, code: u8) {
        match code {
            0 | 1 => self.rx.on_segment(self.now, &self.data[index].segment, code == 1),
            2 => self.tx.on_segment(self.now, &self.acks[index].segment),
            _ => {
                let len = self.data[index].segment.frame_len();
                self.tx.on_tx_complete(self.now, truesize(len));
            }
        }
    }

    /// Runs until `span` after the start.
    pub(super) fn run(&mut self, span: Span) {
        let end = Nanos(1_000_000) + span;
        while self.step(end) {}
    }

    /// Runs until everything is acknowledged, at most until `span` after the start.
    pub(super) fn run_until_done(&mut self, span: Span) -> bool {
        let end = Nanos(1_000_000) + span;
        self.flush();
        while !self.tx.is_done() {
            if !self.step(end) {
                return false;
            }
        }
        true
    }

    /// Data segments that were sent, with their times.
    pub(super) fn payload(&self) -> impl Iterator<Item = &Carried> {
        self.data.iter().filter(|carried| carried.segment.len > 0)
    }

    /// Retransmissions of data.
    pub(super) fn retransmissions(&self) -> Vec<&Carried> {
        self.payload().filter(|carried| carried.segment.retransmitted).collect()
    }

    /// Pure ACKs since the connection was established.
    pub(super) fn pure_acks(&self) -> impl Iterator<Item = &Carried> {
        self.acks.iter().filter(|carried| !carried.segment.flags.has(Flags::SYN))
    }
}

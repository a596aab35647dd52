//! @NAME@: a queue of my own for Goodqueue.
//!
//! A FIFO that keeps the delay short: while the oldest packet has waited for longer than `target`, one packet
//! each `interval` is marked, or dropped if its sender does not speak ECN. Change it as you like; the rules
//! are those of [`goodqueue::Queue`].
//!
//! ```sh
//! cargo test && make
//! goodqueue run rrul --queue ./@NAME@.so,target=5ms,fq_codel
//! ```

use std::collections::VecDeque;
use std::ffi::CStr;

use goodqueue::{Backlog, Header, Inspect, Nanos, Owner, Packet, Queue, Reason, Span, Stats, Verdict};
use goodqueue_own::Unit;
use goodqueue_own::export::{OwnQueue, RawParameter, parameter};

/// The queue.
#[derive(Debug)]
pub struct Mine {
    limit: usize,
    target: Span,
    interval: Span,
    packets: VecDeque<(Nanos, Header)>,
    next_signal: Nanos,
    backlog: Backlog,
    stats: Stats,
}

impl OwnQueue for Mine {
    const NAME: &'static CStr = c"@NAME@";
    const ABOUT: &'static CStr = c"a FIFO that marks or drops what has waited too long";
    const PARAMETERS: &'static [RawParameter] = &[
        parameter(c"limit", c"most packets that wait", Unit::Count, 1000, [1, 100_000]),
        parameter(c"target", c"the wait that is fine", Unit::Time, 5_000_000, [0, 1_000_000_000]),
        parameter(c"interval", c"the time between two signals", Unit::Time, 20_000_000, [1, 10_000_000_000]),
    ];

    fn create(values: &[u64], _seed: u64) -> Result<Mine, String> {
        let &[limit, target, interval] = values else { return Err("three parameters".into()) };
        Ok(Mine {
            limit: limit as usize,
            target: Span(target),
            interval: Span(interval),
            packets: VecDeque::new(),
            next_signal: Nanos::ZERO,
            backlog: Backlog::default(),
            stats: Stats::default(),
        })
    }
}

goodqueue_own::export_queue!(Mine);

impl Mine {
    fn take(&mut self) -> Option<(Nanos, Header)> {
        let (arrived, packet) = self.packets.pop_front()?;
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(packet.len);
        Some((arrived, packet))
    }
}

impl Queue<Header> for Mine {
    fn enqueue(&mut self, now: Nanos, packet: Header, owner: &mut impl Owner<Header>) -> Verdict {
        if self.packets.len() == self.limit {
            self.stats.drops += 1;
            owner.dropped(now, packet, Reason::Limit);
            return Verdict::Dropped(Reason::Limit);
        }
        self.packets.push_back((now, packet));
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.len);
        Verdict::Enqueued
    }

    fn dequeue(&mut self, now: Nanos, owner: &mut impl Owner<Header>) -> Option<Header> {
        let (arrived, mut packet) = self.take()?;
        if now.since(arrived) <= self.target {
            self.next_signal = now + self.interval;
        } else if now >= self.next_signal && !self.packets.is_empty() {
            self.next_signal = now + self.interval;
            if packet.set_ce() {
                self.stats.marks += 1;
                owner.marked(now, &packet, Reason::Codel);
            } else {
                self.stats.drops += 1;
                owner.dropped(now, packet, Reason::Codel);
                packet = self.take()?.1;
            }
        }
        self.stats.packets += 1;
        self.stats.bytes += u64::from(packet.len);
        Some(packet)
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        (!self.packets.is_empty()).then_some(now)
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn reset(&mut self, now: Nanos, owner: &mut impl Owner<Header>) {
        while let Some((_, packet)) = self.take() {
            owner.dropped(now, packet, Reason::Reset);
        }
        self.next_signal = Nanos::ZERO;
    }
}

impl Inspect for Mine {
    fn stats(&self) -> Stats {
        self.stats
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_the_rules() {
        let make = |seed| Mine::create(&[1000, 5_000_000, 20_000_000], seed);
        let report = goodqueue_own::check::check(make, |_| None).expect("a queue");
        assert!(report.violations.is_empty(), "{:#?}", report.violations);
    }
}

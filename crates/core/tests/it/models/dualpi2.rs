//! `dualpi2`: the promises of every queue, and the pseudo-code of RFC 9332 appendix A in floating point,
//! decision for decision.

use std::collections::VecDeque;

use goodqueue::arena::Slot;
use goodqueue::dualpi2::{DropEarly, MAX_PROB, Params, Threshold};
use goodqueue::{
    Configurable, Draws, DualPi2, Header, Ignore, Inspect, Nanos, Observer, PacketInfo, Queue, Reason, Rng,
    Span, Verdict,
};
use proptest::prelude::*;

use super::LINK;
use super::harness::{Op, Seen, Subject, op, run};

fn params(choice: u8) -> Params {
    let at = usize::from(choice);
    Params {
        limit: [40, 5, 20, 100][at],
        memlimit: Some([u32::MAX, 50_000, u32::MAX, 200_000][at]),
        coupling_factor: [2, 1, 4, 2][at],
        step_thresh: [
            Threshold::Time(Span::from_millis(1)),
            Threshold::Packets(2),
            Threshold::Time(Span::from_micros(800)),
            Threshold::Time(Span::ZERO),
        ][at],
        range: Span::from_micros([0, 0, 400, 100_000][at]),
        min_qlen_step: [0, 1, 3, 0][at],
        drop_overload: choice != 1,
        drop_early: if choice == 3 { DropEarly::DropEnqueue } else { DropEarly::DropDequeue },
        c_protection: [10, 50, 0, 90][at],
        target: Span::from_millis([15, 1, 5, 15][at]),
        tupdate: Span::from_millis([16, 3, 16, 50][at]),
        alpha: [160_000, 16_600_000, 0, 160_000][at],
        beta: [3_200_000, 30_000_000, 3_200_000, 0][at],
        ..Params::default()
    }
}

impl Subject for DualPi2<Header> {
    const IS_FIFO: bool = false;
    const COUNTS_CHANGE: bool = false;
    fn may_overtake(late: &Header, early: &Header) -> bool {
        (late.dsfield ^ early.dsfield) & 1 == 1
    }
    fn reconfigure(&mut self, now: Nanos, choice: u8, seen: &mut Seen) {
        self.configure(now, params(choice), LINK, seen).expect("parameters");
    }
}

fn dualpi2(params: Params, now: Nanos) -> DualPi2<Header> {
    DualPi2::new(now, params, LINK, (Rng::new(5), vec![Slot::default(); 100])).expect("a queue")
}

/// RFC 9332 appendix A with the choices of the queue's documentation. Times are seconds.
struct Model {
    params: Params,
    /// Arrival, packet, whether the step applies to it.
    halves: [VecDeque<(u64, Header, bool)>; 2],
    p: f64,
    prev: f64,
    next: u64,
    credit: f64,
    draws: Rng,
    /// The largest number of packets and the most memory so far.
    records: (u32, u64),
}

impl Model {
    fn new(params: Params, now: u64) -> Model {
        let credit = 1514.0 * (2.0 * f64::from(params.c_protection) - 100.0);
        let next = now + params.tupdate.0;
        Model {
            params,
            halves: Default::default(),
            p: 0.0,
            prev: 0.0,
            next,
            credit,
            draws: Rng::new(5),
            records: (0, 0),
        }
    }

    fn update(&mut self, now: u64) {
        while self.next <= now {
            let at = self.next;
            let delay = |half: &VecDeque<(u64, Header, bool)>| {
                half.front().map_or(0.0, |(t, ..)| (at - t) as f64 / 1e9)
            };
            let q = delay(&self.halves[0]).max(delay(&self.halves[1]));
            let (alpha, beta) = (f64::from(self.params.alpha) / 1e6, f64::from(self.params.beta) / 1e6);
            self.p += alpha * (q - self.params.target.0 as f64 / 1e9) + beta * (q - self.prev);
            let k = f64::from(self.params.coupling_factor);
            self.p = self.p.clamp(0.0, if self.params.drop_overload { 1.0 } else { 1.0 / k });
            self.prev = q;
            self.next += self.params.tupdate.0;
        }
    }

    fn bytes(&self) -> u64 {
        self.halves.iter().flatten().map(|(_, packet, _)| u64::from(packet.len)).sum()
    }

    fn likely(&mut self, p: f64) -> bool {
        f64::from(self.draws.next_u32()) / 4_294_967_296.0 < p
    }

    /// 0: passes, 1: marked, 2: dropped.
    fn judge(&mut self, which: usize, packet: &Header, native: f64, heeds: bool) -> u8 {
        let heeds = heeds && self.bytes() >= 2 * 1514;
        let p_cl = self.p * f64::from(self.params.coupling_factor);
        let overload = heeds && self.params.drop_overload && p_cl >= 1.0;
        let p = self.p;
        if which == 0 {
            if overload && self.likely(p) && self.likely(p) {
                return 2;
            }
            let p_l = native.max(if heeds { p_cl } else { 0.0 });
            return u8::from(self.likely(p_l));
        }
        if !(heeds && self.likely(p) && self.likely(p)) {
            return 0;
        }
        if overload || packet.dsfield & 3 == 0 { 2 } else { 1 }
    }

    /// Returns whether it is queued, and whether it is marked.
    fn enqueue(&mut self, now: u64, packet: Header) -> (bool, bool) {
        self.update(now);
        let memory: u64 = self.halves.iter().flatten().map(|(_, packet, _)| u64::from(packet.truesize)).sum();
        let count = self.halves[0].len() + self.halves[1].len();
        if count >= self.params.limit.min(100) as usize
            || memory + u64::from(packet.truesize) > u64::from(self.params.memory_limit(LINK))
        {
            return (false, false);
        }
        let which = usize::from(packet.dsfield & 1 == 0);
        let fate = if self.params.drop_early == DropEarly::DropEnqueue {
            self.judge(which, &packet, 0.0, true)
        } else {
            0
        };
        if fate == 2 {
            return (false, false);
        }
        let half = &mut self.halves[which];
        let mut packet = packet;
        packet.dsfield |= 3 * fate;
        half.push_back((now, packet, half.len() as u32 + 1 > self.params.min_qlen_step));
        let (packets, bytes) = self.records;
        self.records = (packets.max(count as u32 + 1), bytes.max(memory + u64::from(packet.truesize)));
        (true, fate == 1)
    }

    fn laqm(&self, now: u64, arrived: u64, packets: usize) -> f64 {
        match self.params.step_thresh {
            Threshold::Packets(most) => f64::from(u8::from(packets > most as usize)),
            Threshold::Time(least) => {
                let above = (now - arrived) as f64 - least.0 as f64;
                let range = self.params.range.0 as f64;
                if above <= 0.0 { 0.0 } else { (above / range).min(1.0) }
            }
        }
    }

    /// The packets dropped on the way, and the one that is delivered.
    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<Header>) {
        self.update(now);
        let mut dropped = Vec::new();
        loop {
            let lens = [self.halves[0].len(), self.halves[1].len()];
            let both = lens[0] > 0 && lens[1] > 0;
            let which = usize::from(lens[0] == 0 || (both && self.credit > 0.0));
            let Some((arrived, mut packet, steps)) = self.halves[which].pop_front() else {
                return (dropped, None);
            };
            if both {
                let c = f64::from(self.params.c_protection);
                self.credit += f64::from(packet.len) * if which == 0 { c } else { c - 100.0 };
            } else if lens[0] + lens[1] == 1 {
                self.credit = 1514.0 * (2.0 * f64::from(self.params.c_protection) - 100.0);
            }
            let native = if which == 0 && steps { self.laqm(now, arrived, lens[0]) } else { 0.0 };
            match self.judge(which, &packet, native, self.params.drop_early == DropEarly::DropDequeue) {
                2 => dropped.push(packet.cookie),
                fate => {
                    packet.dsfield |= 3 * fate;
                    return (dropped, Some(packet));
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn dualpi2_keeps_every_promise(ops in prop::collection::vec(op(), 1..300), start in any::<u32>()) {
        run(dualpi2(params(0), Nanos(start.into())), u64::from(start), &ops);
    }

    #[test]
    fn dualpi2_is_the_pseudo_code(ops in prop::collection::vec(op(), 1..400), choice in 0_u8..4) {
        let (mut queue, mut model) = (dualpi2(params(choice), Nanos(9)), Model::new(params(choice), 9));
        let (mut now, mut seen) = (9, Seen::default());
        for (id, op) in (0_u64..).zip(&ops) {
            match *op {
                Op::Enqueue { len, ecn, .. } => {
                    let len = len.min(1514);
                    let packet = Header { cookie: id, len, truesize: len + 700, dsfield: ecn, ..Header::default() };
                    seen.inside.insert(id, packet);
                    let verdict = queue.enqueue(Nanos(now), packet, &mut seen);
                    let marked = std::mem::take(&mut seen.marked);
                    let is_queued = verdict == Verdict::Enqueued;
                    prop_assert_eq!((is_queued, marked == 1), model.enqueue(now, packet));
                    seen.dropped.clear();
                }
                // After a long time without calls, the queue does not catch up step by step.
                Op::Advance(span) => now += span % 200_000_000,
                _ => {
                    let packet = queue.dequeue(Nanos(now), &mut seen);
                    packet.iter().for_each(|packet| _ = seen.leaves(packet));
                    seen.marked = 0;
                    let dropped: Vec<u64> = seen.dropped.drain(..).map(|(packet, _)| packet.cookie).collect();
                    prop_assert_eq!((dropped, packet), model.dequeue(now));
                }
            }
            let counters = queue.dualpi2_counters();
            prop_assert_eq!((counters.maxq, counters.max_memory_used), model.records);
            prop_assert_eq!(queue.lengths().map(|n| n as usize), [0, 1].map(|half| model.halves[half].len()));
            queue.advance(Nanos(now));
            model.update(now);
            let prob = queue.vars().prob as f64 / MAX_PROB as f64;
            prop_assert!((prob - model.p).abs() < 1e-12, "{} is {}", prob, model.p);
        }
    }
}

fn packet(cookie: u64, ecn: u8) -> Header {
    Header { cookie, len: 1000, truesize: 1500, dsfield: ecn, ..Header::default() }
}

/// RFC 9332 appendix A.1: p' += alpha (q - target) + beta (q - q before), by hand.
#[test]
fn the_base_probability_is_that_of_the_rfc() {
    let mut queue = dualpi2(Params::default(), Nanos(0));
    queue.enqueue(Nanos(0), packet(0, 0), &mut Ignore);
    // At 16 ms and 32 ms the packet has waited that long.
    queue.advance(Nanos(32_000_000));
    let first = 0.16 * (0.016 - 0.015) + 3.2 * 0.016;
    let second = 0.16 * (0.032 - 0.015) + 3.2 * 0.016;
    let prob = queue.vars().prob as f64 / MAX_PROB as f64;
    assert!((prob - first - second).abs() < 1e-12, "{prob}");
}

/// RFC 9332 section 4.2.2, tc-dualpi2(8): the classic queue gets a tenth of the line while both have packets.
#[test]
fn the_classic_queue_gets_a_tenth() {
    let params = Params { alpha: 0, beta: 0, limit: 100, ..Params::default() };
    let mut queue = dualpi2(params, Nanos(0));
    for cookie in 0..100 {
        queue.enqueue(Nanos(0), packet(cookie, if cookie < 50 { 1 } else { 0 }), &mut Ignore);
    }
    let order: Vec<u64> =
        std::iter::from_fn(|| queue.dequeue(Nanos(0), &mut Ignore)).map(|p| p.cookie).collect();
    let classic = order[..50].iter().filter(|&&cookie| cookie >= 50).count();
    assert!((4..=5).contains(&classic), "{classic} of the first 50");
    assert!(order.iter().filter(|&&cookie| cookie < 50).is_sorted());
}

/// Counts the packets that the law drops.
#[derive(Default)]
struct Drops(u64);

impl Observer<Header> for Drops {
    fn dropped(&mut self, _now: Nanos, _packet: Header, reason: Reason) {
        self.0 += u64::from(reason == Reason::Pi2);
    }
}

impl PacketInfo<Header> for Drops {}

/// For a second, an unresponsive flow sends twice what the line takes (RFC 9332 section 4.2.3).
fn overload(drop_overload: bool, ecn: u8) -> (f64, u64, u64) {
    let params = Params { drop_overload, limit: 10_000, ..Params::default() };
    let parts = (Rng::new(1), vec![Slot::default(); 10_000]);
    let mut queue = <DualPi2<Header>>::new(Nanos(0), params, LINK, parts).expect("a queue");
    let mut drops = Drops::default();
    for step in 0..10_000 {
        let now = Nanos(step * 100_000);
        queue.enqueue(now, packet(step * 2, ecn), &mut drops);
        queue.enqueue(now, packet(step * 2 + 1, ecn), &mut drops);
        queue.dequeue(now, &mut drops);
    }
    (queue.vars().prob as f64 / MAX_PROB as f64, drops.0, queue.stats().marks)
}

#[test]
fn under_overload_ecn_capable_packets_are_dropped_in_both_queues() {
    for ecn in [1, 2] {
        let (prob, drops, _) = overload(true, ecn);
        assert!(prob > 0.5 && drops > 1000, "{ecn}: {prob}, {drops}");
        let (prob, drops, marks) = overload(false, ecn);
        assert!((prob - 0.5).abs() < 1e-9, "{prob}");
        assert!(drops == 0 && marks > 1000, "{drops} drops, {marks} marks");
    }
    // Without ECN, p_C is at most 1/k^2 if the queue may overflow (RFC 9332 appendix A.1, p_Cmax).
    let (_, drops, _) = overload(false, 0);
    assert!((2000..3000).contains(&drops), "a quarter of 10000 and the packets dropped: {drops}");
}

#[test]
fn a_year_without_calls_takes_no_time() {
    let mut queue = dualpi2(Params::default(), Nanos(0));
    queue.enqueue(Nanos(0), packet(0, 0), &mut Ignore);
    queue.advance(Nanos(u64::MAX - 1));
    assert_eq!(queue.vars().prob, MAX_PROB);
    assert!(queue.dequeue(Nanos(u64::MAX - 1), &mut Ignore).is_some(), "it is alone");
    queue.advance(Nanos(u64::MAX));
}

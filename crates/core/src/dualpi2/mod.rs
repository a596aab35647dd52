//! `dualpi2`: two queues with one controller (RFC 9332). ECT(1) and CE go to the L queue, which is marked at once where
//! it stands; all else to the classic queue, kept at `target`. The probability p' of the controller is squared for the
//! classic queue and multiplied by the coupling factor for the L queue, so that a flow of either has the same rate.
//!
//! Behaviour: RFC 9332 appendix A.2, with the parameters and defaults of tc-dualpi2(8), Linux 6.17. Where the two differ,
//! or leave it open:
//!
//! * A probability is tried with random numbers, p'^2 with two of them, as in Linux; the RFC sums it up until it is one.
//! * The scheduler is a weighted round robin by bytes that counts while both queues have packets; it begins with the L
//!   queue. The RFC has a time-shifted FIFO as another.
//! * While less than two packets of the MTU stand behind a packet, the law leaves it alone (as in PIE, RFC 8033 section
//!   4.1); the threshold of the L queue holds for it.
//! * There is one classifier, the ECN field; Linux reads priority and filters too.

mod law;
mod params;

use law::{Law, roll};
pub use law::{MAX_PROB, Vars};
pub use params::{Params, Threshold};

use crate::arena::{Arena, List, Slot, Storage};
use crate::queue::Sent;
use crate::{Backlog, Draws, Ecn, Nanos, Observer, Packet, Queue, Reason, Rng, Stats, Verdict};

/// A packet and when it arrived, ns.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stamped<P> {
    packet: P,
    arrived: u64,
}

/// What `dualpi2` has counted beyond [`Stats`], in the words of `tc -s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DualPi2Counters {
    /// Packets taken into the classic queue.
    pub pkts_in_c: u64,
    /// Packets taken into the L queue.
    pub pkts_in_l: u64,
    /// Packets refused at the limit, in packets or memory.
    pub overlimit: u64,
    /// Packets dropped by the law.
    pub dropped: u64,
    /// Packets marked by the law.
    pub ecn_mark: u64,
    /// Packets marked by the threshold of the L queue.
    pub step_marks: u64,
    /// Most packets queued.
    pub maxq: u32,
    /// Most memory queued, bytes.
    pub max_memory_used: u64,
}

/// One of the two queues.
#[derive(Clone, Copy, Debug)]
struct Half {
    list: List,
    packets: u32,
}

/// The L queue.
const L: usize = 0;
/// The classic queue.
const C: usize = 1;

/// What the law says of a packet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Pass,
    Mark(Reason),
    Drop,
}

/// `dualpi2` over storage of type `S`, with random numbers from `D`. A storage with fewer places than `limit` lowers the
/// limit to that.
#[derive(Clone, Debug)]
pub struct DualPi2<P, S, D = Rng> {
    params: Params,
    law: Law,
    arena: Arena<Stamped<P>, S>,
    halves: [Half; 2],
    limit: u32,
    backlog: u64,
    memory_used: u64,
    /// What the classic queue is owed, bytes times percent; above zero it is its turn.
    credit: i64,
    counters: DualPi2Counters,
    sent: Sent,
    drop_change: u64,
    draws: D,
}

impl<P: Packet, S: Storage<Slot<Stamped<P>>>, D: Draws> DualPi2<P, S, D> {
    /// An empty queue, made at `now`.
    pub fn new(params: Params, now: Nanos, draws: D, slots: S) -> Self {
        let arena = Arena::new(slots);
        DualPi2 {
            law: Law::new(&params, now),
            limit: params.limit.min(arena.capacity()),
            arena,
            halves: [Half { list: List::EMPTY, packets: 0 }; 2],
            backlog: 0,
            memory_used: 0,
            credit: first_credit(&params),
            params,
            counters: DualPi2Counters::default(),
            sent: Sent::default(),
            drop_change: 0,
            draws,
        }
    }

    /// The parameters in force.
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// The control state.
    pub const fn vars(&self) -> &Vars {
        &self.law.vars
    }

    /// What the queue has counted.
    pub const fn dualpi2_counters(&self) -> &DualPi2Counters {
        &self.counters
    }

    /// Packets in the L queue and in the classic one.
    pub const fn lengths(&self) -> [u32; 2] {
        [self.halves[L].packets, self.halves[C].packets]
    }

    /// Brings the probability up to `now`. Every other call does this first; it is of use to one who wants to look at
    /// [`DualPi2::vars`].
    #[inline]
    pub fn advance(&mut self, now: Nanos) {
        if self.law.is_due(now) {
            self.update(now);
        }
    }

    #[cold]
    fn update(&mut self, now: Nanos) {
        let heads = self.halves.iter().filter_map(|half| self.arena.slot(half.list.head()));
        self.law.update(now, heads.map(|slot| slot.packet.arrived).min());
    }

    /// Sets all parameters. Packets above a lower limit leave as if they were sent, and are dropped.
    pub fn configure(&mut self, now: Nanos, params: Params, observer: &mut impl Observer<P>) {
        self.advance(now);
        self.params = params;
        self.law.configure(&params);
        self.limit = params.limit.min(self.arena.capacity());
        while self.packets() > self.limit || self.memory_used > u64::from(params.memory_limit) {
            let Some((_, stamped, _)) = self.pop() else { break };
            self.drop_change += 1;
            observer.dropped(now, stamped.packet, Reason::Change);
        }
    }

    const fn packets(&self) -> u32 {
        self.halves[L].packets + self.halves[C].packets
    }

    /// The queue for a packet: ECT(1) and CE are the identifier of L4S (RFC 9331 section 5.1).
    #[inline]
    fn classify(&self, packet: &P) -> usize {
        let ecn = packet.ecn();
        if ecn as u8 & 1 == 1 || (ecn == Ecn::Ect0 && self.params.any_ect) { L } else { C }
    }

    /// Whose turn it is; both have packets.
    #[inline]
    fn pop(&mut self) -> Option<(usize, Stamped<P>, bool)> {
        let both = self.halves[L].packets > 0 && self.halves[C].packets > 0;
        let which = if self.halves[L].packets > 0 && (!both || self.credit <= 0) { L } else { C };
        let half = &mut self.halves[which];
        let slot = self.arena.shift(&mut half.list)?;
        let (stamped, is_stepped) = (slot.packet, slot.tick != 0);
        half.packets -= 1;
        let len = stamped.packet.len();
        if both {
            let c_protection = i64::from(self.params.c_protection.min(100));
            let share = if which == L { c_protection } else { c_protection - 100 };
            self.credit = self.credit.saturating_add(share * i64::from(len));
        } else if self.packets() == 0 {
            self.credit = first_credit(&self.params);
        }
        self.backlog -= u64::from(len);
        self.memory_used -= u64::from(stamped.packet.truesize());
        Some((which, stamped, is_stepped))
    }

    /// The law's word on a packet for or from `half`, beside the marking of the L queue itself with the probability
    /// `native` (RFC 9332 appendix A.2, `dualpi2_dequeue`).
    #[inline(always)]
    fn judge(&mut self, half: usize, packet: &P, native: u64, heeds_law: bool) -> Fate {
        let is_left_alone = !heeds_law || self.backlog < 2 * u64::from(self.params.mtu);
        if half == C && (is_left_alone || !self.law.vars.roll_squared(&mut self.draws)) {
            return Fate::Pass;
        }
        self.act(half, packet, native, is_left_alone)
    }

    /// The same for a packet of the L queue, and for one of the classic queue that is not to pass.
    #[inline(never)]
    fn act(&mut self, half: usize, packet: &P, native: u64, is_left_alone: bool) -> Fate {
        let coupled = self.law.vars.coupled(self.params.coupling_factor);
        let is_overload = self.params.drop_overload && coupled >= MAX_PROB;
        if half == C {
            return if is_overload || packet.ecn() == Ecn::NotEct {
                Fate::Drop
            } else {
                Fate::Mark(Reason::Pi2)
            };
        }
        if is_overload && !is_left_alone && self.law.vars.roll_squared(&mut self.draws) {
            return Fate::Drop;
        }
        let coupled = if is_left_alone { 0 } else { coupled };
        let reason = if native > coupled { Reason::Step } else { Reason::Pi2 };
        let is_marked = roll(native.max(coupled), &mut self.draws);
        if is_marked { Fate::Mark(reason) } else { Fate::Pass }
    }

    /// Marking by the length of the L queue alone, with `packets` in it: a step or a ramp (RFC 9332 appendix A.1,
    /// `laqm`).
    #[inline]
    fn native(&self, now: Nanos, arrived: u64, packets: u32) -> u64 {
        match self.params.step_thresh {
            Threshold::Packets(most) => u64::from(packets > most) * MAX_PROB,
            Threshold::Time(least) => {
                let above = now.0.saturating_sub(arrived).saturating_sub(least.0);
                if above == 0 || above >= self.params.range.0 {
                    return u64::from(above > 0) * MAX_PROB;
                }
                let share = u128::from(above) * u128::from(MAX_PROB) / u128::from(self.params.range.0);
                u64::try_from(share).unwrap_or(MAX_PROB)
            }
        }
    }

    #[inline(never)]
    fn mark(&mut self, now: Nanos, packet: &mut P, reason: Reason, observer: &mut impl Observer<P>) {
        if packet.set_ce() {
            let counters = &mut self.counters;
            let counter =
                if reason == Reason::Step { &mut counters.step_marks } else { &mut counters.ecn_mark };
            *counter += 1;
            observer.marked(now, packet, reason);
        }
    }

    fn refuse(&mut self, now: Nanos, packet: P, reason: Reason, observer: &mut impl Observer<P>) -> Verdict {
        self.counters.overlimit += 1;
        observer.dropped(now, packet, reason);
        Verdict::Dropped(reason)
    }

    /// Takes in one packet, or one segment of a super-packet.
    #[inline]
    fn admit(&mut self, now: Nanos, mut packet: P, observer: &mut impl Observer<P>) -> Verdict {
        if self.packets() >= self.limit {
            return self.refuse(now, packet, Reason::Limit, observer);
        }
        let truesize = u64::from(packet.truesize());
        if self.memory_used + truesize > u64::from(self.params.memory_limit) {
            return self.refuse(now, packet, Reason::Memory, observer);
        }
        let which = self.classify(&packet);
        if self.params.drop_early {
            match self.judge(which, &packet, 0, true) {
                Fate::Pass => {}
                Fate::Mark(reason) => self.mark(now, &mut packet, reason, observer),
                Fate::Drop => {
                    self.counters.dropped += 1;
                    observer.dropped(now, packet, Reason::Pi2);
                    return Verdict::Dropped(Reason::Pi2);
                }
            }
        }
        self.backlog += u64::from(packet.len());
        self.memory_used += truesize;
        let half = &mut self.halves[which];
        half.packets += 1;
        let is_stepped = which == L && half.packets > self.params.min_qlen_step;
        // There is a place: fewer than `limit` packets are queued, and it is at most the places.
        self.arena.push(&mut half.list, Stamped { packet, arrived: now.0 }, u32::from(is_stepped));
        let counters = &mut self.counters;
        let arrivals = if which == L { &mut counters.pkts_in_l } else { &mut counters.pkts_in_c };
        *arrivals += 1;
        counters.max_memory_used = counters.max_memory_used.max(self.memory_used);
        self.counters.maxq = self.counters.maxq.max(self.packets());
        Verdict::Enqueued
    }

    /// Takes in the segments of a super-packet one by one; whole where it cannot be cut.
    #[cold]
    #[inline(never)]
    fn admit_segments(&mut self, now: Nanos, packet: P, observer: &mut impl Observer<P>) -> Verdict {
        let segments = observer.details(&packet).gso.map_or(0, |gso| gso.segments);
        for number in 0..segments {
            match observer.segment(&packet, number) {
                Some(segment) => {
                    self.admit(now, segment, observer);
                }
                None if number == 0 => return self.admit(now, packet, observer),
                None => break,
            }
        }
        if segments == 0 { self.admit(now, packet, observer) } else { Verdict::Enqueued }
    }
}

/// What the classic queue is owed in the beginning: less than nothing where its share is the smaller one.
fn first_credit(params: &Params) -> i64 {
    let c_protection = i64::from(params.c_protection.min(100));
    i64::from(params.mtu) * (2 * c_protection - 100)
}

impl<P: Packet, S: Storage<Slot<Stamped<P>>>, D: Draws> Queue<P> for DualPi2<P, S, D> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, packet: P, observer: &mut impl Observer<P>) -> Verdict {
        self.advance(now);
        if packet.len() > self.params.mtu && self.params.split_gso {
            return self.admit_segments(now, packet, observer);
        }
        self.admit(now, packet, observer)
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, observer: &mut impl Observer<P>) -> Option<P> {
        self.advance(now);
        loop {
            let (which, Stamped { mut packet, arrived }, is_stepped) = self.pop()?;
            let native = if which == L && is_stepped {
                self.native(now, arrived, self.halves[L].packets + 1)
            } else {
                0
            };
            match self.judge(which, &packet, native, !self.params.drop_early) {
                Fate::Pass => {}
                Fate::Mark(reason) => self.mark(now, &mut packet, reason, observer),
                Fate::Drop => {
                    self.counters.dropped += 1;
                    observer.dropped(now, packet, Reason::Pi2);
                    continue;
                }
            }
            self.sent.add(packet.len());
            return Some(packet);
        }
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        if self.packets() == 0 { None } else { Some(now) }
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets(), bytes: self.backlog }
    }

    fn stats(&self) -> Stats {
        self.sent.stats(
            self.counters.overlimit + self.counters.dropped + self.drop_change,
            self.counters.ecn_mark + self.counters.step_marks,
        )
    }

    fn reset(&mut self, now: Nanos, observer: &mut impl Observer<P>) {
        self.advance(now);
        while let Some((_, stamped, _)) = self.pop() {
            observer.dropped(now, stamped.packet, Reason::Reset);
        }
        self.law.vars = Vars::default();
    }

    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        let counters = &self.counters;
        each("pkts_in_c", counters.pkts_in_c);
        each("pkts_in_l", counters.pkts_in_l);
        each("overlimit", counters.overlimit);
        each("dropped", counters.dropped);
        each("ecn_mark", counters.ecn_mark);
        each("step_marks", counters.step_marks);
        each("maxq", u64::from(counters.maxq));
        each("max_memory_used", counters.max_memory_used);
    }
}

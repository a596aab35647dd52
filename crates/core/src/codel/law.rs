//! The control law of `CoDel` (RFC 8289 section 5), in the integers of Linux, apart from how packets
//! are stored: `codel` and every bucket of `fq_codel` run this one body over their own [`Source`].

use super::Params;
use super::tick::Tick;
use crate::spec::words;
use crate::{Packet, Reason};

/// Whether to keep the corner cases in which Linux departs from the algorithm.
///
/// Those of [`Parity::Linux`] are caused by the wrapping clock alone. All are rare, and none costs an
/// ordinary packet an instruction. Decision vectors are compared under [`Parity::Linux`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parity {
    /// Decide as the algorithm intends:
    ///
    /// * the drop count of the last dropping state is resumed only within 16 intervals of its `drop_next`,
    ///   even if the queue was idle for more than half a clock period (2199 s);
    /// * `first_above_time` is armed even if its tick is the number 0;
    /// * an inverse root of 0, which batch drops can leave in a bucket, restarts the law instead of emptying
    ///   the bucket at once.
    #[default]
    Sane,
    /// Decide as Linux 6.1.192 `codel_impl.h:codel_dequeue` does, bit for bit.
    Linux,
    /// As [`Parity::Linux`], but without the fix of March 2026 (commit 815980fe6dbb, not yet in 6.1.190): a
    /// dequeue that finds the queue empty leaves `first_above_time` armed. If each packet of a sparse flow of
    /// `fq_codel` waits longer than the target, the flow is judged as if it had been above the target all the
    /// time. It loses packets although its queue drains each time (contrary to RFC 8289 section 5.5
    /// `dodequeue`). The fix does not change the decisions of `codel` itself: no byte is queued after its
    /// last packet, and that disarms the law.
    LinuxStale,
}

words! { Parity: Sane = "sane", Linux = "linux", LinuxStale = "linux-stale" }

/// Times of [`Params`] as Linux keeps them, in ticks of 1024 ns, rounded down, modulo 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticks {
    /// See [`Params::target`].
    pub target: u32,
    /// See [`Params::interval`].
    pub interval: u32,
    /// See [`Params::ce_threshold`]; 2147483647 if there is none.
    pub ce_threshold: u32,
}

/// A `ce_threshold` that is off is still a threshold, of 2199 s (Linux `CODEL_DISABLED_THRESHOLD`).
const DISABLED_THRESHOLD: Tick = Tick(i32::MAX.cast_unsigned());

/// The part of [`Params`] that the law needs, in ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Law {
    target: Tick,
    interval: Tick,
    ce_threshold: Tick,
    /// Nothing is dropped while the backlog, without the packet in hand, is at most this many bytes: the
    /// device's MTU with its link header (RFC 8289 section 5.2 "MAXPACKET"; Linux `psched_mtu`).
    mtu: u64,
    ecn: bool,
    /// With a mask other than 0, `ce_threshold` applies only to packets whose masked DS byte has this value.
    ce_threshold_selector: u8,
    ce_threshold_mask: u8,
    parity: Parity,
}

impl Law {
    pub(crate) const fn new(params: &Params, mtu: u32) -> Law {
        Law {
            target: Tick::of(params.target),
            interval: Tick::of(params.interval),
            ce_threshold: match params.ce_threshold {
                Some(span) => Tick::of(span),
                None => DISABLED_THRESHOLD,
            },
            mtu: mtu as u64,
            ecn: params.ecn,
            ce_threshold_selector: 0,
            ce_threshold_mask: 0,
            parity: params.parity,
        }
    }

    /// The same, with `ce_threshold` for some packets only.
    pub(crate) const fn with_selector(self, ce_threshold_selector: u8, ce_threshold_mask: u8) -> Law {
        Law { ce_threshold_selector, ce_threshold_mask, ..self }
    }

    /// The times in ticks.
    pub(crate) const fn ticks(&self) -> Ticks {
        Ticks { target: self.target.0, interval: self.interval.0, ce_threshold: self.ce_threshold.0 }
    }

    /// `first_above_time` of a packet that is above target at `now`. Zero means "not above", so
    /// [`Parity::Sane`] uses the next tick instead.
    fn above(&self, now: Tick) -> Tick {
        let time = now.plus(self.interval);
        if self.parity == Parity::Sane && time == Tick(0) { Tick(1) } else { time }
    }
}

/// State of the control law for one first-in first-out queue (Linux `struct codel_vars`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Vars {
    count: u32,
    lastcount: u32,
    dropping: bool,
    rec_inv_sqrt: u16,
    first_above_time: Tick,
    drop_next: Tick,
    ldelay: Tick,
}

/// A copy of the control state for inspection, with the names and units of Linux (`codel_vars`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Drops since the law entered the dropping state.
    pub count: u32,
    /// `count` on the last entry into the dropping state.
    pub lastcount: u32,
    /// Whether the law is in the dropping state.
    pub dropping: bool,
    /// 1 / sqrt(count) as a fraction of 2^16.
    pub rec_inv_sqrt: u16,
    /// When the sojourn time will have been above target for an interval; 0: it is not above. Ticks of
    /// 1024 ns modulo 2^32.
    pub first_above_time: u32,
    /// Time of the next drop. Ticks of 1024 ns modulo 2^32.
    pub drop_next: u32,
    /// Sojourn time of the packet examined last. Ticks of 1024 ns.
    pub ldelay: u32,
}

/// The counters of the control law.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets dropped by the control law.
    pub drop_count: u64,
    /// Packets marked by the control law.
    pub ecn_mark: u64,
    /// Packets marked by `ce_threshold`.
    pub ce_mark: u64,
    /// The longest packet examined, bytes.
    pub maxpacket: u32,
}

/// How a queue supplies the law with packets and receives its signals.
pub(crate) trait Source<P> {
    /// Takes the packet at the head; returns it with the tick of its enqueue.
    fn pop(&mut self) -> Option<(P, Tick)>;
    /// Bytes that count for the test "too small to drop", now.
    fn backlog(&self) -> u64;
    /// The law drops `packet`, which it has popped.
    fn drop(&mut self, packet: P);
    /// The law has marked `packet`.
    fn mark(&mut self, packet: &P, reason: Reason);
}

impl Vars {
    pub(crate) const fn state(&self) -> State {
        State {
            count: self.count,
            lastcount: self.lastcount,
            dropping: self.dropping,
            rec_inv_sqrt: self.rec_inv_sqrt,
            first_above_time: self.first_above_time.0,
            drop_next: self.drop_next.0,
            ldelay: self.ldelay.0,
        }
    }

    /// `drops` packets were dropped from this queue without the law (a batch drop of `fq_codel`).
    pub(crate) const fn add_to_count(&mut self, drops: u32) {
        self.count = self.count.wrapping_add(drops);
    }

    /// One Newton step of `rec_inv_sqrt` towards 1 / sqrt(count): x (3 - count x^2) / 2 in 0.32 fixed
    /// point, of which the upper 16 bits are kept (Linux `codel_Newton_step`; RFC 8289 section 5.3 leaves the
    /// method open).
    #[allow(clippy::cast_possible_truncation)]
    fn newton_step(&mut self) {
        let root = u64::from(self.rec_inv_sqrt) << 16;
        let square = (root * root) >> 32;
        let rest = (3_u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(square));
        self.rec_inv_sqrt = ((rest >> 2).wrapping_mul(root) >> (31 + 16)) as u16;
    }

    /// `from` + interval / sqrt(count) (RFC 8289 section 5.3 `control_law`; Linux `codel_control_law`).
    #[allow(clippy::cast_possible_truncation)]
    fn control_law(&self, law: &Law, from: Tick) -> Tick {
        let scale = u64::from(self.rec_inv_sqrt) << 16;
        from.plus(Tick(((u64::from(law.interval.0) * scale) >> 32) as u32))
    }

    /// Whether a packet of `len` bytes may be dropped: the sojourn time was above target for an interval
    /// (RFC 8289 section 5.5 `dodequeue`; Linux 6.1 `codel_impl.h:codel_should_drop`). `backlog` is the
    /// number of bytes left behind it.
    // This is inlined and the rest is not, to meet the performance bar of fq_codel.
    #[inline(always)]
    pub(crate) fn should_drop(
        &mut self,
        law: &Law,
        counters: &mut Counters,
        now: Tick,
        (len, enqueued): (u32, Tick),
        backlog: u64,
    ) -> bool {
        self.ldelay = now.minus(enqueued);
        if len > counters.maxpacket {
            counters.maxpacket = len;
        }
        if self.ldelay.is_before(law.target) || backlog <= law.mtu {
            self.first_above_time = Tick(0);
            return false;
        }
        if self.first_above_time == Tick(0) {
            self.first_above_time = law.above(now);
            return false;
        }
        now.is_after(self.first_above_time)
    }

    /// The next packet, and whether it may be dropped. An empty queue is below target (Linux 6.1
    /// `codel_impl.h:codel_should_drop` without a packet).
    fn next<P: Packet>(
        &mut self,
        law: &Law,
        counters: &mut Counters,
        now: Tick,
        source: &mut impl Source<P>,
    ) -> Option<(P, bool)> {
        let Some((packet, enqueued)) = source.pop() else {
            self.first_above_time = Tick(0);
            self.dropping = false;
            return None;
        };
        let drop = self.should_drop(law, counters, now, (packet.len(), enqueued), source.backlog());
        Some((packet, drop))
    }

    /// Whether `drop_next` is less than 16 intervals ago, or ahead (Linux 6.1 `codel_impl.h:codel_dequeue`,
    /// where it enters the dropping state).
    fn left_dropping_lately(&self, law: &Law, now: Tick) -> bool {
        let since = now.minus(self.drop_next);
        match law.parity {
            Parity::Linux | Parity::LinuxStale => since.is_before(Tick(law.interval.0.wrapping_mul(16))),
            // drop_next is at most one interval ahead: a window of 17 intervals, not half the clock.
            Parity::Sane => {
                let interval = u64::from(law.interval.0);
                self.rec_inv_sqrt != 0 && u64::from(since.plus(law.interval).0) < 17 * interval
            }
        }
    }

    /// Delivers the next packet, dropping or marking on the way (Linux 6.1 `codel_impl.h:codel_dequeue`, down
    /// to its first use of `drop`).
    // The bars of fq_codel and of the simulator need it inlined: docs/performance.md, "What the inline
    // attributes gain in time".
    #[inline(always)]
    pub(crate) fn dequeue<P: Packet>(
        &mut self,
        law: &Law,
        counters: &mut Counters,
        now: Tick,
        source: &mut impl Source<P>,
    ) -> Option<P> {
        let Some((packet, enqueued)) = source.pop() else {
            self.found_empty(law);
            return None;
        };
        let drop = self.should_drop(law, counters, now, (packet.len(), enqueued), source.backlog());
        if self.passes(law, now, drop) {
            return Some(packet);
        }
        self.drop_or_mark(law, counters, now, (packet, drop), source)
    }

    /// A dequeue found the queue empty: that ends the dropping state and disarms the law, except under
    /// [`Parity::LinuxStale`] (Linux `codel_dequeue` without a packet).
    pub(crate) fn found_empty(&mut self, law: &Law) {
        self.dropping = false;
        if law.parity != Parity::LinuxStale {
            self.first_above_time = Tick(0);
        }
    }

    /// Whether the packet in hand is neither dropped nor marked, given the answer of [`Vars::should_drop`]:
    /// the ordinary case (Linux 6.1 `codel_impl.h:codel_dequeue`, where no branch is taken).
    #[inline(always)]
    pub(crate) fn passes(&mut self, law: &Law, now: Tick, drop: bool) -> bool {
        let is_due = drop && (!self.dropping || !now.is_before(self.drop_next));
        if is_due || self.ldelay.is_after(law.ce_threshold) {
            return false;
        }
        self.dropping = drop;
        true
    }

    /// The rest of `codel_dequeue`, for a packet that does not pass: drops it and others behind it, or marks
    /// it. Returns the packet that is finally delivered, if any is left.
    #[inline(never)]
    pub(crate) fn drop_or_mark<P: Packet>(
        &mut self,
        law: &Law,
        counters: &mut Counters,
        now: Tick,
        (mut packet, mut drop): (P, bool),
        source: &mut impl Source<P>,
    ) -> Option<P> {
        if self.dropping {
            self.dropping = drop;
            while self.dropping && !now.is_before(self.drop_next) {
                self.count = self.count.wrapping_add(1);
                self.newton_step();
                if law.ecn && packet.set_ce() {
                    counters.ecn_mark += 1;
                    source.mark(&packet, Reason::Codel);
                    self.drop_next = self.control_law(law, self.drop_next);
                    break;
                }
                source.drop(packet);
                counters.drop_count += 1;
                (packet, drop) = self.next(law, counters, now, source)?;
                if drop {
                    self.drop_next = self.control_law(law, self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if drop {
            let next = if law.ecn && packet.set_ce() {
                counters.ecn_mark += 1;
                source.mark(&packet, Reason::Codel);
                Some(packet)
            } else {
                source.drop(packet);
                counters.drop_count += 1;
                self.next(law, counters, now, source).map(|(packet, _)| packet)
            };
            self.dropping = true;
            let delta = self.count.wrapping_sub(self.lastcount);
            if delta > 1 && self.left_dropping_lately(law, now) {
                self.count = delta;
                self.newton_step();
            } else {
                self.count = 1;
                self.rec_inv_sqrt = u16::MAX;
            }
            self.lastcount = self.count;
            self.drop_next = self.control_law(law, now);
            packet = next?;
        }
        if self.ldelay.is_after(law.ce_threshold)
            && (law.ce_threshold_mask == 0
                || packet.dsfield() & law.ce_threshold_mask == law.ce_threshold_selector)
            && packet.set_ce()
        {
            counters.ce_mark += 1;
            source.mark(&packet, Reason::CeThreshold);
        }
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(parity: Parity) -> Law {
        Law::new(&Params { parity, ..Params::default() }, crate::ETHERNET_FRAME)
    }

    #[test]
    fn newton_steps_reach_the_root() {
        let mut vars = Vars { rec_inv_sqrt: u16::MAX, ..Vars::default() };
        for count in 2..=10_000_u32 {
            vars.count = count;
            vars.newton_step();
            if count > 16 {
                let exact = 65_536.0 / f64::from(count).sqrt();
                let error = (f64::from(vars.rec_inv_sqrt) - exact).abs() / exact;
                assert!(error < 0.03, "count {count}: {} for {exact}", vars.rec_inv_sqrt);
            }
        }
    }

    #[test]
    fn the_first_spacing_is_a_little_below_one_interval() {
        let vars = Vars { rec_inv_sqrt: u16::MAX, ..Vars::default() };
        assert_eq!(vars.control_law(&law(Parity::Sane), Tick(0)), Tick(97_654));
    }

    #[test]
    fn sane_and_linux_differ_after_half_a_clock_period() {
        let linux = law(Parity::Linux);
        let sane = law(Parity::Sane);
        let vars = Vars { drop_next: Tick(1000), rec_inv_sqrt: 100, ..Vars::default() };
        let interval = 97_656_u32;
        for (since, in_linux, in_sane) in [
            (0, true, true),
            (15 * interval, true, true),
            (16 * interval, false, false),
            (interval.wrapping_neg(), true, true),
            (0x8020_0000, true, false), // over 2199 s idle: Linux reads it as the future
            (0xc000_0000, true, false),
        ] {
            let now = Tick(1000).plus(Tick(since));
            assert_eq!(vars.left_dropping_lately(&linux, now), in_linux, "Linux, {since} ticks");
            assert_eq!(vars.left_dropping_lately(&sane, now), in_sane, "Sane, {since} ticks");
        }
    }

    #[test]
    fn sane_and_linux_differ_on_a_root_of_zero() {
        let vars = Vars { count: 64, ..Vars::default() };
        let now = Tick(97_656);
        assert!(vars.left_dropping_lately(&law(Parity::Linux), now));
        assert!(!vars.left_dropping_lately(&law(Parity::Sane), now));
    }

    /// A queue that holds nothing or one packet.
    struct Packets<const N: usize>([Option<(crate::Header, Tick)>; N]);

    impl<const N: usize> Source<crate::Header> for Packets<N> {
        fn pop(&mut self) -> Option<(crate::Header, Tick)> {
            self.0.iter_mut().find_map(Option::take)
        }
        fn backlog(&self) -> u64 {
            100_000
        }
        fn drop(&mut self, _: crate::Header) {}
        fn mark(&mut self, _: &crate::Header, _: Reason) {}
    }

    #[test]
    fn an_empty_queue_disarms_the_law_but_for_stale_state() {
        let find_empty = |parity| {
            let mut vars = Vars { first_above_time: Tick(7), dropping: true, ..Vars::default() };
            let law = law(parity);
            assert_eq!(vars.dequeue(&law, &mut Counters::default(), Tick(9), &mut Packets([None])), None);
            (vars.first_above_time.0, vars.dropping)
        };
        assert_eq!(find_empty(Parity::Sane), (0, false));
        assert_eq!(find_empty(Parity::Linux), (0, false));
        assert_eq!(find_empty(Parity::LinuxStale), (7, false));
    }

    #[test]
    fn the_clock_of_stale_is_that_of_linux() {
        let vars = Vars { drop_next: Tick(1000), rec_inv_sqrt: 100, ..Vars::default() };
        let now = Tick(1000).plus(Tick(0x8020_0000));
        assert!(vars.left_dropping_lately(&law(Parity::LinuxStale), now));
        assert_eq!(law(Parity::LinuxStale).above(Tick(97_656_u32.wrapping_neg())), Tick(0));
    }

    #[test]
    fn sane_and_linux_differ_where_the_armed_tick_is_zero() {
        let now = Tick(97_656_u32.wrapping_neg());
        let arm = |parity| {
            let law = law(parity);
            let mut vars = Vars::default();
            let mut queue = Packets([Some((crate::Header::default(), now.minus(Tick(5000))))]);
            assert!(vars.dequeue(&law, &mut Counters::default(), now, &mut queue).is_some());
            vars.first_above_time
        };
        assert_eq!(arm(Parity::Linux), Tick(0));
        assert_eq!(arm(Parity::Sane), Tick(1));
    }
}

//! `tbf`: a token bucket over a byte-limited FIFO.
//!
//! Behaviour: Linux 6.1.192 `sch_tbf.c`, `sch_generic.c:psched_ratecfg_precompute` and `psched_l2t_ns`.
//! Tokens are nanoseconds of sending time. The time of a packet is rounded down, so the long-run rate can
//! exceed the nominal one by less than 1 ns per packet. A change of parameters fills the buckets and leaves
//! the time checkpoint unchanged; a lower limit removes nothing.
//!
//! # Example
//!
//! The bucket holds one packet, so the next one waits until there are 1514 bytes of tokens: 12.112 ms at
//! 1 Mbit/s.
//!
//! ```
//! use goodqueue::spec::QueueParams;
//! use goodqueue::{Header, Ignore, Nanos, Queue, QueueSpec, Rate, tbf};
//!
//! let params = tbf::Params::new(Rate(1_000_000), 1514, 60 << 10);
//! let spec = QueueSpec::try_from(QueueParams::Tbf(params))?;
//! assert_eq!(spec.to_string(), "tbf,rate=1mbit,burst=1514,limit=60k");
//!
//! let mut queue = spec.build::<Header>(Rate(20_000_000), 1514, Nanos::ZERO)?;
//! let packet = Header { len: 1514, truesize: 2304, ..Header::default() };
//! queue.enqueue(Nanos::ZERO, packet, &mut Ignore);
//! queue.enqueue(Nanos::ZERO, packet, &mut Ignore);
//! assert!(queue.dequeue(Nanos::ZERO, &mut Ignore).is_some());
//! assert!(queue.dequeue(Nanos::ZERO, &mut Ignore).is_none());
//! assert_eq!(queue.next_wake(Nanos::ZERO), Some(Nanos(12_112_000)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod params;

pub use error::ParamsError;
pub use params::{LinkLayer, Params};

use core::fmt;

use crate::details::Gso;
use crate::fifo::{Fifo, Limit};
use crate::memory::Memory;
use crate::spec::Link;
use crate::{
    Backlog, BuildError, Configurable, Inspect, Nanos, Owner, Packet, Queue, Reason, Span, Stats, Verdict,
};

/// Converts length to time without division: a time is `(length * mult) >> shift` ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateTable {
    /// Factor, 32 bits.
    pub mult: u32,
    /// Right shift.
    pub shift: u8,
    mpu: u16,
    overhead: u16,
    linklayer: LinkLayer,
}

impl RateTable {
    /// The factor and shift with 32 significant bits for a rate in bytes per second, above 0.
    #[allow(clippy::cast_possible_truncation)]
    pub(crate) fn new(bytes_per_second: u64, mpu: u16, overhead: u16, linklayer: LinkLayer) -> RateTable {
        let (mut factor, mut shift) = (1_000_000_000_u64, 0);
        let mut mult = factor / bytes_per_second;
        while mult as u32 >> 31 == 0 && factor >> 63 == 0 {
            factor <<= 1;
            shift += 1;
            mult = factor / bytes_per_second;
        }
        RateTable { mult: mult as u32, shift, mpu, overhead, linklayer }
    }

    /// Time on the link of a packet of `len` bytes, rounded down to whole ns.
    #[must_use]
    pub fn time(&self, len: u32) -> Span {
        self.time_of(self.length(len))
    }

    /// Bytes that a packet of `len` bytes takes on the link.
    pub(crate) fn length(&self, len: u32) -> u64 {
        let len = (u64::from(len) + u64::from(self.overhead)).max(u64::from(self.mpu));
        match self.linklayer {
            LinkLayer::Ethernet => len,
            LinkLayer::Atm => len.div_ceil(48) * 53,
        }
    }

    /// Time of this many bytes on the link.
    pub(crate) const fn time_of(&self, length: u64) -> Span {
        Span(length.wrapping_mul(self.mult as u64) >> self.shift)
    }
}

/// The effective parameters, for the checks of a vector's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effective {
    /// Longest accepted packet, bytes.
    pub max_size: u32,
    /// Depth of the bucket.
    pub buffer: Span,
    /// Depth of the bucket of the peak rate; zero without one.
    pub mtu: Span,
    /// Length to time at the rate.
    pub rate: RateTable,
    /// Length to time at the peak rate.
    pub peak: Option<RateTable>,
}

impl Effective {
    fn new(params: &Params, link: Link) -> Result<Effective, ParamsError> {
        let rate_bytes = params.rate.0 / 8;
        if rate_bytes == 0 {
            return Err(ParamsError::Rate);
        }
        if params.burst == 0 {
            return Err(ParamsError::Burst);
        }
        let table = |bytes| RateTable::new(bytes, params.mpu, params.overhead, params.linklayer);
        let rate = table(rate_bytes);
        let buffer = rate.time(params.burst);
        let Some(peakrate) = params.peakrate else {
            return Ok(Effective { max_size: params.burst, buffer, mtu: Span::ZERO, rate, peak: None });
        };
        if peakrate.0 / 8 <= rate_bytes {
            return Err(ParamsError::PeakRate);
        }
        let minburst = params.minburst.unwrap_or(link.mtu);
        if minburst == 0 {
            return Err(ParamsError::MinBurst);
        }
        let peak = table(peakrate.0 / 8);
        let max_size = params.burst.min(minburst);
        Ok(Effective { max_size, buffer, mtu: peak.time(minburst), rate, peak: Some(peak) })
    }
}

/// The state of the buckets, with Linux's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Tokens of the rate, ns.
    pub tokens: i64,
    /// Tokens of the peak rate, ns.
    pub ptokens: i64,
    /// Time at which the tokens were last computed.
    pub t_c: Nanos,
}

/// `tbf` over the storage `M` of its inner queue.
pub struct Tbf<P: 'static, M: Memory = crate::memory::Usual> {
    params: Params,
    effective: Effective,
    inner: Fifo<P, M>,
    state: State,
    drop_toobig: u64,
    overlimits: u64,
}

impl<P: Packet, M: Memory> Tbf<P, M> {
    /// The parameters.
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// The effective parameters.
    pub const fn effective(&self) -> &Effective {
        &self.effective
    }

    /// The state of the buckets at the last computation.
    pub const fn state(&self) -> State {
        self.state
    }

    /// Packets dropped because they are longer than the bucket's depth.
    pub const fn drop_toobig(&self) -> u64 {
        self.drop_toobig
    }

    /// Handles a packet that is longer than the bucket. A super-packet whose segments are not longer is cut
    /// into them (`sch_tbf.c:tbf_segment`).
    fn cut_or_drop(&mut self, now: Nanos, packet: P, observer: &mut impl Owner<P>) -> Verdict {
        let fits = |gso: &Gso| gso.headers.saturating_add(gso.size) <= self.effective.max_size;
        let segments = observer.details(&packet).gso.filter(fits).map_or(0, |gso| gso.segments);
        let mut verdict = Verdict::Dropped(Reason::Limit);
        let mut cut = 0;
        while cut < segments
            && let Some(segment) = observer.segment(&packet, cut)
        {
            if self.inner.enqueue(now, segment, observer) == Verdict::Enqueued {
                verdict = Verdict::Enqueued;
            }
            cut += 1;
        }
        if cut > 0 {
            return verdict;
        }
        self.drop_toobig += 1;
        observer.dropped(now, packet, Reason::TooBig);
        Verdict::Dropped(Reason::TooBig)
    }

    fn fill(&mut self) {
        self.state.tokens = self.effective.buffer.0.cast_signed();
        self.state.ptokens = self.effective.mtu.0.cast_signed();
    }

    /// Tokens left at `now` after a packet of `len` bytes, of the rate and of the peak rate; negative if
    /// there are not enough.
    fn tokens_after(&self, now: Nanos, len: u32) -> (i64, i64) {
        let depth = self.effective.buffer.0.cast_signed();
        let earned = now.0.wrapping_sub(self.state.t_c.0).cast_signed().min(depth);
        let ptokens = match &self.effective.peak {
            Some(peak) => {
                let full = self.effective.mtu.0.cast_signed();
                earned.saturating_add(self.state.ptokens).min(full) - peak.time(len).0.cast_signed()
            }
            None => 0,
        };
        let tokens = earned.saturating_add(self.state.tokens).min(depth)
            - self.effective.rate.time(len).0.cast_signed();
        (tokens, ptokens)
    }
}

impl<P: Packet, M: Memory> Clone for Tbf<P, M>
where
    Fifo<P, M>: Clone,
{
    fn clone(&self) -> Self {
        Tbf {
            params: self.params,
            effective: self.effective,
            inner: self.inner.clone(),
            state: self.state,
            drop_toobig: self.drop_toobig,
            overlimits: self.overlimits,
        }
    }
}

impl<P: Packet, M: Memory> fmt::Debug for Tbf<P, M> {
    /// Backlog and counters.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = f.debug_struct("Tbf");
        words.field("backlog", &self.backlog()).field("stats", &self.stats()).finish_non_exhaustive()
    }
}

impl<P: Packet, M: Memory> Configurable<P> for Tbf<P, M> {
    type Params = Params;
    type Parts = M::Of<P>;

    /// The buckets are full.
    fn new(now: Nanos, params: Params, link: Link, places: M::Of<P>) -> Result<Self, BuildError> {
        let mut queue = Tbf {
            effective: Effective::new(&params, link).map_err(BuildError::Tbf)?,
            inner: Fifo::new(now, Limit::Bytes(params.limit), link, places)?,
            params,
            state: State { tokens: 0, ptokens: 0, t_c: now },
            drop_toobig: 0,
            overlimits: 0,
        };
        queue.fill();
        Ok(queue)
    }

    /// Fills the buckets. Queued packets stay, even if they are longer than the depth of the new bucket: such
    /// a packet blocks the queue until the next change, as in Linux.
    fn set_params(&mut self, _: Nanos, params: Params, link: Link) -> Result<(), BuildError> {
        self.effective = Effective::new(&params, link).map_err(BuildError::Tbf)?;
        self.inner.set_limit(Limit::Bytes(params.limit));
        self.params = params;
        self.fill();
        Ok(())
    }
}

impl<P: Packet, M: Memory> Queue<P> for Tbf<P, M> {
    /// Linux `tbf_enqueue`.
    fn enqueue(&mut self, now: Nanos, packet: P, observer: &mut impl Owner<P>) -> Verdict {
        if packet.len() > self.effective.max_size {
            return self.cut_or_drop(now, packet, observer);
        }
        self.inner.enqueue(now, packet, observer)
    }

    /// Linux `tbf_dequeue`.
    fn dequeue(&mut self, now: Nanos, observer: &mut impl Owner<P>) -> Option<P> {
        let len = self.inner.peek()?.len();
        let (tokens, ptokens) = self.tokens_after(now, len);
        if tokens < 0 || ptokens < 0 {
            self.overlimits += 1;
            return None;
        }
        self.state = State { tokens, ptokens, t_c: now };
        self.inner.dequeue(now, observer)
    }

    /// The time of Linux's watchdog: `now` plus the larger shortage. A packet longer than the bucket, which
    /// is possible only after a change of parameters, never leaves, even at that time.
    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        let (tokens, ptokens) = self.tokens_after(now, self.inner.peek()?.len());
        let shortage = tokens.min(ptokens).min(0);
        Some(now + Span(shortage.unsigned_abs()))
    }

    fn backlog(&self) -> Backlog {
        self.inner.backlog()
    }

    fn reset(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
        self.inner.reset(now, observer);
        self.fill();
        self.state.t_c = now;
    }
}

impl<P: Packet, M: Memory> Inspect for Tbf<P, M> {
    fn stats(&self) -> Stats {
        let inner = self.inner.stats();
        Stats { drops: inner.drops + self.drop_toobig, overlimits: self.overlimits, ..inner }
    }

    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        each("drop_overlimit", self.inner.stats().drops);
        each("drop_toobig", self.drop_toobig);
        each("overlimits", self.overlimits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rate;

    const LINK: Link = Link::ethernet(Rate(10_000_000));
    use crate::{Header, Ignore};

    #[test]
    fn the_factor_has_32_significant_bits() {
        let table = RateTable::new(625_000, 0, 0, LinkLayer::Ethernet);
        assert_eq!((table.mult, table.shift), (3_355_443_200, 21));
        assert_eq!(table.time(40_000), Span::from_millis(64));
    }

    #[test]
    fn a_packet_short_of_tokens_leaves_exactly_at_next_wake() {
        let params = Params::new(Rate(8_000_000), 1500, 10_000);
        let mut queue = <Tbf<Header>>::new(Nanos(0), params, LINK, alloc::vec![Header::default(); 8])
            .expect("good parameters");
        let packet = Header { len: 1000, truesize: 1000, ..Header::default() };
        for _ in 0..3 {
            queue.enqueue(Nanos(0), packet, &mut Ignore);
        }
        assert_eq!(queue.next_wake(Nanos(0)), Some(Nanos(0)));
        assert!(queue.dequeue(Nanos(0), &mut Ignore).is_some());
        let wake = queue.next_wake(Nanos(0)).expect("two packets are left");
        assert_eq!(wake, Nanos(500_000));
        assert!(queue.dequeue(Nanos(wake.0 - 1), &mut Ignore).is_none());
        assert!(queue.dequeue(wake, &mut Ignore).is_some());
        assert_eq!(queue.stats().overlimits, 1);
    }

    #[test]
    fn wrong_parameters_are_named() {
        let good = Params::new(Rate(8_000), 1500, 1);
        let make =
            |params| match <Tbf<Header>>::new(Nanos(0), params, LINK, alloc::vec![Header::default(); 1]) {
                Err(BuildError::Tbf(error)) => Some(error),
                _ => None,
            };
        assert_eq!(make(Params { rate: Rate(7), ..good }), Some(ParamsError::Rate));
        assert_eq!(make(Params { burst: 0, ..good }), Some(ParamsError::Burst));
        assert_eq!(make(Params { peakrate: Some(Rate(8_000)), ..good }), Some(ParamsError::PeakRate));
        assert_eq!(
            make(Params { peakrate: Some(Rate(9_000)), minburst: Some(0), ..good }),
            Some(ParamsError::MinBurst)
        );
        assert_eq!(make(good), None);
    }
}

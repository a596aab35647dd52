//! Parameters of `red`, and what is computed from them.

use super::error::ParamsError;
use super::{LawParams, Red, remaining};
use crate::memory::{Memory, Room};
use crate::spec::build::{Build, BuildContext};
use crate::spec::{BuildError, Conflict, Link, MAX_BYTES, Parameters, Properties, packets_in, params};
use crate::{Bytes, Packet, Queue, Rate, Rng, Span};

params! {
    /// Parameters of `red` (tc-red(8)).
    pub struct Params: "red": positional,
        "one queue that drops arrivals with a probability by its average length in bytes",
        "Floyd and Jacobson 1993, Linux 6.1 sch_red.c";

    limit: u32 => Required, bytes(1, MAX_BYTES), "largest number of queued bytes", "tc-red(8)";
    min: Option<u32> => Derived("max / 3"), bytes(1, MAX_BYTES),
        "average from which packets are dropped early", "tc-red(8)";
    max: Option<u32> => Derived("limit / 4"), bytes(1, MAX_BYTES),
        "average from which every packet is dropped", "tc-red(8)";
    avpkt: u32 = 1000, bytes(1, 65_535), "average packet, for burst and idle times", "tc-red(8)";
    burst: Option<u32> => Derived("(2 min + max) / (3 avpkt)"), packets(1, u32::MAX as u64),
        "average packets that an idle queue takes at once before it drops early: the weight of a sample",
        "Floyd and Jacobson 1993, equation 3";
    bandwidth: Rate = Rate(10_000_000), rate(Rate(8), Rate(8 << 40)),
        "rate of the line, for idle times; it shapes nothing", "tc-red(8)";
    probability: u32 = 2, count(1, 100), "percent of packets dropped early at max", "tc-red(8)";
    ecn: bool = false, SWITCH, "marks ECN-capable packets instead of dropping them", "tc-red(8), RFC 3168";
    harddrop: bool = false, SWITCH, "drops from max on, also with ecn", "tc-red(8)";
    nodrop: bool = false, SWITCH,
        "queues packets that ecn cannot mark, instead of dropping them early", "tc-red(8)";
    adaptive: bool = false, SWITCH,
        "moves the probability between 1 and 50 %", "Floyd, Gummadi and Shenker 2001";
}

impl Params {
    /// All parameters but `limit` at their defaults.
    #[must_use]
    pub const fn new(limit: u32) -> Params {
        Params { limit, ..<Params as Parameters>::DEFAULT }
    }

    /// The law that follows from them: the weight instead of the burst, a fraction of 2^32 instead of a
    /// percentage (Linux `pkt_sched.h:tc_red_qopt`).
    ///
    /// # Errors
    /// If parameters contradict each other.
    pub fn law(&self) -> Result<LawParams, ParamsError> {
        let qth_max = self.max.unwrap_or(self.limit / 4);
        let qth_min = self.min.unwrap_or(qth_max / 3);
        let avpkt = self.avpkt.max(1);
        if qth_min == 0 || qth_min > qth_max || qth_max > self.limit {
            return Err(ParamsError::Thresholds);
        }
        if self.nodrop && !self.ecn {
            return Err(ParamsError::Nodrop);
        }
        let burst = u64::from(qth_min) * 2 + u64::from(qth_max);
        let burst = self.burst.map_or(burst / (3 * u64::from(avpkt)), u64::from);
        let wlog = weight(qth_min, burst, avpkt).ok_or(ParamsError::Burst)?;
        // Linux stores the thresholds times 2^wlog in 32 bits (red.h:red_check_params).
        if qth_max.leading_zeros() <= u32::from(wlog) {
            return Err(ParamsError::Range);
        }
        Ok(LawParams {
            qth_min,
            qth_max,
            wlog,
            plog: 0,
            max_p: LawParams::max_p(self.probability),
            ecn: self.ecn,
            harddrop: self.harddrop,
        })
    }

    /// Transmission time of an average packet; it determines how an idle time lowers the average.
    #[must_use]
    pub fn packet_time(&self) -> Span {
        self.bandwidth.tx_time(Bytes(self.avpkt.max(1).into()))
    }
}

impl Properties for Params {
    fn check(&self) -> Result<(), Conflict> {
        self.law().map(|_| ()).map_err(Conflict::Red)
    }

    fn places(&self, _: Link, _: u64) -> Result<u64, BuildError> {
        Ok(packets_in(self.limit.into()))
    }

    fn limit_bytes(&self, _: Link) -> Option<u64> {
        Some(self.limit.into())
    }

    fn too_small_for(&self, frame: u32) -> Option<&'static str> {
        (self.limit < frame).then_some("limit")
    }
}

/// The negative binary logarithm of the largest weight with which a burst of `burst` packets raises the
/// average from 0 to less than `min` (Floyd and Jacobson, section 6, equation 3); `None` if not even 2^-31 is
/// small enough.
fn weight(min: u32, burst: u64, avpkt: u32) -> Option<u8> {
    // L + 1 + ((1 - w)^(L + 1) - 1) / w < min / avpkt, in units of 2^-62 packets.
    let passes = |wlog: &u8| {
        let spent = (u128::from((1_u64 << 62) - remaining(*wlog, burst + 1))) << *wlog;
        let average = (u128::from(burst + 1) << 62).saturating_sub(spent);
        average.saturating_mul(avpkt.into()) < u128::from(min) << 62
    };
    (1..=31).find(passes)
}

impl Build for Params {
    type Queue<P: Packet, Q: Queue<P> + 'static, M: Memory> = Red<P, M>;
    type InForce = Params;

    fn in_force(&self, _: Link) -> Result<Params, BuildError> {
        Ok(*self)
    }

    fn parts<P: Packet, Q: Queue<P> + 'static, R: Room>(
        &self,
        context: BuildContext<'_, Q, R>,
        room: &mut R,
    ) -> Result<(Rng, <R::Memory as Memory>::Of<P>), R::Error> {
        Ok((context.draws, room.packets(context.places)?))
    }
}

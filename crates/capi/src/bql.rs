//! Byte queue limits with an account of what is in flight, so that a driver's mistakes are found.
//!
//! Linux trusts the driver: bytes that are sent and never completed stop the ring for good, and more
//! completed than sent stops the machine. Here packets are counted beside the bytes. Where the ring is
//! empty by packets it is empty by bytes; between, the bytes in flight lie between the packets in flight
//! times the shortest and the longest packet sent since the ring was empty last.

use goodqueue::{Dql, Nanos, dql};

use crate::abi::{BqlConfig, BqlState, GQ_MAX_LEN, GQ_STOP, GQ_UNKNOWN, GQ_WAKE};
use crate::code::{Code, GQ_EMISMATCH, GQ_EOVER, GQ_EPACKET, GQ_ERING, GQ_ETIME, GQ_EVALUE};

/// The limit of one ring.
#[repr(C)]
pub(crate) struct Bql {
    /// Tells this from other memory, and whether it was moved.
    pub(crate) mark: usize,
    dql: Dql,
    last: Nanos,
    /// Descriptors; 4294967295: not known.
    ring: u32,
    packets: u32,
    shortest: u32,
    longest: u32,
    over: u64,
    mismatches: u64,
    missed: u64,
    errors: u64,
}

/// The parameters in the limit's own units.
fn params(config: &BqlConfig) -> Result<dql::Params, Code> {
    let is_in_range = (1..=1_000_000_000).contains(&config.hz) && config.min_limit <= config.max_limit;
    if !is_in_range || config.max_limit > i32::MAX.cast_unsigned() || config.reserved != 0 {
        return Err(GQ_EVALUE);
    }
    let ticks = u128::from(config.hold_time) * u128::from(config.hz) / 1_000_000_000;
    Ok(dql::Params {
        max_limit: config.max_limit,
        min_limit: config.min_limit,
        slack_hold_time: u32::try_from(ticks).unwrap_or(u32::MAX),
    })
}

impl BqlConfig {
    /// Linux's defaults.
    pub(crate) const fn standard() -> BqlConfig {
        let params = dql::Params::new(1000);
        BqlConfig {
            size: size_of::<BqlConfig>() as u32,
            ring: 0,
            min_limit: params.min_limit,
            max_limit: params.max_limit,
            hz: 1000,
            reserved: 0,
            hold_time: 1_000_000_000,
        }
    }
}

impl Bql {
    pub(crate) fn new(config: &BqlConfig, now: Nanos) -> Result<Bql, Code> {
        let params = params(config)?;
        let mut dql = Dql::new(config.hz, now);
        dql.configure(params);
        dql.reset(now);
        Ok(Bql {
            mark: 0,
            dql,
            last: now,
            ring: if config.ring == 0 { u32::MAX } else { config.ring },
            packets: 0,
            shortest: u32::MAX,
            longest: 0,
            over: 0,
            mismatches: 0,
            missed: 0,
            errors: 0,
        })
    }

    /// The answer of a call, an error counted.
    #[inline]
    pub(crate) fn answer(&mut self, result: Result<i32, Code>) -> i32 {
        result.unwrap_or_else(|code| {
            self.errors += 1;
            code.0
        })
    }

    const fn inflight(&self) -> u32 {
        self.dql.state().num_queued.wrapping_sub(self.dql.state().num_completed)
    }

    /// One packet was given to the ring, which holds `in_ring` now.
    #[inline]
    pub(crate) fn sent(&mut self, bytes: u32, in_ring: u32) -> Result<i32, Code> {
        if bytes.wrapping_sub(1) >= GQ_MAX_LEN {
            return Err(GQ_EPACKET);
        }
        let is_as_counted = in_ring == GQ_UNKNOWN || in_ring == self.packets.wrapping_add(1);
        let is_missed = !is_as_counted || self.packets >= self.ring;
        if is_missed {
            self.forget(if in_ring == GQ_UNKNOWN { 0 } else { in_ring.saturating_sub(1) });
        }
        self.packets += 1;
        self.shortest = self.shortest.min(bytes);
        self.longest = self.longest.max(bytes);
        self.dql.queued(bytes);
        if is_missed {
            return Err(GQ_ERING);
        }
        Ok(if self.dql.avail() < 0 { GQ_STOP } else { 0 })
    }

    /// What was counted is wrong: `packets` of unknown length are in the ring.
    #[cold]
    fn forget(&mut self, packets: u32) {
        self.missed += 1;
        self.dql.reset(self.last);
        self.packets = packets.min(self.ring - 1);
        (self.shortest, self.longest) = if packets == 0 { (u32::MAX, 0) } else { (0, u32::MAX) };
    }

    /// The ring has finished `packets` of `bytes` together.
    #[inline]
    pub(crate) fn completed(&mut self, now: Nanos, packets: u32, bytes: u32) -> Result<i32, Code> {
        self.tick(now)?;
        if packets == 0 && bytes == 0 {
            return Ok(if self.dql.avail() < 0 { 0 } else { GQ_WAKE });
        }
        let inflight = self.inflight();
        let is_over = packets > self.packets;
        self.packets = self.packets.saturating_sub(packets);
        let settled = self.settled(inflight, bytes);
        self.dql.completed(now, settled);
        if self.packets == 0 {
            self.shortest = u32::MAX;
            self.longest = 0;
        }
        if is_over {
            self.over += 1;
            return Err(GQ_EOVER);
        }
        if settled != bytes {
            self.mismatches += 1;
            return Err(GQ_EMISMATCH);
        }
        Ok(if self.dql.avail() < 0 { 0 } else { GQ_WAKE })
    }

    /// `bytes`, or what must be taken for completed where that cannot be right.
    #[inline]
    fn settled(&self, inflight: u32, bytes: u32) -> u32 {
        let packets = u64::from(self.packets);
        let least = u64::from(self.shortest).saturating_mul(packets).min(u64::from(inflight));
        let most = u64::from(self.longest).saturating_mul(packets).min(u64::from(inflight));
        let left = u64::from(inflight.saturating_sub(bytes)).clamp(least, most);
        inflight - u32::try_from(left).unwrap_or(inflight)
    }

    pub(crate) fn reset(&mut self, now: Nanos) -> Result<i32, Code> {
        self.tick(now)?;
        self.dql.reset(now);
        self.packets = 0;
        self.shortest = u32::MAX;
        self.longest = 0;
        Ok(0)
    }

    /// The ring holds `in_ring` packets: is that what was reported?
    pub(crate) fn check(&mut self, now: Nanos, in_ring: u32) -> Result<i32, Code> {
        self.tick(now)?;
        if in_ring == self.packets {
            return Ok(0);
        }
        self.forget(in_ring);
        Err(GQ_ERING)
    }

    fn tick(&mut self, now: Nanos) -> Result<(), Code> {
        if now < self.last {
            return Err(GQ_ETIME);
        }
        self.last = now;
        Ok(())
    }

    pub(crate) fn state(&self) -> BqlState {
        BqlState {
            size: size_of::<BqlState>() as u32,
            limit: self.dql.state().limit,
            inflight: self.inflight(),
            inflight_packets: self.packets,
            avail: self.dql.avail(),
            reserved: 0,
            over: self.over,
            mismatches: self.mismatches,
            missed: self.missed,
            errors: self.errors,
        }
    }
}

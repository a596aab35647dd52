//! Byte queue limits that also track what is in flight, to detect a driver's mistakes.
//!
//! Linux trusts the driver: bytes that are sent but never completed stop the ring for good, and more
//! completed than sent stops the machine. This module also counts packets, and for up to 16 of the packets in
//! flight it records how many bytes had been sent including them. If a completion ends at one of these, or
//! empties the ring, the bytes in flight are known exactly. Otherwise they are between the packets in flight
//! times the shortest and times the longest packet since the ring was last empty.
//!
//! A reset has the same effect as set-up. Linux keeps the old `adj_limit`, so the producer can fill the whole
//! ring until the first completion after it.

use goodqueue::{Dql, Nanos, dql};

use crate::abi::{BqlConfig, BqlState, GQ_MAX_LEN, GQ_STOP, GQ_UNKNOWN, GQ_WAKE};
use crate::code::{Code, GQ_EMISMATCH, GQ_EOVER, GQ_EPACKET, GQ_ERING, GQ_ETIME, GQ_EVALUE};

/// Most packets recorded at a time.
const NOTES: usize = 16;

/// A packet in flight: its number, and the bytes sent including it, in the limit's count.
#[derive(Clone, Copy, Default)]
struct Note {
    number: u32,
    bytes: u32,
}

/// The recorded packets, oldest first.
struct Notes {
    notes: [Note; NOTES],
    first: u32,
    len: u32,
}

impl Notes {
    const NONE: Notes = Notes { notes: [Note { number: 0, bytes: 0 }; NOTES], first: 0, len: 0 };

    #[inline]
    fn push(&mut self, note: Note) {
        if (self.len as usize) < NOTES {
            self.notes[(self.first + self.len) as usize % NOTES] = note;
            self.len += 1;
        }
    }

    /// Removes the packets up to `number`; returns the bytes sent including that packet, if it was recorded.
    #[inline]
    fn pass(&mut self, number: u32) -> Option<u32> {
        let mut at_number = None;
        while self.len > 0 {
            let note = self.notes[self.first as usize % NOTES];
            if number.wrapping_sub(note.number).cast_signed() < 0 {
                break;
            }
            at_number = (note.number == number).then_some(note.bytes);
            self.first = (self.first + 1) % NOTES as u32;
            self.len -= 1;
        }
        at_number
    }
}

/// The limit of one ring.
#[repr(C)]
pub(crate) struct Bql {
    /// Identifies a valid object that was not moved.
    pub(crate) mark: usize,
    dql: Dql,
    hz: u32,
    last: Nanos,
    /// Number of descriptors; 4294967295: unknown.
    ring: u32,
    /// Packets in flight.
    packets: u32,
    /// Packets that were completed since the last reset, modulo 2^32.
    done: u32,
    shortest: u32,
    longest: u32,
    over: u64,
    mismatches: u64,
    missed: u64,
    errors: u64,
    notes: Notes,
}

/// The parameters in the limit's units.
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

/// A limit at its minimum, with nothing in flight.
fn fresh(hz: u32, params: dql::Params, now: Nanos) -> Dql {
    let mut dql = Dql::new(hz, now);
    dql.configure(params);
    dql.reset(now);
    dql
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
        Ok(Bql {
            mark: 0,
            dql: fresh(config.hz, params(config)?, now),
            hz: config.hz,
            last: now,
            ring: if config.ring == 0 { u32::MAX } else { config.ring },
            packets: 0,
            done: 0,
            shortest: u32::MAX,
            longest: 0,
            over: 0,
            mismatches: 0,
            missed: 0,
            errors: 0,
            notes: Notes::NONE,
        })
    }

    /// The return value of a call; counts errors.
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

    /// One packet was put into the ring, which now holds `in_ring`.
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
        let number = self.done.wrapping_add(self.packets);
        self.notes.push(Note { number, bytes: self.dql.state().num_queued });
        if is_missed {
            return Err(GQ_ERING);
        }
        Ok(if self.dql.avail() < 0 { GQ_STOP } else { 0 })
    }

    /// The counts are wrong: the ring holds `packets` packets of unknown length.
    #[cold]
    fn forget(&mut self, packets: u32) {
        self.missed += 1;
        self.empty();
        self.packets = packets.min(self.ring - 1);
        if packets > 0 {
            (self.shortest, self.longest) = (0, u32::MAX);
        }
    }

    /// Starts again with nothing in flight.
    fn empty(&mut self) {
        self.dql = fresh(self.hz, *self.dql.params(), self.last);
        self.packets = 0;
        self.done = 0;
        (self.shortest, self.longest) = (u32::MAX, 0);
        self.notes = Notes::NONE;
    }

    /// The ring has completed `packets` packets with `bytes` in total.
    #[inline]
    pub(crate) fn completed(&mut self, now: Nanos, packets: u32, bytes: u32) -> Result<i32, Code> {
        self.tick(now)?;
        if packets == 0 && bytes == 0 {
            return Ok(if self.dql.avail() < 0 { 0 } else { GQ_WAKE });
        }
        let inflight = self.inflight();
        let is_over = packets > self.packets;
        self.done = self.done.wrapping_add(packets.min(self.packets));
        self.packets = self.packets.saturating_sub(packets);
        let settled = self.settled(inflight, bytes);
        self.dql.completed(now, settled);
        if self.packets == 0 {
            (self.shortest, self.longest) = (u32::MAX, 0);
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

    /// `bytes`, or the corrected number of completed bytes if that cannot be correct.
    #[inline]
    fn settled(&mut self, inflight: u32, bytes: u32) -> u32 {
        if let Some(sent) = self.notes.pass(self.done) {
            return inflight - self.dql.state().num_queued.wrapping_sub(sent).min(inflight);
        }
        let packets = u64::from(self.packets);
        let least = u64::from(self.shortest).saturating_mul(packets).min(u64::from(inflight));
        let most = u64::from(self.longest).saturating_mul(packets).min(u64::from(inflight));
        let left = u64::from(inflight.saturating_sub(bytes)).clamp(least, most);
        inflight - u32::try_from(left).unwrap_or(inflight)
    }

    pub(crate) fn reset(&mut self, now: Nanos) -> Result<i32, Code> {
        self.tick(now)?;
        self.empty();
        Ok(0)
    }

    /// Checks whether the ring holds as many packets as were reported.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Copy, Debug)]
    enum Call {
        Sent(u32, u32),
        Completed(u64, u32, u32),
        Reset(u64),
        Check(u64, u32),
    }

    fn call() -> impl Strategy<Value = Call> {
        let few = || prop_oneof![0_u32..6, Just(GQ_UNKNOWN), any::<u32>()];
        let bytes = || prop_oneof![40_u32..3000, any::<u32>()];
        prop_oneof![
            4 => (bytes(), few()).prop_map(|(bytes, in_ring)| Call::Sent(bytes, in_ring)),
            4 => (0_u64..2_000_000_000, few(), bytes()).prop_map(|(step, packets, bytes)| {
                Call::Completed(step, packets, bytes)
            }),
            1 => (0_u64..1000).prop_map(Call::Reset),
            1 => (0_u64..1000, few()).prop_map(|(step, in_ring)| Call::Check(step, in_ring)),
        ]
    }

    proptest! {
        /// Whatever a driver reports, an empty ring never stays stopped.
        #[test]
        fn no_driver_hangs(calls in prop::collection::vec(call(), 1..200), ring in 0_u32..70) {
            let mut bql = Bql::new(&BqlConfig { ring, ..BqlConfig::standard() }, Nanos(0)).expect("defaults");
            let mut now = 0;
            for call in calls {
                let mut later = |step| {
                    now += step;
                    Nanos(now)
                };
                let is_completion = matches!(call, Call::Completed(..));
                let _ = match call {
                    Call::Sent(bytes, in_ring) => bql.sent(bytes, in_ring),
                    Call::Completed(step, packets, bytes) => bql.completed(later(step), packets, bytes),
                    Call::Reset(step) => bql.reset(later(step)),
                    Call::Check(step, in_ring) => bql.check(later(step), in_ring),
                };
                let state = bql.state();
                if is_completion && state.inflight_packets == 0 {
                    prop_assert_eq!(state.inflight, 0);
                    prop_assert!(state.avail >= 0, "stopped for good");
                }
                prop_assert!(ring == 0 || state.inflight_packets <= ring);
            }
        }

        /// Correct reports with completions of any size: no error is detected, and the limit is that of the
        /// core.
        #[test]
        fn correct_reports_are_accepted(
            lens in prop::collection::vec(40_u32..3000, 1..300),
            rounds in prop::collection::vec(1_usize..40, 300),
        ) {
            let mut bql = Bql::new(&BqlConfig::standard(), Nanos(0)).expect("defaults");
            let mut dql = Dql::new(1000, Nanos(0));
            let (mut left, mut now) = (&lens[..], 0);
            for round in rounds {
                if left.is_empty() {
                    break;
                }
                let (sent, rest) = left.split_at(round.min(left.len()));
                left = rest;
                for (at, &len) in (1..).zip(sent) {
                    dql.queued(len);
                    prop_assert_eq!(bql.sent(len, at), Ok(if dql.avail() < 0 { GQ_STOP } else { 0 }));
                }
                for some in sent.chunks(round.div_ceil(2)) {
                    now += 700_000_000;
                    let (packets, bytes) = (u32::try_from(some.len()).expect("few"), some.iter().sum());
                    dql.completed(Nanos(now), bytes);
                    let wake = if dql.avail() < 0 { 0 } else { GQ_WAKE };
                    prop_assert_eq!(bql.completed(Nanos(now), packets, bytes), Ok(wake));
                    prop_assert_eq!(bql.dql.state(), dql.state());
                }
            }
        }
    }
}

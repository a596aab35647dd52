//! Tins: their thresholds, quanta and clocks, and the mapping of packets to tins.

use super::InForce;
use super::Sharing;
use super::cobalt::Law;
use super::modes::Diffserv;
use super::stats::{TinCounters, TinState};
use super::ways::{Chain, Flow, Host, Line, Ring, Set};
use crate::Nanos;

/// The tin of each codepoint, in order.
const DIFFSERV3: &[u8; 64] = b"0100200010000000000000000000000000000000000020202000000020000000";
const DIFFSERV4: &[u8; 64] = b"0100200010000000202020202020202030202020300030303000000030000000";
const DIFFSERV8: &[u8; 64] = b"2012422212121212524242423232323262323232622262627222222272222222";

/// Time for a length without division: (length * `ns`) >> `shift`. Both 0: always 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ByteTime {
    pub(super) ns: u64,
    shift: u32,
}

impl ByteTime {
    /// For a rate in bytes per second; values below 64 count as 64 (Linux `MIN_RATE`).
    fn new(rate: u64) -> ByteTime {
        if rate == 0 {
            return ByteTime::default();
        }
        let (mut ns, mut shift) = ((1_000_000_000 << 34) / rate.max(64), 34);
        while ns >> 34 != 0 {
            ns >>= 1;
            shift -= 1;
        }
        ByteTime { ns, shift }
    }

    /// Time of `len` bytes, ns.
    pub(super) const fn of(self, len: u32) -> u64 {
        (len as u64).wrapping_mul(self.ns) >> self.shift
    }
}

/// One tin.
#[derive(Clone, Debug)]
pub(super) struct Tin {
    pub(super) new_flows: Line,
    pub(super) old_flows: Ring,
    pub(super) decaying_flows: Chain,
    pub(super) sparse: u32,
    pub(super) bulk: u32,
    pub(super) decaying: u32,
    pub(super) deficit: i32,
    pub(super) quantum: i32,
    pub(super) flow_quantum: u32,
    pub(super) backlog: u64,
    pub(super) time_next: u64,
    pub(super) byte_time: ByteTime,
    pub(super) law: Law,
    rate: u64,
    pub(super) counters: TinCounters,
}

impl Tin {
    pub(super) const EMPTY: Tin = Tin {
        new_flows: Line::EMPTY,
        old_flows: Ring::EMPTY,
        decaying_flows: Chain::EMPTY,
        sparse: 0,
        bulk: 0,
        decaying: 0,
        deficit: 0,
        quantum: 0,
        flow_quantum: 0,
        backlog: 0,
        time_next: 0,
        byte_time: ByteTime { ns: 0, shift: 0 },
        law: Law { target: 0, interval: 0, mtu_time: 0, floor: 0 },
        rate: 0,
        counters: TinCounters {
            packets: 0,
            bytes: 0,
            dropped: 0,
            overlimit: 0,
            marked: 0,
            ack_drops: 0,
            avg_delay: 0,
            peak_delay: 0,
            base_delay: 0,
            way_direct: 0,
            way_hit: 0,
            way_miss: 0,
            way_coll: 0,
            unresponsive: 0,
            max_skblen: 0,
        },
    };

    /// Whether it has flows that have, or may have, something to send.
    pub(super) const fn is_busy(&self) -> bool {
        self.sparse + self.bulk != 0
    }

    /// Makes a sparse flow, which has sent more than its share, a bulk flow. The hosts of the tin begin at
    /// `first`.
    pub(super) fn become_bulk(&mut self, flow: &mut Flow, hosts: &mut [Host], first: u32, sharing: Sharing) {
        flow.vars.set = Set::Bulk;
        self.sparse -= 1;
        self.bulk += 1;
        sharing.count(hosts, first, flow.source, flow.destination, true);
    }

    /// Sets the threshold in bytes per second and what follows from it (Linux 6.1
    /// `sch_cake.c:cake_set_rate`).
    fn set_rate(&mut self, rate: u64, params: &InForce) {
        self.set_share(rate);
        let micros = |span: crate::Span| (span.0 / 1000).max(1) * 1000;
        let (rtt, wanted) = (micros(params.given.rtt), micros(params.target));
        let mtu_time = self.byte_time.of(params.mtu);
        let target = (mtu_time.saturating_mul(3) / 2).max(wanted);
        let interval = rtt.saturating_add(target - wanted).max(target.saturating_mul(2));
        self.law = Law::new(target, interval, mtu_time);
    }

    /// Sets the threshold in bytes per second and leaves the control law as it is (Linux 7.0
    /// `sch_cake.c:cake_set_rate` with an MTU of 0).
    fn set_share(&mut self, rate: u64) {
        self.rate = rate;
        self.byte_time = ByteTime::new(rate);
        self.flow_quantum = match rate {
            0 => 1514,
            // Between 300 and 1514, so it fits.
            _ => u32::try_from((rate >> 12).clamp(300, 1514)).unwrap_or(1514),
        };
    }

    pub(super) fn state(&self) -> TinState {
        TinState {
            rate: self.rate,
            target: self.law.target,
            interval: self.law.interval,
            mtu_time: self.law.mtu_time,
            flow_quantum: self.flow_quantum,
            tin_quantum: self.quantum,
            tin_deficit: self.deficit,
            backlog: self.backlog,
            time_next: Nanos(self.time_next),
            sparse: self.sparse,
            bulk: self.bulk,
            decaying: self.decaying,
            counters: self.counters,
        }
    }
}

/// Sets thresholds and quanta of the tins in use for a rate in bytes per second (Linux 6.1
/// `sch_cake.c:cake_reconfigure`).
pub(super) fn configure(tins: &mut [Tin; super::TINS as usize], rate: u64, params: &InForce) {
    each(tins, rate, params.given.diffserv, |tin, rate, quantum| {
        tin.set_rate(rate, params);
        tin.quantum = quantum;
    });
}

/// Sets the thresholds of the tins in use for a part of the rate, and leaves the rest as it is.
pub(super) fn divide(tins: &mut [Tin; super::TINS as usize], rate: u64, diffserv: Diffserv) {
    each(tins, rate, diffserv, |tin, rate, _| tin.set_share(rate));
}

/// Calls `set` with each tin in use, its threshold and its quantum (Linux 6.1
/// `sch_cake.c:cake_config_besteffort`, `cake_config_diffserv3`, `cake_config_diffserv4`,
/// `cake_config_diffserv8`, `cake_config_precedence`).
fn each(
    tins: &mut [Tin; super::TINS as usize],
    rate: u64,
    diffserv: Diffserv,
    mut set: impl FnMut(&mut Tin, u64, i32),
) {
    match diffserv {
        Diffserv::Besteffort => set(&mut tins[0], rate, 65_535),
        Diffserv::Diffserv3 => {
            for (tin, shift) in tins.iter_mut().zip([0, 4, 2]) {
                set(tin, rate >> shift, 1024 >> shift);
            }
        }
        Diffserv::Diffserv4 => {
            for (tin, shift) in tins.iter_mut().zip([0, 4, 1, 2]) {
                set(tin, rate >> shift, 1024 >> shift);
            }
        }
        Diffserv::Diffserv8 | Diffserv::Precedence => {
            let (mut rate, mut quantum) = (rate, 256);
            for tin in tins {
                set(tin, rate, quantum);
                rate = rate.saturating_mul(7) >> 3;
                quantum = (quantum * 7) >> 3;
            }
        }
    }
}

/// The tin of a codepoint (Linux 6.1 `sch_cake.c:cake_select_tin`, `tin_index`).
pub(super) const fn of_dscp(diffserv: Diffserv, dscp: u8) -> u32 {
    let dscp = (dscp & 63) as usize;
    let digit = match diffserv {
        Diffserv::Besteffort => return 0,
        Diffserv::Precedence => return dscp as u32 / 8,
        Diffserv::Diffserv3 => DIFFSERV3[dscp],
        Diffserv::Diffserv4 => DIFFSERV4[dscp],
        Diffserv::Diffserv8 => DIFFSERV8[dscp],
    };
    (digit - b'0') as u32
}

/// The tin for the `number` in a mark or a priority. Numbers count from 1 in the order of `tc -s qdisc`, in
/// which bulk comes before best effort (Linux 6.1 `sch_cake.c:cake_select_tin`, `tin_order`). `None` for a
/// number without a tin.
pub(super) const fn of_number(diffserv: Diffserv, number: u32) -> Option<u32> {
    if number == 0 || number > diffserv.tins() {
        return None;
    }
    Some(match (diffserv, number) {
        (Diffserv::Diffserv3 | Diffserv::Diffserv4, 1) => 1,
        (Diffserv::Diffserv3 | Diffserv::Diffserv4, 2) => 0,
        _ => number - 1,
    })
}

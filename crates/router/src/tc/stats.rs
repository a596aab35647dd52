//! The statistics of `fq_codel` and `cake` beyond the counters of all queueing disciplines
//! (`linux/pkt_sched.h`).

use goodqueue::cake::TinState;
use netlink_packet_core::{Emitable, NlaBuffer, NlasIterator};
use netlink_packet_route::tc::{TcFqCodelXstats, TcXstats};

use serde::{Deserialize, Serialize};

use super::word;

const TCA_CAKE_STATS_CAPACITY_ESTIMATE64: u16 = 2;
const TCA_CAKE_STATS_TIN_STATS: u16 = 10;

const TIN_SENT_PACKETS: u16 = 2;
const TIN_SENT_BYTES64: u16 = 3;
const TIN_DROPPED_PACKETS: u16 = 4;
const TIN_ACKS_DROPPED_PACKETS: u16 = 6;
const TIN_ECN_MARKED_PACKETS: u16 = 8;
const TIN_BACKLOG_BYTES: u16 = 11;
const TIN_THRESHOLD_RATE64: u16 = 12;
const TIN_PEAK_DELAY_US: u16 = 18;
const TIN_AVG_DELAY_US: u16 = 19;
const TIN_BASE_DELAY_US: u16 = 20;
const TIN_SPARSE_FLOWS: u16 = 21;
const TIN_BULK_FLOWS: u16 = 22;
const TIN_UNRESPONSIVE_FLOWS: u16 = 23;

/// Most tins (`TC_CAKE_MAX_TINS`).
const TINS: usize = 8;

/// What a queueing discipline reports about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extra {
    /// Packets marked with CE; `None` if it does not mark or does not report it.
    pub marks: Option<u64>,
    /// Flows that wait: new ones (sparse), and those with a backlog (bulk).
    pub flows: Option<(u32, u32)>,
    /// How long the last packet of a flow of `fq_codel` waited, us (`ldelay`).
    pub delay_us: Option<u32>,
    /// The rate of the shaper, or its estimate, bit/s.
    pub capacity_bps: Option<u64>,
    /// The tins of `cake`, bulk first.
    pub tins: Vec<Tin>,
}

/// A tin of `cake`: the kernel's, or one of ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tin {
    /// Rate above which it loses its priority, bit/s.
    pub threshold_bps: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Packets sent.
    pub packets: u32,
    /// Packets dropped, without the acknowledgements that the filter dropped.
    pub drops: u32,
    /// Acknowledgements that the filter dropped.
    pub acks_dropped: u32,
    /// Packets marked with CE.
    pub marks: u32,
    /// Bytes waiting.
    pub backlog: u32,
    /// Greatest of the recent sojourn times, us (a moving average that follows peaks).
    pub peak_us: u32,
    /// Mean of the recent sojourn times, us.
    pub average_us: u32,
    /// Least of the recent sojourn times, us.
    pub base_us: u32,
    /// Flows with few packets.
    pub sparse: u32,
    /// Flows with a backlog.
    pub bulk: u32,
    /// Flows that do not respond to drops.
    pub unresponsive: u32,
}

impl Extra {
    pub(super) fn of(kind: &str, stats: &TcXstats) -> Extra {
        match stats {
            TcXstats::FqCodel(TcFqCodelXstats::Qdisc(stats)) => Extra {
                marks: Some(u64::from(stats.ecn_mark) + u64::from(stats.ce_mark)),
                flows: Some((stats.new_flows_len, stats.old_flows_len)),
                ..Extra::default()
            },
            // `struct tc_fq_codel_xstats` with `tc_fq_codel_cl_stats`: type, deficit, ldelay.
            TcXstats::FqCodel(class @ TcFqCodelXstats::Class(_)) => {
                let mut bytes = vec![0; class.buffer_len()];
                class.emit(&mut bytes);
                Extra { delay_us: word(&bytes, 8), ..Extra::default() }
            }
            other if kind == "cake" => {
                let mut bytes = vec![0; other.buffer_len()];
                other.emit(&mut bytes);
                Extra::of_cake(&bytes)
            }
            _ => Extra::default(),
        }
    }

    fn of_cake(bytes: &[u8]) -> Extra {
        let mut extra = Extra::default();
        for nla in elements(bytes) {
            match nla.kind() {
                TCA_CAKE_STATS_CAPACITY_ESTIMATE64 => extra.capacity_bps = Some(long(&nla).saturating_mul(8)),
                TCA_CAKE_STATS_TIN_STATS => {
                    extra.tins = elements(nla.value()).take(TINS).map(|nla| Tin::of(nla.value())).collect();
                }
                _ => {}
            }
        }
        let sum = |of: fn(&Tin) -> u32| extra.tins.iter().map(|tin| u64::from(of(tin))).sum::<u64>();
        let flows = |of| u32::try_from(sum(of)).unwrap_or(u32::MAX);
        extra.marks = Some(sum(|tin| tin.marks));
        extra.flows = Some((flows(|tin| tin.sparse), flows(|tin| tin.bulk)));
        extra
    }
}

/// The values that Linux's `cake_dump_stats` reports, in its units.
impl From<TinState> for Tin {
    fn from(state: TinState) -> Tin {
        let TinState { rate, backlog, sparse, bulk, counters, .. } = state;
        let small = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        Tin {
            threshold_bps: rate.saturating_mul(8),
            bytes: counters.bytes,
            packets: small(counters.packets),
            drops: small(counters.dropped),
            acks_dropped: small(counters.ack_drops),
            marks: small(counters.marked),
            backlog: small(backlog),
            peak_us: small(counters.peak_delay / 1000),
            average_us: small(counters.avg_delay / 1000),
            base_us: small(counters.base_delay / 1000),
            sparse,
            bulk,
            unresponsive: counters.unresponsive,
        }
    }
}

impl Tin {
    fn of(bytes: &[u8]) -> Tin {
        let mut tin = Tin::default();
        for nla in elements(bytes) {
            let place = match nla.kind() {
                TIN_SENT_BYTES64 => {
                    tin.bytes = long(&nla);
                    continue;
                }
                TIN_THRESHOLD_RATE64 => {
                    tin.threshold_bps = long(&nla).saturating_mul(8);
                    continue;
                }
                TIN_SENT_PACKETS => &mut tin.packets,
                TIN_DROPPED_PACKETS => &mut tin.drops,
                TIN_ACKS_DROPPED_PACKETS => &mut tin.acks_dropped,
                TIN_ECN_MARKED_PACKETS => &mut tin.marks,
                TIN_BACKLOG_BYTES => &mut tin.backlog,
                TIN_PEAK_DELAY_US => &mut tin.peak_us,
                TIN_AVG_DELAY_US => &mut tin.average_us,
                TIN_BASE_DELAY_US => &mut tin.base_us,
                TIN_SPARSE_FLOWS => &mut tin.sparse,
                TIN_BULK_FLOWS => &mut tin.bulk,
                TIN_UNRESPONSIVE_FLOWS => &mut tin.unresponsive,
                _ => continue,
            };
            *place = long(&nla).try_into().unwrap_or(u32::MAX);
        }
        tin
    }
}

/// The elements of a nested attribute, as far as they are complete.
fn elements(bytes: &[u8]) -> impl Iterator<Item = NlaBuffer<&[u8]>> {
    NlasIterator::new(bytes).map_while(Result::ok)
}

/// A number of 4 or 8 bytes; 0 for any other length.
fn long(nla: &NlaBuffer<&[u8]>) -> u64 {
    let value = nla.value();
    let of_8 = || value.try_into().map(u64::from_ne_bytes);
    let of_4 = || value.try_into().map(u32::from_ne_bytes).map(u64::from);
    of_8().or_else(|_| of_4()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nest(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = u16::try_from(value.len() + 4).expect("short");
        let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
        bytes.extend_from_slice(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn the_tins_of_cake_are_read() {
        let tin = |marks: u32, bytes: u64| {
            let elements = [
                nest(TIN_ECN_MARKED_PACKETS, &marks.to_ne_bytes()),
                nest(TIN_SENT_BYTES64, &bytes.to_ne_bytes()),
                nest(TIN_BULK_FLOWS, &2_u32.to_ne_bytes()),
                nest(99, &[1]),
            ];
            elements.concat()
        };
        let tins = [nest(1, &tin(3, 1 << 40)), nest(2, &tin(4, 5))].concat();
        let all = [
            nest(TCA_CAKE_STATS_CAPACITY_ESTIMATE64, &1_250_000_u64.to_ne_bytes()),
            nest(TCA_CAKE_STATS_TIN_STATS, &tins),
        ];
        let extra = Extra::of_cake(&all.concat());
        assert_eq!((extra.marks, extra.flows, extra.capacity_bps), (Some(7), Some((0, 4)), Some(10_000_000)));
        assert_eq!((extra.tins[0].bytes, extra.tins[1].bytes), (1 << 40, 5));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = Extra::of_cake(&bytes);
        }
    }
}

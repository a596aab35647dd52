//! Statistics of a radio, a station and a queue (in mac80211: files of debugfs and the station dump).

use super::TxStack;
use super::aql::AqlLimits;
use super::flow::FlowState;
use super::id::{Ac, InterfaceId, StationId, TxqId};
use crate::memory::Memory;
use crate::{Packet, Span};

/// The whole radio.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RadioStats {
    /// Packets queued now.
    pub backlog: u32,
    /// Memory of the packets queued now, bytes.
    pub memory: u64,
    /// Batches dropped because of a limit.
    pub overlimit: u64,
    /// Those of them that were dropped because of the memory limit.
    pub overmemory: u64,
    /// Packets whose flow belonged to another queue.
    pub collisions: u64,
    /// Stations present.
    pub stations: u32,
    /// Airtime in flight, us.
    pub aql_total: u32,
    /// The same by category, in the order of [`Ac::ALL`].
    pub aql_by_ac: [u32; 4],
}

/// One station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StationStats {
    /// The interface that it belongs to.
    pub interface: InterfaceId,
    /// Airtime weight, us.
    pub weight: u16,
    /// Whether it uses the control law of slow stations.
    pub is_slow: bool,
    /// `CoDel`'s target for it.
    pub target: Span,
    /// `CoDel`'s interval for it.
    pub interval: Span,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

/// One station in one access category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AirtimeStats {
    /// Airtime that it may still use before others get their turn, us.
    pub deficit: i32,
    /// Estimated airtime of packets in flight, us.
    pub pending: u32,
    /// Its limits of airtime in flight.
    pub aql_limits: AqlLimits,
    /// Clock tick at which it was last scheduled with packets.
    pub last_active: u64,
    /// Airtime to the station, us.
    pub tx_airtime: u64,
    /// Airtime from the station, us.
    pub rx_airtime: u64,
}

/// One queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TxqStats {
    /// Bytes queued now.
    pub backlog_bytes: u32,
    /// Packets queued now.
    pub backlog_packets: u32,
    /// Number of times that a flow became active in the queue.
    pub flows: u32,
    /// Batches dropped from its flows because of a limit of the radio.
    pub overlimit: u32,
    /// Packets dropped in them.
    pub overlimit_drops: u64,
    /// Packets whose flow belonged to another queue.
    pub collisions: u32,
    /// Bytes delivered.
    pub tx_bytes: u64,
    /// Packets delivered.
    pub tx_packets: u64,
    /// Packets dropped by `CoDel`.
    pub codel_drops: u64,
    /// Their bytes.
    pub codel_drop_len: u64,
    /// Packets marked by `CoDel`.
    pub ecn_marks: u64,
    /// The longest packet that `CoDel` examined, bytes.
    pub maxpacket: u32,
    /// Whether a packet ever arrived.
    pub had_packets: bool,
}

impl<P: Packet, M: Memory> TxStack<P, M> {
    /// The radio's counters.
    pub fn radio_stats(&self) -> RadioStats {
        let totals = &self.fq.totals;
        RadioStats {
            backlog: totals.backlog,
            memory: totals.memory,
            overlimit: totals.overlimit,
            overmemory: totals.overmemory,
            collisions: totals.collisions,
            stations: self.num_sta,
            aql_total: self.pending.total,
            aql_by_ac: self.pending.by_ac,
        }
    }

    /// A station's parameters; `None` for an unknown station.
    pub fn station_stats(&self, station: StationId) -> Option<StationStats> {
        let station = &self.stations[self.present(station)?];
        let params = self.params.codel(station.is_slow);
        Some(StationStats {
            interface: station.interface,
            weight: station.weight,
            is_slow: station.is_slow,
            target: params.target,
            interval: params.interval,
            ecn: params.ecn,
        })
    }

    /// A station's account in a category; `None` for an unknown station.
    pub fn airtime_stats(&self, station: StationId, ac: Ac) -> Option<AirtimeStats> {
        let account = &self.stations[self.present(station)?].accounts[ac.index()];
        Some(AirtimeStats {
            deficit: account.deficit,
            pending: account.pending,
            aql_limits: account.limits,
            last_active: account.last_active,
            tx_airtime: account.tx_airtime,
            rx_airtime: account.rx_airtime,
        })
    }

    /// Whether the station has packets in any of its queues: what policies count.
    pub fn has_packets(&self, station: StationId) -> bool {
        let mut queues = super::Tid::all().map(|tid| TxqId::new(station, tid));
        queues.any(|txq| self.place(txq).is_some_and(|place| self.has_backlog(place)))
    }

    /// A queue's counters; `None` for an unknown queue.
    pub fn txq_stats(&self, txq: TxqId) -> Option<TxqStats> {
        let tin = self.fq.tin(self.place(txq)?)?;
        Some(TxqStats {
            backlog_bytes: tin.backlog_bytes,
            backlog_packets: tin.backlog_packets,
            flows: tin.flows,
            overlimit: tin.overlimit,
            overlimit_drops: tin.limit_drops,
            collisions: tin.collisions,
            tx_bytes: tin.tx_bytes,
            tx_packets: tin.tx_packets,
            codel_drops: tin.codel.drop_count,
            codel_drop_len: tin.codel_drop_len,
            ecn_marks: tin.codel.ecn_mark,
            maxpacket: tin.codel.maxpacket,
            had_packets: tin.had_packets,
        })
    }

    /// The flows on a queue's lists, new ones first.
    pub fn flows(&self, txq: TxqId) -> impl Iterator<Item = FlowState> {
        let place = self.place(txq);
        place.into_iter().flat_map(|place| self.fq.flows(place))
    }

    /// The queues that wait in a category, in order of their turns.
    pub fn scheduled(&self, ac: Ac) -> impl Iterator<Item = TxqId> {
        self.schedule.places(ac).map(|place| TxqId::at(place, self.capacity.stations))
    }

    /// Whether a queue waits in a category.
    #[inline]
    pub const fn has_scheduled(&self, ac: Ac) -> bool {
        self.schedule.head(ac).is_some()
    }

    /// The number of the current round in a category; 0: none.
    pub const fn round(&self, ac: Ac) -> u16 {
        self.schedule.round(ac)
    }
}

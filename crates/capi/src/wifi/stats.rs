//! Statistics of a radio, a station and a queue.

use goodqueue::wifi::{Ac, AirtimeStats, StationId};

use super::{Wifi, txq};
use crate::abi::wifi::{WifiStation, WifiStats, WifiTxq};
use crate::code::{Code, GQ_ESTATION};

impl Wifi {
    pub(crate) fn stats(&self) -> WifiStats {
        let stats = self.stack.radio_stats();
        WifiStats {
            size: size_of::<WifiStats>() as u32,
            backlog_packets: stats.backlog,
            memory: stats.memory,
            overlimit: stats.overlimit,
            overmemory: stats.overmemory,
            collisions: stats.collisions,
            stations: stats.stations,
            aql_total: stats.aql_total,
            aql_by_ac: stats.aql_by_ac,
            drops_waiting: self.guard.drops.len() as u64,
            drops_lost: self.guard.drops.lost(),
            errors: self.guard.errors,
        }
    }

    pub(crate) fn station(&self, number: u32) -> Result<WifiStation, Code> {
        let station = StationId(number);
        let stats = self.stack.station_stats(station).ok_or(GQ_ESTATION)?;
        let mut out = WifiStation {
            size: size_of::<WifiStation>() as u32,
            interface: stats.interface.0.into(),
            weight: stats.weight.into(),
            is_slow: stats.is_slow.into(),
            target: stats.target.0,
            interval: stats.interval.0,
            ..WifiStation::default()
        };
        for ac in Ac::ALL {
            let at = ac.index();
            let AirtimeStats { deficit, pending, aql_limits, tx_airtime, rx_airtime, .. } =
                self.stack.airtime_stats(station, ac).ok_or(GQ_ESTATION)?;
            (out.deficit[at], out.pending[at]) = (deficit, pending);
            (out.aql_limit_low[at], out.aql_limit_high[at]) = (aql_limits.low, aql_limits.high);
            (out.tx_airtime[at], out.rx_airtime[at]) = (tx_airtime, rx_airtime);
        }
        Ok(out)
    }

    pub(crate) fn txq(&self, number: u32) -> Result<WifiTxq, Code> {
        let stats = self.stack.txq_stats(txq(number)?).ok_or(GQ_ESTATION)?;
        Ok(WifiTxq {
            size: size_of::<WifiTxq>() as u32,
            backlog_bytes: stats.backlog_bytes,
            backlog_packets: stats.backlog_packets,
            flows: stats.flows,
            tx_bytes: stats.tx_bytes,
            tx_packets: stats.tx_packets,
            overlimit_drops: stats.overlimit_drops,
            codel_drops: stats.codel_drops,
            ecn_marks: stats.ecn_marks,
            collisions: stats.collisions,
            reserved: 0,
        })
    }
}

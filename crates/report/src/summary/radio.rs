//! Figures derived from the Wi-Fi part of a run.

use serde::{Deserialize, Serialize};

use crate::record::{Record, Run};
use crate::stats::{bits_per_second, jain, known, permille};
use crate::wifi::{Radio, Station};

use super::{FlowSummary, loaded_span};

/// Everything derived from one radio.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RadioSummary {
    /// The radio's name.
    pub name: String,
    /// Its stations, in the record's order.
    pub stations: Vec<StationSummary>,
    /// Jain's index over the stations' airtime, 1/n to 1; absent for fewer than two.
    pub airtime_jain: Option<f64>,
    /// Jain's index over their airtime divided by their weights.
    pub weighted_jain: Option<f64>,
    /// Goodput of all stations together.
    pub goodput_bps: Option<u64>,
    /// Packets to all stations that were dropped.
    pub drops: u64,
    /// Packets to all stations that were marked CE.
    pub marks: u64,
    /// Share of the elapsed time in which any station's exchange held the medium, 0 to 1.
    pub used: Option<f64>,
    /// Share of the time lost in collisions.
    pub collisions: Option<f64>,
    /// Share of interframe spaces, backoff and frames that belong to no station.
    pub overhead: Option<f64>,
    /// Share in which nobody had anything to send.
    pub idle: Option<f64>,
}

/// One station. Percentiles are by nearest rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StationSummary {
    /// Name.
    pub name: String,
    /// Rate of its link as text.
    pub rate: String,
    /// Its share of the airtime of all stations, 0 to 1; absent if none had any.
    pub share: Option<f64>,
    /// Goodput of its flows under load; if it has no flows, the rate of delivery to it.
    pub goodput_bps: Option<u64>,
    /// 5th percentile of the round trips of its probes under load.
    pub rtt_p5_ns: Option<i64>,
    /// Median of them.
    pub rtt_p50_ns: Option<i64>,
    /// 95th percentile.
    pub rtt_p95_ns: Option<i64>,
    /// 99th percentile.
    pub rtt_p99_ns: Option<i64>,
    /// Mean number of MPDUs in an aggregate sent to it.
    pub aggregate_mean: Option<f64>,
    /// Share of the MPDUs sent to it that had been sent before, 0 to 1.
    pub retried: Option<f64>,
}

impl RadioSummary {
    pub(crate) fn all(record: &Record, run: &Run, flows: &[FlowSummary]) -> Vec<Self> {
        run.radios.iter().map(|radio| Self::of(record, run, radio, flows)).collect()
    }

    fn of(record: &Record, run: &Run, radio: &Radio, flows: &[FlowSummary]) -> Self {
        let airtimes: Vec<u64> = radio.stations.iter().map(|s| s.air_ns).collect();
        let total = airtimes.iter().fold(0_u64, |sum, ns| sum.saturating_add(*ns));
        let stations: Vec<StationSummary> =
            radio.stations.iter().map(|s| station(record, run, radio, s, flows, total)).collect();
        let rates = stations.iter().filter_map(|s| s.goodput_bps);
        let a = radio.accounting;
        let count = |of: fn(&Station) -> u64| {
            radio.stations.iter().fold(0_u64, |sum, station| sum.saturating_add(of(station)))
        };
        let part = |ns: u64| ratio(ns, a.elapsed_ns);
        Self {
            name: radio.name.clone(),
            airtime_jain: jain(&airtimes),
            weighted_jain: jain(&radio.stations.iter().map(per_weight).collect::<Vec<_>>()),
            goodput_bps: rates.fold(None, |sum, bps| Some(sum.unwrap_or(0_u64).saturating_add(bps))),
            drops: count(|s| s.drops),
            marks: count(|s| s.marks),
            used: part(total),
            collisions: part(a.collision_ns),
            overhead: part(a.overhead_ns.saturating_add(a.other_ns)),
            idle: part(a.idle_ns),
            stations,
        }
    }
}

/// Airtime per unit of weight; an unknown weight counts as the kernel's default.
fn per_weight(station: &Station) -> u64 {
    const DEFAULT: u32 = 256;
    let weight = if station.weight == 0 { DEFAULT } else { station.weight };
    station.air_ns / u64::from(weight)
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn station(
    record: &Record,
    run: &Run,
    radio: &Radio,
    station: &Station,
    flows: &[FlowSummary],
    total: u64,
) -> StationSummary {
    let rtts = round_trips(record, run, station);
    let own = station.flows.iter().filter_map(|&i| flows.get(i as usize)?.goodput_bps);
    let delivered = || bits_per_second(station.delivered_bytes, radio.accounting.elapsed_ns);
    StationSummary {
        name: station.name.clone(),
        rate: station.rate.clone(),
        share: ratio(station.air_ns, total),
        goodput_bps: own
            .fold(None, |sum, bps| Some(sum.unwrap_or(0_u64).saturating_add(bps)))
            .or_else(|| delivered().filter(|_| station.flows.is_empty())),
        rtt_p5_ns: permille(&rtts, 50),
        rtt_p50_ns: permille(&rtts, 500),
        rtt_p95_ns: permille(&rtts, 950),
        rtt_p99_ns: permille(&rtts, 990),
        aggregate_mean: ratio(station.mpdus, station.aggregates),
        retried: ratio(station.retried_mpdus, station.mpdus),
    }
}

/// Round trips of the station's own probes in the loaded interval, ascending.
pub(crate) fn round_trips(record: &Record, run: &Run, station: &Station) -> Vec<i64> {
    let span = loaded_span(record, run);
    let own = station.probes.iter().filter_map(|&i| run.probes.get(i as usize));
    let mut rtts: Vec<i64> = own
        .flat_map(|p| p.sent_ns.iter().zip(&p.rtt_ns))
        .filter(|&(&sent, &rtt)| span.contains(sent) && known(rtt))
        .map(|(_, &rtt)| rtt)
        .collect();
    rtts.sort_unstable();
    rtts
}

#[cfg(test)]
#[path = "radio_tests.rs"]
mod tests;

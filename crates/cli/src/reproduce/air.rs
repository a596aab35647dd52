//! Figures of the air and of stations.

use goodqueue_report::wifi::{Radio, Station};
use goodqueue_report::{Record, Run, Summary, Voice};

/// The stations that are meant, by number; none: all.
type Stations<'a> = &'a [usize];

/// The stations of the first radio that are meant.
fn chosen<'a>(run: &'a Run, stations: Stations<'_>) -> Vec<&'a Station> {
    let all = run.radios.first().map_or(&[][..], |radio: &Radio| &radio.stations);
    all.iter()
        .enumerate()
        .filter(|(at, _)| stations.is_empty() || stations.contains(at))
        .map(|(_, s)| s)
        .collect()
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Their part of the airtime of all stations.
pub(super) fn share(run: &Run, stations: Stations<'_>) -> Option<f64> {
    let air =
        |stations: Stations<'_>| chosen(run, stations).iter().map(|station| station.air_ns).sum::<u64>();
    ratio(air(stations), air(&[]))
}

/// Jain's index over their airtime.
pub(super) fn jain(run: &Run, stations: Stations<'_>) -> Option<f64> {
    let air: Vec<f64> = chosen(run, stations).iter().map(|station| station.air_ns as f64).collect();
    let (sum, squares) = (air.iter().sum::<f64>(), air.iter().map(|x| x * x).sum::<f64>());
    (air.len() > 1 && squares > 0.0).then(|| sum * sum / (air.len() as f64 * squares))
}

/// MPDUs in an aggregate to them.
pub(super) fn aggregate(run: &Run, stations: Stations<'_>) -> Option<f64> {
    let chosen = chosen(run, stations);
    ratio(chosen.iter().map(|s| s.mpdus).sum(), chosen.iter().map(|s| s.aggregates).sum())
}

/// What their flows brought together; without flows of their own, what was delivered to them by time.
pub(super) fn goodput(run: &Run, summary: &Summary, stations: Stations<'_>) -> Option<f64> {
    let chosen = chosen(run, stations);
    let numbers = chosen.iter().flat_map(|station| &station.flows);
    let flows: Vec<f64> = numbers
        .filter_map(|&flow| summary.flows.get(flow as usize)?.goodput_bps)
        .map(|bps| bps as f64)
        .collect();
    if !flows.is_empty() {
        return Some(flows.iter().sum());
    }
    let bytes: u64 = chosen.iter().map(|station| station.delivered_bytes).sum();
    let elapsed = run.radios.first()?.accounting.elapsed_ns;
    (elapsed > 0).then(|| bytes as f64 * 8e9 / elapsed as f64)
}

/// A percentile, in thousandths, by nearest rank, of the round trips of their probes under load.
pub(super) fn ping(run: &Run, summary: &Summary, stations: Stations<'_>, permille: usize) -> Option<f64> {
    let loaded = summary.loaded_from_ns..summary.loaded_to_ns;
    let chosen = chosen(run, stations);
    let probes =
        chosen.iter().flat_map(|station| &station.probes).filter_map(|&at| run.probes.get(at as usize));
    let pairs = probes.flat_map(|probe| probe.sent_ns.iter().zip(&probe.rtt_ns));
    let mut rtts: Vec<i64> = pairs
        .filter(|&(sent, &rtt)| loaded.contains(sent) && rtt != goodqueue_report::MISSING)
        .map(|(_, &rtt)| rtt)
        .collect();
    rtts.sort_unstable();
    let rank = (rtts.len() * permille).div_ceil(1000).max(1);
    rtts.get(rank - 1).map(|&rtt| rtt as f64)
}

/// The mean opinion score of their calls, the worst of several; `is_down`: what the client heard.
pub(super) fn mos(record: &Record, summary: &Summary, stations: Stations<'_>, is_down: bool) -> Option<f64> {
    let calls = record.test.voip.iter().zip(&summary.voip).filter(|(plan, _)| is_at(plan.host, stations));
    let voices = calls.filter_map(|(_, call)| if is_down { call.down } else { call.up });
    voices.map(|voice: Voice| voice.mos).min_by(f64::total_cmp)
}

/// The median page load time of their pages, the worst of several.
pub(super) fn page_load(record: &Record, summary: &Summary, stations: Stations<'_>) -> Option<f64> {
    let pages = record.test.web.iter().zip(&summary.web).filter(|(plan, _)| is_at(plan.host, stations));
    pages.filter_map(|(_, page)| page.load.p50_ns).max().map(|ns| ns as f64)
}

/// Hosts of a test are stations, number by number.
fn is_at(host: u32, stations: Stations<'_>) -> bool {
    stations.is_empty() || stations.iter().any(|&station| u32::try_from(station) == Ok(host))
}

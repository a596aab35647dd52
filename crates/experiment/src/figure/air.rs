//! Figures of the air and of stations.

use goodqueue_report::wifi::{Radio, Station};
use goodqueue_report::{CallWay, GameSummary, Loads, Record, Run, Summary, VideoSummary, Voice};

/// The selected stations, by number; none: all.
type Stations<'a> = &'a [usize];

/// A part of the load's time, in ns from its start. It has the steps that end after its start, up to its end.
type Window = (i64, i64);

/// How far a share may be from its final value: 3 points, the tolerance for the shares of policies.
const NEAR: f64 = 0.03;
/// The time over which a share is averaged: 500 ms, about 25 rounds of four stations with two aggregates of
/// 4 ms each.
const LOOK_NS: i64 = 500_000_000;

/// The selected stations of the first radio.
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

/// Airtime of each station of the first radio, in the window or in the whole run.
fn airtimes(run: &Run, window: Option<Window>) -> Vec<u64> {
    let Some(radio) = run.radios.first() else { return Vec::new() };
    let Some((from, to)) = window else {
        return radio.stations.iter().map(|station| station.air_ns).collect();
    };
    let inside = |column: &Vec<u64>| {
        let steps = radio.shares.t_ns.iter().zip(column);
        steps.filter(|&(&end, _)| from < end && end <= to).map(|(_, air)| air).sum()
    };
    radio.shares.stations.iter().map(inside).collect()
}

/// The selected ones of `airtimes`.
fn of_chosen<'a>(airtimes: &'a [u64], stations: Stations<'a>) -> impl Iterator<Item = u64> + 'a {
    let all = airtimes.iter().enumerate();
    all.filter(move |(at, _)| stations.is_empty() || stations.contains(at)).map(|(_, &air)| air)
}

/// The share of the selected stations in the airtime of all stations.
pub(super) fn share(run: &Run, stations: Stations<'_>, window: Option<Window>) -> Option<f64> {
    let airtimes = airtimes(run, window);
    ratio(of_chosen(&airtimes, stations).sum(), airtimes.iter().sum())
}

/// The time from the start of the window after which their share, over half a second, stays close to that of
/// the window's second half; `None` if it never does.
pub(super) fn settle(run: &Run, stations: Stations<'_>, (from, to): Window) -> Option<f64> {
    let goal = share(run, stations, Some((from + (to - from) / 2, to)))?;
    let ends = &run.radios.first()?.shares.t_ns;
    let looks = ends.iter().copied().filter(|&end| from + LOOK_NS <= end && end <= to);
    let is_near = |end: &i64| {
        let share = share(run, stations, Some((end - LOOK_NS, *end)));
        share.is_some_and(|share| (share - goal).abs() <= NEAR)
    };
    let near = looks.rev().take_while(is_near).last()?;
    Some((near - LOOK_NS - from) as f64)
}

/// Jain's index over their airtime.
pub(super) fn jain(run: &Run, stations: Stations<'_>, window: Option<Window>) -> Option<f64> {
    jain_of(&of_chosen(&airtimes(run, window), stations).collect::<Vec<u64>>())
}

/// Jain's index over the airtime that the access point's scheduler has counted for them.
pub(super) fn counted_jain(run: &Run, stations: Stations<'_>) -> Option<f64> {
    let counted: Vec<u64> =
        chosen(run, stations).iter().map(|station| station.airtime_tx_us + station.airtime_rx_us).collect();
    jain_of(&counted)
}

fn jain_of(used: &[u64]) -> Option<f64> {
    let air: Vec<f64> = used.iter().map(|&used| used as f64).collect();
    let (sum, squares) = (air.iter().sum::<f64>(), air.iter().map(|x| x * x).sum::<f64>());
    (air.len() > 1 && squares > 0.0).then(|| sum * sum / (air.len() as f64 * squares))
}

/// Mean number of MPDUs in an aggregate to them.
pub(super) fn aggregate(run: &Run, stations: Stations<'_>) -> Option<f64> {
    let chosen = chosen(run, stations);
    ratio(chosen.iter().map(|s| s.mpdus).sum(), chosen.iter().map(|s| s.aggregates).sum())
}

/// The total goodput of their flows; without flows of their own, the rate of the bytes delivered to them.
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

/// A percentile (in thousandths, by nearest rank) of the round trips of their probes under load, or in the
/// window; of all probes if no stations are selected.
pub(super) fn ping(
    run: &Run,
    summary: &Summary,
    stations: Stations<'_>,
    window: Option<Window>,
    permille: usize,
) -> Option<f64> {
    let rtts = pings(run, summary, stations, window);
    let rank = (rtts.len() * permille).div_ceil(1000).max(1);
    rtts.get(rank - 1).map(|&rtt| rtt as f64)
}

/// The round trips of their probes under load, or in the window, ns, the shortest first; of all probes if no
/// stations are selected.
pub(super) fn pings(
    run: &Run,
    summary: &Summary,
    stations: Stations<'_>,
    window: Option<Window>,
) -> Vec<i64> {
    let loaded = window.map_or(summary.loaded_from_ns..summary.loaded_to_ns, |(from, to)| from..to);
    let chosen = chosen(run, stations);
    let of_stations =
        chosen.iter().flat_map(|station| &station.probes).filter_map(|&at| run.probes.get(at as usize));
    let others = if run.radios.is_empty() { run.probes.as_slice() } else { &[] };
    let probes = of_stations.chain(others);
    let pairs = probes.flat_map(|probe| probe.sent_ns.iter().zip(&probe.rtt_ns));
    let mut rtts: Vec<i64> = pairs
        .filter(|&(sent, &rtt)| loaded.contains(sent) && rtt != goodqueue_report::MISSING)
        .map(|(_, &rtt)| rtt)
        .collect();
    rtts.sort_unstable();
    rtts
}

/// The mean opinion score of their calls, the worst of several. `is_down` selects the client's side.
pub(super) fn mos(record: &Record, summary: &Summary, stations: Stations<'_>, is_down: bool) -> Option<f64> {
    let calls = record.test.voip.iter().zip(&summary.voip).filter(|(plan, _)| is_at(plan.host, stations));
    let voices = calls.filter_map(|(_, call)| if is_down { call.down } else { call.up });
    voices.map(|voice: Voice| voice.mos).min_by(f64::total_cmp)
}

/// Their page loads under load.
fn pages<'a>(record: &Record, summary: &'a Summary, stations: Stations<'_>) -> Vec<&'a Loads> {
    let pages = record.test.web.iter().zip(&summary.web).filter(|(plan, _)| is_at(plan.host, stations));
    pages.map(|(_, page)| &page.load).collect()
}

/// The median page load time of their pages, the worst of several; `None` if the median of one page is not
/// known.
pub(super) fn page_load(record: &Record, summary: &Summary, stations: Stations<'_>) -> Option<f64> {
    let medians: Option<Vec<i64>> = pages(record, summary, stations).iter().map(|load| load.p50_ns).collect();
    medians?.into_iter().max().map(|ns| ns as f64)
}

/// The lower bound of the worst median, if that of one page is not known: it had not ended after this time.
pub(super) fn page_watched(record: &Record, summary: &Summary, stations: Stations<'_>) -> Option<f64> {
    let times =
        pages(record, summary, stations).into_iter().map(|load| load.p50_ns.or(load.incomplete_max_ns));
    // A page that never began has neither.
    times.collect::<Option<Vec<i64>>>()?.into_iter().max().map(|ns| ns as f64)
}

/// Summaries of their videos, over the window or over the load.
pub(super) fn videos(
    record: &Record,
    run: &Run,
    summary: &Summary,
    stations: Stations<'_>,
    window: Option<Window>,
) -> Vec<VideoSummary> {
    let (from, to) = window.unwrap_or((summary.loaded_from_ns, summary.loaded_to_ns));
    let all = record.test.dash.iter().zip(&run.dash).filter(|(plan, _)| is_at(plan.host, stations));
    all.map(|(_, video)| VideoSummary::within(video, from, to)).collect()
}

/// Both directions of their video calls, each with whether it goes to the client.
pub(super) fn calls<'a>(
    record: &Record,
    summary: &'a Summary,
    stations: Stations<'_>,
) -> Vec<(bool, &'a CallWay)> {
    let talks = record.test.talks.iter().zip(&summary.talks).filter(|(plan, _)| is_at(plan.host, stations));
    talks
        .filter_map(|(_, talk)| talk.call.as_ref())
        .flat_map(|[up, down]| [(false, up), (true, down)])
        .collect()
}

/// Their games.
pub(super) fn games<'a>(
    record: &Record,
    summary: &'a Summary,
    stations: Stations<'_>,
) -> Vec<&'a GameSummary> {
    let talks = record.test.talks.iter().zip(&summary.talks).filter(|(plan, _)| is_at(plan.host, stations));
    talks.filter_map(|(_, talk)| talk.game.as_ref()).collect()
}

/// Each host of a test is the station of the same number.
fn is_at(host: u32, stations: Stations<'_>) -> bool {
    stations.is_empty() || stations.iter().any(|&station| u32::try_from(station) == Ok(host))
}

#[cfg(test)]
mod tests {
    use goodqueue_report::ProbeSeries;
    use goodqueue_report::wifi::Shares;

    use super::*;

    /// Two stations in steps of 100 ms for 4 s. The second joins at 1 s and gets its half from 1.4 s on.
    fn newcomer() -> Run {
        let second = |step: i64| match step {
            0..10 => 0,
            10..14 => 20,
            _ => 50,
        };
        let shares = Shares {
            t_ns: (1..=40).map(|step| step * 100_000_000).collect(),
            step_ns: 100_000_000,
            stations: vec![(0..40).map(|step| 100 - second(step)).collect(), (0..40).map(second).collect()],
            ..Shares::default()
        };
        Run { radios: vec![Radio { shares, ..Radio::default() }], ..Run::default() }
    }

    #[test]
    fn a_window_counts_the_steps_that_end_in_it() {
        let run = newcomer();
        assert_eq!(share(&run, &[1], Some((0, 1_000_000_000))), Some(0.0));
        assert_eq!(share(&run, &[1], Some((1_000_000_000, 1_400_000_000))), Some(0.2));
        assert_eq!(share(&run, &[1], Some((1_300_000_000, 1_500_000_000))), Some(0.35));
        assert_eq!(share(&run, &[1], Some((5_000_000_000, 6_000_000_000))), None, "no step ends there");
        assert_eq!(jain(&run, &[], Some((2_000_000_000, 3_000_000_000))), Some(1.0));
    }

    /// The share over 0.5 s is 44 % if it contains one step of 20 %, and 50 % without. So it is stable at 1.4
    /// s, 0.4 s after the second joined.
    #[test]
    fn a_share_is_stable_if_it_does_not_change_any_more() {
        let run = newcomer();
        assert_eq!(settle(&run, &[1], (1_000_000_000, 4_000_000_000)), Some(400e6));
        assert_eq!(settle(&run, &[1], (2_000_000_000, 4_000_000_000)), Some(0.0), "it was before");
    }

    #[test]
    fn without_wifi_a_ping_is_that_of_all_probes() {
        let probe = |rtts: [i64; 3]| ProbeSeries {
            sent_ns: vec![10, 20, 30],
            rtt_ns: rtts.to_vec(),
            ..ProbeSeries::default()
        };
        let probes = vec![probe([7, 5, 90]), probe([1, goodqueue_report::MISSING, 90])];
        let wired = Run { probes, ..Run::default() };
        let median = |run: &Run| ping(run, &Summary::default(), &[], Some((10, 30)), 500);
        assert_eq!(median(&wired), Some(5.0), "of 7, 5 and 1");
        let radios = vec![Radio::default()];
        assert_eq!(median(&Run { radios, ..wired }), None, "over Wi-Fi, of stations alone");
    }
}

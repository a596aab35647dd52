//! Reasons not to trust a load over a real path, each with its evidence. A quantity that is not measured here
//! raises no doubt.

use std::collections::BTreeMap;

use goodqueue::{ETHERNET_FRAME, ETHERNET_MTU, Span};
use goodqueue_path::clocks::Step;
use goodqueue_probe::talk::{INPUT, STATE};
use goodqueue_probe::{Direction, UdpFlow};
use goodqueue_report::{Doubt, DoubtKind, FlowSeries, MISSING, ProbeSeries, Run, TalkWay};

use super::machine::{Machine, Snapshot};
use super::probes::Outcome;
use super::seconds::{START, range, second};
use super::wifi::Wifi;
use crate::record::direction;

/// The processor may be the limit if a thread computes, or waits for a processor, for this share of the load.
const BUSY: f64 = 0.9;
const WAITING: f64 = 0.2;
/// Other traffic matters if it is this share of an interface's bytes.
const OTHERS: f64 = 0.1;
/// Minimum number of bytes to report.
const FEW: f64 = 300e3;
/// Most bytes on the line for a byte of payload: 1514 for 1448, and an acknowledgement of 66 for every two
/// packets the other way.
const ON_THE_LINE: f64 = FULL_PACKET / SEGMENT;
const ACKNOWLEDGED: f64 = 66.0 / SEGMENT;
/// A full segment on the line, and its payload, bytes: IPv4 and TCP take 20 bytes each, the timestamps 12.
const FULL_PACKET: f64 = ETHERNET_FRAME as f64;
const SEGMENT: f64 = (ETHERNET_MTU - 52) as f64;
/// The interface that also counts as received everything that this machine sends to itself.
const LOOPBACK: &str = "lo";
/// The path has changed if this share of replies has a different TTL from the first. A path that spreads its
/// packets over several routes may show a few of them.
const OTHER_TTL: f64 = 0.05;
/// The path was interrupted if it was silent for this time, ns. A full queue loses some probes, but not all
/// for this long.
const SILENCE: i64 = 1_500_000_000;
/// Largest ratio of the fastest second to the slowest, after the start.
const VARIES: f64 = 2.0;
/// A load may have filled the air if it reached this share of the slowest bit rate: TCP gets about half of
/// the bit rate (24 of 54 Mbit/s with 802.11a: preambles, gaps and acknowledgements take the rest), and a
/// neighbour with as much to send gets half of the air.
const OF_THE_AIR: f64 = 0.25;
/// Smallest step of this machine's clock that matters, ns.
const STEP: i64 = 1_000_000;
/// CoDel's target and interval, ns (RFC 8289 sections 4.3 and 4.4).
const CODEL_TARGET: i64 = 5_000_000;
const CODEL_INTERVAL: i64 = 100_000_000;

/// All reasons to doubt a run, which has its series. `ways`: the directions of its flows. `udp`: the UDP
/// flows, which are the last of the run's flows.
pub(super) fn of(
    run: &Run,
    ways: &[Direction],
    udp: &[UdpFlow],
    machine: &Machine,
    probes: &[Outcome],
) -> Vec<Doubt> {
    let mut out = Vec::new();
    let looks = machine.looks.as_ref().filter(|[from, to]| to.t > from.t);
    let sent = looks.map_or([0.0; 2], |[from, to]| payload(run, ways, from.t, to.t));
    if let Some([from, to]) = looks {
        out.extend(processor(from, to));
        let lost = lost(run, udp, from.t, to.t);
        let other = |way| other_traffic(run, ways, sent, lost, [from, to], way);
        out.extend(Direction::BOTH.into_iter().find_map(other));
    }
    if out.iter().all(|doubt| doubt.kind != DoubtKind::OtherTraffic) {
        let rates = looks.map_or(sent, |[from, to]| sent.map(|bytes| bytes / (to.t - from.t) as f64));
        out.extend(not_idle(run, rates));
    }
    out.extend(path_changed(probes));
    out.extend(interrupted(run));
    let carrier = looks.and_then(|[from, to]| carrier(sent, [from, to]));
    let varied =
        Direction::BOTH.into_iter().find_map(|way| rate_varied(run, ways, way, carrier, &machine.wifi));
    let air =
        || Direction::BOTH.into_iter().find_map(|way| air_varied(run, ways, way, carrier?, &machine.wifi));
    out.extend(varied.or_else(air));
    out
}

/// The flows of one direction.
fn flows<'a>(run: &'a Run, ways: &'a [Direction], way: Direction) -> impl Iterator<Item = &'a FlowSeries> {
    run.flows.iter().zip(ways).filter(move |(_, its)| **its == way).map(|(flow, _)| flow)
}

/// The ends of their steps, and the payload in each.
fn steps<'a>(run: &'a Run, ways: &'a [Direction], way: Direction) -> impl Iterator<Item = (i64, f64)> {
    flows(run, ways, way)
        .flat_map(|flow| flow.t_ns.iter().zip(&flow.rx_bytes))
        .map(|(&t, &bytes)| (t, bytes as f64))
}

fn doubt(kind: DoubtKind, evidence: String) -> Doubt {
    Doubt { kind, evidence }
}

fn percent(share: f64) -> f64 {
    (share * 100.0).round()
}

fn processor(from: &Snapshot, to: &Snapshot) -> Option<Doubt> {
    let time = (to.t - from.t) as f64;
    let shares = to.threads.iter().filter_map(|(id, after)| {
        let before = from.threads.get(id)?;
        Some([0, 1].map(|which| after[which].saturating_sub(before[which]) as f64 / time))
    });
    let [ran, waited] = shares.fold([0.0f64; 2], |most, one| [most[0].max(one[0]), most[1].max(one[1])]);
    let evidence = if ran >= BUSY {
        format!("a thread of this program used a processor for {} % of the load", percent(ran))
    } else if waited >= WAITING {
        format!("a thread of this program waited for a processor for {} % of the load", percent(waited))
    } else {
        return None;
    };
    Some(doubt(
        DoubtKind::Processor,
        format!(
            "this machine's processor was too busy: {evidence}; end other programs or ask for fewer --flows"
        ),
    ))
}

/// The same for a server's thread of the flows: the thousandths of the load for which it had a processor, and
/// for which it waited for one.
pub(super) fn server_processor(name: &str, ran: Option<u32>, waited: Option<u32>) -> Option<Doubt> {
    let [ran, waited] = [ran, waited].map(|permille| f64::from(permille.unwrap_or(0).min(1000)) / 1000.0);
    let evidence = if ran >= BUSY {
        let cure = "use a faster server, or --transport tcp if the load was QUIC";
        format!("the thread of its flows used one for {} % of the load; {cure}", percent(ran))
    } else if waited >= WAITING {
        let cure = "end other programs there, or use another server";
        format!("the thread of its flows waited for one for {} % of the load; {cure}", percent(waited))
    } else {
        return None;
    };
    let words = format!("the processor of the server {name} was too busy: {evidence}");
    Some(doubt(DoubtKind::Processor, words))
}

/// Whether a clock was set during the test: this machine's own, which it sees itself, or one of two clocks,
/// as a jump in the delays shows. `jumps`: the names of the hosts, and the steps against each.
pub(super) fn clock_stepped<'a>(
    probes: &[Outcome],
    jumps: impl IntoIterator<Item = (&'a str, &'a [Step])>,
) -> Option<Doubt> {
    let jump = jumps.into_iter().flat_map(|(name, steps)| steps.iter().map(move |step| (name, step)));
    let own = probes.iter().map(|probe| probe.summary.clock_stepped).max().filter(|&by| by >= STEP);
    let evidence = match (jump.max_by_key(|(_, step)| step.by.unsigned_abs()), own) {
        (Some((name, step)), _) => {
            let (by, at) = (step.by.abs() as f64 / 1e6, step.t as f64 / 1e9);
            let way = if step.by > 0 { "ahead of" } else { "back against" };
            format!("that of {name} jumped {by:.1} ms {way} this machine's at {at:.1} s of the load")
        }
        (None, Some(by)) => format!("this machine's, by {:.1} ms", by as f64 / 1e6),
        (None, None) => return None,
    };
    Some(doubt(
        DoubtKind::ClockStepped,
        format!("a clock was set during the test: {evidence} (or a machine slept); measure again"),
    ))
}

/// Payload of UDP uploads that was sent between two times and has not arrived.
fn lost(run: &Run, udp: &[UdpFlow], from: i64, to: i64) -> f64 {
    let signed = |span: Span| i64::try_from(span.0).unwrap_or(i64::MAX);
    let series = run.flows.iter().rev().zip(udp.iter().rev());
    let of = |(series, flow): (&FlowSeries, &UdpFlow)| {
        let time = to.min(signed(flow.stop)).saturating_sub(from.max(signed(flow.start))).max(0);
        let inside = series.t_ns.iter().zip(&series.rx_bytes).filter(|(t, _)| (from + 1..=to).contains(*t));
        let received: u64 = inside.map(|(_, bytes)| bytes).sum();
        (flow.rate.0 as f64 / 8e9 * time as f64 - received as f64).max(0.0)
    };
    series.filter(|(_, flow)| flow.direction == Direction::Up).map(of).sum()
}

/// Payload of flows up and down between two times.
fn payload(run: &Run, ways: &[Direction], from: i64, to: i64) -> [f64; 2] {
    [Direction::Up, Direction::Down].map(|way| {
        steps(run, ways, way)
            .filter(|(t, _)| (from + 1..=to).contains(t))
            .map(|(_, bytes)| bytes)
            .sum::<f64>()
    })
}

/// For each interface, the bytes that it received (0) or sent (1) between two looks.
fn counted([from, to]: [&Snapshot; 2], which: usize) -> impl Iterator<Item = (&str, f64)> {
    to.interfaces.iter().map(move |(name, after)| {
        let before = from.interfaces.get(name).map_or(0, |before| before[which]);
        (name.as_str(), after[which].saturating_sub(before) as f64)
    })
}

/// The interface that carried this much payload up and down: of those with enough bytes, the one with the
/// fewest.
fn carrier(payload: [f64; 2], looks: [&Snapshot; 2]) -> Option<&str> {
    carriers(payload, looks).min_by(|a, b| a.1.total_cmp(&b.1)).map(|(name, _)| name)
}

/// All interfaces that carried this much payload, and how many bytes each carried in the direction that had
/// more.
fn carriers([up, down]: [f64; 2], looks: [&Snapshot; 2]) -> impl Iterator<Item = (&str, f64)> {
    let enough = up.max(down) * 0.95;
    counted(looks, usize::from(up > down)).filter(move |(_, bytes)| *bytes >= enough)
}

/// The interfaces that sent this run's uploads, if there were any: a tunnel or a VLAN, and the device below
/// it.
pub(super) fn senders<'a>(run: &Run, ways: &[Direction], machine: &'a Machine) -> Vec<&'a str> {
    let Some([from, to]) = &machine.looks else { return Vec::new() };
    let [up, _] = payload(run, ways, from.t, to.t);
    carriers([up, 0.0], [from, to]).filter(|_| up > 0.0).map(|(name, _)| name).collect()
}

/// Whether an interface carried more than the test. `up`, `down`: the payload of its flows. `lost`: bytes
/// sent over UDP that did not arrive.
fn other_traffic(
    run: &Run,
    ways: &[Direction],
    [up, down]: [f64; 2],
    lost: f64,
    [from, to]: [&Snapshot; 2],
    way: Direction,
) -> Option<Doubt> {
    let [apps_up, apps_down] = of_applications(run, from.t, to.t);
    let (own, back, which) = match way {
        Direction::Up => (up + apps_up + lost + resent(run, ways, from.t, to.t), down + apps_down, 1),
        Direction::Down => (down + apps_down, up + apps_up, 0),
    };
    if up + down < FEW {
        return None;
    }
    // Bytes in a queue have left this machine and have not been received.
    let held = match way {
        Direction::Up => up / ((to.t - from.t) as f64) * waits(run),
        Direction::Down => 0.0,
    };
    let name = carrier([up, down], [from, to])?;
    let (own, back) = if name == LOOPBACK { (own + back, own + back) } else { (own, back) };
    let most = own * ON_THE_LINE + back * ACKNOWLEDGED + held;
    let (_, bytes) = counted([from, to], which).find(|(other, _)| *other == name)?;
    let others = bytes - most;
    (others >= FEW && others >= OTHERS * (up.max(down) + others)).then(|| {
        let verb = if which == 0 { "received" } else { "sent" };
        doubt(
            DoubtKind::OtherTraffic,
            format!(
                "other traffic was on the line: {name} {verb} {:.1} MB that is not part of this test, {} % of the total; stop it and measure again",
                others / 1e6,
                percent(others / bytes)
            ),
        )
    })
}

/// Whether packets waited although this test had not sent anything yet: others load the line, and the
/// baseline, the median of that time, is not that of an empty queue. Packets wait in a standing queue as
/// CoDel defines it (RFC 8289 section 4.4): even the shortest wait in an interval is above the target, and
/// above the time of one packet. `rates`: the goodput up and down, bytes per ns.
fn not_idle(run: &Run, rates: [f64; 2]) -> Option<Doubt> {
    let least = |probe: &ProbeSeries| probe.rtt_ns.iter().copied().filter(|&rtt| rtt != MISSING).min();
    let shortest = |probe: &ProbeSeries| {
        let least = least(probe)?;
        let mut intervals: BTreeMap<i64, (u32, i64)> = BTreeMap::new();
        for (&sent, &rtt) in
            probe.sent_ns.iter().zip(&probe.rtt_ns).filter(|(sent, rtt)| **sent < 0 && **rtt != MISSING)
        {
            if sent.saturating_add(rtt) < 0 {
                let (count, shortest) =
                    intervals.entry(sent.div_euclid(CODEL_INTERVAL)).or_insert((0, i64::MAX));
                (*count, *shortest) = (*count + 1, (*shortest).min(rtt - least));
            }
        }
        // A single packet may have waited behind one other.
        let mut waits: Vec<i64> =
            intervals.into_values().filter(|(count, _)| *count >= 2).map(|(_, wait)| wait).collect();
        waits.sort_unstable();
        waits.get(waits.len() / 2).copied()
    };
    let wait = run.probes.iter().filter_map(shortest).min()?;
    let slowest = rates.into_iter().filter(|rate| *rate > 0.0).fold(f64::INFINITY, f64::min);
    (wait > CODEL_TARGET && wait as f64 > FULL_PACKET / slowest).then(|| {
        doubt(
            DoubtKind::OtherTraffic,
            format!(
                "other machines used the line: packets waited {:.0} ms before this test sent anything but probes; stop them and measure again",
                wait as f64 / 1e6
            ),
        )
    })
}

/// Payload that senders here have retransmitted between two times: behind a policer, that is a large part of
/// the total.
fn resent(run: &Run, ways: &[Direction], from: i64, to: i64) -> f64 {
    let segments = |flow: &FlowSeries| {
        let by = |time: i64| {
            let place = flow.t_ns.partition_point(|&t| t <= time);
            place.checked_sub(1).and_then(|place| flow.retransmits.get(place)).copied().unwrap_or(0)
        };
        by(to).saturating_sub(by(from))
    };
    flows(run, ways, Direction::Up).map(|flow| f64::from(segments(flow)) * SEGMENT).sum()
}

/// Maximum payload of pages, videos, video calls and games, up and down, between two times.
fn of_applications(run: &Run, from: i64, to: i64) -> [f64; 2] {
    let overlaps = |t: i64, took: i64| t <= to && t.saturating_add(took) >= from;
    let fetched = |starts: &[i64], took: &[i64], bytes: &[u64]| {
        let all = starts.iter().zip(took).zip(bytes);
        all.filter(|((t, took), _)| overlaps(**t, **took)).map(|(_, bytes)| *bytes as f64).sum::<f64>()
    };
    let pages = run.web.iter().map(|page| fetched(&page.start_ns, &page.took_ns, &page.rx_bytes));
    let videos = run.dash.iter().map(|video| fetched(&video.asked_ns, &video.took_ns, &video.rx_bytes));
    let talked = |way: &TalkWay, tick: usize| {
        let media = way.t_ns.iter().zip(&way.rx_bytes).filter(|(t, _)| overlaps(**t, 0));
        let ticks = way.sent_ns.iter().filter(|t| overlaps(**t, 0)).count();
        media.map(|(_, bytes)| *bytes as f64).sum::<f64>() + (ticks * tick) as f64
    };
    let up = run.talks.iter().map(|talk| talked(&talk.up, INPUT));
    let down = run.talks.iter().map(|talk| talked(&talk.down, STATE));
    [up.sum(), pages.chain(videos).chain(down).sum()]
}

/// The longest round trip minus the shortest, ns.
fn waits(run: &Run) -> f64 {
    let trips = || run.probes.iter().flat_map(|probe| &probe.rtt_ns).filter(|&&rtt| rtt >= 0);
    match (trips().min(), trips().max()) {
        (Some(&least), Some(&most)) => (most - least) as f64,
        _ => 0.0,
    }
}

fn path_changed(probes: &[Outcome]) -> Option<Doubt> {
    let is_other = |probe: &&Outcome| {
        probe.other_ttl as f64 >= OTHER_TTL * probe.summary.prober.received as f64 && probe.other_ttl > 0
    };
    let (first, other) = probes.iter().find(is_other)?.ttls?;
    Some(doubt(
        DoubtKind::PathChanged,
        format!(
            "the path changed: replies arrived with a TTL of {first} and later {other}, so they took another route; \
             measure again"
        ),
    ))
}

/// Whether this program did not run for a while. The argument: for how long, and from which time of the load
/// on, nanoseconds.
pub(super) fn stood_still((length, from): (i64, i64)) -> Option<Doubt> {
    (length >= SILENCE).then(|| {
        doubt(
            DoubtKind::Interrupted,
            format!(
                "this program did not run for {:.1} s, from {:.1} s of the load on (this machine slept, or the program was \
                 stopped); measure again",
                length as f64 / 1e9,
                from as f64 / 1e9
            ),
        )
    })
}

/// Whether a probe got no replies for a while, and then got replies again.
fn interrupted(run: &Run) -> Option<Doubt> {
    let longest = |probe: &ProbeSeries| {
        let mut since = None;
        let mut longest = (0, 0);
        for (&sent, &rtt) in probe.sent_ns.iter().zip(&probe.rtt_ns) {
            if rtt == MISSING {
                since = since.or(Some(sent));
            } else if let Some(from) = since.take() {
                longest = longest.max((sent - from, from));
            }
        }
        longest
    };
    let (length, from) = run.probes.iter().map(longest).max()?;
    (length >= SILENCE).then(|| {
        doubt(
            DoubtKind::Interrupted,
            format!(
                "the path was interrupted: no reply for {:.1} s, from {:.1} s of the load on (an interface was down, or a \
                 machine slept); measure again",
                length as f64 / 1e9,
                from as f64 / 1e9
            ),
        )
    })
}

/// Whether the rate that the network carried changed by more than TCP's own variation. For traffic both ways
/// this cannot be known: there the queue of one direction delays the ACKs of the other, whose rate then
/// varies on a constant line. If Wi-Fi carried the load, its bit rate shows whether the Wi-Fi changed, or
/// something behind it.
fn rate_varied(
    run: &Run,
    ways: &[Direction],
    way: Direction,
    carrier: Option<&str>,
    wifi: &Wifi,
) -> Option<Doubt> {
    if ways.iter().any(|&its| its != way) {
        return None;
    }
    let limits = run.limits.iter().find(|limits| limits.direction == direction(way))?;
    if limits.network() < 0.8 {
        return None;
    }
    let mut seconds: BTreeMap<i64, f64> = BTreeMap::new();
    for (t, bytes) in steps(run, ways, way).filter(|(t, _)| *t > START) {
        *seconds.entry(second(t)).or_default() += bytes * 8.0 / 1e6;
    }
    // The last second may be incomplete.
    seconds.pop_last();
    let [slow, fast] = range(seconds.into_values().collect())?;
    if !varied([slow, fast]) {
        return None;
    }
    let name = if way == Direction::Up { "up" } else { "down" };
    let cause = match carrier.and_then(|carrier| Some((carrier, wifi.range(carrier, way)?))) {
        Some((carrier, rates @ [slow, fast])) if varied(rates) => format!(
            ", and the bit rate of this machine's Wi-Fi ({carrier}) between {slow:.1} and {fast:.1} Mbit/s: measure again \
             closer to the access point, or over a cable"
        ),
        Some((carrier, [slow, fast])) => format!(
            ", while the bit rate of this machine's Wi-Fi ({carrier}) was {slow:.1} to {fast:.1} Mbit/s: others used the \
             air or the line, the line behind the Wi-Fi changed, or packets are lost before a queue fills; measure again \
             over a cable, when nobody else uses the line"
        ),
        None => ": the line (Wi-Fi, mobile) changed, other machines used it, or packets are lost before a queue fills; \
                 measure again over a cable, when nobody else uses the line"
            .to_owned(),
    };
    Some(doubt(
        DoubtKind::RateVaried,
        format!("the rate {name} varied between {slow:.1} and {fast:.1} Mbit/s{cause}"),
    ))
}

/// Whether the bit rate of the Wi-Fi that carried the load changed although goodput does not show it: because
/// the change came late or is smaller in goodput, or because both directions were loaded. It does not matter
/// if the air has room even at its slowest: see [`OF_THE_AIR`].
fn air_varied(run: &Run, ways: &[Direction], way: Direction, carrier: &str, wifi: &Wifi) -> Option<Doubt> {
    flows(run, ways, way).next()?;
    let rates = wifi.range(carrier, way)?;
    let [slow, fast] = rates;
    if !varied(rates) {
        return None;
    }
    // The bytes of both directions while it was slow: they share the air.
    let seconds = wifi.seconds(carrier, way);
    let is_slow = |second: i64| seconds.get(&second).is_some_and(|rate| varied([*rate, fast]));
    let all = Direction::BOTH.into_iter().flat_map(|way| steps(run, ways, way));
    let carried: f64 = all.filter(|(t, _)| is_slow(second(*t))).map(|(_, bytes)| bytes * 8.0 / 1e6).sum();
    let carried = carried / seconds.keys().filter(|second| is_slow(**second)).count() as f64;
    (carried >= slow * OF_THE_AIR).then(|| {
        let name = if way == Direction::Up { "up" } else { "down" };
        doubt(
            DoubtKind::RateVaried,
            format!(
                "the bit rate {name} of this machine's Wi-Fi ({carrier}) varied between {slow:.1} and {fast:.1} Mbit/s, \
                 and the load was {carried:.1} Mbit/s while it was slow: measure again closer to the access point, or \
                 over a cable"
            ),
        )
    })
}

/// Whether that is more than TCP's own variation.
fn varied([slow, fast]: [f64; 2]) -> bool {
    fast > VARIES * slow.max(1.0)
}

#[cfg(test)]
mod tests {
    use super::super::wifi::tests::wlan0;
    use super::*;
    use goodqueue_report::{SenderLimits, VideoSeries};

    const S: i64 = 1_000_000_000;

    /// Ten seconds of one upload, with this rate in Mbit/s in each second, and a probe with a round trip of
    /// 20 ms.
    fn run(mbit: impl Fn(i64) -> u64) -> Run {
        let flow = FlowSeries {
            t_ns: (1..=100).map(|step| step * S / 10).collect(),
            rx_bytes: (0..100).map(|step| mbit(step / 10) * 12_500).collect(),
            ..FlowSeries::default()
        };
        let limits = SenderLimits { direction: direction(Direction::Up), ..SenderLimits::default() };
        let probe = ProbeSeries { rtt_ns: vec![20_000_000; 10], ..ProbeSeries::default() };
        Run { flows: vec![flow], probes: vec![probe], limits: vec![limits], ..Run::default() }
    }

    /// The machine's counters at the start and after ten seconds: bytes that eth0 sent, and seconds that the
    /// thread ran and waited.
    fn looks(sent: u64, ran: f64, waited: f64) -> [Snapshot; 2] {
        let ns = |seconds: f64| (seconds * 1e9) as u64;
        let look = |t, bytes, ran, waited| Snapshot {
            t,
            threads: [(7, [ran, waited])].into(),
            interfaces: [("eth0".to_owned(), [1_000, bytes]), ("lo".to_owned(), [5, 5])].into(),
        };
        [look(0, 9, 3, 4), look(10 * S, 9 + sent, 3 + ns(ran), 4 + ns(waited))]
    }

    fn machine(looks: &[Snapshot; 2]) -> Machine {
        Machine { looks: Some(looks.clone()), ..Machine::new() }
    }

    fn kinds(run: &Run, looks: &[Snapshot; 2], probes: &[Outcome]) -> Vec<DoubtKind> {
        of(run, &[Direction::Up], &[], &machine(looks), probes).into_iter().map(|doubt| doubt.kind).collect()
    }

    #[test]
    fn a_load_that_nothing_disturbs_is_believed() {
        // 20 Mbit/s for ten seconds are 25 MB; 1514 bytes on the line for 1448.
        assert_eq!(kinds(&run(|_| 20), &looks(26_200_000, 0.3, 0.1), &[]), []);
    }

    #[test]
    fn silence_with_replies_after_it_is_an_interruption() {
        let with_gap = |lost: std::ops::Range<i64>| {
            let mut run = run(|_| 20);
            run.probes[0].sent_ns = (0..100).map(|tenth| tenth * S / 10).collect();
            let rtt = |tenth| if lost.contains(&tenth) { MISSING } else { 20_000_000 };
            run.probes[0].rtt_ns = (0..100).map(rtt).collect();
            run
        };
        let quiet = looks(26_200_000, 0.3, 0.1);
        assert_eq!(kinds(&with_gap(40..54), &quiet, &[]), []);
        assert_eq!(kinds(&with_gap(40..56), &quiet, &[]), [DoubtKind::Interrupted]);
        assert_eq!(kinds(&with_gap(70..100), &quiet, &[]), [], "an end without replies has other reasons");
    }

    #[test]
    fn a_clock_that_is_set_is_named_with_its_host() {
        let probe = |clock_stepped| Outcome {
            summary: goodqueue_path::client::Summary { clock_stepped, ..Default::default() },
            ..Outcome::default()
        };
        let named = |own, steps: &[Step]| {
            let doubt = clock_stepped(&[probe(own)], [("a", [].as_slice()), ("b", steps)]);
            doubt.map(|doubt| doubt.evidence).unwrap_or_default()
        };
        assert_eq!(named(STEP - 1, &[]), "");
        assert!(named(-STEP, &[]).is_empty(), "the sum of all steps is never negative");
        assert!(named(200_000_000, &[]).contains("this machine's, by 200.0 ms"));
        let steps = [Step { t: S, by: 3_000_000 }, Step { t: 2 * S, by: -30_000_000 }];
        let words = named(0, &steps);
        assert!(words.contains("that of b jumped 30.0 ms back against this machine's at 2.0 s"), "{words}");
    }

    #[test]
    fn what_applications_receive_is_of_the_test() {
        let (quiet, probes) = (looks(26_200_000, 0.3, 0.1), &[]);
        let received = |bytes: u64| {
            let [from, mut to] = quiet.clone();
            if let Some(eth0) = to.interfaces.get_mut("eth0") {
                eth0[0] += bytes;
            }
            [from, to]
        };
        let segments = |count: u64| VideoSeries {
            asked_ns: (0..5).map(|second| second * S).collect(),
            took_ns: vec![S; 5],
            rx_bytes: vec![count / 5; 5],
            ..VideoSeries::default()
        };
        // A video of 8 Mbit/s next to the acknowledgements of the upload.
        let beside = |bytes| Run { dash: vec![segments(bytes)], ..run(|_| 20) };
        assert_eq!(kinds(&beside(10_000_000), &received(11_000_000), probes), []);
        assert_eq!(kinds(&run(|_| 20), &received(11_000_000), probes), [DoubtKind::OtherTraffic]);
    }

    #[test]
    fn a_test_within_this_machine_is_not_other_traffic() {
        let within = |bytes: u64| {
            let mut looks = looks(0, 0.3, 0.1);
            let lo = looks[1].interfaces.get_mut("lo").unwrap();
            *lo = lo.map(|before| before + bytes);
            looks
        };
        // 25 MB of payload, which lo has sent and received.
        assert_eq!(kinds(&run(|_| 20), &within(26_200_000), &[]), []);
        assert_eq!(kinds(&run(|_| 20), &within(35_000_000), &[]), [DoubtKind::OtherTraffic]);
    }

    #[test]
    fn what_is_sent_again_is_of_the_test() {
        let mut policed = run(|_| 20);
        policed.flows[0].retransmits = (1..=100).map(|step| step * 20).collect();
        // 2000 segments of 1514 bytes.
        assert_eq!(kinds(&policed, &looks(26_200_000 + 3_028_000, 0.3, 0.1), &[]), []);
        assert_eq!(kinds(&policed, &looks(35_000_000, 0.3, 0.1), &[]), [DoubtKind::OtherTraffic]);
        assert_eq!(
            kinds(&run(|_| 20), &looks(26_200_000 + 3_028_000, 0.3, 0.1), &[]),
            [DoubtKind::OtherTraffic]
        );
    }

    #[test]
    fn each_disturbance_is_named() {
        let quiet = || looks(26_200_000, 3.0, 0.1);
        assert_eq!(kinds(&run(|_| 20), &looks(32_000_000, 0.3, 0.1), &[]), [DoubtKind::OtherTraffic]);
        assert_eq!(kinds(&run(|_| 20), &looks(26_200_000, 9.5, 0.1), &[]), [DoubtKind::Processor]);
        assert_eq!(kinds(&run(|_| 20), &looks(26_200_000, 1.0, 2.5), &[]), [DoubtKind::Processor]);
        let halved = run(|second| if second < 5 { 28 } else { 12 });
        assert_eq!(kinds(&halved, &quiet(), &[]), [DoubtKind::RateVaried]);
        let both = of(&halved, &[Direction::Up, Direction::Down], &[], &machine(&quiet()), &[]);
        assert_eq!(both, [], "ACKs wait behind the data of the other direction");
        // TCP recovers from one loss; the rate has not changed.
        let dip = run(|second| if second == 5 { 5 } else { 20 });
        assert_eq!(kinds(&dip, &quiet(), &[]), []);
        let mut probe = Outcome { other_ttl: 40, ttls: Some((57, 56)), ..Outcome::default() };
        probe.summary.prober.received = 100;
        assert_eq!(kinds(&run(|_| 20), &quiet(), &[probe.clone()]), [DoubtKind::PathChanged]);
        probe.other_ttl = 4;
        assert_eq!(kinds(&run(|_| 20), &quiet(), &[probe]), []);
    }

    #[test]
    fn the_bit_rate_of_wifi_tells_what_varied() {
        let halved = run(|second| if second < 5 { 28 } else { 12 });
        let looks = looks(26_200_000, 0.3, 0.1);
        let words = |looks: &[Snapshot; 2], wifi| {
            let all = of(
                &halved,
                &[Direction::Up],
                &[],
                &Machine { looks: Some(looks.clone()), wifi, ..Machine::new() },
                &[],
            );
            all.into_iter().map(|doubt| doubt.evidence).collect::<String>()
        };
        let falls = |look| if look > 25 { 26.0 } else { 65.0 };
        let cable = words(&looks, wlan0(falls));
        assert!(cable.contains("the line (Wi-Fi, mobile) changed"), "the load went over eth0: {cable}");
        let looks = over_wlan0();
        let air = words(&looks, wlan0(falls));
        assert!(air.contains("Wi-Fi (wlan0) between 26.0 and 65.0 Mbit/s: measure again closer"), "{air}");
        let behind = words(&looks, wlan0(|_| 65.0));
        assert!(behind.contains("Wi-Fi (wlan0) was 65.0 to 65.0 Mbit/s: others used"), "{behind}");
    }

    /// The machine's counters for a load of 20 Mbit/s over wlan0.
    fn over_wlan0() -> [Snapshot; 2] {
        looks(26_200_000, 0.3, 0.1).map(|mut look| {
            let eth0 = look.interfaces.remove("eth0").unwrap();
            look.interfaces.insert("wlan0".to_owned(), eth0);
            look
        })
    }

    #[test]
    fn a_bit_rate_that_goodput_does_not_show_is_named() {
        let words = |mbit: fn(i64) -> u64, ways: &[Direction], wifi| {
            let mut run = run(mbit);
            if ways.len() > 1 {
                run.flows.push(run.flows[0].clone());
            }
            let mut looks = over_wlan0();
            if ways.contains(&Direction::Down) {
                looks[1].interfaces.entry("wlan0".to_owned()).and_modify(|bytes| bytes[0] = bytes[1]);
            }
            let machine = Machine { looks: Some(looks), wifi, ..Machine::new() };
            let all = of(&run, ways, &[], &machine, &[]);
            let of_rate = all.into_iter().filter(|doubt| doubt.kind == DoubtKind::RateVaried);
            of_rate.map(|doubt| doubt.evidence).collect::<String>()
        };
        let falls = |look| if look > 30 { 26.0 } else { 65.0 };
        let up = [Direction::Up].as_slice();
        let want = "the bit rate up of this machine's Wi-Fi (wlan0) varied between 26.0 and 65.0 Mbit/s, and the load was";
        // By less than a factor of 2, and only in the last seconds.
        let by_less = words(|second| if second < 6 { 23 } else { 14 }, up, wlan0(falls));
        assert!(by_less.contains(want) && by_less.contains("14.0 Mbit/s while it was slow"), "{by_less}");
        let late = words(
            |second| if second < 8 { 22 } else { 8 },
            up,
            wlan0(|look| if look > 40 { 26.0 } else { 65.0 }),
        );
        assert!(late.contains(want), "{late}");
        // Both directions share the air.
        let both =
            words(|second| if second < 6 { 14 } else { 6 }, &[Direction::Up, Direction::Down], wlan0(falls));
        assert!(both.contains(want) && both.contains("12.0 Mbit/s while it was slow"), "{both}");
        // A line of 20 Mbit/s behind a Wi-Fi with room for it; a bit rate that does not change; one that only
        // other frames had.
        assert_eq!(words(|_| 20, up, wlan0(|look| if look > 30 { 390.0 } else { 866.7 })), "");
        assert_eq!(words(|_| 20, up, wlan0(|_| 65.0)), "");
        assert_eq!(words(|_| 20, &[Direction::Down], wlan0(falls)), "", "acknowledgements alone go up");
        assert_eq!(words(|_| 20, up, wlan0(|look| if look % 5 == 0 { 6.0 } else { 65.0 })), "");
        let [mut from, to] = over_wlan0();
        from.interfaces.insert("eth0".to_owned(), [0, 0]);
        let mut cable = [from, to];
        cable[1].interfaces = [("eth0".to_owned(), [1_000, 26_200_000]), ("wlan0".to_owned(), [0, 9])].into();
        let machine = Machine { looks: Some(cable), wifi: wlan0(falls), ..Machine::new() };
        assert_eq!(of(&run(|_| 20), up, &[], &machine, &[]), [], "the load went over a cable");
    }

    #[test]
    fn a_line_that_others_load_is_named() {
        // 5 s without load and 10 s with it, a probe each 20 ms; the queue empties once, under load.
        let with_waits = |wait: fn(i64) -> i64| {
            let mut run = run(|_| 20);
            run.probes[0].sent_ns = (-250..500).map(|probe| probe * S / 50).collect();
            let rtt = |probe| if probe == 400 { 20_000_000 } else { 20_000_000 + wait(probe) };
            run.probes[0].rtt_ns = (-250..500).map(rtt).collect();
            kinds(&run, &looks(26_200_000, 0.3, 0.1), &[])
        };
        assert_eq!(with_waits(|probe| if probe < 0 { 0 } else { 200_000_000 }), []);
        assert_eq!(with_waits(|_| 40_000_000), [DoubtKind::OtherTraffic]);
        assert_eq!(with_waits(|_| 4_900_000), [], "no standing queue");
        // A sleeping radio delays many packets, but not all in any interval.
        assert_eq!(with_waits(|probe| if probe % 5 == 0 { 0 } else { 80_000_000 }), []);
        // The remainder of a previous load.
        assert_eq!(with_waits(|probe| if probe < -150 { 80_000_000 } else { 0 }), []);
        // At 20 Mbit/s a packet takes 0.6 ms, at 200 kbit/s 60.
        assert!(not_idle(&run(|_| 20), [25e-6, 0.0]).is_none(), "no idle time");
    }

    #[test]
    fn a_busy_server_is_named() {
        assert_eq!(server_processor("far", None, None), None);
        assert_eq!(server_processor("far", Some(899), Some(199)), None);
        let waited = server_processor("far", None, Some(200)).unwrap();
        assert_eq!(waited.kind, DoubtKind::Processor);
        let words =
            "far was too busy: the thread of its flows waited for one for 20 % of the load; end other";
        assert!(waited.evidence.contains(words), "{waited:?}");
        // A server may tell anything.
        let odd = server_processor("far", None, Some(u32::MAX)).unwrap();
        assert!(odd.evidence.contains("100 %"), "{odd:?}");
        let doubt = server_processor("far", Some(951), Some(300)).unwrap();
        assert!(
            doubt.kind == DoubtKind::Processor && doubt.evidence.contains("far was too busy"),
            "{doubt:?}"
        );
        assert!(doubt.evidence.contains("95 %"), "{doubt:?}");
    }

    #[test]
    fn packets_in_a_queue_are_not_other_traffic() {
        // The queue grows by 4 MB: the machine has sent them, and they have not been received yet.
        let mut bloated = run(|_| 20);
        bloated.probes[0].rtt_ns.push(1_700_000_000);
        assert_eq!(kinds(&bloated, &looks(30_400_000, 0.3, 0.1), &[]), []);
    }
}

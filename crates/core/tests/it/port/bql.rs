//! Byte queue limits in virtual time, under a queue that is never empty: the final limit, how it is reached,
//! and the delay that it saves.
//!
//! A ring whose completions are coalesced for a time c reports k = floor(c / t) + 1 packets at once, where t
//! is the time of a packet on the line: those that end from the first of them to c later. The limit converges
//! to twice the bytes of such a report, which the algorithm considers enough to stay busy.

use goodqueue::port::Schedule;
use goodqueue::{Header, Ignore, Line, Nanos, Port, Rate, RingSpec, Serializer, Span};

use super::support::{FULL, Greedy, packet};

const SECOND: u64 = 1_000_000_000;

fn greedy(line: Line, ring: RingSpec) -> Port<Header, Greedy> {
    let mut port = Port::new(Greedy::default(), Some(ring), line);
    port.arrive(Nanos::ZERO, packet(u64::MAX, FULL), &mut Ignore);
    port
}

fn at(rate: u64) -> Line {
    Line::from(Serializer::new(Rate(rate)))
}

fn bql(coalesce: Span) -> RingSpec {
    RingSpec { entries: 8192, bql: true, coalesce }
}

/// Packets in one report.
fn packets_in_report(rate: u64, coalesce: Span) -> u64 {
    coalesce.0 / (u64::from(FULL) * 8 * SECOND / rate) + 1
}

/// The history of the limit.
struct Course {
    /// Every new limit and when it was set.
    limits: Vec<(Nanos, u32)>,
    /// Number of reports until the limit was first at least the one given to [`course`].
    reports: u32,
    /// The longest time from the queue to the end on the line, after the first tenth of a second.
    longest: Span,
}

/// Runs `port` until `end` and looks at its limit at every event.
fn course(port: &mut Port<Header, Greedy>, end: Nanos, needed: u32) -> Course {
    let mut seen = Course { limits: Vec::new(), reports: 0, longest: Span::ZERO };
    let (mut limit, mut completed) = (0, 0);
    while let Some(now) = port.next_wake().filter(|&now| now <= end) {
        while let Some(departure) = port.poll(now, &mut Ignore) {
            if now > Nanos(SECOND / 10) {
                seen.longest = seen.longest.max(departure.at.since(Nanos(departure.packet.cookie)));
            }
        }
        let Some(state) = port.dql().map(|dql| *dql.state()) else { continue };
        if state.num_completed != completed && limit < needed {
            seen.reports += 1;
        }
        if state.limit != limit {
            seen.limits.push((now, state.limit));
        }
        (limit, completed) = (state.limit, state.num_completed);
    }
    seen
}

#[test]
fn the_limit_converges_to_twice_the_bytes_of_a_report() {
    let rates = [1, 10, 100, 1_000, 10_000].map(|mbit| mbit * 1_000_000);
    for rate in rates {
        for micros in [0, 50, 125, 320, 500] {
            let coalesce = Span::from_micros(micros);
            let bytes = u32::try_from(packets_in_report(rate, coalesce)).unwrap() * FULL;
            let mut port = greedy(at(rate), bql(coalesce));
            let limits = course(&mut port, Nanos(SECOND * 9 / 10), 0).limits;
            assert_eq!(limits.last().map(|&(_, limit)| limit), Some(2 * bytes), "{rate} {micros} us");
        }
    }
}

#[test]
fn late_reports_need_2_packets_at_10_mbit_and_40_to_128_kb_at_1_gbit() {
    let limit = |rate, micros| {
        let mut port = greedy(at(rate), bql(Span::from_micros(micros)));
        course(&mut port, Nanos(SECOND / 2), 0);
        port.dql().unwrap().state().limit
    };
    // 10 Mbit/s: 2 packets, whatever the device does within the 1.2 ms of one.
    assert_eq!([0, 50, 320, 1000].map(|micros| limit(10_000_000, micros)), [3028; 4]);
    // 1 Gbit/s: 14 to 42 packets per report, of 158 to 504 us.
    assert!(
        [158, 320, 504].map(|micros| limit(SECOND, micros)).iter().all(|l| (40_000..128_001).contains(l))
    );
    // Without coalescing it is 2 packets there as well.
    assert_eq!(limit(SECOND, 0), 3028);
}

#[test]
fn the_limit_goes_from_a_packet_at_1_mbit_to_thousands_at_50_gbit() {
    // Reports after 320 us: of one packet up to 37 Mbit/s, of 1322 at 50 Gbit/s (242.24 ns each).
    let packets = [1_000_000, 10 * SECOND, 50 * SECOND].map(|rate| {
        let mut port = greedy(at(rate), bql(Span::from_micros(320)));
        course(&mut port, Nanos(SECOND / 10), 0);
        port.dql().unwrap().state().limit / FULL
    });
    assert_eq!(packets, [2, 530, 2644]);
}

#[test]
fn a_starved_limit_doubles_at_each_report_until_the_line_is_busy() {
    for (rate, micros) in
        [(100_000_000, 320), (SECOND, 50), (SECOND, 500), (10 * SECOND, 320), (50 * SECOND, 320)]
    {
        let coalesce = Span::from_micros(micros);
        let needed = u32::try_from(packets_in_report(rate, coalesce)).unwrap() * FULL;
        let mut port = greedy(at(rate), bql(coalesce));
        let seen = course(&mut port, Nanos(SECOND / 20), needed);
        let first = seen.limits[0].1;
        assert_eq!(first, FULL, "one packet was in flight at the first report");
        // ceil(log2(needed / first)) doublings, and the report that gave the first limit.
        let doublings = needed.div_ceil(first).next_power_of_two().ilog2();
        assert!(seen.reports <= doublings + 1, "{rate} {micros} us: {} reports, {doublings}", seen.reports);
        let idle = port.stats().idle_backlogged;
        course(&mut port, Nanos(SECOND / 2), 0);
        assert_eq!(port.stats().idle_backlogged, idle, "and then the line is never idle again");
    }
}

#[test]
fn a_limit_that_is_too_large_falls_no_more_often_than_once_in_a_hold_time() {
    // 1 Gbit/s for 2 s, then 100 Mbit/s: reports of 42 packets, then of 5 (121.12 us each).
    let steps = vec![(Span::ZERO, Rate(SECOND)), (Span::from_secs(2), Rate(100_000_000))];
    let mut port = greedy(Line::Schedule(Schedule::held(steps).unwrap()), bql(Span::from_micros(500)));
    let limits = course(&mut port, Nanos(8 * SECOND), 0).limits;
    let falls: Vec<_> =
        limits.windows(2).filter(|pair| pair[1].1 < pair[0].1).map(|pair| pair[1].0).collect();
    assert!(falls.len() >= 6, "{limits:?}");
    assert!(falls.windows(2).all(|pair| pair[1].since(pair[0]) > Span::from_secs(1)), "{falls:?}");
    let limit_at = |now| limits.iter().rev().find(|&&(at, _)| at <= now).map(|&(_, limit)| limit / FULL);
    assert_eq!(limit_at(Nanos(2 * SECOND)), Some(84));
    // The least slack of a hold time counts, so the hold time in which the rate fell leaves the limit as it
    // was.
    let fallen = falls.iter().find(|&&at| limit_at(at).is_some_and(|packets| packets < 80)).unwrap();
    assert!(fallen.since(Nanos(2 * SECOND)) <= Span(2 * SECOND + SECOND / 100), "{fallen:?}");
    assert!(limit_at(Nanos(8 * SECOND)).is_some_and(|packets| (9..=10).contains(&packets)), "{limits:?}");
}

#[test]
fn a_full_ring_delays_by_its_length_and_bql_by_what_the_device_needs() {
    // 512 * 1514 bytes: 620 ms at 10 Mbit/s, 62 ms at 100 Mbit/s, 6.2 ms at 1 Gbit/s, 0.62 ms at 10 Gbit/s.
    let full =
        [(10_000_000, 620_134_400), (100_000_000, 62_013_440), (SECOND, 6_201_344), (10 * SECOND, 620_134)];
    let coalesce = Span::from_micros(50);
    // Limits of 2, 2, 10 and 84 packets; one more may go over the limit.
    let limits = [2, 2, 10, 84];
    for ((rate, full), limit) in full.into_iter().zip(limits) {
        let time = u64::from(FULL) * 8 * SECOND / rate;
        let longest = |bql| {
            let mut port = greedy(at(rate), RingSpec { entries: 512, bql, coalesce });
            let seen = course(&mut port, Nanos(2 * SECOND), 0);
            (seen.longest.0, port.stats().busy.0)
        };
        let (off, busy_off) = longest(false);
        assert!(off <= full + 1 && off > full - 2 * time, "{rate}: {off} ns without");
        let (on, busy_on) = longest(true);
        assert!(on <= (limit + 1) * time + 1 && on > limit * time / 2, "{rate}: {on} ns with");
        // It costs the line only the time of learning, under a millisecond.
        assert!(busy_off - busy_on < 1_000_000 + time, "{rate}: {busy_off} {busy_on}");
    }
}

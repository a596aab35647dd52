//! Lines with changing rates and traces, against naive models.

use goodqueue::port::{Schedule, ScheduleError, Trace};
use goodqueue::{Ignore, Line, Nanos, Port, Rate, Span};
use proptest::prelude::*;

use super::support::{FULL, drain, fifo, packet};

/// Walks nanosecond by nanosecond: in each one, the current rate does `rate` of the work owed, counted in
/// bits times 10^-9. Returns the end, rounded down, and the work owed then.
fn integrate(steps: &[(u64, u64)], period: Option<u64>, mut now: u64, mut owed: u128) -> (u64, u128) {
    while owed > 0 {
        let within = period.map_or(now, |period| now % period);
        let rate = steps.iter().rev().find(|&&(from, _)| from <= within).map_or(0, |&(_, rate)| rate);
        if u128::from(rate) > owed {
            break;
        }
        owed -= u128::from(rate);
        now += 1;
    }
    (now, owed)
}

fn schedule(steps: &[(u64, u64)], period: Option<u64>) -> Result<Schedule, ScheduleError> {
    let steps = steps.iter().map(|&(from, rate)| (Span(from), Rate(rate))).collect();
    match period {
        Some(period) => Schedule::cyclic(steps, Span(period)),
        None => Schedule::held(steps),
    }
}

/// Up to 7 steps, each with its start in ns and its rate, and the period if they repeat.
fn steps() -> impl Strategy<Value = (Vec<(u64, u64)>, Option<u64>)> {
    let rate = prop_oneof![2 => Just(0), 5 => 1_000_000_000_u64..400_000_000_001, 1 => Just(8_000_000_000)];
    let list = prop::collection::vec((1_u64..3000, rate), 1..8);
    (list, 1_000_000_000_u64..400_000_000_000, any::<bool>()).prop_map(|(list, sure, repeats)| {
        let mut from = 0;
        let mut steps: Vec<_> = list.iter().map(|&(length, rate)| (from, (from += length, rate).1)).collect();
        // The last step has a rate above zero, so that every packet ends.
        steps.last_mut().expect("at least one step").1 = sure;
        (steps, repeats.then_some(from))
    })
}

proptest! {
    #[test]
    fn a_schedule_integrates_bits_as_one_nanosecond_after_the_other_does(
        (steps, period) in steps(),
        packets in prop::collection::vec((prop_oneof![3 => Just(0), 1 => 1_u64..9000], 0_u32..1600), 1..30),
    ) {
        let mut line = Line::Schedule(schedule(&steps, period).expect("a schedule"));
        let (mut now, mut carried) = (0, 0);
        for (gap, bytes) in packets {
            // During a gap, the fraction of a nanosecond that the last packet was short of has passed.
            let (start, owed) = if gap == 0 { (now, carried) } else { (now + gap, 0) };
            let work = u128::from(bytes) * 8_000_000_000 + owed;
            (now, carried) = integrate(&steps, period, start, work);
            prop_assert_eq!(line.begin(Nanos(start), bytes), Nanos(now));
        }
    }

    #[test]
    fn a_trace_delivers_as_a_walk_over_its_opportunities_does(
        gaps in prop::collection::vec(prop_oneof![3 => Just(0), 2 => 1_u64..4, 1 => 4_u64..60], 1..12),
        packets in prop::collection::vec(
            (prop_oneof![2 => Just(0), 1 => 1_u64..90_000_000], prop_oneof![14_u32..1515, 1515_u32..70_000]),
            1..60,
        ),
    ) {
        let mut stamps: Vec<u64> = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) }).collect();
        if stamps.last() == Some(&0) {
            stamps.push(1);
        }
        let text: String = stamps.iter().map(|stamp| format!("{stamp}\n")).collect();
        let mut line = Line::from_mahimahi(&text).expect("a trace");
        let period = stamps[stamps.len() - 1];
        let mut times = (0..).flat_map(|cycle| stamps.iter().map(move |stamp| (cycle * period + stamp) * 1_000_000));
        let (mut opportunity, mut left, mut now) = (times.next().expect("endless"), 1504_u32, 0);
        for (gap, bytes) in packets {
            now += gap;
            let mut rest = bytes - 10;
            let end = loop {
                if opportunity < now || left == 0 {
                    (opportunity, left) = (times.next().expect("endless"), 1504);
                    continue;
                }
                let used = rest.min(left);
                (rest, left) = (rest - used, left - used);
                if rest == 0 {
                    break opportunity;
                }
            };
            prop_assert_eq!(line.begin(Nanos(now), bytes), Nanos(end));
            now = end;
        }
    }

    #[test]
    fn what_goes_into_a_port_comes_out_once_in_order_and_at_opportunities(
        arrivals in prop::collection::vec((0_u64..5_000_000, 14_u32..3000), 1..120),
    ) {
        let mut port = Port::new(fifo(200), None, Line::from_mahimahi("2\n2\n3\n7\n").expect("a trace"));
        let (mut now, mut out) = (Nanos::ZERO, Vec::new());
        for (cookie, &(gap, bytes)) in arrivals.iter().enumerate() {
            now += Span(gap);
            out.extend(drain(&mut port, now));
            port.arrive(now, packet(cookie as u64, bytes), &mut Ignore);
        }
        while let Some(at) = port.next_wake() {
            out.extend(drain(&mut port, at));
        }
        let cookies: Vec<u64> = out.iter().map(|departure| departure.packet.cookie).collect();
        prop_assert!(cookies.iter().copied().eq(0..arrivals.len() as u64));
        prop_assert_eq!(port.stats().bytes, arrivals.iter().map(|&(_, bytes)| u64::from(bytes)).sum::<u64>());
        prop_assert!(out.is_sorted_by_key(|departure| departure.at));
        for departure in &out {
            let millis = departure.at.0 / 1_000_000;
            prop_assert!(departure.at.0 % 1_000_000 == 0 && matches!(millis % 7, 0 | 2 | 3));
        }
        // Two opportunities at 2 ms, one at each other time; a packet may have begun at an earlier one.
        for group in out.chunk_by(|a, b| a.at == b.at) {
            let rest: u32 = group.iter().skip(1).map(|departure| departure.packet.len - 10).sum();
            let opportunities = if group[0].at.0 / 1_000_000 % 7 == 2 { 2 } else { 1 };
            prop_assert!(rest <= opportunities * 1504);
        }
    }
}

#[test]
fn a_million_packets_over_a_schedule_end_to_the_nanosecond() {
    // 10 ms at 7 Mbit/s, 7 ms at 3 Mbit/s, 1 ms of standstill: 91 000 bits in 18 ms. 10^6 * 1514 * 8 bits are
    // 133 098 periods and 82 000 bits: 10 ms for 70 000 of them, 4 ms for 12 000.
    let steps = [(0, 7_000_000), (10_000_000, 3_000_000), (17_000_000, 0)];
    let line = Line::Schedule(schedule(&steps, Some(18_000_000)).unwrap());
    let expected = Nanos(133_098 * 18_000_000 + 14_000_000);
    let mut one_by_one = line.clone();
    let end = (0..1_000_000).fold(Nanos::ZERO, |now, _| one_by_one.begin(now, FULL));
    assert_eq!(end, expected);
    assert_eq!(line.clone().begin(Nanos::ZERO, FULL * 1_000_000), expected, "all bytes at once");
}

#[test]
fn a_million_packets_over_a_trace_use_each_opportunity() {
    // Four opportunities in 7 ms, one packet of 1514 bytes each.
    let mut line = Line::from_mahimahi("1\n1\n3\n7\n").unwrap();
    let end = (0..1_000_000).fold(Nanos::ZERO, |now, _| line.begin(now, FULL));
    assert_eq!(end, Nanos(250_000 * 7_000_000));
}

#[test]
fn a_packet_that_ends_with_a_period_does_not_wait_for_the_next_one() {
    // 91 000 bits are 11 375 bytes; the last of them leaves at 17 ms of the period's 18.
    let steps = [(0, 7_000_000), (10_000_000, 3_000_000), (17_000_000, 0)];
    let mut line = Line::Schedule(schedule(&steps, Some(18_000_000)).unwrap());
    assert_eq!(line.begin(Nanos::ZERO, 3 * 11_375), Nanos(2 * 18_000_000 + 17_000_000));
    assert_eq!(line.begin(Nanos(71_500_000), 0), Nanos(71_500_000), "zero bytes take no time");
}

#[test]
fn a_packet_spans_changes_of_the_rate() {
    // 1000 bytes: half of them in 1 ms at 4 Mbit/s, then 2 ms of standstill, then the rest at 8 Mbit/s.
    let steps = [(0, 4_000_000), (1_000_000, 0), (3_000_000, 8_000_000)];
    let mut line = Line::Schedule(schedule(&steps, None).unwrap());
    assert_eq!(line.begin(Nanos::ZERO, 1000), Nanos(3_500_000));
    // The last rate continues to apply.
    assert_eq!(line.begin(Nanos(9_000_000_000), 1000), Nanos(9_001_000_000));
    // The first half ends where the standstill begins.
    let mut line = Line::Schedule(schedule(&steps, None).unwrap());
    assert_eq!(line.begin(Nanos::ZERO, 500), Nanos(1_000_000));
}

#[test]
fn a_port_on_a_line_that_stops_for_ever_has_no_next_event() {
    let steps = [(0, 8_000_000), (1_500_000, 0)];
    let mut port = Port::new(fifo(8), None, Line::Schedule(schedule(&steps, None).unwrap()));
    for cookie in 0..3 {
        port.arrive(Nanos(0), packet(cookie, 1000), &mut Ignore);
    }
    assert_eq!(drain(&mut port, Nanos(u64::MAX)).len(), 1);
    assert_eq!(port.next_wake(), None);
    assert_eq!((port.backlog().packets, port.ring_backlog().packets), (1, 1), "nothing is lost");
}

#[test]
fn origins_shift_schedules_and_traces() {
    let start = Nanos(5_000_000);
    let mut line = Line::Schedule(schedule(&[(0, 8_000_000)], None).unwrap().starting_at(start));
    assert_eq!(line.begin(Nanos(1), 1000), Nanos(6_000_000));
    let mut line = Line::Trace(Trace::from_mahimahi("2\n").unwrap().starting_at(start));
    assert_eq!(line.begin(Nanos(1), FULL), Nanos(7_000_000));
    assert_eq!(line.begin(Nanos(7_000_000), FULL), Nanos(9_000_000));
}

#[test]
fn lists_that_are_not_a_schedule_are_errors() {
    let error = |steps: &[(u64, u64)], period| schedule(steps, period).err();
    assert_eq!(error(&[], None), Some(ScheduleError::Empty));
    assert_eq!(error(&[(1, 8)], None), Some(ScheduleError::LateStart));
    assert_eq!(error(&[(0, 8), (5, 9), (5, 7)], None), Some(ScheduleError::NotAscending { step: 2 }));
    assert_eq!(error(&[(0, 8), (5, 9)], Some(5)), Some(ScheduleError::ShortPeriod));
    assert_eq!(error(&[(0, 0), (5, 0)], Some(9)), Some(ScheduleError::Standstill));
}

#[test]
fn absurd_rates_and_times_saturate() {
    for (rate, period) in [(1, None), (1, Some(1)), (u64::MAX, None), (u64::MAX, Some(u64::MAX))] {
        let mut line = Line::Schedule(schedule(&[(0, rate)], period).unwrap());
        for now in [0, 1, u64::MAX / 2, u64::MAX - 1, u64::MAX] {
            let end = line.begin(Nanos(now), u32::MAX);
            assert!(end >= Nanos(now), "{rate} {period:?} {now}");
        }
    }
    // One bit in 292 years, then in the next period.
    let steps = [(0, 0), (u64::MAX / 2, 1)];
    let mut line = Line::Schedule(schedule(&steps, Some(u64::MAX / 2 + 1_000_000_000)).unwrap());
    assert_eq!(line.begin(Nanos(0), 1), Nanos(u64::MAX));
}

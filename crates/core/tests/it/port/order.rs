//! The order of events at the same time, completions, and that only arrivals matter, not when the owner
//! wakes.

use goodqueue::{
    Departure, Header, Ignore, Inspect, Line, MultiPort, Nanos, Port, Queue, RingSpec, Rng, Span, Verdict,
};
use proptest::prelude::*;

use super::support::{Held, drain, fifo, hash_for, line, packet};

/// The time of one packet of 1000 bytes at 8 Mbit/s.
const MILLI: u64 = 1_000_000;

fn ring(entries: u32, coalesce: u64) -> Option<RingSpec> {
    Some(RingSpec { entries, bql: false, coalesce: Span(coalesce) })
}

/// Ends and completions in ms of `count` packets that arrive at 0.
fn completions(ring: Option<RingSpec>, count: u64) -> Vec<(u64, u64)> {
    let mut port = Port::new(fifo(64), ring, line("8mbit"));
    for cookie in 0..count {
        port.arrive(Nanos(0), packet(cookie, 1000), &mut Ignore);
    }
    let mut seen = Vec::new();
    while let Some(now) = port.next_wake() {
        for departure in drain(&mut port, now) {
            seen.push((departure.at.0 / MILLI, departure.completed_at.0 / MILLI));
            if departure.completed_at > now {
                assert!(port.next_wake().is_some_and(|wake| wake <= departure.completed_at));
            }
        }
    }
    seen
}

#[test]
fn a_departure_knows_when_its_descriptor_is_reported() {
    let at_once = [(1, 1), (2, 2), (3, 3)];
    assert_eq!(completions(None, 3), at_once);
    assert_eq!(completions(ring(8, 0), 3), at_once);
    // A report comes 2 ms after the first end since the last report; it includes an end at exactly that time.
    let coalesced = [(1, 3), (2, 3), (3, 3), (4, 6), (5, 6), (6, 6), (7, 9)];
    assert_eq!(completions(ring(8, 2 * MILLI), 7), coalesced);
    // With two descriptors the line waits for the report before it goes on.
    assert_eq!(completions(ring(2, 2 * MILLI), 4), [(1, 3), (2, 3), (4, 6), (5, 6)]);
}

#[test]
fn a_line_that_ends_at_the_time_of_an_arrival_has_made_room_for_it() {
    let mut port = Port::new(fifo(1), None, line("8mbit"));
    for cookie in 0..2 {
        assert_eq!(port.arrive(Nanos(0), packet(cookie, 1000), &mut Ignore), Verdict::Enqueued);
    }
    assert!(drain(&mut port, Nanos(MILLI - 1)).is_empty());
    assert_ne!(port.arrive(Nanos(MILLI - 1), packet(2, 1000), &mut Ignore), Verdict::Enqueued);
    assert_eq!(drain(&mut port, Nanos(MILLI)).len(), 1);
    assert_eq!(port.arrive(Nanos(MILLI), packet(3, 1000), &mut Ignore), Verdict::Enqueued);
}

#[test]
fn a_pause_is_not_counted_as_idle() {
    // Held back until 5 ms, paused from 2 to 4 ms.
    let mut port = Port::new(Held::until(5 * MILLI), None, line("8mbit"));
    port.arrive(Nanos(0), packet(0, 1000), &mut Ignore);
    port.pause(Nanos(2 * MILLI));
    port.resume(Nanos(4 * MILLI), &mut Ignore);
    assert_eq!(drain(&mut port, Nanos(9 * MILLI))[0].at, Nanos(6 * MILLI));
    assert_eq!((port.stats().idle_backlogged, port.stats().paused), (Span(3 * MILLI), Span(2 * MILLI)));
}

#[test]
fn a_queue_that_holds_packets_back_is_polled_once_at_its_time() {
    for ring in [None, ring(4, 0)] {
        let mut port = Port::new(Held::until(5 * MILLI), ring, line("8mbit"));
        port.arrive(Nanos(0), packet(0, 1000), &mut Ignore);
        assert_eq!((port.next_wake(), port.queue().stats().overlimits), (Some(Nanos(5 * MILLI)), 1));
        assert!(drain(&mut port, Nanos(5 * MILLI)).is_empty());
        assert_eq!(port.next_wake(), Some(Nanos(6 * MILLI)));
        assert_eq!(port.stats().idle_backlogged, Span(5 * MILLI));
        assert_eq!(drain(&mut port, Nanos(6 * MILLI)).len(), 1);
    }
}

#[test]
fn the_line_and_a_report_go_before_a_retry_at_the_same_time() {
    // The first packet is reported at 5 ms, when the queue releases the second: it ends at 1 ms and is
    // reported 4 ms later, or it ends at 5 ms.
    for (len, coalesce) in [(1000, 4 * MILLI), (5000, 0)] {
        let mut queue = Held::until(5 * MILLI);
        queue.free = 1;
        let mut port = Port::new(queue, ring(8, coalesce), line("8mbit"));
        for (cookie, len) in [(0, len), (1, 1000)] {
            port.arrive(Nanos(0), packet(cookie, len), &mut Ignore);
        }
        drain(&mut port, Nanos(5 * MILLI - 1));
        assert_eq!(port.next_wake(), Some(Nanos(5 * MILLI)));
        let before = port.queue().stats().overlimits;
        drain(&mut port, Nanos(5 * MILLI));
        // The line and the report ask for the packet, and then find that there is no other. A retry before
        // them would have made these two requests already, and theirs would be a third.
        assert_eq!(port.queue().stats().overlimits - before, 2, "{len}");
        assert!(port.next_wake().is_some());
    }
}

#[test]
fn of_queues_that_let_go_at_the_same_time_the_lowest_number_goes_first() {
    let spec = RingSpec { entries: 4, bql: false, coalesce: Span::ZERO };
    let queues = vec![Held::until(5 * MILLI), Held::until(0), Held::until(5 * MILLI)];
    let mut port = MultiPort::new(queues, spec, line("8mbit")).unwrap();
    for lane in [2, 1, 0] {
        let flow_hash = hash_for(&port, lane);
        port.arrive(Nanos(0), Header { flow_hash, ..packet(lane as u64, 1000) }, &mut Ignore);
    }
    let left: Vec<_> = std::iter::from_fn(|| port.poll(Nanos(9 * MILLI), &mut Ignore)).collect();
    // After lane 1 it would be lane 2's turn.
    let order: Vec<_> = left.iter().map(|d| (d.at.0 / MILLI, d.packet.cookie)).collect();
    assert_eq!(order, [(1, 1), (6, 0), (7, 2)]);
}

/// How an owner may drive a port between two arrivals.
#[derive(Clone, Copy, Debug)]
enum Owner {
    /// Wakes at each event.
    Exact,
    /// Wakes only to hand in the next packet.
    Late,
}

/// Runs `arrivals` through `port` and returns all departures.
fn departures(
    mut port: Port<Header, impl Queue<Header>>,
    arrivals: &[(u64, u32)],
    owner: Owner,
) -> Vec<Departure<Header>> {
    let mut out = Vec::new();
    let mut now = Nanos(1);
    for (cookie, &(gap, len)) in arrivals.iter().enumerate() {
        now += Span(gap);
        while let (Owner::Exact, Some(wake)) = (owner, port.next_wake().filter(|&wake| wake < now)) {
            out.extend(drain(&mut port, wake));
        }
        out.extend(drain(&mut port, now));
        port.arrive(now, packet(cookie as u64, len), &mut Ignore);
    }
    out.extend(drain(&mut port, Nanos(u64::MAX)));
    out
}

proptest! {
    #[test]
    fn departures_depend_on_arrivals_alone(
        seed in any::<u64>(),
        ring in prop::option::of((1_u32..12, any::<bool>(), prop_oneof![Just(0), 1_u64..4_000_000])),
        kind in 0_u8..4,
    ) {
        let ring = ring.map(|(entries, bql, coalesce)| RingSpec { entries, bql, coalesce: Span(coalesce) });
        let mut rng = Rng::new(seed);
        let mut below = |most: u64| rng.next_u64() % most;
        let arrivals: Vec<_> = (0..150).map(|_| {
            let gap = if below(3) == 0 { 0 } else { below(3_000_000) };
            (gap, 60 + u32::try_from(below(1455)).expect("small"))
        }).collect();
        let made = || {
            let line = match kind {
                0 => Line::Unlimited,
                1 => line("8mbit"),
                2 => Line::from_mahimahi("1\n2\n2\n5\n").expect("a trace"),
                _ => Line::Schedule(goodqueue::port::Schedule::cyclic(
                    vec![(Span::ZERO, "20mbit".parse().expect("a rate")), (Span(MILLI), "1mbit".parse().expect("a rate"))],
                    Span(3 * MILLI),
                ).expect("a schedule")),
            };
            Port::new(fifo(20), ring, line)
        };
        let exact = departures(made(), &arrivals, Owner::Exact);
        prop_assert_eq!(&exact, &departures(made(), &arrivals, Owner::Exact), "the same again");
        prop_assert_eq!(&exact, &departures(made(), &arrivals, Owner::Late), "an owner that wakes late");
        prop_assert!(exact.is_sorted_by_key(|departure| departure.at));
        prop_assert!(exact.is_sorted_by_key(|departure| departure.completed_at));
        prop_assert!(exact.windows(2).all(|pair| pair[0].at <= pair[1].started), "one packet at a time");
    }
}

//! The port: exact rate, logical time, and what a device ring does to a queue behind it.
use goodqueue::arena::Slot;
use goodqueue::fq_codel::{Flow, Params};
use goodqueue::{
    Backlog, Bytes, Configurable, Departure, FqCodel, Header, Ignore, Line, Link, Nanos, Port, Queue, Rate,
    RingSpec, Serializer, Span,
};

use super::support::{drain, fifo, line, packet};

fn fq_codel() -> FqCodel<Header> {
    let parts = (vec![Flow::default(); 1024], vec![Slot::default(); 10_240]);
    FqCodel::new(Nanos(0), Params::default(), Link::ethernet(Rate(10_000_000)), parts).unwrap()
}

#[test]
fn the_line_is_exact_over_100000_packets_however_late_the_owner_wakes() {
    const PACKETS: u64 = 100_000;
    // 7 Mbit/s: 1514 B take 1 730 285.71.. ns, so every packet leaves a fraction over.
    let rate: Rate = "7mbit".parse().unwrap();
    let mut port = Port::new(fifo(64), None, Line::from(Serializer::new(rate)));
    let (mut now, mut given, mut left, mut last) = (Nanos(1_000), 0, 0, Nanos::ZERO);
    while left < PACKETS {
        for departure in drain(&mut port, now) {
            assert_eq!(departure.packet.cookie, left, "order is kept");
            assert!(departure.at <= now && departure.at >= last);
            last = departure.at;
            left += 1;
        }
        while given < PACKETS && port.backlog().packets < 50 {
            port.arrive(now, packet(given, 1514), &mut Ignore);
            given += 1;
        }
        // The owner wakes up to 40 ms late, in steps that are unrelated to the packets.
        now += Span(1_000_000 + (left * 7_919_993) % 40_000_000);
    }
    // The first packet began at 1000 ns and the line never stopped.
    assert_eq!(last, Nanos(1_000) + rate.tx_time(Bytes(1514 * PACKETS)));
    let stats = port.stats();
    assert_eq!((stats.packets, stats.bytes), (PACKETS, 1514 * PACKETS));
    assert_eq!(stats.busy, rate.tx_time(Bytes(1514 * PACKETS)));
    assert_eq!((stats.idle_backlogged, stats.busy_periods, stats.clock_backward), (Span::ZERO, 1, 0));
    assert_eq!(port.next_wake(), None);
}

#[test]
fn an_idle_line_begins_at_the_arrival_and_says_when_it_ends() {
    let mut port = Port::new(fifo(8), None, line("8mbit"));
    assert_eq!(port.next_wake(), None);
    port.arrive(Nanos(500), packet(0, 1000), &mut Ignore);
    assert_eq!(port.next_wake(), Some(Nanos(1_000_500)));
    assert_eq!(port.backlog().packets, 0, "the first packet is on the line at once");
    assert_eq!(port.ring_backlog(), Backlog { packets: 1, bytes: 1000 });
    assert_eq!(drain(&mut port, Nanos(1_000_499)), []);
    let left = drain(&mut port, Nanos(5_000_000));
    let at = Nanos(1_000_500);
    assert_eq!(left, [Departure { at, started: Nanos(500), completed_at: at, packet: packet(0, 1000) }]);
    // The line was idle in between: the next packet begins when it arrives, not when the line became free.
    port.arrive(Nanos(9_000_000), packet(1, 1000), &mut Ignore);
    assert_eq!(port.next_wake(), Some(Nanos(10_000_000)));
}

#[test]
fn a_line_without_a_rate_takes_no_time() {
    let mut port = Port::new(fifo(8), None, Line::Unlimited);
    for cookie in 0..3 {
        port.arrive(Nanos(7), packet(cookie, 1514), &mut Ignore);
    }
    let left: Vec<_> = drain(&mut port, Nanos(7)).iter().map(|d| (d.packet.cookie, d.at.0)).collect();
    assert_eq!(left, [(0, 7), (1, 7), (2, 7)]);
}

#[test]
fn a_clock_that_goes_backward_is_counted_and_does_no_harm() {
    let mut port = Port::new(fifo(8), None, line("8mbit"));
    port.arrive(Nanos(2_000_000), packet(0, 1000), &mut Ignore);
    port.arrive(Nanos(1_000_000), packet(1, 1000), &mut Ignore);
    assert_eq!(port.stats().clock_backward, 1);
    let ends: Vec<_> = drain(&mut port, Nanos(9_000_000)).iter().map(|d| d.at.0).collect();
    assert_eq!(ends, [3_000_000, 4_000_000]);
}

/// Keeps `queue` over a ring full for `millis` ms at 100 Mbit/s and returns the largest ring backlog during
/// the second half, in packets.
fn ring_level<Q: Queue<Header>>(queue: Q, ring: RingSpec, millis: u64) -> (u32, Port<Header, Q>) {
    let mut port = Port::new(queue, Some(ring), line("100mbit"));
    let (mut cookie, mut level) = (0, 0);
    for step in 0..millis * 10 {
        let now = Nanos(step * 100_000);
        drain(&mut port, now);
        for _ in 0..2 {
            port.arrive(now, packet(cookie, 1514), &mut Ignore);
            cookie += 1;
        }
        if step >= millis * 5 {
            level = level.max(port.ring_backlog().packets);
        }
    }
    (level, port)
}

#[test]
fn a_deep_ring_holds_the_packets_that_the_queue_should_hold() {
    let ring = RingSpec { entries: 1000, bql: false, coalesce: Span::ZERO };
    let (level, port) = ring_level(fifo(10_000), ring, 1_000);
    assert_eq!(level, 1000);
    assert_eq!(port.stats().idle_backlogged, Span::ZERO);
    assert_eq!(port.stats().busy_periods, 1);
}

#[test]
fn coalesced_reports_hold_descriptors_and_starve_a_short_ring() {
    let ring = RingSpec { entries: 4, bql: false, coalesce: Span::from_millis(1) };
    let (level, port) = ring_level(fifo(100), ring, 100);
    assert_eq!(level, 4);
    // Four packets (0.484 ms) per report, which comes 1 ms after the first of them has ended.
    assert!(port.stats().idle_backlogged > Span::from_millis(40), "{:?}", port.stats());
}

#[test]
fn bql_keeps_the_ring_short_and_the_line_busy() {
    let ring = RingSpec { entries: 1000, bql: true, coalesce: Span::ZERO };
    let (level, port) = ring_level(fifo(10_000), ring, 1_000);
    assert!(level <= 4, "{level} packets in the ring");
    // BQL learns by starving: at most a few packets' worth of idle time, all of it at the start.
    assert!(port.stats().idle_backlogged <= Span::from_millis(1), "{:?}", port.stats());
    assert!(port.dql().is_some_and(|dql| dql.state().limit > 0));
}

#[test]
fn fq_codel_has_no_effect_over_a_deep_ring_and_has_one_over_bql() {
    let deep = RingSpec { entries: 1000, bql: false, coalesce: Span::ZERO };
    let (level, _) = ring_level(fq_codel(), deep, 2_000);
    assert_eq!(level, 1000, "121 ms of packets wait in the ring, behind the queue's back");
    let (level, _) = ring_level(fq_codel(), RingSpec { bql: true, ..deep }, 2_000);
    assert!(level <= 4, "{level} packets in the ring");
}

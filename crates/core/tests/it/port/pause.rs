//! Hardware flow control: IEEE 802.3 annex 31B as the port implements it.

use goodqueue::{FlowControl, Ignore, Line, MultiPort, Nanos, Port, RingSpec, Span, Watermarks};
use proptest::prelude::*;

use super::support::{drain, fifo, hash_for, line, packet};

/// The time of one packet of 1000 bytes at 8 Mbit/s.
const MILLI: u64 = 1_000_000;

#[test]
fn the_packet_on_the_line_ends_and_no_other_begins() {
    let mut port = Port::new(fifo(8), None, line("8mbit"));
    for cookie in 0..3 {
        port.arrive(Nanos(0), packet(cookie, 1000), &mut Ignore);
    }
    port.pause(Nanos(MILLI / 2));
    let ends: Vec<_> = drain(&mut port, Nanos(10 * MILLI)).iter().map(|departure| departure.at.0).collect();
    assert_eq!(ends, [MILLI]);
    assert_eq!((port.backlog().packets, port.next_wake()), (2, None), "the queue was not asked");
    port.pause(Nanos(11 * MILLI));
    port.resume(Nanos(20 * MILLI), &mut Ignore);
    port.resume(Nanos(20 * MILLI), &mut Ignore);
    let begun: Vec<_> =
        drain(&mut port, Nanos(30 * MILLI)).iter().map(|departure| departure.started.0).collect();
    assert_eq!(begun, [20 * MILLI, 21 * MILLI]);
    let stats = port.stats();
    assert_eq!(stats.paused, Span(20 * MILLI - MILLI / 2), "from the first pause to the first resume");
    assert_eq!((stats.idle_backlogged, stats.busy, stats.busy_periods), (Span::ZERO, Span(3 * MILLI), 2));
}

#[test]
fn a_pause_that_lasts_counts_up_to_the_latest_call() {
    let mut port = Port::new(fifo(8), None, line("8mbit"));
    port.pause(Nanos(5));
    assert_eq!((port.is_paused(), port.stats().paused), (true, Span::ZERO));
    port.arrive(Nanos(25), packet(0, 1000), &mut Ignore);
    assert_eq!((port.stats().paused, port.next_wake()), (Span(20), None));
    port.resume(Nanos(35), &mut Ignore);
    assert_eq!((port.stats().paused, port.next_wake()), (Span(30), Some(Nanos(35 + MILLI))));
    assert!(drain(&mut port, Nanos(2 * MILLI)).len() == 1 && !port.is_paused());
    assert_eq!(port.stats().paused, Span(30));
}

#[test]
fn queue_and_ring_go_on_filling_and_completions_come_during_a_pause() {
    let ring = RingSpec { entries: 4, bql: false, coalesce: Span(3 * MILLI) };
    let mut port = Port::new(fifo(8), Some(ring), line("8mbit"));
    port.arrive(Nanos(0), packet(0, 1000), &mut Ignore);
    port.pause(Nanos(MILLI / 2));
    for cookie in 1..9 {
        port.arrive(Nanos(MILLI / 2), packet(cookie, 1000), &mut Ignore);
    }
    let ended = drain(&mut port, Nanos(3 * MILLI));
    assert_eq!(ended.iter().map(|d| (d.at.0, d.completed_at.0)).collect::<Vec<_>>(), [(MILLI, 4 * MILLI)]);
    assert_eq!((port.ring_backlog().packets, port.backlog().packets), (3, 5), "one descriptor is unreported");
    assert_eq!(port.next_wake(), Some(Nanos(4 * MILLI)));
    assert!(drain(&mut port, Nanos(4 * MILLI)).is_empty());
    assert_eq!((port.ring_backlog().packets, port.backlog().packets), (4, 4), "it has come back");
}

#[test]
fn a_pause_holds_for_all_rings() {
    let ring = RingSpec { entries: 4, bql: false, coalesce: Span::ZERO };
    let mut port = MultiPort::new(vec![fifo(8), fifo(8)], ring, line("8mbit")).unwrap();
    for lane in [0, 1, 0, 1] {
        let flow_hash = hash_for(&port, lane);
        port.arrive(Nanos(0), goodqueue::Header { flow_hash, ..packet(lane as u64, 1000) }, &mut Ignore);
    }
    port.pause(Nanos(1));
    assert_eq!(port.poll(Nanos(9 * MILLI), &mut Ignore).map(|departure| departure.at), Some(Nanos(MILLI)));
    assert_eq!((port.poll(Nanos(9 * MILLI), &mut Ignore), port.next_wake()), (None, None));
    port.resume(Nanos(10 * MILLI));
    let rest: Vec<_> = std::iter::from_fn(|| port.poll(Nanos(20 * MILLI), &mut Ignore)).collect();
    assert_eq!(rest.iter().map(|d| d.packet.cookie).collect::<Vec<_>>(), [1, 0, 1]);
    assert_eq!((rest[0].started, port.stats().paused), (Nanos(10 * MILLI), Span(10 * MILLI - 1)));
}

#[test]
fn watermarks_hold_a_fast_line_to_the_rate_of_a_slow_one() {
    // A switch port at 100 Mbit/s behind a sender at 1 Gbit/s: flow control instead of loss.
    let mut fast = Port::new(fifo(2000), None, line("1gbit"));
    let mut slow = Port::new(fifo(2000), None, line("100mbit"));
    let mut marks = Watermarks::new(30_000, 15_000).unwrap();
    for cookie in 0..2000 {
        fast.arrive(Nanos(0), packet(cookie, 1514), &mut Ignore);
    }
    let (mut out, mut most) = (0, 0);
    while let Some(now) = [fast.next_wake(), slow.next_wake()].into_iter().flatten().min() {
        let come = drain(&mut fast, now);
        out += drain(&mut slow, now).len();
        for departure in come {
            slow.arrive(now, departure.packet, &mut Ignore);
        }
        match marks.update(slow.backlog().bytes) {
            Some(FlowControl::Pause) => fast.pause(now),
            Some(FlowControl::Resume) => fast.resume(now, &mut Ignore),
            None => {}
        }
        most = most.max(slow.backlog().bytes);
    }
    assert_eq!((out, marks.is_paused()), (2000, false));
    // The packet that crosses the mark, and the one that is on the line when the pause comes.
    assert!((30_000..30_000 + 2 * 1514).contains(&most), "{most}");
    // The slow line was never without a packet after the first had arrived.
    assert_eq!((slow.stats().busy_periods, slow.stats().busy), (1, Span(2000 * 121_120)));
    // The fast line was paused all the time except for its own packets and the last draining (15 000 bytes
    // and two packets).
    let expected = 2000 * (121_120 - 12_112_u64);
    let paused = fast.stats().paused.0;
    assert!(expected.abs_diff(paused) < 14 * 121_120, "{paused} instead of {expected}");
}

proptest! {
    #[test]
    fn nothing_begins_in_a_pause_and_nothing_is_lost(
        calls in prop::collection::vec((0_u64..3_000_000, 0_u8..6), 1..200),
        ring in prop::option::of((1_u32..8, any::<bool>(), 0_u64..4_000_000)),
    ) {
        let ring = ring.map(|(entries, bql, coalesce)| RingSpec { entries, bql, coalesce: Span(coalesce) });
        let mut port = Port::new(fifo(300), ring, line("8mbit"));
        let (mut now, mut given, mut out) = (Nanos(1), 0, Vec::new());
        // Pauses as (start, end), and the start of a current one.
        let (mut pauses, mut since) = (Vec::new(), None);
        for (gap, call) in calls {
            now += Span(gap);
            out.extend(drain(&mut port, now));
            match call {
                0 => {
                    port.pause(now);
                    since = since.or(Some(now));
                }
                1 => {
                    port.resume(now, &mut Ignore);
                    pauses.extend(since.take().map(|since| (since, now)));
                }
                _ => {
                    port.arrive(now, packet(given, 1000), &mut Ignore);
                    given += 1;
                }
            }
        }
        port.resume(now, &mut Ignore);
        pauses.extend(since.map(|since| (since, now)));
        while let Some(at) = port.next_wake() {
            out.extend(drain(&mut port, at));
        }
        prop_assert!(out.iter().map(|departure| departure.packet.cookie).eq(0..given));
        for departure in &out {
            prop_assert_eq!(departure.at, departure.started + Span(MILLI));
            // At the very start of a pause a packet may begin before it: what is due goes first.
            let inside = |&(start, end): &(Nanos, Nanos)| departure.started > start && departure.started < end;
            prop_assert!(!pauses.iter().any(inside));
        }
        let paused = pauses.iter().fold(Span::ZERO, |sum, &(start, end)| sum + end.since(start));
        prop_assert_eq!(port.stats().paused, paused);
        if ring.is_none() {
            prop_assert_eq!(port.stats().idle_backlogged, Span::ZERO);
        }
    }
}

#[test]
fn a_line_without_a_rate_can_be_paused() {
    let mut port = Port::new(fifo(8), None, Line::Unlimited);
    port.pause(Nanos(1));
    port.arrive(Nanos(2), packet(0, 1000), &mut Ignore);
    assert!(drain(&mut port, Nanos(3)).is_empty());
    port.resume(Nanos(4), &mut Ignore);
    assert_eq!(drain(&mut port, Nanos(4)).len(), 1);
}

//! Several rings on one line: turns, hashing, and the byte queue limits of several rings.

use goodqueue::{Header, Ignore, Line, MultiPort, Nanos, Queue, Rate, RingSpec, Rng, Serializer, Span};
use proptest::prelude::*;

use super::support::{FULL, Greedy, fifo, hash_for, packet};

const MILLI: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

fn poll_until<Q: Queue<Header>>(port: &mut MultiPort<Header, Q>, end: Nanos) -> Vec<(Nanos, Header)> {
    let mut out = Vec::new();
    while let Some(now) = port.next_wake().filter(|&now| now <= end) {
        while let Some(departure) = port.poll(now, &mut Ignore) {
            out.push((departure.at, departure.packet));
        }
    }
    out
}

#[test]
fn a_port_needs_a_queue() {
    let ring = RingSpec { entries: 4, bql: false, coalesce: Span::ZERO };
    assert!(MultiPort::new(Vec::<Greedy>::new(), ring, Line::Unlimited).is_none());
}

#[test]
fn rings_take_turns_packet_by_packet_whatever_their_size() {
    let ring = RingSpec { entries: 64, bql: false, coalesce: Span::ZERO };
    let line = Line::from(Serializer::new(Rate(8_000_000)));
    let mut port = MultiPort::new((0..3).map(|_| fifo(64)).collect(), ring, line).unwrap();
    let hashes = [0, 1, 2].map(|lane| hash_for(&port, lane));
    // Lane 0 has large packets, lane 1 small ones, lane 2 half as many.
    for (lane, len, count) in [(0, 1500, 4), (1, 100, 4), (2, 500, 2)] {
        for _ in 0..count {
            let arriving = Header { flow_hash: hashes[lane], ..packet(lane as u64, len) };
            port.arrive(Nanos(0), arriving, &mut Ignore);
        }
    }
    let lanes: Vec<_> =
        poll_until(&mut port, Nanos(SECOND)).iter().map(|(_, packet)| packet.cookie).collect();
    assert_eq!(lanes, [0, 1, 2, 0, 1, 2, 0, 1, 0, 1]);
}

#[test]
fn a_lanes_flows_use_all_buckets_of_its_fq_codel_and_the_lanes_are_even() {
    const FLOWS: usize = 80_000;
    let ring = RingSpec { entries: 4, bql: false, coalesce: Span::ZERO };
    let port = MultiPort::new((0..8).map(|_| Greedy::default()).collect(), ring, Line::Unlimited).unwrap();
    let mut rng = Rng::stream(1, 0, "flows");
    let mut lanes = [0_usize; 8];
    // The flows of lane 0, by the bucket of 1024 that fq_codel uses.
    let mut buckets = vec![0_usize; 1024];
    for _ in 0..FLOWS {
        let hash = u32::try_from(rng.next_u64() >> 32).unwrap();
        let lane = port.lane_of(hash);
        lanes[lane] += 1;
        if lane == 0 {
            buckets[(hash >> 22) as usize] += 1;
        }
    }
    // Binomial, mean 10 000, standard deviation 94: within five standard deviations.
    assert!(lanes.iter().all(|&flows| flows.abs_diff(FLOWS / 8) < 470), "{lanes:?}");
    // Poisson with mean 9.8: none of 1024 buckets is expected empty (0.06), and few are (< 3).
    assert!(buckets.iter().filter(|&&flows| flows == 0).count() < 3);
}

#[test]
fn few_flows_over_few_lanes_are_uneven() {
    // Eight flows over eight lanes: by the birthday problem all are apart in 8! / 8^8 = 0.24 % of draws, and
    // 8 * (7/8)^8 = 2.75 lanes stay empty on average.
    let ring = RingSpec { entries: 4, bql: false, coalesce: Span::ZERO };
    let port = MultiPort::new((0..8).map(|_| Greedy::default()).collect(), ring, Line::Unlimited).unwrap();
    let mut rng = Rng::stream(2, 0, "flows");
    let (mut empty, mut apart) = (0, 0);
    for _ in 0..10_000 {
        let mut used = 0_u8;
        for _ in 0..8 {
            used |= 1 << port.lane_of(u32::try_from(rng.next_u64() >> 32).unwrap());
        }
        empty += used.count_zeros();
        apart += u32::from(used == u8::MAX);
    }
    assert!((27_100..27_900).contains(&empty), "{empty}");
    assert!((5..50).contains(&apart), "{apart}");
}

/// The sum of the limits of `lanes` rings on 1 Gbit/s with coalescing for `micros`, 0.5 s and 3 s after all
/// have begun to send; with `alone`, each first sends alone for 20 ms.
fn sums_of_limits(lanes: usize, micros: u64, alone: bool) -> [u32; 2] {
    let ring = RingSpec { entries: 1024, bql: true, coalesce: Span::from_micros(micros) };
    let line = Line::from(Serializer::new(Rate(SECOND)));
    let mut port = MultiPort::new((0..lanes).map(|_| Greedy::default()).collect(), ring, line).unwrap();
    let hashes: Vec<_> = (0..lanes).map(|lane| hash_for(&port, lane)).collect();
    let send = |port: &mut MultiPort<_, _>, lane: usize, now: u64, until: u64| {
        port.arrive(Nanos(now), Header { flow_hash: hashes[lane], ..packet(until, FULL) }, &mut Ignore);
    };
    let mut now = 0;
    for lane in (0..lanes).filter(|_| alone) {
        send(&mut port, lane, now, now + 20 * MILLI);
        now += 30 * MILLI;
        poll_until(&mut port, Nanos(now));
    }
    (0..lanes).for_each(|lane| send(&mut port, lane, now, u64::MAX));
    [SECOND / 2, 3 * SECOND].map(|after| {
        poll_until(&mut port, Nanos(now + after));
        (0..lanes).map(|lane| port.dql(lane).unwrap().state().limit).sum()
    })
}

#[test]
fn without_coalescing_n_rings_hold_n_times_the_bytes_of_one() {
    // Two packets each: less than a packet is no limit.
    let sums = [1, 2, 4, 8].map(|lanes| sums_of_limits(lanes, 0, false));
    assert_eq!(sums, [[3_028; 2], [6_056; 2], [12_112; 2], [24_224; 2]]);
}

#[test]
fn n_rings_that_learnt_alone_hold_n_times_the_bytes_for_the_hold_time() {
    // 27 packets per report for a ring alone; for one of N rings floor(320 / (12.112 * N)) + 1: 14, 7, 4.
    let sums = [1, 2, 4, 8].map(|lanes| sums_of_limits(lanes, 320, true));
    let one = 2 * 27 * FULL;
    for (lanes, sum) in [1, 2, 4, 8].into_iter().zip(sums) {
        assert_eq!(sum[0], lanes * one, "{lanes} rings");
    }
    // Afterwards each needs only its share, rounded up to whole packets: together 1 to 1.19 times what one
    // needs.
    assert_eq!(sums.map(|sum| sum[1]), [27, 2 * 14, 4 * 7, 8 * 4].map(|packets| 2 * packets * FULL));
}

#[test]
fn rings_that_begin_together_learn_their_share() {
    let sums = [1, 2, 4, 8].map(|lanes| sums_of_limits(lanes, 320, false)[1]);
    assert_eq!(sums, [27, 2 * 14, 4 * 7, 8 * 4].map(|packets| 2 * packets * FULL));
}

proptest! {
    #[test]
    fn what_goes_in_comes_out_once_and_in_order_within_a_flow(
        calls in prop::collection::vec((0_u64..2_000_000, any::<u32>(), 60_u32..1515), 1..200),
        lanes in 1_usize..5,
        entries in 1_u32..6,
        bql in any::<bool>(),
        coalesce in prop_oneof![Just(0), 1_u64..4_000_000],
    ) {
        let ring = RingSpec { entries, bql, coalesce: Span(coalesce) };
        let line = Line::from(Serializer::new(Rate(8_000_000)));
        let mut port = MultiPort::new((0..lanes).map(|_| fifo(300)).collect(), ring, line).expect("lanes");
        let (mut now, mut out) = (Nanos(1), Vec::new());
        for (cookie, &(gap, hash, len)) in calls.iter().enumerate() {
            now += Span(gap);
            out.extend(poll_until(&mut port, now));
            prop_assert_eq!(port.poll(now, &mut Ignore), None);
            port.arrive(now, Header { flow_hash: hash % 16, ..packet(cookie as u64, len) }, &mut Ignore);
            let inside = port.backlog().packets + port.ring_backlog().packets;
            prop_assert_eq!(inside as usize + out.len(), cookie + 1);
        }
        out.extend(poll_until(&mut port, Nanos(u64::MAX)));
        for flow in 0..16 {
            let of_flow = out.iter().filter(|(_, packet)| packet.flow_hash == flow);
            prop_assert!(of_flow.is_sorted_by_key(|(_, packet)| packet.cookie));
        }
        let mut cookies: Vec<_> = out.iter().map(|(_, packet)| packet.cookie).collect();
        cookies.sort_unstable();
        prop_assert!(cookies.into_iter().eq(0..calls.len() as u64));
        prop_assert_eq!(port.next_wake(), None);
    }
}

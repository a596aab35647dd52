//! Flows with an end: when they began and ended, and flows that wait for them.

use goodqueue::{Nanos, Rate, Span};
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{After, BuildError, Dumbbell, Flow, Opener, Simulation, Transfer};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
/// A segment of 1448 bytes with its headers at 10 Mbit/s.
const FRAME: u64 = 1514 * 800;
/// A SYN or SYN-ACK: 74 bytes with headers and options. An ACK: 66 bytes.
const SYN: u64 = 74 * 800;
const ACK: u64 = 66 * 800;

/// 10 Mbit/s both ways, and a round trip of 20 ms.
fn simulate(flows: &[Flow]) -> Simulation {
    let mut scenario =
        Dumbbell::new("fq_codel".parse().expect("a queue"), Rate(10_000_000), Span::from_millis(20))
            .scenario();
    scenario.flows = flows.to_vec();
    let mut simulation = Simulation::new(&scenario).expect("a scenario");
    simulation.run_until(Nanos(60_000 * MS));
    simulation
}

fn upload(bytes: u64) -> Flow {
    Flow { bytes: Some(bytes), ..Flow::new(Dumbbell::client(0), Dumbbell::server(0), CcKind::Cubic) }
}

fn download(bytes: u64) -> Flow {
    let (from, to) = (Dumbbell::server(0), Dumbbell::client(0));
    Flow { from, to, opener: Opener::Receiver, ..upload(bytes) }
}

#[test]
fn one_flow_takes_its_handshake_and_its_bytes() {
    let start = Span(3 * MS);
    let alone = |flow: Flow| simulate(&[Flow { start, ..flow }]).transfer(0);
    let took = |transfer: Transfer| transfer.ended.expect("an end").since(transfer.began.expect("a start")).0;
    // The sender opens: SYN, SYN-ACK, and then the ACK with ten segments (the initial window) after it.
    let up = alone(upload(10 * 1448));
    assert_eq!(up.began, Some(Nanos(3 * MS)));
    assert_eq!(took(up), 30 * MS + 2 * SYN + ACK + 10 * FRAME);
    // The receiver opens: the ACK goes there, the segments come back.
    assert_eq!(took(alone(download(10 * 1448))), 40 * MS + 2 * SYN + ACK + 10 * FRAME);
    // The last segment is short: one byte with 66 bytes of headers.
    assert_eq!(took(alone(upload(1448 + 1))), 30 * MS + 2 * SYN + ACK + FRAME + 67 * 800);
}

#[test]
fn a_flow_that_waits_begins_after_the_other() {
    let after =
        |flow, pause, until| Some(After { flow, pause: Span(pause), until: Span(until), kept: false });
    let flows = [
        download(10 * 1448),
        Flow { after: after(0, 7 * MS, 1000 * MS), ..download(1448) },
        // It may no longer begin, and so nothing that waits for it begins.
        Flow { after: after(1, 7 * MS, 60 * MS), ..download(1448) },
        Flow { after: after(2, 0, 9000 * MS), ..download(1448) },
        // Not before its start; and not before a flow that is later in the list.
        Flow { after: after(5, 0, 9000 * MS), start: Span(500 * MS), ..upload(1448) },
        Flow { after: after(1, 0, 9000 * MS), ..upload(1448) },
    ];
    let simulation = simulate(&flows);
    let [first, second, third, fourth, fifth, sixth] =
        [0, 1, 2, 3, 4, 5].map(|flow| simulation.transfer(flow));
    assert_eq!(first.began, Some(Nanos::ZERO));
    assert_eq!(second.began, first.ended.map(|at| at + Span(7 * MS)));
    assert_eq!([third, fourth], [Transfer::default(); 2]);
    assert_eq!(sixth.began, second.ended);
    assert_eq!(fifth.began, Some(Nanos(500 * MS)));
    assert!(fifth.ended.is_some());
}

/// `flow` over the connection of flow `before`, `pause` ms after it has ended.
fn kept(before: usize, pause: u64, flow: Flow) -> Flow {
    let (pause, until) = (Span(pause * MS), Span(60_000 * MS));
    Flow { after: Some(After { flow: before, pause, until, kept: true }), ..flow }
}

/// How long each flow takes.
fn all_took(simulation: &Simulation, flows: &[Flow]) -> Vec<u64> {
    let took = |flow| {
        let transfer: Transfer = simulation.transfer(flow);
        transfer.ended.expect("an end").since(transfer.began.expect("a start")).0
    };
    (0..flows.len()).map(took).collect()
}

#[test]
fn a_flow_over_a_kept_connection_takes_its_request_and_its_bytes() {
    /// A request of 500 bytes with its headers.
    const REQUEST: u64 = 566 * 800;
    let (ten, one) = (10 * 1448, 1448);
    let flows = [download(ten), kept(0, 7, download(ten)), kept(1, 0, download(one))];
    let simulation = simulate(&flows);
    assert_eq!(
        all_took(&simulation, &flows),
        [
            40 * MS + 2 * SYN + ACK + 10 * FRAME,
            // The answer follows the ACK of the request.
            20 * MS + REQUEST + ACK + 10 * FRAME,
            // Without a pause the request follows the ACK of the answer before it.
            20 * MS + ACK + REQUEST + ACK + FRAME,
        ]
    );
    let [first, second, third] = [0, 1, 2].map(|flow| simulation.transfer(flow));
    assert_eq!(second.began, first.ended.map(|at| at + Span(7 * MS)));
    assert_eq!(third.began, second.ended);
    // All bytes are of the flow that has opened the connection.
    let received = [0, 1, 2].map(|flow| simulation.flow(flow).received);
    assert_eq!(received, [2 * ten + one, 0, 0]);
    // A sender that has opened the connection asks for nothing: the bytes go one way.
    let uploads = [upload(ten), kept(0, 1, upload(one))];
    assert_eq!(
        all_took(&simulate(&uploads), &uploads),
        [30 * MS + 2 * SYN + ACK + 10 * FRAME, 10 * MS + FRAME]
    );
}

/// Without a line, so that bytes take no time: each round trip has twice the segments of the one before, from
/// an initial window of ten on (RFC 6928). A kept connection has its window, until it was idle for longer
/// than its timeout; then it restarts (RFC 5681 section 4.1).
#[test]
fn a_flow_takes_what_slow_start_says() {
    const RTT: u64 = 100 * MS;
    let run = |flows: &[Flow]| {
        let mut scenario =
            Dumbbell::new("pfifo:1000".parse().expect("a queue"), Rate(0), Span(RTT)).scenario();
        scenario.flows = flows.to_vec();
        scenario.flows.iter_mut().for_each(|flow| flow.cc = CcKind::Reno);
        let mut simulation = Simulation::new(&scenario).expect("a scenario");
        simulation.run_until(Nanos(60_000 * MS));
        all_took(&simulation, flows)
    };
    let segments = |segments: u64| download(segments * 1448);
    for (count, round_trips) in [(1, 2), (10, 2), (11, 3), (30, 3), (31, 4), (70, 4), (71, 5), (150, 5)] {
        assert_eq!(run(&[segments(count)]), [round_trips * RTT], "{count}");
    }
    // The window is 80 after 70 segments. One round trip is enough for 80, and for 81 it is not.
    assert_eq!(run(&[segments(70), kept(0, 0, segments(80))])[1], RTT);
    assert_eq!(run(&[segments(70), kept(0, 0, segments(81))])[1], 2 * RTT);
    // After 20 s it is ten again: 10, 20 and 40 segments.
    assert_eq!(run(&[segments(70), kept(0, 20_000, segments(70))])[1], 3 * RTT);
}

#[test]
fn a_lost_request_is_sent_again() {
    let mut scenario =
        Dumbbell::new("fq_codel".parse().expect("a queue"), Rate(10_000_000), Span::from_millis(20))
            .scenario();
    scenario.links[Dumbbell::UP].loss = goodqueue_sim::Loss::Random(0.2);
    scenario.flows = vec![download(1448)];
    scenario.flows.extend((0..40).map(|before| kept(before, 5, download(1448))));
    let mut simulation = Simulation::new(&scenario).expect("a scenario");
    simulation.run_until(Nanos(60_000 * MS));
    let took = all_took(&simulation, &scenario.flows);
    // A fifth of the requests need a second attempt; none needs as long as a new connection would wait (1 s).
    let slow = took[1..].iter().filter(|&&took| took > 30 * MS).count();
    assert!((1..30).contains(&slow), "{took:?}");
}

#[test]
fn a_connection_that_cannot_be_kept_is_refused() {
    let other_way = Flow { opener: Opener::Sender, ..download(1) };
    for (flows, why) in [
        (vec![kept(1, 0, upload(1)), upload(1)], "must be in front of it"),
        (vec![upload(1), kept(0, 0, download(1))], "has other ends"),
        (vec![download(1), kept(0, 0, other_way)], "has other ends"),
        (vec![upload(1), Flow { stop: Some(Span(1)), ..kept(0, 0, upload(1)) }], "no stop of its own"),
        (vec![upload(1), kept(0, 0, upload(1)), kept(0, 9, upload(1))], "so does another flow"),
    ] {
        let mut scenario =
            Dumbbell::new("fq_codel".parse().expect("a queue"), Rate(1_000_000), Span(MS)).scenario();
        scenario.flows = flows;
        let error = Simulation::new(&scenario).expect_err("a wrong flow");
        assert!(matches!(&error, BuildError::Invalid { why: said, .. } if said.contains(why)), "{error}");
    }
}

#[test]
fn a_flow_without_an_end_has_no_times() {
    let endless = Flow { bytes: None, ..upload(1) };
    assert_eq!(simulate(std::slice::from_ref(&endless)).transfer(0), Transfer::default());
    let after = |flow| Some(After { flow, pause: Span::ZERO, until: Span(1), kept: false });
    let waits = |flow| Flow { after: after(flow), ..upload(1) };
    for (flow, why) in [(0, "does not end before it"), (1, "does not end before it"), (2, "there is none")] {
        let mut scenario =
            Dumbbell::new("fq_codel".parse().expect("a queue"), Rate(1_000_000), Span(MS)).scenario();
        scenario.flows = vec![endless.clone(), waits(flow)];
        let error = Simulation::new(&scenario).expect_err("a wrong flow");
        assert!(matches!(&error, BuildError::Invalid { why: said, .. } if said.contains(why)), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// For any flows: each ends once its receiver has its bytes, and a chain of them is in order.
    #[test]
    fn flows_end_with_their_bytes(
        flows in prop::collection::vec(
            (0_u64..400, 1_u64..200_000, prop::option::of(any::<bool>()), 0_u64..50),
            1..20,
        ),
        seed in any::<u64>(),
    ) {
        let rate = Rate(20_000_000);
        let mut scenario = Dumbbell::new("codel".parse().expect("a queue"), rate, Span::from_millis(10)).scenario();
        scenario.seed = seed;
        for (index, &(start, bytes, waits, pause)) in flows.iter().enumerate() {
            let after = After {
                flow: index.saturating_sub(1),
                pause: Span(pause * MS),
                until: Span(3_600_000 * MS),
                kept: waits == Some(true),
            };
            let after = Some(after).filter(|_| waits.is_some() && index > 0);
            scenario.flows.push(Flow { start: Span(start * MS), after, ..download(bytes) });
        }
        let run = |scenario| {
            let mut simulation = Simulation::new(scenario).expect("a scenario");
            simulation.run_until(Nanos(600_000 * MS));
            simulation
        };
        let simulation = run(&scenario);
        prop_assert_eq!(simulation.trace_hash(), run(&scenario).trace_hash());
        for (index, flow) in scenario.flows.iter().enumerate() {
            let Transfer { began: Some(began), ended: Some(ended) } = simulation.transfer(index) else {
                return Err(TestCaseError::fail(format!("flow {index} has no end")));
            };
            let is_kept = |index: usize| {
                scenario.flows.get(index).is_some_and(|flow| flow.after.is_some_and(|after| after.kept))
            };
            let over_it = (index + 1..).take_while(|&next| is_kept(next));
            let over_it: u64 = over_it.filter_map(|next| scenario.flows[next].bytes).sum();
            let received = if is_kept(index) { 0 } else { flow.bytes.expect("an end") + over_it };
            prop_assert_eq!(simulation.flow(index).received, received);
            // Two round trips, or one over a kept connection, and the bytes are the least.
            let round_trips = if is_kept(index) { 1 } else { 2 };
            let least = Span::from_millis(10).0 * round_trips + flow.bytes.expect("an end") * 8 * 1_000_000_000 / rate.0;
            prop_assert!(ended.since(began).0 >= least);
            let before = flow.after.and_then(|after| Some(simulation.transfer(after.flow).ended? + after.pause));
            let start = Nanos::ZERO + flow.start;
            prop_assert_eq!(began, before.map_or(start, |before| before.max(start)));
        }
    }
}

//! Traces of flows: compared with the simulator's counters, and with the clock.

use goodqueue::{Nanos, Rate, Reason, Span};
use goodqueue_sim::{Flow, Leg, Link, Loss, Opener, PortSpec, Scenario, Simulation, TraceEvent, What};

const MS: u64 = 1_000_000;

/// `flows` from a sender over a router and a bottleneck of 20 Mbit/s, 10 ms away.
fn scenario(queue: &str, flows: usize) -> Scenario {
    let port = PortSpec::new(queue.parse().expect("a queue"), Rate(20_000_000));
    let flow = Flow {
        dscp: 10,
        start: Span(5 * MS),
        ..Flow::new(0, 2, "cubic".parse().expect("a congestion control"))
    };
    Scenario {
        nodes: ["sender", "router", "receiver"].map(String::from).to_vec(),
        links: vec![
            Link::new(0, 1, None, Span::ZERO),
            Link::new(1, 2, Some(port), Span(10 * MS)),
            Link::new(2, 1, None, Span(10 * MS)),
            Link::new(1, 0, None, Span::ZERO),
        ],
        flows: vec![flow; flows],
        seed: 1,
        ..Scenario::default()
    }
}

fn trace(scenario: &Scenario, flows: &[usize]) -> (Simulation, Vec<TraceEvent>) {
    let mut simulation = Simulation::new(scenario).expect("a scenario");
    flows.iter().for_each(|&flow| simulation.trace_flow(flow));
    let mut events = Vec::new();
    for at in (100 * MS..=2000 * MS).step_by(100_000_000) {
        simulation.run_until(Nanos(at));
        events.extend(simulation.take_trace());
    }
    (simulation, events)
}

fn count(events: &[TraceEvent], what: impl Fn(&TraceEvent) -> bool) -> u64 {
    events.iter().filter(|event| what(event)).count() as u64
}

#[test]
fn every_segment_is_dropped_received_or_in_flight() {
    for queue in ["pfifo:20", "fq_codel,target=1ms,interval=10ms"] {
        let (simulation, events) = trace(&scenario(queue, 2), &[0, 1]);
        let sent = count(&events, |event| event.what == What::Sent);
        let delivered = count(&events, |event| event.what == What::Delivered);
        let dropped = count(&events, |event| matches!(event.what, What::Dropped(_)));
        assert_eq!(sent, delivered + dropped + simulation.packets_under_way() as u64, "{queue}");
        let counters = simulation.link(1).counters();
        assert!(dropped > 0, "{queue}");
        assert_eq!(dropped, counters.drops.iter().sum::<u64>(), "{queue}");
        for reason in Reason::ALL {
            let noted = count(&events, |event| event.what == What::Dropped(reason));
            assert_eq!(noted, counters.drops[reason as usize], "{queue}: {reason:?}");
        }
    }
}

#[test]
fn the_first_segment_goes_by_the_clock() {
    let (_, events) = trace(&scenario("pfifo:1000", 1), &[0]);
    let first = |leg, what| {
        let event = events.iter().find(|event| event.leg == leg && event.what == what);
        let event = event.expect("an event");
        (event.at.0, event.link, event.len)
    };
    let (sent, _, len) = first(Leg::Data, What::Sent);
    assert_eq!(sent, 5 * MS, "the flow's start");
    assert_eq!(first(Leg::Data, What::Sent), (5 * MS, 0, len));
    // At 20 Mbit/s a byte takes 400 ns.
    let there = 5 * MS + u64::from(len) * 400 + 10 * MS;
    assert_eq!(first(Leg::Data, What::Delivered), (there, 1, len));
    let (answered, link, ack_len) = first(Leg::Ack, What::Sent);
    assert_eq!((answered, link), (there, 2));
    assert_eq!(first(Leg::Ack, What::Delivered), (there + 10 * MS, 3, ack_len));
    assert!(events.iter().all(|event| event.dsfield >> 2 == 10));
}

#[test]
fn only_the_flows_asked_for_are_traced_and_tracing_changes_nothing() {
    let plain = trace(&scenario("codel", 3), &[]);
    let one = trace(&scenario("codel", 3), &[1]);
    assert!(plain.1.is_empty() && !one.1.is_empty());
    assert!(one.1.iter().all(|event| event.flow == 1));
    assert_eq!(plain.0.trace_hash(), one.0.trace_hash());
    let mut simulation = Simulation::new(&scenario("codel", 1)).expect("a scenario");
    simulation.trace_flow(usize::MAX);
    simulation.run_until(Nanos(100 * MS));
    assert_eq!(simulation.take_trace().count(), 0, "there is no such flow");
}

#[test]
fn loss_on_the_way_is_traced_at_the_time_the_packet_leaves_the_line() {
    let mut lossy = scenario("pfifo:1000", 1);
    lossy.links[1].loss = Loss::Random(1.0);
    let (_, events) = trace(&lossy, &[0]);
    let lost = events.iter().find(|event| event.what == What::Dropped(Reason::Loss)).expect("a loss");
    assert_eq!((lost.at.0, lost.link), (5 * MS + u64::from(lost.len) * 400, 1));
    assert_eq!(count(&events, |event| event.what == What::Delivered), 0);
}

#[test]
fn a_download_begins_at_its_receiver() {
    let mut down = scenario("pfifo:1000", 2);
    down.flows[1].opener = Opener::Receiver;
    let ends = |index| down.flow_ends(index).expect("a flow").map(|end| end.to_string());
    assert_eq!(ends(0), ["10.0.0.1:32768", "10.0.0.3:5001"]);
    assert_eq!(ends(1), ["10.0.0.1:5001", "10.0.0.3:32769"]);
    assert_eq!(down.flow_ends(2), None);
    down.ipv6 = true;
    assert_eq!(down.flow_ends(0).expect("a flow")[0].to_string(), "[fd00::1]:32768");
}

#[test]
fn a_mark_is_traced_where_it_is_set_and_stays_to_the_end() {
    let mut ecn = scenario("codel,target=1ms,interval=10ms,ecn=on", 1);
    ecn.tcp.ecn = true;
    let (simulation, events) = trace(&ecn, &[0]);
    let marked = count(&events, |event| event.what == What::Marked(Reason::Codel));
    assert!(marked > 0);
    assert_eq!(marked, simulation.link(1).counters().marks);
    assert_eq!(
        count(&events, |event| matches!(event.what, What::Marked(_)) && event.dsfield != 10 << 2 | 3),
        0
    );
    let ect0 = count(&events, |event| event.leg == Leg::Data && event.dsfield & 3 == 2);
    assert!(ect0 > marked, "data goes as ECT(0)");
    let delivered = |event: &TraceEvent| event.what == What::Delivered && event.dsfield & 3 == 3;
    let numbers = |what: &dyn Fn(&TraceEvent) -> bool| {
        events.iter().filter(|event| what(event)).map(|event| event.segment.seq).collect::<Vec<_>>()
    };
    let set = numbers(&|event| matches!(event.what, What::Marked(_)));
    assert!(set.starts_with(&numbers(&delivered)), "what was marked comes marked, in order");
}

/// A super-packet that a queue cuts is sent as one and delivered as its segments.
#[test]
fn segments_that_a_queue_cuts_are_accounted_for() {
    let mut scenario = scenario("cake", 1);
    scenario.tcp.tso = true;
    let (simulation, events) = trace(&scenario, &[0]);
    let sent = count(&events, |event| event.what == What::Sent);
    let delivered = count(&events, |event| event.what == What::Delivered);
    let dropped = count(&events, |event| matches!(event.what, What::Dropped(_)));
    let cut = simulation.link(1).counters().cut;
    assert!(cut > 0);
    assert_eq!(sent + cut, delivered + dropped + simulation.packets_under_way() as u64);
}

/// Without a line thousands of segments arrive at the same time, within one event. At most the requested
/// number is kept until it is taken, plus one such event.
#[test]
fn the_trace_between_two_pauses_is_bounded() {
    const MOST: u64 = 20_000;
    let mut scenario = scenario("pfifo:20", 1);
    scenario.links[1].port = None;
    scenario.tcp.tso = false;
    let mut simulation = Simulation::new(&scenario).expect("a scenario");
    simulation.trace_flow(0);
    let (mut pauses, mut most, mut is_over) = (0, 0, false);
    while !is_over && pauses < 100 {
        is_over = simulation.run_some(Nanos(2000 * MS), MOST);
        pauses += 1;
        most = most.max(simulation.take_trace().count());
    }
    let window = simulation.flow(0).info.cwnd_segments;
    assert!(window > 2000, "the flow sends much at a time: {window}");
    // Each segment is sent and delivered, and so is its acknowledgement.
    assert!(most < 100_000, "{most} were noted within {MOST} events and deliveries");
    assert!(pauses > 10, "{pauses} pauses");
}

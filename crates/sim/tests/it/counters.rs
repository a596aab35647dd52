//! Invariants of a link's counters, in random scenarios: what arrived was sent, was dropped or is held; no
//! line is busy for longer than the time that passes; no port wakes without reason; and sojourn times are
//! those computed by hand.

use goodqueue::port::{Line, RingSpec, Schedule, Trace};
use goodqueue::{Bytes, Nanos, Rate, Reason, Span};
use goodqueue_sim::switch::Buffers;
use goodqueue_sim::tcp::Config;
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{
    Flow, Link, Pattern, PortSpec, Scenario, Shaper, ShaperKind, Simulation, Source, Switch,
};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const RATE: Rate = Rate(8_000_000);

const QUEUES: [&str; 15] = [
    "pfifo:20",
    "bfifo:20000",
    "codel",
    "fq_codel",
    "cake,ack-filter=on",
    "cake,bandwidth=5mbit",
    "cake,split-gso=off",
    "dualpi2",
    "fq_pie",
    "sfq",
    "red,limit=60000",
    "tbf,rate=5mbit,burst=5000,limit=30000",
    "fq,maxrate=2mbit",
    "htb,rate=3mbit",
    "cake_mq,bandwidth=5mbit,queues=3",
];

fn line(kind: usize) -> Line {
    let millis = |n: u64| Span(n * MS);
    match kind {
        0 => goodqueue::Serializer::new(RATE).into(),
        1 => {
            let steps = vec![(Span::ZERO, RATE), (millis(130), Rate(0)), (millis(170), Rate(20_000_000))];
            Line::Schedule(Schedule::cyclic(steps, millis(300)).expect("a schedule"))
        }
        _ => Line::Trace(Trace::from_mahimahi("1\n2\n2\n2\n9\n10\n40\n41\n").expect("a trace")),
    }
}

/// A client sends to a server over a router, with two flows, one of them downwards, and small datagrams.
fn scenario(port: PortSpec, tso: bool, seed: u64, switch: Option<Buffers>) -> Scenario {
    let flow = |from, to| Flow::new(from, to, CcKind::Cubic);
    let pattern = Pattern::Poisson { mean: Span(MS) };
    let (start, stop) = (Span::ZERO, Some(Span(900 * MS)));
    let queue: goodqueue::QueueSpec = "pfifo:50".parse().expect("a queue");
    let host = || Some(PortSpec::new("fq_codel".parse().expect("a queue"), Rate(100_000_000)));
    Scenario {
        nodes: ["client", "router", "server"].map(String::from).to_vec(),
        links: vec![
            Link::new(0, 1, host(), Span::ZERO),
            Link::new(1, 2, Some(port), Span(5 * MS)),
            Link::new(2, 1, host(), Span(5 * MS)),
            Link::new(1, 0, Some(PortSpec::new(queue.into(), RATE)), Span::ZERO),
        ],
        flows: vec![flow(0, 2), flow(2, 0)],
        sources: vec![Source { from: 0, to: 2, pattern, len: 60, dscp: 0, start, stop }],
        switches: switch
            .map(|buffers| Switch { node: 1, buffers, queue, memory: None })
            .into_iter()
            .collect(),
        tcp: Config { tso, ..Config::default() },
        seed,
        ..Scenario::default()
    }
}

/// Runs it for a second, and checks it now and then.
fn hold(scenario: &Scenario, step: u64) {
    let mut simulation = Simulation::new(scenario).expect("a scenario");
    let mut before = vec![Span::ZERO; scenario.links.len()];
    let mut now = 0;
    while now < 1000 * MS {
        now += step;
        simulation.run_until(Nanos(now));
        for (index, before) in before.iter_mut().enumerate() {
            let link = simulation.link(index);
            let busy = link.busy();
            assert!(
                *before <= busy && busy - *before <= Span(step),
                "link {index}: {before} to {busy} in {step} ns"
            );
            *before = busy;
            let counters = link.counters();
            let drops = counters.drops.iter().sum::<u64>() - counters.drops[Reason::Loss as usize];
            let held = u64::from(link.backlog().packets) + u64::from(link.ring_backlog().packets);
            let sent = link.line().packets;
            assert_eq!(
                counters.arrived,
                sent + drops + held,
                "link {index}: {sent} sent, {drops} dropped, {held} held"
            );
            // Its last bit leaves, its ring reports it, its queue held it back: nothing else wakes a port.
            let (wake_ups, arrived) = (link.wake_ups(), counters.arrived);
            assert!(wake_ups <= 3 * arrived + 4, "link {index}: {wake_ups} wake-ups for {arrived} packets");
        }
    }
    assert!(simulation.link(1).line().packets > 20, "the line was used");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_arrival_was_sent_dropped_or_is_held(
        queue in 0..QUEUES.len(),
        kind in 0..3_usize,
        tso in proptest::bool::ANY,
        ring in proptest::option::of((1_u32..40, proptest::bool::ANY, 0..MS)),
        lanes in 1_u32..4,
        shaper in proptest::option::of((proptest::bool::ANY, 1600_u32..20_000)),
        step in 3 * MS..30 * MS,
        seed in 0..1000_u64,
    ) {
        let queue: goodqueue::QueueSpec = QUEUES[queue].parse().expect("a queue");
        let mut port = PortSpec { line: line(kind), ..PortSpec::new(queue.into(), RATE) };
        port.ring = ring.map(|(entries, bql, wait)| RingSpec { entries, bql, coalesce: Span(wait) });
        // A shaper is in front of one hardware queue.
        if let Some((is_htb, burst)) = shaper {
            let kind = if is_htb { ShaperKind::Htb } else { ShaperKind::Tbf };
            port.shaper = Some(Shaper { kind, rate: Rate(6_000_000), burst });
        } else if port.ring.is_some() {
            port.lanes = lanes;
        }
        hold(&scenario(port, tso, seed, None), step);
    }

    #[test]
    fn every_arrival_at_a_switch_was_sent_dropped_or_is_held(
        queue in 0..5_usize,
        buffers in proptest::sample::select(vec![Buffers::Input, Buffers::Voq, Buffers::Output, Buffers::Shared]),
        step in 3 * MS..30 * MS,
        seed in 0..1000_u64,
    ) {
        let port = PortSpec::new(QUEUES[queue].parse().expect("a queue"), RATE);
        let mut scenario = scenario(port, false, seed, Some(buffers));
        // A switch needs plain outputs; the links of the hosts do not come after a switch.
        scenario.links[3].port = Some(PortSpec::new(QUEUES[queue].parse().expect("a queue"), RATE));
        hold(&scenario, step);
    }
}

/// Ten packets of 1000 bytes, one a microsecond, at 8 Mbit/s: the n-th waits n times 999 µs, in a FIFO that
/// is computed ahead, in a queue, and above a ring.
#[test]
fn sojourn_times_equal_those_computed_by_hand() {
    let took = RATE.tx_time(Bytes(1000));
    for (queue, ring) in [("pfifo:100", None), ("codel,target=1s", None), ("pfifo:100", Some(2))] {
        let mut port = PortSpec::new(queue.parse().expect("a queue"), RATE);
        port.ring = ring.map(|entries| RingSpec { entries, bql: false, coalesce: Span::ZERO });
        let source = Source {
            from: 0,
            to: 1,
            pattern: Pattern::Constant { interval: Span(1000) },
            len: 1000,
            dscp: 0,
            start: Span(MS),
            stop: Some(Span(MS + 10_000)),
        };
        let scenario = Scenario {
            nodes: ["a", "b"].map(String::from).to_vec(),
            links: vec![Link::new(0, 1, Some(port), Span(MS)), Link::new(1, 0, None, Span(MS))],
            sources: vec![source],
            ..Scenario::default()
        };
        let run = |window: Option<(u64, u64)>| {
            let mut simulation = Simulation::new(&scenario).expect("a scenario");
            if let Some((from, to)) = window {
                simulation.measure_sojourn(0, Nanos(from), Nanos(to));
            }
            simulation.run_until(Nanos(100 * MS));
            simulation
        };
        let measured = run(Some((0, u64::MAX)));
        assert_eq!(measured.trace_hash(), run(None).trace_hash(), "what is simulated stays the same");
        let histogram = measured.link(0).sojourn().cloned().expect("asked for");
        let waits: Vec<u64> = (0..10).map(|n| n * (took.0 - 1000)).collect();
        assert_eq!(histogram.count(), 10, "{queue}");
        assert_eq!(histogram.mean(), Some(Span(waits.iter().sum::<u64>() / 10)), "{queue}");
        assert_eq!(histogram.max(), Some(Span(waits[9])), "{queue}");
        let median = histogram.quantile(0.5).expect("ten").0;
        assert!(waits[4] <= median && median <= waits[4] + waits[4] / 128, "{queue}: {median}");
        // Only packets that the line begins in the window count: the second to the fourth.
        let part = run(Some((MS + took.0, MS + 4 * took.0)));
        assert_eq!(part.link(0).sojourn().map(goodqueue::Histogram::count), Some(3), "{queue}");
    }
}

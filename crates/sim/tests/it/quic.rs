//! Flows over QUIC in virtual time, alone and alongside TCP.

use goodqueue::{Nanos, Rate, Span};
use goodqueue_probe::QuicCc;
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{Dumbbell, Flow, Opener, Probe, Scenario, Simulation};

const S: u64 = 1_000_000_000;
const END: Nanos = Nanos(20 * S);

/// 20 Mbit/s and 20 ms, with this queue.
fn line(queue: &str) -> Scenario {
    let queue = queue.parse().expect("a queue");
    Dumbbell::new(queue, Rate(20_000_000), Span::from_millis(20)).scenario()
}

fn quic(cc: QuicCc) -> Flow {
    Flow { quic: Some(cc), ..Flow::new(Dumbbell::client(0), Dumbbell::server(0), CcKind::Cubic) }
}

fn tcp() -> Flow {
    Flow::new(Dumbbell::client(0), Dumbbell::server(0), CcKind::Cubic)
}

fn download(flow: Flow) -> Flow {
    Flow { from: flow.to, to: flow.from, opener: Opener::Receiver, ..flow }
}

fn run(scenario: &Scenario) -> Simulation {
    let mut simulation = Simulation::new(scenario).expect("it makes sense");
    simulation.run_until(END);
    simulation
}

/// Mbit/s that the receiver of a flow has read.
fn goodput(simulation: &Simulation, flow: usize) -> f64 {
    simulation.flow(flow).received as f64 * 8.0 / END.0 as f64 * 1e3
}

#[test]
fn a_flow_carries_what_tcp_with_the_same_congestion_control_carries() {
    for (cc, same) in [(QuicCc::Cubic, CcKind::Cubic), (QuicCc::NewReno, CcKind::Reno)] {
        for way in [|flow| flow, download] {
            let of = |flow: Flow| {
                let mut scenario = line("fq_codel");
                scenario.flows.push(way(flow));
                run(&scenario)
            };
            let (simulation, tcp) = (of(quic(cc)), of(Flow { cc: same, ..tcp() }));
            let [quic, tcp] = [&simulation, &tcp].map(|simulation| goodput(simulation, 0));
            assert!((0.9..1.1).contains(&(quic / tcp)), "{cc}: QUIC {quic}, TCP {tcp} Mbit/s");
            // Of a frame of 1514 bytes at most 1442 are payload: IP 20, UDP 8, a short header of 1 + 8 + 1 to
            // 4, the tag of 16, and a STREAM frame's header of 3 and more.
            assert!(quic < 20.0 * 1442.0 / 1514.0, "{cc}: {quic}");
            let view = simulation.flow(0);
            assert!(
                view.is_established && view.info.srtt_us > 20_000 && view.info.retransmits > 0,
                "{view:?}"
            );
        }
    }
}

#[test]
fn quic_and_tcp_share_a_flow_queue_evenly() {
    for way in [|flow| flow, download] {
        let mut scenario = line("fq_codel");
        scenario.flows.extend([way(tcp()), way(quic(QuicCc::Cubic))]);
        let simulation = run(&scenario);
        let [tcp, quic] = [0, 1].map(|flow| goodput(&simulation, flow));
        // Each has half of the line; what they lose to slow start and to drops is less than a tenth.
        assert!(tcp > 8.5 && quic > 8.5, "TCP {tcp}, QUIC {quic} Mbit/s");
    }
}

#[test]
fn ecn_marks_take_the_place_of_drops() {
    let dropped = |ecn| {
        let mut scenario = line("fq_codel");
        scenario.tcp.ecn = ecn;
        scenario.flows.push(quic(QuicCc::Cubic));
        let simulation = run(&scenario);
        (simulation.flow(0).info.retransmits, simulation.link(Dumbbell::UP).queue().marks)
    };
    let ((lost, none), (few, marks)) = (dropped(false), dropped(true));
    assert!(
        lost > 10 && none == 0 && marks > 10,
        "{lost} lost and {none} marked, {few} lost and {marks} marked"
    );
    assert!(few < lost / 2, "{few} of {lost} lost");
}

#[test]
fn a_stopped_flow_sends_no_more() {
    let mut scenario = line("pfifo:100");
    let [start, stop] = [1, 5].map(Span::from_secs);
    scenario.flows.push(download(Flow { start, stop: Some(stop), ..quic(QuicCc::Cubic) }));
    let mut simulation = Simulation::new(&scenario).expect("it makes sense");
    simulation.run_until(Nanos(S));
    assert_eq!(simulation.link(Dumbbell::DOWN).line().packets, 0);
    simulation.run_until(Nanos(6 * S));
    let (received, sent) = (simulation.flow(0).received, simulation.link(Dumbbell::DOWN).line().packets);
    assert!(received > 5_000_000, "{received}");
    simulation.run_until(END);
    assert_eq!(simulation.flow(0).received, received);
    assert!(simulation.link(Dumbbell::DOWN).line().packets <= sent + 2, "a reset or two");
    assert_eq!(simulation.packets_under_way(), 0);
}

#[test]
fn the_same_seed_gives_the_same_events() {
    let scenario = |seed| {
        let mut scenario = line("codel");
        scenario.seed = seed;
        scenario.flows.extend([tcp(), quic(QuicCc::Cubic), download(quic(QuicCc::NewReno))]);
        scenario.probes.push(Probe::ping(
            Dumbbell::client(0),
            Dumbbell::server(0),
            Span::from_millis(10),
            Span::from_secs(10),
        ));
        scenario
    };
    let hash = |seed| run(&scenario(seed)).trace_hash();
    assert_eq!(hash(1), hash(1));
    assert_ne!(hash(1), hash(2));
    // A run in one go and one in steps; the fast implementation and the plain one.
    let mut steps = Simulation::new(&scenario(1)).expect("it makes sense");
    (1..=20).for_each(|second| steps.run_until(Nanos(second * S)));
    assert_eq!(steps.trace_hash(), hash(1));
    let mut plain = Simulation::reference(&scenario(1)).expect("it makes sense");
    plain.run_until(END);
    let whole = run(&scenario(1));
    for flow in 0..3 {
        assert_eq!(plain.flow(flow).received, whole.flow(flow).received, "flow {flow}");
    }
}

#[test]
fn what_the_simulator_has_not_is_refused() {
    let refusal = |flow| {
        let mut scenario = line("codel");
        scenario.flows.push(flow);
        Simulation::new(&scenario).expect_err("it cannot be").to_string()
    };
    assert!(refusal(quic(QuicCc::Bbr)).contains("no BBR over QUIC"));
    assert!(refusal(Flow { bytes: Some(5), ..quic(QuicCc::Cubic) }).contains("no end of its own"));
}

/// The table of docs/limits.md: one flow over TCP and one over QUIC, both CUBIC, downloads, 20 Mbit/s and
/// 20 ms, 20 s.
#[test]
fn the_page_says_how_quic_and_tcp_share_a_queue() {
    let page = include_str!("../../../../docs/limits.md");
    let mut missing = String::new();
    for queue in ["pfifo:100", "pfifo:1000", "codel", "pie", "fq_codel", "sfq"] {
        let mut scenario = line(queue);
        scenario.flows.extend([download(tcp()), download(quic(QuicCc::Cubic))]);
        let simulation = run(&scenario);
        let [tcp, quic] = [0, 1].map(|flow| goodput(&simulation, flow));
        let row = format!("| `{queue}` | {tcp:.2} | {quic:.2} | {:.2} |\n", quic / tcp);
        if !page.contains(&row) {
            missing += &row;
        }
    }
    assert_eq!(missing, "", "rows that docs/limits.md lacks");
}

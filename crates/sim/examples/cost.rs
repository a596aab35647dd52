//! Scratch.
use goodqueue::{Nanos, Rate, Serializer, Span};
use goodqueue_sim::*;
fn port(queue: &str, bps: u64) -> Option<PortSpec> {
    Some(PortSpec {
        queue: queue.parse().expect("q"),
        lanes: 1,
        ring: None,
        line: Serializer::new(Rate(bps)).into(),
        rate: Rate(bps),
        frame: 1514,
        pause: None,
    })
}
fn main() {
    let l = |from, to, port, delay| Link { from, to, port, delay, jitter: Span(0), loss: Loss::None };
    let ms = 1_000_000;
    let mut s = Scenario {
        nodes: ["server", "router", "client"].map(String::from).to_vec(),
        links: vec![
            l(0, 1, port("pfifo:1000", 1_000_000_000), Span(10_000)),
            l(1, 2, port("fq_codel", 100_000_000), Span(25 * ms)),
            l(2, 1, port("pfifo:1000", 100_000_000), Span(25 * ms)),
            l(1, 0, port("pfifo:1000", 1_000_000_000), Span(10_000)),
        ],
        seed: 1,
        ..Scenario::default()
    };
    let udp = std::env::args().nth(1).as_deref() == Some("udp");
    if udp {
        s.sources.push(Source {
            from: 0,
            to: 2,
            pattern: Pattern::Constant { interval: Span(121_120) },
            len: 1514,
            dscp: 0,
            start: Span(0),
            stop: None,
        });
    } else {
        for i in 0..16 {
            s.flows.push(Flow {
                from: 0,
                to: 2,
                cc: goodqueue_sim::tcp::cc::CcKind::Cubic,
                dscp: 0,
                opener: Opener::Sender,
                start: Span(i * 62_500_000),
                stop: None,
                bytes: None,
            });
        }
        s.probes.push(Probe {
            from: 0,
            to: 2,
            kind: ProbeKind::Irtt,
            interval: Span(10 * ms),
            payload: 64,
            dscp: 0,
            start: Span(0),
            stop: Span(20_000 * ms),
        });
    }
    let mut sim = Simulation::new(&s).expect("x");
    sim.run_until(Nanos(20_000 * ms));
    println!(
        "{} events, {} packets, {:?} drops, hash {:x}",
        sim.events(),
        sim.link(1).line().packets,
        sim.link(1).queue().drops,
        sim.trace_hash()
    );
}

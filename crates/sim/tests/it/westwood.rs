//! What is published of Westwood+ (Grieco and Mascolo, CCR 34(2), 2004).

use goodqueue::{Nanos, Rate, Span};
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{Dumbbell, Flow, Loss, Simulation};

/// Goodput of each of two flows over a line of 10 Mbit/s with this round trip and random loss, as shares of
/// what the line carries, from 10 s to 70 s.
fn shares(queue: &str, rtt: u64, loss: f64, flows: &[CcKind]) -> Vec<f64> {
    let queue = queue.parse().expect("a queue");
    let mut scenario = Dumbbell::new(queue, Rate(10_000_000), Span::from_millis(rtt)).scenario();
    scenario.links[Dumbbell::UP].loss = Loss::Random(loss);
    scenario.flows =
        flows.iter().map(|&cc| Flow::new(Dumbbell::client(0), Dumbbell::server(0), cc)).collect();
    let mut simulation = Simulation::new(&scenario).expect("a scenario");
    let received =
        |simulation: &Simulation| (0..flows.len()).map(|n| simulation.flow(n).received).collect::<Vec<u64>>();
    simulation.run_until(Nanos::ZERO + Span::from_secs(10));
    let before = received(&simulation);
    simulation.run_until(Nanos::ZERO + Span::from_secs(70));
    let carried = 10e6 / 8.0 * 60.0 * 1448.0 / 1514.0;
    received(&simulation)
        .iter()
        .zip(before)
        .map(|(after, before)| (after - before) as f64 / carried)
        .collect()
}

/// Its purpose: over a line that loses packets at random it gets several times what Reno gets.
#[test]
fn random_losses_take_little() {
    let [westwood] = shares("pfifo:100", 100, 0.005, &[CcKind::Westwood])[..] else { panic!() };
    let [reno] = shares("pfifo:100", 100, 0.005, &[CcKind::Reno])[..] else { panic!() };
    assert!(westwood > 2.0 * reno, "{westwood} and {reno}");
}

/// Without random losses it fills the line, and shares it with Reno.
#[test]
fn it_is_friendly_where_queues_lose_packets() {
    let [alone] = shares("pfifo:60", 60, 0.0, &[CcKind::Westwood])[..] else { panic!() };
    assert!(alone > 0.95, "{alone}");
    let [westwood, reno] = shares("pfifo:60", 60, 0.0, &[CcKind::Westwood, CcKind::Reno])[..] else {
        panic!()
    };
    assert!(westwood + reno > 0.95 && (0.2..0.8).contains(&westwood), "{westwood} and {reno}");
}

//! Published results for Vegas (Brakmo and Peterson, 1995), CDG (Hayes and Armitage, 2011) and TCP-LP
//! (Kuzmanovic and Knightly, 2003), which all go by delay.

use goodqueue::{Nanos, Rate, Span};
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{Dumbbell, Flow, Loss, Simulation};

/// Goodput of each flow over a line of 10 Mbit/s with this random loss, as a share of what the line carries,
/// and the mean number of packets that wait, both from 10 s to 70 s.
pub(super) fn run_with(loss: Loss, queue: &str, rtt: u64, flows: &[CcKind]) -> (Vec<f64>, f64) {
    let queue = queue.parse().expect("a queue");
    let mut scenario = Dumbbell::new(queue, Rate(10_000_000), Span::from_millis(rtt)).scenario();
    scenario.links[Dumbbell::UP].loss = loss;
    scenario.flows =
        flows.iter().map(|&cc| Flow::new(Dumbbell::client(0), Dumbbell::server(0), cc)).collect();
    let mut simulation = Simulation::new(&scenario).expect("a scenario");
    let received =
        |simulation: &Simulation| (0..flows.len()).map(|n| simulation.flow(n).received).collect::<Vec<u64>>();
    simulation.run_until(Nanos::ZERO + Span::from_secs(10));
    let before = received(&simulation);
    let mut held = 0;
    for n in 1..=600 {
        simulation.run_until(Nanos::ZERO + Span::from_millis(10_000 + n * 100));
        held += simulation.link(Dumbbell::UP).backlog().packets;
    }
    let carried = 10e6 / 8.0 * 60.0 * 1448.0 / 1514.0;
    let after = received(&simulation);
    let shares = after.iter().zip(before).map(|(after, before)| (after - before) as f64 / carried);
    (shares.collect(), f64::from(held) / 600.0)
}

/// The same without random loss.
fn run(queue: &str, rtt: u64, flows: &[CcKind]) -> (Vec<f64>, f64) {
    run_with(Loss::None, queue, rtt, flows)
}

fn alone(cc: CcKind, queue: &str, rtt: u64) -> (f64, f64) {
    let (shares, held) = run(queue, rtt, &[cc]);
    (shares[0], held)
}

/// The share of the first flow next to the second.
fn beside(first: CcKind, second: CcKind, queue: &str, rtt: u64) -> f64 {
    let (shares, _) = run(queue, rtt, &[first, second]);
    assert!(shares[0] + shares[1] > 0.95, "{shares:?}");
    shares[0]
}

/// Section 3.2 of its paper: alpha to beta segments wait, in a queue of any length, and the line is full.
#[test]
fn vegas_keeps_two_to_four_packets_in_the_queue() {
    for queue in ["pfifo:50", "pfifo:100", "pfifo:1000"] {
        let (share, held) = alone(CcKind::Vegas, queue, 20);
        assert!(share > 0.99 && (2.0..=4.0).contains(&held), "{queue}: {share}, {held} packets");
    }
}

/// Its weakness: next to a sender that fills the queue it gets little.
#[test]
fn vegas_yields_to_cubic() {
    let share = beside(CcKind::Vegas, CcKind::Cubic, "pfifo:100", 50);
    assert!(share < 0.2, "{share}");
}

/// Its purpose: the delay does not depend on the length of the queue, and the line is nearly full.
#[test]
fn cdg_keeps_the_queue_short() {
    let (_, cubic) = alone(CcKind::Cubic, "pfifo:250", 50);
    for queue in ["pfifo:100", "pfifo:250"] {
        let (share, held) = alone(CcKind::Cdg, queue, 50);
        assert!(share > 0.85 && held < 10.0 && held < cubic / 10.0, "{queue}: {share}, {held} and {cubic}");
    }
    let (shares, held) = run("pfifo:250", 50, &[CcKind::Cdg; 2]);
    assert!(shares[0] + shares[1] > 0.85 && held < 20.0, "{shares:?}, {held}");
}

/// Sections 3.2 and 3.3: next to Reno, which fills the queue, it stops backing off by delay, and keeps more
/// than Vegas does.
#[test]
fn cdg_survives_beside_a_sender_that_fills_the_queue() {
    for rtt in [20, 50] {
        let [cdg, vegas] = [CcKind::Cdg, CcKind::Vegas].map(|cc| beside(cc, CcKind::Reno, "pfifo:250", rtt));
        assert!(cdg > 1.5 * vegas, "{rtt} ms: {cdg} and {vegas}");
    }
}

/// Its random choices depend on the seed.
#[test]
fn cdg_backs_off_at_the_same_times_in_each_run_of_a_seed() {
    let [first, second] = [(); 2].map(|()| run("pfifo:100", 50, &[CcKind::Cdg; 2]));
    assert_eq!(first, second);
}

/// Its two purposes (section I of its paper): a few percent next to others, and all that no other flow takes.
#[test]
fn lp_yields_to_cubic_and_fills_an_empty_line() {
    for rtt in [20, 50, 100] {
        let (share, _) = alone(CcKind::Lp, "pfifo:100", rtt);
        assert!(share > 0.9, "{rtt} ms, alone: {share}");
        let share = beside(CcKind::Lp, CcKind::Cubic, "pfifo:100", rtt);
        assert!(share < 0.05, "{rtt} ms, beside CUBIC: {share}");
    }
}

//! Published results for Westwood+ (Grieco and Mascolo, CCR 34(2), 2004).

use goodqueue_sim::Loss;
use goodqueue_sim::tcp::cc::CcKind;

use super::by_delay::run_with;

/// Goodput of each of two flows over a line of 10 Mbit/s with this round trip and random loss, as shares of
/// what the line carries, from 10 s to 70 s.
fn shares(queue: &str, rtt: u64, loss: f64, flows: &[CcKind]) -> Vec<f64> {
    run_with(Loss::Random(loss), queue, rtt, flows).0
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

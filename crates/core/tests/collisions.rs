//! Flows that share a queue by chance, against the closed form: with n flows in m queues of which each flow may take one
//! of w, a flow finds a queue of its own with the probability that fewer than w of the others fell into its set,
//! sum over k < w of C(n - 1, k) p^k (1 - p)^(n - 1 - k) with p = w / m (RFC 8290 section 5.3 for w = 1).

use goodqueue::cake::{Diffserv, Isolation};
use goodqueue::{
    Cake, Header, HeapCake, HeapFqCodel, Ignore, Lcg, Nanos, Queue, Rng, cake, cake_tables, fq_codel,
};

const QUEUES: u32 = 1024;
const TRIALS: u32 = 1000;

/// The probability that fewer than `ways` of `others` flows fell into the set of one.
fn alone(others: u32, ways: u32) -> f64 {
    let p = f64::from(ways) / f64::from(QUEUES);
    let mut term = (1.0 - p).powf(others.into());
    let mut sum = 0.0;
    for k in 0..ways {
        sum += term;
        term *= f64::from(others - k.min(others)) / f64::from(k + 1) * p / (1.0 - p);
    }
    sum
}

fn packet(flow_hash: u32) -> Header {
    Header { cookie: 0, len: 1514, truesize: 2304, flow_hash, dsfield: 0 }
}

#[allow(clippy::cast_possible_truncation)]
fn hash(rng: &mut Rng) -> u32 {
    (rng.next_u64() >> 32) as u32
}

#[test]
fn the_closed_form_is_that_of_the_rfc() {
    assert!((alone(99, 1) - 0.9078).abs() < 0.00005);
    assert!((alone(99, 4) - 0.9993).abs() < 0.00005);
    assert!((alone(99, 8) - 0.999_999).abs() < 0.000_000_5);
}

/// A flow that arrives as the i-th has a queue of its own if none of those before it took it.
#[test]
fn fq_codel_has_as_many_queues_in_use_as_expected() {
    let mut rng = Rng::new(1);
    let mut used = 0;
    for _ in 0..TRIALS {
        let buckets = vec![fq_codel::Flow::default(); QUEUES as usize];
        let slots = vec![goodqueue::arena::Slot::default(); 128];
        let params = fq_codel::Params { limit: 127, ..fq_codel::Params::default() };
        let mut queue: HeapFqCodel<Header> = HeapFqCodel::new(params, buckets, slots).expect("buckets");
        for _ in 0..100 {
            let _ = queue.enqueue(Nanos(1), packet(hash(&mut rng)), &mut Ignore);
        }
        queue.counters(&mut |name, value| used += if name == "new_flow_count" { value } else { 0 });
    }
    let expected: f64 = (0..100).map(|others| alone(others, 1)).sum::<f64>() * f64::from(TRIALS);
    // Shared queues are about Poisson; four standard deviations.
    let shared = f64::from(100 * TRIALS) - expected;
    assert!((used as f64 - expected).abs() < 4.0 * shared.sqrt(), "{used} {expected}");
}

/// Of 100 flows hardly any meets a full set of eight, so there are more of them here.
#[test]
fn cake_has_as_many_forced_collisions_as_expected() {
    let mut rng = Rng::new(1);
    for (flows, trials) in [(100, TRIALS), (400, TRIALS / 4), (800, TRIALS / 4)] {
        let mut collisions = 0;
        for _ in 0..trials {
            let params = cake::Params {
                diffserv: Diffserv::Besteffort,
                isolation: Isolation::Flows,
                ..cake::Params::default()
            };
            let slots = vec![goodqueue::arena::Slot::default(); 1024];
            let mut queue: HeapCake<Header> =
                Cake::new(params, Lcg::new(1), cake_tables(cake::TINS, QUEUES.into()), slots)
                    .expect("tables");
            for _ in 0..flows {
                let _ = queue.enqueue(Nanos(1), packet(hash(&mut rng)), &mut Ignore);
            }
            queue.counters(&mut |name, value| collisions += if name == "way_cols" { value } else { 0 });
        }
        let each: f64 = (0..flows).map(|others| 1.0 - alone(others, 8)).sum();
        let expected = each * f64::from(trials);
        // Those of one set come together, up to some in a set; so twice four standard deviations.
        let most = 8.0 * expected.max(1.0).sqrt();
        assert!((collisions as f64 - expected).abs() < most, "{flows} flows: {collisions} {expected}");
    }
}

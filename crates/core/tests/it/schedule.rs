//! The control law's schedule, computed by hand (RFC 8289 section 3.3: interval / sqrt(count)).

use goodqueue::{AnyQueue, Header, Nanos, Observer, PacketInfo, Queue, QueueSpec, Rate, Reason};

/// When packets were dropped.
#[derive(Default)]
struct Drops(Vec<Nanos>);

impl Observer<Header> for Drops {
    fn dropped(&mut self, now: Nanos, _packet: Header, reason: Reason) {
        assert_eq!(reason, Reason::Codel);
        self.0.push(now);
    }
}

impl PacketInfo<Header> for Drops {}

/// Keeps a queue far above the target and dequeues every 10 us. Returns the milliseconds from entering the
/// dropping state, which is the first drop, to each drop after it.
fn drops_after_the_first(seconds: u64) -> Vec<f64> {
    let spec: QueueSpec = "codel,limit=200000,ecn=off".parse().expect("a queue");
    let mut queue: AnyQueue<Header> = spec.build(Rate(1), 1514, Nanos::ZERO).expect("a queue");
    let mut drops = Drops::default();
    let packet = Header { len: 1500, truesize: 2304, ..Header::default() };
    for _ in 0..60_000 {
        queue.enqueue(Nanos(1), packet, &mut drops);
    }
    // The sojourn is above the target from here on.
    let mut now = 50_000_000;
    let mut asks = 0_u64;
    while drops.0.first().is_none_or(|first| now < first.0 + seconds * 1_000_000_000) {
        asks += 1;
        let held = queue.dequeue(Nanos(now), &mut drops).expect("a packet");
        // It is enqueued again, as if 20 ms ago, so that the queue does not drain.
        queue.enqueue(Nanos(now - 20_000_000), held, &mut Drops::default());
        now += 10_000;
    }
    assert!(asks > 1000);
    drops.0.iter().skip(1).map(|at| (at.0 - drops.0[0].0) as f64 / 1e6).collect()
}

/// 1 / sqrt(count) as in Linux: one Newton step for each change of count, from the previous value. From 1 to
/// 2 it gives 1/2, which is the value for 4; from 16 on it is within 1 %.
fn newton(counts: usize) -> Vec<f64> {
    let mut root = 1.0;
    let mut roots = vec![root];
    for count in 2..=counts {
        root *= (3.0 - count as f64 * root * root) / 2.0;
        roots.push(root);
    }
    roots
}

#[test]
fn drops_come_after_interval_over_root_of_count() {
    let drops = drops_after_the_first(5);
    let roots = newton(drops.len());
    let mut at = 0.0;
    for (drop, root) in drops.iter().zip(&roots) {
        at += 100.0 * root;
        // Asked every 0.01 ms; the root has 16 bits; ticks are 1.024 us.
        assert!((drop - at).abs() < 0.02 + at * 1e-3, "{drop} against {at}");
    }
    let exact = |count: usize| 1.0 / (count as f64).sqrt();
    assert_eq!(roots[1], exact(4));
    assert!((16..=roots.len()).all(|count| (roots[count - 1] / exact(count) - 1.0).abs() < 0.01));
}

/// The law itself: 100, 170.7, 228.4 ... ms; 32 drops in the second after the first, 114 in two, 661 in five.
/// The one early drop (150 instead of 170.7 ms) and the low roots until 16 put Linux a few drops ahead of it.
#[test]
fn linux_is_a_few_drops_ahead_of_the_law() {
    let mut law = Vec::new();
    let mut at = 0.0;
    for count in 1..700 {
        at += 100.0 / f64::from(count).sqrt();
        law.push(at);
    }
    assert!(law.iter().zip([100.0, 170.7, 228.4, 278.4, 323.2, 364.0]).all(|(a, b)| (a - b).abs() < 0.1));
    let within = |drops: &[f64], ms: f64| drops.iter().filter(|&&drop| drop <= ms).count();
    assert_eq!([1e3, 2e3, 5e3].map(|ms| within(&law, ms)), [32, 114, 661]);
    let ours = drops_after_the_first(5);
    for ms in [1e3, 2e3, 5e3] {
        let (ours, law) = (within(&ours, ms), within(&law, ms));
        assert!((law..=law + 10).contains(&ours), "{ours} against {law} in {ms} ms");
    }
}

use super::*;
use goodqueue::Span;

/// A round trip of `rtt` us; whether the window must be reduced.
fn round(cc: &mut Cc, w: &mut Window, rtt: u64) -> bool {
    w.snd_nxt += 10;
    let mut backs_off = false;
    for _ in 0..10 {
        w.snd_una += 1;
        cc.pkts_acked(w, Nanos::ZERO, 1, Some(Span::from_micros(rtt)));
        backs_off |= cc.cong_avoid(w, Nanos::ZERO, 1);
    }
    backs_off
}

fn in_avoidance(seed: u64) -> (Window, Cc) {
    let mut w = established(100);
    w.snd_ssthresh = 50;
    let mut cc = Cc::new(CcKind::Cdg, Rng::new(seed));
    cc.init(&mut w, Nanos::ZERO);
    (w, cc)
}

/// Equation 2: a backoff with probability 1 - exp(-g/G), G = 3 ms. The first round trip with a gradient
/// stands for those that are missing, so that `g` is its rise.
#[test]
fn it_backs_off_with_the_probability_of_the_gradient() {
    for (rise_us, least, most) in [(1_000, 0.26, 0.31), (3_000, 0.61, 0.66), (12_000, 0.97, 0.99)] {
        let backoffs = (0..4_000).filter(|&seed| {
            let (mut w, mut cc) = in_avoidance(seed);
            round(&mut cc, &mut w, 20_000);
            round(&mut cc, &mut w, 20_000 + rise_us)
        });
        let share = backoffs.count() as f64 / 4_000.0;
        assert!((least..most).contains(&share), "{rise_us} us: {share}");
    }
}

#[test]
fn without_a_rise_it_is_reno() {
    for seed in 0..100 {
        let (mut w, mut cc) = in_avoidance(seed);
        for rtt in (0..50).map(|round| 30_000 - round * 100) {
            assert!(!round(&mut cc, &mut w, rtt), "the delay falls");
        }
        assert_eq!(w.snd_cwnd, 104, "500 segments acknowledged, at a window of 100 and more");
    }
}

/// A backoff leaves 0.7071 of the window, a loss without backoffs half of it.
#[test]
fn a_backoff_takes_less_than_a_loss() {
    let (mut w, mut cc) = in_avoidance(1);
    reduce(&mut cc, &mut w, Nanos::ZERO);
    assert_eq!(w.snd_cwnd, 50);
    cc.cwnd_event(&mut w, Nanos::ZERO, CwndEvent::CompleteCwr);
    w.snd_cwnd = 1000;
    round(&mut cc, &mut w, 20_000);
    assert!((1..20).any(|n| round(&mut cc, &mut w, 20_000 + n * 50_000)), "a rise of 50 ms each round trip");
    let before = w.snd_cwnd;
    reduce(&mut cc, &mut w, Nanos::ZERO);
    assert_eq!(w.snd_cwnd, before * 724 / 1024);
}

/// Section 3.3: after a loss, no less than half the window that it would have without its own backoffs.
#[test]
fn a_loss_returns_to_the_shadow_window() {
    let (mut w, mut cc) = in_avoidance(1);
    round(&mut cc, &mut w, 20_000);
    let mut backoffs = 0;
    for n in 1..60 {
        if backoffs < 2 && round(&mut cc, &mut w, 20_000 + n * 50_000) {
            backoffs += 1;
            reduce(&mut cc, &mut w, Nanos::ZERO);
            cc.cwnd_event(&mut w, Nanos::ZERO, CwndEvent::CompleteCwr);
        }
    }
    assert_eq!(backoffs, 2);
    let window = w.snd_cwnd;
    assert!((48..=53).contains(&window), "half of 100 by two backoffs: {window}");
    reduce(&mut cc, &mut w, Nanos::ZERO);
    assert!(w.snd_cwnd >= 48 && w.snd_cwnd <= window, "half of 100, not a quarter: {}", w.snd_cwnd);
}

/// Section 3.2: after five backoffs without a fall of the delay, it stops. A fall counts as an effect.
#[test]
fn it_stops_backing_off_where_that_is_of_no_use() {
    let (mut w, mut cc) = in_avoidance(1);
    round(&mut cc, &mut w, 20_000);
    let backoffs = (1..100).filter(|n| round(&mut cc, &mut w, 20_000 + n * 50_000)).count();
    assert_eq!(backoffs, 5);
    (0..20).for_each(|_| _ = round(&mut cc, &mut w, 20_000));
    assert!((1..20).any(|n| round(&mut cc, &mut w, 20_000 + n * 50_000)), "the delay has fallen");
}

/// `hystart_detect` 3: a rise of an eighth ends slow start.
#[test]
fn slow_start_ends_when_the_delay_rises() {
    let (mut w, mut cc) = in_avoidance(1);
    w.snd_ssthresh = INFINITE_SSTHRESH;
    (0..3).for_each(|_| _ = round(&mut cc, &mut w, 40_000));
    assert!(w.in_slow_start());
    (0..3).for_each(|_| _ = round(&mut cc, &mut w, 46_000));
    assert!(!w.in_slow_start());
}

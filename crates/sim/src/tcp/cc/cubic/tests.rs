use super::*;
use crate::tcp::cc::Cc;
use crate::tcp::cc::CcKind;
use crate::tcp::cc::tests::{begun, established, reduce};

/// A connection that has just lost at `cwnd` segments on a path of `rtt`.
fn after_loss(cwnd: u32, rtt: Span) -> (Cc, Window) {
    let mut w = established(cwnd);
    let mut cc = begun(CcKind::Cubic, &mut w);
    w.snd_ssthresh = cwnd;
    cc.pkts_acked(&mut w, Nanos::ZERO, 1, Some(rtt));
    reduce(&mut cc, &mut w, Nanos::ZERO);
    (cc, w)
}

fn state(cc: &Cc) -> &Cubic {
    match cc {
        Cc::Cubic(cubic) => cubic,
        _ => panic!("not CUBIC"),
    }
}

/// ACKs of one segment each, evenly over `rtt`, for `span`; `at` sees each round's end.
fn run(cc: &mut Cc, w: &mut Window, rtt: Span, span: Span, mut at: impl FnMut(f64, &Cc, &Window)) {
    let mut start = 0;
    while start < span.0 {
        let acks = u64::from(w.snd_cwnd);
        for n in 1..=acks {
            let now = Nanos(start + rtt.0 * n / acks);
            cc.pkts_acked(w, now, 1, Some(rtt));
            cc.cong_avoid(w, now, 1);
        }
        start += rtt.0;
        at(Span(start).as_secs_f64(), cc, w);
    }
}

#[test]
fn k_is_the_cube_root_of_the_way_back() {
    // K = cbrt(300 / 0.4004) s: 9300^3 <= 300 * floor(2^40 / 410) < 9301^3.
    let (mut cc, mut w) = after_loss(1_000, Span::from_millis(100));
    assert_eq!(w.snd_cwnd, 700);
    cc.cong_avoid(&mut w, Nanos::ZERO, 1);
    assert_eq!((state(&cc).bic_k, state(&cc).bic_origin_point), (9_300, 1_000));
    for segments in [0_u32, 1, 7, 300, 100_000, u32::MAX] {
        let k = (f64::from(segments) * 1024.0 / 410.0).cbrt() * 1024.0;
        assert!((f64::from(time_to_grow(segments)) - k).abs() <= 1.0, "{segments}: {k}");
    }
}

#[test]
fn the_window_follows_the_cubic_curve() {
    let rtt = Span::from_millis(100);
    let (mut cc, mut w) = after_loss(5_000, rtt);
    let k = (1_500.0_f64 / 0.4).cbrt();
    let mut rounds = 0;
    run(&mut cc, &mut w, rtt, Span::from_secs(20), |t, _, w| {
        let curve = 0.4 * (t - k).powi(3) + 5_000.0;
        let off = (f64::from(w.snd_cwnd) - curve).abs();
        assert!(off <= (curve / 100.0).max(1.0), "{t} s: {} of {curve}", w.snd_cwnd);
        rounds += 1;
    });
    assert_eq!(rounds, 200);
    assert!(w.snd_cwnd > 5_000, "beyond K, {k} s, it probes upwards");
}

#[test]
fn on_a_short_path_cubic_is_no_slower_than_reno() {
    // RFC 9438 section 4.3: W_est grows by 3 (1 - 0.7) / (1 + 0.7) = 0.529 segments a round, where the cubic
    // curve after 10 s would be at 40 + 0.4 * (10 - 3.1)^3 = 171.
    let rtt = Span::from_millis(20);
    let (mut cc, mut w) = after_loss(40, rtt);
    let mut w_est = f64::from(w.snd_cwnd);
    run(&mut cc, &mut w, rtt, Span::from_secs(10), |t, cc, w| {
        w_est += 9.0 / 17.0;
        // Behind by the whole segment that it counts in and by 1/32 s, 1.6 rounds or 0.8 segments,
        // between two computations.
        let (tcp_cwnd, window) = (f64::from(state(cc).tcp_cwnd), f64::from(w.snd_cwnd));
        assert!((tcp_cwnd - w_est).abs() <= (w_est / 100.0).max(2.0), "{t} s: {tcp_cwnd} of {w_est}");
        assert!((window - w_est).abs() <= (w_est / 100.0).max(2.0), "{t} s: {window} of {w_est}");
    });
    assert!((290..=300).contains(&w.snd_cwnd), "28 + 500 * 9 / 17 = 292.7: {}", w.snd_cwnd);
}

#[test]
fn the_first_step_aims_a_round_trip_ahead() {
    // 97 ms are 25 jiffies or 102 / 1024 s: 1000 - (410 * (9300 - 102)^3 >> 40) = 710, ten more than 700.
    let (mut cc, mut w) = after_loss(1_000, Span::from_millis(97));
    cc.cong_avoid(&mut w, Nanos::ZERO, 1);
    assert_eq!(state(&cc).cnt, 70);
}

#[test]
fn reno_grows_when_more_than_its_due_is_acknowledged() {
    // Of 8 segments: 8 * 15 / 8 = 15 for one more.
    for (ack_cnt, tcp_cwnd, left, cnt) in [(15, 8, 15, u32::MAX), (16, 9, 1, 8), (46, 11, 1, 2)] {
        let mut cubic = Cubic { ack_cnt, tcp_cwnd: 8, ..Cubic::new() };
        assert_eq!((cubic.reno_cnt(8), cubic.tcp_cwnd, cubic.ack_cnt), (cnt, tcp_cwnd, left));
    }
}

#[test]
fn an_epoch_counts_its_own_acks() {
    let (mut cc, mut w) = after_loss(1_000, Span::from_millis(100));
    (0..50).for_each(|_| _ = cc.cong_avoid(&mut w, Nanos::ZERO, 2));
    assert_eq!(state(&cc).ack_cnt, 100);
    reduce(&mut cc, &mut w, Nanos::ZERO);
    cc.cong_avoid(&mut w, Nanos::ZERO, 2);
    assert_eq!((state(&cc).ack_cnt, state(&cc).tcp_cwnd), (2, w.snd_cwnd));
}

#[test]
fn a_flow_whose_share_shrinks_releases_bandwidth_faster() {
    let mut w = established(1_000);
    let mut cc = begun(CcKind::Cubic, &mut w);
    // (window, threshold = w * 717 / 1024, maximum remembered); below the last one w * 1741 / 2048.
    for (cwnd, ssthresh, max) in [(1_000, 700, 1_000), (800, 560, 680), (900, 630, 900), (900, 630, 900)] {
        w.snd_cwnd = cwnd;
        assert_eq!(cc.ssthresh(&w, Nanos::ZERO), ssthresh);
        assert_eq!(state(&cc).last_max_cwnd, max);
    }
    w.snd_cwnd = 2;
    assert_eq!(cc.ssthresh(&w, Nanos::ZERO), 2);
}

#[test]
fn before_the_first_loss_it_grows_by_five_percent_a_round() {
    let mut w = established(100);
    let mut cc = begun(CcKind::Cubic, &mut w);
    w.snd_ssthresh = 100;
    for _ in 0..100 {
        cc.cong_avoid(&mut w, Nanos::ZERO, 1);
    }
    assert_eq!((w.snd_cwnd, state(&cc).cnt), (105, 20));
}

#[test]
fn it_never_grows_by_more_than_half_a_round() {
    let (mut cc, mut w) = after_loss(100, Span::from_millis(10));
    cc.cong_avoid(&mut w, Nanos::ZERO, 1);
    let (before, late) = (w.snd_cwnd, Nanos::ZERO + Span::from_secs(3_600));
    for _ in 0..before {
        cc.cong_avoid(&mut w, late, 1);
    }
    assert_eq!((state(&cc).cnt, w.snd_cwnd), (2, before + before / 2));
}

#[test]
fn the_curve_is_computed_once_a_jiffy_at_most() {
    let rtt = Span::from_millis(100);
    let (mut cc, mut w) = after_loss(1_000, rtt);
    let at = |jiffy: u64| Nanos(jiffy * 4_000_000);
    cc.cong_avoid(&mut w, at(0), 1);
    assert_eq!((state(&cc).last_cwnd, state(&cc).last_time), (700, 0));
    cc.cong_avoid(&mut w, at(7), 1);
    assert_eq!(state(&cc).last_time, 0, "HZ / 32 = 7 jiffies with an unchanged window");
    cc.cong_avoid(&mut w, at(8), 1);
    assert_eq!(state(&cc).last_time, 8);
    w.snd_cwnd = 701;
    cc.cong_avoid(&mut w, at(8), 1);
    assert_eq!(state(&cc).last_cwnd, 700, "once in this jiffy already");
    cc.cong_avoid(&mut w, at(9), 1);
    assert_eq!((state(&cc).last_cwnd, state(&cc).last_time), (701, 9));
}

#[test]
fn idle_time_does_not_move_cubic_along_the_curve() {
    let (mut cc, mut w) = after_loss(1_000, Span::from_millis(100));
    let second = |s: u64| Nanos::ZERO + Span::from_secs(s);
    cc.cong_avoid(&mut w, second(1), 1);
    assert_eq!(state(&cc).epoch_start, 250);
    w.lsndtime = second(2);
    cc.cwnd_event(&mut w, second(7), CwndEvent::TxStart);
    assert_eq!(state(&cc).epoch_start, 250 + 5 * 250);
    w.lsndtime = second(0);
    cc.cwnd_event(&mut w, second(8), CwndEvent::TxStart);
    assert_eq!(state(&cc).epoch_start, 8 * 250, "never in the future");
}

#[test]
fn a_timeout_forgets_the_path() {
    let (mut cc, mut w) = after_loss(1_000, Span::from_millis(100));
    assert_eq!((state(&cc).last_max_cwnd, state(&cc).delay_min), (1_000, 100_000));
    cc.set_state(&mut w, Nanos::ZERO, CaState::Recovery);
    assert_eq!(state(&cc).last_max_cwnd, 1_000);
    cc.set_state(&mut w, Nanos::ZERO, CaState::Loss);
    assert_eq!((state(&cc).last_max_cwnd, state(&cc).delay_min), (0, 0));
}

#[test]
fn delays_in_the_first_second_of_an_epoch_are_ignored() {
    let (mut cc, mut w) = after_loss(1_000, Span::from_millis(100));
    cc.cong_avoid(&mut w, Nanos::ZERO, 1);
    cc.pkts_acked(&mut w, Nanos(999_999_999), 1, Some(Span::from_millis(50)));
    assert_eq!(state(&cc).delay_min, 100_000);
    cc.pkts_acked(&mut w, Nanos(1_000_000_000), 1, Some(Span::from_millis(50)));
    assert_eq!(state(&cc).delay_min, 50_000);
}

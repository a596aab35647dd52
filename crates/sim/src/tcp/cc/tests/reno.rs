use super::*;

#[test]
fn slow_start_doubles_each_round_and_stops_at_the_threshold() {
    let mut w = established(10);
    let mut cc = begun(CcKind::Reno, &mut w);
    for expected in [20, 40, 80] {
        for _ in 0..w.snd_cwnd {
            cc.cong_avoid(&mut w, Nanos::ZERO, 1);
        }
        assert_eq!(w.snd_cwnd, expected);
    }
    w.snd_ssthresh = 100;
    // A stretch ACK of 80: 20 take the window to the threshold, 60 of the 100 for the next segment remain.
    cc.cong_avoid(&mut w, Nanos::ZERO, 80);
    assert_eq!((w.snd_cwnd, w.snd_cwnd_cnt), (100, 60));
}

#[test]
fn congestion_avoidance_adds_a_segment_each_round() {
    let mut w = established(50);
    w.snd_ssthresh = 50;
    let mut cc = begun(CcKind::Reno, &mut w);
    for expected in 51..=80 {
        for _ in 0..w.snd_cwnd {
            cc.cong_avoid(&mut w, Nanos::ZERO, 1);
        }
        assert_eq!((w.snd_cwnd, w.snd_cwnd_cnt), (expected, 0));
    }
}

#[test]
fn credit_from_a_larger_window_counts_for_one_segment() {
    let mut w = established(10);
    w.snd_ssthresh = 10;
    w.snd_cwnd_cnt = 99;
    let mut cc = begun(CcKind::Reno, &mut w);
    cc.cong_avoid(&mut w, Nanos::ZERO, 1);
    assert_eq!((w.snd_cwnd, w.snd_cwnd_cnt), (11, 1));
}

#[test]
fn loss_halves_the_window_to_two_segments_at_least() {
    let mut cc = Cc::Reno;
    for (cwnd, half) in [(100, 50), (11, 5), (4, 2), (3, 2), (1, 2)] {
        assert_eq!(cc.ssthresh(&established(cwnd), Nanos::ZERO), half);
    }
}

#[test]
fn the_clamp_holds() {
    let mut w = established(10);
    w.snd_cwnd_clamp = 15;
    let mut cc = begun(CcKind::Reno, &mut w);
    cc.cong_avoid(&mut w, Nanos::ZERO, 10);
    assert_eq!(w.snd_cwnd, 15);
}

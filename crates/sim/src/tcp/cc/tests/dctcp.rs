//! DCTCP (RFC 8257) and Prague by hand.

use super::*;

/// A connection in congestion avoidance with accurate feedback, `rtt_ms` away.
fn scalable(kind: CcKind, snd_cwnd: u32, rtt_ms: u64) -> (Cc, Window) {
    let mut w = Window { accecn: true, srtt: Span::from_millis(rtt_ms), ..established(snd_cwnd) };
    let cc = begun(kind, &mut w);
    w.snd_ssthresh = snd_cwnd;
    (cc, w)
}

/// A round trip at the end of which `marked` of `acked` segments are known to have had CE.
fn round(cc: &mut Cc, w: &mut Window, now: Nanos, acked: u32, marked: u32) {
    // Beyond the end of the previous round (RFC 8257 section 3.3, WindowEnd).
    w.snd_una = w.snd_nxt + 1;
    w.snd_nxt = w.snd_una + u64::from(acked);
    let rs = RateSample { acked_sacked: acked, delivered_ce: marked, ..RateSample::default() };
    assert!(cc.cong_control(w, now, &rs));
}

fn alpha(cc: &Cc) -> f64 {
    let Cc::Dctcp(dctcp) = cc else { panic!("a scalable one") };
    dctcp.alpha()
}

/// RFC 8257 section 3.3: alpha = 15/16 alpha + 1/16 M, from one.
#[test]
fn alpha_is_the_smoothed_share_of_marks() {
    let (mut cc, mut w) = scalable(CcKind::Dctcp, 100, 10);
    let mut expected = 1.0;
    for (n, marked) in [(1, 0), (2, 100), (3, 50), (4, 0), (5, 25)] {
        round(&mut cc, &mut w, Nanos(n * 10_000_000), 100, marked);
        expected = expected * 15.0 / 16.0 + f64::from(marked) / 100.0 / 16.0;
        assert!((alpha(&cc) - expected).abs() < 1e-4, "{n}: {} is {expected}", alpha(&cc));
    }
}

/// RFC 8257 section 3.3: cwnd = cwnd (1 - alpha/2), at most once a window of data.
#[test]
fn the_window_falls_by_half_of_alpha_once_a_round_trip() {
    let (mut cc, mut w) = scalable(CcKind::Dctcp, 100, 10);
    w.snd_nxt = 101;
    for _ in 0..3 {
        let rs = RateSample { acked_sacked: 2, delivered_ce: 2, ..RateSample::default() };
        w.is_cwnd_limited = false;
        assert!(cc.cong_control(&mut w, Nanos(1), &rs));
        assert_eq!(w.snd_cwnd, 50, "alpha is one at first");
    }
    // 40 round trips without a mark: alpha is (15/16)^40 = 0.0757.
    for n in 1..=40 {
        w.snd_cwnd = 1000;
        w.is_cwnd_limited = false;
        round(&mut cc, &mut w, Nanos(n * 10_000_000), 100, 0);
    }
    let before = alpha(&cc);
    round(&mut cc, &mut w, Nanos(410_000_000), 100, 1);
    let kept = f64::from(w.snd_cwnd) / 1000.0;
    assert!((before - 0.0757).abs() < 0.01, "{before}");
    assert!((kept - (1.0 - alpha(&cc) / 2.0)).abs() <= 0.001, "{kept} at {}", alpha(&cc));
}

/// Prague, section 2.4.2: nothing is learnt before the first mark, which halves the window.
#[test]
fn prague_learns_from_the_first_mark_on() {
    let (mut cc, mut w) = scalable(CcKind::Prague, 100, 50);
    for n in 1..=40 {
        round(&mut cc, &mut w, Nanos(n * 50_000_000), 100, 0);
    }
    assert!((alpha(&cc) - 1.0).abs() < 1e-9);
    w.snd_cwnd = 100;
    round(&mut cc, &mut w, Nanos(3_000_000_000), 100, 100);
    assert_eq!(w.snd_cwnd, 50);
}

/// Prague, reduced dependence on the round trip: 5 ms away it grows by a fifth of a segment in its virtual
/// round trip of 25 ms. So its rate grows as that of a flow 25 ms away, which grows by one segment in a round
/// trip.
#[test]
fn prague_grows_as_if_it_were_25_ms_away() {
    for (rtt_ms, rounds) in [(5, 25), (25, 1), (100, 1)] {
        let (mut cc, mut w) = scalable(CcKind::Prague, 100, rtt_ms);
        for n in 1..=rounds * 10 {
            let acked = w.snd_cwnd;
            round(&mut cc, &mut w, Nanos(n * rtt_ms * 1_000_000), acked, 0);
        }
        assert!((109..=110).contains(&w.snd_cwnd), "{rtt_ms} ms: {}", w.snd_cwnd);
    }
}

/// Prague's pace: a window a round trip, bursts of 250 us.
#[test]
fn prague_paces_with_short_bursts() {
    let (mut cc, mut w) = scalable(CcKind::Prague, 100, 20);
    round(&mut cc, &mut w, Nanos(20_000_000), 1, 0);
    // 100 segments of 1448 bytes in 20 ms are 57.92 Mbit/s, of which 250 us are 1810 bytes.
    assert_eq!(w.sk_pacing_rate, Rate(57_920_000));
    assert!(w.pacing);
    assert_eq!(cc.max_tso_segs(&w), Some(1));
    w.sk_pacing_rate = Rate(1_000_000_000);
    assert_eq!(cc.max_tso_segs(&w), Some(21));
}

/// RFC 9331 sections 4.2 and 4.3: without accurate feedback, or after a loss, it is Reno.
#[test]
fn without_accurate_feedback_it_is_reno() {
    for kind in [CcKind::Dctcp, CcKind::Prague] {
        let mut w = established(100);
        let mut cc = begun(kind, &mut w);
        let rs = RateSample { acked_sacked: 2, delivered_ce: 2, ..RateSample::default() };
        assert!(!cc.cong_control(&mut w, Nanos(1), &rs));
        assert!(!w.pacing);
        assert_eq!((cc.ssthresh(&w, Nanos(1)), cc.max_tso_segs(&w)), (50, None));
        let (mut cc, mut w) = scalable(kind, 100, 10);
        w.ca_state = CaState::Recovery;
        assert!(!cc.cong_control(&mut w, Nanos(1), &rs));
        assert_eq!(cc.ssthresh(&w, Nanos(1)), 50);
    }
}

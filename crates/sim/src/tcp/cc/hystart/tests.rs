use crate::tcp::cc::tests::{begun, established};
use crate::tcp::cc::{Cc, CcKind, INFINITE_SSTHRESH, Window};
use goodqueue::{Nanos, Rate, Span};

/// A connection whose least round-trip time is `rtt_us`, at the beginning of a round at time `at_us`.
fn round(cwnd: u32, rtt_us: u64, at_us: u64) -> (Cc, Window) {
    let mut w = established(cwnd);
    let mut cc = begun(CcKind::Cubic, &mut w);
    w.snd_una = 2;
    w.snd_nxt = 1_000;
    ack(&mut cc, &mut w, at_us, rtt_us);
    (cc, w)
}

fn ack(cc: &mut Cc, w: &mut Window, at_us: u64, rtt_us: u64) -> bool {
    cc.pkts_acked(w, Nanos(at_us * 1_000), 1, Some(Span::from_micros(rtt_us)));
    w.snd_ssthresh != INFINITE_SSTHRESH
}

/// Number of the ACK, 3 ms apart, of a round with round-trip time `rtt_us` that ends slow start.
fn ends_by_delay(base_us: u64, rtt_us: u64) -> Option<u64> {
    let (mut cc, mut w) = round(20, base_us, 0);
    // The ACK that began the round above put the base delay into it, so the rise gets a separate round.
    w.snd_una = 1_001;
    w.snd_nxt = 2_000;
    (1..30).find(|&n| ack(&mut cc, &mut w, base_us + n * 3_000, rtt_us))
}

#[test]
fn the_ninth_of_nine_risen_delays_ends_slow_start() {
    // Thresholds: an eighth of the delay between 4 ms and 16 ms, to be exceeded.
    for (base, rise) in [(10_000, 4_000), (32_000, 4_000), (50_000, 6_250), (200_000, 16_000)] {
        assert_eq!(ends_by_delay(base, base + rise), None, "{base}");
        assert_eq!(ends_by_delay(base, base + rise + 1), Some(9), "{base}");
    }
}

#[test]
fn one_delay_as_short_as_the_path_keeps_slow_start_for_the_round() {
    let (mut cc, mut w) = round(20, 30_000, 0);
    for n in 1..100 {
        assert!(!ack(&mut cc, &mut w, n * 3_000, 60_000));
    }
}

#[test]
fn samples_are_of_one_round() {
    let (mut cc, mut w) = round(20, 30_000, 0);
    for n in 1..100 {
        if n % 8 == 0 {
            w.snd_una = w.snd_nxt + 1;
            w.snd_nxt = w.snd_una + 1_000;
        }
        assert!(!ack(&mut cc, &mut w, n * 3_000, 60_000), "eight delays a round are not enough");
    }
}

/// When a train of ACKs every `gap_us` ends slow start, microseconds from the beginning of the round.
fn ends_by_train(w_of: impl Fn(&mut Window), gap_us: u64) -> Option<u64> {
    let (mut cc, mut w) = round(20, 50_000, 70_000);
    w_of(&mut w);
    (1..200).map(|n| n * gap_us).find(|us| ack(&mut cc, &mut w, 70_000 + us, 50_000))
}

#[test]
fn a_train_of_half_the_path_ends_slow_start() {
    // Pacing off, rate not set: above 25 ms, with ACKs each millisecond at 26 ms.
    assert_eq!(ends_by_train(|_| {}, 1_000), Some(26_000));
    assert_eq!(ends_by_train(|_| {}, 2_000), Some(26_000));
    assert_eq!(ends_by_train(|_| {}, 2_001), None, "gaps above 2 ms are no train");
}

#[test]
fn a_paced_train_is_the_whole_path_and_four_super_packets() {
    // 4 * 65536 B at 10 Gbit/s are 209 us: above 50.209 ms. At 1 Gbit/s they are 2.1 ms, capped at 1 ms.
    let paced = |rate| {
        move |w: &mut Window| {
            w.pacing = true;
            w.sk_pacing_rate = Rate(rate);
        }
    };
    assert_eq!(ends_by_train(paced(10_000_000_000), 1), None, "200 us of ACKs");
    assert_eq!(ends_by_train(paced(10_000_000_000), 1_000), Some(51_000));
    assert_eq!(ends_by_train(paced(10_000_000_000), 1_931), Some(27 * 1_931), "26 * 1931 = 50206");
    assert_eq!(ends_by_train(paced(1_000_000_000), 1_000), Some(52_000));
    assert_eq!(ends_by_train(paced(0), 1_000), Some(51_000));
}

#[test]
fn small_windows_and_congestion_avoidance_are_left_alone() {
    let (mut cc, mut w) = round(15, 50_000, 0);
    for n in 1..100 {
        assert!(!ack(&mut cc, &mut w, n * 1_000, 100_000));
    }
    let (mut cc, mut w) = round(20, 50_000, 0);
    w.snd_ssthresh = 20;
    for n in 1..100 {
        ack(&mut cc, &mut w, n * 1_000, 100_000);
        assert_eq!(w.snd_ssthresh, 20);
        w.snd_cwnd += 1;
    }
}

#[test]
fn the_threshold_is_the_window_of_the_moment_and_is_set_once() {
    let (mut cc, mut w) = round(20, 50_000, 0);
    w.snd_cwnd = 33;
    for n in 1..=26 {
        ack(&mut cc, &mut w, n * 1_000, 50_000);
    }
    assert_eq!(w.snd_ssthresh, 33);
    w.snd_ssthresh = INFINITE_SSTHRESH;
    assert!(!ack(&mut cc, &mut w, 27_000, 50_000));
}

#[test]
fn a_round_ends_beyond_what_was_sent_when_it_began() {
    for (beyond, found) in [(0, true), (1, false)] {
        let (mut cc, mut w) = round(20, 30_000, 0);
        (w.snd_una, w.snd_nxt) = (w.snd_nxt + 1, 2_000);
        for n in 1..=8 {
            assert!(!ack(&mut cc, &mut w, n * 3_000, 60_000));
        }
        w.snd_una = 2_000 + beyond;
        assert_eq!(ack(&mut cc, &mut w, 27_000, 60_000), found, "{beyond}");
    }
}

/// A path of 50 ms and 10 Mbit/s, a full segment each 1211 us, from an initial window of 10. Rounds begin
/// with the ACKs of segments 1, 11 and 31; the train of the last one is above half of the path (25 ms) with
/// its 21st ACK after the first (25.4 ms), when 51 segments were acknowledged before it. Rounds that began
/// with the window of 16 would be at 23 and 55, and slow start would end at 54.
#[test]
fn rounds_are_counted_below_the_low_window_too() {
    let mut w = established(10);
    let mut cc = begun(CcKind::Cubic, &mut w);
    (w.snd_una, w.snd_nxt) = (1, 11);
    let mut at = [0_u64; 200];
    let mut free = 0;
    let mut send = |at_us: u64, segment: usize, at: &mut [u64]| {
        free = (at_us + 50_000).max(free + 1_211);
        at[segment] = free;
    };
    for segment in 1..=10 {
        send(0, segment, &mut at);
    }
    for acked in 1..100 {
        let now = at[acked];
        w.snd_una = acked as u64 + 1;
        if ack(&mut cc, &mut w, now, 50_000) {
            break;
        }
        w.snd_cwnd += 1;
        for _ in 0..2 {
            let next = usize::try_from(w.snd_nxt).expect("a small number");
            send(now, next, &mut at);
            w.snd_nxt += 1;
        }
    }
    assert_eq!(w.snd_ssthresh, 61);
}

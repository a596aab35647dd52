use super::*;
use crate::tcp::cc::tests::{begun, established};
use crate::tcp::cc::{Cc, CcKind};
use goodqueue::Span;

/// A sender with a round trip of 200 ms whose window is `cwnd` and full, and whose path has a base delay of
/// 20 ms. The peer's clock is `offset` ms ahead.
fn sender(cwnd: u32, offset: u32) -> (Cc, Window) {
    let mut w = established(cwnd);
    w.srtt = Span::from_millis(200);
    let mut cc = begun(CcKind::Ledbat, &mut w);
    (w.snd_cwnd, w.snd_ssthresh) = (cwnd, cwnd);
    sample(&mut cc, &mut w, 0, 20, offset);
    (cc, w)
}

/// An ACK at `ms` whose segment took `delay` ms. The oldest samples are forgotten.
fn sample(cc: &mut Cc, w: &mut Window, ms: u64, delay: u32, offset: u32) {
    w.ts_ecr = u32::try_from(ms).expect("few").wrapping_sub(delay);
    w.ts_recent = u32::try_from(ms).expect("few").wrapping_add(offset);
    cc.pkts_acked(w, Nanos(ms * 1_000_000), 1, None);
}

fn queuing_delay(cc: &Cc) -> u32 {
    let Cc::Ledbat(ledbat) = cc else { panic!("{cc:?}") };
    ledbat.queuing_delay()
}

/// The window with its part.
fn window(cc: &Cc, w: &Window) -> f64 {
    let Cc::Ledbat(ledbat) = cc else { panic!("{cc:?}") };
    f64::from(w.snd_cwnd) + ledbat.part as f64 / ONE as f64
}

/// Section 2.4.2: a window acknowledged at once changes it by off_target segments.
#[test]
fn a_round_trip_changes_the_window_by_the_distance_from_the_target() {
    for (delay, change) in [(20, 1.0), (45, 0.75), (70, 0.5), (120, 0.0), (145, -0.25), (320, -2.0)] {
        for offset in [0, 1, 5_000_000, u32::MAX - 30, u32::MAX / 2] {
            let (mut cc, mut w) = sender(100, offset);
            sample(&mut cc, &mut w, 1_000, delay, offset);
            assert_eq!(queuing_delay(&cc), delay - 20);
            cc.cong_avoid(&mut w, Nanos::ZERO, 100);
            assert!((window(&cc, &w) - 100.0 - change).abs() < 1e-5, "{delay}: {}", window(&cc, &w));
        }
    }
}

/// The RFC's formula in bytes and in floating point, over a hundred ACKs of two segments.
#[test]
fn the_window_follows_the_formula() {
    let (mut cc, mut w) = sender(40, 7);
    let mss = 1448.0;
    let mut bytes = 40.0 * mss;
    for n in 0..100_u32 {
        let queuing = n * 37 % 250;
        // One sample in a round trip: the filter has no other.
        sample(&mut cc, &mut w, 1_000 + u64::from(n) * 300, 20 + queuing, 7);
        w.max_packets_out = w.snd_cwnd + 1;
        cc.cong_avoid(&mut w, Nanos::ZERO, 2);
        bytes += (100.0 - f64::from(queuing)) / 100.0 * (2.0 * mss) * mss / bytes;
        assert!((window(&cc, &w) - bytes / mss).abs() < 1e-3, "{n}: {} {}", window(&cc, &w), bytes / mss);
    }
}

/// Section 2.4.2: the least of the last four samples, if they are no older than a round trip.
#[test]
fn the_current_delay_is_the_least_of_a_round_trip() {
    let (mut cc, mut w) = sender(10, 0);
    for (ms, delay, queuing) in
        [(1000, 60, 40), (1010, 90, 40), (1020, 70, 40), (1030, 80, 40), (1040, 95, 50), (1221, 95, 60)]
    {
        sample(&mut cc, &mut w, ms, delay, 0);
        assert_eq!(queuing_delay(&cc), queuing, "{ms}");
    }
}

/// Section 2.5: a lower base delay counts at once, a higher one after ten minutes.
#[test]
fn a_base_delay_is_remembered_for_ten_minutes() {
    let (mut cc, mut w) = sender(10, 0);
    for minute in 1..10 {
        sample(&mut cc, &mut w, minute * 60_000, 50, 0);
        assert_eq!(queuing_delay(&cc), 30, "{minute}");
    }
    sample(&mut cc, &mut w, 599_999, 50, 0);
    assert_eq!(queuing_delay(&cc), 30, "the tenth minute is not over");
    sample(&mut cc, &mut w, 600_000, 50, 0);
    assert_eq!(queuing_delay(&cc), 0, "it is");
    sample(&mut cc, &mut w, 601_000, 15, 0);
    sample(&mut cc, &mut w, 602_000, 50, 0);
    assert_eq!(queuing_delay(&cc), 35);
}

/// Section 2.5: INIT_CWND and MIN_CWND are 2, ALLOWED_INCREASE is 1. Section 2.4.2: a loss halves.
#[test]
fn the_window_has_its_bounds() {
    for (first, own) in [(10, 2), (1, 1)] {
        let mut w = established(first);
        let cc = begun(CcKind::Ledbat, &mut w);
        assert_eq!((w.snd_cwnd, w.in_slow_start()), (own, own < 2), "{cc:?}");
    }
    let (mut cc, mut w) = sender(100, 0);
    (w.packets_out, w.max_packets_out, w.is_cwnd_limited) = (40, 50, false);
    cc.cong_avoid(&mut w, Nanos::ZERO, 1);
    assert_eq!(w.snd_cwnd, 51, "50 were in flight");
    sample(&mut cc, &mut w, 1_000, 10_020, 0);
    cc.cong_avoid(&mut w, Nanos::ZERO, 50);
    assert_eq!(w.snd_cwnd, 2, "10 s of queue");
    for (cwnd, half) in [(101, 50), (3, 2)] {
        assert_eq!(cc.ssthresh(&established(cwnd), Nanos::ZERO), half);
    }
}

/// An ACK of nothing new says nothing about the delay.
#[test]
fn a_duplicate_is_no_sample() {
    let (mut cc, mut w) = sender(10, 0);
    sample(&mut cc, &mut w, 1_000, 30, 0);
    w.ts_recent += 500;
    cc.pkts_acked(&mut w, Nanos(1_001_000_000), 0, None);
    assert_eq!(queuing_delay(&cc), 10);
}

use super::*;
use crate::{Header, Ignore};

/// The example of tc-red(8): limit 400000 min 30000 max 90000 avpkt 1000 burst 55 bandwidth 10Mbit.
const EXAMPLE: Params =
    Params { min: Some(30_000), max: Some(90_000), burst: Some(55), ..Params::new(400_000) };

fn queue(params: Params) -> Red<Header> {
    let link = Link::ethernet(crate::Rate(10_000_000));
    let parts = (Rng::new(1), alloc::vec![Header::default(); 500]);
    Red::new(Nanos(0), params, link, parts).expect("a queue")
}

fn packet(ecn: u8) -> Header {
    Header { len: 1000, truesize: 1000, dsfield: ecn, ..Header::default() }
}

#[test]
fn the_weight_is_that_of_equation_3() {
    // Floyd and Jacobson, section 6: with min 5 packets and a burst of 50, w is at most 0.0042: 2^-8 is
    // 0.0039.
    let paper = Params { min: Some(5), max: Some(15), avpkt: 1, burst: Some(50), ..Params::new(1000) };
    assert_eq!(paper.law().map(|law| law.wlog), Ok(8));
    // The example by hand: 56 - (1 - (31/32)^56) * 32 = 29.4 packets, which is below 30; with 1/16 it is
    // 40.4.
    assert_eq!(EXAMPLE.law().map(|law| law.wlog), Ok(5));
}

#[test]
fn defaults_are_those_of_the_man_page() {
    let law = Params::new(120_000).law().expect("parameters");
    assert_eq!((law.qth_min, law.qth_max), (10_000, 30_000));
    assert_eq!(law.max_p, u32::MAX / 50);
}

#[test]
fn contradicting_parameters_are_named() {
    let wrong = |params: Params| params.law().err();
    assert_eq!(wrong(Params { max: Some(500_000), ..EXAMPLE }), Some(ParamsError::Thresholds));
    assert_eq!(wrong(Params { min: Some(0), ..EXAMPLE }), Some(ParamsError::Thresholds));
    assert_eq!(wrong(Params { burst: Some(u32::MAX), ..EXAMPLE }), Some(ParamsError::Burst));
    assert_eq!(wrong(Params { nodrop: true, ..EXAMPLE }), Some(ParamsError::Nodrop));
    let wide = Params { max: Some(1 << 31), burst: Some(55), ..Params::new(u32::MAX) };
    assert_eq!(wrong(Params { min: Some(30_000), ..wide }), Some(ParamsError::Range));
}

/// A queue that stays at 100 packets of 1000 bytes: the average approaches that, and above `max` each arrival
/// is dropped.
#[test]
fn above_max_each_arrival_is_dropped_and_below_min_none() {
    let mut queue = queue(EXAMPLE);
    for _ in 0..29 {
        assert_eq!(queue.enqueue(Nanos(1), packet(0), &mut Ignore), Verdict::Enqueued);
    }
    assert_eq!(queue.stats().drops, 0);
    let mut last = Verdict::Enqueued;
    for _ in 0..2000 {
        last = queue.enqueue(Nanos(1), packet(0), &mut Ignore);
    }
    assert_eq!(last, Verdict::Dropped(Reason::Red));
    assert!(queue.qavg() >> 5 >= 90_000);
    let counted = *queue.red_counters();
    assert!(counted.prob_drop > 0 && counted.forced_drop > 1000);
    assert_eq!(queue.stats().overlimits, counted.prob_drop + counted.forced_drop);
}

#[test]
fn ecn_marks_harddrop_drops_above_max_and_nodrop_keeps() {
    let run = |params: Params, ecn: u8| {
        let mut queue = queue(params);
        for _ in 0..700 {
            let _ = queue.enqueue(Nanos(1), packet(ecn), &mut Ignore);
        }
        (*queue.red_counters(), queue.inner.stats().drops)
    };
    let ecn = Params { ecn: true, ..EXAMPLE };
    let (marked, full) = run(ecn, 2);
    assert!(marked.prob_mark > 0 && marked.forced_mark > 0 && full > 0);
    assert_eq!((marked.prob_drop, marked.forced_drop), (0, 0));
    let (hard, _) = run(Params { harddrop: true, ..ecn }, 2);
    assert!(hard.prob_mark > 0 && hard.forced_drop > 0);
    assert_eq!(hard.forced_mark, 0);
    let (kept, full) = run(Params { nodrop: true, ..ecn }, 0);
    assert_eq!((kept.prob_drop, kept.forced_drop), (0, 0));
    assert!(full > 0, "the limit drops packets even with nodrop");
}

/// 1000 bytes take 0.8 ms at 10 Mbit/s. An idle time of 22 packets leaves (31/32)^22 = 0.4973 of the average.
#[test]
fn an_idle_time_lowers_the_average_as_the_packets_it_could_have_sent() {
    let mut queue = queue(EXAMPLE);
    for _ in 0..20 {
        let _ = queue.enqueue(Nanos(0), packet(0), &mut Ignore);
    }
    let before = queue.qavg();
    while queue.dequeue(Nanos(0), &mut Ignore).is_some() {}
    let _ = queue.enqueue(Nanos(22 * 800_000), packet(0), &mut Ignore);
    let expected = (31.0_f64 / 32.0).powi(22) * before as f64;
    assert!((queue.qavg() as f64 - expected).abs() <= 1.0, "{} {expected}", queue.qavg());
    // An empty queue without a dequeue is not idle: the average gets a sample of 0.
    assert_eq!(queue.dequeue(Nanos(0), &mut Ignore).map(|packet| packet.len), Some(1000));
    let before = queue.qavg();
    let _ = queue.enqueue(Nanos(1_000_000_000), packet(0), &mut Ignore);
    assert_eq!(queue.qavg(), before - (before >> 5));
}

/// Adaptive RED (2001): up by 0.01 or a quarter while the average is high, down to nine tenths while it is
/// low, between 1 and 50 %.
#[test]
fn the_adaptive_probability_stays_between_its_bounds() {
    let mut queue = queue(Params { adaptive: true, ..EXAMPLE });
    assert_eq!(queue.law().max_p, u32::MAX / 50);
    let mut now = Nanos(0);
    for _ in 0..100 {
        now += Span(INTERVAL);
        let _ = queue.dequeue(now, &mut Ignore);
    }
    assert!(queue.law().max_p < MAX_P_MIN && queue.law().max_p > MAX_P_MIN / 10 * 8);
    for _ in 0..1200 {
        let _ = queue.enqueue(now, packet(0), &mut Ignore);
    }
    let low = queue.law().max_p;
    let _ = queue.enqueue(now + Span(INTERVAL), packet(0), &mut Ignore);
    assert_eq!(queue.law().max_p, low + low / 4);
    let _ = queue.enqueue(now + Span(200 * INTERVAL), packet(0), &mut Ignore);
    assert!(queue.law().max_p > MAX_P_MAX && queue.law().max_p <= MAX_P_MAX + MAX_P_STEP);
}

#[test]
fn powers_of_one_less_a_fraction() {
    let one = (1_u64 << 62) as f64;
    for (wlog, exponent) in [(1, 1), (5, 0), (5, 56), (9, 1000), (31, 5_000_000_000), (2, 1 << 40)] {
        let expected = (1.0 - 0.5_f64.powi(i32::from(wlog))).powf(exponent as f64);
        let got = remaining(wlog, exponent) as f64 / one;
        assert!((got - expected).abs() < 1e-9, "{wlog} {exponent}: {got} {expected}");
    }
}

//! Parts of BBR by numbers.

use super::super::*;
use super::per_second;
use super::policing::interval;
use crate::tcp::cc::tests::{begun, established};
use crate::tcp::cc::{Cc, CcKind};
use goodqueue::{Rate, Span};

/// BBR on an established connection with `snd_cwnd` segments of window.
fn bbr(snd_cwnd: u32) -> (Bbr, Window) {
    let mut w = established(snd_cwnd);
    match begun(CcKind::Bbr, &mut w) {
        Cc::Bbr(bbr) => (*bbr, w),
        _ => panic!("not BBR"),
    }
}

/// One that knows its path: 1000 segments/s and 40 ms.
fn settled(snd_cwnd: u32) -> (Bbr, Window) {
    let (mut bbr, mut w) = bbr(snd_cwnd);
    bbr.bw = Windowed::new(0, u64::from(per_second(1_000).0));
    bbr.min_rtt_us = 40_000;
    bbr.full_bw_reached = true;
    bbr.has_seen_rtt = true;
    bbr.enter_probe_bw(&w);
    bbr.update_gains();
    w.delivered = 1_000;
    (bbr, w)
}

#[test]
fn bandwidth_in_fixed_point() {
    // 1000 * 2^24 / 10^6 = 16777.2; times 1448, times 990000, by 2^24: 1433501 B/s, 1 % below 1448000.
    let bw = per_second(1_000);
    assert_eq!(bw, Bw(16_777));
    assert_eq!(bw.pacing_rate(1_448, UNIT), Rate(1_433_501 * 8));
    assert_eq!(bw.product(40_000, UNIT), 40, "39.9995, rounded up");
    assert_eq!(bw.product(40_000, 2 * UNIT), 80);
    assert_eq!(bw.segments_in(40_000), 39);
    assert_eq!(Bw::of(7, 0), Bw(0));
    assert_eq!(Bw::of(u64::MAX, 1), Bw(u32::MAX));
}

#[test]
fn the_first_pacing_rate_is_the_window_in_1_ms_later_in_a_round_trip() {
    let (mut bbr, mut w) = bbr(10);
    assert!(w.pacing);
    // 10 * 2^24 / 1000 us = 167772; * 1448 * 739 / 256 * 0.99 * 10^6 / 2^24 = 41.4 MB/s.
    let rate = w.sk_pacing_rate.0;
    assert!(rate.abs_diff(10_000 * 1_448 * 739 / 256 * 99 / 100 * 8) < rate / 100_000, "{rate}");
    w.srtt = Span::from_millis(50);
    bbr.set_pacing_rate(&mut w, HIGH_GAIN);
    assert!(w.sk_pacing_rate.0.abs_diff(rate / 50) < rate / 50 / 1_000, "{rate} / 50");
    bbr.bw = Windowed::new(0, u64::from(per_second(10).0));
    let before = w.sk_pacing_rate;
    bbr.set_pacing_rate(&mut w, HIGH_GAIN);
    assert_eq!(w.sk_pacing_rate, before, "it only rises before the pipe is full");
}

#[test]
fn probing_begins_in_any_phase_but_the_draining_one() {
    let (mut bbr, w) = bbr(10);
    let mut begun = [0; 8];
    for _ in 0..7_000 {
        bbr.enter_probe_bw(&w);
        begun[usize::from(bbr.cycle_idx)] += 1;
    }
    assert_eq!(begun[1], 0);
    // 1000 each, standard deviation 29.
    assert!(begun.iter().enumerate().all(|(idx, n)| idx == 1 || (850..=1_150).contains(n)), "{begun:?}");
}

#[test]
fn the_first_round_of_recovery_conserves_and_its_end_restores() {
    let (mut bbr, mut w) = settled(80);
    assert_eq!(bbr.ssthresh(&w), w.snd_ssthresh, "the threshold is left alone");
    w.ca_state = CaState::Recovery;
    (w.packets_out, w.lost_out) = (65, 5);
    let ack = |losses, acked_sacked| RateSample { losses, acked_sacked, ..RateSample::default() };
    bbr.set_cwnd(&mut w, &ack(5, 2));
    assert_eq!(w.snd_cwnd, 62, "60 in flight and two delivered");
    bbr.set_cwnd(&mut w, &ack(3, 2));
    assert_eq!(w.snd_cwnd, 62, "losses do not take it below what conserves");
    let mut rate = RateSample { prior_delivered: 999, is_app_limited: true, ..ack(10, 2) };
    (rate.delivered, rate.interval) = (Some(1), Some(Span::from_millis(40)));
    bbr.cong_control(&mut w, Nanos::ZERO, &rate);
    assert_eq!(w.snd_cwnd, 62, "sent before the recovery began");
    rate.prior_delivered = 1_000;
    bbr.cong_control(&mut w, Nanos::ZERO, &rate);
    assert_eq!(w.snd_cwnd, 54, "after the round: less what was lost, and a segment for each delivered");
    (w.ca_state, w.lost_out) = (CaState::Open, 0);
    bbr.set_cwnd(&mut w, &ack(0, 2));
    assert_eq!(w.snd_cwnd, 82);
}

#[test]
fn an_ack_of_a_clump_is_room_in_the_window_for_ten_rounds() {
    let (mut bbr, mut w) = settled(200);
    bbr.aggregation = Aggregation::new(Nanos::ZERO);
    let mut extra = vec![];
    for round in 1..=12_u64 {
        // One clump of 50 in 10 ms, where the bandwidth gives 10; after that one by one.
        let acked = if round == 1 { 50 } else { 1 };
        w.delivered_mstamp = Nanos(round * 50_000_000 - 40_000_000 * u64::from(round == 1));
        bbr.aggregation.update(&w, per_second(1_000), acked, true);
        extra.push(bbr.aggregation.extra_acked());
    }
    assert_eq!(extra, [50, 50, 50, 50, 50, 50, 50, 50, 50, 1, 1, 1]);
    bbr.aggregation.begin_epoch(w.delivered_mstamp);
    w.snd_cwnd = 10_000;
    bbr.aggregation.update(&w, per_second(1_000), 2_000, false);
    bbr.aggregation.update(&w, per_second(1_000), 500, false);
    assert_eq!(bbr.aggregation.extra_acked(), 2_500, "of one epoch");
}

#[test]
fn aggregation_is_no_more_than_the_window() {
    let (mut bbr, mut w) = settled(200);
    w.snd_cwnd = 30;
    bbr.aggregation.update(&w, per_second(1_000), 70, false);
    assert_eq!(bbr.aggregation.extra_acked(), 30, "never more than the window");
}

#[test]
fn the_least_round_trip_time_is_kept_for_ten_seconds() {
    let (mut bbr, mut w) = settled(80);
    let at = |jiffy: u64| Nanos(jiffy * 4_000_000);
    let rtt = |ms, is_ack_delayed| RateSample {
        rtt: Some(Span::from_millis(ms)),
        is_ack_delayed,
        ..RateSample::default()
    };
    bbr.cong_control(&mut w, at(2_500), &rtt(60, false));
    assert_eq!((bbr.min_rtt_us, bbr.mode), (40_000, Mode::ProbeBw));
    bbr.cong_control(&mut w, at(2_501), &rtt(70, true));
    assert_eq!((bbr.min_rtt_us, bbr.mode), (40_000, Mode::ProbeRtt), "a delayed ACK measures the delay");
    bbr.cong_control(&mut w, at(2_502), &rtt(60, false));
    assert_eq!(bbr.min_rtt_us, 60_000);
    assert_eq!(w.app_limited, 1_000 + 80, "what is in flight is the sender's rate");
}

#[test]
fn after_idle_time_it_sends_at_the_known_bandwidth_and_puts_probe_rtt_off() {
    let (mut bbr, mut w) = settled(80);
    let late = Nanos::ZERO + Span::from_secs(60);
    bbr.cwnd_event(&mut w, late, CwndEvent::TxStart);
    assert!(!bbr.idle_restart, "not limited by its data");
    w.app_limited = 1_000;
    bbr.cwnd_event(&mut w, late, CwndEvent::TxStart);
    assert_eq!(w.sk_pacing_rate, Rate(1_433_501 * 8));
    let ack =
        RateSample { delivered: Some(1), interval: Some(Span::from_millis(40)), ..RateSample::default() };
    bbr.cong_control(&mut w, late, &ack);
    assert_eq!((bbr.mode, bbr.idle_restart), (Mode::ProbeBw, false));
    bbr.cong_control(&mut w, late, &ack);
    assert_eq!(bbr.mode, Mode::ProbeRtt);
}

#[test]
fn what_departs_later_finds_less_in_flight() {
    let (mut bbr, mut w) = settled(80);
    w.sk_pacing_rate = Rate(11_000_000);
    w.tcp_wstamp = Nanos(10_500_000);
    bbr.pacing_gain = UNIT;
    assert_eq!(bbr.packets_in_net_at_edt(&w, Nanos::ZERO, 40), 30, "10 ms deliver ten");
    bbr.pacing_gain = UNIT * 5 / 4;
    assert_eq!(bbr.packets_in_net_at_edt(&w, Nanos::ZERO, 40), 32, "and the two that depart");
    assert_eq!(bbr.packets_in_net_at_edt(&w, Nanos::ZERO, 3), 0);
}

#[test]
fn a_timeout_is_a_loss_to_the_model_and_an_undo_forgets_it() {
    let (mut bbr, mut w) = settled(80);
    bbr.full_bw = per_second(1_000);
    bbr.set_state(&w, CaState::Loss);
    assert_eq!((bbr.full_bw, bbr.prev_ca_state), (Bw(0), CaState::Loss));
    interval(&mut bbr.long_term, &mut w, 500, 200, 1_000);
    interval(&mut bbr.long_term, &mut w, 500, 200, 1_000);
    assert_eq!(bbr.bw(), per_second(500), "policed");
    assert_eq!(bbr.undo_cwnd(&w), 80);
    assert_eq!((bbr.full_bw, bbr.full_bw_cnt, bbr.bw()), (Bw(0), 0, per_second(1_000)));
}

#[test]
fn the_best_of_ten_rounds_is_the_bandwidth() {
    let (mut bbr, mut w) = settled(80);
    let mut round = |delivered| {
        w.delivered += 40;
        let rs = RateSample {
            prior_delivered: w.delivered,
            delivered: Some(delivered),
            interval: Some(Span::from_millis(40)),
            acked_sacked: 1,
            ..RateSample::default()
        };
        bbr.cong_control(&mut w, Nanos::ZERO, &rs);
        bbr.max_bw()
    };
    assert_eq!(round(80), per_second(2_000));
    for _ in 0..10 {
        assert_eq!(round(20), per_second(2_000));
    }
    assert_eq!(round(20), per_second(500));
}

#[test]
fn a_low_sample_without_data_does_not_count() {
    let (mut bbr, mut w) = settled(80);
    let mut sample = |delivered, is_app_limited| {
        let delivered = Some(delivered);
        let interval = Some(Span::from_millis(40));
        let rs = RateSample { delivered, interval, is_app_limited, ..RateSample::default() };
        bbr.next_rtt_delivered = u64::MAX;
        bbr.rtt_cnt += 20;
        bbr.cong_control(&mut w, Nanos::ZERO, &rs);
        bbr.max_bw()
    };
    assert_eq!(sample(39, true), per_second(1_000));
    assert_eq!(sample(60, true), per_second(1_500), "it is at least that");
    assert_eq!(sample(39, false), Bw::of(39, 40_000));
}

/// A round of `delivered` segments in 40 ms, while `prior_in_flight` were in flight.
fn round(bbr: &mut Bbr, w: &mut Window, delivered: u32, prior_in_flight: u32, losses: u32) {
    let rs = RateSample { prior_in_flight, losses, ..RateSample::default() };
    round_of(bbr, w, delivered, rs);
}

fn round_of(bbr: &mut Bbr, w: &mut Window, delivered: u32, rs: RateSample) {
    w.delivered += u64::from(delivered);
    w.delivered_mstamp += Span::from_millis(41);
    let rs = RateSample {
        prior_delivered: w.delivered,
        delivered: Some(delivered),
        interval: Some(Span::from_millis(40)),
        acked_sacked: 1,
        ..rs
    };
    bbr.cong_control(w, w.delivered_mstamp, &rs);
}

#[test]
fn a_quarter_more_within_three_rounds_is_a_pipe_not_full() {
    // 1.08^3 = 1.26, 1.07^3 = 1.23.
    for (grown, full) in [(108, false), (107, true)] {
        let (mut bbr, mut w) = bbr(10);
        let mut delivered = 10_000;
        for _ in 0..8 {
            round(&mut bbr, &mut w, delivered, 0, 0);
            delivered = delivered * grown / 100;
        }
        assert_eq!(bbr.full_bw_reached, full, "{grown} %");
    }
    let (mut bbr, mut w) = bbr(10);
    for _ in 0..8 {
        round_of(&mut bbr, &mut w, 40, RateSample { is_app_limited: true, ..RateSample::default() });
    }
    assert!(!bbr.full_bw_reached, "a sender without data does not find out");
}

#[test]
fn probing_ends_with_a_quarter_more_in_flight_or_a_loss() {
    // 1.25 * 40, three super-packets of two and two for the probe: 58; two depart with the next.
    for (in_flight, losses, over) in [(55, 0, false), (56, 0, true), (30, 1, true)] {
        let (mut bbr, mut w) = settled(80);
        (bbr.cycle_idx, w.sk_pacing_rate) = (0, Rate(11_000_000));
        bbr.update_gains();
        round(&mut bbr, &mut w, 40, in_flight, losses);
        assert_eq!(bbr.cycle_idx == 1, over, "{in_flight} {losses}");
    }
}

#[test]
fn probe_rtt_lasts_a_round_even_where_that_is_longer() {
    let (mut bbr, mut w) = settled(80);
    (bbr.mode, w.packets_out) = (Mode::ProbeRtt, 4);
    let none = RateSample::default();
    bbr.cong_control(&mut w, Nanos::ZERO, &none);
    bbr.cong_control(&mut w, Nanos(900_000_000), &none);
    assert_eq!(bbr.mode, Mode::ProbeRtt, "900 ms, and no round has ended");
    w.delivered_mstamp = Nanos(900_000_000);
    round(&mut bbr, &mut w, 4, 4, 0);
    assert_eq!(bbr.mode, Mode::ProbeBw);
}

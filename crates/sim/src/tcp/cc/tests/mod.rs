//! Tests of what all congestion controls share. Their other tests are next to them.

mod absurd;
mod cdg;
mod dctcp;
mod lp;
mod reno;
mod vegas;
mod westwood;

use super::*;
use goodqueue::Rate;

/// An established connection in slow start, limited by its window.
pub(super) fn established(snd_cwnd: u32) -> Window {
    Window {
        packets_out: snd_cwnd,
        delivered: 1,
        is_cwnd_limited: true,
        max_packets_out: snd_cwnd,
        ..Window::new(snd_cwnd, 1448)
    }
}

/// `kind` on that connection.
pub(super) fn begun(kind: CcKind, w: &mut Window) -> Cc {
    let mut cc = Cc::new(kind, Rng::stream(1, 2, "bbr"));
    cc.init(w, Nanos::ZERO);
    cc
}

/// A reduction as the sender makes it: threshold, window and undo information.
pub(super) fn reduce(cc: &mut Cc, w: &mut Window, now: Nanos) {
    w.prior_cwnd = w.snd_cwnd;
    w.snd_ssthresh = cc.ssthresh(w, now);
    w.snd_cwnd = w.snd_ssthresh;
    w.snd_cwnd_cnt = 0;
}

#[test]
fn names_are_those_of_the_kernel() {
    for kind in CcKind::ALL {
        assert_eq!(kind.to_string().parse(), Ok(kind));
        assert_eq!(Cc::new(kind, Rng::new(1)).kind(), kind);
    }
    let error = "illinois".parse::<CcKind>().expect_err("it is not here");
    let there_are = "there are reno, cubic, bbr, dctcp, prague, ledbat, westwood, vegas, cdg, lp";
    assert_eq!(error.to_string(), format!("no congestion control `illinois`; {there_are}"));
}

#[test]
fn a_connection_carries_96_bytes_of_congestion_control() {
    assert!(size_of::<Cc>() <= 96, "{}", size_of::<Cc>());
}

#[test]
fn bbr_chooses_its_buffers_and_super_packets() {
    let mut w = established(10);
    let (cubic, bbr) = (begun(CcKind::Cubic, &mut w), begun(CcKind::Bbr, &mut w));
    assert_eq!((cubic.sndbuf_expand(), bbr.sndbuf_expand()), (2, 3));
    w.sk_pacing_rate = Rate(1_199_999);
    assert_eq!((cubic.min_tso_segs(&w), bbr.min_tso_segs(&w)), (2, 1));
    w.sk_pacing_rate = Rate(1_200_000);
    assert_eq!(bbr.min_tso_segs(&w), 2);
}

#[test]
fn a_sender_without_data_does_not_grow() {
    for kind in [CcKind::Reno, CcKind::Cubic] {
        let mut w = established(100);
        let mut cc = begun(kind, &mut w);
        w.is_cwnd_limited = false;
        w.max_packets_out = 50;
        cc.cong_avoid(&mut w, Nanos::ZERO, 10);
        assert_eq!(w.snd_cwnd, 100, "50 segments fill no more than half the window");
        w.max_packets_out = 51;
        cc.cong_avoid(&mut w, Nanos::ZERO, 1);
        assert_eq!(w.snd_cwnd, 101, "slow start may reach twice what was sent");
        w.snd_ssthresh = 101;
        cc.cong_avoid(&mut w, Nanos::ZERO, 101);
        assert_eq!(w.snd_cwnd, 101, "congestion avoidance takes a full window");
    }
}

#[test]
fn an_unnecessary_reduction_is_undone() {
    for kind in [CcKind::Reno, CcKind::Cubic] {
        let mut w = established(100);
        let mut cc = begun(kind, &mut w);
        reduce(&mut cc, &mut w, Nanos::ZERO);
        assert!(w.snd_cwnd < 100);
        assert_eq!(cc.undo_cwnd(&w), 100);
    }
}

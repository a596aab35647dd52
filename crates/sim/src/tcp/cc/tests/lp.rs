use super::*;
use goodqueue::Span;

/// `ms` of ACKs, one of two segments each millisecond, with a round trip of 40 ms and a one-way delay of
/// `owd` ms. Returns the time of the first one that lowers the window, and the time after the last.
fn acks(cc: &mut Cc, w: &mut Window, from: u64, ms: u64, owd: u32) -> (Option<u64>, u64) {
    let mut lowered = None;
    for now in from..from + ms {
        let sent = u32::try_from(now).expect("a short test") - 40;
        (w.ts_ecr, w.ts_recent) = (sent, sent + owd);
        let before = w.snd_cwnd;
        cc.pkts_acked(w, Nanos(now * 1_000_000), 2, Some(Span::from_millis(40)));
        if w.snd_cwnd < before {
            lowered.get_or_insert(now);
        }
        cc.cong_avoid(w, Nanos(now * 1_000_000), 2);
    }
    (lowered, from + ms)
}

/// After the first loss, with delays between 10 and 110 ms. The smoothed one is 10 ms again.
fn after_a_loss() -> (Window, Cc, u64) {
    let mut w = established(100);
    let mut cc = begun(CcKind::Lp, &mut w);
    let (_, now) = acks(&mut cc, &mut w, 1_000, 100, 110);
    let (lowered, now) = acks(&mut cc, &mut w, now, 100, 10);
    assert_eq!(lowered, None, "slow start hears no sign");
    w.snd_cwnd = 100;
    w.snd_ssthresh = 100;
    (w, cc, now)
}

/// The threshold is 15 % of the range: 25 ms.
#[test]
fn the_threshold_is_fifteen_percent_of_the_range() {
    let (mut w, mut cc, now) = after_a_loss();
    let (lowered, now) = acks(&mut cc, &mut w, now, 200, 25);
    assert_eq!(lowered, None);
    assert!(acks(&mut cc, &mut w, now, 200, 27).0.is_some());
}

#[test]
fn a_sign_halves_the_window_and_growth_waits_for_three_round_trips() {
    let (mut w, mut cc, now) = after_a_loss();
    let (lowered, _) = acks(&mut cc, &mut w, now, 5, 110);
    let at = lowered.expect("a sign");
    assert_eq!(w.snd_cwnd, 50);
    let (lowered, now) = acks(&mut cc, &mut w, now + 5, at + 119 - (now + 5), 10);
    assert_eq!((lowered, w.snd_cwnd), (None, 50), "120 ms are not over");
    acks(&mut cc, &mut w, now, 60, 10);
    assert_eq!(w.snd_cwnd, 52, "as Reno: 118 segments acknowledged at a window of 50");
}

/// Within one round trip of a sign there is no other. A sign within three leaves one segment.
#[test]
fn a_second_sign_leaves_one_segment() {
    let (mut w, mut cc, now) = after_a_loss();
    let (lowered, now) = acks(&mut cc, &mut w, now, 5, 110);
    let at = lowered.expect("a sign");
    let (lowered, now) = acks(&mut cc, &mut w, now, at + 40 - now, 110);
    assert_eq!((lowered, w.snd_cwnd), (None, 50));
    let (lowered, _) = acks(&mut cc, &mut w, now, 1, 110);
    assert_eq!((lowered, w.snd_cwnd), (Some(at + 40), 1));
}

/// An ACK of the only segment was held back. Its delay is not the path's.
#[test]
fn a_delayed_ack_is_no_sign() {
    let (mut w, mut cc, now) = after_a_loss();
    w.packets_out = 0;
    for now in now..now + 100 {
        let sent = u32::try_from(now).expect("a short test") - 40;
        (w.ts_ecr, w.ts_recent) = (sent, sent + 110);
        cc.pkts_acked(&mut w, Nanos(now * 1_000_000), 1, Some(Span::from_millis(40)));
    }
    assert_eq!(w.snd_cwnd, 100);
}

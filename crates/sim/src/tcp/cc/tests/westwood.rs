use super::*;
use goodqueue::Span;

/// A sender at 20 Mbit/s: a segment each 579.2 us, with a round trip of `rtt` ms, for `ms`.
fn acks(cc: &mut Cc, w: &mut Window, (from, ms): (u64, u64), rtt: u64) -> u64 {
    let until = from + ms * 1_000_000;
    let mut now = from;
    while now < until {
        now += 579_200;
        w.delivered += 1;
        cc.pkts_acked(w, Nanos(now), 1, Some(Span::from_millis(rtt)));
    }
    now
}

/// The window after a loss is the bandwidth times the least round trip: 20 Mbit/s for 40 ms are 69 segments.
#[test]
fn a_loss_leaves_what_the_path_holds_without_a_queue() {
    let mut w = established(300);
    let mut cc = begun(CcKind::Westwood, &mut w);
    let now = acks(&mut cc, &mut w, (0, 2_000), 40);
    acks(&mut cc, &mut w, (now, 2_000), 180);
    reduce(&mut cc, &mut w, Nanos(now));
    assert_eq!(w.snd_ssthresh, 150, "until the end of the reduction as Reno");
    cc.cwnd_event(&mut w, Nanos(now), CwndEvent::CompleteCwr);
    assert!((67..=69).contains(&w.snd_cwnd), "{}", w.snd_cwnd);
    assert_eq!(w.snd_ssthresh, w.snd_cwnd);
}

#[test]
fn without_a_sample_two_segments_are_left() {
    let mut w = established(50);
    let mut cc = begun(CcKind::Westwood, &mut w);
    cc.pkts_acked(&mut w, Nanos(1), 1, Some(Span::from_millis(40)));
    cc.cwnd_event(&mut w, Nanos(2), CwndEvent::CompleteCwr);
    assert_eq!((w.snd_cwnd, w.snd_ssthresh), (2, 2));
}

/// After a timeout the least round trip is the next one: the path may have changed.
#[test]
fn a_timeout_forgets_the_least_round_trip() {
    let mut w = established(300);
    let mut cc = begun(CcKind::Westwood, &mut w);
    let now = acks(&mut cc, &mut w, (0, 3_000), 40);
    cc.cwnd_event(&mut w, Nanos(now), CwndEvent::Loss);
    let before = w.snd_ssthresh;
    acks(&mut cc, &mut w, (now, 3_000), 120);
    cc.cwnd_event(&mut w, Nanos(now), CwndEvent::CompleteCwr);
    assert!((3 * before - 4..=3 * before + 4).contains(&w.snd_cwnd), "{before} and {}", w.snd_cwnd);
}

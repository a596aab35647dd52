use super::*;
use goodqueue::Span;

/// A round trip of `rtt` us in which all of the window is acknowledged, a segment each ACK.
fn round(cc: &mut Cc, w: &mut Window, rtt: u64) {
    let sent = u64::from(w.snd_cwnd);
    w.snd_nxt += sent;
    for _ in 0..sent {
        w.snd_una += 1;
        cc.pkts_acked(w, Nanos::ZERO, 1, Some(Span::from_micros(rtt)));
        cc.cong_avoid(w, Nanos::ZERO, 1);
    }
}

/// A path that holds 100 segments in 100 ms: what the window has beyond them waits.
fn path(w: &Window) -> u64 {
    100_000 + u64::from(w.snd_cwnd.saturating_sub(100)) * 1_000
}

/// The paper's purpose (section 3.2): from below and from above the window converges to where 2 to 4 segments
/// wait.
#[test]
fn two_to_four_segments_wait_on_a_path_of_its_own() {
    for begin in [60, 180] {
        let mut w = established(begin);
        w.snd_ssthresh = begin;
        let mut cc = begun(CcKind::Vegas, &mut w);
        // The path was empty once.
        cc.pkts_acked(&mut w, Nanos::ZERO, 1, Some(Span::from_millis(100)));
        for _ in 0..200 {
            let rtt = path(&w);
            round(&mut cc, &mut w, rtt);
        }
        assert!((102..=104).contains(&w.snd_cwnd), "from {begin}: {}", w.snd_cwnd);
    }
}

/// Section 3.3: slow start ends as soon as a segment waits, and the window falls to what the path holds.
#[test]
fn slow_start_ends_when_segments_wait() {
    let mut w = established(10);
    let mut cc = begun(CcKind::Vegas, &mut w);
    // The fifth round trip, with 160 segments, is the first in which segments wait; the next one reacts.
    let windows = (0..6).map(|_| {
        let rtt = path(&w);
        round(&mut cc, &mut w, rtt);
        w.snd_cwnd
    });
    assert_eq!(windows.collect::<Vec<u32>>(), [20, 40, 80, 160, 320, 201], "320 * 100 / 160, and one");
    assert!(!w.in_slow_start());
}

/// Round trips are judged in the state Open alone; outside it is Reno, and so it is with two samples or
/// fewer.
#[test]
fn it_is_reno_while_it_cannot_judge() {
    let mut w = established(100);
    w.snd_ssthresh = 50;
    let mut cc = begun(CcKind::Vegas, &mut w);
    cc.set_state(&mut w, Nanos::ZERO, CaState::Disorder);
    cc.pkts_acked(&mut w, Nanos::ZERO, 1, Some(Span::from_millis(10)));
    for _ in 0..3 {
        round(&mut cc, &mut w, 100_000);
    }
    assert_eq!(w.snd_cwnd, 103, "90 segments wait");
    cc.set_state(&mut w, Nanos::ZERO, CaState::Open);
    for _ in 0..4 {
        round(&mut cc, &mut w, 100_000);
    }
    assert!(w.snd_cwnd < 103, "{}", w.snd_cwnd);
}

/// After idle time the least round trip is forgotten: the path may have changed.
#[test]
fn idle_time_forgets_the_path() {
    let mut w = established(100);
    w.snd_ssthresh = 100;
    let mut cc = begun(CcKind::Vegas, &mut w);
    (0..5).for_each(|_| round(&mut cc, &mut w, 10_000));
    cc.cwnd_event(&mut w, Nanos::ZERO, CwndEvent::TxStart);
    let before = w.snd_cwnd;
    (0..5).for_each(|_| round(&mut cc, &mut w, 100_000));
    assert!(w.snd_cwnd > before, "{} after {before}", w.snd_cwnd);
}

//! Opening with losses (RFC 9293 section 3.5, RFC 6298 section 5.7).

use super::pipe::{Fate, Pipe, plain};
use crate::tcp::cc::CcKind;
use crate::tcp::{Config, Flags, Opening};
use goodqueue::{Rate, Span};

fn pipe(config: &Config, opening: Opening) -> Pipe {
    let mut pipe =
        Pipe::with(config, config, CcKind::Reno, Rate(1_000_000_000), Span::from_millis(20), opening);
    pipe.tx.write(14_480);
    pipe
}

#[test]
fn either_side_may_open() {
    for opening in [Opening::Active, Opening::Passive] {
        let mut pipe = pipe(&plain(), opening);
        assert!(pipe.run_until_done(Span::from_secs(1)));
        assert_eq!(pipe.rx.received(), 14_480);
        assert_eq!(pipe.tx.stats().syn_retransmits, 0);
    }
}

/// A lost SYN or SYN-ACK is sent again after a second; the timer wheel makes that up to 32 ms more.
#[test]
fn a_lost_syn_or_syn_ack_costs_a_second() {
    for (forth, back) in [(true, false), (false, true)] {
        for opening in [Opening::Active, Opening::Passive] {
            let mut pipe = pipe(&plain(), opening);
            pipe.forth = Box::new(move |n, _| if n == 0 && forth { Fate::Drop } else { Fate::Pass });
            pipe.back = Box::new(move |n, _| if n == 0 && back { Fate::Drop } else { Fate::Pass });
            assert!(pipe.run_until_done(Span::from_secs(4)));
            let ms = pipe.now.0 / 1_000_000;
            assert!((1040..1100).contains(&ms), "{opening:?}: {ms} ms");
            // One retransmission leaves the initial window as it is.
            assert_eq!(pipe.tx.window().snd_cwnd, 20);
        }
    }
}

/// Three losses: 1, 2 and 4 s, and an initial window of one (Linux `tcp_init_transfer`).
#[test]
fn the_syn_backs_off_and_two_retransmissions_cut_the_window() {
    let mut pipe = pipe(&plain(), Opening::Active);
    pipe.forth = Box::new(|n, _| if n < 3 { Fate::Drop } else { Fate::Pass });
    pipe.run(Span::from_millis(7_500));
    let syns: Vec<u64> =
        pipe.data.iter().filter(|c| c.segment.flags.has(Flags::SYN)).map(|c| c.at.0 / 1_000_000).collect();
    assert_eq!(syns.len(), 4);
    for (gap, wanted) in syns.windows(2).map(|w| w[1] - w[0]).zip([1000, 2000, 4000]) {
        assert!((wanted..wanted + 260).contains(&gap), "{syns:?}");
    }
    let established = pipe.acks[0].at;
    let first: Vec<u64> = pipe.payload().take(2).map(|c| c.at.since(established).0 / 1_000_000).collect();
    assert_eq!(first[0], 10, "half a round trip after the SYN-ACK left");
    assert!(first[1] >= 30, "the window was one segment: {first:?}");
    assert_eq!(pipe.tx.stats().syn_retransmits, 3);
}

#[test]
fn a_connection_without_an_answer_is_abandoned() {
    let mut pipe = pipe(&plain(), Opening::Active);
    pipe.forth = Box::new(|_, _| Fate::Drop);
    pipe.run(Span::from_secs(300));
    assert!(pipe.tx.is_dead());
    assert_eq!(pipe.data.len(), 7, "tcp_syn_retries 6");
    assert_eq!(pipe.tx.next_timer(), None);
}

/// The last ACK of the handshake is lost: the passive sender repeats its SYN-ACK, the receiver its ACK.
#[test]
fn a_lost_last_ack_is_repaired() {
    let mut pipe = pipe(&plain(), Opening::Passive);
    pipe.back = Box::new(|n, _| if n == 1 { Fate::Drop } else { Fate::Pass });
    assert!(pipe.run_until_done(Span::from_secs(4)));
    assert_eq!(pipe.rx.received(), 14_480);
}

/// RFC 3168 section 6.1.1: both must want it; section 6.1.1.1: a repeated SYN no longer asks.
#[test]
fn ecn_is_negotiated() {
    let ecn = Config { ecn: true, ..plain() };
    for (tx, rx, wanted) in [(&ecn, &ecn, true), (&ecn, &plain(), false), (&plain(), &ecn, false)] {
        for opening in [Opening::Active, Opening::Passive] {
            let mut pipe =
                Pipe::with(tx, rx, CcKind::Reno, Rate(1_000_000_000), Span::from_millis(20), opening);
            pipe.tx.write(10_000);
            assert!(pipe.run_until_done(Span::from_secs(1)));
            assert_eq!(pipe.tx.has_ecn(), wanted);
            assert_eq!(pipe.payload().all(|c| c.segment.ecn != 0), wanted);
        }
    }
    let mut pipe = pipe(&ecn, Opening::Active);
    pipe.forth = Box::new(|n, _| if n == 0 { Fate::Drop } else { Fate::Pass });
    assert!(pipe.run_until_done(Span::from_secs(4)));
    assert!(!pipe.tx.has_ecn());
}

#[test]
fn a_flow_of_no_bytes_is_done_when_it_is_established() {
    let mut pipe = Pipe::new(&plain(), CcKind::Reno, Rate(1_000_000_000), Span::from_millis(20));
    assert!(pipe.run_until_done(Span::from_secs(1)));
    assert_eq!(pipe.now.0, 1_000_000 + 20_000_000 + 592, "SYN of 74 bytes at 1 Gbit/s");
    pipe.tx.close();
    assert!(!pipe.tx.is_done());
    assert!(pipe.run_until_done(Span::from_secs(1)));
    assert!(pipe.rx.is_finished());
    assert_eq!((pipe.rx.received(), pipe.payload().count()), (0, 0));
}

#[test]
fn an_abort_is_one_reset() {
    let mut pipe = pipe(&plain(), Opening::Active);
    pipe.tx.write(u64::MAX);
    pipe.run(Span::from_millis(100));
    pipe.tx.abort();
    let before = pipe.data.len();
    pipe.run(Span::from_secs(10));
    assert_eq!(pipe.data.len(), before + 1);
    assert!(pipe.data[before].segment.flags.has(Flags::RST));
    assert!(pipe.tx.is_dead() && pipe.rx.is_dead());
    assert_eq!((pipe.tx.next_timer(), pipe.rx.next_timer()), (None, None));
}

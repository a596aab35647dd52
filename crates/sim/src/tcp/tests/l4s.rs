//! Accurate ECN feedback (RFC 9768), and who sends ECT(1) (RFC 9331).

use super::pipe::{Fate, Pipe, drop_first_of, pass, plain};
use crate::tcp::cc::CcKind;
use crate::tcp::{Config, Flags, Opening};
use crate::tcp::{ECT0, ECT1};
use goodqueue::{Rate, Span};

fn accurate() -> Config {
    Config { ecn: true, accecn: true, ..plain() }
}

fn pipe(tx: &Config, rx: &Config, kind: CcKind, opening: Opening) -> Pipe {
    let mut pipe = Pipe::with(tx, rx, kind, Rate(20_000_000), Span::from_millis(20), opening);
    pipe.tx.write(u64::MAX);
    pipe
}

/// RFC 9768 section 3.1.1, table 2: each side's wish, and what results: feedback, ECN, the codepoint of
/// the data.
#[test]
fn accurate_ecn_is_negotiated_if_both_sides_support_it() {
    let ecn = Config { ecn: true, ..plain() };
    let cases = [
        (accurate(), accurate(), true, true),
        (accurate(), ecn, false, true),
        (ecn, accurate(), false, true),
        (accurate(), plain(), false, false),
        (plain(), accurate(), false, false),
    ];
    for opening in [Opening::Active, Opening::Passive] {
        for (tx, rx, is_accurate, has_ecn) in cases {
            let mut pipe = pipe(&tx, &rx, CcKind::Prague, opening);
            pipe.run(Span::from_millis(200));
            assert_eq!((pipe.tx.window().accecn, pipe.tx.has_ecn()), (is_accurate, has_ecn));
            assert!(pipe.payload().count() > 20);
            let wanted = match (has_ecn, is_accurate) {
                (false, _) => 0,
                (true, false) => ECT0,
                (true, true) => ECT1,
            };
            assert!(pipe.payload().all(|c| c.segment.ecn == wanted));
            // ACE begins with five; with classic ECN there is no mark, so no ECE.
            let ace = if is_accurate { 5 } else { 0 };
            assert!(pipe.pure_acks().skip(1).all(|c| c.segment.ace() == ace), "{opening:?} {tx:?}");
        }
    }
}

/// ACE of the SYN and the SYN-ACK, and a SYN that is sent again no longer asks.
#[test]
fn the_handshake_is_that_of_the_rfc() {
    let mut pipe = pipe(&accurate(), &accurate(), CcKind::Prague, Opening::Active);
    pipe.forth = Box::new(|n, _| if n == 0 { Fate::Drop } else { Fate::Pass });
    pipe.run(Span::from_millis(1500));
    let syns: Vec<u8> =
        pipe.data.iter().filter(|c| c.segment.flags.has(Flags::SYN)).map(|c| c.segment.ace()).collect();
    assert_eq!(syns, [0b111, 0]);
    let mut pipe = super::l4s::pipe(&accurate(), &accurate(), CcKind::Prague, Opening::Active);
    pipe.run(Span::from_millis(100));
    assert_eq!((pipe.data[0].segment.ace(), pipe.acks[0].segment.ace()), (0b111, 0b010));
}

/// DCTCP has accurate feedback and ECT(0): ECT(1) is for those that meet RFC 9331 section 4.3.
#[test]
fn dctcp_sends_ect0() {
    let mut pipe = pipe(&accurate(), &accurate(), CcKind::Dctcp, Opening::Active);
    pipe.run(Span::from_millis(100));
    assert!(pipe.payload().all(|c| c.segment.ecn == ECT0));
}

/// RFC 9768 section 3.2.2: every mark is counted once, whatever is marked, lost and sent again; section
/// 3.2.2.5: also where ACKs are lost, as long as fewer than eight packets are acknowledged by one.
#[test]
fn every_mark_is_counted() {
    for every in [1, 3, 7, 40] {
        let mut pipe = pipe(&accurate(), &accurate(), CcKind::Prague, Opening::Active);
        pipe.forth = Box::new(move |n, segment| match n % every {
            _ if segment.len == 0 => Fate::Pass,
            _ if n == 500 => Fate::Drop,
            0 => Fate::Mark,
            _ => Fate::Pass,
        });
        pipe.back =
            Box::new(
                |n, segment| {
                    if n % 9 == 8 && !segment.flags.has(Flags::SYN) { Fate::Drop } else { Fate::Pass }
                },
            );
        pipe.run(Span::from_secs(3));
        // Let everything in flight complete.
        (pipe.forth, pipe.back) = (pass(), pass());
        let marked =
            pipe.data.iter().enumerate().filter(|(n, c)| c.segment.len > 0 && n % every == 0 && *n != 500);
        let marked = marked.count() as u64;
        pipe.tx.abort();
        pipe.run(Span::from_secs(4));
        let known = pipe.tx.stats().delivered_ce;
        let under_way = u64::from(pipe.tx.window().packets_out);
        assert!(
            known <= marked && known + under_way >= marked,
            "{every}: {known} of {marked}, {under_way} out"
        );
        assert!(known > 10);
    }
}

/// Retransmissions are ECN-capable, too (RFC 8311 section 4.3), and there is neither ECE nor CWR.
#[test]
fn retransmissions_are_l4s_too() {
    let mut pipe = pipe(&accurate(), &accurate(), CcKind::Prague, Opening::Active);
    pipe.forth = drop_first_of(&[20, 25]);
    pipe.run(Span::from_secs(1));
    assert_eq!(pipe.retransmissions().len(), 2);
    assert!(pipe.payload().all(|c| c.segment.ecn == ECT1 && c.segment.ace() == 0));
}

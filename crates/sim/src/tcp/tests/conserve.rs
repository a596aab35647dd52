//! Whatever the path does to segments, everything written is received, the scoreboard's counters agree with a
//! naive recount (the sender asserts it on every ACK), and neither end sends for ever or stops.

use super::pipe::{Fate, Pipe, Rule};
use crate::tcp::cc::CcKind;
use crate::tcp::{Config, Opening};
use goodqueue::{Nanos, Rate, Rng, Span};
use proptest::prelude::*;

/// Chances in a thousand of each mishap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mishaps {
    pub(super) drop: u64,
    pub(super) delay: u64,
    pub(super) duplicate: u64,
    pub(super) mark: u64,
}

impl Mishaps {
    pub(super) fn rule(self, seed: u64, purpose: &str) -> Rule {
        let mut rng = Rng::stream(seed, 0, purpose);
        Box::new(move |_, segment| {
            let mut draw = rng.below(1000);
            for (chance, fate) in [
                (self.drop, Fate::Drop),
                (self.delay, Fate::Delay(Span(rng.below(120_000_000)))),
                (self.duplicate, Fate::Duplicate),
                (self.mark, if segment.ecn != 0 { Fate::Mark } else { Fate::Pass }),
            ] {
                if draw < chance {
                    return fate;
                }
                draw -= chance;
            }
            Fate::Pass
        })
    }
}

fn mishaps() -> impl Strategy<Value = Mishaps> {
    (0..250_u64, 0..250_u64, 0..250_u64, 0..250_u64).prop_map(|(drop, delay, duplicate, mark)| Mishaps {
        drop,
        delay,
        duplicate,
        mark,
    })
}

pub(super) fn kinds() -> impl Strategy<Value = CcKind> {
    prop_oneof![Just(CcKind::Reno), Just(CcKind::Cubic), Just(CcKind::Bbr)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn all_that_is_written_is_received(
        seed: u64, forth in mishaps(), back in mishaps(), kind in kinds(), tso: bool, gso: bool, ecn: bool,
        active: bool, mbit in 1..200_u64, rtt in 1..100_u64,
        bytes in prop::collection::vec(0..400_000_u64, 1..4), close: bool,
    ) {
        let config = Config { tso, gso, ecn, ..Config::default() };
        let opening = if active { Opening::Active } else { Opening::Passive };
        let rate = Rate(mbit * 1_000_000);
        let mut pipe = Pipe::with(&config, &config, kind, rate, Span::from_millis(rtt), opening);
        pipe.forth = forth.rule(seed, "forth");
        pipe.back = back.rule(seed, "back");
        for &part in &bytes {
            pipe.tx.write(part);
            let _ = pipe.run_until_done(Span::from_secs(20));
        }
        if close {
            pipe.tx.close();
        }
        let total: u64 = bytes.iter().sum();
        let most = total / 1448 * 50 + 1500;
        let is_done = run_on(&mut pipe, most);
        if pipe.tx.is_dead() || pipe.rx.is_dead() {
            // The handshake gave up after its retransmissions.
            prop_assert!(!pipe.tx.is_established());
        } else {
            prop_assert!(is_done, "{:?}", pipe.tx);
            prop_assert_eq!(pipe.rx.received(), total);
            prop_assert_eq!(pipe.tx.window().packets_in_flight(), 0);
        }
        prop_assert!(pipe.data.len() as u64 <= most, "{} segments for {total} bytes", pipe.data.len());
        prop_assert!(silence(&pipe) <= SILENCE);
    }
}

/// The longest time in which neither end may send while something is outstanding: the longest timeout (Linux
/// `TCP_RTO_MAX`), one step of the timer wheel that far ahead, and the latest segment. On a path that loses
/// two of five segments, timeouts can stay that long for most of an hour, because in Linux too a SACK after
/// such a timeout is a sample of the round-trip time. So the test bounds the silence and the number of
/// segments, and with both the time.
const SILENCE: Span = Span::from_millis(120_000 + 2048 + 200);

/// Runs until everything is acknowledged, no event is left, or the sender has sent `most` segments.
fn run_on(pipe: &mut Pipe, most: u64) -> bool {
    while !pipe.tx.is_done() && pipe.data.len() as u64 <= most {
        if !pipe.step(Nanos(u64::MAX)) {
            return false;
        }
    }
    pipe.tx.is_done()
}

/// The longest time in which neither end sent anything.
fn silence(pipe: &Pipe) -> Span {
    let mut times: Vec<Nanos> = pipe.data.iter().chain(&pipe.acks).map(|carried| carried.at).collect();
    times.sort();
    times.windows(2).map(|pair| pair[1].since(pair[0])).max().unwrap_or(Span::ZERO)
}

/// Found by the test above: the round-trip time is estimated at a minute for most of an hour.
#[test]
fn data_arrives_even_after_an_hour_of_backoff() {
    let seed = 1_973_441_966_251_916_894;
    let forth = Mishaps { drop: 222, delay: 104, duplicate: 90, mark: 0 };
    let back = Mishaps { drop: 223, delay: 0, duplicate: 0, mark: 0 };
    let config = Config { gso: false, ..Config::default() };
    let (rate, rtt) = (Rate(8_000_000), Span::from_millis(22));
    let mut pipe = Pipe::with(&config, &config, CcKind::Reno, rate, rtt, Opening::Passive);
    pipe.forth = forth.rule(seed, "forth");
    pipe.back = back.rule(seed, "back");
    for part in [208_836, 371_813] {
        pipe.tx.write(part);
        let _ = pipe.run_until_done(Span::from_secs(20));
    }
    assert!(run_on(&mut pipe, 1000), "{:?}", pipe.tx);
    assert_eq!(pipe.rx.received(), 208_836 + 371_813);
    assert!(pipe.now > Nanos(3_600_000_000_000));
    assert!(silence(&pipe) > Span::from_secs(119) && silence(&pipe) <= SILENCE);
}

/// A million segments through a lossy path, with SACK, RACK and F-RTO at work.
#[test]
fn a_million_segments_arrive() {
    let mishaps = Mishaps { drop: 2, delay: 0, duplicate: 1, mark: 0 };
    let config = Config::default();
    let rate = Rate(10_000_000_000);
    let mut pipe = Pipe::new(&config, CcKind::Reno, rate, Span::from_millis(2));
    pipe.forth = mishaps.rule(1, "forth");
    pipe.tx.write(1_000_000 * 1448);
    assert!(pipe.run_until_done(Span::from_secs(4000)), "{:?}", pipe.tx);
    assert_eq!(pipe.rx.received(), 1_000_000 * 1448);
}

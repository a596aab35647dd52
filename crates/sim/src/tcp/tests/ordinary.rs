//! Tests that the fast paths for ordinary acknowledgements and segments do what the general paths do.

use super::conserve::{Mishaps, kinds};
use super::pipe::Pipe;
use crate::tcp::{Config, Opening};
use goodqueue::{Nanos, Rate, Span};
use proptest::prelude::*;

/// Few enough mishaps that most of a transfer is ordinary.
fn rare() -> impl Strategy<Value = Mishaps> {
    (0..8_u64, 0..8_u64, 0..4_u64, 0..20_u64).prop_map(|(drop, delay, duplicate, mark)| Mishaps {
        drop,
        delay,
        duplicate,
        mark,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// Step by step the same segments at the same times, the same counters, and the same timers.
    #[test]
    fn ordinary_steps_equal_the_general_ones(
        seed: u64, forth in rare(), back in rare(), kind in kinds(), tso: bool, gso: bool, ecn: bool,
        nodelay: bool, active: bool, mss in prop_oneof![Just(1448_u32), 88..9000_u32, Just(40_000)],
        mbit in 1..300_u64, rtt in 1..100_u64,
        writes in prop::collection::vec((1..600_000_u64, 0..2_000_000_u64), 1..6),
    ) {
        let config = Config { tso, gso, ecn, nodelay, mss, ..Config::default() };
        let opening = if active { Opening::Active } else { Opening::Passive };
        let pipe = |general_only| {
            let (rate, rtt) = (Rate(mbit * 1_000_000), Span::from_millis(rtt));
            let mut pipe = Pipe::with(&config, &config, kind, rate, rtt, opening);
            pipe.forth = forth.rule(seed, "forth");
            pipe.back = back.rule(seed, "back");
            if general_only {
                pipe.tx.take_every_step();
                pipe.rx.take_every_step();
            }
            pipe
        };
        let (mut ordinary, mut general) = (pipe(false), pipe(true));
        let mut end = Nanos(1_000_000);
        for (bytes, micros) in writes {
            ordinary.tx.write(bytes);
            general.tx.write(bytes);
            end += Span(micros * 1000);
            while ordinary.step(end) {
                prop_assert!(general.step(end));
                prop_assert_eq!(ordinary.now, general.now);
                prop_assert_eq!(ordinary.tx.next_timer(), general.tx.next_timer());
                prop_assert_eq!(ordinary.rx.next_timer(), general.rx.next_timer());
                prop_assert_eq!(ordinary.data.last(), general.data.last());
                prop_assert_eq!(ordinary.acks.last(), general.acks.last());
            }
            prop_assert!(!general.step(end));
        }
        prop_assert_eq!(&ordinary.data, &general.data);
        prop_assert_eq!(&ordinary.acks, &general.acks);
        prop_assert_eq!(ordinary.tx.stats(), general.tx.stats());
        prop_assert_eq!(format!("{:?}", ordinary.tx.window()), format!("{:?}", general.tx.window()));
    }
}

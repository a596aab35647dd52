//! What a segment costs at both ends, for counting instructions:
//!
//! ```sh
//! cargo bench -p goodqueue-sim --bench tcp --no-run
//! valgrind --tool=callgrind --toggle-collect='*sender_ack*' target/release/deps/tcp-HASH sender 20000
//! ```
//!
//! `sender`: one ACK of two segments and the polls that follow, a Reno window of 100 segments in congestion
//! avoidance. `receiver`: two segments in order and the ACK of them. Without callgrind it prints nanoseconds.
#![allow(missing_docs)]

use goodqueue::{Nanos, Rng, Span};
use goodqueue_sim::tcp::cc::{Cc, CcKind};
use goodqueue_sim::tcp::{Config, Flags, Opening, Rx, Segment, Tx, truesize};
use std::hint::black_box;
use std::time::Instant;

const MSS: u64 = 1448;
/// Between two segments.
const GAP: u64 = 116_000;

fn config() -> Config {
    Config { tso: false, gso: false, ecn: true, ..Config::default() }
}

#[inline(never)]
fn sender_ack(tx: &mut Tx, now: Nanos, ack: &Segment) -> u32 {
    tx.on_segment(now, ack);
    let mut sent = 0;
    while let Some(segment) = tx.poll_transmit(now) {
        black_box(&segment);
        sent += 1;
    }
    sent
}

#[inline(never)]
fn receiver_segment(rx: &mut Rx, now: Nanos, segment: &Segment) -> Option<Segment> {
    rx.on_segment(now, segment, false);
    rx.poll_transmit(now)
}

fn ack(number: u64, now: Nanos, echo: Nanos) -> Segment {
    let ms = |at: Nanos| u32::try_from(at.0 / 1_000_000).expect("a short run");
    Segment {
        seq: 1,
        ack: number,
        window: 6_000_000,
        ts_val: ms(now),
        ts_ecr: ms(echo),
        flags: Flags::ACK,
        ..Segment::default()
    }
}

fn sender(rounds: u64) -> u64 {
    let cc = Cc::new(CcKind::Reno, Rng::new(1));
    let mut tx = Tx::established(&config(), cc, Nanos(0), Some(Span::from_millis(10)));
    tx.write(u64::MAX);
    let (mut now, mut acked, mut total) = (Nanos(10_000_000), 1, 0);
    while tx.poll_transmit(now).is_some() {
        tx.on_tx_complete(now, truesize(1514));
    }
    for _ in 0..rounds {
        now.0 += 2 * GAP;
        acked += 2 * MSS;
        let segment = ack(acked, now, Nanos(now.0 - 10_000_000));
        let sent = sender_ack(&mut tx, now, &segment);
        total += u64::from(sent);
        for _ in 0..sent {
            tx.on_tx_complete(now, truesize(1514));
        }
        if tx.window().snd_cwnd > 120 {
            // An echo of congestion: the window is halved, as on a path with a queue.
            now.0 += 10_000_000;
            let last = tx.window().snd_nxt;
            let mut segment = ack(last, now, Nanos(now.0 - 10_000_000));
            segment.flags = Flags::ACK.with(Flags::ECE);
            acked = last;
            sender_ack(&mut tx, now, &segment);
        }
    }
    total
}

fn receiver(rounds: u64) -> u64 {
    let mut rx = Rx::new(&config(), Opening::Passive);
    let now = Nanos(10_000_000);
    rx.on_segment(now, &Segment { flags: Flags::SYN, window: 64_240, ..Segment::default() }, false);
    let _ = rx.poll_transmit(now);
    rx.on_segment(
        now,
        &Segment { seq: 1, ack: 1, flags: Flags::ACK, ts_ecr: 10, ..Segment::default() },
        false,
    );
    let mut acks = 0;
    for n in 0..2 * rounds {
        let now = Nanos(20_000_000 + n * GAP);
        let stamp = |at: u64| u32::try_from(at / 1_000_000).expect("a short run");
        let segment = Segment {
            seq: 1 + n * MSS,
            ack: 1,
            len: 1448,
            ts_val: stamp(now.0 - 5_000_000),
            ts_ecr: stamp(now.0 - 10_000_000),
            flags: Flags::ACK,
            ..Segment::default()
        };
        acks += u64::from(receiver_segment(&mut rx, now, &segment).is_some());
    }
    acks
}

fn main() {
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let which = args.next().unwrap_or_default();
    let rounds = args.next().and_then(|n| n.parse().ok()).unwrap_or(20_000);
    for (name, run) in [("sender", sender as fn(u64) -> u64), ("receiver", receiver)] {
        if which.is_empty() || which == name {
            let begin = Instant::now();
            let count = black_box(run(rounds));
            let each = begin.elapsed().as_nanos() / u128::from(rounds.max(1));
            println!("{name}: {rounds} rounds, {count} segments out, {each} ns a round");
        }
    }
}

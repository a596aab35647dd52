//! Loss: SACK, RACK, PRR, TLP, RTO, F-RTO and undo.

use super::pipe::{Carried, Fate, Pipe, drop_first_of, plain};
use crate::tcp::cc::{CaState, Cc, CcKind};
use crate::tcp::{Config, Flags, Sack, Segment, Tx};
use goodqueue::{Nanos, Rate, Rng, Span};

const MSS: u64 = 1448;

fn bulk(segments: u64, mbit: u64, rtt_ms: u64) -> Pipe {
    let mut pipe = Pipe::new(&plain(), CcKind::Reno, Rate(mbit * 1_000_000), Span::from_millis(rtt_ms));
    pipe.tx.write(segments * MSS);
    pipe
}

/// Like [`bulk`], but the receive window of 44 segments never fills the path: no queue.
fn windowed(segments: u64, mbit: u64, rtt_ms: u64) -> Pipe {
    let config = Config { tcp_rmem: [4096, 131_072, 131_072], ..plain() };
    let mut pipe = Pipe::new(&config, CcKind::Reno, Rate(mbit * 1_000_000), Span::from_millis(rtt_ms));
    pipe.tx.write(segments * MSS);
    pipe
}

fn millis(times: &[&Carried]) -> Vec<u64> {
    times.iter().map(|c| c.at.0 / 1_000_000).collect()
}

/// Runs until the state of recovery is `state`.
fn run_until(pipe: &mut Pipe, state: CaState) {
    while pipe.tx.window().ca_state != state {
        assert!(pipe.step(Nanos(20_000_000_000)), "never {state:?}");
    }
}

#[test]
fn one_loss_is_one_retransmission() {
    let mut pipe = bulk(2000, 100, 50);
    pipe.forth = drop_first_of(&[100]);
    assert!(pipe.run_until_done(Span::from_secs(10)));
    let stats = pipe.tx.stats();
    assert_eq!((stats.retransmits, stats.rtos, stats.recoveries, stats.undos), (1, 0, 1, 0));
    assert_eq!(stats.segments, 2001);
}

/// RFC 6675: every hole is filled once, in order of sequence, in one recovery.
#[test]
fn many_losses_are_one_recovery() {
    let mut pipe = bulk(2000, 100, 50);
    pipe.forth = drop_first_of(&[100, 101, 105, 110, 111, 112, 120]);
    assert!(pipe.run_until_done(Span::from_secs(10)));
    let again: Vec<u64> = pipe.retransmissions().iter().map(|c| (c.segment.seq - 1) / MSS).collect();
    assert_eq!(again, [100, 101, 105, 110, 111, 112, 120]);
    assert_eq!((pipe.tx.stats().rtos, pipe.tx.stats().recoveries), (0, 1));
}

/// RFC 6937 section 3: over the recovery's round trip, half of the window is sent; the window ends there.
#[test]
fn prr_sends_half_of_the_window() {
    let mut pipe = bulk(5000, 20, 50);
    pipe.forth = drop_first_of(&[200]);
    run_until(&mut pipe, CaState::Recovery);
    let window = u64::from(pipe.tx.window().prior_cwnd);
    assert_eq!(u64::from(pipe.tx.window().snd_ssthresh), window / 2);
    let delivered = pipe.tx.window().delivered;
    let begin = pipe.payload().count();
    run_until(&mut pipe, CaState::Open);
    let sent = (pipe.payload().count() - begin) as u64;
    let acked = pipe.tx.window().delivered - delivered;
    // floor(delivered / 2), with the retransmission that left on entry, and what the last ACK allows.
    assert!(sent.abs_diff(acked / 2) <= 3, "{sent} sent while {acked} of {window} were delivered");
    assert_eq!(u64::from(pipe.tx.window().snd_cwnd), window / 2);
}

/// RFC 8985 section 6: the loss of a retransmission is found by its time, without a timeout.
#[test]
fn a_lost_retransmission_is_found_by_time() {
    let mut pipe = bulk(3000, 100, 50);
    let mut drops = 2;
    pipe.forth = Box::new(move |_, segment| {
        if segment.seq == 1 + 200 * MSS && segment.len > 0 && drops > 0 {
            drops -= 1;
            return Fate::Drop;
        }
        Fate::Pass
    });
    assert!(pipe.run_until_done(Span::from_secs(10)));
    let stats = pipe.tx.stats();
    assert_eq!((stats.retransmits, stats.rtos, stats.recoveries), (2, 0, 1));
    let times = millis(&pipe.retransmissions());
    assert!(times[1] - times[0] >= 50 && times[1] - times[0] < 120, "{times:?}");
}

/// RFC 8985 section 7: the last segment is lost; a probe after about two round trips repairs it, and the
/// window is reduced nevertheless.
#[test]
fn a_lost_tail_is_probed() {
    let mut pipe = bulk(10, 100, 50);
    pipe.forth = drop_first_of(&[9]);
    assert!(pipe.run_until_done(Span::from_secs(2)));
    let stats = pipe.tx.stats();
    assert_eq!((stats.rtos, stats.probes, stats.retransmits), (0, 1, 1));
    let again = pipe.retransmissions()[0].at;
    let last_ack = pipe.acks.iter().rev().nth(1).expect("two ACKs at least").at;
    // The ACK of the ninth segment arrives 25 ms after it left; then 2 srtt, rounded up to jiffies, and the
    // allowance for a delayed ACK of 200 ms for a lone segment, bounded by the timeout (srtt + 200 ms or so).
    let waited = again.since(last_ack).0 / 1_000_000 - 25;
    assert!((250..330).contains(&waited), "{waited} ms");
}

/// Two segments of the tail lost: the probe brings SACK, RACK finds the other; no timeout.
#[test]
fn a_longer_lost_tail_is_repaired_from_the_probe() {
    let mut pipe = bulk(10, 100, 50);
    pipe.forth = drop_first_of(&[7, 8, 9]);
    assert!(pipe.run_until_done(Span::from_secs(2)));
    let stats = pipe.tx.stats();
    assert_eq!((stats.rtos, stats.probes), (0, 1), "{stats:?}");
    assert_eq!(pipe.rx.received(), 10 * MSS);
}

/// An unnecessary probe of the tail (its DSACK comes in recovery) does not undo the recovery of what was lost
/// (Linux 6.1.100 `tcp_init_undo`).
#[test]
fn the_dsack_of_a_probe_undoes_nothing() {
    let mut pipe = bulk(10, 100, 50);
    pipe.forth = drop_first_of(&[0]);
    let late = Span::from_millis(200);
    pipe.back = Box::new(move |index, _| if index == 0 { Fate::Pass } else { Fate::Delay(late) });
    assert!(pipe.run_until_done(Span::from_secs(5)));
    let stats = pipe.tx.stats();
    assert_eq!((stats.probes, stats.rtos, stats.recoveries, stats.retransmits), (1, 0, 1, 2), "{stats:?}");
    assert_eq!((stats.dsacks, stats.undos), (1, 0), "{stats:?}");
}

/// RFC 6298 section 5.5: the path goes dead; the timeouts double.
#[test]
fn timeouts_back_off() {
    let mut pipe = windowed(100_000, 100, 20);
    pipe.run(Span::from_millis(500));
    pipe.forth = Box::new(|_, _| Fate::Drop);
    pipe.back = Box::new(|_, _| Fate::Drop);
    let begin = pipe.data.len();
    pipe.run(Span::from_secs(12));
    let times: Vec<u64> =
        pipe.data[begin..].iter().filter(|c| c.segment.retransmitted).map(|c| c.at.0 / 1_000_000).collect();
    let stats = pipe.tx.stats();
    assert!(stats.rtos >= 5, "{stats:?}");
    // After the probe and the first timeout each gap is twice the one before, apart from the wheel's buckets.
    let gaps: Vec<u64> = times[1..].windows(2).map(|w| w[1] - w[0]).collect();
    for pair in gaps.windows(2) {
        let ratio = pair[1] * 100 / pair[0];
        assert!((170..=235).contains(&ratio), "{gaps:?}");
    }
    assert_eq!(pipe.tx.window().snd_cwnd, pipe.tx.window().packets_in_flight().max(1));
}

/// RFC 5682 section 3: all is delayed for longer than the timeout. The ACKs of the originals show that the
/// timeout was spurious: the window is restored and nothing more is sent again.
#[test]
fn a_spurious_timeout_is_undone() {
    let mut pipe = windowed(20_000, 100, 20);
    pipe.run(Span::from_millis(300));
    let window = pipe.tx.window().snd_cwnd;
    // The path carries nothing until 1300 ms.
    let stop = Span::from_millis(1000);
    pipe.back = Box::new(move |_, _| Fate::Delay(stop));
    let retransmits = pipe.tx.stats().retransmits;
    pipe.run(Span::from_millis(700));
    assert!(pipe.tx.stats().rtos >= 1);
    assert_eq!(pipe.tx.window().ca_state, CaState::Loss);
    pipe.back = super::pipe::pass();
    pipe.run(Span::from_millis(2500));
    let stats = pipe.tx.stats();
    assert!(stats.undos >= 1, "{stats:?}");
    assert!(stats.retransmits - retransmits <= 4, "{stats:?}");
    assert!(pipe.tx.window().snd_cwnd >= window);
    assert_eq!(pipe.tx.window().ca_state, CaState::Open);
}

/// RFC 3522 and RFC 8985 section 6.2: a segment arrives late by more than the duplicate threshold, is sent
/// again, and the timestamps (or DSACK) show that this was unnecessary. From then on reordering is tolerated.
#[test]
fn reordering_is_recognised_and_undone() {
    let mut pipe = bulk(20_000, 100, 50);
    pipe.forth = Box::new(|_, segment| {
        let number = (segment.seq.max(1) - 1) / MSS;
        let is_late =
            segment.len > 0 && !segment.retransmitted && number >= 200 && number.is_multiple_of(500);
        if is_late || number == 200 { Fate::Delay(Span::from_millis(6)) } else { Fate::Pass }
    });
    assert!(pipe.run_until_done(Span::from_secs(60)));
    let stats = pipe.tx.stats();
    assert_eq!(stats.rtos, 0);
    assert!(stats.undos >= 1, "{stats:?}");
    // 6 ms of delay are below the quarter of the round trip that RACK allows once it has seen reordering.
    assert!(stats.retransmits <= 4, "{stats:?}");
}

/// RFC 5681 section 4.2 and RFC 2018 section 4: the newest block first, DSACK before it (RFC 2883).
#[test]
fn sack_blocks_are_newest_first() {
    let mut pipe = bulk(60, 1000, 50);
    pipe.forth = drop_first_of(&[10, 12, 14, 16]);
    assert!(pipe.run_until_done(Span::from_secs(5)));
    let blocks: Vec<(u64, Vec<(u64, u64)>)> = pipe
        .pure_acks()
        .filter(|c| c.segment.sacks > 0)
        .map(|c| {
            let base = (c.segment.ack - 1) / MSS;
            let number = |offset: i32| base + u64::try_from(offset).expect("above") / MSS;
            let sacks = &c.segment.sack[..usize::from(c.segment.sacks)];
            (base, sacks.iter().map(|s| (number(s.start), number(s.end))).collect())
        })
        .collect();
    assert_eq!(blocks[0], (10, vec![(11, 12)]));
    assert_eq!(blocks[1], (10, vec![(13, 14), (11, 12)]));
    assert_eq!(blocks[2], (10, vec![(15, 16), (13, 14), (11, 12)]));
    let fourth = &blocks[3..].iter().find(|b| b.1.len() == 3 && b.1[0].0 == 17).expect("a fourth block").1;
    assert_eq!(&fourth[1..], [(15, 16), (13, 14)]);
}

/// RFC 8985 section 7.3: a probe with new data is one segment beyond the window, whatever waits behind it.
#[test]
fn a_probe_with_new_data_is_one_segment() {
    let cc = Cc::new(CcKind::Cubic, Rng::new(1));
    let config = Config { tso: false, ..Config::default() };
    let mut tx = Tx::established(&config, cc, Nanos(1_000_000_000), Some(Span::from_millis(50)));
    tx.write(u64::MAX);
    let poll = |tx: &mut Tx, now: Nanos| {
        let mut count = 0;
        while let Some(packet) = tx.poll_transmit(now) {
            tx.on_tx_complete(now, u32::MAX);
            count += packet.len / 1448;
        }
        count
    };
    assert_eq!(poll(&mut tx, Nanos(1_000_000_000)), 10);
    let due = tx.next_timer().expect("a probe is scheduled");
    tx.on_timer(due);
    assert_eq!(poll(&mut tx, due), 1);
    assert_eq!(tx.stats().probes, 1);
}

/// A sender whose device accepts super-packets, with the first window of ten segments out.
fn offloading(now: Nanos, srtt: Span) -> (Tx, Vec<Sent>) {
    let mut tx = Tx::established(&Config::default(), Cc::new(CcKind::Cubic, Rng::new(1)), now, Some(srtt));
    tx.write(u64::MAX);
    let first = sent_at(&mut tx, now);
    (tx, first)
}

/// A packet: the number of its first segment, how many segments it has, and whether it was sent again.
type Sent = (u64, u32, bool);

/// The packets that are sent now.
fn sent_at(tx: &mut Tx, now: Nanos) -> Vec<Sent> {
    let mut sent = Vec::new();
    while let Some(packet) = tx.poll_transmit(now) {
        tx.on_tx_complete(now, u32::MAX);
        assert_eq!(packet.flags.has(Flags::PSH), packet.len > 1448);
        sent.push(((packet.seq - 1) / MSS, packet.len / 1448, packet.retransmitted));
    }
    sent
}

/// An ACK of all segments before `una`, with SACK of those from `from` to before `to`.
fn sacking(una: u64, (from, to): (u64, u64)) -> Segment {
    let offset = |n: u64| i32::try_from((n - una) * MSS).expect("short");
    let sack = [Sack { start: offset(from), end: offset(to) }; 3];
    Segment {
        ack: 1 + una * MSS,
        window: 1 << 20,
        ts_ecr: 1000,
        flags: Flags::ACK,
        sacks: u8::from(from < to),
        sack,
        ..Segment::default()
    }
}

/// Packets that were lost leave again as they were, each as one super-packet (Linux
/// `tcp_xmit_retransmit_queue`); the counters count segments.
#[test]
fn a_lost_super_packet_is_sent_again_whole() {
    let (now, later) = (Nanos(1_000_000_000), Nanos(1_050_000_000));
    let (mut tx, first) = offloading(now, Span::from_millis(50));
    assert_eq!(first, [0, 2, 4, 6, 8].map(|n| (n, 2, false)));
    tx.on_segment(later, &sacking(0, (4, 10)));
    assert_eq!(tx.window().lost_out, 4);
    assert_eq!(sent_at(&mut tx, later), [(0, 2, true), (2, 2, true), (10, 2, false)]);
    assert_eq!((tx.window().retrans_out, tx.stats().retransmits, tx.stats().segments), (4, 4, 16));
}

/// The congestion window cuts a packet that is sent again; the rest follows separately.
#[test]
fn the_window_splits_what_is_sent_again() {
    let (now, later) = (Nanos(1_000_000_000), Nanos(1_050_000_000));
    let (mut tx, _) = offloading(now, Span::from_millis(50));
    // Three in flight, three reported, four lost: proportional rate reduction lets three go.
    tx.on_segment(later, &sacking(0, (4, 7)));
    assert_eq!(sent_at(&mut tx, later), [(0, 2, true), (2, 1, true)]);
    tx.on_segment(later, &sacking(0, (4, 8)));
    assert_eq!(sent_at(&mut tx, later), [(3, 1, true)]);
}

/// A timeout and a probe of the tail send one segment again, whatever packet it was in (Linux
/// `tcp_send_loss_probe`, `tcp_retransmit_timer`).
#[test]
fn probes_and_timeouts_send_one_segment_again() {
    let now = Nanos(1_000_000_000);
    let mut tx = Tx::established(
        &Config::default(),
        Cc::new(CcKind::Cubic, Rng::new(1)),
        now,
        Some(Span::from_millis(50)),
    );
    tx.write(10 * MSS);
    assert_eq!(sent_at(&mut tx, now), [0, 2, 4, 6, 8].map(|n| (n, 2, false)));
    let mut again = Vec::new();
    while again.len() < 2 {
        let due = tx.next_timer().expect("a probe, then a timeout");
        tx.on_timer(due);
        again.extend(sent_at(&mut tx, due));
    }
    assert_eq!(again, [(9, 1, true), (0, 1, true)]);
    // Slow start: what is left of the packet that the timeout cut, and half of the next.
    let later = Nanos(3_000_000_000);
    tx.on_segment(later, &Segment { ts_ecr: 3000, ..sacking(1, (1, 1)) });
    assert_eq!(sent_at(&mut tx, later), [(1, 1, true), (2, 1, true)]);
}

//! The receiver alone: when it acknowledges.

use crate::tcp::ECT0;
use crate::tcp::{Config, Flags, Kernel, Opening, Rx, Segment};
use goodqueue::{Nanos, Span};

const MSS: u64 = 1448;

fn at(us: u64) -> Nanos {
    Nanos(us * 1000)
}

/// A receiver after its quick ACKs and the growth of its window.
fn settled() -> (Rx, u64, u64) {
    settled_in(Kernel::NEWEST)
}

fn settled_in(kernel: Kernel) -> (Rx, u64, u64) {
    let config = Config { ecn: true, tcp_rmem: [4096, 131_072, 131_072], kernel, ..Config::default() };
    let mut rx = Rx::new(&config, Opening::Passive);
    let syn = Flags::SYN.with(Flags::ECE).with(Flags::CWR);
    rx.on_segment(at(0), &Segment { flags: syn, ..Segment::default() }, false);
    assert!(rx.poll_transmit(at(0)).expect("a SYN-ACK").flags.has(Flags::ECE));
    rx.on_segment(at(10_000), &Segment { seq: 1, ack: 1, flags: Flags::ACK, ..Segment::default() }, false);
    let (mut number, mut us) = (0, 20_000);
    for _ in 0..101 {
        let acks = give(&mut rx, number, us).len();
        number += 1;
        us += 1000;
        if number > 60 && acks == 1 && number > 90 {
            break;
        }
    }
    (rx, number, us)
}

fn data(number: u64, us: u64) -> Segment {
    let ms = u32::try_from(us / 1000).expect("small");
    let seq = 1 + number * MSS;
    Segment {
        seq,
        ack: 1,
        len: 1448,
        ts_val: ms,
        ts_ecr: ms.saturating_sub(10),
        flags: Flags::ACK,
        ecn: ECT0,
        ..Segment::default()
    }
}

fn give(rx: &mut Rx, number: u64, us: u64) -> Vec<Segment> {
    rx.on_segment(at(us), &data(number, us), false);
    std::iter::from_fn(|| rx.poll_transmit(at(us))).collect()
}

/// Linux quick ACKs: the first sixteen segments are ACKed one by one.
#[test]
fn the_start_is_acknowledged_segment_by_segment() {
    let mut rx = Rx::established(&Config::default());
    for n in 0..16 {
        assert_eq!(give(&mut rx, n, 20_000 + n).len(), 1, "segment {n}");
    }
}

/// The twelfth segment ends a round trip of 11 segments, 15 928 bytes. The buffer then holds 45 segments of
/// 2984 bytes instead of 131 072 bytes. The thirteenth raises the window to half of what its own 2304 bytes
/// leave. It is the only one that does, so there is one quick ACK more than the sixteen of the start.
#[test]
fn a_segment_that_is_not_read_yet_leaves_less_room_for_the_window() {
    let mut rx = Rx::established(&Config::default());
    let mut quick = 0;
    for n in 0..30 {
        let us = if n < 11 { 20_000 + n } else { 60_000 + n };
        quick += u64::from(give(&mut rx, n, us).len() == 1 && n == quick);
        let window = if n < 12 { 65_536 - 1448 } else { (45 * 2984 - 2304) / 2 };
        assert_eq!(rx.rcv_ssthresh(), window, "segment {n}");
    }
    assert_eq!(quick, 17);
}

/// RFC 1122 section 4.2.3.2: every second full segment.
#[test]
fn in_bulk_every_second_segment_is_acknowledged() {
    let (mut rx, number, us) = settled();
    for n in 0..50 {
        let acks = give(&mut rx, number + n, us + n * 1000);
        assert_eq!(acks.len() as u64, n % 2, "segment {n}");
    }
}

/// A lone full segment waits 40 ms, rounded up by a jiffy of 4 ms at most and one more in the wheel.
#[test]
fn a_lone_segment_is_acknowledged_after_40_ms() {
    let (mut rx, number, us) = settled();
    assert!(give(&mut rx, number, us).is_empty());
    let due = rx.next_timer().expect("a delayed ACK");
    let waited = due.since(at(us));
    assert!((40_000_000..=44_000_000).contains(&waited.0), "{waited}");
    rx.on_timer(Nanos(due.0 - 1));
    assert!(rx.poll_transmit(due).is_none());
    rx.on_timer(due);
    assert_eq!(rx.poll_transmit(due).expect("an ACK").ack, 1 + (number + 1) * MSS);
    assert_eq!(rx.next_timer(), None);
}

/// RFC 5681 section 4.2: out of order: three ACKs at once, then compressed (one ACK a millisecond at most);
/// when the gap is filled, at once.
#[test]
fn out_of_order_segments_are_acknowledged_at_once_then_compressed() {
    let (mut rx, number, us) = settled();
    let mut acks = Vec::new();
    for n in 1..=10 {
        acks.push(give(&mut rx, number + n, us + n).len());
    }
    assert_eq!(acks, [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]);
    let due = rx.next_timer().expect("a compressed ACK");
    // 5 % of the 10 ms of round trip, and the slack of 100 us.
    assert_eq!(due, at(us + 4) + Span(600_000));
    rx.on_timer(due);
    let ack = rx.poll_transmit(due).expect("the compressed ACK");
    assert_eq!((ack.sacks, ack.sack[0].end), (1, 11 * 1448));
    let filled = give(&mut rx, number, us + 1000);
    assert_eq!(filled.len(), 1);
    assert_eq!(filled[0].ack, 1 + (number + 11) * MSS);
    assert_eq!(filled[0].sacks, 0);
}

/// Before Linux 4.18 each of them is acknowledged at once.
#[test]
fn old_kernels_compress_no_acknowledgements() {
    let acks = |kernel: &str| {
        let (mut rx, number, us) = settled_in(kernel.parse().expect("a version"));
        (1..=10).map(|n| give(&mut rx, number + n, us + n).len()).sum::<usize>()
    };
    assert_eq!([acks("4.17"), acks("4.18")], [10, 3]);
}

/// RFC 2883 section 4.1: a duplicate is reported at once.
#[test]
fn a_duplicate_is_reported_by_dsack() {
    let (mut rx, number, us) = settled();
    let acks = give(&mut rx, number - 3, us);
    assert_eq!(acks.len(), 1);
    assert_eq!((acks[0].sacks, acks[0].ack), (1, 1 + number * MSS));
    assert_eq!((acks[0].sack[0].start, acks[0].sack[0].end), (-3 * 1448, -2 * 1448));
}

/// Linux 6.1.57 `tcp_dec_quickack_mode`: the ACK of an old duplicate does not count among the sixteen quick
/// ones that it asks for.
#[test]
fn quick_acks_are_of_new_data() {
    let (mut rx, number, us) = settled();
    assert_eq!(give(&mut rx, number - 3, us).len(), 1);
    let acks: Vec<usize> = (0..18).map(|n| give(&mut rx, number + n, us + (n + 1) * 1000).len()).collect();
    assert_eq!(acks[..16], [1; 16]);
    assert_eq!(acks[16..], [0, 1]);
}

/// RFC 3168 section 6.1.3: ECE from the first CE until CWR; the first is ACKed at once.
#[test]
fn ece_lasts_from_ce_to_cwr() {
    let (mut rx, number, us) = settled();
    rx.on_segment(at(us), &data(number, us), true);
    let ack = rx.poll_transmit(at(us)).expect("an ACK at once");
    assert!(ack.flags.has(Flags::ECE));
    for n in 1..20 {
        for ack in give(&mut rx, number + n, us + n * 1000) {
            assert!(ack.flags.has(Flags::ECE));
        }
    }
    let mut segment = data(number + 20, us + 20_000);
    segment.flags = segment.flags.with(Flags::CWR);
    rx.on_segment(at(us + 20_000), &segment, false);
    assert!(!rx.poll_transmit(at(us + 20_000)).expect("at once").flags.has(Flags::ECE));
}

/// RFC 7323 section 4.3: the timestamp echoed is of the segment that the delayed ACK waited for.
#[test]
fn a_delayed_ack_echoes_the_first_timestamp() {
    let (mut rx, number, us) = settled();
    assert!(give(&mut rx, number, us).is_empty());
    let ack = give(&mut rx, number + 1, us + 30_000);
    assert_eq!(ack[0].ts_ecr, u32::try_from(us / 1000).expect("small"));
}

/// The last segment of a super-packet carries PSH, and is acknowledged when it has been read, even alone.
#[test]
fn a_full_segment_that_was_pushed_is_acknowledged_at_once() {
    let (mut rx, number, us) = settled();
    let pushed = |number, us| Segment { flags: Flags::ACK.with(Flags::PSH), ..data(number, us) };
    rx.on_segment(at(us), &pushed(number, us), false);
    let ack = rx.poll_transmit(at(us)).expect("an ACK");
    assert_eq!(ack.ack, 1 + (number + 1) * MSS);
    assert_eq!(give(&mut rx, number + 1, us + 1000), []);
}

/// Behind a hole the receive buffer is not empty: a push changes nothing.
#[test]
fn behind_a_hole_psh_changes_nothing() {
    let acks = |flags| {
        let (mut rx, number, us) = settled();
        let mut acks = 0;
        for n in 1..12 {
            rx.on_segment(at(us + n), &Segment { flags, ..data(number + n, us) }, false);
            acks += std::iter::from_fn(|| rx.poll_transmit(at(us + n))).count();
        }
        acks
    };
    assert_eq!(acks(Flags::ACK), acks(Flags::ACK.with(Flags::PSH)));
}

/// 45 segments of 1448 bytes where timestamps are agreed, 44 of 1460 where they are not known yet.
#[test]
fn the_first_windows_are_whole_segments() {
    let mut passive = Rx::new(&Config::default(), Opening::Passive);
    passive.on_segment(at(0), &Segment { flags: Flags::SYN, ..Segment::default() }, false);
    assert_eq!(passive.poll_transmit(at(0)).expect("a SYN-ACK").window, 65_160);
    let mut active = Rx::new(&Config::default(), Opening::Active);
    active.open(at(0));
    assert_eq!(active.poll_transmit(at(0)).expect("a SYN").window, 64_240);
}

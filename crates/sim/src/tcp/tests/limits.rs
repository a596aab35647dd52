//! What holds a sender back: windows, the application, ECN, the host's queue, pacing.

use super::pipe::{Fate, Pipe, plain};
use crate::tcp::cc::{Cc, CcKind};
use crate::tcp::{Config, Flags, Opening, Segment, Tx, truesize};
use goodqueue::{Nanos, Rate, Rng, Span};

const MSS: u64 = 1448;

fn endless(config: &Config, kind: CcKind, mbit: u64, rtt_ms: u64) -> Pipe {
    let mut pipe = Pipe::new(config, kind, Rate(mbit * 1_000_000), Span::from_millis(rtt_ms));
    pipe.tx.write(u64::MAX);
    pipe
}

/// The receive window follows the sender: 100 Mbit/s over 50 ms need 625 kB, ten times the initial window.
#[test]
fn the_receive_window_grows_with_the_path() {
    let mut pipe = endless(&plain(), CcKind::Cubic, 100, 50);
    pipe.run(Span::from_secs(2));
    let before = pipe.rx.received();
    pipe.run(Span::from_secs(3));
    let mbit = (pipe.rx.received() - before) * 8 / 1_000_000;
    assert!((94..=96).contains(&mbit), "{mbit} of 95.6 Mbit/s");
    let window = pipe.acks.last().expect("ACKs").segment.window;
    assert!((1_250_000..=3_145_728).contains(&window), "{window}");
}

/// tcp_rmem[2] 128 KiB with adv_win_scale 1: no more than 64 KiB a round trip.
#[test]
fn a_small_receive_buffer_limits_the_sender() {
    let small = Config { tcp_rmem: [4096, 131_072, 131_072], ..plain() };
    let mut pipe = Pipe::with(
        &plain(),
        &small,
        CcKind::Cubic,
        Rate(1_000_000_000),
        Span::from_millis(50),
        Opening::Active,
    );
    pipe.tx.write(u64::MAX);
    pipe.run(Span::from_secs(3));
    assert!(pipe.acks.iter().all(|c| c.segment.window <= 65_536));
    // 64076 bytes are 44 segments; of the 59 flights from 50 ms on the first have 10, 20 and 40.
    assert_eq!(pipe.rx.received(), (10 + 20 + 40 + 56 * 44) * MSS);
    assert!(pipe.tx.window().snd_cwnd < 100, "the window does not grow unused");
}

/// RFC 7661: ten segments each 100 ms use a tenth of what slow start would allow.
#[test]
fn an_unused_window_does_not_grow() {
    let mut pipe = Pipe::new(&plain(), CcKind::Reno, Rate(100_000_000), Span::from_millis(20));
    for n in 0..50 {
        pipe.tx.write(10 * MSS);
        pipe.run(Span::from_millis(100 * (n + 1)));
    }
    assert!(pipe.tx.is_done());
    assert_eq!(pipe.rx.received(), 500 * MSS);
    // Twice what is used, plus the second segment of the ACK that reached it.
    assert!((20..=21).contains(&pipe.tx.window().snd_cwnd), "{}", pipe.tx.window().snd_cwnd);
    assert_eq!(pipe.tx.stats().retransmits, 0);
}

/// RFC 2861: a second of silence, and the window restarts from ten.
#[test]
fn after_idle_time_the_window_starts_anew() {
    for (restart, sent) in [(true, 10), (false, 100)] {
        let config = Config { slow_start_after_idle: restart, ..plain() };
        let mut pipe = Pipe::new(&config, CcKind::Reno, Rate(1_000_000_000), Span::from_millis(40));
        pipe.tx.write(2000 * MSS);
        assert!(pipe.run_until_done(Span::from_secs(5)));
        let idle = Span(pipe.now.0 - 1_000_000 + 20_000_000_000);
        pipe.run(idle);
        let before = pipe.payload().count();
        pipe.tx.write(2000 * MSS);
        pipe.run(idle + Span::from_millis(20));
        let burst = pipe.payload().count() - before;
        if restart { assert_eq!(burst, sent) } else { assert!(burst > sent, "{burst}") }
    }
}

/// RFC 3168 section 6.1.2: every packet of a round trip is marked; the window is halved once, the next new
/// segment carries CWR, and the receiver's ECE ends with it.
#[test]
fn ecn_reduces_once_a_round_trip() {
    let config = Config { ecn: true, ..plain() };
    let mut pipe = endless(&config, CcKind::Reno, 1000, 50);
    pipe.run(Span::from_millis(330));
    let window = pipe.tx.window().snd_cwnd;
    let begin = pipe.data.len();
    pipe.forth =
        Box::new(move |n, segment| if segment.ecn != 0 && n < begin + 200 { Fate::Mark } else { Fate::Pass });
    pipe.run(Span::from_millis(445));
    let stats = pipe.tx.stats();
    assert_eq!((stats.ecn_reductions, stats.retransmits, stats.recoveries), (1, 0, 0));
    assert!(pipe.tx.window().snd_ssthresh >= window / 2);
    let with_cwr = pipe.data.iter().filter(|c| c.segment.flags.has(Flags::CWR) && c.segment.len > 0);
    assert!(with_cwr.count() <= 2);
    pipe.run(Span::from_millis(900));
    assert!(!pipe.acks.last().expect("ACKs").segment.flags.has(Flags::ECE));
    assert!(pipe.tx.stats().ecn_reductions <= 2);
    assert!(pipe.tx.stats().delivered_ce > 0);
}

/// RFC 3168 section 6.1.5: no ECT on what is sent again.
#[test]
fn retransmissions_are_not_ecn_capable() {
    let config = Config { ecn: true, ..plain() };
    let mut pipe = endless(&config, CcKind::Reno, 100, 50);
    pipe.forth = super::pipe::drop_first_of(&[100, 150]);
    pipe.run(Span::from_secs(1));
    assert_eq!(pipe.retransmissions().len(), 2);
    assert!(pipe.payload().all(|c| (c.segment.ecn != 0) != c.segment.retransmitted));
    assert!(pipe.acks.iter().all(|c| c.segment.ecn == 0));
}

fn host(kind: CcKind, config: &Config) -> Tx {
    let cc = Cc::new(kind, Rng::new(7));
    let mut tx = Tx::established(config, cc, Nanos(0), Some(Span::from_millis(50)));
    tx.write(u64::MAX);
    tx
}

fn drain(tx: &mut Tx, now: Nanos) -> Vec<Segment> {
    let mut pieces = Vec::new();
    while let Some(mut segment) = tx.poll_transmit(now) {
        let mut rest = segment.cut(tx.device_mss());
        pieces.push(segment);
        while segment.advance(&mut rest) {
            pieces.push(segment);
        }
    }
    pieces
}

/// TCP small queues: ten segments in 50 ms are 1.7 Mbit/s or 0.6 kB in 2^-10 s at 300 %: the limit is two
/// packets, and one more passes before it is exceeded. Each completion lets one follow.
#[test]
fn small_queues_hold_few_packets_in_the_host() {
    let mut tx = host(CcKind::Reno, &plain());
    let mut sent = drain(&mut tx, Nanos(0)).len();
    assert_eq!(sent, 3);
    while sent < 10 {
        tx.on_tx_complete(Nanos(1000), truesize(1514));
        assert_eq!(drain(&mut tx, Nanos(1000)).len(), 1);
        sent += 1;
    }
    tx.on_tx_complete(Nanos(2000), truesize(1514));
    assert!(drain(&mut tx, Nanos(2000)).is_empty(), "the window is full");
}

/// Super-packets: two segments at least, half of the window at most.
#[test]
fn super_packets_are_sized_by_the_rate() {
    let mut tx = host(CcKind::Reno, &Config::default());
    let first = tx.poll_transmit(Nanos(0)).expect("data");
    assert_eq!(u64::from(first.len), 2 * MSS);
    let near = Config::default();
    let mut tx = Tx::established(&near, Cc::new(CcKind::Reno, Rng::new(7)), Nanos(0), Some(Span(100_000)));
    tx.write(u64::MAX);
    // 100 us away: 64 KiB would be sent at once if the window were not ten.
    assert_eq!(u64::from(tx.poll_transmit(Nanos(0)).expect("data").len), 5 * MSS);
}

/// Without TSO the same super-packet leaves in pieces, the FIN on the last.
#[test]
fn super_packets_are_cut_for_a_device_without_tso() {
    let config = Config { tso: false, ..Config::default() };
    let mut tx = Tx::established(&config, Cc::new(CcKind::Reno, Rng::new(7)), Nanos(0), Some(Span(100_000)));
    tx.write(3 * MSS + 100);
    tx.close();
    let pieces = drain(&mut tx, Nanos(0));
    let lens: Vec<u64> = pieces.iter().map(|piece| piece.len.into()).collect();
    assert_eq!(lens, [MSS, MSS, MSS, 100]);
    let fins: Vec<bool> = pieces.iter().map(|piece| piece.flags.has(Flags::FIN)).collect();
    assert_eq!(fins, [false, false, false, true]);
    assert!(pieces.windows(2).all(|pair| pair[0].end() == pair[1].seq));
    assert_eq!(tx.window().packets_out, 4);
}

/// Pacing (BBR): after the first ten segments each leaves a segment's time after the one before.
#[test]
fn pacing_spaces_segments() {
    // Packets of one segment need more send buffer. A buffer that is too small for startup limits the
    // samples.
    let config = Config { tcp_wmem: [4096, 16_384, 1 << 24], ..plain() };
    let mut pipe = endless(&config, CcKind::Bbr, 100, 50);
    pipe.run(Span::from_secs(3));
    let times: Vec<u64> = pipe.payload().map(|c| c.at.0).collect();
    let gaps: Vec<u64> = times[times.len() - 201..].windows(2).map(|w| w[1] - w[0]).collect();
    // 1448 bytes at 95 % to 125 % of 95.6 Mbit/s of payload: 96 to 128 us.
    assert!(gaps.iter().all(|&gap| (48_000..=220_000).contains(&gap)), "{gaps:?}");
    let mean = gaps.iter().sum::<u64>() / 200;
    assert!((90_000..=165_000).contains(&mean), "{mean}");
}

/// What an idle connection costs: thousands of them fit into little memory.
#[test]
fn an_idle_connection_is_small() {
    assert!(size_of::<Tx>() <= 768, "{}", size_of::<Tx>());
    assert!(size_of::<crate::tcp::Rx>() <= 256, "{}", size_of::<crate::tcp::Rx>());
    assert_eq!(size_of::<crate::tcp::scoreboard::Slot>(), 32);
}

/// Linux pushes the last segment of each super-packet, and of what was written.
#[test]
fn super_packets_end_with_a_push() {
    let pushes = |config: &Config| {
        let mut pipe = Pipe::new(config, CcKind::Reno, Rate(100_000_000), Span::from_millis(50));
        pipe.tx.write(100 * MSS);
        assert!(pipe.run_until_done(Span::from_secs(5)));
        pipe.payload().map(|c| c.segment.flags.has(Flags::PSH)).collect::<Vec<bool>>()
    };
    let pushed = pushes(&Config { tso: false, gso: true, ..Config::default() });
    // At the start a super-packet has two segments.
    assert_eq!(pushed[..6], [false, true, false, true, false, true]);
    assert!(pushed[99]);
    assert_eq!(pushes(&plain()).iter().filter(|&&is_pushed| is_pushed).count(), 1);
}

//! Both ends over a line: a FIFO queue, a rate and a delay.

use std::collections::BTreeMap;

use goodqueue::{Nanos, Rng, Span};
use proptest::prelude::*;

use super::wire::{Feedback, Hello, Media, NACKS, Nack, Packet, Tick};
use super::*;
use crate::{Direction, Sample};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

/// A line, the same both ways.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// Bits per second.
    rate: u64,
    delay: u64,
    /// The longest wait in the queue, ns: packets that would wait longer are dropped.
    limit: u64,
    /// Datagrams lost per thousand.
    loss: u64,
    seed: u64,
}

/// The results of a run.
#[derive(Debug, Default)]
struct Outcome {
    samples: Vec<Sample>,
    /// Datagrams sent each way.
    sent: [u64; 2],
    /// Longest wait in the queue in the second half, each way.
    waited: [u64; 2],
}

/// Runs both ends for `length`, a fifth of it idle.
fn run(app: App, line: Line, length: u64) -> Outcome {
    let config = PeerConfig {
        talk: 3,
        token: 7,
        app,
        origin: Nanos(S + length / 5),
        start: Nanos(S),
        stop: Nanos(S + length),
    };
    let mut ends: [Option<Box<dyn Peer>>; 2] = [Some(client(config)), None];
    let (mut out, mut rng) = (Outcome::default(), Rng::new(line.seed));
    let mut under_way: BTreeMap<(u64, u64), (usize, Vec<u8>)> = BTreeMap::new();
    let (mut free_at, mut count) = ([0; 2], 0);
    loop {
        let arrival = under_way.first_key_value().map(|(&(at, _), _)| at);
        let timers = ends.iter().flatten().filter_map(|end| end.poll_timeout()).map(|at| at.0.max(S));
        let Some(now) = timers.chain(arrival).min().filter(|&now| now < S + length) else { return out };
        let mut sink = |sample| out.samples.push(sample);
        if arrival == Some(now) {
            let (_, (to, bytes)) = under_way.pop_first().expect("one that arrives");
            if to == 1 && ends[1].is_none() {
                ends[1] = accept(&bytes, config.origin).map(|(_, server)| server);
            }
            if let Some(end) = &mut ends[to] {
                let kept = &bytes[..bytes.len().min(wire::MOST)];
                end.handle_datagram(Nanos(now), bytes.len(), kept, &mut sink);
            }
        }
        for from in 0..2 {
            let Some(end) = &mut ends[from] else { continue };
            let mut buf = [0; PAYLOAD];
            while let Some(len) = end.poll_transmit(Nanos(now), &mut buf) {
                out.sent[from] += 1;
                assert!(buf[wire::MOST.min(len)..len].iter().all(|&byte| byte == 0));
                let begins = free_at[from].max(now);
                if begins - now > line.limit || rng.below(1000) < line.loss {
                    continue;
                }
                if now > S + length / 2 {
                    out.waited[from] = out.waited[from].max(begins - now);
                }
                free_at[from] = begins + (len as u64 + 28) * 8 * S / line.rate;
                count += 1;
                under_way.insert((free_at[from] + line.delay, count), (1 - from, buf[..len].to_vec()));
            }
        }
    }
}

fn shown(out: &Outcome, wanted: Direction) -> Vec<(u32, i64, i64)> {
    let frame = |sample: &Sample| match *sample {
        Sample::Shown { way, number, t, took, .. } if way == wanted => Some((number, t, took)),
        _ => None,
    };
    out.samples.iter().filter_map(frame).collect()
}

/// Mean bit rate received in the second half, bits per second.
fn rate(out: &Outcome, wanted: Direction, length: u64) -> u64 {
    let half = (length / 2 - length / 5).cast_signed();
    let bytes = |sample: &Sample| match *sample {
        Sample::Interval { way, t, bytes, .. } if way == wanted && t > half => bytes,
        _ => 0,
    };
    out.samples.iter().map(bytes).sum::<u64>() * 8 * S / (length / 2)
}

const BOTH: [Direction; 2] = [Direction::Up, Direction::Down];

/// A call alone on a line with spare capacity reaches its highest rate and shows every frame.
#[test]
fn a_call_alone_on_a_fast_line_reaches_its_highest_rate() {
    let line = Line { rate: 50_000_000, delay: 15 * MS, limit: S, loss: 0, seed: 1 };
    let out = run(App::Call, line, 30 * S);
    for way in BOTH {
        let rate = rate(&out, way, 30 * S);
        assert!((3_600_000..4_000_000).contains(&rate), "{way:?}: {rate}");
        let frames = shown(&out, way);
        assert!(frames.len() > 890 && frames.windows(2).all(|two| two[1].0 == two[0].0 + 1), "{way:?}");
        assert!(frames.iter().all(|frame| frame.2 >= 15 * MS.cast_signed()));
    }
}

/// RFC 8698, section 4.3: without loss the rate settles where x_curr = PRIO XREF RMAX / r_ref, so a single
/// call uses the line and keeps a delay of about XREF RMAX / rate in a queue with room for a second.
#[test]
fn a_call_on_a_slow_line_uses_it_and_keeps_its_queue_short() {
    for rate_of_line in [800_000, 1_500_000, 2_500_000] {
        let line = Line { rate: rate_of_line, delay: 15 * MS, limit: S, loss: 0, seed: 1 };
        let out = run(App::Call, line, 60 * S);
        for (i, way) in BOTH.into_iter().enumerate() {
            let rate = rate(&out, way, 60 * S);
            assert!(rate > rate_of_line * 7 / 10 && rate < rate_of_line, "{rate_of_line} {way:?}: {rate}");
            assert!(out.waited[i] < 250 * MS, "{rate_of_line} {way:?}: {} ms", out.waited[i] / MS);
        }
    }
}

/// Lost packets are requested again: nearly every frame is shown, in order.
#[test]
fn lost_packets_are_sent_again() {
    let line = Line { rate: 20_000_000, delay: 15 * MS, limit: S, loss: 20, seed: 5 };
    let out = run(App::Call, line, 30 * S);
    for way in BOTH {
        let frames = shown(&out, way);
        assert!(frames.len() > 850, "{way:?}: {}", frames.len());
        let late = frames.iter().filter(|frame| frame.2 > 60 * MS.cast_signed()).count();
        assert!(late > 0, "a retransmitted packet takes one more round trip");
    }
    let lost =
        |sample: &Sample| if let Sample::Interval { lost, .. } = *sample { u64::from(lost) } else { 0 };
    let lost: u64 = out.samples.iter().map(lost).sum();
    let sent = out.sent[0] + out.sent[1];
    assert!(lost * 1000 > sent * 10 && lost * 1000 < sent * 30, "{lost} of {sent}");
}

#[test]
fn a_game_has_every_tick_once() {
    for (ticks, expected) in [(64, 640), (30, 300)] {
        let line = Line { rate: 10_000_000, delay: 20 * MS, limit: S, loss: 0, seed: 1 };
        let out = run(App::Game(ticks), line, 10 * S);
        let numbers = |wanted| -> Vec<u32> {
            let tick = |sample: &Sample| match *sample {
                Sample::Tick { talk: 3, way, number, .. } if way == wanted => Some(number),
                _ => None,
            };
            out.samples.iter().filter_map(tick).collect()
        };
        let (up, down) = (numbers(Direction::Up), numbers(Direction::Down));
        assert!(up.windows(2).chain(down.windows(2)).all(|two| two[1] == two[0] + 1));
        // The last ticks are in flight at the end; the server's first tick is after the hello.
        assert!((expected - 3..=expected).contains(&up.len()), "{}", up.len());
        assert!((expected - 6..=expected).contains(&down.len()), "{}", down.len());
        let rtts =
            out.samples.iter().filter_map(|s| if let Sample::Tick { rtt, .. } = s { *rtt } else { None });
        let mut count = 0;
        for rtt in rtts {
            // Two ways of 20 ms, and 108 and 328 bytes at 10 Mbit/s.
            assert!((40_000_000..=40_400_000).contains(&rtt), "{rtt}");
            count += 1;
        }
        assert!(count > expected - 10);
    }
}

fn app() -> impl Strategy<Value = App> {
    prop_oneof![Just(App::Call), (1_u8..=100).prop_map(App::Game)]
}

fn packet() -> impl Strategy<Value = Packet> {
    let media = (any::<[u32; 4]>(), 1..=wire::MOST_PACKETS, any::<[u64; 2]>(), any::<(u16, u16, bool)>());
    prop_oneof![
        (any::<u32>(), app(), -1000_i64..1000, 1_i64..5000).prop_map(|(talk, app, start, more)| {
            Packet::Hello(Hello { talk, app, start, stop: start + more })
        }),
        media.prop_map(|([seq, media, frame, rtt_us], count, [captured, sent], (index, height, key))| {
            let index = index % count;
            Packet::Media(Media { seq, media, frame, index, count, captured, sent, rtt_us, height, key })
        }),
        (any::<(u64, u32, u32, bool, bool)>(), 0_u16..1 << 15).prop_map(
            |((echo, held, r_recv, gradual, wants_key), x_curr)| {
                Packet::Feedback(Feedback { echo, held, x_curr, r_recv, gradual, wants_key })
            }
        ),
        proptest::collection::vec(any::<u32>(), 1..=NACKS).prop_map(|all| {
            let mut nack = Nack { count: all.len(), ..Nack::default() };
            nack.numbers[..all.len()].copy_from_slice(&all);
            Packet::Nack(nack)
        }),
        any::<(u32, u64)>().prop_map(|(number, sent)| Packet::Input(Tick { number, sent, echo: None })),
        any::<(u32, u64, Option<(u64, u64)>)>().prop_map(|(number, sent, echo)| Packet::State(Tick {
            number,
            sent,
            echo
        })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn packets_read_back(token: u64, packet in packet()) {
        let mut buf = [0; PAYLOAD];
        let len = wire::emit(token, &packet, PAYLOAD, &mut buf);
        prop_assert_eq!(wire::parse(&buf[..len]), Some((token, packet)));
        prop_assert_eq!(wire::parse(&buf[..wire::MOST]), Some((token, packet)));
        prop_assert_eq!(wire::parse(&buf[..19]), None);
    }

    /// On any line: frames that were sent arrive in order and once; received and missing datagrams add up to
    /// those sent; the rate is within its bounds; each tick arrives at most once.
    #[test]
    fn nothing_arrives_twice_or_was_not_sent(
        app in app(), rate in 100_000_u64..20_000_000, delay in 0..200 * MS, limit in MS..2 * S, loss in 0_u64..300,
        seed: u64
    ) {
        let out = run(app, Line { rate, delay, limit, loss, seed }, 6 * S);
        for (from, way) in BOTH.into_iter().enumerate() {
            let frames = shown(&out, way);
            prop_assert!(frames.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1));
            prop_assert!(frames.iter().all(|frame| frame.0 <= 180 && frame.2 >= delay.cast_signed()));
            let (mut came, mut ticks) = (0, std::collections::BTreeSet::new());
            for sample in &out.samples {
                match *sample {
                    Sample::Interval { way: of, packets, lost, .. } if of == way => {
                        came += u64::from(packets) + u64::from(lost);
                    }
                    Sample::Tick { way: of, number, took, .. } if of == way => {
                        prop_assert!(ticks.insert(number), "tick {} twice", number);
                        prop_assert!(took >= delay.cast_signed());
                    }
                    _ => {}
                }
            }
            prop_assert!(came <= out.sent[from] && ticks.len() as u64 <= out.sent[from]);
        }
    }

    /// Whatever arrives, an end neither panics nor exceeds its memory bounds, and it continues.
    #[test]
    fn an_end_accepts_any_datagram(
        app in app(), is_server: bool, packets in proptest::collection::vec((packet(), 0_u64..200), 0..200)
    ) {
        let config =
            PeerConfig { talk: 0, token: 7, app, origin: Nanos(S), start: Nanos(S), stop: Nanos(100 * S) };
        let mut end = peer(config, if is_server { Side::Server } else { Side::Client });
        let (mut now, mut buf) = (Nanos(S), [0; PAYLOAD]);
        for (packet, ms) in packets {
            now += Span::from_millis(ms);
            let len = wire::emit(7, &packet, PAYLOAD, &mut buf);
            end.handle_datagram(now, len, &buf[..wire::MOST], &mut |_| {});
            let mut sent = 0;
            while end.poll_transmit(now, &mut buf).is_some() {
                sent += 1;
                prop_assert!(sent < 2000);
            }
            prop_assert!(end.poll_timeout().is_some_and(|at| at > now));
        }
    }
}

/// If the driver is late, as over sockets, an end that is past its stop wants nothing more.
#[test]
fn an_end_polled_after_its_stop_is_over() {
    for (app, side) in
        [App::Call, App::Game(64)].into_iter().flat_map(|app| [(app, Side::Client), (app, Side::Server)])
    {
        let config =
            PeerConfig { talk: 0, token: 7, app, origin: Nanos(S), start: Nanos(S), stop: Nanos(2 * S) };
        let mut end = peer(config, side);
        let mut buf = [0; PAYLOAD];
        while end.poll_transmit(Nanos(S), &mut buf).is_some() {}
        assert!(end.poll_timeout().is_some(), "{app:?} {side:?}");
        assert_eq!(end.poll_transmit(Nanos(2 * S + 1), &mut buf), None);
        assert_eq!(end.poll_timeout(), None, "{app:?} {side:?}");
    }
}

#[test]
fn the_layout_is_the_documented_one() {
    let hello = Hello { talk: 0x0102_0304, app: App::Game(64), start: -1, stop: 2 };
    let mut buf = [0; PAYLOAD];
    let len = wire::emit(0x1112_1314_1516_1718, &Packet::Hello(hello), wire::HELLO, &mut buf);
    #[rustfmt::skip]
    let golden: [u8; wire::HELLO] = [
        b'G', b'Q', b't', b'1', 1, 64, 0, 0, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,
        4, 3, 2, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 0, 0, 0,
    ];
    assert_eq!(buf[..len], golden);
    assert_eq!(token(&golden), Some(0x1112_1314_1516_1718));
    let (_, server) = accept(&golden, Nanos(S)).expect("a hello");
    assert_eq!(server.poll_timeout(), Some(Nanos(S - 1)));
}

#[test]
fn the_rate_determines_the_height_of_the_picture() {
    let heights = [0, 349_999, 350_000, 1_199_999, 2_500_000, 9_000_000].map(height);
    assert_eq!(heights, [180, 180, 270, 360, 720, 1080]);
}

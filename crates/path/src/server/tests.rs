//! Tests with unknown addresses, floods, replays and forgeries.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use goodqueue::{Nanos, Rng};
use proptest::prelude::*;

use super::*;
use crate::open::close;

const MS: i64 = 1_000_000;
const S: i64 = 1_000 * MS;

fn at(ns: i64) -> Stamp {
    Stamp::virtual_time(Nanos(ns.unsigned_abs()))
}

fn asked(interval: i64, length: i64) -> Params {
    let (version, duration) = (1, 60 * S);
    Params { version, duration, interval, length, received: 3, stamps: 3, clocks: 3, ..Params::default() }
}

/// A server, its source of tokens, and the events that it reported.
struct Desk {
    server: Server,
    rng: Rng,
    events: Vec<Event>,
}

impl Desk {
    fn new(limits: Limits, key: Option<&str>) -> Desk {
        let key = key.map(|text| Key::parse(text).unwrap());
        Desk { server: Server::new(limits, key, 1), rng: Rng::stream(1, 2, "tokens"), events: Vec::new() }
    }

    /// The answer to `request`, which arrived at `now`.
    fn ask(&mut self, from: SocketAddr, now: i64, request: &[u8]) -> Option<Vec<u8>> {
        let mut buf = [0; 2000];
        buf[..request.len()].copy_from_slice(request);
        let (rng, events) = (&mut self.rng, &mut self.events);
        let random = &mut || Some(rng.next_u64());
        let place = (&mut buf[..], request.len());
        let answer =
            self.server.handle(from, at(now).into(), at(now), place, random, &mut |e| events.push(e))?;
        Some(buf[..answer.len].to_vec())
    }

    fn open(&mut self, from: SocketAddr, now: i64, params: &Params) -> Option<OpenReply> {
        let request = OpenRequest { try_only: false, params: params.clone() };
        self.ask(from, now, &request.emit(false)).map(|reply| OpenReply::parse(&reply).unwrap())
    }

    /// The reply to a probe of 60 bytes.
    fn probe(&mut self, from: SocketAddr, now: i64, token: u64, seq: u32) -> Option<Packet> {
        let reply = self.ask(from, now, &probe(token, seq))?;
        Some(Layout::FULL.parse(&reply).unwrap())
    }
}

fn probe(token: u64, seq: u32) -> [u8; 60] {
    let mut bytes = [0; 60];
    Layout::FULL.emit(&Packet { token, seq, ..Packet::default() }, &mut bytes);
    bytes
}

fn addr(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

#[test]
fn a_session_opens_answers_and_closes() {
    let mut desk = Desk::new(Limits::default(), None);
    let (client, other) = (addr("192.0.2.1:9"), addr("192.0.2.1:10"));
    let reply = desk.open(client, 0, &asked(20 * MS, 0)).unwrap();
    let length = Layout::FULL.header_len() as i64;
    assert_eq!(reply.params, Params { length: 0, ..asked(20 * MS, length) });
    assert!(desk.events.is_empty(), "an address that has not shown that it receives has no session");
    let first = desk.probe(client, MS, reply.token, 0).unwrap();
    assert_eq!((first.reply, first.close, first.received, first.window), (true, false, 1, 1));
    assert_eq!(desk.probe(other, 2 * MS, reply.token, 1), None, "another port is another stranger");
    assert_eq!(desk.probe(client, 2 * MS, reply.token + 1, 1), None);
    assert_eq!(desk.ask(client, 3 * MS, &close(reply.token, false)), None);
    assert_eq!(desk.probe(client, 4 * MS, reply.token, 1), None);
    assert!(matches!(
        desk.events[..],
        [Event::Opened { number: 1, .. }, Event::Ended { why: Ending::Closed, received: 1, answered: 1, .. }]
    ));
    assert_eq!((desk.server.sessions(), desk.server.stats().wrong_token), (0, 3));
}

/// irtt 0.9.2's server answers the late packet 2 with a window of 1, and 4 with 101.
#[test]
fn a_late_probe_does_not_shift_the_window() {
    let mut desk = Desk::new(Limits::default(), None);
    let client = addr("[2001:db8::1]:9");
    let token = desk.open(client, 0, &asked(20 * MS, 0)).unwrap().token;
    let windows = [0, 1, 3, 2, 4].map(|seq| desk.probe(client, 0, token, seq).unwrap().window);
    assert_eq!(windows, [1, 0b11, 0b1101, 0b111, 0b11111]);
}

#[test]
fn irtts_client_may_ask_again_and_gets_no_more_than_it_sent() {
    let mut desk = Desk::new(Limits::default(), None);
    let client = addr("192.0.2.1:9");
    let ours = OpenRequest { try_only: false, params: asked(S, 0) }.emit(false);
    let irtts = &ours[..ours.len() - 12];
    assert_eq!(OpenRequest::parse(irtts), OpenRequest::parse(&ours), "without the padding");
    let answers = [0, S, 3 * S, 7 * S].map(|now| desk.ask(client, now, irtts).map_or(0, |reply| reply.len()));
    assert_eq!(answers, [0, 33, 33, 33]);
    assert_eq!(desk.server.stats().no_credit, 1);
    assert!(answers.iter().sum::<usize>() <= 4 * irtts.len());
}

/// 1 000 000 requests in 10 s from random spoofed addresses: no address gets more bytes than it sent, the
/// memory does not change, a session gets all its replies, and a new client is served.
#[test]
fn a_flood_of_spoofed_open_requests_does_not_disturb_sessions() {
    let mut desk = Desk::new(Limits::default(), None);
    let (client, newcomer) = (addr("192.0.2.1:9"), addr("198.51.100.7:9"));
    let token = desk.open(client, 0, &asked(10 * MS, 0)).unwrap().token;
    desk.probe(client, 0, token, 0).unwrap();
    let memory = desk.server.memory();
    let padded = OpenRequest { try_only: false, params: asked(S, 0) }.emit(false);
    let bare = &padded[..padded.len() - 12];
    let (mut answered, mut probes, mut newcomers) = (0, 0, 0);
    for number in 0..1_000_000_i64 {
        let now = number * 10_000;
        let from =
            SocketAddr::new(Ipv4Addr::from_bits((number as u32).wrapping_mul(2_654_435_761)).into(), 53);
        let request = if number % 2 == 0 { &padded[..] } else { bare };
        if let Some(reply) = desk.ask(from, now, request) {
            assert!(reply.len() <= request.len());
            answered += 1;
        }
        if number % 1_000 == 999 {
            probes += u32::from(desk.probe(client, now, token, probes + 1).is_some());
            desk.server.handle_timeout(now, &mut |event| panic!("{event:?}"));
        }
        if number % 100_000 == 50_000 {
            let reply = desk.open(newcomer, now, &asked(10 * MS, 0));
            newcomers += u32::from(reply.is_some());
        }
    }
    assert_eq!(probes, 1_000, "all probes of the session were answered");
    assert_eq!(newcomers, 10, "each request of a client from elsewhere was answered");
    assert_eq!(desk.server.memory(), memory);
    assert!(answered > 400_000, "it was a flood: {answered}");
}

#[test]
fn a_half_open_connection_outlives_a_flood_that_is_shorter_than_its_table() {
    let mut desk = Desk::new(Limits::default(), None);
    let client = addr("192.0.2.1:9");
    let token = desk.open(client, 0, &asked(10 * MS, 0)).unwrap().token;
    for number in 0..HALF_OPEN as u32 - 1 {
        desk.open(SocketAddr::new(Ipv4Addr::from_bits(number << 8 | 1 << 31).into(), 53), 0, &asked(S, 0));
    }
    assert!(desk.probe(client, 0, token, 0).is_some());
}

/// All requests come from one network: it gets answers at the set rate, and no more.
#[test]
fn a_network_is_answered_at_its_rate() {
    let mut desk = Desk::new(Limits { opens_per_second: 3, ..Limits::default() }, None);
    let mut answered = [0; 10];
    for number in 0..100_000_u32 {
        let from = SocketAddr::new(Ipv4Addr::from([192, 0, 2, (number % 256) as u8]).into(), number as u16);
        let second = number as usize / 10_000;
        answered[second] += u32::from(desk.open(from, i64::from(number) * 100_000, &asked(S, 0)).is_some());
    }
    assert!(answered[0] <= 9 && answered[1..].iter().all(|n| (2..=4).contains(n)), "{answered:?}");
    assert_eq!(desk.server.stats().too_often, 100_000 - u64::from(answered.iter().sum::<u32>()));
}

#[test]
fn forged_tokens_get_no_answer() {
    let mut desk = Desk::new(Limits::default(), None);
    let client = addr("192.0.2.1:9");
    let token = desk.open(client, 0, &asked(10 * MS, 0)).unwrap().token;
    desk.probe(client, 0, token, 0).unwrap();
    let mut rng = Rng::new(9);
    for seq in 0..1_000_000 {
        assert_eq!(desk.probe(client, 0, rng.next_u64(), seq), None);
    }
    assert_eq!(desk.server.stats().wrong_token, 1_000_000);
    assert_eq!(desk.server.stats().answered, 1);
}

/// Captured probes and requests, replayed 10 000 times in a second.
#[test]
fn replays_get_what_the_session_would_get_and_nothing_when_it_is_over() {
    let mut desk = Desk::new(Limits::default(), None);
    let client = addr("192.0.2.1:9");
    let token = desk.open(client, 0, &asked(100 * MS, 0)).unwrap().token;
    let answers = (0..10_000).filter(|n| desk.probe(client, n * S / 10_000, token, 0).is_some()).count();
    assert!(answers <= 42, "{answers}: 3 s of probes, a third faster than agreed");
    desk.ask(client, S, &close(token, false));
    assert_eq!((0..10_000).filter(|_| desk.probe(client, S, token, 0).is_some()).count(), 0);
}

#[test]
fn without_the_key_there_is_no_answer_and_no_sign() {
    let mut desk = Desk::new(Limits::default(), Some("secret"));
    let client = addr("192.0.2.1:9");
    let request = OpenRequest { try_only: false, params: asked(S, 0) };
    assert_eq!(desk.ask(client, 0, &request.emit(false)), None);
    let (right, wrong) = (Key::parse("secret").unwrap(), Key::parse("guess").unwrap());
    let mut sealed = request.emit(true);
    wrong.seal(&mut sealed);
    assert_eq!(desk.ask(client, 0, &sealed), None);
    right.seal(&mut sealed);
    let reply = desk.ask(client, 0, &sealed).unwrap();
    assert!(right.opens(&reply));
    let token = OpenReply::parse(&reply).unwrap().token;
    let layout = Layout { hmac: true, ..Layout::FULL };
    let mut bytes = [0; 76];
    layout.emit(&Packet { token, ..Packet::default() }, &mut bytes);
    assert_eq!(desk.ask(client, 0, &bytes), None, "unsealed");
    right.seal(&mut bytes);
    let reply = desk.ask(client, 0, &bytes).unwrap();
    assert!(right.opens(&reply) && layout.parse(&reply).unwrap().reply);
    assert_eq!(desk.ask(client, 0, &close(token, true)), None);
    assert_eq!((desk.server.sessions(), desk.server.stats().wrong_key), (1, 4), "nobody else closes it");
    let mut open = Desk::new(Limits::default(), None);
    assert_eq!(
        open.ask(client, 0, &sealed),
        None,
        "a server without a key does not know it is the right one"
    );
}

#[test]
fn requested_parameters_are_restricted() {
    let limits = Limits { max_length: Span::from_secs(10), max_size: 500, ..Limits::default() };
    let mut desk = Desk::new(limits, None);
    let client = addr("192.0.2.1:9");
    let wish = Params { fill: "pattern:00".into(), tos: 0xb8, ..asked(1_000, 1400) };
    let got = desk.open(client, 0, &wish).unwrap().params;
    assert_eq!((got.duration, got.interval, got.length, got.tos), (10 * S, MS, 500, 0xb8));
    assert_eq!(got.fill, "");
    let got = desk.open(client, 0, &Params { fill: "rand".into(), ..asked(100 * S, 0) }).unwrap().params;
    assert_eq!((got.interval, got.fill.as_str()), (15 * S, "rand"));
}

#[test]
fn a_reply_is_as_long_as_its_request_and_no_longer_than_agreed() {
    let mut desk = Desk::new(Limits::default(), None);
    let client = addr("192.0.2.1:9");
    let wish = Params { fill: "rand".into(), ..asked(20 * MS, 200) };
    let token = desk.open(client, 0, &wish).unwrap().token;
    let mut bytes = [0x55; 1400];
    Layout::FULL.emit(&Packet { token, ..Packet::default() }, &mut bytes);
    let lengths = [60, 100, 200, 1400].map(|len| desk.ask(client, 0, &bytes[..len]).unwrap().len());
    assert_eq!(lengths, [60, 100, 200, 200]);
    let reply = desk.ask(client, 0, &bytes[..200]).unwrap();
    assert!(reply[60..].windows(2).all(|pair| pair != [0x55, 0x55]), "nothing of the client's comes back");
    assert_eq!(desk.ask(client, 0, &bytes[..59]), None);
}

#[test]
fn sessions_are_counted_by_network_and_in_all() {
    let limits = Limits { sessions: 3, sessions_per_prefix: 2, opens_per_second: 100, ..Limits::default() };
    let mut desk = Desk::new(limits, None);
    let mut enter = |text: &str| {
        let client = addr(text);
        let reply = desk.open(client, 0, &asked(S, 0)).unwrap();
        let is_in = !reply.closed && desk.probe(client, 0, reply.token, 0).is_some();
        (is_in, Refusal::of(reply.params.refusal))
    };
    assert_eq!(enter("192.0.2.1:9"), (true, None));
    assert_eq!(enter("192.0.2.2:9"), (true, None));
    assert_eq!(enter("192.0.2.3:9"), (false, Some(Refusal::PrefixFull)));
    assert_eq!(enter("[2001:db8::1]:9"), (true, None));
    assert_eq!(enter("198.51.100.1:9"), (false, Some(Refusal::Full)));
    desk.server.handle_timeout(61 * S, &mut |_| {});
    assert_eq!(desk.server.sessions(), 0, "silent ones are over");
    assert!(!desk.open(addr("192.0.2.3:9"), 62 * S, &asked(S, 0)).unwrap().closed);
}

#[test]
fn a_session_that_does_not_end_is_ended() {
    let mut desk = Desk::new(Limits::default(), None);
    let client = addr("192.0.2.1:9");
    let token = desk.open(client, 0, &asked(S, 0)).unwrap().token;
    let closes: Vec<_> = (0..70)
        .map_while(|n| desk.probe(client, i64::from(n) * S, token, n))
        .map(|reply| reply.close)
        .collect();
    assert_eq!(closes.len(), 67, "60 s, 5 s of grace");
    assert_eq!(closes.iter().position(|&close| close), Some(66));
    assert!(matches!(desk.events.last(), Some(Event::Ended { why: Ending::Overdue, .. })));
}

#[test]
fn another_version_is_refused_and_a_try_makes_no_session() {
    let mut desk = Desk::new(Limits::default(), None);
    let client = addr("192.0.2.1:9");
    let reply = desk.open(client, 0, &Params { version: 2, ..asked(S, 0) }).unwrap();
    assert_eq!((reply.closed, reply.token, reply.params.version), (true, 0, 1));
    assert_eq!(Refusal::of(reply.params.refusal), Some(Refusal::Version));
    let request = OpenRequest { try_only: true, params: asked(S, 0) };
    let reply = OpenReply::parse(&desk.ask(client, 0, &request.emit(false)).unwrap()).unwrap();
    assert_eq!((reply.closed, reply.token, reply.params), (true, 0, asked(S, 0)));
    assert!(desk.server.connections.is_empty());
}

/// The table of docs/server.md.
#[test]
fn memory_is_what_the_page_says() {
    let server = Server::new(Limits::default(), None, 1);
    let page = include_str!("../../../../docs/server.md");
    let mut total = 0;
    for Memory { what, places, bytes } in server.memory() {
        total += places * bytes;
        let row = format!("| {what} | {places} | {bytes} |");
        assert!(page.contains(&row), "docs/server.md lacks `{row}`");
    }
    let row = format!("| together | | {total} |");
    assert!(page.contains(&row), "docs/server.md lacks `{row}`");
}

proptest! {
    /// Whatever arrives, no answer is longer than what that address has sent until then.
    #[test]
    fn no_bytes_are_amplified(
        datagrams in proptest::collection::vec(
            (0_u8..4, 0_u8..16, proptest::collection::vec(any::<u8>(), 0..80), any::<bool>()), 0..60)
    ) {
        let mut desk = Desk::new(Limits { opens_per_second: 1000, ..Limits::default() }, None);
        let mut balance = HashMap::<SocketAddr, i64>::new();
        let mut tokens = vec![1];
        for (who, flags, mut bytes, shape) in datagrams {
            let from = SocketAddr::new(Ipv4Addr::new(192, 0, 2, who).into(), 9);
            if shape {
                bytes = OpenRequest { try_only: flags & 4 != 0, params: asked(S, 0) }.emit(false);
                bytes.truncate(bytes.len() - usize::from(flags & 3) * 4);
            } else if bytes.len() > 12 {
                bytes[..3].copy_from_slice(&goodqueue_probe::echo::wire::MAGIC);
                bytes[3] = flags;
                let token: u64 = tokens[usize::from(bytes[4]) % tokens.len()];
                bytes[4..12].copy_from_slice(&token.to_le_bytes());
            }
            let balance = balance.entry(from).or_default();
            *balance += bytes.len() as i64;
            if let Some(reply) = desk.ask(from, 0, &bytes) {
                *balance -= reply.len() as i64;
                prop_assert!(*balance >= 0);
                if let Ok(reply) = OpenReply::parse(&reply) {
                    tokens.push(reply.token);
                }
            }
        }
    }
}

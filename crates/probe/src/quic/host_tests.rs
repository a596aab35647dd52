//! Two ends, a line with a rate and a delay between them, and no sockets.

use super::*;
use crate::quic::plain;

const CLIENT: &str = "10.0.0.1:4000";
const SERVER: &str = "10.0.0.2:2113";
const MS: u64 = 1_000_000;

/// A client, a server, and the datagrams between them.
struct Pair {
    now: u64,
    hosts: [Host; 2],
    /// When each datagram arrives, to whom, and its bytes.
    wire: VecDeque<(u64, usize, Vec<u8>)>,
    /// When the line of each direction is free again.
    free: [u64; 2],
    /// Rate in bits per second, and one-way delay in nanoseconds.
    rate: u64,
    delay: u64,
    /// Most bytes that wait for the line; further ones are dropped.
    buffer: u64,
    sent: [u64; 2],
    events: Vec<(usize, usize, Event)>,
}

impl Pair {
    fn new(settings: Settings) -> Pair {
        let client = Host::client(settings, plain::client(1));
        let server = Host::server(settings, plain::server(2));
        let (rate, delay, buffer) = (10_000_000, 10 * MS, 50_000);
        let (free, sent) = ([0; 2], [0; 2]);
        let (wire, events) = (VecDeque::new(), Vec::new());
        Pair { now: 0, hosts: [client, server], wire, free, rate, delay, buffer, sent, events }
    }

    fn connect(&mut self, sends: Option<QuicCc>) -> usize {
        let to = SERVER.parse().unwrap();
        self.hosts[0].connect(Nanos(self.now), to, &[7; OPENING], sends).unwrap()
    }

    /// Runs until `until`; the server begins the flows that it is asked for, with `sends` for downloads.
    fn run(&mut self, until: u64, sends: Option<QuicCc>) {
        loop {
            for side in 0..2 {
                let mut buf = Vec::new();
                while self.hosts[side].poll_transmit(Nanos(self.now), &mut buf).is_some() {
                    self.sent[side] += buf.len() as u64;
                    let waiting = self.free[side].saturating_sub(self.now) * self.rate / 8_000_000_000;
                    if waiting <= self.buffer {
                        let takes = buf.len() as u64 * 8_000_000_000 / self.rate;
                        self.free[side] = self.free[side].max(self.now) + takes;
                        self.wire.push_back((self.free[side] + self.delay, 1 - side, buf.clone()));
                    }
                }
                while let Some((flow, event)) = self.hosts[side].poll_event() {
                    if let Event::Opening(opening) = event {
                        assert_eq!(opening, [7; OPENING]);
                        self.hosts[side].begin(Nanos(self.now), flow, sends, 1 << 20);
                    }
                    if let Event::Ended(_) = event {
                        self.hosts[side].close(Nanos(self.now), flow);
                    }
                    self.events.push((side, flow, event));
                }
            }
            if self.hosts.iter().any(|host| !host.ready.is_empty()) {
                continue;
            }
            self.wire.make_contiguous().sort_by_key(|&(at, ..)| at);
            let timers = self.hosts.iter().filter_map(Host::poll_timeout).map(|at| at.0);
            let next = timers.chain(self.wire.front().map(|&(at, ..)| at)).min().unwrap_or(u64::MAX);
            if next > until {
                self.now = until;
                return;
            }
            self.now = next.max(self.now);
            while let Some((_, to, bytes)) = self.wire.pop_front_if(|&mut (at, ..)| at <= self.now) {
                let from = if to == 1 { CLIENT } else { SERVER }.parse().unwrap();
                self.hosts[to].handle(Nanos(self.now), Arrival { from, to: None, ecn: 0 }, &bytes);
            }
            for host in &mut self.hosts {
                host.handle_timeout(Nanos(self.now));
            }
        }
    }

    fn received(&self, side: usize, flow: usize) -> u64 {
        self.hosts[side].view(Nanos(self.now), flow).received
    }
}

#[test]
fn a_flow_fills_the_line_in_either_direction() {
    for cc in [QuicCc::Cubic, QuicCc::NewReno, QuicCc::Bbr] {
        for (sends, answers, receiver) in [(Some(cc), None, 1), (None, Some(cc), 0)] {
            let mut pair = Pair::new(Settings::default());
            let flow = pair.connect(sends);
            pair.run(5_000 * MS, answers);
            let before = pair.received(receiver, flow);
            pair.run(10_000 * MS, answers);
            // At least 1140 of 1200 bytes are payload; here headers below UDP cost nothing.
            let share = (pair.received(receiver, flow) - before) as f64 * 8.0 / 5.0 / 10e6;
            assert!((0.85..0.98).contains(&share), "{cc} to {receiver}: {share}");
            let view = pair.hosts[1 - receiver].view(Nanos(pair.now), flow);
            assert!(
                view.is_connected && view.info.srtt_us >= 20_000 && view.info.cwnd_segments > 10,
                "{view:?}"
            );
            assert_eq!(pair.hosts[1 - receiver].cc(flow), Some(cc));
            assert!(view.info.busy_us > 9_000_000 && view.info.rwnd_limited_us < 1_000_000, "{view:?}");
            if cc != QuicCc::Bbr {
                assert!(view.info.retransmits > 0, "{view:?}");
            }
        }
    }
}

#[test]
fn the_receiver_s_window_is_seen_as_the_limit() {
    let mut pair = Pair::new(Settings { window: 64 * 1024, ..Settings::default() });
    (pair.rate, pair.delay) = (1_000_000_000, 50 * MS);
    let flow = pair.connect(None);
    pair.run(5_000 * MS, Some(QuicCc::Cubic));
    let info = pair.hosts[1].view(Nanos(pair.now), flow).info;
    assert!(info.rwnd_limited_us * 10 > info.busy_us * 7, "{info:?}");
}

#[test]
fn a_closed_flow_is_over_at_both_ends_and_leaves_nothing() {
    let mut pair = Pair::new(Settings::default());
    let flow = pair.connect(Some(QuicCc::Cubic));
    pair.run(1_000 * MS, None);
    pair.hosts[0].close(Nanos(pair.now), flow);
    pair.run(10_000 * MS, None);
    let ended: Vec<_> = pair.events.iter().filter(|(_, _, event)| matches!(event, Event::Ended(_))).collect();
    assert_eq!(ended, [&(1, flow, Event::Ended("closed by the other end".into()))]);
    assert_eq!([pair.hosts[0].connections(), pair.hosts[1].connections()], [0, 0]);
    assert!(pair.hosts.iter().all(|host| host.timers.is_empty() && host.ready.is_empty()));
}

#[test]
fn the_same_seeds_send_the_same_bytes() {
    let bytes = || {
        let mut pair = Pair::new(Settings::default());
        pair.connect(Some(QuicCc::Cubic));
        pair.run(3_000 * MS, None);
        (pair.sent, pair.now, pair.received(1, 0))
    };
    let first = bytes();
    assert_eq!(first, bytes());
    assert!(first.2 > 1_000_000, "{first:?}");
}

#[test]
fn a_stranger_gets_no_more_bytes_than_it_sent() {
    let mut pair = Pair::new(Settings::default());
    pair.connect(Some(QuicCc::Cubic));
    let mut first = Vec::new();
    pair.hosts[0].poll_transmit(Nanos(0), &mut first).unwrap();
    assert!(first.len() >= 1200);
    let from = CLIENT.parse().unwrap();
    let mut answers = |bytes: &[u8]| {
        let mut buf = Vec::new();
        pair.hosts[1].handle(Nanos(0), Arrival { from, to: None, ecn: 0 }, bytes);
        let mut sum = 0;
        while pair.hosts[1].poll_transmit(Nanos(0), &mut buf).is_some() {
            sum += buf.len();
        }
        sum
    };
    let retry = answers(&first);
    assert!(retry > 0 && retry <= first.len(), "{retry}");
    // Cut off, of another version, with a different first byte: the answer is never longer.
    for len in 0..first.len() {
        assert!(answers(&first[..len]) <= len);
    }
    for at in 0..64 {
        for bit in 0..8 {
            let mut other = first.clone();
            other[at] ^= 1 << bit;
            let got = answers(&other);
            assert!(got <= other.len(), "{got} at {at}");
        }
    }
    assert_eq!(pair.hosts[1].connections(), 0, "nobody has shown that it receives");
}

#[test]
fn answers_that_nobody_sends_take_bounded_memory() {
    let mut pair = Pair::new(Settings::default());
    pair.connect(Some(QuicCc::Cubic));
    let mut first = Vec::new();
    pair.hosts[0].poll_transmit(Nanos(0), &mut first).unwrap();
    // The kernel has no room for answers, and Initials of new connections and stray packets keep arriving.
    for number in 0..10_000_u32 {
        let from = SocketAddr::new(IpAddr::from(number.to_be_bytes()), 4000);
        let mut initial = first.clone();
        // The client's choice of the server's connection ID.
        initial[6..10].copy_from_slice(&number.to_be_bytes());
        pair.hosts[1].handle(Nanos(0), Arrival { from, to: None, ecn: 0 }, &initial);
        pair.hosts[1].handle(Nanos(0), Arrival { from, to: None, ecn: 0 }, &[0x40; 1200]);
    }
    let server = &pair.hosts[1];
    assert_eq!((server.answers.len(), server.connections()), (MOST_ANSWERS, 0));
    assert!(server.events.is_empty() && server.timers.is_empty() && server.ready.is_empty());
}

#[test]
fn connections_are_bounded() {
    let mut pair = Pair::new(Settings { connections: 3, ..Settings::default() });
    for _ in 0..5 {
        pair.connect(Some(QuicCc::Cubic));
    }
    pair.run(1_000 * MS, None);
    assert_eq!((pair.hosts[1].connections(), pair.hosts[1].refused()), (3, 2));
    let refused = pair.events.iter().filter(|(side, _, event)| {
        *side == 0 && matches!(event, Event::Ended(why) if why.starts_with("refused"))
    });
    assert_eq!(refused.count(), 2);
}

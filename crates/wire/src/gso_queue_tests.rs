//! Super-packets in the queues of a path: the port, which the simulator uses too, makes the decisions.

use std::collections::HashMap;
use std::net::IpAddr;

use goodqueue::details::{Details, Gso};
use goodqueue::{
    Bytes, Direction, ETHERNET_FRAME, FlowHasher, Header, Line, Nanos, Observer, PacketInfo, Port, QueueSpec,
    Rate, Reason, Rng, Serializer, Span,
};
use proptest::prelude::*;

use super::{Plan, SEQUENCE};
use crate::channel::Channel;
use crate::flows::{FlowSpec, MOST_FLOWS};
use crate::frame;
use crate::gso::SuperPacket;
use crate::path::{Path, PathSpec};
use crate::per_direction::PerDirection;
use crate::pool::{Note, Pool};

const RATE: Rate = Rate(50_000_000);
const FRAMES: u32 = 4096;
/// Ethernet, IPv4 and TCP.
const HEADERS: u32 = 54;
const SIZE: u32 = 1448;

/// A packet that comes `gap` ns after the previous one, with this many bytes of payload, from one of four
/// flows.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    gap: u64,
    payload: u32,
    flow: u8,
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let payload = prop_oneof![1..=SIZE, SIZE + 1..=20_000_u32, Just(65_160)];
    let one = (0..4_000_000_u64, payload, 0..4_u8);
    prop::collection::vec(one.prop_map(|(gap, payload, flow)| Arrival { gap, payload, flow }), 1..200)
}

/// A packet that leaves at one moment: the sequence number and length of each of its segments, and whether it
/// has CE.
type Left = (Nanos, Vec<(u32, u32)>, bool);

/// The decisions of one side: what left, drops by reason, marks.
type Decided = (Vec<Left>, Vec<u64>, u64);

fn hash_of(flow: u8) -> u32 {
    u32::from(flow).wrapping_mul(0x9e37_79b9)
}

/// Sequence numbers distinguish arrivals and their segments.
fn sequence(number: usize) -> u32 {
    u32::try_from(number).expect("few") << 17
}

/// The simplest possible owner: it keeps the segments of each packet in a list.
#[derive(Default)]
struct Plain {
    packets: HashMap<u64, Vec<(u32, u32)>>,
    next: u64,
    drops: Vec<u64>,
    marks: u64,
    /// The rest of the super-packet that is being cut.
    rest: Vec<(u32, u32)>,
}

impl Plain {
    fn add(&mut self, segments: Vec<(u32, u32)>, like: Header) -> Header {
        self.next += 1;
        let len = segments.iter().map(|segment| segment.1).sum();
        let truesize = if segments.len() > 1 { len + 1280 } else { frame::truesize(len) };
        self.packets.insert(self.next, segments);
        Header { cookie: self.next, len, truesize, ..like }
    }
}

impl Observer<Header> for Plain {
    fn dropped(&mut self, _now: Nanos, packet: Header, reason: Reason) {
        self.drops.resize(Reason::ALL.len(), 0);
        self.drops[crate::sample::place(reason)] += 1;
        assert!(self.packets.remove(&packet.cookie).is_some());
    }

    fn marked(&mut self, _now: Nanos, _packet: &Header, _reason: Reason) {
        self.marks += 1;
    }
}

impl PacketInfo<Header> for Plain {
    fn details(&self, packet: &Header) -> Details {
        let segments = self.packets[&packet.cookie].len();
        let host = |last| FlowHasher::new(1).host(IpAddr::from([10, 73, 0, last]));
        Details {
            source_hash: host(1),
            destination_hash: host(2),
            gso: (segments > 1).then(|| Gso {
                segments: u16::try_from(segments).expect("few"),
                size: SIZE,
                headers: HEADERS,
            }),
            ..Details::default()
        }
    }

    fn segment(&mut self, packet: &Header, index: u16) -> Option<Header> {
        if index == 0 {
            self.rest = self.packets.remove(&packet.cookie)?;
        }
        let first = self.rest.remove(0);
        Some(self.add(vec![first], *packet))
    }
}

/// The port alone, with plain lists.
fn plain(spec: &QueueSpec, arrivals: &[Arrival]) -> Decided {
    let queue =
        spec.build_with(RATE, ETHERNET_FRAME, Nanos::ZERO, Rng::stream(1, 0, "queue")).expect("a queue");
    let mut port = Port::new(queue, None, Line::from(Serializer::new(RATE)));
    let (mut owner, mut left, mut now) = (Plain::default(), Vec::new(), Nanos::ZERO);
    let mut poll = |port: &mut Port<Header, _>, owner: &mut Plain, now| {
        while let Some(departure) = port.poll(now, owner) {
            let segments = owner.packets.remove(&departure.packet.cookie).expect("it came");
            left.push((departure.at, segments, departure.packet.dsfield & 3 == 3));
        }
    };
    for (number, arrival) in arrivals.iter().enumerate() {
        now += Span(arrival.gap);
        let starts = (0..arrival.payload).step_by(SIZE as usize);
        let segments =
            starts.map(|at| (sequence(number) + at, SIZE.min(arrival.payload - at) + HEADERS)).collect();
        let like = Header { flow_hash: hash_of(arrival.flow), dsfield: 2, ..Header::default() };
        let packet = owner.add(segments, like);
        poll(&mut port, &mut owner, now);
        port.arrive(now, packet, &mut owner);
        poll(&mut port, &mut owner, now);
    }
    poll(&mut port, &mut owner, Nanos(u64::MAX / 2));
    assert!(owner.packets.is_empty(), "{:?}", owner.packets);
    owner.drops.resize(Reason::ALL.len(), 0);
    (left, owner.drops, owner.marks)
}

/// A path of the engine, with frames in slots.
fn engine(spec: &QueueSpec, arrivals: &[Arrival]) -> Decided {
    let path = |node| {
        let draws = Rng::stream(1, node, "queue");
        let queue = spec.build_with(RATE, ETHERNET_FRAME, Nanos::ZERO, draws).expect("a queue");
        let spec = PathSpec { line: Line::from(Serializer::new(RATE)), ..PathSpec::new(queue) };
        let flows = FlowSpec { origin: Nanos::ZERO, step: Span::from_millis(1000) };
        Path::new(spec, FRAMES, Rng::new(1), FlowHasher::new(1), Some(flows)).expect("a path")
    };
    let mut channel = PerDirection::both([path(0), path(1)]);
    let (mut pool, mut left, mut now) = (Pool::new(FRAMES, 1514), Vec::new(), Nanos::ZERO);
    let mut sent_payload = 0;
    let mut leave = |channel: &mut PerDirection<Path<_>>, pool: &mut Pool, now| {
        while let Some((at, ready)) = channel.take_due(Direction::Up, now) {
            let mut slots = Vec::new();
            let whole = pool.note(ready.frame).len;
            ready.leave(pool, &mut slots);
            assert_eq!(whole, slots.iter().map(|slot| slot.len).sum::<u32>());
            channel.count_sent(Direction::Up, whole);
            let mut is_ce = true;
            let mut segments = Vec::new();
            for slot in &slots {
                let bytes = pool.start(slot.frame, slot.len);
                let at = frame::ETHERNET + 20 + SEQUENCE;
                let sequence = u32::from_be_bytes(*bytes[at..].first_chunk().expect("a header"));
                is_ce &= bytes[frame::ETHERNET + 1] & 3 == 3;
                // Each payload byte shows its place in the stream.
                let payload = &bytes[HEADERS as usize..];
                assert!((sequence..).zip(payload).all(|(at, &byte)| byte == byte_at(at)));
                sent_payload += payload.len() as u64;
                segments.push((sequence, slot.len));
            }
            slots.iter().for_each(|slot| pool.give(slot.frame));
            left.push((at, segments, is_ce));
        }
    };
    for (number, arrival) in arrivals.iter().enumerate() {
        now += Span(arrival.gap);
        let plan = Plan {
            is_v6: false,
            options: Vec::new(),
            size: SIZE as usize,
            payload: (0..arrival.payload).map(|at| byte_at(sequence(number) + at)).collect(),
            sequence: sequence(number),
            identification: 1,
            flags: 0x10,
            is_ecn: false,
        };
        let (header, bytes) = plan.build();
        let note = Note { dsfield: 2, partial: header.partial(), ..Note::default() };
        let whole = SuperPacket::of(&header, &bytes).expect("a super-packet");
        let frame = whole.keep(&mut pool, note).expect("the pool is large");
        let Note { len, gso, .. } = pool.note(frame);
        assert_eq!(gso.is_some(), arrival.payload > SIZE);
        let truesize = if gso.is_some() { frame::truesize_of_super(len) } else { frame::truesize(len) };
        let flow_hash = hash_of(arrival.flow);
        let packet = Header { cookie: u64::from(frame), len, truesize, flow_hash, dsfield: 2 };
        channel.arrive(Direction::Up, now, packet, &mut pool);
        leave(&mut channel, &mut pool, now);
        let sample = channel.sample()[0];
        let held = u64::from(sample.backlog.packets) + u64::from(sample.ring.packets);
        let dropped: u64 = sample.drops.iter().sum();
        assert_eq!(sample.arrived.packets, sample.line.packets + dropped + held, "{sample:?}");
        assert_eq!(sample.sent.packets, sample.line.packets);
    }
    channel.advance(Direction::Up, Nanos(u64::MAX / 2), &mut pool);
    leave(&mut channel, &mut pool, Nanos(u64::MAX / 2));
    assert_eq!(pool.used(), 0, "every slot is given back");
    let sample = channel.sample()[0];
    assert_eq!((sample.sent.bytes, sample.backlog.packets), (sample.line.bytes, 0));
    let up = &channel.report(now)[0];
    let flow = &up.flows[0];
    assert_eq!((up.flows.len(), flow.arrived, flow.sent), (1, sample.arrived, sample.sent));
    assert_eq!((flow.drops, flow.marks), (sample.drops.iter().sum(), sample.marks));
    assert_eq!(flow.steps.iter().map(|step| step.payload).sum::<u64>(), sent_payload);
    assert_eq!(up.others.packets, 0, "of {MOST_FLOWS}");
    (left, sample.drops.to_vec(), sample.marks)
}

fn byte_at(at: u32) -> u8 {
    (at % 251) as u8
}

const QUEUES: [&str; 9] = [
    "pfifo:20",
    "fq_codel,limit=40",
    "fq_codel,memory_limit=300000",
    "cake",
    "cake,split-gso=off",
    "cake,memlimit=300000",
    "dualpi2",
    "dualpi2,split_gso=off",
    "tbf,rate=40mbit,burst=3000,limit=100000",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn what_leaves_and_what_is_dropped_is_what_the_port_decides(arrivals in arrivals()) {
        for text in QUEUES {
            let spec: QueueSpec = text.parse().expect("a queue");
            let (engine, plain) = (engine(&spec, &arrivals), plain(&spec, &arrivals));
            prop_assert_eq!(&engine, &plain, "{}", text);
        }
    }
}

/// Calculated by hand: the 45 segments of 64 kB leave a FIFO at once, after the time of all of them, and a
/// queue that cuts sends them one by one.
#[test]
fn a_super_packet_takes_its_whole_time_on_the_line_or_is_cut() {
    let one = [Arrival { gap: 0, payload: 45 * SIZE, flow: 0 }];
    let time = |frames: u64| Nanos(0) + RATE.tx_time(Bytes(frames * u64::from(SIZE + HEADERS)));
    let (left, ..) = engine(&"fq_codel".parse().expect("a queue"), &one);
    assert_eq!((left.len(), left[0].0, left[0].1.len()), (1, time(45), 45));
    let (left, ..) = engine(&"cake".parse().expect("a queue"), &one);
    let all: Vec<(Nanos, usize)> = left.iter().map(|(at, segments, _)| (*at, segments.len())).collect();
    assert_eq!(all, (1..=45).map(|n| (time(n), 1)).collect::<Vec<_>>());
}

/// CE is in the header of each segment.
#[test]
fn a_mark_is_on_every_segment() {
    let many = [Arrival { gap: 0, payload: 20 * SIZE, flow: 0 }; 20];
    let (left, _, marks) = engine(&"fq_codel,ce_threshold=1ms".parse().expect("a queue"), &many);
    let marked: Vec<usize> = left.iter().filter(|left| left.2).map(|left| left.1.len()).collect();
    assert_eq!((marked.len() as u64, marked.iter().all(|&segments| segments == 20)), (marks, true));
    assert!(marks > 10, "{marks}");
}

/// A super-packet that does not fit into the pool takes no slot.
#[test]
fn a_super_packet_without_room_is_refused_whole() {
    let mut pool = Pool::new(10, 1514);
    let plan = Plan {
        is_v6: true,
        options: Vec::new(),
        size: 100,
        payload: vec![0; 600],
        sequence: 1,
        identification: 1,
        flags: 0x10,
        is_ecn: false,
    };
    let (header, bytes) = plan.build();
    let whole = SuperPacket::of(&header, &bytes).expect("a super-packet");
    let first = whole.keep(&mut pool, Note::default()).expect("six of ten slots");
    assert_eq!((pool.used(), whole.keep(&mut pool, Note::default()), pool.used()), (6, None, 6));
    pool.give(first);
    assert_eq!((pool.used(), whole.keep(&mut pool, Note::default()).is_some()), (0, true));
}

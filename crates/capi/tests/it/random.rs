//! A long random run in C (`tests/c/random.c`) and the same run over the Rust library: every decision, every
//! drop and every counter must be the same bytes.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::process::Command;

use goodqueue::details::{Classified, Details, Gso, MOST_OPTIONS, TcpHeader, flags};
use goodqueue::spec::CATALOGUE;
use goodqueue::{
    AnyQueue, Dql, Header, Inspect, Nanos, Observer, Origin, PacketInfo, Queue, QueueSpec, Rate, Reason,
    Socket, Verdict,
};

use crate::tools::{C99, SANITIZERS, compile, has, has_sanitizers, run, valgrind};

const QUEUES: [&str; 36] = [
    "pfifo:100",
    "bfifo:50k",
    "fifo:60ms",
    "codel,limit=300,ecn=on,target=2ms,interval=20ms",
    "codel,parity=linux,ce_threshold=1ms",
    "fq_codel,limit=200,flows=16,target=2ms,interval=20ms",
    "fq_codel,limit=400,flows=4,memory_limit=200k,drop_batch=8,quantum=300,ecn=off",
    "tbf,rate=8mbit,burst=3k,limit=60k",
    "cake,bandwidth=20mbit,diffserv=diffserv4,ack-filter=on,memlimit=300k,flows=32,fwmark=7",
    "cake,bandwidth=50mbit,link=pppoe-vcmux,isolation=dual-srchost,ack-filter=aggressive,wash=on,rtt=10ms",
    "cake,diffserv=besteffort,split-gso=off,memlimit=150k,flows=8,rtt=lan",
    "cake,bandwidth=30mbit,diffserv=precedence,ingress=on,overhead=-4,mpu=64,isolation=hosts,autorate-ingress=on",
    "pie,limit=200,target=2ms,tupdate=4ms,ecn=on",
    "pie,limit=300,bytemode=on,dq_rate_estimator=on,hz=1000,target=1ms",
    "fq_pie,limit=300,flows=16,target=1ms,tupdate=4ms,ecn=on,ecn_prob=30",
    "fq_pie",
    "dualpi2,limit=300,memlimit=400k,target=1ms,tupdate=4ms",
    "dualpi2,limit=200,ecn_mask=any_ect,drop_early=drop_enqueue,step_thresh=5p,split_gso=off,target=1ms",
    "sfq,limit=200,flows=16,divisor=8,depth=30,perturb=10s",
    "sfq,limit=200,flows=8,headdrop=on,min=6k,max=18k,ecn=on,probability=5",
    "fq,limit=300,flows=32,buckets=8,flow_limit=40,maxrate=20mbit,ce_threshold=1ms",
    "fq,limit=200,horizon=2s,horizon_drop=off,flows=8,initial_quantum=1514",
    "wheel,limit=200,granularity=50us,horizon=10ms,horizon_drop=on",
    "wheel,limit=300",
    "red:200k",
    "red:100k,min=6k,max=30k,ecn=on,probability=10,adaptive=on",
    "pfifo_fast:60",
    "prio,bands=4,priomap=1231200123111111,leaf=fq_codel,leaf.limit=90,leaf.flows=8",
    "prio,leaf=cake,leaf.bandwidth=30mbit,leaf.ack-filter=on,leaf.memlimit=150k,leaf.flows=8",
    "drr,classes=8,weights=1234111111111111,leaf=codel,leaf.limit=40",
    "drr,by=dscp,classes=8,leaf=pie,leaf.limit=50,leaf.target=1ms",
    "drr,classes=4,leaf=fq,leaf.limit=80,leaf.flows=16",
    "htb,rate=20mbit,leaf.limit=100,leaf.flows=8",
    "htb,rate=20mbit,sqm=simple,leaf=dualpi2,leaf.limit=60",
    "htb,rate=8mbit,sqm=simple,overhead=8,linklayer=atm,leaf=sfq,leaf.flows=8",
    "prio,leaf=pfifo_fast,leaf.limit=30",
];

/// Whether packets have data beyond their descriptors: from cake on, in the order of the header.
fn has_details(text: &str) -> bool {
    !["pfifo:", "bfifo", "fifo", "codel", "fq_codel", "tbf"].iter().any(|name| text.starts_with(name))
}

const DROPS: i32 = 0x200;
const PACKET: i32 = 0x100;
const MARKED: i32 = 0x800;

pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        u32::try_from((self.0 >> 32) % u64::from(n)).expect("below n")
    }
}

/// The numbers of the header.
pub(crate) fn number(reason: Reason) -> i32 {
    match reason {
        Reason::Limit => 1,
        Reason::Memory => 2,
        Reason::Codel => 3,
        Reason::TooBig => 4,
        Reason::Change => 5,
        Reason::Reset => 6,
        Reason::Flush => 7,
        Reason::Blue => 8,
        Reason::Ack => 9,
        Reason::Filter => 10,
        Reason::Pie => 11,
        Reason::Pi2 => 12,
        Reason::Red => 13,
        Reason::Rehash => 14,
        Reason::FlowLimit => 15,
        Reason::Horizon => 16,
        other => panic!("no queue here drops for {other:?}"),
    }
}

#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) drops: Vec<(u64, u32, i32)>,
    pub(crate) is_marked: bool,
    /// Data of the packets of cake, by the upper 48 bits of the cookie; the lower bits are the segment's
    /// number.
    known: HashMap<u64, Known>,
}

#[derive(Clone, Copy)]
struct Known {
    details: Details,
    tcp: Option<TcpHeader>,
    origin: Origin,
    pacing_rate: Option<u64>,
}

impl Observer<Header> for Seen {
    fn dropped(&mut self, _: Nanos, packet: Header, reason: Reason) {
        self.drops.push((packet.cookie, packet.len, number(reason)));
    }
    fn marked(&mut self, _: Nanos, _: &Header, _: Reason) {
        self.is_marked = true;
    }
}

impl PacketInfo<Header> for Seen {
    fn details(&self, packet: &Header) -> Details {
        self.known.get(&(packet.cookie >> 16)).map(|known| known.details).unwrap_or_default()
    }

    fn tcp(&self, packet: &Header) -> Option<TcpHeader> {
        self.known.get(&(packet.cookie >> 16))?.tcp
    }

    fn origin(&self, packet: &Header) -> Origin {
        self.known.get(&(packet.cookie >> 16)).map(|known| known.origin).unwrap_or_default()
    }

    fn pacing_rate(&self, packet: &Header) -> Option<u64> {
        self.known.get(&(packet.cookie >> 16))?.pacing_rate
    }

    fn segment(&mut self, packet: &Header, index: u16) -> Option<Header> {
        let gso = self.details(packet).gso?;
        let payload = packet.len - u32::from(gso.segments) * gso.headers;
        let len = gso.headers + (payload - u32::from(index) * gso.size).min(gso.size);
        let truesize = len + (packet.truesize - packet.len) / u32::from(gso.segments);
        Some(Header { cookie: packet.cookie | u64::from(index), len, truesize, ..*packet })
    }
}

/// Data of a packet from the sending host, and its socket's pacing rate.
fn origin(random: &mut Random, now: Nanos, flow: u32) -> (Origin, Option<u64>) {
    let what = random.below(100);
    let (hash, is_connected) = (flow + u32::from(random.below(40) == 0), random.below(10) != 0);
    let departure = match what {
        what if what.is_multiple_of(4) => Some(Nanos(now.0 + 1 + u64::from(random.below(3_000_000)))),
        1 => Some(Nanos(now.0 + 20_000_000_000)),
        _ => None,
    };
    let rate = (what % 2 == 1).then(|| u64::from(125_000 + random.below(10) * 100_000));
    let socket = (what < 70).then_some(Socket { id: u64::from(1 + flow), hash, is_connected });
    (Origin { socket, departure, priority: 0 }, rate)
}

/// Packet data beyond the descriptor.
fn known(random: &mut Random, now: Nanos, packet: &mut Header) -> Known {
    let (flow, what) = (packet.flow_hash / 214_748_364, random.below(100));
    let mut details = Details {
        source_hash: flow / 4 * 1_000_003,
        destination_hash: flow % 4 * 998_244_353,
        mark: random.below(8),
        ..Details::default()
    };
    details.priority = if random.below(20) == 0 { 0x8001_0000 + random.below(8) } else { 0 };
    details.network_offset = if random.below(30) == 0 { 0 } else { 14 };
    details.is_arp = random.below(50) == 0;
    let (origin, pacing_rate) = origin(random, now, flow);
    let origin = Origin { priority: details.priority, ..origin };
    let mut tcp = None;
    match what {
        0 => {
            let classified = random.below(3);
            let class = random.below(1_000_000);
            details.classified =
                [Classified::Class(class), Classified::Shot, Classified::Stolen][classified as usize];
        }
        1..10 => {
            let segments = u16::try_from(2 + random.below(9)).expect("small");
            let size = 100 + random.below(1349);
            details.gso = Some(Gso { segments, size, headers: 66 });
            packet.len = u32::from(segments) * (66 + size) - random.below(size);
            packet.truesize = packet.len + 3000;
        }
        10..60 => {
            let flags = if random.below(30) == 0 { flags::ACK | flags::ECE } else { flags::ACK };
            (packet.len, packet.truesize) = (66, 768);
            tcp = Some(TcpHeader {
                connection: flow.into(),
                ack: u32::try_from(now.0 / 1_000_000).expect("soon"),
                flags,
                payload: 0,
                options: [0; MOST_OPTIONS],
                options_len: 0,
            });
        }
        _ => {}
    }
    Known { details, tcp, origin, pacing_rate }
}

impl Seen {
    pub(crate) fn bits(&self) -> i32 {
        (if self.drops.is_empty() { 0 } else { DROPS }) | (if self.is_marked { MARKED } else { 0 })
    }
}

fn step(
    queue: &mut AnyQueue<Header>,
    random: &mut Random,
    now: Nanos,
    cookie: u64,
    arrivals: u32,
    has_details: bool,
    (seen, out): (&mut Seen, &mut String),
) {
    match random.below(1000) {
        what if what < arrivals => {
            let len = 40 + random.below(1475);
            let truesize = len + random.below(1000);
            let flow_hash = random.below(20) * 214_748_364;
            let dsfield = u8::try_from(random.below(256)).expect("a byte");
            let mut packet = Header { cookie: cookie << 16, len, truesize, flow_hash, dsfield };
            if has_details {
                let known = known(random, now, &mut packet);
                seen.known.insert(cookie, known);
            }
            let why = match queue.enqueue(now, packet, seen) {
                Verdict::Enqueued => 0,
                Verdict::Dropped(reason) => number(reason),
            };
            let _ = write!(out, "e {}", why | seen.bits());
        }
        what if what < 998 => {
            let packet = queue.dequeue(now, seen);
            let delivered = if packet.is_some() { PACKET } else { 0 };
            let Header { cookie, len, dsfield, .. } = packet.unwrap_or_default();
            let (cookie, segment) = (cookie >> 16, cookie & 0xffff);
            let _ = write!(out, "d {} {cookie}.{segment} {len} {dsfield}", delivered | seen.bits());
        }
        998 => {
            queue.reset(now, seen);
            let _ = write!(out, "r {}", seen.bits());
        }
        _ => {
            let wake = queue.next_wake(now);
            let _ = write!(out, "w {} {}", i32::from(wake.is_some()), wake.unwrap_or_default().0);
        }
    }
    seen.is_marked = false;
    for (cookie, len, reason) in seen.drops.drain(..) {
        let _ = write!(out, " -{}.{}:{len}:{reason}", cookie >> 16, cookie & 0xffff);
    }
    out.push('\n');
}

fn queue_run(steps: u32, text: &str) -> String {
    let spec: QueueSpec = text.parse().expect(text);
    let mut queue: AnyQueue<Header> = spec.build(Rate(20_000_000), 1514, Nanos(0)).expect(text);
    let (mut random, mut out) = (Random(0x9e37_79b9_7f4a_7c15), String::new());
    let (mut now, mut burst, mut seen) = (0, 0, Seen::default());
    for at in 0..steps {
        burst = match burst {
            0 if random.below(1000) == 0 => 800,
            0 => 0,
            more => more - 1,
        };
        now += u64::from(random.below(if burst > 0 { 1000 } else { 2_000_000 }));
        let arrivals = if burst > 0 { 900 } else { 480 };
        step(
            &mut queue,
            &mut random,
            Nanos(now),
            u64::from(at),
            arrivals,
            has_details(text),
            (&mut seen, &mut out),
        );
    }
    let (backlog, stats) = (queue.backlog(), queue.stats());
    let _ = writeln!(
        out,
        "s {} {} {} {} {} {} {}",
        backlog.packets,
        backlog.bytes,
        stats.packets,
        stats.bytes,
        stats.drops,
        stats.marks,
        stats.overlimits
    );
    queue.counters(&mut |name, value| {
        let _ = writeln!(out, "c {name} {value}");
    });
    out
}

fn bql_run(steps: u32) -> String {
    let (mut random, mut out) = (Random(0x9e37_79b9_7f4a_7c15), String::new());
    let mut dql = Dql::new(1000, Nanos(0));
    let mut ring = std::collections::VecDeque::new();
    let (mut now, mut result, mut is_stopped) = (0, 1, false);
    for _ in 0..steps {
        now += u64::from(random.below(200_000));
        if random.below(2) == 0 {
            if !is_stopped && ring.len() < 64 {
                let len = 60 + random.below(1455);
                ring.push_back(len);
                dql.queued(len);
                is_stopped = dql.avail() < 0;
                result = i32::from(is_stopped);
            }
        } else if random.below(5000) == 0 {
            ring.clear();
            // Linux and `Dql::reset` keep `adj_limit`; the C library starts again.
            dql = Dql::new(1000, Nanos(now));
            (result, is_stopped) = (0, false);
        } else {
            let mut bytes = 0;
            while !ring.is_empty() && random.below(3) > 0 {
                bytes += ring.pop_front().unwrap_or(0);
            }
            if bytes > 0 {
                dql.completed(Nanos(now), bytes);
            }
            result = i32::from(dql.avail() >= 0);
            is_stopped &= result == 0;
        }
        let inflight = dql.state().num_queued.wrapping_sub(dql.state().num_completed);
        let _ = writeln!(out, "b {result} {} {inflight} {}", dql.state().limit, dql.avail());
    }
    out
}

fn compare(mut command: Command, steps: u32, text: &str) {
    let output = run(command.arg(steps.to_string()).arg(text));
    let found = String::from_utf8(output.stdout).expect("text");
    let expected = if text == "bql" { bql_run(steps) } else { queue_run(steps, text) };
    let same = found.lines().zip(expected.lines()).take_while(|(ours, theirs)| ours == theirs).count();
    let cut = |text: &str| text.lines().nth(same).map(|line| line.chars().take(200).collect::<String>());
    let first = (cut(&found), cut(&expected));
    assert!(found == expected, "{text}: line {same} differs: C and Rust say {first:?}");
}

/// A new queue in the Rust library must be added here, and so to the C library. A queue there has one thread,
/// and `cake_mq` is for several.
#[test]
fn every_queue_of_the_catalogue_is_compared() {
    for info in CATALOGUE.iter().filter(|info| info.name != "cake_mq") {
        let is_here = QUEUES.iter().any(|text| text.split([':', ',']).next() == Some(info.name));
        assert!(is_here, "{} is not compared", info.name);
    }
}

#[test]
fn c_and_rust_decide_the_same() {
    if !has("c_and_rust_decide_the_same", C99.compiler) {
        return;
    }
    let program = compile(C99, "tests/c/random.c", &[], "random");
    for text in QUEUES.iter().chain(&["bql"]) {
        compare(Command::new(&program), 200_000, text);
    }
    let dropped = queue_run(200_000, QUEUES[5]);
    for sign in [":1\n", ":3", ":6\n", "d 2304 ", "e 512 "] {
        assert!(dropped.contains(sign), "the run never came to {sign:?}");
    }
    // CoDel, memory, acknowledgements, classifiers; segments.
    let dropped = queue_run(200_000, QUEUES[8]);
    for sign in [":3", ":2", ":9", ":10", ".3 "] {
        assert!(dropped.contains(sign), "the run never came to {sign:?}");
    }
    // Every other reason, somewhere.
    let all: String = QUEUES[12..].iter().map(|text| queue_run(200_000, text)).collect();
    for sign in [":11\n", ":12", ":13", ":15", ":16", ".3 "] {
        assert!(all.contains(sign), "no run came to {sign:?}");
    }
}

#[test]
fn c_and_rust_decide_the_same_under_valgrind() {
    let test = "c_and_rust_decide_the_same_under_valgrind";
    if !has(test, C99.compiler) || !has(test, "valgrind") {
        return;
    }
    let program = compile(C99, "tests/c/random.c", &[], "random-valgrind");
    for text in QUEUES.iter().chain(&["bql"]) {
        compare(valgrind(&program), 5_000, text);
    }
}

#[test]
fn c_and_rust_decide_the_same_with_sanitizers() {
    if !has_sanitizers("c_and_rust_decide_the_same_with_sanitizers") {
        return;
    }
    let program = compile(C99, "tests/c/random.c", &SANITIZERS, "random-san");
    for text in QUEUES.iter().chain(&["bql"]) {
        compare(Command::new(&program), 50_000, text);
    }
}

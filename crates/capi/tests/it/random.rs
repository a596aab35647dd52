//! A long random run in C (`tests/c/random.c`) and the same run over the Rust library: every decision,
//! every drop and every counter are the same bytes.

use std::fmt::Write as _;
use std::process::Command;

use goodqueue::{AnyQueue, Dql, Header, Nanos, Observer, Queue, QueueSpec, Rate, Reason, Verdict};

use crate::tools::{C99, SANITIZERS, compile, has, has_sanitizers, run, valgrind};

const QUEUES: [&str; 8] = [
    "pfifo:100",
    "bfifo:50k",
    "fifo:60ms",
    "codel,limit=300,ecn=on,target=2ms,interval=20ms",
    "codel,parity=linux,ce_threshold=1ms",
    "fq_codel,limit=200,flows=16,target=2ms,interval=20ms",
    "fq_codel,limit=400,flows=4,memory_limit=200k,drop_batch=8,quantum=300,ecn=off",
    "tbf,rate=8mbit,burst=3k,limit=60k",
];

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
        other => panic!("no queue here drops for {other:?}"),
    }
}

#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) drops: Vec<(u64, u32, i32)>,
    pub(crate) is_marked: bool,
}

impl Observer<Header> for Seen {
    fn dropped(&mut self, _: Nanos, packet: Header, reason: Reason) {
        self.drops.push((packet.cookie, packet.len, number(reason)));
    }
    fn marked(&mut self, _: Nanos, _: &Header, _: Reason) {
        self.is_marked = true;
    }
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
    out: &mut String,
) {
    let mut seen = Seen::default();
    match random.below(1000) {
        what if what < arrivals => {
            let len = 40 + random.below(1475);
            let truesize = len + random.below(1000);
            let flow_hash = random.below(20) * 214_748_364;
            let dsfield = u8::try_from(random.below(256)).expect("a byte");
            let packet = Header { cookie, len, truesize, flow_hash, dsfield };
            let why = match queue.enqueue(now, packet, &mut seen) {
                Verdict::Enqueued => 0,
                Verdict::Dropped(reason) => number(reason),
            };
            let _ = write!(out, "e {}", why | seen.bits());
        }
        what if what < 998 => {
            let packet = queue.dequeue(now, &mut seen);
            let delivered = if packet.is_some() { PACKET } else { 0 };
            let Header { cookie, len, dsfield, .. } = packet.unwrap_or_default();
            let _ = write!(out, "d {} {cookie} {len} {dsfield}", delivered | seen.bits());
        }
        998 => {
            queue.reset(now, &mut seen);
            let _ = write!(out, "r {}", seen.bits());
        }
        _ => {
            let wake = queue.next_wake(now);
            let _ = write!(out, "w {} {}", i32::from(wake.is_some()), wake.unwrap_or_default().0);
        }
    }
    for (cookie, len, reason) in seen.drops {
        let _ = write!(out, " -{cookie}:{len}:{reason}");
    }
    out.push('\n');
}

fn queue_run(steps: u32, text: &str) -> String {
    let spec: QueueSpec = text.parse().expect(text);
    let mut queue: AnyQueue<Header> = spec.build(Rate(20_000_000), 1514, Nanos(0)).expect(text);
    let (mut random, mut out) = (Random(0x9e37_79b9_7f4a_7c15), String::new());
    let (mut now, mut burst) = (0, 0);
    for at in 0..steps {
        burst = match burst {
            0 if random.below(1000) == 0 => 800,
            0 => 0,
            more => more - 1,
        };
        now += u64::from(random.below(if burst > 0 { 1000 } else { 2_000_000 }));
        let arrivals = if burst > 0 { 900 } else { 480 };
        step(&mut queue, &mut random, Nanos(now), u64::from(at), arrivals, &mut out);
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
            // Where Linux and `Dql::reset` keep `adj_limit`, the C library starts afresh.
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
    let first = (found.lines().nth(same), expected.lines().nth(same));
    assert!(found == expected, "{text}: line {same} differs: C and Rust say {first:?}");
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

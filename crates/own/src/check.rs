//! The conformance suite: whether a queue obeys the rules.

use std::collections::BTreeMap;

use goodqueue::{Ecn, Header, Nanos, Observer, Packet, PacketInfo, Queue, Reason, Rng, Verdict};

use crate::fault::{Fault, Rule};

/// Seeds of each pattern.
const SEEDS: u64 = 4;
/// Steps of a pattern.
const STEPS: usize = 3_000;
/// Packets that arrive at once, for [`Rule::Memory`].
const FLOOD: u64 = 300_000;
/// A line of 10 Mbit/s takes this long for a bit, in ns.
const NS_PER_BIT: u64 = 100;

/// How packets arrive and leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Twice as many as a line of 10 Mbit/s can take.
    Overload,
    /// Many at once, and then a pause in which they leave.
    Bursts,
    /// One at a time, each fetched at once.
    Trickle,
    /// Any call after any time, from nothing to minutes.
    Random,
    /// The same on a clock that started long ago.
    OldClock,
    /// Very many arrive, and none leaves.
    Flood,
}

impl Pattern {
    /// Those with seeds.
    const SEEDED: [Pattern; 5] =
        [Pattern::Overload, Pattern::Bursts, Pattern::Trickle, Pattern::Random, Pattern::OldClock];

    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Pattern::Overload => "overload",
            Pattern::Bursts => "bursts",
            Pattern::Trickle => "trickle",
            Pattern::Random => "random",
            Pattern::OldClock => "old clock",
            Pattern::Flood => "flood",
        }
    }
}

/// A rule that was broken, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// How packets arrived.
    pub pattern: Pattern,
    /// The seed of the pattern and of the queue: with it the same happens again.
    pub seed: u64,
    /// Steps of the pattern before it.
    pub step: usize,
    /// What happened.
    pub fault: Fault,
}

impl core::fmt::Display for Violation {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Violation { pattern, seed, step, fault } = self;
        write!(f, "{}, seed {seed}, step {step}, {fault}", pattern.name())
    }
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The first violation of each rule, in the order of [`Rule::ALL`]; a rule without one was kept.
    pub violations: Vec<Violation>,
    /// Calls that were made.
    pub calls: u64,
    /// Most packets that it held.
    pub most_held: u64,
}

impl Report {
    /// The first violation of a rule.
    #[must_use]
    pub fn of(&self, rule: Rule) -> Option<&Violation> {
        self.violations.iter().find(|violation| violation.fault.rule == rule)
    }

    /// Whether the check got so far: [`Rule::Repeat`] is checked only if no other rule was broken.
    #[must_use]
    pub fn is_checked(&self, rule: Rule) -> bool {
        rule != Rule::Repeat || self.violations.iter().all(|violation| violation.fault.rule == rule)
    }

    fn add(&mut self, found: Option<Violation>) {
        let new = found.filter(|violation| self.of(violation.fault.rule).is_none());
        self.violations.extend(new);
        self.violations.sort_by_key(|violation| violation.fault.rule);
    }
}

/// Checks a queue. `make` makes one with a seed. `fault` returns the fault that a queue has noted itself
/// ([`crate::LibraryQueue::fault`]); for other queues it returns `None`.
///
/// # Errors
/// Those of `make`.
///
/// ```
/// use goodqueue::{AnyQueue, Header, Nanos, QueueSpec, Rate, Rng};
///
/// let codel: QueueSpec = "codel".parse()?;
/// let make = |seed| {
///     let draws = Rng::stream(seed, 0, "queue");
///     codel.build_with(Rate(10_000_000), 1514, Nanos(0), draws).map_err(|error| error.to_string())
/// };
/// let report = goodqueue_own::check::check(make, |_: &AnyQueue<Header>| None)?;
/// assert!(report.violations.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check<Q: Queue<Header>>(
    make: impl Fn(u64) -> Result<Q, String>,
    fault: impl Fn(&Q) -> Option<Fault>,
) -> Result<Report, String> {
    let mut report = Report::default();
    for pattern in Pattern::SEEDED {
        for seed in 1..=SEEDS {
            let mut bench = Bench::new(make(seed)?, pattern, seed, &fault);
            bench.run();
            report.calls += bench.calls;
            report.most_held = report.most_held.max(bench.most_held);
            report.add(bench.violation);
        }
    }
    let mut flood = Bench::new(make(1)?, Pattern::Flood, 1, &fault);
    flood.flood();
    report.calls += flood.calls;
    report.most_held = report.most_held.max(flood.most_held);
    report.add(flood.violation);
    if report.violations.is_empty() {
        for seed in 1..=SEEDS {
            report.add(repeats(&make, &fault, seed)?);
        }
    }
    Ok(report)
}

/// Whether the same calls give the same decisions: alone, and between the calls of another queue.
fn repeats<Q: Queue<Header>>(
    make: &impl Fn(u64) -> Result<Q, String>,
    fault: &impl Fn(&Q) -> Option<Fault>,
    seed: u64,
) -> Result<Option<Violation>, String> {
    let bench = |seed| Ok::<_, String>(Bench::new(make(seed)?, Pattern::Random, seed, fault));
    let mut first = bench(seed)?;
    first.run();
    let mut again = bench(seed)?;
    again.run();
    let (mut beside, mut other) = (bench(seed)?, bench(seed + SEEDS)?);
    while beside.step() {
        other.step();
    }
    beside.end();
    let runs =
        [(&again, "the same calls again gave"), (&beside, "between the calls of another queue it gave")];
    for (run, words) in runs {
        let parted = first.log.iter().zip(&run.log).position(|(one, other)| one != other);
        let parted = parted
            .or_else(|| (first.log.len() != run.log.len()).then_some(first.log.len().min(run.log.len())));
        if let Some(step) = parted {
            let at = first.log.get(step).map_or(Nanos::ZERO, |(at, _)| *at);
            let fault = Fault {
                rule: Rule::Repeat,
                at,
                words: format!(
                    "{words} another answer: keep all state in the queue, and draw random numbers from its seed"
                ),
            };
            return Ok(Some(Violation { pattern: Pattern::Random, seed, step, fault }));
        }
    }
    Ok(None)
}

/// What a queue tells its owner in a call.
#[derive(Default)]
struct Heard(Vec<(Header, Reason, What)>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Dropped,
    Marked,
    Washed,
}

impl Observer<Header> for Heard {
    fn dropped(&mut self, _: Nanos, packet: Header, reason: Reason) {
        self.0.push((packet, reason, What::Dropped));
    }
    fn marked(&mut self, _: Nanos, packet: &Header, reason: Reason) {
        self.0.push((*packet, reason, What::Marked));
    }
    fn washed(&mut self, packet: &Header) {
        self.0.push((*packet, Reason::Filter, What::Washed));
    }
}

impl PacketInfo<Header> for Heard {}

/// A queue that is being checked, and what it should hold.
struct Bench<'a, Q, F> {
    queue: Q,
    fault: &'a F,
    pattern: Pattern,
    seed: u64,
    draws: Rng,
    now: Nanos,
    steps: usize,
    /// The packets in the queue, as they came in.
    held: BTreeMap<u64, Header>,
    bytes: u64,
    /// Those whose DSCP it has cleared.
    washed: Vec<u64>,
    next: u64,
    delivered: u64,
    delivered_bytes: u64,
    calls: u64,
    most_held: u64,
    /// A number for each answer.
    log: Vec<(Nanos, u64)>,
    violation: Option<Violation>,
}

impl<'a, Q: Queue<Header>, F: Fn(&Q) -> Option<Fault>> Bench<'a, Q, F> {
    fn new(queue: Q, pattern: Pattern, seed: u64, fault: &'a F) -> Bench<'a, Q, F> {
        let now = if pattern == Pattern::OldClock { Nanos(1 << 53) } else { Nanos::ZERO };
        Bench {
            queue,
            fault,
            pattern,
            seed,
            draws: Rng::stream(seed, 0, "check"),
            now,
            steps: 0,
            held: BTreeMap::new(),
            bytes: 0,
            washed: Vec::new(),
            next: 0,
            delivered: 0,
            delivered_bytes: 0,
            calls: 0,
            most_held: 0,
            log: Vec::new(),
            violation: None,
        }
    }

    /// All steps, and the end.
    fn run(&mut self) {
        while self.step() {}
        self.end();
    }

    /// The next step; false after the last, and after a violation.
    fn step(&mut self) -> bool {
        if self.steps >= STEPS || self.violation.is_some() {
            return false;
        }
        self.steps += 1;
        match self.pattern {
            Pattern::Overload | Pattern::Flood => self.overload(),
            Pattern::Bursts => self.burst(),
            Pattern::Trickle => self.trickle(),
            Pattern::Random | Pattern::OldClock => self.random(),
        }
        self.violation.is_none()
    }

    fn below(&mut self, most: u64) -> u64 {
        self.draws.below(most)
    }

    fn wait(&mut self, ns: u64) {
        self.now.0 = self.now.0.saturating_add(ns);
    }

    fn overload(&mut self) {
        self.enqueue();
        self.enqueue();
        self.wait(1514 * 8 * NS_PER_BIT);
        self.dequeue();
    }

    fn burst(&mut self) {
        if !self.steps.is_multiple_of(50) {
            return self.enqueue();
        }
        let fetched = self.below(200);
        for _ in 0..fetched {
            if self.violation.is_some() {
                return;
            }
            self.wait(1514 * 8 * NS_PER_BIT);
            self.dequeue();
        }
        let pause = self.below(2_000_000) * 1_000;
        self.wait(pause);
    }

    fn trickle(&mut self) {
        self.enqueue();
        self.dequeue();
        let pause = self.below(20_000) * 1_000;
        self.wait(pause);
    }

    fn random(&mut self) {
        let pause = match self.below(12) {
            0..4 => 0,
            4 => 1,
            5..8 => self.below(2_000),
            8..11 => self.below(3_000) * 1_000,
            _ => self.below(100_000) * 1_000_000 / 50,
        };
        self.wait(pause);
        match self.below(9) {
            0..5 => self.enqueue(),
            5..8 => self.dequeue(),
            _ => self.wake(),
        }
    }

    /// What it still holds has to come out. Then it is reset once.
    fn end(&mut self) {
        let patience = self.held.len() as u64 * 4 + 1_000;
        for _ in 0..patience {
            if self.held.is_empty() || self.violation.is_some() {
                break;
            }
            self.dequeue();
            self.wake();
        }
        if self.violation.is_none() && !self.held.is_empty() {
            let words = format!(
                "{} packets did not come out, although dequeue was called {patience} times at the times of next_wake",
                self.held.len()
            );
            self.wrong(Rule::Once, words);
        }
        self.enqueue();
        self.enqueue();
        if self.violation.is_some() {
            return;
        }
        let mut heard = Heard::default();
        self.queue.reset(self.now, &mut heard);
        self.hear(&heard);
        // Not the counters: Linux's sfq counts as sent what a reset removes.
        self.check_backlog();
        if self.violation.is_none() && !self.held.is_empty() {
            self.wrong(Rule::Once, format!("reset left {} packets in it", self.held.len()));
        }
    }

    /// [`Rule::Memory`].
    fn flood(&mut self) {
        for _ in 0..FLOOD {
            if self.violation.is_some() {
                return;
            }
            self.enqueue();
            self.wait(1_000);
            self.steps += 1;
        }
        if self.held.len() as u64 == FLOOD {
            let words =
                format!("it holds all of {FLOOD} packets that arrived: it has no limit, or one above that");
            self.wrong(Rule::Memory, words);
        }
    }

    fn enqueue(&mut self) {
        if self.violation.is_some() {
            return;
        }
        let len = if self.below(3) == 0 { 60 + self.below(1455) as u32 } else { 1514 };
        let dsfield = (self.below(64) << 2 | [0, 0, 1, 2, 2, 3][self.below(6) as usize]) as u8;
        let flow_hash = (self.below(8) as u32).wrapping_mul(0x9e37_79b9);
        let packet = Header { cookie: self.next, len, truesize: len + 790, flow_hash, dsfield };
        self.next += 1;
        self.held.insert(packet.cookie, packet);
        self.bytes += u64::from(len);
        self.calls += 1;
        let mut heard = Heard::default();
        let verdict = self.queue.enqueue(self.now, packet, &mut heard);
        self.hear(&heard);
        let is_gone = !self.held.contains_key(&packet.cookie);
        if matches!(verdict, Verdict::Dropped(_)) != is_gone && self.violation.is_none() {
            self.wrong(Rule::Once, format!("enqueue answered {verdict:?}, and the owner heard otherwise"));
        }
        self.most_held = self.most_held.max(self.held.len() as u64);
        self.after();
    }

    /// Asks for a packet. Whether one comes is what `next_wake` says.
    fn dequeue(&mut self) {
        if self.violation.is_some() {
            return;
        }
        self.calls += 1;
        let promise = self.queue.next_wake(self.now);
        let mut heard = Heard::default();
        let given = self.queue.dequeue(self.now, &mut heard);
        let has_dropped = heard.0.iter().any(|(.., what)| *what == What::Dropped);
        self.hear(&heard);
        if self.violation.is_some() {
            return;
        }
        match (given, promise) {
            (Some(_), Some(at)) if at > self.now => {
                let words = format!(
                    "dequeue gave a packet, and next_wake had said that none may leave before {} ns ({} ns later)",
                    at.0,
                    at.since(self.now).0
                );
                self.wrong(Rule::Wake, words);
            }
            (None, Some(at)) if at <= self.now && !has_dropped => {
                let words =
                    "next_wake had said that a packet may leave, and dequeue neither gave nor dropped one"
                        .into();
                self.wrong(Rule::Wake, words);
            }
            _ => {}
        }
        if let Some(packet) = given {
            self.leave(packet, "gave");
            self.delivered += 1;
            self.delivered_bytes += u64::from(packet.len);
        }
        self.log.push((
            self.now,
            given.map_or(1, |packet| packet.cookie.wrapping_mul(512) + u64::from(packet.dsfield) + 2),
        ));
        self.after();
    }

    /// Goes to the time of `next_wake`: just before it nothing may come, and then something must.
    fn wake(&mut self) {
        let Some(at) = self.queue.next_wake(self.now).filter(|at| *at > self.now && self.violation.is_none())
        else {
            return;
        };
        if at.0 - 1 > self.now.0 {
            self.now = Nanos(at.0 - 1);
            self.dequeue();
        }
        // What was dropped just now may have moved it.
        if let (None, Some(at)) = (&self.violation, self.queue.next_wake(self.now)) {
            self.now = at.max(self.now);
            self.dequeue();
        }
    }

    /// Takes in what the owner has heard.
    fn hear(&mut self, heard: &Heard) {
        for &(packet, reason, what) in &heard.0 {
            self.log.push((self.now, packet.cookie.wrapping_mul(64) + reason as u64));
            match what {
                What::Dropped => self.leave(packet, "dropped"),
                What::Washed => self.washed.push(packet.cookie),
                What::Marked => match self.held.get(&packet.cookie) {
                    None => self.wrong(
                        Rule::Once,
                        format!("it marked packet {}, which it does not hold", packet.cookie),
                    ),
                    Some(original) if original.ecn() == Ecn::NotEct => {
                        let words =
                            format!("it marked packet {}, whose sender does not speak ECN", packet.cookie);
                        self.wrong(Rule::Mark, words);
                    }
                    Some(_) => {}
                },
            }
        }
    }

    /// A packet leaves.
    fn leave(&mut self, packet: Header, how: &str) {
        let id = packet.cookie;
        let Some(original) = self.held.remove(&id) else {
            let why = if id < self.next { "which had left it before" } else { "which it never got" };
            return self.wrong(Rule::Once, format!("it {how} packet {id}, {why}"));
        };
        self.bytes -= u64::from(original.len);
        let Header { dsfield, .. } = packet;
        if packet != (Header { dsfield, ..original }) {
            return self
                .wrong(Rule::Once, format!("it {how} packet {id}, which was {original:?}, as {packet:?}"));
        }
        let has_dscp = dsfield & !3 == original.dsfield & !3 || self.washed.contains(&id);
        let has_ecn =
            packet.ecn() == original.ecn() || packet.ecn() == Ecn::Ce && original.ecn() != Ecn::NotEct;
        if !has_dscp || !has_ecn {
            let words = format!(
                "it changed the DS byte of packet {id} from {:#04x} to {dsfield:#04x}",
                original.dsfield
            );
            self.wrong(Rule::Mark, words);
        }
    }

    /// What has to be true after each call.
    fn after(&mut self) {
        self.check_backlog();
        let stats = self.queue.stats();
        if (stats.packets, stats.bytes) != (self.delivered, self.delivered_bytes) {
            let words = format!(
                "it says that it has delivered {} packets and {} bytes, and they were {} and {}",
                stats.packets, stats.bytes, self.delivered, self.delivered_bytes
            );
            self.wrong(Rule::Count, words);
        }
        let packets = self.held.len();
        let (first, second) = (self.queue.next_wake(self.now), self.queue.next_wake(self.now));
        match first {
            _ if first != second => {
                self.wrong(Rule::Wake, format!("next_wake says {first:?} and, asked again, {second:?}"));
            }
            Some(at) if at < self.now => {
                self.wrong(
                    Rule::Time,
                    format!("next_wake returned {} ns, which is over: it is {} ns", at.0, self.now.0),
                );
            }
            Some(_) if packets == 0 => {
                self.wrong(Rule::Wake, "next_wake returned a time, and the queue is empty".into());
            }
            None if packets > 0 => {
                self.wrong(
                    Rule::Once,
                    format!(
                        "next_wake returned no time, and the queue holds {packets} packets: it lost them"
                    ),
                );
            }
            _ => {}
        }
        // What next_wake has noted.
        if let Some(fault) = (self.fault)(&self.queue) {
            self.found(fault);
        }
    }

    fn check_backlog(&mut self) {
        if let Some(fault) = (self.fault)(&self.queue) {
            self.found(fault);
        }
        let backlog = self.queue.backlog();
        let (packets, bytes) = (self.held.len() as u64, self.bytes);
        if (u64::from(backlog.packets), backlog.bytes) != (packets, bytes) {
            let words = format!(
                "it says that it holds {} packets and {} bytes, and it holds {packets} and {bytes}",
                backlog.packets, backlog.bytes
            );
            self.wrong(Rule::Count, words);
        }
    }

    fn wrong(&mut self, rule: Rule, words: String) {
        self.found(Fault { rule, at: self.now, words });
    }

    /// The first violation ends the pattern.
    fn found(&mut self, fault: Fault) {
        let (pattern, seed, step) = (self.pattern, self.seed, self.steps);
        self.violation.get_or_insert(Violation { pattern, seed, step, fault });
    }
}

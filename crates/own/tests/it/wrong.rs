//! A queue in Rust for each rule, which it breaks.

use std::collections::VecDeque;

use goodqueue::spec::{CATALOGUE, Parameter};
use goodqueue::{
    AnyQueue, Backlog, Header, Inspect, Nanos, Owner, Packet, Queue, QueueSpec, Rate, Reason, Rng, Stats,
    Verdict,
};
use goodqueue_own::{Rule, check};

/// What it does wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wrong {
    Nothing,
    Changes,
    Keeps,
    Late,
    Back,
    MarksAll,
    MarksSecretly,
    Backlog,
    Stats,
    Endless,
    /// It drops packet 1000, which the others do not.
    Other,
}

/// A FIFO of 200 packets.
#[derive(Debug)]
struct Fifo {
    wrong: Wrong,
    packets: VecDeque<Header>,
    backlog: Backlog,
    stats: Stats,
    asked: u64,
}

fn fifo(wrong: Wrong) -> Fifo {
    Fifo { wrong, packets: VecDeque::new(), backlog: Backlog::default(), stats: Stats::default(), asked: 0 }
}

impl Queue<Header> for Fifo {
    fn enqueue(&mut self, now: Nanos, packet: Header, owner: &mut impl Owner<Header>) -> Verdict {
        self.asked += 1;
        let is_full = self.packets.len() >= 200 && self.wrong != Wrong::Endless;
        if is_full || self.wrong == Wrong::Other && self.asked == 1_000 {
            self.stats.drops += 1;
            owner.dropped(now, packet, Reason::Limit);
            return Verdict::Dropped(Reason::Limit);
        }
        self.packets.push_back(packet);
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.len);
        Verdict::Enqueued
    }

    fn dequeue(&mut self, now: Nanos, owner: &mut impl Owner<Header>) -> Option<Header> {
        if self.wrong == Wrong::Keeps && self.packets.len() < 3 {
            return None;
        }
        let mut packet = self.packets.pop_front()?;
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(packet.len);
        self.stats.packets += if self.wrong == Wrong::Stats { 2 } else { 1 };
        self.stats.bytes += u64::from(packet.len);
        match self.wrong {
            Wrong::Changes => packet.flow_hash ^= 1,
            Wrong::MarksAll => {
                packet.dsfield |= 3;
                owner.marked(now, &packet, Reason::Codel);
            }
            Wrong::MarksSecretly => packet.set_dsfield(packet.dsfield() ^ 4),
            Wrong::Backlog => self.backlog.bytes += 1,
            _ => {}
        }
        Some(packet)
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        let at = match self.wrong {
            Wrong::Late => Nanos(now.0 + 5),
            Wrong::Back => Nanos(now.0.saturating_sub(5)),
            _ => now,
        };
        (!self.packets.is_empty()).then_some(at)
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn reset(&mut self, now: Nanos, owner: &mut impl Owner<Header>) {
        self.packets.drain(..).for_each(|packet| owner.dropped(now, packet, Reason::Reset));
        self.backlog = Backlog::default();
    }
}

impl Inspect for Fifo {
    fn stats(&self) -> Stats {
        self.stats
    }
}

#[test]
fn a_queue_that_breaks_a_rule_is_caught() {
    for (wrong, rule) in [
        (Wrong::Changes, Rule::Once),
        (Wrong::Keeps, Rule::Wake),
        (Wrong::Late, Rule::Wake),
        (Wrong::Back, Rule::Time),
        (Wrong::MarksAll, Rule::Mark),
        (Wrong::MarksSecretly, Rule::Mark),
        (Wrong::Backlog, Rule::Count),
        (Wrong::Stats, Rule::Count),
        (Wrong::Endless, Rule::Memory),
    ] {
        let report = check::check(|_| Ok(fifo(wrong)), |_| None).expect("a queue");
        let rules: Vec<Rule> = report.violations.iter().map(|violation| violation.fault.rule).collect();
        assert!(rules.contains(&rule), "{wrong:?}: {rules:?}");
    }
    let right = check::check(|_| Ok(fifo(Wrong::Nothing)), |_| None).expect("a queue");
    assert_eq!((&right.violations[..], right.most_held), (&[][..], 200));
}

/// A queue that decides by something beside its calls and its seed: here, how many there were before it.
#[test]
fn a_queue_that_does_not_repeat_is_caught() {
    let made = std::cell::Cell::new(0_u64);
    let make = |_| {
        made.set(made.get() + 1);
        Ok(fifo(if made.get().is_multiple_of(2) { Wrong::Nothing } else { Wrong::Other }))
    };
    let report = check::check(make, |_| None).expect("a queue");
    let [violation] = &report.violations[..] else { panic!("{report:#?}") };
    assert_eq!(violation.fault.rule, Rule::Repeat);
    assert!(violation.fault.words.starts_with("the same calls again gave another answer"), "{violation}");
}

#[test]
fn an_error_of_the_making_is_passed_on() {
    let refused = check::check(|_| Err::<Fifo, _>("no".to_owned()), |_| None);
    assert_eq!(refused, Err("no".to_owned()));
}

/// Values for parameters that have no default.
fn required(parameter: &Parameter) -> &'static str {
    match parameter.name {
        "limit" => ",limit=100k",
        "rate" => ",rate=5mbit",
        "burst" => ",burst=5k",
        "time" => ",time=60ms",
        other => panic!("a value for {other}"),
    }
}

#[test]
fn every_queue_of_the_catalogue_keeps_the_rules() {
    let plain = CATALOGUE.iter().map(|info| {
        let needed = info.parameters.iter().filter(|parameter| parameter.is_required());
        needed.fold(String::from(info.name), |text, parameter| text + required(parameter))
    });
    let more = [
        "cake,bandwidth=5mbit",
        "cake,bandwidth=3mbit,wash=on,diffserv=diffserv8",
        "cake_mq,bandwidth=3mbit",
        "fq_codel,ecn=off,limit=50",
        "prio,leaf=codel",
        "htb,rate=2mbit,sqm=simple,leaf=pie",
    ];
    for words in plain.chain(more.map(String::from)) {
        let spec: QueueSpec = words.parse().expect(&words);
        let make = |seed| -> Result<AnyQueue<Header>, String> {
            let draws = Rng::stream(seed, 0, "queue");
            spec.build_with(Rate(10_000_000), 1514, Nanos::ZERO, draws).map_err(|error| error.to_string())
        };
        let report = check::check(make, |_| None).expect(&words);
        assert!(report.violations.is_empty(), "{words}: {:#?}", report.violations);
        assert!(report.calls > 100_000);
    }
}

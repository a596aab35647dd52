//! `hash-collisions`: how often a flow has to share its queue by chance, counted in the queues themselves,
//! beside the closed form. There is no network in it: packets of new flows are given to an empty queue, one
//! after the other.

use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use goodqueue::{AnyQueue, Header, Ignore, Nanos, Queue, QueueSpec, Rate, Rng, Verdict};
use goodqueue_report::{Curve, Curves};

use super::judge::{Outcome, Row, Verdict as Judged};
use super::measured::Measured;
use goodqueue_experiment::figure::Unit;
use goodqueue_experiment::text::Class;

/// The page's name.
pub(super) const NAME: &str = "hash-collisions";

/// Queues that flows are hashed into: what `fq_codel` and each tin of `cake` have.
const QUEUES: u32 = 1024;
/// A packet's length with its link header, bytes.
const FRAME: u32 = 1514;
/// Flows of a trial.
const FLOWS: usize = 1000;
/// Trials with each seed.
const TRIALS: u32 = 2000;
/// Seeds, from 1.
const SEEDS: u64 = 20;

/// A queue, and how many of its queues a flow may take one of.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    spec: &'static str,
    ways: u32,
    /// What is counted for a flow that has to share, or for one that has not.
    counter: &'static str,
    counts_shared: bool,
}

const KINDS: [Kind; 2] = [
    Kind {
        name: "fq_codel",
        spec: "fq_codel,limit=1001",
        ways: 1,
        counter: "new_flow_count",
        counts_shared: false,
    },
    Kind {
        name: "cake",
        spec: "cake,diffserv=besteffort,isolation=flows,memlimit=3m",
        ways: 8,
        counter: "way_cols",
        counts_shared: true,
    },
];

/// The probability that fewer than `least` of `others` flows fell into a set of `ways` queues.
fn fewer(least: u32, others: u32, ways: u32) -> f64 {
    let p = f64::from(ways) / f64::from(QUEUES);
    let mut term = (1.0 - p).powf(others.into());
    let mut sum = 0.0;
    for k in 0..least {
        sum += term;
        term *= f64::from(others - k.min(others)) / f64::from(k + 1) * p / (1.0 - p);
    }
    sum
}

/// The probability that a flow finds no queue of its own beside so many others.
fn shares(others: u32, ways: u32) -> f64 {
    1.0 - fewer(ways, others, ways)
}

#[allow(clippy::cast_possible_truncation)]
fn packet(rng: &mut Rng) -> Header {
    let flow_hash = (rng.next_u64() >> 32) as u32;
    Header { cookie: 0, len: FRAME, truesize: 2304, flow_hash, dsfield: 0 }
}

/// For each number of flows that are there already: in how many of the trials the next one had to share.
fn count(kind: Kind, seed: u64) -> Vec<u32> {
    let mut rng = Rng::new(seed);
    let mut shared = vec![0; FLOWS];
    let spec: QueueSpec = kind.spec.parse().expect("a queue");
    for _ in 0..TRIALS {
        let mut queue: AnyQueue<Header> =
            spec.build(Rate(1_000_000_000), FRAME, Nanos::ZERO).expect("room for a packet");
        try_once(kind, &mut queue, &mut rng, &mut shared);
    }
    shared
}

/// A packet of each flow into an empty queue, all at once.
fn try_once(kind: Kind, queue: &mut impl Queue<Header>, rng: &mut Rng, shared: &mut [u32]) {
    let mut before = 0;
    for shared in shared {
        let taken = queue.enqueue(Nanos(1), packet(rng), &mut Ignore);
        assert_eq!(taken, Verdict::Enqueued, "there is room for all");
        let mut counted = 0;
        queue.counters(&mut |name, value| counted += if name == kind.counter { value } else { 0 });
        *shared += u32::from((counted > before) == kind.counts_shared);
        before = counted;
    }
}

/// [`count`] of every kind and seed, on all processors. The same whatever their number.
fn count_all() -> Vec<Vec<Vec<u32>>> {
    let jobs: Vec<(Kind, u64)> =
        KINDS.iter().flat_map(|&kind| (1..=SEEDS).map(move |seed| (kind, seed))).collect();
    let next = AtomicUsize::new(0);
    let done = Mutex::new(vec![Vec::new(); jobs.len()]);
    let work = || {
        loop {
            let job = next.fetch_add(1, Ordering::Relaxed);
            let Some(&(kind, seed)) = jobs.get(job) else { break };
            let counts = count(kind, seed);
            done.lock().unwrap_or_else(PoisonError::into_inner)[job] = counts;
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.chunks(jobs.len() / KINDS.len()).map(<[Vec<u32>]>::to_vec).collect()
}

/// What came of it: verdicts, picture, and all that was counted as a table.
pub(super) struct Counted {
    pub(super) outcome: Outcome,
    pub(super) curves: Curves,
    pub(super) table: String,
}

/// Counts, and holds what was counted against what is computed.
pub(super) fn run() -> Counted {
    let counts = count_all();
    let part = |count: u32| f64::from(count) / f64::from(TRIALS);
    let measured = |kind: usize, flows: u32| {
        Measured::of(counts[kind].iter().map(|seed| part(seed[flows as usize - 1])).collect())
    };
    let mut claims: Vec<Row> = PRINTED.iter().map(printed).collect();
    for (kind, flows, class) in COUNTED {
        claims.extend(measured(kind, flows).map(|measured| counted(KINDS[kind], flows, class, measured)));
    }
    let mean = |kind: usize, flows: u32| {
        let all: f64 = counts[kind].iter().map(|seed| part(seed[flows as usize - 1])).sum();
        all / counts[kind].len() as f64
    };
    Counted {
        outcome: Outcome {
            name: NAME.into(),
            title: TITLE.into(),
            source: SOURCE.into(),
            text: TEXT.into(),
            seeds: (1..=SEEDS).collect(),
            claims,
        },
        curves: curves(mean),
        table: table(mean),
    }
}

/// Numbers that RFC 8290 prints for 100 flows: what of, least number of others that is too many, ways, value.
const PRINTED: [(&str, u32, u32, f64); 5] = [
    ("a flow has a queue of its own: hashed into one queue", 1, 1, 0.9078),
    ("the same: set-associative, 4 ways", 4, 4, 0.9993),
    ("the same: set-associative, 8 ways", 8, 8, 0.999_999),
    ("two flows at the most in a flow's queue: hashed into one", 2, 1, 0.9957),
    ("three at the most", 3, 1, 0.9999),
];

/// The queue, the flow that comes, and the class: with 40 000 trials a count of 2000 and more is within 5 %
/// as good as always.
const COUNTED: [(usize, u32, Class); 8] = [
    (0, 100, Class::Model),
    (0, 200, Class::Model),
    (0, 400, Class::Model),
    (0, 1000, Class::Model),
    (1, 400, Class::Shape),
    (1, 600, Class::Model),
    (1, 800, Class::Model),
    (1, 1000, Class::Model),
];

fn printed(&(what, least, ways, value): &(&str, u32, u32, f64)) -> Row {
    let ours = fewer(least, 99, ways);
    let class = Class::Exact;
    Row {
        id: "Y1".into(),
        what: format!("closed form, 100 flows in {QUEUES} queues: {what}"),
        figure: "closed_form",
        published: percent(value),
        ours: percent(ours),
        measured: Measured::of(vec![ours]).into_iter().collect(),
        class: class.name(),
        verdict: judged(class.holds(Unit::Share, value, ours)),
    }
}

fn counted(kind: Kind, flows: u32, class: Class, measured: Measured) -> Row {
    let computed = shares(flows - 1, kind.ways);
    let ours = percent(measured.median);
    Row {
        id: "Y1".into(),
        what: format!("{}: flow {flows} has to share a queue", kind.name),
        figure: "has_to_share",
        published: percent(computed),
        ours: match measured.interval {
            Some((low, high)) => format!("{ours} [{}, {}]", bare(low), bare(high)),
            None => ours,
        },
        measured: vec![measured],
        class: class.name(),
        verdict: judged(class.holds(Unit::Share, computed, measured.median)),
    }
}

fn judged(holds: bool) -> Judged {
    if holds { Judged::Holds } else { Judged::Missed }
}

/// [`percent`] without the unit.
fn bare(share: f64) -> String {
    percent(share).trim_end_matches(" %").to_owned()
}

/// With two decimals, or near nought and one with as many as it takes.
fn percent(share: f64) -> String {
    let rest = share.min(1.0 - share) * 100.0;
    let decimals = match rest {
        _ if rest < 5e-5 => 0,
        0.0095.. => 2,
        _ => 4,
    };
    format!("{:.decimals$} %", share * 100.0)
}

/// Places of dots.
const DOTS: [u32; 13] = [10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000];

fn curves(mean: impl Fn(usize, u32) -> f64) -> Curves {
    let series = KINDS.iter().enumerate().map(|(kind, &Kind { name, ways, .. })| Curve {
        name: format!("{name}, {ways} {}", if ways == 1 { "way" } else { "ways" }),
        line: (DOTS[0]..=FLOWS as u32).map(|n| (f64::from(n), 100.0 * shares(n - 1, ways))).collect(),
        dots: DOTS.iter().map(|&n| (f64::from(n), 100.0 * mean(kind, n))).collect(),
    });
    Curves {
        title: TITLE.into(),
        about: format!(
            "{QUEUES} queues. Lines: the closed form. Dots: counted in the queues, {} trials each",
            u64::from(TRIALS) * SEEDS
        ),
        x_title: "the flow that comes, by number (logarithmic)".into(),
        y_title: "has to share a queue (%, logarithmic)".into(),
        x: (10.0, 1000.0),
        y: (0.001, 100.0),
        series: series.collect(),
    }
}

fn table(mean: impl Fn(usize, u32) -> f64) -> String {
    let mut out = String::from("| flow |");
    for kind in KINDS {
        let _ = write!(out, " {}: closed form | counted |", kind.name);
    }
    out += "\n| --: |";
    out += &" --: | --: |".repeat(KINDS.len());
    out.push('\n');
    for flows in DOTS {
        let _ = write!(out, "| {flows} |");
        for (number, kind) in KINDS.iter().enumerate() {
            let _ = write!(
                out,
                " {} | {} |",
                percent(shares(flows - 1, kind.ways)),
                percent(mean(number, flows))
            );
        }
        out.push('\n');
    }
    out
}

const TITLE: &str = "Flows that share a queue by chance";

const SOURCE: &str = "RFC 8290, section 5.3, for 100 flows in 1024 queues (Y1); the closed form for all else: with n flows \
in m queues of which each flow may take one of w, a flow has a queue of its own with probability \
sum over k < w of C(n-1, k) p^k (1-p)^(n-1-k), p = w/m.";

const TEXT: &str = "Fair queueing keeps flows apart only as far as their hashes do. fq_codel hashes a flow into one of 1024 \
queues; cake into a set of 8 of its 1024, of which it takes a free one. Each trial gives an empty queue a packet of each of \
1000 flows, one after the other, and asks the queue's own counters whether the flow was new there (fq_codel: new_flow_count; \
cake, best effort and isolation by flow: way_cols).\n\n\
Chosen: hashes are drawn, 32 bits each, so that nothing is said of the hash function; all flows stay, so that the number is \
that of flows with a packet in the queue, which is far below that of connections. A count can hold against a closed form no \
better than chance lets it: what comes in less than 2 % of trials is in class SHAPE, or in the picture alone. Of 100 flows \
in cake the last has to share once in a million.";

/// How it was made, for the page.
pub(super) fn how() -> String {
    format!(
        "Counted in the queues of this program, {TRIALS} trials with each of {SEEDS} seeds; there is no network and no time in \
         it. Ours is the median over the seeds, between the ends of a 95 % confidence interval that takes no distribution for \
         granted (order statistics); picture and table have the mean. Again:\n\n```sh\ngoodqueue reproduce {NAME}\n```\n\n\
         * `closed_form`: the closed form with these numbers.\n\
         * `has_to_share`: part of the trials in which the flow that comes as this one found no queue of its own.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_said_with_the_decimals_they_need() {
        let said = [0.0, 0.0922, 0.9993, 0.9999, 0.999_999, 0.000_001_2, 1e-9, 1.0].map(percent);
        assert_eq!(said, ["0 %", "9.22 %", "99.93 %", "99.99 %", "99.9999 %", "0.0001 %", "0 %", "100 %"]);
    }

    /// By hand: of two flows the second shares with 1/1024; of nine that fall into one set of eight one has
    /// to.
    #[test]
    fn the_closed_form_by_hand() {
        assert!((shares(1, 1) - 1.0 / 1024.0).abs() < 1e-12);
        assert!(shares(7, 8) < 1e-12);
        assert!((shares(8, 8) - (1.0_f64 / 128.0).powi(8)).abs() < 1e-15);
    }

    #[test]
    fn the_printed_numbers_hold() {
        assert!(PRINTED.iter().map(printed).all(|row| row.verdict == Judged::Holds));
    }

    /// Three flows have three queues; when they come again, those are theirs already.
    #[test]
    fn a_flow_with_a_queue_of_its_own_is_not_counted() {
        let spec: QueueSpec = KINDS[0].spec.parse().expect("a queue");
        let mut queue: AnyQueue<Header> =
            spec.build(Rate(1_000_000_000), FRAME, Nanos::ZERO).expect("room for a packet");
        let mut shared = vec![0; 3];
        let mut rng = Rng::new(1);
        try_once(KINDS[0], &mut queue, &mut rng, &mut shared);
        assert_eq!(shared, [0, 0, 0]);
        try_once(KINDS[0], &mut queue, &mut Rng::new(1), &mut shared);
        assert_eq!(shared[1..], [1, 1], "the same flows again");
    }
}

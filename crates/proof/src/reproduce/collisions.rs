//! `hash-collisions`: how often a flow has to share its queue at random. Flows are counted in the queues
//! themselves and compared with the closed form. A file in `scenarios/counted/` states what is counted and
//! claimed. There is no network: an empty queue gets packets of new flows, one after the other.

use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use goodqueue::{AnyQueue, ETHERNET_FRAME, Header, Ignore, Nanos, Queue, QueueSpec, Rate, Rng, Verdict};
use goodqueue_report::{Arm, Curve, Curves};
use serde::Deserialize;

use super::judge::{Outcome, Row, Verdict as Judged};
use super::measured::Measured;
use goodqueue_experiment::figure::Unit;
use goodqueue_experiment::text::{ClaimKind, Class};

/// The page's name.
pub(super) const NAME: &str = "hash-collisions";

/// The file: what is counted, and the published figures.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    /// Queues that flows are hashed into: what `fq_codel` and each tin of `cake` have.
    buckets: u32,
    /// Flows of a trial.
    flows: u32,
    /// Trials with each seed.
    trials: u32,
    /// Seeds, from 1.
    seeds: u64,
    /// Numbers of flows for which the picture has dots, and the table rows.
    dots: Vec<u32>,
    #[serde(rename = "queue")]
    queues: Vec<Kind>,
    reproduction: Reproduction,
    printed: Vec<Printed>,
    counted: Vec<CountedClaim>,
}

/// A queue discipline, and the number of its queues from which a flow gets one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kind {
    name: String,
    queue: String,
    ways: u32,
    counter: String,
    counts: Counts,
}

/// What a counter counts: flows that have to share a queue, or flows that do not.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Counts {
    Shared,
    Alone,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reproduction {
    title: String,
    /// What the picture shows, in a sentence.
    headline: String,
    source: String,
    text: String,
}

/// A published number: the probability that fewer than `least` of the other flows fell into the same queues.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Printed {
    id: String,
    what: String,
    class: String,
    flows: u32,
    least: u32,
    ways: u32,
    published: f64,
}

/// A count to compare with the closed form: how often this flow has to share a queue.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CountedClaim {
    id: String,
    class: String,
    queue: String,
    flow: u32,
    /// What is known about it, if the interval of the seeds crosses the bound.
    undecided: Option<String>,
}

/// The probability that fewer than `least` of `others` flows fell into a set of `ways` queues of `buckets`.
fn fewer(least: u32, others: u32, ways: u32, buckets: u32) -> f64 {
    let p = f64::from(ways) / f64::from(buckets);
    let mut term = (1.0 - p).powf(others.into());
    let mut sum = 0.0;
    for k in 0..least {
        sum += term;
        term *= f64::from(others - k.min(others)) / f64::from(k + 1) * p / (1.0 - p);
    }
    sum
}

#[allow(clippy::cast_possible_truncation)]
fn packet(rng: &mut Rng) -> Header {
    let flow_hash = (rng.next_u64() >> 32) as u32;
    Header { cookie: 0, len: ETHERNET_FRAME, truesize: 2304, flow_hash, dsfield: 0 }
}

impl Kind {
    fn build(&self) -> AnyQueue<Header> {
        let spec: QueueSpec = self.queue.parse().expect("a queue");
        spec.build(Rate(1_000_000_000), ETHERNET_FRAME, Nanos::ZERO).expect("room for a packet")
    }

    /// The probability that a flow finds no queue of its own beside this many others.
    fn shares(&self, others: u32, buckets: u32) -> f64 {
        1.0 - fewer(self.ways, others, self.ways, buckets)
    }

    /// For each number of flows already present: the number of trials in which the next one had to share.
    fn count(&self, scenario: &Scenario, seed: u64) -> Vec<u32> {
        let mut rng = Rng::new(seed);
        let mut shared = vec![0; scenario.flows as usize];
        for _ in 0..scenario.trials {
            self.try_once(&mut self.build(), &mut rng, &mut shared);
        }
        shared
    }

    /// Puts a packet of each flow into an empty queue, all at one time.
    fn try_once(&self, queue: &mut impl Queue<Header>, rng: &mut Rng, shared: &mut [u32]) {
        let mut before = 0;
        for shared in shared {
            let taken = queue.enqueue(Nanos(1), packet(rng), &mut Ignore);
            assert_eq!(taken, Verdict::Enqueued, "the queue takes all packets");
            let mut counted = 0;
            queue.counters(&mut |name, value| counted += if name == self.counter { value } else { 0 });
            *shared += u32::from((counted > before) == (self.counts == Counts::Shared));
            before = counted;
        }
    }
}

/// The result: verdicts, picture, a table of all counts, and how they were made.
pub(super) struct Counted {
    pub(super) outcome: Outcome,
    pub(super) curves: Curves,
    pub(super) table: String,
    pub(super) how: String,
}

/// Counts, and compares the counts with the computed figures.
pub(super) fn run() -> Counted {
    let scenario = Scenario::read();
    let counts = scenario.count_all();
    let parts = |kind: usize, flow: u32| {
        let trials = f64::from(scenario.trials);
        counts[kind].iter().map(move |seed| f64::from(seed[flow as usize - 1]) / trials).collect::<Vec<f64>>()
    };
    let mean = |kind: usize, flow: u32| {
        let parts = parts(kind, flow);
        parts.iter().sum::<f64>() / parts.len() as f64
    };
    let mut claims: Vec<Row> = scenario.printed.iter().map(|claim| claim.judge(scenario.buckets)).collect();
    for claim in &scenario.counted {
        let kind = scenario.queues.iter().position(|kind| kind.name == claim.queue).expect("a queue's name");
        let measured = Measured::of(parts(kind, claim.flow)).expect("seeds");
        let row = claim.judge(&scenario.queues[kind], scenario.buckets, measured);
        claims.push(Row { seeds: counts[kind].len(), ..row });
    }
    let Reproduction { title, source, text, .. } = &scenario.reproduction;
    Counted {
        outcome: Outcome {
            name: NAME.into(),
            title: title.clone(),
            source: source.clone(),
            text: text.clone(),
            seeds: (1..=scenario.seeds).collect(),
            claims,
        },
        curves: scenario.curves(mean),
        table: scenario.table(mean),
        how: scenario.how(),
    }
}

impl Printed {
    fn judge(&self, buckets: u32) -> Row {
        let ours = fewer(self.least, self.flows - 1, self.ways, buckets);
        let what = format!("closed form, {} flows in {buckets} queues: {}", self.flows, self.what);
        let measured = Measured::of(vec![ours]).expect("a value");
        Row {
            kind: ClaimKind::Model,
            basis: "RFC 8290, section 5.3".into(),
            ..row(&self.id, what, "closed_form", self.published, measured, &self.class)
        }
    }
}

impl CountedClaim {
    fn judge(&self, kind: &Kind, buckets: u32, measured: Measured) -> Row {
        let what = format!("{}: flow {} has to share a queue", kind.name, self.flow);
        let computed = kind.shares(self.flow - 1, buckets);
        let row = row(&self.id, what, "has_to_share", computed, measured, &self.class);
        match &self.undecided {
            Some(cause) => Row { stated: Judged::Undecided, cause: Some(cause.clone()), ..row },
            None => row,
        }
    }
}

fn row(id: &str, what: String, figure: &'static str, published: f64, measured: Measured, class: &str) -> Row {
    let class: Class = class.parse().expect("a class");
    let verdict = Judged::within(class.range(Unit::Share, published), &measured);
    let ours = percent(measured.median);
    // Without the unit.
    let bare = |share: f64| percent(share).trim_end_matches(" %").to_owned();
    Row {
        id: id.into(),
        what,
        kind: ClaimKind::Model,
        basis: "the closed form".into(),
        same: None,
        figure,
        value: percent(published),
        ours: match measured.interval {
            Some((low, high)) => format!("{ours} [{}, {}]", bare(low), bare(high)),
            None => ours,
        },
        measured: vec![measured],
        unit: Unit::Share,
        seeds: 1,
        class: class.name(),
        verdict,
        stated: Judged::Holds,
        cause: None,
        history: None,
    }
}

/// With two decimals; close to 0 and 1, with as many as are needed.
fn percent(share: f64) -> String {
    let rest = share.min(1.0 - share) * 100.0;
    let decimals = match rest {
        _ if rest < 5e-5 => 0,
        0.0095.. => 2,
        _ => 4,
    };
    format!("{:.decimals$} %", share * 100.0)
}

impl Scenario {
    fn read() -> Scenario {
        toml::from_str(super::catalogue::text("counted/hash-collisions")).expect("a file of ours")
    }

    /// [`Kind::count`] of every queue and seed, on all processors. The result does not depend on their
    /// number.
    fn count_all(&self) -> Vec<Vec<Vec<u32>>> {
        let jobs: Vec<(&Kind, u64)> =
            self.queues.iter().flat_map(|kind| (1..=self.seeds).map(move |seed| (kind, seed))).collect();
        let next = AtomicUsize::new(0);
        let done = Mutex::new(vec![Vec::new(); jobs.len()]);
        let work = || {
            loop {
                let job = next.fetch_add(1, Ordering::Relaxed);
                let Some(&(kind, seed)) = jobs.get(job) else { break };
                let counts = kind.count(self, seed);
                done.lock().unwrap_or_else(PoisonError::into_inner)[job] = counts;
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
        let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.chunks(jobs.len() / self.queues.len()).map(<[Vec<u32>]>::to_vec).collect()
    }

    /// How each finds the queue of a flow.
    fn arms(&self) -> Vec<Arm> {
        let about = |ways: u32| match ways {
            1 => "the hash of a flow is the number of its queue".to_owned(),
            _ => format!(
                "the hash of a flow is the number of a set of {ways} queues, and the flow takes a free one of these"
            ),
        };
        let arm = |(place, kind): (usize, &Kind)| Arm {
            name: kind.name.clone(),
            about: about(kind.ways),
            colour: Some(place),
        };
        self.queues.iter().enumerate().map(arm).collect()
    }

    fn curves(&self, mean: impl Fn(usize, u32) -> f64) -> Curves {
        let series = self.queues.iter().enumerate().map(|(number, kind)| {
            let Kind { name, ways, .. } = kind;
            let point = |n: u32, share: f64| (f64::from(n), 100.0 * share);
            Curve {
                name: format!("{name}, {ways} {}", if *ways == 1 { "way" } else { "ways" }),
                line: (self.dots[0]..=self.flows)
                    .map(|n| point(n, kind.shares(n - 1, self.buckets)))
                    .collect(),
                dots: self.dots.iter().map(|&n| point(n, mean(number, n))).collect(),
            }
        });
        Curves {
            title: self.reproduction.headline.clone(),
            about: format!(
                "{} queues. Lines: the closed form. Dots: counted in the queues, {} trials each",
                self.buckets,
                u64::from(self.trials) * self.seeds
            ),
            x_title: "number of the arriving flow (logarithmic)".into(),
            y_title: "has to share a queue (%, logarithmic)".into(),
            x: (10.0, 1000.0),
            y: (0.001, 100.0),
            y_log: true,
            arms: self.arms(),
            series: series.collect(),
        }
    }

    fn table(&self, mean: impl Fn(usize, u32) -> f64) -> String {
        let mut out = String::from("| flow |");
        for kind in &self.queues {
            let _ = write!(out, " {}: closed form | counted |", kind.name);
        }
        out += "\n| --: |";
        out += &" --: | --: |".repeat(self.queues.len());
        out.push('\n');
        for &flow in &self.dots {
            let _ = write!(out, "| {flow} |");
            for (number, kind) in self.queues.iter().enumerate() {
                let computed = kind.shares(flow - 1, self.buckets);
                let _ = write!(out, " {} | {} |", percent(computed), percent(mean(number, flow)));
            }
            out.push('\n');
        }
        out
    }

    /// How the flows were counted, for the page.
    fn how(&self) -> String {
        let Scenario { trials, seeds, .. } = self;
        format!(
            "Flows are counted in the queues of this program, in {trials} trials with each of {seeds} seeds, without a \
             network and without time. \"Ours\" is the median over the seeds. The brackets hold a 95 % confidence \
             interval that assumes no distribution (order statistics). Picture and table show the mean. To repeat \
             it:\n\n```sh\ngoodqueue reproduce {NAME}\n```\n\n\
             * `closed_form`: the closed form with these numbers.\n\
             * `has_to_share`: share of the trials in which the flow of this number found no queue of its own.\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_the_decimals_that_it_needs() {
        let said = [0.0, 0.0922, 0.9993, 0.9999, 0.999_999, 0.000_001_2, 1e-9, 1.0].map(percent);
        assert_eq!(said, ["0 %", "9.22 %", "99.93 %", "99.99 %", "99.9999 %", "0.0001 %", "0 %", "100 %"]);
    }

    /// Computed by hand: of two flows the second shares with probability 1/1024. If nine fall into one set of
    /// eight, one has to share.
    #[test]
    fn the_closed_form_agrees_with_a_calculation_by_hand() {
        let [fq_codel, cake] = <[Kind; 2]>::try_from(Scenario::read().queues).expect("two queues");
        assert!((fq_codel.shares(1, 1024) - 1.0 / 1024.0).abs() < 1e-12);
        assert!(cake.shares(7, 1024) < 1e-12);
        assert!((cake.shares(8, 1024) - (1.0_f64 / 128.0).powi(8)).abs() < 1e-15);
    }

    #[test]
    fn the_printed_numbers_hold() {
        let Scenario { printed, buckets, .. } = Scenario::read();
        assert!(printed.iter().map(|claim| claim.judge(buckets)).all(|row| row.verdict == Judged::Holds));
    }

    /// Three flows have three queues. When they come again, they keep them.
    #[test]
    fn a_flow_with_a_queue_of_its_own_is_not_counted() {
        let fq_codel = Scenario::read().queues.swap_remove(0);
        let mut queue = fq_codel.build();
        let mut shared = vec![0; 3];
        fq_codel.try_once(&mut queue, &mut Rng::new(1), &mut shared);
        assert_eq!(shared, [0, 0, 0]);
        fq_codel.try_once(&mut queue, &mut Rng::new(1), &mut shared);
        assert_eq!(shared[1..], [1, 1], "the same flows again");
    }
}

//! The page of results.

use std::fmt::Write;
use std::ops::RangeInclusive;

use goodqueue::autorate::Cause;
use goodqueue::{Direction, Nanos};

use super::run::{MEASURED, ORACLE};
use super::{DirectionOutcome, Outcome, Path, Policy};

/// The bar for our goodput: at least this share of the oracle's.
const GOODPUT: f64 = 0.85;
/// The bar for the 95th percentile of our rise: at most this multiple of the oracle's.
const RISE: f64 = 1.5;

/// Goodput and 95th percentile of a direction, as shares of the oracle's.
#[must_use]
pub fn shares(way: &DirectionOutcome, oracle: &DirectionOutcome) -> [f64; 2] {
    [way.goodput / oracle.goodput, way.rise[1] / oracle.rise[1]]
}

/// Whether each of the two bars is met: goodput and rise.
#[must_use]
fn bars([goodput, rise]: [f64; 2]) -> [bool; 2] {
    [goodput >= GOODPUT, rise <= RISE]
}

/// The bar for our reversals on a constant link: one a minute in the median of all seeds.
const REVERSALS: f64 = 1.0;

/// The spread of the rates of a shaper from second 30 on: the least and the largest, as a share of the
/// median, with the most extreme hundredth at each end left out.
#[must_use]
fn spread(way: &DirectionOutcome) -> [f64; 2] {
    let mut rates: Vec<u64> = way.rates.iter().skip(300).map(|rate| rate.0).collect();
    rates.sort_unstable();
    let at = |percent: usize| rates[(rates.len() * percent / 100).min(rates.len() - 1)] as f64;
    [at(1) / at(50), at(99) / at(50)]
}

/// The seeds of the page. Each gives the links other rates, and the runs other random numbers.
pub const SEEDS: RangeInclusive<u64> = 1..=15;

/// A link, and the outcomes in the order of [`Policy::ALL`], one for each of [`SEEDS`].
pub type Results = (Path, Vec<(Policy, Vec<Outcome>)>);

/// The values of all seeds, ascending.
fn sorted(outcomes: &[Outcome], value: impl Fn(&Outcome) -> f64) -> Vec<f64> {
    let mut values: Vec<f64> = outcomes.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The middle one of an odd number of ascending values; 0 for none.
fn median(values: &[f64]) -> f64 {
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Median and range of ascending values.
fn range(values: &[f64], digits: usize) -> String {
    let (least, most) = (values[0], values[values.len() - 1]);
    format!("{:.digits$} ({least:.digits$} to {most:.digits$})", median(values))
}

/// Goodput and rise of a direction as shares of the oracle's, ascending.
fn all_shares(outcomes: &[Outcome], oracle: &[Outcome], way: usize) -> [Vec<f64>; 2] {
    let pairs = || outcomes.iter().zip(oracle);
    [0, 1].map(|which: usize| {
        let mut values: Vec<f64> =
            pairs().map(|(ours, oracle)| shares(&ours.ways[way], &oracle.ways[way])[which]).collect();
        values.sort_by(f64::total_cmp);
        values
    })
}

/// Whether so many of `all` seeds agree that coins would in less than 5 % of cases: a sign test.
fn is_decided(agree: usize, all: usize) -> bool {
    // The chance of exactly `heads` heads, from that of none.
    let mut chance = 0.5_f64.powi(i32::try_from(all).unwrap_or(i32::MAX));
    let mut chances = vec![chance];
    for heads in 1..=all {
        chance = chance * (all + 1 - heads) as f64 / heads as f64;
        chances.push(chance);
    }
    2.0 * chances[agree..].iter().sum::<f64>() < 0.05
}

/// Whether a bar is met, by how many seeds meet it.
fn verdict(met: &[bool]) -> String {
    let (all, count) = (met.len(), met.iter().filter(|&&met| met).count());
    let word = match (2 * count > all, is_decided(count.max(all - count), all)) {
        (true, true) => "met",
        (false, true) => "**missed**",
        (true, false) => "undecided, the median meets it",
        (false, false) => "undecided, the median **misses** it",
    };
    format!("{word}: {count} of {all}")
}

/// The page.
#[must_use]
pub fn page(results: &[Results], pictures: &[(String, String)]) -> String {
    let mut out = String::from(INTRODUCTION);
    let _ = writeln!(out, "{}", METHOD.replace("ORACLE", &ORACLE.to_string()));
    for (name, title) in pictures {
        let _ = writeln!(out, "![{title}](autorate/{name})\n");
    }
    let mut verdicts = String::new();
    for (path, outcomes) in results {
        let _ = writeln!(out, "## {}\n\n{}\n", path.name, path.about);
        out += HEAD;
        let Some((_, oracle)) = outcomes.last() else { continue };
        for (at, direction) in ["up", "down"].iter().enumerate() {
            let mut cells = [String::new(), String::new()];
            for (policy, outcomes) in outcomes {
                let [goodput, factor] = all_shares(outcomes, oracle, at);
                let _ = writeln!(
                    out,
                    "| {direction} | {} | {:.2} | {:.0} % | {:.1} | {:.1} | {:.2} |",
                    policy.name(),
                    median(&sorted(outcomes, |outcome| outcome.ways[at].goodput)) / 1e6,
                    100.0 * median(&goodput),
                    median(&sorted(outcomes, |outcome| outcome.ways[at].rise[0])),
                    median(&sorted(outcomes, |outcome| outcome.ways[at].rise[1])),
                    median(&factor),
                );
                if [Policy::Ours, Policy::Late].contains(policy) {
                    let met = |which: usize, values: &[f64]| {
                        let one = |&value| {
                            let shares = if which == 0 { [value, 0.0] } else { [1.0, value] };
                            bars(shares)[which]
                        };
                        verdict(&values.iter().map(one).collect::<Vec<bool>>())
                    };
                    let per_cent: Vec<f64> = goodput.iter().map(|share| 100.0 * share).collect();
                    cells[0] += &format!(" {} | {} |", range(&per_cent, 0), met(0, &goodput));
                    cells[1] += &format!(" {} | {} |", range(&factor, 2), met(1, &factor));
                }
            }
            for (cells, bar) in cells.iter().zip(["goodput, %", "factor"]) {
                let _ = writeln!(verdicts, "| {} | {direction} | {bar} |{cells}", path.name);
            }
        }
        out += "\n";
    }
    let _ = writeln!(out, "## The bars\n\n{BARS}\n{verdicts}");
    let constant = results.iter().find(|(path, _)| path.name == "constant");
    if let Some((_, outcomes)) = constant {
        out += REVERSED;
        let mut held = "";
        for (policy, outcomes) in outcomes {
            let _ = write!(out, "| {} |", policy.name());
            for way in 0..2 {
                let reversals = sorted(outcomes, |outcome| outcome.ways[way].reversals);
                let least = sorted(outcomes, |outcome| spread(&outcome.ways[way])[0])[0];
                let most = sorted(outcomes, |outcome| spread(&outcome.ways[way])[1]);
                let _ = write!(
                    out,
                    " {} | {:.0} to {:.0} % |",
                    range(&reversals, 1),
                    100.0 * least,
                    100.0 * most[most.len() - 1]
                );
            }
            out += "\n";
            if *policy == Policy::Ours {
                let is_met = |way: usize| {
                    median(&sorted(outcomes, |outcome| outcome.ways[way].reversals)) <= REVERSALS
                };
                held = ["**missed**", "met"][usize::from(is_met(0) && is_met(1))];
            }
        }
        let _ = writeln!(out, "\nThe bar is {held}.\n");
    }
    out + &causes(results) + CAUSES
}

/// The outcomes of all seeds on a link.
fn on<'a>(results: &'a [Results], name: &str, policy: Policy) -> &'a [Outcome] {
    let link = results.iter().find(|(path, _)| path.name == name);
    let outcomes = link.and_then(|(_, outcomes)| outcomes.iter().find(|(of, _)| *of == policy));
    outcomes.map_or(&[], |(_, outcomes)| outcomes)
}

/// The 95th percentile of the rise on a link, ms: the median of all seeds.
fn rise_on(results: &[Results], name: &str, policy: Policy, way: usize) -> f64 {
    median(&sorted(on(results, name, policy), |outcome| outcome.ways[way].rise[1]))
}

/// The least and the largest of these, of all links but some, in words.
fn rises(results: &[Results], policy: Policy, way: usize, but: &[&str]) -> String {
    let names = results.iter().map(|(path, _)| path.name).filter(|name| !but.contains(name));
    let mut values: Vec<f64> = names.map(|name| rise_on(results, name, policy, way)).collect();
    values.sort_by(f64::total_cmp);
    let [least, .., most] = values[..] else { return "no".into() };
    format!("{least:.1} to {most:.1}")
}

/// What ours accepted on a link when a rise made it drain a queue, from the measured second on: the median of
/// all such rises, ms, and how many there are in a run, the median of all seeds.
fn drains(results: &[Results], name: &str, way: usize) -> [f64; 2] {
    let accepted = |outcome: &Outcome| -> Vec<f64> {
        let counted = outcome.decisions.iter().filter(|decision| {
            decision.at >= Nanos::ZERO + MEASURED && decision.direction == Direction::BOTH[way]
        });
        let accepted = counted.filter_map(|decision| match decision.cause {
            Cause::Delay { threshold, .. } => Some(threshold.as_millis_f64()),
            _ => None,
        });
        accepted.collect()
    };
    let outcomes = on(results, name, Policy::Ours);
    let mut all: Vec<f64> = outcomes.iter().flat_map(accepted).collect();
    all.sort_by(f64::total_cmp);
    let counts = sorted(outcomes, |outcome| accepted(outcome).len() as f64);
    [all, counts].map(|values| median(&values))
}

/// The causes with figures of this page.
fn causes(results: &[Results]) -> String {
    const APART: [&str; 2] = ["LTE", "outage"];
    let both = |policy: Policy, but: &[&str]| [0, 1].map(|way: usize| rises(results, policy, way, but));
    let [oracle_up, oracle_down] = both(Policy::Oracle, &APART);
    let [ours_up, ours_down] = both(Policy::Ours, &["LTE"]);
    let lte = |policy: Policy| [0, 1].map(|way: usize| rise_on(results, "LTE", policy, way));
    let ([lte_up, lte_down], [lte_oracle_up, lte_oracle_down]) = (lte(Policy::Ours), lte(Policy::Oracle));
    let [published_up, published_down] = [0, 1].map(|way: usize| {
        let all = results.iter().map(|(path, _)| rise_on(results, path.name, Policy::CakeAutorate, way));
        all.reduce(f64::min).unwrap_or_default().floor()
    });
    let [bad_factor, drift_factor] = ["bad reflectors", "clock drift"].map(|name| {
        let [_, factor] = all_shares(on(results, name, Policy::Ours), on(results, name, Policy::Oracle), 1);
        median(&factor)
    });
    let [[bad_accepted, bad_drains], [drift_accepted, drift_drains]] =
        ["bad reflectors", "clock drift"].map(|name| drains(results, name, 1));
    format!(
        "## Why bars are missed

* *Rise.* The oracle knows the rate of the line and has nearly no queue in front of it. So its 95th percentile is a \
packet or two and the jitter: {oracle_up} ms up and {oracle_down} ms down, without LTE and the outage. A controller \
learns from a queue that the link has become slower, and must make a queue to learn that it has become faster. Each \
costs 0.2 to 0.4 s with a delay of 5 to 25 ms: two probes, the way there and back, and the drain. On a link that \
changes every five seconds, that is more than 5 % of the time. In absolute terms the 95th percentile of ours is \
{ours_up} ms up and {ours_down} ms down, without LTE. On LTE it is {lte_up:.0} ms up and {lte_down:.0} ms down, where \
the oracle has {lte_oracle_up:.0} and {lte_oracle_down:.0} ms. Under cake-autorate's rules it is {published_up} ms or \
more up, and {published_down} ms or more down.
* *Rise, down, clock drift.* The factor is {drift_factor:.2}; with bad reflectors it is {bad_factor:.2}. The links, \
the load and the oracle are the same there, so what the reflectors do is the cause. Ours corrects the idle one-way \
delay of a reflector upwards only while the round trip is within 2 ms of its least value, and under load it is often \
longer. What a clock drifts meanwhile counts as noise of the link, and the more noise there is, the longer a rise ours \
accepts. When it drained a queue, it accepted {drift_accepted:.1} ms (median of all drains and seeds), and \
{bad_accepted:.1} ms with bad reflectors. It drained {drift_drains:.0} queues in a run (median of the seeds), and \
{bad_drains:.0} with bad reflectors. Which share the drift has, and which the two jumps have, was not measured.
"
    )
}

const HEAD: &str = "| | shaper | goodput, Mbit/s | of the oracle's | median rise, ms | 95 % rise, ms | factor |\n\
                    | --- | --- | ---: | ---: | ---: | ---: | ---: |\n";

const REVERSED: &str = "A *reversal* is a change of the rate's direction, each time by more than 10 % of the rate. \
On the constant link a controller should have few of them. The table counts them from second 30 on: the median of all \
seeds, and their range. The bar for ours is one a minute, so that a short download meets none. *Range*: where the rate \
stays for 98 % of the time, as a share of its median, with the extremes of all seeds. Until 30 November 2026 the bar was \
a range of 50 to 150 %, which all policies meet, so it showed nothing.

| | up: reversals a minute | range | down: reversals a minute | range |
| --- | ---: | ---: | ---: | ---: |
";

const INTRODUCTION: &str = "# Following a link that varies

`goodqueue::autorate` raises and lowers a shaper by the delay to several reflectors and by what the link carries.
This page compares it in the simulator. It is made by `cargo run --release -p goodqueue-proof --example autorate --
docs`, and is the same on every machine.

";

const METHOD: &str = "A router has `cake` in each direction. For uploads it is in front of the link. For downloads it \
is behind the link, where only the senders' reaction to its drops can shorten the queue on the link. The link has a \
FIFO of one second in front of it. Four CUBIC flows load each direction, both at the same time, over a round trip of \
32 ms. The reflectors get 20 probes a second in all, and their clocks are wrong. Each run has 2 s without load and \
100 s with load; it counts from second 12 on. *Rise* is how much longer a small packet took one way than the median \
without load. The *factor* is the 95th percentile of the rise, divided by the oracle's. Each figure is the median of \
15 seeds. Each seed gives the links different rates, and the runs different random numbers.

* *fixed*: the shaper stays at the minimum or at the mean rate of the link.
* *cake-autorate's rules*: the published rules and defaults, from its documentation, with one-way delays.
* *ours*: the default parameters, the same on all links.
* *oracle*: sets ORACLE % of the link's rate of the moment, every 5 ms. No controller can know that rate.
* *oracle, 100 ms late*: knows the rate of the link and the length of its queue without error, but 100 ms late, about \
as late as two probes. It sets ORACLE % of that rate, minus what drains the queue in 100 ms. Unlike a controller, it \
does not have to make a queue to find a higher rate.

One rule gives both controllers their limits from the highest rate of the link: at least 5 % of it, half of it at the \
start, and at most 150 %.
";

const BARS: &str = "Ours should have at least 85 % of the oracle's goodput, and a 95th percentile of the rise of at \
most 1.5 times the oracle's. The table has the median of 15 seeds and their range, and how many seeds meet the bar. A \
bar is decided if so many seeds agree that 15 coins would in less than 5 % of cases (12 or more). Otherwise the table \
says what the median does.

| link | | bar | ours | | oracle, 100 ms late | |
| --- | --- | --- | ---: | --- | ---: | --- |";

const CAUSES: &str = "* *Lateness is not the cause.* An oracle that learns the rate and the queue 100 ms late meets \
every bar. A controller lacks the rate itself.
* *Two attempts.* The first is a climb in steps that ends when the delay rises; these figures show it. The second was \
short tries: they raised the rate until the bytes sent would make a queue of 6 to 10 ms, lowered it at once, and \
compared the samples with that queue. For uploads the tries had a factor of 1.1 to 2.0, but on LTE and Starlink only \
54 to 58 % of the oracle's goodput. TCP does not fill a rate that lasts a tenth of a second, so the tries showed too \
little. Both are in the history of the code.
* *A third attempt*, for uploads only: the router knows what enters the link. So each sample moved weight among 129 \
rates that the link may have, and a slow ramp looked for a higher rate. We chose its parameters in a simple model of \
the link, without TCP. There it met 40 of 44 bars; a copy of the present design met 27. In the simulator, on links \
other than these and with one seed, its factor was at most 1.5 on four of seven links, but on five it had only 10 to \
76 % of the oracle's goodput. A likely cause: at low rates, probes wait for packets in the shaper itself, and this \
counted as a queue on the link. We did not keep it, and it is not in the history of the code.
* *Goodput, LTE.* The rate is a random walk with 200 packets a second per square root of a second. A measurement \
from half a second ago is wrong by a quarter. We made two attempts, each with seeds 1 to 9 and for all links. We kept \
neither, since the rise on other links grew:
  * *Noise.* A queue costs little where packets wait anyway. So the longest hold and the margin shrank with the noise \
of the link, and the accepted delay had twice the noise instead of 1.5 times. LTE down had 85 % instead of 78, with a \
factor of 1.06. But jitter is noise, too. Down, the factor rose from 1.38 to 2.48 on DOCSIS, from 1.48 to 2.20 on \
Starlink, and from 1.13 to 1.66 with the outage. It rose from 1.51 to 2.25 with bad reflectors, and from 1.63 to 2.38 \
with clock drift. A dependence that is weaker for little noise had 84 % on LTE, and a factor of 1.76 on DOCSIS.
  * *Changes.* A link that has just changed may change again soon. So after a change by more than 15 % the rate was \
held for 0.5 s instead of 3 s. LTE down had 82 %, with a factor of 0.87. But on DOCSIS the factor rose from 2.65 to \
3.31 up; with bad reflectors from 2.92 to 4.08 up, and from 1.51 to 1.94 down.
* *Reversals.* Only a try shows that a link has become faster. Ours tries at least every 16 s under load, and each try \
has two reversals: a step up, and one down. One reversal a minute would be one try in two minutes. With a longest hold \
of 64 s (seeds 1 to 9) there were 2.5 a minute, which still misses the bar. Faster links were found later: the lowest \
goodput of a seed fell from 54 to 32 % on LTE down, and from 80 to 74 % on Starlink down. We did not keep it.

Limits of this page: all links are models, none is a recording. Each figure is for one load. We chose the parameters \
on the links of the first seed, so ours may \
follow other links less well. The rate of a real link also depends on how much is sent (request and grant, carrier \
aggregation). The rates here do not.
";

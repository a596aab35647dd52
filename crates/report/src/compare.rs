//! Compares two records figure by figure: before and after a change, or two tools on one path.
//!
//! * **Difference**: the other record's figure less the first one's.
//! * **95 % interval of the difference** with repetitions in both: Welch's, from the figures of all
//!   repetitions, mean difference ± t(0.975, ν) · √(s₁²/n₁ + s₂²/n₂) with Welch and Satterthwaite's ν (Welch,
//!   Biometrika 34, 1947). The figures are then the means of the repetitions.
//! * **Without repetitions**: a bootstrap over blocks of time (Künsch, Annals of Statistics 17, 1989). The
//!   loaded interval is cut into blocks of 1 s, longer ones in long runs, since samples close in
//!   time depend on each other. 1000 times, as many blocks are drawn with replacement from each run, and the
//!   difference is computed; the interval has the middle 95 %. It shows what changes *within* a run. Runs of
//!   the same path at another time may differ by more.

use serde::Serialize;

use crate::baseline::baseline;
use crate::record::{Direction, ProbeSeries, Record, Repetition, Run};
use crate::stats::{Span, known};
use crate::summary::{Summary, loaded_span, repeat::student_975, steps};
use crate::transfers;

/// Shortest block of the bootstrap.
const BLOCK_NS: i64 = 1_000_000_000;
/// Fewest and most blocks.
const FEWEST_BLOCKS: usize = 6;
const MOST_BLOCKS: i64 = 30;
/// Draws of the bootstrap.
const DRAWS: usize = 1000;

/// How the samples of a figure become one number.
#[derive(Clone, Copy, Debug)]
enum Statistic {
    /// Bytes over time.
    Rate(Direction),
    /// A percentile, by nearest rank.
    Percentile(Samples, u64),
    /// A mean.
    Mean(Samples),
    /// Lost probes over all.
    Lost,
}

/// Samples with a time.
#[derive(Clone, Copy, Debug)]
enum Samples {
    /// Rises of a delay of the probes, ms.
    Rises(fn(&ProbeSeries) -> &Vec<i64>),
    /// Flow completion times of user-defined traffic, ms.
    Completion,
    /// Slowdowns of the same flows.
    Slowdowns,
}

/// A figure that is compared.
#[derive(Debug)]
pub struct Figure {
    /// Its name in limits and in JSON.
    pub name: &'static str,
    /// `Mbit/s`, `ms` or `%`; empty for a bare number.
    pub unit: &'static str,
    /// What it is.
    pub meaning: &'static str,
    /// Whether less of it is better.
    pub is_less_better: bool,
    statistic: Statistic,
    of_summary: fn(&Summary) -> Option<f64>,
    of_repetition: fn(&Repetition) -> Option<f64>,
}

impl Figure {
    /// Its value in a run, in its unit; `None` if it was not measured.
    #[must_use]
    pub fn value(&self, summary: &Summary) -> Option<f64> {
        (self.of_summary)(summary)
    }
}

fn ms(ns: Option<i64>) -> Option<f64> {
    ns.map(|ns| ns as f64 / 1e6)
}

fn mbit(bps: Option<u64>) -> Option<f64> {
    bps.map(|bps| bps as f64 / 1e6)
}

fn lost(summary: &Summary) -> Option<f64> {
    let sent = summary.rtt.n + summary.rtt.lost;
    (sent > 0).then(|| summary.rtt.lost as f64 / sent as f64 * 100.0)
}

/// Every figure, in the order of the table.
pub const FIGURES: [Figure; 14] = [
    Figure {
        name: "goodput_up",
        unit: "Mbit/s",
        meaning: "goodput of all flows to the server",
        is_less_better: false,
        statistic: Statistic::Rate(Direction::Up),
        of_summary: |summary| mbit(summary.goodput_up_bps),
        of_repetition: |one| mbit(one.goodput_up_bps),
    },
    Figure {
        name: "goodput_down",
        unit: "Mbit/s",
        meaning: "goodput of all flows to the client",
        is_less_better: false,
        statistic: Statistic::Rate(Direction::Down),
        of_summary: |summary| mbit(summary.goodput_down_bps),
        of_repetition: |one| mbit(one.goodput_down_bps),
    },
    Figure {
        name: "rise_mean",
        unit: "ms",
        meaning: "mean rise of the round trip under load; it determines the grade",
        is_less_better: true,
        statistic: Statistic::Mean(Samples::Rises(|probe| &probe.rtt_ns)),
        of_summary: |summary| ms(summary.rtt.added_mean_ns),
        of_repetition: |_| None,
    },
    Figure {
        name: "rise_p50",
        unit: "ms",
        meaning: "median of that rise",
        is_less_better: true,
        statistic: Statistic::Percentile(Samples::Rises(|probe| &probe.rtt_ns), 50),
        of_summary: |summary| ms(summary.rtt.added_p50_ns),
        of_repetition: |one| ms(one.rise_p50_ns),
    },
    Figure {
        name: "rise_p95",
        unit: "ms",
        meaning: "its 95th percentile",
        is_less_better: true,
        statistic: Statistic::Percentile(Samples::Rises(|probe| &probe.rtt_ns), 95),
        of_summary: |summary| ms(summary.rtt.added_p95_ns),
        of_repetition: |one| ms(one.rise_p95_ns),
    },
    Figure {
        name: "rise_p99",
        unit: "ms",
        meaning: "its 99th percentile",
        is_less_better: true,
        statistic: Statistic::Percentile(Samples::Rises(|probe| &probe.rtt_ns), 99),
        of_summary: |summary| ms(summary.rtt.added_p99_ns),
        of_repetition: |one| ms(one.rise_p99_ns),
    },
    Figure {
        name: "rise_up_p95",
        unit: "ms",
        meaning: "95th percentile of the rise of the one-way delay to the server",
        is_less_better: true,
        statistic: Statistic::Percentile(Samples::Rises(|probe| &probe.up_ns), 95),
        of_summary: |summary| ms(summary.up.added_p95_ns),
        of_repetition: |_| None,
    },
    Figure {
        name: "rise_down_p95",
        unit: "ms",
        meaning: "the same for the way back",
        is_less_better: true,
        statistic: Statistic::Percentile(Samples::Rises(|probe| &probe.down_ns), 95),
        of_summary: |summary| ms(summary.down.added_p95_ns),
        of_repetition: |_| None,
    },
    Figure {
        name: "loss",
        unit: "%",
        meaning: "probes lost under load",
        is_less_better: true,
        statistic: Statistic::Lost,
        of_summary: lost,
        of_repetition: |_| None,
    },
    Figure {
        name: "fct_mean",
        unit: "ms",
        meaning: "mean flow completion time of user-defined traffic",
        is_less_better: true,
        statistic: Statistic::Mean(Samples::Completion),
        of_summary: |summary| ms(summary.transfers.mean_ns),
        of_repetition: |one| ms(one.fct_mean_ns),
    },
    Figure {
        name: "fct_p50",
        unit: "ms",
        meaning: "its median",
        is_less_better: true,
        statistic: Statistic::Percentile(Samples::Completion, 50),
        of_summary: |summary| ms(summary.transfers.p50_ns),
        of_repetition: |_| None,
    },
    Figure {
        name: "fct_p99",
        unit: "ms",
        meaning: "its 99th percentile",
        is_less_better: true,
        statistic: Statistic::Percentile(Samples::Completion, 99),
        of_summary: |summary| ms(summary.transfers.p99_ns),
        of_repetition: |one| ms(one.fct_p99_ns),
    },
    Figure {
        name: "slowdown_mean",
        unit: "",
        meaning: "mean slowdown of the same flows: completion time / ideal time",
        is_less_better: true,
        statistic: Statistic::Mean(Samples::Slowdowns),
        of_summary: |summary| summary.transfers.slowdown_mean,
        of_repetition: |one| one.slowdown_mean,
    },
    Figure {
        name: "slowdown_p99",
        unit: "",
        meaning: "its 99th percentile",
        is_less_better: true,
        statistic: Statistic::Percentile(Samples::Slowdowns, 99),
        of_summary: |summary| summary.transfers.slowdown_p99,
        of_repetition: |_| None,
    },
];

/// What an interval is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The repetitions of both runs.
    Repetitions,
    /// Blocks of time of one run each.
    Blocks,
}

/// One figure of two runs.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Name of the figure.
    pub figure: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// In the first record; absent if it was not measured.
    pub first: Option<f64>,
    /// In the other.
    pub other: Option<f64>,
    /// The other less the first.
    pub difference: Option<f64>,
    /// The other over the first; absent unless the first is above 0.
    pub ratio: Option<f64>,
    /// 95 % interval of the difference; absent if there are too few samples.
    pub interval: Option<[f64; 2]>,
    /// What the interval is computed from.
    pub interval_of: Option<Basis>,
    /// `better`, `worse`, or `undecided` where the interval has 0 in it; absent without an interval.
    pub verdict: Option<&'static str>,
}

/// Two runs, figure by figure.
#[derive(Clone, Debug, Serialize)]
pub struct Pair {
    /// The first record's run: its queue or load.
    pub first: String,
    /// The other record's.
    pub other: String,
    /// The figures that at least one of them has.
    pub rows: Vec<Row>,
}

/// What two records have in common, and what not.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Comparison {
    /// The runs that both have: those of the same queue or load, or one run of each.
    pub pairs: Vec<Pair>,
    /// Runs of the first record alone.
    pub only_first: Vec<String>,
    /// Runs of the other alone.
    pub only_other: Vec<String>,
}

/// Compares two records. A record with one run is compared with another such whatever their queues are; of
/// others, runs of the same queue (on a real path, the same load) belong together.
#[must_use]
pub fn compare(first: &Record, other: &Record) -> Comparison {
    if let ([one], [two]) = (&first.runs[..], &other.runs[..]) {
        return Comparison { pairs: vec![pair((first, one), (other, two))], ..Comparison::default() };
    }
    let mut out = Comparison::default();
    for run in &first.runs {
        match other.runs.iter().find(|two| two.queue == run.queue) {
            Some(two) => out.pairs.push(pair((first, run), (other, two))),
            None => out.only_first.push(run.queue.clone()),
        }
    }
    let is_new = |run: &&Run| first.runs.iter().all(|one| one.queue != run.queue);
    out.only_other = other.runs.iter().filter(is_new).map(|run| run.queue.clone()).collect();
    out
}

fn pair(first: (&Record, &Run), other: (&Record, &Run)) -> Pair {
    let summaries = [first, other].map(|(record, run)| Summary::of(record, run));
    let rows = FIGURES.iter().map(|figure| row(figure, [first, other], &summaries));
    let is_measured = |row: &Row| row.first.is_some() || row.other.is_some();
    Pair {
        first: first.1.queue.clone(),
        other: other.1.queue.clone(),
        rows: rows.filter(is_measured).collect(),
    }
}

fn row(figure: &Figure, runs: [(&Record, &Run); 2], summaries: &[Summary; 2]) -> Row {
    let repeated = runs.map(|(_, run)| {
        run.repetitions
            .iter()
            .map(figure.of_repetition)
            .collect::<Option<Vec<f64>>>()
            .filter(|all| all.len() > 1)
    });
    let mut values = summaries.each_ref().map(figure.of_summary);
    let mut interval = None;
    if let [Some(first), Some(other)] = &repeated {
        values = [first, other].map(|all| Some(mean(all)));
        interval = Some((welch(first, other), Basis::Repetitions));
    } else if let [Some(_), Some(_)] = values {
        interval = bootstrap(figure.statistic, runs).map(|interval| (interval, Basis::Blocks));
    }
    let [first, other] = values;
    let verdict = interval.map(|([low, high], _)| match (low > 0.0, high < 0.0) {
        (true, _) => {
            if figure.is_less_better {
                "worse"
            } else {
                "better"
            }
        }
        (_, true) => {
            if figure.is_less_better {
                "better"
            } else {
                "worse"
            }
        }
        _ => "undecided",
    });
    Row {
        figure: figure.name,
        unit: figure.unit,
        first,
        other,
        difference: other.zip(first).map(|(other, first)| other - first),
        ratio: other.zip(first.filter(|first| *first > 0.0)).map(|(other, first)| other / first),
        interval: interval.map(|(interval, _)| interval),
        interval_of: interval.map(|(_, basis)| basis),
        verdict,
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Welch's 95 % confidence interval of the mean of `other` minus that of `first`. Both have two values or
/// more.
#[must_use]
pub fn welch(first: &[f64], other: &[f64]) -> [f64; 2] {
    let of = |values: &[f64]| {
        let (n, mean) = (values.len() as f64, mean(values));
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (mean, variance / n, n - 1.0)
    };
    let ((m1, v1, f1), (m2, v2, f2)) = (of(first), of(other));
    let freedom = (v1 + v2).powi(2) / (v1 * v1 / f1 + v2 * v2 / f2);
    // Without any variance there is no ν, and no interval is needed.
    let quantile = if freedom.is_finite() { student_975(freedom.floor().max(1.0) as usize) } else { 0.0 };
    let half = quantile * (v1 + v2).sqrt();
    [m2 - m1 - half, m2 - m1 + half]
}

/// What a figure needs of a stretch of time.
#[derive(Clone, Debug, Default)]
struct Block {
    /// Samples with a value, and their sum.
    samples: u64,
    sum: f64,
    /// Probes sent and lost.
    sent: u64,
    lost: u64,
    bytes: f64,
    seconds: f64,
}

/// The loaded interval of a run in blocks.
#[derive(Clone, Debug, Default)]
struct Blocks {
    blocks: Vec<Block>,
    /// All samples in ascending order, each with its block; for percentiles alone.
    sorted: Vec<(f64, usize)>,
}

impl Blocks {
    /// `None` if the run is too short.
    fn of(statistic: Statistic, record: &Record, run: &Run) -> Option<Blocks> {
        let loaded = loaded_span(record, run);
        let length = i64::try_from(loaded.length()).unwrap_or(i64::MAX);
        let each = BLOCK_NS.max(length / MOST_BLOCKS);
        let count = usize::try_from(length / each).ok().filter(|&count| count >= FEWEST_BLOCKS)?;
        let mut blocks = vec![Block { seconds: each as f64 / 1e9, ..Block::default() }; count];
        let mut sorted = Vec::new();
        // The rest of less than a block belongs to the last one.
        let place = |t: i64| usize::try_from((t - loaded.from) / each).unwrap_or(0).min(count - 1);
        blocks[count - 1].seconds += (length - each * count as i64) as f64 / 1e9;
        match statistic {
            Statistic::Rate(direction) => {
                let flows = record.test.flows.iter().zip(&run.flows);
                for (_, flow) in flows.filter(|(plan, _)| plan.direction == direction) {
                    for (step, bytes) in steps(record, flow) {
                        let inside = step.overlap(loaded);
                        if inside.length() > 0 {
                            let part = inside.length() as f64 / step.length() as f64;
                            blocks[place(middle(inside))].bytes += bytes as f64 * part;
                        }
                    }
                }
            }
            Statistic::Percentile(of, _) => {
                of.each(run, loaded, &mut |t, value| {
                    // A flow that has not ended is slower than all others.
                    let value = value.or(of.is_of_flows().then_some(f64::INFINITY));
                    blocks[place(t)].samples += u64::from(value.is_some());
                    sorted.extend(value.map(|value| (value, place(t))));
                });
                sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
            }
            Statistic::Mean(of) => of.each(run, loaded, &mut |t, value| {
                let block = &mut blocks[place(t)];
                block.samples += u64::from(value.is_some());
                block.sum += value.unwrap_or(0.0);
            }),
            Statistic::Lost => rises(run, |probe| &probe.rtt_ns, loaded, &mut |t, rise| {
                let block = &mut blocks[place(t)];
                block.sent += 1;
                block.lost += u64::from(rise.is_none());
            }),
        }
        Some(Blocks { blocks, sorted })
    }

    /// The figure, with each block as many times as `drawn` says; `None` without samples.
    fn figure(&self, statistic: Statistic, drawn: &[u64]) -> Option<f64> {
        let sum = |of: fn(&Block) -> f64| -> f64 {
            self.blocks.iter().zip(drawn).map(|(block, &times)| of(block) * times as f64).sum()
        };
        let value = match statistic {
            Statistic::Rate(_) => sum(|block| block.bytes) * 8.0 / 1e6 / sum(|block| block.seconds),
            Statistic::Mean(_) => sum(|block| block.sum) / sum(|block| block.samples as f64),
            Statistic::Lost => sum(|block| block.lost as f64) / sum(|block| block.sent as f64) * 100.0,
            Statistic::Percentile(_, percent) => {
                let of = |(block, &times): (&Block, &u64)| block.samples * times;
                let all: u64 = self.blocks.iter().zip(drawn).map(of).sum();
                let rank = (percent * all).div_ceil(100).max(1);
                let mut below = 0;
                let reached = |&&(_, block): &&(f64, usize)| {
                    below += drawn[block];
                    below >= rank
                };
                self.sorted.iter().find(reached)?.0
            }
        };
        value.is_finite().then_some(value)
    }
}

impl Samples {
    fn is_of_flows(self) -> bool {
        !matches!(self, Samples::Rises(_))
    }

    /// Every sample of the loaded interval: its time, and its value if it has one.
    fn each(self, run: &Run, loaded: Span, take: &mut dyn FnMut(i64, Option<f64>)) {
        if let Samples::Rises(column) = self {
            return rises(run, column, loaded, take);
        }
        let flows = run.traffic.iter().flat_map(transfers::each);
        for flow in flows.filter(|flow| loaded.contains(flow.start_ns)) {
            let value = match self {
                Samples::Slowdowns => flow.slowdown().map(|parts| parts as f64 / transfers::ONE),
                _ => ms(flow.took_ns),
            };
            take(flow.start_ns, value);
        }
    }
}

fn middle(span: Span) -> i64 {
    span.from + i64::try_from(span.length() / 2).unwrap_or(0)
}

/// The probes of the loaded interval: when each was sent and its rise in ms, none if it was lost. What was
/// still unanswered at the end counts as round trip with the time waited.
fn rises(
    run: &Run,
    column: fn(&ProbeSeries) -> &Vec<i64>,
    loaded: Span,
    take: &mut dyn FnMut(i64, Option<f64>),
) {
    for probe in &run.probes {
        // Without a baseline there are no rises to compare, and losses need none.
        let base = baseline(run, probe, column(probe)).unwrap_or(0);
        let is_round_trip = std::ptr::eq(column(probe), &raw const probe.rtt_ns);
        let mut open = probe.under_way.iter().peekable();
        for (at, (&sent, &value)) in (0..).zip(probe.sent_ns.iter().zip(column(probe))) {
            let waited = open.next_if(|one| one.at == at).map(|one| one.waited_ns);
            let value = match waited {
                Some(_) if !is_round_trip => continue,
                Some(waited) => Some(waited),
                None => Some(value).filter(|&value| known(value)),
            };
            if loaded.contains(sent) {
                take(sent, value.map(|value| value.saturating_sub(base) as f64 / 1e6));
            }
        }
    }
}

/// The middle 95 % of the differences of drawn runs; `None` if a run is too short. The draws are always the
/// same, so a comparison gives the same interval each time.
fn bootstrap(statistic: Statistic, runs: [(&Record, &Run); 2]) -> Option<[f64; 2]> {
    let [first, other] = runs.map(|(record, run)| Blocks::of(statistic, record, run));
    let runs = [first?, other?];
    // SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
    let mut state = 0_u64;
    let mut draw = |below: usize| {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((u128::from(z ^ (z >> 31)) * below as u128) >> 64) as usize
    };
    let mut differences = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        let [first, other] = runs.each_ref().map(|run| {
            let mut drawn = vec![0; run.blocks.len()];
            (0..drawn.len()).for_each(|_| drawn[draw(run.blocks.len())] += 1);
            run.figure(statistic, &drawn)
        });
        differences.extend(other.zip(first).map(|(other, first)| other - first));
    }
    differences.sort_by(f64::total_cmp);
    // Draws without a sample would bend the interval.
    (differences.len() == DRAWS).then(|| [differences[DRAWS / 40 - 1], differences[DRAWS - DRAWS / 40]])
}

/// A number with so many digits. What is rounded to zero has no sign.
fn rounded(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    match text.strip_prefix('-') {
        Some(zero) if zero.bytes().all(|byte| matches!(byte, b'0' | b'.')) => zero.to_owned(),
        _ => text,
    }
}

/// The table of a comparison as plain text: a block for each pair of runs. `names`: of the records.
#[must_use]
pub fn text(names: [&str; 2], comparison: &Comparison) -> String {
    let mut out = String::new();
    for pair in &comparison.pairs {
        let run = if pair.first == pair.other {
            pair.first.clone()
        } else {
            format!("{}, {}", pair.first, pair.other)
        };
        let mut lines = vec![[
            run,
            String::new(),
            names[0].into(),
            names[1].into(),
            "difference".into(),
            "95 % interval".into(),
            "ratio".into(),
            String::new(),
        ]];
        for row in &pair.rows {
            let digits = digits(row);
            let number =
                |value: Option<f64>| value.map_or_else(|| "–".into(), |value| rounded(value, digits));
            let signed = |value: f64| {
                let text = rounded(value, digits);
                if text.starts_with('-') { text } else { format!("+{text}") }
            };
            lines.push([
                row.figure.into(),
                row.unit.into(),
                number(row.first),
                number(row.other),
                row.difference.map_or_else(String::new, signed),
                row.interval
                    .map_or_else(String::new, |[low, high]| format!("{} to {}", signed(low), signed(high))),
                // Below nothing there is no multiple.
                row.ratio
                    .filter(|ratio| *ratio >= 0.0)
                    .map_or_else(String::new, |ratio| format!("{ratio:.2}x")),
                row.verdict.unwrap_or_default().into(),
            ]);
        }
        let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
        for (number, line) in lines.iter().enumerate() {
            let cells = line.iter().enumerate().map(|(column, cell)| {
                let blank = " ".repeat(width(column) - cell.chars().count());
                // Words are on the left, numbers on the right.
                if matches!(column, 0 | 1 | 7) { format!("{cell}{blank}") } else { format!("{blank}{cell}") }
            });
            let line = cells.collect::<Vec<_>>().join("  ");
            out.push_str(line.trim_end());
            out.push('\n');
            if number == 0 {
                out.push_str(&"─".repeat((0..8).map(|column| width(column) + 2).sum::<usize>() - 2));
                out.push('\n');
            }
        }
        out.push('\n');
    }
    for (name, only) in names.iter().zip([&comparison.only_first, &comparison.only_other]) {
        if !only.is_empty() {
            out.push_str(&format!("only in {name}: {}\n", only.join(", ")));
        }
    }
    out
}

/// Decimals that make about three significant digits of the smaller figure.
fn digits(row: &Row) -> usize {
    let least = [row.first, row.other].into_iter().flatten().map(f64::abs).reduce(f64::min);
    match least.unwrap_or(0.0) {
        0.0..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    }
}

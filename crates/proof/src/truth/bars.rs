//! Each figure, its bar, and the verdict on one case.
//!
//! The kernel's figure is the mean over its recorded seeds, and ours the mean over our seeds. Seeds cannot be
//! paired: the same number gives different starts on the two sides. So two means are compared. Our runs are
//! cheap, so more seeds make our mean as exact as needed, but not the kernel's. No bar is widened for that. A
//! difference beyond the bar that the runs' own spread can explain is undecided: see [`Sample::chance`].

use serde::Serialize;

use super::case::Case;
use super::summary::{Outcome, QueueFigures};
use goodqueue_report::compare::welch;
use goodqueue_report::{Direction, Estimate};

/// If the kernel counted none or one, ours is outside from this count of drops or marks on.
const HANDFUL: f64 = 5.0;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Bytes sent over rate times time, steady part.
    Utilisation,
    /// Goodput of all flows over the whole run, Mbit/s.
    Goodput,
    /// Median of the probes' delay above the idle minimum, steady part, ms.
    Median,
    /// 95th percentile of the same, ms.
    P95,
    /// Packets dropped, steady part.
    Drops,
    /// Packets marked, whole run: the kernel's figure exists for the whole run alone.
    Marks,
    /// Jain's index of the flows that last, steady part.
    Jain,
    /// Rate of a BBR flow over the fair share of the direction, steady part.
    BbrShare,
    /// Goodput of the flows that last, steady part, Mbit/s. No bar.
    GoodputSteady,
    /// 99th percentile of the probes' delay above the idle minimum, steady part, ms. No bar.
    P99,
    /// Mean of the bytes queued, steady part. No bar.
    Backlog,
    /// Probes lost in the steady part. No bar.
    Lost,
    /// Segments retransmitted, whole run. No bar.
    Retrans,
    /// CE marks that senders were told of, whole run. No bar.
    Ce,
}

impl Figure {
    /// Every figure, those with a bar first.
    pub const ALL: [Figure; 14] = [
        Figure::Utilisation,
        Figure::Goodput,
        Figure::Median,
        Figure::P95,
        Figure::Drops,
        Figure::Marks,
        Figure::Jain,
        Figure::BbrShare,
        Figure::GoodputSteady,
        Figure::P99,
        Figure::Backlog,
        Figure::Lost,
        Figure::Retrans,
        Figure::Ce,
    ];

    /// The figures with a bar: the first of [`Figure::ALL`].
    pub const BARRED: usize = 8;

    /// Name and unit, for a list.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Figure::Utilisation => "utilisation, %",
            Figure::Goodput => "goodput, Mbit/s",
            Figure::Median => "median above base, ms",
            Figure::P95 => "p95 above base, ms",
            Figure::Drops => "drops, steady",
            Figure::Marks => "marks, whole run",
            Figure::Jain => "Jain's index",
            Figure::BbrShare => "BBR flow / fair share",
            Figure::GoodputSteady => "goodput steady, Mbit/s",
            Figure::P99 => "p99 above base, ms",
            Figure::Backlog => "mean backlog, bytes",
            Figure::Lost => "probes lost, steady",
            Figure::Retrans => "retransmitted",
            Figure::Ce => "CE learnt",
        }
    }

    /// The bar in words.
    #[must_use]
    pub const fn bar_text(self) -> &'static str {
        match self {
            Figure::Utilisation | Figure::Goodput => "3 %",
            Figure::Median => "1 ms or 15 %, the larger",
            Figure::P95 => "2 ms or 25 %, the larger",
            Figure::Drops | Figure::Marks => "35 %",
            Figure::Jain => "0.1",
            Figure::BbrShare => "the same side of 1",
            _ => "none",
        }
    }

    /// The figure of a run; none if it has no meaning there.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn of(self, outcome: &Outcome, way: Direction) -> Option<f64> {
        let side = outcome.side(way);
        let delay = |percentile: fn(&super::summary::Distribution) -> f64| {
            side.ping.and_then(|ping| Some(percentile(&ping.steady?) - ping.idle_min))
        };
        let queue = |count: fn(&QueueFigures) -> f64| side.queue.as_ref().map(count);
        match self {
            Figure::Utilisation => queue(|queue| queue.util_steady),
            Figure::Goodput => side.goodput.map(|goodput| goodput.mbit),
            Figure::Median => delay(|steady| steady.p50),
            Figure::P95 => delay(|steady| steady.p95),
            Figure::Drops => queue(|queue| queue.drops_steady as f64),
            Figure::Marks => queue(|queue| queue.marks as f64),
            Figure::Jain => side.goodput.and_then(|goodput| goodput.jain_steady),
            Figure::BbrShare => bbr_share(outcome, way),
            Figure::GoodputSteady => side.goodput.and_then(|goodput| goodput.mbit_steady),
            Figure::P99 => delay(|steady| steady.p99),
            Figure::Backlog => queue(|queue| queue.backlog_mean),
            Figure::Lost => side.ping.map(|ping| ping.lost_steady as f64),
            Figure::Retrans => side.goodput.map(|goodput| goodput.retrans as f64),
            Figure::Ce => side.goodput.map(|goodput| goodput.ce as f64),
        }
    }

    /// Whether the figure has a meaning in this case. Jain's index of one flow is always 1.
    fn is_telling(self, case: &Case, way: Direction) -> bool {
        let lasting = || case.flows.iter().filter(|flow| flow.way == way && flow.stop >= case.length);
        self != Figure::Jain || lasting().count() > 1
    }
}

/// Mean rate of a BBR flow divided by the mean rate of all flows of the direction, if it has BBR and other
/// flows. A flow that stops early counts with its rate from start to stop.
#[allow(clippy::cast_precision_loss)]
fn bbr_share(outcome: &Outcome, way: Direction) -> Option<f64> {
    let rates = |is_wanted: fn(bool) -> bool| {
        let flows = outcome.flows.iter().filter(|flow| flow.way == way && is_wanted(flow.cc == "bbr"));
        let rates: Vec<f64> = flows.map(|flow| flow.mbit_steady.unwrap_or(flow.mbit)).collect();
        (!rates.is_empty()).then(|| (rates.iter().sum::<f64>(), rates.len() as f64))
    };
    let ((bbr, bbrs), (rest, others)) = (rates(|is_bbr| is_bbr)?, rates(|is_bbr| !is_bbr)?);
    let fair = (bbr + rest) / (bbrs + others);
    (fair > 0.0).then(|| bbr / bbrs / fair)
}

/// A figure over seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// Mean over the runs.
    pub mean: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// One value for each run, in the order of the seeds.
    pub values: Vec<f64>,
}

impl Sample {
    /// The sample of these values; none if there are no values.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn new(values: Vec<f64>) -> Option<Sample> {
        let (first, n) = (*values.first()?, values.len() as f64);
        Some(Sample {
            mean: values.iter().sum::<f64>() / n,
            min: values.iter().copied().fold(first, f64::min),
            max: values.iter().copied().fold(first, f64::max),
            values,
        })
    }

    /// How much of the difference to the mean of `ours` chance can explain: half of the 95 % confidence
    /// interval of the difference (Welch's t). One run has no spread, so the other side's is used; zero if
    /// both sides have one run.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn chance(&self, ours: &Sample) -> f64 {
        // t s sqrt(1 + 1/n), where the half width of the mean's own interval is t s / sqrt(n).
        let alone = |sample: &Sample| {
            let half = Estimate::of(&sample.values).map_or(0.0, |estimate| estimate.half);
            half * (sample.values.len() as f64 + 1.0).sqrt()
        };
        match (self.values.len(), ours.values.len()) {
            (1, _) => alone(ours),
            (_, 1) => alone(self),
            _ => {
                let [low, high] = welch(&self.values, &ours.values);
                (high - low) / 2.0
            }
        }
    }
}

/// The verdict on a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The difference is at most the bar.
    Within,
    /// It is larger, but the spread of the runs can explain what is beyond the bar.
    Undecided,
    /// It is larger than the bar and chance, or we have no figure where the kernel has one.
    Outside,
    /// No verdict: the figure has no bar, or the bar does not apply here.
    Aside,
}

/// One figure, the kernel's and ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The direction.
    pub way: Direction,
    /// What is compared.
    pub figure: Figure,
    /// The kernel's.
    pub kernel: Sample,
    /// Ours; none if a run of ours has no such figure.
    pub ours: Option<Sample>,
    /// Our mean minus the kernel's.
    pub difference: Option<f64>,
    /// The largest difference that is within the bar. None if there is no bar, and for a share, whose bar is
    /// a bound.
    pub bar: Option<f64>,
    /// How much of the difference chance can explain: see [`Sample::chance`].
    pub chance: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// A remark on the verdict.
    pub note: Option<String>,
}

impl Comparison {
    /// The difference divided by the bar.
    #[must_use]
    pub fn part_of_bar(&self) -> Option<f64> {
        match (self.difference, self.bar) {
            (Some(difference), Some(bar)) if bar > 0.0 => Some(difference.abs() / bar),
            _ => None,
        }
    }
}

/// Compares every figure that the kernel has in this case.
#[must_use]
pub fn compare(case: &Case, kernel: &[&Outcome], ours: &[Outcome]) -> Vec<Comparison> {
    let mut comparisons = Vec::new();
    for way in Direction::BOTH {
        for figure in Figure::ALL.into_iter().filter(|figure| figure.is_telling(case, way)) {
            let kernel = Sample::new(kernel.iter().filter_map(|outcome| figure.of(outcome, way)).collect());
            let Some(kernel) = kernel else { continue };
            let ours: Option<Vec<f64>> = ours.iter().map(|outcome| figure.of(outcome, way)).collect();
            comparisons.push(judge(way, figure, kernel, ours.and_then(Sample::new)));
        }
    }
    comparisons.retain(|comparison| !is_nothing(comparison));
    comparisons
}

/// If neither side marks, that is no agreement on marks.
fn is_nothing(comparison: &Comparison) -> bool {
    let is_zero = |sample: &Sample| sample.max == 0.0;
    comparison.figure == Figure::Marks
        && is_zero(&comparison.kernel)
        && comparison.ours.as_ref().is_some_and(is_zero)
}

fn judge(way: Direction, figure: Figure, kernel: Sample, ours: Option<Sample>) -> Comparison {
    let bar = bar(figure, &kernel);
    let has_bar = bar.is_some() || figure == Figure::BbrShare;
    let (verdict, note) = match ours.as_ref().filter(|ours| ours.mean.is_finite()) {
        _ if !has_bar => (Verdict::Aside, None),
        None => (Verdict::Outside, Some("ours has no such figure".to_owned())),
        Some(ours) => match (figure, bar) {
            (Figure::Drops | Figure::Marks, _) if kernel.mean <= 1.0 => judge_handful(ours),
            (_, Some(bar)) => (judge_means(&kernel, ours, bar), None),
            (_, None) => judge_sides(&kernel, ours),
        },
    };
    let difference = ours.as_ref().map(|ours| ours.mean - kernel.mean);
    let chance = ours.as_ref().filter(|_| bar.is_some()).map(|ours| kernel.chance(ours));
    Comparison { way, figure, kernel, ours, difference, bar, chance, verdict, note }
}

/// The largest difference that is within the bar.
fn bar(figure: Figure, kernel: &Sample) -> Option<f64> {
    let part = |part: f64| kernel.mean.abs() * part;
    Some(match figure {
        Figure::Utilisation | Figure::Goodput => part(0.03),
        Figure::Median => part(0.15).max(1.0),
        Figure::P95 => part(0.25).max(2.0),
        Figure::Drops | Figure::Marks => part(0.35),
        Figure::Jain => 0.1,
        _ => return None,
    })
}

fn judge_means(kernel: &Sample, ours: &Sample, bar: f64) -> Verdict {
    let difference = (ours.mean - kernel.mean).abs();
    if difference <= bar {
        Verdict::Within
    } else if difference - kernel.chance(ours) <= bar {
        Verdict::Undecided
    } else {
        Verdict::Outside
    }
}

/// For a kernel that counted no drop or mark, or one. A share of that is no useful bar (35 % of one packet).
/// So ours is outside only from [`HANDFUL`] on; below that the figure gets no verdict.
fn judge_handful(ours: &Sample) -> (Verdict, Option<String>) {
    let note = Some("the kernel has none or one".to_owned());
    (if ours.mean >= HANDFUL { Verdict::Outside } else { Verdict::Aside }, note)
}

/// Shares: on which side of fair. If the runs of either side are on both, a difference is undecided.
fn judge_sides(kernel: &Sample, ours: &Sample) -> (Verdict, Option<String>) {
    if (kernel.mean > 1.0) == (ours.mean > 1.0) && ours.mean != 1.0 {
        return (Verdict::Within, None);
    }
    for (sample, whose) in [(kernel, "the kernel's"), (ours, "our")] {
        if sample.min <= 1.0 && sample.max >= 1.0 {
            return (Verdict::Undecided, Some(format!("{whose} runs are on both sides of fair")));
        }
    }
    (Verdict::Outside, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values.to_vec()).expect("values")
    }

    fn verdict(figure: Figure, kernel: &[f64], ours: &[f64]) -> Verdict {
        judge(Direction::Up, figure, sample(kernel), Sample::new(ours.to_vec())).verdict
    }

    #[test]
    fn each_bar_ends_where_it_says() {
        use Verdict::{Outside, Within};
        for (figure, kernel, in_reach, beyond) in [
            (Figure::Utilisation, 1.0, 0.971, 0.969),
            (Figure::Goodput, 100.0, 102.9, 103.1),
            // 15 % of 4 ms are 0.6 ms, so the bar is 1 ms. 15 % of 20 ms are 3 ms.
            (Figure::Median, 4.0, 4.99, 5.01),
            (Figure::Median, 20.0, 17.01, 16.99),
            // 25 % of 4 ms are 1 ms, so the bar is 2 ms. 25 % of 20 ms are 5 ms.
            (Figure::P95, 4.0, 2.01, 1.99),
            (Figure::P95, 20.0, 24.99, 25.01),
            (Figure::Drops, 100.0, 134.9, 135.1),
            (Figure::Marks, 100.0, 65.1, 64.9),
            (Figure::Jain, 0.8, 0.899, 0.901),
            (Figure::BbrShare, 1.4, 1.01, 0.99),
            (Figure::BbrShare, 0.3, 0.99, 1.01),
        ] {
            assert_eq!(verdict(figure, &[kernel], &[in_reach]), Within, "{figure:?} {in_reach}");
            assert_eq!(verdict(figure, &[kernel], &[beyond]), Outside, "{figure:?} {beyond}");
        }
    }

    #[test]
    fn means_are_compared_not_runs() {
        // Mean 100, bar 3: single runs are outside, but their mean of 102 is not.
        assert_eq!(verdict(Figure::Goodput, &[99.0, 101.0], &[96.0, 108.0]), Verdict::Within);
    }

    #[test]
    fn chance_is_welchs_interval() {
        // Variances 64 and 4 of three runs each: the mean of the first has 64/3, of the second 4/3; together
        // 68/3. Degrees of freedom: (68/3)^2 / ((64/3)^2/2 + (4/3)^2/2) = 2.25, so t is that of 2: 4.303.
        let chance = sample(&[92.0, 100.0, 108.0]).chance(&sample(&[98.0, 100.0, 102.0]));
        assert!((chance - 4.303 * (68.0_f64 / 3.0).sqrt()).abs() < 0.01, "{chance}");
    }

    #[test]
    fn our_spread_stands_in_for_that_of_a_single_run() {
        // Variance 4 of a run of the kernel and 4/3 of our mean, two degrees of freedom.
        let ours = sample(&[98.0, 100.0, 102.0]);
        let chance = sample(&[90.0]).chance(&ours);
        assert!((chance - 4.303 * (16.0_f64 / 3.0).sqrt()).abs() < 0.01, "{chance}");
        assert_eq!(sample(&[90.0]).chance(&sample(&[100.0])), 0.0);
        assert_eq!(sample(&[5.0, 5.0]).chance(&sample(&[9.0, 9.0])), 0.0);
    }

    #[test]
    fn a_difference_beyond_the_bar_is_undecided_if_chance_explains_the_rest() {
        // Mean 100, bar 15, chance 4.303 sqrt(100/3) = 24.8.
        let kernel = [90.0, 100.0, 110.0];
        assert_eq!(verdict(Figure::Median, &kernel, &[139.0]), Verdict::Undecided);
        assert_eq!(verdict(Figure::Median, &kernel, &[139.0, 139.0]), Verdict::Undecided);
        assert_eq!(verdict(Figure::Median, &kernel, &[141.0, 141.0]), Verdict::Outside);
        // Runs that agree leave nothing to chance.
        assert_eq!(verdict(Figure::Median, &[100.0, 100.0], &[116.0, 116.0]), Verdict::Outside);
    }

    #[test]
    fn counts_of_none_and_one_are_judged_only_if_ours_is_five_or_more() {
        for kernel in [0.0, 1.0] {
            assert_eq!(verdict(Figure::Drops, &[kernel], &[4.0]), Verdict::Aside);
            assert_eq!(verdict(Figure::Drops, &[kernel], &[5.0]), Verdict::Outside);
        }
        assert_eq!(verdict(Figure::Drops, &[2.0], &[3.0]), Verdict::Outside);
    }

    #[test]
    fn shares_on_both_sides_of_fair_are_undecided() {
        assert_eq!(verdict(Figure::BbrShare, &[0.9, 1.2], &[3.0]), Verdict::Within);
        assert_eq!(verdict(Figure::BbrShare, &[0.9, 1.2], &[0.5]), Verdict::Undecided);
        assert_eq!(verdict(Figure::BbrShare, &[1.3], &[0.8, 1.1]), Verdict::Undecided);
        assert_eq!(verdict(Figure::BbrShare, &[1.3], &[0.8, 0.9]), Verdict::Outside);
    }

    #[test]
    fn a_missing_figure_and_nan_are_outside() {
        assert_eq!(verdict(Figure::Median, &[3.0], &[]), Verdict::Outside);
        assert_eq!(verdict(Figure::Median, &[3.0], &[f64::NAN]), Verdict::Outside);
        assert_eq!(verdict(Figure::P99, &[3.0], &[]), Verdict::Aside);
    }
}

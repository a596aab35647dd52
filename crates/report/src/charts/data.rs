//! Series prepared for drawing: binned in time, as quantiles, as shares. Floating point begins here.

use crate::baseline::baseline;
use crate::record::{FlowSeries, ProbeSeries, QueueSeries, Record, Run};
use crate::stats::{Span, known, percentile, permille};
use crate::summary::{distances_differ, loaded_span, steps};

/// Most bins along the time axis.
const BINS_MAX: i128 = 360;
/// Most points of a distribution.
pub(crate) const QUANTILES: u32 = 500;

/// Which delay of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delay {
    RoundTrip,
    Up,
    Down,
}

impl Delay {
    pub(crate) const ALL: [Self; 3] = [Self::RoundTrip, Self::Up, Self::Down];

    pub(crate) fn column(self) -> fn(&ProbeSeries) -> &Vec<i64> {
        match self {
            Self::RoundTrip => |p| &p.rtt_ns,
            Self::Up => |p| &p.up_ns,
            Self::Down => |p| &p.down_ns,
        }
    }

    /// For file names and selectors.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::RoundTrip => "round-trip",
            Self::Up => "one-way-up",
            Self::Down => "one-way-down",
        }
    }

    /// For buttons and rows.
    pub(crate) fn short(self) -> &'static str {
        match self {
            Self::RoundTrip => "round trip",
            Self::Up => "one-way up",
            Self::Down => "one-way down",
        }
    }

    /// For titles.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::RoundTrip => "round-trip time",
            Self::Up => "one-way delay up",
            Self::Down => "one-way delay down",
        }
    }
}

/// Whether delays are shown as rises over each probe's own idle median. They are if the probes go to hosts at
/// different distances and have such a median.
pub(crate) fn shows_rise(record: &Record) -> bool {
    let mut probes = record.runs.iter().flat_map(|run| run.probes.iter().map(move |probe| (run, probe)));
    distances_differ(record) && probes.any(|(run, p)| baseline(run, p, &p.rtt_ns).is_some())
}

/// Time of sending and delay of all answers of a run; with `rise`, as rises over the probe's own idle median,
/// without probes that have none.
fn answers(run: &Run, delay: Delay, rise: bool) -> impl Iterator<Item = (i64, i64)> {
    let column = delay.column();
    run.probes.iter().flat_map(move |p| {
        let base = if rise { baseline(run, p, column(p)) } else { Some(0) };
        let all = p.sent_ns.iter().zip(column(p)).filter(|&(_, &v)| known(v));
        base.into_iter().flat_map(move |b| all.clone().map(move |(&t, &v)| (t, v.saturating_sub(b))))
    })
}

/// Equal bins of time that all queues share, in ns from the start of the load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bins {
    pub(crate) from: i64,
    pub(crate) width: i64,
    pub(crate) count: usize,
}

impl Bins {
    /// Bins over all measurements from the idle part to shortly after the load, each at least `finest` ns
    /// wide.
    pub(crate) fn of(record: &Record, finest: u64) -> Self {
        const SLACK: i128 = 2_000_000_000;
        let idle = i128::from(record.test.idle_ns);
        let load = i128::from(record.test.load_ns);
        let (mut low, mut high) = (0_i128, 0_i128);
        for run in &record.runs {
            for column in times(run) {
                for &t in column {
                    low = low.min(i128::from(t));
                    high = high.max(i128::from(t));
                }
            }
        }
        let low = low.max(-idle - SLACK).clamp(-i128::from(i64::MAX) / 4, 0);
        let high = high.min(load + SLACK).max(load).clamp(1, i128::from(i64::MAX) / 4);
        let mut width = 1_000_000_i128;
        let finest = i128::from(finest);
        while (high - low) / width >= BINS_MAX || width < finest {
            width = match width.to_string().as_bytes().first() {
                Some(b'2') => width / 2 * 5,
                _ => width * 2,
            };
        }
        let from = low.div_euclid(width) * width;
        let count = usize::try_from((high - from).div_euclid(width)).unwrap_or(0) + 1;
        let narrow = |v: i128| i64::try_from(v).unwrap_or(0);
        Self { from: narrow(from), width: narrow(width).max(1), count: count.min(1000) }
    }

    pub(crate) fn index(&self, t: i64) -> Option<usize> {
        let i = (i128::from(t) - i128::from(self.from)).div_euclid(i128::from(self.width));
        usize::try_from(i).ok().filter(|&i| i < self.count)
    }

    /// The middle of a bin in seconds.
    pub(crate) fn middle_s(&self, i: usize) -> f64 {
        (self.from as f64 + (i as f64 + 0.5) * self.width as f64) / 1e9
    }

    /// Start and end in seconds.
    pub(crate) fn domain_s(&self) -> (f64, f64) {
        (self.from as f64 / 1e9, (self.from as f64 + self.count as f64 * self.width as f64) / 1e9)
    }
}

fn times(run: &Run) -> impl Iterator<Item = &Vec<i64>> {
    let flows = run.flows.iter().map(|f| &f.t_ns);
    let probes = run.probes.iter().map(|p| &p.sent_ns);
    flows.chain(probes).chain([&run.up.t_ns, &run.down.t_ns])
}

/// The longest usual time between two samples of a queue, ns: its mean over a series.
pub(crate) fn queue_interval(record: &Record) -> u64 {
    let mean = |t: &[i64]| -> Option<u64> {
        let span = Span { from: *t.first()?, to: *t.last()? };
        Some(span.length() / (t.len() as u64 - 1).max(1))
    };
    let all = record.runs.iter().flat_map(|r| [&r.up.t_ns, &r.down.t_ns]);
    all.filter_map(|t| mean(t)).max().unwrap_or(0).min(10_000_000_000)
}

/// The samples of one bin, in display units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) p5: f64,
    pub(crate) p50: f64,
    pub(crate) p95: f64,
    pub(crate) max: f64,
}

pub(super) fn spread(mut values: Vec<i64>, unit: f64) -> Option<Spread> {
    values.sort_unstable();
    let at = |p| percentile(&values, p).map(|v| v as f64 / unit);
    Some(Spread { p5: at(5)?, p50: at(50)?, p95: at(95)?, max: at(100)? })
}

/// Delays (or rises) of all probes of a run by time of sending, in ms.
pub(crate) fn delays_over_time(run: &Run, delay: Delay, rise: bool, bins: &Bins) -> Vec<Option<Spread>> {
    let mut all = vec![Vec::new(); bins.count];
    for (t, v) in answers(run, delay, rise) {
        if let Some(i) = bins.index(t) {
            all[i].push(v);
        }
    }
    all.into_iter().map(|v| spread(v, 1e6)).collect()
}

/// Backlog by time, in kB (1000 bytes).
pub(crate) fn backlog_over_time(queue: &QueueSeries, bins: &Bins) -> Vec<Option<Spread>> {
    let mut all = vec![Vec::new(); bins.count];
    for (&t, &v) in queue.t_ns.iter().zip(&queue.backlog_bytes) {
        if let Some(i) = bins.index(t) {
            all[i].push(i64::try_from(v).unwrap_or(i64::MAX));
        }
    }
    all.into_iter().map(|v| spread(v, 1e3)).collect()
}

/// One flow's goodput over time, in Mbit/s; a bin that is less than half covered is a gap. Steps that end
/// after `stop` are left out: they hold only data that was still in the queue.
pub(crate) fn goodput_over_time(
    record: &Record,
    flow: &FlowSeries,
    stop: i64,
    bins: &Bins,
) -> Vec<Option<f64>> {
    let mut all = vec![(0.0_f64, 0.0_f64); bins.count];
    for (step, bytes) in steps(record, flow).filter(|(step, _)| step.to <= stop) {
        let length = step.length() as f64;
        if length <= 0.0 {
            continue;
        }
        let first = bins.index(step.from.max(bins.from)).unwrap_or(bins.count);
        let last = bins.index(step.to).unwrap_or(bins.count.saturating_sub(1));
        for (i, slot) in all.iter_mut().enumerate().take(last + 1).skip(first) {
            let from = bins.from + i as i64 * bins.width;
            let part = step.overlap(Span { from, to: from + bins.width }).length() as f64;
            slot.0 += bytes as f64 * part / length;
            slot.1 += part;
        }
    }
    let half = bins.width as f64 / 2.0;
    all.into_iter().map(|(bytes, ns)| (ns >= half).then(|| bytes * 8000.0 / ns)).collect()
}

/// Delays (or rises) of all probes under load (ramp excluded), ascending, in ns.
pub(crate) fn loaded_delays(record: &Record, run: &Run, delay: Delay, rise: bool) -> Vec<i64> {
    let span = loaded_span(record, run);
    let mut values: Vec<i64> =
        answers(run, delay, rise).filter(|&(sent, _)| span.contains(sent)).map(|(_, v)| v).collect();
    values.sort_unstable();
    values
}

/// Exact quantiles of ascending delays: (delay in ms, share of samples at or below in percent), at most
/// [`QUANTILES`] of them.
pub(crate) fn distribution(sorted: &[i64]) -> Vec<(f64, f64)> {
    let n = sorted.len();
    if n <= QUANTILES as usize {
        return sorted
            .iter()
            .enumerate()
            .map(|(i, &v)| (v as f64 / 1e6, (i + 1) as f64 * 100.0 / n as f64))
            .collect();
    }
    (1..=QUANTILES)
        .filter_map(|k| {
            let p = k * 1000 / QUANTILES;
            permille(sorted, p).map(|v| (v as f64 / 1e6, f64::from(p) / 10.0))
        })
        .collect()
}

/// Share of samples (percent) at or below `ms`.
pub(crate) fn share_below(sorted: &[i64], ms: f64) -> Option<f64> {
    let n = sorted.len();
    (n > 0).then(|| sorted.partition_point(|&v| v as f64 / 1e6 <= ms) as f64 * 100.0 / n as f64)
}

/// Stretches of values without a gap, as (index, value).
pub(crate) fn unbroken<T: Copy>(values: &[Option<T>]) -> Vec<Vec<(usize, T)>> {
    let mut out: Vec<Vec<(usize, T)>> = Vec::new();
    let mut open = false;
    for (i, value) in values.iter().enumerate() {
        match value {
            Some(v) if open => out.last_mut().into_iter().for_each(|part| part.push((i, *v))),
            Some(v) => out.push(vec![(i, *v)]),
            None => {}
        }
        open = value.is_some();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_stay_gaps() {
        let parts = unbroken(&[Some(1), Some(2), None, Some(3)]);
        assert_eq!(parts, vec![vec![(0, 1), (1, 2)], vec![(3, 3)]]);
    }

    #[test]
    fn bins_are_round_and_few() {
        let mut r = Record::default();
        r.test.load_ns = 60_000_000_000;
        let b = Bins::of(&r, 20_000_000);
        assert_eq!((b.from, b.width, b.count), (0, 200_000_000, 301));
        assert_eq!(b.index(-1), None);
        assert_eq!(b.index(399_999_999), Some(1));
        assert_eq!(Bins::of(&Record::default(), 0).count, 1);
    }

    #[test]
    fn goodput_of_bins_by_hand() {
        let mut r = Record::default();
        r.test.load_ns = 2_000_000_000;
        r.test.step_ns = 500_000_000;
        let flow = FlowSeries {
            t_ns: vec![500_000_000, 1_000_000_000],
            rx_bytes: vec![62_500, 125_000],
            ..Default::default()
        };
        let bins = Bins { from: 0, width: 1_000_000_000, count: 2 };
        assert_eq!(goodput_over_time(&r, &flow, 2_000_000_000, &bins), vec![Some(1.5), None]);
    }

    #[test]
    fn what_a_queue_releases_after_the_stop_is_not_drawn() {
        let mut r = Record::default();
        r.test.load_ns = 4_000_000_000;
        r.test.step_ns = 1_000_000_000;
        let flow = FlowSeries {
            t_ns: vec![1_000_000_000, 2_000_000_000, 3_000_000_000],
            rx_bytes: vec![125_000, 125_000, 1000],
            ..Default::default()
        };
        let bins = Bins { from: 0, width: 1_000_000_000, count: 4 };
        let drawn = goodput_over_time(&r, &flow, 2_000_000_000, &bins);
        assert_eq!(drawn, vec![Some(1.0), Some(1.0), None, None]);
    }

    #[test]
    fn rises_are_over_the_own_idle_median() {
        let probe = |base: i64| ProbeSeries {
            sent_ns: vec![-5_000_000_000, -4_000_000_000, -3_000_000_000, -2_000_000_000, -1_000_000_000, 0],
            rtt_ns: vec![base, base, base, base, base, base + 7_000_000],
            ..ProbeSeries::default()
        };
        let mut r = Record::default();
        r.test.load_ns = 1_000_000_000;
        r.runs.push(Run {
            complete: true,
            probes: vec![probe(10_000_000), probe(80_000_000)],
            ..Run::default()
        });
        r.test.probes = (0..2).map(|host| crate::ProbePlan { host, ..Default::default() }).collect();
        r.link.rtt_ns = vec![10_000_000, 10_000_000];
        assert!(!shows_rise(&r));
        r.link.rtt_ns = vec![10_000_000, 80_000_000];
        assert!(shows_rise(&r));
        let rises: Vec<i64> =
            answers(&r.runs[0], Delay::RoundTrip, true).filter(|a| a.0 == 0).map(|a| a.1).collect();
        assert_eq!(rises, [7_000_000, 7_000_000]);
        // Without an idle part there is no baseline for a rise.
        for p in &mut r.runs[0].probes {
            p.sent_ns.drain(..5);
            p.rtt_ns.drain(..5);
        }
        assert!(!shows_rise(&r));
    }

    #[test]
    fn distribution_ends_at_all() {
        let values: Vec<i64> = (1..=2000).map(|i| i * 1_000_000).collect();
        let d = distribution(&values);
        assert_eq!(d.len(), 500);
        assert_eq!(d.first(), Some(&(4.0, 0.2)));
        assert_eq!(d.last(), Some(&(2000.0, 100.0)));
        assert_eq!(share_below(&values, 500.0), Some(25.0));
        assert_eq!(share_below(&[], 1.0), None);
    }
}

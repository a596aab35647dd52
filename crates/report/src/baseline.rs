//! The idle baseline: delays before the load.

use crate::record::{ProbeSeries, Run};
use crate::stats::{Span, known, percentile};

/// Answers that an idle baseline needs.
const BASELINE_MIN: usize = 5;

/// Whether `from` to `to` overlaps a page load of the idle part: a line that carries a page is not idle.
fn disturbed(run: &Run, from: i64, to: i64) -> bool {
    let loads = run.web.iter().flat_map(|page| page.start_ns.iter().zip(&page.took_ns));
    loads.filter(|&(&start, _)| start < 0).any(|(&start, &took)| {
        let load = Span { from: start, to: start.saturating_add(took) };
        from < load.to && load.from <= to
    })
}

/// The answers of a probe that arrived before the load began, in the order of sending, without probes in
/// flight while a page was loading.
pub(crate) fn idle_samples(run: &Run, probe: &ProbeSeries, column: &[i64]) -> Vec<i64> {
    let rtt = |i: usize| probe.rtt_ns.get(i).copied().filter(|&r| known(r)).unwrap_or(0);
    let back = |i: usize, sent: i64| sent.saturating_add(rtt(i));
    probe
        .sent_ns
        .iter()
        .zip(column)
        .enumerate()
        .filter(|&(i, (&sent, &v))| {
            sent < 0 && known(v) && back(i, sent) <= 0 && !disturbed(run, sent, back(i, sent))
        })
        .map(|(_, (_, &v))| v)
        .collect()
}

/// The idle median of one probe; `None` below five answers or if half of the probes are missing.
pub(crate) fn baseline(run: &Run, probe: &ProbeSeries, column: &[i64]) -> Option<i64> {
    let mut idle = idle_samples(run, probe, column);
    let at = |i: usize| probe.rtt_ns.get(i).copied().filter(|&r| known(r)).unwrap_or(0);
    let alone = |&(i, &t): &(usize, &i64)| t < 0 && !disturbed(run, t, t.saturating_add(at(i)));
    let sent = probe.sent_ns.iter().enumerate().filter(alone).count();
    if idle.len() < BASELINE_MIN || idle.len() * 2 < sent {
        return None;
    }
    idle.sort_unstable();
    percentile(&idle, 50)
}

/// Smallest and largest idle baseline of a run's probes.
pub(crate) fn idle_range(run: &Run, column: fn(&ProbeSeries) -> &Vec<i64>) -> Option<(i64, i64)> {
    let bases = || run.probes.iter().filter_map(|p| baseline(run, p, column(p)));
    Some((bases().min()?, bases().max()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::PageSeries;

    const MS: i64 = 1_000_000;

    /// Twenty answers of 10 ms every 100 ms before the load; a page from -1.5 s to -0.5 s makes them 90 ms.
    #[test]
    fn a_line_that_carries_a_page_is_not_idle() {
        let mut probe = ProbeSeries::default();
        for i in -20..0_i64 {
            probe.sent_ns.push(i * 100 * MS);
            probe.rtt_ns.push(if (-15..=-5).contains(&i) { 90 * MS } else { 10 * MS });
        }
        let mut run = Run::default();
        let of = |run: &Run| {
            (baseline(run, &probe, &probe.rtt_ns), idle_samples(run, &probe, &probe.rtt_ns).len())
        };
        assert_eq!(of(&run), (Some(90 * MS), 20));
        let page = |start: i64, took: i64| PageSeries {
            start_ns: vec![start * MS, 0],
            took_ns: vec![took * MS, 5_000 * MS],
            ..PageSeries::default()
        };
        run.web = vec![page(-1_500, 1_001)];
        assert_eq!(of(&run), (Some(10 * MS), 9));
        // A probe that was in flight when the page began does not count either.
        run.web = vec![page(-1_592, 1_093)];
        assert_eq!(of(&run), (Some(10 * MS), 8));
        run.web = vec![page(-2_000, 2_000)];
        assert_eq!(of(&run), (None, 0));
    }
}

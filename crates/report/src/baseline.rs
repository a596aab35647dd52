//! What is normal: delays before the load.

use crate::record::{ProbeSeries, Run};
use crate::stats::{Span, known, percentile};

/// Answers that an idle baseline needs.
const BASELINE_MIN: usize = 5;

/// Whether `from` to `to` touches a page load of the idle part: a line that carries a page is not idle.
fn disturbed(run: &Run, from: i64, to: i64) -> bool {
    let loads = run.web.iter().flat_map(|page| page.start_ns.iter().zip(&page.took_ns));
    loads.filter(|&(&start, _)| start < 0).any(|(&start, &took)| {
        let load = Span { from: start, to: start.saturating_add(took) };
        from < load.to && load.from <= to
    })
}

/// The answers of a probe that were back before the load began, in the order of sending, without those that
/// were under way while a page was loading.
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

/// The idle median of one probe; `None` below five answers or where half of the probes went missing.
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

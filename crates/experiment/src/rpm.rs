//! Responsiveness in the form of the record.

use goodqueue_probe::rpm::{Answer, Category, Outcome, Parts, Rank, Sample, Settings};
use goodqueue_report::{Responsiveness, RpmInterval, RpmPart, RpmPercentile};

/// Percentiles in addition to the trimmed mean.
const PERCENTILES: [u32; 4] = [50, 90, 95, 99];

/// Why an outcome is not credible. A stopped run may not have had the time to send probes of both kinds.
pub(crate) fn faults(outcome: &Outcome, is_complete: bool) -> Vec<String> {
    let mut faults = Vec::new();
    let all = outcome.failed + outcome.samples.len() as u64;
    if outcome.failed * 2 > all {
        faults.push(format!("{} of {all} probes brought no answer", outcome.failed));
    }
    if outcome.parts.is_none() && is_complete {
        faults.push("no probe of one of the two kinds was answered".into());
    }
    faults
}

/// The responsiveness of an outcome. `tls`: the version, if it is known.
pub(crate) fn responsiveness(outcome: &Outcome, settings: &Settings, tls: Option<&str>) -> Responsiveness {
    let parts = outcome.parts;
    let idle = Parts::of(&outcome.idle, Rank::Percentile(50));
    let percentile = |percentile| {
        let parts = Parts::of(&outcome.samples, Rank::Percentile(percentile))?;
        Some(RpmPercentile { percentile, rpm: parts.rpm() })
    };
    let interval = |(number, one): (usize, &goodqueue_probe::rpm::Interval)| RpmInterval {
        t_ns: i64::try_from(settings.interval.0.saturating_mul(number as u64 + 1)).unwrap_or(i64::MAX),
        goodput_bps: bits(one.goodput),
        connections: one.connections,
        rpm: one.parts.map(|parts| parts.rpm()),
    };
    Responsiveness {
        rpm: parts.map(|parts| parts.rpm()),
        foreign_rpm: parts.map(|parts| parts.foreign()),
        loaded_rpm: parts.map(|parts| parts.loaded()),
        idle_rpm: idle.map(|parts| parts.rpm()),
        category: parts.map_or("", |parts| Category::of(parts.rpm()).name()).into(),
        confidence: outcome.confidence.name().into(),
        goodput_confidence: outcome.goodput_confidence.name().into(),
        goodput_bps: bits(outcome.goodput),
        parts: PARTS.iter().filter_map(|part| self::part(part, outcome, settings)).collect(),
        percentiles: PERCENTILES.into_iter().filter_map(percentile).collect(),
        intervals: outcome.intervals.iter().enumerate().map(interval).collect(),
        tls: tls.map(ToOwned::to_owned),
        failed: outcome.failed,
        withheld: outcome.withheld,
    }
}

/// A part's name, and its time in an answer.
type Part = (&'static str, fn(&Answer) -> Option<u64>);

const PARTS: [Part; 4] = [
    ("tcp_f", |answer| match answer {
        Answer::Foreign { tcp, .. } => Some(tcp.0),
        Answer::Own { .. } => None,
    }),
    ("tls_f", |answer| match answer {
        Answer::Foreign { tls, .. } => tls.map(|tls| tls.0),
        Answer::Own { .. } => None,
    }),
    ("http_f", |answer| match answer {
        Answer::Foreign { http, .. } => Some(http.0),
        Answer::Own { .. } => None,
    }),
    ("http_l", |answer| match answer {
        Answer::Own { http } => Some(http.0),
        Answer::Foreign { .. } => None,
    }),
];

/// `None` for a part that no probe has.
fn part((name, of): &Part, outcome: &Outcome, settings: &Settings) -> Option<RpmPart> {
    let values =
        |samples: &[Sample]| -> Vec<u64> { samples.iter().filter_map(|one| of(&one.answer)).collect() };
    let (loaded, idle) = (values(&outcome.samples), values(&outcome.idle));
    let at = |percentile| Rank::Percentile(percentile).of(&loaded);
    (!loaded.is_empty() || !idle.is_empty()).then(|| RpmPart {
        name: (*name).into(),
        n: loaded.len() as u64,
        idle_ns: Rank::Percentile(50).of(&idle),
        trimmed_mean_ns: Rank::TrimmedMean(settings.trimmed_mean).of(&loaded),
        p50_ns: at(50),
        p90_ns: at(90),
        p95_ns: at(95),
        p99_ns: at(99),
    })
}

/// Bits per second from bytes per second.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn bits(bytes: f64) -> u64 {
    (bytes * 8.0).round() as u64
}

//! Tables of responsiveness.

use super::{Column, Group};
use crate::record::{RpmPart, Run};
use crate::{Record, Summary};

/// One for the figures of each load, one for their parts.
pub(super) fn blocks(record: &Record, all: &[Summary]) -> Vec<Vec<Group>> {
    let runs: Vec<&Run> = record.runs.iter().filter(|run| run.rpm.is_some()).collect();
    if runs.is_empty() || all.is_empty() {
        return Vec::new();
    }
    vec![figures(record, &runs), parts(record, &runs)]
}

fn figures(record: &Record, runs: &[&Run]) -> Vec<Group> {
    let of = |run: &&Run, value: &dyn Fn(&crate::Responsiveness) -> String| {
        run.rpm.as_ref().map_or_else(String::new, value)
    };
    let column = |head, value: &dyn Fn(&crate::Responsiveness) -> String| {
        Column::new(head, runs.iter().map(|run| of(run, value)).collect())
    };
    let at = |percentile| {
        move |one: &crate::Responsiveness| {
            rpm(one.percentiles.iter().find(|other| other.percentile == percentile).map(|other| other.rpm))
        }
    };
    let names = Column::left(record.side(), runs.iter().map(|run| run.queue.clone()).collect());
    let group = |title: &'static str, columns, spare| Group { title: title.into(), columns, spare };
    vec![
        group("", vec![names], 0),
        group(
            "RPM",
            vec![
                column("", &|one| rpm(one.rpm)),
                Column::left("", runs.iter().map(|run| of(run, &|one| one.category.clone())).collect()),
            ],
            0,
        ),
        group(
            "confidence",
            vec![
                Column::left("RPM", runs.iter().map(|run| of(run, &|one| one.confidence.clone())).collect()),
                Column::left(
                    "goodput",
                    runs.iter().map(|run| of(run, &|one| one.goodput_confidence.clone())).collect(),
                ),
            ],
            1,
        ),
        group(
            "connections",
            vec![column("new", &|one| rpm(one.foreign_rpm)), column("loaded", &|one| rpm(one.loaded_rpm))],
            0,
        ),
        group(
            "of percentiles",
            vec![
                column("p50", &at(50)),
                column("p90", &at(90)),
                column("p95", &at(95)),
                column("p99", &at(99)),
            ],
            0,
        ),
        group("idle", vec![column("", &|one| rpm(one.idle_rpm))], 0),
    ]
}

fn parts(record: &Record, runs: &[&Run]) -> Vec<Group> {
    let rows: Vec<(&str, &RpmPart)> = runs
        .iter()
        .flat_map(|run| run.rpm.iter().flat_map(|one| &one.parts).map(|part| (run.queue.as_str(), part)))
        .collect();
    let column = |head, of: &dyn Fn(&RpmPart) -> String| {
        Column::new(head, rows.iter().map(|(_, part)| of(part)).collect())
    };
    let names = Column::left(record.side(), rows.iter().map(|(name, _)| (*name).to_owned()).collect());
    let what = Column::left("round trip", rows.iter().map(|(_, part)| name(&part.name).to_owned()).collect());
    let group = |title: &'static str, columns| Group { title: title.into(), columns, spare: 0 };
    vec![
        group("", vec![names, what]),
        group("", vec![column("probes", &|part| part.n.to_string())]),
        group(
            "ms",
            vec![
                column("idle", &|part| millis(part.idle_ns)),
                column("trimmed mean", &|part| millis(part.trimmed_mean_ns)),
                column("p50", &|part| millis(part.p50_ns)),
                column("p90", &|part| millis(part.p90_ns)).spare(1),
                column("p95", &|part| millis(part.p95_ns)),
                column("p99", &|part| millis(part.p99_ns)),
            ],
        ),
    ]
}

/// What a part is, in words with the draft's name.
pub(crate) fn name(draft: &str) -> &str {
    match draft {
        "tcp_f" => "new: TCP",
        "tls_f" => "new: TLS",
        "http_f" => "new: HTTP",
        "http_l" => "loaded: HTTP",
        other => other,
    }
}

/// Round trips per minute.
pub(crate) fn rpm(rpm: Option<f64>) -> String {
    rpm.map_or_else(|| "–".into(), |rpm| format!("{rpm:.0}"))
}

/// Milliseconds of nanoseconds.
pub(crate) fn millis(ns: Option<f64>) -> String {
    ns.map_or_else(|| "–".into(), |ns| format!("{:.1}", ns / 1e6))
}

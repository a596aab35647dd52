//! The section of responsiveness.

use super::blocks::table;
use crate::charts::escape;
use crate::record::Record;
use crate::table::rpm::{millis, name, rpm};

/// What the section shows.
pub(super) const LEAD: &str = "Round trips per minute (RPM) under load, as draft-ietf-ippm-responsiveness defines \
                               them: the mean of the rate on new connections and the rate on connections that carry \
                               load. Percentiles are the same figure with that percentile of every part in place of \
                               the mean of the fastest 95 %.";

/// The figures, and their parts.
pub(super) fn tables(record: &Record) -> String {
    let (mut figures, mut parts) = (Vec::new(), Vec::new());
    for run in &record.runs {
        let Some(one) = &run.rpm else { continue };
        let at = |percentile| {
            rpm(one.percentiles.iter().find(|other| other.percentile == percentile).map(|other| other.rpm))
        };
        let cells = [rpm(one.rpm), one.category.clone(), one.confidence.clone(), rpm(one.foreign_rpm)];
        let more = [rpm(one.loaded_rpm), at(50), at(90), at(95), at(99), rpm(one.idle_rpm)];
        figures.push([run.queue.clone()].into_iter().chain(cells).chain(more).map(|c| escape(&c)).collect());
        for part in &one.parts {
            let times =
                [part.idle_ns, part.trimmed_mean_ns, part.p50_ns, part.p90_ns, part.p95_ns, part.p99_ns];
            let names = [run.queue.clone(), name(&part.name).to_owned(), part.n.to_string()];
            parts.push(names.into_iter().chain(times.map(millis)).map(|c| escape(&c)).collect());
        }
    }
    let side = record.side();
    let heads = [
        side,
        "RPM",
        "category",
        "confidence",
        "new connections",
        "loaded",
        "p50",
        "p90",
        "p95",
        "p99",
        "idle",
    ];
    let figures: Vec<Vec<String>> = figures;
    let parts: Vec<Vec<String>> = parts;
    let of_parts = [side, "round trip", "probes", "idle, ms", "trimmed mean", "p50", "p90", "p95", "p99"];
    table("Round trips per minute", &heads, 1, &figures) + &table("Parts of the figure", &of_parts, 2, &parts)
}

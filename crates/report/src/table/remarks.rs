//! The lines below the tables: what to read with the numbers, and where they are from.

use super::{QUEUE_WIDTH, WIDE, applications, cut_off, queues, short, transfers, width, wifi};
use crate::applications::page_name;
use crate::summary::{Summary, loaded_directions, shown_words};
use crate::videos::video_name;
use crate::{Record, Run, words};

/// What to read with the numbers, a line each.
pub(super) fn remarks(record: &Record, all: &[Summary]) -> Vec<String> {
    let mut out: Vec<String> = words::missing(record).into_iter().collect();
    for (run, s) in record.runs.iter().zip(all) {
        let name = &run.queue;
        if width(name) > QUEUE_WIDTH {
            out.push(format!("{}: {name}", short(name)));
        }
        for reason in &run.validity.reasons {
            out.push(format!("{}: not valid: {reason}", short(name)));
        }
        if let Some(reason) = s.no_grade.as_ref().filter(|_| run.validity.valid && record.wants_grade()) {
            out.push(format!("{}: no grade: {reason}", short(name)));
        }
        out.extend(s.findings.iter().map(|finding| format!("{}: {finding}", short(name))));
        for direction in loaded_directions(record) {
            let shown = shown_words(run, direction);
            out.extend(shown.map(|words| format!("{}: {words}", short(name))));
        }
        out.extend(cut_off(s).map(|words| format!("{}: {words}", short(name))));
        out.extend(ended_early(record, run));
        for (i, page) in run.web.iter().enumerate() {
            if let Some(error) = &page.error {
                out.push(format!("{}: {} page failed: {error}", short(name), page_name(record, i)));
            }
        }
        for (i, video) in run.dash.iter().enumerate() {
            if let Some(error) = &video.error {
                out.push(format!("{}: {} ended: {error}", short(name), video_name(record, i)));
            }
        }
    }
    if all.iter().flat_map(|s| &s.web).any(|page| page.load.incomplete > 0) {
        out.push(format!("pages: {}", applications::INCOMPLETE));
    }
    if all.iter().flat_map(|s| &s.traffic).any(|traffic| traffic.all.unfinished > 0) {
        out.push(format!("flows: {}", transfers::UNFINISHED));
    }
    let said = words::queue_kinds(record).into_iter().chain(words::located(record));
    for (sentence, lines) in said.chain(words::observed(record, all)) {
        out.push(sentence);
        out.extend(lines.into_iter().map(|line| format!("  {line}")));
    }
    out.extend(words::advice(record, all));
    out.extend(words::clocks(all));
    out.extend(queues::left_out(record));
    out.extend(wifi::remarks(record, all));
    out.extend(record.warnings.iter().map(|w| format!("warning: {w}")));
    out
}

/// Flows that ended early, grouped by cause.
fn ended_early(record: &Record, run: &Run) -> Vec<String> {
    let mut causes: Vec<(&str, &str, usize)> = Vec::new();
    for (plan, flow) in record.test.flows.iter().zip(&run.flows) {
        let Some(error) = &flow.error else { continue };
        match causes.iter_mut().find(|cause| cause.0 == error) {
            Some(cause) => cause.2 += 1,
            None => causes.push((error, &plan.name, 0)),
        }
    }
    let words = |(error, first, others): (&str, &str, usize)| {
        let others = if others > 0 { format!(" and {others} more") } else { String::new() };
        format!("{}: {first}{others} ended early: {error}", short(&run.queue))
    };
    causes.into_iter().map(words).collect()
}

/// The identity of the simulated runs: the seeds and, with `traces`, the hashes, on as few lines as possible.
pub(super) fn simulated(record: &Record, traces: bool) -> Vec<String> {
    let simulated = || record.runs.iter().filter_map(|run| Some((run, run.simulation.as_ref()?)));
    let Some((_, first)) = simulated().next() else { return Vec::new() };
    let seeds: Vec<u64> =
        record.runs.iter().flat_map(|run| run.repetitions.iter().map(|one| one.seed)).collect();
    let seeds = match (seeds.iter().min(), seeds.iter().max()) {
        (Some(least), Some(most)) if least < most => {
            format!("seeds {least} to {most}; all but the means are of seed {}", first.seed)
        }
        _ => format!("seed {}", first.seed),
    };
    if !traces {
        return vec![format!("simulated with {seeds}")];
    }
    let mut lines = vec![format!("simulated with {seeds}; trace hashes:")];
    let count = simulated().count();
    for (i, (run, simulation)) in simulated().enumerate() {
        let comma = if i + 1 < count { "," } else { "" };
        let trace = format!(" {} {}{comma}", short(&run.queue), simulation.trace_hash);
        match lines.last_mut() {
            Some(line) if width(line) + width(&trace) <= WIDE => line.push_str(&trace),
            _ => lines.push(trace),
        }
    }
    lines
}

//! The comparison as a page.

use std::fmt::Write;

use super::bars::{Comparison, Figure, Verdict};
use super::compare::{Ending, Report};
use super::table::{HEADS, columns, sections, total, value};
use goodqueue_report::Direction;

impl Report {
    /// Everything, as a page in Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        page(self)
    }
}

fn page(report: &Report) -> String {
    let mut out = format!("# The simulator against a real kernel\n\n{}.\n\n", total(&report.count()));
    out += INTRODUCTION;
    out += "\n| figure | bar |\n| --- | --- |\n";
    for figure in &Figure::ALL[..Figure::BARRED] {
        let _ = writeln!(out, "| {} | {} |", figure.name(), figure.bar_text());
    }
    let _ = writeln!(out, "\n{METHOD}");
    let _ = writeln!(out, "| case | | {} | |", HEADS.join(" | "));
    out += &format!("| --- | --- |{} --- |\n", " ---: |".repeat(HEADS.len()));
    for case in &report.cases {
        let Some(run) = case.ending.run() else { continue };
        let verdict = match case.ending {
            Ending::Outside { .. } => "**outside**",
            Ending::NeedsParity { .. } => "within with parity",
            _ => "within",
        };
        for way in Direction::BOTH {
            let columns = columns(run, way);
            if columns.iter().any(Option::is_some) {
                let cells = columns.map(|column| column.map_or_else(String::new, cell)).join(" | ");
                let _ = writeln!(out, "| {} | {} | {cells} | {verdict} |", case.name, way.name());
            }
        }
    }
    for (title, lines) in sections(report) {
        let _ = writeln!(out, "\n## {}\n\n```text", title.trim_end_matches(':'));
        for line in lines {
            let _ = writeln!(out, "{line}");
        }
        out += "```\n";
    }
    out
}

fn cell(comparison: &Comparison) -> String {
    let kernel = value(comparison.figure, Some(&comparison.kernel));
    let ours = value(comparison.figure, comparison.ours.as_ref());
    match comparison.verdict {
        Verdict::Within => format!("{kernel} / {ours}"),
        Verdict::Outside => format!("**{kernel} / {ours}**"),
        Verdict::Aside => format!("*{kernel} / {ours}*"),
    }
}

const INTRODUCTION: &str = "\
Every experiment was run with real TCP and real queue disciplines on Linux, and is run again here in the \
simulator. Each cell is Linux / ours, means over seeds; bold is outside the bar, italics are held to none. \
This page is written by `goodqueue truth DIR -o FILE.md`.
";

const METHOD: &str = "\
Delays count from the least round trip before the load, each side from its own; the simulated path has the \
kernel's, hosts and hops included. Steady is the part from 5 s after the start of the load.

Two means are compared: the kernel's over the seeds that were recorded, ours over as many and at least three. \
Seeds do not pair, since one number draws other starts on either side. Runs of ours cost little: more of them \
(`--seeds`) make our mean as steady as one likes, but never the kernel's, and no bar is widened for what is left. \
Counts of none and one are left aside unless ours is five or more; other small counts are held to the same bar as \
large ones, and where chance alone would explain a miss it is noted, and stays a miss.

A case with `fq_codel` that is outside is run once more with the stale state that Linux kept before its repair of \
March 2026 (`parity=linux-stale`). Where that brings all its figures within, those are the ones shown, and the \
case is said to need parity.
";

//! The comparison as a page.

use std::fmt::Write;

use super::bars::{Comparison, Figure, Sample, Verdict};
use super::compare::{Ending, Report};
use super::table::{HEADS, columns, sections, total, value};
use goodqueue_report::Direction;

impl Report {
    /// The whole comparison, as a page in Markdown.
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
            Ending::Undecided { .. } => "undecided",
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
    out += &shares(report);
    for (title, lines) in sections(report) {
        let _ = writeln!(out, "\n## {}\n\n```text", title.trim_end_matches(':'));
        for line in lines {
            let _ = writeln!(out, "{line}");
        }
        out += "```\n";
    }
    out
}

/// What a BBR flow gets in competition with others, run by run: a mean would hide that there are two kinds of
/// runs. Empty if no case has one.
fn shares(report: &Report) -> String {
    let mut out = String::new();
    for case in &report.cases {
        let Some(run) = case.ending.run() else { continue };
        let shares = run.comparisons.iter().filter(|comparison| comparison.figure == Figure::BbrShare);
        for share in shares {
            let ours = share.ours.as_ref().map_or_else(|| "none".to_owned(), of_runs);
            let _ = writeln!(
                out,
                "| {} | {} | {} | {ours} |",
                case.name,
                share.way.name(),
                of_runs(&share.kernel)
            );
        }
    }
    if out.is_empty() { out } else { format!("\n{SHARES}\n{out}") }
}

/// The value of each run, the smallest first.
fn of_runs(sample: &Sample) -> String {
    let mut values = sample.values.clone();
    values.sort_by(f64::total_cmp);
    values.iter().map(|value| format!("{value:.2}")).collect::<Vec<_>>().join(" ")
}

fn cell(comparison: &Comparison) -> String {
    let kernel = value(comparison.figure, Some(&comparison.kernel));
    let ours = value(comparison.figure, comparison.ours.as_ref());
    match comparison.verdict {
        Verdict::Within => format!("{kernel} / {ours}"),
        Verdict::Undecided => format!("{kernel} / {ours} (?)"),
        Verdict::Outside => format!("**{kernel} / {ours}**"),
        Verdict::Aside => format!("*{kernel} / {ours}*"),
    }
}

const INTRODUCTION: &str = "\
Every experiment ran on Linux, with its TCP and its queueing disciplines, and again in the simulator. Each \
cell has Linux's figure / ours, as means over seeds. Bold figures are outside the bar, those with (?) are \
undecided, and italic ones have no bar. `goodqueue truth DIR -o FILE.md` writes this page.
";

const METHOD: &str = "\
Each side's delays are relative to its own smallest round trip before the load. The simulated path has the \
kernel's smallest round trip, including hosts and hops. \"Steady\" is the part from 5 s after the start of \
the load.

We compare two means: the kernel's over the recorded seeds, and ours over as many seeds, but at least 24. \
Seeds cannot be paired, since the same number gives different starts on the two sides. Our runs are cheap, \
so more of them (`--seeds`) make our mean as exact as you like. They do not make the kernel's mean exact, \
and we widen no bar for that. (Until 30 November 2026 it was three seeds at least. With the TCP of that day, \
three seeds put one case outside by chance; with 24 or 100 seeds it is undecided.) A difference beyond the bar is *undecided*, not within, if the 95 % confidence \
interval of the difference of the means (Welch's t, from the runs of both sides) reaches the bar: then \
chance can explain the rest. A single run of the kernel has no spread, so we use ours. If the kernel counted \
none or one, the figure is judged only if ours is five or more. Other small counts have the same bar as \
large ones.

A case with `fq_codel` that is outside is run again with the stale state that Linux kept before its fix of \
March 2026 (`parity=linux-stale`). If all figures are then within, the page shows these, and says that the \
case needs parity.
";

const SHARES: &str = "\
## What a BBR flow gets, run by run

The table has the rate of a BBR flow divided by the fair share, for each run, in order of size. A mean would \
hide that there are two kinds of runs, in which BBR gets much or little.

| case | | Linux | ours |
| --- | --- | --- | --- |";

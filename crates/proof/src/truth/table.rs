//! The comparison as text of at most 120 columns. Each direction of a case has two lines, the kernel's above
//! ours. Every figure that is outside follows, with its bar, and then the cases that were not run.

use std::fmt::{self, Write};

use super::bars::{Comparison, Figure, Sample, Verdict};
use super::compare::{CaseReport, Count, Ending, Report, Run};
use goodqueue_report::Direction;

/// Width of the name of a case, in columns.
const NAME: usize = 32;
/// Width of a figure and the mark after it, in columns.
const CELL: usize = 9;

/// Headings of the columns; the figures are the first of [`Figure::ALL`].
pub(super) const HEADS: [&str; Figure::BARRED] =
    ["util %", "Mbit/s", "p50 ms", "p95 ms", "drops", "marks", "Jain", "BBR/fair"];

/// The lists below the table.
const LEGEND: &str = "\
util: steady. Mbit/s: goodput, whole run. p50, p95: probes' delay above the idle minimum, steady. drops: steady.
marks: whole run. BBR/fair: rate of a BBR flow over the fair share. Means over seeds; a mark follows ours:
! outside its bar   ? undecided   ~ within, by less than a quarter of the bar   * no bar holds here
Before a case: ! a figure is outside   ? undecided   P not outside with the kernel's stale CoDel state alone";

impl fmt::Display for Report {
    /// The table, the lists of cases that are outside, failed or were skipped, and the total.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&table(self))?;
        writeln!(f, "\n{LEGEND}\n")?;
        f.write_str(&brief(self))
    }
}

/// Everything but the table: the lists and the total.
pub fn brief(report: &Report) -> String {
    let mut out = String::new();
    for (title, lines) in sections(report) {
        let _ = writeln!(out, "{title}");
        for line in lines {
            let _ = writeln!(out, "  {line}");
        }
        out.push('\n');
    }
    out + &total(&report.count()) + "\n"
}

fn table(report: &Report) -> String {
    let mut out = String::new();
    let _ = write!(out, "  {:<NAME$} {:<4} {:<5}", "case", "way", "");
    for head in HEADS {
        // The mark has the last column.
        let _ = write!(out, "{head:>width$} ", width = CELL - 1);
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    for case in &report.cases {
        if let Some(run) = case.ending.run() {
            rows(&mut out, case, run);
        }
    }
    out
}

/// The lists after the table, each with title and lines; empty ones are left out.
pub(super) fn sections(report: &Report) -> Vec<(String, Vec<String>)> {
    let (mut parity, mut undecided) = (Vec::new(), Vec::new());
    let (mut outside, mut failed, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
    for case in &report.cases {
        match &case.ending {
            Ending::Within { .. } => {}
            Ending::NeedsParity { sane, .. } => parity.extend(listed(case, sane.misses())),
            Ending::Undecided { run } => undecided.extend(listed(case, run.undecided())),
            Ending::Outside { run, stale } => {
                outside.extend(listed(case, run.misses()));
                if let Some(stale) = stale {
                    let figures = stale.misses().count();
                    let figures = format!("{figures} {}", plural(figures, "figure"));
                    outside.push(format!(
                        "    {}: with the kernel's stale CoDel state {figures} outside",
                        case.name
                    ));
                }
            }
            Ending::Failed { reason } => failed.push(format!("{}: {reason}", case.name)),
            Ending::Skipped { reason } => skipped.push(format!("{}: {reason}", case.name)),
        }
    }
    let counted = |title: &str, cases: usize| format!("{title} ({cases} {}):", plural(cases, "case"));
    let count = report.count();
    [
        (counted("OUTSIDE", count.outside), outside),
        (
            counted(
                "NEEDS PARITY: not outside only with the kernel's stale CoDel state; without it outside are",
                count.needs_parity,
            ),
            parity,
        ),
        (counted("UNDECIDED: outside the bar, but chance can explain it", count.undecided), undecided),
        (counted("FAILED", count.failed), failed),
        (counted("SKIPPED, without a verdict", count.skipped), skipped),
    ]
    .into_iter()
    .filter(|(_, lines)| !lines.is_empty())
    .collect()
}

/// The last line: the number of cases that were judged, and of those that were not.
pub(super) fn total(count: &Count) -> String {
    let all = count.judged() + count.failed + count.skipped;
    let mut text = format!(
        "{} of {all} {} judged: {} within, {} with parity, {} undecided, {} outside; of {} figures {} undecided, {} \
         outside",
        count.judged(),
        plural(all, "case"),
        count.within,
        count.needs_parity,
        count.undecided,
        count.outside,
        count.figures,
        count.figures_undecided,
        count.figures_outside,
    );
    for (cases, what) in [(count.failed, "FAILED"), (count.skipped, "SKIPPED")] {
        if cases > 0 {
            let _ = write!(text, "; {cases} {what}");
        }
    }
    text
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

/// The figures of one direction, in the order of the columns.
pub(super) fn columns(run: &Run, way: Direction) -> [Option<&Comparison>; Figure::BARRED] {
    std::array::from_fn(|at| {
        let mut comparisons = run.comparisons.iter();
        comparisons.find(|comparison| comparison.way == way && comparison.figure == Figure::ALL[at])
    })
}

fn rows(out: &mut String, case: &CaseReport, run: &Run) {
    let mark = match case.ending {
        Ending::Outside { .. } => '!',
        Ending::NeedsParity { .. } => 'P',
        Ending::Undecided { .. } => '?',
        _ => ' ',
    };
    let (mut mark, mut name) = (mark, case.name.as_str());
    if name.chars().count() > NAME {
        let _ = writeln!(out, "{mark} {name}");
        (mark, name) = (' ', "");
    }
    let ways = Direction::BOTH.map(|way| (way, columns(run, way)));
    let present = ways.iter().filter(|(_, columns)| columns.iter().any(Option::is_some));
    for (at, (way, columns)) in present.enumerate() {
        let (mark, name) = if at == 0 { (mark, name) } else { (' ', "") };
        let _ = write!(out, "{mark} {name:<NAME$} {:<4} Linux", way.name());
        cells(out, columns, |figure| (value(figure.figure, Some(&figure.kernel)), ' '));
        let _ = write!(out, "  {:<NAME$} {:<4} ours ", "", "");
        cells(out, columns, |figure| (value(figure.figure, figure.ours.as_ref()), mark_of(figure)));
    }
}

fn cells(
    out: &mut String,
    columns: &[Option<&Comparison>; Figure::BARRED],
    cell: impl Fn(&Comparison) -> (String, char),
) {
    for column in columns {
        let (value, mark) = column.map_or_else(|| ("-".to_owned(), ' '), &cell);
        let _ = write!(out, "{value:>width$}{mark}", width = CELL - 1);
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
}

/// The mark after a figure of ours.
pub(super) fn mark_of(comparison: &Comparison) -> char {
    match comparison.verdict {
        Verdict::Outside => '!',
        Verdict::Undecided => '?',
        Verdict::Aside => '*',
        Verdict::Within if comparison.part_of_bar().is_some_and(|part| part > 0.75) => '~',
        Verdict::Within => ' ',
    }
}

/// A mean as the table shows it.
pub(super) fn value(figure: Figure, sample: Option<&Sample>) -> String {
    sample.map_or_else(|| "none".to_owned(), |sample| number(figure, sample.mean))
}

/// About four significant figures, in the unit of the column.
fn number(figure: Figure, value: f64) -> String {
    match figure {
        Figure::Utilisation => format!("{:.2}", value * 100.0),
        Figure::Jain | Figure::BbrShare => format!("{value:.3}"),
        Figure::Drops | Figure::Marks if value.abs() < 1000.0 => format!("{value:.1}"),
        _ if value.abs() >= 1000.0 => format!("{value:.0}"),
        _ if value.abs() >= 100.0 => format!("{value:.1}"),
        _ if value.abs() >= 10.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// Figures that are not within, in three lines each.
fn listed<'a>(
    case: &'a CaseReport,
    figures: impl Iterator<Item = &'a Comparison>,
) -> impl Iterator<Item = String> {
    figures.flat_map(|miss| {
        let what = format!("{} {}, {}", case.name, miss.way.name(), miss.figure.name());
        let ours = miss.ours.as_ref().map_or_else(|| "none".to_owned(), |ours| range(miss.figure, ours));
        [what, format!("    Linux {}, ours {ours}", range(miss.figure, &miss.kernel)), distance(miss)]
    })
}

fn range(figure: Figure, sample: &Sample) -> String {
    let runs = sample.values.len();
    let [mean, min, max] = [sample.mean, sample.min, sample.max].map(|value| number(figure, value));
    format!("{mean} ({min} to {max}, {runs} {})", plural(runs, "run"))
}

/// How far a miss is from its bar.
fn distance(miss: &Comparison) -> String {
    let mut text = "    ".to_owned();
    if let Some(difference) = miss.difference {
        let _ = write!(text, "difference {}, ", number(miss.figure, difference));
    }
    text += "bar ";
    if let Some(bar) = miss.bar {
        let _ = write!(text, "{} = ", number(miss.figure, bar));
    }
    text += miss.figure.bar_text();
    if let Some(part) = miss.part_of_bar() {
        let _ = write!(text, ": {part:.3} times the bar");
    }
    if let Some(chance) = miss.chance {
        let _ = write!(text, "; chance {}", number(miss.figure, chance));
    }
    if let Some(note) = &miss.note {
        let _ = write!(text, "; {note}");
    }
    text
}

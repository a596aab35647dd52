//! The verdicts for the terminal.

use std::fmt::Write;

use super::judge::{Outcome, Row, Verdict};
use super::totals::Totals;
use goodqueue_experiment::text::ClaimKind;

/// Headings of the columns.
const HEADS: [&str; 7] = ["claim", "", "kind", "value", "ours: median [95 %]", "class", "verdict"];

/// Greatest width of a column, in characters.
const WIDEST: usize = 46;

/// A table for each reproduction.
pub fn text(outcomes: &[Outcome]) -> String {
    outcomes.iter().map(table).collect::<Vec<_>>().join("\n")
}

fn table(outcome: &Outcome) -> String {
    let mut out = format!("{}: {}\n", outcome.name, outcome.title);
    let mut rows: Vec<[Vec<String>; 7]> = vec![HEADS.map(|head| vec![head.to_owned()])];
    for claim in &outcome.claims {
        let Row { id, what, kind, value, ours, class, .. } = claim;
        rows.push([id, what, kind.name(), value, ours, *class, &claim.words()].map(lines));
    }
    let width = |column: usize| {
        rows.iter().flat_map(|row| &row[column]).map(|line| line.chars().count()).max().unwrap_or(0)
    };
    let widths: [usize; 7] = std::array::from_fn(width);
    for row in &rows {
        for line in 0..row.iter().map(Vec::len).max().unwrap_or(0) {
            let cells = row.iter().zip(widths).map(|(cell, width)| {
                let words = cell.get(line).map_or("", String::as_str);
                format!("{words:<width$}")
            });
            let _ = writeln!(out, "  {}", cells.collect::<Vec<_>>().join("  ").trim_end());
        }
    }
    for claim in &outcome.claims {
        if let (true, Some(cause)) = (claim.verdict != Verdict::Holds, &claim.cause) {
            let _ = writeln!(out, "  {}: {cause}", claim.id);
        }
    }
    out
}

/// The lines of a cell, at most [`WIDEST`] characters each.
fn lines(words: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words.split(' ') {
        let line = lines.last_mut().map_or(0, |line| line.chars().count());
        match lines.last_mut() {
            Some(last) if line == 0 || line + 1 + word.chars().count() <= WIDEST => {
                if line > 0 {
                    last.push(' ');
                }
                last.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// `measured: 41 of 45 hold, 1 is undecided, 3 are missed; model: ...`.
pub fn total(outcomes: &[Outcome]) -> String {
    let totals = Totals::of(outcomes);
    let of = |kind: ClaimKind| {
        let [holds, undecided, missed] = totals.of_kind(kind);
        let all = holds + undecided + missed;
        (all > 0).then(|| {
            format!("{}: {holds} of {all} hold, {undecided} undecided, {missed} missed", kind.name())
        })
    };
    let mut parts: Vec<String> = ClaimKind::ALL.into_iter().filter_map(of).collect();
    let rows = outcomes.iter().flat_map(|outcome| &outcome.claims);
    let other = rows.filter(|row| !row.is_expected()).count();
    if other > 0 {
        parts.push(format!("{other} not as the scenario files state"));
    }
    parts.join("; ")
}

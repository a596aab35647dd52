//! The verdicts for the terminal.

use std::fmt::Write;

use super::judge::{Outcome, Verdict};

/// Headings of the columns.
const HEADS: [&str; 6] = ["claim", "", "published", "ours: median [95 %]", "class", "verdict"];

/// Greatest width of a column, in characters.
const WIDEST: usize = 46;

/// A table for each reproduction.
pub fn text(outcomes: &[Outcome]) -> String {
    outcomes.iter().map(table).collect::<Vec<_>>().join("\n")
}

fn table(outcome: &Outcome) -> String {
    let mut out = format!("{}: {}\n", outcome.name, outcome.title);
    let mut rows: Vec<[Vec<String>; 6]> = vec![HEADS.map(|head| vec![head.to_owned()])];
    for claim in &outcome.claims {
        let words =
            [&claim.id, &claim.what, &claim.published, &claim.ours, claim.class, claim.verdict.words()];
        rows.push(words.map(|words: &str| lines(words)));
    }
    let width = |column: usize| {
        rows.iter().flat_map(|row| &row[column]).map(|line| line.chars().count()).max().unwrap_or(0)
    };
    let widths: [usize; 6] = std::array::from_fn(width);
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
        if let Verdict::KnownMiss(cause) = &claim.verdict {
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

/// `41 of 45 claims hold; 4 missed, ...`.
pub fn total(outcomes: &[Outcome]) -> String {
    let verdicts = || outcomes.iter().flat_map(|outcome| &outcome.claims).map(|claim| &claim.verdict);
    let count = |is: fn(&Verdict) -> bool| verdicts().filter(|verdict| is(verdict)).count();
    let held = count(|verdict| matches!(verdict, Verdict::Holds | Verdict::HoldsAgainstTheFile));
    let known = count(|verdict| matches!(verdict, Verdict::KnownMiss(_)));
    let all = verdicts().count();
    let mut out = format!("{held} of {all} claims hold");
    if all > held {
        let _ = write!(
            out,
            "; {} are missed, {known} of them as the scenario files state, with the cause as far as it is known",
            all - held
        );
    }
    let against = count(|verdict| matches!(verdict, Verdict::HoldsAgainstTheFile));
    if against > 0 {
        let _ = write!(out, "; {against} hold although the files say that they are missed");
    }
    out
}

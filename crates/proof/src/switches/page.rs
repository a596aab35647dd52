//! The page.

use std::fmt::Write;

use super::switch::NO_WIFI;
use super::{Compared, Results, Switch};
use crate::reproduce::{Outcome, Row, Verdict, cell};
use goodqueue_experiment::text::ClaimKind;

/// Verdicts that change on a page and are spelled out.
const MOST: usize = 6;

const HEAD: &str = "| page | without it | with it | verdicts that change |\n| --- | --- | --- | --- |\n";

/// The page: its text with the tables. Those of switches without results are the ones of `old`.
#[must_use]
pub fn page(results: &[Results], old: &str) -> String {
    let mut out = include_str!("page.md").to_owned();
    for switch in Switch::ALL {
        let [begin, end] = marks(switch);
        let made = match results.iter().find(|results| results.switch == switch) {
            Some(results) => section(results),
            None => kept(old, switch).unwrap_or("Not run.").into(),
        };
        out = out.replace(&begin, &format!("{begin}\n{made}\n\n{end}"));
    }
    out
}

/// The comments that mark the beginning and the end of a switch's table on the page.
fn marks(switch: Switch) -> [String; 2] {
    [format!("<!-- {} -->\n", switch.name()), format!("<!-- end of {} -->\n", switch.name())]
}

/// The table of a switch on a page.
fn kept(page: &str, switch: Switch) -> Option<&str> {
    let [begin, end] = marks(switch);
    let (_, rest) = page.split_once(&begin)?;
    Some(rest.split_once(&end)?.0.trim_matches('\n')).filter(|table| !table.is_empty())
}

/// The table of a switch, and the pages that are not in it.
fn section(results: &Results) -> String {
    let mut out = String::from(HEAD);
    let (mut without, mut with) = ([0; 3], [0; 3]);
    let (mut quiet, mut equal) = (Vec::new(), Vec::new());
    for page in &results.pages {
        if !page.is_changed() {
            equal.push(page.without.name.as_str());
            continue;
        }
        let counts = [counts(&page.without), counts(&page.with)];
        for (sum, counts) in [&mut without, &mut with].into_iter().zip(&counts) {
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        let changes = changes(page);
        if changes.is_empty() {
            quiet.push(page.without.name.as_str());
            continue;
        }
        let [before, after] = counts.map(numbers);
        let _ = writeln!(out, "| {} | {before} | {after} | {changes} |", link(&page.without.name));
    }
    let (without, with) = (numbers(without), numbers(with));
    let _ = writeln!(out, "| all pages where a figure changes | {without} | {with} | |\n");
    for (words, pages) in [("Figures change, and no verdict", quiet), ("No figure changes", equal)] {
        if !pages.is_empty() {
            let _ = writeln!(out, "{words}: {}.\n", links(&pages));
        }
    }
    let mut reasons: Vec<&str> = Vec::new();
    for &(_, why) in &results.left {
        if why != NO_WIFI && !reasons.contains(&why) {
            reasons.push(why);
        }
    }
    for reason in reasons {
        let pages: Vec<&str> =
            results.left.iter().filter(|(_, why)| *why == reason).map(|&(page, _)| page).collect();
        let _ = writeln!(out, "Not run, since {reason}: {}.\n", links(&pages));
    }
    out.truncate(out.trim_end().len());
    out
}

fn link(page: &str) -> String {
    format!("[{page}](reproductions/{page}.md)")
}

fn links(pages: &[&str]) -> String {
    pages.iter().map(|page| link(page)).collect::<Vec<_>>().join(", ")
}

fn numbers([holds, undecided, missed]: [usize; 3]) -> String {
    format!("{holds}, {undecided}, {missed}")
}

/// Measured claims with each verdict, in the order of [`Verdict::ALL`].
fn counts(outcome: &Outcome) -> [usize; 3] {
    let measured = || outcome.claims.iter().filter(|row| row.kind == ClaimKind::Measured);
    Verdict::ALL.map(|verdict| measured().filter(|row| row.verdict == verdict).count())
}

impl Compared {
    /// Whether a figure of any claim changes.
    fn is_changed(&self) -> bool {
        self.rows().any(|(without, with)| without.measured != with.measured)
    }

    /// Each claim without the switch and with it.
    fn rows(&self) -> impl Iterator<Item = (&Row, &Row)> {
        self.without.claims.iter().zip(&self.with.claims)
    }
}

/// The verdicts of measured claims that change, in words; first those between holds and missed.
fn changes(page: &Compared) -> String {
    let is_changed = |(without, with): &(&Row, &Row)| {
        without.kind == ClaimKind::Measured && without.verdict != with.verdict
    };
    let mut changed: Vec<(&Row, &Row)> = page.rows().filter(is_changed).collect();
    changed.sort_by_key(|(without, with)| [without.verdict, with.verdict].contains(&Verdict::Undecided));
    let mut words: Vec<String> =
        changed.iter().take(MOST).map(|(without, with)| change(without, with)).collect();
    if changed.len() > MOST {
        words.push(format!("and {} more", changed.len() - MOST));
    }
    words.join("; ")
}

fn change(without: &Row, with: &Row) -> String {
    // Several medians are those of an order.
    let between = if without.measured.len() > 1 { ", then" } else { " to" };
    format!(
        "{} {}: {}{between} {} ({}, then {})",
        cell(&without.id),
        cell(&without.what),
        cell(&without.medians()),
        cell(&with.medians()),
        without.verdict.words(),
        with.verdict.words()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::Measured;
    use goodqueue_experiment::figure::Unit;

    fn row(id: &str, verdict: Verdict, value: f64) -> Row {
        Row {
            id: id.into(),
            what: "a|b".into(),
            kind: ClaimKind::Measured,
            basis: String::new(),
            same: None,
            figure: "rtt",
            value: String::new(),
            ours: String::new(),
            measured: vec![Measured::of(vec![value]).expect("a value")],
            unit: Unit::Time,
            seeds: 6,
            class: "exact",
            verdict,
            stated: verdict,
            cause: None,
            history: None,
        }
    }

    fn compared(name: &str, without: Vec<Row>, with: Vec<Row>) -> Compared {
        let outcome = |claims| Outcome {
            name: name.into(),
            title: String::new(),
            source: String::new(),
            text: String::new(),
            seeds: Vec::new(),
            claims,
        };
        Compared { without: outcome(without), with: outcome(with) }
    }

    #[test]
    fn verdicts_that_change_are_named_and_other_pages_listed() {
        use Verdict::{Holds, Missed, Undecided};
        let results = Results {
            switch: Switch::Cts,
            pages: vec![
                compared(
                    "some",
                    vec![row("A", Holds, 1e6), row("B", Holds, 2e6), row("C", Missed, 3e6)],
                    vec![row("A", Undecided, 1e6), row("B", Missed, 4e6), row("C", Missed, 3e6)],
                ),
                compared("quiet", vec![row("D", Holds, 1e6)], vec![row("D", Holds, 2e6)]),
                compared("equal", vec![row("E", Holds, 1e6)], vec![row("E", Holds, 1e6)]),
            ],
            left: vec![("wired", NO_WIFI), ("other", "why not")],
        };
        let made = section(&results);
        let link = |page: &str| format!("[{page}](reproductions/{page}.md)");
        let expected = [
            HEAD.trim_end(),
            &format!(
                "| {} | 2, 0, 1 | 0, 1, 2 | B a\\|b: 2.00 ms to 4.00 ms (holds, then missed); \
                 A a\\|b: 1.00 ms to 1.00 ms (holds, then undecided) |",
                link("some")
            ),
            "| all pages where a figure changes | 3, 0, 1 | 1, 1, 2 | |",
            &format!("\nFigures change, and no verdict: {}.", link("quiet")),
            &format!("\nNo figure changes: {}.", link("equal")),
            &format!("\nNot run, since why not: {}.", link("other")),
        ];
        assert_eq!(made, expected.join("\n"));
        let page_of_one = page(&[results], "");
        assert_eq!(page(&[], &page_of_one), page_of_one, "what is not made anew is kept");
        assert_eq!(page_of_one.matches("Not run.").count(), Switch::ALL.len() - 1);
    }

    /// The text of the page is that of the program; `GOODQUEUE_BLESS=1` writes it. The example makes the tables.
    #[test]
    fn the_page_has_this_text() {
        let path = format!("{}/../../docs/switches.md", env!("CARGO_MANIFEST_DIR"));
        let old = std::fs::read_to_string(&path).expect("the page");
        let new = page(&[], &old);
        if std::env::var_os("GOODQUEUE_BLESS").is_some() {
            return std::fs::write(path, new).expect("writes");
        }
        assert!(old == new, "switches.md is not current: run this test with GOODQUEUE_BLESS=1");
    }

    #[test]
    fn of_many_changes_six_are_spelled_out() {
        let rows = |verdict| (0..9).map(|_| row("A", verdict, 1e6)).collect();
        let words = changes(&compared("page", rows(Verdict::Holds), rows(Verdict::Missed)));
        assert_eq!(words.matches("holds, then missed").count(), MOST);
        assert!(words.ends_with("; and 3 more"), "{words}");
    }
}

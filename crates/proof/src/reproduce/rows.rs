//! The page of every published row: which claim covers it, or why none does.

use std::fmt::Write;

use serde::Deserialize;

use super::judge::{Outcome, Row};
use super::page::{MARK, cell};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    table: Vec<Table>,
}

/// A published table, or a list of published figures.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    title: String,
    /// Each: the row's name and [`Cover`] in words.
    rows: Vec<[String; 2]>,
}

/// What covers a row.
enum Cover<'a> {
    /// `PAGE: what the claim says`.
    Claim { page: &'a str, what: &'a str },
    /// `test: FILE NAME`: a test of the program's own, and the file in which it is.
    Test { file: &'a str, name: &'a str },
    /// `none: why`.
    None(&'a str),
}

impl Cover<'_> {
    fn read(text: &str) -> Cover<'_> {
        let (head, rest) = text.split_once(": ").expect("PAGE, test or none, and a colon");
        match head {
            "none" => Cover::None(rest),
            "test" => {
                let (file, name) = rest.split_once(' ').expect("a file and a test's name");
                Cover::Test { file, name }
            }
            page => Cover::Claim { page, what: rest },
        }
    }
}

fn read() -> Vec<Table> {
    toml::from_str::<File>(super::catalogue::text("counted/rows")).expect("a file of ours").table
}

/// The page of all published rows.
#[must_use]
pub fn rows(outcomes: &[Outcome]) -> String {
    let tables = read();
    let covers = || tables.iter().flat_map(|table| &table.rows).map(|[_, cover]| Cover::read(cover));
    let mut out = format!("{MARK}# Every published row\n\n");
    let _ = writeln!(
        out,
        "The tables and figures of the sources, row by row. {} rows have a claim on a [page](README.md), tests of the \
         program check {} others, and {} have none: the last column says why.",
        covers().filter(|cover| matches!(cover, Cover::Claim { .. })).count(),
        covers().filter(|cover| matches!(cover, Cover::Test { .. })).count(),
        covers().filter(|cover| matches!(cover, Cover::None(_))).count(),
    );
    for Table { title, rows } in &tables {
        let _ = writeln!(
            out,
            "\n## {title}\n\n| published | ours: median \\[95 %\\] | verdict | where, or why not |\n|---|---|---|---|"
        );
        for [name, cover] in rows {
            let _ = writeln!(out, "| {} | {} |", cell(name), covered(&Cover::read(cover), outcomes));
        }
    }
    out
}

fn covered(cover: &Cover<'_>, outcomes: &[Outcome]) -> String {
    match cover {
        Cover::None(why) => format!("| | {}", cell(why)),
        Cover::Test { file, name } => format!("| tested | `{name}` in [{file}](../../{file})"),
        Cover::Claim { page, what } => match find(page, what, outcomes) {
            Some(row) => format!("{} | {} | [{page}]({page}.md)", cell(&row.ours), row.words()),
            None => format!("| not run | [{page}]({page}.md)"),
        },
    }
}

fn find<'a>(page: &str, what: &str, outcomes: &'a [Outcome]) -> Option<&'a Row> {
    let outcome = outcomes.iter().find(|outcome| outcome.name == page)?;
    outcome.claims.iter().find(|row| row.what == what)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;
    use std::sync::LazyLock;

    use super::super::catalogue::{Entry, take};
    use super::*;
    use goodqueue_experiment::text::ClaimKind;

    /// Page and words of every claim, and whether others measured it. Those on hash collisions take half a
    /// minute.
    static CLAIMS: LazyLock<Vec<(String, String, bool)>> = LazyLock::new(claims);

    fn claims() -> Vec<(String, String, bool)> {
        let entries = take(&[]).expect("files of ours");
        let of = |entry: Entry| match entry {
            Entry::Experiment(name, experiment) => {
                let claims =
                    experiment.reproduction.map(|reproduction| reproduction.claims).unwrap_or_default();
                let of = |claim: goodqueue_experiment::text::Claim| {
                    (name.clone(), claim.what, claim.kind == ClaimKind::Measured)
                };
                claims.into_iter().map(of).collect::<Vec<_>>()
            }
            Entry::Collisions => {
                let rows = super::super::collisions::run().outcome.claims.into_iter();
                rows.map(|row| ("hash-collisions".into(), row.what, row.kind == ClaimKind::Measured))
                    .collect()
            }
        };
        entries.into_iter().flat_map(of).collect()
    }

    #[test]
    fn what_covers_a_row_exists() {
        let claims: BTreeSet<(&str, &str)> =
            CLAIMS.iter().map(|(page, what, _)| (&**page, &**what)).collect();
        assert_eq!(claims.len(), CLAIMS.len(), "two claims of a page have the same words");
        for [name, cover] in read().iter().flat_map(|table| &table.rows) {
            match Cover::read(cover) {
                Cover::None(why) => assert!(why.len() > 10, "{name}: say why"),
                Cover::Claim { page, what } => {
                    assert!(claims.contains(&(page, what)), "{name}: no claim {page}: {what}");
                }
                Cover::Test { file, name: test } => {
                    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
                    let text = std::fs::read_to_string(&path).unwrap_or_default();
                    assert!(text.contains(&format!("fn {test}(")), "{name}: no test {test} in {file}");
                }
            }
        }
    }

    #[test]
    fn every_measured_claim_is_a_published_row() {
        let tables = read();
        let covered: BTreeSet<(&str, &str)> = tables
            .iter()
            .flat_map(|table| &table.rows)
            .filter_map(|[_, cover]| match Cover::read(cover) {
                Cover::Claim { page, what } => Some((page, what)),
                _ => None,
            })
            .collect();
        for (page, what, is_measured) in CLAIMS.iter() {
            let is_covered = covered.contains(&(page.as_str(), what.as_str()));
            assert!(is_covered || !is_measured, "no row for {page}: {what}");
        }
    }

    #[test]
    fn no_row_is_named_twice() {
        for table in read() {
            let mut names = BTreeSet::new();
            for [name, _] in &table.rows {
                assert!(names.insert(name), "{}: {name} twice", table.title);
            }
        }
    }
}

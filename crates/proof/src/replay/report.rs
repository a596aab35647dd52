//! The result of a replay, to print or to write as JSON.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// What a replay found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The file.
    pub file: String,
    /// The queue, by its name in Linux.
    pub queue: String,
    /// The name of the load.
    pub scenario: String,
    /// Whose decisions the file holds: kernel and version.
    pub reference: String,
    /// Calls made to our queue, by kind of record (`E`, `D`, `R`, `C`, `T`, `Q`, `K`).
    pub calls: BTreeMap<String, u64>,
    /// What was compared and agreed.
    pub compared: Compared,
    /// The first difference; the replay ends there.
    pub difference: Option<Difference>,
}

/// Numbers of things compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Compared {
    /// Effective parameters of the header.
    pub effective_values: u64,
    /// Results, by kind of record (`P`, `N`, `X`, `M`, `W`).
    pub results: BTreeMap<String, u64>,
    /// Checks (`S` records).
    pub checks: u64,
    /// Values in them.
    pub check_values: u64,
}

/// The first difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The line, from 1, at which it was found.
    pub line: usize,
    /// What differs, in words.
    pub what: String,
    /// What the reference did, as a record.
    pub expected: String,
    /// What ours did, as a record.
    pub got: String,
    /// The values of a check that differ.
    pub state: Vec<StateDifference>,
    /// The lines around it and the line itself.
    pub context: Vec<Line>,
}

/// One value of a check that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StateDifference {
    /// Its key.
    pub key: String,
    /// The value of the reference, a decimal number.
    pub expected: String,
    /// Our value, a decimal number.
    pub got: String,
}

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Its number, from 1.
    pub line: usize,
    /// Its text.
    pub text: String,
}

impl Report {
    /// Whether every decision agreed.
    #[must_use]
    pub const fn is_equal(&self) -> bool {
        self.difference.is_none()
    }

    /// Records of the reference that were compared and agreed.
    #[must_use]
    pub fn decisions(&self) -> u64 {
        self.compared.results.values().sum::<u64>() + self.compared.checks
    }
}

fn join(counts: &BTreeMap<String, u64>) -> String {
    let words: Vec<String> = counts.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    words.join(" ")
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.is_equal() { "equal" } else { "DIFFERENT" };
        let Compared { effective_values, results, checks, check_values } = &self.compared;
        writeln!(
            f,
            "{}: {verdict}  {} {}  calls {}  compared {}{}S {checks} ({check_values} values), header {effective_values}",
            self.file,
            self.queue,
            self.scenario,
            join(&self.calls),
            join(results),
            if results.is_empty() { "" } else { " " },
        )?;
        match &self.difference {
            Some(difference) => difference.fmt(f),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "first difference at line {}: {}", self.line, self.what)?;
        for Line { line, text } in &self.context {
            let mark = if *line == self.line { '>' } else { ' ' };
            writeln!(f, "  {mark} {line:>6} | {text}")?;
        }
        if self.state.is_empty() {
            writeln!(f, "    expected  {}", self.expected)?;
            return writeln!(f, "    got       {}", self.got);
        }
        writeln!(f, "    {:<20} {:>20} {:>20}", "state", "expected", "got")?;
        for StateDifference { key, expected, got } in &self.state {
            writeln!(f, "    {key:<20} {expected:>20} {got:>20}")?;
        }
        Ok(())
    }
}

//! An experiment: a TOML file with a test, a network, the queues and variants compared over it, and seeds.
//!
//! ```text
//!  text ─► read (values with their places) ─► links, load (as written) ─► Experiment (scenarios to run)
//! ```
//!
//! What may be written is data ([`keys`]); the JSON schema ([`schema`]) is made from it, and a test holds
//! `docs/experiments.md` against it.

mod claims;
mod command;
mod flags;
pub mod keys;
pub mod lines;
pub(crate) mod link_file;
mod links;
mod load;
mod network;
pub(crate) mod overrides;
mod path;
mod read;
mod resolve;
mod scenario;
pub mod schema;
pub(crate) mod share;
pub(crate) mod simple;
pub(crate) mod starts;
mod switches;
mod trace;
pub(crate) mod trees;
mod view;
pub mod wifi;

use std::path::{Path, PathBuf};

use goodqueue::Span;
use goodqueue_probe::Test;
use goodqueue_sim::Scenario;

pub use claims::{Claim, Held, Picture, Reproduction};
pub(crate) use command::{command, head};
pub(crate) use resolve::of_plan;
pub(crate) use trace::rate as trace_rate;
pub use view::Plan;

use overrides::Override;

/// An experiment with every number filled in.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// One line about it.
    pub about: String,
    /// The test; its flows and probes have the numbers of those of every scenario.
    pub test: Test,
    /// The seeds; each variant is run with each.
    pub seeds: Vec<u64>,
    /// What is compared, in the order of the file.
    pub variants: Vec<Variant>,
    /// Where the results go.
    pub output: Option<PathBuf>,
    /// What to read before trusting the result.
    pub warnings: Vec<String>,
    /// What was published of it.
    pub reproduction: Option<Reproduction>,
}

/// One side of a comparison.
#[derive(Clone, Debug)]
pub struct Variant {
    /// What the reports call it.
    pub label: String,
    /// All of it but the seed and what it decides.
    pub scenario: Scenario,
    /// The directed link whose queue the reports show as that towards the servers.
    pub up: usize,
    /// The same, towards the client.
    pub down: usize,
    /// Base round-trip time to each server host: propagation, no serialization.
    pub rtt: Vec<Span>,
    /// How much later than planned flows, sources, browsers, players, video calls and games begin at most, by chance;
    /// zero: not at all.
    pub start_jitter: Span,
    /// What the plan says of each directed link.
    notes: Vec<network::Note>,
    /// What it says of each switch.
    switches: Vec<String>,
}

impl Variant {
    /// The scenario of one repetition, with the starts that the seed gives.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> Scenario {
        let mut scenario = Scenario { seed, ..self.scenario.clone() };
        starts::scatter(&mut scenario, self.start_jitter);
        scenario
    }
}

/// What is wrong with an experiment file, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}", place(.file, *.line, *.column))]
pub struct ExperimentError {
    /// The file as it was named; or the flag that changes it.
    pub file: String,
    /// Line, from 1; 0 of a flag.
    pub line: usize,
    /// Column in characters, from 1; 0 of a flag.
    pub column: usize,
    /// What is wrong, and what would be right.
    pub what: String,
}

fn place(file: &str, line: usize, column: usize) -> String {
    if line == 0 { file.to_owned() } else { format!("{file}:{line}:{column}") }
}

/// Largest experiment file, bytes.
const MOST_BYTES: u64 = 4 << 20;

impl Experiment {
    /// Reads the experiment of a file.
    ///
    /// # Errors
    /// What is wrong with it; where it cannot be read at all, of line 1.
    pub fn read(path: &Path) -> Result<Experiment, ExperimentError> {
        Experiment::of_text(&Experiment::text(path)?, path, &[])
    }

    /// The text of a file.
    pub(crate) fn text(path: &Path) -> Result<String, ExperimentError> {
        crate::file::text(path, MOST_BYTES).map_err(|what| ExperimentError {
            file: path.display().to_string(),
            line: 1,
            column: 1,
            what,
        })
    }

    /// Reads the experiment that `text` is, the content of the file at `path`, with the keys that the command changes.
    pub(crate) fn of_text(
        text: &str,
        path: &Path,
        changes: &[Override],
    ) -> Result<Experiment, ExperimentError> {
        let folder = path.parent().unwrap_or(Path::new(""));
        Experiment::changed(text, &path.display().to_string(), folder, changes)
    }

    /// Reads the experiment that `text` is; `file` is what errors call it, and files that it names are
    /// looked for in `folder`.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn parse(text: &str, file: &str, folder: &Path) -> Result<Experiment, ExperimentError> {
        Experiment::changed(text, file, folder, &[])
    }

    fn changed(
        text: &str,
        file: &str,
        folder: &Path,
        changes: &[Override],
    ) -> Result<Experiment, ExperimentError> {
        resolve::experiment(text, folder, changes).map_err(|wrong| {
            if let Some(typed) = overrides::typed(changes, text.len(), wrong.at) {
                return ExperimentError { file: typed.into(), line: 0, column: 0, what: wrong.what };
            }
            let (line, column) = read::place(text, wrong.at);
            ExperimentError { file: file.into(), line, column, what: wrong.what }
        })
    }
}

#[cfg(test)]
mod tests;

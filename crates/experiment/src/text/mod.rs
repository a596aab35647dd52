//! The text of an experiment: a TOML file with a test, a network, the queues and variants compared over it,
//! and seeds.
//!
//! ```text
//!  text ─► read (values with their places) ─► links, load (as written) ─► Experiment (scenarios to run)
//! ```
//! The allowed keys are data (`keys/`). The JSON schema ([`schema`]) is made from them, and a test compares
//! `docs/experiments.md` with them.

mod airtime_policy;
pub(crate) mod claims;
mod flags;
pub(crate) mod keys;
pub mod lines;
pub(crate) mod link_file;
mod links;
mod load;
pub(crate) mod named;
mod network;
mod overrides;
mod path;
pub(crate) mod queue_text;
mod read;
mod resolve;
mod scenario;
mod schema;
pub(crate) mod share;
pub(crate) mod simple;
pub(crate) mod starts;
mod sweep;
mod switches;
mod topology;
pub(crate) mod trace;
mod traffic;
pub(crate) mod trees;
mod view;
pub(crate) mod wifi;

use std::path::Path;

use crate::sweep::Text;
use crate::{AxisValue, Experiment, Sweep};

pub use airtime_policy::AirtimePolicy;
pub use claims::class::Class;
pub use claims::kind::Kind as ClaimKind;
pub use claims::{Claim, Column, Delays, Elsewhere, Held, Over, Picture, Reproduction, Stated};
pub(crate) use flags::changes;
pub(crate) use overrides::Override;
pub(crate) use resolve::of_plan;
pub use schema::schema;
pub use view::View;

/// An error in an experiment file, with its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}", place(.file, *.line, *.column))]
pub struct ExperimentError {
    /// The file as named, or the flag that changes it.
    pub file: String,
    /// Line, from 1; 0 for a flag, or for a file that cannot be read.
    pub line: usize,
    /// Column in characters, from 1; 0 if the line is 0.
    pub column: usize,
    /// The error, and what would be right.
    pub what: String,
}

fn place(file: &str, line: usize, column: usize) -> String {
    if line == 0 { file.to_owned() } else { format!("{file}:{line}:{column}") }
}

/// Largest experiment file, bytes.
pub(crate) const MOST_BYTES: u64 = 4 << 20;

impl Experiment {
    /// Reads the experiment of a file.
    ///
    /// # Errors
    /// The error; without a line if the file cannot be read at all.
    pub fn read(path: &Path) -> Result<Experiment, ExperimentError> {
        Experiment::of_text(&Experiment::text(path)?, path, &[])
    }

    /// The text of a file.
    pub(crate) fn text(path: &Path) -> Result<String, ExperimentError> {
        crate::input::text(path, MOST_BYTES).map_err(|what| ExperimentError {
            file: path.display().to_string(),
            line: 0,
            column: 0,
            what,
        })
    }

    /// Reads the experiment in `text`, the content of the file at `path`, with the keys that the command
    /// changes.
    pub(crate) fn of_text(
        text: &str,
        path: &Path,
        changes: &[Override],
    ) -> Result<Experiment, ExperimentError> {
        let folder = path.parent().unwrap_or(Path::new(""));
        Experiment::with_changes(text, &path.display().to_string(), folder, changes)
    }

    /// Reads the experiment in `text`. `file` is its name in errors; files that it names are searched in
    /// `folder`.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn parse(text: &str, file: &str, folder: &Path) -> Result<Experiment, ExperimentError> {
        Experiment::with_changes(text, file, folder, &[])
    }

    /// [`Experiment::parse`] with changes to its keys.
    pub(crate) fn with_changes(
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

impl Sweep {
    /// Reads the sweep of a file.
    ///
    /// # Errors
    /// The first thing that is wrong with its table `[sweep]`. [`Sweep::experiment`] checks the rest.
    pub fn read(path: &Path) -> Result<Sweep, ExperimentError> {
        let text = Experiment::text(path)?;
        Sweep::parse(&text, &path.display().to_string(), path.parent().unwrap_or(Path::new("")))
    }

    /// Reads the sweep in `text`. `file` is its name in errors; files that it names are searched in `folder`.
    ///
    /// # Errors
    /// As [`Sweep::read`].
    pub fn parse(text: &str, file: &str, folder: &Path) -> Result<Sweep, ExperimentError> {
        let error = |at: usize, what: String| {
            let (line, column) = read::place(text, at);
            ExperimentError { file: file.into(), line, column, what }
        };
        let order = sweep::order(text, file).map_err(|wrong| error(wrong.at, wrong.what))?;
        let base = match order.base {
            None => Text { file: file.into(), folder: folder.into(), text: text.into() },
            Some(base) => {
                let path = folder.join(&base.value);
                let read = crate::read_text(&path, MOST_BYTES);
                let text =
                    read.map_err(|what| error(base.at, format!("base = \"{}\": {what}", base.value)))?;
                let folder = path.parent().unwrap_or(Path::new("")).to_owned();
                Text { file: path.display().to_string(), folder, text }
            }
        };
        Ok(Sweep { base, ..order.sweep })
    }

    /// The experiment with these values, one for each axis.
    ///
    /// # Errors
    /// The first thing that is wrong; the axis and its value, if they are the cause.
    pub fn experiment(&self, values: &[AxisValue]) -> Result<Experiment, ExperimentError> {
        let mut changes = vec![Override::without(&["sweep"])];
        for (axis, value) in self.axes.iter().zip(values) {
            let typed = format!("{}: {} = {}", axis.place, axis.key, value.literal);
            changes.extend(Override::of_key(typed, &axis.key, value.literal.clone()));
        }
        Experiment::with_changes(&self.base.text, &self.base.file, &self.base.folder, &changes)
    }
}

#[cfg(test)]
mod tests;

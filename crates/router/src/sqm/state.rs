//! The previous state: one file for each shaped interface, written before the first change.

use serde::{Deserialize, Serialize};

use super::plan::Both;
use crate::kept::Before;

/// What the names of the files begin with.
pub(super) const SQM: &str = "sqm";

/// The file of one interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    /// Version of this format.
    pub(super) schema: u32,
    /// Name of the interface when it was shaped.
    pub(super) interface: String,
    /// Number of the interface, which survives a new name.
    pub(super) index: u32,
    /// What is shaped.
    pub(super) shaped: Both,
    /// The root queueing discipline that was set before, if any.
    pub(super) before: Option<Before>,
    /// The changes, as commands.
    pub(super) commands: Vec<String>,
    /// Whether the rates follow the link (`goodqueue autorate`).
    #[serde(default)]
    pub(super) follows: bool,
}

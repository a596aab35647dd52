//! Compares the simulator with a real kernel. A folder has experiments that ran on Linux (`cases.jsonl`) and
//! their results (`summary.jsonl`). Each experiment is simulated and compared with the kernel's figures.

pub mod bars;
pub mod case;
mod compare;
mod folder;
mod input;
mod markdown;
pub mod qdisc;
mod simulate;
pub mod summary;
mod table;

pub use compare::{CaseReport, Count, Ending, Report, Run, Tried};
pub use folder::{Selection, Watch, compare_folder};
pub use input::InputError;
pub use simulate::simulate;
pub use table::brief;

use goodqueue::codel::Parity;

use case::Case;
use summary::Outcome;

/// Options of a simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// How `CoDel` decides.
    pub codel_parity: Parity,
}

/// Why there is no outcome.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimulateError {
    /// The case needs something that is not built.
    #[error("{0}")]
    NotBuilt(String),
    /// The simulation failed.
    #[error("{0}")]
    Failed(String),
}

/// Runs one case with one seed in the simulator.
pub type Simulate<'a> = dyn Fn(&Case, u64, &Options) -> Result<Outcome, SimulateError> + Sync + 'a;

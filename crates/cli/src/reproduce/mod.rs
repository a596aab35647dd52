//! `goodqueue reproduce`: published figures again, beside ours, each with a verdict.
//!
//! ```text
//!  scenarios/NAME.toml ─► every variant with every seed ─► figures ─► median, interval ─► verdict of each claim
//! ```
//!
//! One page has no network (`collisions`): what it counts goes the rest of the same way.
//!
//! A class of tolerance stands in the file with each claim. A claim that is known to be missed says why; if it
//! holds, that is an error too.

mod air;
mod class;
mod collisions;
mod command;
mod figure;
mod flows;
mod judge;
mod measured;
mod page;
mod run;
mod shelf;
mod table;

pub use class::Class;
pub use command::command;
pub use figure::{Figure, Unit};
pub use judge::{Outcome, Row, Verdict};
pub use measured::Measured;

//! `goodqueue reproduce`: published figures beside ours, each with a verdict.
//!
//! ```text
//!  scenarios/NAME.toml ─► every variant with every seed ─► figures ─► median, interval ─► verdict of each
//! claim
//! ```
//!
//! One page has no network (`collisions`): its counts get verdicts in the same way.
//!
//! The file states a class of tolerance with each claim. A claim that is known to be missed says why; if it
//! holds, that is an error too.

mod catalogue;
mod collisions;
mod judge;
mod measured;
mod page;
mod run;
mod table;

pub use catalogue::{Entry, take};
pub use judge::{Outcome, Row, Verdict};
pub use measured::Measured;
pub use page::{MARK, index, page};
pub use run::{Reproduced, Shown, run};
pub use table::{text, total};

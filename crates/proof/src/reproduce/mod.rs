//! `goodqueue reproduce`: published figures compared with ours, each with a verdict.
//!
//! ```text
//!  scenarios/NAME.toml ─► every variant with every seed ─► figures ─► median, interval ─► verdict
//! ```
//!
//! One page simulates no network (`collisions`). Its counts get verdicts in the same way.
//!
//! The file states for each claim its kind, a class of tolerance, and a verdict if that is not *holds*, with
//! the cause. Any other verdict is an error. A claim whose interval crosses its bound gets more seeds, at
//! most twice.

mod catalogue;
mod collisions;
mod delays;
mod dots;
mod elsewhere;
mod judge;
mod measured;
mod page;
mod rows;
mod run;
mod table;
mod totals;

pub(crate) use catalogue::{CATALOGUE, text as scenario};
pub use catalogue::{Entry, take};
pub use judge::{Outcome, Row, Verdict};
pub use measured::Measured;
pub(crate) use page::cell;
pub use page::{MARK, index, page};
pub use rows::rows;
pub(crate) use run::run_among;
pub use run::{Reproduced, Shown, run};
pub use table::{text, total};

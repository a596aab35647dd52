//! `goodqueue reproduce`: published figures compared with ours, each with a verdict.
//!
//! ```text
//!  scenarios/NAME.toml ─► every variant with every seed ─► figures ─► median, interval ─► verdict
//! ```
//!
//! One page simulates no network (`collisions`). Its counts get verdicts in the same way.
//!
//! The file states a class of tolerance for each claim, and for a claim that is known to be missed, the
//! cause. If such a claim holds, that is an error too.

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

//! What each model that is off on the pages of reproductions would do to every page: `docs/switches.md`.
//!
//! ```text
//!  scenarios/NAME.toml ─┬────────────────────────► every seed ─► verdicts ─┐
//!                       └─► with the Switch's key ─► every seed ─► verdicts ─┴─► Compared ─► page
//! ```

mod page;
mod run;
mod switch;

pub use page::page;
pub use run::{Compared, Pages, Results};
pub use switch::Switch;

//! Controllers that follow a varying link ([`goodqueue::autorate`]), compared in the simulator.
//!
//! A home: a router with a shaper (`cake`) in each direction, a modem, and a link whose rate varies, with a
//! deep FIFO in front of it. Up, the shaper is in front of the link; down, behind it. Several TCP flows load
//! both directions.

mod links;
mod page;
mod picture;
mod run;

pub use links::{Disturbance, Line, Path, all};
pub use page::{Results, SEEDS, page, shares};
pub use picture::picture;
pub use run::{DirectionOutcome, Outcome, Policy, run};

//! Sweeps: many runs of an experiment whose keys vary, kept point by point, and what they show.
//!
//! ```text
//!  file ─► Sweep (goodqueue-experiment) ─► Study: points ─► units ─► rows ─► parts (Parquet)
//!                                            ▲  what is still to be run ◄──────┘      └─► Findings
//! ```
//!
//! A [`Unit`] is a point with a seed. Its hash covers everything that is simulated, so a unit whose hash is
//! in a part is never run again, whatever happened to the process that ran it, and whatever else changed in
//! the file. Units and rows are in scratch files ([`Units`], [`Results`]), so a sweep of many points needs no
//! more memory than one of few. [`run()`] runs units on the threads of this machine; on a cluster workers
//! call [`Study::run`].
#![forbid(unsafe_code)]

mod findings;
mod parquet_rows;
mod points;
mod results;
mod row;
mod run;
mod scratch;
mod store;
mod study;
#[cfg(test)]
mod tests;
mod unit;
mod units;

pub use findings::{Crossed, crossed, findings};
pub use results::Results;
pub use row::Row;
pub use run::{Watch, run};
pub use store::{PARTS, Store, part_name};
pub use study::{Study, decode};
pub use unit::{Unit, UnitHash, cost, speed};
pub use units::Units;

/// The number of threads: as many as asked for, and for 0 one for each processor.
#[must_use]
pub fn threads(asked: usize) -> usize {
    match asked {
        0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        asked => asked,
    }
}

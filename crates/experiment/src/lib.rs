//! Latency-under-load experiments: a test over a link, once for each queue, on an arm, into a record.
//!
//! ```text
//!  Request (words) ─► Plan ─┐
//!  TOML file ───────────────┴► Experiment ─► simulate or live ─► Record (goodqueue-report)
//! ```
//!
//! [`path`] is the third arm: a test over a real path to a server, into the same record.
//!
//! The simulated arm needs no file, clock, socket or thread and builds for `wasm32-unknown-unknown`. The live
//! arm and real paths need the feature `live`, and the live arm needs Linux.
//!
//! # `rrul` over three queues, with grades
//!
//! ```
//! use goodqueue_experiment::{Experiment, Request};
//!
//! # fn main() -> Result<(), goodqueue_experiment::Error> {
//! let request = Request {
//!     test: "rrul".into(),
//!     queue: Some("pfifo:1000,fq_codel,cake".into()),
//!     length: "5s".into(),
//!     ..Request::default()
//! };
//! let record = Experiment::of(&request)?.run()?;
//! for run in &record.runs {
//!     let summary = record.summary(run);
//!     println!("{}: {}", run.queue, summary.grade.map_or("none", |grade| grade.letter.as_str()));
//! }
//! # assert_eq!(record.runs.len(), 3);
//! # assert!(record.runs.iter().all(|run| record.summary(run).grade.is_some()));
//! # Ok(())
//! # }
//! ```
//!
//! # Where to look
//! * [`Request`]: the options of the command `goodqueue run`, in the words and units of `tc`.
//! * [`Experiment`]: a request or a file ([`Experiment::read`]) with every number filled in. Its variants are
//!   plain data: [`Variant::with_queue`] and [`Experiment::set_cc`] add your own queues and congestion
//!   controls.
//! * [`Experiment::run`] returns a `goodqueue_report::Record`: samples, from which that crate makes
//!   statistics, tables, charts, the HTML page and files. [`simulate::run`] does the same under your control:
//!   threads, traces, progress.
//! * [`Sweep`]: an experiment file with axes, along which its keys vary.
//! * [`figure`]: the figures that published claims refer to, by name.
//! * The crate's `examples/`: one for each, in a few lines.
#![forbid(unsafe_code)]

pub mod arrivals;
mod asked;
mod check_cc;
mod collect;
mod error;
mod experiment;
pub mod figure;
mod fit;
mod hint;
mod input;
pub mod limit;
#[cfg(all(feature = "live", target_os = "linux"))]
pub mod live;
mod monitor;
mod own;
mod own_cc;
#[cfg(feature = "live")]
pub mod path;
mod plan;
mod radio;
mod record;
mod request;
mod rpm;
pub mod simulate;
mod source;
mod sweep;
pub mod text;
mod traffic;

pub use asked::{Asked, Shown};
pub use check_cc::{CcCase, CcOutcome, check_cc, check_own_cc};
pub use error::Error;
pub use experiment::{Experiment, Variant};
pub use hint::did_you_mean;
pub use input::text as read_text;
pub use monitor::{Latest, Monitor, Turn};
pub use own::check_queue;
pub use own_cc::{own_cc, with_ccs};
pub use plan::{LinkOrder, Plan, TestOrder, read_any_rate, read_rate, read_time};
pub use request::{Arm, Request};
pub use sweep::{Aim, Axis, AxisValue, Design, Quantity, Sweep};
pub use text::{AirtimePolicy, ExperimentError};
pub use traffic::Traffic;

/// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

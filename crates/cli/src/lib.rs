//! The experiment: plan → run on an arm → record → report. The binary `goodqueue` is a thin skin on this.
#![forbid(unsafe_code)]

mod again;
pub mod airtime;
pub mod args;
mod collect;
mod exit;
pub mod experiment;
mod file;
mod hint;
pub mod list;
mod live;
mod lock;
mod memory;
mod output;
pub mod plan;
mod progress;
mod radio;
pub mod replay;
pub mod reproduce;
pub mod run;
mod simulate;
pub mod truth;

pub use exit::End;
pub use live::worker;

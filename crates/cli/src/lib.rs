//! The command: arguments in, terminal, files and exit codes out. What it runs is in `goodqueue-experiment`
//! and `goodqueue-proof`.
#![forbid(unsafe_code)]

mod again;
pub mod airtime;
pub mod args;
pub mod list;
mod memory;
mod output;
mod progress;
pub mod replay;
pub mod reproduce;
pub mod run;
pub mod truth;

//! The command: its arguments, terminal, files and exit codes. The work is done in `goodqueue-experiment` and
//! `goodqueue-proof`.
#![forbid(unsafe_code)]

mod again;
pub mod airtime;
pub mod args;
pub mod compare;
pub mod limit;
pub mod list;
mod memory;
mod output;
mod path_values;
mod picture;
pub mod probe;
mod probe_marks;
mod probe_table;
mod probe_view;
mod progress;
pub mod replay;
pub mod reproduce;
mod rights;
pub mod run;
pub mod server;
mod stream;
pub mod test;
pub mod truth;

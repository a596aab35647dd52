//! The command: its arguments, terminal, files and exit codes. The work is done in `goodqueue-experiment` and
//! `goodqueue-proof`.
#![forbid(unsafe_code)]

/// Prints a line on standard error. `eprintln!` would panic if nobody reads it any more, as in `2>&1 | head`.
macro_rules! announce {
    ($($words:tt)*) => {
        $crate::output::announce(format_args!($($words)*))
    };
}

mod again;
#[cfg(target_os = "linux")]
pub mod airtime;
pub mod airtime_model;
pub mod args;
#[cfg(target_os = "linux")]
pub mod autorate;
#[cfg(target_os = "linux")]
pub mod bridge;
pub mod check_cc;
pub mod check_queue;
pub mod compare;
#[cfg(target_os = "linux")]
pub mod doctor;
#[cfg(target_os = "linux")]
pub mod link;
pub mod list;
mod memory;
pub mod new;
mod output;
#[cfg(feature = "proof")]
pub mod packetdrill;
mod path_values;
mod picture;
pub mod probe;
mod probe_marks;
mod probe_table;
mod probe_view;
mod progress;
#[cfg(target_os = "linux")]
mod prometheus;
#[cfg(feature = "proof")]
pub mod replay;
#[cfg(feature = "proof")]
pub mod reproduce;
#[cfg(target_os = "linux")]
mod rights;
pub mod run;
#[cfg(target_os = "linux")]
mod screen;
#[cfg(target_os = "linux")]
pub mod server;
#[cfg(target_os = "linux")]
pub mod shape;
#[cfg(target_os = "linux")]
pub mod sqm;
mod stream;
#[cfg(feature = "sweep")]
pub mod sweep;
#[cfg(target_os = "linux")]
pub mod system;
// The same for all other systems.
#[cfg(not(target_os = "linux"))]
#[path = "system_portable.rs"]
pub mod system;
pub mod test;
#[cfg(feature = "proof")]
pub mod truth;
#[cfg(target_os = "linux")]
pub mod watch;

pub use output::announce;

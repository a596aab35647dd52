//! Users' own queues for Goodqueue, from shared libraries in C, Rust, and any language that can make one.
//!
//! ```text
//!  goodqueue run --queue ./my_aqm.so,limit=100          goodqueue check-queue ./my_aqm.so
//!           │                                                    │
//!           ▼                                                    ▼
//!        Library ──► LibraryQueue: a goodqueue::Queue          check: any goodqueue::Queue
//!                        │  keeps the packets, watches the rules
//!                        ▼
//!                    struct gq_own_queue (goodqueue_own.h)
//!                        ▲
//!        export_queue! ──┘  the same table out of a queue in Rust
//! ```
//! * [`Library`] loads a library and reads the parameters; [`LibraryQueue`] runs one of its queues, with a
//!   guard: a queue that breaks a rule is reported, and does no harm.
//! * [`cc::CcLibrary`] is the same for congestion controls, of TCP in the simulator.
//! * [`check`] is the conformance suite, for every [`goodqueue::Queue`].
//! * [`export`] and [`export_queue`] make a shared library of a queue in Rust.
//!
//! The header is `include/goodqueue_own.h`, also as [`HEADER`]. A queue sees a packet's number, length, size
//! in memory, flow hash and DS byte. The further packet data that CAKE and `fq` need is not part of this
//! interface.

// Without shared libraries nothing makes a table.
#![cfg_attr(not(any(unix, windows)), allow(dead_code))]

pub mod cc;
pub mod check;
mod fault;
mod ffi;
mod library;
mod load;
mod parameter;
mod queue;
mod table;

pub use fault::{Fault, Rule};
pub use ffi::export;
pub use library::Library;
pub use parameter::{Parameter, Unit};
pub use queue::{FaultCell, LibraryQueue};

/// The text of `goodqueue_own.h`.
pub const HEADER: &str = include_str!("../include/goodqueue_own.h");

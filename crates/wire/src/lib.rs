//! The live arm of Goodqueue, on Linux: a laboratory of three network namespaces and a real-time engine
//! that puts Goodqueue's queues under the kernel's own TCP.
//!
//! * [`Lab`] makes client, router and server out of anonymous namespaces that vanish with the process.
//! * [`Engine`] is the wire between client and server: queue, device ring, line, loss and delay in each
//!   direction, with [`EngineSample`]s while it runs and an [`EngineReport`] at the end.
//! * A [`Medium`] can take the place of the two lines: something that both directions share.
//! * [`Validity`] says whether a result can be believed.
//!
//! Needs root, or an unprivileged user namespace ([`enter_user_namespace`]); what is missing is named by
//! [`Error::Missing`].
//!
//! All system calls and all `unsafe` are in the module `sys`.
#![deny(unsafe_code)]
#![cfg(target_os = "linux")]

mod air;
mod crossing;
mod delay;
pub mod engine;
mod error;
pub mod frame;
pub mod lab;
mod lock;
pub mod medium;
mod netlink;
mod netns;
mod path;
mod pool;
mod runner;
pub mod sample;
#[allow(unsafe_code)]
mod sys;
mod tcp_header;

pub use engine::{Engine, EngineHandle, EngineSpec, Frame};
pub use error::{Error, Result};
pub use goodqueue::Histogram;
pub use lab::{Lab, LabSpec, MAX_HOSTS, Side};
pub use lock::Lock;
pub use medium::{Delays, Exit, Medium, MediumSpec};
pub use netns::{Netns, enter_user_namespace};
pub use path::PathSpec;
pub use sample::{
    Count, CpuUse, EngineReport, EngineSample, HostLoad, PathReport, PathSample, Scheduling, Summary,
    Trouble, Validity,
};
pub use sys::process::{Interrupt, die_with_parent, raise_open_files};
pub use sys::rights::{
    become_user, effective_user, keep_capabilities, no_new_privileges, restrict_capabilities,
    survive_the_file_size_limit,
};

/// The engine's clock, `CLOCK_MONOTONIC`: the `now` with which a queue that keeps time from its making
/// on (a token bucket) is built.
#[must_use]
pub fn now() -> goodqueue::Nanos {
    sys::thread::now()
}

//! The live arm of Goodqueue, on Linux: a lab of three network namespaces, and a real-time engine that
//! sends the kernel's own TCP, or the traffic of real interfaces ([`Interfaces`]), through Goodqueue's
//! queues.
//!
//! * [`Lab`] creates client, router and server from anonymous namespaces that disappear with the process.
//! * [`Engine`] is the wire between client and server: queue, device ring, line, loss and delay in each
//!   direction, with [`EngineSample`]s while it runs and an [`EngineReport`] at the end.
//! * A [`Medium`], which both directions share, can replace the two lines.
//! * [`Validity`] says whether a result is trustworthy.
//!
//! It needs root, or an unprivileged user namespace ([`enter_user_namespace`]); [`Error::Missing`] names what
//! is missing. [`sandbox`] drops all privileges that a server does not need once its sockets are open.
//!
//! All system calls and all `unsafe` are in the module `sys`.
#![deny(unsafe_code)]
#![cfg(target_os = "linux")]

mod air;
mod channel;
mod delay;
pub mod engine;
mod error;
pub mod flows;
pub mod frame;
mod gso;
mod interfaces;
pub mod lab;
mod lock;
pub mod medium;
pub mod nat;
pub mod netlink;
mod netns;
mod path;
mod per_direction;
mod pool;
mod runner;
pub mod sample;
pub mod sandbox;
#[allow(unsafe_code)]
mod sys;
mod tcp_header;

pub use engine::{Engine, EngineHandle, EngineSpec, OnDestination, Threads};
pub use error::{Error, Result};
pub use flows::{Ends, Flow, FlowSpec};
pub use goodqueue::Histogram;
pub use interfaces::Interfaces;
pub use lab::{Lab, LabSpec, MAX_HOSTS, Side};
pub use lock::Lock;
pub use medium::{Delays, Exit, Medium, MediumSpec};
pub use netns::{Netns, enter_user_namespace};
pub use path::{Change, MOST_QUEUES, PathSpec};
pub use pool::{DEFAULT_FRAMES, Frame};
pub use sample::{
    Contents, Count, CpuUse, EngineReport, EngineSample, HostLoad, PathReport, PathSample, Scheduling,
    Summary, Trouble, Validity,
};
pub use sys::ethtool::{Coalescing, Ethtool, Feature};
pub use sys::process::{Interrupt, Signal, die_with_parent, has_hung_up, raise_open_files, send_signal};
pub use sys::rights::{
    User, become_user, effective_user, keep_capabilities, no_new_privileges, restrict_capabilities,
    survive_the_file_size_limit, user_named,
};

/// The engine's clock, `CLOCK_MONOTONIC`. Use it as `now` to build a queue whose time starts at its
/// creation (a token bucket).
#[must_use]
pub fn now() -> goodqueue::Nanos {
    sys::thread::now()
}

//! Latency under load in virtual time: a discrete-event simulator whose queues are those of
//! `goodqueue` and whose hosts' TCP does what Linux 6.1's does where it shapes queues.
//!
//! A [`Scenario`] is plain data; [`Simulation::new`] builds it, [`Simulation::run_until`] runs it, and
//! between two steps everything can be read. Nothing here knows of clocks, files or threads: the same
//! scenario gives the same events on every machine ([`Simulation::trace_hash`]).
#![forbid(unsafe_code)]

mod address;
mod check;
mod checkpoints;
mod credits;
mod determinism;
mod device;
mod engine;
mod error;
mod fifo_line;
mod frame;
mod headers;
mod lanes;
mod link;
mod loss;
mod owner;
mod path;
mod propagation;
mod scenario;
mod sequence;
mod shaped;
mod sojourn;
pub mod switch;
mod tap;
pub mod tcp;
mod timers;
mod trace;
pub mod wifi;

pub use check::MOST;
pub use checkpoints::{CHECKPOINT_EVERY, Checkpoints};
pub use determinism::{Difference, Event, difference};
pub use engine::{Arrivals, FlowView, LinkView, Simulation};
pub use error::BuildError;
pub use link::LinkCounters;
pub use loss::Loss;
pub use owner::LaneOwner;
pub use path::route;
pub use scenario::{
    Browse, Discipline, Flow, Link, NodeId, Opener, Pattern, Pause, PortSpec, Probe, ProbeKind, Radio,
    Scenario, Source, Switch, Talk, Watch,
};
pub use shaped::{Shaper, ShaperKind};
pub use tap::{TraceEvent, Way, What};

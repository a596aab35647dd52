//! A discrete-event simulator of latency under load, in virtual time. Its queues are those of [`goodqueue`].
//! Its hosts' TCP behaves as Linux 6.1's does, as far as that matters for queues. The simulator needs no
//! clock, file, socket or thread. The same scenario produces the same events on every machine
//! ([`Simulation::trace_hash`]).
//!
//! # One flow through a queue
//!
//! One CUBIC flow through CoDel on a 20 Mbit/s line, a ping alongside, and how long packets wait in the
//! queue:
//!
//! ```
//! use goodqueue::{Nanos, Rate, Span};
//! use goodqueue_sim::tcp::cc::CcKind;
//! use goodqueue_sim::{Dumbbell, Flow, Probe, Simulation};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut scenario = Dumbbell::new("codel".parse()?, Rate(20_000_000), Span::from_millis(20)).scenario();
//! let (client, server) = (Dumbbell::client(0), Dumbbell::server(0));
//! let end = Span::from_secs(30);
//! scenario.flows.push(Flow::new(client, server, CcKind::Cubic));
//! scenario.probes.push(Probe::ping(client, server, Span::from_millis(100), end));
//!
//! let mut simulation = Simulation::new(&scenario)?;
//! simulation.measure_sojourn(Dumbbell::UP, Nanos::ZERO, Nanos::ZERO + end);
//! simulation.run_until(Nanos::ZERO + end);
//! let delay = simulation.link(Dumbbell::UP).sojourn().and_then(|times| times.quantile(0.5));
//! println!("CoDel's median queueing delay: {}", delay.unwrap_or_default());
//! # assert!((1.0..8.0).contains(&delay.unwrap_or_default().as_millis_f64()), "{delay:?}");
//! # assert!(simulation.take_samples().count() > 290);
//! # Ok(())
//! # }
//! ```
//!
//! # Where to look
//!
//! * [`Scenario`] is plain data: nodes, links, and what the hosts do. [`Dumbbell`] makes the usual network;
//!   [`Topology`] makes fat trees, parking lots and any other. [`Flow`], [`Probe`], [`Source`], [`Browse`],
//!   [`Watch`] and [`Talk`] are what hosts do.
//! * [`Distribution`] draws flow sizes and the gaps between flows. [`Simulation::transfer`] reports when a
//!   finite flow began and ended. [`After`] makes a flow wait for another.
//! * [`Simulation::new`] builds a scenario, and [`Simulation::run_until`] runs it. Between two steps,
//!   [`Simulation::link`] and [`Simulation::flow`] show the current state, and [`Simulation::take_samples`]
//!   returns what the probes measured.
//! * [`tcp`]: one host's TCP, without a network. [`tcp::cc`]: its congestion controls. [`wifi`]: the 802.11
//!   medium.
//! * Your own congestion control implements [`tcp::cc::CongestionControl`], your own queue [`OwnQueue`].
//! * The crate's `examples/` show each in a few lines.
//!
//! Complete tests, with statistics, tables and grades, are in the crate `goodqueue-experiment`.
#![forbid(unsafe_code)]

mod address;
mod check;
mod checkpoints;
mod credits;
mod determinism;
mod device;
mod distribution;
mod draw;
mod dumbbell;
mod engine;
mod error;
mod fifo_line;
mod frame;
mod gro;
mod headers;
mod implementation;
mod lanes;
mod link;
mod loss;
mod own_queue;
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
mod token;
mod topology;
mod trace;
pub mod wifi;

pub use check::MOST;
pub use checkpoints::{CHECKPOINT_EVERY, Checkpoints};
pub use determinism::{Difference, Event, difference};
pub use distribution::{Cdf, Distribution};
pub use dumbbell::Dumbbell;
pub use engine::{Arrivals, FlowView, LinkView, Simulation, Transfer};
pub use error::BuildError;
pub use link::LinkCounters;
pub use loss::Loss;
pub use own_queue::{NamedQueue, OwnQueue, Report};
pub use owner::LaneOwner;
pub use path::{hops, route};
pub use scenario::{
    After, Browse, Discipline, Flow, Link, NodeId, Opener, Pattern, Pause, PortSpec, Probe, ProbeKind, Radio,
    Rpm, Scenario, Shaper, ShaperKind, Source, Switch, Talk, Watch,
};
pub use tap::{Leg, TraceEvent, What};
pub use token::Token;
pub use topology::Topology;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

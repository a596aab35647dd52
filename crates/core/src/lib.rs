//! Queue algorithms against *queueing delay* (bufferbloat), decision for decision equal to Linux.
//!
//! The crate decides, it does not do: there is no clock, no socket, no thread and no allocation
//! after set-up in it. Time is a parameter ([`Nanos`]), packets stay with the caller (a queue sees a
//! small descriptor, [`Packet`]), storage is given by the caller, and what is dropped or marked
//! leaves through an [`Observer`] with a [`Reason`]. So the same object runs in a simulator, under
//! real packets and in firmware.
//!
//! ```text
//!  enqueue(now, packet, observer) -> Verdict     dequeue(now, observer) -> Option<Packet>
//!  next_wake(now) -> Option<Nanos>   backlog()   stats()   reset(now, observer)   configure(now, params)
//! ```
//!
//! See [`Queue`] for the contract that every queue keeps.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;

#[cfg(feature = "alloc")]
mod any;
pub mod arena;
pub mod cake;
mod classes;
pub mod codel;
pub mod details;
pub mod dql;
pub mod drr;
pub mod dualpi2;
mod event;
pub mod fifo;
pub mod fq;
pub mod fq_codel;
pub mod fq_pie;
mod hash;
pub mod htb;
mod jiffies;
mod lists;
#[cfg(feature = "alloc")]
mod memory;
mod packet;
pub mod pie;
#[cfg(feature = "alloc")]
pub mod port;
pub mod prio;
mod queue;
pub mod red;
mod rng;
pub mod sfq;
pub mod spec;
pub mod tbf;
#[cfg(feature = "alloc")]
mod tree;
mod units;
pub mod wheel;
pub mod wifi;

#[cfg(feature = "alloc")]
pub use any::{
    AnyQueue, CakeTables, HeapCake, HeapCodel, HeapDrr, HeapDualPi2, HeapFifo, HeapFq, HeapFqCodel,
    HeapFqPie, HeapHtb, HeapPfifoFast, HeapPie, HeapPrio, HeapRed, HeapSfq, HeapTbf, HeapWheel, cake_tables,
};
pub use cake::Cake;
pub use codel::Codel;
pub use details::Details;
pub use dql::Dql;
pub use drr::Drr;
pub use dualpi2::DualPi2;
pub use event::{Ignore, Observer, Origin, Reason, Socket, Verdict};
pub use fifo::Fifo;
pub use fq::Fq;
pub use fq_codel::FqCodel;
pub use fq_pie::FqPie;
pub use hash::{FlowHasher, FlowKey};
pub use htb::Htb;
#[cfg(feature = "alloc")]
pub use memory::Part;
pub use packet::{Ecn, Header, Packet};
pub use pie::Pie;
#[cfg(feature = "alloc")]
pub use port::{Departure, FlowControl, Line, MultiPort, Port, PortStats, RingSpec, Watermarks};
pub use prio::Prio;
pub use queue::{Backlog, Queue, Stats};
pub use red::Red;
pub use rng::{Draws, Lcg, Rng};
pub use sfq::Sfq;
#[cfg(feature = "alloc")]
pub use spec::SpecError;
pub use spec::{BuildError, QueueSpec};
pub use tbf::Tbf;
#[cfg(feature = "alloc")]
pub use tree::{ClassTree, TreeClass};
pub use units::{Bytes, Nanos, ParseUnitError, Rate, Serializer, Span};
pub use wheel::Wheel;

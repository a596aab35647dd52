//! Queue algorithms against *queueing delay* (bufferbloat) that make the same decisions as Linux. CoDel
//! departs from it in three rare cases, unless it has [`codel::Parity::Linux`].
//!
//! The crate only decides; it does no input or output. It has no clock, no socket and no thread, and it
//! allocates nothing after set-up. Time is a parameter ([`Nanos`]). Packets stay with the caller: a queue
//! sees a small descriptor ([`Packet`]). The caller provides the storage. Queues report dropped and marked
//! packets to an [`Observer`], with a [`Reason`]. So the same code runs in a simulator, with real packets and
//! in firmware.
//!
//! # A packet in, a packet out, a drop
//!
//! ```
//! use goodqueue::{Header, Ignore, Inspect, Nanos, Queue, QueueSpec, Rate, Reason, Span, Verdict};
//!
//! // CoDel with room for one packet, on a link of 20 Mbit/s with frames of at most 1514 bytes.
//! let spec: QueueSpec = "codel,limit=1".parse()?;
//! let mut queue = spec.build::<Header>(Rate(20_000_000), 1514, Nanos::ZERO)?;
//! let packet = |cookie| Header { cookie, len: 1514, truesize: 2304, flow_hash: 7, dsfield: 0 };
//!
//! assert_eq!(queue.enqueue(Nanos::ZERO, packet(1), &mut Ignore), Verdict::Enqueued);
//! assert_eq!(queue.enqueue(Nanos::ZERO, packet(2), &mut Ignore), Verdict::Dropped(Reason::Limit));
//! let out = queue.dequeue(Nanos::ZERO + Span::from_millis(1), &mut Ignore);
//! assert_eq!(out.map(|packet| packet.cookie), Some(1));
//! assert_eq!(queue.stats().drops, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to look
//!
//! * [`Queue`]: the contract of every queue. [`QueueSpec`]: queues by the names and parameters of `tc`.
//! * [`Dql`]: byte queue limits (BQL). [`Port`]: a queue, a device ring and a serial line together.
//! * [`wifi`]: mac80211's queues, its airtime scheduler and its airtime queue limits.
//! * The crate's `examples/`: each of these in a few lines.
//!
//! The feature `alloc` adds queues with storage from the heap, for example [`QueueSpec::build`].
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;

mod any;
pub mod arena;
pub mod autorate;
pub mod cake;
mod classes;
pub mod codel;
pub mod details;
mod direction;
pub mod dql;
pub mod drr;
pub mod dualpi2;
#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
mod either;
mod ethernet;
mod event;
pub mod fifo;
pub mod fq;
pub mod fq_codel;
pub mod fq_pie;
mod hash;
#[cfg(feature = "alloc")]
mod histogram;
pub mod htb;
mod jiffies;
mod lists;
mod memory;
mod packet;
mod packet_info;
pub mod pie;
#[cfg(feature = "alloc")]
pub mod port;
pub mod prio;
mod queue;
mod queues;
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

pub use any::AnyQueue;
pub use cake::{Cake, CakeMq};
pub use codel::Codel;
pub use details::Details;
pub use direction::Direction;
pub use dql::Dql;
pub use drr::Drr;
pub use dualpi2::DualPi2;
#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
pub use either::EitherQueue;
pub use ethernet::{ETHERNET_FRAME, ETHERNET_MTU};
pub use event::{Ignore, Observer, Reason, Verdict};
pub use fifo::Fifo;
pub use fq::Fq;
pub use fq_codel::FqCodel;
pub use fq_pie::FqPie;
pub use hash::{FlowHasher, FlowKey};
#[cfg(feature = "alloc")]
pub use histogram::Histogram;
pub use htb::Htb;
#[cfg(feature = "alloc")]
pub use memory::Heap;
pub use memory::{Lent, Memory, Part, Room};
pub use packet::{Ecn, Header, Packet};
pub use packet_info::{Needs, Origin, Owner, PacketInfo, Socket};
pub use pie::Pie;
#[cfg(feature = "alloc")]
pub use port::{Departure, FlowControl, Line, MultiPort, Port, PortStats, RingSpec, Watermarks};
pub use prio::Prio;
pub use queue::{Backlog, Configurable, Inspect, Queue, Stats};
pub use red::Red;
pub use rng::{Draws, Lcg, Rng};
pub use sfq::Sfq;
#[cfg(feature = "alloc")]
pub use spec::SpecError;
pub use spec::build::Reconfigure;
pub use spec::{BuildError, Link, QueueSpec};
pub use tbf::Tbf;
#[cfg(feature = "alloc")]
pub use tree::{ClassTree, TreeClass};
pub use units::{Bytes, Nanos, ParseUnitError, Rate, Serializer, Span};
pub use wheel::Wheel;

/// The examples of the crate's README.
#[cfg(all(doctest, feature = "alloc"))]
#[doc = include_str!("../README.md")]
struct Readme;

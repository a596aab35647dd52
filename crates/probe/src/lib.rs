//! Latency under load: the tests as data, the probe and the load.
//!
//! The crate has two layers. Without features it does no I/O. [`resolve`] turns the name of a test and its
//! [`Params`] into a [`Test`] (which flows, which probes, when). [`echo`] has the isochronous UDP probe as
//! state machines without sockets or clocks, so a simulator can drive them in virtual time. [`voip`] is a
//! call over the same state machines, [`web`] a browser that loads pages, [`dash`] a video player, [`talk`] a
//! video call and a game, [`rpm`] the responsiveness of draft-ietf-ippm-responsiveness. The feature `net`
//! adds the module `net`: the same test over real sockets and kernel TCP, with kernel receive times on Linux.
//! The feature `quic`, which `net` includes, adds the module `quic`: flows over QUIC, also as state machines.
//!
//! Measurements leave the crate as a stream of [`Sample`]s; the caller turns samples into a record. In all
//! samples `t` is in nanoseconds from the start of the load, negative in the idle lead-in. Bytes are
//! *goodput*: payload that the receiving application has read.
#![deny(unsafe_code)]

#[forbid(unsafe_code)]
mod catalogue;
#[forbid(unsafe_code)]
pub mod dash;
#[forbid(unsafe_code)]
mod dscp;
#[forbid(unsafe_code)]
pub mod echo;
#[forbid(unsafe_code)]
mod extra;
#[forbid(unsafe_code)]
mod flow_count;
#[forbid(unsafe_code)]
mod ip;
#[cfg(feature = "net")]
pub mod net;
#[cfg(feature = "quic")]
#[forbid(unsafe_code)]
pub mod quic;
#[forbid(unsafe_code)]
mod resolve;
#[forbid(unsafe_code)]
pub mod rpm;
#[forbid(unsafe_code)]
mod sample;
#[forbid(unsafe_code)]
pub mod talk;
#[forbid(unsafe_code)]
mod test;
#[forbid(unsafe_code)]
mod test_info;
#[forbid(unsafe_code)]
mod transport;
#[forbid(unsafe_code)]
pub mod voip;
#[forbid(unsafe_code)]
pub mod web;

pub use catalogue::TESTS;
pub use dscp::{Dscp, ParseDscpError};
pub use extra::{EXTRAS, Extra, ExtraInfo, PageKind, ParseExtraError};
pub use flow_count::{FlowCount, ParseFlowCountError};
pub use goodqueue::Direction;
pub use ip::IpVersion;
pub use resolve::{Params, resolve, takes_any_hosts};
pub use sample::{End, Sample, TcpSample};
pub use test::{Flow, Probe, Test, TestError, UdpFlow};
pub use test_info::{
    Cc, Count, FlowGroup, HostRule, MAX_FLOWS, Names, ProbeGroup, TestInfo, UdpGroup, UdpPattern,
};
pub use transport::{ParseQuicCcError, ParseTransportError, QuicCc, Transport};

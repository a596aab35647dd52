//! Real paths: the far end and the near end of a measurement over a network that nobody here made, in irtt's
//! protocol (version 1, UDP port 2112).
//!
//! * [`server`] answers probes on the open internet: [`server::Server`] decides without sockets,
//!   [`server::listen`] gives it some.
//! * [`client`] opens a session, drives the prober of `goodqueue-probe` over it and hands out every probe.
//! * [`endless`] has one session follow on another, for as long as one likes.
//! * [`clocks`] finds how fast the two hosts' clocks drift apart.
//! * [`result`] makes the figures of a session, with [`series`] and [`marks`].
//! * [`irtt_json`] makes irtt's file of a session.
//! * [`metrics`] makes a page of what a server did, for Prometheus; [`http`] hands it out.
//! * [`open`] and [`params`] are the packets of the handshake, [`key`] is the HMAC over all packets. The echo
//!   packet itself is `goodqueue_probe::echo::wire`.
#![forbid(unsafe_code)]

pub mod client;
pub mod clocks;
pub mod endless;
pub mod fill;
pub mod hops;
pub mod http;
pub mod irtt_json;
pub mod key;
pub mod load;
pub mod marks;
pub mod metrics;
pub mod open;
mod order;
pub mod params;
pub mod result;
pub mod series;
pub mod server;

/// irtt's UDP port.
pub const PORT: u16 = 2112;

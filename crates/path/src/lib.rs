//! Real paths: the far end and the near end of a measurement over a network that nobody here made, in irtt's
//! protocol (version 1, UDP port 2112).
//!
//! * [`server`] answers probes on the open internet: [`server::Server`] decides without sockets,
//!   [`server::listen`] gives it some.
//! * [`client`] opens a session, drives the prober of `goodqueue-probe` over it and hands out every probe.
//! * [`clocks`] finds how fast the two hosts' clocks drift apart.
//! * [`result`] makes the figures of a session, [`irtt_json`] irtt's file of it.
//! * [`metrics`] makes a page of what a server did, for Prometheus; [`http`] hands it out.
//! * [`rpm`] is the test of responsiveness over HTTPS, server and client.
//! * [`open`] and [`params`] are the packets of the handshake, [`key`] is the HMAC over all packets. The echo
//!   packet itself is `goodqueue_probe::echo::wire`.
#![forbid(unsafe_code)]

pub mod client;
pub mod clocks;
pub mod fill;
pub mod hops;
pub mod http;
pub mod irtt_json;
pub mod key;
pub mod load;
pub mod metrics;
pub mod open;
pub mod params;
pub mod result;
pub mod rpm;
pub mod server;

/// irtt's UDP port.
pub const PORT: u16 = 2112;

//! Real paths: the server and the client of a measurement over a real network, in irtt's protocol (version 1,
//! UDP port 2112).
//!
//! * [`server`] answers probes on the open internet: [`server::Server`] decides without sockets,
//!   [`server::listen`] adds them.
//! * [`client`] opens a session, drives the prober of `goodqueue-probe` over it and reports every probe.
//! * [`endless`] lets one session follow another until it is stopped.
//! * [`clocks`] estimates how fast the two hosts' clocks drift apart.
//! * [`result`] computes the figures of a session, with [`series`] and [`marks`]; [`irtt_json`] writes it as
//!   irtt's file.
//! * [`metrics`] makes a page of a server's counters for Prometheus; [`http`] serves it.
//! * [`rpm`] is the test of responsiveness over HTTPS, server and client.
//! * [`own_queue`] notes what the queues of a host's own interfaces do during a load.
//! * [`host`] reads a host as people type it.
//! * [`open`] and [`params`] are the packets of the handshake, [`key`] is the HMAC over all packets. The echo
//!   packet itself is `goodqueue_probe::echo::wire`.
#![forbid(unsafe_code)]

pub mod client;
pub mod clocks;
pub mod endless;
pub mod fill;
pub mod hops;
pub mod host;
pub mod http;
pub mod irtt_json;
pub mod key;
pub mod load;
pub mod marks;
pub mod metrics;
pub mod open;
mod order;
pub mod own_queue;
pub mod params;
pub mod result;
pub mod rpm;
pub mod series;
pub mod server;

use std::io::{self, ErrorKind};

/// irtt's UDP port.
pub const PORT: u16 = 2112;

/// Why the kernel finds no route to a host, and what to do about it.
#[must_use]
pub fn no_way(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable | ErrorKind::NetworkDown => {
            "no route to it; check `ip route get`, and the cable or the Wi-Fi".into()
        }
        ErrorKind::AddrNotAvailable => {
            "this machine has no address for it: IPv6 may be off here; try -4, or check `ip address`".into()
        }
        ErrorKind::PermissionDenied => {
            format!("{error}: a firewall or a route of this machine forbids it; check `ip route get`")
        }
        _ => error.to_string(),
    }
}

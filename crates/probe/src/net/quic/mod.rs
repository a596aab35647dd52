//! QUIC flows over UDP sockets. The connections are those of [`crate::quic`]. This module adds their
//! datagrams, the clock, and the rules of a publicly reachable server:
//!
//! * It accepts datagrams only from addresses that have a load, and ignores all others.
//! * From these addresses it accepts a connection only after the client has shown that it receives at its
//!   port (Retry).
//! * A connection is a flow once it has named the load, which only the load's client knows, and comes from
//!   the load's address. Only then may data be sent to it.

mod client;
mod server;

pub(super) use client::QuicFlows;
pub use server::{QuicLoad, QuicServer};

use goodqueue::Nanos;

use super::header;
use super::session::PREFACE_LEN;
use super::sys;
use crate::quic::{OPENING, Settings};

const _: () = assert!(OPENING == PREFACE_LEN + header::LEN, "the opening is preface and header");

/// Longest datagram that we take, bytes.
const LONGEST: usize = 2048;
/// Datagrams that one socket receives or sends before others get their turn.
const TURN: usize = 256;
/// Bytes of datagrams that may wait to be read, as far as `net.core.rmem_max` allows.
const RECEIVE_BUFFER: u32 = 4 << 20;

/// The monotonic clock.
fn now() -> Nanos {
    Nanos(sys::monotonic().max(0).cast_unsigned())
}

/// The settings of connections over a real path. They search for the path's largest packet, up to that of
/// Ethernet. Packets are not ECN-capable, like those of Linux's TCP by default.
fn settings(v6: bool, window: u32, connections: usize) -> Settings {
    let search = Some(if v6 { 1452 } else { 1472 });
    Settings { search, window, connections, ..Settings::default() }
}

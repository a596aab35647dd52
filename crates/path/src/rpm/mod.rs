//! Responsiveness (draft-ietf-ippm-responsiveness) over HTTP/2 and TLS: a server, a client for any server,
//! and the document that tells the client what to ask for.
//!
//! * [`document`] is `/.well-known/nq`.
//! * [`server`] serves it, one byte, a large object, and a sink for uploads, to anyone, within bounds.
//! * [`client`] drives `goodqueue_probe::rpm` over sockets.
//! * [`trust`] decides which certificates are accepted. Both ends speak only HTTP/2. The algorithm and the
//!   figure have no sockets; they are in `goodqueue_probe`.

pub mod client;
pub mod document;
mod lean;
pub mod server;
pub mod trust;

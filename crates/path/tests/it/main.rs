//! The client and the server of a real path, against each other and against irtt, on loopback.
//!
//! Tests of memory and floods are separate programs, so that nothing else is counted.

#[path = "../ends/mod.rs"]
mod ends;
mod irtt;
mod load;
mod marks;
mod quic;
mod relay;
mod rpm;

//! Queues of one's own: right ones and wrong ones, in Rust and from shared libraries.

mod exported;
mod libraries;
mod wrong;

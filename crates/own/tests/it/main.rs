//! User-defined queues: right ones and wrong ones, in Rust and from shared libraries.

mod exported;
mod libraries;
mod wrong;

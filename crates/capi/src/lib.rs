//! The C library: `include/goodqueue.h` is made of `abi.rs`, `ffi/` and the catalogue of queues
//! (`examples/header.rs`).
//!
//! `ffi` checks every pointer and every misuse that can be seen and turns them into negative codes; what
//! is behind it is safe code over the slices that `ffi` cut out of the caller's memory.
#![cfg_attr(not(any(test, feature = "std")), no_std)]
#![deny(unsafe_code)]

mod abi;
mod bql;
mod build;
mod code;
mod config;
mod delivery;
mod drops;
mod extras;
#[allow(unsafe_code)]
mod ffi;
mod field;
mod guard;
mod queue;
mod wifi;

//! The C library. `examples/header.rs` generates `include/goodqueue.h` from `abi.rs`, `ffi/` and the
//! catalogue of queues.
//!
//! `ffi` checks every pointer and turns every detectable error into a negative code. The rest is safe code
//! over slices that `ffi` takes from the caller's memory.
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

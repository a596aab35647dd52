//! The interface to shared libraries: all `unsafe` of this crate.

pub(crate) mod abi;
pub(crate) mod call;
pub mod export;
#[cfg(any(unix, windows))]
pub(crate) mod load;

//! cli

pub mod replay;

//! Ours held against others: Linux's decisions call by call ([`replay`]), a real kernel's TCP ([`truth`]),
//! published figures ([`reproduce`]).
#![forbid(unsafe_code)]

pub mod replay;
pub mod reproduce;
pub mod truth;

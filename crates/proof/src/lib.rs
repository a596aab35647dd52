//! Compares Goodqueue with others: with Linux's decisions call by call ([`replay`]), a real kernel's TCP
//! ([`truth`]), and published figures ([`reproduce`]).
#![forbid(unsafe_code)]

pub mod autorate;
pub mod replay;
pub mod reproduce;
pub mod truth;

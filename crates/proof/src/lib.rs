//! Compares Goodqueue with others: with Linux's decisions call by call ([`replay`]), a real kernel's TCP
//! ([`truth`]), scripts written for that ([`packetdrill`]) and published figures ([`reproduce`]). It also
//! compares controllers that follow a varying link ([`autorate`]), the instances of `cake_mq` with one `cake`
//! ([`cake_mq`]), and the reproductions with and without models that are normally off ([`switches`]).
#![forbid(unsafe_code)]

pub mod autorate;
pub mod cake_mq;
pub mod packetdrill;
pub mod replay;
pub mod reproduce;
pub mod switches;
pub mod truth;

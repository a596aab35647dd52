//! Latency under load in virtual time: a discrete-event simulator whose queues are those of
//! `goodqueue` and whose hosts' TCP does what Linux 6.1's does where it shapes queues.
#![forbid(unsafe_code)]

pub mod tcp;

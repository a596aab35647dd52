//! Looks for queues that are too long in this host: [`facts()`] reads what the host has, [`findings`] says
//! what is wrong with it, [`mend`] changes one thing and keeps what was there before, and [`undo`] puts
//! that back.
//!
//! `docs/doctor.md` has each rule with its source.

mod facts;
mod mend;
mod rules;

pub use facts::{Bql, Facts, InterfaceFacts, Parent, Queue, ReceiveQueue, Shaper, Softnet, WifiFacts, facts};
pub use mend::{mend, undo};
pub use rules::{Finding, Fix, Severity, Step, findings};

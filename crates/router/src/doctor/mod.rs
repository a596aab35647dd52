//! Looks for queues that are too long in this host: [`facts()`] reads the state of the host, [`findings`]
//! says what is wrong with it, [`fix`] changes one thing and saves the previous state, and [`undo`] restores
//! that.
//!
//! `docs/doctor.md` has each rule with its source.

mod facts;
mod fix;
mod rules;

pub use facts::{Bql, Facts, InterfaceFacts, Parent, Queue, ReceiveQueue, Shaper, Softnet, WifiFacts, facts};
pub use fix::{fix, undo};
pub use rules::{Finding, Fix, Severity, Step, findings};

//! TCP as Linux 6.1 sends and receives it, as far as it shapes queues: state machines without clock,
//! socket or payload.

pub mod cc;
mod segment;

pub use segment::{Flags, Sack, Segment};

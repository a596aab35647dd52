//! TCP as in Linux 6.1, as far as it matters for queues: state machines without clock, socket or payload.

mod accecn;
pub mod cc;
mod config;
mod kernel;
mod negotiate;
mod rack;
mod rtt;
mod rx;
mod scoreboard;
mod segment;
mod socket;
mod tx;

#[cfg(test)]
mod tests;

pub use accecn::{AccEcnHost, EcnBytes, EcnCounts};
pub use config::{Config, Opening, truesize};
pub use kernel::{Kernel, NotAKernel};
pub use rx::Rx;
pub(crate) use segment::Header;
pub use segment::{Blocks, ECT0, ECT1, Flags, Rest, Sack, Segment};
pub use socket::{
    Agreed, Cookie, FastOpenHost, Granted, Host, Icmp, Info, Keepalive, Notice, Notices, Options, Packet,
    Sending, Socket, SocketError, Stamp, Stamping, State, Wakes,
};
pub use tx::{Tx, TxStats};

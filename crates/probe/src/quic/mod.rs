//! QUIC as load: quinn's state machine (RFC 9000 to 9002), without sockets and without a clock.
//!
//! A flow is a connection of its own, so it has a congestion control of its own. The client opens one
//! bidirectional stream. It sends [`OPENING`] bytes, which say what the flow is, and for an upload the data
//! behind them. For a download the server answers with the data. The data never end: a flow ends when one
//! end closes the connection.
//!
//! [`Host`] is one end of such connections. Its owner hands it datagrams and the time, and sends what it
//! gives. The sockets of `goodqueue_probe::net` own one, and so does the simulator, in virtual time.
//!
//! * [`host`]: the ends.
//! * [`control`]: congestion controls by name, and what is known of a sender.
//! * [`plain`]: the handshake without cryptography, for the simulator.

pub mod control;
pub mod host;
pub mod plain;

pub use host::{Arrival, ClientKeys, Event, Host, OPENING, Outgoing, ServerKeys, Settings, View};

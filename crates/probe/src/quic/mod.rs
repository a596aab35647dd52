//! QUIC as load: quinn's state machine (RFC 9000 to 9002), without sockets and without a clock. Each flow is
//! a separate connection, so it has its own congestion control. The client opens one bidirectional stream. It
//! sends [`OPENING`] bytes, which describe the flow, followed by the data of an upload. For a download the
//! server answers with the data. The data never ends: a flow ends when one end closes the connection.
//!
//! [`Host`] is one end of such connections. Its owner passes it datagrams and the time, and sends what it
//! returns. The sockets of `goodqueue_probe::net` own one, and so does the simulator, in virtual time.
//!
//! * [`host`]: the ends.
//! * [`control`]: congestion controls by name, and their information about a sender.
//! * [`plain`]: the handshake without cryptography, for the simulator.

pub mod control;
pub mod host;
pub mod plain;

pub use host::{Arrival, ClientKeys, Event, Host, OPENING, Outgoing, ServerKeys, Settings, View};

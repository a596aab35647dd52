//! Load over real paths: TCP or QUIC flows between a client and a server that anybody may reach.
//!
//! One TCP port takes two kinds of connections. A **control connection** is TLS 1.3. Both ends hold one
//! [`Secret`]: the server's key follows from it, and the client proves that it has it too. The client starts
//! and stops loads over it, and the server reports what its ends of the flows see. A **flow** begins with the
//! 128 random bits of the load that it belongs to, which only the control connection has told, and is taken
//! from the address of the control connection alone. So the server sends load to nobody who did not ask for
//! it.
//!
//! QUIC flows go to a UDP port of their own ([`goodqueue_probe::net::QuicServer`]). Their handshake has the
//! server's key of the control connection, and each flow begins with the same bits.
//!
//! * [`word`]: the secret, and the word that it is printed as.
//! * [`message`]: the messages of the control connection, a JSON object a line.
//! * [`server`] and [`client`]: the two ends.

pub mod client;
pub mod message;
pub mod server;
mod tls;
pub mod word;

pub use word::Secret;

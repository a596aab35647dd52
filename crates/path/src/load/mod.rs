//! Load over real paths: TCP or QUIC flows between a client and a publicly reachable server. One TCP port
//! accepts two kinds of connections. A **control connection** is TLS 1.3. Both ends have one [`Secret`]: the
//! server's key is derived from it, and the client proves that it has it too. The client starts and stops
//! loads over this connection, and the server reports the samples of its ends of the flows. A **flow** begins
//! with the 128 random bits of its load, which were sent only over the control connection. It is accepted
//! only from the address of the control connection. So the server sends load only to clients that asked for
//! it. QUIC flows go to a separate UDP port ([`goodqueue_probe::net::QuicServer`]). Their handshake uses the
//! server's key of the control connection, and each flow begins with the same bits.
//! * [`word`]: the secret, and its printed form, the word.
//! * [`message`]: the messages of the control connection, one JSON object on each line.
//! * [`tls`]: how both ends prove in TLS that they have the secret.
//! * [`server`] and [`client`]: the two ends.

pub mod client;
pub mod message;
pub mod server;
pub mod tls;
pub mod word;

pub use word::Secret;

//! Sender and receiver against each other on a small path.

mod conserve;
mod handshake;
mod l4s;
mod limits;
mod ordinary;
mod pipe;
mod receiver;
mod recovery;
mod socket;
mod transfer;

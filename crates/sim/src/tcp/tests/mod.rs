//! Sender and receiver against each other on a small path.

mod conserve;
mod pipe;
mod transfer;

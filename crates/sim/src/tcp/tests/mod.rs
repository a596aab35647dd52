//! Sender and receiver against each other on a small path.

mod pipe;
mod transfer;

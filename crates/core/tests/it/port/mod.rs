//! The port: exact lines, logical time, pause, byte queue limits, several rings.
#![allow(clippy::unwrap_used)]

mod basics;
mod bql;
mod lines;
mod mq;
mod order;
mod pause;
mod support;

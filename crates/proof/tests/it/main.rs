//! Tests of the comparisons with Linux and with published figures.

mod autorate;
mod cake_mq;
mod own_queue;
mod packetdrill;
mod replay;
mod truth;

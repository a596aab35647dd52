//! The files of a traced flow: read again by a naive reader of their formats, compared with hand-made ones,
//! and opened by tshark.

mod any;
mod graph;
mod reader;
mod story;
mod wireshark;

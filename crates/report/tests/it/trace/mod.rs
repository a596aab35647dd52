//! The files of a traced flow: read by a simple reader of their formats, compared with hand-made ones, and
//! opened by tshark.

mod any;
mod graph;
mod reader;
mod story;
mod wireshark;

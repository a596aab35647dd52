//! Parsers of untrusted bytes that are otherwise private, for the targets in `fuzz/`.

use super::header::{self, FlowHeader};
use super::request::Request;

/// Reads the header of a flow and writes it again.
#[must_use]
pub fn flow_header(bytes: &[u8; header::LEN]) -> Option<[u8; header::LEN]> {
    FlowHeader::parse(bytes).map(|header| header.emit())
}

/// Reads a request for web data: its bytes, those of the answer, and the request written again.
#[must_use]
pub fn web_request(bytes: &[u8; header::LEN]) -> Option<(u32, u64, [u8; header::LEN])> {
    Request::parse(bytes).map(|request| (request.request, request.response, request.emit()))
}

/// The information in the kernel's control messages about a datagram: when it came, its ToS byte and its TTL.
#[cfg(target_os = "linux")]
#[must_use]
pub fn control_messages(bytes: &[u8]) -> (Option<i64>, Option<u8>, Option<u8>) {
    let messages = super::sys::control_messages(bytes);
    let _ = messages.transmission();
    (messages.wall, messages.tos, messages.ttl)
}

//! A capture with nanosecond timestamps, comments and three interfaces, as in `draft-ietf-opsawg-pcapng`.
//!
//! `sender` and `receiver` are the two hosts: each captures what it sends and what is delivered to it.
//! `queue` captures packets that queues mark or drop, or that are lost, with the reason as the packet's
//! comment. A program that follows TCP over all interfaces takes a segment seen twice for a retransmission.
//! Look at one interface at a time (`frame.interface_name == "sender"`).
//!
//! Payload is not captured; checksums are over a payload of zeros.

use std::io::{self, Write};

use super::{Event, Leg, Trace, What, headers};

/// Block types (sections 4.1 to 4.3).
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const LINKTYPE_ETHERNET: u16 = 1;

/// Option codes (sections 3.5, 4.1, 4.2 and 4.3).
const COMMENT: u16 = 1;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TSRESOL: u16 = 9;
const EPB_FLAGS: u16 = 2;

/// Direction in `epb_flags`.
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

const INTERFACES: [(&str, &str); 3] = [
    ("sender", "the sender's host: data sent, acknowledgements delivered"),
    ("receiver", "the receiver's host: data delivered, acknowledgements sent"),
    ("queue", "marked, dropped or lost between the hosts"),
];

/// Writes the capture.
///
/// # Errors
/// The errors of `out`.
pub fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    section_header(trace, out)?;
    for (name, description) in INTERFACES {
        interface(name, description, out)?;
    }
    let mut body = Vec::new();
    for event in trace.by_time() {
        body.clear();
        packet(trace, event, &mut body);
        block(ENHANCED_PACKET, &body, out)?;
    }
    Ok(())
}

fn block(kind: u32, body: &[u8], out: &mut dyn Write) -> io::Result<()> {
    // Bodies are a header, at most three short options and one text of at most 64 KiB.
    let total = (u32::try_from(body.len()).unwrap_or(u32::MAX - 12) + 12).to_le_bytes();
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&total)?;
    out.write_all(body)?;
    out.write_all(&total)
}

fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

fn option(code: u16, value: &[u8], body: &mut Vec<u8>) {
    let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
    body.extend(code.to_le_bytes());
    body.extend(length.to_le_bytes());
    body.extend(&value[..usize::from(length)]);
    pad(body);
}

/// A text option of at most `u16::MAX` bytes, cut between characters.
fn text(code: u16, words: &str, body: &mut Vec<u8>) {
    let end = words.floor_char_boundary(usize::from(u16::MAX));
    option(code, &words.as_bytes()[..end], body);
}

/// `opt_endofopt`.
fn end_of_options(body: &mut Vec<u8>) {
    option(0, &[], body);
}

fn section_header(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let mut body = Vec::new();
    body.extend(BYTE_ORDER_MAGIC.to_le_bytes());
    // Version 1.0, section of unknown length.
    body.extend([1, 0, 0, 0]);
    body.extend((-1_i64).to_le_bytes());
    text(SHB_USERAPPL, concat!("goodqueue ", env!("CARGO_PKG_VERSION")), &mut body);
    text(
        COMMENT,
        &format!("{}, queue {}; time 0 is the start of the load", trace.flow, trace.queue),
        &mut body,
    );
    end_of_options(&mut body);
    block(SECTION_HEADER, &body, out)
}

fn interface(name: &str, description: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut body = Vec::new();
    body.extend(LINKTYPE_ETHERNET.to_le_bytes());
    body.extend([0, 0]);
    body.extend(headers::LONGEST.to_le_bytes());
    text(IF_NAME, name, &mut body);
    text(IF_DESCRIPTION, description, &mut body);
    // 10^-9 s.
    option(IF_TSRESOL, &[9], &mut body);
    end_of_options(&mut body);
    block(INTERFACE, &body, out)
}

fn packet(trace: &Trace, event: &Event, body: &mut Vec<u8>) {
    let (interface, direction) = seen(event);
    body.extend(interface.to_le_bytes());
    #[allow(clippy::cast_possible_truncation)]
    let (high, low) = ((event.at_ns >> 32) as u32, event.at_ns as u32);
    body.extend(high.to_le_bytes());
    body.extend(low.to_le_bytes());
    body.extend([0; 8]);
    let start = body.len();
    let original = headers::append(trace, event, body);
    let captured = u32::try_from(body.len() - start).unwrap_or(headers::LONGEST);
    body[start - 8..start - 4].copy_from_slice(&captured.to_le_bytes());
    body[start - 4..start].copy_from_slice(&original.to_le_bytes());
    pad(body);
    let comment = comment(trace, event);
    if let Some(words) = &comment {
        text(COMMENT, words, body);
    }
    if let Some(direction) = direction {
        option(EPB_FLAGS, &direction.to_le_bytes(), body);
    }
    if comment.is_some() || direction.is_some() {
        end_of_options(body);
    }
}

/// The interface that captures an event, and whether the packet is outbound or inbound there.
fn seen(event: &Event) -> (u32, Option<u32>) {
    match (event.what, event.leg) {
        (What::Sent, Leg::Data) => (0, Some(OUTBOUND)),
        (What::Delivered, Leg::Ack) => (0, Some(INBOUND)),
        (What::Delivered, Leg::Data) => (1, Some(INBOUND)),
        (What::Sent, Leg::Ack) => (1, Some(OUTBOUND)),
        (What::Marked(_) | What::Dropped(_), _) => (2, None),
    }
}

fn comment(trace: &Trace, event: &Event) -> Option<String> {
    let place = || {
        let name = trace.links.get(event.link as usize).map(|name| format!(" ({name})"));
        format!("link {}{}", event.link, name.unwrap_or_default())
    };
    match event.what {
        What::Dropped(reason) => Some(format!("dropped by {reason} at {}", place())),
        What::Marked(reason) => Some(format!("marked CE by {reason} at {}", place())),
        What::Sent if event.segment.retransmitted => Some("retransmission".into()),
        What::Sent | What::Delivered => None,
    }
}

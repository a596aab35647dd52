//! Generic receive offload (GRO): a receiving device joins the segments of a flow that it takes in one poll,
//! and passes them on as one super-packet. The rules are those of Linux 6.1: `net/core/gro.c`
//! (`dev_gro_receive`, `skb_gro_receive`, `napi_gro_flush`) and `net/ipv4/tcp_offload.c` (`tcp_gro_receive`).
//! [`crate::propagation`] defines when a poll takes place. Nothing is kept from one poll to the next: Linux
//! flushes at the end of each poll if `gro_flush_timeout` is 0 and HZ is below 1000. `gro_normal_batch` only
//! changes how many packets go up in one call, and calls take no time here.

use crate::frame::{Frame, Frames, Kind};
use crate::tcp::Flags;
use crate::token::FrameId;

/// Maximum packets per poll (Linux `NAPI_POLL_WEIGHT`).
pub(crate) const NAPI_POLL_WEIGHT: u32 = 64;
/// Lists of held packets, by flow hash (Linux `GRO_HASH_BUCKETS`).
const GRO_HASH_BUCKETS: usize = 8;
/// Maximum packets held in one list (Linux `MAX_GRO_SKBS`).
const MAX_GRO_SKBS: usize = 8;
/// A joined IP packet is shorter than this, bytes (Linux `GRO_LEGACY_MAX_SIZE`). The number of fragments is
/// not a limit: from the 18th on, Linux chains packets (`skb_gro_receive`).
const GRO_MAX_SIZE: u32 = 65_536;
/// Bytes of an Ethernet header, which the limit does not count.
const ETHERNET_HEADER: u32 = 14;

/// The packets of one poll.
#[derive(Debug, Default)]
pub(crate) struct Gro {
    /// Packets that may still grow, the oldest of each list first.
    held: [Vec<FrameId>; GRO_HASH_BUCKETS],
    /// Packets for the next layer, in order.
    passed: Vec<FrameId>,
    /// Number of packets that were joined to others.
    joined: u64,
}

impl Gro {
    /// The next packet of the poll (Linux `dev_gro_receive`).
    pub(crate) fn receive(&mut self, id: FrameId, frames: &mut Frames) {
        let frame = frames.get(id);
        // Pure acknowledgements have no payload, and UDP is joined only for sockets that ask for it.
        if frame.kind != Kind::Data {
            return self.passed.push(id);
        }
        let mss = frames.mss(frame).max(1);
        let is_last = ends_packet(frame, mss);
        let list = &mut self.held[frame.flow_hash as usize % GRO_HASH_BUCKETS];
        if let Some(place) = list.iter().position(|&held| frames.get(held).owner == frame.owner) {
            let held = list[place];
            let can_join = continues(frames.get(held), frame, mss);
            if can_join {
                frames.join(held, id);
                self.joined += 1;
            }
            if is_last || !can_join {
                self.passed.push(list.remove(place));
            }
            if can_join {
                return;
            }
        }
        if is_last {
            return self.passed.push(id);
        }
        if list.len() == MAX_GRO_SKBS {
            self.passed.push(list.remove(0));
        }
        list.push(id);
    }

    /// The poll ends: held packets are passed on (Linux `napi_gro_flush`).
    pub(crate) fn flush(&mut self) {
        for list in &mut self.held {
            self.passed.append(list);
        }
    }

    /// The packets for the next layer, in order, and how many packets were joined to them.
    pub(crate) fn take(&mut self) -> (std::vec::Drain<'_, FrameId>, u64) {
        (self.passed.drain(..), std::mem::take(&mut self.joined))
    }
}

/// Whether nothing can be joined behind a packet: its last segment is short, or it has one of these flags
/// (end of Linux `tcp_gro_receive`).
fn ends_packet(frame: &Frame, mss: u32) -> bool {
    const ENDS: u8 = Flags::PSH.0 | Flags::SYN.0 | Flags::RST.0 | Flags::FIN.0;
    let segment = &frame.segment;
    segment.len == 0 || !segment.len.is_multiple_of(mss) || segment.flags.0 & ENDS != 0
}

/// Whether `frame` continues the packet `held` of its flow: the next sequence number, and equal headers but
/// for FIN and PSH (Linux `tcp_gro_receive`; the DS byte: `inet_gro_receive`; the length: `skb_gro_receive`).
fn continues(held: &Frame, frame: &Frame, mss: u32) -> bool {
    const MAY_DIFFER: u8 = Flags::CWR.0 | Flags::FIN.0 | Flags::PSH.0;
    let (before, segment) = (&held.segment, &frame.segment);
    let same_header = (before.flags.0 ^ segment.flags.0) & !MAY_DIFFER == 0
        && !segment.flags.has(Flags::CWR)
        && before.ack == segment.ack
        && before.window == segment.window
        && (before.ts_val, before.ts_ecr) == (segment.ts_val, segment.ts_ecr)
        && held.dsfield == frame.dsfield;
    let headers = (held.len - before.len) / before.len.div_ceil(mss).max(1);
    let packet = headers.saturating_sub(ETHERNET_HEADER) + before.len;
    segment.len > 0
        && same_header
        && before.seq + u64::from(before.len) == segment.seq
        && packet + segment.len < GRO_MAX_SIZE
}

#[cfg(test)]
#[path = "gro_tests.rs"]
mod tests;

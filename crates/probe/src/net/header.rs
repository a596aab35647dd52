//! The header of a flow's connection, with which the client describes the flow to the server.
//!
//! ```text
//! octet  0  magic "GQf1"
//!        4  index of the flow, u32 (all integers little-endian)
//!        8  direction: 0 up, 1 down
//!        9  ToS byte, ECN field 0
//!       10  zero, 6 octets
//!       16  start, i64 ns from the start of the load
//!       24  stop, i64 ns
//!       32  time between two samples of goodput, u64 ns
//!       40  congestion control, padded with zeros, 16 octets, the last one zero
//!       56  largest pacing rate of the server's end, u64 bit/s; 0: none
//! ```

use goodqueue::{Rate, Span};

use super::ns;
use crate::{Direction, Dscp, Params, Test};

/// Bytes of the header.
pub(super) const LEN: usize = 64;
const MAGIC: [u8; 4] = *b"GQf1";
const DAY: i64 = 86_400_000_000_000;
const LEAST_STEP: u64 = 10_000_000;

/// The description of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FlowHeader {
    pub(super) flow: u32,
    pub(super) direction: Direction,
    pub(super) dscp: Dscp,
    pub(super) start: i64,
    pub(super) stop: i64,
    pub(super) step: Span,
    pub(super) cc: String,
    /// For a download. A server that does not know this field refuses a flow that has it.
    pub(super) max_rate: Option<Rate>,
}

impl FlowHeader {
    /// The header of a flow of a test, by its number.
    pub(super) fn of(test: &Test, index: usize) -> FlowHeader {
        let flow = &test.flows[index];
        FlowHeader {
            flow: u32::try_from(index).unwrap_or(u32::MAX),
            direction: flow.direction,
            dscp: flow.dscp,
            start: ns(flow.start),
            stop: ns(flow.stop),
            step: test.step,
            // A header always has a name. For an upload it has no effect, since the sender is here.
            cc: if flow.cc.is_empty() { Params::DEFAULT_CC.into() } else { flow.cc.clone() },
            max_rate: flow.max_rate.filter(|_| flow.direction == Direction::Down),
        }
    }

    pub(super) fn emit(&self) -> [u8; LEN] {
        let mut out = [0; LEN];
        out[..4].copy_from_slice(&MAGIC);
        out[4..8].copy_from_slice(&self.flow.to_le_bytes());
        out[8] = u8::from(self.direction == Direction::Down);
        out[9] = self.dscp.tos();
        out[16..24].copy_from_slice(&self.start.to_le_bytes());
        out[24..32].copy_from_slice(&self.stop.to_le_bytes());
        out[32..40].copy_from_slice(&self.step.0.to_le_bytes());
        let cc = self.cc.as_bytes();
        let len = cc.len().min(15);
        out[40..40 + len].copy_from_slice(&cc[..len]);
        out[56..].copy_from_slice(&self.max_rate.map_or(0, |rate| rate.0).to_le_bytes());
        out
    }

    /// Parses a header; `None` if any field is out of range.
    pub(super) fn parse(bytes: &[u8; LEN]) -> Option<FlowHeader> {
        let long = |at: usize| {
            let mut out = [0; 8];
            out.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(out)
        };
        let zero = |range: std::ops::Range<usize>| bytes[range].iter().all(|&b| b == 0);
        let len = bytes[40..56].iter().position(|&b| b == 0)?;
        let cc = std::str::from_utf8(&bytes[40..40 + len]).ok()?;
        let named = len > 0 && cc.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        let (start, stop, step) = (long(16).cast_signed(), long(24).cast_signed(), long(32));
        let times = (0..DAY).contains(&start) && start < stop && stop <= DAY;
        let steps = (LEAST_STEP..=DAY.cast_unsigned()).contains(&step);
        let sound = bytes[..4] == MAGIC
            && bytes[8] < 2
            && bytes[9] & 3 == 0
            && zero(10..16)
            && zero(40 + len..56)
            && (long(56) == 0 || bytes[8] == 1)
            && named
            && times
            && steps;
        sound.then(|| FlowHeader {
            flow: u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
            direction: if bytes[8] == 0 { Direction::Up } else { Direction::Down },
            dscp: Dscp::of_tos(bytes[9]),
            start,
            stop,
            step: Span(step),
            cc: cc.into(),
            max_rate: Some(Rate(long(56))).filter(|rate| rate.0 > 0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header() -> FlowHeader {
        FlowHeader {
            flow: 0x0102_0304,
            direction: Direction::Down,
            dscp: Dscp::EF,
            start: 5_000_000_000,
            stop: 65_000_000_000,
            step: Span::from_millis(200),
            cc: "cubic".into(),
            max_rate: Some(Rate(2_000_000)),
        }
    }

    #[test]
    fn the_layout_is_the_documented_one() {
        #[rustfmt::skip]
        let golden: [u8; LEN] = [
            b'G', b'Q', b'f', b'1', 4, 3, 2, 1, 1, 0xb8, 0, 0, 0, 0, 0, 0,
            0x00, 0xf2, 0x05, 0x2a, 0x01, 0, 0, 0, 0x00, 0x4a, 0x4d, 0x22, 0x0f, 0, 0, 0,
            0x00, 0xc2, 0xeb, 0x0b, 0, 0, 0, 0, b'c', b'u', b'b', b'i', b'c', 0, 0, 0,
            0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x84, 0x1e, 0, 0, 0, 0, 0,
        ];
        assert_eq!(header().emit(), golden);
        assert_eq!(FlowHeader::parse(&golden), Some(header()));
    }

    #[test]
    fn malformed_headers_are_refused() {
        let good = header().emit();
        // Only a download has a sender whose rate the server could limit.
        let upload = FlowHeader { direction: Direction::Up, ..header() };
        assert_eq!(FlowHeader::parse(&upload.emit()), None);
        let free = FlowHeader { max_rate: None, ..upload };
        assert_eq!(FlowHeader::parse(&free.emit()), Some(free));
        for (at, value) in [(0, b'X'), (8, 2), (9, 1), (12, 1), (31, 0xff), (39, 1), (40, 0), (41, b'/')] {
            let mut bad = good;
            bad[at] = value;
            assert_eq!(FlowHeader::parse(&bad), None, "octet {at}");
        }
        let mut long = good;
        long[40..].fill(b'a');
        assert_eq!(FlowHeader::parse(&long), None);
        assert_eq!(FlowHeader::parse(&FlowHeader { stop: 0, ..header() }.emit()), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), LEN), at in 0..LEN, to: u8) {
            let mut near = header().emit();
            near[at] = to;
            for bytes in [<[u8; LEN]>::try_from(&bytes[..]).unwrap(), near] {
                if let Some(header) = FlowHeader::parse(&bytes) {
                    prop_assert_eq!(header.emit(), bytes);
                }
            }
        }
    }
}

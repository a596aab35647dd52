//! The TCP header of a frame, for queues that need it.

use goodqueue::details::{MOST_OPTIONS, TcpHeader};
use goodqueue::{FlowHasher, FlowKey};

use crate::frame::{self, TCP};

/// Bytes of a TCP header without options.
const FIXED: usize = 20;

pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|&two| u16::from_be_bytes(two))
}

/// The TCP segment of a frame, without padding of the link. IPv6 is supported only without extension headers,
/// as in Linux 6.1 `sch_cake.c:cake_get_tcphdr`.
fn segment(frame: &[u8]) -> Option<&[u8]> {
    let packet = frame.get(frame::ip(frame)?.0..)?;
    if packet.first()? >> 4 == 4 {
        let header = usize::from(packet.first()? & 0x0f) * 4;
        return packet.get(header..usize::from(word(packet, 2)?));
    }
    if *packet.get(6)? != TCP {
        return None;
    }
    packet.get(40..40 + usize::from(word(packet, 4)?))
}

/// Parses it; `None` if the frame is not TCP, is a fragment or is truncated.
pub(crate) fn read(frame: &[u8], hasher: &FlowHasher) -> Option<TcpHeader> {
    let meta = frame::parse(frame).filter(|meta| meta.protocol == TCP && !meta.fragment)?;
    let segment = segment(frame)?;
    let header = usize::from(segment.get(12)? >> 4) * 4;
    let given = segment.get(FIXED..header)?;
    let mut options = [0; MOST_OPTIONS];
    options.get_mut(..given.len())?.copy_from_slice(given);
    let ack = segment.get(8..)?.first_chunk().map(|&four| u32::from_be_bytes(four))?;
    let ports = u64::from(meta.source_port) << 16 | u64::from(meta.destination_port);
    let flow = FlowKey {
        source: meta.source,
        destination: meta.destination,
        protocol: TCP,
        source_port: meta.source_port,
        destination_port: meta.destination_port,
    };
    Some(TcpHeader {
        // Hosts and ports: the packets compared within a queue already have the same flow hash.
        connection: u64::from(hasher.hash(&flow)) << 32 | ports,
        ack,
        flags: word(segment, 12)? & 0x0fff,
        payload: u32::try_from(segment.len() - header).ok()?,
        options,
        options_len: u8::try_from(given.len()).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::ETHERNET;

    /// An acknowledgement from 10.0.0.1:1000 to 10.0.0.2:2000 with timestamps, padded by the link.
    fn ack() -> Vec<u8> {
        let mut frame = vec![0; ETHERNET];
        frame[12] = 8;
        frame.extend([0x45, 0, 0, 52, 0, 0, 0, 0, 64, TCP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([3, 232, 7, 208, 0, 0, 0, 0, 0, 0, 1, 0, 0x80, 0x50, 0, 0, 0, 0, 0, 0]);
        frame.extend([1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 6]);
        frame.extend([0; 6]);
        frame
    }

    #[test]
    fn an_acknowledgement_is_read() {
        let header = read(&ack(), &FlowHasher::new(1)).expect("TCP");
        assert_eq!((header.ack, header.flags, header.payload), (256, 0x50, 0));
        assert_eq!(header.options(), [1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 6]);
    }

    #[test]
    fn a_truncated_header_is_refused() {
        let whole = ack();
        for length in 0..ETHERNET + 52 {
            assert_eq!(read(&whole[..length], &FlowHasher::new(1)), None, "{length}");
        }
        let mut udp = whole;
        udp[ETHERNET + 9] = 17;
        assert_eq!(read(&udp, &FlowHasher::new(1)), None);
    }
}

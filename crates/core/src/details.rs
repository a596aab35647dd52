//! Packet data that `cake` needs beyond the descriptor. The owner returns it through
//! [`crate::PacketInfo`], so the descriptors of all other queues stay small.

/// Data that Linux reads from the headers and the `sk_buff` of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Details {
    /// Hash of the source address; 0 if there is none.
    pub source_hash: u32,
    /// Hash of the destination address; 0 if there is none.
    pub destination_hash: u32,
    /// Firewall mark (Linux `skb->mark`); 0: none.
    pub mark: u32,
    /// Priority (Linux `skb->priority`), any 32 bits; 0: none. If the upper 16 are the handle of `cake`, the
    /// lower 16 are the number of a tin.
    pub priority: u32,
    /// The result of a classifier in front of the queue.
    pub classified: Classified,
    /// Bytes before the network header that [`crate::Packet::len`] includes: 14 for Ethernet.
    pub network_offset: u16,
    /// Whether it is ARP, which goes into the class of network control.
    pub is_arp: bool,
    /// The structure of a super-packet; `None` for an ordinary packet.
    pub gso: Option<Gso>,
}

impl Default for Details {
    fn default() -> Self {
        Details {
            source_hash: 0,
            destination_hash: 0,
            mark: 0,
            priority: 0,
            classified: Classified::None,
            network_offset: 14,
            is_arp: false,
            gso: None,
        }
    }
}

/// The result of a classifier in front of the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Classified {
    /// No classifier matched.
    #[default]
    None,
    /// This class: the low 16 bits replace the flow hash, the high 16 bits both host hashes.
    Class(u32),
    /// The packet must be dropped.
    Shot,
    /// The classifier took the packet; it is handed back and does not count as a drop.
    Stolen,
}

/// A super-packet: segments of one flow that pass through the host as one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gso {
    /// Number of segments, at least 1.
    pub segments: u16,
    /// Payload of every segment but the last, bytes.
    pub size: u32,
    /// Headers of a segment, link layer to transport layer, bytes. [`crate::Packet::len`] of the
    /// super-packet counts them once for each segment.
    pub headers: u32,
}

/// Flags of a TCP header, in its thirteenth and fourteenth byte (RFC 9293 section 3.1).
pub mod flags {
    /// No more data from the sender.
    pub const FIN: u16 = 1;
    /// Synchronise sequence numbers.
    pub const SYN: u16 = 2;
    /// Reset the connection.
    pub const RST: u16 = 4;
    /// Push.
    pub const PSH: u16 = 8;
    /// The acknowledgement number is valid.
    pub const ACK: u16 = 16;
    /// The urgent pointer is valid.
    pub const URG: u16 = 32;
    /// ECN echo.
    pub const ECE: u16 = 64;
    /// Congestion window reduced.
    pub const CWR: u16 = 128;
    /// The four reserved bits.
    pub const RESERVED: u16 = 0xf00;
}

/// Maximum number of bytes of options in a TCP header.
pub const MOST_OPTIONS: usize = 40;

/// The TCP header of a packet, for `ack-filter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpHeader {
    /// Equal for two packets if and only if they belong to one connection in one direction: addresses, ports
    /// and IP version.
    pub connection: u64,
    /// Acknowledgement number.
    pub ack: u32,
    /// The flags and the four reserved bits, see [`flags`].
    pub flags: u16,
    /// Bytes of payload.
    pub payload: u32,
    /// The options with their padding; only `options_len` bytes count.
    pub options: [u8; MOST_OPTIONS],
    /// Bytes of options, at most 40.
    pub options_len: u8,
}

impl TcpHeader {
    /// The options.
    #[must_use]
    pub fn options(&self) -> &[u8] {
        &self.options[..usize::from(self.options_len).min(MOST_OPTIONS)]
    }
}

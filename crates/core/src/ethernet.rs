//! Ethernet's two lengths: of the IP packet, and of the frame, which queues count.

/// The longest IP packet, bytes (RFC 894; Linux `ETH_DATA_LEN`): the IP MTU.
pub const ETHERNET_MTU: u32 = 1500;

/// The longest frame, bytes (Linux `ETH_FRAME_LEN`, `psched_mtu`): the IP packet and the header of 14 bytes,
/// without the checksum.
pub const ETHERNET_FRAME: u32 = ETHERNET_MTU + 14;

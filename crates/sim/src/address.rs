//! Addresses and ports of simulated hosts, and the flow hash over them.

use std::net::{IpAddr, Ipv4Addr};

use goodqueue::{FlowHasher, FlowKey};

use crate::scenario::NodeId;

/// IP protocol numbers.
pub(crate) const ICMP: u8 = 1;
/// See [`ICMP`].
pub(crate) const TCP: u8 = 6;
/// See [`ICMP`].
pub(crate) const UDP: u8 = 17;

/// The two ends of a conversation, from the side that began it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conversation {
    pub(crate) client: NodeId,
    pub(crate) server: NodeId,
    pub(crate) protocol: u8,
    /// Which of the conversations of its kind it is: its number in the scenario.
    pub(crate) number: usize,
}

impl Conversation {
    /// Node number in 10.0.0.0/8.
    #[allow(clippy::cast_possible_truncation)]
    pub(crate) fn address(node: NodeId) -> Ipv4Addr {
        Ipv4Addr::from_bits(0x0a00_0000 | (node as u32 + 1) & 0x00ff_ffff)
    }

    /// Ports of client and server. ICMP has none: all its packets between two hosts are one flow, as a
    /// queue sees it. Client ports repeat after 2^15 conversations; the server port then differs.
    #[allow(clippy::cast_possible_truncation)]
    pub(crate) fn ports(&self) -> (u16, u16) {
        if self.protocol == ICMP {
            return (0, 0);
        }
        let client = 32_768 | (self.number & 0x7fff) as u16;
        let server = 5_001 + (self.number >> 15) as u16;
        (client, server)
    }

    /// The flow hash from client to server, or back.
    pub(crate) fn hash(&self, hasher: &FlowHasher, back: bool) -> u32 {
        let (client, server) = (Self::address(self.client), Self::address(self.server));
        let (client_port, server_port) = self.ports();
        let key = FlowKey {
            source: IpAddr::V4(client),
            destination: IpAddr::V4(server),
            protocol: self.protocol,
            source_port: client_port,
            destination_port: server_port,
        };
        hasher.hash(&if back {
            FlowKey {
                source: key.destination,
                destination: key.source,
                source_port: key.destination_port,
                destination_port: key.source_port,
                ..key
            }
        } else {
            key
        })
    }
}

//! Addresses and ports of simulated hosts, and the flow hash over them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use goodqueue::{FlowHasher, FlowKey};

use crate::scenario::{Flow, NodeId, Opener, Scenario};
use crate::tcp::Config;

/// IP protocol numbers.
pub(crate) const ICMP: u8 = 1;
/// See [`ICMP`].
pub(crate) const TCP: u8 = 6;
/// See [`ICMP`].
pub(crate) const UDP: u8 = 17;

/// The two ends of a conversation. The first is the side that began it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conversation {
    pub(crate) client: NodeId,
    pub(crate) server: NodeId,
    pub(crate) protocol: u8,
    /// Its number among the conversations of its kind, as in the scenario.
    pub(crate) number: usize,
    pub(crate) ipv6: bool,
}

impl Scenario {
    /// Whether two hosts speak IPv6 with each other.
    pub(crate) fn is_ipv6(&self, client: NodeId, server: NodeId) -> bool {
        self.ipv6 || [client, server].iter().any(|node| self.ipv6_nodes.contains(node))
    }

    /// The TCP configuration of a conversation, with the segment size for its IP version.
    pub(crate) fn tcp_over(&self, ipv6: bool) -> Config {
        let header = if ipv6 && !self.ipv6 { IPV6_HEADER - IPV4_HEADER } else { 0 };
        Config { mss: self.tcp.mss.saturating_sub(header), ..self.tcp }.clamped()
    }

    /// Frame length of a UDP datagram between two hosts, bytes: `payload` plus its headers.
    #[must_use]
    pub fn udp_frame(&self, client: NodeId, server: NodeId, payload: u32) -> u32 {
        udp_headers(self.is_ipv6(client, server)) + payload
    }

    /// Address and port of the sender and of the receiver of TCP flow `index`; `None` if there is no such
    /// flow.
    #[must_use]
    pub fn flow_ends(&self, mut index: usize) -> Option<[SocketAddr; 2]> {
        let mut flow = self.flows.get(index)?;
        while let Some(after) = flow.after.filter(|after| after.kept && after.flow < index) {
            (index, flow) = (after.flow, self.flows.get(after.flow)?);
        }
        let [client, server] = Conversation::of_flow(self, flow, index).ends();
        Some(match flow.opener {
            Opener::Sender => [client, server],
            Opener::Receiver => [server, client],
        })
    }
}

const IPV4_HEADER: u32 = 20;
const IPV6_HEADER: u32 = 40;

/// Ethernet and IP header, bytes.
pub(crate) const fn lower_headers(ipv6: bool) -> u32 {
    14 + if ipv6 { IPV6_HEADER } else { IPV4_HEADER }
}

/// Ethernet, IP and UDP headers (RFC 768), bytes. An ICMP echo header is as long as UDP's.
pub(crate) const fn udp_headers(ipv6: bool) -> u32 {
    lower_headers(ipv6) + 8
}

/// The address of a node: its number in 10.0.0.0/8 or fd00::/64.
#[allow(clippy::cast_possible_truncation)]
pub(crate) fn address(ipv6: bool, node: NodeId) -> IpAddr {
    if ipv6 {
        return Ipv6Addr::from_bits((0xfd << 120) | (node as u128 + 1)).into();
    }
    Ipv4Addr::from_bits(0x0a00_0000 | (node as u32 + 1) & 0x00ff_ffff).into()
}

impl Conversation {
    /// The conversation of TCP flow number `index`.
    pub(crate) fn of_flow(scenario: &Scenario, flow: &Flow, index: usize) -> Conversation {
        let (client, server) = match flow.opener {
            Opener::Sender => (flow.from, flow.to),
            Opener::Receiver => (flow.to, flow.from),
        };
        let ipv6 = scenario.is_ipv6(client, server);
        Conversation { client, server, protocol: TCP, number: index, ipv6 }
    }

    /// Ports of client and server. ICMP has no ports, so a queue sees all ICMP packets between two hosts as
    /// one flow. Client ports repeat after 2^15 conversations; the server port then differs.
    #[allow(clippy::cast_possible_truncation)]
    fn ports(&self) -> (u16, u16) {
        if self.protocol == ICMP {
            return (0, 0);
        }
        let client = 32_768 | (self.number & 0x7fff) as u16;
        let server = 5_001 + (self.number >> 15) as u16;
        (client, server)
    }

    /// Address and port of client and server.
    pub(crate) fn ends(&self) -> [SocketAddr; 2] {
        let (client_port, server_port) = self.ports();
        let end = |node, port| (address(self.ipv6, node), port).into();
        [end(self.client, client_port), end(self.server, server_port)]
    }

    /// The flow hash from client to server, or back.
    pub(crate) fn hash(&self, hasher: &FlowHasher, back: bool) -> u32 {
        let [client, server] = self.ends();
        let (source, destination) = if back { (server, client) } else { (client, server) };
        hasher.hash(&FlowKey {
            source: source.ip(),
            destination: destination.ip(),
            protocol: self.protocol,
            source_port: source.port(),
            destination_port: destination.port(),
        })
    }
}

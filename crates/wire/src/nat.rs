//! The connections whose addresses this machine translates, as reported by its connection tracking. After
//! translation all hosts of a network share one address, and a queue that is fair to hosts must know their
//! own addresses. Like Linux's `sch_cake.c:cake_update_flowkeys` it handles only IPv4. It knows protocols
//! with ports, and ICMP requests and answers, which have an identifier instead of ports.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};

use goodqueue::Direction;
use netlink_packet_core::{Nla, ParseableParametrized};
use netlink_packet_netfilter::conntrack::{
    ConntrackAttribute, ConntrackMessage, IPTuple, ProtoTuple, Tuple as Part,
};
use netlink_packet_netfilter::{NetfilterMessage, NetfilterMessageInner};

use crate::frame::{self, has_ports};
use crate::tcp_header::word;

/// Most translated connections that the table holds. Their rows, two for each, take 3.3 MB from the start,
/// and 6.6 MB at most: connections that end leave gaps.
pub const MOST_CONNECTIONS: usize = 50_000;

/// Datagrams whose first fragment has just left.
const MOST_DATAGRAMS: usize = 64;

const ICMP: u8 = 1;
/// What the kernel reports about ICMP connections (`nfnetlink_conntrack.h`: `CTA_PROTO_ICMP_ID`, `_TYPE`,
/// `_CODE`).
const ICMP_ID: u16 = 4;
const ICMP_TYPE: u16 = 5;
const ICMP_CODE: u16 = 6;
/// Each question with its answer: echo, timestamp, information, address mask (Linux
/// `nf_conntrack_proto_icmp.c:invmap`).
const QUESTIONS: [[u8; 2]; 4] = [[8, 0], [13, 14], [15, 16], [17, 18]];
/// Messages that contain a part of the packet that they are about: destination unreachable, source quench,
/// redirect, time exceeded, parameter problem (`nf_conntrack_icmpv4_error`).
const ERRORS: [u8; 5] = [3, 4, 5, 11, 12];
/// Bytes of the header of ICMP (RFC 792).
const ICMP_HEADER: usize = 8;

/// Source and destination of a packet, as the hosts on this side know them.
pub type Inside = [Ipv4Addr; 2];

/// The packets of one direction of a connection (Linux `struct nf_conntrack_tuple`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Tuple {
    source: Ipv4Addr,
    destination: Ipv4Addr,
    /// For ICMP, the number of the question.
    source_port: u16,
    /// For ICMP, type and code.
    destination_port: u16,
    protocol: u8,
}

impl Tuple {
    /// From what connection tracking reports about a direction; `None` if it is not IPv4, or the protocol is
    /// not known here.
    fn of(parts: &[Part]) -> Option<Tuple> {
        let (mut source, mut destination, mut ports, mut protocol) = (None, None, [None; 2], None);
        let mut icmp = [None; 2];
        for part in parts {
            match part {
                Part::Ip(addresses) => {
                    for address in addresses {
                        match address {
                            IPTuple::SourceAddress(IpAddr::V4(address)) => source = Some(*address),
                            IPTuple::DestinationAddress(IpAddr::V4(address)) => destination = Some(*address),
                            _ => {}
                        }
                    }
                }
                Part::Proto(all) => {
                    for one in all {
                        match one {
                            ProtoTuple::Protocol(number) => protocol = Some(u8::from(*number)),
                            ProtoTuple::SourcePort(port) => ports[0] = Some(*port),
                            ProtoTuple::DestinationPort(port) => ports[1] = Some(*port),
                            ProtoTuple::Other(one) => match (one.kind(), one.value_len()) {
                                (ICMP_ID, 2) => {
                                    let mut id = [0; 2];
                                    one.emit_value(&mut id);
                                    ports[0] = Some(u16::from_be_bytes(id));
                                }
                                (ICMP_TYPE | ICMP_CODE, 1) => {
                                    let mut byte = [0];
                                    one.emit_value(&mut byte);
                                    icmp[usize::from(one.kind() == ICMP_CODE)] = Some(byte[0]);
                                }
                                _ => {}
                            },
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        let protocol = protocol?;
        if protocol == ICMP {
            ports[1] = Some(u16::from_be_bytes([icmp[0]?, icmp[1]?]));
        }
        (protocol == ICMP || has_ports(protocol)).then_some(Tuple {
            source: source?,
            destination: destination?,
            source_port: ports[0]?,
            destination_port: ports[1]?,
            protocol,
        })
    }

    /// The tuple of an answer (Linux `nf_ct_invert_tuple`); `None` if there is none.
    fn inverse(self) -> Option<Tuple> {
        let turned = Tuple { source: self.destination, destination: self.source, ..self };
        if self.protocol != ICMP {
            let (source_port, destination_port) = (self.destination_port, self.source_port);
            return Some(Tuple { source_port, destination_port, ..turned });
        }
        let [kind, code] = self.destination_port.to_be_bytes();
        let pair = QUESTIONS.iter().find(|pair| pair.contains(&kind))?;
        let answer = if pair[0] == kind { pair[1] } else { pair[0] };
        Some(Tuple { destination_port: u16::from_be_bytes([answer, code]), ..turned })
    }
}

/// An IPv4 packet (RFC 791).
#[derive(Clone, Copy)]
struct Packet<'a> {
    header: &'a [u8],
    /// What follows the header, as far as it is there.
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    fn of(bytes: &'a [u8]) -> Option<Packet<'a>> {
        let first = *bytes.first()?;
        let (header, payload) = bytes.split_at_checked(usize::from(first & 0x0f) * 4)?;
        (first >> 4 == 4 && header.len() >= 20).then_some(Packet { header, payload })
    }

    fn protocol(self) -> u8 {
        self.header[9]
    }

    fn addresses(self) -> Inside {
        let address = |at: usize| Ipv4Addr::from_octets([0, 1, 2, 3].map(|n| self.header[at + n]));
        [address(12), address(16)]
    }

    /// Whether it is a fragment, and whether it is the first one.
    fn fragment(self) -> (bool, bool) {
        let field = u16::from_be_bytes([self.header[6], self.header[7]]);
        (field & 0x3fff != 0, field & 0x1fff == 0)
    }

    /// What distinguishes its datagram from others, if it is a fragment.
    fn datagram(self) -> Datagram {
        (self.addresses(), self.protocol(), u16::from_be_bytes([self.header[4], self.header[5]]))
    }

    /// The direction and connection that it belongs to (Linux `nf_ct_get_tuple`); `None` if nothing in it
    /// shows that.
    fn tuple(self) -> Option<Tuple> {
        let protocol = self.protocol();
        let (_, is_first) = self.fragment();
        let at = if protocol == ICMP { [4, 0] } else { [0, 2] };
        let [source, destination] = self.addresses();
        (is_first && (protocol == ICMP || has_ports(protocol))).then_some(Tuple {
            source,
            destination,
            source_port: word(self.payload, at[0])?,
            destination_port: word(self.payload, at[1])?,
            protocol,
        })
    }

    /// The packet that an ICMP error is about.
    fn refused(self) -> Option<Packet<'a>> {
        let is_error = self.protocol() == ICMP && self.fragment().1 && ERRORS.contains(self.payload.first()?);
        if is_error { Packet::of(self.payload.get(ICMP_HEADER..)?) } else { None }
    }
}

/// Addresses, protocol and identification.
type Datagram = (Inside, u8, u16);

/// The other direction of a connection.
#[derive(Clone, Copy, Debug)]
struct Other {
    source: Ipv4Addr,
    destination: Ipv4Addr,
    /// Whether the latest list named it.
    is_listed: bool,
}

/// The translated connections of this machine. Each has two rows, one for each direction.
#[derive(Debug)]
pub struct Translations {
    others: HashMap<Tuple, Other>,
    /// The `is_listed` of new rows; the rows of connections that are gone have the other one.
    listed: bool,
    has_overflown: bool,
    /// Datagrams that leave in fragments, and whose first fragment was translated.
    datagrams: VecDeque<(Datagram, Inside)>,
}

impl Default for Translations {
    fn default() -> Translations {
        Translations {
            others: HashMap::with_capacity(2 * MOST_CONNECTIONS),
            listed: false,
            has_overflown: false,
            datagrams: VecDeque::with_capacity(MOST_DATAGRAMS),
        }
    }
}

impl Translations {
    /// Takes a message of connection tracking without its netlink header: a connection that exists, is new,
    /// or is gone, by the message's kind (`linux/netfilter/nfnetlink_conntrack.h`). Anything else is ignored.
    pub fn take(&mut self, kind: u16, bytes: &[u8]) {
        let Ok(message) = NetfilterMessage::parse_with_param(bytes, kind) else { return };
        let (attributes, is_there) = match &message.inner {
            NetfilterMessageInner::Conntrack(ConntrackMessage::New(attributes)) => (attributes, true),
            NetfilterMessageInner::Conntrack(ConntrackMessage::Delete(attributes)) => (attributes, false),
            _ => return,
        };
        let (mut original, mut reply) = (None, None);
        for attribute in attributes {
            match attribute {
                ConntrackAttribute::CtaTupleOrig(parts) => original = Tuple::of(parts),
                ConntrackAttribute::CtaTupleReply(parts) => reply = Tuple::of(parts),
                _ => {}
            }
        }
        let (Some(original), Some(reply)) = (original, reply) else { return };
        // If a connection is not translated, its reply is the inverse of its original.
        if Some(reply) == original.inverse() {
            return;
        }
        if is_there {
            self.put(original, reply);
            self.put(reply, original);
        } else {
            self.others.remove(&original);
            self.others.remove(&reply);
        }
    }

    fn put(&mut self, one: Tuple, Tuple { source, destination, .. }: Tuple) {
        let other = Other { source, destination, is_listed: self.listed };
        let is_full = self.others.len() >= 2 * MOST_CONNECTIONS;
        match self.others.entry(one) {
            Entry::Occupied(mut place) => *place.get_mut() = other,
            Entry::Vacant(_) if is_full => self.has_overflown = true,
            Entry::Vacant(place) => {
                place.insert(other);
            }
        }
    }

    /// A list of all connections begins. Messages report its entries, and what changes meanwhile.
    pub fn begin_list(&mut self) {
        self.listed = !self.listed;
        self.has_overflown = false;
    }

    /// The list is complete: connections that it did not name are gone.
    pub fn end_list(&mut self) {
        let listed = self.listed;
        self.others.retain(|_, other| other.is_listed == listed);
    }

    /// Whether there were too many connections since the last list began. Those that did not fit keep the
    /// addresses in their packets.
    #[must_use]
    pub fn has_overflown(&self) -> bool {
        self.has_overflown
    }

    /// Connections that are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.others.len() / 2
    }

    /// Whether none is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.others.is_empty()
    }

    /// The addresses of the packet in a frame: before translation if it leaves (up), or after translation if
    /// it arrives (down); `None` if it is not known to be translated.
    ///
    /// As in `cake_update_flowkeys`: an arriving packet belongs to the direction that its addresses show; the
    /// other direction of the connection, reversed, has the addresses of the hosts. A leaving packet is the
    /// reverse of an answer to it. An ICMP error that leaves takes the way of an answer to the packet in it
    /// (`nf_conntrack_inet_error`). Connection tracking has reassembled the datagrams that leave, so all
    /// their fragments belong to the connection of the first one. Of arriving fragments, only the first one
    /// shows its connection.
    pub fn inside(&mut self, way: Direction, frame: &[u8]) -> Option<Inside> {
        let (at, _) = frame::ip(frame)?;
        let packet = Packet::of(frame.get(at..)?)?;
        let (is_fragment, is_first) = packet.fragment();
        if !is_fragment || way == Direction::Down {
            return self.translated(way, packet);
        }
        let datagram = packet.datagram();
        if !is_first {
            return self.datagrams.iter().find(|known| known.0 == datagram).map(|known| known.1);
        }
        self.datagrams.retain(|known| known.0 != datagram);
        let inside = self.translated(way, packet)?;
        if self.datagrams.len() == MOST_DATAGRAMS {
            self.datagrams.pop_front();
        }
        self.datagrams.push_back((datagram, inside));
        Some(inside)
    }

    fn translated(&self, way: Direction, packet: Packet) -> Option<Inside> {
        let key = match (way, packet.refused()) {
            (Direction::Up, Some(refused)) => refused.tuple()?,
            (Direction::Up, None) => packet.tuple()?.inverse()?,
            (Direction::Down, _) => packet.tuple()?,
        };
        let Other { source, destination, .. } = *self.others.get(&key)?;
        Some(match way {
            Direction::Up => [source, destination],
            Direction::Down => [destination, source],
        })
    }
}

#[cfg(test)]
#[path = "nat_tests.rs"]
mod tests;

//! Which connections this machine translates the addresses of, as its connection tracking tells: behind
//! translation all hosts of a network have one address, and a queue that is fair to hosts must know theirs.
//!
//! Like Linux's `sch_cake.c:cake_update_flowkeys` it is about IPv4 alone. It knows protocols with ports.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::{IpAddr, Ipv4Addr};

use netlink_packet_core::ParseableParametrized;
use netlink_packet_netfilter::conntrack::{
    ConntrackAttribute, ConntrackMessage, IPTuple, ProtoTuple, Tuple as Part,
};
use netlink_packet_netfilter::{NetfilterMessage, NetfilterMessageInner};

use crate::frame::{Meta, has_ports};

/// Most translated connections that are known. Their rows, two of each, take 3.3 MB from the start, and
/// 6.6 MB at most: connections that go leave gaps.
pub const MOST_CONNECTIONS: usize = 50_000;

/// Source and destination of a packet, as the hosts of this side know them.
pub type Inside = [Ipv4Addr; 2];

/// The packets of one direction of a connection (Linux `struct nf_conntrack_tuple`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Tuple {
    source: Ipv4Addr,
    destination: Ipv4Addr,
    source_port: u16,
    destination_port: u16,
    protocol: u8,
}

impl Tuple {
    /// From what connection tracking says of a direction; `None` if it is not of IPv4, or has no ports.
    fn of(parts: &[Part]) -> Option<Tuple> {
        let (mut source, mut destination, mut ports, mut protocol) = (None, None, [None; 2], None);
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
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        Some(Tuple {
            source: source?,
            destination: destination?,
            source_port: ports[0]?,
            destination_port: ports[1]?,
            protocol: protocol.filter(|protocol| has_ports(*protocol))?,
        })
    }

    /// Of a packet; `None` if connection tracking cannot be asked for it.
    fn of_packet(meta: &Meta) -> Option<Tuple> {
        let (IpAddr::V4(source), IpAddr::V4(destination)) = (meta.source, meta.destination) else {
            return None;
        };
        let Meta { protocol, source_port, destination_port, .. } = *meta;
        let is_known = has_ports(protocol) && !meta.fragment;
        is_known.then_some(Tuple { source, destination, source_port, destination_port, protocol })
    }

    /// That of an answer (Linux `nf_ct_invert_tuple`).
    fn inverse(self) -> Tuple {
        Tuple {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
            ..self
        }
    }
}

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
}

impl Default for Translations {
    fn default() -> Translations {
        Translations {
            others: HashMap::with_capacity(2 * MOST_CONNECTIONS),
            listed: false,
            has_overflown: false,
        }
    }
}

impl Translations {
    /// Takes a message of connection tracking without its netlink header: a connection that is there, or new,
    /// or gone, by the message's kind (`linux/netfilter/nfnetlink_conntrack.h`). Anything else is ignored.
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
        // What nothing translates has the inverse of its original as its reply.
        if reply == original.inverse() {
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

    /// A list of all connections begins. Messages say what is in it, and what changes meanwhile.
    pub fn begin_list(&mut self) {
        self.listed = !self.listed;
        self.has_overflown = false;
    }

    /// The list has come to its end: what it did not name is gone.
    pub fn end_list(&mut self) {
        let listed = self.listed;
        self.others.retain(|_, other| other.is_listed == listed);
    }

    /// Whether connections were too many since the last list began. Those have the addresses in their
    /// packets.
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

    /// The addresses of a packet before the translation of what leaves (`is_up`), or behind that of what
    /// arrives; `None` if it is not known to be translated.
    ///
    /// As `cake_update_flowkeys` has them: what arrives belongs to the direction that its addresses say, and
    /// the other direction of the connection, turned round, has those of the hosts. What leaves is what an
    /// answer to it will be, turned round.
    #[must_use]
    pub fn inside(&self, is_up: bool, meta: &Meta) -> Option<Inside> {
        let packet = Tuple::of_packet(meta)?;
        let other = self.others.get(&if is_up { packet.inverse() } else { packet })?;
        Some(if is_up { [other.source, other.destination] } else { [other.destination, other.source] })
    }
}

#[cfg(test)]
#[path = "nat_tests.rs"]
mod tests;

//! Interfaces, their addresses and neighbours.

use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

use netlink_packet_core::{
    DecodeError, NLM_F_CREATE, NLM_F_EXCL, NlaBuffer, NlasIterator, Parseable, parse_string, parse_u32,
};
use netlink_packet_route::AddressFamily;
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteMessage, RouteProtocol, RouteScope, RouteType,
};

use super::{DELETE_LINK, GET_LINK, NEW_ADDRESS, NEW_LINK, NEW_NEIGHBOUR, NEW_ROUTE, Route, SET_LINK};
use crate::{Error, Result};

/// The beginning of the name of an interface that has no alias yet ([`Route::add_ifb`]).
pub const UNFINISHED: &str = "gqtry";

/// An Ethernet address.
pub(crate) type Mac = [u8; 6];

/// One end of a veth pair.
pub(crate) struct End<'a> {
    pub(crate) name: &'a str,
    pub(crate) mac: Mac,
    pub(crate) mtu: u32,
}

impl End<'_> {
    fn attributes(&self) -> Vec<LinkAttribute> {
        vec![
            LinkAttribute::IfName(self.name.to_owned()),
            LinkAttribute::Address(self.mac.to_vec()),
            LinkAttribute::Mtu(self.mtu),
        ]
    }
}

/// Where a route leads (`rtnetlink(7)`).
pub(crate) enum Via {
    /// To a station on the network of an interface; in the table `local`, where local addresses are found
    /// first.
    Direct(u32),
    /// To this host, through its loopback interface (`RTN_LOCAL`).
    Local(u32),
    /// To a gateway; in the table `main`.
    Gateway(IpAddr),
}

fn link(index: u32, attributes: Vec<LinkAttribute>) -> LinkMessage {
    let mut link = LinkMessage::default();
    link.header.index = index;
    link.attributes = attributes;
    link
}

fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}

impl Route {
    /// Creates a veth pair with `near` here and `far` in the namespace `namespace`; both are down.
    pub(crate) fn add_veth(
        &mut self,
        near: &End<'_>,
        far: &End<'_>,
        namespace: BorrowedFd<'_>,
    ) -> Result<()> {
        let mut there = far.attributes();
        there.push(LinkAttribute::NetNsFd(namespace.as_raw_fd()));
        let peer = InfoData::Veth(InfoVeth::Peer(link(0, there)));
        let mut here = near.attributes();
        here.push(LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Veth), LinkInfo::Data(peer)]));
        self.request(NEW_LINK, &link(0, here), NLM_F_CREATE | NLM_F_EXCL, near.name)
    }

    /// Creates an IFB (intermediate functional block), on which packets that arrive at another interface can
    /// be shaped. `alias` names its owner; it has `queues` transmit queues. It is down.
    ///
    /// It gets its name and its alias in one request, so an IFB of this name always has its alias. A process
    /// that is killed before this request leaves one that is called [`UNFINISHED`], followed by the process
    /// ID.
    ///
    /// # Errors
    /// `System`: `EOPNOTSUPP` in a kernel without `ifb`.
    pub fn add_ifb(&mut self, name: &str, alias: &str, queues: u32) -> Result<()> {
        let first = format!("{UNFINISHED}{}", std::process::id());
        self.create_link(InfoKind::Ifb, &first, vec![LinkAttribute::NumTxQueues(queues)])?;
        let index = index(self, &first)?;
        let named = self.name_link(index, name, alias);
        if named.is_err() {
            self.delete_link(index, &first)?;
        }
        named
    }

    /// Creates an interface that discards what it should send (`dummy`). `mtu` in bytes. It is down.
    ///
    /// # Errors
    /// `System`: `EOPNOTSUPP` in a kernel without `dummy`.
    pub fn add_dummy(&mut self, name: &str, alias: &str, mtu: u32) -> Result<()> {
        self.create_link(InfoKind::Dummy, name, vec![LinkAttribute::Mtu(mtu)])?;
        self.name_link(0, name, alias)
    }

    fn create_link(&mut self, kind: InfoKind, name: &str, more: Vec<LinkAttribute>) -> Result<()> {
        let mut attributes =
            vec![LinkAttribute::IfName(name.to_owned()), LinkAttribute::LinkInfo(vec![LinkInfo::Kind(kind)])];
        attributes.extend(more);
        self.request(NEW_LINK, &link(0, attributes), NLM_F_CREATE | NLM_F_EXCL, name)
    }

    /// Gives an interface an alias, and this name; with index 0, it has the name already. Some kernels ignore
    /// an alias in the request that creates.
    fn name_link(&mut self, index: u32, name: &str, alias: &str) -> Result<()> {
        let attributes =
            vec![LinkAttribute::IfName(name.to_owned()), LinkAttribute::IfAlias(alias.to_owned())];
        self.request(SET_LINK, &link(index, attributes), 0, name)
    }

    /// Brings interface `index` up.
    ///
    /// # Errors
    /// `System` without CAP_NET_ADMIN, or if the interface is gone.
    pub fn set_up(&mut self, index: u32, name: &str) -> Result<()> {
        let mut message = link(index, Vec::new());
        message.header.flags = LinkFlags::Up;
        message.header.change_mask = LinkFlags::Up;
        self.request(NEW_LINK, &message, 0, name)
    }

    /// Deletes interface `index`, and with it the other end of a veth pair.
    ///
    /// # Errors
    /// `System` without CAP_NET_ADMIN, or if the interface is gone.
    pub fn delete_link(&mut self, index: u32, name: &str) -> Result<()> {
        self.request(DELETE_LINK, &link(index, Vec::new()), 0, name)
    }

    /// Adds an address to interface `index` that is usable at once.
    pub(crate) fn add_address(&mut self, index: u32, address: IpAddr, prefix: u8) -> Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = family(address);
        message.header.prefix_len = prefix;
        message.header.index = index;
        message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
        if address.is_ipv6() {
            // No duplicate address detection.
            message.attributes.push(AddressAttribute::Flags(AddressFlags::Nodad));
        }
        let flags = NLM_F_CREATE | NLM_F_EXCL;
        self.request(NEW_ADDRESS, &message, flags, &address.to_string())
    }

    /// Adds a route to the network `to` with this prefix length.
    pub(crate) fn add_route(&mut self, (to, prefix): (IpAddr, u8), via: &Via) -> Result<()> {
        /// `RT_TABLE_MAIN`, `RT_TABLE_LOCAL`.
        const TABLES: [u8; 2] = [254, 255];
        let mut message = RouteMessage::default();
        let header = &mut message.header;
        (header.address_family, header.destination_prefix_length) = (family(to), prefix);
        header.protocol = RouteProtocol::Static;
        let (table, scope, kind, attribute) = match *via {
            Via::Direct(index) => {
                (TABLES[1], RouteScope::Link, RouteType::Unicast, RouteAttribute::Oif(index))
            }
            Via::Local(index) => (TABLES[1], RouteScope::Host, RouteType::Local, RouteAttribute::Oif(index)),
            Via::Gateway(gateway) => {
                let gateway = RouteAttribute::Gateway(RouteAddress::from(gateway));
                (TABLES[0], RouteScope::Universe, RouteType::Unicast, gateway)
            }
        };
        (header.table, header.scope, header.kind) = (table, scope, kind);
        message.attributes = vec![attribute];
        if prefix > 0 {
            message.attributes.push(RouteAttribute::Destination(RouteAddress::from(to)));
        }
        self.request(NEW_ROUTE, &message, NLM_F_CREATE | NLM_F_EXCL, &format!("{to}/{prefix}"))
    }

    /// Adds a permanent neighbour entry to interface `index`: `address` is at `mac`.
    pub(crate) fn add_neighbour(&mut self, index: u32, address: IpAddr, mac: Mac) -> Result<()> {
        let mut message = NeighbourMessage::default();
        message.header.family = family(address);
        message.header.ifindex = index;
        message.header.state = NeighbourState::Permanent;
        let destination = match address {
            IpAddr::V4(v4) => NeighbourAddress::Inet(v4),
            IpAddr::V6(v6) => NeighbourAddress::Inet6(v6),
        };
        message.attributes = vec![
            NeighbourAttribute::Destination(destination),
            NeighbourAttribute::LinkLayerAddress(mac.to_vec()),
        ];
        let flags = NLM_F_CREATE | NLM_F_EXCL;
        self.request(NEW_NEIGHBOUR, &message, flags, &address.to_string())
    }
}

/// An interface of this namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Its kind, if it is virtual: `veth`, `ifb`, `bridge`; as `ip -d link` names it.
    pub kind: Option<String>,
    /// A text that a user gave it (`ip link set … alias`).
    pub alias: Option<String>,
    /// Whether it is up.
    pub is_up: bool,
    /// Whether it is the loopback interface.
    pub is_loopback: bool,
    /// Bytes of its link-layer header in front of a packet: 14 on Ethernet, 0 on PPP and tunnels.
    pub header: u32,
    /// Largest packet without the link-layer header, bytes.
    pub mtu: u32,
    /// Queues towards the device.
    pub tx_queues: u32,
    /// Length of a FIFO that takes its length from the interface, packets (`txqueuelen`).
    pub tx_queue_len: u32,
}

/// Length of `struct ifinfomsg`.
const HEADER: usize = 16;

/// From the kernel's message about an interface (`rtnetlink(7)`, `RTM_GETLINK`): `struct ifinfomsg`, then
/// attributes. Only the needed attributes are decoded, so an unknown or longer attribute hides no interface.
impl Parseable<[u8]> for Interface {
    fn parse(bytes: &[u8]) -> std::result::Result<Interface, DecodeError> {
        let Some((header, attributes)) = bytes.split_at_checked(HEADER) else {
            return Err(DecodeError::from(format!("an interface of {} bytes", bytes.len())));
        };
        let layer = u16::from_ne_bytes([header[2], header[3]]);
        let flags = parse_u32(&header[8..12])?;
        let mut interface = Interface {
            index: parse_u32(&header[4..8])?,
            name: String::new(),
            kind: None,
            alias: None,
            is_up: flags & libc::IFF_UP.cast_unsigned() != 0,
            is_loopback: layer == libc::ARPHRD_LOOPBACK,
            header: if matches!(layer, libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK) { 14 } else { 0 },
            mtu: 0,
            tx_queues: 1,
            tx_queue_len: 0,
        };
        for attribute in NlasIterator::new(attributes) {
            let attribute = attribute?;
            let value = attribute.value();
            match attribute.kind() {
                libc::IFLA_IFNAME => interface.name = parse_string(value)?,
                libc::IFLA_IFALIAS => interface.alias = Some(parse_string(value)?),
                libc::IFLA_MTU => interface.mtu = parse_u32(value)?,
                libc::IFLA_NUM_TX_QUEUES => interface.tx_queues = parse_u32(value)?,
                libc::IFLA_TXQLEN => interface.tx_queue_len = parse_u32(value)?,
                libc::IFLA_LINKINFO => {
                    let is_kind = |info: &NlaBuffer<&[u8]>| info.kind() == libc::IFLA_INFO_KIND;
                    let kind = NlasIterator::new(value).filter_map(|info| info.ok()).find(is_kind);
                    interface.kind = kind.map(|kind| parse_string(kind.value())).transpose()?;
                }
                _ => {}
            }
        }
        Ok(interface)
    }
}

/// All interfaces of this namespace.
///
/// # Errors
/// Those of [`Route::dump`].
pub fn interfaces(route: &mut Route) -> Result<Vec<Interface>> {
    route.dump(GET_LINK, &LinkMessage::default())
}

/// The number of the interface `name` in this namespace.
///
/// # Errors
/// Those of [`interfaces`]; `System` with `ENODEV` if there is none of this name.
pub fn index(route: &mut Route, name: &str) -> Result<u32> {
    let found = interfaces(route)?.into_iter().find(|interface| interface.name == name);
    let gone = || {
        let source = std::io::Error::from_raw_os_error(libc::ENODEV);
        Error::System { operation: "RTM_GETLINK", object: name.into(), source }
    };
    found.map(|interface| interface.index).ok_or_else(gone)
}

#[cfg(test)]
mod tests {
    use netlink_packet_core::Emitable;
    use netlink_packet_route::link::LinkLayerType;

    use super::*;

    fn bytes(message: &LinkMessage) -> Vec<u8> {
        let mut bytes = vec![0; message.buffer_len()];
        message.emit(&mut bytes);
        bytes
    }

    #[test]
    fn an_interface_is_read_as_the_library_writes_it() {
        let attributes = vec![
            LinkAttribute::IfName("wan0".into()),
            LinkAttribute::Address(vec![2, 0, 0, 0, 0, 1]),
            LinkAttribute::Mtu(1492),
            LinkAttribute::TxQueueLen(500),
            LinkAttribute::NumTxQueues(4),
            LinkAttribute::IfAlias("to the modem".into()),
            LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Veth)]),
        ];
        let mut message = link(7, attributes);
        message.header.flags = LinkFlags::Up | LinkFlags::Broadcast;
        message.header.link_layer_type = LinkLayerType::Ether;
        let mut wanted = Interface {
            index: 7,
            name: "wan0".into(),
            kind: Some("veth".into()),
            alias: Some("to the modem".into()),
            is_up: true,
            is_loopback: false,
            header: 14,
            mtu: 1492,
            tx_queues: 4,
            tx_queue_len: 500,
        };
        assert_eq!(Interface::parse(&bytes(&message)).unwrap(), wanted);

        // Attributes that do not exist yet: of the interface, and of its kind.
        let mut more = bytes(&message);
        more.extend_from_slice(&[8, 0, 0xff, 0x3f, 1, 2, 3, 4]);
        assert_eq!(Interface::parse(&more).unwrap(), wanted);

        message.header.flags = LinkFlags::empty();
        message.header.link_layer_type = LinkLayerType::Ppp;
        message.attributes.retain(|attribute| matches!(attribute, LinkAttribute::IfName(_)));
        wanted = Interface { kind: None, alias: None, is_up: false, header: 0, mtu: 0, ..wanted };
        wanted = Interface { tx_queues: 1, tx_queue_len: 0, ..wanted };
        assert_eq!(Interface::parse(&bytes(&message)).unwrap(), wanted);
    }

    #[test]
    fn what_is_cut_off_is_an_error_and_no_panic() {
        let whole = bytes(&link(1, vec![LinkAttribute::IfName("wan0".into()), LinkAttribute::Mtu(1500)]));
        assert!(Interface::parse(&whole).is_ok());
        // In the header, and in the two attributes.
        for length in (0..HEADER).chain(HEADER + 4..HEADER + 9).chain(whole.len() - 4..whole.len()) {
            let cut = Interface::parse(&whole[..length]);
            assert!(cut.is_err(), "{length}: {cut:?}");
        }
        for length in HEADER..whole.len() {
            let _ = Interface::parse(&whole[..length]);
        }
    }
}

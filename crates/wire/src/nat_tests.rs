//! The table with messages as connection tracking sends them, and with arbitrary bytes.

use netlink_packet_core::Emitable;
use netlink_packet_netfilter::conntrack::Protocol;
use netlink_packet_netfilter::{NetfilterHeader, NetfilterProtoFamily};
use proptest::prelude::*;

use super::*;
use crate::frame::UDP;

/// `IPCTNL_MSG_CT_NEW` and `IPCTNL_MSG_CT_DELETE` of the subsystem.
const NEW: u16 = 0x0100;
const DELETE: u16 = 0x0102;

/// Address and port.
type End = ([u8; 4], u16);

const ROUTER: [u8; 4] = [192, 0, 2, 1];
const SERVER: End = ([198, 51, 100, 7], 443);
const LAPTOP: End = ([10, 0, 0, 5], 5000);

fn parts(source: End, destination: End) -> Vec<Part> {
    let address = |end: End| IpAddr::from(end.0);
    vec![
        Part::Ip(vec![
            IPTuple::SourceAddress(address(source)),
            IPTuple::DestinationAddress(address(destination)),
        ]),
        Part::Proto(vec![
            ProtoTuple::Protocol(Protocol::Udp),
            ProtoTuple::SourcePort(source.1),
            ProtoTuple::DestinationPort(destination.1),
        ]),
    ]
}

/// A message about a connection: who sent its first packet to whom, and who answers to whom.
fn message(kind: u16, original: [End; 2], reply: [End; 2]) -> Vec<u8> {
    let attributes = vec![
        ConntrackAttribute::CtaTupleOrig(parts(original[0], original[1])),
        ConntrackAttribute::CtaTupleReply(parts(reply[0], reply[1])),
    ];
    let inner =
        if kind == NEW { ConntrackMessage::New(attributes) } else { ConntrackMessage::Delete(attributes) };
    let message = NetfilterMessage::new(NetfilterHeader::new(NetfilterProtoFamily::IPv4, 0, 0), inner);
    let mut bytes = vec![0; Emitable::buffer_len(&message)];
    message.emit(&mut bytes);
    bytes
}

/// What the frame of a packet says.
fn packet(source: End, destination: End) -> Meta {
    Meta {
        source: source.0.into(),
        destination: destination.0.into(),
        protocol: UDP,
        source_port: source.1,
        destination_port: destination.1,
        dsfield: 0,
        fragment: false,
    }
}

fn inside(source: End, destination: End) -> Option<Inside> {
    Some([source.0.into(), destination.0.into()])
}

/// A masqueraded connection, whose port is another one outside.
fn masqueraded(kind: u16) -> Vec<u8> {
    message(kind, [LAPTOP, SERVER], [SERVER, (ROUTER, 61_000)])
}

#[test]
fn a_masqueraded_connection_has_its_host_in_both_directions_until_it_is_gone() {
    let mut table = Translations::default();
    let (up, down) = (packet((ROUTER, 61_000), SERVER), packet(SERVER, (ROUTER, 61_000)));
    assert_eq!((table.inside(true, &up), table.is_empty()), (None, true));
    table.take(NEW, &masqueraded(NEW));
    assert_eq!(table.inside(true, &up), inside(LAPTOP, SERVER));
    assert_eq!(table.inside(false, &down), inside(SERVER, LAPTOP));
    assert_eq!(table.len(), 1);
    // Others are not, and fragments have no ports.
    assert_eq!(table.inside(true, &packet((ROUTER, 61_001), SERVER)), None);
    assert_eq!(table.inside(true, &Meta { protocol: 6, ..up }), None);
    assert_eq!(table.inside(true, &Meta { fragment: true, ..up }), None);
    table.take(DELETE, &masqueraded(DELETE));
    assert_eq!((table.inside(true, &up), table.is_empty()), (None, true));
}

/// A port that is forwarded to a host of this side: the first packet comes from outside.
#[test]
fn a_forwarded_port_has_its_host_in_both_directions() {
    let (visitor, web) = (([203, 0, 113, 9], 4000), ([10, 0, 0, 8], 8080));
    let mut table = Translations::default();
    table.take(NEW, &message(NEW, [visitor, (ROUTER, 80)], [web, visitor]));
    assert_eq!(table.inside(false, &packet(visitor, (ROUTER, 80))), inside(visitor, web));
    assert_eq!(table.inside(true, &packet((ROUTER, 80), visitor)), inside(web, visitor));
}

#[test]
fn what_nothing_translates_takes_no_place() {
    let mut table = Translations::default();
    table.take(NEW, &message(NEW, [LAPTOP, SERVER], [SERVER, LAPTOP]));
    assert!(table.is_empty());
}

#[test]
fn a_list_clears_out_what_it_does_not_name() {
    let mut table = Translations::default();
    let other = |kind| message(kind, [([10, 0, 0, 6], 7), SERVER], [SERVER, (ROUTER, 62_000)]);
    table.take(NEW, &masqueraded(NEW));
    table.take(NEW, &other(NEW));
    for gone in [1, 0] {
        table.begin_list();
        if gone == 1 {
            table.take(NEW, &other(NEW));
        }
        table.end_list();
        assert_eq!(table.len(), gone);
    }
}

#[test]
fn too_many_connections_have_the_addresses_of_their_packets_until_others_are_gone() {
    let mut table = Translations::default();
    let capacity = table.others.capacity();
    let hosts = |number: usize| {
        let [_, high, middle, low] = u32::try_from(number).unwrap().to_be_bytes();
        ([10, high, middle, low], 1)
    };
    let connection = |number| message(NEW, [hosts(number), SERVER], [SERVER, (hosts(number).0, 2)]);
    for number in 0..=MOST_CONNECTIONS {
        assert!(!table.has_overflown());
        table.take(NEW, &connection(number));
    }
    assert_eq!((table.len(), table.has_overflown()), (MOST_CONNECTIONS, true));
    let last = packet((hosts(MOST_CONNECTIONS).0, 2), SERVER);
    assert_eq!(table.inside(true, &last), None);
    table.begin_list();
    table.take(NEW, &connection(0));
    table.end_list();
    assert_eq!((table.len(), table.has_overflown()), (1, false));
    table.take(NEW, &connection(MOST_CONNECTIONS));
    assert!(table.inside(true, &last).is_some());
    // Rows that come and go leave gaps, for which the table may grow, but once.
    for number in 0..4 * MOST_CONNECTIONS {
        table.take(NEW, &connection(number));
        if let Some(gone) = number.checked_sub(MOST_CONNECTIONS - 1) {
            let (host, server) = (hosts(gone), SERVER);
            table.take(DELETE, &message(DELETE, [host, server], [server, (host.0, 2)]));
        }
    }
    assert!(table.others.capacity() <= 2 * capacity, "{} rows", table.others.capacity());
}

proptest! {
    #[test]
    fn any_bytes_are_accepted(kind in prop::num::u16::ANY, bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        Translations::default().take(kind, &bytes);
        Translations::default().take(NEW, &bytes);
    }

    #[test]
    fn any_damage_is_accepted(at in 0_usize..100, value: u8, length in 0_usize..120) {
        let mut bytes = masqueraded(NEW);
        let at = at % bytes.len();
        bytes[at] = value;
        bytes.truncate(length);
        Translations::default().take(NEW, &bytes);
    }
}

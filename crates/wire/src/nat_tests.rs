//! The table with messages as connection tracking sends them, and with arbitrary bytes.

use netlink_packet_core::{DefaultNla, Emitable};
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

/// A message about a connection: source and destination of its first packet, and of the reply.
fn message(kind: u16, original: [End; 2], reply: [End; 2]) -> Vec<u8> {
    let attributes = vec![
        ConntrackAttribute::CtaTupleOrig(parts(original[0], original[1])),
        ConntrackAttribute::CtaTupleReply(parts(reply[0], reply[1])),
    ];
    let inner =
        if kind == NEW { ConntrackMessage::New(attributes) } else { ConntrackMessage::Delete(attributes) };
    emit(inner)
}

fn emit(inner: ConntrackMessage) -> Vec<u8> {
    let message = NetfilterMessage::new(NetfilterHeader::new(NetfilterProtoFamily::IPv4, 0, 0), inner);
    let mut bytes = vec![0; Emitable::buffer_len(&message)];
    message.emit(&mut bytes);
    bytes
}

/// The frame of an IPv4 packet of datagram 7, with what follows its header; `fragment`: the field with flags
/// and offset.
fn frame(source: [u8; 4], destination: [u8; 4], protocol: u8, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; 12];
    let [high, low] = fragment.to_be_bytes();
    frame.extend([8, 0, 0x45, 0, 0, 20, 0, 7, high, low, 64, protocol, 0, 0]);
    frame.extend([source, destination].concat());
    frame.extend(payload);
    frame
}

fn ports(source: End, destination: End) -> Vec<u8> {
    [source.1, destination.1, 8, 0].map(u16::to_be_bytes).concat()
}

/// The frame of a UDP datagram.
fn packet(source: End, destination: End) -> Vec<u8> {
    frame(source.0, destination.0, UDP, 0, &ports(source, destination))
}

/// The start of an ICMP message: type, code, number.
fn icmp(kind: u8, number: u16) -> Vec<u8> {
    let [high, low] = number.to_be_bytes();
    vec![kind, 0, 0, 0, high, low, 0, 1]
}

fn inside(source: End, destination: End) -> Option<Inside> {
    Some([source.0.into(), destination.0.into()])
}

/// A masqueraded connection, which has a different port outside.
fn masqueraded(kind: u16) -> Vec<u8> {
    message(kind, [LAPTOP, SERVER], [SERVER, (ROUTER, 61_000)])
}

#[test]
fn a_masqueraded_connection_has_its_host_in_both_directions() {
    let mut table = Translations::default();
    let (up, down) = (packet((ROUTER, 61_000), SERVER), packet(SERVER, (ROUTER, 61_000)));
    assert_eq!((table.inside(Direction::Up, &up), table.is_empty()), (None, true));
    table.take(NEW, &masqueraded(NEW));
    assert_eq!(table.inside(Direction::Up, &up), inside(LAPTOP, SERVER));
    assert_eq!(table.inside(Direction::Down, &down), inside(SERVER, LAPTOP));
    assert_eq!(table.len(), 1);
    // Others are not.
    assert_eq!(table.inside(Direction::Up, &packet((ROUTER, 61_001), SERVER)), None);
    let tcp = frame(ROUTER, SERVER.0, 6, 0, &ports((ROUTER, 61_000), SERVER));
    assert_eq!(table.inside(Direction::Up, &tcp), None);
    table.take(DELETE, &masqueraded(DELETE));
    assert_eq!((table.inside(Direction::Up, &up), table.is_empty()), (None, true));
}

/// Two hosts ping the same server with the same number, so the second one has a different number outside.
#[test]
fn a_ping_has_its_host_in_both_directions() {
    let echo = |host: [u8; 4], outside: u16| {
        let direction = |source: [u8; 4], destination: [u8; 4], kind: u8, number: u16| {
            let other = |kind, bytes: &[u8]| ProtoTuple::Other(DefaultNla::new(kind, bytes.to_vec()));
            let mut parts = parts((source, 0), (destination, 0));
            parts[1] = Part::Proto(vec![
                ProtoTuple::Protocol(Protocol::Icmp),
                other(ICMP_ID, &number.to_be_bytes()),
                other(ICMP_TYPE, &[kind]),
                other(ICMP_CODE, &[0]),
            ]);
            parts
        };
        let (there, back) = (direction(host, SERVER.0, 8, 99), direction(SERVER.0, ROUTER, 0, outside));
        emit(ConntrackMessage::New(vec![
            ConntrackAttribute::CtaTupleOrig(there),
            ConntrackAttribute::CtaTupleReply(back),
        ]))
    };
    let mut table = Translations::default();
    let hosts = [(LAPTOP.0, 99), ([10, 0, 0, 6], 100)];
    for (host, outside) in hosts {
        table.take(NEW, &echo(host, outside));
    }
    for (host, outside) in hosts {
        let host = (host, 0);
        let up = frame(ROUTER, SERVER.0, ICMP, 0, &icmp(8, outside));
        let down = frame(SERVER.0, ROUTER, ICMP, 0, &icmp(0, outside));
        assert_eq!(table.inside(Direction::Up, &up), inside(host, SERVER));
        assert_eq!(table.inside(Direction::Down, &down), inside(SERVER, host));
    }
    // A different number, a different kind, and a kind that is not a question.
    for (kind, number) in [(8, 101), (13, 99), (9, 99)] {
        assert_eq!(table.inside(Direction::Up, &frame(ROUTER, SERVER.0, ICMP, 0, &icmp(kind, number))), None);
    }
}

/// Port unreachable, from a host to the server and back. Only for a message that leaves does the packet in it
/// show the host.
#[test]
fn an_error_that_leaves_has_the_host_of_the_packet_in_it() {
    let mut table = Translations::default();
    table.take(NEW, &masqueraded(NEW));
    let error = |from, to, about: &[u8]| frame(from, to, ICMP, 0, &[&icmp(3, 0), &about[14..]].concat());
    let up = error(ROUTER, SERVER.0, &packet(SERVER, (ROUTER, 61_000)));
    assert_eq!(table.inside(Direction::Up, &up), inside(LAPTOP, SERVER));
    let down = error(SERVER.0, ROUTER, &packet((ROUTER, 61_000), SERVER));
    assert_eq!(table.inside(Direction::Down, &down), None);
    assert_eq!(
        table.inside(Direction::Up, &error(ROUTER, SERVER.0, &packet(SERVER, (ROUTER, 61_001)))),
        None
    );
}

#[test]
fn fragments_that_leave_have_the_host_of_the_first_one() {
    const MORE: u16 = 0x2000;
    let mut table = Translations::default();
    table.take(NEW, &masqueraded(NEW));
    let outside = (ROUTER, 61_000);
    let first = |port| frame(ROUTER, SERVER.0, UDP, MORE, &ports((ROUTER, port), SERVER));
    let later = |offset| frame(ROUTER, SERVER.0, UDP, offset, &ports((ROUTER, 61_000), SERVER));
    assert_eq!(table.inside(Direction::Up, &later(MORE | 185)), None, "the first one has not been seen");
    assert_eq!(table.inside(Direction::Up, &first(61_000)), inside(LAPTOP, SERVER));
    for offset in [MORE | 185, 370] {
        assert_eq!(table.inside(Direction::Up, &later(offset)), inside(LAPTOP, SERVER));
    }
    // The same identification for the datagram of a host that is not known.
    assert_eq!(
        (table.inside(Direction::Up, &first(5)), table.inside(Direction::Up, &later(370))),
        (None, None)
    );
    // Of arriving fragments only the first is known, as before Linux's connection tracking.
    let arriving = |field| frame(SERVER.0, ROUTER, UDP, field, &ports(SERVER, outside));
    assert_eq!(table.inside(Direction::Down, &arriving(MORE)), inside(SERVER, LAPTOP));
    assert_eq!(table.inside(Direction::Down, &arriving(185)), None);
    // Of many datagrams, the table keeps the latest.
    table.inside(Direction::Up, &first(61_000));
    for number in 0..u16::try_from(MOST_DATAGRAMS).expect("few") {
        let mut other = first(61_000);
        other[18..20].copy_from_slice(&(100 + number).to_be_bytes());
        table.inside(Direction::Up, &other);
    }
    assert_eq!((table.inside(Direction::Up, &later(370)), table.datagrams.len()), (None, MOST_DATAGRAMS));
}

/// A port that is forwarded to a host on this side: the first packet comes from outside.
#[test]
fn a_forwarded_port_has_its_host_in_both_directions() {
    let (visitor, web) = (([203, 0, 113, 9], 4000), ([10, 0, 0, 8], 8080));
    let mut table = Translations::default();
    table.take(NEW, &message(NEW, [visitor, (ROUTER, 80)], [web, visitor]));
    assert_eq!(table.inside(Direction::Down, &packet(visitor, (ROUTER, 80))), inside(visitor, web));
    assert_eq!(table.inside(Direction::Up, &packet((ROUTER, 80), visitor)), inside(web, visitor));
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
fn connections_beyond_the_limit_are_known_once_others_are_gone() {
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
    assert_eq!(table.inside(Direction::Up, &last), None);
    table.begin_list();
    table.take(NEW, &connection(0));
    table.end_list();
    assert_eq!((table.len(), table.has_overflown()), (1, false));
    table.take(NEW, &connection(MOST_CONNECTIONS));
    assert!(table.inside(Direction::Up, &last).is_some());
    // Rows that come and go leave gaps, for which the table may grow, but only once.
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
    fn any_frame_is_accepted(bytes in prop::collection::vec(any::<u8>(), 0..80), is_down: bool) {
        let way = Direction::BOTH[usize::from(is_down)];
        let mut frame = frame(ROUTER, SERVER.0, bytes.first().copied().unwrap_or(ICMP), 0, &bytes);
        let mut table = Translations::default();
        table.take(NEW, &masqueraded(NEW));
        table.inside(way, &frame);
        frame.truncate(bytes.len());
        table.inside(way, &frame);
        table.inside(way, &bytes);
    }

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

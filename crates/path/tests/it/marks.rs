//! ToS bytes and TTLs of both directions, over a path that remarks, bleaches and marks.

#![allow(clippy::unwrap_used)]

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use goodqueue::Span;
use goodqueue_path::client::{Plan, Session};
use goodqueue_path::fill::Fill;
use goodqueue_path::params::Params;
use goodqueue_path::result::Trips;
use goodqueue_path::server::listen::Listener;
use goodqueue_path::server::{Limits, Server};
use goodqueue_probe::echo::Schedule;
use goodqueue_probe::net::{Arrival, Udp, wait};

use crate::ends::Ends;

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// EF with ECT(0).
const SENT: u8 = 0xb8 | 2;

/// Forwards datagrams with changed ToS bytes, and a TTL of 57 up and 50 down.
fn remark(front: &Udp, back: &Udp, stop: &AtomicBool, change: fn(bool, u8, u32) -> u8) {
    let (mut buf, mut ready, mut client) = ([0; 2000], Vec::new(), None::<Arrival>);
    back.set_ttl(57).unwrap();
    front.set_ttl(50).unwrap();
    let mut counts = [0; 2];
    while !stop.load(Ordering::Relaxed) {
        wait(&[front, back].map(std::os::fd::AsRawFd::as_raw_fd), 20_000_000, &mut ready).unwrap();
        while let Ok(arrival) = front.receive(&mut buf) {
            client = Some(arrival);
            counts[0] += 1;
            back.set_tos(change(true, arrival.tos.unwrap(), counts[0])).unwrap();
            back.send(&buf[..arrival.len]).unwrap();
        }
        while let (Some(client), Ok(arrival)) = (&client, back.receive(&mut buf)) {
            counts[1] += 1;
            front
                .answer(client, &buf[..arrival.len], change(false, arrival.tos.unwrap(), counts[1]))
                .unwrap();
        }
    }
}

/// 200 probes with EF and ECT(0) over a path that makes this change. `size` is that of a probe.
fn measured(size: i64, change: fn(bool, u8, u32) -> u8) -> Trips {
    let listener = Listener::bind(&[V4], 0).unwrap();
    let mut server = Server::new(Limits::default(), None, 1);
    let front = Udp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let back = Udp::connect(listener.addresses()[0], None).unwrap();
    let at: SocketAddr = front.local_addr().unwrap();
    let stop = AtomicBool::new(false);
    let params = Params {
        version: 1,
        duration: 1_000_000_000,
        interval: 5_000_000,
        length: size,
        received: 3,
        stamps: 3,
        clocks: 3,
        tos: i64::from(SENT),
        ip: 1,
        ..Params::default()
    };
    let plan = Plan {
        server: at,
        local: None,
        params,
        schedule: Schedule::Isochronous,
        least_size: None,
        silence: None,
        key: None,
        loose: false,
        fill: Fill::Rand(3),
        ttl: Some(61),
        fragments: None,
        timeouts: vec![Span::from_secs(1); 5],
        wait: Span::from_secs(4),
    };
    thread::scope(|scope| {
        scope.spawn(|| listener.serve(&mut server, None, &stop, &mut |_| {}).unwrap());
        scope.spawn(|| remark(&front, &back, &stop, change));
        let ends = Ends(&stop);
        let session = Session::open(plan, &stop).unwrap();
        let mut trips = Trips::new(session.layout(), session.sent_ip());
        let summary = session.run(&stop, &mut |update| trips.take(&update)).unwrap();
        drop(ends);
        assert_eq!(summary.prober.refused, 0);
        trips
    })
}

#[test]
fn each_way_has_its_own_marks() {
    // Up: the DSCP is bleached, and every tenth probe is marked. Down: ECN is bleached.
    let trips = measured(0, |up, tos, n| match up {
        true if n % 10 == 0 => 3,
        true => tos & 3,
        false => tos & 0xfc,
    });
    let (counts, marks) = (trips.counts(), trips.marks());
    assert_eq!(counts.sent, counts.received);
    let (up, down) = (&marks.up, &marks.down);
    assert_eq!((up.known(), down.known()), (counts.sent, counts.sent));
    assert_eq!((up.dscp_changed, up.ecn_changed), (counts.sent, 0));
    // The first datagram that passed is the request to open.
    assert!(up.ce.abs_diff(counts.sent / 10) <= 1, "{up:?}");
    assert_eq!((down.dscp_changed, down.ecn_changed, down.ce), (0, counts.sent, 0));
    assert_eq!((up.sent_tos, up.sent_ttl, up.ttl_min, up.ttl_max), (SENT, Some(61), Some(57), Some(57)));
    assert_eq!((down.sent_tos, down.ttl_min), (SENT, Some(50)));
    assert!(down.sent_ttl.is_some(), "the server tells with which TTL it sends");
    let reply = trips.kept()[0].reply.unwrap();
    assert_eq!((reply.up.ttl, reply.down.ttl, reply.down.tos), (57, 50, 0xb8));
}

#[test]
fn a_path_that_changes_nothing_is_not_blamed() {
    let trips = measured(64, |_, tos, _| tos);
    for way in [&trips.marks().up, &trips.marks().down] {
        assert_eq!((way.dscp_changed, way.ecn_changed, way.ce), (0, 0, 0), "{way:?}");
        assert_eq!(way.known(), trips.counts().received);
    }
}

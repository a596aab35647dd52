//! Responsiveness over loopback: our client against our server, paths of known delay, and how the server
//! treats clients that ask for too much.

#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use goodqueue::Span;
use goodqueue_path::rpm::client::{self, Ended, Event, Failure, Run, Server};
use goodqueue_path::rpm::server::{Bounds, RpmServer, Stats};
use goodqueue_path::rpm::trust::{Fingerprint, Identity, Trust};
use goodqueue_probe::Direction;
use goodqueue_probe::rpm::{Answer, Rank, Settings, Tls};

use crate::ends::Ends;

/// Runs `body` while a server runs; returns the server's counters.
fn with_server(bounds: Bounds, body: impl FnOnce(SocketAddr, Fingerprint)) -> Stats {
    let identity = Identity::ephemeral(Tls::V1_3).unwrap();
    let fingerprint = identity.fingerprint();
    let server = RpmServer::bind(&["127.0.0.1:0".parse().unwrap()], identity, bounds).unwrap();
    let (at, stop) = (server.addresses()[0], AtomicBool::new(false));
    thread::scope(|scope| {
        let serving = scope.spawn(|| server.serve(&stop));
        let ends = Ends(&stop);
        body(at, fingerprint);
        let stats = server.stats();
        drop(ends);
        serving.join().unwrap().unwrap();
        stats
    })
}

fn place(address: SocketAddr, trust: Trust) -> Server {
    Server { address, host: "127.0.0.1".into(), trust }
}

/// Short intervals: the definition is the same.
fn settings() -> Settings {
    let interval = Span::from_millis(200);
    Settings { interval, idle: Span::from_millis(500), limit: 12, most: 4, ..Settings::default() }
}

/// A run against the server at `place`, whose document it asks for.
fn run(place: &Server, direction: Direction, settings: Settings) -> Run {
    let document = client::discover(place, place.address.port()).unwrap();
    let (place, step) = (place.clone(), Span::from_millis(100));
    Run { place, document, direction, settings, step, seed: 1, length: None, cc: None }
}

fn measure(place: &Server, direction: Direction) -> (Ended, Vec<Event>) {
    let run = run(place, direction, settings());
    let mut events = Vec::new();
    let ended = run.run(&AtomicBool::new(false), &mut |event| events.push(event)).unwrap();
    (ended, events)
}

#[test]
fn loopback_both_directions_have_a_figure_with_all_its_parts() {
    let stats = with_server(Bounds::default(), |at, fingerprint| {
        for direction in Direction::BOTH {
            let (ended, events) = measure(&place(at, Trust::Pinned(fingerprint)), direction);
            assert!(ended.failure.is_none(), "{:?}", ended.failure);
            let parts = ended.outcome.parts.unwrap();
            assert!(parts.tcp > 0.0 && parts.tls.unwrap() > 0.0 && parts.http > 0.0 && parts.own > 0.0);
            assert_eq!(ended.tls, Some("TLS 1.3"));
            assert!(ended.outcome.goodput > 1e6, "{direction:?}: {} bytes/s", ended.outcome.goodput);
            let bytes: u64 = events
                .iter()
                .map(|event| if let Event::Transferred { bytes, .. } = event { *bytes } else { 0 })
                .sum();
            let of_intervals: u64 = ended.outcome.intervals.iter().map(|one| one.bytes).sum();
            assert!(bytes <= of_intervals && bytes > of_intervals / 2, "{bytes} of {of_intervals}");
            let kernel = events.iter().filter(|event| matches!(event, Event::Tcp { .. })).count();
            assert_eq!(kernel > 0, direction == Direction::Up, "the sender's kernel says what limits it");
        }
    });
    assert!(stats.sent_bytes > 1_000_000 && stats.received_bytes > 1_000_000, "{stats:?}");
    assert!(stats.started >= 2 && stats.refused == 0, "{stats:?}");
}

#[test]
fn loopback_nobody_else_is_believed() {
    with_server(Bounds::default(), |at, fingerprint| {
        let other = Identity::ephemeral(Tls::V1_3).unwrap().fingerprint();
        for trust in [Trust::Pinned(other), Trust::Web] {
            let refused = client::discover(&place(at, trust), at.port());
            assert!(matches!(refused, Err(Failure::Tls(_))), "{refused:?}");
        }
        for trust in [Trust::Pinned(fingerprint), Trust::Anybody] {
            let document = client::discover(&place(at, trust), at.port()).unwrap();
            assert_eq!((document.host(), document.port()), ("127.0.0.1", at.port()));
        }
    });
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refused = client::discover(&place(nobody, Trust::Anybody), nobody.port());
    assert!(matches!(refused, Err(Failure::Connect(_))), "{refused:?}");
}

/// Forwards connections to `to`, each byte `delay` later, in both directions.
fn relay(to: SocketAddr, delay: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    thread::spawn(move || {
        for near in listener.incoming() {
            let (Ok(near), Ok(far)) = (near, TcpStream::connect(to)) else { return };
            for (from, to) in [(&near, &far), (&far, &near)] {
                let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                to.set_nodelay(true).unwrap();
                thread::spawn(move || later(from, to, delay));
            }
        }
    });
    at
}

fn later(mut from: TcpStream, mut to: TcpStream, delay: Duration) {
    let (sender, waiting) = channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        for (due, bytes) in waiting {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                return;
            }
        }
        let _ = to.shutdown(std::net::Shutdown::Write);
    });
    let mut buf = [0; 65_536];
    while let Ok(len @ 1..) = from.read(&mut buf) {
        if sender.send((Instant::now() + delay, buf[..len].to_vec())).is_err() {
            return;
        }
    }
}

/// The relay answers TCP's handshake at once, and delays what comes after it: one round trip of TLS 1.3, and
/// one of a request.
#[test]
fn loopback_parts_are_those_of_a_path_of_known_delay() {
    let delay = Duration::from_millis(40);
    with_server(Bounds::default(), |at, _| {
        let front = relay(at, delay);
        let place = place(front, Trust::Anybody);
        // Only without load: the effect of load on the two ends of a relay is not known.
        let settings = Settings { idle: Span::from_secs(3), limit: 1, most: 1, ..settings() };
        let run = run(&place, Direction::Down, settings);
        let ended = run.run(&AtomicBool::new(false), &mut |_| ()).unwrap();
        let of = |part: fn(&Answer) -> Option<u64>| -> f64 {
            let values: Vec<u64> =
                ended.outcome.idle.iter().filter_map(|sample| part(&sample.answer)).collect();
            assert!(values.len() > 10, "{} probes", values.len());
            assert!(values.iter().min() > Some(&0));
            Rank::Percentile(50).of(&values).unwrap() / 1e6
        };
        let tcp = of(|answer| if let Answer::Foreign { tcp, .. } = answer { Some(tcp.0) } else { None });
        let tls =
            of(|answer| if let Answer::Foreign { tls, .. } = answer { tls.map(|tls| tls.0) } else { None });
        let http = of(|answer| if let Answer::Foreign { http, .. } = answer { Some(http.0) } else { None });
        let own = of(|answer| if let Answer::Own { http } = answer { Some(http.0) } else { None });
        assert!(tcp < 40.0, "TCP {tcp} ms: not delayed");
        for (name, ms) in [("TLS", tls), ("HTTP", http), ("self", own)] {
            assert!((80.0..120.0).contains(&ms), "{name}: {ms} ms of 80");
        }
    });
}

#[test]
fn loopback_all_load_together_has_a_rate() {
    // 2 MB/s for all.
    let bounds = Bounds { rate: 2_000_000, ..Bounds::default() };
    with_server(bounds, |at, _| {
        for direction in Direction::BOTH {
            let (ended, _) = measure(&place(at, Trust::Anybody), direction);
            // An upload counts what the kernel took; the last seconds show what the server let through.
            let last: Vec<u64> = ended.outcome.intervals.iter().rev().take(4).map(|one| one.bytes).collect();
            let rate = last.iter().sum::<u64>() as f64 / (last.len() as f64 * 0.2);
            assert!(rate < 2_400_000.0, "{direction:?}: {rate} bytes/s of 2000000");
        }
    });
}

/// A connection with TLS that speaks no HTTP/2 yet.
fn tls(at: SocketAddr) -> rustls::StreamOwned<rustls::ClientConnection, TcpStream> {
    let config = Trust::Anybody.client().unwrap();
    let name = rustls::pki_types::ServerName::try_from("127.0.0.1").unwrap();
    let stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let connection = rustls::ClientConnection::new(Arc::clone(&config), name).unwrap();
    rustls::StreamOwned::new(connection, stream)
}

/// The start of HTTP/2 (RFC 9113, section 3.4), with empty settings.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";

/// A frame (RFC 9113, section 4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Header fields of `GET https://a/small`, from HPACK's static table and literals (RFC 7541).
fn get_small() -> Vec<u8> {
    let mut fields = vec![0x82, 0x87, 0x04, 6];
    fields.extend_from_slice(b"/small");
    fields.extend_from_slice(&[0x01, 1, b'a']);
    fields
}

/// Whether the server has closed the connection.
fn is_closed(mut stream: rustls::StreamOwned<rustls::ClientConnection, TcpStream>) -> bool {
    let mut buf = [0; 16_384];
    let until = Instant::now() + Duration::from_secs(5);
    while Instant::now() < until {
        match stream.read(&mut buf) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => {
                use std::io::ErrorKind::{TimedOut, WouldBlock};
                return !matches!(error.kind(), TimedOut | WouldBlock);
            }
        }
    }
    false
}

#[test]
fn loopback_floods_within_a_connection_end_it() {
    let stats = with_server(Bounds::default(), |at, _| {
        // Requests that are cancelled at once (CVE-2023-44487).
        let mut rapid = tls(at);
        rapid.write_all(PREFACE).unwrap();
        let both = |stream| {
            [frame(1, 0x05, stream, &get_small()), frame(3, 0, stream, &8u32.to_be_bytes())].concat()
        };
        let all: Vec<u8> = (1..4000).step_by(2).flat_map(both).collect();
        // It may be closed before everything is written.
        let _ = rapid.write_all(&all);
        assert!(is_closed(rapid), "rapid reset");
        // Header fields without an end (CVE-2024-27316).
        let mut endless = tls(at);
        endless.write_all(PREFACE).unwrap();
        endless.write_all(&frame(1, 0, 1, &get_small())).unwrap();
        for _ in 0..1000 {
            let fields = [&[0x00, 1, b'x', 0x7f, 0xe1, 0x3e][..], &[b'y'; 8160]].concat();
            if endless.write_all(&frame(9, 0, 1, &fields)).is_err() {
                break;
            }
        }
        assert!(is_closed(endless), "continuations");
        // No HTTP/2 at all.
        let mut other = tls(at);
        other.write_all(b"GET /small HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        assert!(is_closed(other), "HTTP/1.1");
        // A client that behaves is served.
        assert!(client::discover(&place(at, Trust::Anybody), at.port()).is_ok());
    });
    assert!(stats.requests < 2000, "{stats:?}");
}

#[test]
fn loopback_silent_connections_make_room() {
    let bounds = Bounds { connections: 20, connections_per_prefix: 20, ..Bounds::default() };
    let stats = with_server(bounds, |at, _| {
        let silent: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(at).unwrap()).collect();
        thread::sleep(Duration::from_millis(300));
        assert!(client::discover(&place(at, Trust::Anybody), at.port()).is_ok());
        drop(silent);
    });
    assert_eq!(stats.accepted, 101);
    assert!(stats.displaced >= 80, "{stats:?}");
}

#[test]
fn loopback_a_network_has_so_many_connections_a_second_and_transfers() {
    let stats = with_server(Bounds { opens: 5, ..Bounds::default() }, |at, _| {
        let all: Vec<TcpStream> = (0..50).map(|_| TcpStream::connect(at).unwrap()).collect();
        thread::sleep(Duration::from_millis(300));
        drop(all);
    });
    assert!((30..=40).contains(&stats.too_often), "10 at once, and 5 a second: {stats:?}");
    let bounds = Bounds { transfers: 4, transfers_per_prefix: 2, ..Bounds::default() };
    let stats = with_server(bounds, |at, _| {
        let place = place(at, Trust::Anybody);
        let settings = Settings { first: 4, ..settings() };
        let run = run(&place, Direction::Down, settings);
        let ended = run.run(&AtomicBool::new(false), &mut |_| ()).unwrap();
        assert!(matches!(ended.failure, Some(Failure::Status(503))), "{:?}", ended.failure);
    });
    // Four ask, and one that is refused ends the run. Then the others end, too, and a late one may have a
    // place.
    assert!((2..4).contains(&stats.started) && stats.refused >= 1, "{stats:?}");
}

/// The table of docs/server.md.
#[test]
fn the_window_of_an_upload_is_what_the_page_says() {
    let (page, kb) = (include_str!("../../../../docs/server.md"), goodqueue_path::rpm::server::WINDOW >> 10);
    let row = format!("| data of an upload that waits for the rate | 64 | {kb} kB, by the window |");
    assert!(page.contains(&row), "docs/server.md lacks `{row}`");
}

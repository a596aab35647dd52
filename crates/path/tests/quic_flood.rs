//! A flood at the QUIC port while a load runs: alone in its process, so that nothing else takes memory.

mod ends;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use goodqueue::Span;
use goodqueue_path::load::Secret;
use goodqueue_path::load::client::Control;
use goodqueue_path::load::message::Start;
use goodqueue_path::load::server::{Bounds, LoadServer};
use goodqueue_probe::net::{ClockWatch, Far, QuicFar, SharedClock, run_load};
use goodqueue_probe::{Params, Transport, resolve};

use ends::Ends;

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Datagrams of a flood from one socket.
const MANY: u32 = 30_000;
/// Bytes by which resident memory may grow under a flood that the server has already seen: pages of the
/// allocator and of the C library.
const FLAT: u64 = 512 << 10;

/// Resident memory, bytes.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("it runs");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).expect("a number") * 1024
}

/// The first packet of a real connection, as a socket in between sees it.
fn initial(far: &Far, keys: &QuicFar) -> Vec<u8> {
    let tap = UdpSocket::bind((V4, 0)).expect("a socket");
    tap.set_read_timeout(Some(Duration::from_secs(5))).expect("set");
    let port = tap.local_addr().expect("it is bound").port();
    let far = Far { quic: Some(QuicFar { port, keys: keys.keys.clone() }), ..far.clone() };
    let params = Params { length: Span::from_secs(2), transport: Transport::Quic, ..Params::default() };
    let test = resolve("tcp_1up", &params).expect("a test");
    let (sink, _samples) = channel();
    let (clock, stop) = (SharedClock::starting_at(ClockWatch::new().now().mono), AtomicBool::new(false));
    let mut bytes = vec![0; 2048];
    thread::scope(|scope| {
        scope.spawn(|| run_load(&test, &[far], &clock, &sink, &stop));
        let len = tap.recv(&mut bytes).expect("an Initial");
        bytes.truncate(len);
        stop.store(true, Ordering::Relaxed);
    });
    bytes
}

/// Initials of new connections, garbage in an Initial, stray packets, other versions and short datagrams from
/// one socket at `from`. Returns the bytes sent and received.
fn flood(from: Ipv4Addr, to: SocketAddr, initial: &[u8]) -> (u64, u64) {
    let socket = UdpSocket::bind((from, 0)).expect("a socket");
    socket.set_nonblocking(true).expect("set");
    let (mut sent, mut got, mut buf) = (0, 0, [0; 2048]);
    let mut take = |wait: Duration| {
        thread::sleep(wait);
        while let Ok(len) = socket.recv(&mut buf) {
            got += len as u64;
        }
    };
    let noise = |number: u32| number.wrapping_mul(0x9e37_79b1).to_be_bytes();
    for number in 0..MANY {
        let mut bytes = initial.to_vec();
        // The connection ID that the client chooses for the server begins at octet 6 (RFC 9000, 17.2).
        bytes[6..10].copy_from_slice(&noise(number));
        match number % 8 {
            0..=3 => {}
            4 => bytes[20..].chunks_exact_mut(4).for_each(|four| four.copy_from_slice(&noise(number))),
            5 => bytes[0] = 0x40 | (number as u8 & 0x3f),
            6 => bytes[1..5].copy_from_slice(&noise(number)),
            _ => bytes.truncate(number as usize % 1200),
        }
        sent += socket.send_to(&bytes, to).unwrap_or(0) as u64;
        // The server shares a processor with us.
        take(Duration::from_micros(if number % 64 == 0 { 500 } else { 0 }));
    }
    take(Duration::from_millis(500));
    (sent, got)
}

#[test]
fn loopback_a_flood_is_not_amplified_takes_no_memory_and_stops_no_load() {
    let secret = Secret::of("twelve letters").expect("long enough");
    let probe = std::net::TcpListener::bind((V4, 0)).expect("a port");
    let tcp = probe.local_addr().expect("it is bound");
    drop(probe);
    let mut server = LoadServer::bind(&[tcp], secret.clone(), false, Bounds::default()).expect("bound");
    server.bind_quic(&[V4], 0).expect("bound");
    let to = SocketAddr::new(V4, server.quic_port().expect("bound"));
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _end = Ends(&stop);
        scope.spawn(|| server.serve(&stop, &|_| ()).expect("it serves"));
        let mut first = Control::open(tcp, &secret).expect("the word is right");
        let at = ClockWatch::new().now().mono;
        let ask = Start { transport: Transport::Quic, ..Start::of(1, at, Span::from_secs(600)) };
        let session = first.start(ask).expect("granted");
        let far = Far { server: tcp, session: Some(session), quic: first.quic().cloned() };
        let initial = initial(&far, far.quic.as_ref().expect("it accepts QUIC"));

        // From the address of the load, which the sender may have forged, and from elsewhere.
        let round = || {
            let (sent, got) = flood(Ipv4Addr::LOCALHOST, to, &initial);
            assert!(got > 0 && got <= sent, "{got} bytes for {sent}");
            assert_eq!(flood(Ipv4Addr::new(127, 0, 0, 9), to, &initial).1, 0, "nobody gets an answer");
            (sent, got)
        };
        round();
        let before = resident();
        let (sent, got) = round();
        let grown = resident().saturating_sub(before);
        eprintln!("{got} bytes for {sent}, and {grown} bytes of memory");
        assert!(grown <= FLAT, "{grown} bytes of memory for a flood of {sent} bytes");

        // A load during the flood.
        let mut control = Control::open(tcp, &secret).expect("the word is right");
        let at = ClockWatch::new().now().mono + 100_000_000;
        let params = Params { length: Span::from_secs(3), transport: Transport::Quic, ..Params::default() };
        let test = resolve("tcp_1up", &params).expect("a test");
        let ask = Start { transport: Transport::Quic, ..Start::of(1, at, test.load) };
        let session = control.start(ask).expect("granted");
        let far = Far { server: tcp, session: Some(session), quic: control.quic().cloned() };
        let (sink, _samples) = channel();
        let flooding = scope.spawn(move || flood(Ipv4Addr::LOCALHOST, to, &initial));
        let clock = SharedClock::starting_at(at);
        let flows = run_load(&test, &[far], &clock, &sink, &AtomicBool::new(false)).expect("it runs");
        let (sent, got) = flooding.join().expect("no panic");
        eprintln!("{got} bytes for {sent} beside a load of {} bytes", flows.flows[0].bytes);
        assert!(got <= sent, "{got} bytes for {sent}");
        assert!(flows.flows[0].error.is_none() && flows.flows[0].bytes > 1_000_000, "{flows:?}");
    });
}

//! `goodqueue server` under attack, as it runs for its users: a process of its own, without rights. Each
//! test prints its figures past the test runner's capture.

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use goodqueue::Span;
use goodqueue_path::load::Secret;
use goodqueue_path::load::client::Control;
use goodqueue_path::load::message::Start;
use goodqueue_path::open::{OpenReply, OpenRequest};
use goodqueue_path::params::Params;
use goodqueue_probe::net::{ClockWatch, Far, SessionId, SharedClock, run_load};
use goodqueue_probe::{Test, resolve};
use serde_json::Value;

use super::paths::{Server, counters};
use super::{goodqueue, stderr, stdout, turn};

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Bytes by which resident memory may grow under an attack that the server has met before: pages of the
/// allocator and of the C library, not of what attackers sent.
const FLAT: u64 = 512 << 10;

/// How many times its delay beside the same flood to another port a session may have beside a flood, in the
/// median of three rounds.
const SLOWER: f64 = 3.0;

fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// A number of the process's status.
fn status(server: &Server, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).expect("it runs");
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).expect("a number")
}

/// Resident memory, bytes.
pub(super) fn resident(server: &Server) -> u64 {
    status(server, "VmRSS") * 1024
}

fn at(server: &Server) -> SocketAddr {
    SocketAddr::new(V4, server.port.parse().expect("a port"))
}

fn secret(server: &Server) -> Secret {
    Secret::of(server.listening["word"].as_str().expect("a word")).expect("long enough")
}

/// A session of probes beside an attack: all of its probes must be answered. Returns its figures.
fn beside(server: &Server, length: &str, attack: impl FnOnce(&AtomicBool) + Send) -> Value {
    let mut command = goodqueue();
    command.args(["probe", "127.0.0.1", "--port", &server.port, "--interval", "10ms", "--json"]);
    let child = command.args(["--length", length]).stdout(Stdio::piped()).spawn().expect("it starts");
    let over = AtomicBool::new(false);
    let output = thread::scope(|scope| {
        let attack = scope.spawn(|| attack(&over));
        let output = child.wait_with_output().expect("it ends");
        over.store(true, Ordering::Relaxed);
        attack.join().expect("the attack goes on until then");
        output
    });
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let figures: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let counts = &figures["figures"]["counts"];
    assert_eq!(counts["sent"], counts["received"], "{counts}");
    assert!(counts["sent"].as_u64() > Some(50), "{counts}");
    figures
}

/// A request to open as our client sends it, and as irtt's does: without the padding.
fn requests() -> [Vec<u8>; 2] {
    let params = Params { version: 1, duration: 1_000_000_000, interval: 10_000_000, ..Params::default() };
    let padded = OpenRequest { try_only: false, params }.emit(false);
    let bare = padded[..padded.len() - 12].to_vec();
    [padded, bare]
}

/// What one round of a flood of opens came to.
#[derive(Default)]
struct Flood {
    datagrams: u64,
    sent: u64,
    answers: u64,
    received: u64,
}

/// Bytes sent and received, by address and port.
type Balances = HashMap<SocketAddr, [usize; 2]>;

/// Requests from many networks, each from an address of its own. No address gets more than it sent. A port
/// may come again, also in a later flood: then what it sent earlier counts, too.
fn flood_of_opens(at: SocketAddr, balances: &mut Balances, over: &AtomicBool) -> Flood {
    let ([padded, bare], mut flood, mut network) = (requests(), Flood::default(), 0_u32);
    let mut buf = [0; 2048];
    while !over.load(Ordering::Relaxed) {
        let sockets: Vec<(UdpSocket, usize)> = (0..100)
            .map(|_| {
                // 127.1.0.0 to 127.200.255.0, again and again.
                network = (network + 1) % (200 << 8);
                let [_, _, a, b] = network.to_be_bytes();
                let socket = UdpSocket::bind((Ipv4Addr::new(127, 1 + a, b, 9), 0)).expect("an address");
                socket.set_nonblocking(true).expect("a socket");
                let mut sent = 0;
                for request in [&bare, &padded] {
                    sent += socket.send_to(request, at).unwrap_or(0);
                    flood.datagrams += 1;
                }
                (socket, sent)
            })
            .collect();
        thread::sleep(Duration::from_millis(5));
        for (socket, sent) in sockets {
            let mut received = 0;
            while let Ok(len) = socket.recv(&mut buf) {
                received += len;
                flood.answers += 1;
            }
            let balance = balances.entry(socket.local_addr().expect("an address")).or_default();
            *balance = [balance[0] + sent, balance[1] + received];
            assert!(balance[1] <= balance[0], "{} bytes for {}", balance[1], balance[0]);
            flood.sent += sent as u64;
            flood.received += received as u64;
        }
    }
    flood
}

#[test]
fn loopback_a_flood_of_open_requests_does_not_disturb_a_session() {
    let _turn = turn();
    let server = Server::start(&["--bind", "127.0.0.1", "--metrics", "127.0.0.1:0"]);
    // What the flood costs this machine without any server.
    let nobody = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let elsewhere = nobody.local_addr().expect("an address");
    let median = |of: &Value| of["figures"]["rtt"]["median"].as_f64().expect("a median") / 1e3;
    let (mut memory, mut balances, mut ratios) = (Vec::new(), Balances::new(), Vec::new());
    for round in 0..3 {
        let aside = beside(&server, "1s", |over| {
            flood_of_opens(elsewhere, &mut Balances::new(), over);
        });
        let mut flood = Flood::default();
        let beside = beside(&server, "2s", |over| flood = flood_of_opens(at(&server), &mut balances, over));
        memory.push(resident(&server));
        let Flood { datagrams, sent, answers, received } = flood;
        say(&format!(
            "flood of opens {round}: {datagrams} requests of {sent} bytes, {answers} answers of {received} bytes; \
             session: all answered, median {:.0} us, beside the same flood to another port {:.0} us; resident {} kB",
            median(&beside),
            median(&aside),
            memory[round] >> 10
        ));
        ratios.push(median(&beside) / median(&aside));
        assert!(datagrams > 10_000 && answers > 0, "it was a flood");
    }
    // The server has one thread for probes: a probe may wait for the 200 requests that come at once.
    ratios.sort_by(f64::total_cmp);
    assert!(ratios[1] < SLOWER, "the flood delays a session: {ratios:?}");
    assert!(memory[2] <= memory[0] + FLAT, "{memory:?}");
    assert_eq!(counters(&server)["sessions"], 0, "none of them has a session");
}

/// One network, as many requests as it can: answers at its rate, whatever its addresses are.
#[test]
fn loopback_answers_to_a_network_are_limited_in_rate() {
    let _turn = turn();
    let server = Server::start(&["--bind", "127.0.0.1", "--open-rate", "3"]);
    let ([padded, _], began) = (requests(), Instant::now());
    let sockets: Vec<UdpSocket> = (1..255)
        .map(|host| UdpSocket::bind((Ipv4Addr::new(127, 9, 9, host), 0)).expect("an address"))
        .collect();
    let mut sent = 0;
    while began.elapsed() < Duration::from_secs(2) {
        for socket in &sockets {
            sent += u64::from(socket.send_to(&padded, at(&server)).is_ok());
        }
        thread::sleep(Duration::from_millis(5));
    }
    let seconds = began.elapsed().as_secs_f64();
    thread::sleep(Duration::from_millis(200));
    let mut answers = 0;
    for socket in &sockets {
        socket.set_nonblocking(true).expect("a socket");
        while socket.recv(&mut [0; 100]).is_ok() {
            answers += 1;
        }
    }
    let most = 6.0 + 3.0 * (seconds + 0.2) + 1.0;
    say(&format!("one /24, {seconds:.1} s: {sent} requests, {answers} answers, at most {most:.0}"));
    assert!(answers >= 6 && f64::from(answers) <= most, "{answers} of at most {most}");
    assert!(sent > 1000);
}

/// What went from the client to the server over a relay.
fn record(server: SocketAddr, talk: impl FnOnce(SocketAddr)) -> Vec<u8> {
    let listener = TcpListener::bind((V4, 0)).expect("a port");
    let relay = listener.local_addr().expect("an address");
    let said = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&said);
    let relaying = thread::spawn(move || {
        let (near, _) = listener.accept().expect("a client");
        let far = TcpStream::connect(server).expect("a server");
        let [mut near_in, mut far_in] = [&near, &far].map(|stream| stream.try_clone().expect("a copy"));
        let back = thread::spawn(move || {
            let _ = std::io::copy(&mut far_in, &mut near_in);
        });
        let (mut near, mut far, mut buf) = (near, far, [0; 4096]);
        while let Ok(len @ 1..) = near.read(&mut buf) {
            kept.lock().expect("a lock").extend_from_slice(&buf[..len]);
            far.write_all(&buf[..len]).expect("it goes on");
        }
        let _ = far.shutdown(std::net::Shutdown::Both);
        back.join().expect("it ends");
    });
    talk(relay);
    relaying.join().expect("it ends");
    std::mem::take(&mut *said.lock().expect("a lock"))
}

/// A load of this many flows, in this process, from start to end; `meanwhile` is done when it is at its
/// height.
fn load(at: SocketAddr, secret: &Secret, test: &Test, meanwhile: impl FnOnce()) -> u64 {
    let mut control = Control::open(at, secret).expect("a control connection");
    let flows = u32::try_from(test.flows.len()).expect("few");
    let start = ClockWatch::new().now().mono + 300_000_000;
    let session = control.start(Start::of(flows, start, test.load)).expect("a load");
    let (clock, (sink, _samples), done) =
        (SharedClock::starting_at(start), channel(), AtomicBool::new(false));
    thread::scope(|scope| {
        let sending = scope.spawn(|| {
            let end = run_load(
                test,
                &[Far { server: at, session: Some(session), quic: None }],
                &clock,
                &sink,
                &AtomicBool::new(false),
            )
            .expect("flows");
            done.store(true, Ordering::Relaxed);
            end
        });
        let hearing = scope.spawn(|| control.run(&mut |_| {}, &done).expect("an end"));
        thread::sleep(Duration::from_millis(300) + Duration::from_nanos(test.load.0 / 2));
        meanwhile();
        let ended = hearing.join().expect("it ends");
        assert_eq!((ended.refused, ended.error), (0, None));
        let end = sending.join().expect("it ends");
        assert!(end.flows.iter().all(|flow| flow.error.is_none()), "{end:?}");
        end.flows.iter().map(|flow| flow.bytes).sum()
    })
}

fn uploads(flows: u32, length_ms: u64) -> Test {
    let [length, step] = [length_ms, 100].map(Span::from_millis);
    let flows = Some(goodqueue_probe::FlowCount::Both(flows));
    let params = goodqueue_probe::Params { length, step, idle: Span(0), flows, ..Default::default() };
    resolve("tcp_nup", &params).expect("a test")
}

#[test]
fn loopback_half_open_and_slow_connections_do_not_stop_a_load() {
    let _turn = turn();
    goodqueue_wire::raise_open_files(8192).expect("a limit");
    let server = Server::start(&["--metrics", "127.0.0.1:0"]);
    let (at, secret) = (at(&server), secret(&server));
    let hello = record(at, |relay| drop(Control::open(relay, &secret)));
    // The record layer's header says how long the first message is.
    let hello = &hello[..5 + usize::from(u16::from_be_bytes([hello[3], hello[4]]))];
    load(at, &secret, &uploads(2, 200), || {});
    let mut memory = Vec::new();
    for round in 0..6 {
        let mut attackers = Vec::new();
        let (mut threads, began) = (0, Instant::now());
        let bytes = load(at, &secret, &uploads(2, 1000), || {
            for number in 0..1200 {
                let Ok(mut stream) = TcpStream::connect(at) else { continue };
                // Nothing; the begin of a flow; the begin of TLS, byte by byte below; TLS that stops after
                // its hello.
                let first = [&[][..], b"GQs", &hello[..9], hello][number % 4];
                // It may have been closed by now.
                let _ = stream.write_all(first);
                attackers.push(stream);
                if number % 100 == 0 {
                    threads = threads.max(status(&server, "Threads"));
                    attackers.iter_mut().skip(2).step_by(4).for_each(|slow| drop(slow.write(&[1])));
                }
            }
            // A client of the same network gets in, past those that do nothing.
            drop(Control::open(at, &secret).expect("a place"));
        });
        memory.push(resident(&server));
        say(&format!(
            "half-open and slow connections {round}: {} in {:.1} s, load of 2 flows {} MB without an error, {threads} \
             threads, resident {} kB",
            attackers.len(),
            began.elapsed().as_secs_f64(),
            bytes >> 20,
            memory[round] >> 10
        ));
        assert!(attackers.len() > 1000 && bytes > 1 << 20);
        // The main thread, those of probes, loads, counters and one load; 32 control connections, 32 that
        // lost their
        // places, and threads that have given back their places and are about to end.
        assert!(threads <= 5 + 3 * 32, "{threads}");
    }
    // The first rounds bring the stacks of as many threads as ever run at a time.
    assert!(memory[5] <= memory[2] + FLAT, "{memory:?}");
    let counters = counters(&server);
    let of = |why: &str| counters[&format!("connections_refused_total{{reason=\"{why}\"}}")];
    assert!(of("displaced") > 1000, "{counters:?}");
    assert_eq!(counters["load_flows_refused_total"], 0);
}

#[test]
fn loopback_replays_and_forgeries_get_nothing() {
    let _turn = turn();
    let server = Server::start(&["--metrics", "127.0.0.1:0", "--open-rate", "1000"]);
    let (at, secret) = (at(&server), secret(&server));
    // A whole control connection, with a load that has no flows.
    let said = record(at, |relay| {
        let mut control = Control::open(relay, &secret).expect("a control connection");
        control.start(Start::of(1, ClockWatch::new().now().mono, Span::from_secs(1))).expect("a load");
        control.run(&mut |_| {}, &AtomicBool::new(true)).expect("an end");
    });
    assert_eq!(counters(&server)["loads_started_total"], 1);
    for _ in 0..50 {
        let mut stream = TcpStream::connect(at).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
        // It may be refused before all of it is written.
        let _ = stream.write_all(&said);
        let mut answer = Vec::new();
        // A reset is as good as an end.
        if let Err(error) = stream.read_to_end(&mut answer) {
            assert_eq!(error.kind(), ErrorKind::ConnectionReset, "the server ends it");
        }
    }
    let after = counters(&server);
    assert_eq!(after["loads_started_total"], 1, "no replay begins a load");
    assert_eq!(after["connections_refused_total{reason=\"no_proof\"}"], 50);

    // A session of probes, and its datagrams again: from elsewhere at once, and from its own port when it is
    // over.
    let client = UdpSocket::bind((V4, 0)).expect("a port");
    client.set_read_timeout(Some(Duration::from_millis(300))).expect("a socket");
    let mut buf = [0; 2048];
    client.send_to(&requests()[0], at).expect("sent");
    let len = client.recv(&mut buf).expect("an answer");
    let token = OpenReply::parse(&buf[..len]).expect("a reply").token;
    let mut probe = [0_u8; 60];
    probe[..3].copy_from_slice(&goodqueue_probe::echo::wire::MAGIC);
    probe[4..12].copy_from_slice(&token.to_le_bytes());
    client.send_to(&probe, at).expect("sent");
    assert!(client.recv(&mut buf).is_ok(), "the session is open");
    let thief = UdpSocket::bind((V4, 0)).expect("a port");
    let mut forged = probe;
    let mut state = 9_u64;
    for number in 0..20_000_u64 {
        // A replay from elsewhere, and a forged token from the session's own address.
        thief.send_to(&probe, at).expect("sent");
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        forged[4..12].copy_from_slice(&(state | 1).to_le_bytes());
        client.send_to(&forged, at).expect("sent");
        if number % 64 == 0 {
            thread::sleep(Duration::from_millis(2));
        }
    }
    thief.set_nonblocking(true).expect("a socket");
    assert!(thief.recv(&mut buf).is_err(), "a token is good for one address and port alone");
    client.send_to(&goodqueue_path::open::close(token, false), at).expect("sent");
    for _ in 0..1000 {
        client.send_to(&probe, at).expect("sent");
    }
    assert!(client.recv(&mut buf).is_err(), "nothing was answered but the one probe");
    thread::sleep(Duration::from_millis(200));
    let counters = counters(&server);
    let dropped = counters["datagrams_dropped_total{reason=\"wrong_token\"}"];
    say(&format!(
        "replays and forged tokens: 50 control connections, {dropped} of 41000 datagrams, none answered"
    ));
    assert!(dropped > 30_000 && counters["datagrams_sent_total"] == 2, "{counters:?}");

    // Forged sessions of flows, beside a load.
    let bytes = load(at, &secret, &uploads(2, 1000), || {
        for _ in 0..300 {
            let mut stream = TcpStream::connect(at).expect("it listens");
            let forged = SessionId::random().expect("random bits");
            stream.write_all(&forged.preface()).expect("sent");
            stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
            assert!(!matches!(stream.read(&mut [0]), Ok(1..)), "nothing is sent to it");
        }
    });
    assert!(bytes > 1 << 20, "{bytes}");
}

/// The bytes that the page states for a kind of connection.
fn stated(what: &str) -> u64 {
    let page = include_str!("../../../../../docs/server.md");
    let row = page.lines().find(|line| line.starts_with(&format!("| {what} |"))).expect("a row");
    let kb = row.split('|').nth(3).and_then(|cell| cell.trim().strip_suffix(" kB")).expect("kB");
    (kb.parse::<f64>().expect("a number") * 1e3) as u64
}

/// Asserts what one of `count` connections has added to the server's memory, of `before` bytes; returns its
/// memory.
pub(super) fn grown(server: &Server, before: u64, what: &str, count: u64) -> u64 {
    thread::sleep(Duration::from_millis(300));
    let now = resident(server);
    let (each, most) = (now.saturating_sub(before) / count, stated(what));
    say(&format!("{what}: {each} bytes each, the page says at most {most}"));
    assert!(each <= most, "{what}: {each} bytes, the page says {most}");
    assert!(
        each > 0 && most <= 4 * each.max(500),
        "{what}: {each} bytes, the page says {most}, far too much"
    );
    now
}

/// The table of docs/server.md: what a connection of each kind adds to resident memory, the touched part of
/// its thread's stack included.
#[test]
fn loopback_memory_of_each_kind_of_connection_is_within_the_stated_bound() {
    let _turn = turn();
    goodqueue_wire::raise_open_files(8192).expect("a limit");
    let many = 100_u64;
    let bounds = "--controls 400 --controls-per-network 400 --loads 200 --flows 400";
    let server = Server::start(&bounds.split(' ').collect::<Vec<_>>());
    let (at, secret) = (at(&server), secret(&server));
    let hello = record(at, |relay| drop(Control::open(relay, &secret)));
    let hello = &hello[..5 + usize::from(u16::from_be_bytes([hello[3], hello[4]]))];
    let before = resident(&server);
    // More than of the others: the first of all also bring what the allocator takes but once.
    let (most, connect) = (240, |_| TcpStream::connect(at).expect("it listens"));
    let mut unknown: Vec<TcpStream> = (0..most).map(connect).collect();
    grown(&server, before, "TCP connection of unknown purpose", most);
    unknown.truncate(100);
    thread::sleep(Duration::from_millis(300));
    let before = resident(&server);
    let half_open: Vec<TcpStream> = (0..many)
        .map(|_| {
            let mut stream = TcpStream::connect(at).expect("it listens");
            stream.write_all(hello).expect("sent");
            stream
        })
        .collect();
    let before = grown(&server, before, "half-open TLS connection", many);
    let mut controls: Vec<Control> =
        (0..many).map(|_| Control::open(at, &secret).expect("a place")).collect();
    let before = grown(&server, before, "control connection", many);
    let now = ClockWatch::new().now().mono;
    for control in &mut controls {
        control.start(Start::of(1, now, Span::from_secs(60))).expect("a load");
    }
    grown(&server, before, "load", many);
    drop((server, unknown, half_open, controls));

    // A server that has freed nothing yet.
    let server = Server::start(&["--flows", "400"]);
    let (at, secret, flows) = (self::at(&server), self::secret(&server), 200);
    let mut control = Control::open(at, &secret).expect("a place");
    let test = uploads(flows, 2000);
    let start = ClockWatch::new().now().mono + 100_000_000;
    let session = control.start(Start::of(flows, start, test.load)).expect("a load");
    // The first load brings once what asking for the queues of the interfaces takes.
    thread::sleep(Duration::from_millis(300));
    let before = resident(&server);
    let (clock, (sink, _samples)) = (SharedClock::starting_at(start), channel());
    thread::scope(|scope| {
        let sending = scope.spawn(|| {
            run_load(
                &test,
                &[Far { server: at, session: Some(session), quic: None }],
                &clock,
                &sink,
                &AtomicBool::new(false),
            )
        });
        thread::sleep(Duration::from_millis(700));
        grown(&server, before, "flow", u64::from(flows));
        control.run(&mut |_| {}, &AtomicBool::new(true)).expect("an end");
        drop(sending.join().expect("it ends").expect("flows"));
    });
}

/// The same of connections for pages and videos, whose clients do not read what they have asked for.
#[test]
fn loopback_memory_of_pages_and_videos_is_within_the_stated_bound() {
    let _turn = turn();
    let server = Server::start(&["--bind", "127.0.0.1"]);
    let (at, secret, each) = (at(&server), secret(&server), 60);
    // "GQw1", bytes of the request and of the answer, 1 GB, and the congestion control.
    let mut request = [0; 64];
    request[..21].copy_from_slice(b"GQw1\x40\0\0\0\0\0\0\x40\0\0\0\0cubic");
    let connect = |session: &SessionId| {
        let mut stream = TcpStream::connect(at).expect("it listens");
        stream.write_all(&session.preface()).expect("sent");
        stream.write_all(&request).expect("sent");
        stream.read_exact(&mut [0; 64]).expect("it is answered");
        stream
    };
    let mut controls: Vec<Control> = (0..4).map(|_| Control::open(at, &secret).expect("a place")).collect();
    let now = ClockWatch::new().now().mono;
    let load = Start { web: each, ..Start::of(0, now, Span::from_secs(60)) };
    let sessions: Vec<SessionId> =
        controls.iter_mut().map(|control| control.start(load).expect("a load")).collect();
    // The first also brings what the allocator takes but once.
    let first = connect(&sessions[0]);
    let before = resident(&server);
    let open = |session| (1..each).map(move |_| connect(session));
    let all: Vec<TcpStream> = sessions.iter().flat_map(open).collect();
    grown(&server, before, "connection for pages and videos", all.len() as u64);
    drop(first);
}

/// Datagrams that claim to be of a load: queries, hellos of calls, announcements of UDP flows down.
#[test]
fn loopback_forged_datagrams_of_loads_get_no_answer() {
    let server = Server::start(&[]);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.connect(at(&server)).expect("it is bound");
    socket.set_read_timeout(Some(Duration::from_millis(500))).expect("a timeout");
    let mut query = [0; goodqueue_probe::echo::wire::HEADER_LEN];
    goodqueue_probe::echo::wire::Layout::FULL
        .emit(&goodqueue_probe::echo::wire::Packet::default(), &mut query);
    let flood = [&b"GQu1\x01\x01\0\0\0\0\0\0\xe8\x03\0\0"[..], &[0x80; 32]].concat();
    for round in 0..500_u32 {
        for inner in [&query[..], &flood, &b"GQt1\x01"[..], &[]] {
            let id = SessionId::random().expect("random bits");
            let datagram = [&id.preface()[..], inner].concat();
            // The kernel may have no room for more just then.
            let _ =
                socket.send(&datagram[..datagram.len() - usize::from(round % 2 == 1 && inner.is_empty())]);
        }
    }
    let answer = socket.recv(&mut [0; 2000]);
    assert!(answer.is_err(), "{answer:?}");
}

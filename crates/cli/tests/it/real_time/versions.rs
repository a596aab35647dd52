//! A server or a client of another release: it works, or both ends say what is wrong and what to do.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use goodqueue_path::load::{Secret, tls};
use goodqueue_path::open::{OpenReply, OpenRequest};
use goodqueue_path::params::{Params, Refusal, VERSION};
use rustls::{ClientConnection, ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;

use super::paths::Server;
use super::{run, stderr};

/// A key of loads.
const WORD: &str = "a-word-for-both-ends";
/// A moment in which everything on one machine has an answer.
const PATIENCE: Duration = Duration::from_secs(10);

fn secret() -> Secret {
    Secret::of(WORD).expect("long enough")
}

/// Takes one control connection and says `line` to the client's first message.
fn load_server(alpn: &'static [u8], line: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("an address");
    let mut config = ServerConfig::clone(&tls::server(&secret()).expect("keys"));
    config.alpn_protocols = vec![alpn.to_vec()];
    thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a client");
        let mut tls = StreamOwned::new(ServerConnection::new(config.into()).expect("TLS"), stream);
        let mut hello = String::new();
        // A client without a common protocol learns so in the handshake, and sends nothing.
        if BufReader::new(&mut tls).read_line(&mut hello).is_ok() {
            assert!(hello.contains("\"version\":1"), "{hello}");
            tls.write_all(line.as_bytes()).expect("it is sent");
            // Until the client has gone.
            let _ = tls.read(&mut [0; 64]);
        }
    });
    at
}

#[test]
fn loopback_a_server_of_another_version_is_named_by_a_test() {
    let update = "update the older one";
    for (alpn, line, part) in [
        // It understands our messages, and knows that we do not understand its own.
        (&b"goodqueue/1"[..], "{\"refused\":{\"version\":2}}\n", "version 2 of the protocol"),
        // It has another protocol altogether.
        (b"goodqueue/2", "", "another version of the protocol"),
    ] {
        let output = run(&format!("test {} tcp_1up --length 1s --key {WORD}", load_server(alpn, line)));
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(text.contains(part) && text.contains(update), "{text}");
    }
    // A reason that this release does not have yet.
    let at = load_server(b"goodqueue/1", "{\"refused\":{\"weather\":\"rain\"}}\n");
    let output = run(&format!("test {at} tcp_1up --length 1s --key {WORD}"));
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("if it is newer, update this one"), "{}", stderr(&output));
}

/// Answers requests to open a session of probes as a server of this version does: with its parameters, or
/// with the reason for which it has none.
fn probe_server(version: i64, refusal: i64) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let at = socket.local_addr().expect("an address");
    thread::spawn(move || {
        let mut buf = [0; 2048];
        let (len, from) = socket.recv_from(&mut buf).expect("a request");
        let request = OpenRequest::parse(&buf[..len]).expect("to open");
        assert_eq!(request.params.version, 1);
        let params = Params { version, refusal, ..request.params };
        let reply = OpenReply { token: 0, closed: true, params }.emit(false);
        socket.send_to(&reply, from).expect("it is sent");
    });
    at
}

#[test]
fn loopback_a_server_of_another_version_is_named_by_probes() {
    for (command, options) in [("probe", "--length 1s"), ("test", "ping --length 1s")] {
        for (version, refusal, part) in [
            (2, Refusal::Version.value(), "version 2 of the protocol"),
            (VERSION, Refusal::Version.value(), "another version of the protocol"),
        ] {
            let at = probe_server(version, refusal);
            let output = run(&format!("{command} {at} {options}"));
            let text = stderr(&output);
            assert_eq!(output.status.code(), Some(3), "{text}");
            assert!(text.contains(part) && text.contains("update the older one"), "{command}: {text}");
        }
    }
}

#[test]
fn loopback_a_client_of_another_version_is_told_so_by_the_server() {
    let server = Server::start(&["--bind", "127.0.0.1", "--key", WORD]);
    let at: SocketAddr = format!("127.0.0.1:{}", server.port).parse().expect("an address");
    // The control connection of loads.
    let stream = TcpStream::connect(at).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let config = tls::client(&secret()).expect("keys");
    let mut tls = StreamOwned::new(ClientConnection::new(config, tls::name()).expect("TLS"), stream);
    // What a later release may say more does not matter.
    tls.write_all(b"{\"hello\":{\"version\":2,\"proof\":\"\",\"more\":1}}\n").expect("it is sent");
    let mut answer = String::new();
    BufReader::new(&mut tls).read_line(&mut answer).expect("an answer");
    assert_eq!(answer, "{\"refused\":{\"version\":1}}\n");
    let said = server.terminate();
    let refused = said.iter().find(|event| event["event"] == "load_refused").expect("an event");
    let is_named = |event: &Value| {
        let why = event["why"].as_str().unwrap_or_default();
        why.contains("another version of the protocol") && why.contains("update the older")
    };
    assert!(is_named(refused), "{refused}");

    // A session of probes.
    let server = Server::start(&["--bind", "127.0.0.1"]);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let params =
        Params { version: 2, duration: 1_000_000_000, interval: 10_000_000, clocks: 3, ..Params::default() };
    let request = OpenRequest { try_only: false, params }.emit(false);
    socket.send_to(&request, format!("127.0.0.1:{}", server.port)).expect("it is sent");
    let mut buf = [0; 2048];
    let (len, _) = socket.recv_from(&mut buf).expect("an answer");
    let reply = OpenReply::parse(&buf[..len]).expect("a reply");
    assert!(reply.closed && reply.token == 0 && reply.params.version == VERSION, "{reply:?}");
    assert_eq!(Refusal::of(reply.params.refusal), Some(Refusal::Version));
    let said = server.terminate();
    let refused = said.iter().find(|event| event["event"] == "refused").expect("an event");
    assert!(is_named(refused), "{refused}");
}

//! RPM tests over HTTPS: the running server with other programs' clients, and the command against it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use goodqueue_path::rpm::trust::Trust;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use serde_json::Value;

use super::hostile::{grown, resident};
use super::paths::{Server, counters};
use super::{Gone, Scratch, goodqueue, has, measured, run, stderr, stdout, turn};

/// A server with HTTPS at a port of its own.
fn server() -> (Server, String, String) {
    let server = Server::start(&["--https", "127.0.0.1:0", "--metrics", "127.0.0.1:0"]);
    let https = &server.listening["https"];
    let at = https["addresses"][0].as_str().expect("an address").to_owned();
    let fingerprint = https["fingerprint"].as_str().expect("a fingerprint").to_owned();
    (server, at, fingerprint)
}

fn test(words: &str) -> Output {
    goodqueue().arg("test").args(words.split_whitespace()).output().expect("the command starts")
}

/// A value of a part, by the draft's name and the key, ms.
pub(super) fn part(rpm: &Value, name: &str, key: &str) -> f64 {
    let parts = rpm["parts"].as_array().expect("parts");
    let part = parts.iter().find(|part| part["name"] == name).expect(name);
    part[key].as_f64().unwrap_or_else(|| panic!("{part}")) / 1e6
}

/// The figure, which follows from its parts.
pub(super) fn figure(rpm: &Value) -> f64 {
    let mean = |name: &str| part(rpm, name, "trimmed_mean_ns");
    let foreign = 60e3 / ((mean("tcp_f") + mean("tls_f") + mean("http_f")) / 3.0);
    let expected = f64::midpoint(foreign, 60e3 / mean("http_l"));
    let figure = rpm["rpm"].as_f64().expect("a figure");
    assert!((figure / expected - 1.0).abs() < 1e-9, "{expected} of {rpm}");
    figure
}

#[test]
fn a_simulation_has_the_figure_of_each_queue_and_load() {
    let words = "rpm --rate 20mbit --rtt 20ms --length 15s --queue pfifo:500,fq_codel --with voip";
    let record = measured(words);
    assert_eq!(record["runs"], measured(words)["runs"], "the same again");
    let runs = record["runs"].as_array().expect("runs");
    let names: Vec<&str> = runs.iter().filter_map(|run| run["queue"].as_str()).collect();
    let all = ["pfifo:500 download", "pfifo:500 upload", "fq_codel download", "fq_codel upload"];
    assert_eq!(names, all);
    for (run, load) in runs.iter().zip(["down", "up"].iter().cycle()) {
        assert_eq!((&run["loads"][0], &run["rpm"]["tls"]), (&(*load).into(), &"TLS 1.3".into()));
        assert_eq!(run["validity"]["valid"], true, "{}", run["queue"]);
        // The connections of its own load have goodput, in the order in which they began, and no others.
        let plans = record["test"]["flows"].as_array().expect("flows");
        let bytes = |flow: &Value| {
            flow["rx_bytes"].as_array().map_or(0, |bytes| bytes.iter().filter_map(Value::as_u64).sum::<u64>())
        };
        let connections = run["rpm"]["intervals"].as_array().map_or(0, Vec::len).min(16);
        let series = run["flows"].as_array().expect("flows");
        let loaded = plans.iter().zip(series).filter(|(_, flow)| bytes(flow) > 0);
        let loaded: Vec<&Value> = loaded.map(|(plan, _)| &plan["name"]).collect();
        let way = if *load == "down" { "download" } else { "upload" };
        let expected: Vec<String> = (1..=connections).map(|n| format!("TCP {way}::{n}")).collect();
        assert_eq!(loaded, expected.iter().collect::<Vec<_>>(), "{}", run["queue"]);
        // A call beside it keeps its own numbers.
        assert!(run["voip"][0]["sent_ns"].as_array().is_some_and(|sent| sent.len() > 800));
    }
    let figures: Vec<f64> = runs.iter().map(|run| figure(&run["rpm"])).collect();
    assert!(figures[2] > 4.0 * figures[0] && figures[3] > 4.0 * figures[1], "{figures:?}");
    // TLS 1.2 counts for each of its round trips, so the figure is nearly the same.
    let other = measured("rpm_tls12 --rate 20mbit --rtt 20ms --length 15s --queue fq_codel");
    assert_eq!(other["runs"][0]["rpm"]["tls"], "TLS 1.2");
    let ratio = figure(&other["runs"][0]["rpm"]) / figures[2];
    assert!((0.8..1.25).contains(&ratio), "{ratio}");
    let checked = run("run rpm --length 12s --queue fq_codel --check-determinism --quiet");
    assert_eq!(stderr(&checked).matches("two runs agree in all ").count(), 2, "{}", stderr(&checked));
    for (words, part) in [
        ("run rpm --live --with voip", "nothing else can run with it"),
        ("run rpm --transport quic", "HTTP/2 over TCP"),
        ("run rpm --length 900ms", "intervals of 1 s"),
        ("run rpm --cc hybla", "hybla"),
        ("test 127.0.0.1 rpm_tls12 --key aaaaaaaaaaaaaaaa", "goodqueue test HOST rpm"),
    ] {
        let output = run(words);
        assert_eq!(output.status.code(), Some(2), "{words}: {}", stderr(&output));
        assert!(stderr(&output).contains(part), "{words}: {}", stderr(&output));
    }
}

#[test]
fn loopback_curl_finds_all_that_the_draft_asks_of_a_server() {
    if !has("loopback_curl_finds_all_that_the_draft_asks_of_a_server", "curl") {
        return;
    }
    let (server, at, _) = server();
    let curl = |path: &str, options: &str| {
        let url = format!("https://{at}{path}");
        let base = ["--silent", "--insecure", "--http2", "--max-time", "20"];
        let output = Command::new("curl").args(base).args(options.split_whitespace()).arg(&url).output();
        output.expect("curl runs")
    };
    let head = |path: &str, options: &str| -> String {
        let format =
            "-o /dev/null -w %{http_version}/%{http_code}/%{content_type}/%{size_download}/%{size_upload}";
        stdout(&curl(path, &format!("{format} {options}")))
    };
    let text = stdout(&curl("/.well-known/nq", ""));
    let document: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(document["version"], 1);
    assert_eq!(document["urls"]["small_download_url"], format!("https://{at}/small"));
    assert_eq!(document["urls"].as_object().map(serde_json::Map::len), Some(3));
    let length = text.len();
    assert_eq!(head("/.well-known/nq", ""), format!("2/200/application/json/{length}/0"));
    assert_eq!(head("/small", ""), "2/200/application/octet-stream/1/0");
    // A million bytes, then the client has enough.
    let some = curl("/large", "--max-filesize 1000000");
    assert_eq!(some.status.code(), Some(63), "the length says that it is larger: {some:?}");
    let url = format!("https://{at}/large");
    let mut child = Command::new("curl");
    child.args(["--silent", "--insecure", "--http2", &url]).stdout(Stdio::piped());
    let mut child = Gone(child.spawn().expect("curl runs"));
    let mut bytes = vec![1; 1_000_000];
    child.0.stdout.take().expect("piped").read_exact(&mut bytes).expect("a million bytes");
    assert!(bytes.iter().all(|&byte| byte == 0));
    drop(child);
    let scratch = Scratch::new("rpm-upload");
    let file = scratch.path("upload");
    std::fs::write(&file, vec![7; 3_000_000]).expect("a file");
    let upload = format!("--data-binary @{}", file.display());
    assert_eq!(head("/upload", &upload), "2/200//0/3000000");
    assert_eq!(head("/upload", ""), "2/405//0/0");
    assert_eq!(head("/", ""), "2/404//0/0");
    let counted = counters(&server);
    assert!(counted["rpm_received_bytes_total"] >= 3_000_000, "{counted:?}");
    assert!(counted["rpm_sent_bytes_total"] >= 1_000_000, "{counted:?}");
    assert!(counted["rpm_transfers_started_total"] >= 3, "{counted:?}");
}

#[test]
fn loopback_nghttp_asks_for_many_objects_on_one_connection() {
    if !has("loopback_nghttp_asks_for_many_objects_on_one_connection", "nghttp") {
        return;
    }
    let (_server, at, _) = server();
    let url = format!("https://{at}/small");
    let output = Command::new("nghttp").args(["-nv", "--no-verify-peer", "-m", "50", &url]).output();
    let text = stdout(&output.expect("nghttp runs"));
    // Debian 12's has no such option, and takes every certificate.
    let text = if text.contains(":status") {
        text
    } else {
        let output = Command::new("nghttp").args(["-nv", "-m", "50", &url]).output().expect("nghttp runs");
        stdout(&output)
    };
    let plain: String = text.lines().map(|line| format!("{line}\n")).collect();
    assert_eq!(plain.matches(":status: 200").count(), 50, "{plain}");
    assert_eq!(plain.matches("negotiated protocol: h2").count(), 1, "{plain}");
}

#[test]
fn loopback_the_command_measures_its_own_server() {
    let _turn = turn();
    let (server, at, fingerprint) = server();
    let scratch = Scratch::new("rpm");
    let folder = scratch.path("kept");
    let words = "--length 3s --idle 1s --rpm-interval 250ms --flows 3";
    let words = format!("https://{at} --fingerprint {fingerprint} {words} -o {}", folder.display());
    let output = test(&words);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    for part in
        ["round trips per minute", "While downloads fill", "uploads fill", "new: TLS", "loaded: HTTP", "p99"]
    {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
    let record = super::kept(&folder);
    assert_eq!((record["arm"].as_str(), record["test"]["name"].as_str()), (Some("path"), Some("rpm")));
    for load in 0..2 {
        let rpm = &record["runs"][load]["rpm"];
        assert_eq!(rpm["tls"], "TLS 1.3");
        figure(rpm);
    }
    let page = std::fs::read_to_string(folder.join("report.html")).expect("a page");
    assert!(page.contains("Parts of the figure"));
    let again = goodqueue().arg("report").arg(&folder).output().expect("the command starts");
    assert!(stdout(&again).contains("loaded: HTTP"), "{}", stdout(&again));
    let counted = counters(&server);
    assert_eq!(counted["rpm_transfers_refused_total"], 0);
}

#[test]
fn loopback_rpm_by_its_name_is_the_test_of_https() {
    let _turn = turn();
    let (_server, at, fingerprint) = server();
    let words = "--length 1s --idle 200ms --rpm-interval 250ms --json";
    let output = test(&format!("{at} rpm --fingerprint {fingerprint} {words}"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
    assert_eq!(record["server"], format!("https://{at}"));
    assert_eq!((&record["arm"], &record["test"]["name"]), (&"path".into(), &"rpm".into()));
    for load in 0..2 {
        assert!(figure(&record["runs"][load]["rpm"]) > 0.0);
    }
}

#[test]
fn loopback_a_server_of_somebody_else_has_a_figure() {
    let name = "loopback_a_server_of_somebody_else_has_a_figure";
    let _turn = turn();
    if !has(name, "go") {
        return;
    }
    let scratch = Scratch::new("rpm-go");
    let (source, program) = (scratch.path("server.go"), scratch.path("server"));
    std::fs::write(&source, include_str!("rpm_server.go")).expect("the source");
    let built =
        Command::new("go").arg("build").arg("-o").args([&program, &source]).output().expect("go runs");
    assert!(built.status.success(), "{}", stderr(&built));
    let mut server = Gone(Command::new(&program).stdout(Stdio::piped()).spawn().expect("it starts"));
    let mut line = String::new();
    BufReader::new(server.0.stdout.as_mut().expect("piped")).read_line(&mut line).expect("a line");
    let (at, fingerprint) = line.trim().split_once(' ').expect("an address and a fingerprint");
    let words = "--length 3s --idle 500ms --rpm-interval 250ms --flows 2 --json";
    let output = test(&format!("https://{at} --fingerprint {fingerprint} {words}"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
    for load in 0..2 {
        let rpm = &record["runs"][load]["rpm"];
        assert_eq!(rpm["tls"], "TLS 1.3");
        assert!(figure(rpm) > 0.0);
    }
}

#[test]
fn what_is_wrong_with_an_address_of_https_is_said() {
    for (words, part) in [
        ("http://127.0.0.1", "https://"),
        ("https://127.0.0.1/large", "leave /large out"),
        ("https://127.0.0.1 rrul", "leave rrul out"),
        ("https://127.0.0.1 --key aaaaaaaaaaaaaaaa", "--key"),
        ("https://127.0.0.1 --locate", "--locate"),
        ("https://127.0.0.1 --fingerprint 12", "64 hexadecimal digits"),
        ("https://127.0.0.1 --length 500ms", "--rpm-interval"),
        ("https://127.0.0.1 --flows 0", "--flows 0"),
        ("https://127.0.0.1 --flows 2,8", "one maximum for both directions; write --flows 8"),
        ("https://127.0.0.1 rpm_tls12", "leave rpm_tls12 out"),
        ("127.0.0.1 rpm --key aaaaaaaaaaaaaaaa", "--key"),
        ("127.0.0.1 rpm --with voip", "--with"),
        ("127.0.0.1 rpm --fingerprint 12", "64 hexadecimal digits"),
        ("127.0.0.1/large rpm", "leave /large out"),
        ("127.0.0.1 --insecure", "https://"),
    ] {
        let output = run(&format!("test {words}"));
        assert_eq!(output.status.code(), Some(2), "{words}: {}", stderr(&output));
        assert!(stderr(&output).contains(part), "{words}: {}", stderr(&output));
    }
    for (words, part) in [
        ("--https nowhere", "an address and a port"),
        ("--https 127.0.0.1:0 --https-rate fast", "--https-rate fast"),
        ("--https 127.0.0.1:0 --https-transfers 1", "--https-transfers 1"),
        ("--https 127.0.0.1:0 --https-cert /nowhere --https-key /nowhere", "--https-cert /nowhere"),
    ] {
        let output = run(&format!("server --port 0 {words}"));
        assert_eq!(output.status.code(), Some(2), "{words}: {}", stderr(&output));
        assert!(stderr(&output).contains(part), "{words}: {}", stderr(&output));
    }
}

#[test]
fn loopback_a_server_that_is_none_is_named_with_the_cure() {
    for (words, at) in [
        ("https://127.0.0.1:9", "https://127.0.0.1:9: nobody listens at 127.0.0.1:9;"),
        ("127.0.0.1:9 rpm", "https://127.0.0.1:9: nobody listens at 127.0.0.1:9;"),
        ("127.83.70.9 rpm", "https://127.83.70.9: nobody listens at 127.83.70.9:443;"),
    ] {
        let nobody = run(&format!("test {words} --insecure"));
        assert_eq!(nobody.status.code(), Some(3), "{}", stderr(&nobody));
        assert!(stderr(&nobody).contains(at), "{}", stderr(&nobody));
        assert!(stderr(&nobody).contains("goodqueue server --https"), "{}", stderr(&nobody));
    }
    let (_server, at, _) = server();
    for trust in ["", "--fingerprint 0000000000000000000000000000000000000000000000000000000000000000"] {
        let output = test(&format!("https://{at} {trust}"));
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains("fingerprint"), "{}", stderr(&output));
    }
}

/// Silent connections, again and again: memory stays, and a client gets in beside them.
#[test]
fn loopback_a_flood_of_https_connections_leaves_memory_flat() {
    let _turn = turn();
    let (server, at, fingerprint) = server();
    let flood = || {
        let all: Vec<TcpStream> = (0..1000).filter_map(|_| TcpStream::connect(&at).ok()).collect();
        std::thread::sleep(Duration::from_millis(500));
        drop(all);
    };
    flood();
    std::thread::sleep(Duration::from_secs(1));
    let before = resident(&server);
    for _ in 0..4 {
        flood();
    }
    std::thread::sleep(Duration::from_secs(3));
    let grown = resident(&server).saturating_sub(before);
    let _ = writeln!(std::io::stderr(), "4000 HTTPS connections: {} kB more", grown >> 10);
    assert!(grown < 512 << 10, "{grown} bytes");
    let words =
        format!("https://{at} --fingerprint {fingerprint} --length 1s --idle 0s --rpm-interval 500ms");
    let output = test(&words);
    assert!(matches!(output.status.code(), Some(0)), "{}", stderr(&output));
}

/// A connection with TLS and HTTP/2 (RFC 9113), spoken byte by byte, so that answers can be left unread.
struct Raw(StreamOwned<ClientConnection, TcpStream>);

impl Raw {
    /// `window`: bytes that each answer may send before it is read (`SETTINGS_INITIAL_WINDOW_SIZE`).
    fn open(at: &str, config: &Arc<ClientConfig>, window: u32) -> Raw {
        let stream = TcpStream::connect(at).expect("it listens");
        let name = ServerName::IpAddress(std::net::Ipv4Addr::LOCALHOST.into());
        let tls = ClientConnection::new(Arc::clone(config), name).expect("TLS");
        let mut raw = Raw(StreamOwned::new(tls, stream));
        raw.0.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").expect("sent");
        raw.frame(4, 0, 0, &[&[0, 4], &window.to_be_bytes()[..]].concat());
        raw.frame(8, 0, 0, &(window / 2 + 1).to_be_bytes());
        // The server's settings: it speaks HTTP/2.
        raw.0.read_exact(&mut [0; 9]).expect("an answer");
        raw
    }

    fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let length = u32::try_from(payload.len()).expect("short").to_be_bytes();
        let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
        self.0.write_all(&[&head, payload].concat()).expect("sent");
    }

    /// Asks for a page on a stream, an odd number.
    fn get(&mut self, path: &str, stream: u32) {
        let text = |index: u8, value: &str| {
            let length = u8::try_from(value.len()).expect("short");
            [&[0x40 | index, length], value.as_bytes()].concat()
        };
        // GET and https, by their indexes in the static table of RFC 7541; the header and the request end.
        let block = [vec![0x82, 0x87], text(4, path), text(1, "localhost")].concat();
        self.frame(1, 5, stream, &block);
    }
}

/// The table of HTTPS in docs/server.md.
#[test]
fn loopback_memory_of_https_is_within_the_stated_bound() {
    let _turn = turn();
    let many = 150;
    // The server takes 100 new ones a second of one network.
    let pace = || std::thread::sleep(Duration::from_millis(12));
    let (server, at, _) = self::server();
    let connect = |_| {
        pace();
        TcpStream::connect(&at).expect("it listens")
    };
    let first = connect(0);
    std::thread::sleep(Duration::from_millis(300));
    let before = resident(&server);
    let plain: Vec<TcpStream> = (1..many).map(connect).collect();
    grown(&server, before, "connection without TLS", many - 1);
    drop((first, plain, server));

    // Servers that have freed nothing yet.
    let (server, at, _) = self::server();
    let config = Trust::Anybody.client().expect("TLS");
    let open = |_| {
        pace();
        Raw::open(&at, &config, 0)
    };
    let mut first = open(0);
    first.get("/small", 1);
    std::thread::sleep(Duration::from_millis(300));
    let before = resident(&server);
    let mut all: Vec<Raw> = (1..many).map(open).collect();
    let before = grown(&server, before, "connection with TLS and HTTP/2", many - 1);
    for raw in &mut all[..20] {
        (0..100).for_each(|number| raw.get("/small", 2 * number + 1));
    }
    grown(&server, before, "request whose answer the client does not read", 20 * 100);
    drop((first, all, server));

    let (server, at, _) = self::server();
    let config = Trust::Anybody.client().expect("TLS");
    let mut all: Vec<Raw> = (0..32)
        .map(|_| {
            pace();
            Raw::open(&at, &config, 1 << 30)
        })
        .collect();
    all[0].get("/large", 1);
    std::thread::sleep(Duration::from_millis(300));
    let before = resident(&server);
    all[1..].iter_mut().for_each(|raw| raw.get("/large", 1));
    std::thread::sleep(Duration::from_millis(700));
    grown(&server, before, "download", 31);
}

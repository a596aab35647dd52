//! Programs that people really run, behind `goodqueue link`: curl, iperf3, a browser and a video player.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

use super::link::{measured, valid};
use super::paths::Server;
use super::real_path::{PAYLOAD, number};
use super::{Gone, Scratch, goodqueue, has, live};

/// A web server: `/` is a page with six images, every other path is an image of 100 kB.
struct Web {
    port: u16,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Web {
    fn start() -> Web {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        let port = listener.local_addr().expect("an address").port();
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let serve = move || {
            while !told.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((stream, _)) => drop(thread::spawn(move || answer(&stream))),
                    Err(_) => thread::sleep(Duration::from_millis(5)),
                }
            }
        };
        Web { port, stop, thread: Some(thread::spawn(serve)) }
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// One request and its answer. A browser may open connections that it does not use.
fn answer(mut stream: &TcpStream) {
    stream.set_nonblocking(false).expect("a socket");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
    let mut request = Vec::new();
    let mut buf = [0; 4096];
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read(&mut buf) {
            Ok(len @ 1..) => request.extend_from_slice(&buf[..len]),
            _ => return,
        }
    }
    let (kind, body) = if request.starts_with(b"GET / ") {
        let images: String = (0..6).map(|number| format!("<img src=\"/{number}.svg\">")).collect();
        ("text/html", format!("<!doctype html><title>behind a link</title><p>Hello{images}"))
    } else {
        let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\" height=\"9\"><!--";
        ("image/svg+xml", format!("{svg}{}--></svg>", "x".repeat(100_000)))
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    // Who asked may be gone.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
}

/// Flows of the record: name, and bytes that arrived.
fn flows(record: &Value) -> Vec<(String, f64)> {
    let plans = record["test"]["flows"].as_array().expect("flows").iter();
    let series = record["runs"][0]["flows"].as_array().expect("flows").iter();
    plans
        .zip(series)
        .map(|(plan, series)| {
            let bytes = series["rx_bytes"].as_array().expect("steps").iter().map(number).sum();
            (plan["name"].as_str().expect("a name").to_owned(), bytes)
        })
        .collect()
}

#[test]
fn live_curl_behind_a_link_is_as_fast_as_the_line() {
    let test = "live_curl_behind_a_link_is_as_fast_as_the_line";
    let Some(_turn) = live(test).filter(|_| has(test, "curl")) else { return };
    let web = Web::start();
    let scratch = Scratch::new("link-curl");
    let answer = measured(|| {
        let script = format!(
            "curl -s -o /dev/null -w '%{{time_total}} %{{size_download}}' http://$GOODQUEUE_SERVER:{}/1.svg >{}",
            web.port,
            scratch.path("said").display()
        );
        valid(
            &format!("--rate 2mbit --rtt 60ms --queue fq_codel --expose {}", web.port),
            &["sh", "-c", &script],
        )
    });
    let said = std::fs::read_to_string(scratch.path("said")).expect("what curl said");
    let said: Vec<f64> = said.split(' ').map(|word| word.parse().expect("a number")).collect();
    // Two round trips, and 100 kB at 2 Mbit/s.
    let least = 0.12 + said[1] * 8.0 / (2e6 * PAYLOAD);
    assert!((least..least + 0.3).contains(&said[0]), "{} s, at least {least}", said[0]);
    let flows = flows(&answer["record"]);
    let download = flows.iter().find(|(name, _)| name.ends_with(" download")).expect("a download");
    // With the head of the answer.
    assert!((said[1]..said[1] + 300.0).contains(&download.1), "{flows:?}");
}

#[test]
fn live_iperf3_behind_a_link_says_what_the_record_says() {
    let test = "live_iperf3_behind_a_link_says_what_the_record_says";
    let Some(_turn) = live(test).filter(|_| has(test, "iperf3")) else { return };
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port();
    let mut command = Command::new("iperf3");
    command.args(["-s", "-p", &port.to_string()]).stdout(Stdio::null());
    let _server = Gone(command.spawn().expect("iperf3 runs"));
    thread::sleep(Duration::from_millis(300));
    let scratch = Scratch::new("link-iperf3");
    let answer = measured(|| {
        let script = format!(
            "iperf3 -c $GOODQUEUE_SERVER -p {port} -t 4 -R -J >{}",
            scratch.path("said.json").display()
        );
        valid(&format!("--rate 10mbit --rtt 20ms --queue fq_codel --expose {port}"), &["sh", "-c", &script])
    });
    let text = std::fs::read_to_string(scratch.path("said.json")).expect("what iperf3 said");
    let said: Value = serde_json::from_str(&text).expect("JSON");
    let bytes = number(&said["end"]["sum_received"]["bytes"]);
    let flows = flows(&answer["record"]);
    let (_, received) = &flows.iter().max_by(|a, b| a.1.total_cmp(&b.1)).expect("a flow");
    // It may stop to count before all is through.
    assert!((bytes * 0.99..bytes * 1.05).contains(received), "{bytes} bytes by iperf3, {flows:?}");
    let goodput = number(&said["end"]["sum_received"]["bits_per_second"]) / 1e6;
    assert!((0.9 * 10.0 * PAYLOAD..1.01 * 10.0 * PAYLOAD).contains(&goodput), "{goodput} Mbit/s");
}

#[test]
fn live_a_browser_behind_a_link_loads_a_page() {
    let test = "live_a_browser_behind_a_link_loads_a_page";
    let Some(_turn) = live(test).filter(|_| has(test, "chromium")) else { return };
    let web = Web::start();
    let scratch = Scratch::new("link-browser");
    let script = format!(
        "timeout 60 chromium --headless --no-sandbox --disable-gpu --user-data-dir={} --dump-dom \
         http://$GOODQUEUE_SERVER:{}/ >{} 2>/dev/null",
        scratch.path("profile").display(),
        web.port,
        scratch.path("dom").display()
    );
    // The browser itself may keep the machine busy: the page counts, and not the link's punctuality.
    let answer = valid(
        &format!("--rate 5mbit --rtt 50ms --queue fq_codel --expose {}", web.port),
        &["sh", "-c", &script],
    );
    let dom = std::fs::read_to_string(scratch.path("dom")).expect("a page");
    assert!(dom.contains("Hello") && dom.contains("5.svg"), "{dom}");
    let flows = flows(&answer["record"]);
    let down: f64 = flows.iter().filter(|(name, _)| name.contains("download")).map(|(_, bytes)| bytes).sum();
    assert!(down > 600e3, "the page and its images: {flows:?}");
    // 600 kB at 5 Mbit/s.
    assert!(number(&answer["record"]["test"]["load_ns"]) > 0.96e9);
}

/// Our own model of a video player, with our server behind the link.
#[test]
fn live_a_video_behind_a_link_has_the_bit_rate_that_fits() {
    let test = "live_a_video_behind_a_link_has_the_bit_rate_that_fits";
    let Some(_turn) = live(test) else { return };
    let server = Server::start(&["--bind", "127.0.0.1"]);
    let word = server.listening["word"].as_str().expect("a word");
    let scratch = Scratch::new("link-video");
    let said = scratch.path("record.json");
    let program = goodqueue().get_program().to_string_lossy().into_owned();
    let port = &server.port;
    // 1: the test calls itself not valid if the machine was too busy.
    let script = format!(
        "{program} test $GOODQUEUE_SERVER ping --port {port} --key {word} --with dash --length 15s --idle 1s --json \
         >{}; test $? -le 1",
        said.display()
    );
    let words = format!("--rate 1500kbit --rtt 40ms --queue fq_codel --expose {port} --expose {port}/udp");
    valid(&words, &["sh", "-c", &script]);
    let record: Value =
        serde_json::from_str(&std::fs::read_to_string(&said).expect("a record")).expect("JSON");
    let video = &record["runs"][0]["dash"][0];
    assert!(video["error"].is_null(), "{video}");
    let rates: Vec<f64> = video["bitrate_bps"].as_array().expect("segments").iter().map(number).collect();
    assert!(rates.len() >= 3 && rates.iter().all(|&bps| bps < 1.5e6), "{rates:?}");
}

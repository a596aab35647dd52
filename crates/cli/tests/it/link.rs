//! `goodqueue link`: a program behind an emulated link meets what was asked for, and its exit code is kept.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Output;
use std::thread::{self, JoinHandle};

use serde_json::Value;

use super::faults::as_nobody;
use super::real_path::number;
use super::{Scratch, goodqueue, live, stderr, stdout};

/// Bytes that a service sends, or takes, in a connection.
const LOAD: usize = 2_000_000;

fn link(words: &str, command: &[&str]) -> Output {
    goodqueue()
        .arg("link")
        .args(words.split_whitespace())
        .arg("--")
        .args(command)
        .output()
        .expect("it starts")
}

/// A service for one connection, at a port of its own.
fn service<T: Send + 'static>(serve: impl FnOnce(TcpStream) -> T + Send + 'static) -> (u16, JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    (port, thread::spawn(move || serve(listener.accept().expect("a connection").0)))
}

/// The report, from an attempt of which it says that it was what was asked for.
fn valid(words: &str, command: &[&str]) -> Value {
    let scratch = Scratch::new("link");
    let file = scratch.path("report.json");
    let output = link(&format!("{words} --json {}", file.display()), command);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = std::fs::read_to_string(&file).expect("a report");
    serde_json::from_str(&text).expect("JSON")
}

/// Tries again where the machine was too busy, four times at the most.
fn measured(attempt: impl Fn() -> Value) -> Value {
    for _ in 0..5 {
        let answer = attempt();
        if answer["report"]["invalid"] == serde_json::json!([]) {
            return answer;
        }
    }
    panic!("five attempts on a machine that is too busy");
}

#[test]
fn live_a_download_behind_a_link_meets_its_rate_its_queue_and_its_delay() {
    let test = "live_a_download_behind_a_link_meets_its_rate_its_queue_and_its_delay";
    let Some(_turn) = live(test) else { return };
    let answer = measured(|| {
        let (port, service) = service(|mut stream| stream.write_all(&vec![7; LOAD]));
        let count = format!("test $(cat </dev/tcp/$GOODQUEUE_SERVER/{port} | wc -c) = {LOAD}");
        let words = format!("--rate 10mbit --rtt 40ms --queue pfifo:50 --expose {port}");
        let answer = valid(&words, &["bash", "-c", &count]);
        service.join().expect("a service").expect("all is sent");
        answer
    });
    let (report, down) = (&answer["report"], &answer["report"]["down"]);
    assert_eq!((number(&answer["exit_code"]), number(&report["refused_connections"])), (0.0, 0.0));
    // The data need 1.6 s at least, and with their headers 4.6 % more; a round trip for the handshake.
    let seconds = number(&report["ran_ns"]) / 1e9;
    assert!((1.7..6.0).contains(&seconds), "{seconds} s");
    assert!(number(&down["sent_bytes"]) > LOAD as f64 * 1.04, "{down}");
    // 50 packets of 1514 bytes take 60.6 ms at 10 Mbit/s.
    let longest = number(&down["waited_ns"][3]) / 1e6;
    assert!((55.0..62.0).contains(&longest), "{longest} ms");
    assert!(number(&down["drops"]["limit"]) > 0.0, "{down}");
    let up = &report["up"];
    assert!(number(&up["sent_packets"]) > 100.0 && up["drops"] == serde_json::json!({}), "{up}");
}

#[test]
fn live_an_upload_behind_a_link_arrives_whole() {
    let Some(_turn) = live("live_an_upload_behind_a_link_arrives_whole") else { return };
    let (port, service) = service(|mut stream| {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).map(|_| all.len())
    });
    let send = format!("head -c {LOAD} /dev/zero >/dev/tcp/$GOODQUEUE_SERVER/80");
    // The other direction is slow, and its ports differ.
    let words = format!("--up 50mbit --down 1mbit --rtt 10ms --queue fq_codel --quiet --expose 80:{port}");
    let output = link(&words, &["bash", "-c", &send]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    assert_eq!(service.join().expect("a service").expect("it is read"), LOAD);
}

#[test]
fn live_the_exit_code_of_the_program_is_kept() {
    let Some(_turn) = live("live_the_exit_code_of_the_program_is_kept") else { return };
    for (command, code) in
        [("exit 0", 0), ("exit 7", 7), ("kill -KILL $$", 137), ("kill -TERM $PPID; sleep 9", 143)]
    {
        let output = link("--quiet", &["sh", "-c", command]);
        assert_eq!(output.status.code(), Some(code), "{command}: {}", stderr(&output));
    }
    let none = link("--quiet", &["/nowhere/at-all"]);
    assert_eq!(none.status.code(), Some(127), "{}", stderr(&none));
    let nowhere = link("--json /nowhere/at-all/x.json", &["true"]);
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(stderr(&nowhere).contains("--json /nowhere/at-all/x.json: No such file"), "{}", stderr(&nowhere));
    let no_program = link("--quiet", &["/etc/hostname"]);
    assert_eq!(no_program.status.code(), Some(126), "{}", stderr(&no_program));
}

#[test]
fn live_a_program_behind_a_link_sees_one_other_host_and_prints_where_it_always_does() {
    let test = "live_a_program_behind_a_link_sees_one_other_host_and_prints_where_it_always_does";
    let Some(_turn) = live(test) else { return };
    let output =
        link("--rtt 30ms --rate 5mbit", &["sh", "-c", "ip -o -4 route show; echo $GOODQUEUE_SERVER"]);
    let out = stdout(&output);
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with("10.73.0.0/24 dev"), "{out}");
    assert_eq!(lines[1], "10.73.0.2");
    let said = stderr(&output);
    assert!(
        said.starts_with("goodqueue: sh ran ") && said.contains("5mbit down, 5mbit up, 30 ms, pfifo"),
        "{said}"
    );
}

#[test]
fn live_a_link_needs_no_rights_of_root() {
    let test = "live_a_link_needs_no_rights_of_root";
    let Some(_turn) = live(test) else { return };
    let words = ["link", "--quiet", "--rtt", "10ms", "--", "sh", "-c", "echo $GOODQUEUE_SERVER"];
    let Some(output) = as_nobody(test, &words) else { return };
    assert_eq!((output.status.code(), stdout(&output).trim()), (Some(0), "10.73.0.2"), "{}", stderr(&output));
}

#[test]
fn wrong_words_of_a_link_are_named_before_anything_is_made() {
    for (words, why) in [
        ("--queue pfifo,codel", "--queue pfifo,codel: a link has one queue, and these are 2"),
        ("--queue nosuch", "nosuch"),
        ("--expose 0", "--expose 0: `0` is not a port: write 1 to 65535, or PORT:LOCAL"),
        ("--expose 80:http", "--expose 80:http: `http` is not a port"),
        ("--rate 0mbit", "--rate 0mbit"),
        ("--loss 2", "--loss 2"),
        ("--shell", "--shell"),
    ] {
        let output = link(words, &["touch", "/nowhere/at-all"]);
        assert_eq!(output.status.code(), Some(2), "{words}: {}", stderr(&output));
        assert!(stderr(&output).contains(why), "{words}: {}", stderr(&output));
    }
    let nothing = goodqueue().arg("link").output().expect("it starts");
    assert_eq!(nothing.status.code(), Some(2));
}

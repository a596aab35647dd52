//! Responsiveness: live beside simulated, and over a path whose delay is known.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use goodqueue::{ETHERNET_FRAME, Line, QueueSpec, Rate, Serializer, Span};
use goodqueue_wire::{Engine, EngineSpec, Frame, Lab, LabSpec, PathSpec};
use serde_json::Value;

use super::super::Gone;
use super::super::rpm::{figure, part};
use super::live;
use crate::{goodqueue, measured, stderr};

/// The same algorithm against the kernel's TCP and TLS, and against the model's. Within a factor of 1.33, for
/// the reason that `agreement::both_ways` gives: which part of CUBIC's sawtooth falls into some seconds is
/// chance.
#[test]
fn live_responsiveness_is_alike_on_both_arms() {
    let Some(_turn) = live("live_responsiveness_is_alike_on_both_arms") else { return };
    let words = "rpm --rate 20mbit --rtt 20ms --length 12s --queue pfifo:1000,fq_codel";
    let [simulated, live] = ["", " --live"].map(|arm| measured(&format!("{words}{arm}")));
    let runs = |record: &Value| record["runs"].as_array().expect("runs").clone();
    for (simulated, live) in runs(&simulated).iter().zip(&runs(&live)) {
        let [name, tls] = [&live["queue"], &live["rpm"]["tls"]];
        assert_eq!([name, tls], [&simulated["queue"], &simulated["rpm"]["tls"]]);
        assert_eq!([&live["complete"], &live["loads"]], [&true.into(), &simulated["loads"]], "{name}");
        let ratio = figure(&live["rpm"]) / figure(&simulated["rpm"]);
        assert!((0.75..=1.33).contains(&ratio), "{name}: {ratio}");
        assert!(live["path"][0]["sojourn"]["n"].as_u64() > Some(1000), "{name}: {}", live["path"][0]);
    }
    let older = measured("rpm_tls12 --live --rate 20mbit --rtt 20ms --length 4s --queue fq_codel --cc reno");
    assert_eq!(older["runs"][1]["rpm"]["tls"], "TLS 1.2");
}

/// A test of responsiveness over the engine: Mbit/s, round trip in ms and packets of its FIFO. `None` if the
/// machine was too busy for the engine, or the test itself doubts its result.
fn over_engine(mbit: u32, rtt_ms: u64, packets: u32) -> Option<Value> {
    let lab = Lab::new(&LabSpec::default()).expect("namespaces");
    let path = || {
        let rate = Rate(u64::from(mbit) * 1_000_000);
        let queue: QueueSpec = format!("pfifo:{packets}").parse().expect("a queue");
        let draws = goodqueue::Rng::stream(1, 0, "queue");
        let queue: goodqueue::AnyQueue<Frame> =
            queue.build_with(rate, ETHERNET_FRAME, goodqueue_wire::now(), draws).expect("a queue");
        let mut path = PathSpec::new(queue);
        path.line = Line::from(Serializer::new(rate));
        path.delays = vec![Span::from_millis(rtt_ms / 2)];
        path
    };
    let engine = Engine::start(&lab, EngineSpec::new(path(), path())).expect("an engine");
    let host = Lab::server_address(false, 0).to_string();
    let mut command = goodqueue();
    command.args(["server", "--json", "--https", &format!("{host}:4443")]).stdout(Stdio::piped());
    let mut server = Gone(lab.server().run(|| command.spawn()).expect("a namespace").expect("it starts"));
    let mut line = String::new();
    BufReader::new(server.0.stdout.as_mut().expect("piped")).read_line(&mut line).expect("a line");
    let mut command = goodqueue();
    let words = "--insecure --json --idle 3s --length 12s --flows 4";
    command.args(["test", &format!("https://{host}:4443")]).args(words.split_whitespace());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = lab.client().run(|| child.spawn()).expect("a namespace").expect("the command starts");
    let output = child.wait_with_output().expect("it ends");
    let record: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    let validity = engine.stop().expect("the engine ends").validity();
    let doubts: Vec<&Value> = (0..2).filter_map(|load| record["runs"][load].get("doubts")).collect();
    if validity.valid && doubts.is_empty() {
        return Some(record);
    }
    eprintln!("{:?}, {doubts:?}", validity.reasons);
    None
}

/// The line is the engine, whose delay is known. A disturbed run is repeated, four times at most.
#[test]
fn live_responsiveness_is_what_the_delay_of_the_path_makes_it() {
    let Some(_turn) = live("live_responsiveness_is_what_the_delay_of_the_path_makes_it") else { return };
    let (mbit, rtt_ms, packets) = (20_u32, 40, 80_u32);
    let record = (0..5).find_map(|_| over_engine(mbit, rtt_ms, packets));
    let record = record.expect("one run of five without a disturbance: this machine is overloaded");
    let full = f64::from(packets) * 1514.0 * 8.0 / (f64::from(mbit) * 1e3);
    for load in 0..2 {
        let rpm = &record["runs"][load]["rpm"];
        let part = |name: &str, key: &str| part(rpm, name, key);
        let trip = rtt_ms as f64;
        for name in ["tcp_f", "tls_f", "http_f", "http_l"] {
            let (idle, mean) = (part(name, "idle_ns"), part(name, "trimmed_mean_ns"));
            let _ =
                writeln!(std::io::stderr(), "load {load}, {name}: {idle:.1} ms idle, {mean:.1} ms loaded");
            // Each part takes one round trip of the path, and the two ends compute: less than two
            // round trips.
            assert!(idle >= trip && idle < 2.0 * trip, "{name}: {idle} ms idle");
            // CUBIC keeps the queue between 0.7 of a full window and full.
            assert!(mean >= trip && mean > idle, "{name}: {mean} ms");
        }
        // The mean also has the handshakes whose SYN was lost, which take a second more.
        let tcp = part("tcp_f", "p50_ns") - trip;
        assert!((0.4 * full..1.15 * full).contains(&tcp), "a queue of {tcp} ms; {full} ms is full");
        let goodput =
            rpm["goodput_bps"].as_f64().expect("a goodput") / 1e6 / (f64::from(mbit) * 1448.0 / 1514.0);
        assert!((0.85..=1.03).contains(&goodput), "{goodput} of what the line carries");
    }
}

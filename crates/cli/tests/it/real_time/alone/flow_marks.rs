//! What the record says of each flow on each of the three arms: its DSCP, whether its connection negotiated
//! ECN, and its pacing, with a largest rate and without.

use serde_json::Value;

use super::super::real_path::{PAYLOAD, Path, measured, number};
use super::live;
use crate::{run, stderr};

/// Two flows each way with marks of their own, each held to a fifth of the line.
const PACED: &str = "rrul_var --flows 2 --marks EF,CS1 --pacing 2mbit --length 5s --idle 1s";

fn printed(words: &str) -> Value {
    let output = run(&format!("run {words} --json --quiet"));
    assert!(matches!(output.status.code(), Some(0 | 1)), "{words}: {}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("a record")
}

/// The flows of the first run: plan, series and figures of each.
fn flows(record: &Value) -> impl Iterator<Item = [&Value; 3]> {
    let run = &record["runs"][0];
    let list = |value: &'static str, of: &'_ Value| of[value].as_array().expect("flows").len();
    let count = list("flows", run);
    assert_eq!((count, count), (list("flows", &record["test"]), list("flows", &run["summary"])));
    (0..count).map(move |i| [&record["test"]["flows"][i], &run["flows"][i], &run["summary"]["flows"][i]])
}

/// Of [`PACED`]: marks, ECN, and rates just below the one that was asked for, whoever sends.
fn is_marked_and_paced(record: &Value, ecn: bool) {
    let mut marks = Vec::new();
    for [plan, series, figures] in flows(record) {
        marks.push((plan["direction"].as_str().expect("one"), plan["dscp"].as_str().expect("one")));
        assert_eq!(plan["rate_bps"], 2_000_000, "{plan}");
        assert_eq!(series["ecn"], ecn, "{plan}");
        assert_eq!(figures["ecn"], ecn, "{plan}");
        assert_eq!(figures["pacing_p50_bps"], 2_000_000, "{plan}");
        let [goodput, delivered] = ["goodput_bps", "delivery_p50_bps"].map(|key| number(&figures[key]) / 1e6);
        // A super-packet more may arrive in the time that counts.
        assert!((1.9..2.01).contains(&goodput), "{plan}: {goodput} Mbit/s");
        assert!((1.5..=2.5).contains(&delivered), "{plan}: {delivered} Mbit/s delivered");
        let length = |key: &str| series[key].as_array().expect("a column").len();
        assert_eq!(length("pacing_bps"), length("t_ns"));
        assert_eq!(length("delivery_bps"), length("t_ns"));
    }
    marks.sort_unstable();
    assert_eq!(marks, [("down", "CS1"), ("down", "EF"), ("up", "CS1"), ("up", "EF")]);
}

/// Of one flow alone: the network delivers what the line carries, and the sender's rate is not below it.
fn fills_the_line(record: &Value, ecn: bool) {
    let all: Vec<_> = flows(record).collect();
    assert_eq!(all.len(), 1);
    let [plan, series, figures] = all[0];
    assert!(plan["rate_bps"].is_null(), "{plan}");
    assert_eq!(series["ecn"], ecn);
    let line = 10.0 * PAYLOAD;
    let [paced, delivered] = ["pacing_p50_bps", "delivery_p50_bps"].map(|key| number(&figures[key]) / 1e6);
    // BBR's is that of the line for most of the time, CUBIC's above it.
    assert!((0.95 * line..3.0 * line).contains(&paced), "{paced} Mbit/s");
    assert!((0.9 * line..1.1 * line).contains(&delivered), "{delivered} Mbit/s of {line}");
}

#[test]
fn simulated_flows_say_their_marks_ecn_and_pacing() {
    let line = "--rate 10mbit --rtt 20ms --queue fq_codel";
    is_marked_and_paced(&printed(&format!("{PACED} {line} --ecn")), true);
    is_marked_and_paced(&printed(&format!("{PACED} {line}")), false);
    for test in ["tcp_1up", "tcp_1down"] {
        let alone = format!("{test} {line} --length 5s --idle 1s");
        fills_the_line(&printed(&format!("{alone} --ecn")), true);
        fills_the_line(&printed(&alone), false);
        // BBR uses the delivery rate, so the simulator measures it in another way.
        fills_the_line(&printed(&format!("{alone} --cc bbr")), false);
    }
    // QUIC negotiates no ECN, and what its network delivers is not known.
    let quic = printed(&format!("tcp_1up {line} --length 2s --idle 1s --transport quic"));
    assert!(quic["runs"][0]["flows"][0]["ecn"].is_null());
    assert!(quic["runs"][0]["flows"][0]["delivery_bps"].is_null());
}

#[test]
fn a_pacing_rate_that_no_flow_can_keep_is_refused() {
    for (words, why) in [
        ("ping --pacing 2mbit", "`ping` has no flow whose rate can be limited"),
        ("rrul --transport quic --pacing 2mbit", "QUIC has no rate limit"),
        ("rrul --pacing 2kbit", "must be at least 16kbit"),
        ("rrul --pacing fast", "--pacing fast"),
    ] {
        let output = run(&format!("run {words}"));
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert!(stderr(&output).contains(why), "{words}: {}", stderr(&output));
    }
}

#[test]
fn live_flows_say_their_marks_ecn_and_pacing() {
    let Some(_turn) = live("live_flows_say_their_marks_ecn_and_pacing") else { return };
    let line = "--live --rate 10mbit --rtt 20ms --queue fq_codel";
    is_marked_and_paced(&crate::measured(&format!("{PACED} {line} --ecn")), true);
    is_marked_and_paced(&crate::measured(&format!("{PACED} {line}")), false);
    fills_the_line(&crate::measured(&format!("tcp_1down {line} --length 5s --idle 1s")), false);
}

#[test]
fn live_flows_over_a_real_path_say_their_marks_ecn_and_pacing() {
    let Some(_turn) = live("live_flows_over_a_real_path_say_their_marks_ecn_and_pacing") else { return };
    let path = Path::to_hosts([10, 10], &[20], "fq_codel");
    is_marked_and_paced(&measured(&path, PACED), false);
    fills_the_line(&measured(&path, "tcp_1down --length 5s --idle 1s"), false);
    // The client asks for ECN, and Linux's servers grant it to those who ask.
    path.ask_for_ecn();
    is_marked_and_paced(&measured(&path, PACED), true);
    fills_the_line(&measured(&path, "tcp_1up --length 5s --idle 1s"), true);
}

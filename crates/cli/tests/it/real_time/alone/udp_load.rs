//! UDP load on each of the three arms: what arrives is what was sent, or what the line carries.

use serde_json::Value;

use super::super::real_path::{Path, measured, number};
use super::live;
use crate::{run, stderr};

/// UDP payload of an Ethernet frame of 1512 bytes.
const PAYLOAD: f64 = 1470.0 / 1512.0;

/// Goodput up, Mbit/s.
fn goodput(record: &Value) -> f64 {
    number(&record["runs"][0]["summary"]["goodput_up_bps"]) / 1e6
}

fn printed(words: &str) -> Value {
    let output = run(&format!("{words} --json --quiet"));
    assert!(matches!(output.status.code(), Some(0 | 1)), "{words}: {}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("a record")
}

#[test]
fn simulated_udp_keeps_its_rate_and_is_cut_by_the_line() {
    let words = "run udp_flood --rate 10mbit --rtt 10ms --queue pfifo:100 --length 4s --idle 1s";
    let within = printed(&format!("{words} --udp-bandwidth 6mbit"));
    assert!((goodput(&within) / 6.0 - 1.0).abs() < 0.01, "{} Mbit/s", goodput(&within));
    assert_eq!(within["test"]["flows"][0]["name"], "UDP upload");
    let beyond = printed(&format!("{words} --udp-bandwidth 15mbit"));
    assert!((goodput(&beyond) / (10.0 * PAYLOAD) - 1.0).abs() < 0.01, "{} Mbit/s", goodput(&beyond));
    let ipv6 = printed(&format!("{words} --udp-bandwidth 15mbit -6"));
    let longer = 1.0 / (1.0 / PAYLOAD + 20.0 / 1470.0);
    assert!((goodput(&ipv6) / (10.0 * longer) - 1.0).abs() < 0.01, "{} Mbit/s", goodput(&ipv6));
    // 100 packets of 1512 bytes at 10 Mbit/s are 121 ms.
    let rise = number(&beyond["runs"][0]["summary"]["up"]["added_p95_ns"]) / 1e6;
    assert!((110.0..130.0).contains(&rise), "{rise} ms");
}

#[test]
fn live_udp_keeps_its_rate() {
    let Some(_turn) = live("live_udp_keeps_its_rate") else { return };
    let record = printed(
        "run udp_flood --live --rate 10mbit --rtt 10ms --queue pfifo:100 --length 4s --idle 1s --udp-bandwidth 6mbit",
    );
    assert!((goodput(&record) / 6.0 - 1.0).abs() < 0.03, "{} Mbit/s", goodput(&record));
}

#[test]
fn live_udp_over_a_real_path_needs_the_key_and_keeps_to_the_rate() {
    let test = "live_udp_over_a_real_path_needs_the_key_and_keeps_to_the_rate";
    let Some(_turn) = live(test) else { return };
    let path = Path::to_hosts([10, 10], &[10], "pfifo:100");
    let record = measured(&path, "udp_flood --udp-bandwidth 6mbit --length 4s --idle 1s");
    assert!((goodput(&record) / 6.0 - 1.0).abs() < 0.03, "{} Mbit/s", goodput(&record));
    let record = measured(&path, "bursts --udp-bandwidth 15mbit --delay 1s --length 7s --idle 1s");
    let steps = &record["runs"][0]["flows"][0];
    let zipped =
        steps["t_ns"].as_array().expect("times").iter().zip(steps["rx_bytes"].as_array().expect("bytes"));
    let in_burst: f64 =
        zipped.filter(|(t, _)| (2e9..6e9).contains(&number(t))).map(|(_, bytes)| number(bytes)).sum();
    let mbit = in_burst * 8.0 / 4e6;
    assert!((mbit / (10.0 * 500.0 / 542.0) - 1.0).abs() < 0.03, "{mbit} Mbit/s while the burst lasts");
    // What the line drops is of the test, and not somebody else's.
    let record = measured(&path, "udp_flood --udp-bandwidth 20mbit --length 4s --idle 1s");
    assert!(record["runs"][0]["doubts"].is_null(), "{}", record["runs"][0]["doubts"]);
    let refused = path.test("udp_flood --udp-bandwidth 101mbit --length 1s");
    assert_eq!(refused.status.code(), Some(3), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("allows 100"), "{}", stderr(&refused));
}

//! A shaper between two interfaces.

use serde_json::Value;

use super::super::link::between_hosts;
use super::super::real_path::number;
use super::live;

/// What a download over 20 Mbit/s with this shaper gives: its run, and the goodput in Mbit/s, with the table
/// that has it. CoDel must have dropped.
fn download(test: &str, shaper: &str) -> Option<(Value, f64, String)> {
    let _turn = live(test)?;
    let words = format!("shape br2 --inside br1 --down 20mbit --up 5mbit {shaper}");
    let (answer, scratch) = between_hosts(test, &words)?;
    let run = answer["record"]["runs"][0].clone();
    let down = &run["path"][1];
    assert!(number(&down["drop_reasons"]["codel"]) > 0.0, "it decides: {down}");
    let table = std::fs::read_to_string(scratch.path("test")).expect("a table");
    let row = table.lines().find(|line| line.starts_with("tcp_1down")).expect("a row");
    let goodput = row.split_whitespace().nth(4).and_then(|word| word.parse().ok()).expect("a number");
    Some((run, goodput, table))
}

#[test]
fn live_a_shaper_between_two_interfaces_counts_what_the_link_adds() {
    let test = "live_a_shaper_between_two_interfaces_counts_what_the_link_adds";
    let Some((_, goodput, table)) = download(test, "--link conservative") else { return };
    // 1448 bytes of payload in 33 cells of 53 bytes (1500 + 48, by 48) are 16.6 of 20 Mbit/s; without them
    // 19.1.
    assert!((15.0..16.6).contains(&goodput), "{table}");
}

#[test]
fn live_cake_mq_shapes_with_a_thread_for_each_instance() {
    let test = "live_cake_mq_shapes_with_a_thread_for_each_instance";
    let shaper = "--queue cake_mq:besteffort,queues=2";
    let Some((run, goodput, table)) = download(test, shaper) else { return };
    assert_eq!(run["parameters"]["queues"], "2");
    // One download is of one instance. While the other is idle it has the whole rate: 19.1 of 20 Mbit/s are
    // payload. What goes up beside it has a queue of its own.
    assert!((15.0..19.2).contains(&goodput), "{table}");
}

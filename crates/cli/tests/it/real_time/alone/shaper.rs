//! A shaper between two interfaces.

use super::super::link::between_hosts;
use super::super::real_path::number;
use super::live;

#[test]
fn live_a_shaper_between_two_interfaces_counts_what_the_link_adds() {
    let test = "live_a_shaper_between_two_interfaces_counts_what_the_link_adds";
    let Some(_turn) = live(test) else { return };
    let words = "shape br2 --inside br1 --down 20mbit --up 5mbit --link conservative";
    let Some((answer, scratch)) = between_hosts(test, words) else { return };
    let down = &answer["record"]["runs"][0]["path"][1];
    assert!(number(&down["drop_reasons"]["codel"]) > 0.0, "cake decides: {down}");
    let table = std::fs::read_to_string(scratch.path("test")).expect("a table");
    let row = table.lines().find(|line| line.starts_with("tcp_1down")).expect("a row");
    let goodput: f64 = row.split_whitespace().nth(4).and_then(|word| word.parse().ok()).expect("a number");
    // 1448 bytes of payload in 33 cells of 53 bytes (1500 + 48, by 48) are 16.6 of 20 Mbit/s; without them
    // 19.1.
    assert!((15.0..16.6).contains(&goodput), "{table}");
}

#[test]
fn live_cake_mq_shapes_with_a_thread_for_each_instance() {
    let test = "live_cake_mq_shapes_with_a_thread_for_each_instance";
    let Some(_turn) = live(test) else { return };
    let words = "shape br2 --inside br1 --down 20mbit --up 5mbit --queue cake_mq:besteffort,queues=2";
    let Some((answer, scratch)) = between_hosts(test, words) else { return };
    let run = &answer["record"]["runs"][0];
    assert_eq!(run["parameters"]["queues"], "2");
    let down = &run["path"][1];
    assert!(number(&down["drop_reasons"]["codel"]) > 0.0, "its instances decide: {down}");
    let table = std::fs::read_to_string(scratch.path("test")).expect("a table");
    let row = table.lines().find(|line| line.starts_with("tcp_1down")).expect("a row");
    let goodput: f64 = row.split_whitespace().nth(4).and_then(|word| word.parse().ok()).expect("a number");
    // One download is of one instance. While the other is idle it has the whole rate: 19.1 of 20 Mbit/s are
    // payload. What goes up beside it has a queue of its own.
    assert!((15.0..19.2).contains(&goodput), "{table}");
}

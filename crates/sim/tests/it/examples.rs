//! The examples run and print what they are meant to show.

#[path = "../../examples/fat_tree.rs"]
#[allow(dead_code)]
mod fat_tree;
#[path = "../../examples/one_flow.rs"]
#[allow(dead_code)]
mod one_flow;
#[path = "../../examples/own_congestion_control.rs"]
#[allow(dead_code)]
mod own_congestion_control;
#[path = "../../examples/own_queue.rs"]
#[allow(dead_code)]
mod own_queue;

#[test]
fn more_paths_end_flows_earlier() {
    let lines = fat_tree::report().expect("two lines");
    let [one, all] = [0, 1].map(|line| numbers(&lines[line].replace(',', "")));
    assert!(lines[0].starts_with("one path ") && lines[1].starts_with("ECMP "), "{lines:?}");
    assert!(all[0] < one[0] && all[2] > one[2], "{lines:?}");
}

/// The numbers of a line, in its order.
fn numbers(line: &str) -> Vec<f64> {
    line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn codel_keeps_the_queue_short_and_fq_codel_the_ping() {
    let lines = one_flow::report().expect("three lines");
    let [pfifo, codel, fq_codel] = [0, 1, 2].map(|line| numbers(&lines[line]));
    assert!(lines[0].starts_with("pfifo:1000 ") && pfifo[1] > 200.0 && pfifo[2] > 200.0, "{lines:?}");
    assert!(lines[1].starts_with("codel ") && codel[1] < 8.0 && codel[2] < 28.0, "{lines:?}");
    assert!(lines[2].starts_with("fq_codel ") && fq_codel[2] < 22.0, "{lines:?}");
    assert!([pfifo, codel, fq_codel].iter().all(|line| line[0] > 18.0), "{lines:?}");
}

#[test]
fn vegas_keeps_the_queue_short_alone_and_loses_beside_cubic() {
    let lines = own_congestion_control::report().expect("seven lines");
    let [cubic_alone, vegas_alone, cubic, vegas] = [1, 3, 5, 6].map(|line| numbers(&lines[line])[0]);
    assert!(lines[3].starts_with("  vegas ") && lines[5].starts_with("  cubic "), "{lines:?}");
    assert!(cubic_alone > 18.0 && vegas_alone > 18.0 && cubic > 2.0 * vegas, "{lines:?}");
    let median = |line: &str| numbers(line)[0];
    assert!(median(&lines[0]) > 200.0 && median(&lines[2]) < 3.0, "{lines:?}");
}

#[test]
fn a_queue_of_ones_own_is_beside_those_of_the_catalogue() {
    let lines = own_queue::report().expect("three lines");
    let [pfifo, codel, patience] = [0, 1, 2].map(|line| numbers(&lines[line]));
    assert!(lines[2].starts_with("patience "), "{lines:?}");
    assert!(pfifo[1] > 200.0 && codel[1] < 20.0 && patience[1] < 20.0, "{lines:?}");
    assert!(patience[0] > 18.0 && patience[2] > 10.0, "{lines:?}");
}

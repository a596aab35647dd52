//! The examples run, and what they print is what they are there to show.

#[path = "../examples/one_flow.rs"]
#[allow(dead_code)]
mod one_flow;

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

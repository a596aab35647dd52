//! Runs the examples, and checks that they print what they should show.

use goodqueue_report::table::{self, Layout};

#[path = "../examples/own_congestion_control_in_a_test.rs"]
#[allow(dead_code)]
mod own_congestion_control;
#[path = "../examples/own_queue_in_a_test.rs"]
#[allow(dead_code)]
mod own_queue;
#[path = "../examples/rrul.rs"]
#[allow(dead_code)]
mod rrul;

#[test]
fn rrul_has_grades() {
    let record = rrul::run("5s").expect("a record");
    let lines = rrul::grades(&record);
    assert!(lines[0].starts_with("pfifo:1000 ") && lines[0].ends_with(" C"), "{lines:?}");
    assert!(lines[1].starts_with("fq_codel ") && lines[1].contains("grade A"), "{lines:?}");
    assert!(lines[2].starts_with("cake ") && lines[2].contains("grade A"), "{lines:?}");
}

#[test]
fn a_queue_of_ones_own_is_in_the_table_and_the_page() {
    let record = own_queue::run("5s").expect("a record");
    let table = table::text(&record, Layout::default());
    for name in ["fq_codel ", "patience "] {
        assert!(table.lines().any(|line| line.starts_with(name)), "{table}");
    }
    let own = record.summary(&record.runs[1]);
    assert!(own.queue_up.drops > 0 && own.grade.is_some(), "{own:?}");
    assert!(own.sojourn_up.is_some_and(|sojourn| sojourn.mean_ns < 50_000_000), "{own:?}");
    assert_eq!(record.planned, ["fq_codel", "patience"]);
    assert!(goodqueue_report::html(&record).matches("patience").count() > 5, "tables and charts");
}

#[test]
fn a_congestion_control_of_ones_own_is_beside_cubic() {
    let record = own_congestion_control::run("10s").expect("a record");
    let lines = own_congestion_control::lines(&record);
    assert_eq!(lines.len(), 3);
    assert!(lines.iter().all(|line| line.contains(": cubic ") && line.contains(", aimd ")), "{lines:?}");
    let fq_codel = record.summary(&record.runs[2]);
    assert!(fq_codel.flows.iter().all(|flow| flow.goodput_bps > Some(8_000_000)), "half each: {lines:?}");
    let names: Vec<&str> = record.test.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["TCP upload::1 cubic", "TCP upload::2 aimd"]);
    let page = goodqueue_report::html(&record);
    assert!(page.matches("2 aimd").count() > 6, "the table of flows and the charts");
}

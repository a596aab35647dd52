use super::*;
use crate::record::{FlowPlan, Validity};

const MS: i64 = 1_000_000;

/// Flows both ways over a link with an idle round trip of 30 ms. `used` is the shares used up and down,
/// `rises` the mean rises of both one-way delays in ms; the rise of the round trip is their sum.
fn judged(used: [f64; 2], rises: [i64; 2]) -> Summary {
    judged_with(used, rises, |_, _| {})
}

fn judged_with(used: [f64; 2], rises: [i64; 2], change: fn(&mut Record, &mut Summary)) -> Summary {
    let mut record = Record::default();
    let flow = |direction| FlowPlan { direction, ..FlowPlan::default() };
    record.test.flows = vec![flow(Direction::Up), flow(Direction::Down)];
    let run =
        Run { complete: true, validity: Validity { valid: true, reasons: Vec::new() }, ..Run::default() };
    let latency = |rise: i64, idle: i64| Latency {
        n: 1000,
        idle_ns: Some(idle * MS),
        added_mean_ns: Some(rise * MS),
        ..Latency::default()
    };
    let mut summary = Summary {
        up: latency(rises[0], 15),
        down: latency(rises[1], 15),
        rtt: latency(rises[0] + rises[1], 30),
        ..Summary::default()
    };
    summary.queue_up.utilisation = Some(used[0]);
    summary.queue_down.utilisation = Some(used[1]);
    change(&mut record, &mut summary);
    judge(&mut summary, &record, &run);
    summary
}

fn letter(grade: Option<Grade>) -> Option<&'static str> {
    grade.map(|grade| grade.letter.as_str())
}

#[test]
fn a_bloated_upload_that_starves_downloads_is_graded_and_says_so() {
    let s = judged([1.0, 0.62], [285, 40]);
    assert_eq!(letter(s.grade), Some("D"));
    assert_eq!((s.saturated, s.no_grade), (Some(false), None));
    assert_eq!(
        s.findings,
        ["Downloads get 62 % of their line because their ACKs wait 285 ms in the queue for uploads."]
    );
    let [up, down] = &s.directions[..] else { panic!("{:?}", s.directions) };
    assert_eq!((letter(up.grade), up.saturated, up.starved), (Some("D"), Some(true), false));
    assert_eq!((down.grade, down.saturated, down.starved), (None, Some(false), true));
    assert_eq!(down.no_grade.as_deref(), Some("the link was not saturated: down 62 % used"));

    let s = judged([0.47, 0.99], [40, 2000]);
    assert_eq!(letter(s.grade), Some("F"));
    assert_eq!(
        s.findings,
        ["Uploads get 47 % of their line because their ACKs wait 2000 ms in the queue for downloads."]
    );
}

#[test]
fn a_low_rise_over_a_link_with_spare_capacity_has_no_grade() {
    let refused = "the link was not saturated: down 62 % used";
    // A rise without a queue; one below the idle round trip; one in the direction with spare capacity.
    for rises in [[1, 0], [29, 0], [10, 300]] {
        let s = judged([1.0, 0.62], rises);
        assert_eq!((s.grade, s.no_grade.as_deref(), s.findings.len()), (None, Some(refused), 0), "{rises:?}");
    }
    // A short path: the rise is many idle round trips, but still low.
    let s = judged_with([1.0, 0.62], [29, 0], |_, s| s.rtt.idle_ns = Some(MS));
    assert_eq!(s.no_grade.as_deref(), Some(refused));
    // A long path: the rise is large, but the downloads' round trip is hardly longer.
    let s = judged_with([1.0, 0.62], [200, 0], |_, s| s.rtt.idle_ns = Some(600 * MS));
    assert_eq!(s.no_grade.as_deref(), Some(refused));
    // Neither direction was saturated.
    let s = judged([0.5, 0.62], [300, 0]);
    assert_eq!(s.no_grade.as_deref(), Some("the link was not saturated: up 50 % used"));
    // It is unknown which direction starves.
    let s = judged_with([1.0, 0.62], [300, 0], |_, s| s.up.added_mean_ns = None);
    assert_eq!(s.no_grade.as_deref(), Some(refused));
}

#[test]
fn a_share_shown_as_80_percent_counts_as_80_percent() {
    assert_eq!(judged([0.795, 1.0], [1, 1]).saturated, Some(true));
    let s = judged([0.7949, 1.0], [1, 1]);
    assert_eq!(s.no_grade.as_deref(), Some("the link was not saturated: up 79 % used"));
}

#[test]
fn each_direction_has_the_grade_of_its_own_delay() {
    let s = judged([1.0, 0.97], [70, 3]);
    let letters: Vec<_> = s.directions.iter().map(|v| letter(v.grade)).collect();
    assert_eq!((letters, letter(s.grade)), (vec![Some("C"), Some("A+")], Some("C")));
    // Only one direction is loaded: the other has no verdict.
    let s = judged_with([1.0, 0.1], [70, 3], |r, _| r.test.flows.truncate(1));
    assert_eq!((s.directions.len(), s.saturated, letter(s.grade)), (1, Some(true), Some("C")));
}

#[test]
fn loss_above_one_percent_is_named_beside_the_letter() {
    let s = judged_with([1.0, 1.0], [1, 1], |_, s| s.rtt.lost = 101);
    let grade = s.grade.expect("a grade");
    assert_eq!((grade.letter, grade.is_lossy()), (Letter::APlus, true));
    assert_eq!(grade.loss, Some(101.0 / 1101.0));
    assert_eq!(s.findings, ["9.2 % of the probes were lost under load; the grade is for delay only."]);
    // 10 of 1000 are 1.0 %, and shown as that.
    let s = judged_with([1.0, 1.0], [1, 1], |_, s| (s.rtt.n, s.rtt.lost) = (990, 10));
    assert_eq!((s.grade.expect("a grade").is_lossy(), s.findings.len()), (false, 0));
    // Without a grade, the loss is found all the same.
    let s = judged_with([0.5, 0.5], [1, 1], |_, s| s.rtt.lost = 101);
    assert_eq!(s.findings, ["9.2 % of the probes were lost under load."]);
}

#[test]
fn scale_of_the_grades() {
    let letters: Vec<&str> = [-1, 4_999_999, 5_000_000, 30_000_000, 60_000_000, 200_000_000, 400_000_000]
        .map(|ns| Letter::of_rise(ns).as_str())
        .to_vec();
    assert_eq!(letters, ["A+", "A+", "A", "B", "C", "D", "F"]);
}

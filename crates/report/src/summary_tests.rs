use super::*;
use crate::MISSING;
use crate::record::{PathPlan, ProbePlan, Validity};
use crate::summary::Letter;

const S: i64 = 1_000_000_000;
const MS: i64 = 1_000_000;

/// One upload at 10 Mbit/s in steps of 1 s over 10 s; ten idle probes of 20 ms; 30 ms and more under load.
fn record() -> Record {
    let mut r = Record::default();
    r.test.idle_ns = 1_000_000_000;
    r.test.load_ns = 10_000_000_000;
    r.test.step_ns = 1_000_000_000;
    r.test.flows = vec![FlowPlan { name: "a".into(), stop_ns: 10 * S, ..FlowPlan::default() }];
    r.test.probes = vec![ProbePlan::default()];
    r.link.up = PathPlan { rate_bps: Some(11_000_000), ..PathPlan::default() };
    let mut run = Run {
        queue: "q".into(),
        complete: true,
        validity: Validity { valid: true, reasons: vec![] },
        ..Run::default()
    };
    run.flows.push(FlowSeries {
        t_ns: (1..=10).map(|i| i * S).collect(),
        rx_bytes: vec![1_250_000; 10],
        ..FlowSeries::default()
    });
    let mut probe = ProbeSeries::default();
    for i in 0..10 {
        probe.sent_ns.push(-S + i * 100 * MS);
        probe.rtt_ns.push(20 * MS);
    }
    for i in 0..10 {
        probe.sent_ns.push(i * S);
        probe.rtt_ns.push((30 + i) * MS);
    }
    probe.rtt_ns[10] = 500 * MS; // at 0 s, in the ramp
    probe.rtt_ns[19] = MISSING;
    probe.up_ns = probe.rtt_ns.iter().map(|&r| if r == MISSING { r } else { r / 2 }).collect();
    probe.down_ns = vec![MISSING; 20];
    run.probes.push(probe);
    run.up = QueueSeries {
        t_ns: (0..=10).map(|i| i * S).collect(),
        backlog_bytes: (0..=10).map(|i| i * 100).collect(),
        sent_bytes: (0..=10).map(|i| i * 1_320_000).collect(),
        drops: (0..=10).collect(),
        marks: vec![0; 11],
        ..QueueSeries::default()
    };
    r.runs.push(run);
    r
}

#[test]
fn goodput_jain_and_utilisation_by_hand() {
    let mut r = record();
    let s = Summary::of(&r, &r.runs[0]);
    assert_eq!((s.loaded_from_ns, s.loaded_to_ns), (2 * S, 10 * S));
    assert_eq!(s.goodput_up_bps, Some(10_000_000));
    assert_eq!(s.goodput_down_bps, None);
    assert_eq!(s.jain_up, None);
    // 1 320 000 B/s are 10.56 Mbit/s of 11.
    assert!((s.queue_up.utilisation.unwrap() - 0.96).abs() < 1e-12);
    assert_eq!(s.saturated, Some(true));
    assert_eq!((s.queue_up.drops, s.queue_up.drops_loaded), (10, 8));
    // Samples at 2 s to 9 s: 200 to 900, mean 550.
    assert_eq!((s.queue_up.backlog_mean_bytes, s.queue_up.backlog_max_bytes), (Some(550), Some(900)));

    // A second flow runs from 6 s to 10 s at 2 Mbit/s: it counts while it runs.
    r.test.flows.push(FlowPlan { start_ns: 6 * S, stop_ns: 10 * S, ..FlowPlan::default() });
    r.runs[0].flows.push(FlowSeries {
        t_ns: (7..=10).map(|i| i * S).collect(),
        rx_bytes: vec![250_000; 4],
        ..FlowSeries::default()
    });
    let s = Summary::of(&r, &r.runs[0]);
    assert_eq!(s.flows[1].goodput_bps, Some(2_000_000));
    assert_eq!(s.goodput_up_bps, Some(11_000_000));
    // (10 + 2)² / (2 · (100 + 4)) = 144 / 208
    assert!((s.jain_up.unwrap() - 144.0 / 208.0).abs() < 1e-12);
}

#[test]
fn latency_by_hand() {
    let r = record();
    let s = Summary::of(&r, &r.runs[0]);
    // Under load: 32, 33, ... 38 ms and one lost.
    assert_eq!((s.rtt.n, s.rtt.lost), (7, 1));
    assert_eq!(s.rtt.idle_ns, Some(20 * MS));
    assert_eq!(s.rtt.min_ns, Some(32 * MS));
    assert_eq!(s.rtt.p50_ns, Some(35 * MS));
    assert_eq!(s.rtt.p95_ns, Some(38 * MS));
    assert_eq!(s.rtt.mean_ns, Some(35 * MS));
    assert_eq!(s.rtt.added_p50_ns, Some(15 * MS));
    assert_eq!(s.rtt.added_max_ns, Some(18 * MS));
    assert_eq!(s.rtt.startup_max_ns, Some(500 * MS));
    assert_eq!(s.up.added_p50_ns, Some(7_500_000));
    assert_eq!((s.down.n, s.down.lost, s.down.idle_ns), (0, 8, None));
    assert_eq!(s.grade, Some(Grade { letter: Letter::A, mean_rise_ns: 15 * MS, loss: Some(0.125) }));
}

#[test]
fn rises_are_over_the_baseline_of_the_same_probe() {
    let mut r = record();
    let mut far = r.runs[0].probes[0].clone();
    for v in &mut far.rtt_ns {
        *v = if *v == MISSING { MISSING } else { *v + 100 * MS };
    }
    r.runs[0].probes.push(far);
    let s = Summary::of(&r, &r.runs[0]);
    assert_eq!(s.rtt.n, 14);
    assert_eq!(s.rtt.added_mean_ns, Some(15 * MS));
    assert_eq!(s.probes[1].rtt.idle_ns, Some(120 * MS));
}

#[test]
fn no_grade_says_why() {
    let reason = |change: fn(&mut Record)| {
        let mut r = record();
        change(&mut r);
        let s = Summary::of(&r, &r.runs[0]);
        assert_eq!(s.grade, None);
        s.no_grade.unwrap()
    };
    assert_eq!(reason(|r| r.runs[0].validity.valid = false), "the run is not valid");
    assert_eq!(reason(|r| r.test.flows.clear()), "the test has no load");
    assert_eq!(reason(|r| r.runs[0].complete = false), "the run was cut short");
    assert_eq!(reason(|r| r.link.up.rate_bps = Some(20_000_000)), "the link was not saturated: up 53 % used");
    assert!(
        reason(|r| r.link.up.rate_bps = None).starts_with("it is not known whether the load filled the line")
    );
    assert_eq!(reason(|r| r.runs[0].probes[0].rtt_ns[..6].fill(MISSING)), "the idle baseline is incomplete");
    assert_eq!(
        reason(|r| r.runs[0].probes[0].rtt_ns[12..].fill(MISSING)),
        "no probe was answered under load"
    );
}

#[test]
fn a_run_cut_short_is_measured_up_to_its_last_complete_step() {
    let mut r = record();
    let run = &mut r.runs[0];
    run.complete = false;
    // Cut at 5.5 s: the sixth step is incomplete; the queue is sampled until 9 s.
    run.flows[0].t_ns.truncate(6);
    run.flows[0].rx_bytes = vec![1_250_000, 1_250_000, 1_250_000, 1_250_000, 1_250_000, 625_000];
    run.probes[0].sent_ns.truncate(16);
    for (i, sent) in run.up.sent_bytes.iter_mut().enumerate().skip(6) {
        *sent = 5 * 1_320_000 + 660_000 + i as u64;
    }
    run.up.t_ns.truncate(10);
    let s = Summary::of(&r, &r.runs[0]);
    assert_eq!(s.loaded_to_ns, 5 * S);
    assert_eq!(s.goodput_up_bps, Some(10_000_000));
    assert!((s.queue_up.utilisation.unwrap() - 0.96).abs() < 1e-12);
    assert_eq!(s.rtt.n, 3);
}

#[test]
fn a_run_cut_short_before_its_flows_has_no_load() {
    let mut r = record();
    r.runs[0].complete = false;
    r.runs[0].flows[0] = FlowSeries::default();
    let s = Summary::of(&r, &r.runs[0]);
    assert_eq!((s.loaded_to_ns, s.goodput_up_bps, s.rtt.n), (0, None, 0));
    // Without flows planned, all that was sampled counts.
    r.test.flows.clear();
    let s = Summary::of(&r, &r.runs[0]);
    assert_eq!((s.loaded_to_ns, s.rtt.n), (10 * S, 7));
}

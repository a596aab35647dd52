use super::*;
use crate::record::{FlowPlan, FlowSeries, OwnQueue, ProbeSeries};

const MS: f64 = 1e6;
const S: i64 = 1_000_000_000;

/// Ten seconds of one upload over a line of 10 Mbit/s and 20 ms, each 200 ms a step. A packet takes 1.2 ms.
struct Load {
    /// What probes and what the flow's packets wait at a time, in ms.
    probes: fn(f64) -> f64,
    flow: fn(f64) -> f64,
    /// Segments that are sent again in the step that ends at a time.
    lost: fn(f64) -> u32,
    /// The rate at a time, in Mbit/s.
    mbit: fn(f64) -> f64,
}

const STEADY: Load = Load { probes: |_| 0.0, flow: |_| 0.0, lost: |_| 0, mbit: |_| 10.0 };

/// The wait in a queue that grows for 2 s and then loses packets: from 70 to 100 % of 200 ms.
fn sawtooth(t: f64) -> f64 {
    140.0 + 30.0 * t.rem_euclid(2.0)
}

/// Whether a step ends just after that.
fn at_the_top(t: f64) -> u32 {
    u32::from(t.rem_euclid(2.0) < 0.1) * 4
}

impl Load {
    fn record(&self) -> Record {
        let mut record = Record { runs: vec![Run::default()], ..Record::default() };
        (record.test.load_ns, record.test.step_ns) = (10_000_000_000, 200_000_000);
        record.test.flows = vec![FlowPlan::default()];
        let mut probe = ProbeSeries::default();
        for n in -300..1000_i64 {
            let t = n as f64 / 100.0;
            let wait = if n < 0 { 0.0 } else { (self.probes)(t) * MS };
            probe.sent_ns.push(n * 10_000_000);
            // The server's clock is an hour ahead.
            probe.up_ns.push(3600 * S + 10_000_000 + wait as i64);
            probe.down_ns.push(-3600 * S + 10_000_000);
            probe.rtt_ns.push(20_000_000 + wait as i64);
        }
        let mut flow = FlowSeries::default();
        let mut retransmits = 0;
        for n in 1..=50 {
            let t = f64::from(n) * 0.2;
            let rtt = 20.0 + 2.4 + (self.flow)(t);
            let bits = (self.mbit)(t) * 1e6;
            retransmits += (self.lost)(t);
            flow.t_ns.push(i64::from(n) * 200_000_000);
            flow.rx_bytes.push((bits / 8.0 * 0.2 * PAYLOAD / FRAME) as u64);
            flow.cwnd_segments.push((bits / 8.0 * rtt / 1e3 / FRAME).round() as u32);
            flow.srtt_us.push((rtt * 1e3) as u32);
            flow.retransmits.push(retransmits);
        }
        let run = &mut record.runs[0];
        (run.complete, run.validity.valid) = (true, true);
        (run.flows, run.probes) = (vec![flow], vec![probe]);
        record
    }

    /// The same as a record of a real path, whose network limited the flow.
    fn on_path(&self) -> Record {
        let mut record = self.record();
        record.arm = "path".into();
        let limits = crate::SenderLimits { direction: Direction::Up, receiver: 0.0, sender: 0.0 };
        (record.runs[0].loads, record.runs[0].limits) = (vec![Direction::Up], vec![limits]);
        record
    }

    fn found(&self) -> FoundQueue {
        let record = self.record();
        queue_kind(&record, &record.runs[0]).expect("one direction is loaded")
    }
}

#[test]
fn a_fifo_is_full_when_it_drops_and_has_a_size() {
    let found = Load { probes: sawtooth, flow: sawtooth, lost: at_the_top, ..STEADY }.found();
    assert_eq!((found.kind, found.is_full), (FoundKind::Fifo, Some(true)), "{found:?}");
    // 200 ms at 10 Mbit/s are 250 kB.
    assert!(found.bytes.is_some_and(|bytes| (240_000..=250_000).contains(&bytes)), "{found:?}");
    assert!(found.evidence[1].starts_with("packets are lost when it is full: before 4 of 4"), "{found:?}");
}

#[test]
fn a_fifo_that_never_fills_has_a_least_size() {
    let grows = |t: f64| 100.0 + 50.0 * t;
    let found = Load { probes: grows, flow: grows, ..STEADY }.found();
    assert_eq!((found.kind, found.is_full), (FoundKind::Fifo, Some(false)), "{found:?}");
    assert!(found.bytes.is_some_and(|bytes| (700_000..=750_000).contains(&bytes)), "{found:?}");
}

#[test]
fn flows_that_wait_while_probes_do_not_have_queues_of_their_own() {
    let found = Load { probes: |_| 1.2, flow: |_| 30.0, lost: at_the_top, ..STEADY }.found();
    assert_eq!(found.kind, FoundKind::FlowQueueing, "{found:?}");
    assert!(found.evidence[0].contains("waited for more than 4 % of theirs"), "{found:?}");
}

#[test]
fn an_aqm_drops_before_it_is_full() {
    let waits = |t: f64| if t < 1.0 { 100.0 } else { 12.0 + 6.0 * (7.0 * t).sin() };
    let load = Load { probes: waits, flow: waits, lost: |_| 1, ..STEADY };
    assert_eq!(load.found().kind, FoundKind::Aqm, "{:?}", load.found());
    // Marks say so without a loss.
    let mut record = Load { lost: |_| 0, ..load }.record();
    let unmarked = queue_kind(&record, &record.runs[0]).expect("one direction is loaded");
    assert_eq!(unmarked.kind, FoundKind::Unknown, "{unmarked:?}");
    record.runs[0].flows[0].ce_segments = (1..=50).collect();
    let marked = queue_kind(&record, &record.runs[0]).expect("one direction is loaded");
    assert_eq!(marked.kind, FoundKind::Aqm, "{marked:?}");
    assert!(marked.evidence[1].starts_with("50 packets were marked"), "{marked:?}");
}

#[test]
fn a_policer_drops_under_load_and_a_lossy_line_also_without() {
    let mut record = Load { lost: |_| 8, ..STEADY }.record();
    let kind = |record: &Record| queue_kind(record, &record.runs[0]).map(|found| found.kind);
    assert_eq!(kind(&record), Some(FoundKind::Policer));
    // 8 of 165 segments are sent again in each step; as many of the probes are lost without load.
    let probe = &mut record.runs[0].probes[0];
    (0..300).step_by(20).for_each(|at| probe.rtt_ns[at] = crate::MISSING);
    assert_eq!(kind(&record), Some(FoundKind::Unknown));
}

#[test]
fn a_rate_that_changes_is_no_fault_of_tcp() {
    let mbit = |t: f64| if t.rem_euclid(4.0) < 2.0 { 10.0 } else { 4.0 };
    let found = Load { probes: sawtooth, flow: sawtooth, lost: at_the_top, mbit }.found();
    assert_eq!(found.kind, FoundKind::RateVaries, "{found:?}");
    // CUBIC's reduction is.
    let mbit = |t: f64| if t.rem_euclid(4.0) < 2.0 { 10.0 } else { 7.0 };
    let found = Load { probes: sawtooth, flow: sawtooth, lost: at_the_top, mbit }.found();
    assert_eq!(found.kind, FoundKind::Fifo, "{found:?}");
}

#[test]
fn what_does_not_show_is_not_known() {
    let found = STEADY.found();
    assert_eq!(found.kind, FoundKind::Unknown);
    assert!(found.evidence[0].contains("did not fill the line"), "{found:?}");
    let mut record = Load { probes: sawtooth, flow: sawtooth, lost: at_the_top, ..STEADY }.record();
    record.runs[0].limits =
        vec![crate::SenderLimits { direction: Direction::Up, receiver: 0.5, sender: 0.0 }];
    let limited = queue_kind(&record, &record.runs[0]).expect("one direction is loaded");
    assert_eq!((limited.kind, limited.evidence.len()), (FoundKind::Unknown, 1));
    record.test.flows.push(FlowPlan { direction: Direction::Down, ..FlowPlan::default() });
    assert_eq!(queue_kind(&record, &record.runs[0]), None, "both directions");
    assert_eq!(queue_kind(&Record::default(), &Run::default()), None, "no load");
}

/// A path whose line loses packets at random, or whose flows are paced, keeps everything short; that is no
/// merit of its queue.
#[test]
fn a_load_that_leaves_the_line_idle_has_no_grade() {
    let judged = |load: Load| {
        let record = load.on_path();
        let summary = crate::Summary::of(&record, &record.runs[0]);
        let letter = summary.grade.map(|grade| grade.letter.as_str());
        (letter, summary.no_grade.unwrap_or_default(), crate::headline(&record))
    };
    let (letter, why, said) = judged(Load { lost: |_| 1, ..STEADY });
    assert_eq!(letter, None);
    assert!(why.starts_with("the load did not fill the path up"), "{why}");
    assert!(said.ends_with("The load did not fill the path: this says little about its queues."), "{said}");
    assert!(!said.contains("delay low"), "{said}");
    let (letter, ..) = judged(Load { probes: sawtooth, flow: sawtooth, lost: at_the_top, ..STEADY });
    assert_eq!(letter, Some("C"));
    // A queue for each flow fills the line, though probes hardly wait.
    let (letter, _, said) = judged(Load { probes: |_| 0.5, flow: |_| 12.0, lost: |_| 1, ..STEADY });
    assert_eq!(letter, Some("A+"));
    assert!(said.contains("this path keeps delay low"), "{said}");
}

/// The start of a load shows nothing of the queue, whether it was full or not.
#[test]
fn a_load_that_is_too_short_has_no_grade() {
    let judged = |seconds: f64, load: Load| {
        let mut record = load.on_path();
        record.test.load_ns = (seconds * 1e9) as u64;
        let summary = crate::Summary::of(&record, &record.runs[0]);
        let letter = summary.grade.map(|grade| grade.letter.as_str());
        (letter, summary.saturated, summary.no_grade.unwrap_or_default(), crate::headline(&record))
    };
    let full = || Load { probes: sawtooth, flow: sawtooth, lost: at_the_top, ..STEADY };
    let empty = || Load { lost: |_| 1, ..STEADY };
    for seconds in [0.5, 1.0, 2.9] {
        for load in [full(), empty()] {
            let (letter, saturated, why, said) = judged(seconds, load);
            assert_eq!((letter, saturated), (None, None), "{seconds}");
            assert_eq!(why, "the load was too short for a grade: it needs 3 s or more");
            assert!(said.ends_with("too short for a grade: it needs 3 s or more (--length)."), "{said}");
            assert!(!said.contains("delay low"), "{said}");
        }
    }
    // From then on a full line is told from an empty one, though the kind of its queue is not.
    let (letter, saturated, why, _) = judged(3.0, full());
    assert_eq!((letter, saturated), (Some("C"), Some(true)), "{why}");
    let (letter, saturated, why, _) = judged(3.0, empty());
    assert_eq!((letter, saturated), (None, Some(false)));
    assert!(why.starts_with("the load did not fill the path up"), "{why}");
    let mut record = full().on_path();
    record.test.load_ns = 4_900_000_000;
    let found = queue_kind(&record, &record.runs[0]).expect("one direction is loaded");
    assert_eq!((found.kind, &found.evidence[0][..]), (FoundKind::Unknown, "too little was measured"));
}

/// TCP hears at once of what its own host drops: a FIFO there looks like an AQM.
#[test]
fn a_queue_in_the_sending_host_hides_that_on_the_way() {
    let mut record = Load { probes: sawtooth, flow: sawtooth, lost: at_the_top, ..STEADY }.record();
    let mut found = |direction, host: Option<&str>, kind: &str, drops, waiting| {
        let (host, kind) = (host.map(str::to_owned), kind.to_owned());
        let own = OwnQueue { direction, host, interface: "eth0".into(), kind, drops, waiting };
        record.runs[0].own_queues = vec![own];
        let found = queue_kind(&record, &record.runs[0]).expect("one direction is loaded");
        (found.kind, found.evidence.concat())
    };
    let (kind, why) = found(Direction::Up, None, "pfifo_fast", 12, 0.1);
    assert_eq!(kind, FoundKind::Unknown);
    assert_eq!(why, "the queue pfifo_fast of this machine's own interface eth0 dropped 12 packets");
    let (kind, why) = found(Direction::Up, Some("far"), "fq_codel", 0, 0.62);
    assert_eq!(kind, FoundKind::Unknown);
    let want =
        "packets waited in the queue fq_codel of the server far's own interface eth0 for 62 % of the time";
    assert_eq!(why, want);
    // A packet that waits for a moment, one that waits to be paced, and the queue of the other direction.
    assert_eq!(found(Direction::Up, None, "fq_codel", 0, 0.4).0, FoundKind::Fifo);
    assert_eq!(found(Direction::Up, None, "fq", 0, 1.0).0, FoundKind::Fifo);
    assert_eq!(found(Direction::Up, None, "fq", 1, 1.0).0, FoundKind::Unknown);
    assert_eq!(found(Direction::Down, Some("far"), "pfifo_fast", 12, 1.0).0, FoundKind::Fifo);
}

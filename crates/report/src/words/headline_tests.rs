use super::*;
use crate::record::{FlowPlan, Run, TrafficPlan, TransferSeries, Validity};
use crate::voice::Voice;

const MS: i64 = 1_000_000;

/// A record of one upload and its summaries: name, mean rise in ms, Mbit/s.
fn made(runs: &[(&str, i64, u64)]) -> (Record, Vec<Summary>) {
    let mut record = Record::default();
    record.test.flows = vec![FlowPlan::default()];
    let mut all = Vec::new();
    for &(name, rise, mbit) in runs {
        let validity = Validity { valid: true, ..Validity::default() };
        record.runs.push(Run { queue: name.into(), validity, ..Run::default() });
        let way = |rise: i64| Latency {
            min_ns: Some(10 * MS),
            idle_ns: Some(10 * MS),
            p95_ns: Some((10 + rise) * MS),
            p99_ns: Some((12 + rise) * MS),
            added_p95_ns: Some(rise * MS),
            ..Latency::default()
        };
        all.push(Summary {
            queue: name.into(),
            rtt: Latency { n: 100, added_mean_ns: Some(rise * MS), p50_ns: Some(rise * MS), ..way(rise) },
            up: way(rise),
            goodput_up_bps: Some(mbit * 1_000_000),
            ..Summary::default()
        });
    }
    (record, all)
}

fn said(made: &(Record, Vec<Summary>)) -> String {
    headline_pieces(&made.0, &made.1).into_iter().map(|p| p.words).collect::<String>().replace(NBSP, " ")
}

#[test]
fn the_worst_and_its_cure_are_named_whatever_their_order() {
    let runs = [("codel", 42, 19), ("fq_codel", 1, 20), ("pfifo:1000", 354, 20), ("pie", 63, 19)];
    let want = "With pfifo:1000, an upload adds 354 ms to the round trip, enough to make calls stutter. \
                fq_codel cures it (1.0 ms) at the same speed.";
    assert_eq!(said(&made(&runs)), want);
    let mut back = runs;
    back.reverse();
    assert_eq!(said(&made(&back)), want);
}

#[test]
fn a_cure_that_costs_speed_or_packets_says_so() {
    let slow = said(&made(&[("a", 300, 20), ("b", 10, 12)]));
    assert!(slow.ends_with("b cures it (10 ms) but takes 40 % of the speed."), "{slow}");
    let fast = said(&made(&[("a", 300, 20), ("b", 10, 60)]));
    assert!(fast.ends_with("b cures it (10 ms) and is 3.0 times as fast."), "{fast}");
    let some = said(&made(&[("a", 300, 20), ("b", 10, 24)]));
    assert!(some.ends_with("b cures it (10 ms) and is 20 % faster."), "{some}");
    let mut lossy = made(&[("a", 300, 20), ("b", 10, 20)]);
    lossy.1[1].rtt.lost = 10;
    assert!(said(&lossy).ends_with("at the same speed, but lost 9.1 % of the probes."), "{}", said(&lossy));
    // A queue that starves the flows is no cure if another keeps their speed.
    let kept = said(&made(&[("a", 300, 20), ("tiny", 1, 5), ("b", 10, 20)]));
    assert!(kept.ends_with("b cures it (10 ms) at the same speed."), "{kept}");
}

#[test]
fn only_a_cure_is_called_one() {
    let half = said(&made(&[("a", 300, 20), ("b", 80, 20)]));
    assert!(half.ends_with("b cuts that to 80 ms at the same speed."), "{half}");
    let none = said(&made(&[("a", 300, 20), ("b", 290, 20)]));
    assert!(none.ends_with("The other is no cure: b adds 290 ms."), "{none}");
    let good = said(&made(&[("a", 20, 20), ("b", 2, 20)]));
    assert_eq!(good, "Both keep delay low: under load b adds 2.0 ms to the round trip, a 20 ms.");
    let named = said(&made(&[("near: codel", 20, 20), ("far: codel", 2, 20)]));
    let words = "under load “far: codel” adds 2.0 ms to the round trip, “near: codel” 20 ms.";
    assert!(named.ends_with(words), "{named}");
}

#[test]
fn a_queue_is_no_cure_of_another_links_delay() {
    let link = |rate: u64| {
        let mut link = crate::LinkPlan::default();
        link.up.rate_bps = Some(rate);
        Some(link)
    };
    let mut sweep = made(&[("a, 1 Mbit/s", 300, 1), ("a, 20 Mbit/s", 10, 20)]);
    sweep.0.runs[1].link = link(20_000_000);
    let sole = said(&sweep);
    assert!(sole.ends_with("enough to make calls stutter. The other has another link."), "{sole}");
    // Of the same link, the best one is the cure, even if another link's run adds less.
    let mut both = made(&[("a, 1 Mbit/s", 300, 1), ("b, 1 Mbit/s", 20, 1), ("b, 20 Mbit/s", 10, 20)]);
    both.0.runs[2].link = link(20_000_000);
    assert!(said(&both).ends_with("b, 1 Mbit/s cures it (20 ms) at the same speed."), "{}", said(&both));
    // A shaper makes the line slower, and is a cure.
    let mut shaped = made(&[("modem", 300, 20), ("shaped", 10, 19)]);
    shaped.0.link.up.rate_bps = Some(20_000_000);
    shaped.0.runs[1].link = link(19_000_000);
    assert!(said(&shaped).ends_with("The other has another link."), "{}", said(&shaped));
    let shaper = crate::PathQueue { shaped_bps: Some(19_000_000), ..crate::PathQueue::default() };
    shaped.0.runs[1].path = vec![shaper];
    assert!(said(&shaped).ends_with("shaped cures it (10 ms) at the same speed."), "{}", said(&shaped));
    // Over Wi-Fi the rates of the stations make the link. A ring with BQL is a cure and no other link.
    let mut air = made(&[("a, MCS 0", 300, 1), ("b, MCS 15", 10, 20)]);
    for (run, rate) in air.0.runs.iter_mut().zip(["MCS0, 7.2 Mbit/s", "MCS15, 144.4 Mbit/s"]) {
        let station = crate::wifi::Station { rate: rate.into(), ..Default::default() };
        run.radios = vec![crate::wifi::Radio { stations: vec![station], ..Default::default() }];
    }
    assert!(said(&air).ends_with("The other has another link."), "{}", said(&air));
    let mut ring = made(&[("ring", 300, 20), ("ring, BQL", 10, 20)]);
    ring.0.runs[1].link = link(0).map(|mut link| {
        (link.up.rate_bps, link.up.bql) = (None, true);
        link
    });
    assert!(said(&ring).ends_with("ring, BQL cures it (10 ms) at the same speed."), "{}", said(&ring));
}

#[test]
fn effects_follow_their_bounds() {
    let effect = |rise| said(&made(&[("a", rise, 20)]));
    assert_eq!(effect(2), "With a, an upload adds 2.0 ms to the round trip: nothing to cure.");
    assert_eq!(
        effect(50),
        "With a, an upload adds 50 ms to the round trip. Compare it with fq_codel and cake."
    );
    assert!(effect(51).contains("enough to disturb fast games"));
    assert!(effect(140).contains("enough to disturb fast games"));
    assert!(effect(141).contains("enough to make calls stutter"));
    // A constant delay only disturbs, and a long distance is not the load's fault.
    let mut even = made(&[("a", 200, 20)]);
    even.1[0].up.min_ns = Some(200 * MS);
    assert!(said(&even).contains("enough to disturb calls"));
    let mut far = made(&[("a", 200, 20)]);
    far.1[0].up.idle_ns = Some(280 * MS);
    assert!(!said(&far).contains("calls"));
}

#[test]
fn a_measured_call_replaces_the_bounds() {
    let mut record = made(&[("a", 200, 20)]);
    let voice = |mos| Some(Voice { mos, ..Voice::default() });
    let call = |load| crate::CallSummary { up_idle: voice(4.4), up: voice(load), ..Default::default() };
    record.1[0].voip = vec![call(2.8)];
    assert!(said(&record).contains("and a call's score falls from 4.4 to 2.8 (of 5)."), "{}", said(&record));
    record.1[0].voip = vec![call(4.2)];
    assert!(!said(&record).contains("call"), "{}", said(&record));
}

#[test]
fn queues_without_a_valid_result_are_counted() {
    let mut record = made(&[("a", 300, 20), ("b", 2, 20)]);
    record.0.runs[1].validity.valid = false;
    assert!(said(&record).ends_with("1 of 2 queues gave no valid result."));
    record.0.runs[0].validity.valid = false;
    assert_eq!(said(&record), "No queue gave a valid result.");
}

#[test]
fn a_program_has_no_grade_and_its_waits_are_said() {
    let mut record = made(&[("pfifo:50", 0, 20)]);
    record.0.test.program = Some("curl".into());
    let waits = |direction, mean_ns, max_ns| crate::PathQueue {
        direction,
        sojourn: Some(crate::Sojourn { n: 9, mean_ns, max_ns, ..Default::default() }),
        ..Default::default()
    };
    record.0.runs[0].path =
        vec![waits(Direction::Up, 0, 100_000), waits(Direction::Down, 10_600_000, 60_500_000)];
    let sentence = said(&record).replace('\u{a0}', " ");
    assert!(
        sentence
            .starts_with("In front of the line, packets to curl waited 11 ms on average and 60 ms at most"),
        "{sentence}"
    );
    record.0.runs[0].validity.valid = false;
    assert_eq!(said(&record), "The link that curl used was not the one you asked for.");
}

#[test]
fn without_load_it_is_the_round_trip() {
    let mut record = made(&[("a", 20, 0), ("b", 21, 0)]);
    record.0.test.flows.clear();
    assert_eq!(said(&record), "Without load, the median round trip is 20 ms (a) to 21 ms (b).");
    record.1[1].rtt.p50_ns = record.1[0].rtt.p50_ns;
    assert_eq!(said(&record), "Without load, the median round trip is 20 ms.");
    // Other senders than the probes are a load, though they are no flows of the test.
    record.0.test.sources = 3;
    assert_eq!(said(&record), "With UDP from 3 sources as load, the median round trip is 20 ms.");
    assert!(super::super::experiment(&record.0).contains("UDP from 3 sources"), "not \"no load\"");
    record.0.test.sources = 0;
    record.0.test.web = vec![crate::record::PagePlan::default()];
    assert_eq!(said(&record), "With pages as load, the median round trip is 20 ms.");
}

#[test]
fn flows_with_sizes_are_what_their_headline_is_about() {
    let mut record = made(&[("a", 20, 0), ("b", 21, 0)]);
    record.0.test.flows.clear();
    record.0.test.traffic = vec![TrafficPlan { name: "web".into(), ..TrafficPlan::default() }];
    record.0.test.load_ns = 10_000_000_000;
    let took = |slowdown: i64| TransferSeries {
        start_ns: vec![5_000_000_000],
        bytes: vec![1000],
        took_ns: vec![slowdown * MS],
        ideal_ns: vec![2 * MS],
    };
    for (run, slowdown) in record.0.runs.iter_mut().zip([7, 3]) {
        run.complete = true;
        run.traffic = vec![took(slowdown)];
    }
    let want = "On average, flows take 1.5 times as long as alone with b, and 3.5 times as long with a.";
    assert_eq!(said(&record), want);
    assert!(
        super::super::experiment(&record.0).contains("web · "),
        "{}",
        super::super::experiment(&record.0)
    );
    record.0.runs.pop();
    assert_eq!(said(&record), "On average, flows take 3.5 times as long as alone.");
    record.0.runs[0].traffic.clear();
    assert_eq!(said(&record), "No flow ended.");
}

#[test]
fn a_line_that_was_not_full_is_mentioned() {
    let mut record = made(&[("a", 1, 20)]);
    record.1[0].saturated = Some(false);
    assert!(said(&record).contains("did not fill the line"));
    record.1[0].grade = Some(crate::Grade { letter: crate::Letter::APlus, mean_rise_ns: MS, loss: None });
    assert!(!said(&record).contains("did not fill the line"));
}

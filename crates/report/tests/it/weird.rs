//! Nonsensical records do not make the report panic, and no format of them contains a number that is not
//! finite.

#![allow(clippy::unwrap_used)]

use crate::fixture;

use goodqueue_report::wifi::{Accounting, AirEvent, AirEvents, AirKind, Radio, Shares, Station, TidStats};
use goodqueue_report::{
    CallSeries, Direction, EngineHealth, Fate, FlowPlan, FlowSeries, MISSING, PagePlan, PageSeries,
    ProbePlan, ProbeSeries, QueueSeries, Record, Run, TalkPlan, TalkSeries, TalkWay, VideoPlan, VideoSeries,
    csv, flent, html, table,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn time() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => -2_000_000_000_i64..4_000_000_000,
        1 => Just(MISSING), 1 => Just(i64::MAX), 1 => any::<i64>(), 1 => Just(0)
    ]
}

fn amount() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0_u64..2_000_000, 1 => any::<u64>(), 1 => Just(u64::MAX), 1 => Just(0)]
}

prop_compose! {
    fn flow()(t in vec(time(), 0..12), rx in vec(amount(), 0..12), cwnd in vec(any::<u32>(), 0..3),
              sorted in any::<bool>(), error in proptest::option::of(".{0,8}")) -> FlowSeries {
        let mut t = t;
        if sorted { t.sort_unstable(); }
        FlowSeries { t_ns: t, rx_bytes: rx, cwnd_segments: cwnd, error, ..FlowSeries::default() }
    }
}

prop_compose! {
    fn probe()(sent in vec(time(), 0..20), rtt in vec(time(), 0..20), up in vec(time(), 0..20)) -> ProbeSeries {
        ProbeSeries { sent_ns: sent, rtt_ns: rtt, up_ns: up, ..ProbeSeries::default() }
    }
}

prop_compose! {
    fn call()(sent in vec(time(), 0..20), up in vec(time(), 0..20), down in vec(time(), 0..20),
              fate in vec(prop_oneof![Just(Fate::Arrived), Just(Fate::Up), Just(Fate::Down), Just(Fate::Unknown)], 0..20)) -> CallSeries {
        CallSeries { sent_ns: sent, up_ns: up, down_ns: down, fate }
    }
}

prop_compose! {
    fn page()(start in vec(time(), 0..6), took in vec(time(), 0..6), first in vec(time(), 0..6),
              complete in vec(any::<bool>(), 0..6), rx in vec(amount(), 0..6), error in proptest::option::of(".{0,8}")) -> PageSeries {
        PageSeries { start_ns: start, took_ns: took, complete, first_byte_ns: first, rx_bytes: rx, error }
    }
}

prop_compose! {
    fn video()(asked in vec(time(), 0..6), took in vec(time(), 0..6), complete in vec(any::<bool>(), 0..6),
               bitrate in vec(amount(), 0..6), buffer in vec(time(), 0..6), stalled in vec(time(), 0..6),
               error in proptest::option::of(".{0,8}")) -> VideoSeries {
        let rx_bytes = bitrate.clone();
        VideoSeries {
            asked_ns: asked, took_ns: took, complete, bitrate_bps: bitrate, rx_bytes, buffer_ns: buffer,
            stalled_ns: stalled, error,
        }
    }
}

prop_compose! {
    fn way()(frame in vec(any::<u32>(), 0..12), captured_ns in vec(time(), 0..12), frame_took_ns in vec(time(), 0..12),
             height in vec(any::<u16>(), 0..12), t_ns in vec(time(), 0..12), rx_bytes in vec(amount(), 0..12),
             packets in vec(any::<u32>(), 0..12), tick in vec(any::<u32>(), 0..12), sent_ns in vec(time(), 0..12),
             tick_took_ns in vec(time(), 0..12), rtt_ns in vec(time(), 0..12)) -> TalkWay {
        let (rx_packets, lost_packets) = (packets.clone(), packets);
        TalkWay { frame, captured_ns, frame_took_ns, height, t_ns, rx_bytes, rx_packets, lost_packets, tick, sent_ns,
                  tick_took_ns, rtt_ns }
    }
}

prop_compose! {
    fn talk()(up in way(), down in way()) -> TalkSeries {
        TalkSeries { up, down }
    }
}

prop_compose! {
    fn queue()(t in vec(time(), 0..10), backlog in vec(amount(), 0..10), sent in vec(amount(), 0..10),
               drops in vec(amount(), 0..10)) -> QueueSeries {
        QueueSeries { t_ns: t, backlog_bytes: backlog, sent_bytes: sent, drops, ..QueueSeries::default() }
    }
}

prop_compose! {
    fn event()(start_ns in time(), length_ns in amount(), station in 0_u32..4, uplink in any::<bool>(),
               kind in prop_oneof![Just(AirKind::Data), Just(AirKind::Retry), Just(AirKind::Collision), Just(AirKind::Ack)],
               mpdus in any::<u32>()) -> AirEvent {
        AirEvent { start_ns, length_ns, station, uplink, kind, mpdus, ..AirEvent::default() }
    }
}

prop_compose! {
    fn station()(name in ".{0,24}", rate in ".{0,24}", weight in any::<u32>(), air_ns in amount(), delivered_bytes in amount(),
                 mpdus in amount(), own in 0_u32..4) -> Station {
        let tids = vec![TidStats::default()];
        Station { name, rate, weight, air_ns, delivered_bytes, mpdus, aggregates: mpdus / 3, flows: vec![own], probes: vec![own],
                  tids, ..Station::default() }
    }
}

prop_compose! {
    fn radio()(name in ".{0,8}", stations in vec(station(), 0..4), parts in vec(amount(), 5), t in vec(time(), 0..9),
               columns in vec(vec(amount(), 0..9), 0..4), step_ns in amount(), from in time(), length in amount(),
               events in vec(event(), 0..9)) -> Radio {
        let accounting = Accounting { elapsed_ns: parts[0], collision_ns: parts[1], overhead_ns: parts[2], other_ns: parts[3],
                                      idle_ns: parts[4], ..Accounting::default() };
        let shares = Shares { t_ns: t, step_ns, stations: columns.clone(), collision_ns: columns.concat(), ..Shares::default() };
        let mut window = AirEvents::new(from, length);
        for event in events { window.push(event); }
        Radio { name, stations, accounting, shares, window, ..Radio::default() }
    }
}

prop_compose! {
    fn run()(name in ".{0,30}", complete in any::<bool>(), valid in any::<bool>(), flows in vec(flow(), 0..3),
             probes in vec(probe(), 0..3), voip in vec(call(), 0..3), beside in (vec(page(), 0..3), vec(video(), 0..3), vec(talk(), 0..3)), up in queue(), busy in any::<f64>(),
             buckets in vec(amount(), 0..4), radios in vec(radio(), 0..3)) -> Run {
        let engine = EngineHealth { lateness_bucket_ns: buckets.clone(), lateness_count: buckets, busy, ..EngineHealth::default() };
        let (web, dash, talks) = beside;
        let mut run = Run { queue: name, complete, flows, probes, voip, web, dash, talks, up, radios, engine: Some(engine), ..Run::default() };
        run.validity.valid = valid;
        run
    }
}

prop_compose! {
    fn record()(started in ".{0,24}", idle in amount(), load in prop_oneof![3 => 0_u64..4_000_000_000, 1 => any::<u64>()],
                step in prop_oneof![3 => 1_000_000_u64..500_000_000, 1 => amount()], runs in vec(run(), 0..4),
                spans in vec((time(), time(), any::<bool>()), 0..3), probes in 0_usize..3, rate in proptest::option::of(amount()),
                interval in amount(), name in "[a-z_:<]{0,12}", host in any::<u32>()) -> Record {
        let mut r = Record { started, runs, ..Record::default() };
        r.test.idle_ns = idle;
        r.test.load_ns = load;
        r.test.step_ns = step;
        r.test.name = name;
        r.test.flows = spans.into_iter().map(|(start_ns, stop_ns, up)| FlowPlan {
            direction: if up { Direction::Up } else { Direction::Down }, start_ns, stop_ns, host, ..FlowPlan::default()
        }).collect();
        r.test.probes = (0..probes).map(|_| ProbePlan { interval_ns: interval, ..ProbePlan::default() }).collect();
        r.test.voip = r.test.probes.clone();
        r.test.web = (0..probes).map(|_| PagePlan::default()).collect();
        r.test.dash = (0..probes).map(|_| VideoPlan::default()).collect();
        r.test.talks = (0..probes).map(|i| TalkPlan { ticks: (i % 2 == 1).then_some(host % 300), ..TalkPlan::default() }).collect();
        r.link.up.rate_bps = rate;
        r
    }
}

fn all_forms(record: &Record) {
    let page = html(record);
    let body = page.split("<script>").next().unwrap();
    assert!(!body.contains("NaN") && !body.contains("=\"inf"), "a number that is none in the page");
    for text in [
        table::text(record, table::Layout { colour: true, ..Default::default() }),
        table::markdown(record),
        csv::summary(record),
        csv::goodput(record),
    ] {
        assert!(!text.contains("NaN"), "{text}");
    }
    for run in &record.runs {
        if let Some(found) = goodqueue_report::queue_kind(record, run) {
            assert!(!found.evidence.is_empty(), "{found:?}");
        }
        assert!(flent::file_name(record, run).len() <= 250);
    }
    assert!(csv::latency(record).ends_with('\n') && csv::queue(record).ends_with('\n'));
    assert!(csv::stations(record).ends_with('\n') && csv::airtime(record).ends_with('\n'));
    assert!(csv::calls(record).ends_with('\n') && csv::pages(record).ends_with('\n'));
    assert!(csv::videos(record).ends_with('\n') && csv::frames(record).ends_with('\n'));
    assert!(csv::video_calls(record).ends_with('\n') && csv::games(record).ends_with('\n'));
    record.to_json().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn unusual_records_are_shown_without_a_panic(record in record()) {
        all_forms(&record);
    }
}

#[test]
fn the_empty_record() {
    all_forms(&Record::default());
    let folder = std::env::temp_dir().join(format!("goodqueue-report-{}-empty", std::process::id()));
    goodqueue_report::write_all(&Record::default(), &folder).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn all_probes_lost() {
    let mut record = fixture::square();
    for run in &mut record.runs {
        run.probes[0].rtt_ns.fill(MISSING);
        run.probes[0].up_ns.fill(MISSING);
        run.probes[0].down_ns.fill(MISSING);
    }
    all_forms(&record);
}

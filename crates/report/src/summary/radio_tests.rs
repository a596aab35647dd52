#![allow(clippy::unwrap_used)]

use super::*;
use crate::record::{ProbeSeries, Record, Run};
use crate::wifi::Accounting;
use crate::{MISSING, Summary};

const S: u64 = 1_000_000_000;

/// Two stations over 10 s, with 2 s and 6 s of airtime.
fn record() -> Record {
    let station = |name: &str, weight, air_ns, bytes, probe| Station {
        name: name.into(),
        weight,
        air_ns,
        delivered_bytes: bytes,
        aggregates: 4,
        mpdus: 10,
        retried_mpdus: 1,
        probes: vec![probe],
        ..Station::default()
    };
    let radio = Radio {
        stations: vec![station("a", 0, 2 * S, 12_500_000, 0), station("b", 768, 6 * S, 1_250_000, 9)],
        accounting: Accounting {
            elapsed_ns: 10 * S,
            collision_ns: S / 2,
            overhead_ns: S,
            other_ns: S / 10,
            idle_ns: S * 4 / 10,
            ..Accounting::default()
        },
        ..Radio::default()
    };
    let sent = |s: i64| s * 1_000_000_000;
    let probe = ProbeSeries {
        sent_ns: [0, 3, 4, 5, 6].map(sent).to_vec(),
        rtt_ns: vec![900, 40, MISSING, 20, 30],
        ..ProbeSeries::default()
    };
    let run = Run { complete: true, probes: vec![probe], radios: vec![radio], ..Run::default() };
    let mut record = Record { runs: vec![run], ..Record::default() };
    record.test.load_ns = 10 * S;
    record
}

#[test]
fn a_summary_by_hand() {
    let record = record();
    let all = Summary::of(&record, &record.runs[0]).radios;
    let radio = &all[0];
    let (a, b) = (&radio.stations[0], &radio.stations[1]);
    assert_eq!((a.share, b.share), (Some(0.25), Some(0.75)));
    // (2 + 6)² / (2·(4 + 36)) = 0.8; three times the default weight makes it fair.
    assert_eq!((radio.airtime_jain, radio.weighted_jain), (Some(0.8), Some(1.0)));
    assert_eq!((a.goodput_bps, b.goodput_bps), (Some(10_000_000), Some(1_000_000)));
    assert_eq!(radio.goodput_bps, Some(11_000_000));
    assert_eq!((a.aggregate_mean, a.retried), (Some(2.5), Some(0.1)));
    // The probe at 0 s is in the ramp, the one at 4 s was lost: 20, 30, 40.
    assert_eq!((a.rtt_p5_ns, a.rtt_p50_ns, a.rtt_p95_ns), (Some(20), Some(30), Some(40)));
    assert_eq!(b.rtt_p50_ns, None);
    let parts = [radio.used, radio.collisions, radio.overhead, radio.idle].map(Option::unwrap);
    assert_eq!(parts, [0.8, 0.05, 0.11, 0.04]);
}

#[test]
fn the_parts_of_the_time_add_up() {
    let mut radio = record().runs[0].radios[0].clone();
    assert_eq!(radio.unaccounted_ns(), 0);
    radio.stations[0].air_ns += 5;
    assert_eq!(radio.unaccounted_ns(), -5);
}

#[test]
fn an_old_record_has_no_radio() {
    let old: Run = serde_json::from_str("{\"queue\":\"fq_codel\"}").unwrap();
    assert!(old.radios.is_empty());
    assert!(!serde_json::to_string(&old).unwrap().contains("radios"));
    let text = serde_json::to_string(&record()).unwrap();
    assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record());
}

#[test]
fn missing_flows_have_no_goodput() {
    let mut record = record();
    record.runs[0].radios[0].stations[0].flows = vec![7];
    let all = Summary::of(&record, &record.runs[0]).radios;
    assert_eq!(all[0].stations[0].goodput_bps, None);
}

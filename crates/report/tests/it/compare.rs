//! Data files of flent's as records, and comparisons.

#![allow(clippy::unwrap_used)]

use crate::fixture;

use goodqueue_report::compare::{Basis, Pair, Row, compare, text};
use goodqueue_report::{Record, Repetition, Run, Summary, flent, headline, html};

/// What flent writes with netperf, ping and irtt: two flows of one second of idle and eight of load. The
/// server's clock is 3 s ahead.
fn of_flent() -> String {
    let t0 = 1_700_000_000.0;
    let up: Vec<String> = (0..32)
        .map(|k| {
            // Reports come every 0.25 s, and STEP_SIZE is 0.2 s.
            format!(r#"{{"t": {}, "val": 8.0, "dur": 0.25}}"#, t0 + 1.25 + 0.25 * f64::from(k))
        })
        .collect();
    let down: Vec<String> = (0..40)
        .map(|k| format!(r#"{{"t": {}, "val": 40.0, "dur": 0.2}}"#, t0 + 1.2 + 0.2 * f64::from(k)))
        .collect();
    let rtt = |t: f64| if t < 1.0 { 20.0 } else { 120.0 };
    // One answer of ping's is missing: the sequence number jumps.
    let ping: Vec<String> = (0..45)
        .filter(|k| *k != 30)
        .map(|k| (k, 0.2 * f64::from(k)))
        .map(|(k, t)| format!(r#"{{"t": {}, "val": {}, "seq": {}}}"#, t0 + t, rtt(t), k + 1))
        .collect();
    let irtt: Vec<String> = (0..90)
        .map(|k| (k, 0.1 * f64::from(k)))
        .map(|(k, t)| match k {
            50 => format!(r#"{{"t": {}, "seq": 50, "lost": true, "lost_dir": "up"}}"#, t0 + t),
            _ => format!(
                r#"{{"t": {}, "val": {}, "seq": {k}, "owd_up": {}, "owd_down": {}}}"#,
                t0 + t,
                rtt(t),
                rtt(t) - 10.0 + 3000.0,
                10.0 - 3000.0
            ),
        })
        .collect();
    format!(
        r#"{{"version": 4, "x_values": [0.0, 0.2], "results": {{"TCP upload avg": [1.0, null]}},
        "raw_values": {{"TCP upload::1": [{}], "TCP download BE": [{}], "Ping (ms) ICMP": [{}],
            "Ping (ms) UDP EF": [{}], "TCP upload::1::tcp_cwnd": [{{"t": 1, "val": 10}}],
            "cpu_stats_localhost::load": [{{"t": 1, "val": 0.2}}]}},
        "metadata": {{"NAME": "rrul", "TITLE": "before", "HOST": "flent-london.bufferbloat.net", "LENGTH": 8,
            "TOTAL_LENGTH": 10, "STEP_SIZE": 0.2, "TIME": "2023-11-14T22:13:20.000000Z", "IP_VERSION": 4,
            "FLENT_VERSION": "2.1.1", "FAILED_RUNNERS": 0,
            "SERIES_META": {{"TCP upload::1": {{"CONG_CONTROL": "cubic", "UNITS": "Mbits/s"}}}}}}}}"#,
        up.join(", "),
        down.join(", "),
        ping.join(", "),
        irtt.join(", ")
    )
}

fn near(got: Option<f64>, wanted: f64, tolerance: f64) {
    assert!(got.is_some_and(|got| (got - wanted).abs() <= tolerance), "{got:?}, not {wanted}");
}

#[test]
fn a_file_of_flent_s_has_the_figures_that_it_was_made_of() {
    let record = flent::read(of_flent().as_bytes()).unwrap();
    assert_eq!((record.arm.as_str(), record.test.name.as_str()), ("path", "rrul"));
    assert_eq!((record.test.idle_ns, record.test.load_ns), (1_000_000_000, 8_000_000_000));
    assert_eq!(record.server.as_deref(), Some("flent-london.bufferbloat.net"));
    let names: Vec<&str> = record.test.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["TCP download BE", "TCP upload::1"]);
    assert_eq!(record.test.flows[1].cc, "cubic");
    let names: Vec<&str> = record.test.probes.iter().map(|probe| probe.name.as_str()).collect();
    assert_eq!(names, ["Ping (ms) ICMP", "Ping (ms) UDP EF"]);
    assert_eq!(record.test.probes[0].interval_ns, 200_000_000);
    let summary = record.summary(&record.runs[0]);
    near(summary.goodput_up_bps.map(|bps| bps as f64 / 1e6), 8.0, 1e-3);
    near(summary.goodput_down_bps.map(|bps| bps as f64 / 1e6), 40.0, 1e-3);
    let ms = |ns: Option<i64>| ns.map(|ns| ns as f64 / 1e6);
    near(ms(summary.rtt.idle_ns), 20.0, 1e-3);
    near(ms(summary.rtt.added_p95_ns), 100.0, 1e-3);
    near(ms(summary.up.added_p95_ns), 100.0, 1e-3);
    near(ms(summary.down.added_p95_ns), 0.0, 1e-3);
    assert_eq!(summary.rtt.lost, 2, "one of each probe");
    assert_eq!(record.runs[0].probes[1].lost.up, 1);
    // The clocks: of 20 ms without load, each way has its half.
    near(ms(summary.up.idle_ns), 10.0, 1e-3);
    near(ms(summary.down.idle_ns), 10.0, 1e-3);
    assert!(headline(&record).starts_with("Uploads and downloads at once make everything else wait 100"));
    assert!(html(&record).ends_with("</html>\n"));
}

#[test]
fn what_is_no_file_of_flent_s_is_refused_with_its_reason() {
    for (from, to, part) in [
        ("\"version\": 4", "\"version\": 5", "format 5 is newer than 4"),
        ("Ping (ms)", "Pang (ms)", ""),
        ("\"STEP_SIZE\": 0.2", "\"STEP_SIZE\": 1e-300", ""),
        ("\"t\": 1700000001.25,", "\"t\": 1.0,", "more than a week apart"),
    ] {
        let text = of_flent().replace(from, to);
        assert_ne!(text, of_flent());
        match flent::read(text.as_bytes()) {
            Err(why) => assert!(!part.is_empty() && why.contains(part), "{to}: {why}"),
            Ok(_) => assert!(part.is_empty(), "{to} was read"),
        }
    }
    let none = r#"{"raw_values": {}, "metadata": {}}"#;
    assert!(flent::read(none.as_bytes()).unwrap_err().contains("no TCP flow and no ping"));
}

#[test]
fn what_we_write_for_flent_comes_back() {
    let dir = std::env::temp_dir().join(format!("goodqueue-report-{}-back", std::process::id()));
    for record in [fixture::square(), fixture::rrul(), fixture::ping()] {
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        for (file, run) in flent::write(&record, &dir).unwrap().iter().zip(&record.runs) {
            let back = Record::read(file).unwrap();
            assert_eq!((&back.arm, &back.link), (&record.arm, &record.link));
            assert_eq!(back.started[..19], record.started[..19]);
            let [ours, theirs] = [record.summary(run), back.summary(&back.runs[0])];
            assert_eq!(back.runs[0].queue, run.queue);
            assert_eq!(back.test.load_ns, record.test.load_ns);
            for [ours, theirs] in [
                [ours.goodput_up_bps, theirs.goodput_up_bps],
                [ours.goodput_down_bps, theirs.goodput_down_bps],
            ] {
                assert_eq!(ours.is_some(), theirs.is_some());
                near(
                    theirs.map(|bps| bps as f64).or(Some(0.0)),
                    ours.unwrap_or(0) as f64,
                    ours.unwrap_or(0) as f64 * 1e-3,
                );
            }
            // flent's files have the first probe alone for some tests.
            if back.test.probes.len() == record.test.probes.len() {
                assert_eq!((theirs.rtt.n, theirs.rtt.lost), (ours.rtt.n, ours.rtt.lost));
                for [ours, theirs] in [
                    [ours.rtt.added_p50_ns, theirs.rtt.added_p50_ns],
                    [ours.rtt.added_p99_ns, theirs.rtt.added_p99_ns],
                    [ours.up.added_p95_ns, theirs.up.added_p95_ns],
                ] {
                    assert_eq!(theirs.is_some(), ours.is_some());
                    near(theirs.map(|ns| ns as f64).or(Some(0.0)), ours.unwrap_or(0) as f64, 10.0);
                }
            }
        }
    }
    let _ = std::fs::remove_dir_all(&dir);
}

fn row<'a>(pair: &'a Pair, figure: &str) -> &'a Row {
    pair.rows.iter().find(|row| row.figure == figure).unwrap()
}

/// The record with that many milliseconds more in each round trip under load.
fn later(mut record: Record, ms: i64) -> Record {
    for run in &mut record.runs {
        for probe in &mut run.probes {
            for (sent, rtt) in probe.sent_ns.iter().zip(&mut probe.rtt_ns) {
                if *sent >= 0 && *rtt >= 0 {
                    *rtt += ms * 1_000_000;
                }
            }
        }
    }
    record
}

#[test]
fn a_change_is_found_with_its_size_and_no_change_is_undecided() {
    let record = fixture::rrul_of(30);
    let comparison = compare(&record, &record);
    assert_eq!(comparison.pairs.len(), record.runs.len());
    for row in comparison.pairs.iter().flat_map(|pair| &pair.rows) {
        assert_eq!(row.difference, row.first.map(|_| 0.0), "{row:?}");
        assert!(!matches!(row.verdict, Some("better" | "worse")), "{row:?}");
    }
    let comparison = compare(&record, &later(record.clone(), 7));
    for (pair, run) in comparison.pairs.iter().zip(&record.runs) {
        let summary = Summary::of(&record, run);
        let p95 = row(pair, "rise_p95");
        near(p95.first, summary.rtt.added_p95_ns.unwrap() as f64 / 1e6, 1e-9);
        near(p95.difference, 7.0, 1e-6);
        let [low, high] = p95.interval.unwrap();
        assert!((low..=high).contains(&7.0), "{p95:?}");
        let verdict = if low > 0.0 { "worse" } else { "undecided" };
        assert_eq!((p95.verdict, p95.interval_of), (Some(verdict), Some(Basis::Blocks)));
        assert_ne!(row(pair, "goodput_up").verdict, Some("worse"));
    }
    let worse = comparison.pairs.iter().filter(|pair| row(pair, "rise_p95").verdict == Some("worse"));
    assert!(worse.count() > 0, "{}", text(["a", "b"], &comparison));
    // The same again, byte by byte.
    let again = compare(&record, &later(record.clone(), 7));
    assert_eq!(text(["a", "b"], &again), text(["a", "b"], &comparison));
}

#[test]
fn what_is_rounded_to_zero_has_no_sign() {
    let record = fixture::rrul_of(30);
    let mut comparison = compare(&record, &record);
    for row in comparison.pairs.iter_mut().flat_map(|pair| &mut pair.rows) {
        (row.first, row.other, row.difference) = (Some(0.03), Some(-1e-9), Some(-1e-9));
        (row.ratio, row.interval) = (Some(-1e-9 / 0.03), Some([-1e-9, 0.03]));
    }
    let table = text(["a", "b"], &comparison);
    assert!(table.contains("+0.00 to +0.03") && !table.contains("-0") && !table.contains("0x"), "{table}");
}

#[test]
fn repetitions_give_welch_s_interval() {
    let with = |rises: &[i64]| {
        let repetitions =
            rises.iter().map(|ms| Repetition { rise_p95_ns: Some(ms * 1_000_000), ..Repetition::default() });
        let run = Run { queue: "codel".into(), repetitions: repetitions.collect(), ..Run::default() };
        Record { runs: vec![run], ..Record::default() }
    };
    let comparison = compare(&with(&[10, 12, 14]), &with(&[20, 22, 24, 26]));
    let row = row(&comparison.pairs[0], "rise_p95");
    // Means 12 and 23, variances 4 and 20/3: s = sqrt(4/3 + 5/3) = 1.732, ν = 9/(16/18 + 25/27) = 4.96, so 4.
    near(row.difference, 11.0, 1e-9);
    let [low, high] = row.interval.unwrap();
    near(Some(low), 11.0 - 2.7764 * 3.0_f64.sqrt(), 1e-6);
    near(Some(high), 11.0 + 2.7764 * 3.0_f64.sqrt(), 1e-6);
    assert_eq!((row.verdict, row.interval_of), (Some("worse"), Some(Basis::Repetitions)));
}

/// Runs that are alike but for chance, whose samples depend on those before them, as a TCP sawtooth's do.
#[test]
fn the_interval_of_blocks_covers_no_change_in_most_runs() {
    let drawn = |seed: u64| {
        let mut noise = fixture::Noise::new(seed);
        let mut record = fixture::rrul_of(60);
        record.runs.truncate(1);
        let mut level = 0.0;
        for probe in &mut record.runs[0].probes {
            for (sent, rtt) in probe.sent_ns.iter().zip(&mut probe.rtt_ns) {
                // An average over 0.3 s.
                level += (noise.unit() - 0.5 - level) * 0.066;
                *rtt = 20_000_000 + if *sent >= 0 { (50e6 + 200e6 * level) as i64 } else { 0 };
            }
        }
        record
    };
    let covered = (0..100).filter(|seed| {
        let comparison = compare(&drawn(2 * seed), &drawn(2 * seed + 1));
        row(&comparison.pairs[0], "rise_p50").verdict == Some("undecided")
    });
    let covered = covered.count();
    assert!(covered >= 88, "{covered} of 100");
}

//! flent reads our files for flent. The test needs `flent` on the machine. Without it the test prints
//! `SKIPPED` and passes, unless GOODQUEUE_REQUIRE_ALL is set.

#![allow(clippy::unwrap_used)]

use crate::fixture;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use goodqueue_report::{Record, flent};

/// A message that some versions of matplotlib cause for any file.
const NOT_OURS: &str =
    "Unable to build our own tight layout: 'Figure' object has no attribute '_cachedRenderer'";

fn have_flent() -> bool {
    let found = Command::new("flent").arg("--version").output().is_ok_and(|o| o.status.success());
    if !found {
        let required = std::env::var_os("GOODQUEUE_REQUIRE_ALL").is_some();
        assert!(!required, "flent is required (GOODQUEUE_REQUIRE_ALL) and not installed");
        // Not with `println`, which the test runner captures.
        let _ = writeln!(std::io::stderr(), "SKIPPED: flent is not installed; nothing was read by flent");
    }
    found
}

fn run(dir: &Path, arguments: &[&str]) -> String {
    let output = Command::new("flent")
        .args(arguments)
        .current_dir(dir)
        .env("MPLBACKEND", "Agg")
        .env("HOME", dir)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].map(|b| String::from_utf8_lossy(&b).into_owned()).concat();
    assert!(output.status.success(), "flent {arguments:?}:\n{text}");
    for line in text.lines().filter(|l| !l.contains(NOT_OURS)) {
        for bad in ["WARNING", "ERROR", "Traceback", "Unable", "missing"] {
            assert!(!line.contains(bad), "flent {arguments:?}:\n{text}");
        }
    }
    text
}

fn plots(dir: &Path, record: &Record, test: &str, plots: &[&str], combined: &[&str]) {
    std::fs::create_dir_all(dir).unwrap();
    let files: Vec<PathBuf> = flent::write(record, dir).unwrap();
    assert_eq!(files.len(), record.runs.len());
    let names: Vec<&str> = files.iter().map(|f| f.file_name().unwrap().to_str().unwrap()).collect();
    assert!(names.iter().all(|n| n.starts_with(&format!("{test}-2026-11-21T193005.250000."))), "{names:?}");
    let summary = run(dir, &["-i", names[0], "-f", "summary"]);
    assert!(
        summary.contains(&format!("Summary of {test} test run from 2026-11-21 19:30:05.250000")),
        "{summary}"
    );
    for plot in plots {
        run(dir, &["-i", names[0], "-p", plot, "-o", "one.png"]);
        assert!(std::fs::metadata(dir.join("one.png")).unwrap().len() > 5000, "{plot}");
        std::fs::remove_file(dir.join("one.png")).unwrap();
    }
    for plot in combined {
        let mut arguments: Vec<&str> = names.iter().flat_map(|n| ["-i", n]).collect();
        arguments.extend(["-p", plot, "-o", "all.png"]);
        run(dir, &arguments);
        assert!(std::fs::metadata(dir.join("all.png")).unwrap().len() > 5000, "{plot}");
        std::fs::remove_file(dir.join("all.png")).unwrap();
    }
}

/// An empty folder for what flent reads and draws; none, loudly, without flent.
fn folder(name: &str) -> Option<PathBuf> {
    let dir = std::env::temp_dir().join(format!("goodqueue-report-{}-flent-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    have_flent().then_some(dir)
}

#[test]
fn flent_reads_and_draws_tcp() {
    let Some(dir) = folder("tcp") else { return };
    plots(
        &dir.join("rrul"),
        &fixture::rrul_of(10),
        "rrul",
        &["all_scaled", "box_totals", "tcp_cwnd", "tcp_rtt", "tcp_pacing"],
        &["box_combine", "ping_cdf"],
    );
    plots(
        &dir.join("square"),
        &fixture::square(),
        "tcp_nup",
        &["totals", "upload_box"],
        &["box_combine", "ping_cdf"],
    );
    plots(
        &dir.join("fair"),
        &fixture::rtt_fair(),
        "rtt_fair_var",
        &["all_scaled", "box_totals"],
        &["ping_cdf"],
    );
    plots(&dir.join("ping"), &fixture::ping(), "ping", &["ping", "ping_cdf"], &[]);
    plots(&dir.join("six"), &fixture::ipv6(), "tcp_nup", &[], &[]);
    plots(&dir.join("beside"), &fixture::beside(), "tcp_nup", &["totals"], &[]);
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn flent_reads_and_draws_applications_and_udp() {
    let Some(dir) = folder("applications") else { return };
    // A call, a page, a video call and a game are drawn by flent's own plots.
    let mut talking = fixture::applications::talking();
    let each = ["voip_delay", "voip_loss", "http_delay", "ping_extra"];
    plots(&dir.join("talking"), &talking, "tcp_nup", &each, &["ping_extra_combine"]);
    let both = fixture::rrul_of(30);
    (talking.test.flows, talking.test.probes) = (both.test.flows, both.test.probes);
    talking.test.name = "rrul".into();
    for (run, rrul) in talking.runs.iter_mut().zip(both.runs) {
        (run.flows, run.probes) = (rrul.flows, rrul.probes);
    }
    plots(&dir.join("talking-rrul"), &talking, "rrul", &["all_scaled", "ping_extra"], &["box_combine"]);
    plots(&dir.join("troubled"), &fixture::troubled(), "tcp_nup", &["totals"], &[]);
    let mut both = fixture::rtt_fair();
    both.test.flows.iter_mut().for_each(|f| f.host = 0);
    both.test.probes.iter_mut().for_each(|p| p.host = 0);
    plots(&dir.join("both"), &both, "rrul_be_nflows", &["all_scaled"], &[]);
    // UDP load: one flow, one for each host, and bursts, of which flent draws the probes alone.
    let udp = |mut record: Record, test: &str, most: usize, name: fn(usize) -> String| {
        record.test.name = test.into();
        record.test.flows.truncate(most);
        for (i, flow) in record.test.flows.iter_mut().enumerate() {
            (flow.name, flow.cc) = (name(i), String::new());
        }
        record.runs.iter_mut().for_each(|run| run.flows.truncate(most));
        record
    };
    let flood = udp(fixture::square(), "udp_flood", 1, |_| "UDP upload".into());
    plots(&dir.join("flood"), &flood, "udp_flood", &["totals", "ping"], &["ping_cdf"]);
    let var = udp(fixture::rtt_fair(), "udp_flood_var_up", 4, |i| format!("UDP upload {}", i + 1));
    plots(&dir.join("var"), &var, "udp_flood_var_up", &["upload", "ping"], &[]);
    let bursts = udp(fixture::rrul_of(10), "bursts", 2, |i| format!("Burst {i}"));
    plots(&dir.join("bursts"), &bursts, "bursts", &["ping", "ping_cdf"], &[]);
    std::fs::remove_dir_all(&dir).unwrap();
}

/// The document in a file.
fn document(path: &Path) -> serde_json::Value {
    let raw = std::fs::read(path).unwrap();
    serde_json::from_reader(flate2::read::GzDecoder::new(raw.as_slice())).unwrap()
}

/// The state of a flow's sender has the names that flent gives to what `ss` says.
#[test]
fn a_flow_has_flents_figures_of_its_sender() {
    let dir = std::env::temp_dir().join(format!("goodqueue-report-{}-sender", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let record = fixture::rrul_of(10);
    let v = document(&flent::write(&record, &dir).unwrap()[0]);
    let flow = &record.runs[0].flows[0];
    let first = &v["raw_values"]["TCP upload BE"][0];
    let [pacing, delivery] = [flow.pacing_bps[0], flow.delivery_bps[0]].map(|bps| bps as f64 / 1e6);
    assert!(pacing > delivery && delivery > 0.0);
    let all = [
        ("tcp_cwnd", f64::from(flow.cwnd_segments[0])),
        ("tcp_rtt", 22.0),
        ("tcp_pacing_rate", pacing),
        ("tcp_delivery_rate", delivery),
    ];
    for (key, value) in all {
        assert_eq!(first[key].as_f64(), Some(value), "{key}");
        let series = v["results"][format!("TCP upload BE::{key}")].as_array().expect("a series");
        assert_eq!(series.len(), v["x_values"].as_array().unwrap().len(), "{key}");
    }
    // A file of ours is read back, and its flows are not those figures.
    let read = flent::read(v.to_string().as_bytes()).unwrap();
    assert_eq!(read.test.flows.len(), record.test.flows.len());
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn a_call_and_a_page_have_flents_series() {
    let dir = std::env::temp_dir().join(format!("goodqueue-report-{}-beside", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let v = document(&flent::write(&fixture::beside(), &dir).unwrap()[0]);
    let raw = |name: &str| v["raw_values"][name].as_array().unwrap().clone();
    let (delay, loss) = (raw("VoIP::delay"), raw("VoIP::loss"));
    let lost = loss.iter().filter(|packet| packet["val"] == 1.0).count();
    assert_eq!((loss.len(), delay.len()), (35 * 50, 35 * 50 - lost));
    assert!(lost > 10 && raw("VoIP::jitter").len() >= delay.len() - lost - 1);
    // One page of 221.6 ms idle, and the two that were complete under load, one of them in the ramp.
    let pages = raw("HTTP latency");
    assert_eq!((pages.len(), pages[0]["val"].as_f64()), (3, Some(221.6)));
    assert_eq!(v["metadata"]["SERIES_META"]["HTTP latency"]["UNITS"], "ms");
    let own = &v["metadata"]["X_GOODQUEUE"];
    assert_eq!(
        (&own["series"]["VoIP::delay"], &own["series"]["HTTP latency"]),
        (&"VoIP BE".into(), &"small".into())
    );
    assert_eq!(own["summary"]["voip"].as_array().unwrap().len(), 2);
    std::fs::remove_dir_all(&dir).unwrap();
}

/// A game is written as its ping, a video call as the delay of its frames in each direction. Both are extra
/// hosts for flent to ping.
#[test]
fn a_video_call_and_a_game_are_extra_pings() {
    let dir = std::env::temp_dir().join(format!("goodqueue-report-{}-talking", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let record = fixture::applications::talking();
    let v = document(&flent::write(&record, &dir).unwrap()[0]);
    let hosts = &v["metadata"]["TEST_PARAMETERS"]["ping_hosts"];
    assert_eq!(hosts, "video call BE up,video call BE down,game 64 EF");
    let [call, game] = [&record.runs[0].talks[0], &record.runs[0].talks[1]];
    for (host, (times, values)) in hosts.as_str().unwrap().split(',').zip([
        (&call.up.captured_ns, &call.up.frame_took_ns),
        (&call.down.captured_ns, &call.down.frame_took_ns),
        (&game.down.sent_ns, &game.down.rtt_ns),
    ]) {
        let name = format!("Ping (ms) ICMP {host} (extra)");
        let raw = v["raw_values"][&name].as_array().unwrap();
        assert_eq!((raw.len(), values.len()), (times.len(), times.len()), "{name}");
        let last = raw.last().unwrap()["val"].as_f64().unwrap();
        assert!((last - *values.last().unwrap() as f64 / 1e6).abs() < 1e-6, "{name}");
        let meta = &v["metadata"]["SERIES_META"][&name];
        assert_eq!((&meta["UNITS"], meta["MEAN_VALUE"].is_f64()), (&"ms".into(), true));
        assert!(v["metadata"]["X_GOODQUEUE"]["series"][&name].as_str().unwrap().starts_with(host));
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

/// flent averages all pings of a test; calls and games must not be part of that average.
#[test]
fn the_average_of_pings_is_that_of_the_tests_own_pings() {
    let dir = std::env::temp_dir().join(format!("goodqueue-report-{}-average", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let mut record = fixture::rrul_of(10);
    let file = |record: &Record| document(&flent::write(record, &dir).unwrap()[0]);
    assert!(file(&record)["results"].get("Ping (ms) avg").is_none(), "flent computes it");
    let talking = fixture::applications::talking();
    record.test.talks = talking.test.talks;
    record.runs[0].talks.clone_from(&talking.runs[0].talks);
    let v = file(&record);
    let own = record.test.probes.iter().map(|probe| &v["results"][&probe.name]);
    let own: Vec<_> = own.filter_map(|series| series.as_array()).collect();
    assert!(own.len() >= 3);
    for (i, average) in v["results"]["Ping (ms) avg"].as_array().unwrap().iter().enumerate() {
        let known: Vec<f64> = own.iter().filter_map(|series| series[i].as_f64()).collect();
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        assert!(average.as_f64().map_or(known.is_empty(), |average| (average - mean).abs() < 2e-6));
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

/// flent's `rrul_var` has as many downloads as uploads, and its `rtt_fair_var` any number of hosts, even one.
#[test]
fn uneven_directions_and_a_single_host_are_tests_of_flents() {
    let dir = std::env::temp_dir().join(format!("goodqueue-report-{}-uneven", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    // Of four flows to four hosts in each direction: the first upload, and these downloads.
    let part = |test: &str, downloads: std::ops::Range<usize>| {
        let mut record = fixture::rtt_fair();
        record.test.name = test.into();
        let flows: Vec<_> = record.test.flows.drain(..).collect();
        let kept = |i: usize| i == 0 || downloads.contains(&i);
        record.test.flows = (0..).zip(flows).filter(|(i, _)| kept(*i)).map(|(_, flow)| flow).collect();
        record.test.flows.iter_mut().for_each(|flow| flow.host = 0);
        record.test.probes.truncate(1);
        for run in &mut record.runs {
            let flows: Vec<_> = run.flows.drain(..).collect();
            run.flows = (0..).zip(flows).filter(|(i, _)| kept(*i)).map(|(_, flow)| flow).collect();
            run.probes.truncate(1);
        }
        document(&flent::write(&record, &dir).unwrap()[0])
    };
    let uneven = part("rrul_var", 4..7);
    let metadata = &uneven["metadata"];
    assert_eq!(metadata["NAME"], "rrul_be_nflows");
    let streams = ["upload_streams", "download_streams"].map(|key| &metadata["TEST_PARAMETERS"][key]);
    assert_eq!(streams, ["1", "3"]);
    assert!(uneven["results"]["TCP download BE::3"].is_array());
    let single = part("rtt_fair_var", 4..5);
    assert_eq!(
        (&single["metadata"]["NAME"], &single["metadata"]["HOST"]),
        (&"rtt_fair_var".into(), &"host1".into())
    );
    for name in ["TCP upload BE host1", "TCP download BE host1", "Ping (ms) ICMP host1"] {
        assert!(single["results"][name].is_array(), "{name}");
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn the_format_is_version_four() {
    let dir = std::env::temp_dir().join(format!("goodqueue-report-{}-four", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let record = fixture::square();
    let files = flent::write(&record, &dir).unwrap();
    let v = document(&files[0]);
    assert_eq!(v["version"], 4);
    assert_eq!(v["metadata"]["NAME"], "tcp_nup");
    assert_eq!(v["metadata"]["TITLE"], "pfifo:1000 (tcp_square_wave, which flent does not know, as tcp_nup)");
    assert_eq!(v["metadata"]["TEST_PARAMETERS"]["upload_streams"], "2");
    assert_eq!(v["metadata"]["T0"], "2026-11-21T19:30:05.250000Z");
    assert_eq!(v["metadata"]["X_GOODQUEUE"]["series"]["Ping (ms) ICMP"], "Ping (ms) UDP BE");
    let n = v["x_values"].as_array().unwrap().len();
    for (name, series) in v["results"].as_object().unwrap() {
        assert_eq!(series.as_array().unwrap().len(), n, "{name}");
    }
    let raw = v["raw_values"]["Ping (ms) ICMP"].as_array().unwrap();
    let first = &raw[0];
    assert!((first["t"].as_f64().unwrap() - 1_795_289_405.25).abs() < 1e-3, "{first}");
    assert!(first["owd_up"].as_f64().unwrap() < first["val"].as_f64().unwrap());
    let lost = raw.iter().find(|e| e["lost"] == true).unwrap();
    assert!(lost.get("val").is_none() && lost["lost_dir"] == "true");
    std::fs::remove_dir_all(&dir).unwrap();
}

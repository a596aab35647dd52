//! Every recorded decision of Linux against ours, and files that are not whole.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use goodqueue_proof::replay::{self, ReplayError, Report};

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors")
}

fn files(family: &str) -> Vec<PathBuf> {
    let folder = vectors().join(family);
    let entries = std::fs::read_dir(&folder).expect("the folder of a family");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "gz"));
    files.sort();
    files
}

/// Replays a family; all differences together make one message.
fn replay_family(family: &str, expected_files: usize) {
    let files = files(family);
    assert_eq!(files.len(), expected_files, "vectors of {family}");
    let mut failures = String::new();
    let mut totals: BTreeMap<String, u64> = BTreeMap::new();
    for file in files {
        match replay::file(&file) {
            Ok(report) => {
                for (kind, count) in report.calls.iter().chain(&report.compared.results) {
                    *totals.entry(kind.clone()).or_default() += count;
                }
                *totals.entry("S".to_string()).or_default() += report.compared.checks;
                if !report.is_equal() {
                    failures += &report.to_string();
                }
            }
            Err(error) => failures += &format!("{error}\n"),
        }
    }
    println!("{family}: {totals:?}");
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn codel_decides_as_linux() {
    replay_family("codel", 13);
}

#[test]
fn fq_codel_decides_as_linux() {
    replay_family("fq_codel", 17);
}

#[test]
fn pie_decides_as_linux() {
    replay_family("pie", 13);
}

#[test]
fn fq_pie_decides_as_linux() {
    replay_family("fq_pie", 13);
}

#[test]
fn sfq_decides_as_linux() {
    replay_family("sfq", 15);
}

#[test]
fn fq_decides_as_linux() {
    replay_family("fq", 15);
}

#[test]
fn tbf_decides_as_linux() {
    replay_family("tbf", 9);
}

#[test]
fn cake_decides_as_linux() {
    replay_family("cake", 30);
}

#[test]
fn dql_decides_as_linux() {
    replay_family("dql", 13);
}

#[test]
fn wifi_queues_decide_as_linux() {
    replay_family("wifi-txq", 18);
}

#[test]
fn the_airtime_scheduler_decides_as_linux() {
    replay_family("wifi-airtime", 24);
}

#[test]
fn airtime_is_estimated_as_in_linux() {
    replay_family("wifi-duration", 5);
}

fn packed() -> Vec<u8> {
    std::fs::read(vectors().join("codel/wrap_zero.txt.gz")).expect("a vector")
}

fn plain() -> String {
    let mut text = String::new();
    GzDecoder::new(&packed()[..]).read_to_string(&mut text).expect("text");
    text
}

fn replay_text(text: &str) -> Result<Report, ReplayError> {
    replay::bytes("vector.txt", text.as_bytes())
}

/// The message of an error, which names the file and a line.
fn error(text: &str) -> String {
    let message = replay_text(text).expect_err("no whole vector").to_string();
    assert!(message.starts_with("vector.txt:"), "{message}");
    message
}

/// The text with line `line` (from 1) replaced, or left out.
fn with_line(line: usize, new: Option<&str>) -> String {
    let text = plain();
    let lines = (1..).zip(text.lines());
    let lines = lines.filter_map(|(at, old)| if at == line { new } else { Some(old) });
    lines.map(|line| format!("{line}\n")).collect()
}

/// The first line that starts so, from 1, and its text.
fn first(start: &str) -> (usize, String) {
    let text = plain();
    let found = (1..).zip(text.lines()).find(|(_, line)| line.starts_with(start));
    let (line, text) = found.expect("such a line");
    (line, text.to_string())
}

#[test]
fn plain_text_is_read_too() {
    let report = replay_text(&plain()).expect("a whole vector");
    assert!(report.is_equal(), "{report}");
    assert_eq!(report.scenario, "wrap_zero");
}

#[test]
fn a_cut_file_is_an_error_wherever_it_is_cut() {
    let packed = packed();
    for length in (0..packed.len()).step_by(61) {
        let answer = replay::bytes("cut.txt.gz", &packed[..length]);
        assert!(answer.is_err(), "cut to {length} bytes of {}", packed.len());
    }
    let text = plain();
    for length in (0..text.len()).step_by(97) {
        let cut = &text[..length];
        // Text that ends exactly after a check that was due looks whole; a gzip stream never does.
        let last = cut.lines().last().unwrap_or("");
        if cut.ends_with('\n') && last.starts_with("S ") {
            continue;
        }
        assert!(replay_text(cut).is_err(), "cut to {length} characters of {}", text.len());
    }
}

#[test]
fn a_damaged_gzip_is_an_error_or_a_difference() {
    let packed = packed();
    for at in (12..packed.len()).step_by(53) {
        let mut damaged = packed.clone();
        damaged[at] ^= 0x10;
        let answer = replay::bytes("damaged.txt.gz", &damaged);
        assert!(answer.is_err(), "bit flipped at {at}");
    }
}

#[test]
fn unknown_words_are_errors_with_their_line() {
    let (line, text) = first("P ");
    assert!(error(&with_line(line, Some("Y 1 0"))).contains(&format!(":{line}: unknown record `Y`")));
    assert!(error(&with_line(line, Some(&format!("{text} 7")))).contains("after the end of record P"));
    let (line, text) = first("S ");
    assert!(error(&with_line(line, Some(&format!("{text} colour=7")))).contains("has not the keys"));
    let every: String = plain().lines().map(|line| line.replace("maxpacket=", "colour=") + "\n").collect();
    assert!(error(&every).contains(&format!(":{line}: unknown key `colour`")));
    let (line, text) = first("E ");
    assert!(error(&with_line(line, Some(&format!("{text} sk=7")))).contains("unknown field `sk=7`"));
    assert!(error(&with_line(line, Some("E 5"))).contains("record E is cut: it has no id"));
    let (line, _) = first("# scenario");
    assert!(error(&with_line(line, Some("# weather fine"))).contains("unknown header key `weather`"));
    let (line, _) = first("# limit");
    assert!(error(&with_line(line, Some("# height 7"))).contains("unknown effective value `height`"));
    let (line, _) = first("# param ecn");
    assert!(error(&with_line(line, Some("# param width 7"))).contains("unknown parameter `width`"));
    let (line, _) = first("# qdisc");
    let answer = replay_text(&with_line(line, Some("# qdisc hfsc")));
    assert!(matches!(answer, Err(ReplayError::UnknownQueue { line: 2, .. })), "{answer:?}");
}

#[test]
fn missing_records_are_errors() {
    for start in ["P ", "N", "S "] {
        let text = plain();
        if text.lines().any(|line| line.starts_with(start)) {
            error(&with_line(first(start).0, None));
        }
    }
    let text = plain();
    let without_last = text.trim_end().rsplit_once('\n').expect("lines").0;
    assert!(error(&format!("{without_last}\n")).contains("does not end in a check S"));
}

#[test]
fn a_difference_is_shown_with_what_led_to_it() {
    let (line, text) = first("P ");
    let other = text.replacen("P 1 ", "P 2 ", 1);
    let report = replay_text(&with_line(line, Some(&other))).expect("a whole vector");
    let difference = report.difference.expect("a difference");
    assert_eq!((difference.line, difference.expected.as_str()), (line, other.as_str()));
    assert_eq!(difference.got, text);
    assert!(difference.context.len() > 3 && difference.context.iter().any(|l| l.text.starts_with("D ")));
    let last = difference.context.last().expect("lines");
    assert!(last.line > line, "nothing after the line is shown");
}

#[test]
fn a_difference_of_state_is_shown_key_by_key() {
    let (line, text) = first("S ");
    let other = text.replacen("qlen=", "qlen=9", 1).replacen("count=", "count=8", 1);
    let report = replay_text(&with_line(line, Some(&other))).expect("a whole vector");
    assert!(report.to_string().contains("state"));
    let difference = report.difference.expect("a difference");
    let keys: Vec<&str> = difference.state.iter().map(|value| value.key.as_str()).collect();
    assert_eq!(keys, ["qlen", "count"]);
}

#[test]
fn a_wrong_effective_value_is_a_difference() {
    let (line, _) = first("# target_units");
    let report = replay_text(&with_line(line, Some("# target_units 4883"))).expect("a whole vector");
    assert_eq!(report.difference.expect("a difference").got, "target_units 4882");
}

#[test]
fn a_report_is_json() {
    let report = replay_text(&plain()).expect("a whole vector");
    let json = serde_json::to_value(&report).expect("JSON");
    assert_eq!(json["queue"], "codel");
    assert_eq!(json["difference"], serde_json::Value::Null);
}

#[test]
fn rubbish_after_the_gzip_stream_is_an_error() {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(plain().as_bytes()).expect("memory");
    let mut bytes = packer.finish().expect("memory");
    assert!(replay::bytes("v.gz", &bytes).expect("a whole vector").is_equal());
    bytes.extend_from_slice(b"rubbish");
    assert!(matches!(replay::bytes("v.gz", &bytes), Err(ReplayError::Gzip { .. })));
}

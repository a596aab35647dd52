//! `goodqueue compare`, and flent's files as records.

use std::process::Command;

use serde_json::Value;

use super::{Scratch, goodqueue, skipped, stderr, stdout};

/// Runs the command; its exit code, output and messages.
fn typed(words: &[&str]) -> (Option<i32>, String, String) {
    let output = goodqueue().args(words).output().expect("the command starts");
    (output.status.code(), stdout(&output), stderr(&output))
}

/// A simulated upload through this queue, with its results in this folder.
fn upload(folder: &str, queue: &str, more: &[&str]) {
    let words = ["run", "tcp_2up", "--rate", "10mbit", "--rtt", "20ms", "--length", "10s", "--queue", queue];
    let (code, _, errors) = typed(&[&words[..], &["--quiet", "-o", folder], more].concat());
    assert_eq!(code, Some(0), "{errors}");
}

#[test]
fn before_and_after_are_compared_and_limits_have_an_exit_code() {
    let scratch = Scratch::new("compare");
    let at = |name: &str| scratch.path(name).display().to_string();
    let (before, after) = (at("before"), at("after"));
    upload(&before, "pfifo:200", &[]);
    upload(&after, "fq_codel", &[]);

    let (code, text, _) = typed(&["compare", &before, &after]);
    assert_eq!(code, Some(0));
    let line = |figure: &str| text.lines().find(|line| line.starts_with(figure)).expect("a row");
    assert!(line("pfifo:200, fq_codel").contains("95 % interval"), "{text}");
    assert!(line("rise_p95").contains("better") && line("rise_p95").contains("0.0"), "{text}");
    assert!(text.contains("Intervals say how figures vary within a run"), "{text}");

    let limit = ["--fail-if", "rise_p95 > 1.2x", "--fail-if", "goodput_up < 0.9x"];
    let (code, text, _) = typed(&[&["compare", &before, &after][..], &limit].concat());
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("after, fq_codel: rise_p95 > 1.2x? no"), "{text}");
    let (code, text, errors) = typed(&[&["compare", &after, &before][..], &limit].concat());
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("before, pfifo:200: rise_p95 > 1.2x? YES"), "{text}");
    assert!(errors.contains("1 of 2 limits crossed"), "{errors}");
    // What cannot be known does not pass.
    let (code, text, _) = typed(&["compare", &before, &after, "--fail-if", "goodput_down < 1mbit"]);
    assert!(code == Some(1) && text.contains("not known"), "{text}");

    // flent's files, as ours, and overlaid pictures.
    let flent = |folder: &str| {
        let files = std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path());
        let is_flent = |path: &std::path::PathBuf| path.to_string_lossy().ends_with(".flent.gz");
        files.into_iter().find(is_flent).expect("a file for flent").display().to_string()
    };
    let (before_flent, after_flent, both) = (flent(&before), flent(&after), at("both"));
    let (code, json, errors) = typed(&["compare", &before, &after_flent, "--json", "-o", &both]);
    assert_eq!(code, Some(0), "{errors}");
    let compared: Value = serde_json::from_str(&json).expect("JSON");
    let rows = &compared["others"][0]["pairs"][0]["rows"];
    let rise = rows.as_array().expect("rows").iter().find(|row| row["figure"] == "rise_p95").expect("a row");
    assert_eq!((rise["verdict"].as_str(), rise["interval_of"].as_str()), (Some("better"), Some("blocks")));
    let page = std::fs::read_to_string(scratch.path("both").join("report.html"));
    assert!(page.expect("a page").contains("fq_codel"));
    let (code, text, errors) = typed(&["report", &before_flent]);
    assert!(code == Some(0) && text.contains("pfifo:200"), "{text}{errors}");

    for (words, part) in [
        (vec!["compare", before.as_str()], "2 values required"),
        (vec!["compare", &before, "/nowhere"], "cannot read /nowhere"),
        (vec!["compare", &before, &after, "--fail-if", "rise > 1"], "no figure is called `rise`"),
    ] {
        let (code, _, errors) = typed(&words);
        assert!(code == Some(2) && errors.contains(part), "{words:?}: {code:?} {errors}");
    }
}

#[test]
fn seeds_give_intervals_and_runs_of_one_queue_belong_together() {
    let scratch = Scratch::new("compare-seeds");
    let at = |name: &str| scratch.path(name).display().to_string();
    let (before, after) = (at("before"), at("after"));
    upload(&before, "pfifo:50,codel", &["--seeds", "3"]);
    upload(&after, "codel,fq_codel", &["--seeds", "4..6"]);
    let (code, text, errors) = typed(&["compare", &before, &after]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(text.starts_with("codel "), "{text}");
    assert!(text.contains("only in before: pfifo:50") && text.contains("only in after: fq_codel"), "{text}");
    let (code, json, _) = typed(&["compare", &before, &after, "--json"]);
    assert_eq!(code, Some(0));
    assert!(
        json.contains("\"interval_of\": \"repetitions\"") || json.contains("\"interval_of\":\"repetitions\"")
    );
    upload(&at("other"), "pfifo:50,fq_codel", &[]);
    upload(&at("another"), "codel,pie", &[]);
    let (code, _, errors) = typed(&["compare", &at("other"), &at("another")]);
    assert!(code == Some(2) && errors.contains("have no run in common"), "{errors}");
}

/// Has flent's own code write the results of a test of 1 s of idle and 8 s of load: what netperf, fping and
/// irtt have told its runners. Prints the name of the file. The arguments: a folder, a title, Mbit/s of each
/// of two uploads, and by how many ms the load makes everything else wait.
const WRITE: &str = "
import sys
sys.path.append('/usr/share/flent')
from flent import resultset
from flent.settings import load
folder, title, rate, rise = sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
settings = load(['tcp_2up', '-H', '127.0.0.1', '-l', '8', '-t', title])
results = resultset.new(settings)
begin = 1700000000.0
results.metadata['T0'] = results.metadata['TIME'] = resultset.datetime.utcfromtimestamp(begin)
results.metadata['TOTAL_LENGTH'] = 10
raw = {}
for flow in (1, 2):
    values = [(begin + 1.2 + step / 5, rate) for step in range(40)]
    raw['TCP upload::%d' % flow] = [{'t': t, 'val': value, 'dur': 0.2} for t, value in values]
delay = lambda t: 20 + (rise + t % 1 if t >= 1 else 0)
raw['Ping (ms) ICMP'] = [{'t': begin + n / 5, 'val': delay(n / 5), 'seq': n} for n in range(45) if n != 30]
results.raw_values = raw
results.x_values = [step / 5 for step in range(50)]
for name, values in raw.items():
    results.add_result(name, [value['val'] for value in values][:40] + [None] * 10)
    results.metadata['SERIES_META'][name] = {'UNITS': 'ms' if name.startswith('Ping') else 'Mbits/s'}
results.dump_dir(folder)
print(results.dump_filename)
";

#[test]
fn files_that_flent_has_written_are_compared() {
    if !has_flent("files_that_flent_has_written_are_compared") {
        return;
    }
    let scratch = Scratch::new("of-flent");
    let folder = scratch.path("").display().to_string();
    let written = |title: &str, rate: &str, rise: &str| {
        let mut python = Command::new("/usr/bin/python3");
        python.args(["-c", WRITE, &folder, title, rate, rise]).env("HOME", &folder);
        let output = python.output().expect("python runs");
        assert!(output.status.success(), "{}", stderr(&output));
        let text = stdout(&output);
        let name = text.lines().last().expect("a name").to_owned();
        assert!(name.ends_with(".flent.gz"), "{text}");
        name
    };
    let (before, after) = (written("before", "4.5", "100"), written("after", "4.6", "5"));
    let (code, json, errors) = typed(&["compare", &before, &after, "--json"]);
    assert_eq!(code, Some(0), "{errors}");
    let compared: Value = serde_json::from_str(&json).expect("JSON");
    let rows = compared["others"][0]["pairs"][0]["rows"].as_array().expect("rows");
    let figure = |name: &str| rows.iter().find(|row| row["figure"] == name).expect(name);
    let near = |value: &Value, wanted: f64| {
        let value = value.as_f64().expect("a number");
        assert!((value / wanted - 1.0).abs() < 0.02, "{value}, not {wanted}: {json}");
    };
    // Mbit/s and ms.
    near(&figure("goodput_up")["first"], 9.0);
    near(&figure("goodput_up")["other"], 9.2);
    near(&figure("rise_p95")["first"], 100.8);
    near(&figure("rise_p95")["other"], 5.8);
    assert_eq!(figure("rise_p95")["verdict"], "better", "{json}");
    let limit = ["--fail-if", "rise_p95 > 1.2x"];
    assert_eq!(typed(&[&["compare", &before, &after][..], &limit].concat()).0, Some(0));
    let (code, text, _) = typed(&[&["compare", &after, &before][..], &limit].concat());
    assert!(code == Some(1) && text.contains("rise_p95 > 1.2x? YES"), "{text}");
    // Against one of ours.
    let ours = scratch.path("ours").display().to_string();
    upload(&ours, "fq_codel", &[]);
    let (code, text, errors) = typed(&["compare", &before, &ours]);
    assert!(code == Some(0) && text.contains("rise_p95") && text.contains("better"), "{text}{errors}");
    let (code, text, _) = typed(&["report", &before]);
    assert!(code == Some(0) && text.contains("9.0"), "{text}");
}

/// Whether flent is installed; if not, prints that `test` did not run.
fn has_flent(test: &str) -> bool {
    let has = Command::new("flent").arg("--version").output().is_ok_and(|output| output.status.success());
    if !has {
        skipped(test, "flent is not installed");
    }
    has
}

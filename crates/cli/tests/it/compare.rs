//! `goodqueue compare`, and flent's files as records.

use std::io::Write;
use std::process::Command;

use serde_json::Value;

use super::{Scratch, goodqueue, stderr, stdout};

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
fn seeds_give_intervals_between_runs_and_runs_of_one_queue_belong_together() {
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

/// docs/tests.md says that flent opens the file of a test as that test.
#[test]
fn flent_draws_a_test_of_its_own_as_that_test() {
    let has_flent =
        Command::new("flent").arg("--version").output().is_ok_and(|output| output.status.success());
    if !has_flent {
        assert!(std::env::var_os("GOODQUEUE_REQUIRE_ALL").is_none(), "flent is required and not installed");
        let _ = writeln!(std::io::stderr(), "SKIPPED: flent is not installed; no test was drawn by it");
        return;
    }
    let scratch = Scratch::new("flent-tests");
    for (test, plot) in [
        ("rrul_cs8", "all"),
        ("rrul_50_up", "all"),
        ("rrul_prio", "all"),
        ("cubic_bbr", "all"),
        ("cubic_ledbat", "all"),
        ("cubic_ledbat_1", "totals"),
        ("ledbat_cubic_1", "totals"),
        ("rrul_torrent", "all"),
        ("tcp_upload_prio", "ping"),
        ("rrul_var", "all"),
        ("rrul46", "all"),
        ("rrul46compete", "all"),
        ("dslreports_8dn", "all"),
        ("tcp_2up_delay", "totals"),
        ("voip-1up", "voip_delay"),
        ("http-rrul", "all"),
    ] {
        let (file, picture) =
            (scratch.path(&format!("{test}.flent.gz")), scratch.path(&format!("{test}.png")));
        let words =
            ["run", test, "--rate", "50mbit", "--length", "4s", "--delay", "1s", "--queue", "fq_codel"];
        let file = file.display().to_string();
        let (code, _, errors) = typed(&[&words[..], &["--quiet", "-o", &file]].concat());
        assert_eq!(code, Some(0), "{errors}");
        let flent = |words: &[&str]| {
            let mut command = Command::new("flent");
            command.env("MPLBACKEND", "Agg").env("HOME", scratch.path("")).args(["-i", &file]).args(words);
            let output = command.output().expect("flent starts");
            [stdout(&output), stderr(&output)].concat()
        };
        let summary = flent(&["-f", "summary"]);
        assert!(summary.contains(&format!("Summary of {test} test run")), "{summary}");
        let said = flent(&["-p", plot, "-o", &picture.display().to_string()]);
        let size = std::fs::metadata(&picture).map_or(0, |file| file.len());
        assert!(size > 20_000 && !said.contains("ERROR"), "{test}: {size} bytes: {said}");
    }
}

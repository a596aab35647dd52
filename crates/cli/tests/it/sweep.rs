//! `goodqueue sweep`: from a file to a page, and what is kept whatever happens.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Scratch, goodqueue, skipped, stderr, stdout};

/// Four points, two queues, two seeds.
const GRID: &str = "
about = \"Two rates\"
queues = [\"pfifo:100\", \"fq_codel\"]
seeds = [1, 2]
[test]
name = \"tcp_1up\"
length = \"3s\"
idle = \"500ms\"
[sweep]
verify = 2
[[sweep.axis]]
key = \"link.rate\"
values = [\"2mbit\", \"8mbit\"]
[[sweep.axis]]
key = \"link.rtt\"
values = [\"10ms\", \"40ms\"]
";

/// Many points that take some seconds together.
fn many(points: u32, length: &str) -> String {
    format!(
        "queues = [\"fq_codel\"]\n[test]\nname = \"rrul_be\"\nlength = \"{length}\"\nidle = \"500ms\"\n[sweep]\ndesign = \"latin\"\n\
         points = {points}\nverify = 0\n[[sweep.axis]]\nkey = \"link.rate\"\nfrom = \"20mbit\"\nto = \"50mbit\"\n"
    )
}

fn file(scratch: &Scratch, text: &str) -> String {
    let path = scratch.path("grid.toml");
    std::fs::write(&path, text).expect("written");
    path.display().to_string()
}

/// Runs the command; its exit code, output and messages.
fn sweep(words: &[&str]) -> (Option<i32>, String, String) {
    let output = goodqueue().arg("sweep").args(words).output().expect("the command starts");
    (output.status.code(), stdout(&output), stderr(&output))
}

fn parts(folder: &Path) -> usize {
    std::fs::read_dir(folder.join("parts")).map_or(0, |entries| {
        let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.ends_with(".parquet") && !name.starts_with('.')).count()
    })
}

#[test]
fn a_grid_has_a_page_a_table_and_findings_and_is_run_once() {
    let scratch = Scratch::new("sweep");
    let (grid, folder) = (file(&scratch, GRID), scratch.path("out"));
    let out = folder.display().to_string();
    let (code, text, errors) = sweep(&[&grid, "--dry-run"]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(text.starts_with("4 points, 2 variants, 2 seeds: 16 runs\n"), "{text}");
    assert!(!folder.exists());

    let (code, text, errors) = sweep(&[&grid, "-o", &out]);
    assert_eq!(code, Some(0), "{errors}");
    for part in
        ["grid of 4 points: 18 runs", "Main effects on rise_p95, ms", "Pareto front", "2 fresh seeds give"]
    {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    assert!(text.contains("Least rise_p95: fq_codel, link.rate = 8mbit"), "{text}");
    let page = std::fs::read_to_string(folder.join("report.html")).expect("a page");
    for part in
        ["<h1>Least rise_p95", "Response surface", "class=\"matrix q1\"", "<svg", "Main effects on goodput"]
    {
        assert!(page.contains(part), "no {part} in the page");
    }
    let found: Value =
        serde_json::from_slice(&std::fs::read(folder.join("findings.json")).expect("findings"))
            .expect("JSON");
    assert_eq!((found["runs"].as_u64(), found["missing"].as_u64()), (Some(18), Some(0)));
    assert!(folder.join("points.parquet").is_file());

    let before = parts(&folder);
    let (code, again, errors) = sweep(&[&grid, "-o", &out]);
    assert_eq!((code, again), (Some(0), text));
    assert!(errors.contains("8 of 8 points and seeds are done already"), "{errors}");
    assert_eq!(parts(&folder), before);
}

#[test]
fn limits_have_an_exit_code() {
    let scratch = Scratch::new("sweep-limits");
    let grid = file(&scratch, GRID);
    assert_eq!(sweep(&[&grid, "--quiet", "--fail-if", "rise_p95 > 10s"]).0, Some(0));
    let (code, _, errors) = sweep(&[&grid, "--quiet", "--fail-if", "rise_p95 > 100ms"]);
    assert_eq!(code, Some(1), "{errors}");
    assert!(
        errors.contains("pfifo:100, link.rate = 2mbit, link.rtt = 10ms: rise_p95 > 100ms? YES"),
        "{errors}"
    );
    assert!(!errors.contains("fq_codel"), "{errors}");
    // Relative to the first point.
    let (code, _, errors) = sweep(&[&grid, "--quiet", "--fail-if", "goodput_up > 3x"]);
    assert!(code == Some(1) && errors.contains("4 of 8 limits crossed"), "{errors}");
}

#[test]
fn what_is_wrong_is_told_and_nothing_is_written() {
    let scratch = Scratch::new("sweep-wrong");
    let out = scratch.path("out");
    let out_words = out.display().to_string();
    for (from, to, part) in [
        ("link.rtt", "link.rt", "grid.toml:15:7: key = \"link.rt\""),
        ("\"40ms\"", "\"40\"", "a number without a unit"),
        ("[sweep]", "[swap]", "has no key `swap`"),
        ("verify = 2", "verify = 2\ndesign = \"bayesian\"", "grid, random, latin, halving or bayes"),
    ] {
        let grid = file(&scratch, &GRID.replace(from, to));
        let (code, text, errors) = sweep(&[&grid, "-o", &out_words]);
        assert_eq!((code, text.as_str()), (Some(2), ""), "{errors}");
        assert!(errors.contains(part), "{to}: {errors}");
        assert!(!out.exists(), "{to}");
    }
    let grid = file(&scratch, GRID);
    std::fs::create_dir(&out).expect("a folder");
    std::fs::write(out.join("letter.txt"), "dear").expect("written");
    let (code, _, errors) = sweep(&[&grid, "-o", &out_words]);
    assert!(code == Some(2) && errors.contains("it has other files"), "{errors}");
    let without = GRID.split("[sweep]").next().expect("a start");
    let (code, _, errors) = sweep(&[&file(&scratch, without)]);
    assert!(code == Some(2) && errors.contains("the file has no table [sweep]"), "{errors}");
}

/// Starts a sweep, waits for its first part, and sends it a signal.
fn interrupted(scratch: &Scratch, signal: &str) -> (String, std::path::PathBuf, Option<i32>) {
    let (grid, folder) = (file(scratch, &many(400, "20s")), scratch.path("out"));
    let mut command = goodqueue();
    command.args(["sweep", &grid, "-j", "2", "--quiet", "-o"]).arg(&folder);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let since = Instant::now();
    while parts(&folder) == 0 {
        assert!(since.elapsed() < Duration::from_secs(120), "no part in two minutes");
        assert!(child.try_wait().expect("a child").is_none(), "it ended before it was stopped");
        thread::sleep(Duration::from_millis(20));
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().expect("kill").success());
    let code = child.wait().expect("it ends").code();
    (grid, folder, code)
}

/// What is there already when a sweep starts again, of 400.
fn there(grid: &str, folder: &Path) -> usize {
    let (code, _, errors) = sweep(&[grid, "-o", &folder.display().to_string()]);
    assert_eq!(code, Some(0), "{errors}");
    let line = errors.lines().find(|line| line.ends_with("are done already")).expect("a line");
    line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).expect("a number")
}

#[test]
fn a_killed_sweep_goes_on_where_it_was() {
    let scratch = Scratch::new("sweep-killed");
    let (grid, folder, code) = interrupted(&scratch, "-KILL");
    assert_eq!(code, None);
    let before = there(&grid, &folder);
    assert!((1..400).contains(&before), "{before}");
    assert_eq!(there(&grid, &folder), 400);
}

#[test]
fn ctrl_c_keeps_everything_that_was_run() {
    let scratch = Scratch::new("sweep-ctrl-c");
    let (grid, folder, code) = interrupted(&scratch, "-INT");
    assert_eq!(code, Some(130));
    assert!(folder.join("report.html").is_file(), "the page shows what was run");
    let found: Value =
        serde_json::from_slice(&std::fs::read(folder.join("findings.json")).expect("findings"))
            .expect("JSON");
    let (runs, missing) =
        (found["runs"].as_u64().expect("runs"), found["missing"].as_u64().expect("missing"));
    assert!(runs > 0 && missing > 0 && runs + missing == 400, "{runs} and {missing}");
    assert_eq!(there(&grid, &folder) as u64, runs);
}

#[test]
fn a_full_disk_loses_nothing() {
    const SCRIPT: &str =
        "mount -t tmpfs -o size=16k none \"$1\" || exit 77; exec \"$2\" sweep \"$3\" --quiet -o \"$1/out\"";
    let scratch = Scratch::new("sweep-full");
    let (disk, grid) = (scratch.path("disk"), file(&scratch, &many(300, "1s")));
    std::fs::create_dir(&disk).expect("a folder");
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", SCRIPT, "sh"]).arg(&disk).arg(goodqueue().get_program()).arg(&grid);
    let output = match command.env("TMPDIR", &scratch.0).output() {
        Ok(output) if !matches!(output.status.code(), Some(77)) && !stderr(&output).contains("unshare") => {
            output
        }
        _ => return skipped("sweep::a_full_disk_loses_nothing", "a small tmpfs needs root"),
    };
    let errors = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{errors}");
    assert!(errors.contains("No space left") && errors.contains("are kept in"), "{errors}");
    let kept = errors.split("are kept in ").nth(1).and_then(|rest| rest.split(": make room").next());
    // On a disk with room, nothing is left to be run but what an earlier part has, which went with its disk.
    let out = scratch.path("out");
    std::fs::create_dir_all(out.join("parts")).expect("folders");
    std::fs::copy(kept.expect("a file"), out.join("parts/kept.parquet")).expect("copied");
    assert!(there(&grid, &out) > 0);
}

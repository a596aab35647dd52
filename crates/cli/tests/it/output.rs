//! What `-o` names: nothing is overwritten, followed or lost.

use std::process::{Command, Stdio};

use super::usage::refused;
use super::{Scratch, goodqueue, run, stderr};

const SHORT: &str = "run ping --length 300ms --idle 100ms --queue pfifo --quiet -o";

#[test]
fn a_name_that_is_neither_a_folder_nor_a_known_format_is_refused() {
    let scratch = Scratch::new("names");
    let at = |name: &str| format!("run ping -o {}", scratch.path(name).display());
    refused(&at("x.pdf"), &["x.pdf", ".html", ".flent.gz", "x.pdf/"]);
    refused(&at("x.jsn"), &["x.jsn", ".json"]);
    refused("run ping -o -", &["--output -", "--json"]);
    refused(&at("no/a/b"), &["no such folder", &scratch.path("no").display().to_string()]);
    refused(&at("no/a/b.json"), &["no such folder", "/no:"]);
    assert_eq!(std::fs::read_dir(&scratch.0).expect("a folder").count(), 0, "something was made");
    assert!(!std::path::Path::new("-").exists());
    // Dots are allowed in folders: a number is no suffix, and a slash says it.
    for name in ["run.2", "x.pdf/"] {
        let output = run(&format!("{SHORT} {}", scratch.path(name).display()));
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(scratch.path(name).join("report.html").exists());
        assert!(!scratch.path(name).join(".goodqueue").exists(), "the mark stayed");
    }
}

/// As in `2>&1 | head`. A panic would end it with 101.
#[test]
fn an_error_that_nobody_reads_keeps_its_exit_code() {
    for words in ["run ping -o -", "run ping --queue nosuch"] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let status = goodqueue().args(words.split(' ')).stderr(writer).status().expect("it starts");
        assert_eq!(status.code(), Some(2), "{words}");
    }
}

#[test]
fn only_one_of_two_runs_may_write_to_a_folder() {
    let scratch = Scratch::new("two-at-once");
    std::fs::create_dir(scratch.path("mine")).expect("a folder");
    for name in ["new", "mine", "one.json"] {
        for round in 0..3 {
            let path = scratch.path(&if name == "mine" { name.to_owned() } else { format!("{round}{name}") });
            if name == "mine" && round > 0 {
                continue;
            }
            let start = || {
                goodqueue()
                    .args(SHORT.split_whitespace())
                    .arg(&path)
                    .stdout(Stdio::null())
                    .stderr(Stdio::piped())
                    .spawn()
                    .expect("the command starts")
            };
            let outputs = [start(), start()].map(|child| child.wait_with_output().expect("its output"));
            let mut codes = outputs.each_ref().map(|output| output.status.code());
            codes.sort_unstable();
            let said = outputs.each_ref().map(stderr).concat();
            assert_eq!(codes, [Some(0), Some(2)], "{name}: {said}");
            let reasons = ["another run is writing", "nothing is ever overwritten"];
            assert!(reasons.iter().any(|reason| said.contains(reason)), "{name}: {said}");
            let record = if path.is_dir() { path.join("record.gqz") } else { path.clone() };
            assert!(run(&format!("report {} --json", record.display())).status.success());
        }
    }
    let left: Vec<_> = std::fs::read_dir(&scratch.0).expect("a folder").flatten().collect();
    assert_eq!(left.len(), 7, "something was left behind: {left:?}");
}

#[test]
fn a_planted_link_is_not_followed() {
    let scratch = Scratch::new("planted");
    let victim = scratch.path("victim");
    std::fs::write(&victim, "untouched").expect("a file");
    std::fs::create_dir(scratch.path("theirs")).expect("a folder");
    let links = ["theirs/.goodqueue", ".one.json.goodqueue", "two.json", "three"];
    for name in links {
        let to = if name == "three" { scratch.path("nowhere") } else { victim.clone() };
        std::os::unix::fs::symlink(to, scratch.path(name)).expect("a link");
    }
    for name in ["theirs", "one.json", "two.json", "three"] {
        refused(&format!("{SHORT} {}", scratch.path(name).display()), &["--output", name]);
    }
    assert_eq!(std::fs::read_to_string(&victim).expect("still there"), "untouched");
    assert!(!scratch.path("nowhere").exists() && !scratch.path("one.json").exists());
    assert!(links.iter().all(|name| scratch.path(name).is_symlink()));
}

#[test]
fn a_limit_of_file_sizes_is_reported_and_leaves_no_partial_file() {
    let scratch = Scratch::new("limit");
    for name in ["out", "page.html"] {
        let output = Command::new("sh")
            .args(["-c", "ulimit -f 40 && exec \"$@\"", "sh", env!("CARGO_BIN_EXE_goodqueue")])
            .args(SHORT.split_whitespace())
            .arg(scratch.path(name))
            .env("TMPDIR", &scratch.0)
            .output()
            .expect("sh runs");
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(text.contains("File too large") && text.contains("what was measured is kept in"), "{text}");
    }
    assert!(!scratch.path("page.html").exists() && !scratch.path("out/report.html").exists());
    let mut names: Vec<String> = Vec::new();
    for folder in [scratch.0.clone(), scratch.path("out")] {
        let entries = std::fs::read_dir(folder).expect("a folder").flatten();
        names.extend(entries.map(|entry| entry.file_name().to_string_lossy().into_owned()));
    }
    assert!(!names.iter().any(|name| name.ends_with(".part")), "{names:?}");
    assert_eq!(names.iter().filter(|name| name.ends_with("record.gqz")).count(), 3, "{names:?}");
}

//! The command as its users meet it. One binary, so it links once.

mod circles;
mod compare;
mod cookbook;
mod every_test;
mod experiment;
mod flags;
mod house;
mod memory;
mod output;
mod own;
mod path_queues;
mod random;
mod real_time;
mod reference;
mod reproduce;
mod router;
mod simulated;
mod sweep;
mod traced;
mod unit;
mod usage;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// The command under test.
fn goodqueue() -> Command {
    Command::new(env!("CARGO_BIN_EXE_goodqueue"))
}

/// Runs it with `words` split at spaces.
fn run(words: &str) -> Output {
    goodqueue().args(words.split_whitespace()).output().expect("the command starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A folder of its own for a test, empty, removed with its value.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let (process, number) = (std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(format!("goodqueue-test-{process}-{number}-{name}"));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a scratch folder");
        Scratch(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Says that a test did not run: past the test runner's capture, so that it is seen and counted.
fn skipped(test: &str, why: &str) {
    use std::io::Write;
    assert!(std::env::var_os("GOODQUEUE_REQUIRE_ALL").is_none(), "{test} was skipped: {why}");
    let _ = writeln!(std::io::stderr(), "SKIPPED: {test}: {why}");
}

/// Runs a comparison and returns its record. A result that calls itself not valid (an overloaded machine, or
/// a hypervisor that takes its time) is tried again, up to four times, after a pause for what disturbs the
/// machine to pass; it is never believed. The number of tries is printed past the test runner's capture.
/// `./check` reads the message about the hypervisor.
fn measured(words: &str) -> Value {
    let mut taken = 0;
    for number in 1..=5 {
        let output = run(&format!("run {words} --json"));
        match output.status.code() {
            Some(0) => {
                use std::io::Write;
                let _ = writeln!(std::io::stderr(), "{words}: valid at try {number} of 5");
                return serde_json::from_slice(&output.stdout).expect("a record");
            }
            Some(1) => {
                let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
                let reasons = record["runs"].as_array().into_iter().flatten().map(|run| &run["validity"]);
                let reasons: Vec<String> = reasons.map(Value::to_string).collect();
                eprintln!("{words}: try {number} of 5: {}{}", stderr(&output), reasons.join("\n"));
                taken += usize::from(reasons.iter().any(|reasons| reasons.contains("the hypervisor took")));
            }
            code => panic!("{words}: exit {code:?}: {}", stderr(&output)),
        }
        thread::sleep(Duration::from_secs(3));
    }
    assert!(taken < 3, "{words}: not valid five times: a hypervisor takes this machine's processors");
    panic!("{words}: not valid five times: this machine is overloaded");
}

/// A record read back from a result folder.
fn kept(folder: &Path) -> Value {
    kept_in(&folder.join("record.gqz"))
}

/// A record read back from its file.
fn kept_in(file: &Path) -> Value {
    let output = goodqueue().arg("report").arg(file).arg("--json").output().expect("the command starts");
    // 1 if queues that were planned are missing.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("a record")
}

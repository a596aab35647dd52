//! Tests on real namespaces, one after the other (timing tests must not run next to other tests).
//!
//! Tests without the privilege that they need are skipped, with a message, and counted; under
//! `GOODQUEUE_REQUIRE_ALL` a skip is a failure. A measurement that the engine itself calls not valid (a
//! busy machine) is repeated up to three times; then the test counts as skipped. A valid but wrong
//! measurement fails at once. Without root the program enters a user namespace.
//!
//! The program is its own helper: `live helper NAME` runs a part that must be in another process.
#![allow(clippy::unwrap_used)]

mod bars;
mod cases;
mod helpers;
mod load;
mod net;
mod threads;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// The outcome of a test; a failure is a panic.
pub(crate) enum Outcome {
    Passed,
    /// The missing privilege or device.
    Skipped(String),
}

/// A named test.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) run: fn() -> Outcome,
    /// Whether engines have a thread for each direction.
    pub(crate) is_apart: bool,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [first, name, rest @ ..] = words.as_slice()
        && first == "helper"
    {
        return helpers::run(name, rest);
    }
    // This must happen while there is only one thread. If it is refused, the tests report it.
    if !is_real_root() {
        let _ = goodqueue_wire::enter_user_namespace();
    }
    let wanted = Wanted::of(&words);
    let cases: Vec<&Case> = cases::ONE_THREAD
        .iter()
        .chain(cases::EACH_DIRECTION)
        .filter(|case| wanted.has(&full(case)))
        .collect();
    if words.iter().any(|word| word == "--list") {
        for case in cases {
            println!("{}: test", full(case));
        }
        return ExitCode::SUCCESS;
    }
    run_all(&cases)
}

/// Its name with its place among all real-time tests: it needs the whole machine.
fn full(case: &Case) -> String {
    format!("real_time::alone::engine::{}", case.name)
}

/// Which tests to run, in the options of cargo's test runner.
struct Wanted<'a> {
    /// Parts of names, or whole names with `--exact`; if empty, all tests.
    filters: Vec<&'a str>,
    /// Parts of names (`--skip`).
    skipped: Vec<&'a str>,
    is_exact: bool,
    /// With `--ignored`: none of these tests is ignored.
    is_none: bool,
}

impl<'a> Wanted<'a> {
    fn of(words: &'a [String]) -> Wanted<'a> {
        let mut wanted = Wanted { filters: vec![], skipped: vec![], is_exact: false, is_none: false };
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            match word {
                "--skip" => wanted.skipped.extend(words.next()),
                "--test-threads" | "--format" | "--color" => drop(words.next()),
                "--exact" => wanted.is_exact = true,
                "--ignored" => wanted.is_none = true,
                _ if word.starts_with('-') => {}
                _ => wanted.filters.push(word),
            }
        }
        wanted
    }

    fn has(&self, name: &str) -> bool {
        let hit = |word: &&str| if self.is_exact { name == *word } else { name.contains(word) };
        !self.is_none
            && (self.filters.is_empty() || self.filters.iter().any(hit))
            && !self.skipped.iter().any(hit)
    }
}

/// Whether the program is root outside of any user namespace (in which at most some ids are mapped).
pub(crate) fn is_real_root() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let whole = map.split_whitespace().eq(["0", "0", "4294967295"]);
    // SAFETY: takes nothing and always succeeds.
    whole && unsafe { libc::geteuid() } == 0
}

fn run_all(cases: &[&Case]) -> ExitCode {
    let strict = std::env::var_os("GOODQUEUE_REQUIRE_ALL").is_some();
    let (mut passed, mut skipped, mut failures) = (0, 0, Vec::new());
    for case in cases {
        net::set_apart(case.is_apart);
        let name = full(case);
        match catch_unwind(AssertUnwindSafe(case.run)) {
            Ok(Outcome::Passed) => {
                println!("test {name} ... ok");
                passed += 1;
            }
            Ok(Outcome::Skipped(right)) => {
                println!("SKIPPED: {name}: {right}");
                skipped += 1;
            }
            Err(_) => {
                println!("test {name} ... FAILED");
                failures.push(name);
            }
        }
    }
    if !failures.is_empty() {
        println!("\nfailures:\n    {}", failures.join("\n    "));
    }
    let is_ok = failures.is_empty() && !(strict && skipped > 0);
    let word = if is_ok { "ok" } else { "FAILED" };
    println!("\ntest result: {word}. {passed} passed; {} failed; {skipped} skipped", failures.len());
    if strict && skipped > 0 {
        println!("GOODQUEUE_REQUIRE_ALL: a skipped test is a failure");
    }
    if is_ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

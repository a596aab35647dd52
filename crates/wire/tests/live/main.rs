//! Tests on real namespaces, one after the other (timing tests must not run beside others).
//!
//! Tests without the privilege that they need are skipped, with a message, and counted; under
//! `GOODQUEUE_REQUIRE_ALL` a skip is a failure. A measurement that the engine itself calls not valid (a busy
//! machine) is repeated up to three times; then the test counts as skipped. A valid but wrong measurement
//! fails at once. Without root the program enters a user namespace.
//!
//! The program is its own helper: `live helper NAME` runs a part that must be in another process.
#![allow(clippy::unwrap_used)]

mod cases;
mod helpers;
mod net;

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
    // This must happen while there is only one thread. If it is refused, the tests will say so.
    if !is_real_root() {
        let _ = goodqueue_wire::enter_user_namespace();
    }
    let exact = words.iter().any(|word| word == "--exact");
    let filters: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let wanted = |case: &&Case| {
        let hit = |f: &&String| if exact { case.name == f.as_str() } else { case.name.contains(f.as_str()) };
        filters.is_empty() || filters.iter().any(hit)
    };
    let none = words.iter().any(|word| word == "--ignored");
    let cases: Vec<&Case> =
        cases::ONE_THREAD.iter().chain(cases::EACH_DIRECTION).filter(wanted).filter(|_| !none).collect();
    if words.iter().any(|word| word == "--list") {
        for case in cases {
            println!("{}: test", case.name);
        }
        return ExitCode::SUCCESS;
    }
    run_all(&cases)
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
    let (mut passed, mut skipped, mut failed) = (0, 0, 0);
    for case in cases {
        net::set_apart(case.is_apart);
        match catch_unwind(AssertUnwindSafe(case.run)) {
            Ok(Outcome::Passed) => {
                println!("test {} ... ok", case.name);
                passed += 1;
            }
            Ok(Outcome::Skipped(right)) => {
                println!("SKIPPED: {}: {right}", case.name);
                skipped += 1;
            }
            Err(_) => {
                println!("test {} ... FAILED", case.name);
                failed += 1;
            }
        }
    }
    println!("\nlive: {passed} passed, {failed} failed, {skipped} skipped");
    if strict && skipped > 0 {
        println!("GOODQUEUE_REQUIRE_ALL: a skipped test is a failure");
    }
    if failed > 0 || (strict && skipped > 0) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

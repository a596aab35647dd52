//! Tests that take as long as what they measure: runs in namespaces of this machine, real paths, and servers
//! under attack. They take turns, and `./check` runs nothing beside them.

mod agreement;
mod bad_paths;
mod chain;
mod disbelief;
mod faults;
mod flow_marks;
mod hostile;
mod link;
mod live;
mod live_wifi;
mod locate;
mod observer;
mod paths;
mod people;
mod printed;
mod programs;
mod readers;
mod real_path;
mod rpm;
mod terminal;
mod udp_load;
mod versions;

use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::{Scratch, goodqueue, kept, kept_in, measured, run, skipped, stderr, stdout, usage};

static MACHINE: Mutex<()> = Mutex::new(());

/// This test's turn with the machine. Two that measure at the same time are a load for each other.
fn turn() -> MutexGuard<'static, ()> {
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same with the right to make namespaces; `None`, loudly, where this machine does not let us.
fn live(test: &str) -> Option<MutexGuard<'static, ()>> {
    /// Why this machine does not let us.
    static REFUSED: OnceLock<Option<String>> = OnceLock::new();
    let turn = turn();
    let refused = REFUSED.get_or_init(|| {
        let probe = run("run ping --live --length 100ms --idle 100ms --queue pfifo --quiet");
        (probe.status.code() == Some(3)).then(|| stderr(&probe).trim().to_owned())
    });
    let Some(why) = refused else { return Some(turn) };
    skipped(test, why);
    None
}

/// Whether a program is there; where it is not, the test is skipped, loudly.
fn has(test: &str, program: &str) -> bool {
    let is_there = Command::new(program).arg("--version").output().is_ok();
    if !is_there {
        skipped(test, &format!("{program} is not installed"));
    }
    is_there
}

/// A program that ends with its value.
struct Gone(Child);

impl Drop for Gone {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

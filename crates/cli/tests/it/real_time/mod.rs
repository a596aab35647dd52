//! Tests that take as long as what they measure: runs in namespaces of this machine, real paths, and servers
//! under attack. Each has a share of the machine with others; those of `alone` take turns, and `./check` runs
//! nothing beside them.

mod alone;
mod bad_paths;
mod chain;
mod hostile;
mod link;
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
mod versions;

use std::process::{Child, Command};
use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard};

use super::{Scratch, goodqueue, kept, measured, run, skipped, stderr, stdout, usage};

static MACHINE: RwLock<()> = RwLock::new(());

/// This test's share of the machine.
fn turn() -> RwLockReadGuard<'static, ()> {
    MACHINE.read().unwrap_or_else(PoisonError::into_inner)
}

/// The same with the right to make namespaces; `None`, loudly, where this machine does not let us.
fn live(test: &str) -> Option<RwLockReadGuard<'static, ()>> {
    let turn = turn();
    may(test).then_some(turn)
}

/// Whether this machine lets us make namespaces. Where it does not, the test is skipped, loudly.
fn may(test: &str) -> bool {
    /// Why this machine does not let us.
    static REFUSED: OnceLock<Option<String>> = OnceLock::new();
    let refused = REFUSED.get_or_init(|| {
        let probe = run("run ping --live --length 100ms --idle 100ms --queue pfifo --quiet");
        (probe.status.code() == Some(3)).then(|| stderr(&probe).trim().to_owned())
    });
    if let Some(why) = refused {
        skipped(test, why);
    }
    refused.is_none()
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

//! Tests that take as long as what they measure: runs in namespaces of this machine, real paths, and servers
//! under attack. Most of them wait, so those of different kinds run beside each other: give the test runner
//! many threads (`./check` does).

mod agreement;
mod bad_paths;
mod chain;
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
mod real_path;
mod rpm;
mod udp_load;

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::{Scratch, goodqueue, kept, kept_in, measured, run, skipped, stderr, stdout, usage};

/// `run --live`: the command refuses a second one.
static RUNS: Mutex<()> = Mutex::new(());
/// Tests of real paths, which are a load for each other.
static PATHS: Mutex<()> = Mutex::new(());
/// Floods leave no time for others: they have the machine for themselves.
static MACHINE: RwLock<()> = RwLock::new(());

/// A turn with the machine, beside tests of the other kind.
struct Turn {
    _kind: MutexGuard<'static, ()>,
    _machine: RwLockReadGuard<'static, ()>,
}

impl Turn {
    fn of(kind: &'static Mutex<()>) -> Turn {
        let kind = kind.lock().unwrap_or_else(PoisonError::into_inner);
        Turn { _kind: kind, _machine: MACHINE.read().unwrap_or_else(PoisonError::into_inner) }
    }
}

/// A turn with nothing beside it.
fn alone() -> RwLockWriteGuard<'static, ()> {
    MACHINE.write().unwrap_or_else(PoisonError::into_inner)
}

/// This test's turn with `run --live`; `None`, loudly, where this machine does not let us.
fn live(test: &str) -> Option<Turn> {
    may_make_namespaces(test).then(|| Turn::of(&RUNS))
}

/// The same with a path through namespaces that the test makes.
fn path(test: &str) -> Option<Turn> {
    may_make_namespaces(test).then(|| Turn::of(&PATHS))
}

fn may_make_namespaces(test: &str) -> bool {
    /// Why this machine does not let us.
    static REFUSED: OnceLock<Option<String>> = OnceLock::new();
    let refused = REFUSED.get_or_init(|| {
        let _turn = Turn::of(&RUNS);
        let probe = run("run ping --live --length 100ms --idle 100ms --queue pfifo --quiet");
        (probe.status.code() == Some(3)).then(|| stderr(&probe).trim().to_owned())
    });
    if let Some(why) = refused {
        skipped(test, why);
    }
    refused.is_none()
}

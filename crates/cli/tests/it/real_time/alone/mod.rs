//! Tests that need the whole machine: those of `goodqueue run --live`, which refuses to share it, and those
//! that ask whether the machine is busy.

mod agreement;
mod disbelief;
pub(super) mod faults;
mod flow_marks;
mod live;
mod live_wifi;
mod real_path;
mod responsiveness;
mod shaper;
mod udp_load;

use std::sync::{PoisonError, RwLockWriteGuard};

use super::{MACHINE, may};

/// This test's turn with the machine.
fn turn() -> RwLockWriteGuard<'static, ()> {
    MACHINE.write().unwrap_or_else(PoisonError::into_inner)
}

/// The same with the right to make namespaces; `None`, loudly, where this machine does not let us.
fn live(test: &str) -> Option<RwLockWriteGuard<'static, ()>> {
    let turn = turn();
    may(test).then_some(turn)
}

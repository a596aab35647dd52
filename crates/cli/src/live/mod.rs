//! The live arm: real kernel TCP through our queues.

mod message;
mod rate;
mod supervise;
mod worker;

use goodqueue_report::Record;
use goodqueue_wire::{Interrupt, MAX_HOSTS};

use crate::exit::End;
use crate::plan::Plan;
use crate::progress::Progress;

pub use worker::main as worker;

/// Runs every queue of `plan`; what was measured is in `record` however it ends.
///
/// # Errors
/// The first reason to stop.
pub(crate) fn run(
    plan: &Plan,
    record: &mut Record,
    progress: &mut Progress,
    keep: &mut dyn FnMut(&Record) -> Result<(), End>,
) -> Result<(), End> {
    let (need, have) = (plan.test.test()?.hosts(), usize::from(MAX_HOSTS));
    if need > have {
        let name = &plan.test.name;
        return Err(End::Usage(format!("{name} needs {need} server hosts; with --live there are {have}")));
    }
    let _only_one = supervise::OnlyOne::claim()?;
    let interrupt = Interrupt::new().map_err(End::machine)?;
    let end = supervise::run(plan, record, progress, &interrupt, keep);
    Interrupt::unblock();
    end
}

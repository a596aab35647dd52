//! What the command needs of its system, on Linux. `system_portable.rs` has the same for all others.

use goodqueue_experiment::{Error, live};

pub use crate::airtime::command as airtime;
pub use crate::autorate::command as autorate;
pub use crate::bridge::command as bridge;
pub use crate::doctor::command as doctor;
pub use crate::link::command as link;
pub use crate::server::command as server;
pub use crate::shape::{command as shape, guard as shape_guard};
pub use crate::sqm::command as sqm;
pub use crate::watch::command as watch;
pub(crate) use goodqueue_wire::{Interrupt, Lock};

/// Prepares the process. `main` calls it before anything else.
pub fn begin() {
    // A file that grows too long is an error to tell about, and no program started from here needs more
    // rights.
    goodqueue_wire::survive_the_file_size_limit();
    // It cannot fail on Linux 3.5 and later.
    let _ = goodqueue_wire::no_new_privileges();
}

/// A process of the live arm.
///
/// # Errors
/// How it ended.
pub fn live_worker() -> Result<(), Error> {
    live::worker(None)
}

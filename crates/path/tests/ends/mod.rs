//! Ends a server in a test.

use std::sync::atomic::{AtomicBool, Ordering};

/// Ends the server when dropped, even after a failed assertion: the test then fails and does not hang.
pub(crate) struct Ends<'a>(pub(crate) &'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

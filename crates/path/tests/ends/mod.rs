//! How a server in a test ends.

use std::sync::atomic::{AtomicBool, Ordering};

/// Ends the server when it is dropped, also because an assertion failed: a test fails, it does not hang.
pub(crate) struct Ends<'a>(pub(crate) &'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

//! The two clocks of this machine.

use std::time::{SystemTime, UNIX_EPOCH};

/// How far the wall clock is ahead of the monotonic one, nanoseconds.
pub(crate) fn wall_ahead() -> i64 {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos();
    i64::try_from(wall).expect("before 2262") - goodqueue_wire::now().0.cast_signed()
}

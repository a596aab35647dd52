//! What guards every handle: the clock, the dropped packets and the account of misuse.

use goodqueue::Nanos;

use crate::abi::GQ_DROPS;
use crate::code::{Code, GQ_EDROPS, GQ_ETIME};
use crate::drops::Drops;

/// The guard of one queue or radio: each call passes it.
pub(crate) struct Guard {
    last: Nanos,
    pub(crate) errors: u64,
    pub(crate) drops: Drops,
}

impl Guard {
    /// Its clock at `now`.
    pub(crate) const fn new(now: Nanos, drops: Drops) -> Guard {
        Guard { last: now, errors: 0, drops }
    }

    /// The answer of a call, an error counted.
    #[inline]
    pub(crate) fn answer(&mut self, result: Result<i32, Code>) -> i32 {
        result.unwrap_or_else(|code| self.refuse(code))
    }

    #[cold]
    fn refuse(&mut self, code: Code) -> i32 {
        self.errors += 1;
        code.0
    }

    /// Whether the clock is at `now` or before.
    #[inline]
    pub(crate) fn check(&self, now: Nanos) -> Result<(), Code> {
        if now < self.last { Err(GQ_ETIME) } else { Ok(()) }
    }

    /// The clock moves to `now`, for a call that drops nothing.
    #[inline]
    pub(crate) fn tick(&mut self, now: Nanos) -> Result<(), Code> {
        self.check(now)?;
        self.last = now;
        Ok(())
    }

    /// Whether a call at `now` may be made that can drop as many packets as `most` says.
    #[inline]
    pub(crate) fn admit(&mut self, now: Nanos, most: impl FnOnce() -> usize) -> Result<(), Code> {
        self.check(now)?;
        if self.drops.len() > 0 && self.drops.is_in_the_way(most()) {
            return Err(GQ_EDROPS);
        }
        self.last = now;
        Ok(())
    }

    /// The bit that says that dropped packets wait.
    #[inline]
    pub(crate) fn waiting(&self) -> i32 {
        if self.drops.len() > 0 { GQ_DROPS } else { 0 }
    }
}

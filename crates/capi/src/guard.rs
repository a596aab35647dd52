//! The guard of every handle: the clock, the dropped packets and the count of errors.

use goodqueue::Nanos;

use crate::abi::GQ_DROPS;
use crate::code::{Code, GQ_EDROPS, GQ_ETIME};
use crate::drops::Drops;

/// The guard of one queue or radio; each call passes it.
pub(crate) struct Guard {
    last: Nanos,
    pub(crate) errors: u64,
    pub(crate) drops: Drops,
}

impl Guard {
    /// A guard with its clock at `now`.
    pub(crate) const fn new(now: Nanos, drops: Drops) -> Guard {
        Guard { last: now, errors: 0, drops }
    }

    /// The return value of a call; counts errors.
    #[inline]
    pub(crate) fn answer(&mut self, result: Result<i32, Code>) -> i32 {
        result.unwrap_or_else(|code| self.refuse(code))
    }

    #[cold]
    fn refuse(&mut self, code: Code) -> i32 {
        self.errors += 1;
        code.0
    }

    /// Checks that the clock is not after `now`.
    #[inline]
    pub(crate) fn check(&self, now: Nanos) -> Result<(), Code> {
        if now < self.last { Err(GQ_ETIME) } else { Ok(()) }
    }

    /// Moves the clock to `now`, for a call that drops nothing.
    #[inline]
    pub(crate) fn tick(&mut self, now: Nanos) -> Result<(), Code> {
        self.check(now)?;
        self.last = now;
        Ok(())
    }

    /// Checks whether a call at `now` is allowed that can drop `most` packets.
    #[inline]
    pub(crate) fn admit(&mut self, now: Nanos, most: impl FnOnce() -> usize) -> Result<(), Code> {
        self.check(now)?;
        if self.drops.len() > 0 && self.drops.is_in_the_way(most()) {
            return Err(GQ_EDROPS);
        }
        self.last = now;
        Ok(())
    }

    /// `GQ_DROPS` if dropped packets wait.
    #[inline]
    pub(crate) fn waiting(&self) -> i32 {
        if self.drops.len() > 0 { GQ_DROPS } else { 0 }
    }
}

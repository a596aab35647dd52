//! Serial lines: compute when the last bit of a packet leaves from when its first may leave.

use super::TraceError;
use super::schedule::Schedule;
use super::trace::Trace;
use crate::{Bytes, Nanos, Serializer};

/// A line that sends one packet after the other.
#[derive(Clone, Debug, Default)]
pub enum Line {
    /// Serialization takes no time.
    #[default]
    Unlimited,
    /// A constant rate.
    Rate(Serializer),
    /// A rate that changes at given times.
    Schedule(Schedule),
    /// Delivery opportunities recorded from a real (mobile) link.
    Trace(Trace),
}

impl Line {
    /// The line of a Mahimahi trace file; see [`Trace`].
    ///
    /// # Errors
    /// [`TraceError`] with the number of the invalid line.
    pub fn from_mahimahi(text: &str) -> Result<Line, TraceError> {
        Trace::from_mahimahi(text).map(Line::Trace)
    }

    /// Begins a packet of `bytes` at `now`, not before the end of the last packet. Returns when it ends: at
    /// `now` or later, or `Nanos(u64::MAX)` if it never ends.
    // The attributes of `port/` are measured together: docs/performance.md, "What the inline attributes gain
    // in time". Without the forced ones, these two among them, a packet takes 40 to 58 % longer.
    #[inline(always)]
    pub fn begin(&mut self, now: Nanos, bytes: u32) -> Nanos {
        match self {
            Line::Rate(serializer) => now + serializer.tx_time(Bytes(u64::from(bytes))),
            _ => self.begin_at_no_fixed_rate(now, bytes),
        }
    }

    /// Not inlined, so that the common case of a constant rate is inlined into its port.
    #[inline(never)]
    fn begin_at_no_fixed_rate(&mut self, now: Nanos, bytes: u32) -> Nanos {
        match self {
            Line::Schedule(schedule) => schedule.begin(now, bytes),
            Line::Trace(trace) => trace.begin(now, bytes),
            Line::Rate(_) | Line::Unlimited => now,
        }
    }
}

impl From<Option<Serializer>> for Line {
    /// A line without a rate is [`Line::Unlimited`].
    fn from(rate: Option<Serializer>) -> Line {
        rate.map_or(Line::Unlimited, Line::Rate)
    }
}

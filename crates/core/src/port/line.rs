//! Serial lines: when the last bit of a packet leaves, given when its first may.

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
    /// One rate for ever.
    Rate(Serializer),
    /// A rate that changes at given times.
    Schedule(Schedule),
    /// Opportunities to deliver, recorded from a real (mobile) link.
    Trace(Trace),
}

impl Line {
    /// The line of a trace file of Mahimahi's; see [`Trace`].
    ///
    /// # Errors
    /// [`TraceError`] with the number of the line that is not one.
    pub fn from_mahimahi(text: &str) -> Result<Line, TraceError> {
        Trace::from_mahimahi(text).map(Line::Trace)
    }

    /// Begins a packet of `bytes` at `now`, no earlier than the last one ended, and says when it ends:
    /// at `now` or later, at `Nanos(u64::MAX)` where it never does.
    // The simulator's bars need it inlined: docs/performance.md, "Inlining".
    #[inline(always)]
    pub fn begin(&mut self, now: Nanos, bytes: u32) -> Nanos {
        match self {
            Line::Rate(serializer) => now + serializer.tx_time(Bytes(u64::from(bytes))),
            _ => self.begin_at_no_fixed_rate(now, bytes),
        }
    }

    /// Out of line, so that the common line of one rate is inlined into its port.
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

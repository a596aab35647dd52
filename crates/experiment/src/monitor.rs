//! The caller's side of a run: a run reports its progress to it, and asks it whether to go on.

use goodqueue::Span;
use goodqueue_report::Record;

use crate::Error;

/// The newest figures of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Latest {
    /// Where the turn is, in nanoseconds from the start of the load.
    pub t_ns: i64,
    /// Goodput of the last full step, up and down, in bit/s.
    pub goodput_bps: [f64; 2],
    /// Last round-trip time, ns.
    pub rtt_ns: i64,
    /// Last one-way delay above the least so far, up and down, ns.
    pub above_least_ns: [i64; 2],
}

/// A turn: one queue with one seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its name in reports.
    pub label: String,
    /// Idle time before the load.
    pub idle: Span,
    /// The load.
    pub load: Span,
}

/// The caller's side of a run: it receives progress and decides when to stop. A turn is one run of a variant;
/// turns have the numbers of [`Monitor::plan`]. `()` ignores all progress and never stops a run.
pub trait Monitor {
    /// The turns to come. Each runs `times` times.
    fn plan(&mut self, turns: &[Turn], times: u32) {
        let _ = (turns, times);
    }

    /// A turn starts. Several may run at once.
    fn begin(&mut self, turn: usize) {
        let _ = turn;
    }

    /// The newest figures of a turn, in its first repetition (0) or a later one.
    fn update(&mut self, turn: usize, time: u32, latest: &Latest) {
        let _ = (turn, time, latest);
    }

    /// A turn is over; `early` if it was cut short.
    fn end(&mut self, turn: usize, early: bool) {
        let _ = (turn, early);
    }

    /// A line about the run, such as the outcome of a check.
    fn say(&mut self, line: &str) {
        let _ = line;
    }

    /// All turns are over: the display of their progress may be removed.
    fn close(&mut self) {}

    /// Saves the record after each turn.
    ///
    /// # Errors
    /// Why it cannot be saved; the run then ends with this error.
    fn keep(&mut self, record: &Record) -> Result<(), Error> {
        let _ = record;
        Ok(())
    }

    /// Called twenty times a second. Returns `Some` with the number of a signal if the run must end now,
    /// cleanly.
    fn stop(&mut self) -> Option<i32> {
        None
    }
}

impl Monitor for () {}

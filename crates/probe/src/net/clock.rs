//! One time axis for all threads of a run.

use goodqueue::{Nanos, Span};

use super::sys;
use crate::echo::Stamp;

/// Smallest change of the difference between the clocks that is not just reading uncertainty, ns.
const STEP: i64 = 100_000;

/// Readings of the two clocks within this time count as one moment.
const SHARP: i64 = 1_000;

/// The start of the load on both clocks. Client and server of one machine share it, whatever their network
/// namespaces, so their samples have one time axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedClock {
    start: Stamp,
}

impl SharedClock {
    /// A clock whose load starts after `lead`. It must cover at least the test's idle time and the set-up.
    #[must_use]
    pub fn starting_in(lead: Span) -> SharedClock {
        let (now, _) = read();
        let lead = i64::try_from(lead.0).unwrap_or(i64::MAX);
        let start = Stamp { wall: now.wall.saturating_add(lead), mono: now.mono.saturating_add(lead) };
        SharedClock { start }
    }

    /// A clock whose load starts at `mono`, a time of this host's monotonic clock.
    #[must_use]
    pub fn starting_at(mono: i64) -> SharedClock {
        let (now, _) = read();
        SharedClock { start: Stamp { wall: now.wall.saturating_add(mono.saturating_sub(now.mono)), mono } }
    }

    /// The start of the load on both clocks, in nanoseconds.
    #[must_use]
    pub fn load_start(&self) -> Stamp {
        self.start
    }

    /// Nanoseconds since the start of the load, negative before it.
    #[must_use]
    pub fn t(&self) -> i64 {
        self.t_of(sys::monotonic())
    }

    /// The same for a given monotonic time.
    pub(super) fn t_of(&self, mono: i64) -> i64 {
        mono.saturating_sub(self.start.mono)
    }

    /// The monotonic time of `t`.
    pub(super) fn mono(&self, t: i64) -> i64 {
        self.start.mono.saturating_add(t)
    }

    /// The same, unsigned.
    pub(super) fn nanos(&self, t: i64) -> Nanos {
        Nanos(self.mono(t).max(0).cast_unsigned())
    }
}

/// Both clocks at one moment, and the uncertainty: the wall clock is read between two readings of the
/// monotonic clock; the best of three attempts counts.
fn read() -> (Stamp, i64) {
    let mut best = (Stamp::default(), i64::MAX);
    for _ in 0..3 {
        let before = sys::monotonic();
        let wall = sys::realtime();
        let width = sys::monotonic() - before;
        if width < best.1 {
            best = (Stamp { wall, mono: before + width / 2 }, width);
        }
        if width < 1_000 {
            break;
        }
    }
    best
}

/// Watches the difference between the two clocks, which changes only when the wall clock is set.
#[derive(Debug)]
pub struct ClockWatch {
    /// Wall minus monotonic.
    offset: i64,
    /// Sum of all steps, forwards and backwards alike.
    stepped: i64,
}

impl Default for ClockWatch {
    fn default() -> ClockWatch {
        ClockWatch::new()
    }
}

impl ClockWatch {
    /// Begins to watch.
    #[must_use]
    pub fn new() -> ClockWatch {
        let (now, _) = read();
        ClockWatch { offset: now.wall - now.mono, stepped: 0 }
    }

    /// Both clocks now.
    pub fn now(&mut self) -> Stamp {
        let (now, width) = read();
        let step = now.wall - now.mono - self.offset;
        if step.abs() <= STEP.saturating_add(width) {
            // A slewed clock moves slowly; a delayed reading is ignored.
            if width < SHARP {
                self.offset += step;
            }
        } else {
            self.offset += step;
            self.stepped = self.stepped.saturating_add(step.saturating_abs());
        }
        now
    }

    /// The moment of a wall-clock time, by the present difference between the clocks.
    #[must_use]
    pub fn of_wall(&self, wall: i64) -> Stamp {
        Stamp { wall, mono: wall.saturating_sub(self.offset) }
    }

    /// The total by which the wall clock was set, in nanoseconds: steps forwards and backwards add up.
    #[must_use]
    pub fn stepped(&self) -> i64 {
        self.stepped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_starts_when_said() {
        let clock = SharedClock::starting_in(Span::from_secs(10));
        let t = clock.t();
        assert!((-10_000_000_000..-9_000_000_000).contains(&t), "{t}");
        assert_eq!(clock.t_of(clock.mono(5)), 5);
    }

    #[test]
    fn a_step_of_the_wall_clock_is_seen_once() {
        let mut watch = ClockWatch::new();
        watch.offset += 7_000_000;
        watch.now();
        let stepped = watch.stepped();
        assert!((6_800_000..7_200_000).contains(&stepped), "{stepped}");
        watch.now();
        assert_eq!(watch.stepped(), stepped);
    }

    #[test]
    fn a_clock_that_was_set_forward_and_back_was_set_twice() {
        let mut watch = ClockWatch::new();
        for step in [10_000_000_000, -10_000_000_000] {
            watch.offset += step;
            watch.now();
        }
        assert!((19_999_000_000..20_001_000_000).contains(&watch.stepped()), "{}", watch.stepped());
    }
}

//! The clock of the kernel's timers: a counter of `hz` steps per second, and a timer in its units.

use crate::{Nanos, Span};

const SECOND: u128 = 1_000_000_000;

/// Steps per second of a typical distribution kernel (`CONFIG_HZ`); the timers' unit.
pub(crate) const HZ: u32 = 250;

/// `hz` limited to a valid divisor: never 0, at most one step per nanosecond.
const fn sane(hz: u32) -> u32 {
    match hz {
        0 => 1,
        1..=1_000_000_000 => hz,
        _ => 1_000_000_000,
    }
}

/// The counter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    hz: u32,
    /// Nanoseconds of a step; 0 if that is not a whole number.
    step: u64,
}

impl Clock {
    pub(crate) const fn new(hz: u32) -> Clock {
        let hz = sane(hz);
        Clock { hz, step: if 1_000_000_000 % hz == 0 { (1_000_000_000 / hz) as u64 } else { 0 } }
    }

    /// Its value at `now`.
    pub(crate) const fn at(self, now: Nanos) -> u64 {
        match now.0.checked_div(self.step) {
            Some(steps) => steps,
            None => self.between(now),
        }
    }

    /// A time in which it makes at most `steps` steps; 0 if a step is not a whole number of nanoseconds.
    pub(crate) const fn within(self, steps: u64) -> Span {
        Span(steps.saturating_mul(self.step))
    }

    #[allow(clippy::cast_possible_truncation)]
    const fn between(self, now: Nanos) -> u64 {
        (now.0 as u128 * self.hz as u128 / SECOND) as u64
    }
}

/// The value of the counter at `now`.
const fn at(now: Nanos, hz: u32) -> u64 {
    Clock::new(hz).at(now)
}

/// Steps of the counter in a time of whole microseconds, rounded up (Linux `usecs_to_jiffies`).
pub(crate) const fn in_span(span: Span, hz: u32) -> u64 {
    let micros = span.0 as u128 / 1000;
    let steps = (micros * sane(hz) as u128).div_ceil(SECOND / 1000);
    if steps > u64::MAX as u128 { u64::MAX } else { steps as u64 }
}

/// The first nanosecond at which the counter has the value `jiffy`.
const fn start(jiffy: u64, hz: u32) -> Nanos {
    let ns = (jiffy as u128 * SECOND).div_ceil(sane(hz) as u128);
    Nanos(if ns > u64::MAX as u128 { u64::MAX } else { ns as u64 })
}

/// Maximum number of timer runs to catch up with at once. If the queue was not called for longer, it is in
/// the state after this many runs: by then the work of each timer is done or no longer changes anything.
const MOST_RUNS: u64 = 4096;

/// A timer that rearms itself `period` steps after each run. It runs at the next call of the queue, before
/// the call's own work. The difference is not observable, because nothing happens between two calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    hz: u32,
    /// The step at which it runs next.
    expires: u64,
    /// The same as a time; the latest possible time if it is not armed.
    due: Nanos,
}

impl Timer {
    /// A timer that first runs `delay` steps after `now`.
    pub(crate) const fn new(hz: u32, now: Nanos, delay: u64) -> Timer {
        let expires = at(now, hz).saturating_add(delay);
        Timer { hz, expires, due: start(expires, hz) }
    }

    /// A timer that never runs.
    pub(crate) const fn off() -> Timer {
        Timer { hz: 1, expires: u64::MAX, due: Nanos(u64::MAX) }
    }

    /// When it runs next.
    pub(crate) const fn due(&self) -> Option<Nanos> {
        if self.due.0 == u64::MAX { None } else { Some(self.due) }
    }

    /// Whether it must run before a call at `now`.
    pub(crate) const fn is_due(&self, now: Nanos) -> bool {
        self.due.0 <= now.0
    }

    /// How often it must run before a call at `now`, with `period` steps between runs; arms it for the next
    /// run. With a period of 0 it runs once and never again.
    pub(crate) fn take(&mut self, now: Nanos, period: u64) -> u32 {
        if !self.is_due(now) || self.due.0 == u64::MAX {
            return 0;
        }
        if period == 0 {
            *self = Timer::off();
            return 1;
        }
        let runs = (at(now, self.hz) - self.expires) / period + 1;
        self.expires = self.expires.saturating_add(runs.saturating_mul(period));
        self.due = start(self.expires, self.hz);
        u32::try_from(runs.min(MOST_RUNS)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_round_up_to_steps() {
        let ms = Span::from_millis;
        assert_eq!([in_span(ms(15), 1000), in_span(ms(15), 250), in_span(ms(15), 100)], [15, 4, 2]);
        assert_eq!(in_span(Span(999), 250), 0);
        assert_eq!(in_span(Span(1000), 250), 1);
        assert_eq!(in_span(Span(u64::MAX), u32::MAX), 18_446_744_073_709_551_000);
    }

    #[test]
    fn a_timer_runs_at_the_first_nanosecond_of_its_step() {
        let mut timer = Timer::new(250, Nanos(1_003_999_999), 125);
        assert_eq!(timer.due(), Some(Nanos(1_500_000_000)));
        assert_eq!(timer.take(Nanos(1_499_999_999), 4), 0);
        assert_eq!(timer.take(Nanos(1_500_000_000), 4), 1);
        assert_eq!(timer.take(Nanos(1_531_999_999), 4), 1);
        assert_eq!(timer.take(Nanos(1_548_000_000), 4), 2);
        assert_eq!(timer.due(), Some(Nanos(1_564_000_000)));
        assert_eq!(timer.take(Nanos(u64::MAX - 1), 4), 4096);
        assert!(timer.due().is_none_or(|due| due.0 > u64::MAX - 16_000_001));
        // A third of a second is not a whole number of nanoseconds.
        assert_eq!(Timer::new(3, Nanos(0), 1).due(), Some(Nanos(333_333_334)));
    }

    #[test]
    fn a_period_of_zero_ends_it() {
        let mut timer = Timer::new(1000, Nanos(0), 0);
        assert_eq!(timer.take(Nanos(0), 0), 1);
        assert_eq!(timer.take(Nanos(u64::MAX), 0), 0);
        assert_eq!(timer.due(), None);
    }
}

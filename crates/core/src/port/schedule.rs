//! A line whose rate changes at given times.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use super::NEVER;
use crate::{Nanos, Rate, Span};

/// Nanoseconds for one byte at 1 bit/s. Work is counted in units of 10^-9 bit; a rate of r bit/s does r units
/// in every nanosecond.
const WORK_PER_BYTE: u128 = 8_000_000_000;

/// A list of rates with the times from which they apply.
///
/// A packet is sent at each rate that applies while it is on the line: bits are integrated. Only its end is
/// rounded, down to whole nanoseconds. The remainder is carried to the next packet if that begins exactly
/// there. At a rate of zero the line stops.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Sorted; the first begins at zero.
    steps: Box<[(Span, Rate)]>,
    /// The time after which the list repeats; `None`: the last rate applies from then on.
    period: Option<Span>,
    /// Work done in a whole period.
    work_per_period: u128,
    origin: Nanos,
    /// The end of the last packet, and the work that remained then: less than a nanosecond's.
    last_end: Nanos,
    remainder: u64,
}

/// Why a list of rates is not a valid schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleError {
    /// The list is empty.
    Empty,
    /// The first rate does not begin at zero.
    LateStart,
    /// The time of this step (from 0) is not after that of the previous step.
    NotAscending {
        /// The step.
        step: usize,
    },
    /// The period does not end after the last step.
    ShortPeriod,
    /// All rates are zero.
    Standstill,
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScheduleError::Empty => f.write_str("a schedule without a rate"),
            ScheduleError::LateStart => f.write_str("the first rate of a schedule is not from 0s"),
            ScheduleError::NotAscending { step } => {
                write!(f, "step {step} of the schedule is not after the one before it")
            }
            ScheduleError::ShortPeriod => f.write_str("the period of a schedule is not after its last step"),
            ScheduleError::Standstill => f.write_str("all rates of the schedule are 0"),
        }
    }
}

impl core::error::Error for ScheduleError {}

impl Schedule {
    /// Rates with the times from which they apply, the first from zero; the last one applies from then on.
    ///
    /// # Errors
    /// [`ScheduleError`] if the list is empty, does not begin at zero, is not ascending, or has only rates of
    /// zero.
    pub fn held(steps: Vec<(Span, Rate)>) -> Result<Schedule, ScheduleError> {
        Schedule::new(steps, None)
    }

    /// Rates with the times from which they apply, the first from zero; the list repeats after `period`.
    ///
    /// # Errors
    /// Those of [`Schedule::held`], and if `period` is not after the last step.
    pub fn cyclic(steps: Vec<(Span, Rate)>, period: Span) -> Result<Schedule, ScheduleError> {
        Schedule::new(steps, Some(period))
    }

    fn new(steps: Vec<(Span, Rate)>, period: Option<Span>) -> Result<Schedule, ScheduleError> {
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
            return Err(ScheduleError::Empty);
        };
        if first.0 != Span::ZERO {
            return Err(ScheduleError::LateStart);
        }
        if let Some(step) = (1..steps.len()).find(|&step| steps[step].0 <= steps[step - 1].0) {
            return Err(ScheduleError::NotAscending { step });
        }
        if period.is_some_and(|period| period <= last.0) {
            return Err(ScheduleError::ShortPeriod);
        }
        if steps.iter().all(|&(_, rate)| rate.0 == 0) {
            return Err(ScheduleError::Standstill);
        }
        let mut schedule = Schedule {
            steps: steps.into_boxed_slice(),
            period,
            work_per_period: 0,
            origin: Nanos::ZERO,
            last_end: Nanos::ZERO,
            remainder: 0,
        };
        schedule.work_per_period = (0..schedule.steps.len())
            .map(|step| {
                let (from, rate) = schedule.steps[step];
                u128::from(rate.0) * u128::from((schedule.end_of(step) - from).0)
            })
            .sum();
        Ok(schedule)
    }

    /// The same schedule with its first step at `origin`; before that, the line is stopped. By default a
    /// schedule begins at [`Nanos::ZERO`].
    #[must_use]
    pub fn starting_at(self, origin: Nanos) -> Schedule {
        Schedule { origin, ..self }
    }

    /// The rate at `now`.
    #[must_use]
    pub fn rate_at(&self, now: Nanos) -> Rate {
        if now < self.origin { Rate(0) } else { self.steps[self.locate(now).1].1 }
    }

    /// See [`super::Line::begin`].
    pub(super) fn begin(&mut self, now: Nanos, bytes: u32) -> Nanos {
        let carried = if now == self.last_end { self.remainder } else { 0 };
        let work = u128::from(bytes) * WORK_PER_BYTE + u128::from(carried);
        (self.last_end, self.remainder) = self.finish(now, work);
        self.last_end
    }

    /// When `work` begun at `now` is done, and what remains of it then.
    fn finish(&self, now: Nanos, mut work: u128) -> (Nanos, u64) {
        if work == 0 {
            return (now, 0);
        }
        let mut now = now.max(self.origin);
        if let Some(period) = self.period {
            // A whole period does the same work wherever it begins.
            let periods = (work - 1) / self.work_per_period;
            work -= periods * self.work_per_period;
            now += period * u64::try_from(periods).unwrap_or(u64::MAX);
        }
        let (mut start, mut step) = self.locate(now);
        while now < NEVER {
            let rate = self.steps[step].1.0;
            let end = start + self.end_of(step);
            let capacity = u128::from(rate) * u128::from(end.since(now).0);
            if work <= capacity {
                return (now + whole(work / u128::from(rate)), remainder(work, rate));
            }
            work -= capacity;
            now = end;
            step += 1;
            if step == self.steps.len() {
                start = end;
                step = 0;
            }
        }
        (NEVER, 0)
    }

    /// The start of the period of `now`, and the current step.
    fn locate(&self, now: Nanos) -> (Nanos, usize) {
        let elapsed = now.since(self.origin).0;
        let within = self.period.map_or(elapsed, |period| elapsed % period.0);
        let step = self.steps.partition_point(|&(from, _)| from.0 <= within) - 1;
        (self.origin + Span(elapsed - within), step)
    }

    /// The end of `step` within the period; the last step of a list without a period has none.
    fn end_of(&self, step: usize) -> Span {
        let next = self.steps.get(step + 1).map(|&(from, _)| from);
        next.or(self.period).unwrap_or(Span(u64::MAX))
    }
}

#[allow(clippy::cast_possible_truncation)]
fn whole(nanos: u128) -> Span {
    // No more than the length of a step.
    Span(nanos as u64)
}

#[allow(clippy::cast_possible_truncation)]
fn remainder(work: u128, rate: u64) -> u64 {
    // Below the rate.
    (work % u128::from(rate)) as u64
}

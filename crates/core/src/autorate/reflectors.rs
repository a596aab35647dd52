//! Reflectors: the baseline of each, the rise of its delay above that, and whether it can be trusted.
//!
//! The baseline of the round trip is the least of the last minute. Clock offsets do not affect it. One-way
//! delays contain the difference of two clocks, which drifts and jumps. So their baselines are updated
//! whenever the round trip is near its own baseline, and a one-way rise is never more than the rise of the
//! round trip.

use super::{Cause, Delays, Sample};
use crate::{Nanos, Span};

/// Maximum number of reflectors that a controller knows.
pub const MOST_REFLECTORS: usize = 8;

/// The baseline of the round trip is the least in this many periods: long enough to outlast a load without a
/// pause, short enough to follow a path that becomes longer.
const PERIODS: usize = 6;
const PERIOD: Span = Span::from_secs(10);
/// A round trip that is at most this much above its baseline met no queue.
const CLEAR: i64 = 2_000_000;
/// How long a bad reflector is out of use.
const PAUSE: Span = Span::from_secs(60);
/// How many of the last ten probes a reflector may lose.
const MAY_LOSE: u32 = 2;
/// A reflector is unlike the others if its rise differs from their median by more than this, ns, smoothed
/// over 16 samples. It must also differ more than four times as much as the others do.
const UNLIKE: i64 = 15_000_000;
/// Reflectors are compared while the rise is below this, ns. Above, it changes too fast between two samples.
const CALM: i64 = 50_000_000;
/// Answers of a reflector before it can be called unlike the others.
const TRIAL: u32 = 16;
/// No reflector is taken out of use if fewer than this would be left.
const FEWEST: usize = 2;

#[derive(Clone, Copy, Debug)]
struct Reflector {
    is_in_use: bool,
    /// Not used before this time.
    out_until: Nanos,
    /// Answers since it was put into use.
    answers: u32,
    /// Its last ten probes, one bit each; 1: lost.
    lost: u16,
    /// Its least round trip in each of the last periods, ns.
    least: [i64; PERIODS],
    /// The number of the latest period.
    period: u64,
    /// One-way delays without a queue, ns.
    base: [i64; 2],
    /// The last answer: one-way delays and round trip, ns.
    last: [i64; 2],
    last_round: i64,
    /// The last rise of each direction, and of the round trip, ns.
    rises: [i64; 2],
    rise: i64,
    /// How far its rise is from the median of the others, smoothed, ns.
    unlike: i64,
}

impl Reflector {
    const fn new(is_in_use: bool) -> Reflector {
        Reflector {
            is_in_use,
            out_until: Nanos::ZERO,
            answers: 0,
            lost: 0,
            least: [i64::MAX; PERIODS],
            period: 0,
            base: [0; 2],
            last: [0; 2],
            last_round: 0,
            rises: [0; 2],
            rise: 0,
            unlike: 0,
        }
    }

    fn least(&self) -> i64 {
        self.least.into_iter().min().unwrap_or(i64::MAX)
    }

    /// Sets the baselines from the last answer, whose delays may already have risen by `rises`.
    fn begin(&mut self, rises: [i64; 2]) {
        self.least = [i64::MAX; PERIODS];
        let rise = rises[0].saturating_add(rises[1]);
        self.least[0] = self.last_round.saturating_sub(rise).max(0);
        self.base = [0, 1].map(|way: usize| self.last[way].saturating_sub(rises[way]));
    }

    fn note(&mut self, now: Nanos, delays: Delays) {
        let period = now.0 / PERIOD.0;
        for _ in 0..period.saturating_sub(self.period).min(PERIODS as u64) {
            self.least.rotate_right(1);
            self.least[0] = i64::MAX;
        }
        self.period = self.period.max(period);
        self.last_round = delays.round_trip();
        self.last = match delays {
            Delays::OneWay { up, down } => [up, down],
            Delays::RoundTrip(_) => [self.last_round; 2],
        };
        self.least[0] = self.least[0].min(self.last_round);
    }

    /// Compares the last answer with the baselines.
    fn compare(&mut self) {
        self.rise = self.last_round.saturating_sub(self.least()).max(0);
        for way in 0..2 {
            let above = self.last[way].saturating_sub(self.base[way]);
            if above < 0 {
                self.base[way] = self.last[way];
            } else if self.rise <= CLEAR {
                self.base[way] = self.base[way].saturating_add(above / 8);
            }
            self.rises[way] = self.last[way].saturating_sub(self.base[way]).clamp(0, self.rise);
        }
    }
}

/// All reflectors.
#[derive(Clone, Debug)]
pub(super) struct Reflectors {
    list: [Reflector; MOST_REFLECTORS],
    /// How many there are.
    count: usize,
    /// How many should be in use.
    wanted: usize,
}

impl Reflectors {
    /// `count` reflectors, the first `wanted` of them in use.
    pub(super) fn new(count: usize, wanted: usize) -> Reflectors {
        let count = count.min(MOST_REFLECTORS);
        let mut list = [Reflector::new(false); MOST_REFLECTORS];
        for reflector in &mut list[..count.min(wanted)] {
            reflector.is_in_use = true;
        }
        Reflectors { list, count, wanted }
    }

    pub(super) fn uses(&self, reflector: usize) -> bool {
        self.list[..self.count].get(reflector).is_some_and(|reflector| reflector.is_in_use)
    }

    /// Takes an answer and returns the rise in each direction, ns; `None` for a reflector that is not in use.
    pub(super) fn sample(&mut self, now: Nanos, sample: Sample) -> Option<[i64; 2]> {
        self.fill_up(now);
        if !self.uses(sample.reflector) {
            return None;
        }
        let others =
            [0, 1].map(|way: usize| self.median_of_others(sample.reflector, |other| other.rises[way]));
        let round = self.median_of_others(sample.reflector, |other| other.rise);
        let reflector = &mut self.list[sample.reflector];
        reflector.lost = reflector.lost << 1 & 0x3ff;
        reflector.note(now, sample.delays);
        if reflector.answers == 0 {
            reflector.begin(others.map(|rise| rise.unwrap_or(0)));
        }
        reflector.answers = reflector.answers.saturating_add(1);
        reflector.compare();
        if let Some(round) = round.filter(|&round| round < CALM) {
            let differs = reflector.rise.abs_diff(round).min(CALM.unsigned_abs()).cast_signed();
            reflector.unlike += (differs - reflector.unlike) / 16;
        }
        Some(reflector.rises)
    }

    /// The median of `value` over the other reflectors that are in use and have answered.
    fn median_of_others(&self, but: usize, value: impl Fn(&Reflector) -> i64) -> Option<i64> {
        let mut values = [0; MOST_REFLECTORS];
        let mut found = 0;
        for (number, other) in self.list.iter().enumerate() {
            if number != but && other.is_in_use && other.answers > 0 {
                values[found] = value(other);
                found += 1;
            }
        }
        let values = &mut values[..found];
        values.sort_unstable();
        // The lower one, if there are two in the middle.
        values.get(found.saturating_sub(1) / 2).copied()
    }

    pub(super) fn lost(&mut self, reflector: usize) {
        if self.uses(reflector) {
            self.list[reflector].lost = (self.list[reflector].lost << 1 | 1) & 0x3ff;
        }
    }

    /// Takes reflector `number` out of use if it is bad, and puts a spare one in its place. Returns the
    /// reason.
    pub(super) fn judge(&mut self, now: Nanos, number: usize) -> Option<Cause> {
        if !self.uses(number) {
            return None;
        }
        let Reflector { lost, unlike, answers, .. } = self.list[number];
        let lost = lost.count_ones();
        let others_lose = self.median_of_others(number, |other| other.lost.count_ones().into());
        let others_differ = self.median_of_others(number, |other| other.unlike).unwrap_or(i64::MAX);
        let cause = if lost > MAY_LOSE && others_lose.is_some_and(|others| others <= 1) {
            Cause::Unanswered { reflector: number, lost }
        } else if answers >= TRIAL && unlike > UNLIKE && unlike / 4 > others_differ {
            Cause::Unlike { reflector: number, by: Span(unlike.unsigned_abs()) }
        } else {
            return None;
        };
        let in_use = self.list.iter().filter(|reflector| reflector.is_in_use).count();
        if in_use <= FEWEST && self.spare(now, number).is_none() {
            return None;
        }
        self.list[number] = Reflector::new(false);
        self.list[number].out_until = now + PAUSE;
        self.fill_up(now);
        Some(cause)
    }

    /// Puts spare reflectors into use while there are too few.
    fn fill_up(&mut self, now: Nanos) {
        while self.list.iter().filter(|reflector| reflector.is_in_use).count() < self.wanted {
            let Some(spare) = self.spare(now, MOST_REFLECTORS) else { return };
            self.list[spare] = Reflector::new(true);
        }
    }

    /// A reflector other than `but` that is not in use but could be.
    fn spare(&self, now: Nanos, but: usize) -> Option<usize> {
        let is_spare = |number: &usize| {
            let reflector = &self.list[*number];
            *number != but && !reflector.is_in_use && reflector.out_until <= now
        };
        (0..self.count).find(is_spare)
    }

    /// The path has become longer: the last answer of each reflector is its new baseline.
    pub(super) fn begin_anew(&mut self) {
        for reflector in self.list.iter_mut().filter(|reflector| reflector.answers > 0) {
            reflector.begin([0; 2]);
        }
    }
}

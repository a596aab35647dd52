//! The published rules of cake-autorate, for comparison. The facts are from its README, its default
//! configuration and its users' forum (github.com/lynxthecat/cake-autorate, version 3, `defaults.sh`;
//! forum.openwrt.org, "CAKE w/ Adaptive Bandwidth"). None of its code was used.
//!
//! * A reflector's baseline moves towards a lower delay by 0.9 of the difference, and towards a higher one by
//!   0.001.
//! * A sample counts as delayed if it is above the baseline by more than 30 ms plus the time of a full
//!   packet.
//! * If 3 of the last 6 samples are delayed, the rate is multiplied by 0.99 (mean rise 30 ms) to 0.75 (60
//!   ms), at most every 300 ms.
//! * Otherwise, if the load is above 0.75 of the rate, the rate is multiplied by 1.04 (mean rise at most 10
//!   ms) to 1.0 (30 ms), once for each reading of the load (200 ms), but not within 300 ms after delay was
//!   found.
//! * Otherwise, once a second, the rate moves by 1 % towards the start rate.
//! * While five probes have no answer and there is less than 10 kbit/s of traffic, nothing changes.
//! * A reflector is replaced if it missed a probe in 3 of the last 60 seconds. It is also replaced if the
//!   check once a minute finds its smoothed rise more than 10 ms above the least of all.
//!
//! Three rules do not matter here and are left out: sleep without load, the replacement of a random reflector
//! every hour, and the comparison of baselines among reflectors.

use super::carried::Carried;
use super::{Cause, Controller, Decision, Decisions, Delays, Limits, MOST_REFLECTORS, Sample, Traffic};
use super::{index, signed, thousandths};
use crate::{Bytes, Direction, ETHERNET_FRAME, Nanos, Rate, Span};

/// `no_pingers`.
const IN_USE: usize = 6;
/// `xl_owd_delta_delay_thr_ms`, ns.
const DELAYED: i64 = 30_000_000;
/// `xl_avg_owd_delta_max_adjust_down_thr_ms`, ns.
const FULL_DOWN: i64 = 60_000_000;
/// `xl_avg_owd_delta_max_adjust_up_thr_ms`, ns.
const FULL_UP: i64 = 10_000_000;
/// `bufferbloat_detection_window` and `bufferbloat_detection_thr`.
const WINDOW: usize = 6;
const DELAYED_OF_WINDOW: usize = 3;
/// `bufferbloat_refractory_period_ms`, `decay_refractory_period_ms` and `monitor_achieved_rates_interval_ms`.
const REST: Span = Span::from_millis(300);
const DECAY_REST: Span = Span::from_secs(1);
const READING: Span = Span::from_millis(200);
/// `high_load_thr`, thousandths.
const HIGH_LOAD: u64 = 750;
/// Five probes at 20 a second (`stall_detection_thr`), and `connection_stall_thr_kbps`.
const STALL: Span = Span::from_millis(250);
const STALLED_LOAD: u64 = 10_000;
/// `reflector_owd_delta_ewma_delta_thr_ms`, ns, checked every `reflector_comparison_interval_mins`.
const UNLIKE: i64 = 10_000_000;
const COMPARED: Span = Span::from_secs(60);
/// `reflector_misbehaving_detection_window` of one-second checks; this many bad ones replace the reflector.
const CHECKS: u64 = (1 << 60) - 1;
const OFFENCES: u32 = 3;

#[derive(Clone, Copy, Debug, Default)]
struct Reflector {
    is_in_use: bool,
    has_answered: bool,
    baselines: [i64; 2],
    /// `alpha_delta_ewma` 0.095.
    smoothed: [i64; 2],
    /// The last sixty seconds, one bit each; 1: a probe was lost in that second.
    bad_seconds: u64,
    has_lost: bool,
}

#[derive(Clone, Debug)]
struct OneDirection {
    direction: Direction,
    limits: Limits,
    rate: u64,
    rises: [i64; WINDOW],
    found_at: Nanos,
    decayed_at: Nanos,
    raised_at: Nanos,
}

impl OneDirection {
    /// Adjusts the rate after a sample.
    fn adjust(&mut self, now: Nanos, rise: i64, reflector: usize, load: u64) -> Option<Decision> {
        self.rises.rotate_left(1);
        self.rises[WINDOW - 1] = rise;
        let packet = Rate(self.rate).tx_time(Bytes(u64::from(ETHERNET_FRAME)));
        let threshold = DELAYED.saturating_add(signed(packet));
        let delayed = self.rises.iter().filter(|&&rise| rise > threshold).count();
        let sum = self.rises.iter().fold(0_i64, |sum, &rise| sum.saturating_add(rise));
        let mean = sum / 6;
        let (rise, threshold_span) = (Span(mean.max(0).unsigned_abs()), Span(threshold.unsigned_abs()));
        let from = self.rate;
        let (to, cause) = if delayed >= DELAYED_OF_WINDOW {
            if now.since(self.found_at) < REST {
                return None;
            }
            self.found_at = now;
            let to = thousandths(self.rate, 990 - part(mean, threshold, FULL_DOWN, 240));
            (to, Cause::Delay { rise, threshold: threshold_span, link: Rate(load), reflector })
        } else if load > thousandths(self.rate, HIGH_LOAD) {
            if now.since(self.found_at) < REST || now.since(self.raised_at) < READING {
                return None;
            }
            self.raised_at = now;
            let to = thousandths(self.rate, 1040 - part(mean, FULL_UP, threshold, 40));
            (to, Cause::Room { load: Rate(load), rise, threshold: threshold_span })
        } else {
            if now.since(self.decayed_at) < DECAY_REST || now.since(self.found_at) < REST {
                return None;
            }
            self.decayed_at = now;
            let start = self.limits.start.0;
            let to = if self.rate > start {
                thousandths(self.rate, 990).max(start)
            } else {
                thousandths(self.rate, 1010).min(start)
            };
            (to, Cause::Idle { load: Rate(load) })
        };
        self.rate = self.limits.clamp(to);
        let (from, to) = (Rate(from), Rate(self.rate));
        Some(Decision { at: now, direction: self.direction, from, to, cause })
    }
}

/// The position of `value` between `low` and `high`, scaled to 0 to `whole`.
fn part(value: i64, low: i64, high: i64, whole: u64) -> u64 {
    let length = high.saturating_sub(low).max(1).unsigned_abs();
    let within = value.saturating_sub(low).max(0).unsigned_abs().min(length);
    thousandths(whole * 1000, within / (length / 1000).max(1)).min(whole * 1000) / 1000
}

/// The rules of cake-autorate.
#[derive(Clone, Debug)]
pub struct CakeAutorate {
    ways: [OneDirection; 2],
    reflectors: [Reflector; MOST_REFLECTORS],
    count: usize,
    carried: Carried,
    now: Nanos,
    answered: Nanos,
    checked_at: Nanos,
    compared_at: Nanos,
}

impl CakeAutorate {
    /// A controller of two shapers, in the order of [`Direction::BOTH`]. It knows `reflectors` reflectors and
    /// uses six of them.
    #[must_use]
    pub fn new(limits: [Limits; 2], reflectors: usize) -> CakeAutorate {
        let count = reflectors.min(MOST_REFLECTORS);
        let mut list = [Reflector::default(); MOST_REFLECTORS];
        for reflector in &mut list[..count.min(IN_USE)] {
            reflector.is_in_use = true;
        }
        let way = |way: usize| OneDirection {
            direction: Direction::BOTH[way],
            limits: limits[way],
            rate: limits[way].clamp(limits[way].start.0),
            rises: [0; WINDOW],
            found_at: Nanos::ZERO,
            decayed_at: Nanos::ZERO,
            raised_at: Nanos::ZERO,
        };
        CakeAutorate {
            ways: [way(0), way(1)],
            reflectors: list,
            count,
            carried: Carried::new(),
            now: Nanos::ZERO,
            answered: Nanos::ZERO,
            checked_at: Nanos::ZERO,
            compared_at: Nanos::ZERO,
        }
    }

    /// Replaces a reflector with the next one that is not in use, if there is one.
    fn replace(&mut self, bad: usize, cause: Cause) -> Option<Decision> {
        let spare = (1..self.count)
            .map(|step| (bad + step) % self.count)
            .find(|&number| !self.reflectors[number].is_in_use)?;
        self.reflectors[bad] = Reflector::default();
        self.reflectors[spare] = Reflector { is_in_use: true, ..Reflector::default() };
        let rate = Rate(self.ways[0].rate);
        Some(Decision { at: self.now, direction: Direction::Up, from: rate, to: rate, cause })
    }

    /// The checks that run every second and every minute.
    fn check(&mut self) -> Option<Decision> {
        let mut decision = None;
        if self.now.since(self.checked_at) >= Span::from_secs(1) {
            self.checked_at = self.now;
            for number in 0..self.count {
                let reflector = &mut self.reflectors[number];
                reflector.bad_seconds = (reflector.bad_seconds << 1 | u64::from(reflector.has_lost)) & CHECKS;
                reflector.has_lost = false;
                let lost = reflector.bad_seconds.count_ones();
                if reflector.is_in_use && lost >= OFFENCES {
                    decision = self.replace(number, Cause::Unanswered { reflector: number, lost });
                }
            }
        }
        if self.now.since(self.compared_at) >= COMPARED {
            self.compared_at = self.now;
            let smoothed =
                |reflector: &Reflector| reflector.smoothed[0].saturating_add(reflector.smoothed[1]);
            let in_use = self.reflectors.iter().filter(|reflector| reflector.has_answered);
            let least = in_use.map(smoothed).min().unwrap_or(0);
            let worst = (0..self.count).find(|&number| {
                let reflector = &self.reflectors[number];
                reflector.has_answered && smoothed(reflector).saturating_sub(least) > UNLIKE
            });
            if let Some(worst) = worst {
                let by = smoothed(&self.reflectors[worst]).saturating_sub(least);
                decision =
                    self.replace(worst, Cause::Unlike { reflector: worst, by: Span(by.unsigned_abs()) });
            }
        }
        decision
    }
}

impl Controller for CakeAutorate {
    fn sample(&mut self, now: Nanos, sample: Sample) -> Decisions {
        self.now = self.now.max(now);
        let now = self.now;
        if !self.uses(sample.reflector) {
            return [None; 2];
        }
        self.answered = now;
        let half = sample.delays.round_trip() / 2;
        let delays = match sample.delays {
            Delays::OneWay { up, down } => [up, down],
            Delays::RoundTrip(_) => [half; 2],
        };
        let reflector = &mut self.reflectors[sample.reflector];
        if !reflector.has_answered {
            reflector.has_answered = true;
            reflector.baselines = delays;
        }
        let mut decisions = [None; 2];
        for (way, decision) in decisions.iter_mut().enumerate() {
            let differs = delays[way].saturating_sub(reflector.baselines[way]);
            let follows = if differs < 0 { differs / 10 * 9 } else { differs / 1000 };
            reflector.baselines[way] = reflector.baselines[way].saturating_add(follows);
            let rise = delays[way].saturating_sub(reflector.baselines[way]);
            let change = rise.saturating_sub(reflector.smoothed[way]) / 1000;
            reflector.smoothed[way] = reflector.smoothed[way].saturating_add(change.saturating_mul(95));
            let load = self.carried.rate(Direction::BOTH[way], now, READING);
            *decision = self.ways[way].adjust(now, rise, sample.reflector, load);
        }
        decisions
    }

    fn lost(&mut self, now: Nanos, reflector: usize) -> Decisions {
        self.now = self.now.max(now);
        if self.uses(reflector) {
            self.reflectors[reflector].has_lost = true;
        }
        [None; 2]
    }

    fn traffic(&mut self, now: Nanos, traffic: Traffic) -> Decisions {
        self.now = self.now.max(now);
        self.carried.add(self.now, traffic.bytes);
        // While the link is dead, no reflector is to blame.
        let load = |way: usize| self.carried.rate(Direction::BOTH[way], self.now, READING);
        if self.now.since(self.answered) >= STALL && load(0).min(load(1)) < STALLED_LOAD {
            return [None; 2];
        }
        [self.check(), None]
    }

    fn rate(&self, direction: Direction) -> Rate {
        Rate(self.ways[index(direction)].rate)
    }

    fn uses(&self, reflector: usize) -> bool {
        self.reflectors[..self.count].get(reflector).is_some_and(|reflector| reflector.is_in_use)
    }
}

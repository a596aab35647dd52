//! Our controller.
//!
//! In each direction it does one of three things:
//!
//! * **Hold** a rate just below what the link was last seen to carry.
//! * **Climb** in steps if the traffic fills the rate and delay is low.
//! * **Drain** the queue on the link once delay has risen. The rate of the link is computed from the bytes
//!   that passed and the change in delay meanwhile. So the rate falls in one step to a value that drains the
//!   queue in a given time. It then rises to just below the rate of the link.
//!
//! Only samples sent after the end of the last drain count, and two in a row must agree. On a link that does
//! not change, each climb ends at the same rate, and the time until the next one doubles.

use super::carried::Carried;
use super::reflectors::Reflectors;
use super::{Cause, Controller, Decision, Decisions, Delays, Limits, Sample, Traffic};
use super::{index, rate_of, signed, thousandths};
use crate::{Direction, Nanos, Rate, Span};

/// Parameters of [`Follow`]. The defaults are for all kinds of links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// How many reflectors are probed at a time, 2 to [`super::MOST_REFLECTORS`]. Default 4: the median of
    /// three others shows which one is bad.
    pub reflectors: usize,
    /// The rise of delay that is accepted in addition to the noise of the link or the time of two full
    /// packets. Default 2.5 ms, half the target of CoDel (RFC 8289 §4.2). Useful values are 1 to 100 ms.
    pub accepted: Span,
    /// The most noise of the link that is added to it. Default 20 ms: more than that is a queue.
    pub most_noise: Span,
    /// The shaper is held at this share of the link's rate, thousandths, 500 to 1000. Default 920: this
    /// leaves room for small changes and lets a queue drain.
    pub margin: u64,
    /// The time in which a queue should drain. Default 120 ms. Shorter drains are steeper.
    pub drain: Span,
    /// The least share of the link's rate during a drain, thousandths. Default 200.
    pub drain_least: u64,
    /// How long a rate is held before a climb on a link without noise; less where packets wait anyway.
    /// Default 3 s.
    pub hold_least: Span,
    /// The longest such time: the time doubles with each climb that ends at the same rate, up to this.
    /// Default 16 s.
    pub hold_most: Span,
    /// By how much the first step of a climb exceeds the rate, thousandths, 20 to 500. Default 140: with the
    /// margin, this is a few per cent above the link.
    pub gain: u64,
    /// The largest such step, thousandths: the gain doubles with each step that meets no delay, up to this.
    /// Default 350.
    pub gain_most: u64,
    /// Minimum duration of a step. Default 200 ms: enough for some samples, and for TCP to fill the rate.
    pub step: Span,
    /// The load counts as full from this share of the rate on, thousandths. Default 750, as in cake-autorate.
    pub full: u64,
    /// The same for a further step of a climb, thousandths: TCP needs time to fill a rate. Default 900.
    pub fullest: u64,
    /// Without an answer for this long, and without traffic from the link, the link counts as dead. Default
    /// 600 ms: twelve probes.
    pub silence: Span,
    /// How long the rate stays at half the old one after a silence, before a higher one is tried. Default 300
    /// ms: the old queue may still have to drain.
    pub hold_back: Span,
    /// After this time without load, the rate returns to the start rate. Default 10 s.
    pub idle: Span,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            reflectors: 4,
            accepted: Span::from_micros(2500),
            most_noise: Span::from_millis(20),
            margin: 920,
            drain: Span::from_millis(120),
            drain_least: 200,
            hold_least: Span::from_secs(3),
            hold_most: Span::from_secs(16),
            gain: 140,
            gain_most: 350,
            step: Span::from_millis(200),
            full: 750,
            fullest: 900,
            silence: Span::from_millis(600),
            hold_back: Span::from_millis(300),
            idle: Span::from_secs(10),
        }
    }
}

/// The load is measured over this time.
const LOAD: Span = Span::from_millis(200);
/// A longer wait in the shaper's own queue shows that the shaper limits the traffic.
const WAITING: Span = Span::from_millis(5);
/// Delay is blamed on a direction whose load is at least this share of its rate, thousandths.
const BLAMED: u64 = 125;
/// If delay rises by at least this, ns, two samples are enough to measure the rate of the link.
const STEEP: i64 = 15_000_000;
/// The link is assumed to have at least this share of the shaper's rate, thousandths, so that the rate does
/// not fall too far at once.
const LARGEST_FALL: u64 = 125;
/// After this many drains in a row that do not lower the delay, the path must have become longer.
const FUTILE: u32 = 6;
/// The smallest step of the noise with a sample, ns.
const NOISE_STEP: i64 = 50_000;
/// Two rates of the link count as the same if they differ by at most this share, thousandths.
const SAME: u64 = 150;
/// Number of samples kept to measure the rate of the link.
const POINTS: usize = 4;

/// A sample in one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Point {
    sent: Nanos,
    came: Nanos,
    /// ns.
    rise: i64,
    reflector: usize,
}

/// What a shaper is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Hold {
        until: Nanos,
    },
    /// A step above what the link is known to carry.
    Climb {
        until: Nanos,
    },
    Drain {
        until: Nanos,
    },
}

/// The state of one direction.
#[derive(Clone, Debug)]
struct OneDirection {
    direction: Direction,
    limits: Limits,
    rate: u64,
    /// The rate of the link as last seen; 0: not seen yet.
    link: u64,
    state: State,
    /// Only samples sent at or after this time count.
    counts_from: Nanos,
    /// The latest samples that count, the newest last.
    points: [Point; POINTS],
    len: usize,
    /// Without a queue, three of four samples do not exceed this, ns.
    noise: i64,
    /// How long to hold the next rate.
    hold: Span,
    /// By how much the next step of a climb exceeds the rate, thousandths.
    gain: u64,
    /// The rate of the link when a queue was last found.
    ended_at: u64,
    /// Since when the load has been low.
    low_since: Option<Nanos>,
    /// Drains in a row that did not help, and the delay at the last one, ns.
    futile: u32,
    drained_at: i64,
}

impl OneDirection {
    fn new(direction: Direction, limits: Limits, params: &Params) -> OneDirection {
        OneDirection {
            direction,
            limits,
            rate: limits.clamp(limits.start.0),
            link: 0,
            state: State::Hold { until: Nanos::ZERO },
            counts_from: Nanos::ZERO,
            points: [Point::default(); POINTS],
            len: 0,
            noise: 0,
            hold: params.hold_least,
            gain: params.gain_most,
            ended_at: 0,
            low_since: None,
            futile: 0,
            drained_at: 0,
        }
    }

    fn points(&self) -> &[Point] {
        &self.points[POINTS - self.len..]
    }

    fn push(&mut self, point: Point) {
        self.points.rotate_left(1);
        self.points[POINTS - 1] = point;
        self.len = (self.len + 1).min(POINTS);
    }

    /// Forgets the samples so far, and ignores those sent before `from`.
    fn count_from(&mut self, from: Nanos) {
        self.counts_from = from;
        self.len = 0;
    }

    /// The rise that the last two samples agree on, ns.
    fn level(&self) -> Option<i64> {
        match *self.points() {
            [.., before, last] => Some(before.rise.min(last.rise)),
            _ => None,
        }
    }

    /// The rise that is accepted, ns.
    fn threshold(&self, params: &Params) -> i64 {
        let packets = Rate(self.rate).tx_time(crate::Bytes(2 * u64::from(crate::ETHERNET_FRAME)));
        let noise = self.noise.min(signed(params.most_noise)) / 2 * 3;
        let accepted = signed(params.accepted);
        accepted.saturating_add(signed(packets).max(noise))
    }

    /// Updates the estimate of a quantile. Steps up are three times as large as steps down, so the estimate
    /// settles where a quarter of the samples are above it.
    fn learn_noise(&mut self, rise: i64) {
        self.noise = if rise > self.noise { self.noise + 3 * NOISE_STEP } else { self.noise - NOISE_STEP };
        self.noise = self.noise.max(0);
    }

    /// The rate of the link, from the latest samples. Up: if a FIFO is never empty, what entered it between
    /// two arrivals leaves it between the two departures. Down: what arrived while the samples waited.
    fn measure(&self, carried: &Carried) -> u64 {
        let points = self.points();
        let (Some(first), Some(last)) = (points.first(), points.last()) else { return self.rate };
        let before = points[points.len().saturating_sub(2)];
        match self.direction {
            Direction::Up => {
                let first = if last.rise - before.rise >= STEEP { before } else { *first };
                let apart = last.sent.since(first.sent);
                let grew = last.rise - first.rise;
                let took = signed(apart).saturating_add(grew).max(signed(apart) / 4).max(1);
                rate_of(carried.between(Direction::Up, first.sent, last.sent), Span(took.unsigned_abs()))
            }
            Direction::Down => {
                let waited = before.rise.unsigned_abs().min(LOAD.0);
                let from = Nanos(before.came.0.saturating_sub(waited));
                rate_of(carried.between(Direction::Down, from, last.came), last.came.since(from))
            }
        }
    }

    fn set(&mut self, now: Nanos, rate: u64, cause: Cause) -> Option<Decision> {
        let from = Rate(self.rate);
        self.rate = self.limits.clamp(rate);
        Some(Decision { at: now, direction: self.direction, from, to: Rate(self.rate), cause })
    }

    /// Lowers the rate so that the queue on the link drains.
    fn drain(&mut self, now: Nanos, params: &Params, carried: &Carried) -> Option<Decision> {
        let (threshold, level) = (self.threshold(params), self.level()?);
        let last = *self.points().last()?;
        let floor = thousandths(self.rate, LARGEST_FALL);
        let link = self.measure(carried).min(self.rate.max(self.link)).max(floor).max(1);
        // A climb that ended where the last one did need not be repeated soon.
        let is_same = link.abs_diff(self.ended_at) <= thousandths(link, SAME);
        self.hold =
            if is_same { Span(self.hold.0 * 2).min(params.hold_most) } else { self.hold_least(params) };
        self.ended_at = link;
        self.gain = params.gain;
        self.link = link;
        // The rise of the delay is the length of the queue, ns. The part of the rate that is left free drains
        // it.
        let queue = last.rise.saturating_sub(self.noise).max(0).unsigned_abs();
        let free = (queue.saturating_mul(1000) / params.drain.0.max(1))
            .clamp(100, 1000 - params.drain_least.min(900));
        let takes = Span(queue.saturating_mul(1000) / free);
        self.state = State::Drain { until: now + takes };
        // Down, the traffic arrives at the rate of the shaper only a round trip later.
        self.count_from(now + takes);
        let cause = Cause::Delay {
            rise: Span(level.unsigned_abs()),
            threshold: Span(threshold.unsigned_abs()),
            link: Rate(link),
            reflector: last.reflector,
        };
        self.set(now, thousandths(link, 1000 - free), cause)
    }

    /// Decides on a new sample.
    fn judge(&mut self, now: Nanos, params: &Params, carried: &Carried) -> Option<Decision> {
        let level = self.level()?;
        if matches!(self.state, State::Drain { .. }) {
            return None;
        }
        let load = carried.rate(self.direction, now, LOAD);
        if level <= self.threshold(params) {
            self.futile = 0;
            let is_below = self.rate <= thousandths(self.link, params.margin) || load < self.rate / 2;
            if matches!(self.state, State::Hold { .. }) && is_below {
                let rise = self.points().last()?.rise;
                self.learn_noise(rise);
            }
            return None;
        }
        if load < thousandths(self.rate, BLAMED) {
            return None;
        }
        let is_lower = level < self.drained_at / 4 * 3;
        self.futile = if is_lower { 0 } else { self.futile + 1 };
        self.drained_at = level;
        self.drain(now, params, carried)
    }

    /// Decides by time alone. `settle` is how long a change of the shaper takes to reach the link.
    fn tick(
        &mut self,
        now: Nanos,
        settle: Span,
        wait: Option<Span>,
        carried: &Carried,
        params: &Params,
    ) -> Option<Decision> {
        let load = carried.rate(self.direction, now, LOAD);
        let is_full = load >= thousandths(self.rate, params.full) || wait.is_some_and(|wait| wait > WAITING);
        match self.state {
            State::Drain { until } if now >= until => {
                self.state = State::Hold { until: now + self.hold };
                self.count_from(now + settle);
                let cause = Cause::Drained { link: Rate(self.link) };
                self.set(now, thousandths(self.link, params.margin), cause)
            }
            State::Drain { .. } => None,
            State::Hold { .. } if !is_full => {
                let since = *self.low_since.get_or_insert(now);
                if now.since(since) < params.idle || self.rate == self.limits.clamp(self.limits.start.0) {
                    return None;
                }
                self.link = 0;
                self.hold = params.hold_least;
                self.state = State::Hold { until: now };
                self.set(now, self.limits.start.0, Cause::Idle { load: Rate(load) })
            }
            State::Hold { until } => {
                self.low_since = None;
                if now < until || self.rate >= self.limits.max.0 {
                    return None;
                }
                if load < thousandths(self.rate, params.fullest) {
                    return None;
                }
                self.state = State::Climb { until: now + params.step };
                let cause = Cause::Room {
                    load: Rate(load),
                    rise: Span(self.level().unwrap_or(0).unsigned_abs()),
                    threshold: Span(self.threshold(params).unsigned_abs()),
                };
                self.set(now, thousandths(self.rate, 1000 + self.gain), cause)
            }
            State::Climb { until } if now >= until => {
                self.state = State::Hold { until: now };
                // No delay so far, so the link can carry what passed.
                if load > self.link {
                    self.link = load;
                    self.gain = (self.gain * 2).min(params.gain_most);
                    if load > thousandths(self.ended_at, 1000 + SAME) {
                        self.hold = self.hold_least(params);
                    }
                }
                None
            }
            State::Climb { .. } => None,
        }
    }

    /// The shortest time to hold a rate. A climb ends with a short queue. That costs little where packets
    /// wait about as long anyway.
    fn hold_least(&self, params: &Params) -> Span {
        let accepted = 2 * params.accepted.0;
        let share = accepted.saturating_mul(1000) / accepted.saturating_add(self.noise.unsigned_abs()).max(1);
        Span(thousandths(thousandths(params.hold_least.0, share), share))
    }
}

/// Our controller; see the module's documentation. It takes a few kilobytes, of fixed size.
#[derive(Clone, Debug)]
pub struct Follow {
    params: Params,
    ways: [OneDirection; 2],
    reflectors: Reflectors,
    carried: Carried,
    /// The time of the last input.
    now: Nanos,
    /// The last answer of a reflector in use; `None` before the first.
    answered: Option<Nanos>,
    /// Since when the link has been dead.
    dead_since: Option<Nanos>,
    /// The round trip of the last answer.
    round_trip: Span,
    /// Whether the samples tell the directions apart.
    tells_ways: bool,
}

impl Follow {
    /// A controller of two shapers, in the order of [`Direction::BOTH`]. It knows `reflectors` reflectors, at
    /// most [`super::MOST_REFLECTORS`]; those beyond the number in use are spares.
    #[must_use]
    pub fn new(limits: [Limits; 2], reflectors: usize, params: Params) -> Follow {
        Follow {
            params,
            ways: [0, 1].map(|way: usize| OneDirection::new(Direction::BOTH[way], limits[way], &params)),
            reflectors: Reflectors::new(reflectors, params.reflectors),
            carried: Carried::new(),
            now: Nanos::ZERO,
            answered: None,
            dead_since: None,
            round_trip: Span::ZERO,
            tells_ways: true,
        }
    }

    /// Advances the clock of the inputs. It never goes back.
    fn advance(&mut self, now: Nanos) {
        self.now = self.now.max(now);
    }

    /// How long a change of a shaper takes to reach the link. Down, the senders learn of it from
    /// acknowledgements.
    fn settle(&self, way: usize) -> Span {
        if way == index(Direction::Down) { self.round_trip.min(LOAD) } else { Span::ZERO }
    }

    /// Answers have come back.
    fn revive(&mut self, since: Nanos) -> Decisions {
        let (now, params) = (self.now, self.params);
        let time = now.since(since);
        self.ways.each_mut().map(|way| {
            way.count_from(now);
            way.hold = params.hold_least;
            way.gain = params.gain_most;
            way.state = State::Hold { until: now + params.hold_back };
            let half = if way.link > 0 { way.link / 2 } else { way.limits.start.0 / 2 };
            way.link = half;
            way.set(now, half, Cause::Back { time })
        })
    }

    /// Nothing comes back.
    fn die(&mut self, since: Nanos) -> Decisions {
        let now = self.now;
        self.dead_since = Some(since);
        self.ways.each_mut().map(|way| {
            way.state = State::Hold { until: now };
            way.set(now, way.limits.min.0, Cause::Silence { time: now.since(since) })
        })
    }

    /// Whether a direction is not blamed: with round trips alone, delay is blamed on the fuller direction.
    fn is_spared(&self, way: usize) -> bool {
        let fullness = |way: usize| {
            let OneDirection { direction, rate, .. } = self.ways[way];
            self.carried.rate(direction, self.now, LOAD).saturating_mul(1000) / rate.max(1)
        };
        !self.tells_ways && fullness(way) < fullness(1 - way) / 2
    }

    /// Reports a reflector taken out of use.
    fn judge_reflector(&mut self, reflector: usize) -> Option<Decision> {
        let cause = self.reflectors.judge(self.now, reflector)?;
        self.ways[0].set(self.now, self.ways[0].rate, cause)
    }
}

impl Controller for Follow {
    fn sample(&mut self, now: Nanos, sample: Sample) -> Decisions {
        self.advance(now);
        let now = self.now;
        let Some(rises) = self.reflectors.sample(now, sample) else { return [None; 2] };
        self.answered = Some(now);
        self.round_trip = now.since(sample.sent);
        self.tells_ways = matches!(sample.delays, Delays::OneWay { .. });
        if let Some(since) = self.dead_since.take() {
            return self.revive(since);
        }
        let mut decisions = [None; 2];
        for (way, decision) in decisions.iter_mut().enumerate() {
            if sample.sent >= self.ways[way].counts_from {
                let point =
                    Point { sent: sample.sent, came: now, rise: rises[way], reflector: sample.reflector };
                self.ways[way].push(point);
                if !self.is_spared(way) {
                    *decision = self.ways[way].judge(now, &self.params, &self.carried);
                }
            }
            if self.ways[way].futile >= FUTILE {
                self.ways[way].futile = 0;
                self.reflectors.begin_anew();
                let rise = Span(self.ways[way].drained_at.unsigned_abs());
                let rate = self.ways[way].rate;
                *decision = self.ways[way].set(now, rate, Cause::LongerPath { rise });
            }
        }
        if decisions[0].is_none() {
            decisions[0] = self.judge_reflector(sample.reflector);
        }
        decisions
    }

    fn lost(&mut self, now: Nanos, reflector: usize) -> Decisions {
        self.advance(now);
        self.reflectors.lost(reflector);
        [self.judge_reflector(reflector), None]
    }

    fn traffic(&mut self, now: Nanos, traffic: Traffic) -> Decisions {
        self.advance(now);
        let now = self.now;
        self.carried.add(now, traffic.bytes);
        if self.dead_since.is_some() {
            return [None; 2];
        }
        let arrives = self.carried.rate(Direction::Down, now, LOAD);
        if let Some(answered) = self.answered
            && now.since(answered) >= self.params.silence
            && arrives < self.ways[index(Direction::Down)].limits.min.0 / 2
        {
            return self.die(answered);
        }
        let mut decisions = [None; 2];
        for (way, decision) in decisions.iter_mut().enumerate() {
            let settle = self.settle(way);
            *decision = self.ways[way].tick(now, settle, traffic.waits[way], &self.carried, &self.params);
        }
        decisions
    }

    fn rate(&self, direction: Direction) -> Rate {
        Rate(self.ways[index(direction)].rate)
    }

    fn uses(&self, reflector: usize) -> bool {
        self.reflectors.uses(reflector)
    }
}

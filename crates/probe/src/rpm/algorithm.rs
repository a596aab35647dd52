//! The algorithm (section "Final Algorithm"): load on more and more connections until the goodput is stable
//! and then until the responsiveness is stable, with probes all the time.

use std::collections::VecDeque;

use goodqueue::{Nanos, Rng, Span};

use super::figure::{Parts, Rank, Sample};
use super::{FOREIGN_BYTES, OWN_BYTES};

/// The parameters (section "Test Parameters").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// MAD: intervals in the moving average, at least 1.
    pub distance: usize,
    /// ID: length of an interval, more than zero.
    pub interval: Span,
    /// TMP: percentage of the fastest probes that count.
    pub trimmed_mean: u32,
    /// SDT: tolerance of the standard deviation, percent.
    pub tolerance: u32,
    /// INP: load-generating connections at the start.
    pub first: u32,
    /// INC: connections added at each interval.
    pub more: u32,
    /// MNP: most load-generating connections.
    pub most: u32,
    /// MPS: most probes per second, both kinds together.
    pub probes_per_second: u32,
    /// PTC: percentage of the capacity that probes may take.
    pub share: u32,
    /// Idle time before the load.
    pub idle: Span,
    /// The time limit, in intervals of load.
    pub limit: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            distance: 4,
            interval: Span::from_secs(1),
            trimmed_mean: 95,
            tolerance: 5,
            first: 1,
            more: 1,
            most: 16,
            probes_per_second: 100,
            share: 5,
            idle: Span::from_secs(2),
            limit: 20,
        }
    }
}

/// Probes per second of each kind while there is no load.
const IDLE_PROBES: u64 = 10;
/// Most probes of each kind that may be under way. If answers take seconds, more probes give no new
/// information.
const UNDER_WAY: u32 = 100;

/// An action for the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Open a connection for load, and report it with [`Algorithm::connected`].
    Open {
        /// Its number, from 0.
        connection: u32,
    },
    /// Begin the endless transfer on it.
    Load {
        /// Its number.
        connection: u32,
    },
    /// Send a foreign probe: a request for one byte on a new connection.
    Foreign,
    /// Send a self probe: a request for one byte on this connection.
    Own {
        /// Its number.
        connection: u32,
    },
}

/// The confidence in a figure (section "Confidence of Test-Results").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// The stage had fewer intervals than a moving average has.
    Low,
    /// It had enough intervals but was not stable.
    Medium,
    /// It was stable.
    High,
}

impl Confidence {
    /// Its name in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

/// The state at the end of an interval of load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Bytes that the load's receivers got in the interval.
    pub bytes: u64,
    /// The moving average of the goodput, bytes per second. The time before the load counts as zero, so the
    /// average is complete after as many intervals as it spans.
    pub goodput: f64,
    /// Connections for load that were requested.
    pub connections: u32,
    /// Parts of the last intervals' probes, if there are both kinds.
    pub parts: Option<Parts>,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The intervals, in order.
    pub intervals: Vec<Interval>,
    /// The probes that make the figure: those that completed in the last intervals that count.
    pub samples: Vec<Sample>,
    /// The probes without load.
    pub idle: Vec<Sample>,
    /// The parts of the figure.
    pub parts: Option<Parts>,
    /// The moving average of the goodput at the end, bytes per second.
    pub goodput: f64,
    /// The confidence in the goodput.
    pub goodput_confidence: Confidence,
    /// The confidence in the figure.
    pub confidence: Confidence,
    /// Probes that got no answer.
    pub failed: u64,
    /// Probes that were not sent because too many were under way.
    pub withheld: u64,
}

/// The stage, with the number of its first interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Goodput,
    Responsiveness { since: usize },
    Done { since: usize },
}

/// The algorithm for one direction.
///
/// Call, with a `now` that never goes backward: what happened, then [`Algorithm::handle_timeout`], then do
/// what [`Algorithm::poll_action`] says until it returns nothing; then wait until
/// [`Algorithm::poll_timeout`].
#[derive(Debug)]
pub struct Algorithm {
    settings: Settings,
    rng: Rng,
    /// Start of the load.
    start: Nanos,
    stage: Stage,
    /// Whether the goodput was stable once.
    is_saturated: bool,
    actions: VecDeque<Action>,
    opened: u32,
    /// Connections that are open.
    connected: Vec<u32>,
    is_loaded: bool,
    /// Bytes of the current interval.
    bytes: u64,
    intervals: Vec<Interval>,
    samples: Vec<Sample>,
    idle: Vec<Sample>,
    /// When the next probe may be sent, and whether it is a foreign one.
    next_probe: Nanos,
    is_foreign_next: bool,
    /// Bytes that probes may still take, a hundredfold.
    budget: u64,
    /// Probes under way: foreign, own.
    under_way: [u32; 2],
    failed: u64,
    withheld: u64,
}

impl Algorithm {
    /// An algorithm that begins its idle time at `now`, followed by its load. `seed` is for the choice of
    /// connections.
    #[must_use]
    pub fn new(settings: Settings, now: Nanos, seed: u64) -> Algorithm {
        let settings = Settings {
            distance: settings.distance.max(1),
            interval: settings.interval.max(Span(1)),
            first: settings.first.clamp(1, settings.most.max(1)),
            most: settings.most.max(1),
            probes_per_second: settings.probes_per_second.max(1),
            ..settings
        };
        let mut algorithm = Algorithm {
            settings,
            rng: Rng::stream(seed, 0, "rpm"),
            start: now + settings.idle,
            stage: Stage::Goodput,
            is_saturated: false,
            actions: VecDeque::new(),
            opened: 0,
            connected: Vec::new(),
            is_loaded: false,
            bytes: 0,
            intervals: Vec::new(),
            samples: Vec::new(),
            idle: Vec::new(),
            next_probe: now,
            is_foreign_next: true,
            budget: 0,
            under_way: [0; 2],
            failed: 0,
            withheld: 0,
        };
        // The first connection carries self probes before it carries load.
        algorithm.open(1);
        algorithm
    }

    /// Start of the load.
    #[must_use]
    pub fn start(&self) -> Nanos {
        self.start
    }

    /// Whether there is nothing more to measure.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(self.stage, Stage::Done { .. })
    }

    /// Intervals of load that have ended.
    #[must_use]
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    fn open(&mut self, count: u32) {
        for _ in 0..count.min(self.settings.most - self.opened) {
            self.actions.push_back(Action::Open { connection: self.opened });
            self.opened += 1;
        }
    }

    /// A connection for load is open.
    pub fn connected(&mut self, connection: u32) {
        self.connected.push(connection);
        if self.is_loaded {
            self.actions.push_back(Action::Load { connection });
        }
    }

    /// The receivers of the load got this many more bytes.
    pub fn transferred(&mut self, bytes: u64) {
        self.bytes += bytes;
        let most = 100 * 2 * (FOREIGN_BYTES + OWN_BYTES);
        self.budget = self.budget.saturating_add(bytes.saturating_mul(self.settings.share.into())).min(most);
    }

    /// A probe is complete.
    pub fn completed(&mut self, sample: Sample) {
        self.landed(matches!(sample.answer, super::Answer::Foreign { .. }));
        if sample.at < self.start {
            self.idle.push(sample);
        } else if sample.began >= self.start && !self.is_done() {
            self.samples.push(sample);
        }
    }

    /// A probe got no answer.
    pub fn failed(&mut self, is_foreign: bool) {
        self.landed(is_foreign);
        self.failed += 1;
    }

    fn landed(&mut self, is_foreign: bool) {
        let count = &mut self.under_way[usize::from(!is_foreign)];
        *count = count.saturating_sub(1);
    }

    /// What to do next, each action once.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When to call [`Algorithm::handle_timeout`] at the latest; `None` when it is done.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Nanos> {
        let end = if self.is_loaded { self.end_of_interval() } else { self.start };
        (!self.is_done()).then(|| end.min(self.next_probe))
    }

    fn end_of_interval(&self) -> Nanos {
        let ended = self.intervals.len() as u64 + 1;
        self.start + Span(self.settings.interval.0.saturating_mul(ended))
    }

    /// Begins the load, ends intervals and sends probes that are due.
    pub fn handle_timeout(&mut self, now: Nanos) {
        if !self.is_loaded && now >= self.start {
            self.is_loaded = true;
            self.actions.extend(self.connected.iter().map(|&connection| Action::Load { connection }));
            self.open(self.settings.first - self.opened.min(self.settings.first));
            // The capacity is unknown: allow one pair.
            self.budget = 100 * (FOREIGN_BYTES + OWN_BYTES);
        }
        while self.is_loaded && !self.is_done() && now >= self.end_of_interval() {
            self.end_interval();
        }
        if !self.is_done() && now >= self.next_probe {
            self.probe(now);
        }
    }

    /// Sends a probe if there is room for it. The two kinds alternate at equal intervals, so their numbers
    /// are equal.
    fn probe(&mut self, now: Nanos) {
        let per_second =
            if self.is_loaded { u64::from(self.settings.probes_per_second) } else { 2 * IDLE_PROBES };
        let gap = Span(1_000_000_000 / per_second);
        self.next_probe = (self.next_probe + gap).max(now + Span(gap.0 / 2));
        let (cost, kind) = if self.is_foreign_next { (FOREIGN_BYTES, 0) } else { (OWN_BYTES, 1) };
        if self.is_loaded && self.budget < 100 * cost {
            return;
        }
        if self.under_way[kind] >= UNDER_WAY {
            self.withheld += 1;
            self.is_foreign_next = !self.is_foreign_next;
            return;
        }
        let action = if self.is_foreign_next {
            Action::Foreign
        } else {
            // "uniformly and randomly select from the active load-generating connections"
            let Ok(count) = u64::try_from(self.connected.len()) else { return };
            if count == 0 {
                return;
            }
            let at = usize::try_from(self.rng.below(count)).unwrap_or(0);
            Action::Own { connection: self.connected[at] }
        };
        if self.is_loaded {
            self.budget -= 100 * cost;
        }
        self.under_way[kind] += 1;
        self.is_foreign_next = !self.is_foreign_next;
        self.actions.push_back(action);
    }

    /// The probes that completed in the last intervals that count, up to the end of interval `last`.
    fn recent(&self, last: usize) -> impl Iterator<Item = &Sample> {
        let end_of = |ended: usize| self.start + Span(self.settings.interval.0.saturating_mul(ended as u64));
        let [from, to] = [(last + 1).saturating_sub(self.settings.distance), last + 1].map(end_of);
        self.samples.iter().filter(move |sample| sample.at >= from && sample.at < to)
    }

    fn end_interval(&mut self) {
        let Settings { distance, interval, trimmed_mean, tolerance, limit, .. } = self.settings;
        let index = self.intervals.len();
        let bytes = std::mem::take(&mut self.bytes);
        let before = self.intervals.iter().rev().take(distance - 1).map(|one| one.bytes).sum::<u64>();
        let goodput = (before + bytes) as f64 / (distance as f64 * interval.as_secs_f64());
        let parts = Parts::of(self.recent(index), Rank::TrimmedMean(trimmed_mean));
        self.intervals.push(Interval { bytes, goodput, connections: self.opened, parts });
        match self.stage {
            Stage::Goodput => {
                if self.is_stable(0, tolerance, |one| Some(one.goodput)) {
                    self.is_saturated = true;
                    self.stage = Stage::Responsiveness { since: index + 1 };
                }
            }
            Stage::Responsiveness { since } => {
                if self.is_stable(since, tolerance, |one| one.parts.map(|parts| parts.rpm())) {
                    self.stage = Stage::Done { since };
                }
            }
            Stage::Done { .. } => {}
        }
        if self.intervals.len() >= limit && !self.is_done() {
            let since = match self.stage {
                Stage::Responsiveness { since } => since,
                _ => self.intervals.len(),
            };
            self.stage = Stage::Done { since };
        }
        if !self.is_done() {
            self.open(self.settings.more);
        }
    }

    /// Whether the (population) standard deviation of the last values is less than the tolerance, in percent
    /// of the last one.
    fn is_stable(&self, since: usize, tolerance: u32, of: impl Fn(&Interval) -> Option<f64>) -> bool {
        let distance = self.settings.distance;
        let last = &self.intervals[since.min(self.intervals.len())..];
        let Some(from) = last.len().checked_sub(distance) else { return false };
        let Some(values) = last[from..].iter().map(of).collect::<Option<Vec<f64>>>() else { return false };
        let Some(&current) = values.last() else { return false };
        deviation(&values) < f64::from(tolerance) / 100.0 * current
    }

    /// The outcome so far.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let Settings { distance, tolerance, .. } = self.settings;
        let last = self.intervals.len().checked_sub(1);
        let since = match self.stage {
            Stage::Goodput => self.intervals.len(),
            Stage::Responsiveness { since } | Stage::Done { since } => since,
        };
        let confidence = |intervals: usize, is_stable: bool| match intervals {
            _ if is_stable => Confidence::High,
            few if few < distance => Confidence::Low,
            _ => Confidence::Medium,
        };
        let is_stable = self.is_stable(since, tolerance, |one| one.parts.map(|parts| parts.rpm()));
        Outcome {
            samples: last.map(|last| self.recent(last).copied().collect()).unwrap_or_default(),
            idle: self.idle.clone(),
            parts: last.and_then(|last| self.intervals[last].parts),
            goodput: last.map_or(0.0, |last| self.intervals[last].goodput),
            goodput_confidence: confidence(self.intervals.len(), self.is_saturated),
            confidence: confidence(self.intervals.len() - since.min(self.intervals.len()), is_stable),
            failed: self.failed,
            withheld: self.withheld,
            intervals: self.intervals.clone(),
        }
    }
}

/// The standard deviation of the population.
fn deviation(values: &[f64]) -> f64 {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt()
}

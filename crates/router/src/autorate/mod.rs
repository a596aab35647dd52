//! Follows a link whose rate varies: the controller [`goodqueue::autorate::Follow`], with real reflectors and
//! the shapers of an interface.
//!
//! [`Autorate::step`] asks a reflector, reads the shapers' counters, and gives the shapers the rates that the
//! controller has decided. A [`Shaper`] is what it needs of them: [`Kernel`] is the kernel's queueing
//! disciplines, and a program can have queues of its own.

pub mod icmp;
mod kernel;
mod pinger;

use std::time::{Duration, Instant};

use goodqueue::autorate::{Controller, Decision, Decisions, Follow, Limits, Params, Traffic};
use goodqueue::{Bytes, Direction, Nanos, Rate, Span};

use crate::Result;
pub use kernel::Kernel;
use pinger::Event;
pub use pinger::Pinger;

/// A probe is sent this often: 20 a second.
const PROBE: Duration = Duration::from_millis(50);
/// Counters are read this often.
const STEP: Duration = Duration::from_millis(25);
/// After a longer pause, such as a sleeping laptop, the steps start again from now.
const LATE: Duration = Duration::from_secs(1);

/// The shapers of both directions of an interface.
pub trait Shaper {
    /// Reads the counters.
    ///
    /// # Errors
    /// If a shaper or the interface is gone.
    fn read(&mut self) -> Result<Reading>;

    /// Gives a direction another rate. Packets that wait go on waiting.
    ///
    /// # Errors
    /// If a shaper or the interface is gone.
    fn set(&mut self, direction: Direction, rate: Rate) -> Result<()>;
}

/// The counters of two shapers, in the order of [`Direction::BOTH`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// How long ago the counters had these values.
    pub age: Duration,
    /// Bytes since some moment, Ethernet headers included: up, those that left the shaper; down, those that
    /// arrived from the link, also if the shaper dropped them.
    pub passed: [u64; 2],
    /// Bytes that wait in the shapers.
    pub waiting: [u64; 2],
}

/// The state of an interface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Now {
    /// The rates of the shapers: up, down.
    pub rates: [Rate; 2],
    /// What passed since the last reading, bit/s.
    pub load_bps: [f64; 2],
    /// How long packets wait in the shapers.
    pub waits: [Span; 2],
    /// The last round trip to a reflector.
    pub round_trip: Option<Span>,
}

/// A link that is followed.
#[derive(Debug)]
pub struct Autorate<S> {
    shaper: S,
    follow: Follow,
    pinger: Pinger,
    /// When the next step ends, and when the next probe leaves.
    next: [Instant; 2],
    counted: Option<[u64; 2]>,
    rates: [Rate; 2],
    /// Since the last look.
    passed: [u64; 2],
    looked: Instant,
    waits: [Span; 2],
    round_trip: Option<Span>,
}

impl<S: Shaper> Autorate<S> {
    /// Follows the link with `shaper`, whose rates are those at the beginning of `limits`: up, down.
    #[must_use]
    pub fn new(shaper: S, pinger: Pinger, limits: [Limits; 2]) -> Autorate<S> {
        Autorate {
            shaper,
            follow: Follow::new(limits, pinger.count(), Params::default()),
            pinger,
            next: [Instant::now() + STEP, Instant::now()],
            counted: None,
            rates: limits.map(|limits| limits.start),
            passed: [0; 2],
            looked: Instant::now(),
            waits: [Span::ZERO; 2],
            round_trip: None,
        }
    }

    /// Runs the next 25 ms; returns what was decided.
    ///
    /// # Errors
    /// Those of [`Shaper`].
    pub fn step(&mut self) -> Result<Vec<Decision>> {
        let mut decided = Vec::new();
        let [end, probe] = self.next;
        let now = Instant::now();
        if now >= probe {
            let follow = &self.follow;
            self.pinger.ask(|reflector| follow.uses(reflector));
            self.next[1] = probe + PROBE;
        }
        while let Some(event) = self.pinger.wait(end) {
            let decisions = match event {
                Event::Answer(at, sample) => {
                    self.count(&mut decided)?;
                    self.round_trip = Some(at.since(sample.sent));
                    self.follow.sample(self.pinger.now(), sample)
                }
                Event::Lost(reflector) => self.follow.lost(self.pinger.now(), reflector),
            };
            self.take(decisions, &mut decided)?;
        }
        self.count(&mut decided)?;
        self.next[0] = end + STEP;
        if now > end + LATE {
            self.next = [now + STEP, now];
        }
        Ok(decided)
    }

    /// Reads the counters, and tells the controller.
    fn count(&mut self, decided: &mut Vec<Decision>) -> Result<()> {
        let Reading { age, passed, waiting } = self.shaper.read()?;
        let age = u64::try_from(age.as_nanos()).unwrap_or(u64::MAX);
        let at = Nanos(self.pinger.now().0.saturating_sub(age));
        let before = self.counted.replace(passed).unwrap_or(passed);
        let bytes = [0, 1].map(|way: usize| passed[way].saturating_sub(before[way]));
        self.waits = [0, 1].map(|way| self.rates[way].tx_time(Bytes(waiting[way])));
        self.passed = [0, 1].map(|way| self.passed[way] + bytes[way]);
        let decisions = self.follow.traffic(at, Traffic { bytes, waits: self.waits.map(Some) });
        self.take(decisions, decided)
    }

    /// Gives the shapers their rates.
    fn take(&mut self, decisions: Decisions, decided: &mut Vec<Decision>) -> Result<()> {
        decided.extend(decisions.into_iter().flatten());
        for (way, direction) in Direction::BOTH.into_iter().enumerate() {
            let rate = self.follow.rate(direction);
            if self.rates[way] != rate {
                self.shaper.set(direction, rate)?;
                self.rates[way] = rate;
            }
        }
        Ok(())
    }

    /// The current state. The load is since the last call.
    pub fn now(&mut self) -> Now {
        let seconds = self.looked.elapsed().as_secs_f64().max(1e-3);
        self.looked = Instant::now();
        let passed = std::mem::take(&mut self.passed);
        Now {
            rates: self.rates,
            load_bps: passed.map(|bytes| bytes as f64 * 8.0 / seconds),
            waits: self.waits,
            round_trip: self.round_trip,
        }
    }

    /// Ends the probes; returns the shaper.
    pub fn end(self) -> S {
        self.shaper
    }
}

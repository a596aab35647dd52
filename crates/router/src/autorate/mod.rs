//! Follows a link whose rate varies: the controller [`goodqueue::autorate::Follow`], with real reflectors and
//! the kernel's shapers.
//!
//! [`Autorate::start`] shapes an interface as [`crate::sqm`] does. [`Autorate::step`] asks a reflector, reads
//! the queues' counters, and gives the shapers the rates that the controller has decided. At the end it
//! restores everything.

pub mod icmp;
mod pinger;

use std::net::IpAddr;
use std::time::{Duration, Instant};

use goodqueue::autorate::{
    Controller, Decision, Decisions, Follow, Limits, MOST_REFLECTORS, Params, Traffic,
};
use goodqueue::{Bytes, Direction, Rate, Span};
use goodqueue_wire::Lock;
use goodqueue_wire::netlink::{Interface, Route, interfaces};

use crate::error::{ENODEV, ENOENT};
use crate::sqm::{self, Outcome, plan};
use crate::tc::{Change, Installed, installed};
use crate::{Error, Result};
use pinger::{Event, Pinger};

/// A probe is sent this often: 20 a second.
const PROBE: Duration = Duration::from_millis(50);
/// Counters are read this often.
const STEP: Duration = Duration::from_millis(25);
/// After a longer pause, such as a sleeping laptop, the steps start again from now.
const LATE: Duration = Duration::from_secs(1);
/// The Ethernet header, which is not counted for arriving packets.
const ETHERNET: u64 = 14;

/// The settings of [`Autorate`].
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The interface, its queues and its link. The rates are those at the beginning.
    pub shaper: sqm::Settings,
    /// The range of rates for each shaper: up, down.
    pub limits: [Limits; 2],
    /// The reflectors to ask, 2 to [`MOST_REFLECTORS`].
    pub reflectors: Vec<IpAddr>,
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

/// A link that is followed. Dropping it restores the previous state.
pub struct Autorate {
    shaper: sqm::Settings,
    route: Route,
    interface: Interface,
    ifb: u32,
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
    /// Tells other processes that the rates change.
    held: Option<Lock>,
}

impl Autorate {
    /// Shapes the interface. The returned texts say what was found and cleaned up.
    ///
    /// # Errors
    /// Those of [`sqm::start`]; `Refused` for a wrong number of reflectors; `Missing` without `CAP_NET_RAW`.
    pub fn start(settings: Settings, fall_back: bool) -> Result<(Autorate, Vec<String>)> {
        let count = settings.reflectors.len();
        if !(2..=MOST_REFLECTORS).contains(&count) {
            return Err(Error::Refused(format!(
                "{count} reflectors: give 2 to {MOST_REFLECTORS}, so that a bad one can be told from a bad link"
            )));
        }
        // Open the sockets first: if that fails, nothing has been touched.
        let pinger = Pinger::open(&settings.shaper.interface, &settings.reflectors)?;
        let mut route = Route::open()?;
        let (Outcome { plan, settings: shaper, notes, .. }, held) = sqm::follow(&settings.shaper, fall_back)?;
        let all = interfaces(&mut route)?;
        let ifb = plan.shaped.ifb().and_then(|ifb| all.iter().find(|interface| interface.name == ifb));
        let autorate = Autorate {
            follow: Follow::new(settings.limits, count, Params::default()),
            rates: settings.limits.map(|limits| limits.start),
            interface: sqm::find(&all, &shaper.interface)?.clone(),
            ifb: ifb.map_or(0, |ifb| ifb.index),
            shaper,
            route,
            pinger,
            next: [Instant::now() + STEP, Instant::now()],
            counted: None,
            passed: [0; 2],
            looked: Instant::now(),
            waits: [Span::ZERO; 2],
            round_trip: None,
            held: Some(held),
        };
        Ok((autorate, notes))
    }

    /// Runs the next 25 ms; returns what was decided.
    ///
    /// # Errors
    /// `Kernel` or `Refused` if the interface or a shaper is gone, or the IFB has another name.
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
        let all = installed(&mut self.route)?;
        let find = |index: u32, is_meant: fn(&Installed) -> bool| {
            let found = all.iter().find(|qdisc| qdisc.index == index && is_meant(qdisc));
            found.map(|found| found.counts).ok_or_else(|| self.gone())
        };
        let ours = |qdisc: &Installed| qdisc.is_root() && qdisc.handle == sqm::HANDLE;
        let up = find(self.interface.index, ours)?;
        let arrived = find(self.interface.index, Installed::is_ingress)?;
        let down = find(self.ifb, ours)?;
        let total = [up.bytes, arrived.bytes + ETHERNET * u64::from(arrived.packets)];
        let before = self.counted.replace(total).unwrap_or(total);
        let bytes = [0, 1].map(|way: usize| total[way].saturating_sub(before[way]));
        self.waits = [0, 1].map(|way| self.rates[way].tx_time(Bytes([up, down][way].backlog.into())));
        self.passed = [0, 1].map(|way| self.passed[way] + bytes[way]);
        let traffic = Traffic { bytes, waits: self.waits.map(Some) };
        let decisions = self.follow.traffic(self.pinger.now(), traffic);
        self.take(decisions, decided)
    }

    /// Gives the shapers their rates.
    fn take(&mut self, decisions: Decisions, decided: &mut Vec<Decision>) -> Result<()> {
        decided.extend(decisions.into_iter().flatten());
        for (way, direction) in Direction::BOTH.into_iter().enumerate() {
            let rate = self.follow.rate(direction);
            if self.rates[way] != rate {
                self.set(direction, rate)?;
                self.rates[way] = rate;
            }
        }
        Ok(())
    }

    fn set(&mut self, direction: Direction, rate: Rate) -> Result<()> {
        let before = self.rates[direction as usize];
        let of = |rate: Rate| {
            let (up, down) = if direction == Direction::Up { (Some(rate), None) } else { (None, Some(rate)) };
            plan(&sqm::Settings { up, down, ..self.shaper.clone() }, &self.interface)
        };
        let changes = of(rate)?.after(of(before)?);
        let is_gone = |error: &Error| matches!(error, Error::Kernel { source, .. } if matches!(source.errno(), Some(ENOENT | ENODEV)));
        match self.make(&changes) {
            // The kernel looks interfaces up by name.
            Err(error) if is_gone(&error) && self.has_new_name()? => self.make(&changes),
            made => made,
        }
        .map_err(|error| if is_gone(&error) { self.gone() } else { error })
    }

    /// Makes changes that were planned for the name that the interface had at the beginning.
    fn make(&mut self, changes: &[Change]) -> Result<()> {
        let (then, now) = (&self.shaper.interface, &self.interface.name);
        changes.iter().try_for_each(|change| change.clone().moved(then, now).make(&mut self.route))
    }

    /// Whether the interface has been renamed; if so, takes over its new name.
    fn has_new_name(&mut self) -> Result<bool> {
        let all = interfaces(&mut self.route)?;
        let now = all.into_iter().find(|interface| interface.index == self.interface.index);
        let now = now.filter(|now| now.name != self.interface.name);
        let is_new = now.is_some();
        self.interface.name = now.map_or_else(|| std::mem::take(&mut self.interface.name), |now| now.name);
        Ok(is_new)
    }

    fn gone(&self) -> Error {
        Error::Refused(format!(
            "the shaper of {} is gone: somebody else has changed it, or the interface",
            self.shaper.interface
        ))
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

    /// Restores the previous state; the text says what that is.
    ///
    /// # Errors
    /// Those of [`sqm::stop`].
    pub fn stop(mut self) -> Result<String> {
        self.put_back()
    }

    fn put_back(&mut self) -> Result<String> {
        self.held = None;
        let all = interfaces(&mut self.route)?;
        // It may have a new name.
        let now = all.iter().find(|interface| interface.index == self.interface.index);
        sqm::stop(&now.unwrap_or(&self.interface).name)
    }
}

impl Drop for Autorate {
    fn drop(&mut self) {
        if self.held.is_some() {
            let _ = self.put_back();
        }
    }
}

//! The kernel's shapers, as [`crate::sqm`] sets them up.

use std::time::Duration;

use goodqueue::{Direction, Rate};
use goodqueue_wire::Lock;
use goodqueue_wire::netlink::{Interface, Route, interfaces};

use super::{Reading, Shaper};
use crate::error::{ENODEV, ENOENT};
use crate::sqm::{self, Outcome, Settings, plan};
use crate::tc::{Change, Installed, installed};
use crate::{Error, Result};

/// The Ethernet header, which is not counted for arriving packets.
const ETHERNET: u64 = 14;

/// The kernel's shapers of an interface. Dropping them restores the previous state.
pub struct Kernel {
    settings: Settings,
    route: Route,
    interface: Interface,
    ifb: u32,
    /// The rates in force: up, down.
    rates: [Rate; 2],
    /// Tells other processes that the rates change.
    held: Option<Lock>,
}

impl Kernel {
    /// Shapes the interface in both directions. The returned texts say what was found and cleaned up. With
    /// `fall_back`, the layout `simple` replaces queues that the kernel lacks.
    ///
    /// # Errors
    /// Those of [`sqm::start`]; `Refused` if a direction has no rate.
    pub fn start(settings: &Settings, fall_back: bool) -> Result<(Kernel, Vec<String>)> {
        let (Some(up), Some(down)) = (settings.up, settings.down) else {
            return Err(Error::Refused("both directions need a rate to begin with".into()));
        };
        let mut route = Route::open()?;
        let (Outcome { plan, settings, notes, .. }, held) = sqm::follow(settings, fall_back)?;
        let all = interfaces(&mut route)?;
        let ifb = plan.shaped.ifb().and_then(|ifb| all.iter().find(|interface| interface.name == ifb));
        let kernel = Kernel {
            interface: sqm::find(&all, &settings.interface)?.clone(),
            ifb: ifb.map_or(0, |ifb| ifb.index),
            settings,
            route,
            rates: [up, down],
            held: Some(held),
        };
        Ok((kernel, notes))
    }

    /// Makes changes that were planned for the name that the interface had at the beginning.
    fn make(&mut self, changes: &[Change]) -> Result<()> {
        let (then, now) = (&self.settings.interface, &self.interface.name);
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
            "the shaper of {} is gone: somebody else has changed it, or the interface; start autorate again",
            self.settings.interface
        ))
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

impl Shaper for Kernel {
    fn read(&mut self) -> Result<Reading> {
        let all = installed(&mut self.route)?;
        let find = |index: u32, is_meant: fn(&Installed) -> bool| {
            let found = all.iter().find(|qdisc| qdisc.index == index && is_meant(qdisc));
            found.map(|found| found.counts).ok_or_else(|| self.gone())
        };
        let ours = |qdisc: &Installed| qdisc.is_root() && qdisc.handle == sqm::HANDLE;
        let up = find(self.interface.index, ours)?;
        let arrived = find(self.interface.index, Installed::is_ingress)?;
        let down = find(self.ifb, ours)?;
        Ok(Reading {
            age: Duration::ZERO,
            passed: [up.bytes, arrived.bytes + ETHERNET * u64::from(arrived.packets)],
            waiting: [up.backlog.into(), down.backlog.into()],
        })
    }

    fn set(&mut self, direction: Direction, rate: Rate) -> Result<()> {
        let before = self.rates[direction as usize];
        let of = |rate: Rate| {
            let (up, down) = if direction == Direction::Up { (Some(rate), None) } else { (None, Some(rate)) };
            plan(&Settings { up, down, ..self.settings.clone() }, &self.interface)
        };
        let changes = of(rate)?.after(of(before)?);
        let is_gone = |error: &Error| matches!(error, Error::Kernel { source, .. } if matches!(source.errno(), Some(ENOENT | ENODEV)));
        match self.make(&changes) {
            // The kernel looks interfaces up by name.
            Err(error) if is_gone(&error) && self.has_new_name()? => self.make(&changes),
            made => made,
        }
        .map_err(|error| if is_gone(&error) { self.gone() } else { error })?;
        self.rates[direction as usize] = rate;
        Ok(())
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        if self.held.is_some() {
            let _ = self.put_back();
        }
    }
}

//! Our own queues, in this program: what `goodqueue shape` runs, at rates that follow the link.

use std::time::Duration;

use goodqueue::autorate::Limits;
use goodqueue::drr::By;
use goodqueue::spec::QueueParams;
use goodqueue::{Direction, QueueSpec, Rate};
use goodqueue_experiment::Error;
use goodqueue_experiment::live::link::{Link, with_instances};
use goodqueue_report::Record;
use goodqueue_router::autorate::{Reading, Shaper};
use goodqueue_router::shape::Detour;
use goodqueue_router::sqm::Settings;

use crate::link::between::empty;
use crate::link::control::Control;
use crate::shape::{Guard, plan, prepare};
use crate::sqm::told;

/// The queues of both directions, on the way of an interface's frames. Dropping them restores the interface.
pub(super) struct Ours {
    /// The first to be dropped: afterwards no frame comes to the queues.
    detour: Detour,
    link: Link,
    guard: Guard,
    /// For `goodqueue watch`.
    control: Option<Control>,
    settings: Settings,
}

/// The queues of both directions, up and down, at these rates.
///
/// # Errors
/// [`Error::Usage`] if there is no such queue, or its rate cannot be changed.
pub(super) fn queues(settings: &Settings, rates: [Rate; 2]) -> Result<[QueueSpec; 2], Error> {
    let [up, down] = rates;
    Ok([queue(settings, Direction::Up, up)?, queue(settings, Direction::Down, down)?])
}

fn queue(settings: &Settings, direction: Direction, rate: Rate) -> Result<QueueSpec, Error> {
    let queue = with_instances(settings.own_queue(rate, direction).map_err(told)?)?;
    if let QueueParams::Cake(cake) = queue.params()
        && cake.autorate_ingress
    {
        return Err(Error::Usage(format!(
            "--queue {queue}: autorate-ingress would change the rate too; leave it out"
        )));
    }
    match queue.shaped_rate() {
        Some(own) if own != rate => Err(Error::Usage(format!(
            "--queue {queue}: it would always shape to {own}; autorate changes the rate of cake, cake_mq and \
             htb, and that of the line below a queue that does not shape, such as fq_codel"
        ))),
        _ => Ok(queue),
    }
}

/// Whether all packets wait in one queue, the probes behind the others.
pub(super) fn is_one_for_all(queue: &QueueSpec) -> bool {
    let has_flows = |queue: &QueueSpec| match queue.params() {
        QueueParams::Drr(classes) => classes.by == By::Flow,
        other => other.properties().flows().is_some(),
    };
    !has_flows(queue) && !queue.leaf().is_some_and(|leaf| has_flows(&leaf))
}

impl Ours {
    /// Sends the interface's frames through the queues, at the rates of the beginning. The queues have places
    /// for what waits at the highest rates.
    ///
    /// # Errors
    /// [`Error::Usage`] or [`Error::Machine`] if the interface cannot be shaped; nothing is changed then.
    pub(super) fn start(settings: Settings, limits: [Limits; 2]) -> Result<Ours, Error> {
        let most = limits.map(|limits| limits.max);
        let queues = queues(&settings, most)?;
        let plan = plan(most, &queues[1])?;
        let (detour, link, guard) = prepare(&settings.interface, &plan, [&queues[0], &queues[1]])?;
        let name = &settings.interface;
        let control = Control::offered(&format!("autorate {name}"), &[name.as_str()], false);
        let mut ours = Ours { detour, link, guard, control, settings };
        for (direction, limits) in Direction::BOTH.into_iter().zip(limits) {
            ours.set(direction, limits.start).map_err(told)?;
        }
        ours.detour.take().map_err(told)?;
        Ok(ours)
    }

    /// Restores the interface; the text says so. What waits leaves first.
    ///
    /// # Errors
    /// [`Error::Machine`] if the kernel refuses, or the engine panicked.
    pub(super) fn stop(self) -> Result<String, Error> {
        let Ours { mut detour, link, guard, control, settings } = self;
        drop(control);
        let released = detour.release().map_err(told);
        empty(&link);
        let is_whole = link.is_running();
        let record = link.stop(Record::default())?;
        for reason in record.runs.iter().flat_map(|run| &run.validity.reasons).filter(|_| is_whole) {
            announce!("goodqueue: the queues were not as exact as they should be: {reason}");
        }
        drop(detour);
        guard.dismiss();
        released.map(|()| format!("{} has no shaper again, as before", settings.interface))
    }
}

impl Shaper for Ours {
    /// What `goodqueue watch` asks for is answered here, which takes about 20 ms.
    fn read(&mut self) -> goodqueue_router::Result<Reading> {
        if !self.link.is_running() {
            let name = &self.settings.interface;
            let why = format!("the shaper of {name} is gone, with the interface; start autorate again");
            return Err(goodqueue_router::Error::Refused(why));
        }
        if let Some(control) = &self.control {
            control.apply(&mut self.link);
        }
        let (at, [up, down]) = self.link.look_now();
        Ok(Reading {
            age: Duration::from_nanos(goodqueue_wire::now().since(at).0),
            passed: [up.sent_bytes, down.arrived_bytes],
            waiting: [up.waiting_bytes, down.waiting_bytes],
        })
    }

    fn set(&mut self, direction: Direction, rate: Rate) -> goodqueue_router::Result<()> {
        queue(&self.settings, direction, rate)
            .and_then(|queue| self.link.reshape(direction, &queue, rate))
            .map_err(|error| goodqueue_router::Error::Refused(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_some_queues_probes_wait_behind_all_others() {
        let is_one = |text: &str| is_one_for_all(&text.parse().expect(text));
        for text in ["pfifo:100", "codel", "pie", "dualpi2", "prio,leaf=codel", "pfifo_fast", "drr,by=dscp"] {
            assert!(is_one(text), "{text}");
        }
        for text in [
            "cake",
            "cake_mq",
            "fq_codel",
            "fq_pie",
            "sfq",
            "fq",
            "htb,rate=9mbit",
            "prio,leaf=fq_codel",
            "drr",
        ] {
            assert!(!is_one(text), "{text}");
        }
    }
}

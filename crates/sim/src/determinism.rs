//! Compares two simulations: whether they are identical, and where they diverge.

use std::fmt;

use goodqueue::{Nanos, Span};

use crate::Simulation;
use crate::checkpoints::{Checkpoints, LoggedEvent};
use crate::error::BuildError;
use crate::owner::LaneOwner;
use crate::scenario::Scenario;

/// Simulations are run again in steps of this length, so that they can be stopped.
const STEP: Span = Span::from_millis(100);

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its number, counted from 1.
    pub number: u64,
    /// When it happened.
    pub at: Nanos,
    /// The part of the simulation that it belongs to.
    pub owner: LaneOwner,
    /// Names of the nodes that [`LaneOwner::nodes`] gives.
    pub nodes: String,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {} at {:.9} s, {}", self.number, Span(self.at.0).as_secs_f64(), self.owner)?;
        if self.nodes.is_empty() { Ok(()) } else { write!(f, " ({})", self.nodes) }
    }
}

/// How two simulations differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The first events that differ, one from each simulation; `None` if that simulation had ended. If time
    /// and owner are equal, the events differ in their effects.
    At(Option<Event>, Option<Event>),
    /// They diverged between these two events, but not when they were run again.
    Fleeting(u64, u64),
    /// The search was stopped.
    Stopped,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let event = |event: &Option<Event>| match event {
            Some(event) => event.to_string(),
            None => "the end".into(),
        };
        match self {
            Difference::At(first, second) => {
                write!(f, "the first run had {}, the second {}", event(first), event(second))
            }
            Difference::Fleeting(first, last) => {
                write!(f, "between events {first} and {last}, but not when they were run again")
            }
            Difference::Stopped => write!(f, "the search for the first event was stopped"),
        }
    }
}

/// Finds where two simulations diverged, from their checkpoints; `None` if they did not. Reruns both up to
/// the first unequal checkpoint, and records and compares the events since the last equal one. Between steps,
/// calls `go_on` to ask whether to continue.
///
/// # Errors
/// Those of [`Simulation::new`].
pub fn difference(
    first: (&Scenario, &Checkpoints),
    second: (&Scenario, &Checkpoints),
    go_on: &dyn Fn() -> bool,
) -> Result<Option<Difference>, BuildError> {
    if first.1 == second.1 {
        return Ok(None);
    }
    let range = first.1.parting(second.1);
    let again =
        |(scenario, checkpoints): (&Scenario, &Checkpoints)| again(scenario, checkpoints.until, range, go_on);
    let (Some(one), Some(two)) = (again(first)?, again(second)?) else {
        return Ok(Some(Difference::Stopped));
    };
    let equal = one.events.iter().zip(&two.events).take_while(|(a, b)| a == b).count();
    let event = |log: &Log, scenario: &Scenario| {
        log.events.get(equal).map(|event| {
            let owner = log.simulation.owner(event.lane);
            Event { number: event.number, at: event.at, owner, nodes: owner.nodes(scenario) }
        })
    };
    let events = (event(&one, first.0), event(&two, second.0));
    Ok(Some(match events {
        (None, None) => Difference::Fleeting(range.0, range.1),
        (one, two) => Difference::At(one, two),
    }))
}

/// Number of events after which `go_on` is asked.
const MOST_EVENTS: u64 = 200_000;

struct Log {
    events: Vec<LoggedEvent>,
    simulation: Simulation,
}

fn again(
    scenario: &Scenario,
    until: Nanos,
    (first, last): (u64, u64),
    go_on: &dyn Fn() -> bool,
) -> Result<Option<Log>, BuildError> {
    let mut simulation = Simulation::new(scenario)?;
    simulation.record_events(first, last);
    while simulation.now() < until && simulation.events() < last {
        if !go_on() {
            return Ok(None);
        }
        let next = (simulation.now() + STEP).min(until);
        while !simulation.run_some(next, MOST_EVENTS) {
            simulation.take_samples();
            if !go_on() {
                return Ok(None);
            }
        }
        simulation.take_samples();
    }
    Ok(Some(Log { events: simulation.recorded_events().to_vec(), simulation }))
}

//! Whether two simulations did the same, and where they parted.

use std::fmt;

use goodqueue::{Nanos, Span};

use crate::Simulation;
use crate::engine::Glimpse;
use crate::error::BuildError;
use crate::scenario::Scenario;

/// Events between two marks of a [`Trail`].
pub const MARK_EVERY: u64 = 1 << 16;

/// Step in which simulations are run again, so that they can be stopped.
const STEP: Span = Span::from_millis(100);

/// What happened in a simulation, in brief: equal trails mean equal events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trail {
    /// The hash after every [`MARK_EVERY`] events.
    pub(crate) marks: Vec<u64>,
    pub(crate) events: u64,
    pub(crate) hash: u64,
    pub(crate) until: Nanos,
}

impl Trail {
    /// Number of events.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The first event that can differ and the last one that is known to be among those that do: those
    /// between the last equal mark and the first unequal one.
    fn parting(&self, other: &Trail) -> (u64, u64) {
        let equal = self.marks.iter().zip(&other.marks).take_while(|(a, b)| a == b).count() as u64;
        (equal * MARK_EVERY + 1, (equal + 1) * MARK_EVERY)
    }
}

/// Which part of a simulation an event belongs to. Numbers are places in the scenario's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Starts and stops of flows.
    Script,
    /// A link's queue, ring and line.
    Port(usize),
    /// The far end of a link.
    Arrival(usize),
    /// A switch.
    Switch(usize),
    /// A radio.
    Radio(usize),
    /// A report of a link's device to a sender that waits for it.
    Report(usize),
    /// A browser, or a player, whose numbers follow on theirs.
    Browser(usize),
    /// A video call or a game.
    Talk(usize),
    /// A probe.
    Probe(usize),
    /// A UDP source.
    Source(usize),
    /// A timer of a flow's sender.
    Sender(usize),
    /// A timer of a flow's receiver.
    Receiver(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Script => write!(f, "script"),
            Place::Port(link) => write!(f, "port of link {link}"),
            Place::Arrival(link) => write!(f, "arrival on link {link}"),
            Place::Switch(switch) => write!(f, "switch {switch}"),
            Place::Radio(radio) => write!(f, "radio {radio}"),
            Place::Report(link) => write!(f, "report of link {link}'s device"),
            Place::Probe(probe) => write!(f, "probe {probe}"),
            Place::Browser(browser) => write!(f, "browser or player {browser}"),
            Place::Talk(talk) => write!(f, "call or game {talk}"),
            Place::Source(source) => write!(f, "source {source}"),
            Place::Sender(flow) => write!(f, "sender of flow {flow}"),
            Place::Receiver(flow) => write!(f, "receiver of flow {flow}"),
        }
    }
}

impl Place {
    /// The names of the two nodes between which it is, as in `router to server`; empty for the script, browsers, players, radios and
    /// switches.
    #[must_use]
    pub fn owner(self, scenario: &Scenario) -> String {
        let ends = match self {
            Place::Script | Place::Browser(_) | Place::Radio(_) | Place::Switch(_) => None,
            Place::Port(index) | Place::Arrival(index) | Place::Report(index) => {
                scenario.links.get(index).map(|x| (x.from, x.to))
            }
            Place::Probe(index) => scenario.probes.get(index).map(|x| (x.from, x.to)),
            Place::Talk(index) => scenario.talks.get(index).map(|x| (x.from, x.to)),
            Place::Source(index) => scenario.sources.get(index).map(|x| (x.from, x.to)),
            Place::Sender(index) | Place::Receiver(index) => {
                scenario.flows.get(index).map(|x| (x.from, x.to))
            }
        };
        let name = |node: usize| scenario.nodes.get(node).map_or("", String::as_str);
        ends.map_or_else(String::new, |(from, to)| format!("{} to {}", name(from), name(to)))
    }
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its number, counted from 1.
    pub number: u64,
    /// When it happened.
    pub at: Nanos,
    /// Whose it was.
    pub place: Place,
    /// Names of the nodes that [`Place::owner`] gives.
    pub owner: String,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {} at {:.9} s, {}", self.number, Span(self.at.0).as_secs_f64(), self.place)?;
        if self.owner.is_empty() { Ok(()) } else { write!(f, " ({})", self.owner) }
    }
}

/// How two simulations part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The first events that differ, of the one and of the other; `None` where it had come to its end.
    /// Two events of equal time and place differ in what they caused.
    At(Option<Event>, Option<Event>),
    /// They parted between these two events, and did not when they were run again.
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

/// Where two simulations parted, by their trails; `None` where they did the same. Both are run again up to
/// the first unequal mark, their events since the last equal one kept and compared. `go_on` is asked
/// between steps.
///
/// # Errors
/// Those of [`Simulation::new`].
pub fn difference(
    first: (&Scenario, &Trail),
    second: (&Scenario, &Trail),
    go_on: &dyn Fn() -> bool,
) -> Result<Option<Difference>, BuildError> {
    if first.1 == second.1 {
        return Ok(None);
    }
    let range = first.1.parting(second.1);
    let again = |(scenario, trail): (&Scenario, &Trail)| again(scenario, trail.until, range, go_on);
    let (Some(one), Some(two)) = (again(first)?, again(second)?) else {
        return Ok(Some(Difference::Stopped));
    };
    let equal = one.events.iter().zip(&two.events).take_while(|(a, b)| a == b).count();
    let event = |log: &Log, scenario: &Scenario| {
        log.events.get(equal).map(|glimpse| {
            let place = log.simulation.place(glimpse.lane);
            Event { number: glimpse.number, at: glimpse.at, place, owner: place.owner(scenario) }
        })
    };
    let events = (event(&one, first.0), event(&two, second.0));
    Ok(Some(match events {
        (None, None) => Difference::Fleeting(range.0, range.1),
        (one, two) => Difference::At(one, two),
    }))
}

/// Events between two questions whether to go on.
const MOST_EVENTS: u64 = 200_000;

struct Log {
    events: Vec<Glimpse>,
    simulation: Simulation,
}

fn again(
    scenario: &Scenario,
    until: Nanos,
    (first, last): (u64, u64),
    go_on: &dyn Fn() -> bool,
) -> Result<Option<Log>, BuildError> {
    let mut simulation = Simulation::new(scenario)?;
    simulation.keep_events(first, last);
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
    Ok(Some(Log { events: simulation.kept_events().to_vec(), simulation }))
}

//! The agenda: the clock, and what happens next.

use goodqueue::{Nanos, Span};

use crate::lanes::{Lane, Lanes, NEVER};
use crate::owner::LaneOwner;
use crate::scenario::Scenario;
use crate::timers::Timers;

/// The clock, the lanes of the network and the timers of the hosts.
#[derive(Debug)]
pub(crate) struct Agenda {
    pub(super) now: Nanos,
    /// The time that the clock shows at the end of the current run.
    pub(super) horizon: Nanos,
    lanes: Lanes,
    /// The owner of each of `lanes`. The lanes of timers follow.
    owners: Vec<LaneOwner>,
    timers: Timers,
    first: FirstTimers,
}

/// The first timer of each kind, in the order in which simultaneous timers fire. The script has timer 0.
#[derive(Clone, Copy, Debug)]
struct FirstTimers {
    reports: Lane,
    probes: Lane,
    sources: Lane,
    web_clients: Lane,
    talks: Lane,
    quic: Lane,
    flows: Lane,
}

const SCRIPT: Lane = 0;

impl Agenda {
    /// An agenda with the timers of the scenario, and no lanes yet.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn new(scenario: &Scenario) -> Agenda {
        let reports = SCRIPT + 1;
        let probes = reports + scenario.links.len() as Lane;
        let sources = probes + scenario.probes.len() as Lane;
        let web_clients = sources + scenario.sources.len() as Lane;
        let fetchers = scenario.browsers.len() + scenario.players.len() + scenario.rpm.len();
        let talks = web_clients + fetchers as Lane;
        let quic = talks + scenario.talks.len() as Lane;
        // One for each flow, over TCP too, if any is over QUIC.
        let has_quic = scenario.flows.iter().any(|flow| flow.quic.is_some());
        let flows = quic + if has_quic { scenario.flows.len() as Lane } else { 0 };
        let mut agenda = Agenda {
            now: Nanos::ZERO,
            horizon: Nanos::ZERO,
            lanes: Lanes::new(0),
            owners: Vec::new(),
            timers: Timers::default(),
            first: FirstTimers { reports, probes, sources, web_clients, talks, quic, flows },
        };
        agenda.make_room(scenario.flows.len());
        agenda
    }

    /// Makes room for the timers of `flows` flows.
    pub(super) fn make_room(&mut self, flows: usize) {
        self.timers.grow(self.first.flows as usize + 2 * flows);
    }

    /// Gives each owner a lane, in this order.
    pub(super) fn set_owners(&mut self, owners: Vec<LaneOwner>) {
        self.lanes = Lanes::new(owners.len());
        self.owners = owners;
    }

    /// Sets the time of the next event of `lane`; [`NEVER`] for none.
    pub(super) fn set(&mut self, lane: Lane, at: Nanos) {
        self.lanes.set(lane, at);
    }

    /// Moves the next event of `lane` to `at` if it is later.
    pub(super) fn bring_forward(&mut self, lane: Lane, at: Nanos) {
        if at < self.lanes.at(lane) {
            self.lanes.set(lane, at);
        }
    }

    /// Sets the timer of `owner` to fire at `at`, unless it is already set for an earlier time.
    // What the inline attributes of this file gain: docs/performance.md, "Inlining".
    #[inline(always)]
    pub(super) fn wake(&mut self, owner: LaneOwner, at: Nanos) {
        if let Some(timer) = self.timer(owner) {
            self.timers.wake(timer, at);
        }
    }

    /// The timer of `owner`; `None` if the owner has a lane instead.
    fn timer(&self, owner: LaneOwner) -> Option<Lane> {
        let first = &self.first;
        Some(match owner {
            LaneOwner::Port(_)
            | LaneOwner::Arrival(_)
            | LaneOwner::Poll(_)
            | LaneOwner::Switch(_)
            | LaneOwner::Radio(_) => return None,
            LaneOwner::Script => SCRIPT,
            LaneOwner::Report(link) => first.reports + link,
            LaneOwner::Probe(probe) => first.probes + probe,
            LaneOwner::Source(source) => first.sources + source,
            LaneOwner::WebClient(client) => first.web_clients + client,
            LaneOwner::Talk(talk) => first.talks + talk,
            LaneOwner::Quic(flow) => first.quic + flow,
            LaneOwner::Sender(flow) => first.flows + 2 * flow,
            LaneOwner::Receiver(flow) => first.flows + 2 * flow + 1,
        })
    }

    /// The owner of a timer.
    fn owner_of_timer(&self, timer: Lane) -> LaneOwner {
        let first = &self.first;
        if timer >= first.flows {
            let (flow, is_receiver) = ((timer - first.flows) / 2, (timer - first.flows) % 2 == 1);
            if is_receiver { LaneOwner::Receiver(flow) } else { LaneOwner::Sender(flow) }
        } else if timer >= first.quic {
            LaneOwner::Quic(timer - first.quic)
        } else if timer >= first.talks {
            LaneOwner::Talk(timer - first.talks)
        } else if timer >= first.web_clients {
            LaneOwner::WebClient(timer - first.web_clients)
        } else if timer >= first.sources {
            LaneOwner::Source(timer - first.sources)
        } else if timer >= first.probes {
            LaneOwner::Probe(timer - first.probes)
        } else if timer >= first.reports {
            LaneOwner::Report(timer - first.reports)
        } else {
            LaneOwner::Script
        }
    }

    /// The owner of `lane`, which may be a timer's.
    pub(super) fn owner(&self, lane: Lane) -> LaneOwner {
        let owner = self.owners.get(lane as usize).copied();
        owner.unwrap_or_else(|| self.owner_of_timer(lane - self.first_timer()))
    }

    /// The first lane after those of the network. The lanes of timers begin there.
    #[allow(clippy::cast_possible_truncation)]
    fn first_timer(&self) -> Lane {
        self.owners.len() as Lane
    }

    /// The lane and the owner of the next event, if it is due by `until`. The clock advances to it. A lane
    /// keeps its time until its owner sets another.
    #[inline(always)]
    pub(super) fn next(&mut self, until: Nanos) -> Option<(Lane, LaneOwner)> {
        loop {
            let (at, lane) = self.lanes.first();
            let timer = self.timers.first();
            if at <= timer {
                if at > until {
                    return None;
                }
                self.now = at;
                return Some((lane, self.owners[lane as usize]));
            }
            if timer > until {
                return None;
            }
            if let Some(due) = self.timers.pop() {
                self.now = timer;
                return Some((self.first_timer() + due, self.owner_of_timer(due)));
            }
        }
    }

    /// The latest time that an event can have.
    pub(super) const LAST: Nanos = Nanos(NEVER.0 - 1);
}

/// A time of the scenario on the clock of the simulation.
pub(super) fn moment(start: Span) -> Nanos {
    Nanos::ZERO + start
}

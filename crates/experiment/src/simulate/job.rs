//! A simulation to run, and what is measured in it.

use goodqueue::{Rate, Span};
use goodqueue_probe::Test;
use goodqueue_report::{Direction, LinkPlan};
use goodqueue_sim::Scenario;

use crate::Turn;

/// One queue's turn: a scenario, and the test that its flows and probes are.
#[derive(Clone, Debug)]
pub struct Job {
    /// What is simulated. Its flows and probes are those of `test`, in the same order; further ones may
    /// follow, which no series is kept of. Behind its own flows and probes, `test` has the series of a test
    /// of responsiveness ([`Test::with_rpm`]).
    pub scenario: Scenario,
    /// What is measured.
    pub test: Test,
    /// Where the flows of user-defined traffic are among those of the scenario.
    pub traffic: Vec<TrafficRun>,
    /// Place in the scenario's links of the bottleneck towards the server.
    pub up: usize,
    /// And of that towards the client.
    pub down: usize,
    /// The queues that the test's packets pass.
    pub path: Vec<PathLink>,
    /// The queue in its canonical words, or what else the reports call the run.
    pub queue: String,
    /// Numbers of the traced flows.
    pub traced: Vec<usize>,
    /// Its own link, where that is not the record's.
    pub link: Option<LinkPlan>,
}

/// A group of flows whose completion times are measured.
#[derive(Clone, Debug)]
pub struct TrafficRun {
    /// Number of its first flow in the scenario; the others follow.
    pub first: usize,
    /// The time that each flow would take alone, without slow start and queues.
    pub ideal: Vec<Span>,
}

/// A queue that the test's packets pass.
#[derive(Clone, Debug)]
pub struct PathLink {
    /// Place in the scenario's links of the link that it is in front of.
    pub link: usize,
    /// Which way the link goes.
    pub direction: Direction,
    /// The link's name in reports (`client to modem`).
    pub name: String,
    /// The queue in its canonical words, with the shaper above it.
    pub queue: String,
    /// Rate to which packets are shaped there.
    pub shaped: Option<Rate>,
}

impl Job {
    /// Flows of the scenario without those of traffic.
    pub(crate) fn own_flows(&self) -> usize {
        self.traffic.first().map_or(self.scenario.flows.len(), |traffic| traffic.first)
    }

    /// The job as a monitor sees it.
    pub(crate) fn turn(&self) -> Turn {
        Turn { label: self.queue.clone(), idle: self.test.idle, load: self.test.load }
    }
}

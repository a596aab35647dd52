//! A simulation to run, and what is measured in it.

use goodqueue::{Rate, Span};
use goodqueue_probe::Test;
use goodqueue_report::{Direction, LinkPlan};
use goodqueue_sim::Scenario;

use crate::Turn;

/// One queue's turn: a scenario, and the test that its flows and probes form.
#[derive(Clone, Debug)]
pub struct Job {
    /// What is simulated. Its flows and probes are those of `test`, in the same order; further ones may
    /// follow, for which no series is kept. After its own flows and probes, `test` has the series of a
    /// responsiveness test ([`Test::with_rpm`]).
    pub scenario: Scenario,
    /// What is measured.
    pub test: Test,
    /// The position of the flows of user-defined traffic among those of the scenario.
    pub traffic: Vec<TrafficRun>,
    /// Index of the bottleneck towards the server in the scenario's links.
    pub up: usize,
    /// The same towards the client.
    pub down: usize,
    /// The queues that the test's packets pass.
    pub path: Vec<PathLink>,
    /// The queue in its canonical form, or another name of the run in reports.
    pub queue: String,
    /// Numbers of the traced flows.
    pub traced: Vec<usize>,
    /// Its own link, if it differs from the record's.
    pub link: Option<LinkPlan>,
}

/// A group of flows whose completion times are measured.
#[derive(Clone, Debug)]
pub struct TrafficRun {
    /// Number of its first flow in the scenario; the others follow.
    pub first: usize,
    /// The time that each flow would take alone, without slow start or queues.
    pub ideal: Vec<Span>,
}

/// A queue that the test's packets pass.
#[derive(Clone, Debug)]
pub struct PathLink {
    /// Index of the link behind it in the scenario's links.
    pub link: usize,
    /// The direction of the link.
    pub direction: Direction,
    /// The link's name in reports (`client to modem`).
    pub name: String,
    /// The queue in its canonical form, with the shaper above it.
    pub queue: String,
    /// Rate to which packets are shaped there.
    pub shaped: Option<Rate>,
}

impl Job {
    /// Flows of the scenario without those of user-defined traffic.
    pub(crate) fn own_flows(&self) -> usize {
        self.traffic.first().map_or(self.scenario.flows.len(), |traffic| traffic.first)
    }

    /// The job as a monitor sees it.
    pub(crate) fn turn(&self) -> Turn {
        Turn { label: self.queue.clone(), idle: self.test.idle, load: self.test.load }
    }
}

//! What is to be simulated, and what of it is measured.

use goodqueue::Span;
use goodqueue_probe::Test;
use goodqueue_report::LinkPlan;
use goodqueue_sim::Scenario;

/// One queue's turn: a scenario, and the test that its flows and probes are.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// What is simulated. Its flows and probes are those of `test`, in the same order; further ones may
    /// follow, which no series is kept of.
    pub scenario: Scenario,
    /// What is measured.
    pub test: Test,
    /// Place in the scenario's links of the bottleneck towards the server.
    pub up: usize,
    /// And of that towards the client.
    pub down: usize,
    /// The queue in its canonical words, or what else the reports call the run.
    pub queue: String,
    /// Numbers of the flows that are looked into.
    pub traced: Vec<usize>,
    /// Its own link, where that is not the record's.
    pub link: Option<LinkPlan>,
}

impl Job {
    /// Virtual time from the beginning to the planned end of the load.
    pub(crate) fn length(&self) -> Span {
        self.test.idle + self.test.load
    }
}

//! An experiment with every number filled in, ready to run.

use std::path::PathBuf;

use goodqueue::{Rate, Span};
use goodqueue_probe::Test;
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{Discipline, Flow, Scenario};

use crate::Error;
use crate::simulate::TrafficRun;
use crate::text::claims::Reproduction;
use crate::text::starts;
use crate::traffic::{MOST_FLOWS, Traffic};

/// An experiment with every number filled in.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// One line about it.
    pub about: String,
    /// The test; its flows and probes have the same numbers in every scenario.
    pub test: Test,
    /// The seeds; each variant is run with each.
    pub seeds: Vec<u64>,
    /// The variants, in the order of the file.
    pub variants: Vec<Variant>,
    /// Where the results go.
    pub output: Option<PathBuf>,
    /// What the user must know before trusting the result.
    pub warnings: Vec<String>,
    /// Its published figures.
    pub reproduction: Option<Reproduction>,
}

/// One side of a comparison.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Its name in reports.
    pub label: String,
    /// One line about it, for pictures; may be empty.
    pub about: String,
    /// All of it except the seed and what the seed decides.
    pub scenario: Scenario,
    /// The directed link towards the servers whose queue the reports show.
    pub up: usize,
    /// The same, towards the client.
    pub down: usize,
    /// Base round-trip time to each server host: propagation, no serialization.
    pub rtt: Vec<Span>,
    /// The largest random delay with which flows, sources, browsers, players, video calls and games begin;
    /// zero: no delay.
    pub start_jitter: Span,
    /// User-defined traffic. Its flows are not in the scenario: they follow from the seed
    /// ([`Variant::with_seed`]).
    pub traffic: Vec<Traffic>,
    /// The view of each directed link.
    pub(crate) notes: Vec<Note>,
    /// The view of each switch.
    pub(crate) switches: Vec<String>,
}

/// Properties of a directed link that the scenario does not have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Note {
    /// `client to modem`.
    pub(crate) name: String,
    /// The line as text; empty if there is none.
    pub(crate) line: String,
    /// The queue as text, if the scenario's link has none: on the air.
    pub(crate) queue: String,
    /// Whether the queue under comparison is here.
    pub(crate) compared: bool,
    /// The nominal rate of the line; `None` if it has none.
    pub(crate) rate: Option<Rate>,
}

impl Variant {
    /// The scenario of one repetition, with the start times that follow from the seed. The flows of its
    /// traffic follow those of the test.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> Scenario {
        let mut scenario = Scenario { seed, ..self.scenario.clone() };
        starts::scatter(&mut scenario, self.start_jitter);
        scenario.flows.extend(self.traffic_flows(seed).unwrap_or_default().into_iter().flatten());
        scenario
    }

    /// Where the flows of each traffic are in the scenario of one repetition, and their ideal times.
    pub(crate) fn traffic_runs(&self, seed: u64) -> Vec<TrafficRun> {
        let mut at = self.scenario.flows.len();
        let of = |(flows, traffic): (Vec<Flow>, &Traffic)| {
            let ideal = flows.iter().map(|flow| {
                let is_kept = flow.after.is_some_and(|after| after.kept);
                traffic.way.ideal(flow.bytes.unwrap_or(0), is_kept)
            });
            let run = TrafficRun { first: at, ideal: ideal.collect() };
            at += run.ideal.len();
            run
        };
        self.traffic_flows(seed).unwrap_or_default().into_iter().zip(&self.traffic).map(of).collect()
    }

    /// The flows of each traffic; `None` if there may be more than a run can have.
    pub(crate) fn traffic_flows(&self, seed: u64) -> Option<Vec<Vec<Flow>>> {
        let mut count = 0;
        let own = self.scenario.flows.len();
        let of = |(number, traffic): (usize, &Traffic)| {
            let place = (number, own + count);
            let flows = traffic.flows(seed, place, self.start_jitter, MOST_FLOWS - count)?;
            count += flows.len();
            Some(flows)
        };
        self.traffic.iter().enumerate().map(of).collect()
    }

    /// The same network with another queue under comparison, for example a user-defined one
    /// ([`Discipline::own`]). The variant gets the queue's name. If no queue is under comparison, the queue
    /// goes in front of the two bottlenecks that the reports show. Shaper, ring and line stay as they are.
    ///
    /// # Errors
    /// [`Error::Usage`] if no such place takes a queue: a radio and the common memory of a switch have their
    /// own queues.
    ///
    /// ```
    /// use goodqueue_experiment::{Experiment, Request};
    ///
    /// let request = Request { queue: Some("codel".into()), ..Request::default() };
    /// let mut experiment = Experiment::of(&request)?;
    /// let sfq = experiment.variants[0].with_queue("sfq".parse().expect("a queue"))?;
    /// experiment.variants.push(sfq);
    /// assert_eq!(experiment.variants[1].label, "sfq");
    /// # Ok::<(), goodqueue_experiment::Error>(())
    /// ```
    pub fn with_queue(&self, queue: Discipline) -> Result<Variant, Error> {
        let mut variant = Variant { label: queue.to_string(), about: about(&queue), ..self.clone() };
        let (is_compared, mut has_place) = (self.notes.iter().any(|note| note.compared), false);
        for (index, link) in variant.scenario.links.iter_mut().enumerate() {
            let is_here = if is_compared {
                self.notes.get(index).is_some_and(|note| note.compared)
            } else {
                index == self.up || index == self.down
            };
            if let (true, Some(port)) = (is_here, &mut link.port) {
                port.queue = queue.clone();
                has_place = true;
            }
        }
        if !has_place {
            return Err(Error::Usage(format!(
                "{}: no place for {queue}: it has queues of its own",
                self.label
            )));
        }
        Ok(variant)
    }
}

/// The line about a queue; empty if there is none.
pub(crate) fn about(queue: &Discipline) -> String {
    match queue {
        Discipline::Queue(spec) => spec.info().doc.to_owned(),
        Discipline::Classes(_) | Discipline::Own(_) => String::new(),
    }
}

impl Experiment {
    /// Gives flow `flow` of the test, from 0, this congestion control, for example a user-defined one
    /// ([`CcKind::own`]). The flow has its name in all tables and charts: `TCP bbr 1` becomes `TCP NAME 1`,
    /// and `TCP upload::1` `TCP upload::1 NAME`.
    ///
    /// # Errors
    /// [`Error::Usage`] if the test has no such flow.
    pub fn set_cc(&mut self, flow: usize, cc: CcKind) -> Result<(), Error> {
        let Some(plan) = self.test.flows.get_mut(flow) else {
            let flows = self.test.flows.len();
            return Err(Error::Usage(format!("flow {flow}: the test has {flows}, numbered from 0")));
        };
        plan.name = if plan.name.contains(&plan.cc) {
            plan.name.replace(&plan.cc, cc.name())
        } else {
            format!("{} {cc}", plan.name)
        };
        cc.name().clone_into(&mut plan.cc);
        let flows = self.variants.iter_mut().filter_map(|variant| variant.scenario.flows.get_mut(flow));
        flows.for_each(|own| own.cc = cc);
        Ok(())
    }
}

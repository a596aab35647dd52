//! One queue's turn: the simulation runs from one measurement to the next.

use std::sync::atomic::{AtomicBool, Ordering};

use goodqueue::{Bytes, ETHERNET_FRAME, Nanos, Rate, Span};
use goodqueue_probe::rpm::PROBES;
use goodqueue_probe::{End as FlowSide, Flow, Sample, Test};
use goodqueue_report::trace::Trace;
use goodqueue_report::{MISSING, Responsiveness, Run, Simulation as Identity, TransferSeries};
use goodqueue_sim::{Checkpoints, Discipline, FlowView, Simulation, Transfer};

use super::air::{self, Airs};
use super::passed::{Passed, moment, queue_end};
use super::trace::Tracer;
use super::{Job, TrafficRun};
use crate::Error;
use crate::Latest;
use crate::collect::{Collector, QueueEnd, parameters};
use crate::own_cc;
use crate::record::direction;
use crate::rpm;
use crate::text::trees;

/// Time between two samples of the queues, as in the live arm.
const LOOK: Span = Span::from_millis(100);
/// Longest wait for the last probes after the load. Probes that are still under way after it are recorded as
/// such.
const DRAIN: Span = Span::from_secs(120);
/// Full packets of both directions after which the caller is asked whether to continue: some hundredths of a
/// second of work.
const PATIENCE: u64 = 20_000;
/// Events and deliveries after which the caller is also asked, and the recorded events are taken: if links
/// take almost no time, a slice may contain any number of them.
const MOST_EVENTS: u64 = 200_000;

/// The outcome of a turn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    /// The measurements.
    pub run: Run,
    /// The checkpoints of what happened, if they were kept.
    pub checkpoints: Checkpoints,
    /// The events of the traced flows.
    pub traces: Vec<Trace>,
}

/// The connection between a turn and its caller.
pub(crate) struct Watch<'a> {
    /// Called with the newest figures, several times per second of virtual time.
    pub progress: &'a dyn Fn(&Latest),
    /// Set if the turn must end now, in an orderly way.
    pub stop: &'a AtomicBool,
}

/// Simulates one queue's turn. The same job gives the same outcome, no matter what else runs.
///
/// # Errors
/// [`Error::Usage`] if the scenario is not valid, if a user-defined queue breaks a rule, or if a user-defined
/// congestion control gives up.
pub(crate) fn run(job: &Job, watch: &Watch) -> Result<Outcome, Error> {
    let mut turn = Turn::new(job)?;
    let complete = turn.load(watch) && turn.drain(watch);
    match turn.fault.take() {
        Some(why) => Err(Error::Usage(format!("{why} (seed {})", job.scenario.seed))),
        None => Ok(turn.end(complete)),
    }
}

struct Turn<'a> {
    job: &'a Job,
    simulation: Simulation,
    tracer: Tracer,
    collector: Collector,
    airs: Airs,
    passed: Passed<'a>,
    flows: Vec<FlowState>,
    /// Bytes of each UDP flow that its receiver has reported.
    udp: Vec<u64>,
    next_step: i64,
    next_look: i64,
    /// Virtual time between two questions whether to continue.
    slice: Span,
    /// Links with a user-defined queue.
    own: Vec<usize>,
    /// Why one of these queues, or a congestion control, can no longer work.
    fault: Option<String>,
}

/// A flow as its measurement sees it.
#[derive(Clone, Copy, Debug, Default)]
struct FlowState {
    told: u64,
    is_connected: bool,
    is_over: bool,
}

fn signed(span: Span) -> i64 {
    i64::try_from(span.0).unwrap_or(i64::MAX)
}

impl<'a> Turn<'a> {
    fn new(job: &'a Job) -> Result<Turn<'a>, Error> {
        let mut simulation = Simulation::new(&job.scenario).map_err(Error::usage)?;
        simulation.keep_checkpoints();
        let passed = Passed::new(job, &mut simulation);
        let tracer = Tracer::new(job, &mut simulation);
        let mut collector = Collector::new(&job.queue, &job.test);
        let port = job.scenario.links.get(job.up).and_then(|link| link.port.as_ref());
        let in_force = port.map(|port| match &port.queue {
            Discipline::Queue(queue) => parameters(queue),
            Discipline::Classes(tree) => trees::words(tree).into_iter().collect(),
            Discipline::Own(own) => own.parameters(),
        });
        collector.parameters(in_force.unwrap_or_default());
        Ok(Turn {
            job,
            simulation,
            tracer,
            collector,
            airs: Airs::new(job),
            passed,
            flows: vec![FlowState::default(); job.test.flows.len()],
            udp: vec![0; job.test.udp.len()],
            next_step: signed(job.test.step).max(1),
            next_look: -signed(job.test.idle),
            slice: slice(job),
            own: own_queues(job),
            fault: None,
        })
    }

    fn test(&self) -> &'a Test {
        &self.job.test
    }

    /// Nanoseconds from the start of the load, now.
    fn t(&self) -> i64 {
        self.simulation.now().0.cast_signed() - signed(self.job.scenario.origin)
    }

    /// Runs to the end of the load; false if it was stopped before.
    fn load(&mut self, watch: &Watch) -> bool {
        let end = signed(self.test().load);
        let mut stops: Vec<(i64, usize)> =
            self.test().flows.iter().enumerate().map(|(flow, f)| (signed(f.stop), flow)).collect();
        stops.sort_unstable();
        let mut stops = stops.into_iter().peekable();
        loop {
            let next_stop = stops.peek().map_or(i64::MAX, |&(at, _)| at);
            let next = self.next_step.min(self.next_look).min(self.airs.next()).min(next_stop).min(end);
            if !self.advance(next, watch) {
                return false;
            }
            if next == self.next_step {
                self.step(next);
            }
            if next == self.next_look {
                self.look(next, watch);
            }
            if next == self.airs.next() || next == end {
                self.airs.look(next, &mut self.simulation);
            }
            while let Some((_, flow)) = stops.next_if(|&(at, _)| at == next) {
                self.close(flow, next, None);
            }
            if next == end {
                return true;
            }
        }
    }

    /// Waits until every probe is accounted for; false if it was stopped before.
    fn drain(&mut self, watch: &Watch) -> bool {
        let patience = signed(self.test().load).saturating_add(signed(DRAIN));
        while self.simulation.has_open_probes() && self.next_look < patience {
            if !self.advance(self.next_look, watch) {
                return false;
            }
            self.look(self.next_look, watch);
        }
        self.simulation.finish_probes();
        true
    }

    /// Handles all events before `t`: measurements at `t` come before the events at `t`.
    fn advance(&mut self, t: i64, watch: &Watch) -> bool {
        let at = t.saturating_add(signed(self.job.scenario.origin)).max(0).cast_unsigned();
        let until = Nanos(at.saturating_sub(1));
        while self.simulation.now() < until {
            self.fault = self.find_fault();
            if self.fault.is_some() || watch.stop.load(Ordering::Relaxed) {
                return false;
            }
            let next = (self.simulation.now() + self.slice).min(until);
            while !self.simulation.run_some(next, MOST_EVENTS) {
                self.tracer.take(&mut self.simulation);
                self.take_samples();
                if watch.stop.load(Ordering::Relaxed) {
                    self.simulation.halt();
                    return false;
                }
            }
            self.tracer.take(&mut self.simulation);
        }
        self.fault = self.find_fault();
        self.fault.is_none() && !watch.stop.load(Ordering::Relaxed)
    }

    /// Why a user-defined queue or congestion control can no longer work.
    fn find_fault(&self) -> Option<String> {
        let fault = self.own.iter().find_map(|&link| self.simulation.link(link).fault());
        fault.or_else(|| own_cc::fault(self.job.scenario.flows.iter().map(|flow| flow.cc)))
    }

    /// The step of the goodput series that ends at `t`.
    fn step(&mut self, t: i64) {
        self.next_step += signed(self.test().step).max(1);
        for (index, flow) in self.test().flows.iter().enumerate() {
            if signed(flow.start) >= t || self.flows[index].is_over {
                continue;
            }
            let Some(view) = self.flow(index) else { continue };
            self.received(index, t, &view, true);
            self.flows[index].is_connected |= view.is_established;
            if view.is_established {
                self.collector.sample(&Sample::Tcp { flow: number(index), t, info: view.info });
            }
        }
        self.udp_step(t);
    }

    /// The same for UDP flows, whose datagrams may wait in a queue after their stop.
    fn udp_step(&mut self, t: i64) {
        for (index, flow) in self.test().udp.iter().enumerate().filter(|(_, flow)| signed(flow.start) < t) {
            let received = self.simulation.arrivals(index).received * u64::from(flow.payload);
            let bytes = received - std::mem::replace(&mut self.udp[index], received);
            if bytes > 0 || t <= signed(flow.stop) {
                let flow = number(self.test().flows.len() + index);
                self.collector.sample(&Sample::Received { flow, t, bytes });
            }
        }
    }

    /// A flow of the test; `None` for a connection that the responsiveness test has not loaded so far.
    fn flow(&self, index: usize) -> Option<FlowView> {
        let Some(number) = index.checked_sub(self.job.own_flows()) else {
            return Some(self.simulation.flow(index));
        };
        let (plan, run) = (self.test().rpm.as_ref()?, self.job.scenario.rpm.first()?);
        let load = number.checked_sub(plan.first_flow(run.config.direction) as usize)?;
        self.simulation.rpm_load(0, load)
    }

    /// Records what a receiver got since the last call, in the step that ends at `t`.
    fn received(&mut self, index: usize, t: i64, view: &FlowView, even_nothing: bool) {
        let bytes = view.received - std::mem::replace(&mut self.flows[index].told, view.received);
        if bytes > 0 || even_nothing {
            self.collector.sample(&Sample::Received { flow: number(index), t, bytes });
        }
    }

    fn take_samples(&mut self) {
        for sample in self.simulation.take_samples() {
            keep(&mut self.collector, self.job, sample);
        }
    }

    /// Samples the queues and reads the probes' results.
    fn look(&mut self, t: i64, watch: &Watch) {
        self.next_look += signed(LOOK);
        self.take_samples();
        let of = |link| moment(&self.simulation.link(link));
        let at = |link| air::queue(self.job, &self.simulation, link).unwrap_or_else(|| of(link));
        self.collector.queues(t, at(self.job.up), at(self.job.down));
        self.passed.look(t, &self.simulation);
        (watch.progress)(&self.collector.latest());
    }

    /// A flow's end, planned or not; bytes since its last step count in the current step.
    fn close(&mut self, index: usize, t: i64, error: Option<&str>) {
        if std::mem::replace(&mut self.flows[index].is_over, true) {
            return;
        }
        let Some(view) = self.flow(index) else { return };
        self.received(index, self.next_step, &view, false);
        self.flows[index].is_connected |= view.is_established;
        let never = (!self.flows[index].is_connected).then_some("not connected by its planned stop");
        let error = error.or(never).map(str::to_owned);
        let (flow, bytes_total) = (number(index), view.received);
        self.collector.sample(&Sample::FlowEnd { flow, t, end: FlowSide::Receiver, bytes_total, error });
    }

    /// The flows of user-defined traffic that began, in the order of their starts. A flow that ended after
    /// the load counts as not ended.
    fn transfers(&self) -> Vec<TransferSeries> {
        let origin = signed(self.job.scenario.origin);
        let (t, end) = (self.t(), signed(self.test().load));
        let of = |traffic: &TrafficRun| {
            let of_flow = |(index, &ideal): (usize, &Span)| {
                let Transfer { began, ended } = self.simulation.transfer(traffic.first + index);
                let since = |at: Nanos| at.0.cast_signed() - origin;
                let began = began.map(since).filter(|&began| began < end.min(t))?;
                let took = ended.map(since).filter(|&ended| ended <= end).map(|ended| ended - began);
                let bytes = self.job.scenario.flows[traffic.first + index].bytes.unwrap_or(0);
                Some((began, bytes, took.unwrap_or(MISSING), signed(ideal)))
            };
            let mut flows: Vec<_> = traffic.ideal.iter().enumerate().filter_map(of_flow).collect();
            flows.sort_by_key(|flow| flow.0);
            let mut series = TransferSeries::default();
            for (start, bytes, took, ideal) in flows {
                series.start_ns.push(start);
                series.bytes.push(bytes);
                series.took_ns.push(took);
                series.ideal_ns.push(ideal);
            }
            series
        };
        self.job.traffic.iter().map(of).collect()
    }

    /// The outcome of the responsiveness test, if it is one, with the reasons not to believe it.
    fn responsiveness(&self, complete: bool, invalid: &mut Vec<String>) -> Option<Responsiveness> {
        let (outcome, plan) = (self.simulation.responsiveness(0)?, self.test().rpm.as_ref()?);
        invalid.extend(rpm::faults(&outcome, complete));
        Some(rpm::responsiveness(&outcome, &plan.settings, Some(plan.tls.name())))
    }

    fn end(mut self, complete: bool) -> Outcome {
        let t = self.t();
        let is_open = |(index, flow): (usize, &Flow)| (signed(flow.start) < t).then_some(index);
        let open: Vec<usize> = self.test().flows.iter().enumerate().filter_map(is_open).collect();
        for index in open {
            self.close(index, t, Some("the run was stopped"));
        }
        self.take_samples();
        let mut invalid = Vec::new();
        if complete && !self.flows.is_empty() && self.flows.iter().all(|flow| !flow.is_connected) {
            invalid.push("no flow ever connected".into());
        }
        let rpm = self.responsiveness(complete, &mut invalid);
        let traffic = self.transfers();
        let (radios, wrong) = self.airs.into_radios(self.job, &self.simulation);
        invalid.extend(wrong);
        let (path, wrong) = self.passed.end(&self.simulation);
        debug_assert!(wrong.is_empty(), "{wrong:?}");
        invalid.extend(wrong);
        self.collector.path(path);
        let tally = |link| air::tally(self.job, &self.simulation, link);
        let at = |link| QueueEnd::from(tally(link).unwrap_or_else(|| queue_end(&self.simulation.link(link))));
        self.collector.finished(complete, invalid, at(self.job.up), at(self.job.down));
        let sent =
            |link| tally(link).map_or_else(|| self.simulation.link(link).line().packets, |tally| tally.sent);
        let identity = Identity {
            seed: self.job.scenario.seed,
            events: self.simulation.events(),
            trace_hash: format!("{:016x}", self.simulation.trace_hash()),
            simulated_ns: self.simulation.now().0,
            up_packets: sent(self.job.up),
            down_packets: sent(self.job.down),
        };
        Outcome {
            checkpoints: self.simulation.checkpoints(),
            traces: self.tracer.into_traces(),
            run: Run {
                simulation: Some(identity),
                link: self.job.link.clone(),
                loads: self.job.scenario.rpm.iter().map(|rpm| direction(rpm.config.direction)).collect(),
                rpm,
                radios,
                traffic,
                ..self.collector.into_run()
            },
        }
    }
}

/// Keeps a sample of a probe, a call, a page or a video of the test; the scenario may have other probes.
fn keep(collector: &mut Collector, job: &Job, mut sample: Sample) {
    if let Sample::Echo { probe, .. } | Sample::Lost { probe, .. } | Sample::UnderWay { probe, .. } =
        &mut sample
    {
        let Some(own) = stream(job, *probe as usize) else { return };
        *probe = number(own);
    }
    collector.sample(&sample);
}

/// The index of a probe of the scenario in the test's streams. The parts of responsiveness are last in the
/// scenario, and before the calls in the test.
fn stream(job: &Job, probe: usize) -> Option<usize> {
    let parts = if job.scenario.rpm.is_empty() { 0 } else { PROBES.len() };
    let own = job.test.probes.len() - parts;
    match probe.checked_sub(job.scenario.probes.len()) {
        Some(part) => (part < parts).then_some(own + part),
        None if probe < own => Some(probe),
        None => Some(probe + parts).filter(|&probe| probe < job.test.streams().len()),
    }
}

/// The links with a user-defined queue.
fn own_queues(job: &Job) -> Vec<usize> {
    let is_own = |link: &goodqueue_sim::Link| {
        link.port.as_ref().is_some_and(|port| matches!(port.queue, Discipline::Own(_)))
    };
    let links = job.scenario.links.iter().enumerate();
    links.filter(|(_, link)| is_own(link)).map(|(index, _)| index).collect()
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Time in which the lines of both directions can send [`PATIENCE`] packets, but no more than the time
/// between two samples.
fn slice(job: &Job) -> Span {
    let rate = |link: usize| {
        job.scenario.links.get(link).and_then(|link| link.port.as_ref()).map_or(0, |port| port.rate.0)
    };
    let both = Rate(rate(job.up).saturating_add(rate(job.down)).max(1));
    both.tx_time(Bytes(PATIENCE * u64::from(ETHERNET_FRAME))).min(LOOK).max(Span(1_000))
}

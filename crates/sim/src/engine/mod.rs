//! The simulation: the loop that takes one event after the other.
//!
//! # Lanes
//!
//! In the order in which events at one and the same time are handled (see [`crate::agenda`]):
//!
//! 1. the script: starts and stops of flows, in the order of their numbers;
//! 2. links' ports: a line ends a packet, a ring reports, a shaper lets a packet go; by number of link;
//! 3. links' arrivals: a packet comes to the far end; by number of link;
//! 4. probes, then UDP sources; by number;
//! 5. timers of TCP flows: sender, then receiver; by number of flow.
//!
//! What an event causes at once (a host answers, a link without delay passes a packet on) is handled
//! within it, first caused first.

mod flows;
mod probes;
mod sources;
mod view;
mod witness;

use std::collections::VecDeque;

use goodqueue::port::{FlowControl, Line};
use goodqueue::{Nanos, Span};
use goodqueue_probe::Sample;

use crate::agenda::{Agenda, Lane};
use crate::device::Device;
use crate::error::BuildError;
use crate::frame::{Frame, FrameId, Frames, Kind};
use crate::link::{Credit, Fate, Link, credit};
use crate::path::{PathId, Paths};
use crate::scenario::{NodeId, Scenario};
use crate::trace::TraceHash;

pub use sources::Arrivals;
pub use view::{FlowView, LinkView};
pub(crate) use witness::Glimpse;
use witness::Witness;

/// A scenario at work.
#[derive(Debug)]
pub struct Simulation {
    now: Nanos,
    agenda: Agenda,
    frames: Frames,
    links: Vec<Link>,
    paths: Paths,
    flows: Vec<flows::Flow>,
    probes: Vec<probes::Probe>,
    sources: Vec<sources::Source>,
    script: Vec<(Nanos, flows::Action)>,
    script_at: usize,
    /// Frames that are at a node and go on now.
    at_node: VecDeque<FrameId>,
    credits: Vec<Credit>,
    samples: Vec<Sample>,
    origin: Nanos,
    hash: TraceHash,
    events: u64,
    lanes: Lanes,
    witness: Witness,
}

/// Where each kind of lane begins.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lanes {
    pub(crate) ports: Lane,
    pub(crate) arrivals: Lane,
    pub(crate) probes: Lane,
    pub(crate) sources: Lane,
    pub(crate) flows: Lane,
}

const SCRIPT: Lane = 0;

impl Simulation {
    /// Builds the scenario.
    ///
    /// # Errors
    /// What is wrong with it, by name and number.
    #[allow(clippy::cast_possible_truncation)]
    pub fn new(scenario: &Scenario) -> Result<Simulation, BuildError> {
        crate::check::check(scenario)?;
        let ports = 1;
        let arrivals = ports + scenario.links.len() as Lane;
        let probes = arrivals + scenario.links.len() as Lane;
        let sources = probes + scenario.probes.len() as Lane;
        let flows = sources + scenario.sources.len() as Lane;
        let lanes = Lanes { ports, arrivals, probes, sources, flows };
        let mut simulation = Simulation {
            now: Nanos::ZERO,
            agenda: Agenda::default(),
            frames: Frames::default(),
            links: Vec::with_capacity(scenario.links.len()),
            paths: Paths::new(scenario),
            flows: Vec::with_capacity(scenario.flows.len()),
            probes: Vec::with_capacity(scenario.probes.len()),
            sources: Vec::with_capacity(scenario.sources.len()),
            script: Vec::new(),
            script_at: 0,
            at_node: VecDeque::new(),
            credits: Vec::new(),
            samples: Vec::new(),
            origin: moment(scenario.origin),
            hash: TraceHash::default(),
            events: 0,
            lanes,
            witness: Witness::default(),
        };
        simulation.agenda.grow(flows as usize + 2 * scenario.flows.len());
        simulation.add_links(scenario)?;
        simulation.add_flows(scenario)?;
        simulation.add_probes(scenario)?;
        simulation.add_sources(scenario)?;
        simulation.script.sort();
        simulation.wake_script();
        Ok(simulation)
    }

    #[allow(clippy::cast_possible_truncation)]
    fn add_links(&mut self, scenario: &Scenario) -> Result<(), BuildError> {
        for (index, spec) in scenario.links.iter().enumerate() {
            let mut link = Link::new(spec, index, scenario.seed)?;
            if link.pause.is_some() {
                let feeders = scenario.links.iter().enumerate().filter(|(_, other)| other.to == spec.from);
                link.feeders = feeders.map(|(feeder, _)| feeder as u32).collect();
            }
            self.links.push(link);
        }
        Ok(())
    }

    /// Handles all events up to and including `until`; the clock then stands there.
    pub fn run_until(&mut self, until: Nanos) {
        while let Some((at, lane)) = self.agenda.pop(until) {
            self.now = at;
            self.events += 1;
            self.hash.mix(at.0);
            self.hash.mix(u64::from(lane));
            self.handle(lane);
            self.settle();
            if self.witness.wants(self.events) {
                let hash = self.hash.value();
                self.witness.see(Glimpse { number: self.events, at, lane, hash });
            }
        }
        self.now = self.now.max(until);
    }

    /// The path there and the path back.
    fn round_trip(
        &mut self,
        scenario: &Scenario,
        from: NodeId,
        to: NodeId,
    ) -> Result<(PathId, PathId), BuildError> {
        let there = self.paths.between(scenario, from, to)?;
        let back = self.paths.between(scenario, to, from)?;
        let mut links = self.paths.links(there).iter().chain(self.paths.links(back));
        let takes_time = |&link: &u32| {
            let link = &scenario.links[link as usize];
            link.delay > Span::ZERO
                || link.port.as_ref().is_some_and(|port| !matches!(port.line, Line::Unlimited))
        };
        if links.any(takes_time) {
            return Ok((there, back));
        }
        let name = |node: NodeId| scenario.nodes[node].clone();
        Err(BuildError::NoTime { from: name(from), to: name(to) })
    }

    /// Virtual time.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Hash over all events and deliveries so far: equal for equal scenarios.
    pub fn trace_hash(&self) -> u64 {
        self.hash.value()
    }

    /// Whose lane is whose.
    pub(crate) fn lanes(&self) -> Lanes {
        self.lanes
    }

    /// Packets between two hosts, in queues or on their way.
    pub fn packets_under_way(&self) -> usize {
        self.frames.count()
    }

    #[inline]
    fn handle(&mut self, lane: Lane) {
        let lanes = self.lanes;
        if lane >= lanes.flows {
            self.flow_timer(lane - lanes.flows);
        } else if lane >= lanes.sources {
            self.source_due((lane - lanes.sources) as usize);
        } else if lane >= lanes.probes {
            self.probe_due((lane - lanes.probes) as usize);
        } else if lane >= lanes.arrivals {
            self.landings(lane - lanes.arrivals);
        } else if lane >= lanes.ports {
            self.departures(lane - lanes.ports);
        } else {
            self.run_script();
        }
    }

    /// What the event has caused at once.
    #[inline]
    fn settle(&mut self) {
        loop {
            if let Some(id) = self.at_node.pop_front() {
                self.forward(id);
            } else if let Some(Credit { flow, truesize }) = self.credits.pop() {
                self.give_back(flow as usize, truesize);
            } else {
                return;
            }
        }
    }

    /// A host sends a frame.
    #[inline]
    fn launch(&mut self, frame: Frame) {
        let id = self.frames.insert(frame);
        self.at_node.push_back(id);
    }

    /// A frame is at a node: it goes to the next link of its path, or it is there.
    #[inline]
    fn forward(&mut self, id: FrameId) {
        let frame = self.frames.get_mut(id);
        let Some(link) = self.paths.hop(frame.path, frame.hop) else {
            self.deliver(id);
            return;
        };
        frame.hop += 1;
        let token = frame.token(id);
        if self.links[link as usize].device.is_none() {
            credit(&self.frames, id, &mut self.credits);
            self.propagate(link, id);
            return;
        }
        // What is due at the port comes before the arrival.
        if self.wake_of(link).is_some_and(|at| at <= self.now) {
            self.departures(link);
        }
        self.links[link as usize].enqueue(self.now, token, &mut self.frames, &mut self.credits);
        self.port_changed(link);
    }

    #[inline]
    fn wake_of(&self, link: u32) -> Option<Nanos> {
        self.links[link as usize].device.as_ref().and_then(Device::next_wake)
    }

    /// Frames whose last bit has left the line of `link`.
    fn departures(&mut self, link: u32) {
        let at = link as usize;
        while let Some(departure) = self.links[at].poll(self.now, &mut self.frames, &mut self.credits) {
            let id = departure.packet.frame;
            credit(&self.frames, id, &mut self.credits);
            self.frames.get_mut(id).dsfield = goodqueue::Packet::dsfield(&departure.packet);
            self.propagate(link, id);
        }
        self.port_changed(link);
    }

    #[inline]
    fn port_changed(&mut self, link: u32) {
        if let Some(at) = self.wake_of(link) {
            self.agenda.wake(self.lanes.ports + link, at);
        }
        if self.links[link as usize].pause.is_some() {
            self.flow_control(link);
        }
    }

    #[inline]
    fn propagate(&mut self, link: u32, id: FrameId) {
        match self.links[link as usize].propagate(self.now, id) {
            Fate::Lost => self.frames.remove(id),
            Fate::Arrived => self.at_node.push_back(id),
            Fate::Flying(first) => self.agenda.wake(self.lanes.arrivals + link, first),
        }
    }

    /// Frames that have come to the far end of `link`.
    fn landings(&mut self, link: u32) {
        while let Some(id) = self.links[link as usize].land(self.now) {
            self.at_node.push_back(id);
        }
        if let Some(at) = self.links[link as usize].next_landing() {
            self.agenda.wake(self.lanes.arrivals + link, at);
        }
    }

    /// Pause frames: the links that feed `link` stop at the high mark and go on at the low one. The frame
    /// itself takes no time.
    fn flow_control(&mut self, link: u32) {
        let Link { pause, device, .. } = &mut self.links[link as usize];
        let (Some(marks), Some(device)) = (pause, device) else { return };
        let Some(asked) = marks.update(device.backlog().bytes) else { return };
        for feeder in 0..self.links[link as usize].feeders.len() {
            let feeder = self.links[link as usize].feeders[feeder];
            let is_paused = asked == FlowControl::Pause;
            let line = &mut self.links[feeder as usize];
            line.set_paused(self.now, is_paused, &mut self.frames, &mut self.credits);
            self.port_changed(feeder);
        }
    }

    /// A frame is at the end of its path.
    #[inline]
    fn deliver(&mut self, id: FrameId) {
        let frame = self.frames.get(id);
        let owner = frame.owner as usize;
        self.hash.mix(frame.segment.seq ^ (u64::from(frame.owner) << 40) ^ ((frame.kind as u64) << 60));
        match frame.kind {
            Kind::Data => self.data_arrived(owner, id),
            Kind::Ack => self.ack_arrived(owner, id),
            Kind::Datagram => self.datagram_arrived(owner, id),
            Kind::Request => self.request_arrived(owner, id),
            Kind::Reply => self.reply_arrived(owner, id),
        }
        self.frames.remove(id);
    }
}

/// `start`, on the clock of the simulation.
fn moment(start: Span) -> Nanos {
    Nanos::ZERO + start
}

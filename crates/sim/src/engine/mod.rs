//! The simulation: the loop that takes one event after the other.
//!
//! # Lanes
//!
//! In the order in which events at one and the same time are handled (see [`crate::agenda`]):
//!
//! 1. links' ports: a line ends a packet, a ring reports, a shaper lets a packet go; by number of link;
//! 2. links' landings: a packet comes to the far end; by number of link;
//! 3. switches, then radios; by number;
//! 4. the script: starts and stops of flows, in the order of their numbers;
//! 5. reports of a device to a sender that waits for them; by number of link;
//! 6. probes, then UDP sources, then browsers and players, then video calls and games; by number;
//! 7. timers of TCP flows: sender, then receiver; by number of flow.
//!
//! What an event causes at once (a host answers, a link without delay passes a packet on) is handled
//! within it, first caused first. What is due at a link's port is handled before a packet is handed to it.
//!
//! A landing between two links that nobody else feeds or follows is no event: the second link fetches what has
//! landed on the first when one of its own frames lands, or it is read. See `chain`.

mod air;
mod arrivals;
mod chain;
mod flows;
mod pages;
mod probes;
mod sources;
mod switches;
mod talks;
mod view;
mod witness;

use std::collections::{BTreeSet, VecDeque};

use goodqueue::port::{FlowControl, Line};
use goodqueue::{FlowHasher, Nanos, Span};
use goodqueue_probe::Sample;

use crate::address::address;
use crate::agenda::{Lane, Lanes, NEVER};
use crate::determinism;
use crate::device::Device;
use crate::error::BuildError;
use crate::frame::{Frame, FrameId, Frames};
use crate::link::{FAR, Link, NEAR};
use crate::path::{END, Paths, Place};
use crate::propagation::Fate;
use crate::scenario::{self, NodeId, Scenario};
use crate::tap::What;
use crate::tcp::Config;
use crate::timers::Timers;
use crate::trace::TraceHash;

pub use sources::Arrivals;
pub use view::{FlowView, LinkView};
pub(crate) use witness::Glimpse;
use witness::Witness;

/// A scenario at work.
#[derive(Debug)]
pub struct Simulation {
    now: Nanos,
    /// What the clock will show when it is read next.
    horizon: Nanos,
    lanes: Lanes,
    /// What happens on each of `lanes`.
    spots: Vec<Spot>,
    timers: Timers,
    map: Map,
    frames: Frames,
    pub(crate) links: Vec<Link>,
    paths: Paths,
    flows: Vec<flows::Flow>,
    probes: Vec<probes::Probe>,
    sources: Vec<sources::Source>,
    surfers: Vec<pages::Surfer>,
    talks: Vec<talks::Talk>,
    radios: Vec<air::Channel>,
    hubs: Vec<switches::Hub>,
    /// Links whose senders get memory back, for use within one event.
    credited: Vec<u32>,
    script: Vec<(Nanos, flows::Action)>,
    script_at: usize,
    /// Frames that a host has handed to a link, and what became of them; `None`: they are still to be queued.
    outset: Vec<(FrameId, Option<Fate>)>,
    /// Frames that are at a node and go on now.
    at_node: VecDeque<FrameId>,
    /// Flows that go on now, since their host's device has room again.
    resumed: Vec<u32>,
    samples: Vec<Sample>,
    origin: Nanos,
    /// What new flows are made with.
    tcp: Config,
    ipv6: bool,
    seed: u64,
    hasher: FlowHasher,
    hash: TraceHash,
    events: u64,
    /// Frames that came to the end of their path.
    deliveries: u64,
    witness: Witness,
}

/// What happens on a lane of a link.
#[derive(Clone, Copy, Debug)]
enum Spot {
    Port(u32),
    Landing(u32),
    Switch(u32),
    /// What happens next on a radio.
    Radio(u32),
}

/// Where each kind of timer begins.
#[derive(Clone, Copy, Debug, Default)]
struct Map {
    reports: Lane,
    probes: Lane,
    sources: Lane,
    surfers: Lane,
    talks: Lane,
    flows: Lane,
}

const SCRIPT: Lane = 0;

impl Simulation {
    /// Builds the scenario.
    ///
    /// # Errors
    /// What is wrong with it, by name and number.
    pub fn new(scenario: &Scenario) -> Result<Simulation, BuildError> {
        let mut simulation = Simulation::unchained(scenario)?;
        simulation.find_chains();
        simulation.add_lanes();
        Ok(simulation)
    }

    /// All but its lanes, and the links that fetch.
    #[allow(clippy::cast_possible_truncation)]
    fn unchained(scenario: &Scenario) -> Result<Simulation, BuildError> {
        crate::check::check(scenario)?;
        let reports = SCRIPT + 1;
        let probes = reports + scenario.links.len() as Lane;
        let sources = probes + scenario.probes.len() as Lane;
        let surfers = sources + scenario.sources.len() as Lane;
        let talks = surfers + (scenario.browsers.len() + scenario.players.len()) as Lane;
        let flows = talks + scenario.talks.len() as Lane;
        let mut simulation = Simulation {
            now: Nanos::ZERO,
            horizon: Nanos::ZERO,
            lanes: Lanes::new(0),
            spots: Vec::new(),
            timers: Timers::default(),
            map: Map { reports, probes, sources, surfers, talks, flows },
            frames: Frames::default(),
            links: Vec::with_capacity(scenario.links.len()),
            paths: Paths::new(scenario),
            flows: Vec::with_capacity(scenario.flows.len()),
            probes: Vec::with_capacity(scenario.probes.len()),
            sources: Vec::with_capacity(scenario.sources.len()),
            surfers: Vec::with_capacity(scenario.browsers.len() + scenario.players.len()),
            talks: Vec::with_capacity(scenario.talks.len()),
            radios: Vec::with_capacity(scenario.radios.len()),
            hubs: Vec::with_capacity(scenario.switches.len()),
            credited: Vec::new(),
            script: Vec::new(),
            script_at: 0,
            outset: Vec::new(),
            at_node: VecDeque::new(),
            resumed: Vec::new(),
            samples: Vec::new(),
            origin: moment(scenario.origin),
            tcp: scenario.tcp,
            ipv6: scenario.ipv6,
            seed: scenario.seed,
            hasher: FlowHasher::new(scenario.seed),
            hash: TraceHash::default(),
            events: 0,
            deliveries: 0,
            witness: Witness::default(),
        };
        simulation.frames.mss = scenario.tcp.clamped().mss;
        simulation.timers.grow(flows as usize + 2 * scenario.flows.len());
        simulation.add_links(scenario)?;
        simulation.add_radios(scenario)?;
        simulation.add_switches(scenario)?;
        simulation.add_flows(scenario)?;
        simulation.add_probes(scenario)?;
        simulation.add_sources(scenario)?;
        simulation.add_surfers(scenario)?;
        simulation.add_talks(scenario)?;
        simulation.note_hosts();
        simulation.script.sort_unstable();
        simulation.wake_script();
        Ok(simulation)
    }

    #[allow(clippy::cast_possible_truncation)]
    fn add_links(&mut self, scenario: &Scenario) -> Result<(), BuildError> {
        let pausing = |link: &&scenario::Link| link.port.as_ref().is_some_and(|port| port.pause.is_some());
        let pausers: BTreeSet<NodeId> = scenario.links.iter().filter(pausing).map(|link| link.from).collect();
        for (index, spec) in scenario.links.iter().enumerate() {
            let mut link = Link::new(spec, index, pausers.contains(&spec.to), scenario.seed)?;
            if link.pause.is_some() {
                let feeders = scenario.links.iter().enumerate().filter(|(_, other)| other.to == spec.from);
                link.feeders = feeders.map(|(feeder, _)| feeder as u32).collect();
            }
            self.links.push(link);
        }
        Ok(())
    }

    #[allow(clippy::cast_possible_truncation)]
    fn add_lanes(&mut self) {
        let count = self.links.len() as u32;
        let link = |link: &u32| &self.links[*link as usize];
        let has_events = |link: &Link| link.has_port() && !link.is_ahead() && link.upstream.is_none();
        let ports = (0..count).filter(|number| has_events(link(number))).map(Spot::Port);
        let landings = (0..count).filter(|number| link(number).has_landings()).map(Spot::Landing);
        self.spots = ports.chain(landings).chain(self.switch_spots()).chain(self.radio_spots()).collect();
        self.lanes = Lanes::new(self.spots.len());
        for (lane, spot) in (0..).zip(&self.spots) {
            match *spot {
                Spot::Port(link) => self.links[link as usize].lanes[NEAR] = lane,
                Spot::Landing(link) => self.links[link as usize].lanes[FAR] = lane,
                Spot::Switch(_) | Spot::Radio(_) => {}
            }
        }
    }

    /// Handles all events up to and including `until`; the clock is then there.
    pub fn run_until(&mut self, until: Nanos) {
        while !self.run_some(until, u64::MAX) {}
    }

    /// As [`Simulation::run_until`], but after `most` events and deliveries, counted together, it returns false: an event
    /// may deliver thousands of packets that come at the same time. The caller may then ask itself whether to go on,
    /// with the same `until`, or to [`Simulation::halt`]. Traces, samples and what the air was used for may be taken in
    /// between, and nothing else read. Events at intervals of nanoseconds are without number in any time: this is how
    /// to stay in charge, and what is kept until it is taken stays in proportion to `most`.
    pub fn run_some(&mut self, until: Nanos, most: u64) -> bool {
        let until = until.min(Nanos(NEVER.0 - 1));
        self.horizon = self.now.max(until);
        let last = (self.events + self.deliveries).saturating_add(most);
        loop {
            if self.events + self.deliveries >= last {
                return false;
            }
            let (at, lane) = self.lanes.first();
            let timer = self.timers.first();
            if at <= timer {
                if at > until {
                    break;
                }
                self.now = at;
                match self.spots[lane as usize] {
                    Spot::Port(link) => {
                        self.begin_event(lane);
                        self.port_due(link);
                    }
                    Spot::Landing(link) => {
                        if !self.has_landed(link) {
                            continue;
                        }
                        self.begin_event(lane);
                        self.landings(link);
                    }
                    Spot::Switch(switch) => {
                        self.begin_event(lane);
                        self.switch_due(switch);
                    }
                    Spot::Radio(radio) => {
                        self.begin_event(lane);
                        self.radio_due(radio);
                    }
                }
                self.end_event(lane);
            } else if timer > until {
                break;
            } else if let Some(timer_lane) = self.timers.pop() {
                let lane = self.first_timer() + timer_lane;
                self.now = timer;
                self.begin_event(lane);
                self.timer_due(timer_lane);
                self.end_event(lane);
            }
        }
        self.now = self.horizon;
        self.look();
        true
    }

    /// Leaves off in the middle of [`Simulation::run_some`], for good: the clock stays at the last event, and all can be
    /// read.
    pub fn halt(&mut self) {
        self.horizon = self.now;
        self.look();
    }

    /// Brings all links to the present, so that they can be read.
    fn look(&mut self) {
        for link in 0..self.links.len() {
            if self.links[link].propagation.downstream.is_none() {
                self.catch_up(link as u32);
            }
        }
        for device in self.links.iter_mut().filter_map(|link| link.device.as_mut()) {
            device.look(self.now);
        }
        self.tell_lost();
    }

    /// What the event has caused at once.
    #[inline]
    fn settle(&mut self) {
        while !self.at_node.is_empty() || !self.resumed.is_empty() {
            if let Some(id) = self.at_node.pop_front() {
                self.set_out(id);
            } else if let Some(flow) = self.resumed.pop() {
                self.pump_tx(flow as usize);
            }
        }
    }

    #[inline]
    fn begin_event(&mut self, lane: Lane) {
        self.events += 1;
        self.hash.mix(self.now.0 ^ u64::from(lane) << 44);
    }

    /// Handles what the event has caused at once.
    #[inline]
    fn end_event(&mut self, lane: Lane) {
        self.settle();
        if self.witness.wants(self.events) {
            self.witness.see(Glimpse { number: self.events, at: self.now, lane, hash: self.hash.value() });
        }
    }

    /// Hashes of the hosts at the ends of every path, for queues that share among hosts.
    fn note_hosts(&mut self) {
        let hash = |node| self.hasher.host(address(self.ipv6, node));
        let ends = self.paths.ends_of_places();
        self.frames.hosts = ends.into_iter().map(|ends| ends.map(hash)).collect();
    }

    /// The path there and the path back.
    fn round_trip(
        &mut self,
        scenario: &Scenario,
        from: NodeId,
        to: NodeId,
    ) -> Result<(Place, Place), BuildError> {
        let there = self.paths.between(scenario, from, to)?;
        let back = self.paths.between(scenario, to, from)?;
        let mut links = self.paths.links(there).chain(self.paths.links(back));
        let takes_time = |link: u32| {
            let is_on_air = matches!(self.links[link as usize].device, Some(Device::Air(_)));
            let link = &scenario.links[link as usize];
            is_on_air
                || link.delay > Span::ZERO
                || link
                    .port
                    .as_ref()
                    .is_some_and(|port| port.shaper.is_some() || !matches!(port.line, Line::Unlimited))
        };
        if links.any(takes_time) {
            return Ok((there, back));
        }
        let name = |node: NodeId| scenario.nodes[node].clone();
        Err(BuildError::NoTime { from: name(from), to: name(to) })
    }

    /// The first lane behind those of the links: the timers have theirs from there.
    #[allow(clippy::cast_possible_truncation)]
    fn first_timer(&self) -> Lane {
        self.spots.len() as Lane
    }

    /// Whose a lane is.
    pub(crate) fn place(&self, lane: Lane) -> determinism::Place {
        use determinism::Place;
        if let Some(spot) = self.spots.get(lane as usize) {
            return match *spot {
                Spot::Port(link) => Place::Port(link as usize),
                Spot::Landing(link) => Place::Arrival(link as usize),
                Spot::Switch(switch) => Place::Switch(switch as usize),
                Spot::Radio(radio) => Place::Radio(radio as usize),
            };
        }
        let (lane, map) = (lane - self.first_timer(), self.map);
        let at = |first: Lane| (lane - first) as usize;
        match lane {
            lane if lane >= map.flows && at(map.flows).is_multiple_of(2) => Place::Sender(at(map.flows) / 2),
            lane if lane >= map.flows => Place::Receiver(at(map.flows) / 2),
            lane if lane >= map.talks => Place::Talk(at(map.talks)),
            lane if lane >= map.surfers => Place::Browser(at(map.surfers)),
            lane if lane >= map.sources => Place::Source(at(map.sources)),
            lane if lane >= map.probes => Place::Probe(at(map.probes)),
            lane if lane >= map.reports => Place::Report(at(map.reports)),
            _ => Place::Script,
        }
    }

    fn timer_due(&mut self, lane: Lane) {
        let map = self.map;
        if lane >= map.flows {
            self.flow_timer(lane - map.flows);
        } else if lane >= map.talks {
            self.talk_due((lane - map.talks) as usize);
        } else if lane >= map.surfers {
            self.surfer_due((lane - map.surfers) as usize);
        } else if lane >= map.sources {
            self.source_due((lane - map.sources) as usize);
        } else if lane >= map.probes {
            self.probe_due((lane - map.probes) as usize);
        } else if lane >= map.reports {
            self.give_back(lane - map.reports);
        } else {
            self.run_script();
        }
    }

    /// A host sends a frame.
    #[inline(never)]
    fn launch(&mut self, frame: Frame) {
        let id = self.frames.insert(frame);
        if self.frames.tap.is_on() {
            self.note_sent(id);
        }
        self.set_out(id);
    }

    /// Sees to the frames that a host has handed to `link` and that do not merely wait behind others there.
    #[inline(never)]
    fn set_off(&mut self, link: u32) {
        let mut outset = std::mem::take(&mut self.outset);
        for (id, fate) in outset.drain(..) {
            match fate {
                Some(fate) => self.follow(link, id, fate),
                None => self.queue(link, id),
            }
        }
        self.outset = outset;
    }

    /// A frame is at a node: it goes to the next link of its path, or it is there.
    #[inline(never)]
    fn set_out(&mut self, id: FrameId) {
        let link = self.paths.link(self.frames.get(id).place);
        if link == END {
            return self.deliver(id);
        }
        self.enter(link, id);
    }

    /// A frame is at the near end of `link`.
    #[inline(always)]
    fn enter(&mut self, link: u32, id: FrameId) {
        match self.links[link as usize].enter(self.now, id, &mut self.frames) {
            Some(fate) => self.follow(link, id, fate),
            None => self.queue(link, id),
        }
    }

    #[inline(never)]
    fn queue(&mut self, link: u32, id: FrameId) {
        match self.links[link as usize].device {
            Some(Device::Air(ends)) => return self.offer(ends, id),
            Some(Device::Switch(port)) => return self.enter_switch(port, id),
            _ => {}
        }
        // What is due at the port comes before the arrival.
        if self.links[link as usize].wakes <= self.now {
            self.departures(link);
        }
        self.links[link as usize].queue(self.now, id, &mut self.frames);
        self.device_changed(link);
    }

    /// Something is due at the port of `link`: frames whose last bit has left its line go on.
    #[inline(always)]
    fn departures(&mut self, link: u32) {
        self.links[link as usize].wake_ups += 1;
        loop {
            let at = &mut self.links[link as usize];
            let Some((id, fate)) = at.leave(self.now, &mut self.frames) else { return };
            let is_due = at.next_wake() <= self.now;
            self.follow(link, id, fate);
            if !is_due {
                return;
            }
        }
    }

    #[inline(always)]
    fn port_due(&mut self, link: u32) {
        self.departures(link);
        self.device_changed(link);
    }

    /// The frame is on `link`.
    #[inline(always)]
    fn follow(&mut self, link: u32, id: FrameId, fate: Fate) {
        match fate {
            Fate::Behind(_) | Fate::Refused | Fate::Lost => {}
            Fate::First(at) => self.first_on(link, id, at),
            Fate::Arrived => {
                self.frames.get_mut(id).place += 1;
                self.at_node.push_back(id);
            }
        }
    }

    /// A frame is the first on its way over `link`, and lands at `at`.
    #[inline(always)]
    fn first_on(&mut self, link: u32, id: FrameId, at: Nanos) {
        let Link { propagation, lanes, .. } = &self.links[link as usize];
        match propagation.downstream {
            None => self.lanes.set(lanes[FAR], at),
            Some(next) => {
                if self.links[next as usize].awaits() {
                    self.announce(next, at, self.frames.get(id).len);
                }
            }
        }
    }

    /// Sees to it that the device of `link` is looked at in time, and the links that feed it told.
    #[inline(always)]
    fn device_changed(&mut self, link: u32) {
        let at = &mut self.links[link as usize];
        let wake = at.next_wake();
        if wake != at.wakes {
            at.wakes = wake;
            self.lanes.set(at.lanes[NEAR], wake);
        }
        if at.pause.is_some() {
            self.flow_control(link);
        }
    }

    /// Frames that have come to the far end of `link`; at least one has.
    #[inline]
    fn landings(&mut self, link: u32) {
        loop {
            let at = &mut self.links[link as usize];
            let (lane, hops) = (at.lanes[FAR], at.hops);
            let (id, _) = at.propagation.take_first(&mut self.frames);
            let mut next = at.propagation.next_landing();
            if next == NEVER {
                next = self.foreseen(link);
            }
            // Before the frame goes on: what it causes may land here later.
            self.lanes.set(lane, next);
            let frame = self.frames.get_mut(id);
            frame.place += hops;
            if self.paths.link(frame.place) == END {
                self.deliver(id);
            } else {
                self.set_out(id);
            }
            if next > self.now {
                return;
            }
        }
    }

    /// Pause frames: the links that feed `link` stop at the high mark and go on at the low one. The frame
    /// itself takes no time.
    #[cold]
    fn flow_control(&mut self, link: u32) {
        let Link { pause, device, .. } = &mut self.links[link as usize];
        let (Some(marks), Some(device)) = (pause, device) else { return };
        let Some(asked) = marks.update(device.backlog().bytes) else { return };
        for feeder in 0..self.links[link as usize].feeders.len() {
            let feeder = self.links[link as usize].feeders[feeder];
            let is_paused = asked == FlowControl::Pause;
            let line = &mut self.links[feeder as usize];
            line.set_paused(self.now, is_paused, &mut self.frames);
            self.device_changed(feeder);
        }
    }

    #[cold]
    #[inline(never)]
    fn note_sent(&mut self, id: FrameId) {
        let first = self.paths.link(self.frames.get(id).place);
        self.frames.tell(self.now, first, id, What::Sent);
    }
}

/// `start`, on the clock of the simulation.
fn moment(start: Span) -> Nanos {
    Nanos::ZERO + start
}

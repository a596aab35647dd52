//! The simulation: the loop over the events.
//!
//! # Parts
//!
//! Each part owns its state. A method that changes another part takes it as an argument.
//!
//! * [`agenda`]: the clock, and what happens next;
//! * [`network`]: links, paths, switches, radios, and the frames on their way. It knows nothing of hosts;
//! * [`hosts`]: flows, probes, UDP sources, browsers, players and tests of responsiveness, calls and games,
//!   and what they measured;
//! * [`log`]: the trace hash and the counts of what happened.
//!
//! # Lanes
//!
//! In the order in which events of the same time are handled (see [`crate::lanes`]):
//!
//! 1. link ports: a line finishes a packet, a ring reports, a shaper releases a packet; by number of link;
//! 2. landings: a packet reaches the far end of a link, or the device there is polled; by number of link;
//! 3. switches, then radios; by number;
//! 4. the script: starts and stops of flows, in the order of their numbers;
//! 5. reports of a device to a sender that waits for them; by number of link;
//! 6. probes, then UDP sources, then browsers, players and tests of responsiveness, then video calls and
//!    games, then flows over QUIC; by number;
//! 7. timers of TCP flows: sender, then receiver; by number of flow.
//!
//! Immediate effects of an event (a host answers, a link without delay passes a packet on) are part of the
//! event, in the order of causes. Work that is due at a port is handled before a packet is handed to it.
//!
//! A landing between two links is not an event if all frames of the first go to the second, and the second
//! gets no others. The second link fetches the frames that landed on the first when one of its own frames
//! lands, or when it is read. See `network::chain`.

mod agenda;
mod flows;
mod hosts;
mod log;
mod network;
mod probes;
#[cfg(feature = "quic")]
mod quic;
#[cfg(not(feature = "quic"))]
#[path = "no_quic.rs"]
mod quic;
mod radios;
mod samples;
mod sources;
mod switches;
mod talks;
mod view;
mod web_clients;

use goodqueue::{FlowHasher, Nanos, QueueSpec};

use crate::error::BuildError;
use crate::implementation::Implementation;
use crate::owner::LaneOwner;
use crate::path::END;
use crate::scenario::Scenario;
use crate::token::FrameId;
use agenda::Agenda;
use hosts::Hosts;
use log::EventLog;
use network::Network;

pub use flows::Transfer;
pub use sources::Arrivals;
pub use view::{FlowView, LinkView};

/// A running scenario.
#[derive(Debug)]
pub struct Simulation {
    agenda: Agenda,
    network: Network,
    hosts: Hosts,
    log: EventLog,
}

impl Simulation {
    /// Builds the scenario.
    ///
    /// # Errors
    /// What is wrong with the scenario, by name and number.
    pub fn new(scenario: &Scenario) -> Result<Simulation, BuildError> {
        Simulation::with(scenario, Implementation::of_process())
    }

    /// Like [`Simulation::new`], but with the plain implementation wherever there is also a fast one. The
    /// network behaves the same, with more events. For tests that compare the two: see
    /// `docs/parallel-paths.md`.
    ///
    /// # Errors
    /// As [`Simulation::new`].
    #[doc(hidden)]
    pub fn reference(scenario: &Scenario) -> Result<Simulation, BuildError> {
        Simulation::with(scenario, Implementation::Reference)
    }

    fn with(scenario: &Scenario, implementation: Implementation) -> Result<Simulation, BuildError> {
        let mut simulation = Simulation::without_lanes(scenario, implementation)?;
        if implementation == Implementation::Fast {
            simulation.network.find_chains();
        }
        simulation.add_lanes();
        Ok(simulation)
    }

    /// Builds everything except the lanes and the chains of links that fetch.
    fn without_lanes(scenario: &Scenario, implementation: Implementation) -> Result<Simulation, BuildError> {
        crate::check::check(scenario)?;
        let mut agenda = Agenda::new(scenario);
        let mut network = Network::new(scenario, implementation)?;
        let hosts = Hosts::new(scenario, implementation, &mut agenda, &mut network)?;
        network.note_hosts(&FlowHasher::new(scenario.seed), scenario);
        Ok(Simulation { agenda, network, hosts, log: EventLog::default() })
    }

    fn add_lanes(&mut self) {
        self.agenda.set_owners(self.network.number_lanes());
    }

    /// Handles all events up to and including `until`. The clock then shows `until`.
    pub fn run_until(&mut self, until: Nanos) {
        while !self.run_some(until, u64::MAX) {}
    }

    /// Like [`Simulation::run_until`], but returns false after `most` events and deliveries, counted
    /// together. (One event can deliver thousands of packets that arrive at the same time.) The caller may
    /// then continue, with the same `until`, or [`Simulation::halt`]. In between it may take traces, samples
    /// and uses of the air, and read nothing else. A short time can contain any number of events: this method
    /// lets the caller stop, and bounds the records that are kept until they are taken.
    pub fn run_some(&mut self, until: Nanos, most: u64) -> bool {
        let until = until.min(Agenda::LAST);
        self.agenda.horizon = self.agenda.now.max(until);
        let last = self.log.length().saturating_add(most);
        loop {
            if self.log.length() >= last {
                return false;
            }
            let Some((lane, owner)) = self.agenda.next(until) else { break };
            if let LaneOwner::Arrival(link) = owner
                && !self.network.has_landed(&mut self.agenda, link)
            {
                continue;
            }
            self.log.begin_event(self.agenda.now, lane);
            self.handle(owner);
            self.run_immediate();
            self.log.end_event(self.agenda.now, lane);
        }
        self.agenda.now = self.agenda.horizon;
        self.catch_up();
        true
    }

    /// Ends a run that [`Simulation::run_some`] interrupted. The clock stays at the last event, and
    /// everything can be read.
    pub fn halt(&mut self) {
        self.agenda.horizon = self.agenda.now;
        self.catch_up();
    }

    /// Changes the parameters of the queue of link `link` between two steps: for example, the rate of its
    /// shaper. Its packets stay, as with `tc qdisc change`. The queue must be of the catalogue and of the
    /// same kind as `queue`, and alone in front of its line.
    ///
    /// # Errors
    /// If the link has no such queue, or the queue cannot have these parameters.
    pub fn configure_queue(&mut self, link: usize, queue: &QueueSpec) -> Result<(), BuildError> {
        let number = u32::try_from(link).unwrap_or(u32::MAX);
        self.network.configure(&mut self.agenda, number, queue)
    }

    /// Advances all links to the present, so that they can be read.
    fn catch_up(&mut self) {
        self.network.catch_up(&self.agenda);
        self.hosts.report_lost(&mut self.network.frames);
    }

    /// Handles an event.
    // docs/performance.md, "Inlining", has the gain of the inline attributes of this file.
    #[inline(always)]
    fn handle(&mut self, owner: LaneOwner) {
        match owner {
            LaneOwner::Port(link) => self.network.port_due(&mut self.agenda, link),
            LaneOwner::Arrival(link) => self.land(link),
            LaneOwner::Poll(link) => self.poll(link),
            LaneOwner::Switch(switch) => self.network.switch_due(&mut self.agenda, switch),
            LaneOwner::Radio(radio) => self.network.radio_due(&mut self.agenda, radio),
            _ => self.hosts.due(&mut self.agenda, &mut self.network, owner),
        }
    }

    /// Handles the immediate effects of an event.
    fn run_immediate(&mut self) {
        loop {
            self.hosts.take_returned(&self.agenda, &mut self.network);
            if let Some(id) = self.network.take_at_node() {
                self.forward(id);
            } else if !self.hosts.resume_flow(&mut self.agenda, &mut self.network) {
                return;
            }
        }
    }

    /// Frames that have reached the far end of `link` go on. At least one has.
    fn land(&mut self, link: u32) {
        loop {
            let (id, is_next_due) = self.network.take_landed(&mut self.agenda, link);
            if self.network.next_link(id) == END {
                self.deliver(id);
            } else {
                self.forward(id);
            }
            if !is_next_due {
                return;
            }
            self.hosts.take_returned(&self.agenda, &mut self.network);
        }
    }

    /// Polls the device at the far end of `link` as often as its packets need. The packets of each poll go
    /// on.
    #[inline(never)]
    fn poll(&mut self, link: u32) {
        let mut is_more = true;
        while is_more {
            is_more = self.network.poll(&mut self.agenda, link);
            while let Some(id) = self.network.take_polled() {
                self.forward(id);
                self.hosts.take_returned(&self.agenda, &mut self.network);
            }
        }
    }

    /// A frame is at a node. It goes to the next link of its path, or it has arrived.
    // What the inline attributes of this file gain: docs/performance.md, "Inlining".
    #[inline(never)]
    fn forward(&mut self, id: FrameId) {
        let link = self.network.next_link(id);
        if link == END {
            return self.deliver(id);
        }
        self.network.enter(&mut self.agenda, link, id);
    }

    /// A frame is at the end of its path.
    #[inline(always)]
    fn deliver(&mut self, id: FrameId) {
        let Simulation { agenda, network, hosts, log } = self;
        if network.frames.tap.is_on() {
            network.note_delivered(agenda.now, id);
        }
        let frame = network.frames.get(id);
        let (owner, kind) = (frame.owner as usize, frame.kind);
        log.deliver(frame);
        hosts.receive(agenda, network, id, (owner, kind));
    }
}

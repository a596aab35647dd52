//! The network: links, the paths over them, and the frames on their way.

mod chain;

use std::collections::{BTreeSet, VecDeque};

use goodqueue::port::{FlowControl, Line};
use goodqueue::{FlowHasher, Nanos, QueueSpec, Span};

use super::agenda::Agenda;
use super::radios::{Channel, RadioSink};
use super::switches::SwitchNode;
use crate::address::address;
use crate::credits::{Credit, Credits};
use crate::device::{AirEnds, Device, SwitchPort};
use crate::error::BuildError;
use crate::frame::{Ends, Frame, Frames};
use crate::gro::{Gro, NAPI_POLL_WEIGHT};
use crate::implementation::Implementation;
use crate::lanes::{Lane, NEVER};
use crate::link::{FAR, Link, NEAR};
use crate::owner::LaneOwner;
use crate::path::{Paths, Position};
use crate::propagation::Fate;
use crate::scenario::{self, NodeId, Scenario};
use crate::sojourn::Sojourn;
use crate::tap::What;
use crate::token::FrameId;
use crate::wifi::Radio;

/// Links, switches and radios, and the frames on their way over them.
#[derive(Debug)]
pub(crate) struct Network {
    links: Vec<Link>,
    pub(super) paths: Paths,
    pub(super) frames: Frames,
    pub(super) radios: Vec<Channel>,
    pub(super) switches: Vec<SwitchNode>,
    /// Frames at a node, which go on now.
    at_node: VecDeque<FrameId>,
    /// Frames that a host has handed to a link, and their fate there; `None` if they must still be queued.
    handed_over: Vec<(FrameId, Option<Fate>)>,
    /// GRO of the receiving device that is polled.
    gro: Gro,
    /// Packets of that poll, which go on now.
    polled: VecDeque<FrameId>,
    /// Memory that devices on the air have released, and that the senders have not got back yet.
    returned: Vec<Credit>,
}

/// The device of a host, as its flows use it: they build frames, and hand them to its link.
pub(super) struct HostDevice<'a> {
    pub(super) link: &'a mut Link,
    pub(super) frames: &'a mut Frames,
    /// See [`Network`]; [`Network::send_handed_over`] handles them.
    pub(super) handed_over: &'a mut Vec<(FrameId, Option<Fate>)>,
}

impl Network {
    pub(super) fn new(scenario: &Scenario, implementation: Implementation) -> Result<Network, BuildError> {
        let mut network = Network {
            links: links(scenario, implementation)?,
            paths: Paths::new(scenario),
            frames: Frames::default(),
            radios: Vec::with_capacity(scenario.radios.len()),
            switches: Vec::with_capacity(scenario.switches.len()),
            at_node: VecDeque::new(),
            handed_over: Vec::new(),
            gro: Gro::default(),
            polled: VecDeque::new(),
            returned: Vec::new(),
        };
        for (index, spec) in scenario.radios.iter().enumerate() {
            network.radios.push(Channel::new(scenario, spec, index, &mut network.links)?);
        }
        for (index, spec) in scenario.switches.iter().enumerate() {
            network.switches.push(SwitchNode::new(scenario, spec, index, &mut network.links)?);
        }
        Ok(network)
    }

    /// Notes, for every path, the hashes of the hosts at its ends, for queues that share among hosts, and the
    /// size of their segments.
    pub(super) fn note_hosts(&mut self, hasher: &FlowHasher, scenario: &Scenario) {
        let mss = [false, true].map(|ipv6| scenario.tcp_over(ipv6).mss);
        let ends = |ends: [NodeId; 2]| {
            let ipv6 = scenario.is_ipv6(ends[0], ends[1]);
            Ends { hashes: ends.map(|node| hasher.host(address(ipv6, node))), mss: mss[usize::from(ipv6)] }
        };
        self.frames.ends = self.paths.ends_of_places().into_iter().map(ends).collect();
    }

    /// Everything that has events, in the order of lanes: ports, arrivals, switches, radios. Switches come
    /// after links, so that they act after all arrivals of the same time.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn number_lanes(&mut self) -> Vec<LaneOwner> {
        let count = self.links.len() as u32;
        let link = |link: &u32| &self.links[*link as usize];
        let has_events = |link: &Link| link.has_port() && !link.is_ahead() && link.upstream.is_none();
        let ports = (0..count).filter(|number| has_events(link(number))).map(LaneOwner::Port);
        let landings = (0..count).filter(|number| link(number).has_landings()).map(|number| {
            let owner =
                if link(&number).propagation.gathers() { LaneOwner::Poll } else { LaneOwner::Arrival };
            owner(number)
        });
        let switches = (0..self.switches.len() as u32).map(LaneOwner::Switch);
        let radios = (0..self.radios.len() as u32).map(LaneOwner::Radio);
        let owners: Vec<LaneOwner> = ports.chain(landings).chain(switches).chain(radios).collect();
        for (lane, owner) in (0..).zip(&owners) {
            match *owner {
                LaneOwner::Port(link) => self.links[link as usize].lanes[NEAR] = lane,
                LaneOwner::Arrival(link) | LaneOwner::Poll(link) => {
                    self.links[link as usize].lanes[FAR] = lane;
                }
                LaneOwner::Switch(switch) => self.switches[switch as usize].lane = lane,
                LaneOwner::Radio(radio) => self.radios[radio as usize].lane = lane,
                _ => {}
            }
        }
        owners
    }

    /// The forward and return paths of a conversation with these forward and return flow hashes.
    ///
    /// # Errors
    /// There is no path, or no time passes on it.
    pub(super) fn round_trip(
        &mut self,
        scenario: &Scenario,
        (from, to): (NodeId, NodeId),
        hashes: [u32; 2],
    ) -> Result<[Position; 2], BuildError> {
        let there = self.paths.between(scenario, from, to, hashes[0])?;
        let back = self.paths.between(scenario, to, from, hashes[1])?;
        let mut links = self.paths.links(there).chain(self.paths.links(back));
        let takes_time = |link: u32| {
            let is_on_air = self.links[link as usize].is_on_air();
            let link = &scenario.links[link as usize];
            is_on_air
                || link.delay > Span::ZERO
                || link
                    .port
                    .as_ref()
                    .is_some_and(|port| port.shaper.is_some() || !matches!(port.line, Line::Unlimited))
        };
        if links.any(takes_time) {
            return Ok([there, back]);
        }
        let name = |node: NodeId| scenario.nodes[node].clone();
        Err(BuildError::NoTime { from: name(from), to: name(to) })
    }

    /// Advances all links to the present, so that they can be read.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn catch_up(&mut self, agenda: &Agenda) {
        for link in 0..self.links.len() {
            if self.links[link].propagation.downstream.is_none() {
                self.fetch(agenda, link as u32);
            }
        }
        for device in self.links.iter_mut().filter_map(|link| link.device.as_mut()) {
            device.catch_up(agenda.now);
        }
    }

    /// Sends a host's frame.
    pub(super) fn send(&mut self, agenda: &mut Agenda, frame: Frame) {
        let id = self.frames.insert(frame);
        if self.frames.tap.is_on() {
            self.note_sent(agenda.now, id);
        }
        let link = self.next_link(id);
        self.enter(agenda, link, id);
    }

    /// Handles the frames that a host has handed to `link`, except those that only wait behind others there.
    // What the inline attributes of this file gain: docs/performance.md, "Inlining".
    #[inline(never)]
    pub(super) fn send_handed_over(&mut self, agenda: &mut Agenda, link: u32) {
        let mut handed_over = std::mem::take(&mut self.handed_over);
        for (id, fate) in handed_over.drain(..) {
            match fate {
                Some(fate) => self.follow(agenda, link, id, fate),
                None => self.queue(agenda, link, id),
            }
        }
        self.handed_over = handed_over;
    }

    /// Link `number` of the scenario.
    pub(super) fn link(&self, number: u32) -> &Link {
        &self.links[number as usize]
    }

    /// The host's device at the near end of link `number`.
    pub(super) fn host_device(&mut self, number: u32) -> HostDevice<'_> {
        let Network { links, frames, handed_over, .. } = self;
        HostDevice { link: &mut links[number as usize], frames, handed_over }
    }

    /// The memory that devices on the air have released since the last call; `None` for nothing.
    pub(super) fn take_returned(&mut self) -> Option<std::vec::Drain<'_, Credit>> {
        if self.returned.is_empty() { None } else { Some(self.returned.drain(..)) }
    }

    /// Measures sojourn times: see [`super::Simulation::measure_sojourn`].
    pub(super) fn measure_sojourn(&mut self, link: usize, from: Nanos, to: Nanos) {
        let Some(link) = self.links.get_mut(link) else { return };
        if let Some(Device::Air(AirEnds { radio, from: device, .. })) = link.device {
            return self.radios[radio as usize].radio.measure_sojourn(device, from, to);
        }
        link.sojourn = Some(Box::new(Sojourn::new(from, to)));
    }

    /// The next frame that is at a node.
    pub(super) fn take_at_node(&mut self) -> Option<FrameId> {
        self.at_node.pop_front()
    }

    /// The link that a frame at a node goes to; [`crate::path::END`] if it has arrived.
    pub(super) fn next_link(&self, id: FrameId) -> u32 {
        self.paths.link(self.frames.get(id).place)
    }

    /// A frame is at the near end of `link`.
    #[inline(always)]
    pub(super) fn enter(&mut self, agenda: &mut Agenda, link: u32, id: FrameId) {
        match self.links[link as usize].enter(agenda.now, id, &mut self.frames) {
            Some(fate) => self.follow(agenda, link, id, fate),
            None => self.queue(agenda, link, id),
        }
    }

    #[inline(never)]
    fn queue(&mut self, agenda: &mut Agenda, link: u32, id: FrameId) {
        match self.links[link as usize].device {
            Some(Device::Air(ends)) => return self.enter_radio(agenda, ends, id),
            Some(Device::Switch(port)) => return self.enter_switch(agenda, port, id),
            _ => {}
        }
        // What is due at the port comes before the arrival.
        if self.links[link as usize].wakes <= agenda.now {
            self.departures(agenda, link);
        }
        self.links[link as usize].queue(agenda.now, id, &mut self.frames);
        self.device_changed(agenda, link);
    }

    /// Something is due at the port of `link`. Frames whose last bit has left its line go on.
    #[inline(always)]
    fn departures(&mut self, agenda: &mut Agenda, link: u32) {
        self.links[link as usize].wake_ups += 1;
        loop {
            let at = &mut self.links[link as usize];
            let Some((id, fate)) = at.leave(agenda.now, &mut self.frames) else { return };
            let is_due = at.next_wake() <= agenda.now;
            self.follow(agenda, link, id, fate);
            if !is_due {
                return;
            }
        }
    }

    #[inline(always)]
    pub(super) fn port_due(&mut self, agenda: &mut Agenda, link: u32) {
        self.departures(agenda, link);
        self.device_changed(agenda, link);
    }

    /// Handles the consequences of a frame's fate on `link`.
    #[inline(always)]
    fn follow(&mut self, agenda: &mut Agenda, link: u32, id: FrameId, fate: Fate) {
        match fate {
            Fate::Behind(_) | Fate::Refused | Fate::Lost => {}
            Fate::First(at) => self.first_on(agenda, link, id, at),
            Fate::Arrived => {
                self.frames.get_mut(id).place += 1;
                self.at_node.push_back(id);
            }
        }
    }

    /// A frame is the first on its way over `link`, and lands at `at`.
    #[inline(always)]
    fn first_on(&mut self, agenda: &mut Agenda, link: u32, id: FrameId, at: Nanos) {
        let Link { propagation, lanes, .. } = &self.links[link as usize];
        match propagation.downstream {
            None => agenda.set(lanes[FAR], at),
            Some(next) => {
                if self.links[next as usize].awaits() {
                    self.announce(agenda, next, at, self.frames.get(id).len);
                }
            }
        }
    }

    /// Sets the time at which the device of `link` acts next, and tells the links that feed it to pause or to
    /// continue.
    #[inline(always)]
    fn device_changed(&mut self, agenda: &mut Agenda, link: u32) {
        let at = &mut self.links[link as usize];
        let wake = at.next_wake();
        if wake != at.wakes {
            at.wakes = wake;
            agenda.set(at.lanes[NEAR], wake);
        }
        if at.pause.is_some() {
            self.flow_control(agenda, link);
        }
    }

    /// Takes the first frame that has landed at the far end of `link`, and sets the time of the next landing.
    /// It does so before the frame goes on, because what the frame causes can land here later. Also returns
    /// whether the next frame has landed too.
    #[inline(always)]
    pub(super) fn take_landed(&mut self, agenda: &mut Agenda, link: u32) -> (FrameId, bool) {
        let at = &mut self.links[link as usize];
        let lane: Lane = at.lanes[FAR];
        let (token, _) = at.propagation.take_first(&mut self.frames, at.hops);
        let mut next = at.propagation.next_landing();
        if next == NEVER {
            next = self.foreseen(agenda, link);
        }
        agenda.set(lane, next);
        (token.frame, next <= agenda.now)
    }

    /// One poll of the device at the far end of `link`: GRO gets up to [`NAPI_POLL_WEIGHT`] packets that have
    /// landed there (Linux `napi_poll`). At least one has. Returns whether more have;
    /// [`Network::take_polled`] returns the packets that go on.
    pub(super) fn poll(&mut self, agenda: &mut Agenda, link: u32) -> bool {
        let mut is_more = true;
        for _ in 0..NAPI_POLL_WEIGHT {
            let (id, is_next_due) = self.take_landed(agenda, link);
            self.gro.receive(id, &mut self.frames);
            is_more = is_next_due;
            if !is_more {
                break;
            }
        }
        self.gro.flush();
        let (packets, joined) = self.gro.take();
        self.polled.extend(packets);
        self.links[link as usize].counters.joined += joined;
        is_more
    }

    /// The next packet of the last poll.
    pub(super) fn take_polled(&mut self) -> Option<FrameId> {
        self.polled.pop_front()
    }

    /// Changes the parameters of the queue of `link`: see [`super::Simulation::configure_queue`].
    pub(super) fn configure(
        &mut self,
        agenda: &mut Agenda,
        number: u32,
        queue: &QueueSpec,
    ) -> Result<(), BuildError> {
        let index = number as usize;
        let why = "only a queue of the catalogue that is alone in front of its line can be changed".into();
        let invalid = BuildError::Invalid { what: "link", index, why };
        if index >= self.links.len() {
            return Err(invalid);
        }
        self.fetch(agenda, number);
        let configured = self.links[index].configure(agenda.now, queue, &mut self.frames).ok_or(invalid)?;
        configured.map_err(|error| BuildError::Queue { index, error })?;
        if self.links[index].upstream.is_none() {
            self.device_changed(agenda, number);
            return Ok(());
        }
        // Its port has no events: the end of its chain wakes when its next frame can be there.
        let mut end = number;
        while let Some(next) = self.links[end as usize].propagation.downstream {
            end = next;
        }
        let next = self.foreseen(agenda, end);
        agenda.set(self.links[end as usize].lanes[FAR], next);
        Ok(())
    }

    /// Pause frames: the links that feed `link` stop at the high mark and continue at the low one. The pause
    /// frame takes no time.
    #[cold]
    fn flow_control(&mut self, agenda: &mut Agenda, link: u32) {
        let Link { pause, device, .. } = &mut self.links[link as usize];
        let (Some(marks), Some(device)) = (pause, device) else { return };
        let Some(asked) = marks.update(device.backlog().bytes) else { return };
        for feeder in 0..self.links[link as usize].feeders.len() {
            let feeder = self.links[link as usize].feeders[feeder];
            let is_paused = asked == FlowControl::Pause;
            let line = &mut self.links[feeder as usize];
            line.set_paused(agenda.now, is_paused, &mut self.frames);
            self.device_changed(agenda, feeder);
        }
    }

    /// A frame is at the near end of a link that is on the air.
    #[inline(never)]
    fn enter_radio(&mut self, agenda: &mut Agenda, ends: AirEnds, id: FrameId) {
        let now = agenda.now;
        let frame = ends.frame(now, id, self.frames.get(id));
        let link = self.next_link(id);
        self.links[link as usize].counters.arrived += 1;
        let is_due = self.radios[ends.radio as usize].next <= now;
        self.with_radio(agenda, ends.radio, |radio, sink| {
            // What is due comes before the arrival.
            if is_due {
                radio.advance(now, sink);
            }
            radio.offer(now, ends.from, frame, sink);
        });
    }

    pub(super) fn radio_due(&mut self, agenda: &mut Agenda, radio: u32) {
        let now = agenda.now;
        self.with_radio(agenda, radio, |radio, sink| radio.advance(now, sink));
    }

    /// Runs `act` on a radio, and handles the results.
    fn with_radio(
        &mut self,
        agenda: &mut Agenda,
        number: u32,
        act: impl FnOnce(&mut Radio, &mut RadioSink<'_>),
    ) {
        let Network { links, paths, frames, radios, at_node, returned, .. } = self;
        let channel = &mut radios[number as usize];
        let mut sink = RadioSink {
            frames,
            links,
            paths,
            at_node,
            credited: &mut channel.credited,
            log: channel.log.as_mut(),
        };
        act(&mut channel.radio, &mut sink);
        channel.next = channel.radio.next_event().unwrap_or(NEVER);
        agenda.set(channel.lane, channel.next);
        for link in channel.credited.drain(..) {
            let credits = &mut links[link as usize].credits;
            returned.extend(std::iter::from_fn(|| credits.take(agenda.now)));
        }
    }

    /// A frame is in a switch, and will leave it through `port`.
    fn enter_switch(&mut self, agenda: &mut Agenda, port: SwitchPort, id: FrameId) {
        let Network { links, paths, frames, switches, .. } = self;
        let at = frames.get(id);
        let (link, from) = (paths.link(at.place), paths.link(at.place - 1));
        let token = at.token(id);
        links[link as usize].counters.arrived += 1;
        if links[link as usize].sojourn.is_some() {
            frames.note_entry(id, agenda.now);
        }
        let node = &mut switches[port.switch as usize];
        node.arrive(agenda.now, (from, port.output as usize), token, (frames, links, paths));
        agenda.set(node.lane, agenda.now);
    }

    pub(super) fn switch_due(&mut self, agenda: &mut Agenda, switch: u32) {
        let now = agenda.now;
        while let Some((link, started, token)) = self.switches[switch as usize].depart(now) {
            let fate = self.links[link as usize].leave_switch((started, now), token, &mut self.frames);
            self.follow(agenda, link, token.frame, fate);
        }
        let Network { links, paths, frames, switches, .. } = self;
        let node = &mut switches[switch as usize];
        let next = node.connect(now, (frames, links, paths));
        agenda.set(node.lane, next);
    }

    #[cold]
    fn note_sent(&mut self, now: Nanos, id: FrameId) {
        let first = self.next_link(id);
        self.frames.tell(now, first, id, What::Sent);
    }

    #[cold]
    pub(super) fn note_delivered(&mut self, now: Nanos, id: FrameId) {
        let last = self.paths.link(self.frames.get(id).place - 1);
        self.frames.tell(now, last, id, What::Delivered);
    }
}

#[allow(clippy::cast_possible_truncation)]
fn links(scenario: &Scenario, implementation: Implementation) -> Result<Vec<Link>, BuildError> {
    let pausing = |link: &&scenario::Link| link.port.as_ref().is_some_and(|port| port.pause.is_some());
    let pausers: BTreeSet<NodeId> = scenario.links.iter().filter(pausing).map(|link| link.from).collect();
    let senders = tcp_senders(scenario);
    let on_air: BTreeSet<usize> =
        scenario.radios.iter().flat_map(|radio| radio.links.iter().copied()).collect();
    let link = |(index, spec): (usize, &scenario::Link)| {
        // A sender that waits for its device is woken only where departures are computed ahead.
        let of_device = if senders.contains(&spec.from) { Implementation::Fast } else { implementation };
        // A device on the air has no GRO: mac80211 gives it no NAPI context (ath9k).
        let rx_usecs = scenario.tcp.gro.filter(|_| !on_air.contains(&index));
        let is_fed_back = pausers.contains(&spec.to);
        let mut link = Link::new(spec, index, is_fed_back, rx_usecs, scenario.seed, of_device)?;
        link.credits = Credits::new(implementation);
        if link.pause.is_some() {
            let feeders = scenario.links.iter().enumerate().filter(|(_, other)| other.to == spec.from);
            link.feeders = feeders.map(|(feeder, _)| feeder as u32).collect();
        }
        Ok(link)
    };
    scenario.links.iter().enumerate().map(link).collect()
}

/// Hosts that send data over TCP.
fn tcp_senders(scenario: &Scenario) -> BTreeSet<NodeId> {
    let flows = scenario.flows.iter().map(|flow| flow.from);
    let browsers = scenario.browsers.iter();
    let browsers = browsers.flat_map(|browser| browser.hosts.iter().copied().chain([browser.from]));
    let players = scenario.players.iter().flat_map(|player| [player.from, player.server]);
    let rpm = scenario.rpm.iter().flat_map(|rpm| [rpm.from, rpm.to]);
    flows.chain(browsers).chain(players).chain(rpm).collect()
}

//! Nodes that are switches.

use goodqueue::details::{Details, TcpHeader};
use goodqueue::port::Line;
use goodqueue::{
    AnyQueue, Backlog, Nanos, Observer, PortStats, QueueSpec, Rate, Reason, Rng, Serializer, Span,
};

use super::{Simulation, Spot};
use crate::agenda::NEVER;
use crate::device::{Device, SwitchPort};
use crate::error::BuildError;
use crate::frame::{FrameId, Frames, Token};
use crate::link::{Link, Losses};
use crate::path::Paths;
use crate::scenario::{Discipline, PortSpec, Scenario};
use crate::switch::{Ports, Switch, SwitchSpec};

/// A switch at work.
#[derive(Debug)]
pub(crate) struct Hub {
    switch: Switch<Token>,
    /// The input that each link is, where it is one.
    inputs: Vec<Option<u32>>,
    /// The link that each output is.
    outputs: Vec<u32>,
    /// What is in it for each output, on its line too.
    held: Vec<Backlog>,
}

/// What becomes of packets in a switch, told to the links that they are to leave by.
struct Side<'a> {
    frames: &'a mut Frames,
    links: &'a mut [Link],
    paths: &'a Paths,
    held: &'a mut [Backlog],
}

impl Side<'_> {
    /// The link that a frame is to leave by.
    fn link(&self, token: &Token) -> u32 {
        self.paths.link(self.frames.get(token.frame).place)
    }

    fn losses(&mut self, token: &Token) -> Losses<'_> {
        let link = self.link(token) as usize;
        self.links[link].losses(self.frames)
    }
}

impl Ports<Token> for Side<'_> {
    fn output(&self, token: &Token) -> usize {
        match self.links[self.link(token) as usize].device {
            Some(Device::Switch(port)) => port.output as usize,
            _ => 0,
        }
    }
}

impl Observer<Token> for Side<'_> {
    fn dropped(&mut self, now: Nanos, packet: Token, reason: Reason) {
        take(&mut self.held[self.output(&packet)], &packet);
        self.losses(&packet).dropped(now, packet, reason);
    }

    fn marked(&mut self, now: Nanos, packet: &Token, reason: Reason) {
        self.losses(packet).marked(now, packet, reason);
    }

    fn washed(&mut self, packet: &Token) {
        self.losses(packet).washed(packet);
    }

    fn details(&self, packet: &Token) -> Details {
        self.frames.details(packet)
    }

    fn tcp(&self, packet: &Token) -> Option<TcpHeader> {
        self.frames.tcp(packet)
    }
}

/// A packet is no longer among what is held.
fn take(held: &mut Backlog, packet: &Token) {
    held.packets -= 1;
    held.bytes -= u64::from(goodqueue::Packet::len(packet));
}

impl Hub {
    /// What waits for an output.
    pub(super) fn backlog(&self, output: usize) -> Backlog {
        let (held, line) = (self.held[output], self.switch.on_line(output));
        Backlog { packets: held.packets - line.packets, bytes: held.bytes - line.bytes }
    }

    /// What is on its line.
    pub(super) fn on_line(&self, output: usize) -> Backlog {
        self.switch.on_line(output)
    }

    /// What its line has done.
    pub(super) fn line(&self, output: usize) -> PortStats {
        self.switch.line(output)
    }

    /// Time that its line spent on packets by `now`.
    pub(super) fn busy_by(&self, output: usize, now: Nanos) -> Span {
        self.switch.busy_by(output, now)
    }

    /// The queues that what is for it waits in, with the others' packets where they share them.
    pub(super) fn queues(&self, output: usize) -> impl Iterator<Item = &AnyQueue<Token>> {
        self.switch.queues_of(output)
    }
}

impl Simulation {
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn add_switches(&mut self, scenario: &Scenario) -> Result<(), BuildError> {
        for (index, spec) in scenario.switches.iter().enumerate() {
            let invalid = |why: String| BuildError::Invalid { what: "switch", index, why };
            if scenario.tcp.tso {
                return Err(invalid("it cuts no super-packets: TCP's `tso` must be off".into()));
            }
            let (mut inputs, mut outputs, mut queues) =
                (vec![None; scenario.links.len()], Vec::new(), Vec::new());
            let (mut number, mut fabric, mut frame) = (0, Rate(0), 0);
            for (at, link) in scenario.links.iter().enumerate() {
                if link.to == spec.node {
                    inputs[at] = Some(number);
                    number += 1;
                    fabric = fabric.max(link.port.as_ref().map_or(Rate(0), |port| port.rate));
                } else if link.from == spec.node {
                    let port = link.port.as_ref().ok_or_else(|| invalid(format!("link {at} has no line")))?;
                    let (line, queue) = plain(port).ok_or_else(|| {
                        invalid(format!(
                            "link {at}: an output has one queue that lets packets go at once, a line of a fixed rate, \
                             and neither shaper, ring nor flow control"
                        ))
                    })?;
                    let port_of = SwitchPort { switch: index as u32, output: outputs.len() as u32 };
                    self.links[at].device = Some(Device::Switch(port_of));
                    outputs.push(at as u32);
                    queues.push((line, queue));
                    (fabric, frame) = (fabric.max(line.rate()), frame.max(port.frame));
                }
            }
            if number == 0 || outputs.is_empty() || spec.queue.is_shaper() {
                let why = "it needs an input, an output, and a queue that lets packets go at once";
                return Err(invalid(why.into()));
            }
            let spec = SwitchSpec {
                inputs: number as usize,
                outputs: queues,
                buffers: spec.buffers,
                queue: spec.queue,
                memory: spec.memory,
                fabric,
                frame,
            };
            let draws = Rng::stream(scenario.seed, index as u64, "switch");
            let switch = Switch::new(&spec, draws)
                .map_err(|(output, error)| BuildError::Queue { index: outputs[output] as usize, error })?;
            let held = vec![Backlog::default(); outputs.len()];
            self.hubs.push(Hub { switch, inputs, outputs, held });
        }
        Ok(())
    }

    /// The lanes of switches come behind those of links: a switch acts when all that arrives at a time has.
    pub(super) fn switch_spots(&self) -> impl Iterator<Item = Spot> + use<> {
        (0..self.hubs.len() as u32).map(Spot::Switch)
    }

    fn lane_of_switch(&self, switch: u32) -> u32 {
        (self.spots.len() - self.radios.len() - self.hubs.len()) as u32 + switch
    }

    /// A frame is in a switch, and is to leave it by `port`.
    #[inline(never)]
    pub(super) fn enter_switch(&mut self, port: SwitchPort, id: FrameId) {
        let SwitchPort { switch, output } = port;
        let at = self.frames.get(id);
        let (link, from) = (self.paths.link(at.place), self.paths.link(at.place - 1));
        let token = at.token(id);
        self.links[link as usize].counters.arrived += 1;
        if self.links[link as usize].sojourn.is_some() {
            self.frames.note_entry(id, self.now);
        }
        let Hub { switch: hub, inputs, held, .. } = &mut self.hubs[switch as usize];
        let input = inputs.get(from as usize).copied().flatten().unwrap_or(0);
        let waiting = &mut held[output as usize];
        waiting.packets += 1;
        waiting.bytes += u64::from(goodqueue::Packet::len(&token));
        let mut side = Side { frames: &mut self.frames, links: &mut self.links, paths: &self.paths, held };
        hub.arrive(self.now, (input as usize, output as usize), token, &mut side);
        self.lanes.set(self.lane_of_switch(switch), self.now);
    }

    #[inline(never)]
    pub(super) fn switch_due(&mut self, switch: u32) {
        while let Some((output, token)) = self.hubs[switch as usize].switch.depart(self.now) {
            let hub = &mut self.hubs[switch as usize];
            take(&mut hub.held[output], &token);
            let (link, started) = (hub.outputs[output], hub.switch.started(output));
            let times = (started, self.now);
            let fate = self.links[link as usize].leave_switch(times, token, &mut self.frames);
            self.follow(link, token.frame, fate);
        }
        let Hub { switch: hub, held, .. } = &mut self.hubs[switch as usize];
        let mut side = Side { frames: &mut self.frames, links: &mut self.links, paths: &self.paths, held };
        hub.connect(self.now, &mut side);
        let next = hub.next_wake(self.now).unwrap_or(NEVER);
        self.lanes.set(self.lane_of_switch(switch), next);
    }
}

/// Line and queue of an output that has nothing but these.
fn plain(port: &PortSpec) -> Option<(Serializer, QueueSpec)> {
    let PortSpec { queue, shaper, lanes, ring, line, pause, .. } = port;
    let is_plain = shaper.is_none() && *lanes == 1 && ring.is_none() && pause.is_none();
    match (line, queue) {
        (Line::Rate(line), Discipline::Queue(queue)) if is_plain && !queue.is_shaper() => {
            Some((*line, *queue))
        }
        _ => None,
    }
}

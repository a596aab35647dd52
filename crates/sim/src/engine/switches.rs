//! Nodes that are switches.

use goodqueue::details::{Details, TcpHeader};
use goodqueue::port::Line;
use goodqueue::{
    Backlog, Nanos, Observer, PacketInfo, PortStats, QueueSpec, Rate, Reason, Rng, Serializer, Span,
};

use crate::device::{Device, SwitchPort};
use crate::error::BuildError;
use crate::frame::Frames;
use crate::lanes::{Lane, NEVER};
use crate::link::{Link, Losses};
use crate::own_queue::{EitherQueue, NamedQueue, Running};
use crate::path::Paths;
use crate::scenario::{self, Discipline, PortSpec, Scenario};
use crate::switch::{Ports, Switch, SwitchSpec};
use crate::token::Token;

/// A switch at work.
#[derive(Debug)]
pub(crate) struct SwitchNode {
    switch: Switch<Token, EitherQueue>,
    /// For each link, its input, if it is one.
    inputs: Vec<Option<u32>>,
    /// For each output, its link.
    outputs: Vec<u32>,
    /// What the switch holds for each output, the packet on its line included.
    held: Vec<Backlog>,
    pub(super) lane: Lane,
}

/// Reports to the outgoing links of a switch which of their packets it dropped or passed.
struct Outputs<'a> {
    frames: &'a mut Frames,
    links: &'a mut [Link],
    paths: &'a Paths,
    held: &'a mut [Backlog],
}

impl Outputs<'_> {
    /// The link that a frame will leave by.
    fn link(&self, token: &Token) -> u32 {
        self.paths.link(self.frames.get(token.frame).place)
    }

    fn losses(&mut self, token: &Token) -> Losses<'_> {
        let link = self.link(token) as usize;
        self.links[link].losses(self.frames)
    }
}

impl Ports<Token> for Outputs<'_> {
    fn output(&self, token: &Token) -> usize {
        match self.links[self.link(token) as usize].device {
            Some(Device::Switch(port)) => port.output as usize,
            _ => 0,
        }
    }
}

impl Observer<Token> for Outputs<'_> {
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
}

impl PacketInfo<Token> for Outputs<'_> {
    fn details(&self, packet: &Token) -> Details {
        self.frames.details(packet)
    }

    fn tcp(&self, packet: &Token) -> Option<TcpHeader> {
        self.frames.tcp(packet)
    }
}

/// Subtracts a packet from what is held.
fn take(held: &mut Backlog, packet: &Token) {
    held.packets -= 1;
    held.bytes -= u64::from(goodqueue::Packet::len(packet));
}

impl SwitchNode {
    /// Packets that wait for an output.
    pub(super) fn backlog(&self, output: usize) -> Backlog {
        let (held, line) = (self.held[output], self.switch.on_line(output));
        Backlog { packets: held.packets - line.packets, bytes: held.bytes - line.bytes }
    }

    /// The packet on its line.
    pub(super) fn on_line(&self, output: usize) -> Backlog {
        self.switch.on_line(output)
    }

    /// The counters of its line.
    pub(super) fn line(&self, output: usize) -> PortStats {
        self.switch.line(output)
    }

    /// The time for which its line was busy by `now`.
    pub(super) fn busy_by(&self, output: usize, now: Nanos) -> Span {
        self.switch.busy_by(output, now)
    }

    /// The queues in which packets for it wait. If outputs share queues, they also hold packets for others.
    pub(super) fn queues(&self, output: usize) -> impl Iterator<Item = &EitherQueue> {
        self.switch.queues_of(output)
    }
}

impl SwitchNode {
    /// Builds switch `index`, and marks the links that leave it as its outputs.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn new(
        scenario: &Scenario,
        spec: &scenario::Switch,
        index: usize,
        links: &mut [Link],
    ) -> Result<SwitchNode, BuildError> {
        let invalid = |why: String| BuildError::Invalid { what: "switch", index, why };
        let offloads = [("gro", scenario.tcp.gro.is_some()), ("tso", scenario.tcp.tso)];
        if let Some((name, _)) = offloads.iter().find(|(_, is_on)| *is_on) {
            return Err(invalid(format!("it cuts no super-packets: TCP's `{name}` must be off")));
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
                links[at].device = Some(Device::Switch(port_of));
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
        let catalogue = |queue: &QueueSpec, rate, draws| {
            queue.build_with(rate, frame, Nanos::ZERO, draws).map(EitherQueue::Catalogue)
        };
        let of_output = |queue: &OutputQueue<'_>, rate, draws| match *queue {
            OutputQueue::Catalogue(queue) => catalogue(queue, rate, draws),
            OutputQueue::Own(own) => Ok(EitherQueue::Own(Running::at_switch(own, draws))),
        };
        let switch = Switch::with_queues(&spec, draws, catalogue, of_output)
            .map_err(|(output, error)| BuildError::Queue { index: outputs[output] as usize, error })?;
        let held = vec![Backlog::default(); outputs.len()];
        Ok(SwitchNode { switch, inputs, outputs, held, lane: 0 })
    }

    /// A packet arrives from the link `from` and will leave by `output`.
    pub(super) fn arrive(
        &mut self,
        now: Nanos,
        (from, output): (u32, usize),
        token: Token,
        (frames, links, paths): (&mut Frames, &mut [Link], &Paths),
    ) {
        let input = self.inputs.get(from as usize).copied().flatten().unwrap_or(0);
        let held = &mut self.held[output];
        held.packets += 1;
        held.bytes += u64::from(goodqueue::Packet::len(&token));
        let mut outputs = Outputs { frames, links, paths, held: &mut self.held };
        self.switch.arrive(now, (input as usize, output), token, &mut outputs);
    }

    /// The next packet whose last bit has left by `now`: its link, when its first bit left, and the packet.
    pub(super) fn depart(&mut self, now: Nanos) -> Option<(u32, Nanos, Token)> {
        let (output, token) = self.switch.depart(now)?;
        take(&mut self.held[output], &token);
        Some((self.outputs[output], self.switch.started(output), token))
    }

    /// Connects inputs with outputs, and returns when the switch acts next.
    pub(super) fn connect(
        &mut self,
        now: Nanos,
        (frames, links, paths): (&mut Frames, &mut [Link], &Paths),
    ) -> Nanos {
        let mut outputs = Outputs { frames, links, paths, held: &mut self.held };
        self.switch.connect(now, &mut outputs);
        self.switch.next_wake(now).unwrap_or(NEVER)
    }
}

/// The queue of an output.
#[derive(Clone, Copy, Debug)]
enum OutputQueue<'a> {
    Catalogue(&'a QueueSpec),
    Own(&'a NamedQueue),
}

/// Line and queue of an output, if it has nothing else.
fn plain(port: &PortSpec) -> Option<(Serializer, OutputQueue<'_>)> {
    let PortSpec { queue, shaper, lanes, ring, line, pause, .. } = port;
    let is_plain = shaper.is_none() && *lanes == 1 && ring.is_none() && pause.is_none();
    let Line::Rate(line) = line else { return None };
    let queue = match queue {
        Discipline::Queue(queue) if !queue.is_shaper() => OutputQueue::Catalogue(queue),
        Discipline::Own(own) => OutputQueue::Own(own),
        Discipline::Queue(_) | Discipline::Classes(_) => return None,
    };
    is_plain.then_some((*line, queue))
}

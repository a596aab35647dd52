//! From links as written to nodes and links of a scenario.

use std::path::Path;
use std::sync::Arc;

use goodqueue::port::Schedule;
use goodqueue::{ClassTree, ETHERNET_FRAME, Line, Rate, RingSpec, Serializer, Span, SpecError};
use goodqueue_sim::switch::Buffers;
use goodqueue_sim::{Discipline, Loss, PortSpec, Scenario};

use super::links::{LineWords, Link, OneWay, QueueWords};
use super::load::{client_name, server_name};
use super::queue_text::QueueText;
use super::read::{At, Read, Wrong};
use super::switches::Switch;
use super::trace;
use super::trees;
use crate::experiment::Note;
use crate::fit::{room, unfit};

/// The default queue of a line: Linux's default for a device (`txqueuelen` 1000).
const PLAIN: &str = "pfifo:1000";

/// Most packets that all queues and rings of a network have room for together.
pub(super) const MOST_PLACES: u64 = 1 << 23;

/// A network: nodes and directed links, and a plan's description of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Network {
    pub(super) scenario: Scenario,
    /// One for each directed link of the scenario.
    pub(super) notes: Vec<Note>,
    /// Client and server of each host, if they do not follow from names.
    pub(super) pairs: Vec<(usize, usize)>,
    /// The place of each switch of the scenario in the file, and a plan's description of it.
    pub(super) switches: Vec<At<String>>,
}

/// The lines of which shares are taken: for each directed link the slowest line that its packets cross
/// between client and server; `None` while the network is not yet built.
type Slowest<'a> = Option<&'a [Option<Rate>]>;

/// The context for building links.
pub(super) struct Context<'a> {
    /// The queue that `$queue` means.
    pub(super) queue: Option<&'a QueueText>,
    /// The trees that `htb:NAME` can mean.
    pub(super) trees: &'a [Arc<ClassTree>],
    /// Folder of the experiment file.
    pub(super) folder: &'a Path,
    /// Whether a flow takes one of all shortest paths, by its hash.
    pub(super) ecmp: bool,
}

impl Network {
    /// The network of `links`. To find shares of lines, it first builds a network without them.
    pub(super) fn build(links: &[Link], switches: &[Switch], context: &Context<'_>) -> Read<Network> {
        let network = Network::joined(links, switches, context, None)?;
        let has_share =
            |link: &Link| [&link.up, &link.down].iter().any(|way| way.share(context.queue).is_some());
        if !links.iter().any(has_share) {
            return Ok(network);
        }
        let slowest = network.slowest_lines();
        Network::joined(links, switches, context, Some(&slowest))
    }

    /// For each directed link, the slowest line on the path of the first client and server that use it. A
    /// link that none uses has its own.
    fn slowest_lines(&self) -> Vec<Option<Rate>> {
        let mut slowest: Vec<Option<Rate>> = vec![None; self.notes.len()];
        let mut host = 0;
        while let Some(server) = self.find(&server_name(host)) {
            let client = self.find(&client_name(host)).or_else(|| self.find("client"));
            for (from, to) in client.into_iter().flat_map(|client| [(client, server), (server, client)]) {
                let path = goodqueue_sim::route(&self.scenario, from, to).unwrap_or_default();
                let least = path.iter().filter_map(|&link| self.notes[link].rate).min();
                path.iter().for_each(|&link| slowest[link] = slowest[link].or(least));
            }
            host += 1;
        }
        slowest.iter().zip(&self.notes).map(|(found, note)| found.or(note.rate)).collect()
    }

    fn joined(
        links: &[Link],
        switches: &[Switch],
        context: &Context<'_>,
        slowest: Slowest<'_>,
    ) -> Read<Network> {
        let scenario = Scenario { ecmp: context.ecmp, ..Scenario::default() };
        let mut network = Network { scenario, ..Network::default() };
        let mut places = 0_u64;
        for link in links {
            let [first, second] = [0, 1].map(|end: usize| network.node(&link.ends[end]));
            for (from, to, way) in [(first, second, &link.up), (second, first, &link.down)] {
                let [name, far] = [from, to].map(|node| network.scenario.nodes[node].as_str());
                let switch = switches.iter().find(|switch| switch.node.value == name);
                let line = match slowest.map(|slowest| slowest[network.notes.len()]) {
                    Some(None) => no_line(way, context)?,
                    known => known.flatten(),
                };
                let (port, mut note) = match switch {
                    Some(switch) => output(&switch.output(way, far)?, switch, context, line)?,
                    None => port(way, context, line)?,
                };
                if let Some(port) = &port {
                    let queues = switch.map_or(1, |switch| queues_of_output(switch, links));
                    places = places.saturating_add(room(port).saturating_mul(queues));
                    if places > MOST_PLACES {
                        let what = format!(
                            "the queues and rings up to here have room for {places} packets, but the maximum is \
                             {MOST_PLACES}"
                        );
                        return Err(Wrong::new(link.at, what));
                    }
                }
                let nodes = &network.scenario.nodes;
                note.name = format!("{} to {}", nodes[from], nodes[to]);
                network.notes.push(note);
                network.scenario.links.push(goodqueue_sim::Link {
                    from,
                    to,
                    port,
                    delay: way.delay.unwrap_or(Span::ZERO),
                    jitter: way.jitter.unwrap_or(Span::ZERO),
                    loss: way.loss.unwrap_or(Loss::None),
                });
            }
        }
        for switch in switches {
            network.add_switch(switch, links, context)?;
        }
        Ok(network)
    }

    fn add_switch(&mut self, switch: &Switch, links: &[Link], context: &Context<'_>) -> Read<()> {
        let At { at, value: name } = &switch.node;
        let Some(node) = self.find(name) else {
            let nodes: Vec<&str> = self.scenario.nodes.iter().map(String::as_str).collect();
            let nearest = crate::hint::did_you_mean(name, &nodes);
            let what = format!("no link ends at `{name}`; there are {}{nearest}", nodes.join(", "));
            return Err(Wrong::new(*at, what));
        };
        let is_end = |link: &Link, name: &str| link.ends.iter().any(|end| end == name);
        for way in links.iter().flat_map(|link| [(&link.ends[0], &link.up), (&link.ends[1], &link.down)]) {
            let (from, Some(At { at, value: Some(_) })) = (way.0, way.1.pause) else { continue };
            if links.iter().any(|link| is_end(link, from) && is_end(link, name)) {
                return Err(Wrong::new(
                    at,
                    format!("`{name}` is a switch: pause frames do not stop its outputs"),
                ));
            }
        }
        // If its outputs have queues, those count, and they have already been checked.
        let own = switch.queue().filter(|_| !switch.buffers().are_by_output()).cloned();
        let own = OneWay { queue: own, ..OneWay::default() };
        let rate =
            self.scenario.links.iter().filter_map(|link| link.port.as_ref()).map(|port| port.rate).max();
        let own = match queue(&own, rate.unwrap_or(Rate(1)), context, rate)?.0 {
            Discipline::Queue(own) => own,
            Discipline::Own(own) => {
                let what =
                    format!("{own}: a user-defined queue has no place in a memory that all outputs share");
                return Err(Wrong::new(*at, what));
            }
            // A tree cannot be its queue, which an earlier check reports.
            Discipline::Classes(_) => return Err(Wrong::new(*at, "a tree of classes holds packets back")),
        };
        let (buffers, memory) = (switch.buffers(), switch.memory());
        self.scenario.switches.push(goodqueue_sim::Switch { node, buffers, queue: own, memory });
        self.switches.push(At { at: *at, value: switch.plan() });
        Ok(())
    }

    fn node(&mut self, name: &str) -> usize {
        let nodes = &mut self.scenario.nodes;
        nodes.iter().position(|node| node == name).unwrap_or_else(|| {
            nodes.push(name.into());
            nodes.len() - 1
        })
    }

    /// Makes these pairs of nodes the hosts, as far as nodes with these names exist.
    pub(super) fn pair(&mut self, names: &[[String; 2]]) {
        let pair = |[client, server]: &[String; 2]| Some((self.find(client)?, self.find(server)?));
        self.pairs = names.iter().filter_map(pair).collect();
    }

    /// The node called `name`.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.scenario.nodes.iter().position(|node| node == name)
    }

    /// The directed link of a path whose queue a report shows: the one under comparison, else the slowest
    /// line; the slowest of several, the first of equal ones. Without any line the first link.
    ///
    /// Of several shortest paths it is one that all of them have, and the last of equal ones: the line to the
    /// host. `hops` has the links of each hop.
    pub(super) fn bottleneck(&self, hops: &[Vec<usize>]) -> usize {
        let mut path: Vec<usize> = hops.iter().filter(|links| links.len() == 1).flatten().copied().collect();
        if self.scenario.ecmp {
            path.reverse();
        }
        let rank = |&&link: &&usize| {
            let rate = self.scenario.links[link].port.as_ref().map_or(u64::MAX, |port| port.rate.0);
            (!self.notes[link].compared, rate)
        };
        path.iter().min_by_key(rank).copied().unwrap_or(0)
    }
}

/// A direction without any line on its packets' path: it cannot have a share of one.
fn no_line(way: &OneWay, context: &Context<'_>) -> Read<Option<Rate>> {
    match way.share(context.queue) {
        Some(at) => Err(Wrong::new(
            at,
            "a share of a line, but there is no line in this direction: write a rate, as in 20mbit",
        )),
        None => Ok(None),
    }
}

/// Queue, ring and line of a direction; none if it has no line. `slowest`: the line of which shares are
/// taken.
fn port(way: &OneWay, context: &Context<'_>, slowest: Option<Rate>) -> Read<(Option<PortSpec>, Note)> {
    let shaper = way.shaper.and_then(|shaper| shaper.value).map(|shaper| shaper.at(slowest));
    let line = way.line.as_ref().map(|line| built(line, context)).transpose()?;
    let own = line.as_ref().and_then(|line| line.as_ref().map(|line| line.1));
    let (line, rate, words) = match (line, shaper) {
        (Some(Some((line, rate, words))), None) => (line, rate, words),
        (Some(Some((line, rate, words))), Some(shaper)) => (line, rate.min(shaper.rate), words),
        (_, Some(shaper)) => (Line::Unlimited, shaper.rate, "unlimited".into()),
        (Some(None), None) => return Ok((None, Note::default())),
        (None, None) => match way.of_a_line() {
            Some((at, key)) => {
                let what =
                    format!("`{key}` needs a line: give the link a rate, a schedule, a trace or a shaper");
                return Err(Wrong::new(at, what));
            }
            None => return Ok((None, Note::default())),
        },
    };
    let ring = ring(way)?;
    let lanes = way.lanes.map_or(1, |lanes| lanes.value);
    if let (Some(given), None, 2..) = (way.lanes, ring, lanes) {
        return Err(Wrong::new(given.at, format!("{lanes} hardware queues need a ring each: give `ring`")));
    }
    if let (Some(given), Some(_), 2..) = (way.lanes, shaper, lanes) {
        return Err(Wrong::new(given.at, "a shaper feeds one hardware queue: leave `lanes` out"));
    }
    let (queue, compared) = queue(way, rate, context, slowest)?;
    if let (Some(given), Some(queues)) = (way.lanes, instances(&queue))
        && lanes > 1
        && queues != u64::from(lanes)
    {
        let why = format!(
            "{queue} has an instance in each of the {lanes} lanes: leave `queues` out, or make them equal"
        );
        return Err(Wrong::new(given.at, why));
    }
    let pause = way.pause.and_then(|pause| pause.value);
    let port = PortSpec { queue, shaper, lanes, ring, line, rate, frame: ETHERNET_FRAME, pause };
    Ok((Some(port), Note { line: words, compared, rate: own, ..Note::default() }))
}

/// The given number of instances of `cake_mq`.
fn instances(queue: &Discipline) -> Option<u64> {
    let Discipline::Queue(spec) = queue else { return None };
    let parameter = spec.info().parameters.iter().find(|parameter| parameter.name == "queues")?;
    spec.given(parameter).map(|_| spec.params().properties().instances().into())
}

/// The same for an output of a switch.
fn output(
    way: &OneWay,
    switch: &Switch,
    context: &Context<'_>,
    slowest: Option<Rate>,
) -> Read<(Option<PortSpec>, Note)> {
    let (port, note) = port(way, context, slowest)?;
    match port.as_ref().map(|port| &port.queue).filter(|queue| queue.is_shaper()) {
        Some(queue) => {
            let at = way.queue.as_ref().map_or(switch.node.at, |queue| queue.at);
            let what = format!("{queue} holds packets back, and a switch sends whenever an output is free");
            Err(Wrong::new(at, what))
        }
        None => Ok((port, note)),
    }
}

/// The number of queues in which packets for an output wait, including its share of the queues that belong to
/// no output.
fn queues_of_output(switch: &Switch, links: &[Link]) -> u64 {
    let ends =
        links.iter().flat_map(|link| &link.ends).filter(|end| **end == switch.node.value).count() as u64;
    if switch.buffers() == Buffers::Voq { ends } else { 1 }
}

/// The line with its nominal rate and its text.
fn built(line: &At<LineWords>, context: &Context<'_>) -> Read<Option<(Line, Rate, String)>> {
    let wrong = |why: String| Wrong::new(line.at, why);
    match &line.value {
        LineWords::Unlimited => Ok(None),
        LineWords::Rate(rate) => Ok(Some((Serializer::new(*rate).into(), *rate, rate.to_string()))),
        LineWords::Schedule { steps, period } => {
            let schedule = match period {
                Some(period) => Schedule::cyclic(steps.clone(), *period),
                None => Schedule::held(steps.clone()),
            };
            let schedule = schedule.map_err(|error| wrong(format!("schedule: {error}")))?;
            let most = steps.iter().map(|(_, rate)| rate.0).max().unwrap_or(0);
            let mut words: Vec<String> = steps.iter().map(|(at, rate)| format!("{rate} from {at}")).collect();
            words.extend(period.map(|period| format!("again after {period}")));
            Ok(Some((Line::Schedule(schedule), Rate(most), words.join(", "))))
        }
        LineWords::Trace(file) => {
            let (trace, rate) = trace::read(&context.folder.join(file))
                .map_err(|why| wrong(format!("trace = \"{}\": {why}", file.escape_debug())))?;
            Ok(Some((Line::Trace(trace), rate, format!("trace {file}, {rate} on average"))))
        }
    }
}

fn ring(way: &OneWay) -> Read<Option<RingSpec>> {
    let bql = way.bql.is_some_and(|bql| bql.value);
    let coalesce = way.coalesce.map_or(Span::ZERO, |coalesce| coalesce.value);
    match way.ring {
        Some(ring) if ring.value > 0 => Ok(Some(RingSpec { entries: ring.value, bql, coalesce })),
        Some(_) => Ok(None),
        None => {
            match (way.bql.filter(|bql| bql.value), way.coalesce.filter(|time| time.value > Span::ZERO)) {
                (Some(At { at, .. }), _) => Err(Wrong::new(at, "bql keeps a ring short: give `ring` too")),
                (_, Some(At { at, .. })) => Err(Wrong::new(at, "coalesce is a ring's: give `ring` too")),
                _ => Ok(None),
            }
        }
    }
}

/// The queue, and whether it is the one under comparison.
fn queue(way: &OneWay, rate: Rate, context: &Context<'_>, slowest: Option<Rate>) -> Read<(Discipline, bool)> {
    let at = way.queue.as_ref().map_or(0, |queue| queue.at);
    let of_line =
        |queue: &QueueText| queue.at(slowest).map_err(|why| Wrong::new(at, format!("{queue}: {why}")));
    let (queue, compared) = match way.queue.as_ref().map(|queue| &queue.value) {
        Some(QueueWords::Spec(queue)) => (of_line(queue)?, false),
        Some(QueueWords::Tree(name)) => {
            return Ok((Discipline::Classes(trees::find(name, at, context.trees)?), false));
        }
        Some(QueueWords::Compared) => match context.queue {
            Some(queue) => (of_line(queue)?, true),
            None => {
                return Err(Wrong::new(at, "$queue is used here, and no queues are compared: give `queues`"));
            }
        },
        None => {
            let plain: Result<Discipline, SpecError> = PLAIN.parse();
            (plain.map_err(|error| Wrong::new(at, format!("{PLAIN}: {error}")))?, false)
        }
    };
    match unfit(&queue, rate) {
        Some(why) => Err(Wrong::new(at, why)),
        None => Ok((queue, compared)),
    }
}

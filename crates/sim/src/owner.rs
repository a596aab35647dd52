//! The part of a simulation that owns the events of a lane.

use std::fmt;

use crate::scenario::Scenario;

/// The part of a simulation that a lane belongs to. Numbers are places in the scenario's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneOwner {
    /// Starts and stops of flows.
    Script,
    /// A link's queue, ring and line.
    Port(u32),
    /// The far end of a link.
    Arrival(u32),
    /// The device at the far end of a link, which gathers packets and is polled.
    Poll(u32),
    /// A switch.
    Switch(u32),
    /// A radio.
    Radio(u32),
    /// A report of a link's device to a sender that waits for it.
    Report(u32),
    /// A browser, a player or a test of responsiveness. Players are numbered after browsers, and tests after
    /// players.
    WebClient(u32),
    /// A video call or a game.
    Talk(u32),
    /// A flow over QUIC.
    Quic(u32),
    /// A probe.
    Probe(u32),
    /// A UDP source.
    Source(u32),
    /// A timer of a flow's sender.
    Sender(u32),
    /// A timer of a flow's receiver.
    Receiver(u32),
}

impl fmt::Display for LaneOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LaneOwner::Script => write!(f, "script"),
            LaneOwner::Port(link) => write!(f, "port of link {link}"),
            LaneOwner::Arrival(link) => write!(f, "arrival on link {link}"),
            LaneOwner::Poll(link) => write!(f, "poll at the far end of link {link}"),
            LaneOwner::Switch(switch) => write!(f, "switch {switch}"),
            LaneOwner::Radio(radio) => write!(f, "radio {radio}"),
            LaneOwner::Report(link) => write!(f, "report of link {link}'s device"),
            LaneOwner::WebClient(client) => write!(f, "browser, player or test {client}"),
            LaneOwner::Talk(talk) => write!(f, "call or game {talk}"),
            LaneOwner::Quic(flow) => write!(f, "QUIC flow {flow}"),
            LaneOwner::Probe(probe) => write!(f, "probe {probe}"),
            LaneOwner::Source(source) => write!(f, "source {source}"),
            LaneOwner::Sender(flow) => write!(f, "sender of flow {flow}"),
            LaneOwner::Receiver(flow) => write!(f, "receiver of flow {flow}"),
        }
    }
}

impl LaneOwner {
    /// The names of the two nodes that the owner connects, as in `router to server`. Empty for the script,
    /// browsers, players, tests of responsiveness, radios and switches.
    #[must_use]
    pub fn nodes(self, scenario: &Scenario) -> String {
        let ends = match self {
            LaneOwner::Script | LaneOwner::WebClient(_) | LaneOwner::Radio(_) | LaneOwner::Switch(_) => None,
            LaneOwner::Port(index)
            | LaneOwner::Arrival(index)
            | LaneOwner::Poll(index)
            | LaneOwner::Report(index) => scenario.links.get(index as usize).map(|link| (link.from, link.to)),
            LaneOwner::Probe(index) => {
                scenario.probes.get(index as usize).map(|probe| (probe.from, probe.to))
            }
            LaneOwner::Talk(index) => scenario.talks.get(index as usize).map(|talk| (talk.from, talk.to)),
            LaneOwner::Source(index) => {
                scenario.sources.get(index as usize).map(|source| (source.from, source.to))
            }
            LaneOwner::Quic(index) | LaneOwner::Sender(index) | LaneOwner::Receiver(index) => {
                scenario.flows.get(index as usize).map(|flow| (flow.from, flow.to))
            }
        };
        let name = |node: usize| scenario.nodes.get(node).map_or("", String::as_str);
        ends.map_or_else(String::new, |(from, to)| format!("{} to {}", name(from), name(to)))
    }
}

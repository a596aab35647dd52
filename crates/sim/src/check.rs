//! Checks that a scenario makes sense, before anything is built.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use goodqueue::Span;
use goodqueue_probe::QuicCc;

use crate::error::BuildError;
use crate::scenario::{Flow, Link, NodeId, Pattern, ProbeKind, Scenario};

/// The maximum number of nodes in a scenario; the same limit applies to links, flows, sources and probes.
pub const MOST: usize = 1_000_000;
/// The longest delay of a link.
const LONGEST: Span = Span(1_000_000_000_000);
/// How long a receiving device can gather packets.
const GATHERS: RangeInclusive<Span> = Span(1_000)..=Span(10_000_000);
/// The longest frame, bytes: a super-packet with all its headers.
const LONGEST_FRAME: u32 = 1 << 17;

pub(crate) fn check(scenario: &Scenario) -> Result<(), BuildError> {
    let counts = [
        ("nodes", scenario.nodes.len()),
        ("links", scenario.links.len()),
        ("flows", scenario.flows.len()),
        ("sources", scenario.sources.len()),
        ("probes", scenario.probes.len()),
        ("browsers", scenario.browsers.len()),
        ("players", scenario.players.len()),
        ("rpm", scenario.rpm.len()),
        ("talks", scenario.talks.len()),
        ("radios", scenario.radios.len()),
        ("switches", scenario.switches.len()),
    ];
    if let Some(&(what, given)) = counts.iter().find(|&&(_, given)| given > MOST) {
        return Err(BuildError::TooMany { what, given, most: MOST });
    }
    let nodes = scenario.nodes.len();
    for (index, link) in scenario.links.iter().enumerate() {
        check_link(link, nodes).map_err(|why| BuildError::Invalid { what: "link", index, why })?;
    }
    if let Some(given) = scenario.tcp.gro.filter(|given| !GATHERS.contains(given)) {
        let why = format!("gro of {given}: {} to {}", GATHERS.start(), GATHERS.end());
        return Err(BuildError::Invalid { what: "tcp", index: 0, why });
    }
    check_switches(scenario)?;
    let mut followed = BTreeSet::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        ends(flow.from, flow.to, nodes)
            .and_then(|()| dscp(flow.dscp))
            .and_then(|()| quic(flow))
            .and_then(|()| after(flow, index, &scenario.flows))
            .and_then(|()| kept(flow, index, &scenario.flows, &mut followed))
            .map_err(|why| BuildError::Invalid { what: "flow", index, why })?;
    }
    for (index, source) in scenario.sources.iter().enumerate() {
        ends(source.from, source.to, nodes)
            .and_then(|()| dscp(source.dscp))
            .and_then(|()| frame(source.len))
            .and_then(|()| pattern(&source.pattern))
            .map_err(|why| BuildError::Invalid { what: "source", index, why })?;
    }
    for (index, browser) in scenario.browsers.iter().enumerate() {
        let servers = browser.hosts.iter().try_for_each(|&host| ends(browser.from, host, nodes));
        servers.and_then(|()| dscp(browser.dscp)).map_err(|why| BuildError::Invalid {
            what: "browser",
            index,
            why,
        })?;
    }
    for (index, player) in scenario.players.iter().enumerate() {
        ends(player.from, player.server, nodes)
            .and_then(|()| dscp(player.dscp))
            .map_err(|why| BuildError::Invalid { what: "player", index, why })?;
    }
    for (index, rpm) in scenario.rpm.iter().enumerate() {
        ends(rpm.from, rpm.to, nodes).map_err(|why| BuildError::Invalid { what: "rpm", index, why })?;
    }
    for (index, talk) in scenario.talks.iter().enumerate() {
        ends(talk.from, talk.to, nodes)
            .and_then(|()| dscp(talk.dscp))
            .map_err(|why| BuildError::Invalid { what: "talk", index, why })?;
    }
    for (index, probe) in scenario.probes.iter().enumerate() {
        ends(probe.from, probe.to, nodes)
            .and_then(|()| dscp(probe.dscp))
            .and_then(|()| frame(probe.payload))
            .and_then(|()| positive("interval", probe.interval))
            .and_then(|()| spread(probe.kind))
            .map_err(|why| BuildError::Invalid { what: "probe", index, why })?;
    }
    Ok(())
}

/// Checks that no host is at a switch, and that no node is two switches.
fn check_switches(scenario: &Scenario) -> Result<(), BuildError> {
    let ends = scenario.flows.iter().map(|flow| (flow.from, flow.to));
    let ends = ends.chain(scenario.sources.iter().map(|source| (source.from, source.to)));
    let ends = ends.chain(scenario.probes.iter().map(|probe| (probe.from, probe.to)));
    let pages = scenario.browsers.iter().flat_map(|web| web.hosts.iter().map(|&host| (web.from, host)));
    let hosts: BTreeSet<NodeId> = ends.chain(pages).flat_map(|(from, to)| [from, to]).collect();
    for (index, switch) in scenario.switches.iter().enumerate() {
        let refuse = |why: String| Err(BuildError::Invalid { what: "switch", index, why });
        if hosts.contains(&switch.node) {
            return refuse(format!("node {} sends or receives: it is a host", switch.node));
        }
        if scenario.switches[..index].iter().any(|other| other.node == switch.node) {
            return refuse(format!("node {} is a switch already", switch.node));
        }
        let pauses = |link: &Link| link.port.as_ref().is_some_and(|port| port.pause.is_some());
        let feeds =
            |node: NodeId| scenario.links.iter().any(|link| link.from == switch.node && link.to == node);
        if scenario.links.iter().any(|link| pauses(link) && feeds(link.from)) {
            return refuse("its outputs are not stopped by pause frames".into());
        }
    }
    Ok(())
}

fn check_link(link: &Link, nodes: usize) -> Result<(), String> {
    ends(link.from, link.to, nodes)?;
    for (what, span) in [("delay", link.delay), ("jitter", link.jitter)] {
        if span > LONGEST {
            return Err(format!("{what} of {span}: the maximum is {LONGEST}"));
        }
    }
    if !link.loss.is_sound() {
        return Err("loss: a probability is between 0 and 1".into());
    }
    let Some(port) = &link.port else { return Ok(()) };
    frame(port.frame)?;
    if !(1..=1024).contains(&port.lanes) {
        return Err(format!("{} hardware queues: there are 1 to 1024", port.lanes));
    }
    if port.shaper.is_some() && port.lanes > 1 {
        return Err("a shaper feeds one hardware queue".into());
    }
    match port.pause {
        Some(pause) if pause.low >= pause.high => {
            Err(format!("pause at {} and go on at {} bytes: the second must be less", pause.high, pause.low))
        }
        _ => Ok(()),
    }
}

fn ends(from: NodeId, to: NodeId, nodes: usize) -> Result<(), String> {
    if let Some(&node) = [from, to].iter().find(|&&node| node >= nodes) {
        return Err(format!("there is no node {node}"));
    }
    if from == to {
        return Err("it begins and ends at the same node".into());
    }
    Ok(())
}

fn dscp(dscp: u8) -> Result<(), String> {
    if dscp < 64 { Ok(()) } else { Err(format!("DSCP {dscp}: must be 0 to 63")) }
}

fn quic(flow: &Flow) -> Result<(), String> {
    match flow.quic {
        Some(QuicCc::Bbr) => {
            let why = "the simulator has no BBR over QUIC: quinn's takes random bits from the system, so no two runs \
                       would be alike; it has cubic and newreno, and bbr over TCP";
            Err(why.into())
        }
        Some(_) if flow.bytes.is_some() || flow.max_rate.is_some() => {
            Err("a flow over QUIC has no end of its own and no rate limit".into())
        }
        _ => Ok(()),
    }
}

/// Checks that the flow which this one waits for, if any, is finite.
fn after(flow: &Flow, index: usize, flows: &[Flow]) -> Result<(), String> {
    let Some(after) = flow.after else { return Ok(()) };
    match flows.get(after.flow) {
        _ if flow.quic.is_some() => Err("a flow over QUIC waits for no other".into()),
        Some(other) if after.flow != index && other.bytes.is_some() => Ok(()),
        Some(_) => Err(format!("it waits for flow {}, which does not end before it", after.flow)),
        None => Err(format!("it waits for flow {}, and there is none", after.flow)),
    }
}

/// Checks that the connection which the flow reuses, if any, can be reused.
fn kept(flow: &Flow, index: usize, flows: &[Flow], followed: &mut BTreeSet<usize>) -> Result<(), String> {
    let Some(after) = flow.after.filter(|after| after.kept) else { return Ok(()) };
    let other = &flows[after.flow];
    let ends = |flow: &Flow| (flow.from, flow.to, flow.opener);
    let it = format!("it goes over the connection of flow {}", after.flow);
    if after.flow > index {
        Err(format!("{it}, which must be in front of it in the list"))
    } else if ends(flow) != ends(other) {
        Err(format!("{it}, which has other ends"))
    } else if flow.stop.is_some() {
        Err(format!("{it}, and has no stop of its own"))
    } else if !followed.insert(after.flow) {
        Err(format!("{it}, and so does another flow behind it"))
    } else {
        Ok(())
    }
}

fn frame(len: u32) -> Result<(), String> {
    if (1..=LONGEST_FRAME).contains(&len) {
        Ok(())
    } else {
        Err(format!("{len} bytes: a frame has 1 to {LONGEST_FRAME}"))
    }
}

fn positive(what: &str, span: Span) -> Result<(), String> {
    if span > Span::ZERO { Ok(()) } else { Err(format!("{what}: must be more than zero")) }
}

fn pattern(pattern: &Pattern) -> Result<(), String> {
    match *pattern {
        Pattern::Constant { interval } => positive("interval", interval),
        Pattern::Poisson { mean } => positive("mean", mean),
        Pattern::OnOff { interval, on, off } => positive("interval", interval)
            .and_then(|()| positive("on", on))
            .and_then(|()| positive("off", off)),
    }
}

fn spread(kind: ProbeKind) -> Result<(), String> {
    match kind {
        ProbeKind::Ping { spread } if !(0.0..1.0).contains(&spread) => {
            Err(format!("spread {spread}: must be at least 0 and below 1"))
        }
        _ => Ok(()),
    }
}

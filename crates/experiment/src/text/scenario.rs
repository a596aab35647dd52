//! A network with its load: the scenario of a variant.

use goodqueue::{Bytes, Nanos, Span};
use goodqueue_probe::dash::PlayerConfig;
use goodqueue_probe::rpm::ClientConfig;
use goodqueue_probe::talk::PeerConfig;
use goodqueue_probe::web::BrowserConfig;
use goodqueue_probe::{Direction, QuicCc, Test, Transport, UdpFlow};
use goodqueue_sim::tcp::Config;
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{
    Browse, Flow, NodeId, Opener, Pattern, Probe, ProbeKind, Rpm, Scenario, Source, Talk, Watch,
};

use super::load::{Load, Own, client_name, server_name};
use super::network::Network;
use super::read::{Read, Wrong};
use super::traffic;
use crate::Variant;
use crate::own_cc::CcText;

/// Puts the load on the network.
pub(super) fn variant(
    network: Network,
    load: &Load,
    written: &[traffic::Written],
    tcp: Config,
    ipv6: bool,
    at: usize,
) -> Read<Variant> {
    let node = |name: &str, at: usize| {
        network.find(name).ok_or_else(|| {
            let nodes = network.scenario.nodes.join(", ");
            Wrong::new(at, format!("there is no node `{}`; there are {nodes}", name.escape_debug()))
        })
    };
    let hosts = written.iter().map(|one| one.host + 1).max().unwrap_or(1).max(load.test.hosts());
    let pair = |host| {
        let own = network.find(&client_name(host));
        Ok((own.map_or_else(|| node("client", at), Ok)?, node(&server_name(host), at)?))
    };
    let pairs = match &network.pairs[..] {
        [] => (0..hosts).map(pair).collect::<Read<Vec<_>>>()?,
        pairs => pairs.to_vec(),
    };
    for (switch, place) in network.scenario.switches.iter().zip(&network.switches) {
        if pairs.iter().any(|&(client, server)| [client, server].contains(&switch.node)) {
            let name = &network.scenario.nodes[switch.node];
            return Err(Wrong::new(place.at, format!("`{name}` is a host: a switch goes between hosts")));
        }
    }
    let mut scenario = Scenario { origin: load.test.idle, tcp, ipv6, ..network.scenario.clone() };
    let is_ipv6 = |&(host, _): &(usize, &(NodeId, NodeId))| load.test.is_ipv6(host, false);
    scenario.ipv6_nodes = pairs.iter().enumerate().filter(is_ipv6).map(|(_, &(_, server))| server).collect();
    scenario.flows = flows(&load.test, &load.own, &pairs)?;
    scenario.probes = probes(&load.test, &pairs);
    scenario.browsers = browsers(&load.test, &pairs);
    scenario.players = players(&load.test, &pairs)?;
    scenario.talks = talks(&load.test, &pairs);
    scenario.rpm = responsiveness(&load.test, &pairs)?;
    // Those of the test come first, so they have the same indexes here.
    scenario.sources = load.test.udp.iter().map(|flow| udp(&scenario, &load.test, flow, &pairs)).collect();
    for named in &load.sources {
        let [from, to] = &named.ends;
        let (from, to) = (node(&from.value, from.at)?, node(&to.value, to.at)?);
        if from == to {
            return Err(Wrong::new(named.ends[0].at, "a source that sends to its own node"));
        }
        if let Some(end) = [from, to].iter().position(|&node| is_switch(&scenario, node)) {
            let end = &named.ends[end];
            return Err(Wrong::new(end.at, format!("`{}` is a switch: no host is there", end.value)));
        }
        route(&scenario, from, to, named.ends[0].at)?;
        scenario.sources.push(Source { from, to, ..named.source.clone() });
    }
    let mut rtt = Vec::new();
    for &(client, server) in &pairs {
        rtt.push(round_trip(&scenario, client, server, at)?);
    }
    let way = |from, to| {
        let hops = goodqueue_sim::hops(&scenario, from, to);
        hops.map(|hops| network.bottleneck(&hops)).map_err(|error| Wrong::new(at, error.to_string()))
    };
    let (client, server) = pairs[0];
    let (up, down) = (way(client, server)?, way(server, client)?);
    let switches = network.switches.iter().map(|switch| switch.value.clone()).collect();
    let placed = |one: &traffic::Written| {
        let (client, server) = pairs[one.host];
        let is_ipv6 = ipv6 || scenario.ipv6_nodes.contains(&server);
        let mss = if is_ipv6 == ipv6 { tcp.mss } else { tcp.mss - IPV6_MORE };
        one.placed(&network, (client, server), mss)
    };
    let traffic = written.iter().map(placed).collect::<Read<_>>()?;
    let (label, about, notes) = (String::new(), String::new(), network.notes.clone());
    let start_jitter = load.start_jitter;
    Ok(Variant { label, about, up, down, rtt, start_jitter, notes, switches, traffic, scenario })
}

/// How much longer the header of IPv6 is than that of IPv4, bytes.
const IPV6_MORE: u32 = 20;

fn is_switch(scenario: &Scenario, node: NodeId) -> bool {
    scenario.switches.iter().any(|switch| switch.node == node)
}

fn route(scenario: &Scenario, from: NodeId, to: NodeId, at: usize) -> Read<Vec<usize>> {
    goodqueue_sim::route(scenario, from, to).map_err(|error| Wrong::new(at, error.to_string()))
}

/// The delays there and back.
fn round_trip(scenario: &Scenario, client: NodeId, server: NodeId, at: usize) -> Read<Span> {
    let mut path = route(scenario, client, server, at)?;
    path.extend(route(scenario, server, client, at)?);
    let links = || path.iter().map(|&link| &scenario.links[link]);
    let delay = links().fold(Span::ZERO, |sum, link| sum + link.delay);
    if delay == Span::ZERO && links().all(|link| link.port.is_none()) {
        let name = &scenario.nodes[server];
        let what = format!("between client and {name} no link has a rate or a delay: no time would pass");
        return Err(Wrong::new(at, what));
    }
    Ok(delay)
}

/// The flows of the test between client and server of their host.
fn flows(test: &Test, own: &[Own], pairs: &[(NodeId, NodeId)]) -> Read<Vec<Flow>> {
    let flow = |(flow, &Own { bytes }): (&goodqueue_probe::Flow, &Own)| {
        let (client, server) = pairs[flow.host];
        let (from, to, opener) = match flow.direction {
            Direction::Up => (client, server, Opener::Sender),
            Direction::Down => (server, client, Opener::Receiver),
        };
        let wrong = |error: &dyn std::fmt::Display| Wrong::new(0, error.to_string());
        let (cc, quic) = match flow.transport {
            Transport::Tcp => (flow.cc.parse::<CcText>().map_err(|error| wrong(&error))?.0, None),
            Transport::Quic => {
                (CcKind::Cubic, Some(flow.cc.parse::<QuicCc>().map_err(|error| wrong(&error))?))
            }
        };
        let (dscp, max_rate) = (flow.dscp.value(), flow.max_rate);
        let (start, stop) = (test.idle + flow.start, Some(test.idle + flow.stop));
        Ok(Flow { from, to, cc, quic, dscp, opener, start, after: None, stop, bytes, max_rate })
    };
    test.flows.iter().zip(own).map(flow).collect()
}

/// A UDP flow of the test. The rate is that of the payload.
fn udp(scenario: &Scenario, test: &Test, flow: &UdpFlow, pairs: &[(NodeId, NodeId)]) -> Source {
    let (client, server) = pairs[flow.host];
    let (from, to) = match flow.direction {
        Direction::Up => (client, server),
        Direction::Down => (server, client),
    };
    let interval = flow.rate.tx_time(Bytes(flow.payload.into()));
    Source {
        from,
        to,
        pattern: Pattern::Constant { interval },
        len: scenario.udp_frame(from, to, flow.payload),
        dscp: flow.dscp.value(),
        start: test.idle + flow.start,
        stop: Some(test.idle + flow.stop),
    }
}

/// The probes of the test. Probes with the same interval share its grid, and are spread over it as in the
/// live arm.
fn probes(test: &Test, pairs: &[(NodeId, NodeId)]) -> Vec<Probe> {
    let count = test.streams().len() as u64;
    let probe = |(index, probe): (u64, &goodqueue_probe::Probe)| Probe {
        from: pairs[probe.host].0,
        to: pairs[probe.host].1,
        kind: ProbeKind::Irtt,
        interval: probe.interval,
        payload: probe.payload,
        dscp: probe.dscp.value(),
        start: Span(probe.interval.0 * index / count),
        stop: test.idle + test.load,
    };
    (0..).zip(test.streams()).map(probe).collect()
}

/// A browser on each client, which loads its pages one after another; its times begin with the simulation.
fn browsers(test: &Test, pairs: &[(NodeId, NodeId)]) -> Vec<Browse> {
    let origin = Nanos::ZERO + test.idle;
    let mut browsers: Vec<Browse> = Vec::new();
    for page in &test.web {
        let from = pairs[page.host].0;
        if browsers.last().is_none_or(|browse| browse.from != from) {
            let stop = origin + test.load;
            let config =
                BrowserConfig { pages: Vec::new(), start: Nanos::ZERO, origin, late: Span::ZERO, stop };
            let hosts = pairs.iter().map(|&(_, server)| server).collect();
            browsers.push(Browse { from, hosts, dscp: 0, config });
        }
        if let Some(browse) = browsers.last_mut() {
            browse.config.pages.push(page.clone());
        }
    }
    browsers
}

/// A player for each video.
fn players(test: &Test, pairs: &[(NodeId, NodeId)]) -> Read<Vec<Watch>> {
    let origin = Nanos::ZERO + test.idle;
    let player = |(video, plan): (u32, &goodqueue_probe::dash::Video)| {
        let (from, server) = pairs[plan.host];
        let cc = plan.cc.parse::<CcText>().map_err(|error| Wrong::new(0, error))?.0;
        Ok(Watch {
            from,
            server,
            cc,
            dscp: 0,
            config: PlayerConfig { video, origin, late: Span::ZERO, stop: origin + test.load },
        })
    };
    (0..).zip(&test.dash).map(player).collect()
}

/// The responsiveness test with downloads, if it is one; [`crate::Experiment::jobs`] adds that with uploads.
fn responsiveness(test: &Test, pairs: &[(NodeId, NodeId)]) -> Read<Vec<Rpm>> {
    let one = |plan: &goodqueue_probe::rpm::Plan| {
        let (from, to) = pairs[plan.host];
        let cc = plan.cc.parse::<CcText>().map_err(|error| Wrong::new(0, error))?.0;
        let config = ClientConfig {
            settings: plan.settings,
            direction: Direction::Down,
            tls: plan.tls,
            first_probe: 0,
            seed: 0,
            stop: Nanos::ZERO + test.idle + test.load,
        };
        Ok(Rpm { from, to, cc, config })
    };
    test.rpm.iter().map(one).collect()
}

/// The video calls and games, from the start of the simulation.
fn talks(test: &Test, pairs: &[(NodeId, NodeId)]) -> Vec<Talk> {
    let origin = Nanos::ZERO + test.idle;
    let talk = |(talk, plan): (u32, &goodqueue_probe::talk::Talk)| {
        let (from, to) = pairs[plan.host];
        let (token, app) = (u64::from(talk) + 1, plan.app);
        let config = PeerConfig { talk, token, app, origin, start: Nanos::ZERO, stop: origin + test.load };
        Talk { from, to, dscp: plan.dscp.value(), config }
    };
    (0..).zip(&test.talks).map(talk).collect()
}

/// Warnings about queues under test in the sending hosts: TCP itself keeps the queue of its own host's device
/// short (TCP small queues), no matter which queue that is.
pub(super) fn own_queues(variant: &Variant) -> Vec<String> {
    let scenario = &variant.scenario;
    let is_tested = |link: &&usize| {
        let is_compared = variant.notes.iter().any(|note| note.compared);
        let note = variant.notes.get(**link);
        note.is_some_and(|note| note.queue.is_empty() && (note.compared || !is_compared))
    };
    let is_own = |link: &&usize| {
        let Some(link) = scenario.links.get(**link) else { return false };
        let sends = |node: NodeId| {
            let flows = scenario.flows.iter().map(|flow| flow.from);
            let traffic = variant.traffic.iter().map(|traffic| traffic.flow.from);
            let rpm = scenario.rpm.iter().flat_map(|rpm| [rpm.from, rpm.to]);
            flows.chain(traffic).chain(rpm).any(|from| from == node)
        };
        link.port.is_some() && sends(link.from)
    };
    let links = [variant.up, variant.down];
    let words = links.iter().filter(is_tested).filter(is_own).map(|&link| {
        let host = &scenario.nodes[scenario.links[link].from];
        format!(
            "the queue of {} is in the host that sends, where TCP keeps it short whatever it is (TCP small queues): put a \
             router between, with [[link]] between = [\"{host}\", \"router\"] and this link from \"router\" on",
            variant.notes[link].name
        )
    });
    words.collect()
}

/// Warnings about links that no packet takes, which are mostly mistakes.
pub(super) fn idle_links(variant: &Variant) -> Vec<String> {
    let scenario = &variant.scenario;
    let mut is_used = vec![false; scenario.links.len()];
    let flows = scenario.flows.iter().map(|flow| (flow.from, flow.to));
    let traffic = variant.traffic.iter().map(|traffic| (traffic.flow.from, traffic.flow.to));
    let probes = scenario.probes.iter().map(|probe| (probe.from, probe.to));
    let talks = scenario.talks.iter().map(|talk| (talk.from, talk.to));
    let rpm = scenario.rpm.iter().map(|rpm| (rpm.from, rpm.to));
    let mut pairs: Vec<(NodeId, NodeId)> = flows
        .chain(traffic)
        .chain(probes)
        .chain(talks)
        .chain(rpm)
        .flat_map(|(a, b)| [(a, b), (b, a)])
        .collect();
    pairs.extend(scenario.sources.iter().map(|source| (source.from, source.to)));
    pairs.sort_unstable();
    pairs.dedup();
    for path in pairs.into_iter().filter_map(|(from, to)| goodqueue_sim::route(scenario, from, to).ok()) {
        path.into_iter().for_each(|link| is_used[link] = true);
    }
    let idle = variant.notes.chunks(2).zip(is_used.chunks(2)).filter(|(_, used)| !used.contains(&true));
    idle.map(|(notes, _)| format!("no packet takes the link {}", notes[0].name)).collect()
}

//! The load of the hosts: the test of the catalogue, and the file's own flows, probes and sources.

use std::fmt::Display;
use std::marker::PhantomData;
use std::str::FromStr;

use goodqueue::{ETHERNET_FRAME, Rate, Span};
use goodqueue_probe::{Direction, Dscp, Flow, FlowCount, Params, Probe, QuicCc, Test, Transport};
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{Pattern, Source};
use toml::Spanned;
use toml::de::DeValue;

use super::keys::{FLOW, Key, Kind, MOST_FLOWS, MOST_SERVERS, PROBE, TEST, TRAFFIC, UDP};
use super::named;
use super::read::{self, At, Read, Section, Wrong};
use super::starts;
use super::wifi::TestStations;
use crate::own_cc::CcText;

/// Minimum payload of the probe, bytes: its header.
const PAYLOAD: u32 = 60;
/// Most probes, and most sources.
const MOST_OTHERS: usize = 1000;
/// Shortest time between two datagrams of a source.
const LEAST_GAP: Span = Span(100);

/// The load of the hosts.
#[derive(Clone, Debug)]
pub(super) struct Load {
    pub(super) test: Test,
    /// Further properties of each flow of the test, from the file.
    pub(super) own: Vec<Own>,
    pub(super) sources: Vec<NamedSource>,
    pub(super) start_jitter: Span,
}

/// Properties of a flow that only a file can set, not a test of the catalogue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Own {
    /// Bytes to send; `None` means no limit.
    pub(super) bytes: Option<u64>,
}

/// A source as written: its ends are names.
#[derive(Clone, Debug)]
pub(super) struct NamedSource {
    pub(super) ends: [At<String>; 2],
    pub(super) source: Source,
}

/// The server host called `name`, from 0: `server`, `server2`, ...
pub(super) fn server(name: &str) -> Option<usize> {
    match name.strip_prefix("server")? {
        "" => Some(0),
        digits if digits.starts_with('0') => None,
        digits => digits.parse::<usize>().ok().filter(|&number| number >= 2).map(|number| number - 1),
    }
}

/// The name of server host `index`.
pub(super) fn server_name(index: usize) -> String {
    if index == 0 { "server".into() } else { format!("server{}", index + 1) }
}

/// The name of the client of server host `index`, if it has its own client.
pub(super) fn client_name(index: usize) -> String {
    if index == 0 { "client".into() } else { format!("client{}", index + 1) }
}

/// The servers and stations.
#[derive(Clone, Debug)]
pub(super) enum Far {
    /// As many server hosts as the test needs, or one for each of several round-trip times.
    Any(Option<usize>),
    /// The nodes of a network of links.
    Nodes(Nodes),
    /// The stations of a Wi-Fi network.
    Stations(TestStations),
}

/// The nodes of a network of links.
#[derive(Clone, Debug)]
pub(super) struct Nodes {
    names: Vec<String>,
    /// The number of server hosts, which `servers` means together.
    servers: usize,
    /// Further pairs of nodes with flows between them. Their numbers follow those of the servers.
    pairs: Vec<[String; 2]>,
}

impl Nodes {
    /// The nodes with these names, the number of servers among them, and the pairs of the file's flows.
    pub(super) fn read(root: &Section<'_>, names: Vec<String>, servers: usize) -> Read<Nodes> {
        let mut nodes = Nodes { names, servers, pairs: Vec::new() };
        for section in [root.sections("flow", &FLOW)?, root.sections("traffic", &TRAFFIC)?].iter().flatten() {
            if let Some((_, ends)) = nodes.two(section)?
                && nodes.number(&ends).is_none()
            {
                nodes.pairs.push(ends);
            }
        }
        Ok(nodes)
    }

    /// The names of client and server of each pair; empty if all pairs are clients and their servers.
    pub(super) fn all(&self) -> Vec<[String; 2]> {
        let usual = (0..self.servers).map(|host| [self.client(host), server_name(host)]);
        let usual = usual.filter(|_| !self.pairs.is_empty());
        usual.chain(self.pairs.iter().cloned()).collect()
    }

    /// The client of a server.
    fn client(&self, host: usize) -> String {
        let own = client_name(host);
        if self.names.contains(&own) { own } else { "client".into() }
    }

    /// The number of a pair: the server's number, if the other node is its own client.
    fn number(&self, ends: &[String; 2]) -> Option<usize> {
        let usual = server(&ends[1]).filter(|&host| self.client(host) == ends[0]);
        let further = || self.pairs.iter().position(|known| known == ends).map(|at| self.servers + at);
        usual.or_else(further)
    }

    /// The two nodes of a group of flows, as client and server, and which of them sends: two names mean these
    /// nodes, one name means it and its partner. `None` if the names mean several nodes, or there is no name.
    fn two(&self, section: &Section<'_>) -> Read<Option<(Direction, [String; 2])>> {
        let (from, to) = (section.read("from", read::text)?, section.read("to", read::text)?);
        let (from, to) = match (from, to) {
            (Some(from), Some(to)) => (from, to),
            (Some(from), None) => (from.clone(), At { at: from.at, value: self.partner(&from.value) }),
            (None, Some(to)) => (At { at: to.at, value: self.partner(&to.value) }, to),
            (None, None) => return Ok(None),
        };
        if [&from, &to].iter().any(|end| end.value == "servers") {
            return Ok(None);
        }
        for end in [&from, &to] {
            if !self.names.contains(&end.value) {
                let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
                let nearest = crate::hint::did_you_mean(&end.value, &names);
                let (name, all) = (end.value.escape_debug(), names.join(", "));
                return Err(Wrong::new(
                    end.at,
                    format!("there is no node `{name}`; there are {all}{nearest}"),
                ));
            }
        }
        if from.value == to.value {
            return Err(Wrong::new(
                from.at,
                format!("from {} to itself: no link is on this way", from.value),
            ));
        }
        let is_down = server(&from.value).is_some();
        let (direction, client, far) =
            if is_down { (Direction::Down, to, from) } else { (Direction::Up, from, to) };
        Ok(Some((direction, [client.value, far.value])))
    }

    /// The server of a client, the client of a server, and otherwise `server`.
    fn partner(&self, name: &str) -> String {
        match server(name) {
            Some(host) => self.client(host),
            None => (0..self.servers)
                .find(|&host| client_name(host) == name)
                .map_or_else(|| "server".into(), server_name),
        }
    }
}

impl Far {
    /// Most server hosts that a test may have.
    fn most(&self) -> usize {
        let most = usize::try_from(MOST_SERVERS).unwrap_or(usize::MAX);
        match self {
            Far::Nodes(nodes) => nodes.servers,
            Far::Any(_) => most,
            Far::Stations(test_stations) => test_stations.all.len().max(most),
        }
    }

    /// The number of server hosts of a test for any number; `None`: the test's default.
    fn given(&self) -> Option<usize> {
        match self {
            Far::Nodes(nodes) => Some(nodes.servers),
            Far::Any(hosts) => *hosts,
            Far::Stations(test_stations) => Some(test_stations.loaded().len()),
        }
    }

    /// Hosts with their own probe, each with the name of the probe.
    fn probed(&self, name: &str) -> Vec<(usize, String)> {
        let Far::Stations(test_stations) = self else { return vec![(0, name.into())] };
        let all = test_stations.all.iter().enumerate().filter(|(_, station)| station.probe);
        all.map(|(host, station)| (host, format!("{name} {}", station.name))).collect()
    }

    /// The hosts that a name means, each with the suffix for the names of its flows and probes.
    fn find(&self, name: &At<String>) -> Read<Vec<(usize, String)>> {
        match self {
            Far::Stations(test_stations) => {
                let found = test_stations.find(name)?;
                Ok(found.into_iter().map(|at| (at, format!(" {}", test_stations.all[at].name))).collect())
            }
            Far::Nodes(nodes) if name.value == "servers" => {
                Ok((0..nodes.servers).map(|host| (host, format!(" {}", server_name(host)))).collect())
            }
            _ => Ok(vec![(host(&name.value, name.at, self.most())?, String::new())]),
        }
    }
}

impl Load {
    /// A test, and nothing else.
    pub(super) fn of(test: Test, start_jitter: Span) -> Load {
        Load { own: vec![Own::default(); test.flows.len()], test, sources: Vec::new(), start_jitter }
    }

    /// The load over a network.
    pub(super) fn read(root: &Section<'_>, about: &str, far: &Far) -> Read<Load> {
        let (mut test, is_own) = read_test(root, about, far)?;
        if let Far::Stations(test_stations) = far {
            test = test_stations.spread(test, root.at)?;
        }
        let mut own = vec![Own::default(); test.flows.len()];
        for section in root.sections("flow", &FLOW)? {
            add_flows(&section, &mut test, &mut own, far)?;
        }
        let probes = root.sections("probe", &PROBE)?;
        if is_own && probes.is_empty() {
            let interval = of_test(root, "probe_interval")?.unwrap_or(Span::from_millis(10));
            let plain = |(host, name)| Probe { name, host, dscp: Dscp::CS0, interval, payload: PAYLOAD };
            test.probes.extend(far.probed("Ping (ms) UDP BE").into_iter().map(plain));
        }
        let sources = root.sections("udp", &UDP)?;
        for (what, given) in [("probe", &probes), ("udp", &sources)] {
            if let Some(one) = given.get(MOST_OTHERS) {
                return Err(Wrong::new(one.at, format!("more than {MOST_OTHERS} of [[{what}]]")));
            }
        }
        for section in &probes {
            add_probe(section, &mut test, far)?;
        }
        let sources: Vec<Vec<NamedSource>> =
            sources.iter().map(|section| read_sources(section, &test, far)).collect::<Read<_>>()?;
        let start_jitter = of_test(root, "start_jitter")?.unwrap_or(starts::DEFAULT);
        Ok(Load { test, own, sources: sources.concat(), start_jitter })
    }
}

/// A time in the table of the test, if it is given.
fn of_test(root: &Section<'_>, key: &'static str) -> Read<Option<Span>> {
    let table = root.get("test").filter(|(_, value)| value.get_ref().is_table());
    let section = table.map(|(key, value)| read::table(key, value, &TEST)).transpose()?;
    Ok(section.map(|section| section.plain(key, read::span)).transpose()?.flatten())
}

/// Names separated by commas, each of a `T`.
struct Names<T>(String, PhantomData<T>);

impl<T: FromStr + Display> FromStr for Names<T> {
    type Err = T::Err;
    fn from_str(text: &str) -> Result<Names<T>, T::Err> {
        let names = text.split(',').map(|name| Ok(name.trim().parse::<T>()?.to_string()));
        Ok(Names(names.collect::<Result<Vec<_>, _>>()?.join(","), PhantomData))
    }
}

/// The test, and whether it is not one of the catalogue.
fn read_test(root: &Section<'_>, about: &str, far: &Far) -> Read<(Test, bool)> {
    let (hosts, use_hosts) = (far.most(), far.given());
    let [length, idle] = [30, 2].map(Span::from_secs);
    let defaults = Params { length, idle, hosts, use_hosts, ..Params::default() };
    let Some((key, value)) = root.get("test") else { return Ok((own_test(&defaults, about, 0)?, true)) };
    if value.get_ref().is_str() {
        let name = read::text(key, key.kind, value)?;
        return catalogue_test(&name, value.span().start, &defaults).map(|test| (test, false));
    }
    let section = read::table(key, value, &TEST)?;
    let given = |name, default| Ok(section.plain(name, read::span)?.unwrap_or(default));
    let with = section.plain("with", read::list(named::read_extra))?;
    let transport = section.plain("transport", read::words::<Transport>)?.unwrap_or_default();
    let cc = match transport {
        Transport::Tcp => section.plain("cc", read::words::<Names<CcText>>)?.map(|cc| cc.0),
        Transport::Quic => section.plain("cc", read::words::<Names<QuicCc>>)?.map(|cc| cc.0),
    };
    let marks = section.plain("marks", read::list(read::words::<Dscp>))?.unwrap_or_default();
    let params = Params {
        length: given("length", defaults.length)?,
        delay: given("delay", defaults.delay)?,
        idle: given("idle", defaults.idle)?,
        step: given("step", defaults.step)?,
        probe_interval: given("probe_interval", defaults.probe_interval)?,
        flows: section.plain("flows", flow_count)?,
        cc,
        marks: marks.into_iter().map(|mark| mark.value).collect(),
        transport,
        pacing: section.plain("pacing", read::rate)?,
        udp_bandwidth: section.plain("udp_bandwidth", read::rate)?,
        udp_pktsize: section
            .plain("udp_pktsize", read::count)?
            .map(|size| u32::try_from(size).unwrap_or(u32::MAX)),
        hosts,
        use_hosts,
        with: with.unwrap_or_default().into_iter().map(|word| word.value.to_string()).collect(),
    };
    if params.step > params.length {
        let what = format!("step = \"{}\": must be at most the length, {}", params.step, params.length);
        return Err(Wrong::new(section.at, what));
    }
    if let Some(name) = section.read("name", read::text)? {
        return catalogue_test(&name.value, name.at, &params).map(|test| (test, false));
    }
    for name in ["flows", "cc", "marks", "transport", "pacing", "delay", "udp_bandwidth", "udp_pktsize"] {
        if let Some((_, value)) = section.get(name) {
            let what = format!("`{name}` is of a test of the catalogue: give its `name`, or use [[flow]]");
            return Err(Wrong::new(value.span().start, what));
        }
    }
    Ok((own_test(&params, about, section.at)?, true))
}

/// A number for both directions, or one for each.
fn flow_count(key: &Key, kind: Kind, value: &Spanned<DeValue<'_>>) -> Read<FlowCount> {
    let Kind::OneOf([one, Kind::Pair([up, down])]) = kind else {
        return Err(read::wrong_type(key, kind, value));
    };
    match value.get_ref() {
        DeValue::Array(pair) if pair.len() == 2 => {
            let [up, down] = [read::small(key, *up, &pair[0])?, read::small(key, *down, &pair[1])?];
            Ok(FlowCount::Each { up, down })
        }
        DeValue::Integer(_) => read::small(key, *one, value).map(FlowCount::Both),
        _ => Err(read::wrong_type(key, kind, value)),
    }
}

fn catalogue_test(name: &str, at: usize, params: &Params) -> Read<Test> {
    named::simulated(name, params).map_err(|why| Wrong::new(at, why))
}

/// A test without flows and probes, which the file adds.
fn own_test(params: &Params, about: &str, at: usize) -> Read<Test> {
    let empty = catalogue_test("ping", at, params)?;
    Ok(Test { name: "custom".into(), about: about.into(), probes: Vec::new(), ..empty })
}

fn add_flows(section: &Section<'_>, test: &mut Test, own: &mut Vec<Own>, far: &Far) -> Read<()> {
    let count = section.read("count", read::count)?.unwrap_or(At { at: section.at, value: 1 });
    let (direction, found) = ends(section, far)?;
    let all = test.flows.len() as u64 + count.value * found.len() as u64;
    if all > MOST_FLOWS {
        return Err(Wrong::new(count.at, format!("{all} flows together: the maximum is {MOST_FLOWS}")));
    }
    let start = section.plain("start", read::span)?.unwrap_or(Span::ZERO);
    let stagger = section.plain("stagger", read::span)?.unwrap_or(Span::ZERO);
    let stop = section.read("stop", read::span)?;
    if let Some(late) = stop.filter(|stop| stop.value > test.load) {
        let what = format!("stop = \"{}\": the load ends at {}", late.value, test.load);
        return Err(Wrong::new(late.at, what));
    }
    let stop = stop.map_or(test.load, |stop| stop.value);
    let last = start + stagger * (count.value - 1);
    if last >= stop {
        let what = format!("the last of these flows would begin at {last}, and they stop at {stop}");
        return Err(Wrong::new(section.at, what));
    }
    let transport = section.plain("transport", read::words::<Transport>)?.unwrap_or_default();
    let cc = match transport {
        Transport::Tcp => section.plain("cc", read::words::<CcText>)?.map_or(CcKind::Cubic, |cc| cc.0).name(),
        Transport::Quic => section.plain("cc", read::words::<QuicCc>)?.unwrap_or(QuicCc::Cubic).name(),
    };
    let dscp = section.plain("dscp", read::words::<Dscp>)?.unwrap_or_default();
    let send = section.read("bytes", read::bytes)?;
    if transport == Transport::Quic {
        for key in ["bytes", "rate"] {
            if let Some((key, _)) = section.get(key) {
                let what = format!("{}: a flow over QUIC has no end of its own and no rate limit", key.name);
                return Err(Wrong::new(section.at, what));
            }
        }
    }
    if let Some(none) = send.filter(|send| send.value == 0) {
        return Err(Wrong::new(none.at, "bytes = 0: a flow sends a byte at least"));
    }
    let max_rate = section.plain("rate", read::rate)?;
    let before = test.flows.iter().filter(|flow| flow.direction == direction).count() as u64;
    let stem = match (transport, direction) {
        (Transport::Tcp, Direction::Up) => "TCP upload::",
        (Transport::Tcp, Direction::Down) => "TCP download::",
        (Transport::Quic, Direction::Up) => "QUIC upload::",
        (Transport::Quic, Direction::Down) => "QUIC download::",
    };
    let each = found.iter().flat_map(|place| (0..count.value).map(move |index| (place, index)));
    for (number, ((host, name), index)) in (before + 1..).zip(each) {
        test.flows.push(Flow {
            name: format!("{stem}{number}{name}"),
            direction,
            transport,
            cc: cc.into(),
            dscp,
            max_rate,
            host: *host,
            start: start + stagger * index,
            stop,
        });
        own.push(Own { bytes: send.map(|send| send.value) });
    }
    Ok(())
}

/// Direction of a group of flows, and its hosts, each with the suffix for the names of its flows.
pub(super) fn ends(section: &Section<'_>, far: &Far) -> Read<(Direction, Vec<(usize, String)>)> {
    match far {
        Far::Stations(test_stations) => return station_ends(section, test_stations, far),
        Far::Nodes(nodes) => {
            if let Some((direction, ends)) = nodes.two(section)? {
                let host = nodes.number(&ends).unwrap_or(0);
                return Ok((direction, vec![(host, String::new())]));
            }
        }
        Far::Any(_) => {}
    }
    let from = section.read("from", read::text)?;
    let to = section.read("to", read::text)?;
    let name = |end: &Option<At<String>>| end.as_ref().map(|end| end.value.clone());
    let (from_name, to_name) = match (name(&from), name(&to)) {
        (Some(from), None) if from != "client" => (from, "client".into()),
        (from, to) => (from.unwrap_or_else(|| "client".into()), to.unwrap_or_else(|| "server".into())),
    };
    let at = to.as_ref().or(from.as_ref()).map_or(section.at, |end| end.at);
    let (direction, other) = match (from_name.as_str(), to_name.as_str()) {
        ("client", to) => (Direction::Up, to),
        (from, "client") => (Direction::Down, from),
        (from, to) => {
            let what = format!("from {from} to {to}: a flow runs between client and a server");
            return Err(Wrong::new(at, what));
        }
    };
    Ok((direction, far.find(&At { at, value: other.into() })?))
}

/// The same for flows between the server and stations: one of the two ends is enough.
fn station_ends(
    section: &Section<'_>,
    test_stations: &TestStations,
    far: &Far,
) -> Read<(Direction, Vec<(usize, String)>)> {
    let is_station = |end: &Option<At<String>>| end.as_ref().is_some_and(|end| end.value != "server");
    let (from, to) = (section.read("from", read::text)?, section.read("to", read::text)?);
    let back = if test_stations.to_stations == Direction::Up { Direction::Down } else { Direction::Up };
    match (is_station(&from), is_station(&to), from, to) {
        (false, true, _, Some(to)) => Ok((test_stations.to_stations, far.find(&to)?)),
        (true, false, Some(from), _) => Ok((back, far.find(&from)?)),
        _ => Err(Wrong::new(section.at, "a flow runs between the server and a station: give `from` or `to`")),
    }
}

/// The number of an existing server host.
fn host(name: &str, at: usize, hosts: usize) -> Read<usize> {
    server(name).filter(|&host| host < hosts).ok_or_else(|| {
        let last = server_name(hosts.saturating_sub(1));
        let known = if hosts > 1 { format!("server to {last}") } else { "server".into() };
        Wrong::new(at, format!("there is no server host `{}`; there is {known}", name.escape_debug()))
    })
}

fn add_probe(section: &Section<'_>, test: &mut Test, far: &Far) -> Read<()> {
    let to = section.read("to", read::text)?;
    let all = if matches!(far, Far::Stations(_)) { "stations" } else { "server" };
    let found = far.find(&to.unwrap_or(At { at: section.at, value: all.into() }))?;
    let dscp = section.plain("dscp", read::words::<Dscp>)?.unwrap_or_default();
    let payload = section.plain("payload", read::count)?;
    let interval = section.plain("interval", read::span)?.unwrap_or(Span::from_millis(10));
    let payload = payload.and_then(|payload| u32::try_from(payload).ok()).unwrap_or(PAYLOAD);
    for (host, name) in found {
        let name = format!("Ping (ms) UDP::{}{name}", test.probes.len() + 1);
        test.probes.push(Probe { name, host, dscp, interval, payload });
    }
    Ok(())
}

/// Reads a source, once for each station that one of its ends means.
fn read_sources(section: &Section<'_>, test: &Test, far: &Far) -> Read<Vec<NamedSource>> {
    let client = if matches!(far, Far::Stations(_)) { "server" } else { "client" };
    let source = read_source(section, test, client)?;
    let Far::Stations(test_stations) = far else { return Ok(vec![source]) };
    let [from, to] = source.ends.each_ref().map(|end| {
        let is_station = !["server", "ap"].contains(&end.value.as_str());
        if is_station { test_stations.find(end).map(Some) } else { Ok(None) }
    });
    let named = |at: usize, value: usize| At { at, value: test_stations.all[value].name.clone() };
    let [first, second] = &source.ends;
    let with = |ends| NamedSource { ends, ..source.clone() };
    Ok(match (from?, to?) {
        (Some(from), None) => from.iter().map(|&at| with([named(first.at, at), second.clone()])).collect(),
        (None, Some(to)) => to.iter().map(|&at| with([first.clone(), named(second.at, at)])).collect(),
        _ => return Err(Wrong::new(first.at, "a source is between the server, or ap, and stations")),
    })
}

/// `client` sends by default.
fn read_source(section: &Section<'_>, test: &Test, client: &str) -> Read<NamedSource> {
    let end = |name: &str, default: &str| {
        let given = section.read(name, read::text)?;
        Ok(given.unwrap_or(At { at: section.at, value: default.into() }))
    };
    let ends = [end("from", client)?, end("to", "server")?];
    let rate = section.read("rate", read::rate)?;
    let rate = section.required("rate", rate)?;
    let len = section
        .plain("bytes", read::count)?
        .and_then(|len| u32::try_from(len).ok())
        .unwrap_or(ETHERNET_FRAME);
    let start = section.plain("start", read::span)?.unwrap_or(Span::ZERO);
    let stop = section.plain("stop", read::span)?.unwrap_or(test.load).min(test.load);
    if start >= stop {
        return Err(Wrong::new(section.at, format!("this source would start at {start} and stop at {stop}")));
    }
    let source = Source {
        from: 0,
        to: 0,
        pattern: pattern(section, rate, len)?,
        len,
        dscp: section.plain("dscp", read::words::<Dscp>)?.unwrap_or_default().value(),
        start: test.idle + start,
        stop: Some(test.idle + stop),
    };
    Ok(NamedSource { ends, source })
}

fn pattern(section: &Section<'_>, rate: At<Rate>, len: u32) -> Read<Pattern> {
    let interval = rate.value.tx_time(goodqueue::Bytes(len.into()));
    if interval < LEAST_GAP {
        let what = format!("a frame of {len} bytes every {interval}: the minimum is {LEAST_GAP}");
        return Err(Wrong::new(rate.at, what));
    }
    let is_poisson = section.plain("poisson", read::switch)?.unwrap_or(false);
    match (section.read("on", read::span)?, section.read("off", read::span)?) {
        (None, None) if is_poisson => Ok(Pattern::Poisson { mean: interval }),
        (None, None) => Ok(Pattern::Constant { interval }),
        (Some(on), Some(_)) if is_poisson => {
            Err(Wrong::new(on.at, "a source is either poisson or has periods of on and off"))
        }
        (Some(on), Some(off)) => Ok(Pattern::OnOff { interval, on: on.value, off: off.value }),
        (Some(alone), None) | (None, Some(alone)) => {
            Err(Wrong::new(alone.at, "on and off go together: give both"))
        }
    }
}

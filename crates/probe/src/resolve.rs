//! Turns a test's name and the user's choices into a [`Test`].

use goodqueue::{Bytes, Rate, Span};

use crate::catalogue::TESTS;
use crate::dash::Video;
use crate::extra::{self, Extra};
use crate::flow_count::FlowCount;
use crate::rpm;
use crate::talk::Talk;
use crate::test::{Flow, Probe, Test, TestError, UdpFlow};
use crate::test_info::{
    Cc, Count, FlowGroup, HostRule, Lasts, MAX_FLOWS, Names, ProbeGroup, TestInfo, UdpPattern,
};
use crate::web::Page;
use crate::{Direction, Dscp, QuicCc, Transport, echo, voip};

/// The user's choices for a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Length of each flow, or of the measurement in a test without flows; up to 24 h.
    pub length: Span,
    /// The delay D between staggered starts, 0 to 1 h.
    pub delay: Span,
    /// Idle time before the load, 0 to 1 h.
    pub idle: Span,
    /// Step of the goodput series, 10 ms to 1 min, at most `length`.
    pub step: Span,
    /// The number N of flows per direction, 1 to [`MAX_FLOWS`], for tests that have one. Tests whose N is of
    /// both directions take one for each, too.
    pub flows: Option<FlowCount>,
    /// Congestion control for tests that do not set their own. `rrul_var` takes several, separated by commas,
    /// and gives them to its flows in turn.
    pub cc: Option<String>,
    /// DSCPs for `rrul_var`, which assigns them to its flows and probes in turn.
    pub marks: Vec<Dscp>,
    /// Transport of the flows.
    pub transport: Transport,
    /// Largest pacing rate of each TCP flow's payload.
    pub pacing: Option<Rate>,
    /// Rate of the payload of UDP flows, for tests that do not set their own.
    pub udp_bandwidth: Option<Rate>,
    /// UDP payload of UDP flows, bytes.
    pub udp_pktsize: Option<u32>,
    /// Time between two probes, 1 ms to 1 min.
    pub probe_interval: Span,
    /// Number of available server hosts.
    pub hosts: usize,
    /// Number of server hosts that tests for any number go to, 1 to [`MAX_FLOWS`]; the tests have a default.
    pub use_hosts: Option<usize>,
    /// Applications in addition to the test's own probes, in the syntax of [`Extra`] (`voip:ef`, `web`), each
    /// at most once.
    pub with: Vec<String>,
}

impl Params {
    /// Default congestion control of flows: Linux's default, named explicitly so that a result does not
    /// depend on a sysctl.
    pub const DEFAULT_CC: &'static str = "cubic";
}

impl Default for Params {
    /// flent's values: 60 s, D and idle 5 s, step 0.2 s; also a probe every 10 ms, and 6 hosts, enough for
    /// every test.
    fn default() -> Params {
        Params {
            length: Span::from_secs(60),
            delay: Span::from_secs(5),
            idle: Span::from_secs(5),
            step: Span::from_millis(200),
            flows: None,
            cc: None,
            marks: Vec::new(),
            transport: Transport::Tcp,
            pacing: None,
            udp_bandwidth: None,
            udp_pktsize: None,
            probe_interval: Span::from_millis(10),
            hosts: 6,
            use_hosts: None,
            with: Vec::new(),
        }
    }
}

/// How many flows and hosts a test has.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    /// The number N; 0 for a test without one.
    flows: FlowCount,
    hosts: usize,
}

/// The test `name` with every number filled in. `tcp_12up` and `tcp_12down` are `tcp_nup` and `tcp_ndown`
/// with N = 12.
///
/// The load lasts `length`; in a test with staggered starts, `length` plus the delay of the last start
/// (`tcp_square_wave`: length + 5 D; flent adds a sixth D of silence).
///
/// # Errors
/// An unknown name, with similar ones; a number of flows, congestion control, time or number of hosts that
/// the test cannot have; an unknown extra, or the same one twice.
pub fn resolve(name: &str, params: &Params) -> Result<Test, TestError> {
    let (info, named) = find(name)?;
    check_times(params)?;
    if info.flows.iter().any(|group| matches!(group.lasts, Lasts::Delay)) {
        within("delay, how long flows last", params.delay, params.step, HOUR)?;
    }
    let numbers = numbers(info, name, named, params)?;
    if info.rpm.is_some() && params.transport != Transport::Tcp {
        return Err(TestError::FixedTransport { test: name.into() });
    }
    if params.hosts < numbers.hosts {
        return Err(TestError::Hosts { test: name.into(), need: numbers.hosts, have: params.hosts });
    }
    let most = numbers.flows.most();
    if let Some(cc) = &params.cc {
        check_cc(info, most, cc)?;
    }
    check_marks(info, most, &params.marks)?;
    let rpm = info.rpm.map(|tls| responsiveness(tls, most, params)).transpose()?;
    let flows = info.flows.iter().flat_map(|group| group.flows(numbers, params));
    let flows: Vec<Flow> = flows.map(|flow| carried(flow, params.transport)).collect::<Result<_, _>>()?;
    check_pacing(info, params)?;
    let Extras { voip, web, dash, talks } = extras(info, params)?;
    let udp = udp(info, numbers.hosts, params)?;
    let load = flows.iter().map(|flow| flow.stop).max().unwrap_or(params.length);
    within("length of the load", load, params.step, DAY)?;
    Ok(Test {
        name: if named.is_some() { name.into() } else { info.name.into() },
        about: info.about.into(),
        idle: params.idle,
        versions: info.versions.to_vec(),
        load,
        step: params.step,
        flows,
        udp,
        probes: info.probes.iter().flat_map(|group| group.probes(numbers, params)).collect(),
        voip,
        web,
        dash,
        talks,
        rpm,
    })
}

/// Responsiveness with up to `most` connections, in as many intervals of a second as fit into the length.
fn responsiveness(tls: rpm::Tls, most: u32, params: &Params) -> Result<rpm::Plan, TestError> {
    let default = rpm::Settings::default();
    within("length, which has intervals of 1 s,", params.length, default.interval, DAY)?;
    let limit = usize::try_from(params.length.0 / default.interval.0).unwrap_or(usize::MAX);
    let settings = rpm::Settings { most, idle: params.idle, limit, ..default };
    let cc = params.cc.clone().unwrap_or_else(|| Params::DEFAULT_CC.into());
    Ok(rpm::Plan { settings, tls, cc, host: 0 })
}

/// A flow of the catalogue, where it is TCP, over `transport`. Over QUIC it gets another name.
fn carried(flow: Flow, transport: Transport) -> Result<Flow, TestError> {
    match transport {
        Transport::Tcp => Ok(flow),
        Transport::Quic => {
            let cc = flow.cc.parse::<QuicCc>()?.name().into();
            Ok(Flow { name: flow.name.replacen("TCP", "QUIC", 1), transport, cc, ..flow })
        }
    }
}

/// Lowest rate limit of a flow: below it a segment takes more than a second.
const LEAST_PACING: Rate = Rate(16_000);

/// Checks whether the flows of the test can be limited to the requested rate.
fn check_pacing(info: &TestInfo, params: &Params) -> Result<(), TestError> {
    let wrong = |why: String| Err(TestError::Unfit { what: "pacing", why });
    match params.pacing {
        None => Ok(()),
        Some(_) if info.flows.is_empty() => {
            wrong(format!("`{}` has no flow whose rate can be limited", info.name))
        }
        Some(_) if params.transport != Transport::Tcp => wrong("it is of TCP; QUIC has no rate limit".into()),
        Some(rate) if rate < LEAST_PACING => wrong(format!("{rate}: must be at least {LEAST_PACING}")),
        Some(_) => Ok(()),
    }
}

/// Highest rate of a UDP flow, and shortest time between two datagrams of a flow.
const MOST_UDP: Rate = Rate(10_000_000_000);
const LEAST_GAP: Span = Span(1_000);

/// The UDP flows of the test, which goes to this many hosts.
fn udp(info: &TestInfo, hosts: usize, params: &Params) -> Result<Vec<UdpFlow>, TestError> {
    let wrong = |what, why: String| Err(TestError::Unfit { what, why });
    if params.udp_bandwidth.is_some() && !info.udp.iter().any(|group| group.is_asked) {
        return wrong("udp bandwidth", format!("`{}` has no UDP flow whose rate is open", info.name));
    }
    if params.udp_pktsize.is_some() && info.udp.is_empty() {
        return wrong("udp pktsize", format!("`{}` has no UDP flow", info.name));
    }
    let (least, most) = (UdpFlow::LEAST_PAYLOAD, UdpFlow::MOST_PAYLOAD);
    if let Some(size) = params.udp_pktsize.filter(|size| !(least..=most).contains(size)) {
        return wrong("udp pktsize", format!("{size} bytes: must be {least} to {most}"));
    }
    let mut flows = Vec::new();
    for group in info.udp {
        let rate = params.udp_bandwidth.filter(|_| group.is_asked).unwrap_or(Rate(group.bps));
        let payload = params.udp_pktsize.unwrap_or(group.payload);
        if rate.0 == 0 || rate > MOST_UDP || rate.tx_time(Bytes(payload.into())) < LEAST_GAP {
            return wrong("udp bandwidth", format!("{rate}: must be more than 0 and at most {MOST_UDP}"));
        }
        let flow = |name: String, host, start, stop| UdpFlow {
            name,
            direction: Direction::Up,
            rate,
            payload,
            dscp: Dscp::CS0,
            host,
            start,
            stop,
        };
        let to_host =
            |host: usize, start| flow(format!("{} {}", group.name, host + 1), host, start, params.length);
        match group.pattern {
            UdpPattern::Steady => flows.push(flow(group.name.into(), 0, Span::ZERO, params.length)),
            UdpPattern::Hosts => flows.extend((0..hosts).map(|host| to_host(host, Span::ZERO))),
            UdpPattern::Stagger => {
                let start = |host: usize| Span(params.length.0 / hosts as u64 * host as u64);
                flows.extend((0..hosts).map(|host| to_host(host, start(host))));
            }
            UdpPattern::Bursts(seconds) => {
                let (length, mut start) = (Span::from_secs(seconds), params.delay);
                while start + length <= params.length && flows.len() < MAX_FLOWS as usize {
                    flows.push(flow(format!("{}{}", group.name, flows.len()), 0, start, start + length));
                    start = start + length + params.delay;
                }
            }
        }
    }
    Ok(flows)
}

/// Applications in addition to the test's own probes.
#[derive(Default)]
struct Extras {
    voip: Vec<Probe>,
    web: Vec<Page>,
    dash: Vec<Video>,
    talks: Vec<Talk>,
}

/// The calls, pages, videos and games of the test, and those that were requested.
fn extras(info: &TestInfo, params: &Params) -> Result<Extras, TestError> {
    let (mut out, mut seen) = (Extras::default(), Vec::new());
    // Pages and videos are fetched over TCP.
    let asked = params.cc.as_deref().filter(|_| params.transport == Transport::Tcp);
    let cc = asked.unwrap_or(Params::DEFAULT_CC);
    for word in info.with.iter().copied().chain(params.with.iter().map(String::as_str)) {
        let extra: Extra = word.parse()?;
        if seen.contains(&extra) {
            return Err(TestError::Twice(extra));
        }
        seen.push(extra);
        match extra {
            Extra::Voip(dscp) => out.voip.push(voip::call(dscp)),
            Extra::Web(kind) => out.web.push(kind.page(cc)),
            Extra::Dash => out.dash.push(extra::video(cc)),
            Extra::Talk(app, dscp) => out.talks.push(Talk::new(app, dscp)),
        }
    }
    Ok(out)
}

const HOUR: Span = Span::from_secs(3600);
const DAY: Span = Span::from_secs(24 * 3600);
const MINUTE: Span = Span::from_secs(60);

fn check_times(params: &Params) -> Result<(), TestError> {
    within("step", params.step, Span::from_millis(10), MINUTE)?;
    within("length", params.length, params.step, DAY)?;
    within("delay", params.delay, Span::ZERO, HOUR)?;
    within("idle time", params.idle, Span::ZERO, HOUR)?;
    within("probe interval", params.probe_interval, Span::from_millis(1), MINUTE)
}

fn within(what: &'static str, given: Span, least: Span, most: Span) -> Result<(), TestError> {
    if given < least || given > most {
        return Err(TestError::Range { what, given, least, most });
    }
    Ok(())
}

/// How many flows and hosts to use. `named` is the number in the name.
fn numbers(info: &TestInfo, name: &str, named: Option<u32>, params: &Params) -> Result<Numbers, TestError> {
    let asked = params.use_hosts.filter(|_| info.any_hosts);
    let hosts = asked.map_or(info.hosts, |hosts| hosts.max(1));
    if hosts > MAX_FLOWS as usize {
        return Err(TestError::Flows { given: hosts as u64, most: MAX_FLOWS });
    }
    let Some(default) = info.default_flows else {
        let none = Numbers { flows: FlowCount::Both(0), hosts };
        if params.flows.is_some() {
            let flows = info.flows.iter().map(|group| group.len(none)).sum::<usize>();
            return Err(TestError::FixedFlows { test: name.into(), flows });
        }
        return Ok(none);
    };
    if let (Some(named), Some(FlowCount::Both(given))) = (named, params.flows)
        && named != given
    {
        return Err(TestError::Contradiction { test: name.into(), named, given });
    }
    let flows = params.flows.or(named.map(FlowCount::Both)).unwrap_or(FlowCount::Both(default));
    for n in Direction::BOTH.map(|direction| flows.of(direction)) {
        if n == 0 || n > MAX_FLOWS {
            return Err(TestError::Flows { given: n.into(), most: MAX_FLOWS });
        }
    }
    let open = info.flows.iter().filter(|group| matches!(group.count, Count::N));
    let open: Vec<Direction> = open.map(|group| group.direction).collect();
    if let FlowCount::Each { .. } = flows
        && !Direction::BOTH.iter().all(|direction| open.contains(direction))
    {
        let cure = open.first().map_or(flows.most(), |&direction| flows.of(direction));
        return Err(TestError::OneNumber { test: name.into(), cure });
    }
    Ok(Numbers { flows, hosts })
}

fn check_cc(info: &TestInfo, n: u32, cc: &str) -> Result<(), TestError> {
    if info.flows.iter().any(|group| matches!(group.cc, Cc::Fixed(_))) {
        return Err(TestError::FixedCc { test: info.name.into() });
    }
    // The arm checks a library with a user-defined congestion control, given by its path.
    let is_library =
        |cc: &str| cc.contains('/') && [".so", ".dylib", ".dll"].iter().any(|suffix| cc.contains(suffix));
    let is_name = |cc: &str| {
        let letters = cc.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        is_library(cc) || (1..=15).contains(&cc.len()) && letters
    };
    if let Some(wrong) = cc.split(',').find(|cc| !is_name(cc)) {
        return Err(TestError::Cc(wrong.into()));
    }
    match cc.split(',').count() {
        1 => Ok(()),
        several => in_turn(info, n, "cc", several),
    }
}

fn check_marks(info: &TestInfo, n: u32, marks: &[Dscp]) -> Result<(), TestError> {
    if marks.is_empty() { Ok(()) } else { in_turn(info, n, "marks", marks.len()) }
}

/// Checks whether the test's flows, `n` at most in a direction, can use this many values in turn.
fn in_turn(info: &TestInfo, n: u32, what: &'static str, given: usize) -> Result<(), TestError> {
    let wrong = |why: String| Err(TestError::Unfit { what, why });
    if !info.flows.iter().any(|group| matches!(group.names, Names::Marked(_))) {
        return wrong(format!("the flows of `{}` have none of their own; those of rrul_var do", info.name));
    }
    if given > n as usize {
        return wrong(format!("{given} for {n} flows in each direction"));
    }
    Ok(())
}

/// The row for `name`, and the number in the name.
fn find(name: &str) -> Result<(&'static TestInfo, Option<u32>), TestError> {
    let called = |name: &str| TESTS.iter().find(|info| info.name == name || info.aliases.contains(&name));
    if let Some(info) = called(name) {
        return Ok((info, None));
    }
    if let Some((digits, row)) = numbered(name)
        && let Some(info) = called(row)
    {
        let given = digits.parse::<u64>().unwrap_or(u64::MAX);
        let n = u32::try_from(given).map_err(|_| TestError::Flows { given, most: MAX_FLOWS })?;
        return Ok((info, Some(n)));
    }
    Err(TestError::Unknown { name: name.into(), candidates: TESTS.iter().map(|info| info.name).collect() })
}

/// Whether the test goes to any number of server hosts ([`Params::use_hosts`]).
#[must_use]
pub fn takes_any_hosts(name: &str) -> bool {
    find(name).is_ok_and(|(info, _)| info.any_hosts)
}

/// Splits `tcp_12up` into 12 and `tcp_nup`.
fn numbered(name: &str) -> Option<(&str, &'static str)> {
    let rest = name.strip_prefix("tcp_")?;
    let (digits, row) = match rest.strip_suffix("up") {
        Some(digits) => (digits, "tcp_nup"),
        None => (rest.strip_suffix("down")?, "tcp_ndown"),
    };
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then_some((digits, row))
}

impl FlowGroup {
    fn len(&self, numbers: Numbers) -> usize {
        match self.count {
            Count::Fixed(count) => count as usize,
            Count::N => numbers.flows.of(self.direction) as usize,
            Count::Hosts => numbers.hosts,
        }
    }

    fn flows(&self, numbers: Numbers, params: &Params) -> impl Iterator<Item = Flow> {
        let start = params.delay * self.start;
        let lasts = match self.lasts {
            Lasts::Length => params.length,
            Lasts::Delay => params.delay,
        };
        let cc = match self.cc {
            Cc::Asked => params.cc.as_deref().unwrap_or(Params::DEFAULT_CC),
            Cc::Fixed(cc) => cc,
        };
        let cc: Vec<&str> = cc.split(',').collect();
        (0..self.len(numbers)).map(move |i| {
            let dscp = self.names.mark(i, self.dscp, params);
            Flow {
                name: self.names.of(i, dscp),
                direction: self.direction,
                transport: Transport::Tcp,
                cc: cc[i % cc.len()].into(),
                dscp,
                max_rate: params.pacing,
                host: self.host.of(i),
                start,
                stop: start + lasts,
            }
        })
    }
}

impl Names {
    /// The name of a member.
    fn of(self, member: usize, mark: Dscp) -> String {
        match self {
            Names::List(names) => names[member % names.len()].into(),
            Names::Numbered(stem) => format!("{stem}{}", member + 1),
            Names::Marked(stem) => format!("{stem}{member} ({mark})"),
        }
    }

    /// The mark of a member: the group's, or the user's.
    fn mark(self, member: usize, of_group: &[Dscp], params: &Params) -> Dscp {
        let is_asked = matches!(self, Names::Marked(_)) && !params.marks.is_empty();
        let marks = if is_asked { &params.marks } else { of_group };
        marks[member % marks.len()]
    }
}

impl ProbeGroup {
    fn probes(&self, numbers: Numbers, params: &Params) -> impl Iterator<Item = Probe> {
        let count = match (self.names, self.host) {
            (Names::List(names), _) => names.len(),
            (Names::Numbered(_) | Names::Marked(_), HostRule::Each) => numbers.hosts,
            (Names::Numbered(_) | Names::Marked(_), _) => numbers.flows.most() as usize,
        };
        (0..count).map(move |i| {
            let dscp = self.names.mark(i, self.dscp, params);
            Probe {
                name: self.names.of(i, dscp),
                host: self.host.of(i),
                dscp,
                interval: params.probe_interval,
                payload: echo::HEADER_LEN as u32,
            }
        })
    }
}

impl HostRule {
    fn of(self, member: usize) -> usize {
        match self {
            HostRule::First => 0,
            HostRule::Second => 1,
            HostRule::Each => member,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Direction::{Down as DOWN, Up as UP};
    use proptest::prelude::*;

    fn params() -> Params {
        Params::default()
    }

    #[test]
    fn every_row_resolves_and_is_sound() {
        for info in TESTS {
            let test = resolve(info.name, &params()).unwrap();
            assert_eq!(test.name, info.name);
            assert!(test.hosts() <= info.hosts);
            let mut names: Vec<_> = test.flows.iter().map(|flow| &flow.name).collect();
            names.extend(test.udp.iter().map(|flow| &flow.name));
            names.extend(test.probes.iter().map(|probe| &probe.name));
            let count = names.len();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), count, "{}: names of series are unique", info.name);
            for group in info.flows {
                if let (Names::List(names), Count::Fixed(count)) = (group.names, group.count) {
                    assert_eq!(names.len(), count as usize);
                }
            }
            for alias in info.aliases {
                assert_eq!(resolve(alias, &params()).unwrap(), test);
            }
        }
    }

    #[test]
    fn rrul_is_flents() {
        let test = resolve("rrul", &params()).unwrap();
        let flows: Vec<_> = test.flows.iter().map(|f| (f.name.as_str(), f.dscp.tos(), f.direction)).collect();
        assert_eq!(flows[1], ("TCP upload BK", 0x20, UP));
        assert_eq!(flows[6], ("TCP download CS5", 0xa0, DOWN));
        assert_eq!(flows.len(), 8);
        let probes: Vec<_> = test.probes.iter().map(|p| (p.name.as_str(), p.dscp.tos())).collect();
        assert_eq!(probes, [("Ping (ms) UDP BE", 0), ("Ping (ms) UDP BK", 0x20), ("Ping (ms) UDP EF", 0xb8)]);
        assert_eq!(test.load, Span::from_secs(60));
    }

    #[test]
    fn square_wave_has_four_uploads_of_equal_length() {
        let test = resolve("tcp_square_wave", &Params { length: Span::from_secs(30), ..params() }).unwrap();
        let secs = |span: Span| span.0 / 1_000_000_000;
        let flows: Vec<_> = test.flows.iter().map(|f| (f.cc.as_str(), secs(f.start), secs(f.stop))).collect();
        assert_eq!(flows, [("bbr", 0, 30), ("cubic", 5, 35), ("bbr", 15, 45), ("cubic", 25, 55)]);
        assert_eq!(secs(test.load), 55);
    }

    #[test]
    fn rtt_fair_goes_to_four_hosts() {
        let test = resolve("rtt_fair", &params()).unwrap();
        let hosts: Vec<_> = test.flows.iter().map(|f| f.host).collect();
        assert_eq!(hosts, [0, 1, 2, 3, 0, 1, 2, 3]);
        assert_eq!(test.probes.iter().map(|p| p.host).collect::<Vec<_>>(), [0, 1, 2, 3]);
        let error = resolve("rtt_fair", &Params { hosts: 1, ..params() }).unwrap_err();
        assert_eq!(error.to_string(), "`rtt_fair` needs 4 server hosts, there are 1");
    }

    #[test]
    fn rtt_fair_var_goes_to_any_number_of_hosts() {
        let to = |hosts| Params { hosts: 64, use_hosts: Some(hosts), ..params() };
        for hosts in [1, 2, 3, 8, 64] {
            let test = resolve("rtt_fair_var", &to(hosts)).unwrap();
            let each: Vec<usize> = (0..hosts).collect();
            for direction in [UP, DOWN] {
                let flows = test.flows.iter().filter(|flow| flow.direction == direction);
                assert_eq!(flows.map(|flow| flow.host).collect::<Vec<_>>(), each);
            }
            assert_eq!(test.probes.iter().map(|probe| probe.host).collect::<Vec<_>>(), each);
            assert_eq!((test.hosts(), test.flows.len()), (hosts, 2 * hosts));
            for (name, direction) in [("rtt_fair_var_up", UP), ("rtt_fair_var_down", DOWN)] {
                let test = resolve(name, &to(hosts)).unwrap();
                assert!(test.flows.iter().all(|flow| flow.direction == direction));
                assert_eq!((test.name.as_str(), test.flows.len(), test.probes.len()), (name, hosts, hosts));
            }
            assert_eq!(resolve("udp_flood_var_up", &to(hosts)).unwrap().udp.len(), hosts);
            // Other tests keep their number.
            assert_eq!(resolve("rtt_fair", &to(hosts)).unwrap().hosts(), 4);
        }
        let test = resolve("rtt_fair_var", &to(5)).unwrap();
        assert_eq!(
            (test.flows[4].name.as_str(), test.flows[9].name.as_str()),
            ("TCP upload BE5", "TCP download BE5")
        );
        assert_eq!(test.probes[4].name, "Ping (ms) UDP5");
        let stagger = resolve("udp_flood_var_up_stagger", &to(3)).unwrap();
        let starts: Vec<u64> = stagger.udp.iter().map(|flow| flow.start.0 / 1_000_000_000).collect();
        assert_eq!(starts, [0, 20, 40]);
        // Without a number there are four, with the flows of the test for four.
        let (any, four) =
            (resolve("rtt_fair_var", &params()).unwrap(), resolve("rtt_fair4be", &params()).unwrap());
        assert_eq!((any.flows, any.probes), (four.flows, four.probes));
        let error = |params: Params| resolve("rtt_fair_var", &params).unwrap_err().to_string();
        assert_eq!(error(Params { hosts: 3, ..to(5) }), "`rtt_fair_var` needs 5 server hosts, there are 3");
        assert_eq!(error(Params { hosts: 0, ..to(0) }), "`rtt_fair_var` needs 1 server hosts, there are 0");
        let many = error(Params { hosts: usize::MAX, ..to(1001) });
        assert!(many.starts_with("1001 flows: a test has 1 to 1000 flows"), "{many}");
        assert!(takes_any_hosts("rtt_fair_var") && takes_any_hosts("udp_flood_var_up_stagger"));
        assert!(!takes_any_hosts("rtt_fair") && !takes_any_hosts("rrul") && !takes_any_hosts("rtt_fair_va"));
    }

    #[test]
    fn each_direction_may_have_its_own_number_of_flows() {
        let each = |up, down| Params { flows: Some(FlowCount::Each { up, down }), ..params() };
        let count = |test: &Test, way| test.flows.iter().filter(|flow| flow.direction == way).count();
        for name in ["rrul_be_nflows", "rrul_var"] {
            for (up, down) in [(1, 8), (8, 1), (3, 3), (1, 1000)] {
                let test = resolve(name, &each(up, down)).unwrap();
                assert_eq!((count(&test, UP), count(&test, DOWN)), (up as usize, down as usize), "{name}");
            }
            let equal = Params { flows: Some(FlowCount::Both(3)), ..params() };
            assert_eq!(resolve(name, &each(3, 3)), resolve(name, &equal));
        }
        // A probe for each flow of the direction with more.
        let marks = vec![Dscp::CS0, Dscp::EF];
        let test = resolve("rrul_var", &Params { marks, ..each(1, 2) }).unwrap();
        assert_eq!((test.probes.len(), test.flows[2].dscp), (2, Dscp::EF));
        let error = |name: &str, params: Params| resolve(name, &params).unwrap_err().to_string();
        let one = "takes one number of flows, not one for each direction: --flows";
        assert_eq!(error("tcp_nup", each(2, 8)), format!("`tcp_nup` {one} 2, or in a file `flows = 2`"));
        assert_eq!(error("tcp_ndown", each(2, 8)), format!("`tcp_ndown` {one} 8, or in a file `flows = 8`"));
        assert_eq!(error("tcp_2up", each(2, 8)), format!("`tcp_2up` {one} 2, or in a file `flows = 2`"));
        assert_eq!(error("rpm", each(2, 8)), format!("`rpm` {one} 8, or in a file `flows = 8`"));
        assert!(matches!(resolve("rrul", &each(1, 8)), Err(TestError::FixedFlows { flows: 8, .. })));
        assert!(matches!(resolve("rrul_var", &each(0, 8)), Err(TestError::Flows { given: 0, .. })));
        assert!(matches!(resolve("rrul_var", &each(1, 1001)), Err(TestError::Flows { given: 1001, .. })));
    }

    #[test]
    fn udp_flows_have_their_rates_and_times() {
        let secs = |flow: &UdpFlow| [flow.start, flow.stop].map(|span| span.0 / 1_000_000_000);
        let test = resolve("udp_flood", &params()).unwrap();
        assert_eq!((test.udp.len(), test.udp[0].rate, test.udp[0].payload), (1, Rate(1_000_000), 1470));
        let asked = Params { udp_bandwidth: Some(Rate(9_000_000)), udp_pktsize: Some(200), ..params() };
        let test = resolve("udp_flood_var_up_stagger", &asked).unwrap();
        assert_eq!(test.udp.iter().map(secs).collect::<Vec<_>>(), [[0, 60], [15, 60], [30, 60], [45, 60]]);
        assert_eq!((test.udp[3].rate, test.udp[3].payload, test.udp[3].host), (Rate(9_000_000), 200, 3));
        let test = resolve("bursts", &params()).unwrap();
        let bursts: Vec<_> = test.udp.iter().map(|flow| (flow.name.as_str(), secs(flow))).collect();
        assert_eq!((bursts.len(), bursts[0], bursts[5]), (6, ("Burst 0", [5, 10]), ("Burst 5", [55, 60])));
        let error = |name: &str, params: Params| resolve(name, &params).unwrap_err().to_string();
        assert_eq!(error("rrul", asked.clone()), "udp bandwidth: `rrul` has no UDP flow whose rate is open");
        let fixed = error("cisco_5tcpup_2udpflood", asked);
        assert!(fixed.contains("whose rate is open"), "{fixed}");
        let size = error("udp_flood", Params { udp_pktsize: Some(9000), ..params() });
        assert_eq!(size, "udp pktsize: 9000 bytes: must be 64 to 1472");
    }

    #[test]
    fn the_name_may_contain_the_number() {
        let by_name = resolve("tcp_12down", &params()).unwrap();
        assert_eq!(by_name.flows.len(), 12);
        assert_eq!(by_name.flows[11].name, "TCP download::12");
        assert_eq!(resolve("tcp_nup", &params()).unwrap().flows.len(), 4);
        let flows = |n| Params { flows: Some(FlowCount::Both(n)), ..params() };
        assert_eq!(resolve("tcp_nup", &flows(1000)).unwrap().flows.len(), 1000);
        assert!(matches!(resolve("tcp_2up", &flows(3)), Err(TestError::Contradiction { .. })));
        for wrong in ["tcp_0up", "tcp_1001up", "tcp_99999999999999999999999up"] {
            let error = resolve(wrong, &params()).unwrap_err();
            assert!(matches!(error, TestError::Flows { most: 1000, .. }), "{error}");
        }
        assert!(matches!(resolve("tcp_nup", &flows(0)), Err(TestError::Flows { given: 0, .. })));
        let error = resolve("rrul", &flows(4)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`rrul` has a fixed number of flows (8): leave it open (no --flows, and in a file no `flows`)"
        );
    }

    #[test]
    fn unknown_names_have_candidates() {
        let error = resolve("rul_be", &params()).unwrap_err();
        assert_eq!(error.to_string(), "no test is called `rul_be`");
        let TestError::Unknown { candidates, .. } = resolve("zzzzzzzzzzzz", &params()).unwrap_err() else {
            panic!("an unknown name");
        };
        assert_eq!(candidates.len(), TESTS.len());
        assert!(resolve("", &params()).is_err());
        assert!(resolve("tcp_up", &params()).is_err());
    }

    #[test]
    fn impossible_numbers_are_refused() {
        let second = Span::from_secs(1);
        let wrong = [
            Params { length: Span::ZERO, ..params() },
            Params { length: DAY + second, ..params() },
            Params { step: Span::ZERO, ..params() },
            Params { probe_interval: Span::from_micros(999), ..params() },
            Params { probe_interval: MINUTE + second, ..params() },
            Params { delay: Span(u64::MAX), ..params() },
            Params { idle: Span(u64::MAX), ..params() },
        ];
        for params in wrong {
            assert!(matches!(resolve("rrul", &params), Err(TestError::Range { .. })), "{params:?}");
        }
        let long = Params { length: DAY, ..params() };
        assert!(matches!(resolve("tcp_square_wave", &long), Err(TestError::Range { .. })));
        assert!(resolve("rrul", &long).is_ok());
    }

    #[test]
    fn congestion_control_is_one_name() {
        let cc = |name: &str| Params { cc: Some(name.into()), ..params() };
        assert!(resolve("rrul", &cc("bbr")).unwrap().flows.iter().all(|f| f.cc == "bbr"));
        assert!(matches!(resolve("rrul", &cc("")), Err(TestError::Cc(_))));
        assert!(matches!(resolve("rrul", &cc("../bbr")), Err(TestError::Cc(_))));
        assert!(resolve("rrul", &cc("./my_cc.so:keep=70")).unwrap().flows[0].cc.ends_with("keep=70"));
        assert!(matches!(resolve("tcp_square_wave", &cc("bbr")), Err(TestError::FixedCc { .. })));
    }

    #[test]
    fn rrul_var_has_marks_and_congestion_controls_in_turn() {
        let marks = vec![Dscp::CS0, Dscp::EF];
        let flows = Some(FlowCount::Both(3));
        let asked = Params { cc: Some("cubic,bbr,reno".into()), marks, flows, ..params() };
        let test = resolve("rrul_var", &asked).unwrap();
        let flows: Vec<_> = test.flows.iter().map(|f| (f.name.as_str(), f.cc.as_str(), f.dscp)).collect();
        assert_eq!(
            flows[..2],
            [("TCP upload::0 (CS0)", "cubic", Dscp::CS0), ("TCP upload::1 (EF)", "bbr", Dscp::EF)]
        );
        assert_eq!((flows.len(), flows[5]), (6, ("TCP download::2 (CS0)", "reno", Dscp::CS0)));
        let probes: Vec<_> = test.probes.iter().map(|p| (p.name.as_str(), p.dscp)).collect();
        assert_eq!((probes.len(), probes[1]), (3, ("Ping (ms)::UDP 1 (EF)", Dscp::EF)));
        let plain = resolve("rrul_var", &params()).unwrap();
        assert!(plain.flows.iter().all(|flow| flow.dscp == Dscp::CS0 && flow.cc == "cubic"));
        let error = |name: &str, params: Params| resolve(name, &params).unwrap_err().to_string();
        assert_eq!(
            error("rrul_var", Params { flows: Some(FlowCount::Both(2)), ..asked.clone() }),
            "cc: 3 for 2 flows in each direction"
        );
        let two = Params { flows: None, cc: None, ..asked.clone() };
        assert_eq!(
            error("rrul", two),
            "marks: the flows of `rrul` have none of their own; those of rrul_var do"
        );
        let two = Params { flows: None, marks: Vec::new(), ..asked };
        assert_eq!(
            error("rrul", two),
            "cc: the flows of `rrul` have none of their own; those of rrul_var do"
        );
    }

    #[test]
    fn any_test_takes_calls_and_pages() {
        let with = |words: &[&str]| Params { with: words.iter().map(|&w| w.into()).collect(), ..params() };
        for info in TESTS.iter().filter(|info| info.with.is_empty()) {
            let plain = resolve(info.name, &params()).unwrap();
            let test = resolve(info.name, &with(&["voip", "voip:ef", "web:large", "web", "dash"])).unwrap();
            assert_eq!((&test.flows, &test.probes, test.load), (&plain.flows, &plain.probes, plain.load));
            let names: Vec<_> = test.streams().map(|stream| stream.name.as_str()).collect();
            assert_eq!(names.len(), plain.probes.len() + 2);
            assert_eq!(names[plain.probes.len()..], ["VoIP BE", "VoIP EF"]);
            let pages: Vec<_> = test.web.iter().map(|page| (page.name.as_str(), page.cc.as_str())).collect();
            assert_eq!(pages, [("large", "cubic"), ("small", "cubic")]);
        }
        let reno = Params { cc: Some("reno".into()), ..with(&["web"]) };
        assert_eq!(resolve("rrul", &reno).unwrap().web[0].cc, "reno");
        let error = |words: &[&str]| resolve("rrul", &with(words)).unwrap_err().to_string();
        assert_eq!(error(&["voip", "voip:be"]), "`voip:CS0` is asked for twice");
        assert_eq!(
            error(&["wbe"]),
            "no extra probe is called `wbe`; there are voip, web, dash, videocall, game"
        );
    }

    /// The table of docs/tests.md says correctly which of flent's tests are here.
    #[test]
    fn the_page_says_which_of_flents_tests_are_here() {
        let page = include_str!("../../../docs/tests.md");
        let row = |line: &str| {
            let (name, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
            Some((name.to_owned(), rest.starts_with("yes")))
        };
        let rows: Vec<(String, bool)> = page.lines().filter_map(row).collect();
        assert_eq!(rows.len(), 82, "flent 2.3 has 82 tests");
        for (name, is_here) in &rows {
            assert_eq!(resolve(name, &params()).is_ok(), *is_here, "{name}");
        }
        let said =
            format!("We have {} of flent's 82 tests", rows.iter().filter(|(_, is_here)| *is_here).count());
        assert!(page.contains(&said), "docs/tests.md lacks `{said}`");
    }

    proptest! {
        #[test]
        fn nothing_panics_and_what_resolves_is_sound(
            row in 0..TESTS.len(), tail in "[a-z0-9_]{0,4}", times in any::<[u64; 5]>(), tame: bool,
            flows in proptest::option::of(0u32..1100), downloads: bool, hosts in 0usize..6,
            with in proptest::collection::vec(0usize..5, 0..3), marks in 0usize..2,
        ) {
            let span = |i: usize, most: u64| Span(if tame { 1_000_000 + times[i] % most } else { times[i] });
            let params = Params {
                length: span(0, 10_000_000_000),
                delay: span(1, 10_000_000_000),
                idle: span(2, 10_000_000_000),
                step: span(3, 1_000_000_000),
                probe_interval: span(4, 1_000_000_000),
                flows: flows.map(|up| {
                    if downloads { FlowCount::Each { up, down: 1100 - up } } else { FlowCount::Both(up) }
                }),
                cc: None,
                marks: vec![Dscp::EF; marks],
                transport: if tame { Transport::Tcp } else { Transport::Quic },
                pacing: tame.then_some(Rate(times[0])),
                udp_bandwidth: None,
                udp_pktsize: None,
                hosts,
                use_hosts: tame.then_some(hosts),
                with: with.iter().map(|i| ["voip", "voip:ef", "web", "web:large", "wob"][*i].into()).collect(),
            };
            let name = format!("{}{tail}", TESTS[row].name);
            match resolve(&name, &params) {
                Err(error) => prop_assert!(!error.to_string().is_empty()),
                Ok(test) => {
                    prop_assert!(test.hosts() <= hosts);
                    prop_assert!(test.flows.iter().all(|f| f.start < f.stop && f.stop <= test.load));
                    prop_assert!(test.load <= DAY && test.step <= test.load);
                }
            }
        }
    }
}

//! The third arm: a test over a real path, against a `goodqueue server` at its other end. The network is not
//! under our control: its line and its queues are unknown, except for their effect on packets.

mod clocks;
mod doubts;
mod locate;
mod machine;
mod own_queues;
mod peer;
mod probes;
mod rpm;
mod run;
mod seconds;
mod wifi;

use std::net::SocketAddr;

use goodqueue::Span;
use goodqueue_own::Library;
use goodqueue_path::load::Secret;
use goodqueue_probe::net::{LACKS, NetError, check_cc, default_congestion_control};
use goodqueue_probe::web::CONNECTIONS;
use goodqueue_probe::{Direction, FlowCount, IpVersion, Params, Test, Transport};
use goodqueue_report::{LinkPlan, Record};

use crate::plan::TestOrder;
use crate::record::test_plan;
use crate::{Arm, Error, Request};

pub use own_queues::own_queues;
pub use rpm::RpmTest;
#[cfg(target_os = "linux")]
pub(crate) use rpm::each_sample;
pub use run::run;

/// Default number of flows in each direction of the three loads.
const FLOWS: u32 = 4;
/// The name of the test without a name.
const THREE_LOADS: &str = "download_upload_both";

/// A server at the other end of a path.
#[derive(Clone, Debug)]
pub struct PathHost {
    /// The server as typed.
    pub name: String,
    /// Its address; UDP and TCP have the same port.
    pub address: SocketAddr,
    /// The key: the word that the server printed. Tests without load need none, unless the server's probes
    /// do.
    pub key: Option<String>,
}

/// A test over a real path.
#[derive(Clone, Debug)]
pub struct PathTest {
    /// The servers, in the order of the test's hosts.
    pub hosts: Vec<PathHost>,
    /// A second, nearby observer: a server that is probed meanwhile, to distinguish the delay before it from
    /// the delay behind it.
    pub peer: Option<PathHost>,
    /// Whether to locate the queue on the path.
    pub locate: bool,
    test: Test,
    loads: Vec<Load>,
    /// Warnings to print before anything has run.
    warnings: Vec<String>,
}

/// One load of a test: some of its flows.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    label: String,
    directions: Vec<Direction>,
    /// Whether videos are played. A video loads the downstream direction: it would blur the effect of an
    /// upload, and take a part of the line from a download.
    has_video: bool,
}

impl PathTest {
    /// The test that `request` asks for; only the fields about the test count. An empty name means the test
    /// of three loads, one after the other: downloads, uploads, both at once, each after an idle time, with a
    /// call at the same time. A test for any number of hosts goes to all of `hosts`.
    ///
    /// # Errors
    /// [`Error::Usage`] names the flag, the value and the cure.
    pub fn new(request: &Request, hosts: Vec<PathHost>) -> Result<PathTest, Error> {
        let (mut test, loads) =
            if request.test.is_empty() { three_loads(request)? } else { named(request, hosts.len())? };
        let name = if request.test.is_empty() { "the test".to_owned() } else { request.test.clone() };
        let need = test.hosts().max(1);
        if need != hosts.len() {
            let more = if need > hosts.len() { ": add the others, each with --host" } else { "" };
            return Err(Error::Usage(format!(
                "{name} needs {need} server host{}; there {} {}{more}",
                if need == 1 { "" } else { "s" },
                if hosts.len() == 1 { "is" } else { "are" },
                hosts.len(),
            )));
        }
        for (number, PathHost { name: host, key, .. }) in hosts.iter().enumerate() {
            let is_loaded = Needs::of(&test, number).any();
            match key.as_deref().map(Secret::of) {
                None if is_loaded => {
                    let cure = if hosts.len() == 1 {
                        "--key with the word".to_owned()
                    } else {
                        format!("--key, or =KEY after {host}, with the word")
                    };
                    return Err(Error::Usage(format!(
                        "{name} sends load, and the server accepts load only from clients that have its key: add {cure} that \
                         `goodqueue server` printed",
                    )));
                }
                Some(None) if is_loaded => {
                    return Err(Error::Usage(format!(
                        "--key: a key for load has at least {} characters; use the word that `goodqueue server` printed",
                        goodqueue_path::load::word::LEAST
                    )));
                }
                _ => {}
            }
        }
        let own = if request.cc.is_none() { own_choice(&mut test, check_cc) } else { None };
        Ok(PathTest { hosts, peer: None, locate: false, test, loads, warnings: own.into_iter().collect() })
    }

    /// The IP versions with which the test reaches its one server, each as a host; none if each host is a
    /// separate server.
    ///
    /// # Errors
    /// Those of [`PathTest::new`] that concern the test.
    pub fn versions(request: &Request) -> Result<Vec<IpVersion>, Error> {
        if request.test.is_empty() { Ok(Vec::new()) } else { Ok(named(request, 1)?.0.versions) }
    }

    /// The test, with the flows of all loads.
    #[must_use]
    pub fn test(&self) -> &Test {
        &self.test
    }

    /// The names of the servers.
    fn servers(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.hosts.iter().map(|host| host.name.as_str()).collect();
        if !self.test.versions.is_empty() {
            names.dedup();
        }
        names
    }

    /// Its minimum length, including the idle times.
    #[must_use]
    pub fn length(&self) -> Span {
        Span((self.test.idle + self.test.load).0.saturating_mul(self.loads.len() as u64))
    }

    /// The number of loads.
    #[must_use]
    pub fn loads(&self) -> usize {
        self.loads.len()
    }

    /// The record before anything has run: `own`, and everything already known.
    #[must_use]
    pub fn head(&self, own: Record) -> Record {
        let mut test = test_plan(&self.test);
        for flow in test
            .flows
            .iter_mut()
            .zip(&self.test.flows)
            .filter_map(|(plan, flow)| flow.cc.is_empty().then_some(plan))
        {
            flow.cc = default_congestion_control();
        }
        Record {
            arm: Arm::Path.name().into(),
            server: Some(self.servers().join(", ")),
            planned: self.loads.iter().map(|load| load.label.clone()).collect(),
            test,
            link: LinkPlan {
                mtu_bytes: goodqueue::ETHERNET_MTU,
                ip_version: if self.hosts.iter().any(|host| host.address.is_ipv6()) { 6 } else { 4 },
                ..LinkPlan::default()
            },
            warnings: own.warnings.iter().chain(&self.warnings).cloned().chain(LACKS.of_tests()).collect(),
            ..own
        }
    }
}

/// What a test needs from one of its hosts, in addition to probes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    flows: u32,
    transport: Transport,
    web: u32,
    talks: u32,
    paced: u32,
    udp: u32,
    udp_bps: u64,
}

impl Needs {
    fn of(test: &Test, host: usize) -> Needs {
        let many = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let pages = test.web.iter().filter(|page| page.host == host).count();
        let videos = test.dash.iter().filter(|video| video.host == host).count();
        // The connections of a page that was given up may overlap with those of the next.
        let udp = || test.udp.iter().filter(|flow| flow.host == host);
        let rate = |way: Direction| udp().filter(|flow| flow.direction == way).map(|flow| flow.rate.0).sum();
        let of_pages = if pages > 0 { 4 * CONNECTIONS } else { 0 };
        let flows = || test.flows.iter().filter(|flow| flow.host == host);
        Needs {
            flows: many(flows().count()),
            transport: flows().next().map_or(Transport::Tcp, |flow| flow.transport),
            web: many(of_pages + 2 * videos),
            talks: many(test.talks.iter().filter(|talk| talk.host == host).count()),
            paced: many(
                flows().filter(|flow| flow.direction == Direction::Down && flow.max_rate.is_some()).count(),
            ),
            udp: many(udp().count()),
            udp_bps: Direction::BOTH.into_iter().map(rate).max().unwrap_or(0),
        }
    }

    fn any(self) -> bool {
        self != Needs::default()
    }
}

/// Leaves uploads over TCP the system's congestion control if none was requested, the test uses only the
/// usual one, and `choose` cannot get that: some kernels lack it, some users may not use it (if the default
/// is BBR, Linux gives ordinary users Reno and BBR), and some substitutes for a kernel allow no choice.
/// Returns the sentence that says so.
fn own_choice(test: &mut Test, choose: impl Fn(&str) -> Result<(), NetError>) -> Option<String> {
    let usual = Params::DEFAULT_CC;
    if test.flows.iter().any(|flow| flow.transport != Transport::Tcp || flow.cc != usual) {
        return None;
    }
    let mut uploads = test.flows.iter_mut().filter(|flow| flow.direction == Direction::Up).peekable();
    let why = match uploads.peek().map(|_| choose(usual))? {
        Ok(()) => return None,
        Err(NetError::NoCongestionControl { available, .. })
            if available.split(' ').any(|one| one == usual) =>
        {
            "a program cannot choose it here".to_owned()
        }
        Err(refusal) => refusal.to_string(),
    };
    uploads.for_each(|flow| flow.cc.clear());
    let own = default_congestion_control();
    Some(format!("uploads use this system's own congestion control ({own}), not {usual}: {why}"))
}

/// The test of this name, which goes to this many hosts if it leaves their number open.
fn named(request: &Request, hosts: usize) -> Result<(Test, Vec<Load>), Error> {
    if let Some(cc) = request.cc.as_deref().filter(|cc| Library::is_path(cc)) {
        let why = "a real path uses the kernel's TCP: name one of its congestion controls, or leave it out";
        return Err(Error::Usage(format!("--cc {cc}: {why}")));
    }
    let test = TestOrder::resolve(request)?.to_hosts(hosts)?;
    if test.rpm.is_some() {
        let cure =
            "over a real path, client and server choose the version of TLS; write `goodqueue test HOST rpm`";
        return Err(Error::Usage(format!("{}: {cure}", test.name)));
    }
    let ways = test.flows.iter().map(|flow| flow.direction).chain(test.udp.iter().map(|flow| flow.direction));
    let ways: Vec<Direction> = ways.collect();
    let is_loaded = |way: &Direction| ways.contains(way);
    let directions = Direction::BOTH.into_iter().filter(is_loaded).collect();
    let load = Load { label: test.name.clone(), directions, has_video: true };
    Ok((test, vec![load]))
}

fn three_loads(request: &Request) -> Result<(Test, Vec<Load>), Error> {
    let asked = request.flows.unwrap_or(FlowCount::Both(FLOWS));
    let of = |name: &str, direction: Direction| {
        let flows = Some(FlowCount::Both(asked.of(direction)));
        TestOrder::resolve(&Request { test: name.into(), flows, ..request.clone() })?.test()
    };
    let (down, up) = (of("tcp_ndown", Direction::Down)?, of("tcp_nup", Direction::Up)?);
    let kind = match up.flows.first().map(|flow| flow.transport) {
        Some(Transport::Quic) => "QUIC",
        Some(Transport::Tcp) | None => "TCP",
    };
    let count = match (down.flows.len(), up.flows.len()) {
        (downloads, uploads) if downloads == uploads => format!("{uploads} {kind} flows each"),
        (downloads, uploads) => format!("{downloads} and {uploads} {kind} flows"),
    };
    let mut test = Test {
        name: THREE_LOADS.into(),
        about: format!("downloads, then uploads, then both at once: {count}"),
        ..up
    };
    test.flows.splice(0..0, down.flows);
    let load = |label: &str, directions: &[Direction]| Load {
        label: label.into(),
        directions: directions.to_vec(),
        has_video: directions.len() == Direction::BOTH.len(),
    };
    let loads = vec![
        load("download", &[Direction::Down]),
        load("upload", &[Direction::Up]),
        load("both", &[Direction::Up, Direction::Down]),
    ];
    Ok((test, loads))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(count: usize) -> Vec<PathHost> {
        let key = Some("a word that is long enough".to_owned());
        let host = |number: usize| PathHost {
            name: format!("host{number}"),
            address: ([127, 0, 0, 1], 1).into(),
            key: key.clone(),
        };
        (0..count).map(host).collect()
    }

    #[test]
    fn a_test_for_any_number_of_hosts_goes_to_all_that_are_named() {
        let new = |test: &str, count| {
            let request = Request { test: test.into(), cc: Some("cubic".into()), ..Request::default() };
            PathTest::new(&request, hosts(count))
        };
        for count in [1, 2, 5, 9] {
            let test = new("rtt_fair_var", count).unwrap().test;
            assert_eq!((test.hosts(), test.flows.len(), test.probes.len()), (count, 2 * count, count));
            assert_eq!(new("rtt_fair_var_down", count).unwrap().test.flows.len(), count);
            let flood = new("udp_flood_var_up_stagger", count).unwrap().test;
            assert_eq!((flood.hosts(), flood.udp.len()), (count, count));
        }
        let error = |test: &str, count| new(test, count).unwrap_err().to_string();
        let more = "add the others, each with --host";
        assert_eq!(error("rtt_fair4be", 3), format!("rtt_fair4be needs 4 server hosts; there are 3: {more}"));
        // The name is the typed one, where the test has another.
        assert_eq!(error("tcp_upload", 2), "tcp_upload needs 1 server host; there are 2");
        assert_eq!(
            error("rtt_fair_var", 0),
            format!("rtt_fair_var needs 1 server host; there are 0: {more}")
        );
    }

    #[test]
    fn each_direction_of_the_three_loads_may_have_its_own_number_of_flows() {
        let of = |flows: Option<FlowCount>| {
            let request = Request { test: String::new(), flows, ..Request::default() };
            let test = three_loads(&request).unwrap().0;
            let count = |way| test.flows.iter().filter(|flow| flow.direction == way).count();
            (count(Direction::Up), count(Direction::Down), test.about)
        };
        let words = "downloads, then uploads, then both at once:";
        assert_eq!(of(None), (4, 4, format!("{words} 4 TCP flows each")));
        assert_eq!(of(Some(FlowCount::Both(2))), (2, 2, format!("{words} 2 TCP flows each")));
        let each = FlowCount::Each { up: 1, down: 8 };
        assert_eq!(of(Some(each)), (1, 8, format!("{words} 8 and 1 TCP flows")));
    }

    #[test]
    fn without_the_usual_congestion_control_uploads_have_the_system_s_own() {
        let lacks =
            |name: &str| Err(NetError::NoCongestionControl { name: name.into(), available: "reno".into() });
        let test = |name: &str| {
            let request = Request { test: name.into(), ..Request::default() };
            if name.is_empty() { three_loads(&request) } else { named(&request, 1) }.unwrap().0
        };
        let ccs = |test: &Test, way| {
            let flows = test.flows.iter().filter(|flow| flow.direction == way);
            flows.map(|flow| flow.cc.clone()).collect::<Vec<_>>()
        };
        let mut loads = test("");
        let words = own_choice(&mut loads, lacks).unwrap();
        assert!(
            words.ends_with("not cubic: the kernel has no congestion control `cubic`; it has reno"),
            "{words}"
        );
        let denies = |name: &str| {
            Err(NetError::NoCongestionControl { name: name.into(), available: "reno cubic".into() })
        };
        let odd = own_choice(&mut test(""), denies).unwrap();
        assert!(odd.ends_with("not cubic: a program cannot choose it here"), "{odd}");
        assert_eq!(ccs(&loads, Direction::Up), [""; 4]);
        assert_eq!(ccs(&loads, Direction::Down), ["cubic"; 4], "the server's kernel is another");
        assert_eq!(own_choice(&mut test(""), |_| Ok(())), None);
        // A test that compares congestion controls would become a different test.
        let mut fight = test("cubic_bbr");
        assert_eq!(own_choice(&mut fight, lacks), None);
        assert_eq!(fight, test("cubic_bbr"));
        assert_eq!(own_choice(&mut test("tcp_1down"), lacks), None, "nothing is sent from here");
        // The record names the system's congestion control, since a flow without a name would count as UDP.
        let hosts = vec![PathHost { name: "far".into(), address: ([127, 0, 0, 1], 1).into(), key: None }];
        let warnings = vec![words.clone()];
        let path = PathTest { hosts, peer: None, locate: false, test: loads, loads: Vec::new(), warnings };
        let head = path.head(Record::default());
        assert!(head.test.flows.iter().all(|flow| !flow.cc.is_empty()), "{:?}", head.test.flows);
        assert_eq!(head.warnings.first(), Some(&words));
    }
}

//! The client: runs a test against a server.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::{self, Scope, ScopedJoinHandle};

use super::browse::{Fetch, FetchOutcome};
use super::clock::SharedClock;
use super::error::{Context, NetError};
use super::flood::Flooding;
use super::load::{FlowOutcome, LoadOutcome, TcpFlows};
use super::probe::{PathState, ProbeOutcome, Probes, ProbesOutcome};
use super::quic::QuicFlows;
use super::session::Far;
use super::sys::{self, AsFd};
use super::talk::{Talks, TalksOutcome};
use crate::echo::Lateness;
use crate::web::CONNECTIONS;
use crate::{Flow, Sample, Test, Transport};

/// Files that client and server open beside the sockets of flows and probes (epoll, timer, listeners),
/// generously.
const OTHER_FILES: u64 = 32;

/// The results of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientSummary {
    /// One for each flow of the test.
    pub flows: Vec<FlowOutcome>,
    /// One for each of the test's [`Test::streams`].
    pub probes: Vec<ProbeOutcome>,
    /// Lateness of the steps of the goodput series; a late step counts bytes of the next one.
    pub step_lateness: Lateness,
    /// Whether the probes' thread ran before all ordinary threads (SCHED_FIFO).
    pub probe_urgent: bool,
    /// Why the result is not valid, a sentence each: the wall clock was set (one-way delays are wrong), more
    /// than 1 % of the probes could not be sent on time, no flow ever connected.
    pub faults: Vec<String>,
    /// What the user must know before trusting the result, a sentence each.
    pub warnings: Vec<String>,
}

/// The congestion controls of the kernel in this thread's network namespace, as one line.
#[must_use]
pub fn available_congestion_controls() -> String {
    cc_list("tcp_available_congestion_control")
}

/// The kernel's congestion control for connections that do not choose one.
#[must_use]
pub fn default_congestion_control() -> String {
    cc_list("tcp_congestion_control")
}

/// Checks whether this user can choose a congestion control of the kernel.
///
/// # Errors
/// [`NetError::NoCongestionControl`], [`NetError::CongestionControlDenied`], and [`NetError::System`] without
/// a socket.
pub fn check_cc(name: &str) -> Result<(), NetError> {
    let socket = sys::tcp_socket(Ipv4Addr::LOCALHOST.into()).context("open TCP for", name)?;
    sys::set_cc(socket.as_fd(), name).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            NetError::NoCongestionControl { name: name.into(), available: available_congestion_controls() }
        }
        ErrorKind::PermissionDenied => NetError::CongestionControlDenied {
            name: name.into(),
            allowed: cc_list("tcp_allowed_congestion_control"),
        },
        _ => NetError::System { operation: "set congestion control", object: name.into(), source: error },
    })
}

fn cc_list(which: &str) -> String {
    let read = fs::read_to_string(format!("/proc/sys/net/ipv4/{which}"));
    read.map_or_else(|_| "not known".into(), |list| list.trim().into())
}

/// Checks whether `test` can run here against `hosts` hosts, without sending anything. Raises the process's
/// soft limit of open files to the hard limit.
///
/// # Errors
/// [`NetError::Hosts`]; [`NetError::NoCongestionControl`] and [`NetError::CongestionControlDenied`], also for
/// downloads (client and server of one machine have one kernel); [`NetError::OpenFiles`].
pub fn check(test: &Test, hosts: usize) -> Result<(), NetError> {
    if test.hosts() > hosts {
        return Err(NetError::Hosts { need: test.hosts(), have: hosts });
    }
    // QUIC's congestion controls are not the kernel's.
    let flows = test.flows.iter().filter(|flow| flow.transport == Transport::Tcp);
    let flows = flows.map(|flow| flow.cc.as_str());
    let pages = test.web.iter().map(|page| page.cc.as_str());
    let videos = test.dash.iter().map(|video| video.cc.as_str());
    let names: BTreeSet<&str> = flows.chain(pages).chain(videos).collect();
    names.into_iter().filter(|name| !name.is_empty()).try_for_each(check_cc)?;
    let limit = sys::open_files_limit().context("read", "the limit of open files")?;
    let open = fs::read_dir("/proc/self/fd").map_or(64, |entries| entries.count() as u64);
    enough_files(test, hosts, open, limit)
}

/// Checks that the limit allows both ends of all flows in addition to the open files.
fn enough_files(test: &Test, hosts: usize, open: u64, limit: u64) -> Result<(), NetError> {
    // The connections of a page that was given up may overlap with those of the next.
    let pages = if test.web.is_empty() { 0 } else { CONNECTIONS * 4 + test.web.len() };
    // Epoll, timer, a socket for queries, and both ends of the connection.
    let videos = test.dash.len() * 5;
    let sockets = (test.flows.len() * 2
        + test.streams().len()
        + pages
        + videos
        + test.talks.len()
        + test.udp.len()
        + hosts * 2) as u64;
    let need = open + sockets + OTHER_FILES;
    if need > limit { Err(NetError::OpenFiles { need, limit }) } else { Ok(()) }
}

/// Runs `test` against servers of this one client ([`super::Server::far`]), one for each of the test's hosts.
/// Its flows are all over TCP or all over QUIC. Blocks until the load has ended and the last probe is
/// accounted for, or `stop` is set: it notices that within 0.1 s, aborts the flows and gives probes in flight
/// 0.5 s to come back. So stop the server only after this has returned. Flows run in the calling thread. The
/// probes, the pages, each video, and all video calls and games together have one thread each. All threads
/// use the calling thread's network namespace.
///
/// `path` says how long an answer can take, and when nothing is in flight any more. `clock` gives the start
/// of the load; call this early enough for the test's idle time before it. The samples are: goodput of
/// downloads, the sender's view of uploads, this end of each flow, the probes, the pages and the videos. If
/// all flows fail, the run ends early.
///
/// # Errors
/// Those of [`check`], before anything is sent, [`NetError::Transports`] and [`NetError::System`]. A failed
/// flow is not an error of the run: see [`FlowOutcome::error`].
pub fn run_client(
    test: &Test,
    servers: &[Far],
    clock: &SharedClock,
    path: &PathState,
    sink: &Sender<Sample>,
    stop: &AtomicBool,
) -> Result<ClientSummary, NetError> {
    check(test, servers.len())?;
    let probes = Probes::open(test, servers, clock, path.longest())?;
    // The session is only for flows over QUIC.
    let beside: Vec<Far> = servers.iter().map(|far| Far::of_tcp(far.server)).collect();
    let applications = Applications::open(test, &beside, clock)?;
    let load = AnyLoad::new(test, servers, clock, sink)?;
    let end = AtomicBool::new(false);
    thread::scope(|scope| {
        let thread = |name: &str| thread::Builder::new().name(name.into());
        let run = || probes.run(path, sink, &[stop, &end]);
        let probes = thread("probes").spawn_scoped(scope, run).context("start", "the probes' thread")?;
        let applications = applications.start(scope, clock, sink, [stop, &end])?;
        sys::ordinary_thread();
        let load = load.run(stop);
        end.store(has_failed(&load), Ordering::Relaxed);
        let probes = probes.join().map_err(|_| NetError::Thread("probes"))??;
        let (fetched, talks) = applications.join()?;
        Ok(summary(test, load?, probes, &fetched, &talks))
    })
}

/// Whether there is nothing left to measure: all flows have failed.
fn has_failed(load: &Result<LoadOutcome, NetError>) -> bool {
    match load {
        Ok(load) => !load.flows.is_empty() && load.flows.iter().all(|flow| flow.error.is_some()),
        Err(_) => true,
    }
}

/// The flows of a test, opened but not started.
enum AnyLoad<'a> {
    Tcp(TcpFlows<'a>),
    Quic(QuicFlows<'a>),
}

impl<'a> AnyLoad<'a> {
    fn new(
        test: &'a Test,
        servers: &'a [Far],
        clock: &'a SharedClock,
        sink: &'a Sender<Sample>,
    ) -> Result<AnyLoad<'a>, NetError> {
        let is_quic = |flow: &Flow| flow.transport == Transport::Quic;
        if !test.flows.iter().any(is_quic) {
            Ok(AnyLoad::Tcp(TcpFlows::new(test, servers, clock, sink)?))
        } else if test.flows.iter().all(is_quic) {
            Ok(AnyLoad::Quic(QuicFlows::new(test, servers, clock, sink)?))
        } else {
            Err(NetError::Transports)
        }
    }

    fn run(self, stop: &AtomicBool) -> Result<LoadOutcome, NetError> {
        match self {
            AnyLoad::Tcp(flows) => flows.run(stop),
            AnyLoad::Quic(flows) => flows.run(stop),
        }
    }
}

/// UDP flows, pages, videos, calls and games of a test, opened but not started.
struct Applications {
    fetches: Vec<Fetch>,
    talks: Talks,
    flooding: Flooding,
}

/// The applications that run, in separate threads.
struct Running<'scope> {
    fetching: Vec<ScopedJoinHandle<'scope, Result<FetchOutcome, NetError>>>,
    talking: ScopedJoinHandle<'scope, Result<TalksOutcome, NetError>>,
    flooding: ScopedJoinHandle<'scope, Result<(), NetError>>,
}

impl Applications {
    fn open(test: &Test, servers: &[Far], clock: &SharedClock) -> Result<Applications, NetError> {
        let (fetches, talks) = (Fetch::all(test, servers, clock)?, Talks::open(test, servers, clock)?);
        Ok(Applications { fetches, talks, flooding: Flooding::open(test, servers)? })
    }

    /// They end with the load, or when one of `ends` is set.
    fn start<'scope>(
        self,
        scope: &'scope Scope<'scope, '_>,
        clock: &'scope SharedClock,
        sink: &'scope Sender<Sample>,
        ends: [&'scope AtomicBool; 2],
    ) -> Result<Running<'scope>, NetError> {
        let thread = |name: &str| thread::Builder::new().name(name.into());
        let mut fetching = Vec::new();
        for fetch in self.fetches {
            let run = move || {
                sys::ordinary_thread();
                fetch.run(sink, &ends)
            };
            let started = thread("fetch").spawn_scoped(scope, run);
            fetching.push(started.context("start", "a thread for pages or a video")?);
        }
        let talks = self.talks;
        let started = thread("talks").spawn_scoped(scope, move || talks.run(sink, &ends));
        let talking = started.context("start", "the thread of calls and games")?;
        let flooding = self.flooding;
        let run = move || {
            sys::ordinary_thread();
            flooding.run(clock, sink, &ends)
        };
        let started = thread("udp").spawn_scoped(scope, run);
        Ok(Running { fetching, talking, flooding: started.context("start", "the thread of UDP flows")? })
    }
}

impl Running<'_> {
    fn join(self) -> Result<(FetchOutcome, TalksOutcome), NetError> {
        let mut fetched = FetchOutcome::default();
        for thread in self.fetching {
            fetched = fetched.and(thread.join().map_err(|_| NetError::Thread("pages and videos"))??);
        }
        let talks = self.talking.join().map_err(|_| NetError::Thread("calls and games"))??;
        self.flooding.join().map_err(|_| NetError::Thread("UDP flows"))??;
        Ok((fetched, talks))
    }
}

/// Runs the flows of `test`, all over TCP or all over QUIC, its UDP flows, pages, videos, calls and games,
/// and nothing else of it, against servers of many clients ([`super::FlowServer`], [`super::QuicServer`],
/// [`super::DatagramServer`]), one for each of the test's hosts. Blocks until the load has ended, or `stop`
/// is set. The samples are goodput of downloads, the sender's view of uploads, this end of each flow, and the
/// measurements of pages, videos, calls and games at this end.
///
/// # Errors
/// [`NetError::Hosts`], [`NetError::Transports`] and [`NetError::System`]. A failed flow is not an error: see
/// [`FlowOutcome::error`].
pub fn run_load(
    test: &Test,
    servers: &[Far],
    clock: &SharedClock,
    sink: &Sender<Sample>,
    stop: &AtomicBool,
) -> Result<LoadSummary, NetError> {
    if test.hosts() > servers.len() {
        return Err(NetError::Hosts { need: test.hosts(), have: servers.len() });
    }
    let load = AnyLoad::new(test, servers, clock, sink)?;
    let applications = Applications::open(test, servers, clock)?;
    let end = AtomicBool::new(false);
    thread::scope(|scope| {
        let applications = applications.start(scope, clock, sink, [stop, &end])?;
        let load = load.run(stop);
        end.store(has_failed(&load), Ordering::Relaxed);
        let (fetched, talks) = applications.join()?;
        let (load, mut warnings) = (load?, Vec::new());
        of_applications(test, &fetched, &talks, &mut warnings);
        Ok(LoadSummary { flows: load.flows, step_lateness: load.lateness, warnings })
    })
}

/// The results of [`run_load`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadSummary {
    /// One for each flow of the test.
    pub flows: Vec<FlowOutcome>,
    /// Lateness of the steps of the goodput series; a late step counts bytes of the next one.
    pub step_lateness: Lateness,
    /// What the user must know before trusting pages, videos, calls and games, a sentence each.
    pub warnings: Vec<String>,
}

/// The problems of pages, videos, calls and games.
fn of_applications(test: &Test, pages: &FetchOutcome, talks: &TalksOutcome, warnings: &mut Vec<String>) {
    if let Some(error) = &pages.error {
        warnings.push(format!("{} page loads failed, the last one because: {error}", pages.failed));
    }
    for &page in &pages.idle_too_short {
        let name = test.web.get(page as usize).map_or("", |page| page.name.as_str());
        let idle = test.idle;
        warnings.push(format!(
            "the {name} page was not complete within the idle time of {idle}: increase the idle time"
        ));
    }
    for (video, error) in &pages.broken {
        let name = test.dash.get(*video as usize).map_or("", |video| video.name.as_str());
        warnings.push(format!("the {name} ended early: {error}"));
    }
    for (name, errors) in &talks.send_errors {
        warnings.push(format!("{name}: the kernel refused {errors} datagrams"));
    }
}

fn summary(
    test: &Test,
    load: LoadOutcome,
    probes: ProbesOutcome,
    pages: &FetchOutcome,
    talks: &TalksOutcome,
) -> ClientSummary {
    let (mut faults, mut warnings) = (Vec::new(), Vec::new());
    if !load.flows.is_empty() && load.flows.iter().all(|flow| flow.connected.is_none()) {
        faults.push("no flow ever connected".into());
    }
    if probes.clock_stepped != 0 {
        let ms = probes.clock_stepped as f64 / 1e6;
        faults.push(format!("the wall clock was set by {ms:.3} ms during the run: one-way delays are wrong"));
    }
    for (probe, outcome) in test.streams().zip(&probes.probes) {
        let name = &probe.name;
        let stats = &outcome.stats;
        let slots = stats.sent + stats.timer_misses;
        if stats.timer_misses * 100 > slots {
            let misses = stats.timer_misses;
            faults
                .push(format!("{name}: {misses} of {slots} probes were not sent in time: the host is busy"));
        }
        if outcome.dscp_changed > 0 {
            let (changed, received) = (outcome.dscp_changed, stats.received);
            warnings.push(format!("{name}: {changed} of {received} answers came with another DSCP"));
        }
        if outcome.ce > 0 {
            warnings.push(format!("{name}: {} answers came with CE although sent as Not-ECT", outcome.ce));
        }
        if outcome.unreachable > 0 {
            warnings.push(format!("{name}: the server's port was unreachable {} times", outcome.unreachable));
        }
    }
    of_applications(test, pages, talks, &mut warnings);
    let half = test.step.0 / 2;
    if load.lateness.max_ns > half {
        let ms = load.lateness.max_ns as f64 / 1e6;
        warnings.push(format!("a step of the goodput series was taken {ms:.0} ms late: the host is busy"));
    }
    ClientSummary {
        flows: load.flows,
        probes: probes.probes,
        step_lateness: load.lateness,
        probe_urgent: probes.urgent,
        faults,
        warnings,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Params, resolve};

    #[test]
    fn too_low_a_limit_of_files_is_named() {
        let test = resolve("tcp_1000up", &Params::default()).unwrap();
        let error = enough_files(&test, 1, 10, 1024).unwrap_err();
        assert_eq!(error.to_string(), "the test needs 2045 open files, the limit (`ulimit -n`) is 1024");
        assert!(enough_files(&test, 1, 10, 2045).is_ok());
    }

    #[test]
    fn faults_and_warnings_name_what_makes_a_result_doubtful() {
        let test = resolve("tcp_1up", &Params::default()).unwrap();
        let mut probes = ProbesOutcome { probes: vec![ProbeOutcome::default()], ..ProbesOutcome::default() };
        let clean = summary(
            &test,
            LoadOutcome::default(),
            probes,
            &FetchOutcome::default(),
            &TalksOutcome::default(),
        );
        assert!(clean.faults.is_empty() && clean.warnings.is_empty());
        let mut outcome = ProbeOutcome { dscp_changed: 1, ce: 1, unreachable: 1, ..ProbeOutcome::default() };
        (outcome.stats.sent, outcome.stats.timer_misses) = (97, 3);
        probes = ProbesOutcome { probes: vec![outcome], clock_stepped: -2_000_000, urgent: true };
        let mut load = LoadOutcome::default();
        load.lateness.record(test.step);
        load.flows.push(FlowOutcome::default());
        let pages = FetchOutcome {
            failed: 2,
            error: Some("refused".into()),
            idle_too_short: vec![0],
            broken: vec![(0, "reset".into())],
        };
        let talks = TalksOutcome { send_errors: vec![("game 64 BE".into(), 3)] };
        let ClientSummary { faults, warnings, .. } = summary(&test, load, probes, &pages, &talks);
        assert_eq!((faults.len(), warnings.len()), (3, 8), "{faults:#?} {warnings:#?}");
        assert_eq!(warnings[3], "2 page loads failed, the last one because: refused");
        assert!(faults[0].contains("no flow"));
        assert!(faults[1].contains("-2.000 ms"));
        assert!(faults[2].contains("3 of 100"));
    }
}

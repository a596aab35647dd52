//! A resolved latency-under-load test: plain data that both a simulator and the socket layer run.

use goodqueue::{Rate, Span};

use crate::dash::Video;
use crate::rpm;
use crate::talk::Talk;
use crate::web::Page;
use crate::{Direction, Dscp, IpVersion, ParseExtraError, ParseQuicCcError, Transport};

/// A test with every number filled in, from [`crate::resolve`] or made by hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// Name of the test (`rrul`).
    pub name: String,
    /// One line about it.
    pub about: String,
    /// Idle time before the load, in which only the probes run: the baseline.
    pub idle: Span,
    /// IP version of each server host, if all of them are one server; empty: they are separate servers, with
    /// the run's version.
    pub versions: Vec<IpVersion>,
    /// Length of the load, including staggered parts. Probes run during idle and load.
    pub load: Span,
    /// Step of the goodput series.
    pub step: Span,
    /// The flows of the load; the index is the flow's number in samples.
    pub flows: Vec<Flow>,
    /// UDP flows; their numbers in samples follow those of `flows`.
    pub udp: Vec<UdpFlow>,
    /// Latency probes; the index is the probe's number in every sample.
    pub probes: Vec<Probe>,
    /// Calls ([`crate::voip`]), which are probes too; their numbers in samples follow those of `probes`.
    pub voip: Vec<Probe>,
    /// Pages ([`crate::web`]) that one browser fetches in turn; the index is the page's number in every
    /// sample.
    pub web: Vec<Page>,
    /// Videos ([`crate::dash`]), each with its own player; the index is the video's number in every sample.
    pub dash: Vec<Video>,
    /// Video calls and games ([`crate::talk`]); the index is the talk's number in every sample.
    pub talks: Vec<Talk>,
    /// Responsiveness ([`crate::rpm`]), measured by downloads and then by uploads: a run of each. Its series
    /// are not among those above, but [`Test::with_rpm`] puts them there.
    pub rpm: Option<rpm::Plan>,
}

/// One flow that sends as much as its congestion control permits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Name of the series; flent's if flent has one (`TCP upload BE`, `TCP download::1`).
    pub name: String,
    /// Who sends.
    pub direction: Direction,
    /// Its transport.
    pub transport: Transport,
    /// Congestion control of the sender, at most 15 bytes: the kernel's name (`cubic`), or that of
    /// [`crate::QuicCc`]. Empty for the system's own, for TCP uploads over sockets.
    pub cc: String,
    /// DSCP of both directions of the connection.
    pub dscp: Dscp,
    /// Largest pacing rate of its sender, for payload (`SO_MAX_PACING_RATE`); TCP only.
    pub max_rate: Option<Rate>,
    /// Server host, counted from 0.
    pub host: usize,
    /// When the connection opens, from the start of the load.
    pub start: Span,
    /// When it is aborted, from the start of the load.
    pub stop: Span,
}

/// One UDP flow that sends at a constant rate, no matter what happens to its datagrams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UdpFlow {
    /// Name of the series; flent's if flent has one (`UDP upload`).
    pub name: String,
    /// Who sends.
    pub direction: Direction,
    /// Rate of the UDP payload.
    pub rate: Rate,
    /// UDP payload of each datagram in bytes, [`UdpFlow::LEAST_PAYLOAD`] to [`UdpFlow::MOST_PAYLOAD`].
    pub payload: u32,
    /// DSCP.
    pub dscp: Dscp,
    /// Server host, counted from 0.
    pub host: usize,
    /// When it starts, from the start of the load.
    pub start: Span,
    /// When it stops, from the start of the load.
    pub stop: Span,
}

impl UdpFlow {
    /// Room for what both ends must know about a datagram.
    pub const LEAST_PAYLOAD: u32 = 64;
    /// The most that fits into an Ethernet frame with IPv4.
    pub const MOST_PAYLOAD: u32 = 1472;
}

/// One isochronous UDP probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Name of the series; flent's if flent has one (`Ping (ms) UDP EF`).
    pub name: String,
    /// Server host, counted from 0.
    pub host: usize,
    /// DSCP of both directions.
    pub dscp: Dscp,
    /// Time between two probes, at least 1 ms.
    pub interval: Span,
    /// UDP payload in bytes, at least 60.
    pub payload: u32,
}

impl Test {
    /// The test with the series of its responsiveness after its own flows and probes; unchanged if it has no
    /// responsiveness.
    #[must_use]
    pub fn with_rpm(mut self) -> Test {
        if let Some(plan) = &self.rpm {
            self.flows.extend(plan.flows(self.load));
            self.probes.extend(plan.probes());
        }
        self
    }

    /// All isochronous probes, in the order of their numbers in samples: probes, then calls.
    pub fn streams(&self) -> impl ExactSizeIterator<Item = &Probe> + Clone {
        let (probes, count) = (self.probes.len(), self.probes.len() + self.voip.len());
        (0..count).map(move |i| if i < probes { &self.probes[i] } else { &self.voip[i - probes] })
    }

    /// The base round trip of each server host, where `first` is that of the first: each further server is
    /// twice as far away as the previous one, since a test with several servers is about different round-trip
    /// times.
    #[must_use]
    pub fn round_trips(&self, first: Span) -> Vec<Span> {
        let doublings = |host: usize| if self.versions.is_empty() { host.min(63) } else { 0 };
        (0..self.hosts().max(1)).map(|host| Span(first.0.saturating_mul(1 << doublings(host)))).collect()
    }

    /// Whether a server host speaks IPv6, in a run whose version is IPv6 or not.
    #[must_use]
    pub fn is_ipv6(&self, host: usize, of_run: bool) -> bool {
        self.versions.get(host).map_or(of_run, |&version| version == IpVersion::V6)
    }

    /// The number of server hosts that the test needs: the highest index used plus one.
    #[must_use]
    pub fn hosts(&self) -> usize {
        let flows = self.flows.iter().map(|flow| flow.host);
        let flows = flows.chain(self.udp.iter().map(|flow| flow.host));
        let streams = self.streams().map(|stream| stream.host);
        let pages = self.web.iter().map(|page| page.host);
        let videos = self.dash.iter().map(|video| video.host);
        let talks = self.talks.iter().map(|talk| talk.host);
        let rpm = self.rpm.iter().map(|rpm| rpm.host);
        flows
            .chain(streams)
            .chain(pages)
            .chain(videos)
            .chain(talks)
            .chain(rpm)
            .max()
            .map_or(0, |host| host + 1)
    }
}

/// Why a test cannot be resolved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TestError {
    /// There is no test of that name.
    #[error("no test is called `{name}`")]
    Unknown {
        /// The name as typed.
        name: String,
        /// The names of all tests.
        candidates: Vec<&'static str>,
    },
    /// The number of flows was given to a test that has a fixed number.
    #[error(
        "`{test}` has a fixed number of flows ({flows}): leave it open (no --flows, and in a file no `flows`)"
    )]
    FixedFlows {
        /// Name of the test.
        test: String,
        /// Its number of flows.
        flows: usize,
    },
    /// A number for each direction was given to a test that has one number.
    #[error(
        "`{test}` takes one number of flows, not one for each direction: --flows {cure}, or in a file `flows = {cure}`"
    )]
    OneNumber {
        /// The name as typed.
        test: String,
        /// The number that was given for its direction.
        cure: u32,
    },
    /// The number in the name and the given number differ.
    #[error("`{test}` names {named} flows, but {given} were asked for")]
    Contradiction {
        /// The name as typed.
        test: String,
        /// The number in the name.
        named: u32,
        /// The given number.
        given: u32,
    },
    /// The number of flows is out of range.
    #[error("{given} flows: a test has 1 to {most} flows in each direction")]
    Flows {
        /// The given value.
        given: u64,
        /// The limit.
        most: u32,
    },
    /// A transport was given to a test that has a fixed one.
    #[error("`{test}` is HTTP/2 over TCP: leave the transport out")]
    FixedTransport {
        /// Name of the test.
        test: String,
    },
    /// A congestion control was given to a test that compares fixed ones.
    #[error("`{test}` compares congestion controls of its own: leave the congestion control out")]
    FixedCc {
        /// Name of the test.
        test: String,
    },
    /// The name of a congestion control is malformed.
    #[error("`{0}` is not a valid name for a congestion control (1 to 15 letters, digits, `_`, `-`)")]
    Cc(String),
    /// QUIC has no such congestion control.
    #[error(transparent)]
    QuicCc(#[from] ParseQuicCcError),
    /// An extra cannot be parsed.
    #[error(transparent)]
    With(#[from] ParseExtraError),
    /// The same extra was given twice.
    #[error("`{0}` is asked for twice")]
    Twice(crate::Extra),
    /// The test needs more server hosts than there are.
    #[error("`{test}` needs {need} server hosts, there are {have}")]
    Hosts {
        /// Name of the test.
        test: String,
        /// Hosts that it needs.
        need: usize,
        /// Hosts available.
        have: usize,
    },
    /// A parameter is out of range, or the test has no use for it.
    #[error("{what}: {why}")]
    Unfit {
        /// `udp bandwidth`, `udp pktsize`, `pacing`, `marks` or `cc`.
        what: &'static str,
        /// What is wrong.
        why: String,
    },
    /// A time is out of range.
    #[error("{what} of {given}: must be {least} to {most}")]
    Range {
        /// `length`, `step`, ...
        what: &'static str,
        /// The given value.
        given: Span,
        /// Shortest.
        least: Span,
        /// Longest.
        most: Span,
    },
}

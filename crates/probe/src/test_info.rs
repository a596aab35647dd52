//! How the catalogue describes a test: groups of flows, UDP flows and probes, and how many there are.

use crate::Direction;
use crate::Dscp;
use crate::IpVersion;
use crate::rpm::Tls;

/// Most flows in one direction.
pub const MAX_FLOWS: u32 = 1000;

/// A test as the catalogue describes it.
#[derive(Clone, Copy, Debug)]
pub struct TestInfo {
    /// Its name.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// One line about it.
    pub about: &'static str,
    /// Its flows, group by group.
    pub flows: &'static [FlowGroup],
    /// Its UDP flows.
    pub udp: &'static [UdpGroup],
    /// Its probes.
    pub probes: &'static [ProbeGroup],
    /// Applications in addition to its probes, as in [`crate::Params::with`].
    pub with: &'static [&'static str],
    /// Whether it measures responsiveness ([`crate::rpm`]), and over which version of TLS. Its number N is
    /// the maximum number of connections that carry load.
    pub rpm: Option<Tls>,
    /// Default of the number N of flows per direction; absent if the test has no N.
    pub default_flows: Option<u32>,
    /// Number of server hosts that it needs.
    pub hosts: usize,
    /// Whether it goes to any number of server hosts; `hosts` is then the default.
    pub any_hosts: bool,
    /// IP version of each of them, if they are one server; see [`crate::Test::versions`].
    pub versions: &'static [IpVersion],
}

/// Flows that differ only in name, mark and host.
#[derive(Clone, Copy, Debug)]
pub struct FlowGroup {
    /// Names of the series.
    pub names: Names,
    /// Who sends.
    pub direction: Direction,
    /// How many.
    pub count: Count,
    /// Congestion control.
    pub cc: Cc,
    /// DSCPs, assigned to the members in turn.
    pub dscp: &'static [Dscp],
    /// Start in multiples of the delay D.
    pub start: u64,
    /// The length of each.
    pub lasts: Lasts,
    /// The host of each member.
    pub host: HostRule,
}

/// UDP flows that differ only in name, host and start.
#[derive(Clone, Copy, Debug)]
pub struct UdpGroup {
    /// Name of the series; a burst's number follows it.
    pub name: &'static str,
    /// When its flows send.
    pub pattern: UdpPattern,
    /// Rate of the payload if the user gives none, bit/s.
    pub bps: u64,
    /// Whether the user's rate applies.
    pub is_asked: bool,
    /// UDP payload if the user gives none, bytes.
    pub payload: u32,
}

/// When UDP flows send.
#[derive(Clone, Copy, Debug)]
pub enum UdpPattern {
    /// One, all the time, to the first host.
    Steady,
    /// One to each host, all the time.
    Hosts,
    /// One to each host. They start one after the other, evenly over the length, and stop together.
    Stagger,
    /// Bursts of this many seconds, with a delay of D before each.
    Bursts(u64),
}

/// Probes that differ only in name, mark and host.
#[derive(Clone, Copy, Debug)]
pub struct ProbeGroup {
    /// Names of the series, one for each probe. If they are not listed, there is one for each host if each
    /// goes to its own, otherwise N.
    pub names: Names,
    /// DSCPs, assigned to the members in turn.
    pub dscp: &'static [Dscp],
    /// The host of each member.
    pub host: HostRule,
}

/// How series are named.
#[derive(Clone, Copy, Debug)]
pub enum Names {
    /// One by one.
    List(&'static [&'static str]),
    /// A stem, then 1, 2, 3...
    Numbered(&'static str),
    /// A stem, then 0, 1, 2... and the mark. The members have the user's marks and congestion controls, in
    /// turn.
    Marked(&'static str),
}

impl Names {
    /// The names, or the stem.
    #[must_use]
    pub const fn words(&self) -> &[&'static str] {
        match self {
            Names::List(names) => names,
            Names::Numbered(stem) | Names::Marked(stem) => std::slice::from_ref(stem),
        }
    }
}

/// How many flows a group has.
#[derive(Clone, Copy, Debug)]
pub enum Count {
    /// A fixed number.
    Fixed(u32),
    /// The test's number N.
    N,
    /// One for each server host.
    Hosts,
}

/// Which congestion control a group uses.
#[derive(Clone, Copy, Debug)]
pub enum Cc {
    /// The user's choice, otherwise [`crate::Params::DEFAULT_CC`].
    Asked,
    /// Always this one.
    Fixed(&'static str),
}

/// How long a flow of a group lasts.
#[derive(Clone, Copy, Debug)]
pub enum Lasts {
    /// The length of the test.
    Length,
    /// The delay D between starts.
    Delay,
}

/// The server host of a member of a group.
#[derive(Clone, Copy, Debug)]
pub enum HostRule {
    /// The first.
    First,
    /// The second.
    Second,
    /// Member i uses host i.
    Each,
}

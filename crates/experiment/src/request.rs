//! A request as a user types it: text, in tc's units. [`crate::Plan`] interprets it.

use std::path::PathBuf;

use goodqueue_probe::FlowCount;
use serde::{Deserialize, Serialize};

/// What runs a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arm {
    /// The simulator, in virtual time.
    Simulated,
    /// Kernel TCP in namespaces, in real time.
    Live,
    /// A real path to a server, in real time.
    Path,
}

impl Arm {
    /// Its name in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Arm::Simulated => "simulated",
            Arm::Live => "live",
            Arm::Path => "path",
        }
    }
}

// Defaults, for [`Request::default`] and for the flags.
const TEST: &str = "rrul";
const LOSS: &str = "0%";
const LENGTH: &str = "30s";
const DELAY: &str = "5s";
const IDLE: &str = "2s";
const STEP: &str = "200ms";
const PROBE_INTERVAL: &str = "10ms";

/// One comparison as text: a test, a link, queues, seeds. [`Request::default`] is `goodqueue run`: `rrul`
/// over 20 Mbit/s and 20 ms, simulated, with `pfifo:1000`, `codel` and `fq_codel`.
#[derive(Clone, Debug)]
#[cfg_attr(any(test, feature = "clap"), derive(clap::Args))]
pub struct Request {
    /// The test; `goodqueue tests` lists them. Or an experiment file, whose name ends in .toml
    #[cfg_attr(any(test, feature = "clap"), arg(default_value = TEST, value_name = "TEST|FILE.toml"))]
    pub test: String,
    /// Simulate hosts, link and queues in virtual time (the default). This needs no privileges, and the same
    /// seed gives the same result
    #[cfg_attr(any(test, feature = "clap"), arg(long, help_heading = "Arm"))]
    pub sim: bool,
    /// Send this kernel's own TCP through the queues in real time, in separate network namespaces
    #[cfg_attr(any(test, feature = "clap"), arg(long, conflicts_with = "sim", help_heading = "Arm"))]
    pub live: bool,
    /// Queues to compare; `goodqueue queues` lists them with their parameters. A rate may be a share of the
    /// line: cake,bandwidth=90%. For your own queue, give the path of its library: ./my_aqm.so,limit=100
    /// [default: pfifo:1000,codel,fq_codel; with --shape cake; with --line or --buffer codel,fq_codel]
    #[cfg_attr(any(test, feature = "clap"), arg(short, long, value_name = "QUEUE[,PARAM=VALUE]..."))]
    pub queue: Option<String>,
    /// Change a key of the experiment file; may be repeated: --set test.length=10s, --set
    /// variant.NAME.queue=codel, --set link.NAME.up.rate=5mbit, --set flow.1.count=4
    #[cfg_attr(any(test, feature = "clap"), arg(long, value_name = "KEY=VALUE"))]
    pub set: Vec<String>,
    /// A ready-made line with rates, round-trip time, jitter and buffers; `goodqueue lines` lists them. The
    /// queues are then compared with the line's own buffer
    #[cfg_attr(any(test, feature = "clap"), arg(long, value_name = "NAME", help_heading = "Link"))]
    pub line: Option<String>,
    /// Rate of the bottleneck in each direction [default: 20mbit]
    #[cfg_attr(
        any(test, feature = "clap"),
        arg(short, long, value_name = "RATE", allow_hyphen_values = true, help_heading = "Link")
    )]
    pub rate: Option<String>,
    /// Rate towards the server, if it differs
    #[cfg_attr(
        any(test, feature = "clap"),
        arg(long, value_name = "RATE", allow_hyphen_values = true, help_heading = "Link")
    )]
    pub up: Option<String>,
    /// Rate towards the client, if it differs
    #[cfg_attr(
        any(test, feature = "clap"),
        arg(long, value_name = "RATE", allow_hyphen_values = true, help_heading = "Link")
    )]
    pub down: Option<String>,
    /// The line towards the server follows this Mahimahi trace
    #[cfg_attr(
        any(test, feature = "clap"),
        arg(long, value_name = "FILE", conflicts_with = "up", help_heading = "Link")
    )]
    pub trace_up: Option<PathBuf>,
    /// The line towards the client follows this Mahimahi trace
    #[cfg_attr(
        any(test, feature = "clap"),
        arg(long, value_name = "FILE", conflicts_with = "down", help_heading = "Link")
    )]
    pub trace_down: Option<PathBuf>,
    /// Round-trip time without load; in tests with several server hosts, one for each, separated by commas.
    /// Tests for any number of hosts (rtt_fair_var) then have as many hosts as times [default: 20ms]
    #[cfg_attr(
        any(test, feature = "clap"),
        arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Link")
    )]
    pub rtt: Option<String>,
    /// Put the queues into a router in front of the modem. The router shapes both directions to this rate or
    /// share of the line: 90%, 18mbit. The comparison includes the modem alone, with its own buffer
    #[cfg_attr(
        any(test, feature = "clap"),
        arg(long, value_name = "SHARE|RATE", allow_hyphen_values = true, help_heading = "Link")
    )]
    pub shape: Option<String>,
    /// The value of --shape towards the server, if it differs
    #[cfg_attr(
        any(test, feature = "clap"),
        arg(long, value_name = "SHARE|RATE", allow_hyphen_values = true, help_heading = "Link")
    )]
    pub shape_up: Option<String>,
    /// The value of --shape towards the client, if it differs
    #[cfg_attr(
        any(test, feature = "clap"),
        arg(long, value_name = "SHARE|RATE", allow_hyphen_values = true, help_heading = "Link")
    )]
    pub shape_down: Option<String>,
    /// The modem's own queue in each direction, with which the others are compared [default: that of --line;
    /// with --shape pfifo:1000]
    #[cfg_attr(any(test, feature = "clap"), arg(long, value_name = "QUEUE", help_heading = "Link"))]
    pub buffer: Option<String>,
    /// Share of packets lost at random on the line in each direction (0.1% or 0.001)
    #[cfg_attr(
        any(test, feature = "clap"),
        arg(
            long,
            default_value = LOSS,
            value_name = "SHARE",
            allow_hyphen_values = true,
            help_heading = "Link"
        )
    )]
    pub loss: String,
    /// Put a device ring of this many packets below the queue in each direction: the driver's own buffer
    #[cfg_attr(any(test, feature = "clap"), arg(long, value_name = "PACKETS", help_heading = "Link"))]
    pub ring: Option<u32>,
    /// Keep that ring short with byte queue limits (BQL)
    #[cfg_attr(any(test, feature = "clap"), arg(long, requires = "ring", help_heading = "Link"))]
    pub bql: bool,
    /// Run over the Wi-Fi network that a file describes in its table `wifi` (docs/experiments.md), instead
    /// of a bottleneck
    #[cfg_attr(any(test, feature = "clap"), arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "line", "rate", "up", "down", "trace_up", "trace_down", "rtt", "loss", "ring", "bql", "shape", "shape_up",
            "shape_down", "buffer", "set", "super_packets",
        ],
        help_heading = "Link"
    ))]
    pub link: Option<PathBuf>,
    /// Let TCP negotiate ECN
    #[cfg_attr(any(test, feature = "clap"), arg(long, help_heading = "Link"))]
    pub ecn: bool,
    /// Let the hosts of the live arm send super-packets (TSO), as a server does; the queue cuts them or takes
    /// them whole. Rates above 1 Gbit/s then need less processor time
    #[cfg_attr(any(test, feature = "clap"), arg(long, help_heading = "Link"))]
    pub super_packets: bool,
    /// Use IPv6
    #[cfg_attr(any(test, feature = "clap"), arg(short = '6', long, help_heading = "Link"))]
    pub ipv6: bool,
    /// Length of the load, or of each flow in tests that stagger them
    #[cfg_attr(
        any(test, feature = "clap"),
        arg(
            short,
            long,
            default_value = LENGTH,
            value_name = "TIME",
            allow_hyphen_values = true,
            help_heading = "Load"
        )
    )]
    pub length: String,
    /// Unit of staggered starts (flent's delay D)
    #[cfg_attr(
        any(test, feature = "clap"),
        arg(
            long,
            default_value = DELAY,
            value_name = "TIME",
            allow_hyphen_values = true,
            help_heading = "Load"
        )
    )]
    pub delay: String,
    /// Idle time before the load, in which the baseline is measured
    #[cfg_attr(
        any(test, feature = "clap"),
        arg(
            long,
            default_value = IDLE,
            value_name = "TIME",
            allow_hyphen_values = true,
            help_heading = "Load"
        )
    )]
    pub idle: String,
    /// Number of flows in tests without a fixed number. In tests with both directions (rrul_be_nflows,
    /// rrul_var) N is for each direction; 1,8 is 1 up and 8 down
    #[cfg_attr(
        any(test, feature = "clap"),
        arg(short = 'N', long, value_name = "N|UP,DOWN", help_heading = "Load")
    )]
    pub flows: Option<FlowCount>,
    /// Congestion control of all flows without a fixed one: cubic, reno or bbr. Simulations also have dctcp,
    /// prague, ledbat, westwood, vegas, cdg and lp, and your own by the path of its library:
    /// ./my_cc.so:keep=70. rrul_var takes several, in turn: cubic,bbr
    #[cfg_attr(any(test, feature = "clap"), arg(long, value_name = "NAME,...", help_heading = "Load"))]
    pub cc: Option<String>,
    /// DSCPs of the flows and probes of rrul_var, in turn: CS0,CS1,EF
    #[cfg_attr(
        any(test, feature = "clap"),
        arg(long, value_name = "DSCP,...", value_delimiter = ',', help_heading = "Load")
    )]
    pub marks: Vec<String>,
    /// Transport of the flows: tcp, or quic with the congestion control cubic or newreno [default: tcp]
    #[cfg_attr(any(test, feature = "clap"), arg(long, value_name = "NAME", help_heading = "Load"))]
    pub transport: Option<String>,
    /// Largest pacing rate of each TCP flow, in payload (SO_MAX_PACING_RATE)
    #[cfg_attr(
        any(test, feature = "clap"),
        arg(long, value_name = "RATE", allow_hyphen_values = true, help_heading = "Load")
    )]
    pub pacing: Option<String>,
    /// Rate of UDP flows in tests that do not set it (udp_flood, bursts)
    #[cfg_attr(
        any(test, feature = "clap"),
        arg(long, value_name = "RATE", allow_hyphen_values = true, help_heading = "Load")
    )]
    pub udp_bandwidth: Option<String>,
    /// UDP payload of the datagrams of UDP flows, bytes
    #[cfg_attr(any(test, feature = "clap"), arg(long, value_name = "BYTES", help_heading = "Load"))]
    pub udp_pktsize: Option<u32>,
    /// Time between two samples of goodput
    #[cfg_attr(
        any(test, feature = "clap"),
        arg(
            long,
            default_value = STEP,
            value_name = "TIME",
            allow_hyphen_values = true,
            help_heading = "Load"
        )
    )]
    pub step: String,
    /// Time between two latency probes, at least 1ms
    #[cfg_attr(
        any(test, feature = "clap"),
        arg(
            long,
            default_value = PROBE_INTERVAL,
            value_name = "TIME",
            allow_hyphen_values = true,
            help_heading = "Load"
        )
    )]
    pub probe_interval: String,
    /// Maximum random delay before each flow, browser, player, video call and game starts, as on real hosts;
    /// `0s` for none [default: 10ms]. Simulated runs only
    #[cfg_attr(
        any(test, feature = "clap"),
        arg(
            long,
            value_name = "TIME",
            conflicts_with = "live",
            allow_hyphen_values = true,
            help_heading = "Load"
        )
    )]
    pub start_jitter: Option<String>,
    /// Measure calls, page loads, a video, a video call and a game in addition to the test's probes: voip,
    /// voip:EF (any DSCP), web, web:large, dash, videocall, videocall:AF41, game, game:30, game:EF
    #[cfg_attr(
        any(test, feature = "clap"),
        arg(long, value_name = "EXTRA,...", value_delimiter = ',', help_heading = "Load")
    )]
    pub with: Vec<String>,
    /// Seed of all random numbers; with several runs, the seed of the first [default: 1]
    #[cfg_attr(any(test, feature = "clap"), arg(long, value_name = "N", help_heading = "Load"))]
    pub seed: Option<u64>,
    /// Run each queue several times: this many times with consecutive seeds (5), or with these seeds (1..5
    /// includes both ends; or 1,4,9). Figures then have intervals
    #[cfg_attr(
        any(test, feature = "clap"),
        arg(long, visible_alias = "repetitions", value_name = "N|LIST", help_heading = "Load")
    )]
    pub seeds: Option<String>,
}

impl Default for Request {
    fn default() -> Request {
        Request {
            test: TEST.into(),
            sim: false,
            live: false,
            queue: None,
            set: Vec::new(),
            line: None,
            rate: None,
            up: None,
            down: None,
            trace_up: None,
            trace_down: None,
            rtt: None,
            shape: None,
            shape_up: None,
            shape_down: None,
            buffer: None,
            loss: LOSS.into(),
            ring: None,
            bql: false,
            link: None,
            ecn: false,
            super_packets: false,
            ipv6: false,
            length: LENGTH.into(),
            delay: DELAY.into(),
            idle: IDLE.into(),
            flows: None,
            cc: None,
            marks: Vec::new(),
            transport: None,
            pacing: None,
            udp_bandwidth: None,
            udp_pktsize: None,
            step: STEP.into(),
            probe_interval: PROBE_INTERVAL.into(),
            start_jitter: None,
            with: Vec::new(),
            seed: None,
            seeds: None,
        }
    }
}

impl Request {
    /// The requested arm.
    #[must_use]
    pub const fn arm(&self) -> Arm {
        if self.live { Arm::Live } else { Arm::Simulated }
    }

    /// The flags of a request that the user typed, by their long names.
    #[cfg(feature = "clap")]
    #[must_use]
    pub fn given(matches: &clap::ArgMatches) -> Vec<String> {
        let request = <Request as clap::Args>::augment_args(clap::Command::new("run"));
        let is_of_request = |id: &&clap::Id| request.get_arguments().any(|argument| argument.get_id() == *id);
        let is_typed = |id: &&clap::Id| {
            matches.value_source(id.as_str()) == Some(clap::parser::ValueSource::CommandLine)
        };
        let ids = matches.ids().filter(is_of_request).filter(is_typed);
        ids.map(|id| id.as_str().replace('_', "-")).collect()
    }

    /// The request of `goodqueue run WORDS`.
    #[cfg(test)]
    pub(crate) fn of_words(words: &str) -> Request {
        use clap::{Args, FromArgMatches};
        let command = Request::augment_args(clap::Command::new("run"));
        let matches = command.get_matches_from(["run"].into_iter().chain(words.split_whitespace()));
        Request::from_arg_matches(&matches).expect("a request")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_command() {
        let [typed, ours] = [Request::of_words(""), Request::default()].map(|request| format!("{request:?}"));
        assert_eq!(typed, ours);
    }
}

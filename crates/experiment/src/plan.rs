//! From the user's input to its meaning: a resolved, validated plan that can be printed and passed on.

mod link;
mod queues;
mod seeds;
mod values;

use std::collections::BTreeMap;

use goodqueue::{Rate, Span};
use goodqueue_own::Library;
use goodqueue_probe::{Dscp, FlowCount, Params, Test, TestError, Transport, takes_any_hosts};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::request::{Arm, Request};
use crate::text::{named, starts};

#[cfg(all(feature = "live", target_os = "linux"))]
pub(crate) use link::LONGEST_RTT;
pub use link::LinkOrder;
pub(crate) use queues::words;
use queues::{queues, with_marks};
pub(crate) use seeds::Seeds;
pub(crate) use values::bytes_per_second;
use values::{positive, span};
pub use values::{read_any_rate, read_rate, read_time};

/// One comparison: a test over a link, run once for each queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The arm that runs it.
    pub arm: Arm,
    /// The test and its parameters.
    pub test: TestOrder,
    /// The link.
    pub link: LinkOrder,
    /// The queues in their canonical form.
    pub queues: Vec<String>,
    /// The calling program's own queues, by name: the text from which its child makes the queue
    /// (`live::Own`).
    #[serde(skip)]
    pub own: BTreeMap<String, String>,
    /// Roots of every random stream, one for each repetition.
    pub seeds: Vec<u64>,
    /// The largest random delay with which flows, browsers, players, video calls and games begin; live ones
    /// have their own delays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_jitter_ns: Option<u64>,
    /// Warnings to read before trusting the result.
    pub warnings: Vec<String>,
}

/// The test and its parameters. All times are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestOrder {
    /// Name as typed.
    pub name: String,
    /// Length of the load or of each flow.
    pub length_ns: u64,
    /// Unit of staggered starts.
    pub delay_ns: u64,
    /// Idle lead-in.
    pub idle_ns: u64,
    /// Step of the goodput series.
    pub step_ns: u64,
    /// Time between two probes.
    pub probe_interval_ns: u64,
    /// Number of flows, if the test leaves it open.
    pub flows: Option<FlowCount>,
    /// Number of server hosts, if the test leaves it open and it is not the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<usize>,
    /// Congestion control, if the test leaves it open.
    pub cc: Option<String>,
    /// DSCPs of the flows, if the test leaves them open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<String>,
    /// Transport of the flows, if it is not TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// Largest pacing rate of each TCP flow, bit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pacing_bps: Option<u64>,
    /// Rate of UDP flows, if the test leaves it open, bit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp_bps: Option<u64>,
    /// UDP payload of their datagrams, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp_pktsize: Option<u32>,
    /// Calls and pages in addition to the test's own probes, in full (`voip:EF`, `web:small`).
    pub with: Vec<String>,
}

impl Plan {
    /// Interprets the user's input.
    ///
    /// # Errors
    /// [`Error::Usage`] naming the flag, the value and the cure.
    pub fn resolve(args: &Request) -> Result<Plan, Error> {
        let mut warnings = Vec::new();
        let test = TestOrder::resolve(args)?;
        let resolved = test.test()?;
        let link = LinkOrder::resolve(args, &resolved, &mut warnings)?;
        let queues = queues(args.queue.as_deref(), &link)?;
        let arm = if args.live { Arm::Live } else { Arm::Simulated };
        let seeds = Seeds::of(args)?;
        let start_jitter_ns = match (arm, args.start_jitter.as_deref()) {
            (Arm::Live | Arm::Path, _) => None,
            (Arm::Simulated, None) => Some(starts::DEFAULT.0),
            (Arm::Simulated, Some(text)) => Some(start_jitter(text)?.0),
        };
        let seeds = seeds.list(args.seed.unwrap_or(1))?;
        let plan = Plan { arm, test, link, queues, own: BTreeMap::new(), seeds, start_jitter_ns, warnings };
        if arm == Arm::Live {
            plan.check_live()?;
        }
        Ok(plan)
    }

    /// Checks that the live arm, which has one line with one queue, can run it.
    fn check_live(&self) -> Result<(), Error> {
        let refuse = |flag: &str, why: &str| Err(Error::Usage(format!("{flag} with --live: {why}")));
        let LinkOrder { line, buffer, shape_up, shape_down, .. } = &self.link;
        if shape_up.is_some() || shape_down.is_some() {
            let why = "a shaper before a modem is two hops, and the live arm has one; leave --live out, or make the shaped \
                       rate that of the line: --rate or --up and --down";
            return refuse("--shape", why);
        }
        if line.is_some() || buffer.is_some() {
            let why = "the live arm has one queue on a line with one rate each way; leave --live out, or name the numbers: \
                       --up, --down, --rtt and --queue";
            return refuse(if line.is_some() { "--line" } else { "--buffer" }, why);
        }
        if self.test.transport()? == Transport::Quic && self.link.ecn {
            return refuse("--ecn", "there packets of QUIC are not ECN-capable; leave --ecn or --live out");
        }
        if self.test.test()?.rpm.is_some() && !self.test.with.is_empty() {
            return refuse(
                &format!("{} --with", self.test.name),
                "live, nothing else can run with it; leave one of them out",
            );
        }
        if let Some(cc) = self.test.cc.as_deref().filter(|cc| Library::is_path(cc)) {
            let why =
                "the live arm has this kernel's TCP, with its own congestion controls; leave --live out";
            return refuse(&format!("--cc {cc}"), why);
        }
        if self.seeds.len() > 1 {
            return refuse("--seeds", "a live run is done once; leave --live out, or run it several times");
        }
        if let Some(queue) = with_marks(&self.queues) {
            return Err(Error::Usage(format!(
                "--queue {queue}: a frame loses its firewall mark on the way to our queues, so `fwmark` \
                 selects no tin; leave it out, or use goodqueue sqm"
            )));
        }
        match self.queues.iter().find(|queue| queue.contains('%')) {
            Some(queue) => refuse(&format!("--queue {queue}"), "write the rate that is meant, as in 18mbit"),
            None => Ok(()),
        }
    }

    /// The largest random delay of starts; zero in live runs.
    pub(crate) fn start_jitter(&self) -> Span {
        Span(self.start_jitter_ns.unwrap_or(0))
    }
}

impl TestOrder {
    pub(crate) fn resolve(args: &Request) -> Result<TestOrder, Error> {
        let order = TestOrder {
            name: args.test.clone(),
            length_ns: positive("--length", &args.length)?.0,
            delay_ns: positive("--delay", &args.delay)?.0,
            idle_ns: positive("--idle", &args.idle)?.0,
            step_ns: positive("--step", &args.step)?.0,
            probe_interval_ns: positive("--probe-interval", &args.probe_interval)?.0,
            flows: args.flows,
            hosts: hosts(args),
            cc: args.cc.clone(),
            marks: args.marks.clone(),
            transport: args.transport.clone(),
            pacing_bps: args.pacing.as_deref().map(|text| rate("--pacing", text)).transpose()?,
            udp_bps: args.udp_bandwidth.as_deref().map(|text| rate("--udp-bandwidth", text)).transpose()?,
            udp_pktsize: args.udp_pktsize,
            with: args.with.iter().map(|word| extra(word)).collect::<Result<_, _>>()?,
        };
        order.test()?;
        Ok(order)
    }

    fn transport(&self) -> Result<Transport, Error> {
        let parsed = self.transport.as_deref().map(str::parse).transpose();
        parsed.map(Option::unwrap_or_default).map_err(|error| Error::Usage(format!("--transport: {error}")))
    }

    /// The test with this number of server hosts, if it leaves that open.
    ///
    /// # Errors
    /// Those of [`TestOrder::test`].
    pub(crate) fn to_hosts(&self, hosts: usize) -> Result<Test, Error> {
        TestOrder { hosts: Some(hosts), ..self.clone() }.test()
    }

    /// The test itself.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such test or a parameter does not fit it.
    pub fn test(&self) -> Result<Test, Error> {
        let params = Params {
            length: Span(self.length_ns),
            delay: Span(self.delay_ns),
            idle: Span(self.idle_ns),
            step: Span(self.step_ns),
            probe_interval: Span(self.probe_interval_ns),
            flows: self.flows,
            cc: self.cc.clone(),
            marks: self.marks.iter().map(|word| mark(word)).collect::<Result<_, _>>()?,
            transport: self.transport()?,
            pacing: self.pacing_bps.map(Rate),
            udp_bandwidth: self.udp_bps.map(Rate),
            udp_pktsize: self.udp_pktsize,
            with: self.with.clone(),
            // As many as the test needs; an arm that has fewer says so.
            hosts: usize::MAX,
            use_hosts: self.hosts,
        };
        goodqueue_probe::resolve(&self.name, &params).map_err(|error| match error {
            TestError::QuicCc(error) => Error::Usage(format!("--transport quic: {error}")),
            TestError::Unfit { what: what @ ("marks" | "pacing"), why } => {
                Error::Usage(format!("--{what}: {why}"))
            }
            TestError::Twice(_) => Error::Usage(format!("--with: {error}")),
            error => Error::Usage(named::words(&error)),
        })
    }
}

/// The number of round-trip times, if the test has as many server hosts.
fn hosts(args: &Request) -> Option<usize> {
    let times = args.rtt.as_deref().map(|text| text.split(',').count());
    times.filter(|&times| times > 1 && takes_any_hosts(&args.test))
}

fn mark(word: &str) -> Result<Dscp, Error> {
    word.parse().map_err(|error| Error::Usage(format!("--marks {word}: {error}")))
}

fn rate(flag: &str, text: &str) -> Result<u64, Error> {
    let rate = read_any_rate(text);
    rate.map(|rate| rate.0).map_err(|why| Error::Usage(format!("{flag} {text}: {why}")))
}

/// A call, a page or a video, written in full.
fn extra(word: &str) -> Result<String, Error> {
    let extra = named::extra(word).map_err(|why| Error::Usage(format!("--with {word}: {why}")))?;
    Ok(extra.to_string())
}

/// The longest jitter of starts.
const LONGEST_JITTER: Span = Span::from_secs(60);

fn start_jitter(text: &str) -> Result<Span, Error> {
    let jitter = span("--start-jitter", text)?;
    if jitter > LONGEST_JITTER {
        return Err(Error::Usage(format!(
            "--start-jitter {text}: {jitter}, but the maximum is {LONGEST_JITTER}"
        )));
    }
    Ok(jitter)
}

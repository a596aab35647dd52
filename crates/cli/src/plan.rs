//! From what was typed to what it means: a resolved, validated plan that can be printed and sent on.

use goodqueue::spec::QueueKind;
use goodqueue::{Nanos, QueueSpec, Rate, Span};
use goodqueue_probe::{Extra, Params, ParseExtraError, Test, TestError};
use serde::{Deserialize, Serialize};

use crate::args::RunArgs;
use crate::exit::End;
use crate::experiment::starts;
use crate::hint::did_you_mean;

/// The link's IP MTU in bytes: Ethernet's.
pub const MTU: u32 = 1500;

/// The longest frame, as a queue counts it: MTU and Ethernet header.
pub const FRAME: u32 = MTU + 14;

/// What runs a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arm {
    /// The simulator, in virtual time.
    Simulated,
    /// Kernel TCP in namespaces, in real time.
    Live,
}

impl Arm {
    /// Its name in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Arm::Simulated => "simulated",
            Arm::Live => "live",
        }
    }
}

/// One comparison: a test over a link, once for each queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What runs it.
    pub arm: Arm,
    /// The test and its parameters.
    pub test: TestOrder,
    /// The link.
    pub link: LinkOrder,
    /// The queues in their canonical words.
    pub queues: Vec<String>,
    /// Root of every random stream.
    pub seed: u64,
    /// How much later than planned flows, browsers and players begin at most; live ones have their own delays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_jitter_ns: Option<u64>,
    /// What the user should read before trusting the result.
    pub warnings: Vec<String>,
}

/// Which test, with which parameters. All times in nanoseconds.
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
    /// Number of flows, where the test leaves it open.
    pub flows: Option<u32>,
    /// Congestion control, where the test leaves it open.
    pub cc: Option<String>,
    /// Calls and pages beside the test's own probes, in full (`voip:EF`, `web:small`).
    pub with: Vec<String>,
}

/// The link between client and server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkOrder {
    /// Rate towards the server.
    pub up_bps: u64,
    /// Rate towards the client.
    pub down_bps: u64,
    /// Base round-trip time to each server host.
    pub rtt_ns: Vec<u64>,
    /// Probability of loss on the line, each way.
    pub loss: f64,
    /// Entries of the device ring.
    pub ring: Option<u32>,
    /// Whether BQL keeps the ring short.
    pub bql: bool,
    /// Whether TCP negotiates ECN.
    pub ecn: bool,
    /// 4 or 6.
    pub ip_version: u8,
}

impl Plan {
    /// Makes sense of what was typed.
    ///
    /// # Errors
    /// [`End::Usage`] naming the flag, the value and the cure.
    pub fn resolve(args: &RunArgs) -> Result<Plan, End> {
        let mut warnings = Vec::new();
        let test = TestOrder::resolve(args)?;
        let resolved = test.test()?;
        let both = rate("--rate", &args.rate, &mut warnings)?;
        let one_way = |flag, text: &Option<String>, warnings: &mut Vec<String>| match text {
            Some(text) => rate(flag, text, warnings),
            None => Ok(both),
        };
        let link = LinkOrder {
            up_bps: one_way("--up", &args.up, &mut warnings)?.0,
            down_bps: one_way("--down", &args.down, &mut warnings)?.0,
            rtt_ns: round_trips(&args.rtt, resolved.hosts())?,
            loss: share("--loss", &args.loss)?,
            ring: ring(args.ring)?,
            bql: args.bql,
            ecn: args.ecn,
            ip_version: if args.ipv6 { 6 } else { 4 },
        };
        let queues = queues(&args.queue, &link)?;
        let arm = if args.live { Arm::Live } else { Arm::Simulated };
        let jitter = args.start_jitter.as_ref().map(|text| span("--start-jitter", text)).transpose()?;
        if let (Some(text), Some(longest)) =
            (&args.start_jitter, jitter.filter(|&span| span > LONGEST_JITTER))
        {
            return Err(End::Usage(format!(
                "--start-jitter {text}: {longest}, and {LONGEST_JITTER} is the most"
            )));
        }
        let start_jitter_ns = (arm == Arm::Simulated).then_some(jitter.unwrap_or(starts::DEFAULT).0);
        Ok(Plan { arm, test, link, queues, seed: args.seed, start_jitter_ns, warnings })
    }

    /// The same as a time.
    pub(crate) fn start_jitter(&self) -> Span {
        Span(self.start_jitter_ns.unwrap_or(0))
    }
}

impl TestOrder {
    fn resolve(args: &RunArgs) -> Result<TestOrder, End> {
        let order = TestOrder {
            name: args.test.clone(),
            length_ns: positive("--length", &args.length)?.0,
            delay_ns: positive("--delay", &args.delay)?.0,
            idle_ns: positive("--idle", &args.idle)?.0,
            step_ns: positive("--step", &args.step)?.0,
            probe_interval_ns: positive("--probe-interval", &args.probe_interval)?.0,
            flows: args.flows,
            cc: args.cc.clone(),
            with: args.with.iter().map(|word| extra(word)).collect::<Result<_, _>>()?,
        };
        order.test()?;
        Ok(order)
    }

    /// The test itself.
    ///
    /// # Errors
    /// [`End::Usage`] where there is no such test or a parameter does not fit it.
    pub fn test(&self) -> Result<Test, End> {
        let params = Params {
            length: Span(self.length_ns),
            delay: Span(self.delay_ns),
            idle: Span(self.idle_ns),
            step: Span(self.step_ns),
            probe_interval: Span(self.probe_interval_ns),
            flows: self.flows,
            cc: self.cc.clone(),
            with: self.with.clone(),
            // As many as the test wants; an arm that has fewer says so.
            hosts: usize::MAX,
        };
        goodqueue_probe::resolve(&self.name, &params).map_err(|error| {
            let nearest = match &error {
                TestError::Unknown { name, candidates } => did_you_mean(name, candidates),
                TestError::Twice(_) => return End::Usage(format!("--with: {error}")),
                _ => String::new(),
            };
            End::Usage(format!("{error}{nearest}; `goodqueue tests` lists the tests"))
        })
    }
}

/// A call, a page or a video, written in full.
fn extra(word: &str) -> Result<String, End> {
    let extra = word.parse::<Extra>().map_err(|error| {
        let nearest = match &error {
            ParseExtraError::Unknown { word, candidates } => did_you_mean(word, candidates),
            ParseExtraError::Dscp(_) => String::new(),
        };
        End::Usage(format!("--with {word}: {error}{nearest}; `goodqueue tests` lists them"))
    })?;
    Ok(extra.to_string())
}

fn positive(flag: &str, text: &str) -> Result<Span, End> {
    let span = span(flag, text)?;
    if span == Span::ZERO {
        return Err(End::Usage(format!("{flag} {text}: must be more than zero")));
    }
    Ok(span)
}

fn span(flag: &str, text: &str) -> Result<Span, End> {
    text.parse().map_err(|error| {
        End::Usage(format!("{flag} {text}: {error}; write a time with its unit, as in 20ms or 30s"))
    })
}

/// A rate as tc reads it, with a warning where people often mean something else.
fn rate(flag: &str, text: &str, warnings: &mut Vec<String>) -> Result<Rate, End> {
    let cure = "write a rate as tc does, as in 20mbit or 1gbit";
    let rate = match text.parse::<u64>() {
        Ok(bits) => {
            warnings.push(format!(
                "{flag} {text}: a number without a unit is bits per second, as in tc; \
                did you mean {text}mbit?"
            ));
            Rate(bits)
        }
        Err(_) => text.parse().map_err(|error| End::Usage(format!("{flag} {text}: {error}; {cure}")))?,
    };
    if rate.0 == 0 {
        return Err(End::Usage(format!("{flag} {text}: nothing ever leaves a link of rate zero; {cure}")));
    }
    warnings.extend(bytes_per_second(text, rate).map(|why| format!("{flag} {why}")));
    Ok(rate)
}

/// The warning where a rate is written in bytes per second, which people often mean as bits.
pub(crate) fn bytes_per_second(text: &str, rate: Rate) -> Option<String> {
    let is_bytes = text.to_ascii_lowercase().ends_with("bps");
    is_bytes.then(|| format!("{text}: `bps` are bytes per second, as in tc: {rate}"))
}

/// A share of one: `0.5%` or `0.005`.
fn share(flag: &str, text: &str) -> Result<f64, End> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 0.01));
    match number.trim().parse::<f64>().map(|value| value * scale) {
        Ok(share) if (0.0..1.0).contains(&share) => Ok(share),
        _ => Err(End::Usage(format!("{flag} {text}: must be at least 0% and below 100%, as in 0.1%"))),
    }
}

fn ring(packets: Option<u32>) -> Result<Option<u32>, End> {
    match packets {
        Some(0) => Err(End::Usage("--ring 0: a ring of no packets sends none; leave the flag out".into())),
        Some(n) if n > 65_536 => Err(End::Usage(format!("--ring {n}: at most 65536 packets"))),
        packets => Ok(packets),
    }
}

/// The longest jitter of starts.
const LONGEST_JITTER: Span = Span::from_secs(60);

/// The longest base round-trip time: what a frame has to be kept for is memory.
const LONGEST_RTT: Span = Span(10_000_000_000);

/// One time per host. A single one stands for the first host; each further host is twice as far as
/// the one before, since a test with several hosts is about round-trip times that differ.
fn round_trips(text: &str, hosts: usize) -> Result<Vec<u64>, End> {
    let typed = text.split(',').map(|word| span("--rtt", word)).collect::<Result<Vec<_>, _>>();
    let typed = typed.map_err(|end| match end {
        // A list with an empty element: the element alone would not say what was typed.
        End::Usage(why) if text.contains(',') => End::Usage(format!("{why} (in --rtt {text})")),
        end => end,
    })?;
    let spans = match typed.as_slice() {
        [one] => (0..hosts).map(|host| Span(one.0.saturating_mul(1 << host))).collect(),
        many if many.len() == hosts => typed,
        many => {
            return Err(End::Usage(format!(
                "--rtt {text}: {} times for {hosts} server host{}; give one, or one for each",
                many.len(),
                if hosts == 1 { "" } else { "s" }
            )));
        }
    };
    if let Some(long) = spans.iter().max().filter(|&&rtt| rtt > LONGEST_RTT) {
        let farthest = if hosts > 1 { ": the farthest host would be " } else { ": " };
        return Err(End::Usage(format!("--rtt {text}{farthest}{long}, and {LONGEST_RTT} is the most")));
    }
    Ok(spans.iter().map(|rtt| rtt.0).collect())
}

fn queues(text: &str, link: &LinkOrder) -> Result<Vec<String>, End> {
    let specs = QueueSpec::list(text).map_err(|error| {
        let nearest = error.unknown().map_or(String::new(), |(word, known)| did_you_mean(word, known));
        End::Usage(format!(
            "--queue {text}: {error}{nearest}; `goodqueue queues` lists queues and parameters"
        ))
    })?;
    let mut words: Vec<String> = Vec::new();
    for spec in specs {
        check(&spec, link)?;
        let canonical = spec.to_string();
        if words.contains(&canonical) {
            return Err(End::Usage(format!("--queue {text}: {canonical} is named twice")));
        }
        words.push(canonical);
    }
    Ok(words)
}

/// Builds the queue once, so that what cannot be built is said before anything runs. A depth in bytes that
/// no full frame fits into can be built, and passes nothing.
fn check(spec: &QueueSpec, link: &LinkOrder) -> Result<(), End> {
    for holder in [Some(*spec), spec.leaf()].into_iter().flatten() {
        let depths = match holder.kind() {
            QueueKind::Bfifo | QueueKind::Red => &["limit"][..],
            QueueKind::Tbf => &["burst", "limit"],
            _ => &[],
        };
        for &name in depths {
            if holder.get(name).is_some_and(|bytes| bytes < u64::from(FRAME)) {
                return Err(End::Usage(format!(
                    "--queue {spec}: no full packet of {FRAME} bytes fits into {name}={}",
                    holder.text(name)
                )));
            }
        }
    }
    for bps in [link.up_bps, link.down_bps] {
        spec.build::<goodqueue::Header>(Rate(bps), FRAME, Nanos::ZERO)
            .map_err(|error| End::Usage(format!("--queue {spec}: {error}")))?;
    }
    Ok(())
}

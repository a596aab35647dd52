//! The conformance suite for TCP congestion controls: a single flow over several lines.

use goodqueue::{Nanos, Rate, Span};
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{Dumbbell, Flow, Simulation};

use crate::Error;
use crate::own_cc::{self, CcText};

/// How long each flow runs.
const LENGTH: Span = Span::from_secs(20);
/// Time between two looks at the window.
const LOOK: Span = Span::from_millis(100);
/// The part of the line that a single flow must reach, in percent.
const LEAST_PERCENT: u64 = 10;
/// The largest window that is not absurd, segments.
const MOST_WINDOW: u32 = 1_000_000;

/// A line that a congestion control is checked on.
#[derive(Clone, Copy, Debug)]
pub struct CcCase {
    /// Its special property.
    pub about: &'static str,
    /// Its rate.
    pub rate: Rate,
    /// Its base round-trip time.
    pub rtt: Span,
    /// Its queue.
    pub queue: &'static str,
    /// Whether TCP uses ECN.
    pub ecn: bool,
}

impl CcCase {
    const fn new(about: &'static str, mbit: u64, rtt_ms: u64, queue: &'static str, ecn: bool) -> CcCase {
        CcCase { about, rate: Rate(mbit * 1_000_000), rtt: Span::from_millis(rtt_ms), queue, ecn }
    }

    /// All.
    pub const ALL: [CcCase; 6] = [
        CcCase::new("a deep buffer", 20, 20, "pfifo:1000", false),
        CcCase::new("a small buffer", 20, 20, "pfifo:10", false),
        CcCase::new("a slow line", 1, 50, "pfifo:100", false),
        CcCase::new("a long path", 100, 100, "pfifo:1000", false),
        CcCase::new("drops by an AQM", 20, 20, "fq_codel", false),
        CcCase::new("marks by an AQM", 20, 20, "fq_codel", true),
    ];
}

/// The outcome of a case.
#[derive(Clone, Debug)]
pub struct CcOutcome {
    /// The case.
    pub case: CcCase,
    /// Payload that arrived, bit/s.
    pub goodput_bps: u64,
    /// Median time in the queue.
    pub queueing: Span,
    /// A rule for congestion controls that it violated.
    pub violation: Option<String>,
}

/// Checks a congestion control, a name or the path of a library, alone on each line of [`CcCase::ALL`]:
///
/// * it does not give up, and keeps its window between 1 and a million segments;
/// * it uses at least a tenth of the line;
/// * the same flow behaves the same again.
///
/// # Errors
/// [`Error::Usage`] if there is no such congestion control.
///
/// ```
/// let outcomes = goodqueue_experiment::check_cc("reno")?;
/// assert!(outcomes.iter().all(|outcome| outcome.violation.is_none()));
/// # Ok::<(), goodqueue_experiment::Error>(())
/// ```
pub fn check_cc(words: &str) -> Result<Vec<CcOutcome>, Error> {
    let CcText(cc) = words.parse().map_err(|why| Error::Usage(format!("{words}: {why}")))?;
    check_own_cc(cc, &mut || own_cc::fault([cc].into_iter()))
}

/// [`check_cc`] for a program's own congestion control. `fault`: why it has given up, if it has; called ten
/// times per second of simulated time.
///
/// # Errors
/// As for [`check_cc`].
pub fn check_own_cc(cc: CcKind, fault: &mut dyn FnMut() -> Option<String>) -> Result<Vec<CcOutcome>, Error> {
    CcCase::ALL.into_iter().map(|case| outcome(case, cc, fault)).collect()
}

fn outcome(case: CcCase, cc: CcKind, fault: &mut dyn FnMut() -> Option<String>) -> Result<CcOutcome, Error> {
    let first = flow(case, cc, fault)?;
    let mut violation = first.fault.clone();
    if violation.is_none() && flow(case, cc, fault)?.hash != first.hash {
        let why = "a second run of the same flow behaved differently: keep all state in what `create` makes, and use no clock";
        violation = Some(why.into());
    }
    let least = case.rate.0 * LEAST_PERCENT / 100;
    if violation.is_none() && first.goodput_bps < least {
        violation = Some(format!("it uses less than {LEAST_PERCENT} % of an empty line of {}", case.rate));
    }
    Ok(CcOutcome { case, goodput_bps: first.goodput_bps, queueing: first.queueing, violation })
}

/// A flow that ran.
struct Ran {
    hash: u64,
    goodput_bps: u64,
    queueing: Span,
    fault: Option<String>,
}

fn flow(case: CcCase, cc: CcKind, find: &mut dyn FnMut() -> Option<String>) -> Result<Ran, Error> {
    let queue = case.queue.parse().map_err(Error::usage)?;
    let mut scenario = Dumbbell::new(queue, case.rate, case.rtt).scenario();
    scenario.tcp.ecn = case.ecn;
    scenario.flows = vec![Flow::new(Dumbbell::client(0), Dumbbell::server(0), cc)];
    let mut simulation = Simulation::new(&scenario).map_err(Error::usage)?;
    let end = Nanos::ZERO + LENGTH;
    simulation.measure_sojourn(Dumbbell::UP, Nanos::ZERO, end);
    let mut fault = None;
    while simulation.now() < end && fault.is_none() {
        let now = simulation.now() + LOOK;
        simulation.run_until(now);
        let window = simulation.flow(0).info.cwnd_segments;
        fault = find().map(|why| format!("at {:.1} s: {why}", now.0 as f64 / 1e9));
        if window > MOST_WINDOW {
            fault = fault
                .or_else(|| Some(format!("at {:.1} s: a window of {window} segments", now.0 as f64 / 1e9)));
        }
    }
    let queueing = simulation.link(Dumbbell::UP).sojourn().and_then(|times| times.quantile(0.5));
    Ok(Ran {
        hash: simulation.trace_hash(),
        goodput_bps: simulation.flow(0).received * 8 * 1_000_000_000 / LENGTH.0,
        queueing: queueing.unwrap_or_default(),
        fault,
    })
}

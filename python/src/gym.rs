//! Simulations that pause for each decision of an agent: a congestion control, or an active queue management.
//! `goodqueue/gym.py` makes environments of Gymnasium of them.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use goodqueue::{Nanos, Packet as _, Reason, Rng, Span};
use goodqueue_experiment::{Experiment, with_ccs};
use goodqueue_own::cc::{CcAck, CcCalls, CcEvent, CcWindow};
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{Discipline, OwnQueue, Report, Simulation, Token};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::asked::of_words;
use crate::cc::Lease;
use crate::errors;

/// The name of an agent among congestion controls and queues.
const AGENT: &str = "agent";

/// Time between two looks for the beginning.
const LOOK: Span = Span::from_millis(1);

/// What an agent and its simulation share.
type Shared<T> = Arc<Mutex<T>>;

fn lock<T>(shared: &Shared<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A congestion control between two decisions.
#[derive(Debug, Default)]
struct CcState {
    has_begun: bool,
    /// The decision: window, segments, and pacing rate, bit/s, 0: none.
    cwnd: u64,
    pacing_bps: u64,
    /// When the next decision is in force, and the time between two, ns.
    due: u64,
    interval: u64,
    /// What was counted since the last decision.
    acked: u64,
    lost: u64,
    rtt_sum: u64,
    rtts: u64,
    last_rtt: u64,
    min_rtt: u64,
    in_flight: u64,
    mss: u32,
}

/// The agent's connection.
#[derive(Debug)]
struct AgentCc(Shared<CcState>);

impl CcCalls for AgentCc {
    fn ack(&mut self, _: Nanos, ack: &CcAck, window: &mut CcWindow) {
        let mut state = lock(&self.0);
        state.acked += ack.acked;
        state.lost += ack.lost;
        if ack.rtt > 0 {
            state.rtt_sum += ack.rtt;
            state.rtts += 1;
            state.last_rtt = ack.rtt;
        }
        state.decide(window);
    }

    fn event(&mut self, now: Nanos, event: CcEvent, window: &mut CcWindow) {
        let mut state = lock(&self.0);
        match event {
            CcEvent::Start => {
                state.has_begun = true;
                state.cwnd = window.cwnd;
                state.last_rtt = window.srtt;
                window.timer = state.due;
            }
            CcEvent::Timer => window.timer = now.0 + state.interval,
            CcEvent::Timeout => return,
            CcEvent::Lost | CcEvent::Marked | CcEvent::Recovered | CcEvent::Idle => {}
        }
        state.decide(window);
    }
}

impl CcState {
    fn decide(&mut self, window: &mut CcWindow) {
        window.cwnd = self.cwnd;
        window.pacing_bps = self.pacing_bps;
        (self.min_rtt, self.in_flight, self.mss) = (window.min_rtt, window.in_flight, window.mss);
    }

    /// What there is to see of the last `interval`; the count begins again.
    fn observe(&mut self, interval: Span) -> Vec<f64> {
        let rtt = if self.rtts > 0 { self.rtt_sum as f64 / self.rtts as f64 } else { self.last_rtt as f64 };
        let all = (self.acked + self.lost).max(1) as f64;
        let seen = vec![
            self.acked as f64 * f64::from(self.mss) * 8.0 / interval.as_secs_f64() / 1e6,
            rtt / 1e6,
            self.min_rtt as f64 / 1e6,
            self.lost as f64 / all,
            self.cwnd as f64,
            self.in_flight as f64,
        ];
        (self.acked, self.lost, self.rtt_sum, self.rtts) = (0, 0, 0, 0);
        seen
    }
}

/// A FIFO whose agent chooses with which probability an arriving packet is marked or dropped.
#[derive(Debug, Default)]
struct AqmState {
    /// The decision, of 2^64; `u64::MAX` is always.
    probability: u64,
    share: f64,
    /// What was counted since the last decision.
    arrived: u64,
    dropped: u64,
    marked: u64,
    bytes: u64,
    sojourn_sum: u64,
    left: u64,
    /// What waits.
    packets: u64,
    waiting: u64,
    /// When the oldest packet came, ns.
    oldest: Option<u64>,
}

impl AqmState {
    fn observe(&mut self, now: Nanos, interval: Span) -> Vec<f64> {
        let sojourn = self.sojourn_sum as f64 / self.left.max(1) as f64;
        let arrived = self.arrived.max(1) as f64;
        let seen = vec![
            sojourn / 1e6,
            self.oldest.map_or(0.0, |oldest| now.0.saturating_sub(oldest) as f64 / 1e6),
            self.packets as f64,
            self.waiting as f64,
            self.bytes as f64 * 8.0 / interval.as_secs_f64() / 1e6,
            self.dropped as f64 / arrived,
            self.marked as f64 / arrived,
            self.share,
        ];
        let AqmState { probability, share, packets, waiting, oldest, .. } = *self;
        *self = AqmState { probability, share, packets, waiting, oldest, ..AqmState::default() };
        seen
    }
}

/// The agent's queue.
struct AgentQueue {
    state: Shared<AqmState>,
    limit: usize,
    packets: VecDeque<(Nanos, Token)>,
    draws: Option<Rng>,
}

impl Clone for AgentQueue {
    fn clone(&self) -> AgentQueue {
        let AgentQueue { state, limit, .. } = self;
        AgentQueue { state: Arc::clone(state), limit: *limit, packets: VecDeque::new(), draws: None }
    }
}

impl fmt::Debug for AgentQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(AGENT)
    }
}

impl OwnQueue for AgentQueue {
    fn enqueue(&mut self, now: Nanos, mut packet: Token, report: &mut Report<'_>) {
        let mut state = lock(&self.state);
        state.arrived += 1;
        if self.packets.len() >= self.limit {
            state.dropped += 1;
            report.drop(packet, Reason::Limit);
            return;
        }
        let draw = self.draws.as_mut().map_or(u64::MAX, Rng::next_u64);
        if state.probability == u64::MAX || draw < state.probability {
            if !report.mark(&mut packet, Reason::Pie) {
                state.dropped += 1;
                report.drop(packet, Reason::Pie);
                return;
            }
            state.marked += 1;
        }
        state.packets += 1;
        state.waiting += u64::from(packet.len());
        self.packets.push_back((now, packet));
        state.oldest = self.packets.front().map(|(came, _)| came.0);
    }

    fn dequeue(&mut self, now: Nanos, _: &mut Report<'_>) -> Option<Token> {
        let (came, packet) = self.packets.pop_front()?;
        let mut state = lock(&self.state);
        state.packets -= 1;
        state.waiting -= u64::from(packet.len());
        state.bytes += u64::from(packet.len());
        state.sojourn_sum += now.since(came).0;
        state.left += 1;
        state.oldest = self.packets.front().map(|(came, _)| came.0);
        Some(packet)
    }

    fn seed(&mut self, draws: Rng) {
        self.draws = Some(draws);
    }
}

/// What the agent is.
enum Agent {
    Cc { state: Shared<CcState>, flow: usize, _lease: Lease },
    Aqm { state: Shared<AqmState>, link: usize, limit: usize },
}

/// A simulation that pauses for each decision.
#[pyclass(module = "goodqueue")]
pub(crate) struct Gym {
    experiment: Experiment,
    agent: Agent,
    interval: Span,
    /// The end of the load.
    end: Nanos,
    /// Several threads may not look at a simulation at a time, one after the other may.
    simulation: Mutex<Option<Simulation>>,
}

#[pymethods]
impl Gym {
    /// The words of `goodqueue run`, and the text of the experiment file that the first of them names, if it
    /// does; whether the agent is a congestion control, which these name as `agent`, or a queue of at most
    /// `limit` packets, towards the servers (`up`) or the clients; the time between two decisions, None: the
    /// base round-trip time.
    #[new]
    fn new(
        py: Python<'_>,
        words: Vec<String>,
        text: Option<&str>,
        is_cc: bool,
        up: bool,
        limit: usize,
        interval: Option<&str>,
    ) -> PyResult<Gym> {
        let interval: Option<Span> = interval.map(str::parse).transpose().map_err(|error| {
            errors::usage(py, format!("interval: {error}; write a time with its unit, as in 20ms"))
        })?;
        if interval == Some(Span::ZERO) {
            return Err(errors::usage(py, "interval 0: the time between two decisions is above zero"));
        }
        let state = Shared::<CcState>::default();
        let made = Arc::clone(&state);
        let lease = Lease::new(AGENT, false, Arc::new(move || Box::new(AgentCc(Arc::clone(&made)))));
        let kind = lease.kind();
        let kinds: Vec<CcKind> = kind.into_iter().filter(|_| is_cc).collect();
        let asked = py.detach(|| with_ccs(&kinds, || of_words(words, text)));
        let mut asked = asked.and_then(|asked| asked).map_err(|error| errors::of(py, &error))?;
        let Some(experiment) = asked.experiment_mut() else {
            return Err(errors::usage(py, "an environment is a simulation"));
        };
        let Some(variant) = experiment.variants.first() else {
            return Err(errors::usage(py, "an experiment without a variant"));
        };
        let agent = if is_cc {
            let mut ours = (0..).zip(&variant.scenario.flows).filter(|(_, flow)| Some(flow.cc) == kind);
            match (ours.next(), ours.next()) {
                (Some((flow, _)), None) => Agent::Cc { state, flow, _lease: lease },
                (None, _) => {
                    let words = "cc: no flow has the agent; name it, as in cc=\"agent\"";
                    return Err(errors::usage(py, words));
                }
                _ => {
                    let words = "cc: the agent has several flows, and an environment is of one; choose a test with one, or \
                                 give an Experiment";
                    return Err(errors::usage(py, words));
                }
            }
        } else {
            let link = if up { variant.up } else { variant.down };
            if variant.scenario.links.get(link).is_none_or(|link| link.port.is_none()) {
                return Err(errors::usage(py, "no place for a queue: it has queues of its own"));
            }
            Agent::Aqm { state: Shared::default(), link, limit }
        };
        let base = variant.rtt.first().copied().filter(|rtt| *rtt > Span::ZERO).unwrap_or(LOOK);
        let end = Nanos::ZERO + experiment.test.idle + experiment.test.load;
        let experiment = experiment.clone();
        Ok(Gym { experiment, agent, interval: interval.unwrap_or(base), end, simulation: Mutex::new(None) })
    }

    /// The time between two decisions, ns.
    #[getter]
    fn interval_ns(&self) -> u64 {
        self.interval.0
    }

    /// Simulated time, ns.
    #[getter]
    fn now_ns(&self) -> u64 {
        let simulation = self.simulation.lock().unwrap_or_else(PoisonError::into_inner);
        simulation.as_ref().map_or(0, |simulation| simulation.now().0)
    }

    /// Begins again with this seed, and returns what is seen first.
    fn reset(&mut self, py: Python<'_>, seed: u64) -> PyResult<Vec<f64>> {
        let Gym { experiment, agent, interval, end, .. } = self;
        let Some(variant) = experiment.variants.first() else { return Ok(Vec::new()) };
        let mut scenario = variant.with_seed(seed);
        match agent {
            Agent::Cc { state, .. } => {
                *lock(state) = CcState { interval: interval.0, ..CcState::default() };
            }
            Agent::Aqm { state, link, limit } => {
                *lock(state) = AqmState::default();
                if let Some(port) = scenario.links.get_mut(*link).and_then(|link| link.port.as_mut()) {
                    let (state, limit) = (Arc::clone(state), *limit);
                    port.queue = Discipline::own(
                        AGENT,
                        AgentQueue { state, limit, packets: VecDeque::new(), draws: None },
                    );
                }
            }
        }
        let mut simulation = Simulation::new(&scenario).map_err(|error| errors::usage(py, error))?;
        let idle = Nanos::ZERO + experiment.test.idle;
        let seen = py.detach(|| -> Option<Vec<f64>> {
            match agent {
                Agent::Cc { state, flow, .. } => {
                    simulation.run_until(Nanos::ZERO + scenario.flows.get(*flow)?.start);
                    while !lock(state).has_begun {
                        let until = simulation.now() + LOOK;
                        if until >= *end {
                            return None;
                        }
                        // What is decided at `until` is in force one nanosecond later.
                        lock(state).due = until.0 + 1;
                        simulation.run_until(until);
                    }
                    Some(lock(state).observe(LOOK))
                }
                Agent::Aqm { state, .. } => {
                    simulation.run_until(idle);
                    let now = simulation.now();
                    Some(lock(state).observe(now, experiment.test.idle.max(LOOK)))
                }
            }
        });
        self.simulation = Mutex::new(Some(simulation));
        seen.ok_or_else(|| errors::usage(py, "the agent's flow has no connection before the load ends"))
    }

    /// Decides: for a congestion control the window in segments and the pacing rate in bit/s (0: none), for a
    /// queue the probability. Returns what is seen after the interval, and whether the load is over.
    fn step(&mut self, py: Python<'_>, first: f64, second: f64) -> PyResult<(Vec<f64>, bool)> {
        let Gym { agent, interval, end, simulation, .. } = self;
        let simulation = simulation.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(simulation) = simulation.as_mut().filter(|simulation| simulation.now() < *end) else {
            return Err(PyRuntimeError::new_err("the episode is over, or has not begun: call reset()"));
        };
        let within = |name: &str, value: f64, least: f64, most: f64| {
            if (least..=most).contains(&value) {
                return Ok(value);
            }
            Err(PyValueError::new_err(format!("action: {name} {value}: from {least} to {most}")))
        };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        match agent {
            Agent::Cc { state, .. } => {
                let cwnd = within("window", first, 1.0, 1e6)? as u64;
                let pacing_bps = within("pacing rate", second, 0.0, 1e12)? as u64;
                let mut state = lock(state);
                (state.cwnd, state.pacing_bps) = (cwnd, pacing_bps);
            }
            Agent::Aqm { state, .. } => {
                let share = within("probability", first, 0.0, 1.0)?;
                let mut state = lock(state);
                state.share = share;
                state.probability =
                    if share >= 1.0 { u64::MAX } else { (share * 18_446_744_073_709_551_616.0) as u64 };
            }
        }
        py.detach(|| simulation.run_until(simulation.now() + *interval));
        let now = simulation.now();
        let seen = match agent {
            Agent::Cc { state, .. } => lock(state).observe(*interval),
            Agent::Aqm { state, .. } => lock(state).observe(now, *interval),
        };
        Ok((seen, now >= *end))
    }
}

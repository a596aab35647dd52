//! Runs a case in the simulator: the path as the folder's README describes it, and the same figures.
//!
//! ```text
//!  cli ── rtr ── mid ── srv      rtr: the bottlenecks, up towards mid, down towards cli
//!                                mid: half of the round-trip time on each of its two ways out
//! ```

use goodqueue::port::Line;
use goodqueue::{ETHERNET_FRAME, Nanos, Rng, Span};
use goodqueue_probe::Sample;
use goodqueue_sim::{
    Flow, Link, NodeId, Pattern, PortSpec, Probe, ProbeKind, Scenario, Shaper as Bucket, ShaperKind,
    Simulation, Source,
};

use super::case::{Bottleneck, Case, Shaper};
use super::summary::{Distribution, FlowOutcome, Goodput, Outcome, Ping, QueueFigures, Side};
use super::{Options, SimulateError};
use goodqueue_report::Direction;

const CLI: NodeId = 0;
const RTR: NodeId = 1;
const MID: NodeId = 2;
const SRV: NodeId = 3;
/// Number of the link with the bottleneck up, and down.
const BOTTLENECKS: [usize; 2] = [1, 5];

/// Start of the steady part, after the start of the load.
const STEADY: Span = Span(5_000_000_000);
/// Interval between samples of the queues.
const STEP: Span = Span(100_000_000);
/// `tbf`'s bucket in the cases, bytes.
const TBF_BURST: u32 = 3028;
/// Size of a datagram for one-way delays as a queue counts it, bytes; and the gap between two.
const OWD: (u32, Span) = (202, Span(20_000_000));

/// Simulates `case` and measures the figures of the kernel's summary.
///
/// # Errors
/// If the simulator lacks or refuses something in it.
pub fn simulate(case: &Case, seed: u64, options: &Options) -> Result<Outcome, SimulateError> {
    let scenario = scenario(case, seed, options)?;
    let mut simulation =
        Simulation::new(&scenario).map_err(|error| SimulateError::Failed(error.to_string()))?;
    let mut meter = Meter::default();
    let end = Nanos::ZERO + case.warm + case.length;
    let mut at = Nanos::ZERO + case.warm;
    loop {
        simulation.run_until(at);
        meter.look(case, &simulation, at.since(Nanos::ZERO + case.warm));
        if at == end {
            break;
        }
        at = (at + STEP).min(end);
    }
    simulation.finish_probes();
    let samples: Vec<Sample> = simulation.take_samples().collect();
    Ok(meter.outcome(case, &scenario, &simulation, &samples))
}

fn scenario(case: &Case, seed: u64, options: &Options) -> Result<Scenario, SimulateError> {
    let half = Span(case.rtt.0 / 2);
    let port = |way| {
        let built = case.bottleneck(way).map(|bottleneck| port(bottleneck, options));
        built.transpose()
    };
    let links = vec![
        Link::new(CLI, RTR, None, Span::ZERO),
        Link::new(RTR, MID, port(Direction::Up)?, Span::ZERO),
        Link::new(MID, SRV, None, half),
        Link::new(SRV, MID, None, Span::ZERO),
        Link::new(MID, RTR, None, half),
        Link::new(RTR, CLI, port(Direction::Down)?, Span::ZERO),
    ];
    let end = case.warm + case.length;
    let probes = case.pings.iter().map(|&way| Probe {
        from: ends(way).0,
        to: ends(way).1,
        kind: ProbeKind::Ping { spread: 0.25 },
        interval: case.ping_gap,
        payload: case.ping_payload,
        dscp: 0,
        start: Span::ZERO,
        stop: end,
    });
    let sources = Direction::BOTH.iter().filter(|_| case.owd).map(|&way| Source {
        from: ends(way).0,
        to: ends(way).1,
        pattern: Pattern::Constant { interval: OWD.1 },
        len: OWD.0,
        dscp: 0,
        start: case.warm,
        stop: None,
    });
    let mut scenario = Scenario {
        nodes: ["cli", "rtr", "mid", "srv"].map(String::from).to_vec(),
        links,
        flows: flows(case, seed)?,
        sources: sources.collect(),
        probes: probes.collect(),
        origin: case.warm,
        seed,
        ..Scenario::default()
    };
    (scenario.tcp.ecn, scenario.tcp.tso) = (case.ecn, case.offload);
    Ok(scenario)
}

fn flows(case: &Case, seed: u64) -> Result<Vec<Flow>, SimulateError> {
    let flow = |(index, order): (u64, &super::case::FlowOrder)| {
        let cc = order.cc.parse().map_err(|error| SimulateError::NotBuilt(format!("{error}")))?;
        let late = Rng::stream(seed, index, "start").below(order.jitter.0.saturating_add(1));
        Ok(Flow {
            start: case.warm + order.start + Span(late),
            stop: (order.stop < case.length).then_some(case.warm + order.stop),
            ..Flow::new(ends(order.way).0, ends(order.way).1, cc)
        })
    };
    (0..).zip(&case.flows).map(flow).collect()
}

/// The sender and the receiver.
fn ends(way: Direction) -> (NodeId, NodeId) {
    match way {
        Direction::Up => (CLI, SRV),
        Direction::Down => (SRV, CLI),
    }
}

fn port(bottleneck: &Bottleneck, options: &Options) -> Result<PortSpec, SimulateError> {
    let queue = bottleneck.queue_under(options.codel_parity).map_err(SimulateError::NotBuilt)?;
    let shaper = match bottleneck.shaper {
        Shaper::Htb => Some(Bucket { kind: ShaperKind::Htb, rate: bottleneck.rate, burst: ETHERNET_FRAME }),
        Shaper::Tbf => Some(Bucket { kind: ShaperKind::Tbf, rate: bottleneck.rate, burst: TBF_BURST }),
        Shaper::Own => None,
    };
    let line = Line::Unlimited;
    Ok(PortSpec { shaper, line, frame: ETHERNET_FRAME, ..PortSpec::new(queue.into(), bottleneck.rate) })
}

/// What is read while the simulation runs.
#[derive(Debug, Default)]
struct Meter {
    /// Bytes read by each flow's receiver when the steady part began.
    received: Vec<u64>,
    /// When flows were sampled last, and their bytes then.
    last: (Span, Vec<u64>),
    queues: [QueueMeter; 2],
}

#[derive(Debug, Default)]
struct QueueMeter {
    /// Bytes sent and packets dropped when the steady part began.
    before: Option<(u64, u64)>,
    backlogs: Vec<(u64, u32)>,
    most: (u64, u32),
}

impl Meter {
    fn look(&mut self, case: &Case, simulation: &Simulation, t: Span) {
        for (meter, link) in self.queues.iter_mut().zip(BOTTLENECKS) {
            let link = simulation.link(link);
            let backlog = link.backlog();
            meter.most = (meter.most.0.max(backlog.bytes), meter.most.1.max(backlog.packets));
            if t >= STEADY {
                let stats = link.queue();
                meter.before.get_or_insert((stats.bytes, stats.drops));
                meter.backlogs.push((backlog.bytes, backlog.packets));
            }
        }
        // The kernel's summary leaves out the bytes of the last step: its total is the sum of samples, and
        // there is no sample at the end.
        if t >= case.length {
            return;
        }
        let received = || (0..case.flows.len()).map(|flow| simulation.flow(flow).received).collect();
        self.last = (t, received());
        if t >= STEADY && self.received.is_empty() {
            self.received = received();
        }
    }

    fn outcome(
        &self,
        case: &Case,
        scenario: &Scenario,
        simulation: &Simulation,
        samples: &[Sample],
    ) -> Outcome {
        let flows: Vec<FlowOutcome> =
            (0..case.flows.len()).map(|index| self.flow(case, scenario, index)).collect();
        let side = |way: Direction| Side {
            goodput: goodput(case, &flows, simulation, way),
            ping: case.pings.iter().position(|&from| from == way).map(|probe| ping(case, probe, samples)),
            queue: case.bottleneck(way).map(|bottleneck| {
                let number = usize::from(way == Direction::Down);
                self.queues[number].figures(case, bottleneck, simulation, BOTTLENECKS[number])
            }),
        };
        Outcome { up: side(Direction::Up), down: side(Direction::Down), flows }
    }

    fn flow(&self, case: &Case, scenario: &Scenario, index: usize) -> FlowOutcome {
        let order = &case.flows[index];
        let (end, received) = (self.last.0, self.last.1.get(index).copied().unwrap_or(0));
        let start = Span(scenario.flows[index].start.0 - case.warm.0);
        let stop = order.stop.min(end);
        let lasts = order.stop >= case.length;
        let steady = match (lasts, self.received.get(index)) {
            (true, Some(before)) => mbit(received - before, STEADY, stop),
            (true, None) => None,
            (false, _) => mbit(received, start, stop),
        };
        FlowOutcome {
            id: order.id.clone(),
            way: order.way,
            cc: order.cc.clone(),
            rx_bytes: received,
            mbit: mbit(received, start, stop).unwrap_or(0.0),
            mbit_steady: steady,
        }
    }
}

impl QueueMeter {
    #[allow(clippy::cast_precision_loss)]
    fn figures(
        &self,
        case: &Case,
        bottleneck: &Bottleneck,
        simulation: &Simulation,
        link: usize,
    ) -> QueueFigures {
        let stats = simulation.link(link).queue();
        let (bytes, drops) = self.before.unwrap_or((stats.bytes, stats.drops));
        let steady = case.length.0.saturating_sub(STEADY.0);
        let capacity = bottleneck.rate.0 as f64 / 8e9 * steady as f64;
        let samples = self.backlogs.len().max(1) as f64;
        QueueFigures {
            drops: stats.drops,
            marks: stats.marks,
            drops_steady: stats.drops - drops,
            util_steady: if steady > 0 { (stats.bytes - bytes) as f64 / capacity } else { 0.0 },
            backlog_mean: self.backlogs.iter().map(|&(bytes, _)| bytes as f64).sum::<f64>() / samples,
            backlog_max: self.most.0,
            qlen_mean: self.backlogs.iter().map(|&(_, packets)| f64::from(packets)).sum::<f64>() / samples,
            qlen_max: u64::from(self.most.1),
        }
    }
}

/// Mbit/s of `bytes` between two times; none if the times are equal.
#[allow(clippy::cast_precision_loss)]
fn mbit(bytes: u64, from: Span, to: Span) -> Option<f64> {
    (to > from).then(|| bytes as f64 * 8e3 / (to.0 - from.0) as f64)
}

/// Sums over the flows of a direction.
#[allow(clippy::cast_precision_loss)]
fn goodput(case: &Case, flows: &[FlowOutcome], simulation: &Simulation, way: Direction) -> Option<Goodput> {
    let of_way = || flows.iter().enumerate().filter(|(_, flow)| flow.way == way);
    of_way().next()?;
    let lasting: Vec<f64> = of_way()
        .filter(|&(index, _)| case.flows[index].stop >= case.length)
        .filter_map(|(_, flow)| flow.mbit_steady)
        .collect();
    let squares: f64 = lasting.iter().map(|rate| rate * rate).sum();
    let sum: f64 = lasting.iter().sum();
    Some(Goodput {
        mbit: mbit(of_way().map(|(_, flow)| flow.rx_bytes).sum(), Span::ZERO, case.length).unwrap_or(0.0),
        mbit_steady: (!lasting.is_empty()).then_some(sum),
        jain_steady: (squares > 0.0).then(|| sum * sum / (lasting.len() as f64 * squares)),
        retrans: of_way().map(|(index, _)| u64::from(simulation.flow(index).info.retransmits)).sum(),
        ce: of_way().map(|(index, _)| u64::from(simulation.flow(index).info.delivered_ce)).sum(),
    })
}

/// The answers to one side's probes.
fn ping(case: &Case, probe: usize, samples: &[Sample]) -> Ping {
    let mut answered: Vec<(i64, i64)> = Vec::new();
    let mut lost = Vec::new();
    for sample in samples {
        match *sample {
            Sample::Echo { probe: of, sent, rtt, .. } if of as usize == probe => answered.push((sent, rtt)),
            Sample::Lost { probe: of, sent, .. } if of as usize == probe => lost.push(sent),
            _ => {}
        }
    }
    let steady = i64::try_from(STEADY.0).unwrap_or(i64::MAX);
    // A probe that was sent less than the longest round trip before the end may still be in flight.
    let longest = answered.iter().map(|&(_, rtt)| rtt).max().unwrap_or(0);
    let early = i64::try_from(case.length.0).unwrap_or(i64::MAX) - longest;
    let lost = |from: i64| lost.iter().filter(|&&sent| sent >= from && sent < early).count() as u64;
    let distribution = |from: i64| {
        distribution(answered.iter().filter(|&&(sent, _)| sent >= from).map(|&(_, rtt)| rtt).collect())
    };
    let idle = answered.iter().filter(|&&(sent, _)| sent < 0).map(|&(_, rtt)| rtt).min();
    Ping {
        idle_min: millis(idle.unwrap_or_else(|| i64::try_from(case.rtt.0).unwrap_or(i64::MAX))),
        all: distribution(0),
        lost: lost(0),
        steady: distribution(steady),
        lost_steady: lost(steady),
    }
}

#[allow(clippy::cast_precision_loss)]
fn millis(nanos: i64) -> f64 {
    nanos as f64 / 1e6
}

/// Percentiles are interpolated linearly between the two nearest of the ordered values.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn distribution(mut values: Vec<i64>) -> Option<Distribution> {
    values.sort_unstable();
    let (first, last) = (*values.first()?, *values.last()?);
    let quantile = |q: f64| {
        let place = q * (values.len() - 1) as f64;
        let below = values[place as usize];
        let above = values[(place as usize + 1).min(values.len() - 1)];
        millis(below) + (millis(above) - millis(below)) * place.fract()
    };
    let sum: f64 = values.iter().map(|&value| millis(value)).sum();
    Some(Distribution {
        n: values.len() as u64,
        min: millis(first),
        mean: sum / values.len() as f64,
        p50: quantile(0.5),
        p95: quantile(0.95),
        p99: quantile(0.99),
        max: millis(last),
    })
}

//! One run: a link, and what sets its shapers.

use std::collections::VecDeque;

use goodqueue::autorate::{
    CakeAutorate, Controller, Decision, Delays, Follow, Limits, MOST_REFLECTORS, Params, Sample, Traffic,
};
use goodqueue::{Direction, Nanos, QueueSpec, Rate, Rng, Span};
use goodqueue_probe::Sample as Measured;
use goodqueue_sim::tcp::Config;
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{BuildError, Flow, Link, Opener, PortSpec, Probe, Scenario, Simulation};

use super::links::{LENGTH, Path, disturb};

/// What sets the rates of the shapers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The least rate of the link, all the time.
    Minimum,
    /// The mean rate of the link, all the time.
    Mean,
    /// The published rules of cake-autorate.
    CakeAutorate,
    /// [`Follow`].
    Ours,
    /// An oracle that is told of the link's rate and of its queue 100 ms late.
    Late,
    /// 95 % of the rate that the link has at the moment.
    Oracle,
}

impl Policy {
    /// All, in the order of tables.
    pub const ALL: [Policy; 6] =
        [Policy::Minimum, Policy::Mean, Policy::CakeAutorate, Policy::Ours, Policy::Late, Policy::Oracle];

    /// For tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Policy::Minimum => "fixed at the minimum",
            Policy::Mean => "fixed at the mean",
            Policy::CakeAutorate => "cake-autorate's rules",
            Policy::Ours => "ours",
            Policy::Late => "oracle, 100 ms late",
            Policy::Oracle => "oracle",
        }
    }
}

/// The share of the link's rate that the oracle sets, per cent. It needs some of it to drain what a shaper
/// lets pass between two steps.
pub(super) const ORACLE: u64 = 95;
/// How late the late oracle is told, and within which time it drains a queue: about two probes.
pub(super) const LATE: Span = Span::from_millis(100);
/// The least rate that the oracle sets: `cake` takes 0 as no limit.
const LEAST: Rate = Rate(100_000);
/// Start of the load.
pub(super) const LOAD: Span = Span::from_secs(2);
/// Goodput and delay are measured from here on, after ten seconds of load in which the rate is found.
pub(super) const MEASURED: Span = Span::from_secs(12);
/// Reversals of the rate count from here on.
const FOUND: Span = Span::from_secs(30);
/// How often counters are read and rates set.
const STEP: Span = Span::from_millis(5);
/// When a probe counts as lost.
const LOST: Span = Span::from_secs(1);
/// Flows in each direction.
const FLOWS: usize = 4;
/// Interval of the probe that measures the delay with and without load.
const DELAY_PROBE: Span = Span::from_millis(20);
/// A rate is kept for pictures this often.
const SHOWN: Span = Span::from_millis(100);

/// The result of a run in one direction.
#[derive(Clone, Debug, Default)]
pub struct DirectionOutcome {
    /// Payload that arrived from second 12 on, bit/s.
    pub goodput: f64,
    /// How much longer a small packet took one way than the median without load, ms: median and 95th
    /// percentile, from second 12 on. A lost packet counts as the longest.
    pub rise: [f64; 2],
    /// The rate of the shaper, every 100 ms.
    pub rates: Vec<Rate>,
    /// How often a minute the rate reversed, from second 30 on.
    pub reversals: f64,
}

/// Counts how often a rate changes its direction: from up to down or back, each by more than a tenth of the
/// largest or the smallest rate since the last time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reversals {
    /// Since the last time.
    least: u64,
    most: u64,
    /// Whether it went up last; `None` before the first change.
    is_up: Option<bool>,
    count: u32,
}

impl Reversals {
    pub(super) fn see(&mut self, rate: Rate) {
        if self.most == 0 {
            self.least = rate.0;
        }
        (self.least, self.most) = (self.least.min(rate.0), self.most.max(rate.0));
        let (rises, falls) = (rate.0 * 10 > self.least * 11, rate.0 * 10 < self.most * 9);
        if (rises && self.is_up != Some(true)) || (falls && self.is_up != Some(false)) {
            self.count += u32::from(self.is_up.is_some());
            (self.is_up, self.least, self.most) = (Some(rises), rate.0, rate.0);
        }
    }

    pub(super) fn a_minute(self, time: Span) -> f64 {
        f64::from(self.count) * 60.0 / time.as_secs_f64()
    }
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Up and down.
    pub ways: [DirectionOutcome; 2],
    /// What the controller decided.
    pub decisions: Vec<Decision>,
    /// The hash of all events.
    pub trace_hash: u64,
}

/// Links of the scenario.
const SHAPER: [usize; 2] = [1, 5];
const LINE: [usize; 2] = [2, 4];

/// Client 0, router 1, modem 2, far end 3, server 4, reflectors from 5 on.
fn scenario(path: &Path, interval: Span, seed: u64) -> Scenario {
    let mut nodes: Vec<String> = ["client", "router", "modem", "far end", "server"].map(String::from).into();
    let port = |text: &str, rate: Rate| text.parse().map(|queue| PortSpec::new(queue, rate));
    let shaper = |way: usize| {
        let rate = path.lines[way].least_mean_most()[1];
        PortSpec::new(shaper(way, rate).into(), Rate(0))
    };
    let line = |way: usize| {
        let mean = path.lines[way].least_mean_most()[1];
        // One second at the mean rate.
        let fifo = port(&format!("bfifo,limit={}", mean.0 / 8), mean).expect("a limit in bytes");
        PortSpec { line: path.lines[way].line(&mut Rng::stream(seed, way as u64, "line")), ..fifo }
    };
    let ms = Span::from_millis;
    let on_line = |from, to, way: usize| Link {
        jitter: path.lines[way].jitter,
        ..Link::new(from, to, Some(line(way)), ms(4))
    };
    let mut links = vec![
        Link::new(0, 1, None, Span::ZERO),
        Link::new(1, 2, Some(shaper(0)), Span::ZERO),
        on_line(2, 3, 0),
        Link::new(3, 4, None, ms(12)),
        on_line(3, 2, 1),
        Link::new(2, 1, Some(shaper(1)), Span::ZERO),
        Link::new(1, 0, None, Span::ZERO),
        Link::new(4, 3, None, ms(12)),
    ];
    let mut probes = Vec::new();
    for reflector in 0..MOST_REFLECTORS {
        let (node, away) = (nodes.len(), ms(2 + 3 * reflector as u64));
        nodes.push(format!("reflector {reflector}"));
        links.extend([Link::new(3, node, None, away), Link::new(node, 3, None, away)]);
        let start = Span(interval.0 * reflector as u64 / if interval.0 > 200_000_000 { 6 } else { 4 });
        probes.push(Probe { start, ..Probe::ping(0, node, interval, LENGTH) });
    }
    probes.push(Probe::ping(0, 4, DELAY_PROBE, LENGTH));
    let mut flows = Vec::new();
    for number in 0..FLOWS as u64 {
        let start = LOAD + ms(100 * number);
        flows.push(Flow { start, ..Flow::new(0, 4, CcKind::Cubic) });
        flows.push(Flow { start, opener: Opener::Receiver, ..Flow::new(4, 0, CcKind::Cubic) });
    }
    let tcp = Config { tso: false, ..Config::default() };
    Scenario { nodes, links, flows, probes, tcp, seed, ..Scenario::default() }
}

/// The shaper of a direction. The one for downloads is behind the link, so it needs `ingress`.
fn shaper(way: usize, rate: Rate) -> QueueSpec {
    let ingress = if way == 1 { ",ingress=on" } else { "" };
    let text = format!("cake,diffserv=besteffort,bandwidth={}bit{ingress}", rate.0.max(LEAST.0));
    text.parse().expect("parameters of cake")
}

/// The source of the rates that the shapers get.
enum Setter<'a> {
    Fixed([Rate; 2]),
    Oracle(&'a Path),
    Late([Late; 2]),
    Controller(Box<dyn Controller>),
}

/// The late oracle in one direction. It gets each state of the link, one every [`STEP`], 100 ms late.
#[derive(Clone, Debug, Default)]
struct Late {
    /// The states that it has not got yet, the oldest first: the rate of the link, the bits that wait in
    /// front of it, and the rate that the shaper got then.
    known: VecDeque<[u64; 3]>,
    rate: Rate,
}

impl Late {
    /// The link has `rate` now, and `waiting` bits wait in front of it.
    fn tell(&mut self, rate: Rate, waiting: u64) {
        let steps = (LATE.0 / STEP.0) as usize;
        let [link, waited, _] = *self.known.front().unwrap_or(&[rate.0, waiting, 0]);
        // The present queue, if the link has kept its rate and the shaper has sent all that its rate allowed.
        let passed = |rate: u64| Rate(rate).bytes_in(STEP).0 * 8;
        let queue = self
            .known
            .iter()
            .fold(waited, |queue, &[.., set]| (queue + passed(set)).saturating_sub(passed(link)));
        let drain = (u128::from(queue) * 1_000_000_000 / u128::from(LATE.0)) as u64;
        self.rate = Rate((link / 100 * ORACLE).saturating_sub(drain));
        self.known.push_back([rate.0, waiting, self.rate.0]);
        if self.known.len() > steps {
            self.known.pop_front();
        }
    }
}

impl Setter<'_> {
    fn new(policy: Policy, path: &Path) -> Setter<'_> {
        let known = [0, 1].map(|way: usize| path.lines[way].least_mean_most());
        // The same rule for every link and both controllers, from the highest rate that it is sold with.
        let limits = known.map(|[_, _, most]| Limits {
            min: Rate(most.0 / 20),
            start: Rate(most.0 / 2),
            max: Rate(most.0 * 3 / 2),
        });
        match policy {
            Policy::Minimum => Setter::Fixed(known.map(|[least, _, _]| least)),
            Policy::Mean => Setter::Fixed(known.map(|[_, mean, _]| mean)),
            Policy::Oracle => Setter::Oracle(path),
            Policy::Late => Setter::Late(Default::default()),
            Policy::Ours => {
                Setter::Controller(Box::new(Follow::new(limits, MOST_REFLECTORS, Params::default())))
            }
            Policy::CakeAutorate => Setter::Controller(Box::new(CakeAutorate::new(limits, MOST_REFLECTORS))),
        }
    }

    fn rate(&self, way: usize, now: Span) -> Rate {
        match self {
            Setter::Fixed(rates) => rates[way],
            Setter::Oracle(path) => Rate(path.lines[way].rate_at(now).0 / 100 * ORACLE),
            Setter::Late(ways) => ways[way].rate,
            Setter::Controller(controller) => controller.rate(Direction::BOTH[way]),
        }
    }
}

/// The probes of a run: those of the controller and the one that measures the delay.
struct Probes<'a> {
    path: &'a Path,
    draws: Rng,
    /// When a probe counts as lost, and the reflector.
    overdue: VecDeque<(Nanos, usize)>,
    /// One-way delays of the delay probe: when sent, and up and down, ns.
    delays: Vec<(Span, [i64; 2])>,
}

impl Probes<'_> {
    /// What a controller sees of a measured sample.
    fn take(&mut self, measured: &Measured) -> Option<Sample> {
        let (number, sent, delays) = match *measured {
            Measured::Echo { probe, sent, up, down, .. } => (probe as usize, sent, Some([up, down])),
            Measured::Lost { probe, sent, .. } => (probe as usize, sent, None),
            _ => return None,
        };
        let sent = Nanos(sent.unsigned_abs());
        if number == MOST_REFLECTORS {
            self.delays.push((Span(sent.0), delays.unwrap_or([i64::MAX; 2])));
            return None;
        }
        let seen =
            delays.and_then(|delays| disturb(self.path.disturbance, number, sent, delays, &mut self.draws));
        let Some([up, down]) = seen else {
            self.overdue.push_back((sent + LOST, number));
            return None;
        };
        Some(Sample { reflector: number, sent, delays: Delays::OneWay { up, down } })
    }

    /// The median and the 95th percentile of the rise in a direction, ms.
    fn rise(&self, way: usize) -> [f64; 2] {
        let sorted = |is_counted: &dyn Fn(Span) -> bool| {
            let counted = self.delays.iter().filter(|(sent, _)| is_counted(*sent));
            let mut delays: Vec<i64> = counted.map(|(_, delays)| delays[way]).collect();
            delays.sort_unstable();
            delays
        };
        let idle = sorted(&|sent| sent < LOAD);
        let loaded = sorted(&|sent| sent >= MEASURED);
        [50, 95].map(|percent| {
            let at = |delays: &[i64], percent: usize| delays.get(delays.len() * percent / 100).copied();
            let (idle, loaded) = (at(&idle, 50).unwrap_or(0), at(&loaded, percent).unwrap_or(i64::MAX));
            Span((loaded - idle).max(0).unsigned_abs()).as_millis_f64()
        })
    }
}

/// Runs the load over `path` with the shapers set by `policy`.
///
/// # Errors
/// Never for the paths of [`super::all`].
pub fn run(path: &Path, policy: Policy, seed: u64) -> Result<Outcome, BuildError> {
    // 20 probes a second: cake-autorate asks six reflectors, ours four.
    let interval = Span::from_millis(if policy == Policy::CakeAutorate { 300 } else { 200 });
    let mut simulation = Simulation::new(&scenario(path, interval, seed))?;
    let mut setter = Setter::new(policy, path);
    let mut probes = Probes {
        path,
        draws: Rng::stream(seed, 0, "reflectors"),
        overdue: VecDeque::new(),
        delays: Vec::new(),
    };
    let mut outcome = Outcome { ways: Default::default(), decisions: Vec::new(), trace_hash: 0 };
    let (mut set, mut passed, mut before) = ([Rate(0); 2], [0; 2], [0; 2]);
    let mut reversals = [Reversals::default(); 2];
    let mut now = Nanos::ZERO;
    while now < Nanos::ZERO + LENGTH {
        now += STEP;
        simulation.run_until(now);
        let total = [simulation.link(SHAPER[0]).queue().bytes, simulation.link(LINE[1]).line().bytes];
        let bytes = [0, 1].map(|way: usize| total[way] - passed[way]);
        passed = total;
        let waits = [0, 1].map(|way: usize| {
            let bytes = goodqueue::Bytes(simulation.link(SHAPER[way]).backlog().bytes);
            Some(set[way]).filter(|rate| rate.0 > 0).map(|rate| rate.tx_time(bytes))
        });
        let mut samples: Vec<Measured> = simulation.take_samples().collect();
        samples.sort_by_key(arrival);
        let seen: Vec<Sample> = samples.iter().filter_map(|sample| probes.take(sample)).collect();
        if let Setter::Late(ways) = &mut setter {
            for (way, late) in ways.iter_mut().enumerate() {
                let waiting = simulation.link(LINE[way]).backlog().bytes * 8;
                late.tell(path.lines[way].rate_at(Span(now.0)), waiting);
            }
        }
        if let Setter::Controller(controller) = &mut setter {
            let mut note = |decisions: [Option<Decision>; 2]| {
                outcome.decisions.extend(decisions.into_iter().flatten());
            };
            note(controller.traffic(now, Traffic { bytes, waits }));
            for sample in seen {
                note(controller.sample(now, sample));
            }
            while let Some((_, reflector)) = probes.overdue.pop_front_if(|(at, _)| *at <= now) {
                note(controller.lost(now, reflector));
            }
        }
        let time = Span(now.0);
        for way in 0..2 {
            let rate = setter.rate(way, time);
            if rate != set[way] {
                set[way] = rate;
                simulation.configure_queue(SHAPER[way], &shaper(way, rate))?;
            }
            if time.0.is_multiple_of(SHOWN.0) {
                outcome.ways[way].rates.push(rate);
            }
            if time >= FOUND {
                reversals[way].see(rate);
            }
        }
        if time == MEASURED {
            before = received(&simulation);
        }
    }
    let after = received(&simulation);
    for (way, result) in outcome.ways.iter_mut().enumerate() {
        result.goodput = (after[way] - before[way]) as f64 * 8.0 / (LENGTH - MEASURED).as_secs_f64();
        result.rise = probes.rise(way);
        result.reversals = reversals[way].a_minute(LENGTH - FOUND);
    }
    outcome.trace_hash = simulation.trace_hash();
    Ok(outcome)
}

/// When a sample came back.
fn arrival(sample: &Measured) -> i64 {
    match *sample {
        Measured::Echo { sent, rtt, .. } => sent + rtt,
        Measured::Lost { sent, .. } => sent,
        _ => 0,
    }
}

/// Payload that has arrived up and down.
fn received(simulation: &Simulation) -> [u64; 2] {
    [0, 1].map(|way: usize| (0..FLOWS).map(|flow| simulation.flow(2 * flow + way).received).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reversals(rates: &[u64]) -> u32 {
        let mut reversals = Reversals::default();
        rates.iter().for_each(|&rate| reversals.see(Rate(rate)));
        reversals.count
    }

    #[test]
    fn only_a_change_of_direction_by_more_than_a_tenth_is_a_reversal() {
        assert_eq!(reversals(&[100; 5]), 0);
        assert_eq!(reversals(&[100, 104, 96, 104, 96]), 0, "too small");
        assert_eq!(reversals(&[100, 120, 150, 200]), 0, "one direction");
        assert_eq!(reversals(&[100, 120, 100]), 1);
        assert_eq!(reversals(&[100, 120, 110, 130, 118]), 0, "a dip of less than a tenth");
        assert_eq!(reversals(&[100, 120, 115, 110, 107]), 1, "small steps add up");
        assert_eq!(reversals(&[100, 80, 100, 80, 100]), 3);
    }
}

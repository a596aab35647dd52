//! A link for others: our queues between a program and the services of this machine, or between real
//! interfaces.
//!
//! ```text
//!   PROGRAM  client's namespace ── engine: queue, rate, delay, loss ── server's namespace  relays ── services
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::process::{Child, Command};
use std::time::Duration;

use goodqueue::spec::QueueParams;
use goodqueue::{Line, Nanos, QueueSpec, Rate, Serializer, Span};
use goodqueue_probe::Test;
use goodqueue_report::{Direction, EngineHealth, LinkPlan, QueueSeries, Record, Run, TestPlan, Validity};
use goodqueue_router::tc::Tin;
use goodqueue_wire::flows::{Flow, MOST_FLOWS, MOST_STEPS};
use goodqueue_wire::{
    Change, Contents, Engine, EngineHandle, EngineSample, EngineSpec, FlowSpec, Interfaces, Lab, PathReport,
    PathSample, PathSpec,
};
use serde::{Deserialize, Serialize};

use super::connections::connections;
use super::queue::{Faults, LineQueue, shapers};
use super::rate::LineClock;
use super::relay::{MOST_CONNECTIONS, Relays, has_ipv6};
use super::setup::{Network, RadioThread, Setup, lines};
use super::worker::{finish, lab, moment, path_queue};
use crate::collect::{parameters, push_moment};
use crate::plan::LONGEST_RTT;
use crate::record::{link_plan, signed};
use crate::{Error, Experiment, Plan};

pub use super::queue::with_instances;
pub use super::relay::Exposed;
pub use crate::radio::snapshot::StationSnapshot;

/// Time between two rows of the record.
pub(super) const STEP: Span = Span::from_millis(100);
/// Most rows of a series, an hour: then every second row is removed, and later ones are twice as far apart.
const MOST_ROWS: usize = 36_000;
/// The longest wait for a new state of the engine, which shows one every 10 ms, and the time between two
/// looks at it.
const LATEST: Span = Span::from_millis(50);
const LOOK: Duration = Duration::from_millis(1);
/// Most changes that the record lists.
const MOST_NOTES: usize = 100;

/// The environment variable with the address at which the program finds the services.
pub const SERVER: &str = "GOODQUEUE_SERVER";

/// A link that runs.
#[derive(Debug)]
pub struct Link {
    engine: EngineHandle,
    faults: Faults,
    /// Around a program.
    around: Option<(Relays, Lab)>,
    started: Nanos,
    /// Over the air.
    listening: Option<RadioThread>,
    /// The record's description of the link.
    plan: LinkPlan,
    seed: u64,
    run: Run,
    lines: [LineClock; 2],
    /// The rates of the lines, if they are constant, bit/s.
    rates: [Option<u64>; 2],
    /// Changes, for the record.
    notes: Vec<String>,
    /// Time between two rows of the series, nanoseconds.
    interval: i64,
}

/// Changes to a link from now on; `None` leaves a value unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinkChange {
    /// Rate from the program, above zero, bit/s. It ends a trace.
    pub up_bps: Option<u64>,
    /// Rate to the program.
    pub down_bps: Option<u64>,
    /// Round-trip time without load, half of it each way, nanoseconds.
    pub rtt_ns: Option<u64>,
    /// Probability of loss each way, 0 to 1.
    pub loss: Option<f64>,
}

impl fmt::Display for LinkChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = |name: &str, bps: Option<u64>| bps.map(|bps| format!("{} {name}", Rate(bps)));
        let rtt = self.rtt_ns.map(|ns| format!("round trip {}", Span(ns)));
        let loss = self.loss.map(|share| format!("loss {} %", share * 100.0));
        let all = [rate("down", self.down_bps), rate("up", self.up_bps), rtt, loss];
        f.write_str(&all.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

/// The state of a link, for an observer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkSnapshot {
    /// When, nanoseconds since the link began.
    pub at_ns: u64,
    /// The queue's name, with its parameters.
    pub queue: String,
    /// Up and down.
    pub lines: [LineSnapshot; 2],
    /// The stations of a link over the air, in its first hour.
    pub stations: Vec<StationSnapshot>,
    /// When they were so, nanoseconds of a clock of their own.
    pub stations_at_ns: u64,
}

/// The state of a direction. It counts since the link began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineSnapshot {
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Bytes that wait in the queue and in the ring below it.
    pub waiting_bytes: u64,
    /// Packets that wait there.
    pub waiting_packets: u64,
    /// Packets dropped or lost.
    pub drops: u64,
    /// Packets marked with CE.
    pub marks: u64,
    /// Flows that wait in the queue: new ones, and those with a backlog; `None` if it does not distinguish
    /// the two.
    pub waiting_flows: Option<(u32, u32)>,
    /// The tins of `cake`, bulk first; those of `cake_mq`, one instance after the other.
    pub tins: Vec<Tin>,
    /// The connections that are tracked individually.
    pub connections: Vec<ConnectionSnapshot>,
}

/// The state of a connection in one direction. It counts since its first packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectionSnapshot {
    /// 6 for TCP, 17 for UDP.
    pub protocol: u8,
    /// The near end: the program, or a host behind the first interface.
    pub client: SocketAddr,
    /// The far end.
    pub server: SocketAddr,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Packets that wait.
    pub waiting_packets: u64,
    /// Their bytes.
    pub waiting_bytes: u64,
    /// Packets dropped or lost.
    pub drops: u64,
    /// Packets marked with CE.
    pub marks: u64,
    /// Sum of the waiting times of its packets, nanoseconds.
    pub waited_ns: u64,
}

/// A direction at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Bytes that came to the queue since the link began, Ethernet headers included.
    pub arrived_bytes: u64,
    /// Bytes that the line has sent since the link began.
    pub sent_bytes: u64,
    /// Bytes that wait in the queue and in the ring below it.
    pub waiting_bytes: u64,
    /// Packets that were dropped or lost.
    pub dropped: u64,
}

impl ConnectionSnapshot {
    fn of(flow: &Flow) -> ConnectionSnapshot {
        ConnectionSnapshot {
            protocol: flow.ends.protocol,
            client: flow.ends.client,
            server: flow.ends.server,
            sent_bytes: flow.sent.bytes,
            sent_packets: flow.sent.packets,
            waiting_packets: flow.waiting(),
            waiting_bytes: flow.waiting_bytes(),
            drops: flow.drops,
            marks: flow.marks,
            waited_ns: flow.waited.0,
        }
    }
}

impl Link {
    /// Makes the link of `plan`, with its first queue and seed. With `outside`, the program can reach over it
    /// everything that this machine reaches over TCP and UDP. Call it before the first thread starts: a user
    /// who is not root becomes root of a user namespace.
    ///
    /// # Errors
    /// [`Error::Machine`] with the missing right, [`Error::Usage`] if the live arm has no such link.
    pub fn start(plan: &Plan, exposed: &[Exposed], outside: bool) -> Result<Link, Error> {
        let queue = queue_of(plan)?;
        let lab = lab(1, plan.link.ecn, plan.link.super_packets)?;
        let started = goodqueue_wire::now();
        let spec = lines(&plan.link, &queue, seed_of(plan), flows(started))?;
        let faults = Faults::of([&spec.up.queue, &spec.down.queue]);
        let mut relays = Relays::start(&lab, exposed, outside)?;
        let engine = if outside {
            lab.be_every_host(has_ipv6()).map_err(Error::machine)?;
            Engine::start_watching(&lab, spec, relays.outside(&lab))
        } else {
            Engine::start(&lab, spec)
        };
        let link = Link::of(plan, queue.parameters(), engine.map_err(Error::machine)?, faults, started);
        Ok(Link { around: Some((relays, lab)), ..link })
    }

    /// [`Link::start`] over the Wi-Fi network of an experiment, with its only variant and its first seed. The
    /// program and the services are where the experiment's test has its clients and servers: one on the
    /// access point's side, the other at a station; if there are several stations, at the first.
    ///
    /// # Errors
    /// [`Error::Usage`] if the experiment has several variants or no Wi-Fi, and those of [`Link::start`].
    pub fn over_the_air(experiment: &Experiment, exposed: &[Exposed], outside: bool) -> Result<Link, Error> {
        let [variant] = &experiment.variants[..] else {
            let queues = experiment.variants.len();
            return Err(Error::Usage(format!("a link has one queue, and these are {queues}; name one")));
        };
        let setup = Setup::over_the_air(variant, experiment.test.clone())?;
        let Network::Air(air) = &setup.network else { return Err(Error::Usage("there is no [wifi]".into())) };
        let lab = lab(setup.hosts, setup.ecn, setup.super_packets)?;
        let seed = experiment.seeds.first().copied().unwrap_or(1);
        let mut relays = Relays::start(&lab, exposed, outside)?;
        let started = goodqueue_wire::now();
        let act = if outside {
            lab.be_every_host(has_ipv6()).map_err(Error::machine)?;
            Some(relays.outside(&lab))
        } else {
            None
        };
        // Its load has no end: the shares of the air are recorded for as long as rows are kept.
        let test = Test { idle: Span::ZERO, load: Span(STEP.0 * MOST_ROWS as u64), ..setup.test.clone() };
        let (engine, listening) = air.start(&lab, &test, seed, Span::ZERO, (flows(started), act))?;
        listening.start_at(goodqueue_wire::now());
        let job = experiment.jobs().into_iter().next();
        let (queue, plan) = job.map(|job| (job.queue, job.link)).unwrap_or_default();
        let plan = plan.unwrap_or_default();
        let link = Link::with(seed, plan, engine, Faults::default(), started);
        let run = Run { queue, ..link.run };
        Ok(Link { around: Some((relays, lab)), listening: Some(listening), run, ..link })
    }

    /// Makes the link of `plan` between real interfaces.
    ///
    /// # Errors
    /// Those of [`Link::start`].
    pub fn between(plan: &Plan, between: Interfaces) -> Result<Link, Error> {
        let (queue, started) = (queue_of(plan)?, goodqueue_wire::now());
        let spec = lines(&plan.link, &queue, seed_of(plan), flows(started))?;
        let faults = Faults::of([&spec.up.queue, &spec.down.queue]);
        let engine = Engine::start_between(between, spec).map_err(Error::machine)?;
        Ok(Link::of(plan, queue.parameters(), engine, faults, started))
    }

    /// Shapes the traffic between real interfaces, with a queue for each direction. A queue that does not
    /// shape by itself has a line with the rate of `plan` below it. There is no delay, and no loss. Each
    /// instance of a `cake_mq` has a thread; see [`with_instances`]. [`Link::reshape`] changes the rates; the
    /// queues have places for what waits at the first ones.
    ///
    /// # Errors
    /// Those of [`Link::start`].
    pub fn shaping(plan: &Plan, queues: [&QueueSpec; 2], between: Interfaces) -> Result<Link, Error> {
        let (seed, started) = (seed_of(plan), goodqueue_wire::now());
        let rates = [plan.link.up_bps, plan.link.down_bps].map(Rate);
        let path = |way: usize| {
            let (queue, rate) = (queues[way], rates[way]);
            let mut shapers = shapers(queue, rate, seed, way as u64)?.into_iter();
            let first = shapers.next().ok_or_else(|| Error::Usage(format!("{queue} has no instance")))?;
            let mut path = PathSpec { others: shapers.collect(), ..PathSpec::new(first) };
            if queue.shaped_rate().is_none() {
                path.line = Line::from(Serializer::new(rate));
            }
            Ok(path)
        };
        let mut engine = EngineSpec::new(path(0)?, path(1)?);
        (engine.seed, engine.flows) = (seed, flows(started));
        let engine = Engine::start_between(between, engine).map_err(Error::machine)?;
        let link = Link::of(plan, parameters(queues[1]), engine, Faults::default(), started);
        let has_line = queues.iter().all(|queue| queue.shaped_rate().is_none());
        Ok(Link { rates: if has_line { link.rates } else { [None; 2] }, ..link })
    }

    fn of(
        plan: &Plan,
        parameters: BTreeMap<String, String>,
        engine: EngineHandle,
        faults: Faults,
        started: Nanos,
    ) -> Link {
        let queue = plan.queues.first().cloned().unwrap_or_default();
        let run = Run { queue, parameters, ..Run::default() };
        let rates = plan.link.constant_rates();
        Link { run, rates, ..Link::with(seed_of(plan), link_plan(&plan.link), engine, faults, started) }
    }

    fn with(seed: u64, plan: LinkPlan, engine: EngineHandle, faults: Faults, started: Nanos) -> Link {
        engine.measure_sojourn(started, Nanos(u64::MAX));
        // The engine checks every 10 ms, and the first packet counts.
        std::thread::sleep(Duration::from_millis(25));
        Link {
            engine,
            faults,
            around: None,
            started,
            listening: None,
            plan,
            seed,
            run: Run::default(),
            lines: Default::default(),
            rates: [None; 2],
            notes: Vec::new(),
            interval: signed(STEP),
        }
    }

    /// The address of the other end, of one IP version.
    #[must_use]
    pub fn server(ipv6: bool) -> IpAddr {
        Lab::server_address(ipv6, 0)
    }

    /// Starts a program behind a link of [`Link::start`], with [`SERVER`] in its environment. It is killed
    /// when the calling thread ends, however that ends.
    ///
    /// # Errors
    /// Those of [`Command::spawn`], `setns(2)` and `prctl(2)`.
    pub fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        let Some((_, lab)) = &self.around else { return Err(io::ErrorKind::Unsupported.into()) };
        command.env(SERVER, Link::server(self.plan.ip_version == 6).to_string());
        lab.client().spawn(command)
    }

    /// The state up and down, at most about 10 ms ago. It also records the state of the queues: call this
    /// about ten times a second.
    pub fn look(&mut self) -> [Moment; 2] {
        let sample = self.engine.sample();
        self.look_at(&sample)
    }

    /// [`Link::look`], and when the state was this, by the clock of [`goodqueue_wire::now`]: after the call
    /// began. It takes up to about 10 ms. If the engine is late by more, the state is older.
    pub fn look_now(&mut self) -> (Nanos, [Moment; 2]) {
        let asked = goodqueue_wire::now();
        loop {
            let sample = self.engine.sample();
            if sample.at >= asked || goodqueue_wire::now().since(asked) >= LATEST {
                return (sample.at, self.look_at(&sample));
            }
            std::thread::sleep(LOOK);
        }
    }

    fn look_at(&mut self, sample: &EngineSample) -> [Moment; 2] {
        self.keep(sample);
        [&sample.up, &sample.down].map(|path: &PathSample| Moment {
            arrived_bytes: path.arrived.bytes,
            sent_bytes: path.line.bytes,
            waiting_bytes: path.backlog.bytes + path.ring.bytes,
            dropped: path.dropped_in_all(),
        })
    }

    /// The traffic at this moment. It takes about 20 ms.
    #[must_use]
    pub fn seen(&self) -> LinkSnapshot {
        let [up, down] = self.engine.contents();
        let sample = self.engine.sample();
        let line = |path: &PathSample, contents: Contents| LineSnapshot {
            sent_bytes: path.line.bytes,
            sent_packets: path.line.packets,
            waiting_bytes: path.backlog.bytes + path.ring.bytes,
            waiting_packets: u64::from(path.backlog.packets) + u64::from(path.ring.packets),
            drops: path.dropped_in_all(),
            marks: path.marks,
            waiting_flows: contents.waiting_flows,
            tins: contents.tins.into_iter().map(Tin::from).collect(),
            connections: contents.connections.iter().map(ConnectionSnapshot::of).collect(),
        };
        let (stations_at_ns, stations) =
            self.listening.as_ref().map(RadioThread::stations).unwrap_or_default();
        LinkSnapshot {
            at_ns: sample.at.since(self.started).0,
            queue: self.run.queue.clone(),
            lines: [line(&sample.up, up), line(&sample.down, down)],
            stations,
            stations_at_ns,
        }
    }

    /// Adds the sample to the series, unless the last one is less than a step old.
    fn keep(&mut self, sample: &EngineSample) {
        let t_ns = i64::try_from(sample.at.since(self.started).0).unwrap_or(i64::MAX);
        let last = self.run.up.t_ns.last().copied();
        if last.is_some_and(|last| t_ns < last.saturating_add(self.interval)) {
            return;
        }
        if self.run.up.t_ns.len() >= MOST_ROWS {
            [&mut self.run.up, &mut self.run.down].into_iter().for_each(thin);
            self.interval *= 2;
        }
        for (way, (series, path)) in
            [(&mut self.run.up, &sample.up), (&mut self.run.down, &sample.down)].into_iter().enumerate()
        {
            let moment = moment(path);
            self.lines[way].look(t_ns, moment);
            push_moment(series, t_ns, moment);
        }
    }

    /// Changes the link, and notes it in the record.
    ///
    /// # Errors
    /// [`Error::Usage`] for a value out of range; then nothing changes.
    pub fn change(&mut self, change: &LinkChange) -> Result<(), Error> {
        if self.listening.is_some() {
            let why = "a link over the air changes by the schedules of its file alone";
            return Err(Error::Usage(why.into()));
        }
        let line = |bps: u64| {
            let serializer = Serializer::new(Rate(bps));
            serializer.map(Line::Rate).ok_or_else(|| Error::Usage("a rate of 0 sends nothing".into()))
        };
        let [up, down] = [change.up_bps, change.down_bps].map(|bps| bps.map(line).transpose());
        if change.rtt_ns.is_some_and(|ns| ns > LONGEST_RTT.0) {
            return Err(Error::Usage(format!("a round trip of more than {LONGEST_RTT}")));
        }
        let (delay, loss) = (change.rtt_ns.map(|ns| Span(ns / 2)), change.loss);
        for (direction, line) in [(goodqueue::Direction::Up, up?), (goodqueue::Direction::Down, down?)] {
            let change = Change { line, loss, delay, queue: None };
            self.engine.change(direction, change).map_err(Error::usage)?;
        }
        // Earlier samples of the lines are for other rates.
        if change.up_bps.is_some() || change.down_bps.is_some() {
            self.rates = [None; 2];
        }
        if self.notes.len() < MOST_NOTES {
            #[allow(clippy::cast_precision_loss)]
            let at = goodqueue_wire::now().since(self.started).0 as f64 / 1e9;
            self.notes.push(format!("changed at {at:.1} s: {change}"));
        }
        Ok(())
    }

    /// Gives a direction of [`Link::shaping`] another rate, within about 20 ms: that to which `queue` shapes,
    /// otherwise `rate`. `queue` has the kind of the direction's queue. No packet is lost, and the one on the
    /// line leaves at the old rate.
    ///
    /// # Errors
    /// [`Error::Usage`] for a rate of 0; then nothing changes.
    pub fn reshape(
        &mut self,
        direction: goodqueue::Direction,
        queue: &QueueSpec,
        rate: Rate,
    ) -> Result<(), Error> {
        let line = Serializer::new(rate).ok_or_else(|| Error::Usage("a rate of 0 sends nothing".into()))?;
        let is_shaper = queue.shaped_rate().is_some();
        // A limit in time is a number of bytes at the rate of the line.
        let is_limited = is_shaper || matches!(queue.params(), QueueParams::Fifo(_));
        let change = Change {
            line: (!is_shaper).then_some(Line::Rate(line)),
            queue: is_limited.then(|| (*queue, goodqueue::Link::ethernet(rate))),
            ..Change::default()
        };
        self.rates = [None; 2];
        self.engine.change(direction, change).map_err(Error::usage)
    }

    /// Whether no connection to a service is open, and no packet is under way. A packet that came within
    /// the last 20 ms may not be seen.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let are_idle = self.around.as_ref().is_none_or(|(relays, _)| relays.are_idle());
        are_idle && self.engine.sample().frames_used == 0
    }

    /// How long the link has existed.
    #[must_use]
    pub fn age(&self) -> Duration {
        Duration::from_nanos(goodqueue_wire::now().since(self.started).0)
    }

    /// Whether the link still exists.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.engine.is_running()
    }

    /// The rule that a user-defined queue violated, with its name: since then it has been a FIFO without a
    /// limit.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        self.faults.first().map(|why| format!("{}: {why}", self.run.queue))
    }

    /// Ends the link. Waiting packets are not delivered. Returns the record: `own`, with the name and the
    /// text of its test, and what was measured.
    ///
    /// # Errors
    /// [`Error::Machine`] if the engine panicked.
    pub fn stop(mut self, own: Record) -> Result<Record, Error> {
        self.interval = 0;
        self.look();
        let fault = self.fault();
        let Link { engine, around, started, listening, plan, seed, mut run, lines, rates, notes, .. } = self;
        let ran_ns = goodqueue_wire::now().since(started).0;
        let report = engine.stop().map_err(Error::machine)?;
        // The program may keep the processors busy, as long as packets leave on time.
        let mut invalid = report.last.validity().reasons;
        invalid.extend(report.failure.as_ref().map(ToString::to_string));
        invalid.extend(fault);
        let radio = listening.map(RadioThread::end).transpose()?.unwrap_or_default();
        invalid.extend(radio.wrong);
        let end = finish(&report, report.failure.is_none(), invalid);
        let refused = around.map_or(0, |(relays, _)| relays.stop());
        (run.complete, run.validity) =
            (end.complete, Validity { valid: end.invalid.is_empty(), reasons: end.invalid });
        let [up, down] = [(lines[0], rates[0]), (lines[1], rates[1])]
            .map(|(line, rate): (LineClock, _)| rate.and_then(|bps| line.error(bps)));
        run.engine = Some(EngineHealth { rate_error_up: up, rate_error_down: down, ..end.engine });
        for (series, end) in [(&mut run.up, end.up), (&mut run.down, end.down)] {
            (series.drop_reasons, series.counters) = (end.drop_reasons, end.counters);
        }
        let ways = [(Direction::Up, &report.up), (Direction::Down, &report.down)];
        let queues = ways.into_iter().filter_map(|(way, end)| path_queue(way, &run.queue, end));
        run.path = queues.chain(radio.path).collect();
        run.radios = radio.radios;
        let (flows, series): (Vec<_>, Vec<_>) = connections([&report.up, &report.down], started).unzip();
        run.flows = series;
        let test = TestPlan { load_ns: ran_ns, step_ns: STEP.0, flows, ..own.test.clone() };
        let mut warnings = own.warnings.clone();
        warnings.extend(notes);
        if refused > 0 {
            warnings.push(format!(
                "{refused} connections to services were refused: the maximum is {MOST_CONNECTIONS} at a time"
            ));
        }
        let steps = |way: &PathReport| way.flows.iter().map(|flow| flow.steps.len()).sum::<usize>();
        if [&report.up, &report.down].into_iter().any(|way| steps(way) >= MOST_STEPS) {
            warnings.push("it ran so long that the list of connections lacks what arrived at the end".into());
        }
        let others = report.up.others.packets + report.down.others.packets;
        if others > 0 {
            warnings.push(format!(
                "{others} packets were of connections beyond the first {MOST_FLOWS} and are counted together"
            ));
        }
        Ok(Record {
            arm: "live".into(),
            seed,
            planned: vec![run.queue.clone()],
            test,
            link: plan,
            runs: vec![run],
            warnings,
            ..own
        })
    }
}

/// The first queue.
fn queue_of(plan: &Plan) -> Result<LineQueue, Error> {
    LineQueue::read(plan.queues.first().map_or("", String::as_str))
}

/// The first seed.
fn seed_of(plan: &Plan) -> u64 {
    plan.seeds.first().copied().unwrap_or(1)
}

/// Counts each connection.
fn flows(started: Nanos) -> Option<FlowSpec> {
    Some(FlowSpec { origin: started, step: STEP })
}

/// Drops every second row.
fn thin(series: &mut QueueSeries) {
    fn every_second<T: Copy>(column: &mut Vec<T>) {
        *column = column.iter().copied().step_by(2).collect();
    }
    every_second(&mut series.t_ns);
    every_second(&mut series.backlog_bytes);
    every_second(&mut series.backlog_packets);
    every_second(&mut series.ring_bytes);
    every_second(&mut series.sent_bytes);
    every_second(&mut series.sent_packets);
    every_second(&mut series.busy_ns);
    every_second(&mut series.drops);
    every_second(&mut series.marks);
}

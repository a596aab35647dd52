//! Runs the loads of a test over a real path, one after the other.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use goodqueue_path::client::OpenFailure;
use goodqueue_path::hops::{Answer, Hops};
use goodqueue_path::key::Key;
use goodqueue_path::load::Secret;
use goodqueue_path::load::client::{Control, Failure, quic_keys};
use goodqueue_path::load::message::{Ended, Why};
use goodqueue_path::params::Refusal;
use goodqueue_probe::net::{
    ClockWatch, FlowsSummary, NetError, SessionId, SharedClock, check, run_flows, run_quic_flows,
};
use goodqueue_probe::quic::ClientKeys;
use goodqueue_probe::{Direction as Way, Sample, TcpSample, Test, Transport};
use goodqueue_report::{DoubtKind, Record, Run, SenderLimits};

use super::clocks::Delays;
use super::doubts::{self, Look};
use super::locate::locate;
use super::probes::{self, Outcome};
use super::{Load, PathTest, direction};
use crate::collect::{Collector, QueueEnd};
use crate::{Error, Monitor, Turn};

/// Time for all threads to be ready before the idle time begins.
const LEAD: i64 = 300_000_000;
/// Between two looks for a signal.
const LOOK: Duration = Duration::from_millis(50);
/// Between two loads, so that the queue of the first is empty.
const PAUSE: Duration = Duration::from_secs(1);
/// Most samples that a server may send of one load.
const MOST_SAMPLES: u64 = 10_000_000;

/// Runs every load; what was measured is in `record` however it ends.
///
/// # Errors
/// The first reason to stop.
pub fn run(asked: &PathTest, record: &mut Record, monitor: &mut dyn Monitor) -> Result<(), Error> {
    let turn = |load: &Load| Turn { label: load.label.clone(), idle: asked.test.idle, load: asked.test.load };
    monitor.plan(&asked.loads.iter().map(turn).collect::<Vec<_>>(), 1);
    let mut control = connect(asked)?;
    let mut end = Ok(());
    for (number, load) in asked.loads.iter().enumerate() {
        if number > 0 {
            thread::sleep(PAUSE);
        }
        monitor.begin(number);
        let (run, ended) = one(asked, number, load, control.as_mut(), monitor);
        monitor.end(number, !run.as_ref().is_some_and(|run| run.complete));
        if let Some(run) = run {
            record.runs.push(run);
            end = monitor.keep(record);
        }
        end = end.and(ended);
        if end.is_err() {
            break;
        }
    }
    monitor.close();
    end
}

/// The control connection, where there is a key for one. A test without flows does without it: a server of
/// irtt has none.
fn connect(asked: &PathTest) -> Result<Option<Control>, Error> {
    // The congestion control of downloads is the server's, which says what it lacks.
    let uploads = asked.test.flows.iter().filter(|flow| flow.direction == Way::Up).cloned().collect();
    check(&Test { flows: uploads, ..asked.test.clone() }, 1).map_err(Error::machine)?;
    let Some(secret) = asked.key.as_deref().and_then(Secret::of) else { return Ok(None) };
    match Control::open(asked.server, &secret) {
        Err(Failure::Connect(_)) if asked.test.flows.is_empty() => Ok(None),
        opened => opened.map(Some).map_err(|failure| explain(asked, &failure)),
    }
}

/// A failure of the control connection, with its cure.
fn explain(asked: &PathTest, failure: &Failure) -> Error {
    let (host, port) = (&asked.host, asked.server.port());
    match failure {
        Failure::Connect(error) => {
            let why = match error.kind() {
                std::io::ErrorKind::ConnectionRefused => {
                    "nobody listens there; start `goodqueue server` at the other end, or name its --port"
                        .to_owned()
                }
                std::io::ErrorKind::TimedOut => {
                    "no answer; is the host right, and does a firewall let the port through?".to_owned()
                }
                _ => error.to_string(),
            };
            Error::Machine(format!("{host}, TCP port {port}: {why}"))
        }
        Failure::Key => Error::Usage(format!(
            "{host}: the key is wrong; --key is the word that `goodqueue server` printed when it was started"
        )),
        Failure::Refused(Why::NoQuic) => Error::Machine(format!(
            "{host}: the server takes no load over QUIC; leave --transport out, or update the server"
        )),
        Failure::Stopped => Error::Interrupted(0),
        other => Error::Machine(format!("{host}, TCP port {port}: {other}")),
    }
}

/// A session of probes that did not open, with its cure.
fn explain_open(asked: &PathTest, failure: &OpenFailure) -> Error {
    let (host, port) = (&asked.host, asked.server.port());
    let why = match failure {
        OpenFailure::Unreachable => {
            "nobody listens there; start `goodqueue server` at the other end".to_owned()
        }
        OpenFailure::Silent => {
            "no answer to probes; does a firewall let UDP through, and does the server have a key (--key)?"
                .to_owned()
        }
        OpenFailure::Refused(Some(Refusal::Full | Refusal::PrefixFull)) => {
            "the server has too many sessions now: try again in a minute".to_owned()
        }
        OpenFailure::Restricted(_) => {
            "the server allows less than this test needs: a shorter --length, or other limits at the server"
                .to_owned()
        }
        other => other.to_string(),
    };
    Error::Machine(format!("{host}, UDP port {port}: {why}"))
}

/// One load: what was measured, if anything, and how it ended.
fn one(
    asked: &PathTest,
    number: usize,
    load: &Load,
    mut control: Option<&mut Control>,
    monitor: &mut dyn Monitor,
) -> (Option<Run>, Result<(), Error>) {
    let begun = Underway::begin(asked, load, control.as_deref_mut());
    let (mut underway, probes, session) = match begun {
        Ok(begun) => begun,
        Err(error) => return (None, Err(error)),
    };
    let control = control.filter(|_| session.is_some());
    let gathered = underway.run(probes, session, control, number, monitor);
    let (run, end) = underway.finish(gathered);
    (Some(run), end)
}

/// A load under way.
struct Underway<'a> {
    asked: &'a PathTest,
    load: &'a Load,
    /// The test with this load's flows alone, and their numbers in the whole test.
    part: Test,
    numbers: Vec<u32>,
    /// The start of the load on this host's monotonic clock.
    at: i64,
    collector: Collector,
    delays: Delays,
    /// What the kernel last said of each flow of `part`.
    tcp: Vec<TcpSample>,
    /// This machine, near the start and near the end of the load.
    looks: Option<[Look; 2]>,
    signal: Option<i32>,
}

/// What the threads of a load come back with.
struct Gathered {
    flows: Option<Result<FlowsSummary, NetError>>,
    far: Option<Result<Ended, Failure>>,
    probes: Vec<Outcome>,
    hops: Option<Vec<Answer>>,
}

/// A load that the server has granted.
struct Session {
    id: SessionId,
    /// Where QUIC flows go, and their keys.
    quic: Option<(SocketAddr, ClientKeys)>,
}

type Begun<'a> = (Underway<'a>, Vec<probes::Open>, Option<Session>);

impl<'a> Underway<'a> {
    /// Opens the sessions of the probes, and that of the load.
    fn begin(asked: &'a PathTest, load: &'a Load, control: Option<&mut Control>) -> Result<Begun<'a>, Error> {
        let needs_key = control.as_ref().map_or(asked.key.is_some(), |control| control.welcome().hmac);
        let key = asked.key.as_deref().filter(|_| needs_key).map(|text| Key::parse(text.trim()));
        let key = key.transpose().map_err(|error| Error::Usage(format!("--key: {error}")))?;
        let probes = probes::open(asked, key.as_ref(), &AtomicBool::new(false))
            .map_err(|failure| explain_open(asked, &failure))?;
        let of_load =
            (0..).zip(&asked.test.flows).filter(|(_, flow)| load.directions.contains(&flow.direction));
        let (numbers, flows): (Vec<u32>, Vec<_>) = of_load.map(|(i, flow)| (i, flow.clone())).unzip();
        let part = Test { flows, ..asked.test.clone() };
        let idle = i64::try_from(part.idle.0).unwrap_or(i64::MAX);
        let at = ClockWatch::new().now().mono.saturating_add(LEAD).saturating_add(idle);
        let session = match control.filter(|_| !part.flows.is_empty()) {
            Some(control) => {
                let flows = u32::try_from(part.flows.len()).unwrap_or(u32::MAX);
                let transport = asked.transport();
                let started = control.start(flows, at, part.load, transport);
                let session = started.map_err(|failure| explain(asked, &failure))?;
                let quic =
                    match (transport, control.welcome().quic, asked.key.as_deref().and_then(Secret::of)) {
                        (Transport::Quic, Some(port), Some(secret)) => {
                            let keys = quic_keys(&secret).map_err(|failure| explain(asked, &failure))?;
                            Some((SocketAddr::new(asked.server.ip(), port), keys))
                        }
                        _ => None,
                    };
                Some(Session { id: session, quic })
            }
            None => None,
        };
        let collector = Collector::new(&load.label, &asked.test);
        let tcp = vec![TcpSample::default(); part.flows.len()];
        let (delays, looks, signal) = (Delays::default(), None, None);
        Ok((
            Underway { asked, load, part, numbers, at, collector, delays, tcp, looks, signal },
            probes,
            session,
        ))
    }

    /// Runs flows and probes, and takes in what they see.
    fn run(
        &mut self,
        probes: Vec<probes::Open>,
        session: Option<Session>,
        control: Option<&mut Control>,
        number: usize,
        monitor: &mut dyn Monitor,
    ) -> Gathered {
        let (sink, samples) = channel();
        let (stop, done) = (AtomicBool::new(false), AtomicBool::new(false));
        let (part, at, server, length) = (self.part.clone(), self.at, self.asked.server, self.length());
        // Without a socket for it the routers are not asked, and the place is not known.
        let hops = if self.one_way().is_some() { Hops::open(server).ok() } else { None };
        thread::scope(|scope| {
            let (stop, done, part) = (&stop, &done, &part);
            let probing: Vec<_> = probes
                .into_iter()
                .map(|probe| {
                    let sink = sink.clone();
                    scope.spawn(move || probe.run(at, &sink, stop))
                })
                .collect();
            let flows = session.map(|session| {
                let sink = sink.clone();
                scope.spawn(move || {
                    let clock = SharedClock::starting_at(at);
                    let Session { id, quic } = session;
                    let end = match quic {
                        None => run_flows(part, server, &id, &clock, &sink, stop),
                        Some((at, keys)) => run_quic_flows(part, at, &id, &keys, &clock, &sink, stop),
                    };
                    let failed = |end: &FlowsSummary| end.flows.iter().all(|flow| flow.error.is_some());
                    if end.as_ref().map_or(true, failed) {
                        stop.store(true, Ordering::Relaxed);
                    }
                    done.store(true, Ordering::Relaxed);
                    end
                })
            });
            let far = control.map(|control| {
                let sink = sink.clone();
                scope.spawn(move || {
                    let mut left = MOST_SAMPLES;
                    let take = &mut |sample: Sample| {
                        let is_of_a_flow = matches!(
                            sample,
                            Sample::Received { .. } | Sample::Tcp { .. } | Sample::FlowEnd { .. }
                        );
                        if is_of_a_flow && left > 0 {
                            left -= 1;
                            let _ = sink.send(sample);
                        }
                    };
                    control.run(take, done)
                })
            });
            let hops = hops.map(|hops| {
                scope.spawn(move || {
                    let mut answers = Vec::new();
                    hops.run([at, at.saturating_add(length)], stop, &mut |answer| answers.push(answer));
                    answers
                })
            });
            drop(sink);
            self.watch(&samples, number, stop, monitor);
            Gathered {
                flows: flows.map(|thread| thread.join().unwrap_or(Err(NetError::Thread("flows")))),
                far: far.map(|thread| thread.join().unwrap_or(Err(Failure::Order))),
                probes: probing.into_iter().map(|thread| thread.join().unwrap_or_default()).collect(),
                hops: hops.map(|thread| thread.join().unwrap_or_default()),
            }
        })
    }

    /// Takes in samples until all threads have ended, and asks twenty times a second whether to stop.
    fn watch(
        &mut self,
        samples: &Receiver<Sample>,
        number: usize,
        stop: &AtomicBool,
        monitor: &mut dyn Monitor,
    ) {
        let mut watch = ClockWatch::new();
        let mut next = Instant::now();
        loop {
            if Instant::now() >= next {
                next += LOOK;
                if self.signal.is_none() {
                    self.signal = monitor.stop();
                }
                if self.signal.is_some() {
                    stop.store(true, Ordering::Relaxed);
                }
                let t = watch.now().mono.saturating_sub(self.at);
                self.collector.pass(t);
                self.look(t);
                monitor.update(number, 0, &self.collector.latest());
            }
            match samples.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(sample) => self.take(sample),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// The length of the load, nanoseconds.
    fn length(&self) -> i64 {
        i64::try_from(self.part.load.0).unwrap_or(i64::MAX)
    }

    /// The direction whose queue is to be located.
    fn one_way(&self) -> Option<Way> {
        match self.load.directions[..] {
            [way] if self.asked.locate => Some(way),
            _ => None,
        }
    }

    /// Looks at this machine, once at the start of the load and then until its end.
    fn look(&mut self, t: i64) {
        if t < 0 || t > self.length() {
            return;
        }
        let now = Look::now(t);
        match &mut self.looks {
            Some([_, last]) => *last = now,
            none => *none = Some([now.clone(), now]),
        }
    }

    /// Takes in a sample. Flows have their numbers in `part`; what the server invents is left out.
    fn take(&mut self, mut sample: Sample) {
        if let Sample::Received { flow, t, .. }
        | Sample::Tcp { flow, t, .. }
        | Sample::FlowEnd { flow, t, .. } = &mut sample
        {
            let part = *flow as usize;
            let Some(&number) = self.numbers.get(part) else { return };
            // A step ends within the load, or while the queue drains after it.
            let most = self.part.load.0.cast_signed().saturating_add(120_000_000_000);
            if !(-most..=most).contains(t) {
                return;
            }
            *flow = number;
            if let Sample::Tcp { info, .. } = &sample {
                self.tcp[part] = *info;
            }
        }
        self.delays.note(&sample);
        self.collector.sample(&sample);
    }

    /// What limited the senders of one direction.
    fn limits(&self, way: Way) -> Option<SenderLimits> {
        let flows = self.part.flows.iter().zip(&self.tcp).filter(|(flow, _)| flow.direction == way);
        let sum = |of: fn(&TcpSample) -> u64| flows.clone().map(|(_, info)| of(info)).sum::<u64>() as f64;
        let busy = sum(|info| info.busy_us);
        let share = |of| sum(of) / busy;
        (busy > 0.0).then(|| SenderLimits {
            direction: direction(way),
            receiver: share(|info| info.rwnd_limited_us),
            sender: share(|info| info.sndbuf_limited_us),
        })
    }

    /// The run, and how it ended.
    fn finish(mut self, gathered: Gathered) -> (Run, Result<(), Error>) {
        let faults = self.faults(&gathered);
        let end = match (self.signal, &gathered.flows, &gathered.far) {
            (Some(signal), ..) => Err(Error::Interrupted(signal)),
            (None, Some(Err(error)), _) => Err(Error::machine(error)),
            (None, _, Some(Err(failure))) => Err(explain(self.asked, failure)),
            _ => Ok(()),
        };
        let correction = std::mem::take(&mut self.delays).correction();
        self.collector.shift_clocks(&|t| correction.ahead(t));
        self.collector.finished(end.is_ok(), faults, QueueEnd::default(), QueueEnd::default());
        let limits = Way::BOTH.into_iter().filter_map(|way| self.limits(way)).collect();
        let loads = self.load.directions.iter().map(|&way| direction(way)).collect();
        let (at, length, one_way) = (self.at, self.length(), self.one_way());
        let mut run = Run { loads, limits, ..self.collector.into_run() };
        let ways: Vec<Way> = self.asked.test.flows.iter().map(|flow| flow.direction).collect();
        run.doubts = doubts::of(&run, &ways, self.looks.as_ref(), &gathered.probes);
        if let Some(Ok(Ended { busy_permille: Some(busy), .. })) = &gathered.far
            && !run.doubts.iter().any(|doubt| doubt.kind == DoubtKind::Processor)
        {
            run.doubts.extend(doubts::server_processor(*busy));
        }
        let hops = one_way.zip(gathered.hops.as_ref());
        run.located = hops.map(|(way, answers)| locate(way, &run, answers, at, length));
        (run, end)
    }

    /// Why the result is not valid.
    fn faults(&self, gathered: &Gathered) -> Vec<String> {
        let mut faults = Vec::new();
        if let Some(Ok(flows)) = &gathered.flows
            && flows.flows.iter().all(|flow| flow.connected.is_none())
        {
            faults.push("no flow ever connected".to_owned());
        }
        if let Some(Ok(Ended { error: Some(error), .. })) = &gathered.far {
            faults.push(format!("the server ended the load: {error}"));
        }
        for (probe, Outcome { summary, error, .. }) in self.asked.test.streams().zip(&gathered.probes) {
            let (name, stats) = (&probe.name, &summary.prober);
            let slots = stats.sent + stats.timer_misses;
            if stats.timer_misses * 100 > slots {
                let misses = stats.timer_misses;
                faults.push(format!(
                    "{name}: {misses} of {slots} probes were not sent in time: this machine is too busy"
                ));
            }
            if stats.sent > 0 && stats.received == 0 {
                faults.push(format!("{name}: no probe was answered"));
            }
            if summary.closed_by_server && self.signal.is_none() {
                faults.push(format!("{name}: the server ended the session"));
            }
            faults.extend(error.iter().map(|error| format!("{name}: {error}")));
        }
        faults
    }
}

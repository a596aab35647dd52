//! Runs the loads of a test over a real path, one after the other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use goodqueue::Span;
use goodqueue_path::hops::{Answer, Hops};
use goodqueue_path::key::Key;
use goodqueue_path::load::Secret;
use goodqueue_path::load::client::{Control, Failure};
use goodqueue_path::load::message::{Ended, Start};
use goodqueue_path::own_queue;
use goodqueue_probe::net::{
    ClockWatch, Far, FlowOutcome, LoadSummary, NetError, SharedClock, check, run_load,
};
use goodqueue_probe::{Direction, Sample, TcpSample, Test, Transport};
use goodqueue_report::{DoubtKind, OwnQueue, Record, Run, SenderLimits, queue_kind};

use super::clocks::Delays;
use super::doubts;
use super::locate::locate;
use super::machine::Machine;
use super::peer::Observer;
use super::probes::{self, Outcome};
use super::{Load, Needs, PathHost, PathTest};
use crate::collect::{Collector, QueueEnd};
use crate::record::direction;
use crate::{Error, Monitor, Turn};

/// Time for all threads to be ready before the idle time begins.
const LEAD: i64 = 300_000_000;
/// Time between two checks for a signal.
const LOOK: Duration = Duration::from_millis(50);
/// Pause between two loads, so that the queue of the first is empty.
const PAUSE: Duration = Duration::from_secs(1);
/// Shortest load for which it is suspicious that nothing arrives.
const BLACK_HOLE: Span = Span::from_secs(3);
/// Most samples that a server may send of one load.
const MOST_SAMPLES: u64 = 10_000_000;

/// Runs every load. However it ends, `record` contains what was measured.
///
/// # Errors
/// The first reason to stop.
pub fn run(asked: &PathTest, record: &mut Record, monitor: &mut dyn Monitor) -> Result<(), Error> {
    let turn = |load: &Load| Turn { label: load.label.clone(), idle: asked.test.idle, load: asked.test.load };
    monitor.plan(&asked.loads.iter().map(turn).collect::<Vec<_>>(), 1);
    let mut controls = connect(asked)?;
    let mut end = Ok(());
    for (number, load) in asked.loads.iter().enumerate() {
        if number > 0 {
            thread::sleep(PAUSE);
        }
        monitor.begin(number);
        let (run, ended) = one(asked, number, load, &mut controls, &mut record.warnings, monitor);
        monitor.end(number, !run.as_ref().is_some_and(|run| run.complete));
        if let Some(mut run) = run {
            run.queue_kind = queue_kind(record, &run);
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

/// The control connections, one for each host with a key. A host that gets no load needs none: irtt's server
/// has none.
fn connect(asked: &PathTest) -> Result<Vec<Option<Control>>, Error> {
    // Downloads, pages and videos use the server's congestion control; the server says if it lacks it.
    let flows = asked.test.flows.iter().filter(|flow| flow.direction == Direction::Up).cloned().collect();
    let own = Test { flows, web: Vec::new(), dash: Vec::new(), ..asked.test.clone() };
    check(&own, asked.hosts.len()).map_err(Error::machine)?;
    let open = |(number, host): (usize, &PathHost)| {
        let Some(secret) = host.key.as_deref().and_then(Secret::of) else { return Ok(None) };
        match Control::open(host.address, &secret) {
            Err(Failure::Connect(_)) if !Needs::of(&asked.test, number).any() => Ok(None),
            opened => opened.map(Some).map_err(|failure| explain(host, &failure)),
        }
    };
    asked.hosts.iter().enumerate().map(open).collect()
}

/// A failure of the control connection, with its cure.
fn explain(host: &PathHost, failure: &Failure) -> Error {
    let (host, port) = (&host.name, host.address.port());
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
                _ => failure.to_string(),
            };
            Error::Machine(format!("{host}, TCP port {port}: {why}"))
        }
        Failure::Key => Error::Usage(format!(
            "{host}: the key is wrong; --key is the word that `goodqueue server` printed when it was started"
        )),
        Failure::Stopped => Error::Interrupted(0),
        other => Error::Machine(format!("{host}, TCP port {port}: {other}")),
    }
}

/// One load: what was measured, if anything, and how it ended.
fn one(
    asked: &PathTest,
    number: usize,
    load: &Load,
    controls: &mut [Option<Control>],
    warnings: &mut Vec<String>,
    monitor: &mut dyn Monitor,
) -> (Option<Run>, Result<(), Error>) {
    let (mut underway, probes, far) = match Underway::begin(asked, load, controls) {
        Ok(begun) => begun,
        Err(error) => return (None, Err(error)),
    };
    let gathered = underway.run(probes, &far, controls, number, monitor);
    if let Some(Ok(LoadSummary { warnings: new, .. })) = &gathered.load {
        warnings.extend(new.iter().map(|warning| format!("{}: {warning}", load.label)));
    }
    let flows = gathered.load.iter().flatten().flat_map(|load| &load.flows);
    // Systems other than Linux say so before they begin.
    if cfg!(target_os = "linux") && !gathered.was_ended() && is_untold(&underway.part, flows, &underway.tcp) {
        let lack = NO_TCP_INFO.to_owned();
        if !warnings.contains(&lack) {
            warnings.push(lack);
        }
    }
    let (run, end) = underway.finish(gathered);
    (Some(run), end)
}

/// The remark if this system emulates a kernel and does not report on its connections.
const NO_TCP_INFO: &str =
    "not available on this system: TCP_INFO (no window, round trip or retransmissions of uploads)";

/// Whether uploads over TCP ran and none had any TCP information. `flows`, `tcp`: those of the flows of
/// `part`.
fn is_untold<'a>(
    part: &Test,
    flows: impl Iterator<Item = &'a FlowOutcome> + Clone,
    tcp: &[TcpSample],
) -> bool {
    let mut uploads = part.flows.iter().zip(flows).zip(tcp).filter(|((plan, flow), _)| {
        plan.direction == Direction::Up && plan.transport == Transport::Tcp && flow.connected.is_some()
    });
    uploads.clone().next().is_some() && uploads.all(|(_, last)| *last == TcpSample::default())
}

/// Whether connections were made but no data came through in one direction: small packets arrive, full-size
/// ones do not.
fn black_hole(run: &Run, part: &Test, numbers: &[u32], gathered: &Gathered) -> Option<String> {
    let Some(Ok(LoadSummary { flows, .. })) = &gathered.load else { return None };
    let way = Direction::BOTH.into_iter().find(|way| {
        let mut of_way =
            part.flows.iter().zip(flows).zip(numbers).filter(|((plan, _), _)| plan.direction == *way);
        let received =
            |number: u32| run.flows.get(number as usize).map_or(0, |flow| flow.rx_bytes.iter().sum());
        let is_empty = |number: u32| received(number) == 0_u64;
        of_way.clone().next().is_some()
            && of_way.all(|((_, flow), &number)| flow.connected.is_some() && is_empty(number))
    })?;
    let who = if way == Direction::Up { "uploads" } else { "downloads" };
    Some(format!(
        "{who} connected, but no data arrived: packets of full size are lost on the way (an MTU black hole); lower the \
         MTU of the interface, or let ICMP through where it is filtered"
    ))
}

/// Whether a server can know this about the test: its messages about other hosts are left out.
fn is_of_host(part: &Test, host: usize, sample: &Sample) -> bool {
    let at = match *sample {
        Sample::Received { flow, .. } | Sample::Tcp { flow, .. } | Sample::FlowEnd { flow, .. } => {
            let tcp = part.flows.get(flow as usize).map(|flow| flow.host);
            let udp = (flow as usize).checked_sub(part.flows.len()).and_then(|udp| part.udp.get(udp));
            tcp.or_else(|| udp.map(|flow| flow.host))
        }
        Sample::Shown { talk, .. } | Sample::Interval { talk, .. } | Sample::Tick { talk, .. } => {
            part.talks.get(talk as usize).map(|talk| talk.host)
        }
        _ => None,
    };
    at == Some(host)
}

/// A load under way.
struct Underway<'a> {
    asked: &'a PathTest,
    load: &'a Load,
    /// The test with only this load's flows, and their numbers in the whole test.
    part: Test,
    numbers: Vec<u32>,
    /// The start of the load on this host's monotonic clock.
    at: i64,
    /// The estimated time by which the first server's clock was ahead of ours when the load began.
    ahead: i64,
    collector: Collector,
    /// The delays of each host's probes.
    delays: Vec<Delays>,
    peer: Observer,
    /// The kernel's last `tcp_info` of each flow of `part`.
    tcp: Vec<TcpSample>,
    machine: Machine,
    /// The longest time in which this program did not run, and the time of the load at which it began,
    /// nanoseconds.
    still: (i64, i64),
    signal: Option<i32>,
}

/// The results of the threads of a load.
struct Gathered {
    load: Option<Result<LoadSummary, NetError>>,
    /// By host number.
    far: Vec<(usize, Result<Ended, Failure>)>,
    probes: Vec<Outcome>,
    hops: Option<Vec<Answer>>,
}

impl Gathered {
    /// Whether a server ended the load: then what is missing says nothing about the path or this system.
    fn was_ended(&self) -> bool {
        self.far.iter().any(|(_, end)| end.as_ref().is_ok_and(|ended| ended.error.is_some()))
    }
}

type Begun<'a> = (Underway<'a>, Vec<probes::Open>, Vec<Far>);

impl<'a> Underway<'a> {
    /// Opens the sessions of the probes, and those of the load.
    fn begin(
        asked: &'a PathTest,
        load: &'a Load,
        controls: &mut [Option<Control>],
    ) -> Result<Begun<'a>, Error> {
        let needs = controls.iter().map(|control| control.as_ref().map(|control| control.welcome().hmac));
        let hosts = asked.hosts.iter().zip(needs).chain(asked.peer.iter().map(|peer| (peer, None)));
        let keys = hosts.map(|(host, needs)| {
            let text = host.key.as_deref().filter(|_| needs.unwrap_or(true));
            let key = text.map(|text| Key::parse(text.trim())).transpose();
            key.map_err(|error| Error::Usage(format!("--key: {error}")))
        });
        let keys: Vec<Option<Key>> = keys.collect::<Result<_, _>>()?;
        let probes = probes::open(asked, &keys, &AtomicBool::new(false))?;
        let of_load =
            (0..).zip(&asked.test.flows).filter(|(_, flow)| load.directions.contains(&flow.direction));
        let (numbers, flows): (Vec<u32>, Vec<_>) = of_load.map(|(i, flow)| (i, flow.clone())).unzip();
        let dash = if load.has_video { asked.test.dash.clone() } else { Vec::new() };
        let part = Test { flows, dash, ..asked.test.clone() };
        let idle = i64::try_from(part.idle.0).unwrap_or(i64::MAX);
        let at = ClockWatch::new().now().mono.saturating_add(LEAD).saturating_add(idle);
        let length_ns = i64::try_from(part.load.0).unwrap_or(i64::MAX);
        let start =
            |(number, (host, control)): (usize, (&PathHost, &mut Option<Control>))| -> Result<Far, Error> {
                let Needs { flows, transport, web, talks, paced, udp, udp_bps } = Needs::of(&part, number);
                let session = match control.as_mut().filter(|_| Needs::of(&part, number).any()) {
                    Some(control) => {
                        let at_ns = at;
                        let start =
                            Start { flows, at_ns, length_ns, transport, web, talks, paced, udp, udp_bps };
                        Some(control.start(start).map_err(|failure| explain(host, &failure))?)
                    }
                    None => None,
                };
                let quic = control.as_ref().and_then(|control| control.quic().cloned());
                Ok(Far { server: host.address, session, quic })
            };
        let far = asked.hosts.iter().zip(&mut *controls).enumerate().map(start).collect::<Result<_, _>>()?;
        let ahead = controls[0].as_ref().map_or(0, |control| control.ahead().0);
        let collector = Collector::new(&load.label, &asked.test);
        let tcp = vec![TcpSample::default(); part.flows.len()];
        let delays = asked.hosts.iter().map(|_| Delays::default()).collect();
        let (peer, still, signal) = (Observer::new(asked), (0, 0), None);
        let underway = Underway {
            asked,
            load,
            part,
            numbers,
            at,
            ahead,
            collector,
            delays,
            peer,
            tcp,
            machine: Machine::new(),
            still,
            signal,
        };
        Ok((underway, probes, far))
    }

    /// Runs load and probes, and collects their samples.
    fn run(
        &mut self,
        probes: Vec<probes::Open>,
        far: &[Far],
        controls: &mut [Option<Control>],
        number: usize,
        monitor: &mut dyn Monitor,
    ) -> Gathered {
        let (sink, samples) = channel();
        let (stop, done) = (AtomicBool::new(false), AtomicBool::new(false));
        let (part, at, length) = (self.part.clone(), self.at, self.length());
        // Without a socket for this, the routers are not asked, and the location is not known.
        let hops = if self.one_way().is_some() { Hops::open(far[0].server).ok() } else { None };
        thread::scope(|scope| {
            let (stop, done, part) = (&stop, &done, &part);
            let probing: Vec<_> = probes
                .into_iter()
                .map(|probe| {
                    let sink = sink.clone();
                    scope.spawn(move || probe.run(at, &sink, stop))
                })
                .collect();
            let load = far.iter().any(|far| far.session.is_some()).then(|| {
                let sink = sink.clone();
                scope.spawn(move || {
                    let clock = SharedClock::starting_at(at);
                    let end = run_load(part, far, &clock, &sink, stop);
                    let failed = |end: &LoadSummary| {
                        !end.flows.is_empty() && end.flows.iter().all(|flow| flow.error.is_some())
                    };
                    if end.as_ref().map_or(true, failed) {
                        stop.store(true, Ordering::Relaxed);
                    }
                    done.store(true, Ordering::Relaxed);
                    end
                })
            });
            let with_session = (0..).zip(controls).zip(far).filter(|(_, far)| far.session.is_some());
            let told: Vec<_> = with_session
                .filter_map(|((host, control), _)| Some((host, control.as_mut()?)))
                .map(|(host, control)| {
                    let sink = sink.clone();
                    let listening = scope.spawn(move || {
                        let mut left = MOST_SAMPLES;
                        let take = &mut |sample: Sample| {
                            if left > 0 && is_of_host(part, host, &sample) {
                                left -= 1;
                                let _ = sink.send(sample);
                            }
                        };
                        control.run(take, done)
                    });
                    (host, listening)
                })
                .collect();
            let hops = hops.map(|hops| {
                scope.spawn(move || {
                    let mut answers = Vec::new();
                    hops.run([at, at.saturating_add(length)], stop, &mut |answer| answers.push(answer));
                    answers
                })
            });
            drop(sink);
            self.watch(&samples, number, stop, monitor);
            let told =
                told.into_iter().map(|(host, thread)| (host, thread.join().unwrap_or(Err(Failure::Order))));
            Gathered {
                load: load.map(|thread| thread.join().unwrap_or(Err(NetError::Thread("flows")))),
                far: told.collect(),
                probes: probing.into_iter().map(|thread| thread.join().unwrap_or_default()).collect(),
                hops: hops.map(|thread| thread.join().unwrap_or_default()),
            }
        })
    }

    /// Collects samples until all threads have ended, and asks twenty times a second whether to stop.
    fn watch(
        &mut self,
        samples: &Receiver<Sample>,
        number: usize,
        stop: &AtomicBool,
        monitor: &mut dyn Monitor,
    ) {
        let mut watch = ClockWatch::new();
        let mut next = Instant::now();
        let mut last = watch.now().mono.saturating_sub(self.at);
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
                self.still = self.still.max((t.saturating_sub(last), last));
                last = t;
                self.collector.pass(t);
                if t <= self.length() {
                    self.machine.look(t);
                }
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
    fn one_way(&self) -> Option<Direction> {
        match self.load.directions[..] {
            [way] if self.asked.locate => Some(way),
            _ => None,
        }
    }

    /// Collects a sample. Flows have their numbers in `part`; anything that the server invents is left out.
    fn take(&mut self, mut sample: Sample) {
        // A step ends within the load, or while the queue drains after it.
        let most = self.part.load.0.cast_signed().saturating_add(120_000_000_000);
        if let Sample::Received { flow, t, .. }
        | Sample::Tcp { flow, t, .. }
        | Sample::FlowEnd { flow, t, .. } = &mut sample
        {
            let part = *flow as usize;
            let udp = part.checked_sub(self.part.flows.len()).filter(|udp| *udp < self.part.udp.len());
            let of_udp = udp.and_then(|udp| u32::try_from(self.asked.test.flows.len() + udp).ok());
            let Some(number) = self.numbers.get(part).copied().or(of_udp) else { return };
            if !(-most..=most).contains(t) {
                return;
            }
            *flow = number;
            if let (Sample::Tcp { info, .. }, Some(last)) = (&sample, self.tcp.get_mut(part)) {
                *last = *info;
            }
        }
        if let Sample::Shown { t, .. } | Sample::Interval { t, .. } | Sample::Tick { t, .. } = &sample
            && !(-most..=most).contains(t)
        {
            return;
        }
        if let Sample::Echo { probe, .. } | Sample::Lost { probe, .. } = &sample {
            match self.asked.test.streams().nth(*probe as usize) {
                Some(stream) => self.delays[stream.host].note(&sample),
                None => return self.peer.take(sample),
            }
        }
        self.collector.sample(&sample);
    }

    /// What limited the senders of one direction.
    fn limits(&self, way: Direction) -> Option<SenderLimits> {
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
        let lost = gathered.far.iter().find_map(|(host, end)| Some((host, end.as_ref().err()?)));
        let end = match (self.signal, &gathered.load, lost) {
            (Some(signal), ..) => Err(Error::Interrupted(signal)),
            (None, Some(Err(error)), _) => Err(Error::machine(error)),
            (None, _, Some((&host, failure))) => Err(explain(&self.asked.hosts[host], failure)),
            _ => Ok(()),
        };
        let corrections: Vec<_> =
            std::mem::take(&mut self.delays).into_iter().map(Delays::correction).collect();
        let hosts: Vec<usize> = self.asked.test.streams().map(|stream| stream.host).collect();
        self.collector.shift_clocks(&|stream, t| corrections[hosts[stream]].ahead(t));
        // The clock difference that both ends have already subtracted must not be subtracted again.
        self.collector.shift_talks(&|t| corrections[0].ahead(t).ns.saturating_sub(self.ahead));
        self.collector.finished(end.is_ok(), faults, QueueEnd::default(), QueueEnd::default());
        let limits = Direction::BOTH.into_iter().filter_map(|way| self.limits(way)).collect();
        let loads = self.load.directions.iter().map(|&way| direction(way)).collect();
        let (at, length, one_way) = (self.at, self.length(), self.one_way());
        let peer = self.peer.finish();
        let mut run = Run { loads, limits, peer, ..self.collector.into_run() };
        let udp = self.asked.test.udp.iter().map(|flow| flow.direction);
        let ways: Vec<Direction> =
            self.asked.test.flows.iter().map(|flow| flow.direction).chain(udp).collect();
        run.doubts = doubts::of(&run, &ways, &self.asked.test.udp, &self.machine, &gathered.probes);
        let senders = doubts::senders(&run, &ways, &self.machine);
        run.own_queues = own_queues(self.asked, self.load, &senders, &self.machine, &gathered);
        run.doubts.extend(doubts::stood_still(self.still));
        let jumps = self.asked.hosts.iter().zip(&corrections);
        let jumps = jumps.map(|(host, correction)| (host.name.as_str(), correction.steps()));
        run.doubts.extend(doubts::clock_stepped(&gathered.probes, jumps));
        if !run.doubts.iter().any(|doubt| doubt.kind == DoubtKind::Processor) {
            let busy = gathered.far.iter().filter_map(|(host, end)| {
                let Ended { busy_permille, waited_permille, .. } = end.as_ref().ok()?;
                doubts::server_processor(&self.asked.hosts[*host].name, *busy_permille, *waited_permille)
            });
            run.doubts.extend(busy);
        }
        let hole = self.part.load.0 >= BLACK_HOLE.0 && self.signal.is_none();
        let hole = Some(&gathered)
            .filter(|gathered| hole && !gathered.was_ended())
            .and_then(|gathered| black_hole(&run, &self.part, &self.numbers, gathered));
        let end = match (hole, end) {
            (Some(hole), end) => {
                run.validity.valid = false;
                run.validity.reasons.push(hole.clone());
                // If it is the downstream direction, the server's messages are lost too.
                end.map_err(|_| Error::Machine(hole))
            }
            (None, end) => end,
        };
        let hops = one_way.zip(gathered.hops.as_ref());
        run.located = hops.map(|(way, answers)| locate(way, &run, answers, at, length));
        (run, end)
    }

    /// Why the result is not valid.
    fn faults(&self, gathered: &Gathered) -> Vec<String> {
        let mut faults = Vec::new();
        if let Some(Ok(LoadSummary { flows, .. })) = &gathered.load
            && !flows.is_empty()
            && flows.iter().all(|flow| flow.connected.is_none())
        {
            faults.push("no flow ever connected".to_owned());
        }
        if let Some(Ok(LoadSummary { flows, .. })) = &gathered.load
            && let (false, Some(why)) = (gathered.was_ended() || self.signal.is_some(), all_broke(flows))
        {
            faults.push(format!("all flows broke before the load was over: {why}; measure again"));
        }
        for (host, end) in &gathered.far {
            if let Ok(Ended { error: Some(error), .. }) = end {
                let name = &self.asked.hosts[*host].name;
                faults.push(format!("the server {name} ended the load: {error}"));
            }
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

/// The queues of the senders' own interfaces: of this machine's, those in `senders`, and those of the servers
/// that tell.
fn own_queues(
    asked: &PathTest,
    load: &Load,
    senders: &[&str],
    machine: &Machine,
    gathered: &Gathered,
) -> Vec<OwnQueue> {
    let of = |way, host: Option<&String>, own: own_queue::OwnQueue| OwnQueue {
        direction: direction(way),
        host: host.cloned(),
        interface: own.interface,
        kind: own.kind,
        drops: own.drops,
        waiting: f64::from(own.waiting_permille) / 1000.0,
    };
    let here = senders.iter().filter_map(|interface| machine.queues.of(interface));
    let downloads = load.directions.contains(&Direction::Down);
    let there = gathered.far.iter().filter(|_| downloads).filter_map(|(host, end)| {
        let own = end.as_ref().ok()?.own_queue.clone().filter(own_queue::OwnQueue::is_plausible)?;
        Some(of(Direction::Down, Some(&asked.hosts[*host].name), own))
    });
    here.map(|own| of(Direction::Up, None, own)).chain(there).collect()
}

/// Why all flows of a load broke after they had connected; `None` if one did not.
fn all_broke(flows: &[FlowOutcome]) -> Option<&str> {
    let why = |flow: &FlowOutcome| flow.connected.is_some() && flow.error.is_some();
    let first = flows.first().filter(|_| flows.iter().all(why))?;
    first.error.as_deref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodqueue_probe::{Params, resolve};

    #[test]
    fn a_system_that_tells_nothing_of_its_connections_is_noticed() {
        let ran = FlowOutcome { connected: Some(1), ..FlowOutcome::default() };
        let told = TcpSample { cwnd_segments: 10, ..TcpSample::default() };
        let is_untold = |name: &str, flow: &FlowOutcome, tcp: TcpSample| {
            let part = resolve(name, &Params::default()).unwrap();
            is_untold(&part, vec![flow.clone(); part.flows.len()].iter(), &vec![tcp; part.flows.len()])
        };
        assert!(is_untold("tcp_4up", &ran, TcpSample::default()));
        assert!(!is_untold("tcp_4up", &ran, told));
        assert!(!is_untold("tcp_4up", &FlowOutcome::default(), TcpSample::default()), "nothing ran");
        assert!(!is_untold("tcp_4down", &ran, TcpSample::default()), "the server tells of its own");
    }

    #[test]
    fn a_load_whose_flows_all_broke_is_noticed() {
        let ran = FlowOutcome { connected: Some(1), ..FlowOutcome::default() };
        let broke = FlowOutcome { error: Some("reset".into()), ..ran.clone() };
        assert_eq!(all_broke(&[broke.clone(), broke.clone()]), Some("reset"));
        assert_eq!(all_broke(&[broke, ran]), None, "the other one fills the line");
        let refused = FlowOutcome { error: Some("refused".into()), ..FlowOutcome::default() };
        assert_eq!((all_broke(&[refused]), all_broke(&[])), (None, None), "they never began");
    }
}

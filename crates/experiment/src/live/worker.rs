//! The child of the live arm: makes the namespaces, runs engine, load and probes in them, and reports
//! everything to the parent as it happens.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use goodqueue::{Nanos, QueueSpec, Reason, Span};
use goodqueue_path::load::{Secret, tls, word};
use goodqueue_probe::net::{self, ClientSummary, Far, NetError, PathState, Server, SharedClock};
use goodqueue_probe::{Sample, Test, Transport};
use goodqueue_report::{Direction, EngineHealth, PathQueue, Responsiveness, ramp_ns};
use goodqueue_wire::{EngineHandle, EngineReport, EngineSample, Lab, LabSpec, PathReport, PathSample, Side};

use super::message::{Finish, Message, Order, Work};
use super::own::Own;
use super::queue::Faults;
use super::responsiveness;
use super::rights::Rights;
use super::setup::{Network, RadioReport, RadioThread, Setup, Started};
use crate::Error;
use crate::collect::{QueueEnd, QueueMoment, Tally};
use crate::simulate::sojourn;

/// Time between two samples of the queues.
const LOOK: Duration = Duration::from_millis(100);
/// Time for all threads to get ready before the idle lead-in begins.
pub(super) const SETTLE: Span = Span::from_millis(300);

/// Runs the one order on standard input. `own` makes the calling program's own queues, if it has any.
///
/// # Errors
/// None: the child reports a fault to its parent, and the exit code of the parent counts.
pub fn main(own: Option<Own>) -> Result<(), Error> {
    // It cannot fail on Linux 3.5 and later.
    let _ = goodqueue_wire::no_new_privileges();
    // The parent waits for signals with a descriptor, so they are blocked in it and, by inheritance, here.
    goodqueue_wire::Interrupt::unblock();
    let mut voice = Voice { writer: None };
    if let Err(end) = work(&mut voice, own) {
        let machine = matches!(end, Error::Machine(_));
        voice.say(&Message::Failed { machine, what: end.to_string() });
    }
    voice.finish();
    Ok(())
}

/// Standard output as a stream of messages. The death signal reports a parent that is gone.
pub(super) struct Voice {
    writer: Option<(Sender<String>, JoinHandle<()>)>,
}

impl Voice {
    /// From here on a separate thread writes, so that a stopped parent (Ctrl-Z) that lets the pipe fill up
    /// does not delay measurements. Not earlier: a process that enters a user namespace must have one thread.
    fn detach(&mut self) {
        let (sender, lines) = channel::<String>();
        let write = move || lines.iter().for_each(|line| write_line(&line));
        self.writer = Some((sender, thread::spawn(write)));
    }

    fn say(&mut self, message: &Message) {
        let Ok(line) = serde_json::to_string(message) else { return };
        match &self.writer {
            Some((sender, _)) => {
                // It ends when the sender is dropped, and not before.
                let _ = sender.send(line);
            }
            None => write_line(&line),
        }
    }

    /// Waits until all messages are written.
    fn finish(self) {
        if let Some((sender, writer)) = self.writer {
            drop(sender);
            let _ = writer.join();
        }
    }
}

fn write_line(line: &str) {
    // A reader that is gone is noticed in another way.
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn order() -> Result<Order, Error> {
    let mut line = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(|error| Error::usage(format!("reading the order: {error}")))?;
    serde_json::from_slice(line.as_bytes()).map_err(|error| {
        Error::Usage(format!("`live-worker` is started by `goodqueue run --live` only ({error})"))
    })
}

fn work(voice: &mut Voice, own: Option<Own>) -> Result<(), Error> {
    let order = order()?;
    goodqueue_wire::die_with_parent(order.parent).map_err(Error::machine)?;
    let setup = Setup::of(&order, own)?;
    let lab = lab(setup.hosts, setup.ecn, setup.super_packets)?;
    voice.detach();
    let test = &setup.test;
    let whole = &test.clone().with_rpm();
    lab.client().run(|| net::check(whole, setup.hosts)).map_err(Error::machine)?.map_err(Error::machine)?;
    let parameters = match &setup.network {
        Network::Lines(_, queue) => queue.parameters(),
        Network::Air(_) => BTreeMap::new(),
    };
    voice.say(&Message::Ready { sysctls: lab.sysctls(Side::Client).map_err(Error::machine)?, parameters });
    let Started { engine, faults, listening } = setup.start(&lab, &order)?;
    let rights = Rights::of(whole, order.parent);
    let mut arena = Arena { voice, lab: &lab, engine: &engine, faults: &faults, rights: &rights };
    let (load, told) = match &test.rpm {
        Some(plan) => responsiveness::run(&mut arena, &setup, plan)?,
        None => run_load(&mut arena, &setup, listening.as_ref())?,
    };
    let running = engine.is_running();
    let report = engine.stop().map_err(Error::machine)?;
    let RadioReport { radios, path: on_air, wrong } =
        listening.map(RadioThread::end).transpose()?.unwrap_or_default();
    if let Some(why) = faults.first() {
        return Err(Error::Usage(format!("{}: {why}", order.label)));
    }
    let failure = report.failure.as_ref().map(ToString::to_string);
    let mut invalid = report.validity().reasons;
    invalid.extend(wrong);
    let rpm = match load {
        Ok(Loaded { faults, warnings, rpm }) => {
            invalid.extend(faults);
            for warning in warnings {
                voice.say(&Message::Warning(format!("{}: {warning}", order.label)));
            }
            rpm
        }
        // If a load failed because the link is gone, the load's error is not the one to report.
        Err(error) if failure.is_none() => return Err(Error::Machine(error)),
        Err(_) => None,
    };
    let queue = match &order.work {
        Work::Lines { queue, .. } => queue,
        Work::Air { .. } => &order.label,
    };
    let ways = [(Direction::Up, &report.up), (Direction::Down, &report.down)];
    let lines = ways.into_iter().filter_map(|(way, end)| path_queue(way, queue, end));
    let path = lines.chain(on_air).collect();
    let finish = Finish { radios, path, rpm, ..finish(&report, running && !told, invalid) };
    voice.say(&Message::Finished(Box::new(finish)));
    failure.map_or(Ok(()), |failure| Err(Error::Machine(failure)))
}

/// Runs load and probes; returns the outcome, and whether it was told to stop.
fn run_load(
    arena: &mut Arena<'_>,
    setup: &Setup,
    listening: Option<&RadioThread>,
) -> Result<(Result<Loaded, String>, bool), Error> {
    let (test, lab) = (&setup.test, arena.lab);
    let hosts: Vec<IpAddr> = (0..lab.hosts()).map(|host| setup.address(host)).collect();
    let server =
        lab.server().run(|| server(test, &hosts)).map_err(Error::machine)?.map_err(Error::machine)?;
    let servers: Vec<Far> = hosts.iter().map(|&host| server.far(host)).collect();
    let least = SETTLE + test.idle;
    let lead = listening.map_or(least, |radio| radio.lead(goodqueue_wire::now(), test, least));
    let clock = SharedClock::starting_in(lead);
    if let (Some(radio), Ok(at)) = (listening, u64::try_from(clock.load_start().mono)) {
        radio.start_at(Nanos(at));
    }
    let path = PathState::new(setup.longest_round_trip());
    let serve = |sink: &Sender<Sample>, stop: &AtomicBool| {
        // The server's results have come as samples; how it ended no longer matters.
        let _ = server.run(&clock, sink, stop);
    };
    let client =
        |sink: &Sender<Sample>, stop: &AtomicBool| net::run_client(test, &servers, &clock, &path, sink, stop);
    let (summary, told) = arena.run(test, (&clock, &path), serve, client)?;
    let loaded = |ClientSummary { faults, warnings, .. }| Loaded { faults, warnings, rpm: None };
    Ok((summary.map(loaded).map_err(|error| error.to_string()), told))
}

/// Where both ends of a load run.
pub(super) struct Arena<'a> {
    pub(super) voice: &'a mut Voice,
    pub(super) lab: &'a Lab,
    pub(super) engine: &'a EngineHandle,
    pub(super) faults: &'a Faults,
    pub(super) rights: &'a Rights,
}

/// The outcome of a load.
pub(super) struct Loaded {
    /// Why it is not valid.
    pub(super) faults: Vec<String>,
    pub(super) warnings: Vec<String>,
    pub(super) rpm: Option<Responsiveness>,
}

impl Arena<'_> {
    /// Runs both ends of the load of `test`, each in its own namespace, and passes on their samples, until
    /// the client has ended. Returns the client's result, and whether it was told to stop.
    pub(super) fn run<T: Send>(
        &mut self,
        test: &Test,
        (clock, path): (&SharedClock, &PathState),
        serve: impl FnOnce(&Sender<Sample>, &AtomicBool) + Send,
        client: impl FnOnce(&Sender<Sample>, &AtomicBool) -> T + Send,
    ) -> Result<(T, bool), Error> {
        let Arena { lab, engine, faults, rights, .. } = *self;
        if let Ok(start) = u64::try_from(clock.load_start().mono) {
            let at = |ns: u64| Nanos(start.saturating_add(ns));
            engine.measure_sojourn(at(ramp_ns(test.load.0)), at(test.load.0));
        }
        let (server_sink, samples) = channel();
        let client_sink = server_sink.clone();
        let told = told_to_stop();
        let (end_client, end_server) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            let (end_client, end_server) = (&end_client, &end_server);
            let serving = scope.spawn(move || {
                rights.end_in_thread(|| lab.server().enter())?;
                serve(&server_sink, end_server);
                Ok::<_, goodqueue_wire::Error>(())
            });
            let client = scope.spawn(move || {
                let _whatever_happens = SetAtEnd(end_server);
                rights.end_in_thread(|| lab.client().enter())?;
                Ok::<_, goodqueue_wire::Error>(client(&client_sink, end_client))
            });
            let ending = rights.end();
            if ending.is_err() {
                end_client.store(true, Ordering::Relaxed);
            }
            let ended = || told.load(Ordering::Relaxed) || !engine.is_running() || faults.first().is_some();
            let look = || end_client.fetch_or(ended(), Ordering::Relaxed);
            watch(self.voice, engine, (&samples, path), clock, &look);
            let lost = |_| Error::Machine("a thread of the load ended without an answer".into());
            let made = client.join().map_err(lost)?.map_err(Error::machine)?;
            serving.join().map_err(lost)?.map_err(Error::machine)?;
            ending.map_err(Error::machine)?;
            Ok((made, told.load(Ordering::Relaxed)))
        })
    }
}

/// The server of a test, also for flows over QUIC if it has any. Their keys come from a secret that no other
/// program learns.
fn server(test: &Test, hosts: &[IpAddr]) -> Result<Server, NetError> {
    let mut server = Server::bind(hosts, 0)?;
    if test.flows.iter().any(|flow| flow.transport == Transport::Quic) {
        let failed = |source| NetError::System { operation: "make", object: "keys for QUIC".into(), source };
        let word = word::random().map_err(failed)?;
        let keys = Secret::of(&word).map(|secret| tls::quic_keys(&secret).map_err(io::Error::other));
        let keys = keys.unwrap_or_else(|| Err(io::ErrorKind::InvalidInput.into())).map_err(failed)?;
        let client = [false, true].map(Lab::client_address);
        server.accept_quic(&client, test.flows.len(), keys)?;
    }
    Ok(server)
}

/// Sets its flag when dropped, even by a panic, so that no thread waits for ever.
struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Passes on every sample, and the state of the queues, until both ends of the load have closed.
fn watch(
    voice: &mut Voice,
    engine: &EngineHandle,
    (samples, path): (&Receiver<Sample>, &PathState),
    clock: &SharedClock,
    look_for_the_end: &dyn Fn() -> bool,
) {
    let mut next = Instant::now();
    loop {
        if Instant::now() >= next {
            next += LOOK;
            look_for_the_end();
            let sample = engine.sample();
            path.saw(goodqueue_wire::now(), sample.frames_used == 0);
            voice.say(&Message::Queues {
                t_ns: taken_at(&sample, clock),
                up: moment(&sample.up),
                down: moment(&sample.down),
            });
        }
        match samples.recv_timeout(next.saturating_duration_since(Instant::now())) {
            Ok(sample) => voice.say(&Message::Sample(sample)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// When the engine took the sample, up to 20 ms ago, from the start of the load. With the time of the query
/// instead, the rate would be wrong by about 0.1 %. Before the first sample: now.
fn taken_at(sample: &EngineSample, clock: &SharedClock) -> i64 {
    match i64::try_from(sample.at.0) {
        Ok(at) if at > 0 => at.saturating_sub(clock.load_start().mono),
        _ => clock.t(),
    }
}

/// Namespaces with this many server hosts, with ECN and super-packets on request; without root's rights, in
/// our own user namespace.
pub(super) fn lab(hosts: usize, ecn: bool, super_packets: bool) -> Result<Lab, Error> {
    // More files than most users may open by default, and fewer than most may ask for.
    goodqueue_wire::raise_open_files(16_384).map_err(Error::machine)?;
    let hosts = u8::try_from(hosts).map_err(Error::usage)?;
    let ecn = if ecn { "1" } else { "0" };
    let spec = LabSpec { hosts, mtu: goodqueue::ETHERNET_MTU, super_packets, ..LabSpec::default() };
    let spec = spec.sysctl("net.ipv4.tcp_ecn", ecn);
    let lab = match Lab::new(&spec) {
        Err(error) if error.is_missing() => {
            goodqueue_wire::enter_user_namespace().map_err(Error::machine)?;
            Lab::new(&spec)
        }
        made => made,
    };
    lab.map_err(Error::machine)
}

/// Becomes true at the end of standard input, with which the parent tells us to stop.
fn told_to_stop() -> Arc<AtomicBool> {
    let told = Arc::new(AtomicBool::new(false));
    let tell = Arc::clone(&told);
    thread::spawn(move || {
        // Whatever ends the input ends the run.
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        tell.store(true, Ordering::Relaxed);
    });
    told
}

pub(super) fn moment(path: &PathSample) -> QueueMoment {
    QueueMoment {
        backlog_bytes: path.backlog.bytes,
        backlog_packets: path.backlog.packets,
        ring_bytes: path.ring.bytes,
        sent_bytes: path.line.bytes,
        sent_packets: path.line.packets,
        drops: path.dropped_in_all() - path.dropped(Reason::Loss),
        marks: path.marks,
        busy_ns: path.busy.0,
        busy_periods: path.line.busy_periods,
    }
}

pub(super) fn finish(report: &EngineReport, complete: bool, invalid: Vec<String>) -> Finish {
    let quantile = |q| report.lateness.quantile(q).map_or(0, |span| span.0);
    let buckets: Vec<(Span, u64)> = report.lateness.buckets().collect();
    let engine = EngineHealth {
        lateness_bucket_ns: buckets.iter().map(|bucket| bucket.0.0).collect(),
        lateness_count: buckets.iter().map(|bucket| bucket.1).collect(),
        lateness_p50_ns: quantile(0.5),
        lateness_p99_ns: quantile(0.99),
        lateness_max_ns: report.lateness.max().map_or(0, |span| span.0),
        busy: report.cpu.share(),
        host_busy: report.host.map_or(0.0, |host| host.busy),
        // The parent measures it, from the samples of the queues.
        rate_error_up: None,
        rate_error_down: None,
    };
    Finish {
        complete,
        engine,
        invalid,
        up: QueueEnd::from(tally(&report.up)),
        down: QueueEnd::from(tally(&report.down)),
        rpm: None,
        path: Vec::new(),
        radios: Vec::new(),
    }
}

/// The queue of a line in the form of the record; nothing on the air, where the queue is the radio's.
pub(super) fn path_queue(direction: Direction, queue: &str, path: &PathReport) -> Option<PathQueue> {
    let (tally, last) = (tally(path), &path.last);
    Some(PathQueue {
        link: match direction {
            Direction::Up => "client to server".into(),
            Direction::Down => "server to client".into(),
        },
        direction,
        queue: queue.to_owned(),
        shaped_bps: queue.parse().ok().and_then(|queue: QueueSpec| queue.shaped_rate()).map(|rate| rate.0),
        bottleneck: true,
        arrived_packets: tally.arrived,
        sent_packets: tally.sent,
        sent_bytes: last.line.bytes,
        held_packets: tally.held,
        held_bytes: last.backlog.bytes + last.ring.bytes,
        marks: last.marks,
        sojourn: Some(sojourn(path.sojourn.as_ref()?)),
        drop_reasons: QueueEnd::from(tally).drop_reasons,
        series: None,
    })
}

fn tally(path: &PathReport) -> Tally {
    Tally {
        drops: Reason::ALL.map(|reason| path.last.dropped(reason)),
        arrived: path.last.arrived.packets,
        sent: path.last.line.packets,
        held: u64::from(path.last.backlog.packets) + u64::from(path.last.ring.packets),
        own: path.counters.clone(),
    }
}

//! The child of the live arm: makes the namespaces, runs engine, load and probes in them, and tells the
//! parent everything as it happens.

use std::collections::BTreeMap;
use std::io::{BufRead, Read, Write};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use goodqueue::{Nanos, Queue, QueueSpec, Rate, Reason, RingSpec, Span};
use goodqueue_probe::net::{Client, NetError, Server, SharedClock};
use goodqueue_probe::{Sample, Test};
use goodqueue_report::EngineHealth;
use goodqueue_wire::{
    Engine, EngineHandle, EngineReport, EngineSpec, Lab, LabSpec, PathReport, PathSample, PathSpec, Side,
};

use super::message::{Finish, Message, Order, QueueEnd, QueueMoment};
use crate::exit::End;
use crate::plan::{FRAME, LinkOrder, MTU};

/// Time between two looks at the queues.
const LOOK: Duration = Duration::from_millis(100);
/// Time that all threads get to be ready before the idle lead-in begins.
const SETTLE: Duration = Duration::from_millis(300);
/// How long load and probes may take to end once they were told to stop.
const DRAIN: Duration = Duration::from_secs(8);

/// Runs the one order that stands on standard input.
///
/// # Errors
/// None: what goes wrong is told to the parent, whose exit code counts.
pub fn main() -> Result<(), End> {
    let mut voice = Voice { out: std::io::stdout() };
    if let Err(end) = work(&mut voice) {
        let machine = matches!(end, End::Machine(_));
        voice.say(&Message::Failed { machine, what: end.to_string() });
    }
    Ok(())
}

/// Standard output as a stream of messages. A parent that is gone is noticed by its death signal.
struct Voice {
    out: std::io::Stdout,
}

impl Voice {
    fn say(&mut self, message: &Message) {
        if let Ok(line) = serde_json::to_string(message) {
            let _ = writeln!(self.out, "{line}");
        }
    }
}

fn order() -> Result<Order, End> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).map_err(|error| End::usage(format!("reading the order: {error}")))?;
    serde_json::from_str(&line)
        .map_err(|error| End::Usage(format!("`live-worker` is started by `goodqueue run --live` only ({error})")))
}

fn work(voice: &mut Voice) -> Result<(), End> {
    let order = order()?;
    goodqueue_wire::die_with_parent(order.parent).map_err(End::machine)?;
    let test = order.test.test()?;
    let lab = lab(&order.link, test.hosts())?;
    let spec: QueueSpec = order.queue.parse().map_err(End::usage)?;
    voice.say(&Message::Ready {
        sysctls: lab.sysctls(Side::Client).map_err(End::machine)?,
        parameters: parameters(&spec),
    });
    let engine = engine(&lab, &order, &spec, &test)?;
    let stop = Arc::new(AtomicBool::new(false));
    stop_at_end_of_input(&stop);
    let (sender, samples) = channel();
    let clock = SharedClock::starting_in(SETTLE + Duration::from_nanos(test.idle.0)).map_err(End::machine)?;
    let load = Load::start(&lab, &order.link, &test, clock, &sender, &stop)?;
    drop(sender);
    watch(voice, &engine, &samples, &clock, &stop);
    let planned = !stop.swap(true, Ordering::Relaxed);
    let warnings = load.end();
    let running = engine.is_running();
    let report = engine.stop().map_err(End::machine)?;
    let mut invalid = report.validity().reasons;
    match warnings {
        Ok(reasons) => invalid.extend(reasons),
        Err(end) if report.failure.is_none() => return Err(end),
        Err(_) => {}
    }
    let failure = report.failure.as_ref().map(ToString::to_string);
    voice.say(&Message::Finished(Box::new(finish(report, planned && running, invalid))));
    failure.map_or(Ok(()), |failure| Err(End::Machine(failure)))
}

/// Passes everything on until load and probes have ended, or the engine has.
fn watch(
    voice: &mut Voice,
    engine: &EngineHandle,
    samples: &Receiver<Sample>,
    clock: &SharedClock,
    stop: &AtomicBool,
) {
    let mut next = Instant::now();
    let mut stopped: Option<Instant> = None;
    loop {
        if Instant::now() >= next {
            next += LOOK;
            let sample = engine.sample();
            let (up, down) = (moment(&sample.up), moment(&sample.down));
            voice.say(&Message::Queues { t_ns: clock.since_start(), up, down });
        }
        if !engine.is_running() {
            stop.store(true, Ordering::Relaxed);
        }
        if stop.load(Ordering::Relaxed) && stopped.get_or_insert_with(Instant::now).elapsed() > DRAIN {
            return;
        }
        match samples.recv_timeout(next.saturating_duration_since(Instant::now())) {
            Ok(sample) => voice.say(&Message::Sample(sample)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Namespaces with the settings of the order. Without root's rights, in a user namespace of our own.
fn lab(link: &LinkOrder, hosts: usize) -> Result<Lab, End> {
    if !goodqueue_wire::may_make_namespaces() {
        goodqueue_wire::enter_user_namespace().map_err(End::machine)?;
    }
    let hosts = u8::try_from(hosts).map_err(End::usage)?;
    let spec = LabSpec { hosts, mtu: MTU, ..LabSpec::default() };
    let ecn = if link.ecn { "1" } else { "0" };
    Lab::new(&spec.sysctl("net.ipv4.tcp_ecn", ecn)).map_err(End::machine)
}

fn engine(lab: &Lab, order: &Order, spec: &QueueSpec, test: &Test) -> Result<EngineHandle, End> {
    let link = &order.link;
    let path = |bps| {
        let rate = Rate(bps);
        let queue = spec.build(rate, FRAME, now()).map_err(End::usage)?;
        let mut path = PathSpec::new(queue);
        path.rate = Some(rate);
        path.ring = link.ring.map(|entries| RingSpec { entries, bql: link.bql, ..RingSpec::default() });
        path.loss = link.loss;
        path.delays = link.rtt_ns.iter().take(test.hosts()).map(|rtt| Span(rtt / 2)).collect();
        Ok(path)
    };
    let mut engine = EngineSpec::new(path(link.up_bps)?, path(link.down_bps)?);
    engine.seed = order.seed;
    engine.frames = frames(link);
    Engine::start(lab, engine).map_err(End::machine)
}

/// The engine's clock counts from the machine's start; a queue must not be born later than that.
fn now() -> Nanos {
    Nanos::ZERO
}

/// Slots for the frames that are on their way, on top of those that stand in queues.
fn frames(link: &LinkOrder) -> u32 {
    let longest = link.rtt_ns.iter().max().copied().unwrap_or(0);
    let flying = Rate(link.up_bps + link.down_bps).bytes_in(Span(longest)).0 / u64::from(FRAME);
    u32::try_from(2 * flying).unwrap_or(u32::MAX).saturating_add(goodqueue_wire::engine::DEFAULT_FRAMES).min(1 << 20)
}

/// The end of standard input is the parent's sign to stop.
fn stop_at_end_of_input(stop: &Arc<AtomicBool>) {
    let stop = Arc::clone(stop);
    thread::spawn(move || {
        let mut rest = Vec::new();
        // Whatever ends the input ends the run.
        let _ = std::io::stdin().lock().read_to_end(&mut rest);
        stop.store(true, Ordering::Relaxed);
    });
}

/// Load and probes at work: a thread in each end host's namespace.
struct Load {
    server: JoinHandle<Result<Vec<String>, NetError>>,
    client: JoinHandle<Result<Vec<String>, NetError>>,
    done: Arc<AtomicBool>,
}

fn moment(path: &PathSample) -> QueueMoment {
    QueueMoment {
        backlog_bytes: path.backlog.bytes,
        backlog_packets: path.backlog.packets,
        ring_bytes: path.ring.bytes,
        sent_bytes: path.sent.bytes,
        sent_packets: path.sent.packets,
        drops: path.dropped_in_all(),
        marks: path.marks,
    }
}

//! `goodqueue link -- COMMAND`: runs a program behind an emulated link, and tells what its packets met.

pub(crate) mod between;
pub(crate) mod control;
pub(crate) mod schedule;

use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::time::{Duration, Instant};

use goodqueue::Rate;
use goodqueue_experiment::live::link::{Exposed, Link, Moment};
use goodqueue_experiment::{Asked, Error, Experiment, Plan, Request};
use goodqueue_report::{PathQueue, Record, Run, Summary, TestPlan};
use goodqueue_wire::{Interrupt, send_signal};

use crate::again;
use crate::args::{EmulationArgs, LinkAction, LinkArgs};
use crate::output::{Target, kept, print_aside};
use control::Control;
use schedule::Schedule;

/// How long one wait for a signal lasts; after it the program is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// Time between two lines of `--watch`.
const SECOND: Duration = Duration::from_secs(1);
/// How long the link stays, after the program, without a packet.
const SILENCE: Duration = Duration::from_secs(2);
const SIGINT: i32 = 2;
/// Most connections in the table.
const SHOWN: usize = 10;

/// Runs the program; its exit code.
///
/// # Errors
/// [`Error::Usage`] before anything is made, [`Error::Machine`] with what this machine lacks.
pub fn command(args: &LinkArgs) -> Result<ExitCode, Error> {
    if let Some(LinkAction::Set(args)) = &args.action {
        return control::set(args).map(|()| ExitCode::SUCCESS);
    }
    let mut network = Network::of(args)?;
    let exposed = args
        .expose
        .iter()
        .map(|text| text.parse::<Exposed>().map_err(|why| Error::Usage(format!("--expose {text}: {why}"))));
    let exposed = exposed.collect::<Result<Vec<_>, _>>()?;
    let schedule = Schedule::read(&args.emulation.at)?;
    for warning in network.warnings() {
        announce!("goodqueue: {warning}");
    }
    let words = words(args);
    let program = Path::new(&words[0]).file_name().unwrap_or(&words[0]).to_string_lossy().into_owned();
    let name = format!("link {program}");
    let test = TestPlan {
        name: "link".into(),
        about: format!("{program} behind a link"),
        program: Some(program),
        ..TestPlan::default()
    };
    let own = own(network.warnings(), test);
    // Before the first thread, which would otherwise take the signals.
    let interrupt = Interrupt::new().map_err(Error::machine)?;
    let mut link = match &mut network {
        Network::Lines(plan) => Link::start(plan, &exposed, args.outside)?,
        Network::Air(experiment) => Link::over_the_air(experiment, &exposed, args.outside)?,
    };
    // After the link, which may not be possible: no empty file is left behind.
    let json = args.json.as_deref().map(create).transpose()?;
    let target = args.told.output.as_deref().map(|path| Target::claim(path, 1)).transpose()?;
    let control = Control::listen(&name, &[], true);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    match &control {
        Ok(control) => _ = command.env(control::SOCKET, control.socket()),
        Err(why) => announce!("goodqueue: warning: `goodqueue link set` cannot change this link: {why}"),
    }
    let control = control.ok();
    let mut child = match link.spawn(&mut command) {
        Ok(child) => child,
        Err(error) => {
            if let Some(target) = target {
                target.give_back();
            }
            let (why, code) = not_started(&error);
            announce!("goodqueue: {}: {why}", words[0].display());
            return Ok(ExitCode::from(code));
        }
    };
    let rates = network.rates();
    let status = wait(
        &mut child,
        &mut link,
        (&interrupt, control.as_ref(), schedule),
        args.told.watch.then_some(rates),
    )?;
    drop(control);
    drain(&mut link, &interrupt)?;
    let record = link.stop(own)?;
    let code = code(status);
    if !args.told.quiet {
        print_aside(&table(&record, rates, network.warnings()));
    }
    if let Some((mut file, path)) = json {
        let text = record.to_json();
        let text = text.map_err(|error| Error::Machine(format!("--json {}: {error}", path.display())))?;
        let text = format!("{{\"exit_code\":{code},\"record\":{text}}}\n");
        file.write_all(text.as_bytes())
            .map_err(|error| kept("--json", path, &error, "link.json", text.as_bytes()))?;
    }
    if let Some(target) = target {
        let page = target.write(&record)?;
        if !args.told.quiet {
            announce!("goodqueue: open {}", page.display());
        }
    }
    Ok(ExitCode::from(code))
}

/// The program and its arguments.
fn words(args: &LinkArgs) -> Vec<OsString> {
    if args.shell {
        vec![std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into())]
    } else {
        args.command.clone()
    }
}

/// What the packets go over.
enum Network {
    Lines(Box<Plan>),
    /// A Wi-Fi network of a file.
    Air(Box<Experiment>),
}

impl Network {
    fn of(args: &LinkArgs) -> Result<Network, Error> {
        let Some(file) = &args.link else {
            return Ok(Network::Lines(plan(&args.emulation, args.ecn, args.super_packets)?.into()));
        };
        // The test is not run: the program is the load.
        let request = Request {
            test: "ping".into(),
            live: true,
            link: Some(file.clone()),
            queue: Some(args.emulation.queue.clone()),
            ecn: args.ecn,
            seed: Some(args.emulation.seed),
            ..Request::default()
        };
        let mut asked = Asked::of(&request, &[])?;
        let experiment = asked.experiment_mut().map(|experiment| experiment.clone());
        experiment
            .map(|experiment| Network::Air(experiment.into()))
            .ok_or_else(|| Error::Usage(format!("--link {}: there is no [wifi]", file.display())))
    }

    fn warnings(&self) -> &[String] {
        match self {
            Network::Lines(plan) => &plan.warnings,
            Network::Air(experiment) => &experiment.warnings,
        }
    }

    /// Up and down; none over the air.
    fn rates(&self) -> [Option<Rate>; 2] {
        match self {
            Network::Lines(plan) => [plan.link.up_bps, plan.link.down_bps].map(|bps| Some(Rate(bps))),
            Network::Air(_) => [None; 2],
        }
    }
}

/// The plan of a link. The test is not run: others are the load.
pub(crate) fn plan(args: &EmulationArgs, ecn: bool, super_packets: bool) -> Result<Plan, Error> {
    let request = Request {
        test: "ping".into(),
        live: true,
        rate: args.rate.clone(),
        up: args.up.clone(),
        down: args.down.clone(),
        trace_up: args.trace_up.clone(),
        trace_down: args.trace_down.clone(),
        rtt: Some(args.rtt.clone()),
        queue: Some(args.queue.clone()),
        loss: args.loss.clone(),
        ring: args.ring,
        bql: args.bql,
        ecn,
        super_packets,
        seed: Some(args.seed),
        ..Request::default()
    };
    let plan = Plan::resolve(&request)?;
    match &plan.queues[..] {
        [_] => Ok(plan),
        queues => Err(Error::Usage(format!(
            "--queue {}: a link has one queue, and these are {}; run it once with each",
            args.queue,
            queues.len()
        ))),
    }
}

/// What a record begins with.
pub(crate) fn own(warnings: &[String], test: TestPlan) -> Record {
    Record { warnings: warnings.to_vec(), test, ..again::head(again::typed()) }
}

fn create(path: &Path) -> Result<(File, &Path), Error> {
    let refused = |error: std::io::Error| Error::Usage(format!("--json {}: {error}", path.display()));
    File::create(path).map(|file| (file, path)).map_err(refused)
}

/// Waits for the program. Signals to this process alone are passed on to it; Ctrl-C on a terminal comes to
/// both.
fn wait(
    child: &mut Child,
    link: &mut Link,
    (interrupt, control, mut schedule): (&Interrupt, Option<&Control>, Schedule),
    mut watched: Option<[Option<Rate>; 2]>,
) -> Result<ExitStatus, Error> {
    let mut next = Instant::now() + SECOND;
    let mut before = link.look();
    let (mut is_there, mut is_whole) = (true, true);
    loop {
        if let Some(signal) = interrupt.receive(LOOK).map_err(Error::machine)?
            && (signal.number != SIGINT || !signal.is_from_kernel)
        {
            send_signal(child.id(), signal.number).map_err(Error::machine)?;
        }
        if let Some(status) = child.try_wait().map_err(Error::machine)? {
            return Ok(status);
        }
        if is_there && !link.is_running() {
            is_there = false;
            announce!("goodqueue: the link is gone; the program goes on without it");
        }
        if let (true, Some(fault)) = (is_whole, link.fault()) {
            is_whole = false;
            announce!("goodqueue: {fault}; from now on the link has a FIFO");
        }
        let asked = control.map(|control| control.apply(link)).unwrap_or_default();
        for change in schedule.apply(link).into_iter().chain(asked) {
            if let Some(rates) = &mut watched {
                for (rate, bps) in rates.iter_mut().zip([change.up_bps, change.down_bps]) {
                    *rate = bps.map_or(*rate, |bps| Some(Rate(bps)));
                }
                announce!("goodqueue: from now on {change}");
            }
        }
        let now = link.look();
        if Instant::now() >= next {
            next += SECOND;
            if let Some(rates) = watched {
                announce!("goodqueue: {}", watch_line(before, now, rates));
            }
            before = now;
        }
    }
}

/// Waits until what the program has sent is delivered: until no connection to a service is open and no
/// packet is under way, or nothing has passed for [`SILENCE`]. A signal ends the wait.
fn drain(link: &mut Link, interrupt: &Interrupt) -> Result<(), Error> {
    let (mut before, mut since) = (link.look(), Instant::now());
    while link.is_running() && !link.is_idle() && since.elapsed() < SILENCE {
        if interrupt.wait(LOOK).map_err(Error::machine)?.is_some() {
            break;
        }
        let now = link.look();
        if now != before {
            (before, since) = (now, Instant::now());
        }
    }
    Ok(())
}

/// What happened in the last second.
pub(crate) fn watch_line(before: [Moment; 2], now: [Moment; 2], rates: [Option<Rate>; 2]) -> String {
    let way = |name: &str, way: usize| {
        let (before, now) = (before[way], now[way]);
        let mbit = mbit(now.sent_bytes - before.sent_bytes, 1.0);
        let waits = match rates[way] {
            Some(rate) => format!("{:.1} ms", waits(now.waiting_bytes, rate)),
            None => format!("{} kB", now.waiting_bytes.div_ceil(1000)),
        };
        let drops = now.dropped - before.dropped;
        let dropped = if drops > 0 { format!(", {drops} dropped") } else { String::new() };
        format!("{name} {mbit:.2} Mbit/s, {waits} in the queue{dropped}")
    };
    format!("{}; {}", way("up", 0), way("down", 1))
}

#[allow(clippy::cast_precision_loss)]
fn mbit(bytes: u64, seconds: f64) -> f64 {
    bytes as f64 * 8e-6 / seconds
}

/// How long `bytes` take at `rate`, ms.
#[allow(clippy::cast_precision_loss)]
fn waits(bytes: u64, rate: Rate) -> f64 {
    bytes as f64 * 8e3 / rate.0 as f64
}

fn code(status: ExitStatus) -> u8 {
    let of_signal = || status.signal().map(|signal| 128 + signal);
    status.code().or_else(of_signal).and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// Why a program was not started, and the exit code for it.
fn not_started(error: &std::io::Error) -> (String, u8) {
    match error.kind() {
        ErrorKind::NotFound => ("there is no such program, or its interpreter is missing".to_owned(), 127),
        _ => (format!("cannot be started: {}", Error::machine(error)), 126),
    }
}

/// The report for people, without the warnings that have been `announced`.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn table(record: &Record, rates: [Option<Rate>; 2], announced: &[String]) -> String {
    let Some(run) = record.runs.first() else { return String::new() };
    let seconds = record.test.load_ns as f64 / 1e9;
    let rtt = record.link.rtt_ns.first().map_or(0.0, |&ns| ns as f64 / 1e6);
    let what = match &record.test.program {
        Some(program) => format!("{program} ran {seconds:.1} s behind"),
        None => format!("{} for {seconds:.1} s:", record.test.about),
    };
    let link = match rates {
        [Some(up), Some(down)] => format!("{down} down, {up} up, {rtt} ms, {}", run.queue),
        _ => format!("Wi-Fi: {}", run.queue),
    };
    let mut out = format!("goodqueue: {what} {link}\n\n");
    out += "                                           ms in the queue\n";
    out += "       Mbit/s  packets  dropped   marked     50%     95%     99%     max\n";
    for way in run.path.iter().filter(|way| run.radios.is_empty() || way.arrived_packets > 0) {
        out += &row(way, seconds);
    }
    out += &connections(record, run);
    for (way, series) in [("up", &run.up), ("down", &run.down)] {
        let lost = series.counters.get("lost_on_the_line").map(|lost| (*lost, "lost on the line"));
        let drops = series.drop_reasons.iter().map(|(reason, count)| (*count, reason.as_str()));
        let each: Vec<String> = drops.chain(lost).map(|(count, why)| format!("{count} {why}")).collect();
        if !each.is_empty() {
            out += &format!("dropped {way}: {}\n", each.join(", "));
        }
    }
    for warning in record.warnings.iter().filter(|warning| !announced.contains(warning)) {
        out += &format!("warning: {warning}\n");
    }
    for why in &run.validity.reasons {
        out += &format!("this was not the link that you asked for: {why}\n");
    }
    out
}

/// A direction.
#[allow(clippy::cast_precision_loss)]
fn row(way: &PathQueue, seconds: f64) -> String {
    let mut row = format!(
        "{:<5}{:>8.2}{:>9}{:>9}{:>9}",
        way.direction.name(),
        mbit(way.sent_bytes, seconds.max(1e-9)),
        way.sent_packets,
        way.drops(),
        way.marks
    );
    if let Some(waited) = way.sojourn.filter(|waited| waited.n > 0) {
        for ns in [waited.p50_ns, waited.p95_ns, waited.p99_ns, waited.max_ns] {
            row += &format!("{:>8.1}", ns as f64 / 1e6);
        }
    }
    row + "\n"
}

/// The largest connections.
#[allow(clippy::cast_precision_loss)]
fn connections(record: &Record, run: &Run) -> String {
    let flows = &record.test.flows;
    if flows.is_empty() {
        return String::new();
    }
    let bytes = |place: usize| -> u64 { run.flows[place].rx_bytes.iter().sum() };
    let mut largest: Vec<usize> = (0..flows.len().min(run.flows.len())).collect();
    largest.sort_by_key(|&place| std::cmp::Reverse(bytes(place)));
    let width = largest.iter().take(SHOWN).map(|&place| flows[place].name.chars().count()).max();
    let width = width.unwrap_or(0).max(10);
    let goodputs = Summary::of(record, run).flows;
    let mut out = format!(
        "\n{:<width$}       kB   from s     to s   Mbit/s  dropped   marked  ms in the queue: mean     max\n",
        "connection"
    );
    for &place in largest.iter().take(SHOWN) {
        let (plan, queue) = (&flows[place], run.flows[place].queue.unwrap_or_default());
        let goodput = goodputs.get(place).and_then(|flow| flow.goodput_bps).unwrap_or(0) as f64 / 1e6;
        out += &format!(
            "{:<width$}{:>9.1}{:>9.2}{:>9.2}{goodput:>9.2}{:>9}{:>9}{:>23.1}{:>8.1}\n",
            plan.name,
            bytes(place) as f64 / 1e3,
            plan.start_ns as f64 / 1e9,
            plan.stop_ns as f64 / 1e9,
            queue.drops,
            queue.marks,
            queue.waited_mean_ns as f64 / 1e6,
            queue.waited_max_ns as f64 / 1e6,
        );
    }
    if largest.len() > SHOWN {
        out += &format!("and {} more, which -o DIR and --json FILE have\n", largest.len() - SHOWN);
    }
    out
}

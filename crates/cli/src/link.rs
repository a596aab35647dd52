//! `goodqueue link -- COMMAND`: runs a program behind an emulated link, and tells what its packets met.

use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::time::{Duration, Instant};

use goodqueue::Rate;
use goodqueue_experiment::live::link::{Exposed, Link, Moment, Report, WayReport};
use goodqueue_experiment::{Error, Plan, Request};
use goodqueue_wire::{Interrupt, send_signal};

use crate::args::LinkArgs;

/// How long one wait for a signal lasts; after it the program is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// Time between two lines of `--watch`.
const SECOND: Duration = Duration::from_secs(1);
/// How long the link stays, after the program, without a packet.
const SILENCE: Duration = Duration::from_secs(2);
const SIGINT: i32 = 2;

/// Runs the program; its exit code.
///
/// # Errors
/// [`Error::Usage`] before anything is made, [`Error::Machine`] with what this machine lacks.
pub fn command(args: &LinkArgs) -> Result<ExitCode, Error> {
    let plan = plan(args)?;
    let exposed = args
        .expose
        .iter()
        .map(|text| text.parse::<Exposed>().map_err(|why| Error::Usage(format!("--expose {text}: {why}"))));
    let exposed = exposed.collect::<Result<Vec<_>, _>>()?;
    for warning in &plan.warnings {
        eprintln!("goodqueue: {warning}");
    }
    // Before the first thread, which would otherwise take the signals.
    let interrupt = Interrupt::new().map_err(Error::machine)?;
    let link = Link::start(&plan, &exposed)?;
    // After the link, which may not be possible: no empty file is left behind.
    let report_to = args.json.as_deref().map(create).transpose()?;
    let words = words(args);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    let mut child = match link.spawn(&mut command) {
        Ok(child) => child,
        Err(error) => {
            eprintln!("goodqueue: {}: {error}", words[0].display());
            return Ok(ExitCode::from(if error.kind() == ErrorKind::NotFound { 127 } else { 126 }));
        }
    };
    let rates = [plan.link.up_bps, plan.link.down_bps].map(Rate);
    let status = wait(&mut child, &link, &interrupt, args.watch.then_some(rates))?;
    drain(&link, &interrupt)?;
    let report = link.stop()?;
    let code = code(status);
    if !args.quiet {
        eprint!("{}", table(&words[0], &report, rates));
    }
    if let Some((mut file, name)) = report_to {
        let json = serde_json::json!({ "exit_code": code, "report": report });
        writeln!(file, "{json}").map_err(|error| Error::Machine(format!("{name}: {error}")))?;
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

fn plan(args: &LinkArgs) -> Result<Plan, Error> {
    let request = Request {
        // The test is not run: the program is the load.
        test: "ping".into(),
        live: true,
        rate: args.rate.clone(),
        up: args.up.clone(),
        down: args.down.clone(),
        rtt: Some(args.rtt.clone()),
        queue: Some(args.queue.clone()),
        loss: args.loss.clone(),
        ring: args.ring,
        bql: args.bql,
        ecn: args.ecn,
        seed: Some(args.seed),
        ..Request::default()
    };
    let plan = Plan::resolve(&request)?;
    match &plan.queues[..] {
        [_] => Ok(plan),
        queues => Err(Error::Usage(format!(
            "--queue {}: a link has one queue, and these are {}; run the program once with each",
            args.queue,
            queues.len()
        ))),
    }
}

fn create(path: &Path) -> Result<(File, String), Error> {
    let name = path.display().to_string();
    let file = File::create(path).map_err(|error| Error::Usage(format!("--json {name}: {error}")))?;
    Ok((file, name))
}

/// Waits for the program. Signals to this process alone are passed on to it; Ctrl-C comes to both.
fn wait(
    child: &mut Child,
    link: &Link,
    interrupt: &Interrupt,
    watched: Option<[Rate; 2]>,
) -> Result<ExitStatus, Error> {
    let mut next = Instant::now() + SECOND;
    let mut before = link.now();
    let mut is_there = true;
    loop {
        if let Some(signal) = interrupt.wait(LOOK).map_err(Error::machine)?
            && signal != SIGINT
        {
            send_signal(child.id(), signal).map_err(Error::machine)?;
        }
        if let Some(status) = child.try_wait().map_err(Error::machine)? {
            return Ok(status);
        }
        if is_there && !link.is_running() {
            is_there = false;
            eprintln!("goodqueue: the link is gone; the program goes on without it");
        }
        if Instant::now() >= next {
            next += SECOND;
            let now = link.now();
            if let Some(rates) = watched {
                eprintln!("goodqueue: {}", watch_line(before, now, rates));
            }
            before = now;
        }
    }
}

/// Waits until what the program has sent is delivered: until no connection to a service is open and no packet
/// is under way, or nothing has passed for [`SILENCE`]. A signal ends the wait.
fn drain(link: &Link, interrupt: &Interrupt) -> Result<(), Error> {
    let (mut before, mut since) = (link.now(), Instant::now());
    while link.is_running() && !link.is_idle() && since.elapsed() < SILENCE {
        if interrupt.wait(LOOK).map_err(Error::machine)?.is_some() {
            break;
        }
        let now = link.now();
        if now != before {
            (before, since) = (now, Instant::now());
        }
    }
    Ok(())
}

/// What happened in the last second.
fn watch_line(before: [Moment; 2], now: [Moment; 2], rates: [Rate; 2]) -> String {
    let way = |name: &str, way: usize| {
        let (before, now) = (before[way], now[way]);
        let mbit = mbit(now.sent_bytes - before.sent_bytes, 1.0);
        let waits = waits(now.waiting_bytes, rates[way]);
        let drops = now.dropped - before.dropped;
        let dropped = if drops > 0 { format!(", {drops} dropped") } else { String::new() };
        format!("{name} {mbit:.2} Mbit/s, {waits:.1} ms in the queue{dropped}")
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

/// The report for people.
#[allow(clippy::cast_precision_loss)]
fn table(program: &OsString, report: &Report, [up, down]: [Rate; 2]) -> String {
    let seconds = report.ran_ns as f64 / 1e9;
    let rtt = report.link.rtt_ns.first().map_or(0.0, |&ns| ns as f64 / 1e6);
    let mut out = format!(
        "goodqueue: {} ran {seconds:.1} s behind {down} down, {up} up, {rtt} ms, {}\n\n",
        program.display(),
        report.queue
    );
    out += "                                           ms in the queue\n";
    out += "       Mbit/s  packets  dropped   marked     50%     95%     99%     max\n";
    for (name, way) in [("up", &report.up), ("down", &report.down)] {
        out += &row(name, way, seconds);
    }
    let drops = |way: &WayReport| {
        let each: Vec<String> = way.drops.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        each.join(", ")
    };
    for (name, way) in [("up", &report.up), ("down", &report.down)] {
        if !way.drops.is_empty() {
            out += &format!("dropped {name}: {}\n", drops(way));
        }
    }
    if report.refused_connections > 0 {
        out += &format!(
            "{} connections to services were refused: too many at once\n",
            report.refused_connections
        );
    }
    for why in &report.invalid {
        out += &format!("this was not the link that you asked for: {why}\n");
    }
    out
}

fn row(name: &str, way: &WayReport, seconds: f64) -> String {
    let dropped: u64 = way.drops.values().sum();
    let mut row = format!(
        "{name:<5}{:>8.2}{:>9}{dropped:>9}{:>9}",
        mbit(way.sent_bytes, seconds.max(1e-9)),
        way.sent_packets,
        way.marks
    );
    for ns in way.waited_ns.into_iter().flatten() {
        #[allow(clippy::cast_precision_loss)]
        let ms = ns as f64 / 1e6;
        row += &format!("{ms:>8.1}");
    }
    row + "\n"
}

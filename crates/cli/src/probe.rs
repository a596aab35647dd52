//! `goodqueue probe HOST`: measures a path with irtt's protocol.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use goodqueue::Span;
use goodqueue_experiment::Error;
use goodqueue_path::client::{EMSGSIZE, OpenFailure, Plan, Session, Summary, Update};
use goodqueue_path::endless;
use goodqueue_path::fill::Fill;
use goodqueue_path::irtt_json::{About, document};
use goodqueue_path::marks::Ecn;
use goodqueue_path::params::{Params, Refusal, VERSION};
use goodqueue_path::result::Trips;
use goodqueue_probe::Dscp;
use goodqueue_probe::echo::{Gaps, Schedule};
use goodqueue_probe::net::{ClockWatch, random_u64};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args::{ClockArg, DfArg, EcnArg, ProbeArgs, StampsArg, StatsArg};
use crate::output::{check_parent, kept, print, print_aside, print_json};
use crate::path_values::{asked_version, host_and_port, key, positive, resolve, span, with_address};
use crate::probe_table::Shown;
use crate::probe_view::{Events, Minutes, View};
use crate::stream;
use crate::system::Interrupt;

/// Time between two checks for a signal.
const LOOK: Duration = Duration::from_millis(100);
/// A server that has not answered for this long at the end has stopped, ns.
const SILENCE: i64 = 3_000_000_000;
/// A session without end is replaced by a new one after this time without a reply.
const RENEW: Span = Span::from_secs(10);
/// The length that a request for a session without end names, nanoseconds: ten years.
const FOREVER: i64 = 10 * 365 * 86_400 * 1_000_000_000;
/// Time between probes, where nothing else is asked for.
const INTERVAL: &str = "20ms";
/// Updates that wait for a reader of the stream; the prober waits where there are more.
const WAITING: usize = 65_536;
/// Bytes that IP headers take in a probe to a server of ours.
const IP_BYTES: u16 = 4;
/// Most bytes of a file of gaps.
const MOST_TRACE: u64 = 16 << 20;

/// Measures, shows the figures and writes the file.
///
/// # Errors
/// [`Error::Usage`] for a wrong flag, [`Error::Machine`] if the name cannot be resolved, or if the server
/// cannot be reached or stops answering, [`Error::Interrupted`] after a signal. By then, what was measured
/// has been shown and written.
pub fn command(args: &ProbeArgs) -> Result<(), Error> {
    let plan = plan(args)?;
    let server = plan.server;
    let output = args.output.as_deref().map(Output::claim).transpose()?;
    let interrupt = Interrupt::new().map_err(Error::machine)?;
    let stop = AtomicBool::new(false);
    let end = std::thread::scope(|scope| {
        let (sender, updates) = sync_channel(WAITING);
        let (stop, plan) = (&stop, &plan);
        let measuring = scope.spawn(move || measure(plan, stop, &sender));
        let watched = watch(args, plan, &updates, &interrupt, stop);
        stop.store(true, Ordering::Relaxed);
        let measured = measuring.join().map_err(|_| Error::Machine("the prober's thread panicked".into()))?;
        Ok((watched, measured))
    });
    let (Watched { begun, signal }, measured) = end?;
    let Some((begun, trips)) = begun else {
        if let Some(output) = output {
            output.give_back();
        }
        return Err(match (signal, measured) {
            (Some(signal), _) => Error::Interrupted(signal),
            (None, Err(failure)) => explain(&failure, args, server),
            (None, Ok(_)) => Error::Machine("the session did not begin".into()),
        });
    };
    let (summary, failure) = match measured {
        Ok((summary, failure)) => (summary, failure),
        Err(failure) => (Summary::default(), Some(failure.to_string())),
    };
    if trips.sent() == 0 {
        if let Some(output) = output {
            output.give_back();
        }
        let end = verdict(args, server, &trips, &summary, failure);
        return signal.map_or(end, |signal| Err(Error::Interrupted(signal)));
    }
    let shown = show(args, &plan, &begun, &trips, &summary);
    let kept = output.map_or(Ok(()), |output| {
        let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let about = About {
            program: concat!("goodqueue ", env!("CARGO_PKG_VERSION")),
            hostname: hostname.trim(),
            plan: &plan,
            host: &args.host,
            local: begun.local,
            params: &begun.params,
            layout: trips.layout(),
            summary: &summary,
        };
        output.write(&document(&about, &trips))
    });
    shown.and(kept)?;
    if let Some(signal) = signal {
        return Err(Error::Interrupted(signal));
    }
    verdict(args, server, &trips, &summary, failure)
}

/// The first message of the measuring thread: the session.
struct Begun {
    params: Params,
    size: usize,
    local: SocketAddr,
}

/// The messages of the measuring thread.
enum News {
    Begun(Box<(Begun, Trips)>),
    Update(Update),
}

type Measured = Result<(Summary, Option<String>), OpenFailure>;

/// Opens the session and runs it.
fn measure(plan: &Plan, stop: &AtomicBool, sender: &SyncSender<News>) -> Measured {
    let session = Session::open(plan.clone(), stop)?;
    let local = session.local_addr().map_err(OpenFailure::Socket)?;
    let (layout, sent_ip, interval) = (session.layout(), session.sent_ip(), session.params().interval);
    let trips = match plan.silence {
        None => Trips::new(layout, sent_ip),
        Some(_) => Trips::without_end(layout, sent_ip, interval),
    };
    let begun = Begun { params: session.params().clone(), size: session.size(), local };
    // If the receiver is gone, nobody needs more.
    let _ = sender.send(News::Begun(Box::new((begun, trips))));
    let mut sink = |update| drop(sender.send(News::Update(update)));
    if plan.silence.is_some() {
        let (summary, end) = endless::run(session, stop, &mut sink);
        return Ok((summary, end.err().map(|error| error.to_string())));
    }
    match session.run(stop, &mut sink) {
        Ok(summary) => Ok((summary, None)),
        Err(error) if error.raw_os_error() == Some(EMSGSIZE) => {
            let why = "a probe does not fit into one packet of the path; take a smaller --size, or --df off";
            Ok((Summary::default(), Some(why.into())))
        }
        Err(error) => Ok((Summary::default(), Some(error.to_string()))),
    }
}

/// The state of the session as far as it is known.
struct Watched {
    begun: Option<(Begun, Trips)>,
    signal: Option<i32>,
}

/// Collects the session's messages, shows its progress, and stops it at a signal.
fn watch(
    args: &ProbeArgs,
    plan: &Plan,
    news: &Receiver<News>,
    interrupt: &Interrupt,
    stop: &AtomicBool,
) -> Watched {
    let mut watched = Watched { begun: None, signal: None };
    let mut progress = Progress::new(args, plan);
    let say = |text: &str| {
        let mut stdout = io::stdout().lock();
        // If the reader is gone (`| head`), no more probes are needed.
        if stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).is_err() {
            stop.store(true, Ordering::Relaxed);
        }
    };
    loop {
        match news.recv_timeout(LOOK) {
            Ok(News::Begun(begun)) => {
                progress.begin(&begun.0.params);
                args.stream.map(stream::head).into_iter().for_each(say);
                watched.begun = Some(*begun);
            }
            Ok(News::Update(update)) => {
                if let Some((_, trips)) = &mut watched.begun {
                    trips.take(&update);
                    let line = args.stream.and_then(|format| stream::line(format, &update, trips));
                    line.iter().for_each(|line| say(line));
                    progress.update(&update, trips);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if let Some((_, trips)) = &watched.begun {
            progress.look(trips);
        }
        if watched.signal.is_none()
            && let Ok(Some(signal)) = interrupt.wait(Duration::ZERO)
        {
            watched.signal = Some(signal);
            stop.store(true, Ordering::Relaxed);
        }
    }
    progress.end();
    watched
}

/// What is seen while it is measured: a view where the terminal can have one, a line on another terminal, and
/// words about a session without end.
struct Progress {
    shown: Shape,
    title: String,
    is_endless: bool,
    events: Events,
    interval_ns: u64,
    replies: u64,
    lost: u64,
}

enum Shape {
    Nothing,
    View(View),
    Bar(ProgressBar),
    Minutes(Minutes),
}

impl Progress {
    fn new(args: &ProbeArgs, plan: &Plan) -> Progress {
        let is_line = !args.json && args.stream.is_none() && io::stderr().is_terminal();
        let shown = if args.quiet {
            Shape::Nothing
        } else if is_line {
            let bar = ProgressBar::new_spinner();
            bar.set_message(format!("asking {} for a session", plan.server));
            bar.enable_steady_tick(LOOK);
            Shape::Bar(bar)
        } else if plan.silence.is_some() {
            Shape::Minutes(Minutes::default())
        } else {
            Shape::Nothing
        };
        let title = with_address(&args.host, plan.server);
        let is_endless = plan.silence.is_some();
        Progress { shown, title, is_endless, events: Events::default(), interval_ns: 1, replies: 0, lost: 0 }
    }

    fn begin(&mut self, params: &Params) {
        self.interval_ns = params.interval.max(1).unsigned_abs();
        let Shape::Bar(bar) = &mut self.shown else { return };
        bar.finish_and_clear();
        let length = if self.is_endless { "until Ctrl-C".into() } else { time(params.duration) };
        let title = format!("{}: a probe every {}, {length}", self.title, time(params.interval));
        if let Some(view) = View::new(title) {
            self.shown = Shape::View(view);
            return;
        }
        let total = params.duration.max(0).unsigned_abs().div_ceil(self.interval_ns);
        let style = ProgressStyle::with_template("{bar:24.cyan/blue} {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        *bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(5));
        bar.set_style(style);
    }

    #[allow(clippy::cast_precision_loss)]
    fn update(&mut self, update: &Update, trips: &Trips) {
        self.events.note(update, trips);
        match update {
            Update::Lost { .. } => self.lost += 1,
            Update::Reply { .. } => self.replies += 1,
            _ => return,
        }
        let (Update::Reply { echo, .. }, Shape::Bar(bar)) = (update, &self.shown) else { return };
        let sent = trips.sent();
        let left = bar.length().unwrap_or(sent).saturating_sub(sent) * self.interval_ns;
        bar.set_position(sent);
        bar.set_message(format!(
            "{:>3.0} s left  RTT {:8.3} ms  {} answered, {} lost",
            left as f64 / 1e9,
            echo.rtt() as f64 / 1e6,
            self.replies,
            self.lost
        ));
    }

    /// To be called now and then.
    fn look(&mut self, trips: &Trips) {
        if trips.sent() == 0 {
            return;
        }
        let now = || ClockWatch::new().now().mono.saturating_sub(trips.start());
        match &mut self.shown {
            Shape::View(view) => view.draw(trips, &mut self.events, now),
            Shape::Minutes(minutes) => {
                for line in minutes.look(trips, &mut self.events, now()) {
                    announce!("{line}");
                }
            }
            Shape::Nothing | Shape::Bar(_) => {}
        }
    }

    fn end(self) {
        match self.shown {
            Shape::View(view) => view.end(),
            Shape::Bar(bar) => bar.finish_and_clear(),
            Shape::Nothing | Shape::Minutes(_) => {}
        }
    }
}

/// A time as it is typed.
fn time(ns: i64) -> String {
    const HOUR: u64 = 3_600_000_000_000;
    let ns = ns.unsigned_abs();
    if ns > 0 && ns.is_multiple_of(HOUR) { format!("{}h", ns / HOUR) } else { Span(ns).to_string() }
}

fn show(args: &ProbeArgs, plan: &Plan, begun: &Begun, trips: &Trips, summary: &Summary) -> Result<(), Error> {
    let figures = trips.figures();
    let shown = Shown {
        host: &args.host,
        server: plan.server,
        size: (plan.least_size.map_or(begun.size, |(least, _)| usize::from(least)), begun.size),
        schedule: &args.schedule,
        interval_ns: begun.params.interval,
        tos: u8::try_from(begun.params.tos).unwrap_or(0),
        figures: &figures,
        marks: trips.marks(),
        summary,
    };
    if args.stream.is_some() {
        // Standard output has the probes.
        if !args.quiet {
            print_aside(&shown.table());
        }
        return Ok(());
    }
    if args.json { print_json(&shown.json()) } else { print(&shown.table()) }
}

/// How the session ended.
fn verdict(
    args: &ProbeArgs,
    server: SocketAddr,
    trips: &Trips,
    summary: &Summary,
    failure: Option<String>,
) -> Result<(), Error> {
    let (at, sent) = (with_address(&args.host, server), trips.sent());
    if let Some(why) = failure {
        let kept = if sent > 0 { "; what was measured is kept" } else { "" };
        return Err(Error::Machine(format!("{at}: {why}{kept}")));
    }
    match (summary.last_reply, summary.last_sent) {
        _ if sent == 0 => Err(Error::Machine(format!("{at}: no probe could be sent"))),
        (None, _) => {
            Err(Error::Machine(format!("{at} granted a session and answered none of {sent} probes")))
        }
        (Some(reply), Some(probe)) if probe - reply > SILENCE => {
            let silent = (probe - reply) / 1_000_000_000;
            let why = if summary.unreachable > 0 { ": nobody listens there any more" } else { "" };
            Err(Error::Machine(format!(
                "{at} stopped answering {silent} s before the end{why}; what was measured is kept. See \
                 whether the server still runs and the path is up"
            )))
        }
        _ => Ok(()),
    }
}

/// Why there was no session, and what to do about it.
fn explain(failure: &OpenFailure, args: &ProbeArgs, server: SocketAddr) -> Error {
    let at = with_address(&args.host, server);
    let machine = |why: String| Error::Machine(format!("{at}: {why}"));
    match failure {
        OpenFailure::Socket(error)
            if error.kind() == io::ErrorKind::AddrNotAvailable && args.local.is_some() =>
        {
            Error::Usage(format!(
                "--local: this machine does not have the address, or no route from it to {at}"
            ))
        }
        OpenFailure::Unreachable => machine(format!(
            "refused: nobody listens on UDP port {} there; start `goodqueue server` on it",
            server.port()
        )),
        OpenFailure::Silent => machine(
            "no answer; is the host right, is a server running there, does every firewall let its UDP port \
             through, and is the key the same at both ends?"
                .into(),
        ),
        OpenFailure::Stopped => Error::Interrupted(2),
        OpenFailure::Refused(Some(Refusal::Full)) => {
            machine("refused: the server has reached its limit of sessions; try again later".into())
        }
        OpenFailure::Refused(Some(Refusal::PrefixFull)) => {
            machine("refused: your network has reached this server's limit of sessions".into())
        }
        OpenFailure::Refused(_) => {
            machine("refused: the server grants no session and does not say why".into())
        }
        OpenFailure::Socket(_) | OpenFailure::Version(_) | OpenFailure::OtherVersion => {
            machine(failure.to_string())
        }
        OpenFailure::Params(error) => machine(format!("the server's answer is not valid: {error}")),
        OpenFailure::Restricted(params) => Error::Usage(format!(
            "{at} allows less than was asked for: {}",
            asked(args).map(|Asked { params: own, .. }| less(&own, params)).unwrap_or_default()
        )),
    }
}

/// What to type instead, where the server allows `got` and not what was `asked` for.
fn less(asked: &Params, got: &Params) -> String {
    let mut flags: Vec<String> = Vec::new();
    if got.duration != asked.duration {
        flags.push(format!("--length {}", time(got.duration)));
    }
    if got.interval != asked.interval {
        flags.push(format!("--interval {}", time(got.interval)));
    }
    if got.length != asked.length {
        flags.push(format!("--size {}", got.length));
    }
    let words: [(&str, i64, i64, &[&str]); 3] = [
        ("--stats", asked.received, got.received, &["none", "count", "window", "both"]),
        ("--stamps", asked.stamps, got.stamps, &["none", "send", "receive", "both", "midpoint"]),
        ("--clock", asked.clocks, got.clocks, &["", "wall", "monotonic", "both"]),
    ];
    for (flag, _, got, words) in words.into_iter().filter(|(_, asked, got, _)| asked != got) {
        match usize::try_from(got).ok().and_then(|place| words.get(place)) {
            Some(word) if !word.is_empty() => flags.push(format!("{flag} {word}")),
            _ => flags.push(format!("another {flag}")),
        }
    }
    if got.tos != asked.tos {
        flags.push("--dscp CS0 --ecn not-ect".into());
    }
    let mut cures: Vec<String> = Vec::new();
    if !flags.is_empty() {
        cures.push(format!("write {}", flags.join(" ")));
    }
    if got.fill != asked.fill {
        cures.push("leave --server-fill out".into());
    }
    match &cures[..] {
        [] => "add --loose".into(),
        cures => format!("{}, or add --loose", cures.join(" and ")),
    }
}

/// What is asked for.
struct Asked {
    params: Params,
    schedule: Schedule,
    /// The least size, where sizes are random.
    least: Option<u16>,
    is_endless: bool,
}

/// `60`, or `60..1400`: the least one if they differ, and the greatest.
fn sizes(text: &str) -> Result<(Option<u16>, u16), Error> {
    let wrong = |why: &str| Error::Usage(format!("--size {text}: {why}"));
    let number =
        |text: &str| text.parse::<u16>().map_err(|_| wrong("a number of bytes, or two of them: 100..1400"));
    let Some((least, most)) = text.split_once("..") else { return Ok((None, number(text)?)) };
    match (number(least)?, number(most)?) {
        (least, most) if least > most => Err(wrong("the first number is the minimum size")),
        (least, most) => Ok((Some(least), most)),
    }
}

/// The schedule, and the mean time between probes.
fn schedule(args: &ProbeArgs) -> Result<(Schedule, Span), Error> {
    let text = &args.schedule;
    let interval = args.interval.as_deref().unwrap_or(INTERVAL);
    let (schedule, interval) = match text.as_str() {
        "isochronous" => (Schedule::Isochronous, positive("interval", interval)?),
        "poisson" => {
            (Schedule::Poisson(random_u64().map_err(Error::machine)?), positive("interval", interval)?)
        }
        _ => {
            let Some(file) = text.strip_prefix("trace:") else {
                return Err(Error::Usage(format!(
                    "--schedule {text}: use isochronous, poisson or trace:FILE"
                )));
            };
            if args.interval.is_some() {
                return Err(Error::Usage(
                    "--interval: the file of --schedule has the times between probes".into(),
                ));
            }
            let wrong = |error: &dyn std::fmt::Display| Error::Usage(format!("--schedule {text}: {error}"));
            let mut content = String::new();
            File::open(file)
                .and_then(|file| file.take(MOST_TRACE).read_to_string(&mut content))
                .map_err(|error| wrong(&error))?;
            let gaps = Gaps::parse(&content).map_err(|error| wrong(&error))?;
            let mean = gaps.mean();
            (Schedule::Trace(gaps), mean)
        }
    };
    if interval < Span(100_000) {
        let flag = if matches!(schedule, Schedule::Trace(_)) { "schedule" } else { "interval" };
        return Err(Error::Usage(format!("--{flag}: {interval} between probes; 100us at least")));
    }
    Ok((schedule, interval))
}

fn asked(args: &ProbeArgs) -> Result<Asked, Error> {
    let ns = |span: Span| i64::try_from(span.0).unwrap_or(i64::MAX);
    let dscp: Dscp =
        args.dscp.parse().map_err(|error| Error::Usage(format!("--dscp {}: {error}", args.dscp)))?;
    let ecn = match args.ecn {
        EcnArg::NotEct => Ecn::NotEct,
        EcnArg::Ect0 => Ecn::Ect0,
        EcnArg::Ect1 => Ecn::Ect1,
        EcnArg::Ce => Ecn::Ce,
    };
    let is_endless = args.length == "forever";
    if is_endless && args.output.is_some() {
        return Err(Error::Usage(
            "--output: it keeps every probe, so the session needs an end; --stream writes a line for each"
                .into(),
        ));
    }
    let duration = if is_endless { FOREVER } else { ns(positive("length", &args.length)?) };
    let (schedule, interval) = schedule(args)?;
    let (least, most) = args.size.as_deref().map_or(Ok((None, 0)), sizes)?;
    let received = match args.stats {
        StatsArg::None => 0,
        StatsArg::Count => 1,
        StatsArg::Window => 2,
        StatsArg::Both => 3,
    };
    let stamps = match args.stamps {
        StampsArg::None => 0,
        StampsArg::Send => 1,
        StampsArg::Receive => 2,
        StampsArg::Both => 3,
        StampsArg::Midpoint => 4,
    };
    let clocks = match args.clock {
        ClockArg::Wall => 1,
        ClockArg::Monotonic => 2,
        ClockArg::Both => 3,
    };
    let fill = args.server_fill.clone();
    if fill.len() > goodqueue_path::params::MAX_FILL || !fill.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Error::Usage(format!(
            "--server-fill {fill}: rand, none or pattern:HEX, up to 32 characters"
        )));
    }
    let params = Params {
        version: VERSION,
        duration,
        interval: ns(interval),
        length: i64::from(most),
        received,
        stamps,
        clocks,
        tos: i64::from(dscp.tos() | ecn.bits()),
        fill,
        refusal: 0,
        ip: 0,
    };
    let layout =
        params.layout(args.key.key.is_some() || args.key.key_file.is_some()).map_err(Error::usage)?;
    let header = u16::try_from(layout.header_len()).unwrap_or(u16::MAX);
    let smallest = least.unwrap_or(most);
    if let (Some(size), true) = (&args.size, smallest < header) {
        return Err(Error::Usage(format!("--size {size}: the protocol's header takes {header} bytes")));
    }
    // The server reports how probes arrived, if there is room in the packet.
    let has_room = args.size.is_none() || smallest >= header + IP_BYTES;
    Ok(Asked { params: Params { ip: i64::from(has_room), ..params }, schedule, least, is_endless })
}

fn plan(args: &ProbeArgs) -> Result<Plan, Error> {
    let Asked { params, schedule, least, is_endless } = asked(args)?;
    let key = key(&args.key)?;
    let seed = random_u64().map_err(Error::machine)?;
    let least_size = least.map(|least| (least, seed));
    let silence = is_endless.then_some(RENEW);
    let fill = Fill::parse(&args.fill, seed)
        .ok_or_else(|| Error::Usage(format!("--fill {}: use none, rand or pattern:HEX", args.fill)))?;
    let times = args.timeouts.split(',').map(|text| positive("timeouts", text.trim()));
    let timeouts = times.collect::<Result<Vec<Span>, Error>>()?;
    let wait = span("wait", &args.wait)?;
    let (host, port) = host_and_port(&args.host)?;
    let port = args.port.or(port).unwrap_or(goodqueue_path::PORT);
    let server = resolve(host, port, asked_version(args.ipv4, args.ipv6))?;
    let local = args.local.as_deref().map(|text| local(text, server)).transpose()?;
    let fragments = args.df.map(|df| df == DfArg::Off);
    let loose = args.loose;
    Ok(Plan {
        server,
        local,
        params,
        schedule,
        least_size,
        silence,
        key,
        loose,
        fill,
        ttl: args.ttl,
        fragments,
        timeouts,
        wait,
    })
}

fn local(text: &str, server: SocketAddr) -> Result<SocketAddr, Error> {
    let (host, port) = host_and_port(text)?;
    let wrong = |why: &str| Error::Usage(format!("--local {text}: {why}"));
    let ip: IpAddr = host.parse().map_err(|_| wrong("not an address, or an address and :PORT"))?;
    if ip.is_ipv4() != server.is_ipv4() {
        return Err(wrong(&format!("not of the family of {}", server.ip())));
    }
    Ok(SocketAddr::new(ip, port.unwrap_or(0)))
}

/// The file of `-o`, created before anything is measured.
struct Output<'a> {
    path: &'a Path,
    file: File,
}

impl Output<'_> {
    fn claim(path: &Path) -> Result<Output<'_>, Error> {
        let refuse = |why: &str| Error::Usage(format!("--output {}: {why}", path.display()));
        let name = path.to_string_lossy();
        if !name.ends_with(".json.gz") && !name.ends_with(".json") {
            return Err(refuse("irtt's format ends in .irtt.json.gz, .json.gz or .json"));
        }
        check_parent(path)?;
        match File::create_new(path) {
            Ok(file) => Ok(Output { path, file }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(refuse("name a new file")),
            Err(error) => Err(refuse(&error.to_string())),
        }
    }

    /// Removes it: nothing was measured.
    fn give_back(self) {
        // An empty file that remains does no harm.
        let _ = std::fs::remove_file(self.path);
    }

    /// Writes it. If that fails, writes it among the temporary files instead, and says where.
    fn write(mut self, document: &serde_json::Value) -> Result<(), Error> {
        let mut bytes = serde_json::to_vec_pretty(document).map_err(Error::machine)?;
        let mut suffix = "irtt.json";
        if self.path.extension().is_some_and(|suffix| suffix == "gz") {
            let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
            bytes = gzip.write_all(&bytes).and_then(|()| gzip.finish()).map_err(Error::machine)?;
            suffix = "irtt.json.gz";
        }
        let Err(error) = self.file.write_all(&bytes) else { return Ok(()) };
        let path = self.path;
        // A part of a file is of no use.
        self.give_back();
        Err(kept("--output", path, &error, suffix, &bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_size_panics_and_what_is_read_is_read_again(
            any in "\\PC{0,20}",
            words in "[0-9]{0,6}(\\.\\.[0-9]{0,6})?",
        ) {
            for text in [any, words] {
                match sizes(&text) {
                    Ok((least, most)) => {
                        prop_assert!(least.is_none_or(|least| least <= most), "{}", text);
                        let again = least.map_or(most.to_string(), |least| format!("{least}..{most}"));
                        prop_assert!(sizes(&again).is_ok_and(|read| read == (least, most)), "{}", text);
                    }
                    Err(why) => prop_assert!(why.to_string().starts_with("--size"), "{}", why),
                }
            }
        }
    }

    #[test]
    fn what_a_server_allows_is_told_as_it_is_typed() {
        let asked = Params {
            duration: 7_200_000_000_000,
            interval: 1_000_000,
            received: 3,
            fill: "zero".into(),
            ..Params::default()
        };
        let all =
            Params { duration: 3_600_000_000_000, interval: 10_000_000, received: 1, ..Params::default() };
        assert_eq!(
            less(&asked, &all),
            "write --length 1h --interval 10ms --stats count and leave --server-fill out, or add --loose"
        );
        let fill = Params { fill: "none".into(), ..asked.clone() };
        assert_eq!(less(&asked, &fill), "leave --server-fill out, or add --loose");
        assert_eq!((time(90_000_000_000), time(0)), ("90s".to_owned(), "0s".to_owned()));
    }
}

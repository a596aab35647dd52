//! `goodqueue probe HOST`: measures a path with irtt's protocol.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use goodqueue::Span;
use goodqueue_experiment::Error;
use goodqueue_path::client::{EMSGSIZE, OpenFailure, Plan, Session, Summary, Update};
use goodqueue_path::fill::Fill;
use goodqueue_path::irtt_json::{About, document};
use goodqueue_path::params::{Params, Refusal, VERSION};
use goodqueue_path::result::Trips;
use goodqueue_probe::Dscp;
use goodqueue_probe::net::random_u64;
use goodqueue_wire::Interrupt;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args::{ClockArg, DfArg, ProbeArgs, StampsArg, StatsArg};
use crate::output::{check_parent, print, print_json};
use crate::path_values::{Family, host_and_port, key, positive, resolve, span};
use crate::probe_table::Shown;
use crate::stream;

/// Time between two checks for a signal.
const LOOK: Duration = Duration::from_millis(100);
/// A server that has not answered for this long at the end has stopped, ns.
const SILENCE: i64 = 3_000_000_000;

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
        let (sender, updates) = channel();
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
    if trips.all().is_empty() {
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
fn measure(plan: &Plan, stop: &AtomicBool, sender: &std::sync::mpsc::Sender<News>) -> Measured {
    let session = Session::open(plan.clone(), stop)?;
    let local = session.local_addr().map_err(OpenFailure::Socket)?;
    let tos = u8::try_from(session.params().tos).unwrap_or(0);
    let trips = Trips::new(session.layout(), tos);
    let begun = Begun { params: session.params().clone(), size: session.size(), local };
    // If the receiver is gone, nobody needs more.
    let _ = sender.send(News::Begun(Box::new((begun, trips))));
    let end = session.run(stop, &mut |update| drop(sender.send(News::Update(update))));
    match end {
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

/// The line on a terminal.
struct Progress {
    bar: ProgressBar,
    is_shown: bool,
    interval_ns: u64,
    replies: u64,
    lost: u64,
}

impl Progress {
    fn new(args: &ProbeArgs, plan: &Plan) -> Progress {
        let is_shown = !args.quiet && !args.json && args.stream.is_none() && io::stderr().is_terminal();
        let bar = if is_shown { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        if is_shown {
            bar.set_message(format!("asking {} for a session", plan.server));
            bar.enable_steady_tick(LOOK);
        }
        Progress { bar, is_shown, interval_ns: 1, replies: 0, lost: 0 }
    }

    fn begin(&mut self, params: &Params) {
        self.interval_ns = params.interval.max(1).unsigned_abs();
        if !self.is_shown {
            return;
        }
        let total = params.duration.max(0).unsigned_abs().div_ceil(self.interval_ns);
        let style = ProgressStyle::with_template("{bar:24.cyan/blue} {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        self.bar.finish_and_clear();
        self.bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(5));
        self.bar.set_style(style);
    }

    #[allow(clippy::cast_precision_loss)]
    fn update(&mut self, update: &Update, trips: &Trips) {
        match update {
            Update::Sent { .. } => return,
            Update::Lost { .. } => self.lost += 1,
            Update::Reply { .. } => self.replies += 1,
        }
        let Update::Reply { echo, .. } = update else { return };
        if !self.is_shown {
            return;
        }
        let sent = trips.all().len() as u64;
        let left = self.bar.length().unwrap_or(sent).saturating_sub(sent) * self.interval_ns;
        self.bar.set_position(sent);
        self.bar.set_message(format!(
            "{:>3.0} s left  RTT {:8.3} ms  {} answered, {} lost",
            left as f64 / 1e9,
            echo.rtt() as f64 / 1e6,
            self.replies,
            self.lost
        ));
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}

fn show(args: &ProbeArgs, plan: &Plan, begun: &Begun, trips: &Trips, summary: &Summary) -> Result<(), Error> {
    let figures = trips.figures();
    let shown = Shown {
        host: &args.host,
        server: plan.server.to_string(),
        size: begun.size,
        interval_ns: begun.params.interval,
        tos: u8::try_from(begun.params.tos).unwrap_or(0),
        figures: &figures,
        marks: trips.marks(),
        summary,
    };
    if args.stream.is_some() {
        // Standard output has the probes.
        if !args.quiet {
            eprint!("{}", shown.table());
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
    let (host, sent) = (&args.host, trips.all().len());
    if let Some(why) = failure {
        let kept = if sent > 0 { "; what was measured is kept" } else { "" };
        return Err(Error::Machine(format!("{host} ({server}): {why}{kept}")));
    }
    match (summary.last_reply, summary.last_sent) {
        _ if sent == 0 => Err(Error::Machine(format!("{host} ({server}): no probe could be sent"))),
        (None, _) => Err(Error::Machine(format!(
            "{host} ({server}) granted a session and answered none of {sent} probes"
        ))),
        (Some(reply), Some(probe)) if probe - reply > SILENCE => {
            let silent = (probe - reply) / 1_000_000_000;
            let why = if summary.unreachable > 0 { ": nobody listens there any more" } else { "" };
            Err(Error::Machine(format!(
                "{host} ({server}) stopped answering {silent} s before the end{why}; what was measured is kept"
            )))
        }
        _ => Ok(()),
    }
}

/// Why there was no session, and what to do about it.
fn explain(failure: &OpenFailure, args: &ProbeArgs, server: SocketAddr) -> Error {
    let at = format!("{} ({server})", args.host);
    let machine = |why: String| Error::Machine(format!("{at}: {why}"));
    match failure {
        OpenFailure::Socket(error) if error.kind() == io::ErrorKind::AddrNotAvailable => {
            Error::Usage(format!("--local: this machine does not have the address, or no route from it to {at}"))
        }
        OpenFailure::Socket(error) => match error.kind() {
            io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => {
                machine("no route to it; check `ip route get`, and the cable or the Wi-Fi".into())
            }
            _ => machine(error.to_string()),
        },
        OpenFailure::Unreachable => machine(format!(
            "refused: nobody listens on UDP port {} there; start `goodqueue server` on it",
            server.port()
        )),
        OpenFailure::Silent => machine(
            "no answer; is a server running there, does every firewall let its UDP port through, and is the key \
             the same at both ends?"
                .into(),
        ),
        OpenFailure::Stopped => Error::Interrupted(2),
        OpenFailure::Refused(Some(Refusal::Full)) => {
            machine("refused: the server has reached its limit of sessions; try again later".into())
        }
        OpenFailure::Refused(Some(Refusal::PrefixFull)) => {
            machine("refused: your network has reached this server's limit of sessions".into())
        }
        OpenFailure::Refused(_) => machine("refused: the server grants no session and does not say why".into()),
        OpenFailure::Version(version) => {
            machine(format!("the server speaks version {version} of the protocol, we speak {VERSION}"))
        }
        OpenFailure::Params(error) => machine(format!("the server's answer is not valid: {error}")),
        OpenFailure::Restricted(params) => Error::Usage(format!(
            "{at} allows less than was asked for: {}; ask for that, or add --loose",
            restrictions(args, params)
        )),
    }
}

/// The parameters that the server changed, with what it allows.
fn restrictions(args: &ProbeArgs, got: &Params) -> String {
    let mut out = Vec::new();
    let Ok(asked) = params(args) else { return String::new() };
    let time = |ns: i64| Span(ns.unsigned_abs()).to_string();
    if got.duration != asked.duration {
        out.push(format!("--length {}", time(got.duration)));
    }
    if got.interval != asked.interval {
        out.push(format!("--interval {}", time(got.interval)));
    }
    if got.length != asked.length {
        out.push(format!("--size {}", got.length));
    }
    if got.received != asked.received {
        out.push("--stats".into());
    }
    if got.stamps != asked.stamps {
        out.push("--stamps".into());
    }
    if got.clocks != asked.clocks {
        out.push("--clock".into());
    }
    if got.tos != asked.tos {
        out.push("--dscp CS0".into());
    }
    if got.fill != asked.fill {
        out.push("no such --server-fill".into());
    }
    out.join(", ")
}

fn params(args: &ProbeArgs) -> Result<Params, Error> {
    let ns = |span: Span| i64::try_from(span.0).unwrap_or(i64::MAX);
    let dscp: Dscp =
        args.dscp.parse().map_err(|error| Error::Usage(format!("--dscp {}: {error}", args.dscp)))?;
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
    let interval = positive("interval", &args.interval)?;
    if interval < Span(100_000) {
        return Err(Error::Usage(format!("--interval {}: 100us at least", args.interval)));
    }
    let params = Params {
        version: VERSION,
        duration: ns(positive("length", &args.length)?),
        interval: ns(interval),
        length: i64::from(args.size.unwrap_or(0)),
        received,
        stamps,
        clocks,
        tos: i64::from(dscp.tos()),
        fill,
        refusal: 0,
    };
    let layout =
        params.layout(args.key.key.is_some() || args.key.key_file.is_some()).map_err(Error::usage)?;
    let least = layout.header_len();
    if let Some(size) = args.size
        && usize::from(size) < least
    {
        return Err(Error::Usage(format!("--size {size}: the protocol's header takes {least} bytes")));
    }
    Ok(params)
}

fn plan(args: &ProbeArgs) -> Result<Plan, Error> {
    let params = params(args)?;
    let key = key(&args.key)?;
    let seed = random_u64().map_err(Error::machine)?;
    let fill = Fill::parse(&args.fill, seed)
        .ok_or_else(|| Error::Usage(format!("--fill {}: there are none, rand and pattern:HEX", args.fill)))?;
    let times = args.timeouts.split(',').map(|text| positive("timeouts", text.trim()));
    let timeouts = times.collect::<Result<Vec<Span>, Error>>()?;
    let wait = span("wait", &args.wait)?;
    let family = match (args.ipv4, args.ipv6) {
        (true, _) => Some(Family::V4),
        (_, true) => Some(Family::V6),
        _ => None,
    };
    let (host, port) = host_and_port(&args.host)?;
    let port = args.port.or(port).unwrap_or(goodqueue_path::PORT);
    let server = resolve(host, port, family)?;
    let local = args.local.as_deref().map(|text| local(text, server)).transpose()?;
    let fragments = args.df.map(|df| df == DfArg::Off);
    let loose = args.loose;
    Ok(Plan { server, local, params, key, loose, fill, ttl: args.ttl, fragments, timeouts, wait })
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

    fn write(mut self, document: &serde_json::Value) -> Result<(), Error> {
        let text = serde_json::to_vec_pretty(document).map_err(Error::machine)?;
        let written = if self.path.extension().is_some_and(|suffix| suffix == "gz") {
            let mut gzip = GzEncoder::new(&mut self.file, Compression::default());
            gzip.write_all(&text).and_then(|()| gzip.finish().map(drop))
        } else {
            self.file.write_all(&text)
        };
        written.map_err(|error| {
            let path = self.path.display();
            Error::Machine(format!("--output {path}: {error}; the file is not complete"))
        })
    }
}

//! `goodqueue server`: answers probes until it is stopped.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, SystemTime};

use goodqueue::{Rate, Span};
use goodqueue_experiment::{Error, path, read_any_rate};
use goodqueue_path::load::message::Why;
use goodqueue_path::load::server::{Bounds, Event as LoadEvent, LoadServer, LoadStats, MOST_PENDING};
use goodqueue_path::load::{Secret, word};
use goodqueue_path::params::Refusal;
use goodqueue_path::rpm::server::{Bounds as RpmBounds, RpmServer};
use goodqueue_path::rpm::trust::Identity;
use goodqueue_path::server::listen::Listener;
use goodqueue_path::server::{Ending, Event, Limits, PrefixLengths, Server, ServerStats};
use goodqueue_path::{http, metrics};
use goodqueue_probe::net::{bind_tcp, random_u64};
use goodqueue_probe::rpm::Tls;
use serde_json::{Value, json};

use crate::args::ServerArgs;
use crate::output::print;
use crate::path_values::{key, key_text, positive, span};
use crate::rights::Rights;
use crate::system::Interrupt;

/// Largest number of events that wait to be printed; more are left out and counted.
const EVENTS: usize = 1024;
/// Time between two checks for a signal.
const LOOK: Duration = Duration::from_millis(200);

/// An event to print.
enum News {
    Probes(Event),
    Load(LoadEvent),
}

/// Serves until Ctrl-C or SIGTERM.
///
/// # Errors
/// [`Error::Usage`] for a wrong flag, [`Error::Machine`] if an address is not available.
pub fn command(args: &ServerArgs) -> Result<(), Error> {
    let limits = limits(args)?;
    let key = key(&args.key)?;
    let (word, secret) = word_and_secret(args)?;
    let (listener, loads) = sockets(args, secret, key.is_some(), &limits)?;
    let addresses = listener.addresses();
    let metrics = args.metrics.as_deref().map(metrics).transpose()?;
    let https = https(args, &limits)?;
    raise_open_files(args)?;
    let interrupt = Interrupt::new().map_err(Error::machine)?;
    let seed = random_u64().map_err(Error::machine)?;
    let voice = Voice { json: args.json, quiet: args.quiet };
    // Each asks the kernel with a socket, which is refused later.
    let own = reached_at(&addresses, own_address);
    let of_https = https.as_ref().and_then(|(server, _)| reached_at(&server.addresses(), own_address));
    // Before the first thread: each thread inherits from the one that starts it.
    let rights = Rights::reduce(args.user.as_deref())?;
    let at = metrics.as_ref().and_then(|metrics| metrics.local_addr().ok());
    let reached = Reached {
        addresses: &addresses,
        quic: loads.as_ref().and_then(LoadServer::quic_port),
        own,
        of_https,
        has_key: key.is_some(),
        word: word.as_deref(),
        metrics: at,
    };
    voice.listening(&reached, https.as_ref(), &rights)?;
    let (stop, missed) = (AtomicBool::new(false), AtomicU64::new(0));
    let (sender, news) = sync_channel(EVENTS);
    let mut server = Server::new(limits, key, seed);
    let stats = std::thread::scope(|scope| {
        let (stop, listener, missed) = (&stop, &listener, &missed);
        let tell = move |sender: &SyncSender<News>, news| {
            missed.fetch_add(u64::from(sender.try_send(news).is_err()), Ordering::Relaxed);
        };
        let (of_load, loads) = (sender.clone(), loads.as_ref());
        let loading = loads
            .map(|loads| scope.spawn(move || loads.serve(stop, &|event| tell(&of_load, News::Load(event)))));
        let serving = scope.spawn(move || {
            listener.serve(&mut server, loads, stop, &mut |event| tell(&sender, News::Probes(event)))
        });
        let telling = metrics.as_ref().map(|metrics| {
            let https = https.as_ref().map(|(server, _)| server);
            scope.spawn(move || hand_out(metrics, listener, loads, https, stop))
        });
        let rpm = https.as_ref().map(|(server, _)| scope.spawn(move || server.serve(stop)));
        let told = tell_until_stopped(&voice, &news, &interrupt, stop);
        stop.store(true, Ordering::Relaxed);
        let panicked = |_| Error::Machine("a thread of the server panicked".into());
        let loaded = loading.map_or(Ok(Ok(())), |thread| thread.join().map_err(panicked));
        let served = serving.join().map_err(panicked);
        let handed_out = telling.map_or(Ok(Ok(())), |thread| thread.join().map_err(panicked));
        let asked = rpm.map_or(Ok(Ok(())), |thread| thread.join().map_err(panicked));
        told?;
        asked?.map_err(|error| Error::Machine(format!("waiting for HTTPS: {error}")))?;
        loaded?.map_err(|error| Error::Machine(format!("waiting for connections: {error}")))?;
        handed_out?.map_err(|error| Error::Machine(format!("waiting for requests: {error}")))?;
        served
    })?;
    for one in news.try_iter() {
        voice.news(&one)?;
    }
    let stats = stats.map_err(|error| Error::Machine(format!("waiting for datagrams: {error}")))?;
    voice.stopped(&stats, missed.into_inner())
}

/// A rate, as `100mbit`; `0` is none.
fn rate(flag: &str, text: &str) -> Result<Rate, Error> {
    let rate = if text.trim() == "0" { Ok(Rate(0)) } else { read_any_rate(text) };
    rate.map_err(|why| Error::Usage(format!("--{flag} {text}: {why}")))
}

/// An address as it is written in front of a port.
fn bracketed(address: IpAddr) -> String {
    match address {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => format!("[{v6}]"),
    }
}

/// Raises the limit of descriptors to what all bounds together need, as far as the system allows.
fn raise_open_files(args: &ServerArgs) -> Result<(), Error> {
    let https = if args.https.is_empty() { 0 } else { RpmBounds::default().connections };
    // Sockets, epoll and timer of QUIC are among the last ones.
    let fixed = MOST_PENDING + 4 * args.controls + http::MOST_CONNECTIONS + https + 64;
    let wanted = fixed as u64 + args.loads as u64 * (2 * u64::from(args.flows) + 8);
    let granted = goodqueue_wire::raise_open_files(wanted).map_err(Error::machine)?;
    if granted < wanted && !args.quiet {
        announce!(
            "goodqueue: warning: only {granted} files may be open, but these limits may need {wanted}: raise \
             `ulimit -n`, or lower --loads or --flows"
        );
    }
    Ok(())
}

/// The server of RPM tests with its certificate, where it is asked for.
fn https(args: &ServerArgs, limits: &Limits) -> Result<Option<(RpmServer, Identity)>, Error> {
    if args.https.is_empty() {
        return Ok(None);
    }
    let parse = |at: &String| {
        let example = "an address and a port, as in 0.0.0.0:4443 or [::]:4443";
        at.trim().parse::<SocketAddr>().map_err(|_| Error::Usage(format!("--https {at}: {example}")))
    };
    let addresses = args.https.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    let rate = args.https_rate.parse::<Rate>().ok().filter(|rate| rate.0 >= 1_000_000);
    let Some(Rate(rate)) = rate else {
        let cure = "a rate of at least 1mbit, as in 200mbit";
        return Err(Error::Usage(format!("--https-rate {}: {cure}", args.https_rate)));
    };
    let transfers = args.https_transfers;
    if !(2..=10_000).contains(&transfers) {
        return Err(Error::Usage(format!("--https-transfers {transfers}: from 2 to 10000")));
    }
    let identity = match (&args.https_cert, &args.https_key) {
        (Some(cert), Some(key)) => {
            let read = |flag: &str, path: &std::path::Path| {
                std::fs::read(path)
                    .map_err(|error| Error::Usage(format!("{flag} {}: {error}", path.display())))
            };
            Identity::from_pem(&read("--https-cert", cert)?, &read("--https-key", key)?)
                .map_err(|error| Error::Usage(format!("--https-cert, --https-key: {error}")))?
        }
        _ => Identity::ephemeral(Tls::V1_3)
            .map_err(|error| Error::Machine(format!("a certificate: {error}")))?,
    };
    let bounds = RpmBounds {
        transfers,
        transfers_per_prefix: transfers / 2,
        prefix: limits.prefix,
        rate: rate / 8,
        ..RpmBounds::default()
    };
    let server = RpmServer::bind(&addresses, identity.clone(), bounds)
        .map_err(|(at, error)| refuse("TCP", "-ltnp", "--https", at, &error))?;
    Ok(Some((server, identity)))
}

/// The socket of the counters.
fn metrics(at: &str) -> Result<TcpListener, Error> {
    let Ok(at) = at.parse() else {
        let example = "an address and a port, as in 127.0.0.1:9112 or [::1]:9112";
        return Err(Error::Usage(format!("--metrics {at}: {example}")));
    };
    bind_tcp(at).map_err(|error| refuse("TCP", "-ltnp", "--metrics", at, &error))
}

/// Serves the counters.
fn hand_out(
    metrics: &TcpListener,
    probes: &Listener,
    loads: Option<&LoadServer>,
    https: Option<&RpmServer>,
    stop: &AtomicBool,
) -> std::io::Result<()> {
    let text = || {
        let (stats, sessions) = probes.published();
        let loads = loads.map_or_else(LoadStats::default, LoadServer::stats);
        let https = https.map(RpmServer::stats);
        metrics::text(env!("CARGO_PKG_VERSION"), &stats, sessions, &loads, https.as_ref())
    };
    http::serve(metrics, metrics::PAGE, &text, stop)
}

/// Prints events until a signal comes or the server ends by itself.
fn tell_until_stopped(
    voice: &Voice,
    news: &Receiver<News>,
    interrupt: &Interrupt,
    stop: &AtomicBool,
) -> Result<(), Error> {
    loop {
        match news.recv_timeout(LOOK) {
            Ok(one) => voice.news(&one)?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        if interrupt.wait(Duration::ZERO).map_err(Error::machine)?.is_some() {
            stop.store(true, Ordering::Relaxed);
            return Ok(());
        }
    }
}

/// The word for loads, if it is to be printed, and its key. Neither if loads are refused.
fn word_and_secret(args: &ServerArgs) -> Result<(Option<String>, Option<Secret>), Error> {
    if args.flows == 0 {
        return Ok((None, None));
    }
    match key_text(&args.key)? {
        Some(key) => {
            let secret = Secret::of(&key);
            if secret.is_none() {
                let least = word::LEAST;
                announce!(
                    "goodqueue: warning: no loads: for them the key must have {least} characters or more"
                );
            }
            Ok((None, secret))
        }
        None => {
            let word = word::random().map_err(Error::machine)?;
            let secret = Secret::of(&word);
            Ok((Some(word), secret))
        }
    }
}

/// The sockets of probes and of loads, at the same port. A port that the system chose for the first may be
/// taken for the second; then it chooses again.
fn sockets(
    args: &ServerArgs,
    secret: Option<Secret>,
    has_key: bool,
    limits: &Limits,
) -> Result<(Listener, Option<LoadServer>), Error> {
    let length = if limits.max_length.0 == 0 { LONGEST_LOAD } else { limits.max_length.min(LONGEST_LOAD) };
    let bounds = Bounds {
        controls: args.controls,
        controls_per_prefix: args.controls_per_network,
        prefix: limits.prefix,
        loads: args.loads,
        flows: args.flows,
        length,
        udp: rate("udp-rate", &args.udp_rate)?,
        rate: match rate("load-rate", &args.load_rate)? {
            Rate(0) => {
                let cure = "must be more than zero; --flows 0 refuses all loads";
                return Err(Error::Usage(format!("--load-rate {}: {cure}", args.load_rate)));
            }
            rate => rate,
        },
    };
    let addresses = addresses(args)?;
    check_ports(args, &addresses, secret.is_some())?;
    let mut tries = if args.port == 0 { 16 } else { 1 };
    loop {
        tries -= 1;
        let listener = listener(args, &addresses)?;
        let Some(secret) = secret.clone() else { return Ok((listener, None)) };
        match LoadServer::bind(&listener.addresses(), secret, has_key, bounds) {
            Ok(mut loads) => {
                // Its socket is refused later.
                path::own_queues().into_iter().for_each(|queues| loads.watch_queues(queues));
                let own: Vec<IpAddr> = listener.addresses().iter().map(SocketAddr::ip).collect();
                match loads.bind_quic(&own, quic_port(args)?) {
                    Ok(()) => return Ok((listener, Some(loads))),
                    Err((_, error)) if tries > 0 && error.kind() == ErrorKind::AddrInUse => {}
                    Err((at, error)) => return Err(refuse("UDP", "-ulpn", "--quic-port", at, &error)),
                }
            }
            Err((_, error)) if tries > 0 && error.kind() == ErrorKind::AddrInUse => {}
            Err((at, error)) => return Err(refuse("TCP", "-ltnp", "--port", at, &error)),
        }
    }
}

/// The port of load over QUIC.
fn quic_port(args: &ServerArgs) -> Result<u16, Error> {
    match (args.quic_port, args.port) {
        (Some(port), _) => Ok(port),
        (None, 0) => Ok(0),
        (None, port) => port.checked_add(1).ok_or_else(|| {
            Error::Usage(format!("--port {port}: there is no port after it for QUIC; add --quic-port"))
        }),
    }
}

/// Refuses two flags that ask for the same port, whose second socket would find the first one there.
fn check_ports(args: &ServerArgs, addresses: &[IpAddr], has_loads: bool) -> Result<(), Error> {
    type Asked = Vec<(String, Vec<SocketAddr>)>;
    let at =
        |port: u16| -> Vec<SocketAddr> { addresses.iter().map(|&ip| SocketAddr::new(ip, port)).collect() };
    let port = (format!("--port {}", args.port), at(args.port));
    let (mut udp, mut tcp): (Asked, Asked) = (vec![port.clone()], Vec::new());
    if has_loads {
        udp.extend(args.quic_port.map(|quic| (format!("--quic-port {quic}"), at(quic))));
        tcp.push(port);
    }
    let https = args.https.iter().map(|at| ("--https", at));
    for (flag, at) in https.chain(args.metrics.iter().map(|at| ("--metrics", at))) {
        // What is no address is refused where it is read.
        if let Ok(address) = at.trim().parse::<SocketAddr>() {
            tcp.push((format!("{flag} {}", at.trim()), vec![address]));
        }
    }
    for (protocol, asked) in [("UDP", udp), ("TCP", tcp)] {
        for (place, (flag, own)) in asked.iter().enumerate() {
            let meets =
                |others: &[SocketAddr]| own.iter().any(|one| others.iter().any(|two| meet(*one, *two)));
            if let Some((other, _)) = asked[..place].iter().find(|(_, others)| meets(others)) {
                return Err(Error::Usage(format!(
                    "{other} and {flag}: the same {protocol} port for two purposes; give one of them another"
                )));
            }
        }
    }
    Ok(())
}

/// Whether two sockets cannot have these addresses at the same time.
fn meet(one: SocketAddr, other: SocketAddr) -> bool {
    let is_same = one.ip() == other.ip() || one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() == other.port() && one.port() != 0 && one.is_ipv4() == other.is_ipv4() && is_same
}

/// Longest load.
const LONGEST_LOAD: Span = Span::from_secs(3600);

/// Why an address is not available, and the cure.
fn refuse(protocol: &str, flags: &str, option: &str, at: SocketAddr, error: &std::io::Error) -> Error {
    let why = match error.kind() {
        ErrorKind::AddrInUse => {
            format!("another program listens there; `ss {flags}` names it; choose another {option}")
        }
        ErrorKind::AddrNotAvailable => {
            "this machine does not have the address; list its addresses with `ip address`".to_owned()
        }
        ErrorKind::PermissionDenied => {
            format!(
                "ports below 1024 need the right CAP_NET_BIND_SERVICE, which root has; choose another \
                 {option}"
            )
        }
        _ => error.to_string(),
    };
    Error::Machine(format!("{protocol} {at}: {why}"))
}

fn limits(args: &ServerArgs) -> Result<Limits, Error> {
    let wrong = |flag: &str, value: &dyn std::fmt::Display, why: &str| {
        Err(Error::Usage(format!("--{flag} {value}: {why}")))
    };
    if args.sessions == 0 || args.sessions > 1_000_000 {
        return wrong("sessions", &args.sessions, "from 1 to 1000000");
    }
    if args.sessions_per_network == 0 {
        return wrong("sessions-per-network", &0, "it must be more than zero");
    }
    if args.controls == 0 || args.controls > 10_000 {
        return wrong("controls", &args.controls, "from 1 to 10000");
    }
    if args.controls_per_network == 0 {
        return wrong("controls-per-network", &0, "it must be more than zero");
    }
    if args.flows > 10_000 {
        return wrong("flows", &args.flows, "at most 10000");
    }
    if args.loads > 1000 {
        return wrong("loads", &args.loads, "at most 1000");
    }
    if args.open_rate == 0 || args.open_rate > 1_000_000 {
        return wrong("open-rate", &args.open_rate, "from 1 to 1000000");
    }
    let lengths = args.network.split_once(',').and_then(|(v4, v6)| {
        let prefix = PrefixLengths { v4: v4.trim().parse().ok()?, v6: v6.trim().parse().ok()? };
        Some(prefix).filter(|prefix| prefix.v4 <= 32 && prefix.v6 <= 128)
    });
    let Some(prefix) = lengths else {
        return wrong(
            "network",
            &args.network,
            "two lengths, of IPv4 (0 to 32) and IPv6 (0 to 128), as in 24,56",
        );
    };
    if args.max_size < 76 {
        return wrong("max-size", &args.max_size, "the protocol's header alone takes up to 76 bytes");
    }
    Ok(Limits {
        sessions: args.sessions,
        sessions_per_prefix: args.sessions_per_network,
        prefix,
        opens_per_second: args.open_rate,
        max_length: span("max-length", &args.max_length)?,
        min_interval: positive("min-interval", &args.min_interval)?,
        max_size: args.max_size,
        idle: positive("idle", &args.idle)?,
    })
}

/// The addresses to listen on: those of `--bind`, or all.
fn addresses(args: &ServerArgs) -> Result<Vec<IpAddr>, Error> {
    if args.bind.is_empty() {
        return Ok(vec![Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()]);
    }
    let parse = |text: &String| -> Result<IpAddr, Error> {
        let text = text.trim().trim_start_matches('[').trim_end_matches(']');
        text.parse().map_err(|_| {
            Error::Usage(format!(
                "--bind {text}: not an IPv4 or IPv6 address; names are not taken: write an address, as in \
                 127.0.0.1"
            ))
        })
    };
    args.bind.iter().map(parse).collect()
}

/// The sockets. Without `--bind` one of the two may be missing: a machine may lack IPv6, or IPv4.
fn listener(args: &ServerArgs, addresses: &[IpAddr]) -> Result<Listener, Error> {
    let refuse = |(at, error): (SocketAddr, std::io::Error)| refuse("UDP", "-ulpn", "--port", at, &error);
    Listener::bind(addresses, args.port).or_else(|(at, error)| {
        let lacks_family = error.raw_os_error() == Some(EAFNOSUPPORT);
        let is_missing = lacks_family || error.kind() == ErrorKind::AddrNotAvailable;
        if !args.bind.is_empty() || !is_missing {
            return Err(refuse((at, error)));
        }
        let others: Vec<IpAddr> =
            addresses.iter().copied().filter(|ip| ip.is_ipv6() != at.is_ipv6()).collect();
        Listener::bind(&others, args.port).map_err(refuse)
    })
}

/// Why a client of another release is refused.
const OTHER_VERSION: &str = "another version of the protocol: update the older program";

/// Linux's error for a family of addresses that this machine does not have.
const EAFNOSUPPORT: i32 = 97;

/// An address at which this machine can be reached, according to its routes. Nothing is sent.
fn own_address(v6: bool) -> Option<IpAddr> {
    let (any, far) = if v6 { ("[::]:0", "[2001:db8::1]:9") } else { ("0.0.0.0:0", "192.0.2.1:9") };
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(far).ok()?;
    socket.local_addr().ok().map(|addr| addr.ip()).filter(|ip| !ip.is_unspecified())
}

/// The address to print, of those that are listened on; `own` gives this machine's instead of all addresses.
/// One that only the own network can reach is the last choice: others may not have such addresses.
fn reached_at(listening: &[SocketAddr], own: impl Fn(bool) -> Option<IpAddr>) -> Option<IpAddr> {
    let is_local =
        |ip: &IpAddr| matches!(ip, IpAddr::V6(v6) if v6.is_unique_local() || v6.is_unicast_link_local());
    let found = listening.iter().filter_map(|at| {
        if !at.ip().is_unspecified() {
            return Some((false, at.ip()));
        }
        own(at.is_ipv6()).map(|ip| (is_local(&ip), ip))
    });
    found.min_by_key(|(is_local, _)| *is_local).map(|(_, ip)| ip)
}

/// Where a server is reached.
struct Reached<'a> {
    addresses: &'a [SocketAddr],
    /// The UDP port of load over QUIC.
    quic: Option<u16>,
    /// An address to reach us at.
    own: Option<IpAddr>,
    /// An address to reach RPM at.
    of_https: Option<IpAddr>,
    has_key: bool,
    /// That of loads, where it is not the key.
    word: Option<&'a str>,
    metrics: Option<SocketAddr>,
}

/// How events are printed.
struct Voice {
    json: bool,
    quiet: bool,
}

impl Voice {
    fn say(&self, text: impl FnOnce() -> String, mut value: Value) -> Result<(), Error> {
        if self.quiet {
            return Ok(());
        }
        if self.json {
            value["time"] = humantime::format_rfc3339_millis(SystemTime::now()).to_string().into();
            return print(&format!("{value}\n"));
        }
        print(&format!("{}\n", text()))
    }

    fn listening(
        &self,
        reached: &Reached<'_>,
        https: Option<&(RpmServer, Identity)>,
        rights: &Rights,
    ) -> Result<(), Error> {
        let Reached { addresses, quic, own, of_https, has_key, word, metrics } = *reached;
        let port = addresses.first().map_or(0, SocketAddr::port);
        let names: Vec<String> = addresses.iter().map(|addr| bracketed(addr.ip())).collect();
        let host = own.map_or("THIS-HOST".to_owned(), |ip| ip.to_string());
        let with_port = if port == goodqueue_path::PORT { String::new() } else { format!(" --port {port}") };
        let text = || {
            let quic = quic.map_or(String::new(), |port| format!(", and on UDP port {port} for QUIC"));
            let mut text = format!("listening on port {port} of {}{quic}\n", names.join(" and "));
            let key = if has_key { " --key-file FILE" } else { "" };
            text += &match word {
                Some(word) => format!(
                    "for a test, run at the other end: goodqueue test {host}{with_port} --key {word}\n"
                ),
                None if has_key => {
                    format!("for a test, run at the other end: goodqueue test {host}{with_port}{key}\n")
                }
                None => String::new(),
            };
            text += &format!("for probes alone:                 goodqueue probe {host}{with_port}{key}\n");
            if let Some((server, identity)) = https {
                let port = server.addresses().first().map_or(443, SocketAddr::port);
                let at = of_https.map_or("THIS-HOST".to_owned(), bracketed);
                text += &format!(
                    "for RPM:                          goodqueue test https://{at}:{port} --fingerprint {}\n",
                    identity.fingerprint()
                );
            }
            if let Some(at) = metrics {
                text += &format!("counters: http://{at}{}\n", metrics::PAGE.path);
            }
            text + &rights.to_string()
        };
        let words =
            |addresses: &[SocketAddr]| -> Vec<String> { addresses.iter().map(ToString::to_string).collect() };
        let addresses = words(addresses);
        let https = https.map(|(server, identity)| {
            json!({
                "addresses": words(&server.addresses()), "fingerprint": identity.fingerprint().to_string(),
            })
        });
        let value = json!({
            "event": "listening", "addresses": addresses, "quic_port": quic, "key": has_key, "word": word,
            "metrics": metrics.map(|at| at.to_string()), "https": https, "rights": rights.json(),
        });
        self.say(text, value)
    }

    fn news(&self, news: &News) -> Result<(), Error> {
        match news {
            News::Probes(event) => self.event(event),
            News::Load(LoadEvent::Started { from, flows, length }) => self.say(
                || format!("{from} sends and receives load for {length}, {flows} flows"),
                json!({
                    "event": "load_started", "from": from.to_string(), "flows": flows, "length_ns": length.0,
                }),
            ),
            News::Load(LoadEvent::Ended { from, flows, refused }) => self.say(
                || format!("{from} ended its load, {flows} flows"),
                json!({
                    "event": "load_ended", "from": from.to_string(), "flows": flows, "refused": refused,
                }),
            ),
            News::Load(LoadEvent::Refused { from, why }) => {
                let why = match why {
                    Why::Version(_) => OTHER_VERSION.to_owned(),
                    why => why.to_string(),
                };
                let value = json!({ "event": "load_refused", "from": from.to_string(), "why": why });
                self.say(|| format!("{from} refused: {why}"), value)
            }
        }
    }

    fn event(&self, event: &Event) -> Result<(), Error> {
        match event {
            Event::Opened { number, from, interval, length } => self.say(
                || format!("{number}: {from} sends a probe every {interval} for {length}"),
                json!({
                    "event": "opened", "session": number, "from": from.to_string(),
                    "interval_ns": interval.0, "length_ns": length.0,
                }),
            ),
            Event::Ended { number, from, why, received, answered, lasted } => {
                let why = match why {
                    Ending::Closed => "closed",
                    Ending::Idle => "silent",
                    Ending::Overdue => "overdue",
                    Ending::Stopped => "stopped",
                };
                self.say(
                    || {
                        let s = lasted.as_secs_f64();
                        format!(
                            "{number}: {from} {why} after {s:.1} s, {answered} of {received} probes answered"
                        )
                    },
                    json!({
                        "event": "ended", "session": number, "from": from.to_string(), "why": why,
                        "received": received, "answered": answered, "lasted_ns": lasted.0,
                    }),
                )
            }
            Event::Refused { from, why } => {
                let why = match why {
                    Refusal::Version => OTHER_VERSION,
                    Refusal::Full => "too many sessions",
                    Refusal::PrefixFull => "too many sessions of its network",
                };
                let value = json!({ "event": "refused", "from": from.to_string(), "why": why });
                self.say(|| format!("{from} refused: {why}"), value)
            }
        }
    }

    fn stopped(&self, stats: &ServerStats, missed: u64) -> Result<(), Error> {
        let ServerStats { sessions, answered, malformed, wrong_key, wrong_token, .. } = *stats;
        let strangers = stats.too_often + stats.no_credit;
        self.say(
            || {
                format!(
                    "stopped: {sessions} sessions, {answered} probes answered; not answered: {malformed} \
                     malformed, {wrong_key} with a wrong key, {wrong_token} with a wrong token, {strangers} \
                     requests of unknown addresses, {} too fast",
                    stats.too_fast
                )
            },
            json!({
                "event": "stopped", "sessions": sessions, "answered": answered, "opens": stats.opens,
                "refused": stats.refused, "malformed": malformed, "wrong_key": wrong_key,
                "wrong_token": wrong_token, "too_often": stats.too_often, "no_credit": stats.no_credit,
                "too_fast": stats.too_fast, "events_left_out": missed,
            }),
        )
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    /// Why the ports of these flags are refused, if they are.
    fn refused(flags: &str, has_loads: bool) -> Option<String> {
        let cli = Cli::try_parse_from(["goodqueue", "server"].into_iter().chain(flags.split_whitespace()));
        let Command::Server(args) = cli.unwrap().command else { panic!("{flags}") };
        let addresses = addresses(&args).unwrap();
        check_ports(&args, &addresses, has_loads).err().map(|error| error.to_string())
    }

    #[test]
    fn two_flags_with_one_port_are_refused() {
        for (flags, named) in [
            ("--port 4000 --quic-port 4000", "--port 4000 and --quic-port 4000: the same UDP port"),
            ("--metrics 127.0.0.1:2112", "--port 2112 and --metrics 127.0.0.1:2112: the same TCP port"),
            ("--https [::]:2112", "--port 2112 and --https [::]:2112: the same TCP port"),
            ("--https [::1]:443 --metrics [::1]:443", "--https [::1]:443 and --metrics [::1]:443: the same"),
        ] {
            let why = refused(flags, true).unwrap_or_default();
            assert!(why.starts_with(named), "{flags}: {why}");
        }
        for flags in [
            "",
            "--port 0 --quic-port 0",
            // TCP and UDP do not meet, nor do two addresses, nor IPv4 and IPv6.
            "--https 0.0.0.0:2113",
            "--bind 127.0.0.2 --metrics 127.0.0.1:2112",
            "--bind 127.0.0.1 --https [::]:2112",
        ] {
            assert_eq!(refused(flags, true), None, "{flags}");
        }
        assert_eq!(refused("--port 4000 --quic-port 4000", false), None, "without loads there is no QUIC");
    }

    #[test]
    fn the_printed_address_is_one_that_others_can_reach() {
        let (v4, all) = (IpAddr::from([192, 168, 1, 2]), ["[::]:1", "0.0.0.0:1"]);
        let printed = |listening: &[&str], v6: Option<&str>| {
            let listening: Vec<SocketAddr> = listening.iter().map(|text| text.parse().unwrap()).collect();
            let v6 = v6.map(|text| text.parse::<IpAddr>().unwrap());
            reached_at(&listening, |is_v6| if is_v6 { v6 } else { Some(v4) }).unwrap().to_string()
        };
        assert_eq!(printed(&all, Some("2001:db8::2")), "2001:db8::2");
        assert_eq!(printed(&all, Some("fd00::2")), "192.168.1.2");
        assert_eq!(printed(&all, None), "192.168.1.2");
        assert_eq!(printed(&all[..1], Some("fd00::2")), "fd00::2", "there is no other");
        assert_eq!(printed(&["[fd00::2]:1", "10.0.0.3:1"], None), "fd00::2", "the first of --bind");
    }
}

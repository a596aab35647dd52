//! `goodqueue server`: answers probes until it is stopped.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, SystemTime};

use goodqueue_experiment::Error;
use goodqueue_path::params::Refusal;
use goodqueue_path::server::listen::Listener;
use goodqueue_path::server::{Ending, Event, Limits, PrefixLengths, Server, ServerStats};
use goodqueue_probe::net::random_u64;
use goodqueue_wire::Interrupt;
use serde_json::{Value, json};

use crate::args::ServerArgs;
use crate::output::print;
use crate::path_values::{bracketed, key, positive, span};

/// Events that may wait to be printed; more are left out, and counted.
const EVENTS: usize = 1024;
/// Between two looks for a signal.
const LOOK: Duration = Duration::from_millis(200);

/// Serves until Ctrl-C or SIGTERM.
///
/// # Errors
/// [`Error::Usage`] for a wrong flag, [`Error::Machine`] where an address cannot be had.
pub fn command(args: &ServerArgs) -> Result<(), Error> {
    let limits = limits(args)?;
    let key = key(&args.key)?;
    let listener = listener(args)?;
    let addresses = listener.addresses();
    let interrupt = Interrupt::new().map_err(Error::machine)?;
    let seed = random_u64().map_err(Error::machine)?;
    let voice = Voice { json: args.json, quiet: args.quiet };
    voice.listening(&addresses, key.is_some())?;
    let (stop, (sender, events)) = (AtomicBool::new(false), sync_channel(EVENTS));
    let mut server = Server::new(limits, key, seed);
    let (stats, missed) = std::thread::scope(|scope| {
        let (stop, listener) = (&stop, &listener);
        let serving = scope.spawn(move || {
            let mut missed = 0_u64;
            let mut tell = |event| missed += u64::from(sender.try_send(event).is_err());
            let stats = listener.serve(&mut server, stop, &mut tell);
            (stats, missed)
        });
        let told = tell_until_stopped(&voice, &events, &interrupt, stop);
        stop.store(true, Ordering::Relaxed);
        let served = serving.join().map_err(|_| Error::Machine("the server's thread panicked".into()));
        told.and(served)
    })?;
    for event in events.try_iter() {
        voice.event(&event)?;
    }
    voice.stopped(&stats.map_err(|error| Error::Machine(format!("waiting for datagrams: {error}")))?, missed)
}

/// Prints events until a signal comes, or the server ends by itself.
fn tell_until_stopped(
    voice: &Voice,
    events: &Receiver<Event>,
    interrupt: &Interrupt,
    stop: &AtomicBool,
) -> Result<(), Error> {
    loop {
        match events.recv_timeout(LOOK) {
            Ok(event) => voice.event(&event)?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        if interrupt.wait(Duration::ZERO).map_err(Error::machine)?.is_some() {
            stop.store(true, Ordering::Relaxed);
            return Ok(());
        }
    }
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

/// The sockets. Of the two that nobody asked for, one may be missing: a machine may lack IPv6, or IPv4.
fn listener(args: &ServerArgs) -> Result<Listener, Error> {
    let refuse = |(at, error): (SocketAddr, std::io::Error)| {
        let why = match error.kind() {
            ErrorKind::AddrInUse => {
                "another program listens there; `ss -ulpn` names it; choose another --port".to_owned()
            }
            ErrorKind::AddrNotAvailable => "this machine does not have the address".to_owned(),
            ErrorKind::PermissionDenied => "ports below 1024 need a right; choose another --port".to_owned(),
            _ => error.to_string(),
        };
        Error::Machine(format!("UDP {at}: {why}"))
    };
    if args.bind.is_empty() {
        let (v6, v4) = (IpAddr::from(Ipv6Addr::UNSPECIFIED), IpAddr::from(Ipv4Addr::UNSPECIFIED));
        return Listener::bind(&[v6, v4], args.port).or_else(|(at, error)| {
            let lacks_family = error.raw_os_error() == Some(EAFNOSUPPORT);
            let is_missing = lacks_family || error.kind() == ErrorKind::AddrNotAvailable;
            if !is_missing {
                return Err(refuse((at, error)));
            }
            Listener::bind(&[if at.is_ipv6() { v4 } else { v6 }], args.port).map_err(refuse)
        });
    }
    let parse = |text: &String| {
        let text = text.trim().trim_start_matches('[').trim_end_matches(']');
        text.parse().map_err(|_| Error::Usage(format!("--bind {text}: not an IPv4 or IPv6 address")))
    };
    let addresses: Vec<IpAddr> = args.bind.iter().map(parse).collect::<Result<_, _>>()?;
    Listener::bind(&addresses, args.port).map_err(refuse)
}

/// Linux's error for a family of addresses that this machine does not have.
const EAFNOSUPPORT: i32 = 97;

/// An address under which this machine is reached, as its routes say. Nothing is sent.
fn own_address(v6: bool) -> Option<IpAddr> {
    let (any, far) = if v6 { ("[::]:0", "[2001:db8::1]:9") } else { ("0.0.0.0:0", "192.0.2.1:9") };
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(far).ok()?;
    socket.local_addr().ok().map(|addr| addr.ip()).filter(|ip| !ip.is_unspecified())
}

/// How things are told.
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

    fn listening(&self, addresses: &[SocketAddr], has_key: bool) -> Result<(), Error> {
        let port = addresses.first().map_or(0, SocketAddr::port);
        let names: Vec<String> = addresses.iter().map(|addr| bracketed(addr.ip())).collect();
        let own = addresses.iter().find_map(|addr| {
            if addr.ip().is_unspecified() { own_address(addr.is_ipv6()) } else { Some(addr.ip()) }
        });
        let host = own.map_or("THIS-HOST".to_owned(), |ip| ip.to_string());
        let with_port = if port == goodqueue_path::PORT { String::new() } else { format!(" --port {port}") };
        let (who, key) = if has_key { ("who has the key", " --key-file FILE") } else { ("anybody", "") };
        let text = || {
            format!(
                "listening on UDP port {port} of {}; {who} may measure\n\
                 at the other end type: goodqueue probe {host}{with_port}{key}",
                names.join(" and ")
            )
        };
        let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        self.say(text, json!({ "event": "listening", "addresses": addresses, "key": has_key }))
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
                    Refusal::Version => "another version of the protocol",
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
                    "stopped: {sessions} sessions, {answered} probes answered; not answered: {malformed} malformed, \
                     {wrong_key} with a wrong key, {wrong_token} with a wrong token, {strangers} requests of \
                     strangers, {} too fast",
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

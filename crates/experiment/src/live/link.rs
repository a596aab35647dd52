//! A link for other programs: our queues between a program and the services of this machine.
//!
//! ```text
//!   PROGRAM  client's namespace ── engine: queue, rate, delay, loss ── server's namespace  relays ── services
//! ```

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use goodqueue::{Histogram, Nanos, QueueSpec, Reason};
use goodqueue_probe::net::wait;
use goodqueue_wire::{EngineHandle, Lab, PathReport, PathSample};
use serde::Serialize;

use super::setup::lines;
use super::worker::lab;
use crate::plan::LinkOrder;
use crate::{Error, Plan};

/// Most connections to services at a time; further ones are closed at once.
pub const MOST_CONNECTIONS: u32 = 512;
/// How long a relay waits before it looks whether the link is still there, nanoseconds.
const LOOK: u64 = 100_000_000;

/// The environment variable with the address at which the program finds the services.
pub const SERVER: &str = "GOODQUEUE_SERVER";

/// A service of this machine that programs reach over the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exposed {
    /// TCP port at the other end of the link.
    pub port: u16,
    /// TCP port on this machine's loopback interface.
    pub local: u16,
}

impl FromStr for Exposed {
    type Err = String;

    fn from_str(text: &str) -> Result<Exposed, String> {
        let port = |word: &str| match word.parse() {
            Ok(0) | Err(_) => Err(format!("`{word}` is not a port: write 1 to 65535, or PORT:LOCAL")),
            Ok(port) => Ok(port),
        };
        let (there, here) = text.split_once(':').unwrap_or((text, text));
        Ok(Exposed { port: port(there)?, local: port(here)? })
    }
}

/// A link that runs.
#[derive(Debug)]
pub struct Link {
    engine: EngineHandle,
    relays: Relays,
    lab: Lab,
    started: Nanos,
    order: LinkOrder,
    queue: String,
}

/// A direction at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Bytes that the line has sent since the link began.
    pub sent_bytes: u64,
    /// Bytes that wait in the queue and in the ring below it.
    pub waiting_bytes: u64,
    /// Packets that were dropped or lost.
    pub dropped: u64,
}

/// What a direction did.
#[derive(Clone, Debug, Default, Serialize)]
pub struct WayReport {
    /// Packets that came to the queue.
    pub arrived_packets: u64,
    /// Packets that the line has sent.
    pub sent_packets: u64,
    /// Their bytes, Ethernet headers included.
    pub sent_bytes: u64,
    /// Time for which the line was busy, nanoseconds.
    pub busy_ns: u64,
    /// How long packets waited for the line, nanoseconds: median, 95th and 99th percentile, longest. `None`
    /// if none was sent.
    pub waited_ns: Option<[u64; 4]>,
    /// Packets dropped or lost, by reason.
    pub drops: BTreeMap<String, u64>,
    /// Packets that the queue has marked (ECN).
    pub marks: u64,
}

/// What a link did.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Number of this format.
    pub schema: u32,
    /// The link.
    pub link: LinkOrder,
    /// The queue of both directions, in its canonical words.
    pub queue: String,
    /// How long it ran, nanoseconds.
    pub ran_ns: u64,
    /// From the program.
    pub up: WayReport,
    /// To the program.
    pub down: WayReport,
    /// Why it was not the link that was asked for; empty if it was.
    pub invalid: Vec<String>,
    /// Connections to services that were refused because there were too many.
    pub refused_connections: u32,
}

impl Link {
    /// Makes the link of `plan`, with its first queue and seed. Call it before the first thread starts:
    /// whoever is not root becomes root of a user namespace of his own.
    ///
    /// # Errors
    /// [`Error::Machine`] with the missing right, [`Error::Usage`] if the live arm has no such link.
    pub fn start(plan: &Plan, exposed: &[Exposed]) -> Result<Link, Error> {
        let queue = plan.queues.first().cloned().unwrap_or_default();
        let spec: QueueSpec = queue.parse().map_err(Error::usage)?;
        let lab = lab(1, plan.link.ecn)?;
        let engine = lines(&lab, &plan.link, &spec, plan.seeds.first().copied().unwrap_or(1))?;
        let started = goodqueue_wire::now();
        engine.measure_sojourn(started, Nanos(u64::MAX));
        let relays = Relays::start(&lab, exposed)?;
        Ok(Link { engine, relays, lab, started, order: plan.link.clone(), queue })
    }

    /// The address of the other end, of one IP version.
    #[must_use]
    pub fn server(ipv6: bool) -> IpAddr {
        Lab::server_address(ipv6, 0)
    }

    /// Starts a program behind the link, with [`SERVER`] in its environment.
    ///
    /// # Errors
    /// Those of [`Command::spawn`].
    pub fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        command.env(SERVER, Link::server(self.order.ip_version == 6).to_string());
        self.lab.client().run(|| command.spawn()).map_err(io::Error::other)?
    }

    /// Up and down, now.
    #[must_use]
    pub fn now(&self) -> [Moment; 2] {
        let sample = self.engine.sample();
        [&sample.up, &sample.down].map(|path: &PathSample| Moment {
            sent_bytes: path.line.bytes,
            waiting_bytes: path.backlog.bytes + path.ring.bytes,
            dropped: path.dropped_in_all(),
        })
    }

    /// Whether no connection to a service is open, and no packet is under way. A packet that came within the
    /// last 20 ms may not be seen.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.relays.state.open.load(Ordering::Relaxed) == 0 && self.engine.sample().frames_used == 0
    }

    /// Whether the link is still there.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.engine.is_running()
    }

    /// Ends the link. What waits in it is not delivered.
    ///
    /// # Errors
    /// [`Error::Machine`] if the engine panicked.
    pub fn stop(self) -> Result<Report, Error> {
        let Link { engine, relays, lab, started, order, queue } = self;
        let ran_ns = goodqueue_wire::now().since(started).0;
        let report = engine.stop().map_err(Error::machine)?;
        // That the program keeps the processors busy is its own affair, as long as packets leave in time.
        let mut invalid = report.last.validity().reasons;
        invalid.extend(report.failure.as_ref().map(ToString::to_string));
        let refused_connections = relays.stop();
        drop(lab);
        let [up, down] = [&report.up, &report.down].map(way);
        Ok(Report { schema: 1, link: order, queue, ran_ns, up, down, invalid, refused_connections })
    }
}

fn way(report: &PathReport) -> WayReport {
    let last = &report.last;
    let drops = Reason::ALL.into_iter().map(|reason| (reason.name().to_owned(), last.dropped(reason)));
    WayReport {
        arrived_packets: last.arrived.packets,
        sent_packets: last.line.packets,
        sent_bytes: last.line.bytes,
        busy_ns: last.busy.0,
        waited_ns: report.sojourn.as_ref().and_then(quantiles),
        drops: drops.filter(|&(_, count)| count > 0).collect(),
        marks: last.marks,
    }
}

fn quantiles(sojourn: &Histogram) -> Option<[u64; 4]> {
    let at = |q| sojourn.quantile(q).map(|span| span.0);
    Some([at(0.5)?, at(0.95)?, at(0.99)?, sojourn.max()?.0])
}

/// The relays of all exposed ports.
#[derive(Debug)]
struct Relays {
    state: Arc<State>,
    threads: Vec<thread::JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct State {
    stop: AtomicBool,
    open: AtomicU32,
    refused: AtomicU32,
}

impl Relays {
    fn start(lab: &Lab, exposed: &[Exposed]) -> Result<Relays, Error> {
        let state = Arc::<State>::default();
        let mut threads = Vec::new();
        for (one, ipv6) in exposed.iter().flat_map(|one| [(one, false), (one, true)]) {
            let at = SocketAddr::new(Link::server(ipv6), one.port);
            let listener = match lab.server().run(|| TcpListener::bind(at)).map_err(Error::machine)? {
                Ok(listener) => listener,
                // A machine without IPv6.
                Err(_) if ipv6 => continue,
                Err(error) if error.kind() == ErrorKind::AddrInUse => {
                    return Err(Error::Usage(format!("--expose {}: the port is there twice", one.port)));
                }
                Err(error) => return Err(Error::Machine(format!("listening at {at}: {error}"))),
            };
            listener.set_nonblocking(true).map_err(Error::machine)?;
            let (state, local) = (Arc::clone(&state), one.local);
            threads.push(thread::spawn(move || state.serve(&listener, local)));
        }
        Ok(Relays { state, threads })
    }

    /// How many connections were refused.
    fn stop(mut self) -> u32 {
        self.state.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // One that panicked serves no more, either.
            let _ = thread.join();
        }
        self.state.refused.load(Ordering::Relaxed)
    }
}

impl Drop for Relays {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::Relaxed);
    }
}

impl State {
    fn serve(self: &Arc<Self>, listener: &TcpListener, local: u16) {
        let mut ready = Vec::new();
        while !self.stop.load(Ordering::Relaxed) {
            if wait(std::slice::from_ref(listener), LOOK, &mut ready).is_err() {
                return;
            }
            while let Ok((near, _)) = listener.accept() {
                if self.open.load(Ordering::Relaxed) >= MOST_CONNECTIONS {
                    self.refused.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                self.open.fetch_add(1, Ordering::Relaxed);
                let state = Arc::clone(self);
                thread::spawn(move || {
                    // A service that is not there looks to the program like one that closes at once.
                    let _ = relay(&near, local);
                    state.open.fetch_sub(1, Ordering::Relaxed);
                });
            }
        }
    }
}

/// Passes on what comes, both ways, until both ends have said that no more comes.
fn relay(near: &TcpStream, local: u16) -> io::Result<()> {
    near.set_nonblocking(false)?;
    let far = TcpStream::connect((Ipv4Addr::LOCALHOST, local))?;
    for end in [near, &far] {
        end.set_nodelay(true)?;
    }
    thread::scope(|scope| {
        scope.spawn(|| pass(near, &far));
        pass(&far, near);
    });
    Ok(())
}

fn pass(mut from: &TcpStream, mut to: &TcpStream) {
    // An end that is gone ends the other one, too.
    if io::copy(&mut from, &mut to).is_err() {
        let _ = from.shutdown(Shutdown::Both);
    }
    let _ = to.shutdown(Shutdown::Write);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_read_and_wrong_ones_named() {
        let read = |text: &str| text.parse::<Exposed>();
        assert_eq!(read("8080"), Ok(Exposed { port: 8080, local: 8080 }));
        assert_eq!(read("80:8080"), Ok(Exposed { port: 80, local: 8080 }));
        for (text, word) in [("0", "0"), ("80:", ""), ("65536", "65536"), ("80:http", "http")] {
            assert_eq!(read(text), Err(format!("`{word}` is not a port: write 1 to 65535, or PORT:LOCAL")));
        }
    }
}

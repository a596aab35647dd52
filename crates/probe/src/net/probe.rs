//! The probes of a test over UDP sockets, all in a separate thread, so that load does not delay them.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;

use goodqueue::{Nanos, Span};

use super::clock::{ClockWatch, SharedClock};
use super::error::{Context, NetError};
use super::session::Far;
use super::sys::{self, AsFd, AsRawFd, RawFd};
use crate::echo::wire::MAX_LEN;
use crate::echo::{Layout, Prober, ProberConfig, ProberStats};
use crate::{Dscp, Probe, Sample, Test};

/// Longest sleep, so that a stop is noticed.
const SLEEP: u64 = 100_000_000;

/// How long a stopped run waits for answers, ns.
const STOP_WAIT: i64 = 500_000_000;

/// How long the path must have been empty before unanswered probes are lost, ns: until then a probe may be
/// inside a host.
const EMPTY_FOR: u64 = 300_000_000;

/// The state of the path between the hosts, for the final wait for answers.
#[derive(Debug)]
pub struct PathState {
    /// The longest possible round trip: the base delay plus full queues; 4 s at least, 120 s at most. A probe
    /// that is not answered within this time is given up.
    longest: Span,
    /// Since when it has been empty, `CLOCK_MONOTONIC`; 0: it is not empty, or is not checked.
    empty_since: AtomicU64,
}

impl PathState {
    /// A path with a round trip of at most `longest`.
    #[must_use]
    pub fn new(longest: Span) -> PathState {
        let longest = longest.clamp(ProberConfig::LEAST_TIMEOUT, ProberConfig::MOST_TIMEOUT);
        PathState { longest, empty_since: AtomicU64::new(0) }
    }

    /// How long to wait for an answer.
    #[must_use]
    pub fn longest(&self) -> Span {
        self.longest
    }

    /// Records whether the path was empty at `now`.
    pub fn saw(&self, now: Nanos, is_empty: bool) {
        let before = self.empty_since.load(Ordering::Relaxed);
        let since = match (is_empty, before) {
            (false, _) => 0,
            (true, 0) => now.0,
            (true, before) => before,
        };
        self.empty_since.store(since, Ordering::Relaxed);
    }

    /// Whether the path has been empty for long enough since `sent` that no packet of that time can still
    /// arrive.
    fn is_done_with(&self, sent: Nanos, now: Nanos) -> bool {
        let since = self.empty_since.load(Ordering::Relaxed);
        since > 0 && now.since(sent.max(Nanos(since))).0 >= EMPTY_FOR
    }
}

impl Default for PathState {
    /// An unknown path: the wait for answers is 4 s.
    fn default() -> PathState {
        PathState::new(ProberConfig::LEAST_TIMEOUT)
    }
}

/// The result of a probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeOutcome {
    /// The prober's counters.
    pub stats: ProberStats,
    /// Replies whose DSCP differs from the probe's: the path changed it, up or down.
    pub dscp_changed: u64,
    /// Replies with CE in the ECN field; probes are sent as Not-ECT, so this is a fault of the path.
    pub ce: u64,
    /// Datagrams that the kernel refused; they do not count as sent.
    pub send_errors: u64,
    /// ICMP port unreachable messages from the other host.
    pub unreachable: u64,
    /// Replies without a kernel receive time; the time of reading is used instead.
    pub unstamped: u64,
}

/// The results of the thread.
#[derive(Debug, Default)]
pub(super) struct ProbesOutcome {
    pub(super) probes: Vec<ProbeOutcome>,
    pub(super) clock_stepped: i64,
    pub(super) urgent: bool,
}

/// One probe's socket and state.
struct Running {
    socket: UdpSocket,
    tos: u8,
    prober: Prober,
    outcome: ProbeOutcome,
}

/// A socket connected to the reflector on `host`.
fn open(probe: &Probe, server: SocketAddr) -> Result<UdpSocket, NetError> {
    let any: IpAddr = if server.is_ipv6() { [0u16; 8].into() } else { [0u8; 4].into() };
    let socket = UdpSocket::bind((any, 0)).context("open UDP for", &probe.name)?;
    socket.set_nonblocking(true).context("set UDP nonblocking for", &probe.name)?;
    sys::set_tos(socket.as_fd(), server.is_ipv6(), probe.dscp.tos()).context("set ToS of", &probe.name)?;
    sys::receive_tos_and_time(socket.as_fd(), server.is_ipv6()).context("set timestamps of", &probe.name)?;
    socket.connect(server).context("connect UDP", server)?;
    Ok(socket)
}

/// All probes and calls of a test, opened but not started.
pub(super) struct Probes {
    running: Vec<Running>,
}

impl Probes {
    pub(super) fn open(
        test: &Test,
        servers: &[Far],
        clock: &SharedClock,
        longest: Span,
    ) -> Result<Probes, NetError> {
        let token = clock.load_start().wall.cast_unsigned() ^ u64::from(std::process::id()) << 40;
        let idle = i64::try_from(test.idle.0).unwrap_or(i64::MAX);
        let load = i64::try_from(test.load.0).unwrap_or(i64::MAX);
        let mut running = Vec::with_capacity(test.streams().len());
        for (index, probe) in (0u32..).zip(test.streams()) {
            // Probes with the same interval share its grid. They are spread over it, so they do not queue
            // behind each other.
            let spread = probe.interval.0 * u64::from(index) / test.streams().len() as u64;
            let config = ProberConfig {
                probe: index,
                token: token.wrapping_add(u64::from(index)).max(1),
                origin: clock.nanos(0),
                start: clock.nanos(-idle) + Span(spread),
                stop: clock.nanos(load),
                interval: probe.interval,
                payload: probe.payload.min(MAX_LEN as u32),
                layout: Layout::FULL,
                least_timeout: longest,
            };
            running.push(Running {
                socket: open(probe, servers[probe.host].server)?,
                tos: probe.dscp.tos(),
                prober: Prober::new(config),
                outcome: ProbeOutcome::default(),
            });
        }
        Ok(Probes { running })
    }

    /// Runs until all probes are accounted for. When one of `stops` is set, it sends nothing more, and probes
    /// in flight have 0.5 s to come back. If the path is empty, it does not wait.
    pub(super) fn run(
        mut self,
        path: &PathState,
        sink: &Sender<Sample>,
        stops: &[&AtomicBool],
    ) -> Result<ProbesOutcome, NetError> {
        let urgent = sys::urgent_thread();
        let mut watch = ClockWatch::new();
        let mut emit = |sample| {
            // A receiver that is gone no longer wants samples; the run is stopped by other means.
            let _ = sink.send(sample);
        };
        let fds: Vec<RawFd> = self.running.iter().map(|probe| probe.socket.as_raw_fd()).collect();
        let mut ready = Vec::with_capacity(fds.len());
        let mut deadline = i64::MAX;
        while sys::monotonic() < deadline {
            if deadline == i64::MAX && stops.iter().any(|stop| stop.load(Ordering::Relaxed)) {
                deadline = sys::monotonic() + STOP_WAIT;
                self.running.iter_mut().for_each(|probe| probe.prober.stop());
            }
            for &index in &ready {
                let probe: &mut Running = &mut self.running[index];
                probe.receive(&mut watch, &mut emit);
            }
            for probe in &mut self.running {
                probe.prober.handle_timeout(watch.now(), &mut emit);
                probe.transmit(&mut watch);
            }
            let Some(wake) = self.running.iter().filter_map(|p| p.prober.poll_timeout()).min() else { break };
            let now = Nanos(sys::monotonic().max(0).cast_unsigned());
            for probe in &mut self.running {
                if probe.prober.sent_all_at().is_some_and(|sent| path.is_done_with(sent, now)) {
                    probe.prober.finish(&mut emit);
                }
            }
            let sleep = wake.0.saturating_sub(sys::monotonic().max(0).cast_unsigned()).min(SLEEP);
            sys::wait_readable(&fds, sleep, &mut ready).context("wait for", "probes")?;
        }
        let finish = |mut probe: Running| {
            probe.prober.leave(watch.now(), &mut emit);
            ProbeOutcome { stats: probe.prober.stats(), ..probe.outcome }
        };
        let probes = self.running.into_iter().map(finish).collect();
        Ok(ProbesOutcome { probes, clock_stepped: watch.stepped(), urgent })
    }
}

impl Running {
    /// Sends what is due.
    fn transmit(&mut self, watch: &mut ClockWatch) {
        let mut buf = [0; MAX_LEN];
        while let Some(len) = self.prober.poll_transmit(watch.now(), &mut buf) {
            match self.socket.send(&buf[..len]) {
                Ok(_) => {}
                // The error of an earlier datagram. Returning it clears it; this datagram was not sent.
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                    self.outcome.unreachable += 1;
                    if self.socket.send(&buf[..len]).is_err() {
                        self.prober.transmit_failed();
                    }
                }
                Err(_) => {
                    self.outcome.send_errors += 1;
                    self.prober.transmit_failed();
                }
            }
        }
    }

    /// Reads all waiting replies.
    fn receive(&mut self, watch: &mut ClockWatch, sink: &mut dyn FnMut(Sample)) {
        let mut buf = [0; MAX_LEN];
        loop {
            let datagram = match sys::receive(self.socket.as_fd(), &mut buf) {
                Ok(datagram) => datagram,
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                    self.outcome.unreachable += 1;
                    continue;
                }
                Err(_) => return,
            };
            let now = watch.now();
            let recv = datagram.messages.wall.map_or(now, |wall| watch.of_wall(wall));
            let ours = self.prober.handle_datagram(recv, &buf[..datagram.len], sink).is_ok();
            if ours {
                self.outcome.unstamped += u64::from(datagram.messages.wall.is_none());
                let tos = datagram.messages.tos.unwrap_or(self.tos);
                self.outcome.ce += u64::from(tos & 3 == 3);
                self.outcome.dscp_changed += u64::from(Dscp::of_tos(tos) != Dscp::of_tos(self.tos));
            }
        }
    }
}

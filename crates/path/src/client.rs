//! The client: opens a session with a server, drives the prober over a socket and reports every probe.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use goodqueue::{Nanos, Rng, Span};
use goodqueue_probe::echo::wire::{IpFields, Layout, MAX_DATAGRAM};
use goodqueue_probe::echo::{Echo, Prober, ProberConfig, ProberStats, Schedule, Stamp};
use goodqueue_probe::net::{Arrival, ClockWatch, Transmission, Udp, urgent_thread, wait};
use goodqueue_probe::{Direction, Sample};

use crate::fill::Fill;
use crate::key::Key;
use crate::open::{self, OpenReply, OpenRequest};
use crate::params::{self, Params, Refusal};

/// Longest sleep, so that a stop is noticed.
const SLEEP: u64 = 100_000_000;
/// How long the client waits for answers when the session is stopped.
const STOP_WAIT: i64 = 500_000_000;
/// Largest number of sent probes that wait for their transmit time; older ones get none.
const MOST_UNSTAMPED: usize = 4096;

/// The requested session.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The server.
    pub server: SocketAddr,
    /// The address and port to send from; without it the kernel chooses.
    pub local: Option<SocketAddr>,
    /// The requested parameters. Probes have the same ToS byte, and the interval is the mean of the schedule.
    /// A server that does not know our own parameters is accepted.
    pub params: Params,
    /// When probes are due.
    pub schedule: Schedule,
    /// For random sizes: the smallest size, and the seed of the draws. Sizes are uniform from it to
    /// [`Params::length`].
    pub least_size: Option<(u16, u64)>,
    /// The session is one of an endless sequence: the server may grant less time, and the session is over
    /// when nothing has come back for this time, or for five intervals if that is longer.
    pub silence: Option<Span>,
    /// The key.
    pub key: Option<Key>,
    /// Whether the server may restrict the parameters.
    pub loose: bool,
    /// The fill of the probes.
    pub fill: Fill,
    /// TTL or hop limit of probes; without it the kernel's default.
    pub ttl: Option<u8>,
    /// Whether probes may be fragmented; without it the kernel's default.
    pub fragments: Option<bool>,
    /// How long to wait for the answer to each request to open, one after the other.
    pub timeouts: Vec<Span>,
    /// Shortest time to wait for a reply.
    pub wait: Span,
}

/// Why a session did not begin.
#[derive(Debug, thiserror::Error)]
pub enum OpenFailure {
    /// A socket could not be created, or could not be used for this server.
    #[error("{}", crate::no_way(.0))]
    Socket(io::Error),
    /// The server's host reports that nothing listens there.
    #[error("nobody listens there")]
    Unreachable,
    /// Nothing came back.
    #[error("no answer")]
    Silent,
    /// Stopped before it began.
    #[error("stopped")]
    Stopped,
    /// The server refused, and may have said why.
    #[error("refused")]
    Refused(Option<Refusal>),
    /// The server speaks another version of the protocol: this one.
    #[error(
        "the server speaks version {0} of the protocol and this program version {version}: update the older one",
        version = params::VERSION
    )]
    Version(i64),
    /// The server does not speak ours, and does not say which one it speaks.
    #[error("the server speaks another version of the protocol than this program: update the older one")]
    OtherVersion,
    /// The server allows less than was asked for; these are its parameters.
    #[error("restricted")]
    Restricted(Box<Params>),
    /// The server's parameters are not valid.
    #[error(transparent)]
    Params(#[from] params::ParamsError),
}

/// Events of probes.
#[derive(Clone, Copy, Debug)]
pub enum Update {
    /// One was sent. Numbers count up from 0.
    Sent {
        /// Its number.
        seq: u32,
        /// When, by the clocks read just before.
        at: Stamp,
        /// Its UDP payload, bytes.
        size: u16,
    },
    /// The interface has sent one.
    OnWire {
        /// Its number.
        seq: u32,
        /// When, by the interface's own clock, nanoseconds.
        hardware: i64,
    },
    /// One was answered.
    Reply {
        /// The reply, and what the prober knows about it.
        echo: Echo,
        /// Its UDP payload, bytes.
        size: u16,
        /// When the interface received it, by the interface's own clock, nanoseconds.
        hardware: Option<i64>,
        /// The ToS byte with which it came.
        tos: Option<u8>,
        /// The TTL or hop limit with which it came.
        ttl: Option<u8>,
    },
    /// The client gave up on one.
    Lost {
        /// Its number.
        seq: u32,
        /// Where it was lost, as far as later replies show.
        way: Option<Direction>,
        /// No later probe was answered either: it may have been in flight.
        unanswered: bool,
    },
    /// Nothing has come back for a long time, so another session is requested.
    Silent {
        /// When.
        at: Stamp,
    },
    /// Another session continues where the last one ended.
    Renewed {
        /// When.
        at: Stamp,
        /// The fields of its packets.
        layout: Layout,
    },
}

/// The summary of a session.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    /// The number of probes that have a number.
    pub numbered: u32,
    /// The prober's counters.
    pub prober: ProberStats,
    /// When the last reply came, nanoseconds of the monotonic clock.
    pub last_reply: Option<i64>,
    /// When the last probe was sent, nanoseconds of the monotonic clock.
    pub last_sent: Option<i64>,
    /// Sends that the kernel refused; those probes were not sent.
    pub send_errors: u64,
    /// How many times the server's host reported that nothing listens there.
    pub unreachable: u64,
    /// Replies without the right HMAC.
    pub wrong_key: u64,
    /// Replies without a receive time from the kernel; the time of reading is used instead.
    pub unstamped: u64,
    /// Probes whose transmit time is the kernel's.
    pub stamped_sends: u64,
    /// By how much this host's wall clock was set during the session, nanoseconds.
    pub clock_stepped: i64,
    /// The server ended the session.
    pub closed_by_server: bool,
    /// It was stopped.
    pub stopped: bool,
    /// Nothing came back for a long time.
    pub silent: bool,
    /// Sessions that followed the first one.
    pub renewed: u64,
}

impl Summary {
    /// The combined summary of the previous session and this one.
    #[must_use]
    pub fn after(self, before: &Summary) -> Summary {
        let (a, b) = (before.prober, self.prober);
        let mut lateness = a.lateness;
        lateness.buckets.iter_mut().zip(b.lateness.buckets).for_each(|(sum, more)| *sum += more);
        lateness.max_ns = lateness.max_ns.max(b.lateness.max_ns);
        Summary {
            numbered: before.numbered.saturating_add(self.numbered),
            prober: ProberStats {
                sent: a.sent + b.sent,
                received: a.received + b.received,
                duplicates: a.duplicates + b.duplicates,
                reordered: a.reordered + b.reordered,
                late: a.late + b.late,
                lost_up: a.lost_up + b.lost_up,
                lost_down: a.lost_down + b.lost_down,
                lost_unknown: a.lost_unknown + b.lost_unknown,
                unanswered: a.unanswered + b.unanswered,
                timer_misses: a.timer_misses + b.timer_misses,
                refused: a.refused + b.refused,
                lateness,
            },
            last_reply: self.last_reply.or(before.last_reply),
            last_sent: self.last_sent.or(before.last_sent),
            send_errors: before.send_errors + self.send_errors,
            unreachable: before.unreachable + self.unreachable,
            wrong_key: before.wrong_key + self.wrong_key,
            unstamped: before.unstamped + self.unstamped,
            stamped_sends: before.stamped_sends + self.stamped_sends,
            clock_stepped: before.clock_stepped.saturating_add(self.clock_stepped),
            renewed: before.renewed + 1,
            ..self
        }
    }
}

/// A session that a server has granted.
#[derive(Debug)]
pub struct Session {
    socket: Udp,
    plan: Plan,
    token: u64,
    params: Params,
    layout: Layout,
}

/// Checks the parameters that a server grants.
fn granted(plan: &Plan, reply: &OpenReply) -> Result<Params, OpenFailure> {
    let (asked, got) = (&plan.params, &reply.params);
    if got.version != params::VERSION {
        return Err(OpenFailure::Version(got.version));
    }
    if reply.closed || reply.token == 0 {
        return Err(match Refusal::of(got.refusal) {
            Some(Refusal::Version) => OpenFailure::OtherVersion,
            why => OpenFailure::Refused(why),
        });
    }
    let plain = Params { refusal: 0, ip: got.ip.min(asked.ip), ..got.clone() };
    let is_less = plain.duration <= asked.duration && (plain.length <= asked.length || asked.length == 0);
    let duration = if plan.silence.is_some() { plain.duration.min(asked.duration) } else { asked.duration };
    // Other servers do not know about the IP headers.
    if plain == (Params { ip: plain.ip, duration, ..asked.clone() }) || (plan.loose && is_less) {
        return Ok(plain);
    }
    Err(OpenFailure::Restricted(Box::new(plain)))
}

impl Session {
    /// Asks the server for a session.
    ///
    /// # Errors
    /// [`OpenFailure`].
    pub fn open(plan: Plan, stop: &AtomicBool) -> Result<Session, OpenFailure> {
        let socket = Udp::connect(plan.server, plan.local).map_err(OpenFailure::Socket)?;
        Session::set_up(&socket, &plan).map_err(OpenFailure::Socket)?;
        let hmac = plan.key.is_some();
        let mut request = OpenRequest { try_only: false, params: plan.params.clone() }.emit(hmac);
        if let Some(key) = &plan.key {
            key.seal(&mut request);
        }
        let mut watch = ClockWatch::new();
        for timeout in &plan.timeouts {
            match socket.send(&request) {
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                    return Err(OpenFailure::Unreachable);
                }
                Err(error) => return Err(OpenFailure::Socket(error)),
                Ok(()) => {}
            }
            let until = watch.now().mono.saturating_add(i64::try_from(timeout.0).unwrap_or(i64::MAX));
            let Some(reply) = await_reply(&socket, plan.key.as_ref(), until, &mut watch, stop)? else {
                continue;
            };
            let params = granted(&plan, &reply)?;
            let layout = params.layout(hmac)?;
            return Ok(Session { socket, token: reply.token, params, layout, plan });
        }
        Err(OpenFailure::Silent)
    }

    fn set_up(socket: &Udp, plan: &Plan) -> io::Result<()> {
        socket.set_tos(u8::try_from(plan.params.tos).unwrap_or(0))?;
        if let Some(ttl) = plan.ttl {
            socket.set_ttl(ttl)?;
        }
        plan.fragments.map_or(Ok(()), |may| socket.set_fragments(may))
    }

    /// The agreed parameters.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The fields of its packets.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The IP header of its probes as sent.
    #[must_use]
    pub fn sent_ip(&self) -> IpFields {
        let tos = u8::try_from(self.params.tos).unwrap_or(0);
        IpFields { tos, ttl: self.socket.ttl().unwrap_or(0) }
    }

    /// The plan that was requested.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Bytes of a probe's UDP payload; of the longest if they differ.
    #[must_use]
    pub fn size(&self) -> usize {
        usize::try_from(self.params.length).unwrap_or(0).max(self.layout.header_len())
    }

    /// Its own address and port.
    ///
    /// # Errors
    /// The kernel's.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Sends the probes and reports their fates, until all are accounted for. Once `stop` is set nothing more
    /// is sent, and probes in flight have 0.5 s to come back.
    ///
    /// # Errors
    /// The kernel's error if it cannot wait, or if a probe is too long for the path (`EMSGSIZE`).
    pub fn run(self, stop: &AtomicBool, sink: &mut dyn FnMut(Update)) -> io::Result<Summary> {
        urgent_thread();
        let mut watch = ClockWatch::new();
        let now = Nanos(watch.now().mono.max(0).cast_unsigned());
        let config = ProberConfig {
            probe: 0,
            token: self.token,
            origin: now,
            start: now,
            stop: now + Span(self.params.duration.unsigned_abs()),
            interval: Span(self.params.interval.unsigned_abs()),
            payload: u32::try_from(self.size()).unwrap_or(u32::MAX),
            layout: self.layout,
            least_timeout: self.plan.wait,
        };
        let prober = Prober::with_schedule(config, self.plan.schedule.clone());
        let stamps = self.socket.stamp_transmissions().is_ok();
        let fill = self.plan.fill.clone();
        let summary = Summary::default();
        let sizes =
            self.plan.least_size.map(|(least, seed)| (usize::from(least), Rng::stream(seed, 0, "sizes")));
        let sends = Sends::default();
        let mut running = Running { session: &self, prober, summary, fill, sizes, stamps, sends, seq: 0 };
        let end = running.run(&mut watch, stop, sink);
        let Running { prober, mut summary, seq, .. } = running;
        summary.prober = prober.stats();
        summary.numbered = seq;
        summary.clock_stepped = watch.stepped();
        let mut close = open::close(self.token, self.layout.hmac);
        if let Some(key) = &self.plan.key {
            key.seal(&mut close);
        }
        // If this is lost, the server notices the silence.
        let _ = self.socket.send(&close);
        end.map(|()| summary)
    }
}

/// The server's answer to a request to open, if it arrives in time.
fn await_reply(
    socket: &Udp,
    key: Option<&Key>,
    until: i64,
    watch: &mut ClockWatch,
    stop: &AtomicBool,
) -> Result<Option<OpenReply>, OpenFailure> {
    let (mut buf, mut ready) = ([0; 2048], Vec::new());
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(OpenFailure::Stopped);
        }
        let left = until.saturating_sub(watch.now().mono);
        if left <= 0 {
            return Ok(None);
        }
        wait(std::slice::from_ref(socket), left.unsigned_abs().min(SLEEP), &mut ready)
            .map_err(OpenFailure::Socket)?;
        match socket.receive(&mut buf) {
            Ok(arrival) => {
                let bytes = &buf[..arrival.len];
                let is_ours = key.is_none_or(|key| key.opens(bytes));
                if let (true, Ok(reply)) = (is_ours, OpenReply::parse(bytes)) {
                    return Ok(Some(reply));
                }
            }
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                return Err(OpenFailure::Unreachable);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(OpenFailure::Socket(error)),
        }
    }
}

/// Maps the kernel's transmit times to probes.
#[derive(Debug, Default)]
struct Sends {
    /// Numbers of the probes that wait for their time; the first one is the kernel's datagram `first`.
    waiting: std::collections::VecDeque<u32>,
    first: u32,
    /// The last probe that got its time, and the number of its datagram.
    last: Option<(u32, u32)>,
}

impl Sends {
    fn sent(&mut self, seq: u32) {
        self.waiting.push_back(seq);
        if self.waiting.len() > MOST_UNSTAMPED {
            self.waiting.pop_front();
            self.first = self.first.wrapping_add(1);
        }
    }

    /// The probe that the kernel's datagram `number` was; those before it get no time.
    fn stamped(&mut self, number: u32) -> Option<u32> {
        let ahead = number.wrapping_sub(self.first) as usize;
        if ahead >= self.waiting.len() {
            return None;
        }
        self.first = number.wrapping_add(1);
        let seq = self.waiting.drain(..=ahead).next_back();
        self.last = seq.map(|seq| (seq, number));
        seq
    }

    /// The probe that the kernel's datagram `number` was, if it is not after the last one that got its time.
    fn before(&self, number: u32) -> Option<u32> {
        let (seq, last) = self.last?;
        seq.checked_sub(last.checked_sub(number)?)
    }
}

struct Running<'a> {
    session: &'a Session,
    prober: Prober,
    summary: Summary,
    fill: Fill,
    /// The smallest size and the draws, if sizes are random.
    sizes: Option<(usize, Rng)>,
    /// Whether the kernel's transmit times can be assigned to probes.
    stamps: bool,
    sends: Sends,
    /// Number of the next probe.
    seq: u32,
}

impl Running<'_> {
    fn run(
        &mut self,
        watch: &mut ClockWatch,
        stop: &AtomicBool,
        sink: &mut dyn FnMut(Update),
    ) -> io::Result<()> {
        let mut ready = Vec::new();
        let mut buf = vec![0; MAX_DATAGRAM];
        let (mut deadline, began) = (i64::MAX, watch.now().mono);
        let five = Span(self.session.params.interval.unsigned_abs().saturating_mul(5));
        let silence = self.session.plan.silence.map(|silence| silence.max(five).0.cast_signed());
        loop {
            let now = watch.now();
            if now.mono >= deadline {
                break;
            }
            let heard = self.summary.last_reply.unwrap_or(began);
            if silence.is_some_and(|silence| now.mono.saturating_sub(heard) > silence) {
                self.summary.silent = true;
                break;
            }
            if deadline == i64::MAX && stop.load(Ordering::Relaxed) {
                deadline = now.mono + STOP_WAIT;
                self.summary.stopped = true;
                self.prober.stop();
            }
            self.receive(watch, &mut buf, sink);
            self.prober.handle_timeout(now, &mut |sample| tell(&sample, sink));
            self.transmit(watch, &mut buf, sink)?;
            let Some(wake) = self.prober.poll_timeout() else { break };
            let left = wake.0.saturating_sub(watch.now().mono.max(0).cast_unsigned());
            wait(std::slice::from_ref(&self.session.socket), left.min(SLEEP), &mut ready)?;
        }
        self.prober.leave(watch.now(), &mut |sample| tell(&sample, sink));
        Ok(())
    }

    /// Sends what is due.
    fn transmit(
        &mut self,
        watch: &mut ClockWatch,
        buf: &mut [u8],
        sink: &mut dyn FnMut(Update),
    ) -> io::Result<()> {
        let (session, header) = (self.session, self.session.layout.header_len());
        loop {
            let at = watch.now();
            if let Some((least, draws)) = &mut self.sizes {
                let range = (session.size() + 1).saturating_sub(*least).max(1) as u64;
                self.prober.set_payload(*least + usize::try_from(draws.below(range)).unwrap_or(0));
            }
            let Some(len) = self.prober.poll_transmit(at, buf) else { break };
            self.fill.write(&mut buf[header..len]);
            if let Some(key) = &session.plan.key {
                key.seal(&mut buf[..len]);
            }
            let mut sent = session.socket.send(&buf[..len]);
            if sent.as_ref().is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
                // The error of an earlier probe; reading it clears it, and this probe was not sent.
                self.summary.unreachable += 1;
                sent = session.socket.send(&buf[..len]);
            }
            match sent {
                Ok(()) => {
                    sink(Update::Sent { seq: self.seq, at, size: u16::try_from(len).unwrap_or(u16::MAX) });
                    self.summary.last_sent = Some(at.mono);
                    self.sends.sent(self.seq);
                    self.seq += 1;
                }
                Err(error) => {
                    self.prober.transmit_failed();
                    self.summary.send_errors += 1;
                    // Kernels differ in whether a datagram that failed is counted.
                    self.stamps = false;
                    if error.raw_os_error() == Some(EMSGSIZE) {
                        return Err(error);
                    }
                }
            }
            self.note_transmissions(watch, sink);
        }
        Ok(())
    }

    /// Reads the kernel's transmit times.
    fn note_transmissions(&mut self, watch: &ClockWatch, sink: &mut dyn FnMut(Update)) {
        while let Some(Transmission { number, wall, hardware }) = self.session.socket.transmitted() {
            if !self.stamps {
                continue;
            }
            if let Some((wall, seq)) = wall.and_then(|wall| Some((wall, self.sends.stamped(number)?))) {
                self.prober.was_sent(seq, watch.of_wall(wall));
                self.summary.stamped_sends += 1;
            }
            if let Some((hardware, seq)) = hardware.zip(self.sends.before(number)) {
                sink(Update::OnWire { seq, hardware });
            }
        }
    }

    /// Reads all replies that wait.
    fn receive(&mut self, watch: &mut ClockWatch, buf: &mut [u8], sink: &mut dyn FnMut(Update)) {
        self.note_transmissions(watch, sink);
        loop {
            let arrival = match self.session.socket.receive(buf) {
                Ok(arrival) => arrival,
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                    self.summary.unreachable += 1;
                    continue;
                }
                Err(_) => return,
            };
            let bytes = &buf[..arrival.len];
            if self.session.plan.key.as_ref().is_some_and(|key| !key.opens(bytes)) {
                self.summary.wrong_key += 1;
                continue;
            }
            let now = watch.now();
            let received = arrival.wall.map_or(now, |wall| watch.of_wall(wall));
            let answer = self.prober.handle_datagram(received, bytes, &mut |sample| tell(&sample, sink));
            let Ok(echo) = answer else { continue };
            self.summary.unstamped += u64::from(arrival.wall.is_none());
            self.summary.last_reply = Some(received.mono);
            if echo.packet.close {
                self.summary.closed_by_server = true;
                self.prober.stop();
            }
            let size = u16::try_from(arrival.len).unwrap_or(u16::MAX);
            let Arrival { hardware, tos, ttl, .. } = arrival;
            sink(Update::Reply { echo, size, hardware, tos, ttl });
        }
    }
}

pub use goodqueue_probe::net::EMSGSIZE;

/// Reports what the prober says about probes without an answer.
fn tell(sample: &Sample, sink: &mut dyn FnMut(Update)) {
    match *sample {
        Sample::Lost { seq, way, .. } => sink(Update::Lost { seq, way, unanswered: false }),
        Sample::UnderWay { seq, .. } => sink(Update::Lost { seq, way: None, unanswered: true }),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(loose: bool) -> Plan {
        let (version, duration, interval) = (1, 1_000, 10);
        Plan {
            server: "127.0.0.1:2112".parse().unwrap(),
            local: None,
            params: Params { version, duration, interval, length: 100, ..Params::default() },
            schedule: Schedule::Isochronous,
            least_size: None,
            silence: None,
            key: None,
            loose,
            fill: Fill::None,
            ttl: None,
            fragments: None,
            timeouts: Vec::new(),
            wait: Span::from_secs(4),
        }
    }

    #[test]
    fn a_session_without_end_takes_the_time_that_it_gets() {
        let plan = Plan { silence: Some(Span::from_secs(10)), ..plan(false) };
        let given = |duration: i64, interval: i64| {
            let params = Params { duration, interval, ..plan.params.clone() };
            granted(&plan, &OpenReply { token: 7, closed: false, params })
        };
        assert_eq!(given(500, 10).unwrap().duration, 500);
        assert!(matches!(given(2_000, 10), Err(OpenFailure::Restricted(_))));
        assert!(matches!(given(500, 20), Err(OpenFailure::Restricted(_))));
    }

    #[test]
    fn ip_headers_are_told_where_both_ends_know_of_them() {
        let plan = Plan { params: Params { ip: 1, ..plan(false).params }, ..plan(false) };
        let given = |asked: i64, ip: i64| {
            let plan = Plan { params: Params { ip: asked, ..plan.params.clone() }, ..plan.clone() };
            let params = Params { ip, ..plan.params.clone() };
            granted(&plan, &OpenReply { token: 7, closed: false, params }).unwrap().ip
        };
        assert_eq!([given(1, 1), given(1, 0), given(0, 1)], [1, 0, 0]);
    }

    fn grants(loose: bool, change: fn(&mut OpenReply)) -> Result<Params, OpenFailure> {
        let plan = plan(loose);
        let mut reply = OpenReply { token: 7, closed: false, params: plan.params.clone() };
        change(&mut reply);
        granted(&plan, &reply)
    }

    #[test]
    fn the_parameters_that_a_server_grants_are_checked() {
        assert_eq!(grants(false, |_| {}).unwrap(), plan(false).params);
        assert!(matches!(grants(false, |r| r.params.interval = 20), Err(OpenFailure::Restricted(_))));
        assert_eq!(grants(true, |r| r.params.interval = 20).unwrap().interval, 20);
        assert!(matches!(grants(true, |r| r.params.length = 1400), Err(OpenFailure::Restricted(_))));
        assert!(matches!(grants(true, |r| r.params.duration = 2_000), Err(OpenFailure::Restricted(_))));
        assert!(matches!(grants(true, |r| r.params.version = 2), Err(OpenFailure::Version(2))));
        assert!(matches!(grants(true, |r| r.token = 0), Err(OpenFailure::Refused(None))));
        let full = grants(true, |r| (r.closed, r.params.refusal) = (true, 2));
        assert!(matches!(full, Err(OpenFailure::Refused(Some(Refusal::Full)))));
    }

    #[test]
    fn transmit_times_find_their_probes() {
        let mut sends = Sends::default();
        (10..14).for_each(|seq| sends.sent(seq));
        assert_eq!(sends.stamped(0), Some(10));
        assert_eq!(sends.stamped(2), Some(12), "that of 11 was lost");
        assert_eq!((sends.stamped(1), sends.stamped(4)), (None, None));
        assert_eq!([0, 2, 3].map(|number| sends.before(number)), [Some(10), Some(12), None]);
        (14..20_000).for_each(|seq| sends.sent(seq));
        assert_eq!(sends.stamped(19_980), Some(19_990));
    }
}

//! The client side of QUIC flows, in one loop. Each flow has its own socket, so that flow queueing sees it as
//! one flow.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use goodqueue::Span;

use super::{LONGEST, RECEIVE_BUFFER, TURN, now, settings};
use crate::net::agenda::Due;
use crate::net::error::{Context, NetError};
use crate::net::header::FlowHeader;
use crate::net::load::{Load, LoadOutcome};
use crate::net::session::QuicFar;
use crate::net::sys::{AsFd, AsRawFd, Interest};
use crate::net::udp::Udp;
use crate::quic::{Arrival, Event, Host, OPENING, View};
use crate::{End, QuicCc, Sample};

const TIMER: u64 = u64::MAX;
/// Bytes of a download that may wait for missing ones: what Linux's TCP allows by default
/// (`net.ipv4.tcp_rmem`), rounded up.
const WINDOW: u32 = 8 << 20;

/// A socket with the connection of one flow.
pub(in crate::net) struct Running {
    udp: Udp,
    host: Host,
    number: usize,
    server: SocketAddr,
    end: End,
    /// Payload that samples have reported.
    told: u64,
    /// A datagram that the kernel had no room for.
    waiting: Option<Vec<u8>>,
    is_connected: bool,
}

/// The state of a flow over QUIC.
#[derive(Default)]
pub(in crate::net) enum State {
    #[default]
    Waiting,
    Running(Box<Running>),
    Over,
}

/// The loop over all flows over QUIC.
pub(in crate::net) type QuicFlows<'a> = Load<'a, State>;

impl QuicFlows<'_> {
    /// Runs until the last flow has stopped, all flows have failed or `stop` is set. [`Host::view`] explains
    /// the sender's state.
    pub(in crate::net) fn run(mut self, stop: &AtomicBool) -> Result<LoadOutcome, NetError> {
        self.epoll.add_timer(&self.timer, TIMER).context("watch", "timer")?;
        let (mut tokens, mut buf) = (Vec::new(), vec![0; LONGEST]);
        while !stop.load(Ordering::Relaxed) && !self.states.iter().all(|s| matches!(s, State::Over)) {
            self.pass_time();
            for index in 0..self.states.len() {
                self.turn(index);
            }
            self.timer.set(self.next()).context("set", "timer")?;
            self.epoll.wait(&mut tokens).context("wait for", "flows")?;
            for &token in tokens.iter().filter(|&&token| token != TIMER) {
                let index = token as usize;
                if let Some(State::Running(flow)) = self.states.get_mut(index)
                    && let Err(error) = flow.receive(&mut buf)
                {
                    self.end(index, Some(explain(&error)));
                }
            }
        }
        for flow in 0..self.states.len() {
            self.end(flow, Some("the run was stopped".into()));
        }
        Ok(self.out)
    }

    /// When the next action is due, on the monotonic clock.
    fn next(&self) -> i64 {
        let timeouts = self.states.iter().filter_map(|state| match state {
            State::Running(flow) => flow.host.poll_timeout(),
            _ => None,
        });
        let timeout = timeouts.min().map_or(i64::MAX, |at| i64::try_from(at.0).unwrap_or(i64::MAX));
        self.clock.mono(self.agenda.next()).min(timeout)
    }

    /// Samples the steps that have passed, and starts and stops flows that are due, in order of time.
    fn pass_time(&mut self) {
        let t = self.clock.t();
        while let Some(due) = self.agenda.take(t) {
            match due {
                Due::Step(end) => {
                    self.out.lateness.record(Span((t - end).max(0).cast_unsigned()));
                    self.tick(end, t);
                }
                Due::Start(index) => match self.start(index) {
                    Ok(flow) => self.states[index] = State::Running(Box::new(flow)),
                    Err(error) => self.end(index, Some(error)),
                },
                Due::Stop(index) => {
                    let is_connected =
                        matches!(&self.states[index], State::Running(flow) if flow.is_connected);
                    let error = (!is_connected).then(|| "not connected by its planned stop".to_owned());
                    self.end(index, error);
                }
            }
        }
    }

    fn tick(&mut self, end: i64, t: i64) {
        for (flow, state) in (0u32..).zip(&mut self.states) {
            let State::Running(running) = state else { continue };
            let View { info, is_connected, .. } = running.view();
            let sample = match running.end {
                End::Receiver => Sample::Received { flow, t: end, bytes: running.take_received() },
                End::Sender if is_connected => Sample::Tcp { flow, t, info },
                End::Sender => continue,
            };
            // A receiver that is gone no longer wants samples; the run is stopped by other means.
            let _ = self.sink.send(sample);
        }
    }

    fn start(&self, index: usize) -> Result<Running, String> {
        let flow = &self.test.flows[index];
        let end = End::of_client(flow.direction);
        let far = &self.servers[flow.host];
        let (Some(session), Some(QuicFar { port, keys })) = (&far.session, &far.quic) else {
            return Err("the server accepts no flows over QUIC".into());
        };
        let server = SocketAddr::new(far.server.ip(), *port);
        let cc: QuicCc = flow.cc.parse().map_err(|error| format!("{error}"))?;
        let header = FlowHeader { cc: cc.name().into(), ..FlowHeader::of(self.test, index) };
        let mut opening = [0; OPENING];
        let preface = session.preface();
        opening[..preface.len()].copy_from_slice(&preface);
        opening[preface.len()..].copy_from_slice(&header.emit());
        let udp = self.socket(index, server).map_err(|error| explain(&error))?;
        let settings = settings(server.is_ipv6(), WINDOW, 1);
        let mut host = Host::client(settings, keys.clone());
        let sends = (end == End::Sender).then_some(cc);
        let number = host.connect(now(), server, &opening, sends)?;
        Ok(Running { udp, host, number, server, end, told: 0, waiting: None, is_connected: false })
    }

    fn socket(&self, index: usize, server: SocketAddr) -> io::Result<Udp> {
        let udp = Udp::connect(server, None)?;
        udp.set_tos(self.test.flows[index].dscp.tos())?;
        match udp.set_fragments(false) {
            // Not every system lets a program choose.
            Err(error) if error.kind() == ErrorKind::Unsupported => {}
            other => other?,
        }
        udp.set_receive_buffer(RECEIVE_BUFFER)?;
        self.epoll.add(udp.as_fd(), Interest::Read, index as u64)?;
        Ok(udp)
    }

    /// Handles what is due for a flow, and sends what it may send.
    fn turn(&mut self, index: usize) {
        let State::Running(flow) = &mut self.states[index] else { return };
        let at = now();
        if flow.host.poll_timeout().is_some_and(|due| due <= at) {
            flow.host.handle_timeout(at);
        }
        let (had_room, sent) = (flow.waiting.is_none(), flow.send());
        if had_room != flow.waiting.is_none() {
            let interest = if had_room { Interest::Both } else { Interest::Read };
            // If this fails, the loop still looks ten times a second.
            let _ = self.epoll.change(flow.udp.as_fd(), interest, index as u64);
        }
        let mut error = sent.err().map(|error| explain(&error));
        while let Some((number, event)) = flow.host.poll_event() {
            match event {
                Event::Connected => {
                    flow.is_connected = true;
                    self.out.flows[index].connected = Some(self.clock.t());
                    let cc = flow.host.cc(number).map(QuicCc::name);
                    self.out.flows[index].cc = cc.unwrap_or_default().into();
                }
                Event::Ended(why) => error = Some(why),
                Event::Opening(_) => {}
            }
        }
        if error.is_some() {
            self.end(index, error);
        }
    }

    /// Ends a flow, once.
    fn end(&mut self, index: usize, error: Option<String>) {
        let t = self.clock.t();
        let flow = u32::try_from(index).unwrap_or(u32::MAX);
        let end = End::of_client(self.test.flows[index].direction);
        let mut bytes_total = 0;
        match std::mem::replace(&mut self.states[index], State::Over) {
            State::Over => return,
            State::Waiting => {}
            State::Running(mut running) => {
                let view = running.view();
                bytes_total = view.of(end);
                let bytes = running.take_received();
                if end == End::Receiver && bytes > 0 {
                    let _ = self.sink.send(Sample::Received { flow, t: self.agenda.step_end(), bytes });
                }
                running.host.close(now(), running.number);
                // The other end learns of it, or notices that nothing more comes.
                let _ = running.send();
            }
        }
        let _ = self.sink.send(Sample::FlowEnd { flow, t, end, bytes_total, error: error.clone() });
        (self.out.flows[index].bytes, self.out.flows[index].error) = (bytes_total, error);
    }
}

impl Running {
    fn view(&self) -> View {
        self.host.view(now(), self.number)
    }

    /// Payload received since the last call.
    fn take_received(&mut self) -> u64 {
        let received = self.view().received;
        received - std::mem::replace(&mut self.told, received)
    }

    fn receive(&mut self, buf: &mut [u8]) -> io::Result<()> {
        for _ in 0..TURN {
            match self.udp.receive(buf) {
                Ok(datagram) if datagram.truncated => {}
                Ok(datagram) => {
                    let ecn = datagram.tos.unwrap_or(0) & 3;
                    let arrival = Arrival { from: self.server, to: None, ecn };
                    self.host.handle(now(), arrival, &buf[..datagram.len]);
                }
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return Ok(()),
                    ErrorKind::Interrupted => {}
                    _ => return Err(error),
                },
            }
        }
        Ok(())
    }

    /// Sends until there is nothing to send, or no room in the kernel.
    fn send(&mut self) -> io::Result<()> {
        let mut buf = self.waiting.take().unwrap_or_default();
        loop {
            if buf.is_empty() && self.host.poll_transmit(now(), &mut buf).is_none() {
                return Ok(());
            }
            match self.udp.send(&buf) {
                Ok(()) => buf.clear(),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.waiting = Some(buf);
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::ConnectionRefused && !self.is_connected => {
                    return Err(error);
                }
                // Too long for the path, no buffer, or blocked: the packet is lost, as it could be anywhere.
                Err(_) => buf.clear(),
            }
        }
    }
}

fn explain(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::ConnectionRefused => "nobody listens at the server's UDP port".into(),
        _ => crate::net::explain(error),
    }
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").field("fd", &self.udp.as_raw_fd()).field("host", &self.host).finish()
    }
}

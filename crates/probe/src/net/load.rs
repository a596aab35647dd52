//! The client side of all flows over TCP, in one loop, and what all such loops have.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use goodqueue::Span;

use super::agenda::{Agenda, Due};
use super::clock::SharedClock;
use super::error::{Context, NetError};
use super::explain;
use super::flow::FlowEnd;
use super::header::FlowHeader;
use super::session::Far;
use super::sys::{self, AsFd, Epoll, Interest, Timer};
use crate::echo::Lateness;
use crate::{Direction, End, Sample, Test};

const TIMER: u64 = u64::MAX;

/// The result of a flow at the client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowOutcome {
    /// When it connected, nanoseconds from the start of the load; `None` if it never did.
    pub connected: Option<i64>,
    /// The congestion control that an upload's socket reported (`TCP_CONGESTION`); empty for a download,
    /// whose sender is in the server's summary.
    pub cc: String,
    /// Payload that the socket accepted (upload), or payload that was read (download).
    pub bytes: u64,
    /// Why it ended early or never began.
    pub error: Option<String>,
}

/// The results of the loop.
#[derive(Debug, Default)]
pub(super) struct LoadOutcome {
    pub(super) flows: Vec<FlowOutcome>,
    pub(super) lateness: Lateness,
}

impl LoadOutcome {
    /// The results of a test before it begins.
    pub(super) fn of(test: &Test) -> LoadOutcome {
        LoadOutcome { flows: vec![FlowOutcome::default(); test.flows.len()], lateness: Lateness::default() }
    }
}

/// A loop over all flows, each in a state of type `S`.
pub(super) struct Load<'a, S> {
    pub(super) test: &'a Test,
    pub(super) servers: &'a [Far],
    pub(super) clock: &'a SharedClock,
    pub(super) sink: &'a Sender<Sample>,
    pub(super) epoll: Epoll,
    pub(super) timer: Timer,
    pub(super) agenda: Agenda,
    pub(super) states: Vec<S>,
    pub(super) out: LoadOutcome,
}

impl<'a, S: Default> Load<'a, S> {
    /// All flows wait, in the default state. `servers`: one for each host of the test; for QUIC, each with
    /// the session that it has granted.
    pub(super) fn new(
        test: &'a Test,
        servers: &'a [Far],
        clock: &'a SharedClock,
        sink: &'a Sender<Sample>,
    ) -> Result<Load<'a, S>, NetError> {
        Ok(Load {
            test,
            servers,
            clock,
            sink,
            epoll: Epoll::new().context("create", "epoll")?,
            timer: Timer::new().context("create", "timer")?,
            agenda: Agenda::new(test),
            states: test.flows.iter().map(|_| S::default()).collect(),
            out: LoadOutcome::of(test),
        })
    }
}

/// The state of a flow over TCP.
#[derive(Debug, Default)]
pub(super) enum State {
    #[default]
    Waiting,
    Connecting(TcpStream),
    Running(FlowEnd),
    Over,
}

/// The loop over all flows over TCP.
pub(super) type TcpFlows<'a> = Load<'a, State>;

impl TcpFlows<'_> {
    /// Runs until the last flow has stopped, all flows have failed or `stop` is set.
    pub(super) fn run(mut self, stop: &AtomicBool) -> Result<LoadOutcome, NetError> {
        self.epoll.add_timer(&self.timer, TIMER).context("watch", "timer")?;
        let mut tokens = Vec::new();
        loop {
            self.pass_time();
            if stop.load(Ordering::Relaxed) || self.states.iter().all(|s| matches!(s, State::Over)) {
                break;
            }
            self.timer.set(self.clock.mono(self.agenda.next())).context("set", "timer")?;
            self.epoll.wait(&mut tokens).context("wait for", "flows")?;
            for &token in &tokens {
                self.pass_time();
                if token != TIMER {
                    self.serve(token as usize);
                }
            }
        }
        for flow in 0..self.states.len() {
            self.end(flow, Some("the run was stopped".into()));
        }
        Ok(self.out)
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
                Due::Start(flow) => self.start(flow),
                Due::Stop(flow) => {
                    let is_late = matches!(self.states[flow], State::Connecting(_));
                    self.end(flow, is_late.then(|| "not connected by its planned stop".into()));
                }
            }
        }
    }

    fn tick(&mut self, end: i64, now: i64) {
        for (index, state) in (0u32..).zip(&mut self.states) {
            let sample = match state {
                State::Running(flow) => flow.tick(end, now),
                // A download that is still connecting has received nothing, and that is a valid sample.
                State::Connecting(_) if self.test.flows[index as usize].direction == Direction::Down => {
                    Some(Sample::Received { flow: index, t: end, bytes: 0 })
                }
                _ => None,
            };
            if let Some(sample) = sample {
                // A receiver that is gone no longer wants samples; the run is stopped by other means.
                let _ = self.sink.send(sample);
            }
        }
    }

    fn start(&mut self, index: usize) {
        match self.connect(index) {
            Ok(stream) => self.states[index] = State::Connecting(stream),
            Err(error) => self.end(index, Some(explain(&error))),
        }
    }

    /// A connecting socket, with congestion control, rate limit and DSCP set before the first packet.
    fn connect(&self, index: usize) -> io::Result<TcpStream> {
        let flow = &self.test.flows[index];
        let server = self.servers[flow.host].server;
        let socket = sys::tcp_socket(server.ip())?;
        if flow.direction == Direction::Up {
            if !flow.cc.is_empty() {
                sys::set_cc(socket.as_fd(), &flow.cc)?;
            }
            if let Some(rate) = flow.max_rate {
                sys::set_max_pacing(socket.as_fd(), rate.0 / 8)?;
            }
        }
        sys::set_tos(socket.as_fd(), server.is_ipv6(), flow.dscp.tos())?;
        sys::connect(socket.as_fd(), server)?;
        self.epoll.add(socket.as_fd(), Interest::Write, index as u64)?;
        Ok(socket.into())
    }

    fn serve(&mut self, index: usize) {
        let result = match self.states.get_mut(index) {
            Some(State::Running(flow)) => flow.pump().map(drop),
            Some(State::Connecting(_)) => self.begin(index),
            _ => Ok(()),
        };
        if let Err(error) = result {
            self.end(index, Some(explain(&error)));
        }
    }

    /// Starts the flow of an established connection, and describes it to the server.
    fn begin(&mut self, index: usize) -> io::Result<()> {
        let State::Connecting(mut stream) = std::mem::replace(&mut self.states[index], State::Over) else {
            return Ok(());
        };
        let flow = &self.test.flows[index];
        let header = FlowHeader::of(self.test, index);
        let end = End::of_client(flow.direction);
        let result = stream.take_error().and_then(|error| error.map_or(Ok(()), Err));
        let opening = [&self.servers[flow.host].preface()[..], &header.emit()].concat();
        let result = result.and_then(|()| stream.write_all(&opening));
        let running = FlowEnd::new(index as u32, end, stream);
        let result = result
            .and_then(|()| self.epoll.change(running.stream().as_fd(), running.interest(), index as u64));
        if result.is_ok() {
            self.out.flows[index].connected = Some(self.clock.t());
            if running.end == End::Sender {
                self.out.flows[index].cc = sys::cc(running.stream().as_fd()).unwrap_or_default();
            }
        }
        self.states[index] = State::Running(running);
        result
    }

    /// Ends a flow, once.
    fn end(&mut self, index: usize, error: Option<String>) {
        let now = self.clock.t();
        let mut emit = |sample| {
            let _ = self.sink.send(sample);
        };
        let outcome = &mut self.out.flows[index];
        match std::mem::replace(&mut self.states[index], State::Over) {
            State::Over => return,
            State::Running(flow) => {
                outcome.bytes = flow.total();
                flow.finish(self.agenda.step_end(), now, error.clone(), &mut emit);
            }
            State::Waiting | State::Connecting(_) => {
                let end = End::of_client(self.test.flows[index].direction);
                let (flow, error) = (index as u32, error.clone());
                emit(Sample::FlowEnd { flow, t: now, end, bytes_total: 0, error });
            }
        }
        outcome.error = error;
    }
}

//! The reflector over UDP sockets, in a separate thread, with the servers of calls, games and UDP flows.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use super::clock::{ClockWatch, SharedClock};
use super::error::{Context, NetError};
use super::flood::{FloodLimits, Floods};
use super::sys::{self, AsFd, AsRawFd, RawFd};
use super::talk::{self, Sessions};

use crate::echo::wire::MAX_LEN;
use crate::echo::{Reflector, ReflectorStats};
use crate::{Dscp, MAX_FLOWS, Sample, UdpFlow};

/// Longest datagram that arrives: a probe's or a UDP flow's.
const LONGEST: usize =
    if MAX_LEN > UdpFlow::MOST_PAYLOAD as usize { MAX_LEN } else { UdpFlow::MOST_PAYLOAD as usize };
/// Most conversations at a time.
const MOST: usize = 64;
/// Datagrams read from one socket before the others get their turn.
const TURN: usize = 64;

/// The results of the thread.
#[derive(Debug, Default)]
pub(super) struct ReflectorOutcome {
    pub(super) stats: ReflectorStats,
    pub(super) send_errors: u64,
    pub(super) clock_stepped: i64,
}

/// Answers probes on all sockets until `stop` or `failed` is set. A reply has the DSCP of the request as
/// received, and Not-ECT.
pub(super) fn run(
    sockets: &[UdpSocket],
    clock: &SharedClock,
    sink: &Sender<Sample>,
    stop: &AtomicBool,
    failed: &AtomicBool,
) -> Result<ReflectorOutcome, NetError> {
    sys::urgent_thread();
    let mut far = Far {
        sessions: Sessions::new(clock, MOST, None),
        floods: Floods::new(FloodLimits { flows: MAX_FLOWS as usize, bps: u64::MAX, until: i64::MAX }, 0),
        clock,
        sink,
    };
    let mut watch = ClockWatch::new();
    let mut reflector = Reflector::new();
    let mut outcome = ReflectorOutcome::default();
    let fds: Vec<RawFd> = sockets.iter().map(AsRawFd::as_raw_fd).collect();
    let mut ready = Vec::with_capacity(fds.len());
    while !stop.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed) {
        let send = |&(socket, ref to): &To, bytes: &[u8], tos| {
            sys::send_to(sockets[socket].as_fd(), bytes, to, None, tos).is_ok()
        };
        let sleep = far.sessions.transmit(&mut |to, bytes, tos| send(to, bytes, tos));
        let mut flood = |to: &To, bytes: &[u8], tos| {
            // A datagram that cannot be sent is lost, as in a full queue.
            let _ = send(to, bytes, tos);
        };
        let emit = &mut |sample| drop(sink.send(sample));
        let sleep = sleep.min(far.floods.pass_time(clock.t(), &mut flood, emit));
        sys::wait_readable(&fds, sleep, &mut ready).context("wait for", "probes")?;
        for &index in &ready {
            drain((index, &sockets[index]), &mut reflector, &mut far, &mut watch, &mut outcome);
        }
    }
    outcome.send_errors += far.sessions.send_errors;
    outcome.stats = reflector.stats();
    outcome.clock_stepped = watch.stepped();
    Ok(outcome)
}

/// How to reach a client: the socket, and its address.
type To = (usize, sys::SockAddr);

/// The far ends of everything except probes.
struct Far<'a> {
    sessions: Sessions<To>,
    floods: Floods<To>,
    clock: &'a SharedClock,
    sink: &'a Sender<Sample>,
}

fn drain(
    (index, socket): (usize, &UdpSocket),
    reflector: &mut Reflector,
    far: &mut Far<'_>,
    watch: &mut ClockWatch,
    out: &mut ReflectorOutcome,
) {
    let mut buf = [0; LONGEST];
    for _ in 0..TURN {
        // An error means that there is no more data, or it belongs to an earlier reply.
        let Ok(datagram) = sys::receive(socket.as_fd(), &mut buf) else { return };
        if datagram.truncated {
            continue;
        }
        let bytes = &mut buf[..datagram.len];
        let to = || ((index, datagram.from), Dscp::of_tos(datagram.messages.tos.unwrap_or(0)).tos());
        let at = talk::arrival(watch, datagram.messages.wall);
        let sink = far.sink;
        let emit = &mut |sample| drop(sink.send(sample));
        if far.sessions.handle(at, (bytes.len(), bytes), to, emit)
            || far.floods.handle(far.clock.t(), (bytes.len(), bytes), to)
        {
            continue;
        }
        let now = watch.now();
        let recv = datagram.messages.wall.map_or(now, |wall| watch.of_wall(wall));
        if reflector.handle(recv, now, bytes).is_ok() {
            let tos = Dscp::of_tos(datagram.messages.tos.unwrap_or(0)).tos();
            let sent = sys::send_to(socket.as_fd(), bytes, &datagram.from, None, tos);
            out.send_errors += u64::from(sent.is_err());
        }
    }
}

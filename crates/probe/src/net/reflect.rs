//! The reflector over UDP sockets, in a separate thread, with the servers of calls and games.

use std::net::UdpSocket;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

use super::clock::ClockWatch;
use super::error::{Context, NetError};
use super::sys;
use super::talk::Sessions;
use crate::Dscp;
use crate::echo::wire::MAX_LEN;
use crate::echo::{Reflector, ReflectorStats};

/// Longest sleep, so that a stop is noticed.
const SLEEP: u64 = 100_000_000;
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
    sessions: &mut Sessions<'_>,
    stop: &AtomicBool,
    failed: &AtomicBool,
) -> Result<ReflectorOutcome, NetError> {
    sys::urgent_thread();
    let mut watch = ClockWatch::new();
    let mut reflector = Reflector::new();
    let mut outcome = ReflectorOutcome::default();
    let fds: Vec<RawFd> = sockets.iter().map(AsRawFd::as_raw_fd).collect();
    let mut ready = Vec::with_capacity(fds.len());
    while !stop.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed) {
        let sleep = sessions.transmit(sockets).min(SLEEP);
        sys::wait_readable(&fds, sleep, &mut ready).context("wait for", "probes")?;
        for &index in &ready {
            drain(index, &sockets[index], &mut reflector, sessions, &mut watch, &mut outcome);
        }
    }
    outcome.send_errors += sessions.send_errors;
    outcome.stats = reflector.stats();
    outcome.clock_stepped = watch.stepped();
    Ok(outcome)
}

fn drain(
    index: usize,
    socket: &UdpSocket,
    reflector: &mut Reflector,
    sessions: &mut Sessions<'_>,
    watch: &mut ClockWatch,
    out: &mut ReflectorOutcome,
) {
    let mut buf = [0; MAX_LEN];
    for _ in 0..TURN {
        // An error means that there is no more data, or it is that of an earlier reply.
        let Ok(datagram) = sys::receive(socket.as_fd(), &mut buf) else { return };
        if datagram.truncated {
            continue;
        }
        let bytes = &mut buf[..datagram.len];
        if sessions.handle(index, &datagram, bytes, watch) {
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

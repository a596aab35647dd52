//! An endless session. A server grants a limited time, and paths and servers disappear and return. So one
//! session follows another, and the numbering of the probes continues.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use goodqueue_probe::net::ClockWatch;

use crate::client::{OpenFailure, Session, Summary, Update};

/// Time between two checks for a stop, and the number of checks between two requests.
const LOOK: Duration = Duration::from_millis(100);
const LOOKS: u32 = 10;

/// Runs `first` and the sessions that follow, until `stop` is set, a server refuses, or all numbers are used
/// (after 49 days of a probe each millisecond).
///
/// # Errors
/// Those of [`Session::run`], and the answer of a server that grants no further session.
pub fn run(first: Session, stop: &AtomicBool, sink: &mut dyn FnMut(Update)) -> (Summary, io::Result<()>) {
    let (mut session, mut all, mut watch) = (first, None::<Summary>, ClockWatch::new());
    loop {
        let plan = session.plan().clone();
        let base = all.map_or(0, |all| all.numbered);
        let summary = match session.run(stop, &mut |update| sink(shifted(update, base))) {
            Ok(summary) => summary,
            Err(error) => return (all.unwrap_or_default(), Err(error)),
        };
        let all = all.insert(all.map_or(summary, |before| summary.after(&before)));
        if stop.load(Ordering::Relaxed) || all.numbered == u32::MAX {
            return (*all, Ok(()));
        }
        let mut is_silent = summary.silent;
        if is_silent {
            sink(Update::Silent { at: watch.now() });
        }
        session = loop {
            match Session::open(plan.clone(), stop) {
                Ok(session) => break session,
                Err(OpenFailure::Stopped) => return (*all, Ok(())),
                Err(OpenFailure::Silent | OpenFailure::Unreachable | OpenFailure::Socket(_)) => {
                    if !is_silent {
                        is_silent = true;
                        sink(Update::Silent { at: watch.now() });
                    }
                }
                Err(failure) => return (*all, Err(io::Error::other(failure.to_string()))),
            }
            for _ in 0..LOOKS {
                if stop.load(Ordering::Relaxed) {
                    return (*all, Ok(()));
                }
                thread::sleep(LOOK);
            }
        };
        sink(Update::Renewed { at: watch.now(), layout: session.layout() });
    }
}

/// The update with the number that the probe has among those of all sessions.
fn shifted(update: Update, base: u32) -> Update {
    let number = |seq: u32| seq.saturating_add(base);
    match update {
        Update::Sent { seq, at, size } => Update::Sent { seq: number(seq), at, size },
        Update::Lost { seq, way, unanswered } => Update::Lost { seq: number(seq), way, unanswered },
        Update::OnWire { seq, hardware } => Update::OnWire { seq: number(seq), hardware },
        Update::Reply { mut echo, size, hardware, tos, ttl } => {
            echo.packet.seq = number(echo.packet.seq);
            Update::Reply { echo, size, hardware, tos, ttl }
        }
        Update::Silent { .. } | Update::Renewed { .. } => update,
    }
}

//! Responsiveness (RPM) over the live arm's line: HTTP/2 over TLS between the two namespaces, as on a real
//! path.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use goodqueue::Direction;
use goodqueue_path::rpm::client::{Ended, Failure, Run, Server};
use goodqueue_path::rpm::server::{Bounds, RpmServer};
use goodqueue_path::rpm::trust::{Identity, Trust};
use goodqueue_probe::Sample;
use goodqueue_probe::net::{PathState, SharedClock};
use goodqueue_probe::rpm::Plan;

use super::setup::Setup;
use super::worker::{Arena, Loaded, SETTLE};
use crate::Error;
use crate::path::each_sample;
use crate::rpm;

/// Runs the load of `setup`, in one direction; returns the outcome, and whether it was told to stop.
pub(super) fn run(
    arena: &mut Arena<'_>,
    setup: &Setup,
    plan: &Plan,
) -> Result<(Result<Loaded, String>, bool), Error> {
    let test = setup.test.clone().with_rpm();
    let direction = setup.load.unwrap_or(Direction::Down);
    let words = |what: &str, error: &dyn std::fmt::Display| Error::Machine(format!("{what}: {error}"));
    let identity = Identity::ephemeral(plan.tls).map_err(|error| words("a certificate", &error))?;
    let trust = Trust::Pinned(identity.fingerprint());
    let at = [SocketAddr::new(setup.address(0), 0)];
    // Nothing else can reach it.
    let bounds = Bounds { opens: u32::MAX, rate: u64::MAX, ..Bounds::default() };
    let server = arena.lab.server().run(|| RpmServer::bind(&at, identity, bounds)).map_err(Error::machine)?;
    let server = server.map_err(|(at, error)| words(&format!("listening at {at}"), &error))?;
    server.set_congestion_control(&plan.cc).map_err(|error| words(&plan.cc, &error))?;
    let address = server.addresses().first().copied().ok_or_else(|| words("the server", &"no address"))?;
    let run = Run {
        place: Server { address, host: address.ip().to_string(), trust },
        document: RpmServer::document(&address.to_string()).map_err(|error| words("its URLs", &error))?,
        direction,
        settings: plan.settings,
        step: test.step,
        seed: 1,
        length: Some(test.load),
        cc: Some(plan.cc.clone()),
    };
    let clock = SharedClock::starting_in(SETTLE + test.idle);
    let idle = i64::try_from(test.idle.0).unwrap_or(i64::MAX);
    let first = u32::try_from(setup.test.flows.len()).unwrap_or(u32::MAX) + plan.first_flow(direction);
    let serve = |_: &Sender<Sample>, stop: &AtomicBool| {
        // If the server cannot serve, the client fails.
        let _ = server.serve(stop);
    };
    let client = |sink: &Sender<Sample>, stop: &AtomicBool| {
        let early = (-idle).saturating_sub(clock.t()).max(0).unsigned_abs();
        thread::sleep(Duration::from_nanos(early));
        run.run(stop, &mut |event| {
            each_sample(&event, first, test.flows.len(), &mut |sample| {
                // A receiver that is gone no longer wants samples; the run is stopped by other means.
                let _ = sink.send(sample);
            });
        })
    };
    let path = PathState::new(setup.longest_round_trip());
    let (ended, told) = arena.run(&test, (&clock, &path), serve, client)?;
    let loaded = |Ended { outcome, tls, failure }: Ended| {
        let ended = |failure: &Failure| format!("a connection that carried load ended: {failure}");
        let is_complete = failure.is_none() && !told;
        let faults = failure.iter().map(ended).chain(rpm::faults(&outcome, is_complete)).collect();
        let rpm = Some(rpm::responsiveness(&outcome, &plan.settings, tls));
        Loaded { faults, warnings: Vec::new(), rpm }
    };
    Ok((ended.map(loaded).map_err(|failure| failure.to_string()), told))
}

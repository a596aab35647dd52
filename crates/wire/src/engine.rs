//! The engine: a real-time thread that acts as the wire between client and server, in the router of a lab
//! or between interfaces of this machine.
//!
//! It reads frames from one interface, enqueues them in the queue of their direction, dequeues them at the
//! rate of the line, and sends them to the other interface after their delay. [`goodqueue::Port`] makes all
//! decisions in logical time: a frame arrives when the kernel received it and leaves the line when its last
//! bit would, no matter when the thread handles it. A late wake-up makes frames late, which the lateness
//! histogram shows, but it changes no decision and never reduces the rate of the line.
//!
//! Memory: `frames` slots of 2 KiB (64 MiB by default), allocated at the start. If no slot is free, the
//! engine leaves arrivals in the socket's buffer and counts that, and the result is not valid.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use goodqueue::{Direction, FlowHasher, Nanos, Queue, Rng, Span};

use crate::air::Air;
use crate::between::Between;
use crate::channel::Channel;
use crate::flows::{Flow, FlowSpec};
use crate::lab::{Lab, Taken};
use crate::medium::{Medium, MediumSpec};
use crate::netns::{Counters, Netns};
use crate::path::{Change, Path, PathSpec};
use crate::pool::{DEFAULT_FRAMES, Frame};
use crate::runner::{Destinations, Runner, Settings, Shared};
use crate::sample::{EngineReport, EngineSample, ProcStat};
use crate::{Error, Result};

/// What is called with a protocol (6 for TCP, 17 for UDP) and a destination when the first packet to it
/// comes from the client. It runs in the engine's thread, and what it does is done before the packet is
/// delivered.
pub type OnDestination = Box<dyn FnMut(u8, SocketAddr) + Send>;

/// The configuration of the engine.
#[derive(Debug)]
pub struct EngineSpec<Q> {
    /// Client to server.
    pub up: PathSpec<Q>,
    /// Server to client.
    pub down: PathSpec<Q>,
    /// Root of the engine's random streams (loss of each direction) and seed of the flow hash.
    pub seed: u64,
    /// Total frames in queues, rings and delay lines of both directions, 256 to 2^20.
    pub frames: u32,
    /// How long before a deadline the thread stops sleeping and spins. `None`: the measured lateness of
    /// sleeps on this machine, but at least 10 us (40 us without real-time scheduling) and at most 200 us.
    /// On a machine with one processor the engine never spins.
    pub spin: Option<Span>,
    /// Counts each connection by itself ([`crate::PathReport::flows`]); `None`: no connection.
    pub flows: Option<FlowSpec>,
    /// Called on the engine's thread with its work: prepares the thread for a queue of the program's own, and
    /// calls the work once.
    pub around: Option<fn(&mut (dyn FnMut() + Send))>,
}

impl<Q> EngineSpec<Q> {
    /// Both directions with seed 0, [`DEFAULT_FRAMES`] and the default of `spin`, without counts of
    /// connections.
    pub fn new(up: PathSpec<Q>, down: PathSpec<Q>) -> EngineSpec<Q> {
        EngineSpec { up, down, seed: 0, frames: DEFAULT_FRAMES, spin: None, flows: None, around: None }
    }
}

/// Starts engines.
#[derive(Debug)]
pub struct Engine;

impl Engine {
    /// Starts the engine in the router of `lab` and returns when it is running. A lab can have one engine
    /// at a time.
    ///
    /// # Errors
    /// `Invalid` for a specification out of range or a second engine; `Missing` without packet sockets;
    /// `System` for anything else.
    pub fn start<Q>(lab: &Lab, spec: EngineSpec<Q>) -> Result<EngineHandle>
    where
        Q: Queue<Frame> + Send + 'static,
    {
        let (settings, make) = spec.into_paths();
        Engine::start_with(Place::of(lab)?, settings, make)
    }

    /// [`Engine::start`], with something to do before a destination gets its first packet.
    ///
    /// # Errors
    /// Those of [`Engine::start`].
    pub fn start_watching<Q>(lab: &Lab, spec: EngineSpec<Q>, act: OnDestination) -> Result<EngineHandle>
    where
        Q: Queue<Frame> + Send + 'static,
    {
        let (settings, make) = spec.into_paths();
        Engine::start_with(Place { act: Some(act), ..Place::of(lab)? }, settings, make)
    }

    /// Starts the engine between interfaces of the calling thread's namespace. See [`Between`].
    ///
    /// # Errors
    /// Those of [`Engine::start`].
    pub fn start_between<Q>(between: Between, spec: EngineSpec<Q>) -> Result<EngineHandle>
    where
        Q: Queue<Frame> + Send + 'static,
    {
        let (settings, make) = spec.into_paths();
        let place = Place { between, namespaces: Vec::new(), router: None, act: None, taken: None };
        Engine::start_with(place, settings, make)
    }

    /// [`Engine::start`], with a medium instead of the two lines. With `act` there is something to do before
    /// a destination gets its first packet.
    ///
    /// # Errors
    /// Those of [`Engine::start`].
    pub fn start_medium<M>(lab: &Lab, spec: MediumSpec<M>, act: Option<OnDestination>) -> Result<EngineHandle>
    where
        M: Medium + Send + 'static,
    {
        spec.check()?;
        let MediumSpec { medium, up, down, seed, frames, spin, flows } = spec;
        let settings = Settings { seed, frames, spin, around: None };
        Engine::start_with(Place { act, ..Place::of(lab)? }, settings, move || {
            Ok(Air::new(medium, [up, down], frames, FlowHasher::new(seed), flows))
        })
    }

    /// Starts the engine with the channel that `make` creates.
    fn start_with<C: Channel>(
        Place { between, namespaces, router, act, taken }: Place,
        settings: Settings,
        make: impl FnOnce() -> Result<C> + Send + 'static,
    ) -> Result<EngineHandle> {
        if !(256..=1 << 20).contains(&settings.frames) {
            let got = settings.frames.to_string();
            return Err(Error::Invalid { what: "frames", wanted: "256 to 1048576", got });
        }
        let mut counters = namespaces.iter().map(Netns::counters).collect::<Result<Vec<_>>>()?;
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            sample: Mutex::new(EngineSample::default()),
            sojourns: [AtomicU64::new(u64::MAX), AtomicU64::new(0)],
            changes: Mutex::default(),
            is_changed: AtomicBool::new(false),
            flows: Mutex::default(),
            is_asked: AtomicBool::new(false),
        });
        let (ready, started) = mpsc::sync_channel(1);
        let work = {
            let shared = Arc::clone(&shared);
            let work = move || {
                let entered = router.map_or(Ok(()), |router| router.enter());
                let destinations = act.map(Destinations::new);
                let runner =
                    entered.and_then(|()| Runner::new(make()?, between, settings, destinations, shared));
                match runner {
                    Ok(runner) => {
                        let _ = ready.send(Ok(()));
                        Some(runner.run())
                    }
                    Err(error) => {
                        let _ = ready.send(Err(error));
                        None
                    }
                }
            };
            move || {
                let (mut work, mut report) = (Some(work), None);
                let around = settings.around.unwrap_or(|work| work());
                around(&mut || report = work.take().and_then(|work| work()));
                report
            }
        };
        let thread = thread::Builder::new().name("engine".to_owned()).spawn(work);
        let thread = thread.map_err(|e| Error::io("clone", "the engine's thread", e))?;
        started.recv().map_err(|_| Error::ThreadLost { what: "the engine" })??;
        let drops_before = interface_drops(&mut counters)?;
        Ok(EngineHandle {
            shared,
            thread: Some(thread),
            host: ProcStat::read(),
            _namespaces: namespaces,
            counters,
            drops_before,
            _taken: taken,
        })
    }
}

/// Where an engine works.
struct Place {
    between: Between,
    /// Those whose interfaces could lose frames unseen.
    namespaces: Vec<Netns>,
    /// The one to work in; `None`: that of the calling thread.
    router: Option<Netns>,
    act: Option<OnDestination>,
    taken: Option<Taken>,
}

impl Place {
    fn of(lab: &Lab) -> Result<Place> {
        Ok(Place {
            between: Between::of_lab(lab.mtu(), lab.has_super_packets()),
            taken: Some(lab.take_router()?),
            namespaces: [lab.client(), lab.router(), lab.server()].map(Netns::clone).to_vec(),
            router: Some(lab.router().clone()),
            act: None,
        })
    }
}

impl<Q: Queue<Frame> + Send + 'static> EngineSpec<Q> {
    /// The settings, and what makes both directions in the engine's thread.
    fn into_paths(self) -> (Settings, impl FnOnce() -> Result<[Path<Q>; 2]> + Send + 'static) {
        let EngineSpec { up, down, seed, frames, spin, flows, around } = self;
        let make = move || {
            let path = |spec, way| {
                Path::new(spec, frames, Rng::stream(seed, way, "loss"), FlowHasher::new(seed), flows)
            };
            Ok([path(up, 0)?, path(down, 1)?])
        };
        (Settings { seed, frames, spin, around }, make)
    }
}

/// Frames that any interface of the lab could not forward, since it exists.
fn interface_drops(counters: &mut [Counters]) -> Result<u64> {
    counters.iter_mut().map(Counters::send_drops).sum()
}

/// A running engine. Dropping it stops the engine. It keeps the lab's namespaces alive.
#[derive(Debug)]
pub struct EngineHandle {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Option<EngineReport>>>,
    host: Option<ProcStat>,
    _namespaces: Vec<Netns>,
    counters: Vec<Counters>,
    drops_before: u64,
    /// Dropped last: after the thread has ended.
    _taken: Option<Taken>,
}

impl EngineHandle {
    /// The latest sample: at most about 10 ms old while frames pass, 20 ms otherwise. It never delays the
    /// engine.
    #[must_use]
    pub fn sample(&self) -> EngineSample {
        *self.shared.sample.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Measures sojourn times of packets whose transmission begins from `from` on and before `to`,
    /// `CLOCK_MONOTONIC`: see [`crate::PathReport::sojourn`]. Call this at least 20 ms before `from`.
    pub fn measure_sojourn(&self, from: Nanos, to: Nanos) {
        let [first, last] = &self.shared.sojourns;
        first.store(from.0, Ordering::Relaxed);
        last.store(to.0, Ordering::Relaxed);
    }

    /// Makes a direction different, within about 20 ms. It has no effect on a medium.
    ///
    /// # Errors
    /// `Invalid` for a value out of range; then nothing changes.
    pub fn change(&self, direction: Direction, change: Change) -> Result<()> {
        change.check()?;
        self.shared.changes.lock().unwrap_or_else(PoisonError::into_inner).push((direction as usize, change));
        self.shared.is_changed.store(true, Ordering::Release);
        Ok(())
    }

    /// The connections of each direction as they are, without their steps; none if they are not counted, or
    /// if the engine does not answer within 100 ms. It takes about 20 ms.
    #[must_use]
    pub fn flows(&self) -> [Vec<Flow>; 2] {
        let told = || self.shared.flows.lock().unwrap_or_else(PoisonError::into_inner).take();
        told();
        self.shared.is_asked.store(true, Ordering::Release);
        for _ in 0..50 {
            thread::sleep(Duration::from_millis(2));
            if let Some(flows) = told() {
                return flows;
            }
        }
        Default::default()
    }

    /// Whether the engine still runs; `false` after an interface has disappeared
    /// ([`EngineReport::failure`]).
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Stops the engine within about 10 ms and returns its measurements. Queued frames stay undelivered.
    ///
    /// # Errors
    /// `ThreadLost` if the engine panicked. An engine that ended by itself is not an error here: see
    /// [`EngineReport::failure`].
    pub fn stop(mut self) -> Result<EngineReport> {
        let lost = || Error::ThreadLost { what: "the engine" };
        self.shared.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().ok_or_else(lost)?;
        let mut report = thread.join().map_err(|_| lost())?.ok_or_else(lost)?;
        let drops = interface_drops(&mut self.counters)?;
        report.last.trouble.interface_drops = drops.saturating_sub(self.drops_before);
        report.host = self.host.zip(ProcStat::read()).and_then(|(before, after)| before.until(after));
        Ok(report)
    }
}

impl Drop for EngineHandle {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

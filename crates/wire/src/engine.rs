//! The engine: real-time threads that act as the wire between client and server, in the router of a lab or
//! between interfaces of this machine. There is one thread, or one for each direction, or one for each queue
//! of a direction.
//!
//! A thread reads frames from an interface, enqueues them in the queue of their direction, dequeues them at
//! the rate of the line, and sends them to the other interface after their delay. [`goodqueue::Port`] makes
//! all decisions in logical time: a frame arrives when the kernel received it and leaves the line when its
//! last bit would, no matter when the thread handles it. A late wake-up makes frames late, which the
//! lateness histogram shows, but it changes no decision and never reduces the rate of the line.
//!
//! Memory: `frames` slots of 2 KiB (64 MiB by default), allocated at the start. Frames of interfaces with a
//! larger MTU have larger slots, and fewer of them. If no slot is free, the engine leaves arrivals in the
//! socket's buffer and counts that, and the result is not valid.

use std::iter;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use goodqueue::{Direction, FlowHasher, Nanos, Queue, Reconfigure, Rng, Span};

use crate::air::Air;
use crate::channel::Channel;
use crate::flows::FlowSpec;
use crate::interfaces::Interfaces;
use crate::lab::{Lab, Taken};
use crate::medium::{Medium, MediumSpec};
use crate::netns::{Counters, Netns};
use crate::path::{Change, Path, PathSpec};
use crate::per_direction::{BOTH, PerDirection};
use crate::pool::{DEFAULT_FRAMES, Frame, LEAST_FRAMES};
use crate::runner::{Destinations, Part, Runner, Settings, Shared, period};
use crate::sample::{Contents, EngineReport, EngineSample, ProcStat};
use crate::sys::thread::cpus;
use crate::{Error, Result};

/// How often, and how many times, to look for samples from the same time.
const LOOK: Duration = Duration::from_micros(100);
const LOOKS: u32 = 20;

/// Called with a protocol (6 for TCP, 17 for UDP) and a destination when the first packet to it comes from
/// the client. It runs in the engine's thread, and returns before the packet is delivered.
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
    /// Frames in queues, rings and delay lines, 256 to 2^20: for both directions together, or for each if it
    /// has its own thread. If a direction has several queues, each gets an equal part, at least 256.
    pub frames: u32,
    /// How long before a deadline the thread stops sleeping and spins. `None`: the measured lateness of
    /// sleeps on this machine, but at least 10 us (40 us without real-time scheduling) and at most 200 us. On
    /// a machine with one processor the engine never spins. With more threads than processors it does not
    /// spin by default.
    pub spin: Option<Span>,
    /// Counts each connection separately ([`crate::PathReport::flows`]); `None`: counts no connections.
    pub flows: Option<FlowSpec>,
    /// Called on each of the engine's threads with its work. It prepares the thread for a queue of the
    /// program's own, and calls the work once.
    pub around: Option<fn(&mut (dyn FnMut() + Send))>,
    /// One thread for both directions, or a thread for each.
    pub threads: Threads,
}

/// The threads of an engine. A medium, which both directions share, always has one. Where a direction has
/// several queues ([`PathSpec::others`]), each queue of both directions has a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// Two if the process may use at least three processors, so that one is left for everything else even if
    /// both threads spin. One if [`EngineSpec::around`] is set, since a language may have a lock that threads
    /// share.
    #[default]
    Auto,
    /// One: it needs the fewest wake-ups.
    One,
    /// One for each direction: each direction can use a processor. The directions share nothing while they
    /// run, and each has [`EngineSpec::frames`].
    EachDirection,
}

impl Threads {
    fn are_two(self, is_around: bool) -> bool {
        match self {
            Threads::Auto => !is_around && cpus() > 2,
            Threads::One => false,
            Threads::EachDirection => true,
        }
    }
}

impl<Q> EngineSpec<Q> {
    /// Both directions with seed 0, [`DEFAULT_FRAMES`] and the default of `spin`, without counts of
    /// connections.
    pub fn new(up: PathSpec<Q>, down: PathSpec<Q>) -> EngineSpec<Q> {
        let (frames, threads) = (DEFAULT_FRAMES, Threads::Auto);
        EngineSpec { up, down, seed: 0, frames, spin: None, flows: None, around: None, threads }
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
        Q: Queue<Frame> + Reconfigure<Frame> + Send + 'static,
    {
        Engine::start_with(Environment::of(lab)?, spec.settings(), spec.into_tasks()?)
    }

    /// [`Engine::start`], with a call before a destination gets its first packet. Up has one queue.
    ///
    /// # Errors
    /// Those of [`Engine::start`].
    pub fn start_watching<Q>(lab: &Lab, spec: EngineSpec<Q>, act: OnDestination) -> Result<EngineHandle>
    where
        Q: Queue<Frame> + Reconfigure<Frame> + Send + 'static,
    {
        Engine::start_with(
            Environment { act: Some(act), ..Environment::of(lab)? },
            spec.settings(),
            spec.into_tasks()?,
        )
    }

    /// Starts the engine between interfaces of the calling thread's namespace. See [`Interfaces`].
    ///
    /// # Errors
    /// Those of [`Engine::start`].
    pub fn start_between<Q>(interfaces: Interfaces, spec: EngineSpec<Q>) -> Result<EngineHandle>
    where
        Q: Queue<Frame> + Reconfigure<Frame> + Send + 'static,
    {
        let environment =
            Environment { interfaces, namespaces: Vec::new(), router: None, act: None, taken: None };
        Engine::start_with(environment, spec.settings(), spec.into_tasks()?)
    }

    /// [`Engine::start`], with a medium instead of the two lines. `act`, if given, is called before a
    /// destination gets its first packet.
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
        let make = move || Ok(Air::new(medium, [up, down], frames, FlowHasher::new(seed), flows));
        let task = Task { ways: BOTH, frames, make };
        Engine::start_with(Environment { act, ..Environment::of(lab)? }, settings, vec![task])
    }

    /// Starts the engine with a thread for each of `tasks`.
    fn start_with<C: Channel>(
        Environment { mut interfaces, namespaces, router, act, taken }: Environment,
        settings: Settings,
        tasks: Vec<Task<impl FnOnce() -> Result<C> + Send + 'static>>,
    ) -> Result<EngineHandle> {
        if !(LEAST_FRAMES..=1 << 20).contains(&settings.frames) {
            let got = settings.frames.to_string();
            return Err(Error::Invalid { what: "frames", wanted: "256 to 1048576", got });
        }
        let mut counters = namespaces.iter().map(Netns::counters).collect::<Result<Vec<_>>>()?;
        for &way in BOTH {
            let count = tasks.iter().filter(|task| task.ways.contains(&way)).count();
            if count > 1 {
                interfaces.spread(way);
            }
            if count > 1 && way == Direction::Up && act.is_some() {
                let (wanted, got) = ("1 up, where destinations are watched", count.to_string());
                return Err(Error::Invalid { what: "queues", wanted, got });
            }
        }
        // A spinning thread would keep a processor from another thread.
        let spin = settings.spin.or_else(|| (tasks.len() > cpus()).then_some(Span::ZERO));
        let others = (1..tasks.len()).map(|_| interfaces.another()).collect::<Result<Vec<_>>>()?;
        // The first thread serves the client's packets, alone or with those to the client.
        let mut destinations = act.map(Destinations::new);
        let stop = Arc::new(AtomicBool::new(false));
        let mut threads = Running::default();
        for (interfaces, task) in iter::once(interfaces).chain(others).zip(tasks) {
            let Task { ways, frames, make } = task;
            let settings = Settings { frames, spin, ..settings };
            let shared = Arc::new(Shared {
                stop: Arc::clone(&stop),
                sample: Mutex::new(EngineSample::default()),
                sojourns: [AtomicU64::new(u64::MAX), AtomicU64::new(0)],
                changes: Mutex::default(),
                is_changed: AtomicBool::new(false),
                contents: Mutex::default(),
                is_asked: AtomicBool::new(false),
            });
            let (router, destinations) = (router.clone(), destinations.take());
            threads.start(ways, shared, settings.around, move |shared| {
                router.map_or(Ok(()), |router| router.enter())?;
                Runner::new(make()?, interfaces, settings, destinations, shared)
            })?;
        }
        let drops_before = interface_drops(&mut counters)?;
        Ok(EngineHandle {
            threads,
            host: ProcStat::read(),
            _namespaces: namespaces,
            counters,
            drops_before,
            _taken: taken,
        })
    }
}

/// The work of a thread of an engine.
struct Task<F> {
    /// The directions that it serves.
    ways: &'static [Direction],
    /// See [`EngineSpec::frames`].
    frames: u32,
    /// Creates its channel.
    make: F,
}

/// Makes the directions of a thread, in that thread.
type MakePaths<Q> = Box<dyn FnOnce() -> Result<PerDirection<Path<Q>>> + Send>;

/// The threads of an engine: one for both directions, or at least one for up and then at least one for down.
/// Dropping them ends them.
#[derive(Debug, Default)]
struct Running(Vec<Worker>);

#[derive(Debug)]
struct Worker {
    /// The directions that it serves.
    ways: &'static [Direction],
    shared: Arc<Shared>,
    /// Returns `None` if it could not start.
    thread: Option<JoinHandle<Option<Part>>>,
}

/// When the thread that holds this ends, even by an error or a panic, all threads of the engine end.
struct EndsAll(Arc<AtomicBool>);

impl Drop for EndsAll {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Running {
    /// Starts a thread, and returns when it is running.
    fn start<C: Channel>(
        &mut self,
        ways: &'static [Direction],
        shared: Arc<Shared>,
        around: Option<fn(&mut (dyn FnMut() + Send))>,
        make: impl FnOnce(Arc<Shared>) -> Result<Runner<C>> + Send + 'static,
    ) -> Result<()> {
        let (ready, started) = mpsc::sync_channel(1);
        let ends_all = EndsAll(Arc::clone(&shared.stop));
        let work = {
            let shared = Arc::clone(&shared);
            move || match make(shared) {
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
        let work = move || {
            let _ends_all = ends_all;
            let (mut work, mut part) = (Some(work), None);
            let around = around.unwrap_or(|work| work());
            around(&mut || part = work.take().and_then(|work| work()));
            part
        };
        let thread = thread::Builder::new().name("engine".to_owned()).spawn(work);
        let thread = thread.map_err(|e| Error::io("clone", "the engine's thread", e))?;
        self.0.push(Worker { ways, shared, thread: Some(thread) });
        started.recv().map_err(|_| Error::ThreadLost { what: "the engine" })?
    }

    /// What is shared with each thread.
    fn shared(&self) -> impl Iterator<Item = &Shared> {
        self.0.iter().map(|worker| &*worker.shared)
    }

    /// What is shared with the threads that serve direction `way`: one, or several with a queue each.
    fn serving(&self, way: Direction) -> impl Iterator<Item = &Shared> {
        self.0.iter().filter(move |worker| worker.ways.contains(&way)).map(|worker| &*worker.shared)
    }

    fn are_running(&self) -> bool {
        self.0.iter().all(|worker| worker.thread.as_ref().is_some_and(|thread| !thread.is_finished()))
    }

    /// Ends all threads; `None` for one that panicked.
    fn end(&mut self) -> Vec<Option<Part>> {
        self.shared().for_each(|shared| shared.stop.store(true, Ordering::Relaxed));
        let threads = self.0.iter_mut().filter_map(|worker| worker.thread.take());
        threads.map(|thread| thread.join().ok().flatten()).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// Where an engine works.
struct Environment {
    interfaces: Interfaces,
    /// The namespaces whose interfaces could lose frames unnoticed.
    namespaces: Vec<Netns>,
    /// The namespace to work in; `None`: that of the calling thread.
    router: Option<Netns>,
    act: Option<OnDestination>,
    taken: Option<Taken>,
}

impl Environment {
    fn of(lab: &Lab) -> Result<Environment> {
        Ok(Environment {
            interfaces: Interfaces::of_lab(lab.mtu(), lab.has_super_packets()),
            taken: Some(lab.take_router()?),
            namespaces: [lab.client(), lab.router(), lab.server()].map(Netns::clone).to_vec(),
            router: Some(lab.router().clone()),
            act: None,
        })
    }
}

impl<Q: Queue<Frame> + Reconfigure<Frame> + Send + 'static> EngineSpec<Q> {
    fn settings(&self) -> Settings {
        Settings { seed: self.seed, frames: self.frames, spin: self.spin, around: self.around }
    }

    /// For each thread, the function that makes its directions in that thread.
    fn into_tasks(self) -> Result<Vec<Task<MakePaths<Q>>>> {
        let EngineSpec { up, down, seed, frames, spin: _, flows, around, threads } = self;
        up.check()?;
        down.check()?;
        let are_several = up.queues() > 1 || down.queues() > 1;
        let parts = if are_several || threads.are_two(around.is_some()) {
            let apart = |(way, spec): (Direction, PathSpec<Q>)| {
                // There are few queues.
                #[allow(clippy::cast_possible_truncation)]
                let part = (frames / spec.queues() as u32).max(LEAST_FRAMES.min(frames));
                (0..)
                    .zip(spec.apart())
                    .map(move |(number, spec)| (number, part, PerDirection::only(way, spec)))
            };
            Direction::BOTH.into_iter().zip([up, down]).flat_map(apart).collect()
        } else {
            vec![(0, frames, PerDirection::both([up, down]))]
        };
        let task = |(number, frames, specs): (u64, u32, PerDirection<PathSpec<Q>>)| {
            let path = move |(way, spec)| {
                // It is 0 or 1.
                let rng = Rng::stream(seed, way as u64 + 2 * number, "loss");
                Path::new(spec, frames, rng, FlowHasher::new(seed), flows)
            };
            let ways = specs.directions();
            let make: MakePaths<Q> = Box::new(move || specs.try_map(path));
            Task { ways, frames, make }
        };
        Ok(parts.into_iter().map(task).collect())
    }
}

/// Frames that interfaces of the lab could not forward, since the lab was created.
fn interface_drops(counters: &mut [Counters]) -> Result<u64> {
    counters.iter_mut().map(Counters::send_drops).sum()
}

/// A running engine. Dropping it stops the engine. It keeps the lab's namespaces alive.
#[derive(Debug)]
pub struct EngineHandle {
    /// Dropped first.
    threads: Running,
    host: Option<ProcStat>,
    _namespaces: Vec<Netns>,
    counters: Vec<Counters>,
    drops_before: u64,
    _taken: Option<Taken>,
}

impl EngineHandle {
    /// The latest sample: at most about 10 ms old. It never delays the engine. With several threads it may
    /// take 2 ms: their samples are from the same 10 ms, unless a thread is late by more.
    #[must_use]
    pub fn sample(&self) -> EngineSample {
        let mut looks = 0;
        loop {
            let samples: Vec<EngineSample> = self.threads.shared().map(Shared::sample).collect();
            let is_of_one_time = samples.iter().all(|sample| period(sample.at) == period(samples[0].at));
            if is_of_one_time || looks == LOOKS {
                return samples.into_iter().reduce(EngineSample::and).unwrap_or_default();
            }
            looks += 1;
            thread::sleep(LOOK);
        }
    }

    /// Measures sojourn times of packets whose transmission begins from `from` on and before `to`,
    /// `CLOCK_MONOTONIC`: see [`crate::PathReport::sojourn`]. Call this at least 20 ms before `from`.
    pub fn measure_sojourn(&self, from: Nanos, to: Nanos) {
        for shared in self.threads.shared() {
            let [first, last] = &shared.sojourns;
            first.store(from.0, Ordering::Relaxed);
            last.store(to.0, Ordering::Relaxed);
        }
    }

    /// Changes a direction, within about 20 ms. It has no effect on a medium.
    ///
    /// # Errors
    /// `Invalid` for a value out of range, or a line under several queues; then nothing changes.
    pub fn change(&self, direction: Direction, change: Change) -> Result<()> {
        change.check()?;
        if change.line.is_some() && self.threads.serving(direction).count() > 1 {
            let (wanted, got) = ("no rate under several queues", "one".to_owned());
            return Err(Error::Invalid { what: "line", wanted, got });
        }
        for shared in self.threads.serving(direction) {
            shared.changes.lock().unwrap_or_else(PoisonError::into_inner).push((direction, change.clone()));
            shared.is_changed.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// What is inside each direction; nothing if the engine does not answer within 100 ms. It takes about 20
    /// ms.
    #[must_use]
    pub fn contents(&self) -> [Contents; 2] {
        for shared in self.threads.shared() {
            shared.told();
            shared.is_asked.store(true, Ordering::Release);
        }
        let mut told: Vec<Option<[Contents; 2]>> = self.threads.shared().map(|_| None).collect();
        for _ in 0..50 {
            thread::sleep(Duration::from_millis(2));
            for (place, shared) in told.iter_mut().zip(self.threads.shared()) {
                *place = place.take().or_else(|| shared.told());
            }
            if told.iter().all(Option::is_some) {
                break;
            }
        }
        let mut contents: [Contents; 2] = Default::default();
        // A thread reports nothing for a direction that it does not serve.
        for these in told.into_iter().flatten() {
            contents.iter_mut().zip(these).for_each(|(all, these)| all.add(these));
        }
        contents
    }

    /// Whether the engine still runs; `false` after an interface has disappeared
    /// ([`EngineReport::failure`]).
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.threads.are_running()
    }

    /// Stops the engine within about 10 ms and returns its measurements. Queued frames stay undelivered.
    ///
    /// # Errors
    /// `ThreadLost` if the engine panicked. An engine that ended by itself is not an error here: see
    /// [`EngineReport::failure`].
    pub fn stop(mut self) -> Result<EngineReport> {
        let lost = Error::ThreadLost { what: "the engine" };
        let parts: Option<Vec<Part>> = self.threads.end().into_iter().collect();
        let Some(mut report) = parts.and_then(together) else { return Err(lost) };
        let drops = interface_drops(&mut self.counters)?;
        report.last.trouble.interface_drops = drops.saturating_sub(self.drops_before);
        report.host = self.host.zip(ProcStat::read()).and_then(|(before, after)| before.until(after));
        Ok(report)
    }
}

/// The report of an engine, from the measurements of its threads; `None` if a direction is missing.
fn together(parts: Vec<Part>) -> Option<EngineReport> {
    let Part { last, paths, lateness, cpu, scheduling, failure } = parts.into_iter().reduce(Part::and)?;
    let [up, down] = paths;
    Some(EngineReport { last, up: up?, down: down?, lateness, cpu, host: None, scheduling, failure })
}

#[cfg(test)]
mod tests {
    use goodqueue::{QueueSpec, Rate};

    use super::*;

    /// The directions and the frames of each thread of an engine with these numbers of queues up and down.
    fn tasks(queues: [usize; 2], threads: Threads) -> Vec<(&'static [Direction], u32)> {
        let queue = || {
            let spec: QueueSpec = "pfifo".parse().expect("a queue");
            spec.build::<Frame>(Rate(1_000_000), 1514, Nanos::ZERO).expect("a queue")
        };
        let [up, down] = queues.map(|count| PathSpec {
            others: (1..count).map(|_| queue()).collect(),
            ..PathSpec::new(queue())
        });
        let spec = EngineSpec { threads, frames: 600, ..EngineSpec::new(up, down) };
        let tasks = spec.into_tasks().expect("tasks");
        tasks.into_iter().map(|task| (task.ways, task.frames)).collect()
    }

    #[test]
    fn each_queue_of_a_direction_with_several_has_a_thread() {
        let (up, down) = (|frames| (&BOTH[..1], frames), |frames| (&BOTH[1..], frames));
        assert_eq!(tasks([1, 1], Threads::One), [(BOTH, 600)]);
        assert_eq!(tasks([1, 1], Threads::EachDirection), [up(600), down(600)]);
        let three = [up(600), down(300), down(300)];
        assert_eq!(tasks([1, 2], Threads::One), three);
        assert_eq!(tasks([1, 2], Threads::EachDirection), three);
        assert_eq!(tasks([3, 1], Threads::One), [up(256), up(256), up(256), down(600)]);
    }
}

//! The parent of the live arm: one child process for each queue, watched, timed and outlived. The child makes
//! the namespaces, which disappear with it; the parent keeps the measurements. So nothing is lost when the
//! child is killed, and nothing stays behind when either is.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use goodqueue_probe::{Direction, Test};
use goodqueue_report::wifi::Radio;
use goodqueue_report::{EngineHealth, LinkPlan, Record, Responsiveness, Run};

use super::message::{Finish, Message, Order};
use super::rate::LineClock;
use crate::Error;
use crate::collect::Collector;
use crate::record::direction;
use crate::{Monitor, Turn as Told};
use goodqueue_wire::Lock;

/// How long a child may be silent before it counts as dead. It sends messages ten times a second.
const SILENCE: Duration = Duration::from_secs(15);
/// How long one wait for a message lasts; after it the parent checks for signals.
const WAIT: Duration = Duration::from_millis(50);
/// How long a child may take to finish after it was told to stop.
const GRACE: Duration = Duration::from_secs(5);

/// Held for the length of a live run: two at a time would disturb each other's timing. The lock is a file of
/// the user's own (root's: `/run/goodqueue.lock`), which no other user can hold. Runs of two users do not see
/// each other's lock; if they disturb each other, that is measured like any other load.
pub(crate) struct OnlyOne {
    _lock: Option<Lock>,
}

impl OnlyOne {
    /// Claims the machine; warns if no lock can be made.
    pub(crate) fn claim(record: &mut Record) -> Result<OnlyOne, Error> {
        let mut refused = Vec::new();
        for path in lock_files() {
            match Lock::take(&path) {
                Ok(Some(lock)) => return Ok(OnlyOne { _lock: Some(lock) }),
                Ok(None) => {
                    return Err(Error::Machine(
                        "another `goodqueue run --live` is running on this machine, and two would disturb each \
                         other's timing: wait for it or stop it"
                            .into(),
                    ));
                }
                Err(error) => refused.push(format!("{}: {error}", path.display())),
            }
        }
        let why = refused.join("; ");
        record
            .warnings
            .push(format!("no lock could be made, so another live run may be running too ({why})"));
        Ok(OnlyOne { _lock: None })
    }
}

/// Possible places for the lock: it uses the first that can be made.
fn lock_files() -> Vec<PathBuf> {
    const NAME: &str = "goodqueue.lock";
    let user = goodqueue_wire::effective_user();
    let run = (user == 0).then(|| Path::new("/run").join(NAME));
    let session = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| Path::new(folder).is_absolute());
    let session = session.map(|folder| Path::new(&folder).join(NAME));
    let other = std::env::temp_dir().join(format!("goodqueue-{user}.lock"));
    run.into_iter().chain(session).chain([other]).collect()
}

/// One child's turn.
pub(crate) struct Turn {
    /// Its order.
    pub(crate) order: Order,
    /// The test that it runs.
    pub(crate) test: Test,
    /// The rates of its lines, up and down, if it has lines with rates.
    pub(crate) rates: [Option<u64>; 2],
    /// Its own link, if it differs from the record's.
    pub(crate) link: Option<LinkPlan>,
    /// The direction that a responsiveness test loads.
    pub(crate) load: Option<Direction>,
}

/// Runs `turns` one after the other and puts what was measured into `record`, calling `keep` after each.
/// `worker`: the command that starts the child ([`crate::simulate::Options::worker`]).
///
/// # Errors
/// The first reason to stop; `record` holds what was measured until then.
pub(crate) fn run(
    turns: &[Turn],
    worker: &[OsString],
    record: &mut Record,
    monitor: &mut dyn Monitor,
) -> Result<(), Error> {
    let told =
        |turn: &Turn| Told { label: turn.order.label.clone(), idle: turn.test.idle, load: turn.test.load };
    monitor.plan(&turns.iter().map(told).collect::<Vec<_>>(), 1);
    let run = |(number, one): (usize, &Turn)| {
        let (run, end) = turn((number, one), worker, record, monitor);
        if let Some(run) = run {
            record.runs.push(run);
            monitor.keep(record)?;
        }
        end
    };
    let end = turns.iter().enumerate().try_for_each(run);
    monitor.close();
    end
}

/// One queue's turn: what was measured, if anything, and how it ended.
fn turn(
    (number, turn): (usize, &Turn),
    worker: &[OsString],
    record: &mut Record,
    monitor: &mut dyn Monitor,
) -> (Option<Run>, Result<(), Error>) {
    let mut worker = match Worker::start(worker, &turn.order) {
        Ok(worker) => worker,
        Err(end) => return (None, Err(end)),
    };
    let mut memory = Memory::new(turn);
    monitor.begin(number);
    let mut watch = Watch { ready: false, finished: false, signal: None, silent: false, asked_to_stop: None };
    let end = watch.over(number, &mut worker, &mut memory, record, monitor);
    let mut run = memory.into_run();
    if !watch.finished {
        run.validity.valid = false;
        run.validity.reasons.push("the run was cut off before its end".into());
    }
    monitor.end(number, watch.ready && !run.complete);
    (watch.ready.then_some(run), end)
}

/// The parent's knowledge of the run so far.
struct Watch {
    ready: bool,
    finished: bool,
    signal: Option<i32>,
    silent: bool,
    asked_to_stop: Option<Instant>,
}

impl Watch {
    fn over(
        &mut self,
        number: usize,
        worker: &mut Worker,
        memory: &mut Memory,
        record: &mut Record,
        monitor: &mut dyn Monitor,
    ) -> Result<(), Error> {
        // The sum of waits without a message. Time in which this process is stopped (Ctrl-Z) does not count.
        let mut silence = Duration::ZERO;
        loop {
            if self.asked_to_stop.is_none() && self.signalled(monitor) {
                self.asked_to_stop = Some(Instant::now());
                worker.ask_to_stop();
            }
            if self.asked_to_stop.is_some_and(|since| since.elapsed() > GRACE) {
                worker.kill();
            }
            match worker.messages.recv_timeout(WAIT) {
                Ok(message) => {
                    silence = Duration::ZERO;
                    self.hear(message, memory, record)?;
                    monitor.update(number, 0, &memory.collector.latest());
                }
                Err(RecvTimeoutError::Timeout) => {
                    silence += WAIT;
                    if silence > SILENCE {
                        self.silent = true;
                        worker.kill();
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if !self.finished {
            // Whatever it still does, it no longer sends messages; killing a dead process does no harm.
            worker.kill();
        }
        let status = worker.wait()?;
        // A signal to both processes may have ended the child before it was seen here.
        self.signalled(monitor);
        match self.signal {
            Some(signal) => Err(Error::Interrupted(signal)),
            None if self.finished => Ok(()),
            None => Err(Error::Machine(match status.signal() {
                Some(_) if self.silent => {
                    format!("the worker process said nothing for {} s and was ended", SILENCE.as_secs())
                }
                Some(signal) => format!("the worker process was killed by signal {signal}"),
                None => format!("the worker process ended early ({status})"),
            })),
        }
    }

    /// Whether the user wants the run to end.
    fn signalled(&mut self, monitor: &mut dyn Monitor) -> bool {
        if self.signal.is_none() {
            self.signal = monitor.stop();
        }
        self.signal.is_some()
    }

    fn hear(&mut self, message: Message, memory: &mut Memory, record: &mut Record) -> Result<(), Error> {
        match &message {
            Message::Ready { sysctls, .. } => {
                self.ready = true;
                record.host.sysctls.clone_from(sysctls);
            }
            Message::Warning(warning) if !record.warnings.contains(warning) => {
                record.warnings.push(warning.clone());
            }
            Message::Finished(_) => self.finished = true,
            Message::Failed { machine: true, what } => return Err(Error::Machine(what.clone())),
            Message::Failed { machine: false, what } => return Err(Error::Usage(what.clone())),
            _ => {}
        }
        memory.take(message);
        Ok(())
    }
}

/// The measurements, and how well the engine kept time.
struct Memory {
    collector: Collector,
    /// The clocks of the lines, up and down, and their rates; none over the air.
    lines: [Option<(LineClock, u64)>; 2],
    engine: Option<EngineHealth>,
    link: Option<LinkPlan>,
    loads: Vec<goodqueue_report::Direction>,
    rpm: Option<Responsiveness>,
    radios: Vec<Radio>,
}

impl Memory {
    fn new(turn: &Turn) -> Memory {
        Memory {
            collector: Collector::new(&turn.order.label, &turn.test),
            lines: turn.rates.map(|rate| rate.map(|bps| (LineClock::default(), bps))),
            engine: None,
            link: turn.link.clone(),
            loads: turn.load.map(direction).into_iter().collect(),
            rpm: None,
            radios: Vec::new(),
        }
    }

    /// Takes in a message of the child. The caller handles verdict and warnings.
    fn take(&mut self, message: Message) {
        match message {
            Message::Ready { parameters, .. } => self.collector.parameters(parameters),
            Message::Sample(sample) => self.collector.sample(&sample),
            Message::Queues { t_ns, up, down } => {
                for (line, moment) in self.lines.iter_mut().zip([up, down]) {
                    line.iter_mut().for_each(|(line, _)| line.look(t_ns, moment));
                }
                self.collector.queues(t_ns, up, down);
            }
            Message::Finished(finish) => {
                let Finish { complete, engine, invalid, up, down, rpm, path, radios } = *finish;
                self.collector.path(path);
                self.collector.finished(complete, invalid, up, down);
                (self.radios, self.rpm) = (radios, rpm);
                let errors = self.lines.map(|line| line.and_then(|(line, bps)| line.error(bps)));
                let [rate_error_up, rate_error_down] = errors;
                self.engine = Some(EngineHealth { rate_error_up, rate_error_down, ..engine });
            }
            Message::Warning(_) | Message::Failed { .. } => {}
        }
    }

    fn into_run(self) -> Run {
        let Memory { engine, link, loads, rpm, radios, collector, .. } = self;
        Run { engine, link, loads, rpm, radios, ..collector.into_run() }
    }
}

/// The child process and its messages.
struct Worker {
    child: Child,
    messages: Receiver<Message>,
}

impl Worker {
    /// `words`: program and arguments; if empty, this program, as for the command.
    fn start(words: &[OsString], order: &Order) -> Result<Worker, Error> {
        let (program, arguments) = match words {
            [program, arguments @ ..] => (PathBuf::from(program), arguments.to_vec()),
            [] => {
                let program = std::env::current_exe();
                let program = program.map_err(|e| Error::Machine(format!("finding this program: {e}")))?;
                (program, vec!["live-worker".into()])
            }
        };
        let mut child = Command::new(&program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| Error::Machine(format!("starting the worker {}: {error}", program.display())))?;
        let words = serde_json::to_string(order).map_err(Error::machine)?;
        if let Some(stdin) = child.stdin.as_mut() {
            writeln!(stdin, "{words}")
                .map_err(|error| Error::Machine(format!("talking to the worker: {error}")))?;
        }
        let stdout = child.stdout.take().ok_or_else(|| Error::Machine("the worker has no output".into()))?;
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let Ok(message) = serde_json::from_slice(line.as_bytes()) else { break };
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        Ok(Worker { child, messages })
    }

    /// The end of its standard input tells the worker to stop.
    fn ask_to_stop(&mut self) {
        drop(self.child.stdin.take());
    }

    fn kill(&mut self) {
        // It may already be gone, which is just as good.
        let _ = self.child.kill();
    }

    fn wait(&mut self) -> Result<std::process::ExitStatus, Error> {
        self.child.wait().map_err(|error| Error::Machine(format!("waiting for the worker: {error}")))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}

//! A queue that is written in Python, in a simulation. Python sees [`Packet`]s; the simulation's own packets
//! stay here. So a queue that fails, loses a packet or lies about time ends the run with an exception, and
//! what it held still leaves in order.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use goodqueue::{Nanos, Reason, Rng};
use goodqueue_own::{Fault, Rule};
use goodqueue_sim::{OwnQueue, Report, Token};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::errors;
use crate::packet::{Event, Log, Packet};
use crate::queue::nanos;

/// What the queues and congestion controls in Python of a run share with the thread that waits for it.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    has_failed: AtomicBool,
    failure: Mutex<Option<PyErr>>,
    /// The rule that was broken, and when.
    fault: Mutex<Option<Fault>>,
    /// Python's numbers of the threads that call them.
    threads: Mutex<Vec<u64>>,
}

impl Shared {
    /// Whether one has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// The rule that the first failure broke.
    pub(crate) fn fault(&self) -> Option<Fault> {
        let fault = || self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.has_failed().then(fault).flatten()
    }

    /// The first failure. Afterwards there is none.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.has_failed.store(false, Ordering::Relaxed);
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The first failure, which stays.
    pub(crate) fn error(&self, py: Python<'_>) -> Option<PyErr> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.as_ref().map(|error| error.clone_ref(py))
    }

    /// This thread runs Python.
    pub(crate) fn note_thread(&self, py: Python<'_>) -> PyResult<()> {
        let thread: u64 = py.import("threading")?.call_method0("get_ident")?.extract()?;
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if !threads.contains(&thread) {
            threads.push(thread);
        }
        Ok(())
    }

    /// Ends the run with this exception, which gets a note of where it came from: `doing` of `whose`.
    pub(crate) fn fail(&self, py: Python<'_>, doing: &str, whose: &str, now: Nanos, error: PyErr) {
        let words = format!("in {doing} of {whose}, at {:.6} s", now.0 as f64 / 1e9);
        // A note is a help, not a must.
        let _ = error.value(py).call_method1("add_note", (words,));
        self.has_failed.store(true, Ordering::Relaxed);
        let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        let words = || format!("{} in {doing}", error.value(py));
        fault.get_or_insert_with(|| Fault { rule: Rule::Able, at: now, words: words() }).at = now;
        drop(fault);
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// The threads that run Python.
    pub(crate) fn threads(&self) -> Vec<u64> {
        std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The queue as the user gave it.
#[derive(Debug)]
struct Class {
    name: String,
    /// A class, or a function without arguments that makes one.
    factory: Py<PyAny>,
    shared: Arc<Shared>,
}

/// Who hears what happens to the packets of a queue in Python.
pub(crate) trait Fate<P> {
    /// The queue dropped the packet.
    fn drop(&mut self, packet: P, reason: Reason);
    /// The queue marked the packet, which can be marked.
    fn mark(&mut self, packet: &mut P, reason: Reason);
}

impl Fate<Token> for Report<'_> {
    fn drop(&mut self, packet: Token, reason: Reason) {
        Report::drop(self, packet, reason);
    }

    fn mark(&mut self, packet: &mut Token, reason: Reason) {
        Report::mark(self, packet, reason);
    }
}

/// A queue in Python, over packets of a simulation or of a check. A clone is a new queue; Python makes it
/// when the simulation begins.
pub(crate) struct Own<P = Token> {
    class: Arc<Class>,
    /// `None`: it could not be made.
    methods: Option<Methods>,
    log: Arc<Log>,
    /// What it holds, by number.
    held: BTreeMap<u64, P>,
    next: u64,
}

/// The methods of the Python object.
#[derive(Debug)]
struct Methods {
    enqueue: Py<PyAny>,
    dequeue: Py<PyAny>,
    next_wake: Option<Py<PyAny>>,
}

impl<P: goodqueue::Packet> Own<P> {
    pub(crate) fn new(name: String, factory: Py<PyAny>, shared: Arc<Shared>) -> Own<P> {
        Own::of(Arc::new(Class { name, factory, shared }))
    }

    fn of(class: Arc<Class>) -> Own<P> {
        Own { class, methods: None, log: Arc::default(), held: BTreeMap::new(), next: 0 }
    }

    /// The Python object's methods, unless some queue has failed: then the run is about to end, and all
    /// queues are FIFOs meanwhile.
    fn working(&self) -> Option<&Methods> {
        self.methods.as_ref().filter(|_| !self.class.shared.has_failed())
    }

    /// Makes the Python object.
    fn make(&self, py: Python<'_>, seed: u64) -> PyResult<Methods> {
        self.class.shared.note_thread(py)?;
        let queue = self.class.factory.bind(py).call0()?;
        let method = |name: &str, arguments: &str| {
            let found = queue.getattr_opt(name)?.filter(|method| method.is_callable());
            let missing = || self.wrong(py, Rule::Able, format!("it has no method {name}({arguments})"));
            found.map(Bound::unbind).ok_or_else(missing)
        };
        if let Some(take) = queue.getattr_opt("seed")?.filter(|take| take.is_callable()) {
            take.call1((seed,))?;
        }
        let next_wake = queue
            .getattr_opt("next_wake")?
            .is_some()
            .then(|| method("next_wake", "self, now"))
            .transpose()?;
        Ok(Methods {
            enqueue: method("enqueue", "self, now, packet")?,
            dequeue: method("dequeue", "self, now")?,
            next_wake,
        })
    }

    /// Ends the run with this exception, which gets the name of the queue.
    fn fail(&self, py: Python<'_>, doing: &str, now: Nanos, error: PyErr) {
        self.class.shared.fail(py, doing, &format!("the queue {}", self.class.name), now, error);
    }

    /// An error in what the queue answered.
    fn wrong(&self, py: Python<'_>, rule: Rule, words: impl fmt::Display) -> PyErr {
        let mut fault = self.class.shared.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.get_or_insert_with(|| Fault { rule, at: Nanos(0), words: words.to_string() });
        errors::usage(py, format!("queue {}: {words}", self.class.name))
    }

    /// Does what the Python methods said of packets. Returns a packet that Python freed, if there is one.
    fn settle(&mut self, report: &mut impl Fate<P>) -> Option<P> {
        let mut lost = None;
        for (number, event) in self.log.take() {
            match event {
                Event::Dropped(reason) => {
                    if let Some(token) = self.held.remove(&number) {
                        report.drop(token, reason);
                    }
                }
                Event::Marked(reason) => {
                    if let Some(token) = self.held.get_mut(&number) {
                        report.mark(token, reason);
                    }
                }
                Event::Lost => lost = lost.or(self.held.get(&number).copied()),
            }
        }
        lost
    }

    fn lost(&self, py: Python<'_>, token: P) -> PyErr {
        let bytes = token.len();
        self.wrong(
            py,
            Rule::Once,
            format!(
                "it lost a packet of {bytes} bytes: keep each packet, return it from dequeue, or call \
                 packet.drop()"
            ),
        )
    }

    /// Asks Python for the next packet, which keeps its number here until it leaves.
    fn ask(&self, py: Python<'_>, methods: &Methods, now: Nanos) -> PyResult<Option<u64>> {
        let answer = methods.dequeue.bind(py).call1((now.0,))?;
        if answer.is_none() {
            return Ok(None);
        }
        let Ok(packet) = answer.cast::<Packet>() else {
            let words = answer.repr()?;
            return Err(self.wrong(
                py,
                Rule::Able,
                format!("dequeue returned {words}: return a packet that enqueue got, or None"),
            ));
        };
        match packet.borrow_mut().leave(&self.log) {
            Some(number) => Ok(Some(number)),
            None => Err(self.wrong(
                py,
                Rule::Once,
                "dequeue returned a packet that the queue does not hold: it was returned or dropped before",
            )),
        }
    }

    /// A time that `next_wake` returned.
    fn time(&self, py: Python<'_>, answer: &Bound<'_, PyAny>) -> PyResult<u64> {
        nanos("next_wake returned", answer).map_err(|error| self.wrong(py, Rule::Able, error.value(py)))
    }

    /// When Python wants to be asked again, if it gave nothing although it holds packets.
    fn wake(&self, py: Python<'_>, methods: &Methods, now: Nanos) -> PyResult<()> {
        let held = self.held.len();
        let Some(next_wake) = &methods.next_wake else {
            let words = "dequeue returned None while it holds packets: it lost them (return each, or call \
                         packet.drop()), or it holds them back and lacks next_wake(self, now)";
            return Err(self.wrong(py, Rule::Wake, format!("{words} ({held} held)")));
        };
        let answer = next_wake.bind(py).call1((now.0,))?;
        if answer.is_none() {
            return Err(self.wrong(
                py,
                Rule::Once,
                format!("next_wake returned None while it holds packets ({held}): return a time"),
            ));
        }
        let at = self.time(py, &answer)?;
        if at <= now.0 {
            let words = format!(
                "next_wake says that a packet may leave at {at} ns, and dequeue gave none at {} ns",
                now.0
            );
            let rule = if at < now.0 { Rule::Time } else { Rule::Wake };
            return Err(self.wrong(py, rule, words));
        }
        Ok(())
    }
}

impl<P: goodqueue::Packet> Clone for Own<P> {
    fn clone(&self) -> Own<P> {
        Own::of(Arc::clone(&self.class))
    }
}

impl<P> fmt::Debug for Own<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Own").field("name", &self.class.name).finish_non_exhaustive()
    }
}

/// What simulations and checks do.
impl<P: goodqueue::Packet> Own<P> {
    /// Gives Python a packet.
    pub(crate) fn give(&mut self, now: Nanos, token: P, report: &mut impl Fate<P>) {
        let number = self.next;
        self.next += 1;
        self.held.insert(number, token);
        if self.working().is_none() {
            return;
        }
        Python::attach(|py| {
            let packet = Packet::held(
                number,
                Arc::clone(&self.log),
                [token.len(), token.flow_hash()],
                token.dsfield(),
            );
            let give = |methods: &Methods| {
                let answer = methods.enqueue.bind(py).call1((now.0, packet))?;
                if answer.is_none() {
                    return Ok(());
                }
                let words =
                    format!("enqueue returned {}: it returns nothing; packet.drop() drops", answer.repr()?);
                Err(self.wrong(py, Rule::Able, words))
            };
            let mut end = self.working().map_or(Ok(()), give);
            let lost = self.settle(report);
            if let (Ok(()), Some(token)) = (&end, lost) {
                end = Err(self.lost(py, token));
            }
            if let Err(error) = end {
                self.fail(py, "enqueue", now, error);
            }
        });
    }

    /// Asks Python for a packet.
    pub(crate) fn fetch(&mut self, now: Nanos, report: &mut impl Fate<P>) -> Option<P> {
        if self.working().is_some() {
            let given = Python::attach(|py| {
                let asked = self.working().map_or(Ok(None), |methods| self.ask(py, methods, now));
                let lost = self.settle(report);
                let end = match (asked, lost) {
                    (Ok(_), Some(token)) => Err(self.lost(py, token)),
                    (Ok(None), None) if !self.held.is_empty() => {
                        self.working().map_or(Ok(()), |methods| self.wake(py, methods, now)).map(|()| None)
                    }
                    (asked, _) => asked,
                };
                end.unwrap_or_else(|error| {
                    self.fail(py, "dequeue", now, error);
                    None
                })
            });
            if !self.class.shared.has_failed() {
                return given.and_then(|number| self.held.remove(&number));
            }
        }
        self.held.pop_first().map(|(_, token)| token)
    }

    /// When Python can give a packet.
    pub(crate) fn wake_time(&self, now: Nanos) -> Option<Nanos> {
        let Some(next_wake) = self.working().and_then(|methods| methods.next_wake.as_ref()) else {
            return Some(now);
        };
        Python::attach(|py| {
            let answer = next_wake.bind(py).call1((now.0,));
            match answer.and_then(|at| if at.is_none() { Ok(u64::MAX) } else { self.time(py, &at) }) {
                Ok(at) => Some(Nanos(at.max(now.0))).filter(|at| at.0 < u64::MAX),
                Err(error) => {
                    self.fail(py, "next_wake", now, error);
                    Some(now)
                }
            }
        })
    }

    /// Makes the Python object.
    pub(crate) fn start(&mut self, seed: u64) {
        Python::attach(|py| match self.make(py, seed) {
            Ok(methods) => self.methods = Some(methods),
            Err(error) => self.fail(py, "the making", Nanos(0), error),
        });
    }
}

impl<P> Own<P> {
    /// Takes out all packets, in the order of their arrival.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = P> {
        self.log = Arc::default();
        std::mem::take(&mut self.held).into_values()
    }
}

impl OwnQueue for Own {
    fn enqueue(&mut self, now: Nanos, packet: Token, report: &mut Report<'_>) {
        self.give(now, packet, report);
    }

    fn dequeue(&mut self, now: Nanos, report: &mut Report<'_>) -> Option<Token> {
        self.fetch(now, report)
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        self.wake_time(now)
    }

    fn seed(&mut self, mut draws: Rng) {
        self.start(draws.next_u64());
    }
}

/// Raises KeyboardInterrupt in these threads of Python's, which may never return from a queue.
pub(crate) fn interrupt(py: Python<'_>, threads: Vec<u64>) -> PyResult<()> {
    let ctypes = py.import("ctypes")?;
    let raise = ctypes.getattr("pythonapi")?.getattr("PyThreadState_SetAsyncExc")?;
    let class = ctypes.getattr("py_object")?.call1((py.get_type::<PyKeyboardInterrupt>(),))?;
    for thread in threads {
        let number = ctypes.getattr("c_ulong")?.call1((thread,))?;
        raise.call1((number, &class))?;
    }
    Ok(())
}

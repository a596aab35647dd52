//! The conformance suite, for queues in Python and for those of the catalogue.

use std::sync::Arc;

use goodqueue::{Backlog, Header, Inspect, Nanos, Owner, Packet as _, Queue, Rate, Reason, Stats, Verdict};
use goodqueue_own::check::{Report, check};
use goodqueue_own::{Fault, Rule};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::errors;
use crate::own::{Fate, Own, Shared};

/// A queue in Python over packets without a simulation: those of the suite, and real ones.
pub(crate) struct Checked {
    own: Own<Header>,
    shared: Arc<Shared>,
    seed: u64,
    backlog: Backlog,
    stats: Stats,
}

impl Checked {
    /// Makes the Python object.
    pub(crate) fn new(name: String, factory: Py<PyAny>, shared: Arc<Shared>, seed: u64) -> Checked {
        let mut own = Own::new(name, factory, Arc::clone(&shared));
        own.start(seed);
        Checked { own, shared, seed, backlog: Backlog::default(), stats: Stats::default() }
    }
}

/// Passes on what a queue does with its packets, and counts it.
struct Told<'a, O> {
    now: Nanos,
    owner: &'a mut O,
    backlog: &'a mut Backlog,
    stats: &'a mut Stats,
    dropped: Option<(u64, Reason)>,
}

impl<O: Owner<Header>> Fate<Header> for Told<'_, O> {
    fn drop(&mut self, packet: Header, reason: Reason) {
        remove(self.backlog, &packet);
        self.stats.drops += 1;
        self.dropped = Some((packet.cookie, reason));
        self.owner.dropped(self.now, packet, reason);
    }

    fn mark(&mut self, packet: &mut Header, reason: Reason) {
        packet.set_ce();
        self.stats.marks += 1;
        self.owner.marked(self.now, packet, reason);
    }
}

fn remove(backlog: &mut Backlog, packet: &Header) {
    backlog.packets -= 1;
    backlog.bytes -= u64::from(packet.len);
}

impl Queue<Header> for Checked {
    fn enqueue(&mut self, now: Nanos, packet: Header, owner: &mut impl Owner<Header>) -> Verdict {
        let Checked { own, backlog, stats, .. } = self;
        backlog.packets += 1;
        backlog.bytes += u64::from(packet.len);
        let mut told = Told { now, owner, backlog, stats, dropped: None };
        own.give(now, packet, &mut told);
        match told.dropped {
            Some((cookie, reason)) if cookie == packet.cookie => Verdict::Dropped(reason),
            _ => Verdict::Enqueued,
        }
    }

    fn dequeue(&mut self, now: Nanos, owner: &mut impl Owner<Header>) -> Option<Header> {
        let Checked { own, backlog, stats, .. } = self;
        let packet = own.fetch(now, &mut Told { now, owner, backlog, stats, dropped: None })?;
        remove(&mut self.backlog, &packet);
        self.stats.packets += 1;
        self.stats.bytes += u64::from(packet.len);
        Some(packet)
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        if self.backlog.packets == 0 { None } else { self.own.wake_time(now) }
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Python gets a new object.
    fn reset(&mut self, now: Nanos, owner: &mut impl Owner<Header>) {
        self.own.drain().for_each(|packet| owner.dropped(now, packet, Reason::Reset));
        self.backlog = Backlog::default();
        self.own.start(self.seed);
    }
}

impl Inspect for Checked {
    fn stats(&self) -> Stats {
        self.stats
    }
}

/// The result of a check: the calls, the most packets held, and for each rule its name, a line about it, the
/// word for its result, and where it was broken.
type Verdicts = (u64, u64, Vec<(&'static str, &'static str, &'static str, Option<String>)>);

fn verdicts(report: &Report) -> Verdicts {
    let rule = |rule: Rule| {
        let violation = report.of(rule).map(ToString::to_string);
        let word = match &violation {
            Some(_) => "broken",
            None if report.is_checked(rule) => "kept",
            None => "not checked",
        };
        (rule.name(), rule.about(), word, violation)
    };
    (report.calls, report.most_held, Rule::ALL.map(rule).into())
}

/// Checks a queue of the catalogue, or from a shared library.
#[pyfunction]
pub(crate) fn check_words(py: Python<'_>, queue: &str, rate: &str) -> PyResult<Verdicts> {
    let rate: Rate = rate.parse().map_err(|error| {
        errors::usage(py, format!("rate {rate}: {error}; write a rate as tc does, as in 20mbit or 1gbit"))
    })?;
    let report = py.detach(|| goodqueue_experiment::check_queue(queue, rate));
    report.map(|report| verdicts(&report)).map_err(|error| errors::of(py, &error))
}

/// Checks a queue in Python: a class, or a function that makes one.
#[pyfunction]
pub(crate) fn check_class(py: Python<'_>, name: String, factory: Py<PyAny>) -> PyResult<Verdicts> {
    let make = |seed| Ok(Checked::new(name.clone(), factory.clone_ref(py), Arc::default(), seed));
    let interrupt = std::cell::RefCell::new(None);
    let fault = |queue: &Checked| -> Option<Fault> {
        let fault = queue.shared.fault();
        if fault.is_some() {
            // Ctrl-C is no fault of the queue.
            let error = queue.shared.take().filter(|error| error.is_instance_of::<PyKeyboardInterrupt>(py));
            interrupt.borrow_mut().get_or_insert_with(|| error);
        }
        fault
    };
    let report = check(make, fault);
    if let Some(Some(error)) = interrupt.into_inner() {
        return Err(error);
    }
    report.map(|report| verdicts(&report)).map_err(|why: String| errors::usage(py, why))
}

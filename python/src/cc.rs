//! A congestion control that is written in Python, in a simulation. One that fails ends the run with an
//! exception; meanwhile its windows stay as they are.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use goodqueue::Nanos;
use goodqueue_experiment::{CcOutcome, check_cc, check_own_cc, own_cc};
use goodqueue_own::cc::{CcAck as Ack, CcCalls, CcEvent, CcWindow as Window};
use goodqueue_sim::tcp::cc::CcKind;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBool;

use crate::errors;
use crate::own::Shared;
use crate::queue::nanos;

/// What an ACK says to a congestion control of your own. Counts are segments, times nanoseconds.
#[pyclass(module = "goodqueue", name = "CcAck", frozen)]
pub(crate) struct PyAck(Ack);

fn some(value: u64) -> Option<u64> {
    (value != 0).then_some(value)
}

#[pymethods]
impl PyAck {
    /// For tests of your own: what is left out is 0, None or False.
    #[new]
    #[pyo3(signature = (
        *, acked=0, lost=0, marked=0, rtt=None, rate_bps=None, prior_delivered=0, is_app_limited=false,
        in_recovery=false
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        acked: u64,
        lost: u64,
        marked: u64,
        rtt: Option<u64>,
        rate_bps: Option<u64>,
        prior_delivered: u64,
        is_app_limited: bool,
        in_recovery: bool,
    ) -> PyAck {
        PyAck(Ack {
            acked,
            lost,
            marked,
            rtt: rtt.unwrap_or(0),
            prior_delivered,
            rate_bps: rate_bps.unwrap_or(0),
            is_app_limited: is_app_limited.into(),
            in_recovery: in_recovery.into(),
        })
    }

    /// Segments newly delivered.
    #[getter]
    fn acked(&self) -> u64 {
        self.0.acked
    }

    /// Segments newly found lost.
    #[getter]
    fn lost(&self) -> u64 {
        self.0.lost
    }

    /// How many of those delivered were marked; known only if the class has `is_scalable = True`.
    #[getter]
    fn marked(&self) -> u64 {
        self.0.marked
    }

    /// Round-trip time of this ACK, ns; None if it gave none.
    #[getter]
    fn rtt(&self) -> Option<u64> {
        some(self.0.rtt)
    }

    /// Delivery rate, bit/s of payload; None if it gave none.
    #[getter]
    fn rate_bps(&self) -> Option<u64> {
        some(self.0.rate_bps)
    }

    /// `delivered` of the window when the newest segment acknowledged was sent: a round trip ago.
    #[getter]
    fn prior_delivered(&self) -> u64 {
        self.0.prior_delivered
    }

    /// Whether the rate was measured while the application had nothing to send.
    #[getter]
    fn is_app_limited(&self) -> bool {
        self.0.is_app_limited != 0
    }

    /// Whether losses are being repaired: between "lost" or "timeout" and "recovered".
    #[getter]
    fn in_recovery(&self) -> bool {
        self.0.in_recovery != 0
    }

    fn __repr__(&self) -> String {
        let Ack { acked, lost, rtt, rate_bps, .. } = self.0;
        format!("CcAck(acked={acked}, lost={lost}, rtt={rtt}, rate_bps={rate_bps})")
    }
}

/// The connection, at each call of a congestion control of your own. `cwnd`, `pacing_bps` and `timer` may be
/// set. It is the same object each time.
#[pyclass(module = "goodqueue", name = "CcWindow")]
pub(crate) struct PyWindow(Window);

/// The largest window that can be set, segments.
const MOST_WINDOW: u64 = u32::MAX as u64;

#[pymethods]
impl PyWindow {
    /// For tests of your own: what is left out is 0 or None; `mss` is 1448 bytes.
    #[new]
    #[pyo3(signature = (
        cwnd=10, *, prior_cwnd=0, in_flight=0, delivered=0, srtt=None, min_rtt=None, mss=1448, is_limited=true
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        cwnd: u64,
        prior_cwnd: u64,
        in_flight: u64,
        delivered: u64,
        srtt: Option<u64>,
        min_rtt: Option<u64>,
        mss: u32,
        is_limited: bool,
    ) -> PyWindow {
        let (srtt, min_rtt) = (srtt.unwrap_or(0), min_rtt.unwrap_or(0));
        let is_limited = is_limited.into();
        PyWindow(Window {
            cwnd,
            prior_cwnd,
            in_flight,
            delivered,
            srtt,
            min_rtt,
            mss,
            is_limited,
            ..Window::default()
        })
    }

    /// Congestion window, segments.
    #[getter]
    fn cwnd(&self) -> u64 {
        self.0.cwnd
    }

    #[setter]
    fn set_cwnd(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let wrong = |value: &Bound<'_, PyAny>| -> PyResult<String> {
            Ok(format!(
                "cwnd {}: whole segments from 1 to {MOST_WINDOW}, as in int(0.7 * window.cwnd)",
                value.repr()?
            ))
        };
        if value.is_instance_of::<PyBool>() || !value.hasattr("__index__")? {
            return Err(PyTypeError::new_err(wrong(value)?));
        }
        match value.extract::<u64>() {
            Ok(cwnd) if (1..=MOST_WINDOW).contains(&cwnd) => {
                self.0.cwnd = cwnd;
                Ok(())
            }
            _ => Err(PyValueError::new_err(wrong(value)?)),
        }
    }

    /// Rate at which segments may leave, bit/s; None: not paced.
    #[getter]
    fn pacing_bps(&self) -> Option<u64> {
        some(self.0.pacing_bps)
    }

    #[setter]
    fn set_pacing_bps(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let wrong = || -> PyResult<String> {
            Ok(format!("pacing_bps {}: bit/s from 1 on, as 5e6 for 5 Mbit/s; None: not paced", value.repr()?))
        };
        if value.is_none() {
            self.0.pacing_bps = 0;
            return Ok(());
        }
        let rate = match value.extract::<f64>() {
            Ok(rate) if !value.is_instance_of::<PyBool>() => rate,
            _ => return Err(PyTypeError::new_err(wrong()?)),
        };
        if !(1.0..1e18).contains(&rate) {
            return Err(PyValueError::new_err(wrong()?));
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        {
            self.0.pacing_bps = rate as u64;
        }
        Ok(())
    }

    /// When the event "timer" is to come, ns; None: not, as at each event "timer". A time that is not in the
    /// future is none.
    #[getter]
    fn timer(&self) -> Option<u64> {
        some(self.0.timer)
    }

    #[setter]
    fn set_timer(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.timer = if value.is_none() { 0 } else { nanos("timer", value)? };
        Ok(())
    }

    /// Window before "lost", "marked" or "timeout", segments.
    #[getter]
    fn prior_cwnd(&self) -> u64 {
        self.0.prior_cwnd
    }

    /// Segments in flight.
    #[getter]
    fn in_flight(&self) -> u64 {
        self.0.in_flight
    }

    /// Segments delivered since the beginning.
    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered
    }

    /// Smoothed round-trip time, ns; None before the first.
    #[getter]
    fn srtt(&self) -> Option<u64> {
        some(self.0.srtt)
    }

    /// Least round-trip time of the last 300 s, ns; None before the first.
    #[getter]
    fn min_rtt(&self) -> Option<u64> {
        some(self.0.min_rtt)
    }

    /// Payload bytes of a full segment.
    #[getter]
    fn mss(&self) -> u32 {
        self.0.mss
    }

    /// Whether the window limits the sender, so that it may grow; else the application does.
    #[getter]
    fn is_limited(&self) -> bool {
        self.0.is_limited != 0
    }

    fn __repr__(&self) -> String {
        let Window { cwnd, in_flight, .. } = self.0;
        format!("CcWindow({cwnd}, in_flight={in_flight})")
    }
}

/// The congestion control as the user gave it.
struct Class {
    name: String,
    /// A class, or a function without arguments that makes one.
    factory: Py<PyAny>,
    shared: Arc<Shared>,
}

/// Makes the congestion control of a connection.
type Make = Arc<dyn Fn() -> Box<dyn CcCalls> + Send + Sync>;

/// What a definition makes connections of at present; nothing between two runs.
type Factory = Arc<Mutex<Option<Make>>>;

/// A definition, which lives as long as the process, for one run at a time.
struct Definition {
    kind: CcKind,
    place: Factory,
}

/// Those that no run has.
static FREE: Mutex<Vec<Definition>> = Mutex::new(Vec::new());

/// A congestion control of this package's for as long as this lives.
pub(crate) struct Lease(Option<Definition>);

/// That of a connection which no run is for.
#[derive(Debug)]
struct Nothing;

impl CcCalls for Nothing {
    fn ack(&mut self, _: Nanos, _: &Ack, _: &mut Window) {}
    fn event(&mut self, _: Nanos, _: CcEvent, _: &mut Window) {}
}

impl Lease {
    /// One in Python. `is_scalable`: the class says that it responds to how many packets are marked.
    pub(crate) fn of_class(name: &str, factory: Py<PyAny>, is_scalable: bool, shared: &Arc<Shared>) -> Lease {
        let class = Arc::new(Class { name: name.to_owned(), factory, shared: Arc::clone(shared) });
        Lease::new(name, is_scalable, Arc::new(move || Box::new(Connection::new(&class))))
    }

    pub(crate) fn new(name: &str, is_scalable: bool, make: Make) -> Lease {
        let is_it = |one: &Definition| one.kind.name() == name && one.kind.is_scalable() == is_scalable;
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        let found = free.iter().position(is_it).map(|index| free.swap_remove(index));
        drop(free);
        let definition = found.unwrap_or_else(|| {
            let place = Factory::default();
            let used = Arc::clone(&place);
            let kind = own_cc(name, is_scalable, move || {
                let make = used.lock().unwrap_or_else(PoisonError::into_inner).clone();
                make.map_or_else(|| Box::new(Nothing) as Box<dyn CcCalls>, |make| make())
            });
            Definition { kind, place }
        });
        *definition.place.lock().unwrap_or_else(PoisonError::into_inner) = Some(make);
        Lease(Some(definition))
    }

    pub(crate) fn kind(&self) -> Option<CcKind> {
        self.0.as_ref().map(|definition| definition.kind)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(definition) = self.0.take() {
            definition.place.lock().unwrap_or_else(PoisonError::into_inner).take();
            FREE.lock().unwrap_or_else(PoisonError::into_inner).push(definition);
        }
    }
}

/// The Python object of a connection.
struct Object {
    ack: Py<PyAny>,
    event: Py<PyAny>,
    window: Py<PyWindow>,
}

/// The congestion control of a connection.
struct Connection {
    class: Arc<Class>,
    /// `None`: it could not be made.
    object: Option<Object>,
}

impl Connection {
    fn new(class: &Arc<Class>) -> Connection {
        let make = |py: Python<'_>| {
            let made = class.make(py);
            made.map_err(|error| class.fail(py, "the making", Nanos::ZERO, error)).ok()
        };
        let object = if class.shared.has_failed() { None } else { Python::attach(make) };
        Connection { class: Arc::clone(class), object }
    }

    fn call(
        &mut self,
        doing: &str,
        now: Nanos,
        window: &mut Window,
        call: impl FnOnce(Python<'_>, &Object) -> PyResult<Py<PyAny>>,
    ) {
        let Connection { class, object } = self;
        let Some(object) = object.as_ref().filter(|_| !class.shared.has_failed()) else { return };
        Python::attach(|py| {
            let end = || -> PyResult<Window> {
                object.window.bind(py).try_borrow_mut()?.0 = *window;
                let answer = call(py, object)?;
                if !answer.is_none(py) {
                    let words = format!(
                        "{doing} returned {}: it returns nothing, and sets window.cwnd",
                        answer.bind(py).repr()?
                    );
                    return Err(class.wrong(py, &words));
                }
                Ok(object.window.bind(py).try_borrow()?.0)
            };
            match end() {
                Ok(set) => *window = set,
                Err(error) => class.fail(py, doing, now, error),
            }
        });
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.class.name)
    }
}

impl CcCalls for Connection {
    fn ack(&mut self, now: Nanos, ack: &Ack, window: &mut Window) {
        self.call("ack", now, window, |py, object| {
            object.ack.call1(py, (now.0, PyAck(*ack), object.window.bind(py)))
        });
    }

    fn event(&mut self, now: Nanos, event: CcEvent, window: &mut Window) {
        self.call("event", now, window, |py, object| {
            object.event.call1(py, (now.0, event.name(), object.window.bind(py)))
        });
    }
}

impl Class {
    /// Makes the Python object.
    fn make(&self, py: Python<'_>) -> PyResult<Object> {
        self.shared.note_thread(py)?;
        let control = self.factory.bind(py).call0()?;
        let method = |name: &str, arguments: &str| {
            let found = control.getattr_opt(name)?.filter(|method| method.is_callable());
            let missing = || self.wrong(py, &format!("it has no method {name}({arguments})"));
            found.map(Bound::unbind).ok_or_else(missing)
        };
        Ok(Object {
            ack: method("ack", "self, now, ack, window")?,
            event: method("event", "self, now, event, window")?,
            window: Py::new(py, PyWindow(Window::default()))?,
        })
    }

    fn wrong(&self, py: Python<'_>, words: &str) -> PyErr {
        errors::usage(py, format!("congestion control {}: {words}", self.name))
    }

    fn fail(&self, py: Python<'_>, doing: &str, now: Nanos, error: PyErr) {
        self.shared.fail(py, doing, &format!("the congestion control {}", self.name), now, error);
    }
}

/// The result of a check: for each case a line about it, its rate in bit/s, its round-trip time in ns, its
/// queue, ECN, the goodput in bit/s, the median time in the queue in ns, and what was wrong.
type Outcomes = Vec<(&'static str, u64, u64, &'static str, bool, u64, u64, Option<String>)>;

fn outcomes(all: Vec<CcOutcome>) -> Outcomes {
    let one = |CcOutcome { case, goodput_bps, queueing, violation }: CcOutcome| {
        let (rate, rtt) = (case.rate.0, case.rtt.0);
        (case.about, rate, rtt, case.queue, case.ecn, goodput_bps, queueing.0, violation)
    };
    all.into_iter().map(one).collect()
}

/// Checks a congestion control that has a name, or is in a shared library.
#[pyfunction]
pub(crate) fn check_cc_words(py: Python<'_>, words: &str) -> PyResult<Outcomes> {
    py.detach(|| check_cc(words)).map(outcomes).map_err(|error| errors::of(py, &error))
}

/// Checks one in Python: a class, or a function that makes one.
#[pyfunction]
pub(crate) fn check_cc_class(
    py: Python<'_>,
    name: &str,
    factory: Py<PyAny>,
    is_scalable: bool,
) -> PyResult<Outcomes> {
    let shared = Arc::<Shared>::default();
    let lease = Lease::of_class(name, factory, is_scalable, &shared);
    let Some(kind) = lease.kind() else { return Ok(Vec::new()) };
    let mut stopped = None;
    let all = py.detach(|| {
        check_own_cc(kind, &mut || {
            let fault = shared.fault().map(|fault| fault.words);
            Python::attach(|py| {
                let error = match shared.take() {
                    // Ctrl-C is no fault of its own.
                    Some(error) if error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py) => {
                        Some(error)
                    }
                    _ => py.check_signals().err(),
                };
                if error.is_some() {
                    stopped = error;
                }
            });
            stopped.as_ref().map(|_| "stopped".to_owned()).or(fault)
        })
    });
    match stopped {
        Some(error) => Err(error),
        None => all.map(outcomes).map_err(|error| errors::of(py, &error)),
    }
}

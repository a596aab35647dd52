//! A packet, as queues in Python see it.

use std::sync::{Arc, Mutex, PoisonError};

use goodqueue::{Ecn, Reason};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Longest packet, bytes: 65535 of IP and the Ethernet header.
const LONGEST: i64 = 65_549;

/// What happened to packets of a queue in Python while one of its methods ran, in order.
#[derive(Debug, Default)]
pub(crate) struct Log(Mutex<Vec<(u64, Event)>>);

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Dropped(Reason),
    Marked(Reason),
    /// Python freed the packet while the queue should have it.
    Lost,
}

impl Log {
    pub(crate) fn take(&self) -> Vec<(u64, Event)> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn push(&self, number: u64, event: Event) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((number, event));
    }
}

/// Where a packet is.
#[derive(Clone, Debug)]
enum Where {
    /// In no queue.
    Free,
    /// In a queue of the catalogue.
    Queued,
    /// In a queue in Python that runs in a simulation, which gave it this number.
    Held(u64, Arc<Log>),
    Dropped(Reason),
}

/// A packet, as a queue sees it.
///
/// length       bytes with the link header (14 bytes of Ethernet), as Linux counts them; 1 to 65 549
/// flow         number of its flow: the hash of addresses and ports, 0 to 2**32 - 1
/// dsfield      the DS byte: DSCP in the high six bits, ECN in the low two (0: TCP without ECN, 2: with ECN)
/// source       hash of its source address, which cake asks for; 0: unknown
/// destination  hash of its destination address
///
/// Your own attributes may be set, such as `packet.arrived = now`.
#[pyclass(dict, module = "goodqueue")]
#[derive(Debug)]
pub(crate) struct Packet {
    /// Bytes with the link header.
    #[pyo3(get)]
    pub(crate) length: u32,
    /// Number of its flow.
    #[pyo3(get)]
    pub(crate) flow: u32,
    /// The DS byte: DSCP in the high six bits, ECN in the low two.
    #[pyo3(get)]
    pub(crate) dsfield: u8,
    /// Hash of its source address; 0: unknown.
    #[pyo3(get)]
    pub(crate) source: u32,
    /// Hash of its destination address; 0: unknown.
    #[pyo3(get)]
    pub(crate) destination: u32,
    place: Where,
}

impl Packet {
    /// One that a queue in Python gets in a simulation.
    pub(crate) fn held(number: u64, log: Arc<Log>, [length, flow]: [u32; 2], dsfield: u8) -> Packet {
        Packet { length, flow, dsfield, source: 0, destination: 0, place: Where::Held(number, log) }
    }

    /// Takes it out of the queue that has `log`; `None` if it is not there.
    pub(crate) fn leave(&mut self, log: &Arc<Log>) -> Option<u64> {
        let Where::Held(number, own) = &self.place else { return None };
        let number = *number;
        Arc::ptr_eq(own, log).then(|| {
            self.place = Where::Free;
            number
        })
    }

    /// It goes into a queue of the catalogue.
    pub(crate) fn enter(&mut self) -> PyResult<()> {
        match self.place {
            Where::Free => self.place = Where::Queued,
            Where::Dropped(_) => {
                return Err(PyValueError::new_err("enqueue: this packet was dropped before"));
            }
            _ => return Err(PyValueError::new_err("enqueue: this packet is in a queue; make a new Packet")),
        }
        Ok(())
    }

    /// It left a queue of the catalogue, perhaps with a mark.
    pub(crate) fn left(&mut self, dsfield: u8) {
        (self.dsfield, self.place) = (dsfield, Where::Free);
    }

    /// A queue of the catalogue dropped it.
    pub(crate) fn was_dropped(&mut self, reason: Reason) {
        self.place = Where::Dropped(reason);
    }
}

#[pymethods]
impl Packet {
    #[new]
    #[pyo3(signature = (length, *, flow=0, dsfield=0, source=0, destination=0))]
    fn new(length: i64, flow: i64, dsfield: i64, source: i64, destination: i64) -> PyResult<Packet> {
        fn within<T: TryFrom<i64>>(name: &str, value: i64, most: i64) -> PyResult<T> {
            let small = T::try_from(value).ok().filter(|_| value <= most);
            small.ok_or_else(|| {
                PyValueError::new_err(format!("{name} {value}: a whole number from 0 to {most}"))
            })
        }
        if length == 0 {
            return Err(PyValueError::new_err("length 0: bytes with the link header, from 1 on"));
        }
        let hash = |name: &str, value: i64| within(name, value, u32::MAX.into());
        Ok(Packet {
            length: within("length", length, LONGEST)?,
            flow: hash("flow", flow)?,
            dsfield: within("dsfield", dsfield, 255)?,
            source: hash("source", source)?,
            destination: hash("destination", destination)?,
            place: Where::Free,
        })
    }

    /// Whether its sender speaks ECN, so that it can be marked instead of dropped.
    #[getter]
    fn is_ecn_capable(&self) -> bool {
        Ecn::of(self.dsfield) != Ecn::NotEct
    }

    /// Whether it has the mark Congestion Experienced.
    #[getter]
    fn is_marked(&self) -> bool {
        Ecn::of(self.dsfield) == Ecn::Ce
    }

    /// The reason for which it was dropped, or None.
    #[getter]
    fn dropped(&self) -> Option<&'static str> {
        match self.place {
            Where::Dropped(reason) => Some(reason.name()),
            _ => None,
        }
    }

    /// Drops the packet. A queue of your own must call it for each packet that it does not return.
    ///
    /// reason: the word under which it is counted: `limit` (the queue is full), `codel`, `pie`, `red`,
    /// `memory`, `flow_limit` ...
    #[pyo3(name = "drop", signature = (reason="limit"))]
    fn drop_it(&mut self, reason: &str) -> PyResult<()> {
        let reason = reason_of(reason)?;
        match &self.place {
            Where::Dropped(_) => return Err(PyValueError::new_err("drop: this packet was dropped before")),
            Where::Queued => {
                return Err(PyValueError::new_err("drop: a queue of the catalogue has this packet"));
            }
            Where::Held(number, log) => log.push(*number, Event::Dropped(reason)),
            Where::Free => {}
        }
        self.place = Where::Dropped(reason);
        Ok(())
    }

    /// Marks the packet with Congestion Experienced (RFC 3168) and returns True. If its sender does not speak
    /// ECN, it does nothing and returns False; then a drop is the only signal.
    ///
    /// reason: the word under which it is counted, as for `drop`.
    #[pyo3(signature = (reason="codel"))]
    fn mark(&mut self, reason: &str) -> PyResult<bool> {
        let reason = reason_of(reason)?;
        match &self.place {
            Where::Dropped(_) => return Err(PyValueError::new_err("mark: this packet was dropped before")),
            Where::Held(number, log) if self.is_ecn_capable() => log.push(*number, Event::Marked(reason)),
            _ => {}
        }
        if self.is_ecn_capable() {
            self.dsfield |= 3;
        }
        Ok(self.is_ecn_capable())
    }

    fn __repr__(&self) -> String {
        let Packet { length, flow, dsfield, .. } = self;
        format!("Packet({length}, flow={flow}, dsfield={dsfield})")
    }
}

impl Drop for Packet {
    fn drop(&mut self) {
        if let Where::Held(number, log) = &self.place {
            log.push(*number, Event::Lost);
        }
    }
}

fn reason_of(word: &str) -> PyResult<Reason> {
    Reason::ALL.into_iter().find(|reason| reason.name() == word).ok_or_else(|| {
        let all: Vec<&str> = Reason::ALL.iter().map(|reason| reason.name()).collect();
        PyValueError::new_err(format!("reason {word}: there are {}", all.join(", ")))
    })
}

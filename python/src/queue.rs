//! A queue of the catalogue, packet by packet.

use std::collections::BTreeMap;

use goodqueue::details::Details;
use goodqueue::spec::QueueSpec;
use goodqueue::{AnyQueue, Header, Nanos, Observer, PacketInfo, Rate, Reason, Rng};
use goodqueue::{Inspect as _, Queue as _};
use goodqueue_experiment::did_you_mean;
use goodqueue_sim::tcp::truesize;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt};

use crate::errors;
use crate::packet::Packet;

/// A queue of the catalogue (`goodqueue.queues()`), packet by packet and with your clock. It decides as it
/// does in simulations and on real paths.
///
/// queue  its name and parameters, in tc's words: "fq_codel target=10ms", "cake bandwidth=20mbit"
/// rate   rate of the link behind it, for queues whose defaults depend on it
/// mtu    longest packet with its link header, bytes
/// seed   of its random decisions
///
/// Times are whole nanoseconds from an epoch of yours, and never go back:
///
///     queue = goodqueue.Queue("codel")
///     queue.enqueue(0, goodqueue.Packet(1514))
///     packet = queue.dequeue(5_000_000)          # 5 ms later
#[pyclass(module = "goodqueue")]
pub(crate) struct Queue {
    spec: QueueSpec,
    queue: AnyQueue<Header>,
    now: Nanos,
    next: u64,
    packets: Packets,
}

/// The packets in the queue, by number, and those that it dropped.
#[derive(Default)]
struct Packets {
    held: BTreeMap<u64, Py<Packet>>,
    details: BTreeMap<u64, Details>,
    dropped: Vec<(Py<Packet>, Reason)>,
}

impl Packets {
    fn take(&mut self, header: &Header) -> Option<Py<Packet>> {
        self.details.remove(&header.cookie);
        self.held.remove(&header.cookie)
    }
}

impl Observer<Header> for Packets {
    fn dropped(&mut self, _: Nanos, packet: Header, reason: Reason) {
        let packet = self.take(&packet);
        self.dropped.extend(packet.map(|packet| (packet, reason)));
    }
}

impl PacketInfo<Header> for Packets {
    fn details(&self, packet: &Header) -> Details {
        self.details.get(&packet.cookie).copied().unwrap_or_default()
    }
}

#[pymethods]
impl Queue {
    #[new]
    #[pyo3(signature = (queue, *, rate="1gbit", mtu=1514, seed=0))]
    fn new(py: Python<'_>, queue: &str, rate: &str, mtu: u32, seed: u64) -> PyResult<Queue> {
        let words = queue.split([' ', ',']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(",");
        let spec: QueueSpec = words.parse().map_err(|error: goodqueue::spec::SpecError| {
            let near = error.unknown().map_or(String::new(), |(word, known)| did_you_mean(word, known));
            errors::usage(
                py,
                format!("queue {queue}: {error}{near}; `goodqueue queues` lists queues and parameters"),
            )
        })?;
        let rate: Rate = rate.parse().map_err(|error| {
            errors::usage(py, format!("rate {rate}: {error}; write a rate as tc does, as in 20mbit or 1gbit"))
        })?;
        let draws = Rng::stream(seed, 0, "queue");
        let built = spec.build_with(rate, mtu, Nanos(0), draws);
        let queue = built.map_err(|error| errors::usage(py, format!("queue {queue}: {error}")))?;
        Ok(Queue { spec, queue, now: Nanos(0), next: 0, packets: Packets::default() })
    }

    /// Gives the queue a packet at `now`, in nanoseconds. It may drop this packet or another to make room:
    /// returns the packets that it dropped in this call, whose `dropped` is the reason.
    fn enqueue(&mut self, now: &Bound<'_, PyAny>, packet: Bound<'_, Packet>) -> PyResult<Vec<Py<Packet>>> {
        let (py, now) = (packet.py(), self.time(now)?);
        let cookie = self.next;
        let header = {
            let mut packet = packet.borrow_mut();
            packet.enter()?;
            let Packet { length, flow, dsfield, source, destination, .. } = *packet;
            let details =
                Details { source_hash: source, destination_hash: destination, ..Details::default() };
            self.packets.details.insert(cookie, details);
            Header { cookie, len: length, truesize: truesize(length), flow_hash: flow, dsfield }
        };
        self.next += 1;
        self.packets.held.insert(cookie, packet.unbind());
        let earlier = self.packets.dropped.len();
        self.queue.enqueue(now, header, &mut self.packets);
        Ok(told(py, self.packets.dropped.split_off(earlier)))
    }

    /// The next packet that may leave at `now`, in nanoseconds, or None. The queue may drop and mark packets
    /// in this call: `take_dropped` returns those that it dropped.
    fn dequeue(&mut self, now: &Bound<'_, PyAny>) -> PyResult<Option<Py<Packet>>> {
        let time = self.time(now)?;
        let Some(header) = self.queue.dequeue(time, &mut self.packets) else { return Ok(None) };
        let packet = self.packets.take(&header);
        if let Some(packet) = &packet {
            packet.bind(now.py()).borrow_mut().left(header.dsfield);
        }
        Ok(packet)
    }

    /// The packets that calls of `dequeue` dropped since it was last called.
    fn take_dropped(&mut self, py: Python<'_>) -> Vec<Py<Packet>> {
        told(py, std::mem::take(&mut self.packets.dropped))
    }

    /// The earliest time at which a packet may leave if no other arrives, in nanoseconds; None if it is
    /// empty.
    fn next_wake(&mut self, now: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
        let now = self.time(now)?;
        Ok(self.queue.next_wake(now).map(|at| at.0))
    }

    /// What it holds: (packets, bytes).
    #[getter]
    fn backlog(&self) -> (u32, u64) {
        let backlog = self.queue.backlog();
        (backlog.packets, backlog.bytes)
    }

    /// Its counters since the beginning, by tc's names: packets and bytes sent, drops, marks, and those of
    /// its kind.
    #[getter]
    fn stats(&self) -> BTreeMap<&'static str, u64> {
        let stats = self.queue.stats();
        let mut all = BTreeMap::from([
            ("packets", stats.packets),
            ("bytes", stats.bytes),
            ("drops", stats.drops),
            ("marks", stats.marks),
            ("overlimits", stats.overlimits),
        ]);
        self.queue.counters(&mut |name, value| {
            all.insert(name, value);
        });
        all
    }

    fn __len__(&self) -> usize {
        self.queue.backlog().packets as usize
    }

    fn __repr__(&self) -> String {
        format!("Queue(\"{}\")", self.spec)
    }
}

impl Queue {
    /// A time of the caller's.
    fn time(&mut self, now: &Bound<'_, PyAny>) -> PyResult<Nanos> {
        let now = Nanos(nanos("now", now)?);
        if now < self.now {
            let (now, before) = (now.0, self.now.0);
            return Err(PyValueError::new_err(format!(
                "now {now}: time goes back; the queue was at {before} ns"
            )));
        }
        self.now = now;
        Ok(now)
    }
}

/// The packets, each with the reason for which it was dropped.
fn told(py: Python<'_>, dropped: Vec<(Py<Packet>, Reason)>) -> Vec<Py<Packet>> {
    let tell = |(packet, reason): (Py<Packet>, Reason)| {
        packet.bind(py).borrow_mut().was_dropped(reason);
        packet
    };
    dropped.into_iter().map(tell).collect()
}

/// Whole nanoseconds.
pub(crate) fn nanos(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    let cure = "whole nanoseconds from 0 on, as 5_000_000 for 5 ms";
    if !value.is_instance_of::<PyInt>() || value.is_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err(format!("{name} {}: {cure}", value.repr()?)));
    }
    value.extract().map_err(|_| PyValueError::new_err(format!("{name} {value}: {cure}")))
}

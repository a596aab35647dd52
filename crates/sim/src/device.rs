//! The device of a link: one queue and ring, or several that share a line.

use goodqueue::port::MultiPort;
use goodqueue::{AnyQueue, Backlog, Departure, Dql, Nanos, Observer, Port, PortStats, Queue, Stats};

use crate::error::BuildError;
use crate::frame::Token;
use crate::scenario::PortSpec;

type AQueue = AnyQueue<Token>;

/// A device at work. Nearly all are single, and stand on the path of every packet: no box for them.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
pub(crate) enum Device {
    Single(Port<Token, AQueue>),
    Multi(Box<MultiPort<Token, AQueue>>),
}

impl Device {
    pub(crate) fn new(spec: &PortSpec, index: usize) -> Result<Device, BuildError> {
        let queue = || {
            let built = spec.queue.build(spec.rate, spec.frame, Nanos::ZERO);
            built.map_err(|error| BuildError::Queue { index, error })
        };
        if spec.lanes == 1 {
            return Ok(Device::Single(Port::new(queue()?, spec.ring, spec.line.clone())));
        }
        let queues = (0..spec.lanes).map(|_| queue()).collect::<Result<Vec<_>, _>>()?;
        let invalid = |why: &str| BuildError::Invalid { what: "link", index, why: why.into() };
        let ring = spec.ring.ok_or_else(|| invalid("several hardware queues need a ring each"))?;
        let port = MultiPort::new(queues, ring, spec.line.clone());
        Ok(Device::Multi(Box::new(port.ok_or_else(|| invalid("a device has 1 hardware queue or more"))?)))
    }

    #[inline]
    pub(crate) fn arrive(&mut self, now: Nanos, packet: Token, observer: &mut impl Observer<Token>) {
        match self {
            Device::Single(port) => port.arrive(now, packet, observer),
            Device::Multi(port) => port.arrive(now, packet, observer),
        };
    }

    #[inline]
    pub(crate) fn poll(
        &mut self,
        now: Nanos,
        observer: &mut impl Observer<Token>,
    ) -> Option<Departure<Token>> {
        match self {
            Device::Single(port) => port.poll(now, observer),
            Device::Multi(port) => port.poll(now, observer),
        }
    }

    #[inline]
    pub(crate) fn next_wake(&self) -> Option<Nanos> {
        match self {
            Device::Single(port) => port.next_wake(),
            Device::Multi(port) => port.next_wake(),
        }
    }

    pub(crate) fn pause(&mut self, now: Nanos) {
        match self {
            Device::Single(port) => port.pause(now),
            Device::Multi(port) => port.pause(now),
        }
    }

    pub(crate) fn resume(&mut self, now: Nanos, observer: &mut impl Observer<Token>) {
        match self {
            Device::Single(port) => port.resume(now, observer),
            Device::Multi(port) => port.resume(now),
        }
    }

    pub(crate) fn backlog(&self) -> Backlog {
        match self {
            Device::Single(port) => port.backlog(),
            Device::Multi(port) => port.backlog(),
        }
    }

    pub(crate) fn ring_backlog(&self) -> Backlog {
        match self {
            Device::Single(port) => port.ring_backlog(),
            Device::Multi(port) => port.ring_backlog(),
        }
    }

    pub(crate) fn line(&self) -> PortStats {
        match self {
            Device::Single(port) => port.stats(),
            Device::Multi(port) => port.stats(),
        }
    }

    /// The queue of each hardware queue.
    pub(crate) fn queues(&self) -> impl Iterator<Item = &AQueue> {
        (0_usize..).map_while(|lane| match self {
            Device::Single(port) => (lane == 0).then(|| port.queue()),
            Device::Multi(port) => port.queue(lane),
        })
    }

    /// Byte queue limits of the ring of a hardware queue.
    pub(crate) fn dql(&self, lane: usize) -> Option<&Dql> {
        match self {
            Device::Single(port) if lane == 0 => port.dql(),
            Device::Single(_) => None,
            Device::Multi(port) => port.dql(lane),
        }
    }

    /// What its queues have done together.
    pub(crate) fn stats(&self) -> Stats {
        self.queues().map(Queue::stats).fold(Stats::default(), |sum, stats| Stats {
            packets: sum.packets + stats.packets,
            bytes: sum.bytes + stats.bytes,
            drops: sum.drops + stats.drops,
            marks: sum.marks + stats.marks,
            overlimits: sum.overlimits + stats.overlimits,
        })
    }
}

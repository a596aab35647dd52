//! The device of a link: one queue and ring, or several that share a line.

use goodqueue::BuildError as QueueError;
use goodqueue::cake::Member;
use goodqueue::fifo::Limit;
use goodqueue::port::{Line, MultiPort};
use goodqueue::spec::QueueParams;
use goodqueue::{
    AnyQueue, Backlog, Departure, Inspect, Nanos, Owner, Port, PortStats, QueueSpec, Rng, Span, Stats,
};

use crate::error::BuildError;
use crate::fifo_line::FifoLine;
use crate::implementation::Implementation;
use crate::lanes::NEVER;
use crate::own_queue::{EitherQueue, Running};
use crate::scenario::{Discipline, PortSpec};
use crate::shaped::Shaped;
use crate::token::Token;
use crate::wifi::DeviceId;

/// The radio of a link on the air, and the devices at the two ends of the link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AirEnds {
    pub(crate) radio: u32,
    pub(crate) from: DeviceId,
    pub(crate) to: DeviceId,
    /// How much the sending host lets TCP keep there: [`crate::wifi::DeviceSpec::tx_sk_pacing_shift`].
    pub(crate) tx_sk_pacing_shift: u32,
}

/// The switch that a link leaves from, and the output that it uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SwitchPort {
    pub(crate) switch: u32,
    pub(crate) output: u32,
}

/// A device at work. Nearly all devices are single and every packet passes one, so they are not boxed.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
pub(crate) enum Device {
    Fifo(FifoLine),
    /// A queue of the catalogue.
    Single(Port<Token, AnyQueue<Token>>),
    /// A user-defined queue.
    Own(Box<Port<Token, Running>>),
    Shaped(Box<Port<Token, Shaped<EitherQueue>>>),
    Multi(Box<MultiPort<Token, EitherQueue>>),
    /// A link on the air. The radio has its counters.
    Air(AirEnds),
    /// An output of a switch. The switch has its counters.
    Switch(SwitchPort),
}

impl Device {
    /// `is_fed_back`: pause frames may stop the line. The queues take their random numbers from `draws`.
    pub(crate) fn new(
        spec: &PortSpec,
        index: usize,
        is_fed_back: bool,
        mut draws: Rng,
        implementation: Implementation,
    ) -> Result<Device, BuildError> {
        let invalid = |why: &str| BuildError::Invalid { what: "link", index, why: why.into() };
        // The lanes of a device share the rate of their `cake_mq`.
        let members = if spec.lanes > 1 { members(spec, &mut draws) } else { None };
        let mut queue = || {
            let draws = Rng::new(draws.next_u64());
            let built = match &spec.queue {
                Discipline::Queue(queue) => queue.build_with(spec.rate, spec.frame, Nanos::ZERO, draws),
                Discipline::Classes(tree) => tree.build_with(spec.frame, Nanos::ZERO, draws),
                Discipline::Own(own) => return Ok(EitherQueue::Own(Running::new(own, draws))),
            };
            built.map(EitherQueue::Catalogue).map_err(|error| BuildError::Queue { index, error })
        };
        if let Some(shaper) = spec.shaper {
            let shaped = Shaped::new(shaper, queue()?).ok_or_else(|| invalid("a shaper of rate zero"))?;
            return Ok(Device::Shaped(Box::new(Port::new(shaped, spec.ring, spec.line.clone()))));
        }
        if spec.lanes == 1 {
            let may_compute_ahead = implementation == Implementation::Fast && !is_fed_back;
            if let (EitherQueue::Catalogue(AnyQueue::Fifo(fifo)), Line::Rate(line), None, None, true) =
                (&queue()?, &spec.line, spec.ring, spec.pause, may_compute_ahead)
            {
                return Ok(Device::Fifo(FifoLine::new(fifo.limit(), places(fifo.limit()), *line)));
            }
            return Ok(match queue()? {
                EitherQueue::Catalogue(queue) => {
                    Device::Single(Port::new(queue, spec.ring, spec.line.clone()))
                }
                EitherQueue::Own(queue) => {
                    Device::Own(Box::new(Port::new(queue, spec.ring, spec.line.clone())))
                }
                EitherQueue::Member(_) => return Err(invalid("one lane has no group")),
            });
        }
        let queues = match members {
            Some(members) => members.map_err(|error| BuildError::Queue { index, error })?,
            None => (0..spec.lanes).map(|_| queue()).collect::<Result<Vec<_>, _>>()?,
        };
        let ring = spec.ring.ok_or_else(|| invalid("several hardware queues need a ring each"))?;
        let port = MultiPort::new(queues, ring, spec.line.clone());
        Ok(Device::Multi(Box::new(port.ok_or_else(|| invalid("a device has 1 hardware queue or more"))?)))
    }

    /// Takes a packet; [`Device::poll`] returns it. Not for [`Device::Fifo`], which computes ahead, nor for
    /// [`Device::Air`] and [`Device::Switch`]: the radio and the switch take their packets.
    // What the inline attributes of this file gain: docs/performance.md, "Inlining".
    #[inline(always)]
    pub(crate) fn arrive(&mut self, now: Nanos, packet: Token, observer: &mut impl Owner<Token>) {
        match self {
            Device::Fifo(_) | Device::Air(_) | Device::Switch(_) => {}
            Device::Single(port) => {
                port.arrive(now, packet, observer);
            }
            Device::Shaped(port) => {
                port.arrive(now, packet, observer);
            }
            Device::Multi(port) => {
                port.arrive(now, packet, observer);
            }
            Device::Own(port) => {
                port.arrive(now, packet, observer);
            }
        }
    }

    #[inline(always)]
    pub(crate) fn poll(&mut self, now: Nanos, observer: &mut impl Owner<Token>) -> Option<Departure<Token>> {
        match self {
            Device::Fifo(_) | Device::Air(_) | Device::Switch(_) => None,
            Device::Single(port) => port.poll(now, observer),
            Device::Shaped(port) => port.poll(now, observer),
            Device::Multi(port) => port.poll(now, observer),
            Device::Own(port) => port.poll(now, observer),
        }
    }

    pub(crate) fn next_wake(&self) -> Nanos {
        match self {
            Device::Fifo(_) | Device::Air(_) | Device::Switch(_) => None,
            Device::Single(port) => port.next_wake(),
            Device::Shaped(port) => port.next_wake(),
            Device::Multi(port) => port.next_wake(),
            Device::Own(port) => port.next_wake(),
        }
        .unwrap_or(NEVER)
    }

    pub(crate) fn set_paused(&mut self, now: Nanos, is_paused: bool, observer: &mut impl Owner<Token>) {
        match (self, is_paused) {
            (Device::Fifo(_) | Device::Air(_) | Device::Switch(_), _) => {}
            (Device::Single(port), true) => port.pause(now),
            (Device::Shaped(port), true) => port.pause(now),
            (Device::Own(port), true) => port.pause(now),
            (Device::Own(port), false) => port.resume(now, observer),
            (Device::Shaped(port), false) => port.resume(now, observer),
            (Device::Single(port), false) => port.resume(now, observer),
            (Device::Multi(port), true) => port.pause(now),
            (Device::Multi(port), false) => port.resume(now),
        }
    }

    /// Changes the queue's parameters if the device has a single queue, of the catalogue and without a shaper
    /// in front. `None` for any other device.
    pub(crate) fn configure(
        &mut self,
        now: Nanos,
        queue: &QueueSpec,
        on: goodqueue::Link,
        observer: &mut impl Owner<Token>,
    ) -> Option<Result<(), QueueError>> {
        let Device::Single(port) = self else { return None };
        let params = queue.params();
        Some(
            port.change_queue(now, observer, |queue, now, observer| {
                queue.configure(now, params, on, observer)
            }),
        )
    }

    /// Advances what is computed ahead to `now`, so that the methods below show that time.
    pub(crate) fn catch_up(&mut self, now: Nanos) {
        if let Device::Fifo(line) = self {
            line.advance(now);
        }
    }

    pub(crate) fn backlog(&self) -> Backlog {
        match self {
            Device::Fifo(line) => line.backlog(),
            Device::Air(_) | Device::Switch(_) => Backlog::default(),
            Device::Single(port) => port.backlog(),
            Device::Shaped(port) => port.backlog(),
            Device::Multi(port) => port.backlog(),
            Device::Own(port) => port.backlog(),
        }
    }

    pub(crate) fn ring_backlog(&self, now: Nanos) -> Backlog {
        match self {
            Device::Fifo(line) => line.on_line(now),
            Device::Air(_) | Device::Switch(_) => Backlog::default(),
            Device::Single(port) => port.ring_backlog(),
            Device::Shaped(port) => port.ring_backlog(),
            Device::Multi(port) => port.ring_backlog(),
            Device::Own(port) => port.ring_backlog(),
        }
    }

    pub(crate) fn line(&self, now: Nanos) -> PortStats {
        match self {
            Device::Fifo(line) => line.line(now),
            Device::Air(_) | Device::Switch(_) => PortStats::default(),
            Device::Single(port) => port.stats(),
            Device::Shaped(port) => port.stats(),
            Device::Multi(port) => port.stats(),
            Device::Own(port) => port.stats(),
        }
    }

    /// The time for which the line was busy by `now`; with a shaper, the shaper's busy time, if that is
    /// longer.
    pub(crate) fn busy_by(&self, now: Nanos) -> Span {
        match self {
            Device::Fifo(line) => line.busy_by(now),
            Device::Air(_) | Device::Switch(_) => Span::ZERO,
            Device::Single(port) => port.busy_by(now),
            Device::Shaped(port) => port.busy_by(now).max(port.queue().busy_by(now)),
            Device::Multi(port) => port.busy_by(now),
            Device::Own(port) => port.busy_by(now),
        }
    }

    /// The counters of each queue, with the names of `tc -s qdisc`.
    pub(crate) fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        match self {
            // A FIFO has one counter besides the common statistics.
            Device::Fifo(line) => each("drop_overlimit", line.stats().drops),
            Device::Single(port) => port.queue().counters(each),
            Device::Own(port) => port.queue().counters(each),
            Device::Shaped(port) => port.queue().queue().counters(each),
            Device::Multi(port) => lanes(port).for_each(|queue| queue.counters(each)),
            Device::Air(_) | Device::Switch(_) => {}
        }
    }

    /// Why a user-defined queue can no longer work.
    pub(crate) fn fault(&self) -> Option<String> {
        match self {
            Device::Own(port) => port.queue().fault(),
            Device::Shaped(port) => port.queue().queue().own().and_then(Running::fault),
            Device::Multi(port) => lanes(port).filter_map(EitherQueue::own).find_map(Running::fault),
            Device::Fifo(_) | Device::Single(_) | Device::Air(_) | Device::Switch(_) => None,
        }
    }

    /// Whether its queues release a packet at the departure time that its sender gave it.
    pub(crate) fn keeps_departures(&self) -> bool {
        match self {
            Device::Fifo(_) | Device::Own(_) | Device::Air(_) | Device::Switch(_) => false,
            Device::Single(port) => keeps_departures(port.queue()),
            Device::Shaped(port) => port.queue().queue().in_catalogue().is_some_and(keeps_departures),
            Device::Multi(port) => lanes(port).filter_map(EitherQueue::in_catalogue).any(keeps_departures),
        }
    }

    /// The statistics of all its queues, added up.
    pub(crate) fn stats(&self) -> Stats {
        match self {
            Device::Fifo(line) => line.stats(),
            Device::Single(port) => port.queue().stats(),
            Device::Own(port) => port.queue().stats(),
            Device::Shaped(port) => port.queue().stats(),
            Device::Multi(port) => lanes(port).map(Inspect::stats).sum(),
            Device::Air(_) | Device::Switch(_) => Stats::default(),
        }
    }
}

/// The instances of `cake_mq`, one for each lane; `None` for any other queue.
fn members(spec: &PortSpec, draws: &mut Rng) -> Option<Result<Vec<EitherQueue>, QueueError>> {
    let Discipline::Queue(queue) = &spec.queue else { return None };
    let QueueParams::CakeMq(setup) = queue.params() else { return None };
    let (link, draws) = (goodqueue::Link { rate: spec.rate, mtu: spec.frame }, Rng::new(draws.next_u64()));
    let members = Member::build(setup, spec.lanes, link, Nanos::ZERO, draws);
    Some(members.map(|all| all.into_iter().map(|one| EitherQueue::Member(Box::new(one))).collect()))
}

/// The queues of a device with several hardware queues.
fn lanes(port: &MultiPort<Token, EitherQueue>) -> impl Iterator<Item = &EitherQueue> {
    (0..).map_while(|lane| port.queue(lane))
}

/// Whether a queue releases a packet at the departure time that its sender gave it.
fn keeps_departures(queue: &AnyQueue<Token>) -> bool {
    match queue {
        AnyQueue::Fq(fq) => fq.params().pacing,
        AnyQueue::Wheel(_) => true,
        _ => false,
    }
}

/// The number of packets that a FIFO with this limit has storage for.
fn places(limit: Limit) -> usize {
    let packets = match limit {
        Limit::Packets(packets) => u64::from(packets),
        Limit::Bytes(bytes) => bytes / 40 + 1,
    };
    usize::try_from(packets.min(goodqueue::spec::MAX_PACKETS + 1)).unwrap_or(usize::MAX)
}

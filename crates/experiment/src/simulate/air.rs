//! Measures the radios of a simulation.

use goodqueue::{Histogram, Reason};
use goodqueue_report::wifi::{Radio as Recorded, SHARE_STEP_NS};
use goodqueue_sim::wifi::DeviceId;
use goodqueue_sim::{LinkCounters, Simulation};

use super::Job;
use crate::collect::{QueueMoment, Tally};
use crate::radio::{Fates, Measured, Moment, Owner, faults, places, signed};

/// A radio while it is measured.
struct Air {
    index: usize,
    measured: Measured,
    /// For each station, its node and the link to it.
    ends: Vec<(usize, usize)>,
}

/// All radios of a turn.
pub(super) struct Airs {
    airs: Vec<Air>,
    origin: i64,
    next: i64,
}

impl Airs {
    pub(super) fn new(job: &Job) -> Airs {
        let air = |(index, radio): (usize, &goodqueue_sim::Radio)| {
            let places: Vec<_> =
                places(&radio.spec).into_iter().filter(|place| ends(job, radio, place).is_some()).collect();
            let ends = places.iter().filter_map(|place| ends(job, radio, place)).collect();
            Air { index, measured: Measured::new(places, job.test.load), ends }
        };
        let airs: Vec<Air> = job.scenario.radios.iter().enumerate().map(air).collect();
        let next = if airs.is_empty() { i64::MAX } else { 0 };
        Airs { airs, origin: signed(job.scenario.origin.0), next }
    }

    /// When the next sample is due.
    pub(super) fn next(&self) -> i64 {
        self.next
    }

    /// Samples at `t`; the simulation has run to just before it.
    pub(super) fn look(&mut self, t: i64, simulation: &mut Simulation) {
        for air in &mut self.airs {
            air.look(t, self.origin, simulation);
        }
        if t == self.next {
            self.next += signed(SHARE_STEP_NS);
        }
    }

    /// Ends the measurement: returns the radios for the record, and their faults.
    pub(super) fn into_radios(self, job: &Job, simulation: &Simulation) -> (Vec<Recorded>, Vec<String>) {
        let mut wrong = Vec::new();
        let finish = |air: Air| {
            let (radio, spec) = (simulation.radio(air.index), &job.scenario.radios[air.index].spec);
            let owner = |number: usize| owner(job, air.ends[number].0);
            let recorded = air.measured.finish(format!("phy{}", air.index), spec, radio, owner);
            wrong.extend(faults(&recorded, radio, simulation.now()));
            recorded
        };
        let radios = self.airs.into_iter().map(finish).collect();
        (radios, wrong)
    }
}

/// The node of a station, and the link to it from its access point.
fn ends(
    job: &Job,
    radio: &goodqueue_sim::Radio,
    place: &crate::radio::RadioStation,
) -> Option<(usize, usize)> {
    let node = |device: DeviceId| radio.nodes.get(usize::from(device)).copied();
    let (from, node) = (node(place.access_point)?, node(place.station)?);
    let is_down = |&&link: &&usize| {
        job.scenario.links.get(link).is_some_and(|link| (link.from, link.to) == (from, node))
    };
    radio.links.iter().find(is_down).map(|&down| (node, down))
}

/// The kind of a node.
fn owner(job: &Job, node: usize) -> Owner {
    let own = |mut ends: Vec<(usize, usize)>, most: usize| -> Vec<u32> {
        ends.truncate(most);
        let at_node = |&(_, ends): &(u32, (usize, usize))| ends.0 == node || ends.1 == node;
        (0..).zip(ends).filter(at_node).map(|(number, _)| number).collect()
    };
    let flows = job.scenario.flows.iter().map(|flow| (flow.from, flow.to)).collect();
    let probes = job.scenario.probes.iter().map(|probe| (probe.from, probe.to)).collect();
    Owner {
        name: job.scenario.nodes.get(node).cloned().unwrap_or_default(),
        flows: own(flows, job.test.flows.len()),
        probes: own(probes, job.test.probes.len()),
    }
}

impl Air {
    fn look(&mut self, t: i64, origin: i64, simulation: &mut Simulation) {
        for event in &simulation.take_air(self.index) {
            self.measured.event(event, origin);
        }
        if self.measured.keeps_events(t) {
            simulation.keep_air(self.index);
        } else {
            simulation.forget_air(self.index);
        }
        let fates = |number: usize| {
            let link = simulation.link(self.ends[number].1);
            let counters = link.counters();
            Fates { drops: counters.drops.iter().sum(), marks: counters.marks }
        };
        let radio = simulation.radio(self.index);
        let moment = Moment::of(simulation.now(), radio, self.measured.places(), fates);
        self.measured.moment(t, moment);
    }
}

/// The device from which a link leaves over the air, and the counters of its links.
struct Sender<'a> {
    radio: &'a goodqueue_sim::wifi::Radio,
    device: DeviceId,
    counters: Vec<LinkCounters>,
    /// Packets and bytes that reached their receivers.
    received: (u64, u64),
}

impl<'a> Sender<'a> {
    /// `None` if the link does not belong to a radio.
    fn of(job: &Job, simulation: &'a Simulation, link: usize) -> Option<Sender<'a>> {
        let all = job.scenario.radios.iter().enumerate();
        let (index, spec) = all.into_iter().find(|(_, radio)| radio.links.contains(&link))?;
        let from = job.scenario.links.get(link)?.from;
        let device = DeviceId::try_from(spec.nodes.iter().position(|&node| node == from)?).ok()?;
        let radio = simulation.radio(index);
        let own = spec.links.iter().filter(|&&other| job.scenario.links[other].from == from);
        let counters = own.map(|&link| simulation.link(link).counters()).collect();
        let accounts =
            (0..spec.nodes.len()).filter_map(|to| radio.path_account(device, DeviceId::try_from(to).ok()?));
        let received = accounts.fold((0, 0), |sum, account| (sum.0 + account.frames, sum.1 + account.bytes));
        Some(Sender { radio, device, counters, received })
    }
}

/// The balance of the queues over the air from a device, each number counted independently. A packet given up
/// after failed attempts counts as sent, like a packet lost on a line.
pub(super) fn tally(job: &Job, simulation: &Simulation, link: usize) -> Option<Tally> {
    let Sender { radio, device, counters, .. } = Sender::of(job, simulation, link)?;
    let mut drops = [0; Reason::ALL.len()];
    for counters in &counters {
        drops.iter_mut().zip(counters.drops).for_each(|(sum, drops)| *sum += drops);
    }
    let arrived = counters.iter().map(|counters| counters.arrived).sum();
    let (sent, held) = (radio.sent_of(device), radio.held_of(device));
    Some(Tally { drops, arrived, sent, held, own: Vec::new() })
}

/// How long packets waited in the device from which a link leaves over the air.
pub(super) fn sojourn<'a>(job: &Job, simulation: &'a Simulation, link: usize) -> Option<&'a Histogram> {
    let Sender { radio, device, .. } = Sender::of(job, simulation, link)?;
    radio.sojourn(device)
}

/// Whether a link is on the air.
pub(super) fn is_on_air(job: &Job, link: usize) -> bool {
    job.scenario.radios.iter().any(|radio| radio.links.contains(&link))
}

/// The queues over the air from a device, at one moment: for the series of the queue towards station or
/// server.
pub(super) fn queue(job: &Job, simulation: &Simulation, link: usize) -> Option<QueueMoment> {
    let Sender { radio, device, counters, received: (packets, bytes) } = Sender::of(job, simulation, link)?;
    let (above, _) = radio.backlog(device);
    let stack = radio.radio_stats(device);
    let all = |drops: &[u64]| drops.iter().sum::<u64>();
    Some(QueueMoment {
        backlog_bytes: stack.map_or(above.bytes, |stats| stats.memory),
        backlog_packets: stack.map_or(above.packets, |stats| stats.backlog),
        ring_bytes: 0,
        sent_bytes: bytes,
        sent_packets: packets,
        drops: counters.iter().map(|c| all(&c.drops) - c.drops[Reason::Loss as usize]).sum(),
        marks: counters.iter().map(|c| c.marks).sum(),
        busy_ns: 0,
        busy_periods: 0,
    })
}

//! What is measured of radios: who has the air, in steps and in all, and for a short while every event on it.

use goodqueue::wifi::{Ac, Tid};
use goodqueue::{Nanos, Reason, Span};
use goodqueue_report::wifi::{
    AccessCategory, Accounting, AirEvent, AirEvents, AirKind, Radio as Recorded, SHARE_STEP_NS, Shares,
    Station, TidStats,
};
use goodqueue_sim::Simulation;
use goodqueue_sim::wifi::{self, DeviceId, PathAccount, Role};

use super::Job;
use super::knobs;

/// How long every event is kept.
const WINDOW_NS: i64 = 300_000_000;

/// A station of a radio.
#[derive(Clone, Copy, Debug)]
struct Place {
    access_point: DeviceId,
    station: DeviceId,
    /// Link from the access point.
    down: usize,
    node: usize,
}

/// What a station has used since the beginning.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    air: u64,
    down: PathAccount,
    up: PathAccount,
    drops: u64,
    marks: u64,
    tx_us: u64,
    rx_us: u64,
}

/// What was used at a moment.
#[derive(Clone, Debug, Default)]
struct Moment {
    at: u64,
    stations: Vec<Used>,
    collision: u64,
    overhead: u64,
    idle: u64,
}

/// A radio while it is measured.
struct Air {
    index: usize,
    places: Vec<Place>,
    /// The start of the load.
    first: Option<Moment>,
    last: Moment,
    shares: Shares,
    window: AirEvents,
}

/// All radios of a turn.
pub(super) struct Airs {
    airs: Vec<Air>,
    origin: i64,
    next: i64,
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

impl Airs {
    pub(super) fn new(job: &Job) -> Airs {
        let load = signed(job.test.load.0);
        let step = signed(SHARE_STEP_NS);
        let from = load / 2 / step * step;
        let window = AirEvents::new(from, WINDOW_NS.min(load - from).max(0).unsigned_abs());
        let air = |(index, radio): (usize, &goodqueue_sim::Radio)| {
            let places = places(job, radio);
            let shares = Shares {
                step_ns: SHARE_STEP_NS,
                stations: vec![Vec::new(); places.len()],
                ..Shares::default()
            };
            Air { index, places, first: None, last: Moment::default(), shares, window: window.clone() }
        };
        let airs: Vec<Air> = job.scenario.radios.iter().enumerate().map(air).collect();
        let next = if airs.is_empty() { i64::MAX } else { 0 };
        Airs { airs, origin: signed(job.scenario.origin.0), next }
    }

    /// When the next look is due.
    pub(super) fn next(&self) -> i64 {
        self.next
    }

    /// A look at `t`; the simulation stands just before it.
    pub(super) fn look(&mut self, t: i64, simulation: &mut Simulation) {
        for air in &mut self.airs {
            air.look(t, self.origin, simulation);
        }
        if t == self.next {
            self.next += signed(SHARE_STEP_NS);
        }
    }

    /// The end: the radios as they go into the record, and what is wrong with them.
    pub(super) fn into_radios(self, job: &Job, simulation: &Simulation) -> (Vec<Recorded>, Vec<String>) {
        let radios: Vec<Recorded> = self.airs.into_iter().map(|air| air.finish(job, simulation)).collect();
        let mut wrong = Vec::new();
        for (index, radio) in radios.iter().enumerate() {
            let missing = radio.unaccounted_ns();
            if missing != 0 {
                wrong.push(format!(
                    "{}: {missing} ns of the time are accounted for by nobody: an error of this program",
                    radio.name
                ));
            }
            if !simulation.radio(index).is_conserved(simulation.now()) {
                wrong.push(format!(
                    "{}: its packets or its time do not add up: an error of this program",
                    radio.name
                ));
            }
        }
        (radios, wrong)
    }
}

/// The stations of a radio, in the order of its devices.
fn places(job: &Job, radio: &goodqueue_sim::Radio) -> Vec<Place> {
    let place = |(device, spec): (usize, &wifi::DeviceSpec)| {
        let Role::Station { access_point, .. } = &spec.role else { return None };
        let (from, node) = (*radio.nodes.get(usize::from(*access_point))?, *radio.nodes.get(device)?);
        let is_down = |&&link: &&usize| {
            job.scenario.links.get(link).is_some_and(|link| (link.from, link.to) == (from, node))
        };
        let down = *radio.links.iter().find(is_down)?;
        Some(Place { access_point: *access_point, station: DeviceId::try_from(device).ok()?, down, node })
    };
    radio.spec.devices.iter().enumerate().filter_map(place).collect()
}

impl Place {
    fn used(&self, now: Nanos, radio: &wifi::Radio, simulation: &Simulation) -> Used {
        let (ap, station) = (self.access_point, self.station);
        let air = |from, to| radio.airtime(now, from, to).unwrap_or(Span::ZERO).0;
        let account = |from, to| radio.path_account(from, to).unwrap_or_default();
        let counters = simulation.link(self.down).counters();
        let scheduler = Ac::ALL.map(|ac| radio.airtime_stats(ap, station, ac));
        Used {
            air: air(ap, station) + air(station, ap),
            down: account(ap, station),
            up: account(station, ap),
            drops: counters.drops.iter().sum(),
            marks: counters.marks,
            tx_us: scheduler.iter().flatten().map(|stats| stats.tx_airtime).sum(),
            rx_us: scheduler.iter().flatten().map(|stats| stats.rx_airtime).sum(),
        }
    }
}

impl Air {
    fn moment(&self, simulation: &Simulation) -> Moment {
        let (now, radio) = (simulation.now(), simulation.radio(self.index));
        let account = radio.air_account(now);
        Moment {
            at: now.0,
            stations: self.places.iter().map(|place| place.used(now, radio, simulation)).collect(),
            collision: account.collisions.0,
            overhead: account.overhead.0,
            idle: account.idle.0,
        }
    }

    fn look(&mut self, t: i64, origin: i64, simulation: &mut Simulation) {
        let events = simulation.take_air(self.index);
        for event in &events {
            if let Some(event) = self.recorded(event, origin) {
                self.window.push(event);
            }
        }
        if t >= self.window.from_ns && t < self.window.to_ns() {
            simulation.keep_air(self.index);
        } else {
            simulation.forget_air(self.index);
        }
        let now = self.moment(simulation);
        if self.first.is_none() {
            self.first = Some(now.clone());
        } else if now.at - self.last.at == SHARE_STEP_NS {
            self.push_step(t, &now);
        }
        self.last = now;
    }

    fn push_step(&mut self, t: i64, now: &Moment) {
        let (shares, last) = (&mut self.shares, &self.last);
        shares.t_ns.push(t);
        for ((column, now), last) in shares.stations.iter_mut().zip(&now.stations).zip(&last.stations) {
            column.push(now.air - last.air);
        }
        shares.collision_ns.push(now.collision - last.collision);
        shares.overhead_ns.push(now.overhead - last.overhead);
        shares.other_ns.push(0);
        shares.idle_ns.push(now.idle - last.idle);
    }

    /// An event as the record has it.
    fn recorded(&self, event: &wifi::AirEvent, origin: i64) -> Option<AirEvent> {
        let is_of = |place: &Place| {
            let ends = (event.from, event.to);
            ends == (place.access_point, place.station) || ends == (place.station, place.access_point)
        };
        let place = self.places.iter().position(is_of)?;
        let kind = match event.kind {
            wifi::AirKind::Backoff => AirKind::Backoff,
            wifi::AirKind::Rts => AirKind::Rts,
            wifi::AirKind::Ack | wifi::AirKind::Bar => AirKind::Ack,
            wifi::AirKind::Collision => AirKind::Collision,
            wifi::AirKind::Data | wifi::AirKind::Lost if event.attempt > 0 => AirKind::Retry,
            wifi::AirKind::Data | wifi::AirKind::Lost => AirKind::Data,
        };
        let carries = matches!(kind, AirKind::Data | AirKind::Retry | AirKind::Collision);
        let data = |number: u32| if carries { number } else { 0 };
        Some(AirEvent {
            start_ns: signed(event.start.0) - origin,
            length_ns: event.end.since(event.start).0,
            station: u32::try_from(place).ok()?,
            uplink: event.from == self.places[place].station,
            kind,
            mpdus: data(event.mpdus),
            retried: data(event.retried),
            bytes: data(u32::try_from(event.bytes).unwrap_or(u32::MAX)),
        })
    }

    fn finish(self, job: &Job, simulation: &Simulation) -> Recorded {
        let radio = &job.scenario.radios[self.index];
        let first = self.first.unwrap_or_default();
        let before = |place: usize| first.stations.get(place).copied().unwrap_or_default();
        let stations = self.places.iter().zip(&self.last.stations).enumerate();
        let stations = stations
            .map(|(place, (at, used))| {
                station(job, simulation, (radio, self.index), at, &before(place), used)
            })
            .collect();
        Recorded {
            name: format!("phy{}", self.index),
            about: knobs::about(&radio.spec),
            knobs: knobs::of(&radio.spec),
            stations,
            accounting: Accounting {
                from_ns: 0,
                elapsed_ns: self.last.at - first.at,
                collision_ns: self.last.collision - first.collision,
                overhead_ns: self.last.overhead - first.overhead,
                other_ns: 0,
                idle_ns: self.last.idle - first.idle,
            },
            shares: self.shares,
            window: self.window,
        }
    }
}

/// A station as the record has it: what it used between two moments.
fn station(
    job: &Job,
    simulation: &Simulation,
    (spec, index): (&goodqueue_sim::Radio, usize),
    place: &Place,
    first: &Used,
    last: &Used,
) -> Station {
    let radio = simulation.radio(index);
    let (ap, device) = (place.access_point, place.station);
    let scheduler = Ac::ALL.map(|ac| (ac, radio.airtime_stats(ap, device, ac)));
    let deficits =
        scheduler.iter().filter_map(|(ac, stats)| Some((*ac, stats.filter(|s| s.last_active > 0)?)));
    let (rate, rate_bps, weight) = knobs::station(spec.spec.devices.get(usize::from(device)));
    let at_node = |ends: (usize, usize)| ends.0 == place.node || ends.1 == place.node;
    let own = |mut ends: Vec<(usize, usize)>, most: usize| -> Vec<u32> {
        ends.truncate(most);
        (0..).zip(ends).filter(|&(_, ends)| at_node(ends)).map(|(number, _)| number).collect()
    };
    let flows = job.scenario.flows.iter().map(|flow| (flow.from, flow.to)).collect();
    let probes = job.scenario.probes.iter().map(|probe| (probe.from, probe.to)).collect();
    let tids = (0..8).filter_map(|tid| tid_stats(radio, ap, device, tid)).collect();
    Station {
        name: job.scenario.nodes.get(place.node).cloned().unwrap_or_default(),
        rate,
        rate_bps,
        weight: radio.weight(ap, device).map_or(weight, u32::from),
        airtime_tx_us: last.tx_us - first.tx_us,
        airtime_rx_us: last.rx_us - first.rx_us,
        deficit_us: deficits.map(|(ac, stats)| (category(ac), stats.deficit.into())).collect(),
        air_ns: last.air - first.air,
        packets: last.down.frames + last.up.frames - first.down.frames - first.up.frames,
        delivered_bytes: last.down.bytes - first.down.bytes,
        aggregates: last.down.ppdus - first.down.ppdus,
        mpdus: last.down.mpdus - first.down.mpdus,
        retried_mpdus: last.down.retried - first.down.retried,
        drops: last.drops - first.drops,
        marks: last.marks - first.marks,
        tids,
        sojourn: None,
        flows: own(flows, job.test.flows.len()),
        probes: own(probes, job.test.probes.len()),
    }
}

pub(super) fn category(ac: Ac) -> AccessCategory {
    match ac {
        Ac::Vo => AccessCategory::Voice,
        Ac::Vi => AccessCategory::Video,
        Ac::Be => AccessCategory::BestEffort,
        Ac::Bk => AccessCategory::Background,
    }
}

fn tid_stats(radio: &wifi::Radio, ap: DeviceId, station: DeviceId, number: u8) -> Option<TidStats> {
    let tid = Tid::new(number)?;
    let stats = radio.txq_stats(ap, station, tid).filter(|stats| stats.had_packets)?;
    let small = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    Some(TidStats {
        tid: number,
        ac: category(tid.ac()),
        backlog_bytes: stats.backlog_bytes,
        backlog_packets: stats.backlog_packets,
        new_flows: stats.flows,
        drops: small(stats.codel_drops),
        marks: small(stats.ecn_marks),
        overlimit: stats.overlimit,
        collisions: stats.collisions,
        tx_bytes: stats.tx_bytes,
        tx_packets: small(stats.tx_packets),
    })
}

/// The queues over the air from a device, at one moment: for the series of the queue towards station or server.
pub(super) fn queue(job: &Job, simulation: &Simulation, link: usize) -> Option<crate::collect::QueueMoment> {
    let find = |(index, radio): (usize, &goodqueue_sim::Radio)| {
        radio.links.contains(&link).then_some((index, radio.clone()))
    };
    let (index, spec) = job.scenario.radios.iter().enumerate().find_map(find)?;
    let from = job.scenario.links.get(link)?.from;
    let device = DeviceId::try_from(spec.nodes.iter().position(|&node| node == from)?).ok()?;
    let radio = simulation.radio(index);
    let own = spec.links.iter().filter(|&&other| job.scenario.links[other].from == from);
    let counters: Vec<_> = own.map(|&link| simulation.link(link).counters()).collect();
    let accounts =
        (0..spec.nodes.len()).filter_map(|to| radio.path_account(device, DeviceId::try_from(to).ok()?));
    let (packets, bytes) =
        accounts.fold((0, 0), |sum, account| (sum.0 + account.frames, sum.1 + account.bytes));
    let (above, _) = radio.backlog(device);
    let stack = radio.radio_stats(device);
    let all = |drops: &[u64]| drops.iter().sum::<u64>();
    Some(crate::collect::QueueMoment {
        backlog_bytes: stack.map_or(above.bytes, |stats| stats.memory),
        backlog_packets: stack.map_or(above.packets, |stats| stats.backlog),
        ring_bytes: 0,
        sent_bytes: bytes,
        sent_packets: packets,
        drops: counters.iter().map(|c| all(&c.drops) - c.drops[Reason::Loss as usize]).sum(),
        marks: counters.iter().map(|c| c.marks).sum(),
        busy_periods: 0,
    })
}

//! The measurements of a radio, on either arm: each station's use of the air, in steps and in total, and for
//! a short time every event on the air. The code that runs the radio reports at moments of its choice; these
//! reports make the record.

mod knobs;
#[cfg(all(feature = "live", target_os = "linux"))]
pub(crate) mod snapshot;

use goodqueue::wifi::{Ac, Tid};
use goodqueue::{Nanos, Span};
use goodqueue_report::wifi::{
    Accounting, AirEvent, AirEvents, AirKind, Radio as Recorded, SHARE_STEP_NS, Shares, Station, TidStats,
};
use goodqueue_sim::wifi::{self, DeviceId, PathAccount, RadioSpec, Role};

/// How long every event is kept.
const WINDOW_NS: i64 = 300_000_000;

/// A station of a radio.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RadioStation {
    pub(crate) access_point: DeviceId,
    pub(crate) station: DeviceId,
}

/// Packets for a station that did not arrive as they were sent, since the beginning.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fates {
    pub(crate) drops: u64,
    pub(crate) marks: u64,
}

/// The parts of a run that belong to a station.
#[derive(Clone, Debug, Default)]
pub(crate) struct Owner {
    pub(crate) name: String,
    pub(crate) flows: Vec<u32>,
    pub(crate) probes: Vec<u32>,
}

/// The airtime that a station has used since the start.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    /// To it, and from it.
    air: [u64; 2],
    down: PathAccount,
    up: PathAccount,
    fates: Fates,
    tx_us: u64,
    rx_us: u64,
}

/// The airtime used at a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moment {
    at: u64,
    stations: Vec<Used>,
    collision: u64,
    overhead: u64,
    idle: u64,
}

/// A radio while it is measured.
pub(crate) struct Measured {
    places: Vec<RadioStation>,
    /// The start of the load.
    first: Option<Moment>,
    last: Moment,
    shares: Shares,
    window: AirEvents,
}

pub(crate) fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// The stations of a radio, in the order of its devices.
pub(crate) fn places(spec: &RadioSpec) -> Vec<RadioStation> {
    let place = |(device, spec): (usize, &wifi::DeviceSpec)| {
        let Role::Station { access_point, .. } = &spec.role else { return None };
        Some(RadioStation { access_point: *access_point, station: DeviceId::try_from(device).ok()? })
    };
    spec.devices.iter().enumerate().filter_map(place).collect()
}

impl RadioStation {
    fn used(&self, now: Nanos, radio: &wifi::Radio, fates: Fates) -> Used {
        let (ap, station) = (self.access_point, self.station);
        let air = |from, to| radio.airtime(now, from, to).unwrap_or(Span::ZERO).0;
        let account = |from, to| radio.path_account(from, to).unwrap_or_default();
        let scheduler = Ac::ALL.map(|ac| radio.airtime_stats(ap, station, ac));
        Used {
            air: [air(ap, station), air(station, ap)],
            down: account(ap, station),
            up: account(station, ap),
            fates,
            tx_us: scheduler.iter().flatten().map(|stats| stats.tx_airtime).sum(),
            rx_us: scheduler.iter().flatten().map(|stats| stats.rx_airtime).sum(),
        }
    }
}

impl Moment {
    /// The airtime used by `now`. All events of `radio` up to `now` have been handled, and none after it.
    pub(crate) fn of(
        now: Nanos,
        radio: &wifi::Radio,
        places: &[RadioStation],
        fates: impl Fn(usize) -> Fates,
    ) -> Moment {
        let account = radio.air_account(now);
        let used = |(number, place): (usize, &RadioStation)| place.used(now, radio, fates(number));
        Moment {
            at: now.0,
            stations: places.iter().enumerate().map(used).collect(),
            collision: account.collisions.0,
            overhead: account.overhead.0,
            idle: account.idle.0,
        }
    }
}

impl Used {
    /// The air in both directions.
    fn air(&self) -> u64 {
        self.air[0] + self.air[1]
    }
}

impl Measured {
    /// For a run with a load of this length.
    pub(crate) fn new(places: Vec<RadioStation>, load: Span) -> Measured {
        let (load, step) = (signed(load.0), signed(SHARE_STEP_NS));
        let from = load / 2 / step * step;
        let shares =
            Shares { step_ns: SHARE_STEP_NS, stations: vec![Vec::new(); places.len()], ..Shares::default() };
        let window = AirEvents::new(from, WINDOW_NS.min(load - from).max(0).unsigned_abs());
        Measured { places, first: None, last: Moment::default(), shares, window }
    }

    /// The stations.
    pub(crate) fn places(&self) -> &[RadioStation] {
        &self.places
    }

    /// Whether events from `t` on are kept.
    pub(crate) fn keeps_events(&self, t: i64) -> bool {
        t >= self.window.from_ns && t < self.window.to_ns()
    }

    /// Keeps an event, in the order of starts; `origin`: the start of the load in the radio's time.
    pub(crate) fn event(&mut self, event: &wifi::AirEvent, origin: i64) {
        if let Some(event) = self.recorded(event, origin) {
            self.window.push(event);
        }
    }

    /// Takes the airtime used by `t`: first at the start of the load, then step by step, then at its end.
    pub(crate) fn moment(&mut self, t: i64, now: Moment) {
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
            column.push(now.air() - last.air());
        }
        shares.collision_ns.push(now.collision - last.collision);
        shares.overhead_ns.push(now.overhead - last.overhead);
        shares.other_ns.push(0);
        shares.idle_ns.push(now.idle - last.idle);
    }

    /// An event in the form of the record.
    fn recorded(&self, event: &wifi::AirEvent, origin: i64) -> Option<AirEvent> {
        let is_of = |place: &RadioStation| {
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

    /// The radio for the record; `owner` returns a station's name and its parts of the run.
    pub(crate) fn finish(
        self,
        name: String,
        spec: &RadioSpec,
        radio: &wifi::Radio,
        owner: impl Fn(usize) -> Owner,
    ) -> Recorded {
        let first = self.first.unwrap_or_default();
        let before = |place: usize| first.stations.get(place).copied().unwrap_or_default();
        let stations = self.places.iter().zip(&self.last.stations).enumerate();
        let stations = stations
            .map(|(number, (place, used))| {
                let device = spec.devices.get(usize::from(place.station));
                station(radio, device, place, owner(number), [&before(number), used])
            })
            .collect();
        Recorded {
            name,
            about: knobs::about(spec),
            knobs: knobs::of(spec),
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

/// The faults of a radio at the end, `now`, and of its record.
pub(crate) fn faults(recorded: &Recorded, radio: &wifi::Radio, now: Nanos) -> Vec<String> {
    let (name, missing) = (&recorded.name, recorded.unaccounted_ns());
    let mut wrong = Vec::new();
    if missing != 0 {
        wrong.push(format!("{name}: {missing} ns are not accounted for: a bug in this program"));
    }
    if !radio.is_conserved(now) {
        wrong.push(format!("{name}: its packets or its time do not add up: a bug in this program"));
    }
    wrong
}

/// A station in the form of the record: its airtime between two moments.
fn station(
    radio: &wifi::Radio,
    spec: Option<&wifi::DeviceSpec>,
    place: &RadioStation,
    owner: Owner,
    [first, last]: [&Used; 2],
) -> Station {
    let (ap, device) = (place.access_point, place.station);
    let scheduler = Ac::ALL.map(|ac| (ac, radio.airtime_stats(ap, device, ac)));
    let deficits =
        scheduler.iter().filter_map(|(ac, stats)| Some((*ac, stats.filter(|s| s.last_active > 0)?)));
    let (rate, rate_bps, weight) = knobs::station(spec);
    let tids = (0..8).filter_map(|tid| tid_stats(radio, ap, device, tid)).collect();
    Station {
        name: owner.name,
        rate,
        rate_bps,
        weight: radio.weight(ap, device).map_or(weight, u32::from),
        airtime_tx_us: last.tx_us - first.tx_us,
        airtime_rx_us: last.rx_us - first.rx_us,
        deficit_us: deficits.map(|(ac, stats)| (knobs::category(ac), stats.deficit.into())).collect(),
        air_ns: last.air() - first.air(),
        packets: last.down.frames + last.up.frames - first.down.frames - first.up.frames,
        delivered_bytes: last.down.bytes - first.down.bytes,
        aggregates: last.down.ppdus - first.down.ppdus,
        mpdus: last.down.mpdus - first.down.mpdus,
        retried_mpdus: last.down.retried - first.down.retried,
        drops: last.fates.drops - first.fates.drops,
        marks: last.fates.marks - first.fates.marks,
        tids,
        flows: owner.flows,
        probes: owner.probes,
    }
}

fn tid_stats(radio: &wifi::Radio, ap: DeviceId, station: DeviceId, number: u8) -> Option<TidStats> {
    let tid = Tid::new(number)?;
    let stats = radio.txq_stats(ap, station, tid).filter(|stats| stats.had_packets)?;
    let small = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    Some(TidStats {
        tid: number,
        ac: knobs::category(tid.ac()),
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

//! The simulator's radio as the medium of the live engine: real frames, logical time. The radio's time begins
//! with the engine's. Its reports go to the worker's measuring thread. Its access point is device 0, and
//! server host `n` of the lab is station `n`, device `n + 1`. `to_stations` says whether the lab's server
//! side is the stations or the network behind the access point.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;

use goodqueue::Direction;
use goodqueue::{Backlog, Nanos, Packet, Reason, Span};
use goodqueue_report::wifi::SHARE_STEP_NS;
use goodqueue_sim::wifi::{AirEvent, DeviceId, Frame, Radio, Sink, tid_of};
use goodqueue_wire::{self as wire, Exit, Medium};

use crate::radio::{Fates, Moment, RadioStation};

/// The access point.
const ACCESS_POINT: DeviceId = 0;

/// The radio's messages. Times are the radio's, except for the first value of a moment.
pub(super) enum RadioMessage {
    /// The use of the air since the last message.
    Events(Vec<AirEvent>),
    /// The airtime used until then, with the time in nanoseconds from the start of the load.
    Moment(u64, Moment),
    /// The engine has ended: the packets offered to each device, and their fates.
    End(Box<Radio>, Vec<Offered>, Nanos),
}

/// The packets offered to a device, and the drops of its queues.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Offered {
    pub(super) arrived: u64,
    /// By index of the reason in [`Reason::ALL`].
    pub(super) drops: [u64; Reason::ALL.len()],
    pub(super) marks: u64,
}

/// When the load starts, on the engine's clock; zero while it is not known.
#[derive(Clone, Debug, Default)]
pub(super) struct LoadStart(Arc<AtomicU64>);

impl LoadStart {
    pub(super) fn set(&self, at: Nanos) {
        self.0.store(at.0, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> Option<Nanos> {
        Some(Nanos(self.0.load(Ordering::Relaxed))).filter(|at| at.0 > 0)
    }
}

/// A radio under a live engine.
pub(super) struct OnAir {
    pub(super) radio: Radio,
    /// The stations, in the order of the lab's hosts.
    pub(super) places: Vec<RadioStation>,
    /// When the radio's time began.
    pub(super) origin: Nanos,
    /// The direction in which packets go to stations.
    pub(super) to_stations: Direction,
    pub(super) load_start: LoadStart,
    /// The length of the load, and of its first part, in which waiting times do not count.
    pub(super) load: Span,
    pub(super) ramp: Span,
    pub(super) listener: Sender<RadioMessage>,
    /// Its counters.
    pub(super) notes: Notes,
}

/// The counters of a radio below a live engine.
#[derive(Default)]
pub(super) struct Notes {
    events: Vec<AirEvent>,
    /// The fates of packets for each station.
    fates: Vec<Fates>,
    /// Time of the next moment, from the start of the load.
    next: u64,
    /// By device.
    offered: Vec<Offered>,
    /// Whether the radio measures how long packets wait.
    measures: bool,
}

impl Notes {
    /// The counters of a device.
    fn offered(&mut self, device: DeviceId) -> &mut Offered {
        let device = usize::from(device);
        if self.offered.len() <= device {
            self.offered.resize_with(device + 1, Offered::default);
        }
        &mut self.offered[device]
    }
}

/// Passes packets from the radio to the engine.
struct Landing<'a> {
    exit: &'a mut dyn Exit,
    origin: Nanos,
    notes: &'a mut Notes,
}

impl Landing<'_> {
    /// The fates of packets from the access point to a station; `None` if `frame` is not such a packet.
    fn fates(&mut self, frame: &Frame) -> Option<&mut Fates> {
        let station = usize::from(frame.to.checked_sub(1)?);
        if self.notes.fates.len() <= station {
            self.notes.fates.resize_with(station + 1, Fates::default);
        }
        self.notes.fates.get_mut(station)
    }
}

impl Sink for Landing<'_> {
    fn delivered(&mut self, now: Nanos, _: DeviceId, frame: Frame) {
        self.exit.leave(self.origin + Span(now.0), frame.handle.into(), frame.dsfield);
    }

    fn dropped(&mut self, _: Nanos, at: DeviceId, frame: Frame, reason: Reason) {
        self.notes.offered(at).drops[reason as usize] += 1;
        if let Some(fates) = self.fates(&frame) {
            fates.drops += 1;
        }
        self.exit.drop(frame.handle.into(), reason);
    }

    fn marked(&mut self, _: Nanos, from: DeviceId, frame: &Frame, _: Reason) {
        self.notes.offered(from).marks += 1;
        if let Some(fates) = self.fates(frame) {
            fates.marks += 1;
        }
        self.exit.mark(frame.handle.into());
    }

    fn air(&mut self, event: &AirEvent) {
        self.notes.events.push(*event);
    }
}

impl OnAir {
    fn with_radio(&mut self, exit: &mut dyn Exit, act: impl FnOnce(&mut Radio, &mut Landing<'_>)) {
        let OnAir { radio, origin, notes, .. } = self;
        act(radio, &mut Landing { exit, origin: *origin, notes });
    }

    /// Reports all moments up to `now`. Nothing at `now` or later has been handled yet.
    fn tell_moments(&mut self, now: Nanos) {
        let Some(start) = self.load_start.get() else { return };
        if !std::mem::replace(&mut self.notes.measures, true) {
            let [from, to] = [self.ramp, self.load].map(|at| self.time(start + at));
            (0..=self.stations()).for_each(|device| self.radio.measure_sojourn(device, from, to));
        }
        while self.notes.next <= self.load.0 && start + Span(self.notes.next) <= now {
            let at = self.time(start + Span(self.notes.next));
            let fates = |station: usize| self.notes.fates.get(station).copied().unwrap_or_default();
            let moment = Moment::of(at, &self.radio, &self.places, fates);
            // A listener that is gone needs no more messages. The same applies below.
            let _ = self.listener.send(RadioMessage::Moment(self.notes.next, moment));
            let step = self.notes.next.saturating_add(SHARE_STEP_NS);
            self.notes.next = if self.notes.next < self.load.0 { step.min(self.load.0) } else { u64::MAX };
        }
    }

    /// The devices that send on `way`.
    fn senders(&self, way: Direction) -> std::ops::Range<DeviceId> {
        if way == self.to_stations { ACCESS_POINT..1 } else { 1..self.stations() + 1 }
    }

    fn stations(&self) -> DeviceId {
        DeviceId::try_from(self.places.len()).unwrap_or(DeviceId::MAX - 1)
    }

    /// The radio's time.
    fn time(&self, now: Nanos) -> Nanos {
        Nanos(now.since(self.origin).0)
    }
}

fn sum(one: Backlog, other: Backlog) -> Backlog {
    Backlog { packets: one.packets + other.packets, bytes: one.bytes + other.bytes }
}

/// The backlog in the queues of a device, and in its driver and hardware below, where only the number of
/// packets is known.
pub(super) fn backlog(radio: &Radio, device: DeviceId) -> [Backlog; 2] {
    let (above, packets) = radio.backlog(device);
    let above = radio
        .radio_stats(device)
        .map_or(above, |stats| Backlog { packets: stats.backlog, bytes: stats.memory });
    [above, Backlog { packets, bytes: 0 }]
}

impl Medium for OnAir {
    fn arrive(&mut self, now: Nanos, way: Direction, host: u8, frame: wire::Frame, exit: &mut dyn Exit) {
        let station = DeviceId::from(host) + 1;
        let (from, to) =
            if way == self.to_stations { (ACCESS_POINT, station) } else { (station, ACCESS_POINT) };
        let frame = Frame {
            // The engine's cookies are numbers of its frames, which are 32 bits.
            handle: u32::try_from(frame.cookie).unwrap_or(u32::MAX),
            len: frame.len,
            flow_hash: frame.flow_hash(),
            to,
            dsfield: frame.dsfield,
            tid: tid_of(frame.dsfield),
            entered: Nanos::ZERO,
        };
        self.notes.offered(from).arrived += 1;
        self.tell_moments(now);
        let now = self.time(now);
        self.with_radio(exit, |radio, landing| radio.offer(now, from, frame, landing));
    }

    fn next_event(&self) -> Option<Nanos> {
        self.radio.next_event().map(|at| self.origin + Span(at.0))
    }

    fn advance(&mut self, now: Nanos, exit: &mut dyn Exit) {
        self.tell_moments(now);
        let now = self.time(now);
        self.with_radio(exit, |radio, landing| radio.advance(now, landing));
    }

    fn backlog(&self, way: Direction) -> [Backlog; 2] {
        let devices = self.senders(way).map(|device| backlog(&self.radio, device));
        devices
            .fold(Default::default(), |[above, below], device| [sum(above, device[0]), sum(below, device[1])])
    }

    fn look(&mut self, _now: Nanos) {
        if !self.notes.events.is_empty() {
            let events = std::mem::take(&mut self.notes.events);
            let _ = self.listener.send(RadioMessage::Events(events));
        }
    }

    fn finish(mut self, now: Nanos) {
        self.tell_moments(now);
        self.look(now);
        let now = self.time(now);
        let _ = self.listener.send(RadioMessage::End(Box::new(self.radio), self.notes.offered, now));
    }
}

#[cfg(test)]
#[path = "on_air_tests.rs"]
mod tests;

//! The radio: a channel and its devices, as a state machine over packet handles.
//!
//! It needs no clock and no event loop. [`Radio::offer`] hands a packet to a device. [`Radio::next_event`]
//! says when [`Radio::advance`] must be called. Its output goes to a [`Sink`].

use std::collections::{BTreeSet, VecDeque};

use goodqueue::wifi::policy::{Groups, PolicyTimer};
use goodqueue::wifi::{
    Ac, Admission, AdmissionStats, AirtimeStats, Capacity, InterfaceId, RadioStats, StationId, Tid, TxStack,
    TxqId, TxqStats, WifiParams,
};
use goodqueue::{AnyQueue, Histogram, Nanos, Observer, PacketInfo, Queue, Rate, Reason, Rng, Span};

use super::device::{Burst, Device, Path, PathAccount, PathId, TailDrop};
use super::edca::{Band, Contention};
use super::frame::{DeviceId, Frame, Sink, Skb};
use super::htt::Htt;
use super::ideas::{DqlScope, Ideas, new_dql};
use super::on_air::OnAir;
use super::rates::RateControl;
use super::spec::{DeviceSpec, HttSpec, Lower, PeerSpec, RadioSpec, Role, Upper};
use crate::sojourn::Sojourn;

/// An error in a radio's specification.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("device {device}: {why}")]
pub struct RadioError {
    /// Its place in the list of devices.
    pub device: usize,
    /// What is wrong.
    pub why: String,
}

/// What the air was used for since the beginning. The four times and the airtime of all paths add up to the
/// time that has passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AirAccount {
    /// No device transmitted, and none wanted to.
    pub idle: Span,
    /// No device transmitted, but at least one wanted to: interframe spaces and backoff.
    pub overhead: Span,
    /// Several devices transmitted at once.
    pub collisions: Span,
    /// The exchange of one path that has not ended. [`Radio::airtime`] counts it for its path.
    pub under_way: Span,
    /// How often several devices transmitted at once.
    pub collision_count: u64,
}

/// Packets since the beginning. Every packet offered was delivered, was dropped, or is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketAccount {
    /// Offered.
    pub offered: u64,
    /// Delivered.
    pub delivered: u64,
    /// Dropped by queues, or after too many retries.
    pub dropped: u64,
}

/// A channel at work.
#[derive(Debug)]
pub struct Radio {
    pub(super) band: Band,
    pub(super) devices: Vec<Device>,
    pub(super) paths: Vec<Path>,
    /// The path to each station from its access point.
    pub(super) downlinks: Vec<Option<PathId>>,
    pub(super) contention: Contention,
    /// Whether the strongest of several PPDUs may be received.
    pub(super) captures: bool,
    /// Who transmits.
    pub(super) winners: Vec<u32>,
    pub(super) on_air: Option<OnAir>,
    /// Which MPDUs of the PPDU on the air are received.
    pub(super) received: Vec<bool>,
    /// When the last exchange ended.
    pub(super) free_since: Nanos,
    pub(super) air: AirAccount,
    pub(super) packets: PacketAccount,
    /// Receivers that wait for a hole to be filled.
    pub(super) reordering: BTreeSet<(Nanos, PathId, u8)>,
    /// The policies that set the weights of an access point's stations.
    pub(super) policies: Vec<(DeviceId, PolicyTimer<Groups>)>,
    /// Empty lists of MPDUs, for reuse.
    pub(super) spare: Vec<Vec<super::block_ack::Mpdu>>,
}

/// Passes what a queue drops or marks to the sink.
pub(super) struct Through<'a, S> {
    pub(super) sink: &'a mut S,
    pub(super) from: DeviceId,
    pub(super) dropped: &'a mut u64,
}

impl<S: Sink> Observer<Frame> for Through<'_, S> {
    fn dropped(&mut self, now: Nanos, packet: Frame, reason: Reason) {
        *self.dropped += 1;
        self.sink.dropped(now, self.from, packet, reason);
    }
    fn marked(&mut self, now: Nanos, packet: &Frame, reason: Reason) {
        self.sink.marked(now, self.from, packet, reason);
    }
}

impl<S: Sink> PacketInfo<Frame> for Through<'_, S> {}

impl<S: Sink> Observer<Skb> for Through<'_, S> {
    fn dropped(&mut self, now: Nanos, packet: Skb, reason: Reason) {
        Observer::<Frame>::dropped(self, now, packet.0, reason);
    }
    fn marked(&mut self, now: Nanos, packet: &Skb, reason: Reason) {
        Observer::<Frame>::marked(self, now, &packet.0, reason);
    }
}

impl<S: Sink> PacketInfo<Skb> for Through<'_, S> {}

/// The transmit stack of device `own`, with places for its stations and packets.
fn stack_of(
    all: &RadioSpec,
    spec: &DeviceSpec,
    own: DeviceId,
    params: WifiParams,
) -> Result<Box<TxStack<Skb>>, String> {
    let is_own =
        |other: &&DeviceSpec| matches!(other.role, Role::Station { access_point, .. } if access_point == own);
    let stations = match spec.role {
        Role::AccessPoint => all.devices.iter().filter(is_own).count().max(1) as u32,
        Role::Station { .. } => 1,
    };
    let capacity = Capacity { stations, packets: params.limit.max(1), ..Capacity::default() };
    Ok(Box::new(TxStack::new(params, capacity).map_err(|error| error.to_string())?))
}

/// The rate that queues sized in time assume for the air.
const NOMINAL: Rate = Rate(100_000_000);

impl Radio {
    /// Builds the radio of `spec`. `seed` and `number`, its place among all radios, select its random
    /// streams.
    ///
    /// # Errors
    /// What is wrong with a device.
    pub fn new(spec: &RadioSpec, seed: u64, number: u64) -> Result<Radio, RadioError> {
        let node = number << 32;
        let mut radio = Radio {
            band: spec.band,
            devices: Vec::with_capacity(spec.devices.len()),
            paths: Vec::new(),
            downlinks: vec![None; spec.devices.len()],
            contention: Contention::new(spec.band, Rng::stream(seed, node, "backoff")),
            captures: spec.capture,
            winners: Vec::new(),
            on_air: None,
            received: Vec::new(),
            free_since: Nanos::ZERO,
            air: AirAccount::default(),
            packets: PacketAccount::default(),
            reordering: BTreeSet::new(),
            policies: Vec::new(),
            spare: Vec::new(),
        };
        for (place, device) in spec.devices.iter().enumerate() {
            let added = radio.add(spec, device, place, seed, node);
            added.map_err(|why| RadioError { device: place, why })?;
        }
        radio.associate(spec)?;
        radio.add_policies(spec)?;
        Ok(radio)
    }

    fn add(
        &mut self,
        all: &RadioSpec,
        spec: &DeviceSpec,
        place: usize,
        seed: u64,
        node: u64,
    ) -> Result<(), String> {
        let own = DeviceId::try_from(place).map_err(|_| "a radio has at most 65536 devices".to_string())?;
        if spec.driver.max_frames == 0 || spec.driver.max_frames > 256 {
            return Err(format!("{} MPDUs in a PPDU: there are 1 to 256", spec.driver.max_frames));
        }
        if let Some(edca) = spec.edca.iter().find(|edca| !(1..=15).contains(&edca.aifsn)) {
            return Err(format!("AIFSN {}: must be 1 to 15", edca.aifsn));
        }
        HttSpec::check(&spec.driver)?;
        Ideas::check(&spec.driver)?;
        let ideas = spec.driver.ideas;
        let (qdisc, stack) = match &spec.driver.upper {
            Upper::Qdisc(_) if spec.driver.lower == Lower::Txq => {
                return Err("ath9k with intermediate queues needs mac80211's".into());
            }
            Upper::Qdisc(qdisc) => {
                qdisc
                    .build::<Frame>(NOMINAL, goodqueue::ETHERNET_FRAME, Nanos::ZERO)
                    .map_err(|error| error.to_string())?;
                (Some(*qdisc), None)
            }
            Upper::TailDrop { .. } if !spec.driver.lower.is_firmware() => {
                return Err("queues without flows need firmware that aggregates".into());
            }
            Upper::TailDrop { .. } => (None, None),
            Upper::Mac80211(params) => (None, Some(stack_of(all, spec, own, *params)?)),
        };
        self.contention.add_device(&spec.edca);
        let admission = ideas.admission.map(Admission::new).transpose().map_err(|error| error.to_string())?;
        let mut device = Device {
            categories: Default::default(),
            qdisc,
            stack,
            taildrop: match spec.driver.upper {
                Upper::TailDrop { total, station } => Some(TailDrop::new(total, station)),
                Upper::Qdisc(_) | Upper::Mac80211(_) => None,
            },
            stations: Vec::new(),
            lower: spec.driver.lower,
            max_time: spec.driver.max_time,
            max_frames: spec.driver.max_frames,
            keeps_turn: spec.driver.keeps_turn,
            rts_threshold: spec.rts_threshold,
            protection: spec.protection,
            htt: Htt::new(spec.driver.htt),
            ideas,
            admission: admission.map(Box::new),
            over: Vec::new(),
            uplink: None,
            sent: 0,
            sojourn: None,
        };
        if let Role::Station { access_point, down, up, .. } = &spec.role {
            let peer = all.devices.get(usize::from(*access_point));
            if !peer.is_some_and(|peer| matches!(peer.role, Role::AccessPoint)) {
                return Err(format!("device {access_point} is no access point"));
            }
            self.downlinks[place] = Some(self.add_path([*access_point, own], down, seed, node)?);
            device.uplink = Some(self.add_path([own, *access_point], up, seed, node)?);
        }
        if ideas.dql == Some(DqlScope::Hardware) {
            device.categories.iter_mut().for_each(|category| category.dql = Some(new_dql()));
        }
        self.devices.push(device);
        Ok(())
    }

    /// Adds the stations to the transmit stacks, once all devices exist.
    fn associate(&mut self, spec: &RadioSpec) -> Result<(), RadioError> {
        for (number, path) in (0..).zip(&mut self.paths) {
            let from = &mut self.devices[usize::from(path.from)];
            path.station = StationId(from.stations.len() as u32);
            from.stations.push(number);
            from.htt.iter_mut().for_each(|htt| htt.add_station());
            path.dqls = (from.ideas.dql == Some(DqlScope::Station)).then(|| Box::new([new_dql(); 4]));
            let Some(stack) = from.stack.as_deref_mut() else { continue };
            let weight = match &spec.devices[usize::from(path.to)].role {
                Role::Station { weight, .. } => *weight,
                Role::AccessPoint => 256,
            };
            stack
                .add_station(path.station, InterfaceId(0))
                .and_then(|()| stack.set_weight(path.station, weight.into()))
                .map_err(|error| RadioError { device: path.to.into(), why: error.to_string() })?;
        }
        Ok(())
    }

    fn add_policies(&mut self, spec: &RadioSpec) -> Result<(), RadioError> {
        for (place, policy) in
            spec.devices.iter().enumerate().filter_map(|(at, d)| Some((at, d.policy.as_ref()?)))
        {
            let wrong = |why: String| RadioError { device: place, why };
            let own = DeviceId::try_from(place).map_err(|error| wrong(error.to_string()))?;
            let station = |device| Some(self.paths[self.path(own, device)? as usize].station);
            let groups = policy.build(station).map_err(wrong)?;
            let Some(stack) = self.devices[place].stack.as_deref() else {
                return Err(wrong("weights are mac80211's: a queue discipline has none".into()));
            };
            let timer = PolicyTimer::new(groups, policy.interval, Nanos::ZERO, stack);
            self.policies.push((own, timer));
        }
        Ok(())
    }

    /// Recomputes the weights if it is time.
    fn weigh(&mut self, now: Nanos) {
        for (device, timer) in &mut self.policies {
            if let Some(stack) = self.devices[usize::from(*device)].stack.as_deref_mut() {
                timer.poll(now, stack);
            }
        }
    }

    fn add_path(
        &mut self,
        ends: [DeviceId; 2],
        spec: &PeerSpec,
        seed: u64,
        node: u64,
    ) -> Result<PathId, String> {
        if !spec.errors.is_sound() {
            return Err("errors: a share is between 0 and 1, a signal-to-noise ratio a number".into());
        }
        if !(1..=256).contains(&spec.aggregation.window) {
            return Err(format!("block ack window {}: must be 1 to 256", spec.aggregation.window));
        }
        let stream = |purpose| Rng::stream(seed, node | self.paths.len() as u64, purpose);
        let rate =
            RateControl::new(&spec.rate, stream("rate samples")).ok_or("rate control without rates")?;
        let rng = stream("mpdu errors");
        let mut path = Path::new(ends, rate, spec.aggregation, rng);
        path.errors = spec.errors;
        self.paths.push(path);
        Ok((self.paths.len() - 1) as PathId)
    }

    /// The path from one device to another; `None` if they are not associated.
    pub(super) fn path(&self, from: DeviceId, to: DeviceId) -> Option<PathId> {
        let path = match self.devices.get(usize::from(from))?.uplink {
            Some(uplink) => uplink,
            None => (*self.downlinks.get(usize::from(to))?)?,
        };
        let ends = &self.paths[path as usize];
        (ends.from == from && ends.to == to).then_some(path)
    }

    /// Hands `from` a packet for `frame.to`. All events up to `now` must have been handled. A packet for a
    /// device that `from` is not associated with is dropped ([`Reason::Loss`]). A super-packet is cut here if
    /// there is no queue discipline, otherwise when it leaves that queue.
    pub fn offer(&mut self, now: Nanos, from: DeviceId, frame: Frame, sink: &mut impl Sink) {
        let mut cut = VecDeque::new();
        if self.devices.get(usize::from(from)).is_some_and(|device| device.qdisc.is_none()) {
            sink.cut(&frame, &mut cut);
        }
        if cut.is_empty() {
            return self.offer_packet(now, from, frame, sink);
        }
        for segment in cut {
            self.offer_packet(now, from, segment, sink);
        }
    }

    fn offer_packet(&mut self, now: Nanos, from: DeviceId, mut frame: Frame, sink: &mut impl Sink) {
        self.packets.offered += 1;
        frame.entered = now;
        let Some((path, tid)) = self.path(from, frame.to).zip(Tid::new(frame.tid)) else {
            self.packets.dropped += 1;
            self.devices.get_mut(usize::from(from)).into_iter().for_each(|device| device.sent += 1);
            return sink.dropped(now, from, frame, Reason::Loss);
        };
        let ac = tid.ac();
        let device = &mut self.devices[usize::from(from)];
        let mut through = Through { sink, from, dropped: &mut self.packets.dropped };
        if let Some(stack) = &mut device.stack {
            let txq = TxqId::new(self.paths[path as usize].station, tid);
            let queued = match &mut device.admission {
                Some(admission) => admission.admit(now, stack, txq, frame.flow_hash),
                None => txq,
            };
            stack.enqueue(now, queued, Skb(frame), &mut through);
            return self.fill(now, from, queued.ac(), sink);
        }
        if device.taildrop.is_some() {
            self.offer_fifo(now, from, path, ac, frame, sink);
            return self.fill(now, from, ac, sink);
        }
        let category = &mut device.categories[ac as usize];
        if category.qdisc.is_none() {
            category.qdisc = device
                .qdisc
                .and_then(|spec| spec.build(NOMINAL, goodqueue::ETHERNET_FRAME, now).ok())
                .map(Box::new);
        }
        let Some(qdisc) = category.qdisc.as_deref_mut() else { return };
        qdisc.enqueue(now, frame, &mut through);
        self.fill(now, from, ac, sink);
    }

    /// When [`Radio::advance`] must be called if nothing is offered.
    #[must_use]
    pub fn next_event(&self) -> Option<Nanos> {
        let air = match &self.on_air {
            Some(on_air) => Some(on_air.fill_at.unwrap_or(on_air.end)),
            None => self.contention.next(),
        };
        let sooner = |next: Option<Nanos>, at: Nanos| Some(next.map_or(at, |next| next.min(at)));
        let next = self.reordering.first().map_or(air, |&(at, ..)| sooner(air, at));
        self.policies.iter().fold(next, |next, (_, timer)| sooner(next, timer.next_update()))
    }

    /// Handles all events up to and including `now`.
    pub fn advance(&mut self, now: Nanos, sink: &mut impl Sink) {
        while let Some(at) = self.next_event().filter(|&at| at <= now) {
            if self.reordering.first().is_some_and(|&(due, ..)| due == at) {
                self.give_up_hole(at, sink);
            } else if self.policies.iter().any(|(_, timer)| timer.next_update() == at) {
                self.weigh(at);
            } else if self.on_air.as_ref().is_some_and(|on_air| on_air.fill_at.is_some()) {
                self.fill_behind(at, sink);
            } else if self.on_air.is_some() {
                self.end_exchange(at, sink);
            } else {
                self.take_air(at);
            }
        }
    }

    /// What the path between two devices has used; `None` if they are not associated.
    #[must_use]
    pub fn path_account(&self, from: DeviceId, to: DeviceId) -> Option<PathAccount> {
        Some(self.paths[self.path(from, to)? as usize].account)
    }

    /// The airtime of exchanges from one device to another up to `now`, the time of the last call, with that
    /// of an exchange under way; `None` if they are not associated.
    #[must_use]
    pub fn airtime(&self, now: Nanos, from: DeviceId, to: DeviceId) -> Option<Span> {
        let path = self.path(from, to)?;
        let airtime = self.paths[path as usize].account.airtime;
        let is_on_air = |on_air: &OnAir| match on_air.heard.and_then(|edcaf| self.head(edcaf)) {
            Some(burst) if burst.path == path => now.since(on_air.start),
            _ => Span::ZERO,
        };
        Some(airtime + self.on_air.as_ref().map_or(Span::ZERO, is_on_air))
    }

    /// What the air was used for up to `now`, the time of the last call.
    #[must_use]
    pub fn air_account(&self, now: Nanos) -> AirAccount {
        let mut air = self.air;
        match &self.on_air {
            Some(on_air) if on_air.heard.is_none() => {
                air.collisions = air.collisions + now.since(on_air.start);
            }
            Some(on_air) => air.under_way = now.since(on_air.start),
            None => {
                let waited_since = self.waited_since(now);
                air.idle = air.idle + waited_since.since(self.free_since);
                air.overhead = air.overhead + now.since(waited_since);
            }
        }
        air
    }

    /// Packets since the beginning.
    #[must_use]
    pub fn packet_account(&self) -> PacketAccount {
        self.packets
    }

    /// Packets in all devices.
    #[must_use]
    pub fn held(&self) -> u64 {
        let queued: u64 = self.devices.iter().map(Device::held).sum();
        queued + self.paths.iter().map(Path::held_back).sum::<u64>()
    }

    /// Packets in a device: in its queues, its driver and its hardware, those on the air included.
    #[must_use]
    pub fn held_of(&self, device: DeviceId) -> u64 {
        self.devices.get(usize::from(device)).map_or(0, Device::held)
    }

    /// Packets that a device has finished and did not drop: acknowledged, or given up after all attempts
    /// failed ([`Reason::Loss`]), as on a line. Packets for a device that it is not associated with count
    /// too. This number, the drops of its queues for other reasons, and [`Radio::held_of`] add up to what was
    /// offered.
    #[must_use]
    pub fn sent_of(&self, device: DeviceId) -> u64 {
        self.devices.get(usize::from(device)).map_or(0, |device| device.sent)
    }

    /// Measures from now on how long packets wait in a device. Counts packets whose first exchange begins at
    /// `from` or later, and before `to`. The time runs from [`Radio::offer`] until the first bit of that
    /// exchange, which can be its RTS: the time in the queues, in the driver and in the hardware, and that of
    /// contention, but not that of later attempts. Dropped packets have none. Measuring does not change what
    /// happens.
    pub fn measure_sojourn(&mut self, device: DeviceId, from: Nanos, to: Nanos) {
        if let Some(device) = self.devices.get_mut(usize::from(device)) {
            device.sojourn = Some(Box::new(Sojourn::new(from, to)));
        }
    }

    /// What [`Radio::measure_sojourn`] measured; `None` if not requested.
    #[must_use]
    pub fn sojourn(&self, device: DeviceId) -> Option<&Histogram> {
        self.devices.get(usize::from(device))?.sojourn.as_ref().map(|sojourn| &sojourn.histogram)
    }

    /// Whether times and packets add up at `now`, the time of the last call.
    #[must_use]
    pub fn is_conserved(&self, now: Nanos) -> bool {
        let air = self.air_account(now);
        let airtime = self.paths.iter().map(|path| path.account.airtime.0).sum::<u64>();
        let PacketAccount { offered, delivered, dropped } = self.packets;
        air.idle.0 + air.overhead.0 + air.collisions.0 + air.under_way.0 + airtime == now.0
            && offered == delivered + dropped + self.held()
    }

    /// What waits in the queue disciplines of a device, and what its driver and hardware hold below.
    #[must_use]
    pub fn backlog(&self, device: DeviceId) -> (goodqueue::Backlog, u32) {
        let Some(device) = self.devices.get(usize::from(device)) else { return Default::default() };
        let mut above = goodqueue::Backlog::default();
        for category in &device.categories {
            let queued = category.qdisc.as_ref().map_or_else(Default::default, |qdisc| qdisc.backlog());
            above.packets += queued.packets + category.cut.len() as u32;
            above.bytes += queued.bytes + category.cut.iter().map(|frame| u64::from(frame.len)).sum::<u64>();
        }
        (above, device.pending() - device.unreported())
    }

    /// The counters of mac80211's queues of a device; `None` if it has a queue discipline.
    #[must_use]
    pub fn radio_stats(&self, device: DeviceId) -> Option<RadioStats> {
        Some(self.devices.get(usize::from(device))?.stack.as_ref()?.radio_stats())
    }

    /// The counters of mac80211's queue of a TID from one device to another; `None` if there is none.
    #[must_use]
    pub fn txq_stats(&self, from: DeviceId, to: DeviceId, tid: Tid) -> Option<TxqStats> {
        let path = &self.paths[self.path(from, to)? as usize];
        let stack = self.devices.get(usize::from(from))?.stack.as_ref()?;
        stack.txq_stats(TxqId::new(path.station, tid))
    }

    /// The airtime weight of `to` in mac80211's scheduler of `from`, now; `None` if there is none.
    #[must_use]
    pub fn weight(&self, from: DeviceId, to: DeviceId) -> Option<u16> {
        let path = &self.paths[self.path(from, to)? as usize];
        let stack = self.devices.get(usize::from(from))?.stack.as_ref()?;
        Some(stack.station_stats(path.station)?.weight)
    }

    /// The airtime counters of mac80211's scheduler of `from` for `to` in a category.
    #[must_use]
    pub fn airtime_stats(&self, from: DeviceId, to: DeviceId, ac: Ac) -> Option<AirtimeStats> {
        let path = &self.paths[self.path(from, to)? as usize];
        self.devices.get(usize::from(from))?.stack.as_ref()?.airtime_stats(path.station, ac)
    }

    /// The statistics of a device's soft admission; `None` if it has none.
    #[must_use]
    pub fn admission_stats(&self, device: DeviceId) -> Option<AdmissionStats> {
        Some(self.devices.get(usize::from(device))?.admission.as_ref()?.stats())
    }

    /// The queue discipline of a category; `None` before its first packet.
    #[must_use]
    pub fn qdisc(&self, device: DeviceId, ac: Ac) -> Option<&AnyQueue<Frame>> {
        self.devices.get(usize::from(device))?.categories[ac as usize].qdisc.as_deref()
    }

    pub(super) fn edcaf(device: DeviceId, ac: Ac) -> u32 {
        4 * u32::from(device) + ac as u32
    }

    /// The PPDU that a category has next.
    pub(super) fn head(&self, edcaf: u32) -> Option<&Burst> {
        let category = &self.devices[(edcaf / 4) as usize].categories[(edcaf % 4) as usize];
        category.hardware.head()
    }
}

#[cfg(test)]
#[path = "radio_tests.rs"]
mod tests;

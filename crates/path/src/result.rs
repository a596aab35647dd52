//! The fate of each probe of a session, and the resulting figures.

use goodqueue_probe::Direction;
use goodqueue_probe::echo::wire::{IpFields, Layout};
use goodqueue_probe::echo::{Echo, Stamp};
use serde::Serialize;

use crate::client::Update;
use crate::clocks::{Clocks, Point, Step, clocks};
use crate::marks::Marks;
use crate::order::Order;
use crate::series::{Series, Spread};

/// Why there is no reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// There is one, or none is due yet.
    #[default]
    Open,
    /// The probe was lost on its way up.
    LostUp,
    /// The reply was lost on its way down.
    LostDown,
    /// One of them was lost.
    Lost,
    /// No later probe was answered either, so the fate is not known.
    Unanswered,
}

/// A reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// When it was received.
    pub received: Stamp,
    /// When the interface received it, by the interface's own clock.
    pub hardware: Option<i64>,
    /// When the server received the probe; 0 if it does not say.
    pub server_receive: Stamp,
    /// When the server sent it; 0 if it does not say.
    pub server_send: Stamp,
    /// The IP fields with which the probe came to the server; not known if the server is not ours.
    pub up: IpFields,
    /// The IP fields with which the reply came.
    pub down: IpFields,
}

/// A probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trip {
    /// When it was sent.
    pub sent: Stamp,
    /// When the interface sent it, by the interface's own clock.
    pub hardware: Option<i64>,
    /// Its UDP payload, bytes.
    pub size: u16,
    /// Its first reply.
    pub reply: Option<Reply>,
    /// Why there is none.
    pub fate: Fate,
    /// Further replies.
    pub duplicates: u32,
    /// The duplicates that answer further copies of the probe: it was duplicated on its way up.
    pub duplicates_up: u32,
    /// The duplicates that are copies of the reply: it was duplicated on its way down.
    pub duplicates_down: u32,
    /// The direction in which the last duplicate arose, if it is known.
    pub last_duplicate: Option<Direction>,
    /// The reply to a later probe came before this one.
    pub reordered: bool,
    /// A later probe came to the server before this one.
    pub reordered_up: bool,
    /// A reply that the server had sent later came before this one.
    pub reordered_down: bool,
}

/// The probes of a session, by their numbers: all of them, or the last ones and the figures of those before.
#[derive(Clone, Debug)]
pub struct Trips {
    layout: Layout,
    /// The IP header of probes as sent.
    sent_ip: IpFields,
    /// The probes that are kept; the first one has number `first`.
    trips: Vec<Trip>,
    first: u32,
    /// When the very first probe was sent, monotonic.
    start: i64,
    past: Option<Box<Past>>,
    order: Order,
    /// Packets that the server has received, by the highest of its counts.
    server_received: u32,
    /// UDP payload sent and received, bytes.
    bytes: (u64, u64),
    marks: Marks,
}

/// The figures of probes that are not kept.
#[derive(Clone, Debug, Default)]
struct Past {
    /// Most probes that are kept.
    most: usize,
    /// The last probe that is not kept.
    before: Trip,
    counts: Counts,
    spreads: Spreads,
    steps: Vec<Step>,
}

/// The distributions of all figures.
#[derive(Clone, Debug, Default)]
struct Spreads {
    rtt: Spread,
    rtt_hardware: Spread,
    up_rise: Spread,
    down_rise: Spread,
    ipdv_rtt: Spread,
    ipdv_up: Spread,
    ipdv_down: Spread,
    within: Spread,
}

/// Most probes that an endless session keeps, and how much time they should cover, nanoseconds.
const MOST: i64 = 131_072;
const KEPT: i64 = 600_000_000_000;
/// The maximum number of clock steps reported for an endless session.
const MOST_STEPS: usize = 100;

/// Probes by their fates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Sent.
    pub sent: u64,
    /// Answered, duplicates not counted.
    pub received: u64,
    /// Lost on the way up.
    pub lost_up: u64,
    /// Lost on the way down.
    pub lost_down: u64,
    /// Lost in an unknown direction.
    pub lost_unknown: u64,
    /// Neither answered nor followed by one that was.
    pub unanswered: u64,
    /// Further replies to one probe.
    pub duplicates: u64,
    /// The duplicates from probes that were duplicated on their way up.
    pub duplicates_up: u64,
    /// The duplicates from replies that were duplicated on their way down.
    pub duplicates_down: u64,
    /// Replies that came after the reply to a later probe.
    pub reordered: u64,
    /// Probes that came to the server after a later one.
    pub reordered_up: u64,
    /// Replies that came after one that the server had sent later.
    pub reordered_down: u64,
}

impl Counts {
    fn add(&mut self, trip: &Trip) {
        self.sent += 1;
        self.received += u64::from(trip.reply.is_some());
        self.duplicates += u64::from(trip.duplicates);
        self.duplicates_up += u64::from(trip.duplicates_up);
        self.duplicates_down += u64::from(trip.duplicates_down);
        self.reordered += u64::from(trip.reordered);
        self.reordered_up += u64::from(trip.reordered_up);
        self.reordered_down += u64::from(trip.reordered_down);
        match trip.fate {
            Fate::Open => {}
            Fate::LostUp => self.lost_up += 1,
            Fate::LostDown => self.lost_down += 1,
            Fate::Lost => self.lost_unknown += 1,
            Fate::Unanswered => self.unanswered += 1,
        }
    }

    /// Lost, in any direction.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost_up + self.lost_down + self.lost_unknown
    }
}

/// The figures of a session, all in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// The fates of the probes.
    pub counts: Counts,
    /// Round-trip times without the time within the server.
    pub rtt: Option<Series>,
    /// The same between the times of the interface's hardware, if it stamps packets: without the queues and
    /// the scheduling of this host.
    pub rtt_hardware: Option<Series>,
    /// One-way delay to the server by both wall clocks. It is as accurate as their agreement.
    pub up: Option<Series>,
    /// One-way delay to the client, likewise.
    pub down: Option<Series>,
    /// One-way delay to the server above its minimum, which needs no synchronised clocks. By monotonic clocks
    /// if the server has them, so that setting a clock does not show; without the drift, if it is known.
    pub up_rise: Option<Series>,
    /// One-way delay to the client above its minimum.
    pub down_rise: Option<Series>,
    /// Absolute difference of a round-trip time from that of the previous probe.
    pub ipdv_rtt: Option<Series>,
    /// The same for the way up.
    pub ipdv_up: Option<Series>,
    /// The same for the way down.
    pub ipdv_down: Option<Series>,
    /// Time within the server, nanoseconds.
    pub server_time: Option<Series>,
    /// By how much the server's wall clock is ahead of ours, nanoseconds, if the smallest delays of both
    /// directions are equal.
    pub clock_ahead: Option<i64>,
    /// How much faster the server's clock runs than ours, parts per million; `None` if the session is too
    /// short or the error is larger.
    pub drift_ppm: Option<f64>,
    /// The largest error of that, parts per million.
    pub drift_error_ppm: Option<f64>,
    /// By how much a delay above its minimum may be wrong at any time, nanoseconds; `None` if the session is
    /// too short to tell.
    pub rise_error: Option<i64>,
    /// When one of the clocks was set, or a host slept; these steps are subtracted from the delays above
    /// their minimum.
    pub clock_steps: Vec<Step>,
}

/// Delays of one probe, nanoseconds; `None` if they cannot be known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// Round trip without the time within the server.
    pub rtt: Option<i64>,
    /// The same between the times of the interface's hardware.
    pub rtt_hardware: Option<i64>,
    /// One way, by the wall clocks.
    pub up: Option<i64>,
    /// One way, by the wall clocks.
    pub down: Option<i64>,
}

impl Trips {
    /// No probes yet. `sent_ip` is the IP header of the probes; a TTL of 0 means unknown.
    #[must_use]
    pub fn new(layout: Layout, sent_ip: IpFields) -> Trips {
        Trips {
            layout,
            sent_ip,
            trips: Vec::new(),
            first: 0,
            start: 0,
            past: None,
            order: Order::default(),
            server_received: 0,
            bytes: (0, 0),
            marks: Marks::default(),
        }
    }

    /// The same for an endless session, in bounded memory. It keeps the probes of the last ten minutes, at
    /// most 131072, and for earlier ones histograms and counts. One-way delays are above the minimum of the
    /// probes that were kept at the same time; those by wall clocks are not reported.
    #[must_use]
    pub fn without_end(layout: Layout, sent_ip: IpFields, interval: i64) -> Trips {
        let most = usize::try_from((KEPT / interval.max(1)).clamp(1024, MOST)).unwrap_or(1024);
        let past = Past { most, ..Past::default() };
        Trips { past: Some(Box::new(past)), trips: Vec::with_capacity(most), ..Trips::new(layout, sent_ip) }
    }

    /// The fields of their packets.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The probes that are kept: all, unless the session is endless.
    #[must_use]
    pub fn kept(&self) -> &[Trip] {
        &self.trips
    }

    /// When the first one was sent, monotonic clock.
    #[must_use]
    pub fn start(&self) -> i64 {
        self.start
    }

    /// How many were sent.
    #[must_use]
    pub fn sent(&self) -> u64 {
        u64::from(self.first) + self.trips.len() as u64
    }

    /// The probe with this number, if it is kept.
    #[must_use]
    pub fn get(&self, seq: u32) -> Option<&Trip> {
        self.trips.get(self.index(seq)?)
    }

    fn index(&self, seq: u32) -> Option<usize> {
        usize::try_from(seq.checked_sub(self.first)?).ok()
    }

    /// ToS bytes and TTLs.
    #[must_use]
    pub fn marks(&self) -> &Marks {
        &self.marks
    }

    /// UDP payload sent and received, bytes.
    #[must_use]
    pub fn bytes(&self) -> (u64, u64) {
        self.bytes
    }

    /// Packets that the server has received, including duplicates, if it counts them.
    #[must_use]
    pub fn server_received(&self) -> Option<u32> {
        self.layout.count.then_some(self.server_received)
    }

    /// Records an event of a probe.
    pub fn take(&mut self, update: &Update) {
        match *update {
            Update::Sent { seq, at, size } => {
                if self.sent() == 0 {
                    self.start = at.mono;
                }
                let Some(index) = self.index(seq) else { return };
                self.trips.resize_with(index, Trip::default);
                self.trips.push(Trip { sent: at, size, ..Trip::default() });
                self.bytes.0 += u64::from(size);
                if self.past.as_ref().is_some_and(|past| self.trips.len() >= past.most) {
                    self.forget();
                }
            }
            Update::Lost { seq, way, unanswered } => {
                let Some(trip) = self.index(seq).and_then(|index| self.trips.get_mut(index)) else { return };
                trip.fate = match way {
                    _ if unanswered => Fate::Unanswered,
                    Some(Direction::Up) => Fate::LostUp,
                    Some(Direction::Down) => Fate::LostDown,
                    None => Fate::Lost,
                };
            }
            Update::OnWire { seq, hardware } => {
                if let Some(trip) = self.index(seq).and_then(|index| self.trips.get_mut(index)) {
                    trip.hardware = Some(hardware);
                }
            }
            Update::Reply { echo, size, hardware, tos, ttl } => {
                self.bytes.1 += u64::from(size);
                self.reply(&echo, hardware, IpFields::of(tos, ttl));
            }
            Update::Silent { .. } => {}
            // Another server, or the same one after a restart, may report more or less.
            Update::Renewed { layout, .. } => (self.layout, self.order) = (layout, Order::default()),
        }
    }

    /// A reply that comes after the client gave up on its probe still counts.
    fn reply(&mut self, echo: &Echo, hardware: Option<i64>, down: IpFields) {
        let packet = &echo.packet;
        self.server_received = self.server_received.max(packet.received);
        let told = self.order.note(self.layout, packet);
        let Some(index) = self.index(packet.seq) else { return };
        let is_late = || self.trips.iter().skip(index + 1).any(|later| later.reply.is_some());
        let is_reordered = echo.reordered || (echo.sent.is_none() && is_late());
        let Some(trip) = self.trips.get_mut(index) else { return };
        if trip.reply.is_some() {
            trip.duplicates += 1;
            trip.last_duplicate = told.doubled;
            trip.duplicates_up += u32::from(told.doubled == Some(Direction::Up));
            trip.duplicates_down += u32::from(told.doubled == Some(Direction::Down));
            return;
        }
        trip.sent = echo.sent.unwrap_or(trip.sent);
        trip.fate = Fate::Open;
        trip.reordered = is_reordered;
        trip.reordered_down = told.late_down;
        trip.reply = Some(Reply {
            received: echo.received,
            hardware,
            server_receive: packet.server_receive,
            server_send: packet.server_send,
            up: packet.request_ip,
            down,
        });
        for seq in told.late_up {
            if let Some(trip) = self.index(seq).and_then(|index| self.trips.get_mut(index)) {
                trip.reordered_up = true;
            }
        }
        self.marks.up.note(self.sent_ip, packet.request_ip);
        // A server that does not say how it sends uses what was agreed.
        let agreed = IpFields { tos: self.sent_ip.tos, ttl: 0 };
        self.marks.down.note(if self.layout.ip { packet.reply_ip } else { agreed }, down);
    }

    /// Adds the older half of the kept probes to the histograms.
    fn forget(&mut self) {
        let Some(mut past) = self.past.take() else { return };
        let half = self.trips.len() / 2;
        self.spread(half, &mut past);
        past.before = self.trips[half - 1];
        self.trips.drain(..half);
        self.first += u32::try_from(half).unwrap_or(0);
        self.past = Some(past);
    }

    /// Adds the first `count` of the kept probes to histograms.
    fn spread(&self, count: usize, past: &mut Past) {
        let leaving = &self.trips[..count];
        leaving.iter().for_each(|trip| past.counts.add(trip));
        let spreads = &mut past.spreads;
        spreads.rtt.add(leaving.iter().filter_map(|trip| self.delays(trip).rtt));
        spreads.rtt_hardware.add(leaving.iter().filter_map(|trip| self.delays(trip).rtt_hardware));
        spreads.within.add(leaving.iter().filter_map(|trip| self.within(&trip.reply?)));
        let mut before = &past.before;
        for trip in leaving {
            let varied = self.between(before, trip);
            spreads.ipdv_rtt.add(varied.rtt.map(i64::saturating_abs));
            spreads.ipdv_up.add(varied.up.map(i64::saturating_abs));
            spreads.ipdv_down.add(varied.down.map(i64::saturating_abs));
            before = trip;
        }
        let points = self.points();
        let clocks = clocks(&points).unwrap_or_default();
        let until = self.trips.get(count).map_or(i64::MAX, |trip| trip.sent.mono.saturating_sub(self.start));
        let rises = rises(&points, &clocks);
        let leaving = rises.iter().take_while(|rise| rise.t < until);
        spreads.up_rise.add(leaving.clone().map(|rise| rise.up));
        spreads.down_rise.add(leaving.map(|rise| rise.down));
        let room = MOST_STEPS.saturating_sub(past.steps.len());
        past.steps.extend(clocks.steps.iter().filter(|step| step.t < until).take(room));
    }

    /// The delays of a probe.
    #[must_use]
    pub fn delays(&self, trip: &Trip) -> Delays {
        let Some(reply) = trip.reply else { return Delays::default() };
        let total = reply.received.mono.saturating_sub(trip.sent.mono);
        let within = self.within(&reply).filter(|within| (0..=total).contains(within)).unwrap_or(0);
        let wall = |from: i64, to: i64| self.layout.has_wall().then(|| to.saturating_sub(from));
        // If a clock was set meanwhile, the time is negative or longer than the kernel's.
        let hardware =
            trip.hardware.zip(reply.hardware).map(|(sent, received)| received.saturating_sub(sent));
        Delays {
            rtt: Some(total - within),
            rtt_hardware: hardware
                .filter(|on_wire| (within..=total).contains(on_wire))
                .map(|on_wire| on_wire - within),
            up: wall(trip.sent.wall, reply.server_receive.wall),
            down: wall(reply.server_send.wall, reply.received.wall),
        }
    }

    /// Time within the server, as it reports it; a negative one is ignored.
    fn within(&self, reply: &Reply) -> Option<i64> {
        let (from, to) = (reply.server_receive, reply.server_send);
        let by = |from: i64, to: i64| to.saturating_sub(from);
        let by_clock =
            if self.layout.has_monotonic() { by(from.mono, to.mono) } else { by(from.wall, to.wall) };
        (self.layout.times_the_server() && by_clock >= 0).then_some(by_clock)
    }

    /// How the delays of the probe at `index` of [`Trips::kept`] differ from those of the previous one, if
    /// both were answered. One-way delays are by monotonic clocks if the server has them, so that setting a
    /// clock does not show.
    #[must_use]
    pub fn variation(&self, index: usize) -> Delays {
        let pair =
            index.checked_sub(1).and_then(|before| Some((self.trips.get(before)?, self.trips.get(index)?)));
        pair.map_or_else(Delays::default, |(before, now)| self.between(before, now))
    }

    fn between(&self, before: &Trip, now: &Trip) -> Delays {
        let (Some(then), Some(reply)) = (before.reply, now.reply) else { return Delays::default() };
        let change = |a: Option<i64>, b: Option<i64>| Some(b?.saturating_sub(a?));
        let (a, b) = (self.delays(before), self.delays(now));
        let (rtt, rtt_hardware) = (change(a.rtt, b.rtt), change(a.rtt_hardware, b.rtt_hardware));
        if !self.layout.has_monotonic() {
            return Delays { rtt, rtt_hardware, up: change(a.up, b.up), down: change(a.down, b.down) };
        }
        let up = |trip: &Trip, reply: &Reply| reply.server_receive.mono.saturating_sub(trip.sent.mono);
        let down = |reply: &Reply| reply.received.mono.saturating_sub(reply.server_send.mono);
        Delays {
            rtt,
            rtt_hardware,
            up: Some(up(now, &reply).saturating_sub(up(before, &then))),
            down: Some(down(&reply).saturating_sub(down(&then))),
        }
    }

    /// The figures of all probes.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let points = self.points();
        let clocks = clocks(&points);
        let figures = match &self.past {
            Some(past) => self.near_figures(past),
            None => self.exact_figures(&points, &clocks.clone().unwrap_or_default()),
        };
        let of = |pick: fn(&Delays) -> Option<i64>| {
            self.trips.iter().filter_map(move |trip| pick(&self.delays(trip)))
        };
        let ahead = of(|d| d.up).min().zip(of(|d| d.down).min()).map(|(up, down)| (up - down) / 2);
        // A drift that is not larger than its error does not count.
        let drift = clocks.as_ref().filter(|clocks| clocks.rate.abs() > clocks.rate_error);
        Figures {
            clock_ahead: ahead,
            drift_ppm: drift.map(|drift| drift.rate * 1e6),
            drift_error_ppm: drift.map(|drift| drift.rate_error * 1e6),
            rise_error: clocks.as_ref().map(|clocks| clocks.error),
            ..figures
        }
    }

    /// From all values.
    fn exact_figures(&self, points: &[Point], clocks: &Clocks) -> Figures {
        let delays: Vec<Delays> = self.trips.iter().map(|trip| self.delays(trip)).collect();
        let of = |pick: fn(&Delays) -> Option<i64>| Series::of(delays.iter().filter_map(pick).collect());
        let variations: Vec<Delays> = (0..self.trips.len()).map(|index| self.variation(index)).collect();
        let varied = |pick: fn(&Delays) -> Option<i64>| {
            Series::of(variations.iter().filter_map(pick).map(i64::saturating_abs).collect())
        };
        let within = self.trips.iter().filter_map(|trip| self.within(&trip.reply?));
        let rises = rises(points, clocks);
        Figures {
            counts: self.counts(),
            rtt: of(|d| d.rtt),
            rtt_hardware: of(|d| d.rtt_hardware),
            up: of(|d| d.up),
            down: of(|d| d.down),
            up_rise: Series::of(rises.iter().map(|rise| rise.up).collect()),
            down_rise: Series::of(rises.iter().map(|rise| rise.down).collect()),
            ipdv_rtt: varied(|d| d.rtt),
            ipdv_up: varied(|d| d.up),
            ipdv_down: varied(|d| d.down),
            server_time: Series::of(within.collect()),
            clock_steps: clocks.steps.clone(),
            ..Figures::default()
        }
    }

    /// From histograms.
    fn near_figures(&self, past: &Past) -> Figures {
        let mut all = past.clone();
        self.spread(self.trips.len(), &mut all);
        let spreads = &all.spreads;
        Figures {
            counts: all.counts,
            rtt: spreads.rtt.series(),
            rtt_hardware: spreads.rtt_hardware.series(),
            up_rise: spreads.up_rise.series(),
            down_rise: spreads.down_rise.series(),
            ipdv_rtt: spreads.ipdv_rtt.series(),
            ipdv_up: spreads.ipdv_up.series(),
            ipdv_down: spreads.ipdv_down.series(),
            server_time: spreads.within.series(),
            clock_steps: all.steps,
            ..Figures::default()
        }
    }

    /// One-way delays above their minimum and without the difference of the clocks, of the last `most`
    /// answered probes, in the order of sending. Times are since the very first probe.
    #[must_use]
    pub fn rises(&self, most: usize) -> Vec<Point> {
        let points = self.points();
        let points = &points[points.len().saturating_sub(most)..];
        rises(points, &clocks(points).unwrap_or_default())
    }

    /// Delays of the answered probes.
    fn points(&self) -> Vec<Point> {
        let is_mono = self.layout.has_monotonic();
        if !is_mono && !self.layout.has_wall() {
            return Vec::new();
        }
        let of = |stamp: Stamp| if is_mono { stamp.mono } else { stamp.wall };
        let answered = self.trips.iter().filter_map(|trip| Some((trip, trip.reply?)));
        answered
            .map(|(trip, reply)| Point {
                t: trip.sent.mono.saturating_sub(self.start),
                up: of(reply.server_receive).saturating_sub(of(trip.sent)),
                down: of(reply.received).saturating_sub(of(reply.server_send)),
            })
            .collect()
    }

    /// Their fates.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut counts = self.past.as_ref().map_or_else(Counts::default, |past| past.counts);
        self.trips.iter().for_each(|trip| counts.add(trip));
        counts
    }
}

/// Delays above their minimum, without the difference of the clocks.
fn rises(points: &[Point], clocks: &Clocks) -> Vec<Point> {
    let parted = |point: &Point| {
        let ahead = clocks.ahead(point.t);
        Point { t: point.t, up: point.up.saturating_sub(ahead), down: point.down.saturating_add(ahead) }
    };
    let mut points: Vec<Point> = points.iter().map(parted).collect();
    let up = points.iter().map(|point| point.up).min().unwrap_or(0);
    let down = points.iter().map(|point| point.down).min().unwrap_or(0);
    for point in &mut points {
        point.up = point.up.saturating_sub(up);
        point.down = point.down.saturating_sub(down);
    }
    points
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use goodqueue_probe::echo::wire::Packet;

    pub(crate) fn sent(seq: u32, at: i64) -> Update {
        Update::Sent { seq, at: Stamp { wall: 1_000_000 + at, mono: at }, size: 60 }
    }

    /// A reply to a probe that took `up` and `down`, of a server whose wall clock is 500 ahead and whose
    /// monotonic clock has its own zero, and that holds it for 10.
    pub(crate) fn reply(seq: u32, at: i64, up: i64, down: i64) -> Update {
        let server = |t: i64| Stamp { wall: 1_000_500 + t, mono: 77_000 + t };
        let (there, back) = (at + up, at + up + 10 + down);
        let packet = Packet {
            reply: true,
            seq,
            received: seq + 1,
            server_receive: server(there),
            server_send: server(there + 10),
            ..Packet::default()
        };
        let sent = Some(Stamp { wall: 1_000_000 + at, mono: at });
        let received = Stamp { wall: 1_000_000 + back, mono: back };
        let echo = Echo { packet, sent, received, reordered: false, duplicate: false };
        Update::Reply { echo, size: 60, hardware: None, tos: Some(0), ttl: Some(60) }
    }

    pub(crate) fn session() -> Trips {
        let mut trips = Trips::new(Layout::FULL, IpFields::default());
        for (seq, up, down) in [(0, 100, 200), (1, 130, 200), (2, 100, 900), (4, 100, 210)] {
            let at = i64::from(seq) * 10_000;
            if seq == 4 {
                trips.take(&sent(3, 30_000));
            }
            trips.take(&sent(seq, at));
            trips.take(&reply(seq, at, up, down));
        }
        trips.take(&Update::Lost { seq: 3, way: Some(Direction::Up), unanswered: false });
        trips
    }

    #[test]
    fn delays_are_by_direction_and_without_the_server() {
        let trips = session();
        let figures = trips.figures();
        let (rtt, up, down) = (figures.rtt.unwrap(), figures.up.unwrap(), figures.down.unwrap());
        assert_eq!((rtt.n, rtt.min, rtt.median, rtt.max), (4, 300, 320, 1_000));
        assert_eq!((up.min, up.max), (600, 630), "with the clock that is 500 ahead");
        assert_eq!((down.min, down.max), (-300, 400));
        let (up, down) = (figures.up_rise.unwrap(), figures.down_rise.unwrap());
        assert_eq!((up.min, up.max, up.total), (0, 30, 30));
        assert_eq!((down.min, down.median, down.max), (0, 5, 700));
        assert_eq!(figures.clock_ahead, Some(450), "500, less half of what the ways differ by");
        assert_eq!(figures.server_time.unwrap().max, 10);
    }

    #[test]
    fn variation_is_between_neighbours_that_were_answered() {
        let trips = session();
        assert_eq!(trips.variation(0), Delays::default());
        assert_eq!(
            trips.variation(1),
            Delays { rtt: Some(30), rtt_hardware: None, up: Some(30), down: Some(0) }
        );
        assert_eq!(
            trips.variation(2),
            Delays { rtt: Some(670), rtt_hardware: None, up: Some(-30), down: Some(700) }
        );
        assert_eq!(trips.variation(4), Delays::default(), "3 was lost");
        assert_eq!(trips.figures().ipdv_up.map(|series| (series.n, series.max)), Some((2, 30)));
    }

    #[test]
    fn each_probe_is_counted_once() {
        let mut trips = session();
        let counts = Counts { sent: 5, received: 4, lost_up: 1, ..Counts::default() };
        assert_eq!(trips.counts(), counts);
        trips.take(&reply(4, 40_000, 100, 300));
        assert_eq!(trips.counts(), Counts { duplicates: 1, duplicates_down: 1, ..counts });
        let Update::Reply { mut echo, .. } = reply(3, 30_000, 100, 300) else { unreachable!() };
        echo.sent = None;
        trips.take(&Update::Reply { echo, size: 60, hardware: None, tos: Some(0x23), ttl: Some(50) });
        let counts = trips.counts();
        assert_eq!((counts.received, counts.lost_up, counts.reordered), (5, 0, 1), "late, and there");
        assert_eq!(trips.delays(&trips.kept()[3]).rtt, Some(400));
        let marks = &trips.marks().down;
        assert_eq!((marks.dscp_changed, marks.ecn_changed, marks.ce), (1, 1, 0));
        assert_eq!(trips.marks().up.known(), 0, "the server says nothing");
        assert_eq!(trips.bytes(), (300, 360));
        assert_eq!((marks.ttl_min, marks.ttl_max), (Some(50), Some(60)));
    }

    #[test]
    fn times_of_the_hardware_leave_out_what_this_host_adds() {
        let mut exact = Trips::new(Layout::FULL, IpFields::default());
        let mut endless = Trips::without_end(Layout::FULL, IpFields::default(), 1_000_000_000);
        for trips in [&mut exact, &mut endless] {
            // The interface's clock has its own zero. Each round trip takes 310, including the server's 10.
            // The interface reports 270, then more than the whole round trip, then less than the server's
            // time, and 250 in a late note.
            for (seq, on_wire, is_late) in [(0, 270, false), (1, 311, false), (2, 9, false), (3, 250, true)] {
                let note = Update::OnWire { seq, hardware: 5_000_000 };
                trips.take(&sent(seq, i64::from(seq) * 10_000));
                if !is_late {
                    trips.take(&note);
                }
                let Update::Reply { echo, size, tos, ttl, .. } =
                    reply(seq, i64::from(seq) * 10_000, 100, 200)
                else {
                    unreachable!()
                };
                let hardware = Some(5_000_000 + on_wire);
                trips.take(&Update::Reply { echo, size, hardware, tos, ttl });
                if is_late {
                    trips.take(&note);
                }
            }
            let figures = trips.figures();
            let (all, on_wire) = (figures.rtt.unwrap(), figures.rtt_hardware.unwrap());
            assert_eq!((all.n, all.min, all.max), (4, 300, 300));
            assert_eq!((on_wire.n, on_wire.min, on_wire.max), (2, 240, 260));
        }
        assert_eq!(session().figures().rtt_hardware, None);
    }

    #[test]
    fn missing_statistics_of_a_server_stay_unknown() {
        let layout = Layout { clocks: goodqueue_probe::echo::wire::Clocks::Monotonic, ..Layout::FULL };
        let mut trips = Trips { layout, ..session() };
        let figures = trips.figures();
        assert!(figures.up.is_none() && figures.clock_ahead.is_none());
        assert_eq!(figures.up_rise.map(|series| series.max), Some(30), "rises need no wall clock");
        assert_eq!(figures.ipdv_down.map(|series| series.max), Some(700), "the monotonic clocks tell");
        trips.layout.stamps = goodqueue_probe::echo::wire::StampAt::None;
        assert!(trips.figures().server_time.is_none());
        assert_eq!(trips.figures().rtt.unwrap().min, 310, "with the time within the server");
    }

    /// A server whose clocks run fast by 100 ppm, for 30 s.
    #[test]
    fn drift_is_subtracted_from_the_rise_and_reported() {
        let mut trips = Trips::new(Layout::FULL, IpFields::default());
        for seq in 0..300 {
            let at = i64::from(seq) * 100_000_000;
            trips.take(&sent(seq, at));
            let gained = at / 10_000;
            let wait = if seq % 3 == 0 { 5_000_000 } else { 0 };
            trips.take(&reply(seq, at, 1_000_000 + gained + wait, 1_000_000 - gained));
        }
        let figures = trips.figures();
        let (drift, error) = (figures.drift_ppm.unwrap(), figures.drift_error_ppm.unwrap());
        assert!((drift - 100.0).abs() < 0.01 && error < 1.0, "{drift} {error}");
        let (up, down) = (figures.up_rise.unwrap(), figures.down_rise.unwrap());
        assert!(
            (up.max - 5_000_000).abs() < 1_000 && up.median < 1_000 && down.max < 1_000,
            "{up:?} {down:?}"
        );
    }

    /// The same session with and without an end: the histograms agree with the values, within three digits.
    #[test]
    #[allow(clippy::cast_precision_loss)]
    fn a_session_without_end_has_the_same_figures() {
        const MS: i64 = 1_000_000;
        let mut exact = Trips::new(Layout::FULL, IpFields::default());
        let mut endless = Trips::without_end(Layout::FULL, IpFields::default(), 1_000 * MS);
        let mut draws = goodqueue::Rng::new(5);
        for seq in 0..5_000 {
            let at = i64::from(seq) * 20 * MS;
            let mut delay = || MS + i64::try_from(draws.below(50_000_000)).unwrap();
            let update = match seq % 50 {
                7 => Update::Lost { seq, way: Some(Direction::Up), unanswered: false },
                8 => Update::Lost { seq, way: Some(Direction::Down), unanswered: false },
                // In every hundred milliseconds, one probe waits nowhere.
                n if n % 5 == 0 => reply(seq, at, MS, MS),
                _ => reply(seq, at, delay(), delay()),
            };
            for trips in [&mut exact, &mut endless] {
                trips.take(&sent(seq, at));
                trips.take(&update);
            }
        }
        assert_eq!((exact.kept().len(), endless.sent()), (5_000, 5_000));
        assert!(endless.kept().len() < 1024 && endless.get(10).is_none());
        let (exact, endless) = (exact.figures(), endless.figures());
        assert_eq!(exact.counts, endless.counts);
        assert!(exact.counts.lost_up == 100 && exact.counts.lost_down == 100);
        for (name, a, b) in [
            ("rtt", exact.rtt, endless.rtt),
            ("up", exact.up_rise, endless.up_rise),
            ("down", exact.down_rise, endless.down_rise),
            ("ipdv", exact.ipdv_rtt, endless.ipdv_rtt),
            ("ipdv up", exact.ipdv_up, endless.ipdv_up),
            ("server", exact.server_time, endless.server_time),
        ] {
            let (a, b) = (a.unwrap(), b.unwrap());
            assert_eq!(a.n, b.n, "{name}");
            for (a, b) in [(a.median, b.median), (a.p95, b.p95), (a.p99, b.p99), (a.max, b.max)] {
                // A rank may be the value on either side of it.
                assert!((a - b).abs() < 100_000 + a / 500, "{name}: {a} {b}");
            }
            assert!((a.mean - b.mean).abs() < 10_000.0 && (a.stddev - b.stddev).abs() < 10_000.0, "{name}");
        }
    }
}

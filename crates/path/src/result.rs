//! The fate of each probe of a session, and the figures from them.

use goodqueue_probe::Direction;
use goodqueue_probe::echo::wire::Layout;
use goodqueue_probe::echo::{Echo, Stamp};
use serde::Serialize;

use crate::client::Update;
use crate::clocks::{Point, Step, clocks};

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
    /// No later probe was answered either, so it is not known.
    Unanswered,
}

/// A reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// When it was received.
    pub received: Stamp,
    /// When the server received the probe; 0 if it does not say.
    pub server_receive: Stamp,
    /// When the server sent it; 0 if it does not say.
    pub server_send: Stamp,
}

/// A probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trip {
    /// When it was sent.
    pub sent: Stamp,
    /// Its first reply.
    pub reply: Option<Reply>,
    /// Why there is none.
    pub fate: Fate,
    /// Further replies.
    pub duplicates: u32,
    /// The reply to a later probe came before.
    pub reordered: bool,
}

/// All probes of a session, by their numbers.
#[derive(Clone, Debug)]
pub struct Trips {
    layout: Layout,
    tos: u8,
    trips: Vec<Trip>,
    /// Packets that the server has received, as the highest of its counts says.
    server_received: u32,
    marks: Marks,
}

/// What replies came with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Marks {
    /// Replies with another DSCP than was asked for: the path, or the server, changed it.
    pub dscp_changed: u64,
    /// The last such DSCP.
    pub dscp_seen: Option<u8>,
    /// Replies with CE in their ECN field.
    pub ce: u64,
    /// Smallest TTL or hop limit.
    pub ttl_min: Option<u8>,
    /// Greatest TTL or hop limit.
    pub ttl_max: Option<u8>,
}

/// Statistics of a quantity, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Series {
    /// How many values.
    pub n: u64,
    /// Smallest.
    pub min: i64,
    /// Median; the mean of the two middle ones if their number is even.
    pub median: i64,
    /// Mean.
    pub mean: f64,
    /// The smallest value that 95 % do not exceed.
    pub p95: i64,
    /// The same for 99 %.
    pub p99: i64,
    /// Largest.
    pub max: i64,
    /// Standard deviation of the sample; 0 for one value.
    pub stddev: f64,
    /// Sum.
    pub total: i64,
}

impl Series {
    /// Of some values; nothing if there are none.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn of(mut values: Vec<i64>) -> Option<Series> {
        values.sort_unstable();
        let (&min, &max) = (values.first()?, values.last()?);
        let n = values.len();
        let at_rank = |percent: usize| values[(n * percent).div_ceil(100).max(1) - 1];
        let total = values.iter().fold(0_i64, |sum, &value| sum.saturating_add(value));
        let mean = values.iter().map(|&value| value as f64).sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|&value| (value as f64 - mean).powi(2)).sum();
        let median =
            if n.is_multiple_of(2) { values[n / 2 - 1].midpoint(values[n / 2]) } else { values[n / 2] };
        let stddev = if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 };
        Some(Series {
            n: n as u64,
            min,
            median,
            mean,
            p95: at_rank(95),
            p99: at_rank(99),
            max,
            stddev,
            total,
        })
    }
}

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
    /// Replies after that to a later probe.
    pub reordered: u64,
}

/// The figures of a session, all in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// The fates of the probes.
    pub counts: Counts,
    /// Round-trip times without the time within the server.
    pub rtt: Option<Series>,
    /// One-way delay to the server by both wall clocks: as accurate as these agree.
    pub up: Option<Series>,
    /// One-way delay to the client, likewise.
    pub down: Option<Series>,
    /// One-way delay to the server above its least, which needs no equal clocks. By monotonic clocks where
    /// the server has them, so that setting a clock does not show; without the drift, where it is known.
    pub up_rise: Option<Series>,
    /// One-way delay to the client above its least.
    pub down_rise: Option<Series>,
    /// Difference of a round-trip time from that of the probe before, without sign.
    pub ipdv_rtt: Option<Series>,
    /// The same for the way up.
    pub ipdv_up: Option<Series>,
    /// The same for the way down.
    pub ipdv_down: Option<Series>,
    /// Time within the server.
    pub server_time: Option<Series>,
    /// By how much the server's wall clock is ahead of ours, if the smallest delays of both directions are
    /// equal.
    pub clock_ahead: Option<i64>,
    /// How much faster the server's clock runs than ours, parts in a million; nothing if the session is too
    /// short or the error is larger.
    pub drift_ppm: Option<f64>,
    /// The largest error of that.
    pub drift_error_ppm: Option<f64>,
    /// By how much a delay above its least may be wrong at any time; nothing if the session is too short
    /// to tell.
    pub rise_error: Option<i64>,
    /// When one of the clocks was set, or a host slept; this is subtracted from the delays above their least.
    pub clock_steps: Vec<Step>,
}

/// Delays of one probe, nanoseconds; nothing if they cannot be known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// Round trip without the time within the server.
    pub rtt: Option<i64>,
    /// One way, by the wall clocks.
    pub up: Option<i64>,
    /// One way, by the wall clocks.
    pub down: Option<i64>,
}

impl Trips {
    /// None yet. `tos` is that of the probes.
    #[must_use]
    pub fn new(layout: Layout, tos: u8) -> Trips {
        Trips { layout, tos, trips: Vec::new(), server_received: 0, marks: Marks::default() }
    }

    /// The fields of their packets.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[Trip] {
        &self.trips
    }

    /// The fields with which replies came.
    #[must_use]
    pub fn marks(&self) -> Marks {
        self.marks
    }

    /// Packets that the server has received, duplicates included, where it counts.
    #[must_use]
    pub fn server_received(&self) -> Option<u32> {
        self.layout.count.then_some(self.server_received)
    }

    /// Records an event of a probe.
    pub fn take(&mut self, update: &Update) {
        match *update {
            Update::Sent { seq, at } => {
                self.trips.resize_with(seq as usize, Trip::default);
                self.trips.push(Trip { sent: at, ..Trip::default() });
            }
            Update::Lost { seq, way, unanswered } => {
                let Some(trip) = self.trips.get_mut(seq as usize) else { return };
                trip.fate = match way {
                    _ if unanswered => Fate::Unanswered,
                    Some(Direction::Up) => Fate::LostUp,
                    Some(Direction::Down) => Fate::LostDown,
                    None => Fate::Lost,
                };
            }
            Update::Reply { echo, tos, ttl } => {
                self.reply(&echo);
                self.mark(tos, ttl);
            }
        }
    }

    /// A reply that comes after the client gave up on its probe still counts.
    fn reply(&mut self, echo: &Echo) {
        let packet = &echo.packet;
        self.server_received = self.server_received.max(packet.received);
        let is_late = self.trips.iter().skip(packet.seq as usize + 1).any(|later| later.reply.is_some());
        let Some(trip) = self.trips.get_mut(packet.seq as usize) else { return };
        if trip.reply.is_some() {
            trip.duplicates += 1;
            return;
        }
        trip.sent = echo.sent.unwrap_or(trip.sent);
        trip.fate = Fate::Open;
        trip.reordered = echo.reordered || (echo.sent.is_none() && is_late);
        trip.reply = Some(Reply {
            received: echo.received,
            server_receive: packet.server_receive,
            server_send: packet.server_send,
        });
    }

    fn mark(&mut self, tos: Option<u8>, ttl: Option<u8>) {
        let marks = &mut self.marks;
        if let Some(tos) = tos {
            let is_other = tos >> 2 != self.tos >> 2;
            marks.dscp_changed += u64::from(is_other);
            marks.dscp_seen = if is_other { Some(tos >> 2) } else { marks.dscp_seen };
            marks.ce += u64::from(tos & 3 == 3 && self.tos & 3 != 3);
        }
        if let Some(ttl) = ttl {
            marks.ttl_min = Some(marks.ttl_min.map_or(ttl, |least| least.min(ttl)));
            marks.ttl_max = Some(marks.ttl_max.map_or(ttl, |most| most.max(ttl)));
        }
    }

    /// The delays of a probe.
    #[must_use]
    pub fn delays(&self, trip: &Trip) -> Delays {
        let Some(reply) = trip.reply else { return Delays::default() };
        let total = reply.received.mono.saturating_sub(trip.sent.mono);
        let within = self.within(&reply).filter(|within| (0..=total).contains(within)).unwrap_or(0);
        let wall = |from: i64, to: i64| self.layout.has_wall().then(|| to.saturating_sub(from));
        Delays {
            rtt: Some(total - within),
            up: wall(trip.sent.wall, reply.server_receive.wall),
            down: wall(reply.server_send.wall, reply.received.wall),
        }
    }

    /// Time within the server, as it reports it.
    fn within(&self, reply: &Reply) -> Option<i64> {
        let (from, to) = (reply.server_receive, reply.server_send);
        let by_clock = if self.layout.has_monotonic() { to.mono - from.mono } else { to.wall - from.wall };
        self.layout.times_the_server().then_some(by_clock)
    }

    /// How the delays of probe `index` differ from those of the one before, where both were answered. The
    /// ways are by monotonic clocks where the server has them, so that setting a clock does not show.
    #[must_use]
    pub fn variation(&self, index: usize) -> Delays {
        let pair =
            index.checked_sub(1).and_then(|before| Some((self.trips.get(before)?, self.trips.get(index)?)));
        let Some((before, now)) = pair else { return Delays::default() };
        let (Some(then), Some(reply)) = (before.reply, now.reply) else { return Delays::default() };
        let change = |a: Option<i64>, b: Option<i64>| Some(b?.saturating_sub(a?));
        let rtt = change(self.delays(before).rtt, self.delays(now).rtt);
        if !self.layout.has_monotonic() {
            let (a, b) = (self.delays(before), self.delays(now));
            return Delays { rtt, up: change(a.up, b.up), down: change(a.down, b.down) };
        }
        let up = |trip: &Trip, reply: &Reply| reply.server_receive.mono.saturating_sub(trip.sent.mono);
        let down = |reply: &Reply| reply.received.mono.saturating_sub(reply.server_send.mono);
        Delays {
            rtt,
            up: Some(up(now, &reply).saturating_sub(up(before, &then))),
            down: Some(down(&reply).saturating_sub(down(&then))),
        }
    }

    /// The figures of all.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let delays: Vec<Delays> = self.trips.iter().map(|trip| self.delays(trip)).collect();
        let of = |pick: fn(&Delays) -> Option<i64>| Series::of(delays.iter().filter_map(pick).collect());
        let [rtt, up, down] = [of(|d| d.rtt), of(|d| d.up), of(|d| d.down)];
        let variations: Vec<Delays> = (0..self.trips.len()).map(|index| self.variation(index)).collect();
        let varied = |pick: fn(&Delays) -> Option<i64>| {
            Series::of(variations.iter().filter_map(pick).map(i64::saturating_abs).collect())
        };
        let within =
            self.trips.iter().filter_map(|trip| self.within(&trip.reply?)).filter(|&within| within >= 0);
        let ahead = up.zip(down).map(|(up, down)| (up.min - down.min) / 2);
        let points = self.points();
        let clocks = clocks(&points);
        let parted = clocks.clone().unwrap_or_default();
        let rise =
            |delay: &dyn Fn(&Point) -> i64| Series::of(points.iter().map(delay).collect()).map(above_least);
        // A drift that is not larger than its error is none.
        let drift = clocks.as_ref().filter(|clocks| clocks.rate.abs() > clocks.rate_error);
        Figures {
            counts: self.counts(),
            rtt,
            up,
            down,
            up_rise: rise(&|point| point.up.saturating_sub(parted.ahead(point.t))),
            down_rise: rise(&|point| point.down.saturating_add(parted.ahead(point.t))),
            ipdv_rtt: varied(|d| d.rtt),
            ipdv_up: varied(|d| d.up),
            ipdv_down: varied(|d| d.down),
            server_time: Series::of(within.collect()),
            clock_ahead: ahead,
            drift_ppm: drift.map(|drift| drift.rate * 1e6),
            drift_error_ppm: drift.map(|drift| drift.rate_error * 1e6),
            rise_error: clocks.as_ref().map(|clocks| clocks.error),
            clock_steps: parted.steps,
        }
    }

    /// Delays of the probes that were answered.
    fn points(&self) -> Vec<Point> {
        let is_mono = self.layout.has_monotonic();
        if !is_mono && !self.layout.has_wall() {
            return Vec::new();
        }
        let of = |stamp: Stamp| if is_mono { stamp.mono } else { stamp.wall };
        let start = self.trips.first().map_or(0, |trip| trip.sent.mono);
        let answered = self.trips.iter().filter_map(|trip| Some((trip, trip.reply?)));
        answered
            .map(|(trip, reply)| Point {
                t: trip.sent.mono.saturating_sub(start),
                up: of(reply.server_receive).saturating_sub(of(trip.sent)),
                down: of(reply.received).saturating_sub(of(reply.server_send)),
            })
            .collect()
    }

    /// Their fates.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut counts = Counts { sent: self.trips.len() as u64, ..Counts::default() };
        for trip in &self.trips {
            counts.received += u64::from(trip.reply.is_some());
            counts.duplicates += u64::from(trip.duplicates);
            counts.reordered += u64::from(trip.reordered);
            match trip.fate {
                Fate::Open => {}
                Fate::LostUp => counts.lost_up += 1,
                Fate::LostDown => counts.lost_down += 1,
                Fate::Lost => counts.lost_unknown += 1,
                Fate::Unanswered => counts.unanswered += 1,
            }
        }
        counts
    }
}

/// The same values, each minus the smallest.
#[allow(clippy::cast_precision_loss)]
fn above_least(series: Series) -> Series {
    let least = series.min;
    let total =
        series.total.saturating_sub(least.saturating_mul(i64::try_from(series.n).unwrap_or(i64::MAX)));
    Series {
        min: 0,
        median: series.median - least,
        mean: series.mean - least as f64,
        p95: series.p95 - least,
        p99: series.p99 - least,
        max: series.max - least,
        total,
        ..series
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use goodqueue_probe::echo::wire::Packet;

    pub(crate) fn sent(seq: u32, at: i64) -> Update {
        Update::Sent { seq, at: Stamp { wall: 1_000_000 + at, mono: at } }
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
        Update::Reply { echo, tos: Some(0), ttl: Some(60) }
    }

    pub(crate) fn session() -> Trips {
        let mut trips = Trips::new(Layout::FULL, 0);
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
        assert_eq!(trips.variation(1), Delays { rtt: Some(30), up: Some(30), down: Some(0) });
        assert_eq!(trips.variation(2), Delays { rtt: Some(670), up: Some(-30), down: Some(700) });
        assert_eq!(trips.variation(4), Delays::default(), "3 was lost");
        assert_eq!(trips.figures().ipdv_up.map(|series| (series.n, series.max)), Some((2, 30)));
    }

    #[test]
    fn each_probe_is_counted_once() {
        let mut trips = session();
        let counts = Counts { sent: 5, received: 4, lost_up: 1, ..Counts::default() };
        assert_eq!(trips.counts(), counts);
        trips.take(&reply(4, 40_000, 100, 300));
        assert_eq!(trips.counts(), Counts { duplicates: 1, ..counts });
        let Update::Reply { mut echo, .. } = reply(3, 30_000, 100, 300) else { unreachable!() };
        echo.sent = None;
        trips.take(&Update::Reply { echo, tos: Some(0x23), ttl: Some(50) });
        let counts = trips.counts();
        assert_eq!((counts.received, counts.lost_up, counts.reordered), (5, 0, 1), "late, and there");
        assert_eq!(trips.delays(&trips.all()[3]).rtt, Some(400));
        let marks = trips.marks();
        assert_eq!((marks.dscp_changed, marks.dscp_seen, marks.ce), (1, Some(8), 1));
        assert_eq!((marks.ttl_min, marks.ttl_max), (Some(50), Some(60)));
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

    /// A server whose clocks gain 100 ppm, for 30 s.
    #[test]
    fn drift_is_subtracted_from_the_rise_and_reported() {
        let mut trips = Trips::new(Layout::FULL, 0);
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

    #[test]
    fn statistics_are_the_usual_ones() {
        assert_eq!(Series::of(Vec::new()), None);
        let one = Series::of(vec![7]).unwrap();
        assert_eq!((one.min, one.median, one.p99, one.stddev), (7, 7, 7, 0.0));
        let series = Series::of((1..=100).rev().collect()).unwrap();
        assert_eq!((series.median, series.p95, series.p99, series.total), (50, 95, 99, 5050));
        assert!((series.mean - 50.5).abs() < 1e-9 && (series.stddev - 29.011_491_975_882_016).abs() < 1e-9);
    }
}

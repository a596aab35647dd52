//! The figures of a run that claims are about, by name.

mod air;
mod flows;

use std::str::FromStr;

use goodqueue::{Bytes, Rate, Span};
use goodqueue_report::{Direction, Record, Run, Sojourn, Summary};

/// What a figure is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Time,
    /// Bits per second.
    Rate,
    /// Bytes.
    Bytes,
    /// A share of one.
    Share,
    /// A bare number.
    Number,
}

impl Unit {
    /// A value as written in an experiment file, in tc's words.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(self, text: &str) -> Result<f64, String> {
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        match self {
            Unit::Time => text.parse::<Span>().map(|span| span.0 as f64).map_err(|error| error.to_string()),
            Unit::Rate => text.parse::<Rate>().map(|rate| rate.0 as f64).map_err(|error| error.to_string()),
            Unit::Bytes => {
                text.parse::<Bytes>().map(|bytes| bytes.0 as f64).map_err(|error| error.to_string())
            }
            Unit::Share => match text.strip_suffix('%') {
                Some(percent) => number(percent).map(|percent| percent / 100.0),
                None => number(text),
            }
            .ok_or_else(|| "not a share; write it as in 78.6%".into()),
            Unit::Number => number(text).ok_or_else(|| "not a number".into()),
        }
    }

    /// A value for people: the number, without its unit where `bare`.
    #[must_use]
    pub fn words(self, value: f64, bare: bool) -> String {
        let (value, digits, unit) = match self {
            Unit::Time => (value / 1e6, digits(value / 1e6), " ms"),
            Unit::Rate if value >= 1e6 || bare => (value / 1e6, digits(value / 1e6), " Mbit/s"),
            Unit::Rate => (value / 1e3, 0, " kbit/s"),
            Unit::Bytes => (value / 1e3, digits(value / 1e3), " kB"),
            Unit::Share => (value * 100.0, if (1e-9..0.01).contains(&value.abs()) { 2 } else { 1 }, " %"),
            Unit::Number => (value, digits(value), ""),
        };
        let shown = format!("{value:.digits$}");
        // What is rounded to zero has no sign.
        let is_zero = shown.bytes().all(|byte| matches!(byte, b'-' | b'0' | b'.'));
        let shown = if is_zero { shown.replace('-', "") } else { shown };
        if bare { shown } else { shown + unit }
    }
}

/// Decimals that make about three significant digits.
fn digits(value: f64) -> usize {
    match value.abs() {
        0.0..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    }
}

/// A figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Median rise of the round trip.
    RiseP50,
    /// 95th percentile of it.
    RiseP95,
    /// Median rise of the one-way delay to the server.
    RiseUpP50,
    /// The same, to the client.
    RiseDownP50,
    /// Median round trip under load.
    RttP50,
    /// Median of TCP's own round-trip times under load.
    TcpRttP50,
    /// 95th percentile of them.
    TcpRttP95,
    /// Median sojourn in the queue towards the server in which packets waited longest.
    SojournUpP50,
    /// 95th percentile of it.
    SojournUpP95,
    /// Median sojourn in the queue towards the client in which packets waited longest.
    SojournDownP50,
    /// 95th percentile of it.
    SojournDownP95,
    /// Median of the round-trip times of scalable flows' TCP under load.
    L4sRttP50,
    /// Goodput of a scalable flow over that of another.
    L4sShare,
    /// Median round trip before the load.
    Idle,
    /// Goodput to the server.
    GoodputUp,
    /// Goodput to the client.
    GoodputDown,
    /// Use of the line to the server.
    UtilisationUp,
    /// Bytes in the device ring towards the server.
    RingUp,
    /// The slowest newcomer's way to its share.
    TimeToShare,
    /// Jain's index while all flows run.
    JainTogether,
    /// The farthest that the goodput of a flow with a rate of its own is off that.
    RateError,
    /// Packets that the queue to the server dropped, of those that came to it.
    LossUp,
    /// What the host with the least goodput to servers has of that with the most.
    HostShareUp,
    /// The same, of goodput from servers.
    HostShareDown,
    /// Part of the airtime of all stations, from the start of the load to its end, that the stations of the claim have.
    AirtimeShare,
    /// Time until that share stays where it ends up.
    AirtimeSettle,
    /// Jain's index over the airtime of stations.
    AirtimeJain,
    /// Jain's index over what the access point's scheduler has counted of them.
    CountedJain,
    /// Mean number of MPDUs in an aggregate to the stations.
    Aggregate,
    /// Payload of all flows of the stations, by time; without flows, what was delivered to them.
    GoodputStation,
    /// Median round trip of the stations' probes under load, pooled.
    PingP50,
    /// 95th percentile of them.
    PingP95,
    /// Mean opinion score (E-model) of what the server heard of a call; of several the worst.
    MosUp,
    /// Mean opinion score of what the client heard; of several the worst.
    MosDown,
    /// Median page load time under load; of several pages the slowest.
    PageLoad,
    /// Mean bit rate that a video's player selected; of several the lowest.
    VideoBitrate,
    /// How often it selected another bit rate; of several the most.
    VideoChanges,
    /// How long playback of a video stalled; of several videos the longest.
    VideoStalled,
    /// How often the picture of a video call froze; of both ways and of several the most.
    CallFreezes,
    /// Mean bit rate of a video call's media that the server got; of several the lowest.
    CallBitrateUp,
    /// The same that the client got.
    CallBitrateDown,
    /// 95th percentile of a video call's delay from capture to being shown; of several the longest.
    CallDelayP95,
    /// Share of a game's ticks that came more than one tick late or never; of several the largest.
    GameLate,
    /// Mean opinion score (G-model) of a game; of several the worst.
    GameScore,
}

impl Figure {
    /// All of them.
    pub const ALL: [Figure; 44] = [
        Figure::RiseP50,
        Figure::RiseP95,
        Figure::RiseUpP50,
        Figure::RiseDownP50,
        Figure::RttP50,
        Figure::TcpRttP50,
        Figure::TcpRttP95,
        Figure::SojournUpP50,
        Figure::SojournUpP95,
        Figure::SojournDownP50,
        Figure::SojournDownP95,
        Figure::L4sRttP50,
        Figure::L4sShare,
        Figure::Idle,
        Figure::GoodputUp,
        Figure::GoodputDown,
        Figure::UtilisationUp,
        Figure::RingUp,
        Figure::TimeToShare,
        Figure::JainTogether,
        Figure::RateError,
        Figure::LossUp,
        Figure::HostShareUp,
        Figure::HostShareDown,
        Figure::AirtimeShare,
        Figure::AirtimeSettle,
        Figure::AirtimeJain,
        Figure::CountedJain,
        Figure::Aggregate,
        Figure::GoodputStation,
        Figure::PingP50,
        Figure::PingP95,
        Figure::MosUp,
        Figure::MosDown,
        Figure::PageLoad,
        Figure::VideoBitrate,
        Figure::VideoChanges,
        Figure::VideoStalled,
        Figure::CallFreezes,
        Figure::CallBitrateUp,
        Figure::CallBitrateDown,
        Figure::CallDelayP95,
        Figure::GameLate,
        Figure::GameScore,
    ];

    /// As written, its unit, and what it is.
    fn info(self) -> (&'static str, Unit, &'static str) {
        match self {
            Figure::RiseP50 => {
                ("rise_p50", Unit::Time, "median rise of the round trip under load over its idle median")
            }
            Figure::RiseP95 => {
                ("rise_p95", Unit::Time, "95th percentile of that rise: what a standing queue reaches")
            }
            Figure::RiseUpP50 => {
                ("rise_up_p50", Unit::Time, "median rise of the one-way delay to the server")
            }
            Figure::RiseDownP50 => {
                ("rise_down_p50", Unit::Time, "median rise of the one-way delay to the client")
            }
            Figure::RttP50 => ("rtt_p50", Unit::Time, "median round trip under load"),
            Figure::TcpRttP50 => (
                "tcp_rtt_p50",
                Unit::Time,
                "median of the flows' smoothed round-trip times (srtt) under load",
            ),
            Figure::TcpRttP95 => {
                ("tcp_rtt_p95", Unit::Time, "95th percentile of them: the steps of all flows pooled")
            }
            Figure::SojournUpP50 => (
                "sojourn_up_p50",
                Unit::Time,
                "median time under load from a packet's arrival at a queue until the line begins it, in the queue towards \
                 the server in which packets wait longest on average",
            ),
            Figure::SojournUpP95 => ("sojourn_up_p95", Unit::Time, "95th percentile of that time"),
            Figure::SojournDownP50 => ("sojourn_down_p50", Unit::Time, "the same median, towards the client"),
            Figure::SojournDownP95 => ("sojourn_down_p95", Unit::Time, "95th percentile of that time"),
            Figure::L4sRttP50 => (
                "l4s_rtt_p50",
                Unit::Time,
                "median round trip under load that TCP itself measured on scalable flows (dctcp, prague)",
            ),
            Figure::L4sShare => (
                "l4s_share",
                Unit::Number,
                "goodput of a scalable flow over that of another, on average, while all flows run",
            ),
            Figure::Idle => ("idle", Unit::Time, "median round trip before the load"),
            Figure::GoodputUp => {
                ("goodput_up", Unit::Rate, "payload of all flows that the server received, by time")
            }
            Figure::GoodputDown => {
                ("goodput_down", Unit::Rate, "payload of all flows that the client received, by time")
            }
            Figure::UtilisationUp => (
                "utilisation_up",
                Unit::Share,
                "share of the time in which the line to the server was at work",
            ),
            Figure::RingUp => (
                "ring_up",
                Unit::Bytes,
                "largest number of bytes seen in the device ring, looked at every 100 ms",
            ),
            Figure::TimeToShare => (
                "time_to_share",
                Unit::Time,
                "the longest that a flow which begins beside others needs until, over one second, it has half of an \
                 equal share of the goodput of all; its whole life where it never has (half: flows are hashed into \
                 hardware queues, and with four of them one of four flows may be left two thirds of its share)",
            ),
            Figure::JainTogether => (
                "jain_together",
                Unit::Number,
                "Jain's index over the bytes that flows sent while all of them ran",
            ),
            Figure::RateError => (
                "rate_error",
                Unit::Share,
                "of the flows that are held to a rate (`rate`), the one whose goodput is farthest off it: by what part of it, \
                 from 2 s after the last began on",
            ),
            Figure::LossUp => (
                "loss_up",
                Unit::Share,
                "packets that the queue to the server dropped under load, of those that it dropped or sent",
            ),
            Figure::HostShareUp => (
                "host_share_up",
                Unit::Share,
                "goodput to servers of the host with the least over that of the host with the most: client and server, client2 and server2, and so on",
            ),
            Figure::HostShareDown => ("host_share_down", Unit::Share, "the same, of goodput from servers"),
            Figure::AirtimeShare => (
                "airtime_share",
                Unit::Share,
                "part of the airtime of all stations that the stations of the claim have, from the start of the load to its end \
                 or in the claim's window",
            ),
            Figure::AirtimeSettle => (
                "airtime_settle",
                Unit::Time,
                "time from the start of the claim's window until the stations' part of the airtime, over half a second, \
                 stays within 3 points of what it is in the window's second half",
            ),
            Figure::AirtimeJain => {
                ("airtime_jain", Unit::Number, "Jain's index over the airtime of stations")
            }
            Figure::CountedJain => (
                "counted_jain",
                Unit::Number,
                "Jain's index over the airtime of stations as the access point's scheduler counts it: what is sent to them, \
                 attempts in vain included, and each frame from them with a preamble of its own",
            ),
            Figure::Aggregate => {
                ("aggregate", Unit::Number, "mean number of MPDUs in an aggregate to the stations")
            }
            Figure::GoodputStation => (
                "goodput_station",
                Unit::Rate,
                "payload of all flows of the stations, by time; without flows, what was delivered to them",
            ),
            Figure::PingP50 => {
                ("ping_p50", Unit::Time, "median round trip of the stations' probes under load, pooled")
            }
            Figure::PingP95 => ("ping_p95", Unit::Time, "95th percentile of them"),
            Figure::MosUp => (
                "mos_up",
                Unit::Number,
                "mean opinion score (E-model) of what the server heard of a call; of several the worst",
            ),
            Figure::MosDown => (
                "mos_down",
                Unit::Number,
                "mean opinion score of what the client heard; of several the worst",
            ),
            Figure::PageLoad => {
                ("page_load", Unit::Time, "median page load time under load; of several pages the slowest")
            }
            Figure::VideoBitrate => (
                "video_bitrate",
                Unit::Rate,
                "mean bit rate that the video's player selected under load; of several the lowest",
            ),
            Figure::VideoChanges => (
                "video_changes",
                Unit::Number,
                "how often it selected another bit rate than for the segment before; of several the most",
            ),
            Figure::VideoStalled => (
                "video_stalled",
                Unit::Time,
                "how long playback stalled in all; of several videos the longest",
            ),
            Figure::CallFreezes => (
                "call_freezes",
                Unit::Number,
                "how often the picture of a video call froze under load; of both ways and of several the most",
            ),
            Figure::CallBitrateUp => (
                "call_bitrate_up",
                Unit::Rate,
                "mean bit rate of a video call's media that the server got; of several the lowest",
            ),
            Figure::CallBitrateDown => (
                "call_bitrate_down",
                Unit::Rate,
                "mean bit rate of a video call's media that the client got; of several the lowest",
            ),
            Figure::CallDelayP95 => (
                "call_delay_p95",
                Unit::Time,
                "95th percentile of a video call's delay from capture to being shown; of both ways and of several the longest",
            ),
            Figure::GameLate => (
                "game_late",
                Unit::Number,
                "share of a game's ticks that came more than one tick late or never, 0 to 1; of both ways and of several the largest",
            ),
            Figure::GameScore => (
                "game_score",
                Unit::Number,
                "mean opinion score (G-model) of a game under load; of several the worst",
            ),
        }
    }

    /// As written.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.info().0
    }

    /// What it is counted in.
    #[must_use]
    pub fn unit(self) -> Unit {
        self.info().1
    }

    /// What it is.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        self.info().2
    }

    /// Whether it is one of the air or of stations, some of which a claim may name.
    #[must_use]
    pub fn is_of_stations(self) -> bool {
        Figure::ALL.iter().position(|&figure| figure == Figure::AirtimeShare)
            <= Figure::ALL.iter().position(|&figure| figure == self)
    }

    /// Whether a claim may name a window of it.
    #[must_use]
    pub fn takes_window(self) -> bool {
        let is_of_goodput = matches!(self, Figure::GoodputUp | Figure::GoodputDown);
        let is_of_video = matches!(self, Figure::VideoBitrate | Figure::VideoChanges);
        matches!(self, Figure::AirtimeShare | Figure::AirtimeJain | Figure::PingP50 | Figure::PingP95)
            || is_of_goodput
            || is_of_video
            || self.needs_window()
    }

    /// Whether a claim has to.
    #[must_use]
    pub fn needs_window(self) -> bool {
        self == Figure::AirtimeSettle
    }

    /// Its value in `run`, one of `record`'s, for these stations (none: all) and in this window, ns from the start of the
    /// load (none: all of the load); `None` where the run has none.
    #[must_use]
    pub fn of(
        self,
        record: &Record,
        run: &Run,
        stations: &[usize],
        window: Option<(i64, i64)>,
    ) -> Option<f64> {
        let summary = Summary::of(record, run);
        let time = |ns: Option<i64>| ns.map(|ns| ns as f64);
        match self {
            Figure::RiseP50 => time(summary.rtt.added_p50_ns),
            Figure::RiseP95 => time(summary.rtt.added_p95_ns),
            Figure::RiseUpP50 => time(summary.up.added_p50_ns),
            Figure::RiseDownP50 => time(summary.down.added_p50_ns),
            Figure::RttP50 => time(summary.rtt.p50_ns),
            Figure::TcpRttP50 => time(summary.tcp_rtt.p50_ns),
            Figure::TcpRttP95 => time(summary.tcp_rtt.p95_ns),
            Figure::SojournUpP50 => sojourn(summary.sojourn_up, |sojourn| sojourn.p50_ns),
            Figure::SojournUpP95 => sojourn(summary.sojourn_up, |sojourn| sojourn.p95_ns),
            Figure::SojournDownP50 => sojourn(summary.sojourn_down, |sojourn| sojourn.p50_ns),
            Figure::SojournDownP95 => sojourn(summary.sojourn_down, |sojourn| sojourn.p95_ns),
            Figure::L4sRttP50 => {
                let scalable = flows::scalable(record, run);
                flows::tcp_rtt(scalable, summary.loaded_from_ns..summary.loaded_to_ns)
            }
            Figure::L4sShare => flows::l4s_share(record, run),
            Figure::Idle => time(summary.rtt.idle_ns),
            Figure::GoodputUp => flows::goodput(record, run, Direction::Up, window, summary.goodput_up_bps),
            Figure::GoodputDown => {
                flows::goodput(record, run, Direction::Down, window, summary.goodput_down_bps)
            }
            Figure::UtilisationUp => summary.queue_up.utilisation,
            Figure::RingUp => flows::ring_up(run, summary.loaded_from_ns..summary.loaded_to_ns),
            Figure::TimeToShare => flows::time_to_share(record, run).map(|ns| ns as f64),
            Figure::JainTogether => flows::jain_together(record, run),
            Figure::RateError => flows::rate_error(record, run),
            Figure::LossUp => flows::loss(&run.up, summary.loaded_from_ns..summary.loaded_to_ns),
            Figure::HostShareUp => flows::host_share(record, &summary, Direction::Up),
            Figure::HostShareDown => flows::host_share(record, &summary, Direction::Down),
            Figure::AirtimeShare => air::share(run, stations, window),
            Figure::AirtimeSettle => air::settle(run, stations, window?),
            Figure::AirtimeJain => air::jain(run, stations, window),
            Figure::CountedJain => air::counted_jain(run, stations),
            Figure::Aggregate => air::aggregate(run, stations),
            Figure::GoodputStation => air::goodput(run, &summary, stations),
            Figure::PingP50 => air::ping(run, &summary, stations, window, 500),
            Figure::PingP95 => air::ping(run, &summary, stations, window, 950),
            Figure::MosUp => air::mos(record, &summary, stations, false),
            Figure::MosDown => air::mos(record, &summary, stations, true),
            Figure::PageLoad => air::page_load(record, &summary, stations),
            Figure::VideoBitrate => {
                let videos = air::videos(record, run, &summary, stations, window);
                videos.iter().filter_map(|video| video.bitrate_mean_bps).min().map(|bps| bps as f64)
            }
            Figure::VideoChanges => {
                let videos = air::videos(record, run, &summary, stations, window);
                videos.iter().map(|video| video.changes).max().map(|changes| changes as f64)
            }
            Figure::CallFreezes => {
                let ways = air::calls(record, &summary, stations);
                ways.iter().map(|(_, way)| way.freezes).max().map(|freezes| freezes as f64)
            }
            Figure::CallBitrateUp | Figure::CallBitrateDown => {
                let ways = air::calls(record, &summary, stations);
                let is_down = self == Figure::CallBitrateDown;
                let rates = ways.iter().filter(|(down, _)| *down == is_down);
                rates.filter_map(|(_, way)| way.bitrate_bps).min().map(|bps| bps as f64)
            }
            Figure::CallDelayP95 => {
                let ways = air::calls(record, &summary, stations);
                time(ways.iter().filter_map(|(_, way)| way.delay_p95_ns).max())
            }
            Figure::GameLate => {
                let games = air::games(record, &summary, stations);
                let shares = games.iter().flat_map(|game| [game.up.late_share, game.down.late_share]);
                shares.flatten().max_by(f64::total_cmp)
            }
            Figure::GameScore => {
                let games = air::games(record, &summary, stations);
                games.iter().filter_map(|game| game.mos).min_by(f64::total_cmp)
            }
            Figure::VideoStalled => {
                let videos = air::videos(record, run, &summary, stations, None);
                time(videos.iter().map(|video| video.stalled_ns).max())
            }
        }
    }
}

/// One figure of a distribution of sojourn times; `None` where none was measured.
fn sojourn(of: Option<Sojourn>, figure: fn(Sojourn) -> u64) -> Option<f64> {
    of.filter(|sojourn| sojourn.n > 0).map(|sojourn| figure(sojourn) as f64)
}

impl FromStr for Figure {
    type Err = String;

    fn from_str(word: &str) -> Result<Figure, String> {
        let known = Figure::ALL.map(Figure::name);
        let found = Figure::ALL.into_iter().find(|figure| figure.name() == word);
        found.ok_or_else(|| {
            format!(
                "no such figure{}; there are {}",
                crate::hint::did_you_mean(word, &known),
                known.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_and_said_in_their_units() {
        assert_eq!(Unit::Time.parse("121ms"), Ok(121e6));
        assert_eq!(Unit::Rate.parse("104.1mbit"), Ok(104.1e6));
        assert_eq!(Unit::Share.parse("75%"), Ok(0.75));
        assert!(Unit::Number.parse("inf").is_err());
        assert_eq!(Unit::Time.words(121e6, false), "121 ms");
        assert_eq!(Unit::Time.words(-1.0, true), "0.00");
        assert_eq!(Unit::Rate.words(7.2e6, false), "7.20 Mbit/s");
        assert_eq!(Unit::Share.words(0.786, false), "78.6 %");
        assert_eq!(Unit::Number.words(0.917, false), "0.92");
    }
}

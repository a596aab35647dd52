//! The figures of a run that claims can refer to, by name.

mod air;
mod flows;

use std::fmt;
use std::str::FromStr;

use goodqueue::{Bytes, Rate, Span};
use goodqueue_report::{Direction, Record, Run, Sojourn, Summary, TransferSummary};

/// The unit of a figure.
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
    /// A value as written in an experiment file, in tc's syntax.
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

    /// A value for people: the number, without its unit if `bare`.
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
        // A value rounded to zero has no sign.
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

/// The data from which a figure is computed.
struct From<'a> {
    record: &'a Record,
    run: &'a Run,
    summary: &'a Summary,
    /// None: all.
    stations: &'a [usize],
    /// In ns from the start of the load; `None`: all of it.
    window: Option<(i64, i64)>,
}

impl From<'_> {
    /// The interval under load, without its ramp.
    fn loaded(&self) -> std::ops::Range<i64> {
        self.summary.loaded_from_ns..self.summary.loaded_to_ns
    }
}

/// Whether a claim names a part of the load's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Window {
    Never,
    Maybe,
    Always,
}

/// A figure of a run: one entry of [`FIGURES`].
#[derive(Clone, Copy)]
pub struct Figure {
    /// Its name in files.
    pub name: &'static str,
    /// What it measures, in a few plain words.
    pub in_short: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Its definition.
    pub meaning: &'static str,
    /// Whether it is a figure of the air or of stations; a claim may name some of these.
    pub is_of_stations: bool,
    /// Whether it is a delay that includes the base delay of the path.
    pub has_base: bool,
    window: Window,
    value: fn(&From<'_>) -> Option<f64>,
    /// Its lower bound, if it has no value because something had not ended; `None`: it always ends.
    above: fn(&From<'_>) -> Option<f64>,
}

/// A figure of the whole network and the whole load.
const fn figure(
    name: &'static str,
    in_short: &'static str,
    unit: Unit,
    meaning: &'static str,
    value: fn(&From<'_>) -> Option<f64>,
) -> Figure {
    let (is_of_stations, has_base, window) = (false, false, Window::Never);
    Figure { name, in_short, unit, meaning, is_of_stations, has_base, window, value, above: |_| None }
}

impl Figure {
    /// A claim may name stations.
    const fn of_stations(self) -> Figure {
        Figure { is_of_stations: true, ..self }
    }

    /// It includes the base delay of the path.
    const fn with_base(self) -> Figure {
        Figure { has_base: true, ..self }
    }

    /// It may have only a known lower bound.
    const fn above(self, above: fn(&From<'_>) -> Option<f64>) -> Figure {
        Figure { above, ..self }
    }

    /// A claim may, or must, name a window.
    const fn window(self, window: Window) -> Figure {
        Figure { window, ..self }
    }
}

/// Every figure.
pub const FIGURES: &[Figure] = &[
    figure(
        "rise_p50",
        "median added delay",
        Unit::Time,
        "median rise of the round trip under load over its idle median",
        |of| time(of.summary.rtt.added_p50_ns),
    ),
    figure(
        "rise_p95",
        "added delay, 95th percentile",
        Unit::Time,
        "95th percentile of the rise of the round trip under load over its idle median; close to the \
         peak of a standing queue",
        |of| time(of.summary.rtt.added_p95_ns),
    ),
    figure(
        "rise_up_p50",
        "median added delay to the server",
        Unit::Time,
        "median rise of the one-way delay to the server",
        |of| time(of.summary.up.added_p50_ns),
    ),
    figure(
        "rise_down_p50",
        "median added delay to the client",
        Unit::Time,
        "median rise of the one-way delay to the client",
        |of| time(of.summary.down.added_p50_ns),
    ),
    figure("rtt_p50", "median ping", Unit::Time, "median round trip under load", |of| {
        time(of.summary.rtt.p50_ns)
    })
    .with_base(),
    figure(
        "tcp_rtt_p50",
        "TCP's own round trip, median",
        Unit::Time,
        "median of the flows' smoothed round-trip times (srtt) under load",
        |of| time(of.summary.tcp_rtt.p50_ns),
    )
    .with_base(),
    figure(
        "tcp_rtt_p95",
        "TCP's own round trip, 95th percentile",
        Unit::Time,
        "95th percentile of the flows' smoothed round-trip times (srtt) under load, over the steps of all \
         flows together",
        |of| time(of.summary.tcp_rtt.p95_ns),
    )
    .with_base(),
    figure(
        "sojourn_up_p50",
        "wait in the upload's queue, median",
        Unit::Time,
        "median wait under load in the queue towards the server, from a packet's arrival until the line \
         begins to send it; of several queues, the one in which packets wait longest on average",
        |of| sojourn(of.summary.sojourn_up, |sojourn| sojourn.p50_ns),
    ),
    figure(
        "sojourn_up_p95",
        "wait in the upload's queue, 95th percentile",
        Unit::Time,
        "95th percentile of the wait under load in the queue towards the server",
        |of| sojourn(of.summary.sojourn_up, |sojourn| sojourn.p95_ns),
    ),
    figure(
        "sojourn_down_p50",
        "wait in the download's queue, median",
        Unit::Time,
        "median wait under load in the queue towards the client, from a packet's arrival until the line \
         begins to send it; of several queues, the one in which packets wait longest on average",
        |of| sojourn(of.summary.sojourn_down, |sojourn| sojourn.p50_ns),
    ),
    figure(
        "sojourn_down_p95",
        "wait in the download's queue, 95th percentile",
        Unit::Time,
        "95th percentile of the wait under load in the queue towards the client",
        |of| sojourn(of.summary.sojourn_down, |sojourn| sojourn.p95_ns),
    ),
    figure(
        "l4s_rtt_p50",
        "round trip of scalable flows, median",
        Unit::Time,
        "median round trip under load that TCP itself measured on scalable flows (dctcp, prague)",
        |of| {
            let scalable = flows::scalable(of.record, of.run);
            flows::tcp_rtt(scalable, of.loaded())
        },
    )
    .with_base(),
    figure(
        "l4s_share",
        "goodput of a scalable flow relative to another",
        Unit::Number,
        "mean goodput of a scalable flow divided by that of any other flow, while all flows run",
        |of| flows::l4s_share(of.record, of.run),
    ),
    figure("idle", "ping before the load, median", Unit::Time, "median round trip before the load", |of| {
        time(of.summary.rtt.idle_ns)
    })
    .with_base(),
    figure(
        "goodput_up",
        "goodput, upload",
        Unit::Rate,
        "payload of all flows that the server received, per second",
        |of| flows::goodput(of.record, of.run, Direction::Up, of.window, of.summary.goodput_up_bps),
    )
    .window(Window::Maybe),
    figure(
        "goodput_down",
        "goodput, download",
        Unit::Rate,
        "payload of all flows that the client received, per second",
        |of| flows::goodput(of.record, of.run, Direction::Down, of.window, of.summary.goodput_down_bps),
    )
    .window(Window::Maybe),
    figure(
        "utilisation_up",
        "use of the upload's line",
        Unit::Share,
        "share of the time in which the line to the server was busy",
        |of| of.summary.queue_up.utilisation,
    ),
    figure(
        "ring_up",
        "bytes in the device ring, the most",
        Unit::Bytes,
        "largest number of bytes in the device ring, sampled every 100 ms",
        |of| flows::ring_up(of.run, of.loaded()),
    ),
    figure(
        "time_to_share",
        "time to half of an equal share, the longest",
        Unit::Time,
        "longest time that a flow which starts while others run needs to get half of an equal share of \
         the total goodput, over one second; its whole duration if it never does. Half, because flows are \
         hashed into hardware queues: with four of them, one of four flows may get only two thirds of its \
         share",
        |of| flows::time_to_share(of.record, of.run).map(|ns| ns as f64),
    ),
    figure(
        "jain_together",
        "fairness between flows (Jain's index)",
        Unit::Number,
        "Jain's index over the bytes that flows sent while all of them ran",
        |of| flows::jain_together(of.record, of.run),
    ),
    figure(
        "flows_served",
        "flows that moved data",
        Unit::Number,
        "number of flows of which any payload arrived",
        |of| Some(flows::served(of.run) as f64),
    ),
    figure(
        "rate_error",
        "error of a flow's rate, the largest",
        Unit::Share,
        "largest relative error of a flow's goodput, among the flows with a `rate`, from 2 s after \
         the last flow starts",
        |of| flows::rate_error(of.record, of.run),
    ),
    figure(
        "loss_up",
        "packets lost, upload",
        Unit::Share,
        "share of packets that the queue to the server dropped under load, of those that it \
         dropped or sent",
        |of| flows::loss(&of.run.up, of.loaded()),
    ),
    figure(
        "host_share_up",
        "upload of the host with the least relative to the most",
        Unit::Share,
        "goodput to servers of the host with the least, divided by that of the host with the most; \
         client and server are one host, client2 and server2 the next, and so on",
        |of| flows::host_share(of.record, of.summary, Direction::Up),
    ),
    figure(
        "host_share_down",
        "download of the host with the least relative to the most",
        Unit::Share,
        "goodput from servers of the host with the least, divided by that of the host with the most",
        |of| flows::host_share(of.record, of.summary, Direction::Down),
    ),
    figure(
        "airtime_share",
        "share of the airtime",
        Unit::Share,
        "share of all stations' airtime that the claim's stations have, from the start of the load \
         to its end or in the claim's window",
        |of| air::share(of.run, of.stations, of.window),
    )
    .of_stations()
    .window(Window::Maybe),
    figure(
        "airtime_settle",
        "time until the share of the airtime settles",
        Unit::Time,
        "time from the start of the claim's window until the stations' share of the airtime, over \
         half a second, stays within 3 points of its value in the window's second half",
        |of| air::settle(of.run, of.stations, of.window?),
    )
    .of_stations()
    .window(Window::Always),
    figure(
        "airtime_jain",
        "fairness of airtime (Jain's index)",
        Unit::Number,
        "Jain's index over the airtime of stations",
        |of| air::jain(of.run, of.stations, of.window),
    )
    .of_stations()
    .window(Window::Maybe),
    figure(
        "counted_jain",
        "fairness of counted airtime (Jain's index)",
        Unit::Number,
        "Jain's index over the airtime of stations as the access point's scheduler counts it: \
         transmissions to them, failed attempts included, and each frame from them with a \
         preamble of its own",
        |of| air::counted_jain(of.run, of.stations),
    )
    .of_stations(),
    figure(
        "aggregate",
        "frames in an aggregate, mean",
        Unit::Number,
        "mean number of MPDUs in an aggregate to the stations",
        |of| air::aggregate(of.run, of.stations),
    )
    .of_stations(),
    figure(
        "goodput_station",
        "goodput of stations",
        Unit::Rate,
        "payload of all flows of the stations, per second; without flows, the bytes delivered to them",
        |of| air::goodput(of.run, of.summary, of.stations),
    )
    .of_stations(),
    figure(
        "ping_p50",
        "median ping",
        Unit::Time,
        "median round trip of all probes under load; over Wi-Fi, of those of the stations",
        |of| air::ping(of.run, of.summary, of.stations, of.window, 500),
    )
    .of_stations()
    .with_base()
    .window(Window::Maybe),
    figure(
        "ping_p95",
        "95th percentile of pings",
        Unit::Time,
        "95th percentile of the round trips of all probes under load; over Wi-Fi, of those of the stations",
        |of| air::ping(of.run, of.summary, of.stations, of.window, 950),
    )
    .of_stations()
    .with_base()
    .window(Window::Maybe),
    figure(
        "mos_up",
        "call quality (MOS), upload",
        Unit::Number,
        "mean opinion score (E-model) of a call as the server heard it; of several calls, the worst",
        |of| air::mos(of.record, of.summary, of.stations, false),
    )
    .of_stations(),
    figure(
        "mos_down",
        "call quality (MOS), download",
        Unit::Number,
        "mean opinion score of a call as the client heard it; of several calls, the worst",
        |of| air::mos(of.record, of.summary, of.stations, true),
    )
    .of_stations(),
    figure(
        "page_load",
        "page load time, median",
        Unit::Time,
        "median page load time under load, with pages that did not end as longer than they were watched \
         (product-limit estimate); of several pages, the slowest",
        |of| air::page_load(of.record, of.summary, of.stations),
    )
    .of_stations()
    .above(|of| air::page_watched(of.record, of.summary, of.stations)),
    figure(
        "video_bitrate",
        "bit rate of the video, mean",
        Unit::Rate,
        "mean bit rate that the video's player selected under load; of several videos, the lowest",
        |of| {
            let videos = air::videos(of.record, of.run, of.summary, of.stations, of.window);
            videos.iter().filter_map(|video| video.bitrate_mean_bps).min().map(|bps| bps as f64)
        },
    )
    .of_stations()
    .window(Window::Maybe),
    figure(
        "video_changes",
        "changes of the video's bit rate",
        Unit::Number,
        "how often the player changed the bit rate between segments; of several videos, the most",
        |of| {
            let videos = air::videos(of.record, of.run, of.summary, of.stations, of.window);
            videos.iter().map(|video| video.changes).max().map(|changes| changes as f64)
        },
    )
    .of_stations()
    .window(Window::Maybe),
    figure(
        "video_stalled",
        "time for which the video stalled",
        Unit::Time,
        "total time for which playback stalled; of several videos, the longest",
        |of| {
            let videos = air::videos(of.record, of.run, of.summary, of.stations, None);
            time(videos.iter().map(|video| video.stalled_ns).max())
        },
    )
    .of_stations(),
    figure(
        "call_freezes",
        "freezes of the video call",
        Unit::Number,
        "how often the picture of a video call froze under load; of both directions and of several \
         calls, the most",
        |of| {
            let ways = air::calls(of.record, of.summary, of.stations);
            ways.iter().map(|(_, way)| way.freezes).max().map(|freezes| freezes as f64)
        },
    )
    .of_stations(),
    figure(
        "call_bitrate_up",
        "bit rate of the video call, upload",
        Unit::Rate,
        "mean bit rate of a video call's media that the server got; of several calls, the lowest",
        |of| {
            let ways = air::calls(of.record, of.summary, of.stations);
            let is_down = false;
            let rates = ways.iter().filter(|(down, _)| *down == is_down);
            rates.filter_map(|(_, way)| way.bitrate_bps).min().map(|bps| bps as f64)
        },
    )
    .of_stations(),
    figure(
        "call_bitrate_down",
        "bit rate of the video call, download",
        Unit::Rate,
        "mean bit rate of a video call's media that the client got; of several calls, the lowest",
        |of| {
            let ways = air::calls(of.record, of.summary, of.stations);
            let is_down = true;
            let rates = ways.iter().filter(|(down, _)| *down == is_down);
            rates.filter_map(|(_, way)| way.bitrate_bps).min().map(|bps| bps as f64)
        },
    )
    .of_stations(),
    figure(
        "call_delay_p95",
        "delay of the video call, 95th percentile",
        Unit::Time,
        "95th percentile of a video call's delay from capture to display; of both directions and of \
         several calls, the longest",
        |of| {
            let ways = air::calls(of.record, of.summary, of.stations);
            time(ways.iter().filter_map(|(_, way)| way.delay_p95_ns).max())
        },
    )
    .of_stations(),
    figure(
        "game_late",
        "late ticks of the game",
        Unit::Number,
        "share of a game's ticks that came more than one tick late or never, 0 to 1; of both \
         directions and of several games, the largest",
        |of| {
            let games = air::games(of.record, of.summary, of.stations);
            let shares = games.iter().flat_map(|game| [game.up.late_share, game.down.late_share]);
            shares.flatten().max_by(f64::total_cmp)
        },
    )
    .of_stations(),
    figure(
        "game_score",
        "game quality (MOS)",
        Unit::Number,
        "mean opinion score (G-model) of a game under load; of several games, the worst",
        |of| {
            let games = air::games(of.record, of.summary, of.stations);
            games.iter().filter_map(|game| game.mos).min_by(f64::total_cmp)
        },
    )
    .of_stations(),
    figure(
        "fct_mean",
        "flow completion time, mean",
        Unit::Time,
        "mean flow completion time of all [[traffic]], of flows that ended",
        |of| time(of.summary.transfers.mean_ns),
    )
    .with_base(),
    figure(
        "fct_p50",
        "flow completion time, median",
        Unit::Time,
        "its median; flows that had not ended are slower than all others",
        |of| time(of.summary.transfers.p50_ns),
    )
    .with_base(),
    figure("fct_p95", "flow completion time, 95th percentile", Unit::Time, "its 95th percentile", |of| {
        time(of.summary.transfers.p95_ns)
    })
    .with_base(),
    figure("fct_p99", "flow completion time, 99th percentile", Unit::Time, "its 99th percentile", |of| {
        time(of.summary.transfers.p99_ns)
    })
    .with_base(),
    figure(
        "slowdown_mean",
        "slowdown of flows, mean",
        Unit::Number,
        "mean slowdown of the same flows: completion time / ideal time",
        |of| of.summary.transfers.slowdown_mean,
    ),
    figure("slowdown_p50", "slowdown of flows, median", Unit::Number, "its median", |of| {
        of.summary.transfers.slowdown_p50
    }),
    figure("slowdown_p99", "slowdown of flows, 99th percentile", Unit::Number, "its 99th percentile", |of| {
        of.summary.transfers.slowdown_p99
    }),
    figure(
        "slowdown_small_p99",
        "slowdown of small flows, 99th percentile",
        Unit::Number,
        "that of flows of at most 100 kB",
        |of| TransferSummary::together(of.record, of.run).small.slowdown_p99,
    ),
    figure(
        "slowdown_large_mean",
        "slowdown of large flows, mean",
        Unit::Number,
        "mean slowdown of flows of more than 10 MB",
        |of| TransferSummary::together(of.record, of.run).large.slowdown_mean,
    ),
    figure(
        "unfinished",
        "flows that did not end",
        Unit::Share,
        "share of the flows of all [[traffic]] that had not ended",
        |of| {
            let (ended, open) = (of.summary.transfers.n, of.summary.transfers.unfinished);
            (ended + open > 0).then(|| open as f64 / (ended + open) as f64)
        },
    ),
];

/// The round trips of the probes of these stations (none: all probes) under load, ns, the shortest first.
#[must_use]
pub fn pings(record: &Record, run: &Run, stations: &[usize]) -> Vec<i64> {
    air::pings(run, &Summary::of(record, run), stations, None)
}

/// A time in nanoseconds as a figure.
fn time(ns: Option<i64>) -> Option<f64> {
    ns.map(|ns| ns as f64)
}

impl Figure {
    /// Whether a claim may name a window.
    #[must_use]
    pub fn takes_window(&self) -> bool {
        self.window != Window::Never
    }

    /// Whether a claim must name a window.
    #[must_use]
    pub fn needs_window(&self) -> bool {
        self.window == Window::Always
    }

    /// Its value in `run`, a run of `record`. `stations` limits it to these stations (empty: all), and
    /// `window` to a part of the load, in ns from its start (`None`: all of it). `None` if the run has no
    /// value.
    #[must_use]
    pub fn of(
        &self,
        record: &Record,
        run: &Run,
        stations: &[usize],
        window: Option<(i64, i64)>,
    ) -> Option<f64> {
        (self.value)(&From { record, run, summary: &Summary::of(record, run), stations, window })
    }

    /// The same as a lower and an upper bound. Usually both are the value. If it is not known because
    /// something had not ended, the lower bound is the time for which that was observed, and the upper bound
    /// is infinite.
    #[must_use]
    pub fn bounds(
        &self,
        record: &Record,
        run: &Run,
        stations: &[usize],
        window: Option<(i64, i64)>,
    ) -> Option<(f64, f64)> {
        let from = From { record, run, summary: &Summary::of(record, run), stations, window };
        let known = (self.value)(&from).map(|value| (value, value));
        known.or_else(|| (self.above)(&from).map(|least| (least, f64::INFINITY)))
    }
}

impl PartialEq for Figure {
    fn eq(&self, other: &Figure) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// One figure of a distribution of sojourn times; `None` if none was measured.
fn sojourn(of: Option<Sojourn>, figure: fn(Sojourn) -> u64) -> Option<f64> {
    of.filter(|sojourn| sojourn.n > 0).map(|sojourn| figure(sojourn) as f64)
}

impl FromStr for Figure {
    type Err = String;

    fn from_str(word: &str) -> Result<Figure, String> {
        let known: Vec<&str> = FIGURES.iter().map(|figure| figure.name).collect();
        let found = FIGURES.iter().find(|figure| figure.name == word).copied();
        found.ok_or_else(|| {
            format!(
                "no such figure; there are {}{}",
                known.join(", "),
                crate::hint::did_you_mean(word, &known)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_and_written_in_their_units() {
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

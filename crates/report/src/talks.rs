//! Video calls and games, as people experience them.
//!
//! Figures are over the loaded interval; idle figures are over the lead-in.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::record::{Direction, Record, Run, TalkPlan, TalkSeries, TalkWay};
use crate::stats::{Span, bits_per_second, known, mean, percentile};

/// Frames whose intervals are averaged to detect a freeze (W3C, "Identifiers for WebRTC's Statistics API",
/// `freezeCount`).
const FREEZE_FRAMES: usize = 30;
/// Least excess over the mean interval of a freeze, ns.
const FREEZE_OVER: i128 = 150_000_000;
const SECOND: f64 = 1e9;

/// One direction of a video call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallWay {
    /// Mean bit rate of the media received.
    pub bitrate_bps: Option<u64>,
    /// Frames shown.
    pub frames: u64,
    /// Freezes: intervals between two displayed frames of at least max(3 δ, δ + 150 ms), where δ is the mean
    /// of the last 30 intervals.
    pub freezes: u64,
    /// Total length of the freezes.
    pub frozen_ns: i64,
    /// The same in seconds per minute.
    pub frozen_s_per_min: Option<f64>,
    /// Median height of the picture.
    pub height_p50: Option<u16>,
    /// Share of the displayed frames with each height, in ascending order of height.
    pub heights: Vec<(u16, f64)>,
    /// Median delay from capture to display, idle.
    pub delay_idle_ns: Option<i64>,
    /// Median delay under load.
    pub delay_p50_ns: Option<i64>,
    /// 95th percentile of it.
    pub delay_p95_ns: Option<i64>,
    /// Datagrams received.
    pub packets: u64,
    /// Datagrams that were lost.
    pub lost: u64,
}

/// One direction of a game.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GameWay {
    /// Ticks that were due.
    pub ticks: u64,
    /// Ticks that arrived more than one tick later than the idle median, or never.
    pub late: u64,
    /// Late ticks that never arrived.
    pub lost: u64,
    /// Share of late ticks.
    pub late_share: Option<f64>,
    /// Idle median of the one-way delay.
    pub idle_ns: Option<i64>,
    /// Median under load.
    pub p50_ns: Option<i64>,
    /// 95th percentile of it.
    pub p95_ns: Option<i64>,
}

/// A game.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GameSummary {
    /// Inputs received by the server.
    pub up: GameWay,
    /// States received by the client.
    pub down: GameWay,
    /// Median round trip under load.
    pub rtt_p50_ns: Option<i64>,
    /// 95th percentile of it.
    pub rtt_p95_ns: Option<i64>,
    /// Mean round trip: the ping.
    pub ping_ns: Option<i64>,
    /// Mean difference between the round trips of consecutive states.
    pub jitter_ns: Option<i64>,
    /// Score by the G-model, 1 to 4.37, from ping and jitter under load.
    pub mos: Option<f64>,
    /// The same, idle.
    pub mos_idle: Option<f64>,
}

/// The summary of a video call or a game.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TalkSummary {
    /// Name, as planned.
    pub name: String,
    /// For a call: as the server and as the client received it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<[CallWay; 2]>,
    /// For a game.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub game: Option<GameSummary>,
}

/// The planned name, or its number.
pub(crate) fn talk_name(record: &Record, index: usize) -> String {
    let name = record.test.talks.get(index).map(|talk| talk.name.as_str()).filter(|name| !name.is_empty());
    name.map_or_else(|| format!("talk {}", index + 1), str::to_owned)
}

/// Both directions, with their names.
pub(crate) fn ways(talk: &TalkSeries) -> [(Direction, &TalkWay); 2] {
    [(Direction::Up, &talk.up), (Direction::Down, &talk.down)]
}

/// One summary for each call and game.
pub(crate) fn talks(record: &Record, run: &Run, loaded: Span) -> Vec<TalkSummary> {
    let all = run.talks.iter().zip(&record.test.talks).enumerate();
    all.map(|(i, (talk, plan))| summary(talk_name(record, i), plan, talk, record, loaded)).collect()
}

fn summary(name: String, plan: &TalkPlan, talk: &TalkSeries, record: &Record, loaded: Span) -> TalkSummary {
    let (call, game) = match plan.ticks {
        None => (Some([&talk.up, &talk.down].map(|way| CallWay::of(way, loaded))), None),
        Some(ticks) => (None, Some(game(talk, ticks, record, loaded))),
    };
    TalkSummary { name, call, game }
}

fn sorted(values: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut values: Vec<i64> = values.filter(|&value| known(value)).collect();
    values.sort_unstable();
    values
}

/// A time with its value.
type At = (i64, i64);

fn pairs<'a>(t: &'a [i64], values: &'a [i64]) -> impl Iterator<Item = At> + Clone + 'a {
    t.iter().copied().zip(values.iter().copied()).filter(|&(t, value)| known(t) && known(value))
}

/// The values before the load.
fn idle(all: impl Iterator<Item = At>) -> Vec<i64> {
    sorted(all.filter(|&(t, _)| t < 0).map(|(_, value)| value))
}

/// Those in the loaded interval.
fn within(all: impl Iterator<Item = At>, loaded: Span) -> Vec<i64> {
    sorted(all.filter(|&(t, _)| loaded.contains(t)).map(|(_, value)| value))
}

/// The freezes: start and length. An interval that the end of the load cuts off counts too.
pub(crate) fn freezes(way: &TalkWay, loaded: Span) -> Vec<At> {
    let shown: Vec<i64> = pairs(&way.captured_ns, &way.frame_took_ns)
        .map(|(captured, took)| captured.saturating_add(took))
        .filter(|&at| at < loaded.to)
        .collect();
    let mut last: VecDeque<i64> = VecDeque::new();
    let mut sum = 0_i128;
    let mut out = Vec::new();
    let ends = shown.iter().skip(1).copied().chain([loaded.to]);
    for (&from, to) in shown.iter().zip(ends) {
        let gap = to.saturating_sub(from).max(0);
        let count = last.len() as i128;
        // A mean needs enough frames (WebRTC requires five).
        if count >= 5 {
            let mean = sum / count;
            if i128::from(gap) >= (3 * mean).max(mean + FREEZE_OVER) {
                out.push((from, gap));
            }
        }
        last.push_back(gap);
        sum += i128::from(gap);
        if last.len() > FREEZE_FRAMES {
            sum -= i128::from(last.pop_front().unwrap_or(0));
        }
    }
    let part = |&(from, gap): &At| {
        let inside = Span { from, to: from.saturating_add(gap) }.overlap(loaded);
        (inside.to > inside.from).then(|| (inside.from, inside.to.saturating_sub(inside.from)))
    };
    out.iter().filter_map(part).collect()
}

impl CallWay {
    /// The summary over the window from `from_ns` to `to_ns`, ns from the start of the load.
    #[must_use]
    pub fn within(way: &TalkWay, from_ns: i64, to_ns: i64) -> CallWay {
        CallWay::of(way, Span { from: from_ns, to: to_ns })
    }

    fn of(way: &TalkWay, loaded: Span) -> CallWay {
        let frames = pairs(&way.captured_ns, &way.frame_took_ns);
        let delays = within(frames.clone(), loaded);
        let before = idle(frames);
        let intervals = || way.t_ns.iter().enumerate().filter(|&(_, &t)| loaded.contains(t)).map(|(i, _)| i);
        let sum = |column: &[u32]| {
            intervals().filter_map(|i| column.get(i)).map(|&n| u64::from(n)).fold(0, u64::saturating_add)
        };
        let bytes =
            intervals().filter_map(|i| way.rx_bytes.get(i)).fold(0, |sum: u64, &n| sum.saturating_add(n));
        let frozen = freezes(way, loaded);
        let frozen_ns = frozen.iter().map(|freeze| freeze.1).fold(0, i64::saturating_add);
        let minutes = loaded.length() as f64 / (60.0 * SECOND);
        let mut heights: Vec<u16> = way
            .captured_ns
            .iter()
            .zip(&way.height)
            .filter(|(t, _)| loaded.contains(**t))
            .map(|(_, &h)| h)
            .collect();
        heights.sort_unstable();
        let shares = heights.chunk_by(|a, b| a == b);
        let share = |part: &[u16]| (part[0], part.len() as f64 / heights.len() as f64);
        let any = !way.captured_ns.is_empty();
        CallWay {
            bitrate_bps: bits_per_second(bytes, loaded.length()).filter(|_| any),
            frames: delays.len() as u64,
            freezes: frozen.len() as u64,
            frozen_ns,
            frozen_s_per_min: (any && minutes > 0.0).then(|| frozen_ns as f64 / SECOND / minutes),
            height_p50: heights.get(heights.len().saturating_sub(1) / 2).copied(),
            heights: shares.map(share).collect(),
            delay_idle_ns: percentile(&before, 50),
            delay_p50_ns: percentile(&delays, 50),
            delay_p95_ns: percentile(&delays, 95),
            packets: sum(&way.rx_packets),
            lost: sum(&way.lost_packets),
        }
    }
}

/// Mean opinion score of a shooter with this mean ping and jitter, both in ms: the G-model of A. F.
/// Wattimena, R. E. Kooij, J. M. van Vugt and O. K. Ahmed, "Predicting the perceived quality of a first
/// person shooter: the Quake IV G-model" (NetGames 2006), with the commonly quoted coefficients; of the paper
/// itself only the abstract was available. At least 1: the model ends at X = 100.
#[must_use]
pub fn game_mos(ping_ms: f64, jitter_ms: f64) -> f64 {
    let x = (0.104 * ping_ms + jitter_ms).clamp(0.0, 100.0);
    (((-0.000_005_87 * x + 0.001_39) * x - 0.114) * x + 4.37).max(1.0)
}

/// Mean ping and jitter of round trips in order of arrival.
fn ping(rtts: &[i64]) -> (Option<i64>, Option<i64>) {
    let differences: Vec<i64> =
        rtts.windows(2).map(|two| (two[1].saturating_sub(two[0])).saturating_abs()).collect();
    (mean(rtts), mean(&differences))
}

fn score((ping, jitter): (Option<i64>, Option<i64>)) -> Option<f64> {
    Some(game_mos(ping? as f64 / 1e6, jitter? as f64 / 1e6))
}

fn game(talk: &TalkSeries, ticks: u32, record: &Record, loaded: Span) -> GameSummary {
    let rtts = |inside: &dyn Fn(i64) -> bool| -> Vec<i64> {
        pairs(&talk.down.sent_ns, &talk.down.rtt_ns).filter(|&(t, _)| inside(t)).map(|(_, rtt)| rtt).collect()
    };
    let (before, under) = (ping(&rtts(&|t| t < 0)), rtts(&|t| loaded.contains(t)));
    let (ping_ns, jitter_ns) = ping(&under);
    let ordered = sorted(under.iter().copied());
    let way = |way: &TalkWay| GameWay::of(way, Grid::new(ticks, record, talk), loaded);
    GameSummary {
        up: way(&talk.up),
        down: way(&talk.down),
        rtt_p50_ns: percentile(&ordered, 50),
        rtt_p95_ns: percentile(&ordered, 95),
        ping_ns,
        jitter_ns,
        mos: score((ping_ns, jitter_ns)),
        mos_idle: score(before),
    }
}

/// The times at which ticks are due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    /// Time between two.
    pub(crate) interval: i64,
    /// When number 0 is due.
    first: i64,
}

impl Grid {
    /// The grid of `talk`, whose start may be randomly delayed. No tick is sent before it is due, and some
    /// are sent exactly then, so the earliest gives the grid.
    pub(crate) fn new(ticks: u32, record: &Record, talk: &TalkSeries) -> Grid {
        let interval = 1_000_000_000 / i64::from(ticks.clamp(1, 1000));
        let sent = |way| {
            let way: &TalkWay = way;
            let all = way.tick.iter().zip(&way.sent_ns).filter(|&(_, &sent)| known(sent));
            all.map(|(&tick, &sent)| sent.saturating_sub(i64::from(tick).saturating_mul(interval))).min()
        };
        let planned = -i64::try_from(record.test.idle_ns).unwrap_or(i64::MAX);
        let first = sent(&talk.up).into_iter().chain(sent(&talk.down)).min();
        Grid { interval, first: first.unwrap_or(planned).max(planned) }
    }

    /// When this tick is due.
    pub(crate) fn at(self, number: u64) -> i64 {
        self.first.saturating_add(i64::try_from(number).unwrap_or(i64::MAX).saturating_mul(self.interval))
    }

    /// The number of ticks due from `from` on and before `to`, and the first of them.
    pub(crate) fn due(self, from: i64, to: i64) -> (u64, u64) {
        let number = |t: i64| {
            let after = t.saturating_sub(self.first).max(0).cast_unsigned();
            after.div_ceil(self.interval.max(1).cast_unsigned())
        };
        (number(to).saturating_sub(number(from)), number(from))
    }
}

/// For each tick received: its time of sending, and whether it arrived within one tick of the idle median.
pub(crate) fn in_time(way: &TalkWay, grid: Grid) -> Option<(i64, impl Iterator<Item = (usize, bool)> + '_)> {
    let base = percentile(&idle(pairs(&way.sent_ns, &way.tick_took_ns)), 50)?;
    let most = base.saturating_add(grid.interval);
    Some((most, way.tick_took_ns.iter().enumerate().map(move |(i, &took)| (i, known(took) && took <= most))))
}

impl GameWay {
    fn of(way: &TalkWay, grid: Grid, loaded: Span) -> GameWay {
        let ticks = pairs(&way.sent_ns, &way.tick_took_ns);
        let delays = within(ticks.clone(), loaded);
        let before = idle(ticks);
        let idle_ns = percentile(&before, 50);
        let mut out = GameWay {
            idle_ns,
            p50_ns: percentile(&delays, 50),
            p95_ns: percentile(&delays, 95),
            ..GameWay::default()
        };
        let Some((most, in_time)) = in_time(way, grid) else { return out };
        // A tick that would be late only after the end is not counted.
        let (due, first) = grid.due(loaded.from, loaded.to.saturating_sub(most));
        let judged = |i: &usize| {
            let number = way.tick.get(*i).copied().unwrap_or(0);
            (first..first + due).contains(&u64::from(number))
        };
        let good = in_time.filter(|(i, good)| *good && judged(i)).count() as u64;
        let came = (0..way.tick.len()).filter(judged).count() as u64;
        out.ticks = due;
        out.late = due.saturating_sub(good);
        out.lost = due.saturating_sub(came);
        out.late_share = (due > 0).then(|| out.late as f64 / due as f64);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;
    const S: i64 = 1_000 * MS;

    /// Frames every 33 ms for 3 s; nothing from 1 s to 2 s.
    #[test]
    fn a_freeze_is_a_long_interval() {
        let captured: Vec<i64> = (0..90).map(|k| k * 33 * MS).filter(|t| !(S..2 * S).contains(t)).collect();
        let mut way = TalkWay { frame_took_ns: vec![20 * MS; captured.len()], ..TalkWay::default() };
        way.height = vec![360; captured.len()];
        way.captured_ns = captured;
        let call = CallWay::within(&way, 0, 3 * S);
        assert_eq!((call.freezes, call.frames), (1, 60));
        assert_eq!(call.frozen_ns, 2013 * MS - 990 * MS, "{call:?}");
        assert_eq!(call.heights, [(360, 1.0)]);
        // The picture stays the same until the end.
        let cut = CallWay::within(&way, 0, 10 * S);
        assert_eq!((cut.freezes, cut.frozen_ns), (2, (10_000 - 2957) * MS + call.frozen_ns));
        assert_eq!(CallWay::within(&TalkWay::default(), 0, S), CallWay::default());
    }

    #[test]
    fn late_and_lost_ticks_are_counted() {
        let mut record = Record::default();
        record.test.idle_ns = 1_000_000_000;
        // 10 ticks a second from -1 s to 4 s, 20 ms each; one of 121 ms, one of 120 ms, one lost.
        let mut way = TalkWay::default();
        for number in (0..50_u32).filter(|&number| number != 30) {
            way.tick.push(number);
            way.sent_ns.push(-S + i64::from(number) * 100 * MS);
            way.tick_took_ns.push(match number {
                20 => 121 * MS,
                25 => 120 * MS,
                _ => 20 * MS,
            });
        }
        let talk = TalkSeries { down: way, ..TalkSeries::default() };
        let summary = game(&talk, 10, &record, Span { from: 0, to: 4 * S });
        // The last two of 40 ticks are not counted: they would be late only after the end.
        assert_eq!((summary.down.ticks, summary.down.late, summary.down.lost), (39, 2, 1));
        assert_eq!(summary.up, GameWay::default());
        assert_eq!(summary.mos, None);
        // A game that starts 90 ms later has its ticks 90 ms later, and the same ones are late. The last tick
        // that counted before is now too close to the end.
        let mut later = talk;
        later.down.sent_ns.iter_mut().for_each(|sent| *sent += 90 * MS);
        let shifted = game(&later, 10, &record, Span { from: 0, to: 4 * S });
        assert_eq!(shifted.down.ticks, 38);
        assert_eq!((shifted.down.late, shifted.down.lost), (2, 1));
    }

    #[test]
    fn the_g_model_is_the_published_one() {
        assert!((game_mos(0.0, 0.0) - 4.37).abs() < 1e-12);
        let x: f64 = 0.104 * 50.0 + 10.0;
        let published = -0.00000587 * x.powi(3) + 0.00139 * x.powi(2) - 0.114 * x + 4.37;
        assert!((game_mos(50.0, 10.0) - published).abs() < 1e-12);
        assert_eq!(game_mos(10_000.0, 0.0), 1.0);
        let scores: Vec<f64> = (0..1200).map(|ping| game_mos(f64::from(ping), 0.0)).collect();
        assert!(scores.windows(2).all(|two| two[1] <= two[0]), "it falls with the ping");
    }
}

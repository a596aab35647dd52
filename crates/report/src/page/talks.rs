//! Tables and sentences of video calls and games.

use super::blocks::table;
use crate::charts::escape;
use crate::record::Record;
use crate::summary::Summary;
use crate::table::ms;
use crate::table::talks::{frozen, percent, score};
use crate::table::videos::mbit;
use crate::talks::{CallWay, GameSummary};

/// The introduction of the section.
pub(super) const LEAD: &str = "A video call sends both ways as fast as its congestion control permits; the chart shows the media received; \
    a block at its bottom is a frozen picture. A game sends a datagram each way in every tick; the chart shows the share of ticks \
    that arrived more than one tick late, or never. Up is what the server received, down what the client received.";

/// A sentence for each queue, then the figures.
pub(super) fn section(record: &Record, all: &[Summary]) -> String {
    let each = |i: usize| all.iter().filter_map(move |s| Some((s, s.talks.get(i)?)));
    let indices = || 0..record.test.talks.len();
    let mut sentences = String::new();
    let (mut calls, mut games) = (Vec::new(), Vec::new());
    for (s, talk) in indices().flat_map(each) {
        let queue = escape(&s.queue);
        for (way, call) in ["up", "down"].iter().zip(talk.call.iter().flatten()) {
            calls.push(call_row(&queue, &format!("{} {way}", escape(&talk.name)), call));
        }
        if let Some([_, down]) = &talk.call {
            sentences.push_str(&format!("<li><b>{queue}</b>: {}</li>\n", call_words(&talk.name, down)));
        }
        if let Some(game) = &talk.game {
            games.push(game_row(&queue, &escape(&talk.name), game));
            sentences.push_str(&format!("<li><b>{queue}</b>: {}</li>\n", game_words(&talk.name, game)));
        }
    }
    let mut out = format!("<ul>\n{sentences}</ul>\n");
    if !calls.is_empty() {
        let heads = [
            "queue",
            "call",
            "Mbit/s",
            "lines",
            "of the frames",
            "freezes",
            "frozen, s/min",
            "idle, ms",
            "p50",
            "p95",
            "lost, %",
        ];
        out.push_str(&table("Video calls", &heads, 2, &calls));
    }
    if !games.is_empty() {
        let heads = [
            "queue",
            "game",
            "late up, %",
            "late down, %",
            "ping p50, ms",
            "p95",
            "jitter, ms",
            "MOS idle",
            "MOS load",
        ];
        out.push_str(&table("Games", &heads, 2, &games));
    }
    out
}

fn call_row(queue: &str, name: &str, call: &CallWay) -> Vec<String> {
    let heights: Vec<String> =
        call.heights.iter().rev().map(|(lines, share)| format!("{lines}: {:.0} %", share * 100.0)).collect();
    vec![
        queue.into(),
        name.into(),
        mbit(call.bitrate_bps),
        call.height_p50.map_or_else(|| "–".into(), |lines| lines.to_string()),
        heights.join(", "),
        call.freezes.to_string(),
        frozen(call.frozen_s_per_min),
        ms(call.delay_idle_ns),
        ms(call.delay_p50_ns),
        ms(call.delay_p95_ns),
        percent(call.lost, call.lost.saturating_add(call.packets)),
    ]
}

fn game_row(queue: &str, name: &str, game: &GameSummary) -> Vec<String> {
    vec![
        queue.into(),
        name.into(),
        percent(game.up.late, game.up.ticks),
        percent(game.down.late, game.down.ticks),
        ms(game.rtt_p50_ns),
        ms(game.rtt_p95_ns),
        ms(game.jitter_ns),
        score(game.mos_idle),
        score(game.mos),
    ]
}

/// `the picture of the video call BE froze 3 times (4.1 s a minute), had 360 lines and came 310 ms late.`
fn call_words(name: &str, call: &CallWay) -> String {
    let name = escape(name);
    let Some(lines) = call.height_p50 else { return format!("the {name} showed no picture under load.") };
    let froze = match call.freezes {
        0 => "never froze".into(),
        1 => format!("froze once ({} s a minute)", frozen(call.frozen_s_per_min)),
        many => format!("froze {many} times ({} s a minute)", frozen(call.frozen_s_per_min)),
    };
    let delay = ms(call.delay_p50_ns);
    format!("the client's picture of the {name} {froze}; it had {lines} lines and was {delay} ms old.")
}

/// `of the game 64 BE 12.1 % of the states came late; the score is 2.31 of 4.37.`
fn game_words(name: &str, game: &GameSummary) -> String {
    let late = percent(game.down.late, game.down.ticks);
    let (name, mos) = (escape(name), score(game.mos));
    format!("{late} % of the states of the {name} came more than a tick late; its score is {mos} of 4.37.")
}

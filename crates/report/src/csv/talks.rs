//! Video calls and games.

use std::fmt::Write as _;

use super::{cell, field, maybe_ms, milliseconds, seconds};
use crate::Record;
use crate::record::TalkWay;
use crate::summary::direction_name;
use crate::talks::{CallWay, GameWay, TalkSummary, talk_name, ways};

/// Calls `each` for both directions of every call and game of every run, with the first cells of its rows.
fn all(record: &Record, mut each: impl FnMut(&str, &TalkWay)) {
    for run in &record.runs {
        for (i, talk) in run.talks.iter().enumerate() {
            for (direction, way) in ways(talk) {
                let name = field(&talk_name(record, i));
                each(&format!("{},{name},{}", field(&run.queue), direction_name(direction)), way);
            }
        }
    }
}

/// `video_calls.csv`: a row per interval of about 0.1 s; `t_s` is its end.
pub fn video_calls(record: &Record) -> String {
    let mut out = String::from("queue,call,direction,t_s,rx_bytes,rx_packets,lost_packets\n");
    all(record, |head, way| {
        for (j, &t) in way.t_ns.iter().enumerate() {
            let (bytes, packets) = (cell(&way.rx_bytes, j), cell(&way.rx_packets, j));
            let _ = writeln!(out, "{head},{},{bytes},{packets},{}", seconds(t), cell(&way.lost_packets, j));
        }
    });
    out
}

/// `frames.csv`: a row per frame of a video call that was shown; missing frame numbers were not shown.
pub fn frames(record: &Record) -> String {
    let mut out = String::from("queue,call,direction,captured_s,frame,took_ms,height_lines\n");
    all(record, |head, way| {
        for (j, &t) in way.captured_ns.iter().enumerate() {
            let took = way.frame_took_ns.get(j).copied().map(milliseconds).unwrap_or_default();
            let (number, height) = (cell(&way.frame, j), cell(&way.height, j));
            let _ = writeln!(out, "{head},{},{number},{took},{height}", seconds(t));
        }
    });
    out
}

/// `games.csv`: a row per tick of a game that arrived; missing tick numbers did not arrive.
pub fn games(record: &Record) -> String {
    let mut out = String::from("queue,game,direction,sent_s,tick,took_ms,rtt_ms\n");
    all(record, |head, way| {
        for (j, &t) in way.sent_ns.iter().enumerate() {
            let ms = |column: &[i64]| column.get(j).copied().map(milliseconds).unwrap_or_default();
            let number = cell(&way.tick, j);
            let _ =
                writeln!(out, "{head},{},{number},{},{}", seconds(t), ms(&way.tick_took_ns), ms(&way.rtt_ns));
        }
    });
    out
}

/// The figures of a call or a game.
pub(super) fn rows(row: &mut impl FnMut(&str, &str, String), talk: &TalkSummary) {
    for (way, call) in ["up", "down"].iter().zip(talk.call.iter().flatten()) {
        call_rows(row, &format!("{} {way}", talk.name), call);
    }
    let Some(game) = &talk.game else { return };
    for (name, way) in [("up", &game.up), ("down", &game.down)] {
        game_rows(row, &format!("{} {name}", talk.name), way);
    }
    let score = |mos: Option<f64>| mos.map(|mos| format!("{mos:.4}")).unwrap_or_default();
    row(&talk.name, "idle_mos", score(game.mos_idle));
    row(&talk.name, "mos", score(game.mos));
    let times = [
        ("rtt_p50_ms", game.rtt_p50_ns),
        ("rtt_p95_ms", game.rtt_p95_ns),
        ("ping_mean_ms", game.ping_ns),
        ("jitter_ms", game.jitter_ns),
    ];
    for (name, value) in times {
        row(&talk.name, name, maybe_ms(value));
    }
}

fn call_rows(row: &mut impl FnMut(&str, &str, String), series: &str, call: &CallWay) {
    let rate = call.bitrate_bps.map(|bps| format!("{:.6}", bps as f64 / 1e6));
    row(series, "bitrate_mean_mbit_per_s", rate.unwrap_or_default());
    row(series, "frames_shown", call.frames.to_string());
    row(series, "freezes", call.freezes.to_string());
    row(series, "frozen_ms", milliseconds(call.frozen_ns));
    row(series, "height_p50_lines", call.height_p50.map(|lines| lines.to_string()).unwrap_or_default());
    for (height, share) in &call.heights {
        row(series, &format!("share_{height}_lines"), format!("{share:.6}"));
    }
    let times =
        [("idle_p50_ms", call.delay_idle_ns), ("p50_ms", call.delay_p50_ns), ("p95_ms", call.delay_p95_ns)];
    for (name, value) in times {
        row(series, name, maybe_ms(value));
    }
    row(series, "received_packets", call.packets.to_string());
    row(series, "lost_packets", call.lost.to_string());
}

fn game_rows(row: &mut impl FnMut(&str, &str, String), series: &str, way: &GameWay) {
    row(series, "ticks", way.ticks.to_string());
    row(series, "late_ticks", way.late.to_string());
    row(series, "lost_ticks", way.lost.to_string());
    for (name, value) in [("idle_p50_ms", way.idle_ns), ("p50_ms", way.p50_ns), ("p95_ms", way.p95_ns)] {
        row(series, name, maybe_ms(value));
    }
}

//! Tables of video calls and games.

use super::applications::in_blocks;
use super::videos::mbit;
use super::{Column, Group, ms};
use crate::talks::{CallWay, GameSummary, TalkSummary, talk_name};
use crate::{Record, Summary};

/// As many tables as the width requires.
pub(super) fn blocks(record: &Record, all: &[Summary], width: usize) -> Vec<Vec<Group>> {
    if all.is_empty() {
        return Vec::new();
    }
    let groups = (0..record.test.talks.len()).flat_map(|i| match record.test.talks[i].ticks {
        None => vec![call(record, all, i, 0), call(record, all, i, 1)],
        Some(_) => vec![game(record, all, i)],
    });
    in_blocks(record.side(), groups.collect(), all, width)
}

fn call(record: &Record, all: &[Summary], i: usize, way: usize) -> Group {
    let none = TalkSummary::default();
    let column = |head, of: fn(&CallWay) -> String| {
        let of = |s: &Summary| {
            let call = s.talks.get(i).unwrap_or(&none).call.as_ref();
            call.map_or_else(|| "–".into(), |ways| of(&ways[way]))
        };
        Column::new(head, all.iter().map(of).collect())
    };
    let columns = vec![
        column("Mbit/s", |call| mbit(call.bitrate_bps)),
        column("lines", |call| call.height_p50.map_or_else(|| "–".into(), |lines| lines.to_string())),
        column("freezes", |call| call.freezes.to_string()),
        column("s/min", |call| frozen(call.frozen_s_per_min)),
        column("idle ms", |call| ms(call.delay_idle_ns)),
        column("p50", |call| ms(call.delay_p50_ns)),
        column("p95", |call| ms(call.delay_p95_ns)),
        column("lost %", |call| percent(call.lost, call.lost.saturating_add(call.packets))),
    ];
    let way = ["up", "down"][way];
    Group { title: format!("{} {way}", talk_name(record, i)).into(), columns, spare: 0 }
}

fn game(record: &Record, all: &[Summary], i: usize) -> Group {
    let none = TalkSummary::default();
    let column = |head, of: fn(&GameSummary) -> String| {
        let of = |s: &Summary| {
            let game = s.talks.get(i).unwrap_or(&none).game.as_ref();
            game.map_or_else(|| "–".into(), of)
        };
        Column::new(head, all.iter().map(of).collect())
    };
    let columns = vec![
        column("late % up", |game| percent(game.up.late, game.up.ticks)),
        column("down", |game| percent(game.down.late, game.down.ticks)),
        column("ping p50", |game| ms(game.rtt_p50_ns)),
        column("p95", |game| ms(game.rtt_p95_ns)),
        column("MOS idle", |game| score(game.mos_idle)),
        column("load", |game| score(game.mos)),
    ];
    Group { title: talk_name(record, i).into(), columns, spare: 0 }
}

/// Seconds per minute.
pub(crate) fn frozen(share: Option<f64>) -> String {
    share.map_or_else(|| "–".into(), |s| format!("{s:.1}"))
}

/// A mean opinion score with two decimals.
pub(crate) fn score(mos: Option<f64>) -> String {
    mos.map_or_else(|| "–".into(), |mos| format!("{mos:.2}"))
}

/// A part of a whole in percent, with one decimal.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "–".into() } else { format!("{:.1}", part as f64 * 100.0 / whole as f64) }
}

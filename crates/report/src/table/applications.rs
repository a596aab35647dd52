//! Tables of calls and pages.

use super::{Column, Group, ms, queue_column, total};
use crate::applications::{CallSummary, Loads, PageSummary, call_name, page_name};
use crate::voice::Voice;
use crate::{Record, Summary};

/// The meaning of `12+1` in the column of pages.
pub(super) const INCOMPLETE: &str = "after + those incomplete when the load ended; > a figure among these, and how long the longest had taken";

/// As many tables as necessary so that none is wider than `width`.
pub(super) fn blocks(record: &Record, all: &[Summary], width: usize) -> Vec<Vec<Group>> {
    in_blocks(record.side(), groups(record, all), all, width)
}

/// The groups side by side, in tables that each begin with the names of the runs; `side` is what those are
/// of.
pub(super) fn in_blocks(
    side: &'static str,
    groups: Vec<Group>,
    all: &[Summary],
    width: usize,
) -> Vec<Vec<Group>> {
    let mut blocks: Vec<Vec<Group>> = Vec::new();
    for group in groups {
        match blocks.last_mut() {
            Some(block) if total(block) + 2 + group.width() <= width => block.push(group),
            _ => {
                let names = Group { title: side.into(), columns: vec![queue_column(all)], spare: 0 };
                blocks.push(vec![names, group]);
            }
        }
    }
    blocks
}

fn groups(record: &Record, all: &[Summary]) -> Vec<Group> {
    if all.is_empty() {
        return Vec::new();
    }
    let calls = (0..record.test.voip.len()).flat_map(|i| {
        [
            way(record, all, i, "up", |call| (call.up_idle, call.up)),
            way(record, all, i, "down", |call| (call.down_idle, call.down)),
        ]
    });
    let pages = (0..record.test.web.len()).map(|i| page(record, all, i));
    calls.chain(pages).collect()
}

/// The name of the part after the idle part.
fn then(record: &Record) -> &'static str {
    if record.test.flows.is_empty() { "then" } else { "load" }
}

/// One direction of a call: the scores idle and under load that `of` selects.
fn way(
    record: &Record,
    all: &[Summary],
    i: usize,
    name: &str,
    of: fn(&CallSummary) -> (Option<Voice>, Option<Voice>),
) -> Group {
    let both: Vec<_> = all.iter().map(|s| s.voip.get(i).map_or((None, None), of)).collect();
    let columns = vec![
        Column::new("idle", both.iter().map(|voices| mos(voices.0)).collect()),
        Column::new(then(record), both.iter().map(|voices| mos(voices.1)).collect()),
    ];
    Group { title: format!("{}, MOS {name}", call_name(record, i)).into(), columns, spare: 0 }
}

fn page(record: &Record, all: &[Summary], i: usize) -> Group {
    let none = PageSummary::default();
    let column = |head, of: fn(&PageSummary) -> String| {
        Column::new(head, all.iter().map(|s| of(s.web.get(i).unwrap_or(&none))).collect())
    };
    let columns = vec![
        column("idle", |page| took(&page.idle, page.idle.p50_ns)),
        column("p50", |page| took(&page.load, page.load.p50_ns)),
        column("p95", |page| took(&page.load, page.load.p95_ns)),
        column("max", |page| took(&page.load, page.load.max_ns)),
        column("pages", |page| count(&page.load)),
    ];
    let title = format!("{} page, ms: idle, {}", page_name(record, i), then(record));
    Group { title: title.into(), columns, spare: 0 }
}

/// A mean opinion score with two decimals.
pub(crate) fn mos(voice: Option<Voice>) -> String {
    voice.map_or_else(|| "–".into(), |v| format!("{:.2}", v.mos))
}

/// A percentile or the maximum in ms; if it falls among incomplete pages, the time that was not enough.
pub(crate) fn took(loads: &Loads, time: Option<i64>) -> String {
    match (time, loads.incomplete_max_ns) {
        (None, Some(longest)) => format!(">{}", ms(Some(longest))),
        _ => ms(time),
    }
}

/// The numbers of complete and of incomplete pages.
pub(crate) fn count(loads: &Loads) -> String {
    match loads.incomplete {
        0 => loads.n.to_string(),
        more => format!("{}+{more}", loads.n),
    }
}

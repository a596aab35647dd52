//! How calls sounded and pages loaded, as tables.

use super::{Column, Group, WIDTH, ms, queue_column, total};
use crate::applications::{CallSummary, Loads, Voice, call_name, page_name};
use crate::{Record, Summary};

/// What `12+1` in the column of pages means.
pub(super) const INCOMPLETE: &str =
    "after + those not complete when the load ended, in no percentile; > is how long the longest had taken";

/// As many tables as it takes for none to be wider than [`WIDTH`].
pub(super) fn blocks(record: &Record, all: &[Summary]) -> Vec<Vec<Group>> {
    let mut blocks: Vec<Vec<Group>> = Vec::new();
    for group in groups(record, all) {
        match blocks.last_mut() {
            Some(block) if total(block) + 2 + group.width() <= WIDTH => block.push(group),
            _ => {
                let queues = Group { title: "queue".into(), columns: vec![queue_column(all)], spare: 0 };
                blocks.push(vec![queues, group]);
            }
        }
    }
    blocks
}

fn groups(record: &Record, all: &[Summary]) -> Vec<Group> {
    let mut out = Vec::new();
    if all.is_empty() {
        return out;
    }
    let loaded = !record.test.flows.is_empty();
    let mut way = |i: usize,
                   title: String,
                   idle: fn(&CallSummary) -> Option<Voice>,
                   load: fn(&CallSummary) -> Option<Voice>| {
        let cells = |of: fn(&CallSummary) -> Option<Voice>| {
            all.iter().map(|s| mos(s.voip.get(i).and_then(of))).collect()
        };
        let head = if loaded { "load" } else { "then" };
        let columns = vec![Column::new("idle", cells(idle)), Column::new(head, cells(load))];
        out.push(Group { title: title.into(), columns, spare: 0 });
    };
    for i in 0..record.test.voip.len() {
        let name = call_name(record, i);
        way(i, format!("{name}, MOS up"), |c| c.up_idle, |c| c.up);
        way(i, format!("{name}, MOS down"), |c| c.down_idle, |c| c.down);
    }
    out.extend((0..record.test.web.len()).map(|i| page(record, all, i)));
    out
}

fn page(record: &Record, all: &[Summary], i: usize) -> Group {
    let none = (Loads::default(), Loads::default());
    let of = |s: &Summary| s.web.get(i).map_or(none.clone(), |page| (page.idle.clone(), page.load.clone()));
    let cells = |f: &dyn Fn(Loads, Loads) -> String| {
        all.iter()
            .map(|s| {
                let (idle, load) = of(s);
                f(idle, load)
            })
            .collect::<Vec<_>>()
    };
    let columns = vec![
        Column::new("idle", cells(&|idle, _| median(&idle))),
        Column::new("p50", cells(&|_, load| median(&load))),
        Column::new("p95", cells(&|_, load| ms(load.p95_ns))),
        Column::new("max", cells(&|_, load| ms(load.max_ns))),
        Column::new("pages", cells(&|_, load| count(&load))),
    ];
    Group { title: format!("{} page, ms: idle, load", page_name(record, i)).into(), columns, spare: 0 }
}

/// A mean opinion score with two decimals.
pub(crate) fn mos(voice: Option<Voice>) -> String {
    voice.map_or_else(|| "–".into(), |v| format!("{:.2}", v.mos))
}

/// The median in ms; where no page was complete, the time that did not suffice.
pub(crate) fn median(loads: &Loads) -> String {
    match (loads.p50_ns, loads.incomplete_max_ns) {
        (None, Some(longest)) => format!(">{}", ms(Some(longest))),
        (median, _) => ms(median),
    }
}

/// How many pages were complete, and how many more were not.
pub(crate) fn count(loads: &Loads) -> String {
    match loads.incomplete {
        0 => loads.n.to_string(),
        more => format!("{}+{more}", loads.n),
    }
}

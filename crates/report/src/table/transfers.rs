//! Tables of flow completion times.

use super::applications::in_blocks;
use super::{Column, Group, ms};
use crate::transfers::{Completion, TransferSummary, traffic_name};
use crate::{Record, Summary};

/// One table for all groups of flows, or as many as the width requires.
pub(super) fn blocks(record: &Record, all: &[Summary], width: usize) -> Vec<Vec<Group>> {
    let groups = (0..record.test.traffic.len()).flat_map(|i| groups(record, all, i)).collect();
    if all.is_empty() { Vec::new() } else { in_blocks(record.side(), groups, all, width) }
}

fn groups(record: &Record, all: &[Summary], i: usize) -> [Group; 3] {
    let none = TransferSummary::default();
    let column = |head, of: &dyn Fn(&TransferSummary) -> String| {
        Column::new(head, all.iter().map(|s| of(s.traffic.get(i).unwrap_or(&none))).collect())
    };
    let name = traffic_name(record, i);
    let group = |title: String, columns| Group { title: title.into(), columns, spare: 0 };
    let took = vec![
        column("flows", &|t| count(&t.all)),
        column("mean", &|t| ms(t.all.mean_ns)),
        column("p50", &|t| ms(t.all.p50_ns)),
        column("p95", &|t| ms(t.all.p95_ns)),
        column("p99", &|t| ms(t.all.p99_ns)),
    ];
    let slowdown = vec![
        column("mean", &|t| times(t.all.slowdown_mean)),
        column("p50", &|t| times(t.all.slowdown_p50)),
        column("p99", &|t| times(t.all.slowdown_p99)),
    ];
    let is_any =
        |of: OfSize| all.iter().filter_map(|s| s.traffic.get(i)).any(|t| of(t).n + of(t).unfinished > 0);
    let sizes: [(&str, OfSize); 3] =
        [("≤100 kB", |t| &t.small), ("≤10 MB", |t| &t.medium), (">10 MB", |t| &t.large)];
    let by_size = sizes.into_iter().filter(|&(_, of)| is_any(of));
    let by_size = by_size.map(|(head, of)| column(head, &|t| times(of(t).slowdown_mean))).collect();
    [
        group(format!("{name}: flow completion, ms"), took),
        group("slowdown".into(), slowdown),
        group("mean slowdown by size".into(), by_size),
    ]
}

/// The flows of one class of sizes.
type OfSize = fn(&TransferSummary) -> &Completion;

/// The numbers of flows that ended, and of those that had not.
pub(crate) fn count(of: &Completion) -> String {
    match of.unfinished {
        0 => of.n.to_string(),
        more => format!("{}+{more}", of.n),
    }
}

/// A slowdown.
pub(crate) fn times(slowdown: Option<f64>) -> String {
    slowdown.map_or_else(|| "–".into(), |slowdown| format!("{slowdown:.2}"))
}

/// The meaning of `12+1` in the column of flows.
pub(super) const UNFINISHED: &str = "after + those that had not ended when the run did: in no mean, and slower than all others in percentiles";

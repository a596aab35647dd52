//! Tables of the queues on the path, of the round trip that TCP measured, and of sojourn times.

use super::{Column, Group, ms, queue_column, short, width};
use crate::record::Run;
use crate::record::{PathQueue, Sojourn};
use crate::summary::{direction_name, rows};
use crate::{Record, Summary};

/// Longest name of a queue on the path; a longer one is shortened here and complete in page and CSV.
const NAME_WIDTH: usize = 24;

/// Most rows of a run: a Wi-Fi network has a queue for each station.
const MOST: usize = 8;

/// The rows to print, at most [`MOST`] for each run: the queues in which packets waited longest on average,
/// in path order.
fn printed(record: &Record) -> Vec<(&Run, &PathQueue)> {
    let all = rows(record);
    let of_run = all.chunk_by(|one, other| std::ptr::eq(one.0, other.0));
    let longest = |rows: &[(&Run, &PathQueue)]| {
        let mut waits: Vec<u64> = rows.iter().map(|(_, queue)| queue.mean_sojourn_ns()).collect();
        waits.sort_unstable_by(|one, other| other.cmp(one));
        waits.get(MOST - 1).copied().unwrap_or(0)
    };
    let chosen = of_run.flat_map(|rows| {
        let least = longest(rows);
        rows.iter().filter(move |(_, queue)| queue.mean_sojourn_ns() >= least).take(MOST).copied()
    });
    chosen.collect()
}

/// The remark if not all rows are printed.
pub(super) fn left_out(record: &Record) -> Option<String> {
    let left = rows(record).len() - printed(record).len();
    let (more, them) = if left == 1 { ("queue", "it") } else { ("queues", "them") };
    let where_else = "in the page and in path.csv; packets waited less in";
    (left > 0).then(|| format!("queues on the path: {left} more {more} {where_else} {them}"))
}

/// A row for each queue that dropped, marked or delayed packets; empty if only those at bottlenecks did.
pub(super) fn path(record: &Record) -> Vec<Group> {
    let rows = printed(record);
    if rows.is_empty() {
        return Vec::new();
    }
    let cells = |of: &dyn Fn(&Run, &PathQueue) -> String| -> Vec<String> {
        rows.iter().map(|(run, queue)| of(run, queue)).collect()
    };
    let left = |title: &'static str, cells| Group {
        title: title.into(),
        columns: vec![Column::left("", cells)],
        spare: 0,
    };
    let wait = |of: fn(Sojourn) -> u64| {
        cells(&|_, queue| ms(queue.sojourn.and_then(|sojourn| i64::try_from(of(sojourn)).ok())))
    };
    let packets = vec![
        Column::new("sent", cells(&|_, queue| queue.sent_packets.to_string())).spare(2),
        Column::new("drops", cells(&|_, queue| queue.drops().to_string())),
        Column::new("marks", cells(&|_, queue| queue.marks.to_string())),
    ];
    let waits = vec![
        Column::new("p50", wait(|sojourn| sojourn.p50_ns)).spare(3),
        Column::new("p95", wait(|sojourn| sojourn.p95_ns)),
        Column::new("max", wait(|sojourn| sojourn.max_ns)).spare(3),
    ];
    vec![
        left("run", cells(&|run, _| short(&run.queue))),
        left("queues on the path", cells(&|_, queue| cut(&queue.link))),
        left("way", cells(&|_, queue| direction_name(queue.direction).to_owned())),
        Group { spare: 1, ..left("discipline", cells(&|_, queue| cut(&queue.queue))) },
        Group { title: "packets".into(), columns: packets, spare: 0 },
        Group { title: "sojourn, ms".into(), columns: waits, spare: 0 },
    ]
}

fn cut(name: &str) -> String {
    if width(name) <= NAME_WIDTH {
        return name.to_owned();
    }
    name.chars().take(NAME_WIDTH - 1).chain(['…']).collect()
}

/// TCP's own round trip, and the sojourn times in the queue shown for each direction; empty if neither was
/// measured.
pub(super) fn waits(side: &'static str, all: &[Summary]) -> Vec<Group> {
    if all.iter().all(|s| s.tcp_rtt.n == 0) {
        return Vec::new();
    }
    let column = |head, of: &dyn Fn(&Summary) -> Option<i64>| {
        Column::new(head, all.iter().map(|s| ms(of(s))).collect())
    };
    let rtt = vec![column("p50", &|s| s.tcp_rtt.p50_ns), column("p95", &|s| s.tcp_rtt.p95_ns)];
    let mut out = vec![
        Group { title: side.into(), columns: vec![queue_column(all)], spare: 0 },
        Group { title: "TCP's own RTT, ms".into(), columns: rtt, spare: 0 },
    ];
    let ways = [
        ("sojourn up, ms", all.iter().map(|s| s.sojourn_up).collect::<Vec<_>>()),
        ("sojourn down, ms", all.iter().map(|s| s.sojourn_down).collect()),
    ];
    for (title, waits) in ways {
        if waits.iter().any(|wait| wait.is_some_and(|wait| wait.n > 0)) {
            let column = |head, pick: fn(Sojourn) -> u64| {
                let ns = |wait: &Option<Sojourn>| wait.and_then(|wait| i64::try_from(pick(wait)).ok());
                Column::new(head, waits.iter().map(|wait| ms(ns(wait))).collect())
            };
            let columns =
                vec![column("p50", |w| w.p50_ns), column("p95", |w| w.p95_ns), column("max", |w| w.max_ns)];
            out.push(Group { title: title.into(), columns, spare: 0 });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_queues_those_with_the_longest_waits_are_printed() {
        let queue = |station: u64| PathQueue {
            link: format!("station {station} to ap"),
            sojourn: Some(Sojourn { n: 1, mean_ns: station, p95_ns: 2_000_000, ..Sojourn::default() }),
            ..PathQueue::default()
        };
        let run = |stations| Run { path: (0..stations).map(queue).collect(), ..Run::default() };
        let record = Record { runs: vec![run(30), run(3)], ..Record::default() };
        let links: Vec<&str> = printed(&record).iter().map(|(_, queue)| queue.link.as_str()).collect();
        assert_eq!((links.len(), links[0], links[7]), (MOST + 3, "station 22 to ap", "station 29 to ap"));
        let words = left_out(&record).expect("not all are printed");
        assert!(words.contains("22 more queues"), "{words}");
        assert_eq!(left_out(&Record { runs: vec![run(3)], ..Record::default() }), None);
    }
}

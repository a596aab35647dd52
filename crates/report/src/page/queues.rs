//! Tables of the queues on the path, of the round trip that TCP measured, and of sojourn times.

use super::blocks::table;
use crate::charts::escape;
use crate::record::{Direction, Record};
use crate::record::{PathQueue, Sojourn};
use crate::summary::{Summary, direction_name};
use crate::table::ms;

fn waited(sojourn: Option<Sojourn>, of: fn(Sojourn) -> u64) -> String {
    ms(sojourn.filter(|s| s.n > 0).and_then(|s| i64::try_from(of(s)).ok()))
}

/// Every queue on the path of each run, active or not; empty if no path was recorded.
pub(super) fn path(record: &Record) -> String {
    let row = |run: &str, q: &PathQueue, shown: bool| {
        let reasons: Vec<String> =
            q.drop_reasons.iter().map(|(reason, n)| format!("{} {n}", escape(reason))).collect();
        let marks = [(q.bottleneck, "bottleneck"), (shown, "shown")];
        let role: Vec<&str> = marks.iter().filter(|(is, _)| *is).map(|(_, word)| *word).collect();
        let mut cells = vec![
            escape(run),
            escape(&q.link),
            direction_name(q.direction).to_owned(),
            escape(&q.queue),
            role.join(", "),
            reasons.join(", "),
        ];
        let counts = [q.arrived_packets, q.sent_packets, q.drops(), q.held_packets, q.marks];
        cells.extend(counts.map(|n| n.to_string()));
        let waits: [fn(Sojourn) -> u64; 5] =
            [|s| s.mean_ns, |s| s.p50_ns, |s| s.p95_ns, |s| s.p99_ns, |s| s.max_ns];
        cells.extend(waits.map(|of| waited(q.sojourn, of)));
        cells
    };
    let mut rows = Vec::new();
    for run in &record.runs {
        let shown = [Direction::Up, Direction::Down].map(|direction| run.shown_queue(direction));
        for queue in &run.path {
            let is_shown = shown.iter().flatten().any(|&other| std::ptr::eq(other, queue));
            rows.push(row(&run.queue, queue, is_shown));
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let heads = [
        "run",
        "link",
        "direction",
        "queue",
        "role",
        "drops by reason",
        "arrived",
        "sent",
        "drops",
        "held",
        "marks",
        "mean sojourn, ms",
        "p50",
        "p95",
        "p99",
        "max",
    ];
    let lead = "<p class=\"lead\">All queues that the test's packets passed. Packets that arrived were sent or dropped, or \
                are held at the end; a super-packet that the queue cuts counts as its segments. Sojourn: from a packet's \
                arrival at the queue until the line, or over the air the first exchange, began it, in the loaded interval. Charts of the backlog show, of \
                each direction, the queue in which packets waited longest.</p>\n";
    lead.to_owned() + &table("Queues on the path", &heads, 6, &rows)
}

/// TCP's round trip and the sojourn in the queues shown, a row per run.
pub(super) fn waits(summaries: &[Summary]) -> String {
    let row = |s: &Summary| {
        let mut cells = vec![escape(&s.queue), ms(s.tcp_rtt.p50_ns), ms(s.tcp_rtt.p95_ns)];
        for sojourn in [s.sojourn_up, s.sojourn_down] {
            cells.extend([waited(sojourn, |s| s.p50_ns), waited(sojourn, |s| s.p95_ns)]);
        }
        cells
    };
    let rows: Vec<Vec<String>> = summaries.iter().map(row).collect();
    let heads = [
        "queue",
        "TCP RTT p50, ms",
        "TCP RTT p95, ms",
        "sojourn up p50, ms",
        "sojourn up p95, ms",
        "sojourn down p50, ms",
        "sojourn down p95, ms",
    ];
    table("TCP's round trip and sojourn", &heads, 1, &rows)
}

//! What kind of queue is in a loaded direction (work in progress).

mod seen;

use crate::record::{Direction, FoundKind, FoundQueue, Record, Run};
use seen::{FRAME, PAYLOAD, Seen};

/// Debug text for development.
#[doc(hidden)]
pub fn debug(record: &Record, run: &Run, way: Direction) -> String {
    let Some(seen) = Seen::of(record, run, way) else { return "nothing".into() };
    let mut out = format!("base {} noise {} idle {:?}\n", seen.base, seen.noise, seen.idle_probes);
    for s in &seen.steps {
        let w: Vec<i64> = seen.waits(s.t - seen.step, s.t).collect();
        let lost = seen.probes.iter().filter(|p| p.t >= s.t - seen.step && p.t < s.t && p.wait.is_none()).count();
        let b = seen.probes.iter().filter(|p| p.t >= s.t - seen.step && p.t < s.t).map(|p| p.back).max();
        let mean = if w.is_empty() { -1 } else { w.iter().sum::<i64>() / w.len() as i64 };
        out += &format!("{} {} {} {} {} | {} {} {} | {} {}\n", s.t / 1000000, s.bytes, s.retransmits, s.marks, (s.srtt - seen.base) / 1000,
            w.iter().min().unwrap_or(&-1) / 1000, mean / 1000, w.iter().max().unwrap_or(&-1) / 1000, lost, b.unwrap_or(-1) / 1000);
    }
    let _ = (FRAME, PAYLOAD);
    out
}

/// What kind of queue a run has found.
#[must_use]
pub fn queue_kind(_record: &Record, _run: &Run, way: Direction) -> FoundQueue {
    FoundQueue { direction: way, kind: FoundKind::Unknown, ..FoundQueue::default() }
}

//! Sentences about responsiveness.

use super::{NBSP, Piece, plain};
use crate::record::{Direction, Record, Responsiveness, Run};

/// Whether the record's figure is responsiveness.
pub(super) fn is_of(record: &Record) -> bool {
    record.runs.iter().any(|run| run.rpm.is_some())
}

/// `While downloads fill the line, a request takes about 94 ms: 640 round trips per minute (RPM), which is
/// fair. Without load it takes 21 ms.`
pub(super) fn headline(record: &Record) -> Vec<Piece> {
    let mut out = Vec::new();
    for (index, run) in record.runs.iter().enumerate() {
        let Some(one) = &run.rpm else { continue };
        if !out.is_empty() {
            out.push(plain(" "));
        }
        let Some(rpm) = one.rpm else {
            out.push(plain(format!("No figure under load ({}): too few probes were answered.", run.queue)));
            continue;
        };
        out.push(plain("While "));
        out.push(Piece { queue: Some(index), words: who(record, run) });
        out.push(plain(format!(
            " fill the line, a request takes about {}: {rpm:.0}{NBSP}round trips per minute (RPM), which is {}{}.",
            about(rpm),
            one.category,
            doubt(one)
        )));
        if let Some(idle) = one.idle_rpm {
            out.push(plain(format!(" Without load it takes {}.", about(idle))));
        }
    }
    if let Some(doubt) = record.runs.iter().flat_map(|run| &run.doubts).next() {
        out.push(plain(format!(" Do not rely on this: {}.", doubt.evidence)));
    }
    out
}

fn who(record: &Record, run: &Run) -> String {
    let (who, load) = match run.loads[..] {
        [Direction::Up] => ("uploads", " upload"),
        [Direction::Down] => ("downloads", " download"),
        _ => ("transfers", ""),
    };
    // A simulated run has the name of its queue and of its load.
    let queue = run.queue.strip_suffix(load).unwrap_or(&run.queue);
    if record.is_path() { who.into() } else { format!("{who} over {queue}") }
}

/// What a round trip takes, of so many a minute.
fn about(rpm: f64) -> String {
    let ms = 60e3 / rpm.max(1e-3);
    if ms < 10.0 { format!("{ms:.1}{NBSP}ms") } else { format!("{ms:.0}{NBSP}ms") }
}

fn doubt(one: &Responsiveness) -> &'static str {
    match one.confidence.as_str() {
        "high" => "",
        "medium" => "; the figure did not become stable",
        _ => "; the line did not become stable in time, so this is only a rough figure",
    }
}

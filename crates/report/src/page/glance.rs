//! The picture of the first screen: a bar for each queue, readable at any width.

use std::fmt::Write as _;

use super::glossary;
use crate::charts::escape;
use crate::record::{Record, Run};
use crate::summary::{Letter, Summary, loaded_directions};
use crate::words;

/// Most bars; more queues get a matrix.
pub(super) const MOST: usize = 12;

/// The letter of a grade, on its colour.
pub(super) fn chip(letter: Letter) -> String {
    format!("<span class=\"chip {}\">{}</span>", class(letter), letter.as_str())
}

/// The class of a grade's colour.
pub(super) fn class(letter: Letter) -> &'static str {
    match letter {
        Letter::APlus => "ga1",
        Letter::A => "ga",
        Letter::B => "gb",
        Letter::C => "gc",
        Letter::D => "gd",
        Letter::F => "gf",
    }
}

/// Median and 95th percentile of what the load adds; of the round trip if there is no load.
fn delays(s: &Summary, loaded: bool) -> Option<(i64, i64)> {
    let (p50, p95) =
        if loaded { (s.rtt.added_p50_ns, s.rtt.added_p95_ns) } else { (s.rtt.p50_ns, s.rtt.p95_ns) };
    Some((p50?.max(0), p95?.max(0)))
}

/// A row for each queue.
pub(super) fn html(record: &Record, all: &[Summary]) -> String {
    let loaded = !loaded_directions(record).is_empty();
    let most = all.iter().filter_map(|s| delays(s, loaded)).map(|d| d.1).max().unwrap_or(0);
    if all.len() > MOST || most <= 0 {
        return String::new();
    }
    let what = if loaded { "What the load adds to each round trip" } else { "Round trips" };
    let mut out = format!(
        "<figure class=\"glance\"><figcaption>{}<small>bar: median; thin line: up to the 95th percentile</small>\
         </figcaption>\n<ol>\n",
        glossary::link(if loaded { "rise" } else { "rtt" }, what)
    );
    for (q, (run, s)) in record.runs.iter().zip(all).enumerate() {
        row(&mut out, (q, run, s), delays(s, loaded), most);
    }
    out.push_str("</ol></figure>\n");
    out
}

fn row(out: &mut String, (q, run, s): (usize, &Run, &Summary), delays: Option<(i64, i64)>, most: i64) {
    let grade = match s.grade {
        Some(grade) => chip(grade.letter),
        None if !run.validity.valid => "<span class=\"chip\" title=\"not valid\">!</span>".into(),
        None => String::new(),
    };
    let percent = |ns: i64| ns as f64 * 100.0 / most as f64;
    let (bar, words) = match delays {
        Some((p50, p95)) => (
            format!(
                "<i class=\"thin\" style=\"width:{:.2}%\"></i><i style=\"width:{:.2}%\"></i>",
                percent(p95),
                percent(p50)
            ),
            format!("<b>{}</b> <span>95 %: {}</span>", words::ms(p50), words::ms(p95)),
        ),
        None => (String::new(), "nothing measured".into()),
    };
    let _ = writeln!(
        out,
        "<li class=\"q{}\"><span class=\"name\">{}</span>{grade}<span class=\"track\">{bar}</span>\
         <span class=\"figure\">{words}</span></li>",
        q % 8,
        escape(&run.queue)
    );
}

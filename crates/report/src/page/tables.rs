//! The summary table, sortable.

use std::fmt::Write as _;

use super::glance::chip;
use super::{Colours, glossary, matrix};
use crate::charts::escape;
use crate::record::{Direction, Record, Run};
use crate::summary::{Repeated, Summary, distances_differ, loaded_directions, repeat, verdict};
use crate::table::{
    any_lost, at_least, cut_off, fraction, idle, lost_percent, mbit, mean_at_least, ms, percent,
};

/// The number to sort by, and the markup to show.
type Cell<'a> = dyn Fn(&Run, &Summary) -> (Option<f64>, String) + 'a;

/// A column: its group, its head, its full name for screen readers, and its cells.
struct Column<'a> {
    group: &'static str,
    unit: &'static str,
    head: &'static str,
    name: &'static str,
    cell: Box<Cell<'a>>,
}

fn time(
    group: &'static str,
    unit: &'static str,
    head: &'static str,
    name: &'static str,
    value: fn(&Summary) -> Option<i64>,
) -> Column<'static> {
    let cell = move |_: &Run, s: &Summary| (value(s).map(|v| v as f64), ms(value(s)));
    Column { group, unit, head, name, cell: Box::new(cell) }
}

/// A figure of the round trip that may include probes still in flight at the end.
fn bounded(
    group: &'static str,
    unit: &'static str,
    head: &'static str,
    name: &'static str,
    value: fn(&Summary) -> Option<i64>,
    cut_off: fn(&Summary) -> Option<i64>,
) -> Column<'static> {
    let cell =
        move |_: &Run, s: &Summary| (value(s).map(|v| v as f64), escape(&at_least(value(s), cut_off(s))));
    Column { group, unit, head, name, cell: Box::new(cell) }
}

fn count(head: &'static str, name: &'static str, value: fn(&Summary) -> u64) -> Column<'static> {
    let cell = move |_: &Run, s: &Summary| (Some(value(s) as f64), value(s).to_string());
    Column { group: "Packets", unit: "", head, name, cell: Box::new(cell) }
}

/// Columns of the first table, most important first.
fn columns(record: &Record, all: &[Summary]) -> Vec<Column<'static>> {
    let directions = loaded_directions(record);
    let mut out = Vec::new();
    let rise = |group, unit, head, name, value: fn(&Summary) -> Option<i64>| {
        bounded(group, unit, head, name, value, |s| s.rtt.added_cut_off_ns)
    };
    if directions.is_empty() {
        let rtt = |head, name, value: fn(&Summary) -> Option<i64>| {
            bounded("Round trip", "ms", head, name, value, |s| s.rtt.cut_off_ns)
        };
        out.push(rtt("p50", "round trip, median", |s| s.rtt.p50_ns));
        out.push(rtt("p95", "round trip, 95th percentile", |s| s.rtt.p95_ns));
        out.push(rtt("p99", "round trip, 99th percentile", |s| s.rtt.p99_ns));
        out.push(rtt("max", "round trip, largest", |s| s.rtt.max_ns));
        out.push(rtt("min", "round trip, smallest", |s| s.rtt.min_ns));
    } else {
        out.push(Column {
            group: "Grade",
            unit: "mean rise, ms",
            head: "<span class=\"mean\">ms</span>",
            name: "grade, by the mean rise of the round trip",
            cell: Box::new(grade),
        });
        let (group, unit) = ("Rise of the round trip", "under load, ms");
        out.push(rise(group, unit, "p50", "rise of the round trip, median", |s| s.rtt.added_p50_ns));
        out.push(rise(group, unit, "p95", "rise of the round trip, 95th percentile", |s| s.rtt.added_p95_ns));
    }
    for &d in &directions {
        let (head, name, value): (_, _, fn(&Summary) -> Option<u64>) = match d {
            Direction::Up => ("up", "goodput up", |s| s.goodput_up_bps),
            Direction::Down => ("down", "goodput down", |s| s.goodput_down_bps),
        };
        let cell = move |_: &Run, s: &Summary| (value(s).map(|v| v as f64), mbit(value(s)));
        out.push(Column { group: "Goodput", unit: "Mbit/s", head, name, cell: Box::new(cell) });
    }
    if any_lost(all) {
        let cell = |_: &Run, s: &Summary| (verdict::lost(&s.rtt), escape(&lost_percent(&s.rtt)));
        let name = "probes lost under load";
        out.push(Column { group: "Probes", unit: "%", head: "lost", name, cell: Box::new(cell) });
    }
    if !directions.is_empty() {
        let (group, unit) = ("Tail of the rise", "ms");
        out.push(rise(group, unit, "p99", "rise of the round trip, 99th percentile", |s| s.rtt.added_p99_ns));
        out.push(rise(group, unit, "max", "rise of the round trip, largest", |s| s.rtt.added_max_ns));
    }
    // Nobody here sees the queues and the line of a real path.
    if record.is_path() {
        return out;
    }
    out.push(count("drops", "dropped packets", |s| s.drops_and_marks()[0]));
    out.push(count("marks", "marked packets", |s| s.drops_and_marks()[1]));
    for &d in &directions {
        let (head, name, value): (_, _, fn(&Summary) -> Option<f64>) = match d {
            Direction::Up => ("up", "line used up", |s| s.utilisation(Direction::Up)),
            Direction::Down => ("down", "line used down", |s| s.utilisation(Direction::Down)),
        };
        let cell = move |_: &Run, s: &Summary| (value(s), percent(value(s)));
        out.push(Column { group: "Line used", unit: "%", head, name, cell: Box::new(cell) });
    }
    out
}

/// Columns of the second table; none without load.
fn more_columns(record: &Record, all: &[Summary]) -> Vec<Column<'static>> {
    let directions = loaded_directions(record);
    let mut out = Vec::new();
    if directions.is_empty() {
        return out;
    }
    let several = distances_differ(record);
    let cell = move |run: &Run, s: &Summary| {
        (s.rtt.idle_ns.map(|v| v as f64), idle(several, run, &s.rtt, |p| &p.rtt_ns, '–'))
    };
    let name = "idle round trip, median";
    out.push(Column { group: "Idle", unit: "ms", head: "RTT", name, cell: Box::new(cell) });
    let (group, unit) = ("One-way rise", "ms");
    out.push(time(group, unit, "up p50", "one-way rise up, median", |s| s.up.added_p50_ns));
    out.push(time(group, unit, "p95", "one-way rise up, 95th percentile", |s| s.up.added_p95_ns));
    out.push(time(group, unit, "down p50", "one-way rise down, median", |s| s.down.added_p50_ns));
    out.push(time(group, unit, "p95", "one-way rise down, 95th percentile", |s| s.down.added_p95_ns));
    let of_airtime = Summary::jain_of(all) == "airtime";
    if of_airtime {
        let cell = |_: &Run, s: &Summary| (s.airtime_jain(), fraction(s.airtime_jain()));
        let name = "Jain index of airtime";
        out.push(Column { group: "Jain", unit: "index", head: "airtime", name, cell: Box::new(cell) });
    }
    for &d in directions.iter().filter(|_| !of_airtime) {
        let (head, name, value): (_, _, fn(&Summary) -> Option<f64>) = match d {
            Direction::Up => ("up", "Jain index of goodput up", |s| s.jain_up),
            Direction::Down => ("down", "Jain index of goodput down", |s| s.jain_down),
        };
        if record.test.flows.iter().filter(|f| f.direction == d).count() > 1 {
            let cell = move |_: &Run, s: &Summary| (value(s), fraction(value(s)));
            out.push(Column { group: "Jain", unit: "of goodput", head, name, cell: Box::new(cell) });
        }
    }
    out
}

fn grade(run: &Run, s: &Summary) -> (Option<f64>, String) {
    let rise = s.rtt.added_mean_ns.map(|v| v as f64);
    match s.grade {
        Some(g) => {
            let loss = if g.is_lossy() {
                format!("<br><span class=\"loss\">{} % lost</span>", lost_percent(&s.rtt))
            } else {
                String::new()
            };
            let mean = escape(&mean_at_least(Some(g.mean_rise_ns), &s.rtt));
            (rise, format!("{}<span class=\"mean\">{mean}</span>{loss}", chip(g.letter)))
        }
        None if !run.validity.valid => (rise, "<span class=\"none\">not valid</span>".into()),
        None => {
            let why = escape(s.no_grade.as_deref().unwrap_or(""));
            (rise, format!("<span class=\"none\" title=\"{why}\">no grade</span>"))
        }
    }
}

/// The summary tables and the reasons for missing grades below the first.
pub(super) fn summary(record: &Record, summaries: &[Summary], colours: &Colours) -> String {
    let first = columns(record, summaries);
    let class = if matrix::is_many(record) { "summary many" } else { "summary" };
    let mut out = sortable(record, summaries, colours, &first, (class, "Summary table"));
    reasons(&mut out, record, summaries);
    if matrix::is_many(record) {
        let named = matrix::brief(record, &colours.0);
        let named = named.map(|(_, axes)| format!(" There they are named by {}.", escape(&axes)));
        let _ = writeln!(
            out,
            "<p class=\"lead\">The charts below show {} of {} variants, those in colour here: the ones that the headline \
             names, and the quartiles by what the load adds.{} All series are in the record and its CSV files.</p>",
            colours.0.len(),
            record.runs.len(),
            named.unwrap_or_default()
        );
    }
    arms(&mut out, record);
    let more = more_columns(record, summaries);
    if !more.is_empty() {
        let table = sortable(record, summaries, colours, &more, ("more", "More figures"));
        let _ = writeln!(out, "<details class=\"more\"><summary>More figures</summary>\n{table}</details>");
    }
    out
}

/// What is compared, a line each.
fn arms(out: &mut String, record: &Record) {
    let arms = record.all_arms();
    if arms.is_empty() {
        return;
    }
    out.push_str("<dl class=\"arms\">");
    for arm in arms {
        let _ = write!(out, "<dt>{}</dt><dd>{}</dd>", escape(&arm.name), escape(&arm.about));
    }
    out.push_str("</dl>\n");
}

/// A table with a row for each run. A click on a head sorts it.
fn sortable(
    record: &Record,
    summaries: &[Summary],
    colours: &Colours,
    columns: &[Column<'_>],
    (class, label): (&str, &str),
) -> String {
    let most = most(record, summaries, columns);
    let mut out = format!(
        "<div class=\"scroll {class}\" tabindex=\"0\" role=\"region\" aria-label=\"{label}\"><table>\n\
         <thead><tr class=\"groups\"><td></td>"
    );
    let mut i = 0;
    while i < columns.len() {
        let span = columns[i..].iter().take_while(|c| c.group == columns[i].group).count();
        let (group, unit) = (glossary::known(columns[i].group), columns[i].unit);
        let _ = write!(
            out,
            "<th scope=\"colgroup\" class=\"first\" colspan=\"{span}\">{group} <small>{unit}</small></th>"
        );
        i += span;
    }
    out.push_str("</tr>\n<tr>");
    let head = |out: &mut String, i: usize, class: &str, name: &str, words: &str| {
        let _ = write!(
            out,
            "<th scope=\"col\" class=\"{class}\" data-column=\"{i}\" data-name=\"{name}\" aria-sort=\"none\">\
             <button type=\"button\" title=\"{name}; press to sort\">\
             <span class=\"unseen\">{name}, sort by </span>{words}</button></th>"
        );
    };
    head(&mut out, 0, "text", record.side(), record.side());
    for (i, c) in columns.iter().enumerate() {
        let first = i == 0 || columns[i - 1].group != c.group;
        head(&mut out, i + 1, if first { "first" } else { "" }, c.name, c.head);
    }
    out.push_str("</tr></thead>\n<tbody>");
    for (q, (run, s)) in record.runs.iter().zip(summaries).enumerate() {
        let _ = write!(
            out,
            "<tr><th scope=\"row\" class=\"{}\">{}</th>",
            colours.class(q),
            glossary::queue(&run.queue)
        );
        for (i, c) in columns.iter().enumerate() {
            let (value, words) = (c.cell)(run, s);
            let first = if i == 0 || columns[i - 1].group != c.group { " class=\"first\"" } else { "" };
            let value = value.filter(|v| v.is_finite());
            let bar = value.zip(most[i]).map(|(v, most)| (v.max(0.0) * 100.0 / most).min(100.0));
            let bar = bar.map(|percent| format!(" style=\"--b:{percent:.0}%\"")).unwrap_or_default();
            let value = value.map(|v| format!(" data-v=\"{v}\"")).unwrap_or_default();
            let _ = write!(out, "<td{first}{value}{bar}>{words}</td>");
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    out
}

/// The largest value of each column with bars: with many rows, delays and goodputs have bars.
fn most(record: &Record, summaries: &[Summary], columns: &[Column<'_>]) -> Vec<Option<f64>> {
    let of = |c: &Column<'_>| {
        let values = record.runs.iter().zip(summaries).filter_map(|(run, s)| (c.cell)(run, s).0);
        let has_bars = matrix::is_many(record) && ["ms", "Mbit/s"].iter().any(|unit| c.unit.ends_with(unit));
        let most = values.filter(|v| v.is_finite()).fold(0.0, f64::max);
        Some(most).filter(|&most| has_bars && most > 0.0)
    };
    columns.iter().map(of).collect()
}

/// Why grades are missing.
fn reasons(out: &mut String, record: &Record, summaries: &[Summary]) {
    for (run, s) in record.runs.iter().zip(summaries) {
        if let Some(words) = cut_off(s) {
            let _ = writeln!(out, "<p class=\"lead\">{}: {}.</p>", escape(&run.queue), escape(&words));
        }
        if let Some(why) = s.no_grade.as_ref().filter(|_| run.validity.valid && record.wants_grade()) {
            let _ = writeln!(
                out,
                "<p class=\"lead\">{}: no grade, because {}.</p>",
                escape(&run.queue),
                escape(why)
            );
        }
    }
}

/// The table of repetitions; empty if no run was repeated.
pub(crate) fn repetitions(record: &Record, summaries: &[Summary]) -> String {
    let Some(title) = repeat::title(summaries) else { return String::new() };
    let cell = |s: &Summary, of: fn(&Repeated) -> Option<String>| s.repeated.as_ref().and_then(of);
    let columns: Vec<_> = repeat::COLUMNS
        .into_iter()
        .filter(|&(_, of)| summaries.iter().any(|summary| cell(summary, of).is_some()))
        .collect();
    let mut out = format!(
        "<p class=\"lead\">Below: {}.</p>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" \
         aria-label=\"Repetitions\"><table>\n<thead><tr><th scope=\"col\" class=\"text\">queue</th>",
        escape(&title)
    );
    for (head, _) in &columns {
        let _ = write!(out, "<th scope=\"col\">{}</th>", escape(head));
    }
    out.push_str("</tr></thead>\n<tbody>");
    for (q, (run, summary)) in record.runs.iter().zip(summaries).enumerate() {
        let _ = write!(out, "<tr><th scope=\"row\" class=\"q{}\">{}</th>", q % 8, escape(&run.queue));
        for &(_, of) in &columns {
            let _ = write!(out, "<td>{}</td>", cell(summary, of).unwrap_or_else(|| "–".into()));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    out
}

//! The report page: one self-contained HTML file, readable from disk without a network.

mod airtime;
mod applications;
mod blocks;
mod details;
mod figures;
mod glance;
mod glossary;
mod matrix;
mod queues;
mod rpm;
pub(crate) mod sweep;
mod tables;
mod talks;
mod wifi;

use std::fmt::Write as _;

use crate::charts::{self, Delay, escape};
use crate::summary::Summary;
use crate::words;
use crate::{Record, Run};

/// The beginning of every page, before its body.
const HEAD: &str = include_str!("../assets/head.html");
const BODY: &str = include_str!("../assets/page.html");
const CSS: &str = include_str!("../assets/page.css");
const JS: &str = include_str!("../assets/page.js");
/// Colours outside the charts, light and dark.
const LIGHT: &str = "--area:1;--back:#fff;--panel:#f4f6f8;--line:#c4cad1;--soft:#3b434c;--link:#0757a8;\
--ga1:#005f4b;--ga:#2b7a2f;--gb:#626c00;--gc:#8f5600;--gd:#b5460f;--gf:#930f35;--chip-ink:#fff;\
--warn-back:#fff8e6;--warn-line:#c98a00;--bad-back:#fdeeec;--bad-line:#b3261e;\
--paper:#fff;--ink:#1b1f24;--muted:#59636e;--grid:#e4e7eb;--axis:#8c959f;\
--q0:#c2410c;--q1:#0066a6;--q2:#007a5a;--q3:#a33f80;--q4:#806000;--q5:#525a63;--q6:#5b3fb5;--q7:#7a2e2e";
const DARK: &str = "--area:.72;--back:#121518;--panel:#1c2126;--line:#4a535d;--soft:#c3c9d0;--link:#7fbcff;\
--ga1:#3ddbb0;--ga:#7ddc6a;--gb:#cdd84c;--gc:#f2b13c;--gd:#ff9259;--gf:#ff7a93;--chip-ink:#121518;\
--warn-back:#2b2410;--warn-line:#d79b1f;--bad-back:#331c1a;--bad-line:#ff8a80;\
--paper:#121518;--ink:#e9ecef;--muted:#a4adb6;--grid:#2b3138;--axis:#75808b;\
--q0:#ff8f5a;--q1:#62b5f5;--q2:#3ecf9e;--q3:#f08cc8;--q4:#e3b93f;--q5:#b4bcc5;--q6:#b6a6ff;--q7:#eb9f9f";

/// The page of a record: one HTML document without external references.
pub fn html(record: &Record) -> String {
    let summaries = Summary::all(record);
    let colours = Colours(matrix::picked(record, &summaries));
    let chosen = colours.chosen(record);
    let (record_of_charts, summaries_of_charts) = match &chosen {
        Some(chosen) => (chosen, Summary::all(chosen)),
        None => (record, summaries.clone()),
    };
    let figures = figures::all(record_of_charts, &summaries_of_charts);
    let delay = Delay::ALL.into_iter().find(|&d| charts::has_delay(record, d)).unwrap_or(Delay::RoundTrip);
    let scale = axis_name(charts::wide_range(record_of_charts, delay));
    let air = record.has_radio();
    let with = |base: &str, more: &str| if air { format!("{base}{more}") } else { base.to_owned() };
    let title = if record.title.is_empty() { &record.test.name } else { &record.title };
    let slots = [
        ("version", escape(&record.version)),
        ("title", escape(title)),
        ("theme", theme(colours.0.len())),
        ("css", with(CSS, airtime::CSS)),
        ("chart_css", charts::css(true)),
        ("arm", escape(&record.arm)),
        ("delay", delay.key().to_owned()),
        ("scale", scale.to_owned()),
        ("axis", axis_name(charts::very_wide_range(record_of_charts, delay)).to_owned()),
        ("headline", headline(record, &summaries, &colours)),
        ("about", about(record)),
        ("banners", banners(record) + &findings(record, &summaries)),
        ("glance", glance::html(record, &summaries) + &matrix::html(record, &summaries)),
        ("summary", tables::summary(record, &summaries, &colours) + &tables::repetitions(record, &summaries)),
        ("charts", figures.html),
        ("details", details::html(record, &summaries, matrix::is_many(record))),
        ("definitions", glossary::html(record)),
        ("data", figures.data),
        ("js", with(JS, airtime::JS)),
    ];
    fill(&[HEAD, BODY].concat(), &slots)
}

/// The colour of each drawn run.
struct Colours(Vec<usize>);

impl Colours {
    /// The class with the colour of a run; empty if the run is not drawn.
    fn class(&self, run: usize) -> String {
        let place = self.0.iter().position(|&drawn| drawn == run);
        place.map_or_else(String::new, |place| format!("q{}", place % 8))
    }

    /// A record of only the drawn runs; `None` if all are drawn.
    fn chosen(&self, record: &Record) -> Option<Record> {
        if self.0.len() == record.runs.len() {
            return None;
        }
        let mut runs: Vec<Run> = self.0.iter().filter_map(|&i| record.runs.get(i).cloned()).collect();
        if let Some((names, _)) = matrix::brief(record, &self.0) {
            runs.iter_mut().zip(names).for_each(|(run, name)| run.queue = name);
        }
        let Record { schema, seed, .. } = *record;
        Some(Record {
            schema,
            seed,
            version: record.version.clone(),
            started: record.started.clone(),
            title: record.title.clone(),
            arm: record.arm.clone(),
            test: record.test.clone(),
            link: record.link.clone(),
            runs,
            ..Record::default()
        })
    }
}

fn axis_name(log: bool) -> &'static str {
    if log { "log" } else { "linear" }
}

/// Fills the slots of the template. The inserted text is not searched for slots.
fn fill(template: &str, slots: &[(&str, String)]) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let Some((name, tail)) = after.split_once("}}") else { break };
        if let Some((_, text)) = slots.iter().find(|(n, _)| *n == name) {
            out.push_str(text);
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

fn theme(queues: usize) -> String {
    let mut out = format!(
        ":root{{{LIGHT}}}\n@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{DARK}}}}}\n"
    );
    let _ = writeln!(out, ":root[data-theme=dark]{{{DARK}}}\n@media print{{:root:root:root{{{LIGHT}}}}}");
    for i in 0..8 {
        let _ = writeln!(out, ".q{i}{{--q:var(--q{i})}}");
    }
    for letter in ["ga1", "ga", "gb", "gc", "gd", "gf"] {
        let _ = writeln!(out, ".{letter}{{--g:var(--{letter})}}");
    }
    for i in 0..queues {
        let _ = writeln!(out, "[data-hide~=\"{i}\"] [data-q=\"{i}\"]{{display:none}}");
    }
    for delay in Delay::ALL {
        let key = delay.key();
        let _ = writeln!(out, "[data-delay={key}] .delay:not(.{key}){{display:none}}");
    }
    out.push_str("[data-scale=log] .linear,[data-scale=linear] .log{display:none}\n");
    out.push_str("[data-axis=log] .axis-linear,[data-axis=linear] .axis-log{display:none}\n");
    out
}

/// The headline, with the queues' names in their colours.
fn headline(record: &Record, summaries: &[Summary], colours: &Colours) -> String {
    let mut out = String::new();
    for piece in words::headline_pieces(record, summaries) {
        let _ = match piece.queue {
            Some(q) => {
                write!(out, "<b class=\"{}\">{}</b>", colours.class(q), glossary::queue(&piece.words))
            }
            None => write!(out, "{}", escape(&piece.words)),
        };
    }
    out
}

fn about(record: &Record) -> String {
    let mut parts = Vec::new();
    if !record.title.is_empty() {
        parts.push(format!("<strong>{}</strong>", escape(&record.title)));
    }
    parts.push(escape(&words::experiment(record)));
    if !record.started.is_empty() {
        parts.push(escape(&words::date(&record.started)));
    }
    parts.join(" · ")
}

/// Warnings to read before the numbers.
fn banners(record: &Record) -> String {
    let mut out = String::new();
    if let Some(missing) = words::missing(record) {
        banner(&mut out, "banner bad", &format!("{missing}."), &[]);
    }
    for run in &record.runs {
        if !run.validity.valid {
            let words = format!("The result of {} is not valid and has no grade.", run.queue);
            banner(&mut out, "banner bad", &words, &run.validity.reasons);
        } else if !run.complete {
            banner(&mut out, "banner", &format!("The run of {} was cut short.", run.queue), &[]);
        }
    }
    if !record.warnings.is_empty() {
        banner(&mut out, "banner", "Read this before trusting the result.", &record.warnings);
    }
    out
}

/// Findings in addition to the grades: a starved direction, lost probes.
fn findings(record: &Record, summaries: &[Summary]) -> String {
    let of = |s: &Summary| s.findings.iter().map(|f| format!("{}: {f}", s.queue)).collect::<Vec<_>>();
    let found: Vec<String> = summaries.iter().flat_map(of).collect();
    let mut out = String::new();
    if !found.is_empty() {
        banner(&mut out, "banner", "Other effects of the load.", &found);
    }
    let said = words::queue_kinds(record).into_iter().chain(words::located(record));
    for (sentence, lines) in said.chain(words::observed(record, summaries)) {
        banner(&mut out, "banner", &sentence, &lines);
    }
    for advice in words::advice(record, summaries) {
        banner(&mut out, "banner", &advice, &[]);
    }
    out
}

fn banner(out: &mut String, class: &str, words: &str, reasons: &[String]) {
    let _ = write!(out, "<div class=\"{class}\" role=\"note\"><p>{}</p>", escape(words));
    if !reasons.is_empty() {
        out.push_str("<ul>");
        for reason in reasons {
            let _ = write!(out, "<li>{}</li>", escape(reason));
        }
        out.push_str("</ul>");
    }
    out.push_str("</div>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_filled_once() {
        let slots = [("a", "{{b}}".to_owned()), ("b", "x".to_owned())];
        assert_eq!(fill("<{{a}}{{b}}{{c}}>", &slots), "<{{b}}x>");
    }
}

//! `goodqueue check-queue`: whether queues keep the rules.

use std::fmt::Write;

use goodqueue_experiment::{Error, check_queue};
use goodqueue_own::Rule;
use goodqueue_own::check::Report;
use serde_json::{Value, json};

use crate::args::CheckQueueArgs;
use crate::output::{print, print_json};

/// Checks each queue and shows the result.
///
/// # Errors
/// [`Error::Usage`] if one cannot be used, [`Error::LimitFailed`] if one breaks a rule.
pub fn command(args: &CheckQueueArgs) -> Result<(), Error> {
    let mut reports = Vec::new();
    for words in &args.queues {
        reports.push((words.as_str(), check_queue(words, args.rate)?));
    }
    if args.json {
        print_json(&reports.iter().map(|(queue, report)| in_json(queue, report)).collect::<Vec<_>>())?;
    } else {
        let mut text = String::new();
        for (queue, report) in &reports {
            in_words(&mut text, queue, report);
        }
        print(&text)?;
    }
    let broken = reports.iter().find_map(|(queue, report)| Some((queue, report.violations.first()?)));
    match broken {
        None => Ok(()),
        Some((queue, violation)) => {
            let rule = violation.fault.rule.name();
            Err(Error::LimitFailed(format!("{queue} breaks the rule `{rule}`: {violation}")))
        }
    }
}

/// The word for the result of a rule.
fn word(report: &Report, rule: Rule) -> &'static str {
    match report.of(rule) {
        Some(_) => "broken",
        None if report.is_checked(rule) => "kept",
        None => "not checked",
    }
}

fn in_words(text: &mut String, queue: &str, report: &Report) {
    let Report { calls, most_held, .. } = report;
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{queue}: {calls} calls, at most {most_held} packets held");
    for rule in Rule::ALL {
        let _ = writeln!(text, "  {:<11}  {:<6}  {}", word(report, rule), rule.name(), rule.about());
        if let Some(violation) = report.of(rule) {
            let _ = writeln!(text, "               {violation}");
        }
    }
}

fn in_json(queue: &str, report: &Report) -> Value {
    let rule = |rule: Rule| {
        let violation = report.of(rule).map(|violation| {
            json!({
                "pattern": violation.pattern.name(), "seed": violation.seed, "step": violation.step,
                "at_ns": violation.fault.at.0, "what": violation.fault.words,
            })
        });
        json!({
            "rule": rule.name(), "about": rule.about(), "verdict": word(report, rule),
            "violation": violation,
        })
    };
    json!({
        "queue": queue, "calls": report.calls, "most_held_packets": report.most_held,
        "rules": Rule::ALL.map(rule),
    })
}

//! `goodqueue check-cc`: whether congestion controls keep the rules.

use std::fmt::Write;

use goodqueue_experiment::{CcCase, CcOutcome, Error, check_cc};
use serde_json::{Value, json};

use crate::args::CheckCcArgs;
use crate::output::{print, print_json};

/// Checks each congestion control and shows the result.
///
/// # Errors
/// [`Error::Usage`] if there is none of this name, [`Error::LimitFailed`] if one breaks a rule.
pub fn command(args: &CheckCcArgs) -> Result<(), Error> {
    let mut all = Vec::new();
    for words in &args.controls {
        all.push((words.as_str(), check_cc(words)?));
    }
    if args.json {
        print_json(&all.iter().map(|(words, outcomes)| in_json(words, outcomes)).collect::<Vec<_>>())?;
    } else {
        let mut text = String::new();
        for (words, outcomes) in &all {
            in_words(&mut text, words, outcomes);
        }
        print(&text)?;
    }
    let broken =
        all.iter().flat_map(|(words, outcomes)| outcomes.iter().map(move |outcome| (words, outcome)));
    for (words, CcOutcome { case, violation, .. }) in broken {
        if let Some(violation) = violation {
            return Err(Error::LimitFailed(format!("{words}, {}: {violation}", case.about)));
        }
    }
    Ok(())
}

fn in_words(text: &mut String, words: &str, outcomes: &[CcOutcome]) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{words}, alone for 20 s");
    for CcOutcome { case, goodput_bps, queueing, violation } in outcomes {
        let CcCase { about, rate, rtt, queue, ecn } = case;
        let ecn = if *ecn { ", ECN" } else { "" };
        let word = if violation.is_some() { "broken" } else { "kept" };
        let line = format!("{about} ({rate}, {rtt}, {queue}{ecn})");
        let (mbit, ms) = (*goodput_bps as f64 / 1e6, queueing.as_millis_f64());
        let _ = writeln!(text, "  {word:<6}  {line:<48} {mbit:6.2} Mbit/s, {ms:6.1} ms in the queue");
        if let Some(violation) = violation {
            let _ = writeln!(text, "          {violation}");
        }
    }
}

fn in_json(words: &str, outcomes: &[CcOutcome]) -> Value {
    let case = |CcOutcome { case, goodput_bps, queueing, violation }: &CcOutcome| {
        json!({
            "about": case.about, "rate_bps": case.rate.0, "rtt_ns": case.rtt.0,
            "queue": case.queue, "ecn": case.ecn, "goodput_bps": goodput_bps, "queueing_p50_ns": queueing.0,
            "verdict": if violation.is_some() { "broken" } else { "kept" }, "violation": violation,
        })
    };
    json!({ "cc": words, "cases": outcomes.iter().map(case).collect::<Vec<_>>() })
}

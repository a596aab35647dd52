//! `goodqueue doctor`: queues that are too long in this host, and what to do about them.

use std::io::{self, BufRead, IsTerminal};

use goodqueue_experiment::Error;
use goodqueue_router::doctor::{self, Facts, Finding, Severity};
use serde_json::{Value, json};

use crate::args::DoctorArgs;
use crate::output::print;
use crate::sqm::told;

/// The page on which each rule has a section.
const PAGE: &str = include_str!("../../../docs/doctor.md");
/// The beginning of the paragraph in which a section says what was measured.
const MEASURED: &str = "Measured here: ";
/// The part of the page with what commands print.
const MEASUREMENTS: &str = "Measurements";

/// Looks, fixes or puts back.
///
/// # Errors
/// [`Error::LimitFailed`] if a fault was found, [`Error::Usage`] for an interface that is not there,
/// [`Error::Machine`] with what this machine lacks.
pub fn command(args: &DoctorArgs) -> Result<(), Error> {
    if args.undo {
        for line in doctor::undo().map_err(told)? {
            print(&format!("{line}\n"))?;
        }
        return Ok(());
    }
    if let Some(rule) = &args.explain {
        return explain(rule);
    }
    let only = args.interface.as_deref();
    let mut found = doctor::findings(&look(only)?, only);
    if args.json {
        print(&format!("{}\n", Value::from(found.iter().map(json_of).collect::<Vec<_>>())))?;
    } else if args.fix {
        fix(&found, args.yes)?;
        found = doctor::findings(&look(only)?, only);
    } else if found.is_empty() {
        print("nothing found\n")?;
    } else {
        print(&found.iter().map(|finding| text_of(finding) + "\n").collect::<String>())?;
        if found.iter().any(is_ours) {
            print("`goodqueue doctor --fix` fixes what it can, and `--undo` undoes that.\n")?;
        }
    }
    let faults = found.iter().filter(|finding| finding.severity == Severity::Fault).count();
    match (faults, args.fix) {
        (0, _) => Ok(()),
        (1, false) => Err(Error::LimitFailed("1 fault".into())),
        (_, false) => Err(Error::LimitFailed(format!("{faults} faults"))),
        (1, true) => Err(Error::LimitFailed("1 fault is left".into())),
        (_, true) => Err(Error::LimitFailed(format!("{faults} faults are left"))),
    }
}

fn look(only: Option<&str>) -> Result<Facts, Error> {
    let facts = doctor::facts().map_err(told)?;
    if let Some(name) = only.filter(|name| facts.interfaces.iter().all(|interface| interface.name != *name)) {
        let names: Vec<&str> = facts.interfaces.iter().map(|interface| interface.name.as_str()).collect();
        let names = names.join(", ");
        return Err(Error::Usage(format!("there is no interface {name}; the interfaces are {names}")));
    }
    Ok(facts)
}

/// Whether `--fix` can fix it.
fn is_ours(finding: &Finding) -> bool {
    finding.fix.as_ref().is_some_and(|fix| !fix.steps.is_empty())
}

fn text_of(finding: &Finding) -> String {
    let place = finding.interface.as_deref().unwrap_or("this host");
    let (name, rule) = (finding.severity.name(), finding.rule);
    let mut text = format!("{name}: {place}: {}\n  why:  {}\n", finding.what, finding.why);
    if let Some(measured) = measured(rule) {
        text += &format!("  here: {measured}\n");
    }
    if let Some(fix) = &finding.fix {
        text += &format!("  fix: {}\n  undo: {}\n", fix.command, fix.undo);
    }
    text + &format!("  more: goodqueue doctor --explain {rule}\n")
}

/// The sections of a part of the page, by their headings.
fn sections_of(part: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let (_, rest) = PAGE.split_once(&format!("\n## {part}\n")).unwrap_or_default();
    let sections = rest.split_once("\n## ").map_or(rest, |(sections, _)| sections);
    sections.split("\n### ").skip(1).filter_map(|section| section.split_once('\n'))
}

/// The rules and their sections.
fn sections() -> impl Iterator<Item = (&'static str, &'static str)> {
    sections_of("Rules")
}

/// The link to a measurement, as the page writes it.
fn link_to(measurement: &str) -> String {
    format!(" ([below](#{}))", measurement.to_lowercase().replace(' ', "-"))
}

/// The measurement in the section of a rule, in one line without links to the same page.
fn measured(rule: &str) -> Option<String> {
    let (_, section) = sections().find(|(name, _)| *name == rule)?;
    let words = section.split("\n\n").find_map(|paragraph| paragraph.trim().strip_prefix(MEASURED))?;
    let words = words.replace('\n', " ");
    Some(plain(&sections_of(MEASUREMENTS).fold(words, |words, (name, _)| words.replace(&link_to(name), ""))))
}

/// The text without its links: `[text](place)` is `text`.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('[') {
        out += before;
        let Some((word, link)) = behind.split_once("](") else { return out + "[" + behind };
        let Some((_, after)) = link.split_once(')') else { return out + "[" + behind };
        (out, rest) = (out + word, after);
    }
    out + rest
}

/// Prints the section of a rule, and the measurement on the same page that it names.
fn explain(rule: &str) -> Result<(), Error> {
    let Some((_, section)) = sections().find(|(name, _)| *name == rule) else {
        let names: Vec<&str> = sections().map(|(name, _)| name).collect();
        let names = names.join(", ");
        return Err(Error::Usage(format!("--explain {rule}: there is no such rule; the rules are {names}")));
    };
    let words = section.replace('\n', " ");
    let named = sections_of(MEASUREMENTS).find(|(name, _)| words.contains(&link_to(name)));
    let named = named.map_or(String::new(), |(name, text)| format!("\n{name}\n\n{}\n", plain(text.trim())));
    print(&format!("{rule}: {}\n{named}", plain(section.trim())))
}

fn json_of(finding: &Finding) -> Value {
    let fix = finding
        .fix
        .as_ref()
        .map(|fix| json!({ "command": fix.command, "undo": fix.undo, "by_hand": fix.steps.is_empty() }));
    json!({
        "rule": finding.rule, "interface": finding.interface, "severity": finding.severity.name(),
        "what": finding.what, "why": finding.why, "measured": measured(finding.rule),
        "page": format!("docs/doctor.md#{}", finding.rule), "fix": fix,
    })
}

/// What somebody answers.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Yes,
    No,
    Quit,
}

/// The answer in a line of input. The end of the input means quit.
fn answer(line: &str) -> Option<Answer> {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Some(Answer::Yes),
        "n" | "no" => Some(Answer::No),
        "q" | "quit" => Some(Answer::Quit),
        _ if line.is_empty() => Some(Answer::Quit),
        _ => None,
    }
}

fn fix(found: &[Finding], is_agreed: bool) -> Result<(), Error> {
    if !is_agreed && !io::stdin().is_terminal() {
        return Err(Error::Usage(
            "--fix asks before each change, on a terminal; without one, add --yes".into(),
        ));
    }
    for finding in found {
        print(&(text_of(finding) + "\n"))?;
        if !is_ours(finding) {
            print("  not fixed: only you can do that\n\n")?;
            continue;
        }
        match if is_agreed { Answer::Yes } else { ask()? } {
            Answer::Yes => {
                doctor::fix(finding).map_err(told)?;
                print("  fixed\n\n")?;
            }
            Answer::No => print("  left as it is\n\n")?,
            Answer::Quit => break,
        }
    }
    Ok(())
}

fn ask() -> Result<Answer, Error> {
    loop {
        print("  fix it? yes, no, quit: ")?;
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line).map_err(Error::machine)?;
        if let Some(answer) = answer(&line) {
            return Ok(answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_says_what_was_measured() {
        for (rule, _) in sections() {
            let words = measured(rule).unwrap_or_else(|| panic!("{rule} says nothing"));
            assert!(words.chars().any(|c| c.is_ascii_digit()), "{rule}: a figure");
            assert!(!words.contains(['[', '\n']) && !words.contains("below"), "{rule}: {words}");
        }
        assert_eq!(sections().count(), 21);
        assert_eq!(measured("no rule"), None);
    }

    #[test]
    fn links_become_their_words() {
        assert_eq!(plain("see [this page](a/b.md), `[x]`"), "see this page, `[x]`");
        assert_eq!(plain("[below](#a) and [open"), "below and [open");
    }

    #[test]
    fn answers_are_words_or_letters() {
        assert_eq!(answer("y\n"), Some(Answer::Yes));
        assert_eq!(answer(" No\n"), Some(Answer::No));
        assert_eq!(answer("quit"), Some(Answer::Quit));
        assert_eq!(answer(""), Some(Answer::Quit), "the end of the input");
        assert_eq!(answer("\n"), None);
        assert_eq!(answer("yesterday\n"), None);
    }
}

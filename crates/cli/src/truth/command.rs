//! `goodqueue truth`: reads the folder, has everything run, prints the answer.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use super::case::Case;
use super::compare::{CaseReport, Count, Ending, Plan, Report, Tried};
use super::summary::Runs;
use super::{CodelParity, InputError, Simulate, case, summary, table};
use crate::args::{CodelParityArg, TruthArgs};
use crate::exit::End;
use crate::hint::did_you_mean;
use crate::output::{check_parent, print, print_json};

/// Most seeds of ours for each case.
const MOST_SEEDS: u64 = 1000;

/// Simulates the cases of a folder, holds them against the kernel's figures and prints the answer.
///
/// # Errors
/// Those of [`compare_folder`] and of [`Report::end`]; [`End::Machine`] where the page cannot be written.
pub fn command(args: &TruthArgs, simulate: &Simulate<'_>) -> Result<(), End> {
    if let Some(path) = &args.output {
        claim(path)?;
    }
    let report = compare_folder(args, simulate)?;
    if let Some(path) = &args.output {
        goodqueue_report::write_new(path, report.markdown().as_bytes()).map_err(End::machine)?;
    }
    match (args.json, args.quiet) {
        (true, _) => print_json(&Json { count: report.count(), report: &report }),
        (false, true) => print(&table::brief(&report)),
        (false, false) => print(&report.to_string()),
    }?;
    report.end()
}

/// What `--json` prints.
#[derive(Serialize)]
struct Json<'a> {
    count: Count,
    #[serde(flatten)]
    report: &'a Report,
}

/// Simulates the cases of a folder and holds them against the kernel's figures.
///
/// # Errors
/// [`End::Usage`] where the folder or an argument is wrong.
pub fn compare_folder(args: &TruthArgs, simulate: &Simulate<'_>) -> Result<Report, End> {
    let seeds = args.seeds.filter(|seeds| (1..=MOST_SEEDS).contains(seeds));
    if args.seeds != seeds {
        return Err(End::Usage(format!("--seeds: out of range, 1 to {MOST_SEEDS}")));
    }
    let (cases, kernel) = read(&args.folder).map_err(End::usage)?;
    let tried = match args.codel_parity {
        CodelParityArg::Mended => Tried::Only(CodelParity::Mended),
        CodelParityArg::Stale => Tried::Only(CodelParity::Stale),
        CodelParityArg::Either => Tried::Either,
    };
    let plan = Plan { cases: chosen(&cases, &args.case)?, kernel: &kernel, seeds, tried };
    let progress = Progress::new(args.quiet, plan.cases.len());
    let report = plan.run(simulate, &|case| progress.ended(case));
    progress.bar.finish_and_clear();
    Ok(report)
}

impl Report {
    /// What the comparison comes to.
    ///
    /// # Errors
    /// [`End::LimitFailed`] where a figure is outside its bar, a simulation failed, or nothing was judged.
    pub fn end(&self) -> Result<(), End> {
        let count = self.count();
        let total = table::total(&count);
        if count.outside > 0 || count.failed > 0 {
            return Err(End::LimitFailed(total));
        }
        if count.judged() == 0 {
            return Err(End::LimitFailed(format!("nothing was judged: {total}")));
        }
        Ok(())
    }
}

/// Reads both files; warnings go to standard error, each once.
fn read(folder: &Path) -> Result<(Vec<Case>, Runs), InputError> {
    let mut warnings = BTreeSet::new();
    let cases = case::read(&folder.join("cases.jsonl"), &mut warnings)?;
    let runs = summary::read(&folder.join("summary.jsonl"), &cases, &mut warnings)?;
    warnings.iter().for_each(|warning| eprintln!("goodqueue: warning: {warning}"));
    Ok((cases, runs))
}

/// The cases of these names, in the order of the file; all without names.
fn chosen<'a>(cases: &'a [Case], names: &[String]) -> Result<Vec<&'a Case>, End> {
    let known: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    if let Some(wrong) = names.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(End::Usage(format!("there is no case {wrong}{}", did_you_mean(wrong, &known))));
    }
    Ok(cases.iter().filter(|case| names.is_empty() || names.contains(&case.name)).collect())
}

/// Refuses a name that cannot be written, before anything is run.
fn claim(path: &Path) -> Result<(), End> {
    let refuse = |why: &str| Err(End::Usage(format!("--output {}: {why}", path.display())));
    if path.extension().is_none_or(|extension| extension != "md") {
        return refuse("the name of a page ends in .md");
    }
    if path.symlink_metadata().is_ok() {
        return refuse("it exists, and nothing is ever overwritten: name a new file");
    }
    check_parent(path)
}

/// A bar on a terminal, a line for each case elsewhere, nothing if asked.
struct Progress {
    bar: ProgressBar,
    has_lines: bool,
}

impl Progress {
    fn new(quiet: bool, cases: usize) -> Progress {
        if quiet || !std::io::stderr().is_terminal() {
            return Progress { bar: ProgressBar::hidden(), has_lines: !quiet };
        }
        let style = ProgressStyle::with_template("{pos:>4}/{len} {bar:24.cyan/blue} {msg}");
        let cases = u64::try_from(cases).ok();
        let bar = ProgressBar::with_draw_target(cases, ProgressDrawTarget::stderr_with_hz(5));
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Progress { bar, has_lines: false }
    }

    fn ended(&self, case: &CaseReport) {
        let how = match case.ending {
            Ending::Within { .. } => "within",
            Ending::NeedsParity { .. } => "within with parity",
            Ending::Outside { .. } => "outside",
            Ending::Failed { .. } => "failed",
            Ending::Skipped { .. } => "skipped",
        };
        self.bar.set_message(format!("{}: {how}", case.name));
        self.bar.inc(1);
        if self.has_lines {
            eprintln!("goodqueue: {}: {how}", case.name);
        }
    }
}

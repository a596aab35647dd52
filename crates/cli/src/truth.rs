//! `goodqueue truth`: compares a folder and prints the result.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::Path;

use goodqueue_experiment::Error;
use goodqueue_proof::truth::{
    CaseReport, Count, Ending, Report, Selection, Watch, brief, compare_folder, simulate,
};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use crate::args::TruthArgs;
use crate::output::{check_parent, print, print_json};

/// Simulates the cases of a folder, compares them with the kernel's figures and prints the result.
///
/// # Errors
/// Those of [`compare_folder`] and of [`Report::end`]; [`Error::Machine`] if the page cannot be written.
pub fn command(args: &TruthArgs) -> Result<(), Error> {
    if let Some(path) = &args.output {
        claim(path)?;
    }
    let (folder, cases, tried) = (args.folder.clone(), args.case.clone(), args.codel_parity);
    let progress = Progress::new(args.quiet);
    let selection = Selection { folder, cases, seeds: args.seeds, tried };
    let report = compare_folder(&selection, &simulate, &progress)?;
    progress.bar.finish_and_clear();
    if let Some(path) = &args.output {
        goodqueue_report::write_new(path, report.markdown().as_bytes()).map_err(Error::machine)?;
    }
    match (args.json, args.quiet) {
        (true, _) => print_json(&Json { count: report.count(), report: &report }),
        (false, true) => print(&brief(&report)),
        (false, false) => print(&report.to_string()),
    }?;
    report.end()
}

/// The output of `--json`.
#[derive(Serialize)]
struct Json<'a> {
    count: Count,
    #[serde(flatten)]
    report: &'a Report,
}

/// Refuses a name that cannot be written, before anything is run.
fn claim(path: &Path) -> Result<(), Error> {
    let refuse = |why: &str| Err(Error::Usage(format!("--output {}: {why}", path.display())));
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
    fn new(quiet: bool) -> Progress {
        if quiet || !std::io::stderr().is_terminal() {
            return Progress { bar: ProgressBar::hidden(), has_lines: !quiet };
        }
        let style = ProgressStyle::with_template("{pos:>4}/{len} {bar:24.cyan/blue} {msg}");
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5));
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Progress { bar, has_lines: false }
    }
}

impl Watch for Progress {
    fn begin(&self, cases: usize, warnings: &BTreeSet<String>) {
        warnings.iter().for_each(|warning| announce!("goodqueue: warning: {warning}"));
        self.bar.set_length(cases as u64);
    }

    fn ended(&self, case: &CaseReport) {
        let how = match case.ending {
            Ending::Within { .. } => "within",
            Ending::NeedsParity { .. } => "within with parity",
            Ending::Undecided { .. } => "undecided",
            Ending::Outside { .. } => "outside",
            Ending::Failed { .. } => "failed",
            Ending::Skipped { .. } => "skipped",
        };
        self.bar.set_message(format!("{}: {how}", case.name));
        self.bar.inc(1);
        if self.has_lines {
            announce!("goodqueue: {}: {how}", case.name);
        }
    }
}

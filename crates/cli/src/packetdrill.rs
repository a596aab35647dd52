//! `goodqueue packetdrill`: runs scripts and prints how each ended.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::args::PacketdrillArgs;
use crate::output::{print, print_json};
use goodqueue_experiment::Error;
use goodqueue_proof::packetdrill::{CommandLine, FileError, Outcome, run_file};

/// Folders in folders that are searched for scripts.
const DEEPEST: u32 = 32;

/// How one script ended.
#[derive(Debug, Serialize)]
struct Entry {
    file: PathBuf,
    #[serde(flatten)]
    outcome: Outcome,
}

/// All results.
#[derive(Debug, Serialize)]
struct Report {
    scripts: Vec<Entry>,
    passed: usize,
    failed: usize,
    skipped: usize,
    /// How often each reason left a script out.
    reasons: BTreeMap<String, usize>,
}

/// Runs every script and prints the results, even if an earlier one fails.
///
/// # Errors
/// [`Error::Usage`] if a file cannot be read or is no script, otherwise [`Error::LimitFailed`] if a script
/// fails.
pub fn command(args: &PacketdrillArgs) -> Result<(), Error> {
    let given = given(args)?;
    let (mut files, mut broken) = (Vec::new(), Vec::new());
    for path in &args.files {
        if let Err(error) = collect(path, DEEPEST, &mut files) {
            broken.push(error.to_string());
        }
    }
    let mut report =
        Report { scripts: Vec::new(), passed: 0, failed: 0, skipped: 0, reasons: BTreeMap::new() };
    for file in files {
        match run_file(&file, &given) {
            Ok(outcome) => report.take(file, outcome),
            Err(error) => broken.push(error.to_string()),
        }
    }
    if args.json { print_json(&report) } else { print(&report.text(args.quiet)) }?;
    if !broken.is_empty() {
        return Err(Error::Usage(broken.join("\ngoodqueue: ")));
    }
    if report.failed > 0 {
        return Err(Error::LimitFailed(format!(
            "{} of {} scripts failed",
            report.failed,
            report.scripts.len()
        )));
    }
    Ok(())
}

fn given(args: &PacketdrillArgs) -> Result<CommandLine, Error> {
    let mut given = CommandLine::default();
    if let Some(version) = &args.ip_version {
        if !["ipv4", "ipv4-mapped-ipv6", "ipv6"].contains(&version.as_str()) {
            return Err(Error::Usage(format!("--ip-version {version}: must be ipv4 or ipv6")));
        }
        given.options.push(("ip_version".to_owned(), version.clone()));
    }
    let numbers = [("mtu", args.mtu), ("tolerance_usecs", args.tolerance_usecs)];
    for (name, number) in numbers {
        given.options.extend(number.map(|number| (name.to_owned(), number.to_string())));
    }
    for define in &args.define {
        let Some((name, value)) = define.split_once('=') else {
            return Err(Error::Usage(format!("-D {define}: write NAME=VALUE")));
        };
        given.defines.push((name.to_owned(), value.to_owned()));
    }
    Ok(given)
}

/// The file, or the scripts of a folder by their names.
fn collect(path: &Path, depth: u32, files: &mut Vec<PathBuf>) -> Result<(), FileError> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let read = |source| FileError::Read { path: path.to_owned(), source };
    let mut inside = Vec::new();
    for entry in std::fs::read_dir(path).map_err(read)? {
        inside.push(entry.map_err(read)?.path());
    }
    inside.sort();
    for path in inside {
        if path.is_dir() && !path.is_symlink() && depth > 0 {
            collect(&path, depth - 1, files)?;
        } else if path.extension().is_some_and(|extension| extension == "pkt") {
            files.push(path);
        }
    }
    Ok(())
}

impl Report {
    fn take(&mut self, file: PathBuf, outcome: Outcome) {
        match &outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Failed(_) => self.failed += 1,
            Outcome::Skipped { reason, .. } => {
                self.skipped += 1;
                *self.reasons.entry(reason.clone()).or_default() += 1;
            }
        }
        self.scripts.push(Entry { file, outcome });
    }

    /// A line for each script, differences in full, and the sums. Writing to a String cannot fail.
    fn text(&self, quiet: bool) -> String {
        let mut text = String::new();
        for Entry { file, outcome } in &self.scripts {
            let file = file.display();
            let _ = match outcome {
                Outcome::Failed(difference) => {
                    writeln!(text, "failed  {file}:{}: {difference}", difference.line)
                }
                _ if quiet => Ok(()),
                Outcome::Passed => writeln!(text, "passed  {file}"),
                Outcome::Skipped { line, reason } => writeln!(text, "skipped {file}:{line}: {reason}"),
            };
        }
        let Report { passed, failed, skipped, .. } = self;
        let _ = writeln!(text, "{passed} passed, {failed} failed, {skipped} skipped");
        if !quiet && self.scripts.len() > 1 {
            let mut reasons: Vec<(&String, &usize)> = self.reasons.iter().collect();
            reasons.sort_by_key(|&(reason, count)| (std::cmp::Reverse(*count), reason));
            for (reason, count) in reasons {
                let _ = writeln!(text, "{count:>4} skipped for {reason}");
            }
        }
        text
    }
}

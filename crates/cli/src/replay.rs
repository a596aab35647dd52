//! `goodqueue replay`: replays files and prints the results.

use std::fmt::Write;

use crate::args::ReplayArgs;
use crate::output::{print, print_json};
use goodqueue_experiment::Error;
use goodqueue_proof::replay;

/// Replays every file and prints the results, even if an earlier file has an error.
///
/// # Errors
/// [`Error::Usage`] if a file is not a complete vector, otherwise [`Error::LimitFailed`] if a decision
/// differs.
pub fn command(args: &ReplayArgs) -> Result<(), Error> {
    let mut text = String::new();
    let mut reports = Vec::new();
    let mut broken = Vec::new();
    for path in &args.files {
        match replay::file(path) {
            Ok(report) => {
                if !(args.quiet && report.is_equal()) {
                    // Writing to a String cannot fail.
                    let _ = write!(text, "{report}");
                }
                reports.push(report);
            }
            Err(error) => broken.push(error.to_string()),
        }
    }
    let different = reports.iter().filter(|report| !report.is_equal()).count();
    let decisions: u64 = reports.iter().map(replay::Report::decisions).sum();
    let equal = reports.len() - different;
    let _ = writeln!(text, "{equal} of {} files equal, {decisions} records compared", args.files.len());
    if args.json { print_json(&reports) } else { print(&text) }?;
    if !broken.is_empty() {
        return Err(Error::Usage(broken.join("\ngoodqueue: ")));
    }
    if different > 0 {
        return Err(Error::LimitFailed(format!("{different} of {} files differ", args.files.len())));
    }
    Ok(())
}

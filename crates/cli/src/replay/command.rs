//! `goodqueue replay`: the answers on paper.

use std::fmt::Write;

use crate::args::ReplayArgs;
use crate::exit::End;
use crate::output::{print, print_json};

/// Replays every file and prints what was found; all files are looked at, whatever the first one says.
///
/// # Errors
/// [`End::Usage`] where a file is no whole vector, else [`End::LimitFailed`] where a decision differs.
pub fn command(args: &ReplayArgs) -> Result<(), End> {
    let mut text = String::new();
    let mut reports = Vec::new();
    let mut broken = Vec::new();
    for path in &args.files {
        match super::file(path) {
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
    let decisions: u64 = reports.iter().map(super::Report::decisions).sum();
    let equal = reports.len() - different;
    let _ = writeln!(text, "{equal} of {} files equal, {decisions} records compared", args.files.len());
    if args.json { print_json(&reports) } else { print(&text) }?;
    if !broken.is_empty() {
        return Err(End::Usage(broken.join("\ngoodqueue: ")));
    }
    if different > 0 {
        return Err(End::LimitFailed(format!("{different} of {} files disagree", args.files.len())));
    }
    Ok(())
}

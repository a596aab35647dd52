//! A folder of cases, compared.

use std::collections::BTreeSet;
use std::path::PathBuf;

use goodqueue_experiment::{Error, did_you_mean};

use super::case::Case;
use super::compare::{CaseReport, Plan, Report, Tried};
use super::{Simulate, case, summary, table};

/// Largest number of our seeds for each case.
const MOST_SEEDS: u64 = 1000;

/// What is compared.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The folder with `cases.jsonl` and `summary.jsonl`.
    pub folder: PathBuf,
    /// The cases with these names; all if there are none.
    pub cases: Vec<String>,
    /// Seeds of ours for each case, 1 to 1000; else as many as the kernel has, at least 3.
    pub seeds: Option<u64>,
    /// Which behaviours of `CoDel` are tried.
    pub tried: Tried,
}

/// Receives the progress of a comparison.
pub trait Watch: Sync {
    /// The number of cases to simulate, and each warning about the files; called once.
    fn begin(&self, cases: usize, warnings: &BTreeSet<String>) {
        let _ = (cases, warnings);
    }

    /// A case has ended, on any thread.
    fn ended(&self, case: &CaseReport) {
        let _ = case;
    }
}

impl Watch for () {}

/// Simulates the cases of a folder and compares them with the kernel's figures.
///
/// # Errors
/// [`Error::Usage`] if the folder or an option is wrong.
pub fn compare_folder(
    selection: &Selection,
    simulate: &Simulate<'_>,
    watch: &dyn Watch,
) -> Result<Report, Error> {
    if selection.seeds.is_some_and(|seeds| !(1..=MOST_SEEDS).contains(&seeds)) {
        return Err(Error::Usage(format!("--seeds: out of range, 1 to {MOST_SEEDS}")));
    }
    let mut warnings = BTreeSet::new();
    let cases = case::read(&selection.folder.join("cases.jsonl"), &mut warnings).map_err(Error::usage)?;
    let kernel = summary::read(&selection.folder.join("summary.jsonl"), &cases, &mut warnings);
    let kernel = kernel.map_err(Error::usage)?;
    let cases = chosen(&cases, &selection.cases)?;
    watch.begin(cases.len(), &warnings);
    let plan = Plan { cases, kernel: &kernel, seeds: selection.seeds, tried: selection.tried };
    Ok(plan.run(simulate, &|case| watch.ended(case)))
}

impl Report {
    /// The result of the comparison.
    ///
    /// # Errors
    /// [`Error::LimitFailed`] if a figure is outside its bar, a simulation failed, or nothing was judged.
    pub fn end(&self) -> Result<(), Error> {
        let count = self.count();
        let total = table::total(&count);
        if count.outside > 0 || count.failed > 0 {
            return Err(Error::LimitFailed(total));
        }
        if count.judged() == 0 {
            return Err(Error::LimitFailed(format!("nothing was judged: {total}")));
        }
        Ok(())
    }
}

/// The cases of these names, in the order of the file; all without names.
fn chosen<'a>(cases: &'a [Case], names: &[String]) -> Result<Vec<&'a Case>, Error> {
    let known: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    if let Some(wrong) = names.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(Error::Usage(format!("there is no case {wrong}{}", did_you_mean(wrong, &known))));
    }
    Ok(cases.iter().filter(|case| names.is_empty() || names.contains(&case.name)).collect())
}

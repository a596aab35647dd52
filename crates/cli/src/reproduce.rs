//! `goodqueue reproduce`: runs reproductions, prints the verdicts, writes the pages.

use std::io::ErrorKind;
use std::path::Path;

use goodqueue_experiment::text::Picture;
use goodqueue_experiment::{Arm, Error};
use goodqueue_proof::reproduce::{self, MARK, Outcome, Reproduced, Shown};
use goodqueue_report::Folder;

use crate::args::ReproduceArgs;
use crate::progress::Progress;

use crate::output::{check_parent, print, print_json};

/// Runs the reproductions and shows their verdicts.
///
/// # Errors
/// [`Error::LimitFailed`] if a verdict is not the one that its file states; [`Error::Usage`] if a name or a
/// file is wrong; [`Error::Machine`] if a page cannot be written.
pub fn command(args: &ReproduceArgs) -> Result<(), Error> {
    let entries = reproduce::take(&args.names)?;
    let folder = args.output.as_deref().map(folder).transpose()?;
    if let Some(folder) = &folder {
        let pages = entries.iter().map(|entry| format!("{}.md", entry.name()));
        let all = args.names.is_empty().then_some([INDEX, ROWS]);
        pages
            .chain(all.into_iter().flatten().map(str::to_owned))
            .try_for_each(|page| claim(folder, &page))?;
    }
    let mut outcomes = Vec::new();
    for entry in &entries {
        let quiet = args.quiet || args.json;
        let mut progress = Progress::new(Arm::Simulated, quiet, Box::new(|_| Ok(())))?;
        let reproduced = reproduce::run(entry, &mut progress)?;
        if let Some(folder) = &folder {
            write(folder, &reproduced)?;
        }
        outcomes.push(reproduced.outcome);
    }
    if let (Some(folder), true) = (&folder, args.names.is_empty()) {
        put(folder, INDEX, &reproduce::index(&outcomes))?;
        put(folder, ROWS, &reproduce::rows(&outcomes))?;
    }
    match (args.json, args.quiet) {
        (true, _) => print_json(&outcomes),
        (false, true) => Ok(()),
        (false, false) => {
            print(&format!("{}\n{}\n", reproduce::text(&outcomes), reproduce::total(&outcomes)))
        }
    }?;
    verdict(&outcomes)
}

/// The page that lists the others.
const INDEX: &str = "README.md";

/// The page of every published row.
const ROWS: &str = "rows.md";

fn verdict(outcomes: &[Outcome]) -> Result<(), Error> {
    let unexpected = |outcome: &Outcome| {
        let claims = outcome.claims.iter().filter(|claim| !claim.is_expected());
        let words = claims.map(|claim| format!("{} {}: {}", outcome.name, claim.id, claim.words()));
        words.collect::<Vec<_>>()
    };
    let all: Vec<String> = outcomes.iter().flat_map(unexpected).collect();
    if all.is_empty() { Ok(()) } else { Err(Error::LimitFailed(all.join("; "))) }
}

/// The folder for the pages; created if it does not exist.
fn folder(path: &Path) -> Result<Folder, Error> {
    check_parent(path)?;
    let opened = match Folder::create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Folder::open(path),
        made => made,
    };
    opened.map_err(|error| Error::Usage(format!("--output {}: {error}", path.display())))
}

/// Refuses to replace a page that this command did not write.
fn claim(folder: &Folder, page: &str) -> Result<(), Error> {
    match std::fs::read_to_string(folder.at(page)) {
        Ok(text) if !text.starts_with(MARK) => Err(Error::Usage(format!(
            "--output: {} was not written by this command, and only its own pages are replaced: name another \
             folder",
            folder.path().join(page).display()
        ))),
        _ => Ok(()),
    }
}

/// The page of one reproduction, and its pictures.
fn write(folder: &Folder, reproduced: &Reproduced) -> Result<(), Error> {
    let name = &reproduced.outcome.name;
    put(folder, &format!("{name}.md"), &reproduce::page(reproduced))?;
    let path = folder.at(format!("{name}.png"));
    let headline = reproduced.headline.as_deref();
    let figures = reproduced.figures.clone().unwrap_or_default();
    let written = match &reproduced.shown {
        Shown::Runs(record, Picture::Overview) => {
            goodqueue_report::write_overview(record, headline, &reproduced.marks, path)
        }
        Shown::Runs(record, Picture::Histogram) => goodqueue_report::write_histogram(record, headline, path),
        Shown::Runs(record, Picture::Airtime) => goodqueue_report::write_airtime(record, headline, path),
        Shown::Runs(record, Picture::Shares) => goodqueue_report::write_shares(record, headline, path),
        Shown::Runs(_, Picture::Dots) => goodqueue_report::write_dots(&figures, path),
        Shown::Runs(record, Picture::Video) => goodqueue_report::write_video(record, headline, path),
        Shown::Counts { curves, .. } => goodqueue_report::write_curves(curves, path),
    };
    let delays = |curves| goodqueue_report::write_curves(curves, folder.at(format!("{name}-delays.png")));
    let written = written.and_then(|()| reproduced.delays.as_ref().map_or(Ok(()), delays));
    let written = written.and_then(|()| {
        reproduced
            .published()
            .try_for_each(|(file, dots)| goodqueue_report::write_dots(dots, folder.at(file)))
    });
    written.map_err(|error| Error::Machine(format!("--output {}: {error}", folder.path().display())))
}

fn put(folder: &Folder, name: &str, text: &str) -> Result<(), Error> {
    folder.write(name, text.as_bytes()).map(|_| ()).map_err(Error::machine)
}

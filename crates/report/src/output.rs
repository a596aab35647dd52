//! Everything of a record in one folder.

use std::path::{Path, PathBuf};

use crate::{Error, Record, charts, csv, files, flent, page, table};

/// Writes a record in all forms into `dir`, which is made if it is not there: `report.html`, the
/// overview, the record and a `.flent.gz` for each queue, and in `charts/` and `csv/` everything one by
/// one. Pictures as PNG need the feature `png`. Returns the files written, in order. Each appears whole
/// or not at all; one that exists is replaced.
///
/// # Errors
/// The first file that could not be written, with the system's cause; those before it stay.
pub fn write_all(record: &Record, dir: impl AsRef<Path>) -> Result<Vec<PathBuf>, Error> {
    let dir = dir.as_ref();
    let (charts, tables) = (dir.join("charts"), dir.join("csv"));
    let path = dir.join("record.json.gz");
    in_folder(&path, || record.write(&path))?;
    let mut done = vec![path];
    put(&mut done, dir.join("report.html"), page::html(record).as_bytes())?;
    done.extend(flent::write(record, dir)?);
    put(&mut done, tables.join("summary.csv"), csv::summary(record).as_bytes())?;
    put(&mut done, tables.join("goodput.csv"), csv::goodput(record).as_bytes())?;
    put(&mut done, tables.join("latency.csv"), csv::latency(record).as_bytes())?;
    put(&mut done, tables.join("queue.csv"), csv::queue(record).as_bytes())?;
    if record.runs.iter().any(|run| !run.path.is_empty()) {
        put(&mut done, tables.join("path.csv"), csv::path(record).as_bytes())?;
    }
    if !record.test.voip.is_empty() {
        put(&mut done, tables.join("calls.csv"), csv::calls(record).as_bytes())?;
    }
    if !record.test.web.is_empty() {
        put(&mut done, tables.join("pages.csv"), csv::pages(record).as_bytes())?;
    }
    if !record.test.dash.is_empty() {
        put(&mut done, tables.join("videos.csv"), csv::videos(record).as_bytes())?;
    }
    if record.runs.iter().any(|run| !run.radios.is_empty()) {
        put(&mut done, tables.join("stations.csv"), csv::stations(record).as_bytes())?;
        put(&mut done, tables.join("airtime.csv"), csv::airtime(record).as_bytes())?;
    }
    for (name, scene) in charts::standalone(record) {
        let folder = if name == OVERVIEW { dir } else { &charts };
        done.extend(write_picture(&scene, folder, &name)?);
    }
    Ok(done)
}

/// Writes a drawing as SVG and, with the feature `png`, as PNG.
pub(crate) fn write_picture(scene: &charts::Scene, folder: &Path, name: &str) -> Result<Vec<PathBuf>, Error> {
    let mut done = Vec::new();
    put(&mut done, folder.join(format!("{name}.svg")), scene.standalone_svg().as_bytes())?;
    #[cfg(feature = "png")]
    put(&mut done, folder.join(format!("{name}.png")), &drawn(scene, &folder.join(name))?)?;
    Ok(done)
}

/// Name of the first chart of [`charts::standalone`].
const OVERVIEW: &str = "overview";

/// Suffixes that [`write_as`] knows.
pub const SUFFIXES: [&str; 8] = [".json", ".json.gz", ".html", ".svg", ".png", ".csv", ".md", ".flent.gz"];

/// Writes a record in the form that the name's suffix asks for: `.json` and `.json.gz` the record,
/// `.html` the page, `.svg` and `.png` the overview, `.csv` the summary, `.md` the table, `.flent.gz`
/// the one run of a record that has one. The file appears whole or not at all.
///
/// # Errors
/// [`Error::Suffix`] for any other name, for `.png` without the feature `png` and for `.flent.gz` with
/// more or fewer runs than one; [`Error::Write`] with the system's cause.
pub fn write_as(record: &Record, path: impl AsRef<Path>) -> Result<(), Error> {
    let path = path.as_ref();
    let name = path.file_name().map(|n| n.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let wrong = |detail: &str| Error::Suffix { path: path.to_owned(), detail: detail.to_owned() };
    let suffix = SUFFIXES.into_iter().find(|s| name.ends_with(s));
    match suffix {
        Some(".json" | ".json.gz") => record.write(path),
        Some(".html") => files::write(path, page::html(record).as_bytes()),
        Some(".svg") => files::write(path, charts::overview(record).standalone_svg().as_bytes()),
        Some(".csv") => files::write(path, csv::summary(record).as_bytes()),
        Some(".md") => files::write(path, table::markdown(record).as_bytes()),
        Some(".flent.gz") => match record.runs.as_slice() {
            [run] => flent::write_run(record, run, path),
            _ => Err(wrong("a .flent.gz holds one queue; write a folder for several")),
        },
        Some(".png") => write_png(record, path),
        _ => Err(wrong(&format!("the name must end in one of {}", SUFFIXES.join(" ")))),
    }
}

#[cfg(feature = "png")]
fn write_png(record: &Record, path: &Path) -> Result<(), Error> {
    files::write(path, &drawn(&charts::overview(record), path)?)
}

/// Writes the histogram of the round trips under load as PNG, a row for each run. The file appears whole or not at
/// all; one that exists is replaced.
///
/// # Errors
/// [`Error::Draw`] where it cannot be drawn, [`Error::Write`] with the system's cause.
#[cfg(feature = "png")]
pub fn write_histogram(record: &Record, path: impl AsRef<Path>) -> Result<(), Error> {
    write_scene(&charts::round_trip_histogram(record), path.as_ref())
}

/// Writes who had the air as PNG, a row for each run. The file appears whole or not at all; one that exists is
/// replaced.
///
/// # Errors
/// [`Error::Draw`] where it cannot be drawn, as of a record without a radio, [`Error::Write`] with the system's cause.
#[cfg(feature = "png")]
pub fn write_airtime(record: &Record, path: impl AsRef<Path>) -> Result<(), Error> {
    let path = path.as_ref();
    let none = || Error::Draw { path: path.to_owned(), detail: "there is no radio in it".into() };
    let chart = charts::airtime(record).into_iter().next().ok_or_else(none)?;
    write_scene(&chart.scene, path)
}

/// Writes airtime over time as PNG, a row for each run. The file appears whole or not at all; one that exists is
/// replaced.
///
/// # Errors
/// [`Error::Draw`] where it cannot be drawn, as of a record without a radio, [`Error::Write`] with the system's cause.
#[cfg(feature = "png")]
pub fn write_shares(record: &Record, path: impl AsRef<Path>) -> Result<(), Error> {
    let path = path.as_ref();
    let none = || Error::Draw { path: path.to_owned(), detail: "there is no radio in it".into() };
    write_scene(&charts::airtime_shares(record).ok_or_else(none)?, path)
}

/// Writes a drawing as PNG.
#[cfg(feature = "png")]
pub(crate) fn write_scene(scene: &charts::Scene, path: &Path) -> Result<(), Error> {
    in_folder(path, || files::write(path, &drawn(scene, path)?))
}

/// Writes the bit rates that the player of the first video selected over time as PNG, a line for each run. The file
/// appears whole or not at all; one that exists is replaced.
///
/// # Errors
/// [`Error::Draw`] where it cannot be drawn, as of a record without a video, [`Error::Write`] with the system's cause.
#[cfg(feature = "png")]
pub fn write_video(record: &Record, path: impl AsRef<Path>) -> Result<(), Error> {
    let path = path.as_ref();
    let none = || Error::Draw { path: path.to_owned(), detail: "there is no video in it".into() };
    let scene = charts::first_video(record).ok_or_else(none)?;
    in_folder(path, || files::write(path, &drawn(&scene, path)?))
}

#[cfg(feature = "png")]
fn drawn(scene: &charts::Scene, path: &Path) -> Result<Vec<u8>, Error> {
    charts::png::draw(scene).map_err(|detail| Error::Draw { path: path.to_owned(), detail })
}

#[cfg(not(feature = "png"))]
fn write_png(_: &Record, path: &Path) -> Result<(), Error> {
    Err(Error::Suffix { path: path.to_owned(), detail: "built without PNG; .svg is there".into() })
}

fn put(done: &mut Vec<PathBuf>, path: PathBuf, bytes: &[u8]) -> Result<(), Error> {
    in_folder(&path, || files::write(&path, bytes))?;
    done.push(path);
    Ok(())
}

/// Makes the folder of `path` if it is not there and writes into it; a folder made for nothing goes again.
fn in_folder(path: &Path, write: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
    let folder = path.parent().filter(|f| !f.as_os_str().is_empty() && !f.is_dir());
    if let Some(folder) = folder {
        std::fs::create_dir_all(folder).map_err(Error::write(folder))?;
    }
    write().inspect_err(|_| {
        if let Some(folder) = folder {
            let _ = std::fs::remove_dir(folder);
        }
    })
}

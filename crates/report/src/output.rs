//! All files of a record in one folder.

use std::path::{Path, PathBuf};

use crate::{Error, Folder, Record, charts, csv, files, flent, page, table};

/// Writes a record in all formats into `dir`, which is created if missing: `report.html`, the overview, the
/// record, all values as `data.parquet`, a `.flent.gz` for each queue, each chart in `charts/` and each table
/// in `csv/`. PNG pictures need the feature `png`, `data.parquet` the feature `parquet`. Returns the files
/// written, in order. Each appears complete or not at all; an existing file is replaced.
///
/// # Errors
/// The first file that could not be written, with the system's cause. Files written before it remain.
pub fn write_all(record: &Record, dir: impl AsRef<Path>) -> Result<Vec<PathBuf>, Error> {
    write_all_in(record, &Folder::open_or_create(dir.as_ref())?)
}

/// [`write_all`], into a folder that is held open.
///
/// # Errors
/// Those of [`write_all`].
pub fn write_all_in(record: &Record, folder: &Folder) -> Result<Vec<PathBuf>, Error> {
    let mut done = vec![record.write_in(folder, "record.gqz")?];
    done.push(folder.write("report.html", page::html(record).as_bytes())?);
    done.extend(flent::write_in(record, folder)?);
    #[cfg(feature = "parquet")]
    done.push(folder.write("data.parquet", &as_parquet(record, Path::new("data.parquet"))?)?);
    let mut tables = vec![
        ("runs.csv", csv::runs(record)),
        ("summary.csv", csv::summary(record)),
        ("goodput.csv", csv::goodput(record)),
        ("latency.csv", csv::latency(record)),
        ("queue.csv", csv::queue(record)),
    ];
    if record.runs.iter().any(|run| !run.path.is_empty()) {
        tables.push(("path.csv", csv::path(record)));
    }
    if !record.test.voip.is_empty() {
        tables.push(("calls.csv", csv::calls(record)));
    }
    if !record.test.web.is_empty() {
        tables.push(("pages.csv", csv::pages(record)));
    }
    if !record.test.dash.is_empty() {
        tables.push(("videos.csv", csv::videos(record)));
    }
    if !record.test.traffic.is_empty() {
        tables.push(("flows.csv", csv::transfers(record)));
    }
    if record.test.talks.iter().any(|talk| talk.ticks.is_none()) {
        tables.push(("video_calls.csv", csv::video_calls(record)));
        tables.push(("frames.csv", csv::frames(record)));
    }
    if record.test.talks.iter().any(|talk| talk.ticks.is_some()) {
        tables.push(("games.csv", csv::games(record)));
    }
    if record.runs.iter().any(|run| !run.radios.is_empty()) {
        tables.push(("stations.csv", csv::stations(record)));
        tables.push(("airtime.csv", csv::airtime(record)));
    }
    folder.within("csv", |folder| {
        tables.iter().try_for_each(|(name, text)| {
            done.push(folder.write(name, text.as_bytes())?);
            Ok(())
        })
    })?;
    for (name, scene) in charts::standalone(record) {
        let write = |folder: &Folder| write_picture(&scene, folder, &name);
        done.extend(if name == OVERVIEW { write(folder) } else { folder.within("charts", write) }?);
    }
    Ok(done)
}

/// Writes a drawing as SVG and, with the feature `png`, as PNG.
pub(crate) fn write_picture(
    scene: &charts::Scene,
    folder: &Folder,
    name: &str,
) -> Result<Vec<PathBuf>, Error> {
    let mut done = Vec::new();
    done.push(folder.write(&format!("{name}.svg"), scene.standalone_svg().as_bytes())?);
    #[cfg(feature = "png")]
    done.push(folder.write(&format!("{name}.png"), &drawn(scene, &folder.path().join(name))?)?);
    Ok(done)
}

/// Name of the first chart of [`charts::standalone`].
const OVERVIEW: &str = "overview";

/// The overview, as a file `.svg` has it.
#[must_use]
pub fn overview_svg(record: &Record) -> String {
    charts::overview(record).standalone_svg()
}

/// Suffixes that [`write_as`] knows.
pub const SUFFIXES: [&str; 10] =
    [".json", ".json.gz", ".gqz", ".html", ".svg", ".png", ".csv", ".parquet", ".md", ".flent.gz"];

/// Writes a record in the format of the name's suffix. `.json`, `.gqz` and `.json.gz` are the record (the
/// last two compressed), `.html` the page, `.svg` and `.png` the overview, `.csv` and `.parquet` all values
/// in long form, `.md` the table, `.flent.gz` the run of a record that has exactly one. The file appears
/// complete or not at all; an existing file is replaced.
///
/// # Errors
/// [`Error::Suffix`] for any other name, for `.png` and `.parquet` without the feature of that name, and for
/// `.flent.gz` unless the record has exactly one run; [`Error::Write`] with the system's cause.
pub fn write_as(record: &Record, path: impl AsRef<Path>) -> Result<(), Error> {
    let path = path.as_ref();
    files::write(path, &form(record, path)?)
}

/// [`write_as`], to a new file: an existing file is not replaced.
///
/// # Errors
/// Those of [`write_as`]; [`Error::Write`] with `AlreadyExists` if the name is taken.
pub fn write_new_as(record: &Record, path: impl AsRef<Path>) -> Result<(), Error> {
    let path = path.as_ref();
    files::write_new(path, &form(record, path)?)
}

/// A record in the format of the name's suffix.
fn form(record: &Record, path: &Path) -> Result<Vec<u8>, Error> {
    let name = path.file_name().map(|n| n.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let wrong = |detail: &str| Error::Suffix { path: path.to_owned(), detail: detail.to_owned() };
    let suffix = SUFFIXES.into_iter().find(|s| name.ends_with(s));
    match suffix {
        Some(".json" | ".json.gz" | ".gqz") => record.encoded(path),
        Some(".html") => Ok(page::html(record).into_bytes()),
        Some(".svg") => Ok(overview_svg(record).into_bytes()),
        Some(".csv") => Ok(csv::data(record).into_bytes()),
        Some(".parquet") => as_parquet(record, path),
        Some(".md") => Ok(table::markdown(record).into_bytes()),
        Some(".flent.gz") => match record.runs.as_slice() {
            [run] => Ok(flent::encoded(record, run)),
            _ => Err(wrong("a .flent.gz holds one queue; write a folder for several queues")),
        },
        Some(".png") => overview_png(record, path),
        _ => Err(wrong(&format!("the name must end in one of {}", SUFFIXES.join(" ")))),
    }
}

#[cfg(feature = "parquet")]
fn as_parquet(record: &Record, path: &Path) -> Result<Vec<u8>, Error> {
    crate::parquet::encode(record).map_err(|e| Error::write(path)(std::io::Error::other(e)))
}

#[cfg(not(feature = "parquet"))]
fn as_parquet(_: &Record, path: &Path) -> Result<Vec<u8>, Error> {
    Err(Error::Suffix { path: path.to_owned(), detail: "built without Parquet; use .csv".into() })
}

#[cfg(feature = "png")]
fn overview_png(record: &Record, path: &Path) -> Result<Vec<u8>, Error> {
    drawn(&charts::overview(record), path)
}

/// Writes the histogram of the round trips under load as PNG, a row for each run. The file appears complete
/// or not at all; an existing file is replaced.
///
/// # Errors
/// [`Error::Draw`] if it cannot be drawn, [`Error::Write`] with the system's cause.
#[cfg(feature = "png")]
pub fn write_histogram(record: &Record, headline: Option<&str>, path: impl AsRef<Path>) -> Result<(), Error> {
    write_scene(&charts::round_trip_histogram(record, headline), path.as_ref())
}

/// Writes goodput over round trips in time as PNG, under this headline; without one, that of the record. Each
/// mark is a line across the round trips of its run. The file appears complete or not at all; an existing
/// file is replaced.
///
/// # Errors
/// [`Error::Draw`] if it cannot be drawn, [`Error::Write`] with the system's cause.
#[cfg(feature = "png")]
pub fn write_overview(
    record: &Record,
    headline: Option<&str>,
    marks: &[crate::Mark],
    path: impl AsRef<Path>,
) -> Result<(), Error> {
    write_scene(&charts::overview_under(record, headline, marks), path.as_ref())
}

/// Writes who used the medium as PNG, a row for each run. The file appears complete or not at all; an
/// existing file is replaced.
///
/// # Errors
/// [`Error::Draw`] if it cannot be drawn, as of a record without a radio, [`Error::Write`] with the
/// system's cause.
#[cfg(feature = "png")]
pub fn write_airtime(record: &Record, headline: Option<&str>, path: impl AsRef<Path>) -> Result<(), Error> {
    let path = path.as_ref();
    let none = || Error::Draw { path: path.to_owned(), detail: "the record has no radio".into() };
    write_scene(&charts::airtime_under(record, headline).ok_or_else(none)?, path)
}

/// Writes airtime over time as PNG, a row for each run. The file appears complete or not at all; an existing
/// file is replaced.
///
/// # Errors
/// [`Error::Draw`] if it cannot be drawn, as of a record without a radio, [`Error::Write`] with the
/// system's cause.
#[cfg(feature = "png")]
pub fn write_shares(record: &Record, headline: Option<&str>, path: impl AsRef<Path>) -> Result<(), Error> {
    let path = path.as_ref();
    let none = || Error::Draw { path: path.to_owned(), detail: "the record has no radio".into() };
    write_scene(&charts::airtime_shares(record).ok_or_else(none)?.under(headline), path)
}

/// Writes a drawing as PNG.
#[cfg(feature = "png")]
pub(crate) fn write_scene(scene: &charts::Scene, path: &Path) -> Result<(), Error> {
    files::write(path, &drawn(scene, path)?)
}

/// Writes the bit rates that the player of the first video selected over time as PNG, a line for each run.
/// The file appears complete or not at all; an existing file is replaced.
///
/// # Errors
/// [`Error::Draw`] if it cannot be drawn, for example without a video, [`Error::Write`] with the system's
/// cause.
#[cfg(feature = "png")]
pub fn write_video(record: &Record, headline: Option<&str>, path: impl AsRef<Path>) -> Result<(), Error> {
    let path = path.as_ref();
    let none = || Error::Draw { path: path.to_owned(), detail: "the record has no video".into() };
    write_scene(&charts::first_video(record, headline).ok_or_else(none)?, path)
}

#[cfg(feature = "png")]
fn drawn(scene: &charts::Scene, path: &Path) -> Result<Vec<u8>, Error> {
    charts::png::draw(scene).map_err(|detail| Error::Draw { path: path.to_owned(), detail })
}

#[cfg(not(feature = "png"))]
fn overview_png(_: &Record, path: &Path) -> Result<Vec<u8>, Error> {
    Err(Error::Suffix { path: path.to_owned(), detail: "built without PNG; use .svg".into() })
}

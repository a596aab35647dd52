//! Everything of a record in one folder.

use std::path::{Path, PathBuf};

use crate::{Error, Record, charts, csv, files, flent, page, table};

/// What [`write_all`] writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    /// `record.json.gz`.
    pub record: bool,
    /// `report.html`.
    pub page: bool,
    /// `overview.svg` and the other charts.
    pub svg: bool,
    /// `overview.png` and the other charts; needs the feature `png`, else nothing is written.
    pub png: bool,
    /// `goodput.csv`, `latency.csv`, `queue.csv`, `summary.csv`.
    pub csv: bool,
    /// One `.flent.gz` per queue.
    pub flent: bool,
}

impl Default for WriteOptions {
    /// Everything.
    fn default() -> Self {
        Self { record: true, page: true, svg: true, png: true, csv: true, flent: true }
    }
}

/// Writes a record in all forms asked for into `dir`, which is made if it is not there. Returns the
/// files written, in order. Each appears whole or not at all; one that exists is replaced.
///
/// # Errors
/// The first file that could not be written, with the system's cause; those before it stay.
pub fn write_all(
    record: &Record,
    dir: impl AsRef<Path>,
    options: &WriteOptions,
) -> Result<Vec<PathBuf>, Error> {
    let dir = dir.as_ref();
    std::fs::create_dir_all(dir).map_err(Error::write(dir))?;
    let mut done = Vec::new();
    if options.record {
        let path = dir.join("record.json.gz");
        record.write(&path)?;
        done.push(path);
    }
    if options.page {
        put(&mut done, dir.join("report.html"), page::html(record).as_bytes())?;
    }
    if options.csv {
        put(&mut done, dir.join("summary.csv"), csv::summary(record).as_bytes())?;
        put(&mut done, dir.join("goodput.csv"), csv::goodput(record).as_bytes())?;
        put(&mut done, dir.join("latency.csv"), csv::latency(record).as_bytes())?;
        put(&mut done, dir.join("queue.csv"), csv::queue(record).as_bytes())?;
    }
    if options.flent {
        done.extend(flent::write(record, dir)?);
    }
    if options.svg || options.png {
        write_charts(record, dir, options, &mut done)?;
    }
    Ok(done)
}

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
    let drawn = charts::png::draw(&charts::overview(record));
    let bytes = drawn.map_err(|detail| Error::Draw { path: path.to_owned(), detail })?;
    files::write(path, &bytes)
}

#[cfg(not(feature = "png"))]
fn write_png(_: &Record, path: &Path) -> Result<(), Error> {
    Err(Error::Suffix { path: path.to_owned(), detail: "built without PNG; .svg is there".into() })
}

fn put(done: &mut Vec<PathBuf>, path: PathBuf, bytes: &[u8]) -> Result<(), Error> {
    files::write(&path, bytes)?;
    done.push(path);
    Ok(())
}

fn write_charts(
    record: &Record,
    dir: &Path,
    options: &WriteOptions,
    done: &mut Vec<PathBuf>,
) -> Result<(), Error> {
    for (name, scene) in charts::standalone(record) {
        if options.svg {
            put(done, dir.join(format!("{name}.svg")), scene.standalone_svg().as_bytes())?;
        }
        #[cfg(feature = "png")]
        if options.png {
            let path = dir.join(format!("{name}.png"));
            let bytes =
                charts::png::draw(&scene).map_err(|detail| Error::Draw { path: path.clone(), detail })?;
            put(done, path, &bytes)?;
        }
    }
    Ok(())
}

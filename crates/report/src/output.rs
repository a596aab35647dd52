//! Everything of a record in one folder.

use std::path::{Path, PathBuf};

use crate::{Error, Record, charts, csv, files, flent, page};

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

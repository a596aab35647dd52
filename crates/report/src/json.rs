//! Reading and writing a record as JSON, plain or gzip by suffix.

use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use serde::Deserialize;

use crate::{Error, Folder, Record, Run, SCHEMA, Summary, files, flent};

#[derive(Deserialize)]
struct SchemaOnly {
    #[serde(default)]
    schema: Option<u32>,
}

impl Record {
    /// Reads a record, or a data file of flent's as one; with gzip if the name ends in `.gqz` or `.gz`.
    ///
    /// # Errors
    /// [`Error::Read`] with the system's cause, [`Error::Damaged`] with line and column for a file that ends
    /// early, is corrupt or is not a record, [`Error::Newer`] for a schema above [`SCHEMA`], [`Error::Empty`]
    /// for a record without a run.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let raw = std::fs::read(path).map_err(Error::read(path))?;
        let text = if files::is_gzip(path) { unpack(path, &raw)? } else { raw };
        if text.starts_with(b"BZh") {
            return Err(not_a_record(path, "it is packed with bzip2; unpack it with bunzip2".into()));
        }
        let head: SchemaOnly = serde_json::from_slice(&text).map_err(|e| damaged(path, &e))?;
        match head.schema {
            None if flent::is_flent(&text) => flent::read(&text).map_err(|detail| not_a_record(path, detail)),
            None => Err(not_a_record(path, "no `schema` in it".into())),
            Some(found) if found > SCHEMA => {
                Err(Error::Newer { path: path.to_owned(), found, known: SCHEMA })
            }
            Some(_) => {
                let record: Self = serde_json::from_slice(&text).map_err(|e| damaged(path, &e))?;
                if record.runs.is_empty() { Err(Error::Empty { path: path.to_owned() }) } else { Ok(record) }
            }
        }
    }

    /// Writes the record, with gzip if the name ends in `.gqz` or `.gz`. The file appears complete or not at
    /// all.
    ///
    /// # Errors
    /// [`Error::Write`] with the file's name and the system's cause.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        files::write(path, &self.encoded(path)?)
    }

    /// [`Record::write`], to a new file: an existing file is not replaced.
    ///
    /// # Errors
    /// Those of [`Record::write`]; [`Error::Write`] with `AlreadyExists` if the name is taken.
    pub fn write_new(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        files::write_new(path, &self.encoded(path)?)
    }

    /// [`Record::write`], to the file `name` in a folder that is held open. Returns its path.
    ///
    /// # Errors
    /// Those of [`Record::write`].
    pub fn write_in(&self, folder: &Folder, name: &str) -> Result<PathBuf, Error> {
        folder.write(name, &self.encoded(Path::new(name))?)
    }

    /// The contents of a file of that name.
    pub(crate) fn encoded(&self, path: &Path) -> Result<Vec<u8>, Error> {
        let text = serde_json::to_vec(self).map_err(|e| Error::write(path)(e.into()))?;
        Ok(if files::is_gzip(path) { files::gzip(&text) } else { text })
    }

    /// The record as JSON with a [`Summary`] per run under `summary`: the format of `--json`. Queues without
    /// a run ([`Record::missing`]) are under `missing`. [`Record::read`] reads it back, without the
    /// summaries.
    ///
    /// # Errors
    /// None for a record built by this program.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let mut value = serde_json::to_value(self)?;
        let runs = value.get_mut("runs").and_then(|r| r.as_array_mut());
        for (slot, run) in runs.into_iter().flatten().zip(&self.runs) {
            if let Some(object) = slot.as_object_mut() {
                object.insert("summary".into(), serde_json::to_value(Summary::of(self, run))?);
            }
        }
        let missing = self.missing();
        if let Some(object) = value.as_object_mut().filter(|_| !missing.is_empty()) {
            object.insert("missing".into(), missing.into());
        }
        serde_json::to_string(&value)
    }

    /// The summary of one of the record's runs; see [`Summary::of`].
    pub fn summary(&self, run: &Run) -> Summary {
        Summary::of(self, run)
    }
}

fn not_a_record(path: &Path, detail: String) -> Error {
    Error::Damaged { path: path.to_owned(), detail, line: 1, column: 1 }
}

fn damaged(path: &Path, e: &serde_json::Error) -> Error {
    let message = e.to_string();
    let detail = message.rsplit_once(" at line ").map_or(message.as_str(), |(words, _)| words);
    Error::Damaged { path: path.to_owned(), detail: detail.into(), line: e.line(), column: e.column() }
}

fn unpack(path: &Path, raw: &[u8]) -> Result<Vec<u8>, Error> {
    let mut text = Vec::new();
    MultiGzDecoder::new(raw).read_to_end(&mut text).map_err(|e| {
        let line = text.iter().filter(|&&b| b == b'\n').count() + 1;
        let column = text.iter().rev().take_while(|&&b| b != b'\n').count();
        Error::Damaged {
            path: path.to_owned(),
            detail: format!("the compressed data ends early or is corrupt ({e})"),
            line,
            column,
        }
    })?;
    Ok(text)
}

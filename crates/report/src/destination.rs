//! Where results go: a new folder for everything, or one new file. Nothing is ever overwritten.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::{Error, Folder, Record, SUFFIXES, write_all_in, write_new_as};

/// Name of the page in a folder.
const PAGE: &str = "report.html";

/// A place for the results of a run, checked before anything is written.
#[derive(Debug)]
pub enum Destination {
    /// A folder that was new or empty, and whether it was created.
    Folder(Folder, bool),
    /// A file that does not exist yet.
    File(PathBuf),
}

impl Destination {
    /// Checks a name, and creates the folder if it names one. With a known suffix ([`SUFFIXES`]) it is a
    /// file, otherwise a folder. `sides` is the number of runs to write. A folder may have a file called
    /// `mark`, and must be empty otherwise.
    ///
    /// # Errors
    /// [`Error::Destination`] if the name is taken, has an unknown suffix, or cannot be created.
    pub fn claim(path: &Path, sides: usize, mark: &str) -> Result<Destination, Error> {
        let refuse = |why: &str| refused(path, why);
        let name =
            path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        let is_folder = path.is_dir() || ends_as_folder(path);
        if !is_folder && SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) {
            if sides > 1 && name.ends_with(".flent.gz") {
                return Err(refuse("a .flent.gz holds one queue: name a folder, or compare one"));
            }
            let place = Destination::File(path.to_owned());
            place.check(mark)?;
            check_parent(path)?;
            return Ok(place);
        }
        if let (false, Some(suffix)) = (is_folder, suffix(path)) {
            return Err(refuse(&format!(
                "no form ends in .{suffix}; there are {}; for a folder of this name write {}/",
                SUFFIXES.join(" "),
                path.display()
            )));
        }
        check_parent(path)?;
        let (folder, made) = match Folder::create(path) {
            Ok(folder) => (folder, true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let folder = Folder::open(path).map_err(|error| {
                    refuse(&format!("{error}; name a new folder, or a file ending in {}", SUFFIXES.join(" ")))
                })?;
                (folder, false)
            }
            Err(error) => return Err(refuse(&format!("cannot make the folder: {error}"))),
        };
        let place = Destination::Folder(folder, made);
        place.check(mark)?;
        Ok(place)
    }

    /// Whether the place is still free: a file that does not exist, a folder without files but `mark`.
    ///
    /// # Errors
    /// [`Error::Destination`] if it is not.
    pub fn check(&self, mark: &str) -> Result<(), Error> {
        let path = self.path();
        match self {
            // A dangling link counts as an existing name too.
            Destination::File(path) if path.symlink_metadata().is_ok() => {
                Err(refused(path, "it exists, and nothing is ever overwritten: name a new file"))
            }
            Destination::File(_) => Ok(()),
            Destination::Folder(folder, _) => match folder.names() {
                Ok(names) if names.iter().all(|name| name == mark) => Ok(()),
                Ok(_) => {
                    Err(refused(path, "it is not empty, and nothing is ever overwritten: name a new folder"))
                }
                Err(error) => Err(refused(path, &format!("cannot read the folder: {error}"))),
            },
        }
    }

    /// Its name, as given.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Destination::Folder(folder, _) => folder.path(),
            Destination::File(path) => path,
        }
    }

    /// Writes all files of the record into the folder, or the file in the form of its suffix. Returns the
    /// file to open.
    ///
    /// # Errors
    /// Those of [`write_all_in`] and [`write_new_as`].
    pub fn write(&self, record: &Record) -> Result<PathBuf, Error> {
        match self {
            Destination::Folder(folder, _) => write_all_in(record, folder).map(|_| folder.path().join(PAGE)),
            Destination::File(path) => write_new_as(record, path).map(|()| path.clone()),
        }
    }
}

fn refused(path: &Path, why: &str) -> Error {
    Error::Destination { path: path.to_owned(), detail: why.to_owned() }
}

/// Whether it ends in a separator.
fn ends_as_folder(path: &Path) -> bool {
    let last = path.as_os_str().as_encoded_bytes().last();
    last.is_some_and(|&byte| std::path::is_separator(char::from(byte)))
}

/// The suffix of a file name: `pdf`, but not the end of `run.2` or `v1.2`.
fn suffix(path: &Path) -> Option<String> {
    let suffix = path.extension()?.to_str()?;
    let is_word = suffix.len() <= 8 && suffix.chars().all(|c| c.is_ascii_alphanumeric());
    (is_word && suffix.starts_with(|c: char| c.is_ascii_alphabetic())).then(|| suffix.to_owned())
}

/// Refuses a path if its folder is missing, and names the first missing folder.
///
/// # Errors
/// [`Error::Destination`].
pub fn check_parent(path: &Path) -> Result<(), Error> {
    let parents = path.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty());
    match parents.take_while(|parent| !parent.is_dir()).last() {
        None => Ok(()),
        Some(missing) => {
            Err(refused(path, &format!("there is no such folder as {}: create it first", missing.display())))
        }
    }
}

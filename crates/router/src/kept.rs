//! The state before a change: files in a folder that is emptied by a reboot, like the interfaces' queues and
//! the stations' weights.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use goodqueue_wire::Lock;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Where the files are.
pub(crate) const FOLDER: &str = "/run/goodqueue";
/// The file in it that is locked while interfaces are changed.
const LOCK: &str = "sqm.lock";

/// A queueing discipline that can be restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Before {
    /// Its kind.
    pub(crate) kind: String,
    /// Major number of its handle.
    pub(crate) handle: u16,
    /// The value of `TCA_OPTIONS`.
    pub(crate) options: Vec<u8>,
}

/// The files of this network namespace.
pub(crate) struct States {
    folder: PathBuf,
    /// Number of the namespace: each has its own interface numbers.
    namespace: u64,
    /// Held while interfaces are changed or read; `None` if nothing was ever changed.
    _lock: Option<fs::File>,
}

/// The error of a file that is cut off, or that another version of the program wrote.
fn unreadable(error: &serde_json::Error) -> std::io::Error {
    let why = format!(
        "{error}; nothing else knows what was there before; if no goodqueue runs on this machine, delete the \
         file"
    );
    std::io::Error::new(ErrorKind::InvalidData, why)
}

/// Number of this network namespace.
fn namespace() -> Result<u64> {
    let path = PathBuf::from("/proc/self/ns/net");
    fs::metadata(&path).map(|found| found.ino()).map_err(|source| Error::State { path, source })
}

impl States {
    /// Waits until no other process changes interfaces.
    pub(crate) fn open() -> Result<States> {
        States::of_folder(FOLDER.into())
    }

    /// The same with files elsewhere, for tests.
    pub(crate) fn of_folder(folder: PathBuf) -> Result<States> {
        let failed = |path: &PathBuf| {
            let path = path.clone();
            move |source: std::io::Error| match source.kind() {
                ErrorKind::PermissionDenied => Error::Missing {
                    what: format!("the right to write {} ({source})", path.display()),
                    cure: format!(
                        "run it as root, or let root make the folder yours (install -d -o USER {FOLDER})"
                    ),
                },
                _ => Error::State { path, source },
            }
        };
        fs::create_dir_all(&folder).map_err(failed(&folder))?;
        let path = folder.join(LOCK);
        let lock = fs::File::create(&path).map_err(failed(&path))?;
        lock.lock().map_err(failed(&path))?;
        Ok(States { folder, namespace: namespace()?, _lock: Some(lock) })
    }

    /// The same for reading only, which needs no right and creates nothing. It also waits until no other
    /// process changes interfaces.
    pub(crate) fn look() -> Result<States> {
        let folder = PathBuf::from(FOLDER);
        let path = folder.join(LOCK);
        let lock = match fs::File::open(&path).and_then(|file| file.lock_shared().map(|()| file)) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            lock => Some(lock.map_err(|source| Error::State { path, source })?),
        };
        Ok(States { folder, namespace: namespace()?, _lock: lock })
    }

    /// The file of the command `of` for the interface `index`.
    fn path(&self, of: &str, index: u32) -> PathBuf {
        self.folder.join(format!("{of}-{}-{index}.json", self.namespace))
    }

    /// Locks the file of the command `of` for the interface or radio `index` as long as the value lives;
    /// `None` if another process holds it.
    pub(crate) fn lock(&self, of: &str, index: u32) -> Result<Option<Lock>> {
        let path = self.path(of, index).with_extension("lock");
        Lock::take(&path).map_err(|source| Error::State { path, source })
    }

    /// Everything that a command has saved.
    pub(crate) fn all<T: DeserializeOwned>(&self, of: &str) -> Result<Vec<T>> {
        let prefix = format!("{of}-{}-", self.namespace);
        let failed = |source| Error::State { path: self.folder.clone(), source };
        let mut all = Vec::new();
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(all),
            entries => entries.map_err(failed)?,
        };
        for entry in entries {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(&prefix) && name.ends_with(".json") {
                let bytes = fs::read(&path).map_err(|source| Error::State { path: path.clone(), source })?;
                let state = serde_json::from_slice(&bytes);
                all.push(state.map_err(|error: serde_json::Error| Error::State {
                    path: path.clone(),
                    source: unreadable(&error),
                })?);
            }
        }
        Ok(all)
    }

    /// Writes a file, all or nothing.
    pub(crate) fn write(&self, of: &str, index: u32, state: &impl Serialize) -> Result<()> {
        let path = self.path(of, index);
        let new = path.with_extension("new");
        let failed = |source| Error::State { path: path.clone(), source };
        let text = serde_json::to_vec_pretty(state).map_err(|error| failed(error.into()))?;
        fs::write(&new, text).map_err(failed)?;
        fs::rename(&new, &path).map_err(failed)
    }

    pub(crate) fn remove(&self, of: &str, index: u32) -> Result<()> {
        let path = self.path(of, index);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::State { path, source: error }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_read_comes_with_a_cure() {
        let folder = std::env::temp_dir().join(format!("goodqueue-kept-{}", std::process::id()));
        let states = States::of_folder(folder.clone()).expect("a folder");
        states.write("sqm", 7, &[1_u32]).expect("it is written");
        assert_eq!(states.all::<Vec<u32>>("sqm").expect("it can be read"), [[1]]);
        let path = states.path("sqm", 7);
        fs::write(&path, "[1,").expect("it is cut off");
        let why = states.all::<Vec<u32>>("sqm").expect_err("half a file").to_string();
        assert!(why.starts_with(&path.display().to_string()) && why.ends_with("delete the file"), "{why}");
        fs::remove_dir_all(folder).expect("the folder");
    }
}

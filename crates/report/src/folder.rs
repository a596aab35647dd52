//! A folder that is held open, so that nobody can replace it while files are written.

use std::fs;
#[cfg(unix)]
use std::fs::File;
use std::io;
#[cfg(unix)]
use std::os::{fd::AsRawFd, unix::fs::OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::{Error, files};

/// A folder for results. It is held open: if it is renamed, or its name becomes a link, files still go into
/// this folder and nowhere else.
#[derive(Debug)]
pub struct Folder {
    #[cfg(unix)]
    handle: File,
    name: PathBuf,
}

/// Flag of `open(2)`: do not follow a link.
#[cfg(unix)]
const NO_FOLLOW: i32 = libc::O_NOFOLLOW;
#[cfg(not(unix))]
const NO_FOLLOW: i32 = 1;

impl Folder {
    /// Creates the folder `path`. Its parent must exist.
    ///
    /// # Errors
    /// Those of `mkdir(2)`: `AlreadyExists`, also for a dangling link; `NotFound` if the parent is missing.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Folder> {
        fs::create_dir(path.as_ref())?;
        Self::open_with(path.as_ref(), path.as_ref(), NO_FOLLOW)
    }

    /// Opens an existing folder. Links in `path` are followed, because the user chose the name.
    ///
    /// # Errors
    /// Those of `open(2)`: `NotADirectory` for a file.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Folder> {
        Self::open_with(path.as_ref(), path.as_ref(), 0)
    }

    /// Opens the folder. Creates it and its parents if missing.
    pub(crate) fn open_or_create(path: &Path) -> Result<Folder, Error> {
        fs::create_dir_all(path).and_then(|()| Self::open(path)).map_err(Error::write(path))
    }

    #[cfg(not(unix))]
    fn open_with(path: &Path, name: &Path, flags: i32) -> io::Result<Folder> {
        let found = if flags == NO_FOLLOW { fs::symlink_metadata(path) } else { fs::metadata(path) }?;
        if !found.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Folder { name: name.to_owned() })
    }

    #[cfg(unix)]
    fn open_with(path: &Path, name: &Path, flags: i32) -> io::Result<Folder> {
        let flags = flags | libc::O_DIRECTORY | libc::O_CLOEXEC;
        let handle = File::options().read(true).custom_flags(flags).open(path)?;
        Ok(Folder { handle, name: name.to_owned() })
    }

    /// Its name, as given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.name
    }

    /// A path that leads to `name` in this folder and in no other (`proc_pid_fd(5)`).
    #[must_use]
    pub fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        #[cfg(unix)]
        {
            let held = PathBuf::from(format!("/proc/self/fd/{}", self.handle.as_raw_fd()));
            if held.exists() {
                return held.join(name);
            }
        }
        // A system without /proc has only the name.
        self.name.join(name)
    }

    /// The names of its entries.
    ///
    /// # Errors
    /// Those of `readdir(3)`.
    pub fn names(&self) -> io::Result<Vec<std::ffi::OsString>> {
        fs::read_dir(self.at("."))?.map(|entry| entry.map(|entry| entry.file_name())).collect()
    }

    /// Writes all of `bytes` to the file `name`, or nothing. A file or link of that name is replaced, never
    /// followed.
    ///
    /// # Errors
    /// [`Error::Write`] with the file's name and the system's cause.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, Error> {
        self.write_with(name, |file| file.write_all(bytes))
    }

    /// [`Folder::write`], with the contents that `fill` writes piece by piece.
    ///
    /// # Errors
    /// [`Error::Write`] with the file's name, and the cause of the system or of `fill`.
    pub fn write_with(
        &self,
        name: &str,
        fill: impl FnOnce(&mut (dyn io::Write + Send)) -> io::Result<()>,
    ) -> Result<PathBuf, Error> {
        let path = self.name.join(name);
        files::replace(&self.at(name), fill).map_err(Error::write(&path))?;
        Ok(path)
    }

    /// A folder in this one, created if missing. A link of that name is an error.
    pub(crate) fn sub(&self, name: &str) -> Result<Folder, Error> {
        let (path, at) = (self.name.join(name), self.at(name));
        match fs::create_dir(&at) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Self::open_with(&at, &path, NO_FOLLOW),
        }
        .map_err(Error::write(&path))
    }

    /// Lets `write` write into the folder `name` in this one. If it writes nothing, a folder that was created
    /// for it is removed.
    pub(crate) fn within<T>(
        &self,
        name: &str,
        write: impl FnOnce(&Folder) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let sub = self.sub(name)?;
        write(&sub).inspect_err(|_| {
            // This fails if the folder is not empty, which is intended.
            let _ = fs::remove_dir(self.at(name));
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::symlink;

    use super::*;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let path = std::env::temp_dir().join(format!("goodqueue-folder-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(path.join("elsewhere")).unwrap();
            Scratch(path)
        }

        fn elsewhere(&self) -> usize {
            fs::read_dir(self.0.join("elsewhere")).unwrap().count()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_folder_that_is_replaced_by_a_link_still_gets_its_files() {
        let scratch = Scratch::new("exchanged");
        let (name, moved) = (scratch.0.join("out"), scratch.0.join("moved"));
        let folder = Folder::create(&name).unwrap();
        fs::rename(&name, &moved).unwrap();
        symlink(scratch.0.join("elsewhere"), &name).unwrap();
        folder.write("page", b"whole").unwrap();
        folder.within("charts", |charts| charts.write("one", b"whole")).unwrap();
        assert_eq!(scratch.elsewhere(), 0);
        assert_eq!(fs::read_to_string(moved.join("page")).unwrap(), "whole");
        assert_eq!(fs::read_to_string(moved.join("charts/one")).unwrap(), "whole");
    }

    #[test]
    fn a_planted_link_is_used_neither_as_a_folder_nor_as_a_file() {
        let scratch = Scratch::new("planted");
        let folder = Folder::create(scratch.0.join("out")).unwrap();
        symlink(scratch.0.join("elsewhere"), scratch.0.join("out/charts")).unwrap();
        let error = folder.within("charts", |charts| charts.write("one", b"")).unwrap_err().to_string();
        assert!(error.contains("out/charts"), "{error}");
        let victim = scratch.0.join("victim");
        fs::write(&victim, "untouched").unwrap();
        symlink(&victim, scratch.0.join("out/page")).unwrap();
        folder.write("page", b"whole").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched");
        assert_eq!(scratch.elsewhere(), 0);
    }

    #[test]
    fn an_existing_name_is_not_created_again() {
        let scratch = Scratch::new("taken");
        symlink(scratch.0.join("nowhere"), scratch.0.join("link")).unwrap();
        for name in ["elsewhere", "link"] {
            let error = Folder::create(scratch.0.join(name)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        }
        let error = Folder::create(scratch.0.join("no/folder")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}

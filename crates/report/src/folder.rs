//! A folder that is held open, so that nobody can put another in its place while files are written.

use std::fs;
#[cfg(unix)]
use std::fs::File;
use std::io;
#[cfg(unix)]
use std::os::{fd::AsRawFd, unix::fs::OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::{Error, files};

/// A folder that results go into. It is held open: if its name is moved away or becomes a link to elsewhere,
/// files still go into this folder and nowhere else.
#[derive(Debug)]
pub struct Folder {
    #[cfg(unix)]
    handle: File,
    name: PathBuf,
}

/// Flag of `open(2)`: a link is not followed.
#[cfg(unix)]
const NO_FOLLOW: i32 = libc::O_NOFOLLOW;
#[cfg(not(unix))]
const NO_FOLLOW: i32 = 1;

impl Folder {
    /// Makes the folder `path`, in a folder that is there.
    ///
    /// # Errors
    /// Those of `mkdir(2)`: `AlreadyExists`, also for a link that leads nowhere; `NotFound` where the parent
    /// is missing.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Folder> {
        fs::create_dir(path.as_ref())?;
        Self::open_with(path.as_ref(), path.as_ref(), NO_FOLLOW)
    }

    /// Opens a folder that is there. Links in `path` are followed: its name is the user's.
    ///
    /// # Errors
    /// Those of `open(2)`: `NotADirectory` for a file.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Folder> {
        Self::open_with(path.as_ref(), path.as_ref(), 0)
    }

    /// Opens the folder, which is made with its parents if it is not there.
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

    /// Its name, as it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.name
    }

    /// The path by which the system finds `name` in this folder and in no other (`proc_pid_fd(5)`).
    #[must_use]
    pub fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        #[cfg(unix)]
        {
            let held = PathBuf::from(format!("/proc/self/fd/{}", self.handle.as_raw_fd()));
            if held.exists() {
                return held.join(name);
            }
        }
        // In a system without /proc the name has to do.
        self.name.join(name)
    }

    /// Names of what is in it.
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

    /// [`Folder::write`], of what `fill` writes bit by bit.
    pub(crate) fn write_with(
        &self,
        name: &str,
        fill: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
    ) -> Result<PathBuf, Error> {
        let path = self.name.join(name);
        files::replace(&self.at(name), fill).map_err(Error::write(&path))?;
        Ok(path)
    }

    /// A folder in this one, made if it is not there; one that is a link is refused.
    pub(crate) fn sub(&self, name: &str) -> Result<Folder, Error> {
        let (path, at) = (self.name.join(name), self.at(name));
        match fs::create_dir(&at) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Self::open_with(&at, &path, NO_FOLLOW),
        }
        .map_err(Error::write(&path))
    }

    /// What `write` writes into the folder `name` in this one; a folder that was made for nothing goes again.
    pub(crate) fn within<T>(
        &self,
        name: &str,
        write: impl FnOnce(&Folder) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let sub = self.sub(name)?;
        write(&sub).inspect_err(|_| {
            // Not empty: then it was not for nothing.
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
    fn a_folder_that_is_exchanged_for_a_link_still_gets_its_files() {
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
    fn a_planted_link_is_neither_a_folder_nor_a_file_to_write_to() {
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
    fn a_name_that_is_taken_is_not_made_again() {
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

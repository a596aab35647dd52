//! Files are written under a temporary name in their folder and renamed when complete.

use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::Error;

static COUNTER: AtomicU32 = AtomicU32::new(0);

/// Most names to try before giving up.
const TRIES: u32 = 100;

/// A new file next to `path`, created by this call. An existing file or link of its name is never opened.
fn temporary(path: &Path) -> std::io::Result<(File, PathBuf)> {
    let name = path.file_name().map_or_else(|| "out".into(), |n| n.to_string_lossy().into_owned());
    let mut tries = 0;
    loop {
        let n = COUNTER.fetch_add(1, Ordering::Relaxed);
        let part = path.with_file_name(format!(".{name}.{}.{n}.part", std::process::id()));
        match File::options().write(true).create_new(true).open(&part) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists && tries < TRIES => tries += 1,
            made => return made.map(|file| (file, part)),
        }
    }
}

/// Writes all of `bytes` to `path`, or nothing: the name appears (or changes) only when everything is on
/// disk. A link of that name is replaced, never followed.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    replace(path, |file| file.write_all(bytes)).map_err(Error::write(path))
}

/// Writes all of `bytes` to the new file `path`, or nothing.
///
/// # Errors
/// [`Error::Write`] with the system's cause: `AlreadyExists` if the name is taken, also by a link.
pub fn write_new(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), Error> {
    let path = path.as_ref();
    put(path, |file| file.write_all(bytes), |part| name_new(part, path)).map_err(Error::write(path))
}

/// Writes what `fill` writes to `path`, or nothing. A file or link of that name is replaced.
pub(crate) fn replace(
    path: &Path,
    fill: impl FnOnce(&mut (dyn Write + Send)) -> std::io::Result<()>,
) -> std::io::Result<()> {
    put(path, fill, |part| fs::rename(part, path))
}

/// Fills a temporary file next to `path`; `finish` then renames it.
fn put(
    path: &Path,
    fill: impl FnOnce(&mut (dyn Write + Send)) -> std::io::Result<()>,
    finish: impl FnOnce(&Path) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let (file, part) = temporary(path)?;
    let mut file = BufWriter::new(file);
    let filled = fill(&mut file).and_then(|()| file.flush()).and_then(|()| file.get_ref().sync_all());
    filled.and_then(|()| finish(&part)).inspect_err(|_| {
        let _ = fs::remove_file(&part);
    })
}

/// Renames the file `part` to `path` if that name is free: `rename(2)` would replace an existing file,
/// `link(2)` does not.
fn name_new(part: &Path, path: &Path) -> std::io::Result<()> {
    match fs::hard_link(part, path) {
        Ok(()) => fs::remove_file(part),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
        // A file system without links (FAT): reserve the name with an empty file, then replace that.
        Err(_) => {
            File::options().write(true).create_new(true).open(path)?;
            fs::rename(part, path)
        }
    }
}

/// `bytes` through gzip. The same bytes give the same file: the header carries no time.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // A write to memory cannot fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

/// Whether the name means gzip. A record's own suffix is `.gqz`, so that `*.gz` matches only flent's files.
pub(crate) fn is_gzip(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz") || e.eq_ignore_ascii_case("gqz"))
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_planted_link_is_not_followed() {
        let dir = std::env::temp_dir().join(format!("goodqueue-files-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        let victim = dir.join("victim");
        fs::write(&victim, "untouched").unwrap();
        let next = COUNTER.load(Ordering::Relaxed);
        let part = |n: u32| dir.join(format!(".out.txt.{}.{n}.part", std::process::id()));
        for n in next..next + TRIES / 2 {
            std::os::unix::fs::symlink(&victim, part(n)).unwrap();
        }
        write(&dir.join("out.txt"), b"whole").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched");
        assert_eq!(fs::read_to_string(dir.join("out.txt")).unwrap(), "whole");
        assert!(part(next).is_symlink());

        let error = write(&dir.join("none").join("out.txt"), b"").unwrap_err().to_string();
        assert!(error.starts_with("cannot write") && error.contains("none/out.txt"), "{error}");
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_new_file_replaces_nothing() {
        let dir = std::env::temp_dir().join(format!("goodqueue-new-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        let (path, link) = (dir.join("out.txt"), dir.join("link"));
        write_new(&path, b"first").unwrap();
        std::os::unix::fs::symlink(dir.join("nowhere"), &link).unwrap();
        for taken in [&path, &link] {
            let Error::Write { cause, .. } = write_new(taken, b"second").unwrap_err() else { panic!() };
            assert_eq!(cause.kind(), ErrorKind::AlreadyExists);
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        // The file and the link, and no temporary file.
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 2);
        fs::remove_dir_all(&dir).unwrap();
    }
}

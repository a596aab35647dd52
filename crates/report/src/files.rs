//! Files are written under a temporary name in their folder and renamed when whole.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::Error;

static COUNTER: AtomicU32 = AtomicU32::new(0);

fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().map_or_else(|| "out".into(), |n| n.to_string_lossy().into_owned());
    let n = COUNTER.fetch_add(1, Ordering::Relaxed);
    path.with_file_name(format!(".{name}.{}.{n}.part", std::process::id()))
}

/// Writes all of `bytes` to `path`, or nothing: the name appears (or changes) only when all is on disk.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let part = temporary(path);
    let done = (|| {
        let mut file = File::create(&part)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&part, path)
    })();
    done.map_err(|cause| {
        let _ = fs::remove_file(&part);
        Error::write(path)(cause)
    })
}

/// [`write`], through gzip. The same bytes give the same file: the header carries no time.
pub(crate) fn write_gzip(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let packed = encoder.write_all(bytes).and_then(|()| encoder.finish()).map_err(Error::write(path))?;
    write(path, &packed)
}

/// Whether the name asks for gzip.
pub(crate) fn is_gzip(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"))
}

//! Reads whole files.

use std::fs::{File, metadata};
use std::io::{Error, Read};
use std::path::Path;

/// The text of a file of at most this many bytes. Only regular files are opened: a pipe would wait
/// for its other end.
///
/// # Errors
/// Why it cannot be read.
pub fn text(path: &Path, most: u64) -> Result<String, String> {
    String::from_utf8(bytes(path, most)?).map_err(|_| "not text in UTF-8".into())
}

/// The content of such a file.
pub(crate) fn bytes(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let said = |error: Error| error.to_string();
    if !metadata(path).map_err(said)?.is_file() {
        return Err("no regular file".into());
    }
    let mut content = Vec::new();
    File::open(path).map_err(said)?.take(most + 1).read_to_end(&mut content).map_err(said)?;
    if content.len() as u64 > most { Err(format!("above {most} bytes")) } else { Ok(content) }
}

//! Files that are read as text.

use std::fs::{File, metadata};
use std::io::{Error, Read};
use std::path::Path;

/// The text of a file of at most this many bytes. Only regular files are opened: a pipe would wait
/// for its other end.
///
/// # Errors
/// Why it cannot be read.
pub fn text(path: &Path, most: u64) -> Result<String, String> {
    let said = |error: Error| error.to_string();
    if !metadata(path).map_err(said)?.is_file() {
        return Err("no regular file".into());
    }
    let mut text = String::new();
    File::open(path).map_err(said)?.take(most + 1).read_to_string(&mut text).map_err(said)?;
    if text.len() as u64 > most { Err(format!("above {most} bytes")) } else { Ok(text) }
}

//! Loading, on systems with shared libraries.

use std::path::Path;

use crate::table::{CcTable, Table};

/// The table of the queue in a library.
#[cfg(any(unix, windows))]
pub(crate) fn queue(path: &Path) -> Result<Table, String> {
    crate::ffi::load::queue(&absolute(path)?)
}

/// The table of the congestion control in a library.
#[cfg(any(unix, windows))]
pub(crate) fn cc(path: &Path) -> Result<CcTable, String> {
    crate::ffi::load::cc(&absolute(path)?)
}

/// The path with its folder. The system looks for a name without one among its own libraries.
#[cfg(any(unix, windows))]
fn absolute(path: &Path) -> Result<std::path::PathBuf, String> {
    std::path::absolute(path).map_err(|error| error.to_string())
}

#[cfg(not(any(unix, windows)))]
const NONE: &str = "this build loads no libraries";

/// Always an error: this system has no shared libraries.
#[cfg(not(any(unix, windows)))]
pub(crate) fn queue(_: &Path) -> Result<Table, String> {
    Err(NONE.into())
}

/// Always an error: this system has no shared libraries.
#[cfg(not(any(unix, windows)))]
pub(crate) fn cc(_: &Path) -> Result<CcTable, String> {
    Err(NONE.into())
}

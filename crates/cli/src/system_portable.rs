//! What the command needs of a system that is not Linux. There is no server and no live arm.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use goodqueue_experiment::Error;
use goodqueue_probe::net::{interrupted, watch_interrupts};

use crate::args::{
    AirtimeArgs, AutorateArgs, BridgeArgs, DoctorArgs, LinkArgs, ServerArgs, ShapeArgs, SqmArgs, WatchArgs,
};

/// Does nothing: other systems need no preparation.
pub fn begin() {}

/// The command needs Linux.
///
/// # Errors
/// Always.
pub fn server(_: &ServerArgs) -> Result<(), Error> {
    Err(Error::Usage(
        "server: it needs Linux, where it can give up the privileges that it does not need; start it on a \
         machine with Linux, and test from here"
            .into(),
    ))
}

/// The command needs Linux.
///
/// # Errors
/// Always.
pub fn link(_: &LinkArgs) -> Result<ExitCode, Error> {
    Err(Error::Usage("link: it needs Linux and its network namespaces".into()))
}

/// The command needs Linux.
///
/// # Errors
/// Always.
pub fn bridge(_: &BridgeArgs) -> Result<(), Error> {
    Err(Error::Usage("bridge: it needs Linux and its packet sockets".into()))
}

/// The command needs Linux.
///
/// # Errors
/// Always.
pub fn shape(_: &ShapeArgs) -> Result<(), Error> {
    Err(Error::Usage("shape: it needs Linux and its packet sockets".into()))
}

/// The command needs Linux.
///
/// # Errors
/// Always.
pub fn shape_guard(_: u32) -> Result<(), Error> {
    Err(Error::Usage("internal-guard: it needs Linux".into()))
}

/// The command needs Linux.
///
/// # Errors
/// Always.
pub fn sqm(_: &SqmArgs) -> Result<(), Error> {
    Err(Error::Usage("sqm: it needs Linux and its queueing disciplines".into()))
}

/// The command needs Linux.
///
/// # Errors
/// Always.
pub fn autorate(_: &AutorateArgs) -> Result<(), Error> {
    Err(Error::Usage("autorate: it needs Linux and its queueing disciplines".into()))
}

/// The command needs Linux.
///
/// # Errors
/// Always.
pub fn watch(_: &WatchArgs) -> Result<(), Error> {
    Err(Error::Usage("watch: it needs Linux and its queueing disciplines".into()))
}

/// The command needs Linux.
///
/// # Errors
/// Always.
pub fn airtime(_: &AirtimeArgs) -> Result<(), Error> {
    Err(Error::Usage("airtime: it needs Linux and its Wi-Fi stack, mac80211".into()))
}

/// The command needs Linux.
///
/// # Errors
/// Always.
pub fn doctor(_: &DoctorArgs) -> Result<(), Error> {
    Err(Error::Usage("doctor: it needs Linux, whose queues it examines".into()))
}

/// The command needs Linux.
///
/// # Errors
/// Always.
pub fn live_worker() -> Result<(), Error> {
    Err(Error::Usage("live-worker: the live arm needs Linux".into()))
}

/// A file that this process has locked. Dropping the value removes it.
#[derive(Debug)]
pub(crate) struct Lock {
    file: Option<File>,
    path: PathBuf,
}

impl Lock {
    /// Locks the file `path`, which is created if missing; `None` if another process holds it.
    pub(crate) fn take(path: &Path) -> io::Result<Option<Lock>> {
        let file = File::options().write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock { file: Some(file), path: path.to_owned() })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Windows removes no file that is open.
        drop(self.file.take());
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Turns Ctrl-C into something to ask for.
#[derive(Debug)]
pub(crate) struct Interrupt;

impl Interrupt {
    pub(crate) fn new() -> io::Result<Interrupt> {
        watch_interrupts().map(|()| Interrupt)
    }

    /// The number of the signal that came, if one did within `patience`.
    pub(crate) fn wait(&self, patience: Duration) -> io::Result<Option<i32>> {
        if interrupted().is_none() {
            std::thread::sleep(patience);
        }
        Ok(interrupted())
    }

    /// Nothing was blocked.
    pub(crate) fn unblock() {}
}

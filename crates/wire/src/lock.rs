//! A lock that the kernel releases however its holder ends (`flock(2)`).

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A file that this process has locked. Dropping the value removes it. A file left by a killed process is
/// reused.
#[derive(Debug)]
pub struct Lock {
    _file: File,
    path: PathBuf,
}

impl Lock {
    /// Locks the file `path`, which is created if missing; `None` if another process holds it.
    ///
    /// # Errors
    /// Those of `open(2)`, with `ELOOP` if `path` is a link; those of `flock(2)`.
    pub fn take(path: &Path) -> io::Result<Option<Lock>> {
        loop {
            // Its contents do not matter. A link is not followed, and a FIFO does not block.
            let mut options = File::options();
            options.write(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
            let file = options.open(path)?;
            if file.metadata()?.uid() != crate::effective_user() {
                let what = "it belongs to another user, who could hold it without end";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
            }
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            let ours = file.metadata()?;
            // Its last holder may have removed it after it was opened here; then the lock is useless.
            let is_there = std::fs::symlink_metadata(path)
                .is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino()));
            if is_there {
                return Ok(Some(Lock { _file: file, path: path.to_owned() }));
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The file is still locked. A process that has opened it meanwhile notices that it is gone and
        // creates another.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_has_one_holder_and_follows_no_link() {
        let path = std::env::temp_dir().join(format!("goodqueue-lock-{}", std::process::id()));
        let held = Lock::take(&path).expect("it can be made").expect("nobody has it");
        assert!(Lock::take(&path).expect("it can be opened").is_none());
        drop(held);
        assert!(!path.exists());
        // A file left by a killed process.
        std::fs::write(&path, "").expect("a file");
        drop(Lock::take(&path).expect("it can be opened").expect("nobody has it"));
        let victim = path.with_extension("victim");
        std::os::unix::fs::symlink(&victim, &path).expect("a link");
        let error = Lock::take(&path).expect_err("a link");
        assert_eq!(error.raw_os_error(), Some(libc::ELOOP));
        assert!(!victim.exists());
        std::fs::remove_file(&path).expect("the link");
    }

    #[test]
    fn only_one_of_many_threads_gets_the_lock() {
        let path = std::env::temp_dir().join(format!("goodqueue-locks-{}", std::process::id()));
        let (holders, most) = (std::sync::atomic::AtomicU32::new(0), std::sync::atomic::AtomicU32::new(0));
        let order = std::sync::atomic::Ordering::SeqCst;
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        if let Some(_held) = Lock::take(&path).expect("it can be made") {
                            most.fetch_max(holders.fetch_add(1, order) + 1, order);
                            std::thread::yield_now();
                            holders.fetch_sub(1, order);
                        }
                    }
                });
            }
        });
        assert_eq!(most.load(order), 1);
    }
}

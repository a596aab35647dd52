//! A network namespace that only a descriptor holds.

use std::fs::{self, File};
use std::io::{Read, Seek};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, Command};
use std::sync::Arc;
use std::thread;

use crate::sys::{namespace, process};
use crate::{Error, Result};

/// An anonymous network namespace, without a name or a mount. Its descriptor and the threads and sockets in
/// it hold it. When the last of them is gone, however the process ends, the kernel removes it with all its
/// interfaces (`network_namespaces(7)`). A clone holds the same namespace.
#[derive(Clone, Debug)]
pub struct Netns {
    file: Arc<File>,
    name: &'static str,
}

const RIGHT: &str = "CAP_SYS_ADMIN and CAP_NET_ADMIN to make network namespaces";
const CURE: &str = "run as root, or allow unprivileged user namespaces \
    (sysctl user.max_user_namespaces above 0; kernel.unprivileged_userns_clone=1 and \
    kernel.apparmor_restrict_unprivileged_userns=0 where they exist)";

impl Netns {
    /// Creates an empty namespace. `name` is for messages only.
    pub(crate) fn new(name: &'static str) -> Result<Netns> {
        let made = thread::spawn(namespace::unshare_net).join();
        let file = made.map_err(|_| Error::ThreadLost { what: "a new network namespace" })?;
        let refused = [libc::EINVAL, libc::ENOSYS, libc::ENOSPC];
        Ok(Netns { file: Arc::new(file.map_err(|e| e.or_missing(&refused, RIGHT, CURE))?), name })
    }

    /// Its name in the lab: `client`, `router` or `server`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Moves the calling thread into the namespace permanently; sockets opened afterwards belong to it.
    ///
    /// # Errors
    /// `System` with operation `setns`.
    pub fn enter(&self) -> Result<()> {
        namespace::enter_net(self.file.as_fd())
    }

    /// Runs `work` on a separate thread inside the namespace and returns its result.
    ///
    /// # Errors
    /// `System` with operation `setns`; `ThreadLost` if `work` panicked.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        let inside = || self.enter().map(|()| work());
        let answer = thread::scope(|scope| scope.spawn(inside).join());
        answer.map_err(|_| Error::ThreadLost { what: self.name })?
    }

    /// Starts a program inside the namespace. The kernel kills it when the calling thread ends, however that
    /// ends.
    ///
    /// # Errors
    /// Those of [`Command::spawn`], `setns(2)` and `prctl(2)`.
    pub fn spawn(&self, command: &mut Command) -> std::io::Result<Child> {
        process::spawn_in(self.file.as_fd(), command)
    }
}

impl Netns {
    /// The counters of the namespace's interfaces.
    ///
    /// # Errors
    /// Those of [`Netns::run`]; `System` if `/proc/net/dev` cannot be opened.
    pub(crate) fn counters(&self) -> Result<Counters> {
        let path = "/proc/thread-self/net/dev";
        self.run(|| File::open(path).map(Counters).map_err(|e| Error::io("open", path, e)))?
    }
}

/// The counters of a namespace's interfaces as an open file, which can be read without the privilege to enter
/// the namespace.
#[derive(Debug)]
pub(crate) struct Counters(File);

impl Counters {
    /// Frames that the namespace's interfaces, without loopback, could not send (`veth` counts frames here
    /// that the other end refused).
    pub(crate) fn send_drops(&mut self) -> Result<u64> {
        let mut text = String::new();
        let read = self.0.rewind().and_then(|()| self.0.read_to_string(&mut text));
        read.map(|_| send_drops(&text)).map_err(|e| Error::io("read", "/proc/net/dev", e))
    }
}

/// Sums the send drops in the text of `/proc/net/dev` (`proc_pid_net(5)`): the twelfth number of each line.
fn send_drops(text: &str) -> u64 {
    let interfaces = text.lines().filter_map(|line| line.split_once(':'));
    let others = interfaces.filter(|(name, _)| name.trim() != "lo");
    others.filter_map(|(_, figures)| figures.split_whitespace().nth(11)?.parse::<u64>().ok()).sum()
}

impl AsFd for Netns {
    /// The namespace's descriptor, as for `setns(2)`.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Makes the process root of a new user namespace, so that it can create network namespaces without any
/// privilege outside. Call it before the first thread starts and before anything is opened that needs the old
/// identity. Files created afterwards belong to the same user as before.
///
/// # Errors
/// `Missing` if the machine forbids it, `Invalid` if the process has more than one thread.
pub fn enter_user_namespace() -> Result<()> {
    let refused = [libc::ENOSPC, libc::ENOSYS, libc::EUSERS];
    namespace::unshare_user().map_err(|e| e.or_missing(&refused, RIGHT, CURE))
}

/// The path of a sysctl: `net.ipv4.tcp_ecn` is `/proc/sys/net/ipv4/tcp_ecn`.
fn sysctl_path(name: &str) -> String {
    format!("/proc/sys/{}", name.replace('.', "/"))
}

/// Reads a sysctl of the calling thread's namespace, with white space reduced to single blanks; `None` if it
/// does not exist or is hidden.
pub(crate) fn read_sysctl(name: &str) -> Option<String> {
    let text = fs::read_to_string(sysctl_path(name)).ok()?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Writes a sysctl of the calling thread's namespace and reads it back.
pub(crate) fn write_sysctl(name: &str, value: &str) -> Result<()> {
    let path = sysctl_path(name);
    // In containers /proc/sys is often read-only.
    let cure = "mount /proc/sys for writing (docker run --privileged), or run outside of the container";
    let refused =
        |e| Error::io("write", path.as_str(), e).or_missing(&[libc::EROFS], "a /proc/sys to write to", cure);
    fs::write(&path, value).map_err(refused)?;
    let wanted = value.split_whitespace().collect::<Vec<_>>().join(" ");
    match read_sysctl(name) {
        Some(got) if got == wanted => Ok(()),
        got => Err(Error::NotTaken { setting: name.to_owned(), wanted, got: got.unwrap_or_default() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn send_drops_are_summed_without_loopback() {
        let text = "Inter-|   Receive  | Transmit\n face |bytes packets\n\
            lo: 1 2 3 4 5 6 7 8 9 10 11 12 13\n  cli: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\nx: 0 0 0 0 0 0 0 0 0 0 0 5\n";
        assert_eq!(send_drops(text), 17);
        assert_eq!(send_drops("nonsense"), 0);
    }

    #[test]
    fn a_process_with_threads_cannot_enter_a_user_namespace() {
        std::thread::scope(|scope| {
            let (stop, wait) = std::sync::mpsc::channel::<()>();
            scope.spawn(move || wait.recv());
            assert!(matches!(enter_user_namespace(), Err(Error::Invalid { .. })));
            drop(stop);
        });
    }
}

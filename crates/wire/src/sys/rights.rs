//! Privileges of the process, which drops them once everything that needs them is set up.

use std::ffi::CString;
use std::io;

use crate::{Error, Result};

/// Version 3 of the kernel's capability sets: 64 bits in two words (`linux/capability.h`).
const VERSION_3: u32 = 0x2008_0522;
/// Number of the capability to choose any congestion control, among other things.
const CAP_NET_ADMIN: u32 = 12;

/// `struct __user_cap_header_struct` of `linux/capability.h`.
#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

/// `struct __user_cap_data_struct` of `linux/capability.h`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Data {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// No program that this process starts gets more privileges than it has (`PR_SET_NO_NEW_PRIVS`).
///
/// # Errors
/// `System` if `prctl` fails.
pub fn no_new_privileges() -> Result<()> {
    // SAFETY: takes integers only.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(Error::last("prctl", "PR_SET_NO_NEW_PRIVS"));
    }
    Ok(())
}

/// The user that the process acts as.
#[must_use]
pub fn effective_user() -> u32 {
    // SAFETY: takes nothing and always succeeds.
    unsafe { libc::geteuid() }
}

/// A user of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Its name; the number if it has none.
    pub name: String,
    /// Its number.
    pub user: u32,
    /// The number of its group.
    pub group: u32,
}

/// Bytes for a user's entry: more than `sysconf(_SC_GETPW_R_SIZE_MAX)` returns on Linux.
const ENTRY: usize = 16 * 1024;

/// The user of this name, or of this number; `None` if the machine has no such name. A number needs no
/// entry: its group is then the same number.
///
/// # Errors
/// `System` if the list of users cannot be read.
pub fn user_named(name: &str) -> Result<Option<User>> {
    let Ok(text) = CString::new(name) else { return Ok(None) };
    // SAFETY: all bits zero are a valid `passwd`: null pointers and numbers.
    let mut entry: libc::passwd = unsafe { super::zeroed() };
    let (mut found, mut buffer) = (std::ptr::null_mut(), vec![0; ENTRY]);
    // SAFETY: the name ends with zero; entry, buffer (of that length) and `found` are valid for writes.
    let code = unsafe {
        libc::getpwnam_r(text.as_ptr(), &raw mut entry, buffer.as_mut_ptr(), buffer.len(), &raw mut found)
    };
    if !found.is_null() {
        return Ok(Some(User { name: name.to_owned(), user: entry.pw_uid, group: entry.pw_gid }));
    }
    if let Ok(number) = name.parse() {
        return Ok(Some(User { name: name.to_owned(), user: number, group: number }));
    }
    // A missing name may also be an error (getpwnam(3)).
    match code {
        0 | libc::ENOENT | libc::ESRCH => Ok(None),
        code => Err(Error::io("getpwnam_r", name, io::Error::from_raw_os_error(code))),
    }
}

/// Lets the calling thread, and threads that it starts, regain capabilities with [`restrict_capabilities`]
/// after [`become_user`] (`PR_SET_KEEPCAPS`).
///
/// # Errors
/// `System` if `prctl` fails.
pub fn keep_capabilities() -> Result<()> {
    // SAFETY: takes integers only.
    if unsafe { libc::prctl(libc::PR_SET_KEEPCAPS, 1, 0, 0, 0) } != 0 {
        return Err(Error::last("prctl", "PR_SET_KEEPCAPS"));
    }
    Ok(())
}

/// Switches all threads of the process to this user and group, without other groups. If the process was root,
/// it loses all capabilities; see [`keep_capabilities`]. This also clears the signal of
/// [`crate::die_with_parent`].
///
/// # Errors
/// `System` if a call fails: `EPERM` without the privilege, `EINVAL` for a user that the namespace does not
/// have.
pub fn become_user(user: u32, group: u32) -> Result<()> {
    // SAFETY: the list has no entries.
    if unsafe { libc::setgroups(0, std::ptr::null()) } != 0 {
        return Err(Error::last("setgroups", "none"));
    }
    // SAFETY: takes integers only.
    if unsafe { libc::setresgid(group, group, group) } != 0 {
        return Err(Error::last("setresgid", group.to_string()));
    }
    // SAFETY: takes integers only.
    if unsafe { libc::setresuid(user, user, user) } != 0 {
        return Err(Error::last("setresuid", user.to_string()));
    }
    Ok(())
}

/// Drops all capabilities of the calling thread and of threads that it starts; with `network` it keeps
/// `CAP_NET_ADMIN`.
///
/// # Errors
/// `System` if `capset` fails: `EPERM` for a capability that the thread does not have.
pub fn restrict_capabilities(network: bool) -> Result<()> {
    let low = if network { 1 << CAP_NET_ADMIN } else { 0 };
    let header = Header { version: VERSION_3, pid: 0 };
    let none = Data { effective: 0, permitted: 0, inheritable: 0 };
    let data = [Data { effective: low, permitted: low, inheritable: 0 }, none];
    // SAFETY: header and data have the layout of version 3, which is two elements, and live during the call.
    if unsafe { libc::syscall(libc::SYS_capset, &raw const header, data.as_ptr()) } != 0 {
        return Err(Error::last("capset", if network { "CAP_NET_ADMIN" } else { "none" }));
    }
    Ok(())
}

/// Makes a write beyond the file size limit (`ulimit -f`) fail with `EFBIG`. Otherwise `SIGXFSZ` would kill
/// the process without a message.
pub fn survive_the_file_size_limit() {
    // SAFETY: ignoring a signal runs no code of ours.
    if unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) } == libc::SIG_ERR {
        // The signal exists on every Linux.
        debug_assert!(false, "signal: {}", io::Error::last_os_error());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of the calling thread's status.
    fn status(name: &str) -> String {
        let text = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim_start_matches(':').trim().to_owned()
    }

    #[test]
    fn users_are_found_by_name_and_by_number() {
        let root = User { name: "root".into(), user: 0, group: 0 };
        assert_eq!(user_named("root").unwrap(), Some(root));
        let number = User { name: "4000000".into(), user: 4_000_000, group: 4_000_000 };
        assert_eq!(user_named("4000000").unwrap(), Some(number));
        assert_eq!(user_named("no such user").unwrap(), None);
        assert_eq!(user_named("a\0b").unwrap(), None);
    }

    #[test]
    fn a_thread_drops_its_privileges_for_good() {
        // Only in this thread: other tests keep their privileges.
        std::thread::spawn(|| {
            no_new_privileges().unwrap();
            assert_eq!(status("NoNewPrivs"), "1");
            restrict_capabilities(false).unwrap();
            for set in ["CapEff", "CapPrm", "CapInh"] {
                assert_eq!(u64::from_str_radix(&status(set), 16), Ok(0), "{set}");
            }
            assert_eq!(restrict_capabilities(true).unwrap_err().errno(), Some(libc::EPERM));
        })
        .join()
        .unwrap();
    }
}

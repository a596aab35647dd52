//! The privileges that a server drops once its sockets are open. A flaw in the server then gives an attacker
//! a process that can serve and do little else.
//!
//! * Landlock: no file can be opened, made, changed or run, no TCP connection made and no port taken.
//! * seccomp: an allow list of system calls. Any other call fails with `EPERM`, and so does a call of the
//!   list with arguments that a server does not use. The process can run no program (`execve`), start no
//!   process (`clone` makes threads only), open no socket (only `socketpair` of Unix sockets), and turn no
//!   memory into code (`PROT_EXEC`).

use landlock::{
    ABI, Access, AccessFs, AccessNet, LandlockStatus, RestrictionStatus, Ruleset, RulesetAttr, RulesetError,
    Scope,
};

/// The restrictions that are in force, and those that are not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sandbox {
    /// Version of Landlock's interface that is in force.
    pub landlock: Option<u32>,
    /// How many system calls seccomp allows.
    pub seccomp: Option<usize>,
    /// The restrictions that this kernel, or our parent process, does not permit.
    pub lacks: Vec<String>,
}

/// The version of Landlock that we request, from Linux 6.15. Later versions have no rights that concern a
/// server.
const WANTED: ABI = ABI::V7;
/// The first version that knows TCP, from Linux 6.7.
const KNOWS_TCP: ABI = ABI::V4;
/// The first version that knows signals, from Linux 6.12.
const KNOWS_SIGNALS: ABI = ABI::V6;

/// Restricts the calling thread and those that it starts, permanently. Restrictions that the kernel does not
/// have are skipped and named.
#[must_use]
pub fn enter() -> Sandbox {
    let mut sandbox = Sandbox::default();
    match restrict() {
        Ok(RestrictionStatus { landlock: LandlockStatus::Available { effective_abi, .. }, .. }) => {
            sandbox.landlock = Some(effective_abi as u32);
            let mut lacks = |since, what: &str| {
                if effective_abi < since {
                    sandbox.lacks.push(format!("Landlock for {what}"));
                }
            };
            lacks(KNOWS_TCP, "TCP (Linux 6.7)");
            lacks(KNOWS_SIGNALS, "signals (Linux 6.12)");
        }
        Ok(RestrictionStatus { landlock: LandlockStatus::NotEnabled, .. }) => {
            sandbox.lacks.push("Landlock (not enabled at boot)".into());
        }
        Ok(_) => sandbox.lacks.push("Landlock (Linux 5.13)".into()),
        Err(error) => sandbox.lacks.push(format!("Landlock ({error})")),
    }
    match calls::restrict() {
        Ok(count) => sandbox.seccomp = Some(count),
        Err(why) => sandbox.lacks.push(format!("seccomp ({why})")),
    }
    sandbox
}

/// No files, no TCP ports, no connections, no signals to other processes: the rules have no exceptions.
fn restrict() -> Result<RestrictionStatus, RulesetError> {
    let rules = Ruleset::default()
        .handle_access(AccessFs::from_all(WANTED))?
        .handle_access(AccessNet::from_all(WANTED))?
        .scope(Scope::from_all(WANTED))?;
    rules.create()?.restrict_self()
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
mod calls {
    use std::collections::BTreeMap;

    use libc::c_long;
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule, apply_filter,
    };

    /// Calls with any arguments.
    const CALLS: &[c_long] = &[
        // Connections and datagrams.
        libc::SYS_accept4,
        libc::SYS_close,
        libc::SYS_getpeername,
        libc::SYS_getsockname,
        libc::SYS_getsockopt,
        libc::SYS_read,
        libc::SYS_readv,
        libc::SYS_recvfrom,
        libc::SYS_recvmsg,
        libc::SYS_sendmsg,
        libc::SYS_sendto,
        libc::SYS_setsockopt,
        libc::SYS_shutdown,
        libc::SYS_write,
        libc::SYS_writev,
        // Waiting and time.
        libc::SYS_clock_gettime,
        libc::SYS_clock_nanosleep,
        libc::SYS_epoll_create1,
        libc::SYS_epoll_ctl,
        libc::SYS_epoll_pwait,
        libc::SYS_fcntl,
        libc::SYS_nanosleep,
        libc::SYS_ppoll,
        libc::SYS_restart_syscall,
        libc::SYS_timerfd_create,
        libc::SYS_timerfd_settime,
        // Memory.
        libc::SYS_brk,
        libc::SYS_getrandom,
        libc::SYS_madvise,
        libc::SYS_mremap,
        libc::SYS_munmap,
        // Threads and signals of our own. `clone3` gets as far as the filter that answers it with `ENOSYS`.
        libc::SYS_clone3,
        libc::SYS_exit,
        libc::SYS_exit_group,
        libc::SYS_futex,
        libc::SYS_getpid,
        libc::SYS_gettid,
        libc::SYS_rseq,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sched_getaffinity,
        libc::SYS_sched_yield,
        libc::SYS_set_robust_list,
        libc::SYS_sigaltstack,
    ];

    /// Calls that glibc still makes on x86-64; later architectures have only their successors.
    #[cfg(target_arch = "x86_64")]
    const OLD_CALLS: &[c_long] = &[libc::SYS_epoll_wait, libc::SYS_poll];
    #[cfg(not(target_arch = "x86_64"))]
    const OLD_CALLS: &[c_long] = &[];

    /// Calls with one restricted argument: its index, the bits that count, and the value that they must have.
    fn restricted() -> [(c_long, u8, u64, u64); 7] {
        let (all, exec) = (u64::from(u32::MAX), number(libc::PROT_EXEC));
        let thread = number(libc::CLONE_THREAD);
        [
            (libc::SYS_clone, 0, thread, thread),
            (libc::SYS_ioctl, 1, all, number_of_request(libc::FIONBIO)),
            (libc::SYS_mmap, 2, exec, 0),
            (libc::SYS_mprotect, 2, exec, 0),
            (libc::SYS_prctl, 0, all, number(libc::PR_SET_NAME)),
            (libc::SYS_socketpair, 0, all, number(libc::AF_UNIX)),
            // A panic that cannot unwind ends the process by a signal to itself.
            (libc::SYS_tgkill, 0, all, u64::from(std::process::id())),
        ]
    }

    fn number(value: i32) -> u64 {
        u64::from(value.cast_unsigned())
    }

    /// The C libraries do not agree on its type.
    #[allow(clippy::unnecessary_cast, clippy::cast_sign_loss)]
    fn number_of_request(value: libc::Ioctl) -> u64 {
        value as u64 & u64::from(u32::MAX)
    }

    fn program(
        rules: BTreeMap<i64, Vec<SeccompRule>>,
        otherwise: SeccompAction,
        matching: SeccompAction,
    ) -> Result<BpfProgram, String> {
        let arch = std::env::consts::ARCH.try_into().map_err(text)?;
        SeccompFilter::new(rules, otherwise, matching, arch).and_then(TryInto::try_into).map_err(text)
    }

    fn text(error: impl std::fmt::Display) -> String {
        error.to_string()
    }

    fn errno(code: i32) -> SeccompAction {
        SeccompAction::Errno(code.unsigned_abs())
    }

    /// Restricts the calling thread and those that it starts; returns the number of calls that remain
    /// allowed.
    pub(super) fn restrict() -> Result<usize, String> {
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
            CALLS.iter().chain(OLD_CALLS).map(|&call| (call, Vec::new())).collect();
        for (call, argument, mask, value) in restricted() {
            let same = SeccompCmpOp::MaskedEq(mask);
            let condition =
                SeccompCondition::new(argument, SeccompCmpArgLen::Dword, same, value).map_err(text)?;
            rules.insert(call, vec![SeccompRule::new(vec![condition]).map_err(text)?]);
        }
        let count = rules.len() - 1;
        // Its arguments are in memory, which a filter cannot read. The C libraries then use `clone`.
        let clone3 = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
        let clone3 = program(clone3, SeccompAction::Allow, errno(libc::ENOSYS))?;
        let allowed = program(rules, errno(libc::EPERM), SeccompAction::Allow)?;
        apply_filter(&clone3).and_then(|()| apply_filter(&allowed)).map_err(text)?;
        Ok(count)
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
mod calls {
    /// There are no filters for this architecture.
    pub(super) fn restrict() -> Result<usize, String> {
        Err(format!("not for {}", std::env::consts::ARCH))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{ErrorKind, Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::unix::net::UnixStream;
    use std::process::Command;
    use std::thread;

    use super::*;

    /// In a thread of its own, so that the other tests keep their rights.
    fn within<T: Send>(work: impl FnOnce(Sandbox) -> T + Send) -> T {
        thread::scope(|scope| scope.spawn(|| work(enter())).join()).unwrap()
    }

    #[test]
    fn what_a_server_does_not_do_is_denied() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let status = || std::fs::read_to_string("/proc/thread-self/status");
        assert!(status().is_ok());
        within(|sandbox| {
            let denied = |what: &str, kind: Option<ErrorKind>| {
                assert_eq!(kind, Some(ErrorKind::PermissionDenied), "{what}: {sandbox:?}");
            };
            if sandbox.seccomp.is_some() || sandbox.landlock.is_some() {
                denied("reading a file", status().err().map(|error| error.kind()));
                let path = std::env::temp_dir().join("goodqueue-sandbox");
                denied("making a file", File::create(path).err().map(|error| error.kind()));
            }
            if sandbox.seccomp.is_none() {
                return;
            }
            denied("a program", Command::new("true").status().err().map(|error| error.kind()));
            denied("a connection", TcpStream::connect(at).err().map(|error| error.kind()));
            denied("a socket", UdpSocket::bind("127.0.0.1:0").err().map(|error| error.kind()));
            let kept = crate::keep_capabilities().err().and_then(|error| error.errno());
            assert_eq!(kept, Some(libc::EPERM), "capabilities for another user");
            assert!(crate::Netns::new("sandboxed").is_err(), "a namespace");
        });
    }

    #[test]
    fn what_a_server_does_is_allowed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.write_all(b"hello").unwrap();
        within(|_| {
            // Memory from the system, and back to it.
            drop(vec![1_u8; 64 << 20]);
            let named = thread::Builder::new().name("another".into()).stack_size(256 << 10);
            let child = named.spawn(move || {
                let (mut near, _) = listener.accept().unwrap();
                near.set_nonblocking(true).unwrap();
                let mut bytes = [0; 5];
                near.read_exact(&mut bytes).unwrap();
                let (mut a, mut b) = UnixStream::pair().unwrap();
                a.write_all(&bytes).unwrap();
                b.read_exact(&mut bytes).unwrap();
                udp.send_to(&bytes, udp.local_addr().unwrap()).unwrap();
                udp.recv_from(&mut bytes).unwrap();
                thread::sleep(std::time::Duration::from_millis(1));
                bytes
            });
            assert_eq!(child.unwrap().join().unwrap(), *b"hello");
        });
    }

    #[test]
    fn what_is_in_force_is_what_the_kernel_says() {
        let (sandbox, text) = thread::spawn(|| {
            // The kernel writes it when it is read.
            let mut status = File::open("/proc/thread-self/status").unwrap();
            let (sandbox, mut text) = (enter(), String::new());
            status.read_to_string(&mut text).unwrap();
            (sandbox, text)
        })
        .join()
        .unwrap();
        let has = |line: &str| text.lines().any(|other| other == line);
        assert!(has("NoNewPrivs:\t1"), "{text}");
        assert_eq!(sandbox.seccomp.is_some(), has("Seccomp:\t2"), "{sandbox:?}");
        let is_whole = sandbox.seccomp > Some(40) && sandbox.landlock >= Some(6);
        assert_eq!(is_whole, sandbox.lacks.is_empty(), "{sandbox:?}");
    }
}

//! The systemd units of the server and of the shapers.

use std::collections::BTreeSet;
use std::process::{Command, Output};

use super::router::in_namespace;
use super::{Scratch, skipped, stderr, stdout};

const UNIT: &str = include_str!("../../../../docs/goodqueue-server.service");

fn analyze(arguments: &[&str]) -> Option<Output> {
    Command::new("systemd-analyze").args(arguments).env("SYSTEMD_COLORS", "0").output().ok()
}

/// The values of a key, without its comments.
fn values(key: &str) -> Vec<&'static str> {
    UNIT.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('=')).collect()
}

#[test]
fn the_unit_grants_no_privileges() {
    for (key, value) in [
        ("DynamicUser", "yes"),
        ("CapabilityBoundingSet", ""),
        ("AmbientCapabilities", ""),
        ("NoNewPrivileges", "yes"),
        ("ProtectSystem", "strict"),
        ("ProtectHome", "yes"),
        ("PrivateDevices", "yes"),
        ("RestrictAddressFamilies", "AF_INET AF_INET6 AF_NETLINK"),
        ("RestrictNamespaces", "yes"),
        ("MemoryDenyWriteExecute", "yes"),
        ("SystemCallArchitectures", "native"),
    ] {
        assert_eq!(values(key), [value], "{key}");
    }
    assert_eq!(values("MemoryMax").len(), 1);
    assert!(values("ExecStart")[0].contains("--metrics 127.0.0.1:"), "counters are for this machine alone");
}

#[test]
fn systemd_takes_the_unit_and_finds_little_exposed() {
    let test = "systemd_takes_the_unit_and_finds_little_exposed";
    let scratch = Scratch::new("unit");
    let file = scratch.path("goodqueue-server.service");
    let unit = UNIT.replace("/usr/local/bin/goodqueue", env!("CARGO_BIN_EXE_goodqueue"));
    std::fs::write(&file, unit).expect("a file");
    let path = file.display().to_string();
    let Some(verified) = analyze(&["verify", "--man=no", &path]) else {
        skipped(test, "systemd-analyze is not installed");
        return;
    };
    let text = stderr(&verified) + &stdout(&verified);
    let ours: Vec<&str> = text.lines().filter(|line| line.contains("goodqueue")).collect();
    assert!(verified.status.success() && ours.is_empty(), "{text}");
    // Exposure from 0 to 10: what is left is the network, which a server needs.
    let rated = analyze(&["security", "--offline=true", "--threshold=15", "--no-pager", &path]);
    let rated = rated.expect("it is installed");
    assert!(rated.status.success(), "{}{}", stdout(&rated), stderr(&rated));
    let rated = stdout(&rated);
    let exposure = rated.split("Overall exposure level for goodqueue-server.service: ").nth(1);
    let exposure = exposure.and_then(|rest| rest.split(' ').next()).expect("its figure");
    let page = include_str!("../../../../docs/server.md");
    let version = stdout(&analyze(&["--version"]).expect("it is installed"));
    let version = version.split(' ').nth(1).expect("a number");
    // Another version may rate differently.
    if page.contains(&format!("of systemd {version} rates")) {
        assert!(
            page.contains(&format!("rates its exposure as {exposure} of 10")),
            "docs/server.md: {exposure}"
        );
    }
}

#[test]
fn systemd_takes_the_units_of_shapers() {
    let test = "systemd_takes_the_units_of_shapers";
    if analyze(&["--version"]).is_none() {
        skipped(test, "systemd-analyze is not installed");
        return;
    }
    let scratch = Scratch::new("shaper-units");
    for (name, words) in [
        ("sqm", "sqm q0 --up 5mbit --layout simple"),
        ("autorate", "autorate q0 --up 1mbit..5mbit --down 9mbit --shaper shape"),
        ("shape", "shape q0 --up 5mbit --down 9mbit"),
    ] {
        let script = format!("ip link add q0 type veth peer name q1; $GOODQUEUE {words} --systemd");
        let Some(output) = in_namespace(&script) else { return };
        let unit = stdout(&output);
        // For the socket of `goodqueue watch`, and for a program in ~/.cargo/bin.
        for line in ["ReadWritePaths=/run /tmp\n", "ProtectHome=read-only\n"] {
            assert!(unit.contains(line), "{unit}{}", stderr(&output));
        }
        let file = scratch.path(&format!("goodqueue-{name}-q0.service"));
        std::fs::write(&file, unit).expect("a file");
        let verified = analyze(&["verify", "--man=no", &file.display().to_string()]);
        let verified = verified.expect("it is installed");
        let text = stderr(&verified) + &stdout(&verified);
        let ours: Vec<&str> = text.lines().filter(|line| line.contains("goodqueue")).collect();
        assert!(verified.status.success() && ours.is_empty(), "{text}");
    }
}

/// What the server calls from its first to its last instruction, as `strace -f` lists it.
const CALLS: &str = "accept4 access arch_prctl bind brk capset clone clone3 close epoll_create1 epoll_ctl \
    epoll_wait execve exit exit_group fcntl futex getpid getrandom getsockname getsockopt gettid geteuid ioctl \
    landlock_create_ruleset landlock_restrict_self listen madvise mmap mprotect munmap newfstatat openat poll \
    ppoll prctl pread64 prlimit64 read recvfrom recvmsg rseq rt_sigaction rt_sigprocmask rt_sigreturn \
    sched_getaffinity sched_yield seccomp sendmsg sendto set_robust_list set_tid_address setsockopt shutdown \
    sigaltstack signalfd4 socket socketpair timerfd_create timerfd_settime write";

#[test]
fn the_units_filter_lets_the_server_work() {
    let test = "the_units_filter_lets_the_server_work";
    fn expand(names: &str, into: &mut BTreeSet<String>) {
        for name in names.split_whitespace() {
            if !name.starts_with('@') {
                into.insert(name.to_owned());
                continue;
            }
            let output = analyze(&["syscall-filter", name]).map(|output| stdout(&output)).unwrap_or_default();
            let inside = output.lines().skip(1).map(str::trim).filter(|line| !line.starts_with('#'));
            inside.for_each(|line| expand(line, into));
        }
    }
    if analyze(&["--version"]).is_none() {
        skipped(test, "systemd-analyze is not installed");
        return;
    }
    let mut allowed = BTreeSet::new();
    // systemd adds this set to every list.
    expand("@default", &mut allowed);
    for line in values("SystemCallFilter") {
        let mut named = BTreeSet::new();
        expand(line.trim_start_matches('~'), &mut named);
        allowed = if line.starts_with('~') { &allowed - &named } else { &allowed | &named };
    }
    assert!(allowed.len() > 100, "{allowed:?}");
    let denied: Vec<&str> = CALLS.split_whitespace().filter(|&call| !allowed.contains(call)).collect();
    assert_eq!(denied, [""; 0], "calls that the unit denies");
    assert!(!allowed.contains("setuid") && !allowed.contains("mount") && !allowed.contains("ptrace"));
}

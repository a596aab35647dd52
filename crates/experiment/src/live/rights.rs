//! The worker drops its privileges once everything that needs them is set up: namespaces, sockets, priority.

use std::sync::Barrier;

use goodqueue_probe::{Test, Transport};
use goodqueue_wire::{Error, become_user, keep_capabilities, restrict_capabilities};

/// The user without rights, on every Linux (`/proc/sys/kernel/overflowuid`).
const NOBODY: u32 = 65_534;
/// Threads of the load: client and server.
const THREADS: usize = 2;

/// The privileges that the worker keeps while it measures.
pub(super) struct Rights {
    /// User and group as which it continues, if it is root.
    user: (u32, u32),
    /// Whether client and server keep the right over their networks. The kernel requires it to select a
    /// congestion control that is not allowed for every user (`tcp_set_congestion_control` in
    /// `net/ipv4/tcp_cong.c`).
    network: bool,
    /// The parent process; the worker dies with it.
    parent: u32,
    /// Passed when both threads of the load have entered their namespaces, and again when the rights are
    /// gone.
    turn: Barrier,
}

impl Rights {
    /// The rights that `test` needs.
    pub(super) fn of(test: &Test, parent: u32) -> Rights {
        let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
        let caller = number("SUDO_UID").zip(number("SUDO_GID"));
        let allowed = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
        Rights {
            user: caller.filter(|&(user, group)| user != 0 && group != 0).unwrap_or((NOBODY, NOBODY)),
            network: !are_allowed(test, &allowed.unwrap_or_default()),
            parent,
            turn: Barrier::new(THREADS + 1),
        }
    }

    /// In each thread of the load: enters its namespace, and continues with the rights that are left after
    /// [`Rights::end`].
    pub(super) fn end_in_thread(&self, enter: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
        // The threads of the probes begin later and inherit the priority. They measure even without it.
        let _ = goodqueue_probe::net::urgent_thread();
        let entered = enter().and_then(|()| if self.network { keep_capabilities() } else { Ok(()) });
        // Even if that failed, since the others wait.
        self.turn.wait();
        self.turn.wait();
        entered.and_then(|()| restrict_capabilities(self.network))
    }

    /// In the main thread, once: all threads of the process lose their rights when those of the load no
    /// longer need them.
    pub(super) fn end(&self) -> Result<(), Error> {
        self.turn.wait();
        let given = self.give_away();
        self.turn.wait();
        given
    }

    fn give_away(&self) -> Result<(), Error> {
        let (user, group) = self.user;
        match become_user(user, group) {
            // The kernel cleared this when the user changed.
            Ok(()) => goodqueue_wire::die_with_parent(self.parent)?,
            // Root of a user namespace has no other user, and no rights outside.
            Err(error) if error.errno().is_some_and(|errno| UNCHANGEABLE.contains(&errno)) => {}
            Err(error) => return Err(error),
        }
        restrict_capabilities(false)
    }
}

/// `EPERM` and `EINVAL`.
const UNCHANGEABLE: [i32; 2] = [libc::EPERM, libc::EINVAL];

/// Whether every user may select the congestion controls of `test`.
fn are_allowed(test: &Test, allowed: &str) -> bool {
    let allowed: Vec<&str> = allowed.split_whitespace().collect();
    // QUIC's congestion controls are not the kernel's.
    let flows = test.flows.iter().filter(|flow| flow.transport == Transport::Tcp).map(|flow| &flow.cc);
    let beside = test.web.iter().map(|page| &page.cc).chain(test.dash.iter().map(|video| &video.cc));
    flows.chain(beside).all(|cc| allowed.contains(&cc.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capability_is_kept_only_for_what_the_kernel_restricts() {
        let mut test = goodqueue_probe::resolve("rrul", &goodqueue_probe::Params::default()).expect("a test");
        test.flows.iter_mut().for_each(|flow| flow.cc = "cubic".into());
        assert!(are_allowed(&test, "reno bbr cubic\n"));
        assert!(!are_allowed(&test, "reno bbr\n"));
        // If it is not known what is allowed.
        assert!(!are_allowed(&test, ""));
        test.flows.clear();
        assert!(are_allowed(&test, ""));
    }
}

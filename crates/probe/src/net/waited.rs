//! For how long a server's thread had work and no processor.
//!
//! Linux counts that for each thread (`/proc/thread-self/schedstat`). But a server opens no files once it has
//! given up its privileges, and the thread of a load starts after that. So the thread looks at two clocks,
//! the monotonic one and its own processor time, and counts two kinds of waits:
//!
//! * **Between two looks** without a sleep in between, all time without a processor is a wait.
//! * **After a sleep** with a time at which to wake up, all that is later than this time. For a sleep that a
//!   packet ended before, the wait is not known.
//!
//! Times shorter than [`TURN`] are left out: a processor needs some time to wake up, and the kernel
//! interrupts a thread for packets, which on some kernels is no processor time of the thread. Another program
//! keeps a processor for longer. So the sum is a lower bound.

use super::sys;

/// The shortest time that counts, ns: Linux's scheduler lets another thread run until a tick, which comes
/// every 1 to 10 ms.
const TURN: i64 = 1_000_000;

/// The two clocks of a thread, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    /// The monotonic clock.
    mono: i64,
    /// Time on a processor; 0 if the system does not tell.
    ran: i64,
}

impl Look {
    fn now() -> Look {
        Look { mono: sys::monotonic(), ran: sys::thread_time() }
    }
}

/// Counts the waits of the thread that makes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waits {
    last: Look,
    total: i64,
}

/// The thread's clocks, and its waits, when a load began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Since(Waits);

impl Waits {
    /// From now on.
    pub(super) fn new() -> Waits {
        Waits { last: Look::now(), total: 0 }
    }

    /// A piece of work is done; the thread may sleep next.
    pub(super) fn worked(&mut self) {
        self.worked_until(Look::now());
    }

    /// The thread has slept, until the time `due` of the monotonic clock at most.
    pub(super) fn slept(&mut self, due: i64) {
        self.slept_until(Look::now(), due);
    }

    fn worked_until(&mut self, now: Look) {
        let passed = now.mono - self.last.mono;
        if passed >= TURN {
            self.total += (passed - (now.ran - self.last.ran)).max(0);
        }
        self.last = now;
    }

    fn slept_until(&mut self, now: Look, due: i64) {
        let late = now.mono.saturating_sub(due.max(self.last.mono));
        if late >= TURN {
            self.total += late;
        }
        self.last = now;
    }

    /// The beginning of a load.
    pub(super) fn begin(&mut self) -> Since {
        self.worked();
        Since(*self)
    }

    /// Thousandths of the time since then for which the thread had a processor, and for which it waited; 0
    /// and `None` if the system does not tell a thread's processor time.
    pub(super) fn shares(&mut self, Since(then): Since) -> (u32, Option<u32>) {
        self.worked();
        let passed = self.last.mono - then.last.mono;
        let waited = permille(self.total - then.total, passed);
        (permille(self.last.ran - then.last.ran, passed), (self.last.ran > 0).then_some(waited))
    }
}

/// Thousandths that `part` is of `whole`, 0 to 1000.
fn permille(part: i64, whole: i64) -> u32 {
    u32::try_from((part.saturating_mul(1000) / whole.max(1)).clamp(0, 1000)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn look(mono: i64, ran: i64) -> Look {
        Look { mono: mono * MS, ran: ran * MS }
    }

    fn waits() -> Waits {
        Waits { last: look(100, 10), total: 0 }
    }

    #[test]
    fn work_without_a_processor_is_a_wait() {
        let mut waits = waits();
        waits.worked_until(look(104, 11));
        assert_eq!(waits.total, 3 * MS);
        // On a processor all the time, and a piece that is too short to be another program's turn.
        waits.worked_until(look(109, 16));
        waits.worked_until(Look { mono: 109 * MS + TURN - 1, ran: 16 * MS });
        assert_eq!(waits.total, 3 * MS);
    }

    #[test]
    fn a_sleep_that_ends_late_is_a_wait() {
        let mut waits = waits();
        waits.slept_until(look(120, 10), 115 * MS);
        assert_eq!(waits.total, 5 * MS);
        // A packet woke it before it was due; there was nothing to wake up for; a processor woke up slowly.
        waits.slept_until(look(130, 10), 140 * MS);
        waits.slept_until(look(230, 10), i64::MAX);
        waits.slept_until(look(240, 10), 240 * MS - TURN + 1);
        assert_eq!(waits.total, 5 * MS);
        // It was due before it slept: the time before that was work.
        waits.slept_until(look(242, 10), 10 * MS);
        assert_eq!(waits.total, 7 * MS);
    }

    #[test]
    fn shares_are_of_the_time_since_a_load_began() {
        assert_eq!([(3, 4), (5, 4), (-1, 4), (1, 0)].map(|(a, b)| permille(a, b)), [750, 1000, 0, 1000]);
        let mut waits = Waits::new();
        waits.total = 1_000_000 * MS;
        let since = waits.begin();
        // What it waited before does not count. Only Linux tells.
        let (_, waited) = waits.shares(since);
        assert_eq!(waited.is_some(), cfg!(target_os = "linux"));
        assert!(waited.is_none_or(|waited| waited < 1000), "{waited:?}");
    }

    /// There are more threads than processors, and the kernel counts their waits too.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_waits_are_those_that_the_kernel_counts() {
        let counted = || {
            let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
            text.split_whitespace().nth(1)?.parse::<i64>().ok()
        };
        let threads = 2 * std::thread::available_parallelism().map_or(1, usize::from) + 6;
        let busy = || {
            let before = counted()?;
            let mut waits = Waits::new();
            let until = waits.last.mono + 500 * MS;
            while waits.last.mono < until {
                waits.worked();
            }
            Some([waits.total, counted()? - before])
        };
        let all: Vec<[i64; 2]> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..threads).map(|_| scope.spawn(busy)).collect();
            all.into_iter().filter_map(|thread| thread.join().expect("it ends")).collect()
        });
        if counted().is_none() {
            eprintln!("SKIPPED: the_waits_are_those_that_the_kernel_counts: this kernel has no schedstat");
            return;
        }
        assert_eq!(all.len(), threads);
        for [own, kernel] in all {
            // The kernel's count also has what is too short to count here.
            assert!(own > 100 * MS && own < kernel + 50 * MS && 2 * own > kernel, "{own} {kernel}");
        }
    }
}

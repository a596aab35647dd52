//! Clocks, scheduling and waiting of the engine's thread.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, BorrowedFd};

use goodqueue::{Nanos, Span};

use super::socklen_of;
use crate::{Error, Result};

fn clock(id: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing; the clocks used here always exist.
    unsafe { libc::clock_gettime(id, &raw mut time) };
    nanoseconds(&time)
}

/// A time that is not negative. Its parts are 32 bits wide in some C libraries.
pub(crate) fn nanoseconds(time: &libc::timespec) -> u64 {
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// `CLOCK_MONOTONIC`, the engine's time.
pub(crate) fn now() -> Nanos {
    Nanos(clock(libc::CLOCK_MONOTONIC))
}

/// `CLOCK_REALTIME` in ns, the clock of receive times.
pub(crate) fn wall_clock() -> u64 {
    clock(libc::CLOCK_REALTIME)
}

/// CPU time that the calling thread has used.
pub(crate) fn cpu_time() -> Span {
    Span(clock(libc::CLOCK_THREAD_CPUTIME_ID))
}

/// Makes the calling thread's sleeps end on time: 1 ns of timer slack instead of 50 us (`PR_SET_TIMERSLACK`).
pub(crate) fn tight_timers() {
    // SAFETY: takes integers only. Failure leaves the default, which the lateness histogram shows.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64, 0, 0, 0) };
}

/// Requests real-time scheduling (`SCHED_FIFO`, priority 10) for the calling thread; returns whether it is
/// granted.
pub(crate) fn real_time() -> bool {
    // SAFETY: all zeros is a valid sched_param (musl's has more members).
    let mut param: libc::sched_param = unsafe { super::zeroed() };
    param.sched_priority = 10;
    // SAFETY: `param` lives during the call; thread 0 is the caller.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const param) == 0 }
}

/// Requests the shortest time slice among ordinary threads (100 us instead of some 3 ms; `sched_setattr(2)`,
/// Linux 6.12 and later): a thread with a short slice is scheduled sooner. It needs no privilege. Returns
/// whether it is granted.
pub(crate) fn short_turns() -> bool {
    /// `struct sched_attr` of `linux/sched/types.h`, first version.
    #[repr(C)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    let size = socklen_of::<Attributes>();
    let ask = Attributes {
        size,
        policy: 0,
        flags: 0,
        nice: 0,
        priority: 0,
        runtime: 100_000,
        deadline: 0,
        period: 0,
    };
    // SAFETY: `ask` lives during the call and contains its own size; thread 0 is the caller.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const ask, 0) == 0 }
}

/// Keeps processors out of deep sleep, from which waking takes time, while the file is open
/// (`/dev/cpu_dma_latency`, the kernel's PM quality of service). It needs root, and the kernel ends it when
/// the process dies. A halted virtual processor wakes 50 to 150 us late.
pub(crate) fn keep_processors_awake() -> Option<File> {
    let mut file = OpenOptions::new().write(true).open("/dev/cpu_dma_latency").ok()?;
    file.write_all(&0_i32.to_ne_bytes()).ok()?;
    Some(file)
}

/// Requests that the kernel keeps `memory` in RAM (`mlock(2)`); returns whether it does.
pub(crate) fn lock_memory(memory: &[u8]) -> bool {
    // SAFETY: the range is that of a live slice; `mlock` does not change its content.
    unsafe { libc::mlock(memory.as_ptr().cast(), memory.len()) == 0 }
}

/// Number of CPUs that the calling thread may use.
pub(crate) fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Sleeps for `span`, even if frames arrive.
pub(crate) fn sleep(span: Span) {
    std::thread::sleep(std::time::Duration::from_nanos(span.0));
}

/// Sleeps until one of `sockets` is readable or broken (the next read returns the error), or `timeout` has
/// passed (`ppoll(2)`, which takes no notice of a negative descriptor).
pub(crate) fn wait(sockets: [Option<BorrowedFd<'_>>; 2], timeout: Span) -> Result<()> {
    let number = |fd: Option<BorrowedFd<'_>>| fd.map_or(-1, |fd| fd.as_raw_fd());
    let entry = |fd| libc::pollfd { fd: number(fd), events: libc::POLLIN, revents: 0 };
    let mut polled = sockets.map(entry);
    // SAFETY: all zeros is a valid timespec.
    let mut limit: libc::timespec = unsafe { super::zeroed() };
    limit.tv_sec = (timeout.0 / 1_000_000_000).min(i32::MAX.unsigned_abs().into()) as _;
    limit.tv_nsec = (timeout.0 % 1_000_000_000) as _;
    // SAFETY: `polled` holds two entries and `limit` is a valid timespec; the signal mask is left alone.
    let answer = unsafe { libc::ppoll(polled.as_mut_ptr(), 2, &raw const limit, std::ptr::null()) };
    if answer < 0 {
        let error = io::Error::last_os_error();
        if error.kind() == io::ErrorKind::Interrupted {
            return Ok(());
        }
        return Err(Error::io("ppoll", "the engine's sockets", error));
    }
    Ok(())
}

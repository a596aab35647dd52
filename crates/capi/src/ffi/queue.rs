//! Queues.

use core::ffi::{CStr, c_char, c_void};
use core::slice;

use goodqueue::Nanos;

use super::pointer::{
    Marked, answer, check, look, needed, object, put, read, set_up, size, take_drops, with, write,
};
use crate::abi::{Config, Counter, Drop, Head, Packet, Stats, Tcp};
use crate::code::{Code, GQ_EKIND, GQ_ETEXT};
use crate::config;
use crate::queue::Queue;

/// Longest text of a queue, bytes.
const MAX_TEXT: usize = 4095;

// SAFETY: `Queue` is `repr(C)` and begins with its mark.
unsafe impl Marked for Queue {
    const MARK: usize = 0x676f_6f64;
    fn set_mark(&mut self, mark: usize) {
        self.mark = mark;
    }
}

/// Sets every field of `config` for a queue of this kind (`GQ_PFIFO` and so on) with default parameters. Its
/// size field must be set.
///
/// Returns 0, `GQ_EKIND`, or the code of a bad pointer.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_config_default(kind: u32, config: *mut Config) -> i32 {
    if !Config::is_kind(kind) {
        return GQ_EKIND.0;
    }
    // SAFETY: the contract of the module.
    answer(unsafe { write(config, Config::of(kind)) }.map(|()| 0))
}

/// Parses a queue from a text like "`fq_codel` limit=1000 flows=64" or "tbf,rate=10mbit,burst=5k,limit=60k",
/// with the words and units of tc, separated by commas or spaces. Sets every field of `config`, whose size
/// field must be set; `mtu`, `link_rate`, slots, `drop_slots` and full get their defaults. If the text is
/// wrong, `*at` is the offset of the error (the length of the text if something is missing); at may be null.
///
/// Returns 0, or `GQ_EKIND`, `GQ_EPARAM`, `GQ_EVALUE`, `GQ_EMISSING`, `GQ_ETWICE`, `GQ_ECONFLICT`,
/// `GQ_ETEXT`, or the code of a bad pointer.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_config_parse(text: *const c_char, config: *mut Config, at: *mut usize) -> i32 {
    // SAFETY: the contract of the module.
    answer(unsafe { parse(text, config, at) })
}

unsafe fn parse(text: *const c_char, config: *mut Config, at: *mut usize) -> Result<i32, Code> {
    check(text)?;
    // SAFETY: the contract of the module.
    unsafe { size(config) }?;
    // SAFETY: not null; by the contract a NUL-terminated string, of which no more is read.
    let is_end = |&at: &usize| unsafe { text.add(at).read() } == 0;
    let length = (0..=MAX_TEXT).find(is_end).ok_or(GQ_ETEXT)?;
    // SAFETY: these bytes and the NUL after them were just read.
    let bytes = unsafe { slice::from_raw_parts(text.cast::<u8>(), length + 1) };
    let text = CStr::from_bytes_with_nul(bytes).map_err(|_| GQ_ETEXT)?.to_str().map_err(|_| GQ_ETEXT)?;
    let read = config::read(text);
    if !at.is_null() {
        // SAFETY: the contract of the module.
        unsafe { put(at, read.at) }?;
    }
    // SAFETY: the contract of the module.
    unsafe { write(config, read.config?) }.map(|()| 0)
}

/// Sets the queue of each class of `config` (`GQ_PRIO`, `GQ_DRR` or `GQ_HTB`) to `leaf`: its kind and its
/// parameters. `mtu`, `link_rate`, slots, `drop_slots`, full and seed are those of `config`.
///
/// Returns 0; or `GQ_EPARAM` if `config` has no classes, `GQ_ECONFLICT` if `leaf` has classes, the error of
/// `gq_queue_size` for `leaf`, or the code of a bad pointer; then nothing is changed.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_config_set_leaf(config: *mut Config, leaf: *const Config) -> i32 {
    // SAFETY: the contract of the module.
    answer(unsafe { set_leaf(config, leaf) })
}

unsafe fn set_leaf(to: *mut Config, leaf: *const Config) -> Result<i32, Code> {
    // SAFETY: the contract of the module.
    let (mut config, leaf) = unsafe { (read(to)?, read(leaf)?) };
    config.set_classes(&leaf)?;
    // SAFETY: the contract of the module.
    unsafe { write(to, config) }.map(|()| 0)
}

/// Writes the memory that a queue of this configuration needs, in bytes, into `*bytes`: for the queue and all
/// its storage.
///
/// Returns 0, or the code of the error in the configuration: `GQ_EKIND`, `GQ_EPARAM`, `GQ_EVALUE`,
/// `GQ_EMISSING`, `GQ_ECONFLICT`, `GQ_EROOM`.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_queue_size(config: *const Config, bytes: *mut usize) -> i32 {
    // SAFETY: the contract of the module.
    let needed =
        unsafe { read(config) }.and_then(|config| needed(|room| Queue::new(&config, Nanos(0), room)));
    // SAFETY: the contract of the module.
    answer(needed.and_then(|needed| unsafe { put(bytes, needed) }).map(|()| 0))
}

/// Sets up a queue in the caller's memory: at least `gq_queue_size` bytes, aligned to `GQ_ALIGN`, with any
/// contents. The clock starts at `now`, ns. `*queue` becomes the handle, which is the address of the memory.
/// The caller owns the memory but must not move or read it while the handle is used. There is nothing to tear
/// down: after `gq_queue_reset` and the last `gq_take_drops` the memory may be reused.
///
/// Returns 0, `GQ_EALIGN`, `GQ_EMEMORY`, or an error of `gq_queue_size`.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_queue_init(
    memory: *mut c_void,
    bytes: usize,
    config: *const Config,
    now: u64,
    queue: *mut *mut Queue,
) -> i32 {
    // SAFETY: the contract of the module.
    answer(unsafe { read(config) }.and_then(|config| {
        // SAFETY: the contract of the module.
        unsafe { set_up(memory.cast(), bytes, queue, |room| Queue::new(&config, Nanos(now), room)) }
    }))
}

/// Enqueues a packet at `now`, ns, which must not be before the time of an earlier call. `*packet` is copied.
///
/// Returns 0 or more: in the bits of `GQ_REASON` the reason why this packet itself was dropped, 0 if it is
/// queued; `GQ_DROPS` if dropped packets wait in `gq_take_drops`, this one or others; `GQ_FULL`; `GQ_MARKED`.
/// Or a negative code (`GQ_EPACKET`, `GQ_ETIME`, `GQ_EDROPS`, a bad pointer): then the queue is unchanged,
/// and the caller keeps the packet.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_enqueue(queue: *mut Queue, now: u64, packet: *const Packet) -> i32 {
    with!(queue, queue.guard => {
        // SAFETY: the contract of the module.
        unsafe { read(packet.cast::<Head>()) }.and_then(|head| {
            // SAFETY: the contract of the module.
            queue.enqueue(Nanos(now), head.header(), |extras| unsafe {
                look(packet, |packet| extras.expect(packet, None))
            })
        })
    })
}

/// Like `gq_enqueue`, with the TCP header of the packet for `ack_filter` of `GQ_CAKE` in `*tcp`, which is
/// copied; null if it is not a TCP packet.
///
/// Returns what `gq_enqueue` does.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_enqueue_tcp(
    queue: *mut Queue,
    now: u64,
    packet: *const Packet,
    tcp: *const Tcp,
) -> i32 {
    with!(queue, queue.guard => {
        // SAFETY: the contract of the module.
        let tcp = if tcp.is_null() { Ok(None) } else { unsafe { read(tcp) }.map(Some) };
        tcp.and_then(|tcp| {
            // SAFETY: the contract of the module.
            let head = unsafe { read(packet.cast::<Head>()) }?;
            // SAFETY: the contract of the module.
            queue.enqueue(Nanos(now), head.header(), |extras| unsafe {
                look(packet, |packet| extras.expect(packet, tcp.as_ref()))
            })
        })
    })
}

/// Dequeues the next packet that may leave at `now`, ns, into `*packet`, whose size field must be set. CoDel
/// may drop and mark packets in this call.
///
/// Returns 0 or more: `GQ_PACKET` if there is a packet, `GQ_MARKED` if it was marked CE; `GQ_DROPS`;
/// `GQ_FULL`. Or a negative code (`GQ_ETIME`, `GQ_EDROPS`, a bad pointer): then the queue is unchanged.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_dequeue(queue: *mut Queue, now: u64, packet: *mut Packet) -> i32 {
    with!(queue, queue.guard => {
        // SAFETY: the contract of the module.
        unsafe { size(packet) }.and_then(|_| {
            let (delivery, bits) = queue.dequeue(Nanos(now))?;
            if let Some(delivery) = delivery {
                // SAFETY: the contract of the module.
                unsafe { write(packet.cast(), delivery.head()) }?;
            }
            Ok(bits)
        })
    })
}

/// Writes into `*wake` when to call `gq_dequeue` again after it gave no packet: the exact earliest time, ns,
/// at which it can deliver one if nothing else arrives; `now` if a packet may leave at once.
///
/// Returns 1, 0 if the queue is empty (`*wake` is unchanged), or a negative code.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_next_wake(queue: *mut Queue, now: u64, wake: *mut u64) -> i32 {
    with!(queue, queue.guard => queue.next_wake(Nanos(now)).and_then(|at| match at {
        // SAFETY: the contract of the module.
        Some(at) => unsafe { put(wake, at.0) }.map(|()| 1),
        None => check(wake).map(|()| 0),
    }))
}

/// Takes up to `count` dropped packets, oldest first, into an array. The size field of its first element must
/// be set; it is the distance between elements. Every packet given to `gq_enqueue` comes back exactly once,
/// from `gq_dequeue` or here (unless `drop_slots` is less than `GQ_DROPS_ALL`).
///
/// Returns the number of packets taken, or a negative code.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_take_drops(queue: *mut Queue, drops: *mut Drop, count: u32) -> i32 {
    with!(queue, queue.guard => {
        // SAFETY: the contract of the module.
        unsafe { take_drops(&mut queue.guard.drops, drops, count) }
    })
}

/// Drops all queued packets (`GQ_REASON_RESET`) and clears the control state at `now`, ns; counters keep
/// their values.
///
/// Returns `GQ_DROPS` or 0, or a negative code (`GQ_ETIME`, `GQ_EDROPS`).
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_queue_reset(queue: *mut Queue, now: u64) -> i32 {
    with!(queue, queue.guard => queue.reset(Nanos(now)))
}

/// Sets all parameters of a queue of the same kind at `now`, ns. The numbers of buckets and of slots do not
/// change: flows must be `GQ_DEFAULT` or the present value, diffserv of cake must not use more tins than at
/// set-up, and slots and `drop_slots` are ignored. codel and `fq_codel` drop packets above a lower limit
/// (`GQ_REASON_CHANGE`).
///
/// Returns `GQ_DROPS` and `GQ_FULL` or 0, or a negative code; then nothing is changed.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_queue_configure(queue: *mut Queue, now: u64, config: *const Config) -> i32 {
    with!(queue, queue.guard => {
        // SAFETY: the contract of the module.
        unsafe { read(config) }.and_then(|config| queue.configure(Nanos(now), &config, &config.spec()?))
    })
}

/// Writes backlog and counters of the queue into `*stats`, whose size field must be set.
///
/// Returns 0, or the code of a bad pointer.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_queue_stats(queue: *mut Queue, stats: *mut Stats) -> i32 {
    with!(queue, queue.guard => {
        // SAFETY: the contract of the module.
        unsafe { write(stats, queue.stats()) }.map(|()| 0)
    })
}

/// Writes the counter with this index, from 0, into `*counter`, whose size field must be set. These are
/// counters of this kind of queue beyond those of `gq_queue_stats`.
///
/// Returns 1, 0 if there is no such index, or the code of a bad pointer.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_queue_counter(queue: *mut Queue, index: u32, counter: *mut Counter) -> i32 {
    with!(queue, queue.guard => {
        // SAFETY: the contract of the module.
        unsafe { size(counter) }.and_then(|_| match queue.counter(index) {
            // SAFETY: the contract of the module.
            Some(value) => unsafe { write(counter, value) }.map(|()| 1),
            None => Ok(0),
        })
    })
}

//! Byte queue limits.

use goodqueue::Nanos;

use super::pointer::{Marked, check, install, object, read, with, write};
use crate::abi::{self, BqlConfig, BqlState};
use crate::bql::Bql;
use crate::code::{Code, GQ_EMEMORY};

const _: () =
    assert!(size_of::<Bql>() <= size_of::<abi::Bql>() && align_of::<Bql>() <= align_of::<abi::Bql>());

// SAFETY: `Bql` is `repr(C)` and begins with its mark.
unsafe impl Marked for Bql {
    const MARK: usize = 0x2062_716c;
    fn set_mark(&mut self, mark: usize) {
        self.mark = mark;
    }
}

/// Sets every field of `config`, whose size field must be set, to Linux's defaults.
///
/// Returns 0, or the code of a bad pointer.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_bql_config_default(config: *mut BqlConfig) -> i32 {
    // SAFETY: the contract of the module.
    unsafe { write(config, BqlConfig::standard()) }.map_or_else(|code| code.0, |()| 0)
}

/// Sets byte queue limits up for one ring: `bytes` is sizeof(struct `gq_bql`), `config` may be null for the
/// defaults. Its clock begins at `now`, ns. There is nothing to tear down; the struct must not be moved.
///
/// Returns 0, `GQ_EMEMORY`, `GQ_EVALUE`, or the code of a bad pointer.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_bql_init(
    bql: *mut abi::Bql,
    bytes: usize,
    config: *const BqlConfig,
    now: u64,
) -> i32 {
    // SAFETY: the contract of the module.
    unsafe { init(bql, bytes, config, Nanos(now)) }.map_or_else(|code| code.0, |()| 0)
}

unsafe fn init(bql: *mut abi::Bql, bytes: usize, config: *const BqlConfig, now: Nanos) -> Result<(), Code> {
    check(bql)?;
    let config = if config.is_null() {
        BqlConfig::standard()
    } else {
        // SAFETY: the contract of the module.
        unsafe { read(config) }?
    };
    if bytes < size_of::<abi::Bql>() {
        return Err(GQ_EMEMORY);
    }
    let value = Bql::new(&config, now)?;
    // SAFETY: not null, aligned, and large enough for the struct of the header, which is for ours.
    unsafe { install(bql.cast::<Bql>(), value) };
    Ok(())
}

/// Hook 1 of 3, in the transmit function, after the packet was put into the ring (Linux:
/// `netdev_tx_sent_queue`). `bytes` is what the completion will say of this packet. `in_ring` is how many
/// packets the ring holds with this one, from the ring's own indices, or `GQ_UNKNOWN`: it finds a forgotten
/// reset at the next packet.
///
/// Returns `GQ_STOP` where the queue above must be stopped until `GQ_WAKE`, else 0; or a negative code:
/// `GQ_EPACKET`, which counts nothing, or `GQ_ERING`: what was in flight was wrong and is forgotten, the
/// packet is counted, go on.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_bql_sent(bql: *mut abi::Bql, bytes: u32, in_ring: u32) -> i32 {
    with!(bql.cast::<Bql>(), bql => bql.sent(bytes, in_ring))
}

/// Hook 2 of 3, once after a round of completions (Linux: `netdev_tx_completed_queue`): the sums of packets
/// and bytes since the last, also of packets that failed, at `now`, ns.
///
/// Returns `GQ_WAKE` where the ring takes packets, else 0; or a negative code. After `GQ_EOVER` and
/// `GQ_EMISMATCH` the count was put right: wake the queue as after `GQ_WAKE`. `GQ_ETIME` counts nothing.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_bql_completed(bql: *mut abi::Bql, now: u64, packets: u32, bytes: u32) -> i32 {
    with!(bql.cast::<Bql>(), bql => bql.completed(Nanos(now), packets, bytes))
}

/// Hook 3 of 3, wherever the ring is emptied without completions: stop, reset, error recovery (Linux:
/// `netdev_tx_reset_queue`). Forgets what is in flight and begins as `gq_bql_init` did; counters of errors
/// stay. The queue above is to be started again by what opens the ring.
///
/// Returns 0 or a negative code.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_bql_reset(bql: *mut abi::Bql, now: u64) -> i32 {
    with!(bql.cast::<Bql>(), bql => bql.reset(Nanos(now)))
}

/// For a watchdog and for tests: the ring holds `in_ring` packets at `now`, ns; is that what was reported?
///
/// Returns 0, or `GQ_ERING` where it is not: then the limit is reset and `in_ring` packets of unknown length
/// are in flight. Wake the queue.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_bql_check(bql: *mut abi::Bql, now: u64, in_ring: u32) -> i32 {
    with!(bql.cast::<Bql>(), bql => bql.check(Nanos(now), in_ring))
}

/// What the limit is and has seen, into `*state`, whose size field must be set.
///
/// Returns 0, or the code of a bad pointer.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_bql_state(bql: *mut abi::Bql, state: *mut BqlState) -> i32 {
    with!(bql.cast::<Bql>(), bql => {
        // SAFETY: the contract of the module.
        unsafe { write(state, bql.state()) }.map(|()| 0)
    })
}

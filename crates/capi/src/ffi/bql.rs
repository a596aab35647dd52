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

/// Sets up byte queue limits for one ring: `bytes` is sizeof(struct `gq_bql`), `config` may be null for the
/// defaults. The clock starts at `now`, ns. There is nothing to tear down; the struct must not be moved.
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

/// Hook 1 of 3: call it in the transmit function, after the packet was put into the ring (Linux:
/// `netdev_tx_sent_queue`). `bytes` is what the completion will report for this packet. `in_ring` is the
/// number of packets in the ring including this one, from the ring's own indices, or `GQ_UNKNOWN`. It serves
/// to detect a forgotten reset at the next packet.
///
/// Returns `GQ_STOP` if the queue above must be stopped until `GQ_WAKE`, otherwise 0; or a negative code:
/// `GQ_EPACKET`, and nothing is counted; or `GQ_ERING`: the packets in flight were wrong and are discarded,
/// but this packet is counted, so continue.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_bql_sent(bql: *mut abi::Bql, bytes: u32, in_ring: u32) -> i32 {
    with!(bql.cast::<Bql>(), bql => bql.sent(bytes, in_ring))
}

/// Hook 2 of 3: call it once after a round of completions (Linux: `netdev_tx_completed_queue`), with the sums
/// of packets and bytes since the last call, including failed packets, at `now`, ns.
///
/// Returns `GQ_WAKE` if the ring accepts packets, otherwise 0; or a negative code. After `GQ_EOVER` and
/// `GQ_EMISMATCH` the count is corrected: wake the queue as after `GQ_WAKE`. With `GQ_ETIME` nothing is
/// counted.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_bql_completed(bql: *mut abi::Bql, now: u64, packets: u32, bytes: u32) -> i32 {
    with!(bql.cast::<Bql>(), bql => bql.completed(Nanos(now), packets, bytes))
}

/// Hook 3 of 3: call it wherever the ring is emptied without completions: stop, reset, error recovery (Linux:
/// `netdev_tx_reset_queue`). It discards what is in flight and starts again as after `gq_bql_init`, but keeps
/// the error counters. The function that opens the ring must start the queue above again.
///
/// Returns 0 or a negative code.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_bql_reset(bql: *mut abi::Bql, now: u64) -> i32 {
    with!(bql.cast::<Bql>(), bql => bql.reset(Nanos(now)))
}

/// For a watchdog and for tests: checks whether the ring, which holds `in_ring` packets at `now`, ns, agrees
/// with the reports.
///
/// Returns 0, or `GQ_ERING` if it does not: then the limit is reset, with `in_ring` packets of unknown length
/// in flight. Wake the queue.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_bql_check(bql: *mut abi::Bql, now: u64, in_ring: u32) -> i32 {
    with!(bql.cast::<Bql>(), bql => bql.check(Nanos(now), in_ring))
}

/// Writes the state of the limit into `*state`, whose size field must be set.
///
/// Returns 0, or the code of a bad pointer.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_bql_state(bql: *mut abi::Bql, state: *mut BqlState) -> i32 {
    with!(bql.cast::<Bql>(), bql => {
        // SAFETY: the contract of the module.
        unsafe { write(state, bql.state()) }.map(|()| 0)
    })
}

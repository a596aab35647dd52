//! The transmit stack of an 802.11 radio.

use core::ffi::c_void;

use goodqueue::Nanos;

use super::pointer::{
    Marked, answer, check, needed, object, put, read, set_up, size, take_drops, with, write,
};
use crate::abi::Head;
use crate::abi::wifi::{WifiConfig, WifiRate, WifiStation, WifiStats, WifiTxq};
use crate::abi::{Drop, Packet};
use crate::wifi::Wifi;

// SAFETY: `Wifi` is `repr(C)` and begins with its mark.
unsafe impl Marked for Wifi {
    const MARK: usize = 0x6d38_3032;
    fn set_mark(&mut self, mark: usize) {
        self.mark = mark;
    }
}

/// Sets every field of `config`, whose size field must be set, to its default.
///
/// Returns 0, or the code of a bad pointer.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_wifi_config_default(config: *mut WifiConfig) -> i32 {
    // SAFETY: the contract of the module.
    answer(unsafe { write(config, WifiConfig::standard()) }.map(|()| 0))
}

/// Writes the memory that the transmit stack of a radio needs, in bytes, into `*bytes`. It does not include
/// frames.
///
/// Returns 0, `GQ_EVALUE`, or the code of a bad pointer.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_wifi_size(config: *const WifiConfig, bytes: *mut usize) -> i32 {
    // SAFETY: the contract of the module.
    let needed = unsafe { read(config) }.and_then(|config| needed(|room| Wifi::new(&config, Nanos(0), room)));
    // SAFETY: the contract of the module.
    answer(needed.and_then(|needed| unsafe { put(bytes, needed) }).map(|()| 0))
}

/// Sets up the transmit stack of a radio in the caller's memory, as `gq_queue_init` does for a queue. It has
/// no stations.
///
/// Returns 0, `GQ_EALIGN`, `GQ_EMEMORY`, or an error of `gq_wifi_size`.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_wifi_init(
    memory: *mut c_void,
    bytes: usize,
    config: *const WifiConfig,
    now: u64,
    wifi: *mut *mut Wifi,
) -> i32 {
    // SAFETY: the contract of the module.
    answer(unsafe { read(config) }.and_then(|config| {
        // SAFETY: the contract of the module.
        unsafe { set_up(memory.cast(), bytes, wifi, |room| Wifi::new(&config, Nanos(now), room)) }
    }))
}

/// Sets all parameters; stations, interfaces, flows, packets and `drop_slots` are ignored. Nothing is
/// dropped: limits apply to the next arrival.
///
/// Returns 0 or a negative code; then nothing is changed.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_wifi_configure(wifi: *mut Wifi, config: *const WifiConfig) -> i32 {
    with!(wifi, wifi.guard => {
        // SAFETY: the contract of the module.
        unsafe { read(config) }.and_then(|config| wifi.configure(config.params()?))
    })
}

/// Adds a station. The caller chooses its number, which must be less than stations of the configuration. The
/// station has a deficit and a weight of 256 us, the radio's AQL limits, no rate, and empty queues.
///
/// Returns 0, `GQ_ESTATION` if the number or the interface is too high, or `GQ_EEXISTS`.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_wifi_add_station(wifi: *mut Wifi, station: u32, interface: u32) -> i32 {
    with!(wifi, wifi.guard => wifi.add_station(station, interface))
}

/// Removes a station at `now`, ns, and drops the packets in its queues (`GQ_REASON_FLUSH`). Completions of
/// its packets in flight must still be reported.
///
/// Returns `GQ_DROPS` or 0, or a negative code (`GQ_ESTATION`, `GQ_ETIME`, `GQ_EDROPS`).
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_wifi_remove_station(wifi: *mut Wifi, now: u64, station: u32) -> i32 {
    with!(wifi, wifi.guard => wifi.remove_station(Nanos(now), station))
}

/// The station enters power save: its queues are not scheduled and keep their packets (Linux:
/// `sta_ps_start`).
///
/// Returns 0 or `GQ_ESTATION`.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_wifi_sleep(wifi: *mut Wifi, station: u32) -> i32 {
    with!(wifi, wifi.guard => wifi.sleep(station))
}

/// The station wakes at `now`, ns: its nonempty queues are scheduled.
///
/// Returns `GQ_WORK_VO` and so on, or a negative code (`GQ_ESTATION`, `GQ_ETIME`).
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_wifi_wake(wifi: *mut Wifi, now: u64, station: u32) -> i32 {
    with!(wifi, wifi.guard => wifi.wake(Nanos(now), station))
}

/// Sets a station's airtime weight: its airtime in a round, us, 1 to 65535.
///
/// Returns 0, `GQ_ESTATION` or `GQ_EVALUE`.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_wifi_set_weight(wifi: *mut Wifi, station: u32, weight: u32) -> i32 {
    with!(wifi, wifi.guard => wifi.set_weight(station, weight))
}

/// Sets a station's own AQL limits in a category (`GQ_VO` and so on), us.
///
/// Returns 0, `GQ_ESTATION` or `GQ_EVALUE`.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_wifi_set_aql(wifi: *mut Wifi, station: u32, ac: u32, low: u32, high: u32) -> i32 {
    with!(wifi, wifi.guard => wifi.set_aql(station, ac, low, high))
}

/// Sets the rate for estimates of the station's airtime: the rate of its last transmission; null: unknown,
/// and estimates are 0.
///
/// Returns 0, `GQ_ESTATION`, `GQ_EVALUE`, or the code of a bad pointer.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_wifi_set_rate(wifi: *mut Wifi, station: u32, rate: *const WifiRate) -> i32 {
    with!(wifi, wifi.guard => {
        // SAFETY: the contract of the module.
        let rate = if rate.is_null() { Ok(None) } else { unsafe { read(rate) }.map(Some) };
        rate.and_then(|rate| wifi.set_rate(station, rate))
    })
}

/// Rate control reports the station's expected throughput, kbit/s: below `slow_rate` the station is slow
/// until the next report.
///
/// Returns 0 or `GQ_ESTATION`.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_wifi_expected_throughput(wifi: *mut Wifi, station: u32, kbps: u32) -> i32 {
    with!(wifi, wifi.guard => wifi.expected_throughput(station, kbps))
}

/// Stops a station's queue while a block-ack session is set up; it accepts packets but delivers none.
///
/// Returns 0 or `GQ_ESTATION`.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_wifi_stop_txq(wifi: *mut Wifi, txq: u32) -> i32 {
    with!(wifi, wifi.guard => wifi.stop(txq))
}

/// Lets a stopped queue deliver again, and schedules it at `now`, ns.
///
/// Returns the bit of its category in `GQ_WORK`, or a negative code (`GQ_ESTATION`, `GQ_ETIME`).
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_wifi_start_txq(wifi: *mut Wifi, now: u64, txq: u32) -> i32 {
    with!(wifi, wifi.guard => wifi.start(Nanos(now), txq))
}

/// Enqueues a packet at `now`, ns, and schedules the queue. `*packet` is copied; len is the length with the
/// 802.11 header. While the radio is over a limit, the flow with the largest backlog loses packets.
///
/// Returns 0 or more: in the bits of `GQ_REASON` the reason why this packet itself was dropped, 0 if it is
/// queued (`GQ_REASON_FLUSH`: there is no such station); `GQ_DROPS`; the bit of the category in `GQ_WORK`:
/// run a round. Or a negative code (`GQ_EPACKET`, `GQ_ETIME`, `GQ_EDROPS`, `GQ_ESTATION` for a number that no
/// queue has, a bad pointer): then the caller keeps the packet.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_wifi_enqueue(wifi: *mut Wifi, now: u64, txq: u32, packet: *const Packet) -> i32 {
    with!(wifi, wifi.guard => {
        // SAFETY: the contract of the module.
        unsafe { read(packet.cast::<Head>()) }.and_then(|head| wifi.enqueue(Nanos(now), txq, head.header()))
    })
}

/// Starts a scheduling round in a category (Linux: `ieee80211_txq_schedule_start`).
///
/// Returns 1, 0 if the radio has too much airtime in flight for a round, or `GQ_EVALUE`.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_wifi_schedule_start(wifi: *mut Wifi, ac: u32) -> i32 {
    with!(wifi, wifi.guard => wifi.schedule_start(ac))
}

/// Writes the next queue that may send in this round into `*txq` (Linux: `ieee80211_next_txq`). Dequeue
/// packets from it, then return it with `gq_wifi_return_txq`.
///
/// Returns 1, 0 if the round is over (`*txq` is unchanged), `GQ_EVALUE`, or the code of a bad pointer.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_wifi_next_txq(wifi: *mut Wifi, ac: u32, txq: *mut u32) -> i32 {
    with!(wifi, wifi.guard => check(txq).and_then(|()| match wifi.next_txq(ac)? {
        // SAFETY: the contract of the module.
        Some(next) => unsafe { put(txq, next.number()) }.map(|()| 1),
        None => Ok(0),
    }))
}

/// Dequeues the next packet of a queue at `now`, ns, into `*packet`, whose size field must be set. Writes its
/// estimated airtime, us, into `*estimate`; from now on that counts as airtime in flight (AQL). There is no
/// packet if the queue is empty, stopped or unknown, or if its station has too much airtime in flight.
///
/// Returns `GQ_PACKET`, `GQ_MARKED` and `GQ_DROPS`, or a negative code.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_wifi_dequeue(
    wifi: *mut Wifi,
    now: u64,
    txq: u32,
    packet: *mut Packet,
    estimate: *mut u32,
) -> i32 {
    with!(wifi, wifi.guard => {
        // SAFETY: the contract of the module.
        unsafe { size(packet) }.and_then(|_| {
            check(estimate)?;
            let (delivered, bits) = wifi.dequeue(Nanos(now), txq)?;
            if let Some((header, micros)) = delivered {
                // SAFETY: the contract of the module.
                unsafe {
                    write(packet.cast(), Head::of(header))?;
                    put(estimate, micros)?;
                }
            }
            Ok(bits)
        })
    })
}

/// Returns a queue from `gq_wifi_next_txq` or `gq_wifi_may_transmit` to the scheduler, at `now`, ns. `force`
/// 1: the driver holds packets of it, so schedule it in any case.
///
/// Returns the bit of its category in `GQ_WORK` if queues wait, otherwise 0; or a negative code.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_wifi_return_txq(wifi: *mut Wifi, now: u64, txq: u32, force: u32) -> i32 {
    with!(wifi, wifi.guard => wifi.return_txq(Nanos(now), txq, force != 0))
}

/// For firmware that requests a station's packets: whether this queue may send now (Linux:
/// `ieee80211_txq_may_transmit`). If so, return it afterwards.
///
/// Returns 1, 0, or `GQ_ESTATION`.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_wifi_may_transmit(wifi: *mut Wifi, txq: u32) -> i32 {
    with!(wifi, wifi.guard => wifi.may_transmit(txq))
}

/// A packet was acknowledged or given up: its estimate is no longer in flight.
///
/// Returns the bit of its category in `GQ_WORK` if queues wait, otherwise 0; or `GQ_ESTATION`.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_wifi_completed(wifi: *mut Wifi, txq: u32, estimate: u32) -> i32 {
    with!(wifi, wifi.guard => wifi.completed(txq, estimate))
}

/// Reports airtime that a station has used, us, at `now`, ns: `tx` to it, including failed attempts, `rx`
/// from it. It may be the sum over many frames. A station that was removed meanwhile is ignored.
///
/// Returns 0 or a negative code (`GQ_ETIME`, `GQ_ESTATION`).
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_wifi_airtime(wifi: *mut Wifi, now: u64, txq: u32, tx: u32, rx: u32) -> i32 {
    with!(wifi, wifi.guard => wifi.airtime(Nanos(now), txq, tx, rx))
}

/// For hardware that does not report airtime: writes the duration of one attempt at a frame of `len` bytes at
/// a rate, us, into `*micros`, computed as in mac80211 (no block ack, no backoff). A transmission is the sum
/// of its attempts.
///
/// Returns 0, `GQ_EVALUE` for a rate that the band or the standard lacks, or the code of a bad pointer.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_wifi_duration(
    wifi: *mut Wifi,
    rate: *const WifiRate,
    len: u32,
    micros: *mut u32,
) -> i32 {
    with!(wifi, wifi.guard => {
        // SAFETY: the contract of the module.
        let time = unsafe { read(rate) }.and_then(|rate| wifi.duration(&rate, len));
        // SAFETY: the contract of the module.
        time.and_then(|time| unsafe { put(micros, time) }).map(|()| 0)
    })
}

/// Like `gq_take_drops`, for a radio.
///
/// Returns the number of packets taken, or a negative code.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_wifi_take_drops(wifi: *mut Wifi, drops: *mut Drop, count: u32) -> i32 {
    with!(wifi, wifi.guard => {
        // SAFETY: the contract of the module.
        unsafe { take_drops(&mut wifi.guard.drops, drops, count) }
    })
}

/// Writes backlog and counters of the radio into `*stats`, whose size field must be set.
///
/// Returns 0, or the code of a bad pointer.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_wifi_stats(wifi: *mut Wifi, stats: *mut WifiStats) -> i32 {
    with!(wifi, wifi.guard => {
        // SAFETY: the contract of the module.
        unsafe { write(stats, wifi.stats()) }.map(|()| 0)
    })
}

/// Writes the state of a station into `*stats`, whose size field must be set.
///
/// Returns 0, `GQ_ESTATION`, or the code of a bad pointer.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_wifi_station_stats(wifi: *mut Wifi, station: u32, stats: *mut WifiStation) -> i32 {
    with!(wifi, wifi.guard => {
        // SAFETY: the contract of the module.
        wifi.station(station).and_then(|value| unsafe { write(stats, value) }).map(|()| 0)
    })
}

/// Writes backlog and counters of a queue into `*stats`, whose size field must be set.
///
/// Returns 0, `GQ_ESTATION`, or the code of a bad pointer.
#[unsafe(no_mangle)]
unsafe extern "C" fn gq_wifi_txq_stats(wifi: *mut Wifi, txq: u32, stats: *mut WifiTxq) -> i32 {
    with!(wifi, wifi.guard => {
        // SAFETY: the contract of the module.
        wifi.txq(txq).and_then(|value| unsafe { write(stats, value) }).map(|()| 0)
    })
}

//! Constants and structs of the C interface for the transmit stack of an 802.11 radio.

use crate::field::config;

/// Access category: voice.
pub(crate) const GQ_VO: u32 = 0;
/// Access category: video.
pub(crate) const GQ_VI: u32 = 1;
/// Access category: best effort.
pub(crate) const GQ_BE: u32 = 2;
/// Access category: background.
pub(crate) const GQ_BK: u32 = 3;

/// Plus the number of an interface: the number of its multicast queue, of category `GQ_BE`. The queue of a
/// station's TID has the number 16 * station + TID.
pub(crate) const GQ_TXQ_MULTICAST: u32 = 2_147_483_648;

/// Result: there is work in `GQ_VO`; run a scheduling round. For the other categories it is shifted left by
/// the category.
pub(crate) const GQ_WORK_VO: i32 = 0x1000;
/// Result: there is work in `GQ_VI`.
pub(crate) const GQ_WORK_VI: i32 = 0x2000;
/// Result: there is work in `GQ_BE`.
pub(crate) const GQ_WORK_BE: i32 = 0x4000;
/// Result: there is work in `GQ_BK`.
pub(crate) const GQ_WORK_BK: i32 = 0x8000;
/// Bits of a result that say in which categories there is work.
pub(crate) const GQ_WORK: i32 = 0xf000;

/// `format`: a rate without MCS.
pub(crate) const GQ_RATE_LEGACY: u32 = 0;
/// `format`: 802.11n.
pub(crate) const GQ_RATE_HT: u32 = 1;
/// `format`: 802.11ac.
pub(crate) const GQ_RATE_VHT: u32 = 2;
/// `format`: 802.11ax, one user.
pub(crate) const GQ_RATE_HE: u32 = 3;

config! {
    /// Storage and parameters of a radio; the parameters are those of goodqueue queues wifi.
    /// `gq_wifi_config_default` fills it. `GQ_DEFAULT` in a parameter means its default. Times are
    /// nanoseconds, rates bits per second.
    pub(crate) struct WifiConfig {
        /// sizeof(struct gq_wifi_config)
        pub(crate) size: u32,
        /// Slots for stations, 1 to 1048576; stations have numbers below that. Default 64.
        pub(crate) stations: u32,
        /// Number of interfaces, each with a multicast queue, 1 to 4096. Default 1.
        pub(crate) interfaces: u32,
        /// Flows of all queues together, 1 to 1048576. Default 4096.
        pub(crate) flows: u32,
        /// Slots for packets, 1 to 4194304; fewer than limit act as the limit. 0: as many as limit.
        pub(crate) packets: u32,
        /// Slots for dropped packets until `gq_wifi_take_drops` takes them, as in `struct gq_config`.
        pub(crate) drop_slots: u32,
        pub(crate) limit: u64,
        /// Linux uses 4194304 without VHT.
        pub(crate) memory_limit: u64,
        pub(crate) quantum: u64,
        pub(crate) target: u64,
        pub(crate) interval: u64,
        pub(crate) ecn: u64,
        pub(crate) slow_rate: u64,
        pub(crate) slow_target: u64,
        pub(crate) slow_interval: u64,
        pub(crate) parity: u64,
        pub(crate) airtime_tx: u64,
        pub(crate) airtime_rx: u64,
        pub(crate) airtime_fairness: u64,
        pub(crate) sparse_stations: u64,
        pub(crate) joint_airtime: u64,
        pub(crate) aql: u64,
        pub(crate) aql_enable: u64,
        pub(crate) aql_threshold: u64,
        pub(crate) aql_limit_low: u64,
        pub(crate) aql_limit_high: u64,
        pub(crate) hz: u64,
        pub(crate) band: u64,
        pub(crate) ath9k_scheduler: u64,
    }
}

/// The rate of a frame.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct WifiRate {
    /// sizeof(struct gq_wifi_rate)
    pub(crate) size: u32,
    /// `GQ_RATE_LEGACY` and so on.
    pub(crate) format: u32,
    /// A legacy rate in units of 100 kbit/s, 10 to 540.
    pub(crate) legacy: u32,
    /// HT: 0 to 31; VHT: 0 to 9; HE: 0 to 11.
    pub(crate) mcs: u32,
    /// Streams of VHT and HE, 1 to 8.
    pub(crate) nss: u32,
    /// Width of HT, VHT and HE, MHz: 20, 40, 80 or 160.
    pub(crate) width: u32,
    /// Guard interval of HT, VHT and HE, ns: 400 or 800; HE 800, 1600 or 3200.
    pub(crate) guard: u32,
    /// 1: short preamble, for legacy rates.
    pub(crate) short_preamble: u32,
}

/// Backlog and counters of a radio. Counters never decrease.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WifiStats {
    /// sizeof(struct gq_wifi_stats)
    pub(crate) size: u32,
    /// Packets queued.
    pub(crate) backlog_packets: u32,
    /// Memory of the packets queued, bytes.
    pub(crate) memory: u64,
    /// Batches dropped because of a limit.
    pub(crate) overlimit: u64,
    /// Those of them that were dropped because of the memory limit.
    pub(crate) overmemory: u64,
    /// Packets whose flow belonged to another queue.
    pub(crate) collisions: u64,
    /// Stations present.
    pub(crate) stations: u32,
    /// Airtime in flight, us.
    pub(crate) aql_total: u32,
    /// The same by category, from `GQ_VO` on.
    pub(crate) aql_by_ac: [u32; 4],
    /// Dropped packets that wait in `gq_wifi_take_drops`.
    pub(crate) drops_waiting: u64,
    /// Handles of dropped packets lost because `drop_slots` was below `GQ_DROPS_ALL`.
    pub(crate) drops_lost: u64,
    /// Calls on this radio that returned a negative code.
    pub(crate) errors: u64,
}

/// One station. Arrays are indexed by category, from `GQ_VO` on.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WifiStation {
    /// sizeof(struct gq_wifi_station)
    pub(crate) size: u32,
    /// The interface that it belongs to.
    pub(crate) interface: u32,
    /// Airtime weight, us a round.
    pub(crate) weight: u32,
    /// 1: CoDel uses the parameters of slow stations for it.
    pub(crate) is_slow: u32,
    /// CoDel's target for it, ns.
    pub(crate) target: u64,
    /// CoDel's interval for it, ns.
    pub(crate) interval: u64,
    /// Airtime to the station, us.
    pub(crate) tx_airtime: [u64; 4],
    /// Airtime from the station, us.
    pub(crate) rx_airtime: [u64; 4],
    /// Deficit: airtime that it may still use before others get their turn, us.
    pub(crate) deficit: [i32; 4],
    /// Estimated airtime of packets in flight, us.
    pub(crate) pending: [u32; 4],
    /// AQL: airtime in flight that is always allowed, us.
    pub(crate) aql_limit_low: [u32; 4],
    /// AQL: airtime in flight that is allowed while the radio's total is below its threshold, us.
    pub(crate) aql_limit_high: [u32; 4],
}

/// One queue.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WifiTxq {
    /// sizeof(struct gq_wifi_txq)
    pub(crate) size: u32,
    /// Bytes queued.
    pub(crate) backlog_bytes: u32,
    /// Packets queued.
    pub(crate) backlog_packets: u32,
    /// Number of times that a flow became active in the queue.
    pub(crate) flows: u32,
    /// Bytes delivered.
    pub(crate) tx_bytes: u64,
    /// Packets delivered.
    pub(crate) tx_packets: u64,
    /// Packets dropped because a limit of the radio was exceeded.
    pub(crate) overlimit_drops: u64,
    /// Packets dropped by CoDel.
    pub(crate) codel_drops: u64,
    /// Packets marked by CoDel.
    pub(crate) ecn_marks: u64,
    /// Packets whose flow belonged to another queue.
    pub(crate) collisions: u32,
    /// 0
    pub(crate) reserved: u32,
}

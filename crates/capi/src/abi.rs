//! What crosses the border: constants and structs. The header takes them, and their comments, from here.

pub(crate) mod wifi;

use core::ffi::c_char;
use core::mem::MaybeUninit;

/// Version of the ABI, which `gq_abi_version` returns too. It changes where a program must be compiled
/// again; functions and fields that are only added do not change it.
pub(crate) const GQ_ABI_VERSION: u32 = 1;

/// Alignment of the memory for a queue, bytes: a cache line.
pub(crate) const GQ_ALIGN: u32 = 64;
/// Longest packet, bytes.
pub(crate) const GQ_MAX_LEN: u32 = 1_048_576;
/// A parameter of `struct gq_config` that is not given: its default holds.
pub(crate) const GQ_DEFAULT: u64 = u64::MAX;
/// `drop_slots` of `struct gq_config`: as many as can be dropped by one call.
pub(crate) const GQ_DROPS_ALL: u32 = u32::MAX;
/// `in_ring` of the BQL functions where the driver does not know how many packets its ring holds.
pub(crate) const GQ_UNKNOWN: u32 = u32::MAX;

/// `kind`: first in, first out, limited in packets. Parameter: limit.
pub(crate) const GQ_PFIFO: u32 = 1;
/// `kind`: first in, first out, limited in bytes. Parameter: limit (must be given).
pub(crate) const GQ_BFIFO: u32 = 2;
/// `kind`: first in, first out, as deep as the link sends in `time` at `link_rate`, both to be given.
pub(crate) const GQ_FIFO: u32 = 3;
/// `kind`: one queue under CoDel (RFC 8289). Parameters: limit, target, interval, ecn, `ce_threshold`, parity.
pub(crate) const GQ_CODEL: u32 = 4;
/// `kind`: FQ-CoDel (RFC 8290). Parameters: those of codel, and flows, quantum, `memory_limit`, `drop_batch`,
/// `ce_threshold_selector`, `ce_threshold_mask`.
pub(crate) const GQ_FQ_CODEL: u32 = 5;
/// `kind`: a token bucket over bfifo. Parameters: rate, burst, limit (all three to be given), peakrate,
/// minburst, mpu, overhead, linklayer.
pub(crate) const GQ_TBF: u32 = 6;

/// Bits of a result that hold why this very packet was dropped; 0: it is queued.
pub(crate) const GQ_REASON: i32 = 0xff;
/// Reason: the limit of the queue in packets or bytes.
pub(crate) const GQ_REASON_LIMIT: i32 = 1;
/// Reason: the limit of the queue in memory.
pub(crate) const GQ_REASON_MEMORY: i32 = 2;
/// Reason: the control law of CoDel (RFC 8289 section 4.1).
pub(crate) const GQ_REASON_CODEL: i32 = 3;
/// Reason: longer than the token bucket is deep.
pub(crate) const GQ_REASON_TOOBIG: i32 = 4;
/// Reason: removed because a parameter was changed.
pub(crate) const GQ_REASON_CHANGE: i32 = 5;
/// Reason: removed because the queue was reset.
pub(crate) const GQ_REASON_RESET: i32 = 6;
/// Reason: removed with the station that it was for, or there was no such station or interface.
pub(crate) const GQ_REASON_FLUSH: i32 = 7;
/// Reason: one that this version of the header has no name for.
pub(crate) const GQ_REASON_OTHER: i32 = 255;

/// Result of `gq_dequeue` and `gq_wifi_dequeue`: a packet was delivered.
pub(crate) const GQ_PACKET: i32 = 0x100;
/// Result: dropped packets wait in `gq_take_drops` or `gq_wifi_take_drops`.
pub(crate) const GQ_DROPS: i32 = 0x200;
/// Result: full now. Another packet of `mtu` bytes would bring the queue above `full` bytes.
pub(crate) const GQ_FULL: i32 = 0x400;
/// Result of `gq_dequeue` and `gq_wifi_dequeue`: the packet was given CE, or had it and would have been given it; where the
/// dsfield in the frame differs, write it there and mend the IPv4 checksum.
pub(crate) const GQ_MARKED: i32 = 0x800;

/// Result of `gq_bql_sent`: stop the queue above the ring.
pub(crate) const GQ_STOP: i32 = 1;
/// Result of `gq_bql_completed`: the ring takes packets; start the queue above it if it was stopped.
pub(crate) const GQ_WAKE: i32 = 1;

/// A packet as a queue sees it. The frame stays with the caller.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// sizeof(struct gq_packet)
    pub(crate) size: u32,
    /// Bytes with the layer-2 header, without FCS, preamble and gap: 1 to `GQ_MAX_LEN`.
    pub(crate) len: u32,
    /// Bytes of memory that the packet takes: at least len.
    pub(crate) truesize: u32,
    /// The same for all packets of a flow, spread over 32 bits: see `gq_flow_hash`. Only fair queues read it.
    pub(crate) flow_hash: u32,
    /// The caller's own handle on the frame, passed on unread.
    pub(crate) cookie: u64,
    /// The DS byte: DSCP in the high six bits, ECN in the low two.
    pub(crate) dsfield: u8,
    /// 0
    pub(crate) reserved: [u8; 7],
}

/// A dropped packet. The frame is the caller's to free.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drop {
    /// sizeof(struct gq_drop)
    pub(crate) size: u32,
    /// `GQ_REASON_LIMIT` and so on.
    pub(crate) reason: i32,
    /// The packet's cookie.
    pub(crate) cookie: u64,
    /// The packet's length, bytes.
    pub(crate) len: u32,
    /// 0
    pub(crate) reserved: u32,
}

/// Which queue, and its parameters. `gq_config_default` or `gq_config_parse` fills it; then change what
/// is to be other. `GQ_DEFAULT` in a parameter is its default, and must stay in the parameters that the
/// kind of queue does not have. Times are nanoseconds, rates bits per second.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Config {
    /// sizeof(struct gq_config)
    pub(crate) size: u32,
    /// `GQ_PFIFO` and so on.
    pub(crate) kind: u32,
    /// Longest packet of the link with its layer-2 header, bytes: 1 to `GQ_MAX_LEN`. Default 1514.
    pub(crate) mtu: u32,
    /// Places for packets, at most 4194305. 0: what the limit needs; for a limit in bytes what packets of
    /// 40 bytes need; `fq_codel` needs one more than its limit. Fewer are a second limit.
    pub(crate) slots: u32,
    /// Places for dropped packets until `gq_take_drops` takes them. `GQ_DROPS_ALL`: one for each place and
    /// one more, so that no handle is ever lost. 0: drops are counted and their handles forgotten.
    pub(crate) drop_slots: u32,
    /// 0
    pub(crate) reserved: u32,
    /// Bytes queued above which `GQ_FULL` is signalled, one packet of `mtu` ahead. Default: never.
    pub(crate) full: u64,
    /// Rate of the link, for `GQ_FIFO` alone.
    pub(crate) link_rate: u64,
    /// Most packets queued, 1 to 4194304 (pfifo, codel: 1000; `fq_codel`: 10240); bfifo, tbf: most bytes, 1 to
    /// 4294967295.
    pub(crate) limit: u64,
    /// Depth, 1000 to 3600000000000 ns.
    pub(crate) time: u64,
    /// Buckets, 1 to 65536. Default 1024. 64 bytes each.
    pub(crate) flows: u64,
    /// Acceptable standing sojourn time, from 2000 ns. Default 5000000.
    pub(crate) target: u64,
    /// Time above target before the first drop, from 2000 ns. Default 100000000.
    pub(crate) interval: u64,
    /// Bytes a bucket may send in one turn, 256 to 1048576. Default: mtu.
    pub(crate) quantum: u64,
    /// 1: mark ECN-capable packets instead of dropping them. Default 0 (codel), 1 (`fq_codel`).
    pub(crate) ecn: u64,
    /// Most memory of the packets queued, bytes (sum of truesize). Default 33554432.
    pub(crate) memory_limit: u64,
    /// Most packets that one overflow drops. Default 64.
    pub(crate) drop_batch: u64,
    /// Sojourn time above which every ECN-capable packet is marked, ns. Default: none.
    pub(crate) ce_threshold: u64,
    /// DS byte under the mask that `ce_threshold` is for, 0 to 255. Default 0.
    pub(crate) ce_threshold_selector: u64,
    /// Bits of the DS byte compared, 0 to 255. Default 0: every packet.
    pub(crate) ce_threshold_mask: u64,
    /// Corner cases: 0 as RFC 8289 means them, 1 as Linux 6.1.192, 2 as Linux before its repair of
    /// March 2026. Default 0.
    pub(crate) parity: u64,
    /// Rate of the bucket, at least 8 bit/s.
    pub(crate) rate: u64,
    /// Depth of the bucket, bytes; longer packets are dropped.
    pub(crate) burst: u64,
    /// Rate that not even a burst exceeds. Default: none.
    pub(crate) peakrate: u64,
    /// Depth of the bucket of the peak rate, bytes. Default: mtu.
    pub(crate) minburst: u64,
    /// Least length that a packet counts for, 0 to 65535 bytes. Default 0.
    pub(crate) mpu: u64,
    /// Bytes added to every packet, 0 to 65535. Default 0.
    pub(crate) overhead: u64,
    /// Framing: 0 as it is, 1 ATM cells of 53 bytes for 48. Default 0.
    pub(crate) linklayer: u64,
}

/// What a queue holds and has done. Counters never go back.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stats {
    /// sizeof(struct gq_stats)
    pub(crate) size: u32,
    /// Packets queued.
    pub(crate) backlog_packets: u32,
    /// Bytes queued.
    pub(crate) backlog_bytes: u64,
    /// Packets delivered.
    pub(crate) packets: u64,
    /// Bytes delivered.
    pub(crate) bytes: u64,
    /// Packets dropped, as Linux counts them: without those of a reset.
    pub(crate) drops: u64,
    /// Packets given CE.
    pub(crate) marks: u64,
    /// Times that a packet waited for tokens (tbf).
    pub(crate) overlimits: u64,
    /// Dropped packets that wait in `gq_take_drops`.
    pub(crate) drops_waiting: u64,
    /// Handles of dropped packets lost because `drop_slots` was below `GQ_DROPS_ALL`.
    pub(crate) drops_lost: u64,
    /// Calls on this queue that were answered with a negative code.
    pub(crate) errors: u64,
}

/// A counter with its name in the words of tc -s qdisc.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counter {
    /// sizeof(struct gq_counter)
    pub(crate) size: u32,
    /// 0
    pub(crate) reserved: u32,
    /// Its value.
    pub(crate) value: u64,
    /// Its name, ended by 0.
    pub(crate) name: [c_char; 32],
}

/// What tells one flow from another.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow {
    /// sizeof(struct gq_flow)
    pub(crate) size: u32,
    /// IP version: 4 or 6.
    pub(crate) version: u8,
    /// IP protocol number: 6 for TCP, 17 for UDP.
    pub(crate) protocol: u8,
    /// Source port in host byte order; 0 where the protocol has none.
    pub(crate) source_port: u16,
    /// Destination port.
    pub(crate) destination_port: u16,
    /// 0
    pub(crate) reserved: [u8; 6],
    /// Source address as on the wire; version 4 uses the first four bytes.
    pub(crate) source: [u8; 16],
    /// Destination address.
    pub(crate) destination: [u8; 16],
}

/// Parameters of byte queue limits; `gq_bql_config_default` fills it with Linux's.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct BqlConfig {
    /// sizeof(struct gq_bql_config)
    pub(crate) size: u32,
    /// Descriptors of the ring: more packets than that cannot be in flight. 0: not known.
    pub(crate) ring: u32,
    /// Smallest limit, bytes. Default 0.
    pub(crate) min_limit: u32,
    /// Largest limit, bytes. Default 1879048192.
    pub(crate) max_limit: u32,
    /// Clock ticks per second, 1 to 1000000000: the grain of `hold_time`. Default 1000.
    pub(crate) hz: u32,
    /// 0
    pub(crate) reserved: u32,
    /// How long slack is watched before the limit shrinks, ns. Default 1000000000.
    pub(crate) hold_time: u64,
}

/// Byte queue limits of one transmit ring: memory for `gq_bql_init`, to be put into the driver's own
/// struct of the ring. Its contents are the library's.
#[repr(C)]
pub(crate) struct Bql {
    /// The library's.
    pub(crate) opaque: [MaybeUninit<u64>; 48],
}

/// What a limit is and has seen.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BqlState {
    /// sizeof(struct gq_bql_state)
    pub(crate) size: u32,
    /// The limit, bytes in flight.
    pub(crate) limit: u32,
    /// Bytes in flight.
    pub(crate) inflight: u32,
    /// Packets in flight.
    pub(crate) inflight_packets: u32,
    /// Bytes that may still be sent; below 0: stopped.
    pub(crate) avail: i32,
    /// 0
    pub(crate) reserved: u32,
    /// Times `GQ_EOVER` was found: more completed than sent.
    pub(crate) over: u64,
    /// Times `GQ_EMISMATCH` was found: bytes completed are not the bytes sent.
    pub(crate) mismatches: u64,
    /// Times `GQ_ERING` was found: a reset, a completion or a sent packet was not reported.
    pub(crate) missed: u64,
    /// All calls on this ring that were answered with a negative code, those above among them.
    pub(crate) errors: u64,
}

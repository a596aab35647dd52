//! Constants and structs of the C interface. The header takes them, with their comments, from here.

pub(crate) mod wifi;

use core::ffi::c_char;
use core::mem::MaybeUninit;

use crate::field::config;

/// Version of the ABI, which `gq_abi_version` returns too. It changes if programs must be recompiled;
/// additional functions and fields do not change it.
pub(crate) const GQ_ABI_VERSION: u32 = 1;

/// Alignment of the memory for a queue, bytes: a cache line.
pub(crate) const GQ_ALIGN: u32 = 64;
/// Longest packet, bytes.
pub(crate) const GQ_MAX_LEN: u32 = 1_048_576;
/// A parameter of `struct gq_config` that is not given: its default applies.
pub(crate) const GQ_DEFAULT: u64 = u64::MAX;
/// `drop_slots` of `struct gq_config`: as many as one call can drop.
pub(crate) const GQ_DROPS_ALL: u32 = u32::MAX;
/// `in_ring` of the BQL functions if the driver does not know how many packets its ring holds.
pub(crate) const GQ_UNKNOWN: u32 = u32::MAX;

// The header lists the parameters of each kind from the catalogue.

/// `kind`: first in, first out, limited in packets.
pub(crate) const GQ_PFIFO: u32 = 1;
/// `kind`: first in, first out, limited in bytes.
pub(crate) const GQ_BFIFO: u32 = 2;
/// `kind`: first in, first out, with room for what the link sends in `time` at `link_rate`, which must be
/// given, too.
pub(crate) const GQ_FIFO: u32 = 3;
/// `kind`: one queue under CoDel (RFC 8289).
pub(crate) const GQ_CODEL: u32 = 4;
/// `kind`: FQ-CoDel (RFC 8290).
pub(crate) const GQ_FQ_CODEL: u32 = 5;
/// `kind`: a token bucket over bfifo.
pub(crate) const GQ_TBF: u32 = 6;

/// `kind`: CAKE: fair queueing among hosts and flows, COBALT in each, tins for classes of traffic, a shaper.
pub(crate) const GQ_CAKE: u32 = 7;

/// `kind`: one queue under PIE (RFC 8033).
pub(crate) const GQ_PIE: u32 = 8;
/// `kind`: fair queueing with PIE in every bucket.
pub(crate) const GQ_FQ_PIE: u32 = 9;
/// `kind`: two queues with one controller, one of them for L4S (RFC 9332).
pub(crate) const GQ_DUALPI2: u32 = 10;
/// `kind`: stochastic fair queueing. It cannot be reconfigured after set-up.
pub(crate) const GQ_SFQ: u32 = 11;
/// `kind`: a queue for each flow, paced by the rates and times of local sockets: the fields socket to
/// `pacing_rate` of `struct gq_packet`.
pub(crate) const GQ_FQ: u32 = 12;
/// `kind`: random early detection.
pub(crate) const GQ_RED: u32 = 13;
/// `kind`: a timing wheel: packets leave at the time `departure` of `struct gq_packet`.
pub(crate) const GQ_WHEEL: u32 = 14;
/// `kind`: three FIFOs, each with this limit, selected by the DS byte; the first nonempty one sends. It
/// cannot be reconfigured after set-up.
pub(crate) const GQ_PFIFO_FAST: u32 = 15;
/// `kind`: bands, selected by the DS byte; the first nonempty one sends. Each band has a queue: a pfifo of
/// 1000 packets, unless `gq_config_set_leaf` sets another. It cannot be reconfigured after set-up.
pub(crate) const GQ_PRIO: u32 = 16;
/// `kind`: classes served in turn. Each class has a queue, as in `GQ_PRIO`. It cannot be reconfigured after
/// set-up.
pub(crate) const GQ_DRR: u32 = 17;
/// `kind`: shapes to a rate, as sqm-scripts do. Each class has a queue: an `fq_codel`, unless
/// `gq_config_set_leaf` sets another. It cannot be reconfigured after set-up.
pub(crate) const GQ_HTB: u32 = 18;

/// Most segments of a super-packet.
pub(crate) const GQ_MAX_SEGMENTS: u32 = 256;
/// `link_header` of a packet without a link header.
pub(crate) const GQ_NO_LINK_HEADER: u32 = 65_535;

/// `classified`: `class_id` replaces the hashes: its low 16 bits the hash of the flow, its high 16 bits those
/// of the hosts.
pub(crate) const GQ_CLASS: u32 = 1;
/// `classified`: the packet must be dropped.
pub(crate) const GQ_SHOT: u32 = 2;
/// `classified`: a classifier took the packet; it comes back as dropped but does not count as a drop.
pub(crate) const GQ_STOLEN: u32 = 3;

/// Bits of a result with the reason why this packet itself was dropped; 0: it is queued.
pub(crate) const GQ_REASON: i32 = 0xff;
/// Reason: the limit of the queue in packets or bytes.
pub(crate) const GQ_REASON_LIMIT: i32 = 1;
/// Reason: the limit of the queue in memory.
pub(crate) const GQ_REASON_MEMORY: i32 = 2;
/// Reason: the control law of CoDel (RFC 8289 section 4.1).
pub(crate) const GQ_REASON_CODEL: i32 = 3;
/// Reason: the packet is longer than the token bucket's depth.
pub(crate) const GQ_REASON_TOOBIG: i32 = 4;
/// Reason: removed because a parameter was changed.
pub(crate) const GQ_REASON_CHANGE: i32 = 5;
/// Reason: removed because the queue was reset.
pub(crate) const GQ_REASON_RESET: i32 = 6;
/// Reason: removed with its station, or there was no such station or interface.
pub(crate) const GQ_REASON_FLUSH: i32 = 7;
/// Reason: BLUE in CAKE: the queue stays too long despite the control law.
pub(crate) const GQ_REASON_BLUE: i32 = 8;
/// Reason: an acknowledgement that a later one made redundant (`ack_filter` of CAKE).
pub(crate) const GQ_REASON_ACK: i32 = 9;
/// Reason: `GQ_SHOT` or `GQ_STOLEN`.
pub(crate) const GQ_REASON_FILTER: i32 = 10;
/// Reason: the drop probability of PIE (RFC 8033 section 4.1).
pub(crate) const GQ_REASON_PIE: i32 = 11;
/// Reason: the coupled drop probability of dualpi2 (RFC 9332 section 2.4).
pub(crate) const GQ_REASON_PI2: i32 = 12;
/// Reason: random early detection, in red or in a flow of sfq.
pub(crate) const GQ_REASON_RED: i32 = 13;
/// Reason: no room for its flow after sfq changed its hash.
pub(crate) const GQ_REASON_REHASH: i32 = 14;
/// Reason: the limit of one flow of fq.
pub(crate) const GQ_REASON_FLOW_LIMIT: i32 = 15;
/// Reason: its departure time is too far in the future.
pub(crate) const GQ_REASON_HORIZON: i32 = 16;
/// Reason: one without a name in this version of the header.
pub(crate) const GQ_REASON_OTHER: i32 = 255;

/// Result of `gq_dequeue` and `gq_wifi_dequeue`: a packet was delivered.
pub(crate) const GQ_PACKET: i32 = 0x100;
/// Result: dropped packets wait in `gq_take_drops` or `gq_wifi_take_drops`.
pub(crate) const GQ_DROPS: i32 = 0x200;
/// Result: full now. Another packet of `mtu` bytes would bring the queue above `full` bytes.
pub(crate) const GQ_FULL: i32 = 0x400;
/// Result of `gq_dequeue` and `gq_wifi_dequeue`: the packet was marked CE, or it had CE already and would
/// have been marked. Result of `gq_enqueue`: the same for this packet or another queued packet (pie,
/// `fq_pie`, dualpi2, red, sfq, and classes with them). If the dsfield of a delivered packet differs from
/// that of its frame, write it into the frame and update the IPv4 checksum.
pub(crate) const GQ_MARKED: i32 = 0x800;

/// Result of `gq_bql_sent`: stop the queue above the ring.
pub(crate) const GQ_STOP: i32 = 1;
/// Result of `gq_bql_completed`: the ring accepts packets; start the queue above it if it was stopped.
pub(crate) const GQ_WAKE: i32 = 1;

/// The beginning of [`Packet`], which was its first version: the fields that every queue reads and that a
/// delivery fills. In the header they are fields of the packet.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// sizeof(struct gq_packet)
    pub(crate) size: u32,
    /// Length in bytes with the layer-2 header, without FCS, preamble and gap: 1 to `GQ_MAX_LEN`.
    pub(crate) len: u32,
    /// Memory of the packet, bytes: at least len.
    pub(crate) truesize: u32,
    /// A hash of the flow with 32 bits: see `gq_flow_hash`. Only fair queues read it.
    pub(crate) flow_hash: u32,
    /// The caller's handle for the frame, returned unchanged.
    pub(crate) cookie: u64,
    /// The DS byte: DSCP in the high six bits, ECN in the low two.
    pub(crate) dsfield: u8,
    /// A classifier's result: `GQ_CLASS`, `GQ_SHOT`, `GQ_STOLEN`; 0: none.
    pub(crate) classified: u8,
    /// The number of segments of a super-packet, 2 to `GQ_MAX_SEGMENTS`; 0 and 1: an ordinary packet.
    pub(crate) gso_segments: u16,
    /// From `gq_dequeue`: the number of the segment, from 0, if a super-packet was cut.
    pub(crate) segment: u16,
    /// Bytes before the network header that len includes; 0: 14, as for Ethernet; or `GQ_NO_LINK_HEADER`.
    pub(crate) link_header: u16,
}

/// A packet as a queue sees it. The frame stays with the caller. The fields after dsfield are for `GQ_CAKE`;
/// `GQ_DUALPI2` and `GQ_TBF` read those of a super-packet, `GQ_FQ` and `GQ_WHEEL` read priority and the
/// fields from socket on. Set unknown fields to 0. Classes read what their queues read. `gq_dequeue` fills
/// the fields up to `link_header` and leaves the others unchanged.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) head: Head,
    /// Hash of the source address; 0 if there is none.
    pub(crate) source_hash: u32,
    /// Hash of the destination address; 0 if there is none.
    pub(crate) destination_hash: u32,
    /// Firewall mark, for fwmark.
    pub(crate) mark: u32,
    /// Priority (Linux: skb->priority). If its high half is 0x8001, the low half is the tin, from 1.
    pub(crate) priority: u32,
    /// For `GQ_CLASS`.
    pub(crate) class_id: u32,
    /// For a super-packet: payload of every segment but the last, bytes.
    pub(crate) gso_size: u32,
    /// For a super-packet: headers of a segment, bytes; len includes them once for each segment.
    pub(crate) gso_headers: u16,
    /// 1: ARP, which goes into the highest class.
    pub(crate) is_arp: u8,
    /// 0
    pub(crate) reserved: [u8; 5],
    /// The number of the local socket that sent it, below 2^63; 0: another host sent it, or a listening
    /// socket.
    pub(crate) socket: u64,
    /// The earliest departure time, ns (Linux: skb->tstamp); 0: at once.
    pub(crate) departure: u64,
    /// The pacing rate of its socket, bytes per second (Linux: `sk_pacing_rate`); 0: unlimited.
    pub(crate) pacing_rate: u64,
    /// A hash of the socket's connection (Linux: `sk_hash`), which distinguishes connections with the same
    /// socket number.
    pub(crate) socket_hash: u32,
    /// 1: the socket is connected. For others `flow_hash` distinguishes the flows.
    pub(crate) is_connected: u8,
    /// 0
    pub(crate) more: [u8; 3],
}

/// The TCP header of a packet, for `ack_filter` of `GQ_CAKE`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tcp {
    /// sizeof(struct gq_tcp)
    pub(crate) size: u32,
    /// Acknowledgement number.
    pub(crate) ack: u32,
    /// Equal for two packets if and only if they belong to one connection in one direction: addresses, ports
    /// and IP version.
    pub(crate) connection: u64,
    /// Bytes of payload.
    pub(crate) payload: u32,
    /// The flags, FIN 1 to CWR 128, and the four bits above them, as in bytes 13 and 14 of the header.
    pub(crate) flags: u16,
    /// Bytes of options with their padding, 0 to 40.
    pub(crate) options_len: u8,
    /// 0
    pub(crate) reserved: u8,
    /// The options.
    pub(crate) options: [u8; 40],
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
    /// The number of the segment, from 0, if a super-packet was cut.
    pub(crate) segment: u32,
}

config! {
    /// A queue and its parameters. `gq_config_default` or `gq_config_parse` fills it; then change individual
    /// fields. `GQ_DEFAULT` in a parameter means its default. It must stay in the parameters that this kind
    /// of queue does not have. Times are nanoseconds, rates bits per second.
    pub(crate) struct Config {
        /// sizeof(struct gq_config)
        pub(crate) size: u32,
        /// `GQ_PFIFO` and so on.
        pub(crate) kind: u32,
        /// Longest packet of the link with its layer-2 header, bytes: 1 to `GQ_MAX_LEN`. Default 1514.
        pub(crate) mtu: u32,
        /// Slots for packets, at most 4194305; for queues of classes, in each class. 0: as many as the limit
        /// needs; a limit in bytes counts packets of 40 bytes; `fq_codel` and sfq need one more than their
        /// limit. Fewer slots act as a second limit.
        pub(crate) slots: u32,
        /// Slots for dropped packets until `gq_take_drops` takes them. `GQ_DROPS_ALL`: one more than slots
        /// for packets, so that no handle is ever lost. 0: drops are counted, but their handles are lost.
        pub(crate) drop_slots: u32,
        /// 0
        pub(crate) reserved: u32,
        /// Backlog in bytes above which `GQ_FULL` is signalled, one packet of `mtu` in advance. Default:
        /// never.
        pub(crate) full: u64,
        /// Rate of the link, for `GQ_FIFO` only.
        pub(crate) link_rate: u64,
        pub(crate) limit: u64,
        pub(crate) time: u64,
        /// Memory: 64 bytes for each flow; in cake 88 bytes in every tin that diffserv uses, plus 64.
        pub(crate) flows: u64,
        pub(crate) target: u64,
        pub(crate) interval: u64,
        pub(crate) quantum: u64,
        pub(crate) ecn: u64,
        pub(crate) memory_limit: u64,
        pub(crate) drop_batch: u64,
        pub(crate) ce_threshold: u64,
        pub(crate) ce_threshold_selector: u64,
        pub(crate) ce_threshold_mask: u64,
        pub(crate) parity: u64,
        pub(crate) rate: u64,
        pub(crate) burst: u64,
        pub(crate) peakrate: u64,
        pub(crate) minburst: u64,
        pub(crate) mpu: u64,
        pub(crate) overhead: u64,
        pub(crate) linklayer: u64,
        pub(crate) bandwidth: u64,
        /// It cannot be changed to a mode with more tins than at set-up.
        pub(crate) diffserv: u64,
        pub(crate) isolation: u64,
        pub(crate) rtt: u64,
        pub(crate) link: u64,
        pub(crate) ether_vlan: u64,
        pub(crate) atm: u64,
        pub(crate) ingress: u64,
        pub(crate) autorate_ingress: u64,
        /// If on, each slot takes 72 bytes more. It can be switched on later only if it was on at set-up. See
        /// `gq_enqueue_tcp`.
        pub(crate) ack_filter: u64,
        pub(crate) split_gso: u64,
        pub(crate) wash: u64,
        pub(crate) nat: u64,
        pub(crate) memlimit: u64,
        pub(crate) fwmark: u64,
        /// Seed of the random numbers (cake, pie, `fq_pie`, dualpi2, sfq, red). `GQ_DEFAULT` is a seed too.
        pub(crate) seed: u64,
        pub(crate) tupdate: u64,
        pub(crate) alpha: u64,
        pub(crate) beta: u64,
        pub(crate) bytemode: u64,
        pub(crate) dq_rate_estimator: u64,
        pub(crate) hz: u64,
        pub(crate) ecn_prob: u64,
        pub(crate) coupling_factor: u64,
        pub(crate) step_thresh: u64,
        pub(crate) range: u64,
        pub(crate) min_qlen_step: u64,
        pub(crate) drop_overload: u64,
        pub(crate) drop_early: u64,
        pub(crate) ecn_mask: u64,
        pub(crate) c_protection: u64,
        pub(crate) max_rtt: u64,
        pub(crate) typical_rtt: u64,
        pub(crate) depth: u64,
        pub(crate) divisor: u64,
        pub(crate) perturb: u64,
        pub(crate) headdrop: u64,
        pub(crate) min: u64,
        pub(crate) max: u64,
        pub(crate) wlog: u64,
        pub(crate) probability: u64,
        pub(crate) harddrop: u64,
        pub(crate) flow_limit: u64,
        pub(crate) buckets: u64,
        pub(crate) initial_quantum: u64,
        pub(crate) pacing: u64,
        pub(crate) maxrate: u64,
        pub(crate) low_rate_threshold: u64,
        pub(crate) refill_delay: u64,
        pub(crate) orphan_mask: u64,
        /// wheel: each granularity within it takes 8 bytes. It cannot be changed after set-up.
        pub(crate) horizon: u64,
        pub(crate) horizon_drop: u64,
        /// It cannot be changed after set-up.
        pub(crate) granularity: u64,
        pub(crate) avpkt: u64,
        pub(crate) nodrop: u64,
        pub(crate) adaptive: u64,
        pub(crate) bands: u64,
        pub(crate) priomap: u64,
        pub(crate) classes: u64,
        pub(crate) by: u64,
        pub(crate) weights: u64,
        pub(crate) sqm: u64,
        /// The queue of each class of prio, drr and htb. Private: `gq_config_set_leaf` and `gq_config_parse`
        /// write it.
        pub(crate) leaf: [u64; 20],
        /// dualpi2: marks all packets while the L queue holds more packets than this, instead of
        /// `step_thresh`. Default: none.
        pub(crate) step_thresh_pkts: u64,
    }
}

/// Backlog and counters of a queue. Counters never decrease.
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
    /// Packets dropped, as in Linux without those of a reset.
    pub(crate) drops: u64,
    /// Packets marked CE.
    pub(crate) marks: u64,
    /// Number of times that a packet waited for tokens (tbf).
    pub(crate) overlimits: u64,
    /// Dropped packets that wait in `gq_take_drops`.
    pub(crate) drops_waiting: u64,
    /// Handles of dropped packets lost because `drop_slots` was below `GQ_DROPS_ALL`.
    pub(crate) drops_lost: u64,
    /// Calls on this queue that returned a negative code.
    pub(crate) errors: u64,
}

/// A counter with its name as in tc -s qdisc.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counter {
    /// sizeof(struct gq_counter)
    pub(crate) size: u32,
    /// 0
    pub(crate) reserved: u32,
    /// Its value.
    pub(crate) value: u64,
    /// Its name, NUL-terminated.
    pub(crate) name: [c_char; 32],
}

/// The 5-tuple of a flow.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow {
    /// sizeof(struct gq_flow)
    pub(crate) size: u32,
    /// IP version: 4 or 6.
    pub(crate) version: u8,
    /// IP protocol number: 6 for TCP, 17 for UDP.
    pub(crate) protocol: u8,
    /// Source port in host byte order; 0 if the protocol has none.
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

/// Parameters of byte queue limits; `gq_bql_config_default` fills it with Linux's defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct BqlConfig {
    /// sizeof(struct gq_bql_config)
    pub(crate) size: u32,
    /// Number of descriptors of the ring, the most packets in flight. 0: unknown.
    pub(crate) ring: u32,
    /// Smallest limit, bytes. Default 0.
    pub(crate) min_limit: u32,
    /// Largest limit, bytes. Default 1879048192.
    pub(crate) max_limit: u32,
    /// Clock ticks per second, 1 to 1000000000: the resolution of `hold_time`. Default 1000.
    pub(crate) hz: u32,
    /// 0
    pub(crate) reserved: u32,
    /// How long slack is observed before the limit shrinks, ns. Default 1000000000.
    pub(crate) hold_time: u64,
}

/// Byte queue limits of one transmit ring: memory for `gq_bql_init`. Put it into the driver's own struct of
/// the ring. Its contents are private.
#[repr(C)]
pub(crate) struct Bql {
    /// Private.
    pub(crate) opaque: [MaybeUninit<u64>; 48],
}

/// The state of a limit.
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
    /// Bytes that may still be sent; negative: stopped.
    pub(crate) avail: i32,
    /// 0
    pub(crate) reserved: u32,
    /// Number of `GQ_EOVER` errors: more completed than sent.
    pub(crate) over: u64,
    /// Number of `GQ_EMISMATCH` errors: bytes completed are not the bytes sent.
    pub(crate) mismatches: u64,
    /// Number of `GQ_ERING` errors: a reset, a completion or a sent packet was not reported.
    pub(crate) missed: u64,
    /// All calls on this ring that returned a negative code, including those above.
    pub(crate) errors: u64,
}

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

/// `kind`: CAKE: fair queueing among hosts and flows, COBALT in each, tins for classes of traffic, a shaper. Parameters:
/// bandwidth, diffserv, isolation, rtt, link, overhead, `ether_vlan`, mpu, atm, ingress, `autorate_ingress`, `ack_filter`,
/// `split_gso`, wash, nat, memlimit, fwmark, flows.
pub(crate) const GQ_CAKE: u32 = 7;

/// How 0 is written where a value may be negative: overhead of `GQ_CAKE`.
pub(crate) const GQ_SIGNED_ZERO: u64 = 4_294_967_296;

/// Most segments of a super-packet.
pub(crate) const GQ_MAX_SEGMENTS: u32 = 256;
/// `link_header` of a packet that has none.
pub(crate) const GQ_NO_LINK_HEADER: u32 = 65_535;

/// `classified`: `class_id` replaces the hashes: its low 16 bits that of the flow, its high ones those of the hosts.
pub(crate) const GQ_CLASS: u32 = 1;
/// `classified`: the packet is to be dropped.
pub(crate) const GQ_SHOT: u32 = 2;
/// `classified`: a classifier took the packet; it comes back as dropped and counts as no drop.
pub(crate) const GQ_STOLEN: u32 = 3;

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
/// Reason: BLUE in CAKE: the queue stays too long in spite of the control law.
pub(crate) const GQ_REASON_BLUE: i32 = 8;
/// Reason: an acknowledgement that a later one made superfluous (`ack_filter` of CAKE).
pub(crate) const GQ_REASON_ACK: i32 = 9;
/// Reason: `GQ_SHOT` or `GQ_STOLEN`.
pub(crate) const GQ_REASON_FILTER: i32 = 10;
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

/// The beginning of [`Packet`], its first version: what every queue reads, and what a delivery fills. In the header its
/// fields are the packet's.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
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
    /// What a classifier said: `GQ_CLASS`, `GQ_SHOT`, `GQ_STOLEN`; 0: nothing.
    pub(crate) classified: u8,
    /// A super-packet: its segments, 2 to `GQ_MAX_SEGMENTS`; 0 and 1: an ordinary packet.
    pub(crate) gso_segments: u16,
    /// From `gq_dequeue`: which segment of a super-packet that was cut, from 0.
    pub(crate) segment: u16,
    /// Bytes in front of the network header that len counts; 0: 14, Ethernet's; or `GQ_NO_LINK_HEADER`.
    pub(crate) link_header: u16,
}

/// A packet as a queue sees it. The frame stays with the caller. What stands behind dsfield is for `GQ_CAKE`: 0 is right
/// where a thing is not known. `gq_dequeue` fills the fields up to `link_header` and leaves the rest.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) head: Head,
    /// Hash over the source address; 0 where there is none.
    pub(crate) source_hash: u32,
    /// Hash over the destination address; 0 where there is none.
    pub(crate) destination_hash: u32,
    /// Firewall mark, for fwmark.
    pub(crate) mark: u32,
    /// Priority (Linux: skb->priority). One whose high half is 0x8001 chooses its tin by the low half, from 1.
    pub(crate) priority: u32,
    /// For `GQ_CLASS`.
    pub(crate) class_id: u32,
    /// Of a super-packet: payload of every segment but the last, bytes.
    pub(crate) gso_size: u32,
    /// Of a super-packet: headers of a segment, bytes; len counts them once for each segment.
    pub(crate) gso_headers: u16,
    /// 1: ARP, which goes with the highest class.
    pub(crate) is_arp: u8,
    /// 0
    pub(crate) reserved: [u8; 5],
}

/// What `ack_filter` of `GQ_CAKE` must know of a TCP packet.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tcp {
    /// sizeof(struct gq_tcp)
    pub(crate) size: u32,
    /// Acknowledgement number.
    pub(crate) ack: u32,
    /// The same exactly for packets of one connection in one direction: addresses, ports and IP version.
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
    /// Which segment of a super-packet that was cut, from 0.
    pub(crate) segment: u32,
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
    /// Buckets, 1 to 65536. Default 1024. 64 bytes each. cake: flows of each tin, a power of two from 8; each takes 88 bytes
    /// in every tin that diffserv uses, and 64 beside.
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
    /// Least length that a packet counts for, 0 to 65535 bytes (cake: 256). Default 0; cake: link's.
    pub(crate) mpu: u64,
    /// Bytes added to every packet, 0 to 65535. Default 0. cake: `GQ_SIGNED_ZERO` and -64 to 256, its link header taken off
    /// first; default: link's.
    pub(crate) overhead: u64,
    /// Framing: 0 as it is, 1 ATM cells of 53 bytes for 48. Default 0.
    pub(crate) linklayer: u64,
    /// Rate of the shaper of cake, from 8; kept as whole bytes a second. Default: unlimited.
    pub(crate) bandwidth: u64,
    /// Tins: 0 diffserv3 (three), 1 diffserv4 (four), 2 diffserv8 (eight), 3 besteffort (one), 4 precedence (eight).
    /// Default 0. It cannot be changed to a mode of more tins than that of the set-up.
    pub(crate) diffserv: u64,
    /// What has equal shares: 0 triple-isolate, 1 dual-srchost, 2 dual-dsthost, 3 flows, 4 hosts, 5 srchost, 6 dsthost,
    /// 7 flowblind. Default 0.
    pub(crate) isolation: u64,
    /// Usual round trip, from 1000 ns; the target is a twentieth. Default 100000000.
    pub(crate) rtt: u64,
    /// What overhead, mpu and atm are where they are not given: 0 raw, 1 conservative, 2 ethernet, 3 via-ethernet, 4 docsis,
    /// 5 pppoe-ptm, 6 bridged-ptm, 7 pppoe-vcmux, 8 pppoe-llcsnap, 9 pppoa-vcmux, 10 pppoa-llc, 11 bridged-vcmux,
    /// 12 bridged-llcsnap, 13 ipoa-vcmux, 14 ipoa-llcsnap. Default 0.
    pub(crate) link: u64,
    /// VLAN tags, 4 bytes more each, 0 to 3. Default 0.
    pub(crate) ether_vlan: u64,
    /// Framing: 0 as it is, 1 ATM cells of 53 bytes for 48, 2 PTM, a byte more for 64. Default: link's.
    pub(crate) atm: u64,
    /// 1: the shaper pays for what is dropped: it stands behind the bottleneck. Default 0.
    pub(crate) ingress: u64,
    /// 1: the shaper's rate follows the arriving traffic. Default 0.
    pub(crate) autorate_ingress: u64,
    /// Drops acknowledgements that a later one makes superfluous: 0 off, 1 on, 2 aggressive. Default 0. On, each place takes
    /// 72 bytes more; to be set on later it must be on at set-up. See `gq_enqueue_tcp`.
    pub(crate) ack_filter: u64,
    /// 1: super-packets are cut on arrival. Default 1.
    pub(crate) split_gso: u64,
    /// 1: the DSCP is set to 0, after the tin was chosen by it. Default 0.
    pub(crate) wash: u64,
    /// No effect: addresses are as the caller gives them. Default 0.
    pub(crate) nat: u64,
    /// Most memory of the packets queued, bytes. Default: 4 bandwidth * rtt, 4194304 at least, at most 10240 mtu.
    pub(crate) memlimit: u64,
    /// Bits of the firewall mark that choose the tin. Default 0: none.
    pub(crate) fwmark: u64,
    /// Where the random numbers of cake begin. `GQ_DEFAULT` is a seed too.
    pub(crate) seed: u64,
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

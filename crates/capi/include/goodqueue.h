/*
 * Goodqueue: queues against queueing delay (bufferbloat), byte queue limits, and the transmit stack of
 * a Wi-Fi radio, for C99 and C++17.
 * Generated from the Rust sources by `cargo run -p goodqueue-capi --example header`; do not edit.
 *
 * Memory     The caller provides it; nothing is allocated. A queue sees descriptors; frames stay with the
 *            caller, which identifies them by the cookie.
 * Time       Nanoseconds since any moment, a parameter of each call; it must not go backward.
 * Threads    Different queues and rings are independent. Calls on one must not overlap: the caller
 *            locks. There are no callbacks and no hidden state.
 * Results    0 or more: success, see each function. Negative: GQ_E..., an error of the caller, counted in
 *            the queue or ring if there is one; gq_strerror has the text. Null, misaligned and too short
 *            are detected; another invalid pointer is not.
 * Structs    Every struct begins with its size, which the caller sets to its sizeof. Fields may be
 *            added at the end; fields that a caller's shorter struct lacks have their defaults.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef GOODQUEUE_H
#define GOODQUEUE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A queue in the caller's memory. */
struct gq_queue;

/** The transmit stack of an 802.11 radio in the caller's memory. */
struct gq_wifi;

/** Version of the ABI, which gq_abi_version returns too. It changes if programs must be recompiled;
 * additional functions and fields do not change it.
 */
#define GQ_ABI_VERSION UINT32_C(1)

/** Alignment of the memory for a queue, bytes: a cache line. */
#define GQ_ALIGN UINT32_C(64)

/** Longest packet, bytes. */
#define GQ_MAX_LEN UINT32_C(1048576)

/** A parameter of struct gq_config that is not given: its default applies. */
#define GQ_DEFAULT UINT64_MAX

/** drop_slots of struct gq_config: as many as one call can drop. */
#define GQ_DROPS_ALL UINT32_MAX

/** in_ring of the BQL functions if the driver does not know how many packets its ring holds. */
#define GQ_UNKNOWN UINT32_MAX

/** kind: first in, first out, limited in packets. Parameter: limit. */
#define GQ_PFIFO UINT32_C(1)

/** kind: first in, first out, limited in bytes. Parameter: limit (must be given). */
#define GQ_BFIFO UINT32_C(2)

/** kind: first in, first out, with room for what the link sends in time at link_rate, which must be
 * given, too. Parameter: time (must be given).
 */
#define GQ_FIFO UINT32_C(3)

/** kind: one queue under CoDel (RFC 8289). Parameters: limit, target, interval, ecn, ce_threshold,
 * parity.
 */
#define GQ_CODEL UINT32_C(4)

/** kind: FQ-CoDel (RFC 8290). Parameters: limit, flows, target, interval, quantum, ecn,
 * memory_limit, drop_batch, ce_threshold, ce_threshold_selector, ce_threshold_mask, parity.
 */
#define GQ_FQ_CODEL UINT32_C(5)

/** kind: a token bucket over bfifo. Parameters: rate (must be given), burst (must be given), limit
 * (must be given), peakrate, minburst, mpu, overhead, linklayer.
 */
#define GQ_TBF UINT32_C(6)

/** kind: CAKE: fair queueing among hosts and flows, COBALT in each, tins for classes of traffic, a
 * shaper. Parameters: diffserv, bandwidth, isolation, rtt, link, overhead, ether_vlan, mpu, atm,
 * ingress, autorate_ingress, ack_filter, split_gso, wash, nat, memlimit, fwmark, flows.
 */
#define GQ_CAKE UINT32_C(7)

/** kind: one queue under PIE (RFC 8033). Parameters: limit, target, tupdate, alpha, beta, ecn,
 * bytemode, dq_rate_estimator, hz.
 */
#define GQ_PIE UINT32_C(8)

/** kind: fair queueing with PIE in every bucket. Parameters: limit, flows, target, tupdate, alpha,
 * beta, quantum, memory_limit, ecn_prob, ecn, bytemode, dq_rate_estimator, hz.
 */
#define GQ_FQ_PIE UINT32_C(9)

/** kind: two queues with one controller, one of them for L4S (RFC 9332). Parameters: limit,
 * memlimit, coupling_factor, step_thresh, range, min_qlen_step, drop_overload, drop_early,
 * ecn_mask, c_protection, max_rtt, typical_rtt, target, tupdate, alpha, beta, split_gso.
 */
#define GQ_DUALPI2 UINT32_C(10)

/** kind: stochastic fair queueing. It cannot be reconfigured after set-up. Parameters: limit,
 * flows, depth, divisor, quantum, perturb, headdrop, min, max, wlog, probability, ecn, harddrop,
 * hz.
 */
#define GQ_SFQ UINT32_C(11)

/** kind: a queue for each flow, paced by the rates and times of local sockets: the fields socket to
 * pacing_rate of struct gq_packet. Parameters: limit, flow_limit, flows, buckets, quantum,
 * initial_quantum, pacing, maxrate, low_rate_threshold, refill_delay, orphan_mask, ce_threshold,
 * horizon, horizon_drop, hz.
 */
#define GQ_FQ UINT32_C(12)

/** kind: random early detection. Parameters: limit (must be given), min, max, avpkt, burst,
 * bandwidth, probability, ecn, harddrop, nodrop, adaptive.
 */
#define GQ_RED UINT32_C(13)

/** kind: a timing wheel: packets leave at the time departure of struct gq_packet. Parameters:
 * limit, granularity, horizon, horizon_drop.
 */
#define GQ_WHEEL UINT32_C(14)

/** kind: three FIFOs, each with this limit, selected by the DS byte; the first nonempty one sends.
 * It cannot be reconfigured after set-up. Parameter: limit.
 */
#define GQ_PFIFO_FAST UINT32_C(15)

/** kind: bands, selected by the DS byte; the first nonempty one sends. Each band has a queue: a
 * pfifo of 1000 packets, unless gq_config_set_leaf sets another. It cannot be reconfigured after
 * set-up. Parameters: bands, priomap.
 */
#define GQ_PRIO UINT32_C(16)

/** kind: classes served in turn. Each class has a queue, as in GQ_PRIO. It cannot be reconfigured
 * after set-up. Parameters: classes, by, quantum, weights.
 */
#define GQ_DRR UINT32_C(17)

/** kind: shapes to a rate, as sqm-scripts do. Each class has a queue: an fq_codel, unless
 * gq_config_set_leaf sets another. It cannot be reconfigured after set-up. Parameters: rate (must
 * be given), sqm, burst, quantum, mpu, overhead, linklayer.
 */
#define GQ_HTB UINT32_C(18)

/** Most segments of a super-packet. */
#define GQ_MAX_SEGMENTS UINT32_C(256)

/** link_header of a packet without a link header. */
#define GQ_NO_LINK_HEADER UINT32_C(65535)

/** classified: class_id replaces the hashes: its low 16 bits the hash of the flow, its high 16 bits
 * those of the hosts.
 */
#define GQ_CLASS UINT32_C(1)

/** classified: the packet must be dropped. */
#define GQ_SHOT UINT32_C(2)

/** classified: a classifier took the packet; it comes back as dropped but does not count as a drop. */
#define GQ_STOLEN UINT32_C(3)

/** Bits of a result with the reason why this packet itself was dropped; 0: it is queued. */
#define GQ_REASON 0xff

/** Reason: the limit of the queue in packets or bytes. */
#define GQ_REASON_LIMIT 1

/** Reason: the limit of the queue in memory. */
#define GQ_REASON_MEMORY 2

/** Reason: the control law of CoDel (RFC 8289 section 4.1). */
#define GQ_REASON_CODEL 3

/** Reason: the packet is longer than the token bucket's depth. */
#define GQ_REASON_TOOBIG 4

/** Reason: removed because a parameter was changed. */
#define GQ_REASON_CHANGE 5

/** Reason: removed because the queue was reset. */
#define GQ_REASON_RESET 6

/** Reason: removed with its station, or there was no such station or interface. */
#define GQ_REASON_FLUSH 7

/** Reason: BLUE in CAKE: the queue stays too long despite the control law. */
#define GQ_REASON_BLUE 8

/** Reason: an acknowledgement that a later one made redundant (ack_filter of CAKE). */
#define GQ_REASON_ACK 9

/** Reason: GQ_SHOT or GQ_STOLEN. */
#define GQ_REASON_FILTER 10

/** Reason: the drop probability of PIE (RFC 8033 section 4.1). */
#define GQ_REASON_PIE 11

/** Reason: the coupled drop probability of dualpi2 (RFC 9332 section 2.4). */
#define GQ_REASON_PI2 12

/** Reason: random early detection, in red or in a flow of sfq. */
#define GQ_REASON_RED 13

/** Reason: no room for its flow after sfq changed its hash. */
#define GQ_REASON_REHASH 14

/** Reason: the limit of one flow of fq. */
#define GQ_REASON_FLOW_LIMIT 15

/** Reason: its departure time is too far in the future. */
#define GQ_REASON_HORIZON 16

/** Reason: one without a name in this version of the header. */
#define GQ_REASON_OTHER 255

/** Result of gq_dequeue and gq_wifi_dequeue: a packet was delivered. */
#define GQ_PACKET 0x100

/** Result: dropped packets wait in gq_take_drops or gq_wifi_take_drops. */
#define GQ_DROPS 0x200

/** Result: full now. Another packet of mtu bytes would bring the queue above full bytes. */
#define GQ_FULL 0x400

/** Result of gq_dequeue and gq_wifi_dequeue: the packet was marked CE, or it had CE already and
 * would have been marked. Result of gq_enqueue: the same for this packet or another queued packet
 * (pie, fq_pie, dualpi2, red, sfq, and classes with them). If the dsfield of a delivered packet
 * differs from that of its frame, write it into the frame and update the IPv4 checksum.
 */
#define GQ_MARKED 0x800

/** Result of gq_bql_sent: stop the queue above the ring. */
#define GQ_STOP 1

/** Result of gq_bql_completed: the ring accepts packets; start the queue above it if it was
 * stopped.
 */
#define GQ_WAKE 1

/** A packet as a queue sees it. The frame stays with the caller. The fields after dsfield are for
 * GQ_CAKE; GQ_DUALPI2 and GQ_TBF read those of a super-packet, GQ_FQ and GQ_WHEEL read priority
 * and the fields from socket on. Set unknown fields to 0. Classes read what their queues read.
 * gq_dequeue fills the fields up to link_header and leaves the others unchanged.
 */
struct gq_packet {
	/** sizeof(struct gq_packet) */
	uint32_t size;
	/** Length in bytes with the layer-2 header, without FCS, preamble and gap: 1 to GQ_MAX_LEN. */
	uint32_t len;
	/** Memory of the packet, bytes: at least len. */
	uint32_t truesize;
	/** A hash of the flow with 32 bits: see gq_flow_hash. Only fair queues read it. */
	uint32_t flow_hash;
	/** The caller's handle for the frame, returned unchanged. */
	uint64_t cookie;
	/** The DS byte: DSCP in the high six bits, ECN in the low two. */
	uint8_t dsfield;
	/** A classifier's result: GQ_CLASS, GQ_SHOT, GQ_STOLEN; 0: none. */
	uint8_t classified;
	/** The number of segments of a super-packet, 2 to GQ_MAX_SEGMENTS; 0 and 1: an ordinary packet. */
	uint16_t gso_segments;
	/** From gq_dequeue: the number of the segment, from 0, if a super-packet was cut. */
	uint16_t segment;
	/** Bytes before the network header that len includes; 0: 14, as for Ethernet; or
	 * GQ_NO_LINK_HEADER.
	 */
	uint16_t link_header;
	/** Hash of the source address; 0 if there is none. */
	uint32_t source_hash;
	/** Hash of the destination address; 0 if there is none. */
	uint32_t destination_hash;
	/** Firewall mark, for fwmark. */
	uint32_t mark;
	/** Priority (Linux: skb->priority). If its high half is 0x8001, the low half is the tin, from 1. */
	uint32_t priority;
	/** For GQ_CLASS. */
	uint32_t class_id;
	/** For a super-packet: payload of every segment but the last, bytes. */
	uint32_t gso_size;
	/** For a super-packet: headers of a segment, bytes; len includes them once for each segment. */
	uint16_t gso_headers;
	/** 1: ARP, which goes into the highest class. */
	uint8_t is_arp;
	/** 0 */
	uint8_t reserved[5];
	/** The number of the local socket that sent it, below 2^63; 0: another host sent it, or a
	 * listening socket.
	 */
	uint64_t socket;
	/** The earliest departure time, ns (Linux: skb->tstamp); 0: at once. */
	uint64_t departure;
	/** The pacing rate of its socket, bytes per second (Linux: sk_pacing_rate); 0: unlimited. */
	uint64_t pacing_rate;
	/** A hash of the socket's connection (Linux: sk_hash), which distinguishes connections with the
	 * same socket number.
	 */
	uint32_t socket_hash;
	/** 1: the socket is connected. For others flow_hash distinguishes the flows. */
	uint8_t is_connected;
	/** 0 */
	uint8_t more[3];
};

/** The TCP header of a packet, for ack_filter of GQ_CAKE. */
struct gq_tcp {
	/** sizeof(struct gq_tcp) */
	uint32_t size;
	/** Acknowledgement number. */
	uint32_t ack;
	/** Equal for two packets if and only if they belong to one connection in one direction: addresses,
	 * ports and IP version.
	 */
	uint64_t connection;
	/** Bytes of payload. */
	uint32_t payload;
	/** The flags, FIN 1 to CWR 128, and the four bits above them, as in bytes 13 and 14 of the header. */
	uint16_t flags;
	/** Bytes of options with their padding, 0 to 40. */
	uint8_t options_len;
	/** 0 */
	uint8_t reserved;
	/** The options. */
	uint8_t options[40];
};

/** A dropped packet. The frame is the caller's to free. */
struct gq_drop {
	/** sizeof(struct gq_drop) */
	uint32_t size;
	/** GQ_REASON_LIMIT and so on. */
	int32_t reason;
	/** The packet's cookie. */
	uint64_t cookie;
	/** The packet's length, bytes. */
	uint32_t len;
	/** The number of the segment, from 0, if a super-packet was cut. */
	uint32_t segment;
};

/** A queue and its parameters. gq_config_default or gq_config_parse fills it; then change
 * individual fields. GQ_DEFAULT in a parameter means its default. It must stay in the parameters
 * that this kind of queue does not have. Times are nanoseconds, rates bits per second.
 */
struct gq_config {
	/** sizeof(struct gq_config) */
	uint32_t size;
	/** GQ_PFIFO and so on. */
	uint32_t kind;
	/** Longest packet of the link with its layer-2 header, bytes: 1 to GQ_MAX_LEN. Default 1514. */
	uint32_t mtu;
	/** Slots for packets, at most 4194305; for queues of classes, in each class. 0: as many as the
	 * limit needs; a limit in bytes counts packets of 40 bytes; fq_codel and sfq need one more than
	 * their limit. Fewer slots act as a second limit.
	 */
	uint32_t slots;
	/** Slots for dropped packets until gq_take_drops takes them. GQ_DROPS_ALL: one more than slots for
	 * packets, so that no handle is ever lost. 0: drops are counted, but their handles are lost.
	 */
	uint32_t drop_slots;
	/** 0 */
	uint32_t reserved;
	/** Backlog in bytes above which GQ_FULL is signalled, one packet of mtu in advance. Default:
	 * never.
	 */
	uint64_t full;
	/** Rate of the link, for GQ_FIFO only. */
	uint64_t link_rate;
	/** pfifo, codel, pie, pfifo_fast: largest number of queued packets (1 to 4194304; default 1000).
	 * bfifo, red: largest number of queued bytes (1 to 4294967295 bytes; must be given).
	 * fq_codel, fq_pie: largest number of queued packets (1 to 4194304; default 10240).
	 * dualpi2, fq, wheel: largest number of queued packets (1 to 4194304; default 10000).
	 * sfq: largest number of queued packets (2 to 4194304; default 127).
	 * tbf: largest number of bytes that wait for tokens (1 to 4294967295 bytes; must be given).
	 */
	uint64_t limit;
	/** fifo: depth: the bytes that the link sends in this time (1000 to 3600000000000 ns; must be
	 * given).
	 */
	uint64_t time;
	/** fq_codel, fq_pie: buckets that flows are hashed into (1 to 65536; default 1024).
	 * sfq: slots: most flows that are queued at once (1 to 65408; default 128).
	 * fq: number of flows for which there is memory; Linux allocates it when needed (1 to 65536;
	 * default 4096).
	 * cake: queues in each tin, in sets of 8; Linux has 1024 (8 to 65536, a power of two; default
	 * 1024).
	 * Memory: 64 bytes for each flow; in cake 88 bytes in every tin that diffserv uses, plus 64.
	 */
	uint64_t flows;
	/** codel, fq_codel: acceptable standing sojourn time (2000 to 2199000000000 ns; default 5000000).
	 * pie, fq_pie: target of the queueing delay (1000 to 4294967295000 ns; default 15000000).
	 * dualpi2: target of the classic queue's delay (1000 to 4294967295000 ns; default 15000000).
	 */
	uint64_t target;
	/** codel, fq_codel: time above target before the first drop; a usual worst round trip (2000 to
	 * 2199000000000 ns; default 100000000).
	 */
	uint64_t interval;
	/** fq_codel, fq_pie: bytes a bucket may send in one turn (256 to 1048576 bytes; default: mtu).
	 * sfq: bytes a flow may send in one turn (256 to 1048576 bytes; default: mtu).
	 * fq: bytes a flow may send in one turn, and smallest length of a paced packet (1 to 1048576
	 * bytes; default: 2 mtu).
	 * drr: bytes a class of weight 1 gets for each turn (256 to 1048576 bytes; default: mtu).
	 * htb: bytes that a class sends in one turn (1 to 16777216 bytes; default: 1 ms at rate, at least
	 * 1 MTU).
	 */
	uint64_t quantum;
	/** codel, red: marks ECN-capable packets instead of dropping them (0 or 1; default 0).
	 * fq_codel: marks ECN-capable packets instead of dropping them (0 or 1; default 1).
	 * pie, fq_pie: marks ECN-capable packets while the probability is low (0 or 1; default 0).
	 * sfq: RED: marks ECN-capable packets instead of dropping them (0 or 1; default 0).
	 */
	uint64_t ecn;
	/** fq_codel: largest memory of queued packets (1 to 4294967295 bytes; default 33554432).
	 * fq_pie: memory above which arrivals are counted; drops nothing (1 to 4294967295 bytes; default
	 * 33554432).
	 */
	uint64_t memory_limit;
	/** fq_codel: largest number of packets that one overflow drops (1 to 4294967295; default 64). */
	uint64_t drop_batch;
	/** codel, fq_codel: marks every ECN-capable packet that waited longer (0 to 2199000000000 ns;
	 * default: off).
	 * fq: marks each packet that leaves later than it could by this much (0 to 4294967295000 ns;
	 * default: off).
	 */
	uint64_t ce_threshold;
	/** fq_codel: value of the masked DS byte to which ce_threshold applies (0 to 255; default 0). */
	uint64_t ce_threshold_selector;
	/** fq_codel: bits of the DS byte to compare; 0 selects every packet (0 to 255; default 0). */
	uint64_t ce_threshold_mask;
	/** codel, fq_codel: corner cases: as intended, as Linux 6.1.192, or as before its fix of stale
	 * state on an empty queue (0 sane, 1 linux, 2 linux-stale; default 0).
	 */
	uint64_t parity;
	/** htb: rate and ceil of the root (64000 to 8796093022208 bit/s; must be given).
	 * tbf: rate of the bucket, kept as whole bytes per second (8 to 8796093022208 bit/s; must be
	 * given).
	 */
	uint64_t rate;
	/** red: average packets that an idle queue takes at once before it drops early: the weight of a
	 * sample (1 to 4294967295; default: (2 min + max) / (3 avpkt)).
	 * htb: bytes that a class sends at once, also above its ceil (1 to 4294967295 bytes; default: 1
	 * ms at rate, at least 1 MTU).
	 * tbf: depth of the bucket; longer packets are dropped (1 to 4294967295 bytes; must be given).
	 */
	uint64_t burst;
	/** tbf: rate that not even a burst exceeds (8 to 8796093022208 bit/s; default: off). */
	uint64_t peakrate;
	/** tbf: depth of the bucket of the peak rate (1 to 4294967295 bytes; default: mtu). */
	uint64_t minburst;
	/** htb, tbf: smallest length that a packet counts as (0 to 65535 bytes; default 0).
	 * cake: smallest length that a packet counts as (0 to 256 bytes; default: off).
	 */
	uint64_t mpu;
	/** htb, tbf: bytes added to every packet (0 to 65535 bytes; default 0).
	 * cake: bytes added to every packet, without its link header (-64 to 256 bytes, below 0 as
	 * (uint32_t)-14; default: off).
	 */
	uint64_t overhead;
	/** htb, tbf: framing of the link; atm counts 53 bytes for every 48 (0 ethernet, 1 atm; default 0). */
	uint64_t linklayer;
	/** red: rate of the line, for idle times; it shapes nothing (8 to 8796093022208 bit/s; default
	 * 10000000).
	 * cake: rate of the shaper, kept as whole bytes per second; off: unlimited (8 to 8796093022208
	 * bit/s; default: off).
	 */
	uint64_t bandwidth;
	/** cake: tins: classes of traffic, by the DSCP (0 diffserv3, 1 diffserv4, 2 diffserv8, 3
	 * besteffort, 4 precedence; default 0).
	 * It cannot be changed to a mode with more tins than at set-up.
	 */
	uint64_t diffserv;
	/** cake: who gets equal shares: hosts and flows, or one of them (0 triple-isolate, 1 dual-srchost,
	 * 2 dual-dsthost, 3 flows, 4 hosts, 5 srchost, 6 dsthost, 7 flowblind; default 0).
	 */
	uint64_t isolation;
	/** cake: usual round trip, the interval of COBALT; its target is a twentieth (1000 to
	 * 4294967295000 ns; default 100000000).
	 */
	uint64_t rtt;
	/** cake: overhead, mpu and atm of a kind of link; each can be given by itself (0 raw, 1
	 * conservative, 2 ethernet, 3 via-ethernet, 4 docsis, 5 pppoe-ptm, 6 bridged-ptm, 7 pppoe-vcmux,
	 * 8 pppoe-llcsnap, 9 pppoa-vcmux, 10 pppoa-llc, 11 bridged-vcmux, 12 bridged-llcsnap, 13
	 * ipoa-vcmux, 14 ipoa-llcsnap; default 0).
	 */
	uint64_t link;
	/** cake: VLAN tags, 4 bytes more each (0 to 3; default 0). */
	uint64_t ether_vlan;
	/** cake: framing: 53 bytes for every 48, or one more byte for every 64 (0 noatm, 1 atm, 2 ptm;
	 * default: off).
	 */
	uint64_t atm;
	/** cake: dropped packets count against the shaper's rate: it is behind the bottleneck (0 or 1;
	 * default: off).
	 */
	uint64_t ingress;
	/** cake: the shaper's rate follows the arriving traffic (0 or 1; default 0). */
	uint64_t autorate_ingress;
	/** cake: drops acknowledgements that a later one makes redundant (0 off, 1 on, 2 aggressive;
	 * default 0).
	 * If on, each slot takes 72 bytes more. It can be switched on later only if it was on at set-up.
	 * See gq_enqueue_tcp.
	 */
	uint64_t ack_filter;
	/** dualpi2, cake: cuts super-packets on arrival (0 or 1; default 1). */
	uint64_t split_gso;
	/** cake: sets the DSCP to 0 after it has selected the tin (0 or 1; default 0). */
	uint64_t wash;
	/** cake: tells hosts behind address translation apart; only sqm and shape use it (0 or 1; default
	 * 0).
	 */
	uint64_t nat;
	/** dualpi2: largest memory of queued packets (1 to 4294967295 bytes; default: 10000 mtu).
	 * cake: largest memory of queued packets; off: 4 * bandwidth * rtt, at least 4 MiB (1 to
	 * 4294967295 bytes; default: off).
	 */
	uint64_t memlimit;
	/** cake: bits of the firewall mark that select the tin (0 to 4294967295; default 0). */
	uint64_t fwmark;
	/** Seed of the random numbers (cake, pie, fq_pie, dualpi2, sfq, red). GQ_DEFAULT is a seed too. */
	uint64_t seed;
	/** pie, fq_pie: time between two updates, rounded up to jiffies (1000 to 4294967295000 ns; default
	 * 15000000).
	 * dualpi2: time between two updates of the probability (1000 to 4294967295000 ns; default
	 * 16000000).
	 */
	uint64_t tupdate;
	/** pie, fq_pie: weight of the delay above target, sixteenths of 1/s (0 to 32; default 2).
	 * dualpi2: weight of the delay above target, 1/s (0 to 4294967295 millionths; default 160000).
	 */
	uint64_t alpha;
	/** pie, fq_pie: weight of the change of the delay, sixteenths of 1/s (0 to 32; default 20).
	 * dualpi2: weight of the change of the delay, 1/s (0 to 4294967295 millionths; default 3200000).
	 */
	uint64_t beta;
	/** pie, fq_pie: scales the probability with the length of the packet (0 or 1; default 0). */
	uint64_t bytemode;
	/** pie, fq_pie: delay from backlog and drain rate, not from the packets' own times (0 or 1;
	 * default 0).
	 */
	uint64_t dq_rate_estimator;
	/** pie, fq_pie, sfq, fq: jiffies per second of the kernel: 100, 250, 300 or 1000 there (100 to
	 * 1000; default 250).
	 */
	uint64_t hz;
	/** fq_pie: percent of probability up to which packets are marked (0 to 100; default 10). */
	uint64_t ecn_prob;
	/** dualpi2: k: the L queue's mark probability is k p, the classic queue's drop probability is p
	 * squared (1 to 255; default 2).
	 */
	uint64_t coupling_factor;
	/** dualpi2: marks packets that wait longer in the L queue, or while it holds more packets (ns;
	 * default 1000000).
	 */
	uint64_t step_thresh;
	/** dualpi2: width of a ramp instead of the step; Linux has none (0 to 4294967295000 ns; default
	 * 0).
	 */
	uint64_t range;
	/** dualpi2: packets in the L queue that an arrival must exceed to be marked by the step (0 to
	 * 4194304; default 0).
	 */
	uint64_t min_qlen_step;
	/** dualpi2: drops in both queues under overload; off: they overflow (0 or 1; default 1). */
	uint64_t drop_overload;
	/** dualpi2: when packets are dropped and marked (0 drop_dequeue, 1 drop_enqueue; default 0). */
	uint64_t drop_early;
	/** dualpi2: whether the L queue is for ECT(1) and CE, or for all ECN-capable packets (0 l4s_ect, 1
	 * any_ect; default 0).
	 */
	uint64_t ecn_mask;
	/** dualpi2: smallest share of the line for the classic queue, percent (0 to 100; default 10). */
	uint64_t c_protection;
	/** dualpi2: longest round trip: gives target, tupdate, alpha and beta; default 6 * typical_rtt, if
	 * that is given (1000 to 4294967295000 ns; default: off).
	 */
	uint64_t max_rtt;
	/** dualpi2: usual round trip, with max_rtt (1000 to 715827882500 ns; default: off). */
	uint64_t typical_rtt;
	/** sfq: largest number of packets of a flow (1 to 127; default 127). */
	uint64_t depth;
	/** sfq: buckets that flows are hashed into; only a power of two of them is used (1 to 65536;
	 * default 1024).
	 */
	uint64_t divisor;
	/** sfq: time between two changes of the hash, whole seconds (1000000000 to 86400000000000 ns;
	 * default: off).
	 */
	uint64_t perturb;
	/** sfq: drops the oldest packet of a flow, not the arrival (0 or 1; default 0). */
	uint64_t headdrop;
	/** sfq: RED: average of a flow from which packets are dropped early (1 to 134217727 bytes;
	 * default: off).
	 * red: average from which packets are dropped early (1 to 4294967295 bytes; default: max / 3).
	 */
	uint64_t min;
	/** sfq: RED: average of a flow from which every packet is dropped (1 to 134217727 bytes; default
	 * 134217727).
	 * red: average from which every packet is dropped (1 to 4294967295 bytes; default: limit / 4).
	 */
	uint64_t max;
	/** sfq: RED: weight of a sample in the average, 2^-wlog (1 to 5; default 5). */
	uint64_t wlog;
	/** sfq: RED: percent of packets dropped early at max (1 to 100; default 2).
	 * red: percent of packets dropped early at max (1 to 100; default 2).
	 */
	uint64_t probability;
	/** sfq: RED: drops from max on, also with ecn (0 or 1; default 0).
	 * red: drops from max on, also with ecn (0 or 1; default 0).
	 */
	uint64_t harddrop;
	/** fq: largest number of packets of a flow (1 to 4294967295; default 100). */
	uint64_t flow_limit;
	/** fq: buckets in which flows are looked up (1 to 262144; default 1024). */
	uint64_t buckets;
	/** fq: bytes a new flow may send unpaced (0 to 2147483647 bytes; default: 10 mtu). */
	uint64_t initial_quantum;
	/** fq: flows keep the rate of their socket (0 or 1; default 1). */
	uint64_t pacing;
	/** fq: largest rate of a flow, rounded to whole bytes per second (8 to 34359738352 bit/s; default:
	 * off).
	 */
	uint64_t maxrate;
	/** fq: rate of a socket up to which each packet is paced by itself (0 to 34359738352 bit/s;
	 * default 550000).
	 */
	uint64_t low_rate_threshold;
	/** fq: idle time after which a flow has a quantum again, rounded up to jiffies (0 to 4294967295000
	 * ns; default 40000000).
	 */
	uint64_t refill_delay;
	/** fq: bits of the hash that tell flows without a socket apart (0 to 4294967295; default 1023). */
	uint64_t orphan_mask;
	/** fq: how far in the future a packet may ask to leave (0 to 4294967295000 ns; default
	 * 10000000000).
	 * wheel: how far in the future a packet may ask to leave (1000 to 3600000000000 ns; default
	 * 1000000000).
	 * wheel: each granularity within it takes 8 bytes. It cannot be changed after set-up.
	 */
	uint64_t horizon;
	/** fq: drops packets beyond the horizon; off: they leave at the horizon (0 or 1; default 1).
	 * wheel: drops packets beyond the horizon; off: they leave at the horizon (0 or 1; default 0).
	 */
	uint64_t horizon_drop;
	/** wheel: width of a slot; wider where the horizon has more than 262144 of them (100 to 1000000000
	 * ns; default 10000).
	 * It cannot be changed after set-up.
	 */
	uint64_t granularity;
	/** red: average packet, for burst and idle times (1 to 65535 bytes; default 1000). */
	uint64_t avpkt;
	/** red: queues packets that ecn cannot mark, instead of dropping them early (0 or 1; default 0). */
	uint64_t nodrop;
	/** red: moves the probability between 1 and 50 % (0 or 1; default 0). */
	uint64_t adaptive;
	/** prio: number of bands; a later one sends when the earlier ones are empty (2 to 16; default 3). */
	uint64_t bands;
	/** prio: the band of each of 16 priorities; by the DS byte these are 0, 2, 4 and 6 (16 digits in
	 * base 16, that of 0 first; default 0x1222120011111111).
	 */
	uint64_t priomap;
	/** drr: classes that packets are spread over (1 to 1024; default 64). */
	uint64_t classes;
	/** drr: how packets get their class: by the flow's hash, or by DSCP (8 classes: the class
	 * selectors) (0 flow, 1 dscp; default 0).
	 */
	uint64_t by;
	/** drr: quanta of each of the first 16 classes; the others have one (16 digits in base 16, that of
	 * 0 first; default 0x1111111111111111).
	 */
	uint64_t weights;
	/** htb: the tree: one class; or a root with classes for priority, best effort and bulk by DSCP (0
	 * simplest, 1 simple; default 0).
	 */
	uint64_t sqm;
	/** The queue of each class of prio, drr and htb. Private: gq_config_set_leaf and gq_config_parse
	 * write it.
	 */
	uint64_t leaf[20];
	/** dualpi2: marks all packets while the L queue holds more packets than this, instead of
	 * step_thresh. Default: none.
	 */
	uint64_t step_thresh_pkts;
};

/** Backlog and counters of a queue. Counters never decrease. */
struct gq_stats {
	/** sizeof(struct gq_stats) */
	uint32_t size;
	/** Packets queued. */
	uint32_t backlog_packets;
	/** Bytes queued. */
	uint64_t backlog_bytes;
	/** Packets delivered. */
	uint64_t packets;
	/** Bytes delivered. */
	uint64_t bytes;
	/** Packets dropped, as in Linux without those of a reset. */
	uint64_t drops;
	/** Packets marked CE. */
	uint64_t marks;
	/** Number of times that a packet waited for tokens (tbf). */
	uint64_t overlimits;
	/** Dropped packets that wait in gq_take_drops. */
	uint64_t drops_waiting;
	/** Handles of dropped packets lost because drop_slots was below GQ_DROPS_ALL. */
	uint64_t drops_lost;
	/** Calls on this queue that returned a negative code. */
	uint64_t errors;
};

/** A counter with its name as in tc -s qdisc. */
struct gq_counter {
	/** sizeof(struct gq_counter) */
	uint32_t size;
	/** 0 */
	uint32_t reserved;
	/** Its value. */
	uint64_t value;
	/** Its name, NUL-terminated. */
	char name[32];
};

/** The 5-tuple of a flow. */
struct gq_flow {
	/** sizeof(struct gq_flow) */
	uint32_t size;
	/** IP version: 4 or 6. */
	uint8_t version;
	/** IP protocol number: 6 for TCP, 17 for UDP. */
	uint8_t protocol;
	/** Source port in host byte order; 0 if the protocol has none. */
	uint16_t source_port;
	/** Destination port. */
	uint16_t destination_port;
	/** 0 */
	uint8_t reserved[6];
	/** Source address as on the wire; version 4 uses the first four bytes. */
	uint8_t source[16];
	/** Destination address. */
	uint8_t destination[16];
};

/** Parameters of byte queue limits; gq_bql_config_default fills it with Linux's defaults. */
struct gq_bql_config {
	/** sizeof(struct gq_bql_config) */
	uint32_t size;
	/** Number of descriptors of the ring, the most packets in flight. 0: unknown. */
	uint32_t ring;
	/** Smallest limit, bytes. Default 0. */
	uint32_t min_limit;
	/** Largest limit, bytes. Default 1879048192. */
	uint32_t max_limit;
	/** Clock ticks per second, 1 to 1000000000: the resolution of hold_time. Default 1000. */
	uint32_t hz;
	/** 0 */
	uint32_t reserved;
	/** How long slack is observed before the limit shrinks, ns. Default 1000000000. */
	uint64_t hold_time;
};

/** Byte queue limits of one transmit ring: memory for gq_bql_init. Put it into the driver's own
 * struct of the ring. Its contents are private.
 */
struct gq_bql {
	/** Private. */
	uint64_t opaque[48];
};

/** The state of a limit. */
struct gq_bql_state {
	/** sizeof(struct gq_bql_state) */
	uint32_t size;
	/** The limit, bytes in flight. */
	uint32_t limit;
	/** Bytes in flight. */
	uint32_t inflight;
	/** Packets in flight. */
	uint32_t inflight_packets;
	/** Bytes that may still be sent; negative: stopped. */
	int32_t avail;
	/** 0 */
	uint32_t reserved;
	/** Number of GQ_EOVER errors: more completed than sent. */
	uint64_t over;
	/** Number of GQ_EMISMATCH errors: bytes completed are not the bytes sent. */
	uint64_t mismatches;
	/** Number of GQ_ERING errors: a reset, a completion or a sent packet was not reported. */
	uint64_t missed;
	/** All calls on this ring that returned a negative code, including those above. */
	uint64_t errors;
};

/** Access category: voice. */
#define GQ_VO UINT32_C(0)

/** Access category: video. */
#define GQ_VI UINT32_C(1)

/** Access category: best effort. */
#define GQ_BE UINT32_C(2)

/** Access category: background. */
#define GQ_BK UINT32_C(3)

/** Plus the number of an interface: the number of its multicast queue, of category GQ_BE. The queue
 * of a station's TID has the number 16 * station + TID.
 */
#define GQ_TXQ_MULTICAST UINT32_C(2147483648)

/** Result: there is work in GQ_VO; run a scheduling round. For the other categories it is shifted
 * left by the category.
 */
#define GQ_WORK_VO 0x1000

/** Result: there is work in GQ_VI. */
#define GQ_WORK_VI 0x2000

/** Result: there is work in GQ_BE. */
#define GQ_WORK_BE 0x4000

/** Result: there is work in GQ_BK. */
#define GQ_WORK_BK 0x8000

/** Bits of a result that say in which categories there is work. */
#define GQ_WORK 0xf000

/** format: a rate without MCS. */
#define GQ_RATE_LEGACY UINT32_C(0)

/** format: 802.11n. */
#define GQ_RATE_HT UINT32_C(1)

/** format: 802.11ac. */
#define GQ_RATE_VHT UINT32_C(2)

/** format: 802.11ax, one user. */
#define GQ_RATE_HE UINT32_C(3)

/** Storage and parameters of a radio; the parameters are those of goodqueue queues wifi.
 * gq_wifi_config_default fills it. GQ_DEFAULT in a parameter means its default. Times are
 * nanoseconds, rates bits per second.
 */
struct gq_wifi_config {
	/** sizeof(struct gq_wifi_config) */
	uint32_t size;
	/** Slots for stations, 1 to 1048576; stations have numbers below that. Default 64. */
	uint32_t stations;
	/** Number of interfaces, each with a multicast queue, 1 to 4096. Default 1. */
	uint32_t interfaces;
	/** Flows of all queues together, 1 to 1048576. Default 4096. */
	uint32_t flows;
	/** Slots for packets, 1 to 4194304; fewer than limit act as the limit. 0: as many as limit. */
	uint32_t packets;
	/** Slots for dropped packets until gq_wifi_take_drops takes them, as in struct gq_config. */
	uint32_t drop_slots;
	/** largest number of packets queued on the radio (0 to 4194304; default 8192). */
	uint64_t limit;
	/** largest memory of packets queued on the radio; Linux has 4m without VHT (0 to 4294967295 bytes;
	 * default 16777216).
	 * Linux uses 4194304 without VHT.
	 */
	uint64_t memory_limit;
	/** bytes a flow may send in one turn (1 to 1048576 bytes; default 300). */
	uint64_t quantum;
	/** acceptable standing sojourn time (2000 to 2199000000000 ns; default 20000000). */
	uint64_t target;
	/** time above target before the first drop (2000 to 2199000000000 ns; default 100000000). */
	uint64_t interval;
	/** marks ECN-capable packets instead of dropping them; never for slow stations (0 or 1; default
	 * 1).
	 */
	uint64_t ecn;
	/** expected throughput, for each station present, below which a station is slow; 0: no station is
	 * slow (0 to 4294967295000 bit/s; default 6000000).
	 */
	uint64_t slow_rate;
	/** target for slow stations (2000 to 2199000000000 ns; default 50000000). */
	uint64_t slow_target;
	/** interval for slow stations (2000 to 2199000000000 ns; default 300000000). */
	uint64_t slow_interval;
	/** corner cases of CoDel: as intended, as Linux 6.1.192, or as before its fix of stale state (0
	 * sane, 1 linux, 2 linux-stale; default 0).
	 */
	uint64_t parity;
	/** airtime to a station counts against it (0 or 1; default 1). */
	uint64_t airtime_tx;
	/** airtime from a station counts against it (0 or 1; default 1). */
	uint64_t airtime_rx;
	/** queues are scheduled at the head of their list, not at the tail (0 or 1; default 1). */
	uint64_t airtime_fairness;
	/** stations that become active go first, for one weight of airtime (0 or 1; default 0). */
	uint64_t sparse_stations;
	/** airtime used in VO and VI is charged to the station's BE account as well (0 or 1; default 0). */
	uint64_t joint_airtime;
	/** pending airtime is estimated and limited (0 or 1; default 1). */
	uint64_t aql;
	/** the check of a station's limits is on (0 or 1; default 1). */
	uint64_t aql_enable;
	/** pending airtime of the radio below which the high limit applies (0 to 2147483647000 ns; default
	 * 24000000).
	 */
	uint64_t aql_threshold;
	/** pending airtime that a station may always have (0 to 2147483647000 ns; default 5000000). */
	uint64_t aql_limit_low;
	/** pending airtime that a station may have below the threshold (0 to 2147483647000 ns; default
	 * 12000000).
	 */
	uint64_t aql_limit_high;
	/** clock ticks in a second; a station is active for a tenth of one after it was scheduled (10 to
	 * 1000; default 250).
	 */
	uint64_t hz;
	/** 2.4 or 5 GHz: the table of legacy rates (0 2, 1 5; default 1). */
	uint64_t band;
	/** a queue that becomes active goes to the tail of its list, and no airtime is forgotten (0 or 1;
	 * default 0).
	 */
	uint64_t ath9k_scheduler;
};

/** The rate of a frame. */
struct gq_wifi_rate {
	/** sizeof(struct gq_wifi_rate) */
	uint32_t size;
	/** GQ_RATE_LEGACY and so on. */
	uint32_t format;
	/** A legacy rate in units of 100 kbit/s, 10 to 540. */
	uint32_t legacy;
	/** HT: 0 to 31; VHT: 0 to 9; HE: 0 to 11. */
	uint32_t mcs;
	/** Streams of VHT and HE, 1 to 8. */
	uint32_t nss;
	/** Width of HT, VHT and HE, MHz: 20, 40, 80 or 160. */
	uint32_t width;
	/** Guard interval of HT, VHT and HE, ns: 400 or 800; HE 800, 1600 or 3200. */
	uint32_t guard;
	/** 1: short preamble, for legacy rates. */
	uint32_t short_preamble;
};

/** Backlog and counters of a radio. Counters never decrease. */
struct gq_wifi_stats {
	/** sizeof(struct gq_wifi_stats) */
	uint32_t size;
	/** Packets queued. */
	uint32_t backlog_packets;
	/** Memory of the packets queued, bytes. */
	uint64_t memory;
	/** Batches dropped because of a limit. */
	uint64_t overlimit;
	/** Those of them that were dropped because of the memory limit. */
	uint64_t overmemory;
	/** Packets whose flow belonged to another queue. */
	uint64_t collisions;
	/** Stations present. */
	uint32_t stations;
	/** Airtime in flight, us. */
	uint32_t aql_total;
	/** The same by category, from GQ_VO on. */
	uint32_t aql_by_ac[4];
	/** Dropped packets that wait in gq_wifi_take_drops. */
	uint64_t drops_waiting;
	/** Handles of dropped packets lost because drop_slots was below GQ_DROPS_ALL. */
	uint64_t drops_lost;
	/** Calls on this radio that returned a negative code. */
	uint64_t errors;
};

/** One station. Arrays are indexed by category, from GQ_VO on. */
struct gq_wifi_station {
	/** sizeof(struct gq_wifi_station) */
	uint32_t size;
	/** The interface that it belongs to. */
	uint32_t interface;
	/** Airtime weight, us a round. */
	uint32_t weight;
	/** 1: CoDel uses the parameters of slow stations for it. */
	uint32_t is_slow;
	/** CoDel's target for it, ns. */
	uint64_t target;
	/** CoDel's interval for it, ns. */
	uint64_t interval;
	/** Airtime to the station, us. */
	uint64_t tx_airtime[4];
	/** Airtime from the station, us. */
	uint64_t rx_airtime[4];
	/** Deficit: airtime that it may still use before others get their turn, us. */
	int32_t deficit[4];
	/** Estimated airtime of packets in flight, us. */
	uint32_t pending[4];
	/** AQL: airtime in flight that is always allowed, us. */
	uint32_t aql_limit_low[4];
	/** AQL: airtime in flight that is allowed while the radio's total is below its threshold, us. */
	uint32_t aql_limit_high[4];
};

/** One queue. */
struct gq_wifi_txq {
	/** sizeof(struct gq_wifi_txq) */
	uint32_t size;
	/** Bytes queued. */
	uint32_t backlog_bytes;
	/** Packets queued. */
	uint32_t backlog_packets;
	/** Number of times that a flow became active in the queue. */
	uint32_t flows;
	/** Bytes delivered. */
	uint64_t tx_bytes;
	/** Packets delivered. */
	uint64_t tx_packets;
	/** Packets dropped because a limit of the radio was exceeded. */
	uint64_t overlimit_drops;
	/** Packets dropped by CoDel. */
	uint64_t codel_drops;
	/** Packets marked by CoDel. */
	uint64_t ecn_marks;
	/** Packets whose flow belonged to another queue. */
	uint32_t collisions;
	/** 0 */
	uint32_t reserved;
};

/** A pointer is null. */
#define GQ_ENULL (-1)

/** A pointer is not aligned for its type, or memory for a queue is not aligned to GQ_ALIGN. */
#define GQ_EALIGN (-2)

/** The size field of a struct is not set, or below the first version's. */
#define GQ_ESIZE (-3)

/** The memory is too small. */
#define GQ_EMEMORY (-4)

/** The handle does not belong to a queue that was set up, or the queue was moved. */
#define GQ_EHANDLE (-5)

/** The time is before that of an earlier call. */
#define GQ_ETIME (-6)

/** The length of a packet is 0 or above GQ_MAX_LEN, or its truesize below its length. */
#define GQ_EPACKET (-7)

/** Dropped packets must be taken first; otherwise a handle could be lost. */
#define GQ_EDROPS (-8)

/** Unknown kind of queue, or a different kind from the one that was set up. */
#define GQ_EKIND (-9)

/** The queue has no such parameter. */
#define GQ_EPARAM (-10)

/** A value is malformed or out of range. */
#define GQ_EVALUE (-11)

/** A parameter that has no default is not given. */
#define GQ_EMISSING (-12)

/** A parameter is given twice. */
#define GQ_ETWICE (-13)

/** The parameters do not go together. */
#define GQ_ECONFLICT (-14)

/** The link sends less than one packet in the time given as the queue's limit. */
#define GQ_EROOM (-15)

/** The text is not UTF-8 or longer than 4095 bytes. */
#define GQ_ETEXT (-16)

/** More packets were completed than sent. The ring is assumed to be empty. */
#define GQ_EOVER (-17)

/** The bytes completed are not the bytes sent: padding or FCS was counted on one side only. The
 * count is corrected as far as possible.
 */
#define GQ_EMISMATCH (-18)

/** The number of packets in the ring differs from the reports: a reset, a completion or a sent
 * packet was missed. The limit is reset.
 */
#define GQ_ERING (-19)

/** No such station, interface or queue of the radio. */
#define GQ_ESTATION (-20)

/** The station exists already. */
#define GQ_EEXISTS (-21)

/** This kind of queue cannot be reconfigured: set up another one. */
#define GQ_EFIXED (-22)

/** The ABI version of the linked library; compare it with GQ_ABI_VERSION of the header. */
uint32_t gq_abi_version(void);

/** The version of the library, "0.1.0". The string is static. */
const char *gq_version(void);

/** The text for a negative code, in English; "no error" for 0 and more. The string is static. */
const char *gq_strerror(int32_t code);

/** Writes the flow hash of a packet into *hash: SipHash-1-3 of the 5-tuple with a key of 128 bits.
 * Choose a random key at start, so that an attacker cannot direct flows at one bucket.
 *
 * Returns 0, GQ_EVALUE for an IP version other than 4 and 6, or the code of a bad pointer.
 */
int32_t gq_flow_hash(const struct gq_flow *flow, uint64_t key0, uint64_t key1, uint32_t *hash);

/** Sets every field of config for a queue of this kind (GQ_PFIFO and so on) with default
 * parameters. Its size field must be set.
 *
 * Returns 0, GQ_EKIND, or the code of a bad pointer.
 */
int32_t gq_config_default(uint32_t kind, struct gq_config *config);

/** Parses a queue from a text like "fq_codel limit=1000 flows=64" or
 * "tbf,rate=10mbit,burst=5k,limit=60k", with the words and units of tc, separated by commas or
 * spaces. Sets every field of config, whose size field must be set; mtu, link_rate, slots,
 * drop_slots and full get their defaults. If the text is wrong, *at is the offset of the error
 * (the length of the text if something is missing); at may be null.
 *
 * Returns 0, or GQ_EKIND, GQ_EPARAM, GQ_EVALUE, GQ_EMISSING, GQ_ETWICE, GQ_ECONFLICT, GQ_ETEXT, or
 * the code of a bad pointer.
 */
int32_t gq_config_parse(const char *text, struct gq_config *config, size_t *at);

/** Sets the queue of each class of config (GQ_PRIO, GQ_DRR or GQ_HTB) to leaf: its kind and its
 * parameters. mtu, link_rate, slots, drop_slots, full and seed are those of config.
 *
 * Returns 0; or GQ_EPARAM if config has no classes, GQ_ECONFLICT if leaf has classes, the error of
 * gq_queue_size for leaf, or the code of a bad pointer; then nothing is changed.
 */
int32_t gq_config_set_leaf(struct gq_config *config, const struct gq_config *leaf);

/** Writes the memory that a queue of this configuration needs, in bytes, into *bytes: for the queue
 * and all its storage.
 *
 * Returns 0, or the code of the error in the configuration: GQ_EKIND, GQ_EPARAM, GQ_EVALUE,
 * GQ_EMISSING, GQ_ECONFLICT, GQ_EROOM.
 */
int32_t gq_queue_size(const struct gq_config *config, size_t *bytes);

/** Sets up a queue in the caller's memory: at least gq_queue_size bytes, aligned to GQ_ALIGN, with
 * any contents. The clock starts at now, ns. *queue becomes the handle, which is the address of
 * the memory. The caller owns the memory but must not move or read it while the handle is used.
 * There is nothing to tear down: after gq_queue_reset and the last gq_take_drops the memory may be
 * reused.
 *
 * Returns 0, GQ_EALIGN, GQ_EMEMORY, or an error of gq_queue_size.
 */
int32_t gq_queue_init(void *memory, size_t bytes, const struct gq_config *config, uint64_t now, struct gq_queue **queue);

/** Enqueues a packet at now, ns, which must not be before the time of an earlier call. *packet is
 * copied.
 *
 * Returns 0 or more: in the bits of GQ_REASON the reason why this packet itself was dropped, 0 if
 * it is queued; GQ_DROPS if dropped packets wait in gq_take_drops, this one or others; GQ_FULL;
 * GQ_MARKED. Or a negative code (GQ_EPACKET, GQ_ETIME, GQ_EDROPS, a bad pointer): then the queue
 * is unchanged, and the caller keeps the packet.
 */
int32_t gq_enqueue(struct gq_queue *queue, uint64_t now, const struct gq_packet *packet);

/** Like gq_enqueue, with the TCP header of the packet for ack_filter of GQ_CAKE in *tcp, which is
 * copied; null if it is not a TCP packet.
 *
 * Returns what gq_enqueue does.
 */
int32_t gq_enqueue_tcp(struct gq_queue *queue, uint64_t now, const struct gq_packet *packet, const struct gq_tcp *tcp);

/** Dequeues the next packet that may leave at now, ns, into *packet, whose size field must be set.
 * CoDel may drop and mark packets in this call.
 *
 * Returns 0 or more: GQ_PACKET if there is a packet, GQ_MARKED if it was marked CE; GQ_DROPS;
 * GQ_FULL. Or a negative code (GQ_ETIME, GQ_EDROPS, a bad pointer): then the queue is unchanged.
 */
int32_t gq_dequeue(struct gq_queue *queue, uint64_t now, struct gq_packet *packet);

/** Writes into *wake when to call gq_dequeue again after it gave no packet: the exact earliest
 * time, ns, at which it can deliver one if nothing else arrives; now if a packet may leave at
 * once.
 *
 * Returns 1, 0 if the queue is empty (*wake is unchanged), or a negative code.
 */
int32_t gq_next_wake(struct gq_queue *queue, uint64_t now, uint64_t *wake);

/** Takes up to count dropped packets, oldest first, into an array. The size field of its first
 * element must be set; it is the distance between elements. Every packet given to gq_enqueue comes
 * back exactly once, from gq_dequeue or here (unless drop_slots is less than GQ_DROPS_ALL).
 *
 * Returns the number of packets taken, or a negative code.
 */
int32_t gq_take_drops(struct gq_queue *queue, struct gq_drop *drops, uint32_t count);

/** Drops all queued packets (GQ_REASON_RESET) and clears the control state at now, ns; counters
 * keep their values.
 *
 * Returns GQ_DROPS or 0, or a negative code (GQ_ETIME, GQ_EDROPS).
 */
int32_t gq_queue_reset(struct gq_queue *queue, uint64_t now);

/** Sets all parameters of a queue of the same kind at now, ns. The numbers of buckets and of slots
 * do not change: flows must be GQ_DEFAULT or the present value, diffserv of cake must not use more
 * tins than at set-up, and slots and drop_slots are ignored. codel and fq_codel drop packets above
 * a lower limit (GQ_REASON_CHANGE).
 *
 * Returns GQ_DROPS and GQ_FULL or 0, or a negative code; then nothing is changed.
 */
int32_t gq_queue_configure(struct gq_queue *queue, uint64_t now, const struct gq_config *config);

/** Writes backlog and counters of the queue into *stats, whose size field must be set.
 *
 * Returns 0, or the code of a bad pointer.
 */
int32_t gq_queue_stats(struct gq_queue *queue, struct gq_stats *stats);

/** Writes the counter with this index, from 0, into *counter, whose size field must be set. These
 * are counters of this kind of queue beyond those of gq_queue_stats.
 *
 * Returns 1, 0 if there is no such index, or the code of a bad pointer.
 */
int32_t gq_queue_counter(struct gq_queue *queue, uint32_t index, struct gq_counter *counter);

/** Sets every field of config, whose size field must be set, to Linux's defaults.
 *
 * Returns 0, or the code of a bad pointer.
 */
int32_t gq_bql_config_default(struct gq_bql_config *config);

/** Sets up byte queue limits for one ring: bytes is sizeof(struct gq_bql), config may be null for
 * the defaults. The clock starts at now, ns. There is nothing to tear down; the struct must not be
 * moved.
 *
 * Returns 0, GQ_EMEMORY, GQ_EVALUE, or the code of a bad pointer.
 */
int32_t gq_bql_init(struct gq_bql *bql, size_t bytes, const struct gq_bql_config *config, uint64_t now);

/** Hook 1 of 3: call it in the transmit function, after the packet was put into the ring (Linux:
 * netdev_tx_sent_queue). bytes is what the completion will report for this packet. in_ring is the
 * number of packets in the ring including this one, from the ring's own indices, or GQ_UNKNOWN. It
 * serves to detect a forgotten reset at the next packet.
 *
 * Returns GQ_STOP if the queue above must be stopped until GQ_WAKE, otherwise 0; or a negative
 * code: GQ_EPACKET, and nothing is counted; or GQ_ERING: the packets in flight were wrong and are
 * discarded, but this packet is counted, so continue.
 */
int32_t gq_bql_sent(struct gq_bql *bql, uint32_t bytes, uint32_t in_ring);

/** Hook 2 of 3: call it once after a round of completions (Linux: netdev_tx_completed_queue), with
 * the sums of packets and bytes since the last call, including failed packets, at now, ns.
 *
 * Returns GQ_WAKE if the ring accepts packets, otherwise 0; or a negative code. After GQ_EOVER and
 * GQ_EMISMATCH the count is corrected: wake the queue as after GQ_WAKE. With GQ_ETIME nothing is
 * counted.
 */
int32_t gq_bql_completed(struct gq_bql *bql, uint64_t now, uint32_t packets, uint32_t bytes);

/** Hook 3 of 3: call it wherever the ring is emptied without completions: stop, reset, error
 * recovery (Linux: netdev_tx_reset_queue). It discards what is in flight and starts again as after
 * gq_bql_init, but keeps the error counters. The function that opens the ring must start the queue
 * above again.
 *
 * Returns 0 or a negative code.
 */
int32_t gq_bql_reset(struct gq_bql *bql, uint64_t now);

/** For a watchdog and for tests: checks whether the ring, which holds in_ring packets at now, ns,
 * agrees with the reports.
 *
 * Returns 0, or GQ_ERING if it does not: then the limit is reset, with in_ring packets of unknown
 * length in flight. Wake the queue.
 */
int32_t gq_bql_check(struct gq_bql *bql, uint64_t now, uint32_t in_ring);

/** Writes the state of the limit into *state, whose size field must be set.
 *
 * Returns 0, or the code of a bad pointer.
 */
int32_t gq_bql_state(struct gq_bql *bql, struct gq_bql_state *state);

/** Sets every field of config, whose size field must be set, to its default.
 *
 * Returns 0, or the code of a bad pointer.
 */
int32_t gq_wifi_config_default(struct gq_wifi_config *config);

/** Writes the memory that the transmit stack of a radio needs, in bytes, into *bytes. It does not
 * include frames.
 *
 * Returns 0, GQ_EVALUE, or the code of a bad pointer.
 */
int32_t gq_wifi_size(const struct gq_wifi_config *config, size_t *bytes);

/** Sets up the transmit stack of a radio in the caller's memory, as gq_queue_init does for a queue.
 * It has no stations.
 *
 * Returns 0, GQ_EALIGN, GQ_EMEMORY, or an error of gq_wifi_size.
 */
int32_t gq_wifi_init(void *memory, size_t bytes, const struct gq_wifi_config *config, uint64_t now, struct gq_wifi **wifi);

/** Sets all parameters; stations, interfaces, flows, packets and drop_slots are ignored. Nothing is
 * dropped: limits apply to the next arrival.
 *
 * Returns 0 or a negative code; then nothing is changed.
 */
int32_t gq_wifi_configure(struct gq_wifi *wifi, const struct gq_wifi_config *config);

/** Adds a station. The caller chooses its number, which must be less than stations of the
 * configuration. The station has a deficit and a weight of 256 us, the radio's AQL limits, no
 * rate, and empty queues.
 *
 * Returns 0, GQ_ESTATION if the number or the interface is too high, or GQ_EEXISTS.
 */
int32_t gq_wifi_add_station(struct gq_wifi *wifi, uint32_t station, uint32_t interface);

/** Removes a station at now, ns, and drops the packets in its queues (GQ_REASON_FLUSH). Completions
 * of its packets in flight must still be reported.
 *
 * Returns GQ_DROPS or 0, or a negative code (GQ_ESTATION, GQ_ETIME, GQ_EDROPS).
 */
int32_t gq_wifi_remove_station(struct gq_wifi *wifi, uint64_t now, uint32_t station);

/** The station enters power save: its queues are not scheduled and keep their packets (Linux:
 * sta_ps_start).
 *
 * Returns 0 or GQ_ESTATION.
 */
int32_t gq_wifi_sleep(struct gq_wifi *wifi, uint32_t station);

/** The station wakes at now, ns: its nonempty queues are scheduled.
 *
 * Returns GQ_WORK_VO and so on, or a negative code (GQ_ESTATION, GQ_ETIME).
 */
int32_t gq_wifi_wake(struct gq_wifi *wifi, uint64_t now, uint32_t station);

/** Sets a station's airtime weight: its airtime in a round, us, 1 to 65535.
 *
 * Returns 0, GQ_ESTATION or GQ_EVALUE.
 */
int32_t gq_wifi_set_weight(struct gq_wifi *wifi, uint32_t station, uint32_t weight);

/** Sets a station's own AQL limits in a category (GQ_VO and so on), us.
 *
 * Returns 0, GQ_ESTATION or GQ_EVALUE.
 */
int32_t gq_wifi_set_aql(struct gq_wifi *wifi, uint32_t station, uint32_t ac, uint32_t low, uint32_t high);

/** Sets the rate for estimates of the station's airtime: the rate of its last transmission; null:
 * unknown, and estimates are 0.
 *
 * Returns 0, GQ_ESTATION, GQ_EVALUE, or the code of a bad pointer.
 */
int32_t gq_wifi_set_rate(struct gq_wifi *wifi, uint32_t station, const struct gq_wifi_rate *rate);

/** Rate control reports the station's expected throughput, kbit/s: below slow_rate the station is
 * slow until the next report.
 *
 * Returns 0 or GQ_ESTATION.
 */
int32_t gq_wifi_expected_throughput(struct gq_wifi *wifi, uint32_t station, uint32_t kbps);

/** Stops a station's queue while a block-ack session is set up; it accepts packets but delivers
 * none.
 *
 * Returns 0 or GQ_ESTATION.
 */
int32_t gq_wifi_stop_txq(struct gq_wifi *wifi, uint32_t txq);

/** Lets a stopped queue deliver again, and schedules it at now, ns.
 *
 * Returns the bit of its category in GQ_WORK, or a negative code (GQ_ESTATION, GQ_ETIME).
 */
int32_t gq_wifi_start_txq(struct gq_wifi *wifi, uint64_t now, uint32_t txq);

/** Enqueues a packet at now, ns, and schedules the queue. *packet is copied; len is the length with
 * the 802.11 header. While the radio is over a limit, the flow with the largest backlog loses
 * packets.
 *
 * Returns 0 or more: in the bits of GQ_REASON the reason why this packet itself was dropped, 0 if
 * it is queued (GQ_REASON_FLUSH: there is no such station); GQ_DROPS; the bit of the category in
 * GQ_WORK: run a round. Or a negative code (GQ_EPACKET, GQ_ETIME, GQ_EDROPS, GQ_ESTATION for a
 * number that no queue has, a bad pointer): then the caller keeps the packet.
 */
int32_t gq_wifi_enqueue(struct gq_wifi *wifi, uint64_t now, uint32_t txq, const struct gq_packet *packet);

/** Starts a scheduling round in a category (Linux: ieee80211_txq_schedule_start).
 *
 * Returns 1, 0 if the radio has too much airtime in flight for a round, or GQ_EVALUE.
 */
int32_t gq_wifi_schedule_start(struct gq_wifi *wifi, uint32_t ac);

/** Writes the next queue that may send in this round into *txq (Linux: ieee80211_next_txq). Dequeue
 * packets from it, then return it with gq_wifi_return_txq.
 *
 * Returns 1, 0 if the round is over (*txq is unchanged), GQ_EVALUE, or the code of a bad pointer.
 */
int32_t gq_wifi_next_txq(struct gq_wifi *wifi, uint32_t ac, uint32_t *txq);

/** Dequeues the next packet of a queue at now, ns, into *packet, whose size field must be set.
 * Writes its estimated airtime, us, into *estimate; from now on that counts as airtime in flight
 * (AQL). There is no packet if the queue is empty, stopped or unknown, or if its station has too
 * much airtime in flight.
 *
 * Returns GQ_PACKET, GQ_MARKED and GQ_DROPS, or a negative code.
 */
int32_t gq_wifi_dequeue(struct gq_wifi *wifi, uint64_t now, uint32_t txq, struct gq_packet *packet, uint32_t *estimate);

/** Returns a queue from gq_wifi_next_txq or gq_wifi_may_transmit to the scheduler, at now, ns.
 * force 1: the driver holds packets of it, so schedule it in any case.
 *
 * Returns the bit of its category in GQ_WORK if queues wait, otherwise 0; or a negative code.
 */
int32_t gq_wifi_return_txq(struct gq_wifi *wifi, uint64_t now, uint32_t txq, uint32_t force);

/** For firmware that requests a station's packets: whether this queue may send now (Linux:
 * ieee80211_txq_may_transmit). If so, return it afterwards.
 *
 * Returns 1, 0, or GQ_ESTATION.
 */
int32_t gq_wifi_may_transmit(struct gq_wifi *wifi, uint32_t txq);

/** A packet was acknowledged or given up: its estimate is no longer in flight.
 *
 * Returns the bit of its category in GQ_WORK if queues wait, otherwise 0; or GQ_ESTATION.
 */
int32_t gq_wifi_completed(struct gq_wifi *wifi, uint32_t txq, uint32_t estimate);

/** Reports airtime that a station has used, us, at now, ns: tx to it, including failed attempts, rx
 * from it. It may be the sum over many frames. A station that was removed meanwhile is ignored.
 *
 * Returns 0 or a negative code (GQ_ETIME, GQ_ESTATION).
 */
int32_t gq_wifi_airtime(struct gq_wifi *wifi, uint64_t now, uint32_t txq, uint32_t tx, uint32_t rx);

/** For hardware that does not report airtime: writes the duration of one attempt at a frame of len
 * bytes at a rate, us, into *micros, computed as in mac80211 (no block ack, no backoff). A
 * transmission is the sum of its attempts.
 *
 * Returns 0, GQ_EVALUE for a rate that the band or the standard lacks, or the code of a bad
 * pointer.
 */
int32_t gq_wifi_duration(struct gq_wifi *wifi, const struct gq_wifi_rate *rate, uint32_t len, uint32_t *micros);

/** Like gq_take_drops, for a radio.
 *
 * Returns the number of packets taken, or a negative code.
 */
int32_t gq_wifi_take_drops(struct gq_wifi *wifi, struct gq_drop *drops, uint32_t count);

/** Writes backlog and counters of the radio into *stats, whose size field must be set.
 *
 * Returns 0, or the code of a bad pointer.
 */
int32_t gq_wifi_stats(struct gq_wifi *wifi, struct gq_wifi_stats *stats);

/** Writes the state of a station into *stats, whose size field must be set.
 *
 * Returns 0, GQ_ESTATION, or the code of a bad pointer.
 */
int32_t gq_wifi_station_stats(struct gq_wifi *wifi, uint32_t station, struct gq_wifi_station *stats);

/** Writes backlog and counters of a queue into *stats, whose size field must be set.
 *
 * Returns 0, GQ_ESTATION, or the code of a bad pointer.
 */
int32_t gq_wifi_txq_stats(struct gq_wifi *wifi, uint32_t txq, struct gq_wifi_txq *stats);

#ifdef __cplusplus
}
#endif

#endif

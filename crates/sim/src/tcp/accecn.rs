//! Accurate ECN of a [`Socket`](super::Socket) (RFC 9768): the counter in the field ACE, the option with byte
//! counters, and the response to a path that corrupts either. Names in brackets are Linux's
//! (`include/net/tcp_ecn.h`, Linux 7.2).
//!
//! The simulator's flows use only the counter, between ends that both support it.

use super::segment::{ECT0, Flags};
use goodqueue::{Nanos, Span};

/// ECN codepoint of Congestion Experienced.
pub(super) const CE: u8 = 3;
/// Number of CE-marked packets at which the feedback must not wait, or ACE could wrap
/// (`TCP_ACCECN_ACE_MAX_DELTA`).
const MAX_PENDING: u32 = 6;
/// If ACKs cover more packets than this on average, the path is assumed to thin ACKs out (`ACK_COMP_THRESH`).
const THINNED: u32 = 4;
/// Fraction bits of that average, and its weight as a power of two.
const EWMA_BITS: u32 = 6;
/// After this many bytes sent without an option seen, it is too late for one: the counters may have wrapped.
const TOO_LATE: u64 = (1 << 23) - 1;

/// The settings of a host for accurate ECN (`sysctl net.ipv4.tcp_ecn*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccEcnHost {
    /// `tcp_ecn` is 3: ask for it.
    pub asks: bool,
    /// `tcp_ecn` is 3, 4 or 5: grant it.
    pub grants: bool,
    /// `tcp_ecn_fallback`: no ECN when the handshake shows that the path changes it (RFC 9768 section 3.2.2).
    pub fallback: bool,
    /// `tcp_ecn_option`: 0 no option, 1 when a counter has changed, 2 on every segment, 3 even if a path
    /// seems to drop such segments.
    pub option: u8,
    /// `tcp_ecn_option_beacon`: with `option` 1, at least this many options a round trip; 0: none.
    pub beacon: u32,
}

impl Default for AccEcnHost {
    /// Linux's defaults; accurate ECN is off.
    fn default() -> AccEcnHost {
        AccEcnHost { asks: false, grants: false, fallback: true, option: 2, beacon: 3 }
    }
}

/// The option of accurate ECN (RFC 9768 section 3.2.3): byte counters of 24 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnBytes {
    /// The order of the counters: ECT(1), CE, ECT(0) (kind 174). If false: ECT(0), CE, ECT(1) (kind 172).
    pub is_order_1: bool,
    /// The first [`EcnBytes::fields`] of these are present. ECT(0) and ECT(1) start at 1, CE at 0.
    pub counters: [u32; 3],
    /// Number of counters, 0 to 3.
    pub fields: u8,
}

impl EcnBytes {
    /// The ECN codepoint that each counter is about, in the order of the option (RFC 9768 table 5).
    #[must_use]
    pub const fn codepoints(is_order_1: bool) -> [u8; 3] {
        if is_order_1 { [1, CE, 2] } else { [2, CE, 1] }
    }
}

/// Counters of accurate ECN. Bytes are payload of packets with ECT(1), ECT(0) and CE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnCounts {
    /// Packets received with CE, pure ACKs included.
    pub received_ce: u32,
    /// Bytes received.
    pub received: [u32; 3],
    /// Bytes delivered, according to the peer's options.
    pub delivered: [u32; 3],
}

/// Whether the peer's option was seen (`saw_accecn_opt`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Seen {
    #[default]
    No,
    Empty,
    Counters,
    /// A counter was zeroed on the way.
    Spoilt,
}

/// What the path breaks (`accecn_fail_mode`).
#[derive(Clone, Copy, Debug, Default)]
struct Fails {
    /// ACE that this side sends, and that it receives: neither side's packets are ECN-capable then.
    ace_sent: bool,
    ace_received: bool,
    /// The same for the option.
    option_sent: bool,
    option_received: bool,
}

/// Accurate ECN of one connection.
#[derive(Clone, Debug, Default)]
pub(super) struct AccEcn {
    counts: EcnCounts,
    fails: Fails,
    seen: Seen,
    /// ECN codepoint of the peer's SYN or SYN-ACK (`syn_ect_rcv`).
    syn: u8,
    /// That of its newest packet (`prev_ecnfield`).
    last: u8,
    /// A packet with an ECN codepoint has arrived.
    is_seen: bool,
    /// CE since the last ACK sent (`received_ce_pending`).
    pending: u32,
    /// An ACK is wanted at once, if one is due at all.
    is_urgent: bool,
    /// Options that must be sent (`accecn_opt_demand`), and the counters that they need
    /// (`accecn_minlen`).
    demand: u8,
    needed: u8,
    option_sent: Nanos,
    /// Start of the DSACK that was sent with the last option.
    dsack: Option<u64>,
    /// The peer's segment that is being processed: its option, and whether its timestamp is new.
    option: Option<EcnBytes>,
    is_newer: bool,
    /// The counter that grows by what is acknowledged if no option says otherwise (`est_ecnfield`).
    estimate: Option<usize>,
    /// Smoothed number of packets that an ACK acknowledges, times 64 (`pkts_acked_ewma`).
    acked: u32,
}

/// The data that an ACK delivered, for [`AccEcn::marked`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivered {
    pub(super) packets: u32,
    pub(super) bytes: u32,
    pub(super) mss: u32,
    /// Packets with CE known before this ACK.
    pub(super) known_ce: u64,
    /// `packets` is exact: SACK, or nothing is being recovered.
    pub(super) is_exact: bool,
}

/// ACE as flags.
pub(super) fn flags(ace: u8) -> Flags {
    let ae = if ace & 4 != 0 { Flags::AE.0 } else { 0 };
    Flags(ae | (ace & 3) << 6)
}

/// ACE of flags.
pub(super) fn ace(flags: Flags) -> u8 {
    u8::from(flags.has(Flags::AE)) << 2 | flags.0 >> 6
}

/// Whether a SYN asks for accurate ECN: any ACE but 000 and 011 (RFC 9768 section 3.1.2).
pub(super) fn is_asked(syn: Flags) -> bool {
    !matches!(ace(syn), 0b000 | 0b011)
}

/// ACE of a SYN-ACK, and of the ACK of a SYN-ACK: it reflects the ECN codepoint of the packet that it answers
/// (RFC 9768 tables 2 and 3).
pub(super) fn reflect(codepoint: u8) -> u8 {
    [0b010, 0b011, 0b100, 0b110][usize::from(codepoint & 3)]
}

/// The codepoint that such an ACE reflects. Undefined values count as ECN-capable.
fn reflected(ace: u8) -> u8 {
    match ace {
        0b010 => 0,
        0b110 => CE,
        0b000 | 0b100 => ECT0,
        _ => 1,
    }
}

impl AccEcn {
    /// A SYN that asks for accurate ECN arrived, with this codepoint in its IP header.
    pub(super) fn asked(codepoint: u8) -> AccEcn {
        AccEcn { syn: codepoint, last: codepoint, demand: 1, ..AccEcn::default() }
    }

    /// The SYN arrived again.
    pub(super) fn asked_again(&mut self, flags: Flags, codepoint: u8) {
        self.syn = codepoint;
        self.last = codepoint;
        self.fails.ace_received |= ace(flags) == 0;
    }

    /// The SYN-ACK was sent `retries` times again: if it asked twice without an answer, ACE is given up.
    pub(super) fn sent_again(&mut self, retries: u32) {
        self.fails.ace_sent |= retries > 1;
    }

    /// A SYN-ACK that grants accurate ECN arrived (RFC 9768 section 3.1.1). None of our SYNs is ECN-capable,
    /// so no feedback of an ECN-capable one is right.
    pub(super) fn granted(
        flags: Flags,
        codepoint: u8,
        option: Option<&EcnBytes>,
        host: AccEcnHost,
    ) -> AccEcn {
        let mut new = AccEcn { syn: codepoint, ..AccEcn::default() };
        if let Some(option) = option {
            new.see(option);
            new.demand = 2;
        }
        let is_marked = codepoint == CE;
        if is_marked && ace(flags) != 0b101 && host.fallback && reflected(ace(flags)) != 0 {
            new.fails.ace_received = true;
        } else if is_marked {
            new.counts.received_ce = 1;
            new.pending = 1;
        }
        new
    }

    /// ACE of the answer to the peer's SYN or SYN-ACK.
    pub(super) fn reflection(&self) -> u8 {
        reflect(self.syn)
    }

    /// A SYN-ACK arrived again after the handshake.
    pub(super) fn granted_again(&mut self, codepoint: u8, option: Option<&EcnBytes>) {
        self.syn = codepoint;
        if let Some(option) = option
            && !matches!(self.seen, Seen::Counters | Seen::Spoilt)
        {
            self.see(option);
            self.demand = self.demand.max(1);
        }
    }

    /// The ACK that completes the handshake (RFC 9768 section 3.2.2.1 and table 4). Returns the packets with
    /// CE that it reports.
    pub(super) fn third_ack(
        &mut self,
        flags: Flags,
        is_empty: bool,
        option: Option<&EcnBytes>,
        host: AccEcnHost,
    ) -> u64 {
        if let Some(option) = option {
            self.see(option);
        }
        match ace(flags) {
            0b000 => {
                // The path clears the flags.
                self.fails.ace_received = true;
                self.fails.option_received = true;
                0
            }
            0b001 | 0b101 | 0b111 => 0,
            _ if !is_empty => 0,
            // The SYN-ACK was not ECN-capable.
            ace if host.fallback && reflected(ace) != 0 => {
                self.fails.ace_received = true;
                0
            }
            ace => u64::from(reflected(ace) == CE),
        }
    }

    /// Notes that the option was seen, and whether it was zeroed on the way (RFC 9768 section 3.2.3.2.4).
    fn see(&mut self, option: &EcnBytes) {
        let is_zeroed = |at: usize| option.counters[at] == 0;
        self.seen = match option.fields {
            0 => Seen::Empty,
            _ if is_zeroed(0) => Seen::Spoilt,
            3.. if is_zeroed(2) => Seen::Spoilt,
            _ => Seen::Counters,
        };
        self.fails.option_received |= self.seen == Seen::Spoilt;
    }

    /// Whether packets are ECN-capable, pure ACKs and retransmissions included.
    pub(super) fn is_capable(&self) -> bool {
        !self.fails.ace_sent && !self.fails.ace_received
    }

    pub(super) fn counts(&self) -> EcnCounts {
        self.counts
    }

    /// A packet of `payload` bytes, which are `packets` packets on the wire, was accepted.
    pub(super) fn receive(&mut self, codepoint: u8, payload: u32, packets: u32) {
        if codepoint != 0 {
            self.is_seen = true;
            let marked = if codepoint == CE { packets.max(1) } else { 0 };
            self.counts.received_ce = self.counts.received_ce.wrapping_add(marked);
            self.pending = (self.pending + marked).min(0xf);
            if payload > 0 {
                // A counter must be sent before the next one wraps (RFC 9768 section 3.2.3.3).
                let at = EcnBytes::codepoints(true).iter().position(|&of| of == codepoint).unwrap_or(0);
                let counter = &mut self.counts.received[slot(codepoint)];
                let before = *counter;
                *counter = counter.wrapping_add(payload);
                let has_jumped = (before ^ *counter) >> 22 != 0;
                #[allow(clippy::cast_possible_truncation)]
                let field = at as u8 + 1;
                self.needed = self.needed.max(field);
                if has_jumped {
                    self.demand = self.demand.max(1);
                }
            }
        }
        // Two ACKs show unambiguously which packet began the change (RFC 9768 section 3.2.2.5.1).
        let is_edge = self.last != codepoint;
        if is_edge || codepoint == CE {
            self.last = codepoint;
            self.is_urgent |= is_edge;
            self.demand = 2;
        }
    }

    /// Whether ECN was seen, so that a packet without it is probably a retransmission.
    pub(super) fn is_seen(&self) -> bool {
        self.is_seen
    }

    /// Whether the ACK that is due must not wait.
    pub(super) fn is_urgent(&self) -> bool {
        self.is_urgent
    }

    /// A segment arrived twice. If the DSACK sent with the last option reported it, the path drops segments
    /// with the option (RFC 9768 section 3.2.3.2.2).
    pub(super) fn duplicate(&mut self, start: u64) {
        self.fails.option_sent |= self.dsack == Some(start);
    }

    /// Whether the next segment carries the option, if there is room.
    pub(super) fn wants_option(&self, now: Nanos, srtt: Span, host: AccEcnHost) -> bool {
        let is_beacon =
            host.beacon > 0 && now.since(self.option_sent).0.saturating_mul(u64::from(host.beacon)) >= srtt.0;
        host.option > 0
            && self.seen != Seen::No
            && (host.option >= 3 || !self.fails.option_sent)
            && (host.option >= 2 || self.demand > 0 || is_beacon)
    }

    /// A segment is sent. Returns its ACE, the option if it fits into `room` bytes, and the number of SACK
    /// blocks that are kept. `dsack` is the start of the DSACK among them.
    pub(super) fn send(
        &mut self,
        now: Nanos,
        room: u32,
        blocks: u8,
        dsack: Option<u64>,
        wants_option: bool,
    ) -> (u8, Option<EcnBytes>, u8) {
        self.pending = 0;
        self.is_urgent = false;
        #[allow(clippy::cast_possible_truncation)]
        let ace = (self.counts.received_ce.wrapping_add(u32::from(super::rx::CEP_INIT)) & 7) as u8;
        let fitting = if wants_option { fit(room, blocks, self.needed) } else { None };
        let Some((fields, blocks)) = fitting else {
            self.dsack = None;
            return (ace, None, blocks);
        };
        self.needed = 0;
        self.option_sent = now;
        self.dsack = dsack;
        self.demand = self.demand.saturating_sub(1);
        (ace, Some(option(self.counts.received, fields)), blocks)
    }

    /// Notes the peer's segment that is processed next, and the bytes sent so far.
    pub(super) fn note(&mut self, option: Option<EcnBytes>, is_newer: bool, sent: u64) {
        (self.option, self.is_newer) = (option, is_newer);
        if self.seen == Seen::No && option.is_none() && sent >= TOO_LATE {
            self.seen = Seen::Spoilt;
            self.fails.option_received = true;
        }
    }

    /// The number of packets with CE among those that an ACK delivers (RFC 9768 appendix A.1 and A.2).
    /// `progresses`: it acknowledges something new. An ACK that does not, and has no newer timestamp, may be
    /// an old one.
    pub(super) fn marked(&mut self, flags: Flags, progresses: bool, what: Delivered) -> u32 {
        if !progresses && !self.is_newer {
            return 0;
        }
        let before = self.counts.delivered[slot(CE)];
        let has_bytes = self.take_option(what.bytes);
        if what.packets > 0 {
            let new = what.packets << EWMA_BITS;
            self.acked = match self.acked {
                0 => new,
                old => ((old << EWMA_BITS) - old + new) >> EWMA_BITS,
            };
            self.acked = self.acked.min(0xffff);
        }
        self.is_urgent |= self.pending >= MAX_PENDING;
        let offset = what.known_ce.wrapping_add(u64::from(super::rx::CEP_INIT));
        let least = u32::from(ace(flags)).wrapping_sub((offset & 7) as u32) & 7;
        if what.packets <= 7 {
            return least;
        }
        // ACE may have wrapped: the most that fits.
        let most = what.packets - ((what.packets - least) & 7);
        if !has_bytes {
            return if self.acked > THINNED << EWMA_BITS { least } else { most };
        }
        let marked = self.counts.delivered[slot(CE)].wrapping_sub(before);
        if marked == 0 {
            return least;
        }
        if what.packets >= 16 && what.is_exact {
            if what.bytes <= marked {
                return most;
            }
            let share = (u64::from(marked) * u64::from(what.packets)).div_ceil(u64::from(what.bytes));
            let share = u32::try_from(share).unwrap_or(u32::MAX);
            return most.min(least + (share & !7));
        }
        if marked > least.saturating_mul(what.mss) {
            most
        } else if marked < most.saturating_mul(what.mss) >> 1 {
            least
        } else {
            most
        }
    }

    /// Updates the byte counters from the option, or from the delivered bytes if they can only have one
    /// codepoint. Returns whether the counters are reliable.
    fn take_option(&mut self, bytes: u32) -> bool {
        if self.fails.option_received {
            return false;
        }
        let Some(option) = self.option else {
            let Some(at) = self.estimate.filter(|_| self.seen != Seen::No) else { return false };
            self.counts.delivered[at] = self.counts.delivered[at].wrapping_add(bytes);
            return true;
        };
        if matches!(self.seen, Seen::No | Seen::Empty) {
            self.see(&option);
        }
        let old = self.estimate;
        let (mut is_sure, mut is_ambiguous, mut changed) = (old.is_some(), false, false);
        let fields = usize::from(option.fields.min(3));
        for (of, value) in
            EcnBytes::codepoints(option.is_order_1).into_iter().zip(option.counters).take(fields)
        {
            let counter = &mut self.counts.delivered[slot(of)];
            let value = value.wrapping_sub(u32::from(of != CE));
            // 24 bits, the highest of which says that the counter went back.
            let step = (value.wrapping_sub(*counter) << 8).cast_signed() >> 8;
            *counter = counter.wrapping_add_signed(step);
            if step < 0 {
                (is_sure, is_ambiguous) = (false, true);
            }
            if step != 0 && old != Some(slot(of)) {
                if changed {
                    (is_sure, is_ambiguous) = (false, true);
                } else {
                    self.estimate = Some(slot(of));
                    changed = true;
                }
            }
        }
        if is_ambiguous {
            self.estimate = None;
        }
        is_sure
    }
}

/// The place of a codepoint in [`EcnCounts`].
fn slot(codepoint: u8) -> usize {
    usize::from(codepoint.clamp(1, 3)) - 1
}

/// The option that reports the bytes received.
pub(super) fn option(received: [u32; 3], fields: u8) -> EcnBytes {
    let counter = |of: u8| received[slot(of)].wrapping_add(u32::from(of != CE)) & 0xff_ffff;
    let mut counters = EcnBytes::codepoints(true).map(counter);
    counters[usize::from(fields)..].fill(0);
    EcnBytes { is_order_1: true, counters, fields }
}

/// Bytes that an option with `fields` counters takes, padding included. It can use the two bytes of padding
/// in front of SACK blocks.
pub(super) fn padded(fields: u8, has_sack: bool) -> u32 {
    let len = 2 + 3 * u32::from(fields);
    let over = len % 4;
    if has_sack && over <= 2 { len - over } else { len.next_multiple_of(4) }
}

/// The most counters that fit into `room` bytes alongside `blocks` SACK blocks, at least `needed`. For
/// counters that are needed, SACK blocks are given up one by one, down to two.
fn fit(room: u32, blocks: u8, needed: u8) -> Option<(u8, u8)> {
    let least = if needed > 0 { blocks.min(2) } else { blocks };
    (least..=blocks).rev().find_map(|kept| {
        let room = room + 8 * u32::from(blocks - kept);
        let fields = (needed..=3).rev().find(|&fields| padded(fields, kept > 0) <= room)?;
        Some((fields, kept))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivered(packets: u32, known_ce: u64) -> Delivered {
        Delivered { packets, bytes: packets * 1000, mss: 1000, known_ce, is_exact: true }
    }

    /// RFC 9768 appendix A.2: ACE counts modulo 8. Of ten packets, none or eight may have been marked.
    #[test]
    fn an_ace_that_may_have_wrapped_counts_most_unless_acks_are_thinned() {
        let mut ecn = AccEcn::default();
        assert_eq!(ecn.marked(flags(0b110), true, delivered(3, 0)), 1);
        assert_eq!(ecn.marked(flags(0b110), true, delivered(10, 1)), 8);
        let mut thinned = AccEcn::default();
        assert_eq!(thinned.marked(flags(0b101), true, delivered(10, 0)), 0);
        assert_eq!(thinned.marked(flags(0b000), false, delivered(0, 0)), 0, "no progress");
    }

    /// The option says that no byte was marked, so ACE has not wrapped.
    #[test]
    fn bytes_tell_what_ace_does_not() {
        let mut ecn = AccEcn { seen: Seen::Counters, estimate: Some(slot(ECT0)), ..AccEcn::default() };
        ecn.note(Some(EcnBytes { is_order_1: false, counters: [10_001, 0, 1], fields: 3 }), false, 0);
        assert_eq!(ecn.marked(flags(0b101), true, delivered(10, 0)), 0);
        assert_eq!(ecn.counts().delivered, [0, 10_000, 0]);
        ecn.note(Some(EcnBytes { is_order_1: false, counters: [12_001, 8000, 1], fields: 3 }), false, 0);
        assert_eq!(ecn.marked(flags(0b101), true, delivered(10, 0)), 8);
    }

    /// RFC 9768 section 3.2.3: 11 bytes with three counters. Alongside timestamps (12 bytes) and SACK.
    #[test]
    fn counters_and_sack_blocks_share_the_room() {
        assert_eq!(fit(40, 0, 3), Some((3, 0)));
        assert_eq!(fit(28 - 20, 2, 1), Some((2, 2)), "ECT(1) and CE beside two blocks");
        assert_eq!(fit(0, 3, 2), Some((2, 2)), "one block is given up");
        assert_eq!(fit(0, 3, 3), None, "the counter of ECT(0) would take two");
        assert_eq!((padded(1, true), padded(1, false), padded(0, true)), (4, 8, 0));
    }

    #[test]
    fn a_counter_wraps_at_24_bits() {
        let received = [0, (1 << 24) - 2, 7];
        assert_eq!(option(received, 3).counters, [1, 7, (1 << 24) - 1]);
        assert_eq!(option([0, (1 << 24) - 1, 0], 3).counters, [1, 0, 0]);
        let mut ecn = AccEcn { seen: Seen::Counters, ..AccEcn::default() };
        ecn.counts.delivered[slot(ECT0)] = (1 << 24) - 1;
        ecn.note(Some(EcnBytes { is_order_1: false, counters: [101, 0, 1], fields: 3 }), false, 0);
        ecn.marked(flags(0b101), true, delivered(1, 0));
        assert_eq!(ecn.counts().delivered[slot(ECT0)], (1 << 24) + 100);
    }
}

//! A TCP segment as the simulator carries it: the meaning of the header, without bytes.

/// One SACK block (RFC 2018), in bytes relative to the acknowledgement number: zero or negative for a DSACK
/// (RFC 2883) of data already acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sack {
    /// First byte of the block, from [`Segment::ack`].
    pub start: i32,
    /// One past its last byte, from [`Segment::ack`].
    pub end: i32,
}

/// ECN codepoint ECT(0) (RFC 3168 section 5).
pub const ECT0: u8 = 2;
/// ECN codepoint ECT(1), the identifier of L4S (RFC 9331 section 4.1).
pub const ECT1: u8 = 1;

/// TCP flags, as in the header's 14th byte. AE, in the header the last bit of the 13th byte, takes the place
/// of URG, which nothing here sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Flags = Flags(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Flags = Flags(0x02);
    /// Reset.
    pub const RST: Flags = Flags(0x04);
    /// Push.
    pub const PSH: Flags = Flags(0x08);
    /// The acknowledgement number is valid.
    pub const ACK: Flags = Flags(0x10);
    /// The flag AE of accurate ECN (RFC 9768 section 3.1), in front of CWR and ECE.
    pub const AE: Flags = Flags(0x20);
    /// ECN echo (RFC 3168).
    pub const ECE: Flags = Flags(0x40);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Flags = Flags(0x80);

    /// Whether all of `other` are set.
    #[must_use]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// The header's 14th byte and the last bit of the 13th.
    #[must_use]
    pub fn wire(self) -> u16 {
        u16::from(self.0 & !Flags::AE.0) | u16::from(self.has(Flags::AE)) << 8
    }

    /// These and `other`.
    #[must_use]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// The rest of a super-packet after the pieces that were cut off.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rest {
    len: u32,
    most: u32,
    flags: Flags,
}

impl Rest {
    /// Whether nothing follows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The SACK blocks of a segment, newest first.
pub type Blocks = [Sack; 3];

/// A segment whose SACK blocks, if any, are stored elsewhere, at the index given by the number.
pub(crate) type Header = Segment<u32>;

/// A segment. Sequence numbers are 64-bit stream offsets that never wrap (SYN is number 0, the first
/// byte of data number 1); traces write them modulo 2^32. A segment may be longer than one MSS where
/// segmentation offload is on (a super-packet).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment<B = Blocks> {
    /// Number of the first byte.
    pub seq: u64,
    /// Next byte expected from the other side.
    pub ack: u64,
    /// Payload bytes.
    pub len: u32,
    /// Receive window in bytes, after scaling (as the peer will understand it).
    pub window: u32,
    /// Timestamp value, milliseconds (RFC 7323).
    pub ts_val: u32,
    /// Timestamp echo reply.
    pub ts_ecr: u32,
    /// The first [`Segment::sacks`] of these are valid.
    pub sack: B,
    /// Number of SACK blocks.
    pub sacks: u8,
    /// Flags.
    pub flags: Flags,
    /// ECN codepoint of the IP packet: [`ECT0`], [`ECT1`], or zero: it is not ECN-capable.
    pub ecn: u8,
    /// A retransmission; not on the wire, for traces and counters.
    pub retransmitted: bool,
}

impl<B> Segment<B> {
    /// A copy with these SACK blocks, or with their index.
    pub(crate) fn with<C>(&self, sack: C) -> Segment<C> {
        let &Segment { seq, ack, len, window, ts_val, ts_ecr, sacks, flags, ecn, retransmitted, .. } = self;
        Segment { seq, ack, len, window, ts_val, ts_ecr, sack, sacks, flags, ecn, retransmitted }
    }

    /// Number after the last byte; SYN and FIN count one.
    #[must_use]
    pub fn end(&self) -> u64 {
        let control = u64::from(self.flags.has(Flags::SYN)) + u64::from(self.flags.has(Flags::FIN));
        self.seq + u64::from(self.len) + control
    }

    /// Bytes of the TCP header: 20, timestamps 12 (with padding; 20 of options on a SYN: MSS, SACK
    /// permitted, timestamps, window scale), SACK blocks 8 each and 4 for kind, length and padding.
    #[must_use]
    pub fn header_len(&self) -> u32 {
        let is_syn = self.flags.has(Flags::SYN);
        if self.sacks == 0 && !is_syn {
            return 32;
        }
        if is_syn { 40 } else { 36 + 8 * u32::from(self.sacks) }
    }

    /// The field ACE of accurate ECN: AE, CWR and ECE (RFC 9768 section 3.2.2).
    #[must_use]
    pub fn ace(&self) -> u8 {
        u8::from(self.flags.has(Flags::AE)) << 2 | self.flags.0 >> 6
    }

    /// Sets ACE to the low three bits of `count`.
    pub(crate) fn set_ace(&mut self, count: u8) {
        let ae = if count & 4 != 0 { Flags::AE.0 } else { 0 };
        self.flags.0 = self.flags.0 & !(Flags::CWR.0 | Flags::ECE.0 | Flags::AE.0) | (count & 3) << 6 | ae;
    }

    /// Cuts the segment to `most` bytes of payload, as a host does for a device without TSO (Linux
    /// `tcp_gso_segment`). Returns the rest, for [`Segment::advance`]. CWR stays on the first piece, FIN and
    /// PSH on the last.
    pub fn cut(&mut self, most: u32) -> Rest {
        let rest = Rest { len: self.len.saturating_sub(most), most, flags: self.flags };
        if rest.len > 0 {
            self.len = most;
            self.flags.0 &= !(Flags::FIN.0 | Flags::PSH.0);
        }
        rest
    }

    /// Becomes the next piece of the rest; `false` if there is none.
    pub fn advance(&mut self, rest: &mut Rest) -> bool {
        if rest.len == 0 {
            return false;
        }
        self.seq += u64::from(self.len);
        self.len = rest.len.min(rest.most);
        rest.len -= self.len;
        let kept = if rest.len == 0 { !Flags::CWR.0 } else { !(Flags::CWR.0 | Flags::FIN.0 | Flags::PSH.0) };
        self.flags.0 = rest.flags.0 & kept;
        true
    }

    /// Bytes on an Ethernet as a queue counts them: 14 of Ethernet header and 20 of IPv4 header included.
    #[must_use]
    pub fn frame_len(&self) -> u32 {
        34 + self.header_len() + self.len
    }
}

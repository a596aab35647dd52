//! Packet descriptors.

/// The ECN field, the low two bits of the DS byte (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: a congestion signal must be a drop.
    #[default]
    NotEct = 0,
    /// ECN-capable, codepoint 01.
    Ect1 = 1,
    /// ECN-capable, codepoint 10.
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// The ECN field of a DS byte.
    #[must_use]
    pub const fn of(dsfield: u8) -> Ecn {
        match dsfield & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
}

/// A packet as a queue sees it: a small descriptor that is copied. The frame stays with the caller, which
/// identifies it by something in the descriptor (an index, a pointer, a cookie).
#[allow(clippy::len_without_is_empty)]
pub trait Packet: Copy + Default + 'static {
    /// Length in bytes as in Linux's qdiscs: with the layer-2 header, without FCS, preamble and gap.
    fn len(&self) -> u32;
    /// Bytes that the packet occupies in memory (Linux `skb->truesize`); at least [`Packet::len`].
    fn truesize(&self) -> u32;
    /// Hash of the 5-tuple, equal for all packets of a flow.
    fn flow_hash(&self) -> u32;
    /// The DS byte: DSCP in the high six bits, ECN in the low two.
    fn dsfield(&self) -> u8;
    /// Changes the DS byte. A caller with a real header rewrites it when the packet is delivered.
    fn set_dsfield(&mut self, dsfield: u8);
    /// Sets CE if the packet is ECN-capable; returns whether it is (also if it already has CE).
    fn set_ce(&mut self) -> bool {
        let is_capable = self.ecn() != Ecn::NotEct;
        if is_capable {
            self.set_dsfield(self.dsfield() | 3);
        }
        is_capable
    }
    /// Sets the DSCP to 0 and leaves the ECN field; the owner is notified ([`crate::Observer::washed`]).
    fn clear_dscp(&mut self) {
        self.set_dsfield(self.dsfield() & 3);
    }
    /// The ECN field of [`Packet::dsfield`].
    fn ecn(&self) -> Ecn {
        Ecn::of(self.dsfield())
    }
}

/// The packet descriptor of this crate, which simulator, live engine and C library use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The owner's handle for the frame; queues return it unchanged.
    pub cookie: u64,
    /// See [`Packet::len`].
    pub len: u32,
    /// See [`Packet::truesize`].
    pub truesize: u32,
    /// See [`Packet::flow_hash`].
    pub flow_hash: u32,
    /// See [`Packet::dsfield`].
    pub dsfield: u8,
}

impl Packet for Header {
    fn len(&self) -> u32 {
        self.len
    }
    fn truesize(&self) -> u32 {
        self.truesize
    }
    fn flow_hash(&self) -> u32 {
        self.flow_hash
    }
    fn dsfield(&self) -> u8 {
        self.dsfield
    }
    fn set_dsfield(&mut self, dsfield: u8) {
        self.dsfield = dsfield;
    }
}

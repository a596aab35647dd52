//! The length of a packet on the link: overhead, minimum length, framing (Linux 6.1
//! `sch_cake.c:cake_calc_overhead`, `cake_overhead`).

use super::InForce;
use super::modes::Framing;
use crate::details::Gso;

/// One step of an average with the weight 1/2^`shift` for the new sample (Linux `cake_ewma`).
pub(super) const fn ewma(average: u64, sample: u64, shift: u32) -> u64 {
    (average - (average >> shift)).wrapping_add(sample >> shift)
}

/// The largest length that is charged for a packet. No super-packet of Linux is longer. With this bound a
/// deficit is paid back in a bounded number of turns.
const LONGEST: u32 = 1 << 20;

/// Statistics of the lengths, with the names of Linux; 16 bits each, as there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// Mean number of bytes before the network header, times 2^16.
    pub avg_netoff: u32,
    /// Longest packet before the overhead.
    pub max_netlen: u16,
    /// Longest packet on the link.
    pub max_adjlen: u16,
    /// Shortest packet before the overhead.
    pub min_netlen: u16,
    /// Shortest packet on the link.
    pub min_adjlen: u16,
}

/// The result for the last ordinary packet; the next packet mostly has the same length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Adjusted {
    len: u32,
    offset: u16,
    adjusted: u32,
}

impl Default for Adjusted {
    /// No result yet: only packets that are queued whole can be this long.
    fn default() -> Self {
        Adjusted { len: u32::MAX, offset: u16::MAX, adjusted: 0 }
    }
}

impl Default for Lengths {
    fn default() -> Self {
        Lengths { avg_netoff: 0, max_netlen: 0, max_adjlen: 0, min_netlen: u16::MAX, min_adjlen: u16::MAX }
    }
}

/// Bytes on the link for a packet of `len` bytes including the overhead (Linux
/// `sch_cake.c:cake_calc_overhead`, `CAKE_ATM_ATM` and `CAKE_ATM_PTM`).
pub(super) const fn framed(framing: Framing, len: u32) -> u32 {
    match framing {
        Framing::None => len,
        Framing::Atm => len.div_ceil(48).saturating_mul(53),
        Framing::Ptm => len.saturating_add(len.div_ceil(64)),
    }
}

impl Lengths {
    /// Resets the lengths, but not the offset, as a change of the overhead does.
    pub(super) const fn clear(&mut self) {
        let fresh = Lengths {
            avg_netoff: self.avg_netoff,
            max_netlen: 0,
            max_adjlen: 0,
            min_netlen: u16::MAX,
            min_adjlen: u16::MAX,
        };
        *self = fresh;
    }

    /// Bytes on the link for one frame of `len` bytes (`cake_calc_overhead`).
    #[allow(clippy::cast_possible_truncation)]
    fn calc_overhead(&mut self, params: &InForce, mut len: u32, offset: u32) -> u32 {
        if params.overhead.from_network {
            len = len.wrapping_sub(offset);
        }
        if u32::from(self.max_netlen) < len {
            self.max_netlen = len as u16;
        }
        if u32::from(self.min_netlen) > len {
            self.min_netlen = len as u16;
        }
        let with_overhead = len.wrapping_add_signed(i32::from(params.overhead.bytes)).cast_signed();
        let len = with_overhead.max(i32::from(params.mpu)).cast_unsigned();
        let len = framed(params.framing, len);
        if u32::from(self.max_adjlen) < len {
            self.max_adjlen = len as u16;
        }
        if u32::from(self.min_adjlen) > len {
            self.min_adjlen = len as u16;
        }
        len
    }

    /// Bytes that a packet of `len` bytes takes on the link (`cake_overhead`). `last` avoids the computation
    /// if nothing has changed.
    pub(super) fn overhead(&mut self, params: &InForce, len: u32, offset: u16, last: &mut Adjusted) -> u32 {
        self.average(offset);
        if len != last.len || offset != last.offset {
            self.adjust_anew(params, len, offset, last);
        }
        last.adjusted
    }

    /// [`Lengths::overhead`] for another length than the last.
    fn adjust_anew(&mut self, params: &InForce, len: u32, offset: u16, last: &mut Adjusted) {
        let adjusted = self.calc_overhead(params, len, offset.into()).min(LONGEST);
        *last = Adjusted { len, offset, adjusted };
    }

    /// The mean number of bytes before the network header (Linux `sch_cake.c:cake_overhead`, `avg_netoff`).
    #[allow(clippy::cast_possible_truncation)]
    fn average(&mut self, offset: u16) {
        self.avg_netoff = ewma(u64::from(self.avg_netoff), u64::from(u32::from(offset) << 16), 8) as u32;
    }

    /// Bytes that a super-packet queued whole takes on the link: the sum over its segments (Linux
    /// `sch_cake.c:cake_overhead`, from `shinfo->gso_size` on).
    pub(super) fn adjusted_whole(&mut self, params: &InForce, len: u32, offset: u16, gso: Gso) -> u32 {
        self.average(offset);
        let offset = offset.into();
        let others = u32::from(gso.segments).saturating_sub(1);
        let segment = gso.size.saturating_add(gso.headers);
        let last = len.wrapping_sub(others.wrapping_mul(segment));
        let front = self.calc_overhead(params, segment, offset).saturating_mul(others);
        front.saturating_add(self.calc_overhead(params, last, offset)).min(LONGEST)
    }
}

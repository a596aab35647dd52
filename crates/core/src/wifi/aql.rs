//! Airtime queue limits: how much airtime may be in flight (Linux 6.1 `sta_info.c`, `tx.c`).

use super::id::Ac;
use super::station::Account;

/// Limits of a station's airtime in flight in a category, us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AqlLimits {
    /// Always allowed. Default 5000 us.
    pub low: u32,
    /// Allowed while the radio's total is below its threshold. Default 12000 us.
    pub high: u32,
}

impl Default for AqlLimits {
    fn default() -> Self {
        AqlLimits { low: 5000, high: 12_000 }
    }
}

/// The estimated airtime of a packet in flight, us: a multiple of 4, at most 4092, because it is stored in 10
/// bits with the packet. 0: the packet was not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Estimate(u16);

impl Estimate {
    /// No estimate.
    pub const ZERO: Estimate = Estimate(0);

    /// Stores `micros` us: the low 16 bits, at most 4095, rounded down to a multiple of 4.
    #[inline]
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub const fn from_micros(micros: u32) -> Estimate {
        let low = micros as u16;
        Estimate(if low > 4095 { 4092 } else { low & !3 })
    }

    /// us.
    #[inline]
    #[must_use]
    pub const fn micros(self) -> u16 {
        self.0
    }
}

/// Sums of estimates in flight over the whole radio.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pending {
    pub(super) total: u32,
    pub(super) by_ac: [u32; 4],
}

impl Pending {
    #[inline]
    pub(super) fn add(&mut self, account: &mut Account, ac: Ac, estimate: Estimate) {
        let micros = u32::from(estimate.0);
        account.pending = account.pending.saturating_add(micros);
        // The number of packets in the sum is bounded by the slots.
        self.by_ac[ac.index()] = self.by_ac[ac.index()].saturating_add(micros);
        self.total = self.total.saturating_add(micros);
    }

    /// A packet is no longer in flight. No number falls below 0.
    #[inline]
    pub(super) fn remove(&mut self, account: Option<&mut Account>, ac: Ac, estimate: Estimate) {
        if let Some(account) = account {
            account.pending = account.pending.saturating_sub(u32::from(estimate.0));
        }
        let taken = u32::from(estimate.0).min(self.by_ac[ac.index()]);
        self.by_ac[ac.index()] -= taken;
        self.total = self.total.saturating_sub(taken);
    }

    /// Whether a station may have one more packet in flight.
    #[inline]
    pub(super) const fn allows(&self, account: &Account, threshold: u32) -> bool {
        account.pending < account.limits.low
            || (self.total < threshold && account.pending < account.limits.high)
    }

    /// Whether the radio may start a round in a category with `listed` queues on its list. An empty list
    /// gives a limit of about 2^31 us, since Linux subtracts one from the number of queues before it
    /// multiplies.
    pub(super) const fn allows_round(&self, ac: Ac, listed: u32, limits: AqlLimits) -> bool {
        let more = listed.wrapping_sub(1).wrapping_mul(limits.low) / 2;
        self.by_ac[ac as usize] < more.wrapping_add(limits.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_has_ten_bits_of_4_us() {
        for (micros, kept) in [(0, 0), (3, 0), (7, 4), (4091, 4088), (4095, 4092), (70, 68), (9000, 4092)] {
            assert_eq!(Estimate::from_micros(micros).micros(), kept);
        }
        // 1 Mbit/s, 8192 bytes: 66042 us; the low 16 bits are 506.
        assert_eq!(Estimate::from_micros(66_042).micros(), 504);
    }

    #[test]
    fn limits_of_a_round() {
        let pending = Pending { total: 14_000, by_ac: [0, 0, 14_000, 0] };
        let limits = AqlLimits::default();
        assert!(!pending.allows_round(Ac::Be, 1, limits));
        assert!(pending.allows_round(Ac::Be, 2, limits)); // 12000 + 2500
        assert!(pending.allows_round(Ac::Be, 0, limits));
    }
}

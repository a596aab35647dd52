//! The state of each station.

use super::aql::AqlLimits;
use super::duration::Estimator;
use super::id::{Ac, InterfaceId};

/// The default weight of a station (Linux 6.1 `IEEE80211_DEFAULT_AIRTIME_WEIGHT`), us per round.
pub(super) const DEFAULT_WEIGHT: u16 = 256;

/// The deficit of a new station, independent of its weight, us.
const FIRST_DEFICIT: i32 = 256;

/// Largest debt of a station from airtime used in another category, us: the time for which a debt is
/// remembered.
const MOST_DEBT: i32 = 100_000;

/// A station's account in one access category.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account {
    pub(super) deficit: i32,
    /// Estimated airtime of packets in flight, us.
    pub(super) pending: u32,
    pub(super) limits: AqlLimits,
    /// The station's queues on the category's lists.
    pub(super) listed: u8,
    /// Tick at which a nonempty queue was last put there.
    pub(super) last_active: u64,
    pub(super) tx_airtime: u64,
    pub(super) rx_airtime: u64,
}

impl Account {
    const fn new(limits: AqlLimits) -> Account {
        Account {
            deficit: FIRST_DEFICIT,
            pending: 0,
            limits,
            listed: 0,
            last_active: 0,
            tx_airtime: 0,
            rx_airtime: 0,
        }
    }

    /// The effective deficit, which decides the station's turn: the deficit less airtime in flight.
    #[inline]
    pub(super) fn effective(&self) -> i64 {
        i64::from(self.deficit) - i64::from(self.pending)
    }

    /// Adds `turns` weights to the deficit.
    #[inline]
    pub(super) fn refill(&mut self, weight: u16, turns: i64) {
        let sum = i64::from(self.deficit) + turns * i64::from(weight);
        self.deficit = i32::try_from(sum).unwrap_or(i32::MAX);
    }

    /// Charges airtime that was used in another category, us. The debt is limited to [`MOST_DEBT`], so that a
    /// station that has stopped is not locked out for long.
    #[inline]
    pub(super) fn charge(&mut self, micros: u32) {
        let charged = self.deficit.saturating_sub_unsigned(micros).max(-MOST_DEBT);
        self.deficit = charged.min(self.deficit);
    }

    /// Number of refills until the effective deficit is not negative; 0 if it already is not.
    pub(super) fn refills_needed(&self, weight: u16) -> i64 {
        let debt = -self.effective();
        let weight = i64::from(weight);
        if debt <= 0 { 0 } else { (debt + weight - 1) / weight }
    }
}

/// One station, or a free slot.
#[derive(Clone, Copy, Debug)]
pub struct Station {
    pub(super) is_present: bool,
    /// Whether it uses the control law of slow stations.
    pub(super) is_slow: bool,
    pub(super) interface: InterfaceId,
    pub(super) weight: u16,
    /// A bit for each TID whose queue is stopped.
    pub(super) stopped: u16,
    pub(super) estimator: Estimator,
    pub(super) accounts: [Account; 4],
}

impl Default for Station {
    fn default() -> Self {
        Station::ABSENT
    }
}

impl Station {
    pub(super) const ABSENT: Station = Station {
        is_present: false,
        is_slow: false,
        interface: InterfaceId(0),
        weight: DEFAULT_WEIGHT,
        stopped: 0,
        estimator: Estimator::Unknown,
        accounts: [Account::new(AqlLimits { low: 0, high: 0 }); 4],
    };

    pub(super) fn new(interface: InterfaceId, limits: &[AqlLimits; 4]) -> Station {
        Station {
            is_present: true,
            interface,
            accounts: Ac::ALL.map(|ac| Account::new(limits[ac.index()])),
            ..Station::ABSENT
        }
    }

    #[inline]
    pub(super) const fn account(&mut self, ac: Ac) -> &mut Account {
        &mut self.accounts[ac as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deficits_computed_by_hand() {
        let mut account = Account::new(AqlLimits { low: 0, high: 0 });
        assert_eq!(account.refills_needed(256), 0);
        account.deficit = -1;
        assert_eq!(account.refills_needed(256), 1);
        account.pending = 512;
        assert_eq!((account.effective(), account.refills_needed(256)), (-513, 3));
        account.refill(256, 3);
        assert_eq!(account.effective(), 255);
        account.refill(u16::MAX, 1 << 40);
        assert_eq!(account.deficit, i32::MAX);
    }

    #[test]
    fn a_charge_from_another_category_ends_at_100_ms() {
        let mut account = Account::new(AqlLimits { low: 0, high: 0 });
        account.charge(1256);
        assert_eq!(account.deficit, -1000);
        account.charge(u32::MAX);
        assert_eq!(account.deficit, -100_000);
        account.deficit = -200_000;
        account.charge(1);
        assert_eq!(account.deficit, -200_000, "a debt of its own stays");
    }

    #[test]
    fn a_station_is_small() {
        assert!(size_of::<Station>() <= 256, "{}", size_of::<Station>());
    }
}

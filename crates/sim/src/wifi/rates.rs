//! The rates at which a device sends to another.

use goodqueue::{Nanos, Rng, Span};

use super::minstrel::Minstrel;
use super::phy::PhyRate;

/// How the rate to a peer is chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum RateSpec {
    /// Always this rate.
    Fixed(PhyRate),
    /// Each rate from its time on, in order of time, the first from the beginning: a client that walks away.
    Schedule(Vec<(Span, PhyRate)>),
    /// By trial among these, as Minstrel-HT does it.
    Minstrel(Vec<PhyRate>),
}

/// How often the hardware tries a rate before it gives a PPDU back (ath9k's limit).
const TRIES: u8 = 10;

/// The rates of one PPDU, in the order in which the hardware tries them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Series {
    rates: [(PhyRate, u8); 4],
    len: u8,
}

impl Series {
    fn one(rate: PhyRate) -> Series {
        Series { rates: [(rate, TRIES); 4], len: 1 }
    }

    /// The first four of `rates`, each with its tries.
    pub(super) fn of(rates: &[(PhyRate, u8); 4]) -> Series {
        Series { rates: *rates, len: 4 }
    }

    fn rates(&self) -> &[(PhyRate, u8)] {
        &self.rates[..usize::from(self.len)]
    }

    /// The rate of attempt number `attempt`, from 0, and its place in the series; `None` if they are used up.
    pub(super) fn at(&self, attempt: u32) -> Option<(PhyRate, usize)> {
        let mut left = attempt;
        for (place, &(rate, tries)) in self.rates().iter().enumerate() {
            match left.checked_sub(u32::from(tries)) {
                None => return Some((rate, place)),
                Some(rest) => left = rest,
            }
        }
        None
    }

    /// Number of the last attempt.
    pub(super) fn last(&self) -> u32 {
        self.rates().iter().map(|&(_, tries)| u32::from(tries)).sum::<u32>().saturating_sub(1)
    }

    /// Whether MPDUs can be aggregated at all of them.
    pub(super) fn can_aggregate(&self) -> bool {
        self.rates().iter().all(|(rate, _)| rate.can_aggregate())
    }

    /// Bytes that fit into `span` at every rate.
    pub(super) fn bytes_in(&self, span: Span) -> u64 {
        self.rates().iter().map(|(rate, _)| rate.bytes_in(span)).min().unwrap_or(0)
    }
}

/// The throughput that rate control expects at a rate with almost no loss, kbit/s: packets of 1200 bytes,
/// aggregates as long as before the first measurement, nine in ten received, and 100 us for each aggregate
/// (Linux 6.1 `rc80211_minstrel_ht.c:minstrel_ht_get_tp_avg`).
fn expected_kbps(rate: &PhyRate) -> u32 {
    let data = rate.ppdu(1_200).0 - rate.preamble().0;
    let aggregate = match (rate.can_aggregate(), rate.bps()) {
        (false, _) => 1,
        (true, ..15_000_000) => 2,
        (true, ..60_000_000) => 4,
        (true, ..150_000_000) => 8,
        (true, _) => 16,
    };
    let packets = 900_000_000 / (data + 100_000 / aggregate).max(1);
    u32::try_from(packets * 1_200 * 8 / 1_024).unwrap_or(u32::MAX)
}

/// Rate control at work.
#[derive(Debug)]
pub(super) enum RateControl {
    Fixed(PhyRate),
    Schedule { steps: Vec<(Span, PhyRate)>, at: usize },
    Minstrel(Box<Minstrel>),
}

impl RateControl {
    /// `None`: there is no rate.
    pub(super) fn new(spec: &RateSpec, rng: Rng) -> Option<RateControl> {
        match spec {
            RateSpec::Minstrel(rates) => {
                Minstrel::new(rates, rng).map(|minstrel| RateControl::Minstrel(Box::new(minstrel)))
            }
            RateSpec::Fixed(rate) => Some(RateControl::Fixed(*rate)),
            RateSpec::Schedule(steps) if steps.is_empty() => None,
            RateSpec::Schedule(steps) => Some(RateControl::Schedule { steps: steps.clone(), at: 0 }),
        }
    }

    /// Whether the peer can have a block ack agreement.
    pub(super) fn can_aggregate(&self) -> bool {
        match self {
            RateControl::Fixed(rate) => rate.can_aggregate(),
            RateControl::Schedule { steps, .. } => steps.iter().any(|(_, rate)| rate.can_aggregate()),
            RateControl::Minstrel(minstrel) => minstrel.can_aggregate(),
        }
    }

    /// The rates for a new PPDU, and whether it must be a single MPDU that samples a rate.
    pub(super) fn series(&mut self, now: Nanos) -> (Series, bool) {
        match self {
            RateControl::Minstrel(minstrel) => minstrel.series(now),
            RateControl::Fixed(rate) => (Series::one(*rate), false),
            RateControl::Schedule { steps, at } => {
                while steps.get(*at + 1).is_some_and(|(from, _)| from.0 <= now.0) {
                    *at += 1;
                }
                (Series::one(steps[*at].1), false)
            }
        }
    }

    /// Takes the result of an attempt at `rate`: of `sent` MPDUs, `received` were received.
    pub(super) fn report(&mut self, rate: &PhyRate, sent: usize, received: usize) {
        if let RateControl::Minstrel(minstrel) = self {
            minstrel.report(rate, sent as u32, received as u32);
        }
    }

    /// The expected throughput to the peer, kbit/s. `rate` is that of its last transmission.
    pub(super) fn expected_kbps(&self, rate: &PhyRate) -> u32 {
        match self {
            RateControl::Minstrel(minstrel) => minstrel.expected_throughput(),
            _ => expected_kbps(rate),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(text: &str) -> PhyRate {
        text.parse().expect("a rate")
    }

    #[test]
    fn a_schedule_goes_on_with_time() {
        let steps = vec![
            (Span::ZERO, rate("mcs15")),
            (Span::from_secs(1), rate("mcs4")),
            (Span::from_secs(2), rate("mcs0")),
        ];
        let mut control = RateControl::new(&RateSpec::Schedule(steps), Rng::new(1)).expect("rates");
        let mut at = |ms| control.series(Nanos::ZERO + Span::from_millis(ms)).0.at(0).expect("a rate").0;
        assert_eq!([at(0), at(999), at(1000), at(5000)], ["mcs15", "mcs15", "mcs4", "mcs0"].map(rate));
        assert!(RateControl::new(&RateSpec::Schedule(Vec::new()), Rng::new(1)).is_none());
    }

    #[test]
    fn a_series_ends() {
        let mut series = Series::one(rate("mcs7"));
        series.rates[1] = (rate("ofdm6"), 2);
        series.len = 2;
        assert_eq!(series.at(9), Some((rate("mcs7"), 0)));
        assert_eq!(series.at(11), Some((rate("ofdm6"), 1)));
        assert_eq!(series.at(12), None);
        assert!(!series.can_aggregate());
        assert_eq!(series.bytes_in(Span::from_millis(4)), rate("ofdm6").bytes_in(Span::from_millis(4)));
    }
}

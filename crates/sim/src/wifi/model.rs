//! The analytic airtime model of "Ending the Anomaly" (Høiland-Jørgensen et al., USENIX ATC 2017, section
//! 2.2.1): what stations that always have something to receive get from one radio, with and without airtime
//! fairness.
//!
//! The model has no collisions, retries, acknowledgement traffic or uplink, so a measurement is below it.

/// What a transmission takes in addition to its data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constants {
    /// DCF interframe space, us.
    pub difs: f64,
    /// Short interframe space, us.
    pub sifs: f64,
    /// Mean backoff, us.
    pub backoff: f64,
    /// Preamble and header of the physical layer, us.
    pub phy: f64,
    /// A block ack, bytes, sent at the station's rate.
    pub block_ack: f64,
    /// Delimiter, bytes for each packet.
    pub delimiter: f64,
    /// MAC header with LLC/SNAP, bytes for each packet.
    pub mac: f64,
    /// Frame check sequence, bytes for each packet.
    pub fcs: f64,
}

impl Constants {
    /// 5 GHz: a DIFS of 34 us and a SIFS of 16 us; the mean of a backoff of 0 to 15 slots of 9 us is 68 us.
    pub const GHZ5: Constants = Constants {
        difs: 34.0,
        sifs: 16.0,
        backoff: 67.5,
        phy: 32.0,
        block_ack: 58.0,
        delimiter: 4.0,
        mac: 34.0,
        fcs: 4.0,
    };
    /// 2.4 GHz with short slots: a DIFS of 28 us and a SIFS of 10 us.
    pub const GHZ2_4: Constants = Constants { difs: 28.0, sifs: 10.0, ..Constants::GHZ5 };
}

/// A station that always has something to receive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Station {
    /// Rate of the physical layer, Mbit/s.
    pub rate: f64,
    /// Mean bytes of packets in an aggregate.
    pub aggregate: f64,
    /// Bytes of a packet.
    pub packet: f64,
    /// Weight, for [`Sharing::Weighted`].
    pub weight: f64,
}

/// How the air is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Every station has as many transmissions as any other (the 802.11 anomaly). As in the paper, the
    /// overhead counts to no station.
    Transmissions,
    /// The same, but the overhead of a transmission counts to its station.
    TransmissionsWithOverhead,
    /// Airtime in proportion to the weights.
    Weighted,
}

/// The result for a station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Time on the air of its data, us (T_data).
    pub data: f64,
    /// The overhead of a transmission to it (T_oh), us.
    pub overhead: f64,
    /// Rate if it is alone, Mbit/s (R0).
    pub alone: f64,
    /// Share of the airtime (T).
    pub share: f64,
    /// Rate, Mbit/s (R).
    pub rate: f64,
}

impl Station {
    /// Bytes on the air: each packet with delimiter, header and check sequence, padded to four bytes.
    fn on_air(&self, with: &Constants) -> f64 {
        let unpadded = self.packet + with.delimiter + with.mac + with.fcs;
        let padded = (unpadded / 4.0).ceil() * 4.0;
        self.aggregate / self.packet * padded
    }

    fn data(&self, with: &Constants) -> f64 {
        with.phy + 8.0 * self.on_air(with) / self.rate
    }

    fn overhead(&self, with: &Constants) -> f64 {
        let ack = with.phy + 8.0 * with.block_ack / self.rate;
        with.difs + with.sifs + ack + with.backoff
    }

    /// What the shares are proportional to.
    fn part(&self, with: &Constants, sharing: Sharing) -> f64 {
        match sharing {
            Sharing::Transmissions => self.data(with),
            Sharing::TransmissionsWithOverhead => self.data(with) + self.overhead(with),
            Sharing::Weighted => self.weight,
        }
    }
}

/// The result for each of `stations`, in their order. All numbers of a station must be more than zero.
#[must_use]
pub fn airtime(stations: &[Station], with: &Constants, sharing: Sharing) -> Vec<Outcome> {
    let total: f64 = stations.iter().map(|station| station.part(with, sharing)).sum();
    let outcome = |station: &Station| {
        let (data, overhead) = (station.data(with), station.overhead(with));
        let alone = 8.0 * station.aggregate / (data + overhead);
        let share = station.part(with, sharing) / total;
        Outcome { data, overhead, alone, share, rate: share * alone }
    };
    stations.iter().map(outcome).collect()
}

/// Table 1 of the paper: the mean aggregates that were measured. Two stations at HT20 MCS 15 and one at MCS
/// 0, short guard interval, packets of 1500 bytes.
#[must_use]
pub fn table1(is_fair: bool) -> [Station; 3] {
    let station = |rate, aggregate| Station { rate, aggregate, packet: 1500.0, weight: 1.0 };
    let fast = if is_fair { [28_434.0, 28_557.0] } else { [6_892.0, 7_833.0] };
    [station(144.4, fast[0]), station(144.4, fast[1]), station(7.2, 2_914.0)]
}

/// The values of the paper's Table 1 for R0 and R, Mbit/s, in the order of [`table1`].
#[must_use]
pub const fn table1_published(is_fair: bool) -> [(f64, f64); 3] {
    if is_fair {
        [(126.7, 42.2), (126.8, 42.3), (6.5, 2.2)]
    } else {
        [(97.3, 9.7), (101.1, 11.4), (6.5, 5.1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounded(stations: &[Outcome]) -> Vec<(f64, f64)> {
        let tenth = |value: f64| (value * 10.0).round() / 10.0;
        stations.iter().map(|station| (tenth(station.alone), tenth(station.rate))).collect()
    }

    fn total(stations: &[Outcome]) -> f64 {
        (stations.iter().map(|station| station.rate).sum::<f64>() * 10.0).round() / 10.0
    }

    #[test]
    fn table_1_without_fairness() {
        let of = |with| airtime(&table1(false), with, Sharing::Transmissions);
        let (a, b) = (of(&Constants::GHZ5), of(&Constants::GHZ2_4));
        assert_eq!(rounded(&a), [(95.4, 9.5), (99.2, 11.1), (6.5, 5.1)]);
        assert_eq!(rounded(&b), [(97.5, 9.7), (101.2, 11.3), (6.5, 5.2)]);
        assert_eq!((total(&a), total(&b)), (25.8, 26.2));
        let shares: Vec<f64> = a.iter().map(|s| (s.share * 1e4).round() / 1e4).collect();
        assert_eq!(shares, [0.0996, 0.1121, 0.7883]);
        let data: Vec<f64> = a.iter().map(|s| (s.data * 10.0).round() / 10.0).collect();
        assert_eq!(data, [425.0, 478.7, 3364.8]);
        let overhead = |of: &[Outcome]| [0, 2].map(|s: usize| (of[s].overhead * 10.0).round() / 10.0);
        assert_eq!((overhead(&a), overhead(&b)), ([152.7, 213.9], [140.7, 201.9]));
    }

    #[test]
    fn table_1_with_airtime_fairness() {
        let of = |with| airtime(&table1(true), with, Sharing::Weighted);
        let (a, b) = (of(&Constants::GHZ5), of(&Constants::GHZ2_4));
        assert_eq!(rounded(&a), [(125.9, 42.0), (126.0, 42.0), (6.5, 2.2)]);
        assert_eq!(rounded(&b), [(126.8, 42.3), (126.8, 42.3), (6.5, 2.2)]);
        assert_eq!((total(&a), total(&b)), (86.1, 86.7));
    }

    #[test]
    fn the_papers_own_rates_alone_are_met_within_two_and_a_half_percent() {
        for is_fair in [false, true] {
            for with in [Constants::GHZ5, Constants::GHZ2_4] {
                let ours = airtime(&table1(is_fair), &with, Sharing::Weighted);
                for (ours, (alone, _)) in ours.iter().zip(table1_published(is_fair)) {
                    assert!((ours.alone / alone - 1.0).abs() < 0.025, "{} {alone}", ours.alone);
                }
            }
        }
    }

    /// With the overhead counted, the slow station has 3578.7 of 577.7 + 631.4 + 3578.7 us.
    #[test]
    fn shares_with_overhead_and_with_weights() {
        let stations = table1(false);
        let counted = airtime(&stations, &Constants::GHZ5, Sharing::TransmissionsWithOverhead);
        assert_eq!((counted[2].share * 1e4).round(), 7475.0);
        let mut weighted = stations;
        weighted[0].weight = 2.0;
        let shares = airtime(&weighted, &Constants::GHZ5, Sharing::Weighted);
        assert_eq!(shares.iter().map(|s| s.share).collect::<Vec<_>>(), [0.5, 0.25, 0.25]);
    }
}

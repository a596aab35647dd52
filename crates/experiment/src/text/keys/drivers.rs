//! The drivers of a Wi-Fi network, each named by the version of Linux whose behaviour it has.

use super::key::Kind;

/// A behaviour of a driver in one version of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    /// Its packets wait in a queueing discipline; otherwise in mac80211's queues by station and TID.
    Qdisc,
    /// A station whose turn comes while the hardware queue is full keeps it (`turns = "kept"`).
    KeepsTurns,
    /// Stations share airtime (`airtime = true`); otherwise they take turns.
    Airtime,
    /// The airtime scheduler is ath9k's own: a station that becomes active goes to the tail instead of the
    /// head of its list, and no airtime is forgotten. Otherwise it is mac80211's.
    OwnScheduler,
    /// Stations that become active go first (`sparse = true`).
    SparseFirst,
    /// Airtime queue limits (`limit = "aql"`).
    Aql,
}

/// A driver as it was in one version of Linux.
#[derive(Debug)]
pub(crate) struct Driver {
    /// Its name in a file: the driver, `-`, and the version.
    pub(crate) word: &'static str,
    /// Its behaviours.
    pub(crate) does: &'static [Does],
}

use Does::{Airtime, Aql, KeepsTurns, OwnScheduler, Qdisc, SparseFirst};

/// The versions between which a modelled behaviour differs; the newest of each driver is last.
pub(crate) static DRIVERS: [Driver; 7] = [
    // Linux 3.17 to 4.9 `xmit.c`: `ath_tx_start`, `ATH_MAX_QDEPTH`, `ath_txq_schedule`.
    Driver { word: "ath9k-4.4", does: &[Qdisc] },
    // Commit 50f08edf9809: mac80211's intermediate queues.
    Driver { word: "ath9k-4.10", does: &[] },
    // Commit 63fefa050477, and "Ending the Anomaly" (ATC 2017), section 3.2; until 5.0.
    Driver { word: "ath9k-4.11", does: &[Airtime, OwnScheduler, SparseFirst, KeepsTurns] },
    // Linux 6.1.192 `xmit.c` and mac80211 `tx.c`: `ieee80211_next_txq`.
    Driver { word: "ath9k-6.1", does: &[Airtime, KeepsTurns] },
    // `TARGET_NUM_MSDU_DESC`; mac80211's queues stop while the firmware is full.
    Driver { word: "ath10k-4.4", does: &[Qdisc] },
    // mac80211's queues with flows and `CoDel` (4.9), before its airtime scheduler (5.1) and AQL (5.5).
    Driver { word: "ath10k-4.19", does: &[] },
    // Linux 6.1.192 `mac.c`: `NL80211_EXT_FEATURE_AQL`, `NL80211_EXT_FEATURE_AIRTIME_FAIRNESS`.
    Driver { word: "ath10k-6.1", does: &[Airtime, Aql] },
];

/// The driver of an access point by default.
pub(crate) const NEWEST: &str = "ath9k";
/// The driver of stations by default.
pub(crate) const OF_STATIONS: &str = "ath9k-4.4";

/// The words that `driver` may have. A word without a version means the newest one.
pub(crate) const WORDS: Kind = Kind::OneOf(&[
    Kind::Word("ath9k"),
    Kind::Word("ath9k-4.4"),
    Kind::Word("ath9k-4.10"),
    Kind::Word("ath9k-4.11"),
    Kind::Word("ath9k-6.1"),
    Kind::Word("ath10k"),
    Kind::Word("ath10k-4.4"),
    Kind::Word("ath10k-4.19"),
    Kind::Word("ath10k-6.1"),
]);

impl Driver {
    /// The driver that `word` names.
    pub(crate) fn named(word: &str) -> Option<&'static Driver> {
        DRIVERS.iter().rev().find(|driver| driver.word == word || driver.name() == word)
    }

    /// Its name without a version.
    pub(crate) fn name(&self) -> &'static str {
        self.word.split('-').next().unwrap_or(self.word)
    }

    pub(crate) fn does(&self, what: Does) -> bool {
        self.does.contains(&what)
    }

    pub(crate) fn is_ath9k(&self) -> bool {
        self.name() == "ath9k"
    }

    /// Whether it has its own FIFOs below a queueing discipline.
    pub(crate) fn has_fifos(&self) -> bool {
        self.is_ath9k() && self.does(Qdisc)
    }

    /// The default of `above`: what is above its firmware.
    pub(crate) fn above(&self) -> &'static str {
        if self.does(Qdisc) { "qdisc" } else { "fq_codel" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_names_a_driver_and_every_driver_has_a_word() {
        let Kind::OneOf(words) = WORDS else { panic!("words") };
        let words: Vec<&str> = words
            .iter()
            .map(|kind| if let Kind::Word(word) = kind { *word } else { panic!("a word") })
            .collect();
        for word in &words {
            assert!(Driver::named(word).is_some(), "{word}");
        }
        for driver in &DRIVERS {
            assert!(words.contains(&driver.word), "{}", driver.word);
            assert_eq!(Driver::named(driver.word).map(|found| found.word), Some(driver.word));
        }
        assert_eq!(Driver::named("ath9k").map(|found| found.word), Some("ath9k-6.1"));
        assert_eq!(Driver::named("ath10k").map(|found| found.word), Some("ath10k-6.1"));
        assert!(Driver::named("ath9k-4.12").is_none() && Driver::named("stock").is_none());
    }

    /// docs/experiments.md has a line for each driver that says what it does.
    #[test]
    fn the_documentation_lists_every_version() {
        let docs = include_str!("../../../../../docs/experiments.md");
        for driver in &DRIVERS {
            let row = docs.lines().find(|line| line.starts_with(&format!("| `{}` |", driver.word)));
            let row = row.unwrap_or_else(|| panic!("no row for {}", driver.word));
            let says = |word: &str| row.contains(word);
            assert_eq!(says("queue discipline"), driver.does(Qdisc), "{row}");
            assert_eq!(says("airtime fairness"), driver.does(Airtime), "{row}");
            assert_eq!(says("its own scheduler"), driver.does(OwnScheduler), "{row}");
            assert_eq!(says("sparse stations first"), driver.does(SparseFirst), "{row}");
            assert_eq!(says("turns kept"), driver.does(KeepsTurns), "{row}");
            assert_eq!(says("AQL"), driver.does(Aql), "{row}");
        }
    }
}

//! What mac80211 shows only in debugfs: deficits, and the airtime that waits in the hardware.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::Serialize;

use super::{Mac, Radio};

/// Where debugfs is mounted.
const MOUNTED: &str = "/sys/kernel/debug";

/// Values of the four access categories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PerAc<T> {
    /// Voice.
    #[serde(rename = "VO")]
    pub vo: T,
    /// Video.
    #[serde(rename = "VI")]
    pub vi: T,
    /// Best effort.
    #[serde(rename = "BE")]
    pub be: T,
    /// Background.
    #[serde(rename = "BK")]
    pub bk: T,
}

/// A station's files `airtime` and `aql` (`net/mac80211/debugfs_sta.c`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Deficits {
    /// The air that it may still use in this round, us; below zero if it has used more. `None` in Linux 5.16
    /// to 6.0, which scheduled by virtual time.
    pub deficit_us: Option<PerAc<i64>>,
    /// Estimated airtime of its packets in the hardware, us.
    pub pending_us: Option<PerAc<i64>>,
    /// Pending airtime that it may always have, us.
    pub limit_low_us: Option<PerAc<i64>>,
    /// Pending airtime that it may have while the radio has little, us.
    pub limit_high_us: Option<PerAc<i64>>,
}

impl Deficits {
    /// Reads the texts of both files. A missing line, or one with other contents, is `None`.
    #[must_use]
    pub fn of(airtime: &str, aql: &str) -> Deficits {
        Deficits {
            deficit_us: line(airtime, "Deficit", 0),
            // In Linux 5.5 and 5.6 the file `airtime` has these lines too.
            pending_us: line(aql, "Q depth", 0).or_else(|| line(airtime, "Q depth", 0)),
            limit_low_us: line(aql, "Q limit[low/high]", 0).or_else(|| line(airtime, "Q limit[low/high]", 0)),
            limit_high_us: line(aql, "Q limit[low/high]", 1)
                .or_else(|| line(airtime, "Q limit[low/high]", 1)),
        }
    }
}

/// The values after `name:`; for `low/high`, the one at `place`.
fn line(text: &str, name: &str, place: usize) -> Option<PerAc<i64>> {
    let behind = |line: &'_ str| Some(line.trim().strip_prefix(name)?.strip_prefix(':')?.to_owned());
    let values = text.lines().find_map(behind)?;
    let words: Vec<&str> = values.split_whitespace().collect();
    let value = |of: &str| {
        let at = words.iter().position(|word| word.strip_suffix(':') == Some(of))?;
        words.get(at + 1)?.split('/').nth(place)?.parse().ok()
    };
    Some(PerAc { vo: value("VO")?, vi: value("VI")?, be: value("BE")?, bk: value("BK")? })
}

/// A station's deficits; `None` if its files are not there.
pub(super) fn deficits(radio: &Radio, interface: &str, mac: Mac) -> Option<Deficits> {
    let folder = format!("{MOUNTED}/ieee80211/{}/netdev:{interface}/stations/{mac}", radio.name);
    let read = |file: &str| fs::read_to_string(Path::new(&folder).join(file));
    let airtime = read("airtime").ok()?;
    Some(Deficits::of(&airtime, &read("aql").unwrap_or_default()))
}

/// Why there are no deficits.
pub(super) fn why_none() -> String {
    let cause = match fs::read_dir(MOUNTED).map(|mut entries| entries.next().is_some()) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => "only root may read debugfs",
        Ok(true) => "this kernel's mac80211 has no debugfs (CONFIG_MAC80211_DEBUGFS)",
        _ => "debugfs is not mounted (mount -t debugfs debugfs /sys/kernel/debug)",
    };
    format!("deficits and AQL are not shown: {cause}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn each(vo: i64, vi: i64, be: i64, bk: i64) -> Option<PerAc<i64>> {
        Some(PerAc { vo, vi, be, bk })
    }

    #[test]
    fn linux_6_1() {
        let airtime = "RX: 6583578 us\nTX: 32719 us\nWeight: 256\n\
                       Deficit: VO: -1128 us VI: 11 us BE: -5098636 us BK: 256 us\n";
        let aql = "Q depth: VO: 3868 us VI: 3636 us BE: 12284 us BK: 0 us\n\
                   Q limit[low/high]: VO: 5000/12000 VI: 5001/12001 BE: 5002/12002 BK: 5003/12003\n";
        let expected = Deficits {
            deficit_us: each(-1128, 11, -5_098_636, 256),
            pending_us: each(3868, 3636, 12_284, 0),
            limit_low_us: each(5000, 5001, 5002, 5003),
            limit_high_us: each(12_000, 12_001, 12_002, 12_003),
        };
        assert_eq!(Deficits::of(airtime, aql), expected);
        assert_eq!(Deficits::of(&format!("{airtime}{aql}"), ""), expected, "one file, as in Linux 5.5");
    }

    #[test]
    fn virtual_time_is_no_deficit() {
        let airtime = "RX: 1 us\nTX: 2 us\nWeight: 256\nVirt-T: VO: 1 us VI: 2 us BE: 3 us BK: 4 us\n";
        assert_eq!(Deficits::of(airtime, ""), Deficits::default());
    }

    #[test]
    fn a_line_that_says_something_else_is_left_out() {
        for text in ["Deficit", "Deficit: VO: 1 us VI: 2 us BE: 3 us", "Deficit: VO: x VI: 1 BE: 1 BK: 1", ""]
        {
            assert_eq!(Deficits::of(text, text), Deficits::default(), "{text}");
        }
    }
}

//! Mahimahi's trace files.

use std::path::Path;

use goodqueue::Rate;
use goodqueue::port::Trace;

/// Largest trace file, bytes.
const MOST: u64 = 64 << 20;

/// Reads a trace, with its mean rate.
pub(crate) fn read(path: &Path) -> Result<(Trace, Rate), String> {
    parse(&crate::input::text(path, MOST)?)
}

/// The mean rate of the trace in a file.
pub(crate) fn rate(path: &Path) -> Result<Rate, String> {
    read(path).map(|(_, rate)| rate)
}

fn parse(text: &str) -> Result<(Trace, Rate), String> {
    let trace = Trace::from_mahimahi(text).map_err(|error| error.to_string())?;
    // Each opportunity takes one full packet of 1514 bytes.
    let bits = text.lines().count() as u128 * u128::from(goodqueue::ETHERNET_FRAME) * 8;
    let period_ms = text.lines().last().and_then(|line| line.trim().parse::<u128>().ok()).unwrap_or(1);
    let rate = u64::try_from(bits * 1000 / period_ms.max(1)).unwrap_or(u64::MAX);
    Ok((trace, Rate(rate.max(1))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_rate_is_full_packets_over_the_period() {
        let (_, rate) = parse("0\n5\n10\n").expect("a trace");
        // Three packets of 12112 bits in 10 ms.
        assert_eq!(rate, Rate(3_633_600));
    }

    #[test]
    fn a_wrong_trace_is_refused_with_its_cause() {
        let why = |text| parse(text).map(|_| ()).expect_err("no trace");
        assert_eq!(why(""), "the trace is empty");
        assert_eq!(why("1\nx\n"), "line 2: not a whole number of milliseconds");
        assert_eq!(why("0\n"), "the trace takes no time: its last stamp is 0");
    }
}

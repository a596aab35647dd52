//! Figures in sentences.

/// A no-break space.
pub(super) const NBSP: char = '\u{a0}';

/// Milliseconds for a sentence, with one decimal below ten.
pub(crate) fn ms(ns: i64) -> String {
    let value = ns as f64 / 1e6;
    if value.abs() < 9.95 {
        format!("{:.1} ms", (value * 10.0).round() / 10.0 + 0.0)
    } else {
        format!("{value:.0} ms")
    }
}

/// A rate as people write it: `100 Mbit/s`.
pub(crate) fn rate(bps: u64) -> String {
    let (value, unit) = match bps {
        1_000_000_000.. => (bps as f64 / 1e9, "Gbit/s"),
        1_000_000.. => (bps as f64 / 1e6, "Mbit/s"),
        _ => (bps as f64 / 1e3, "kbit/s"),
    };
    let text = format!("{value:.2}");
    format!("{}{NBSP}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Times above zero and below this, ns, are printed as `less than 0.1 ms`.
pub(crate) const SHORT: i64 = 50_000;

/// [`ms`], kept on one line.
pub(crate) fn firm(ns: i64) -> String {
    if (1..SHORT).contains(&ns) {
        return format!("less{NBSP}than{NBSP}0.1{NBSP}ms");
    }
    ms(ns).replace(' ', "\u{a0}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_times_in_words() {
        assert_eq!(rate(100_000_000), "100\u{a0}Mbit/s");
        assert_eq!(rate(2_500_000_000), "2.5\u{a0}Gbit/s");
        assert_eq!(ms(-20_000), "0.0 ms");
        assert_eq!(ms(396_400_000), "396 ms");
    }
}

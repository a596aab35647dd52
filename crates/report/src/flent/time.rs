//! RFC 3339 times in UTC, in the three formats that flent's files need.

/// An instant in microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instant(i64);

impl Instant {
    /// Parses RFC 3339; the beginning of 1970 for anything else.
    pub(crate) fn parse(text: &str) -> Self {
        Self(parse(text).unwrap_or(0))
    }

    /// Unix seconds.
    pub(crate) fn unix(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// `2026-11-21T19:30:05.250000Z`.
    pub(crate) fn long(self) -> String {
        let ((y, m, d), (h, min, s), us) = self.parts();
        format!("{y:04}-{m:02}-{d:02}T{h:02}:{min:02}:{s:02}.{us:06}Z")
    }

    /// `2026-11-21T193005.250000`.
    pub(crate) fn compact(self) -> String {
        self.long().replace(':', "").trim_end_matches('Z').to_owned()
    }

    fn parts(self) -> ((i64, i64, i64), (i64, i64, i64), i64) {
        let seconds = self.0.div_euclid(1_000_000);
        let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        (date(days), (rest / 3600, rest / 60 % 60, rest % 60), self.0.rem_euclid(1_000_000))
    }
}

fn parse(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u32>().ok().map(i64::from);
    let (y, m, d) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (h, min, s) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if !(1..=12).contains(&m) || !(1..=31).contains(&d) || h > 23 || min > 59 || s > 60 {
        return None;
    }
    let rest = text.get(19..)?;
    let digits = rest.strip_prefix('.').map_or(0, |r| r.bytes().take_while(u8::is_ascii_digit).count());
    let mut us = 0;
    for i in 0..6 {
        let digit =
            if i < digits { rest.as_bytes().get(i + 1).map_or(0, |b| i64::from(b - b'0')) } else { 0 };
        us = us * 10 + digit;
    }
    let zone = rest.get(if rest.starts_with('.') { digits + 1 } else { 0 }..)?;
    let offset = match zone.as_bytes() {
        [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), ..] => {
            let minutes = zone.get(1..3)?.parse::<i64>().ok()? * 60 + zone.get(4..6)?.parse::<i64>().ok()?;
            if *sign == b'-' { -minutes } else { minutes }
        }
        _ => return None,
    };
    let seconds = days(y, m, d) * 86_400 + h * 3600 + min * 60 + s - offset * 60;
    Some(seconds * 1_000_000 + us)
}

/// Days since 1970 of a date. Years are counted from March, so the leap day is the last day of a year.
fn days(y: i64, m: i64, d: i64) -> i64 {
    let y = if m <= 2 { y - 1 } else { y };
    let (era, year) = (y.div_euclid(400), y.rem_euclid(400));
    let day = (153 * ((m + 9) % 12) + 2) / 5 + d - 1;
    era * 146_097 + year * 365 + year / 4 - year / 100 + day - 719_468
}

/// The date of days since 1970.
fn date(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let (era, day) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let rest = day - (365 * year + year / 4 - year / 100);
    let month = (5 * rest + 2) / 153;
    let m = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(m <= 2), m, rest - (153 * month + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_instants() {
        assert_eq!(Instant::parse("1970-01-01T00:00:00Z"), Instant(0));
        assert_eq!(Instant::parse("2000-02-29T12:00:00.5Z"), Instant(951_825_600_500_000));
        assert_eq!(Instant::parse("2026-11-21T20:30:05+01:00"), Instant::parse("2026-11-21T19:30:05Z"));
        assert_eq!(Instant::parse("2026-11-21T19:30:05.25Z").compact(), "2026-11-21T193005.250000");
        assert_eq!(Instant::parse("2024-12-31T23:59:59.000001Z").long(), "2024-12-31T23:59:59.000001Z");
        for wrong in ["", "yesterday", "2026-13-01T00:00:00Z", "2026-11-21T19:30:05", "2026-11-21T19:30:05.é"]
        {
            assert_eq!(Instant::parse(wrong), Instant(0), "{wrong}");
        }
    }
}

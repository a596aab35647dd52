//! A line that delivers at the times of a recorded link: Mahimahi's packet-delivery traces.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use crate::{Nanos, Span};

/// Bytes of one opportunity in Mahimahi's count: an IP packet of 1500 bytes with the four-byte header of a
/// TUN device.
const OPPORTUNITY: u64 = 1504;

/// Difference between a packet's length here, with an Ethernet header of 14 bytes, and in Mahimahi's count,
/// with a TUN header of 4 bytes.
const HEADER_DIFFERENCE: u32 = 14 - 4;

/// The largest timestamp of a trace, milliseconds: 292 years.
const MAX_MILLIS: u64 = i64::MAX as u64 / 1_000_000;

/// A packet-delivery trace: times at which the link could deliver 1504 bytes, repeated without end with the
/// time of the last one as the period.
///
/// As in Mahimahi, packets count with their IP length plus 4 bytes ([`crate::Packet::len`] less 10). So a
/// trace carries the same number of full packets and of acknowledgements as in Mahimahi: one full packet of
/// 1514 bytes takes exactly one opportunity. Several packets share an opportunity if they fit. A packet that
/// is longer than the rest of an opportunity continues at the next one and leaves with its last byte. Unused
/// opportunities are lost. A packet that begins at the exact time of an opportunity can still use it.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Times since the start of the period, sorted; the last one is the period and above zero.
    stamps: Box<[Span]>,
    origin: Nanos,
    /// The next opportunity: the periods before it, and its index in the period.
    cycle: u64,
    place: usize,
    /// Bytes left in it, 1 to 1504.
    left: u64,
}

/// Why a text or a list is not a valid trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceError {
    /// There is no timestamp.
    Empty,
    /// This line (from 1) is not a whole number of milliseconds.
    NotANumber {
        /// The line.
        line: usize,
    },
    /// The timestamp of this line (from 1) is above 292 years.
    TooLarge {
        /// The line.
        line: usize,
    },
    /// The timestamp of this line (from 1) is below the previous one.
    Descending {
        /// The line.
        line: usize,
    },
    /// The last timestamp, which is the period, is zero.
    NoTime,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceError::Empty => f.write_str("the trace is empty"),
            TraceError::NotANumber { line } => write!(f, "line {line}: not a whole number of milliseconds"),
            TraceError::TooLarge { line } => write!(f, "line {line}: above {MAX_MILLIS} ms"),
            TraceError::Descending { line } => write!(f, "line {line}: below the line before it"),
            TraceError::NoTime => f.write_str("the trace takes no time: its last stamp is 0"),
        }
    }
}

impl core::error::Error for TraceError {}

impl Trace {
    /// Parses a trace file: one timestamp in whole milliseconds per line, never descending; equal timestamps
    /// are opportunities at the same time. Spaces around a timestamp are ignored.
    ///
    /// # Errors
    /// [`TraceError`], with the number of an invalid line.
    pub fn from_mahimahi(text: &str) -> Result<Trace, TraceError> {
        let mut stamps = Vec::new();
        let mut last = 0;
        for (index, word) in text.lines().enumerate() {
            let line = index + 1;
            let millis = millis_of(word.trim(), line)?;
            if millis < last {
                return Err(TraceError::Descending { line });
            }
            last = millis;
            stamps.push(Span::from_millis(millis));
        }
        match stamps.last() {
            None => Err(TraceError::Empty),
            Some(&Span::ZERO) => Err(TraceError::NoTime),
            Some(_) => Ok(Trace {
                stamps: stamps.into_boxed_slice(),
                origin: Nanos::ZERO,
                cycle: 0,
                place: 0,
                left: OPPORTUNITY,
            }),
        }
    }

    /// The same trace with its first period from `origin` on; nothing is delivered before. By default a trace
    /// begins at [`Nanos::ZERO`].
    #[must_use]
    pub fn starting_at(self, origin: Nanos) -> Trace {
        Trace { origin, cycle: 0, place: 0, left: OPPORTUNITY, ..self }
    }

    /// See [`super::Line::begin`].
    pub(super) fn begin(&mut self, now: Nanos, bytes: u32) -> Nanos {
        if self.time() < now {
            (self.cycle, self.place) = self.first_from(now.since(self.origin));
            self.left = OPPORTUNITY;
        }
        let bytes = u64::from(bytes.saturating_sub(HEADER_DIFFERENCE));
        if bytes > self.left {
            let rest = bytes - self.left;
            let more = rest.div_ceil(OPPORTUNITY);
            self.skip(more);
            self.left = more * OPPORTUNITY - rest;
        } else {
            self.left -= bytes;
        }
        let end = self.time().max(now);
        if self.left == 0 {
            self.skip(1);
            self.left = OPPORTUNITY;
        }
        end
    }

    fn period(&self) -> Span {
        self.stamps[self.stamps.len() - 1]
    }

    /// The time of the next opportunity.
    fn time(&self) -> Nanos {
        self.origin + self.period() * self.cycle + self.stamps[self.place]
    }

    /// Skips `count` opportunities.
    #[allow(clippy::cast_possible_truncation)]
    fn skip(&mut self, count: u64) {
        // Below 2^23 opportunities more than the length of a list.
        let place = self.place as u64 + count;
        let length = self.stamps.len() as u64;
        if place < length {
            self.place = place as usize;
        } else {
            self.cycle = self.cycle.saturating_add(place / length);
            self.place = (place % length) as usize;
        }
    }

    /// The first opportunity at or after `elapsed` since the origin.
    fn first_from(&self, elapsed: Span) -> (u64, usize) {
        let period = self.period().0;
        // The moment between two periods belongs to the earlier one, whose last timestamp it is.
        let cycle = elapsed.0.div_ceil(period).saturating_sub(1);
        let within = elapsed.0 - cycle * period;
        (cycle, self.stamps.partition_point(|stamp| stamp.0 < within))
    }
}

/// The timestamp in `word`, from line `line`.
fn millis_of(word: &str, line: usize) -> Result<u64, TraceError> {
    if word.is_empty() || !word.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(TraceError::NotANumber { line });
    }
    match word.parse() {
        Ok(millis) if millis <= MAX_MILLIS => Ok(millis),
        _ => Err(TraceError::TooLarge { line }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::Line;

    #[test]
    fn invalid_texts_are_errors_with_their_line() {
        let error = |text| Trace::from_mahimahi(text).err();
        assert_eq!(error(""), Some(TraceError::Empty));
        assert_eq!(error("0"), Some(TraceError::NoTime));
        assert_eq!(error("0\n0\n"), Some(TraceError::NoTime));
        assert_eq!(error("1\n\n2\n"), Some(TraceError::NotANumber { line: 2 }));
        assert_eq!(error("1\n2.5\n"), Some(TraceError::NotANumber { line: 2 }));
        assert_eq!(error("+1\n"), Some(TraceError::NotANumber { line: 1 }));
        assert_eq!(error("1\n-2\n"), Some(TraceError::NotANumber { line: 2 }));
        assert_eq!(error("3\n5\n4\n"), Some(TraceError::Descending { line: 3 }));
        assert_eq!(error("1\n9223372036855\n"), Some(TraceError::TooLarge { line: 2 }));
        assert_eq!(error("99999999999999999999999\n"), Some(TraceError::TooLarge { line: 1 }));
        assert_eq!(error("0\r\n 1 \r\n9223372036854\r\n"), None);
    }

    #[test]
    fn a_full_packet_takes_one_opportunity_and_the_next_gets_its_rest() {
        let mut line = Line::from_mahimahi("2\n5\n5\n10\n").expect("a trace");
        let mut begin = |now: u64, bytes| line.begin(Nanos(now * 1_000_000), bytes).0 / 1_000_000;
        assert_eq!(begin(0, 1514), 2);
        assert_eq!(begin(2, 1514), 5);
        // 34 acknowledgements of 54 bytes (44 to Mahimahi) are 1496 bytes and share the second of 5 ms.
        for _ in 0..34 {
            assert_eq!(begin(5, 54), 5);
        }
        // 8 bytes are left; 1496 bytes of the next packet go at 10 ms.
        assert_eq!(begin(5, 1514), 10);
        // The period is 10 ms. 8 bytes of 10 ms are left; unused, they are lost.
        assert_eq!(begin(11, 1514), 12);
        assert_eq!(begin(13, 1514), 15);
        // 31 ms is in the fourth period; a packet that begins with an opportunity can use it.
        assert_eq!(begin(31, 1514), 32);
        assert_eq!(begin(40, 1514), 40);
        assert_eq!(begin(40, 10 + 5 * 1504), 52);
    }

    #[test]
    fn absurd_times_saturate() {
        let mut line = Line::from_mahimahi("0\n9223372036854\n").expect("a trace");
        assert_eq!(line.begin(Nanos(5), 1514), Nanos(9_223_372_036_854_000_000));
        assert_eq!(line.begin(Nanos(u64::MAX - 1), u32::MAX), Nanos(u64::MAX));
        assert_eq!(line.begin(Nanos(u64::MAX), u32::MAX), Nanos(u64::MAX));
        let trace = Trace::from_mahimahi("1\n").expect("a trace").starting_at(Nanos(500_000));
        let mut line = Line::Trace(trace);
        assert_eq!(line.begin(Nanos(0), 0), Nanos(1_500_000));
    }
}

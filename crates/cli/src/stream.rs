//! `goodqueue probe --stream`: a line for each probe as soon as it is answered or lost.

use goodqueue_path::client::Update;
use goodqueue_path::result::Trips;
use goodqueue_probe::Direction;
use serde::Serialize;

use crate::args::StreamArg;

/// First line of CSV.
const HEADER: &str = "seq,sent_s,rtt_ms,up_ms,down_ms,lost,duplicate,reordered,tos,ttl\n";

/// One probe. Unknown values are absent.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Line {
    seq: u32,
    /// When it was sent, since 1970.
    sent_ns: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    rtt_ns: Option<i64>,
    /// One way, by both wall clocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    up_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    down_ns: Option<i64>,
    /// `up`, `down`, `unknown`, or `unanswered` if no later probe was answered either.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<&'static str>,
    /// A further reply to the same probe.
    duplicate: bool,
    /// The reply to a later probe came before.
    reordered: bool,
    /// ToS byte and TTL of the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    tos: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<u8>,
}

/// The header before the first line.
pub(crate) fn head(format: StreamArg) -> &'static str {
    match format {
        StreamArg::Csv => HEADER,
        StreamArg::Ndjson => "",
    }
}

/// The line for an update that `trips` has taken; `None` while nothing is known about the probe.
pub(crate) fn line(format: StreamArg, update: &Update, trips: &Trips) -> Option<String> {
    let line = Line::of(update, trips)?;
    Some(match format {
        StreamArg::Csv => line.csv(),
        StreamArg::Ndjson => serde_json::to_string(&line).ok()? + "\n",
    })
}

impl Line {
    fn of(update: &Update, trips: &Trips) -> Option<Line> {
        let seq = match *update {
            Update::Sent { .. } => return None,
            Update::Reply { echo, .. } => echo.packet.seq,
            Update::Lost { seq, .. } => seq,
        };
        let trip = trips.all().get(seq as usize)?;
        let line = Line { seq, sent_ns: trip.sent.wall, ..Line::default() };
        Some(match *update {
            Update::Lost { unanswered: true, .. } => Line { lost: Some("unanswered"), ..line },
            Update::Lost { way, .. } => Line { lost: Some(way.map_or("unknown", Direction::name)), ..line },
            Update::Reply { echo, tos, ttl } => {
                let delays = trips.delays(trip);
                // The one-way delays of a further reply are not kept.
                let first = |ns: Option<i64>| ns.filter(|_| !echo.duplicate);
                Line {
                    rtt_ns: echo.sent.map(|_| echo.rtt()),
                    up_ns: first(delays.up),
                    down_ns: first(delays.down),
                    duplicate: echo.duplicate,
                    reordered: echo.reordered,
                    tos,
                    ttl,
                    ..line
                }
            }
            Update::Sent { .. } => return None,
        })
    }

    fn csv(&self) -> String {
        let ms = |ns: Option<i64>| {
            ns.map_or_else(String::new, |ns| {
                let sign = if ns < 0 { "-" } else { "" };
                format!("{sign}{}.{:06}", ns.unsigned_abs() / 1_000_000, ns.unsigned_abs() % 1_000_000)
            })
        };
        let byte = |value: Option<u8>| value.map_or_else(String::new, |value| value.to_string());
        format!(
            "{},{}.{:09},{},{},{},{},{},{},{},{}\n",
            self.seq,
            self.sent_ns.div_euclid(1_000_000_000),
            self.sent_ns.rem_euclid(1_000_000_000),
            ms(self.rtt_ns),
            ms(self.up_ns),
            ms(self.down_ns),
            self.lost.unwrap_or_default(),
            u8::from(self.duplicate),
            u8::from(self.reordered),
            byte(self.tos),
            byte(self.ttl)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_and_ndjson_have_the_same_values() {
        let line = Line {
            seq: 7,
            sent_ns: 1_700_000_000_000_000_005,
            rtt_ns: Some(12_345_678),
            up_ns: Some(-1_500_000),
            ttl: Some(64),
            ..Line::default()
        };
        assert_eq!(line.csv(), "7,1700000000.000000005,12.345678,-1.500000,,,0,0,,64\n");
        let json = serde_json::to_string(&line).expect("JSON");
        assert_eq!(
            json,
            "{\"seq\":7,\"sent_ns\":1700000000000000005,\"rtt_ns\":12345678,\"up_ns\":-1500000,\
             \"duplicate\":false,\"reordered\":false,\"ttl\":64}"
        );
        assert_eq!(HEADER.split(',').count(), line.csv().split(',').count());
        let lost = Line { seq: 8, lost: Some("up"), ..Line::default() };
        assert_eq!(lost.csv(), "8,0.000000000,,,,up,0,0,,\n");
    }
}

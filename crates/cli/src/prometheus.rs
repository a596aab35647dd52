//! Metrics in Prometheus' text format (version 0.0.4): those of stations, for `goodqueue airtime` and
//! `goodqueue watch`, and what all metrics share.

use std::cmp::Reverse;
use std::fmt::Write as _;

use goodqueue_router::airtime::Row;

/// Most flows of a queue, and most stations of an interface: each becomes series of its own.
pub(crate) const MOST_SERIES: usize = 100;

/// A value of a label: interfaces may have almost any name.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// A metric of a `T`: its name, its type, its help, and its value, if there is one.
pub(crate) type Metric<T> = (&'static str, &'static str, &'static str, fn(&T) -> Option<f64>);

/// The metrics of all rows, each with its labels. `of` is a part of their names: `goodqueue_OF_NAME`.
pub(crate) fn metrics<T>(of: &str, metrics: &[Metric<T>], rows: &[(String, &T)]) -> String {
    let mut out = String::new();
    for (name, kind, help, value) in metrics {
        let name = format!("goodqueue_{of}_{name}");
        let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        for (labels, value) in rows.iter().filter_map(|(labels, row)| Some((labels, value(row)?))) {
            let _ = writeln!(out, "{name}{{{labels}}} {value}");
        }
    }
    out
}

/// The metrics of stations, at most [`MOST_SERIES`] of each interface: those that used the most air, and then
/// those with the most bytes. Without stations there are none. What the driver does not report is left out.
pub(crate) fn stations<'a>(rows: impl IntoIterator<Item = &'a Row>) -> String {
    let mut rows: Vec<&Row> = rows.into_iter().collect();
    rows.sort_by_key(|row| (&row.interface, Reverse(used(row))));
    let of_interfaces = rows.chunk_by(|a, b| a.interface == b.interface);
    let labels = |row: &Row| {
        let station = escaped(&row.station.label());
        format!("interface=\"{}\",station=\"{station}\"", escaped(&row.interface))
    };
    let shown: Vec<(String, &Row)> =
        of_interfaces.flat_map(|rows| rows.iter().take(MOST_SERIES)).map(|&row| (labels(row), row)).collect();
    if shown.is_empty() {
        return String::new();
    }
    let of_stations: [Metric<Row>; 12] = [
        ("tx_airtime_seconds_total", "counter", "Air that frames to the station took.", |row| {
            seconds(row.air_down.and(row.station.tx_airtime_us))
        }),
        ("rx_airtime_seconds_total", "counter", "Air that frames from the station took.", |row| {
            seconds(row.air_up.and(row.station.rx_airtime_us))
        }),
        ("tx_bytes_total", "counter", "Bytes to the station.", |row| Some(row.station.tx_bytes as f64)),
        ("rx_bytes_total", "counter", "Bytes from the station.", |row| Some(row.station.rx_bytes as f64)),
        ("tx_retries_total", "counter", "Further attempts to send a frame to the station.", |row| {
            Some(row.station.tx_retries as f64)
        }),
        ("tx_failed_total", "counter", "Frames to the station that did not arrive.", |row| {
            Some(row.station.tx_failed as f64)
        }),
        (
            "drops_total",
            "counter",
            "Packets for the station that CoDel dropped, or that found no room.",
            |row| row.station.drops().map(|n| n as f64),
        ),
        ("marks_total", "counter", "Packets for the station that were marked with CE.", |row| {
            row.station.marks().map(|n| n as f64)
        }),
        ("waiting_packets", "gauge", "Packets that wait for the station.", |row| {
            row.backlog_packets.map(|n| n as f64)
        }),
        ("weight", "gauge", "Airtime weight of the station.", |row| row.station.weight.map(Into::into)),
        ("signal_dbm", "gauge", "Signal of the last frame from the station.", |row| {
            row.station.signal_dbm.map(Into::into)
        }),
        ("tx_rate_bits_per_second", "gauge", "Bit rate of the last frame to the station.", |row| {
            row.station.tx_rate_bps.map(|rate| rate as f64)
        }),
    ];
    metrics("station", &of_stations, &shown)
}

fn seconds(micros: Option<u64>) -> Option<f64> {
    micros.map(|micros| micros as f64 / 1e6)
}

/// What a station has used since it joined: air, us, and bytes, both ways.
fn used(row: &Row) -> (u64, u64) {
    let station = &row.station;
    let air = [station.tx_airtime_us, station.rx_airtime_us];
    (
        air.into_iter().flatten().fold(0, u64::saturating_add),
        station.tx_bytes.saturating_add(station.rx_bytes),
    )
}

#[cfg(test)]
mod tests {
    use goodqueue_router::airtime::{Mac, Station, Tid, Txq};

    use super::*;

    fn rows() -> Vec<Row> {
        let mut rows = crate::airtime::tests::view().stations;
        let queue = Txq { drops: 3, overlimit: 4, ecn_marks: 5, ..Txq::default() };
        let station = &mut rows[0].station;
        (station.tx_airtime_us, station.rx_airtime_us) = (Some(2_500_000), Some(0));
        (station.tx_bytes, station.rx_bytes, station.tx_retries, station.tx_failed) = (1 << 40, 11, 12, 13);
        station.tids = vec![Tid { queue: Some(queue), ..Tid::default() }];
        // mac80211 says 0 where the driver reports no airtime.
        (rows[1].station.tx_airtime_us, rows[1].station.rx_airtime_us) = (Some(0), Some(0));
        rows[1].interface = "guest\"0".into();
        rows
    }

    fn values(text: &str, of: &str) -> Vec<String> {
        let value = |line: &str| {
            let (metric, value) = line.rsplit_once(' ')?;
            let name = metric.strip_suffix(&format!("{{{of}}}"))?.strip_prefix("goodqueue_station_")?;
            Some(format!("{name} {value}"))
        };
        text.lines().filter_map(value).collect()
    }

    #[test]
    fn a_station_has_what_the_driver_reports_of_it() {
        let text = stations(&rows());
        assert_eq!(
            values(&text, "interface=\"wlan0\",station=\"02:00:00:00:01:00\""),
            [
                "tx_airtime_seconds_total 2.5",
                "rx_airtime_seconds_total 0",
                "tx_bytes_total 1099511627776",
                "rx_bytes_total 11",
                "tx_retries_total 12",
                "tx_failed_total 13",
                "drops_total 7",
                "marks_total 5",
                "waiting_packets 64",
                "weight 256",
                "signal_dbm -52",
                "tx_rate_bits_per_second 144400000",
            ]
        );
        assert_eq!(
            values(&text, "interface=\"guest\\\"0\",station=\"02:00:00:00:02:00\""),
            ["tx_bytes_total 0", "rx_bytes_total 0", "tx_retries_total 0", "tx_failed_total 0"]
        );
        assert_eq!(stations(&[]), "");
    }

    #[test]
    fn each_name_ends_as_its_kind_asks() {
        let text = stations(&rows());
        let kinds = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
        for (name, kind) in kinds {
            assert!(["counter", "gauge"].contains(&kind), "{name} {kind}");
            assert_eq!(name.ends_with("_total"), kind == "counter", "{name}");
        }
    }

    #[test]
    fn stations_are_bounded_by_their_interface() {
        let row = |number: u8, interface: &str, air: u64| {
            let mac = Mac([2, 0, 0, 0, number, 0]);
            let station = Station { mac, tx_airtime_us: Some(air), ..Station::default() };
            Row { interface: interface.into(), station, ..rows()[0].clone() }
        };
        let mut many: Vec<Row> = (0..250).map(|number| row(number, "wlan0", number.into())).collect();
        many.insert(100, row(250, "wlan1", 0));
        let text = stations(&many);
        let of = |begin: &str| text.lines().filter(|line| line.starts_with(begin)).count();
        assert_eq!(of("goodqueue_station_tx_bytes_total{interface=\"wlan0\""), MOST_SERIES);
        assert_eq!(of("goodqueue_station_tx_bytes_total{interface=\"wlan1\""), 1);
        let has = |number: u8| text.contains(&format!("station=\"02:00:00:00:{number:02x}:00\""));
        assert!(has(249) && has(150) && !has(149), "those that used the most air are there");
    }
}

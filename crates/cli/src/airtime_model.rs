//! `goodqueue airtime-model`: prints the analytic airtime model.

use std::fmt::Write;

use goodqueue::ETHERNET_MTU;
use goodqueue_sim::wifi::PhyRate;
use goodqueue_sim::wifi::model::{Constants, Outcome, Sharing, Station, airtime, table1, table1_published};
use serde_json::{Value, json};

use crate::args::{AirtimeModelArgs, ConstantsArg};
use crate::output::{print, print_json};
use goodqueue_experiment::Error;

/// A way of sharing the air, with the stations under it.
struct Arm {
    name: &'static str,
    sharing: Sharing,
    names: Vec<String>,
    stations: Vec<Station>,
    /// R0 and R as published, Mbit/s.
    published: Option<[(f64, f64); 3]>,
}

/// Computes the model and prints it.
///
/// # Errors
/// [`Error::Usage`] for a station that is not valid.
pub fn command(args: &AirtimeModelArgs) -> Result<(), Error> {
    let sets: &[_] = match args.constants {
        Some(ConstantsArg::A) => &[("a", Constants::GHZ5)],
        Some(ConstantsArg::B) => &[("b", Constants::GHZ2_4)],
        None => &[("a", Constants::GHZ5), ("b", Constants::GHZ2_4)],
    };
    let arms = arms(args).map_err(Error::Usage)?;
    if args.json {
        let rows: Vec<Value> = arms.iter().flat_map(|arm| sets.iter().map(|set| as_json(arm, set))).collect();
        return print_json(&rows);
    }
    let mut text = String::new();
    for arm in &arms {
        write_arm(&mut text, arm, sets);
    }
    text.push_str("R0: alone on the radio. R: with the others. Set a: 5 GHz; b: 2.4 GHz. Rates in Mbit/s.\n");
    print(&text)
}

fn arms(args: &AirtimeModelArgs) -> Result<[Arm; 2], String> {
    let by_transmissions =
        if args.overhead { Sharing::TransmissionsWithOverhead } else { Sharing::Transmissions };
    let arm = |is_fair: bool, names, stations, published| Arm {
        name: if is_fair { "airtime fairness" } else { "without fairness" },
        sharing: if is_fair { Sharing::Weighted } else { by_transmissions },
        names,
        stations,
        published,
    };
    if args.station.is_empty() {
        let names = || ["fast 1", "fast 2", "slow"].map(String::from).to_vec();
        let paper =
            |is_fair| arm(is_fair, names(), table1(is_fair).to_vec(), Some(table1_published(is_fair)));
        return Ok([paper(false), paper(true)]);
    }
    let stations = args.station.iter().map(|text| station(text)).collect::<Result<Vec<_>, _>>()?;
    let names =
        || args.station.iter().map(|text| text.split(':').next().unwrap_or_default().to_owned()).collect();
    Ok([arm(false, names(), stations.clone(), None), arm(true, names(), stations, None)])
}

/// Reads `RATE[:aggregate=BYTES][,packet=BYTES][,weight=N]`.
fn station(text: &str) -> Result<Station, String> {
    let (rate, settings) = text.split_once(':').unwrap_or((text, ""));
    let number = |text: &str| text.parse::<f64>().ok().filter(|value| value.is_finite() && *value > 0.0);
    let rate = match (number(rate), rate.parse::<PhyRate>()) {
        (Some(mbps), _) => mbps,
        (None, Ok(rate)) => rate.bps() as f64 / 1e6,
        (None, Err(error)) => return Err(error.to_string()),
    };
    let (mut aggregate, mut packet, mut weight) = (None, f64::from(ETHERNET_MTU), 1.0);
    for setting in settings.split(',').filter(|setting| !setting.is_empty()) {
        let not = || format!("{text}: {setting} is none of aggregate=BYTES, packet=BYTES, weight=NUMBER");
        let (name, value) = setting.split_once('=').ok_or_else(not)?;
        let value = number(value).ok_or_else(not)?;
        match name {
            "aggregate" => aggregate = Some(value),
            "packet" => packet = value,
            "weight" => weight = value,
            _ => return Err(not()),
        }
    }
    Ok(Station { rate, aggregate: aggregate.unwrap_or(packet), packet, weight })
}

fn write_arm(text: &mut String, arm: &Arm, sets: &[(&str, Constants)]) {
    let computed: Vec<Vec<Outcome>> =
        sets.iter().map(|(_, with)| airtime(&arm.stations, with, arm.sharing)).collect();
    // Writing to a String cannot fail.
    let _ = write!(text, "{}\n  {:<20} {:>9} {:>6}", arm.name, "station", "aggregate", "share");
    if arm.published.is_some() {
        let _ = write!(text, " {:>9} {:>7}", "paper R0", "R");
    }
    for (name, _) in sets {
        let _ = write!(text, " {:>9} {:>7}", format!("{name}: R0"), "R");
    }
    text.push('\n');
    for (number, station) in arm.stations.iter().enumerate() {
        let share = 100.0 * computed[0][number].share;
        let _ = write!(text, "  {:<20} {:>7.0} B {share:>4.1} %", arm.names[number], station.aggregate);
        if let Some((alone, rate)) = arm.published.and_then(|rows| rows.get(number).copied()) {
            let _ = write!(text, " {alone:>9.1} {rate:>7.1}");
        }
        for set in &computed {
            let _ = write!(text, " {:>9.1} {:>7.1}", set[number].alone, set[number].rate);
        }
        text.push('\n');
    }
    let _ = write!(text, "  {:<20} {:>9} {:>6}", "total", "", "");
    if let Some(rows) = arm.published {
        let _ = write!(text, " {:>17.1}", rows.iter().map(|row| row.1).sum::<f64>());
    }
    for set in &computed {
        let _ = write!(text, " {:>17.1}", set.iter().map(|station| station.rate).sum::<f64>());
    }
    text.push_str("\n\n");
}

fn as_json(arm: &Arm, (set, with): &(&str, Constants)) -> Value {
    let computed = airtime(&arm.stations, with, arm.sharing);
    let rows: Vec<Value> = (arm.names.iter().zip(&arm.stations).zip(&computed).enumerate())
        .map(|(number, ((name, station), outcome))| {
            let published = arm.published.map(|rows| rows[number]);
            json!({
                "station": name, "phy_mbps": station.rate, "aggregate_bytes": station.aggregate,
                "packet_bytes": station.packet, "weight": station.weight,
                "t_data_us": outcome.data, "t_oh_us": outcome.overhead, "share": outcome.share,
                "r0_mbps": outcome.alone, "r_mbps": outcome.rate,
                "published_r0_mbps": published.map(|row| row.0),
                "published_r_mbps": published.map(|row| row.1),
            })
        })
        .collect();
    let total: f64 = computed.iter().map(|outcome| outcome.rate).sum();
    json!({ "sharing": arm.name, "constants": set, "stations": rows, "total_mbps": total })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_station_as_it_is_typed() {
        let fast = station("mcs15:aggregate=28434").expect("a station");
        assert_eq!((fast.rate * 10.0).round(), 1444.0);
        assert_eq!((fast.aggregate, fast.packet, fast.weight), (28_434.0, 1500.0, 1.0));
        let other = station("7.2:packet=200,weight=2").expect("a station");
        assert_eq!((other.rate, other.aggregate, other.weight), (7.2, 200.0, 2.0));
        for text in
            ["", "mcs99", "0", "-1", "nan", "inf", "mcs0:aggregate", "mcs0:aggregate=0", "mcs0:what=1"]
        {
            assert!(station(text).is_err(), "{text}");
        }
    }

    #[test]
    fn table_1_is_printed_with_its_total() {
        let args = AirtimeModelArgs { station: Vec::new(), constants: None, overhead: false, json: false };
        let arms = arms(&args).expect("the paper's");
        let mut text = String::new();
        write_arm(&mut text, &arms[1], &[("a", Constants::GHZ5)]);
        let total: Vec<&str> =
            text.lines().find(|line| line.contains("total")).expect("a total").split_whitespace().collect();
        assert_eq!(total, ["total", "86.7", "86.1"]);
        let slow = text.lines().nth(4).expect("the slow station");
        assert_eq!(
            slow.split_whitespace().collect::<Vec<_>>(),
            ["slow", "2914", "B", "33.3", "%", "6.5", "2.2", "6.5", "2.2"]
        );
    }
}

//! A Wi-Fi network: from its tables to a radio with its devices.
//!
//! ```text
//!  [variant.wifi.stations.NAME] ─┐
//!  [[wifi.station]] ─────────────┤  the first that says it
//!  [variant.wifi] ───────────────┼────────────────────────► Wifi ─► network, stations of the test
//!  [wifi] ───────────────────────┘
//! ```

mod chain;
mod driver;
mod groups;
pub(crate) mod ideas;
mod network;
mod rates;
mod test_stations;

use goodqueue::{QueueSpec, Rate, Span};
use goodqueue_sim::wifi::{Band, RadioSpec};

use super::read::{self, Read, Section, Wrong};
use crate::text::keys::{STATION, WIRE};
use chain::{Chain, StationSection, word};
pub(super) use groups::{check_limits, real_policy};
pub(super) use test_stations::TestStations;

/// A Wi-Fi network, resolved. Its access point is device 0 of the radio, and the stations follow in their
/// order.
#[derive(Clone, Debug)]
pub(crate) struct Wifi {
    /// Where it begins in the file.
    pub(super) at: usize,
    /// The channel with its devices.
    pub(crate) radio: RadioSpec,
    /// Name of each station.
    pub(crate) stations: Vec<String>,
    /// Each station's rate as text.
    pub(crate) rates: Vec<String>,
    /// The access point as text.
    pub(crate) words: String,
    /// The driver of the stations as text.
    pub(crate) station_words: String,
    /// Between server and access point.
    pub(crate) wire: Wire,
    /// Whether a test's client is at the server.
    pub(crate) runs_from_server: bool,
    /// Whether its queue is the one under comparison.
    pub(super) is_compared: bool,
}

/// Between server and access point, each way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire {
    /// Rate of the line.
    pub(crate) rate: Rate,
    /// Propagation delay.
    pub(crate) delay: Span,
    /// The queue in front of it.
    pub(crate) queue: QueueSpec,
}

/// Name of the access point's node.
pub(super) const ACCESS_POINT: &str = "ap";
/// Name of the node behind the wire.
pub(super) const SERVER: &str = "server";

impl Wifi {
    /// The network of `[wifi]`, with the changes of a variant; `compared`: the queue that `$queue` means.
    pub(super) fn read(
        base: &Section<'_>,
        over: Option<&Section<'_>>,
        compared: Option<&QueueSpec>,
    ) -> Read<Wifi> {
        let chain = Chain(over.into_iter().chain([base]).copied().collect());
        let station_sections = station_sections(base, over)?;
        let band = chain.plain("band", word)?;
        let band = if band.as_deref() == Some("2.4GHz") { Band::Ghz2_4 } else { Band::Ghz5 };
        let capture = chain.plain("capture", read::switch)?.unwrap_or(false);
        let access_point = driver::access_point(base, over, &chain, band, compared)?;
        let mut devices = vec![access_point.device];
        let mut rates = Vec::new();
        for section in &station_sections {
            let (device, words) = driver::station(section, &chain)?;
            devices.push(device);
            rates.push(words);
        }
        groups::join(&chain, &station_sections, &mut devices)?;
        Ok(Wifi {
            at: base.at,
            radio: RadioSpec { band, devices, capture },
            stations: station_sections.into_iter().map(|section| section.name).collect(),
            rates,
            words: access_point.words,
            station_words: driver::station_words(&chain)?,
            wire: wire(&chain)?,
            runs_from_server: chain.plain("run_from", word)?.as_deref() == Some("server"),
            is_compared: access_point.is_compared,
        })
    }
}

fn wire(chain: &Chain<'_>) -> Read<Wire> {
    let mut tables = Vec::new();
    for section in &chain.0 {
        tables.extend(section.section("wire", &WIRE)?);
    }
    let tables = Chain(tables);
    let queue = tables.read("queue", read::queue)?;
    let plain = || "pfifo:1000".parse::<QueueSpec>();
    let queue = queue.map_or_else(plain, |queue| Ok(queue.value));
    Ok(Wire {
        rate: tables.plain("rate", read::rate)?.unwrap_or(Rate(1_000_000_000)),
        delay: tables.plain("delay", read::span)?.unwrap_or(Span::from_millis(1)),
        queue: queue.map_err(|error| Wrong::new(tables.at(), error.to_string()))?,
    })
}

/// The stations one by one, each with the tables that have its values.
fn station_sections<'a>(base: &Section<'a>, over: Option<&Section<'a>>) -> Read<Vec<StationSection<'a>>> {
    if let Some((_, value)) = over.and_then(|over| over.get("station")) {
        let what = "a variant changes stations by name: [variant.wifi.stations.NAME]";
        return Err(Wrong::new(value.span().start, what));
    }
    let changes = match over.and_then(|over| over.get("stations")) {
        Some((key, value)) => Section::named(key, value, &STATION)?,
        None => Vec::new(),
    };
    let load = ["name", "count", "load", "probe", "with", "run_from"];
    for table in changes.iter().map(|(_, change)| change).chain(over) {
        if let Some(key) = table.written().find(|key| load.contains(&key.value.name)) {
            let what = format!("`{}`: where the load is does not differ between variants", key.value.name);
            return Err(Wrong::new(key.at, what));
        }
    }
    let mut is_used = vec![false; changes.len()];
    let mut station_sections: Vec<StationSection<'a>> = Vec::new();
    let entries = base.sections("station", &STATION)?;
    for entry in &entries {
        let (name, count) = test_stations::name_and_count(entry)?;
        for number in 1..=count {
            let own = test_stations::numbered(&name.value, number, count);
            if [SERVER, ACCESS_POINT, "client"].contains(&own.as_str())
                || station_sections.iter().any(|other| other.name == own)
            {
                return Err(Wrong::new(name.at, format!("there is a node `{}` already", own.escape_debug())));
            }
            let mut sections = Vec::new();
            // Its own name takes precedence over that of its entry.
            for known in [&own, &name.value] {
                for (place, (_, change)) in
                    changes.iter().enumerate().filter(|(_, (at, _))| at.value == *known)
                {
                    is_used[place] = true;
                    sections.push(*change);
                }
            }
            sections.push(*entry);
            sections.extend(over.into_iter().chain([base]).copied());
            station_sections.push(StationSection { name: own, chain: Chain(sections) });
        }
    }
    if station_sections.is_empty() {
        return Err(Wrong::new(base.at, "[wifi] needs a station, as in [[wifi.station]]"));
    }
    if let Some((name, _)) = changes.iter().zip(&is_used).find(|(_, used)| !**used).map(|(change, _)| change)
    {
        let known: Vec<&str> = station_sections.iter().map(|section| section.name.as_str()).collect();
        let nearest = crate::hint::did_you_mean(&name.value, &known);
        let what = format!("no station is called `{}`{nearest}", name.value.escape_debug());
        return Err(Wrong::new(name.at, what));
    }
    Ok(station_sections)
}

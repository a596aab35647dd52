//! The assignment of a test's flows, probes, calls, pages and videos to stations.

use goodqueue_probe::{Direction, Params, Test};

use super::super::named;
use super::super::read::{self, At, Read, Section, Wrong};
use crate::text::keys::wifi::STATION;

/// A station as the load sees it.
#[derive(Clone, Debug)]
pub(in super::super) struct TestStation {
    pub(in super::super) name: String,
    /// The name of its entry, which means all stations of that entry.
    entry: String,
    load: bool,
    pub(in super::super) probe: bool,
    with: Vec<String>,
}

/// All stations as the load sees them.
#[derive(Clone, Debug)]
pub(in super::super) struct TestStations {
    pub(in super::super) all: Vec<TestStation>,
    /// The direction in which packets go to stations.
    pub(in super::super) to_stations: Direction,
}

/// The name that means all stations.
const ALL: &str = "stations";

/// An entry's name, and its number of stations.
pub(super) fn name_and_count(entry: &Section<'_>) -> Read<(At<String>, u64)> {
    let name = entry.read("name", read::text)?;
    let name = entry.required("name", name)?;
    if name.value.trim().is_empty() || name.value == ALL {
        return Err(Wrong::new(
            name.at,
            format!("`{}` is not a valid name for a station", name.value.escape_debug()),
        ));
    }
    Ok((name, entry.plain("count", read::count)?.unwrap_or(1)))
}

/// The name of station `number` of `count` stations of one entry.
pub(super) fn numbered(name: &str, number: u64, count: u64) -> String {
    if count == 1 { name.to_owned() } else { format!("{name}{number}") }
}

impl TestStations {
    /// The stations of `[wifi]`. The place of a test's load is the same in all variants.
    pub(in super::super) fn read(wifi: &Section<'_>) -> Read<TestStations> {
        let from = wifi.plain("run_from", super::chain::word)?;
        let to_stations = if from.as_deref() == Some("server") { Direction::Up } else { Direction::Down };
        let mut test_stations = Vec::new();
        for entry in wifi.sections("station", &STATION)? {
            let (name, count) = name_and_count(&entry)?;
            let with = entry.plain("with", read::list(named::read_extra))?.unwrap_or_default();
            let with: Vec<String> = with.into_iter().map(|word| word.value.to_string()).collect();
            let switch = |name| Ok(entry.plain(name, read::switch)?.unwrap_or(true));
            let (load, probe) = (switch("load")?, switch("probe")?);
            let station = |number| TestStation {
                name: numbered(&name.value, number, count),
                entry: name.value.clone(),
                load,
                probe,
                with: with.clone(),
            };
            test_stations.extend((1..=count).map(station));
        }
        Ok(TestStations { all: test_stations, to_stations })
    }

    /// The stations that a name means: one, all of an entry, or all.
    pub(in super::super) fn find(&self, name: &At<String>) -> Read<Vec<usize>> {
        let is_it = |station: &TestStation| {
            station.name == name.value || station.entry == name.value || name.value == ALL
        };
        let found: Vec<usize> = (0..self.all.len()).filter(|&at| is_it(&self.all[at])).collect();
        if found.is_empty() {
            let mut known: Vec<&str> = self.all.iter().map(|station| station.name.as_str()).collect();
            known.push(ALL);
            let nearest = crate::hint::did_you_mean(&name.value, &known);
            let what = format!("there is no station `{}`{nearest}", name.value.escape_debug());
            return Err(Wrong::new(name.at, what));
        }
        Ok(found)
    }

    /// The stations that take part in the load.
    pub(in super::super) fn loaded(&self) -> Vec<usize> {
        (0..self.all.len()).filter(|&at| self.all[at].load).collect()
    }

    /// A test at the stations. A test with a single server runs at each station that takes part in the load.
    /// If a test has several servers, its hosts go to the stations in turn, and round again. A station
    /// without a probe gets one. Responsiveness is measured at the first station that takes part in the load.
    pub(in super::super) fn spread(&self, test: Test, at: usize) -> Read<Test> {
        let loaded = self.loaded();
        if self.all.is_empty() {
            return Err(Wrong::new(at, "[wifi] needs a station, as in [[wifi.station]]"));
        }
        if loaded.is_empty() && (!test.flows.is_empty() || test.rpm.is_some()) {
            return Err(Wrong::new(at, "no station takes part in the load: every one has load = false"));
        }
        if !test.versions.is_empty() {
            let what =
                format!("{} has one server by both IP versions, and a station has one version", test.name);
            return Err(Wrong::new(at, what));
        }
        let several = test.hosts() > 1;
        let mut spread = Test {
            flows: Vec::new(),
            udp: Vec::new(),
            probes: Vec::new(),
            voip: Vec::new(),
            web: Vec::new(),
            dash: Vec::new(),
            talks: Vec::new(),
            rpm: test
                .rpm
                .clone()
                .zip(loaded.first())
                .map(|(rpm, &host)| goodqueue_probe::rpm::Plan { host, ..rpm }),
            ..test.clone()
        };
        if several {
            let of = |host: usize| loaded[host % loaded.len()];
            spread.flows = test
                .flows
                .iter()
                .cloned()
                .map(|mut flow| {
                    flow.host = of(flow.host);
                    flow
                })
                .collect();
            let probes = test.probes.iter().cloned().map(|mut probe| {
                probe.host = of(probe.host);
                probe
            });
            spread.udp = test
                .udp
                .iter()
                .cloned()
                .map(|mut flow| {
                    flow.host = of(flow.host);
                    flow
                })
                .collect();
            spread.probes = probes.filter(|probe| self.all[probe.host].probe).collect();
        }
        for (host, station) in self.all.iter().enumerate().filter(|(_, station)| station.load && !several) {
            let own = test.udp.iter().cloned();
            spread.udp.extend(own.map(|flow| goodqueue_probe::UdpFlow {
                name: format!("{} {}", flow.name, station.name),
                host,
                ..flow
            }));
        }
        for (host, station) in self.all.iter().enumerate() {
            let named = |name: &str| format!("{name} {}", station.name);
            if station.load && !several {
                spread.flows.extend(test.flows.iter().cloned().map(|flow| goodqueue_probe::Flow {
                    name: named(&flow.name),
                    host,
                    ..flow
                }));
            }
            let has_probe = spread.probes.iter().any(|probe| probe.host == host);
            if station.probe && !has_probe {
                let own = test.probes.iter().take(if several { 1 } else { usize::MAX });
                spread.probes.extend(own.map(|probe| goodqueue_probe::Probe {
                    name: named(&probe.name),
                    host,
                    ..probe.clone()
                }));
            }
            let params = Params { with: station.with.clone(), ..Params::default() };
            let extras = named::simulated("ping", &params).map_err(|why| Wrong::new(at, why))?;
            let calls = test.voip.iter().filter(|_| station.load).chain(&extras.voip);
            spread.voip.extend(calls.map(|call| goodqueue_probe::Probe {
                name: named(&call.name),
                host,
                ..call.clone()
            }));
            let pages = test.web.iter().filter(|_| station.load).chain(&extras.web);
            spread.web.extend(pages.cloned().map(|page| goodqueue_probe::web::Page {
                name: named(&page.name),
                host,
                ..page
            }));
            let videos = test.dash.iter().filter(|_| station.load).chain(&extras.dash);
            spread.dash.extend(videos.cloned().map(|video| goodqueue_probe::dash::Video {
                name: named(&video.name),
                host,
                ..video
            }));
            let talks = test.talks.iter().filter(|_| station.load).chain(&extras.talks);
            spread.talks.extend(talks.map(|talk| goodqueue_probe::talk::Talk {
                name: named(&talk.name),
                host,
                ..*talk
            }));
        }
        Ok(spread)
    }
}

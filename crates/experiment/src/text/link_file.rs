//! `goodqueue run TEST --link FILE`: a test of the catalogue over a network that a file describes.

use std::path::Path;

use serde::{Deserialize, Serialize};
use toml::de::DeTable;

use super::keys::wifi::{LINK_FILE, WIFI};
use super::load::Load;
use super::named::check_cc;
use super::read::{self, Read, Section, Wrong};
use super::resolve::plain_tcp;
use super::scenario;
use super::wifi::{TestStations, Wifi, check_limits};
use super::{ExperimentError, MOST_BYTES};
use crate::Error;
use crate::plan::Plan;
use crate::{Experiment, Variant};

/// The flags given with the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Flags {
    /// Test and TCP settings; the rest of the link is not used.
    plan: Plan,
    /// Whether queues were named.
    has_queues: bool,
}

impl Flags {
    pub(crate) fn new(plan: Plan, has_queues: bool) -> Flags {
        Flags { plan, has_queues }
    }
}

/// The text of the file.
///
/// # Errors
/// [`Error::Usage`] if it cannot be read.
pub(crate) fn text(file: &Path) -> Result<String, Error> {
    let name = file.display();
    crate::input::text(file, MOST_BYTES).map_err(|why| Error::Usage(format!("--link {name}: {why}")))
}

/// The experiment that the flags and the text of `file` describe.
///
/// # Errors
/// [`Error::Usage`] if one of them is wrong.
pub(crate) fn experiment(text: &str, file: &str, flags: &Flags) -> Result<Experiment, Error> {
    let Flags { plan, has_queues } = flags;
    check_cc(&plan.test.test()?).map_err(Error::Usage)?;
    let queues = if *has_queues { &plan.queues[..] } else { &[] };
    let read = network(text, plan, queues).map_err(|wrong| {
        let (line, column) = read::place(text, wrong.at);
        ExperimentError { file: file.to_owned(), line, column, what: wrong.what }
    });
    read.map_err(Error::usage)
}

fn network(text: &str, plan: &Plan, queues: &[String]) -> Read<Experiment> {
    let document = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(text.len(), |span| span.start);
        Wrong::new(at, error.message().replace('\n', ", "))
    })?;
    let root = Section::new(0, document.get_ref(), &LINK_FILE)?;
    let section = root.section("wifi", &WIFI)?;
    let section = root.required("wifi", section)?;
    let stations = TestStations::read(&section)?;
    let test = plan.test.to_hosts(stations.loaded().len());
    let test = test.map_err(|error| Wrong::new(section.at, error.to_string()))?;
    let test = stations.spread(test, section.at)?;
    let load = Load::of(test.clone(), plan.start_jitter());
    let mut variants: Vec<Variant> = Vec::new();
    for queue in plan.queues.iter().take(if queues.is_empty() { usize::MAX } else { queues.len() }) {
        let spec =
            queue.parse().map_err(|error: goodqueue::SpecError| Wrong::new(section.at, error.to_string()))?;
        let wifi = Wifi::read(&section, None, Some(&spec))?;
        if !wifi.is_compared && !queues.is_empty() {
            let what = "--queue: no queue is compared here: give [wifi] driver = \"ath9k-4.4\" and queue = \"$queue\"";
            return Err(Wrong::new(section.at, what));
        }
        let ipv6 = plan.link.ip_version == 6;
        let tcp = goodqueue_sim::tcp::Config { ecn: plan.link.ecn, ..plain_tcp(ipv6) };
        let mut variant = scenario::variant(wifi.network(test.idle), &load, &[], tcp, ipv6, section.at)?;
        variant.label = if wifi.is_compared { queue.clone() } else { wifi.words.clone() };
        variant.about = if wifi.is_compared { spec.info().doc.to_owned() } else { String::new() };
        variants.push(variant);
        if !wifi.is_compared {
            break;
        }
    }
    let radios = variants.iter().flat_map(|variant| &variant.scenario.radios);
    check_limits(&section, radios.map(|radio| &radio.spec))?;
    let (about, seeds, warnings) = (test.about.clone(), plan.seeds.clone(), plan.warnings.clone());
    Ok(Experiment { about, test, seeds, variants, output: None, warnings, reproduction: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Request;

    const FILE: &str = "[wifi]\nmcs = 7\n[[wifi.station]]\nname = \"sta\"\ncount = 2\n";

    fn over(text: &str, words: &str) -> Result<Experiment, String> {
        let plan = Plan::resolve(&Request::of_words(words)).expect("a plan");
        let queues = if words.contains("--queue") { &plan.queues[..] } else { &[] };
        network(text, &plan, queues).map_err(|wrong| wrong.what)
    }

    #[test]
    fn a_test_of_the_catalogue_over_a_network_of_a_file() {
        let experiment = over(FILE, "rtt_fair_up --length 5s --seed 3 --ecn").expect("right");
        assert_eq!((experiment.variants.len(), experiment.seeds), (1, vec![3]));
        let scenario = &experiment.variants[0].scenario;
        assert_eq!((scenario.flows.len(), scenario.radios.len(), scenario.tcp.ecn), (4, 1, true));
        assert_eq!(experiment.variants[0].label, "ath9k-6.1: airtime fairness");
    }

    #[test]
    fn a_test_for_any_number_of_hosts_has_one_for_each_station_under_load() {
        let flows = |text: &str, words: &str| {
            let experiment = over(text, words).expect("right");
            experiment.test.flows.iter().map(|flow| flow.host).collect::<Vec<_>>()
        };
        assert_eq!(flows(FILE, "rtt_fair_var"), [0, 1, 0, 1]);
        assert_eq!(flows(FILE, "rtt_fair_up"), [0, 1, 0, 1]);
        let many = FILE.replace("count = 2", "count = 70");
        assert_eq!(flows(&many, "rtt_fair_var_up"), (0..70).collect::<Vec<_>>());
        let idle = format!("{FILE}[[wifi.station]]\nname = \"idle\"\nload = false\n");
        assert_eq!(flows(&idle, "rtt_fair_var_down"), [0, 1]);
    }

    #[test]
    fn queues_are_compared_if_the_network_has_a_place_for_them() {
        let fifos = FILE.replace("mcs = 7", "mcs = 7\ndriver = \"ath9k-4.4\"\nqueue = \"$queue\"");
        let experiment = over(&fifos, "tcp_1down --queue fq_codel,pfifo:50").expect("right");
        let labels: Vec<&str> = experiment.variants.iter().map(|variant| variant.label.as_str()).collect();
        assert_eq!(labels, ["fq_codel", "pfifo:50"]);
        let why = over(FILE, "tcp_1down --queue codel").map(|_| ()).expect_err("no place");
        assert!(why.starts_with("--queue: no queue is compared here"), "{why}");
        let why = over("[link]\nrate = \"1mbit\"\n", "tcp_1down").map(|_| ()).expect_err("no network");
        assert!(why.contains("has no key `link`"), "{why}");
    }
}

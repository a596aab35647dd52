//! The queues that the test's packets pass.

use std::collections::BTreeSet;

use goodqueue_probe::{Direction as OneWay, Test};
use goodqueue_report::Direction;
use goodqueue_sim::{Discipline, NodeId, hops};

use super::view::shaper;
use crate::Variant;
use crate::simulate::PathLink;

impl Variant {
    /// The directed links with a queue on the paths of `test`'s packets: first those towards the servers,
    /// then those towards the clients, each in the order in which packets meet them. If there are several
    /// shortest paths, it includes all of them. A link that is on both is listed once. A device on the air
    /// has one set of queues for all its links: it is one entry, under the link that the reports show.
    pub(crate) fn path(&self, test: &Test) -> Vec<PathLink> {
        let mut out: Vec<PathLink> = Vec::new();
        for direction in [Direction::Up, Direction::Down] {
            let mut searched = BTreeSet::new();
            for (client, server) in self.pairs(test) {
                let (from, to) = match direction {
                    Direction::Up => (client, server),
                    Direction::Down => (server, client),
                };
                if !searched.insert((from, to)) {
                    continue;
                }
                for link in hops(&self.scenario, from, to).unwrap_or_default().concat() {
                    let link = self.of_device(link);
                    if out.iter().all(|known| known.link != link) {
                        out.extend(self.path_link(link, direction));
                    }
                }
            }
        }
        out
    }

    /// For a link over the air, the one link that represents all from the same device. Any other link
    /// represents itself.
    fn of_device(&self, link: usize) -> usize {
        let from = |link: usize| self.scenario.links.get(link).map(|link| link.from);
        let Some(radio) = self.scenario.radios.iter().find(|radio| radio.links.contains(&link)) else {
            return link;
        };
        let mut own = radio.links.iter().copied().filter(|&other| from(other) == from(link));
        own.clone().find(|&own| own == self.up || own == self.down).or_else(|| own.next()).unwrap_or(link)
    }

    /// The name of a device on the air with several links: `ap to stations`.
    fn device_name(&self, link: usize) -> Option<String> {
        let links = &self.scenario.links;
        let radio = self.scenario.radios.iter().find(|radio| radio.links.contains(&link))?;
        let from = links.get(link)?.from;
        let several = radio.links.iter().filter(|&&own| links[own].from == from).count() > 1;
        several.then(|| format!("{} to stations", self.scenario.nodes[from]))
    }

    /// Client and server of each flow, probe, call, page, video, test of responsiveness and traffic.
    fn pairs<'a>(&'a self, test: &'a Test) -> impl Iterator<Item = (NodeId, NodeId)> + 'a {
        let scenario = &self.scenario;
        let flows = scenario.flows.iter().zip(&test.flows).map(|(flow, plan)| match plan.direction {
            OneWay::Up => (flow.from, flow.to),
            OneWay::Down => (flow.to, flow.from),
        });
        let streams = test.streams().len();
        let probes = scenario.probes.iter().take(streams).map(|probe| (probe.from, probe.to));
        let pages =
            scenario.browsers.iter().flat_map(|page| page.hosts.iter().map(|&host| (page.from, host)));
        let videos = scenario.players.iter().map(|video| (video.from, video.server));
        let rpm = scenario.rpm.iter().map(|rpm| (rpm.from, rpm.to));
        let traffic = self.traffic.iter().map(|traffic| match traffic.direction {
            OneWay::Up => (traffic.flow.from, traffic.flow.to),
            OneWay::Down => (traffic.flow.to, traffic.flow.from),
        });
        flows.chain(probes).chain(pages).chain(videos).chain(rpm).chain(traffic)
    }

    /// `None` if the link has no queue.
    fn path_link(&self, link: usize, direction: Direction) -> Option<PathLink> {
        let port = self.scenario.links.get(link)?.port.as_ref();
        let note = self.notes.get(link)?;
        let queue = match port {
            Some(port) => match port.shaper {
                Some(above) => format!("{} under {}", port.queue, shaper(above)),
                None => port.queue.to_string(),
            },
            None => Some(note.queue.clone()).filter(|queue| !queue.is_empty())?,
        };
        let shaped = port.and_then(|port| {
            let above = port.shaper.map(|shaper| shaper.rate);
            let own = match &port.queue {
                Discipline::Queue(queue) => queue.shaped_rate(),
                Discipline::Classes(_) | Discipline::Own(_) => None,
            };
            above.into_iter().chain(own).min()
        });
        let name = self.device_name(link).unwrap_or_else(|| note.name.clone());
        Some(PathLink { link, direction, name, queue, shaped })
    }
}

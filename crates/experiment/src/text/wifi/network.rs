//! From a Wi-Fi network to nodes, links and a radio of a scenario.

use goodqueue::{ETHERNET_FRAME, Serializer, Span};
use goodqueue_sim::wifi::{PeerSpec, RateSpec, Role};
use goodqueue_sim::{Link, Loss, PortSpec, Radio};

use super::super::network::Network;
use super::{ACCESS_POINT, SERVER, Wifi};
use crate::experiment::Note;

impl Wifi {
    /// The network; `origin` is the start of the load.
    pub(in super::super) fn network(&self, origin: Span) -> Network {
        let mut network = Network::default();
        let scenario = &mut network.scenario;
        scenario.nodes = [SERVER, ACCESS_POINT].map(String::from).to_vec();
        scenario.nodes.extend(self.stations.iter().cloned());
        for (from, to) in [(0, 1), (1, 0)] {
            let port = PortSpec {
                frame: ETHERNET_FRAME,
                line: Serializer::new(self.wire.rate).into(),
                ..PortSpec::new(self.wire.queue.into(), self.wire.rate)
            };
            scenario.links.push(Link::new(from, to, Some(port), self.wire.delay));
            let name = format!("{} to {}", scenario.nodes[from], scenario.nodes[to]);
            network.notes.push(Note { name, line: self.wire.rate.to_string(), ..Note::default() });
        }
        for (station, rate) in (2..).zip(&self.rates) {
            for (from, to) in [(1, station), (station, 1)] {
                let free =
                    Link { from, to, port: None, delay: Span::ZERO, jitter: Span::ZERO, loss: Loss::None };
                scenario.links.push(free);
                let name = format!("{} to {}", scenario.nodes[from], scenario.nodes[to]);
                let line = format!("on the air, {rate}");
                let queue = if from > 1 { self.station_words.clone() } else { self.words.clone() };
                network.notes.push(Note { name, line, queue, compared: true, ..Note::default() });
            }
        }
        let mut spec = self.radio.clone();
        for device in &mut spec.devices {
            if let Role::Station { down, up, .. } = &mut device.role {
                [down, up].into_iter().for_each(|peer| shift(peer, origin));
            }
        }
        let on_air = (2..scenario.links.len()).collect();
        scenario.radios.push(Radio { spec, nodes: (1..scenario.nodes.len()).collect(), links: on_air });
        let pair = |station| if self.runs_from_server { (0, station) } else { (station, 0) };
        network.pairs = (2..scenario.nodes.len()).map(pair).collect();
        network
    }
}

/// Shifts the times of a schedule, which count from the start of the load.
fn shift(peer: &mut PeerSpec, origin: Span) {
    if let RateSpec::Schedule(steps) = &mut peer.rate {
        steps.iter_mut().skip(1).for_each(|(from, _)| *from = *from + origin);
    }
}

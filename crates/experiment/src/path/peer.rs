//! A second observer: a nearby server, in the home or the office. The delay that a load adds to its round
//! trip arises before it; any further delay arises beyond it.

use goodqueue_probe::{Probe, Sample, Test};
use goodqueue_report::{MISSING, Peer};

use super::PathTest;
use super::clocks::Delays;
use crate::collect::{Collector, QueueEnd};

/// The observations of the second observer.
pub(super) struct Observer {
    name: Option<String>,
    collector: Collector,
    delays: Delays,
}

impl Observer {
    pub(super) fn new(asked: &PathTest) -> Observer {
        let name = asked.peer.as_ref().map(|peer| peer.name.clone());
        let own = |probe: &Probe| Probe { host: 0, ..probe.clone() };
        let test = Test {
            flows: Vec::new(),
            udp: Vec::new(),
            probes: asked.test.streams().take(1).map(own).collect(),
            voip: Vec::new(),
            web: Vec::new(),
            dash: Vec::new(),
            talks: Vec::new(),
            ..asked.test.clone()
        };
        Observer { name, collector: Collector::new("", &test), delays: Delays::default() }
    }

    /// Takes in a sample of its probe, whatever its number.
    pub(super) fn take(&mut self, mut sample: Sample) {
        if let Sample::Echo { probe, .. } | Sample::Lost { probe, .. } = &mut sample {
            *probe = 0;
            self.delays.note(&sample);
            self.collector.sample(&sample);
        }
    }

    pub(super) fn finish(mut self) -> Option<Peer> {
        let correction = self.delays.correction();
        self.collector.shift_clocks(&|_, t| correction.ahead(t));
        self.collector.finished(true, Vec::new(), QueueEnd::default(), QueueEnd::default());
        let probe = self.collector.into_run().probes.pop()?;
        let is_answered = probe.rtt_ns.iter().any(|&rtt| rtt != MISSING);
        self.name.filter(|_| is_answered).map(|host| Peer { host, probe })
    }
}

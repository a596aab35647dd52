//! The part of a record that is known before the experiment runs.

use std::collections::BTreeMap;

use goodqueue::{ETHERNET_MTU, Span};
use goodqueue_probe::rpm::LOADS;
use goodqueue_probe::talk::App;
use goodqueue_probe::{Direction, Dscp, Probe, Test, Transport};
use goodqueue_report::{
    FlowPlan, LinkPlan, PagePlan, PathPlan, ProbePlan, Record, TalkPlan, TestPlan, TrafficPlan, VideoPlan,
};
use goodqueue_sim::{Link, Opener, Scenario, route};

use crate::plan::{LinkOrder, Plan};
use crate::simulate::Job;
use crate::text::queue_text::QueueText;
use crate::{Experiment, Traffic, Variant};

/// The record of a plan before it has run, if it runs over the live arm's line.
pub(crate) fn of_plan(plan: &Plan, test: &Test, own: Record) -> Record {
    Record {
        seed: plan.seeds.first().copied().unwrap_or(1),
        planned: plan
            .queues
            .iter()
            .flat_map(|queue| loads(test).iter().map(move |&(load, _)| labelled(queue, load)))
            .collect(),
        about: plan
            .queues
            .iter()
            .filter_map(|queue| Some((queue, queue.parse::<QueueText>().ok()?.about())))
            .flat_map(|(queue, about)| {
                loads(test).iter().map(move |&(load, _)| (labelled(queue, load), about.clone()))
            })
            .collect(),
        test: test_plan(&test.clone().with_rpm()),
        link: link_plan(&plan.link),
        warnings: plan.warnings.clone(),
        ..own
    }
}

impl Experiment {
    /// The record before anything has run: `own`, and the contents of the experiment.
    #[must_use]
    pub fn head(&self, own: Record) -> Record {
        Record {
            title: if own.title.is_empty() { self.about.clone() } else { own.title.clone() },
            arm: "simulated".into(),
            seed: self.seeds.first().copied().unwrap_or(0),
            planned: self
                .variants
                .iter()
                .flat_map(|variant| {
                    loads(&self.test).iter().map(move |&(load, _)| labelled(&variant.label, load))
                })
                .collect(),
            about: self.about_runs(),
            test: TestPlan {
                traffic: self.traffic_plans(),
                sources: self.sources(),
                ..test_plan(&self.test.clone().with_rpm())
            },
            link: self.variants.first().map(Variant::link).unwrap_or_default(),
            warnings: self.warnings.clone(),
            ..own
        }
    }

    /// A line about each run that has one.
    fn about_runs(&self) -> BTreeMap<String, String> {
        let described = self.variants.iter().filter(|variant| !variant.about.is_empty());
        described
            .flat_map(|variant| {
                let of =
                    |&(load, _): &(&str, Direction)| (labelled(&variant.label, load), variant.about.clone());
                loads(&self.test).iter().map(of)
            })
            .collect()
    }

    /// UDP senders of the first variant, without those of the test, which are flows of the record.
    fn sources(&self) -> u32 {
        let all = self.variants.first().map_or(0, |variant| variant.scenario.sources.len());
        u32::try_from(all.saturating_sub(self.test.udp.len())).unwrap_or(u32::MAX)
    }

    /// The traffic of the first variant.
    fn traffic_plans(&self) -> Vec<TrafficPlan> {
        let plan = |traffic: &Traffic| TrafficPlan {
            name: traffic.name.clone(),
            direction: direction(traffic.direction),
            host: u32::try_from(traffic.host).unwrap_or(u32::MAX),
            arrivals: traffic.arrivals.clone(),
            size: traffic.size.clone(),
            cc: traffic.flow.cc.name().to_owned(),
            dscp: Dscp::new(traffic.flow.dscp).map(|dscp| dscp.to_string()).unwrap_or_default(),
        };
        self.variants.first().map_or_else(Vec::new, |variant| variant.traffic.iter().map(plan).collect())
    }

    /// Every variant with every seed, variant by variant. In a responsiveness test each has two runs with
    /// each seed: downloads, and then uploads.
    #[must_use]
    pub fn jobs(&self) -> Vec<Job> {
        let first = self.variants.first().map(Variant::link);
        let test = self.test.clone().with_rpm();
        let of = |variant: &Variant| {
            let link = Some(variant.link()).filter(|link| Some(link) != first.as_ref());
            let path = variant.path(&self.test);
            let job = |(load, direction): (&str, Direction), seed: u64| Job {
                scenario: loaded(variant.with_seed(seed), direction),
                traffic: variant.traffic_runs(seed),
                test: test.clone(),
                up: variant.up,
                down: variant.down,
                path: path.clone(),
                queue: labelled(&variant.label, load),
                link: link.clone(),
                traced: Vec::new(),
            };
            loads(&self.test)
                .iter()
                .flat_map(|&load| self.seeds.iter().map(move |&seed| (load, seed)))
                .map(|(load, seed)| job(load, seed))
                .collect::<Vec<_>>()
        };
        self.variants.iter().flat_map(of).collect()
    }
}

/// The loads of a responsiveness test. Any other test has one, which needs no name.
pub(crate) fn loads(test: &Test) -> &'static [(&'static str, Direction)] {
    if test.rpm.is_some() { &LOADS } else { &[("", Direction::Up)] }
}

/// The name of a variant's run with this load: `fq_codel download`.
pub(crate) fn labelled(variant: &str, load: &str) -> String {
    format!("{variant} {load}").trim_end().to_owned()
}

/// The scenario with its responsiveness test, if it has one, set to load this direction.
fn loaded(mut scenario: Scenario, direction: Direction) -> Scenario {
    let seed = scenario.seed;
    scenario.rpm.iter_mut().for_each(|rpm| (rpm.config.direction, rpm.config.seed) = (direction, seed));
    scenario
}

impl Variant {
    /// The bottlenecks in the form of the record.
    fn link(&self) -> LinkPlan {
        let path = |link: usize, direction: Direction| PathPlan {
            bypassed: self.is_bypassed(link, direction),
            ..self.scenario.links.get(link).map(path).unwrap_or_default()
        };
        LinkPlan {
            up: path(self.up, Direction::Up),
            down: path(self.down, Direction::Down),
            rtt_ns: self.rtt.iter().map(|rtt| rtt.0).collect(),
            mtu_bytes: ETHERNET_MTU,
            ecn: self.scenario.tcp.ecn,
            super_packets: false,
            ip_version: if self.scenario.ipv6 { 6 } else { 4 },
        }
    }

    /// Whether some flow of `direction` does not cross `link`.
    fn is_bypassed(&self, link: usize, direction: Direction) -> bool {
        // The client opens the connection, no matter which end sends.
        let opener = if direction == Direction::Up { Opener::Sender } else { Opener::Receiver };
        let mut flows = self.scenario.flows.iter().filter(|flow| flow.opener == opener);
        flows.any(|flow| route(&self.scenario, flow.from, flow.to).is_ok_and(|way| !way.contains(&link)))
    }
}

fn path(link: &Link) -> PathPlan {
    let ring = link.port.as_ref().and_then(|port| port.ring);
    PathPlan {
        rate_bps: link.port.as_ref().map(|port| port.rate.0),
        loss: link.loss.mean(),
        ring_packets: ring.map(|ring| ring.entries),
        bql: ring.is_some_and(|ring| ring.bql),
        bypassed: false,
    }
}

/// The test in the form of the record.
pub(crate) fn test_plan(test: &Test) -> TestPlan {
    let flows = test.flows.iter().map(|flow| FlowPlan {
        name: flow.name.clone(),
        direction: direction(flow.direction),
        transport: (flow.transport != Transport::Tcp).then(|| flow.transport.name().into()),
        cc: flow.cc.clone(),
        dscp: flow.dscp.to_string(),
        host: u32::try_from(flow.host).unwrap_or(u32::MAX),
        start_ns: signed(flow.start),
        stop_ns: signed(flow.stop),
        rate_bps: flow.max_rate.map(|rate| rate.0),
    });
    let udp = test.udp.iter().map(|flow| FlowPlan {
        name: flow.name.clone(),
        direction: direction(flow.direction),
        transport: None,
        cc: String::new(),
        dscp: flow.dscp.to_string(),
        host: u32::try_from(flow.host).unwrap_or(u32::MAX),
        start_ns: signed(flow.start),
        stop_ns: signed(flow.stop),
        rate_bps: Some(flow.rate.0),
    });
    let stream = |probe: &Probe| ProbePlan {
        name: probe.name.clone(),
        dscp: probe.dscp.to_string(),
        host: u32::try_from(probe.host).unwrap_or(u32::MAX),
        interval_ns: probe.interval.0,
        payload_bytes: probe.payload,
    };
    let pages = test.web.iter().map(|page| PagePlan {
        name: page.name.clone(),
        requests: page.requests,
        bytes: page.bytes,
        host: u32::try_from(page.host).unwrap_or(u32::MAX),
        cc: page.cc.clone(),
    });
    let videos = test.dash.iter().map(|video| VideoPlan {
        name: video.name.clone(),
        host: u32::try_from(video.host).unwrap_or(u32::MAX),
        cc: video.cc.clone(),
    });
    let talks = test.talks.iter().map(|talk| TalkPlan {
        name: talk.name.clone(),
        dscp: talk.dscp.to_string(),
        host: u32::try_from(talk.host).unwrap_or(u32::MAX),
        ticks: match talk.app {
            App::Call => None,
            App::Game(ticks) => Some(ticks.into()),
        },
    });
    TestPlan {
        name: test.name.clone(),
        about: test.about.clone(),
        program: None,
        idle_ns: test.idle.0,
        load_ns: test.load.0,
        step_ns: test.step.0,
        flows: flows.chain(udp).collect(),
        sources: 0,
        probes: test.probes.iter().map(stream).collect(),
        voip: test.voip.iter().map(stream).collect(),
        web: pages.collect(),
        dash: videos.collect(),
        talks: talks.collect(),
        traffic: Vec::new(),
    }
}

/// A direction in the record's type.
pub(crate) fn direction(direction: Direction) -> goodqueue_report::Direction {
    match direction {
        Direction::Up => goodqueue_report::Direction::Up,
        Direction::Down => goodqueue_report::Direction::Down,
    }
}

pub(crate) fn signed(span: Span) -> i64 {
    i64::try_from(span.0).unwrap_or(i64::MAX)
}

pub(crate) fn link_plan(link: &LinkOrder) -> LinkPlan {
    let path = |bps| PathPlan {
        rate_bps: Some(bps),
        loss: link.loss,
        ring_packets: link.ring,
        bql: link.bql,
        bypassed: false,
    };
    LinkPlan {
        up: path(link.up_bps),
        down: path(link.down_bps),
        rtt_ns: link.rtt_ns.clone(),
        mtu_bytes: ETHERNET_MTU,
        ecn: link.ecn,
        super_packets: link.super_packets,
        ip_version: link.ip_version,
    }
}

//! Turns an order into a test, the requirements for the lab, and the network that the engine puts between its
//! sockets.

use std::net::IpAddr;
use std::path::Path;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use goodqueue::port::Trace;
use goodqueue::{Direction, ETHERNET_FRAME, Line, Nanos, Rate, RingSpec, Serializer, Span};
use goodqueue_probe::Test;
use goodqueue_report::wifi::Radio as Recorded;
use goodqueue_report::{Direction as Recording, PathQueue, ramp_ns};
use goodqueue_sim::wifi::{DeviceId, PeerSpec, Radio, RadioSpec, RateSpec, Role};
use goodqueue_wire::DEFAULT_FRAMES;
use goodqueue_wire::{
    Engine, EngineHandle, EngineSpec, FlowSpec, Lab, MAX_HOSTS, MediumSpec, OnDestination, PathSpec,
};

use super::message::{Order, Work};
use super::on_air::{LoadStart, Notes, Offered, OnAir, RadioMessage, backlog};
use super::own::Own;
use super::queue::{Faults, LineQueue, RunningQueue};
use crate::Error;
use crate::collect::{QueueMoment, Tally};
use crate::plan::LinkOrder;
use crate::radio::snapshot::StationSnapshot;
use crate::radio::{Measured, Moment, Owner, faults, places, signed};
use crate::simulate::{PathLink, path_queue, unbalanced};
use crate::text::{link_file, trace};
use crate::{Experiment, Variant};

/// The meaning of an order.
pub(super) struct Setup {
    pub(super) test: Test,
    /// The direction that a responsiveness test loads.
    pub(super) load: Option<Direction>,
    /// Server hosts of the lab.
    pub(super) hosts: usize,
    pub(super) ecn: bool,
    pub(super) super_packets: bool,
    pub(super) ipv6: bool,
    pub(super) network: Network,
}

/// A running engine.
pub(super) struct Started {
    pub(super) engine: EngineHandle,
    /// Where its queues record that they break rules.
    pub(super) faults: Faults,
    /// Over the air.
    pub(super) listening: Option<RadioThread>,
}

/// The link or medium that the engine puts between its sockets.
#[allow(clippy::large_enum_variant)] // There is only one per run, so it needs no box.
pub(super) enum Network {
    /// Two lines with this queue.
    Lines(LinkOrder, LineQueue),
    /// The air.
    Air(Air),
}

/// A Wi-Fi network. Every station is a server host of the lab, or has its own server host behind the access
/// point.
pub(super) struct Air {
    spec: RadioSpec,
    stations: Vec<String>,
    /// The radio's queues on the path, each with its device, and whether the reports show it as the
    /// bottleneck's.
    path: Vec<(PathLink, DeviceId, bool)>,
    /// Delay between network server and access point, each way.
    delay: Span,
    to_stations: Direction,
}

/// Time from the start of a radio's time to the idle lead-in: the engine starts, and all threads get ready.
const LEAD: Span = Span::from_millis(800);

/// A radio with a listening thread.
#[derive(Debug)]
pub(super) struct RadioThread {
    /// When the radio's time began.
    origin: Nanos,
    load_start: LoadStart,
    /// The airtime used so far, at the latest moment.
    latest: Arc<Mutex<Moment>>,
    /// The names of the stations.
    stations: Vec<String>,
    thread: JoinHandle<RadioReport>,
}

impl Setup {
    pub(super) fn of(order: &Order, own: Option<Own>) -> Result<Setup, Error> {
        match &order.work {
            Work::Lines { queue, text, load, test, link } => {
                let test = test.test()?;
                let queue = match (text, own) {
                    (None, _) => LineQueue::read(queue)?,
                    (Some(text), Some(own)) => {
                        LineQueue::Program { name: queue.clone(), text: text.clone(), own }
                    }
                    (Some(_), None) => {
                        return Err(Error::Usage(format!(
                            "{queue}: this program makes no queues of its own"
                        )));
                    }
                };
                Ok(Setup {
                    hosts: test.hosts(),
                    test,
                    load: load.map(way),
                    ecn: link.ecn,
                    super_packets: link.super_packets,
                    ipv6: link.ip_version == 6,
                    network: Network::Lines(link.clone(), queue),
                })
            }
            Work::Air { file, text, flags, changes, variant } => {
                let mut experiment = match flags {
                    Some(flags) => link_file::experiment(text, file, flags)?,
                    None => Experiment::of_text(text, Path::new(file), changes).map_err(Error::usage)?,
                };
                if *variant >= experiment.variants.len() {
                    return Err(Error::Usage(format!("{file}: it has no variant {variant}")));
                }
                Setup::over_the_air(&experiment.variants.swap_remove(*variant), experiment.test)
            }
        }
    }

    /// The network of a variant of an experiment, live.
    ///
    /// # Errors
    /// [`Error::Usage`] if the live arm does not support it.
    pub(super) fn over_the_air(variant: &Variant, test: Test) -> Result<Setup, Error> {
        let scenario = &variant.scenario;
        let refuse = |why: String| Err(Error::Usage(format!("--live: {why}")));
        let ([radio], Some(wire)) = (&scenario.radios[..], scenario.links.first()) else {
            return refuse("it runs only experiments over [wifi]; run others in the simulator".into());
        };
        if scenario.sources.len() > test.udp.len() {
            let what =
                "[[udp]] is simulated only: live there are the UDP flows of tests (udp_flood); leave it out";
            return refuse(what.into());
        }
        if test.rpm.is_some() {
            return refuse(format!("{} is not possible over [wifi]; leave --live out", test.name));
        }
        if scenario.flows.iter().any(|flow| flow.bytes.is_some()) {
            return refuse("flows with a number of bytes are simulated only; leave `bytes` out".into());
        }
        let (hosts, most) = (test.hosts(), usize::from(MAX_HOSTS));
        if hosts > most {
            return refuse(format!(
                "flows and probes at {hosts} stations, but the maximum is {most}: live, all of them are addresses of one \
                 TCP stack; the simulator has no such bound"
            ));
        }
        let stations: Vec<String> =
            radio.nodes.iter().skip(1).filter_map(|&node| scenario.nodes.get(node).cloned()).collect();
        let to_stations = if is_client_at_server(variant) { Direction::Up } else { Direction::Down };
        let device = |link: usize| {
            let from = scenario.links.get(link).filter(|_| radio.links.contains(&link))?.from;
            DeviceId::try_from(radio.nodes.iter().position(|&node| node == from)?).ok()
        };
        let queue = |path: PathLink| {
            let is_bottleneck = path.link == variant.up || path.link == variant.down;
            device(path.link).map(|device| (path, device, is_bottleneck))
        };
        let path = variant.path(&test).into_iter().filter_map(queue).collect();
        let air = Air { spec: radio.spec.clone(), stations, path, delay: wire.delay, to_stations };
        let network = Network::Air(air);
        let ecn = scenario.tcp.ecn;
        Ok(Setup { test, load: None, hosts, ecn, super_packets: false, ipv6: scenario.ipv6, network })
    }

    /// The address of a server host.
    pub(super) fn address(&self, host: u8) -> IpAddr {
        Lab::server_address(self.test.is_ipv6(host.into(), self.ipv6), host)
    }

    /// The longest round trip that a packet can have: the base delay, and the time that both queues take to
    /// drain when they are full. Over the air the rate at which they drain is not known.
    pub(super) fn longest_round_trip(&self) -> Span {
        match &self.network {
            Network::Lines(link, queue) => {
                let base = Span(link.rtt_ns.iter().max().copied().unwrap_or(0));
                let drain = |bps| queue.drain_time(Rate(bps), link.ring.unwrap_or(0));
                base + drain(link.up_bps) + drain(link.down_bps)
            }
            Network::Air(_) => Span(u64::MAX),
        }
    }

    /// Starts the engine; over the air also a listening thread.
    pub(super) fn start(&self, lab: &Lab, order: &Order) -> Result<Started, Error> {
        match &self.network {
            Network::Lines(link, queue) => {
                let spec = lines(link, queue, order.seed, None)?;
                let faults = Faults::of([&spec.up.queue, &spec.down.queue]);
                let engine = Engine::start(lab, spec).map_err(Error::machine)?;
                Ok(Started { engine, faults, listening: None })
            }
            Network::Air(air) => {
                let (engine, listening) =
                    air.start(lab, &self.test, order.seed, Span(ramp_ns(self.test.load.0)), (None, None))?;
                Ok(Started { engine, faults: Faults::default(), listening: Some(listening) })
            }
        }
    }
}

/// The same direction in the queues' type.
fn way(direction: Recording) -> Direction {
    match direction {
        Recording::Up => Direction::Up,
        Recording::Down => Direction::Down,
    }
}

/// Whether the clients of the test are at the server, node 0, and not at the stations. Clients open
/// connections.
fn is_client_at_server(variant: &Variant) -> bool {
    let scenario = &variant.scenario;
    let opener = |flow: &goodqueue_sim::Flow| match flow.opener {
        goodqueue_sim::Opener::Sender => flow.from,
        goodqueue_sim::Opener::Receiver => flow.to,
    };
    let probes = scenario.probes.iter().map(|probe| probe.from);
    let browsers = scenario.browsers.iter().map(|browser| browser.from);
    let players = scenario.players.iter().map(|player| player.from);
    let talks = scenario.talks.iter().map(|talk| talk.from);
    probes.chain(scenario.flows.iter().map(opener)).chain(browsers).chain(players).chain(talks).next()
        == Some(0)
}

/// The engine as two lines with `queue`, which count each connection if `flows` is given.
pub(super) fn lines(
    link: &LinkOrder,
    queue: &LineQueue,
    seed: u64,
    flows: Option<FlowSpec>,
) -> Result<EngineSpec<RunningQueue>, Error> {
    let path = |bps, trace: &Option<String>, node| {
        let mut path = PathSpec::new(queue.build(Rate(bps), seed, node)?);
        path.line = match trace {
            None => Line::from(Serializer::new(Rate(bps))),
            // The trace begins with the engine.
            Some(file) => Line::Trace(trace_of(file)?.starting_at(goodqueue_wire::now())),
        };
        path.ring = link.ring.map(|entries| RingSpec { entries, bql: link.bql, coalesce: Span::ZERO });
        path.loss = link.loss;
        path.delays = link.rtt_ns.iter().map(|rtt| Span(rtt / 2)).collect();
        Ok(path)
    };
    let up = path(link.up_bps, &link.trace_up, 0)?;
    let mut engine = EngineSpec::new(up, path(link.down_bps, &link.trace_down, 1)?);
    engine.seed = seed;
    engine.flows = flows;
    engine.frames = frames(link);
    engine.around = queue.around();
    Ok(engine)
}

fn trace_of(file: &str) -> Result<Trace, Error> {
    let trace = trace::read(Path::new(file)).map_err(|why| Error::Usage(format!("{file}: {why}")))?;
    Ok(trace.0)
}

/// Slots for the frames in flight, on top of those that may wait in queues.
fn frames(link: &LinkOrder) -> u32 {
    let longest = link.rtt_ns.iter().max().copied().unwrap_or(0);
    let flying =
        Rate(link.up_bps.saturating_add(link.down_bps)).bytes_in(Span(longest)).0 / u64::from(ETHERNET_FRAME);
    u32::try_from(flying).unwrap_or(u32::MAX).saturating_add(DEFAULT_FRAMES).min(1 << 20)
}

impl Air {
    /// Waiting times in the `ramp` at the start of the load do not count. Each connection is counted if
    /// `flows` is given. `act`, if given, is called before a destination gets its first packet.
    pub(super) fn start(
        &self,
        lab: &Lab,
        test: &Test,
        seed: u64,
        ramp: Span,
        (flows, act): (Option<FlowSpec>, Option<OnDestination>),
    ) -> Result<(EngineHandle, RadioThread), Error> {
        let mut spec = self.spec.clone();
        for device in &mut spec.devices {
            if let Role::Station { down, up, .. } = &mut device.role {
                [down, up].into_iter().for_each(|peer| shift(peer, LEAD));
            }
        }
        let radio = Radio::new(&spec, seed, 0).map_err(Error::usage)?;
        let (listener, heard) = channel();
        let load_start = LoadStart::default();
        let origin = goodqueue_wire::now();
        let on_air = OnAir {
            radio,
            places: places(&spec),
            origin,
            to_stations: self.to_stations,
            load_start: load_start.clone(),
            load: test.load,
            ramp,
            listener,
            notes: Notes::default(),
        };
        let mut engine = MediumSpec::new(on_air);
        engine.seed = seed;
        engine.flows = flows;
        let delays = || vec![self.delay];
        match self.to_stations {
            Direction::Down => (engine.down.before, engine.up.after) = (delays(), delays()),
            Direction::Up => (engine.up.before, engine.down.after) = (delays(), delays()),
        }
        let engine = Engine::start_medium(lab, engine, act).map_err(Error::machine)?;
        let ear = Ear {
            owners: self.owners(test),
            measured: Measured::new(places(&spec), test.load),
            spec,
            path: self.path.clone(),
            origin,
            load_start: load_start.clone(),
            latest: Arc::default(),
        };
        let (latest, stations) = (Arc::clone(&ear.latest), self.stations.clone());
        let thread = thread::spawn(move || ear.listen(&heard));
        Ok((engine, RadioThread { origin, load_start, latest, stations, thread }))
    }

    /// The owners: host `n` of the test is station `n`.
    fn owners(&self, test: &Test) -> Vec<Owner> {
        let own = |hosts: Vec<usize>, station: usize| {
            (0..).zip(hosts).filter(|&(_, host)| host == station).map(|(number, _)| number).collect()
        };
        let owner = |(station, name): (usize, &String)| Owner {
            name: name.clone(),
            flows: own(test.flows.iter().map(|flow| flow.host).collect(), station),
            probes: own(test.probes.iter().map(|probe| probe.host).collect(), station),
        };
        self.stations.iter().enumerate().map(owner).collect()
    }
}

/// Shifts the rates of a schedule to later: the file counts from the start of the load, the radio from the
/// start of the engine.
fn shift(peer: &mut PeerSpec, by: Span) {
    if let RateSpec::Schedule(steps) = &mut peer.rate {
        steps.iter_mut().filter(|(from, _)| *from > Span::ZERO).for_each(|(from, _)| *from = *from + by);
    }
}

/// Listens to a radio, and makes the record of it.
struct Ear {
    owners: Vec<Owner>,
    measured: Measured,
    spec: RadioSpec,
    path: Vec<(PathLink, DeviceId, bool)>,
    origin: Nanos,
    load_start: LoadStart,
    latest: Arc<Mutex<Moment>>,
}

/// The report on a radio at the end.
#[derive(Debug, Default)]
pub(super) struct RadioReport {
    pub(super) radios: Vec<Recorded>,
    /// The queues of its devices.
    pub(super) path: Vec<PathQueue>,
    /// Why the result is not valid.
    pub(super) wrong: Vec<String>,
}

impl Ear {
    /// Listens until the engine has ended.
    fn listen(mut self, heard: &std::sync::mpsc::Receiver<RadioMessage>) -> RadioReport {
        for heard in heard {
            match heard {
                RadioMessage::Events(events) => {
                    let Some(start) = self.load_start.get() else { continue };
                    let origin = signed(start.since(self.origin).0);
                    events.iter().for_each(|event| self.measured.event(event, origin));
                }
                RadioMessage::Moment(t, moment) => {
                    if let Ok(mut latest) = self.latest.lock() {
                        latest.clone_from(&moment);
                    }
                    self.measured.moment(signed(t), moment);
                }
                RadioMessage::End(radio, offered, now) => {
                    let devices = DeviceId::try_from(self.spec.devices.len()).unwrap_or(DeviceId::MAX);
                    let queue = |(path, device, is_bottleneck): &(PathLink, DeviceId, bool)| {
                        let offered = offered.get(usize::from(*device)).copied().unwrap_or_default();
                        radio_queue(path, (&radio, devices), *device, *is_bottleneck, offered)
                    };
                    let (path, unbalanced): (Vec<_>, Vec<_>) = self.path.iter().map(queue).unzip();
                    let owner = |station: usize| self.owners.get(station).cloned().unwrap_or_default();
                    let recorded = self.measured.finish("phy0".into(), &self.spec, &radio, owner);
                    let mut wrong = faults(&recorded, &radio, now);
                    wrong.extend(unbalanced.into_iter().flatten());
                    return RadioReport { radios: vec![recorded], path, wrong };
                }
            }
        }
        RadioReport { wrong: vec!["the radio ended without a report".into()], ..RadioReport::default() }
    }
}

/// The queues of a device, and what is wrong with their counters.
fn radio_queue(
    path: &PathLink,
    (radio, devices): (&Radio, DeviceId),
    device: DeviceId,
    is_bottleneck: bool,
    offered: Offered,
) -> (PathQueue, Option<String>) {
    let (sent, held) = (radio.sent_of(device), radio.held_of(device));
    let Offered { arrived, drops, marks } = offered;
    let tally = Tally { drops, arrived, sent, held, own: Vec::new() };
    let wrong = unbalanced(&tally).map(|why| format!("the counters of {}: {why}", path.name));
    let bytes = (0..devices).filter_map(|to| radio.path_account(device, to)).map(|account| account.bytes);
    let [above, _] = backlog(radio, device);
    let last =
        QueueMoment { backlog_bytes: above.bytes, sent_bytes: bytes.sum(), marks, ..QueueMoment::default() };
    (path_queue(path, is_bottleneck, (tally, last), radio.sojourn(device)), wrong)
}

impl RadioThread {
    /// How long after `now` the load of `test` starts: [`LEAD`] and the idle time after the start of the
    /// radio, whose rate schedules begin at that time, but not before everything can be ready.
    pub(super) fn lead(&self, now: Nanos, test: &Test, least: Span) -> Span {
        (self.origin + LEAD + test.idle).since(now).max(least)
    }

    /// The stations, and when they were so, nanoseconds since the radio began: at most about 100 ms ago while
    /// the load lasts.
    pub(super) fn stations(&self) -> (u64, Vec<StationSnapshot>) {
        self.latest.lock().map(|latest| (latest.at(), latest.stations(&self.stations))).unwrap_or_default()
    }

    /// Sets the time at which the load starts.
    pub(super) fn start_at(&self, at: Nanos) {
        self.load_start.set(at);
    }

    /// Returns the report once the engine has ended.
    pub(super) fn end(self) -> Result<RadioReport, Error> {
        self.thread.join().map_err(|_| Error::Machine("the thread that listens to the radio panicked".into()))
    }
}

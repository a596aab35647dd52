//! TCP flows: a sender at one host, a receiver at another, and the packets between them.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::Arc;

use goodqueue::{FlowHasher, Nanos, Rng, Span};
use goodqueue_probe::rpm::waiting;
use goodqueue_probe::web::REQUEST;

use super::agenda::{Agenda, moment};
use super::network::{HostDevice, Network};
use crate::address::{Conversation, lower_headers};
use crate::credits::Credit;
use crate::device::{AirEnds, Device};
use crate::error::BuildError;
use crate::frame::{Frame, Kind};
use crate::implementation::Implementation;
use crate::owner::LaneOwner;
use crate::path::Position;
use crate::propagation::Fate;
use crate::scenario::{After, Opener, Scenario};
use crate::tap::What;
use crate::tcp::cc::{Cc, CcKind};
use crate::tcp::{Config, Opening, Rest, Rx, Tx};
use crate::token::FrameId;

/// All flows, and when they start and stop.
#[derive(Debug)]
pub(crate) struct Flows {
    list: Vec<Flow>,
    /// Flows that continue now, because their host's device has room again.
    resumed: Vec<u32>,
    script: Script,
    transfers: Transfers,
    /// TCP of all hosts, over IPv4 and over IPv6.
    tcp: [Arc<Config>; 2],
    seed: u64,
    hasher: FlowHasher,
    implementation: Implementation,
}

/// Starts and stops, in order of time.
#[derive(Debug, Default)]
struct Script {
    entries: Vec<(Nanos, Action)>,
    /// The next entry.
    at: usize,
    /// Flows that waited for another one, which has ended.
    later: BinaryHeap<Reverse<(Nanos, Action)>>,
}

/// When a flow with [`bytes`](crate::Flow::bytes) began, and when its receiver had received all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// When it was opened; `None`: not yet.
    pub began: Option<Nanos>,
    /// When the receiver got its last byte; `None`: not yet.
    pub ended: Option<Nanos>,
}

/// The flows of the scenario with an end.
#[derive(Debug, Default)]
struct Transfers {
    /// By flow number; endless flows have an entry, too. Empty if no flow of the scenario has an end.
    list: Vec<Transfer>,
    /// Flows that wait for another: the other's number, their own, their earliest start, and the condition.
    /// Sorted by the first two.
    waiting: Vec<(u32, u32, Span, After)>,
    /// By flow number, the flow whose connection it uses. Empty if each opens its own.
    connections: Vec<u32>,
}

/// A flow at work.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) tx: Tx,
    pub(crate) rx: Rx,
    pub(crate) wires: [Wire; 2],
    opener: Opener,
    role: Role,
    ipv6: bool,
    /// Bytes of all flows that have gone over its connection so far.
    bytes: u64,
    /// The flow of the scenario that goes over its connection now.
    current: u32,
    /// The flow that carries the requests of a kept connection to the sender.
    requests: Option<u32>,
    /// The round of its device's credits in which it last got memory back.
    round: u32,
}

/// The role of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A flow of the scenario without an end.
    Load,
    /// A flow of the scenario with an end.
    Transfer,
    /// The requests after the first one on a kept connection, which flow `answers` opened.
    KeptRequests { answers: u32 },
    /// The requests of a browser or player on a connection.
    Requests { client: u32, connection: u32 },
    /// The answers to these.
    Answers { client: u32, connection: u32 },
}

/// The properties of a new flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewFlow {
    pub(crate) conversation: Conversation,
    /// The path of the data, and that of the acknowledgements.
    pub(crate) paths: [Position; 2],
    pub(crate) dsfield: u8,
    pub(crate) opener: Opener,
    pub(crate) cc: CcKind,
    pub(crate) role: Role,
    /// Bytes that it will send.
    pub(crate) bytes: u64,
}

/// One direction of a flow, as the network sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire {
    path: Position,
    /// The first link of the path. For data it is the device of the sender's host.
    link: u32,
    hash: u32,
    dsfield: u8,
    /// Headers below that of TCP, bytes.
    lower_headers: u32,
}

/// An action of the script on a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Action {
    Stop(u32),
    Start(u32),
}

impl Flow {
    /// Gives all memory back if a round of credits has ended.
    fn end_round(&mut self, now: Nanos, round: u32) {
        if self.round != round {
            self.round = round;
            self.tx.on_tx_complete(now, u32::MAX);
        }
    }
}

impl Wire {
    /// The path of its frames.
    pub(super) fn path(&self) -> Position {
        self.path
    }

    /// Makes the frame around its segment. `segments` is the number of segments that the packet will be cut
    /// into; each has its own headers (Linux `net/core/dev.c:qdisc_pkt_len_init`).
    fn wrap(&self, kind: Kind, owner: u32, segments: u32, frame: &mut Frame) {
        let segment = &frame.segment;
        let header = self.lower_headers + segment.header_len();
        frame.len = segment.len + header * segments;
        (frame.owner, frame.place, frame.flow_hash) = (owner, self.path, self.hash);
        (frame.dsfield, frame.kind, frame.is_owed) = (self.dsfield | segment.ecn, kind, false);
    }
}

impl Script {
    /// The next action that is due by `now`.
    fn take(&mut self, now: Nanos) -> Option<Action> {
        let next = self.next().filter(|&(at, _)| at <= now)?;
        if self.later.peek() == Some(&Reverse(next)) {
            self.later.pop();
        } else {
            self.at += 1;
        }
        Some(next.1)
    }

    /// The next action with its time.
    fn next(&self) -> Option<(Nanos, Action)> {
        let planned = self.entries.get(self.at).copied();
        let later = self.later.peek().map(|&Reverse(next)| next);
        planned.into_iter().chain(later).min()
    }

    fn wake(&self, agenda: &mut Agenda) {
        if let Some((at, _)) = self.next() {
            agenda.wake(LaneOwner::Script, at);
        }
    }
}

impl Transfers {
    #[allow(clippy::cast_possible_truncation)]
    fn new(scenario: &Scenario) -> Transfers {
        let has_any = scenario.flows.iter().any(|flow| flow.bytes.is_some());
        let afters = scenario.flows.iter().enumerate();
        let mut afters: Vec<(u32, u32, Span, After)> = afters
            .filter_map(|(index, flow)| Some((index as u32, flow.start, flow.after?)))
            .map(|(index, start, after)| (after.flow as u32, index, start, after))
            .collect();
        afters.sort_unstable_by_key(|&(before, index, ..)| (before, index));
        let list = vec![Transfer::default(); if has_any { scenario.flows.len() } else { 0 }];
        let mut connections: Vec<u32> = Vec::new();
        if scenario.flows.iter().any(|flow| flow.after.is_some_and(|after| after.kept)) {
            // `check` has made sure that the other flow precedes it in the list.
            for (index, flow) in scenario.flows.iter().enumerate() {
                let kept = flow.after.filter(|after| after.kept);
                connections.push(kept.map_or(index as u32, |after| connections[after.flow]));
            }
        }
        Transfers { list, waiting: afters, connections }
    }

    /// The flow whose connection flow `index` uses, if another one opened it.
    fn kept(&self, index: usize) -> Option<usize> {
        let connection = *self.connections.get(index)? as usize;
        (connection != index).then_some(connection)
    }

    /// The flows whose connections are kept, in the order of their numbers.
    fn all_kept(&self) -> BTreeSet<usize> {
        (0..self.connections.len()).filter_map(|index| self.kept(index)).collect()
    }

    /// The flows that wait for flow `index`, which has ended now, with the times at which they start.
    fn after(&self, index: usize, now: Nanos) -> impl Iterator<Item = (Nanos, u32)> + '_ {
        let of = |&(before, ..): &(u32, u32, Span, After)| before as usize;
        let first = self.waiting.partition_point(|waiting| of(waiting) < index);
        let own = self.waiting[first..].iter().take_while(move |waiting| of(waiting) == index);
        let at = move |&(_, flow, start, after): &(u32, u32, Span, After)| {
            let at = (now + after.pause).max(moment(start));
            (at < moment(after.until)).then_some((at, flow))
        };
        own.filter_map(at)
    }
}

#[allow(clippy::cast_possible_truncation)]
fn sender(index: usize) -> LaneOwner {
    LaneOwner::Sender(index as u32)
}

#[allow(clippy::cast_possible_truncation)]
fn receiver(index: usize) -> LaneOwner {
    LaneOwner::Receiver(index as u32)
}

impl Flows {
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn new(
        scenario: &Scenario,
        implementation: Implementation,
        agenda: &mut Agenda,
        network: &mut Network,
    ) -> Result<Flows, BuildError> {
        let mut flows = Flows {
            list: Vec::with_capacity(scenario.flows.len()),
            resumed: Vec::new(),
            script: Script::default(),
            transfers: Transfers::new(scenario),
            tcp: [false, true].map(|ipv6| Arc::new(scenario.tcp_over(ipv6))),
            seed: scenario.seed,
            hasher: FlowHasher::new(scenario.seed),
            implementation,
        };
        let script = &mut flows.script.entries;
        script.reserve_exact(scenario.flows.len());
        // QUIC flows have a place here, so that numbers agree, but never start.
        for (index, spec) in scenario.flows.iter().enumerate().filter(|(_, spec)| spec.quic.is_none()) {
            if spec.after.is_none() {
                script.push((moment(spec.start), Action::Start(index as u32)));
            }
            if let Some(stop) = spec.stop {
                script.push((moment(stop), Action::Stop(index as u32)));
            }
        }
        script.sort_unstable();
        let kept = flows.transfers.all_kept();
        for (index, spec) in scenario.flows.iter().enumerate() {
            let conversation = Conversation::of_flow(scenario, spec, index);
            let is_upload = spec.opener == Opener::Sender;
            let hashes = [!is_upload, is_upload].map(|back| conversation.hash(&flows.hasher, back));
            let new = NewFlow {
                conversation,
                paths: network.round_trip(scenario, (spec.from, spec.to), hashes)?,
                dsfield: spec.dscp << 2,
                opener: spec.opener,
                cc: spec.cc,
                role: if spec.bytes.is_some() { Role::Transfer } else { Role::Load },
                bytes: spec.bytes.unwrap_or(u64::MAX),
            };
            let tcp = &flows.tcp[usize::from(new.conversation.ipv6)];
            let nodelay = tcp.nodelay || kept.contains(&index);
            let tcp = if spec.max_rate.is_some() || nodelay != tcp.nodelay {
                let max_pacing_rate = spec.max_rate.or(tcp.max_pacing_rate);
                Arc::new(Config { max_pacing_rate, nodelay, ..**tcp })
            } else {
                Arc::clone(tcp)
            };
            flows.add(agenda, network, &tcp, &new);
        }
        // A receiver that opened the connection sends a request for each flow after the first one.
        for answers in kept.into_iter().filter(|&index| scenario.flows[index].opener == Opener::Receiver) {
            let [data, acks] = flows.list[answers].wires;
            let new = NewFlow {
                conversation: Conversation::of_flow(scenario, &scenario.flows[answers], answers),
                paths: [acks.path, data.path],
                dsfield: data.dsfield,
                opener: Opener::Sender,
                cc: CcKind::Cubic,
                role: Role::KeptRequests { answers: answers as u32 },
                bytes: 0,
            };
            flows.list[answers].requests = Some(flows.list.len() as u32);
            flows.add_for_client(agenda, network, &new);
        }
        flows.script.wake(agenda);
        Ok(flows)
    }

    /// Adds a flow that has not started.
    #[allow(clippy::cast_possible_truncation)]
    fn add(&mut self, agenda: &mut Agenda, network: &Network, config: &Arc<Config>, new: &NewFlow) {
        let number = self.list.len();
        let scalable = new.cc.is_scalable().then(|| Arc::new(Config { ecn: true, accecn: true, ..**config }));
        let config = scalable.as_ref().unwrap_or(config);
        let is_upload = new.opener == Opener::Sender;
        let wire = |path, is_data: bool| Wire {
            path,
            link: network.paths.link(path),
            hash: new.conversation.hash(&self.hasher, is_data != is_upload),
            dsfield: new.dsfield,
            lower_headers: lower_headers(new.conversation.ipv6),
        };
        let wires = [wire(new.paths[0], true), wire(new.paths[1], false)];
        let own = network.link(wires[0].link);
        let config = &match own.device {
            // With mac80211, connections may have more data queued below them.
            Some(Device::Air(AirEnds { tx_sk_pacing_shift: sk_pacing_shift, .. })) => {
                Arc::new(Config { sk_pacing_shift, ..**config })
            }
            _ => Arc::clone(config),
        };
        let (tx, rx) = match new.opener {
            Opener::Sender => (Opening::Active, Opening::Passive),
            Opener::Receiver => (Opening::Passive, Opening::Active),
        };
        let mut tx = Tx::sharing(config, self.congestion_control(new.cc, number), tx);
        if own.device.as_ref().is_some_and(Device::keeps_departures) {
            tx.stamp_departures();
        }
        let mut rx = Rx::new(config, rx);
        if self.implementation == Implementation::Reference {
            tx.take_every_step();
            rx.take_every_step();
        }
        let &NewFlow { opener, role, bytes, .. } = new;
        let (ipv6, current) = (new.conversation.ipv6, number as u32);
        self.list.push(Flow { tx, rx, wires, opener, role, ipv6, bytes, current, requests: None, round: 0 });
        agenda.make_room(self.list.len());
    }

    /// Adds a flow of a browser or a player, and returns its number.
    pub(super) fn add_for_client(&mut self, agenda: &mut Agenda, network: &Network, new: &NewFlow) -> usize {
        let config = Arc::new(self.client_config(new.conversation.ipv6));
        self.add(agenda, network, &config, new);
        self.list.len() - 1
    }

    /// TCP's parameters for browsers, players and their servers.
    fn client_config(&self, ipv6: bool) -> Config {
        Config { nodelay: true, ..*self.tcp[usize::from(ipv6)] }
    }

    /// The connection that flow `first` opened is up. Flow `second`, its other direction, may send. It starts
    /// with the round-trip time that the first one measured.
    pub(super) fn establish_second(&mut self, now: Nanos, [first, second]: [usize; 2], cc: CcKind) {
        let srtt = self.list[first].tx.window().srtt;
        let cc = self.congestion_control(cc, second);
        let config = self.client_config(self.list[second].ipv6);
        let flow = &mut self.list[second];
        flow.tx = Tx::established(&config, cc, now, (srtt > Span::ZERO).then_some(srtt));
        flow.rx = Rx::established(&config);
        if self.implementation == Implementation::Reference {
            flow.tx.take_every_step();
            flow.rx.take_every_step();
        }
    }

    /// Congestion control of flow `number`, with its own random numbers.
    fn congestion_control(&self, kind: CcKind, number: usize) -> Cc {
        Cc::new(kind, Rng::stream(self.seed, number as u64, "cc"))
    }

    pub(super) fn get(&self, index: usize) -> &Flow {
        &self.list[index]
    }

    pub(super) fn count(&self) -> usize {
        self.list.len()
    }

    /// The next flow that continues because its host's device has room again.
    pub(super) fn take_resumed(&mut self) -> Option<usize> {
        self.resumed.pop().map(|flow| flow as usize)
    }

    pub(super) fn run_script(&mut self, agenda: &mut Agenda, network: &mut Network) {
        while let Some(action) = self.script.take(agenda.now) {
            match action {
                Action::Start(flow) => self.start(agenda, network, flow as usize),
                Action::Stop(flow) => self.abort(agenda, network, flow as usize),
            }
        }
        self.script.wake(agenda);
    }

    pub(super) fn start(&mut self, agenda: &mut Agenda, network: &mut Network, index: usize) {
        if let Some(connection) = self.transfers.kept(index) {
            self.start_kept(agenda, network, connection, index);
            return;
        }
        let flow = &mut self.list[index];
        if flow.role == Role::Transfer {
            self.transfers.list[index].began = Some(agenda.now);
        }
        flow.tx.write(flow.bytes);
        match flow.opener {
            Opener::Sender => flow.tx.open(agenda.now),
            Opener::Receiver => flow.rx.open(agenda.now),
        }
        self.pump_tx(agenda, network, index);
        self.pump_rx(agenda, network, index);
    }

    /// Starts flow `index` over the connection that flow `connection` opened. If the receiver opened it, it
    /// sends a request first.
    #[allow(clippy::cast_possible_truncation)]
    fn start_kept(&mut self, agenda: &mut Agenda, network: &mut Network, connection: usize, index: usize) {
        self.transfers.list[index].began = Some(agenda.now);
        let bytes = self.list[index].bytes;
        let flow = &mut self.list[connection];
        flow.bytes = flow.bytes.saturating_add(bytes);
        flow.current = index as u32;
        let Some(requests) = flow.requests.map(|number| number as usize) else {
            self.write(agenda, network, connection, bytes);
            return;
        };
        if !self.list[requests].tx.is_established() {
            self.establish_second(agenda.now, [connection, requests], CcKind::Cubic);
        }
        self.write(agenda, network, requests, REQUEST);
    }

    /// Data of a request on a kept connection has reached the sender of flow `answers`. If the request is
    /// complete, the sender answers.
    #[inline(never)]
    pub(super) fn kept_request_arrived(
        &mut self,
        agenda: &mut Agenda,
        network: &mut Network,
        [requests, answers]: [usize; 2],
    ) {
        let Flow { tx, rx, .. } = &self.list[requests];
        if rx.received() < tx.written() {
            return;
        }
        let Flow { tx, bytes, .. } = &self.list[answers];
        let missing = bytes.saturating_sub(tx.written());
        if missing > 0 {
            self.write(agenda, network, answers, missing);
        }
    }

    /// The application writes `bytes`.
    pub(super) fn write(&mut self, agenda: &mut Agenda, network: &mut Network, index: usize, bytes: u64) {
        self.list[index].tx.write(bytes);
        self.pump_tx(agenda, network, index);
    }

    /// The application writes a message of `bytes`. Returns where it ends in the stream, in bytes from the
    /// start of the flow.
    ///
    /// If it writes without an end, the message is part of those bytes: it comes after what was sent, and
    /// after as much as HTTP/2 over a socket with little unsent data keeps ahead of it ([`waiting`]).
    pub(super) fn write_message(
        &mut self,
        agenda: &mut Agenda,
        network: &mut Network,
        index: usize,
        bytes: u64,
    ) -> u64 {
        let tx = &self.list[index].tx;
        if !tx.is_endless() {
            self.write(agenda, network, index, bytes);
            return self.list[index].tx.written();
        }
        let window = tx.window();
        let flight = u64::from(window.snd_cwnd) * u64::from(window.mss);
        let (unsent, frame) = waiting(flight as f64 / window.srtt.as_secs_f64().max(1e-6));
        // The first byte has the sequence number 1.
        let sent = window.snd_nxt - 1;
        sent + (tx.written() - sent).min((unsent + frame) as u64) + bytes
    }

    /// The sender drops the connection, with a reset.
    pub(super) fn abort(&mut self, agenda: &mut Agenda, network: &mut Network, index: usize) {
        self.list[index].tx.abort();
        self.pump_tx(agenda, network, index);
    }

    /// A data frame has reached its receiver.
    // What the inline attributes of this file gain: docs/performance.md, "Inlining".
    #[inline(always)]
    pub(super) fn data_arrived(
        &mut self,
        agenda: &mut Agenda,
        network: &mut Network,
        index: usize,
        id: FrameId,
    ) -> Role {
        let Flow { rx, role, .. } = &mut self.list[index];
        network.frames.consume(id, |frame, _| rx.receive(agenda.now, &frame.segment, frame.dsfield & 3 == 3));
        let role = *role;
        if rx.has_output() {
            self.pump_rx(agenda, network, index);
        } else if let Some(at) = rx.next_timer() {
            agenda.wake(receiver(index), at);
        }
        role
    }

    /// Data of a finite flow has arrived over its connection, `index`. If that completes the flow, flows that
    /// waited for it are scheduled.
    #[inline(never)]
    pub(super) fn note_transfer(&mut self, agenda: &mut Agenda, index: usize) {
        let Flow { rx, bytes, current, .. } = &self.list[index];
        let current = *current as usize;
        let transfer = &mut self.transfers.list[current];
        if transfer.ended.is_some() || rx.received() < *bytes {
            return;
        }
        transfer.ended = Some(agenda.now);
        for (start, flow) in self.transfers.after(current, agenda.now) {
            self.script.later.push(Reverse((start, Action::Start(flow))));
        }
        self.script.wake(agenda);
    }

    /// Beginning and end of flow `index` of the scenario.
    pub(super) fn transfer(&self, index: usize) -> Transfer {
        self.transfers.list.get(index).copied().unwrap_or_default()
    }

    /// An acknowledgement has reached the sender.
    pub(super) fn ack_arrived(
        &mut self,
        agenda: &mut Agenda,
        network: &mut Network,
        index: usize,
        id: FrameId,
    ) -> Role {
        let flow = &mut self.list[index];
        flow.end_round(agenda.now, network.link(flow.wires[0].link).credits.round());
        let role = flow.role;
        network.frames.consume(id, |frame, sack| flow.tx.receive(agenda.now, &frame.segment, sack));
        self.pump_tx(agenda, network, index);
        role
    }

    /// Returns to senders the memory that the device of `link` has reported by now. Senders that waited for
    /// it continue.
    #[inline(never)]
    pub(super) fn give_back(&mut self, agenda: &Agenda, network: &mut Network, link: u32) {
        while let Some(credit) = network.host_device(link).link.credits.take(agenda.now) {
            self.credit(agenda.now, credit);
        }
    }

    /// Returns to senders the memory that devices on the air have released.
    pub(super) fn take_returned(&mut self, agenda: &Agenda, network: &mut Network) {
        if let Some(returned) = network.take_returned() {
            self.take_all_returned(agenda, returned);
        }
    }

    #[inline(never)]
    fn take_all_returned(&mut self, agenda: &Agenda, returned: std::vec::Drain<'_, Credit>) {
        for credit in returned {
            self.credit(agenda.now, credit);
        }
    }

    fn credit(&mut self, now: Nanos, Credit { flow, truesize, .. }: Credit) {
        let tx = &mut self.list[flow as usize].tx;
        if tx.is_throttled() {
            self.resumed.push(flow);
        }
        tx.on_tx_complete(now, truesize);
    }

    pub(super) fn sender_due(&mut self, agenda: &mut Agenda, network: &mut Network, index: usize) {
        let flow = &mut self.list[index];
        flow.end_round(agenda.now, network.link(flow.wires[0].link).credits.round());
        flow.tx.on_timer(agenda.now);
        self.pump_tx(agenda, network, index);
    }

    pub(super) fn receiver_due(&mut self, agenda: &mut Agenda, network: &mut Network, index: usize) {
        self.list[index].rx.on_timer(agenda.now);
        self.pump_rx(agenda, network, index);
    }

    /// Sends what the sender may send, and sets its timer.
    pub(super) fn pump_tx(&mut self, agenda: &mut Agenda, network: &mut Network, index: usize) {
        let link = self.list[index].wires[0].link;
        let is_throttled = loop {
            match self.send_data(agenda, network, index) {
                Some(is_throttled) => break is_throttled,
                None => self.give_back(agenda, network, link),
            }
        };
        if !network.host_device(link).handed_over.is_empty() {
            network.send_handed_over(agenda, link);
            self.take_returned(agenda, network);
        }
        if is_throttled && let Some(at) = network.host_device(link).link.credits.await_first() {
            agenda.wake(LaneOwner::Report(link), at);
        }
    }

    /// Returns to the sender the memory of the packets that its host's device has sent by now. Then builds
    /// frames of the data that it may send, hands them to that device's link, and sets the timer. Returns
    /// whether TCP small queues hold the sender back; `None` if memory must first be given back one by one.
    #[allow(clippy::cast_possible_truncation)]
    #[inline(always)]
    fn send_data(&mut self, agenda: &mut Agenda, network: &mut Network, index: usize) -> Option<bool> {
        let now = agenda.now;
        let flow = &mut self.list[index];
        let HostDevice { link, frames, handed_over } = network.host_device(flow.wires[0].link);
        let is_ahead = link.is_ahead();
        if !link.credits.end_round(now, is_ahead) {
            return None;
        }
        flow.end_round(now, link.credits.round());
        let Flow { tx, wires: [wire, _], .. } = flow;
        loop {
            let mut rest = Rest::default();
            let mut built = frames.build(|id, frame| {
                if !tx.transmit_into(now, &mut frame.segment) {
                    return None;
                }
                rest = frame.segment.cut(tx.device_mss());
                let (len, mss) = (frame.segment.len, tx.window().mss);
                wire.wrap(Kind::Data, index as u32, if len > mss { len.div_ceil(mss) } else { 1 }, frame);
                frame.set_owed(tx.memory(len));
                frame.lands = tx.departure().unwrap_or(Nanos::ZERO);
                Some(link.admit(now, id, frame))
            });
            if built.is_none() {
                break;
            }
            while let Some((id, admitted)) = built {
                frames.tell(now, wire.link, id, What::Sent);
                if let Some((fate, at)) = admitted {
                    link.apply(fate, at, id, frames);
                }
                if !matches!(admitted, Some((Fate::Behind(_), _))) {
                    handed_over.push((id, admitted.map(|(fate, _)| fate)));
                }
                if rest.is_empty() {
                    break;
                }
                // The previous piece is still in its place, even if it was refused.
                built = frames.build_like(id, |id, frame| {
                    let headers = frame.len - frame.segment.len;
                    frame.segment.advance(&mut rest);
                    frame.len = headers + frame.segment.len;
                    frame.set_owed(tx.memory(frame.segment.len));
                    Some(link.admit(now, id, frame))
                });
            }
        }
        if let Some(at) = tx.next_timer() {
            agenda.wake(sender(index), at);
        }
        Some(tx.is_throttled())
    }

    /// Sends the acknowledgements that are due, and sets the receiver's timer.
    #[allow(clippy::cast_possible_truncation)]
    fn pump_rx(&mut self, agenda: &mut Agenda, network: &mut Network, index: usize) {
        loop {
            let now = agenda.now;
            let Flow { rx, wires: [_, wire], .. } = &mut self.list[index];
            if !rx.has_output() {
                if let Some(at) = rx.next_timer() {
                    agenda.wake(receiver(index), at);
                }
                return;
            }
            let number = wire.link;
            let HostDevice { link, frames, handed_over } = network.host_device(number);
            let mut blocks = None;
            let built = frames.build(|id, frame| {
                rx.transmit_into(now, &mut frame.segment, &mut blocks);
                wire.wrap(Kind::Ack, index as u32, 1, frame);
                Some(link.admit(now, id, frame))
            });
            let Some((id, admitted)) = built else { return };
            if let Some(blocks) = blocks {
                frames.attach(id, blocks);
            }
            frames.tell(now, number, id, What::Sent);
            if let Some((fate, at)) = admitted {
                link.apply(fate, at, id, frames);
            }
            if !matches!(admitted, Some((Fate::Behind(_), _))) {
                handed_over.push((id, admitted.map(|(fate, _)| fate)));
                network.send_handed_over(agenda, number);
                self.take_returned(agenda, network);
            }
        }
    }
}

#[cfg(test)]
#[path = "flows_tests.rs"]
mod tests;

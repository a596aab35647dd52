//! Flows over QUIC in virtual time, with the state machine that also runs over real sockets
//! ([`goodqueue_probe::quic`]) and a handshake without cryptography.

use std::net::SocketAddr;

use goodqueue::{ETHERNET_FRAME, FlowHasher, Nanos, Rng};
use goodqueue_probe::quic::{Arrival, Event, Host, OPENING, Settings, plain};
use goodqueue_probe::{QuicCc, TcpSample};

use super::agenda::{Agenda, moment};
use super::network::Network;
use super::view::FlowView;
use crate::address::{Conversation, UDP, udp_headers};
use crate::error::BuildError;
use crate::frame::{Frame, Frames, Kind};
use crate::owner::LaneOwner;
use crate::path::Position;
use crate::scenario::{Opener, Scenario};
use crate::tcp::{Header, TxStats};

/// All flows over QUIC, by the number of the flow in the scenario.
#[derive(Debug)]
pub(crate) struct Quic {
    list: Vec<Option<Box<QuicFlow>>>,
}

/// A flow at work: its client and its server, which handle no other flow. The bytes of datagrams under way
/// are stored in `datagrams`. A frame carries the place as the acknowledgement number of its segment.
#[derive(Debug)]
struct QuicFlow {
    hosts: [Host; 2],
    /// The flow's number at the client and at the server, once it has one.
    numbers: [Option<usize>; 2],
    addresses: [SocketAddr; 2],
    paths: [Position; 2],
    hashes: [u32; 2],
    dsfield: u8,
    /// Headers of a datagram as a queue counts them.
    headers: u32,
    cc: QuicCc,
    /// Which of the two sends the data.
    sender: usize,
    start: Nanos,
    stop: Option<Nanos>,
    /// Payload that the receiver got before the stop.
    received: u64,
    is_connected: bool,
    is_stopped: bool,
    datagrams: Vec<Vec<u8>>,
    free: Vec<usize>,
    sent: u64,
}

/// The first number of their conversations. Their client ports differ from those of flows, probes and talks.
const NUMBERS: usize = 3 << 20;
const KINDS: [Kind; 2] = [Kind::QuicToServer, Kind::QuicToClient];

#[allow(clippy::cast_possible_truncation)]
fn place(frame: &Frame) -> usize {
    frame.segment.ack as usize
}

impl QuicFlow {
    fn keep(&mut self, bytes: &[u8]) -> usize {
        let place = self.free.pop().unwrap_or_else(|| {
            self.datagrams.push(Vec::new());
            self.datagrams.len() - 1
        });
        self.datagrams[place].clear();
        self.datagrams[place].extend_from_slice(bytes);
        place
    }

    /// Starts and stops when it is time, and handles what is due at both ends.
    fn pass_time(&mut self, now: Nanos) {
        if self.numbers[0].is_none() && now >= self.start && !self.is_stopped {
            let sends = (self.sender == 0).then_some(self.cc);
            // The opening is empty here: both ends know what the flow is.
            self.numbers[0] = self.hosts[0].connect(now, self.addresses[1], &[0; OPENING], sends).ok();
        }
        if self.stop.is_some_and(|stop| now >= stop) && !self.is_stopped {
            self.is_stopped = true;
            if let Some(number) = self.numbers[0] {
                self.hosts[0].close(now, number);
            }
        }
        for host in &mut self.hosts {
            if host.poll_timeout().is_some_and(|due| due <= now) {
                host.handle_timeout(now);
            }
        }
    }

    fn take_events(&mut self, now: Nanos) {
        for (end, host) in self.hosts.iter_mut().enumerate() {
            while let Some((number, event)) = host.poll_event() {
                match event {
                    Event::Connected => self.is_connected = true,
                    Event::Opening(_) => {
                        self.numbers[end] = Some(number);
                        let sends = (self.sender == end).then_some(self.cc);
                        host.begin(now, number, sends, Settings::default().window);
                    }
                    Event::Ended(_) => host.close(now, number),
                }
            }
        }
    }

    /// Records what the receiver got. Data after the stop does not count.
    fn note_received(&mut self) {
        let receiver = 1 - self.sender;
        if let Some(number) = self.numbers[receiver].filter(|_| !self.is_stopped) {
            self.received = self.received.max(self.hosts[receiver].received(number));
        }
    }
}

impl Quic {
    pub(super) fn new(
        scenario: &Scenario,
        agenda: &mut Agenda,
        network: &mut Network,
    ) -> Result<Quic, BuildError> {
        let hasher = FlowHasher::new(scenario.seed);
        let mut quic = Quic { list: Vec::new() };
        for (number, spec) in scenario.flows.iter().enumerate() {
            let Some(cc) = spec.quic else { continue };
            let (client, server, sender) = match spec.opener {
                Opener::Sender => (spec.from, spec.to, 0),
                Opener::Receiver => (spec.to, spec.from, 1),
            };
            let ipv6 = scenario.is_ipv6(client, server);
            let ends = Conversation { client, server, protocol: UDP, number: NUMBERS + number, ipv6 };
            let headers = udp_headers(ipv6);
            // The path's MTU is known.
            let payload = u16::try_from(ETHERNET_FRAME - headers).unwrap_or(1200);
            let settings = Settings { payload, ecn: scenario.tcp.ecn, retry: false, ..Settings::default() };
            let random = |end| Rng::stream(scenario.seed, number as u64, end).next_u64();
            let hashes = [ends.hash(&hasher, false), ends.hash(&hasher, true)];
            let flow = QuicFlow {
                hosts: [
                    Host::client(settings, plain::client(random("QUIC client"))),
                    Host::server(settings, plain::server(random("QUIC server"))),
                ],
                numbers: [None; 2],
                addresses: ends.ends(),
                paths: network.round_trip(scenario, (client, server), hashes)?,
                hashes,
                dsfield: spec.dscp << 2,
                headers,
                cc,
                sender,
                start: moment(spec.start),
                stop: spec.stop.map(moment),
                received: 0,
                is_connected: false,
                is_stopped: false,
                datagrams: Vec::new(),
                free: Vec::new(),
                sent: 0,
            };
            quic.list.resize_with(number + 1, || None);
            quic.list[number] = Some(Box::new(flow));
            quic.wake(agenda, number);
        }
        Ok(quic)
    }

    #[allow(clippy::cast_possible_truncation)]
    fn wake(&self, agenda: &mut Agenda, index: usize) {
        let Some(Some(flow)) = self.list.get(index) else { return };
        let start = flow.numbers[0].is_none().then_some(flow.start);
        let stop = flow.stop.filter(|_| !flow.is_stopped);
        let planned = start.filter(|_| !flow.is_stopped).into_iter().chain(stop);
        let timeouts = flow.hosts.iter().filter_map(Host::poll_timeout);
        if let Some(at) = planned.chain(timeouts).min() {
            agenda.wake(LaneOwner::Quic(index as u32), at.max(agenda.now));
        }
    }

    /// Handles what is due at both ends, and sends.
    pub(super) fn due(&mut self, agenda: &mut Agenda, network: &mut Network, index: usize) {
        self.free_lost(&mut network.frames);
        let Some(Some(flow)) = self.list.get_mut(index) else { return };
        flow.pass_time(agenda.now);
        flow.take_events(agenda.now);
        let mut buf = Vec::new();
        for (end, kind) in KINDS.into_iter().enumerate() {
            while let Some(outgoing) = flow.hosts[end].poll_transmit(agenda.now, &mut buf) {
                let place = flow.keep(&buf);
                flow.sent += 1;
                let frame = Frame {
                    segment: Header { seq: flow.sent, ack: place as u64, ..Header::default() },
                    owner: u32::try_from(index).unwrap_or(u32::MAX),
                    place: flow.paths[end],
                    len: flow.headers + u32::try_from(buf.len()).unwrap_or(u32::MAX),
                    flow_hash: flow.hashes[end],
                    dsfield: flow.dsfield | outgoing.ecn,
                    kind,
                    ..Frame::NONE
                };
                network.send(agenda, frame);
            }
        }
        flow.take_events(agenda.now);
        self.wake(agenda, index);
    }

    /// Frees the places of datagrams that were dropped.
    #[allow(clippy::cast_possible_truncation)]
    fn free_lost(&mut self, frames: &mut Frames) {
        for (owner, datagram) in frames.lost_quic.drain(..) {
            if let Some(Some(flow)) = self.list.get_mut(owner as usize) {
                flow.free.push(datagram as usize);
            }
        }
    }

    /// A datagram has reached the client or the server.
    pub(super) fn datagram_arrived(
        &mut self,
        agenda: &mut Agenda,
        network: &mut Network,
        frame: &Frame,
        index: usize,
        is_server: bool,
    ) {
        let Some(Some(flow)) = self.list.get_mut(index) else { return };
        let (end, now) = (usize::from(is_server), agenda.now);
        let arrival = Arrival { from: flow.addresses[1 - end], to: None, ecn: frame.dsfield & 3 };
        let datagram = std::mem::take(&mut flow.datagrams[place(frame)]);
        flow.hosts[end].handle(now, arrival, &datagram);
        flow.datagrams[place(frame)] = datagram;
        flow.free.push(place(frame));
        flow.note_received();
        self.due(agenda, network, index);
    }

    /// Flow `index`, if it is one of these.
    pub(super) fn view(&self, now: Nanos, index: usize) -> Option<FlowView> {
        let flow = self.list.get(index)?.as_ref()?;
        let number = flow.numbers[flow.sender];
        let info = number.map(|number| flow.hosts[flow.sender].view(now, number).info);
        Some(FlowView {
            received: flow.received,
            info: info.unwrap_or_else(TcpSample::default),
            stats: TxStats::default(),
            is_established: flow.is_connected,
            is_done: false,
        })
    }
}

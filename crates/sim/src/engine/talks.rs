//! Video calls and games in virtual time, with the state machines that also run over real sockets.

use goodqueue::{FlowHasher, Nanos};
use goodqueue_probe::talk::{self, PAYLOAD, Peer, wire::MOST};

use super::agenda::Agenda;
use super::network::Network;
use super::samples::Samples;
use crate::address::{Conversation, UDP, udp_headers};
use crate::error::BuildError;
use crate::frame::{Frame, Frames, Kind};
use crate::owner::LaneOwner;
use crate::path::Position;
use crate::scenario::Scenario;
use crate::tcp::Header;

/// All calls and games.
#[derive(Debug)]
pub(crate) struct Talks {
    list: Vec<Talk>,
}

/// A call or a game at work. The contents of datagrams in flight, without trailing zeros, are stored in
/// `datagrams`. A frame carries the place as the acknowledgement number of its segment.
#[derive(Debug)]
struct Talk {
    client: Box<dyn Peer>,
    /// Exists from the first hello on.
    server: Option<Box<dyn Peer>>,
    paths: [Position; 2],
    hashes: [u32; 2],
    dsfield: u8,
    /// Headers of a datagram as a queue counts them.
    headers: u32,
    datagrams: Vec<[u8; MOST]>,
    free: Vec<usize>,
    sent: u64,
}

/// The first number of their conversations. Their client ports differ from those of flows and probes.
const NUMBERS: usize = 2 << 20;

#[allow(clippy::cast_possible_truncation)]
fn place(frame: &Frame) -> usize {
    frame.segment.ack as usize
}

impl Talk {
    fn keep(&mut self, bytes: &[u8]) -> usize {
        let place = self.free.pop().unwrap_or_else(|| {
            self.datagrams.push([0; MOST]);
            self.datagrams.len() - 1
        });
        let kept = bytes.len().min(MOST);
        self.datagrams[place][kept..].fill(0);
        self.datagrams[place][..kept].copy_from_slice(&bytes[..kept]);
        place
    }

    fn peer(&mut self, is_server: bool) -> Option<&mut Box<dyn Peer>> {
        if is_server { self.server.as_mut() } else { Some(&mut self.client) }
    }
}

impl Talks {
    pub(super) fn new(
        scenario: &Scenario,
        agenda: &mut Agenda,
        network: &mut Network,
    ) -> Result<Talks, BuildError> {
        let hasher = FlowHasher::new(scenario.seed);
        let mut talks = Talks { list: Vec::with_capacity(scenario.talks.len()) };
        for (number, spec) in scenario.talks.iter().enumerate() {
            let ipv6 = scenario.is_ipv6(spec.from, spec.to);
            let ends = Conversation {
                client: spec.from,
                server: spec.to,
                protocol: UDP,
                number: NUMBERS + number,
                ipv6,
            };
            let hashes = [ends.hash(&hasher, false), ends.hash(&hasher, true)];
            talks.list.push(Talk {
                client: talk::client(spec.config),
                server: None,
                paths: network.round_trip(scenario, (spec.from, spec.to), hashes)?,
                hashes,
                dsfield: spec.dscp << 2,
                headers: udp_headers(ipv6),
                datagrams: Vec::new(),
                free: Vec::new(),
                sent: 0,
            });
            talks.wake(agenda, number);
        }
        Ok(talks)
    }

    #[allow(clippy::cast_possible_truncation)]
    fn wake(&self, agenda: &mut Agenda, index: usize) {
        let talk = &self.list[index];
        let server = talk.server.as_ref().and_then(|server| server.poll_timeout());
        if let Some(at) = talk.client.poll_timeout().into_iter().chain(server).min() {
            agenda.wake(LaneOwner::Talk(index as u32), at.max(agenda.now));
        }
    }

    /// Sends everything that is due at both ends.
    pub(super) fn due(&mut self, agenda: &mut Agenda, network: &mut Network, index: usize) {
        self.free_lost(&mut network.frames);
        let mut buf = [0; PAYLOAD];
        for (way, kind) in [Kind::ToServer, Kind::ToClient].into_iter().enumerate() {
            loop {
                let talk = &mut self.list[index];
                let Some(peer) = talk.peer(way == 1) else { break };
                let Some(len) = peer.poll_transmit(agenda.now, &mut buf) else { break };
                let place = talk.keep(&buf[..len]);
                talk.sent += 1;
                let frame = Frame {
                    segment: Header { seq: talk.sent, ack: place as u64, ..Header::default() },
                    owner: u32::try_from(index).unwrap_or(u32::MAX),
                    place: talk.paths[way],
                    len: talk.headers + u32::try_from(len).unwrap_or(u32::MAX),
                    flow_hash: talk.hashes[way],
                    dsfield: talk.dsfield,
                    kind,
                    ..Frame::NONE
                };
                network.send(agenda, frame);
            }
        }
        self.wake(agenda, index);
    }

    /// Frees the places of datagrams that were dropped.
    #[allow(clippy::cast_possible_truncation)]
    fn free_lost(&mut self, frames: &mut Frames) {
        for (owner, datagram) in frames.lost_talks.drain(..) {
            self.list[owner as usize].free.push(datagram as usize);
        }
    }

    /// A datagram has reached the client or the server.
    pub(super) fn datagram_arrived(
        &mut self,
        agenda: &mut Agenda,
        frame: &Frame,
        samples: &mut Samples,
        index: usize,
        is_server: bool,
    ) {
        let now: Nanos = agenda.now;
        let talk = &mut self.list[index];
        let len = frame.len.saturating_sub(talk.headers) as usize;
        let bytes = talk.datagrams[place(frame)];
        talk.free.push(place(frame));
        let bytes = &bytes[..len.min(MOST)];
        if is_server && talk.server.is_none() {
            talk.server = talk::accept(bytes, samples.origin()).map(|(_, server)| server);
        }
        if let Some(peer) = talk.peer(is_server) {
            peer.handle_datagram(now, len, bytes, &mut |sample| samples.push(sample));
        }
        self.wake(agenda, index);
    }
}

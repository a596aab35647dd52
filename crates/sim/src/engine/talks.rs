//! Video calls and games in virtual time: the machines that talk over real sockets.

use goodqueue::FlowHasher;
use goodqueue_probe::talk::{self, PAYLOAD, Peer, wire::MOST};

use super::Simulation;
use crate::address::{Conversation, UDP, lower_headers};
use crate::agenda::Lane;
use crate::error::BuildError;
use crate::frame::{Frame, FrameId, Kind};
use crate::path::Place;
use crate::scenario::Scenario;
use crate::tcp::Header;

/// A call or a game at work. What is not zero of datagrams under way is kept: a frame carries its place in `datagrams`
/// as the acknowledgement number of its segment.
#[derive(Debug)]
pub(crate) struct Talk {
    client: Box<dyn Peer>,
    /// There from the first hello on.
    server: Option<Box<dyn Peer>>,
    paths: [Place; 2],
    hashes: [u32; 2],
    dsfield: u8,
    /// Headers of a datagram as a queue counts them.
    headers: u32,
    datagrams: Vec<[u8; MOST]>,
    free: Vec<usize>,
    sent: u64,
}

/// Numbers of conversations from which these begin: other client ports than those of flows and probes.
const NUMBERS: usize = 2 << 20;
const UDP_HEADER: u32 = 8;

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

impl Simulation {
    pub(super) fn add_talks(&mut self, scenario: &Scenario) -> Result<(), BuildError> {
        let hasher = FlowHasher::new(scenario.seed);
        for (number, spec) in scenario.talks.iter().enumerate() {
            let ends = Conversation {
                client: spec.from,
                server: spec.to,
                protocol: UDP,
                number: NUMBERS + number,
                ipv6: scenario.ipv6,
            };
            let (there, back) = self.round_trip(scenario, spec.from, spec.to)?;
            self.talks.push(Talk {
                client: talk::client(spec.config),
                server: None,
                paths: [there, back],
                hashes: [ends.hash(&hasher, false), ends.hash(&hasher, true)],
                dsfield: spec.dscp << 2,
                headers: lower_headers(scenario.ipv6) + UDP_HEADER,
                datagrams: Vec::new(),
                free: Vec::new(),
                sent: 0,
            });
            self.wake_talk(number);
        }
        Ok(())
    }

    #[allow(clippy::cast_possible_truncation)]
    fn wake_talk(&mut self, index: usize) {
        let talk = &self.talks[index];
        let server = talk.server.as_ref().and_then(|server| server.poll_timeout());
        if let Some(at) = talk.client.poll_timeout().into_iter().chain(server).min() {
            self.timers.wake(self.map.talks + index as Lane, at.max(self.now));
        }
    }

    /// Sends all that is due at both ends.
    pub(super) fn talk_due(&mut self, index: usize) {
        for (owner, datagram) in self.frames.lost_talks.drain(..) {
            #[allow(clippy::cast_possible_truncation)]
            self.talks[owner as usize].free.push(datagram as usize);
        }
        let mut buf = [0; PAYLOAD];
        for (way, kind) in [Kind::There, Kind::Back].into_iter().enumerate() {
            loop {
                let now = self.now;
                let talk = &mut self.talks[index];
                let Some(peer) = talk.peer(way == 1) else { break };
                let Some(len) = peer.poll_transmit(now, &mut buf) else { break };
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
                self.launch(frame);
            }
        }
        self.wake_talk(index);
    }

    /// A datagram has come to the client or the server.
    pub(super) fn talk_arrived(&mut self, index: usize, id: FrameId, is_server: bool) {
        let (now, origin) = (self.now, self.origin);
        let frame = *self.frames.get(id);
        let (samples, talk) = (&mut self.samples, &mut self.talks[index]);
        let len = frame.len.saturating_sub(talk.headers) as usize;
        let bytes = talk.datagrams[place(&frame)];
        talk.free.push(place(&frame));
        let bytes = &bytes[..len.min(MOST)];
        if is_server && talk.server.is_none() {
            talk.server = talk::accept(bytes, origin).map(|(_, server)| server);
        }
        if let Some(peer) = talk.peer(is_server) {
            peer.handle_datagram(now, len, bytes, &mut |sample| samples.push(sample));
        }
        self.wake_talk(index);
    }
}

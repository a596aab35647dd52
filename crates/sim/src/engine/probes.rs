//! Probes in virtual time: ICMP echo, and the state machine that also measures real links.

use std::collections::VecDeque;

use goodqueue::{FlowHasher, Nanos, Rng, Span};
use goodqueue_probe::echo::{HEADER_LEN, Layout, Prober, ProberConfig, Reflector, Stamp};
use goodqueue_probe::{Direction, Sample};

use super::agenda::{Agenda, moment};
use super::network::Network;
use super::samples::Samples;
use crate::address::{Conversation, ICMP, UDP, udp_headers};
use crate::error::BuildError;
use crate::frame::{Frame, Frames, Kind};
use crate::owner::LaneOwner;
use crate::path::Position;
use crate::scenario::{ProbeKind, Scenario};
use crate::tcp::Header;

/// All probes.
#[derive(Debug)]
pub(crate) struct Probes {
    list: Vec<Probe>,
}

/// A probe at work.
#[derive(Debug)]
struct Probe {
    client: Client,
    forward: Position,
    backward: Position,
    hashes: [u32; 2],
    dsfield: u8,
    len: u32,
}

#[derive(Debug)]
enum Client {
    /// Datagrams under way are stored in `datagrams`. A frame carries the place of its datagram as the
    /// acknowledgement number of its segment.
    Irtt {
        prober: Box<Prober>,
        reflector: Reflector,
        datagrams: Vec<[u8; HEADER_LEN]>,
        free: Vec<usize>,
        /// Requests sent.
        asked: u64,
    },
    Ping(Ping),
}

/// ICMP echo: the requests under way, oldest first.
#[derive(Debug)]
struct Ping {
    next: Option<Nanos>,
    stop: Nanos,
    least_gap: u64,
    gap_range: u64,
    rng: Rng,
    seq: u32,
    waiting: VecDeque<(u32, Nanos)>,
}

impl Ping {
    /// The next request, if it is due.
    fn ask(&mut self, now: Nanos) -> Option<u32> {
        let due = self.next.filter(|&at| at <= now)?;
        let gap = Span(self.least_gap.saturating_add(self.rng.below(self.gap_range.saturating_add(1))));
        let next = due + gap;
        self.next = (next < self.stop).then_some(next);
        let seq = self.seq;
        self.seq = self.seq.wrapping_add(1);
        self.waiting.push_back((seq, now));
        Some(seq)
    }

    /// When the request was sent, if its reply is still expected.
    fn answered(&mut self, seq: u32) -> Option<Nanos> {
        // Lost requests stay among the oldest, so the search begins with the newest.
        let at = self.waiting.iter().rposition(|&(waiting, _)| waiting == seq)?;
        self.waiting.remove(at).map(|(_, sent)| sent)
    }
}

impl Probes {
    pub(super) fn new(
        scenario: &Scenario,
        agenda: &mut Agenda,
        network: &mut Network,
    ) -> Result<Probes, BuildError> {
        let hasher = FlowHasher::new(scenario.seed);
        let mut probes = Probes { list: Vec::with_capacity(scenario.probes.len()) };
        for (number, spec) in scenario.probes.iter().enumerate() {
            let (client, protocol) = match spec.kind {
                ProbeKind::Irtt => (irtt(scenario, number), UDP),
                ProbeKind::Ping { spread } => (ping(scenario, number, spread), ICMP),
            };
            let ipv6 = scenario.is_ipv6(spec.from, spec.to);
            let ends =
                Conversation { client: spec.from, server: spec.to, protocol, number: number + 0x4000, ipv6 };
            let hashes = [ends.hash(&hasher, false), ends.hash(&hasher, true)];
            let [forward, backward] = network.round_trip(scenario, (spec.from, spec.to), hashes)?;
            probes.list.push(Probe {
                client,
                forward,
                backward,
                hashes,
                dsfield: spec.dscp << 2,
                len: udp_headers(ipv6) + spec.payload,
            });
            probes.wake(agenda, number);
        }
        Ok(probes)
    }

    #[allow(clippy::cast_possible_truncation)]
    fn wake(&self, agenda: &mut Agenda, index: usize) {
        let next = match &self.list[index].client {
            Client::Irtt { prober, .. } => prober.poll_timeout(),
            Client::Ping(ping) => ping.next,
        };
        if let Some(at) = next {
            agenda.wake(LaneOwner::Probe(index as u32), at.max(agenda.now));
        }
    }

    /// Adds samples of the probes that were dropped.
    #[allow(clippy::cast_possible_truncation)] // Sequence numbers of probes have 32 bits.
    pub(super) fn report_lost(&mut self, frames: &mut Frames, samples: &mut Samples) {
        for lost in frames.lost_probes.drain(..) {
            let way = if lost.is_reply { Some(Direction::Down) } else { Some(Direction::Up) };
            match &mut self.list[lost.probe as usize].client {
                Client::Irtt { prober, free, .. } => {
                    free.push(place(lost.datagram));
                    // Its frames count from one.
                    prober.was_lost((lost.seq - 1) as u32, way, &mut |sample| samples.push(sample));
                }
                Client::Ping(ping) => {
                    let (probe, seq) = (lost.probe, lost.seq as u32);
                    if let Some(sent) = ping.answered(seq) {
                        samples.push(Sample::Lost { probe, seq, sent: samples.time(sent), way });
                    }
                }
            }
        }
    }

    pub(super) fn due(
        &mut self,
        agenda: &mut Agenda,
        network: &mut Network,
        samples: &mut Samples,
        index: usize,
    ) {
        self.report_lost(&mut network.frames, samples);
        let now = agenda.now;
        let probe = &mut self.list[index];
        let asked = match &mut probe.client {
            Client::Irtt { prober, datagrams, free, asked, .. } => {
                prober.handle_timeout(Stamp::virtual_time(now), &mut |sample| samples.push(sample));
                let mut datagram = [0; MOST_PAYLOAD];
                prober.poll_transmit(Stamp::virtual_time(now), &mut datagram).map(|_| {
                    let place = free.pop().unwrap_or_else(|| {
                        datagrams.push([0; HEADER_LEN]);
                        datagrams.len() - 1
                    });
                    datagrams[place].copy_from_slice(&datagram[..HEADER_LEN]);
                    *asked += 1;
                    (*asked, place as u64)
                })
            }
            Client::Ping(ping) => ping.ask(now).map(|seq| (u64::from(seq), 0)),
        };
        if let Some((seq, ack)) = asked {
            let frame = probe.frame(index, Header { seq, ack, ..Header::default() });
            network.send(agenda, frame);
        }
        self.wake(agenda, index);
    }

    pub(super) fn request_arrived(
        &mut self,
        agenda: &mut Agenda,
        network: &mut Network,
        request: Frame,
        index: usize,
    ) {
        let mut segment = request.segment;
        let probe = &mut self.list[index];
        match &mut probe.client {
            Client::Irtt { reflector, datagrams, .. } => {
                let now = Stamp::virtual_time(agenda.now);
                // The datagram is one of ours, so the reflector accepts it.
                let _ = reflector.handle(now, now, &mut datagrams[place(segment.ack)]);
            }
            // When it arrived, for the one-way delays.
            Client::Ping(_) => segment.ack = agenda.now.0,
        }
        let reply = Frame {
            segment,
            place: probe.backward,
            flow_hash: probe.hashes[1],
            kind: Kind::Reply,
            ..request
        };
        network.send(agenda, reply);
    }

    pub(super) fn reply_arrived(&mut self, now: Nanos, reply: &Frame, samples: &mut Samples, index: usize) {
        let segment = reply.segment;
        match &mut self.list[index].client {
            Client::Irtt { prober, datagrams, free, .. } => {
                let place = place(segment.ack);
                free.push(place);
                let sink = &mut |sample| samples.push(sample);
                let _ = prober.handle_datagram(Stamp::virtual_time(now), &datagrams[place], sink);
            }
            Client::Ping(ping) => {
                // Sequence numbers of a ping fit into 32 bits.
                #[allow(clippy::cast_possible_truncation)]
                let seq = segment.seq as u32;
                let Some(sent) = ping.answered(seq) else { return };
                samples.push(Sample::Echo {
                    probe: u32::try_from(index).unwrap_or(u32::MAX),
                    seq,
                    sent: samples.time(sent),
                    rtt: since(now, sent),
                    up: since(Nanos(segment.ack), sent),
                    down: since(now, Nanos(segment.ack)),
                    reordered: false,
                    duplicate: false,
                });
            }
        }
    }

    /// Whether a probe is still to be sent or to return.
    pub(super) fn are_open(&self) -> bool {
        self.list.iter().any(|probe| match &probe.client {
            Client::Irtt { prober, .. } => !prober.is_done(),
            Client::Ping(ping) => ping.next.is_some() || !ping.waiting.is_empty(),
        })
    }

    /// Ends the probes that have not returned. Then each probe sent has one sample.
    pub(super) fn finish(&mut self, now: Nanos, frames: &mut Frames, samples: &mut Samples) {
        self.report_lost(frames, samples);
        for (index, probe) in self.list.iter_mut().enumerate() {
            match &mut probe.client {
                Client::Irtt { prober, .. } => {
                    prober.leave(Stamp::virtual_time(now), &mut |sample| samples.push(sample));
                }
                Client::Ping(ping) => {
                    for (seq, sent) in std::mem::take(&mut ping.waiting) {
                        let probe = u32::try_from(index).unwrap_or(u32::MAX);
                        let (sent, waited) = (samples.time(sent), since(now, sent));
                        samples.push(Sample::UnderWay { probe, seq, sent, waited });
                    }
                }
            }
        }
    }
}

impl Probe {
    fn frame(&self, index: usize, segment: Header) -> Frame {
        Frame {
            segment,
            owner: u32::try_from(index).unwrap_or(u32::MAX),
            place: self.forward,
            len: self.len,
            flow_hash: self.hashes[0],
            dsfield: self.dsfield,
            kind: Kind::Request,
            ..Frame::NONE
        }
    }
}

/// Longest payload of a probe, bytes.
const MOST_PAYLOAD: usize = 1452;

fn place(datagram: u64) -> usize {
    usize::try_from(datagram).unwrap_or(usize::MAX)
}

fn irtt(scenario: &Scenario, number: usize) -> Client {
    let spec = &scenario.probes[number];
    let config = ProberConfig {
        probe: u32::try_from(number).unwrap_or(u32::MAX),
        token: number as u64 + 1,
        origin: moment(scenario.origin),
        start: moment(spec.start),
        stop: moment(spec.stop),
        interval: spec.interval,
        payload: spec.payload.min(MOST_PAYLOAD as u32),
        layout: Layout::FULL,
        // The simulator knows what was dropped.
        least_timeout: ProberConfig::FOR_EVER,
    };
    Client::Irtt {
        prober: Box::new(Prober::new(config)),
        reflector: Reflector::new(),
        datagrams: Vec::new(),
        free: Vec::new(),
        asked: 0,
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
fn ping(scenario: &Scenario, number: usize, spread: f64) -> Client {
    let spec = &scenario.probes[number];
    let half = (spec.interval.0 as f64 * spread) as u64;
    Client::Ping(Ping {
        next: (spec.start < spec.stop).then(|| moment(spec.start)),
        stop: moment(spec.stop),
        least_gap: (spec.interval.0 - half).max(1),
        gap_range: half * 2,
        rng: Rng::stream(scenario.seed, number as u64, "ping"),
        seq: 0,
        waiting: VecDeque::new(),
    })
}

/// Signed time from `then` to `now`.
fn since(now: Nanos, then: Nanos) -> i64 {
    now.0.cast_signed().wrapping_sub(then.0.cast_signed())
}

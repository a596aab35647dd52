//! What the lines did with the packets of each connection. Each direction counts what passes it. The other
//! direction shows how much a TCP connection delivered, by how far its acknowledgements rose.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;

use goodqueue::details::flags;
use goodqueue::{Direction, FlowHasher, Nanos, Span};

use crate::frame::{self, ETHERNET, Meta, TCP};
use crate::sample::Count;
use crate::tcp_header;

/// Most connections that are counted in a direction; the packets of others are counted together.
pub const MOST_FLOWS: usize = 10_000;
/// Most steps with payload, of all connections of a direction together (24 MiB): 29 hours of a connection
/// that never pauses, with steps of 100 ms. Later packets have no step.
pub const MOST_STEPS: usize = 1 << 20;
/// If there are too many connections, one that was silent for this long, and has nothing in the line, gives
/// its place to another.
const SILENT: Span = Span::from_millis(30_000);
/// Connections that keep their places although they are silent: those with the most bytes.
const KEPT: usize = 100;
/// Time between two searches for places.
const SEARCH: Span = Span::from_millis(1000);
/// The number of no connection.
pub(crate) const NONE: u16 = u16::MAX;

const UDP_HEADER: u32 = 8;

/// How an engine counts connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowSpec {
    /// Where the first step begins, `CLOCK_MONOTONIC`.
    pub origin: Nanos,
    /// Length of a step, above zero.
    pub step: Span,
}

/// The two ends of a connection, or of other traffic between two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ends {
    /// The protocol above IP: 6 for TCP, 17 for UDP.
    pub protocol: u8,
    /// The client's address and port; zero for a protocol without ports.
    pub client: SocketAddr,
    /// The server's.
    pub server: SocketAddr,
}

/// A part of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Its number, from 0.
    pub number: u64,
    /// Bytes of payload that were sent and not lost, headers of TCP and UDP excluded.
    pub payload: u64,
    /// Bytes of the other direction that were acknowledged, counted when the acknowledgements came to the
    /// queue.
    pub acked: u64,
}

/// A connection in one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Its ends.
    pub ends: Ends,
    /// When its first packet came to the queue.
    pub first: Nanos,
    /// When its last packet came to the queue.
    pub last: Nanos,
    /// What came to the queue.
    pub arrived: Count,
    /// What the line sent, including what was lost after it.
    pub sent: Count,
    /// Packets dropped by the queue or lost after the line.
    pub drops: u64,
    /// The packets of these that were lost after the line.
    pub lost: u64,
    /// Packets marked CE by the queue.
    pub marks: u64,
    /// The sum, over all packets sent, of the time from arrival until the line began to send the packet.
    pub waited: Span,
    /// The longest of these times.
    pub longest: Span,
    /// The steps in which something happened, in order.
    pub steps: Vec<Step>,
    /// Bytes dropped by the queue.
    dropped_bytes: u64,
    /// The latest acknowledgement number.
    ack: Option<u32>,
}

impl Flow {
    /// A flow whose first packet comes now.
    pub(crate) fn new(ends: Ends, now: Nanos) -> Flow {
        Flow {
            ends,
            first: now,
            last: now,
            arrived: Count::default(),
            sent: Count::default(),
            drops: 0,
            lost: 0,
            marks: 0,
            waited: Span::ZERO,
            longest: Span::ZERO,
            steps: Vec::new(),
            dropped_bytes: 0,
            ack: None,
        }
    }

    /// Bytes of the packets that wait in the queue or are on the line. While a queue has cut only a part of a
    /// super-packet, the headers of its segments count as they are added.
    #[must_use]
    pub fn waiting_bytes(&self) -> u64 {
        self.arrived.bytes.saturating_sub(self.sent.bytes).saturating_sub(self.dropped_bytes)
    }

    /// Packets that wait in the queue, or are on the line.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        // What is lost after the line counts both as sent and as dropped.
        self.arrived.packets.saturating_sub(self.sent.packets).saturating_sub(self.drops - self.lost)
    }
}

/// The connections of one direction.
#[derive(Debug)]
pub(crate) struct Flows {
    spec: FlowSpec,
    numbers: HashMap<Ends, u16>,
    flows: Vec<Flow>,
    /// Places of connections that are gone.
    free: Vec<u16>,
    /// When places were last searched for.
    searched: Option<Nanos>,
    steps: usize,
    others: Count,
}

impl Flows {
    pub(crate) fn new(spec: FlowSpec) -> Flows {
        Flows {
            spec,
            numbers: HashMap::with_capacity(MOST_FLOWS),
            flows: Vec::with_capacity(MOST_FLOWS),
            free: Vec::new(),
            searched: None,
            steps: 0,
            others: Count::default(),
        }
    }

    /// A frame of direction `way` came to the queue; for a super-packet, its first segment. Returns the
    /// number of its connection and its payload in bytes.
    pub(crate) fn arrived(
        &mut self,
        now: Nanos,
        way: Direction,
        frame: &[u8],
        hasher: &FlowHasher,
    ) -> (u16, u32) {
        let len = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        // What is not IP belongs to no connection.
        let Some(meta) = frame::parse(frame) else { return (NONE, 0) };
        let Some(number) = self.number(now, way, &meta) else {
            self.others.add(len);
            return (NONE, 0);
        };
        let flow = &mut self.flows[usize::from(number)];
        flow.last = now;
        flow.arrived.add(len);
        if flow.ends.protocol != TCP {
            let link = frame::ip(frame).map_or(ETHERNET, |(at, _)| at);
            let ip = if flow.ends.client.is_ipv4() { 20 } else { 40 };
            let headers = u32::try_from(link).unwrap_or(0) + ip + UDP_HEADER;
            return (number, len.saturating_sub(headers));
        }
        let Some(tcp) = tcp_header::read(frame, hasher) else { return (number, 0) };
        if tcp.flags & flags::SYN != 0 {
            // Perhaps another connection between the same ports.
            flow.ack = None;
        }
        if tcp.flags & flags::ACK != 0 {
            let rose = flow.ack.map_or(0, |before| tcp.ack.wrapping_sub(before));
            // An older number arrives late, or is repeated.
            if rose <= u32::MAX / 2 {
                flow.ack = Some(tcp.ack);
                if rose > 0 {
                    self.step(number, now, |step| step.acked += u64::from(rose));
                }
            }
        }
        (number, tcp.payload)
    }

    fn number(&mut self, now: Nanos, way: Direction, meta: &Meta) -> Option<u16> {
        let source = SocketAddr::new(meta.source, meta.source_port);
        let destination = SocketAddr::new(meta.destination, meta.destination_port);
        let (client, server) = match way {
            Direction::Up => (source, destination),
            Direction::Down => (destination, source),
        };
        let ends = Ends { protocol: meta.protocol, client, server };
        if let Some(&number) = self.numbers.get(&ends) {
            return Some(number);
        }
        let flow = Flow::new(ends, now);
        let number = if self.flows.len() < MOST_FLOWS {
            self.flows.push(flow);
            u16::try_from(self.flows.len() - 1).ok()?
        } else {
            self.search(now);
            let number = self.free.pop()?;
            self.flows[usize::from(number)] = flow;
            number
        };
        self.numbers.insert(ends, number);
        Some(number)
    }

    /// Frees the places of silent connections, and counts their packets with the others.
    fn search(&mut self, now: Nanos) {
        let is_soon = self.searched.is_some_and(|before| now.since(before) < SEARCH);
        if !self.free.is_empty() || is_soon {
            return;
        }
        self.searched = Some(now);
        let mut sent: Vec<u64> = self.flows.iter().map(|flow| flow.sent.bytes).collect();
        sent.sort_unstable_by(|a, b| b.cmp(a));
        let most = sent.get(KEPT).copied().unwrap_or(0);
        let is_gone =
            |flow: &Flow| flow.sent.bytes <= most && flow.waiting() == 0 && now.since(flow.last) >= SILENT;
        let (steps, others, free) = (&mut self.steps, &mut self.others, &mut self.free);
        self.numbers.retain(|_, number| {
            let flow = &mut self.flows[usize::from(*number)];
            if !is_gone(flow) {
                return true;
            }
            *steps -= std::mem::take(&mut flow.steps).len();
            (others.packets, others.bytes) =
                (others.packets + flow.arrived.packets, others.bytes + flow.arrived.bytes);
            free.push(*number);
            false
        });
    }

    /// The connections as they are, without their steps.
    pub(crate) fn look(&self) -> Vec<Flow> {
        let there = self.numbers.values().map(|number| &self.flows[usize::from(*number)]);
        let mut all: Vec<Flow> = there.map(|flow| Flow { steps: Vec::new(), ..*flow }).collect();
        all.sort_by_key(|flow| flow.first);
        all
    }

    /// The line began to send a packet at `started`, and has sent it by `now`.
    pub(crate) fn sent(&mut self, number: u16, started: Nanos, now: Nanos, packet: Sent) {
        let Some(flow) = self.flows.get_mut(usize::from(number)) else { return };
        let waited = started.since(packet.entered);
        flow.waited = flow.waited + waited;
        flow.longest = flow.longest.max(waited);
        flow.sent.add(packet.len);
        flow.drops += u64::from(packet.is_lost);
        flow.lost += u64::from(packet.is_lost);
        if packet.payload > 0 && !packet.is_lost {
            self.step(number, now, |step| step.payload += u64::from(packet.payload));
        }
    }

    /// The frame that came is the first segment of a super-packet, with this many bytes after it.
    pub(crate) fn came_with(&mut self, number: u16, bytes: u32) {
        self.arrivals(number).bytes += u64::from(bytes);
    }

    /// A queue cuts one more segment off a super-packet that had counted as one packet.
    pub(crate) fn cut(&mut self, number: u16) {
        self.arrivals(number).packets += 1;
    }

    fn arrivals(&mut self, number: u16) -> &mut Count {
        self.flows.get_mut(usize::from(number)).map_or(&mut self.others, |flow| &mut flow.arrived)
    }

    /// A queue dropped a packet of `len` bytes.
    pub(crate) fn dropped(&mut self, number: u16, len: u32) {
        if let Some(flow) = self.flows.get_mut(usize::from(number)) {
            flow.drops += 1;
            flow.dropped_bytes += u64::from(len);
        }
    }

    pub(crate) fn marked(&mut self, number: u16) {
        if let Some(flow) = self.flows.get_mut(usize::from(number)) {
            flow.marks += 1;
        }
    }

    /// Counts something in the step of `now`.
    fn step(&mut self, number: u16, now: Nanos, count: impl FnOnce(&mut Step)) {
        let Some(flow) = self.flows.get_mut(usize::from(number)) else { return };
        let at = now.since(self.spec.origin).0 / self.spec.step.0.max(1);
        // A packet leaves the line after others have come.
        let place = flow.steps.iter().rposition(|step| step.number <= at);
        if let Some(step) = place.and_then(|place| flow.steps.get_mut(place)).filter(|step| step.number == at)
        {
            return count(step);
        }
        if self.steps < MOST_STEPS {
            self.steps += 1;
            let mut step = Step { number: at, ..Step::default() };
            count(&mut step);
            flow.steps.insert(place.map_or(0, |place| place + 1), step);
        }
    }

    /// All connections, in the order in which they began, and the packets of the connections that were not
    /// counted separately.
    pub(crate) fn end(self) -> (Vec<Flow>, Count) {
        let gone: HashSet<usize> = self.free.iter().map(|number| usize::from(*number)).collect();
        let there = self.flows.into_iter().enumerate().filter(|(number, _)| !gone.contains(number));
        let mut flows: Vec<Flow> = there.map(|(_, flow)| flow).collect();
        flows.sort_by_key(|flow| flow.first);
        (flows, self.others)
    }
}

/// A packet that the line has sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// Its length, bytes.
    pub(crate) len: u32,
    /// Its payload, bytes.
    pub(crate) payload: u32,
    /// When it entered its queue.
    pub(crate) entered: Nanos,
    /// Whether it is lost after the line.
    pub(crate) is_lost: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A segment between 10.0.0.1:1000 and 10.0.0.2:80 with this much payload.
    fn segment(way: Direction, ack: u32, flags: u16, payload: usize) -> Vec<u8> {
        let mut frame = vec![0; ETHERNET];
        frame[12] = 8;
        let len = u16::try_from(40 + payload).expect("short").to_be_bytes();
        let mut hosts = [[10, 0, 0, 1], [10, 0, 0, 2]];
        let mut ports = [1000_u16.to_be_bytes(), 80_u16.to_be_bytes()];
        if way == Direction::Down {
            hosts.reverse();
            ports.reverse();
        }
        frame.extend([0x45, 0, len[0], len[1], 0, 0, 0, 0, 64, TCP, 0, 0]);
        frame.extend(hosts.concat());
        frame.extend(ports.concat());
        frame.extend([0; 4]);
        frame.extend(ack.to_be_bytes());
        frame.extend((0x5000 | flags).to_be_bytes());
        frame.extend([0; 6]);
        frame.extend(vec![0; payload]);
        frame
    }

    fn flows() -> Flows {
        Flows::new(FlowSpec { origin: Nanos(1_000), step: Span(100) })
    }

    #[test]
    fn what_was_acknowledged_counts_in_its_step_also_if_numbers_wrap() {
        let (mut flows, hasher) = (flows(), FlowHasher::new(1));
        let mut acks = |at, ack, flags| {
            flows.arrived(Nanos(at), Direction::Up, &segment(Direction::Up, ack, flags, 0), &hasher)
        };
        acks(1_000, u32::MAX - 9, flags::SYN | flags::ACK);
        acks(1_010, u32::MAX - 4, flags::ACK);
        // An old number, and the same number again.
        acks(1_020, u32::MAX - 7, flags::ACK);
        acks(1_020, u32::MAX - 4, flags::ACK);
        acks(1_250, 10, flags::ACK);
        // Another connection of the same ports: a number far away is no progress.
        acks(1_260, 4_000, flags::SYN | flags::ACK);
        acks(1_270, 4_003, flags::ACK);
        acks(1_280, 0, flags::SYN);
        acks(1_290, 70_000, flags::ACK);
        let (all, others) = flows.end();
        assert_eq!((all.len(), others.packets), (1, 0));
        let steps: Vec<(u64, u64)> = all[0].steps.iter().map(|step| (step.number, step.acked)).collect();
        assert_eq!(steps, [(0, 5), (2, 15 + 3)]);
        assert_eq!((all[0].first, all[0].last, all[0].arrived.packets), (Nanos(1_000), Nanos(1_290), 9));
    }

    #[test]
    fn frames_that_are_not_ip_are_of_no_connection() {
        let mut arp = vec![0; 60];
        arp[12..14].copy_from_slice(&[8, 6]);
        let (mut flows, hasher) = (flows(), FlowHasher::new(1));
        assert_eq!(flows.arrived(Nanos(1_000), Direction::Up, &arp, &hasher), (NONE, 0));
        let (all, others) = flows.end();
        assert_eq!((all.len(), others.packets), (0, 0), "nor of one beyond the most");
    }

    #[test]
    fn packets_wait_and_are_dropped_marked_sent_or_lost() {
        let (mut flows, hasher) = (flows(), FlowHasher::new(1));
        let data = segment(Direction::Down, 1, flags::ACK, 1000);
        let (flow, payload) = flows.arrived(Nanos(1_050), Direction::Down, &data, &hasher);
        assert_eq!((flow, payload), (0, 1000));
        let of = |is_lost| Sent { len: 1054, payload, entered: Nanos(1_050), is_lost };
        flows.sent(flow, Nanos(1_080), Nanos(1_190), of(false));
        for _ in 0..4 {
            flows.arrived(Nanos(1_060), Direction::Down, &data, &hasher);
        }
        flows.sent(flow, Nanos(1_150), Nanos(1_210), of(true));
        flows.dropped(flow, 1054);
        flows.marked(flow);
        // A packet of no connection.
        flows.dropped(NONE, 1054);
        flows.marked(NONE);
        let flow = &flows.end().0[0];
        assert_eq!((flow.waiting(), flow.waiting_bytes()), (2, 2 * 1054), "of five");
        let waited = (flow.waited, flow.longest);
        assert_eq!((flow.sent.packets, flow.drops, flow.marks, waited), (2, 2, 1, (Span(130), Span(100))));
        assert_eq!(flow.steps, [Step { number: 1, payload: 1000, acked: 0 }]);
        assert_eq!((flow.ends.client.port(), flow.ends.server.port()), (1000, 80));
    }

    #[test]
    fn a_late_count_is_put_where_it_belongs() {
        let (mut flows, hasher) = (flows(), FlowHasher::new(1));
        let (flow, _) =
            flows.arrived(Nanos(1_000), Direction::Up, &segment(Direction::Up, 0, 0, 10), &hasher);
        for at in [1_350, 1_150, 1_360, 1_000] {
            flows.step(flow, Nanos(at), |step| step.payload += 1);
        }
        let steps: Vec<(u64, u64)> =
            flows.end().0[0].steps.iter().map(|step| (step.number, step.payload)).collect();
        assert_eq!(steps, [(0, 1), (1, 1), (3, 2)]);
    }

    /// A segment from this port, this long after the start; returns the number of its connection.
    fn arrive(flows: &mut Flows, port: u16, after: Span) -> u16 {
        let mut frame = segment(Direction::Up, 0, 0, 10);
        frame[ETHERNET + 20..ETHERNET + 22].copy_from_slice(&port.to_be_bytes());
        flows.arrived(Nanos(1_000) + after, Direction::Up, &frame, &FlowHasher::new(1)).0
    }

    #[test]
    fn a_silent_connection_gives_its_place_to_another() {
        let mut flows = flows();
        let most = u16::try_from(MOST_FLOWS).expect("few");
        for port in 1..=most {
            arrive(&mut flows, port, Span::ZERO);
        }
        assert_eq!(arrive(&mut flows, 20_000, SILENT), NONE, "packets of all are still in the queue");
        for number in 0..most {
            let sent = Sent { len: 100, payload: 10, entered: Nanos(1_000), is_lost: number == 7 };
            flows.sent(number, Nanos(1_000), Nanos(1_000), sent);
        }
        let soon = SILENT + Span::from_millis(500);
        assert_eq!(arrive(&mut flows, 20_001, soon), NONE, "it was searched a moment ago");
        assert_ne!(arrive(&mut flows, 20_002, SILENT + SEARCH), NONE);
        assert_eq!(flows.look().len(), 1);
        let (all, others) = flows.end();
        assert_eq!((all.len(), all[0].ends.client.port(), others.packets), (1, 20_002, 2 + u64::from(most)));
    }

    #[test]
    fn too_many_connections_are_counted_together_and_any_bytes_are_accepted() {
        let (mut flows, hasher) = (flows(), FlowHasher::new(1));
        let frame = segment(Direction::Up, 0, 0, 0);
        for port in 0..=u16::try_from(MOST_FLOWS).expect("few") {
            arrive(&mut flows, port, Span::ZERO);
        }
        for length in 0..frame.len() {
            flows.arrived(Nanos(900), Direction::Down, &frame[..length], &hasher);
        }
        let (all, others) = flows.end();
        assert_eq!(all.len(), MOST_FLOWS);
        assert!(others.packets > 1, "{others:?}");
    }
}

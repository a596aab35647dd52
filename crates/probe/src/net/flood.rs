//! UDP load: datagrams at a constant rate, regardless of loss. Each flow has one socket at the client.
//!
//! ```text
//! octet  0  magic "GQu1"
//!        4  kind: 1 announcement, 2 data
//!        5  direction of an announcement: 0 up, 1 down
//!        6  zero, 2 octets
//!        8  number of the flow, u32 (all integers little-endian)
//!       12  UDP payload of each datagram, u32; zero in data, where the rest is filling
//!       16  rate of the payload, u64 bit/s
//!       24  start, i64 ns from the start of the load
//!       32  stop, i64 ns
//!       40  time between two samples of goodput, u64 ns
//! ```
//! The client repeats its announcement four times a second until the flow stops. A server sends only to
//! clients that it has heard within the last second.

use std::collections::BTreeMap;
use std::net::{IpAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use goodqueue::{Bytes, Rate};

use super::clock::SharedClock;
use super::error::{Context, NetError};
use super::flow::{Grid, buffer};
use super::ns;
use super::session::{Far, PREFACE_LEN};
use super::sys::{self, AsFd, AsRawFd, RawFd};
use crate::{Direction, Sample, Test, UdpFlow};

/// Bytes of an announcement.
const ANNOUNCEMENT: usize = 48;
/// Bytes of the fields of data.
const DATA: usize = 16;
const MAGIC: [u8; 4] = *b"GQu1";
/// Time between two announcements.
const AGAIN: i64 = 250_000_000;
/// A server does not send to a client that has been silent for this long.
const SILENCE: i64 = 1_000_000_000;
/// A sender that is later than this skips the datagrams that were due.
const LATE: i64 = 100_000_000;
/// How long after its stop a flow's datagrams may still arrive.
const DRAIN: i64 = 1_000_000_000;
/// Longest sleep, so that a stop is noticed.
const SLEEP: i64 = 50_000_000;
/// Most datagrams read from one socket before the others have their turn.
const TURN: usize = 64;
const DAY: i64 = 86_400_000_000_000;
const LEAST_STEP: i64 = 10_000_000;

/// What a client announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Announcement {
    flow: u32,
    direction: Direction,
    payload: u32,
    rate: u64,
    start: i64,
    stop: i64,
    step: i64,
}

/// A datagram of a UDP flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packet {
    Announcement(Announcement),
    Data { flow: u32 },
}

impl Packet {
    fn parse(bytes: &[u8]) -> Option<Packet> {
        let int = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let long = |at: usize| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        if bytes.get(..4)? != MAGIC {
            return None;
        }
        let flow = int(8)?;
        match (bytes.get(4)?, bytes.get(5)?) {
            (1, way @ 0..=1) => {
                let direction = if *way == 0 { Direction::Up } else { Direction::Down };
                let (payload, rate) = (int(12)?, long(16)?);
                let [start, stop, step] = [long(24)?, long(32)?, long(40)?].map(u64::cast_signed);
                let sound = (UdpFlow::LEAST_PAYLOAD..=UdpFlow::MOST_PAYLOAD).contains(&payload)
                    && rate > 0
                    && (0..DAY).contains(&start)
                    && start < stop
                    && stop <= DAY
                    && (LEAST_STEP..=DAY).contains(&step);
                let announcement = Announcement { flow, direction, payload, rate, start, stop, step };
                sound.then_some(Packet::Announcement(announcement))
            }
            (2, 0) => Some(Packet::Data { flow }),
            _ => None,
        }
    }

    /// Writes the fields; the bytes after them are unchanged.
    fn emit(&self, out: &mut [u8]) {
        let (kind, way, flow) = match *self {
            Packet::Announcement(Announcement { flow, direction, .. }) => {
                (1, u8::from(direction == Direction::Down), flow)
            }
            Packet::Data { flow } => (2, 0, flow),
        };
        out[..4].copy_from_slice(&MAGIC);
        out[4..8].copy_from_slice(&[kind, way, 0, 0]);
        out[8..12].copy_from_slice(&flow.to_le_bytes());
        out[12..16].fill(0);
        if let Packet::Announcement(Announcement { payload, rate, start, stop, step, .. }) = *self {
            out[12..16].copy_from_slice(&payload.to_le_bytes());
            out[16..24].copy_from_slice(&rate.to_le_bytes());
            for (at, value) in [(24, start), (32, stop), (40, step)] {
                out[at..at + 8].copy_from_slice(&value.to_le_bytes());
            }
        }
    }
}

/// When the datagrams of a flow are due.
#[derive(Clone, Copy, Debug)]
struct Pace {
    next: i64,
    stop: i64,
    gap: i64,
}

impl Pace {
    fn new(rate: u64, payload: u32, start: i64, stop: i64) -> Pace {
        let gap = Rate(rate.max(1)).tx_time(Bytes(payload.into()));
        Pace { next: start, stop, gap: i64::try_from(gap.0).unwrap_or(i64::MAX).max(1) }
    }

    /// Whether one is due at `t`; the next one is due a gap later.
    fn take(&mut self, t: i64) -> bool {
        if t.saturating_sub(self.next) > LATE {
            self.next = t;
        }
        let is_due = self.next <= t && self.next < self.stop;
        if is_due {
            self.next = self.next.saturating_add(self.gap);
        }
        is_due
    }

    fn due(&self) -> i64 {
        if self.next < self.stop { self.next } else { i64::MAX }
    }
}

/// Bytes of a flow that arrived, by step.
#[derive(Clone, Copy, Debug)]
struct Count {
    flow: u32,
    grid: Grid,
    bytes: u64,
}

impl Count {
    fn tick(&mut self, t: i64, sink: &mut dyn FnMut(Sample)) {
        while let Some(end) = self.grid.pass(t) {
            sink(Sample::Received { flow: self.flow, t: end, bytes: std::mem::take(&mut self.bytes) });
        }
    }
}

/// The limits of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloodLimits {
    /// Flows at a time.
    pub flows: usize,
    /// Rate of all flows together in each direction, bit/s.
    pub bps: u64,
    /// Latest stop of a flow, nanoseconds from the start of the load.
    pub until: i64,
}

/// A flow at the server.
struct Served<T> {
    to: T,
    tos: u8,
    plan: Announcement,
    heard: i64,
    pace: Pace,
    count: Count,
}

/// The server's end of UDP flows, without sockets. `T` is where a flow's datagrams go. Times are nanoseconds
/// from the start of the load.
pub struct Floods<T> {
    limits: FloodLimits,
    /// Bytes in front of the datagrams that it gets, which count too.
    preface: usize,
    flows: BTreeMap<u32, Served<T>>,
}

impl<T> Floods<T> {
    /// A server within `limits`, which gets each datagram without its first `preface` bytes.
    pub fn new(limits: FloodLimits, preface: usize) -> Floods<T> {
        Floods { limits, preface, flows: BTreeMap::new() }
    }

    /// Handles a datagram of `len` bytes that arrived at `t`; `bytes` is its start. False if it does not
    /// belong to a UDP flow.
    pub fn handle(&mut self, t: i64, (len, bytes): (usize, &[u8]), to: impl FnOnce() -> (T, u8)) -> bool {
        match Packet::parse(bytes) {
            None => return false,
            Some(Packet::Data { flow }) => {
                if let Some(served) = self.flows.get_mut(&flow)
                    && served.plan.direction == Direction::Up
                {
                    served.count.bytes += (len + self.preface) as u64;
                }
            }
            Some(Packet::Announcement(plan)) => {
                if let Some(served) = self.flows.get_mut(&plan.flow) {
                    served.heard = t;
                } else if self.may_begin(&plan) && t < plan.stop {
                    let (to, tos) = to();
                    let pace = Pace::new(plan.rate, plan.payload, plan.start, plan.stop);
                    let grid = Grid::after(plan.start.max(t - plan.step), plan.step);
                    let count = Count { flow: plan.flow, grid, bytes: 0 };
                    self.flows.insert(plan.flow, Served { to, tos, plan, heard: t, pace, count });
                }
            }
        }
        true
    }

    fn may_begin(&self, plan: &Announcement) -> bool {
        let same = self.flows.values().filter(|served| served.plan.direction == plan.direction);
        let rate = same.fold(plan.rate, |sum, served| sum.saturating_add(served.plan.rate));
        self.flows.len() < self.limits.flows && rate <= self.limits.bps && plan.stop <= self.limits.until
    }

    /// Sends what is due at `t` with `send`, emits the steps that have passed, and returns how long to sleep
    /// at most, ns.
    pub fn pass_time(
        &mut self,
        t: i64,
        send: &mut dyn FnMut(&T, &[u8], u8),
        sink: &mut dyn FnMut(Sample),
    ) -> u64 {
        let mut next = t.saturating_add(SLEEP);
        for served in self.flows.values_mut() {
            match served.plan.direction {
                Direction::Up => served.count.tick(t, sink),
                Direction::Down => {
                    let is_heard = t - served.heard < SILENCE;
                    while served.pace.take(t) {
                        if is_heard {
                            send_data(served.plan.flow, served.plan.payload as usize, &mut |datagram| {
                                send(&served.to, datagram, served.tos);
                            });
                        }
                    }
                    next = next.min(served.pace.due());
                }
            }
        }
        self.flows.retain(|_, served| t < served.plan.stop.saturating_add(DRAIN));
        u64::try_from(next - t).unwrap_or(0)
    }
}

/// Makes a datagram of `payload` bytes.
fn send_data(flow: u32, payload: usize, send: &mut dyn FnMut(&[u8])) {
    let mut datagram = [0; UdpFlow::MOST_PAYLOAD as usize];
    let len = payload.min(UdpFlow::MOST_PAYLOAD as usize);
    let datagram = &mut datagram[..len];
    datagram[DATA..].copy_from_slice(&buffer()[DATA..len]);
    Packet::Data { flow }.emit(datagram);
    send(datagram);
}

/// A flow at the client.
struct Running {
    socket: UdpSocket,
    preface: Vec<u8>,
    plan: Announcement,
    pace: Pace,
    announce: i64,
    count: Count,
}

/// The client's end of UDP flows, opened but not started.
pub(super) struct Flooding {
    running: Vec<Running>,
}

impl Flooding {
    /// `servers`: one for each host of the test.
    pub(super) fn open(test: &Test, servers: &[Far]) -> Result<Flooding, NetError> {
        let mut running = Vec::with_capacity(test.udp.len());
        for (number, flow) in (test.flows.len()..).zip(&test.udp) {
            let far = &servers[flow.host];
            let v6 = far.server.is_ipv6();
            let any: IpAddr = if v6 { [0u16; 8].into() } else { [0u8; 4].into() };
            let socket = UdpSocket::bind((any, 0)).context("open UDP for", &flow.name)?;
            socket.set_nonblocking(true).context("set UDP nonblocking for", &flow.name)?;
            sys::set_tos(socket.as_fd(), v6, flow.dscp.tos()).context("set ToS of", &flow.name)?;
            socket.connect(far.server).context("connect UDP", far.server)?;
            let plan = Announcement {
                flow: u32::try_from(number).unwrap_or(u32::MAX),
                direction: flow.direction,
                payload: flow.payload,
                rate: flow.rate.0,
                start: ns(flow.start),
                stop: ns(flow.stop),
                step: ns(test.step).max(1),
            };
            let pace = Pace::new(plan.rate, plan.payload, plan.start, plan.stop);
            let count = Count { flow: plan.flow, grid: Grid::after(plan.start, plan.step), bytes: 0 };
            let announce = plan.start - AGAIN;
            running.push(Running { socket, preface: far.preface(), plan, pace, announce, count });
        }
        Ok(Flooding { running })
    }

    /// Runs until the last flow has stopped and drained, or one of `stops` is set. The samples are the
    /// goodput of downloads.
    pub(super) fn run(
        mut self,
        clock: &SharedClock,
        sink: &Sender<Sample>,
        stops: &[&AtomicBool],
    ) -> Result<(), NetError> {
        let mut emit = |sample| {
            // A receiver that is gone no longer wants samples; the run is stopped by other means.
            let _ = sink.send(sample);
        };
        let Some(end) = self.running.iter().map(|flow| flow.plan.stop.saturating_add(DRAIN)).max() else {
            return Ok(());
        };
        let fds: Vec<RawFd> = self.running.iter().map(|flow| flow.socket.as_raw_fd()).collect();
        let mut ready = Vec::with_capacity(fds.len());
        while !stops.iter().any(|stop| stop.load(Ordering::Relaxed)) {
            let t = clock.t();
            if t >= end {
                break;
            }
            let mut next = t.saturating_add(SLEEP).min(end);
            for flow in &mut self.running {
                flow.pass_time(t, &mut emit);
                next = next.min(flow.due());
            }
            let sleep = u64::try_from(next - clock.t()).unwrap_or(0);
            sys::wait_readable(&fds, sleep, &mut ready).context("wait for", "UDP load")?;
            ready.iter().for_each(|&index| self.running[index].receive());
        }
        Ok(())
    }
}

impl Running {
    fn pass_time(&mut self, t: i64, sink: &mut dyn FnMut(Sample)) {
        if t >= self.announce && t < self.plan.stop {
            self.announce = t.saturating_add(AGAIN);
            let mut datagram = [0; PREFACE_LEN + ANNOUNCEMENT];
            let first = self.preface.len();
            datagram[..first].copy_from_slice(&self.preface);
            Packet::Announcement(self.plan).emit(&mut datagram[first..]);
            // A lost announcement is repeated.
            let _ = self.socket.send(&datagram[..first + ANNOUNCEMENT]);
        }
        if self.plan.direction == Direction::Down {
            return self.count.tick(t, sink);
        }
        while self.pace.take(t) {
            let mut datagram = [0; UdpFlow::MOST_PAYLOAD as usize];
            let (first, len) = (self.preface.len(), self.plan.payload as usize);
            datagram[..first].copy_from_slice(&self.preface);
            datagram[first + DATA..len].copy_from_slice(&buffer()[first + DATA..len]);
            Packet::Data { flow: self.plan.flow }.emit(&mut datagram[first..]);
            // A datagram that the kernel does not take is lost, as in a full queue.
            let _ = self.socket.send(&datagram[..len]);
        }
    }

    fn due(&self) -> i64 {
        let data = if self.plan.direction == Direction::Up { self.pace.due() } else { i64::MAX };
        let announce = if self.announce < self.plan.stop { self.announce } else { i64::MAX };
        data.min(announce)
    }

    fn receive(&mut self) {
        let mut buf = [0; UdpFlow::MOST_PAYLOAD as usize];
        for _ in 0..TURN {
            let Ok(len) = self.socket.recv(&mut buf) else { return };
            if Packet::parse(&buf[..len]) == Some(Packet::Data { flow: self.plan.flow }) {
                self.count.bytes += len as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLAN: Announcement = Announcement {
        flow: 0x0102,
        direction: Direction::Down,
        payload: 1000,
        rate: 8_000_000,
        start: 0,
        stop: 2_000_000_000,
        step: 200_000_000,
    };
    const LIMITS: FloodLimits = FloodLimits { flows: 2, bps: 10_000_000, until: 5_000_000_000 };

    fn announced(plan: Announcement) -> [u8; ANNOUNCEMENT] {
        let mut bytes = [0; ANNOUNCEMENT];
        Packet::Announcement(plan).emit(&mut bytes);
        bytes
    }

    #[test]
    fn the_layout_is_the_documented_one() {
        let bytes = announced(PLAN);
        assert_eq!(bytes[..16], *b"GQu1\x01\x01\0\0\x02\x01\0\0\xe8\x03\0\0");
        assert_eq!(Packet::parse(&bytes), Some(Packet::Announcement(PLAN)));
        for (at, value) in [(0, 0), (4, 3), (5, 2), (13, 0xff), (31, 0xff), (47, 0xff)] {
            let mut bad = bytes;
            bad[at] = value;
            assert_eq!(Packet::parse(&bad), None, "octet {at}");
        }
    }

    /// Bytes that a server sends if it hears its client for `heard` ns.
    fn sent(plan: Announcement, heard: i64) -> usize {
        let mut floods = Floods::new(LIMITS, 0);
        let (mut bytes, mut t) = (0, -100_000_000);
        while t < 3_000_000_000 {
            if t < heard {
                assert!(floods.handle(t, (ANNOUNCEMENT, &announced(plan)), || ((), 0)));
            }
            let sleep = floods.pass_time(t, &mut |(), datagram, _| bytes += datagram.len(), &mut |_| ());
            assert!(sleep <= SLEEP.unsigned_abs());
            t += i64::try_from(sleep).unwrap().max(1);
        }
        bytes
    }

    #[test]
    fn a_server_sends_at_the_rate_and_to_those_that_it_hears() {
        assert_eq!(sent(PLAN, i64::MAX), 2_000_000, "8 Mbit/s for 2 s");
        let cut = sent(PLAN, 500_000_000);
        assert!((1_300_000..1_600_000).contains(&cut), "{cut}: half a second, and one of silence");
        assert_eq!(sent(Announcement { rate: 10_000_001, ..PLAN }, i64::MAX), 0, "beyond the limit");
        assert_eq!(sent(Announcement { stop: LIMITS.until + 1, ..PLAN }, i64::MAX), 0);
        assert_eq!(sent(Announcement { direction: Direction::Up, ..PLAN }, i64::MAX), 0);
    }

    #[test]
    fn what_arrives_is_counted_by_step() {
        let plan = Announcement { direction: Direction::Up, ..PLAN };
        let mut floods = Floods::new(LIMITS, 20);
        floods.handle(-1, (ANNOUNCEMENT, &announced(plan)), || ((), 0));
        let mut data = [0; DATA];
        Packet::Data { flow: plan.flow }.emit(&mut data);
        let mut samples = Vec::new();
        for t in [50_000_000, 250_000_000] {
            assert!(floods.handle(t, (980, &data), || ((), 0)));
            floods
                .pass_time(t, &mut |(), _, _| panic!("nothing is sent"), &mut |sample| samples.push(sample));
        }
        let step = |t, bytes| Sample::Received { flow: plan.flow, t, bytes };
        assert_eq!(samples.last(), Some(&step(200_000_000, 2000)), "{samples:?}");
        assert!(!floods.handle(0, (4, b"GQt1"), || ((), 0)));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64), at in 0..ANNOUNCEMENT, to: u8) {
            let mut near = announced(PLAN);
            near[at] = to;
            for bytes in [&bytes[..], &near[..]] {
                if let Some(packet) = Packet::parse(bytes) {
                    let mut out = bytes.to_vec();
                    packet.emit(&mut out);
                    prop_assert_eq!(Packet::parse(&out), Some(packet));
                }
            }
        }
    }
}

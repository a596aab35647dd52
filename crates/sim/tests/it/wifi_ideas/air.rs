//! Constant streams of packets over a radio, and what happens to them.

use goodqueue::{Nanos, Reason, Span};
use goodqueue_sim::wifi::{
    DeviceId, DeviceSpec, DriverSpec, Frame, PathAccount, PeerSpec, Radio, RadioSpec, RateSpec, Sink,
};

/// A packet of `len` bytes every `gap`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    pub(crate) from: DeviceId,
    pub(crate) to: DeviceId,
    pub(crate) tid: u8,
    pub(crate) len: u32,
    pub(crate) gap: Span,
}

/// More than any station can have.
pub(crate) fn flood(to: DeviceId) -> Stream {
    Stream { from: 0, to, tid: 0, len: 1514, gap: Span::from_micros(80) }
}

/// A packet of 100 bytes every 10 ms: like a ping.
pub(crate) fn sparse(to: DeviceId) -> Stream {
    Stream { from: 0, to, tid: 0, len: 100, gap: Span::from_millis(10) }
}

/// One direction of a call in G.711.
pub(crate) fn call(to: DeviceId, tid: u8) -> Stream {
    Stream { from: 0, to, tid, len: 214, gap: Span::from_millis(20) }
}

/// The outcome of a stream's packets that were sent after the first second.
#[derive(Clone, Debug, Default)]
pub(crate) struct Got {
    pub(crate) sent: u64,
    pub(crate) lost: u64,
    pub(crate) bytes: u64,
    /// From offer to delivery, us, in ascending order.
    pub(crate) delays: Vec<u64>,
    /// Longest time from offer to delivery or loss of a packet that went on the air, us.
    pub(crate) longest: u64,
}

impl Got {
    /// The delay, ms, that this share of the packets does not exceed.
    pub(crate) fn delay(&self, share: f64) -> f64 {
        let last = self.delays.len().saturating_sub(1);
        self.delays
            .get((last as f64 * share) as usize)
            .map_or(f64::INFINITY, |&micros| micros as f64 / 1000.0)
    }

    /// Mbit/s over `seconds`.
    pub(crate) fn mbps(&self, seconds: u64) -> f64 {
        self.bytes as f64 * 8.0 / (seconds as f64 * 1e6)
    }

    /// Share of the packets that were lost.
    pub(crate) fn loss(&self) -> f64 {
        self.lost as f64 / (self.sent as f64).max(1.0)
    }

    /// Mean opinion score of a call: the E-model as Cole and Rosenbluth (2001) have it for G.711 without
    /// concealment, with 20 ms of packetization, the 95th percentile of the delay and the loss.
    pub(crate) fn mos(&self) -> f64 {
        let delay = 20.0 + self.delay(0.95);
        let percent = 100.0 * self.loss();
        let r = 93.2 - 0.024 * delay - 0.11 * (delay - 177.3).max(0.0) - 95.0 * percent / (percent + 4.3);
        let r = r.clamp(0.0, 100.0);
        1.0 + 0.035 * r + 7e-6 * r * (r - 60.0) * (100.0 - r)
    }
}

#[derive(Default)]
struct Ledger {
    /// Stream and time of each packet.
    packets: Vec<(usize, Nanos)>,
    got: Vec<Got>,
}

const WARM_UP: Nanos = Nanos(1_000_000_000);

impl Ledger {
    fn of(&mut self, frame: &Frame) -> Option<(&mut Got, Nanos)> {
        let &(stream, sent) = self.packets.get(frame.handle as usize)?;
        (sent >= WARM_UP).then_some((&mut self.got[stream], sent))
    }
}

impl Sink for Ledger {
    fn delivered(&mut self, now: Nanos, _: DeviceId, frame: Frame) {
        if let Some(&(stream, _)) = self.packets.get(frame.handle as usize).filter(|_| now >= WARM_UP) {
            self.got[stream].bytes += u64::from(frame.len);
        }
        if let Some((got, sent)) = self.of(&frame) {
            let micros = now.since(sent).0 / 1000;
            got.delays.push(micros);
            got.longest = got.longest.max(micros);
        }
    }

    fn dropped(&mut self, now: Nanos, _: DeviceId, frame: Frame, reason: Reason) {
        if let Some((got, sent)) = self.of(&frame) {
            got.lost += 1;
            if reason == Reason::Loss {
                got.longest = got.longest.max(now.since(sent).0 / 1000);
            }
        }
    }
}

/// A radio after its run.
pub(crate) struct Run {
    pub(crate) radio: Radio,
    pub(crate) now: Nanos,
    pub(crate) got: Vec<Got>,
    /// Seconds after the first.
    pub(crate) seconds: u64,
}

impl Run {
    pub(crate) fn path(&self, from: DeviceId, to: DeviceId) -> PathAccount {
        self.radio.path_account(from, to).expect("associated")
    }

    /// Mbit/s of the streams of `which`.
    pub(crate) fn mbps(&self, which: impl Iterator<Item = usize>) -> f64 {
        which.map(|stream| self.got[stream].mbps(self.seconds)).sum()
    }
}

/// Runs a second and `seconds` more. Time and packets add up every 10 ms.
pub(crate) fn run(spec: &RadioSpec, streams: &[Stream], seconds: u64) -> Run {
    let mut radio = Radio::new(spec, 1, 0).expect("a radio");
    let mut ledger = Ledger { got: vec![Got::default(); streams.len()], ..Ledger::default() };
    // Streams begin one after the other, so that their packets do not all come at once.
    let mut next: Vec<Nanos> = (0..streams.len() as u64).map(|place| Nanos(place * 13_000)).collect();
    let end = Nanos((1 + seconds) * 1_000_000_000);
    let mut check = Nanos::ZERO;
    loop {
        let (stream, at) = next.iter().copied().enumerate().min_by_key(|&(_, at)| at).expect("streams");
        if at >= end {
            break;
        }
        let Stream { from, to, tid, len, gap } = streams[stream];
        next[stream] = at + gap;
        radio.advance(at, &mut ledger);
        if at >= check {
            assert!(radio.is_conserved(at), "{:?} {:?}", radio.air_account(at), radio.packet_account());
            check = at + Span::from_millis(10);
        }
        let handle = ledger.packets.len() as u32;
        ledger.packets.push((stream, at));
        if at >= WARM_UP {
            ledger.got[stream].sent += 1;
        }
        let flow_hash = (stream as u32 + 1).wrapping_mul(0x9e37_79b1);
        let frame = Frame { handle, len, flow_hash, to, tid, dsfield: tid << 5, ..Frame::default() };
        radio.offer(at, from, frame, &mut ledger);
    }
    radio.advance(end, &mut ledger);
    assert!(radio.is_conserved(end), "{:?} {:?}", radio.air_account(end), radio.packet_account());
    ledger.got.iter_mut().for_each(|got| got.delays.sort_unstable());
    Run { radio, now: end, got: ledger.got, seconds }
}

/// A peer at `rate` without errors.
pub(crate) fn peer(rate: &str) -> PeerSpec {
    PeerSpec::new(RateSpec::Fixed(rate.parse().expect("a rate")))
}

/// An access point with `driver`, and a station at each of `rates`.
pub(crate) fn network(driver: DriverSpec, rates: &[&str]) -> RadioSpec {
    let fifos = || DriverSpec::ath9k_fifos("pfifo:1000".parse().expect("a queue"));
    let mut devices = vec![DeviceSpec::access_point(driver)];
    devices.extend(rates.iter().map(|rate| DeviceSpec::station(0, peer(rate), fifos())));
    RadioSpec { devices, ..RadioSpec::default() }
}

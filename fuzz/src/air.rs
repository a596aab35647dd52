//! Random radios with any driver and any of the ideas, and what must add up in them.

use arbitrary::Arbitrary;
use goodqueue::wifi::{AdmissionParams, WifiParams};
use goodqueue::{Nanos, Reason, Span};
use goodqueue_sim::wifi::{
    Band, DeviceId, DeviceSpec, DqlScope, DriverSpec, Errors, Frame, Ideas, PeerSpec, Radio, RadioSpec,
    RateSpec, Sink, Upper,
};

/// A station, as numbers.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct Station {
    rate: u8,
    errors: u8,
    driver: Driver,
    rts: bool,
}

/// A driver, as numbers.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct Driver {
    kind: u8,
    ideas: u8,
    time: u16,
}

/// One call.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Call {
    /// A packet arrives at a device.
    Offer { from: u8, to: u8, tid: u8, len: u16, hash: u8 },
    /// Time passes, up to 16.7 ms.
    Advance { low: u16, high: u8 },
    /// A station leaves.
    Leave(u8),
}

/// A radio and what is done with it.
#[derive(Arbitrary, Clone, Debug)]
pub struct Numbers {
    band: bool,
    access_point: Driver,
    stations: Vec<Station>,
    calls: Vec<Call>,
}

const RATES: [&str; 7] =
    ["mcs0", "mcs15", "ofdm6", "vht80-2ss-mcs9-sgi", "he80-2ss-mcs11", "dsss1", "ht40-mcs7-lgi"];
const MOST_STATIONS: usize = 6;

impl Driver {
    fn spec(self) -> DriverSpec {
        let fifos = |queue: &str| DriverSpec::ath9k_fifos(queue.parse().expect("a queue"));
        let mut driver = match self.kind % 5 {
            0 => fifos("pfifo:20"),
            1 => fifos("fq_codel,limit=300"),
            2 => DriverSpec::ath9k(),
            3 => DriverSpec::ath10k(),
            _ => DriverSpec { lower: DriverSpec::ath10k().lower, ..fifos("codel") },
        };
        let (is_on, kind) = (|bit: u8| self.ideas >> bit & 1 == 1, self.kind % 5);
        let has_stack = matches!(kind, 2 | 3);
        let time = |most: u64| Span((u64::from(self.time) * 400_000 % most).max(1_000_000));
        driver.ideas = Ideas {
            dql: match (kind, is_on(0), is_on(1)) {
                (3, true, false) => Some(DqlScope::Station),
                (3 | 4, true, true) => Some(DqlScope::Hardware),
                _ => None,
            },
            fill_ahead: is_on(2).then_some(time(100_000_000)),
            lifetime: is_on(3).then_some(time(1_000_000_000)),
            latency_budget: is_on(4).then_some(time(1_000_000_000)),
            admission: (is_on(5) && has_stack).then_some(AdmissionParams {
                standing: Span::from_millis(1),
                flows: 3,
                ..Default::default()
            }),
            combine: is_on(6) && kind == 2,
        };
        if let Upper::Mac80211(params) = &mut driver.upper {
            *params = WifiParams { joint_airtime: is_on(7), limit: 500, ..*params };
        }
        driver
    }
}

impl Numbers {
    /// The radio.
    pub fn spec(&self) -> RadioSpec {
        let mut devices = vec![DeviceSpec::access_point(self.access_point.spec())];
        for station in self.stations.iter().take(MOST_STATIONS) {
            let rate = RATES[usize::from(station.rate) % RATES.len()].parse().expect("a rate");
            let mut peer = PeerSpec::new(RateSpec::Fixed(rate));
            peer.errors = [Errors::None, Errors::Share(0.1), Errors::Share(0.7), Errors::Share(1.0)]
                [usize::from(station.errors % 4)];
            let mut device = DeviceSpec::station(0, peer, station.driver.spec());
            device.rts_threshold = station.rts.then_some(500);
            devices.push(device);
        }
        let band = if self.band { Band::Ghz5 } else { Band::Ghz2_4 };
        RadioSpec { band, devices, ..RadioSpec::default() }
    }

    /// Makes the calls, and checks after each that time and packets add up. At the end the radio becomes
    /// idle.
    pub fn run(&self) {
        let spec = self.spec();
        let mut radio = Radio::new(&spec, 1, 0).expect("a radio");
        let mut seen = Seen::default();
        let mut now = Nanos::ZERO;
        let device = |number: u8| DeviceId::from(number) % (spec.devices.len() as DeviceId + 1);
        for call in &self.calls {
            match *call {
                Call::Offer { from, to, tid, len, hash } => {
                    seen.offered += 1;
                    let (handle, len) = (seen.offered, u32::from(len % 1500) + 14);
                    let flow_hash = u32::from(hash) << 24;
                    let frame =
                        Frame { handle, len, flow_hash, to: device(to), tid: tid % 9, ..Frame::default() };
                    let from = device(from) % spec.devices.len() as DeviceId;
                    radio.offer(now, from, frame, &mut seen);
                }
                Call::Advance { low, high } => {
                    now += Span(u64::from(high) << 16 | u64::from(low));
                    radio.advance(now, &mut seen);
                }
                Call::Leave(station) => {
                    radio.remove_station(now, device(station), &mut seen);
                }
            }
            seen.check(&radio, now);
        }
        // A packet of 1514 bytes at 1 Mbit/s is on the air for 12 ms; thirty retries of ten attempts are the
        // most.
        for _ in 0..1000 {
            let Some(next) = radio.next_event() else { break };
            now = next + Span::from_secs(10);
            radio.advance(now, &mut seen);
            seen.check(&radio, now);
        }
        assert_eq!(radio.held(), 0);
    }
}

/// Packets that came out.
#[derive(Default)]
struct Seen {
    offered: u32,
    out: std::collections::BTreeSet<u32>,
}

impl Seen {
    fn take(&mut self, frame: &Frame) {
        assert!(frame.handle <= self.offered && self.out.insert(frame.handle), "a packet comes out once");
    }

    fn check(&self, radio: &Radio, now: Nanos) {
        assert!(radio.is_conserved(now), "{:?} {:?}", radio.air_account(now), radio.packet_account());
        assert_eq!(u64::from(self.offered), self.out.len() as u64 + radio.held());
    }
}

impl Sink for Seen {
    fn delivered(&mut self, _: Nanos, _: DeviceId, frame: Frame) {
        self.take(&frame);
    }
    fn dropped(&mut self, _: Nanos, _: DeviceId, frame: Frame, _: Reason) {
        self.take(&frame);
    }
}

//! Radios that are large or crowded, that stations leave, or that are misconfigured.

use goodqueue::{Nanos, Reason, Span};
use goodqueue_sim::wifi::{DeviceId, DeviceSpec, DriverSpec, Frame, PhyRate, Radio, RateSpec, Role, Sink};

use super::air::{Stream, flood, network, peer, run};

#[derive(Default)]
struct Count {
    delivered: Vec<(DeviceId, u32)>,
    dropped: Vec<(Reason, u32)>,
}

impl Sink for Count {
    fn delivered(&mut self, _: Nanos, to: DeviceId, frame: Frame) {
        self.delivered.push((to, frame.handle));
    }
    fn dropped(&mut self, _: Nanos, _: DeviceId, frame: Frame, reason: Reason) {
        self.dropped.push((reason, frame.handle));
    }
}

fn fifos() -> DriverSpec {
    DriverSpec::ath9k_fifos("pfifo:1000".parse().expect("a queue"))
}

const SECOND: u64 = 1_000_000_000;

/// A packet to each station arrives at each. When all stations want the air at once none gets it, and that
/// ends too.
#[test]
fn ten_thousand_stations() {
    const STATIONS: u16 = 10_000;
    let spec = network(DriverSpec::ath9k(), &vec!["mcs7"; STATIONS.into()]);
    let mut radio = Radio::new(&spec, 1, 0).expect("a radio");
    let mut count = Count::default();
    // Hashes that share 4096 flows among 10000 queues.
    let frame =
        |handle: u32, to| Frame { handle, len: 1514, flow_hash: handle << 18, to, ..Frame::default() };
    let offer_down = |radio: &mut Radio, now, count: &mut Count| {
        (1..=STATIONS).for_each(|to| radio.offer(now, 0, frame(to.into(), to), count));
    };
    offer_down(&mut radio, Nanos::ZERO, &mut count);
    // mac80211's limit is 8192 packets; two are in the hardware queue, and one waits in the driver for each
    // station that came up while that was full.
    assert!(radio.is_conserved(Nanos::ZERO));
    radio.advance(Nanos(5 * SECOND), &mut count);
    assert!(radio.is_conserved(Nanos(5 * SECOND)));
    assert_eq!(radio.held(), 0);
    count.delivered.sort_unstable();
    assert!(count.delivered.iter().all(|&(to, handle)| u32::from(to) == handle));
    assert_eq!(count.delivered.len() + count.dropped.len(), STATIONS.into());
    assert!(count.delivered.len() >= 8192, "{}", count.delivered.len());
    let now = Nanos(5 * SECOND);
    (1..=STATIONS).for_each(|from| radio.offer(now, from, frame(from.into(), 0), &mut count));
    let later = Nanos(5 * SECOND + SECOND / 2);
    radio.advance(later, &mut count);
    assert!(radio.is_conserved(later), "{:?} {:?}", radio.air_account(later), radio.packet_account());
    assert!(radio.air_account(later).collision_count > 50);
}

/// A station leaves with packets in every place: in queues, in the driver, in the hardware, on the air.
#[test]
fn a_station_leaves_with_packets_queued() {
    let firmware = DriverSpec { lower: DriverSpec::ath10k().lower, ..fifos() };
    for driver in [fifos(), DriverSpec::ath9k(), DriverSpec::ath10k(), firmware] {
        let mut spec = network(driver, &["mcs4", "mcs4"]);
        if let Role::Station { down, .. } = &mut spec.devices[1].role {
            down.errors = goodqueue_sim::wifi::Errors::Share(0.3);
        }
        let mut radio = Radio::new(&spec, 1, 0).expect("a radio");
        let mut count = Count::default();
        let mut now = Nanos::ZERO;
        for handle in 0..2_000_u32 {
            now += Span::from_micros(100);
            radio.advance(now, &mut count);
            let frame = Frame { handle, len: 1514, flow_hash: handle << 31, ..Frame::default() };
            let to = 1 + (handle % 2) as u16;
            radio.offer(now, 0, Frame { to, ..frame }, &mut count);
            radio.offer(now, to, Frame { handle: handle + 10_000, to: 0, ..frame }, &mut count);
            if handle == 1_000 {
                let before = count.dropped.len();
                assert!(radio.remove_station(now, 1, &mut count));
                assert!(count.dropped[before..].iter().all(|&(reason, _)| reason == Reason::Flush));
                assert!(count.dropped.len() > before);
            }
            assert!(radio.is_conserved(now), "{:?} {:?}", radio.air_account(now), radio.packet_account());
        }
        assert!(!radio.remove_station(now, 1, &mut count) && !radio.remove_station(now, 0, &mut count));
        radio.advance(now + Span(SECOND), &mut count);
        assert!(radio.is_conserved(now + Span(SECOND)) && radio.held() == 0, "{}", radio.held());
        // What was on the air arrived, and nothing after it: the last packet for station 1 is an old one.
        let last = count.delivered.iter().filter(|&&(to, _)| to == 1).map(|&(_, handle)| handle).max();
        assert!(last < Some(1_001));
        let other = count.delivered.iter().filter(|&&(to, handle)| to == 2 && handle > 1_000).count();
        assert!(other > 400, "the other one goes on: {other}");
    }
}

/// A neighbour without backoff holds the air: nothing is delivered, nothing is lost below the queue, and time
/// adds up.
#[test]
fn a_radio_that_never_gets_the_air() {
    for driver in [fifos(), DriverSpec::ath9k(), DriverSpec::ath10k()] {
        let mut spec = network(driver, &["mcs15"]);
        let mut greedy = DeviceSpec::access_point(fifos());
        greedy.edca.iter_mut().for_each(|edca| (edca.aifsn, edca.cw_min, edca.cw_max) = (1, 0, 0));
        spec.devices.push(greedy);
        spec.devices.push(DeviceSpec::station(2, peer("mcs15"), fifos()));
        let theirs = Stream { from: 2, ..flood(3) };
        let ours = Stream { gap: Span::from_millis(5), ..flood(1) };
        let run = run(&spec, &[theirs, ours], 3);
        assert!(run.mbps(0..1) > 100.0);
        assert_eq!(run.path(0, 1).frames, 0);
        assert_eq!(run.got[1].lost, 0);
    }
}

#[test]
fn invalid_weights_and_rates_are_refused() {
    for (weight, is_fine) in [(0, false), (1, true), (u16::MAX, true)] {
        let mut spec = network(DriverSpec::ath9k(), &["mcs7", "mcs7"]);
        if let Role::Station { weight: own, .. } = &mut spec.devices[2].role {
            *own = weight;
        }
        let radio = Radio::new(&spec, 1, 0);
        assert_eq!(radio.is_ok(), is_fine);
        if let Err(error) = radio {
            assert_eq!((error.device, error.why.contains("1 to 65535, not 0")), (2, true), "{error}");
        }
    }
    for rate in ["mcs99", "ofdm0", "dsss0", "vht80-2ss-mcs12", "", "0"] {
        assert!(rate.parse::<PhyRate>().is_err(), "{rate}");
    }
    let mut spec = network(DriverSpec::ath9k(), &["mcs7"]);
    if let Role::Station { down, .. } = &mut spec.devices[1].role {
        down.rate = RateSpec::Minstrel(Vec::new());
    }
    assert!(Radio::new(&spec, 1, 0).is_err());
}

/// Weights as far apart as possible: the light station is not locked out.
#[test]
fn the_least_and_the_greatest_weight() {
    let mut spec = network(DriverSpec::ath9k(), &["mcs7", "mcs7"]);
    for (device, own) in [(1, 1), (2, u16::MAX)] {
        if let Role::Station { weight, .. } = &mut spec.devices[device].role {
            *weight = own;
        }
    }
    let run = run(&spec, &[flood(1), flood(2)], 30);
    let [light, heavy] = [1, 2].map(|to| run.path(0, to).airtime.0);
    assert!(light > 0 && heavy > 1000 * light, "{light} {heavy}");
}

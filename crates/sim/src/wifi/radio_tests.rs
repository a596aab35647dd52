//! Saturated stations, and what must add up.

use super::*;
use crate::wifi::model::{Constants, Sharing, Station, airtime};
use crate::wifi::{AirEvent, AirKind, DriverSpec, Errors, PhyRate, Protection, RateSpec};

/// Keeps every station's queue full, and counts.
#[derive(Default)]
struct Counter {
    delivered: Vec<(Nanos, DeviceId, Frame)>,
    dropped: Vec<(Frame, Reason)>,
    /// By device: what it was offered (counted by the test), and what it dropped before it was sent.
    offered: [u64; 16],
    dropped_by: [u64; 16],
    air: Vec<AirEvent>,
}

impl Counter {
    /// Whether every packet offered to a device was sent, was dropped, or is held.
    fn is_balanced(&self, radio: &Radio) -> bool {
        let devices = (0..).zip(self.offered.iter().zip(&self.dropped_by));
        devices.take(radio.devices.len()).all(|(device, (offered, dropped))| {
            *offered == radio.sent_of(device) + radio.held_of(device) + dropped
        })
    }
}

impl Sink for Counter {
    fn delivered(&mut self, now: Nanos, to: DeviceId, frame: Frame) {
        self.delivered.push((now, to, frame));
    }
    fn dropped(&mut self, _: Nanos, at: DeviceId, frame: Frame, reason: Reason) {
        self.dropped_by[usize::from(at)] += u64::from(reason != Reason::Loss);
        self.dropped.push((frame, reason));
    }
    fn cut(&mut self, frame: &Frame, cut: &mut VecDeque<Frame>) {
        let segments = frame.len.div_ceil(1514);
        if segments > 1 {
            self.offered[0] += u64::from(segments) - 1;
            cut.extend((0..segments).map(|at| Frame {
                handle: frame.handle * 100 + at,
                len: 1514,
                ..*frame
            }));
        }
    }
    fn air(&mut self, event: &AirEvent) {
        self.air.push(*event);
    }
}

fn fifos() -> DriverSpec {
    DriverSpec::ath9k_fifos("pfifo:1000".parse().expect("a queue"))
}

fn peer(rate: &str) -> PeerSpec {
    PeerSpec::new(RateSpec::Fixed(rate.parse().expect("a rate")))
}

/// An access point and a station at each of `rates`.
fn network(rates: &[&str]) -> RadioSpec {
    let station = |rate: &&str| DeviceSpec::station(0, peer(rate), fifos());
    let devices =
        std::iter::once(DeviceSpec::access_point(fifos())).chain(rates.iter().map(station)).collect();
    RadioSpec { devices, ..RadioSpec::default() }
}

const SECOND: u64 = 1_000_000_000;

/// Runs for `seconds` with a packet of `len` from each of `flows` every `gap`.
fn flood(
    spec: &RadioSpec,
    flows: &[(DeviceId, DeviceId)],
    len: u32,
    gap: Span,
    seconds: u64,
) -> (Radio, Counter) {
    let mut radio = Radio::new(spec, 1, 0).expect("a radio");
    let mut counter = Counter::default();
    let mut handle = 0;
    let mut now = Nanos::ZERO;
    while now < Nanos(seconds * SECOND) {
        radio.advance(now, &mut counter);
        for &(from, to) in flows {
            handle += 1;
            let frame = Frame { handle, len, flow_hash: to.into(), to, ..Frame::default() };
            radio.offer(now, from, frame, &mut counter);
            counter.offered[usize::from(from)] += 1;
        }
        now += gap;
    }
    radio.advance(now, &mut counter);
    assert!(radio.is_conserved(now), "{:?} {:?}", radio.air_account(now), radio.packet_account());
    assert!(counter.is_balanced(&radio), "{:?} {:?}", counter.offered, counter.dropped_by);
    (radio, counter)
}

/// R0 of the analytic model for aggregates as long as ours, with the block ack as it is sent, at a basic
/// rate.
fn alone(rate: &str, packets: f64) -> f64 {
    let rate: PhyRate = rate.parse().expect("a rate");
    let with = Constants {
        difs: 43.0,
        phy: rate.preamble().0 as f64 / 1000.0,
        block_ack: 0.0,
        sifs: 16.0 + rate.control().ppdu(32).0 as f64 / 1000.0 - rate.preamble().0 as f64 / 1000.0,
        ..Constants::GHZ5
    };
    let station =
        Station { rate: rate.bps() as f64 / 1e6, aggregate: packets * 1500.0, packet: 1500.0, weight: 1.0 };
    airtime(&[station], &with, Sharing::Weighted)[0].alone
}

#[test]
fn a_saturated_station_has_the_rate_of_the_model() {
    // 4096 us less preamble hold 36643, 21976 and 3654 bytes at MCS 7, 4 and 0; subframes have 1544.
    for (rate, packets) in
        [("mcs15", 32.0), ("mcs7", 23.0), ("mcs4", 14.0), ("mcs0", 2.0), ("ht40-mcs15-sgi", 32.0)]
    {
        let (radio, _) = flood(&network(&[rate]), &[(0, 1)], 1514, Span::from_micros(30), 3);
        let account = radio.path_account(0, 1).expect("associated");
        let mean = account.mpdus as f64 / account.ppdus as f64;
        assert!((mean / packets - 1.0).abs() < 0.02, "{rate}: {mean} packets");
        let mbps = account.frames as f64 * 1500.0 * 8.0 / 3e6;
        let model = alone(rate, packets);
        assert!((mbps / model - 1.0).abs() < 0.02, "{rate}: {mbps} {model}");
    }
}

/// One TID after the other: each transmission of the slow station is some nine times as long as two
/// of the fast one.
#[test]
fn a_slow_station_takes_the_air_of_a_fast_one() {
    let (radio, _) = flood(&network(&["mcs15", "mcs0"]), &[(0, 1), (0, 2)], 1514, Span::from_micros(100), 5);
    let [fast, slow] = [1, 2].map(|to| radio.path_account(0, to).expect("associated"));
    let share = slow.airtime.0 as f64 / (slow.airtime.0 + fast.airtime.0) as f64;
    assert!(share > 0.75, "{share}");
    let ratio = fast.frames as f64 / slow.frames as f64;
    assert!((0.9..1.3).contains(&ratio), "a shared FIFO gives both as many packets: {ratio}");
}

/// A single frame of a peer without block ack finds room where an aggregate finds none. A station that waits
/// for its turn at a full hardware queue keeps such a peer waiting behind it. A station that loses its turn
/// lets the peer take one with every packet that arrives.
#[test]
fn turns_lost_at_a_full_hardware_queue_favour_single_frames() {
    let in_turn = WifiParams { aql: false, airtime_fairness: false, ..WifiParams::default() };
    let share = |keeps_turn: bool| {
        let mut rates = ["mcs15"; 11];
        rates[0] = "dsss1";
        let mut spec = network(&rates);
        let upper = Upper::Mac80211(in_turn);
        spec.devices[0].driver = DriverSpec { upper, lower: Lower::Txq, keeps_turn, ..fifos() };
        let flows: Vec<(DeviceId, DeviceId)> = (1..=11).map(|to| (0, to)).collect();
        let (radio, _) = flood(&spec, &flows, 1514, Span::from_millis(1), 5);
        let airtime = |to| radio.path_account(0, to).expect("associated").airtime.0;
        airtime(1) as f64 / (1..=11).map(airtime).sum::<u64>() as f64
    };
    let [lost, kept] = [false, true].map(share);
    assert!(lost > kept + 0.1, "{lost} {kept}");
}

/// ath9k counts each frame that it hears with its own preamble, so aggregates count for more time than they
/// took.
#[test]
fn each_received_frame_counts_with_its_own_preamble() {
    let mut spec = network(&["mcs15"]);
    spec.devices[0].driver = DriverSpec::ath9k();
    let (radio, _) = flood(&spec, &[(1, 0)], 1514, Span::from_micros(100), 2);
    let account = radio.path_account(1, 0).expect("associated");
    let counted = radio.airtime_stats(0, 1, Ac::Be).expect("a station").rx_airtime;
    let rate: PhyRate = "mcs15".parse().expect("a rate");
    assert_eq!(counted, account.frames * (rate.ppdu(1538).0 / 1000));
    assert!(counted * 1000 > account.airtime.0, "{counted} us of {:?}", account.airtime);
}

#[test]
fn uplink_stations_collide_and_share_evenly() {
    let flows: Vec<(DeviceId, DeviceId)> = (1..=10).map(|station| (station, 0)).collect();
    let mut spec = network(&["mcs7"; 10]);
    spec.devices.iter_mut().for_each(|device| device.driver.max_frames = 1);
    let (radio, counter) = flood(&spec, &flows, 1514, Span::from_millis(2), 20);
    let frames: Vec<u64> =
        flows.iter().map(|&(from, to)| radio.path_account(from, to).expect("a path").frames).collect();
    let mean = frames.iter().sum::<u64>() / 10;
    assert!(frames.iter().all(|&n| n.abs_diff(mean) < mean / 10), "{frames:?}");
    let answered: u64 =
        flows.iter().map(|&(from, to)| radio.path_account(from, to).expect("a path").ppdus).sum();
    let lost: u64 =
        flows.iter().map(|&(from, to)| radio.path_account(from, to).expect("a path").unanswered).sum();
    // Bianchi, W = 16, m = 6, ten stations: 0.37.
    let probability = lost as f64 / (lost + answered) as f64;
    assert!((0.33..0.40).contains(&probability), "{probability}");
    assert!(!counter.delivered.is_empty());
}

/// Two stations flood the access point at `rate`: the accounts of both. `signals`: of each, dB above the
/// noise; `frames`: MPDUs in a PPDU.
fn near_and_far(signals: [f64; 2], rate: &str, frames: [u16; 2], capture: bool) -> [PathAccount; 2] {
    let mut spec = network(&[rate, rate]);
    spec.capture = capture;
    for (device, (snr, frames)) in spec.devices[1..].iter_mut().zip(signals.into_iter().zip(frames)) {
        device.driver.max_frames = frames;
        if let Role::Station { up, .. } = &mut device.role {
            up.errors = Errors::Snr(snr);
        }
    }
    let (radio, _) = flood(&spec, &[(1, 0), (2, 0)], 1514, Span::from_micros(100), 20);
    [1, 2].map(|station| radio.path_account(station, 0).expect("associated"))
}

/// 6.5 Mbit/s needs 4 dB, and the nearer station has 20 dB more than the other: it loses nothing.
#[test]
fn the_stronger_of_two_is_heard() {
    let unanswered = |accounts: [PathAccount; 2]| accounts.map(|account| account.unanswered);
    let [near, far] = unanswered(near_and_far([40.0, 20.0], "mcs0", [1, 1], true));
    assert_eq!(near, 0);
    assert!(far > 100, "{far}");
    let [near, far] = unanswered(near_and_far([40.0, 20.0], "mcs0", [1, 1], false));
    assert_eq!(near, far, "each collision loses both");
}

/// No station is 4 dB stronger than an equally strong one.
#[test]
fn of_equals_none_is_heard() {
    let equals = |capture| near_and_far([40.0, 40.0], "mcs0", [1, 1], capture);
    assert_eq!(equals(true), equals(false));
}

/// 10 dB are enough for the header and not for MCS 7, so MPDUs are lost while the other station transmits. Of
/// a PPDU that is as short as the other's nothing is left; of a longer one the rest is received.
#[test]
fn a_collision_with_a_short_frame_damages_the_beginning_of_a_long_one() {
    let long = |frames| near_and_far([40.0, 30.0], "mcs7", [frames, 1], true)[0];
    let (alone, aggregates) = (long(1), long(32));
    assert!(alone.unanswered > 100, "{alone:?}");
    // A PPDU of one MPDU can still be lost whole.
    assert!(aggregates.unanswered * 100 < alone.unanswered && aggregates.errors > 100, "{aggregates:?}");
    // About one MPDU and a half is on the air alongside the other's one.
    assert!(aggregates.errors * 10 < aggregates.mpdus, "{aggregates:?}");
}

/// Eight saturated stations at MCS 15, aggregates of 2.8 ms: the time of collisions, and that of RTS and CTS
/// with their spaces.
fn collisions_with(protection: Protection) -> [Span; 2] {
    let mut spec = network(&["mcs15"; 8]);
    spec.devices.iter_mut().for_each(|device| device.protection = protection);
    let flows: Vec<_> = (1..=8).map(|station| (station, 0)).collect();
    let (_, counter) = flood(&spec, &flows, 1514, Span::from_micros(500), 20);
    let time = |kind| {
        let events = counter.air.iter().filter(|event| event.kind == kind);
        events.fold(Span::ZERO, |sum, event| sum + event.end.since(event.start))
    };
    [time(AirKind::Collision), time(AirKind::Rts)]
}

/// The first two tries of a PPDU collide as without protection; from the third on a collision costs only an
/// RTS. A CTS-to-self does not shorten a collision.
#[test]
fn protection_of_retries_shortens_collisions_but_cts_to_self_does_not() {
    let [plain, none] = collisions_with(Protection::Fallbacks);
    let [retries, some] = collisions_with(Protection::Retries);
    let [cts, all] = collisions_with(Protection::CtsToSelf);
    assert_eq!(none, Span::ZERO);
    assert!(
        some > Span::ZERO && retries < plain && cts.0 * 10 > plain.0 * 9,
        "{plain:?} {retries:?} {cts:?}"
    );
    // 44 us of CTS and 16 us before each PPDU of 2.6 to 3.7 ms.
    let share = all.0 as f64 / (20 * SECOND) as f64;
    assert!((0.01..0.03).contains(&share), "{share}");
}

/// A device that transmits hears nothing. If an access point and a station transmit at once, the access
/// point's frame to another station is heard if that station hears it well enough.
#[test]
fn who_transmits_hears_nothing() {
    let mut spec = network(&["mcs0", "mcs0"]);
    spec.capture = true;
    spec.devices.iter_mut().for_each(|device| device.driver.max_frames = 1);
    for (device, snr) in spec.devices[1..].iter_mut().zip([40.0, 20.0]) {
        if let Role::Station { up, down, .. } = &mut device.role {
            (up.errors, down.errors) = (Errors::Snr(snr), Errors::Snr(snr));
        }
    }
    let (radio, _) = flood(&spec, &[(0, 1), (2, 0)], 1514, Span::from_micros(200), 20);
    let unanswered = |from, to| radio.path_account(from, to).expect("associated").unanswered;
    assert_eq!(unanswered(0, 1), 0);
    assert!(unanswered(2, 0) > 100);
}

#[test]
fn errors_are_retried_and_passed_on_in_order() {
    let mut spec = network(&["mcs7"]);
    if let Role::Station { down, .. } = &mut spec.devices[1].role {
        down.errors = Errors::Share(0.3);
    }
    let (radio, counter) = flood(&spec, &[(0, 1)], 1514, Span::from_micros(100), 5);
    let account = radio.path_account(0, 1).expect("associated");
    let share = account.errors as f64 / account.mpdus as f64;
    assert!((0.28..0.32).contains(&share), "{share}");
    assert!(counter.dropped.iter().all(|(_, reason)| *reason == Reason::Limit), "nothing fails 30 times");
    assert!(counter.delivered.is_sorted_by_key(|(_, _, frame)| frame.handle));
}

/// An MPDU that always fails is sent 31 × 10 times when nothing else is received with it.
#[test]
fn a_receiver_that_gets_nothing_does_not_stop_its_sender() {
    for rate in ["mcs0", "ofdm6"] {
        let mut spec = network(&[rate]);
        if let Role::Station { down, .. } = &mut spec.devices[1].role {
            down.errors = Errors::Share(1.0);
        }
        let (radio, counter) = flood(&spec, &[(0, 1)], 1514, Span::from_millis(100), 60);
        assert_eq!(radio.packet_account().delivered, 0);
        assert!(counter.dropped.iter().any(|(_, reason)| *reason == Reason::Loss), "{rate}");
    }
}

#[test]
fn rts_costs_its_time_and_short_frames_have_none() {
    let mut spec = network(&["mcs15"]);
    let rate = |spec: &RadioSpec| {
        let (radio, _) = flood(spec, &[(0, 1)], 1514, Span::from_micros(30), 1);
        radio.path_account(0, 1).expect("associated")
    };
    let without = rate(&spec);
    spec.devices[0].rts_threshold = Some(2000);
    let with = rate(&spec);
    // RTS 28 + SIFS 16 + CTS 28 + SIFS 16 us at 24 Mbit/s.
    let each = |account: PathAccount| account.airtime.0 / account.ppdus;
    assert!(
        (each(with) as i64 - each(without) as i64 - 88_000).abs() < 500,
        "{} {}",
        each(with),
        each(without)
    );
}

#[test]
fn invalid_radios_are_refused_and_unknown_stations_get_nothing() {
    let mut spec = network(&["mcs0"]);
    spec.devices[1].driver.max_frames = 0;
    assert_eq!(Radio::new(&spec, 1, 0).map(|_| ()).expect_err("no MPDUs").device, 1);
    let mut counter = Counter::default();
    let mut radio = Radio::new(&network(&["mcs0", "mcs0"]), 1, 0).expect("a radio");
    for (from, to) in [(1, 2), (0, 0), (0, 9), (1, 1)] {
        radio.offer(Nanos::ZERO, from, Frame { to, ..Frame::default() }, &mut counter);
    }
    assert_eq!(counter.dropped.len(), 4);
    assert!(radio.is_conserved(Nanos::ZERO));
}

/// Airtime by weight: a station of weight 512 has twice the air of one of 256, at any rates.
#[test]
fn weights_share_the_air() {
    let mut spec = network(&["mcs15", "mcs0", "mcs4"]);
    spec.devices[0].driver = DriverSpec::ath9k();
    if let Role::Station { weight, .. } = &mut spec.devices[2].role {
        *weight = 512;
    }
    let (radio, _) = flood(&spec, &[(0, 1), (0, 2), (0, 3)], 1514, Span::from_micros(100), 10);
    let air = [1, 2, 3].map(|to| radio.path_account(0, to).expect("associated").airtime.0 as f64);
    let shares = air.map(|used| used / air.iter().sum::<f64>());
    for (share, due) in shares.iter().zip([0.25, 0.5, 0.25]) {
        assert!((share - due).abs() < 0.02, "{shares:?}");
    }
}

/// Two networks on one channel: their access points win equally often, however many stations each has.
#[test]
fn two_networks_share_a_channel() {
    let mut spec = network(&["mcs7", "mcs7", "mcs7"]);
    spec.devices.push(DeviceSpec::access_point(fifos()));
    spec.devices.push(DeviceSpec::station(4, peer("mcs7"), fifos()));
    let flows = [(0, 1), (0, 2), (0, 3), (4, 5)];
    let (radio, _) = flood(&spec, &flows, 1514, Span::from_micros(200), 10);
    let wins = |from, to| {
        let account = radio.path_account(from, to).expect("associated");
        (account.ppdus + account.unanswered) as f64
    };
    let first: f64 = (1..=3).map(|to| wins(0, to)).sum();
    assert!((first / wins(4, 5) - 1.0).abs() < 0.05, "{first} {}", wins(4, 5));
    assert!(radio.path_account(0, 5).is_none(), "a station has one access point");
}

/// Voice waits for a transmission of best effort that is under way, seldom for another whose backoff was
/// shorter.
#[test]
fn voice_goes_before_best_effort() {
    let mut radio = Radio::new(&network(&["mcs4"]), 1, 0).expect("a radio");
    let mut counter = Counter::default();
    for step in 0..20_000 {
        let now = Nanos(step * 100_000);
        radio.advance(now, &mut counter);
        radio.offer(now, 0, Frame { len: 1514, to: 1, ..Frame::default() }, &mut counter);
        if step % 200 == 0 {
            let voice = Frame { handle: step as u32, len: 214, to: 1, tid: 6, ..Frame::default() };
            radio.offer(now, 0, voice, &mut counter);
        }
    }
    let delays: Vec<u64> = (counter.delivered.iter())
        .filter(|(_, _, frame)| frame.tid == 6)
        .map(|(at, _, frame)| at.0 / 1000 - u64::from(frame.handle) * 100)
        .collect();
    // A PPDU of best effort takes 4.1 ms with its answer.
    let at_once = delays.iter().filter(|&&micros| micros < 4_300).count();
    assert!(delays.len() >= 99 && at_once * 10 > delays.len() * 9, "{delays:?}");
    assert!(delays.iter().all(|&micros| micros < 8_600), "{delays:?}");
}

/// Random networks: 2.4 and 5 GHz, errors, RTS, every driver, all TIDs, legacy and new rates, up and down.
fn any_network(choices: &[u8]) -> RadioSpec {
    let drivers = [
        fifos(),
        DriverSpec::ath9k_fifos("fq_codel,limit=300".parse().expect("a queue")),
        DriverSpec::ath9k(),
        DriverSpec::ath10k(),
        DriverSpec { htt: HttSpec { completions: 20, station: Some(3) }, ..DriverSpec::ath10k() },
    ];
    let protections = [Protection::Fallbacks, Protection::Retries, Protection::CtsToSelf];
    let rates = ["mcs0", "mcs15", "ofdm6", "vht80-2ss-mcs9-sgi", "he80-2ss-mcs11", "dsss1", "ht40-mcs7-lgi"];
    let mut spec = network(&[]);
    spec.capture = choices[0] >= 128;
    spec.band = if choices[0].is_multiple_of(2) { Band::Ghz5 } else { Band::Ghz2_4 };
    spec.devices[0].driver = drivers[usize::from(choices[0] / 2 % 5)].clone();
    for choice in &choices[1..] {
        let mut peer = peer(rates[usize::from(choice % 7)]);
        let errors = if spec.capture {
            [Errors::Snr(25.0), Errors::Share(0.1), Errors::Snr(35.0)]
        } else {
            [Errors::None, Errors::Share(0.1), Errors::Share(0.7)]
        };
        peer.errors = errors[usize::from(choice / 7 % 3)];
        let mut device = DeviceSpec::station(0, peer, drivers[usize::from(choice / 21 % 5)].clone());
        device.rts_threshold = (choice / 84 == 1).then_some(500);
        device.protection = protections[usize::from(choice % 3)];
        spec.devices.push(device);
    }
    spec
}

/// One of 4096 flows for each pair and TID, since in mac80211's queues flows that collide can be reordered.
fn hash(from: DeviceId, to: DeviceId, tid: u8) -> u32 {
    (u32::from(from) << 6 | u32::from(to) << 3 | u32::from(tid)) << 20
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(48))]

    /// Time and packets add up at any moment, and what is delivered of a flow and TID is in order.
    #[test]
    fn the_parts_of_the_time_always_add_up(
        choices in proptest::collection::vec(proptest::num::u8::ANY, 2..6),
        packets in proptest::collection::vec((0_u64..400_000, 0_u8..8, 0_u8..16, 60_u32..1514), 1..600),
    ) {
        let spec = any_network(&choices);
        let stations = choices.len() as u16 - 1;
        let mut radio = Radio::new(&spec, 1, 0).expect("a radio");
        let mut counter = Counter::default();
        let mut now = Nanos::ZERO;
        for (handle, (gap, tid, ends, len)) in (0..).zip(packets) {
            now += Span(gap);
            radio.advance(now, &mut counter);
            let station = 1 + u16::from(ends / 2) % stations;
            let (from, to) = if ends.is_multiple_of(2) { (0, station) } else { (station, 0) };
            let frame = Frame { handle, len, to, tid, flow_hash: hash(from, to, tid), ..Frame::default() };
            radio.offer(now, from, frame, &mut counter);
            counter.offered[usize::from(from)] += 1;
            proptest::prop_assert!(radio.is_conserved(now), "{:?} {:?}", radio.air_account(now), radio.packet_account());
            proptest::prop_assert!(counter.is_balanced(&radio), "{:?} {:?}", counter.offered, counter.dropped_by);
        }
        for _ in 0..1000 {
            now += Span::from_millis(50);
            radio.advance(now, &mut counter);
            proptest::prop_assert!(radio.is_conserved(now));
            proptest::prop_assert!(counter.is_balanced(&radio), "{:?} {:?}", counter.offered, counter.dropped_by);
        }
        proptest::prop_assert_eq!(radio.held(), 0, "all comes out in the end");
        let mut last = std::collections::BTreeMap::new();
        for (_, to, frame) in &counter.delivered {
            let before = last.insert((*to, frame.flow_hash), frame.handle);
            proptest::prop_assert!(before.is_none_or(|before| before < frame.handle));
        }
    }
}

/// Packets in the firmware after each of 300 PPDUs of a station at 6 Mbit/s, for which 400 packets wait.
fn in_firmware(driver: DriverSpec) -> Vec<u32> {
    let mut radio = slow(driver);
    let mut counter = Counter::default();
    (0..400).for_each(|handle| radio.offer(Nanos::ZERO, 0, packet(handle, 0), &mut counter));
    (1..300)
        .map(|step| {
            radio.advance(Nanos(step * 2_500_000), &mut counter);
            radio.backlog(0).1
        })
        .collect()
}

/// A byte limit of a few packets is enough while each completion is reported at once. If fifty are reported
/// together, the firmware would be empty before the host knows of one, so the limit grows beyond fifty.
#[test]
fn batches_of_completions_make_a_byte_limit_grow() {
    let most = |completions| {
        let params = WifiParams { aql: false, ..WifiParams::default() };
        let driver = DriverSpec {
            upper: Upper::Mac80211(params),
            htt: HttSpec { completions, ..HttSpec::PLAIN },
            ideas: Ideas { dql: Some(DqlScope::Hardware), ..Ideas::NONE },
            ..DriverSpec::ath10k()
        };
        in_firmware(driver).into_iter().max().expect("some")
    };
    assert!(most(1) < 10, "{}", most(1));
    assert!((50..150).contains(&most(50)), "{}", most(50));
}

/// A station's own limit holds, and what is above it is sent nevertheless.
#[test]
fn a_station_has_no_more_in_the_firmware_than_its_limit() {
    let stack = || Upper::Mac80211(WifiParams { aql: false, ..WifiParams::default() });
    for upper in [stack(), Upper::TailDrop { total: 512, station: 400 }] {
        for (station, least) in [(Some(8), 8), (None, 200)] {
            let htt = HttSpec { station, ..HttSpec::PLAIN };
            let held = in_firmware(DriverSpec { upper: upper.clone(), htt, ..DriverSpec::ath10k() });
            assert!(held[0] >= least, "{held:?}");
            assert!(station.is_none_or(|most| held.iter().all(|&held| held <= most)), "{held:?}");
            // 2.4 ms for each packet: after 0.75 s about 300 are sent.
            assert!(held[298] > 0, "{held:?}");
        }
    }
}

/// Settings that a driver cannot have are refused.
#[test]
fn limits_of_firmware_are_for_firmware() {
    let refused = |driver| {
        let devices = vec![DeviceSpec::access_point(driver)];
        Radio::new(&RadioSpec { devices, ..RadioSpec::default() }, 1, 0).is_err()
    };
    let batches = HttSpec { completions: 2, ..HttSpec::PLAIN };
    let limit = HttSpec { station: Some(1), ..HttSpec::PLAIN };
    let qdisc = fifos().upper;
    assert!(refused(DriverSpec { htt: batches, ..DriverSpec::ath9k() }));
    assert!(refused(DriverSpec { htt: limit, upper: qdisc.clone(), ..DriverSpec::ath10k() }));
    assert!(refused(DriverSpec { htt: HttSpec { completions: 0, station: None }, ..DriverSpec::ath10k() }));
    assert!(!refused(DriverSpec { htt: batches, upper: qdisc, ..DriverSpec::ath10k() }));
}

/// An access point of this driver and a station at 6 Mbit/s.
fn slow(driver: DriverSpec) -> Radio {
    let devices = vec![DeviceSpec::access_point(driver), DeviceSpec::station(0, peer("ofdm6"), fifos())];
    Radio::new(&RadioSpec { devices, ..RadioSpec::default() }, 1, 0).expect("a radio")
}

fn packet(handle: u32, tid: u8) -> Frame {
    Frame { handle, len: 1514, to: 1, tid, ..Frame::default() }
}

fn without_aql(packets: u32) -> DriverSpec {
    let upper = Upper::Mac80211(WifiParams { aql: false, ..WifiParams::default() });
    DriverSpec { upper, lower: Lower::Firmware { packets }, ..DriverSpec::ath10k() }
}

/// 10 of 30 packets fit. When only 4 are left, 6 more come; this happens three times, and then the last 2
/// come.
#[test]
fn firmware_is_filled_again_when_fewer_than_half_are_in_use() {
    let mut radio = slow(without_aql(10));
    let mut counter = Counter::default();
    (0..30).for_each(|handle| radio.offer(Nanos::ZERO, 0, packet(handle, 0), &mut counter));
    let mut seen = vec![radio.backlog(0).1];
    while let Some(at) = radio.next_event() {
        radio.advance(at, &mut counter);
        let below = radio.backlog(0).1;
        if seen.last() != Some(&below) {
            seen.push(below);
        }
    }
    let expected: Vec<u32> = [10, 9, 8, 7, 6, 5].repeat(4).into_iter().chain((0..=6).rev()).collect();
    assert_eq!(seen, expected);
    assert_eq!(counter.delivered.len(), 30);
}

/// Bulk fills the firmware; a voice packet that came meanwhile is not forgotten when bulk makes room.
#[test]
fn a_category_that_found_firmware_full_is_served_once_there_is_room() {
    let mut radio = slow(without_aql(4));
    let mut counter = Counter::default();
    (0..20).for_each(|handle| radio.offer(Nanos::ZERO, 0, packet(handle, 0), &mut counter));
    radio.offer(Nanos::ZERO, 0, packet(20, 6), &mut counter);
    radio.advance(Nanos(SECOND), &mut counter);
    let place = counter.delivered.iter().position(|(_, _, frame)| frame.handle == 20).expect("delivered");
    assert!(place <= 6, "{place}");
    assert_eq!(counter.delivered.len(), 21);
}

/// 64 packets for a station's TID and 100 for all; the firmware has taken 10.
#[test]
fn fifos_by_station_drop_what_comes_last() {
    let upper = Upper::TailDrop { total: 100, station: 64 };
    let mut radio = slow(DriverSpec { upper, ..without_aql(10) });
    let mut counter = Counter::default();
    for (tid, offered, dropped) in [(0, 80, 6), (6, 50, 20)] {
        (0..offered).for_each(|handle| radio.offer(Nanos::ZERO, 0, packet(handle, tid), &mut counter));
        assert_eq!(counter.dropped.len(), dropped, "{tid}");
    }
    assert!(counter.dropped.iter().all(|(_, reason)| *reason == Reason::Limit));
    let mut left = radio.held();
    radio.advance(Nanos(SECOND / 10), &mut counter);
    left -= counter.delivered.len() as u64;
    assert!(radio.remove_station(Nanos(SECOND / 10), 1, &mut counter));
    radio.advance(Nanos(SECOND), &mut counter);
    // One was on the air.
    assert_eq!(
        counter.dropped.iter().filter(|(_, reason)| *reason == Reason::Flush).count() as u64,
        left - 1
    );
    assert_eq!((counter.delivered.len() + counter.dropped.len(), radio.held()), (130, 0));
    assert!(radio.is_conserved(Nanos(SECOND)));
}

/// Whatever queue is above, packets go into the firmware, and it drops those that it has no room for.
#[test]
fn firmware_that_drops_holds_nothing_back() {
    let qdisc = Upper::Qdisc("pfifo:1000".parse().expect("a queue"));
    let mac80211 = Upper::Mac80211(WifiParams::default());
    for upper in [qdisc, Upper::TailDrop { total: 512, station: 64 }, mac80211] {
        let lower = Lower::LossyFirmware { packets: 10 };
        let mut radio = slow(DriverSpec { upper, lower, ..without_aql(10) });
        let mut counter = Counter::default();
        (0..30).for_each(|handle| radio.offer(Nanos::ZERO, 0, packet(handle, 0), &mut counter));
        assert_eq!((counter.dropped.len(), radio.held()), (20, 10));
        radio.advance(Nanos(SECOND), &mut counter);
        assert_eq!((counter.delivered.len(), counter.dropped.len()), (10, 20));
        assert!(radio.is_conserved(Nanos(SECOND)));
    }
}

/// Without losses, the packets of one flow go on the air in the order in which they were accepted.
#[test]
fn sojourn_ends_with_the_first_bit_of_the_exchange_that_has_the_packet() {
    for (driver, is_lossy) in [(fifos(), false), (DriverSpec::ath9k(), false), (DriverSpec::ath10k(), true)] {
        let mut spec = network(&[]);
        spec.devices[0].driver = driver;
        let mut station = peer("mcs7");
        station.errors = if is_lossy { Errors::Share(0.3) } else { Errors::None };
        spec.devices.push(DeviceSpec::station(0, station, fifos()));
        let mut radio = Radio::new(&spec, 1, 0).expect("a radio");
        radio.measure_sojourn(0, Nanos::ZERO, Nanos(10 * SECOND));
        let mut counter = Counter::default();
        let step = Span::from_micros(180);
        for handle in 0..4_000 {
            let now = Nanos(u64::from(handle) * step.0);
            radio.advance(now, &mut counter);
            radio.offer(now, 0, Frame { handle, len: 1514, to: 1, ..Frame::default() }, &mut counter);
        }
        radio.advance(Nanos(10 * SECOND), &mut counter);
        let waits = radio.sojourn(0).expect("it was asked for");
        if is_lossy {
            // Each packet that was not dropped has one sojourn time, however often it was sent.
            assert_eq!(waits.count(), 4_000 - counter.dropped_by[0]);
            assert!(counter.air.iter().any(|event| event.retried > 0), "nothing was sent again");
            continue;
        }
        let mut sent: Vec<u32> = counter.delivered.iter().map(|(.., frame)| frame.handle).collect();
        sent.sort_unstable();
        let data = counter.air.iter().filter(|event| event.kind == AirKind::Data && event.from == 0);
        let starts: Vec<Nanos> = data.flat_map(|event| (0..event.mpdus).map(|_| event.start)).collect();
        let own: Vec<u64> = sent
            .iter()
            .zip(&starts)
            .map(|(&handle, start)| start.since(Nanos(u64::from(handle) * step.0)).0)
            .collect();
        assert!(own.len() > 1_000 && own.len() == starts.len(), "{} of {}", own.len(), starts.len());
        assert_eq!(waits.count(), own.len() as u64);
        assert_eq!(waits.max(), own.iter().max().map(|&ns| Span(ns)));
        assert_eq!(waits.mean(), Some(Span(own.iter().sum::<u64>() / own.len() as u64)));
    }
}

/// A FIFO in front of mac80211 counts a super-packet as one packet and cuts it when it leaves. A device
/// without a queue discipline gets its segments.
#[test]
fn super_packets_are_cut_behind_the_queue_discipline() {
    let fifo = DriverSpec::ath9k_fifos("pfifo:10".parse().expect("a queue"));
    for (driver, taken) in [(fifo, true), (DriverSpec::ath9k(), false)] {
        let mut spec = network(&["mcs0"]);
        spec.devices[0].driver = driver;
        let mut radio = Radio::new(&spec, 1, 0).expect("a radio");
        let mut counter = Counter::default();
        for handle in 1..60 {
            let whole = Frame { handle, len: 5 * 1514, to: 1, ..Frame::default() };
            counter.offered[0] += 1;
            radio.offer(Nanos::ZERO, 0, whole, &mut counter);
            assert!(radio.is_conserved(Nanos::ZERO) && counter.is_balanced(&radio));
        }
        let (above, below) = radio.backlog(0);
        if taken {
            // Ten super-packets, and what the driver has not taken of the one that left.
            assert!((10..15).contains(&above.packets), "{above:?}");
            assert!(below > 100 && counter.dropped.iter().all(|(frame, _)| frame.len == 5 * 1514));
        } else {
            assert!(counter.dropped.is_empty());
        }
        radio.advance(Nanos(20 * SECOND), &mut counter);
        assert!(radio.is_conserved(Nanos(20 * SECOND)) && counter.is_balanced(&radio));
        let handles: Vec<u32> = counter.delivered.iter().map(|(.., frame)| frame.handle).collect();
        let dropped: u32 = counter.dropped.iter().map(|(frame, _)| frame.len / 1514).sum();
        assert!(handles.is_sorted() && handles.len() + dropped as usize == 5 * 59, "{handles:?}");
    }
}

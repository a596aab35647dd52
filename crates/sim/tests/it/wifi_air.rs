//! On the air: a client that walks away, RTS against collisions, and categories of one device that collide
//! inside it.

use goodqueue::wifi::Ac;
use goodqueue::{Nanos, Reason, Span};
use goodqueue_sim::wifi::{
    DeviceId, DeviceSpec, DriverSpec, EdcaParams, Frame, PathAccount, PeerSpec, Radio, RadioSpec, RateSpec,
    Role, Sink,
};

const MS: u64 = 1_000_000;

/// Notes when packets came, by TID.
#[derive(Default)]
struct Ledger(Vec<(Nanos, u8)>);

impl Sink for Ledger {
    fn delivered(&mut self, now: Nanos, _: DeviceId, frame: Frame) {
        self.0.push((now, frame.tid));
    }
    fn dropped(&mut self, _: Nanos, _: DeviceId, _: Frame, _: Reason) {}
}

fn fifos() -> DriverSpec {
    DriverSpec::ath9k_fifos("pfifo:1000".parse().expect("a queue"))
}

/// An access point and a station at each of `rates`.
fn network(driver: DriverSpec, rates: &[&str]) -> RadioSpec {
    let station = |rate: &&str| {
        let peer = PeerSpec::new(RateSpec::Fixed(rate.parse().expect("a rate")));
        DeviceSpec::station(0, peer, fifos())
    };
    let devices =
        std::iter::once(DeviceSpec::access_point(driver)).chain(rates.iter().map(station)).collect();
    RadioSpec { devices, ..RadioSpec::default() }
}

/// Offers a packet of 1514 bytes of each of these (from, to, TID) every `gap`, up to `to`.
fn flood(
    radio: &mut Radio,
    ledger: &mut Ledger,
    flows: &[(DeviceId, DeviceId, u8)],
    gap: Span,
    (from, to): (Nanos, Nanos),
) {
    let mut now = from;
    while now < to {
        radio.advance(now, ledger);
        for &(sender, to, tid) in flows {
            let hash = u32::from(sender) << 24 | u32::from(to) << 16 | u32::from(tid) << 8;
            let frame = Frame { len: 1514, flow_hash: hash, to, tid, ..Frame::default() };
            radio.offer(now, sender, frame, ledger);
        }
        now += gap;
    }
    radio.advance(to, ledger);
    assert!(radio.is_conserved(to), "{:?} {:?}", radio.air_account(to), radio.packet_account());
}

/// A client goes from MCS 15 to MCS 0 after 5 s: its goodput falls by the factor of its link's rate, 20, or
/// more, since aggregates are shorter. The airtime of each stays at a third, and so does what the others get.
#[test]
fn a_client_that_walks_away_pays_alone() {
    let mut spec = network(DriverSpec::ath9k(), &["mcs15", "mcs15", "mcs15"]);
    let steps = [(0, "mcs15"), (5, "mcs0")];
    let steps = steps.map(|(at, rate)| (Span::from_secs(at), rate.parse().expect("a rate"))).to_vec();
    if let Role::Station { down, .. } = &mut spec.devices[3].role {
        down.rate = RateSpec::Schedule(steps);
    }
    let mut radio = Radio::new(&spec, 1, 0).expect("a radio");
    let mut ledger = Ledger::default();
    let flows = [(0, 1, 0), (0, 2, 0), (0, 3, 0)];
    let mut halves: Vec<[PathAccount; 3]> = vec![Default::default()];
    for half in 0..2 {
        let ends = (Nanos(half * 5_000 * MS), Nanos((half + 1) * 5_000 * MS));
        flood(&mut radio, &mut ledger, &flows, Span::from_micros(240), ends);
        halves.push([1, 2, 3].map(|to| radio.path_account(0, to).expect("associated")));
    }
    let used = |half: usize, of: fn(&PathAccount) -> u64| {
        [0, 1, 2].map(|at| (of(&halves[half + 1][at]) - of(&halves[half][at])) as f64)
    };
    for half in 0..2 {
        let air = used(half, |account| account.airtime.0);
        let all = air.iter().sum::<f64>();
        for share in air.map(|own| own / all) {
            assert!((share - 1.0 / 3.0).abs() < 0.02, "{half}: {air:?}");
        }
    }
    let [near, far] = [0, 1].map(|half| used(half, |account| account.frames));
    assert!(near[2] / far[2] > 18.0, "{near:?} {far:?}");
    for other in 0..2 {
        assert!((far[other] / near[other] - 1.0).abs() < 0.05, "{near:?} {far:?}");
    }
}

/// Five stations send aggregates of 4 ms. Without RTS a collision costs one of those; with RTS, 28 us.
#[test]
fn with_rts_a_collision_of_long_frames_is_short() {
    let run = |rts| {
        let mut spec = network(fifos(), &["mcs7"; 5]);
        spec.devices.iter_mut().for_each(|device| device.rts_threshold = rts);
        let flows: Vec<_> = (1..=5).map(|station| (station, 0, 0)).collect();
        let mut radio = Radio::new(&spec, 1, 0).expect("a radio");
        let end = Nanos(5_000 * MS);
        flood(&mut radio, &mut Ledger::default(), &flows, Span::from_micros(240), (Nanos::ZERO, end));
        let air = radio.air_account(end);
        let frames: u64 = (1..=5).map(|from| radio.path_account(from, 0).expect("a path").frames).sum();
        (air.collisions.0 as f64 / air.collision_count as f64, air.collision_count, frames)
    };
    let (without, with) = (run(None), run(Some(500)));
    assert!(without.1 > 100 && with.1 > 100, "they do collide: {without:?} {with:?}");
    assert!((3.0e6..4.2e6).contains(&without.0), "{without:?}");
    assert!((with.0 - 28_000.0).abs() < 500.0, "{with:?}");
    assert!(with.2 > without.2, "and more comes through: {without:?} {with:?}");
}

/// BE and VI of one device whose backoffs always end together: VI has the air, TXOP by TXOP, as long as it
/// has packets. None of this counts as a collision on the air. When VI has no more packets, BE continues.
#[test]
fn of_two_categories_that_collide_in_a_device_the_higher_one_sends() {
    let mut spec = network(fifos(), &["mcs7"]);
    let at_once = EdcaParams { aifsn: 2, cw_min: 0, cw_max: 0, txop: Span::ZERO };
    spec.devices[0].edca[Ac::Be as usize] = at_once;
    spec.devices[0].edca[Ac::Vi as usize] = EdcaParams { txop: Span::from_micros(3_008), ..at_once };
    // One MPDU per PPDU, so that a TXOP has several.
    spec.devices[0].driver.max_frames = 1;
    let mut radio = Radio::new(&spec, 1, 0).expect("a radio");
    let mut ledger = Ledger::default();
    let half = Nanos(500 * MS);
    // Twice what the air can carry of each.
    flood(&mut radio, &mut ledger, &[(0, 1, 0), (0, 1, 5)], Span::from_micros(120), (Nanos::ZERO, half));
    // The first packet was alone.
    let best_effort = ledger.0.iter().filter(|(_, tid)| *tid == 0).count();
    assert!(best_effort <= 1 && ledger.0.len() > 1_000, "{best_effort} of {}", ledger.0.len());
    assert_eq!(radio.air_account(half).collision_count, 0);
    radio.advance(Nanos(3_000 * MS), &mut ledger);
    let last_video = ledger.0.iter().rposition(|(_, tid)| *tid == 5).expect("video");
    let behind = ledger.0[last_video..].iter().filter(|(_, tid)| *tid == 0).count();
    assert!(behind > 900, "what waited of best effort comes then: {behind}");
    let still = ledger.0.windows(2).map(|two| two[1].0.since(two[0].0)).max();
    assert!(still < Some(Span::from_millis(10)), "the air is never idle: {still:?}");
}

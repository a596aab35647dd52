//! What a kernel says of stations, as attributes and in debugfs, and policies for them: no bytes make the
//! readers panic, and every policy that is read gives weights in range.
#![no_main]

use goodqueue::Nanos;
use goodqueue_experiment::AirtimePolicy;
use goodqueue_router::airtime::{Controller, Deficits, Mac, Rules, StationState, station_of};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(station) = station_of(bytes) {
        let _ = station.backlog_packets();
    }
    let text = String::from_utf8_lossy(bytes);
    let _ = Deficits::of(&text, &text);
    let Ok(policy) = AirtimePolicy::parse(&text, "p.toml") else { return };
    let (groups, interval) = (policy.groups(), policy.interval());
    let place = move |mac: Mac, interface: &str| policy.place(mac.0, interface);
    let mut controller =
        Controller::new(Rules { groups, interval, membership: Box::new(place) }, Nanos::ZERO);
    let station = |number: u8, interface: &'static str| StationState {
        mac: Mac([2, 0, 0, 0, number, 0]),
        index: 3,
        interface,
        has_packets: number != 4,
        weight: Some(256),
    };
    let all = [station(1, "wlan0"), station(2, "wlan0"), station(3, "guest0"), station(4, "guest0")];
    for (second, stations) in [(0, &all[..]), (1, &all[1..]), (2, &all[..])] {
        let weights = controller.update(Nanos(second * 1_000_000_000), stations);
        assert!(weights.iter().all(|weight| weight.weight > 0));
    }
});

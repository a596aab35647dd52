//! Lifetimes of frames, and aggregates as long as the number of stations allows.

use goodqueue::Span;
use goodqueue_sim::wifi::model::{Constants, Sharing, Station, airtime};
use goodqueue_sim::wifi::{DriverSpec, Errors, Ideas, Role};

use super::air::{Got, Stream, flood, network, run, sparse};

/// A stream that needs a tenth of the rate, over a channel that loses seven MPDUs in ten.
fn over_errors(rate: &str, mbps: u64, lifetime: Option<Span>) -> Got {
    let driver = DriverSpec { ideas: Ideas { lifetime, ..Ideas::NONE }, ..DriverSpec::ath9k() };
    let mut spec = network(driver, &[rate]);
    if let Role::Station { down, .. } = &mut spec.devices[1].role {
        down.errors = Errors::Share(0.7);
    }
    let gap = Span(1514 * 8 * 1000 / mbps * 10);
    let mut run = run(&spec, &[Stream { gap, ..flood(1) }], 30);
    let got = run.got.remove(0);
    eprintln!("  {rate}: longest {} us, lost {:.5}, p99 {:.1} ms", got.longest, got.loss(), got.delay(0.99));
    got
}

/// The time of thirty retries depends on the rate; a lifetime does not. A packet that becomes too old is gone
/// after the PPDU on the air and its own, and those behind it have the block ack request after one more:
/// three PPDUs of 4.1 ms, each with at most 63 slots of backoff before it (CWmax of BE at an access point).
/// The price is the loss of packets that would have come later.
#[test]
fn a_lifetime_bounds_what_a_frame_holds_up() {
    let lifetime = Span::from_millis(30);
    for (rate, mbps) in [("mcs0", 7), ("mcs4", 43), ("mcs15", 144)] {
        let [off, on] = [None, Some(lifetime)].map(|lifetime| over_errors(rate, mbps, lifetime));
        assert!(on.longest < 30_000 + 3 * (4_100 + 63 * 9 + 150), "{rate}: {}", on.longest);
        assert!(on.longest < off.longest, "{rate}: {} {}", on.longest, off.longest);
        assert!(on.loss() >= off.loss(), "{rate}");
    }
}

/// A station out of reach: failed transmissions to it delay the others, for a shorter time if they are not
/// tried again.
#[test]
fn a_lifetime_shortens_the_delay_by_a_station_out_of_reach() {
    let [off, on] = [None, Some(Span::from_millis(30))].map(|lifetime| {
        let driver = DriverSpec { ideas: Ideas { lifetime, ..Ideas::NONE }, ..DriverSpec::ath9k() };
        let mut spec = network(driver, &["mcs7", "mcs7"]);
        if let Role::Station { down, .. } = &mut spec.devices[1].role {
            down.errors = Errors::Share(1.0);
        }
        let away = Stream { gap: Span::from_millis(10), ..flood(1) };
        let run = run(&spec, &[away, flood(2), sparse(2)], 20);
        let Got { longest, .. } = run.got[0];
        let [p50, p99] = [0.5, 0.99].map(|share| run.got[2].delay(share));
        let all = run.mbps(1..2);
        eprintln!("  {all:.2} Mbit/s, {p50:.1} {p99:.1} ms; of the one away {longest} us");
        (all, p99, longest)
    });
    assert!(on.0 > 1.5 * off.0, "{on:?} {off:?}");
    assert!(on.1 < 0.25 * off.1 && on.2 < off.2 / 100, "{on:?} {off:?}");
}

/// R0 of `n` packets in an aggregate at 144.4 Mbit/s, with the block ack at 24 Mbit/s and AIFS of BE.
fn alone(n: f64) -> f64 {
    let constants =
        Constants { difs: 43.0, phy: 36.0, block_ack: 0.0, sifs: 16.0 + 32.0 - 36.0, ..Constants::GHZ5 };
    let station = Station { rate: 144.4, aggregate: n * 1500.0, packet: 1500.0, weight: 1.0 };
    airtime(&[station], &constants, Sharing::Weighted)[0].alone
}

/// Ten stations and 10 ms for all of them: 1 ms each, 11 packets of 1544 bytes at 144.4 Mbit/s instead of 32.
/// Delay falls with the aggregates, and throughput falls as the R0 formula says.
#[test]
fn aggregates_shrink_with_the_number_of_stations() {
    let measure = |latency_budget, stations: u16| {
        let driver = DriverSpec { ideas: Ideas { latency_budget, ..Ideas::NONE }, ..DriverSpec::ath9k() };
        let mut streams: Vec<Stream> =
            (1..=stations).map(|to| Stream { gap: Span::from_micros(100), ..flood(to) }).collect();
        streams.push(sparse(1));
        let run = run(&network(driver, &vec!["mcs15"; stations.into()]), &streams, 10);
        let account = run.path(0, 2);
        let mean = account.mpdus as f64 / account.ppdus as f64;
        let all = run.mbps(0..streams.len() - 1) * 1500.0 / 1514.0;
        let median = run.got[streams.len() - 1].delay(0.5);
        eprintln!(
            "  {stations} stations: {mean:.1} packets, {all:.1} Mbit/s (R0 {:.1}), {median:.1} ms",
            alone(mean)
        );
        (mean, all, median)
    };
    let budget = Some(Span::from_millis(10));
    let [off, on] = [None, budget].map(|budget| measure(budget, 10));
    assert!((off.0 - 32.0).abs() < 1.0 && (on.0 - 11.0).abs() < 1.0, "{off:?} {on:?}");
    for run in [off, on] {
        assert!((run.1 / alone(run.0) - 1.0).abs() < 0.03, "{run:?} {}", alone(run.0));
    }
    assert!(on.2 < 0.6 * off.2, "{off:?} {on:?}");
    // Two stations may have 5 ms each, which is more than there is.
    let [off, on] = [None, budget].map(|budget| measure(budget, 2));
    assert!((on.1 / off.1 - 1.0).abs() < 0.001, "{off:?} {on:?}");
}

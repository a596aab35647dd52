//! What the hardware holds: byte limits on firmware, and when the next aggregate is built.

use goodqueue::Span;
use goodqueue::wifi::WifiParams;
use goodqueue_sim::wifi::{ATH10K_MSDU_DESC, DqlScope, DriverSpec, Ideas, Lower, Upper};

use super::air::{Run, Stream, flood, network, run, sparse};

/// ath10k without AQL, with byte limits or without.
fn firmware(dql: Option<DqlScope>) -> DriverSpec {
    let upper = Upper::Mac80211(WifiParams { aql: false, ..WifiParams::default() });
    DriverSpec { upper, ideas: Ideas { dql, ..Ideas::NONE }, ..DriverSpec::ath10k() }
}

/// A flood and a sparse stream to each of two stations.
fn loaded(driver: DriverSpec, rates: &[&str; 2]) -> Run {
    let run = run(&network(driver, rates), &[flood(1), flood(2), sparse(1), sparse(2)], 20);
    let delay = |stream: usize| run.got[stream].delay(0.5);
    eprintln!("  {:.2} {:.2} Mbit/s, {:.1} {:.1} ms", run.mbps(0..1), run.mbps(1..2), delay(2), delay(3));
    run
}

/// Kazior, 2016, at 6 Mbit/s: 2139 ms without a limit whatever is queued above, 11 ms with DQL under
/// `fq_codel`, at the same throughput; DQL under a FIFO only moves the queue. Today's AQL is between the two.
#[test]
fn byte_limits_on_firmware_at_the_lowest_rate() {
    let rates = ["mcs0-lgi"; 2];
    let qdisc = Upper::Qdisc("pfifo:1000".parse().expect("a queue"));
    let limited = |dql| Ideas { dql, ..Ideas::NONE };
    let fifo = DriverSpec { upper: qdisc, ideas: limited(Some(DqlScope::Hardware)), ..DriverSpec::ath10k() };
    let [none, hardware, station, aql, fifo] = [
        firmware(None),
        firmware(Some(DqlScope::Hardware)),
        firmware(Some(DqlScope::Station)),
        DriverSpec::ath10k(),
        fifo,
    ]
    .map(|driver| loaded(driver, &rates));
    let median = |run: &Run| run.got[2].delay(0.5).max(run.got[3].delay(0.5));
    for limited in [&hardware, &station, &aql] {
        assert!(median(&none) > 50.0 * median(limited), "{} {}", median(&none), median(limited));
        assert!((limited.mbps(0..2) / none.mbps(0..2) - 1.0).abs() < 0.05);
    }
    assert!(median(&fifo) > 0.5 * median(&none), "the queue has moved: {}", median(&fifo));
}

/// With a fast and a slow station, a limit for the hardware queue holds bytes of both, and the slow one's
/// share of them lasts longest.
#[test]
fn byte_limits_by_station_and_by_hardware_queue() {
    let rates = ["mcs15", "mcs0"];
    let [hardware, station, aql] =
        [firmware(Some(DqlScope::Hardware)), firmware(Some(DqlScope::Station)), DriverSpec::ath10k()]
            .map(|driver| loaded(driver, &rates));
    assert!(station.mbps(0..1) > hardware.mbps(0..1));
    assert!(aql.got[3].delay(0.5) > 0.0);
}

/// A driver like ath9k that builds an aggregate this long before the one on the air ends.
fn builds(fill_ahead: Option<Span>) -> DriverSpec {
    DriverSpec { ideas: Ideas { fill_ahead, ..Ideas::NONE }, ..DriverSpec::ath9k() }
}

/// One aggregate in the hardware queue is enough, if the next is built in time: the air idles no more than
/// before. If it is built when the one before begins, it is hardly younger. If it is built 200 us before the
/// end, the delay falls by most of an aggregate.
#[test]
fn an_aggregate_built_late_is_young() {
    let measure = |fill_ahead, uploads: u16| {
        let mut streams = vec![flood(1), flood(2), sparse(1)];
        let upload = |from| Stream { from, to: 0, gap: Span::from_micros(300), ..flood(0) };
        streams.extend((3..3 + uploads).map(upload));
        let rates = vec!["mcs4"; usize::from(uploads) + 2];
        let run = run(&network(builds(fill_ahead), &rates), &streams, 20);
        let idle = run.radio.air_account(run.now).idle.0 as f64 / run.now.0 as f64;
        let all = run.mbps(0..streams.len());
        eprintln!("  {:.2} ms, {all:.2} Mbit/s, {idle:.4} idle", run.got[2].delay(0.5));
        (run.got[2].delay(0.5), all, idle)
    };
    for uploads in [0, 5] {
        let [off, at_start, late] = [None, Some(Span::from_millis(100)), Some(Span::from_micros(200))]
            .map(|fill_ahead| measure(fill_ahead, uploads));
        for on in [at_start, late] {
            assert!((on.1 / off.1 - 1.0).abs() < 0.02, "throughput {on:?} {off:?}");
            assert!((on.2 - off.2).abs() < 0.01, "the air idles {on:?} {off:?}");
        }
        assert!(late.0 < off.0 - 2.0, "{late:?} {off:?}");
        assert!(at_start.0 < off.0 + 0.1, "{at_start:?} {off:?}");
    }
}

#[test]
fn ideas_that_do_not_fit_the_driver_are_refused() {
    let dql = Ideas { dql: Some(DqlScope::Station), ..Ideas::NONE };
    let firmware = Lower::Firmware { packets: ATH10K_MSDU_DESC };
    let qdisc = DriverSpec::ath9k_fifos("pfifo:10".parse().expect("a queue"));
    let bad = [
        DriverSpec { ideas: dql, ..DriverSpec::ath9k() },
        DriverSpec { ideas: dql, lower: firmware, ..qdisc.clone() },
        DriverSpec { ideas: Ideas { combine: true, ..Ideas::NONE }, ..DriverSpec::ath10k() },
        DriverSpec { ideas: Ideas { admission: Some(Default::default()), ..Ideas::NONE }, ..qdisc },
        builds(Some(Span::from_millis(101))),
        DriverSpec { ideas: Ideas { lifetime: Some(Span::ZERO), ..Ideas::NONE }, ..DriverSpec::ath9k() },
        DriverSpec {
            ideas: Ideas { latency_budget: Some(Span(u64::MAX)), ..Ideas::NONE },
            ..DriverSpec::ath9k()
        },
    ];
    for driver in bad {
        let error = goodqueue_sim::wifi::Radio::new(&network(driver, &["mcs0"]), 1, 0).expect_err("refused");
        assert_eq!(error.device, 0, "{error}");
    }
}

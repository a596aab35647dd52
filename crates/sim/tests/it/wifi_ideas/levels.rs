//! Levels of service: who is admitted to the high levels, who shares an aggregate, and whose airtime counts.

use goodqueue::Span;
use goodqueue::wifi::{Ac, AdmissionParams, WifiParams};
use goodqueue_sim::wifi::{DriverSpec, Ideas, Upper};

use super::air::{Run, Stream, call, flood, network, run, sparse};

const VO: u8 = 6;

fn ath9k(ideas: Ideas) -> DriverSpec {
    DriverSpec { ideas, ..DriverSpec::ath9k() }
}

/// A flood marked as voice to one station, best effort to another; a call to each.
fn bulk_as_voice(driver: DriverSpec, is_marked: bool) -> Run {
    let marked = Stream { tid: if is_marked { VO } else { 0 }, ..flood(1) };
    let streams = [marked, flood(2), sparse(2), call(1, VO), call(2, VO)];
    let run = run(&network(driver, &["mcs7", "mcs7"]), &streams, 20);
    eprintln!(
        "  {:.1} {:.1} Mbit/s, BE {:.1} ms, MOS {:.2} {:.2}, {:?}",
        run.mbps(0..1),
        run.mbps(1..2),
        run.got[2].delay(0.5),
        run.got[3].mos(),
        run.got[4].mos(),
        run.radio.admission_stats(0)
    );
    run
}

/// Bulk marked as voice takes the air of all stations. With soft admission it does no more harm than
/// unmarked, and real calls keep their quality.
#[test]
fn bulk_that_is_marked_as_voice_is_best_effort() {
    let off = bulk_as_voice(ath9k(Ideas::NONE), true);
    let admission = Some(AdmissionParams::default());
    let on = bulk_as_voice(ath9k(Ideas { admission, ..Ideas::NONE }), true);
    let fair = bulk_as_voice(ath9k(Ideas::NONE), false);
    assert!(off.mbps(1..2) < 0.5 * fair.mbps(1..2), "the marked flood locks out: {}", off.mbps(1..2));
    assert!((on.mbps(1..2) / fair.mbps(1..2) - 1.0).abs() < 0.05, "{} {}", on.mbps(1..2), fair.mbps(1..2));
    let [off_delay, on_delay, fair_delay] = [&off, &on, &fair].map(|run| run.got[2].delay(0.5));
    assert!(
        on_delay < 1.1 * fair_delay && off_delay > 2.0 * fair_delay,
        "{off_delay} {on_delay} {fair_delay}"
    );
    assert!(on.got[3].mos() >= 4.3 && on.got[4].mos() >= 4.3, "{} {}", on.got[3].mos(), on.got[4].mos());
    let stats = on.radio.admission_stats(0).expect("it has admission");
    assert_eq!((stats.demotions, stats.promotions), (1, 0), "the flood, once");
}

/// Thirty stations with a call and a share of bulk each: a PPDU for each packet of voice costs air. If the
/// PPDU is filled up with best effort, a byte costs less air.
#[test]
fn aggregates_over_levels_spare_air() {
    let measure = |combine| {
        let stations = 1..=30_u16;
        let mut streams: Vec<Stream> = stations.clone().map(|to| call(to, VO)).collect();
        streams.extend(stations.map(|to| Stream { gap: Span::from_millis(2), ..flood(to) }));
        let driver = ath9k(Ideas { combine, ..Ideas::NONE });
        let run = run(&network(driver, &["mcs15"; 30]), &streams, 10);
        let paths = (1..=30).map(|to| run.path(0, to));
        let [air, bytes] = paths
            .fold([0.0, 0.0], |[air, bytes], path| [air + path.airtime.0 as f64, bytes + path.bytes as f64]);
        let voice = (0..30).map(|stream| run.got[stream].delay(0.95)).fold(0.0, f64::max);
        let mos = (0..30).map(|stream| run.got[stream].mos()).fold(5.0, f64::min);
        let bulk = run.mbps(30..60);
        eprintln!("  {:.1} ns a byte, {bulk:.1} Mbit/s, voice {voice:.1} ms, MOS {mos:.2}", air / bytes);
        (air / bytes, bulk, mos)
    };
    let [off, on] = [false, true].map(measure);
    assert!(on.0 < 0.97 * off.0, "{on:?} {off:?}");
    assert!(on.1 > off.1, "{on:?} {off:?}");
    assert!(on.2 >= 4.3, "{on:?}");
}

fn one_account(joint_airtime: bool) -> DriverSpec {
    let upper = Upper::Mac80211(WifiParams { joint_airtime, aql: false, ..WifiParams::without_vht() });
    DriverSpec { upper, ..DriverSpec::ath9k() }
}

/// A station in debt with voice, and one in credit with best effort: voice goes first, and what it uses is
/// paid from the station's best effort. So both have half of the air as the driver counts it (PPDUs, without
/// their acks), and voice waits no longer.
#[test]
fn voice_goes_first_and_its_airtime_counts_later() {
    let measure = |joint| {
        let voice = Stream { tid: VO, gap: Span::from_micros(800), ..flood(1) };
        let run = run(&network(one_account(joint), &["mcs7", "mcs7"]), &[flood(1), flood(2), voice], 20);
        let used = |to, ac| run.radio.airtime_stats(0, to, ac).expect("there").tx_airtime as f64;
        let [one, other] = [1, 2].map(|to| used(to, Ac::Vo) + used(to, Ac::Be));
        let share = one / (one + other);
        let on_air = [1, 2].map(|to| run.path(0, to).airtime.0 as f64);
        let with_acks = on_air[0] / (on_air[0] + on_air[1]);
        eprintln!("  share {share:.3} ({with_acks:.3} with acks), voice {:.2} ms", run.got[2].delay(0.95));
        (share, run.got[2].delay(0.95), run.mbps(2..3))
    };
    let [off, on] = [false, true].map(measure);
    assert!(off.0 > 0.58, "voice comes on top: {off:?}");
    assert!((on.0 - 0.5).abs() < 0.01, "{on:?}");
    assert!(on.1 < off.1 * 1.1 && (on.2 / off.2 - 1.0).abs() < 0.01, "{on:?} {off:?}");
}

//! TCP over a Wi-Fi radio: the 802.11 anomaly, and its cures.

use goodqueue::wifi::WifiParams;
use goodqueue::{Nanos, Rate, Span};
use goodqueue_probe::Sample;
use goodqueue_sim::tcp::Config;
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::wifi::model::{Constants, Sharing, Station, airtime};
use goodqueue_sim::wifi::{Band, DeviceSpec, DriverSpec, Errors, PeerSpec, RadioSpec, RateSpec, Role, Upper};
use goodqueue_sim::{
    Flow, Link, Opener, Pattern, PortSpec, Probe, ProbeKind, Radio, Scenario, Simulation, Source,
};

/// Node of the server, of the access point, and of the first station.
const SERVER: usize = 0;
const ACCESS_POINT: usize = 1;
const FIRST: usize = 2;

/// A server, 1 Gbit/s and 1 ms away from an access point, and a station at each of `rates` (HT20, short guard
/// interval, 5 GHz).
fn network(rates: &[&str], driver: &DriverSpec) -> Scenario {
    let mut nodes = vec!["server".to_string(), "access point".to_string()];
    nodes.extend(rates.iter().map(|rate| format!("station {rate}")));
    let wire = |from, to| {
        let port = PortSpec::new("pfifo:10000".parse().expect("a queue"), Rate(1_000_000_000));
        Link::new(from, to, Some(port), Span::from_millis(1))
    };
    let mut links = vec![wire(SERVER, ACCESS_POINT), wire(ACCESS_POINT, SERVER)];
    let mut devices = vec![DeviceSpec::access_point(driver.clone())];
    for (station, rate) in (FIRST..).zip(rates) {
        links.push(Link::new(ACCESS_POINT, station, None, Span::ZERO));
        links.push(Link::new(station, ACCESS_POINT, None, Span::ZERO));
        let peer = PeerSpec::new(RateSpec::Fixed(rate.parse().expect("a rate")));
        devices.push(DeviceSpec::station(
            0,
            peer,
            DriverSpec::ath9k_fifos("pfifo:1000".parse().expect("a queue")),
        ));
    }
    let on_air = (2..links.len()).collect();
    let nodes_on_air = (ACCESS_POINT..nodes.len()).collect();
    let radio =
        Radio { spec: RadioSpec { devices, ..RadioSpec::default() }, nodes: nodes_on_air, links: on_air };
    let tcp = Config { tso: false, ..Config::default() };
    Scenario { nodes, links, radios: vec![radio], tcp, seed: 1, ..Scenario::default() }
}

fn download(to: usize) -> Flow {
    Flow { opener: Opener::Receiver, ..Flow::new(SERVER, to, CcKind::Cubic) }
}

fn ping(to: usize) -> Probe {
    let (kind, start) = (ProbeKind::Ping { spread: 0.2 }, Span::from_secs(5));
    Probe { kind, start, ..Probe::ping(SERVER, to, Span::from_millis(100), Span::from_secs(30)) }
}

/// 100 Mbit/s of packets of 1500 bytes.
fn flood(to: usize) -> Source {
    Source {
        from: SERVER,
        to,
        pattern: Pattern::Constant { interval: Span(121_120) },
        len: 1514,
        dscp: 0,
        start: Span::ZERO,
        stop: None,
    }
}

/// The result for a station.
#[derive(Clone, Copy, Debug)]
struct Got {
    /// Share of the airtime of all stations, down and up together.
    share: f64,
    /// Mbit/s of payload: of TCP, or of IP packets of its source.
    goodput: f64,
    /// Mean MPDUs in an aggregate to it.
    aggregate: f64,
}

/// Runs for `seconds` after the first five. Returns what each station got; the first has flow or source 0.
fn measure(scenario: &Scenario, seconds: u64) -> Vec<Got> {
    let mut simulation = Simulation::new(scenario).expect("a scenario");
    simulation.run_until(Nanos(5_000_000_000));
    let before = read(scenario, &simulation);
    simulation.run_until(Nanos((5 + seconds) * 1_000_000_000));
    let after = read(scenario, &simulation);
    let used: Vec<[u64; 4]> =
        after.iter().zip(&before).map(|(a, b)| std::array::from_fn(|place| a[place] - b[place])).collect();
    let all: u64 = used.iter().map(|used| used[0]).sum();
    let got = |&[airtime, bytes, mpdus, ppdus]: &[u64; 4]| Got {
        share: airtime as f64 / all as f64,
        goodput: bytes as f64 * 8.0 / (seconds as f64 * 1e6),
        aggregate: mpdus as f64 / ppdus as f64,
    };
    used.iter().map(got).collect()
}

/// Airtime, bytes received, MPDUs and PPDUs of each station, since the beginning.
fn read(scenario: &Scenario, simulation: &Simulation) -> Vec<[u64; 4]> {
    let radio = simulation.radio(0);
    assert!(radio.is_conserved(simulation.now()), "airtime and packets add up");
    let station = |station: usize| {
        let device = u16::try_from(station).expect("few");
        let account = |from, to| radio.path_account(from, to).expect("associated");
        let (down, up) = (account(0, device), account(device, 0));
        let bytes = match scenario.sources.is_empty() {
            true => simulation.flow(station - 1).received,
            false => simulation.arrivals(station - 1).received * 1500,
        };
        [down.airtime.0 + up.airtime.0, bytes, down.mpdus, down.ppdus]
    };
    (1..=scenario.nodes.len() - FIRST).map(station).collect()
}

fn total(got: &[Got]) -> f64 {
    got.iter().map(|got| got.goodput).sum()
}

/// Two fast stations and a slow one.
fn three(driver: &DriverSpec) -> Scenario {
    network(&["mcs15", "mcs15", "mcs0"], driver)
}

/// A download to each station: means of four seeds.
fn with_tcp(mut scenario: Scenario) -> Vec<Got> {
    scenario.flows = (FIRST..scenario.nodes.len()).map(download).collect();
    let runs: Vec<Vec<Got>> =
        (1..=4).map(|seed| measure(&Scenario { seed, ..scenario.clone() }, 20)).collect();
    let mean =
        |station: usize, of: fn(&Got) -> f64| runs.iter().map(|run| of(&run[station])).sum::<f64>() / 4.0;
    let got = (0..runs[0].len()).map(|station| Got {
        share: mean(station, |got| got.share),
        goodput: mean(station, |got| got.goodput),
        aggregate: mean(station, |got| got.aggregate),
    });
    got.collect()
}

fn with_udp(mut scenario: Scenario) -> Vec<Got> {
    scenario.sources = (FIRST..scenario.nodes.len()).map(flood).collect();
    measure(&scenario, 10)
}

fn fifos() -> DriverSpec {
    DriverSpec::ath9k_fifos("pfifo:1000".parse().expect("a queue"))
}

/// "Ending the Anomaly": the slow station takes some 80 % of the air (the model says 79), and the total is
/// 18.7 Mbit/s measured, 26.4 by the model.
#[test]
fn through_a_fifo_the_slow_station_takes_the_air() {
    let got = with_udp(three(&fifos()));
    assert!((0.72..0.88).contains(&got[2].share), "{got:?}");
    assert!((16.0..26.4).contains(&total(&got)), "{got:?}");
}

/// Measured before the patch that brought airtime scheduling to ath9k: 19.17, 19.83 and 2.58 Mbit/s.
#[test]
fn tcp_through_a_fifo_has_what_was_measured_before_airtime_scheduling() {
    let got = with_tcp(three(&fifos()));
    for (got, measured) in got.iter().zip([19.17, 19.83, 2.58]) {
        assert!((got.goodput / measured - 1.0).abs() < 0.25, "{got:?} {measured}");
    }
}

#[test]
fn one_fast_station_has_what_the_rate_gives() {
    let mut scenario = network(&["mcs15"], &fifos());
    scenario.flows = vec![download(FIRST)];
    let got = measure(&scenario, 10);
    // Below the model's 126 Mbit/s for UDP, since acknowledgements need accesses too. ns-3 has 113.
    assert!((95.0..122.0).contains(&got[0].goodput), "{got:?}");
}

/// "Ending the Anomaly", table 1: a third of the air for each, what the model gives for such aggregates, 3.0
/// to 4.5 times as much as through the FIFO; the fast stations' aggregates grow fourfold or more, the slow
/// one's do not.
#[test]
fn airtime_fairness_gives_each_a_third_of_the_air() {
    let before = with_udp(three(&fifos()));
    let got = with_udp(three(&DriverSpec::ath9k()));
    assert!(got.iter().all(|got| (got.share - 1.0 / 3.0).abs() < 0.03), "{got:?}");
    let ratio = total(&got) / total(&before);
    assert!((3.0..4.5).contains(&ratio), "{ratio}");
    let model: Vec<Station> = (got.iter().zip([144.4, 144.4, 7.2]))
        .map(|(got, rate)| Station { rate, aggregate: got.aggregate * 1500.0, packet: 1500.0, weight: 1.0 })
        .collect();
    let model: f64 =
        airtime(&model, &Constants::GHZ5, Sharing::Weighted).iter().map(|station| station.rate).sum();
    assert!((total(&got) / model - 1.0).abs() < 0.02, "{} {model}", total(&got));
    let growth = got[0].aggregate / before[0].aggregate;
    assert!(growth > 4.0, "{growth}");
    assert!((got[2].aggregate - before[2].aggregate).abs() < 0.1);
}

/// After the patch: 25.09, 25.21 and 1.77 Mbit/s, 25 % more in all; of the range of 15 to 35 % only the lower
/// end is checked: here, at rates without any loss, it is more.
#[test]
fn tcp_gets_more_with_airtime_scheduling() {
    let before = with_tcp(three(&fifos()));
    let got = with_tcp(three(&DriverSpec::ath9k()));
    assert!(total(&got) > 1.15 * total(&before), "{} {}", total(&got), total(&before));
}

/// AQL keeps the firmware's queue short, so each has a third of the air there too.
#[test]
fn airtime_fairness_holds_with_aggregation_in_firmware() {
    let got = with_udp(three(&DriverSpec::ath10k()));
    assert!(got.iter().all(|got| (got.share - 1.0 / 3.0).abs() < 0.03), "{got:?}");
}

/// Rate control finds what the channel to each carries, 40 dB and 12 dB above the noise, and each has half of
/// the air.
#[test]
fn rate_control_and_airtime_fairness_go_together() {
    let mut scenario = network(&["mcs15", "mcs15"], &DriverSpec::ath9k());
    let ladder = (0..16).map(|mcs| format!("mcs{mcs}").parse().expect("a rate")).collect();
    for (device, snr) in [(1, 40.0), (2, 12.0)] {
        if let Role::Station { down, .. } = &mut scenario.radios[0].spec.devices[device].role {
            down.rate = RateSpec::Minstrel(Vec::clone(&ladder));
            down.errors = Errors::Snr(snr);
        }
    }
    let got = with_udp(scenario);
    assert!(got.iter().all(|got| (got.share - 0.5).abs() < 0.04), "{got:?}");
    // 12 dB carry MCS 10, 43.3 Mbit/s, with one MPDU in six lost, at best.
    assert!((0.5 * 10.0..0.5 * 43.3).contains(&got[1].goodput) && got[0].goodput > 50.0, "{got:?}");
}

/// 30 stations, one at 1 Mbit/s without aggregation: before, it has half of the air or more ("Ending the
/// Anomaly": about two thirds); after, a thirtieth, within two points. The goodput is published as 5.4 and
/// 8.3 times as much; these fixed rates show 4 times and more. With rate control, as published, it is
/// `scenarios/wifi-30.toml`.
#[test]
fn thirty_stations_one_of_them_at_1_mbit() {
    let rates: Vec<&str> = (0..30).map(|station| if station == 0 { "dsss1" } else { "mcs15" }).collect();
    let run = |driver: &DriverSpec| {
        let mut scenario = network(&rates, driver);
        scenario.radios[0].spec.band = Band::Ghz2_4;
        scenario.flows = (FIRST..scenario.nodes.len()).map(download).collect();
        measure(&scenario, 15)
    };
    let before = run(&DriverSpec::ath9k_fifos("fq_codel".parse().expect("a queue")));
    // Its own scheduler does not forget airtime of a station that waits a second for its turn.
    let own = WifiParams { ath9k_scheduler: true, aql: false, ..WifiParams::without_vht() };
    let after = run(&DriverSpec { upper: Upper::Mac80211(own), ..DriverSpec::ath9k() });
    assert!(before[0].share > 0.5, "{:?}", before[0]);
    assert!((after[0].share - 1.0 / 30.0).abs() < 0.02, "{:?}", after[0]);
    let ratio = total(&after) / total(&before);
    assert!(ratio > 4.0, "{ratio}");
}

/// Round-trip times of a ping to each station, median in ms, with a download to each.
fn pings(mut scenario: Scenario) -> Vec<f64> {
    let stations = || FIRST..scenario.nodes.len();
    scenario.flows = stations().map(download).collect();
    scenario.probes = stations().map(ping).collect();
    let mut simulation = Simulation::new(&scenario).expect("a scenario");
    simulation.run_until(Nanos(31_000_000_000));
    simulation.finish_probes();
    let mut rtts = vec![Vec::new(); scenario.probes.len()];
    for sample in simulation.take_samples() {
        if let Sample::Echo { probe, rtt, .. } = sample {
            rtts[probe as usize].push(rtt as f64 / 1e6);
        }
    }
    let median = |mut rtts: Vec<f64>| {
        rtts.sort_by(f64::total_cmp);
        rtts[rtts.len() / 2]
    };
    rtts.into_iter().map(median).collect()
}

/// Hundreds of ms through a FIFO; an order of magnitude less with queues by flow in the stack.
#[test]
fn delay_under_load_falls_by_an_order_of_magnitude() {
    let fifo = pings(three(&fifos()));
    let fq_codel = pings(three(&DriverSpec::ath9k_fifos("fq_codel".parse().expect("a queue"))));
    let airtime = pings(three(&DriverSpec::ath9k()));
    for station in 0..3 {
        assert!(fifo[station] > 100.0, "{fifo:?}");
        assert!(fifo[station] > 8.0 * airtime[station], "{fifo:?} {airtime:?}");
    }
    // No queue discipline sees what waits for the slow station below it.
    assert!(fq_codel[2] > 100.0 && airtime[2] < 40.0, "{fq_codel:?} {airtime:?}");
}

/// Two stations at 6 Mbit/s behind a firmware of 1424 packets (Kazior, 2016: 2 s whatever the queue
/// discipline, 11 ms with a limit of what is in the firmware and queues by flow; AQL: 4 s and more to below
/// 60 ms).
#[test]
fn no_queue_discipline_helps_above_a_deep_firmware_but_aql_does() {
    let slow = |upper: Upper| network(&["ofdm6", "ofdm6"], &DriverSpec { upper, ..DriverSpec::ath10k() });
    let qdisc = |name: &str| Upper::Qdisc(name.parse().expect("a queue"));
    let fifo = pings(slow(qdisc("pfifo:1000")));
    let fq_codel = pings(slow(qdisc("fq_codel")));
    let aql = pings(slow(Upper::Mac80211(WifiParams::default())));
    let without = pings(slow(Upper::Mac80211(WifiParams { aql: false, ..WifiParams::default() })));
    for station in 0..2 {
        assert!(fifo[station] > 1000.0 && fq_codel[station] > 1000.0, "{fifo:?} {fq_codel:?}");
        assert!(without[station] > 1000.0, "{without:?}");
        assert!(aql[station] < 60.0, "{aql:?}");
    }
}

/// mac80211 lets a host's own TCP keep 8 ms of its rate in queue and device, enough for aggregates. Before
/// 2018 it was 1 ms, as behind a wire.
#[test]
fn an_upload_has_aggregates_since_mac80211_asks_for_8_ms() {
    let mpdus_in_a_ppdu = |tx_sk_pacing_shift: Option<u32>| {
        let mut scenario = network(&["mcs15"], &DriverSpec::ath9k());
        for device in &mut scenario.radios[0].spec.devices {
            device.tx_sk_pacing_shift = tx_sk_pacing_shift;
        }
        scenario.flows = vec![Flow::new(FIRST, SERVER, CcKind::Cubic)];
        let mut simulation = Simulation::new(&scenario).expect("a scenario");
        simulation.run_until(Nanos(10_000_000_000));
        let up = simulation.radio(0).path_account(1, 0).expect("associated");
        up.mpdus as f64 / up.ppdus as f64
    };
    let (now, before) = (mpdus_in_a_ppdu(None), mpdus_in_a_ppdu(Some(10)));
    assert!(now > 16.0 && before < 0.8 * now, "{now} {before}");
}

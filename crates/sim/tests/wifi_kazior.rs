//! Kazior, 2016: a byte limit above a deep firmware, with four ways to queue above that. 6 Mbit/s, two stations, four
//! uploads from behind the access point.

use goodqueue::wifi::WifiParams;
use goodqueue::{Nanos, Rate, Span};
use goodqueue_probe::Sample;
use goodqueue_sim::tcp::Config;
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::wifi::{DeviceSpec, DqlScope, DriverSpec, Ideas, PeerSpec, RadioSpec, RateSpec, Upper};
use goodqueue_sim::{Flow, Link, Opener, PortSpec, Probe, ProbeKind, Radio, Scenario, Simulation};

/// Node of the host behind the access point, of the access point, and of the first of two stations.
const HOST: usize = 0;
const ACCESS_POINT: usize = 1;
const STATIONS: [usize; 2] = [2, 3];

/// Round-trip times without load were 2.0 to 2.1 ms.
const WIRE: Span = Span::from_micros(800);

fn network(driver: &DriverSpec, seed: u64) -> Scenario {
    let wire = |from, to| {
        let port = PortSpec::new("pfifo:10000".parse().expect("a queue"), Rate(1_000_000_000));
        Link::new(from, to, Some(port), WIRE)
    };
    let mut links = vec![wire(HOST, ACCESS_POINT), wire(ACCESS_POINT, HOST)];
    let mut devices = vec![DeviceSpec::access_point(driver.clone())];
    for station in STATIONS {
        links.push(Link::new(ACCESS_POINT, station, None, Span::ZERO));
        links.push(Link::new(station, ACCESS_POINT, None, Span::ZERO));
        let peer = PeerSpec::new(RateSpec::Fixed("ofdm6".parse().expect("a rate")));
        devices.push(DeviceSpec::station(0, peer, DriverSpec::stock("pfifo:1000".parse().expect("a queue"))));
    }
    let nodes = ["host", "access point", "station 1", "station 2"].map(String::from).to_vec();
    let radio = Radio {
        spec: RadioSpec { devices, ..RadioSpec::default() },
        nodes: (ACCESS_POINT..nodes.len()).collect(),
        links: (2..links.len()).collect(),
    };
    let tcp = Config { tso: false, ..Config::default() };
    let each = || STATIONS.into_iter().flat_map(|station| [station; 2]);
    let flows = each().map(upload).collect();
    let probes = each().map(ping).collect();
    Scenario { nodes, links, radios: vec![radio], tcp, seed, flows, probes, ..Scenario::default() }
}

fn upload(to: usize) -> Flow {
    Flow {
        from: HOST,
        to,
        cc: CcKind::Cubic,
        dscp: 0,
        opener: Opener::Sender,
        start: Span::from_secs(5),
        stop: Some(Span::from_secs(35)),
        bytes: None,
    }
}

fn ping(to: usize) -> Probe {
    Probe {
        from: HOST,
        to,
        kind: ProbeKind::Ping { spread: 0.2 },
        interval: Span::from_millis(200),
        payload: 56,
        dscp: 0,
        start: Span::ZERO,
        stop: Span::from_secs(40),
    }
}

#[derive(Debug, Clone)]
struct Seen {
    pings: Vec<f64>,
    goodput: f64,
    srtt: f64,
}

impl Seen {
    fn at(&self, share: f64) -> f64 {
        self.pings[((self.pings.len() - 1) as f64 * share) as usize]
    }
}

fn run(driver: &DriverSpec, seed: u64) -> Seen {
    let scenario = network(driver, seed);
    let mut simulation = Simulation::new(&scenario).expect("a scenario");
    let mut srtt = 0.0;
    let mut last = [(0_u64, 0_u64); 4];
    for tick in 1..=60 * 5 {
        simulation.run_until(Nanos(tick * 200_000_000));
        for (flow, last) in last.iter_mut().enumerate() {
            let received = simulation.flow(flow).received;
            if received > last.0 {
                *last = (received, tick);
            }
        }
        if tick == 33 * 5 { srtt = simulation.flow(0).info.srtt_us as f64 / 1e3; }
    }
    simulation.finish_probes();
    let mut pings: Vec<f64> = simulation
        .take_samples()
        .filter_map(|sample| match sample {
            Sample::Echo { sent, rtt, .. } if (10.0e9..33.0e9).contains(&((sent + rtt) as f64)) => Some(rtt as f64 / 1e6),
            _ => None,
        })
        .collect();
    pings.sort_by(f64::total_cmp);
    let goodput = last.iter().map(|&(bytes, tick)| bytes as f64 * 8.0 / ((tick as f64 * 0.2 - 5.0) * 1e6)).sum();
    Seen { pings, goodput, srtt }
}

#[test]
fn experiment() {
    let fq = |target: Span| Upper::Mac80211(WifiParams {
        aql: false, airtime_fairness: false, airtime_tx: false, airtime_rx: false, memory_limit: u32::MAX, target, interval: target.max(Span::from_millis(100)),
        ..WifiParams::default()
    });
    let uppers = [
        ("base", Upper::Qdisc("pfifo:1000".parse().expect("a queue"))),
        ("taildrop", Upper::TailDrop { total: 512, station: 64 }), ("fq", fq(Span::from_secs(2000))),
        ("fqcodel", fq(Span::from_millis(20))),
    ];
    for (dql, name) in [(None, "normal"), (Some(DqlScope::Hardware), "dql")] {
        for (above, upper) in &uppers {
            let ideas = Ideas { dql, ..Ideas::NONE };
            let driver = DriverSpec { upper: upper.clone(), ideas, ..DriverSpec::ath10k() };
            for seed in 1..=5 {
            let seen = run(&driver, seed);
            println!("{name}-{above}: {} pings median {:.0} p95 {:.0} max {:.0} goodput {:.2} srtt {}", seen.pings.len(), seen.at(0.5), seen.at(0.95), seen.at(1.0), seen.goodput, seen.srtt);}
        }
    }
}

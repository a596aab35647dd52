//! The tests of a direction with several threads: each has an instance of `cake_mq`.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use goodqueue::cake::{Diffserv, Member, MqParams};
use goodqueue::spec::{Link, QueueParams};
use goodqueue::{Direction, Line, QueueSpec, Rate, Rng, Serializer};
use goodqueue_wire::{
    Change, Engine, EngineSample, EngineSpec, FlowSpec, Frame, Lab, LabSpec, MOST_QUEUES, PathSpec,
};

use crate::Outcome;
use crate::cases::{lab_or_skip, transfer, valid, valid_or_skip};
use crate::net::{Stops, UDP_HEADERS, flood, lab, udp_pair};

/// `cake_mq` without tins, at `rate`.
fn setup(rate: Rate) -> MqParams {
    MqParams { bandwidth: Some(rate), diffserv: Diffserv::Besteffort, ..MqParams::default() }
}

/// A direction with this many instances of `cake_mq`, without tins, that share `rate`.
fn shared(rate: Rate, instances: u32) -> PathSpec<Member<Frame>> {
    let draws = Rng::stream(1, 0, "queue");
    let link = Link::ethernet(rate);
    let members = Member::build(&setup(rate), instances, link, goodqueue_wire::now(), draws).unwrap();
    let mut members = members.into_iter();
    let first = members.next().unwrap();
    PathSpec { others: members.collect(), ..PathSpec::new(first) }
}

/// Sends this many flows up, with `rate` bit/s together regardless of drops, until `meanwhile` returns;
/// returns its result.
fn floods<T>(lab: &Lab, flows: usize, rate: f64, meanwhile: impl FnOnce() -> T) -> T {
    let pairs: Vec<_> = (0..flows).map(|_| udp_pair(lab, false)).collect();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stops = Stops(&stop);
        for (client, _) in &pairs {
            scope.spawn(|| flood(client, 1472, rate / flows as f64, &stop));
        }
        meanwhile()
    })
}

/// Two threads for upstream traffic: together they send at the rate that they share, within 1 %. Two that do
/// not know of each other would send twice as much. A change reaches both.
pub(crate) fn threads_of_a_direction_share_its_rate() -> Outcome {
    const RATE: Rate = Rate(40_000_000);
    let lab = lab_or_skip!(&LabSpec::default());
    let (report, (error, packets, after)) = valid_or_skip!(|| {
        let spec = EngineSpec::new(shared(RATE, 2), shared(Rate(1_000_000_000), 1));
        let engine = Engine::start(&lab, spec).unwrap();
        // Four flows of 32 fill half of the rate. With a random hash, a thread gets fewer only once in 390
        // 000 times.
        let measured = floods(&lab, 32, 4.0 * RATE.0 as f64, || {
            std::thread::sleep(Duration::from_millis(500));
            let first = engine.sample();
            std::thread::sleep(Duration::from_millis(2000));
            let last = engine.sample();
            let [up, _] = engine.contents();
            engine.change(Direction::Up, Change { loss: Some(1.0), ..Change::default() }).unwrap();
            std::thread::sleep(Duration::from_millis(50));
            let before = engine.sample();
            std::thread::sleep(Duration::from_millis(100));
            let after = engine.sample();
            let sent = |from: &EngineSample, to: &EngineSample| to.up.sent.bytes - from.up.sent.bytes;
            let rate = sent(&first, &last) as f64 * 8.0 / last.at.since(first.at).as_secs_f64();
            let packets: Vec<u64> = up.tins.iter().map(|tin| tin.counters.packets).collect();
            (rate / RATE.0 as f64 - 1.0, packets, sent(&before, &after))
        });
        let report = engine.stop().unwrap();
        println!("  error {:+.3} %, packets {:?}", measured.0 * 100.0, measured.1);
        println!("  lateness {:?}, cpu {:.3}", report.last.lateness, report.cpu.share());
        (report, measured)
    });
    assert_eq!((report.scheduling.threads, packets.len()), (3, 2));
    let all: u64 = packets.iter().sum();
    assert!(packets.iter().all(|&one| one * 20 > all), "one thread had nearly all: {packets:?}");
    assert!(error.abs() < 0.01, "{:+.3} %", error * 100.0);
    assert_eq!(after, 0, "bytes sent by a thread that did not hear of the loss");
    Outcome::Passed
}

/// Two threads for upstream traffic get another rate while packets wait, twice: together they send at that
/// rate, within 1 %.
pub(crate) fn running_queues_take_another_rate() -> Outcome {
    let lab = lab_or_skip!(&LabSpec::default());
    let rates = [10, 40].map(|mbit| Rate(mbit * 1_000_000));
    let (report, errors) = valid_or_skip!(|| {
        let spec = EngineSpec::new(shared(rates[1], 2), shared(Rate(1_000_000_000), 1));
        let engine = Engine::start(&lab, spec).unwrap();
        let errors = floods(&lab, 32, 4.0 * rates[1].0 as f64, || {
            rates.map(|rate| {
                let queue = QueueSpec::try_from(QueueParams::CakeMq(setup(rate))).unwrap();
                let change = Change { queue: Some((queue, Link::ethernet(rate))), ..Change::default() };
                engine.change(Direction::Up, change).unwrap();
                std::thread::sleep(Duration::from_millis(500));
                let first = engine.sample();
                std::thread::sleep(Duration::from_millis(1000));
                let last = engine.sample();
                let bits = (last.up.sent.bytes - first.up.sent.bytes) as f64 * 8.0;
                bits / last.at.since(first.at).as_secs_f64() / rate.0 as f64 - 1.0
            })
        });
        let report = engine.stop().unwrap();
        println!("  errors {errors:?}, lateness {:?}", report.last.lateness);
        (report, errors)
    });
    assert_eq!(report.scheduling.threads, 3);
    assert!(errors.iter().all(|error| error.abs() < 0.01), "{errors:?}");
    Outcome::Passed
}

/// Three threads each way: each datagram of many flows arrives once, and those of a flow arrive in order. The
/// counts are sums.
pub(crate) fn each_frame_comes_to_one_thread_of_its_direction() -> Outcome {
    const FLOWS: usize = 40;
    let lab = lab_or_skip!(&LabSpec::default());
    let path = || shared(Rate(1_000_000_000), 3);
    let flows = FlowSpec { origin: goodqueue_wire::now(), step: goodqueue::Span::from_millis(100) };
    let spec = EngineSpec { flows: Some(flows), ..EngineSpec::new(path(), path()) };
    let engine = Engine::start(&lab, spec).unwrap();
    let pairs: Vec<_> = (0..FLOWS).map(|_| udp_pair(&lab, false)).collect();
    for number in 0..10 {
        for (client, server) in &pairs {
            client.send(&[number; 100]).unwrap();
            server.send(&[number; 200]).unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(50));
    for (socket, len) in pairs.iter().flat_map(|(client, server)| [(client, 200), (server, 100)]) {
        socket.set_nonblocking(true).unwrap();
        let mut bytes = [0; 300];
        let got: Vec<(usize, u8)> =
            std::iter::from_fn(|| socket.recv(&mut bytes).ok().map(|len| (len, bytes[0]))).collect();
        assert_eq!(got, (0..10).map(|number| (len, number)).collect::<Vec<_>>());
    }
    let [up, down] = engine.contents();
    for inside in [&up, &down] {
        let packets: Vec<u64> = inside.tins.iter().map(|tin| tin.counters.packets).collect();
        assert_eq!((packets.len(), packets.iter().sum::<u64>()), (3, 10 * FLOWS as u64));
        // With a random hash, a thread gets none of 40 only once in 4 million times.
        assert!(packets.iter().all(|&one| one > 0), "{packets:?}");
        assert_eq!(inside.connections.len(), FLOWS);
    }
    let report = engine.stop().unwrap();
    assert_eq!(report.scheduling.threads, 6);
    for (path, len) in [(&report.up, 100), (&report.down, 200)] {
        let count = 10 * FLOWS as u64;
        let last = &path.last;
        assert_eq!((last.arrived.packets, last.sent.packets, last.queue.packets), (count, count, count));
        assert_eq!(last.sent.bytes, count * (len + UDP_HEADERS as u64));
        assert_eq!(path.flows.iter().map(|flow| flow.sent.packets).collect::<Vec<_>>(), [10; FLOWS]);
        assert!(path.flows.is_sorted_by_key(|flow| flow.first));
    }
    Outcome::Passed
}

/// The kernel also knows the flow of a super-packet: each arrives whole at one of three threads, whose `cake`
/// cuts it.
pub(crate) fn super_packets_come_to_several_threads() -> Outcome {
    const BYTES: usize = 4 << 20;
    let lab = lab_or_skip!(&LabSpec { super_packets: true, ..LabSpec::default() });
    let path = || shared(Rate(1_000_000_000), 3);
    let engine = Engine::start(&lab, EngineSpec::new(path(), path())).unwrap();
    for is_up in [true, false].repeat(3) {
        transfer(&lab, false, is_up, BYTES);
    }
    std::thread::sleep(Duration::from_millis(30));
    let report = engine.stop().unwrap();
    let trouble = report.last.trouble;
    assert_eq!((trouble.super_packets, trouble.send_failures, trouble.pool_exhausted), (0, 0, 0));
    for path in [report.up.last, report.down.last] {
        let segments = 3 * (BYTES / 1448) as u64;
        assert!(path.sent.packets >= segments && path.sent.bytes <= path.sent.packets * 1514, "{path:?}");
        assert_eq!(path.arrived.packets, path.sent.packets + path.dropped_in_all(), "{path:?}");
    }
    Outcome::Passed
}

pub(crate) fn several_queues_need_no_line() -> Outcome {
    let lab = lab_or_skip!(&LabSpec::default());
    let line = || Line::from(Serializer::new(Rate(1_000_000)));
    let start = |up| Engine::start(&lab, EngineSpec::new(up, shared(Rate(1_000_000), 1)));
    let refused = |up| start(up).expect_err("refused").to_string();
    assert!(refused(PathSpec { line: line(), ..shared(Rate(1_000_000), 2) }).contains("several queues"));
    assert!(refused(shared(Rate(1_000_000), MOST_QUEUES as u32 + 1)).contains("9"));
    let engine = start(shared(Rate(1_000_000), 2)).unwrap();
    let to_line = || Change { line: Some(line()), ..Change::default() };
    assert!(engine.change(Direction::Up, to_line()).is_err());
    engine.change(Direction::Down, to_line()).unwrap();
    Outcome::Passed
}

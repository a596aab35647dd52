//! Client and server over the loopback interface, a few seconds each at most.
#![allow(clippy::unwrap_used)]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use goodqueue::Span;
use goodqueue_probe::net::{
    ClientSummary, Far, NetError, PathState, Server, ServerSummary, SharedClock, check, run_client,
};
use goodqueue_probe::{Direction, Dscp, End, Flow, Params, Probe, Sample, Test, Transport, resolve};

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

/// A load that is stopped before its end, in milliseconds.
const LONG_MS: u64 = 60_000;
/// The same.
const LONG: Duration = Duration::from_millis(LONG_MS);

/// Tests with timings do not run concurrently.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

struct Outcome {
    samples: Vec<Sample>,
    client: ClientSummary,
    server: ServerSummary,
    took: Duration,
}

/// When to stop an end, counted from its start.
#[derive(Default)]
struct Stops {
    client: Option<Duration>,
    server: Option<Duration>,
}

fn run(test: &Test, addr: IpAddr, stops: &Stops) -> Outcome {
    let server = Server::bind(&[addr], 0).unwrap();
    let (sink, samples) = mpsc::channel();
    let (stop_client, stop_server) = (AtomicBool::new(false), AtomicBool::new(false));
    let clock = SharedClock::starting_in(test.idle + Span::from_millis(20));
    let began = Instant::now();
    let (client, server) = thread::scope(|scope| {
        let far = scope.spawn(|| server.run(&clock, &sink.clone(), &stop_server).unwrap());
        for (after, flag) in [(stops.client, &stop_client), (stops.server, &stop_server)] {
            if let Some(after) = after {
                scope.spawn(move || {
                    thread::sleep(after);
                    flag.store(true, Ordering::Relaxed);
                });
            }
        }
        let servers = vec![server.far(addr); test.hosts()];
        let client = run_client(test, &servers, &clock, &PathState::default(), &sink, &stop_client).unwrap();
        // Queued data arrives, then the aborts.
        thread::sleep(Duration::from_millis(100));
        stop_server.store(true, Ordering::Relaxed);
        (client, far.join().unwrap())
    });
    drop(sink);
    Outcome { samples: samples.into_iter().collect(), client, server, took: began.elapsed() }
}

fn at(port: u16) -> Far {
    Far::of_tcp(SocketAddr::new(V4, port))
}

fn params(length_ms: u64) -> Params {
    Params {
        length: Span::from_millis(length_ms),
        idle: Span::from_millis(100),
        step: Span::from_millis(100),
        delay: Span::from_millis(100),
        ..Params::default()
    }
}

/// Bytes of a flow by its steps, and its receiver's total and error.
fn received(samples: &[Sample], which: u32) -> (Vec<(i64, u64)>, u64, Option<String>) {
    let (mut steps, mut end) = (Vec::new(), None);
    for sample in samples {
        match sample {
            Sample::Received { flow, t, bytes } if *flow == which => steps.push((*t, *bytes)),
            Sample::FlowEnd { flow, end: End::Receiver, bytes_total, error, .. } if *flow == which => {
                assert!(end.is_none(), "one end");
                end = Some((*bytes_total, error.clone()));
            }
            _ => {}
        }
    }
    let (total, error) = end.expect("an end of the receiver");
    (steps, total, error)
}

fn round_trips(samples: &[Sample]) -> Vec<i64> {
    let rtts = samples.iter().filter_map(|sample| match sample {
        Sample::Echo { rtt, up, down, .. } => {
            assert!((rtt - up - down).abs() < 50_000, "round trip {rtt}, one-way {up} and {down}");
            Some(*rtt)
        }
        _ => None,
    });
    let mut rtts: Vec<i64> = rtts.collect();
    rtts.sort_unstable();
    rtts
}

#[test]
fn ping_every_millisecond_is_answered_and_quick() {
    let _alone = alone();
    let params = Params { probe_interval: Span::from_millis(1), ..params(1000) };
    let out = run(&resolve("ping", &params).unwrap(), V4, &Stops::default());
    let stats = out.client.probes[0].stats;
    assert_eq!(stats.sent + stats.timer_misses, 1100);
    assert_eq!(stats.sent, stats.received, "{stats:?}");
    assert_eq!(out.server.probes.answered, stats.sent);
    assert_eq!(out.client.probes[0].dscp_changed, 0);
    let rtts = round_trips(&out.samples);
    assert_eq!(rtts.len() as u64, stats.sent);
    assert!(rtts[0] > 0);
    let (median, bare) = (rtts[rtts.len() / 2], bare_round_trip());
    println!("median of {} round trips {median} ns, of {BARE} between bare sockets {bare} ns", rtts.len());
    // The probe's round trip excludes the client's wake-up and the server's time.
    assert!(median < 3 * bare, "median round trip of {median} ns, between bare sockets {bare} ns");
}

/// Round trips between bare sockets.
const BARE: usize = 300;

/// Median round trip between two threads with a socket each, a packet every millisecond, nanoseconds.
fn bare_round_trip() -> i64 {
    let (near, far) = (UdpSocket::bind((V4, 0)).unwrap(), UdpSocket::bind((V4, 0)).unwrap());
    near.connect(far.local_addr().unwrap()).unwrap();
    far.connect(near.local_addr().unwrap()).unwrap();
    let mut times = thread::scope(|scope| {
        scope.spawn(|| {
            let mut packet = [0; 64];
            for _ in 0..BARE {
                let len = far.recv(&mut packet).unwrap();
                far.send(&packet[..len]).unwrap();
            }
        });
        let round_trip = |_| {
            thread::sleep(Duration::from_millis(1));
            let began = Instant::now();
            near.send(&[0; 64]).unwrap();
            near.recv(&mut [0; 64]).unwrap();
            i64::try_from(began.elapsed().as_nanos()).unwrap()
        };
        (0..BARE).map(round_trip).collect::<Vec<_>>()
    });
    times.sort_unstable();
    times[BARE / 2]
}

#[test]
fn two_uploads_add_up() {
    let _alone = alone();
    let out = run(&resolve("tcp_2up", &params(1000)).unwrap(), V4, &Stops::default());
    for flow in 0..2u32 {
        let (steps, total, error) = received(&out.samples, flow);
        assert_eq!(error, None);
        assert_eq!(steps.iter().map(|&(_, bytes)| bytes).sum::<u64>(), total);
        assert!(total > 1_000_000, "{total} bytes in a second over loopback");
        let times: Vec<i64> = steps.iter().map(|&(t, _)| t).collect();
        let grid: Vec<i64> = (1..=times.len() as i64).map(|k| k * 100_000_000).collect();
        assert_eq!(times, grid);
        let sent = out.client.flows[flow as usize].bytes;
        assert!(sent >= total, "the sender's socket took {sent}, {total} arrived");
        assert_eq!(out.client.flows[flow as usize].cc, "cubic");
    }
    let asked =
        |s: &&Sample| matches!(s, Sample::Tcp { info, .. } if info.cwnd_segments > 0 && info.srtt_us > 0);
    assert!(out.samples.iter().filter(asked).count() >= 16);
    let ends = out.samples.iter().filter(|s| matches!(s, Sample::FlowEnd { error: None, .. }));
    assert_eq!(ends.count(), 4);
}

#[test]
fn downloads_use_the_congestion_control_and_stop() {
    let _alone = alone();
    let params = Params { cc: Some("reno".into()), ..params(500) };
    let out = run(&resolve("tcp_2down", &params).unwrap(), V6, &Stops::default());
    assert_eq!(out.server.flows.len(), 2);
    for flow in &out.server.flows {
        assert_eq!((flow.cc.as_str(), flow.direction), ("reno", Direction::Down));
    }
    for flow in 0..2 {
        let (steps, total, error) = received(&out.samples, flow);
        assert_eq!((error, steps.len()), (None, 5));
        assert_eq!(steps.iter().map(|&(_, bytes)| bytes).sum::<u64>(), total);
        assert!(total > 1_000_000);
    }
    let ends = out.samples.iter().filter(|s| matches!(s, Sample::FlowEnd { error: None, .. }));
    assert_eq!(ends.count(), 4, "{:?}", out.samples.iter().rev().take(8).collect::<Vec<_>>());
}

#[test]
fn rrul_has_all_its_series_and_marks() {
    let _alone = alone();
    for addr in [V4, V6] {
        let test = resolve("rrul", &params(400)).unwrap();
        let out = run(&test, addr, &Stops::default());
        for flow in 0..8 {
            assert!(received(&out.samples, flow).1 > 0, "{}", test.flows[flow as usize].name);
        }
        // The reflector answers with the DSCP that it received, so both directions had it in the header.
        for (probe, outcome) in test.probes.iter().zip(&out.client.probes) {
            assert_eq!(outcome.dscp_changed, 0, "{} on {addr}", probe.name);
            assert!(outcome.stats.received > 20, "{} on {addr}", probe.name);
            assert_eq!(outcome.send_errors + out.server.probe_send_errors, 0);
        }
    }
}

#[test]
fn the_square_wave_starts_its_flows_in_turn() {
    let _alone = alone();
    let test = resolve("tcp_square_wave", &params(300)).unwrap();
    let available = goodqueue_probe::net::available_congestion_controls();
    if !available.split(' ').any(|cc| cc == "bbr") {
        eprintln!("no bbr here: {available}");
        return;
    }
    let out = run(&test, V4, &Stops::default());
    let mut late = Vec::new();
    for (plan, outcome) in test.flows.iter().zip(&out.client.flows) {
        late.push(outcome.connected.unwrap() - plan.start.0 as i64);
        assert_eq!((outcome.cc.as_str(), &outcome.error), (plan.cc.as_str(), &None));
    }
    late.sort_unstable();
    let delay = i64::try_from(params(300).delay.0).unwrap();
    println!("{} flows connected later than their starts by {late:?} ns", late.len());
    assert!(late[0] >= 0 && late[late.len() / 2] < delay, "{late:?} ns after their starts, {delay} ns apart");
    let (steps, ..) = received(&out.samples, 3);
    assert_eq!(steps[0].0, 600_000_000, "the first step of the flow that starts at 5 D");
}

#[test]
fn a_missing_congestion_control_is_named() {
    let _alone = alone();
    let test = resolve("tcp_1up", &Params { cc: Some("nosuchcc".into()), ..params(100) }).unwrap();
    let (sink, samples) = mpsc::channel();
    let clock = SharedClock::starting_in(Span::from_millis(100));
    let result = run_client(&test, &[at(9)], &clock, &PathState::default(), &sink, &AtomicBool::new(false));
    let Err(NetError::NoCongestionControl { name, available }) = result else { panic!("{result:?}") };
    assert!(name == "nosuchcc" && available.contains("cubic"), "{available}");
    assert!(samples.try_recv().is_err());
    let test = resolve("rtt_fair", &params(100)).unwrap();
    assert!(matches!(check(&test, 1), Err(NetError::Hosts { need: 4, have: 1 })));
}

#[test]
fn a_server_that_does_not_listen_is_named() {
    let _alone = alone();
    let port = Server::bind(&[V4], 0).unwrap().port();
    let (sink, samples) = mpsc::channel();
    let clock = SharedClock::starting_in(Span::from_millis(50));
    let test = resolve("tcp_2down", &params(LONG_MS)).unwrap();
    let began = Instant::now();
    let out = run_client(&test, &[at(port)], &clock, &PathState::default(), &sink, &AtomicBool::new(false))
        .unwrap();
    assert!(began.elapsed() < LONG / 2, "the run ends when all flows have failed");
    assert!(out.flows.iter().all(|f| f.error.as_ref().is_some_and(|e| e.contains("refused"))), "{out:?}");
    assert!(!out.warnings.is_empty());
    drop(sink);
    assert_eq!(samples.iter().filter(|s| matches!(s, Sample::FlowEnd { .. })).count(), 2);
}

/// Open files of the process, and threads of this crate.
fn left_over() -> (usize, usize) {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().filter(|task| {
        let name = std::fs::read_to_string(task.as_ref().unwrap().path().join("comm")).unwrap_or_default();
        ["probes", "pages", "reflector"].contains(&name.trim())
    });
    (std::fs::read_dir("/proc/self/fd").unwrap().count(), threads.count())
}

#[test]
fn a_stopped_client_keeps_its_results() {
    let _alone = alone();
    let before = left_over();
    let stops = Stops { client: Some(Duration::from_millis(600)), ..Stops::default() };
    let out = run(&resolve("rrul_be", &params(LONG_MS)).unwrap(), V4, &stops);
    assert!(out.took < LONG / 2, "{:?}", out.took);
    assert_eq!(left_over(), before, "files and threads");
    for flow in 0..8 {
        let (steps, total, error) = received(&out.samples, flow);
        assert!(steps.len() >= 3 && total > 0);
        assert!(error.is_some());
    }
    for probe in &out.client.probes {
        let stats = probe.stats;
        let lost = stats.lost_up + stats.lost_down + stats.lost_unknown;
        assert_eq!((stats.sent, lost), (stats.received, 0), "probes in flight still come back");
    }
}

#[test]
fn a_server_that_dies_ends_the_flows_with_an_error() {
    let _alone = alone();
    let stops = Stops { server: Some(Duration::from_millis(600)), ..Stops::default() };
    let out = run(&resolve("rrul_be", &params(LONG_MS)).unwrap(), V4, &stops);
    assert!(out.took < LONG / 2, "{:?}", out.took);
    for (flow, outcome) in (0u32..).zip(&out.client.flows) {
        assert!(outcome.error.is_some());
        assert!(received(&out.samples, flow).1 > 0);
    }
    assert!(round_trips(&out.samples).len() > 30);
}

#[test]
fn strangers_at_the_flow_port_are_counted() {
    use std::io::Write;
    let _alone = alone();
    let server = Server::bind(&[V4, V6], 0).unwrap();
    let (sink, samples) = mpsc::channel();
    let stop = AtomicBool::new(false);
    let clock = SharedClock::starting_in(Span::ZERO);
    let summary = thread::scope(|scope| {
        let far = scope.spawn(|| server.run(&clock, &sink.clone(), &stop).unwrap());
        for addr in [V4, V6] {
            let mut stream = std::net::TcpStream::connect((addr, server.port())).unwrap();
            stream.write_all(&[b'x'; 64]).unwrap();
            std::net::UdpSocket::bind((addr, 0)).unwrap().send_to(b"x", (addr, server.port())).unwrap();
        }
        thread::sleep(Duration::from_millis(100));
        stop.store(true, Ordering::Relaxed);
        far.join().unwrap()
    });
    drop(sink);
    assert_eq!((summary.refused, summary.probes.refused, summary.flows.len()), (2, 2, 0));
    assert_eq!(samples.iter().count(), 0);
}

fn with(words: &[&str], params: Params) -> Params {
    Params { with: words.iter().map(|&word| word.into()).collect(), ..params }
}

#[test]
fn a_call_and_pages_run_beside_any_test() {
    let _alone = alone();
    let params = Params { idle: Span::from_millis(300), ..params(1500) };
    let test = resolve("tcp_1down", &with(&["voip:ef", "web", "web:large"], params)).unwrap();
    let out = run(&test, V6, &Stops::default());
    let call = out.client.probes[1].stats;
    assert_eq!(call.sent + call.timer_misses, 1800 / 20, "{call:?}");
    let up = |s: &&Sample| matches!(s, Sample::Echo { probe: 1, up, .. } if *up > 0);
    assert_eq!(out.samples.iter().filter(up).count() as u64, call.received);
    let page = |sample: &Sample| match *sample {
        Sample::Page { page, t, took, complete, first_byte, bytes, ref error } => {
            assert_eq!(*error, None);
            assert!(!complete || bytes == test.web[page as usize].bytes, "{sample:?}");
            assert!(first_byte.is_none_or(|first| 0 < first && first <= took), "{sample:?}");
            Some((page, t < 0, complete))
        }
        _ => None,
    };
    let pages: Vec<_> = out.samples.iter().filter_map(page).collect();
    // Idle: one of each. Load: the small one, and 1 s later the large one.
    assert_eq!(pages, [(0, true, true), (1, true, true), (0, false, true), (1, false, true)]);
    // Each page requests its objects, and opens up to 6 connections with two TLS requests each.
    let requests = out.server.requests;
    assert!((2 * (3 + 110) + 4 * 2..=2 * (3 + 110) + 2 * 2 * (2 + 6)).contains(&requests), "{requests}");
    assert_eq!((out.server.refused, out.client.warnings.len()), (0, 0), "{:?}", out.client.warnings);
}

#[test]
fn a_video_runs_beside_any_test() {
    let _alone = alone();
    let test = resolve("ping", &with(&["dash"], params(1500))).unwrap();
    let out = run(&test, V6, &Stops::default());
    let segment = |sample: &Sample| match *sample {
        Sample::Segment { video: 0, complete, bitrate, bytes, stalled, ref error, .. } => {
            assert_eq!(*error, None);
            Some((complete, bitrate, bytes * 8 / 3, stalled))
        }
        _ => None,
    };
    let segments: Vec<_> = out.samples.iter().filter_map(segment).collect();
    // The target buffer is three segments at first: they are requested at once, the next one later.
    assert_eq!(segments[0], (true, 230_000, 230_000, 0));
    assert_eq!(segments.len(), 3, "{segments:?}");
    assert!(
        segments
            .iter()
            .all(|&(complete, bitrate, rate, stalled)| { complete && bitrate == rate && stalled == 0 })
    );
    assert_eq!(out.server.requests, 3 + 2);
    assert_eq!((out.server.refused, out.client.warnings.len()), (0, 0), "{:?}", out.client.warnings);
}

#[test]
fn a_call_and_a_game_over_sockets() {
    let _alone = alone();
    let test = resolve("ping", &with(&["videocall:AF41", "game:30"], params(2_000))).unwrap();
    let out = run(&test, V4, &Stops::default());
    let count = |of: &dyn Fn(&Sample) -> bool| out.samples.iter().filter(|&sample| of(sample)).count();
    for wanted in [Direction::Up, Direction::Down] {
        let shown =
            count(&|s| matches!(s, Sample::Shown { talk: 0, way, took, .. } if *way == wanted && *took > 0));
        let ticks =
            count(&|s| matches!(s, Sample::Tick { talk: 1, way, took, .. } if *way == wanted && *took > 0));
        let intervals = count(&|s| matches!(s, Sample::Interval { talk: 0, way, .. } if *way == wanted));
        // 2 s and the lead-in: at least 60 of each, fewer on a busy machine.
        assert!(shown > 30 && ticks > 30 && intervals > 10, "{wanted:?}: {shown} {ticks} {intervals}");
    }
    assert!(count(&|s| matches!(s, Sample::Tick { rtt: Some(1..), .. })) > 20);
    assert!(out.client.warnings.is_empty() && out.client.faults.is_empty(), "{:?}", out.client);
}

#[test]
fn pages_of_a_missing_server_fail_and_are_reported() {
    let _alone = alone();
    let port = Server::bind(&[V4], 0).unwrap().port();
    let (sink, samples) = mpsc::channel();
    let clock = SharedClock::starting_in(Span::from_millis(50));
    let test = resolve("ping", &with(&["web"], params(300))).unwrap();
    run_client(&test, &[at(port)], &clock, &PathState::default(), &sink, &AtomicBool::new(false)).unwrap();
    drop(sink);
    let given_up = |s: &Sample| matches!(s, Sample::Page { complete: false, bytes: 0, .. });
    // No answer to the query arrives, neither in the lead-in nor under load.
    assert_eq!(samples.iter().filter(given_up).count(), 2);
}

#[test]
fn a_thousand_flows() {
    let _alone = alone();
    // Each connects within the load, even on a busy machine.
    let load = Span::from_secs(4);
    let flow = |i: usize| Flow {
        name: format!("flow {i}"),
        direction: if i.is_multiple_of(2) { Direction::Up } else { Direction::Down },
        transport: Transport::Tcp,
        cc: "cubic".into(),
        dscp: Dscp::CS0,
        max_rate: None,
        host: 0,
        start: Span::ZERO,
        stop: load,
    };
    let probe =
        Probe { name: "probe".into(), host: 0, dscp: Dscp::EF, interval: Span::from_millis(10), payload: 60 };
    let test = Test {
        name: "thousand".into(),
        about: String::new(),
        idle: Span::ZERO,
        versions: Vec::new(),
        load,
        step: Span::from_millis(200),
        flows: (0..1000).map(flow).collect(),
        udp: Vec::new(),
        probes: vec![probe],
        voip: Vec::new(),
        web: Vec::new(),
        dash: Vec::new(),
        talks: Vec::new(),
        rpm: None,
    };
    let out = run(&test, V4, &Stops::default());
    let connected = out.client.flows.iter().filter(|f| f.connected.is_some()).count();
    let moved = out.client.flows.iter().filter(|f| f.bytes > 0).count();
    assert_eq!((connected, moved), (1000, 1000));
    assert!(out.client.probes[0].stats.received > 200, "{:?}", out.client.probes[0].stats);
    println!("{connected} flows of 4 s each took {:?} in all", out.took);
}

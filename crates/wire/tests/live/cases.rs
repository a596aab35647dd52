//! The tests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use goodqueue::{Direction, ETHERNET_FRAME, Line, QueueSpec, Rate, Rng, Serializer};
use goodqueue_wire::netlink::Tracking;
use goodqueue_wire::{
    Change, Engine, EngineHandle, EngineReport, EngineSpec, Error, FlowSpec, Lab, LabSpec, Netns, PathSpec,
    Side, Threads,
};
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_netfilter::conntrack::{
    ConntrackAttribute, ConntrackMessage, IPTuple, ProtoTuple, Protocol, Tuple,
};
use netlink_packet_netfilter::{NetfilterHeader, NetfilterMessage, NetfilterProtoFamily};
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_NETFILTER;

use crate::bars::{a_gigabit_is_exact, traffic_both_ways_leaves_a_third_of_a_processor};
use crate::load::{MOST_ERROR, MOST_IDLE};
use crate::net::{
    Stops, TestQueue, UDP_HEADERS, engine, enlarge_buffer, flood, flood_of_frames, lab, open_path, ping_pong,
    receive, relay, send_frames, set_option, spec, udp, udp_pair, without_real_time,
};
use crate::threads::{
    each_frame_comes_to_one_thread_of_its_direction, running_queues_take_another_rate,
    several_queues_need_no_line, super_packets_come_to_several_threads,
    threads_of_a_direction_share_its_rate,
};
use crate::{Case, Outcome};

macro_rules! cases {
    ($list:ident, $prefix:literal, $is_apart:literal: $($name:ident),* $(,)?) => {
        pub(crate) const $list: &[Case] = &[$(
            Case { name: concat!($prefix, stringify!($name)), run: $name, is_apart: $is_apart }
        ),*];
    };
}

cases![ONE_THREAD, "", false:
    lab_comes_up_and_is_as_asked,
    idle_engine_adds_little_delay,
    steady_rate_is_exact,
    a_gigabit_is_exact,
    traffic_both_ways_leaves_a_third_of_a_processor,
    marks_are_in_the_real_header,
    unprivileged_user_can_run_a_lab,
    a_missing_right_is_named_with_its_cure,
    super_packets_are_refused,
    super_packets_come_and_leave_whole,
    queues_get_super_packets_and_cut_them,
    cake_sorts_washes_and_filters_real_frames,
    a_flood_of_short_frames_takes_no_memory_and_is_counted,
    a_flood_is_more_than_fq_codel_takes,
    an_exhausted_pool_is_reported,
    a_lab_has_one_engine_at_a_time,
    a_pulled_cable_ends_the_run_and_keeps_what_was_measured,
    nothing_is_left_behind,
    a_killed_process_leaves_nothing_behind,
    delays_differ_by_host,
    losses_are_drawn_and_counted,
    connection_tracking_tells_who_is_behind_address_translation,
    an_engine_has_the_threads_that_are_asked_for,
    threads_of_a_direction_share_its_rate,
    each_frame_comes_to_one_thread_of_its_direction,
    super_packets_come_to_several_threads,
    several_queues_need_no_line,
    running_queues_take_another_rate,
];

// Those of the engine again, with a thread for each direction.
cases![EACH_DIRECTION, "each_direction::", true:
    lab_comes_up_and_is_as_asked,
    steady_rate_is_exact,
    marks_are_in_the_real_header,
    super_packets_are_refused,
    super_packets_come_and_leave_whole,
    a_flood_of_short_frames_takes_no_memory_and_is_counted,
    an_exhausted_pool_is_reported,
    a_lab_has_one_engine_at_a_time,
    a_pulled_cable_ends_the_run_and_keeps_what_was_measured,
    nothing_is_left_behind,
    delays_differ_by_host,
    losses_are_drawn_and_counted,
    an_engine_has_the_threads_that_are_asked_for,
];

/// A lab for `spec`; if there is none, returns from the test as skipped.
macro_rules! lab_or_skip {
    ($spec:expr) => {
        match lab($spec) {
            Ok(lab) => lab,
            Err(right) => return Outcome::Skipped(right),
        }
    };
}
pub(crate) use lab_or_skip;

/// In the error of [`valid`], if that is why the results are not valid.
const HYPERVISOR: &str = "a hypervisor takes this machine's processors";

/// Measures until the engine calls the result valid, at most three times with a pause in between, and
/// prints the number of tries. The error is the engine's verdict on the last result, with [`HYPERVISOR`] if
/// that took too much in most of the tries.
pub(crate) fn valid<T>(mut measure: impl FnMut() -> (EngineReport, T)) -> Result<(EngineReport, T), String> {
    let (mut tries, mut taken) = (0, 0);
    loop {
        let (report, value) = measure();
        let validity = report.validity();
        tries += 1;
        if validity.valid {
            println!("  valid at try {tries} of 3");
            return Ok((report, value));
        }
        println!("  not valid: {:?}", validity.reasons);
        taken += usize::from(validity.reasons.iter().any(|reason| reason.starts_with("the hypervisor took")));
        if tries == 3 {
            let cause = if taken >= 2 { format!("{HYPERVISOR}: ") } else { String::new() };
            let reasons = validity.reasons;
            return Err(format!("a punctual machine: {cause}three results are not valid: {reasons:?}"));
        }
        std::thread::sleep(Duration::from_secs(2));
    }
}

/// The value of [`valid`]; if there is none, returns from the test as skipped.
macro_rules! valid_or_skip {
    ($measure:expr) => {
        match valid($measure) {
            Ok(measured) => measured,
            Err(machine) => return Outcome::Skipped(machine),
        }
    };
}
pub(crate) use valid_or_skip;

fn lab_comes_up_and_is_as_asked() -> Outcome {
    let lab = lab_or_skip!(&LabSpec { hosts: 8, ..LabSpec::default() }.sysctl("net.ipv4.tcp_ecn", "1"));
    for side in [Side::Client, Side::Server] {
        let sysctls = lab.sysctls(side).unwrap();
        assert_eq!(sysctls["net.ipv4.tcp_ecn"], "1");
        assert_eq!(sysctls["net.ipv4.tcp_no_metrics_save"], "1");
        assert!(sysctls.contains_key("net.ipv4.tcp_rmem"), "{sysctls:?}");
    }
    let wrong = Lab::new(&LabSpec::default().sysctl("net.ipv4.tcp_nonsense", "1")).unwrap_err();
    assert!(wrong.to_string().contains("/proc/sys/net/ipv4/tcp_nonsense"), "{wrong}");
    assert!(matches!(Lab::new(&LabSpec { hosts: 9, ..LabSpec::default() }), Err(Error::Invalid { .. })));
    // Every host answers over both families, and no foreign traffic makes the result invalid.
    let engine = engine(&lab, open_path(), open_path());
    for host in 0..8 {
        for v6 in [false, true] {
            let client = udp(lab.client(), Lab::client_address(v6));
            let server = udp(lab.server(), Lab::server_address(v6, host));
            client.connect(server.local_addr().unwrap()).unwrap();
            server.connect(client.local_addr().unwrap()).unwrap();
            ping_pong(&client, &server, 64, 2);
        }
    }
    std::thread::sleep(Duration::from_millis(30));
    let sample = engine.sample();
    assert_eq!((sample.up.sent.packets, sample.down.sent.packets), (32, 32), "{sample:?}");
    assert_eq!(sample.frames_used, 0);
    Outcome::Passed
}

/// The delay that an idle engine adds to a round trip, compared with a plain relay on this machine. Each
/// direction includes the wake-ups of two threads, which take some 10 us if the processors are kept awake and
/// 80 us in deep sleep. Engine and relay are measured alternately, so that both see the same state of the
/// machine. One way, with sockets and threads of both ends, 64 bytes must take less than the bar for what the
/// engine alone may add.
fn idle_engine_adds_little_delay() -> Outcome {
    /// The longest round trip through the engine, as a multiple of the one through the relay.
    const MOST: f64 = 2.0;
    let lab = lab_or_skip!(&LabSpec::default());
    let (client, server) = udp_pair(&lab, false);
    for rate in [None, Some(Rate(100_000_000))] {
        let path = || PathSpec { line: Line::from(rate.and_then(Serializer::new)), ..open_path() };
        let serialization = rate.map_or(0, |r| 2 * (64 + UDP_HEADERS as u64) * 8 * 1_000_000_000 / r.0);
        let (mut ratios, mut trips) = (Vec::new(), Vec::new());
        for _ in 0..5 {
            let stop = AtomicBool::new(false);
            let through_relay = std::thread::scope(|scope| {
                scope.spawn(|| lab.router().run(|| relay(&stop)).unwrap());
                let _stops = Stops(&stop);
                ping_pong(&client, &server, 64, 200)
            });
            let (_, time) = valid_or_skip!(|| {
                let engine = engine(&lab, path(), path());
                let time = ping_pong(&client, &server, 64, 200);
                (engine.stop().unwrap(), time)
            });
            let through_engine = time.saturating_sub(Duration::from_nanos(serialization));
            println!("  rate {rate:?}: round trip {through_engine:?}, through a relay {through_relay:?}");
            ratios.push(through_engine.as_secs_f64() / through_relay.as_secs_f64());
            trips.push([through_engine, through_relay]);
        }
        ratios.sort_by(f64::total_cmp);
        let ratio = ratios[ratios.len() / 2];
        println!("  {ratio:.2} of a relay's");
        assert!(ratio < MOST, "{ratio} times a relay's round trip");
        let [engine, relay] = [0, 1].map(|which| {
            let mut ways: Vec<Duration> = trips.iter().map(|trip| trip[which] / 2).collect();
            ways.sort();
            ways[ways.len() / 2]
        });
        println!("  one way {engine:?}, through a relay {relay:?}");
        if relay >= MOST_IDLE {
            return Outcome::Skipped(format!(
                "a machine that wakes quickly: a relay alone takes {relay:?}, and an engine may add {MOST_IDLE:?}"
            ));
        }
        assert!(engine < MOST_IDLE, "{engine:?} one way, bar {MOST_IDLE:?}; through a relay {relay:?}");
    }
    Outcome::Passed
}

fn steady_rate_is_exact() -> Outcome {
    let lab = lab_or_skip!(&LabSpec::default());
    for rate in [Rate(1_000_000), Rate(10_000_000), Rate(100_000_000)] {
        let (report, measured) = valid_or_skip!(|| {
            let line = Line::from(Serializer::new(rate));
            let up = PathSpec { line, ..PathSpec::new(TestQueue::new(100)) };
            let engine = engine(&lab, up, open_path());
            let measured = steady_rate(&lab, rate);
            (engine.stop().unwrap(), measured)
        });
        let error = measured / rate.0 as f64 - 1.0;
        println!(
            "  {rate}: measured {measured:.0} bit/s, error {:+.4} %, lateness {:?}, cpu {:.3}, {:?}",
            error * 100.0,
            report.last.lateness,
            report.cpu.share(),
            report.host
        );
        assert!(error.abs() <= MOST_ERROR, "{rate}: {measured} bit/s");
    }
    Outcome::Passed
}

/// Rate of a flood through a full queue in bits per second on the wire, from the kernel's receive times.
fn steady_rate(lab: &Lab, rate: Rate) -> f64 {
    const LEN: usize = 1472;
    let (client, server) = udp_pair(lab, false);
    set_option(&server, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1);
    enlarge_buffer(&server);
    let stop = AtomicBool::new(false);
    let mut stamps = Vec::with_capacity(20_000);
    std::thread::scope(|scope| {
        scope.spawn(|| flood(&client, LEN, rate.0 as f64 * 1.05, &stop));
        let _stops = Stops(&stop);
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(1600) {
            let Some(datagram) = receive(&server) else { continue };
            // Half a second of warm-up: the queue must not run empty.
            if began.elapsed() >= Duration::from_millis(500) {
                assert_eq!(datagram.len, LEN);
                stamps.push(datagram.stamp.unwrap());
            }
        }
    });
    let span = stamps[stamps.len() - 1] - stamps[0];
    assert!(span >= 1_000_000_000, "{span} ns");
    ((LEN + UDP_HEADERS) * 8) as f64 * 1e9 / gap(&stamps)
}

/// The time from one packet to the next: the slope of the least-squares line through all `stamps`, so that
/// one late wake-up at either end has little effect.
fn gap(stamps: &[u64]) -> f64 {
    let middle = (stamps.len() - 1) as f64 / 2.0;
    let times = stamps.iter().enumerate().map(|(n, &at)| (n as f64 - middle, (at - stamps[0]) as f64));
    let (weighted, squares) = times.fold((0.0, 0.0), |(w, s), (n, at)| (w + n * at, s + n * n));
    weighted / squares
}

fn marks_are_in_the_real_header() -> Outcome {
    let lab = lab_or_skip!(&LabSpec::default());
    let engine = engine(&lab, PathSpec::new(TestQueue::marking(100)), open_path());
    for v6 in [false, true] {
        let (client, server) = udp_pair(&lab, v6);
        let (level, receive_option, send_option) = if v6 {
            (libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, libc::IPV6_TCLASS)
        } else {
            (libc::IPPROTO_IP, libc::IP_RECVTOS, libc::IP_TOS)
        };
        set_option(&server, level, receive_option, 1);
        for (sent, wanted) in [(0xb8, 0xb8), (0xb9, 0xbb), (0xba, 0xbb), (0, 0), (1, 3), (2, 3), (3, 3)] {
            set_option(&client, level, send_option, sent);
            client.send(b"mark me").unwrap();
            // It arrives only if the IPv4 checksum is correct: the receiver's kernel checks it.
            let got = receive(&server).unwrap_or_else(|| panic!("v6 {v6}: {sent:#x} did not arrive"));
            assert_eq!((got.len, got.dsfield), (7, Some(wanted)), "v6 {v6}, sent {sent:#x}");
        }
    }
    let report = engine.stop().unwrap();
    assert_eq!(report.up.last.marks, 10);
    Outcome::Passed
}

fn unprivileged_user_can_run_a_lab() -> Outcome {
    let mut child = Command::new("/proc/self/exe");
    child.args(["helper", "unprivileged"]);
    if crate::is_real_root() {
        child.uid(65534).gid(65534);
    }
    let output = child.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    print!("  {out}");
    match output.status.code() {
        Some(0) => Outcome::Passed,
        Some(3) => Outcome::Skipped(err.trim().to_owned()),
        other => panic!("{other:?}: {err}"),
    }
}

fn a_missing_right_is_named_with_its_cure() -> Outcome {
    let output = Command::new("/proc/self/exe").args(["helper", "no-rights"]).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    println!("  {}", words.trim());
    assert_eq!(output.status.code(), Some(3), "{words}");
    assert!(words.contains("CAP_NET_ADMIN") && words.contains("run as root"), "{words}");
    Outcome::Passed
}

/// TCP brings all bytes through in both directions and over both families. Between hosts and engine, and in
/// its queue, there are fewer packets than segments. UDP passes too, with checksums that the host has left to
/// the device.
fn super_packets_come_and_leave_whole() -> Outcome {
    const BYTES: usize = 8 << 20;
    let lab = lab_or_skip!(&LabSpec { super_packets: true, ..LabSpec::default() });
    let rate = Rate(1_000_000_000);
    for v6 in [false, true] {
        let path =
            || PathSpec { line: Line::from(Serializer::new(rate)), ..PathSpec::new(TestQueue::new(10_000)) };
        let engine = engine(&lab, path(), path());
        let before = [lab.client(), lab.server()].map(packets);
        for is_up in [true, false] {
            transfer(&lab, v6, is_up, BYTES);
        }
        let after = [lab.client(), lab.server()].map(packets);
        let (client, server) = udp_pair(&lab, v6);
        ping_pong(&client, &server, 1000, 2);
        let report = engine.stop().unwrap();
        let (up, down) = (report.up.last, report.down.last);
        let trouble = report.last.trouble;
        assert_eq!((trouble.super_packets, trouble.send_failures, trouble.pool_exhausted), (0, 0, 0));
        let [client, server] = [0, 1].map(|n| [0, 1].map(|k| after[n][k] - before[n][k]));
        println!(
            "  v6 {v6}: packets {} {}; received, sent: {client:?} {server:?}",
            up.sent.packets, down.sent.packets
        );
        for (path, sent, received) in [(up, client[1], server[0]), (down, server[1], client[0])] {
            let segments = (BYTES / 1448) as u64;
            assert!(path.sent.packets < segments, "{path:?}");
            assert!(path.sent.bytes >= segments * 1514, "{path:?}: each segment has its headers");
            assert!(
                sent < segments && received < segments,
                "{sent} sent and {received} received of {segments}"
            );
        }
    }
    Outcome::Passed
}

/// `fq_codel` holds packets of up to 64 kB, as in a server; `cake` cuts them.
fn queues_get_super_packets_and_cut_them() -> Outcome {
    const BYTES: usize = 8 << 20;
    let lab = lab_or_skip!(&LabSpec { super_packets: true, ..LabSpec::default() });
    let rate = Rate(1_000_000_000);
    for (text, is_cut) in
        [("fq_codel", false), ("cake,split-gso=off", false), ("cake", true), ("dualpi2", true)]
    {
        let path = |node| {
            let spec: QueueSpec = text.parse().unwrap();
            let draws = Rng::stream(1, node, "queue");
            let queue = spec.build_with(rate, ETHERNET_FRAME, goodqueue_wire::now(), draws).unwrap();
            PathSpec { line: Line::from(Serializer::new(rate)), ..PathSpec::new(queue) }
        };
        let engine = Engine::start(&lab, EngineSpec::new(path(0), path(1))).unwrap();
        transfer(&lab, false, true, BYTES);
        std::thread::sleep(Duration::from_millis(30));
        let report = engine.stop().unwrap();
        let (up, trouble) = (report.up.last, report.last.trouble);
        assert_eq!((trouble.super_packets, trouble.send_failures, trouble.pool_exhausted), (0, 0, 0));
        let dropped: u64 = up.drops.iter().sum();
        assert_eq!(up.arrived.packets, up.sent.packets + dropped, "{text}: {up:?}");
        println!("  {text}: {} packets, {} bytes each", up.sent.packets, up.sent.bytes / up.sent.packets);
        let segments = (BYTES / 1448) as u64;
        if is_cut {
            assert!(up.sent.packets >= segments && up.sent.bytes <= up.sent.packets * 1514, "{text}: {up:?}");
        } else {
            assert!(up.sent.packets * 4 < segments, "{text}: {up:?}");
        }
    }
    Outcome::Passed
}

/// A TCP segment of the client that only acknowledges all before `number`.
fn ack(number: u32) -> Vec<u8> {
    let mut frame = vec![2, 0x67, 0x71, 0, 0, 2, 2, 0x67, 0x71, 0, 0, 1, 8, 0];
    frame.extend([0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 73, 0, 1, 10, 73, 0, 2]);
    frame.extend([3, 232, 7, 208, 0, 0, 0, 1]);
    frame.extend(number.to_be_bytes());
    // A header of 20 bytes, and the flag ACK.
    frame.extend([0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
    frame.resize(60, 0);
    frame
}

/// `cake` as on a router: tins by DSCP, `wash`, and the ACK filter.
fn cake_sorts_washes_and_filters_real_frames() -> Outcome {
    const ACKS: u32 = 20;
    let lab = lab_or_skip!(&LabSpec::default());
    let path = |text: &str| {
        let spec: QueueSpec = text.parse().unwrap();
        let draws = Rng::stream(1, 0, "queue");
        let queue = spec.build_with(Rate(200_000), ETHERNET_FRAME, goodqueue_wire::now(), draws).unwrap();
        PathSpec::new(queue)
    };
    let cake = "cake:diffserv3,bandwidth=200kbit,wash=on,ack-filter=on";
    let engine = Engine::start(&lab, EngineSpec::new(path(cake), path("pfifo:1000"))).unwrap();
    let (client, server) = udp_pair(&lab, false);
    set_option(&server, libc::IPPROTO_IP, libc::IP_RECVTOS, 1);
    // CS1, none and EF, each with an ECN field.
    for (sent, washed, count) in [(0x22, 2, 1), (0x01, 1, 2), (0xba, 2, 3)] {
        set_option(&client, libc::IPPROTO_IP, libc::IP_TOS, sent);
        for _ in 0..count {
            client.send(b"wash me").unwrap();
            // It arrives only if the IPv4 checksum is correct.
            let got = receive(&server).unwrap_or_else(|| panic!("{sent:#x} did not arrive"));
            assert_eq!((got.len, got.dsfield), (7, Some(washed)), "sent {sent:#x}");
        }
    }
    let tins = engine.contents()[0].tins.iter().map(|tin| tin.counters.packets).collect::<Vec<_>>();
    assert_eq!(tins, [1, 2, 3], "bulk, best effort, voice");
    // At this rate a frame takes 2.4 ms.
    let acks: Vec<Vec<u8>> = (1..=ACKS).map(|number| ack(number * 1000)).collect();
    lab.client().run(|| send_frames(c"cli", &acks)).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let up = engine.stop().unwrap().up.last;
    let filtered = up.dropped(goodqueue::Reason::Ack);
    println!("  {filtered} of {ACKS} acknowledgements were filtered");
    assert_eq!(up.arrived.packets, 6 + u64::from(ACKS));
    assert_eq!(up.sent.packets + filtered, up.arrived.packets, "{up:?}");
    assert!(filtered >= u64::from(ACKS) / 2, "{up:?}");
    Outcome::Passed
}

/// Packets that the interfaces of a namespace received and sent (`proc_pid_net(5)`).
fn packets(netns: &Netns) -> [u64; 2] {
    let read = || std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let text = netns.run(read).unwrap();
    let figures =
        text.lines().filter_map(|line| line.split_once(':')).filter(|(name, _)| name.trim() != "lo");
    let figures: Vec<u64> =
        figures.flat_map(|(_, words)| words.split_whitespace()).map(|word| word.parse().unwrap()).collect();
    [figures[1], figures[9]]
}

/// Sends `bytes` over a TCP connection, and checks each that arrives.
pub(crate) fn transfer(lab: &Lab, v6: bool, is_up: bool, bytes: usize) {
    let pattern = |at: usize| (at % 251) as u8 ^ (at >> 16) as u8;
    let listen = || TcpListener::bind(SocketAddr::new(Lab::server_address(v6, 0), 0));
    let listener = lab.server().run(listen).unwrap().unwrap();
    let to = listener.local_addr().unwrap();
    let client = lab.client().run(|| TcpStream::connect(to)).unwrap().unwrap();
    let (server, _) = listener.accept().unwrap();
    let (mut sender, mut receiver) = if is_up { (client, server) } else { (server, client) };
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let content: Vec<u8> = (0..bytes).map(pattern).collect();
            sender.write_all(&content).unwrap();
        });
        let mut got = Vec::with_capacity(bytes);
        receiver.read_to_end(&mut got).unwrap();
        assert_eq!(got.len(), bytes);
        assert!(got.iter().enumerate().all(|(at, &byte)| byte == pattern(at)));
    });
}

/// How long a flood lasts.
const FLOOD: Duration = Duration::from_secs(3);

/// Floods the engine's uploads with frames of 60 bytes from `threads` threads, as fast as the processors can
/// send them. The control interface answers, memory does not grow, and each frame is counted, as received by
/// the engine or as lost in front of the queue. Returns how many frames were sent and how many the engine
/// took.
fn flooded(lab: &Lab, engine: EngineHandle, threads: usize) -> [u64; 2] {
    let stop = AtomicBool::new(false);
    let before = packets(lab.client())[1];
    let memory = resident();
    let slowest = std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| lab.client().run(|| flood_of_frames(c"cli", &stop)).unwrap());
        }
        let _stops = Stops(&stop);
        let began = Instant::now();
        let mut slowest = Duration::ZERO;
        while began.elapsed() < FLOOD {
            let asked = Instant::now();
            let _ = engine.sample();
            engine.change(Direction::Down, Change::default()).unwrap();
            slowest = slowest.max(asked.elapsed());
            std::thread::sleep(Duration::from_millis(20));
        }
        slowest
    });
    let grown = resident().saturating_sub(memory);
    let sent = packets(lab.client())[1] - before;
    // Read what is in the socket.
    let mut arrived = 0;
    while arrived < engine.sample().up.arrived.packets {
        arrived = engine.sample().up.arrived.packets;
        std::thread::sleep(Duration::from_millis(100));
    }
    let asked = Instant::now();
    let report = engine.stop().unwrap();
    let stopping = asked.elapsed();
    let up = report.up.last;
    let lost = report.last.trouble.socket_drops;
    println!(
        "  sent {sent} in 3 s, arrived {}, lost in front of the queue {lost}, dropped {}",
        up.arrived.packets,
        up.dropped_in_all()
    );
    println!(
        "  slowest answer {slowest:?}, stopped in {stopping:?}, memory +{grown} kB, {:?}",
        report.last.lateness
    );
    // Frames that the client's kernel sends on its own do not reach the queue.
    let missing = sent - up.arrived.packets - lost;
    assert!(missing <= report.last.trouble.foreign, "{missing} of {sent}: {:?}", report.last.trouble);
    assert_eq!(
        up.arrived.packets,
        up.sent.packets + up.dropped_in_all() + u64::from(report.last.frames_used)
    );
    assert!(grown < 16 << 10, "{grown} kB more");
    assert!(
        stopping < Duration::from_secs(1) && slowest < Duration::from_secs(1),
        "{stopping:?} {slowest:?}"
    );
    // A run that lost frames in front of the queue reports it.
    let validity = report.validity();
    let tells = |reason: &String| reason.contains("before the engine read");
    assert!(lost == 0 || validity.reasons.iter().any(tells), "{validity:?}");
    [sent, up.arrived.packets]
}

/// An engine whose queue needs 100 us for each frame, so that it takes at most 10 000 in a second: a flood of
/// at least four times what the engine takes.
fn a_flood_of_short_frames_takes_no_memory_and_is_counted() -> Outcome {
    let lab = lab_or_skip!(&LabSpec::default());
    let line = || Line::from(Serializer::new(Rate(100_000_000)));
    let path = |queue| PathSpec { line: line(), ..PathSpec::new(queue) };
    let slow = TestQueue::slow(1000, Duration::from_micros(100), Instant::now() + FLOOD);
    let [sent, taken] = flooded(&lab, engine(&lab, path(slow), path(TestQueue::new(1000))), 2);
    if sent < 4 * taken {
        return Outcome::Skipped(format!(
            "a machine that sends four times the {taken} frames that the engine takes, not {sent}"
        ));
    }
    Outcome::Passed
}

/// The same with `fq_codel` at 100 Mbit/s. The engine has no real-time scheduling, and for each processor
/// eight threads flood: it gets too little of a processor to take a quarter.
fn a_flood_is_more_than_fq_codel_takes() -> Outcome {
    let lab = lab_or_skip!(&LabSpec::default());
    let rate = Rate(100_000_000);
    let path = |node| {
        let spec: QueueSpec = "fq_codel".parse().unwrap();
        let draws = Rng::stream(1, node, "queue");
        let queue = spec.build_with(rate, ETHERNET_FRAME, goodqueue_wire::now(), draws).unwrap();
        PathSpec { line: Line::from(Serializer::new(rate)), ..PathSpec::new(queue) }
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let spec = EngineSpec { around: Some(without_real_time), ..EngineSpec::new(path(0), path(1)) };
    let engine = Engine::start(&lab, spec).unwrap();
    let [sent, taken] = flooded(&lab, engine, 8 * processors);
    if sent < 4 * taken {
        return Outcome::Skipped(format!(
            "a machine that sends four times the {taken} frames that the engine takes, not {sent}"
        ));
    }
    Outcome::Passed
}

/// Memory of this process, kB (`VmRSS` of `proc_pid_status(5)`).
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn super_packets_are_refused() -> Outcome {
    const UDP_SEGMENT: i32 = 103;
    let lab = lab_or_skip!(&LabSpec::default());
    let engine = engine(&lab, open_path(), open_path());
    let (client, server) = udp_pair(&lab, false);
    set_option(&client, libc::IPPROTO_UDP, UDP_SEGMENT, 1400);
    // Offloads are off: the kernel cuts what the program sends in one call.
    client.send(&[5; 10 * 1400]).unwrap();
    for _ in 0..10 {
        assert_eq!(receive(&server).map(|datagram| datagram.len), Some(1400));
    }
    std::thread::sleep(Duration::from_millis(30));
    let sample = engine.sample();
    assert_eq!((sample.up.arrived.packets, sample.trouble.super_packets), (10, 0));
    lab.set_offloads(true).unwrap();
    client.send(&[5; 10 * 1400]).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let report = engine.stop().unwrap();
    assert_eq!(report.last.trouble.super_packets, 1, "{:?}", report.last.trouble);
    assert_eq!(report.up.last.arrived.packets, 10, "it never reached a queue");
    let validity = report.validity();
    assert!(!validity.valid && validity.reasons[0].contains("offload"), "{validity:?}");
    lab.set_offloads(false).unwrap();
    Outcome::Passed
}

fn an_exhausted_pool_is_reported() -> Outcome {
    let lab = lab_or_skip!(&LabSpec::default());
    let up = PathSpec { delays: vec![goodqueue::Span::from_millis(100)], ..open_path() };
    let spec = EngineSpec { frames: 256, ..spec(up, open_path()) };
    let engine = Engine::start(&lab, spec).unwrap();
    let (client, _server) = udp_pair(&lab, false);
    // 400 frames within the 100 ms for which the delay line holds them.
    for _ in 0..400 {
        client.send(&[9; 100]).unwrap();
    }
    std::thread::sleep(Duration::from_millis(300));
    let report = engine.stop().unwrap();
    assert!(report.last.trouble.pool_exhausted > 0, "{:?}", report.last);
    assert!(!report.validity().valid);
    assert_eq!(report.up.last.sent.packets, 400, "late, but not lost: they waited in the socket");
    Outcome::Passed
}

fn a_lab_has_one_engine_at_a_time() -> Outcome {
    let lab = lab_or_skip!(&LabSpec::default());
    let first = engine(&lab, open_path(), open_path());
    let spec = || spec(open_path(), open_path());
    assert!(matches!(Engine::start(&lab, spec()), Err(Error::Invalid { .. })));
    drop(first);
    Engine::start(&lab, spec()).unwrap().stop().unwrap();
    Outcome::Passed
}

fn a_pulled_cable_ends_the_run_and_keeps_what_was_measured() -> Outcome {
    for side in [Side::Client, Side::Server] {
        let lab = lab_or_skip!(&LabSpec::default());
        let engine = engine(&lab, open_path(), open_path());
        let (client, server) = udp_pair(&lab, false);
        ping_pong(&client, &server, 64, 20);
        lab.unplug(side).unwrap();
        let began = Instant::now();
        while engine.is_running() {
            assert!(began.elapsed() < Duration::from_secs(2), "the engine does not notice");
            std::thread::sleep(Duration::from_millis(5));
        }
        // The thread that has not lost its interface ends too.
        while engine_threads(std::process::id()).next().is_some() {
            assert!(began.elapsed() < Duration::from_secs(2), "a thread goes on alone");
            std::thread::sleep(Duration::from_millis(5));
        }
        let report = engine.stop().unwrap();
        let wanted = if side == Side::Client { "rcli" } else { "rsrv" };
        match &report.failure {
            Some(Error::LinkGone { interface, .. }) => assert_eq!(interface, wanted),
            other => panic!("{other:?}"),
        }
        assert_eq!((report.up.last.sent.packets, report.down.last.sent.packets), (20, 20));
        assert_eq!(report.lateness.count(), 40);
        assert!(!report.validity().valid);
    }
    Outcome::Passed
}

/// The interfaces and namespace names that this process sees.
fn traces() -> (Vec<String>, Vec<String>) {
    let names = |path: &str| -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
        let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    };
    (names("/sys/class/net"), names("/run/netns"))
}

/// The threads of engines in process `pid`.
fn engine_threads(pid: u32) -> impl Iterator<Item = String> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let is_engine = |path: &std::path::Path| {
        std::fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == "engine")
    };
    let engines = tasks.map(|task| task.path()).filter(move |path| is_engine(path));
    engines.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
}

/// Creates a veth pair between the client namespace of `witness` and the router of the engine in process
/// `pid`. When the kernel removes that router's namespace, the near end disappears too, which proves that
/// nothing holds the namespace any more. `false` without iproute2.
fn attach_witness(witness: &Lab, pid: u32) -> bool {
    let tid = engine_threads(pid).next().unwrap();
    let words = ["link", "add", "witness", "type", "veth", "peer", "name", "tied", "netns", &tid];
    let status = witness.client().run(|| Command::new("ip").args(words).status()).unwrap();
    let Ok(status) = status else { return false };
    assert!(status.success(), "{status}");
    assert!(sees_witness(witness));
    true
}

fn sees_witness(witness: &Lab) -> bool {
    // SAFETY: the name is NUL-terminated.
    witness.client().run(|| unsafe { libc::if_nametoindex(c"witness".as_ptr()) } != 0).unwrap()
}

/// Waits until the kernel has removed the other namespace, which it does in the background.
fn assert_witness_vanishes(witness: &Lab) {
    let began = Instant::now();
    while sees_witness(witness) {
        assert!(began.elapsed() < Duration::from_secs(10), "the router's namespace lives on");
        std::thread::sleep(Duration::from_millis(20));
    }
}

const NO_IP: &str = "the program ip (iproute2)";

fn nothing_is_left_behind() -> Outcome {
    let witness = lab_or_skip!(&LabSpec::default());
    let before = traces();
    let lab = lab_or_skip!(&LabSpec::default());
    let engine = engine(&lab, open_path(), open_path());
    assert_eq!(traces(), before, "the host sees nothing of a lab");
    if !attach_witness(&witness, std::process::id()) {
        return Outcome::Skipped(NO_IP.to_owned());
    }
    drop(engine);
    assert!(sees_witness(&witness));
    drop(lab);
    assert_witness_vanishes(&witness);
    assert_eq!(traces(), before);
    Outcome::Passed
}

/// Starts this program as a helper and waits until it is ready.
fn start_helper(words: &[&str]) -> std::process::Child {
    let mut child = Command::new("/proc/self/exe");
    child.arg("helper").args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = child.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child
}

fn a_killed_process_leaves_nothing_behind() -> Outcome {
    let witness = lab_or_skip!(&LabSpec::default());
    let before = traces();
    let mut child = start_helper(&["hold"]);
    let tied = attach_witness(&witness, child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    if !tied {
        return Outcome::Skipped(NO_IP.to_owned());
    }
    assert_witness_vanishes(&witness);
    assert_eq!(traces(), before);
    // And a child that asked for it dies with the thread that started it.
    let parent = std::process::id().to_string();
    let mut child = std::thread::spawn(move || start_helper(&["orphan", &parent])).join().unwrap();
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(began.elapsed() < Duration::from_secs(2), "the child outlives its parent");
        std::thread::sleep(Duration::from_millis(5));
    }
    Outcome::Passed
}

fn delays_differ_by_host() -> Outcome {
    let lab = lab_or_skip!(&LabSpec { hosts: 3, ..LabSpec::default() });
    let delays: Vec<_> = [5, 20].map(goodqueue::Span::from_millis).to_vec();
    let (report, medians) = valid_or_skip!(|| {
        let engine = engine(&lab, PathSpec { delays: delays.clone(), ..open_path() }, open_path());
        let medians = [0, 1, 2].map(|host| {
            let client = udp(lab.client(), Lab::client_address(false));
            let server = udp(lab.server(), Lab::server_address(false, host));
            client.connect(server.local_addr().unwrap()).unwrap();
            server.connect(client.local_addr().unwrap()).unwrap();
            ping_pong(&client, &server, 64, 20)
        });
        (engine.stop().unwrap(), medians)
    });
    println!(
        "  medians of 20 round trips each {medians:?}, lateness {:?}, cpu share {:.3}",
        report.last.lateness,
        report.cpu.share()
    );
    for (median, wanted) in medians.into_iter().zip([5, 20, 20]) {
        // Two passes through the engine, each at most as late as the 99th percentile of a valid run.
        let wanted = Duration::from_millis(wanted);
        let late = 2 * Duration::from_nanos(report.last.lateness_limit.0);
        assert!((wanted..wanted + late).contains(&median), "{median:?}");
    }
    Outcome::Passed
}

fn losses_are_drawn_and_counted() -> Outcome {
    let lab = lab_or_skip!(&LabSpec::default());
    let engine = engine(&lab, PathSpec { loss: 0.25, ..open_path() }, open_path());
    let (client, server) = udp_pair(&lab, false);
    server.set_nonblocking(true).unwrap();
    let mut came = 0;
    for _ in 0..20 {
        for _ in 0..20 {
            client.send(&[1; 32]).unwrap();
        }
        std::thread::sleep(Duration::from_millis(20));
        came += std::iter::from_fn(|| receive(&server)).count() as u64;
    }
    let up = engine.stop().unwrap().up.last;
    assert_eq!((up.arrived.packets, up.sent.packets), (400, came));
    assert_eq!(up.dropped(goodqueue::Reason::Loss), 400 - came);
    assert!((60..140).contains(&(400 - came)), "{came} came");
    Outcome::Passed
}

/// One thread or two: requests to the engine reach the thread of their direction, and the engine's answers
/// cover both directions.
fn an_engine_has_the_threads_that_are_asked_for() -> Outcome {
    let lab = lab_or_skip!(&LabSpec::default());
    let flows = FlowSpec { origin: goodqueue_wire::now(), step: goodqueue::Span::from_millis(100) };
    let spec = EngineSpec { flows: Some(flows), ..spec(open_path(), open_path()) };
    let wanted = if spec.threads == Threads::EachDirection { 2 } else { 1 };
    let engine = Engine::start(&lab, spec).unwrap();
    let (client, server) = udp_pair(&lab, false);
    ping_pong(&client, &server, 64, 10);
    let [up, down] =
        engine.contents().map(|inside| inside.connections.iter().map(|flow| flow.sent.packets).sum::<u64>());
    assert_eq!((up, down), (10, 10));
    // From now on each direction, separately, loses all packets.
    let lossy = || Change { loss: Some(1.0), ..Change::default() };
    let lost = |sample: &goodqueue_wire::EngineSample| {
        [sample.up, sample.down].map(|path| path.dropped(goodqueue::Reason::Loss))
    };
    for (direction, socket, drops) in [(Direction::Down, &server, [0, 1]), (Direction::Up, &client, [1, 1])] {
        engine.change(direction, lossy()).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        socket.send(&[7; 64]).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(lost(&engine.sample()), drops);
    }
    let sample = engine.sample();
    assert_eq!((sample.up.arrived.packets, sample.down.arrived.packets), (11, 11));
    assert_eq!((sample.lateness.count, sample.frames_used), (20, 0));
    let report = engine.stop().unwrap();
    assert_eq!(report.scheduling.threads, wanted);
    assert_eq!((report.lateness.count(), report.last.lateness.count), (20, 20));
    assert_eq!((report.up.last.arrived.packets, report.down.last.arrived.packets), (11, 11));
    let auto = Engine::start(&lab, EngineSpec::new(open_path(), open_path())).unwrap().stop().unwrap();
    assert_eq!(auto.scheduling.threads, if auto.scheduling.cpus > 2 { 2 } else { 1 });
    Outcome::Passed
}

/// A message about a UDP connection from `port` of this host; outside, the port is one higher.
fn translated(port: u16, is_new: bool) -> (Vec<u8>, NetfilterMessage) {
    let [inside, outside, server] = [[10, 0, 0, 5], [192, 0, 2, 1], [198, 51, 100, 7]].map(IpAddr::from);
    let tuple = |source, destination, source_port, destination_port| {
        vec![
            Tuple::Ip(vec![IPTuple::SourceAddress(source), IPTuple::DestinationAddress(destination)]),
            Tuple::Proto(vec![
                ProtoTuple::Protocol(Protocol::Udp),
                ProtoTuple::SourcePort(source_port),
                ProtoTuple::DestinationPort(destination_port),
            ]),
        ]
    };
    let mut attributes = vec![
        ConntrackAttribute::CtaTupleOrig(tuple(inside, server, port, 443)),
        ConntrackAttribute::CtaTupleReply(tuple(server, outside, 443, port + 1)),
    ];
    let message = if is_new {
        attributes.push(ConntrackAttribute::CtaTimeout(600));
        ConntrackMessage::New(attributes)
    } else {
        ConntrackMessage::Delete(attributes)
    };
    let mut packet = vec![0; 12];
    packet.extend([8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 198, 51, 100, 7]);
    packet.extend([port + 1, 443, 8, 0].map(u16::to_be_bytes).concat());
    (packet, NetfilterMessage::new(NetfilterHeader::new(NetfilterProtoFamily::IPv4, 0, 0), message))
}

/// The kernel's own connection tracking: connections that existed before, new ones, ones that are gone, and a
/// burst of more events than the kernel keeps for us.
fn connection_tracking_tells_who_is_behind_address_translation() -> Outcome {
    const BURST: std::ops::Range<u16> = 10_000..30_000;
    let lab = lab_or_skip!(&LabSpec::default());
    let tell = |ports: std::ops::Range<u16>, is_new: bool| {
        let told = lab.router().run(|| {
            let mut socket = Socket::new(NETLINK_NETFILTER).unwrap();
            socket.bind_auto().unwrap();
            for port in ports {
                let mut header = NetlinkHeader::default();
                header.flags = NLM_F_REQUEST | NLM_F_ACK | if is_new { NLM_F_CREATE | NLM_F_EXCL } else { 0 };
                let mut message =
                    NetlinkMessage::new(header, NetlinkPayload::from(translated(port, is_new).1));
                message.finalize();
                let mut bytes = vec![0; message.buffer_len()];
                message.serialize(&mut bytes);
                socket.send_to(&bytes, &netlink_sys::SocketAddr::new(0, 0), 0).unwrap();
                let (answer, _) = socket.recv_from_full().unwrap();
                let code = i32::from_ne_bytes(answer[16..20].try_into().unwrap());
                assert_eq!(code, 0, "{}", std::io::Error::from_raw_os_error(-code));
            }
        });
        told.unwrap();
    };
    let mut tracking = match lab.router().run(|| Tracking::open([true, false])).unwrap() {
        Ok(tracking) => tracking,
        Err(error) if error.is_missing() => return Outcome::Skipped(error.to_string()),
        Err(error) => panic!("{error}"),
    };
    tell(1..2, true);
    tell(3..4, true);
    let inside = Some([Ipv4Addr::new(10, 0, 0, 5), Ipv4Addr::new(198, 51, 100, 7)]);
    let packet = |port| translated(port, true).0;
    let (up, down) = (Direction::Up, Direction::Down);
    assert_eq!(tracking.inside(up, &packet(1)), inside, "it was told before its first packet");
    assert_eq!(tracking.inside(down, &packet(1)), None, "this direction was not asked for");
    // A connection that existed before; this view has its own list.
    let mut later = lab.router().run(|| Tracking::open([true, true])).unwrap().unwrap();
    assert_eq!(later.inside(up, &packet(3)), inside);
    tell(3..4, false);
    tracking.keep_up(goodqueue_wire::now());
    assert_eq!((tracking.inside(up, &packet(3)), tracking.inside(up, &packet(1))), (None, inside));
    tell(BURST, true);
    let began = Instant::now();
    while !BURST.step_by(7).all(|port| tracking.inside(up, &packet(port)) == inside) {
        assert!(began.elapsed() < Duration::from_secs(20), "the list was not read again");
        std::thread::sleep(Duration::from_millis(10));
        tracking.keep_up(goodqueue_wire::now());
    }
    Outcome::Passed
}

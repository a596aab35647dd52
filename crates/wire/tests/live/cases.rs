//! The tests.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use goodqueue::Rate;
use goodqueue_wire::{Error, Lab, LabSpec, PathSpec, Side};

use crate::net::{
    TestQueue, UDP_HEADERS, engine, flood, lab, open_path, ping_pong, receive, set_option, udp, udp_pair,
};
use crate::{Case, Outcome};

macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        pub(crate) const ALL: &[Case] = &[$(Case { name: stringify!($name), run: $name }),*];
    };
}

cases![
    lab_comes_up_and_is_as_asked,
    idle_engine_adds_little_delay,
    steady_rate_is_exact,
    marks_are_in_the_real_header,
    unprivileged_user_can_run_a_lab,
    super_packets_are_refused,
    a_pulled_cable_ends_the_run_and_keeps_what_was_measured,
    nothing_is_left_behind,
    a_killed_process_leaves_nothing_behind,
    delays_differ_by_host,
    losses_are_drawn_and_counted,
];

/// A lab by `spec`, or out of the test as skipped.
macro_rules! lab_or_skip {
    ($spec:expr) => {
        match lab($spec) {
            Ok(lab) => lab,
            Err(right) => return Outcome::Skipped(right),
        }
    };
}

fn lab_comes_up_and_is_as_asked() -> Outcome {
    let lab = lab_or_skip!(&LabSpec { hosts: 8, ..LabSpec::default() }.sysctl("net.ipv4.tcp_ecn", "1"));
    for side in [Side::Client, Side::Server] {
        let sysctls = lab.sysctls(side).unwrap();
        assert_eq!(sysctls["net.ipv4.tcp_ecn"], "1");
        assert_eq!(sysctls["net.ipv4.tcp_no_metrics_save"], "1");
        assert!(sysctls.contains_key("net.ipv4.tcp_rmem"), "{sysctls:?}");
    }
    let known = goodqueue_wire::available_congestion_controls().unwrap();
    assert!(known.iter().any(|name| name == "reno"), "{known:?}");
    // Every host answers over both families, and nothing foreign stands in the way of a valid result.
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

fn idle_engine_adds_little_delay() -> Outcome {
    let lab = lab_or_skip!(&LabSpec::default());
    // What the same sockets, threads and sleeps cost without an engine: over the loopback.
    let (a, b) =
        (udp(lab.client(), Lab::client_address(false)), udp(lab.client(), Lab::client_address(false)));
    a.connect(b.local_addr().unwrap()).unwrap();
    b.connect(a.local_addr().unwrap()).unwrap();
    let alone = ping_pong(&a, &b, 64, 300);
    for rate in [None, Some(Rate(100_000_000))] {
        let path = || PathSpec { rate, ..open_path() };
        let serialization = rate.map_or(0, |r| 2 * (64 + UDP_HEADERS as u64) * 8 * 1_000_000_000 / r.0);
        let mut tries = 0;
        loop {
            tries += 1;
            let engine = engine(&lab, path(), path());
            let (client, server) = udp_pair(&lab, false);
            let median = ping_pong(&client, &server, 64, 500);
            let report = engine.stop().unwrap();
            let added = median.saturating_sub(alone).saturating_sub(Duration::from_nanos(serialization));
            println!(
                "  rate {rate:?}: round trip {median:?}, loopback {alone:?}, added both ways {added:?}; lateness {:?}; {:?}",
                report.last.lateness, report.cpu
            );
            if !report.validity().valid && tries < 3 {
                continue;
            }
            assert!(report.validity().valid, "{:?}", report.validity());
            assert!(added < Duration::from_micros(100), "{added:?} in a round trip");
            break;
        }
    }
    Outcome::Passed
}

fn steady_rate_is_exact() -> Outcome {
    let lab = lab_or_skip!(&LabSpec::default());
    for rate in [Rate(1_000_000), Rate(10_000_000), Rate(100_000_000)] {
        let mut tries = 0;
        loop {
            tries += 1;
            let up = PathSpec { rate: Some(rate), ..PathSpec::new(TestQueue::new(100)) };
            let engine = engine(&lab, up, open_path());
            let measured = steady_rate(&lab, rate);
            let report = engine.stop().unwrap();
            let error = measured / rate.0 as f64 - 1.0;
            println!(
                "  {rate}: measured {measured:.0} bit/s, error {:+.4} %, lateness {:?}, cpu {:.3}, {:?}",
                error * 100.0,
                report.last.lateness,
                report.cpu.share(),
                report.host
            );
            if !report.validity().valid && tries < 3 {
                continue;
            }
            assert!(report.validity().valid, "{:?}", report.validity());
            assert!(error.abs() < 0.001, "{rate}: {measured} bit/s");
            let busy = report.up.busy_rate.unwrap();
            assert!((busy / rate.0 as f64 - 1.0).abs() < 1e-6, "{busy}");
            break;
        }
    }
    Outcome::Passed
}

/// Bits per second on the wire of a flood through a full queue, by the kernel's receive stamps.
fn steady_rate(lab: &Lab, rate: Rate) -> f64 {
    const LEN: usize = 1472;
    let (client, server) = udp_pair(lab, false);
    set_option(&server, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1);
    set_option(&server, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 8 << 20);
    let stop = AtomicBool::new(false);
    let mut stamps = Vec::with_capacity(20_000);
    std::thread::scope(|scope| {
        scope.spawn(|| flood(&client, LEN, rate.0 as f64 * 1.05, &stop));
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(1600) {
            let Some(datagram) = receive(&server) else { continue };
            // Half a second of warm-up: the queue must not run empty.
            if began.elapsed() >= Duration::from_millis(500) {
                assert_eq!(datagram.len, LEN);
                stamps.push(datagram.stamp.unwrap());
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    let span = stamps[stamps.len() - 1] - stamps[0];
    assert!(span >= 1_000_000_000, "{span} ns");
    (stamps.len() - 1) as f64 * ((LEN + UDP_HEADERS) * 8) as f64 * 1e9 / span as f64
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
            // It arrives at all only if the IPv4 checksum is right: the receiver's kernel checks it.
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
    // SAFETY: takes nothing and always succeeds.
    if unsafe { libc::geteuid() } == 0 {
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

fn super_packets_are_refused() -> Outcome {
    const UDP_SEGMENT: i32 = 103;
    let lab = lab_or_skip!(&LabSpec::default());
    let engine = engine(&lab, open_path(), open_path());
    let (client, server) = udp_pair(&lab, false);
    set_option(&client, libc::IPPROTO_UDP, UDP_SEGMENT, 1400);
    // Offloads are off: the kernel cuts what the program sends in one piece.
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

/// Interfaces that this process sees, names of namespaces, and how many namespaces the kernel has
/// (where it says).
fn traces() -> (Vec<String>, Vec<String>, Option<u64>) {
    let names = |path: &str| -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
        let mut names: Vec<_> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    let slabs = std::fs::read_to_string("/proc/slabinfo").unwrap_or_default();
    let count = slabs.lines().find(|line| line.starts_with("net_namespace "));
    let count = count.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    (names("/sys/class/net"), names("/run/netns"), count)
}

/// Waits until no more namespaces exist than before: the kernel takes them down in the background.
fn assert_no_trace(before: &(Vec<String>, Vec<String>, Option<u64>)) {
    let began = Instant::now();
    loop {
        let after = traces();
        assert_eq!((&after.0, &after.1), (&before.0, &before.1));
        match (before.2, after.2) {
            (Some(before), Some(after)) if after > before => {
                assert!(began.elapsed() < Duration::from_secs(10), "{after} namespaces, {before} before");
                std::thread::sleep(Duration::from_millis(50));
            }
            _ => return,
        }
    }
}

fn nothing_is_left_behind() -> Outcome {
    let before = traces();
    {
        let lab = lab_or_skip!(&LabSpec::default());
        let _engine = engine(&lab, open_path(), open_path());
        assert_eq!((&traces().0, &traces().1), (&before.0, &before.1), "the host sees nothing of a lab");
    }
    assert_no_trace(&before);
    Outcome::Passed
}

fn a_killed_process_leaves_nothing_behind() -> Outcome {
    drop(lab_or_skip!(&LabSpec::default()));
    std::thread::sleep(Duration::from_millis(500));
    let before = traces();
    let start = |words: &[&str]| {
        let mut child = Command::new("/proc/self/exe")
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        child
    };
    let mut child = start(&["helper", "hold"]);
    if let (Some(now), Some(then)) = (traces().2, before.2) {
        assert!(now > then, "the child has namespaces");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_no_trace(&before);
    // And a child that asked for it dies with its parent's thread.
    let parent = std::process::id().to_string();
    let child = std::thread::spawn(move || start(&["helper", "orphan", &parent]));
    let mut child = child.join().unwrap();
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
    let engine = engine(&lab, PathSpec { delays: delays.clone(), ..open_path() }, open_path());
    for (host, wanted) in [(0, 5), (1, 20), (2, 20)] {
        let client = udp(lab.client(), Lab::client_address(false));
        let server = udp(lab.server(), Lab::server_address(false, host));
        client.connect(server.local_addr().unwrap()).unwrap();
        server.connect(client.local_addr().unwrap()).unwrap();
        let median = ping_pong(&client, &server, 64, 20);
        let wanted = Duration::from_millis(wanted);
        assert!(median >= wanted && median < wanted + Duration::from_millis(2), "host {host}: {median:?}");
    }
    let report = engine.stop().unwrap();
    println!("  lateness with delay {:?}, cpu share {:.3}", report.last.lateness, report.cpu.share());
    Outcome::Passed
}

fn losses_are_drawn_and_counted() -> Outcome {
    let lab = lab_or_skip!(&LabSpec::default());
    let engine = engine(&lab, PathSpec { loss: 0.25, ..open_path() }, open_path());
    let (client, server) = udp_pair(&lab, false);
    for number in 0..400 {
        client.send(&[number as u8; 32]).unwrap();
        if number % 20 == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    server.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let came = std::iter::from_fn(|| receive(&server)).count() as u64;
    let up = engine.stop().unwrap().up.last;
    assert_eq!((up.arrived.packets, up.sent.packets), (400, came));
    assert_eq!(up.dropped(goodqueue::Reason::Loss), 400 - came);
    assert!((60..140).contains(&(400 - came)), "{came} came");
    Outcome::Passed
}

//! The memory that flows over QUIC take: alone in its process, so that nothing else is counted.

mod ends;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use goodqueue::Span;
use goodqueue_path::load::Secret;
use goodqueue_path::load::client::Control;
use goodqueue_path::load::message::Start;
use goodqueue_path::load::server::{Bounds, LoadServer};
use goodqueue_probe::net::{ClockWatch, Far, SharedClock, run_load};
use goodqueue_probe::{FlowCount, Params, Transport, resolve};

use ends::Ends;

/// Resident memory, bytes.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("it runs");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).expect("a number") * 1024
}

/// The table of docs/server.md. Client and server are one process here, so the figure bounds either.
#[test]
fn loopback_a_flow_takes_the_memory_that_the_page_says() {
    let secret = Secret::of("twelve letters").expect("long enough");
    let v4 = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let probe = std::net::TcpListener::bind((v4, 0)).expect("a port");
    let tcp = probe.local_addr().expect("it is bound");
    drop(probe);
    let mut server = LoadServer::bind(&[tcp], secret.clone(), false, Bounds::default()).expect("bound");
    server.bind_quic(&[v4], 0).expect("bound");
    let stop = AtomicBool::new(false);
    let grown = thread::scope(|scope| {
        let serving = scope.spawn(|| server.serve(&stop, &|_| ()));
        let ends = Ends(&stop);
        let measure = |flows: u32| {
            let params = Params {
                length: Span::from_secs(3),
                flows: Some(FlowCount::Both(flows)),
                transport: Transport::Quic,
                ..Params::default()
            };
            let test = resolve("tcp_ndown", &params).expect("a test");
            let mut control = Control::open(tcp, &secret).expect("the word is right");
            let at = ClockWatch::new().now().mono + 100_000_000;
            let start = Start { transport: Transport::Quic, ..Start::of(flows, at, test.load) };
            let session = control.start(start).expect("granted");
            let far = Far { server: tcp, session: Some(session), quic: control.quic().cloned() };
            let clock = SharedClock::starting_at(at);
            let (sink, samples) = channel();
            let (end, done) = (AtomicBool::new(false), AtomicBool::new(false));
            let before = resident();
            thread::scope(|scope| {
                let flows = scope.spawn(|| {
                    let flows = run_load(&test, &[far], &clock, &sink, &end);
                    done.store(true, Ordering::Relaxed);
                    flows.expect("it runs").flows.iter().filter(|flow| flow.error.is_none()).count()
                });
                let talk = scope.spawn(|| control.run(&mut |_| (), &done).expect("it ends"));
                let mut most = before;
                while !done.load(Ordering::Relaxed) {
                    most = most.max(resident());
                    samples.try_iter().for_each(drop);
                    thread::sleep(Duration::from_millis(10));
                }
                talk.join().expect("no panic");
                (most - before, flows.join().expect("no panic"))
            })
        };
        // Permanent allocations of the first load are not counted.
        measure(2);
        let grown = measure(100);
        drop(ends);
        serving.join().expect("no panic").expect("it serves");
        grown
    });
    let (bytes, flows) = grown;
    assert!(flows >= 90, "{flows} of 100 flows ran");
    eprintln!("{} bytes for a flow at both ends", bytes / 100);
    let page = include_str!("../../../docs/server.md");
    let row = page.lines().find(|line| line.starts_with("| flow over QUIC |")).expect("a row");
    let kb = row.split('|').nth(3).and_then(|cell| cell.trim().strip_suffix(" kB")).expect("kB");
    let most = kb.parse::<u64>().expect("a number") * 1000;
    assert!(bytes / 100 <= most, "{} bytes for a flow, and the page says {most}", bytes / 100);
}

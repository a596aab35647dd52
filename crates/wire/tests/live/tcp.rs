//! TCP through the engine.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use goodqueue::{AnyQueue, Rate, Span};
use goodqueue_wire::{Engine, EngineSpec, Frame, Lab, LabSpec, PathSpec, now};

use crate::Outcome;
use crate::cases::valid;
use crate::net::lab;

/// Sends TCP from client to server for `span` and returns the goodput in bit/s of all but the first
/// second of it.
fn tcp_goodput(lab: &Lab, span: Duration) -> f64 {
    let server = lab.server().run(|| TcpListener::bind((Lab::server_address(false, 0), 0))).unwrap().unwrap();
    let address = server.local_addr().unwrap();
    let client = lab.client().run(|| TcpStream::connect(address)).unwrap().unwrap();
    let cubic = c"cubic";
    // SAFETY: the value is a string of the length given.
    let done = unsafe {
        libc::setsockopt(
            client.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            cubic.as_ptr().cast(),
            5,
        )
    };
    assert_eq!(done, 0);
    let (mut sink, _) = server.accept().unwrap();
    sink.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    client.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    let (began, bytes) = (Instant::now(), vec![0_u8; 1 << 16]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while began.elapsed() < span {
                let _ = (&client).write(&bytes);
            }
        });
        let (mut buffer, mut total) = (vec![0_u8; 1 << 16], 0);
        while began.elapsed() < span {
            let got = sink.read(&mut buffer).unwrap_or(0);
            if began.elapsed() > Duration::from_secs(1) {
                total += got;
            }
        }
        total as f64 * 8.0 / (span.as_secs_f64() - 1.0)
    })
}

fn queue(name: &str, rate: Rate) -> AnyQueue<Frame> {
    let spec: goodqueue::QueueSpec = name.parse().unwrap();
    spec.build(rate, 1514, now()).unwrap()
}

pub(crate) fn tcp_fills_the_line_and_the_queue_decides_how_long_it_waits() -> Outcome {
    let lab = match lab(&LabSpec::default()) {
        Ok(lab) => lab,
        Err(right) => return Outcome::Skipped(right),
    };
    let (bloated, good) = match (queue_time(&lab, "pfifo:1000"), queue_time(&lab, "fq_codel")) {
        (Ok(bloated), Ok(good)) => (bloated, good),
        (Err(machine), _) | (_, Err(machine)) => return Outcome::Skipped(machine),
    };
    assert!(bloated > Duration::from_millis(100), "pfifo: {bloated:?}");
    assert!(good < Duration::from_millis(20), "fq_codel: {good:?}");
    Outcome::Passed
}

/// Runs TCP for 6 s through the queue `name` at 20 Mbit/s and 20 ms, wants the line filled, and returns
/// the 95th percentile of the time in the queue.
fn queue_time(lab: &Lab, name: &str) -> Result<Duration, String> {
    const RATE: Rate = Rate(20_000_000);
    let (report, goodput) = valid(|| {
        let path =
            |name| PathSpec { delays: vec![Span::from_millis(10)], ..PathSpec::new(queue(name, RATE)) };
        let up = PathSpec { rate: Some(RATE), ..path(name) };
        let engine = Engine::start(lab, EngineSpec::new(up, path("pfifo:1000"))).unwrap();
        let goodput = tcp_goodput(lab, Duration::from_secs(6));
        (engine.stop().unwrap(), goodput)
    })?;
    let sojourn = report.up.sojourn.quantile(0.95).unwrap();
    println!(
        "  {name}: goodput {goodput:.0} bit/s, queue time p95 {:.1} ms, drops {}, lateness {:?}, {:?}",
        sojourn.as_millis_f64(),
        report.up.last.dropped_in_all(),
        report.last.lateness,
        report.cpu
    );
    // 1448 of 1514 bytes are payload.
    assert!(goodput > 0.90 * 1448.0 / 1514.0 * RATE.0 as f64, "{name}: {goodput}");
    Ok(Duration::from_nanos(sojourn.0))
}

//! One TCP flow and a small UDP ping through one queue: the smallest whole use of lab and engine.
//!
//! ```text
//! one_flow RATE RTT CONGESTION-CONTROL QUEUE SECONDS      one_flow 10mbit 50ms cubic fq_codel 30
//! ```
//!
//! Prints goodput and mean round trip from the fifth second on. Needs root, or `unshare -Ur` around it.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use goodqueue::{AnyQueue, QueueSpec, Rate, Span};
use goodqueue_wire::{Engine, EngineSpec, Frame, Lab, LabSpec, PathSpec, now};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Before this, start-up is left out of the figures.
const STEADY: Duration = Duration::from_secs(5);

fn queue(text: &str, rate: Rate) -> Result<AnyQueue<Frame>> {
    let spec: QueueSpec = text.parse()?;
    Ok(spec.build(rate, 1514, now())?)
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [rate, rtt, control, name, seconds] = words.as_slice() else {
        return Err("usage: one_flow RATE RTT CONGESTION-CONTROL QUEUE SECONDS".into());
    };
    let (rate, rtt): (Rate, Span) = (rate.parse()?, rtt.parse()?);
    let run = Duration::from_secs(seconds.parse()?);

    let lab = Lab::new(&LabSpec::default().sysctl("net.ipv4.tcp_ecn", "0"))?;
    let delays = || vec![Span(rtt.0 / 2)];
    let up = PathSpec { rate: Some(rate), delays: delays(), ..PathSpec::new(queue(name, rate)?) };
    let down = PathSpec { delays: delays(), ..PathSpec::new(queue("pfifo", rate)?) };
    let engine = Engine::start(&lab, EngineSpec::new(up, down))?;

    let address = Lab::server_address(false, 0);
    let listener = lab.server().run(|| TcpListener::bind((address, 0)))??;
    let echo = lab.server().run(|| UdpSocket::bind((address, 0)))??;
    let to = (listener.local_addr()?, echo.local_addr()?);
    let sender = lab.client().run(|| TcpStream::connect(to.0))??;
    let ping = lab.client().run(|| UdpSocket::bind((Lab::client_address(false), 0)))??;
    ping.connect(to.1)?;
    set_congestion_control(&sender, control)?;
    let receiver = listener.accept()?.0;

    let began = Instant::now();
    let (goodput, trips) = std::thread::scope(|scope| {
        scope.spawn(|| send(&sender, began, run));
        scope.spawn(|| reflect(&echo, began, run));
        let sink = scope.spawn(|| receive(&receiver, began, run));
        let trips = round_trips(&ping, began, run);
        (sink.join().unwrap_or(0.0), trips)
    });
    let report = engine.stop()?;
    let mean = trips.iter().sum::<f64>() / trips.len() as f64;
    let last = report.up.last;
    println!(
        "{name}: goodput {:.4} Mbit/s, round trip mean {mean:.3} ms of {}, drops {}, queue time p50 {:.2} p99 {:.2} ms",
        goodput / 1e6,
        trips.len(),
        last.dropped_in_all(),
        report.up.sojourn.quantile(0.5).unwrap_or_default().as_millis_f64(),
        report.up.sojourn.quantile(0.99).unwrap_or_default().as_millis_f64(),
    );
    println!(
        "  lateness p50 {} p99 {} max {}, engine {:.1} % of a processor, machine {:?}, {:?}",
        report.last.lateness.p50,
        report.last.lateness.p99,
        report.last.lateness.max,
        report.cpu.share() * 100.0,
        report.host,
        report.validity(),
    );
    Ok(())
}

fn set_congestion_control(socket: &TcpStream, name: &str) -> Result<()> {
    let (level, option) = (libc::IPPROTO_TCP, libc::TCP_CONGESTION);
    let length = u32::try_from(name.len())?;
    // SAFETY: the value is a live string of the length given.
    let done = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, name.as_ptr().cast(), length) };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error().into()) }
}

fn send(mut socket: &TcpStream, began: Instant, run: Duration) {
    let _ = socket.set_write_timeout(Some(Duration::from_millis(200)));
    let bytes = vec![0; 1 << 16];
    while began.elapsed() < run {
        let _ = socket.write(&bytes);
    }
}

/// Goodput in bit/s of the steady part.
fn receive(mut socket: &TcpStream, began: Instant, run: Duration) -> f64 {
    let _ = socket.set_read_timeout(Some(Duration::from_millis(200)));
    let (mut bytes, mut total) = (vec![0; 1 << 16], 0);
    while began.elapsed() < run {
        let got = socket.read(&mut bytes).unwrap_or(0);
        if began.elapsed() >= STEADY {
            total += got;
        }
    }
    total as f64 * 8.0 / run.saturating_sub(STEADY).as_secs_f64()
}

fn reflect(socket: &UdpSocket, began: Instant, run: Duration) {
    let _ = socket.set_read_timeout(Some(Duration::from_millis(200)));
    let mut bytes = [0; 64];
    while began.elapsed() < run + Duration::from_secs(2) {
        if let Ok((len, from)) = socket.recv_from(&mut bytes) {
            let _ = socket.send_to(&bytes[..len], from);
        }
    }
}

/// Round trips in ms of the steady part, one datagram each 20 ms, each carrying its time of sending.
fn round_trips(socket: &UdpSocket, began: Instant, run: Duration) -> Vec<f64> {
    let _ = socket.set_read_timeout(Some(Duration::from_millis(200)));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while began.elapsed() < run {
                let _ = socket.send(&began.elapsed().as_secs_f64().to_ne_bytes());
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let (mut trips, mut bytes) = (Vec::new(), [0; 8]);
        while began.elapsed() < run + Duration::from_secs(2) {
            if matches!(socket.recv(&mut bytes), Ok(8)) {
                let sent = f64::from_ne_bytes(bytes);
                if sent >= STEADY.as_secs_f64() {
                    trips.push((began.elapsed().as_secs_f64() - sent) * 1e3);
                }
            }
        }
        trips
    })
}

//! Loads over loopback: a client that has the secret, and clients that do not.

#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use goodqueue::{Rate, Span};
use goodqueue_path::load::client::{Control, Failure};
use goodqueue_path::load::message::{Ended, Start, Why};
use goodqueue_path::load::server::{Bounds, Event, LoadServer};
use goodqueue_path::load::{Secret, word};
use goodqueue_probe::net::{ClockWatch, Far, LoadSummary, SessionId, SharedClock, run_load};
use goodqueue_probe::{Direction, End, Params, Sample, Test, resolve};

use crate::ends::Ends;

fn free_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// Runs `body` while a server runs, and returns the server's events.
fn with_server(bounds: Bounds, secret: &Secret, body: impl FnOnce(SocketAddr)) -> Vec<Event> {
    let at = free_port();
    let server = LoadServer::bind(&[at], secret.clone(), false, bounds).unwrap();
    let (stop, (sender, events)) = (AtomicBool::new(false), sync_channel(1000));
    thread::scope(|scope| {
        let serving = scope.spawn(|| server.serve(&stop, &|event| drop(sender.try_send(event))));
        let ends = Ends(&stop);
        body(at);
        drop(ends);
        serving.join().unwrap().unwrap();
    });
    events.try_iter().collect()
}

fn secret() -> Secret {
    Secret::of(&word::random().unwrap()).unwrap()
}

fn test(name: &str) -> Test {
    let [length, step, idle] = [300, 100, 0].map(Span::from_millis);
    resolve(name, &Params { length, step, idle, ..Params::default() }).unwrap()
}

/// One load: the client's summary, the server's message at the end, and all samples.
fn run(at: SocketAddr, control: &mut Control, test: &Test) -> (LoadSummary, Ended, Vec<Sample>) {
    let start = ClockWatch::new().now().mono + 50_000_000;
    let session = control.start(Start::of(test.flows.len() as u32, start, test.load)).unwrap();
    let (clock, (sink, samples)) = (SharedClock::starting_at(start), channel());
    let (done, mut far) = (AtomicBool::new(false), Vec::new());
    let (near, ended) = thread::scope(|scope| {
        let flows = scope.spawn(|| {
            let end = run_load(
                test,
                &[Far { server: at, session: Some(session), quic: None }],
                &clock,
                &sink,
                &AtomicBool::new(false),
            );
            done.store(true, Ordering::Relaxed);
            end.unwrap()
        });
        let ended = control.run(&mut |sample| far.push(sample), &done).unwrap();
        (flows.join().unwrap(), ended)
    });
    drop(sink);
    far.extend(samples);
    (near, ended, far)
}

/// One load that ends as planned; returns all its samples.
fn load(at: SocketAddr, control: &mut Control, test: &Test) -> Vec<Sample> {
    let (near, ended, samples) = run(at, control, test);
    assert!(near.flows.iter().all(|flow| flow.error.is_none()), "{near:?}");
    assert_eq!((ended.refused, &ended.error), (0, &None));
    // Nothing but processors limits a load over loopback; a smaller share is not told.
    assert!(ended.busy_permille.is_none_or(|busy| (950..=1000).contains(&busy)), "{ended:?}");
    let downloads = test.flows.iter().filter(|flow| flow.direction == Direction::Down).count();
    assert!(ended.cc.iter().all(|(_, cc)| cc == "cubic"), "{ended:?}");
    assert_eq!(ended.cc.len(), downloads);
    samples
}

#[test]
fn loopback_one_control_connection_runs_loads_in_both_directions() {
    let secret = secret();
    let events = with_server(Bounds::default(), &secret, |at| {
        let mut control = Control::open(at, &secret).unwrap();
        let (ahead, error) = control.ahead();
        assert!(ahead.abs() <= error, "one host has one clock: {ahead} +- {error} ns");
        for name in ["tcp_2up", "tcp_2down", "rrul_be"] {
            let (test, mut sent, mut received) = (test(name), vec![0; 8], vec![0; 8]);
            for sample in load(at, &mut control, &test) {
                match sample {
                    Sample::Received { flow, bytes, .. } => received[flow as usize] += bytes,
                    Sample::FlowEnd { flow, end: End::Sender, bytes_total, .. } => {
                        sent[flow as usize] += bytes_total;
                    }
                    _ => {}
                }
            }
            for flow in 0..test.flows.len() {
                assert!(
                    received[flow] > 0 && received[flow] <= sent[flow],
                    "{name}: {received:?} of {sent:?}"
                );
            }
        }
    });
    let started = events.iter().filter(|event| matches!(event, Event::Started { .. })).count();
    let ended = events.iter().filter(|event| matches!(event, Event::Ended { refused: 0, .. })).count();
    assert_eq!((started, ended), (3, 3), "{events:?}");
}

#[test]
fn loopback_a_load_that_its_pacing_limits_does_not_make_the_server_busy() {
    let secret = secret();
    with_server(Bounds::default(), &secret, |at| {
        let mut control = Control::open(at, &secret).unwrap();
        let mut paced = test("tcp_2up");
        paced.flows.iter_mut().for_each(|flow| flow.max_rate = Some(Rate(5_000_000)));
        let (_, ended, _) = run(at, &mut control, &paced);
        assert_eq!((ended.busy_permille, ended.error), (None, None));
    });
}

#[test]
fn loopback_a_client_without_the_key_gets_nothing() {
    let (ours, other) = (secret(), secret());
    with_server(Bounds::default(), &ours, |at| {
        assert!(matches!(Control::open(at, &other), Err(Failure::Key)));
        // A flow of no session, a page of the web, and something that looks like TLS.
        let preface = SessionId::random().unwrap().preface();
        for bytes in [&preface[..], b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x00\x05hello"] {
            let mut stream = TcpStream::connect(at).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            stream.write_all(bytes).unwrap();
            let mut answer = Vec::new();
            // A reset is equivalent to an end.
            let _ = stream.read_to_end(&mut answer);
            assert!(answer.len() < 64, "an alert of TLS at most: {answer:?}");
        }
        assert!(Control::open(at, &ours).is_ok());
    });
    let nobody = free_port();
    assert!(matches!(Control::open(nobody, &ours), Err(Failure::Connect(_))));
}

#[test]
fn loopback_a_flow_must_come_from_the_address_of_its_control_connection() {
    let secret = secret();
    let at = free_port();
    let six = SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), at.port());
    let server = LoadServer::bind(&[at, six], secret.clone(), false, Bounds::default()).unwrap();
    let (stop, (sender, _events)) = (AtomicBool::new(false), sync_channel(1000));
    thread::scope(|scope| {
        let serving = scope.spawn(|| server.serve(&stop, &|event| drop(sender.try_send(event))));
        let ends = Ends(&stop);
        let mut control = Control::open(at, &secret).unwrap();
        let test = test("tcp_1down");
        for (to, is_ours) in [(six, false), (at, true)] {
            let start = ClockWatch::new().now().mono;
            let session = control.start(Start::of(1, start, test.load)).unwrap();
            let (clock, (sink, _samples)) = (SharedClock::starting_at(start), channel());
            let end = run_load(
                &test,
                &[Far { server: to, session: Some(session), quic: None }],
                &clock,
                &sink,
                &AtomicBool::new(false),
            )
            .unwrap();
            let ended = control.run(&mut |_| {}, &AtomicBool::new(true)).unwrap();
            assert_eq!(
                (end.flows[0].bytes > 0, ended.cc.len() == 1),
                (is_ours, is_ours),
                "{end:?} {ended:?}"
            );
        }
        drop(ends);
        serving.join().unwrap().unwrap();
    });
}

#[test]
fn loopback_what_a_server_does_not_allow_is_refused_with_its_limit() {
    let secret = secret();
    let bounds = Bounds { flows: 2, loads: 1, length: Span::from_secs(1), ..Bounds::default() };
    with_server(bounds, &secret, |at| {
        let now = ClockWatch::new().now().mono;
        let open = || Control::open(at, &secret).unwrap();
        let refused = |end| match end {
            Err(Failure::Refused(why)) => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(refused(open().start(Start::of(3, now, Span::from_secs(1)))), Why::Flows(2));
        assert_eq!(refused(open().start(Start::of(1, now, Span::from_secs(2)))), Why::Length(1_000_000_000));
        let mut first = open();
        first.start(Start::of(1, now, Span::from_secs(1))).unwrap();
        assert_eq!(refused(open().start(Start::of(1, now, Span::from_secs(1)))), Why::Busy);
        // Its place is free once it has ended.
        first.run(&mut |_| {}, &AtomicBool::new(true)).unwrap();
        assert!(open().start(Start::of(1, ClockWatch::new().now().mono, Span::from_secs(1))).is_ok());
    });
}

#[test]
fn loopback_a_load_beyond_the_server_s_rate_is_ended() {
    let secret = secret();
    with_server(Bounds { rate: Rate(10_000_000), ..Bounds::default() }, &secret, |at| {
        for name in ["tcp_2up", "tcp_2down"] {
            let mut control = Control::open(at, &secret).unwrap();
            let (_, ended, samples) = run(at, &mut control, &test(name));
            let error = ended.error.expect("the load was ended");
            assert!(error.contains("10mbit") && error.contains("--load-rate"), "{error}");
            // The bytes that the rate allows in the 0.3 s of the load and the second ahead, plus a turn of
            // each flow.
            let most = 1_250_000 * 13 / 10 + 2 * (128 << 10);
            let received =
                |sample: &Sample| if let Sample::Received { bytes, .. } = sample { *bytes } else { 0 };
            let bytes: u64 = samples.iter().map(received).sum();
            assert!(bytes < most, "{name}: {bytes} bytes");
        }
    });
}

#[test]
fn loopback_a_server_that_is_stopped_says_so() {
    let (secret, at) = (secret(), free_port());
    let server = LoadServer::bind(&[at], secret.clone(), false, Bounds::default()).unwrap();
    let stop = AtomicBool::new(false);
    let [length, step, idle] = [5000, 100, 0].map(Span::from_millis);
    let longer = resolve("tcp_2up", &Params { length, step, idle, ..Params::default() }).unwrap();
    thread::scope(|scope| {
        let ends = Ends(&stop);
        scope.spawn(|| server.serve(&stop, &|_| ()).unwrap());
        let loaded = scope.spawn(|| run(at, &mut Control::open(at, &secret).unwrap(), &longer));
        thread::sleep(Duration::from_secs(1));
        drop(ends);
        let (near, ended, _) = loaded.join().unwrap();
        let error = ended.error.expect("the load was not over");
        assert!(error.contains("somebody stopped it; start it again"), "{error}");
        assert!(near.flows.iter().all(|flow| flow.error.is_some()), "{near:?}");
    });
}

#[test]
fn loopback_a_flood_of_silent_connections_stops_nobody() {
    let secret = secret();
    with_server(Bounds::default(), &secret, |at| {
        // More connections than the table has places: some send nothing, some begin the preface of a flow and
        // stop in it.
        let silent: Vec<TcpStream> = (0..400)
            .map(|number| {
                let mut stream = TcpStream::connect(at).unwrap();
                if number % 2 == 0 {
                    stream.write_all(b"GQs1").unwrap();
                }
                stream
            })
            .collect();
        let began = Instant::now();
        let mut control = Control::open(at, &secret).unwrap();
        load(at, &mut control, &test("tcp_1up"));
        assert!(began.elapsed() < Duration::from_secs(8), "it waits for none of them");
        drop(silent);
    });
}

//! Load over QUIC between a server and a client on loopback, and the server's answers to strangers.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use goodqueue::{Rate, Span};
use goodqueue_path::load::Secret;
use goodqueue_path::load::client::Control;
use goodqueue_path::load::message::{Ended, Start};
use goodqueue_path::load::server::{Bounds, LoadServer};
use goodqueue_path::load::tls::quic_keys;
use goodqueue_probe::net::{ClockWatch, Far, LoadSummary, QuicFar, SessionId, SharedClock, run_load};
use goodqueue_probe::{End, Params, Sample, Test, Transport, resolve};

use crate::ends::Ends;

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn secret(word: &str) -> Secret {
    Secret::of(word).expect("long enough")
}

/// A server that serves while `during` runs: its TCP address and its UDP port of QUIC.
fn served<T>(bounds: Bounds, during: impl FnOnce(SocketAddr, SocketAddr) -> T) -> T {
    let any = SocketAddr::new(V4, 0);
    let probe = std::net::TcpListener::bind(any).expect("a port");
    let tcp = probe.local_addr().expect("it is bound");
    drop(probe);
    let mut server = LoadServer::bind(&[tcp], secret("twelve letters"), false, bounds).expect("bound");
    server.bind_quic(&[V4], 0).expect("bound");
    let udp = SocketAddr::new(V4, server.quic_port().expect("bound"));
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let serving = scope.spawn(|| server.serve(&stop, &|_| ()));
        let ends = Ends(&stop);
        let result = during(tcp, udp);
        drop(ends);
        serving.join().expect("no panic").expect("it serves");
        result
    })
}

fn test(name: &str, cc: &str) -> Test {
    let params = Params {
        length: Span::from_millis(1500),
        step: Span::from_millis(100),
        cc: Some(cc.into()),
        transport: Transport::Quic,
        ..Params::default()
    };
    resolve(name, &params).expect("a test")
}

/// A load over QUIC.
fn start(flows: usize, at: i64, length: Span) -> Start {
    let flows = u32::try_from(flows).expect("few");
    Start { transport: Transport::Quic, ..Start::of(flows, at, length) }
}

/// A server's ends, for a client that has this word.
fn far(tcp: SocketAddr, session: SessionId, port: u16, word: &str) -> Far {
    let keys = quic_keys(&secret(word)).expect("keys").1;
    Far { server: tcp, session: Some(session), quic: Some(QuicFar { port, keys }) }
}

/// Runs a test: returns the client's summary, the server's message and all samples.
fn load(tcp: SocketAddr, test: &Test) -> (LoadSummary, Ended, Vec<Sample>) {
    let secret = secret("twelve letters");
    let mut control = Control::open(tcp, &secret).expect("the word is right");
    let at = ClockWatch::new().now().mono + 100_000_000;
    let session = control.start(start(test.flows.len(), at, test.load)).expect("granted");
    let server = Far { server: tcp, session: Some(session), quic: control.quic().cloned() };
    let clock = SharedClock::starting_at(at);
    let (sink, samples) = channel();
    let (stop, done) = (AtomicBool::new(false), AtomicBool::new(false));
    let (flows, ended) = thread::scope(|scope| {
        let (near, done) = (sink.clone(), &done);
        let far = sink.clone();
        let flows = scope.spawn(|| {
            let near = near;
            let flows = run_load(test, &[server], &clock, &near, &stop);
            done.store(true, Ordering::Relaxed);
            flows.expect("it runs")
        });
        let ended = control.run(&mut |sample| drop(far.send(sample)), done).expect("it ends");
        (flows.join().expect("no panic"), ended)
    });
    drop(sink);
    (flows, ended, samples.iter().collect())
}

#[test]
fn loopback_flows_go_both_ways_with_each_congestion_control() {
    served(Bounds::default(), |tcp, _| {
        for (name, cc) in
            [("tcp_2up", "cubic"), ("tcp_2down", "reno"), ("tcp_2down", "bbr"), ("tcp_2up", "bbr")]
        {
            let test = test(name, cc);
            let (flows, ended, samples) = load(tcp, &test);
            let cc = test.flows[0].cc.clone();
            assert_eq!((ended.refused, &ended.error), (0, &None), "{name} {cc}");
            assert!(
                flows.flows.iter().all(|flow| flow.error.is_none() && flow.connected.is_some()),
                "{flows:?}"
            );
            let is_down = name.contains("down");
            let told = if is_down { vec![(0, cc.clone()), (1, cc.clone())] } else { vec![] };
            assert_eq!(ended.cc, told, "who sends says with what");
            for (index, flow) in (0u32..).zip(&flows.flows) {
                let own = || {
                    samples.iter().filter(|sample| {
                        matches!(sample, Sample::Received { flow, .. } | Sample::Tcp { flow, .. }
                        | Sample::FlowEnd { flow, .. } if *flow == index)
                    })
                };
                let received: u64 =
                    own().map(|s| if let Sample::Received { bytes, .. } = s { *bytes } else { 0 }).sum();
                assert!(received > 500_000, "{name} {cc}: {received} bytes");
                let ends: Vec<_> = own()
                    .filter_map(|sample| match sample {
                        Sample::FlowEnd { end, bytes_total, error: None, .. } => Some((*end, *bytes_total)),
                        _ => None,
                    })
                    .collect();
                assert_eq!(ends.len(), 2, "each end says once that it is over, without an error: {ends:?}");
                for (end, bytes) in ends {
                    if end == End::Receiver {
                        assert_eq!(bytes, received, "the steps add up");
                    } else {
                        assert!(bytes >= received);
                    }
                }
                let states: Vec<_> = own()
                    .filter_map(|s| if let Sample::Tcp { info, .. } = s { Some(*info) } else { None })
                    .collect();
                assert!(states.len() >= 5, "{}", states.len());
                assert!(states.iter().skip(1).all(|info| info.cwnd_segments > 1 && info.srtt_us > 0));
                assert_eq!(flow.cc, if is_down { String::new() } else { cc.clone() });
            }
            assert!(ended.busy_permille.is_some_and(|busy| (1..=1000).contains(&busy)), "{ended:?}");
        }
    });
}

#[test]
fn loopback_a_load_beyond_the_server_s_rate_is_ended() {
    served(Bounds { rate: Rate(1_000_000), ..Bounds::default() }, |tcp, _| {
        for name in ["tcp_2up", "tcp_2down"] {
            let (flows, ended, _) = load(tcp, &test(name, "cubic"));
            let error = ended.error.expect("the load was ended");
            assert!(error.contains("1mbit") && error.contains("--load-rate"), "{error}");
            assert!(flows.flows.iter().all(|flow| flow.error.is_some()), "{name}: {flows:?}");
        }
    });
}

#[test]
fn loopback_the_wrong_word_makes_no_connection() {
    served(Bounds::default(), |tcp, udp| {
        let mut control = Control::open(tcp, &secret("twelve letters")).expect("the word is right");
        let at = ClockWatch::new().now().mono;
        let test = test("tcp_1up", "cubic");
        let session = control.start(start(1, at, test.load)).expect("granted");
        let (sink, _samples) = channel();
        let (clock, stop) = (SharedClock::starting_at(at), AtomicBool::new(false));
        // Another word, and so another server key; and the right word with another session.
        let wrong = far(tcp, session, udp.port(), "twelve lettres");
        let flows = run_load(&test, &[wrong], &clock, &sink, &stop).expect("it runs");
        assert!(flows.flows[0].connected.is_none() && flows.flows[0].error.is_some(), "{flows:?}");
        let other = far(tcp, SessionId::random().expect("random"), udp.port(), "twelve letters");
        let clock = SharedClock::starting_at(ClockWatch::new().now().mono);
        let flows = run_load(&test, &[other], &clock, &sink, &stop).expect("it runs");
        assert_eq!(flows.flows[0].error.as_deref(), Some("closed by the other end"), "{flows:?}");
    });
}

#[test]
fn loopback_strangers_get_nothing_and_clients_no_more_than_they_sent() {
    served(Bounds::default(), |tcp, udp| {
        // The first packets of real connections, as a socket in between sees them.
        let tap = UdpSocket::bind((V4, 0)).expect("a socket");
        tap.set_read_timeout(Some(Duration::from_secs(5))).expect("set");
        let test = test("tcp_1up", "cubic");
        let (sink, _samples) = channel();
        let clock = SharedClock::starting_at(ClockWatch::new().now().mono);
        let stop = AtomicBool::new(false);
        let mut initial = vec![0; 2048];
        thread::scope(|scope| {
            let session = SessionId::random().expect("random");
            let at = tap.local_addr().expect("it is bound");
            let far = far(tcp, session, at.port(), "twelve letters");
            let (test, clock, sink, stop) = (&test, &clock, sink.clone(), &stop);
            scope.spawn(move || run_load(test, &[far], clock, &sink, stop));
            let len = tap.recv(&mut initial).expect("an Initial");
            initial.truncate(len);
            stop.store(true, Ordering::Relaxed);
        });
        assert!(initial.len() >= 1200);
        let ask = |socket: &UdpSocket| {
            let (mut sent, mut got) = (0, 0);
            for number in 0..50_u8 {
                // A different connection each time: other connection IDs, whose tag is then wrong, and once
                // the right one.
                let mut bytes = initial.clone();
                bytes[7] ^= number;
                sent += socket.send_to(&bytes, udp).expect("sent");
            }
            // A stray packet of an unknown connection, and another version.
            sent += socket.send_to(&[0x40; 1200], udp).expect("sent");
            sent += socket.send_to(&[&[0xc0, 1, 2, 3, 4][..], &initial[5..]].concat(), udp).expect("sent");
            let mut buf = [0; 2048];
            while let Ok(len) = socket.recv(&mut buf) {
                got += len;
            }
            (sent, got)
        };
        let socket = || {
            let socket = UdpSocket::bind((V4, 0)).expect("a socket");
            socket.set_read_timeout(Some(Duration::from_millis(500))).expect("set");
            socket
        };
        let (sent, got) = ask(&socket());
        assert_eq!(got, 0, "{sent} bytes of a stranger");
        let mut control = Control::open(tcp, &secret("twelve letters")).expect("the word is right");
        let at = ClockWatch::new().now().mono;
        control.start(start(1, at, Span::from_secs(5))).expect("granted");
        let (sent, got) = ask(&socket());
        assert!(got > 0 && got <= sent, "{got} bytes for {sent}");
        // A client from an address other than the one that requested the load gets nothing.
        let elsewhere = UdpSocket::bind((Ipv4Addr::new(127, 0, 0, 9), 0)).expect("a socket");
        elsewhere.set_read_timeout(Some(Duration::from_millis(500))).expect("set");
        assert_eq!(ask(&elsewhere).1, 0);
    });
}

#[test]
fn loopback_more_flows_than_the_load_may_have_are_refused() {
    served(Bounds { loads: 1, flows: 1, ..Bounds::default() }, |tcp, udp| {
        let mut control = Control::open(tcp, &secret("twelve letters")).expect("the word is right");
        let at = ClockWatch::new().now().mono;
        let test = test("tcp_4up", "cubic");
        let session = control.start(start(1, at, test.load)).expect("granted");
        let (sink, _samples) = channel();
        let (clock, stop) = (SharedClock::starting_at(at), AtomicBool::new(false));
        let far = far(tcp, session, udp.port(), "twelve letters");
        let flows = run_load(&test, &[far], &clock, &sink, &stop).expect("it runs");
        let served = flows.flows.iter().filter(|flow| flow.error.is_none()).count();
        // Two places for each flow, as for TCP: one may be closing while the next connects.
        assert_eq!(served, 2, "{flows:?}");
    });
}

#[test]
fn loopback_a_flow_over_tcp_is_not_served_in_a_load_over_quic() {
    served(Bounds::default(), |tcp, _| {
        let mut control = Control::open(tcp, &secret("twelve letters")).expect("the word is right");
        let at = ClockWatch::new().now().mono;
        let test = resolve("tcp_1down", &Params { length: Span::from_secs(1), ..Params::default() })
            .expect("a test");
        let session = control.start(Start { web: 1, ..start(1, at, test.load) }).expect("granted");
        let (sink, _samples) = channel();
        let (clock, stop) = (SharedClock::starting_at(at), AtomicBool::new(false));
        let far = Far { server: tcp, session: Some(session), quic: None };
        let flows = run_load(&test, &[far], &clock, &sink, &stop).expect("it runs");
        assert!(flows.flows[0].bytes == 0 && flows.flows[0].error.is_some(), "{flows:?}");
        let ended = control.run(&mut |_| {}, &AtomicBool::new(true)).expect("it ends");
        assert_eq!(ended.refused, 1);
    });
}

//! Our server and client with irtt's, both ways, over loopback and over a relay that delays, loses and
//! reorders. Debian's program is `irtt`; GOODQUEUE_IRTT names others, which `./check` builds from source,
//! separated by `:`.

#![allow(clippy::unwrap_used)]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::relay::{Relay, What};
use goodqueue::Span;
use goodqueue_path::client::{OpenFailure, Plan, Session, Summary};
use goodqueue_path::fill::Fill;
use goodqueue_path::irtt_json::{About, document};
use goodqueue_path::key::Key;
use goodqueue_path::params::Params;
use goodqueue_path::result::Trips;
use goodqueue_path::server::listen::Listener;
use goodqueue_path::server::{Limits, Server};
use goodqueue_probe::echo::Schedule;
use serde_json::Value;

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

/// irtt's programs; without one the test is skipped, with a message.
fn irtts(test: &str) -> Vec<String> {
    let named = std::env::var("GOODQUEUE_IRTT").unwrap_or_default();
    let named = named.split(':').filter(|name| !name.is_empty());
    let programs = ["irtt"].into_iter().chain(named).map(str::to_owned);
    let runs = |program: &String| {
        let output = Command::new(program).arg("version").stdout(Stdio::null()).status();
        output.is_ok_and(|status| status.success())
    };
    let found: Vec<String> = programs.filter(runs).collect();
    if found.is_empty() {
        assert!(std::env::var_os("GOODQUEUE_REQUIRE_ALL").is_none(), "{test}: irtt is not installed");
        // Bypass the test runner's capture, so that it is seen and counted.
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "SKIPPED: {test}: irtt is not installed");
    }
    found
}

/// The version that `program` prints.
fn version(program: &str) -> String {
    let output = Command::new(program).arg("version").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().find_map(|line| line.strip_prefix("irtt version: ")).unwrap_or_default().to_owned()
}

/// The versions with which the tests of this file ran.
#[test]
fn irtt_is_here_in_all_its_versions() {
    let test = "irtt_is_here_in_all_its_versions";
    let found: Vec<String> = irtts(test).iter().map(|program| version(program)).collect();
    for wanted in ["0.9.0", "0.9.1", "0.9.2"] {
        if !found.iter().any(|version| version == wanted) {
            let why = format!("irtt {wanted} is not here; ./check installs or builds it");
            assert!(std::env::var_os("GOODQUEUE_REQUIRE_ALL").is_none(), "{test}: {why}");
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "SKIPPED: {test}: {why}");
        }
    }
}

/// Serves while `work` runs with the port.
fn with_server<T>(key: Option<&str>, work: impl FnOnce(u16) -> T) -> T {
    let listener = Listener::bind(&[V4, V6], 0).unwrap();
    let port = listener.addresses()[0].port();
    // Many clients start at once here.
    let limits = Limits { opens_per_second: 1000, ..Limits::default() };
    let mut server = Server::new(limits, key.map(|key| Key::parse(key).unwrap()), 1);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| listener.serve(&mut server, None, &stop, &mut |_| {}).unwrap());
        let _stops = Stops(&stop);
        work(port)
    })
}

/// Stops a server when dropped, even if the test fails.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// irtt's server, which ends when dropped.
struct Irtt {
    child: Child,
    port: u16,
}

impl Irtt {
    fn serve(program: &str, host: IpAddr, options: &[&str]) -> Irtt {
        // A port that was free just now.
        let port = UdpSocket::bind((host, 0)).unwrap().local_addr().unwrap().port();
        let at = SocketAddr::new(host, port).to_string();
        let mut command = Command::new(program);
        command.args(["server", "-b", &at]).args(options).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        Irtt { child, port }
    }
}

impl Drop for Irtt {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The JSON of irtt's client. At the end the client waits for late answers. By default it waits for three of
/// its longest round trips, and on loopback a busy machine pauses for longer.
fn irtt_client(program: &str, at: SocketAddr, options: &[&str]) -> Value {
    let mut command = Command::new(program);
    command
        .args(["client", "-Q", "-o", "-", "--wait=400ms", "--timeouts=200ms,400ms,800ms,1600ms,3200ms"])
        .args(options)
        .arg(at.to_string());
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {error}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{command:?} printed no JSON: {error}"))
}

/// Whether all probes that irtt's client sent were answered. It leaves many out if the machine is busy, as it
/// is while other tests run.
fn all_answered(json: &Value) {
    let [sent, received] =
        ["packets_sent", "packets_received"].map(|key| json["stats"][key].as_u64().unwrap());
    assert_eq!(sent, received);
    assert!(sent > 0, "none was sent");
}

fn asked(probes: i64, interval_ms: i64) -> Params {
    let (duration, interval) = (probes * interval_ms * 1_000_000, interval_ms * 1_000_000);
    Params { version: 1, duration, interval, received: 3, stamps: 3, clocks: 3, ..Params::default() }
}

fn plan(server: SocketAddr, params: Params, key: Option<&str>) -> Plan {
    let timeouts = [200, 400, 800, 1600].map(Span::from_millis).into();
    let key = key.map(|key| Key::parse(key).unwrap());
    let wait = Span::from_secs(4);
    let (fill, loose) = (Fill::Rand(1), false);
    Plan {
        server,
        local: None,
        params,
        schedule: Schedule::Isochronous,
        least_size: None,
        silence: None,
        key,
        loose,
        fill,
        ttl: None,
        fragments: None,
        timeouts,
        wait,
    }
}

/// The results of our client.
fn our_client(plan: &Plan) -> (Trips, Summary, Value) {
    let stop = AtomicBool::new(false);
    let mut opened = Err(OpenFailure::Silent);
    // A server that has just started may not listen yet.
    for _ in 0..20 {
        opened = Session::open(plan.clone(), &stop);
        if !matches!(opened, Err(OpenFailure::Unreachable)) {
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
    let session = opened.unwrap();
    let (params, layout, local) = (session.params().clone(), session.layout(), session.local_addr().unwrap());
    let mut trips = Trips::new(layout, session.sent_ip());
    let summary = session.run(&stop, &mut |update| trips.take(&update)).unwrap();
    let (program, hostname, host) = ("test", "test", "test");
    let about = About { program, hostname, plan, host, local, params: &params, layout, summary: &summary };
    let file = document(&about, &trips);
    (trips, summary, file)
}

/// All 60 combinations of what a server counts, the times that it records, and their clocks: as parameters,
/// and in irtt's words.
fn combinations() -> Vec<(Params, [String; 3])> {
    let mut all = Vec::new();
    for (received, stats) in (0..).zip(["none", "count", "window", "both"]) {
        for (stamps, stamp) in (0..).zip(["none", "send", "receive", "both", "midpoint"]) {
            for (clocks, clock) in (1..).zip(["wall", "monotonic", "both"]) {
                let words =
                    [format!("--stats={stats}"), format!("--tstamp={stamp}"), format!("--clock={clock}")];
                all.push((Params { received, stamps, clocks, ..asked(10, 10) }, words));
            }
        }
    }
    all
}

/// Runs `work` for each of them, ten at once.
fn ten_at_once<T: Sync>(all: &[T], work: impl Fn(&T) + Sync) {
    for ten in all.chunks(10) {
        thread::scope(|scope| ten.iter().for_each(|one| drop(scope.spawn(|| work(one)))));
    }
}

#[test]
fn irtts_client_takes_every_parameter_from_our_server() {
    for irtt in irtts("irtts_client_takes_every_parameter_from_our_server") {
        with_server(None, |port| {
            for options in [
                &[] as &[&str],
                &["-l", "1000", "--fill=rand", "--sfill=rand", "--dscp=184"],
                &["-l", "200", "--fill=pattern:69727474"],
            ] {
                let options = [&["-i", "10ms", "-d", "95ms"], options].concat();
                for host in [V4, V6] {
                    let json = irtt_client(&irtt, SocketAddr::new(host, port), &options);
                    all_answered(&json);
                }
            }
            ten_at_once(&combinations(), |(_, words)| {
                let options =
                    [&["-i", "10ms", "-d", "95ms"], &words.each_ref().map(String::as_str)[..]].concat();
                all_answered(&irtt_client(&irtt, SocketAddr::new(V4, port), &options));
            });
        });
        with_server(Some("secret"), |port| {
            let options = ["-i", "10ms", "-d", "95ms", "--hmac=secret"];
            let json = irtt_client(&irtt, SocketAddr::new(V4, port), &options);
            all_answered(&json);
        });
    }
}

#[test]
fn our_client_takes_every_parameter_from_irtts_server() {
    for irtt in irtts("our_client_takes_every_parameter_from_irtts_server") {
        for host in [V4, V6] {
            let server = Irtt::serve(&irtt, host, &[]);
            let at = SocketAddr::new(host, server.port);
            let long = Params { length: 1000, tos: 184, fill: "rand".into(), ..asked(10, 10) };
            let filled = Params { length: 200, fill: "pattern:69727474".into(), ..asked(10, 10) };
            let all = combinations().into_iter().map(|(params, _)| params).chain([long, filled]);
            ten_at_once(&all.collect::<Vec<Params>>(), |params| {
                let (trips, summary, _) = our_client(&plan(at, params.clone(), None));
                let counts = trips.counts();
                assert_eq!(counts.sent, counts.received, "{irtt} {params:?}");
                assert!(counts.sent >= 5, "{irtt} {params:?}");
                assert_eq!(summary.prober.refused, 0, "{irtt} {params:?}");
                let figures = trips.figures();
                assert_eq!(figures.up.is_some(), params.stamps != 0 && params.clocks != 2, "{params:?}");
                assert_eq!(figures.server_time.is_some(), params.stamps == 3, "{params:?}");
                assert_eq!(trips.marks().down.dscp_changed, 0, "{params:?}");
            });
        }
        let server = Irtt::serve(&irtt, V4, &["--hmac=secret"]);
        let at = SocketAddr::new(V4, server.port);
        let (trips, summary, _) = our_client(&plan(at, asked(10, 10), Some("secret")));
        let counts = trips.counts();
        assert_eq!((counts.received, summary.wrong_key), (counts.sent, 0), "{irtt} with a key");
        let wrong = Session::open(plan(at, asked(10, 10), Some("guess")), &AtomicBool::new(false));
        assert!(matches!(wrong, Err(OpenFailure::Silent)), "{wrong:?}");
    }
}

#[test]
fn restrictions_of_irtts_server_are_refused_or_accepted() {
    for irtt in irtts("restrictions_of_irtts_server_are_refused_or_accepted") {
        let server = Irtt::serve(&irtt, V4, &["-i", "20ms", "-l", "100"]);
        let wish = plan(SocketAddr::new(V4, server.port), Params { length: 500, ..asked(20, 10) }, None);
        // One probe first, so that the server is known to listen.
        our_client(&Plan { params: asked(1, 20), ..wish.clone() });
        let refused = Session::open(wish.clone(), &AtomicBool::new(false));
        let Err(OpenFailure::Restricted(params)) = refused else { panic!("{refused:?}") };
        assert_eq!((params.interval, params.length), (20_000_000, 100));
        let (trips, ..) = our_client(&Plan { loose: true, ..wish });
        let counts = trips.counts();
        assert!((5..=10).contains(&counts.sent), "one each 20 ms for 200 ms: {counts:?}");
        // The server drops those that a busy machine sends in a bunch.
        assert!(counts.received >= counts.sent / 2, "{counts:?}");
    }
}

/// From 5 to 25 ms and back, 5 ms at a time: never so fast that a probe overtakes one that was sent 10 ms
/// before it.
fn waves(_: bool, seq: u32) -> What {
    let step = u64::from(seq % 8);
    What::Delay(Duration::from_millis(5 + 5 * step.min(8 - step)))
}

/// The same, and every sixteenth probe is lost on the way up, and every sixteenth reply.
fn waves_and_losses(up: bool, seq: u32) -> What {
    if seq % 16 == if up { 3 } else { 9 } { What::Lose } else { waves(up, seq) }
}

fn percentile(mut all: Vec<i64>, percent: usize) -> i64 {
    all.sort_unstable();
    all[(all.len() * percent).div_ceil(100).saturating_sub(1)]
}

/// Runs both clients at once; returns the figure that differs from irtt's by more than 5 % and 20 us, if
/// there is one.
fn compare_figures(irtt: &str, at: SocketAddr, path: Option<fn(bool, u32) -> What>) -> Result<(), String> {
    let relays = path.map(|path| [Relay::start(at, path), Relay::start(at, path)]);
    let to = |which: usize| relays.as_ref().map_or(at, |relays| relays[which].address());
    let (json, trips) = thread::scope(|scope| {
        let options = &["-i", "10ms", "-d", "1995ms"];
        let theirs = scope.spawn(|| irtt_client(irtt, to(0), options));
        let ours = scope.spawn(|| our_client(&plan(to(1), asked(200, 10), None)));
        (theirs.join().unwrap(), ours.join().unwrap().0)
    });
    let figures = trips.figures();
    let counts = figures.counts;
    // A busy machine leaves probes out; those that it sent have a fate.
    assert!(counts.sent > 150, "{counts:?}");
    let trips_of = json["round_trips"].as_array().unwrap();
    if trips_of.len() as u64 == counts.sent {
        let lost = |what: &str| trips_of.iter().filter(|trip| trip["lost"] == what).count() as u64;
        let theirs = (lost("true_up"), lost("true_down"));
        // At the end neither knows the direction: no later packet shows it.
        let ours = (counts.lost_up, counts.lost_down);
        if ours != theirs {
            return Err(format!("lost {ours:?} up and down, and irtt says {theirs:?}"));
        }
    }
    let is_losing = path.is_some_and(|path| matches!(path(true, 3), What::Lose));
    assert_eq!(counts.received == counts.sent, !is_losing, "{counts:?}");
    let delays =
        |key: &str| -> Vec<i64> { trips_of.iter().filter_map(|trip| trip["delay"][key].as_i64()).collect() };
    for (name, ipdv, ours, ours_ipdv, all) in [
        ("rtt", "ipdv_round_trip", figures.rtt, figures.ipdv_rtt, delays("rtt")),
        ("send_delay", "ipdv_send", figures.up, figures.ipdv_up, delays("send")),
        ("receive_delay", "ipdv_receive", figures.down, figures.ipdv_down, delays("receive")),
    ] {
        let (ours, ours_ipdv) = (ours.unwrap(), ours_ipdv.unwrap());
        let median = |of: &str| json["stats"][of]["median"].as_i64().unwrap();
        // irtt has no percentiles; its file has every delay.
        let p95 = percentile(all, 95);
        for (what, ours, theirs) in [
            ("median", ours.median, median(name)),
            ("95th percentile", ours.p95, p95),
            ("median IPDV", ours_ipdv.median, median(ipdv)),
        ] {
            // Without a relay all of the delay is that of the two programs. irtt takes its times itself, and
            // so counts its own; ours are the kernel's, and may be less but never more.
            let difference = if path.is_some() { (ours - theirs).abs() } else { ours - theirs };
            // There the scheduler determines the tail of each program, so it says nothing about a path.
            if path.is_none() && what != "median" {
                continue;
            }
            if difference > (theirs / 20).max(20_000) {
                return Err(format!("{what} of {name}: {ours} and irtt {theirs} ns"));
            }
        }
    }
    Ok(())
}

/// Every tenth probe is lost on the way up, every thirteenth reply on the way down, and every seventh probe
/// arrives after the next two.
fn rough(up: bool, seq: u32) -> What {
    match (up, seq % 10, seq % 13) {
        (true, 4, _) | (false, _, 6) => What::Lose,
        _ if up && seq % 7 == 3 => What::Delay(Duration::from_millis(27)),
        _ => What::Delay(Duration::from_millis(2)),
    }
}

/// irtt's own server reports late probes as lost; ours does not, neither to irtt's client nor to ours.
#[test]
fn losses_have_a_direction_although_probes_are_reordered() {
    for irtt in irtts("losses_have_a_direction_although_probes_are_reordered") {
        with_server(None, |port| {
            let at = SocketAddr::new(V4, port);
            let relays = [Relay::start(at, rough), Relay::start(at, rough)];
            let (json, counts) = thread::scope(|scope| {
                let options = &["-i", "10ms", "-d", "1995ms"];
                let irtt = scope.spawn(|| irtt_client(&irtt, relays[0].address(), options));
                let (trips, ..) = our_client(&plan(relays[1].address(), asked(200, 10), None));
                (irtt.join().unwrap(), trips.counts())
            });
            // A busy machine sends fewer. For probes at the end, no later one shows the direction.
            let trips = json["round_trips"].as_array().unwrap();
            assert!(trips.len() > 150, "{}", trips.len());
            let known = 0..trips.len() - 10;
            let up = known.clone().filter(|seq| seq % 10 == 4).count();
            let down = known.clone().filter(|seq| seq % 10 != 4 && seq % 13 == 6).count();
            let of =
                |what: &str| trips[..trips.len() - 10].iter().filter(|trip| trip["lost"] == what).count();
            assert_eq!((of("true_up"), of("true_down"), of("true")), (up, down, 0), "irtt's client");
            let all = 0..u32::try_from(counts.sent).unwrap();
            let up = all.clone().filter(|seq| seq % 10 == 4).count() as u64;
            let down = all.filter(|seq| seq % 10 != 4 && seq % 13 == 6).count() as u64;
            assert_eq!((counts.lost_up, counts.lost_down, counts.lost_unknown), (up, down, 0), "our client");
            assert!(counts.reordered > 15, "{counts:?}");
        });
    }
}

/// Every key of irtt's file is in ours, with a value of the same type.
#[test]
fn our_file_has_the_keys_of_irtts() {
    fn compare(path: &str, theirs: &Value, ours: &Value) {
        match (theirs, ours) {
            (Value::Object(theirs), Value::Object(ours)) => {
                for (key, value) in theirs {
                    let ours = ours.get(key).unwrap_or_else(|| panic!("{path}.{key} is missing"));
                    compare(&format!("{path}.{key}"), value, ours);
                }
            }
            (Value::Array(theirs), Value::Array(ours)) => {
                for (index, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
                    compare(&format!("{path}[{index}]"), theirs, ours);
                }
            }
            (Value::Number(_), Value::Number(_))
            | (Value::String(_), Value::String(_))
            | (Value::Bool(_), Value::Bool(_)) => {}
            // 0.9.0 writes a text, later ones an object.
            (Value::String(_), Value::Object(_)) if path == ".stats.start_time" => {}
            _ => panic!("{path}: irtt has {theirs}, we have {ours}"),
        }
    }
    for irtt in irtts("our_file_has_the_keys_of_irtts") {
        with_server(None, |port| {
            let at = SocketAddr::new(V4, port);
            let mut theirs = irtt_client(&irtt, at, &["-i", "10ms", "-d", "95ms"]);
            let (.., ours) = our_client(&plan(at, asked(10, 10), None));
            // Statistics of irtt's own calls and timers: we have no values of these, and so no median.
            theirs["stats"]["send_call"].as_object_mut().unwrap().remove("median");
            theirs["system_info"].as_object_mut().unwrap().remove("go_version");
            compare("", &theirs, &ours);
        });
    }
}

/// flent's own reader of irtt's files, where flent is installed.
#[test]
fn flents_reader_takes_our_file() {
    let test = "flents_reader_takes_our_file";
    // Debian's flent is outside Python's own module path.
    let script = "
import sys
sys.path.append('/usr/share/flent')
from flent.runners import IrttRunner
runner = IrttRunner.__new__(IrttRunner)
runner.sample_freq, runner.multi_results = 0, False
if len(sys.argv) > 1:
    result, raw, metadata = runner.parse(open(sys.argv[1]), '')
    print(len(result), len(raw), metadata['RTT_MEAN'])
";
    let has_flent = Command::new("/usr/bin/python3").args(["-c", script]).output();
    if !has_flent.is_ok_and(|output| output.status.success()) {
        assert!(std::env::var_os("GOODQUEUE_REQUIRE_ALL").is_none(), "{test}: flent is not installed");
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "SKIPPED: {test}: flent is not installed");
        return;
    }
    with_server(None, |port| {
        let (trips, _, file) = our_client(&plan(SocketAddr::new(V4, port), asked(20, 10), None));
        let path = std::env::temp_dir().join(format!("goodqueue-path-{}.json", std::process::id()));
        std::fs::write(&path, file.to_string()).unwrap();
        let output = Command::new("/usr/bin/python3").args(["-c", script]).arg(&path).output().unwrap();
        std::fs::remove_file(&path).unwrap();
        let (said, error) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{said}{error}");
        let words: Vec<&str> = said.split_whitespace().collect();
        let answered = trips.counts().received.to_string();
        assert_eq!(words[..2], [answered.as_str(), answered.as_str()], "{said}{error}");
        let rtt: f64 = words[2].parse().unwrap();
        assert!((rtt - trips.figures().rtt.unwrap().mean / 1e6).abs() < 1e-3, "{said}");
    });
}

/// irtt's own reader of its files: `irtt report`, from 0.9.2 on.
#[test]
fn irtts_reader_takes_our_file() {
    let test = "irtts_reader_takes_our_file";
    let has_reader = |program: &String| version(program).as_str() >= "0.9.2";
    let Some(irtt) = irtts(test).into_iter().find(has_reader) else {
        assert!(std::env::var_os("GOODQUEUE_REQUIRE_ALL").is_none(), "{test}: no irtt with a reader");
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "SKIPPED: {test}: irtt 0.9.2 is not here; ./check builds it");
        return;
    };
    with_server(None, |port| {
        let params = Params { ip: 1, ..asked(20, 10) };
        let (trips, _, file) = our_client(&plan(SocketAddr::new(V4, port), params, None));
        let path = std::env::temp_dir().join(format!("goodqueue-report-{}.json", std::process::id()));
        std::fs::write(&path, file.to_string()).unwrap();
        let output = Command::new(&irtt).arg("report").arg(&path).output().unwrap();
        std::fs::remove_file(&path).unwrap();
        let (said, error) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{said}{error}");
        let counts = trips.counts();
        assert!(said.contains(&format!("{}/{}", counts.sent, counts.received)), "{said}");
    });
}

/// Probes of random sizes at random times: our client with irtt's servers and with ours.
#[test]
fn random_sizes_and_times_are_answered() {
    let varied = |at: SocketAddr, interval: i64| Plan {
        schedule: Schedule::Poisson(1),
        least_size: Some((100, 2)),
        ..plan(at, Params { length: 1000, ip: 1, ..asked(50, interval) }, None)
    };
    let check = |at: SocketAddr, interval: i64, who: &str| {
        let (trips, summary, _) = our_client(&varied(at, interval));
        let counts = trips.counts();
        // A Poisson process of mean 50; 20 to 90 is beyond 4 standard deviations.
        assert!(counts.sent == counts.received && (20..90).contains(&counts.sent), "{who}: {counts:?}");
        assert_eq!(summary.prober.refused, 0, "{who}");
        let sizes: Vec<u16> = trips.kept().iter().map(|trip| trip.size).collect();
        assert!(sizes.iter().all(|size| (100..=1000).contains(size)), "{who}: {sizes:?}");
        assert!(sizes.iter().min() < Some(&300) && sizes.iter().max() > Some(&800), "{who}: {sizes:?}");
    };
    with_server(None, |port| check(SocketAddr::new(V4, port), 5, "ours"));
    for irtt in irtts("random_sizes_and_times_are_answered") {
        // irtt's server answers five at once, and one each 10 ms.
        let server = Irtt::serve(&irtt, V4, &["-i", "1ms"]);
        check(SocketAddr::new(V4, server.port), 20, &irtt);
    }
}

/// A thousand probes a second, to our server.
#[test]
fn a_thousand_probes_a_second_are_answered() {
    with_server(None, |port| {
        let (trips, summary, _) = our_client(&plan(SocketAddr::new(V4, port), asked(2000, 1), None));
        let (counts, misses) = (trips.counts(), summary.prober.timer_misses);
        assert_eq!(counts.sent + misses, 2000);
        assert_eq!(counts.sent, counts.received);
        // Probes that a busy machine leaves out are counted; the rest were sent within half an interval.
        assert!(summary.prober.lateness.max_ns <= 500_000, "{:?}", summary.prober.lateness);
    });
}

/// Every tenth probe is duplicated on the way up, every thirteenth reply on the way down; every seventh probe
/// is overtaken on the way up, every eleventh reply on the way down.
fn doubled(up: bool, seq: u32) -> What {
    match up {
        true if seq % 10 == 4 => What::Twice,
        false if seq % 13 == 6 => What::Twice,
        true if seq % 7 == 3 => What::Delay(Duration::from_millis(27)),
        false if seq % 11 == 2 => What::Delay(Duration::from_millis(27)),
        _ => What::Delay(Duration::from_millis(2)),
    }
}

#[test]
fn duplicates_and_reordering_are_told_by_direction() {
    with_server(None, |port| {
        let relay = Relay::start(SocketAddr::new(V4, port), doubled);
        let (trips, ..) = our_client(&plan(relay.address(), asked(200, 10), None));
        // A probe that is duplicated on the way up has two replies, each of which may be duplicated.
        for (seq, trip) in (0_u32..).zip(trips.kept()) {
            let [twice_up, twice_down] = [seq % 10 == 4, seq % 13 == 6];
            let expected = (u32::from(twice_up), u32::from(twice_down) * (1 + u32::from(twice_up)));
            let found = (trip.duplicates_up, trip.duplicates_down);
            // The second copy of a reply follows the reply to the second copy of the probe.
            let both = twice_up && twice_down && found.0 + found.1 == 3;
            assert!(found == expected || both, "{seq}: {found:?}");
        }
        let counts = trips.counts();
        assert!(counts.reordered_up > 15 && counts.reordered_down > 10, "{counts:?}");
        // A busy machine leaves probes out, so that the next one may come too late to overtake.
        let sent = |seq: u32| trips.get(seq).map_or(i64::MAX, |trip| trip.sent.mono);
        let is_close = |seq: u32| sent(seq + 1).saturating_sub(sent(seq)) < 15_000_000;
        let is_late = |seq: &u32| seq % 7 == 3 && seq % 10 != 4 && is_close(*seq);
        let late = (0..u32::try_from(counts.sent).unwrap() - 5).filter(is_late);
        let missed: Vec<u32> =
            late.filter(|&seq| trips.get(seq).is_some_and(|trip| !trip.reordered_up)).collect();
        assert!(missed.is_empty(), "{missed:?}");
    });
}

/// `./check` runs nothing else while these tests measure time.
mod real_time {
    mod alone {
        use super::super::*;

        /// Both clients through the same kind of path at the same time, over a relay: one whose delay rises
        /// and falls, so that percentiles differ and every packet has a different delay from the one before;
        /// one that also loses packets; and none at all. A busy machine sometimes delays one of the two
        /// programs, so there are five tries.
        #[test]
        fn figures_of_both_agree() {
            for irtt in irtts("figures_of_both_agree") {
                let server = Irtt::serve(&irtt, V4, &[]);
                let theirs = SocketAddr::new(V4, server.port);
                with_server(None, |port| {
                    for at in [SocketAddr::new(V4, port), theirs] {
                        for path in [None, Some(waves as fn(bool, u32) -> What), Some(waves_and_losses)] {
                            let apart: Vec<_> =
                                (0..5).map_while(|_| compare_figures(&irtt, at, path).err()).collect();
                            assert!(apart.len() < 5, "five times: {apart:?}");
                        }
                    }
                });
            }
        }
    }
}

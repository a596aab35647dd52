//! The tools, and what each of them says of a path.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::clock::wall_ahead;
use crate::line::Path;

/// Time without load before each load, and the length of a load.
pub(crate) const IDLE: Duration = Duration::from_secs(3);
pub(crate) const LOAD: Duration = Duration::from_secs(10);
/// Left out at the start of a load, while the flows start up. Goodqueue says what it leaves out.
pub(crate) const RAMP: Duration = Duration::from_secs(2);
/// TCP flows of a load.
pub(crate) const FLOWS: u32 = 4;

/// One probe of a tool: when it was sent, nanoseconds of the monotonic clock, and its delays in ms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    pub(crate) sent: i64,
    pub(crate) rtt: f64,
    /// One way, up and down.
    pub(crate) ways: Option<[f64; 2]>,
}

/// A program of the server's or client's namespace that ends with its value.
pub(crate) struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(path: &Path, at_server: bool, command: &mut Command) -> Program {
    let place = if at_server { path.server().0 } else { path.lab.client() };
    let name = command.get_program().to_string_lossy().into_owned();
    let child = place.run(|| command.spawn()).expect("a namespace");
    Program(child.unwrap_or_else(|error| panic!("{name}: {error}")))
}

impl Program {
    /// What it printed, once it has ended by itself.
    fn output(mut self, name: &str) -> String {
        let out = self.0.stdout.take().expect("piped");
        let text = std::io::read_to_string(out).expect("text");
        let status = self.0.wait().expect("it ends");
        assert!(status.code().is_some_and(|code| code <= 1), "{name}: {status}: {text}");
        text
    }
}

/// `goodqueue test` with one direction loaded: the first run of its record, or what it said instead.
pub(crate) fn goodqueue(path: &Path, program: &str, way: usize) -> Value {
    let mut command = Command::new(program);
    let mut server = start(path, true, command.args(["server", "--json"]).stdout(Stdio::piped()));
    let mut line = String::new();
    BufReader::new(server.0.stdout.as_mut().expect("piped")).read_line(&mut line).expect("a line");
    let listening: Value = serde_json::from_str(&line).expect("JSON");
    let word = listening["word"].as_str().expect("a word");
    let test = ["tcp_nup", "tcp_ndown"][way];
    let mut command = Command::new(program);
    let host = path.server().1.to_string();
    command.args(["test", &host, test, "--json", "--key", word, "--flows", &FLOWS.to_string()]);
    command.args(["--length", "10s", "--idle", "3s", "--cc", "cubic"]);
    let output = start(path, false, command.stdout(Stdio::piped())).output("goodqueue");
    let record: Value = serde_json::from_str(&output).expect("a record");
    record["runs"][0].clone()
}

/// iperf3 under the eyes of irtt and fping.
pub(crate) struct Others {
    /// What iperf3 says of goodput, Mbit/s.
    pub(crate) iperf3: f64,
    pub(crate) irtt: Vec<Probe>,
    pub(crate) fping: Vec<Probe>,
}

/// Runs the three at the same time.
pub(crate) fn others(path: &Path, way: usize) -> Others {
    let quiet = |command: &mut Command| {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    };
    let mut command = Command::new("irtt");
    quiet(command.args(["server", "-i", "1ms"]));
    let _irtt = start(path, true, &mut command);
    let mut command = Command::new("iperf3");
    quiet(command.arg("-s"));
    let _iperf3 = start(path, true, &mut command);
    sleep(Duration::from_millis(500));
    let length = IDLE + LOAD + Duration::from_secs(1);
    let host = path.server().1.to_string();
    let mut command = Command::new("irtt");
    command.args(["client", "-Q", "-i", "20ms", "-d", &format!("{}s", length.as_secs()), "-o", "-", &host]);
    let irtt = start(path, false, command.stdout(Stdio::piped()));
    let mut command = Command::new("fping");
    let count = (length.as_millis() / 20).to_string();
    command.args(["-D", "-p", "20", "-t", "10000", "-c", &count, &host]).stderr(Stdio::null());
    let fping = start(path, false, command.stdout(Stdio::piped()));
    sleep(IDLE);
    let mut command = Command::new("iperf3");
    command.args(["-c", &host, "-J", "-t", &LOAD.as_secs().to_string(), "-C", "cubic"]);
    command.args(["-P", &FLOWS.to_string()]);
    if way == 1 {
        command.arg("-R");
    }
    let iperf3 = start(path, false, command.stdout(Stdio::piped())).output("iperf3");
    let iperf3: Value = serde_json::from_str(&iperf3).expect("JSON of iperf3");
    let bps = iperf3["end"]["sum_received"]["bits_per_second"].as_f64().expect("a rate");
    let ahead = wall_ahead();
    let irtt = irtt_probes(&irtt.output("irtt"), ahead);
    Others { iperf3: bps / 1e6, irtt, fping: fping_probes(&fping.output("fping"), ahead) }
}

fn irtt_probes(text: &str, ahead: i64) -> Vec<Probe> {
    let result: Value = serde_json::from_str(text).expect("JSON of irtt");
    let trips = result["round_trips"].as_array().expect("round trips");
    let answered = trips.iter().filter(|trip| trip["lost"] == "false");
    let ms = |value: &Value| value.as_f64().map(|ns| ns / 1e6);
    answered
        .filter_map(|trip| {
            let delay = &trip["delay"];
            Some(Probe {
                sent: trip["timestamps"]["client"]["send"]["wall"].as_i64()? - ahead,
                rtt: ms(&delay["rtt"])?,
                ways: Some([ms(&delay["send"])?, ms(&delay["receive"])?]),
            })
        })
        .collect()
}

/// `[1700000000.12345] 10.0.0.2 : [0], 64 bytes, 0.05 ms (0.05 avg, 0% loss)`: the time is that of the reply.
#[allow(clippy::cast_possible_truncation)]
fn fping_probes(text: &str, ahead: i64) -> Vec<Probe> {
    let probe = |line: &str| {
        let at: f64 = line.strip_prefix('[')?.split_once(']')?.0.parse().ok()?;
        let (before, _) = line.split_once(" ms (")?;
        let rtt: f64 = before.rsplit(' ').next()?.parse().ok()?;
        Some(Probe { sent: (at * 1e9 - rtt * 1e6) as i64 - ahead, rtt, ways: None })
    };
    text.lines().filter_map(probe).collect()
}

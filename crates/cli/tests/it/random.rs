//! Random experiments: tests, links, queues, shapers, rings, losses and Wi-Fi put together at random, run for
//! a short time. `GOODQUEUE_RANDOM=10000 cargo test -p goodqueue-cli --test it random_experiments` runs that
//! many, and `GOODQUEUE_RANDOM_FIRST=N` begins with number N, which alone gives the same file again.

use std::path::Path;

use goodqueue::Rng;
use serde_json::Value;

use super::{Scratch, goodqueue, stderr};

/// How many without the switch.
const COUNT: u64 = 12;
/// Most events of a run: what is simulated lasts for half a second.
const MOST_EVENTS: f64 = 2e7;

const TESTS: [&str; 7] = ["rrul", "rrul_be", "tcp_nup", "tcp_ndown", "tcp_2up", "ping", "tcp_square_wave"];
const QUEUES: [&str; 23] = [
    "pfifo:2",
    "pfifo:1000",
    "bfifo:20000",
    "fifo:30ms",
    "codel",
    "codel,ecn=on,target=1ms",
    "fq_codel",
    "fq_codel,flows=1,limit=20",
    "cake",
    "cake,bandwidth=3mbit",
    "pie",
    "fq_pie",
    "dualpi2",
    "sfq",
    "fq",
    "fq,maxrate=2mbit",
    "red",
    "drr",
    "prio",
    "pfifo_fast",
    "htb,rate=5mbit",
    "tbf,rate=3mbit,burst=5000,limit=50000",
    "cake_mq,bandwidth=3mbit",
];
const RATES: [&str; 6] = ["300kbit", "1mbit", "7mbit", "20mbit", "100mbit", "1gbit"];
const TIMES: [&str; 6] = ["0ms", "1us", "1ms", "10ms", "50ms", "300ms"];

/// The words of one experiment.
struct Dice(Rng);

impl Dice {
    fn one(&mut self, of: u64) -> bool {
        self.0.below(of) == 0
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        let at = self.0.below(from.len() as u64);
        from[usize::try_from(at).expect("small")]
    }

    /// A file. What is in it can be run.
    fn file(&mut self) -> String {
        let (a, b) = (self.pick(&QUEUES), self.pick(&QUEUES));
        let queues = if a == b { format!("{a:?}") } else { format!("{a:?}, {b:?}") };
        let mut text = format!("queues = [{queues}]\nseed = {}\n", self.0.below(1000));
        if self.one(4) {
            text += "ipv6 = true\n";
        }
        text += &format!("[test]\nname = {:?}\n", self.pick(&TESTS));
        text += "length = \"300ms\"\nidle = \"100ms\"\ndelay = \"20ms\"\nstep = \"50ms\"\n";
        if self.one(3) {
            text += &format!(
                "with = [{:?}]\n",
                self.pick(&["voip", "web", "dash", "voip:EF", "videocall", "game", "game:30:EF"])
            );
        }
        if self.one(3) {
            text += &format!("start_jitter = {:?}\n", self.pick(&TIMES));
        }
        let is_wifi = self.one(4);
        let tso = !is_wifi && self.one(3);
        text += &format!("[tcp]\necn = {}\ntso = {tso}\n", self.one(2));
        if is_wifi {
            text + &self.wifi()
        } else if self.one(2) {
            text + &self.simple()
        } else {
            text + &self.general()
        }
    }

    fn simple(&mut self) -> String {
        let mut text = format!("[link]\nup = {:?}\ndown = {:?}\n", self.pick(&RATES), self.pick(&RATES));
        text += &format!("rtt = {:?}\n", self.pick(&TIMES));
        if self.one(4) {
            text += &format!("shape = {:?}\n", self.pick(&["90%", "2mbit", "150%"]));
        }
        if self.one(4) {
            text += &format!("buffer = {:?}\n", self.pick(&["pfifo:3", "pfifo:500", "codel"]));
        }
        if self.one(3) {
            text += "loss = \"1%\"\n";
        }
        if self.one(3) {
            text += &format!("ring = 64\nbql = {}\n", self.one(2));
        }
        text
    }

    fn general(&mut self) -> String {
        let mut text = "[[link]]\nname = \"lan\"\nbetween = [\"client\", \"router\"]\n".to_owned();
        // Without a rate thousands of packets come at one time; a queue of its own may cut what another one
        // would.
        text += match self.0.below(4) {
            0 => "",
            1 => "rate = \"50mbit\"\nqueue = \"$queue\"\n",
            _ => "rate = \"1gbit\"\n",
        };
        text += &format!(
            "[[link]]\nname = \"wan\"\nbetween = [\"router\", \"server\"]\nrate = {:?}\nqueue = \"$queue\"\ndelay = {:?}\n",
            self.pick(&RATES),
            self.pick(&TIMES)
        );
        if self.one(6) {
            text += "pause = { high = \"6k\", low = \"1500\" }\n";
        }
        if self.one(2) {
            let kind = self.pick(&["htb", "tbf"]);
            text += &format!("shaper = {{ kind = {kind:?}, rate = {:?} }}\n", self.pick(&RATES));
        }
        if self.one(3) {
            text += "ring = 32\n";
            if self.one(3) {
                text += &format!("lanes = {}\n", 2 + self.0.below(3));
            }
        }
        if self.one(4) {
            text += "jitter = \"2ms\"\n";
        }
        if self.one(4) {
            text += "loss = \"0.5%\"\n";
        }
        if self.one(3) {
            text += &format!(
                "[[udp]]\nfrom = \"client\"\nto = \"server\"\nrate = {:?}\nbytes = {}\n",
                self.pick(&["100kbit", "5mbit"]),
                100 + self.0.below(1400)
            );
        }
        text
    }

    fn wifi(&mut self) -> String {
        let mut text = format!("[wifi]\nmcs = {}\n", self.0.below(8));
        if self.one(2) {
            text += "driver = \"ath9k-4.4\"\nqueue = \"$queue\"\n";
        }
        text + &format!("[[wifi.station]]\nname = \"sta\"\ncount = {}\n", 1 + self.0.below(3))
    }
}

fn number(value: &Value, path: &str) -> Option<f64> {
    path.split('.').fold(value, |value, key| &value[key]).as_f64()
}

/// Runs `file` and reads its record.
fn measured(file: &Path, what: &str) -> Value {
    let output = goodqueue().arg("run").arg(file).arg("--json").output().expect("the command starts");
    assert!(matches!(output.status.code(), Some(0 | 1)), "{what}: {:?}: {}", output.status, stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{what}: no JSON: {error}"))
}

fn check_run(run: &Value, what: &str) {
    assert_eq!(run["complete"], true, "{what}");
    let events = number(run, "simulation.events").expect("events");
    assert!(events < MOST_EVENTS, "{what}: {events} events");
    for way in ["up", "down"] {
        let queue = &run[way];
        let count = |name: &str| number(queue, &format!("counters.{name}")).expect(name);
        let drops: f64 =
            queue["drop_reasons"].as_object().expect("reasons").values().filter_map(Value::as_f64).sum();
        let (arrived, left) =
            (count("arrived_packets"), count("sent_packets") + drops + count("held_packets"));
        assert_eq!(arrived, left, "{what}: packets that arrived {way} are sent, dropped or held");
    }
    let summary = &run["summary"];
    for side in ["rtt", "up", "down"] {
        for kind in ["", "added_"] {
            let of = |name: &str| number(summary, &format!("{side}.{kind}{name}_ns"));
            let all: Vec<f64> = ["p50", "p95", "p99", "max"].iter().filter_map(|name| of(name)).collect();
            assert!(all.is_sorted(), "{what}: {side}: {all:?}");
        }
    }
    for jain in ["jain_up", "jain_down"] {
        assert!(number(summary, jain).is_none_or(|jain| (0.0..=1.0).contains(&jain)), "{what}: {jain}");
    }
}

#[test]
fn random_experiments_account_for_every_packet() {
    let given = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let first = given("GOODQUEUE_RANDOM_FIRST").unwrap_or(0);
    let scratch = Scratch::new("random");
    for index in first..first + given("GOODQUEUE_RANDOM").unwrap_or(COUNT) {
        let text = Dice(Rng::stream(1, index, "experiment")).file();
        let what = format!("experiment {index}\n{text}");
        let file = scratch.path("random.toml");
        std::fs::write(&file, &text).expect("a file");
        let plan = goodqueue().arg("run").arg(&file).arg("--dry-run").output().expect("the command starts");
        // What is refused is refused in words, with the file's name.
        if !plan.status.success() {
            let said = stderr(&plan);
            assert!(plan.status.code() == Some(2) && said.contains("random.toml:"), "{what}: {said}");
            continue;
        }
        let record = measured(&file, &what);
        let runs = record["runs"].as_array().expect("runs");
        assert!(!runs.is_empty(), "{what}");
        runs.iter().for_each(|run| check_run(run, &what));
        assert_eq!(measured(&file, &what)["runs"], record["runs"], "{what}: twice");
    }
}

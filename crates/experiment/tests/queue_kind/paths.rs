//! Simulated paths, drawn at random: a rate, a round trip, and a queue of the catalogue at the bottleneck.

use std::path::Path;

use goodqueue::Rng;
use goodqueue_experiment::Experiment;
use goodqueue_report::{Direction, FoundKind, Record};

/// The set of paths. The rules were made with the first set and are judged by the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Set {
    /// For changing the rules.
    Development,
    /// For the table in `docs/queue-kind.md`.
    HeldOut,
}

impl Set {
    fn seed(self) -> u64 {
        match self {
            Set::Development => 90_210,
            Set::HeldOut => 14_031_879,
        }
    }
}

/// A path, its queue, and a load as that of `goodqueue test`, but with a probe every 10 ms and without calls,
/// pages and video.
pub(crate) struct Drawn {
    /// Its description, in a line.
    pub(crate) words: String,
    /// Its kind of queue.
    pub(crate) truth: FoundKind,
    /// The loaded direction.
    pub(crate) way: Direction,
    /// The size of a FIFO that is limited in bytes.
    pub(crate) bytes: Option<u64>,
    /// The rate, bit/s.
    pub(crate) bps: f64,
    /// Whether the line also loses packets at random.
    pub(crate) is_lossy: bool,
    text: String,
    seed: u64,
}

/// Random draws of one path.
struct Draws(Rng);

impl Draws {
    /// Uniform, 0 to 1.
    fn share(&mut self) -> f64 {
        self.0.below(1 << 32) as f64 / (1_u64 << 32) as f64
    }

    /// Log-uniform between two bounds.
    fn between(&mut self, least: f64, most: f64) -> f64 {
        (least.ln() + self.share() * (most / least).ln()).exp()
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.0.below(n) == 0
    }
}

/// Bytes that a rate sends in this many milliseconds, but at least room for a few packets.
fn bytes(bps: f64, ms: f64) -> u64 {
    (bps / 8e3 * ms).max(10.0 * 1514.0) as u64
}

/// The number of the first path with a queue that was left out at first: `cake_mq` at even numbers, `htb` at
/// odd ones. They shape below the rate of the line.
pub(crate) const SHAPED: u64 = 200;
/// The line is by so much faster than such a shaper.
const LINE: f64 = 1.25;

/// Path `number` of a set.
pub(crate) fn drawn(set: Set, number: u64) -> Drawn {
    let mut draws = Draws(Rng::stream(set.seed(), number, "queue-kind"));
    let bps = draws.between(1e6, 1e9);
    let kbit = |bps: f64| format!("{}kbit", (bps / 1e3).round());
    let rtt = draws.between(5.0, 200.0);
    let way = if draws.one_in(2) { Direction::Up } else { Direction::Down };
    let ecn = draws.one_in(5);
    let loss = if draws.one_in(5) { draws.between(1e-4, 5e-3) } else { 0.0 };
    // The other direction is up to 12 times faster or slower.
    let other = if draws.one_in(3) { bps * draws.between(1.0 / 12.0, 12.0) } else { bps };
    let packets = draws.between(50.0, 1000.0).round();
    let (ms, step, low) = (draws.between(20.0, 500.0), draws.between(0.5, 4.0), draws.between(0.2, 0.5));
    let (deep, fixed) = (bytes(bps, ms), draws.between(64e3, 2e6) as u64);
    let choice = draws.0.below(21);
    let size = match choice {
        _ if number >= SHAPED => None,
        2 | 3 => Some(deep),
        4 => Some(fixed),
        _ => None,
    };
    let mut one_of = |words: [&'static str; 3]| words[draws.0.below(3) as usize];
    let (truth, queue) = match choice {
        _ if number >= SHAPED && number.is_multiple_of(2) => {
            let instances = one_of(["2", "4", "8"]);
            (FoundKind::FlowQueueing, format!("cake_mq,queues={instances},bandwidth={}", kbit(bps)))
        }
        _ if number >= SHAPED => {
            let (truth, leaf) = match one_of(["fq_codel", "codel", "pfifo"]) {
                "fq_codel" => (FoundKind::FlowQueueing, "fq_codel".to_owned()),
                "codel" => (FoundKind::Aqm, "codel".to_owned()),
                _ => (FoundKind::Fifo, format!("pfifo,leaf.limit={packets}")),
            };
            (truth, format!("htb,rate={},sqm=simple,leaf={leaf}", kbit(bps)))
        }
        0 => (FoundKind::Fifo, format!("pfifo:{packets}")),
        1 => (FoundKind::Fifo, "pfifo:1000".into()),
        2 => (FoundKind::Fifo, format!("bfifo:{deep}")),
        3 => (FoundKind::Fifo, format!("fifo:{ms:.0}ms")),
        4 => (FoundKind::Fifo, format!("bfifo:{fixed}")),
        5 => (FoundKind::Fifo, format!("pfifo_fast:{packets}")),
        6 => (FoundKind::Fifo, format!("prio,leaf=pfifo,leaf.limit={packets}")),
        7 => (FoundKind::Aqm, "codel".into()),
        8 => (FoundKind::Aqm, "pie".into()),
        9 => {
            // The thresholds at 10 and 30 ms, as far as RED's arithmetic in 32 bits goes.
            let min = bytes(bps, 10.0).min(600_000);
            let (max, limit, rate) = (3 * min, 12 * min, kbit(bps));
            (FoundKind::Aqm, format!("red,limit={limit},min={min},max={max},bandwidth={rate}"))
        }
        10 => (FoundKind::Aqm, "dualpi2".into()),
        11 => (FoundKind::FlowQueueing, "fq_codel".into()),
        12 => (FoundKind::FlowQueueing, "fq_pie".into()),
        13 => (FoundKind::FlowQueueing, "cake".into()),
        14 => (FoundKind::FlowQueueing, "sfq".into()),
        15 => (FoundKind::FlowQueueing, "fq".into()),
        16 => (FoundKind::FlowQueueing, "drr,leaf=codel".into()),
        17 | 18 => {
            let burst = bytes(bps, draws.between(10.0, 100.0));
            (FoundKind::Policer, format!("tbf,rate={},burst={burst},limit=3028", kbit(bps)))
        }
        19 => (FoundKind::RateVaries, format!("bfifo:{deep}")),
        _ => (FoundKind::RateVaries, one_of(["fq_codel", "codel", "cake"]).into()),
    };
    let line = match truth {
        _ if number >= SHAPED => format!("rate = \"{}\"", kbit(LINE * bps)),
        // The line behind a policer is faster.
        FoundKind::Policer => format!("rate = \"{}\"", kbit(4.0 * bps)),
        FoundKind::RateVaries => {
            let mut schedule = Vec::new();
            let (mut at, mut is_slow) = (0.0, false);
            while at < 16.0 {
                let factor = if is_slow { low } else { 1.0 };
                schedule.push(format!("[\"{:.0}ms\", \"{}\"]", at * 1e3, kbit(bps * factor)));
                at += step * draws.between(0.5, 2.0);
                is_slow = !is_slow;
            }
            format!("schedule = [{}]", schedule.join(", "))
        }
        _ => format!("rate = \"{}\"", kbit(bps)),
    };
    let (here, there) = match way {
        Direction::Up => ("up", "down"),
        Direction::Down => ("down", "up"),
    };
    let test = if way == Direction::Up { "tcp_nup" } else { "tcp_ndown" };
    let seed = set.seed() + number;
    let back = kbit(other);
    let text = format!(
        "test = {{ name = \"{test}\", flows = 4, length = \"10s\", idle = \"3s\" }}\nseed = {seed}\n\
         [tcp]\necn = {ecn}\n\
         [[link]]\nbetween = [\"client\", \"near\"]\n\
         [[link]]\nbetween = [\"far\", \"server\"]\n\
         [[link]]\nbetween = [\"near\", \"far\"]\ndelay = \"{:.3}ms\"\nloss = {loss:.6}\n\
         {here} = {{ {line}, queue = \"{queue}\" }}\n{there} = {{ rate = \"{back}\", queue = \"pfifo:1000\" }}\n",
        rtt / 2.0
    );
    let mut words = format!("{:.1} Mbit/s {here}, {rtt:.0} ms, {queue}", bps / 1e6);
    if truth == FoundKind::RateVaries {
        words += &format!(", at times {:.1} Mbit/s", bps * low / 1e6);
    }
    if other != bps {
        words += &format!(", {:.1} Mbit/s {there}", other / 1e6);
    }
    if loss > 0.0 {
        words += &format!(", {:.2} % lost", loss * 100.0);
    }
    if ecn {
        words += ", ECN";
    }
    Drawn { words, truth, way, bytes: size, bps, is_lossy: loss > 0.0, text, seed }
}

impl Drawn {
    /// What the test measures.
    pub(crate) fn record(&self) -> Record {
        let experiment = Experiment::parse(&self.text, "path.toml", Path::new("")).expect(&self.text);
        assert_eq!(experiment.seeds, [self.seed]);
        experiment.run().expect(&self.text)
    }
}

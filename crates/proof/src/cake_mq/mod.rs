//! What the instances of `cake_mq` send together, compared with one `cake` under the same load: the rate, the
//! burstiness and the fairness between flows. docs/cake-mq.md has the results. Each instance has its own
//! thread, as in Linux: it is polled when a packet arrives and when its shaper opens. There is no line behind
//! it. All frames have 1514 bytes, and flows do not react to drops.

mod page;

pub use page::{Results, fair, page, picture, results, table};

use goodqueue::cake::{Member, MqParams};
use goodqueue::{
    Cake, Configurable, ETHERNET_FRAME, Header, Ignore, Lcg, Link, Nanos, Queue, Rate, Rng, Span,
};

/// Flows of an instance in the table of rates.
const FLOWS: usize = 2;
/// What is offered, in parts of the rate.
const OFFERED: f64 = 1.5;
/// Before that nothing is counted.
const WARM_UP: Span = Span::from_secs(1);
/// The time over which the highest rate is taken.
const WINDOW: Span = Span::from_millis(10);
/// The link of the queues. Its rate has no effect.
const LINK: Link = Link::ethernet(Rate(100_000_000_000));

/// Numbers of instances in the tables.
pub const INSTANCES: [u32; 5] = [1, 2, 4, 8, 16];
/// Rates in the tables.
pub const RATES: [Rate; 4] = [Rate(10_000_000), Rate(100_000_000), Rate(1_000_000_000), Rate(10_000_000_000)];

/// The offered load: on average 1.5 times the rate, with random gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Each instance has the same.
    Even,
    /// The first instance has 90 %, the others have equal parts of the rest.
    Skewed,
    /// Each instance has the same, in bursts and pauses of exponential lengths with this mean.
    Bursts(Span),
}

/// The loads in the table.
pub const LOADS: [Load; 5] = [
    Load::Even,
    Load::Skewed,
    Load::Bursts(Span::from_millis(1)),
    Load::Bursts(Span::from_millis(10)),
    Load::Bursts(Span::from_millis(100)),
];

impl Load {
    /// Bytes per second that an instance is offered, while it is, of `rate`.
    fn of_instance(self, at: usize, instances: usize, rate: f64) -> f64 {
        match (self, at) {
            (Load::Skewed, _) if instances == 1 => OFFERED * rate,
            (Load::Skewed, 0) => 0.9 * OFFERED * rate,
            (Load::Skewed, _) => 0.1 * OFFERED * rate / (instances - 1) as f64,
            (Load::Even, _) => OFFERED * rate / instances as f64,
            (Load::Bursts(_), _) => 2.0 * OFFERED * rate / instances as f64,
        }
    }
}

impl std::fmt::Display for Load {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Load::Even => f.write_str("even"),
            Load::Skewed => f.write_str("90 % in one"),
            Load::Bursts(mean) => write!(f, "bursts of {mean}"),
        }
    }
}

/// A flow: packets with exponential gaps, maybe in bursts.
struct Source {
    queue: usize,
    hash: u32,
    /// Mean gap, ns.
    gap: f64,
    /// Mean length of bursts and pauses, ns.
    bursts: Option<f64>,
    /// The end of the burst.
    ends: f64,
    next: f64,
    draws: Rng,
}

impl Source {
    fn new(queue: usize, hash: u32, rate: f64, bursts: Option<Span>, draws: Rng) -> Source {
        let gap = f64::from(ETHERNET_FRAME) * 1e9 / rate;
        let mut source = Source {
            queue,
            hash,
            gap,
            bursts: bursts.map(|mean| mean.0 as f64),
            ends: 0.0,
            next: 0.0,
            draws,
        };
        source.advance();
        source
    }

    /// An exponential time with this mean.
    fn exponential(&mut self, mean: f64) -> f64 {
        let uniform = ((self.draws.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        -mean * uniform.ln()
    }

    fn advance(&mut self) {
        self.next += self.exponential(self.gap);
        let Some(mean) = self.bursts else { return };
        while self.next > self.ends {
            // Gaps have no memory: the rest of this one is that of the next burst.
            let begins = self.ends + self.exponential(mean);
            self.ends = begins + self.exponential(mean);
            self.next = begins + self.exponential(self.gap);
        }
    }
}

/// What a run sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// Mean rate, bits per second.
    pub mean: f64,
    /// Bits per second in the 10 ms in which most was sent.
    pub most: f64,
    /// Bytes of each flow.
    pub flows: Vec<u64>,
}

impl Sent {
    /// Jain's index of fairness: 1 if all flows have sent the same, 1/n if one of n has sent all.
    #[must_use]
    pub fn jain(&self) -> f64 {
        let sum: f64 = self.flows.iter().map(|&bytes| bytes as f64).sum();
        let squares: f64 = self.flows.iter().map(|&bytes| (bytes as f64).powi(2)).sum();
        sum * sum / (squares * self.flows.len() as f64)
    }
}

/// Offers the packets of the sources to the queues for a time after the warm-up.
fn run<Q: Queue<Header>>(mut queues: Vec<Q>, mut sources: Vec<Source>, time: Span) -> Sent {
    let end = WARM_UP.0 + time.0;
    let mut flows = vec![0; sources.len()];
    let mut windows = vec![0_u64; usize::try_from(time.0 / WINDOW.0).unwrap_or(0) + 1];
    // What is next of each source, and then of each queue.
    let mut next: Vec<u64> = sources.iter().map(|source| source.next as u64).collect();
    next.resize(sources.len() + queues.len(), u64::MAX);
    loop {
        let (at, &now) = next.iter().enumerate().min_by_key(|&(_, at)| *at).expect("a source");
        if now >= end {
            break;
        }
        let queue = match sources.get_mut(at) {
            Some(source) => {
                let (cookie, flow_hash) = (at as u64, source.hash);
                let packet = Header { cookie, len: ETHERNET_FRAME, truesize: 2304, flow_hash, dsfield: 0 };
                queues[source.queue].enqueue(Nanos(now), packet, &mut Ignore);
                source.advance();
                next[at] = source.next as u64;
                source.queue
            }
            None => at - sources.len(),
        };
        while let Some(packet) = queues[queue].dequeue(Nanos(now), &mut Ignore) {
            if let Some(counted) = now.checked_sub(WARM_UP.0) {
                flows[packet.cookie as usize] += u64::from(packet.len);
                windows[(counted / WINDOW.0) as usize] += u64::from(packet.len);
            }
        }
        next[sources.len() + queue] = queues[queue].next_wake(Nanos(now)).map_or(u64::MAX, |wake| wake.0);
    }
    let bits = |bytes: u64, time: Span| bytes as f64 * 8e9 / time.0 as f64;
    let most = windows.iter().copied().max().unwrap_or(0);
    Sent { mean: bits(flows.iter().sum(), time), most: bits(most, WINDOW), flows }
}

fn setup(rate: Rate) -> MqParams {
    MqParams { bandwidth: Some(rate), ..MqParams::default() }
}

fn members(rate: Rate, instances: u32) -> Vec<Member<Header>> {
    Member::build(&setup(rate), instances, LINK, Nanos::ZERO, Rng::new(1)).expect("a cake")
}

/// One `cake`.
fn cake(rate: Rate) -> Vec<Cake<Header>> {
    let params = setup(rate).instance();
    let in_force = params.on_link(LINK);
    let places = in_force.memory_limit_at(rate.0 / 8) / 768 + 1;
    let slots = vec![goodqueue::arena::Slot::default(); places as usize];
    let tables = goodqueue::cake::Tables::on_heap(params.diffserv.tins(), params.flows);
    vec![Cake::new(Nanos::ZERO, in_force, LINK, (Lcg::from(Rng::new(1)), tables, slots)).expect("a cake")]
}

/// `cake_mq` with so many instances under a load, and one `cake` under the same.
#[must_use]
pub fn rates(rate: Rate, instances: u32, load: Load, time: Span) -> [Sent; 2] {
    let sources = |is_one: bool| {
        let mut draws = Rng::stream(2, instances.into(), "sources");
        let bytes = rate.0 as f64 / 8.0;
        let mut all = Vec::new();
        for at in 0..instances as usize {
            let offered = load.of_instance(at, instances as usize, bytes);
            let bursts = if let Load::Bursts(mean) = load { Some(mean) } else { None };
            for flow in 0..FLOWS {
                let hash = (at * FLOWS + flow) as u32;
                let draws = Rng::new(draws.next_u64());
                let queue = if is_one { 0 } else { at };
                all.push(Source::new(queue, hash, offered / FLOWS as f64, bursts, draws));
            }
        }
        all
    };
    [run(members(rate, instances), sources(false), time), run(cake(rate), sources(true), time)]
}

/// Flows in the table of fairness.
pub const GREEDY: usize = 32;
/// Hash functions in the table of fairness.
pub const HASHES: u64 = 20;

/// [`GREEDY`] flows, each of which is offered an eighth of the rate and gets its instance by a hash.
#[must_use]
pub fn fairness(rate: Rate, instances: u32, hashes: u64, time: Span) -> Sent {
    let mut draws = Rng::stream(hashes, 0, "hashes");
    let place = |draws: &mut Rng| draws.below(u64::from(instances)) as usize;
    let sources = (0..GREEDY as u32).map(|flow| {
        let queue = place(&mut draws);
        Source::new(queue, flow, rate.0 as f64 / 8.0 / 8.0, None, Rng::new(draws.next_u64()))
    });
    let sources = sources.collect();
    run(members(rate, instances), sources, time)
}

//! What the literature says about switches: the throughput depends on where the buffers are. These tests are
//! in time slots, with the switch alone; those with hosts are in `switched.rs`.

use goodqueue::{Header, Nanos, Observer, PacketInfo, Rate, Rng, Serializer};
use goodqueue_sim::switch::{Buffers, Ports, Switch, SwitchSpec};

const SLOTS: u64 = 20_000;
/// Time of a packet on a line.
const SLOT: u64 = 10_000;

/// A switch with as many inputs as outputs. The lowest byte of a packet's cookie is its output; the higher
/// bytes are the slot in which it arrived.
struct Bench {
    switch: Switch<Header>,
    /// By output, the slots that packets waited before their own.
    waits: Vec<Vec<u64>>,
}

struct Told;

impl Observer<Header> for Told {}

impl PacketInfo<Header> for Told {}

impl Ports<Header> for Told {
    fn output(&self, packet: &Header) -> usize {
        (packet.cookie & 255) as usize
    }
}

impl Bench {
    fn new(ports: usize, buffers: Buffers, queue: &str, memory: Option<u64>) -> Bench {
        let queue = queue.parse().expect("a queue");
        let rate = Rate(1_000_000_000);
        let line = Serializer::new(rate).expect("a line");
        let outputs = vec![(line, queue); ports];
        let spec = SwitchSpec { inputs: ports, outputs, buffers, queue, memory, fabric: rate, frame: 1250 };
        let switch = Switch::new(&spec, Rng::new(1)).expect("a switch");
        Bench { switch, waits: vec![Vec::new(); ports] }
    }

    /// A packet comes for the slot that begins now.
    fn arrive(&mut self, slot: u64, (input, output): (usize, usize), flow_hash: u32) {
        let cookie = slot << 8 | output as u64;
        let packet = Header { cookie, len: 1250, truesize: 1250, flow_hash, dsfield: 0 };
        let _ = self.switch.arrive(Nanos(slot * SLOT), (input, output), packet, &mut Told);
    }

    /// Runs slot after slot. Before each, `arrivals` come.
    fn run(&mut self, mut arrivals: impl FnMut(&mut Bench, u64)) {
        for slot in 0..=SLOTS {
            let now = Nanos(slot * SLOT);
            while let Some((output, packet)) = self.switch.depart(now) {
                self.waits[output].push(slot - 1 - (packet.cookie >> 8));
            }
            if slot < SLOTS {
                arrivals(self, slot);
            }
            self.switch.connect(now, &mut Told);
        }
    }

    fn passed(&self) -> f64 {
        self.waits.iter().map(Vec::len).sum::<usize>() as f64 / (SLOTS * self.waits.len() as u64) as f64
    }
}

/// Uniform traffic at a share of the lines' rate, for a number of slots. Returns the share of it that passed,
/// and the mean number of slots that a packet waited before its own.
fn uniform(ports: usize, buffers: Buffers, queue: &str, load: f64) -> (f64, f64) {
    let mut bench = Bench::new(ports, buffers, queue, None);
    let mut draws = Rng::new(7);
    bench.run(|bench, slot| {
        for input in 0..ports {
            let draw = draws.next_u64() as f64 / u64::MAX as f64;
            let output = usize::try_from(draws.below(ports as u64)).expect("a port");
            if draw < load {
                bench.arrive(slot, (input, output), 0);
            }
        }
    });
    let waits = bench.waits.concat();
    (bench.passed(), waits.iter().sum::<u64>() as f64 / waits.len() as f64)
}

/// Karol, Hluchyj and Morgan, "Input versus output queueing on a space-division packet switch", 1987, table
/// I: the saturation throughput with input queues; for many ports 2 - sqrt 2. With 20 000 slots its standard
/// error is below 0.3 %.
#[test]
fn input_queues_pass_as_little_as_the_table_says() {
    for (ports, expected) in
        [(1, 1.0), (2, 0.75), (3, 0.6825), (4, 0.6553), (5, 0.6399), (6, 0.6302), (7, 0.6234), (8, 0.6184)]
    {
        let (passed, _) = uniform(ports, Buffers::Input, "pfifo:100", 1.0);
        assert!((passed - expected).abs() < 0.01, "{ports} ports: {passed}, {expected}");
    }
    let (passed, _) = uniform(64, Buffers::Input, "pfifo:100", 1.0);
    assert!((passed - (2.0 - 2.0_f64.sqrt())).abs() < 0.01, "{passed}");
}

/// `McKeown`, "The iSLIP scheduling algorithm for input-queued switches", 1999: 100 % of uniform traffic.
#[test]
fn virtual_output_queues_pass_all_uniform_traffic() {
    let (passed, _) = uniform(8, Buffers::Voq, "pfifo:1000", 1.0);
    assert!(passed > 0.98, "{passed}");
    let (passed, _) = uniform(8, Buffers::Voq, "pfifo:1000", 0.9);
    assert!((passed - 0.9).abs() < 0.01, "{passed}");
}

/// Karol, Hluchyj and Morgan, equation 5: with queues at the outputs the mean wait is (N - 1) / N * p / (2 (1
/// - p)).
#[test]
fn output_queues_wait_as_the_formula_says() {
    for load in [0.5, 0.8] {
        let (passed, waited) = uniform(8, Buffers::Output, "pfifo:1000", load);
        let expected = 7.0 / 8.0 * load / (2.0 * (1.0 - load));
        assert!((passed - load).abs() < 0.01);
        assert!((waited - expected).abs() < 0.1 * expected, "{load}: {waited}, {expected}");
    }
}

/// One queue for all sends no faster than its heads allow: runs of packets whose outputs all differ. With
/// uniform traffic to N outputs such a run has sum over k of N! / ((N - k)! N^k) packets on average, of
/// which each slot sends one.
#[test]
fn one_queue_for_all_passes_runs_of_different_outputs() {
    let ports = 8;
    let (passed, _) = uniform(ports, Buffers::Shared, "pfifo:1000", 1.0);
    let distinct = |k: u32| (0..k).map(|i| 1.0 - f64::from(i) / 8.0).product::<f64>();
    let run: f64 = (1..=8).map(distinct).sum();
    assert!((passed - run / 8.0).abs() < 0.01, "{passed}, {}", run / 8.0);
}

/// Three inputs send as much as they can to output 0, but every tenth packet of the third is for output 1,
/// which no other input uses. Returns how many of the 2000 packets for output 1 passed, their longest wait in
/// slots, and the most bytes in the switch.
fn beside_a_busy_output(buffers: Buffers, queue: &str, memory: Option<u64>) -> (usize, u64, u64) {
    let mut bench = Bench::new(4, buffers, queue, memory);
    let mut most = 0;
    bench.run(|bench, slot| {
        for input in 0..3 {
            let output = usize::from(input == 2 && slot % 10 == 0);
            bench.arrive(slot, (input, output), if output == 1 { 0 } else { 1 << 31 });
        }
        most = most.max(bench.switch.backlog().bytes);
    });
    let waits = &bench.waits[1];
    (waits.len(), waits.iter().max().copied().unwrap_or(0), most)
}

/// T91: "use small buffers, build switches with VOQ, FQ and AQM". The big shared buffer fills with packets
/// that one output cannot send, and packets for a free output find no room. Queues that several outputs share
/// make them wait behind; a queue for each output does not.
#[test]
fn a_busy_output_delays_a_free_one_unless_each_has_its_own_queue() {
    // An input sends to one output at a time. If it feeds the busy output, the other waits one slot and no
    // more.
    let (passed, longest, _) = beside_a_busy_output(Buffers::Voq, "fq_codel", None);
    assert_eq!(passed, 2000);
    assert!(longest <= 1, "{longest}");
    let (passed, longest, _) = beside_a_busy_output(Buffers::Output, "fq_codel", None);
    assert_eq!((passed, longest), (2000, 0));
    let (passed, _, most) = beside_a_busy_output(Buffers::Output, "pfifo:1000", Some(1_250_000));
    assert!(passed < 1500 && most == 1_250_000, "{passed} {most}");
    for buffers in [Buffers::Input, Buffers::Shared] {
        let (passed, longest, _) = beside_a_busy_output(buffers, "pfifo:300", None);
        assert!(passed < 1000 && longest > 250, "{buffers:?}: {passed} {longest}");
    }
}

/// A line that is slower than the fabric holds its output, and not the input that feeds it.
#[test]
fn an_input_is_free_when_a_packet_is_read_not_when_it_is_sent() {
    let line = |rate| Serializer::new(Rate(rate)).expect("a line");
    let queue = "pfifo:10".parse().expect("a queue");
    let spec = SwitchSpec {
        inputs: 1,
        outputs: vec![(line(100_000_000), queue), (line(1_000_000_000), queue)],
        buffers: Buffers::Voq,
        queue,
        memory: None,
        fabric: Rate(1_000_000_000),
        frame: 1250,
    };
    let mut switch = Switch::new(&spec, Rng::new(1)).expect("a switch");
    for (cookie, output) in [(0, 0), (1, 1), (1, 1)] {
        let packet = Header { cookie, len: 1250, truesize: 1250, ..Header::default() };
        let _ = switch.arrive(Nanos(0), (0, output), packet, &mut Told);
    }
    let mut ends = Vec::new();
    let mut now = Some(Nanos(0));
    while let Some(at) = now {
        while let Some((output, _)) = switch.depart(at) {
            ends.push((output, at.0));
        }
        switch.connect(at, &mut Told);
        now = switch.next_wake(at);
    }
    assert_eq!(ends, [(1, 20_000), (1, 30_000), (0, 100_000)]);
}

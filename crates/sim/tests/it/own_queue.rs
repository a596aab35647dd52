//! A user-defined queue is called, counted and checked as those of the catalogue are.

use std::collections::VecDeque;

use goodqueue::{Nanos, Packet, QueueSpec, Rate, Reason, RingSpec, Rng, Span};
use goodqueue_sim::switch::Buffers;
use goodqueue_sim::tcp::Config;
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{
    Discipline, Dumbbell, Flow, Link, OwnQueue, Pattern, PortSpec, Report, Scenario, Shaper, ShaperKind,
    Simulation, Source, Switch, Token,
};

const RATE: Rate = Rate(20_000_000);

/// `pfifo`, reimplemented.
#[derive(Clone, Debug)]
struct Pfifo(usize, VecDeque<Token>);

impl OwnQueue for Pfifo {
    fn enqueue(&mut self, _: Nanos, packet: Token, report: &mut Report<'_>) {
        if self.1.len() == self.0 {
            return report.drop(packet, Reason::Limit);
        }
        self.1.push_back(packet);
    }
    fn dequeue(&mut self, _: Nanos, _: &mut Report<'_>) -> Option<Token> {
        self.1.pop_front()
    }
}

fn pfifo(limit: usize) -> Discipline {
    Discipline::own("mine", Pfifo(limit, VecDeque::new()))
}

/// Two flows for 10 s through this port.
fn run(port: PortSpec, ecn: bool) -> Simulation {
    let rtts = vec![Span::from_millis(20), Span::from_millis(40)];
    let mut scenario = Dumbbell { up: port.clone(), down: port, rtts }.scenario();
    scenario.tcp = Config { ecn, ..scenario.tcp };
    let flow = |pair| Flow::new(Dumbbell::client(pair), Dumbbell::server(pair), CcKind::Cubic);
    scenario.flows = vec![flow(0), flow(1)];
    let mut simulation = Simulation::new(&scenario).expect("a scenario");
    simulation.run_until(Nanos::ZERO + Span::from_secs(10));
    simulation
}

fn seen(simulation: &Simulation) -> impl PartialEq + std::fmt::Debug {
    let link = simulation.link(Dumbbell::UP);
    let received = [0, 1].map(|flow| simulation.flow(flow).received);
    (link.queue(), link.counters(), link.backlog(), link.ring_backlog(), link.line().bytes, received)
}

/// With a ring, a shaper or several hardware queues both take the same steps, since there a FIFO is not
/// computed ahead.
#[test]
fn a_fifo_of_ones_own_is_pfifo() {
    let ring = Some(RingSpec { entries: 4, bql: false, coalesce: Span::ZERO });
    let shaper = Some(Shaper { kind: ShaperKind::Htb, rate: Rate(15_000_000), burst: 1514 });
    for (ring, shaper, lanes) in [(ring, None, 1), (None, shaper, 1), (ring, shaper, 1), (ring, None, 2)] {
        let port = |queue| PortSpec { ring, shaper, lanes, ..PortSpec::new(queue, RATE) };
        let own = run(port(pfifo(50)), false);
        let ours = run(port("pfifo:50".parse().expect("a queue")), false);
        assert_eq!(own.trace_hash(), ours.trace_hash());
        assert_eq!(seen(&own), seen(&ours));
        assert!(own.link(Dumbbell::UP).queue().drops > 0);
    }
    let [own, ours] =
        [pfifo(50), "pfifo:50".parse().expect("a queue")].map(|queue| run(PortSpec::new(queue, RATE), false));
    assert_eq!(seen(&own), seen(&ours));
}

/// Each packet leaves at the earliest 3 ms after it arrived. One in a hundred is marked at random.
#[derive(Clone, Debug, Default)]
struct Late(VecDeque<(Nanos, Token)>, Option<Rng>);

impl OwnQueue for Late {
    fn enqueue(&mut self, now: Nanos, mut packet: Token, report: &mut Report<'_>) {
        if self.1.as_mut().expect("seeded").below(100) == 0 {
            report.mark(&mut packet, Reason::Red);
        }
        self.0.push_back((now + Span::from_millis(3), packet));
    }
    fn dequeue(&mut self, now: Nanos, _: &mut Report<'_>) -> Option<Token> {
        self.0.pop_front_if(|(at, _)| *at <= now).map(|(_, packet)| packet)
    }
    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        self.0.front().map(|(at, _)| now.max(*at))
    }
    fn seed(&mut self, draws: Rng) {
        self.1 = Some(draws);
    }
    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        each("waiting", self.0.len() as u64);
    }
}

#[test]
fn a_queue_that_holds_packets_is_polled_in_time_and_its_marks_count() {
    let port = || PortSpec::new(Discipline::own("late", Late::default()), RATE);
    let simulation = run(port(), true);
    let link = simulation.link(Dumbbell::UP);
    let queue = link.queue();
    assert!(queue.marks > 50 && queue.marks == link.counters().marks && queue.drops == 0, "{queue:?}");
    assert!(simulation.flow(0).info.min_rtt_us >= 26_000, "3 ms each way above 20");
    assert!(simulation.flow(0).info.min_rtt_us < 27_500);
    assert!(link.wake_ups() <= 3 * link.counters().arrived);
    let mut counters = Vec::new();
    link.queue_counters(&mut |name, value| counters.push((name, value)));
    assert_eq!(counters, [("waiting", u64::from(link.backlog().packets))]);
    assert_eq!(simulation.trace_hash(), run(port(), true).trace_hash(), "the seed decides");
}

/// The rule that it breaks.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    Twice,
    Invented,
    Withheld,
}

#[derive(Clone, Debug)]
struct Faulty(Wrong, Vec<Token>);

impl OwnQueue for Faulty {
    fn enqueue(&mut self, _: Nanos, packet: Token, report: &mut Report<'_>) {
        if matches!(self.0, Wrong::Twice) {
            report.drop(packet, Reason::Limit);
        }
        self.1.push(packet);
        assert!(packet.len() > 0);
    }
    fn dequeue(&mut self, _: Nanos, _: &mut Report<'_>) -> Option<Token> {
        match self.0 {
            Wrong::Twice => self.1.pop(),
            Wrong::Invented => Some(Token::default()),
            Wrong::Withheld => None,
        }
    }
}

#[test]
fn a_queue_that_breaks_the_contract_is_named() {
    for (wrong, what) in [
        (Wrong::Twice, "the queue `faulty` gave back a packet that it did not have"),
        (Wrong::Invented, "the queue `faulty` gave back a packet that it did not have"),
        (Wrong::Withheld, "the queue `faulty` holds 1 packets, says that one may leave, and gives none"),
    ] {
        let faulty = || Discipline::own("faulty", Faulty(wrong, Vec::new()));
        let panic =
            std::panic::catch_unwind(|| run(PortSpec::new(faulty(), RATE), false)).expect_err("a panic");
        assert_eq!(panic.downcast_ref::<String>().map(String::as_str), Some(what), "{wrong:?}");
    }
}

/// Two hosts send to a third through a switch, about as much as its output can carry.
fn switched(queue: &Discipline, buffers: Buffers) -> Simulation {
    let port = |queue: &Discipline| Some(PortSpec::new(queue.clone(), RATE));
    let fifo: QueueSpec = "pfifo:50".parse().expect("a queue");
    let source = |from| Source {
        from,
        to: 3,
        pattern: Pattern::Poisson { mean: Span::from_micros(1200) },
        len: 1514,
        dscp: 0,
        start: Span::ZERO,
        stop: None,
    };
    let scenario = Scenario {
        nodes: ["one", "other", "switch", "receiver"].map(String::from).to_vec(),
        links: vec![
            Link::new(0, 2, port(&fifo.into()), Span::from_micros(5)),
            Link::new(1, 2, port(&fifo.into()), Span::from_micros(7)),
            Link::new(2, 3, port(queue), Span::from_micros(5)),
        ],
        sources: vec![source(0), source(1)],
        switches: vec![Switch { node: 2, buffers, queue: fifo, memory: None }],
        tcp: Config { tso: false, ..Config::default() },
        seed: 1,
        ..Scenario::default()
    };
    let mut simulation = Simulation::new(&scenario).expect("a scenario");
    simulation.run_until(Nanos::ZERO + Span::from_secs(5));
    simulation
}

#[test]
fn a_fifo_of_ones_own_is_pfifo_at_an_output_of_a_switch() {
    for buffers in [Buffers::Output, Buffers::Voq] {
        let own = switched(&pfifo(5), buffers);
        let ours = switched(&"pfifo:5".parse().expect("a queue"), buffers);
        assert_eq!(own.trace_hash(), ours.trace_hash(), "{buffers:?}");
        let [own, ours] = [&own, &ours].map(|simulation| simulation.link(2));
        assert_eq!((own.queue(), own.counters()), (ours.queue(), ours.counters()), "{buffers:?}");
        assert!(own.queue().drops > 10, "{buffers:?}: {:?}", own.queue());
    }
}

/// The switch would not ask it again in time.
#[test]
#[should_panic(expected = "the queue `late` holds 1 packets and gives none: at a switch no queue holds back")]
fn a_queue_that_holds_packets_back_at_a_switch_is_named() {
    switched(&Discipline::own("late", Late::default()), Buffers::Output);
}

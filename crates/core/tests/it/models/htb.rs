//! `htb` against a model that looks at every class for every packet.

use goodqueue::arena::Slot;
use goodqueue::fifo::Limit;
use goodqueue::htb::{Class, ClassParams, Htb, Map};
use goodqueue::{
    AnyQueue, Configurable, Fifo, FqCodel, Header, Ignore, Nanos, Queue, Rate, Tbf, fq_codel, tbf,
};
use proptest::prelude::*;

use super::LINK;
use super::harness::{Seen, Subject, op, run};

type Tree = Htb<Header, AnyQueue<Header>>;

impl Subject for Tree {
    const IS_FIFO: bool = false;
    const IS_SHAPER: bool = true;
    fn reconfigure(&mut self, now: Nanos, choice: u8, seen: &mut Seen) {
        // Changes only a DSCP that no packet here has: another class would change the order of a flow.
        let mut map: Map = map(self.classes().len());
        map[63] = map[usize::from(choice)];
        self.configure(now, map, LINK, seen).expect("leaves");
    }
}

/// A class: its parent among those before it, ns per byte at its rate and at its ceil, prio, quantum.
#[derive(Clone, Copy, Debug)]
struct Given {
    parent: usize,
    rate: u64,
    ceil: u64,
    prio: u8,
    quantum: u32,
    leaf: u8,
}

/// The times per byte are whole ns, so that the model's times are exact.
fn given() -> impl Strategy<Value = Given> {
    let pace = || prop::sample::select(vec![100_u64, 250, 500, 1000, 2000, 8000]);
    (0_usize..5, pace(), pace(), 0_u8..4, 500_u32..4000, 0_u8..4).prop_map(
        |(parent, one, other, prio, quantum, leaf)| Given {
            parent,
            rate: one.max(other),
            ceil: one.min(other),
            prio,
            quantum,
            leaf,
        },
    )
}

const BURST: u32 = 2000;

fn params(given: &Given, parent: Option<usize>) -> ClassParams {
    let of = |pace: u64| Rate(8_000_000_000 / pace);
    ClassParams {
        parent,
        ceil: of(given.ceil),
        burst: BURST,
        cburst: BURST,
        prio: given.prio,
        quantum: Some(given.quantum),
        ..ClassParams::new(of(given.rate))
    }
}

fn leaf(choice: u8) -> AnyQueue<Header> {
    match choice {
        0 | 1 => AnyQueue::Fifo(fifo()),
        2 => {
            let (flows, slots) = (vec![fq_codel::Flow::default(); 4], vec![Slot::default(); 13]);
            let params = fq_codel::Params { limit: 12, ..fq_codel::Params::default() };
            AnyQueue::FqCodel(Box::new(
                FqCodel::new(Nanos(0), params, LINK, (flows, slots)).expect("storage"),
            ))
        }
        _ => {
            let params = tbf::Params::new(Rate(1_000_000), 70_000, 200_000);
            let places = vec![Header::default(); 50];
            AnyQueue::Tbf(Box::new(Tbf::new(Nanos(0), params, LINK, places).expect("parameters")))
        }
    }
}

fn fifo() -> Fifo<Header> {
    super::fifo(Limit::Packets(300), 300)
}

/// Each DSCP's leaf: the second half of the classes, in turn.
fn map(classes: usize) -> Map {
    let inner = classes / 2;
    core::array::from_fn(|dscp| u8::try_from(inner + dscp % (classes - inner)).expect("few"))
}

/// Inner classes first, the leaves under them.
fn tree<Q>(given: &[Given], mut queue: impl FnMut(u8) -> Q) -> Option<Vec<Class<Q>>> {
    let inner = given.len() / 2;
    let mut has_child = vec![false; inner];
    let parents: Vec<Option<usize>> = (0..given.len())
        .map(|at| at.min(inner).checked_sub(1).map(|most| given[at].parent % (most + 1)))
        .collect();
    parents.iter().flatten().for_each(|&parent| has_child[parent] = true);
    has_child.iter().all(|&has| has).then(|| {
        let one = |(at, (given, &parent)): (usize, (&Given, &Option<usize>))| {
            if at < inner {
                Class::inner(params(given, parent))
            } else {
                Class::leaf(params(given, parent), queue(given.leaf))
            }
        };
        given.iter().zip(&parents).enumerate().map(one).collect()
    })
}

/// One class of the model: buckets in ns.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    parent: Option<usize>,
    is_leaf: bool,
    depth: u8,
    prio: u8,
    /// ns per byte; the most that the bucket can hold; what it holds now.
    paces: (i64, i64),
    most: (i64, i64),
    tokens: (i64, i64),
    at: u64,
}

struct Model(Vec<Bucket>);

impl Model {
    fn new(classes: &[Class<Fifo<Header>>]) -> Model {
        let mut model: Vec<Bucket> = Vec::new();
        for class in classes {
            let params = class.params();
            let pace = |rate: Rate| i64::try_from(8_000_000_000 / rate.0).expect("whole");
            let paces = (pace(params.rate), pace(params.ceil));
            let most = (paces.0 * i64::from(params.burst), paces.1 * i64::from(params.cburst));
            model.push(Bucket {
                parent: params.parent,
                is_leaf: class.queue().is_some(),
                depth: params.parent.map_or(0, |parent| model[parent].depth + 1),
                prio: params.prio,
                paces,
                most,
                tokens: most,
                at: 0,
            });
        }
        Model(model)
    }

    fn level(&self, class: usize) -> u8 {
        if self.0[class].is_leaf { 0 } else { 7 - self.0[class].depth }
    }

    /// The tokens of both buckets at `now`.
    fn tokens(&self, class: usize, now: u64) -> (i64, i64) {
        let bucket = &self.0[class];
        let earned = i64::try_from(now - bucket.at).expect("short");
        (bucket.tokens.0 + earned, bucket.tokens.1 + earned)
    }

    /// The class on whose tokens a leaf may send.
    fn lender(&self, leaf: usize, now: u64) -> Option<usize> {
        let mut class = leaf;
        loop {
            let (tokens, ctokens) = self.tokens(class, now);
            if ctokens < 0 {
                return None;
            }
            if tokens >= 0 {
                return Some(class);
            }
            class = self.0[class].parent?;
        }
    }

    fn charge(&mut self, leaf: usize, lender: usize, len: u32, now: u64) {
        let (mut next, mut pays) = (Some(leaf), false);
        while let Some(class) = next {
            pays |= class == lender;
            let (tokens, ctokens) = self.tokens(class, now);
            let bucket = &mut self.0[class];
            let cost = |pace: i64| pace * i64::from(len);
            bucket.tokens.0 = if pays { tokens.min(bucket.most.0) - cost(bucket.paces.0) } else { tokens };
            bucket.tokens.1 = ctokens.min(bucket.most.1) - cost(bucket.paces.1);
            bucket.at = now;
            next = bucket.parent;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    /// Conservation, order, and exact wake times, with leaves that drop packets and leaves that hold them
    /// back.
    #[test]
    fn htb_keeps_every_promise(
        ops in prop::collection::vec(op(), 1..200),
        given in prop::collection::vec(given(), 1..9),
    ) {
        if let Some(classes) = tree(&given, leaf) {
            run(Tree::new(Nanos(0), map(given.len()), LINK, classes).expect("a tree"), 0, &ops);
        }
    }

    /// The model lets a leaf send if it has packets and a lender. Of these leaves, the one whose lender has
    /// the lowest level goes first, and then the one with the lowest prio. No leaf sends if and only if none
    /// may. In any time, no leaf passes more than its ceil and its bucket allow; for a leaf that is a root,
    /// its rate counts instead of its ceil.
    #[test]
    fn htb_sends_what_the_model_lets_it(
        arrivals in prop::collection::vec((0_u64..3_000_000, 0_u8..64, 64_u32..1515), 1..150),
        given in prop::collection::vec(given(), 1..9),
    ) {
        let Some(classes) = tree(&given, |_| fifo()) else { return Ok(()) };
        let map = map(given.len());
        let mut model = Model::new(&classes);
        let mut queue = <Htb<Header, Fifo<Header>>>::new(Nanos(0), map, LINK, classes).expect("a tree");
        let mut seen = Ignore;
        let mut waiting = vec![0_u32; given.len()];
        let mut sent: Vec<(u64, usize, u32)> = Vec::new();
        let (mut now, mut arrivals) = (0, arrivals.into_iter().peekable());
        let mut due = arrivals.peek().map(|&(gap, ..)| gap);
        loop {
            let wake = queue.next_wake(Nanos(now)).map(|wake| wake.0);
            now = match (due, wake) {
                (Some(due), Some(wake)) => due.min(wake),
                (Some(at), None) | (None, Some(at)) => at,
                (None, None) => break,
            };
            while due.is_some_and(|due| due <= now) {
                let Some((_, dscp, len)) = arrivals.next() else { break };
                queue.enqueue(Nanos(now), Header { len, dsfield: dscp << 2, ..Header::default() }, &mut seen);
                waiting[usize::from(map[usize::from(dscp)])] += 1;
                due = arrivals.peek().map(|&(gap, ..)| now + gap);
            }
            loop {
                let may = |leaf: usize| model.lender(leaf, now).map(|class| (model.level(class), model.0[leaf].prio));
                let best = (0..given.len()).filter(|&leaf| waiting[leaf] > 0).filter_map(may).min();
                let packet = queue.dequeue(Nanos(now), &mut seen);
                prop_assert_eq!(packet.is_some(), best.is_some(), "at {}", now);
                let Some(packet) = packet else { break };
                let leaf = usize::from(map[usize::from(packet.dsfield >> 2)]);
                let lender = model.lender(leaf, now).ok_or(TestCaseError::fail("a leaf without a lender"))?;
                prop_assert_eq!(Some((model.level(lender), model.0[leaf].prio)), best);
                model.charge(leaf, lender, packet.len, now);
                waiting[leaf] -= 1;
                sent.push((now, leaf, packet.len));
            }
        }
        for class in 0..given.len() {
            let own: Vec<_> = sent.iter().filter(|&&(_, leaf, _)| leaf == class).collect();
            let bucket = &model.0[class];
            let pace = if bucket.parent.is_none() { bucket.paces.0 } else { bucket.paces.1 }.unsigned_abs();
            for first in 0..own.len() {
                let mut bytes = 0;
                for packet in &own[first..] {
                    // The packets sent before this one had tokens, and did not leave them below zero.
                    let earned = packet.0 - own[first].0 + pace * u64::from(BURST);
                    prop_assert!(bytes * pace <= earned, "class {} from {}", class, own[first].0);
                    bytes += u64::from(packet.2);
                }
            }
        }
    }

    /// Borrowers of one prio: the amounts that they have sent per byte of quantum differ by at most a turn
    /// and a packet of each.
    #[test]
    fn borrowers_share_in_ratio_of_their_quanta(quanta in prop::collection::vec(1000_u32..6000, 2..6)) {
        let root = Class::inner(ClassParams::new(Rate(8_000_000)));
        let leaf = |&quantum: &u32| {
            let params = ClassParams { parent: Some(0), ceil: Rate(8_000_000), ..ClassParams::new(Rate(8)) };
            Class::leaf(ClassParams { quantum: Some(quantum), ..params }, fifo())
        };
        let classes: Vec<_> = core::iter::once(root).chain(quanta.iter().map(leaf)).collect();
        let map: Map = core::array::from_fn(|dscp| u8::try_from(1 + dscp % quanta.len()).expect("few"));
        let mut queue = <Htb<Header, Fifo<Header>>>::new(Nanos(0), map, LINK, classes).expect("a tree");
        let mut seen = Ignore;
        for at in 0..100 * quanta.len() {
            let dsfield = u8::try_from(at % quanta.len()).expect("few") << 2;
            queue.enqueue(Nanos(0), Header { len: 1000, dsfield, ..Header::default() }, &mut seen);
        }
        // Each may send its bucket on its own tokens, and one packet below zero; everything after that is
        // borrowed.
        let own = 1600.0 + 1000.0;
        let (mut now, mut sent) = (Nanos(0), vec![0.0; quanta.len()]);
        while sent.iter().all(|&sent| sent < 100_000.0) {
            now = queue.next_wake(now).ok_or(TestCaseError::fail("packets wait"))?;
            let packet = queue.dequeue(now, &mut seen).ok_or(TestCaseError::fail("it wakes to send"))?;
            sent[usize::from(packet.dsfield >> 2)] += 1000.0;
            for (&a, &of_a) in sent.iter().zip(&quanta) {
                for (&b, &of_b) in sent.iter().zip(&quanta) {
                    let (of_a, of_b) = (f64::from(of_a), f64::from(of_b));
                    let slack = 1.0 + (own + 1000.0) / of_a + (own + 1000.0) / of_b;
                    prop_assert!(a / of_a - b / of_b <= slack, "{:?} of {:?}", sent, quanta);
                }
            }
        }
    }
}

//! `prio`, `pfifo_fast` and `drr`, with models of bands and of turns; `red`.

use std::collections::VecDeque;

use goodqueue::arena::Slot;
use goodqueue::drr::{By, Class};
use goodqueue::fifo::Limit;
use goodqueue::prio::{Priomap, priority};
use goodqueue::{
    Configurable, Drr, Fifo, FqCodel, Header, Ignore, Nanos, Prio, Queue, Rate, Red, Rng, Tbf, drr, fq_codel,
    red, tbf,
};
use proptest::prelude::*;

use super::LINK;
use super::harness::{Seen, Subject, op, run};

impl<Q: Queue<Header> + Clone + Leaf + 'static> Subject for Prio<Header, Q> {
    const IS_FIFO: bool = false;
    const IS_SHAPER: bool = Q::IS_SHAPER;
    fn reconfigure(&mut self, now: Nanos, choice: u8, seen: &mut Seen) {
        // The priorities that packets here have, 0, 2, 4 and 6, keep their band: another one would change
        // their order.
        self.configure(
            now,
            Priomap([1, choice, 2, 2, 1, choice, 0, 0, 1, 1, 1, 1, 1, 1, 1, choice]),
            LINK,
            seen,
        )
        .expect("a map");
    }
}

impl<Q: Queue<Header> + Clone + Leaf + 'static> Subject for Drr<Header, Q> {
    const IS_FIFO: bool = false;
    const IS_SHAPER: bool = Q::IS_SHAPER;
    fn reconfigure(&mut self, now: Nanos, choice: u8, seen: &mut Seen) {
        let mut params = quanta(300, *self.params());
        params.weights[0] = choice;
        self.configure(now, params, LINK, seen).expect("parameters");
    }
}

impl Subject for Red<Header> {
    const IS_FIFO: bool = true;
    fn reconfigure(&mut self, now: Nanos, choice: u8, seen: &mut Seen) {
        self.configure(now, red(choice), LINK, seen).expect("parameters");
    }
}

/// A queue of one class.
trait Leaf {
    const IS_SHAPER: bool = false;
}
impl Leaf for Fifo<Header> {}
impl Leaf for FqCodel<Header> {}
impl Leaf for Tbf<Header> {
    const IS_SHAPER: bool = true;
}

fn red(choice: u8) -> red::Params {
    red::Params {
        max: Some([20_000, 60_000][usize::from(choice & 1)]),
        avpkt: 100,
        ecn: choice & 2 != 0,
        adaptive: choice & 1 != 0,
        probability: 50,
        ..red::Params::new(150_000)
    }
}

fn new_red(params: red::Params, places: usize) -> Red<Header> {
    Red::new(Nanos(0), params, LINK, (Rng::new(1), vec![Header::default(); places])).expect("a queue")
}

fn fifo(limit: u32) -> Fifo<Header> {
    super::fifo(Limit::Packets(limit), limit as usize)
}

fn tbf() -> Tbf<Header> {
    let params = tbf::Params::new(Rate(1_000_000), 70_000, 200_000);
    Tbf::new(Nanos(0), params, LINK, vec![Header::default(); 50]).expect("parameters")
}

fn fair() -> FqCodel<Header> {
    let params = fq_codel::Params { limit: 12, ..fq_codel::Params::default() };
    let parts = (vec![fq_codel::Flow::default(); 4], vec![Slot::default(); 13]);
    FqCodel::new(Nanos(0), params, LINK, parts).expect("storage")
}

fn prio<Q: Queue<Header> + 'static>(map: Priomap, bands: Vec<Q>) -> Prio<Header, Q> {
    Prio::new(Nanos(0), map, LINK, bands).expect("bands")
}

/// A quantum for classes of weight 1.
fn quanta(quantum: u32, params: drr::Params) -> drr::Params {
    drr::Params { quantum: Some(quantum), ..params }
}

fn drr<Q: Queue<Header> + 'static>(params: drr::Params, queues: Vec<Q>) -> Drr<Header, Q> {
    let classes = queues.into_iter().map(Class::new).collect();
    Drr::new(Nanos(0), params, LINK, classes).expect("classes")
}

/// An arrival with its DSCP and length, or a departure.
fn calls() -> impl Strategy<Value = Vec<Option<(u8, u32)>>> {
    prop::collection::vec(prop::option::weighted(0.6, (0_u8..64, 60_u32..1515)), 1..300)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn queues_of_classes_keep_every_promise(ops in prop::collection::vec(op(), 1..200), quantum in 1_u32..3000) {
        let map = Priomap::default();
        run(prio(map, vec![fifo(5); 3]), 0, &ops);
        run(prio(map, vec![fair(); 3]), 0, &ops);
        run(prio(map, vec![tbf(); 3]), 0, &ops);
        let params = quanta(quantum, drr::Params::default());
        run(drr(params, vec![fifo(5); 4]), 0, &ops);
        run(drr(params, vec![fair(); 4]), 0, &ops);
        run(drr(params, vec![tbf(); 4]), 0, &ops);
    }

    #[test]
    fn red_keeps_every_promise(ops in prop::collection::vec(op(), 1..300), choice in 0_u8..4) {
        run(new_red(red(choice), 60), 0, &ops);
    }

    /// tc-prio(8): a packet leaves only while all bands before its own are empty.
    #[test]
    fn the_first_band_that_has_a_packet_sends_it(calls in calls(), digits in any::<u64>()) {
        let map = Priomap(Priomap::of_digits(digits).0.map(|band| band % 4));
        let mut queue = prio(map, vec![fifo(20); 4]);
        let mut model = [const { VecDeque::new() }; 4];
        let mut seen = Ignore;
        for (id, call) in (0_u64..).zip(calls) {
            if let Some((dscp, len)) = call {
                let packet = Header { cookie: id, len, dsfield: dscp << 2, ..Header::default() };
                let band = &mut model[usize::from(map.0[usize::from(priority(packet.dsfield))])];
                queue.enqueue(Nanos(id), packet, &mut seen);
                if band.len() < 20 {
                    band.push_back(id);
                }
            } else {
                let expected = model.iter_mut().find_map(VecDeque::pop_front);
                prop_assert_eq!(queue.dequeue(Nanos(id), &mut seen).map(|packet| packet.cookie), expected);
            }
        }
    }

    /// Shreedhar and Varghese, section 3, lemma 1 and theorem 2: while two classes stay backlogged, the
    /// amounts that they have sent per byte of quantum differ by no more than one quantum and two longest
    /// packets; and no packet waits while another class's deficit grows without end.
    #[test]
    fn backlogged_classes_share_in_ratio_of_their_quanta(
        lens in prop::collection::vec(60_u32..1515, 400),
        weights in prop::array::uniform4(1_u8..6),
    ) {
        let quanta = weights.map(|weight| u32::from(weight) * 1514);
        let mut params = drr::Params { by: By::Dscp, quantum: Some(1514), ..drr::Params::default() };
        params.weights[..4].copy_from_slice(&weights);
        let mut queue = drr(params, vec![fifo(200); 4]);
        let mut seen = Ignore;
        let mut left = [0; 4];
        for (at, &len) in lens.iter().enumerate() {
            let class = u8::try_from(at % 4).expect("four");
            left[at % 4] += 1;
            queue.enqueue(Nanos(0), Header { len, dsfield: class << 6, ..Header::default() }, &mut seen);
        }
        let mut sent = [0_u32; 4];
        while left.iter().all(|&left| left > 0) {
            let packet = queue.dequeue(Nanos(0), &mut seen);
            let packet = packet.ok_or(TestCaseError::fail("a backlogged queue sends"))?;
            let class = usize::from(packet.dsfield >> 6);
            left[class] -= 1;
            sent[class] += packet.len;
            for a in 0..4 {
                for b in 0..4 {
                    let turns = |class: usize| f64::from(sent[class]) / f64::from(quanta[class]);
                    let slack = 1.0 + 1514.0 / f64::from(quanta[a]) + 1514.0 / f64::from(quanta[b]);
                    prop_assert!(turns(a) - turns(b) <= slack, "{:?} of {:?}", sent, quanta);
                }
            }
        }
    }

    /// RED never drops what the average allows, and always drops above `max`, according to a model with
    /// floating point and no random numbers.
    #[test]
    fn red_passes_below_min_and_drops_above_max(arrivals in prop::collection::vec((0_u32..3, 1_u32..3000), 1..400)) {
        let params = red::Params { avpkt: 100, ..red::Params::new(200_000) };
        let law = params.law().expect("parameters");
        let mut queue = new_red(params, 6000);
        let (mut average, weight) = (0.0, 0.5_f64.powi(law.wlog.into()));
        let mut seen = Ignore;
        let mut idle = None;
        for (at, (departures, len)) in (0_u64..).zip(arrivals) {
            let now = Nanos(at * 50_000);
            for _ in 0..departures {
                if queue.dequeue(now, &mut seen).is_none() {
                    idle = idle.or(Some(now));
                }
            }
            let held = queue.backlog().bytes as f64;
            match idle.take() {
                Some(Nanos(since)) => {
                    let packets = (now.0 - since) / params.packet_time().0;
                    average *= (1.0 - weight).powf(packets as f64);
                }
                None => average += weight * (held - average),
            }
            let packet = Header { cookie: at, len, ..Header::default() };
            let is_dropped = queue.enqueue(now, packet, &mut seen) != goodqueue::Verdict::Enqueued;
            let (min, max) = (f64::from(law.qth_min), f64::from(law.qth_max));
            if average < min - 1.0 && held + f64::from(len) <= 200_000.0 {
                prop_assert!(!is_dropped, "dropped at an average of {}", average);
            }
            prop_assert!(is_dropped || average < max + 1.0, "queued at an average of {}", average);
        }
    }
}

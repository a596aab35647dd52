//! `pie` and `fq_pie`.

use goodqueue::pie::{MAX_PROB, Params, Stamped};
use goodqueue::{
    Configurable, Draws, FqPie, Header, Heap, Ignore, Nanos, Pie, Queue, Reason, Rng, Span, Verdict, fq_pie,
};
use proptest::prelude::*;

use super::LINK;
use super::harness::{Op, Seen, Subject, op, run};

fn params(limit: u32, choice: u8) -> Params {
    Params {
        limit,
        target: if choice & 1 == 0 { Span::from_millis(15) } else { Span::from_micros(100) },
        tupdate: if choice == 2 { Span::ZERO } else { Span::from_millis(u64::from(choice) * 15 + 15) },
        alpha: u32::from(choice) * 10,
        ecn: choice & 1 == 1,
        bytemode: choice == 2,
        dq_rate_estimator: choice == 3,
        ..Params::default()
    }
}

fn pie(params: Params, now: Nanos) -> Pie<Header> {
    Pie::new(now, params, LINK, (Rng::new(1), vec![Stamped::default(); 40])).expect("a queue")
}

impl Subject for Pie<Header> {
    const IS_FIFO: bool = true;
    fn reconfigure(&mut self, now: Nanos, choice: u8, seen: &mut Seen) {
        let limit = [1000, 5, 20, 2][usize::from(choice)];
        self.configure(now, params(limit, choice), LINK, seen).expect("parameters");
    }
}

impl Subject for FqPie<Header> {
    const IS_FIFO: bool = false;
    fn reconfigure(&mut self, now: Nanos, choice: u8, seen: &mut Seen) {
        let at = usize::from(choice);
        let law = params(0, choice);
        let params = fq_pie::Params {
            target: law.target,
            tupdate: law.tupdate,
            alpha: law.alpha,
            ecn: law.ecn,
            bytemode: law.bytemode,
            dq_rate_estimator: law.dq_rate_estimator,
            limit: [100, 10, 3, 30][at],
            quantum: Some([1514, 300, 1, 9000][at]),
            memory_limit: 50_000,
            ecn_prob: u32::from(choice) * 30,
            ..fq_pie::Params::default()
        };
        self.configure(now, params, LINK, seen).expect("parameters");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn pie_keeps_every_promise(ops in prop::collection::vec(op(), 1..300), start in any::<u32>()) {
        let params = params(40, 0);
        let queue = pie(params, Nanos(start.into()));
        run(queue, u64::from(start), &ops);
    }

    #[test]
    fn fq_pie_keeps_every_promise(ops in prop::collection::vec(op(), 1..300), slots in 1_usize..60) {
        let params = fq_pie::Params { limit: 30, ..fq_pie::Params::default() };
        let (flows, slots) = (vec![fq_pie::Flow::default(); 4], vec![goodqueue::arena::Slot::default(); slots]);
        let parts = (Rng::new(2), flows, slots);
        run(<FqPie<Header>>::new(Nanos(0), params, LINK, parts).expect("buckets"), 0, &ops);
    }

    /// The probability is the same however often it is asked for in between.
    #[test]
    fn updates_wait_for_a_call(ops in prop::collection::vec(op(), 1..200), asks in 1_u64..50) {
        let make = || pie(params(40, 0), Nanos(0));
        let (mut seldom, mut often, mut now) = (make(), make(), Nanos(0));
        for op in &ops {
            match *op {
                Op::Enqueue { flow, len, ecn } => {
                    let packet = Header { cookie: flow.into(), len, dsfield: ecn, ..Header::default() };
                    let answer = seldom.enqueue(now, packet, &mut Ignore);
                    prop_assert_eq!(often.enqueue(now, packet, &mut Ignore), answer);
                }
                Op::Advance(span) => {
                    // Within the time that the queue catches up with: a minute.
                    let span = span % 60_000_000_000;
                    (0..asks).for_each(|ask| often.advance(now + Span(span / asks * ask)));
                    now += Span(span);
                }
                _ => prop_assert_eq!(
                    seldom.dequeue(now, &mut Ignore).is_some(),
                    often.dequeue(now, &mut Ignore).is_some()
                ),
            }
            seldom.advance(now);
            often.advance(now);
            prop_assert_eq!(seldom.vars(), often.vars());
        }
    }
}

/// Always the same draw.
struct Fixed(u32);

impl Draws for Fixed {
    fn next_u32(&mut self) -> u32 {
        self.0
    }
}

/// 30 packets at 1 s, one dequeued at each of `at` (milliseconds from then).
fn delayed(draw: u32, at: &[u64]) -> Pie<Header, Heap, Fixed> {
    let mut queue =
        Pie::new(Nanos(0), Params::default(), LINK, (Fixed(draw), vec![Stamped::default(); 1000]))
            .expect("a queue");
    let packet = Header { len: 1000, dsfield: 2, ..Header::default() };
    for _ in 0..30 {
        queue.enqueue(Nanos(1_000_000_000), packet, &mut Ignore);
    }
    for ms in at {
        queue.dequeue(Nanos(1_000_000_000 + ms * 1_000_000), &mut Ignore);
    }
    queue
}

/// RFC 8033 section 4.2 with its scaling, in the fixed point of Linux.
#[test]
fn the_first_step_of_the_probability_is_that_of_the_rfc() {
    // The delay of the last dequeue, 100 ms, is 1562500 ticks; the target 234375; the old delay 0.
    let mut queue = delayed(0, &[99, 100]);
    assert_eq!(queue.vars().qdelay, 1_562_500);
    // jiffies of 4 ms, first at 0.5 s, then every 4 of them: 1.092 s, 1.108 s.
    assert_eq!(queue.next_update(), Some(Nanos(1_108_000_000)));
    queue.advance(Nanos(1_108_000_000));
    // Below 10^-6 the gains are 2^-11 of alpha = 2/16 and beta = 20/16 per second of delay.
    let gain = |sixteenths: u64| (sixteenths * (MAX_PROB / 15_625_000)) >> 15;
    assert_eq!(queue.vars().prob, gain(2) * (1_562_500 - 234_375) + gain(20) * 1_562_500);
    let share = queue.vars().prob as f64 / MAX_PROB as f64;
    assert!((share - (0.125 * 0.085 + 1.25 * 0.1) / 2048.0).abs() < 1e-9, "{share}");
    assert_eq!(queue.vars().qdelay_old, 1_562_500);
}

/// RFC 8033 section 5.4: with a draw that never hits, the sum of the probabilities decides at 8.5.
#[test]
fn a_high_sum_of_probabilities_forces_a_drop() {
    // 300 ms of delay raise the probability by 2 % and more with every update (Linux, above 250 ms).
    let mut queue = delayed(u32::MAX, &[150, 300]);
    let now = Nanos(1_300_000_000 + 16 * 16_000_000);
    let packet = Header { len: 1000, dsfield: 1, ..Header::default() };
    queue.advance(now);
    let prob = queue.vars().prob;
    let needed = (MAX_PROB / 2 * 17).div_ceil(prob);
    for _ in 1..needed {
        assert_eq!(queue.enqueue(now, packet, &mut Ignore), Verdict::Enqueued);
    }
    assert_eq!(queue.enqueue(now, packet, &mut Ignore), Verdict::Dropped(Reason::Pie));
    assert_eq!(queue.vars().accu_prob, 0);
}

#[test]
fn a_year_without_calls_takes_no_time() {
    let mut queue = delayed(0, &[100, 300]);
    queue.advance(Nanos(u64::MAX - 1));
    assert!(queue.vars().prob > 0, "30 packets are still queued");
    let flows = vec![fq_pie::Flow::default(); 65_536];
    let slots = vec![goodqueue::arena::Slot::default(); 10];
    let mut queue =
        FqPie::<Header>::new(Nanos(0), fq_pie::Params::default(), LINK, (Rng::new(1), flows, slots))
            .expect("buckets");
    queue.advance(Nanos(u64::MAX - 1));
    assert_eq!(queue.flow_state(0).expect("a bucket").vars.prob, 0);
}

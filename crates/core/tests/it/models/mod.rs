//! Random calls to every queue against naive models: no packet is lost or created, order holds within a flow,
//! the backlog is the sum of what is inside, and a queue wakes exactly when it says.

mod cake_mq;
mod classes;
mod dualpi2;
mod fq;
mod harness;
mod htb;
mod pie;
mod sfq;
mod wheel;

use std::collections::VecDeque;

use goodqueue::codel::Parity;
use goodqueue::fifo::Limit;
use goodqueue::{
    Codel, Configurable, Fifo, FqCodel, Header, Ignore, Link, Nanos, Queue, Rate, Span, Tbf, Verdict, codel,
    fq_codel, tbf,
};
use harness::{Op, Seen, Subject, op, run};
use proptest::prelude::*;

impl Subject for Fifo<Header> {
    const IS_FIFO: bool = true;
    fn reconfigure(&mut self, now: Nanos, choice: u8, seen: &mut Seen) {
        let limit = match choice {
            0 => Limit::Packets(3),
            1 => Limit::Packets(100),
            2 => Limit::Bytes(9000),
            _ => Limit::Bytes(100_000),
        };
        self.configure(now, limit, LINK, seen).expect("a limit");
    }
}

/// Ethernet.
pub(crate) const LINK: Link = Link::ethernet(Rate(10_000_000));

fn codel_params(limit: u32, choice: u8, parity: Parity) -> codel::Params {
    codel::Params {
        limit,
        target: if choice & 1 == 0 { Span::from_millis(5) } else { Span::from_micros(100) },
        interval: if choice & 2 == 0 { Span::from_millis(100) } else { Span::from_millis(1) },
        ecn: choice & 1 == 1,
        ce_threshold: if choice == 3 { Some(Span::from_millis(1)) } else { None },
        parity,
    }
}

impl Subject for Codel<Header> {
    const IS_FIFO: bool = true;
    fn reconfigure(&mut self, now: Nanos, choice: u8, seen: &mut Seen) {
        let limit = [1000, 5, 20, 2][usize::from(choice)];
        let params = codel_params(limit, choice, self.params().parity);
        self.configure(now, params, LINK, seen).expect("parameters");
    }
}

impl Subject for FqCodel<Header> {
    const IS_FIFO: bool = false;
    fn reconfigure(&mut self, now: Nanos, choice: u8, seen: &mut Seen) {
        let at = usize::from(choice);
        let law = codel_params(0, choice, self.params().parity);
        let params = fq_codel::Params {
            target: law.target,
            interval: law.interval,
            ecn: law.ecn,
            ce_threshold: law.ce_threshold,
            parity: law.parity,
            limit: [100, 10, 3, 30][at],
            memory_limit: [u32::MAX, 50_000, 1 << 20, 200_000][at],
            quantum: Some([1514, 300, 1, 9000][at]),
            drop_batch: [64, 1, 2, 0][at],
            ..fq_codel::Params::default()
        };
        self.configure(now, params, LINK, seen).expect("parameters");
    }
}

impl Subject for Tbf<Header> {
    const IS_FIFO: bool = true;
    const IS_SHAPER: bool = true;
    fn reconfigure(&mut self, now: Nanos, choice: u8, seen: &mut Seen) {
        self.configure(now, tbf_params(choice), LINK, seen).expect("good parameters");
    }
}

fn tbf_params(choice: u8) -> tbf::Params {
    let params = tbf::Params::new(Rate(1_000_000 + 77_777 * u64::from(choice)), 70_000, 200_000);
    match choice {
        0 => params,
        1 => tbf::Params { peakrate: Some(Rate(9_000_000)), minburst: Some(70_001), ..params },
        2 => tbf::Params { overhead: 38, mpu: 84, ..params },
        _ => tbf::Params { linklayer: tbf::LinkLayer::Atm, overhead: 10, ..params },
    }
}

fn fifo(limit: Limit, places: usize) -> Fifo<Header> {
    Fifo::new(Nanos(0), limit, LINK, vec![Header::default(); places]).expect("a fifo")
}

fn new_codel(parity: Parity) -> Codel<Header> {
    Codel::new(Nanos(0), codel_params(40, 0, parity), LINK, vec![codel::Stamped::default(); 40])
        .expect("storage")
}

fn new_fq_codel(params: fq_codel::Params, flows: usize, slots: usize) -> FqCodel<Header> {
    let slots = vec![goodqueue::arena::Slot::default(); slots];
    FqCodel::new(Nanos(0), params, LINK, (vec![fq_codel::Flow::default(); flows], slots)).expect("storage")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn codel_keeps_every_promise(ops in prop::collection::vec(op(), 1..300), start in any::<u32>()) {
        run(new_codel(Parity::Sane), u64::from(start) * 1024, &ops);
        run(new_codel(Parity::Linux), u64::from(start) * 1024, &ops);
    }

    #[test]
    fn fq_codel_keeps_every_promise(ops in prop::collection::vec(op(), 1..300), slots in 2_usize..60) {
        let params = fq_codel::Params { limit: 30, ..fq_codel::Params::default() };
        run(new_fq_codel(params, 4, slots), 0, &ops);
    }

    #[test]
    fn tbf_keeps_every_promise(ops in prop::collection::vec(op(), 1..200)) {
        let queue = <Tbf<Header>>::new(Nanos(0), tbf_params(0), LINK, vec![Header::default(); 50]).expect("parameters");
        run(queue, 0, &ops);
    }

    #[test]
    fn a_fifo_keeps_every_promise(ops in prop::collection::vec(op(), 1..200)) {
        run(fifo(Limit::Packets(10), 20), 0, &ops);
    }

    /// The naive model of `bfifo`, decision for decision.
    #[test]
    fn bfifo_is_a_deque_with_a_byte_limit(
        lens in prop::collection::vec(prop::option::of(1_u32..3000), 1..300),
        limit in 0_u64..20_000,
    ) {
        let mut queue = fifo(Limit::Bytes(limit), 400);
        let (mut model, mut seen) = (VecDeque::new(), Ignore);
        for (id, len) in (0_u64..).zip(lens) {
            if let Some(len) = len {
                let held: u64 = model.iter().map(|&(_, len)| u64::from(len)).sum();
                let fits = held + u64::from(len) <= limit;
                let packet = Header { cookie: id, len, ..Header::default() };
                let verdict = queue.enqueue(Nanos(id), packet, &mut seen);
                prop_assert_eq!(verdict == Verdict::Enqueued, fits);
                if fits {
                    model.push_back((id, len));
                }
            } else {
                let got = queue.dequeue(Nanos(id), &mut seen).map(|packet| (packet.cookie, packet.len));
                prop_assert_eq!(got, model.pop_front());
            }
        }
    }

    /// Away from half a clock period and from batch drops, both settings of parity decide alike.
    #[test]
    fn parity_matters_only_at_the_wrap(ops in prop::collection::vec(op(), 1..400), start in 1_u64..1_000_000) {
        let short = |op: &Op| if let Op::Advance(span) = op { Op::Advance(span % 100_000_000) } else { *op };
        let ops: Vec<Op> = ops.iter().map(short).filter(|op| !matches!(op, Op::Configure(_))).collect();
        let start = start * 1_000_000;
        prop_assert_eq!(run(new_codel(Parity::Sane), start, &ops), run(new_codel(Parity::Linux), start, &ops));
    }

    /// A bucket with packets waits at most for one turn of every other bucket.
    #[test]
    fn no_flow_starves(counts in prop::collection::vec(1_u64..40, 2..8), len in 1000_u32..1515) {
        let params = fq_codel::Params { target: Span::from_secs(1000), ..fq_codel::Params::default() };
        let flows = counts.len();
        let mut queue = new_fq_codel(params, flows, 400);
        let mut seen = Ignore;
        for (flow, &count) in counts.iter().enumerate() {
            // The middle of the bucket's part of the hash space.
            let hash = ((flow as u64 * 2 + 1) << 31) / flows as u64;
            let flow_hash = u32::try_from(hash).expect("32 bits");
            for _ in 0..count {
                let packet = Header { cookie: flow as u64, len, flow_hash, ..Header::default() };
                queue.enqueue(Nanos(0), packet, &mut seen);
            }
        }
        let mut left = counts.clone();
        let mut waited = vec![0; flows];
        while let Some(packet) = queue.dequeue(Nanos(1), &mut seen) {
            let served = usize::try_from(packet.cookie).expect("a flow");
            left[served] -= 1;
            for flow in 0..flows {
                waited[flow] = if flow == served || left[flow] == 0 { 0 } else { waited[flow] + 1 };
                // A turn of 1514 bytes is at most two packets of at least 1000 bytes.
                prop_assert!(waited[flow] <= 2 * flows, "flow {} waits for {}", flow, waited[flow]);
            }
        }
        prop_assert!(left.iter().all(|&left| left == 0));
    }

    /// A token bucket never passes more than its depth plus what its rate has earned.
    #[test]
    fn tbf_never_passes_more_than_it_earned(
        lens in prop::collection::vec(40_u32..1515, 10..120),
        rate in 1_000_000_u64..10_000_000_000,
        burst in 1514_u32..20_000,
    ) {
        let params = tbf::Params::new(Rate(rate), burst, 1 << 20);
        let mut queue = <Tbf<Header>>::new(Nanos(0), params, LINK, vec![Header::default(); 200]).expect("parameters");
        let mut seen = Ignore;
        for &len in &lens {
            queue.enqueue(Nanos(0), Header { len, ..Header::default() }, &mut seen);
        }
        let (mut now, mut sent, mut packets) = (Nanos(0), 0_u128, 0_u128);
        while let Some(wake) = queue.next_wake(now) {
            now = wake;
            let packet = queue.dequeue(now, &mut seen);
            let packet = packet.ok_or(TestCaseError::fail("no packet at the wake time"))?;
            sent += u128::from(packet.len);
            packets += 1;
            // In bit-nanoseconds; each packet's time is rounded down by less than 1 ns.
            let earned = u128::from(rate) * (u128::from(now.0) + packets + 1);
            prop_assert!(sent * 8_000_000_000 <= u128::from(burst) * 8_000_000_000 + earned);
        }
        prop_assert_eq!(packets, lens.len() as u128);
    }
}

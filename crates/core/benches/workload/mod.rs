//! The workload of the reference: defaults (1024 buckets, quantum 1514, ECN on), F hash values used in turn,
//! Not-ECT packets of 1514 bytes and truesize 2304. First 1000 enqueues; then, for every step: the clock
//! moves by STEP ns, packets are enqueued until 1001 are queued, one is dequeued.

use std::hint::black_box;

use goodqueue::codel::Parity;
use goodqueue::fq_codel::Params;
use goodqueue::{
    Configurable, FqCodel, Header, Link, Nanos, Observer, PacketInfo, Queue, Rate, Reason, Verdict,
};

/// The link of the queues.
pub(crate) const LINK: Link = Link::ethernet(Rate(1_000_000_000));

/// Frames of the caller: taken last in, first out, and returned on delivery or drop.
struct Pool {
    free: Vec<u64>,
    drops: u64,
}

impl Observer<Header> for Pool {
    #[inline]
    fn dropped(&mut self, _now: Nanos, packet: Header, _reason: Reason) {
        self.free.push(packet.cookie);
        self.drops += 1;
    }
}

impl PacketInfo<Header> for Pool {}

#[inline(never)]
fn cost_enqueue<Q: Queue<Header>>(queue: &mut Q, now: Nanos, packet: &Header, pool: &mut Pool) -> Verdict {
    queue.enqueue(now, *packet, pool)
}

#[inline(never)]
fn cost_dequeue<Q: Queue<Header>>(queue: &mut Q, now: Nanos, pool: &mut Pool) -> Option<Header> {
    queue.dequeue(now, pool)
}

/// `fq_codel` as in the reference.
pub(crate) fn fq_codel() -> FqCodel<Header> {
    let params = Params::default();
    let params = Params { parity: Parity::Linux, ..params };
    let places = vec![goodqueue::arena::Slot::default(); params.limit as usize + 1];
    let buckets = vec![goodqueue::fq_codel::Flow::default(); 1024];
    FqCodel::new(Nanos(0), params, LINK, (buckets, places)).expect("buckets")
}

/// Upper halves of xorshift64 (13, 7, 17).
fn hashes(flows: usize) -> Vec<u32> {
    let mut x = 88_172_645_463_325_252_u64;
    let draw = |_| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        u32::try_from(x >> 32).expect("32 bits")
    };
    (0..flows).map(draw).collect()
}

/// A running workload.
pub(crate) struct Load<Q> {
    queue: Q,
    standing: u32,
    pool: Pool,
    hashes: Vec<u32>,
    next: usize,
    now: Nanos,
    step: u64,
}

impl<Q: Queue<Header>> Load<Q> {
    /// A load whose queue holds `standing` packets at each dequeue; it has one less now.
    pub(crate) fn new(queue: Q, standing: u32, flows: usize, step: u64) -> Load<Q> {
        let pool = Pool { free: (0..4096).collect(), drops: 0 };
        let now = Nanos(1_000_000_000);
        let mut load = Load { queue, standing, pool, hashes: hashes(flows), next: 0, now, step };
        (1..standing).for_each(|_| load.enqueue());
        load
    }

    fn enqueue(&mut self) {
        let cookie = self.pool.free.pop().expect("a free frame");
        let flow_hash = self.hashes[self.next];
        let packet = Header { cookie, len: 1514, truesize: 2304, flow_hash, dsfield: 0 };
        self.next = if self.next + 1 == self.hashes.len() { 0 } else { self.next + 1 };
        black_box(cost_enqueue(&mut self.queue, self.now, &packet, &mut self.pool));
    }

    /// Runs one step; returns whether a packet was delivered.
    pub(crate) fn step(&mut self) -> bool {
        self.now.0 += self.step;
        while self.queue.backlog().packets < self.standing {
            self.enqueue();
        }
        let packet = black_box(cost_dequeue(&mut self.queue, self.now, &mut self.pool));
        if let Some(packet) = packet {
            self.pool.free.push(packet.cookie);
        }
        packet.is_some()
    }

    /// Packets dropped so far.
    pub(crate) fn drops(&self) -> u64 {
        self.pool.drops
    }
}

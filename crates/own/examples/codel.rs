//! The built-in CoDel as a user's own queue, in a shared library: through the interface it decides as what
//! does not. The tests compare the two.
//!
//! `cargo build -p goodqueue-own --example codel` makes `target/debug/examples/libcodel.so`.

use std::ffi::{CStr, c_char};

use goodqueue::{
    AnyQueue, Backlog, Header, Inspect, Nanos, Owner, Queue, QueueSpec, Rate, Rng, Stats, Verdict,
};
use goodqueue_own::Unit;
use goodqueue_own::export::{OwnQueue, RawParameter, parameter};

/// With the number of packets until it panics.
struct Wrapped(AnyQueue<Header>, u64);

impl OwnQueue for Wrapped {
    const NAME: &'static CStr = c"codel";
    const ABOUT: &'static CStr = c"CoDel of the catalogue";
    const PARAMETERS: &'static [RawParameter] = &[
        parameter(c"limit", c"most packets that wait", Unit::Count, 1000, [1, 100_000]),
        parameter(c"target", c"the wait that is fine", Unit::Time, 5_000_000, [1_000, 1_000_000_000]),
        parameter(c"panic_at", c"the packet at which it panics", Unit::Count, u64::MAX, [0, u64::MAX]),
    ];
    const COUNTERS: &'static [*const c_char] = &[c"maxpacket".as_ptr()];

    fn create(values: &[u64], seed: u64) -> Result<Wrapped, String> {
        let &[limit, target, panic_at] = values else { return Err("three parameters".into()) };
        assert!(panic_at > 0, "no packet is number 0");
        let spec: QueueSpec =
            format!("codel,limit={limit},target={target}ns").parse().map_err(|error| format!("{error}"))?;
        let draws = Rng::stream(seed, 0, "queue");
        let queue = spec.build_with(Rate(10_000_000), 1514, Nanos::ZERO, draws);
        queue.map(|queue| Wrapped(queue, panic_at)).map_err(|error| error.to_string())
    }
}

goodqueue_own::export_queue!(Wrapped);

impl Queue<Header> for Wrapped {
    fn enqueue(&mut self, now: Nanos, packet: Header, owner: &mut impl Owner<Header>) -> Verdict {
        self.1 -= 1;
        assert!(self.1 > 0, "this was packet number panic_at");
        self.0.enqueue(now, packet, owner)
    }

    fn dequeue(&mut self, now: Nanos, owner: &mut impl Owner<Header>) -> Option<Header> {
        self.0.dequeue(now, owner)
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        self.0.next_wake(now)
    }

    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }

    fn reset(&mut self, now: Nanos, owner: &mut impl Owner<Header>) {
        self.0.reset(now, owner);
    }
}

impl Inspect for Wrapped {
    fn stats(&self) -> Stats {
        self.0.stats()
    }

    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        self.0.counters(&mut |name, value| {
            if name == "maxpacket" {
                each(name, value);
            }
        });
    }
}

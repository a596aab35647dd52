//! `wheel`: the promises of every queue, and a sorted list as its model.

use goodqueue::arena::{List, Slot};
use goodqueue::wheel::{Params, words};
use goodqueue::{
    Configurable, Header, Nanos, Observer, Origin, PacketInfo, Queue, Reason, Span, Verdict, Wheel,
};
use proptest::prelude::*;

use super::LINK;
use super::harness::{Seen, Subject, op, run};

impl Subject for Wheel<Header> {
    const IS_FIFO: bool = true;
    const IS_SHAPER: bool = true;
    fn reconfigure(&mut self, now: Nanos, choice: u8, seen: &mut Seen) {
        let limit = [100, 5, 20, 2][usize::from(choice)];
        self.configure(now, Params { limit, ..Params::default() }, LINK, seen).expect("parameters");
    }
}

fn wheel(params: Params, slots: usize) -> Wheel<Header> {
    let parts = (vec![0; words(slots)], vec![List::EMPTY; slots], vec![Slot::default(); 200]);
    Wheel::new(Nanos(0), params, LINK, parts).expect("a queue")
}

/// A host that sets the departure time of each packet, by its number.
struct Host {
    departures: Vec<Option<u64>>,
    dropped: Vec<(u64, Reason)>,
}

impl Observer<Header> for Host {
    fn dropped(&mut self, _now: Nanos, packet: Header, reason: Reason) {
        self.dropped.push((packet.cookie, reason));
    }
}

impl PacketInfo<Header> for Host {
    fn origin(&self, packet: &Header) -> Origin {
        let at = usize::try_from(packet.cookie).expect("few");
        Origin { departure: self.departures[at].map(Nanos), ..Origin::default() }
    }
}

const GRANULARITY: u64 = 1000;

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn wheel_keeps_every_promise(ops in prop::collection::vec(op(), 1..300), slots in 0_usize..200) {
        run(wheel(Params { limit: 40, ..Params::default() }, slots), 0, &ops);
    }

    /// The model: a list of (slot, number), always sorted; a packet leaves when the time of its slot has
    /// come.
    #[test]
    fn wheel_is_a_sorted_list(
        calls in prop::collection::vec((0_u64..30_000, prop::option::of(0_u64..400_000), 0_u8..4), 1..150),
        slots in 1_usize..300,
        start in 0_u64..10_000_000,
        horizon_drop in any::<bool>(),
    ) {
        let params = Params { limit: 60, granularity: Span(GRANULARITY), horizon: Span(1000), horizon_drop };
        let mut queue = wheel(params, slots);
        let mut host = Host { departures: Vec::new(), dropped: Vec::new() };
        let mut model: Vec<(u64, u64)> = Vec::new();
        let mut now = start;
        for (id, (passed, ahead, dequeues)) in (0_u64..).zip(calls) {
            now += passed;
            let departure = ahead.map(|ahead| now - 5000.min(now) + ahead);
            host.departures.push(departure);
            let verdict = queue.enqueue(Nanos(now), Header { cookie: id, len: 100, ..Header::default() }, &mut host);
            let present = now / GRANULARITY;
            let is_beyond = departure.is_some_and(|at| at > now + (slots as u64 - 1) * GRANULARITY);
            let fits = model.len() < 60 && !(is_beyond && horizon_drop);
            prop_assert_eq!(verdict == Verdict::Enqueued, fits);
            if fits {
                let slot = departure.map_or(present, |at| at.div_ceil(GRANULARITY));
                // Packets that are due wait in the order in which they became due.
                let slot = slot.max(present).min(present + slots as u64 - 1);
                model.push((slot, id));
                model.sort_by_key(|&(slot, _)| slot);
            }
            for _ in 0..dequeues {
                let wake = model.first().map(|&(slot, _)| Nanos((slot * GRANULARITY).max(now)));
                prop_assert_eq!(queue.next_wake(Nanos(now)), wake);
                let is_due = model.first().is_some_and(|&(slot, _)| slot * GRANULARITY <= now);
                let expected = if is_due { Some(model.remove(0).1) } else { None };
                prop_assert_eq!(queue.dequeue(Nanos(now), &mut host).map(|packet| packet.cookie), expected);
            }
            prop_assert_eq!(queue.backlog().packets as usize, model.len());
        }
    }
}

/// H2 of the literature: with slots of 10 us any rate is kept to within 0.5 %.
#[test]
fn a_paced_flow_keeps_its_rate() {
    for gap in [1_211, 12_112, 121_120, 777_777] {
        let packets = 100;
        let departures = (0..packets).map(|n| Some(5_000 + n * gap)).collect();
        let mut host = Host { departures, dropped: Vec::new() };
        let mut queue = wheel(Params::default(), 100_001);
        for cookie in 0..packets {
            queue.enqueue(Nanos(0), Header { cookie, len: 1514, ..Header::default() }, &mut host);
        }
        let (mut now, mut left) = (Nanos(0), Vec::new());
        while let Some(wake) = queue.next_wake(now) {
            now = wake;
            let packet = queue.dequeue(now, &mut host).expect("a packet at the wake time");
            let late = now.0 - (5_000 + packet.cookie * gap);
            assert!(late < 10_000, "never early, and less than a slot late: {late}");
            left.push(packet.cookie);
        }
        assert!(left.iter().copied().eq(0..packets));
        let ratio = now.0 as f64 / (5_000 + (packets - 1) * gap) as f64;
        assert!(gap < 12_000 || (1.0..1.005).contains(&ratio), "{gap}: {ratio}");
    }
}

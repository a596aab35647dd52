//! `cake_mq`: the promises of every queue; a model of how the instances share the rate; one instance decides
//! as `cake` does; a group of members decides as all instances in one queue do.

use std::collections::VecDeque;

use goodqueue::arena::Slot;
use goodqueue::cake::{Child, Diffserv, InForce, Instance, Isolation, Member, Params, Tables};
use goodqueue::{
    Cake, CakeMq, Configurable, Header, Ignore, Inspect, Lcg, Nanos, Queue, Rate, Span, Stats, Verdict,
};
use proptest::prelude::*;

use super::LINK;
use super::harness::{Op, Seen, Subject, op, run};

impl Subject for CakeMq<Header> {
    const IS_FIFO: bool = false;
    const COUNTS_CHANGE: bool = false;
    const IS_SHAPER: bool = true;
    fn reconfigure(&mut self, now: Nanos, choice: u8, seen: &mut Seen) {
        // Another mode would move a flow to another place, where its packets could overtake each other, as in
        // Linux.
        let Params { diffserv, isolation, .. } = given(0);
        let memlimit = Some(u32::from(choice) * 7000);
        let params = Params { diffserv, isolation, memlimit, ..given(choice) };
        self.configure(now, params.on_link(LINK), LINK, seen).expect("parameters");
    }
}

fn params(choice: u8) -> InForce {
    given(choice).on_link(LINK)
}

fn given(choice: u8) -> Params {
    let diffserv = [Diffserv::Besteffort, Diffserv::Diffserv3, Diffserv::Diffserv4, Diffserv::Diffserv8];
    Params {
        bandwidth: Some(Rate([10_000_000, 0, 1_000_000, 333_333_333][usize::from(choice)])),
        diffserv: diffserv[usize::from(choice)],
        isolation: if choice & 1 == 0 { Isolation::TripleIsolate } else { Isolation::Flowblind },
        ..Params::default()
    }
}

/// Parameters with which no packet is dropped or marked, because the control law never acts.
fn of_model(rate: u64) -> InForce {
    let params = Params {
        bandwidth: Some(Rate(rate * 8)),
        diffserv: Diffserv::Besteffort,
        isolation: Isolation::Flowblind,
        rtt: Span::from_secs(1000),
        ..Params::default()
    };
    InForce { target: Span::from_secs(1000), ..params.on_link(LINK) }
}

fn cake(params: InForce, seed: u64) -> Cake<Header> {
    let parts = (Lcg::new(seed), Tables::on_heap(8, 8), vec![Slot::default(); 700]);
    Cake::new(Nanos(0), params, LINK, parts).expect("storage")
}

fn cakes(params: InForce, count: u64) -> impl Iterator<Item = Cake<Header>> {
    (0..count).map(move |seed| cake(params, seed))
}

fn cake_mq(params: InForce, count: u64) -> CakeMq<Header> {
    let children = cakes(params, count).map(|cake| Child::new(Instance::new(cake))).collect();
    CakeMq::new(Nanos(0), params, LINK, children).expect("instances")
}

/// Linux's time for a length: a factor of 34 bits and a shift.
fn byte_time(rate: u64, len: u32) -> u64 {
    let (mut factor, mut shift) = ((1_000_000_000_u64 << 34) / rate, 34);
    while factor >> 34 != 0 {
        (factor, shift) = (factor >> 1, shift - 1);
    }
    (u64::from(len) * factor) >> shift
}

/// An instance of the model: a list of packets and the clocks.
#[derive(Default)]
struct Plain {
    packets: VecDeque<(u64, u32)>,
    opens: u64,
    /// The clock of the failsafe, which never opens before the other one.
    failsafe: u64,
    sent_at: u64,
    looked_at: Option<u64>,
    active: u64,
    asleep_until: u64,
}

struct Model {
    rate: u64,
    all: Vec<Plain>,
    last: usize,
}

impl Model {
    fn enqueue(&mut self, at: usize, now: u64, id: u64, len: u32) {
        let one = &mut self.all[at];
        if one.packets.is_empty() && one.opens < now {
            (one.opens, one.failsafe) = (now, now);
        }
        one.packets.push_back((id, len));
        one.asleep_until = 0;
    }

    fn dequeue(&mut self, now: u64) -> Option<u64> {
        let count = self.all.len();
        for step in 1..=count {
            let at = (self.last + step) % count;
            if self.all[at].packets.is_empty() || self.all[at].asleep_until > now {
                continue;
            }
            if self.all[at].looked_at.is_none_or(|looked| now - looked >= 200_000) {
                let since = self.all[at].looked_at.unwrap_or(0);
                let is_active = |(other, one): (usize, &Plain)| {
                    other == at || !one.packets.is_empty() || one.sent_at > since
                };
                let active = self.all.iter().enumerate().filter(|&each| is_active(each)).count();
                (self.all[at].looked_at, self.all[at].active) = (Some(now), active as u64);
            }
            let one = &mut self.all[at];
            let opens = one.opens.min(one.failsafe);
            if opens > now {
                one.asleep_until = opens;
                continue;
            }
            let (id, len) = one.packets.pop_front().expect("not empty");
            let time = byte_time(self.rate / one.active.max(1), len);
            one.opens += time;
            one.failsafe += time + time / 2;
            one.sent_at = now;
            self.last = at;
            return Some(id);
        }
        None
    }
}

/// The kind of a call, the hash and length of its packet, and the time since the call before. The clock
/// begins at 1 s.
type Call = (u8, u32, u32, u64);

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let gap = prop_oneof![Just(0), 0..50_000_u64, 0..400_000_u64, 0..3_000_000_u64];
    prop::collection::vec((0..8_u8, any::<u32>(), 60..1515_u32, gap), 1..600)
}

fn header(id: u64, hash: u32, len: u32) -> Header {
    Header { cookie: id, len, truesize: len + 700, flow_hash: hash, dsfield: 0 }
}

/// The calls that a device with one queueing discipline makes.
fn drive(queue: &mut impl Queue<Header>, calls: &[Call], dsfield: u8) -> (Vec<(u64, u64)>, Stats) {
    let (mut now, mut sent) = (Nanos(1_000_000_000), Vec::new());
    for (id, &(call, hash, len, gap)) in (0..).zip(calls) {
        let end = now.0 + gap;
        // As a watchdog does.
        while let Some(wake) = queue.next_wake(now).filter(|wake| wake.0 <= end) {
            now = wake;
            let packet = queue.dequeue(now, &mut Ignore).expect("a packet at the announced time");
            sent.push((now.0, packet.cookie));
        }
        now.0 = end;
        if call < 6 {
            queue.enqueue(now, Header { dsfield, ..header(id, hash, len) }, &mut Ignore);
            sent.extend(queue.dequeue(now, &mut Ignore).map(|packet| (now.0, packet.cookie)));
        }
    }
    (sent, queue.stats())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn cake_mq_keeps_every_promise(ops in prop::collection::vec(op(), 1..300), count in 1..5_u64) {
        // If BLUE wants to drop a packet that has just been marked, `cake` drops it and does not count the
        // mark.
        let without_ecn = |op| match op {
            Op::Enqueue { flow, len, .. } => Op::Enqueue { flow, len, ecn: 0 },
            op => op,
        };
        let ops: Vec<Op> = ops.into_iter().map(without_ecn).collect();
        run(cake_mq(params(0), count), 0, &ops);
    }

    #[test]
    fn the_rate_is_shared_as_in_a_plain_model(calls in calls(), count in 1..6_u64, rate in 100_000..50_000_000_u64) {
        let mut queue = cake_mq(of_model(rate), count);
        let all = (0..count).map(|_| Plain::default()).collect::<Vec<_>>();
        let mut model = Model { rate, last: all.len() - 1, all };
        let mut now = 1_000_000_000;
        for (id, (call, hash, len, gap)) in (0..).zip(calls) {
            now += gap;
            if call < 4 {
                let at = queue.instance_of(hash);
                prop_assert_eq!(queue.enqueue(Nanos(now), header(id, hash, len), &mut Ignore), Verdict::Enqueued);
                model.enqueue(at, now, id, len);
            } else {
                let got = queue.dequeue(Nanos(now), &mut Ignore).map(|packet| packet.cookie);
                prop_assert_eq!(got, model.dequeue(now));
            }
        }
        let active: Vec<u64> = queue.instances().map(|one| one.active().into()).collect();
        prop_assert_eq!(active, model.all.iter().map(|one| one.active.max(1)).collect::<Vec<_>>());
    }

    #[test]
    fn one_instance_is_a_cake(calls in calls(), choice in 0..4_u8, dsfield in any::<u8>()) {
        let (mut plain, mut one) = (cake(params(choice), 0), cake_mq(params(choice), 1));
        prop_assert_eq!(drive(&mut plain, &calls, dsfield), drive(&mut one, &calls, dsfield));
        let of_one = one.instances().next().expect("one").cake();
        prop_assert_eq!(plain.state(), of_one.state());
    }

    #[test]
    fn members_decide_as_all_in_one(calls in calls(), count in 1..6_u64, choice in 0..4_u8) {
        let mut whole = cake_mq(params(choice), count);
        let mut members = Member::group(cakes(params(choice), count).collect());
        let (mut asleep, mut last) = (vec![0; members.len()], members.len() - 1);
        let mut now = Nanos(1_000_000_000);
        for (id, (call, hash, len, gap)) in (0..).zip(calls) {
            now.0 += gap;
            if call < 4 {
                let (at, packet) = (whole.instance_of(hash), header(id, hash, len));
                let verdict = whole.enqueue(now, packet, &mut Ignore);
                prop_assert_eq!(members[at].enqueue(now, packet, &mut Ignore), verdict);
                asleep[at] = 0;
                continue;
            }
            let mut found = None;
            for step in 1..=members.len() {
                let at = (last + step) % members.len();
                let member = &mut members[at];
                if member.backlog().packets > 0 && asleep[at] <= now.0 {
                    found = member.dequeue(now, &mut Ignore);
                    if found.is_some() {
                        last = at;
                        break;
                    }
                    asleep[at] = member.next_wake(now).map_or(0, |wake| wake.0);
                }
            }
            prop_assert_eq!(whole.dequeue(now, &mut Ignore), found);
        }
        prop_assert_eq!(whole.stats(), members.iter().map(Inspect::stats).sum::<Stats>());
    }
}

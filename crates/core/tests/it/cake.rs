//! `cake` keeps the promises of every queue: packets come back exactly once, sums are right, and it says when
//! it can deliver. Framing is tested against arithmetic that walks cell by cell.

use crate::conserve::Seen;
use goodqueue::cake::{AckFilter, Diffserv, Framing, InForce, Isolation, Overhead, Params, TINS, Tables};
use goodqueue::details::{Details, TcpHeader};
use goodqueue::{
    AnyQueue, BuildError, Cake, Configurable, Header, Ignore, Inspect, Lcg, Link, Nanos, Observer, Packet,
    PacketInfo, Queue, QueueSpec, Rate, Reason,
};
use proptest::prelude::*;

const LINK: Link = Link::ethernet(Rate(10_000_000));

/// Derives the hosts from the flow hash.
#[derive(Default)]
struct Owner {
    seen: Seen,
}

impl Observer<Header> for Owner {
    fn dropped(&mut self, now: Nanos, packet: Header, reason: Reason) {
        self.seen.dropped(now, packet, reason);
    }
}

impl PacketInfo<Header> for Owner {
    fn details(&self, packet: &Header) -> Details {
        let [source_hash, destination_hash] = [packet.flow_hash % 3, packet.flow_hash % 5];
        Details { source_hash, destination_hash, ..Details::default() }
    }

    fn tcp(&self, packet: &Header) -> Option<TcpHeader> {
        let ack = u32::try_from(packet.cookie).unwrap_or(0);
        (packet.len < 100).then_some(TcpHeader {
            connection: packet.flow_hash.into(),
            ack,
            flags: 16,
            payload: 0,
            options: [0; 40],
            options_len: 0,
        })
    }
}

fn queue(params: InForce, slots: usize) -> Cake<Header> {
    with_tins(TINS, params, slots)
}

fn with_tins(tins: u32, params: InForce, slots: usize) -> Cake<Header> {
    let slots = vec![goodqueue::arena::Slot::default(); slots];
    let parts = (Lcg::new(7), Tables::on_heap(tins, 16), slots);
    Cake::new(Nanos(0), params, LINK, parts).expect("16 flows and a slot")
}

fn params() -> impl Strategy<Value = InForce> {
    let modes = (
        prop::sample::select(vec![Diffserv::Besteffort, Diffserv::Diffserv3, Diffserv::Precedence]),
        prop::sample::select(vec![
            Isolation::Flowblind,
            Isolation::Hosts,
            Isolation::DualSrchost,
            Isolation::TripleIsolate,
        ]),
        prop::sample::select(vec![AckFilter::Off, AckFilter::On, AckFilter::Aggressive]),
    );
    let numbers = (0..20_000_000_u64, 3_000..60_000_u32, any::<[bool; 3]>());
    (modes, numbers).prop_map(|((diffserv, isolation, ack_filter), (rate, memlimit, switches))| {
        let [ingress, wash, autorate_ingress] = switches;
        let params = Params {
            bandwidth: Some(Rate(rate / 8 * 8)),
            diffserv,
            isolation,
            ack_filter,
            memlimit: Some(memlimit),
            ingress: Some(ingress),
            wash,
            autorate_ingress,
            ..Params::default()
        };
        params.on_link(LINK)
    })
}

proptest! {
    #[test]
    fn packets_come_back_once_and_the_sums_are_right(
        params in params(),
        change in params(),
        calls in prop::collection::vec((0..8_u8, 0..40_u32, any::<u8>(), 0..3_000_000_u64), 1..400),
        slots in 4..64_usize,
    ) {
        let mut queue = queue(params, slots);
        let mut owner = Owner::default();
        let mut now = Nanos(1_000_000_000);
        for (cookie, (call, hash, dsfield, gap)) in (0..).zip(calls) {
            now.0 += gap;
            let mut arrived = None;
            match call {
                0..=3 => {
                    let len = if hash % 2 == 0 { 66 } else { 1514 };
                    let packet = Header { cookie, len, truesize: len + 700, flow_hash: hash, dsfield };
                    owner.seen.inside.insert(cookie, packet);
                    arrived = Some((packet, queue.enqueue(now, packet, &mut owner)));
                }
                7 if gap % 50 == 0 => queue.configure(now, change, LINK, &mut owner).expect("eight tins"),
                7 if gap % 51 == 0 => queue.reset(now, &mut owner),
                _ => {
                    let wake = queue.next_wake(now);
                    let packet = queue.dequeue(now, &mut owner);
                    prop_assert_eq!(packet.is_some(), wake == Some(now) && packet.is_some());
                    if wake.is_some_and(|wake| wake > now) {
                        prop_assert!(packet.is_none(), "before the announced time");
                    }
                    if wake == Some(now) && !queue.params().is_ingress() {
                        prop_assert!(packet.is_some(), "announced for now");
                    }
                    packet.iter().for_each(|packet| _ = owner.seen.leaves(packet));
                }
            }
            owner.seen.check(&queue, arrived.as_ref().map(|(packet, verdict)| (packet, *verdict)));
        }
    }

    /// With tables for only the tins that a mode uses, the same packets leave and are dropped as with tables
    /// for all eight, in the same order.
    #[test]
    fn tins_that_are_not_used_decide_nothing(
        params in params(),
        calls in prop::collection::vec((0..7_u8, 0..40_u32, any::<u8>(), 0..3_000_000_u64), 1..600),
        slots in 4..64_usize,
    ) {
        let run = |tins: u32| {
            let (mut queue, mut owner) = (with_tins(tins, params, slots), Owner::default());
            let (mut now, mut delivered) = (Nanos(1_000_000_000), Vec::new());
            for (cookie, &(call, hash, dsfield, gap)) in (0..).zip(&calls) {
                now.0 += gap;
                if call == 6 && gap % 51 == 0 {
                    queue.reset(now, &mut owner);
                } else if call < 4 {
                    let len = 66 + 10 * (hash % 7);
                    let packet = Header { cookie, len, truesize: len + 700, flow_hash: hash, dsfield };
                    owner.seen.inside.insert(cookie, packet);
                    queue.enqueue(now, packet, &mut owner);
                } else {
                    delivered.extend(queue.dequeue(now, &mut owner).map(|packet| owner.seen.leaves(&packet).cookie));
                }
            }
            (delivered, owner.seen.dropped, queue.stats())
        };
        prop_assert_eq!(run(params.given.diffserv.tins()), run(TINS));
    }

    #[test]
    fn the_shaper_charges_what_the_link_carries(
        len in 42..3000_u32,
        bytes in -64..=256_i16,
        mpu in 0..=256_u16,
        framing in prop::sample::select(vec![Framing::None, Framing::Atm, Framing::Ptm]),
    ) {
        let overhead = Overhead { bytes, from_network: true };
        let params = Params { bandwidth: Some(Rate(8_000_000)), ..Params::default() };
        let mut queue = queue(InForce { overhead, mpu, framing, ..params.on_link(LINK) }, 8);
        let now = Nanos(1_000_000_000);
        let packet = Header { len, truesize: len, ..Header::default() };
        queue.enqueue(now, packet, &mut Ignore);
        prop_assert_eq!(queue.dequeue(now, &mut Ignore).map(|packet| packet.len()), Some(len));
        // Byte by byte: 48 to a cell of 53, or one more for each 64 begun.
        let mut carried = (i64::from(len) - 14 + i64::from(bytes)).max(i64::from(mpu));
        match framing {
            Framing::None => {}
            Framing::Atm => {
                let mut cells = 0;
                while cells * 48 < carried { cells += 1; }
                carried = cells * 53;
            }
            Framing::Ptm => carried += (0..carried).filter(|byte| byte % 64 == 0).count() as i64,
        }
        // A byte takes a microsecond.
        let next = queue.state().time_next;
        prop_assert_eq!(i64::try_from(next.0 - now.0), Ok(carried * 1000));
    }
}

#[test]
fn a_mode_of_more_tins_than_there_are_is_refused_and_changes_nothing() {
    let of = |diffserv| Params { diffserv, ..Params::default() }.on_link(LINK);
    let mut queue = with_tins(3, of(Diffserv::Besteffort), 8);
    let (now, mut owner) = (Nanos(1_000_000_000), Owner::default());
    assert_eq!(queue.configure(now, of(Diffserv::Diffserv3), LINK, &mut owner), Ok(()));
    assert_eq!(queue.configure(now, of(Diffserv::Diffserv4), LINK, &mut owner), Err(BuildError::Tins));
    assert_eq!((queue.params().given.diffserv, queue.state().tins), (Diffserv::Diffserv3, 3));
    let slots = vec![goodqueue::arena::Slot::default(); 8];
    let parts = (Lcg::new(7), Tables::on_heap(4, 16), slots);
    let few = <Cake<Header>>::new(now, of(Diffserv::Diffserv8), LINK, parts);
    assert_eq!(few.err(), Some(BuildError::Tins));
}

/// A queue made from `text`, with one packet for each DS byte, each of its own flow. Their hashes differ in
/// high bits, which `fq_codel` uses, and in low ones, which `cake` uses.
fn with_packets(text: &str, dsfields: &[u8]) -> AnyQueue<Header> {
    let spec: QueueSpec = text.parse().expect("a queue");
    let mut queue = spec.build(Rate(10_000_000), 1514, Nanos(0)).expect("fits");
    for (flow_hash, &dsfield) in (0..).map(|flow: u32| flow.wrapping_mul(0x0800_0001)).zip(dsfields) {
        let packet = Header { cookie: 0, len: 1000, truesize: 1700, flow_hash, dsfield };
        let _ = queue.enqueue(Nanos(0), packet, &mut Ignore);
    }
    queue
}

#[test]
fn tins_are_told_in_the_order_of_tc_and_flows_are_new_or_old() {
    const CS1: u8 = 8 << 2;
    const EF: u8 = 46 << 2;
    let tins = |queue: &AnyQueue<Header>| {
        let mut tins = Vec::new();
        queue.tins(&mut |tin| tins.push((tin.sparse, tin.backlog)));
        tins
    };
    // Bulk, best effort, voice (Linux `sch_cake.c`, `tin_order` of diffserv3).
    let mut queue = with_packets("cake,bandwidth=10mbit,diffserv=diffserv3", &[CS1, 0, 0, EF, EF, EF]);
    assert_eq!(tins(&queue), [(1, 1000), (2, 2000), (3, 3000)]);
    assert_eq!(queue.waiting_flows(), Some((6, 0)));
    let _ = queue.dequeue(Nanos(0), &mut Ignore);
    assert_eq!(
        queue.waiting_flows().map(|(sparse, bulk)| sparse + bulk),
        Some(6),
        "a drained flow stays listed until its next turn"
    );

    let queue = with_packets("fq_codel", &[0, 0]);
    assert_eq!((queue.waiting_flows(), tins(&queue).len()), (Some((2, 0)), 0));
    // The flows of all classes.
    assert_eq!(with_packets("prio,leaf=fq_codel", &[0, EF]).waiting_flows(), Some((2, 0)));
    assert_eq!(with_packets("pfifo", &[0]).waiting_flows(), None);
    let two = with_packets("cake_mq,queues=2,bandwidth=10mbit,diffserv=besteffort", &[0; 20]);
    assert_eq!((tins(&two).len(), two.waiting_flows()), (2, Some((20, 0))));
}

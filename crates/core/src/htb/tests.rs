use super::*;
use crate::fifo::{Fifo, Limit};
use crate::{Header, Ignore, Rate};

const LINK: Link = Link::ethernet(Rate(10_000_000));

type Leaf = Fifo<Header>;

fn leaf() -> Leaf {
    Fifo::new(Nanos(0), Limit::Packets(64), LINK, alloc::vec![Header::default(); 64]).expect("a fifo")
}

fn packet(class: u8) -> Header {
    Header { len: 1000, dsfield: class << 2, ..Header::default() }
}

/// A map in which a DSCP is the index of its class; higher DSCPs map to the last class.
fn by_number(classes: u8) -> Map {
    core::array::from_fn(|dscp| (dscp as u8).min(classes - 1).max(1))
}

fn tree(classes: &[Class<Leaf>]) -> Htb<Header, Leaf> {
    let map = if classes.len() == 1 { [0; 64] } else { by_number(classes.len() as u8) };
    Htb::new(Nanos(0), map, LINK, classes.to_vec()).expect("a tree")
}

/// A child of the first class.
fn child(rate: u64, ceil: u64, prio: u8) -> Class<Leaf> {
    let quantum = Some(1000);
    let params =
        ClassParams { parent: Some(0), ceil: Rate(ceil), prio, quantum, ..ClassParams::new(Rate(rate)) };
    Class::leaf(params, leaf())
}

fn root(rate: u64) -> Class<Leaf> {
    Class::inner(ClassParams::new(Rate(rate)))
}

/// Sends for `time` ns while each of these classes has packets; returns the packets sent by each class.
fn sent(queue: &mut Htb<Header, Leaf>, backlogged: &[u8], start: Nanos, time: u64) -> alloc::vec::Vec<u64> {
    let before: alloc::vec::Vec<u64> = queue.classes().iter().map(|class| class.sent().0).collect();
    let mut now = start;
    loop {
        for &class in backlogged {
            while queue.classes()[usize::from(class)].queue().is_some_and(|leaf| leaf.backlog().packets < 9) {
                let _ = queue.enqueue(now, packet(class), &mut Ignore);
            }
        }
        if queue.dequeue(now, &mut Ignore).is_none() {
            now = queue.next_wake(now).expect("packets wait");
            if now.0 >= start.0 + time {
                break;
            }
        }
    }
    queue.classes().iter().zip(before).map(|(class, before)| class.sent().0 - before).collect()
}

const SECOND: u64 = 1_000_000_000;

/// HTB manual, section 3: A has 40 % and B 60 % of the link. If both are busy, each gets its share; one alone
/// gets all.
#[test]
fn a_class_borrows_what_the_others_leave() {
    let mut queue = tree(&[root(8_000_000), child(3_200_000, 8_000_000, 0), child(4_800_000, 8_000_000, 0)]);
    let both = sent(&mut queue, &[1, 2], Nanos(0), SECOND);
    assert!(both[1].abs_diff(400) <= 3 && both[2].abs_diff(600) <= 3, "{both:?}");
    let alone = sent(&mut queue, &[1], Nanos(2 * SECOND), SECOND);
    assert!(alone[1].abs_diff(1000) <= 12, "{alone:?}");
    assert!(queue.classes()[1].borrowed() > 550);
}

/// HTB manual, section 4: a ceil applies even if no other class wants to send.
#[test]
fn no_class_goes_above_its_ceil() {
    let mut queue = tree(&[root(8_000_000), child(800_000, 1_600_000, 0), child(800_000, 8_000_000, 0)]);
    let alone = sent(&mut queue, &[1], Nanos(0), SECOND);
    assert!(alone[1].abs_diff(200) <= 3, "{alone:?}");
}

/// HTB manual, section 6: the class of lower prio gets all excess bandwidth, and the others keep their rates.
#[test]
fn excess_bandwidth_goes_to_the_lowest_prio_first() {
    let classes = [
        root(8_000_000),
        child(800_000, 8_000_000, 0),
        child(800_000, 8_000_000, 1),
        child(800_000, 8_000_000, 1),
    ];
    let all = sent(&mut tree(&classes), &[1, 2, 3], Nanos(0), SECOND);
    assert!(all[1].abs_diff(800) <= 6 && all[2].abs_diff(100) <= 3 && all[3].abs_diff(100) <= 3, "{all:?}");
}

/// tc-htb(8), quantum: borrowing classes share in the ratio of their quanta.
#[test]
fn borrowers_of_one_prio_share_in_ratio_of_their_quanta() {
    let with = |quantum| {
        let params = ClassParams { parent: Some(0), ceil: Rate(8_000_000), ..ClassParams::new(Rate(8_000)) };
        Class::leaf(ClassParams { quantum: Some(quantum), ..params }, leaf())
    };
    let all = sent(&mut tree(&[root(8_000_000), with(3000), with(1000)]), &[1, 2], Nanos(0), SECOND);
    assert!(all[1].abs_diff(750) <= 8 && all[2].abs_diff(250) <= 8, "{all:?}");
}

#[test]
fn quanta_follow_the_rate_within_their_bounds() {
    let quantum = |rate| ClassParams::new(Rate(rate)).quantum();
    assert_eq!([quantum(8_000), quantum(1_600_000), quantum(80_000_000_000)], [1000, 20_000, 200_000]);
}

/// A leaf that is a root never borrows: it gets its rate even if its ceil is higher.
#[test]
fn a_root_has_its_rate_and_no_more() {
    let params = ClassParams { ceil: Rate(8_000_000), ..ClassParams::new(Rate(800_000)) };
    let mut queue = tree(&[Class::leaf(params, leaf())]);
    let alone = sent(&mut queue, &[0], Nanos(0), SECOND);
    assert!(alone[0].abs_diff(100) <= 3, "{alone:?}");
    assert_eq!(queue.classes()[0].mode(), Mode::MayBorrow);
}

/// 8 Mbit/s, 1600 bytes: two packets of 1000 bytes at once (the bucket may go below zero), the third when it
/// is at zero again, 0.4 ms after.
#[test]
fn a_bucket_goes_below_zero_by_one_packet() {
    let mut queue = tree(&[Class::leaf(ClassParams::new(Rate(8_000_000)), leaf())]);
    for _ in 0..3 {
        let _ = queue.enqueue(Nanos(5), packet(0), &mut Ignore);
    }
    assert!(queue.dequeue(Nanos(5), &mut Ignore).is_some());
    assert!(queue.dequeue(Nanos(5), &mut Ignore).is_some());
    assert!(queue.dequeue(Nanos(5), &mut Ignore).is_none());
    assert_eq!(queue.next_wake(Nanos(5)), Some(Nanos(400_005)));
    assert!(queue.dequeue(Nanos(400_004), &mut Ignore).is_none());
    assert!(queue.dequeue(Nanos(400_005), &mut Ignore).is_some());
    assert_eq!(queue.stats().overlimits, 2);
}

/// Theory page: inner classes lend before the root does, so a subtree keeps its share.
#[test]
fn a_subtree_lends_to_its_own_first() {
    let inner = |rate| {
        Class::inner(ClassParams { parent: Some(0), ceil: Rate(8_000_000), ..ClassParams::new(Rate(rate)) })
    };
    let under = |parent, rate| {
        let params =
            ClassParams { parent: Some(parent), ceil: Rate(8_000_000), ..ClassParams::new(Rate(rate)) };
        Class::leaf(ClassParams { quantum: Some(1000), ..params }, leaf())
    };
    let classes = [
        root(8_000_000),
        inner(6_000_000),
        inner(2_000_000),
        under(1, 3_000_000),
        under(1, 3_000_000),
        under(2, 2_000_000),
    ];
    let mut map = [5; 64];
    (map[3], map[4]) = (3, 4);
    let mut queue = Htb::new(Nanos(0), map, LINK, classes.to_vec()).expect("a tree");
    // Class 4 has nothing to send: its share goes to class 3, of the same parent, and not to class 5.
    let all = sent(&mut queue, &[3, 5], Nanos(0), SECOND);
    assert!(all[3].abs_diff(750) <= 6 && all[5].abs_diff(250) <= 6, "{all:?}");
}

#[test]
fn invalid_trees_are_named() {
    let wrong = |classes: &[Class<Leaf>], map| match <Htb<Header, Leaf>>::new(
        Nanos(0),
        map,
        LINK,
        classes.to_vec(),
    ) {
        Err(BuildError::Htb(error)) => Some(error),
        _ => None,
    };
    let good = [root(8_000_000), child(8_000, 8_000, 0)];
    assert_eq!(wrong(&good, [1; 64]), None);
    assert_eq!(wrong(&good, [0; 64]), Some(ParamsError::Map));
    assert_eq!(wrong(&[], [0; 64]), Some(ParamsError::Number));
    assert_eq!(wrong(&[root(8_000)], [0; 64]), Some(ParamsError::Leaf));
    assert_eq!(wrong(&[child(8_000, 8_000, 0)], [0; 64]), Some(ParamsError::Parent));
    assert_eq!(wrong(&[root(8_000), child(8_000, 7_000, 0)], [1; 64]), Some(ParamsError::Ceil));
    assert_eq!(wrong(&[root(8_000), child(8_000, 8_000, 8)], [1; 64]), Some(ParamsError::Prio));
    assert_eq!(wrong(&[root(7), child(8_000, 8_000, 0)], [1; 64]), Some(ParamsError::Rate));
    let below =
        |parent| Class::<Leaf>::inner(ClassParams { parent: Some(parent), ..ClassParams::new(Rate(8_000)) });
    let deep: alloc::vec::Vec<_> = core::iter::once(root(8_000)).chain((0..7).map(below)).collect();
    let last = Class::leaf(ClassParams { parent: Some(7), ..ClassParams::new(Rate(8_000)) }, leaf());
    let deep: alloc::vec::Vec<_> = deep.into_iter().chain([last]).collect();
    assert_eq!(wrong(&deep, [8; 64]), Some(ParamsError::Depth));
}

//! `htb` by name: the trees of sqm-scripts, driven as by a link.

use goodqueue::{AnyQueue, Header, Ignore, Link, Nanos, Queue, QueueSpec, Rate};

const SECOND: u64 = 1_000_000_000;
const RATE: u64 = 12_000_000;

fn build(text: &str) -> AnyQueue<Header> {
    let spec: QueueSpec = text.parse().expect(text);
    assert_eq!(spec.to_string().parse::<QueueSpec>().as_ref(), Ok(&spec), "reads back");
    spec.build(Rate(RATE), 1514, Nanos(0)).expect(text)
}

/// The rate of each of these DSCPs while all of them always have packets, Mbit/s over four seconds.
fn shares<const N: usize>(text: &str, dscps: [u8; N]) -> [f64; N] {
    let mut queue = build(text);
    let (mut now, mut sent) = (Nanos(0), [0_u64; N]);
    let packet =
        |dscp: u8| Header { len: 1500, dsfield: dscp << 2, cookie: dscp.into(), ..Header::default() };
    for dscp in dscps {
        (0..20).for_each(|_| {
            let _ = queue.enqueue(now, packet(dscp), &mut Ignore);
        });
    }
    while now.0 < 4 * SECOND {
        match queue.dequeue(now, &mut Ignore) {
            Some(left) => {
                let at = dscps.iter().position(|&dscp| u64::from(dscp) == left.cookie).expect("one of them");
                sent[at] += u64::from(left.len);
                let _ = queue.enqueue(now, packet(dscps[at]), &mut Ignore);
            }
            None => now = queue.next_wake(now).expect("packets wait"),
        }
    }
    sent.map(|bytes| bytes as f64 * 8.0 / 4e6)
}

const EF: u8 = 46;
const CS1: u8 = 8;

fn assert_near<const N: usize>(got: [f64; N], expected: [f64; N]) {
    let is_near = got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 0.1);
    assert!(is_near, "{got:?}, {expected:?}");
}

/// simplest.qos: one class of the whole rate.
#[test]
fn simplest_is_one_class() {
    assert_near(shares("htb,rate=12mbit,leaf=pfifo:100", [0]), [12.0]);
    assert_near(shares("htb,rate=6mbit,leaf=codel", [0]), [6.0]);
}

/// simple.qos: priority borrows first, up to a third; bulk keeps its sixth; best effort gets the rest, and
/// alone all but 16 kbit/s.
#[test]
fn simple_is_three_classes_that_borrow() {
    let text = "htb,rate=12mbit,sqm=simple,leaf=pfifo:100";
    assert_near(shares(text, [EF, 0, CS1]), [4.0, 6.0, 2.0]);
    assert_near(shares(text, [0]), [11.98]);
    assert_near(shares(text, [EF]), [4.0]);
    assert_near(shares(text, [0, CS1]), [10.0, 2.0]);
    // CS6, and codepoints that ask for minimal delay, AF42 among them.
    assert_near(shares(text, [48, 36]), [2.0, 2.0]);
}

#[test]
fn its_leaves_are_fq_codel_unless_said() {
    let spec: QueueSpec = "htb,rate=12mbit,sqm=simple".parse().expect("a queue");
    assert_eq!(spec.leaf().map(|leaf| leaf.to_string()), Some("fq_codel".to_string()));
    assert_eq!(spec.places(Link::ethernet(Rate(RATE))), Ok(3 * 10_240));
    assert!(spec.is_shaper());
    for wrong in ["htb", "htb,rate=1kbit", "htb,rate=12mbit,leaf=prio", "htb,rate=12mbit,sqm=piece_of_cake"] {
        assert!(wrong.parse::<QueueSpec>().is_err(), "{wrong}");
    }
}

/// A class that is shaped pays for the framing of its link: 1500 bytes are 32 cells of 53 on ATM.
#[test]
fn cells_are_counted_where_the_link_has_them() {
    assert_near(shares("htb,rate=12mbit,linklayer=atm,leaf=pfifo:100", [0]), [12.0 * 1500.0 / 1696.0]);
}

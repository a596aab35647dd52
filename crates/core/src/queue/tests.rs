//! What the queues' own tests share.

use alloc::vec::Vec;

use super::{Backlog, Queue};
use crate::{Header, Nanos, Observer, PacketInfo, Reason, Verdict};

/// The packets that have come back, by their cookies.
struct Back(Vec<u64>);

impl PacketInfo<Header> for Back {}

impl Observer<Header> for Back {
    fn dropped(&mut self, _: Nanos, packet: Header, reason: Reason) {
        assert_eq!(reason, Reason::Limit);
        self.0.push(packet.cookie);
    }
}

/// `queue` believes that it has room for more packets than its three places: what finds no place comes
/// back once, and is not counted.
pub(crate) fn comes_back_without_a_place(mut queue: impl Queue<Header>) {
    let mut back = Back(Vec::new());
    for cookie in 0..5 {
        let packet = Header { cookie, len: 100, truesize: 512, flow_hash: 1, ..Header::default() };
        let verdict = queue.enqueue(Nanos(0), packet, &mut back);
        let is_refused = verdict == Verdict::Dropped(Reason::Limit);
        assert_eq!(is_refused, cookie >= 3, "packet {cookie}: {verdict:?}");
    }
    assert_eq!(back.0, [3, 4]);
    assert_eq!(queue.backlog(), Backlog { packets: 3, bytes: 300 });
    assert_eq!(queue.stats().drops, 2);
    while let Some(packet) = queue.dequeue(Nanos(1), &mut back) {
        back.0.push(packet.cookie);
    }
    assert_eq!(back.0, [3, 4, 0, 1, 2]);
    assert_eq!((queue.backlog(), queue.stats().packets), (Backlog::default(), 3));
}

//! Records the packets that went into a queue and those that came out. This is the one place where tests and
//! fuzz targets check that a packet comes back exactly once and that the backlog is the sum of what is
//! inside.
#![allow(dead_code, unreachable_pub, reason = "each of them uses a part of it")]

use std::collections::BTreeMap;

use goodqueue::{Header, Nanos, Observer, PacketInfo, Queue, Reason, Verdict};

/// The packets inside a queue, by their cookies, which rise with every arrival; and those that have left.
#[derive(Default)]
pub struct Seen {
    pub inside: BTreeMap<u64, Header>,
    /// The packets dropped since this was last emptied.
    pub dropped: Vec<(Header, Reason)>,
    /// How often a packet was marked.
    pub marked: u64,
    /// Whether only a mark may change the DS byte of a packet: `cake` can also wash it.
    pub keeps_dscp: bool,
}

impl Seen {
    /// A packet leaves. Checks that it was inside, once, and is unchanged except for its DS byte. Returns it
    /// as it arrived.
    pub fn leaves(&mut self, packet: &Header) -> Header {
        let given = self.inside.remove(&packet.cookie).expect("a packet that is inside, once");
        assert_eq!(*packet, Header { dsfield: packet.dsfield, ..given });
        let is_marked = packet.dsfield & 3 == 3 && given.dsfield & 3 != 0;
        assert!(!self.keeps_dscp || packet.dsfield == given.dsfield || is_marked);
        given
    }

    /// Checks that the verdict on a packet says whether it was dropped, and that the backlog is what is
    /// inside.
    pub fn check(&self, queue: &impl Queue<Header>, arrived: Option<(&Header, Verdict)>) {
        if let Some((packet, verdict)) = arrived {
            assert_eq!(self.inside.contains_key(&packet.cookie), verdict == Verdict::Enqueued);
        }
        let backlog = queue.backlog();
        let bytes: u64 = self.inside.values().map(|packet| u64::from(packet.len)).sum();
        assert_eq!((backlog.packets as usize, backlog.bytes), (self.inside.len(), bytes));
    }
}

impl Observer<Header> for Seen {
    fn dropped(&mut self, _now: Nanos, packet: Header, reason: Reason) {
        self.leaves(&packet);
        self.dropped.push((packet, reason));
    }

    fn marked(&mut self, _now: Nanos, packet: &Header, _reason: Reason) {
        assert_eq!(packet.dsfield & 3, 3, "a marked packet has CE");
        self.marked += 1;
    }
}

impl PacketInfo<Header> for Seen {}

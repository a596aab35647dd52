//! The direction in which packets were duplicated or overtook each other. A reply carries its position among
//! all packets that the server received, so there are three orders: the order of sending, the order at the
//! server, and the order of receiving. A packet is reordered if a later one arrived before it (RFC 4737).

use std::collections::VecDeque;

use goodqueue_probe::Direction;
use goodqueue_probe::echo::wire::{Layout, Packet, StampAt};

/// Replies that are remembered.
const MOST: usize = 128;

#[derive(Clone, Copy, Debug)]
struct Reply {
    seq: u32,
    place: i64,
    /// Whether it is known that it was reordered on its way up.
    late_up: bool,
}

/// The last replies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order(VecDeque<Reply>);

/// What another reply shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// An earlier reply answered the same probe: the direction in which the probe or the reply was
    /// duplicated, if known.
    pub(crate) doubled: Option<Direction>,
    /// These probes were overtaken on their way up; the last of them may be this one.
    pub(crate) late_up: Vec<u32>,
    /// The reply was overtaken on its way down.
    pub(crate) late_down: bool,
}

/// The place of a reply among all replies of the server: by its count, or by its clock.
fn place(layout: Layout, packet: &Packet) -> Option<i64> {
    if layout.count {
        return Some(i64::from(packet.received));
    }
    let has_stamps = layout.stamps != StampAt::None;
    let of = if layout.has_monotonic() { packet.server_send.mono } else { packet.server_send.wall };
    has_stamps.then_some(of)
}

impl Order {
    /// Takes note of a reply.
    pub(crate) fn note(&mut self, layout: Layout, packet: &Packet) -> Outcome {
        let mut outcome = Outcome::default();
        let (seq, Some(place)) = (packet.seq, place(layout, packet)) else { return outcome };
        let before = self.0.iter().find(|seen| seen.seq == seq);
        outcome.doubled =
            before.map(|before| if before.place == place { Direction::Down } else { Direction::Up });
        if outcome.doubled.is_some() {
            return outcome;
        }
        // The probes that it overtook on the way up, although their replies came back before.
        for seen in self.0.iter_mut().filter(|seen| seen.seq < seq && seen.place > place && !seen.late_up) {
            seen.late_up = true;
            outcome.late_up.push(seen.seq);
        }
        let late_up = self.0.iter().any(|seen| seen.seq > seq && seen.place < place);
        outcome.late_up.extend(late_up.then_some(seq));
        outcome.late_down = self.0.iter().any(|seen| seen.place > place);
        self.0.push_back(Reply { seq, place, late_up });
        if self.0.len() > MOST {
            self.0.pop_front();
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes replies in the order in which they come: number and place at the server. Returns those late up,
    /// those late down, and the directions of duplicates.
    fn outcome(replies: &[(u32, u32)]) -> (Vec<u32>, Vec<u32>, Vec<(u32, Direction)>) {
        let (mut order, mut out) = (Order::default(), (Vec::new(), Vec::new(), Vec::new()));
        for &(seq, received) in replies {
            let outcome = order.note(Layout::FULL, &Packet { seq, received, ..Packet::default() });
            out.0.extend(outcome.late_up);
            out.1.extend(outcome.late_down.then_some(seq));
            out.2.extend(outcome.doubled.map(|way| (seq, way)));
        }
        out
    }

    #[test]
    fn each_way_has_its_own_order() {
        assert_eq!(outcome(&[(0, 1), (1, 2), (2, 3)]), (vec![], vec![], vec![]));
        assert_eq!(outcome(&[(0, 1), (2, 2), (1, 3)]), (vec![1], vec![], vec![]), "overtaken on the way up");
        assert_eq!(outcome(&[(0, 1), (2, 3), (1, 2)]), (vec![], vec![1], vec![]), "on the way down");
        assert_eq!(outcome(&[(0, 1), (1, 3), (2, 2)]), (vec![1], vec![2], vec![]), "up, and back again");
    }

    #[test]
    fn a_doubled_probe_is_no_doubled_reply() {
        let (up, down) = (Direction::Up, Direction::Down);
        assert_eq!(outcome(&[(0, 1), (0, 1), (1, 2)]).2, [(0, down)]);
        assert_eq!(outcome(&[(0, 1), (0, 2), (1, 3)]).2, [(0, up)]);
        let none = Layout { count: false, stamps: StampAt::None, ..Layout::FULL };
        let mut order = Order::default();
        assert_eq!(order.note(none, &Packet::default()), Outcome::default());
        assert_eq!(order.note(none, &Packet::default()), Outcome::default(), "nobody knows");
    }

    #[test]
    fn memory_is_bounded() {
        let mut order = Order::default();
        for seq in 0..10_000 {
            order.note(Layout::FULL, &Packet { seq, received: seq + 1, ..Packet::default() });
        }
        assert_eq!(order.0.len(), MOST);
    }
}

//! Rings of the scoreboard that grow and shrink.

use super::*;

const MSS: u32 = 1448;

/// A board with `count` segments sent one by one, of which `popped` are acknowledged.
fn board(count: u64, popped: u64) -> Scoreboard {
    let mut board = Scoreboard::new(true);
    for n in 0..count {
        let slot = Slot::new(n * u64::from(MSS), Nanos(n), 0, 0);
        let stamps = Stamps { first_tx: Nanos(n), delivered: Nanos(2 * n) };
        board.push_packet((slot, stamps), MSS, MSS, 1, LAST);
        if n < popped {
            board.pop();
        }
    }
    board
}

/// Flags of a segment, and when it was sent if the delivery rate is used.
type Remembered = (u8, Option<Nanos>);

/// Sequence numbers in order of transmission, those that wait for retransmission, and flags and stamps of
/// all.
fn seen(board: &Scoreboard) -> (Vec<u64>, Vec<u64>, Vec<Remembered>) {
    let list = |first: u32| {
        let next = |&pos: &u32| Some(board.next_sent(pos)).filter(|&next| next != NIL);
        let all = std::iter::successors(Some(first).filter(|&first| first != NIL), next);
        all.map(|pos| board.get(pos).seq).collect()
    };
    let about = |pos| (board.get(pos).flags, board.stamps(pos).map(|stamps| stamps.delivered));
    let all = board.positions().map(about).collect();
    (list(board.oldest()), list(board.first_pending().unwrap_or(NIL)), all)
}

#[test]
fn another_size_changes_nothing_but_the_size() {
    let mut board = board(300, 280);
    let (first, second) = (board.at(3), board.at(9));
    board.set_pending(second);
    board.set_pending(first);
    let sacked = board.at(5);
    board.set_sacked(sacked);
    let again = (Slot::new(0, Nanos(400), 7, 0), Stamps::default());
    board.set_resent(first, 1, RETRANS | EVER, again);
    let (before, size) = (seen(&board), board.size());
    board.resize(3 * size);
    assert_eq!((seen(&board), board.size()), (before.clone(), 3 * size));
    board.fit();
    assert_eq!((seen(&board), board.size()), (before, 30));
}

#[test]
fn a_ring_that_has_room_never_grows() {
    let long = board(300, 280);
    assert_eq!((long.len, long.size()), (20, 25), "as for twenty segments");
    assert_eq!(Scoreboard::new(false).positions().count(), 0);
}

/// Pieces are of unequal length, so none of them can be part of a super-packet.
#[test]
fn the_pieces_of_a_cut_segment_are_packets_of_their_own() {
    let packets = |board: &mut Scoreboard| {
        for pos in board.positions() {
            board.set_pending(pos);
        }
        board.positions().map(|pos| board.lost_packet(pos)).collect::<Vec<_>>()
    };
    let mut board = Scoreboard::new(false);
    board.push_packet((Slot::new(1, Nanos(1), 0, 0), Stamps::default()), 3 * MSS, MSS, 3, LAST);
    assert_eq!(packets(&mut board), [3, 2, 1]);
    let mut board = Scoreboard::new(false);
    board.push_packet((Slot::new(1, Nanos(1), 0, 0), Stamps::default()), 2 * MSS, MSS, 2, LAST);
    board.cut(1000);
    assert_eq!(packets(&mut board), [1, 1, 1, 1]);
}

//! Which packets GRO joins, and which it does not.

use super::*;
use crate::frame::Ends;
use crate::tcp::{Flags, Header};
use proptest::prelude::*;

const MSS: u32 = 1448;
/// Headers of a segment with timestamps: 14 of Ethernet, 20 of IPv4, 32 of TCP.
const HEADERS: u32 = 66;

/// Storage for the frames of all flows.
fn frames() -> Frames {
    let mut frames = Frames::default();
    frames.ends.push(Ends { hashes: [0; 2], mss: MSS });
    frames
}

/// A segment of flow `owner` that begins with byte `seq`.
fn segment(owner: u32, seq: u64, len: u32) -> Frame {
    let segment = Header { seq, ack: 1, len, window: 65_535, flags: Flags::ACK, ..Header::default() };
    Frame { segment, owner, flow_hash: owner, len: len + HEADERS, ..Frame::NONE }
}

/// The owner, the first byte, the payload and the bytes of each packet that a poll of these packets passes
/// on, in order, and how many were joined to others.
fn polled(packets: &[Frame]) -> (Vec<(u32, u64, u32, u32)>, u64) {
    let (mut frames, mut gro) = (frames(), Gro::default());
    for packet in packets {
        let id = frames.insert(*packet);
        gro.receive(id, &mut frames);
    }
    gro.flush();
    let (passed, joined) = gro.take();
    let words = |id| {
        let frame = frames.get(id);
        (frame.owner, frame.segment.seq, frame.segment.len, frame.len)
    };
    let passed: Vec<_> = passed.map(words).collect();
    assert_eq!(frames.count(), passed.len(), "joined packets have given their places back");
    (passed, joined)
}

/// How many packets a poll of these produces.
fn count(packets: &[Frame]) -> usize {
    polled(packets).0.len()
}

#[test]
fn segments_that_follow_each_other_become_one_packet() {
    let three = [segment(0, 1, MSS), segment(0, 1449, MSS), segment(0, 2897, MSS)];
    // Each segment counts with its own headers, as in a super-packet of a host.
    assert_eq!(polled(&three), (vec![(0, 1, 3 * MSS, 3 * (MSS + HEADERS))], 2));
}

#[test]
fn a_gap_or_an_overlap_ends_a_packet() {
    assert_eq!(count(&[segment(0, 1, MSS), segment(0, 2897, MSS)]), 2);
    assert_eq!(count(&[segment(0, 1, MSS), segment(0, 1, MSS)]), 2);
    assert_eq!(count(&[segment(0, 1449, MSS), segment(0, 1, MSS)]), 2);
}

#[test]
fn headers_that_differ_are_not_joined() {
    let first = segment(0, 1, MSS);
    let second = segment(0, 1449, MSS);
    let change = |change: &dyn Fn(&mut Frame)| {
        let mut other = second;
        change(&mut other);
        count(&[first, other])
    };
    assert_eq!(change(&|_| {}), 1);
    assert_eq!(change(&|frame| frame.segment.ack = 2), 2);
    assert_eq!(change(&|frame| frame.segment.window -= 1), 2);
    assert_eq!(change(&|frame| frame.segment.ts_val = 1), 2);
    assert_eq!(change(&|frame| frame.segment.ts_ecr = 1), 2);
    assert_eq!(change(&|frame| frame.dsfield = 3), 2, "a packet with CE beside one without");
    assert_eq!(change(&|frame| frame.segment.flags = Flags::ACK.with(Flags::ECE)), 2);
    assert_eq!(change(&|frame| frame.segment.flags = Flags::ACK.with(Flags::CWR)), 2);
}

#[test]
fn cwr_of_the_first_segment_does_not_end_a_packet() {
    let mut first = segment(0, 1, MSS);
    first.segment.flags = Flags::ACK.with(Flags::CWR);
    assert_eq!(count(&[first, segment(0, 1449, MSS)]), 1);
}

#[test]
fn a_short_segment_and_psh_are_the_last_of_a_packet() {
    let next = segment(0, 2897, MSS);
    assert_eq!(count(&[segment(0, 1, MSS), segment(0, 1449, MSS - 1), next]), 2);
    assert_eq!(count(&[segment(0, 1, MSS - 1), segment(0, MSS.into(), MSS)]), 2);
    for flag in [Flags::PSH, Flags::FIN] {
        let mut pushed = segment(0, 1449, MSS);
        pushed.segment.flags = Flags::ACK.with(flag);
        assert_eq!(count(&[segment(0, 1, MSS), pushed, next]), 2);
    }
}

#[test]
fn psh_of_a_joined_segment_is_kept() {
    let (mut frames, mut gro) = (frames(), Gro::default());
    let mut pushed = segment(0, 1449, MSS);
    pushed.segment.flags = Flags::ACK.with(Flags::PSH);
    for packet in [segment(0, 1, MSS), pushed] {
        let id = frames.insert(packet);
        gro.receive(id, &mut frames);
    }
    let (mut passed, joined) = gro.take();
    let whole = frames.get(passed.next().expect("it goes on before the poll ends"));
    assert!(joined == 1 && whole.segment.flags.has(Flags::PSH));
}

#[test]
fn a_packet_stays_below_64_kib() {
    // 45 segments with 52 bytes of headers are 65212 bytes, 46 would be 66660.
    let many: Vec<Frame> = (0..50).map(|at| segment(0, 1 + at * u64::from(MSS), MSS)).collect();
    let (passed, joined) = polled(&many);
    assert_eq!(passed.iter().map(|&(.., len, _)| len / MSS).collect::<Vec<_>>(), [45, 5]);
    assert_eq!(joined, 48);
}

#[test]
fn flows_between_each_other_are_joined_apart() {
    let packets: Vec<Frame> =
        (0..4).flat_map(|at| [0, 1].map(|owner| segment(owner, 1 + at * u64::from(MSS), MSS))).collect();
    assert_eq!(count(&packets), 2);
}

#[test]
fn a_list_holds_eight_flows_and_the_oldest_leaves_it() {
    // All of one list: their hashes are multiples of eight.
    let owners = (0..9).map(|flow| flow * 8);
    let mut packets: Vec<Frame> = owners.clone().map(|owner| segment(owner, 1, MSS)).collect();
    packets.extend(owners.map(|owner| segment(owner, 1449, MSS)));
    let (passed, joined) = polled(&packets);
    // The ninth flow evicts the first, whose next segment evicts the second, and so on: nothing is joined.
    assert_eq!((passed.len(), joined), (18, 0));
    // Flows of nine lists are all joined.
    let spread: Vec<Frame> =
        [1, 1449].into_iter().flat_map(|seq| (0..9).map(move |owner| segment(owner, seq, MSS))).collect();
    assert_eq!(count(&spread), 9);
}

#[test]
fn acknowledgements_and_datagrams_pass_at_once() {
    let ack = Frame { kind: Kind::Ack, ..segment(0, 1, 0) };
    let probe = Frame { kind: Kind::Request, ..segment(1, 1, 0) };
    let (passed, joined) = polled(&[segment(2, 1, MSS), ack, probe]);
    assert_eq!(passed.iter().map(|&(owner, ..)| owner).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(joined, 0);
}

/// A step of a flow: what it sends next, relative to the last byte that it sent.
#[derive(Clone, Debug)]
struct Step {
    owner: u32,
    len: u32,
    gap: u64,
    flags: u8,
    ts_val: u32,
    dsfield: u8,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let len = prop_oneof![6 => Just(MSS), 1 => Just(2 * MSS), 1 => 0..MSS];
    let flags = prop_oneof![8 => Just(0_u8), 1 => Just(Flags::PSH.0), 1 => Just(Flags::CWR.0)];
    let gap = prop_oneof![8 => Just(0_u64), 1 => Just(1448_u64)];
    let step = (0..24_u32, len, gap, flags, 0..2_u32, prop_oneof![9 => Just(2_u8), 1 => Just(3_u8)]);
    let step = step.prop_map(|(owner, len, gap, flags, ts_val, dsfield)| Step {
        owner: owner * 4,
        len,
        gap,
        flags,
        ts_val,
        dsfield,
    });
    prop::collection::vec(step, 0..200)
}

proptest! {
    /// Whatever arrives, each flow's bytes are passed on once and in order of arrival, and no byte of a frame
    /// is lost.
    #[test]
    fn no_byte_is_lost_or_overtakes(steps in steps()) {
        let mut next = [1_u64; 96];
        let packets: Vec<Frame> = steps.iter().map(|step| {
            let seq = next[step.owner as usize] + step.gap;
            next[step.owner as usize] = seq + u64::from(step.len);
            let mut frame = segment(step.owner, seq, step.len);
            frame.len = step.len + HEADERS * step.len.div_ceil(MSS).max(1);
            frame.segment.flags = Flags(Flags::ACK.0 | step.flags);
            frame.segment.ts_val = step.ts_val;
            frame.dsfield = step.dsfield;
            frame
        }).collect();
        let (passed, joined) = polled(&packets);
        prop_assert_eq!(passed.len() as u64 + joined, packets.len() as u64);
        for owner in 0..96 {
            let bytes = |packets: Vec<(u64, u32)>| -> Vec<u64> {
                packets.iter().flat_map(|&(seq, len)| seq..seq + u64::from(len)).collect()
            };
            let own = packets.iter().filter(|frame| frame.owner == owner);
            let came = bytes(own.map(|frame| (frame.segment.seq, frame.segment.len)).collect());
            let own = passed.iter().filter(|packet| packet.0 == owner);
            prop_assert_eq!(bytes(own.map(|&(_, seq, len, _)| (seq, len)).collect()), came);
        }
        let whole = |lens: Vec<u32>| lens.iter().sum::<u32>();
        prop_assert_eq!(
            whole(passed.iter().map(|packet| packet.3).collect()),
            whole(packets.iter().map(|frame| frame.len).collect())
        );
        prop_assert!(passed.iter().all(|&(_, _, len, _)| len + 52 < GRO_MAX_SIZE));
    }
}

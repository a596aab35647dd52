//! A socket against naive models: what it counts of ECN, and what happens to the data that the application
//! writes.

use crate::tcp::accecn::EcnBytes;
use crate::tcp::{Flags, Host, Notice, Options, Packet, Sending, Socket};
use goodqueue::{Nanos, Span};
use proptest::prelude::*;

const MSS: u16 = 1000;

fn at(millis: u64) -> Nanos {
    Nanos(1_000_000_000_000) + Span::from_millis(millis)
}

fn drain(socket: &mut Socket, now: Nanos) -> Vec<Packet> {
    core::iter::from_fn(|| socket.poll_transmit(now)).collect()
}

/// A connection that the peer has opened, with accurate ECN or without.
fn accepted(accurate: bool) -> Socket {
    let mut host = Host::default();
    host.accecn.grants = accurate;
    host.tcp.timestamps = false;
    let asks = if accurate { Flags::AE.with(Flags::ECE).with(Flags::CWR) } else { Flags::default() };
    let options = Options { mss: Some(MSS), ..Options::default() };
    let syn = Packet { flags: Flags::SYN.with(asks), window: 60_000, options, ..Packet::default() };
    let mut socket = Socket::accept(&host, at(0), &syn);
    let syn_ack = drain(&mut socket, at(0));
    assert_eq!((syn_ack.len(), syn_ack[0].flags.has(Flags::SYN.with(Flags::ACK))), (1, true));
    let option = EcnBytes { is_order_1: false, counters: [1, 0, 1], fields: 3 };
    let options = Options { ecn_bytes: accurate.then_some(option), ..Options::default() };
    let third = if accurate { Flags::ACK.with(Flags::CWR) } else { Flags::ACK };
    let ack = Packet { seq: 1, ack: 1, flags: third, window: 60_000, options, ..Packet::default() };
    socket.on_packet(at(10), &ack);
    assert!(drain(&mut socket, at(10)).is_empty());
    socket
}

#[derive(Clone, Copy, Debug)]
struct Write {
    bytes: u64,
    how: Sending,
    /// Everything sent is acknowledged after it.
    is_acked: bool,
}

fn write() -> impl Strategy<Value = Write> {
    (1_u64..20_000, any::<[bool; 4]>()).prop_map(|(bytes, [more, end_of_record, zero_copy, is_acked])| {
        Write { bytes, how: Sending { more, end_of_record, zero_copy, is_resumed: false }, is_acked }
    })
}

proptest! {
    /// Every ACK has the counts of all packets that came before it: CE in ACE, modulo 8 and from 5 on (RFC
    /// 9768 section 3.2.2), bytes of each codepoint in the option (section 3.2.3).
    #[test]
    fn feedback_is_what_was_received(packets in prop::collection::vec((1_u32..=1000, 0_u8..4), 1..60)) {
        let mut socket = accepted(true);
        let (mut seq, mut marked, mut bytes) = (1, 0_u32, [0_u32; 4]);
        let mut acks = 0;
        for (n, (len, ecn)) in packets.into_iter().enumerate() {
            let now = at(20 + 5 * n as u64);
            let flags = Flags::ACK.with(Flags::PSH);
            socket.on_packet(now, &Packet { seq, ack: 1, len, flags, window: 60_000, ecn, ..Packet::default() });
            seq += u64::from(len);
            socket.read(now, u64::MAX);
            marked += u32::from(ecn == 3);
            bytes[usize::from(ecn)] += len;
            for ack in drain(&mut socket, now) {
                acks += 1;
                prop_assert_eq!(u32::from(crate::tcp::accecn::ace(ack.flags)), (5 + marked) % 8);
                let option = ack.options.ecn_bytes.expect("the peer has shown that it gets through");
                prop_assert_eq!(option.counters, [bytes[1] + 1, bytes[3], bytes[2] + 1]);
                prop_assert_eq!((ack.ack, ack.ecn), (seq, 2));
            }
        }
        let counts = socket.info(at(0)).ecn_counts;
        prop_assert_eq!((counts.received_ce, counts.received), (marked, [bytes[1], bytes[2], bytes[3]]));
        prop_assert!(acks > 0, "the first packet changes the codepoint, or is acknowledged at once");
    }

    /// Whatever the flags, all that the buffer takes is sent once and in order, no packet goes beyond the end
    /// of a record, and the zero-copy calls are reported by their numbers, each once.
    #[test]
    fn what_is_written_is_sent_once_and_records_stay_apart(writes in prop::collection::vec(write(), 1..30)) {
        let mut socket = accepted(false);
        let (mut taken, mut next, mut zero_copies) = (0, 1, 0);
        let mut records = Vec::new();
        let (mut clock, mut acked) = (20, 1);
        let last = Write { bytes: 1, how: Sending::default(), is_acked: true };
        for write in writes.into_iter().chain([last, last]) {
            clock += 1;
            let got = socket.write(at(clock), &[write.bytes], write.how);
            prop_assert!(got <= write.bytes);
            taken += got;
            zero_copies += u32::from(got > 0 && write.how.zero_copy);
            if got == write.bytes && write.how.end_of_record {
                records.push(1 + taken);
            }
            loop {
                let before = next;
                for packet in drain(&mut socket, at(clock)) {
                    prop_assert_eq!(packet.seq, next);
                    next += u64::from(packet.len);
                    let crossed = records.iter().find(|&&end| packet.seq < end && end < next);
                    prop_assert_eq!(crossed, None);
                }
                if !write.is_acked || (acked == next && before == next) {
                    break;
                }
                acked = next;
                let ack = Packet { seq: 1, ack: next, flags: Flags::ACK, window: 60_000, ..Packet::default() };
                clock += 1;
                socket.on_packet(at(clock), &ack);
            }
        }
        prop_assert_eq!(next, 1 + taken, "all of it was sent");
        let mut reported = 0;
        while let Some(notice) = socket.notices.pop() {
            let Notice::ZeroCopy(first, last) = notice else { panic!("no stamps were asked for") };
            prop_assert_eq!(first, reported);
            reported = last + 1;
        }
        prop_assert_eq!(reported, zero_copies);
    }
}

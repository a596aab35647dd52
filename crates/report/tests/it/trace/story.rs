//! A short connection, made by hand: the first of three segments is dropped, the second marked, one
//! acknowledgement lost, and the first segment sent again.

use goodqueue_report::trace::{Event, Leg, Segment, Trace, What};

pub(crate) const FIN: u8 = 0x01;
pub(crate) const SYN: u8 = 0x02;
pub(crate) const ACK: u8 = 0x10;
pub(crate) const ECE: u8 = 0x40;

const ECT0: u8 = 2;
const CE: u8 = 3;

fn data(seq: u64, len: u32) -> Segment {
    Segment { seq, ack: 1, len, window: 65_536, ts_val: 100, ts_ecr: 50, flags: ACK, ..Segment::default() }
}

fn ack(ack: u64, sack: Option<[i32; 2]>) -> Segment {
    let flags = if sack.is_some() { ACK | ECE } else { ACK };
    let sacks = u8::from(sack.is_some());
    let sack = [sack.unwrap_or_default(), [0; 2], [0; 2]];
    Segment {
        seq: 1,
        ack,
        window: 131_072,
        ts_val: 55,
        ts_ecr: 100,
        flags,
        sack,
        sacks,
        ..Segment::default()
    }
}

pub(crate) fn trace() -> Trace {
    let syn = Segment { flags: SYN, window: 64_240, ts_val: 100, ..Segment::default() };
    let syn_ack = Segment { ack: 1, flags: SYN | ACK, window: 65_160, ts_val: 50, ts_ecr: 100, ..syn };
    let again = Segment { retransmitted: true, ..data(1, 1000) };
    let fin = Segment { flags: FIN | ACK, ..data(3001, 0) };
    let (first, second) = (ack(1, Some([1000, 2000])), ack(1, Some([1000, 3000])));
    let (sent, delivered) = (What::Sent, What::Delivered);
    let events = [
        (0, sent, Leg::Data, 0, 0, syn),
        (10_000, delivered, Leg::Data, 1, 0, syn),
        (10_000, sent, Leg::Ack, 2, 0, syn_ack),
        (20_000, delivered, Leg::Ack, 3, 0, syn_ack),
        (20_100, sent, Leg::Data, 0, ECT0, data(1, 1000)),
        (20_200, sent, Leg::Data, 0, ECT0, data(1001, 1000)),
        (20_300, sent, Leg::Data, 0, ECT0, data(2001, 1000)),
        (21_000, What::Dropped("codel"), Leg::Data, 1, ECT0, data(1, 1000)),
        (21_500, What::Marked("codel"), Leg::Data, 1, CE, data(1001, 1000)),
        (31_000, delivered, Leg::Data, 1, CE, data(1001, 1000)),
        (31_000, sent, Leg::Ack, 2, 0, first),
        (32_000, delivered, Leg::Data, 1, ECT0, data(2001, 1000)),
        (32_000, sent, Leg::Ack, 2, 0, second),
        (41_000, delivered, Leg::Ack, 3, 0, first),
        (42_000, What::Dropped("limit"), Leg::Ack, 9, 0, second),
        (43_000, sent, Leg::Data, 0, 0, again),
        (53_000, delivered, Leg::Data, 1, 0, again),
        (53_000, sent, Leg::Ack, 2, 0, ack(3001, None)),
        (63_000, delivered, Leg::Ack, 3, 0, ack(3001, None)),
        (64_000, sent, Leg::Data, 0, ECT0, fin),
    ];
    let event = |(micros, what, leg, link, dsfield, segment): (u32, _, _, _, _, _)| Event {
        at_ns: u64::from(micros * 1000 + 7),
        what,
        leg,
        link,
        dsfield,
        segment,
    };
    Trace {
        queue: "codel,target=5ms".into(),
        flow: "upload 1".into(),
        ends: ["10.0.0.1:32768", "10.0.0.2:5001"].map(|end| end.parse().expect("an address")),
        mss: 1460,
        window_scale: 7,
        links: ["client to router", "router to server"].map(String::from).to_vec(),
        events: events.map(event).to_vec(),
        cut_ns: None,
    }
}

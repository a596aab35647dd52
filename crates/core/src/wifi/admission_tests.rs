//! Flows that build a queue, and flows that do not.

use super::*;
use crate::wifi::{Capacity, InterfaceId, StationId, WifiParams};
use crate::{Header, Ignore};

const VO: u8 = 6;
const MS: u64 = 1_000_000;

fn stack() -> TxStack<Header> {
    let params = WifiParams { aql: false, ..WifiParams::default() };
    let mut stack = TxStack::new(params, Capacity::default()).expect("in range");
    for station in [0, 1] {
        stack.add_station(StationId(station), InterfaceId(0)).expect("room");
    }
    stack
}

fn txq(tid: u8) -> TxqId {
    TxqId::new(StationId(0), Tid::new(tid).expect("a TID"))
}

fn packet(flow_hash: u32, len: u32) -> Header {
    Header { len, flow_hash, ..Header::default() }
}

fn send(admission: &mut Admission, stack: &mut TxStack<Header>, ms: u64, flow_hash: u32, len: u32) -> TxqId {
    let now = Nanos(ms * MS);
    let queued = admission.admit(now, stack, txq(VO), flow_hash);
    stack.enqueue(now, queued, packet(flow_hash, len), &mut Ignore);
    queued
}

fn drain(stack: &mut TxStack<Header>, ms: u64, from: TxqId) -> Vec<Header> {
    core::iter::from_fn(|| stack.tx_dequeue(Nanos(ms * MS), from, &mut Ignore))
        .map(|next| next.packet)
        .collect()
}

#[test]
fn a_flow_that_builds_a_queue_goes_to_best_effort_completely_and_in_order() {
    let mut admission = Admission::new(AdmissionParams::default()).expect("in range");
    let mut stack = stack();
    // Another flow in VO, which sends one packet just before the first flow is demoted.
    let call = 0x4000_0000;
    for ms in 0..50 {
        assert_eq!(send(&mut admission, &mut stack, ms, 7, 100 + ms as u32), txq(VO), "{ms}");
    }
    assert_eq!(send(&mut admission, &mut stack, 49, call, 60), txq(VO));
    assert_eq!(send(&mut admission, &mut stack, 50, 7, 150), txq(0), "50 ms after its first packet");
    assert_eq!(stack.flow_backlog(txq(VO), 7), 0);
    assert_eq!(stack.flow_backlog(txq(0), 7), 51);
    assert_eq!(stack.txq_stats(txq(VO)).expect("there").backlog_packets, 1, "the call stays");
    let bytes = (100..=150).sum::<u32>();
    assert_eq!(stack.txq_stats(txq(0)).expect("there").backlog_bytes, bytes);
    assert!(stack.scheduled(Ac::Be).eq([txq(0)]));
    let lens: Vec<u32> = drain(&mut stack, 51, txq(0)).iter().map(|packet| packet.len).collect();
    assert!(lens.iter().copied().eq(100..=150), "{lens:?}");
    assert_eq!(drain(&mut stack, 51, txq(VO)).len(), 1);
    assert_eq!(admission.stats(), AdmissionStats { demotions: 1, promotions: 0 });
}

#[test]
fn a_call_keeps_its_priority_and_a_demoted_flow_gets_it_back() {
    let mut admission = Admission::new(AdmissionParams::default()).expect("in range");
    let mut stack = stack();
    for ms in (0..2000).step_by(20) {
        assert_eq!(send(&mut admission, &mut stack, ms, 7, 214), txq(VO));
        assert_eq!(drain(&mut stack, ms + 19, txq(VO)).len(), 1);
    }
    for ms in 2000..2060 {
        send(&mut admission, &mut stack, ms, 7, 1538);
    }
    assert_eq!(admission.stats().demotions, 1);
    // Its queue in BE was last seen with packets at 2060 ms: then it is sparse again.
    drain(&mut stack, 2060, txq(0));
    for ms in (2060..3059).step_by(20) {
        assert_eq!(send(&mut admission, &mut stack, ms, 7, 214), txq(0), "{ms}");
        drain(&mut stack, ms, txq(0));
    }
    assert_eq!(send(&mut admission, &mut stack, 3060, 7, 214), txq(VO));
    assert_eq!(admission.stats(), AdmissionStats { demotions: 1, promotions: 1 });
}

#[test]
fn other_categories_are_ignored() {
    let mut admission = Admission::new(AdmissionParams::default()).expect("in range");
    let mut stack = stack();
    for other in [txq(0), txq(1), TxqId::multicast(InterfaceId(0))] {
        for ms in 0..100 {
            assert_eq!(admission.admit(Nanos(ms * MS), &mut stack, other, 7), other);
            stack.enqueue(Nanos(ms * MS), other, packet(7, 100), &mut Ignore);
        }
    }
    assert!(!stack.hand_over(Nanos(0), txq(VO), txq(0), 7), "it has no such flow");
    let unknown = TxqId::new(StationId(63), Tid::BE);
    assert!(!stack.hand_over(Nanos(0), txq(0), unknown, 7));
}

#[test]
fn values_out_of_range_are_refused() {
    let fine = AdmissionParams::default();
    for bad in [
        AdmissionParams { standing: Span::ZERO, ..fine },
        AdmissionParams { hold: Span(u64::MAX), ..fine },
        AdmissionParams { flows: 0, ..fine },
    ] {
        assert!(matches!(Admission::new(bad), Err(WifiError::OutOfRange { .. })));
    }
}

//! Traces of flows: each segment when it is sent, marked, dropped and delivered.

use goodqueue::{Nanos, Reason};

use crate::frame::{Frame, Kind};
use crate::tcp::{Blocks, Segment};

/// What happened to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Its host handed it to the first link.
    Sent,
    /// A queue marked it CE, or would have if it had not been marked already.
    Marked(Reason),
    /// A queue dropped it, or it was lost on the way ([`Reason::Loss`]).
    Dropped(Reason),
    /// It reached the other host.
    Delivered,
}

/// The direction of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leg {
    /// From the flow's sender to its receiver.
    Data,
    /// From the flow's receiver to its sender.
    Ack,
}

/// One thing that happened to a segment of a traced flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// When.
    pub at: Nanos,
    /// What.
    pub what: What,
    /// Number of the flow in the scenario.
    pub flow: u32,
    /// The direction of the segment.
    pub leg: Leg,
    /// Number of the link in the scenario: the link where it was dropped or marked; the first link of its
    /// path if it was sent; the last if it was delivered.
    pub link: u32,
    /// Bytes as a queue counts them, Ethernet header included.
    pub len: u32,
    /// The DS byte of the IP header with ECN, after the event.
    pub dsfield: u8,
    /// The segment.
    pub segment: Segment,
}

/// The flows that are traced, and their events.
#[derive(Debug, Default)]
pub(crate) struct Tap {
    /// Indexed by flow number. Empty while no flow is traced.
    traced: Vec<bool>,
    pub(crate) events: Vec<TraceEvent>,
}

impl Tap {
    pub(crate) fn follow(&mut self, flow: usize) {
        self.traced.resize(self.traced.len().max(flow + 1), false);
        self.traced[flow] = true;
    }

    /// Whether any flow is traced. While none is, this test is all that tracing costs a packet.
    pub(crate) fn is_on(&self) -> bool {
        !self.traced.is_empty()
    }

    #[cold]
    pub(crate) fn note(&mut self, at: Nanos, link: u32, frame: &Frame, blocks: Blocks, what: What) {
        let leg = match frame.kind {
            Kind::Data => Leg::Data,
            Kind::Ack => Leg::Ack,
            _ => return,
        };
        let &Frame { owner: flow, len, dsfield, ref segment, .. } = frame;
        let segment = segment.with(blocks);
        if self.traced.get(flow as usize).copied().unwrap_or(false) {
            self.events.push(TraceEvent { at, what, flow, leg, link, len, dsfield, segment });
        }
    }
}

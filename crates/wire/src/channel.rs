//! The channel between the engine's sockets: independent lines, or a shared medium.

use std::net::IpAddr;

use goodqueue::details::{Details, TcpHeader};
use goodqueue::{
    Direction, FlowHasher, Header, Nanos, Observer, PacketInfo, Queue, Rate, Reason, Reconfigure,
};

use crate::flows::Flows;
use crate::frame;
use crate::path::{Change, Path};
use crate::per_direction::PerDirection;
use crate::pool::{Note, Pool};
use crate::sample::{Contents, PathReport, PathSample, place};
use crate::sys::packet::Slot;
use crate::tcp_header;

/// A packet that is ready to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    /// Its first slot, if it is a super-packet.
    pub(crate) frame: u32,
    /// A queue has set CE, but the frame does not have it yet.
    pub(crate) mark: bool,
}

impl Ready {
    /// Appends the leaving slots to `slots`, as they leave: all segments of a super-packet, separately.
    pub(crate) fn leave(self, pool: &mut Pool, slots: &mut Vec<Slot>) {
        let mut next = Some(self.frame);
        while let Some(frame) = next {
            let len = pool.note(frame).held;
            if self.mark {
                frame::set_ce(&mut pool.slot_mut(frame)[..len as usize]);
            }
            slots.push(Slot { frame, len, stamp: 0 });
            next = pool.part(frame);
        }
    }
}

/// The channel between the sockets. The parameter `way` is one of [`Channel::ways`].
pub(crate) trait Channel {
    /// The directions that it serves: one or both, up first.
    fn ways(&self) -> &'static [Direction];
    /// The slower of the lines' constant rates.
    fn slowest(&self) -> Option<Rate>;
    /// No frame may arrive in direction `way` before this time.
    fn clock(&self, way: Direction) -> Nanos;
    /// Handles a frame whose note is in the pool.
    fn arrive(&mut self, way: Direction, at: Nanos, packet: Header, pool: &mut Pool);
    /// Handles everything due up to `until`. All frames that arrived in direction `way` by then have been
    /// handed in.
    fn advance(&mut self, way: Direction, until: Nanos, pool: &mut Pool);
    /// The next frame to send that is due at or before `now`, with its deadline.
    fn take_due(&mut self, way: Direction, now: Nanos) -> Option<(Nanos, Ready)>;
    /// Counts a packet as sent.
    fn count_sent(&mut self, way: Direction, len: u32);
    /// The earliest time at which a frame must be sent in direction `way`, if nothing else arrives.
    fn next_send(&self, way: Direction) -> Option<Nanos>;
    /// Whether several frames of direction `way` wait, so that those that are due soon may leave together.
    fn is_backlogged(&self, _way: Direction) -> bool {
        false
    }
    /// The earliest time at which a frame must be sent that has not yet arrived in direction `way`; `None`:
    /// as soon as it has arrived.
    fn next_send_of_an_arrival(&self, _way: Direction) -> Option<Nanos> {
        None
    }
    /// The time of the next decision.
    fn next_event(&self) -> Option<Nanos>;
    /// The state of up and down; a direction that it does not serve is empty.
    fn sample(&self) -> [PathSample; 2];
    /// Called when a sample is published.
    fn look(&mut self, now: Nanos);
    /// Changes something in direction `way`.
    fn change(&mut self, _way: Direction, _change: Change, _pool: &mut Pool) {}
    /// What is inside direction `way`; nothing if it does not serve that direction.
    fn contents(&self, _way: Direction) -> Contents {
        Contents::default()
    }
    /// Measures sojourn times of packets whose transmission begins from `from` on and before `to`.
    fn measure_sojourn(&mut self, _from: Nanos, _to: Nanos) {}
    /// The report on each direction at the end.
    fn report(self, now: Nanos) -> Vec<PathReport>;
}

/// Counts of drops and marks.
#[derive(Debug, Default)]
pub(crate) struct Account {
    pub(crate) drops: [u64; Reason::ALL.len()],
    pub(crate) marks: u64,
    /// Segments that queues cut off super-packets, not counting the first of each.
    pub(crate) cut: u64,
}

/// What is left of a super-packet that is being cut.
#[derive(Debug)]
pub(crate) struct Rest {
    whole: Note,
    next: Option<u32>,
}

impl Rest {
    /// All of the packet that begins at `frame`.
    pub(crate) fn of(frame: u32, pool: &Pool) -> Rest {
        Rest { whole: pool.note(frame), next: Some(frame) }
    }

    /// Cuts the next segment off `packet`: a packet like it, with its own length.
    pub(crate) fn cut(&mut self, packet: &Header, pool: &mut Pool) -> Option<Header> {
        let frame = self.next?;
        self.next = pool.part(frame);
        let whole = self.whole;
        let len = pool.note(frame).held;
        let payload = whole.gso.map_or(whole.payload, |gso| len.saturating_sub(gso.headers));
        pool.set_note(frame, Note { len, held: len, payload, next: None, gso: None, ..whole });
        Some(Header { cookie: u64::from(frame), len, truesize: frame::truesize(len), ..*packet })
    }
}

/// The observer of the queues: counts drops and marks, and frees the frames of dropped packets.
pub(crate) struct FrameObserver<'a> {
    pub(crate) pool: &'a mut Pool,
    pub(crate) account: &'a mut Account,
    pub(crate) flows: Option<&'a mut Flows>,
    pub(crate) hasher: &'a FlowHasher,
    /// The rest of the super-packet that the queue is cutting.
    pub(crate) rest: Option<Rest>,
}

impl FrameObserver<'_> {
    /// The bytes of a packet; for a super-packet, those of its first segment.
    fn frame(&self, packet: &Header) -> &[u8] {
        let frame = frame_of(packet.cookie);
        self.pool.start(frame, self.pool.note(frame).held)
    }
}

impl Observer<Header> for FrameObserver<'_> {
    fn dropped(&mut self, _now: Nanos, packet: Header, reason: Reason) {
        self.account.drops[place(reason)] += 1;
        let frame = frame_of(packet.cookie);
        if let Some(flows) = &mut self.flows {
            flows.dropped(self.pool.note(frame).flow, packet.len);
        }
        self.pool.give(frame);
    }

    fn marked(&mut self, _now: Nanos, packet: &Header, _reason: Reason) {
        self.account.marks += 1;
        if let Some(flows) = &mut self.flows {
            flows.marked(self.pool.note(frame_of(packet.cookie)).flow);
        }
    }

    fn washed(&mut self, packet: &Header) {
        let mut next = Some(frame_of(packet.cookie));
        while let Some(frame) = next {
            let note = self.pool.note(frame);
            frame::clear_dscp(&mut self.pool.slot_mut(frame)[..note.held as usize]);
            next = note.next;
        }
    }
}

impl PacketInfo<Header> for FrameObserver<'_> {
    fn details(&self, packet: &Header) -> Details {
        let Some(meta) = frame::parse(self.frame(packet)) else {
            return Details { is_arp: frame::is_arp(self.frame(packet)), ..Details::default() };
        };
        let Note { inside, gso, .. } = self.pool.note(frame_of(packet.cookie));
        let [source, destination] =
            inside.map_or([meta.source, meta.destination], |hosts| hosts.map(IpAddr::V4));
        Details {
            source_hash: self.hasher.host(source),
            destination_hash: self.hasher.host(destination),
            gso,
            ..Details::default()
        }
    }

    fn tcp(&self, packet: &Header) -> Option<TcpHeader> {
        tcp_header::read(self.frame(packet), self.hasher)
    }

    fn segment(&mut self, packet: &Header, index: u16) -> Option<Header> {
        if index == 0 {
            let frame = frame_of(packet.cookie);
            self.pool.note(frame).gso?;
            self.rest = Some(Rest::of(frame, self.pool));
        }
        let rest = self.rest.as_mut()?;
        let segment = rest.cut(packet, self.pool)?;
        if index > 0 {
            self.account.cut += 1;
            if let Some(flows) = &mut self.flows {
                flows.cut(rest.whole.flow);
            }
        }
        Some(segment)
    }
}

/// The frame of a descriptor: the engine puts its number into the cookie.
#[allow(clippy::cast_possible_truncation)]
pub(crate) fn frame_of(cookie: u64) -> u32 {
    cookie as u32
}

/// Whether a queue has set CE, given the DS bytes before and after.
pub(crate) fn is_marked(before: u8, after: u8) -> bool {
    after & 3 == 3 && before & 3 != 3
}

impl<Q: Queue<Header> + Reconfigure<Header>> Channel for PerDirection<Path<Q>> {
    fn ways(&self) -> &'static [Direction] {
        self.directions()
    }

    fn slowest(&self) -> Option<Rate> {
        self.iter().filter_map(Path::rate).min()
    }

    fn clock(&self, way: Direction) -> Nanos {
        self[way].clock()
    }

    fn arrive(&mut self, way: Direction, at: Nanos, packet: Header, pool: &mut Pool) {
        let path = &mut self[way];
        path.advance(at, pool);
        path.arrive(at, packet, pool);
        path.advance(at, pool);
    }

    fn advance(&mut self, way: Direction, until: Nanos, pool: &mut Pool) {
        self[way].advance(until, pool);
    }

    fn take_due(&mut self, way: Direction, now: Nanos) -> Option<(Nanos, Ready)> {
        self[way].take_due(now)
    }

    fn count_sent(&mut self, way: Direction, len: u32) {
        self[way].count_sent(len);
    }

    fn next_send(&self, way: Direction) -> Option<Nanos> {
        self[way].next_send()
    }

    fn is_backlogged(&self, way: Direction) -> bool {
        self[way].is_backlogged()
    }

    fn next_send_of_an_arrival(&self, way: Direction) -> Option<Nanos> {
        self[way].next_send_of_an_arrival()
    }

    fn next_event(&self) -> Option<Nanos> {
        self.iter().filter_map(Path::next_port_event).min()
    }

    fn sample(&self) -> [PathSample; 2] {
        Direction::BOTH.map(|way| self.get(way).map(Path::sample).unwrap_or_default())
    }

    fn look(&mut self, _now: Nanos) {}

    fn contents(&self, way: Direction) -> Contents {
        self.get(way).map(Path::contents).unwrap_or_default()
    }

    fn change(&mut self, way: Direction, change: Change, pool: &mut Pool) {
        self[way].change(change, pool);
    }

    fn measure_sojourn(&mut self, from: Nanos, to: Nanos) {
        self.iter_mut().for_each(|path| path.measure_sojourn(from, to));
    }

    fn report(self, _now: Nanos) -> Vec<PathReport> {
        self.into_values().into_iter().map(Path::report).collect()
    }
}
